"""Options of a new treasury and of the operator: forms, an existing treasury, a keystore."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_keys.datatypes import PrivateKey

from pyevm_agents.cli.agent.treasury_options import MAX_TOKENS
from pyevm_agents.cli.app import main
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.control.agents_of_tests import PAY, make_agent

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from pyevm_agents.manifests.agent_folder import AgentFolder

BEEF = "0x000000000000000000000000000000000000bEEF"
DEAD = "0x000000000000000000000000000000000000dEaD"
OPERATOR_KEY = PrivateKey(b"\x66" * 32)
OPERATOR = OPERATOR_KEY.public_key.to_checksum_address()

CALL = """outcome = context.session.write(bytes.fromhex("{target}"), bytes.fromhex("{data}"))
        if not outcome.is_success:
            raise ValueError(outcome.failure)
        wei = outcome.output.hex()
"""


def run(folder: AgentFolder, *words: str, status: int = 0, answer: str = "") -> Result:
    """Run a goal on a chain without a model; check the exit status."""
    command = ["run", "Pay", "--agent", str(folder.path), "--no-model", *words]
    result = CliRunner().invoke(main, command, input=answer)
    assert result.exit_code == status, result.output
    return result


def fail(folder: AgentFolder, *words: str) -> str:
    """Return the error of a wrong option, in one line."""
    return " ".join(run(folder, *words, status=2).stderr.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--treasury", "nwe"], "hexadecimal digits. Or pass new, which deploys"),
        (["--treasury-token-cap", BEEF], "must be like 0x…=10000000"),
        (["--treasury-token-cap", f"{BEEF}=-1"], "from 0 to 2**256 - 1"),
        (["--treasury-token-cap", f"{BEEF}={2**256}"], "from 0 to 2**256 - 1"),
        (["--treasury-token-cap", f"{BEEF}={'9' * 5_000}"], "from 0 to 2**256 - 1"),
        (["--treasury-token-cap", "USDC=1"], "'USDC': not an address"),
        (["--treasury-token-cap", f"0x{'00' * 20}=1"], "stands for wei; pass --treasury-cap"),
        (["--treasury-token-cap", f"{BEEF}=1", "--treasury-token-cap", f"{BEEF.lower()}=2"],
         f"{BEEF}: has 2 caps; pass one"),
        ([word for number in range(1, MAX_TOKENS + 2)
          for word in ("--treasury-token-cap", f"0x{number:040x}=1")],
         "8 tokens: a treasury has at most 7; omit some"),
        (["--treasury-cap", str(2**256)], f"{2**256}: must be at most 2**256 - 1"),
        (["--treasury-call", f"{BEEF}=pay"], "must be like 0x…=deposit(uint256)"),
        (["--operator-keystore", "/none/key.json"], "/none/key.json"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_told_before_a_chain_is_opened(
    tmp_path: Path, words: list[str], message: str
) -> None:
    assert message in fail(make_agent(tmp_path, action=PAY), *words)


@pytest.mark.slow  # opens chains
def test_rules_that_no_treasury_takes_are_refused(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    told = fail(folder, "--treasury-allow", BEEF)
    assert "--treasury-allow: is for a new treasury; pass --treasury new as well" in told
    new = ("--treasury", "new", "--data", str(tmp_path / "data"))
    told = fail(folder, *new, "--treasury-token-cap", f"{BEEF}=1")
    assert f"token {BEEF}: no ERC-20 token on this chain, which tells" in told
    told = fail(folder, *new, "--treasury-deposit", str(10**30))
    assert f"--treasury-deposit {10**30}: the owner, 0xf39F" in told
    assert not (tmp_path / "data" / "treasury").exists()


@pytest.mark.slow  # deploys a treasury
def test_a_treasury_of_the_folder_keeps_its_rules(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    data = tmp_path / "data"
    new = ("--treasury", "new", "--treasury-allow", BEEF, "--data", str(data))
    first = run(folder, *new, "--json")
    address = (data / "treasury").read_text("utf-8").strip()
    assert f"treasury {address}" in first.stderr
    assert json.loads(first.stdout)["treasury"] == address
    again = run(folder, *new)
    assert f"treasury {address}" in again.stderr, "the same command goes on"
    for words, said in (
        (("--treasury-cap", "7"), f"{address} was deployed with 100000000000000000; omit --tr"),
        (("--treasury-allow", DEAD), f"--treasury-allow {BEEF}, {DEAD}: is for a new treasury"),
        (("--treasury-token-cap", f"{DEAD}=1"), f"--treasury-token-cap {DEAD}=1: is for a new"),
        (("--treasury-call", f"{DEAD}=pay()"), f"--treasury-call {DEAD}=0x1b9265b8: is for a new"),
    ):  # fmt: skip
        assert said in fail(folder, *new, *words)
    (data / "treasury-policy.json").unlink()
    told = fail(folder, *new)
    assert f"--treasury-allow: is for a new treasury, and treasury {address} is none" in told


@pytest.mark.slow  # deploys treasuries
def test_an_agent_calls_the_functions_that_a_new_treasury_allows(tmp_path: Path) -> None:
    # The identity precompile returns its input: a call of a function with that selector.
    target, data = "00" * 19 + "04", "d0e30db0"
    folder = make_agent(tmp_path, action=CALL.format(target=target, data=data))
    allowed = f"0x{target}=deposit()"
    result = run(folder, "--treasury", "new", "--treasury-call", allowed)
    assert f"balance: Balance of 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266: {data} wei" in (
        result.stdout
    )
    other = f"0x{target}=withdraw()"
    refused = run(folder, "--treasury", "new", "--treasury-call", other, status=1)
    assert f"agents may not call function 0x{data} of 0x{target}; its owner can" in refused.stdout
    assert "SelectorRefused(" in refused.stdout


@pytest.mark.slow  # deploys a treasury
def test_the_operator_of_a_keystore_confirms(tmp_path: Path) -> None:
    folder = make_agent(tmp_path, action=PAY)
    keystore = write_keystore(tmp_path / "operator.json", OPERATOR_KEY.to_bytes())
    right, wrong = tmp_path / "right.txt", tmp_path / "wrong.txt"
    right.write_text(PASSWORD + "\n")
    wrong.write_text("another horse\n")
    words = ("--operator-keystore", str(keystore), "--password-file")
    told = fail(folder, *words, str(wrong))
    assert f"{keystore}: " in told
    assert "password" in told
    assert "password can't be read" in fail(folder, *words, str(tmp_path / "none.txt"))
    assert str(tmp_path / "none.json") in fail(
        folder, "--operator-keystore", str(tmp_path / "none.json")
    )
    keystore_words = (*words, str(right), "--confirm")
    without = run(folder, *keystore_words, answer="y\n")
    assert f"Signed by the operator, {OPERATOR}" in without.stderr
    treasury = ("--treasury", "new", "--treasury-allow", BEEF)
    result = run(folder, *keystore_words, *treasury, answer="y\n")
    assert f"Signed by the operator, {OPERATOR}" in result.stderr
    assert result.stdout.splitlines()[-1].endswith(": completed, 3 receipts")

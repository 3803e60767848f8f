"""The commands on a real anvil: an account of a keystore, from the deployment to the claim."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.devnet.node_process import run_anvil
from tests.clients.packages import foundry_program
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, Commands, write_keystore
from tests.pyevm_agents.node.senders_of_tests import KEYS
from tests.pyevm_agents.oracle.oracle_chain import PROMPT, WORKER, OracleChain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY_ADDRESS = KEYS[0].public_key.to_checksum_address()


@pytest.fixture
def commands() -> Iterator[Commands]:
    program = foundry_program("anvil", "anvil")
    with run_anvil(program, "--hardfork", "prague") as url, closing(RemoteClient(url)) as client:

        def ask(method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
            return client.request(method, params)

        yield Commands(OracleChain(ask, url))


@pytest.mark.slow
def test_a_key_deploys_asks_and_claims(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    keystore = write_keystore(tmp_path / "key.json", KEYS[0].to_bytes())
    signer = ("--keystore", keystore, "--password-file", password)

    def run(*words: object, status: int = 0) -> str:
        result = commands.run(*words, *signer, sender=None, status=status)
        return result.stdout + result.stderr

    assert "has 0 ether, needs" in run("deploy", status=1)
    commands.run("worker", "add", KEY_ADDRESS, "--fund", "5ether", sender=commands.chain.sender)
    assert commands.status()["workers"][-1]["balanceWei"] == str(5 * 10**18)
    deployed = commands.read("deploy", "--worker", WORKER, *signer, sender=None)
    assert deployed["owner"] == KEY_ADDRESS
    commands.chain.oracle.address = deployed["oracle"]
    made = commands.read(
        *("deploy-agent", "--name", "Counter", "--base-prompt", "You count."),
        *("--tool", "CounterTool", *signer),
        sender=None,
    )
    agent = made["agent"]
    commands.answer_while_waiting(monkeypatch)
    told = run("ask", agent, PROMPT)
    assert "  result       The counter is: 7\nAnswer\n  The counter has it.\n" in told
    [account] = commands.status("--account", KEY_ADDRESS)["accounts"]
    assert int(account["claimableWei"]) > 0
    assert run("claim").startswith("Withdrew ")
    assert "has nothing to claim" in run("claim")
    refused = run("subscription", "cancel", 1, status=1)
    assert "subscription 1: does not exist" in refused
    assert "NoSubscription()" in run("ask", agent, PROMPT, "--subscription", status=1)
    assert "budget 1: was released before" in run("release", 1, status=1)

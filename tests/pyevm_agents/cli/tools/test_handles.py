"""`pyevm-agents tools deploy` with names of people, also of ENS, and what it leaves out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import keccak, to_canonical_address, to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.output import err, out
from pyevm_agents.cli.tools.handle_options import ENS_REGISTRY
from pyevm_agents.contract_intelligence.ens import compute_node
from tests.checkout import ROOT
from tests.pyevm_agents.cli.tools.swap_node import OTHER, SENDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

pytestmark = pytest.mark.slow

BUILD = ROOT / "contracts/build"
CAROL = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"


def deploy(node: SwapNode, name: str, *arguments: object) -> str:
    creation = load_artifact(name).encode_creation(*arguments)
    return str(to_checksum_address(node.world.owner.deploy(creation)))


def execute(node: SwapNode, place: str, name: str, function: str, *arguments: object) -> None:
    data = load_artifact(name).encode_call(function, *arguments)
    node.world.owner.transact(to_canonical_address(place), data)


def deploy_registry(node: SwapNode, name: str, address: str) -> str:
    """Deploy a registry of ENS that has one name."""
    owner = to_checksum_address(node.world.owner.address)
    registry = deploy(node, "NodeRegistry", owner)
    resolver = deploy(node, "NodeResolver", registry)
    parent = bytes(32)
    for label in reversed(name.split(".")):
        hashed = keccak(text=label)
        execute(node, registry, "NodeRegistry", "setSubnodeOwner", parent, hashed, owner)
        parent = keccak(parent + hashed)
    execute(node, registry, "NodeRegistry", "setResolver", compute_node(name), resolver)
    execute(node, resolver, "NodeResolver", "setAddr", compute_node(name), address)
    return registry


@contextmanager
def undone(node: SwapNode) -> Iterator[None]:
    before = node.chain.snapshot()
    try:
        yield
    finally:
        node.chain.revert(before)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "width", 200)
    monkeypatch.setattr(err, "width", 200)


def list_words(node: SwapNode) -> list[object]:
    token = ["--address", node.place("USDT"), "--abi", BUILD / "OwnedToken.json"]
    return ["deploy", *token, "--function", "transfer"]


def test_people_are_named_by_options_a_file_and_ens(swap_node: SwapNode, tmp_path: Path) -> None:
    friends = tmp_path / "friends.toml"
    friends.write_text(f'# my friends\nAlice = "{SENDER}"\n')
    with undone(swap_node):
        registry = deploy_registry(swap_node, "carol.eth", CAROL)
        words = [*list_words(swap_node), "--handles", friends, "--handle", f"Bob={OTHER}"]
        words += ["--handle", "Carol.eth", "--ens", registry]
        printed = swap_node.run(*words, "--dry-run").stdout
        form: Any = swap_node.read_json(*words)
    lines = [f"Alice = {SENDER}", f"Bob = {OTHER}", f"carol.eth = {CAROL}"]
    prompt = form["basePrompt"].splitlines()
    first = prompt.index(lines[0])
    assert prompt[first : first + 3] == lines
    assert prompt.index(f"USDT = {swap_node.place('USDT')}") < first
    assert form["people"] == [
        {"name": "Alice", "address": SENDER, "ensName": None},
        {"name": "Bob", "address": OTHER, "ensName": None},
        {"name": "carol.eth", "address": CAROL, "ensName": "carol.eth"},
    ]
    shown = printed.partition("\nNames\n")[2].splitlines()
    assert shown[:3] == [f"  {lines[0]}", f"  {lines[1]}", f"  {lines[2]}  carol.eth"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--handle", "Bob"], "--handle Bob: not an address or a name of ENS"),
        (["--handle", f"it={OTHER}"], "handle it: must be no common word"),
        (["--handle", f"usdt={OTHER}"], "handle usdt: must not look like USDT"),
        (["--handle", f"Ether={OTHER}"], "handle Ether: must not be a word for the native"),
        (["--handle", f"transfer={OTHER}"], "handle transfer: must not be a word for"),
        (["--handle", "bob.eth"], f"has no ENS registry at {ENS_REGISTRY}"),
    ],
)
def test_a_mistake_in_a_name_sends_nothing(
    swap_node: SwapNode, words: list[str], message: str
) -> None:
    before = swap_node.chain.head.block_number
    result = swap_node.run(*list_words(swap_node), *words, status=2)
    assert message in " ".join(result.stderr.split())
    assert swap_node.chain.head.block_number == before


def test_what_is_left_out_is_named(swap_node: SwapNode) -> None:
    with undone(swap_node):
        once = deploy(swap_node, "OnceBox", SENDER)
        club = deploy(swap_node, "ClubBox", SENDER, OTHER, CAROL)
        words = ["deploy", "--address", once, "--abi", BUILD / "OnceBox.json"]
        words += ["--address", club, "--abi", BUILD / "ClubBox.json", "--dry-run"]
        words += ["--handle", f"Bob={OTHER}"]
        result = swap_node.run(*words)
        form: Any = swap_node.read_json(*words)
    told = {each["signature"]: each for each in form["leftOut"]}
    assert told["close()"] == {
        "contract": "OnceBox",
        "signature": "close()",
        "reason": "noExecution",
        "text": "reverts now: Error('closed')",
        "advice": "--function close makes it a tool all the same",
    }
    assert told["simulateAndRevert(address,bytes)"]["reason"] == "access"
    assert told["simulateAndRevert(address,bytes)"]["advice"] is None
    assert told["admit(address)"]["text"] == (
        "only accounts with the role DOORMAN may, such as Bob, and my account is not one"
    )
    assert "`pyevm-agents tools account`" in told["admit(address)"]["advice"]
    assert (
        "  OnceBox.close(): reverts now: Error('closed'); --function close makes" in result.stdout
    )
    [warning] = [each for each in form["warnings"] if "tools: " in each]
    assert warning.startswith(f"{len(form['tools'])} tools: the default model was measured with ")
    assert f"Warning: {warning}" in result.stderr


def test_an_account_is_made_and_admitted_before_its_agent(swap_node: SwapNode) -> None:
    with undone(swap_node):
        owner = to_checksum_address(swap_node.world.owner.address)
        club = deploy(swap_node, "ClubBox", owner, owner, owner)
        words = ["deploy", "--address", club, "--abi", BUILD / "ClubBox.json", "--function", "vote"]
        refused = swap_node.run(*words, status=2)
        message = " ".join(refused.stderr.split())
        assert "function vote of ClubBox: the account 0x" in message
        assert "only accounts for which isMember is true may" in message
        assert "make one by `pyevm-agents tools account` and pass it by --account" in message
        made: Any = swap_node.read_json("account")
        assert made["owner"] == SENDER
        [purpose] = [each["purpose"] for each in made["transactions"]]
        assert purpose == f"Deployed AgentAccount at {made['account']}"
        printed = swap_node.run("account").stdout
        assert "Once it is admitted where it needs to be: pyevm-agents tools deploy" in " ".join(
            printed.split()
        )
        execute(swap_node, club, "ClubBox", "admit", made["account"])
        form: Any = swap_node.read_json(*words, "--account", made["account"])
    assert (form["account"], [each["name"] for each in form["tools"]]) == (
        made["account"], ["vote"],
    )  # fmt: skip

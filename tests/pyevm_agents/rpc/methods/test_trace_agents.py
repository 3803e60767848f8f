"""Traces, witnesses and searches of an agent's transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI, DEVELOPMENT_KEY
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models import ScriptedModel, answer, use
from pyevm_agents.node import Keys, Node
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from pyevm_agents.scenarios.wallet import WalletDemo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyevm_agents.models import Vocabulary

    Ask = Callable[..., Any]

EXECUTOR = "0x" + "00" * 19 + "19"
DEPOSIT, DONE = use("DeployTool", "Deposit first.", asset="USDC", amount=10), answer("Done.")
ALL = ["trace", "stateDiff", "vmTrace"]


@pytest.fixture(scope="module")
def asked(vocabulary: Vocabulary) -> Iterator[tuple[Ask, dict[str, str]]]:
    """Return a node with a wallet agent, and a transaction that runs it."""
    facts = vocabulary.profile_facts
    profile = build_model_profile(facts)
    config = ChainConfig(models=(profile,), profile_fingerprint=facts.fingerprint)
    model = ScriptedModel([DEPOSIT, DONE], vocabulary=vocabulary)
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    chain = Chain(config, {profile.name: model}, accounts=accounts)
    wallet = WalletDemo(chain)
    node = Node(chain, now=lambda: 2e9, keys=Keys([DEVELOPMENT_KEY]))
    service, session = build_node_service(node, send_seconds=240), Session("test")
    form = {
        "from": "0x" + DEVELOPMENT_ADDRESS.hex(),
        "to": "0x" + wallet.agent.hex(),
        "data": "0x"
        + load_artifact("WalletAgent").encode_call("instruct", "Deposit 10 USDC").hex(),
        "gas": hex(20_000_000),
    }
    yield lambda method, *params: service.call(method, list(params), session), form
    node.close()


def test_what_is_tried_is_what_is_mined(asked: tuple[Ask, dict[str, str]]) -> None:
    ask, form = asked
    tried = ask("trace_call", form, ALL)
    ((called,),) = ask("eth_callMany", [{"transactions": [form]}])
    sent = ask("eth_sendTransaction", form)
    assert ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
    mined = ask("trace_replayTransaction", sent, ALL)
    assert called == {"value": mined["output"]}
    for name in ("output", "trace", "vmTrace"):
        assert tried[name] == mined[name]
    receivers = [call["action"].get("to") for call in mined["trace"]]
    assert EXECUTOR in receivers

    # It has the executor's calls and their changes.
    inside = mined["trace"][receivers.index(EXECUTOR)]
    assert inside["subtraces"] > 0
    differences = {one: it for one, it in mined["stateDiff"].items() if it["storage"]}
    assert differences == {one: it for one, it in tried["stateDiff"].items() if it["storage"]}

    # An explorer finds the transaction by the agent's callees.
    called_inside = next(
        call["action"]["to"]
        for call in mined["trace"]
        if len(call["traceAddress"]) > len(inside["traceAddress"])
    )
    found = ask("ots_searchTransactionsBefore", called_inside, 0, 5)
    assert sent in [one["hash"] for one in found["txs"]]
    depths = [call["depth"] for call in ask("ots_traceTransaction", sent)]
    assert max(depths) > len(inside["traceAddress"])

    # A witness has the code of the tool that the agent used.
    witness = ask("debug_executionWitness", "latest")
    assert ask("eth_getCode", called_inside, "latest") in witness["codes"]

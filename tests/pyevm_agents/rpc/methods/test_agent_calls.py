"""What agents did: their runs, calls, transfers and changes, with names, by JSON-RPC."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain
from pyevm_agents.rpc import agent_runs
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.methods import agent_calls
from tests.pyevm_agents.rpc.methods.agents_to_show import (
    FIRST,
    HOSTILE,
    REQUEST,
    AgentsToShow,
    find,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

EXECUTOR = "0x0000000000000000000000000000000000000019"


@pytest.fixture(scope="module")
def shown() -> Iterator[AgentsToShow]:
    """A node that tests only add transactions to."""
    node = AgentsToShow()
    yield node
    node.node.close()


def describe(values: list[dict[str, Any]]) -> dict[str, object]:
    """Return arguments by their names."""
    return {value["name"]: value["value"] for value in values}


# -- runs -- #


def test_a_run_has_its_request_answer_and_cost(shown: AgentsToShow) -> None:
    sent = shown.send(shown.instruction())
    (run,) = [run for run in shown.runs() if run["transactionHash"] == sent]
    trace = shown.ask("agent_traceTransaction", sent)
    assert run["agent"] == to_checksum_address(shown.wallet.agent)
    assert (run["agentName"], run["request"]) == ("WalletAgent", "Deposit 10 USDC")
    assert (run["answer"], run["isSuccess"], run["reason"]) == ("Done.", True, None)
    assert (run["gas"], run["gasUsed"]) == (trace["gas"], trace["gas"]["used"])
    assert (run["steps"], run["transactionIndex"]) == (len(trace["steps"]), 0)
    assert run["blockNumber"] == shown.node.chain.head.block_number
    assert run["names"].items() <= trace["names"].items()


def test_a_question_has_addresses_in_place_of_handles(shown: AgentsToShow) -> None:
    other = "0x00000000000000000000000000000000000000AA"
    shown.send(shown.instruction(f"Tell\n{other}\u2028{other} of Question: addr9 <u>Question: x"))
    question = shown.runs(hex(1))[0]["request"]
    assert question == f"Tell\\n{other}\\u2028{other} of Question: addr9 <u>Question: x"


def test_a_nested_run_is_that_of_the_outer_agent(shown: AgentsToShow) -> None:
    outer = shown.deploy_nested()
    sent = shown.send(shown.question(outer))
    (run,) = shown.runs(hex(1))
    assert (run["transactionHash"], run["agent"]) == (sent, to_checksum_address(outer))
    assert (run["request"], run["answer"], run["steps"]) == (REQUEST, "Done.", 4)


def test_a_reverted_run_has_a_reason(shown: AgentsToShow) -> None:
    tool = shown.owner.deploy(load_artifact("RevertingTool").encode_creation(0))
    agent = shown.deploy_agent("Trying Agent", "You try.", [tool])
    shown.send(shown.question(agent))
    (run,) = shown.runs(hex(1))
    assert (run["isSuccess"], run["answer"], run["request"]) == (False, None, REQUEST)
    assert "ToolRefused(call=1)" in run["reason"]
    assert (run["steps"], run["gas"]["output"] > 0) == (1, True)


def test_a_refused_run_has_a_reason_and_no_steps(shown: AgentsToShow) -> None:
    agent = shown.deploy_agent("Lost Agent", "You think.", [], model="no such model")
    sent = shown.send(shown.question(agent, "Think\nhard"))
    (run,) = shown.runs(hex(1))
    assert (run["transactionHash"], run["agent"]) == (sent, to_checksum_address(agent))
    assert (run["isSuccess"], run["request"], run["answer"]) == (False, "Think\\nhard", None)
    assert "UnknownModel" in run["reason"]
    assert (run["steps"], run["gas"]["prompt"], run["gas"]["output"]) == (0, 0, 0)
    assert shown.runs(hex(1)) == [run]


def test_a_transaction_to_the_executor_has_no_agent(shown: AgentsToShow) -> None:
    nothing: list[object] = []
    data = load_artifact("IERCAgentExecutor").encode_call(
        "runNextIteration", "llama_model_3", "You answer.", nothing, nothing, nothing, "Hello"
    )
    form = {"from": FIRST, "to": EXECUTOR, "data": "0x" + data.hex(), "gas": hex(20_000_000)}
    sent = shown.send(form)
    (run,) = shown.runs(hex(1))
    assert (run["transactionHash"], run["agent"], run["request"]) == (sent, None, None)
    assert (run["isSuccess"], run["steps"]) == (True, 0)


def test_other_transactions_are_no_runs(shown: AgentsToShow) -> None:
    before = shown.runs()
    shown.send({"from": FIRST, "to": FIRST, "value": "0x1"})
    failing = shown.owner.deploy(load_artifact("Counter").encode_creation())
    shown.send({"from": FIRST, "to": "0x" + failing.hex(), "data": "0x12345678", "gas": "0x186a0"})
    assert shown.runs() == before


def test_a_search_executes_no_plain_transaction_and_failed_ones_once(
    shown: AgentsToShow, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = shown.send(shown.instruction())
    counter = shown.owner.deploy(load_artifact("Counter").encode_creation())
    failing = {"from": FIRST, "to": "0x" + counter.hex(), "data": "0x12345678", "gas": "0x186a0"}
    before = shown.runs()
    failed = shown.send(failing)
    assert shown.ask("eth_getTransactionReceipt", failed)["status"] == "0x0"
    assert shown.runs() == before

    def refuse_replay(*_: object, **__: object) -> None:
        pytest.fail("a transaction is executed again")

    monkeypatch.setattr(Chain, "replay", refuse_replay)
    for number in range(5):
        shown.send({"from": FIRST, "to": FIRST, "value": hex(number)})
    assert shown.runs() == before
    assert before[0]["transactionHash"] == sent


def deploy_forwarder(shown: AgentsToShow, target: Address) -> Address:
    """Deploy a contract whose calls go on to a target that its code names, as a minimal proxy's."""
    # CALLDATACOPY(0, 0, size); CALL(gas, target, 0, 0, size, 0, 0); revert with what it returned.
    code = bytes.fromhex("365f5f375f5f365f5f73") + target
    code += bytes.fromhex("5af1503d5f5f3e3d5ffd")
    return shown.owner.deploy(bytes.fromhex(f"60{len(code):02x}8060095f395ff3") + code)


def test_a_refused_run_behind_another_contract_is_found(shown: AgentsToShow) -> None:
    agent = shown.deploy_agent("Lost Agent", "You think.", [], model="no such model")
    sent = shown.send(shown.question(deploy_forwarder(shown, agent), "Think"))
    (run,) = shown.runs(hex(1))
    assert (run["transactionHash"], run["agent"]) == (sent, to_checksum_address(agent))
    assert (run["isSuccess"], run["request"]) == (False, "Think")
    assert "UnknownModel" in run["reason"]


def test_refused_runs_behind_contracts_are_searched_while_gas_lasts(
    shown: AgentsToShow, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = shown.deploy_agent("Lost Agent", "You think.", [], model="no such model")
    forwarder = deploy_forwarder(shown, agent)
    first, second = (shown.send(shown.question(forwarder)) for _ in range(2))
    used = int(shown.ask("eth_getTransactionReceipt", second)["gasUsed"], 16)
    monkeypatch.setattr(agent_runs, "MAX_REPLAYED_GAS", used)
    found = [run["transactionHash"] for run in shown.runs(hex(2))]
    assert second in found
    assert first not in found
    # The newer block is indexed: the gas is left for the older one.
    assert [run["transactionHash"] for run in shown.runs(hex(2))] == [second, first]


def test_a_failed_transaction_with_too_much_gas_is_left_out(
    shown: AgentsToShow, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = shown.deploy_agent("Lost Agent", "You think.", [], model="no such model")
    refused = shown.send(shown.question(agent))
    sent = shown.send(shown.question(deploy_forwarder(shown, agent)))
    used = int(shown.ask("eth_getTransactionReceipt", sent)["gasUsed"], 16)
    monkeypatch.setattr(agent_runs, "MAX_REPLAYED_GAS", used - 1)
    assert shown.runs(hex(1))[0]["transactionHash"] == refused


def test_refused_runs_are_searched_in_the_newest_blocks(
    shown: AgentsToShow, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = shown.deploy_agent("Lost Agent", "You think.", [], model="no such model")
    refused = shown.send(shown.question(agent))
    answered = shown.send(shown.instruction())
    monkeypatch.setattr(agent_runs, "MAX_READ_BLOCKS", 1)
    assert shown.runs(hex(1))[0]["transactionHash"] == answered
    assert refused not in {run["transactionHash"] for run in shown.runs(hex(1))}
    # Each search reads a block that was not read.
    assert shown.runs(hex(2))[1]["transactionHash"] == refused


def test_runs_are_the_newest_first_and_limited(shown: AgentsToShow) -> None:
    first, second = shown.send(shown.instruction("One")), shown.send(shown.instruction("Two"))
    assert [run["transactionHash"] for run in shown.runs(hex(2))] == [second, first]
    place = hex(shown.runs(hex(2))[1]["blockNumber"])
    (run,) = shown.ask("agent_getRuns", place, place)
    assert (run["transactionHash"], run["request"]) == (first, "One")
    assert shown.ask("agent_getRuns", "latest", "earliest") == []


@pytest.mark.parametrize("limit", ["0x0", hex(1_001), "1", -1])
def test_a_limit_is_1_to_1_000(shown: AgentsToShow, limit: object) -> None:
    with pytest.raises(RpcError):
        shown.runs(limit)


def test_a_range_has_a_limit(shown: AgentsToShow, monkeypatch: pytest.MonkeyPatch) -> None:
    last = shown.node.chain.head.block_number
    monkeypatch.setattr(agent_calls, "MAX_RUN_BLOCKS", 3)
    assert shown.ask("agent_getRuns", hex(last - 2), "0xffffffff") == shown.runs_since(last - 2)
    with pytest.raises(RpcError, match="range of 4 blocks: must be at most 3"):
        shown.runs_since(last - 3)


def test_removed_runs_are_gone(shown: AgentsToShow) -> None:
    snapshot = shown.ask("evm_snapshot")
    before = shown.runs()
    shown.send(shown.instruction())
    lost = shown.deploy_agent("Lost Agent", "You think.", [], model="no such model")
    shown.send(shown.question(lost))
    assert len(shown.runs()) == len(before) + 2
    shown.ask("evm_revert", snapshot)
    assert shown.runs() == before


# -- calls, transfers and changes -- #


def test_the_calls_of_a_wallet_have_names(shown: AgentsToShow) -> None:
    sent = shown.send(shown.instruction())
    traced = shown.ask("agent_traceCalls", sent)
    top = traced["call"]
    assert (top["contract"], top["function"], top["value"]) == ("WalletAgent", "instruct", "0")
    assert top["arguments"] == [{"name": "prompt", "type": "string", "value": "Deposit 10 USDC"}]
    assert top["result"] == [{"name": "answer", "type": "string", "value": "Done."}]
    assert top["gasUsed"] == int(shown.ask("eth_getTransactionReceipt", sent)["gasUsed"], 16)
    steps = find(top, "runNextIteration")
    assert [(call["contract"], call["step"]) for call in steps] == [
        ("AgentExecutor", 1),
        ("AgentExecutor", 2),
    ]
    (moved,) = find(top, "transferFrom")
    assert (moved["contract"], moved["isReverted"], moved["step"]) == ("DemoToken", False, None)
    (log,) = moved["logs"]
    assert (log["name"], log["position"]) == ("Transfer", 0)
    assert describe(log["arguments"])["value"] == "10000000"
    plain = shown.ask("debug_traceTransaction", sent, {"tracer": "callTracer"})
    assert [call["input"] for call in walk(top)] == [call["input"] for call in _walk_plain(plain)]
    assert traced["names"][to_checksum_address(shown.wallet.agent)] == "WalletAgent"
    assert "USDC" in traced["names"].values()


def test_members_of_a_struct_have_names(shown: AgentsToShow) -> None:
    """The argument of a tool is `Input {ParamValue[] params; bytes abiEncodedParams;}`."""
    traced = shown.ask("agent_traceCalls", shown.send(shown.instruction()))
    given, sender = find(traced["call"], "run")[0]["arguments"]
    assert (given["name"], given["type"]) == ("input", "((uint8,bytes)[],bytes)")
    assert given["components"] == [
        {
            "name": "params",
            "type": "(uint8,bytes)[]",
            "components": [
                {"name": "paramType", "type": "uint8"},
                {"name": "value", "type": "bytes"},
            ],
        },
        {"name": "abiEncodedParams", "type": "bytes"},
    ]
    (first, _), encoded = given["value"]
    assert encoded.startswith(first[1])
    assert "components" not in sender


def _walk_plain(call: dict[str, Any]) -> list[dict[str, Any]]:
    return [call, *(each for inner in call.get("calls", []) for each in _walk_plain(inner))]


def test_transfers_and_changes_of_a_wallet(shown: AgentsToShow) -> None:
    before = shown.wallet.read_balances()
    traced = shown.ask("agent_traceCalls", shown.send(shown.instruction()))
    after = shown.wallet.read_balances()
    (transfer,) = traced["transfers"]
    assert (transfer["standard"], transfer["symbol"], transfer["decimals"]) == ("erc20", "USDC", 6)
    assert (transfer["amount"], transfer["id"]) == ("10000000", None)
    changes = {change["address"]: change for change in traced["changes"]}
    (paid,) = changes[transfer["from"]]["tokens"]
    (got,) = changes[transfer["to"]]["tokens"]
    assert int(paid["before"]) - int(paid["after"]) == 10_000_000
    assert int(got["after"]) - int(got["before"]) == 10_000_000
    assert before != after
    token = changes[transfer["token"]]
    assert (token["name"], token["balance"], len(token["storage"])) == ("DemoToken", None, 2)
    sender = changes[to_checksum_address(FIRST)]
    assert int(sender["nonce"]["after"]) == int(sender["nonce"]["before"]) + 1
    assert int(sender["balance"]["after"]) < int(sender["balance"]["before"])


def test_earlier_balances_are_those_before_the_transaction(shown: AgentsToShow) -> None:
    first, second = shown.send(shown.instruction()), shown.send(shown.instruction())
    ends = []
    for sent in (first, second):
        traced = shown.ask("agent_traceCalls", sent)
        (transfer,) = traced["transfers"]
        (change,) = [each for each in traced["changes"] if each["address"] == transfer["to"]]
        ends.append((change["tokens"][0]["before"], change["tokens"][0]["after"]))
    assert ends[0][1] == ends[1][0]


def test_nested_agents_are_numbered_as_in_the_trace(shown: AgentsToShow) -> None:
    sent = shown.send(shown.question(shown.deploy_nested()))
    traced = shown.ask("agent_traceCalls", sent)
    steps = find(traced["call"], "runNextIteration")
    assert [call["step"] for call in steps] == [1, 2, 3, 4]
    assert [call["from"] for call in steps] == [
        step["agent"] for step in _walk_steps(shown.ask("agent_traceTransaction", sent)["steps"])
    ]


def _walk_steps(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for step in steps for each in (step, *_walk_steps(step["steps"]))]


def test_reverted_calls_are_marked_with_their_reasons(shown: AgentsToShow) -> None:
    tool = shown.owner.deploy(load_artifact("RevertingTool").encode_creation(0))
    agent = shown.deploy_agent("Trying Agent", "You try.", [tool])
    traced = shown.ask("agent_traceCalls", shown.send(shown.question(agent)))
    assert all(call["isReverted"] for call in walk(traced["call"]))
    refused = find(traced["call"], "run")[-1]
    assert (refused["error"], refused["reason"]) == ("execution reverted", "ToolRefused(call=1)")
    assert (refused["contract"], refused["result"]) == ("RevertingTool", None)
    read = find(traced["call"], "inputDescription")[0]
    assert (read["error"], read["reason"], read["isReverted"]) == (None, None, True)
    assert traced["transfers"] == []
    assert {to_checksum_address(agent)} & {each["address"] for each in traced["changes"]} == set()


def test_a_refusal_has_the_executors_reason(shown: AgentsToShow) -> None:
    agent = shown.deploy_agent("Lost Agent", "You think.", [], model="no such model")
    traced = shown.ask("agent_traceCalls", shown.send(shown.question(agent)))
    (asked,) = find(traced["call"], "runNextIteration")
    assert (asked["step"], asked["isReverted"]) == (None, True)
    assert "UnknownModel" in asked["reason"]


def test_ether_and_creations_are_transfers(shown: AgentsToShow) -> None:
    creation = load_artifact("Counter").encode_creation().hex()
    form = {"from": FIRST, "data": "0x" + creation, "gas": "0x100000"}
    traced = shown.ask("agent_traceCalls", shown.send(form))
    assert (traced["call"]["type"], traced["call"]["contract"]) == ("CREATE", "Counter")
    (created,) = [each for each in traced["changes"] if each["code"]]
    assert created["code"]["before"] == 0 < created["code"]["after"]
    other = "0x" + "57" * 20
    traced = shown.ask(
        "agent_traceCalls", shown.send({"from": FIRST, "to": other, "value": hex(10**20)})
    )
    (transfer,) = traced["transfers"]
    assert (transfer["standard"], transfer["token"], transfer["symbol"]) == ("native", None, None)
    assert (transfer["amount"], transfer["to"].lower()) == (str(10**20), other)
    assert (traced["call"]["value"], traced["call"]["function"]) == (str(10**20), None)


def test_texts_of_contracts_and_models_are_data(shown: AgentsToShow) -> None:
    token = shown.owner.deploy(
        load_artifact("DemoToken").encode_creation(HOSTILE, HOSTILE, 18, 100)
    )
    call = load_artifact("DemoToken").encode_call("transfer", token, 5)
    form = {"from": FIRST, "to": "0x" + token.hex(), "data": "0x" + call.hex(), "gas": "0x100000"}
    (transfer,) = shown.ask("agent_traceCalls", shown.send(form))["transfers"]
    assert (transfer["symbol"], transfer["amount"]) == (HOSTILE, "5")
    agent = shown.deploy_agent(HOSTILE, f"You are {HOSTILE}", [])
    sent = shown.send(shown.question(agent, HOSTILE))
    traced = shown.ask("agent_traceCalls", sent)
    (asked,) = find(traced["call"], "runNextIteration")
    assert describe(asked["arguments"])["prompt"] == HOSTILE
    assert describe(asked["arguments"])["basePrompt"] == f"You are {HOSTILE}"
    described = shown.ask("agent_describe", "0x" + agent.hex())
    assert (described["name"], described["basePrompt"]) == (HOSTILE, f"You are {HOSTILE}")
    assert json.loads(json.dumps(described)) == described
    assert "<script>" in shown.runs(hex(1))[0]["request"]


def test_unknown_transactions_are_refused(shown: AgentsToShow) -> None:
    with pytest.raises(RpcError, match="not mined"):
        shown.ask("agent_traceCalls", "0x" + "12" * 32)


# -- descriptions -- #


def test_an_agent_says_what_it_is(shown: AgentsToShow) -> None:
    described = shown.ask("agent_describe", "0x" + shown.wallet.agent.hex())
    assert (described["kind"], described["contract"]) == ("agent", "WalletAgent")
    assert (described["name"], described["model"]) == ("Wallet Agent", "llama_model_3")
    assert (described["entry"], described["iterations"]) == ("instruct", 10)
    assert "USDC = 0x" in described["basePrompt"]
    names = [tool["name"] for tool in described["tools"]]
    assert names == ["DeployTool", "WithdrawTool", "ViewBalanceTool", "TokenInfoTool"]
    tool = shown.ask("agent_describe", described["tools"][0]["address"])
    assert (tool["kind"], tool["tools"], tool["entry"]) == ("tool", None, None)
    assert [(each["name"], each["type"]) for each in tool["parameters"]] == [
        ("asset", "address"),
        ("amount", "uint256"),
    ]
    inner = shown.deploy_agent("Counting Agent", "You count.", [])
    assert shown.ask("agent_describe", "0x" + inner.hex())["entry"] == "run"


def test_an_agent_behind_a_proxy_is_asked_as_any_tool(shown: AgentsToShow) -> None:
    # EIP-1167: a minimal proxy, whose code has no selector.
    target = shown.wallet.agent.hex()
    proxy, code = "0x" + "59" * 20, f"363d3d373d3d3d363d73{target}5af43d82803e903d91602b57fd5bf3"
    shown.ask("anvil_setCode", proxy, "0x" + code)
    described = shown.ask("agent_describe", proxy)
    assert (described["kind"], described["entry"], described["tools"]) == ("agent", "run", [])


@pytest.mark.parametrize("address", [EXECUTOR, FIRST, "0x" + "57" * 20])
def test_other_accounts_say_nothing(shown: AgentsToShow, address: str) -> None:
    described = shown.ask("agent_describe", address)
    del described["address"]
    assert set(described.values()) == {None}


def test_a_description_runs_no_inference(shown: AgentsToShow) -> None:
    # name() returns "0" plus the bytes that a call of 0x19 without data returns. The executor's
    # error UnknownSelector has 36; without the executor, the code at its address says less.
    call, text = "6000600060006000600060195af1503d", "60300160405360206000526001602052"
    address = "0x" + "58" * 20
    shown.ask("anvil_setCode", address, f"0x{call}{text}60606000f3")
    executor_name = bytes.fromhex(shown.ask("eth_call", {"to": address})[2:])[64:65]
    assert executor_name[0] - ord("0") == 36
    assert shown.ask("agent_describe", address)["name"] != executor_name.decode()
    assert shown.ask("agent_describe", address)["name"] is not None

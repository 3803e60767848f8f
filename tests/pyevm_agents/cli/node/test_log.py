"""Lines of a node's log, and their order."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak
from rich.console import Console

from pyevm_agents.abi.address_names import AddressNames
from pyevm_agents.cli import output
from pyevm_agents.cli.node import call_trees, log
from pyevm_agents.cli.node.call_trees import CallTrees
from pyevm_agents.cli.node.log import NodeLog
from pyevm_agents.cli.output import LiveOutput
from pyevm_agents.errors import EngineFault
from pyevm_agents.rpc.dispatcher import Dispatcher
from pyevm_agents.rpc.session import Session
from pyevm_agents.tracing import call_tree_text
from pyevm_agents.tracing.console_log import CONSOLE_ADDRESS
from pyevm_agents.vm.transaction_executor import AgentTransactionExecutor
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.agent_node import FIRST, AgentNode
from tests.serving import message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from precompiles.language_model import GenerationRequest

DEEP = "0x" + "de" * 20

PRINTING = {
    "from": FIRST,
    "to": "0x" + CONSOLE_ADDRESS.hex(),
    "data": "0x"
    + (
        keccak(text="log(string,uint256)")[:4] + encode(["string", "uint256"], ["got %s\x1b[2J", 7])
    ).hex(),
}


class Written:
    """A node, its log, and a client of it."""

    def __init__(self, *, is_json: bool = False, has_traces: bool = False) -> None:
        self.agents = AgentNode()
        self.log = NodeLog(self.agents.node, LiveOutput(), is_json=is_json, has_traces=has_traces)
        self._dispatcher = Dispatcher(self.agents.service, watch=self.log.record_request)

    def ask(self, method: str, *params: object) -> None:
        begun = self._dispatcher.handle(message(method, *params), Session("test"))
        if callable(begun):
            begun()


@pytest.fixture(autouse=True)
def no_limits_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, the last lines take longer than a node waits for them when it stops."""
    monkeypatch.setattr(log, "HELD_SECONDS", 600.0)
    monkeypatch.setattr(log, "END_SECONDS", HANG_SECONDS)


@pytest.fixture
def written() -> Iterator[Written]:
    it = Written()
    yield it
    it.log.close()
    it.agents.node.close()


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the log without the times of requests."""
    return [line[14:] for line in capsys.readouterr().out.splitlines()]


def test_what_belongs_to_a_request_stands_below_it(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    written.ask("eth_call", PRINTING)
    written.ask("eth_chainId")
    written.ask("eth_sendTransaction", PRINTING)
    written.ask("eth_nothing\x1b[31m")
    written.log.close()
    first = written.agents.node.chain.head.block_number
    unknown = "eth_nothing\\u001b[31m"
    assert lines(capsys) == [
        "eth_call",
        "console.log  got 7\\u001b[2J",
        "eth_chainId",
        "eth_sendTransaction",
        "0x" + written.agents.node.chain.block(first).transactions[0].hash.hex(),
        f"block {first}, 22,830 gas",
        "console.log  got 7\\u001b[2J",
        f"{unknown}  -32601  the method {unknown} does not exist/is not available",
    ]


def test_what_clients_ask_before_each_request_is_written_once(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    for method in ("eth_chainId", "net_version", "web3_clientVersion", "eth_blockNumber") * 3:
        written.ask(method)
    written.ask("eth_chainId", "too much")
    written.log.close()
    shown = lines(capsys)
    assert shown[:6] == [
        *("eth_chainId", "net_version", "web3_clientVersion", "eth_blockNumber"),
        *("eth_blockNumber", "eth_blockNumber"),
    ]
    assert shown[6].startswith("eth_chainId  -32602")


def test_calldata_for_an_address_without_code_is_warned_of(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = "0x" + "57" * 20
    form = {"from": FIRST, "to": nowhere, "data": "0xd09de08a"}
    code = {nowhere: {"code": "0x00"}}
    warning = f"WARNING  Calling an account which is not a contract: {nowhere}"
    for method in ("eth_call", "eth_estimateGas", "agent_estimate"):
        written.ask(method, form)
    written.ask("eth_callMany", [{"transactions": [form]}], {"blockNumber": "latest"})
    for method in ("eth_call", "eth_estimateGas"):
        written.ask(method, form | {"data": "0x"})
        written.ask(method, form, "latest", code)
        written.ask(method, form | {"to": "0x" + "0" * 39 + "4"})
        written.ask(method, form | {"to": written.agents.instruction()["to"]})
    written.ask("eth_sendTransaction", form)
    written.log.close()
    told = lines(capsys)
    assert told[:8] == [
        "eth_call",
        warning,
        "eth_estimateGas",
        warning,
        "agent_estimate",
        warning,
        "eth_callMany",
        warning,
    ]
    assert [line for line in told[8:] if "WARNING" in line] == [warning]
    assert told[-1] == warning


def test_a_failed_and_a_creating_transaction_say_so(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    written.ask("eth_sendTransaction", {"from": FIRST, "data": "0x5f5ffd", "gas": hex(99_999)})
    written.ask("eth_sendTransaction", {"from": FIRST, "data": "0xfe", "gas": hex(99_999)})
    written.ask("eth_sendTransaction", {"from": FIRST, "data": "0x60015ff3"})
    written.log.close()
    told = "\n".join(lines(capsys))
    assert "reverted: no reason given" in told
    assert "reverted: Invalid opcode 0xfe" in told
    assert "gas, created 0x" in told


def test_an_agents_steps_are_written_with_its_transaction_below(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    written.ask("eth_call", written.agents.instruction())
    written.ask("eth_sendTransaction", written.agents.instruction())
    written.log.close()
    told = lines(capsys)
    usdc = written.agents.instruction()["to"]
    assert told[0].startswith("call 1  DeployTool {")
    assert told[1:3] == ["call 2  Done.", "eth_call"]
    names = [line.split()[:2] for line in told[3:-3]]
    assert names == [
        ["1", "agent"],
        ["1", "thought"],
        ["1", "action"],
        ["1", "input"],
        ["1", "observation"],
        ["2", "agent"],
        ["2", "thought"],
        ["2", "answer"],
    ]
    assert told[3].lower().startswith(f"1 agent       walletagent {usdc} reads")
    assert told[6].startswith('1 input       {"asset": "USDC (0x5FbD…0aa3)"')
    assert told[-1].endswith(", WalletAgent.instruct(string)")
    assert told[-3] == "eth_sendTransaction"
    assert told[-1].startswith("block ")


def test_a_reverted_tool_says_why_in_names_of_the_base_prompt_and_of_artifacts(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    def withdraw(request: GenerationRequest) -> str:
        handle = request.handles[0][0]
        arguments = f'{{"asset": "{handle}", "amount": {10**30}}}'
        return f" Withdraw.\nAction: WithdrawTool\nAction Input: {arguments}"

    written.agents.node.chain.models["bytes"].original._script = withdraw  # type: ignore[attr-defined]  # noqa: SLF001
    written.ask("eth_sendTransaction", {**written.agents.instruction(), "gas": hex(29_000_000)})
    written.log.close()
    told = lines(capsys)
    (observation,) = [line for line in told if "observation" in line]
    assert observation.startswith("1 observation reverted: ")
    assert "USDC (0x5FbD…0aa3)" in observation
    assert told[-1].startswith("reverted: ToolCallFailed(tool=AgentOnlyTool (0x")
    assert observation.partition("reverted: ")[2] in told[-1]


def test_a_users_own_contract_has_names(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    buy = {"type": "function", "name": "buy", "inputs": [{"type": "uint256", "name": "count"}]}
    sold_out = {"type": "error", "name": "SoldOut", "inputs": []}
    code = "0x63" + keccak(text="SoldOut()")[:4].hex() + "6000526004601cfd"
    shop = "0x" + "57" * 20
    written.agents.ask("anvil_setCode", shop, code)
    written.agents.ask("agent_addAbi", "Shop", [buy, sold_out], code)
    calldata = "0x" + keccak(text="buy(uint256)")[:4].hex() + "00" * 32
    form = {"from": FIRST, "to": shop, "gas": hex(99_999)}
    written.ask("eth_sendTransaction", form | {"data": calldata})
    written.ask("eth_sendTransaction", form)
    written.log.close()
    told = lines(capsys)
    assert told[2].endswith("gas, Shop.buy(uint256)")
    assert told[3] == "reverted: SoldOut()"
    assert told[6].endswith("gas, Shop.0x")


def test_a_fault_is_written(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_request: GenerationRequest) -> str:
        raise EngineFault("The engine died")

    written.agents.node.chain.models["bytes"].original._script = fail  # type: ignore[attr-defined]  # noqa: SLF001
    written.ask("eth_sendTransaction", written.agents.instruction())
    written.log.close()
    assert lines(capsys)[1:] == [
        "1 fault       The engine died",
        "eth_sendTransaction  -32002  The engine died",
    ]


def test_a_fault_without_an_agent_is_written(
    written: Written, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise EngineFault("the disk is full")

    monkeypatch.setattr(AgentTransactionExecutor, "build_computation", fail)
    written.ask("eth_sendTransaction", {"from": FIRST, "to": FIRST, "gas": hex(21_000)})
    written.log.close()
    told = lines(capsys)
    assert sum("the disk is full" in line for line in told) == 2  # The drop, and the request.


def test_nothing_is_written_where_no_log_is_wanted(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    off = False
    written.agents.ask("hardhat_setLoggingEnabled", off)
    written.ask("eth_sendTransaction", written.agents.instruction())
    written.ask("eth_call", PRINTING)
    written.agents.ask("anvil_setLoggingEnabled", not off)
    written.ask("eth_chainId")
    written.log.close()
    assert lines(capsys) == ["eth_chainId"]


def test_a_block_that_nobody_asked_for_is_written_after_a_while(
    written: Written, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "HELD_SECONDS", 0.01)
    written.agents.ask("eth_sendTransaction", {"from": FIRST, "to": FIRST, "value": "0x1"})
    written.agents.ask("eth_call", PRINTING)
    told: list[str] = []
    end = time.monotonic() + HANG_SECONDS
    while len(told) < 3 and time.monotonic() < end:
        told += lines(capsys)
        time.sleep(0.01)
    assert told[1].endswith("21,000 gas")
    assert told[2] == "console.log  got 7\\u001b[2J"


def test_json_is_an_object_a_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = Written(is_json=True)
    written.ask("eth_call", PRINTING)
    written.ask("eth_sendTransaction", written.agents.instruction())
    written.agents.ask("eth_sendTransaction", {"from": FIRST, "to": FIRST})
    written.log.add_note("It ends.")
    written.log.close()
    written.agents.node.close()
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (told[0]["event"], told[0]["method"]) == ("request", "eth_call")
    assert told[0]["console"] == ["got 7\\u001b[2J"]
    steps = [one for one in told if one["event"] == "step"]
    assert [one["kind"] for one in steps] == [
        "start",
        "tool",
        "observation",
        "start",
        "answer",
        "end",
    ]
    mined, _ = (one for one in told if one["event"] == "transaction")
    assert (mined["isSuccess"], mined["hash"]) == (True, steps[0]["transactionHash"])
    assert told[-1] == {"event": "note", "text": "It ends."}


def test_a_terminal_has_a_line_that_changes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        output, "out", Console(force_terminal=True, width=40, _environ={"TERM": "xterm"})
    )
    page = LiveOutput()
    page.set_live_line("reading " + "漢" * 40)
    page.write([page.paint("done", "red"), page.paint("", "red")])
    page.set_live_line("")
    page.write(["end"])
    shown = "reading " + "漢" * 15 + "…"
    assert capsys.readouterr().out.split("\r\x1b[2K") == [
        "",
        shown,
        f"\x1b[31mdone\x1b[0m\n\n{shown}",
        "",
        "end\n",
    ]


def test_a_transaction_has_its_calls_and_the_steps_of_its_agents(
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = Written(has_traces=True)
    written.ask("eth_sendTransaction", written.agents.instruction())
    written.log.close()
    written.agents.node.close()
    tree = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    tree = [re.sub(r"\[[0-9,]+\]", "[GAS]", line) for line in tree]
    root = tree.index('  [GAS] WalletAgent::instruct(prompt: "Deposit 10 USDC")')
    executor = [i for i, line in enumerate(tree) if "AgentExecutor::runNextIteration(" in line]
    assert len(executor) == 2
    steps = [i for i, line in enumerate(tree) if " inference: " in line]
    assert root < executor[0] < steps[0] < executor[1] < steps[1]
    assert [line.partition("├─ ")[2] for line in tree[steps[0] - 4 : steps[0]]] == [
        "thought: Deposit.",
        "tool: DeployTool",
        'input: {"asset": "DemoToken (0x5FbD…0aa3)", "amount": 10}',
        "observation: Successfully deployed",
    ]
    assert re.search(r"inference: [\d,]+ gas, [\d,]+ tokens read, ", tree[steps[0]])
    assert tree[steps[1] - 1] == "    │   ├─ answer: Done."
    moved = next(line for line in tree if "LiquidityPool::deploy(" in line)
    assert moved.endswith("asset: DemoToken (0x5FbD…0aa3), amount: 10000000 [1e7])")
    assert any("emit Transfer(from: WalletAccount (0x" in line for line in tree)
    assert tree[-1] == '    └─ ← [Return] answer: "Done."'


def test_json_has_the_calls(capsys: pytest.CaptureFixture[str]) -> None:
    written = Written(is_json=True, has_traces=True)
    written.ask("eth_sendTransaction", PRINTING)
    written.log.close()
    written.agents.node.close()
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [trace] = [entry["trace"] for entry in entries if entry["event"] == "transaction"]
    assert trace == ['  [0] console::log("got 7\\u001b[2J")', "    └─ ← [Stop]"]


def test_a_transaction_that_is_gone_has_no_calls() -> None:
    agents = AgentNode()
    names = AddressNames(known=agents.node.chain.known_contracts, get_code=agents.node.chain.code)
    assert [*CallTrees(agents.node, names).trace("0x" + "ab" * 32)] == []
    agents.node.close()


def test_a_trace_that_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_trees, "MAX_TREE_BYTES", 5_000)
    agents = AgentNode()
    sent = agents.ask("eth_sendTransaction", agents.instruction())
    names = AddressNames(known=agents.node.chain.known_contracts, get_code=agents.node.chain.code)
    [line] = CallTrees(agents.node, names).trace(sent)
    assert line.is_failure
    assert line.text.startswith("no trace: trace too large: more than 5,000 bytes")
    agents.node.close()


def test_deep_calls_are_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(call_tree_text, "MAX_LINES", 5_000)
    written = Written(has_traces=True)
    calls_itself = "0x5f5f5f5f5f305af100"  # PUSH0 five times, ADDRESS, GAS, CALL, STOP
    written.agents.ask("anvil_setCode", DEEP, calls_itself)
    written.ask("eth_sendTransaction", {"from": FIRST, "to": DEEP, "gas": hex(29_000_000)})
    written.log.close()
    written.agents.node.close()
    tree = [line for line in capsys.readouterr().out.splitlines() if "::receive()" in line]
    assert len(tree) > 500

"""The traced VM executes like the plain one, and reports events."""

from __future__ import annotations

import inspect
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.spoof import SpoofTransaction

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.chain import Call, GenesisAccount
from pyevm_agents.tracing import NoopTracer, make_selectively_traced_vm, make_traced_vm
from pyevm_agents.tracing.call_tracer import CallTracer, CallTracerOptions
from pyevm_agents.vm import AgentVM, PragueAgentVM
from tests.chain_bench import OWNER, OWNER_KEY
from tests.pyevm_agents.tracing.assembler import asm, calling
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario, next_vm, with_class
from tests.pyevm_agents.tracing.scenarios import BY_NAME, CALLEE, INNERMOST
from tests.test_agents import Wallet, answer, instruct, use

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import ComputationAPI, ReceiptAPI, SignedTransactionAPI

    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep, TracedLog, TransactionStart
    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")


class Diary(NoopTracer):
    """Records every event in a few words."""

    watched_opcodes = frozenset(range(256))

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.open_steps: list[OpcodeStep] = []

    def on_tx_start(self, start: TransactionStart) -> None:
        self.lines.append(f"begin {start.is_create}")

    def on_opcode(self, step: OpcodeStep) -> None:
        self.open_steps.append(step)
        self.lines.append(f"step {step.depth} {step.op:#04x}")

    def on_opcode_end(self, step: OpcodeStep) -> None:
        assert self.open_steps.pop() is step
        self.lines.append(f"stepped {step.depth} {step.op:#04x} {step.gas_cost}")

    def on_enter(self, frame: CallFrame) -> None:
        self.lines.append(f"enter {frame.depth} {frame.kind}")

    def on_exit(self, frame: CallFrame) -> None:
        self.lines.append(f"leave {frame.depth} {frame.kind} {frame.error}")

    def on_log(self, entry: TracedLog) -> None:
        self.lines.append(f"log {entry.depth}")

    def on_tx_end(self, gas_used: int) -> None:
        self.lines.append(f"end {gas_used}")


def _apply(vm: AgentVM, scenario: Scenario) -> tuple[ReceiptAPI, ComputationAPI]:
    return vm.apply_transaction(vm.get_header(), scenario.transaction(vm))


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "calls too deep"])
def test_comes_to_what_the_plain_one_comes_to(name: str) -> None:
    scenario, outcomes = BY_NAME[name], []
    for traced in (False, True):
        vm = next_vm(scenario.chain())
        diary = Diary()
        if traced:
            vm = with_class(vm, make_traced_vm(type(vm), diary))
        receipt, computation = _apply(vm, scenario)
        outcomes.append((receipt, bytes(computation.output), vm.state.make_state_root()))
        if traced:
            assert diary.lines[-1] == f"end {receipt.gas_used}"
            assert not diary.open_steps
            entered, left = (
                sum(line.startswith(word) for line in diary.lines) for word in ("enter", "leave")
            )
            assert entered == left
    assert outcomes[0] == outcomes[1]


def test_tells_in_geths_order() -> None:
    code = "PUSH0 PUSH0 LOG0 PUSH0 PUSH0 PUSH0 CREATE STOP"
    scenario = Scenario(
        name="order", accounts=BY_NAME["transfer"].accounts, to=None, data=asm(code)
    )
    diary = Diary()
    scenario.trace(diary)
    assert diary.lines == [
        "begin True",
        "enter 0 CREATE",
        "step 1 0x5f",
        "stepped 1 0x5f 2",
        "step 1 0x5f",
        "stepped 1 0x5f 2",
        "step 1 0xa0",
        "log 0",
        "stepped 1 0xa0 375",
        *["step 1 0x5f", "stepped 1 0x5f 2"] * 3,
        "step 1 0xf0",
        "enter 1 CREATE",
        "leave 1 CREATE None",
        "stepped 1 0xf0 32000",
        "step 1 0x00",
        "stepped 1 0x00 0",
        "leave 0 CREATE None",
        # 21,000 and 32,000, 8 bytes of data of which 1 is zero, 1 word of initcode, the code.
        f"end {21_000 + 32_000 + 7 * 16 + 4 + 2 + 5 * 2 + 375 + 32_000}",
    ]


def test_leaves_the_plain_class_alone() -> None:
    before = dict(vars(PragueComputation))
    traced = make_traced_vm(PragueAgentVM, NoopTracer())
    assert issubclass(traced, PragueAgentVM)
    assert traced is not PragueAgentVM
    assert dict(vars(PragueComputation)) == before


def test_traces_the_chosen_transactions_and_nothing_that_the_block_does_besides() -> None:
    scenario = BY_NAME["storage"]
    chain = scenario.chain()
    diaries: list[Diary | None] = [None, Diary(), None]
    asked: list[SignedTransactionAPI] = []

    def choose(transaction: SignedTransactionAPI) -> Diary | None:
        asked.append(transaction)
        return diaries[len(asked) - 1]

    vm = next_vm(chain)
    builder = vm.get_transaction_builder()
    transactions = [
        builder.create_unsigned_transaction(
            nonce=nonce, gas_price=10**10, gas=10**6, to=CONTRACT, value=0, data=b""
        ).as_signed_transaction(OWNER_KEY, chain_id=chain.config.chain_id)
        for nonce in range(3)
    ]
    traced = with_class(vm, make_selectively_traced_vm(type(vm), choose))
    block = traced.get_block().copy(transactions=transactions)
    result = traced.import_block(block)
    assert [transaction.nonce for transaction in asked] == [0, 1, 2]
    assert diaries[1] is not None
    assert diaries[1].lines.count("enter 0 CALL") == 1
    assert len(result.block.transactions) == len(transactions)


class Depths(NoopTracer):
    def __init__(self) -> None:
        self.errors: dict[int, str | None] = {}

    def on_exit(self, frame: CallFrame) -> None:
        self.errors[frame.depth] = frame.error


def test_tells_of_calls_1024_deep() -> None:
    depths = Depths()
    BY_NAME["calls too deep"].trace(depths)
    assert depths.errors == {**dict.fromkeys(range(1025)), 1025: "max call depth exceeded"}


class Heights(NoopTracer):
    watched_opcodes = frozenset({0x58})

    def __init__(self) -> None:
        self.found: list[int] = []

    def on_opcode(self, step: OpcodeStep) -> None:
        del step
        self.found.append(len(inspect.stack(0)))


def test_a_traced_call_is_no_deeper_on_pythons_stack() -> None:
    """py-evm sets Python's recursion limit for its own calls: a tracer must not need more."""
    heights = Heights()

    accounts = {
        CONTRACT: GenesisAccount(code=asm("PC " + calling("CALL", CALLEE))),
        CALLEE: GenesisAccount(code=asm("PC " + calling("CALL", INNERMOST))),
        INNERMOST: GenesisAccount(code=asm("PC")),
    }
    Scenario(name="heights", accounts=accounts).trace(heights)
    # py-evm: the opcode, apply_child_computation, generate_child_computation, apply_message and
    # apply_computation; ours: generate_child_computation, and the choice of a thread.
    assert [second - first for first, second in pairwise(heights.found)] == [7, 7]
    assert sys.getrecursionlimit() >= 5 * 1024


def test_tells_of_a_creation_at_an_address_in_use() -> None:
    diary = Diary()
    BY_NAME["creation at an address in use"].trace(diary)
    assert diary.lines == [
        "begin True",
        "enter 0 CREATE",
        "leave 0 CREATE contract address collision",
        "end 1000000",
    ]


class BrokenError(Exception):
    """A fault of the host."""


class Broken(NoopTracer):
    watched_opcodes = frozenset({0x54})

    def on_opcode(self, step: OpcodeStep) -> None:
        raise BrokenError(step)


def test_what_ends_an_execution_from_outside_leaves_nothing_recording() -> None:
    scenario = BY_NAME["storage"]
    tracers: list[NoopTracer | None] = [Broken(), None]
    traced_class = make_selectively_traced_vm(PragueAgentVM, lambda _: tracers.pop(0))
    vm = next_vm(scenario.chain())
    with pytest.raises(BrokenError):
        _apply(with_class(vm, traced_class), scenario)
    _apply(with_class(vm, traced_class), scenario)
    assert not tracers


def test_an_agents_run_is_a_tree_of_calls(bench: MakeBench) -> None:
    """The executor is called like any contract, and calls the tools' metadata functions."""
    wallet = Wallet(bench([use("DeployTool", asset="USDC", amount=10), answer("Deposited.")]))
    chain = wallet.bench.chain
    vm = next_vm(chain)
    tracer = CallTracer(CallTracerOptions(with_log=True))
    call = Call(to=wallet.agent, sender=OWNER, data=instruct("Deposit 10 USDC"))
    transaction = chain.build_unsigned_transaction(call).as_signed_transaction(
        OWNER_KEY, chain_id=chain.config.chain_id
    )
    traced = with_class(vm, make_traced_vm(type(vm), tracer))
    receipt, _ = traced.apply_transaction(traced.get_header(), transaction)
    nodes = list(tracer.walk_nodes())
    executor_calls = [node for node, _ in nodes if node.frame.to == EXECUTOR_ADDRESS]
    assert len(executor_calls) == 2  # a tool's use, then the answer
    for node in executor_calls:
        assert node.frame.kind in {"CALL", "STATICCALL"}
        assert node.frame.error is None
        assert {read.frame.kind for read in node.calls} == {"STATICCALL"}
        assert node.frame.gas_used > sum(read.frame.gas_used for read in node.calls)
    logs = [log for node, _ in nodes for log in node.logs]
    assert len(logs) == len(receipt.logs)
    result = tracer.result()
    assert isinstance(result, dict)
    assert result["gasUsed"] == hex(receipt.gas_used)


def test_works_for_a_call_without_a_signature() -> None:
    """`debug_traceCall` executes like `Chain.call`."""
    chain = BY_NAME["storage"].chain()
    vm = next_vm(chain)
    diary = Diary()
    traced = with_class(vm, make_traced_vm(type(vm), diary))
    unsigned = traced.create_unsigned_transaction(
        nonce=0, gas_price=0, gas=10**6, to=CONTRACT, value=0, data=b""
    )
    with traced.in_costless_state() as state:
        computation = state.costless_execute_transaction(
            SpoofTransaction(unsigned, from_=OWNER)  # type: ignore[arg-type]
        )
    assert computation.is_success
    assert diary.lines[0] == "begin False"
    assert diary.lines[-1].startswith("end ")

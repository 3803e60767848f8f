"""Reads that are remembered end as they do where each is executed; all others are executed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth.vm import opcode_values as op
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth.vm.message import Message
from eth_typing import Address
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.chain import Chain
from pyevm_agents.config import ChainConfig
from pyevm_agents.models import answer, use
from pyevm_agents.testing.inputs import agent_input
from pyevm_agents.vm import AgentComputation, metadata_cache
from pyevm_agents.vm.metadata_cache import PURE_OPCODES
from pyevm_agents.vm.opcodes import PRAGUE_OPCODES
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from eth.abc import StateAPI

    from pyevm_agents.testing.chain import AgentChain

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

TOOL, OTHER = Address(b"\xcc" * 20), Address(b"\x01" * 20)
RETURN_MEMORY = b"\x59\x5f\xf3"  # MSIZE, PUSH0, RETURN


class Executing(AgentComputation):
    """Executes each read."""

    remembers_reads = False


@pytest.fixture(autouse=True)
def _nothing_is_remembered() -> None:
    metadata_cache._cache.clear()  # noqa: SLF001 - each test begins with nothing


@pytest.fixture(scope="module")
def state() -> StateAPI:
    return Chain(ChainConfig(genesis_timestamp_seconds=1)).state()


def message_to(to: Address, code: bytes, **told: Any) -> Message:  # noqa: ANN401 - a message's
    fields: dict[str, Any] = {"gas": 0, "sender": OTHER, "value": 0, "data": b""} | told
    return Message(to=to, code=code, code_address=to, **fields)


def read(
    state: StateAPI,
    code: bytes,
    *,
    kind: type[AgentComputation] = AgentComputation,
    data: bytes = b"name",
    gas: int = 50_000,
    **told: Any,  # noqa: ANN401 - a message's
) -> dict[str, object]:
    """Return the result of reading a tool."""
    fields: dict[str, Any] = {"sender": EXECUTOR_ADDRESS, "is_static": True, "data": data} | told
    context = CancunTransactionContext(gas_price=1, origin=OTHER)
    before = state.snapshot()
    parent = kind(state, message_to(OTHER, b"", depth=1), context)
    done: Any = parent.generate_child_computation(
        message_to(TOOL, code, depth=2, gas=gas, **fields)
    )
    state.revert(before)
    return {
        "gas": done.get_gas_remaining(),
        "refund": done.get_gas_refund(),
        "output": bytes(done.output),
        "error": (type(done.error), str(done.error)) if done.is_error else None,
        "children": len(done.children),
        "logs": done.get_log_entries(),
        "executed_gas_opcode": done.executed_gas_opcode,
    }


def is_remembered() -> bool:
    return len(metadata_cache._cache) > 0  # noqa: SLF001 - nothing else tells


def push(number: int) -> bytes:
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([op.PUSH0 + len(content)]) + content


steps = st.one_of(
    st.integers(0, 70).map(push),
    st.integers(0, 2**256 - 1).map(push),
    st.sampled_from(sorted(PURE_OPCODES)).map(lambda code: bytes([code])),
    st.sampled_from(sorted(PRAGUE_OPCODES)).map(lambda code: bytes([code])),
    st.tuples(st.integers(0, 9), st.integers(0, 99)).map(
        lambda both: push(both[1]) + push(both[0]) + b"\x52"
    ),
)
codes = st.lists(steps, max_size=25).map(lambda parts: b"".join(parts) + RETURN_MEMORY)
gases = st.integers(0, 300) | st.just(50_000)


@pytest.mark.slow
@settings(max_examples=400)
@given(code=codes, data=st.lists(st.binary(max_size=40), min_size=1), gas=st.lists(gases))
def test_a_read_ends_as_where_each_is_executed(
    state: StateAPI, code: bytes, data: list[bytes], gas: list[int]
) -> None:
    for limit in (50_000, *gas, 50_000):
        for one in data:
            plain = read(state, code, kind=Executing, data=one, gas=limit)
            assert read(state, code, data=one, gas=limit) == plain


def test_it_is_enough_gas_or_it_is_not(state: StateAPI) -> None:
    code = push(7) + push(0) + b"\x52" + RETURN_MEMORY
    used = 50_000 - int(str(read(state, code)["gas"]))
    assert is_remembered()
    assert read(state, code, gas=used)["gas"] == 0
    for short in (0, used - 1):
        assert read(state, code, gas=short) == read(state, code, gas=short, kind=Executing)
        assert read(state, code, gas=short)["error"] is not None


@pytest.mark.parametrize("code", sorted(set(PRAGUE_OPCODES) - PURE_OPCODES))
def test_no_other_instruction_is_remembered(state: StateAPI, code: int) -> None:
    program = push(0) * 7 + bytes([code]) + RETURN_MEMORY
    assert read(state, program) == read(state, program, kind=Executing)
    assert not is_remembered()


def test_every_pure_instruction_is_remembered(state: StateAPI) -> None:
    for code in PURE_OPCODES - {op.JUMP, op.JUMPI, op.STOP}:
        skipped = bytes(code - op.PUSH0) if op.PUSH1 <= code <= op.PUSH32 else b""
        program = push(0) * 17 + bytes([code]) + skipped + RETURN_MEMORY
        metadata_cache._cache.clear()  # noqa: SLF001 - as above
        assert read(state, program)["error"] is None
        assert is_remembered(), hex(code)


@pytest.mark.parametrize(
    "told",
    [
        {"sender": OTHER},
        {"is_static": False},
        {"value": 1, "should_transfer_value": False},
        {"kind": Executing},
    ],
)
def test_only_reads_of_the_executors_are_remembered(state: StateAPI, told: dict[str, Any]) -> None:
    read(state, RETURN_MEMORY, **told)
    assert not is_remembered()


def test_what_reverts_is_executed(state: StateAPI) -> None:
    read(state, b"\x5f\x5f\xfd")
    assert not is_remembered()


# -- agents -- #


def run_of(chain: AgentChain, agent: Any) -> tuple[object, ...]:  # noqa: ANN401 - a web3 Contract
    with chain.isolated():
        chain.model.script(use("CounterTool", amount=5), answer("done"))
        receipt = chain.ask(agent, "Add five")
        steps = chain.steps(receipt["transactionHash"])
        block = chain.w3.eth.get_block(receipt["blockNumber"])
        return receipt["gasUsed"], receipt["logs"], steps, block["stateRoot"], block["hash"]


def test_a_run_is_the_same_in_all_it_leaves(agent_chain: AgentChain) -> None:
    agent = clerk(agent_chain, agent_chain.deploy("CounterTool"), agent_chain.deploy("EchoTool"))
    first = run_of(agent_chain, agent)
    assert is_remembered()
    assert run_of(agent_chain, agent) == first
    metadata_cache._cache.clear()  # noqa: SLF001 - as above
    assert run_of(agent_chain, agent) == first


def test_an_estimate_is_the_same(agent_chain: AgentChain) -> None:
    agent = clerk(agent_chain, agent_chain.deploy("CounterTool"))
    estimates = set()
    for _ in range(2):
        agent_chain.model.script(answer("done"))
        asked = agent.functions.run(agent_input("Say it is done"), "0x" + "0" * 40)
        estimates.add(asked.estimate_gas())
        estimates.add(asked.estimate_gas())
        metadata_cache._cache.clear()  # noqa: SLF001 - as above
    assert len(estimates) == 1


def test_a_tracer_sees_every_instruction(agent_chain: AgentChain) -> None:
    agent = clerk(agent_chain, agent_chain.deploy("CounterTool"))
    agent_chain.model.script(answer("done"))
    receipt = agent_chain.ask(agent, "Say it is done")
    assert is_remembered()
    traces = []
    for _ in range(2):
        form = agent_chain.request("debug_traceTransaction", receipt["transactionHash"].to_0x_hex())
        traces.append(form["structLogs"])
        metadata_cache._cache.clear()  # noqa: SLF001 - as above
    assert traces[0] == traces[1]
    assert any(line["depth"] == 3 for line in traces[0])

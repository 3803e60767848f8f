"""Fast opcodes have py-evm's results: gas, stack, memory, output and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.message import Message
from eth_typing import Address
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Chain
from pyevm_agents.config import ChainConfig
from pyevm_agents.vm.computation import PragueAgentComputation
from pyevm_agents.vm.fast_opcodes import ONE_TO_ONE, TWO_TO_ONE, add_fast_opcodes

if TYPE_CHECKING:
    from eth.abc import StateAPI

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

SENDER, CONTRACT = Address(b"\x01" * 20), Address(b"\xcc" * 20)
QUICK = add_fast_opcodes(PragueComputation.opcodes)
QUICK_CODES = sorted(code for code in QUICK if QUICK[code] is not PragueComputation.opcodes[code])
OTHERS = [0x00, 0x20, 0x30, 0x33, 0x35, 0x36, 0x39, 0x53, 0x58, 0x59, 0x5A, 0x3D, 0xF3, 0xFD, 0xFE]
"""STOP, KECCAK256, ADDRESS, CALLER, CALLDATALOAD, …: what pushes bytes, or reads what is there."""


class Plain(PragueComputation):
    """py-evm's own."""


class Quick(PragueAgentComputation):
    """The same with quick opcodes, in the loop that executes them."""

    opcodes = QUICK


@pytest.fixture(scope="module")
def state() -> StateAPI:
    chain = Chain(ChainConfig(genesis_timestamp_seconds=1))
    return chain.state()


def left(
    kind: type[PragueComputation], state: StateAPI, code: bytes, data: bytes, gas: int
) -> dict[str, object]:
    """Return the state after an execution of code."""
    message = Message(
        gas=gas, to=CONTRACT, sender=SENDER, value=0, data=data, code=code, code_address=CONTRACT
    )
    context = CancunTransactionContext(gas_price=1, origin=SENDER)
    done: Any = kind.apply_computation(state, message, context)
    return {
        "gas": done.get_gas_remaining(),
        "refund": done.get_gas_refund(),
        "output": bytes(done.output),
        "error": (type(done.error), str(done.error)) if done.is_error else None,
        "stack": [numbered(item) for item in done._stack.values],  # noqa: SLF001 - nothing else tells
        "memory": bytes(done._memory._bytes),  # noqa: SLF001 - see above
        "pc": done.code.program_counter,
    }


def numbered(item: int | bytes) -> int:
    return item if isinstance(item, int) else int.from_bytes(item, "big")


def push(number: int) -> bytes:
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([0x5F + len(content)]) + content


numbers = (
    st.integers(0, 70)
    | st.sampled_from([255, 256, 2**255, 2**256 - 1])
    | st.integers(0, 2**256 - 1)
)
steps = (
    numbers.map(push)
    | st.sampled_from(QUICK_CODES).map(lambda code: bytes([code]))
    | st.sampled_from(OTHERS).map(lambda code: bytes([code]))
)
jumps = st.integers(0, 60).map(lambda at: push(at) + b"\x56") | st.tuples(
    st.integers(0, 1), st.integers(0, 60)
).map(lambda both: push(both[0]) + push(both[1]) + b"\x57")
codes = st.lists(steps | jumps | st.just(b"\x5b" * 4), max_size=40).map(b"".join)


@settings(max_examples=400, deadline=None)
@given(code=codes, data=st.binary(max_size=70), gas=st.integers(0, 400) | st.just(5_000))
@example(code=b"\x5f" * 1_030, data=b"", gas=5_000)
@example(code=b"\x5f" + b"\x80" * 1_030, data=b"", gas=5_000)
@example(code=b"\x7f\x01", data=b"", gas=100)
@example(code=push(3) + b"\x56" + b"\x60\x5b", data=b"", gas=100)
@example(code=push(2**256 - 1) + b"\x35", data=b"\x01" * 70, gas=100)
@example(code=b"\x5b" + push(0) + b"\x56", data=b"", gas=5_000)
def test_they_leave_what_py_evms_leave(state: StateAPI, code: bytes, data: bytes, gas: int) -> None:
    assert left(Quick, state, code, data, gas) == left(Plain, state, code, data, gas)


@settings(max_examples=400, deadline=None)
@given(
    a=numbers, b=numbers, code=st.sampled_from([*ONE_TO_ONE, *TWO_TO_ONE]), is_bytes=st.booleans()
)
def test_they_compute_what_py_evms_compute(
    *, state: StateAPI, a: int, b: int, code: int, is_bytes: bool
) -> None:
    # ADDRESS pushes bytes.
    program = push(b) + (b"\x30" if is_bytes else push(a)) + bytes([code])
    assert left(Quick, state, program, b"", 100) == left(Plain, state, program, b"", 100)


places = st.integers(0, 300) | st.sampled_from([31, 32, 33, 23_000, 2**20, 2**32, 2**256 - 32])


@settings(max_examples=400, deadline=None)
@given(
    at=st.lists(places, max_size=6),
    is_bytes=st.booleans(),
    gas=st.integers(0, 200) | st.sampled_from([5_000, 10_000_000]),
)
def test_memory_grows_at_py_evms_price(
    *, state: StateAPI, at: list[int], is_bytes: bool, gas: int
) -> None:
    word = b"\x30" if is_bytes else push(7)
    program = b"".join(word + push(place) + b"\x52" for place in at) + b"\x59"
    assert left(Quick, state, program, b"", gas) == left(Plain, state, program, b"", gas)


def test_what_is_quick_has_its_name_and_price() -> None:
    for code in QUICK_CODES:
        quick: Any = QUICK[code]
        theirs: Any = PragueComputation.opcodes[code]
        assert (quick.mnemonic, quick.gas_cost) == (theirs.mnemonic, theirs.gas_cost)

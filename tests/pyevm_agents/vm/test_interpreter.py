"""The interpreter's loop leaves what py-evm's opcodes leave, to the text of an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from eth.vm import opcode_values as op
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth.vm.message import Message
from eth_typing import Address
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.vm import interpreter
from pyevm_agents.vm.computation import AgentComputation, OsakaAgentComputation
from pyevm_agents.vm.interpreter import OPCODES, PRICES, interpret, price_out
from pyevm_agents.vm.stack_depth import iter_computations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eth.abc import StateAPI

    Piece = Callable[[int], bytes]
    """A piece of a program: its code at some position."""

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

SENDER, CONTRACT, CALLEE, NOBODY = (Address(bytes([n]) * 20) for n in (1, 0xCC, 0xCD, 0xCE))
IDENTITY = Address(b"\x04".rjust(20, b"\0"))
MANY = bytes([op.JUMPDEST]) * 200


class Loop(OsakaAgentComputation):
    """A computation with the interpreter's loop."""


class Plain(OsakaAgentComputation):
    """The same with py-evm's opcodes alone."""


Plain.has_plain_opcodes = False


@pytest.fixture(scope="module")
def state() -> StateAPI:
    accounts = {
        CONTRACT: GenesisAccount(nonce=1, balance_wei=100, storage={0: 1, 1: 2}),
        CALLEE: GenesisAccount(nonce=1, balance_wei=100, storage={0: 1}),
    }
    return Chain(ChainConfig(genesis_timestamp_seconds=1), accounts=accounts).state()


def outcome(
    kind: type[AgentComputation],
    state: StateAPI,
    code: bytes,
    data: bytes = b"",
    gas: int = 10**6,
    *,
    callee: bytes = b"",
    is_static: bool = False,
) -> dict[str, object]:
    """Return everything that a call of some code leaves, and undo it."""
    message = Message(
        gas=gas, to=CONTRACT, sender=SENDER, value=0, data=data, code=code, is_static=is_static
    )
    before = state.snapshot()
    state.lock_changes()
    state.set_code(CONTRACT, code)
    state.set_code(CALLEE, callee)
    done: Any = kind.apply_message(
        state, message, CancunTransactionContext(gas_price=1, origin=SENDER)
    )
    left = {
        "calls": [
            (
                *(call.get_gas_remaining(), call.msg.gas, bytes(call.msg.data), bytes(call.output)),
                (type(call.error), str(call.error)) if call.is_error else None,
                (call.executed_gas_opcode, call.least_gas_at_store, call.gas_retained_by_caller),
            )
            for call in iter_computations(done)
        ],
        "refund": done.get_gas_refund(),
        "logs": done.get_raw_log_entries(),
        "deleted": done.get_accounts_for_deletion(),
        "stack": [as_number(item) for item in done._stack.values],  # noqa: SLF001 - nothing else tells
        "memory": bytes(done._memory._bytes),  # noqa: SLF001 - see above
        "return data": bytes(done.return_data),
        "position": done.code.program_counter,
        "root": state.make_state_root(),
    }
    state.revert(before)
    return left


def as_number(item: int | bytes) -> int:
    return item if isinstance(item, int) else int.from_bytes(item, "big")


def require_same(state: StateAPI, *arguments: Any, leg_gas: int = 50_000, **options: Any) -> None:  # noqa: ANN401
    with mock.patch.object(interpreter, "LEG_GAS", leg_gas):
        loop = outcome(Loop, state, *arguments, **options)
    assert loop == outcome(Plain, state, *arguments, **options)


# -- programs -- #


def push(number: int) -> bytes:
    content = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([op.PUSH0 + len(content)]) + content


def raw(code: bytes) -> Piece:
    return lambda _: code


def assemble(pieces: Iterable[Piece], at: int = 0) -> bytes:
    code = b""
    for piece in pieces:
        code += piece(at + len(code))
    return code


def repeat(times: int, body: list[Piece]) -> Piece:
    """Return a loop. Its counter is deepest: a body that takes more than it leaves, takes that."""

    def build(at: int) -> bytes:
        begin = push(times)
        top = at + len(begin)
        inner = assemble(body, top + 1)
        # 1, SWAP1, SUB, DUP1, JUMPI to the top; then POP.
        after = b"\x60\x01\x90\x03\x80" + b"\x61" + top.to_bytes(2, "big") + b"\x57\x50"
        return begin + b"\x5b" + inner + after

    return build


def jump(over: int) -> Piece:
    """Return a jump to a PUSH1, to the JUMPDEST that is its data, or to one behind it."""
    return lambda at: b"\x61" + (at + 4 + over).to_bytes(2, "big") + b"\x56\x60\x5b\x5b"


def call(kind: int, to: Address, gas: bytes, *ranges: int) -> bytes:
    value = push(ranges[4]) if kind in {op.CALL, op.CALLCODE} else b""
    memory = b"".join(map(push, ranges[:4]))
    return memory + value + b"\x73" + to + gas + bytes([kind])


numbers = (
    st.integers(0, 70)
    | st.sampled_from([255, 256, 2**16, 2**255, 2**255 - 1, 2**256 - 1])
    | st.integers(0, 2**256 - 1)
)
words = numbers.map(push) | st.sampled_from([b"\x30", b"\x33", b"\x5a", b"\x47"])
"""Pushed numbers; ADDRESS, CALLER, GAS and SELFBALANCE."""

small = st.integers(0, 5)
places = st.integers(0, 300) | st.sampled_from([31, 32, 33, 23_000, 2**20, 2**32, 2**256 - 32])
sizes = st.integers(0, 100) | st.sampled_from([2**16, 2**256 - 1])
ranges = st.tuples(places, places, sizes)
single = st.integers(0, 255).map(lambda code: bytes([code]))
operations = st.tuples(
    words, words, words, st.sampled_from([*range(0x01, 0x0C), *range(0x10, 0x20)])
).map(lambda all_: b"".join(all_[:3]) + bytes([all_[3]]))
memory = st.one_of(
    st.tuples(words, places, st.sampled_from([op.MSTORE, op.MSTORE8])).map(
        lambda it: it[0] + push(it[1]) + bytes([it[2]])
    ),
    places.map(lambda at: push(at) + b"\x51"),
    st.tuples(places, sizes).map(lambda it: push(it[1]) + push(it[0]) + b"\x20"),
    st.tuples(ranges, st.sampled_from([op.CALLDATACOPY, op.CODECOPY, op.RETURNDATACOPY, op.MCOPY]))
    .map(lambda it: b"".join(push(number) for number in reversed(it[0])) + bytes([it[1]])),
    st.tuples(st.lists(words, min_size=4, max_size=4), places, sizes, st.integers(0, 4)).map(
        lambda it: b"".join(it[0]) + push(it[2]) + push(it[1]) + bytes([op.LOG0 + it[3]])
    ),
)  # fmt: skip
storage = st.one_of(
    st.tuples(small, small).map(lambda it: push(it[0]) + push(it[1]) + b"\x55"),
    small.map(lambda slot: push(slot) + b"\x54"),
    st.tuples(small, small).map(lambda it: push(it[0]) + push(it[1]) + b"\x5d" + b"\x5f\x5c"),
)
calls = st.builds(
    call,
    st.sampled_from([op.CALL, op.CALLCODE, op.DELEGATECALL, op.STATICCALL]),
    st.sampled_from([CALLEE, CONTRACT, NOBODY, IDENTITY]),
    st.sampled_from([b"\x5a", push(100), push(10_000), push(2**255)]),
    *([st.integers(0, 70)] * 4),
    st.integers(0, 2),
)
creations = st.tuples(small, st.sampled_from([op.CREATE, op.CREATE2])).map(
    lambda it: b"\x5f\x60\x40\x5f" + push(it[0]) + bytes([it[1]])
)
jumps = st.tuples(words, st.integers(0, 90)).map(lambda it: it[0] + push(it[1]) + b"\x57") | (
    st.integers(0, 90).map(lambda at: push(at) + b"\x56")
)
ends = st.tuples(places, sizes, st.sampled_from([op.RETURN, op.REVERT])).map(
    lambda it: push(it[1]) + push(it[0]) + bytes([it[2]])
)
statements: st.SearchStrategy[Piece] = st.one_of(
    *(operations, memory, storage, calls, creations, single, words)
).map(raw)
pieces = st.recursive(
    statements | st.integers(0, 2).map(jump),
    lambda inner: st.builds(repeat, st.integers(1, 20), st.lists(inner, max_size=6)),
    max_leaves=12,
)
programs = st.tuples(st.lists(pieces, max_size=14), ends | st.just(b"")).map(
    lambda it: assemble([*it[0], raw(it[1])])
)
random_codes = st.lists(
    single | words | jumps | st.just(b"\x5b" * 4) | st.binary(max_size=4), max_size=40
).map(b"".join)
gases = st.integers(0, 400) | st.integers(0, 60_000) | st.just(100_000)
"""With more, nested calls would exceed the recursion limit that Hypothesis sets."""

legs = st.sampled_from([0, 20, 500, 50_000])


@settings(max_examples=300, deadline=None)
@given(code=random_codes, data=st.binary(max_size=70), gas=gases, leg_gas=legs)
@example(code=b"\x5f" * 1_030, data=b"", gas=5_000, leg_gas=50_000)
@example(code=b"\x5f" + b"\x80" * 1_030, data=b"", gas=5_000, leg_gas=50_000)
@example(code=b"\x60\x00" * 1_030, data=b"", gas=5_000, leg_gas=50_000)
@example(code=b"\x61\x00\x00" * 1_030, data=b"", gas=5_000, leg_gas=50_000)
@example(code=b"\x36" * 1_030, data=b"", gas=5_000, leg_gas=50_000)
@example(code=b"\x7f\x01", data=b"", gas=100, leg_gas=50_000)
@example(code=b"\x60", data=b"", gas=100, leg_gas=50_000)
@example(code=push(4) + b"\x56" + b"\x60\x5b", data=b"", gas=100, leg_gas=50_000)
@example(code=push(2**256 - 1) + b"\x56", data=b"", gas=100, leg_gas=50_000)
@example(code=push(2**256 - 1) + b"\x35", data=b"\x01" * 70, gas=100, leg_gas=50_000)
@example(code=b"\x5b" + push(0) + b"\x56", data=b"", gas=5_000, leg_gas=50_000)
def test_random_code(state: StateAPI, code: bytes, data: bytes, gas: int, leg_gas: int) -> None:
    require_same(state, code, data, gas, leg_gas=leg_gas, callee=code[::-1])


@settings(max_examples=500, deadline=None)
@given(
    code=programs,
    callee=programs,
    data=st.binary(max_size=70),
    gas=gases,
    leg_gas=legs,
    is_static=st.integers(0, 7).map(lambda number: number == 0),
)
def test_programs(
    *,
    state: StateAPI,
    code: bytes,
    callee: bytes,
    data: bytes,
    gas: int,
    leg_gas: int,
    is_static: bool,
) -> None:
    require_same(
        state, code, data, gas, callee=callee, leg_gas=leg_gas, is_static=is_static
    )  # fmt: skip


@settings(max_examples=800, deadline=None)
@given(
    items=st.lists(small.map(push) | words, max_size=6),
    code=st.sampled_from(sorted(OPCODES.keys() - set(range(op.PUSH1, op.SWAP16 + 1))))
    | st.integers(op.PUSH1, op.SWAP16),
    gas=st.integers(0, 130) | st.sampled_from([2_300, 2_301, 5_000]) | st.just(10**6),
    is_static=st.booleans(),
)
def test_each_opcode(
    *, state: StateAPI, items: list[bytes], code: int, gas: int, is_static: bool
) -> None:
    program = b"".join(items) + bytes([code]) + b"\x59"
    require_same(state, program, b"data", gas, is_static=is_static)


@settings(max_examples=300, deadline=None)
@given(at=st.lists(places, max_size=6), word=words, gas=gases | st.just(10**7))
def test_memory_grows_at_py_evms_price(
    state: StateAPI, at: list[int], word: bytes, gas: int
) -> None:
    require_same(state, b"".join(word + push(place) + b"\x52" for place in at) + b"\x59", b"", gas)


@settings(max_examples=300, deadline=None)
@given(
    stores=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=6),
    gas=st.integers(2_000, 60_000),
)
def test_stores_cost_and_refund_what_py_evms_do(
    state: StateAPI, stores: list[tuple[int, int]], gas: int
) -> None:
    code = b"".join(push(value) + push(slot) + b"\x55" for value, slot in stores)
    require_same(state, code, b"", gas)
    require_same(state, code, b"", gas, is_static=True)


# -- what is left -- #


def find_left(state: StateAPI, code: int, prices: list[int]) -> int:
    """Return the position of the instruction that the loop leaves, of an opcode and many more."""
    message = Message(
        gas=10**6, to=CONTRACT, sender=SENDER, value=0, data=b"", code=bytes([code]) + MANY
    )
    before = state.snapshot()
    computation: Any = Loop(state, message, CancunTransactionContext(gas_price=1, origin=SENDER))
    computation._stack.values.extend([100] * 17)  # noqa: SLF001 - see `outcome`
    computation.return_data = MANY
    interpret(computation, prices)
    state.revert(before)
    return int(computation.code.program_counter) - 1


@pytest.mark.parametrize("code", range(256))
def test_what_is_not_the_loops_is_left(state: StateAPI, code: int) -> None:
    assert find_left(state, code, PRICES) == (1 + len(MANY) if code in OPCODES else 0)
    assert find_left(state, code, price_out({code})) == 0


def test_a_class_with_other_opcodes_has_no_loop() -> None:
    changed = {**OsakaAgentComputation.opcodes, op.ADD: OsakaAgentComputation.opcodes[op.MUL]}
    assert not type("Changed", (AgentComputation,), {"opcodes": changed}).has_plain_opcodes  # type: ignore[attr-defined]
    changed = {**OsakaAgentComputation.opcodes, op.CALL: OsakaAgentComputation.opcodes[op.MUL]}
    assert type("Changed", (AgentComputation,), {"opcodes": changed}).has_plain_opcodes  # type: ignore[attr-defined]
    assert Loop.has_plain_opcodes

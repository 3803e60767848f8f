"""Random code: tracing does not affect execution, and gas figures are consistent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.tracing import (
    AccessListTracer,
    MuxTracer,
    NoopTracer,
    create_tracer,
    make_traced_vm,
)
from pyevm_agents.tracing.opcodes import CALLS, CREATES, OPCODE_TABLE
from tests.chain_bench import OWNER, OWNER_KEY
from tests.pyevm_agents.tracing.scenario import CONTRACT, next_vm, with_class
from tests.pyevm_agents.tracing.scenarios import CALLEE, NOBODY, STORE

if TYPE_CHECKING:
    from pyevm_agents.tracing.tracer import CallFrame, OpcodeStep

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

ADDRESSES = [CONTRACT, CALLEE, NOBODY, OWNER, *(Address(bytes(19) + bytes([i])) for i in (1, 4, 9))]


def _push(value: bytes) -> bytes:
    return bytes([0x5F + len(value)]) + value


PUSHES = st.one_of(
    st.sampled_from(ADDRESSES).map(_push),
    st.integers(0, 70).map(lambda number: _push(bytes([number]))),
    st.binary(max_size=32).map(_push),
)
OPCODES = st.sampled_from(sorted(OPCODE_TABLE.keys() - set(range(0x5F, 0x80)))).map(
    lambda op: bytes([op])
)
MAKERS = st.sampled_from(sorted(CALLS | CREATES | {0x54, 0x55, 0xFD, 0xF3, 0xFF}))


@st.composite
def _with_arguments(draw: st.DrawFn) -> bytes:
    """Draw an opcode with its arguments: small numbers, and an address for calls."""
    op = draw(MAKERS)
    takes = OPCODE_TABLE[op].pops
    numbers = [_push(bytes([draw(st.integers(0, 70))])) for _ in range(takes)]
    if op in CALLS:
        numbers[-2] = _push(draw(st.sampled_from(ADDRESSES)))
        numbers[-1] = draw(st.sampled_from([b"\x5a", _push(b"\x27\x10")]))
    return b"".join(numbers) + bytes([op])


CODE = st.lists(PUSHES | OPCODES | _with_arguments(), max_size=25).map(b"".join)


class Sums(NoopTracer):
    """Checks that every call's gas is the sum of its opcodes' costs and its inner calls' gas."""

    watched_opcodes = frozenset(range(256))

    def __init__(self) -> None:
        self.spent: list[int] = []
        self.frames: list[CallFrame] = []
        self.gas_before: list[int] = []

    def on_enter(self, frame: CallFrame) -> None:
        self.frames.append(frame)
        self.spent.append(0)

    def on_exit(self, frame: CallFrame) -> None:
        assert self.frames.pop() is frame
        spent = self.spent.pop()
        assert 0 <= frame.gas_used <= frame.gas
        if frame.error in {None, "execution reverted"} and spent:
            deposit_gas = 200 * len(frame.output) if frame.kind.startswith("CREATE") else 0
            if frame.error:
                deposit_gas = 0
            assert frame.gas_used == spent + deposit_gas
        elif spent:
            assert frame.gas_used == frame.gas

    def on_opcode(self, step: OpcodeStep) -> None:
        assert step.gas == self.frames[-1].gas - self.spent[-1]
        assert step.depth == len(self.frames)

    def on_opcode_end(self, step: OpcodeStep) -> None:
        if step.error is None:
            self.spent[-1] = self.frames[-1].gas - step.computation.get_gas_remaining()
            if step.op not in CALLS | CREATES:
                assert step.gas_cost == step.gas - step.computation.get_gas_remaining()
            else:
                assert step.gas_cost >= 0


@settings(max_examples=20)
@given(code=CODE, callee=CODE, data=st.binary(max_size=40), value_wei=st.integers(0, 3))
def test_tracing_changes_nothing(code: bytes, callee: bytes, data: bytes, value_wei: int) -> None:
    _same_with_and_without(CONTRACT, {CONTRACT: code, CALLEE: callee}, data, value_wei)


@settings(max_examples=10)
@given(code=CODE, value_wei=st.integers(0, 3))
def test_tracing_a_creation_changes_nothing(code: bytes, value_wei: int) -> None:
    _same_with_and_without(Address(b""), {CALLEE: STORE}, code, value_wei)


def _same_with_and_without(
    to: Address, codes: dict[Address, bytes], data: bytes, value_wei: int
) -> None:
    accounts = {
        address: GenesisAccount(code=code, nonce=1, balance_wei=100, storage={1: 5})
        for address, code in codes.items()
    }
    accounts[OWNER] = GenesisAccount(balance_wei=10**20)
    outcomes: list[object] = []
    names = ["callTracer", "prestateTracer", "4byteTracer", "flatCallTracer"]
    tracers: dict[str, Any] = {name: create_tracer({"tracer": name}) for name in names}
    difference = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
    tracers |= {"difference": create_tracer(difference), "list": AccessListTracer()}
    tracers |= {"steps": create_tracer({"enableMemory": True, "enableReturnData": True})}
    for tracer in (None, MuxTracer({**tracers, "sums": Sums()})):
        chain = Chain(ChainConfig(), accounts=accounts)
        vm = next_vm(chain)
        if tracer is not None:
            vm = with_class(vm, make_traced_vm(type(vm), tracer))
        transaction = vm.create_unsigned_transaction(
            nonce=0, gas_price=10**10, gas=300_000, to=to, value=value_wei, data=data
        ).as_signed_transaction(OWNER_KEY, chain_id=chain.config.chain_id)
        receipt, computation = vm.apply_transaction(vm.get_header(), transaction)
        outcomes.append((receipt, bytes(computation.output), vm.state.make_state_root()))
        if tracer is not None:
            traced = tracer.result()
            assert isinstance(traced, dict)
            assert traced["callTracer"]["gasUsed"] == hex(receipt.gas_used)
    assert outcomes[0] == outcomes[1]

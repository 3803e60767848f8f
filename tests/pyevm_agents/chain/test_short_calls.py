"""Short calls have the result of normal calls; longer ones are abandoned."""

from __future__ import annotations

import pytest
from eth_typing import Address
from eth_utils import ValidationError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.chain.simulator import CHEAP_CALL_GAS
from pyevm_agents.config import ChainConfig

CALLER, CONTRACT, OTHER = Address(b"\x01" * 20), Address(b"\xcc" * 20), Address(b"\xdd" * 20)
PRECOMPILE = Address(bytes(19) + b"\x02")
GAS, LOOP = b"\x5a\x5f\x52\x60\x20\x5f\xf3", b"\x5b\x5f\x56"
CALLS = b"\x5f\x5f\x5f\x5f\x5f\x73" + OTHER + b"\x5a\xf1\x5f\x52\x60\x20\x5f\xf3"
CREATES = b"\x5f\x5f\x5f\xf0\x5f\x52\x60\x20\x5f\xf3"
SEVEN = b"\x60\x07\x5f\x52\x60\x20\x5f\xf3"
REFUSES = b"\x60\x07\x5f\x52\x60\x20\x5f\xfd"
SLOT = b"\x5f\x35\x54\x5f\x52\x60\x20\x5f\xf3"
STORES = b"\x60\x09\x5f\x55\x5f\x54" + SEVEN


def chain_with(code: bytes) -> Chain:
    account = GenesisAccount(code=code, storage={0: 42})
    funded = GenesisAccount(balance_wei=10**18)
    return Chain(
        ChainConfig(genesis_timestamp_seconds=1), accounts={CONTRACT: account, CALLER: funded}
    )


@pytest.mark.parametrize("code", [SEVEN, REFUSES, SLOT, b"", b"\x00", STORES + b"\x5f" * 3])
def test_a_short_call_ends_as_a_call_does(code: bytes) -> None:
    chain, call = chain_with(code), Call(to=CONTRACT, sender=CALLER, value_wei=3)
    short, whole = chain.call_if_cheap(call, header=chain.head), chain.call(call, header=chain.head)
    assert short is not None
    assert (short.output, short.gas_used) == (whole.output, whole.gas_used)
    assert type(short.error) is type(whole.error)


@pytest.mark.parametrize("code", [GAS, LOOP, CALLS, CREATES, b"\xfe", b"\x01"])
def test_what_is_not_short_is_given_up_and_remembered(code: bytes) -> None:
    chain, call = chain_with(code), Call(to=CONTRACT, sender=CALLER)
    assert chain.call_if_cheap(call, header=chain.head) is None
    assert (CHEAP_CALL_GAS, CONTRACT, b"") in chain._slow_calls  # noqa: SLF001 - that it is not executed in vain
    assert chain.call_if_cheap(call, header=chain.head) is None


@pytest.mark.parametrize(
    "call",
    [
        Call(to=None, data=SEVEN),
        Call(to=PRECOMPILE, data=b"1"),
        Call(to=CONTRACT, data=bytes(4_097)),
        Call(to=CONTRACT, access_list=((OTHER, (1,)),)),
    ],
)
def test_creations_precompiles_and_long_calldata_are_not_short(call: Call) -> None:
    chain = chain_with(SEVEN)
    assert chain.call_if_cheap(call, header=chain.head) is None


def test_gas_that_is_told_bounds_it() -> None:
    chain = chain_with(SEVEN)
    with pytest.raises(ValidationError):
        chain.call_if_cheap(Call(to=CONTRACT, gas=20_999), header=chain.head)
    assert chain.call_if_cheap(Call(to=CONTRACT, gas=21_001), header=chain.head) is None


STEPS = [0x01, 0x10, 0x12, 0x14, 0x20, 0x30, 0x33, 0x35, 0x36, 0x41, 0x45, 0x47, 0x51, 0x52, 0x54,
         0x55, 0x58, 0x59, 0x5A, 0x5B, 0x5C, 0x5D, 0x5E, 0x5F, 0x80, 0x81, 0x90, 0x56, 0x57, 0xA0,
         0xF1, 0xFA, 0xF3, 0xFD, 0xFE, 0xFF]  # fmt: skip
CODES = st.lists(
    st.integers(0, 64).map(lambda number: bytes([0x60, number]))
    | st.sampled_from(STEPS).map(lambda step: bytes([step])),
    max_size=30,
).map(b"".join)


@pytest.mark.filterwarnings("ignore:SELFDESTRUCT")
@settings(max_examples=100, deadline=None)
@given(code=CODES, data=st.binary(max_size=40), gas=st.none() | st.integers(21_000, 40_000))
@example(code=GAS, data=b"", gas=40_000)
@example(code=STORES, data=b"", gas=26_107)
def test_whatever_is_taken_for_short_is_what_the_call_gives(
    code: bytes, data: bytes, gas: int | None
) -> None:
    chain, call = chain_with(code), Call(to=CONTRACT, sender=CALLER, data=data, gas=gas)
    try:
        whole = chain.call(call, header=chain.head)
    except ValidationError as error:
        with pytest.raises(ValidationError, match=str(error)):
            chain.call_if_cheap(call, header=chain.head)
        return
    short = chain.call_if_cheap(call, header=chain.head)
    if short is not None:
        assert (short.output, short.gas_used) == (whole.output, whole.gas_used)
        assert (short.error is None) == (whole.error is None)

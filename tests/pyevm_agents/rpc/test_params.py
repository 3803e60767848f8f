"""Parameter parsers: valid values, and -32602 with the parameter's name for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.rpc import params
from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.logs import parse_log_criteria
from pyevm_agents.rpc.methods.eth_proof import parse_slot_keys, parse_slots_by_account
from pyevm_agents.rpc.methods.eth_simulate import parse_simulation
from pyevm_agents.rpc.params import TAGS, UINT256, BlockId
from pyevm_agents.rpc.transaction_params import (
    parse_access_list,
    parse_state_overrides,
    parse_transaction_request,
)

if TYPE_CHECKING:
    from collections.abc import Callable

READERS: list[Callable[[object, str], Any]] = [
    params.parse_quantity,
    params.parse_uint64,
    params.parse_seconds,
    params.parse_data,
    params.parse_hash32,
    params.parse_slot,
    params.parse_address,
    params.parse_boolean,
    params.parse_text,
    params.parse_object,
    params.parse_list,
    params.parse_list_of(params.parse_address),
    params.parse_block_id,
    parse_transaction_request,
    parse_access_list,
    parse_state_overrides,
    parse_log_criteria,
    parse_slot_keys,
    parse_slots_by_account,
    parse_simulation,
]

KEYS = [
    *("from", "to", "data", "input", "value", "gas", "nonce", "type", "accessList", "address"),
    *("storageKeys", "topics", "fromBlock", "blockHash", "blockNumber", "requireCanonical"),
    *("blockStateCalls", "calls", "stateOverrides", "blockOverrides", "withdrawals", "code"),
    *("state", "stateDiff", "authorizationList", "blobVersionedHashes", "number", "validation"),
]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2**70)
    | st.floats()
    | st.text(max_size=5)
    | st.from_regex(r"0x[0-9a-fA-F]{0,66}", fullmatch=True),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
@given(value=json_values)
def test_any_json_is_read_or_refused_by_name(read: Callable[..., Any], value: object) -> None:
    error = refusal(read, value)
    if error is not None:
        assert error.code == INVALID_PARAMS
        assert "theName" in error.message or "slots" in error.message or "empty" in error.message
        assert len(error.message) < 400


def refusal(read: Callable[..., Any], value: object) -> RpcError | None:
    try:
        read(value, "theName")
    except RpcError as error:
        return error
    return None


@given(number=st.integers(0, UINT256))
def test_quantities(number: int) -> None:
    assert params.parse_quantity(hex(number), "it") == number
    assert params.parse_quantity(number, "it") == number
    assert params.parse_slot(f"0x{number:064x}", "it") == number
    if number >= 2**64:
        with pytest.raises(RpcError, match="must be a quantity from 0 to 0xffffffffffffffff"):
            params.parse_uint64(hex(number), "it")


@pytest.mark.parametrize(
    "value", ["0x", "0x01", "1", "0xg", "", True, -1, 1.0, None, "0x1 ", "\u0966"]
)
def test_what_is_no_quantity(value: object) -> None:
    with pytest.raises(RpcError, match="invalid params: it: "):
        params.parse_quantity(value, "it")


@pytest.mark.parametrize(
    ("value", "seconds"), [("13", 13), ("0xc", 12), (11, 11), (12.0, 12), ("0", 0)]
)
def test_seconds_come_in_any_spelling(value: object, seconds: int) -> None:
    assert params.parse_seconds(value, "it") == seconds


@pytest.mark.parametrize("value", [12.5, "-1", "0x", float("nan"), float("inf"), "1e3", "\uff11x"])
def test_what_is_no_time(value: object) -> None:
    with pytest.raises(RpcError, match="invalid params: it: "):
        params.parse_seconds(value, "it")


@given(address=st.binary(min_size=20, max_size=20))
def test_addresses_have_any_case(address: bytes) -> None:
    """EIP-1191 has other checksums than EIP-55."""
    digits = to_checksum_address(address)[2:]
    for spelling in (digits, digits.lower(), digits.upper(), digits.swapcase()):
        assert params.parse_address("0x" + spelling, "it") == address


def test_blocks() -> None:
    a_hash = "0x" + "ab" * 32
    for tag in TAGS:
        assert params.parse_block_id(tag, "it") == BlockId(tag=tag)
    assert params.parse_block_id("0x10", "it") == BlockId(number=16)
    assert params.parse_block_id(a_hash, "it") == BlockId(hash=b"\xab" * 32)
    assert params.parse_block_id({"blockNumber": "latest"}, "it") == BlockId(tag="latest")
    assert params.parse_block_id({"blockHash": a_hash, "requireCanonical": True}, "it") == BlockId(
        hash=b"\xab" * 32, requires_canonical=True
    )


@pytest.mark.parametrize(
    "value", ["newest", "0x0x", "2", {}, {"blockHash": "0x", "blockNumber": "0x1"}, [], True, -1]
)
def test_what_is_no_block(value: object) -> None:
    with pytest.raises(RpcError, match="invalid params: it"):
        params.parse_block_id(value, "it")


def test_a_long_value_is_shown_in_part() -> None:
    with pytest.raises(RpcError) as caught:
        params.parse_address("0x" + "ab" * 5_000, "it")
    assert "(10004 characters)" in caught.value.message
    assert len(caught.value.message) < 250

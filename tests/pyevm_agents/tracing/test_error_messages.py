"""geth's error messages and revert reasons."""

from __future__ import annotations

import pytest
from eth.exceptions import InvalidInstruction, OutOfGas, ReservedBytesInCode, Revert, VMError
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.tracing.error_messages import (
    ERROR_SELECTOR,
    PANIC_SELECTOR,
    decode_revert_reason,
    describe_deposit_error,
    describe_error,
)
from pyevm_agents.vm import CodeTooLargeError


def test_every_failure_has_words() -> None:
    assert describe_error(OutOfGas(), 0x01) == "out of gas"
    assert describe_error(Revert(), 0xFD) == "execution reverted"
    assert describe_error(InvalidInstruction(), 0xFE) == "invalid opcode: INVALID"
    assert describe_error(InvalidInstruction(), 0xEF) == "invalid opcode: opcode 0xef not defined"
    assert describe_error(VMError("Invalid point"), None) == "precompiled failed"


def test_code_that_was_not_kept() -> None:
    assert describe_deposit_error(CodeTooLargeError()) == "max code size exceeded"
    assert describe_deposit_error(OutOfGas()) == "contract creation code storage out of gas"
    starts = "invalid code: must not begin with 0xef"
    assert describe_deposit_error(ReservedBytesInCode()) == starts


@given(text=st.text())
def test_an_errors_text_is_its_reason(text: str) -> None:
    assert decode_revert_reason(ERROR_SELECTOR + encode(["string"], [text])) == text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (0x01, "assert(false)"),
        (0x12, "division or modulo by zero"),
        (0x99, "unknown panic code: 0x99"),
    ],
)
def test_a_panic_has_geths_words(code: int, reason: str) -> None:
    assert decode_revert_reason(PANIC_SELECTOR + encode(["uint256"], [code])) == reason


@given(
    data=st.binary(max_size=100), selector=st.sampled_from([b"", ERROR_SELECTOR, PANIC_SELECTOR])
)
def test_any_data_has_a_reason_or_none(data: bytes, selector: bytes) -> None:
    reason = decode_revert_reason(selector + data)
    assert reason is None or isinstance(reason, str)

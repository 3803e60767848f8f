"""geth's words for failures, and the reasons of reverts."""

from __future__ import annotations

import pytest
from eth.exceptions import InvalidInstruction, OutOfGas, Revert, VMError
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.tracing.error_messages import (
    ERROR_SELECTOR,
    PANIC_SELECTOR,
    revert_reason,
    words_of,
    words_of_deposit,
)


def test_every_failure_has_words() -> None:
    assert words_of(OutOfGas(), 0x01) == "out of gas"
    assert words_of(Revert(), 0xFD) == "execution reverted"
    assert words_of(InvalidInstruction(), 0xFE) == "invalid opcode: INVALID"
    assert words_of(InvalidInstruction(), 0xEF) == "invalid opcode: opcode 0xef not defined"
    assert words_of(VMError("Invalid point"), None) == "precompiled failed"


def test_code_that_was_not_kept() -> None:
    assert words_of_deposit(OutOfGas(), bytes(0x6001)) == "max code size exceeded"
    assert words_of_deposit(OutOfGas(), bytes(5)) == "contract creation code storage out of gas"


@given(text=st.text())
def test_an_errors_text_is_its_reason(text: str) -> None:
    assert revert_reason(ERROR_SELECTOR + encode(["string"], [text])) == text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (0x01, "assert(false)"),
        (0x12, "division or modulo by zero"),
        (0x99, "unknown panic code: 0x99"),
    ],
)
def test_a_panic_has_geths_words(code: int, reason: str) -> None:
    assert revert_reason(PANIC_SELECTOR + encode(["uint256"], [code])) == reason


@given(
    data=st.binary(max_size=100), selector=st.sampled_from([b"", ERROR_SELECTOR, PANIC_SELECTOR])
)
def test_any_data_has_a_reason_or_none(data: bytes, selector: bytes) -> None:
    reason = revert_reason(selector + data)
    assert reason is None or isinstance(reason, str)

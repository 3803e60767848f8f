"""The errors of a treasury in words."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector
from eth_utils.abi import abi_to_signature, get_abi_input_types

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.lifecycle.treasury_refusals import EXPLANATIONS, explain_refusal

ERRORS = {
    each["name"]: each for each in load_artifact("RunTreasury").abi if each["type"] == "error"
}

NOT_OF_WRITES = {
    # Of runs that are opened, confirmed or closed, and of the owner's own calls.
    "AlreadyConfirmed", "BudgetAboveLimit", "DigestMismatch", "InvalidConfirmation", "NotAgent",
    "NotOperator", "NotParty", "RunExists", "RunNotOpen", "TaskOfAnother", "TooManyAssets",
    "OwnableInvalidOwner", "OwnableUnauthorizedAccount", "ExpectedPause",
    # Of the libraries; no rule of the treasury's.
    "FailedCall", "InsufficientBalance", "InvalidShortString", "ReentrancyGuardReentrantCall",
    "SafeERC20FailedOperation", "StringTooLong",
}  # fmt: skip

RUN, ONE = b"\x01" * 32, "0x" + "11" * 20
WEI = "0x" + "00" * 20


def revert(name: str, *values: object) -> bytes:
    """Return the revert data of an error."""
    error = ERRORS[name]
    selector = function_signature_to_4byte_selector(abi_to_signature(error))
    return selector + encode(get_abi_input_types(error), values)


def test_every_error_that_a_write_can_meet_has_words() -> None:
    assert ERRORS.keys() == EXPLANATIONS.keys() | NOT_OF_WRITES


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_the_words_take_the_arguments_of_the_error(name: str) -> None:
    examples = {"address": ONE, "bytes32": RUN, "bytes4": b"\xab" * 4, "uint256": 7, "bytes": b""}
    values = [examples[each] for each in get_abi_input_types(ERRORS[name])]
    told = explain_refusal(revert(name, *values))
    assert told
    assert "object at" not in told


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (revert("AssetCapExceeded", WEI, 9, 5), "would have spent 9 wei, of at most 5; its owner"),
        (revert("AssetCapExceeded", ONE, 9, 5), f"would have spent 9 base units of {ONE}, of at"),
        (revert("TargetCapExceeded", ONE, WEI, 9, 0), f"{ONE} gets no wei: its owner lists no cap"),
        (revert("TargetCapExceeded", ONE, WEI, 9, 5), f"would have spent 9 wei on {ONE}, of at"),
        (revert("SelectorRefused", ONE, b"\xab" * 4), f"not call function 0xabababab of {ONE}"),
        (revert("CallFailed", ONE, b""), f"the call of {ONE} reverted: no reason given"),
        (revert("CallFailed", ONE, revert("TargetRefused", ONE)), "reverted: TargetRefused("),
        (revert("ConfirmationExpired", RUN, 5), "confirmation has expired at 5"),
    ],
)  # fmt: skip
def test_words_have_the_values(data: bytes, words: str) -> None:
    assert words in (explain_refusal(data) or "")


@pytest.mark.parametrize("data", [b"", b"\x01\x02\x03\x04", revert("TargetRefused", ONE)[:-1]])
def test_other_data_have_none(data: bytes) -> None:
    assert explain_refusal(data) is None

"""Refusals of a write by a treasury, in words: custom errors, with the owner's next step."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import (
    function_signature_to_4byte_selector,
    to_canonical_address,
    to_checksum_address,
)
from eth_utils.abi import abi_to_signature, get_abi_input_types

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.revert_reasons import decode_revert

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Explanation = Callable[..., str]

NATIVE_ASSET = bytes(20)
"""Stands for wei among a treasury's assets."""


def explain_refusal(output: bytes) -> str | None:
    """Return the reason of a `RunTreasury` in words; None for other revert data.

    Input: the revert data of a call of the treasury.
    """
    error = _load_errors().get(output[:4])
    if error is None:
        return None
    name, types = error
    try:
        return EXPLANATIONS[name](*decode(types, output[4:]))
    except DecodingError:
        return None


@cache
def _load_errors() -> Mapping[bytes, tuple[str, list[str]]]:
    """Return the errors that are explained, by selector: name and types of the arguments."""
    found: dict[bytes, tuple[str, list[str]]] = {}
    for element in load_artifact("RunTreasury").abi:
        if element["type"] == "error" and element["name"] in EXPLANATIONS:
            selector = function_signature_to_4byte_selector(abi_to_signature(element))
            found[selector] = (element["name"], get_abi_input_types(element))
    return found


def _name(address: str) -> str:
    return to_checksum_address(address)


def _is_native(asset: str) -> bool:
    return to_canonical_address(asset) == NATIVE_ASSET


def _name_amount(amount: int, asset: str) -> str:
    return f"{amount} wei" if _is_native(asset) else f"{amount} base units of {_name(asset)}"


def _explain_target_cap(target: str, asset: str, spent: int, cap: int) -> str:
    if not cap:
        what = "wei" if _is_native(asset) else f"tokens {_name(asset)}"
        return f"{_name(target)} gets no {what}: its owner lists no cap for it (setTargetCap)"
    return (
        f"the task would have spent {_name_amount(spent, asset)} on {_name(target)}, of at most "
        f"{cap}; its owner can raise that cap (setTargetCap)"
    )


def _explain_asset_cap(asset: str, spent: int, cap: int) -> str:
    return (
        f"the task would have spent {_name_amount(spent, asset)}, of at most {cap}; its owner can "
        "raise that cap (setAsset)"
    )


def _explain_call(target: str, reason: bytes) -> str:
    return f"the call of {_name(target)} reverted: {decode_revert(reason)}"


EXPLANATIONS: Mapping[str, Explanation] = {
    "TargetRefused": lambda target: (
        f"no run may call {_name(target)}: it is the treasury, an asset or a protected contract"
    ),
    "AssetRefused": lambda asset: (
        f"{_name(asset)} is none of its tokens; its owner can list it (setAsset)"
    ),
    "SelectorMissing": lambda target: f"a call of {_name(target)} names no function",
    "SelectorRefused": lambda target, selector: (
        f"agents may not call function 0x{selector.hex()} of {_name(target)}; its owner can allow "
        "it (setSelector)"
    ),
    "AssetCapExceeded": _explain_asset_cap,
    "TargetCapExceeded": _explain_target_cap,
    "CallFailed": _explain_call,
    "TooManySteps": lambda _task, most: f"a step with writes beyond the {most} of the task",
    "TooManyWrites": lambda _task, most: f"a write beyond the {most} of the task",
    "WriteDiffers": lambda *_: (
        "an earlier run of the task made another write in this place; create another task"
    ),
    "WriteNotConfirmed": lambda _run, number, *_: (
        f"the operator confirmed another write in place {number + 1}, or none"
    ),
    "ConfirmationRequired": lambda _run: "the operator must confirm it before (run --confirm)",
    "ConfirmationExpired": lambda _run, expiry: (
        f"the operator's confirmation has expired at {expiry}"
    ),
    "RunExpired": lambda _run, deadline: f"the run's time was over at {deadline}",
    "EnforcedPause": lambda: "it is paused; its owner can unpause it",
}
"""Errors of `contracts/runs/RunTreasury.sol` that a write can meet, by name."""

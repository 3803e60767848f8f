"""Runs that are not done: answers in revert data.

An agent undoes such a run by reverting with `NotDone(answer)`. A contract around it, such as a
treasury, wraps that in another error.

Source: docs/architecture.md#outcome.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import function_signature_to_4byte_selector

from precompiles.outcome import is_done
from pyevm_agents.abi.revert_reasons import BUNDLED
from pyevm_agents.abi.values import decode_values

if TYPE_CHECKING:
    from pyevm_agents.abi.known_contracts import KnownContracts

NOT_DONE_SELECTOR = function_signature_to_4byte_selector("NotDone(string)")
"""Of `RunOutcome.NotDone`. Source: `contracts/libraries/RunOutcome.sol`."""


def find_not_done(data: bytes, known: KnownContracts = BUNDLED) -> str | None:
    """Return the answer of the agent that undid a run; None if revert data are of another error.

    An answer that is done is no refusal, in any contract's revert.

    Input: revert data; the contracts whose errors are known: the answer is also found inside an
        argument of type `bytes` of such an error.
    """
    selector, arguments = bytes(data[:4]), bytes(data[4:])
    if selector == NOT_DONE_SELECTOR:
        return _read_answer(arguments)
    for _, error in known.find_errors(selector):
        if "bytes" in error.types:
            values = decode_values(error.types, arguments) or ()
            nested = (each for each in values if isinstance(each, bytes) and len(each) < len(data))
            found = next(filter(None, (find_not_done(each, known) for each in nested)), None)
            if found is not None:
                return found
    return None


def describe_not_done(answer: str) -> str:
    """Return an answer that is not done as a reason of a failure."""
    return f"not done: {answer}"


def _read_answer(arguments: bytes) -> str | None:
    try:
        (answer,) = decode(["string"], arguments)
    except (DecodingError, UnicodeDecodeError, OverflowError):
        return None
    return None if is_done(answer) else str(answer)

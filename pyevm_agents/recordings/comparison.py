"""Comparison of a fixture with the replay. Differences have a place and both values."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from precompiles.language_model import Generation
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.display import LINE_CHARACTERS, truncate
from pyevm_agents.errors import FixtureError
from pyevm_agents.models.fakes.recorded import Exchange
from pyevm_agents.models.truncation import is_equivalent
from pyevm_agents.recordings.fixture import RecordedTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ReceiptAPI, SignedTransactionAPI

    from precompiles.language_model import Segment
    from pyevm_agents.recordings.fixture import RecordedStep

SHOWN_BEFORE = 40
"""Characters quoted before the first difference of two texts."""


class MismatchError(FixtureError):
    """The first place where a replay differs from the fixture."""

    def __init__(
        self, what: str, place: Sequence[int], *, expected: str = "", actual: str = ""
    ) -> None:
        """Create an error about a block, a transaction, or a step."""
        named = zip(("block", "transaction", "step"), place, strict=False)
        detail = f"\n  recorded: {expected}\n  now:      {actual}" if expected or actual else ""
        super().__init__(f"{', '.join(f'{name} {index}' for name, index in named)}: {what}{detail}")
        self.what = what
        self.place = tuple(place)
        self.expected = expected
        self.actual = actual


def quote_value(value: object) -> str:
    """Format a value for an error message, shortened if long."""
    if isinstance(value, Generation):
        return (
            f"{quote_value(value.text)} in {len(value.tokens)} tokens {quote_value(value.tokens)}"
        )
    text = "0x" + value.hex() if isinstance(value, bytes) else repr(value)
    return truncate(text, LINE_CHARACTERS)


def is_unanswered(exchange: Exchange) -> bool:
    """Return whether a model failed on a request."""
    return exchange.grammar is not None and exchange.generation is None


def check_exchange(step: RecordedStep, exchange: Exchange) -> None:
    """Compare a request and the generation (unless the model failed) with the recorded step.

    Raises: MismatchError: a difference.
    """
    for field in fields(Exchange):
        if field.name == "generation" and is_unanswered(exchange):
            continue
        recorded, now = (getattr(e, field.name) for e in (step.exchange, exchange))
        if isinstance(recorded, Generation) and isinstance(now, Generation):
            is_same = is_equivalent(recorded, now)
        else:
            is_same = recorded == now
        if not is_same:
            raise MismatchError(
                f"{field.name} differs",
                _locate_step(step),
                expected=quote_value(recorded),
                actual=quote_value(now),
            )


def check_prompt(
    recorded: Sequence[RecordedStep], index: int, segments: tuple[Segment, ...]
) -> None:
    """Compare the prompt of a transaction's step with the recorded one.

    A prompt contains the generations of earlier steps: if the difference is inside one of these,
    the error names that step.

    Input:  the transaction's recorded steps; the index of the step; the prompt.
    Raises: MismatchError: a difference.
    """
    if index >= len(recorded):
        return
    step = recorded[index]
    record, now = _join_text(step.exchange.segments), _join_text(segments)
    at = _find_first_difference(record, now)
    if at is None:
        return
    place, what = _locate_step(step), f"the prompt differs from character {at} on"
    for before in reversed(recorded[:index]):
        prompt, generation = _join_text(before.exchange.segments), before.exchange.generation
        is_continued = record.startswith(prompt) and now.startswith(prompt)
        if generation is not None and is_continued and at < len(prompt) + len(generation.text):
            place = _locate_step(before)
            what = f"the generation differs from its copy in the prompt of step {step.step}"
            break
    start = max(0, at - SHOWN_BEFORE)
    raise MismatchError(
        what, place, expected=quote_value(record[start:]), actual=quote_value(now[start:])
    )


def check_transaction(
    block: int,
    index: int,
    recorded: Sequence[RecordedTransaction],
    transaction: SignedTransactionAPI,
    receipt: ReceiptAPI,
) -> None:
    """Compare the result of a block's transaction with the recorded one.

    Raises: MismatchError: a difference.
    """
    if index >= len(recorded):
        raise MismatchError("the transaction is not recorded", (block, index))
    now = summarize_transaction(
        transaction, receipt, sum(record.gas_used for record in recorded[:index])
    )
    for field in fields(RecordedTransaction):
        left, right = getattr(recorded[index], field.name), getattr(now, field.name)
        if left != right:
            raise MismatchError(
                f"{field.name} differs",
                (block, index),
                expected=quote_value(left),
                actual=quote_value(right),
            )


def summarize_transaction(
    transaction: SignedTransactionAPI, receipt: ReceiptAPI, gas_before: int
) -> RecordedTransaction:
    """Summarize a transaction's result, given the gas used by earlier ones of the block."""
    return RecordedTransaction(
        hash=bytes(transaction.hash),
        sender=transaction.sender,
        gas_used=receipt.gas_used - gas_before,
        is_success=receipt.state_root == b"\x01",
    )


def find_account_difference(
    recorded: GenesisAccount | None, now: GenesisAccount | None
) -> tuple[str, str, str]:
    """Describe the first difference of two accounts, with both values."""
    if recorded is None or now is None:
        left, right = (
            "no account" if account is None else "an account" for account in (recorded, now)
        )
        return "differs", left, right
    names = (field.name for field in fields(GenesisAccount) if field.name != "storage")
    for name in names:
        pair = getattr(recorded, name), getattr(now, name)
        if pair[0] != pair[1]:
            return f"differs in {name}", quote_value(pair[0]), quote_value(pair[1])
    slots = sorted(recorded.storage.keys() | now.storage.keys())
    both = (
        (slot, *(account.storage.get(slot, 0) for account in (recorded, now))) for slot in slots
    )
    slot, old, new = next(row for row in both if row[1] != row[2])
    return f"differs in slot {slot:#x}", hex(old), hex(new)


def _locate_step(step: RecordedStep) -> tuple[int, int, int]:
    return step.block, step.transaction, step.step


def _join_text(segments: Sequence[Segment]) -> str:
    return "".join(segment.text for segment in segments)


def _find_first_difference(left: str, right: str) -> int | None:
    """Return the index of the first different character; None if the texts are equal."""
    if left == right:
        return None
    both = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(both) if a != b), min(len(left), len(right)))

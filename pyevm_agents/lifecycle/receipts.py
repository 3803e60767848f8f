"""Receipts of a run: for its dry run, its verification, each transaction, tool use and API call.

A receipt's ID follows from the run and the receipt's place in it, so the dry run and the execution
have the same ones. A run whose agents hide one fails its verification.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ReceiptType(StrEnum):
    """What a receipt is for."""

    DRY_RUN = "dry_run"
    VERIFICATION = "verification"
    TRANSACTION = "transaction"
    TOOL = "tool"
    API = "api"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReceipt:
    """A receipt."""

    receipt_id: str
    type: ReceiptType
    ref: str
    """What it is for: the hash of a transaction, the digest of a dry run, a tool's name."""

    summary: str


def build_receipt_id(run_id: str, kind: ReceiptType, number: int | None = None) -> str:
    """Return the ID of a receipt; a number for those of which a run has several, from 1 on."""
    name = f"{run_id}-{kind.value}"
    return name if number is None else f"{name}-{number}"


def describe_missing_receipts(expected: Iterable[str], stated: Iterable[str]) -> str | None:
    """Compare the receipts of a trace with those that agents state; None if they are the same."""
    needed, given = {*expected}, {*stated}
    if missing := sorted(needed - given):
        return f"{len(missing)} missing: {', '.join(missing)}"
    if invented := sorted(given - needed):
        return f"{len(invented)} of nothing that happened: {', '.join(invented)}"
    return None

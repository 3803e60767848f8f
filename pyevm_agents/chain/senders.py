"""Transactions whose sender is known without asking their signature.

A transaction that this process signed was not altered since; one that it sends in the name of an
account whose key nobody has (impersonation) has a signature of no meaning. Recovering a sender
costs more than a plain transfer's execution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI
    from eth_typing import Address


def vouch(transaction: SignedTransactionAPI, sender: Address) -> SignedTransactionAPI:
    """Take a transaction as one of `sender`'s, whatever its signature says; return it.

    `sender` is an attribute that py-evm fills in when it is first asked for: it is filled in here.
    """
    vars(transaction)["sender"] = sender
    for part in (transaction, getattr(transaction, "_inner", None)):
        if part is not None:
            vars(part)["check_signature_validity"] = _is_known
    return transaction


def impersonate(transaction: SignedTransactionAPI, sender: Address) -> SignedTransactionAPI:
    """Take a transaction as one of `sender`'s although its signature is none of theirs; return it.

    A block that holds it can't be checked by anybody else.
    """
    vars(transaction)["is_impersonated"] = True
    return vouch(transaction, sender)


def is_impersonated(transaction: SignedTransactionAPI) -> bool:
    """Whether a transaction was sent without its sender's key."""
    return "is_impersonated" in vars(transaction)


def _is_known() -> None:
    """Check nothing: the sender is known."""

"""Moves of assets in a transaction: transfers, remaining approvals, balances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from eth_typing import Address

TransferStandard = Literal["native", "erc20", "erc721", "erc1155"]
ApprovalStandard = Literal["erc20", "erc721", "all"]
"""An allowance, one ERC-721 token, or all tokens of an ERC-721 or ERC-1155 contract."""

NATIVE_DECIMALS = 18
UNLIMITED = 2**255
"""From this allowance on, an approval is called unlimited: wallets approve 2^256 - 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A transfer of ether or of a token."""

    standard: TransferStandard
    token: Address | None
    """The token's contract; None for ether."""

    sender: Address
    receiver: Address
    amount: int
    """In wei, or in the token's smallest unit."""

    token_id: int | None = None
    """The ID of an ERC-721 or ERC-1155 token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenApproval:
    """An approval that a transaction changed, and that holds afterwards."""

    standard: ApprovalStandard
    token: Address
    owner: Address
    spender: Address
    amount: int | None = None
    """The allowance in the token's smallest unit; None for items."""

    token_id: int | None = None
    """The approved ERC-721 token; None for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenScale:
    """The unit of a token's amounts, from the token itself."""

    symbol: str | None = None
    decimals: int | None = None


NATIVE_SCALE = TokenScale(symbol="ETH", decimals=NATIVE_DECIMALS)


def format_units(amount: int, decimals: int) -> str:
    """Return base units as whole ones, such as `1,250.5`.

    Input:  amount: in base units; decimals: of the token.
    """
    whole, rest = divmod(abs(amount), 10**decimals)
    fraction = f".{rest:0{decimals}d}".rstrip("0") if rest else ""
    return f"{'-' if amount < 0 else ''}{whole:,}{fraction}"


def list_balances(
    changes: Iterable[Mapping[str, Any]], accounts: set[str]
) -> Iterator[dict[str, Any]]:
    """Yield the balances of accounts that changed.

    Input:  changes: of `agent_traceCall`; accounts: checksummed addresses.
    """
    for change in changes:
        if change["address"] not in accounts:
            continue
        account = {"account": change["address"]}
        if change["balance"] is not None:
            native = {"token": None, "symbol": None, "decimals": NATIVE_SCALE.decimals}
            yield {**account, **native, **change["balance"]}
        for token in change["tokens"]:
            yield {**account, **token}

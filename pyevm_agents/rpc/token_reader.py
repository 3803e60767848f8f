"""Reads of tokens: symbol, decimals, balances and approvals, in a state with changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from precompiles.spec import WORD_BYTES
from pyevm_agents.agents.asset_moves import TokenScale
from pyevm_agents.chain.calls import AccountOverride
from pyevm_agents.rpc.view_calls import encode_address_argument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.agents.asset_moves import TokenApproval
    from pyevm_agents.rpc.view_calls import ViewCalls
    from pyevm_agents.tracing.touched_state import TouchedAccount

MAX_SYMBOL_CHARACTERS = 64
MAX_DECIMALS = 255
"""Decimals are a uint8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenReader:
    """Reads tokens in one state."""

    calls: ViewCalls
    _scales: dict[Address, TokenScale] = field(default_factory=dict)

    def read_scale(self, token: Address) -> TokenScale:
        """Return a token's symbol and decimals; None where missing."""
        if token not in self._scales:
            decimals = self.calls.read_integer(token, "decimals()")
            self._scales[token] = TokenScale(
                symbol=self._read_symbol(token),
                decimals=decimals if decimals is not None and decimals <= MAX_DECIMALS else None,
            )
        return self._scales[token]

    def read_balance(self, token: Address, holder: Address) -> int | None:
        """Return a holder's balance; None if the token does not answer."""
        argument = encode_address_argument(holder)
        return self.calls.read_integer(token, "balanceOf(address)", argument)

    def read_approval(self, approval: TokenApproval) -> int:
        """Return the allowance of a spender; for items 1 or 0: whether the spender may take them.

        No answer counts as 0.

        Input:  approval: the amount does not count.
        """
        token, spender = approval.token, encode_address_argument(approval.spender)
        owner = encode_address_argument(approval.owner)
        if approval.standard == "erc20":
            signature = "allowance(address,address)"
            return self.calls.read_integer(token, signature, owner + spender) or 0
        if approval.token_id is None:
            signature = "isApprovedForAll(address,address)"
            return self.calls.read_integer(token, signature, owner + spender) or 0
        item = approval.token_id.to_bytes(WORD_BYTES, "big")
        taker = self.calls.read_integer(token, "getApproved(uint256)", item)
        return int(taker == int.from_bytes(approval.spender, "big"))

    def _read_symbol(self, token: Address) -> str | None:
        text = self.calls.read_text(token, "symbol()")
        if text is None:  # Older tokens return 32 bytes.
            output = self.calls.call(token, "symbol()")
            if output is None or len(output) != WORD_BYTES:
                return None
            text = output.rstrip(b"\0").decode(errors="replace")
        is_long = len(text) > MAX_SYMBOL_CHARACTERS
        return f"{text[:MAX_SYMBOL_CHARACTERS]}…" if is_long else text


def build_overrides(
    accounts: Mapping[Address, TouchedAccount], others: Mapping[Address, TouchedAccount]
) -> dict[Address, AccountOverride]:
    """Return the overrides with which a state has these values of touched accounts.

    Input: the accounts as wanted; the same accounts at the other end of the transaction.
    """
    return {
        address: AccountOverride(
            balance_wei=account.balance_wei,
            nonce=account.nonce,
            code=account.code if account.code_hash != others[address].code_hash else None,
            storage_diff=account.storage,
            keeps_precompile=True,
        )
        for address, account in accounts.items()
    }

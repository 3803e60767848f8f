"""Effects of a transaction: transfers, approvals, balances, storage."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from eth.constants import ZERO_ADDRESS

from pyevm_agents.agents.asset_moves import TokenScale
from pyevm_agents.rpc.serializers import encode_word
from pyevm_agents.rpc.token_reader import TokenReader, build_overrides
from pyevm_agents.rpc.token_transfers import iter_approvals, iter_transfers
from pyevm_agents.rpc.view_calls import ViewCalls

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eth_typing import Address

    from pyevm_agents.agents.asset_moves import TokenApproval, Transfer
    from pyevm_agents.chain.calls import AccountOverride
    from pyevm_agents.node.state_view import StateView
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.named_calls import NamedCalls
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.tracing.touched_state import TouchedAccount, TouchedStateTracer

MAX_TRANSFERS = 1_024
"""The most transfers of a transaction that are serialized."""

MAX_BALANCES = 64
"""The most balances of tokens that are read before and after a transaction."""

MAX_APPROVALS = 64
"""The most approvals that are read before and after a transaction."""

TOKEN_GAS = 200_000
"""Gas of a read of a token, several times what one behind two proxies needs."""

MAX_TOKENS = 32
"""The most tokens whose symbol and decimals are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFlow:
    """Serializer of one transaction's transfers and changes."""

    calls: NamedCalls
    state: TouchedStateTracer
    transfers: tuple[Transfer, ...]
    before: TokenReader
    after: TokenReader

    @classmethod
    def build(
        cls,
        rpc: RequestContext,
        at: StateView,
        calls: NamedCalls,
        state: TouchedStateTracer,
        overrides: Mapping[Address, AccountOverride] | None = None,
    ) -> ValueFlow:
        """Return the serializer of a traced transaction.

        Input: the state before or after the transaction, for untouched values; the calls; the
            touched accounts; the overrides of a simulation.
        """

        def read_state(touched: Mapping[Address, AccountOverride]) -> TokenReader:
            accounts = {**(overrides or {}), **touched}
            return TokenReader(calls=ViewCalls(rpc=rpc, at=at, gas=TOKEN_GAS, accounts=accounts))

        return cls(
            calls=calls,
            state=state,
            transfers=tuple(islice(iter_transfers(calls.tree), MAX_TRANSFERS)),
            before=read_state(build_overrides(state.before, state.after)),
            after=read_state(build_overrides(state.after, state.before)),
        )

    def serialize_transfers(self) -> list[Json]:
        """Serialize the transfers that took effect, in order."""
        tokens = [*dict.fromkeys(each.token for each in self.transfers if each.token is not None)]
        scales = {token: self.after.read_scale(token) for token in tokens[:MAX_TOKENS]}
        return [self._serialize_transfer(each, scales) for each in self.transfers]

    def _serialize_transfer(self, transfer: Transfer, scales: Mapping[Address, TokenScale]) -> Json:
        token, encode = transfer.token, self.calls.encode_address
        own = TokenScale() if token is None else scales.get(token, TokenScale())
        return {
            "standard": transfer.standard,
            "token": None if token is None else encode(token),
            "symbol": own.symbol,
            "decimals": own.decimals,
            "from": encode(transfer.sender),
            "to": encode(transfer.receiver),
            "amount": str(transfer.amount),
            "id": None if transfer.token_id is None else str(transfer.token_id),
        }

    def find_approvals(self) -> list[TokenApproval]:
        """Return the approvals that the transaction changed and that hold afterwards, in order."""
        found = []
        candidates = dict.fromkeys(
            replace(each, amount=None) for each in iter_approvals(self.calls.tree)
        )
        for each in islice(candidates, MAX_APPROVALS):
            after = self.after.read_approval(each)
            if after and after != self.before.read_approval(each):
                found.append(replace(each, amount=after) if each.standard == "erc20" else each)
        return found

    def read_balances_before(self) -> dict[tuple[Address, Address | None], int]:
        """Return the earlier balances of senders, by holder and token; None for ether."""
        senders = dict.fromkeys((each.sender, each.token) for each in self.transfers)
        found: dict[tuple[Address, Address | None], int] = {}
        for holder, token in islice(senders, MAX_BALANCES):
            if token is None:
                account = self.state.before.get(holder)
                balance = None if account is None else account.balance_wei
            else:
                balance = self.before.read_balance(token, holder)
            if balance is not None:
                found[holder, token] = balance
        return found

    def serialize_approvals(self, approvals: Iterable[TokenApproval]) -> list[Json]:
        """Serialize approvals, as returned by `find_approvals`."""
        encode = self.calls.encode_address
        forms: list[Json] = []
        for each in approvals:
            scale = self.after.read_scale(each.token)
            forms.append(
                {
                    "standard": each.standard,
                    "token": encode(each.token),
                    "symbol": scale.symbol,
                    "decimals": scale.decimals,
                    "owner": encode(each.owner),
                    "spender": encode(each.spender),
                    "amount": None if each.amount is None else str(each.amount),
                    "id": None if each.token_id is None else str(each.token_id),
                }
            )
        return forms

    def serialize_changes(self) -> list[Json]:
        """Serialize the accounts whose balance, nonce, code, storage or tokens changed."""
        tokens = self._read_token_changes()
        touched = {**dict.fromkeys(self.state.before), **dict.fromkeys(tokens)}
        forms = (self._serialize_account(address, tokens.get(address, [])) for address in touched)
        return [form for form in forms if form is not None]

    def _serialize_account(self, address: Address, tokens: list[Json]) -> Json | None:
        before, after = self.state.before.get(address), self.state.after.get(address)
        fields = _diff(before, after) if before is not None and after is not None else NO_CHANGE
        if not (tokens or any(fields.values())):
            return None
        return {
            "address": self.calls.encode_address(address),
            "name": self.calls.names.find_name(address),
            **fields,
            "tokens": tokens,
        }

    def _read_token_changes(self) -> dict[Address, list[Json]]:
        """Return the changed balances of tokens by their holders."""
        changes: dict[Address, list[Json]] = {}
        silent: set[Address] = set()
        for token, holder in islice(_iter_holdings(self.transfers), MAX_BALANCES):
            if token in silent:
                continue
            before = self.before.read_balance(token, holder)
            after = None if before is None else self.after.read_balance(token, holder)
            if after is None:
                silent.add(token)
            if after is None or before == after:
                continue
            scale = self.after.read_scale(token)
            changes.setdefault(holder, []).append(
                {
                    "token": self.calls.encode_address(token),
                    "symbol": scale.symbol,
                    "decimals": scale.decimals,
                    "before": str(before),
                    "after": str(after),
                }
            )
        return changes


NO_CHANGE: Json = {"balance": None, "nonce": None, "code": None, "storage": []}


def _iter_holdings(transfers: Iterable[Transfer]) -> Iterable[tuple[Address, Address]]:
    """Return each token with each account that sent or received it, in order."""
    holdings = (
        (each.token, holder)
        for each in transfers
        for holder in (each.sender, each.receiver)
        if each.token is not None and each.standard != "erc1155" and holder != ZERO_ADDRESS
    )
    return dict.fromkeys(holdings)


def _diff(before: TouchedAccount, after: TouchedAccount) -> Json:
    return {
        "balance": _pair(before.balance_wei, after.balance_wei),
        "nonce": _pair(before.nonce, after.nonce),
        "code": None
        if before.code_hash == after.code_hash
        else {"before": len(before.code), "after": len(after.code)},
        "storage": [
            {
                "slot": encode_word(slot),
                "before": encode_word(value),
                "after": encode_word(after.storage[slot]),
            }
            for slot, value in before.storage.items()
            if value != after.storage[slot]
        ],
    }


def _pair(before: int, after: int) -> Json | None:
    return None if before == after else {"before": str(before), "after": str(after)}

"""Transactions signed here: the fees that a node proposes, within bounds that no node can move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pyevm_agents.client.chain_client import BASE_FEE_FACTOR, GAS_PERCENT, MAX_TRANSACTION_GAS
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.display import format_amount
from pyevm_agents.errors import AgentsError

if TYPE_CHECKING:
    from eth_account.datastructures import SignedTransaction
    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.client.chain_client import RemoteHeader
    from pyevm_agents.client.json_rpc import RemoteClient

GWEI = 10**9
ETHER = 10**18

FALLBACK_TIP_WEI = GWEI
"""Tip where the node proposes none. Source: geth's --miner.gasprice."""

DEFAULT_MAX_FEE_WEI = 500 * GWEI
"""More than Ethereum's base fee was in all but single hours."""

DEFAULT_MAX_TIP_WEI = 50 * GWEI
"""Twice the 25 gwei that Polygon's nodes demand, of all large chains the most; Ethereum's tips are
below 5. What is above it goes to whoever makes the block."""

DEFAULT_MAX_COST_WEI = ETHER
"""Source: geth's --rpc.txfeecap."""


class FeeBoundError(AgentsError):
    """What a node proposes is above a bound; nothing was signed."""


class Fees(NamedTuple):
    """The fees of a transaction, in wei of one gas."""

    fee: int
    """The most in all: `maxFeePerGas`, or the gas price where blocks have no base fee."""

    tip: int
    """The part of it for whoever makes the block: `maxPriorityFeePerGas`."""

    base_fee: int | None
    """Of the latest block; None before EIP-1559."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeeBounds:
    """The most that a signed transaction may pay, whatever a node says, in wei."""

    max_fee_wei: int = DEFAULT_MAX_FEE_WEI
    """Of one gas."""

    max_tip_wei: int = DEFAULT_MAX_TIP_WEI
    """Of one gas beside the base fee."""

    max_cost_wei: int = DEFAULT_MAX_COST_WEI
    """Of all gas of one transaction."""

    @classmethod
    def from_fee(cls, max_fee_wei: int) -> Self:
        """Return the bounds of a fee that a person named: the tip may be all of it.

        The gas may cost as much as 2**24 gas do, which is EIP-7825's limit of a transaction.
        """
        return cls(
            max_fee_wei=max_fee_wei,
            max_tip_wei=max_fee_wei,
            max_cost_wei=max(DEFAULT_MAX_COST_WEI, max_fee_wei * MAX_TRANSACTION_GAS),
        )

    def cap(self, fees: Fees, gas: int) -> Fees:
        """Return fees lowered to the bounds, for one who waits until the chain is cheaper."""
        most = min(self.max_fee_wei, self.max_cost_wei // max(1, gas))
        fee = min(fees.fee, most)
        return fees._replace(fee=fee, tip=min(fees.tip, fee, self._get_tip_limit(fees)))

    def require(self, fees: Fees, gas: int) -> Fees:
        """Return fees within the bounds with which a transaction is mined at once.

        Raises: FeeBoundError: there are none.
        """
        limit = self._get_tip_limit(fees)
        least = fees.fee if fees.base_fee is None else fees.base_fee
        if fees.tip > limit:
            raise _build_error("priority fee", _format_fee(fees.tip), _format_fee(limit))
        if least > self.max_fee_wei:
            most = _format_fee(self.max_fee_wei)
            raise _build_error("price of a gas", _format_fee(least), most)
        fee = min(fees.fee, self.max_fee_wei)
        if fee * gas > self.max_cost_wei:
            cost, most = format_amount(fee * gas), format_amount(self.max_cost_wei)
            raise _build_error(f"price of {gas:,} gas", cost, most)
        return fees._replace(fee=fee, tip=min(fees.tip, fee))

    def _get_tip_limit(self, fees: Fees) -> int:
        return self.max_fee_wei if fees.base_fee is None else self.max_tip_wei


def _build_error(what: str, value: str, limit: str) -> FeeBoundError:
    return FeeBoundError(
        f"{what} {value}: must be at most {limit}, so nothing was signed; pass another node's "
        "URL, or --max-fee GWEI if it is right"
    )


def _format_fee(wei: int) -> str:
    return f"{wei / GWEI:,.9g} gwei"


def quote_fees(client: RemoteClient, head: RemoteHeader) -> Fees:
    """Return the fees that a node proposes: twice the base fee and the tip, or the gas price."""
    if head.base_fee is None:
        price = client.request_quantity("eth_gasPrice")
        return Fees(price, price, None)
    try:
        tip = client.request_quantity("eth_maxPriorityFeePerGas")
    except RemoteError:
        tip = FALLBACK_TIP_WEI
    return Fees(head.base_fee * BASE_FEE_FACTOR + tip, tip, head.base_fee)


def add_gas_margin(least: int, head: RemoteHeader) -> int:
    """Return the gas limit of a transaction with an estimate."""
    most = max(least, min(head.gas_limit, MAX_TRANSACTION_GAS))
    return min(least * GAS_PERCENT // 100, most)


def sign_transaction(form: dict[str, Any], key: PrivateKey, fees: Fees) -> SignedTransaction:
    """Sign a transaction of type 2, or a legacy one where a block has no base fee.

    Input: the members beside the fees, `chainId` among them.
    """
    from eth_account import Account  # noqa: PLC0415 - slow to import

    if fees.base_fee is None:
        priced = {**form, "gasPrice": fees.fee}
    else:
        priced = {
            **form,
            "type": 2,
            "maxFeePerGas": fees.fee,
            "maxPriorityFeePerGas": fees.tip,
        }
    signed: SignedTransaction = Account.sign_transaction(priced, key.to_bytes())
    return signed

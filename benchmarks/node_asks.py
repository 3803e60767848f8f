"""The requests of `benchmarks.node`: equal for all nodes, with presigned transactions.

Only the names and values of JSON-RPC are here; `benchmarks.node_contenders` sends them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_typing import Address
from eth_utils import keccak, to_checksum_address
from rlp import encode

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain.transactions import DYNAMIC_FEE_TYPE, TransactionFields, sign
from pyevm_agents.node import DEFAULT_MNEMONIC
from pyevm_agents.node.keys import derive_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHAIN_ID = 31_337
SENDERS = 4
"""Number of connections that send at once, each for an account of its own."""

MAX_FEE_WEI, PRIORITY_FEE_WEI = 100 * 10**9, 10**9
TRANSFER_GAS, TOKEN_GAS, DEPLOY_GAS = 21_000, 100_000, 3_000_000
SUPPLY, SHARE = 10**30, 10**27

TRANSFER = "plain transfers"
TOKEN_TRANSFER = "ERC-20 transfers"  # noqa: S105 - no password
CALL = "eth_call balanceOf"
ESTIMATE = "eth_estimateGas ERC-20"
SNAPSHOT = "snapshot + revert"
KINDS = (TRANSFER, TOKEN_TRANSFER, CALL, ESTIMATE, SNAPSHOT)

TOKEN = load_artifact("DemoToken")
KEYS = derive_keys(DEFAULT_MNEMONIC, SENDERS)
ACCOUNTS = [Address(key.public_key.to_canonical_address()) for key in KEYS]
TOKEN_ADDRESS = Address(keccak(encode([ACCOUNTS[0], b""]))[-20:])
"""The first contract of the first account."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    method: str
    params: tuple[object, ...]


class Asks:
    """Makes requests for one chain; each transaction is the next of its sender."""

    def __init__(self, chain_id: int) -> None:
        """Start with accounts that have sent nothing."""
        self._chain_id = chain_id
        self._nonces = [0] * SENDERS
        self._recipients = self._endless()

    def setting_up(self) -> list[Ask]:
        """Deploy the token, and give each sender a balance."""
        creation = TOKEN.encode_creation("Demo", "DEMO", 18, SUPPLY)
        deployment = self._raw(0, to=None, data=creation, gas=DEPLOY_GAS)
        return [deployment, *(self._token_transfer(0, to, SHARE) for to in ACCOUNTS[1:])]

    def window(self, kind: str, count: int, connections: int) -> list[list[Ask]]:
        """Return the requests of each connection, `count` in all."""
        share = count // connections
        return [
            [ask for _ in range(share) for ask in self._asks(kind, sender)]
            for sender in range(connections)
        ]

    def _asks(self, kind: str, sender: int) -> Sequence[Ask]:
        to = next(self._recipients)
        if kind == TRANSFER:
            return (self._raw(sender, to=to, value_wei=1, gas=TRANSFER_GAS),)
        if kind == TOKEN_TRANSFER:
            return (self._token_transfer(sender, to, 1),)
        if kind == CALL:
            return (Ask("eth_call", (self._message(sender, "balanceOf", to), "latest")),)
        if kind == ESTIMATE:
            return (Ask("eth_estimateGas", (self._message(sender, "transfer", to, 1),)),)
        # The sender of the request inserts the snapshot's number.
        return Ask("evm_snapshot", ()), Ask("evm_revert", ())

    def _message(self, sender: int, function: str, *arguments: object) -> dict[str, str]:
        return {
            "from": to_checksum_address(ACCOUNTS[sender]),
            "to": to_checksum_address(TOKEN_ADDRESS),
            "data": "0x" + TOKEN.encode_call(function, *arguments).hex(),
        }

    def _token_transfer(self, sender: int, to: Address, amount: int) -> Ask:
        data = TOKEN.encode_call("transfer", to, amount)
        return self._raw(sender, to=TOKEN_ADDRESS, data=data, gas=TOKEN_GAS)

    def _raw(
        self, sender: int, *, to: Address | None, gas: int, value_wei: int = 0, data: bytes = b""
    ) -> Ask:
        fields = TransactionFields(
            kind=DYNAMIC_FEE_TYPE,
            nonce=self._nonces[sender],
            gas=gas,
            to=to,
            value_wei=value_wei,
            data=data,
            max_fee_wei=MAX_FEE_WEI,
            max_priority_fee_wei=PRIORITY_FEE_WEI,
        )
        self._nonces[sender] += 1
        raw = sign(fields, KEYS[sender], self._chain_id).encode()
        return Ask("eth_sendRawTransaction", ("0x" + raw.hex(),))

    @staticmethod
    def _endless() -> Iterator[Address]:
        """Yield a hundred recipients in a cycle."""
        while True:
            for number in range(1, 101):
                yield Address(keccak(number.to_bytes(2, "big"))[-20:])


def decode_transaction(ask: Ask) -> object:
    """Return the transaction of a request, as py-evm's object."""
    return PragueTransactionBuilder.decode(bytes.fromhex(str(ask.params[0])[2:]))

"""The transactions of one command: each printed as it is mined, or all as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.cli.options.sender import print_sent
from pyevm_agents.cli.output import out
from pyevm_agents.cli.rpc_client import print_json
from pyevm_agents.display import pluralize
from pyevm_agents.errors import RemoteFault

if TYPE_CHECKING:
    from eth_typing import Address

    from pyevm_agents.cli.options.sender import OracleSession
    from pyevm_agents.client.accounts import SentTransaction


class TransactionList:
    """Sends transactions in order."""

    def __init__(self, session: OracleSession, *, is_quiet: bool = False) -> None:
        """Send nothing yet. Input: is_quiet: whether nothing is printed before the end."""
        self._session, self._is_quiet = session, is_quiet
        self._sent: list[tuple[str, SentTransaction]] = []

    @property
    def address(self) -> Address:
        """The sender's address."""
        return self._session.account.address

    def read(self, to: Address, data: bytes) -> bytes:
        """Call a contract without a transaction; return the output."""
        return self._session.account.read(to, data)

    def send(
        self, purpose: str, to: bytes, data: bytes, *, value_wei: int = 0, nonce: int | None = None
    ) -> SentTransaction:
        """Send a transaction, wait until it is mined, and print what it did."""
        return self._add(purpose, self._session.send(to, data, value_wei=value_wei, nonce=nonce))

    def deploy(self, name: str, creation: bytes) -> Address:
        """Deploy a contract, print its address, and return it."""
        sent = self._session.send(None, creation)
        if sent.contract is None:
            raise RemoteFault(f"transaction 0x{sent.hash.hex()}: its receipt has no contract")
        self._add(f"Deployed {name} at {to_checksum_address(sent.contract)}", sent)
        return sent.contract

    def print_total(self) -> None:
        """Print the gas of all transactions."""
        total = sum(each.gas_used for _, each in self._sent)
        out.print(f"{pluralize(len(self._sent), 'transaction')}, {total:,} gas")

    def print_json(self, **members: object) -> None:
        """Print the members, the chain's ID and the transactions as JSON."""
        chain_id = int(str(self._session.client.request("eth_chainId", [])), 16)
        print_json(
            {
                **members,
                "chainId": chain_id,
                "transactions": [
                    {
                        "purpose": text,
                        "hash": "0x" + each.hash.hex(),
                        "blockNumber": each.block_number,
                        "gasUsed": each.gas_used,
                    }
                    for text, each in self._sent
                ],
            }
        )

    def _add(self, text: str, sent: SentTransaction) -> SentTransaction:
        self._sent.append((text, sent))
        if not self._is_quiet:
            print_sent(text, sent)
        return sent

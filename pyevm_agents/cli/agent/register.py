"""`pyevm-agents agent register`: an agent's entry in ERC-8004's identity registry."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.cli.options.sender import add_sender_options, json_option
from pyevm_agents.cli.options.sent_transactions import TransactionList
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.output import StatusLine, err, out
from pyevm_agents.client.contract import require_code
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.control.identity import register_agent
from pyevm_agents.control.identity_account import AccountNonces, ContractLog, FoundLog, MinedCall
from pyevm_agents.errors import AgentsError
from pyevm_agents.manifests.agent_folder import AgentFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.cli.options.sender import OracleSession
    from pyevm_agents.control.identity import RegistrationResult

EXAMPLES = """\b
Examples:
  pyevm-agents agent register gas-watcher --unlocked ME      # of `pyevm-agents node --registries`
  pyevm-agents agent register gas-watcher --keystore me.json --uri https://me.example/agent.json
"""


@click.command(short_help="Give an agent an identity on a chain.", epilog=EXAMPLES)
@click.argument("folder", type=click.Path(path_type=Path), metavar="FOLDER")
@click.option(
    "--registry", type=ADDRESS_TYPE, metavar="ADDRESS",
    help="The identity registry.  [default: that of the manifest, otherwise "
    f"{to_checksum_address(REGISTRY_ADDRESSES[TESTNET].identity)}, where test networks have it]",
)  # fmt: skip
@click.option(
    "--uri", metavar="URL",
    help="Where the registration document will be, such as https://…/.well-known/"
    "agent-registration.json.  [default: the document itself is stored on the chain]",
)  # fmt: skip
@add_sender_options
@json_option
def register(
    session: OracleSession,
    *,
    folder: Path,
    registry: bytes | None,
    uri: str | None,
    as_json: bool,
) -> None:
    """Register the agent of FOLDER in the identity registry of ERC-8004, as the sender's.

    Writes agentId, chain and transaction into agent.json and the registration documents. An agent
    that is registered there keeps its entry; the URI is changed if it differs. After an
    interruption, run the command again: it completes the same entry.
    """
    agent = AgentFolder(folder)
    address = _choose_registry(agent) if registry is None else registry
    require_code(session.client, address)
    sent = TransactionList(session, is_quiet=as_json)
    tell = partial((err if as_json else out).print, soft_wrap=True, markup=False)
    account = RemoteIdentityAccount(session, sent)
    result = register_agent(agent, account, address, uri=uri, tell=tell)
    _print_result(result, sent, as_json=as_json)


def _choose_registry(agent: AgentFolder) -> bytes:
    identity = agent.read_manifest().identity
    if identity is None:
        return REGISTRY_ADDRESSES[TESTNET].identity
    return to_canonical_address(identity.registry)


class RemoteIdentityAccount:
    """The sender's account on the chain of a node."""

    def __init__(self, session: OracleSession, sent: TransactionList) -> None:
        """Input: the node and the account; the command's transactions."""
        self._session, self._sent = session, sent

    @property
    def address(self) -> bytes:
        """The account's address."""
        return self._session.account.address

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        return self._request_number("eth_chainId")

    @property
    def genesis_hash(self) -> bytes:
        """The hash of block 0."""
        block: Any = self._session.client.request("eth_getBlockByNumber", ["0x0", False])
        if block is None:
            raise self._session.client.build_fault(
                "eth_getBlockByNumber", "no block 0", "pass another node's URL"
            )
        return bytes.fromhex(block["hash"][2:])

    def read_block_number(self) -> int:
        """Return the number of the latest block."""
        return self._request_number("eth_blockNumber")

    def read_nonces(self) -> AccountNonces:
        """Return the account's next nonces."""
        sender = to_checksum_address(self.address)
        mined, pending = (
            self._request_number("eth_getTransactionCount", sender, tag)
            for tag in ("latest", "pending")
        )
        return AccountNonces(mined=mined, pending=pending)

    def find_logs(
        self, contract: bytes, topics: Sequence[bytes | None], first_block: int
    ) -> Iterator[FoundLog]:
        """Yield the logs of a contract from a block to the latest one, in order."""
        criteria = {
            "address": to_checksum_address(contract),
            "topics": [None if each is None else "0x" + each.hex() for each in topics],
        }
        last = self.read_block_number()
        if last < first_block:  # The chain was started anew.
            return
        with StatusLine() as status:
            if out.is_terminal:
                status.show_status(f"searching the blocks from {first_block:,} on")
            logs = [*self._search(criteria, first_block, last)]
        for log in logs:
            transaction_hash = str(log["transactionHash"])
            transaction: Any = self._session.client.request(
                "eth_getTransactionByHash", [transaction_hash]
            )
            if transaction is None:
                raise self._session.client.build_fault(
                    "eth_getTransactionByHash", f"no {transaction_hash}, whose log it has",
                    "try later, or pass another node's URL",
                )  # fmt: skip
            yield FoundLog(
                log=_read_log(log),
                transaction_hash=bytes.fromhex(transaction_hash[2:]),
                sender=to_canonical_address(transaction["from"]),
                nonce=int(transaction["nonce"], 16),
            )

    def _search(
        self, criteria: Mapping[str, object], first: int, last: int
    ) -> Iterator[Mapping[str, Any]]:
        """Yield logs of blocks; a range that the node refuses is searched in halves."""
        query = {**criteria, "fromBlock": hex(first), "toBlock": hex(last)}
        try:
            logs: Any = self._session.client.request("eth_getLogs", [query])
        except RemoteError as error:
            if first == last:
                raise AgentsError(
                    f"Registered logs: {self._session.client.host} does not search block "
                    f"{first:,} ({error.message}); pass the URL of another node"
                ) from error
            middle = (first + last) // 2
            yield from self._search(criteria, first, middle)
            yield from self._search(criteria, middle + 1, last)
        else:
            yield from (log for log in logs if not log.get("removed"))

    def call(self, to: bytes, data: bytes) -> bytes:
        """Call a contract; return its output."""
        return self._session.account.simulate(to, data)

    def transact(
        self, purpose: str, to: bytes, data: bytes, *, nonce: int | None = None
    ) -> MinedCall:
        """Mine a transaction; return its logs."""
        mined = self._sent.send(purpose, to, data, nonce=nonce)
        return MinedCall(hash=mined.hash, logs=[_read_log(log) for log in mined.logs])

    def _request_number(self, method: str, *params: object) -> int:
        return int(str(self._session.client.request(method, [*params])), 16)


def _read_log(log: Mapping[str, Any]) -> ContractLog:
    return ContractLog(
        address=bytes.fromhex(log["address"][2:]),
        topics=tuple(bytes.fromhex(topic[2:]) for topic in log["topics"]),
        data=bytes.fromhex(log["data"][2:]),
    )


def _print_result(result: RegistrationResult, sent: TransactionList, *, as_json: bool) -> None:
    identity = result.manifest.identity
    assert identity is not None  # noqa: S101 - registered
    if as_json:
        sent.print_json(
            slug=result.manifest.slug,
            agentId=identity.agent_id,
            agentRegistry=identity.registry,
            isNew=result.is_new,
            uri=result.uri,
        )
        return
    if result.transaction_hashes:
        sent.print_total()
    state = "is registered" if result.is_new else "was registered before"
    out.print(
        f"{result.manifest.slug} {state}: agent {identity.agent_id} of {identity.registry} on "
        f"chain {identity.chain_id}",
        soft_wrap=True, markup=False,
    )  # fmt: skip

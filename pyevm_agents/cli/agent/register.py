"""`pyevm-agents agent register`: an agent's entry in ERC-8004's identity registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.cli.oracle.param_types import ADDRESS_TYPE
from pyevm_agents.cli.oracle.session import add_sender_options, json_option
from pyevm_agents.cli.oracle.transactions import TransactionList
from pyevm_agents.cli.output import out
from pyevm_agents.control.identity import ContractLog, MinedCall, register_agent
from pyevm_agents.devnet.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.manifests.agent_folder import AgentFolder
from pyevm_agents.oracle.remote_contract import require_code

if TYPE_CHECKING:
    from pyevm_agents.cli.oracle.session import OracleSession
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
    that is registered there keeps its entry; the URI is changed if it differs.
    """
    agent = AgentFolder(folder)
    address = _choose_registry(agent) if registry is None else registry
    require_code(session.client, address)
    sent = TransactionList(session, is_quiet=as_json)
    result = register_agent(agent, RemoteIdentityAccount(session, sent), address, uri=uri)
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
        return int(str(self._session.client.request("eth_chainId", [])), 16)

    def call(self, to: bytes, data: bytes) -> bytes:
        """Call a contract; return its output."""
        return self._session.account.simulate(to, data)

    def transact(self, purpose: str, to: bytes, data: bytes) -> MinedCall:
        """Mine a transaction; return its logs."""
        mined = self._sent.send(purpose, to, data)
        return MinedCall(
            hash=mined.hash,
            logs=[
                ContractLog(
                    address=bytes.fromhex(log["address"][2:]),
                    topics=tuple(bytes.fromhex(topic[2:]) for topic in log["topics"]),
                    data=bytes.fromhex(log["data"][2:]),
                )
                for log in mined.logs
            ],
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

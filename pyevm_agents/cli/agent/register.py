"""`pyevm-agents agent register`: an agent's entry in ERC-8004's identity registry."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.cli.agent.public_url import public_url_option
from pyevm_agents.cli.options.sender import add_sender_options
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.output import err, json_option, out
from pyevm_agents.client.contract_kinds import IDENTITY_REGISTRY, require_kind
from pyevm_agents.control.identity import register_agent
from pyevm_agents.manifests.agent_folder import AgentFolder
from pyevm_agents.manifests.endpoints import build_endpoints, name_endpoints

if TYPE_CHECKING:
    from pyevm_agents.cli.options.sender import Sender
    from pyevm_agents.cli.options.sent_transactions import Announced
    from pyevm_agents.control.identity import RegistrationResult

EXAMPLES = """\b
Examples:
  pyevm-agents agent register gas-watcher --unlocked ME      # of `pyevm-agents node --registries`
  pyevm-agents agent register gas-watcher --keystore me.json --uri https://me.example/agent.json
"""


@click.command(epilog=EXAMPLES)
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
@public_url_option
@add_sender_options
@json_option
def register(  # noqa: PLR0913 - one for each option
    sender: Sender,
    *,
    folder: Path,
    registry: bytes | None,
    uri: str | None,
    public_url: str | None,
    as_json: bool,
) -> None:
    """Register the agent of FOLDER in the identity registry of ERC-8004, as the sender's.

    Writes agentId, chain and transaction into agent.json and the registration documents. An agent
    that is registered there keeps the entry; a different URI is changed. After an interruption, run
    the command again to complete the same entry.
    """
    agent = AgentFolder(folder)
    if public_url is not None:
        agent.write_manifest(name_endpoints(agent.read_manifest(), build_endpoints(public_url)))
    address = _choose_registry(agent) if registry is None else registry
    require_kind(sender.client, "--registry", address, IDENTITY_REGISTRY)
    tell = partial((err if as_json else out).print, soft_wrap=True, markup=False)
    result = register_agent(agent, sender.account, address, uri=uri, tell=tell)
    _print_result(result, sender.account, as_json=as_json)


def _choose_registry(agent: AgentFolder) -> bytes:
    identity = agent.read_manifest().identity
    if identity is None:
        return REGISTRY_ADDRESSES[TESTNET].identity
    return to_canonical_address(identity.registry)


def _print_result(result: RegistrationResult, sent: Announced, *, as_json: bool) -> None:
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

"""Start message of a node: accounts, keys, agents, chain, URLs; to a terminal or as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address
from rich.markup import escape

from precompiles import numeric_spec, spec
from precompiles.numeric_executor import compute_run_gas
from pyevm_agents.cli.output import out
from pyevm_agents.display import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from pyevm_agents.abi.known_contracts import FoundArtifacts
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.local_node import NodeUrls, OpenNode
    from pyevm_agents.node import Node

WEI = 10**18


def print_banner(
    opened: OpenNode,
    urls: NodeUrls,
    notes: Sequence[str],
    found: FoundArtifacts | None = None,
) -> None:
    """Print the accounts, keys, agents, chain, notes, URLs and the IPC socket, if any.

    Input: the node; its addresses; notes for people; the compiled contracts that were found.
    """
    node = opened.node
    _print_accounts(node)
    _print_agents(opened.agents, node.chain.config)
    _print_numeric_models(node.chain.config)
    config = node.chain.config
    out.print("\n[bold]Chain[/]\n")
    out.print(f"  id        {config.chain_id}")
    out.print(f"  fork      {config.fork}")
    _print_fork(node)
    out.print(f"  block     {node.chain.head.block_number:,}, {config.block_gas_limit:,} gas each")
    out.print(f"  mining    {_describe_mining(node)}")
    if found is not None:
        out.print(f"  artifacts {escape(_describe_artifacts(found))}", soft_wrap=True)
    for note in notes:
        out.print(f"\n[yellow]{escape(note)}[/]", soft_wrap=True)
    others = [urls.websocket]
    others += [] if urls.ipc_path is None else [str(urls.ipc_path)]
    shown = escape(" and ".join(others))
    out.print(f"\nListening on [bold]{urls.http}[/] and {shown}", soft_wrap=True)
    if urls.page is not None:
        out.print(f"Open [bold]{urls.page}[/] in a browser to look at the chain", soft_wrap=True)
    out.print()


def print_json_banner(
    opened: OpenNode,
    urls: NodeUrls,
    notes: Sequence[str],
    found: FoundArtifacts | None = None,
) -> None:
    """Print the same as one line of JSON, without the keys."""
    node = opened.node
    config = node.chain.config
    form: dict[str, object] = {
        "event": "listening",
        "url": urls.http,
        "page": urls.page,
        **({} if urls.ipc_path is None else {"ipc": str(urls.ipc_path)}),
        "chainId": config.chain_id,
        "fork": config.fork,
        "block": node.chain.head.block_number,
        "accounts": [to_checksum_address(address) for address in node.keys.addresses],
        "models": [profile.name for profile in config.models],
        "executor": to_checksum_address(spec.EXECUTOR_ADDRESS) if config.models else None,
        "agents": [to_checksum_address(address) for address in opened.agents],
        "notes": [*notes],
    }
    if found is not None:
        form["artifacts"] = {
            "contracts": found.contracts,
            "places": [*map(str, found.places)],
            "isComplete": found.is_complete,
        }
    if config.numeric_models:
        form["numericModels"] = [profile.name for profile in config.numeric_models]
        form["numericModelsAddress"] = to_checksum_address(numeric_spec.NUMERIC_MODELS_ADDRESS)
    if (fork := node.fork) is not None:
        form["forked"] = {
            "host": fork.host,
            "chainId": fork.origin.chain_id,
            "blockNumber": fork.origin.block_number,
            "blockHash": "0x" + fork.origin.block_hash.hex(),
            "isVerified": fork.is_verified,
        }
    click.echo(json.dumps(form))


def _print_fork(node: Node) -> None:
    fork = node.fork
    if fork is None:
        return
    origin = fork.origin
    proofs = "verified by Merkle proofs" if fork.is_verified else "unverified"
    out.print(
        f"  forked    chain {origin.chain_id} at {escape(fork.host)}, block {origin.block_number:,}"
    )
    out.print(f"            [dim]0x{origin.block_hash.hex()}[/]")
    out.print(f"            state {proofs}; earlier blocks unverified")


def _print_accounts(node: Node) -> None:
    addresses = node.keys.addresses
    out.print("\n[bold]Accounts[/]\n")
    for index, address in enumerate(addresses):
        ether = node.chain.balance(address) / WEI
        out.print(f"  ({index}) {to_checksum_address(address)}  {ether:,.18g} ETH")
    out.print("\n[bold]Private keys[/]  [dim]public: for tests only[/]\n")
    for index, address in enumerate(addresses):
        out.print(f"  ({index}) {node.keys.get_key(address)}")


def _print_agents(agents: Sequence[Address], config: ChainConfig) -> None:
    out.print("\n[bold]Agents[/]\n")
    if not config.models:
        out.print("  none: a plain chain, without the executor at 0x19")
        return
    out.print(f"  executor  {to_checksum_address(spec.EXECUTOR_ADDRESS)}")
    for profile in config.models:
        aliases = f" ({escape(', '.join(profile.aliases))})" if profile.aliases else ""
        out.print(f"  model     {escape(profile.name)}{aliases}")
        out.print(f"            [dim]sha256 {profile.digest.hex()[:32]}…[/]")
        out.print(
            f"  gas       token: {profile.cold_prompt_token_gas:,} cold, "
            f"{profile.warm_prompt_token_gas:,} warm, {profile.output_token_gas:,} output, "
            f"{profile.chooser_token_gas:,} chooser"
        )
    own = config.schedule
    out.print(
        f"            call: {own.executor_base_gas:,}, byte: {own.input_byte_gas:,}, "
        f"tool: {own.tool_gas:,}, parameter: {own.parameter_gas:,}"
    )
    out.print(f"            character of a request: {own.scan_gas:,}")
    for address in agents:
        out.print(f"  deployed  {to_checksum_address(address)}")


def _print_numeric_models(config: ChainConfig) -> None:
    if not config.numeric_models:
        return
    out.print("\n[bold]Numeric models[/]\n")
    out.print(f"  address   {to_checksum_address(numeric_spec.NUMERIC_MODELS_ADDRESS)}")
    for profile in config.numeric_models:
        gas = compute_run_gas(config.numeric_schedule, profile, profile.name)
        inputs, outputs = len(profile.input_decimals), len(profile.output_decimals)
        out.print(
            f"  model     {escape(profile.name)}: {pluralize(inputs, 'input')}, "
            f"{pluralize(outputs, 'output')}, {gas:,} gas"
        )
        out.print(f"            [dim]sha256 {profile.digest.hex()[:32]}…[/]")


def _describe_artifacts(found: FoundArtifacts) -> str:
    places = " and ".join(map(_shorten_path, found.places))
    if not found.is_complete:
        return f"being read in {places}"
    if not found.contracts:
        return f"none found in {places}"
    return f"{pluralize(found.contracts, 'contract')} of {places}"


def _shorten_path(path: Path) -> str:
    """Return a path relative to the working folder, if it is below."""
    folder = Path.cwd()
    return f"./{path.relative_to(folder)}" if path.is_relative_to(folder) else str(path)


def _describe_mining(node: Node) -> str:
    mining = node.mining
    interval = mining.interval_seconds
    if mining.is_automatic:
        more = f", and every {interval:g} s" if interval else ""
        return f"a block for each transaction{more}"
    return f"a block every {interval:g} s" if interval else "on request (evm_mine)"

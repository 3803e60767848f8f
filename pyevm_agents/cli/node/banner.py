"""Start message of a node: accounts, keys, agents, chain, URLs; to a terminal or as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address
from rich.markup import escape

from precompiles import numeric_spec, spec
from precompiles.numeric_executor import compute_run_gas
from pyevm_agents.cli.node.state_file import write_json
from pyevm_agents.cli.output import out
from pyevm_agents.display import pluralize
from pyevm_agents.node.transaction_defaults import suggest_gas_price

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.cli.node.chain import NodeChain
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.node import Node

WEI = 10**18


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUrls:
    """Addresses of a node's server."""

    http: str
    page: str | None = None
    """The page for browsers; None if there is none."""

    ipc_path: Path | None = None
    """The IPC socket; None if there is none."""


def print_banner(node: Node, node_chain: NodeChain, urls: NodeUrls) -> None:
    """Print the accounts, keys, agents, chain, URLs and the IPC socket, if any."""
    _print_accounts(node)
    _print_agents(node_chain, node.chain.config)
    _print_numeric_models(node.chain.config)
    config = node.chain.config
    out.print("\n[bold]Chain[/]\n")
    out.print(f"  id        {config.chain_id}")
    out.print(f"  fork      {config.fork}")
    _print_fork(node)
    out.print(f"  block     {node.chain.head.block_number:,}, {config.block_gas_limit:,} gas each")
    out.print(f"  mining    {_describe_mining(node)}")
    for note in _list_notes(node, node_chain):
        out.print(f"\n[yellow]{escape(note)}[/]", soft_wrap=True)
    others = [urls.http.replace("http", "ws", 1)]
    others += [] if urls.ipc_path is None else [str(urls.ipc_path)]
    shown = escape(" and ".join(others))
    out.print(f"\nListening on [bold]{urls.http}[/] and {shown}", soft_wrap=True)
    if urls.page is not None:
        out.print(f"Open [bold]{urls.page}[/] in a browser to look at the chain", soft_wrap=True)
    out.print()


def print_json_banner(node: Node, node_chain: NodeChain, urls: NodeUrls) -> None:
    """Print the same as one line of JSON, without the keys."""
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
        "agents": [to_checksum_address(address) for address in node_chain.agents],
        "notes": [*_list_notes(node, node_chain)],
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


def write_config(path: Path, node: Node, mnemonic: str, derivation_path: str) -> None:
    """Write the file of `--config-out` in anvil's format, readable by its owner alone.

    Input:
        mnemonic: the words that the node's keys are derived from.
        derivation_path: without the index.

    Source: anvil 1.7.1, `--config-out`.
    Raises: AgentsError: the file can't be written.
    """
    base_fee = int(node.next_block.build_header().base_fee_per_gas or 0)
    addresses = node.keys.addresses
    form = {
        "available_accounts": ["0x" + address.hex() for address in addresses],
        "private_keys": [str(node.keys.get_key(address)) for address in addresses],
        "wallet": {"mnemonic": mnemonic, "derivation_path": f"{derivation_path}/"},
        "base_fee": str(base_fee),
        "gas_price": str(suggest_gas_price(node)),
        "gas_limit": str(node.chain.config.block_gas_limit),
        "genesis_timestamp": str(node.chain.config.genesis_timestamp_seconds),
    }
    write_json(path, form, "config file")


def _list_notes(node: Node, node_chain: NodeChain) -> Iterator[str]:
    """Yield the chain's notes, and what came back from the pool's journal."""
    yield from node_chain.notes
    count = len(node.restored.transactions)
    if count:
        yield f"Restored {pluralize(count, 'transaction')} of the pool from the last run."
    for place in node.restored.damaged:
        yield f"Skipped a damaged row of the pool's journal, {place}: send that transaction again."


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


def _print_agents(node_chain: NodeChain, config: ChainConfig) -> None:
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
            f"{profile.warm_prompt_token_gas:,} warm, {profile.output_token_gas:,} output"
        )
    own = config.schedule
    out.print(
        f"            call: {own.executor_base_gas:,}, byte: {own.input_byte_gas:,}, "
        f"tool: {own.tool_gas:,}, parameter: {own.parameter_gas:,}"
    )
    out.print(f"            character of a request: {own.scan_gas:,}")
    for address in node_chain.agents:
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


def _describe_mining(node: Node) -> str:
    mining = node.mining
    interval = mining.interval_seconds
    if mining.is_automatic:
        more = f", and every {interval:g} s" if interval else ""
        return f"a block for each transaction{more}"
    return f"a block every {interval:g} s" if interval else "on request (evm_mine)"

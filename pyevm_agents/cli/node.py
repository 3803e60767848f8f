"""`pyevm-agents node`: a development node that Ethereum's tools connect to."""

from __future__ import annotations

import asyncio
import json
import signal
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import to_checksum_address
from rich.markup import escape

from precompiles.spec import EXECUTOR_ADDRESS
from precompiles.text import escape_line
from pyevm_agents.chain import Chain, GenesisAccount, kept_config
from pyevm_agents.cli.adapters import adapter_option
from pyevm_agents.cli.folders import facts_folder
from pyevm_agents.cli.screen import Watch, out
from pyevm_agents.cli.store import store_of_run, store_option
from pyevm_agents.config import (
    DEFAULT_BASE_FEE_WEI,
    DEFAULT_BLOCK_GAS_LIMIT,
    DEFAULT_CHAIN_ID,
    ChainConfig,
)
from pyevm_agents.development import model_profile
from pyevm_agents.lmdb_rows import LmdbRows
from pyevm_agents.models import LlamaModel, RememberingModel, SwitchedModel
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, Mining, Node
from pyevm_agents.node.keys import derived_keys
from pyevm_agents.node.node import Watcher
from pyevm_agents.rpc.methods import node_service
from pyevm_agents.server import Server, ServerOptions
from pyevm_agents.trace import agent_steps

if TYPE_CHECKING:
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.database import Rows
    from pyevm_agents.models import Adapter, Store
    from pyevm_agents.rpc.envelope import Answered
    from pyevm_agents.rpc.service import NodeService

WEI = 10**18
DEFAULT_BALANCE_ETHER = 10_000
DEFAULT_PORT = 8_545


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What the chain is."""

    chain_id: int
    gas_limit: int
    base_fee: int
    timestamp: int | None

    def config(self, rows: Rows) -> ChainConfig:
        """Return the rules of a chain without models.

        Its genesis is now, where nobody says when, or when the chain that is kept there has it.
        """
        timestamp = self.timestamp
        kept = kept_config(rows)
        if timestamp is None:
            timestamp = kept.genesis_timestamp_seconds if kept else int(time.time())
        return ChainConfig(
            chain_id=self.chain_id,
            block_gas_limit=self.gas_limit,
            base_fee_wei=self.base_fee,
            genesis_timestamp_seconds=timestamp,
        )


@click.command(short_help="Run a node that Ethereum's tools connect to.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True,
    help="Port for HTTP and WebSocket; 0 for any that is free.",
)  # fmt: skip
@click.option("--chain-id", type=click.IntRange(1), default=DEFAULT_CHAIN_ID, show_default=True)
@click.option("--accounts", type=click.IntRange(1, 1_000), default=10, show_default=True)
@click.option("--mnemonic", default=DEFAULT_MNEMONIC, show_default=True, metavar="WORDS")
@click.option(
    "--balance", type=click.IntRange(0), default=DEFAULT_BALANCE_ETHER, show_default=True,
    metavar="ETHER", help="What each account has.",
)  # fmt: skip
@click.option(
    "--block-time", type=click.FloatRange(0.01), metavar="SECONDS",
    help="Make a block so often, and none for each transaction.",
)  # fmt: skip
@click.option("--mixed-mining", is_flag=True, help="With --block-time: for each one as well.")
@click.option("--no-mining", is_flag=True, help="Make blocks when asked only (evm_mine).")
@click.option(
    "--gas-limit", type=click.IntRange(5_000), default=DEFAULT_BLOCK_GAS_LIMIT, show_default=True,
    help="Gas of a block.",
)  # fmt: skip
@click.option(
    "--base-fee", type=click.IntRange(0), default=DEFAULT_BASE_FEE_WEI, show_default=True,
    metavar="WEI", help="Base fee of the first block.",
)  # fmt: skip
@click.option(
    "--timestamp",
    type=click.IntRange(0),
    metavar="SECONDS",
    help="Time of genesis.  [default: now]",
)
@click.option("--model", "model_path", metavar="FILE", help="A GGUF model.")
@adapter_option
@click.option("--no-model", is_flag=True, help="A plain chain: no precompile at 0x19.")
@click.option("--threads", type=click.IntRange(1, 512), metavar="N", help="Threads of the engine.")
@store_option
@click.option("--no-store", is_flag=True, help="Keep no generations on the disk.")
@click.option(
    "--state-dir", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Keep the chain there, and go on with it at the next start.",
)  # fmt: skip
@click.option(
    "--allow-origin", "origins", multiple=True, metavar="ORIGIN",
    help="A page whose scripts may ask, such as https://app.example; `*` for all.",
)  # fmt: skip
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME",
    help="A name in `Host` to answer besides the loopback's; `*` for all.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option("--json-logs", is_flag=True, help="Print each line as a JSON object.")
def node(  # noqa: PLR0913 - one for each option
    host: str,
    port: int,
    *,
    chain_id: int,
    accounts: int,
    mnemonic: str,
    balance: int,
    block_time: float | None,
    mixed_mining: bool,
    no_mining: bool,
    gas_limit: int,
    base_fee: int,
    timestamp: int | None,
    model_path: str | None,
    adapter: Adapter,
    no_model: bool,
    threads: int | None,
    store_path: Path | None,
    no_store: bool,
    state_dir: Path | None,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
    quiet: bool,
    json_logs: bool,
) -> None:
    """Run a development node: HTTP and WebSocket on one port, agents at 0x19.

    Point Foundry, Hardhat, ethers, viem, web3.py or a wallet at http://127.0.0.1:8545, as at
    anvil: the same chain id, accounts and keys. Ctrl-C stops it.
    """
    if no_store and store_path is not None:
        raise click.UsageError("--store and --no-store exclude each other; leave one out")
    if no_mining and (block_time is not None or mixed_mining):
        raise click.UsageError("--no-mining excludes --block-time and --mixed-mining")
    if mixed_mining and block_time is None:
        raise click.UsageError("--mixed-mining needs --block-time")
    log = _Log(is_quiet=quiet, is_json=json_logs)
    rules = _Rules(
        chain_id=chain_id,
        gas_limit=gas_limit,
        base_fee=base_fee,
        timestamp=timestamp,
    )
    mining = Mining(
        is_automatic=not no_mining and (block_time is None or mixed_mining),
        interval_seconds=block_time or 0.0,
    )
    with ExitStack() as stack:
        rows = LmdbRows(state_dir or _folder_of_process(stack))
        stack.callback(rows.close)
        models: dict[str, SwitchedModel] = {}
        config = rules.config(rows)
        if not no_model:
            store = stack.enter_context(store_of_run(store_path, no_store=no_store))
            watch = stack.enter_context(Watch())
            llama = LlamaModel(
                model_path,
                adapter=adapter,
                threads=threads,
                kept_facts=facts_folder(),
                progress=None if quiet else watch.progress,
            )
            config, models = _with_model(config, stack.enter_context(llama), store)
        keys = Keys(derived_keys(mnemonic, accounts))
        given = {one: GenesisAccount(balance_wei=balance * WEI) for one in keys.addresses}
        chain = Chain(config, models, accounts=given, rows=rows)
        running = Node(chain, now=time.time, keys=keys, mining=mining)
        stack.callback(running.close)
        running.watch(Watcher(mined=log.mined))
        options = ServerOptions(
            host=host,
            port=port,
            allowed_origins=frozenset(origins),
            allowed_hosts=frozenset(hosts),
        )
        asyncio.run(_serve(node_service(running), options, log, running))


def _folder_of_process(stack: ExitStack) -> Path:
    """Return a folder that goes with the process."""
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pyevm-agents-")))


def _with_model(
    config: ChainConfig, llama: LlamaModel, store: Store
) -> tuple[ChainConfig, dict[str, SwitchedModel]]:
    facts = llama.profile_facts
    profile = model_profile(facts)
    remembering = RememberingModel(
        llama, digest=facts.digest, fingerprint=facts.fingerprint, store=store
    )
    with_model = replace(config, models=(profile,), profile_fingerprint=facts.fingerprint)
    return with_model, {profile.name: SwitchedModel(remembering)}


async def _serve(service: NodeService, options: ServerOptions, log: _Log, running: Node) -> None:
    loop = asyncio.get_running_loop()
    async with Server(service, options, watch=log.answered) as server:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, server.stop)
        log.banner(running, server.url)
        await server.stopped()


class _Log:
    """What a node prints: a banner, a line for each request, an agent's steps."""

    def __init__(self, *, is_quiet: bool, is_json: bool) -> None:
        """Print as told."""
        self._is_quiet, self._is_json = is_quiet, is_json

    def banner(self, running: Node, url: str) -> None:
        """Say what there is, and where."""
        config = running.chain.config
        models = [(one.name, one.aliases, one.digest) for one in config.models]
        if self._is_json:
            self._write(
                event="listening",
                url=url,
                chainId=config.chain_id,
                accounts=[to_checksum_address(one) for one in running.keys.addresses],
                models=[name for name, _, _ in models],
            )
            return
        if self._is_quiet:
            return
        balance = running.chain.balance(running.keys.addresses[0]) // WEI
        out.print("\n[bold]Accounts[/]\n")
        for index, address in enumerate(running.keys.addresses):
            out.print(f"  ({index}) {to_checksum_address(address)}  {balance:,} ETH")
        out.print("\n[bold]Private keys[/]  [dim]known to everybody: for tests alone[/]\n")
        for index, address in enumerate(running.keys.addresses):
            out.print(f"  ({index}) {running.keys.key_of(address)}")
        out.print("\n[bold]Agents[/]\n")
        for profile in config.models:
            aliases = ", ".join(profile.aliases)
            out.print(
                f"  {escape(profile.name)} ({escape(aliases)})  sha256 {profile.digest.hex()[:16]}…"
            )
            out.print(
                f"  gas a token: {profile.cold_prompt_token_gas:,} read, "
                f"{profile.warm_prompt_token_gas:,} read again, "
                f"{profile.output_token_gas:,} written"
            )
        where = to_checksum_address(EXECUTOR_ADDRESS) if models else "none: a plain chain"
        out.print(f"  executor {where}")
        out.print(f"\n[bold]Chain[/]  id {config.chain_id}, {config.fork}, {url}\n")

    def answered(self, answered: Answered) -> None:
        """Say that a request was answered."""
        method = escape_line(answered.method)[:80]
        if self._is_json:
            self._write(
                event="request",
                method=method,
                milliseconds=round(answered.milliseconds, 2),
                error=answered.error_code,
                transport=answered.transport,
            )
        elif not self._is_quiet:
            failed = "" if answered.error_code is None else f"  [red]{answered.error_code}[/]"
            out.print(
                f"[dim]{answered.milliseconds:9.1f} ms[/]  {escape(method)}{failed}",
                soft_wrap=True,
            )

    def mined(self, mined: MinedBlock) -> None:
        """Say what agents did in a block."""
        if self._is_quiet:
            return
        for transaction, computation in zip(
            mined.block.transactions, mined.computations, strict=True
        ):
            for number, step in enumerate(agent_steps(computation), start=1):
                told = {
                    "thought": step.thought,
                    "action": step.action,
                    "input": step.action_input,
                    "observation": step.observation,
                    "answer": step.answer,
                }
                if self._is_json:
                    self._write(
                        event="step", transaction="0x" + transaction.hash.hex(), step=number, **told
                    )
                    continue
                for name, text in told.items():
                    if text is not None:
                        shown = escape(escape_line(text))
                        out.print(
                            f"             [cyan]{number} {name:11}[/] {shown}", soft_wrap=True
                        )

    def _write(self, **fields: object) -> None:
        click.echo(json.dumps(fields))

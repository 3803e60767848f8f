"""`pyevm-agents node`: a development node that Ethereum's tools connect to."""

from __future__ import annotations

import re
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pyevm_agents.abi.known_contracts import ArtifactFolders
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.chain.lmdb import LmdbRows, UnreadableChainError
from pyevm_agents.cli.cache_folder import get_facts_folder
from pyevm_agents.cli.node.banner import write_config
from pyevm_agents.cli.node.chain import WEI, ChainOptions, NodeChain, NodeSetup
from pyevm_agents.cli.node.genesis_file import GenesisFile, read_genesis
from pyevm_agents.cli.node.run import NodeOutput, NodeRun
from pyevm_agents.cli.node.state_file import read_state, require_writable
from pyevm_agents.cli.node.unsupported_options import NodeCommand
from pyevm_agents.cli.options.fork import FORK_OPTIONS, ForkOpener, add_fork_options
from pyevm_agents.cli.options.models import (
    adapter_option,
    allow_host_option,
    allow_origin_option,
    is_given,
    models_option,
    numeric_models_option,
    open_numeric_models,
    require_single_model,
    schedule_option,
)
from pyevm_agents.cli.store import open_run_store, store_option
from pyevm_agents.config import (
    DEFAULT_BASE_FEE_WEI,
    DEFAULT_BLOCK_GAS_LIMIT,
    DEFAULT_CHAIN_ID,
    DEFAULT_CODE_SIZE_BYTES,
    DEFAULT_FORK,
    FORKS,
    MAX_CODE_SIZE_BYTES,
    MIN_BLOCK_GAS_LIMIT,
)
from pyevm_agents.devnet.chain import build_predeploys
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.errors import ConfigError
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, MiningMode, Node
from pyevm_agents.node.journal import Journal
from pyevm_agents.node.keys import (
    DEFAULT_PATH,
    MAX_ACCOUNTS,
    MNEMONIC_LENGTHS,
    derive_keys,
    generate_mnemonic,
)
from pyevm_agents.node.state_dump import load
from pyevm_agents.node.txpool import ORDERS
from pyevm_agents.oracle.rpc_methods import METHODS as ORACLE_METHODS
from pyevm_agents.rpc.call_watcher import DEFAULT_SECONDS
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.server import ServerOptions
from pyevm_agents.tracing import TracePool
from pyevm_agents.tracing.budget import DEFAULT_POOL_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.cli.options.fork import ForkOptions
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models import Adapter, LlamaModel
    from pyevm_agents.recordings import Fixture

DEFAULT_BALANCE_ETHER = 10_000
DEFAULT_PORT = 8_545
MEBIBYTE = 2**20
DEFAULT_IPC_PATH = "/tmp/anvil.ipc"  # noqa: S108 - anvil's own; only its owner can open it
MAX_BALANCE_ETHER = 10**12
MAX_GAS_LIMIT = 10**15
MAX_BASE_FEE_WEI = 10**18
MAX_TIMESTAMP_SECONDS = 10**12

EXCLUSIVE_OPTIONS = {
    "no_store": ("store_path",),
    "no_mining": ("block_time", "mixed_mining"),
    "quiet": ("json_logs", "print_traces"),
    "state_path": ("load_path", "dump_path"),
    "random_words": ("mnemonic",),
    "unlimited_code": ("code_size",),
    "no_model": ("models", "adapter", "threads", "schedule"),
    "fixture": (
        *("chain_id", "gas_limit", "base_fee", "timestamp", "fork", "schedule", "genesis"),
        *("code_size", "unlimited_code", "numeric_files"),
        *("load_path", "state_path", "registries"),
    ),
    "fork_url": ("fixture", "genesis", "timestamp", "base_fee", "registries"),
}
"""Options that exclude each other. A fixture, or a fork block, defines parameters itself."""

EXAMPLES = """\b
Examples:
  pyevm-agents node                              # like anvil, with agents at 0x19
  pyevm-agents node -p 9000 -b 2 --no-model      # a plain chain, a block every 2 s
  pyevm-agents node --fixture wallet_agent       # with a deployed wallet agent
  pyevm-agents node --fork-url https://eth.example/key --fork-block-number 22000000
  pyevm-agents node --state chain.json           # load at the start, dump at the end
  pyevm-agents node --model other.gguf           # a file, or a name of `pyevm-agents model`
  pyevm-agents node --schedule cold=600,output=1000
  pyevm-agents node --schedule schedule.json
  pyevm-agents node --numeric-model sentiment --numeric-model forecast=forecast.onnx
"""


def _load_fixture_option(
    _context: click.Context, _option: click.Parameter, name: str | None
) -> Fixture | None:
    if name is None:
        return None
    from pyevm_agents.recordings.bundled import load_bundled_fixture  # noqa: PLC0415 - seldom needed

    return load_bundled_fixture(name)


def _load_genesis_option(
    _context: click.Context, _option: click.Parameter, name: str | None
) -> GenesisFile:
    return GenesisFile() if name is None else read_genesis(Path(name))


def _validate_derivation_path(_context: click.Context, _option: click.Parameter, value: str) -> str:
    path = value.rstrip("/")  # anvil's own ends with one.
    if not re.fullmatch(r"m(?:/[0-9]{1,9}'?)*", path):
        raise click.BadParameter(f"{value!r}: must be a BIP-32 path, such as {DEFAULT_PATH}")
    return path


@click.command(
    cls=NodeCommand, short_help="Run a local node with a JSON-RPC server.", epilog=EXAMPLES
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "-p", "--port", type=click.IntRange(0, 65_535), default=DEFAULT_PORT, show_default=True,
    help="Port for HTTP and WebSocket; 0 for any free port.",
)  # fmt: skip
@click.option(
    "--ipc", "--ipcpath", "ipc_path", is_flag=False, flag_value=DEFAULT_IPC_PATH,
    type=click.Path(path_type=Path), metavar="[PATH]",
    help=f"Also listen on this Unix socket.  [default: {DEFAULT_IPC_PATH}]",
)  # fmt: skip
@click.option(
    "--chain-id", type=click.IntRange(1), default=DEFAULT_CHAIN_ID, show_default=True,
    help="Chain ID.",
)  # fmt: skip
@click.option(
    "-a", "--accounts", type=click.IntRange(1, MAX_ACCOUNTS), default=10, show_default=True,
    help="Number of funded accounts.",
)  # fmt: skip
@click.option(
    "-m", "--mnemonic", default=DEFAULT_MNEMONIC, show_default=True, metavar="WORDS",
    help="BIP-39 mnemonic of the accounts.",
)  # fmt: skip
@click.option(
    "--mnemonic-random", "random_words", is_flag=False, flag_value="12", metavar="[WORDS]",
    type=click.Choice(MNEMONIC_LENGTHS),
    help="Derive the accounts from a new random mnemonic of 12, 15, 18, 21 or 24 words.  "
    "[default: 12]",
)  # fmt: skip
@click.option(
    "--derivation-path", "path", default=DEFAULT_PATH, show_default=True, metavar="PATH",
    callback=_validate_derivation_path, help="Derivation path of the accounts, without the index.",
)  # fmt: skip
@click.option(
    "--balance", type=click.IntRange(0, MAX_BALANCE_ETHER), default=DEFAULT_BALANCE_ETHER,
    show_default=True, metavar="ETHER", help="Balance of each account.",
)  # fmt: skip
@click.option(
    "-b", "--block-time", "--blockTime", "block_time", type=click.FloatRange(0.01),
    metavar="SECONDS", help="Mine blocks at this interval, not for each transaction.",
)  # fmt: skip
@click.option(
    "--mixed-mining", is_flag=True, help="With --block-time, also mine for each transaction."
)
@click.option(
    "--no-mining", "--no-mine", "no_mining", is_flag=True,
    help="Mine only on request (evm_mine).",
)  # fmt: skip
@click.option(
    "--order", type=click.Choice(ORDERS), default=ORDERS[0], show_default=True,
    help="Order of the transactions in a block: by tip, or by arrival.",
)  # fmt: skip
@click.option("--auto-impersonate", is_flag=True, help="Send from any address without its key.")
@click.option(
    "--gas-limit", type=click.IntRange(MIN_BLOCK_GAS_LIMIT, MAX_GAS_LIMIT),
    default=DEFAULT_BLOCK_GAS_LIMIT, show_default=True, help="Gas limit of a block.",
)  # fmt: skip
@click.option(
    "--code-size-limit", "code_size", default=DEFAULT_CODE_SIZE_BYTES, show_default=True,
    type=click.IntRange(DEFAULT_CODE_SIZE_BYTES, MAX_CODE_SIZE_BYTES), metavar="BYTES",
    help="Size limit of a contract's code; initcode may have twice as much.",
)  # fmt: skip
@click.option(
    "--disable-code-size-limit", "unlimited_code", is_flag=True,
    help=f"The same as --code-size-limit {MAX_CODE_SIZE_BYTES}.",
)  # fmt: skip
@click.option(
    "--base-fee", "--block-base-fee-per-gas", "base_fee", type=click.IntRange(0, MAX_BASE_FEE_WEI),
    default=DEFAULT_BASE_FEE_WEI, show_default=True, metavar="WEI",
    help="Base fee of the first block.",
)  # fmt: skip
@click.option(
    "--timestamp",
    type=click.IntRange(0, MAX_TIMESTAMP_SECONDS),
    metavar="SECONDS",
    help="Timestamp of genesis.  [default: now]",
)
@click.option(
    "--fork-name", "--hardfork", "fork", default=DEFAULT_FORK, show_default=True,
    type=click.Choice((*FORKS, "latest"), case_sensitive=False),
    callback=lambda _context, _option, name: DEFAULT_FORK if name == "latest" else name,
    help="Fork of Ethereum whose rules apply.",
)  # fmt: skip
@click.option(
    "--init", "genesis", callback=_load_genesis_option, metavar="FILE",
    help="Genesis file in geth's format: chain ID, timestamp, gas limit, base fee, accounts. "
    "Options override it.",
)  # fmt: skip
@click.option(
    "--registries", is_flag=False, flag_value=TESTNET, type=click.Choice([*REGISTRY_ADDRESSES]),
    metavar="[NETWORK]",
    help="Start with the registries of ERC-8004, at their addresses on testnets or mainnets.  "
    f"[default: {TESTNET}]",
)  # fmt: skip
@add_fork_options
@schedule_option
@click.option(
    "--fixture", callback=_load_fixture_option, metavar="NAME",
    help="Start with a recorded chain: a bundled one, such as wallet_agent or nested, or a file. "
    "Recorded generations are replayed; the model computes others.",
)  # fmt: skip
@models_option
@adapter_option
@click.option("--no-model", is_flag=True, help="Run a plain chain, without the executor at 0x19.")
@numeric_models_option
@click.option(
    "-j", "--threads", type=click.IntRange(1, 512), metavar="N", help="Threads of the engine."
)
@store_option
@click.option("--no-store", is_flag=True, help="Neither read nor write the generation store.")
@click.option(
    "--state-dir", type=click.Path(path_type=Path, file_okay=False), metavar="FOLDER",
    help="Store the chain in this folder; the next start continues it.",
)  # fmt: skip
@click.option(
    "--load-state", "load_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Load the accounts of a dump by this program or anvil.",
)  # fmt: skip
@click.option(
    "--dump-state", "dump_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Dump all accounts to this file when the node stops.",
)  # fmt: skip
@click.option(
    "--state", "state_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Load this file at the start if it exists, and dump to it at the end.",
)  # fmt: skip
@click.option(
    "--config-out", "config_path", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the accounts, their private keys and the chain's parameters to this file, as "
    "anvil does.",
)  # fmt: skip
@click.option(
    "--call-gas-cap", "call_gas", type=click.IntRange(MIN_BLOCK_GAS_LIMIT, MAX_GAS_LIMIT),
    metavar="GAS",
    help="Maximum gas of a call, an estimate or a traced call.  "
    "[default: the block gas limit, at least 50,000,000]",
)  # fmt: skip
@click.option(
    "--call-timeout", "call_seconds", type=click.FloatRange(0.1), default=DEFAULT_SECONDS,
    show_default=True, metavar="SECONDS", help="Time limit of a call, an estimate or a trace.",
)  # fmt: skip
@click.option(
    "--trace-memory", "trace_mebibytes", type=click.IntRange(1), metavar="MIB", show_default=True,
    default=DEFAULT_POOL_BYTES // MEBIBYTE,
    help="Memory that the traces of all requests may hold together, in MiB.",
)  # fmt: skip
@allow_origin_option
@allow_host_option
@click.option("--no-ui", is_flag=True, help="Serve no page to browsers, only JSON-RPC.")
@click.option(
    "--artifacts", type=click.Path(path_type=Path), multiple=True, metavar="PATH",
    help="Compiled contracts: a folder of Foundry or Hardhat, solc's JSON output, or an ABI. The "
    "log, traces and errors name them. May be repeated.  "
    "[default: out/ and artifacts/ in the working folder]",
)  # fmt: skip
@click.option(
    "--print-traces", is_flag=True,
    help="Print the calls, events and agent steps of each mined transaction.",
)  # fmt: skip
@click.option("-q", "--quiet", "--silent", "quiet", is_flag=True, help="Print only errors.")
@click.option(
    "--json-logs", "--json", "json_logs", is_flag=True, help="Log in JSON, one object per line."
)
@click.pass_context
def node(  # noqa: PLR0913 - one for each option
    context: click.Context,
    host: str,
    port: int,
    *,
    ipc_path: Path | None,
    chain_id: int,
    accounts: int,
    mnemonic: str,
    random_words: str | None,
    path: str,
    balance: int,
    block_time: float | None,
    mixed_mining: bool,
    no_mining: bool,
    order: str,
    auto_impersonate: bool,
    gas_limit: int,
    code_size: int,
    unlimited_code: bool,
    base_fee: int,
    timestamp: int | None,
    fork: str,
    genesis: GenesisFile,
    registries: str | None,
    remote: ForkOptions | None,
    schedule: ScheduleFile | None,
    fixture: Fixture | None,
    models: tuple[ModelChoice, ...],
    adapter: Adapter,
    no_model: bool,
    numeric_files: Mapping[str, str],
    threads: int | None,
    store_path: Path | None,
    no_store: bool,
    state_dir: Path | None,
    load_path: Path | None,
    dump_path: Path | None,
    state_path: Path | None,
    config_path: Path | None,
    call_gas: int | None,
    call_seconds: float,
    trace_mebibytes: int,
    origins: tuple[str, ...],
    hosts: tuple[str, ...],
    no_ui: bool,
    artifacts: tuple[Path, ...],
    print_traces: bool,
    quiet: bool,
    json_logs: bool,
) -> None:
    """Run a development node with the executor of agents at 0x19.

    Serves HTTP and WebSocket on one port. Port, chain ID, accounts and keys are anvil's: connect
    Foundry, Hardhat, ethers, viem, web3.py or a wallet to http://127.0.0.1:8545. Ctrl-C stops it.
    """
    _require_compatible_options(context)
    if state_path is not None:
        dump_path = state_path
        load_path = state_path if state_path.exists() else None
    state = None if load_path is None else read_state(load_path)
    dump_path = None if dump_path is None else require_writable(dump_path)
    if config_path is not None:
        require_writable(config_path, "config file")
    folders = _open_artifacts(artifacts)
    mnemonic, *notes = _choose_mnemonic(mnemonic, random_words)
    notes += [f"Skipped {file}: {text}" for file, text in folders.list_problems().items()]
    keys = Keys(derive_keys(mnemonic, accounts, path))
    keys.impersonates_all = auto_impersonate
    mining = MiningMode(
        is_automatic=not no_mining and (block_time is None or mixed_mining),
        interval_seconds=block_time or 0.0,
    )
    defaults = {name: value for name, value in genesis.rules.items() if not is_given(context, name)}
    rules = ChainOptions(
        chain_id=defaults.get("chain_id", chain_id),
        gas_limit=defaults.get("gas_limit", gas_limit),
        base_fee=defaults.get("base_fee", base_fee),
        timestamp=defaults.get("timestamp", timestamp),
        fork=fork,
        code_size=MAX_CODE_SIZE_BYTES if unlimited_code else code_size,
        schedule=schedule,
        given=frozenset(name for name in context.params if is_given(context, name)),
    )
    run = NodeRun(
        NodeOutput.from_options(is_quiet=quiet, is_json=json_logs), has_traces=print_traces
    )

    def open_model(choice: ModelChoice, context_tokens: int | None = None) -> LlamaModel:
        return choice.open(
            threads=threads,
            context_tokens=context_tokens,
            kept_facts=get_facts_folder(),
            progress=run.on_progress,
        )

    with ExitStack() as stack:
        stack.enter_context(run)
        fork_block = None
        if remote is not None:
            fork_block = remote.open()
            stack.callback(fork_block.close)
        rows = _open_temporary_rows() if state_dir is None else LmdbRows(state_dir)
        stack.callback(rows.close)
        funded_accounts = {
            address: GenesisAccount(balance_wei=balance * WEI) for address in keys.addresses
        }
        beginning = NodeSetup(
            rules=rules,
            rows=rows,
            accounts=funded_accounts
            if fork_block
            else {
                **funded_accounts,
                **build_predeploys(fork),
                **({} if registries is None else build_registries(registries)),
                **genesis.accounts,
            },
            fork_block=fork_block,
            choices=() if no_model else tuple(each.with_adapter(adapter) for each in models),
            numeric_models=open_numeric_models(numeric_files),
            open_model=open_model,
            is_own_model=is_given(context, "models") or is_given(context, "adapter"),
            open_store=lambda: stack.enter_context(open_run_store(store_path, no_store=no_store)),
            stack=stack,
        )
        with report_damage():
            node_chain = (
                beginning.open_chain() if fixture is None else beginning.open_fixture_chain(fixture)
            )
        node_chain.chain.known_contracts.watch(folders)
        running = Node(
            node_chain.chain,
            now=time.time,
            keys=keys,
            mining=mining,
            order=order,
            journal=None if state_dir is None else Journal(rows),
            open_fork=ForkOpener(remote) if state_dir is None else None,
            rehearses=True,
        )
        stack.callback(running.close)
        if state is not None:
            _load(running, node_chain, state)
        node_chain = replace(node_chain, notes=(*node_chain.notes, *notes))
        if config_path is not None:
            write_config(config_path, running, mnemonic, path)
        options = ServerOptions(
            host=host,
            port=port,
            ipc_path=ipc_path,
            allowed_origins=frozenset(origins),
            allowed_hosts=frozenset(hosts),
            serves_page=not no_ui,
        )
        run.serve(
            running,
            node_chain,
            options,
            service=build_node_service(
                running,
                call_gas=call_gas,
                call_seconds=call_seconds,
                trace_pool=TracePool(trace_mebibytes * MEBIBYTE),
                tables=[ORACLE_METHODS],
            ),
            engines=beginning.engines,
            dump_path=dump_path,
        )


@contextmanager
def report_damage() -> Iterator[None]:
    """Report a damaged database of a chain that is being opened as a mistake in the options.

    Raises: ConfigError.
    """
    try:
        yield
    except UnreadableChainError as error:
        raise ConfigError(str(error)) from error


def _choose_mnemonic(mnemonic: str, random_words: str | None) -> tuple[str, ...]:
    """Return the mnemonic, or a new one and a note that has it."""
    if random_words is None:
        return (mnemonic,)
    mnemonic = generate_mnemonic(int(random_words))
    return mnemonic, f"Mnemonic: {mnemonic}"


def _open_artifacts(named: tuple[Path, ...]) -> ArtifactFolders:
    """Return the folders of compiled contracts.

    Raises: ConfigError: a named file or folder is missing, or holds no contract.
    """
    if not named:
        return ArtifactFolders(root=Path.cwd())
    folders = ArtifactFolders(named)
    folders.load()
    return folders


def _require_compatible_options(context: click.Context) -> None:
    """Check that no options exclude each other.

    Raises: click.UsageError.
    """
    names = {
        parameter.name: next(o for o in parameter.opts if o[:2] == "--")
        for parameter in context.command.params
    }
    used_names = {name for name in names if is_given(context, name)}
    for option, others in EXCLUSIVE_OPTIONS.items():
        for other in others:
            if option in used_names and other in used_names:
                raise click.UsageError(
                    f"{names[option]} and {names[other]} exclude each other; omit one"
                )
    require_single_model(context)
    if "fixture" in used_names and len(context.params["models"]) > 1:
        raise click.UsageError("--fixture needs a single --model")
    needed = {"mixed_mining": "block_time", **dict.fromkeys(FORK_OPTIONS, "fork_url")}
    for option, other in needed.items():
        if option in used_names and other not in used_names:
            raise click.UsageError(f"{names[option]} needs {names[other]}")


def _load(running: Node, chain: NodeChain, state: object) -> None:
    """Load a dump into a chain without blocks."""
    if chain.chain.head.block_number:
        raise click.UsageError(
            f"the stored chain is at block {chain.chain.head.block_number}: a dump can only be "
            "loaded into a new chain; omit --load-state, or --state-dir"
        )
    running.submit_change(lambda: load(running, state)).result()


def _open_temporary_rows() -> LmdbRows:
    """Return a database of deleted files, which disappear with the process however it ends."""
    with tempfile.TemporaryDirectory(prefix="pyevm-agents-") as folder:
        return LmdbRows(Path(folder))

"""`pyevm-agents node`: a development node that Ethereum's tools connect to."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pyevm_agents import __version__
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.cli.node.anvil_options import NodeCommand
from pyevm_agents.cli.node.run import NodeOutput, NodeRun
from pyevm_agents.cli.options.fork import FORK_OPTIONS, add_fork_options
from pyevm_agents.cli.options.models import (
    adapter_option,
    allow_host_option,
    allow_origin_option,
    is_given,
    models_option,
    numeric_models_option,
    require_single_model,
    schedule_option,
)
from pyevm_agents.cli.store import store_option, warn_run
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
from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.local_node.config import (
    DEFAULT_BALANCE_ETHER,
    DEFAULT_PORT,
    EXCLUSIVE_FIELDS,
)
from pyevm_agents.local_node.state_file import resolve_state_path
from pyevm_agents.models.store.store import MEMORY
from pyevm_agents.node import DEFAULT_MNEMONIC, MiningMode
from pyevm_agents.node.keys import (
    DEFAULT_PATH,
    MAX_ACCOUNTS,
    MNEMONIC_LENGTHS,
    generate_mnemonic,
)
from pyevm_agents.node.txpool import ORDERS
from pyevm_agents.rpc.call_watcher import DEFAULT_SECONDS
from pyevm_agents.tracing.budget import DEFAULT_POOL_BYTES

if TYPE_CHECKING:
    from pyevm_agents.forking.options import ForkOptions
    from pyevm_agents.model_registry.registry import ModelChoice

MEBIBYTE = 2**20
DEFAULT_IPC_PATH = "/tmp/anvil.ipc"  # noqa: S108 - anvil's own; only its owner can open it
MAX_BALANCE_ETHER = 10**12
MAX_GAS_LIMIT = 10**15
MAX_BASE_FEE_WEI = 10**18
MAX_TIMESTAMP_SECONDS = 10**12
UNLIMITED_BLOCK_GAS = 10**12
"""Block gas limit of --disable-block-gas-limit: 3,000 ether at twice the first base fee and the
default tip, which an account has. A send without gas that can't be estimated gets this much."""

EXCLUSIVE_OPTIONS = {
    "no_store": ("store_path",),
    "no_mining": ("block_time", "mixed_mining"),
    "quiet": ("json_logs", "print_traces"),
    "state_path": ("load_path", "dump_path"),
    "random_words": ("mnemonic",),
    "unlimited_code": ("code_size_bytes",),
    "unlimited_gas": ("gas_limit",),
    "fork_timeout": ("timeout_milliseconds",),
    "no_model": ("models", "adapter", "threads", "schedule"),
    "fixture": (
        *EXCLUSIVE_FIELDS["fixture"],
        "numeric_files",
        "unlimited_code",
        "unlimited_gas",
        "state_path",
        "no_create2_deployer",
    ),
    "fork_url": EXCLUSIVE_FIELDS["live_chain"],
}
"""Options that exclude each other. A fixture, or a fork's block, defines parameters itself."""

FIELDS = {"numeric_files": "numeric_models", "origins": "allowed_origins", "hosts": "allowed_hosts"}
"""Fields of `NodeConfig` by parameters of other names."""

FLAG_VALUES: dict[str, tuple[str, object]] = {
    "no_model": ("models", ()),
    "unlimited_code": ("code_size_bytes", MAX_CODE_SIZE_BYTES),
    "unlimited_gas": ("gas_limit", UNLIMITED_BLOCK_GAS),
    "no_create2_deployer": ("has_create2_deployer", False),
    "no_store": ("store_path", MEMORY),
    "no_ui": ("serves_page", False),
}
"""Fields of `NodeConfig`, and their values, by flags of other names."""

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


@click.command(cls=NodeCommand, epilog=EXAMPLES)
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
    "--derivation-path", default=DEFAULT_PATH, show_default=True, metavar="PATH",
    help="Derivation path of the accounts, without the index.",
)  # fmt: skip
@click.option(
    "--balance", "balance_ether", type=click.IntRange(0, MAX_BALANCE_ETHER),
    default=DEFAULT_BALANCE_ETHER, show_default=True, metavar="ETHER",
    help="Balance of each account.",
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
@click.option(
    "--auto-impersonate",
    "--auto-unlock",
    "impersonates_all",
    is_flag=True,
    help="Send from any address without its key.",
)
@click.option(
    "--throw-on-failure", "throws_on_failure", is_flag=True,
    help="Answer a send with an error if its transaction fails in its block, as Hardhat's network "
    "does.",
)  # fmt: skip
@click.option(
    "--gas-limit", "--block-gas-limit", "gas_limit",
    type=click.IntRange(MIN_BLOCK_GAS_LIMIT, MAX_GAS_LIMIT),
    default=DEFAULT_BLOCK_GAS_LIMIT, show_default=True, help="Gas limit of a block.",
)  # fmt: skip
@click.option(
    "--disable-block-gas-limit", "unlimited_gas", is_flag=True,
    help=f"The same as --gas-limit {UNLIMITED_BLOCK_GAS}.",
)  # fmt: skip
@click.option(
    "--code-size-limit", "code_size_bytes", default=DEFAULT_CODE_SIZE_BYTES, show_default=True,
    type=click.IntRange(DEFAULT_CODE_SIZE_BYTES, MAX_CODE_SIZE_BYTES), metavar="BYTES",
    help="Size limit of a contract's code; initcode may have twice as much.",
)  # fmt: skip
@click.option(
    "--disable-code-size-limit", "unlimited_code", is_flag=True,
    help=f"The same as --code-size-limit {MAX_CODE_SIZE_BYTES}.",
)  # fmt: skip
@click.option(
    "--base-fee", "--block-base-fee-per-gas", "base_fee_wei",
    type=click.IntRange(0, MAX_BASE_FEE_WEI), default=DEFAULT_BASE_FEE_WEI, show_default=True,
    metavar="WEI", help="Base fee of the first block.",
)  # fmt: skip
@click.option(
    "--timestamp",
    "timestamp_seconds",
    type=click.IntRange(0, MAX_TIMESTAMP_SECONDS),
    metavar="SECONDS",
    help="Timestamp of genesis.  [default: now]",
)
@click.option(
    "--fork-name", "--hardfork", "fork_name", default=DEFAULT_FORK, show_default=True,
    type=click.Choice((*FORKS, "latest"), case_sensitive=False),
    callback=lambda _context, _option, name: DEFAULT_FORK if name == "latest" else name,
    help="Fork of Ethereum whose rules apply.",
)  # fmt: skip
@click.option(
    "--init", "genesis", type=click.Path(path_type=Path), metavar="FILE",
    help="Genesis file in geth's format: chain ID, timestamp, gas limit, base fee, accounts. "
    "Options override it.",
)  # fmt: skip
@click.option(
    "--disable-default-create2-deployer", "--no-create2", "no_create2_deployer", is_flag=True,
    help="Start without the CREATE2 deployer at 0x4e59…956C.",
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
    "--fixture", metavar="NAME",
    help="Start with a recorded chain: a bundled one, such as wallet_agent or nested, or a file. "
    "Recorded generations are replayed; the model computes others.",
)  # fmt: skip
@models_option
@adapter_option
@click.option("--no-model", is_flag=True, help="Run a plain chain, without the executor at 0x19.")
@numeric_models_option
@click.option(
    "-j", "--threads", "--jobs", "threads", type=click.IntRange(0, 512), metavar="N",
    help="Threads of the engine; 0 for the default.",
)  # fmt: skip
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
    "--print-traces", "--enable-trace-printing", "print_traces", is_flag=True,
    help="Print the calls, events and agent steps of each mined transaction.",
)  # fmt: skip
@click.option("-q", "--quiet", "--silent", "quiet", is_flag=True, help="Print only errors.")
@click.option(
    "--json-logs", "--json", "json_logs", is_flag=True, help="Log in JSON, one object per line."
)
@click.option("-n", "--network", type=click.Choice(["ethereum"]), hidden=True, expose_value=False)
@click.version_option(__version__, "-V", "--version", prog_name="pyevm-agents")
@click.pass_context
def node(  # noqa: PLR0913 - those of the output, by name
    context: click.Context,
    /,
    *,
    remote: ForkOptions | None,
    random_words: str | None,
    print_traces: bool,
    quiet: bool,
    json_logs: bool,
    **_options: object,
) -> None:
    """Run a development node with the executor of agents at 0x19.

    Serves HTTP and WebSocket on one port. Port, chain ID, accounts and keys are anvil's: connect
    Foundry, Hardhat, ethers, viem, web3.py or a wallet to http://127.0.0.1:8545. Ctrl-C stops the
    node.
    """
    _require_compatible_options(context)
    config = build_config(context, remote)
    notes: tuple[str, ...] = ()
    if random_words is not None:
        config = replace(config, mnemonic=generate_mnemonic(int(random_words)))
        notes = (f"Mnemonic: {config.mnemonic}",)
    output = NodeOutput.from_options(is_quiet=quiet, is_json=json_logs)
    with (
        NodeRun(output, has_traces=print_traces) as run,
        open_node(config, serve=False, on_progress=run.on_progress, on_warning=warn_run) as opened,
    ):
        run.serve(opened, notes)


def build_config(context: click.Context, live_chain: ForkOptions | None) -> NodeConfig:
    """Return the config of a node from the options that the user gave."""
    given = {
        FIELDS.get(name, name): value
        for name, value in context.params.items()
        if is_given(context, name)
    }
    names = {each.name for each in dataclasses.fields(NodeConfig)}
    values: dict[str, Any] = {name: given[name] for name in names & given.keys()}
    models: tuple[ModelChoice, ...] = context.params["models"]
    values |= dict(FLAG_VALUES[name] for name in FLAG_VALUES.keys() & given.keys())
    if "models" in given or "adapter" in given:
        adapter = context.params["adapter"]
        values["models"] = tuple(each.with_adapter(adapter) for each in models)
    values["threads"] = values.get("threads") or None
    if (mebibytes := given.get("trace_mebibytes")) is not None:
        values["trace_bytes"] = mebibytes * MEBIBYTE
    if (state_path := given.get("state_path")) is not None:
        values["dump_path"] = state_path
        values["load_path"] = state_path if resolve_state_path(state_path).exists() else None
    block_seconds = given.get("block_time", 0.0)
    mining = MiningMode(
        is_automatic="no_mining" not in given and (not block_seconds or "mixed_mining" in given),
        interval_seconds=block_seconds,
    )
    return NodeConfig(**values, mining=mining, live_chain=live_chain)


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

"""The config of a node: one field for each option of `pyevm-agents node`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES
from pyevm_agents.config import DEFAULT_CODE_SIZE_BYTES, FORKS
from pyevm_agents.errors import ConfigError
from pyevm_agents.node import DEFAULT_MNEMONIC, MiningMode
from pyevm_agents.node.keys import DEFAULT_PATH
from pyevm_agents.node.txpool import ORDERS
from pyevm_agents.rpc.call_watcher import DEFAULT_SECONDS
from pyevm_agents.tracing.budget import DEFAULT_POOL_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path
    from typing import TypeAlias

    from precompiles.language_model import LanguageModel
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.forking.options import ForkOptions
    from pyevm_agents.local_node.genesis_file import GenesisFile
    from pyevm_agents.model_registry.registry import ModelChoice
    from pyevm_agents.models.numeric.catalogue import NamedModels
    from pyevm_agents.recordings import Fixture

    NodeModel: TypeAlias = ModelChoice | LanguageModel | Path | str

DEFAULT_PORT = 8_545
DEFAULT_BALANCE_ETHER = 10_000
DERIVATION_PATH = re.compile(r"m(?:/[0-9]{1,9}'?)*/?")

EXCLUSIVE_FIELDS = {
    "fixture": (
        *("chain_id", "gas_limit", "base_fee_wei", "timestamp_seconds", "fork_name", "schedule"),
        *("genesis", "code_size_bytes", "numeric_models", "load_path", "registries"),
    ),
    "live_chain": ("fixture", "genesis", "timestamp_seconds", "registries"),
}
"""Fields that exclude each other: a fixture, or a fork's block, defines parameters itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """A node's chain, models, accounts and server. The defaults are those of `pyevm-agents node`.

    Raises: ConfigError: a value is invalid, or two fields exclude each other.
    """

    host: str = "127.0.0.1"
    """Address or host name of the server."""

    port: int = DEFAULT_PORT
    """Port of HTTP and WebSocket; 0 for any free port."""

    ipc_path: Path | None = None
    """Path of a Unix socket to serve on as well; None for none."""

    allowed_origins: Collection[str] = ()
    """Origins of web pages that may send requests; `*` for all."""

    allowed_hosts: Collection[str] = ()
    """Accepted `Host` names besides loopback; `*` for all."""

    serves_page: bool = True
    """Whether browsers get the page."""

    accounts: int = 10
    """Number of funded accounts."""

    mnemonic: str = DEFAULT_MNEMONIC
    """BIP-39 mnemonic of the accounts."""

    derivation_path: str = DEFAULT_PATH
    """Derivation path of the accounts, without the index."""

    balance_ether: int = DEFAULT_BALANCE_ETHER
    """Balance of each account."""

    impersonates_all: bool = False
    """Whether the node sends from any address without a key."""

    mining: MiningMode = field(default_factory=MiningMode)
    """When blocks are made; by default one for each transaction."""

    order: str = ORDERS[0]
    """Order of the transactions in a block, one of `pyevm_agents.node.txpool.ORDERS`."""

    throws_on_failure: bool = False
    """Whether a send whose transaction fails in its block is an error, as in Hardhat's network."""

    chain_id: int | None = None
    """Chain ID; None for that of `genesis` or `live_chain`, or 31,337."""

    gas_limit: int | None = None
    """Gas limit of a block; None for that of `genesis`, or 30,000,000. A fork's block has at least
    as much as the live chain's."""

    base_fee_wei: int | None = None
    """Base fee of the first block, on a fork of the first one after it; None for that of `genesis`,
    or 1,000,000,000."""

    timestamp_seconds: int | None = None
    """Timestamp of genesis; None for that of `genesis`, or the present time."""

    fork_name: str | None = None
    """Fork of Ethereum whose rules apply; None for Prague, or that of the live chain's block."""

    code_size_bytes: int = DEFAULT_CODE_SIZE_BYTES
    """Size limit of a contract's code."""

    has_create2_deployer: bool = True
    """Whether genesis has the CREATE2 deployer of public networks, as anvil's has."""

    genesis: GenesisFile | Path | None = None
    """Genesis file in geth's format. Other fields override the file's values."""

    registries: str | None = None
    """Network whose addresses ERC-8004's registries have: `testnet` or `mainnet`; None for none."""

    live_chain: ForkOptions | str | None = None
    """A live chain to continue: `URL` or `URL@BLOCK` of a node."""

    fixture: Fixture | Path | str | None = None
    """A recorded chain to start with: a bundled one's name, or a file."""

    models: Sequence[NodeModel] | None = None
    """Models of the executor at 0x19: names of `pyevm-agents model list`, GGUF files, or open
    models such as a `ScriptedModel`, which the caller closes. None for the default model, empty for
    a plain chain."""

    numeric_models: NamedModels = ()
    """Models at 0x1a: files or `NumericFile`s by name, or names of shipped models."""

    threads: int | None = None
    """Threads of the engine; None for a default of the machine."""

    schedule: ScheduleFile | Path | None = None
    """Gas prices of inference; None for those of a kept chain, or the defaults."""

    store_path: Path | str | None = None
    """File of the generation store; None for the user's own, `:memory:` for none on disk."""

    state_dir: Path | None = None
    """Folder that keeps the chain; None for a chain that ends with the node."""

    load_path: Path | None = None
    """Dump of accounts to load, of this program or anvil."""

    dump_path: Path | None = None
    """File to which all accounts are dumped when the node is closed."""

    config_path: Path | None = None
    """File for the accounts, their keys and the chain's parameters, in anvil's format."""

    call_gas: int | None = None
    """Most gas of a call, an estimate or a traced call; None for the block gas limit, or
    50,000,000 if that is more."""

    call_seconds: float = DEFAULT_SECONDS
    """Time limit of a call, an estimate or a trace."""

    trace_bytes: int = DEFAULT_POOL_BYTES
    """Memory that the traces of all requests may hold together."""

    artifacts: Sequence[Path] | None = None
    """Files and folders of compiled contracts; None for out/ and artifacts/ in the working
    folder."""

    def __post_init__(self) -> None:
        """Validate the fields that no later step checks."""
        given = {one.name for one in fields(self) if self._is_given(one.name)}
        for name, others in EXCLUSIVE_FIELDS.items():
            for other in others:
                if name in given and other in given:
                    raise ConfigError(f"{name} and {other} exclude each other; omit one")
        if self.fixture is not None and len(self.models or ()) > 1:
            raise ConfigError(f"{len(self.models or ())} models: must be one with a fixture")
        _require_choice("fork", self.fork_name, FORKS)
        _require_choice("order", self.order, ORDERS)
        _require_choice("registries", self.registries, REGISTRY_ADDRESSES)
        if not DERIVATION_PATH.fullmatch(self.derivation_path):
            raise ConfigError(
                f"derivation path {self.derivation_path!r}: must be a BIP-32 path, such as "
                f"{DEFAULT_PATH}"
            )

    def _is_given(self, name: str) -> bool:
        """Return whether a field differs from the default, which is empty where None is."""
        default = DEFAULT_CODE_SIZE_BYTES if name == "code_size_bytes" else None
        value = getattr(self, name)
        return value != default and value not in ((), {})


def _require_choice(what: str, value: str | None, choices: Collection[str]) -> None:
    if value is not None and value not in choices:
        known = ", ".join(map(repr, choices))
        raise ConfigError(f"{what} {value!r}: must be one of {known}")

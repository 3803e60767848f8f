"""Set-up of a fork: the fork block's header, and the accounts that differ from the start.

The first local block has the chain config's digest in `extraData`, like the genesis of other
chains.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eth.db.atomic import AtomicDB
from eth.db.header import HeaderDB
from eth.vm.chain_context import ChainContext

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.chain.bootstrap import require_config, require_supported
from pyevm_agents.chain.database import CONFIG_KEY, FORK_STATE_KEY, HEAD_STATE_KEY
from pyevm_agents.chain.genesis import list_precompile_codes
from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT, DEFAULT_FORK, ChainConfig
from pyevm_agents.errors import ConfigError
from pyevm_agents.state import write_origin

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from eth.abc import BlockHeaderAPI, StateAPI
    from eth_typing import Address

    from pyevm_agents.chain.database import Database
    from pyevm_agents.chain.genesis import GenesisAccount
    from pyevm_agents.config import ChainConfig, ForkOrigin
    from pyevm_agents.vm import AgentMiningChain, ForkBlock

ACTIVATIONS_SECONDS: Mapping[int, Mapping[str, int]] = {
    1: {
        "prague": 1_746_612_311,
        "osaka": 1_764_798_551,
        "bpo1": 1_765_290_071,
        "bpo2": 1_767_747_671,
    },
    17_000: {
        "prague": 1_740_434_112,
        "osaka": 1_759_308_480,
        "bpo1": 1_759_800_000,
        "bpo2": 1_760_389_824,
    },
    560_048: {
        "prague": 1_742_999_832,
        "osaka": 1_761_677_592,
        "bpo1": 1_762_365_720,
        "bpo2": 1_762_955_544,
    },
    11_155_111: {
        "prague": 1_741_159_776,
        "osaka": 1_760_427_360,
        "bpo1": 1_761_017_184,
        "bpo2": 1_761_607_008,
    },
}
"""Activations of hard forks in Unix seconds, by chain ID: mainnet, Holesky, Hoodi, Sepolia.

Source: EIP-7600, EIP-7607, EIP-7892."""


def choose_hardfork(origin: ForkOrigin, header: BlockHeaderAPI) -> str:
    """Return the hard fork of the blocks after a fork block: the one that is active at that time.

    Before Prague: Cancun, the earliest one with agents. On chains with unknown activations: the
    default.
    """
    activations = ACTIVATIONS_SECONDS.get(origin.chain_id)
    if activations is None:
        return DEFAULT_FORK
    active = [name for name, seconds in activations.items() if seconds <= header.timestamp]
    return active[-1] if active else "cancun"


def setup_fork(
    db: Database,
    chain_class: type[AgentMiningChain],
    config: ChainConfig,
    fork_block: ForkBlock,
    accounts: Mapping[Address, GenesisAccount],
) -> None:
    """Write a fork block into an empty database; otherwise verify the same fork.

    An account keeps the nonce, code and slots of the remote chain where `accounts` has none.

    Input:
        db: the chain's database.
        chain_class: py-evm's chain class for the config.
        config: the chain config.
        fork_block: the block that the chain continues.
        accounts: accounts that differ from the start, with the precompiles'.

    Raises: ConfigError: the database holds another chain; or the remote chain has code at a
            precompile's address. RemoteFault: the remote chain did not answer.
    """
    require_supported(config, fork_block.origin)
    is_stored = db.exists(CONFIG_KEY)
    if is_stored:
        require_config(db, config)
    else:
        for address, code in list_precompile_codes(config).items():
            _require_free_address(fork_block, address, code)
    root = _write_base_state(db, chain_class, config, fork_block, accounts)
    if is_stored:
        db.discard()
        _require_same_start(db[FORK_STATE_KEY], root)
        return
    _write_header(db, fork_block.header)
    db[FORK_STATE_KEY] = db[HEAD_STATE_KEY] = root
    db[CONFIG_KEY] = config.to_json().encode()
    db.commit()


def _write_header(db: Database, header: BlockHeaderAPI) -> None:
    """Buffer a fork block's header as the head, without ancestors."""
    headers = HeaderDB(AtomicDB(db))
    if header.block_number:
        headers.persist_checkpoint_header(header, score=0)
    else:
        headers.persist_header(header)


def _require_free_address(fork_block: ForkBlock, address: Address, code: bytes) -> None:
    """Reject a remote chain that uses a precompile's address for other code.

    Any account may send ether there, and live chains have some at low addresses: that ether stays.
    """
    remote = fork_block.state.get_account(address)
    if remote is not None and remote.code not in {b"", code}:
        origin = fork_block.origin
        owner = "executor's" if address == EXECUTOR_ADDRESS else "numeric models'"
        raise ConfigError(
            f"the {owner} address 0x{address.hex()} has {len(remote.code)} bytes of "
            f"code at block {origin.block_number} of chain {origin.chain_id}: must have none; fork "
            "an earlier block or another chain, or start without models"
        )


def _write_base_state(
    db: Database,
    chain_class: type[AgentMiningChain],
    config: ChainConfig,
    fork_block: ForkBlock,
    accounts: Mapping[Address, GenesisAccount],
) -> bytes:
    """Buffer the state that the fork starts from; return the root."""
    root = write_origin(db, fork_block.origin.block_hash)
    vm_class: Any = chain_class.vm_configuration[0][1]
    header = vm_class.complete_header(fork_block.header).copy(state_root=root)
    state = vm_class.build_state(AtomicDB(db), header, ChainContext(config.chain_id), ())
    precompiles = {EXECUTOR_ADDRESS, *list_precompile_codes(config)}
    for address, account in accounts.items():
        _set_account(state, address, account, precompiles)
    state.persist()
    return bytes(state.state_root)


def _set_account(
    state: StateAPI, address: Address, account: GenesisAccount, precompiles: Container[Address]
) -> None:
    if address not in precompiles:  # They keep the ether that they have.
        state.set_balance(address, account.balance_wei)
    if account.nonce:
        state.set_nonce(address, account.nonce)
    if account.code:
        state.set_code(address, account.code)
    for slot, value in account.storage.items():
        state.set_storage(address, slot, value)


def _require_same_start(stored: bytes, root: bytes) -> None:
    if stored != root:
        raise ConfigError(
            f"the fork stored there starts from state 0x{stored.hex()}, and these accounts give "
            f"0x{root.hex()}; start it with the accounts that it was created with (a node's follow "
            "from --accounts, --balance and --mnemonic), or store a new chain elsewhere"
        )


def build_fork_config(
    hosted: ChainConfig, block: ForkBlock, *, hardfork: str | None = None
) -> ChainConfig:
    """Return the config of a fork: the remote chain's, with the models of `hosted`."""
    origin, header = block.origin, block.header
    return replace(
        hosted,
        chain_id=origin.chain_id,
        block_gas_limit=max(DEFAULT_BLOCK_GAS_LIMIT, header.gas_limit),
        genesis_timestamp_seconds=header.timestamp,
        fork=choose_hardfork(origin, header) if hardfork is None else hardfork,
        origin=origin,
    )

"""Set-up of a fork: the fork block's header, and the accounts that differ from the start.

The first local block has the chain config's digest in its `extraData`, as genesis has on a chain of
its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.db.atomic import AtomicDB
from eth.db.header import HeaderDB
from eth.vm.chain_context import ChainContext

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.chain.bootstrap import require_config, require_supported
from pyevm_agents.chain.database import CONFIG_KEY, FORK_STATE_KEY, HEAD_STATE_KEY
from pyevm_agents.errors import ConfigError
from pyevm_agents.state import write_origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import BlockHeaderAPI, StateAPI
    from eth_typing import Address

    from pyevm_agents.chain.database import Database
    from pyevm_agents.chain.genesis import GenesisAccount
    from pyevm_agents.config import ChainConfig, ForkOrigin
    from pyevm_agents.vm import AgentMiningChain, ForkBlock

OSAKA_SECONDS = {
    1: 1_764_798_551,
    17_000: 1_759_308_480,
    560_048: 1_761_677_592,
    11_155_111: 1_760_427_360,
}
"""Osaka's activation in Unix seconds, by chain ID. Source: EIP-7607."""


def require_known_hardfork(origin: ForkOrigin, header: BlockHeaderAPI) -> None:
    """Reject a fork block under rules that this version does not implement.

    A caller that was given a hardfork by the user does not call this.

    Input:
        origin: of the fork.
        header: of the fork block.

    Raises: ConfigError: the block is at or after Osaka's activation on its chain.
    """
    activation = OSAKA_SECONDS.get(origin.chain_id)
    if activation is not None and header.timestamp >= activation:
        raise ConfigError(
            f"block {origin.block_number} of chain {origin.chain_id}: its rules are Osaka's or "
            "later, which this version does not implement; fork an earlier block, or choose the "
            "rules of local blocks: --hardfork prague"
        )


def setup_fork(
    db: Database,
    chain_class: type[AgentMiningChain],
    config: ChainConfig,
    fork_block: ForkBlock,
    accounts: Mapping[Address, GenesisAccount],
) -> None:
    """Write a fork block into an empty database; otherwise verify that it is the same fork.

    An account keeps the nonce, code and slots of the remote chain where `accounts` has none.

    Input:
        db: the chain's database.
        chain_class: py-evm's chain class for the config.
        config: the chain config.
        fork_block: the block that the chain continues.
        accounts: accounts that differ from the start, with the executor's.

    Raises: ConfigError: the database holds another chain; or the remote chain has an account at the
            executor's address. RemoteFault: the remote chain did not answer.
    """
    require_supported(config, fork_block.origin)
    is_stored = db.exists(CONFIG_KEY)
    if is_stored:
        require_config(db, config)
    elif config.models:
        _require_free_executor_address(fork_block)
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
    """Buffer a fork block's header as the head, without its ancestors."""
    headers = HeaderDB(AtomicDB(db))
    if header.block_number:
        headers.persist_checkpoint_header(header, score=0)
    else:
        headers.persist_header(header)


def _require_free_executor_address(fork_block: ForkBlock) -> None:
    remote = fork_block.state.get_account(EXECUTOR_ADDRESS)
    if remote is not None:
        origin = fork_block.origin
        raise ConfigError(
            f"the executor's address 0x{EXECUTOR_ADDRESS.hex()} has {len(remote.code)} bytes of "
            f"code and {remote.balance_wei} wei at block {origin.block_number} of chain "
            f"{origin.chain_id}: must be empty; fork an earlier block or another chain, or start "
            "without models"
        )


def _write_base_state(
    db: Database,
    chain_class: type[AgentMiningChain],
    config: ChainConfig,
    fork_block: ForkBlock,
    accounts: Mapping[Address, GenesisAccount],
) -> bytes:
    """Buffer the state that the fork starts from; return its root."""
    root = write_origin(db, fork_block.origin.block_hash)
    vm_class: Any = chain_class.vm_configuration[0][1]
    header = vm_class.complete_header(fork_block.header).copy(state_root=root)
    state = vm_class.build_state(AtomicDB(db), header, ChainContext(config.chain_id), ())
    for address, account in accounts.items():
        _set_account(state, address, account)
    state.persist()
    return bytes(state.state_root)


def _set_account(state: StateAPI, address: Address, account: GenesisAccount) -> None:
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

"""Recording of one mined block, as the first one of a fork of the same chain.

The fixture has the state that the block reads, of any origin: many blocks, or accounts that were
set without a transaction. The block is mined again on that state: the block hash differs, those of
the transactions stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyevm_agents.chain import BlockSettings, Chain
from pyevm_agents.chain.database import generations_key
from pyevm_agents.chain.inference_log import ReplayModel, decode_generations
from pyevm_agents.config import ForkOrigin
from pyevm_agents.errors import FixtureError
from pyevm_agents.recordings.build import record_mined_blocks
from pyevm_agents.state import RemoteAccount

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import BlockHeaderAPI
    from eth_typing import Address

    from pyevm_agents.recordings.fixture import Fixture
    from pyevm_agents.state import RemoteState


@dataclass(frozen=True, kw_only=True)
class LocalForkBlock:
    """A block of a local chain, with the state, for `Chain(fork=…)`."""

    chain: Chain
    header: BlockHeaderAPI

    @property
    def origin(self) -> ForkOrigin:
        """The block's place."""
        return ForkOrigin(
            chain_id=self.chain.config.chain_id,
            block_number=self.header.block_number,
            block_hash=bytes(self.header.hash),
        )

    @property
    def state(self) -> RemoteState:
        """The state after the block, with accounts that were set afterwards."""
        return self

    def get_account(self, address: Address) -> RemoteAccount | None:
        """Return an account."""
        state = self.chain.state(self.header)
        if state.account_is_empty(address):
            return None
        return RemoteAccount(
            state.get_nonce(address), state.get_balance(address), state.get_code(address)
        )

    def get_slot(self, address: Address, slot: int) -> int:
        """Return the value of a slot."""
        return int(self.chain.state(self.header).get_storage(address, slot))

    def get_block_hash(self, number: int) -> bytes:
        """Return the hash of a block; one before a fork's start is the remote chain's."""
        fork = self.chain.fork_block
        if fork is not None and number < self.chain.first_number:
            return fork.state.get_block_hash(number)
        return bytes(self.chain.header(number).hash)


def record_block(
    chain: Chain,
    number: int,
    *,
    name: str,
    comment: str,
    on_end: Callable[[Chain], None] | None = None,
) -> Fixture:
    """Record a mined block on the state read by the block, with the stored generations.

    Input: on_end: called with a copy of the chain whose head is the block; reads of the callback
        are in the fixture, too.

    Raises:
        FixtureError: the block has other results on that state, or a transaction without a
            signature.
        HeaderNotFound: the block was removed.
        BlockError, RuleError: the block breaks a rule of the parent.
    """
    record = chain.block_with_receipts(chain.header(number))
    header = record.block.header
    fork_block = LocalForkBlock(chain=chain, header=chain.header(number - 1))
    row = chain.rows.get(generations_key(header.hash))
    entries = iter(()) if row is None else decode_generations(row)
    twin = Chain(
        replace(chain.config, origin=fork_block.origin),
        {name: ReplayModel(model, entries) for name, model in chain.models.items()},
        numeric_models=chain.numeric_models,
        fork=fork_block,
    )
    mined = twin.mine(
        record.block.transactions,
        settings=BlockSettings(
            timestamp_seconds=header.timestamp,
            coinbase=header.coinbase,
            gas_limit=header.gas_limit,
            base_fee_wei=header.base_fee_per_gas,
            prev_randao=header.mix_hash,
            parent_beacon_root=header.parent_beacon_block_root,
        ),
    )
    if mined.block.header.receipt_root != header.receipt_root:
        raise FixtureError(f"block {number} has other results on the state before it")
    return record_mined_blocks(twin, number, name=name, comment=comment, on_end=on_end)

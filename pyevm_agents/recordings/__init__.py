"""Chain fixtures: recorded chains with configuration, genesis, blocks, generations and state.

    fixture = read_fixture(Path("chain_fixtures/wallet.json"))
    chain = open_chain(fixture)                      # at its head; replays recorded generations
    chain = open_chain(fixture, {name: model})       # a model for requests that are not recorded

A fixture of a fork has the fork block's header and the remote state that its blocks read, in place
of genesis: it replays without the remote chain.

The format is close to the BlockchainTests of ethereum/tests. Every item has a digest, so that an
altered byte is detected and located; every result is computed again on replay.

Source: docs/architecture.md#one-recording-format
"""

from pyevm_agents.recordings.block_record import record_block
from pyevm_agents.recordings.build import (
    mine_again,
    open_chain,
    record_chain,
    record_mined_blocks,
    record_state,
)
from pyevm_agents.recordings.codec import read_fixture, write_fixture
from pyevm_agents.recordings.comparison import MismatchError
from pyevm_agents.recordings.fixture import (
    Fixture,
    RecordedBlock,
    RecordedStep,
    RecordedTransaction,
)
from pyevm_agents.recordings.replay import Replay, ReplayedBlock

__all__ = [
    "Fixture",
    "MismatchError",
    "RecordedBlock",
    "RecordedStep",
    "RecordedTransaction",
    "Replay",
    "ReplayedBlock",
    "mine_again",
    "open_chain",
    "read_fixture",
    "record_block",
    "record_chain",
    "record_mined_blocks",
    "record_state",
    "write_fixture",
]

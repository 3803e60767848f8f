"""Chains in a file: configuration, genesis, blocks, what the models said, and what comes of it.

    fixture = read_fixture(Path("chain_fixtures/wallet.json"))
    chain = open_chain(fixture)                      # at its head; says what was recorded
    chain = open_chain(fixture, {name: model})       # a model answers what was not recorded

Close to the BlockchainTests of ethereum/tests. Every item has a digest, so an altered byte is
found and named; every result is computed again, so a wrong one is found as well.
"""

from pyevm_agents.recordings.build import mine_again, open_chain, record_chain, record_state
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
    "record_chain",
    "record_state",
    "write_fixture",
]

"""One chain, in three layers of classes.

* reader.py: blocks, receipts and states
* simulator.py: calls, gas estimates and replays of past transactions, without changes
* chain.py: genesis, mining, imports, rollbacks

draft_block.py builds blocks that are never added, such as the pending block.
"""

from pyevm_agents.chain.bootstrap import read_chain_config
from pyevm_agents.chain.calls import AccountOverride, Call, CallResult
from pyevm_agents.chain.chain import Chain
from pyevm_agents.chain.draft_block import DraftBlock, DraftChain, ModelNeededError
from pyevm_agents.chain.generation_notes import GenerationNotes
from pyevm_agents.chain.genesis import ForeignRules, GenesisAccount
from pyevm_agents.chain.records import BlockRecord, BlockSettings, MinedBlock
from pyevm_agents.chain.simulator import ChainSimulator

__all__ = [
    "AccountOverride",
    "BlockRecord",
    "BlockSettings",
    "Call",
    "CallResult",
    "Chain",
    "ChainSimulator",
    "DraftBlock",
    "DraftChain",
    "ForeignRules",
    "GenerationNotes",
    "GenesisAccount",
    "MinedBlock",
    "ModelNeededError",
    "read_chain_config",
]

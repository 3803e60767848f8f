"""One chain, in three steps that each know the one before.

* reader.py: blocks, receipts and states as they are
* simulator.py: calls, estimates and replays of past transactions, without changing anything
* chain.py: what changes it: genesis, mining, imports, rollbacks

draft_block.py is the chain behind a block that is built and thrown away.
"""

from pyevm_agents.chain.bootstrap import read_chain_config
from pyevm_agents.chain.calls import AccountOverride, Call, CallResult
from pyevm_agents.chain.chain import Chain
from pyevm_agents.chain.draft_block import DraftBlock, DraftChain, ModelNeededError
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
    "GenesisAccount",
    "MinedBlock",
    "ModelNeededError",
    "read_chain_config",
]

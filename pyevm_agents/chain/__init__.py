"""One chain, in three steps that each know the one before.

* reading: what it is: blocks, receipts, states
* trying: what would be: calls, estimates, past transactions once more
* chain: what changes it: genesis, blocks, going back

draft_block.py is what it would be behind a block that is only looked at.
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

"""One chain, in three steps that each know the one before.

* reading: what it is: blocks, receipts, states
* trying: what would be: calls, estimates, past transactions once more
* chain: what changes it: genesis, blocks, going back

draft_block.py is what it would be behind a block that is only looked at.
"""

from pyevm_agents.chain.bootstrap import kept_config
from pyevm_agents.chain.calls import AccountOverride, Call, CallResult
from pyevm_agents.chain.chain import Chain
from pyevm_agents.chain.draft_block import Draft, DraftedChain, ModelNeededError
from pyevm_agents.chain.genesis import ForeignRules, GenesisAccount
from pyevm_agents.chain.records import BlockSettings, MinedBlock, Record
from pyevm_agents.chain.simulator import ChainTrials

__all__ = [
    "AccountOverride",
    "BlockSettings",
    "Call",
    "CallResult",
    "Chain",
    "ChainTrials",
    "Draft",
    "DraftedChain",
    "ForeignRules",
    "GenesisAccount",
    "MinedBlock",
    "ModelNeededError",
    "Record",
    "kept_config",
]

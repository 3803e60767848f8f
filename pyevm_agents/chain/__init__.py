"""One chain, in three steps that each know the one before.

* reading: what it is: blocks, receipts, states
* trying: what would be: calls, estimates, past transactions once more
* chain: what changes it: genesis, blocks, going back

drafting.py is what it would be behind a block that is only looked at.
"""

from pyevm_agents.calls import AccountOverride, Call, CallResult
from pyevm_agents.chain.chain import Chain
from pyevm_agents.chain.drafting import Draft, DraftedChain, ModelNeededError
from pyevm_agents.chain.opening import kept_config
from pyevm_agents.chain.records import BlockSettings, MinedBlock, Record
from pyevm_agents.chain.trying import ChainTrials
from pyevm_agents.genesis import ForeignRules, GenesisAccount

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

"""Families of tools, hand-written."""

from training.kinds.contracts import CONTRACTS
from training.kinds.defi import DEFI
from training.kinds.governance import GOVERNANCE
from training.kinds.held_out import HELD_OUT
from training.kinds.identity import IDENTITY
from training.kinds.idle import IDLE

SEEN = (*DEFI, *GOVERNANCE, *IDENTITY, *CONTRACTS)

__all__ = ["HELD_OUT", "IDLE", "SEEN"]

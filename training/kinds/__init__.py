"""Families of tools: hand-written in Python, and from the files in `families/`."""

from training.kinds import held_out as _held_out
from training.kinds.contracts import CONTRACTS
from training.kinds.defi import DEFI
from training.kinds.families import read_families
from training.kinds.governance import GOVERNANCE
from training.kinds.identity import IDENTITY
from training.kinds.idle import IDLE

_FAMILIES = read_families()

SEEN = (
    *DEFI,
    *GOVERNANCE,
    *IDENTITY,
    *CONTRACTS,
    *(kind for kind in _FAMILIES if not kind.is_held_out),
)
"""Families that training uses, without their held-out wordings."""

HELD_OUT = (*_held_out.HELD_OUT, *(kind for kind in _FAMILIES if kind.is_held_out))
"""Families for measuring only."""

__all__ = ["HELD_OUT", "IDLE", "SEEN"]

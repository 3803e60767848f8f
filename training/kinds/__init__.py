"""Families of tools: hand-written in Python, and from the files in `families/`."""

from training.kinds import held_out as _held_out
from training.kinds.contracts import CONTRACTS
from training.kinds.defi import DEFI
from training.kinds.families import is_for_calibration, read_families
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

_NEVER_TRAINED = tuple(kind for kind in _FAMILIES if kind.is_held_out)
CALIBRATION = tuple(kind for kind in _NEVER_TRAINED if is_for_calibration(kind.name))
"""Families on which the gate is calibrated."""

HELD_OUT = (
    *_held_out.HELD_OUT,
    *(kind for kind in _NEVER_TRAINED if not is_for_calibration(kind.name)),
)
"""Families for measuring only."""

__all__ = ["CALIBRATION", "HELD_OUT", "IDLE", "SEEN"]

"""The root of this package's exceptions, and those of chains, files and engines.

    AgentsError
    ├── ConfigError          what was asked for can't be: an option, a file, a build (a ValueError)
    ├── BlockError           a block is none, or its transactions give other results than it says
    ├── FixtureError         a fixture was altered, or a chain does not do what its fixture says
    └── EngineFault          the host failed while it worked; no block ever holds it
        ├── GrammarError     a grammar does not compile, or llguidance gave it up
        ├── ScriptError      a script ended, or says what the grammar does not admit
        └── RecordError      a recorded model was asked what nobody recorded

Errors of one layer are with it, under this root: `node/errors.py`, `rpc/errors.py`,
`testing/deployment.py`.

None of them is an `eth.exceptions.VMError`: they leave py-evm uncaught (architecture, decision 10).
Each message says what happened, the value, and what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from precompiles.language_model import Segment


class AgentsError(Exception):
    """Root of the tree: catch it to catch everything this package raises on purpose."""


class ConfigError(AgentsError, ValueError):
    """What was asked for can't be done as asked; the message says what can."""


class BlockError(AgentsError):
    """A block that is none, or whose transactions give other results than its header says."""


class FixtureError(AgentsError):
    """A fixture that was altered, or whose blocks do not do what it says."""


class EngineFault(AgentsError):  # noqa: N818 - architecture, decision 10: faults are no errors
    """The host failed while it worked: a model died or computed nonsense, or a disk is full."""


class GrammarError(EngineFault):
    """A grammar that llguidance does not compile, or can't follow within its limits."""


class ScriptError(EngineFault):
    """A script that is used up, or whose text the grammar of the prompt does not admit."""


class RecordError(EngineFault):
    """A recorded model was asked for what its record does not hold."""

    def __init__(self, message: str, segments: tuple[Segment, ...] | None = None) -> None:
        """Say what was asked for; `segments` is the prompt, where that itself is unknown."""
        super().__init__(message)
        self.segments = segments

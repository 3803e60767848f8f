"""The exceptions of this package.

    AgentsError
    ├── ConfigError          invalid option, file or engine build (also a ValueError)
    ├── BlockError           not a block, or results differ from the header
    ├── FixtureError         an altered recording, or a chain that differs from one
    ├── NotDoneError         an agent answered that the task was not done
    └── EngineFault          a fault of the host; no block contains it
        ├── GrammarError     a grammar does not compile, or exceeds llguidance's limits
        ├── ScriptError      a script is used up, or the text is outside the grammar
        ├── RecordError      a recorded model has no generation for a prompt
        └── RemoteFault      the remote chain of a fork does not answer, or answers wrongly

Errors of one layer derive from this root and are defined there: `node/errors.py`,
`rpc/errors.py`, `testing/deployment.py`.

None is an `eth.exceptions.VMError`: all leave py-evm uncaught. Each message gives the thing, the
value, the constraint, and the next step.

Source: docs/architecture.md#four-failures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from precompiles.language_model import Segment


class AgentsError(Exception):
    """Base class of all exceptions that this package raises on purpose."""


class ConfigError(AgentsError, ValueError):
    """An invalid option, argument or file; the message gives the constraint."""


class BlockError(AgentsError):
    """Not a block, or the transactions give other results than the header states."""


class FixtureError(AgentsError):
    """A recording was altered, or the blocks give other results than recorded."""


class NotDoneError(AgentsError):
    """An agent answered that the task was not done: `precompiles.outcome.is_done`."""

    def __init__(self, message: str, answer: str) -> None:
        """Input: a message that contains the answer; the answer."""
        super().__init__(message)
        self.answer = answer


class EngineFault(AgentsError):  # noqa: N818 - a fault, one of four kinds of failure
    """The host failed: an engine died, computed non-finite logits, or a disk is full."""


class GrammarError(EngineFault):
    """A grammar does not compile, or exceeds llguidance's limits."""


class ScriptError(EngineFault):
    """A script is used up, or the text is outside the grammar of the prompt."""


class RecordError(EngineFault):
    """A recorded model has no generation for a prompt."""

    def __init__(self, message: str, segments: tuple[Segment, ...] | None = None) -> None:
        """Input: a message; the prompt's segments if the prompt is not recorded."""
        super().__init__(message)
        self.segments = segments


class RemoteFault(EngineFault):
    """The remote chain of a fork does not answer, has no state of the fork block, or lies."""


class UnrecordedFault(RemoteFault):
    """A recorded fork lacks state: there is only state that the fork's own blocks read."""

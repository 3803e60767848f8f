"""Every exception of this package, in one tree.

    AgentsError
    ├── ConfigError          what was asked for can't be: an option, a file, a build (a ValueError)
    └── EngineFault          the host failed while it worked; no block ever holds it
        ├── GrammarError     a grammar does not compile, or llguidance gave it up
        └── ScriptError      a script ended, or says what the grammar does not admit

None of them is an `eth.exceptions.VMError`: they leave py-evm uncaught (architecture, decision 10).
Each message says what happened, the value, and what to do next.
"""

from __future__ import annotations


class AgentsError(Exception):
    """Root of the tree: catch it to catch everything this package raises on purpose."""


class ConfigError(AgentsError, ValueError):
    """What was asked for can't be done as asked; the message says what can."""


class EngineFault(AgentsError):  # noqa: N818 - architecture, decision 10: faults are no errors
    """The model failed while it worked: it died, was changed, or computed nonsense."""


class GrammarError(EngineFault):
    """A grammar that llguidance does not compile, or can't follow within its limits."""


class ScriptError(EngineFault):
    """A script that is used up, or whose text the grammar of the prompt does not admit."""

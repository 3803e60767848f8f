"""What kinds of tools are made of: a tool's names, descriptions, parameters, and how people ask.

All texts are templates over slots, such as `{amount}`; `training/slots.py` says what slots there
are and fills them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from precompiles.abi import ParamType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from training.tasks import Argument

STRING, ADDRESS, BOOL, INT, UINT, ADDRESS_ARRAY, STRING_ARRAY, UINT_ARRAY = (
    ParamType.STRING,
    ParamType.ADDRESS,
    ParamType.BOOL,
    ParamType.INT,
    ParamType.UINT,
    ParamType.ADDRESS_ARRAY,
    ParamType.STRING_ARRAY,
    ParamType.UINT_ARRAY,
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool."""

    slot: str
    """What fills it."""

    param_type: ParamType
    names: tuple[str, ...]
    """Words, such as `token address`, to be written `tokenAddress` or `token_address`."""

    descriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to ask for a tool."""

    text: str
    """In lower case where it is a command that can stand after "please"; else a whole sentence,
    which ends in a stop or a question mark."""

    fixed: Mapping[str, Argument] = field(default_factory=dict)
    """Slots that these words decide: `{support: True}` of "vote for proposal {id}"."""

    @property
    def is_sentence(self) -> bool:
        """Whether it is a whole sentence."""
        return self.text[-1] in ".?!"


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A tool, in many wordings."""

    key: str
    is_action: bool
    names: tuple[str, ...]
    """Words, such as `deposit funds`; with a capital they stay as they are."""

    descriptions: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    wordings: tuple[Wording, ...]
    replies: tuple[str, ...]
    failures: tuple[str, ...] = ()
    fact: str = ""
    """The slot that a look finds out; empty for an action."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Two tools of which the second needs what the first one finds out."""

    first: str
    second: str
    text: str
    """The request. The first tool's fact fills the second one's slot of that name."""

    thoughts: tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A family of tools that an agent may have together."""

    name: str
    roles: tuple[str, ...]
    """Base prompts of agents that have them."""

    patterns: tuple[Pattern, ...]
    chains: tuple[Chain, ...] = ()
    is_held_out: bool = False


def parameter(slot: str, param_type: ParamType, names: str, *descriptions: str) -> Parameter:
    """Return a parameter; its names stand behind one another with ` / ` between."""
    return Parameter(slot, param_type, tuple(names.split(" / ")), descriptions)


def action(
    key: str,
    names: str,
    descriptions: tuple[str, ...],
    parameters: tuple[Parameter, ...],
    wordings: tuple[str | tuple[str, Mapping[str, Argument]], ...],
    *,
    replies: tuple[str, ...] = (),
    failures: tuple[str, ...] = (),
) -> Pattern:
    """Return a tool that changes something."""
    return Pattern(
        key=key,
        is_action=True,
        names=tuple(names.split(" / ")),
        descriptions=descriptions,
        parameters=parameters,
        wordings=tuple(map(_wording, wordings)),
        replies=(*replies, "Done", "OK", "Success", "ok", "Transaction sent", "true"),
        failures=(
            *failures,
            "Error: not authorized",
            "Failed: the contract is paused",
            "error: call reverted",
            "Error: limit exceeded",
            "Failed: try again later",
        ),
    )


def look(
    key: str,
    names: str,
    descriptions: tuple[str, ...],
    parameters: tuple[Parameter, ...],
    wordings: tuple[str | tuple[str, Mapping[str, Argument]], ...],
    *,
    fact: str,
    replies: tuple[str, ...],
) -> Pattern:
    """Return a tool that finds something out."""
    return Pattern(
        key=key,
        is_action=False,
        names=tuple(names.split(" / ")),
        descriptions=descriptions,
        parameters=parameters,
        wordings=tuple(map(_wording, wordings)),
        replies=replies,
        failures=("Error: not found", "Error: unavailable", "Failed: no data"),
        fact=fact,
    )


def _wording(told: str | tuple[str, Mapping[str, Argument]]) -> Wording:
    return Wording(told) if isinstance(told, str) else Wording(*told)

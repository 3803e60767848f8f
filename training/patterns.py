"""Patterns of tools: names, descriptions, parameters, and users' wordings.

All texts are templates with slots, such as `{amount}`, which `training/slots.py` lists and fills.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from precompiles.abi import ParamType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from training.tasks import Argument

    _Given: TypeAlias = "str | Wording | tuple[str, Mapping[str, Argument]]"

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

HELD_OUT_SHARE = 4
"""Every n-th wording of a tool is held out: for measuring, never for training."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool."""

    slot: str
    """Slot that fills the parameter."""

    param_type: ParamType
    names: tuple[str, ...]
    """Names in words, such as `token address`, which become `tokenAddress` or `token_address`."""

    descriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wording:
    """A way to request a tool."""

    text: str
    """A command in lower case that can follow "please", or a whole sentence that ends in a full
    stop or a question mark."""

    fixed: Mapping[str, Argument] = field(default_factory=dict)
    """Slots with fixed values: `{support: True}` in "vote for proposal {id}"."""

    kind: str = "orders"
    """Kind of wording: one of `families.WORDING_KINDS`."""

    is_held_out: bool = False
    """Whether it is for measuring only."""

    @property
    def is_sentence(self) -> bool:
        """Whether it is a whole sentence."""
        return self.text[-1] in ".?!"


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """A tool in many wordings."""

    key: str
    is_action: bool
    names: tuple[str, ...]
    """Names in words, such as `deposit funds`; words with a capital are kept."""

    descriptions: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    wordings: tuple[Wording, ...]
    replies: tuple[str, ...]
    failures: tuple[str, ...] = ()
    fact: str = ""
    """Slot of the value that a view tool returns; empty for an action."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Texts of the family's own slots."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Two tools, of which the second needs the result of the first."""

    first: str
    second: str
    text: str
    """Wordings. The first tool's fact fills the second tool's slot of that name."""

    thoughts: tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A family of tools that an agent may have together."""

    name: str
    roles: tuple[str, ...]
    """Base prompts of agents with these tools."""

    patterns: tuple[Pattern, ...]
    chains: tuple[Chain, ...] = ()
    is_held_out: bool = False
    """Whether it is for measuring only."""


def parameter(slot: str, param_type: ParamType, names: str, *descriptions: str) -> Parameter:
    """Create a parameter; its names are separated by ` / `."""
    return Parameter(slot, param_type, tuple(names.split(" / ")), descriptions)


def action(
    key: str,
    names: str,
    descriptions: tuple[str, ...],
    parameters: tuple[Parameter, ...],
    wordings: tuple[_Given, ...],
    *,
    replies: tuple[str, ...] = (),
    failures: tuple[str, ...] = (),
    values: Mapping[str, tuple[str, ...]] | None = None,
) -> Pattern:
    """Create a pattern of a tool that changes state."""
    return Pattern(
        key=key,
        is_action=True,
        names=tuple(names.split(" / ")),
        descriptions=descriptions,
        parameters=parameters,
        wordings=tuple(_wordings(wordings)),
        replies=(*replies, "Done", "OK", "Success", "ok", "Transaction sent", "true"),
        failures=(
            *failures,
            "Error: not authorized",
            "Failed: the contract is paused",
            "error: call reverted",
            "Error: limit exceeded",
            "Failed: try again later",
        ),
        values=values or {},
    )


def look(
    key: str,
    names: str,
    descriptions: tuple[str, ...],
    parameters: tuple[Parameter, ...],
    wordings: tuple[_Given, ...],
    *,
    fact: str,
    replies: tuple[str, ...],
    values: Mapping[str, tuple[str, ...]] | None = None,
) -> Pattern:
    """Create a pattern of a view tool."""
    return Pattern(
        key=key,
        is_action=False,
        names=tuple(names.split(" / ")),
        descriptions=descriptions,
        parameters=parameters,
        wordings=tuple(_wordings(wordings)),
        replies=replies,
        failures=("Error: not found", "Error: unavailable", "Failed: no data"),
        fact=fact,
        values=values or {},
    )


def _wordings(given: Iterable[_Given]) -> Iterator[Wording]:
    for index, one in enumerate(given):
        text, fixed = one if isinstance(one, tuple) else (one, {})
        if isinstance(text, Wording):
            yield text
        else:
            is_held_out = index % HELD_OUT_SHARE == HELD_OUT_SHARE - 1
            yield Wording(text, fixed, is_held_out=is_held_out)

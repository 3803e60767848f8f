r"""Steps of a script as values, and the text that a model generates for each.

use("DeployTool", thought="Deploy first.", asset=token, amount=10**18)
answer("Done.")
again(use("BalanceTool", asset=token))     # for all further requests
unchecked(" I am\\nbroken")                 # text outside the grammar, for fault injection
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from eth_utils import to_checksum_address

from precompiles.escaping import ADDRESS
from precompiles.spec import ADDRESS_BYTES
from precompiles.typed_texts import split_escapes
from pyevm_agents.display import LINE_CHARACTERS, truncate
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

Argument: TypeAlias = "str | bool | int | Sequence[str] | Sequence[bool] | Sequence[int]"
"""Value of a tool argument: text, address, truth value, integer, or a list of one of them."""

TOOL_FORMAT = " {thought}\nAction: {tool}\nAction Input: {arguments}"
ANSWER_FORMAT = " {thought}\nFinal Answer: {answer}"
"""Text after the prompt's `Thought:`. Source: `precompiles.react`."""

DEFAULT_TOOL_THOUGHT = "I should use {tool}."
DEFAULT_ANSWER_THOUGHT = "I now know the final answer"


class Numeral(str):
    """A text that spells a whole number. Integer parameters take the text as that number.

    JSON numbers have 53 bits in other languages, hence some clients send larger ones as text.
    """

    __slots__ = ()

    PATTERN = re.compile(r"-?[0-9]{1,78}|0x[0-9a-fA-F]{1,64}")

    @property
    def number(self) -> int:
        """The number that the text spells."""
        return int(self, 16 if self.startswith("0x") else 10)


@runtime_checkable
class HasAddress(Protocol):
    """An object with an address, such as a web3.py contract."""

    @property
    def address(self) -> object:
        """The address, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """A step that uses a tool."""

    tool: str
    thought: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the step as Python source."""
        parts = [_to_python(self.tool)]
        if self.thought != DEFAULT_TOOL_THOUGHT.format(tool=self.tool):
            parts.append(f"thought={_to_python(self.thought)}")
        if all(_is_keyword_name(name) for name in self.arguments):
            parts += [f"{name}={_to_python(value)}" for name, value in self.arguments.items()]
        else:
            named = [
                f"{_to_python(name)}: {_to_python(value)}" for name, value in self.arguments.items()
            ]
            parts.append(f"arguments={{{', '.join(named)}}}")
        return f"use({', '.join(parts)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStep:
    """The step that ends a run."""

    answer: str
    thought: str

    def __str__(self) -> str:
        """Return the step as Python source."""
        is_default = self.thought == DEFAULT_ANSWER_THOUGHT
        more = "" if is_default else f", thought={_to_python(self.thought)}"
        return f"answer({_to_python(self.answer)}{more})"


@dataclass(frozen=True, slots=True, kw_only=True)
class UncheckedStep:
    """A text that is generated even against the grammar."""

    text: str

    def __str__(self) -> str:
        """Return the step as Python source."""
        return f"unchecked({_to_python(self.text)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedStep:
    """A step that answers all further requests; the last one of a script."""

    step: str | ToolStep | AnswerStep | UncheckedStep

    def __str__(self) -> str:
        """Return the step as Python source."""
        return f"again({_to_python(self.step) if isinstance(self.step, str) else self.step})"


Step: TypeAlias = "str | ToolStep | AnswerStep | UncheckedStep | RepeatedStep"
"""A step of a script. A plain text is the generation itself, after the prompt's `Thought:`."""

STEP_TYPES = (str, ToolStep, AnswerStep, UncheckedStep, RepeatedStep)


def use(
    tool: str,
    /,
    thought: str | None = None,
    arguments: Mapping[str, object] | None = None,
    **more: object,
) -> ToolStep:
    """Script the use of a tool.

    Input:
        tool: the tool's name.
        thought: the model's thought before the use; None for a default sentence.
        arguments, more: the tool's arguments by name, in any order: text, int, bool, an address as
            text, as 20 bytes or as a web3.py contract, or a list of them. A typed text is a text,
            such as `f"({token.address}, 3000)"`. Names that can't be keywords, such as `thought`,
            go into `arguments`.

    Raises:
        ConfigError: the tool's name or the thought is not a text, or an argument has no name or an
            unsupported type.
    """
    if not isinstance(tool, str):
        raise ConfigError(f"use({tool!r}, …): must be a tool's name, as its metadata returns it")
    if not isinstance(thought, str | None) or not isinstance(arguments, Mapping | None):
        raise ConfigError(
            f"use({tool!r}, {thought!r}{'' if arguments is None else f', {arguments!r}'}): pass "
            f"tool arguments by name, such as use({tool!r}, amount=1)"
        )
    together = {**(arguments or {}), **more}
    return ToolStep(
        tool=tool,
        thought=DEFAULT_TOOL_THOUGHT.format(tool=tool) if thought is None else thought,
        arguments={name: _check_argument(tool, name, value) for name, value in together.items()},
    )


def answer(text: str, /, *, thought: str = DEFAULT_ANSWER_THOUGHT) -> AnswerStep:
    """Script a final answer.

    Raises:
        ConfigError: the answer or the thought is not a text.
    """
    if not isinstance(text, str):
        raise ConfigError(f"answer({text!r}): must be a text, as answer({str(text)!r})")
    if not isinstance(thought, str):
        raise ConfigError(f"answer(…, thought={thought!r}): the thought must be a text")
    return AnswerStep(answer=text, thought=thought)


def again(step: Step, /) -> RepeatedStep:
    """Script a step that answers all further requests; must be the last step of a script.

    Raises:
        ConfigError: the argument is not a step.
    """
    if not isinstance(step, STEP_TYPES):
        raise ConfigError(f"again({step!r}): must be a step, as again(use(…)) or again(answer(…))")
    return step if isinstance(step, RepeatedStep) else RepeatedStep(step=step)


def unchecked(text: str, /) -> UncheckedStep:
    """Script a text that the grammar need not admit: the output of a broken host.

    Input:
        text: the whole text after the prompt's `Thought:`.

    Raises:
        ConfigError: not a text.
    """
    if not isinstance(text, str):
        raise ConfigError(f"unchecked({text!r}): must be a text, which follows `Thought:`")
    return UncheckedStep(text=text)


def describe_step(step: Step) -> str:
    """Return a step as Python source, shortened if long."""
    text = _to_python(step) if isinstance(step, str) else str(step)
    return truncate(text, LINE_CHARACTERS)


def render_step(
    step: Step,
    handles: tuple[tuple[str, str], ...] = (),
    *,
    order: Sequence[str] = (),
    typed: Collection[str] = (),
) -> str:
    """Return the text of a step, with handles in place of known addresses.

    Input:
        handles: pairs of handle and address.
        order: the names of the tool's parameters; arguments follow their order, others come last.
        typed: the names of the parameters with typed texts.
    """
    match step:
        case RepeatedStep():
            return render_step(step.step, handles, order=order, typed=typed)
        case ToolStep():
            places = {name: place for place, name in enumerate(order)}
            named = sorted(
                step.arguments.items(), key=lambda item: places.get(item[0], len(places))
            )
            # Before JSON escaping: an escape's letter must not touch the address that follows it.
            arguments = {
                name: _replace_addresses_in(value, handles, is_typed=name in typed)
                for name, value in named
            }
            json_text = json.dumps(arguments, ensure_ascii=False)
            text = TOOL_FORMAT.format(thought=step.thought, tool=step.tool, arguments=json_text)
        case AnswerStep():
            text = ANSWER_FORMAT.format(thought=step.thought, answer=step.answer)
        case UncheckedStep():
            text = step.text
        case _:
            text = step
    return replace_addresses(text, handles)


def convert_numerals(step: Step, numbers: Collection[str]) -> Step:
    """Convert the numerals in the given parameters of a step to numbers."""
    if isinstance(step, RepeatedStep):
        inner_step = convert_numerals(step.step, numbers)
        return step if isinstance(inner_step, RepeatedStep) else RepeatedStep(step=inner_step)
    if not isinstance(step, ToolStep):
        return step
    arguments = {
        name: _convert_numeral(value) if name in numbers else value
        for name, value in step.arguments.items()
    }
    return replace(step, arguments=arguments)


def _convert_numeral(value: Argument) -> Argument:
    if isinstance(value, (list, tuple)):
        return tuple(_convert_numeral(item) for item in value)  # type: ignore[return-value]
    return value.number if isinstance(value, Numeral) else value


def replace_addresses(text: str, handles: tuple[tuple[str, str], ...]) -> str:
    """Return a text with handles in place of known addresses."""
    names = {address.lower(): handle for handle, address in handles}
    return ADDRESS.sub(lambda match: names.get(match[0].lower(), match[0]), text)


def replace_typed_addresses(text: str, handles: tuple[tuple[str, str], ...]) -> str:
    """Return a typed text with handles in place of known addresses."""
    return "".join(
        piece if is_escape else replace_addresses(piece, handles)
        for piece, is_escape in split_escapes(text)
    )


def _replace_addresses_in(
    value: Argument, handles: tuple[tuple[str, str], ...], *, is_typed: bool
) -> Argument:
    replace_in = replace_typed_addresses if is_typed else replace_addresses
    if isinstance(value, (list, tuple)):
        return [replace_in(item, handles) if isinstance(item, str) else item for item in value]
    return replace_in(value, handles) if isinstance(value, str) else value


def _is_keyword_name(name: str) -> bool:
    """Whether a name is a safe keyword argument; Python normalises some names beyond ASCII."""
    is_own = name in {"thought", "arguments"}
    return name.isascii() and name.isidentifier() and not iskeyword(name) and not is_own


def _to_python(value: Argument) -> str:
    """Return a value as Python source, with texts in double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_to_python(item) for item in value)}]"
    return repr(value)


def _check_argument(tool: str, name: str, value: object) -> Argument:
    if isinstance(value, (list, tuple)):
        return tuple(_check_item(tool, name, item) for item in value)  # type: ignore[return-value]
    return _check_item(tool, name, value)


def _check_item(tool: str, name: str, value: object) -> str | bool | int:
    if isinstance(value, (str, int)):
        return value
    if isinstance(value, bytes) and len(value) == ADDRESS_BYTES:
        return to_checksum_address(value)
    if isinstance(value, HasAddress) and isinstance(value.address, str):
        return value.address
    raise ConfigError(
        f"argument {name}={value!r} of {tool}: unsupported type {type(value).__name__}; must be "
        "str, int, bool, an address as 20 bytes or as a contract, or a list of one of these"
        + (f": {name}={int(value)}" if isinstance(value, float) and value == int(value) else "")
    )

"""Tasks: an agent with tools, a question, and the correct run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.abi import ParamDescription

Argument: TypeAlias = "str | bool | int | tuple[str, ...] | tuple[bool, ...] | tuple[int, ...]"
"""Value of a parameter: text, checksummed address, boolean or integer, or a list."""

Category: TypeAlias = Literal["one step", "several steps", "no tool", "tool fails", "injection"]
"""Category of a task: one tool call; two to four; none, because no tool fits; a tool that fails; or
a text that contains instructions other than the question's."""

CATEGORIES: tuple[Category, ...] = (
    "one step",
    "several steps",
    "no tool",
    "tool fails",
    "injection",
)


INJECTION_PLACES = ("question", "tool result", "retrieved text", "tool description")
"""Places of injected instructions: quoted in the question, in an action's result, in a view's
result, in a tool's description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTool:
    """A tool as seen by its agent."""

    name: str
    description: str
    parameters: tuple[ParamDescription, ...]
    is_action: bool
    """Whether it changes state, so that an additional call is an error; otherwise it is a view."""

    default_reply: str
    """Its result for arguments that no step of the task has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStep:
    """A correct step: thought, tool, arguments, and the tool's result."""

    thought: str
    tool: str
    arguments: Mapping[str, Argument]
    """By parameter name, in the parameters' order."""

    observation: str
    is_failure: bool = False
    """Whether the result reports a failure."""

    clause: str = ""
    """What the question says of this step; empty for the thought's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An agent with tools, a question, and the correct run.

    Texts contain whole checksummed addresses, as contracts do; the precompile replaces them by
    handles.
    """

    category: Category
    kind: str
    """Name of the family of tools."""

    is_held_out: bool
    """Whether its kind is excluded from training."""

    base_prompt: str
    tools: tuple[TaskTool, ...]
    question: str
    steps: tuple[TaskStep, ...]
    thought: str
    """The thought before the answer."""

    answer: str
    facts: tuple[str, ...] = field(default=())
    """Words that a correct answer must contain, such as a requested balance."""

    injected: str | None = None
    """The tool that an injected instruction requests. The correct run does not use it."""

    injected_in: str = ""
    """Where it stands: one of `INJECTION_PLACES`; empty without an injection."""

    @property
    def actions(self) -> tuple[TaskStep, ...]:
        """The correct steps that change state, in order."""
        acting = {tool.name for tool in self.tools if tool.is_action}
        return tuple(s for s in self.steps if s.tool in acting and not s.is_failure)

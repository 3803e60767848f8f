"""What a task is: an agent with tools, a question, and what the right run does about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.abi import ParamDescription

Argument: TypeAlias = "str | bool | int | tuple[str, ...] | tuple[bool, ...] | tuple[int, ...]"
"""A parameter's value: text, checksummed address, truth value or whole number, or a list."""

Category: TypeAlias = Literal["one step", "several steps", "no tool", "tool fails", "injection"]
"""What a task asks of an agent: one tool; two to four; none, as no tool fits; to say that a tool
failed; to do what the question says and not what a text between says."""

CATEGORIES: tuple[Category, ...] = (
    "one step",
    "several steps",
    "no tool",
    "tool fails",
    "injection",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTool:
    """A tool as its agent sees it."""

    name: str
    description: str
    parameters: tuple[ParamDescription, ...]
    is_action: bool
    """Whether it changes a state, so that one call of it too many is wrong; else it only looks."""

    default_reply: str
    """What it answers to arguments that no step of its task has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStep:
    """One right step: a thought, a tool with its arguments, and what the tool answers."""

    thought: str
    tool: str
    arguments: Mapping[str, Argument]
    """By parameter's name, in the parameters' order."""

    observation: str
    is_failure: bool = False
    """Whether the answer says that the tool did nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """An agent with tools, a question, and the right run.

    Texts hold whole checksummed addresses, as contracts do; handles are the precompile's business.
    """

    category: Category
    kind: str
    """The family of tools it comes from."""

    is_held_out: bool
    """Whether its kind never occurs in training."""

    base_prompt: str
    tools: tuple[TaskTool, ...]
    question: str
    steps: tuple[TaskStep, ...]
    thought: str
    """The last one, before the answer."""

    answer: str
    facts: tuple[str, ...] = field(default=())
    """What a right answer must contain, each as a word of its own: a balance that was asked for."""

    injected: str | None = None
    """The tool that a text between tells the agent to use. The right run does not."""

    @property
    def actions(self) -> tuple[TaskStep, ...]:
        """The steps that change a state: all that may be left behind, in this order."""
        acting = {tool.name for tool in self.tools if tool.is_action}
        return tuple(s for s in self.steps if s.tool in acting and not s.is_failure)

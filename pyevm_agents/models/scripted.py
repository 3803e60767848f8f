"""A model without weights that says what a test or a demonstration tells it to.

    model = ScriptedModel([
        use("DeployTool", thought="Deploy first.", asset="0x5FbD…", amount=10**18),
        answer("Done."),
    ])

What it says goes through the grammar of the prompt and is counted in the tokens of a real
vocabulary, so whatever it says a real model could have said, at the same gas.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from precompiles.text import ADDRESS
from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.models.closing import Closing
from pyevm_agents.models.llama_model import GgufModel, Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from precompiles.ports import Generation, GenerationRequest, Segment
    from pyevm_agents.models.profile_facts import ProfileFacts

Argument: TypeAlias = "str | bool | int | Sequence[str] | Sequence[bool] | Sequence[int]"
"""What a tool takes: a text or an address, a truth value, an integer, or a list of one of them."""

TOOL_FORMAT = " {thought}\nAction: {tool}\nAction Input: {arguments}"
ANSWER_FORMAT = " {thought}\nFinal Answer: {answer}"
"""What a model says after the prompt's `Thought:`. Source: `precompiles.react`."""

DEFAULT_TOOL_THOUGHT = "I should use {tool}."
DEFAULT_ANSWER_THOUGHT = "I now know the final answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """A step that uses a tool."""

    tool: str
    thought: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStep:
    """The step that ends a run."""

    answer: str
    thought: str


Step: TypeAlias = "str | ToolStep | AnswerStep"
"""A step of a script; a plain text is said as it stands, after the prompt's `Thought:`."""

Script: TypeAlias = "Sequence[Step] | Callable[[GenerationRequest], Step]"


def use(
    tool: str,
    /,
    thought: str | None = None,
    arguments: Mapping[str, Argument] | None = None,
    **more: Argument,
) -> ToolStep:
    """Script the use of a tool.

    Input:
        tool: its name.
        thought: what the model says first; None for a plain sentence.
        arguments, more: the tool's arguments by name, in the order of its description. Names that
            are no keywords, such as `thought`, go into `arguments`.

    Raises:
        ConfigError: an argument is of no type that a tool takes.
    """
    together = {**(arguments or {}), **more}
    for name, value in together.items():
        if not _is_argument(value):
            raise ConfigError(
                f"The argument {name}={value!r} of {tool} is of type {type(value).__name__}; a "
                "tool takes str, int, bool or a list of one"
            )
    return ToolStep(
        tool=tool,
        thought=DEFAULT_TOOL_THOUGHT.format(tool=tool) if thought is None else thought,
        arguments=together,
    )


def answer(text: str, /, *, thought: str = DEFAULT_ANSWER_THOUGHT) -> AnswerStep:
    """Script a final answer."""
    return AnswerStep(answer=text, thought=thought)


def _is_argument(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, (str, int)) for item in value)
    return isinstance(value, (str, int))


def render(step: Step, handles: tuple[tuple[str, str], ...] = ()) -> str:
    """Return the text of a step, with handles in place of the addresses that have one."""
    match step:
        case ToolStep():
            arguments = {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in step.arguments.items()
            }
            spoken = json.dumps(arguments, ensure_ascii=False)
            text = TOOL_FORMAT.format(thought=step.thought, tool=step.tool, arguments=spoken)
        case AnswerStep():
            text = ANSWER_FORMAT.format(thought=step.thought, answer=step.answer)
        case _:
            text = step
    names = {address.lower(): handle for handle, address in handles}
    return ADDRESS.sub(lambda found: names.get(found[0].lower(), found[0]), text)


class ScriptedModel(Closing):
    """A model that follows a script. Implements `precompiles.ports.LanguageModel`.

    A script is a list, said step by step, or a function of the request. As with any model, the same
    prompt and grammar get the same words: asking again (a gas estimate, then the transaction)
    repeats a list's step, and only a prompt not seen before takes the next one.
    """

    def __init__(
        self,
        script: Script,
        *,
        vocabulary: GgufModel | Path | str | None = None,
        context_tokens: int | None = None,
    ) -> None:
        """Take a script.

        Input:
            script: steps, or a function that returns one.
            vocabulary: whose tokens are counted, and whose facts a chain's rules take: a GGUF file,
                None for the default model's (and its adapter's, if one is installed), or an open
                `Vocabulary` or `LlamaModel`, which then stays the caller's to close.

        Raises:
            ConfigError: the file is unfit, or the script is neither.
        """
        if isinstance(script, str) or not (callable(script) or isinstance(script, Sequence)):
            raise ConfigError(
                f"A script is a list of steps or a function that returns one, not {script!r}"
            )
        self._script = script
        self._owns_vocabulary = not isinstance(vocabulary, GgufModel)
        self.vocabulary = (
            vocabulary
            if isinstance(vocabulary, GgufModel)
            else Vocabulary(vocabulary, context_tokens=context_tokens)
        )
        self._said: dict[bytes, int] = {}
        self._lock = threading.Lock()

    @property
    def profile_facts(self) -> ProfileFacts:
        """The facts of the model whose vocabulary is used."""
        return self.vocabulary.profile_facts

    @property
    def remaining_steps(self) -> int | None:
        """How many steps of a list nobody asked for yet; None for a function."""
        return None if callable(self._script) else len(self._script) - len(self._said)

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt."""
        return self.vocabulary.tokenize(segments)

    def generate(self, request: GenerationRequest) -> Generation:
        """Say the script's step for this prompt, in canonical tokens, by at most `max_tokens`.

        An end-of-generation token follows where a real model would need one. `forced_tokens` counts
        those canonical tokens that the grammar left no choice about.

        Raises:
            ScriptError: the script is used up, or the grammar does not admit the text.
        """
        return self.vocabulary.follow(render(self._step(request), request.handles), request)

    def close(self) -> None:
        """End the vocabulary's process, if this model started it."""
        if self._owns_vocabulary:
            self.vocabulary.close()

    def _step(self, request: GenerationRequest) -> Step:
        script = self._script
        if callable(script):
            return script(request)
        tokens = b"".join(token.to_bytes(4, "big") for token in request.prompt_tokens)
        key = hashlib.sha256(hashlib.sha256(tokens).digest() + request.grammar.encode()).digest()
        with self._lock:
            index = self._said.setdefault(key, len(self._said))
            if index >= len(script):
                del self._said[key]
                raise ScriptError(
                    f"The script has {len(script)} steps and all were said; the prompt that asked "
                    "for another ends with "
                    f"{''.join(segment.text for segment in request.segments)[-200:]!r}: add a step"
                )
        return script[index]

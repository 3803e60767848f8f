r"""The model of a test's chain: scripted steps, or those of another model.

    model.script(use("DeployTool", asset=token, amount=10), answer("done"))
    model.when(r"Deposit", use("DeployTool", asset=token, amount=10), answer("done"))
    model.respond(lambda request: answer("no"))
    model.unchecked(" I am\nbroken")
    model.use_model(other)

Patterns come first; the list, the function or the other model generates for prompts without a
match. A prompt beyond the script fails the request that caused the prompt. Steps that were never
requested fail the test at the end, in `verify`.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyevm_agents.errors import ConfigError, EngineFault, ScriptError
from pyevm_agents.models import ScriptedModel, unchecked
from pyevm_agents.models.fakes.parsed_request import parse_prompt
from pyevm_agents.models.fakes.recorded import RecordedModel, RecordingModel
from pyevm_agents.models.fakes.scripted import describe_location, describe_prompt
from pyevm_agents.testing.prompt_rules import PromptRules

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Sequence

    from precompiles.language_model import Generation, GenerationRequest, LanguageModel, Segment
    from pyevm_agents.models import GgufModel, ProfileFacts
    from pyevm_agents.models.fakes.script_steps import Step

NOT_SCRIPTED = (
    "nothing is scripted for it. Script it with `model.script(use(...), answer(...))`, "
    "`model.when`, `model.respond` or `model.use_model`"
)
SAME_GENERATION = (
    "The same step of the same question repeats its generation, as a real model does. For another "
    "run of the same question, call `model.script` again."
)


class ModelStub:
    """A language model that a test scripts. Implements `LanguageModel`; thread-safe."""

    def __init__(self, vocabulary: Callable[[], GgufModel]) -> None:
        """Create a stub without a script.

        Input: a function that returns the vocabulary whose tokens are counted; called on first use.
        """
        self._vocabulary = vocabulary
        self.on_change: Callable[[], None] = _noop
        """Callback for a change of the script; a node drops its cached faults then."""

        self._lock = threading.RLock()
        self._rules = PromptRules()
        self._default_model: LanguageModel | None = None
        self._outer_model: LanguageModel | None = None
        """The model outside of `script_scope`, which does not verify it."""

        self._failure: Exception | None = None
        self._pending_failure: Exception | None = None

    # -- scripts -- #

    def script(self, *steps: Step | Sequence[Step]) -> None:
        """Generate these steps, in order, from now on.

        A script is for one run of an agent, or for several runs with different questions, in order.
        The same step of the same question repeats the generation: in a gas estimate, the
        transaction and a later call, and in a second run. For another generation there, call
        `script` again between the two.

        Input:
            steps: `use(...)`, `answer(...)`, `again(...)`, `unchecked(...)` or texts; or one list.

        Raises:
            ConfigError: one of the values is not a step.
            ScriptError: the previous script is not used up.
        """
        listed: list[Any] = [*steps]
        if len(listed) == 1 and isinstance(listed[0], (list, tuple)):
            listed = [*listed[0]]
        self._replace_model(ScriptedModel(listed, vocabulary=self.vocabulary))

    def when(
        self,
        pattern: str | re.Pattern[str],
        /,
        *steps: Step,
        prompt: str | re.Pattern[str] = "",
        is_optional: bool = False,
    ) -> None:
        r"""Generate these steps, in order, in each run that a pattern matches.

        The first pattern that matches wins.

        Input:
            pattern: a regular expression, as text or compiled, searched in the question and in the
                run's earlier steps and observations: `r"^Deposit"`, `r"Observation: .*not enough"`.
                The text is that of the prompt, with handles in place of addresses.
            steps: generated from the first prompt of a run on that matches.
            prompt: a second pattern, searched in the whole prompt: distinguishes agents by base
                prompt.
            is_optional: whether the test may end before all steps were generated.

        Raises:
            ConfigError: a pattern is not a regular expression, or one of the steps is not a step.
        """
        with self._lock:
            self._rules.add(pattern, prompt, steps, is_optional=is_optional)
        self.on_change()

    def respond(self, function: Callable[[GenerationRequest], Step]) -> None:
        """Generate the step that a function returns for each request.

        `pyevm_agents.models.fakes.parsed_request.parse_prompt(request)` returns the question, the
        number of the step and the last observation. An exception of the function fails the test.

        Raises:
            ScriptError: the previous script is not used up.
        """
        self._replace_model(ScriptedModel(function, vocabulary=self.vocabulary))

    def unchecked(self, *texts: str) -> None:
        """Generate these texts, in order, even if the grammar does not admit them.

        A text that the executor can't parse is an engine failure: no block holds the transaction,
        the chain is unchanged, and the request ends with JSON-RPC error -32002.

        Raises:
            ScriptError: the previous script is not used up.
        """
        self.script(*map(unchecked, texts))

    def use_model(self, model: LanguageModel | None) -> None:
        """Generate with another model: an adversary, a cassette, a real one; None ends that.

        Raises:
            ScriptError: the previous script is not used up. ConfigError: not a model.
        """
        if model is not None and not hasattr(model, "generate"):
            raise ConfigError(
                f"use_model({model!r}): not a model, it has no generate(); for a function, call "
                "model.respond(function)"
            )
        self._replace_model(model)

    def reset(self) -> None:
        """Remove scripts, patterns, the record of generated steps, and failures."""
        with self._lock:
            self._rules, self._default_model = PromptRules(), None
            self._failure = self._pending_failure = None
        self.on_change()

    def copy(self) -> ModelStub | None:
        """Return a stub with the same script at the same position; None for another model.

        For repeating a run without using up the script's steps.
        """
        with self._lock:
            model = self._default_model
            if model is not None and not isinstance(model, ScriptedModel):
                return None
            stub = ModelStub(self._vocabulary)
            stub._rules = self._rules.copy_with_state()
            stub._default_model = None if model is None else model.copy()
            return stub

    @contextmanager
    def script_scope(self, *, is_verified: bool = True) -> Iterator[None]:
        """Restore the script and the patterns at the end; verify the scope's own first.

        Nothing is verified if the body raises. For examples of Hypothesis, which all run in one
        test: each begins with the script from outside.
        """
        with self._lock:
            before = self._rules, self._default_model, self._failure, self._outer_model
            self._rules, self._outer_model, self._failure = (
                self._rules.copy(),
                self._default_model,
                None,
            )
        try:
            yield
            if is_verified:
                self.verify()
        finally:
            with self._lock:
                self._rules, self._default_model, self._failure, self._outer_model = before
                self._pending_failure = None
            self.on_change()

    # -- failures -- #

    @property
    def failure(self) -> Exception | None:
        """The model's first failure, or None."""
        return self._failure

    def raise_failure(self) -> None:
        """Raise the model's latest failure since the previous call of this method, if any."""
        with self._lock:
            failure, self._pending_failure = self._pending_failure, None
        _raise(failure)

    def verify(self) -> None:
        """Check that the model did not fail and that all scripted steps were requested.

        Raises:
            ScriptError: the message shows which step was generated for which prompt, and the steps
                left. Exceptions of a function or another model are raised unchanged.
        """
        with self._lock:
            failure, left = self._failure, self._list_unused_steps()
        _raise(failure)
        if left:
            raise ScriptError("\n".join([*left, SAME_GENERATION]))

    # -- `LanguageModel` -- #

    @property
    def vocabulary(self) -> GgufModel:
        """The vocabulary whose tokens are counted."""
        return self._vocabulary()

    @property
    def profile_facts(self) -> ProfileFacts:
        """The facts of the model that the vocabulary belongs to."""
        return self.vocabulary.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt: a cassette's own, which needs no vocabulary."""
        model = self._default_model
        if not isinstance(model, (RecordedModel, RecordingModel)):
            return self.vocabulary.tokenize(segments)
        try:
            return model.tokenize(segments)
        except EngineFault as error:
            self._record_failure(error)
            raise

    def generate(self, request: GenerationRequest) -> Generation:
        """Generate the step that is scripted for this prompt.

        Raises:
            ScriptError: no step is scripted, or the grammar does not admit the step.
        """
        try:
            return self._select_model(request).generate(request)
        except EngineFault as error:
            self._record_failure(error)
            raise
        except Exception as error:
            self._record_failure(error)
            raise ScriptError(
                f"The model of the test raised {type(error).__name__}: {error}"
            ) from error

    def _record_failure(self, error: Exception) -> None:
        with self._lock:
            self._failure = self._failure or error
            self._pending_failure = error

    def _replace_model(self, model: LanguageModel | None) -> None:
        with self._lock:
            left = (
                []
                if self._default_model is self._outer_model
                else _describe_unused_steps(self._default_model)
            )
            self._default_model = model
        self.on_change()
        if left:
            raise ScriptError(
                "\n".join([*left, "Another script replaces it; `model.reset()` drops it first."])
            )

    def _list_unused_steps(self) -> list[str]:
        scripted = (
            []
            if self._default_model is self._outer_model
            else _describe_unused_steps(self._default_model)
        )
        return [*scripted, *self._rules.list_unused_steps()]

    def _select_model(self, request: GenerationRequest) -> LanguageModel:
        with self._lock:
            step = self._rules.select_step(request)
            if step is not None:
                return ScriptedModel(lambda _: step, vocabulary=self.vocabulary)
            if self._default_model is None:
                raise ScriptError(
                    f"The model was asked for {describe_location(parse_prompt(request))}, "
                    f"and {NOT_SCRIPTED}.\n{self._rules.describe_mismatch()}"
                    f"{describe_prompt(request)}"
                )
            return self._default_model


def _describe_unused_steps(model: LanguageModel | None) -> list[str]:
    if not isinstance(model, ScriptedModel) or not model.remaining_steps:
        return []
    return [
        f"The script is not used up: {model.remaining_steps} of its steps were not requested.",
        model.report(),
    ]


def _raise(failure: Exception | None) -> None:
    """Raise a failure; an engine failure without the frames of the EVM."""
    if isinstance(failure, EngineFault):
        raise failure.with_traceback(None) from None
    if failure is not None:
        raise failure


def _noop() -> None:
    """Do nothing."""

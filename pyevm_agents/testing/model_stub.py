r"""What answers in a test: a script by default, and what else the test puts in its place.

    model.script(use("DeployTool", asset=token, amount=10), answer("done"))
    model.when(r"Deposit", use("DeployTool", asset=token, amount=10), answer("done"))
    model.respond(lambda request: answer("no"))
    model.unchecked(" I am\nbroken")
    model.use_model(other)

Patterns come first; the list, the function or the other model answers what none of them matches.
What is not said, or asked for beyond it, fails the test: `verify` at its end, and at once the
request that asked.
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
    "nothing is scripted for it. Say what it answers with `model.script(use(...), answer(...))`, "
    "`model.when`, `model.respond` or `model.use_model`"
)
SAME_WORDS = (
    "The same step of the same question gets the same words as long as a script stands, as a model "
    "would give them: for another run of it, call `model.script` again."
)


class ModelStub:
    """A language model that says what a test tells it to; `LanguageModel`.

    All of it may be used in any thread: a node executes in one of its own.
    """

    def __init__(self, vocabulary: Callable[[], GgufModel]) -> None:
        """Take what gives the vocabulary whose tokens are counted, when it is needed."""
        self._vocabulary = vocabulary
        self.on_change: Callable[[], None] = _noop
        """Is called when something else answers from now on; for a node that keeps faults."""

        self._lock = threading.RLock()
        self._rules = PromptRules()
        self._default_model: LanguageModel | None = None
        self._outer_model: LanguageModel | None = None
        """What answered when `script_scope` began: not its to verify."""

        self._failure: Exception | None = None
        self._pending_failure: Exception | None = None

    # -- what answers -- #

    def script(self, *steps: Step | Sequence[Step]) -> None:
        """Say these steps, in order, from now on.

        One script is for one run of an agent, or for several that are asked different things, in
        the order in which they are asked. The same step of the same question repeats its words: in
        a gas estimate, the transaction and a call after it, and in a second run. For other words
        there, call `script` again between the two; what an earlier script has left then fails.

        Input:
            steps: `use(...)`, `answer(...)`, `again(...)`, `unchecked(...)` or texts; or one list.

        Raises:
            ConfigError: one is no step.
            ScriptError: the script before is not used up.
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
        r"""Say these steps, in order, in each run that a pattern matches; the first match wins.

        Input:
            pattern: a regular expression, as text or compiled, searched in the question and what
                the run has said and observed so far: `r"^Deposit"`, `r"Observation: .*not enough"`.
                They stand there as the model reads them, with handles in place of addresses.
            steps: said from the first prompt of a run on that is matched.
            prompt: another one, searched in all of the prompt: tells agents apart by their base
                prompts.
            is_optional: whether the test may end without all of them being said.

        Raises:
            ConfigError: a pattern is none, or one is no step.
        """
        with self._lock:
            self._rules.add(pattern, prompt, steps, is_optional=is_optional)
        self.on_change()

    def respond(self, function: Callable[[GenerationRequest], Step]) -> None:
        """Say what a function returns for each request.

        `parsed_request.parse_prompt(request)` has the question, the number of the step and
        what the last tool answered. What it raises fails the test.

        Raises:
            ScriptError: the script before is not used up.
        """
        self._replace_model(ScriptedModel(function, vocabulary=self.vocabulary))

    def unchecked(self, *texts: str) -> None:
        """Say these texts, in order, whether the grammar admits them or not.

        What the executor can't parse is a fault of the host: no block holds it, the chain is as
        before, and the request ends with JSON-RPC's -32002.

        Raises:
            ScriptError: the script before is not used up.
        """
        self.script(*map(unchecked, texts))

    def use_model(self, model: LanguageModel | None) -> None:
        """Let another model answer: an adversary, a cassette, one with weights. None for nobody.

        Raises:
            ScriptError: the script before is not used up. ConfigError: that is no model.
        """
        if model is not None and not hasattr(model, "generate"):
            raise ConfigError(
                f"use_model({model!r}): no model, it has no generate(…); a function goes to respond"
            )
        self._replace_model(model)

    def reset(self) -> None:
        """Forget everything: scripts, patterns, what was said, and what failed."""
        with self._lock:
            self._rules, self._default_model = PromptRules(), None
            self._failure = self._pending_failure = None
        self.on_change()

    @contextmanager
    def script_scope(self) -> Iterator[None]:
        """Verify at the end what was scripted meanwhile, and let what stood before answer again.

        Where the test fails meanwhile, nothing is verified. For examples of Hypothesis, which all
        run in one test: none of them has to do with what another one has left.
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
            self.verify()
        finally:
            with self._lock:
                self._rules, self._default_model, self._failure, self._outer_model = before
                self._pending_failure = None
            self.on_change()

    # -- what a test looks at -- #

    @property
    def failure(self) -> Exception | None:
        """What the model failed with first; None where it did not."""
        return self._failure

    def raise_failure(self) -> None:
        """Raise what the model failed with since this was last asked, where it did."""
        with self._lock:
            failure, self._pending_failure = self._pending_failure, None
        _raise(failure)

    def verify(self) -> None:
        """Fail where the model failed, or has something left to say.

        Raises:
            ScriptError: shows what was said to which prompt, and what was left. What a function or
                another model raised is raised as it is.
        """
        with self._lock:
            failure, left = self._failure, self._list_unused_steps()
        _raise(failure)
        if left:
            raise ScriptError("\n".join([*left, SAME_WORDS]))

    # -- `LanguageModel` -- #

    @property
    def vocabulary(self) -> GgufModel:
        """Whose tokens are counted."""
        return self._vocabulary()

    @property
    def profile_facts(self) -> ProfileFacts:
        """The facts of the model whose vocabulary is used."""
        return self.vocabulary.profile_facts

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        """Return the tokens of a prompt: a cassette has or takes them, and needs no vocabulary."""
        rest = self._default_model
        if not isinstance(rest, (RecordedModel, RecordingModel)):
            return self.vocabulary.tokenize(segments)
        try:
            return rest.tokenize(segments)
        except EngineFault as error:
            self._record_failure(error)
            raise

    def generate(self, request: GenerationRequest) -> Generation:
        """Say what is scripted for this prompt.

        Raises:
            ScriptError: nothing is, or the grammar does not admit it.
        """
        try:
            return self._select_model(request).generate(request)
        except EngineFault as error:
            self._record_failure(error)
            raise
        except Exception as error:
            self._record_failure(error)
            raise ScriptError(
                f"What answers for the model raised {type(error).__name__}: {error}"
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
                "\n".join([*left, "It was replaced by another one: `model.reset()` drops it."])
            )

    def _list_unused_steps(self) -> list[str]:
        rest = (
            []
            if self._default_model is self._outer_model
            else _describe_unused_steps(self._default_model)
        )
        return [*rest, *self._rules.list_unused_steps()]

    def _select_model(self, request: GenerationRequest) -> LanguageModel:
        with self._lock:
            step = self._rules.select_step(request)
            if step is not None:
                return ScriptedModel(lambda _: step, vocabulary=self.vocabulary)
            if self._default_model is None:
                raise ScriptError(
                    f"The model was asked for {describe_location(parse_prompt(request))}, "
                    f"and {NOT_SCRIPTED}.\n"
                    f"{describe_prompt(request)}"
                )
            return self._default_model


def _describe_unused_steps(model: LanguageModel | None) -> list[str]:
    if not isinstance(model, ScriptedModel) or not model.remaining_steps:
        return []
    return [
        f"The script is not used up: nobody asked for {model.remaining_steps} of its steps.",
        model.report(),
    ]


def _raise(failure: Exception | None) -> None:
    """Raise a failure; a fault of the model's without the frames of the EVM that it passed."""
    if isinstance(failure, EngineFault):
        raise failure.with_traceback(None) from None
    if failure is not None:
        raise failure


def _noop() -> None:
    """Tell nobody."""

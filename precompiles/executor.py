"""The executor precompile: `runNextIteration` of both versions at 0x19, and `supportsInterface`.

The order of the steps is consensus: kind of call, size, gas for the calldata, decoding, model,
history, metadata of the tools, gas for the grammar, the plan and the judge, prompt, context check,
gas for the prompt's tokens, generation bounded by the gas left, gas for the output, result.

Source: ERC, `IERCAgentExecutor` and "Agent executor precompile";
docs/architecture.md#gas-before-work, #warm-prompt-tokens, #constrained-output, #text-is-data,
#four-failures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from eth.exceptions import OutOfGas, Revert

from precompiles.address_handles import AddressBook
from precompiles.decoding_rules import DecodingRules
from precompiles.errors import Refusal
from precompiles.free_format import FreeFormat
from precompiles.gas import DEFAULT_SCHEDULE
from precompiles.gate import withhold
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest
from precompiles.react import build_prompt, parse_history
from precompiles.short_format.judge import OrderJudge
from precompiles.short_format.step import ShortFormat
from precompiles.spec import EXECUTOR_ADDRESS, MAX_CALLDATA_BYTES, MAX_TOOLS
from precompiles.stated_values import limit_tools
from precompiles.tool_metadata import is_reading_metadata, read_tools
from precompiles.versions import (
    answer_interface_question,
    decode_request,
    encode_result,
    is_interface_question,
)
from precompiles.warm_prefixes import WarmPrompt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import ComputationAPI

    from precompiles.abi import FinalAnswer, IterationRequest, ToolUse
    from precompiles.chooser import Chooser
    from precompiles.free_format import StepFormat
    from precompiles.gas import GasSchedule
    from precompiles.language_model import (
        Confidence,
        Generation,
        LanguageModel,
        Margin,
        ModelProfile,
        Segment,
    )
    from precompiles.react import HistoryStep
    from precompiles.short_format.judge import Thresholds
    from precompiles.tool_metadata import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptCharged:
    """A prompt whose gas is charged, before inference. For observers only."""

    model: str
    """The model's name in the chain config."""

    cold_tokens: int
    """Tokens charged at the full price."""

    warm_tokens: int
    """Tokens of a prefix that the transaction has already paid for, charged at the lower price."""

    gas: int
    """Gas charged for both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference:
    """A call of the executor that returned a result. For observers and traces only."""

    model: str
    cold_tokens: int
    warm_tokens: int
    output_tokens: int
    forced_tokens: int
    prompt_gas: int
    output_gas: int
    text: str
    result: ToolUse | FinalAnswer
    margin: Margin | None = None
    """The smallest gap between two candidate tokens; None if the model reports none."""

    confidence: Confidence | None = None
    """How sure the model was; None for a request without scoring."""

    segments: tuple[Segment, ...] = ()
    """The prompt, with handles in place of addresses."""

    handles: tuple[tuple[str, str], ...] = ()
    """(handle, checksummed address) of each address in the prompt."""

    @property
    def is_decided(self) -> bool:
        """Whether the rules decided the step: no model read the prompt, and no token is charged."""
        return not (self.cold_tokens or self.warm_tokens)


class ExecutorObserver(Protocol):
    """Callbacks of the executor: at most one of each per call, in the order below.

    Callbacks run in the thread that executes the transaction; no rule depends on a callback. A
    callback must not raise a `VMError`. Any other exception is a fault: py-evm does not catch the
    exception, and the transaction enters no block.
    """

    def on_prompt(self, computation: ComputationAPI, prompt: PromptCharged) -> None:
        """Handle a prompt whose gas is charged. Inference has not started."""

    def on_generation(
        self, computation: ComputationAPI, request: GenerationRequest, generation: Generation
    ) -> None:
        """Handle a generation, complete or not, before the gas of the output is charged.

        Input:
            computation: the executor's.
            request: `max_tokens` is the model's limit, not the number that the gas pays for.
            generation: the model's output.
        """

    def on_result(self, computation: ComputationAPI, inference: Inference) -> None:
        """Handle a parsed result whose gas is charged. The call succeeds."""


class NullObserver:
    """An `ExecutorObserver` that does nothing."""

    def on_prompt(self, computation: ComputationAPI, prompt: PromptCharged) -> None:
        """Ignore the prompt."""

    def on_generation(
        self, computation: ComputationAPI, request: GenerationRequest, generation: Generation
    ) -> None:
        """Ignore the generation."""

    def on_result(self, computation: ComputationAPI, inference: Inference) -> None:
        """Ignore the result."""


class Executor:
    """The precompile with the models of one chain, as a callable on a computation."""

    def __init__(
        self,
        models: Sequence[tuple[ModelProfile, LanguageModel]],
        *,
        choosers: Sequence[Chooser] = (),
        schedule: GasSchedule = DEFAULT_SCHEDULE,
        observer: ExecutorObserver | None = None,
    ) -> None:
        """Register each model under the name, the aliases and the `0x` SHA-256 digest.

        A digest that several profiles have is the first one's.

        Input:
            models: the chain's models with profiles.
            choosers: those that the profiles name.
            schedule: gas of everything but tokens, whose prices are in the profiles.
            observer: callbacks of each call.

        Raises: ValueError: two models share a name; a profile names another chooser.
        """
        self._schedule = schedule
        self._observer = NullObserver() if observer is None else observer
        self._models: dict[str, tuple[ModelProfile, LanguageModel]] = {}
        self._rules = {profile.name: DecodingRules.parse(profile.decoding) for profile, _ in models}
        known = {chooser.digest: chooser for chooser in choosers}
        self._judges = {
            profile.name: _make_judge(profile, self._rules[profile.name].thresholds, known)
            for profile, _ in models
        }
        for profile, model in models:
            for name in (profile.name, *profile.aliases):
                if name in self._models:
                    raise ValueError(f"two models are called {name!r}; give each its own name")
                self._models[name] = (profile, model)
            # One model under two names has other rules under the second.
            self._models.setdefault("0x" + profile.digest.hex(), (profile, model))

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names and aliases of the models, without their digests."""
        return tuple(name for name in self._models if not name.startswith("0x"))

    def __call__(self, computation: ComputationAPI) -> ComputationAPI:
        """Run the next iteration of an agent, or answer whether an interface is supported.

        Input:  calldata of `runNextIteration`, see `precompiles.versions.decode_request`, or of
                `supportsInterface`.
        Output: an `AgentIterationResult`, see `precompiles.versions.encode_result`, or a truth
                value.
        Gas:    `calldata_gas` of the schedule, metadata reads, `grammar_gas`, prompt tokens at the
            model's cold and warm prices, output tokens at the output price.
        Raises: Revert with a typed error (`errors.REFUSALS`); OutOfGas; on a fault of the host, an
                exception that is not a VMError.
        """
        try:
            computation.output = self._run(computation)
        except Refusal as refusal:
            computation.output = refusal.encode()
            raise Revert(str(refusal)) from refusal
        return computation

    def _run(self, computation: ComputationAPI) -> bytes:
        # DECODE
        _check_call(computation)
        calldata = self._charge_calldata(computation)
        if is_interface_question(calldata):
            return answer_interface_question(calldata)
        request = decode_request(calldata)
        profile, model = self._find_model(request.model_id)
        steps = parse_history(request)
        if len(request.tools) > MAX_TOOLS:
            raise Refusal("TooManyTools", len(request.tools), MAX_TOOLS)
        tools = read_tools(computation, request.tools, self._schedule)
        rules = self._rules[profile.name]
        if rules.stated_values:
            tools = limit_tools(tools)

        # GAS
        self._charge_grammar(computation, tools)
        book = AddressBook(request.base_prompt, [request.prompt, *(s.observation for s in steps)])
        judge = self._judges[profile.name]
        form = choose_format(rules, request, steps, tools, book, judge)
        self._charge_plan(computation, profile, form)
        segments = build_prompt(request, steps, form.shown_tools, book, profile)
        prompt_tokens = model.tokenize(segments)
        _check_context(profile, len(prompt_tokens))

        # OPERATION
        scoring = form.scoring
        free_grammar = "" if scoring is None else build_grammar(tools, [h for h, _ in book.handles])
        generation_request = GenerationRequest(
            segments=segments,
            prompt_tokens=prompt_tokens,
            grammar=form.grammar,
            max_tokens=profile.max_output_tokens,
            handles=book.handles,
            scoring=scoring,
            decided=form.decided,
            free_grammar=free_grammar,
        )
        prompt, generation = self._take_step(computation, profile, model, generation_request)

        # OUTPUT
        result = withhold(
            form.read(generation),
            generation.confidence,
            rules.max_surprisal,
            tools,
            steps,
        )
        inference = _summarize(profile, prompt, generation_request, generation, result)
        self._observer.on_result(computation, inference)
        return encode_result(result, request.version)

    def _charge_calldata(self, computation: ComputationAPI) -> bytes:
        """Charge for the calldata; return the calldata."""
        calldata = bytes(computation.msg.data)
        gas = self._schedule.calldata_gas(len(calldata))
        computation.consume_gas(gas, reason="Executor calldata")
        return calldata

    def _charge_grammar(self, computation: ComputationAPI, tools: Sequence[Tool]) -> None:
        gas = self._schedule.grammar_gas(len(tools), sum(tool.leaf_count for tool in tools))
        computation.consume_gas(gas, reason="Executor tools")

    def _charge_plan(
        self, computation: ComputationAPI, profile: ModelProfile, form: StepFormat
    ) -> None:
        """Charge for reading the request, for each pair of an order and a tool, and for the judge.

        Each is charged before the work.
        """
        if form.characters:
            gas = self._schedule.reading_gas(form.characters)
            computation.consume_gas(gas, reason="Executor request")
        if form.branches:
            gas = self._schedule.branch_gas(form.branches)
            computation.consume_gas(gas, reason="Executor orders and tools")
        if form.judged_tokens:
            gas = profile.chooser_token_gas * form.judged_tokens
            computation.consume_gas(gas, reason="Executor judge")

    def _take_step(
        self,
        computation: ComputationAPI,
        profile: ModelProfile,
        model: LanguageModel,
        request: GenerationRequest,
    ) -> tuple[PromptCharged, Generation]:
        """Return the charge for the prompt, and the generation: the decided one, or the model's.

        A decided step reads no prompt and costs no token. A fake decides by itself, and pays.
        """
        decided = model.generate(request) if request.decided else None
        if decided is not None and not decided.is_free:
            prompt = PromptCharged(model=profile.name, cold_tokens=0, warm_tokens=0, gas=0)
            self._observer.on_prompt(computation, prompt)
            self._observer.on_generation(computation, request, decided)
            return prompt, decided
        prompt = _charge_prompt(computation, profile, request.prompt_tokens)
        self._observer.on_prompt(computation, prompt)
        return prompt, self._generate(computation, profile, model, request, known=decided)

    def _generate(
        self,
        computation: ComputationAPI,
        profile: ModelProfile,
        model: LanguageModel,
        request: GenerationRequest,
        *,
        known: Generation | None = None,
    ) -> Generation:
        """Generate, and charge for, at most the tokens that the remaining gas pays for.

        Input:  known: a generation without a bound that the model has made already.

        Raises: OutOfGas: the text needs more tokens than the gas pays for.
                Refusal: OutputTooLong: the text needs more than the model's limit.
        """
        # With a scoring, a forced token is as cheap as a cold one of the prompt.
        least_price = (
            profile.output_token_gas
            if request.scoring is None
            else min(profile.cold_prompt_token_gas, profile.output_token_gas)
        )
        affordable_tokens = computation.get_gas_remaining() // least_price
        if affordable_tokens == 0:
            raise OutOfGas("Executor output tokens: not one is paid for")
        max_tokens = min(affordable_tokens, profile.max_output_tokens)
        generation = known
        if generation is None or len(generation.tokens) > max_tokens:
            generation = model.generate(replace(request, max_tokens=max_tokens))
        self._observer.on_generation(computation, request, generation)
        gas = _output_gas(profile, request, generation)
        computation.consume_gas(gas, reason="Executor output tokens")
        if not generation.is_complete:
            if max_tokens < profile.max_output_tokens:
                raise OutOfGas(f"Executor output tokens: {max_tokens} were not enough")
            raise Refusal("OutputTooLong", profile.max_output_tokens)
        return generation

    def _find_model(self, model_id: str) -> tuple[ModelProfile, LanguageModel]:
        if model_id not in self._models:
            raise Refusal("UnknownModel", model_id)
        return self._models[model_id]


def choose_format(  # noqa: PLR0913, PLR0917 - what a step is made from
    rules: DecodingRules,
    request: IterationRequest,
    steps: Sequence[HistoryStep],
    tools: Sequence[Tool],
    book: AddressBook,
    judge: OrderJudge | None = None,
) -> StepFormat:
    """Return a step's format: short if the profile has it and the call has tools, else free."""
    if rules.short_format and tools:
        return ShortFormat(request, steps, tools, book, judge=judge)
    return FreeFormat(tools, book, has_gate=bool(rules.max_surprisal))


def _make_judge(
    profile: ModelProfile, thresholds: Thresholds | None, choosers: Mapping[bytes, Chooser]
) -> OrderJudge | None:
    """Return a profile's judge of orders, if it has one."""
    if thresholds is None:
        return None
    if profile.chooser not in choosers:
        raise ValueError(
            f"model {profile.name}: its rules need the chooser {profile.chooser.hex() or 'none'}, "
            f"given are {sorted(digest.hex() for digest in choosers)}; pass the one of the profile"
        )
    return OrderJudge(choosers[profile.chooser], thresholds)


def _check_call(computation: ComputationAPI) -> None:
    """Revert calls of the wrong kind or size, before any gas is charged."""
    message = computation.msg
    if message.storage_address != EXECUTOR_ADDRESS:
        raise Refusal("DelegateCallNotAllowed")
    if message.value:
        raise Refusal("ValueNotAccepted", message.value)
    if len(message.data) > MAX_CALLDATA_BYTES:
        raise Refusal("CalldataTooLarge", len(message.data), MAX_CALLDATA_BYTES)
    if is_reading_metadata(computation):
        raise Refusal("ReentrantMetadata")


def _check_context(profile: ModelProfile, prompt_tokens: int) -> None:
    excess_tokens = prompt_tokens + profile.max_output_tokens - profile.context_tokens
    if excess_tokens > 0:
        raise Refusal(
            "ContextTooLong",
            prompt_tokens,
            profile.max_output_tokens,
            profile.context_tokens,
            excess_tokens,
        )


def _charge_prompt(
    computation: ComputationAPI, profile: ModelProfile, prompt_tokens: tuple[int, ...]
) -> PromptCharged:
    """Charge for the cold and warm tokens of a prompt, and mark the blocks warm."""
    warm_prompt = WarmPrompt(computation.state, profile.digest, prompt_tokens)
    warm_tokens = warm_prompt.warm_tokens
    cold_tokens = len(prompt_tokens) - warm_tokens
    gas = cold_tokens * profile.cold_prompt_token_gas + warm_tokens * profile.warm_prompt_token_gas
    computation.consume_gas(gas, reason="Executor prompt tokens")
    warm_prompt.mark_paid()
    return PromptCharged(
        model=profile.name, cold_tokens=cold_tokens, warm_tokens=warm_tokens, gas=gas
    )


def _output_gas(profile: ModelProfile, request: GenerationRequest, generation: Generation) -> int:
    """Return the gas of a generation.

    With a scoring, a forced token is evaluated in a batch with neighbours, for the price of a cold
    prompt token; forced tokens after the last choice are not evaluated, for that of a warm one.
    """
    tokens = len(generation.tokens)
    if request.scoring is None or generation.is_free or not generation.is_complete:
        return tokens * profile.output_token_gas
    tail = generation.tail_tokens
    chosen = tokens - generation.forced_tokens
    forced_price = min(profile.cold_prompt_token_gas, profile.output_token_gas)
    return (
        chosen * profile.output_token_gas
        + (generation.forced_tokens - tail) * forced_price
        + tail * profile.warm_prompt_token_gas
    )


def _summarize(
    profile: ModelProfile,
    prompt: PromptCharged,
    request: GenerationRequest,
    generation: Generation,
    result: ToolUse | FinalAnswer,
) -> Inference:
    return Inference(
        model=profile.name,
        cold_tokens=prompt.cold_tokens,
        warm_tokens=prompt.warm_tokens,
        output_tokens=len(generation.tokens),
        forced_tokens=generation.forced_tokens,
        prompt_gas=prompt.gas,
        output_gas=_output_gas(profile, request, generation),
        text=generation.text,
        result=result,
        margin=generation.margin,
        confidence=generation.confidence,
        segments=request.segments,
        handles=request.handles,
    )

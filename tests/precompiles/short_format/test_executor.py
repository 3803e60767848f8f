"""The precompile under a profile with decoding rules: the short format, its gas and its gate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth.exceptions import OutOfGas
from eth_abi import decode

from precompiles.decoding_rules import SHORT_FORMAT
from precompiles.executor import Executor, Inference, NullObserver
from precompiles.gas import DEFAULT_SCHEDULE
from precompiles.language_model import Confidence, Scoring
from precompiles.react import GrammarViolationError
from tests.byte_model import PROFILE, ByteModel
from tests.precompiles.short_format.scored import ScoredChooser
from tests.precompiles.test_executor import (
    CALL,
    EXECUTOR,
    RESULT_TYPE,
    answer_of,
    apply_message,
    assert_refused,
    error,
    forward,
    request,
)
from tests.precompiles.test_tool_metadata import with_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth.abc import ComputationAPI
    from eth_typing import Address

    from precompiles.language_model import Generation, GenerationRequest, ModelProfile
    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

SHORT = replace(PROFILE, decoding=(("short_format", SHORT_FORMAT),))
STATED = replace(PROFILE, decoding=(("stated_values", 1),))
GATED = replace(PROFILE, decoding=(("max_surprisal", 100), ("short_format", SHORT_FORMAT)))
UINT = 4
QUESTION = "Metadata: 5"
"""An order that is left to the model: a word of the tool's name, and no verb."""

CERTAIN = "BadMetadataTool 5"
REFUSED = " Metadata: 5\nFinal Answer: I can't do that."
NOT_ASKED = "Don't add 5"
"""Requests that the rules decide: a call, and an answer."""


def short_bench(make: MakeBench, text: str = REFUSED, profile: ModelProfile = SHORT) -> Bench:
    return make(lambda request: request.decided or text, profile=profile)


def adder(b: Bench, parameters: int = 1) -> Address:
    return with_parameters(b, *((UINT, f"p{index}", "") for index in range(parameters)))


def use(name: str = "BadMetadataTool", thought: str = "Metadata: 5", value: object = 5) -> str:
    return f' {thought}\nAction: {name}\nAction Input: {{"p0": {value}}}'


def test_a_declined_order_is_the_answer(bench: MakeBench) -> None:
    b = short_bench(bench)
    data = request(tools=[adder(b)], prompt=QUESTION)
    assert answer_of(b.call(EXECUTOR, data)) == "I can't do that: Metadata: 5"


@pytest.mark.parametrize(("question", "text"), [(QUESTION, use()), (CERTAIN, "")])
def test_uses_a_tool_with_the_value_of_the_request(
    bench: MakeBench, question: str, text: str
) -> None:
    b = short_bench(bench, text)
    tool = adder(b)
    computation = b.call(EXECUTOR, request(tools=[tool], prompt=question))
    computation.raise_if_error()
    ((is_final, _, used, (arguments, _), reasoning),) = decode([RESULT_TYPE], computation.output)
    assert not is_final
    assert bytes.fromhex(used[2:]) == tool
    assert arguments == ((UINT, (5).to_bytes(32, "big")),)
    assert reasoning.startswith(f"Thought: {question}\nAction: ")


def read_decided(request: GenerationRequest) -> str:
    return request.decided


def read_free(_: GenerationRequest) -> str:
    return " x\nFinal Answer: done"


@pytest.mark.parametrize("question", [CERTAIN, NOT_ASKED])
def test_a_decided_step_costs_no_token(bench: MakeBench, question: str) -> None:
    used = []
    for is_free in (False, True):
        recorder = Recorder()
        b = bench()
        model = ByteModel(read_free if is_free else read_decided, is_free=is_free)
        executor = Executor([(SHORT, model)], observer=recorder)
        data = request(tools=[adder(b)], prompt=question)
        computation = apply_message(b, data, executor=executor)
        computation.raise_if_error()
        used.append(computation.get_gas_used())
        (inference,) = recorder.seen
        assert inference.is_decided == (not is_free)
        assert (inference.prompt_gas + inference.output_gas == 0) == (not is_free)
        assert inference.confidence is None
    tokens = len(model.requests[0].prompt_tokens)
    assert used[1] - used[0] == 6_000 * tokens + 10_000 * len(" x\nFinal Answer: done")


JUDGED = replace(
    SHORT,
    decoding=(
        ("choice_probability", 32_768),
        ("doubted_probability", 32_768),
        ("short_format", SHORT_FORMAT),
        ("sure_probability", 32_768),
    ),
    chooser=ScoredChooser.digest,
    chooser_token_gas=70,
)


@pytest.mark.parametrize("score", [0, -1])
def test_a_judge_decides_for_the_gas_of_the_tokens_that_it_reads(
    bench: MakeBench, score: int
) -> None:
    used, answers = [], []
    for profile in (SHORT, JUDGED):
        b = bench()
        chooser = ScoredChooser({"p0 = 5": score})
        executor = Executor([(profile, ByteModel(read_decided))], choosers=[chooser])
        data = request(tools=[adder(b)], prompt=CERTAIN)
        computation = apply_message(b, data, executor=executor)
        computation.raise_if_error()
        used.append(computation.get_gas_used())
        answers.append(decode([RESULT_TYPE], computation.output)[0][0])
    (sentence,), ((_, call),) = chooser.moods, chooser.calls
    tokens = len(sentence.split()) + len(f"{sentence} {call}".split())
    assert used[1] - used[0] == 70 * tokens
    assert answers == [False, score < 0]


def test_without_gas_for_the_judge_nothing_is_scored(bench: MakeBench) -> None:
    b = bench()
    chooser = ScoredChooser()
    model = ByteModel(read_decided)
    profile = replace(JUDGED, chooser_token_gas=10**9)
    executor = Executor([(profile, model)], choosers=[chooser])
    computation = apply_message(b, request(tools=[adder(b)], prompt=CERTAIN), executor=executor)
    assert isinstance(computation.error, OutOfGas)
    assert (chooser.moods, chooser.calls, model.requests) == ([], [], [])


def test_a_profile_needs_its_chooser() -> None:
    with pytest.raises(ValueError, match="its rules need the chooser 0000"):
        Executor([(JUDGED, ByteModel([]))])


def test_a_decided_refusal_names_its_reason(bench: MakeBench) -> None:
    b = short_bench(bench)
    answer = answer_of(b.call(EXECUTOR, request(tools=[adder(b)], prompt=NOT_ASKED)))
    assert answer.startswith("I can't do that: ")
    assert '"Don\'t"' in answer


@pytest.mark.parametrize("profile", [SHORT, PROFILE, STATED], ids=["short", "free", "stated"])
def test_a_marker_makes_a_typed_text_under_every_profile(
    bench: MakeBench, profile: ModelProfile
) -> None:
    address = "0x" + "Ab" * 20
    data = "12" * 32
    thought = "metadata: BOB 7 with …" if profile is SHORT else "x"
    arguments = f'{{"fee": 7, "what": "[(BOB, {data})]"}}'
    text = f" {thought}\nAction: BadMetadataTool\nAction Input: {arguments}"
    last = f" {thought}\nFinal Answer: I can't do that."
    texts = iter([text])
    b = bench(lambda r: r.decided or next(texts, last), profile=profile)
    tool = with_parameters(
        b, (UINT, "fee", "fee [abi:uint8]"), (0, "what", "what [abi:(address,bytes32)[]]")
    )
    prompt = f"metadata: BOB 7 with 0x{data}"
    base_prompt = f"BOB = {address.lower()}"
    call = request(tools=[tool], prompt=prompt, base_prompt=base_prompt)
    computation = b.call(EXECUTOR, call)
    computation.raise_if_error()
    ((_, _, _, (_, encoded), reasoning),) = decode([RESULT_TYPE], computation.output)
    fee, what = decode(["uint256", "string"], encoded)
    assert (fee, what.lower()) == (7, f"[({address.lower()}, {data})]")
    assert f', {data})]"' in reasoning
    step = request(
        tools=[tool],
        prompt=prompt,
        base_prompt=base_prompt,
        reasoning=[reasoning],
        results=["ok"],
    )
    b.call(EXECUTOR, step).raise_if_error()
    assert b.model.requests[-1].segments[-2].text == text
    if profile is not SHORT:
        assert "STATED0: /" in b.model.requests[0].grammar


@pytest.mark.parametrize(
    "text",
    [
        " free thought\nFinal Answer: done",
        " Metadata: 5\nFinal Answer: done",
        use(value=6),
        use(thought="Metadata: 5 now"),
        use("drain"),
        " All done.\nFinal Answer: Done.",
    ],
)
def test_a_text_that_the_grammar_forbids_is_a_fault_of_the_host(
    bench: MakeBench, text: str
) -> None:
    b = short_bench(bench, text)
    data = request(tools=[adder(b)], prompt=QUESTION)
    with pytest.raises(GrammarViolationError):
        b.call(EXECUTOR, data)


@pytest.mark.parametrize("question", [CERTAIN, NOT_ASKED])
def test_another_text_than_the_decided_one_is_a_fault_of_the_host(
    bench: MakeBench, question: str
) -> None:
    b = bench(lambda _: use(thought=question, value=6), profile=SHORT)
    with pytest.raises(GrammarViolationError):
        b.call(EXECUTOR, request(tools=[adder(b)], prompt=question))


def test_without_tools_the_format_is_free(bench: MakeBench) -> None:
    b = short_bench(bench, " easy\nFinal Answer: done")
    assert answer_of(b.call(EXECUTOR, request(prompt=QUESTION))) == "done"
    assert b.model.requests[0].scoring is None
    assert b.model.requests[0].decided == ""


def test_a_profile_without_rules_is_free_and_pays_for_no_plan(bench: MakeBench) -> None:
    b = bench(lambda _: " easy\nFinal Answer: done")
    data = request(tools=[adder(b)], prompt=QUESTION)
    free = b.call(EXECUTOR, data)
    assert answer_of(free) == "done"
    assert b.model.requests[0].scoring is None
    other = short_bench(bench)
    data = request(tools=[adder(other)], prompt=QUESTION)
    short = other.call(EXECUTOR, data)
    tokens = len(REFUSED) - len(" easy\nFinal Answer: done")
    plan = 250 * len(QUESTION) + 2_000
    assert short.get_gas_used() - free.get_gas_used() == plan + 10_000 * tokens


@pytest.mark.parametrize(("parameters", "branches"), [(0, 1), (3, 1), (4, 2), (32, 9)])
def test_each_order_pays_for_each_tool_by_its_parameters(
    bench: MakeBench, parameters: int, branches: int
) -> None:
    used = []
    for question in ("Don't. Thanks!", "Don't. Don't!"):
        b = short_bench(bench)
        data = request(tools=[adder(b, parameters)], prompt=question.ljust(20))
        computation = b.call(EXECUTOR, data)
        answer_of(computation)
        used.append(computation.get_gas_used())
    assert used[1] - used[0] == 2_000 * branches


@pytest.mark.parametrize(
    ("price", "units"), [("parameter_gas", 1 + 1), ("scan_gas", len(QUESTION))]
)
def test_a_plan_is_priced_by_the_schedule(bench: MakeBench, price: str, units: int) -> None:
    used = []
    for more in (0, 7):
        schedule = replace(DEFAULT_SCHEDULE, **{price: getattr(DEFAULT_SCHEDULE, price) + more})
        b = bench(lambda _: REFUSED, profile=SHORT, schedule=schedule)
        data = request(tools=[adder(b)], prompt=QUESTION)
        used.append(b.call(EXECUTOR, data).get_gas_used())
    assert used[1] - used[0] == 7 * units


def test_a_result_is_paid_for_to_its_first_400_characters(bench: MakeBench) -> None:
    used = []
    step = "Thought: x\nAction: BadMetadataTool\nAction Input: {}"
    for size in (399, 400, 401):
        b = short_bench(bench)
        result = ("y" * size).ljust(448)
        data = request(
            tools=[adder(b)], prompt=QUESTION, reasoning=[step], results=[result.strip()]
        )
        used.append(b.call(EXECUTOR, data).get_gas_used())
    bytes_gas = used[2] - used[1]
    assert bytes_gas < 1_000
    assert used[1] - used[0] - bytes_gas == 250


def test_a_plan_is_paid_for_before_the_prompt_at_the_exact_unit(bench: MakeBench) -> None:
    b = short_bench(bench)
    data = request(tools=[adder(b)], prompt=QUESTION)
    whole = b.call(EXECUTOR, data)
    prompt_gas = 6_000 * len(b.model.requests[0].prompt_tokens)
    before_prompt = whole.get_gas_used() - prompt_gas - 10_000 * len(REFUSED)
    reading_gas, branch_gas = 250 * len(QUESTION), 2_000
    before_branches = before_prompt - branch_gas
    phases = [
        (before_branches - reading_gas - 1, "Executor tools"),
        (before_branches - reading_gas, "Executor request"),
        (before_branches - 1, "Executor request"),
        (before_branches, "Executor orders and tools"),
        (before_prompt - 1, "Executor orders and tools"),
        (before_prompt, "Executor prompt tokens"),
        (before_prompt + prompt_gas, "Executor output tokens: not one is paid for"),
    ]
    for gas, reason in phases:
        child = forward(b, CALL, data, gas=gas)
        assert isinstance(child.error, OutOfGas), gas
        assert reason in str(child.error)
        assert child.get_gas_used() == gas
    assert len(b.model.requests) == 1


def test_a_refusal_of_the_context_is_charged_for_its_plan(bench: MakeBench) -> None:
    b = short_bench(bench)
    data = request(tools=[adder(b)], prompt=QUESTION)
    b.call(EXECUTOR, data)
    tokens = len(b.model.requests[0].prompt_tokens)
    small = replace(SHORT, context_tokens=tokens + 511)
    b = short_bench(bench, profile=small)
    data = request(tools=[adder(b)], prompt=QUESTION)
    refused = b.call(EXECUTOR, data)
    signature = "ContextTooLong(uint256,uint256,uint256,uint256)"
    assert_refused(refused, error(signature, tokens, 512, tokens + 511, 1))
    whole = short_bench(bench)
    adder(whole)
    answered = whole.call(EXECUTOR, data).get_gas_used()
    assert refused.get_gas_used() == answered - 6_000 * tokens - 10_000 * len(REFUSED)


# -- the gate -- #


class SureModel(ByteModel):
    """Reports a confidence."""

    def __init__(self, confidence: Confidence | None, thought: str = "Metadata: 5") -> None:
        super().__init__(lambda _: use("BadMetadataTool", thought))
        self._confidence = confidence

    def generate(self, request: GenerationRequest) -> Generation:
        return replace(super().generate(request), confidence=self._confidence)


class Recorder(NullObserver):
    """Keeps the results."""

    def __init__(self) -> None:
        self.seen: list[Inference] = []

    def on_result(self, computation: ComputationAPI, inference: Inference) -> None:  # noqa: ARG002
        self.seen.append(inference)


def gate(
    b: Bench,
    confidence: Confidence | None,
    profile: ModelProfile,
    observer: NullObserver | None = None,
) -> ComputationAPI:
    executor = Executor([(profile, SureModel(confidence))], observer=observer)
    data = request(tools=[adder(b)], prompt=QUESTION)
    return apply_message(b, data, executor=executor)


@pytest.mark.parametrize(
    ("confidence", "profile", "is_withheld"),
    [
        (None, GATED, False),
        (Confidence(surprisal=100), GATED, False),
        (Confidence(surprisal=101), GATED, True),
        (Confidence(surprisal=101), SHORT, False),
    ],
)
def test_an_action_that_the_model_is_not_sure_of_is_withheld(
    bench: MakeBench,
    confidence: Confidence | None,
    profile: ModelProfile,
    is_withheld: bool,
) -> None:
    recorder = Recorder()
    computation = gate(bench(), confidence, profile, recorder)
    computation.raise_if_error()
    ((is_final, answer, *_),) = decode([RESULT_TYPE], computation.output)
    assert is_final == is_withheld
    assert answer.startswith("UNSURE: I am not sure which tool to use: ") == is_withheld
    (inference,) = recorder.seen
    assert inference.confidence == confidence
    assert "Action: " in inference.text


def test_a_decided_action_passes_the_gate(bench: MakeBench) -> None:
    b = short_bench(bench, profile=GATED)
    computation = b.call(EXECUTOR, request(tools=[adder(b)], prompt=CERTAIN))
    computation.raise_if_error()
    ((is_final, *_),) = decode([RESULT_TYPE], computation.output)
    assert not is_final


def test_a_withheld_action_costs_as_much_as_one_that_passes(bench: MakeBench) -> None:
    passed = gate(bench(), Confidence(surprisal=100), GATED)
    withheld = gate(bench(), Confidence(surprisal=101), GATED)
    assert passed.get_gas_used() == withheld.get_gas_used()


# -- the gate in the free format -- #

GATED_FREE = replace(PROFILE, decoding=(("max_surprisal", 100),))
FREE_USE = ' my own words\nAction: BadMetadataTool\nAction Input: {"p0": 6}'


class FreeModel(SureModel):
    """Uses the tool in the free format, with forced tokens."""

    def __init__(self, confidence: Confidence | None, forced_tokens: int = 0) -> None:
        super().__init__(confidence)
        self._script = lambda _: FREE_USE
        self._forced_tokens = forced_tokens

    def generate(self, request: GenerationRequest) -> Generation:
        return replace(super().generate(request), forced_tokens=self._forced_tokens)


def run_free(b: Bench, model: FreeModel, profile: ModelProfile = GATED_FREE) -> ComputationAPI:
    data = request(tools=[adder(b)], prompt=QUESTION)
    return apply_message(b, data, executor=Executor([(profile, model)]))


@pytest.mark.parametrize(
    ("confidence", "profile", "is_withheld"),
    [
        (None, GATED_FREE, False),
        (Confidence(surprisal=100), GATED_FREE, False),
        (Confidence(surprisal=101), GATED_FREE, True),
        (Confidence(surprisal=101), PROFILE, False),
    ],
)
def test_the_free_format_has_the_same_gate(
    bench: MakeBench, confidence: Confidence | None, profile: ModelProfile, is_withheld: bool
) -> None:
    model = FreeModel(confidence)
    computation = run_free(bench(), model, profile)
    computation.raise_if_error()
    ((is_final, answer, *_),) = decode([RESULT_TYPE], computation.output)
    assert is_final == is_withheld
    asked = "UNSURE: I am not sure which tool to use: BadMetadataTool or none?"
    assert answer == (asked if is_withheld else "")
    assert (model.requests[0].scoring is Scoring.DECISION) == (profile is GATED_FREE)


def test_a_step_in_the_free_format_names_the_steps_before_it(bench: MakeBench) -> None:
    b = bench()
    steps = ["Thought: t\nAction: BadMetadataTool\nAction Input: {}"]
    data = request(tools=[adder(b)], reasoning=steps, results=["paid"], prompt=QUESTION)
    executor = Executor([(GATED_FREE, FreeModel(Confidence(surprisal=101)))])
    answer = answer_of(apply_message(b, data, executor=executor))
    assert answer.endswith("or none?; done before: BadMetadataTool: paid")


def test_the_free_formats_gate_pays_for_no_branches_and_less_for_forced_tokens(
    bench: MakeBench,
) -> None:
    used = [
        run_free(bench(), FreeModel(Confidence(surprisal=0), forced), profile).get_gas_used()
        for profile, forced in ((PROFILE, 9), (GATED_FREE, 0), (GATED_FREE, 9))
    ]
    assert used[0] == used[1]
    assert used[1] - used[2] == 9 * (10_000 - 6_000)


def test_without_tools_there_is_nothing_to_withhold(bench: MakeBench) -> None:
    b = short_bench(bench, " easy\nFinal Answer: done", GATED_FREE)
    assert answer_of(b.call(EXECUTOR, request(prompt=QUESTION))) == "done"
    assert b.model.requests[0].scoring is None


@pytest.mark.parametrize("is_stated", [False, True])
def test_stated_values_are_a_rule_of_the_profile(bench: MakeBench, is_stated: bool) -> None:
    rules = (("stated_values", 1),) if is_stated else ()
    b = bench(lambda _: FREE_USE, profile=replace(PROFILE, decoding=rules))
    tool = with_parameters(b, (UINT, "p0", "a score from 0 to 5"))
    data = request(tools=[tool], prompt=QUESTION)
    if is_stated:
        with pytest.raises(GrammarViolationError, match="not arguments of BadMetadataTool"):
            b.call(EXECUTOR, data)
    else:
        b.call(EXECUTOR, data).raise_if_error()
    assert ("STATED0: /0|" in b.model.requests[0].grammar) == is_stated


def test_a_rule_that_does_not_exist_is_refused_at_registration() -> None:
    with pytest.raises(ValueError, match="unknown decoding rule 'luck'"):
        Executor([(replace(PROFILE, decoding=(("luck", 1),)), ByteModel([]))])

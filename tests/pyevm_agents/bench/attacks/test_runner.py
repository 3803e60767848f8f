"""Attacks have the expected outcome, and are charged for exactly their use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from precompiles import spec
from precompiles.abi import ParamDescription, ParamType
from precompiles.gas import GasSchedule
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.bench.attacks import cases as attack_cases
from pyevm_agents.bench.attacks.case import (
    BEFORE_END,
    AttackCase,
    AttackTarget,
    ExecutorCall,
    build_attacker_code,
    encode_calldata,
)
from pyevm_agents.bench.attacks.cases import MAKERS, make_attack_cases
from pyevm_agents.bench.attacks.runner import (
    CalibratedAttack,
    EmptyOutputModel,
    calibrate_attack,
    describe_outcome,
    measure_attacks,
)
from pyevm_agents.bench.measurement.budget import TimeBudget
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.measurement.tool_contracts import build_tool_code
from pyevm_agents.bench.measurement.usage import Usage, count_usage, iter_executor_calls
from pyevm_agents.bench.pricing.schedules import NamedSchedule, add_evm_gas, transaction_gas
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.schedule_file import ScheduleFile, read_schedule
from pyevm_agents.models import ScriptedModel, again

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.devnet.local_account import ExecutedTransaction
    from pyevm_agents.models import LlamaModel, Vocabulary
    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]


EXPECTED = {
    "text": "refused: ContextTooLong",
    "unpaid-prompt": "out of gas",
    "addresses": "refused: ContextTooLong",
    "tools": "refused: TooManyTools",
    "history": "refused: HistoryLengthMismatch",
    "steps": "refused: MalformedHistory",
    "aliases": "refused: MalformedCalldata",
    "small-calls": "refused: UnknownSelector",
    "large-calls": "refused: CalldataTooLarge",
    "small-reads": "refused: MalformedToolMetadata",
    "large-reads": "refused: ContextTooLong",
    "failing-read": "refused: ToolMetadataFailed",
    "grammar": "out of gas",
    "out-of-gas": "out of gas",
    "long-prompt": "out of gas",
    "long-answers": "answered",
    "warm": "answered",
}
"""How the last call of each attack ends, by the attack's name."""


@pytest.fixture(scope="module")
def target(vocabulary: Vocabulary) -> AttackTarget:
    facts = vocabulary.profile_facts
    return AttackTarget(
        model=vocabulary,  # type: ignore[arg-type]
        profile=build_measured_profile(facts),
        fingerprint=facts.fingerprint,
        is_quick=True,
    )


@pytest.fixture(scope="module")
def found(target: AttackTarget) -> dict[str, AttackCase]:
    return {case.name: case for case in make_attack_cases(target)}


def model_for(case: AttackCase, vocabulary: Vocabulary) -> ScriptedModel | EmptyOutputModel:
    """Return the shortest text that a case admits; empty where it admits any."""
    if not case.grammar:
        return EmptyOutputModel(vocabulary)  # type: ignore[arg-type]
    answer = "7" * 20 if case.name == "long-answers" else "b"
    return ScriptedModel([again(f" abc\nFinal Answer: {answer}")], vocabulary=vocabulary)


def whole_usage(it: CalibratedAttack, sent: ExecutedTransaction) -> Usage:
    """Return the use of a case, with the gas that the executor did not charge."""
    (profile,) = it.chain.config.models
    usage = count_usage(sent.computation) + it.bought
    return add_evm_gas(usage, sent.receipt.gas_used, it.chain.config.schedule, profile)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_each_attack_ends_as_it_should_and_pays_for_all(
    name: str, found: dict[str, AttackCase], target: AttackTarget, vocabulary: Vocabulary
) -> None:
    case = found[name]
    model = model_for(case, vocabulary)
    it = calibrate_attack(case, model, target)
    asked = model.prompt_lengths if isinstance(model, EmptyOutputModel) else []
    asked.clear()
    _, sent = it.send_once()
    assert describe_outcome(sent.computation) == EXPECTED[name]
    # What halts gets just what it paid for: the rest is the attacker's own code.
    whole = whole_usage(it, sent)
    is_reading = name in {"small-reads", "failing-read"}
    assert whole.evm_gas < (2_100_000 if is_reading else 120_000)
    if case.halts_after:
        most = target.profile.max_output_tokens
        tokens = most - 1 if case.halts_after == BEFORE_END else case.halts_after
        assert len(asked) == len(case.calls)
        assert whole.cold_tokens == sum(asked)
        assert whole.output_tokens == tokens * len(asked)
    if not case.is_reaching_model:
        assert not asked


EMITTED = read_schedule(Path(__file__).parents[4] / "benchmarks" / "reports" / "parity-erc20.json")
CHEAP = {"executor_base_gas": 2, "input_byte_gas": 1, "tool_gas": 3, "parameter_gas": 1}
OTHER_SCHEDULES = {
    "parity": ScheduleFile(schedule=EMITTED.schedule, models={"*": dict(*EMITTED.models.values())}),
    "cheap": ScheduleFile(
        schedule=CHEAP,
        models={
            "*": {
                "cold_prompt_token_gas": 5,
                "warm_prompt_token_gas": 1,
                "output_token_gas": 7,
            }
        },
    ),
}


def under(schedule: ScheduleFile, target: AttackTarget) -> AttackTarget:
    """Return the executor of a chain with another schedule."""
    config = ChainConfig(models=(target.profile,), profile_fingerprint=target.fingerprint)
    applied = schedule.apply_to(config)
    return replace(target, profile=applied.models[0], schedule=applied.schedule)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", OTHER_SCHEDULES)
@pytest.mark.parametrize("name", EXPECTED)
def test_an_attack_costs_under_another_schedule_what_a_report_says(
    name: str,
    schedule: str,
    found: dict[str, AttackCase],
    target: AttackTarget,
    vocabulary: Vocabulary,
) -> None:
    """It is aimed anew, as an attacker would: its gas ends at the same place, for other gas."""
    case, other = found[name], under(OTHER_SCHEDULES[schedule], target)
    it = calibrate_attack(case, model_for(case, vocabulary), target)
    _, sent = it.send_once()
    there = calibrate_attack(case, model_for(case, vocabulary), other)
    _, sent_there = there.send_once()
    assert describe_outcome(sent_there.computation) == describe_outcome(sent.computation)
    usage = whole_usage(it, sent)
    assert whole_usage(there, sent_there) == usage
    assert transaction_gas(usage, other.schedule, other.profile) == sent_there.receipt.gas_used


def test_gas_that_ends_before_the_end_is_just_too_little(
    found: dict[str, AttackCase], target: AttackTarget, vocabulary: Vocabulary
) -> None:
    model = ScriptedModel([again(" abc\nFinal Answer: a longer one")], vocabulary=vocabulary)
    it = calibrate_attack(found["out-of-gas"], model, target)
    _, sent = it.send_once()
    assert describe_outcome(sent.computation) == "out of gas"
    (first, *_) = it.case.calls
    assert first.gas is not None
    enough = replace(first, gas=first.gas + target.profile.output_token_gas)
    paid = replace(it.case, calls=(enough,), halts_after=None)
    _, done = calibrate_attack(paid, model, target).send_once()
    assert describe_outcome(done.computation) == "answered"


def test_the_longest_prompt_fits_the_context_and_hardly_a_token_more(
    target: AttackTarget, vocabulary: Vocabulary
) -> None:
    whole = {case.name: case for case in make_attack_cases(replace(target, is_quick=False))}
    silent = EmptyOutputModel(vocabulary)  # type: ignore[arg-type]
    for name in ("long-prompt", "grammar", "out-of-gas"):
        _, sent = calibrate_attack(whole[name], silent, target).send_once()
        assert describe_outcome(sent.computation) == EXPECTED[name]
    room = target.profile.context_tokens - target.profile.max_output_tokens
    assert room - 100 < max(silent.prompt_lengths) <= room


def test_every_attack_says_how_it_ends(found: dict[str, AttackCase]) -> None:
    assert list(found) == list(EXPECTED)
    assert len(found) == len(MAKERS)


def test_warm_prompts_are_warm(
    found: dict[str, AttackCase], target: AttackTarget, vocabulary: Vocabulary
) -> None:
    case = found["warm"]
    _, sent = calibrate_attack(case, model_for(case, vocabulary), target).send_once()
    calls = [count_usage(call) for call in iter_executor_calls(sent.computation)]
    first, later = calls[: spec.WARM_PREFIXES], calls[spec.WARM_PREFIXES :]
    assert [call.warm_tokens >= spec.PROMPT_BLOCK_TOKENS for call in first] == [
        False,
        *[True] * (spec.WARM_PREFIXES - 1),  # They share their beginning, the instructions.
    ]
    assert all(call.cold_tokens > spec.PROMPT_BLOCK_TOKENS for call in first)
    assert all(call.cold_tokens < spec.PROMPT_BLOCK_TOKENS for call in later)


def test_long_answers_are_written_after_a_prompt_that_is_paid_for_once(
    target: AttackTarget, vocabulary: Vocabulary
) -> None:
    case = next(case for case in make_attack_cases(replace(target, is_quick=False)) if case.grammar)
    digits = attack_cases.LONG_ANSWER_DIGITS
    said = ScriptedModel([again(" abc\nFinal Answer: " + "7" * digits)], vocabulary=vocabulary)
    _, sent = calibrate_attack(case, said, target).send_once()
    first, *later = [count_usage(call) for call in iter_executor_calls(sent.computation)]
    room = target.profile.context_tokens - target.profile.max_output_tokens
    assert room - 200 < first.cold_tokens <= room
    assert len(later) == attack_cases.LONG_ANSWERS - 1
    for call in later:
        assert call.cold_tokens < spec.PROMPT_BLOCK_TOKENS
        assert digits < call.output_tokens <= target.profile.max_output_tokens


def test_calldata_is_as_long_as_a_call_may_be(found: dict[str, AttackCase]) -> None:
    for name in ("text", "unpaid-prompt", "addresses", "tools", "history", "steps", "aliases"):
        (call,) = found[name].calls
        assert spec.MAX_CALLDATA_BYTES - 2_048 < len(call.data) <= spec.MAX_CALLDATA_BYTES


def test_the_attacker_makes_the_calls_that_it_is_told_to(bench: MakeBench) -> None:
    tool = Address(bytes(19) + b"\xaa")
    calls = [
        ExecutorCall(data=b""),
        ExecutorCall(data=encode_calldata(model_id="bytes", prompt="x" * 60_000), gas=1_000_000),
        ExecutorCall(data=encode_calldata(model_id="bytes", tools=[tool])),
    ]
    attacker = Address(bytes(19) + b"\xcc")
    code, stored = build_attacker_code(calls)
    codes = {
        attacker: code,
        tool: build_tool_code(
            "Tool",
            "",
            [ParamDescription(param_type=ParamType.ADDRESS, name="to", description="x")],
        ),
        **stored,
    }
    b = bench([" a\nFinal Answer: b"], codes=codes)
    done = b.call(attacker, b"")
    assert [bytes(call.msg.data) for call in done.children] == [call.data for call in calls]
    assert {call.msg.to for call in done.children} == {EXECUTOR_ADDRESS}
    assert done.children[1].msg.gas == 1_000_000
    assert done.children[2].is_success
    assert b.model.requests[0].grammar.startswith('start: " " THOUGHT')


def test_reverting_changes_nothing_but_the_outcome(bench: MakeBench, target: AttackTarget) -> None:
    del target
    calls = [ExecutorCall(data=encode_calldata(model_id="bytes"))]
    used = {}
    for is_reverting in (False, True):
        attacker = Address(bytes(19) + b"\xcc")
        code, stored = build_attacker_code(calls, is_reverting=is_reverting)
        b = bench([" a\nFinal Answer: b"], codes={attacker: code, **stored})
        done = b.call(attacker, b"")
        assert done.is_error == is_reverting
        used[is_reverting] = done.get_gas_used()
    assert 0 <= used[True] - used[False] < 10


class Quiet:
    """An observer that counts."""

    def __init__(self) -> None:
        self.steps = 0
        self.told = 0

    def begin_part(self, title: str, steps: int) -> None:
        assert title == "Attacks"
        self.steps = steps

    def finish_step(self, detail: str) -> None:
        assert " s" in detail
        self.told += 1


@pytest.mark.slow
def test_attacks_are_timed_and_priced(
    reduced_llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {"_make_unpaid_prompt_case", "_make_aliases_case", "_make_small_calls_case"}
    makers = tuple(make for make in MAKERS if make.__name__ in few)
    monkeypatch.setattr(attack_cases, "MAKERS", makers)
    profile = build_measured_profile(reduced_llama.profile_facts)
    prices = [
        NamedSchedule(name="default", schedule=GasSchedule(), profile=profile),
        NamedSchedule(name="dear", schedule=GasSchedule(input_byte_gas=160), profile=profile),
    ]
    observer = Quiet()
    made = measure_attacks(
        BenchSettings(model=reduced_llama, observer=observer, is_quick=True), prices
    )
    assert observer.steps == observer.told == len(made) == 3
    for attack in made:
        assert attack.outcome == EXPECTED[attack.name]
        default, dear = attack.gas
        assert dear.gas - default.gas == 144 * attack.usage.input_bytes
        (_, at_default), (_, at_dear) = attack.seconds_per_30m_gas
        assert at_default.middle == pytest.approx(attack.seconds[0] * 3e7 / default.gas)
        assert at_dear.middle <= at_default.middle


@pytest.mark.slow
def test_attacks_without_time_are_skipped_and_named(
    reduced_llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("_make_aliases_case", "_make_small_calls_case")
    made = [make for make in MAKERS if make.__name__ in few]
    monkeypatch.setattr(attack_cases, "MAKERS", tuple(made))
    now = [0.0]

    class Late(Quiet):
        def finish_step(self, detail: str) -> None:
            super().finish_step(detail)
            now[0] = 200.0

    budget = TimeBudget(120.0, clock=lambda: now[0])
    setting = BenchSettings(model=reduced_llama, observer=Late(), is_quick=True, budget=budget)
    (attack,) = measure_attacks(setting)
    assert len(attack.seconds) == 1
    assert budget.list_skipped() == (
        ("the attack 'Calls with no calldata'", "out of time after 120 s"),
    )
    assert measure_attacks(setting) == ()


def test_long_attacks_are_not_all_in_one_round(
    reduced_llama: LlamaModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("_make_aliases_case", "_make_small_calls_case", "_make_history_case")
    made = [make for make in MAKERS if make.__name__ in few]
    monkeypatch.setattr(attack_cases, "MAKERS", tuple(made))
    rounds: dict[str, int] = {}
    monkeypatch.setattr(
        "pyevm_agents.bench.attacks.runner._choose_round_count", lambda case, _: rounds[case.name]
    )
    names: list[str] = []

    class Order(Quiet):
        def finish_step(self, detail: str) -> None:
            names.append(detail.partition(":")[0])

    profile = build_measured_profile(reduced_llama.profile_facts)
    target = AttackTarget(model=reduced_llama, profile=profile, fingerprint="", is_quick=True)
    first, second, third = (case.name for case in attack_cases.make_attack_cases(target))
    rounds |= {first: 1, second: 3, third: 1}
    found = measure_attacks(BenchSettings(model=reduced_llama, observer=Order(), is_quick=True))
    assert names == [first, second, second, second, third]
    assert [len(one.seconds) for one in found] == [1, 3, 1]

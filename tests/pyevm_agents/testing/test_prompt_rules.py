"""Selection of rules and their steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.language_model import Segment
from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.models import again, answer
from pyevm_agents.testing.prompt_rules import PromptRules
from tests.pyevm_agents.models.fakes.test_parsed_request_prompts import request_of

if TYPE_CHECKING:
    from precompiles.language_model import GenerationRequest
    from pyevm_agents.models.fakes.script_steps import Step

PATTERNS = ["Go", "^Go$", "Observation: 1", "1(.|\n)*2", "never", ""]


def made(rules: list[tuple[str, int]], *, is_optional: bool = True) -> PromptRules:
    """Return rules whose steps are answers that name rule and number."""
    patterns = PromptRules()
    for index, (pattern, count) in enumerate(rules):
        steps = [answer(f"{index}.{number}") for number in range(count)]
        patterns.add(pattern, "", [*steps, again(answer(f"{index}.x"))], is_optional=is_optional)
    return patterns


def prompts(observations: list[str]) -> list[GenerationRequest]:
    """Return the requests of a run, from its first step on."""
    return [request_of("Go", observations[:step]) for step in range(len(observations) + 1)]


RULES = st.lists(st.tuples(st.sampled_from(PATTERNS), st.integers(0, 2)), max_size=4)
RUNS = st.lists(st.sampled_from(["1", "2", "3"]), max_size=4)


@given(rules=RULES, observations=RUNS)
def test_a_step_is_the_same_whatever_was_asked_before(
    rules: list[tuple[str, int]], observations: list[str]
) -> None:
    run = prompts(observations)
    patterns = made(rules)
    in_turn = [patterns.select_step(request) for request in run]
    assert [made(rules).select_step(request) for request in run] == in_turn
    assert [patterns.select_step(request) for request in reversed(run)] == in_turn[::-1]


@given(rules=RULES, observations=RUNS)
def test_each_rule_says_its_steps_in_turn(
    rules: list[tuple[str, int]], observations: list[str]
) -> None:
    patterns = made(rules)
    said: dict[int, list[str]] = {}
    for request in prompts(observations):
        step = patterns.select_step(request)
        if step is None:
            assert "" not in [pattern for pattern, _ in rules]
            continue
        number, _, which = str(step).partition('"')[2].partition('"')[0].partition(".")
        said.setdefault(int(number), []).append(which)
    for rule, steps in said.items():
        count = rules[rule][1]
        wanted = [str(number) for number in range(count)] + ["x"] * len(steps)
        assert steps == wanted[: len(steps)]


def with_description(request: GenerationRequest, text: str) -> GenerationRequest:
    """Return a request with another system message."""
    segments = [
        replace(one, text=text) if one.text.startswith("Answer") else one
        for one in request.segments
    ]
    return replace(request, segments=tuple(segments))


def test_a_rule_that_matched_before_a_description_changed_is_remembered() -> None:
    patterns = PromptRules()
    patterns.add("Go", "old", [answer("old 1"), answer("old 2")], is_optional=False)
    patterns.add("Go", "new", [answer("new 1"), answer("new 2")], is_optional=False)
    first, second, third = prompts(["1", "2"])
    said: list[Step | None] = [
        patterns.select_step(with_description(first, "Answer: old")),
        patterns.select_step(with_description(second, "Answer: new")),
        patterns.select_step(with_description(third, "Answer: new")),
    ]
    assert said == [answer("old 1"), answer("new 1"), answer("new 2")]
    assert patterns.list_unused_steps() == [
        "when('Go', prompt='old') has steps that were not requested:",
        '  1. answer("old 1")',
        '  2. answer("old 2") (not used)',
    ]


def test_a_rule_without_steps_left_is_told() -> None:
    patterns = PromptRules()
    patterns.add("Go", "", [answer("one")], is_optional=False)
    first, second = prompts(["1"])
    assert patterns.select_step(first) == answer("one")
    with pytest.raises(ScriptError, match=r"^when\('Go'\) has 1 step, .* step 2 of 'Go' asked"):
        patterns.select_step(second)
    assert patterns.list_unused_steps() == []


def test_a_copy_tells_of_its_own_rules_alone() -> None:
    patterns = made([("Go", 1)], is_optional=False)
    copy = patterns.copy()
    copy.add("More", "", [answer("more")], is_optional=False)
    assert [line for line in copy.list_unused_steps() if line.startswith("when")] == [
        "when('More') has steps that were not requested:"
    ]
    assert copy.select_step(prompts([])[0]) == answer("0.0")
    assert len(patterns.list_unused_steps()) == 3


def test_what_matches_nothing_is_left_to_others() -> None:
    patterns = made([("never", 1)])
    assert patterns.select_step(prompts([])[0]) is None
    assert PromptRules().select_step(prompts(["1"])[1]) is None


@pytest.mark.parametrize("patterns", [("(", ""), ("", "(")])
def test_what_is_no_pattern_is_refused(patterns: tuple[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"'\(' is not a regular expression"):
        PromptRules().add(*patterns, [answer("x")], is_optional=False)


def test_the_system_message_is_searched_where_it_is_asked_for_alone() -> None:
    patterns = PromptRules()
    patterns.add("secret", "", [answer("by the question")], is_optional=True)
    patterns.add("", "secret", [answer("by the prompt")], is_optional=True)
    request = request_of("Go", [], base_prompt="The secret word")
    assert Segment(text="Question: Go") in request.segments
    assert patterns.select_step(request) == answer("by the prompt")

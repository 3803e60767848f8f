"""Round trip of prompts: building with `precompiles.react` and parsing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi import IterationRequest
from precompiles.address_handles import AddressBook
from precompiles.escaping import escape_line
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.react import build_prompt, parse_history
from pyevm_agents.models.fakes.parsed_request import parse_prompt
from tests.byte_model import PROFILE

if TYPE_CHECKING:
    from precompiles.language_model import ModelProfile

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
LINES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["Thought:", "Question: x", "\nObservation: y\nThought:", "Final Answer: z", ADDRESS]
    ),
)


def request_of(
    question: str,
    observations: list[str],
    *,
    base_prompt: str = "",
    profile: ModelProfile = PROFILE,
) -> GenerationRequest:
    said = "Thought: so\nAction: t\nAction Input: {}"
    iteration = IterationRequest(
        model_id="",
        base_prompt=base_prompt,
        tools=(),
        agent_reasoning=(said,) * len(observations),
        tool_results=tuple(observations),
        prompt=question,
    )
    book = AddressBook(base_prompt, [question, *observations])
    return GenerationRequest(
        segments=build_prompt(iteration, parse_history(iteration), (), book, profile),
        prompt_tokens=(),
        grammar=build_grammar((), ()),
        max_tokens=1,
        handles=book.handles,
    )


@given(question=LINES, observations=st.lists(LINES, max_size=4), base_prompt=LINES)
def test_question_steps_and_observation_are_found(
    question: str, observations: list[str], base_prompt: str
) -> None:
    request = request_of(question, observations, base_prompt=base_prompt)
    book = AddressBook(base_prompt, [question])
    found = parse_prompt(request)
    assert found.question == escape_line(book.intern(question))
    assert found.step == len(observations) + 1
    later = AddressBook(base_prompt, [question, *observations])
    last = escape_line(later.intern(observations[-1])) if observations else None
    assert found.observation == last
    assert found.text == "".join(segment.text for segment in request.segments)
    assert found.render_prompt_at(found.step) == found.text


@given(question=LINES, observations=st.lists(LINES, min_size=1, max_size=4))
def test_steps_of_a_run_have_one_opening(question: str, observations: list[str]) -> None:
    last = parse_prompt(request_of(question, observations))
    for step in range(1, len(observations) + 2):
        then = parse_prompt(request_of(question, observations[: step - 1]))
        assert then.opening == last.opening
        assert then.step == step


def test_earlier_prompts_of_a_run_are_its_beginnings() -> None:
    last = parse_prompt(request_of("Go", ["a", "b"]))
    for step, observations in ((1, []), (2, ["a"]), (3, ["a", "b"])):
        assert last.render_prompt_at(step) == parse_prompt(request_of("Go", observations)).text
    assert last.render_history_before(1) == ""
    assert last.render_history_before(2).endswith("\nObservation: a\nThought:")


@pytest.mark.parametrize("literal", ["", "Thought:", "Question: no"])
def test_the_template_is_no_question_and_no_turn(literal: str) -> None:
    profile = replace(PROFILE, chat_prefix=literal, chat_middle=literal, chat_suffix=literal)
    found = parse_prompt(request_of("Go", ["a"], profile=profile))
    assert (found.question, found.step, found.observation) == ("Go", 2, "a")


def test_another_prompt_is_all_opening() -> None:
    segments = (Segment(text="hello"),)
    request = GenerationRequest(segments=segments, prompt_tokens=(), grammar="", max_tokens=1)
    found = parse_prompt(request)
    assert (found.opening, found.question, found.step) == (segments, "", 1)

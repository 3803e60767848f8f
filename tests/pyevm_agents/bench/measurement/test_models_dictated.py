"""A dictated text is in the step's own grammar, and parses to the intended step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi import FinalAnswer, ParamDescription, ParamType, ToolUse
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.react import parse
from precompiles.tool_metadata import Tool
from pyevm_agents.bench.measurement.models import DictatedModel, OwnAnswer, build_dictated_grammar
from pyevm_agents.errors import ConfigError, ScriptError
from pyevm_agents.models import answer, use

if TYPE_CHECKING:
    from pyevm_agents.bench.measurement.models import Dictation
    from pyevm_agents.models import LlamaModel, Vocabulary

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
TOOLS = (
    Tool(
        address=b"\x01" * 20,  # type: ignore[arg-type]
        name="PayTool",
        description="Pays",
        parameters=tuple(
            ParamDescription(param_type=kind, name=name, description="")
            for kind, name in (
                (ParamType.ADDRESS, "to"),
                (ParamType.UINT, "amount"),
                (ParamType.STRING_ARRAY, "notes"),
            )
        ),
    ),
    Tool(address=b"\x02" * 20, name="Nothing", description="", parameters=()),  # type: ignore[arg-type]
)
BOOK = AddressBook(f"USDC = {ADDRESS}", [])
PAY = use("PayTool", notes=["a", 'b "quoted" \\ ☃'], amount=2**256 - 1, to=ADDRESS)


def request(*, tokens: tuple[int, ...] = (1,), max_tokens: int = 200) -> GenerationRequest:
    return GenerationRequest(
        segments=(Segment(text="Thought:"),),
        prompt_tokens=tokens,
        grammar=build_grammar(TOOLS, [handle for handle, _ in BOOK.handles]),
        max_tokens=max_tokens,
        handles=BOOK.handles,
    )


def said(vocabulary: Vocabulary, text: str, dictation: Dictation) -> ToolUse | FinalAnswer:
    """Return the meaning of a text that both grammars admit."""
    whole = request(max_tokens=2_000)
    part = GenerationRequest(
        segments=whole.segments,
        prompt_tokens=whole.prompt_tokens,
        grammar=build_dictated_grammar(dictation, whole),
        max_tokens=2_000,
    )
    assert vocabulary.encode_given_text(text, part).text == text
    assert vocabulary.encode_given_text(text, whole).text == text
    return parse(text, TOOLS, BOOK)


PAID = '\nAction: PayTool\nAction Input: {"to": "USDC", "amount": '
PAID += f'{2**256 - 1}, "notes": ["a", "b \\"quoted\\" \\\\ ☃"]}}'


def test_a_tool_with_arguments_of_every_spelling(vocabulary: Vocabulary) -> None:
    step = said(vocabulary, " I pay." + PAID, PAY)
    assert isinstance(step, ToolUse)
    assert step.values == (ADDRESS, 2**256 - 1, ["a", 'b "quoted" \\ ☃'])


@pytest.mark.parametrize(
    ("dictation", "tail"),
    [
        (use("Nothing"), "\nAction: Nothing\nAction Input: {}"),
        (answer("It is done."), "\nFinal Answer: It is done."),
        (OwnAnswer(), "\nFinal Answer: Whatever ☃ I say."),
        (OwnAnswer(characters=1), "\nFinal Answer: a"),
        (OwnAnswer(characters=9), "\nFinal Answer: so, it is"),
        (OwnAnswer(characters=1_024), "\nFinal Answer: " + "ab. " * 256),
    ],
)
@pytest.mark.parametrize("thought", ["x", "Thinking ☃ of it.", "ab " * 80])
def test_what_is_dictated_can_be_said_and_parses(
    vocabulary: Vocabulary, dictation: Dictation, tail: str, thought: str
) -> None:
    step = said(vocabulary, f" {thought}{tail}", dictation)
    assert isinstance(step, ToolUse) == ("Action" in tail)


@pytest.mark.parametrize(
    ("dictation", "text"),
    [
        (PAY, " I pay.\nFinal Answer: no"),
        (PAY, " I pay.\nAction: Nothing\nAction Input: {}"),
        (PAY, " I say 0x1." + PAID),
        (OwnAnswer(), " a\nAction: Nothing\nAction Input: {}"),
        (OwnAnswer(characters=3), " a\nFinal Answer: ab"),
        (OwnAnswer(characters=3), " a\nFinal Answer: abcd"),
        (OwnAnswer(characters=3), " a\nFinal Answer:  ab"),
        (answer("yes"), " a\nFinal Answer: no"),
    ],
)
def test_nothing_else_can_be_said(vocabulary: Vocabulary, dictation: Dictation, text: str) -> None:
    with pytest.raises(ScriptError):
        said(vocabulary, text, dictation)


@pytest.mark.parametrize("characters", [0, -1, 1_025])
def test_an_answer_that_no_grammar_admits_is_refused(characters: int) -> None:
    with pytest.raises(ConfigError, match=f"an answer of {characters} characters: ask for 1 to"):
        OwnAnswer(characters=characters)


@given(st.integers(1, 1_024))
def test_an_own_answer_has_its_length(characters: int) -> None:
    grammar = build_dictated_grammar(OwnAnswer(characters=characters), request())
    assert f"ANSWER: /[a-z][a-z ,.]{{{characters - 1}}}/\n" in grammar


def test_the_model_thinks_for_itself_and_does_as_it_is_told(llama: LlamaModel) -> None:
    asked: list[GenerationRequest] = []

    def dictate(request: GenerationRequest) -> Dictation:
        asked.append(request)
        return (PAY, OwnAnswer(characters=12))[len(asked) - 1]

    model = DictatedModel(llama, dictate)
    assert model.profile_facts is llama.profile_facts
    tokens = model.tokenize((Segment(text="Question: Pay USDC.\nThought:"),))
    first = model.generate(request(tokens=tokens))
    assert first.is_complete
    assert first.text.endswith(PAID)
    assert 0 < first.forced_tokens < len(first.tokens)
    step = parse(first.text, TOOLS, BOOK)
    assert isinstance(step, ToolUse)
    second = parse(model.generate(request(tokens=tokens)).text, TOOLS, BOOK)
    assert isinstance(second, FinalAnswer)
    assert len(second.answer) == 12

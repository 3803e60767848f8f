"""The short format: the grammar admits what `parse` accepts, and values come from the texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address
from eth_utils import to_checksum_address
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from precompiles.abi import (
    FinalAnswer,
    IterationRequest,
    ParamDescription,
    ParamType,
    ToolUse,
    encode_result,
)
from precompiles.address_handles import AddressBook
from precompiles.react import GrammarViolationError, intern_reasoning, parse_history
from precompiles.short_format.step import ShortFormat
from precompiles.stated_values import limit_tools
from precompiles.tool_metadata import Tool
from tests.precompiles.test_grammar import BYTES, OTHER, THIRD, compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE_PROMPT = f"BOB = {OTHER}\nThe treasury is at {THIRD}. Pay 7 wei by default."
STRING, ADDRESS, BOOL, INT, UINT, STRINGS, ADDRESSES, BOOLS, INTS, UINTS = ParamType


def tool(name: str, *parameters: tuple[ParamType, str], number: int = 1) -> Tool:
    return Tool(
        address=Address(number.to_bytes(20, "big")),
        name=name,
        description="",
        parameters=tuple(
            ParamDescription(param_type=kind, name=f"p{index}", description=description)
            for index, (kind, description) in enumerate(parameters)
        ),
    )


PAY = tool("pay", (ADDRESS, ""), (UINT, ""), number=1)
NOTE = tool("note", (STRING, ""), (BOOL, ""), number=2)
MOVE = tool("move", (INT, ""), number=3)
PING = tool("ping", number=4)
SPLIT = tool("split", (ADDRESSES, ""), (UINTS, ""), number=5)
TAGS = tool("tags", (STRINGS, ""), (BOOLS, ""), (INTS, ""), number=6)
YES = True
CENTS = tool("cents", (UINT, "amount, 6 decimals"), (UINT, "fee in basis points"), number=7)
MOOD = tool("mood", (STRING, 'one of: happy, very sad, 0x12, a\u0007b or "so\'s"'), number=8)
TOOLS = (PAY, NOTE, MOVE, PING, SPLIT, TAGS, CENTS, MOOD)


def form_of(
    question: str,
    tools: Sequence[Tool] = TOOLS,
    *,
    base_prompt: str = BASE_PROMPT,
    steps: Sequence[tuple[str, str]] = (),
) -> tuple[ShortFormat, AddressBook]:
    """Return the format of a step, and its handles; `steps` are reasonings and results."""
    request = IterationRequest(
        model_id="",
        base_prompt=base_prompt,
        tools=(),
        agent_reasoning=tuple(reasoning for reasoning, _ in steps),
        tool_results=tuple(result for _, result in steps),
        prompt=question,
    )
    book = AddressBook(base_prompt, [question, *request.tool_results])
    return ShortFormat(request, parse_history(request), tools, book), book


def ran(tool_name: str, result: str, thought: str = "x") -> tuple[str, str]:
    return f"Thought: {thought}\nAction: {tool_name}\nAction Input: {{}}", result


def matcher_of(form: ShortFormat) -> LLMatcher:
    return compiled(form.grammar).deep_copy()


def admits(form: ShortFormat, text: str) -> bool:
    matcher = matcher_of(form)
    spoken = list(text.encode())
    consumed = matcher.try_consume_tokens(spoken)
    assert not matcher.get_error()
    return consumed == len(spoken) and matcher.is_accepting()


def parses(form: ShortFormat, text: str) -> bool:
    try:
        form.parse(text)
    except GrammarViolationError:
        return False
    return True


def assert_sound(form: ShortFormat, book: AddressBook, text: str) -> None:
    """Assert the properties of every text that the grammar admits."""
    result = form.parse(text)
    assert encode_result(result)
    if isinstance(result, FinalAnswer):
        return
    assert intern_reasoning(result.agent_reasoning, book) == f"Thought:{text}"
    (step,) = parse_history(
        IterationRequest(
            model_id="",
            base_prompt="",
            tools=(),
            agent_reasoning=(result.agent_reasoning,),
            tool_results=("",),
            prompt="",
        )
    )
    assert step.reasoning == result.agent_reasoning


def call(thought: str, name: str, *values: object) -> str:
    arguments = json.dumps(
        {f"p{index}": value for index, value in enumerate(values)}, ensure_ascii=False
    )
    return f" {thought}\nAction: {name}\nAction Input: {arguments}"


def values_of(form: ShortFormat, text: str) -> tuple[object, ...]:
    result = form.parse(text)
    assert isinstance(result, ToolUse)
    return result.values


# -- the grammar and the parser -- #

FRAGMENTS = (
    "pay", "bob", "BOB", "addr1", "addr2", "treasury", " ", " ", ", ", ". ", " and ", "\t", "\n",
    "5", "2.5", "-3", "two hundred", "5%", "9" * 80, str(2**256), str(2**255), "0x1", OTHER,
    '"a b"', '"', "“BOB”", "«c\\»", "\\", "/", "é", "字", "😀", "\u2028", "\x00", "0", "x", "{",
    "All done.", "Nothing to do.", "Final Answer: Done.", "Action: pay", "x" * 60, "[", "|", "]",
    "}", "half a million", "1/2",
)  # fmt: skip
QUESTIONS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=14).map("".join)
STEPS = st.lists(
    st.builds(ran, st.sampled_from([one.name for one in TOOLS]), QUESTIONS), max_size=2
)


def draw_text(data: st.DataObject, form: ShortFormat, limit: int = 2_000) -> str:
    """Draw an admitted text, byte by byte."""
    matcher = matcher_of(form)
    spoken = bytearray()
    while len(spoken) < limit:
        forced = matcher.compute_ff_bytes()
        if forced:
            following = list(forced)
        else:
            bits = matcher.compute_bitmask()
            allowed = [byte for byte in range(256) if bits[byte // 8] >> byte % 8 & 1]
            if not allowed or (matcher.is_accepting() and data.draw(st.booleans())):
                break
            following = [data.draw(st.sampled_from(allowed))]
        assert matcher.consume_tokens(following), matcher.get_error()
        spoken += bytes(following)
        if matcher.is_stopped():
            break
    assume(matcher.is_accepting())
    return spoken.decode()


@given(st.data(), QUESTIONS, STEPS)
@settings(max_examples=150, deadline=None)
def test_every_admitted_text_parses_encodes_and_reads_as_it_was_written(
    data: st.DataObject, question: str, steps: list[tuple[str, str]]
) -> None:
    form, book = form_of(question, steps=steps)
    assert_sound(form, book, draw_text(data, form))


VALUES = st.one_of(
    st.integers(-5, 300),
    st.booleans(),
    st.sampled_from(["BOB", "addr1", "addr2", "a b", "pay", "happy", "very sad", "", "0x12", "é"]),
    st.sampled_from([2**256 - 1, 2**255, 5 * 10**6, OTHER]),
)
NUMBERED = "pay BOB 5, note “a b” and tell addr2 two hundred"


@given(
    st.sampled_from(["pay BOB 5", "note", 'note "…" and tell addr2 two hundred', "BOB", ""]),
    st.sampled_from(TOOLS),
    st.lists(VALUES | st.lists(VALUES, max_size=3), max_size=3),
)
@settings(max_examples=150, deadline=None)
def test_parses_what_the_grammar_admits_and_nothing_else(
    thought: str, used: Tool, values: list[object]
) -> None:
    form, _ = form_of(NUMBERED)
    text = call(thought, used.name, *values)
    assert parses(form, text) == admits(form, text)


@given(st.data(), QUESTIONS, st.sampled_from([" ", "\n", "0", "x", '"', "}", "\\", "é"]))
@settings(max_examples=80, deadline=None)
def test_a_changed_text_parses_only_if_the_grammar_admits_it(
    data: st.DataObject, question: str, character: str
) -> None:
    form, _ = form_of(question)
    text = draw_text(data, form)
    place = data.draw(st.integers(0, len(text)))
    skipped = data.draw(st.integers(0, 2))
    changed = text[:place] + character * data.draw(st.integers(0, 1)) + text[place + skipped :]
    assert parses(form, changed) == admits(form, changed)


@pytest.mark.parametrize(
    ("text", "is_admitted"),
    [
        (call("pay BOB 5", "pay", "BOB", 5), True),
        (call("pay BOB 5", "pay", "BOB", 5).replace("5}", "5 }"), False),
        (call("pay BOB 5", "pay", "BOB", 6), False),
        (call("pay BOB 5", "pay", "addr1", 5), False),
        (call("pay BOB 5", "pay", OTHER, 5), False),
        (call("pay BOB 5", "pay", "BOB", "5"), False),
        (call("pay BOB 5", "pay", "BOB", YES), False),
        (call("pay BOB 5", "pay", "BOB"), False),
        (call("pay", "pay", "BOB", 5), False),
        (call("pay BOB 5", "drain", "BOB", 5), False),
        (call("pay BOB 5", "split", ["BOB", "BOB"], [5]), True),
        (call("pay BOB 5", "split", [], [5]), False),
        (call("pay BOB 5", "split", "BOB", [5]), False),
        (call("pay BOB 5", "split", ["BOB"], [5] * 64), True),
        (call("pay BOB 5", "split", ["BOB"], [5] * 65), False),
        (call("pay BOB 5", "split", ["BOB"], [[5]]), False),
        (call("pay BOB 5", "ping"), True),
        (" pay BOB 5\nFinal Answer: I can't do that.", True),
        (" pay BOB 5\nFinal Answer: I can't do that.\n", False),
        (" pay BOB 5\nFinal Answer: Done.", False),
        ("pay BOB 5\nFinal Answer: I can't do that.", False),
        ("  pay BOB 5\nFinal Answer: I can't do that.", False),
        (" All done.\nFinal Answer: Done.", False),
        (" It failed.\nFinal Answer: Failed.", False),
        ("", False),
        ("\n", False),
    ],
)
def test_examples(text: str, is_admitted: bool) -> None:
    form, _ = form_of("pay BOB 5")
    assert (admits(form, text), parses(form, text)) == (is_admitted, is_admitted)


@pytest.mark.parametrize(
    "question",
    ["", "...", "5", '"pay BOB 5"', "x" * 241, "0x12", "\n\n", "1" * 5_000, "pay 0x12 5"],
)
def test_a_question_without_clauses_can_only_be_refused(question: str) -> None:
    form, book = form_of(question)
    text = " Nothing to do.\nFinal Answer: I can't do that."
    assert_sound(form, book, text)
    assert admits(form, text)
    assert form.parse(text) == FinalAnswer(answer="I can't do that: Nothing to do.")
    assert not any(admits(form, call("Nothing to do.", one.name)) for one in TOOLS)


@pytest.mark.parametrize("blank", [" ", "\t", "   "])
def test_blanks_of_a_question_are_no_fault(blank: str) -> None:
    form, book = form_of(f"{blank}pay{blank}BOB 5, wait")
    thought = f"pay{' ' * len(blank)}BOB 5"
    assert_sound(form, book, call(thought, "pay", "BOB", 5))
    assert admits(form, call(thought, "pay", "BOB", 5))


# -- values -- #


@given(st.lists(st.integers(-(2**255), 2**256), min_size=1, max_size=6), st.booleans())
@settings(deadline=None)
def test_a_number_is_one_that_the_texts_have(those: list[int], is_result: bool) -> None:
    said = " ".join(map(str, those))
    form, _ = form_of(
        "move" if is_result else f"move {said}",
        [MOVE],
        base_prompt="",
        steps=[ran("look", said)] if is_result else [],
    )
    thought = "move" if is_result else form.clauses[-1].text
    near = {number + step for number in those for step in (-1, 0, 1)} | {0, 2**255 - 1}
    legal = {number for number in those if -(2**255) <= number < 2**255}
    if len(form.clauses) == 1:
        accepted = {n for n in near if parses(form, call(thought, "move", n))}
        assert accepted == {n for n in legal if is_result or str(n) in thought}


def test_a_number_of_another_clause_is_no_argument() -> None:
    form, _ = form_of("look, move 5", [MOVE], base_prompt="")
    assert {one.text for one in form.clauses} == {"look", "look, move 5", "move 5"}
    assert not parses(form, call("look", "move", 5))
    assert parses(form, call("look, move 5", "move", 5))
    assert parses(form, call("move 5", "move", 5))


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("cents 2.5 at 0.3%", (2_500_000, 30)),
        ("cents 2.5 thousand at one percent", (2_500_000_000, 100)),
    ],
)
def test_a_stated_unit_is_a_factor(question: str, values: tuple[int, int]) -> None:
    form, _ = form_of(question)
    assert values_of(form, call(question, "cents", *values)) == values


@pytest.mark.parametrize(
    ("description", "said", "value"),
    [
        ("in wei", "2", 2 * 10**18),
        ("in wei", "2 wei", 2),
        ("amount in cents", "1.25", 125),
        ("scaled by 1e18", "0.5", 5 * 10**17),
        ("10 ** 6 of them", "1", 10**6),
        ("77 decimals", "1", 10**77),
        ("a thousand each", "3", 3_000),
        ("fee in bps", "0.25%", 25),
        ("slippage", "3 per cent", 3),
        ("largest deviation", "84 percent", 84),
        ("CENTS, 2 Decimals", "7", 700),
    ],
)
def test_a_number_is_converted_to_the_unit_of_the_description(
    description: str, said: str, value: int
) -> None:
    form, _ = form_of(f"set {said}", [tool("set", (UINT, description))], base_prompt="")
    assert values_of(form, call(f"set {said}", "set", value)) == (value,)


@pytest.mark.parametrize(
    ("kind", "description", "said"),
    [
        (UINT, "", "-1"), (UINT, "", str(2**256)), (UINT, "77 decimals", "2"), (UINT, "", "0.5"),
        (INT, "", str(2**255)), (INT, "", str(-(2**255) - 1)), (UINT, "", "5%"), (UINT, "", "1/2"),
        (UINT, "", "9" * 5_000),
    ],
)  # fmt: skip
def test_a_tool_without_a_legal_number_is_left_out(
    kind: ParamType, description: str, said: str
) -> None:
    form, _ = form_of(f"set {said}"[:200], [tool("set", (kind, description))], base_prompt="")
    assert "Action" not in form.grammar


@pytest.mark.parametrize("number", [0, 2**256 - 1])
def test_the_limits_of_uint256_are_legal(number: int) -> None:
    form, _ = form_of(f"set {number}", [tool("set", (UINT, ""))])
    assert values_of(form, call(f"set {number}", "set", number)) == (number,)


@pytest.mark.parametrize("number", [-(2**255), 2**255 - 1])
def test_the_limits_of_int256_are_legal(number: int) -> None:
    form, _ = form_of(f"move {number}")
    assert values_of(form, call(f"move {number}", "move", number)) == (number,)


def test_a_clause_that_names_enough_allows_no_other_values() -> None:
    form, _ = form_of(f"pay BOB 5, pay {THIRD} 6")
    assert values_of(form, call("pay addr1 6", "pay", "addr1", 6)) == (
        to_checksum_address(THIRD),
        6,
    )
    assert not parses(form, call("pay BOB 5", "pay", "addr1", 5))
    assert not parses(form, call("pay BOB 5", "pay", "BOB", 6))
    both = "pay BOB 5, pay addr1 6"
    assert parses(form, call(both, "pay", "addr1", 5))


def test_missing_values_come_from_question_results_and_base_prompt() -> None:
    form, _ = form_of("pay the treasury", base_prompt=BASE_PROMPT)
    assert values_of(form, call("pay the treasury", "pay", "addr1", 7))[1] == 7
    assert not parses(form, call("pay the treasury", "pay", "BOB", 7))
    form, _ = form_of("pay it", base_prompt="", steps=[ran("look", f"{OTHER} is owed 9")])
    assert values_of(form, call("pay it", "pay", "addr1", 9)) == (to_checksum_address(OTHER), 9)


def test_words_of_the_base_prompt_name_an_address_only_if_the_clause_names_too_few() -> None:
    form, _ = form_of("pay the treasury 5, pay BOB 5")
    assert parses(form, call("pay the treasury 5", "pay", "addr1", 5))
    assert not parses(form, call("pay the treasury 5", "pay", "BOB", 5))
    assert not parses(form, call("pay BOB 5", "pay", "addr1", 5))


def test_a_list_has_the_addresses_that_a_clause_names_and_those_that_it_describes() -> None:
    thought = "split 5 between BOB and the treasury"
    form, _ = form_of(thought)
    assert parses(form, call(thought, "split", ["BOB", "addr1"], [5]))


def test_a_quoted_name_is_an_address_of_the_clause() -> None:
    form, _ = form_of(f'pay "BOB" 5, tell {THIRD}')
    assert parses(form, call('pay "…" 5', "pay", "BOB", 5))
    assert not parses(form, call('pay "…" 5', "pay", "addr1", 5))


def test_quoted_texts_are_values_and_never_orders_or_numbers() -> None:
    form, _ = form_of('note "pay BOB 5. Now" twice')
    thought = 'note "…" twice'
    assert [clause.text for clause in form.clauses] == [thought]
    assert values_of(form, call(thought, "note", "pay BOB 5. Now", YES))[1] is True
    assert not parses(form, call(thought, "note", "pay BOB 5", YES))
    assert not parses(form, call(thought, "move", 5))


def test_a_text_is_a_span_of_the_question_or_of_the_last_result() -> None:
    steps = [ran("ping", "old words"), ran("ping", "new words, here")]
    form, _ = form_of("note down all of this, please", steps=steps)
    thought = "note down all of this"
    for said in ("all of this", "please", "new words", "down"):
        assert parses(form, call(thought, "note", said, YES)), said
    for said in ("all this", "this please", "old words", "words here", "", " all", "note  down"):
        assert not parses(form, call(thought, "note", said, YES)), said


def test_a_span_has_at_most_twelve_words_of_48_bytes() -> None:
    words = [f"w{index}" for index in range(14)]
    form, _ = form_of(" ".join(words))
    for count, is_admitted in ((12, True), (13, not YES)):
        text = call(" ".join(words), "note", " ".join(words[:count]), YES)
        assert (admits(form, text), parses(form, text)) == (is_admitted, is_admitted)
    for word in ("x" * 48, "é" * 24):
        assert parses(form_of(f"note {word}")[0], call(f"note {word}", "note", word, YES))
        longer = word + word[-1]
        assert not parses(form_of(f"note {longer}")[0], call(f"note {longer}", "note", longer, YES))


def test_a_quotation_has_at_most_1024_characters() -> None:
    for size, is_admitted in ((1_024, True), (1_025, not YES)):
        form, _ = form_of(f'note "{"x" * size}"')
        text = call('note "…"', "note", "x" * size, YES)
        assert (admits(form, text), parses(form, text)) == (is_admitted, is_admitted)


def test_a_stated_set_has_no_text_that_cannot_be_generated() -> None:
    form, _ = form_of("be happy")
    for said in ("happy", "very sad", "so's"):
        assert parses(form, call("be happy", "mood", said)), said
    for said in ("0x12", "a\u0007b", "be", ""):
        assert not parses(form, call("be happy", "mood", said)), said
    assert parses(form_of('be "calm"')[0], call('be "…"', "mood", "happy"))


# -- the run so far -- #


def test_a_tool_runs_once_for_a_part() -> None:
    form, _ = form_of("ping, ping again", steps=[ran("ping", "ok", "ping")])
    assert not parses(form, call("ping", "ping"))
    assert not parses(form, call("ping, ping again", "ping"))
    assert parses(form, call("ping again", "ping"))
    assert parses(form, call("ping", "note", "again", YES))


@pytest.mark.parametrize(
    ("thought", "answer", "composed"),
    [
        ("All done.", "Done.", "Done. ping: ok; pay: paid\\nUNSURE: x"),
        ("It failed.", "Failed.", "Failed. ping: ok; pay: paid\\nUNSURE: x"),
        (
            "pay BOB 5",
            "I can't do that.",
            f"I can't do that: pay {OTHER} 5; done before: ping: ok; pay: paid\\nUNSURE: x",
        ),
    ],
)
def test_an_answer_names_the_tools_that_ran_on_one_line(
    thought: str, answer: str, composed: str
) -> None:
    steps = [ran("ping", "ok"), ran("pay", "paid\nUNSURE: x")]
    form, _ = form_of("pay BOB 5", steps=steps)
    text = f" {thought}\nFinal Answer: {answer}"
    assert admits(form, text)
    assert form.parse(text) == FinalAnswer(answer=composed)


def test_an_answer_truncates_no_address() -> None:
    for padding in range(120, 202):
        form, _ = form_of("pay", steps=[ran("look", "y" * padding + " " + OTHER + " z" * 50)])
        answer = form.parse(" All done.\nFinal Answer: Done.")
        assert isinstance(answer, FinalAnswer)
        assert OTHER in answer.answer or "0x" not in answer.answer
        assert len(answer.answer) <= len("Done. look: ") + 200
    form, _ = form_of("pay", steps=[ran(f"tool{n}", f"{OTHER} " * 4) for n in range(20)])
    answer = form.parse(" All done.\nFinal Answer: Done.")
    assert isinstance(answer, FinalAnswer)
    assert len(answer.answer) <= 1_024
    assert answer.answer.replace(OTHER, "").count("0x") == 0


# -- refusal sentences -- #

WHY = f"I cannot open the vault: only {OTHER} can."
VAULT = f"BOB = {OTHER}\n{WHY}\nI cannot sing\r\n I cannot swim.\nI can't fly.\nI cannotdo."


@pytest.mark.parametrize(
    ("sentence", "answer"),
    [
        ("I cannot open the vault: only BOB can.", WHY),
        ("I cannot sing", "I cannot sing"),
        ("I cannot sing\r", None),
        ("I cannot swim.", None),
        (" I cannot swim.", None),
        ("I can't fly.", None),
        ("I cannotdo.", None),
        ("I cannot open the vault: only BOB can", None),
        (WHY, None),
        ("I cannot ", None),
        ("", None),
    ],
)
def test_an_answer_copies_a_line_of_the_base_prompt(sentence: str, answer: str | None) -> None:
    form, _ = form_of("open the vault", base_prompt=VAULT)
    text = f" open the vault\nFinal Answer: {sentence}"
    assert admits(form, text) == parses(form, text) == (answer is not None)
    if answer is not None:
        assert form.parse(text) == FinalAnswer(answer=answer)
    assert parses(form, " open the vault\nFinal Answer: I can't do that.")
    assert not parses(form, " open\nFinal Answer: I cannot sing")


def test_a_copied_sentence_names_the_steps_done_before() -> None:
    form, _ = form_of("open the vault", base_prompt=VAULT, steps=[ran("ping", "ok")])
    answers = [
        form.parse(f" open the vault\nFinal Answer: {sentence}")
        for sentence in ("I cannot open the vault: only BOB can.", "I cannot sing")
    ]
    assert answers == [
        FinalAnswer(answer=f"{WHY.removesuffix('.')}; done before: ping: ok"),
        FinalAnswer(answer="I cannot sing; done before: ping: ok"),
    ]


@pytest.mark.parametrize(
    "line", ["I cannot say 0x12", "I cannot \x07", "I cannot \t", "I cannot \u2028", "I cannot 0X"]
)
def test_a_line_that_no_answer_can_have_is_no_refusal_sentence(line: str) -> None:
    with_line, _ = form_of("wait", [PING], base_prompt=line)
    without, _ = form_of("wait", [PING], base_prompt="")
    assert with_line.grammar == without.grammar


def test_a_refusal_sentence_has_at_most_1024_characters() -> None:
    for size, is_admitted in ((1_024, True), (1_025, not YES)):
        line = "I cannot ".ljust(size, "é")
        form, _ = form_of("wait", base_prompt=line)
        text = f" wait\nFinal Answer: {line}"
        assert admits(form, text) == parses(form, text) == is_admitted


def test_at_most_64_different_refusal_sentences_count() -> None:
    lines = [f"I cannot do {n}." for n in range(65)]
    form, _ = form_of("wait", base_prompt="\n".join([lines[0], *lines]))
    for line, is_admitted in ((lines[63], True), (lines[64], not YES)):
        text = f" wait\nFinal Answer: {line}"
        assert admits(form, text) == parses(form, text) == is_admitted


def test_without_a_clause_a_sentence_can_be_the_answer() -> None:
    form, _ = form_of("...", base_prompt="I cannot sing")
    text = " Nothing to do.\nFinal Answer: I cannot sing"
    assert admits(form, text)
    assert form.parse(text) == FinalAnswer(answer="I cannot sing")


ADMIN = "I cannot call adminFunction because only BOB (the owner) may, and my account is not it."
PAUSE = "I cannot call pause because it compares who calls, and my account does not pass."
CLOSED = f"BOB = {OTHER}\n{ADMIN}\n{PAUSE}\nI cannot sing"


@pytest.mark.parametrize(
    ("clause", "reasons"),
    [
        ("call the admin function", (ADMIN,)),
        ("run adminFunction now", (ADMIN,)),
        ("Admin Function", (ADMIN,)),
        ("pause the admin function", (ADMIN, PAUSE)),
        ("call the function of the admin", ()),
        ("unpause it", ()),
        ("ping the admin function", ()),
        ("sing", ()),
    ],
)
def test_a_clause_that_names_a_closed_function_is_answered_with_the_reason(
    clause: str, reasons: tuple[str, ...]
) -> None:
    form, _ = form_of(clause, base_prompt=CLOSED)
    for answer in ("I can't do that.", ADMIN, PAUSE, "I cannot sing"):
        text = f" {clause}\nFinal Answer: {answer}"
        assert admits(form, text) == parses(form, text) == (answer in reasons or not reasons)
    text = f" {clause}\nAction: ping\nAction Input: {{}}"
    assert admits(form, text) == parses(form, text) == (not reasons)


def test_only_a_reason_of_a_call_closes_a_clause() -> None:
    for line in ("I cannot call pause", "I cannot pause because it is late", "You cannot pause"):
        form, _ = form_of("pause", base_prompt=line)
        assert admits(form, " pause\nAction: ping\nAction Input: {}")


# -- numbers that count a named token -- #

GIVE_COIN = tool("giveCoin", (UINT, "COIN to give, 6 decimals"), number=11)
GIVE_OWN = tool("giveOwn", (UINT, "own money to give, 18 decimals"), number=12)
GIVE_ANY = tool("giveAny", (ADDRESS, "token"), (UINT, "amount, 6 decimals"), number=13)
GIVE_PLAIN = tool("givePlain", (UINT, "how much"), number=14)
GIVING = (GIVE_COIN, GIVE_OWN, GIVE_ANY, GIVE_PLAIN)
COINS = f"COIN = {OTHER}\nGOLD = {THIRD}"


@pytest.mark.parametrize(
    ("clause", "tools"),
    [
        ("give 5 COIN", {"giveCoin", "giveAny", "givePlain"}),
        ("give 5 coin for own money", {"giveCoin", "giveAny", "givePlain"}),
        ("give 5 GOLD", {"giveAny", "givePlain"}),
        ("give 5 own money for COIN", {"giveCoin", "giveOwn", "giveAny", "givePlain"}),
        ("give 5 for 6 COIN", {"giveCoin", "giveOwn", "giveAny", "givePlain"}),
        ("give 5", {"giveCoin", "giveOwn", "givePlain"}),
    ],
)
def test_a_number_of_a_named_token_fills_no_number_of_another(clause: str, tools: set[str]) -> None:
    form, _ = form_of(clause, GIVING, base_prompt=COINS)
    scoring = form.scoring
    (found,) = [one.tools for one in scoring.clauses if one.text == clause]
    assert {scoring.names[index] for index in found} == tools


# -- stated ranges -- #

SCORE = tool("score", (UINT, "from 0 to 100"), (STRING, "one of good, bad"), number=9)
RATED_PAY = tool("rated", (UINT, "points from 1 to 10"), (UINT, "amount"), number=10)
WIDE = tool("wide", (UINT, "from 1 to 1025"), number=11)


@pytest.mark.parametrize(
    ("question", "values", "admitted"),
    [
        ("score the harbour", (0, "good"), True),
        ("score the harbour", (100, "bad"), True),
        ("score the harbour", (101, "bad"), False),
        ("score the harbour with 80", (80, "bad"), True),
        ("score the harbour with 80", (81, "bad"), False),
        ("score house 1234", (5, "bad"), True),
        ("score house 1234", (1234, "bad"), False),
    ],
)
def test_a_number_that_no_text_gives_is_chosen_in_its_range(
    question: str, values: tuple[object, ...], admitted: bool
) -> None:
    form, _ = form_of(question, limit_tools([SCORE]))
    text = call(question, "score", *values)
    assert admits(form, text) == parses(form, text) == admitted


def test_without_the_rule_no_number_is_chosen() -> None:
    form, _ = form_of("score the harbour", [SCORE], base_prompt="")
    assert not admits(form, call("score the harbour", "score", 5, "good"))


@pytest.mark.parametrize(("points", "amount", "admitted"), [(3, 50, True), (3, 3, False)])
def test_a_chosen_number_leaves_the_clauses_to_the_others(
    points: int, amount: int, admitted: bool
) -> None:
    form, _ = form_of("reward her with 50", limit_tools([RATED_PAY]), base_prompt="")
    text = call("reward her with 50", "rated", points, amount)
    assert admits(form, text) == parses(form, text) == admitted


def test_a_wide_range_is_not_chosen_from() -> None:
    form, _ = form_of("go wide", limit_tools([WIDE]), base_prompt="")
    assert not admits(form, call("go wide", "wide", 5))
    form, _ = form_of("go wide 1025 and wide 1026", limit_tools([WIDE]), base_prompt="")
    assert admits(form, call("go wide 1025", "wide", 1025))
    assert not admits(form, call("wide 1026", "wide", 1026))


# -- scores -- #


def test_a_generation_is_scored_on_the_admitted_tools_of_each_clause() -> None:
    form, _ = form_of("pay BOB 5, ping", [PAY, PING], base_prompt=f"BOB = {OTHER}")
    scoring = form.scoring
    assert scoring.router_weight == 0
    assert scoring.names == ("pay", "ping")
    assert [(one.text, one.tools) for one in scoring.clauses] == [
        ("pay BOB 5", (0, 1)), ("pay BOB 5, ping", (0, 1)), ("ping", (1,)),
    ]  # fmt: skip
    form, _ = form_of("wait, ping", [PAY, PING], base_prompt="")
    assert [one.tools for one in form.scoring.clauses] == [(1,), (1,), (1,)]


# -- limits -- #


@pytest.mark.parametrize(
    ("parameters", "branches"), [(0, 1), (3, 1), (4, 2), (7, 2), (8, 3), (32, 9)]
)
def test_branches_are_of_clauses_tools_and_every_four_parameters(
    parameters: int, branches: int
) -> None:
    form, _ = form_of("a, b", [tool("t", *[(BOOL, "")] * parameters), PING])
    assert (len(form.clauses), form.branches) == (3, 3 * (branches + 1))


def many_tools(count: int, *parameters: tuple[ParamType, str]) -> list[Tool]:
    return [tool(f"t{n}", *parameters, number=n + 1) for n in range(count)]


def test_clauses_beyond_4096_branches_are_left_out() -> None:
    question = ", ".join(f"a{n}" for n in range(16))
    assert len(form_of(question, many_tools(50))[0].clauses) == 81
    form, _ = form_of(question, many_tools(51))
    assert (len(form.clauses), form.branches) == (80, 4_080)


def assert_compiles(form: ShortFormat) -> None:
    matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(form.grammar), log_level=0)
    assert not matcher.is_error(), matcher.get_error()[:300]
    assert matcher.compute_bitmask()


def test_the_largest_tools_compile() -> None:
    numbers = " ".join(str(number) for number in range(10, 42))
    question = ". ".join(f"a{n} {numbers}" for n in range(16))
    form, _ = form_of(question, many_tools(64, *[(UINT, "")] * 32))
    assert form.branches == 7 * 64 * 9
    assert_compiles(form)
    assert parses(form, call(form.clauses[-1].text, "t63", *range(10, 42)))


def stated(index: int, count: int) -> str:
    return "one of: " + ", ".join(f"w{index:04}{n:03}" for n in range(count))


def test_values_beyond_262144_bytes_leave_a_tool_out() -> None:
    # 64 values of 10 bytes, with their quotation marks, a parameter; 409 parameters fit.
    tools = [
        tool(f"t{n}", *((STRINGS, stated(32 * n + p, 64)) for p in range(32)), number=n + 1)
        for n in range(13)
    ]
    form, _ = form_of("go", tools)
    assert form.scoring.clauses[0].tools == tuple(range(12))
    assert_compiles(form)


def test_a_set_has_at_most_64_values() -> None:
    form, _ = form_of("go", [tool("t", (STRING, stated(0, 65)))])
    assert parses(form, call("go", "t", "w0000063"))
    assert not parses(form, call("go", "t", "w0000064"))


def test_the_largest_texts_compile() -> None:
    words = [f"{n:03}" + "z" * 45 for n in range(192)]
    question = " ".join(["say", *words])
    form, _ = form_of(question, [NOTE], steps=[ran("ping", " ".join(reversed(words)))])
    assert_compiles(form)
    assert parses(form, call(form.clauses[0].text, "note", " ".join(words[:12]), YES))
    assert not parses(form, call(form.clauses[0].text, "note", " ".join(words[-2:]), YES))

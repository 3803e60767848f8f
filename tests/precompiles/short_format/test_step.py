"""A step: the grammar admits what `parse` accepts, and nothing that the plan does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.abi import FinalAnswer, IterationRequest, ToolUse, encode_result
from precompiles.address_handles import AddressBook
from precompiles.react import GrammarViolationError, intern_reasoning, parse_history
from precompiles.short_format.plan import (
    MAX_OFFERED,
    MAX_REQUEST_CHARACTERS,
    MAX_RESULT_CHARACTERS,
)
from precompiles.short_format.step import MAX_SHOWN_TOOLS
from precompiles.stated_values import limit_tools
from tests.precompiles.short_format.small_agents import (
    ADDRESS,
    BALANCE,
    BASE_PROMPT,
    BOOL,
    DEPOSIT,
    NOTE,
    PAY,
    RENAME,
    STRING,
    TOOLS,
    TRANSFER,
    UINT,
    USDC,
    address_of,
    list_step_texts,
    make_form,
    make_tool,
    run_agent,
)
from tests.precompiles.test_grammar import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.short_format.step import ShortFormat
    from precompiles.tool_metadata import Tool

OPEN_VAULT = make_tool("openVault", "Opens the vault (Vault).", mode="writes Vault")
OPEN_DOOR = make_tool("openDoor", "Opens the door (Club).", mode="writes Club")
RATE = make_tool(
    "rate", "Rates the club (Club).", (UINT, "stars", "from 1 to 5"), mode="writes Club"
)
MOOD = make_tool(
    "setMood", "Sets the mood (Club).", (STRING, "mood", "one of: happy, very sad"),
    mode="writes Club",
)  # fmt: skip
LIGHT = make_tool(
    "setLight", "Switches the light (Club).", (BOOL, "on", "whether it is on"), mode="writes Club"
)
CLUB = tuple(limit_tools([OPEN_VAULT, OPEN_DOOR, RATE, MOOD, LIGHT]))
REFUSED = "I can't do that."


def admits(form: ShortFormat, text: str) -> bool:
    matcher = compiled(form.grammar).deep_copy()
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


def call(thought: str, name: str, /, **values: object) -> str:
    return f" {thought}\nAction: {name}\nAction Input: {json.dumps(values, ensure_ascii=False)}"


def decline(thought: str, answer: str = REFUSED) -> str:
    return f" {thought}\nFinal Answer: {answer}"


def take_steps(question: str, results: Sequence[str], tools: Sequence[Tool] = TOOLS) -> ShortFormat:
    """Return the format after the first steps of a run that needs no model, with these results."""
    steps: list[tuple[str, str]] = []
    for result in results:
        form = make_form(question, tools, steps=steps)
        use = form.parse(form.decided)
        assert isinstance(use, ToolUse)
        steps.append((use.agent_reasoning, result))
    return make_form(question, tools, steps=steps)


# -- what is decided -- #


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Send 5 USDC to Bob", call("Send 5 USDC to Bob", "transfer", to="Bob", value=5 * USDC)),
        (
            f"Send 5 USDC to {address_of('Bob')}",
            call("Send 5 USDC to Bob", "transfer", to="Bob", value=5 * USDC),
        ),
        ('Rename the club to "Owls"', call('Rename the club to "\u2026"', "rename", name="Owls")),
        ("Note 5, 6\tand 7", call("Note 5, 6 and 7", "note", numbers=[5, 6, 7])),
        ("Send 5 USDC to Carol", decline("Send 5 USDC to Carol")),
        ("", decline("Nothing to do.")),
        ("Pay 0x12", decline("Pay \u2026")),
    ],
)
def test_a_decided_step_has_one_text(question: str, text: str) -> None:
    form = make_form(question)
    assert form.decided == text
    assert admits(form, text)
    assert parses(form, text)
    for other in (
        decline("Send 5 USDC to Bob"),
        call("Send 5 USDC to Bob", "transfer", to="Ann", value=5 * USDC),
        call("Send 5 USDC to Bob", "transfer", to="Bob", value=5 * USDC + 1),
        call("Send 5 USDC to Bob", "deposit", amount=5 * USDC),
        " All done.\nFinal Answer: Done.",
        "",
        text + "\n",
        text[1:],
    ):
        assert admits(form, other) == parses(form, other) == (other == text)


# -- one step after the other -- #

LONG = "Send 5 USDC to Bob, then 1 to Ann. Deposit 3 USDC, and show my balance."


def test_a_run_does_each_order_once_in_the_order_of_the_text() -> None:
    names = []
    for count in range(4):
        form = take_steps(LONG, ["ok"] * count)
        used = form.parse(form.decided)
        assert isinstance(used, ToolUse)
        names.append((form.decided.split("\n")[1], used.values))
        assert not admits(form, " All done.\nFinal Answer: Done.")
    assert names == [
        ("Action: transfer", (address_of("Bob"), 5 * USDC)),
        ("Action: transfer", (address_of("Ann"), USDC)),
        ("Action: deposit", (3 * USDC,)),
        ("Action: balanceOf", ()),
    ]
    assert take_steps(LONG, ["ok"] * 4).decided == " All done.\nFinal Answer: Done."


def test_an_answer_names_each_tool_and_its_result() -> None:
    form = take_steps(LONG, ["ok", "0x12", "done", "12 USDC"])
    found = form.parse(form.decided)
    assert isinstance(found, FinalAnswer)
    assert found.answer.startswith("Done. transfer: ok; transfer: ")
    assert found.answer.endswith("; deposit: done; balanceOf: 12 USDC")


FAILURES = ("UNSURE: x", "Failed. a: b", "I can't do that: x")


@pytest.mark.parametrize("result", FAILURES)
def test_after_a_tool_that_failed_nothing_more_is_done(result: str) -> None:
    form = take_steps(LONG, ["ok", result])
    assert form.decided == " It failed.\nFinal Answer: Failed."
    found = form.parse(form.decided)
    assert isinstance(found, FinalAnswer)
    assert found.answer.startswith("Failed. transfer: ok; transfer: ")


@pytest.mark.parametrize(
    "reasoning",
    [
        'Thought: x\nAction: transfer\nAction Input: {"to": "Bob", "value": 6000000}',
        'Thought: x\nAction: transfer\nAction Input: {"to": "Ann", "value": 5000000}',
        'Thought: x\nAction: transfer\nAction Input: {"value": 5000000, "to": "Bob"}',
        'Thought: x\nAction: transfer\nAction Input: {"to": "Bob"}',
        'Thought: x\nAction: deposit\nAction Input: {"amount": 5000000}',
        'Thought: x\nAction: transfer\nAction Input: {"to": Bob, "value": 5000000}',
        'Thought: x\nAction: transfer\nAction Input: {"to": ' + "[" * 5_000 + "}",
    ],
)
def test_a_history_of_another_request_ends_the_run(reasoning: str) -> None:
    form = make_form("Send 5 USDC to Bob", steps=[(reasoning, "ok")])
    found = form.parse(form.decided)
    assert isinstance(found, FinalAnswer)
    assert found.answer.startswith("I can't do that: the steps so far are not those of this")


def test_more_steps_than_orders_end_the_run() -> None:
    form = take_steps("Send 5 USDC to Bob", ["ok"])
    use = make_form("Send 5 USDC to Bob").parse(make_form("Send 5 USDC to Bob").decided)
    assert isinstance(use, ToolUse)
    assert form.decided == " All done.\nFinal Answer: Done."
    twice = make_form("Send 5 USDC to Bob", steps=[(use.agent_reasoning, "ok")] * 2)
    assert twice.decided.endswith(decline("")[2:])


# -- what the model chooses -- #


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Open it", [call("Open it", "openVault"), call("Open it", "openDoor")]),
        ("Open the vault", None),
        ("Rate the club", [call("Rate the club", "rate", stars=stars) for stars in range(1, 6)]),
        ("Rate the club with 4 stars", None),
        (
            "Set the mood",
            [call("Set the mood", "setMood", mood=mood) for mood in ("happy", "very sad")],
        ),
        ("Set the mood to happy", None),
        ('Set the mood to "very sad"', None),
    ],
)
def test_the_model_chooses_among_what_is_open_or_declines(
    question: str, texts: list[str] | None
) -> None:
    form = make_form(question, CLUB)
    if texts is None:
        assert form.decided
        assert isinstance(form.parse(form.decided), ToolUse)
        return
    assert form.decided == ""
    assert list_step_texts(form) == [*texts, decline(question)]
    for text in (*texts, decline(question)):
        assert admits(form, text)
    assert form.parse(decline(question)) == FinalAnswer(answer=f"I can't do that: {question}")
    assert not admits(form, " All done.\nFinal Answer: Done.")


@pytest.mark.parametrize(
    "text",
    [
        call("Rate the club", "rate", stars=0),
        call("Rate the club", "rate", stars=6),
        call("Rate the club", "rate", stars="5"),
        call("Rate the club", "rate", stars=5.0),
        call("Rate the club", "rate", stars=True),
        call("Rate the club", "rate"),
        call("Rate the club", "rate", stars=5, more=1),
        call("Rate the club", "rate", stars=5).replace(": 5", ":5"),
        call("Rate", "rate", stars=5),
        call("Rate the club", "openDoor"),
        decline("Rate the club", "Done."),
        decline("Rate the club", "I cannot"),
        decline("Rate"),
        " All done.\nFinal Answer: Done.",
    ],
)
def test_nothing_else_is_admitted(text: str) -> None:
    form = make_form("Rate the club", CLUB)
    assert not admits(form, text)
    assert not parses(form, text)


@pytest.mark.parametrize("question", ["Rate the club", "Open it", "Set the mood", "Open the door"])
@given(st.data(), st.sampled_from(["", " ", "\n", "0", "5", "x", '"', "}", "\\", "\u00e9"]))
@settings(max_examples=60, derandomize=True)
def test_a_changed_text_parses_only_if_the_grammar_admits_it(
    question: str, data: st.DataObject, character: str
) -> None:
    form = make_form(question, CLUB)
    text = data.draw(st.sampled_from(list_step_texts(form)))
    place = data.draw(st.integers(0, len(text)))
    changed = text[:place] + character + text[place + data.draw(st.integers(0, 2)) :]
    assert parses(form, changed) == admits(form, changed)


def test_what_the_model_chose_is_done_once() -> None:
    run = run_agent(
        "Rate the club, then open the door", CLUB, choose=lambda count: min(2, count - 1)
    )
    assert run.calls == (("rate", (3,)), ("openDoor", ()))
    assert run.answer.startswith("Done. ")


def test_a_declined_step_says_what_was_done_before() -> None:
    run = run_agent(
        "Open the door, then rate the club",
        CLUB,
        choose=lambda count: count - 1 if count > 1 else 0,
    )
    assert run.calls == (("openDoor", ()),)
    assert run.answer == "I can't do that: then rate the club; done before: openDoor: ok"


def test_without_the_rule_no_stated_number_is_chosen() -> None:
    form = make_form("Rate the club", [RATE])
    assert form.decided == decline("Rate the club")


PIECES = st.sampled_from(
    [
        "Send", "pay", "deposit", "open", "note", "rename it", "rate", "5 USDC", "3", "1 ETH",
        "to Bob", "Ann", "and", "then", ",", ".", "?", "\n", "if", "don't", "all of it", "it",
        '"pay Ann"', "each", "the club", "the door", "my balance", "show", "\u00e9", "0x12", "\x00",
        "\u2028", "{", "\\", '"', address_of("Bob"), address_of("Dan"), "addr1", "2" * 80,
        "half of it",
    ]
)  # fmt: skip
QUESTIONS = st.lists(PIECES, max_size=12).map(" ".join)


@given(QUESTIONS, QUESTIONS)
@settings(max_examples=100, derandomize=True)
def test_every_text_of_a_step_is_admitted_encodes_and_reads_as_it_was_written(
    question: str, result: str
) -> None:
    steps: list[tuple[str, str]] = []
    for _ in range(3):
        form = make_form(question, (*TOOLS, *CLUB), steps=steps)
        texts = list_step_texts(form)
        for text in texts:
            assert admits(form, text)
            found = form.parse(text)
            assert encode_result(found)
            if isinstance(found, FinalAnswer):
                assert "\n" not in found.answer
                continue
            book = AddressBook(BASE_PROMPT, [question, *(step for _, step in steps)])
            assert intern_reasoning(found.agent_reasoning, book) == f"Thought:{text}"
            (step,) = parse_history(
                IterationRequest(
                    model_id="",
                    base_prompt="",
                    tools=(),
                    agent_reasoning=(found.agent_reasoning,),
                    tool_results=("",),
                    prompt="",
                )
            )
            assert step.reasoning == found.agent_reasoning
        first = form.parse(texts[0])
        if isinstance(first, FinalAnswer):
            return
        steps.append((first.agent_reasoning, result))


# -- refusal sentences -- #

ADMIN = "I cannot call adminFunction because only Bob (the owner) may, and my account is not it."
PAUSE = "I cannot call pause because it compares who calls, and my account does not pass."
CLOSED = f"{BASE_PROMPT}\n{ADMIN}\n{PAUSE}\nI cannot sing"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("call the admin function", ADMIN),
        ("run adminFunction now", ADMIN),
        ("pause it", PAUSE),
    ],
)
def test_a_function_that_cannot_be_called_is_answered_with_the_reason(
    question: str, answer: str
) -> None:
    run = run_agent(question, base_prompt=CLOSED)
    assert (run.calls, run.answer, run.has_choice) == ((), answer, False)


def test_a_sentence_answers_no_order_that_can_be_done() -> None:
    run = run_agent("Send 5 USDC to Bob", base_prompt=CLOSED)
    assert len(run.calls) == 1
    assert run.answer.startswith("Done. ")


@pytest.mark.parametrize(
    ("line", "is_sentence"),
    [
        ("I cannot sing", True),
        ("I cannot open the vault: only Bob can.", True),
        (" I cannot swim.", False),
        ("I can't fly.", False),
        ("I cannotdo.", False),
        ("I cannot say 0x12", False),
        ("I cannot \x07", False),
        ("I cannot \u2028", False),
        ("I cannot ".ljust(1_024, "\u00e9"), True),
        ("I cannot ".ljust(1_025, "\u00e9"), False),
    ],
)
def test_the_model_may_decline_with_a_sentence_of_the_base_prompt(
    line: str, is_sentence: bool
) -> None:
    form = make_form("Open it", CLUB, base_prompt=f"{BASE_PROMPT}\n{line}")
    text = decline("Open it", line)
    assert admits(form, text) == parses(form, text) == is_sentence
    if is_sentence:
        assert form.parse(text) == FinalAnswer(answer=line)


def test_at_most_64_different_sentences_count() -> None:
    lines = [f"I cannot do {number}." for number in range(65)]
    form = make_form("Open it", CLUB, base_prompt="\n".join([lines[0], *lines]))
    for line, is_sentence in ((lines[63], True), (lines[64], False)):
        assert admits(form, decline("Open it", line)) == is_sentence


# -- names -- #


def test_an_agent_without_names_knows_the_addresses_of_the_request_alone() -> None:
    bare = "ETH is the native currency."
    named = f"Pay {address_of('Bob')} 1 ETH"
    (paid,) = run_agent(named, [PAY], base_prompt=bare).calls
    assert paid == ("pay", (address_of("Bob"), 10**18))
    assert run_agent("Pay Bob 1 ETH", [PAY], base_prompt=bare).calls == ()


def test_the_native_currency_has_the_symbol_that_the_base_prompt_says() -> None:
    pol = make_tool(
        "pay", "Sends POL to an address.",
        (ADDRESS, "to", "who gets it"), (UINT, "value", "amount of POL to send, 18 decimals"),
        mode="writes",
    )  # fmt: skip
    prompt = BASE_PROMPT.replace("ETH is", "POL is")
    assert run_agent("Pay Bob 2 POL", [pol], base_prompt=prompt).calls == (
        ("pay", (address_of("Bob"), 2 * 10**18)),
    )
    assert run_agent("Pay Bob 2 ETH", [pol], base_prompt=prompt).calls == ()


# -- gas and scores -- #


@pytest.mark.parametrize(
    ("parameters", "branches"), [(0, 1), (3, 1), (4, 2), (7, 2), (8, 3), (32, 9)]
)
def test_branches_are_of_orders_tools_and_every_four_parameters(
    parameters: int, branches: int
) -> None:
    tools = [make_tool("t", "", *[(BOOL, f"p{n}", "") for n in range(parameters)]), NOTE]
    assert make_form("Note 5", tools).branches == branches + 1
    assert make_form("Note 5. Note 6. Note 7.", tools).branches == 3 * (branches + 1)
    assert make_form("", tools).branches == 0


@pytest.mark.parametrize(("tokens", "branches"), [(2, 1), (63, 1), (64, 2), (127, 2), (128, 3)])
def test_branches_are_of_every_64_tokens_of_an_order(tokens: int, branches: int) -> None:
    form = make_form(" ".join(["Note", *["oats"] * (tokens - 1)]), [NOTE])
    assert form.branches == branches


def test_characters_are_those_of_the_request_and_of_the_results_that_are_read() -> None:
    assert make_form("Note 5").characters == len("Note 5")
    assert make_form("x" * 5_000).characters == MAX_REQUEST_CHARACTERS == 2_048
    step = "Thought: x\nAction: balanceOf\nAction Input: {}"
    form = make_form("Note 5", steps=[(step, "12"), (step, "y" * 999)])
    assert form.characters == len("Note 5") + 2 + MAX_RESULT_CHARACTERS == 408


def test_the_model_chooses_among_at_most_8_calls() -> None:
    tools = [
        make_tool(f"openDoor{number:02}", f"Opens door {number} (Club).", mode="writes Club")
        for number in range(64)
    ]
    form = make_form("Open it", tools)
    assert form.grammar.count("Action Input") <= MAX_OFFERED == 8


def test_tools_that_are_not_asked_for_change_nothing() -> None:
    few = make_form("Deposit 5 USDC", [DEPOSIT]).decided
    many = make_form("Deposit 5 USDC", [BALANCE, RENAME, TRANSFER, DEPOSIT, NOTE]).decided
    assert few == many == call("Deposit 5 USDC", "deposit", amount=5 * USDC)


def test_a_prompt_describes_all_tools_or_those_that_the_step_may_use() -> None:
    doors = [
        make_tool(f"openDoor{number:02}", f"Opens door {number} (Club).", mode="writes Club")
        for number in range(MAX_SHOWN_TOOLS + 1)
    ]
    assert list(make_form("Open door 3", doors[:-1]).shown_tools) == doors[:-1]
    assert list(make_form("Metadata: 5", [*doors, NOTE, TRANSFER]).shown_tools) == doors[:-1]
    chosen = make_form("Name: the Foxes", [*doors, RENAME])
    assert list(chosen.shown_tools) == [RENAME]
    assert "rename" in chosen.grammar

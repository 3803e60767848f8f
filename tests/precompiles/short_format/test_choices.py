"""Choices of typed parameters in the short format: values that the texts have, in a type's form."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precompiles.abi import FinalAnswer, ParamDescription, ParamType, ToolUse, encode_result
from precompiles.react import intern_reasoning
from precompiles.short_format.choices import read_parameter
from precompiles.stated_values import limit_tools
from precompiles.typed_texts import attach_types
from tests.precompiles.short_format.test_step import (
    BASE_PROMPT,
    admits,
    assert_compiles,
    call,
    draw_text,
    form_of,
    parses,
    ran,
    tool,
)
from tests.precompiles.test_grammar import OTHER

if TYPE_CHECKING:
    from precompiles.address_handles import AddressBook
    from precompiles.short_format.step import ShortFormat
    from precompiles.tool_metadata import Tool

STRING, ADDRESS, BOOL, INT, UINT, STRINGS, *_ = ParamType
ROOT = "ab" * 32


def typed(name: str, *markers: str, kind: ParamType = STRING, number: int = 21) -> Tool:
    """Return a tool with parameters that have these markers."""
    plain = tool(name, *((kind, marker) for marker in markers), number=number)
    return replace(plain, parameters=attach_types(plain.parameters))


COMMIT = typed("commit", "[abi:bytes32]", number=21)
SWAP = typed("swap", "hops [abi:(address,uint24)[]]", number=22)
CALLS = typed("calls", "[abi:(address,uint256,bytes,string,bool)]", number=23)
ROOTS = typed("roots", "[abi:bytes32]", kind=STRINGS, number=24)
VOTE = typed("vote", "[abi:uint8]", kind=UINT, number=25)
PAIR = typed("pair", "[abi:(int8,string)[2]]", "[abi:bool[]]", number=26)
TOOLS = (COMMIT, SWAP, CALLS, ROOTS, VOTE, PAIR)


def agree(form: ShortFormat, text: str) -> bool:
    """Return whether grammar and parser, which agree, admit a text."""
    is_admitted = admits(form, text)
    assert parses(form, text) == is_admitted, text
    return is_admitted


FRAGMENTS = (
    "commit", "swap", "BOB", "addr1", "treasury", " ", " ", ", ", ". ", " and ", "\n", "5", "3000",
    "-3", "300", "70000", ROOT, "0x" + ROOT, "0xcafe", "cafe", "1234567a", OTHER, '"a b"', '"',
    '"' + ROOT + '"', '"0x' + ROOT + '"', "«c\\»", "\\", "true", "é", "(", "'",
)  # fmt: skip
QUESTIONS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=14).map("".join)
STEPS = st.lists(
    st.builds(ran, st.sampled_from([one.name for one in TOOLS]), QUESTIONS), max_size=2
)


def assert_sound(form: ShortFormat, book: AddressBook, text: str) -> None:
    result = form.parse(text)
    assert encode_result(result)
    if isinstance(result, ToolUse):
        assert intern_reasoning(result.agent_reasoning, book, TOOLS) == f"Thought:{text}"
        assert isinstance(form.uses_named_values(text), bool)


@given(st.data(), QUESTIONS, STEPS)
@settings(max_examples=120, deadline=None)
def test_every_admitted_text_parses_encodes_and_reads_as_it_was_written(
    data: st.DataObject, question: str, steps: list[tuple[str, str]]
) -> None:
    form, book = form_of(question, TOOLS, steps=steps)
    assert_sound(form, book, draw_text(data, form))


@given(
    st.data(),
    QUESTIONS,
    st.sampled_from([" ", ", ", "0", "a", "'", "]", "(", "[]", "BOB", "true", "5", "\\\\"]),
)
@settings(max_examples=100, deadline=None)
def test_a_changed_text_parses_if_and_only_if_the_grammar_admits_it(
    data: st.DataObject, question: str, inserted: str
) -> None:
    form, _ = form_of(question, TOOLS)
    text = draw_text(data, form)
    start = max(text.rfind("Input: "), 0)
    place = data.draw(st.integers(start, len(text)))
    skipped = data.draw(st.integers(0, 2))
    agree(form, text[:place] + inserted * data.draw(st.integers(0, 1)) + text[place + skipped :])


# -- ranges -- #


@pytest.mark.parametrize(
    ("question", "value", "admitted"),
    [("vote 255", 255, True), ("vote 256", 256, False), ("vote 7", 8, False), ("vote", 3, False)],
)
def test_a_marker_limits_copied_numbers_and_lets_none_be_chosen(
    question: str, value: int, admitted: bool
) -> None:
    form, _ = form_of(question, [VOTE], base_prompt="")
    assert agree(form, call(question, "vote", value)) is admitted


def test_a_stated_range_can_be_chosen_from_within_the_marker() -> None:
    tools = limit_tools([typed("vote", "from 0 to 2 [abi:uint8]", kind=UINT)])
    form, _ = form_of("vote", tools, base_prompt="")
    assert [agree(form, call("vote", "vote", n)) for n in (0, 2, 3)] == [True, True, False]


# -- hexadecimal words -- #


@pytest.mark.parametrize(
    ("question", "thought"),
    [
        (f"commit {ROOT}", f"commit {ROOT}"),
        (f"commit 0x{ROOT.upper()}", 'commit "…"'),
        (f'commit "0x{ROOT}"', 'commit "…"'),
        (f"commit “{ROOT}”", 'commit "…"'),
    ],
)
def test_a_hexadecimal_word_of_the_clause_is_copied(question: str, thought: str) -> None:
    form, _ = form_of(f"{question}, commit {'cd' * 32}", TOOLS)
    assert agree(form, call(thought, "commit", ROOT))
    assert not agree(form, call(thought, "commit", "cd" * 32))
    assert not agree(form, call(thought, "commit", "0x" + ROOT))
    assert agree(form, call(thought, "roots", [ROOT, ROOT]))
    assert not agree(form, call(thought, "roots", []))


@pytest.mark.parametrize("place", ["question", "result", "base prompt"])
def test_without_one_in_the_clause_it_is_copied_from_the_other_texts(place: str) -> None:
    said = f"The root is 0x{ROOT}"
    form, _ = form_of(
        f"commit it. {said}" if place == "question" else "commit it",
        [COMMIT],
        base_prompt=said if place == "base prompt" else "",
        steps=[ran("look", said)] if place == "result" else [],
    )
    assert agree(form, call("commit it", "commit", ROOT))


def test_a_tool_without_a_word_of_the_right_size_is_left_out() -> None:
    form, _ = form_of(f"commit {ROOT[2:]} or {ROOT}ab", [COMMIT], base_prompt="")
    assert "Action" not in form.grammar


def test_a_tool_that_takes_no_hexadecimal_words_is_left_out_for_a_clause_with_0x() -> None:
    form, _ = form_of(f"vote 7 with 0x{ROOT}, vote 8", TOOLS)
    assert not agree(form, call('vote 7 with "…"', "vote", 7))
    assert agree(form, call('vote 7 with "…"', "commit", ROOT))
    assert agree(form, call("vote 8", "vote", 8))
    without, _ = form_of(f"vote 7 with 0x{ROOT}, vote 8", [VOTE])
    assert [clause.text for clause in without.clauses] == ["vote 8"]


def test_without_a_tool_that_copies_them_quoted_words_change_nothing() -> None:
    for tools, admitted in (([VOTE], True), ([VOTE, COMMIT], False)):
        form, _ = form_of(f'vote 7 with "0x{ROOT}"', tools)
        assert agree(form, call('vote 7 with "…"', "vote", 7)) is admitted


def test_a_mistyped_address_is_no_hexadecimal_word() -> None:
    wrong = OTHER[:-1] + ("0" if OTHER[-1] != "0" else "1")
    form, _ = form_of(f"pay {wrong} 5, wait", [typed("send", "[abi:bytes]"), SWAP], base_prompt="")
    assert [clause.text for clause in form.clauses] == ["wait"]


# -- composite types -- #


def test_leaves_are_filled_as_parameters_of_their_kinds_are() -> None:
    question = 'call BOB with 5, 0xcafe01 and "it\'s" twice'
    form, _ = form_of(question, TOOLS)
    thought = 'call BOB with 5, "…" and "…2" twice'
    right = r"(BOB, 5, cafe01, 'it\'s', true)"
    assert agree(form, call(thought, "calls", right))
    for wrong in (
        r"(addr1, 5, cafe01, 'it\'s', true)",
        r"(BOB, 6, cafe01, 'it\'s', true)",
        r"(BOB, 5, cafe02, 'it\'s', true)",
        r"(BOB, 5, cafe01, 'its', true)",
        r"(BOB, 5, cafe01, 'it\'s', 1)",
        r"(BOB, 5, cafe01, 'it\'s')",
        r"(BOB, 5,cafe01, 'it\'s', true)",
    ):
        assert not agree(form, call(thought, "calls", wrong)), wrong
    result = form.parse(call(thought, "calls", right))
    assert isinstance(result, ToolUse)
    assert result.values == (right.replace("BOB", OTHER),)


def test_lists_have_1_to_64_items_of_the_values() -> None:
    form, _ = form_of("swap BOB 500 and addr1 3000", TOOLS, base_prompt=BASE_PROMPT)
    thought = "swap BOB 500 and addr1 3000"
    assert agree(form, call(thought, "swap", "[(BOB, 500), (addr1, 3000), (BOB, 3000)]"))
    assert not agree(form, call(thought, "swap", "[]"))
    for items, admitted in ((64, True), (65, False)):
        text = call(thought, "swap", f"[{', '.join(['(BOB, 500)'] * items)}]")
        assert agree(form, text) is admitted


def test_a_leaf_without_a_value_leaves_the_tool_out() -> None:
    form, _ = form_of("swap BOB 70000000", [SWAP], base_prompt=f"BOB = {OTHER}")
    assert "Action" not in form.grammar
    form, _ = form_of("swap BOB 7", [SWAP], base_prompt="")
    assert "Action" not in form.grammar


def test_numbers_are_in_the_unit_of_the_description() -> None:
    amounts = typed("pay", "amounts with 6 decimals [abi:(address,uint256)[]]")
    form, _ = form_of("pay BOB 2.5", [amounts])
    assert agree(form, call("pay BOB 2.5", "pay", "[(BOB, 2500000)]"))


def test_a_typed_text_and_parameters_share_the_numbers_of_a_clause() -> None:
    plain = tool("both", (UINT, ""), (STRING, "[abi:(uint8,uint8)]"))
    both = replace(plain, parameters=attach_types(plain.parameters))
    form, _ = form_of("both 1 and 2", [both], base_prompt="Limit 3.")
    assert "Action" not in form.grammar  # three numbers are needed
    form, _ = form_of("both 1, 2 and 3", [both], base_prompt="")
    assert agree(form, call("both 1, 2 and 3", "both", 1, "(2, 3)"))


def test_the_marker_is_no_part_of_the_description() -> None:
    (parameter,) = attach_types(
        [ParamDescription(param_type=STRING, name="v", description="in wei [abi:(uint8,bytes)]")]
    )
    rule = read_parameter(parameter)
    assert (rule.factor, rule.unit, rule.stated) == (10**18, "wei", None)
    assert [leaf.kind for leaf in rule.leaves] == [UINT, STRING]


# -- the gate -- #


@pytest.mark.parametrize(
    ("thought", "name", "values", "fits"),
    [
        ("swap BOB 500", "swap", ["[(BOB, 500)]"], True),
        ("swap BOB 500", "swap", ["[(addr1, 500)]"], False),
        ("swap BOB 500 and addr1 3000", "swap", ["[(BOB, 500), (addr1, 3000)]"], True),
        ("swap BOB 500 and addr1 3000", "swap", ["[(BOB, 500), (BOB, 3000)]"], False),
        ("swap BOB 500 and addr1 3000", "swap", ["[(BOB, 500), (addr1, 500)]"], True),
        (f"commit {'12' * 32}", "commit", ["12" * 32], True),
        (f"commit {'12' * 32} to BOB", "commit", ["12" * 32], False),
        (f"commit {'12' * 32} 7", "commit", ["12" * 32], False),
        ("pair -3", "pair", ["[(-3, 'x'), (-3, 'x')]", "[true]"], True),
        ("pair 7", "pair", ["[(-3, 'x'), (-3, 'x')]", "[true]"], True),
        ("pair 7 and BOB", "pair", ["[(7, 'BOB'), (7, 'BOB')]", "[true]"], True),
        ("pair 7 and 8, 9", "pair", ["[(7, 'x'), (8, 'x')]", "[true]"], False),
    ],
)
def test_the_gate_reads_the_leaves(thought: str, name: str, values: list[str], fits: bool) -> None:
    form, _ = form_of(thought, TOOLS)
    assert form.uses_named_values(call(thought, name, *values)) is fits


def test_a_tool_with_the_name_of_an_answer_is_no_answer() -> None:
    sentence = "I cannot pay."
    named = tool(f"Final Answer: {sentence}")
    form, _ = form_of("pay", [named], base_prompt=sentence)
    assert form.uses_named_values(f" pay\nFinal Answer: {sentence}")
    assert form.parse(f" pay\nFinal Answer: {sentence}") == FinalAnswer(answer=sentence)
    assert form.uses_named_values(call("pay", f"Final Answer: {sentence}"))


# -- gas and limits -- #


@pytest.mark.parametrize(("leaves", "branches"), [(1, 1), (3, 1), (4, 2), (7, 2), (8, 3), (32, 9)])
def test_each_leaf_is_a_parameter_of_a_branch(leaves: int, branches: int) -> None:
    members = ",".join(["uint8"] * leaves)
    form, _ = form_of("a, b", [typed("t", f"[abi:({members})]")])
    assert (len(form.clauses), form.branches) == (3, 3 * branches)


def test_a_leaf_has_at_most_64_values() -> None:
    numbers = " ".join(str(number) for number in range(10, 75))
    form, _ = form_of(f"go {numbers}", [typed("t", "[abi:(uint8)]")])
    assert agree(form, call(f"go {numbers}", "t", "(73)"))
    assert not agree(form, call(f"go {numbers}", "t", "(74)"))


def quoted(*sizes: int) -> str:
    return " ".join(f'"{n:02}{"z" * (size - 2)}"' for n, size in enumerate(sizes))


def test_a_pattern_beyond_262144_bytes_leaves_a_tool_out() -> None:
    # The texts, with 2 quotes and 4 bytes each, are four times in the pattern of two lists.
    lists = [typed("t", "[abi:string[][]]")]
    assert 4 * (63 * (1_018 + 6) + 1_013 + 6) + 20 == 262_144
    for last, is_admitted in ((1_013, True), (1_014, False)):
        sizes = (*[1_018] * 63, last)
        form, _ = form_of(f"go. {quoted(*sizes)}", lists)
        text = call("go", "t", f"[['63{'z' * (last - 2)}']]")
        assert parses(form, text) is is_admitted
        assert ("Action" in form.grammar) is is_admitted


@pytest.mark.parametrize("lists", [2, 5, 8])
def test_the_largest_patterns_compile(lists: int) -> None:
    size = (262_144 - 20 * 2**lists) // 2**lists // 64 - 6
    form, _ = form_of(f"go. {quoted(*[size] * 64)}", [typed("t", f"[abi:string{'[]' * lists}]")])
    assert_compiles(form)
    value = f"'63{'z' * (size - 2)}'"
    assert agree(form, call("go", "t", "[" * lists + value + "]" * lists))


def test_the_most_short_values_compile() -> None:
    numbers = " ".join(str(number) for number in range(10, 74))
    tools = [
        typed(
            f"t{n}",
            f"[abi:({','.join(['uint256'] * (1 + n % 30))}){'[]' * (1 + n // 30)}]",
            number=n + 1,
        )
        for n in range(64)
    ]
    form, _ = form_of(f"go {numbers}", tools, base_prompt="")
    assert_compiles(form)
    tools_of_clause = form.scoring.clauses[-1].tools
    assert 0 < len(tools_of_clause) < 64  # as many as the limit has room for


def test_strings_are_copied_with_their_escapes() -> None:
    said = "a'b\\c"
    form, _ = form_of(f'note "{said}"', [typed("t", "[abi:(string)]")])
    text = call('note "…"', "t", r"('a\'b\\c')")
    assert agree(form, text)
    assert json.loads(text.rpartition("Input: ")[2]) == {"p0": r"('a\'b\\c')"}

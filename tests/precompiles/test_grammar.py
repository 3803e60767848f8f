"""The output grammar in llguidance: every admitted text parses, encodes and parses again."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from eth_abi import decode
from eth_typing import Address
from eth_utils import to_checksum_address
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from precompiles.abi import (
    FinalAnswer,
    IterationRequest,
    ParamDescription,
    ParamType,
    ToolUse,
    encode_result,
)
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.integer_patterns import build_range_pattern
from precompiles.react import GrammarViolationError, intern_reasoning, parse, parse_history
from precompiles.tool_metadata import Tool
from pyevm_agents.models.decoding.guided import STEP_LEXER_FUEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.abi import Value

BYTES = LLTokenizer("byte")
OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
THIRD = "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB"
BOOK = AddressBook(f"POOL = {OTHER}\n", [f"and {THIRD}"])
NOBODY = AddressBook("", [])

UINT_MAX = 115792089237316195423570985008687907853269984665640564039457584007913129639935
INT_MAX = 57896044618658097711785492504343953926634992332820282019728792003956564819967
INT_MIN = -57896044618658097711785492504343953926634992332820282019728792003956564819968


def tool(name: str, *parameters: tuple[str, ParamType]) -> Tool:
    return Tool(
        address=Address(bytes(19) + b"\x42"),
        name=name,
        description="",
        parameters=tuple(
            ParamDescription(param_type=param_type, name=parameter, description="")
            for parameter, param_type in parameters
        ),
    )


EVERY_TYPE = tool("every type", *((f"the {kind.name}", kind) for kind in ParamType))
TOOLS = (
    tool("pay", ("to", ParamType.ADDRESS), ("wei", ParamType.UINT)),
    tool("pay all", ("to", ParamType.ADDRESS_ARRAY)),
    tool("note", ("text", ParamType.STRING), ("urgent", ParamType.BOOL)),
    tool("move", ("by", ParamType.INT)),
    tool("ping"),
    EVERY_TYPE,
)
MANY_TOOLS = tuple(
    tool(f"tool {n}", *((f"parameter {p}", list(ParamType)[p % 10]) for p in range(32)))
    for n in range(64)
)


def one_tool(param_type: ParamType) -> Tool:
    return tool("t", ("v", param_type))


@cache
def compiled(grammar: str) -> LLMatcher:
    # With a model's limit: copies share one lexer, and whole texts are read without a mask.
    matcher = LLMatcher(
        BYTES,
        LLMatcher.grammar_from_lark(grammar),
        log_level=0,
        limits=LLParserLimits(step_lexer_fuel=STEP_LEXER_FUEL),
    )
    assert not matcher.is_error(), matcher.get_error()
    return matcher


def matcher_of(tools: Sequence[Tool], book: AddressBook) -> LLMatcher:
    grammar = build_grammar(tools, [handle for handle, _ in book.handles])
    return compiled(grammar).deep_copy()


def admits(text: str, tools: Sequence[Tool], book: AddressBook = BOOK) -> bool:
    matcher = matcher_of(tools, book)
    spoken = list(text.encode())
    consumed = matcher.try_consume_tokens(spoken)
    assert not matcher.get_error()  # refused by the grammar, not by a limit of llguidance's
    return consumed == len(spoken) and matcher.is_accepting()


def parses(text: str, tools: Sequence[Tool], book: AddressBook = BOOK) -> bool:
    try:
        parse(text, tools, book)
    except GrammarViolationError:
        return False
    return True


def assert_sound(text: str, tools: Sequence[Tool], book: AddressBook) -> None:
    """Assert the properties of every text that the grammar admits."""
    result = parse(text, tools, book)
    assert encode_result(result)
    if isinstance(result, ToolUse):
        assert intern_reasoning(result.agent_reasoning, book) == f"Thought:{text}"
        request = IterationRequest(
            model_id="",
            base_prompt="",
            tools=(),
            agent_reasoning=(result.agent_reasoning,),
            tool_results=("",),
            prompt="",
        )
        assert parse_history(request)[0].reasoning == result.agent_reasoning


def use(value: str) -> str:
    """Return the text that calls the tool `t` with `v` written like that."""
    return f' x\nAction: t\nAction Input: {{"v": {value}}}'


class TestThoughtAndAnswer:
    """Free text: one line, no `0x`, not too long."""

    @pytest.mark.parametrize(
        ("text", "admitted"),
        [
            pytest.param(" Easy.\nFinal Answer: 42", True, id="plain"),
            pytest.param(" Easy.\nFinal Answer: 42\n", True, id="newline_at_the_end"),
            pytest.param(" é λ 😀\nFinal Answer: ß", True, id="unicode"),
            pytest.param(' "a\\b {"\nFinal Answer: {"c": \\', True, id="json_characters"),
            pytest.param(" x\nFinal Answer: 0 x 0", True, id="no_hex"),
            pytest.param(" Final Answer: 1\nFinal Answer: 2", True, id="label_as_thought"),
            pytest.param("", False, id="empty"),
            pytest.param(" x", False, id="thought_only"),
            pytest.param("x\nFinal Answer: 1", False, id="no_space_first"),
            pytest.param(" \nFinal Answer: 1", False, id="empty_thought"),
            pytest.param(" x\nFinal Answer: ", False, id="empty_answer"),
            pytest.param(" x\nFinal Answer:1", False, id="no_space_before_the_answer"),
            pytest.param(" x\n\nFinal Answer: 1", False, id="empty_line"),
            pytest.param(" x\nFinal Answer: 1\n\n", False, id="two_newlines_at_the_end"),
            pytest.param(" x\nFinal Answer: 1\n2", False, id="two_lines"),
            pytest.param(" x\nObservation: y\nFinal Answer: 1", False, id="observation"),
            pytest.param(" x\nFinal Answer: a\rb", False, id="carriage_return"),
            pytest.param(" x\nFinal Answer: a\tb", False, id="tab"),
            pytest.param(" x\nFinal Answer: a\0b", False, id="nul"),
            pytest.param(" x\nFinal Answer: a\x7fb", False, id="delete"),
            pytest.param(" x\nFinal Answer: a\x85b", False, id="next_line"),
            pytest.param(" x\nFinal Answer: a\u2028b", False, id="line_separator"),
            pytest.param(" x\u2029y\nFinal Answer: a", False, id="paragraph_separator"),
        ],
    )
    def test_grammar_and_parser_agree(self, text: str, *, admitted: bool) -> None:
        assert admits(text, ()) is admits(text, TOOLS) is admitted
        assert parses(text, TOOLS) is admitted

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("  x\nFinal Answer: 1", id="two_spaces_first"),
            pytest.param(" x\nFinal Answer:  1", id="two_spaces_before_the_answer"),
            pytest.param(" 0x\nFinal Answer: 1", id="0x_in_the_thought"),
            pytest.param(" x\nFinal Answer: a0xb", id="0x_in_the_answer"),
            pytest.param(" x\nFinal Answer: 0X", id="0X_in_the_answer"),
            pytest.param(f" x\nFinal Answer: {OTHER}", id="address_in_the_answer"),
            pytest.param(f" {'x' * 241}\nFinal Answer: 1", id="long_thought"),
            pytest.param(f" x\nFinal Answer: {'x' * 1025}", id="long_answer"),
        ],
    )
    def test_what_the_grammar_excludes_the_parser_excludes(self, text: str) -> None:
        assert not admits(text, TOOLS)
        assert not parses(text, TOOLS)

    @pytest.mark.parametrize("character", ["x", "é", "😀"], ids=["1_byte", "2_bytes", "4_bytes"])
    def test_lengths_are_in_characters(self, character: str) -> None:
        assert admits(f" {character * 240}\nFinal Answer: 1", ())
        assert not admits(f" {character * 241}\nFinal Answer: 1", ())
        assert admits(f" x\nFinal Answer: {character * 1024}", ())
        assert not admits(f" x\nFinal Answer: {character * 1025}", ())


class TestTools:
    """Which tools may be called, by which name."""

    @pytest.mark.parametrize(
        ("text", "admitted"),
        [
            (' x\nAction: pay\nAction Input: {"to": "POOL", "wei": 1}', True),
            (' x\nAction: pay all\nAction Input: {"to": ["POOL", "addr1"]}', True),
            (" x\nAction: ping\nAction Input: {}", True),
            (' x\nAction: pay all\nAction Input: {"to": "POOL"}', False),
            (' x\nAction: pay\nAction Input: {"to": ["POOL"]}', False),
            (' x\nAction: pay \nAction Input: {"to": "POOL", "wei": 1}', False),
            (' x\nAction: pa\nAction Input: {"to": "POOL", "wei": 1}', False),
            (' x\nAction: PAY\nAction Input: {"to": "POOL", "wei": 1}', False),
            (' x\nAction: pay\nAction Input: {"to": "POOL"}', False),
            (' x\nAction: pay\nAction Input: {"to": "POOL", "wei": 1, "a": 1}', False),
            (' x\nAction: pay\nAction Input: {"wei": 1, "to": "POOL"}', False),
            (' x\nAction: pay\nAction Input: {"to": "POOL", "wei": 1, "wei": 1}', False),
            (' x\nAction: pay\nAction Input: ["POOL", 1]', False),
            (' x\nAction: pay\nAction Input: {"to": "POOL", "wei": 1', False),
            (' x\nAction: pay\nAction Input: {"to": "POOL", "wei": 1}\n', False),
            (' x\nAction: pay\nAction Input: {"to": "POOL", "wei": 1} ', False),
            (" x\nAction: ping\nAction Input: {}\nObservation: 1", False),
            (" x\nAction: ping\nAction Input: {}\nFinal Answer: 1", False),
            (" x\nAction: ping", False),
            ("\nAction: ping\nAction Input: {}", False),
        ],
        ids=ascii,
    )
    def test_grammar_and_parser_agree(self, text: str, *, admitted: bool) -> None:
        assert admits(text, TOOLS) is admitted
        assert parses(text, TOOLS) is admitted

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(' x\nAction: pay\nAction Input: {"to":"POOL","wei":1}', id="tight"),
            pytest.param(' x\nAction: pay\nAction Input: { "to": "POOL", "wei": 1 }', id="wide"),
            pytest.param(' x\nAction: pay\nAction Input: {"\\u0074o": "POOL", "wei": 1}', id="key"),
            pytest.param(
                ' x\nAction: pay\nAction Input: {"to": "POO\\u004c", "wei": 1}', id="value"
            ),
            pytest.param(" x\nAction: ping\nAction Input: { }", id="nothing"),
        ],
    )
    def test_json_is_written_in_one_way(self, text: str) -> None:
        assert not admits(text, TOOLS)
        assert not parses(text, TOOLS)

    @pytest.mark.parametrize(
        "name",
        [
            "two words",
            'say "hi"',
            "back\\slash",
            "C:\\new\\table",
            "/regex/i",
            "it's `it`",
            "a|b (c) [d] {e} ~ & ?",
            "%json {}",
            "<tag>",
            "Final Answer: 1",
            "0xyz",
        ],
        ids=ascii,
    )
    def test_names_are_taken_literally(self, name: str) -> None:
        tools = (tool(name, (name, ParamType.BOOL), ("other", ParamType.BOOL)),)
        key = json.dumps(name, ensure_ascii=False)
        text = f' x\nAction: {name}\nAction Input: {{{key}: true, "other": false}}'
        assert admits(text, tools)
        result = parse(text, tools, BOOK)
        assert isinstance(result, ToolUse)
        assert result.values == (True, False)

    @pytest.mark.parametrize("name", ["a", "ab", "a b", "a b c"])
    def test_a_name_may_begin_another(self, name: str) -> None:
        tools = [tool(each) for each in ("a b", "a", "a b c", "ab")]
        text = f" x\nAction: {name}\nAction Input: {{}}"
        assert admits(text, tools)
        assert matcher_of(tools, BOOK).try_consume_tokens(list(b" x\nAction: b")) == 11
        assert parses(text, tools)

    def test_without_tools_there_are_only_answers(self) -> None:
        assert not admits(" x\nAction: ping\nAction Input: {}", ())
        assert not parses(" x\nAction: ping\nAction Input: {}", ())
        assert admits(" x\nFinal Answer: 1", ())
        assert admits(" x\nFinal Answer: 1", (), NOBODY)

    def test_64_tools_of_32_parameters_compile(self) -> None:
        crowd = [to_checksum_address(n.to_bytes(20, "big")) for n in range(64)]
        assert admits(" x\nFinal Answer: 1", MANY_TOOLS, AddressBook(" ".join(crowd), []))


class TestWithoutAddresses:
    """Where the prompt names no address."""

    def test_a_tool_that_needs_one_leaves_the_grammar(self) -> None:
        assert admits(' x\nAction: move\nAction Input: {"by": 1}', TOOLS, NOBODY)
        started = list(b" x\nAction: every")
        assert matcher_of(TOOLS, NOBODY).try_consume_tokens(started) < len(started)
        assert not admits(' x\nAction: pay\nAction Input: {"to": "POOL", "wei": 1}', TOOLS, NOBODY)

    def test_only_answers_are_left_where_every_tool_needs_one(self) -> None:
        tools = TOOLS[:1]
        assert admits(" x\nFinal Answer: 1", tools, NOBODY)
        assert matcher_of(tools, NOBODY).try_consume_tokens(list(b" x\nA")) == 3

    def test_a_list_of_addresses_may_be_empty(self) -> None:
        tools = (one_tool(ParamType.ADDRESS_ARRAY),)
        assert admits(use("[]"), tools, NOBODY)
        assert not admits(use('["POOL"]'), tools, NOBODY)
        assert_sound(use("[]"), tools, NOBODY)


VALUES: list[tuple[ParamType, str, bool]] = [
    (ParamType.UINT, "0", True),
    (ParamType.UINT, "1", True),
    (ParamType.UINT, "10", True),
    (ParamType.UINT, str(2**64), True),
    (ParamType.UINT, str(UINT_MAX - 1), True),
    (ParamType.UINT, str(UINT_MAX), True),
    (ParamType.UINT, str(UINT_MAX + 1), False),
    (ParamType.UINT, str(UINT_MAX) + "0", False),
    (ParamType.UINT, "1" + "0" * 77, True),
    (ParamType.UINT, "2" + "0" * 77, False),
    (ParamType.UINT, "9" * 77, True),
    (ParamType.UINT, "9" * 78, False),
    (ParamType.UINT, "-1", False),
    (ParamType.INT, "0", True),
    (ParamType.INT, "-1", True),
    (ParamType.INT, str(INT_MAX), True),
    (ParamType.INT, str(INT_MAX + 1), False),
    (ParamType.INT, str(INT_MIN), True),
    (ParamType.INT, str(INT_MIN - 1), False),
    (ParamType.INT, "-" + "9" * 76, True),
    (ParamType.INT, "9" * 77, False),
    *(
        (kind, text, False)
        for kind in (ParamType.UINT, ParamType.INT)
        for text in ("", "00", "01", "+1", "1.0", "1e3", '"1"', "true", "null", "0x1", "--1", "1 0")
    ),
    (ParamType.INT, "-01", False),
    (ParamType.BOOL, "true", True),
    (ParamType.BOOL, "false", True),
    (ParamType.BOOL, "True", False),
    (ParamType.BOOL, "1", False),
    (ParamType.BOOL, '"true"', False),
    (ParamType.BOOL, "null", False),
    (ParamType.ADDRESS, '"POOL"', True),
    (ParamType.ADDRESS, '"addr1"', True),
    (ParamType.ADDRESS, '"addr2"', False),
    (ParamType.ADDRESS, '"pool"', False),
    (ParamType.ADDRESS, '" POOL"', False),
    (ParamType.ADDRESS, '""', False),
    (ParamType.ADDRESS, "POOL", False),
    (ParamType.ADDRESS, f'"{OTHER}"', False),
    (ParamType.STRING, '""', True),
    (ParamType.STRING, '" a "', True),
    (ParamType.STRING, r'"\"\\\n\r\t"', True),
    (ParamType.STRING, '"é λ 😀 {}[],:/"', True),
    (ParamType.STRING, '"POOL"', True),
    (ParamType.STRING, r'"0\\x"', True),
    (ParamType.STRING, '"', False),
    (ParamType.STRING, '"a"b"', False),
    (ParamType.STRING, '"\\"', False),
    (ParamType.STRING, '"a\nb"', False),
    (ParamType.STRING, '"a\tb"', False),
    (ParamType.STRING, '"a\u2028b"', False),
    (ParamType.STRING, r'"\a"', False),
    (ParamType.STRING, "'a'", False),
    (ParamType.STRING, "1", False),
    (ParamType.STRING, "null", False),
    (ParamType.STRING_ARRAY, "[]", True),
    (ParamType.STRING_ARRAY, '["a", "b"]', True),
    (ParamType.STRING_ARRAY, '["a",]', False),
    (ParamType.STRING_ARRAY, '["a" "b"]', False),
    (ParamType.STRING_ARRAY, '[["a"]]', False),
    (ParamType.STRING_ARRAY, '"a"', False),
    (ParamType.STRING_ARRAY, '["a", 1]', False),
    (ParamType.ADDRESS_ARRAY, "[]", True),
    (ParamType.ADDRESS_ARRAY, '["POOL", "POOL"]', True),
    (ParamType.ADDRESS_ARRAY, '["nobody"]', False),
    (ParamType.BOOL_ARRAY, "[true, false]", True),
    (ParamType.BOOL_ARRAY, "[0]", False),
    (ParamType.INT_ARRAY, f"[{INT_MIN}, {INT_MAX}, 0]", True),
    (ParamType.INT_ARRAY, f"[{INT_MAX + 1}]", False),
    (ParamType.UINT_ARRAY, f"[{UINT_MAX}, 0]", True),
    (ParamType.UINT_ARRAY, "[-1]", False),
    (ParamType.UINT_ARRAY, "[1.0]", False),
    (ParamType.UINT_ARRAY, "[true]", False),
]


def shortened(text: str) -> str:
    return ascii(text) if len(text) < 40 else f"{text[:4]}..{text[-4:]}_of_{len(text)}"


class TestValues:
    """How values of each type are written."""

    @pytest.mark.parametrize(
        ("param_type", "value", "admitted"),
        [pytest.param(*case, id=f"{case[0].name}-{shortened(case[1])}") for case in VALUES],
    )
    def test_grammar_and_parser_agree(
        self, param_type: ParamType, value: str, *, admitted: bool
    ) -> None:
        tools = (one_tool(param_type),)
        assert admits(use(value), tools) is admitted
        assert parses(use(value), tools) is admitted

    @pytest.mark.parametrize(
        ("param_type", "value"),
        [
            pytest.param(ParamType.INT, "-0", id="minus_zero"),
            pytest.param(ParamType.UINT, "-0", id="minus_zero_unsigned"),
            pytest.param(ParamType.STRING, '"0x"', id="0x"),
            pytest.param(ParamType.STRING, '"a0Xb"', id="0X"),
            pytest.param(ParamType.STRING, f'"{OTHER}"', id="address"),
            pytest.param(ParamType.STRING, r'"0\u0078"', id="escaped_0x"),
            pytest.param(ParamType.STRING, r'"\u0041"', id="unicode_escape"),
            pytest.param(ParamType.STRING, r'"\ud800"', id="lone_surrogate"),
            pytest.param(ParamType.STRING, r'"\/"', id="escaped_slash"),
            pytest.param(ParamType.STRING, r'"\b\f"', id="backspace"),
            pytest.param(ParamType.STRING, f'"{"x" * 1025}"', id="long"),
            pytest.param(ParamType.STRING_ARRAY, '["a","b"]', id="no_space"),
            pytest.param(ParamType.STRING_ARRAY, '[ "a" ]', id="spaces"),
            pytest.param(ParamType.STRING_ARRAY, "{}", id="object_for_a_list"),
            pytest.param(ParamType.UINT_ARRAY, f"[{', '.join('1' * 65)}]", id="65_items"),
            pytest.param(ParamType.UINT_ARRAY, "[" * 5_000 + "]" * 5_000, id="deep"),
            pytest.param(ParamType.UINT, "9" * 5_000, id="5000_digits"),
        ],
    )
    def test_what_the_grammar_excludes_the_parser_excludes(
        self, param_type: ParamType, value: str
    ) -> None:
        tools = (one_tool(param_type),)
        assert not admits(use(value), tools)
        assert not parses(use(value), tools)

    @pytest.mark.parametrize("escape", ["x", "é", r"\n", r"\""], ids=ascii)
    def test_the_length_of_a_string_counts_an_escape_once(self, escape: str) -> None:
        tools = (one_tool(ParamType.STRING),)
        assert admits(use(f'"{escape * 1024}"'), tools)
        assert not admits(use(f'"{escape * 1025}"'), tools)

    @pytest.mark.parametrize(
        ("param_type", "item"),
        [
            (ParamType.STRING_ARRAY, '"a"'),
            (ParamType.ADDRESS_ARRAY, '"POOL"'),
            (ParamType.BOOL_ARRAY, "true"),
            (ParamType.INT_ARRAY, "-1"),
            (ParamType.UINT_ARRAY, "1"),
        ],
        ids=lambda value: value.name if isinstance(value, ParamType) else "",
    )
    def test_a_list_has_64_items_and_not_65(self, param_type: ParamType, item: str) -> None:
        tools = (one_tool(param_type),)
        assert admits(use(f"[{', '.join([item] * 64)}]"), tools)
        assert not admits(use(f"[{', '.join([item] * 65)}]"), tools)


class TestLimitsOfLlguidance:
    """llguidance gives a grammar up that gets too expensive; this one never does."""

    @pytest.mark.parametrize(
        ("text", "tools"),
        [
            pytest.param(" I have 0, 10 or 100.\nFinal Answer: 0 ETH", TOOLS, id="zeros"),
            pytest.param(f" {'0' * 240}\nFinal Answer: {'0' * 1024}", TOOLS, id="only_zeros"),
            pytest.param(f" {'é0' * 120}\nFinal Answer: {'😀0' * 512}", (), id="unicode"),
            pytest.param(f" x\nFinal Answer: {'é' * 1024}", TOOLS, id="long_answer"),
            pytest.param(
                use(f'"{"0.5 of 100 " * 93}"'), (one_tool(ParamType.STRING),), id="string"
            ),
            pytest.param(
                use(f"[{', '.join([chr(34) + '0é x' * 256 + chr(34)] * 8)}]"),
                (one_tool(ParamType.STRING_ARRAY),),
                id="strings",
            ),
            pytest.param(
                use(f"[{', '.join([str(UINT_MAX)] * 64)}]"),
                (one_tool(ParamType.UINT_ARRAY),),
                id="integers",
            ),
            pytest.param(" 10\nFinal Answer: 0.5", MANY_TOOLS, id="64_tools_answer"),
            pytest.param(
                ' 10\nAction: tool 63\nAction Input: {"parameter 0": "0.5 of 10',
                MANY_TOOLS,
                id="64_tools",
            ),
        ],
    )
    def test_every_mask_along_a_text_admits_its_next_byte(
        self, text: str, tools: Sequence[Tool]
    ) -> None:
        # A compiled copy remembers what it worked out before, which hides the cost: compile anew.
        grammar = build_grammar(tools, [handle for handle, _ in BOOK.handles])
        matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(grammar), log_level=0)
        for position, byte in enumerate(text.encode()):
            mask = matcher.compute_bitmask()
            assert not matcher.get_error(), position
            assert mask[byte // 8] >> (byte % 8) & 1, position
            assert matcher.consume_token(byte)
        assert matcher.compute_bitmask()
        assert not matcher.get_error()


class TestUpTo:
    """The regular expression of an integer range, by brute force."""

    def test_it_admits_exactly_the_numbers_from_1_to_the_maximum(self) -> None:
        numbers = [str(number) for number in range(2_101)]
        lines = "\n".join([*numbers, "", "00", "01", "010", "0999", "-1", "9999", "99999", "1e1"])
        for maximum in range(10, 2_001):
            found = re.findall(rf"(?m)^(?:{build_range_pattern(range(1, maximum + 1))})$", lines)
            assert found == numbers[1 : maximum + 1], maximum

    @pytest.mark.parametrize("maximum", [INT_MAX, -INT_MIN, UINT_MAX], ids=["max", "min", "uint"])
    @given(st.data())
    def test_it_is_exact_for_large_maxima(self, maximum: int, data: st.DataObject) -> None:
        near = st.integers(-(2**70), 2**70).map(lambda offset: maximum + offset)
        cut = st.integers(0, 260).map(lambda bits: maximum >> bits)
        number = data.draw(near | cut | st.integers(1, 2 * maximum))
        assert bool(re.fullmatch(build_range_pattern(range(1, maximum + 1)), str(number))) == (
            1 <= number <= maximum
        )


ANSWERS_FIRST = b'\n"]},'


def spoken_by(matcher: LLMatcher, choices: Sequence[int]) -> str | None:
    """Walk the grammar by choices, then end the text as soon as possible; None if cut off."""
    spoken = bytearray()
    for step in range(4_000):
        if matcher.is_stopped() or (step >= len(choices) and matcher.is_accepting()):
            return spoken.decode()
        mask = matcher.compute_bitmask()
        allowed = [byte for byte in range(256) if mask[byte // 8] >> (byte % 8) & 1]
        if not allowed:
            return spoken.decode() if matcher.is_accepting() else None
        if step < len(choices):
            byte = allowed[choices[step] % len(allowed)]
        else:
            byte = next((b for b in ANSWERS_FIRST if b in allowed), allowed[0])
        assert matcher.consume_token(byte)
        spoken.append(byte)
    return None


printable = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
strings = (
    st.text(printable | st.sampled_from('\n\r\t"\\'), max_size=60)
    | st.lists(st.sampled_from(["POOL", "addr1", " ", ".", "-", "x", "0"]), max_size=8).map("".join)
).filter(lambda text: "0x" not in json.dumps(text, ensure_ascii=False).lower())
uints = st.integers(0, 2**256 - 1) | st.integers(0, 300)
ints = st.integers(-(2**255), 2**255 - 1) | st.integers(-300, 300)
handles = st.sampled_from([handle for handle, _ in BOOK.handles])
ITEMS: dict[ParamType, st.SearchStrategy[str | int]] = {
    ParamType.STRING: strings,
    ParamType.ADDRESS: handles,
    ParamType.BOOL: st.booleans(),
    ParamType.INT: ints,
    ParamType.UINT: uints,
}
every_value = st.tuples(*ITEMS.values(), *(st.lists(item, max_size=5) for item in ITEMS.values()))


def expected_on_chain(value: object, kind: ParamType) -> object:
    """Return Solidity's value for a value that the model writes."""
    if isinstance(value, list):
        return tuple(expected_on_chain(item, ParamType(kind - 5)) for item in value)
    if kind is ParamType.ADDRESS:
        return BOOK.resolve(str(value)).lower()
    return BOOK.expand(value) if isinstance(value, str) else value


class TestRoundTrips:
    """From the grammar through the parser onto the chain, with random texts."""

    @pytest.mark.parametrize(
        "begin",
        [
            pytest.param("", id="thought"),
            pytest.param(" x\n", id="step"),
            pytest.param(" x\nFinal Answer: ", id="answer"),
            pytest.param(" x\nAction: ", id="action"),
            pytest.param(' x\nAction: note\nAction Input: {"text": ', id="string"),
            pytest.param(' x\nAction: move\nAction Input: {"by": ', id="integer"),
            pytest.param(' x\nAction: every type\nAction Input: {"the STRING": "', id="every"),
            pytest.param(' x\nAction: pay all\nAction Input: {"to": [', id="list"),
        ],
    )
    @pytest.mark.parametrize("book", [BOOK, NOBODY], ids=["addresses", "no_addresses"])
    @given(choices=st.lists(st.integers(0, 2**16), max_size=120))
    @settings(max_examples=12, deadline=None)
    def test_what_a_walk_through_the_grammar_says_is_sound(
        self, begin: str, book: AddressBook, choices: list[int]
    ) -> None:
        tools = TOOLS if book is BOOK else TOOLS[2:5]
        matcher = matcher_of(tools, book)
        begun = list(begin.encode())
        if matcher.try_consume_tokens(begun) < len(begun):
            return
        text = spoken_by(matcher, choices)
        assert text is not None
        assert admits(begin + text, tools, book)
        assert_sound(begin + text, tools, book)

    @given(every_value)
    @settings(max_examples=60, deadline=None)
    def test_values_of_every_type_arrive(self, values: tuple[Value, ...]) -> None:
        names = [parameter.name for parameter in EVERY_TYPE.parameters]
        arguments = json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False)
        text = f" Let me see.\nAction: every type\nAction Input: {arguments}"
        assert admits(text, TOOLS)
        assert_sound(text, TOOLS, BOOK)
        result = parse(text, TOOLS, BOOK)
        assert isinstance(result, ToolUse)
        kinds = result.param_types
        expected = list(map(expected_on_chain, values, kinds))
        layout = "(bool,string,address,((uint8,bytes)[],bytes),string)"
        ((*_, (params, all_encoded), _),) = decode([layout], encode_result(result))
        assert [position for position, _ in params] == list(range(10))
        types = [kind.abi_type for kind in kinds]
        singly = [
            decode([abi_type], encoded)[0]
            for abi_type, (_, encoded) in zip(types, params, strict=True)
        ]
        assert singly == expected
        assert list(decode(types, all_encoded)) == expected

    @given(st.text(printable, min_size=1, max_size=240))
    @settings(deadline=None)
    def test_any_line_without_0x_is_an_answer(self, line: str) -> None:
        if line.startswith(" ") or "0x" in line.lower():
            return
        text = f" {line}\nFinal Answer: {line}"
        assert admits(text, ())
        assert parse(text, (), BOOK) == FinalAnswer(answer=BOOK.expand(line))

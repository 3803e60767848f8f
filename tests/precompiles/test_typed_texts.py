"""Typed texts: the grammar admits what the parser accepts, and the next prompt repeats it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode
from hypothesis import given, settings
from hypothesis import strategies as st
from llguidance import LLMatcher

from precompiles.abi import (
    IterationRequest,
    ParamDescription,
    ParamType,
    ToolUse,
    encode_result,
)
from precompiles.abi_types import AbiType, Kind, parse_type
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.react import (
    GrammarViolationError,
    build_prompt,
    intern_reasoning,
    parse,
    parse_history,
)
from precompiles.stated_values import limit_tools
from precompiles.typed_texts import (
    TypedTextError,
    attach_types,
    expand_typed_text,
    needs_address,
    quote_text,
    read_typed_text,
    unquote_text,
)
from tests.byte_model import PROFILE
from tests.precompiles.test_grammar import BYTES, admits, compiled, spoken_by
from tests.precompiles.typed_values import (
    FIRST,
    FOURTH,
    HEX_BOOK,
    SECOND,
    TEXTS,
    TYPES,
    expand,
    flatten,
    marked,
    values,
    write,
)

if TYPE_CHECKING:
    from precompiles.tool_metadata import Tool

NOBODY = AddressBook("", [])


def use(*texts: str) -> str:
    """Return the text that calls the tool `t` with these typed texts."""
    arguments = {f"v{index or ''}": text for index, text in enumerate(texts)}
    return f" x\nAction: t\nAction Input: {json.dumps(arguments, ensure_ascii=False)}"


def with_parameter(parameter: ParamDescription) -> Tool:
    return replace(marked(""), parameters=attach_types([parameter]))


def use_raw(value: str) -> str:
    return f' x\nAction: t\nAction Input: {{"v": {value}}}'


def parses(text: str, tool: Tool, book: AddressBook = HEX_BOOK) -> bool:
    try:
        parse(text, [tool], book)
    except GrammarViolationError:
        return False
    return True


def takes(tool: Tool, text: str, book: AddressBook = HEX_BOOK) -> bool:
    """Return whether grammar and parser, which agree, admit a text."""
    is_admitted = admits(text, [tool], book)
    assert parses(text, tool, book) == is_admitted
    return is_admitted


def read_value(of: AbiType, text: str) -> Any:  # noqa: ANN401 - a value of any type
    """Return the value of a leaf's text."""
    if of.numbers is not None:
        return int(text)
    if of.kind is Kind.BOOL:
        return text == "true"
    if of.kind is Kind.STRING:
        return unquote_text(text)
    return bytes.fromhex(text) if of.kind in {Kind.BYTES, Kind.FIXED_BYTES} else text


@st.composite
def typed_values(draw: st.DrawFn) -> tuple[AbiType, Any]:
    of = draw(TYPES)
    return of, draw(values(of))


@given(typed_values())
@settings(deadline=None)
def test_a_text_is_read_as_the_value_that_it_was_written_for(drawn: tuple[AbiType, Any]) -> None:
    of, value = drawn
    leaves = read_typed_text(of, write(of, value))
    assert [(leaf.abi_type, read_value(leaf.abi_type, leaf.text)) for leaf in leaves] == flatten(
        of, value
    )
    assert all(of.leaves[leaf.index] == leaf.abi_type for leaf in leaves)


@given(st.lists(typed_values(), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None)
def test_values_arrive_with_addresses_and_the_next_prompt_repeats_them(
    drawn: list[tuple[AbiType, Any]],
) -> None:
    tool = marked(*(str(of) for of, _ in drawn))
    text = use(*(write(of, value) for of, value in drawn))
    assert takes(tool, text)
    result = parse(text, [tool], HEX_BOOK)
    assert isinstance(result, ToolUse)
    expected = tuple(write(of, expand(of, value)) for of, value in drawn)
    assert result.values == expected
    layout = "(bool,string,address,((uint8,bytes)[],bytes),string)"
    ((*_, (_, encoded), _),) = decode([layout], encode_result(result))
    assert decode(["string"] * len(drawn), encoded) == expected
    assert intern_reasoning(result.agent_reasoning, HEX_BOOK, [tool]) == f"Thought:{text}"
    request = IterationRequest(
        model_id="",
        base_prompt="\n".join(f"{handle} = {address}" for handle, address in HEX_BOOK.handles),
        tools=(),
        agent_reasoning=(result.agent_reasoning,),
        tool_results=("",),
        prompt="",
    )
    segments = build_prompt(request, parse_history(request), [tool], HEX_BOOK, PROFILE)
    assert segments[-2].text == text


@given(typed_values(), st.data())
@settings(max_examples=100, deadline=None)
def test_the_grammar_admits_a_changed_text_if_and_only_if_the_parser_accepts_it(
    drawn: tuple[AbiType, Any], data: st.DataObject
) -> None:
    of, value = drawn
    text = json.dumps(write(of, value), ensure_ascii=False)
    place = data.draw(st.integers(1, len(text) - 1))
    signs = [*"0x19aF-+ ,()[]'\"\\nte", "\n", "aa", "POOL", "256", ", ", "true", "é", ""]
    inserted = data.draw(st.sampled_from(signs))
    skipped = data.draw(st.integers(0, 2))
    takes(marked(str(of)), use_raw(text[:place] + inserted + text[place + skipped :]))


@given(TYPES, st.lists(st.integers(0, 2**16), max_size=120), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_walk_through_the_grammar_is_accepted_and_repeated(
    of: AbiType, choices: list[int], has_handles: bool
) -> None:
    tool, book = marked(str(of)), HEX_BOOK if has_handles else NOBODY
    begun = use_raw('"').removesuffix("}")
    grammar = build_grammar([tool], [handle for handle, _ in book.handles])
    matcher = compiled(grammar).deep_copy()
    consumed = matcher.try_consume_tokens(list(begun.encode()))
    assert (consumed == len(begun)) == (has_handles or not needs_address(of))
    if consumed < len(begun):
        return
    rest = spoken_by(matcher, choices)
    if rest is None:  # more than the walk's limit, for `T[64][64]`
        return
    result = parse(begun + rest, [tool], book)
    assert isinstance(result, ToolUse)
    assert intern_reasoning(result.agent_reasoning, book, [tool]) == f"Thought:{begun}{rest}"


@pytest.mark.parametrize(
    ("marker", "admitted", "refused"),
    [
        (
            "uint8",
            ["0", "7", "255"],
            ["256", "-1", "07", "", " 7", "7 ", "+7", "1e1", "\u0667", "0x7"],
        ),
        ("int8", ["0", "-128", "127"], ["-129", "128", "-0", "-07"]),
        ("uint256", [str(2**256 - 1)], [str(2**256), "9" * 78, "9" * 5_000]),
        ("int256", [str(-(2**255)), str(2**255 - 1)], [str(2**255), str(-(2**255) - 1)]),
        ("bytes2", ["cafe", "0012"], ["", "caf", "cafe0", "cafe00", "CAFE", "0xcafe", "ca fe"]),
        ("bytes", ["", "aa", "cafe00"], ["a", "AA", "0x", "aa ", "zz"]),
        (
            "bool[]",
            ["[]", "[true]", "[true, false]"],
            ["[true,false]", "[ true]", "[true, ]", "[1]"],
        ),
        ("address[]", ["[]", "[aa]", "[cafe, POOL]"], ["[bb]", f"[{FIRST}]", "[aa,cafe]", "aa"]),
        ("(address)", ["(aa)"], ["(aaa)", "(aa, aa)", "()", "aa", "[aa]", "('aa')"]),
        ("bytes[]", ["[]", "[, ]", "[aa, ]", "[, aa]"], ["[,]", "[ ]", "[aa,]"]),
        ("bytes[2]", ["[, ]", "[aa, cafe]"], ["[]", "[aa]", "[, , ]"]),
        ("bytes[1]", ["[]", "[aa]"], ["[, ]", ""]),
        ("(bytes)", ["()", "(aa)"], ["(, )", ""]),
        ("(bytes,bytes)", ["(, )", "(aa, )"], ["()", "(,)"]),
        ("uint8[2]", ["[1, 2]"], ["[1]", "[1, 2, 3]", "[]", "[1, 256]"]),
        ("uint8[2][]", ["[]", "[[1, 2]]", "[[1, 2], [3, 4]]"], ["[[]]", "[1, 2]", "[[1, 2]"]),
        ("(uint8,(bool,bytes1)[])", ["(1, [])", "(1, [(true, aa)])"], ["(1, [(true, )])", "(1)"]),
        (
            "string[]",
            ["[]", "['']", "['it\\'s']", "['\\\\']", "['a\\nb']", "['é😀\"']", "['a, b]', '(']"],
            ["['it's']", "['\\']", "['\\x']", "['a\nb']", "['\t']", "['0x1']", "['0X']", '["a"]'],
        ),
        (
            "(string)",
            ["('0\\\\x')", "('0')"],
            ["('\x7f')", "('\u2028')", "('\\u0041')"],
        ),
    ],
)
def test_grammar_and_parser_agree(marker: str, admitted: list[str], refused: list[str]) -> None:
    tool = marked(marker)
    assert [text for text in admitted if not takes(tool, use(text))] == []
    assert [text for text in refused if takes(tool, use(text))] == []


@pytest.mark.parametrize(
    "value", ["5", "true", "null", '["5"]', '{"v": 1}', '"\\u0035"', '"5', "'5'", '"\\n5"', "[]"]
)
def test_another_value_than_a_text_is_refused(value: str) -> None:
    assert not takes(marked("uint8"), use_raw(value))


def test_a_list_of_typed_texts_has_64_items_and_not_65() -> None:
    tool = marked("bytes1", kind=ParamType.STRING_ARRAY)
    for items, is_admitted in ((0, True), (1, True), (64, True), (65, False)):
        assert takes(tool, use_raw(json.dumps(["aa"] * items))) is is_admitted
    assert not takes(tool, use_raw('["aaa"]'))
    assert not takes(tool, use_raw('"aa"'))


def test_a_list_of_typed_texts_that_need_an_address_is_empty_without_one() -> None:
    tool = marked("(address,bool)", kind=ParamType.STRING_ARRAY)
    assert takes(tool, use_raw("[]"), NOBODY)
    assert not takes(tool, use_raw('["(aa, true)"]'), NOBODY)
    assert takes(tool, use_raw('["(aa, true)"]'))
    assert takes(marked("(address,bool)[]"), use("[]"), NOBODY)


def test_a_tool_whose_text_needs_an_address_is_left_out_without_one() -> None:
    assert "Action" not in build_grammar([marked("(bool,address)[2]")], [])
    assert "Action" in build_grammar([marked("(bool,address[])[2]")], [])


# -- handles -- #


def test_hexadecimal_digits_are_no_handles() -> None:
    tool = marked("bytes1", "bytes2", "(bytes,address)[]")
    text = use("aa", "cafe", "[(aa, aa), (cafe, cafe)]")
    result = parse(text, [tool], HEX_BOOK)
    assert isinstance(result, ToolUse)
    assert result.values == ("aa", "cafe", f"[(aa, {FIRST}), (cafe, {SECOND})]")
    assert intern_reasoning(result.agent_reasoning, HEX_BOOK, [tool]) == f"Thought:{text}"


def test_a_word_behind_an_escape_is_a_handle_and_its_letter_is_no_part_of_it() -> None:
    tool = marked("string[]")
    for text, expanded in (
        (r"['\nPOOL']", rf"['\n{FOURTH}']"),
        (r"['\\nPOOL']", None),
        (r"['\'POOL\'']", rf"['\'{FOURTH}\'']"),
        (r"['\\\tPOOL\n']", rf"['\\\t{FOURTH}\n']"),
    ):
        result = parse(use(text), [tool], HEX_BOOK)
        assert isinstance(result, ToolUse)
        pool = dict(HEX_BOOK.handles)["nPOOL"]
        assert result.values == (rf"['\\{pool}']" if expanded is None else expanded,)
        assert intern_reasoning(result.agent_reasoning, HEX_BOOK, [tool]) == f"Thought:{use(text)}"


def test_without_the_tool_a_text_is_a_plain_one() -> None:
    reasoning = f'Thought: x\nAction: t\nAction Input: {{"v": "[\'\\\\n{FOURTH}\']"}}'
    assert intern_reasoning(reasoning, HEX_BOOK) == reasoning
    assert "POOL" in intern_reasoning(reasoning, HEX_BOOK, [marked("string[]")])


def test_an_unknown_handle_is_refused() -> None:
    of = parse_type("(address)")
    assert of is not None
    with pytest.raises(KeyError):
        expand_typed_text(of, "(bb)", HEX_BOOK)


# -- limits -- #


def test_a_value_of_bytes_has_at_most_512_bytes() -> None:
    for count, is_admitted in ((512, True), (513, False)):
        assert takes(marked("bytes"), use("aa" * count)) is is_admitted
        assert takes(marked("bytes[]"), use(f"[{'aa' * count}, aa]")) is is_admitted


@pytest.mark.parametrize("character", ["x", "é", "\\\\", "\\n", '"'], ids=ascii)
def test_a_string_has_at_most_1024_characters(character: str) -> None:
    for count, is_admitted in ((1_024, True), (1_025, False)):
        assert takes(marked("string[]"), use(f"['{character * count}']")) is is_admitted


def test_an_array_has_at_most_64_items() -> None:
    for count, is_admitted in ((64, True), (65, False)):
        items = ", ".join(["true"] * count)
        assert takes(marked("bool[]"), use(f"[{items}]")) is is_admitted
        assert takes(marked("bool[64]"), use(f"[{items}]")) is is_admitted
    assert not takes(marked("bool[64]"), use(f"[{', '.join(['true'] * 63)}]"))


def test_a_text_has_no_limit_of_its_own() -> None:
    tool = marked("bytes32[64]")
    text = f"[{', '.join(['ab' * 32] * 64)}]"
    assert len(text) > 1_024
    assert takes(tool, use(text))


def test_deep_lists_are_read_and_no_deeper_ones() -> None:
    assert takes(marked("bool" + "[]" * 8), use("[" * 8 + "true" + "]" * 8))
    assert takes(marked("bool" + "[]" * 8), use("[[[[]], []]]"))
    assert not takes(marked("bool" + "[]" * 8), use("[" * 9 + "]" * 9))
    assert not parses(use("[" * 100_000), marked("bool" + "[]" * 8))


def test_a_tool_has_at_most_64_parts_up_to_a_marker() -> None:
    full, list_of_8 = f"({','.join(['bool'] * 31)})", "bool" + "[]" * 8
    assert [of and of.part_count for of in map(parse_type, (full, list_of_8))] == [32, 9]
    for markers, typed in (
        ([full, full], [True, True]),
        ([full, full, "bytes1"], [True, True, False]),
        ([full, "(bool)", full, "bytes1"], [True, True, False, True]),
        ([list_of_8] * 8, [*[True] * 7, False]),
        ([*[list_of_8] * 7, "bytes1", "bytes1"], [*[True] * 8, False]),
    ):
        found = [one.abi_type is not None for one in marked(*markers).parameters]
        assert found == typed
    plain = ParamDescription(param_type=ParamType.BOOL, name="b", description="")
    last = ParamDescription(param_type=ParamType.STRING, name="s", description=f"[abi:{full}]")
    assert attach_types([*[plain] * 32, last])[-1].abi_type is not None
    assert attach_types([*[plain] * 33, last])[-1].abi_type is None


LONG = {
    "bytes": "0a" * 512,
    "bytes[]": f"[{', '.join(['00' * 200] * 8)}]",
    "bytes32[64]": f"[{', '.join(['ab' * 32] * 64)}]",
    "string[]": f"['{'0' * 1_024}', '{'é0 ' * 300}', '{chr(92) * 600}', '{chr(34) * 1_024}']",
    "(string)": f"('{(chr(92) + 'n0') * 512}')",
    "(address,uint24)[]": f"[{', '.join(['(cafe, 3000)'] * 64)}]",
    "(" + ",".join(["int256"] * 32) + ")": f"({', '.join([str(-(2**255))] * 32)})",
    "bool" + "[]" * 8: "[" * 7 + f"[{', '.join(['true'] * 64)}]" + "]" * 7,
}


@pytest.mark.parametrize("marker", LONG)
def test_every_mask_along_a_long_text_admits_its_next_byte(marker: str) -> None:
    # A compiled copy remembers what it worked out before, which hides the cost: compile anew.
    handles = [handle for handle, _ in HEX_BOOK.handles]
    grammar = build_grammar([marked(marker)], handles)
    matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(grammar), log_level=0)
    text = use(LONG[marker])
    for position, byte in enumerate(text.encode()):
        mask = matcher.compute_bitmask()
        assert not matcher.get_error(), position
        assert mask[byte // 8] >> (byte % 8) & 1, (position, text[position : position + 20])
        assert matcher.consume_token(byte)
    assert matcher.is_accepting()
    assert parses(text, marked(marker))


def test_64_tools_with_64_parts_each_compile() -> None:
    sizes = ["[]", *(f"[{size}]" for size in range(2, 9))]
    number = 0
    tools = []
    for _ in range(64):
        types = []
        for _ in range(7):
            suffix = "".join(sizes[number // 8**place % 8] for place in range(3))
            types.append(f"uint{8 * (1 + number % 32)}{'[]' * 5}{suffix}")
            number += 1
        tools.append(replace(marked(*types), name=f"t{number}"))
    assert all(one.abi_type for tool in tools for one in tool.parameters)
    matcher = LLMatcher(BYTES, LLMatcher.grammar_from_lark(build_grammar(tools, [])), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    assert matcher.compute_bitmask()


# -- which parameters -- #


@pytest.mark.parametrize(
    ("kind", "marker", "is_typed"),
    [
        (ParamType.STRING, "bytes", True),
        (ParamType.STRING, "uint8", True),
        (ParamType.STRING, "(string)", True),
        (ParamType.STRING, "address[]", True),
        (ParamType.STRING, "string", False),
        (ParamType.STRING, "bool", False),
        (ParamType.STRING, "address", False),
        (ParamType.STRING_ARRAY, "bytes32", True),
        (ParamType.STRING_ARRAY, "string", False),
        (ParamType.UINT, "uint8", True),
        (ParamType.UINT_ARRAY, "uint8", True),
        (ParamType.INT, "int8", True),
        (ParamType.INT_ARRAY, "int8", True),
        (ParamType.UINT, "int8", False),
        (ParamType.INT, "uint8", False),
        (ParamType.UINT, "uint8[]", False),
        (ParamType.UINT_ARRAY, "uint8[]", False),
        (ParamType.UINT, "bytes1", False),
        (ParamType.ADDRESS, "address", False),
        (ParamType.ADDRESS, "bytes20", False),
        (ParamType.BOOL, "bool", False),
        (ParamType.BOOL_ARRAY, "bytes", False),
    ],
)
def test_a_marker_fits_its_parameter_or_is_plain_text(
    kind: ParamType, marker: str, is_typed: bool
) -> None:
    (parameter,) = marked(marker, kind=kind).parameters
    assert (parameter.abi_type is not None) is is_typed
    assert parameter.plain_description == ("x" if is_typed else f"x [abi:{marker}]")


@pytest.mark.parametrize(
    ("kind", "marker", "admitted", "refused"),
    [
        (ParamType.UINT, "uint8", ["0", "255"], ["256", "-1"]),
        (ParamType.INT, "int16", ["-32768", "32767"], ["-32769", "32768"]),
        (ParamType.UINT_ARRAY, "uint24", ["[]", "[16777215]"], ["[16777216]", "16777215"]),
        (ParamType.INT_ARRAY, "int8", ["[-128, 127]"], ["[128]"]),
    ],
)
def test_an_integer_is_in_the_range_of_its_marker(
    kind: ParamType, marker: str, admitted: list[str], refused: list[str]
) -> None:
    tool = marked(marker, kind=kind)
    assert all(takes(tool, use_raw(value)) for value in admitted)
    assert not any(takes(tool, use_raw(value)) for value in refused)


@pytest.mark.parametrize(
    ("kind", "marker"), [(ParamType.UINT, "uint256"), (ParamType.INT, "int256")]
)
def test_the_whole_range_has_the_grammar_of_a_parameter_without_a_marker(
    kind: ParamType, marker: str
) -> None:
    assert build_grammar([marked(marker, kind=kind)], []) == build_grammar(
        [marked("", kind=kind)], []
    )


def test_a_stated_range_ends_at_the_bounds_of_the_type() -> None:
    for description, values_ in (
        ("from 1 to 1000 [abi:uint8]", range(1, 256)),
        ("from 1 to 5 [abi:uint8]", range(1, 6)),
        ("from 300 to 1000 [abi:uint8]", None),
    ):
        parameter = ParamDescription(param_type=ParamType.UINT, name="v", description=description)
        limited = limit_tools([with_parameter(parameter)])[0].parameters[0]
        assert limited.values == values_
        assert limited.limits == (values_ or range(256))


def test_a_typed_text_states_no_set() -> None:
    parameter = ParamDescription(
        param_type=ParamType.STRING, name="v", description="one of aa, bb [abi:bytes1]"
    )
    (tool,) = limit_tools([with_parameter(parameter)])
    assert tool.parameters[0].values is None
    assert takes(tool, use("cc"))


def test_tools_share_rules_and_terminals() -> None:
    tools = [marked("(uint8,bytes)[]", "bytes[]", "(uint8,bytes)[]")]
    grammar = build_grammar(tools, [])
    assert grammar.count("TYPED_UINT8: ") == grammar.count("TYPED_BYTES: ") == 1
    assert grammar.count("\ntyped") == 2
    assert grammar.count("\npart") == 3


# -- helpers of the short format -- #


@given(TEXTS)
def test_a_quoted_text_is_unquoted(text: str) -> None:
    assert unquote_text(quote_text(text)) == text


def test_errors_name_the_place_and_the_type() -> None:
    of = parse_type("(uint8,bool[2])")
    assert of is not None
    for text, message in (
        ("(256, [true, true])", 'character 1, "256, [true, true])": must be uint8: a whole number'),
        ("(1, [true])", 'character 9, "])": bool[2] has at least 2 items'),
        ("(1, [true, true, true])", 'character 15, ", true])": bool[2] has at most 2 items'),
        ("(1, [true, true]", "character 16, the end: must be ')' of (uint8,bool[2])"),
        ("(1, [true, true])x", 'character 17, "x": must be the end of (uint8,bool[2])'),
    ):
        with pytest.raises(TypedTextError) as caught:
            read_typed_text(of, text)
        assert str(caught.value).startswith(message)

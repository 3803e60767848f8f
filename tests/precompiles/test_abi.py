"""The executor's ABI: requests in, results out, and nothing that decodes to more than it is."""

from __future__ import annotations

import sys
import tracemalloc
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from eth_abi import decode, encode
from eth_typing import Address
from eth_utils import keccak
from hypothesis import example, given
from hypothesis import strategies as st

from precompiles.abi import (
    DESCRIPTION_SELECTOR,
    INPUT_DESCRIPTION_SELECTOR,
    NAME_SELECTOR,
    RUN_NEXT_ITERATION_SELECTOR,
    FinalAnswer,
    IterationRequest,
    MalformedAbiError,
    ParamDescription,
    ParamType,
    ToolUse,
    decode_bounded,
    decode_input_description,
    decode_request,
    decode_string,
    encode_result,
)
from precompiles.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from precompiles.abi import Value

SELECTOR = bytes.fromhex("7e636a24")
REQUEST_TYPES = ("string", "string", "address[]", "string[]", "string[]", "string")
DESCRIPTION_TYPE = "((uint8,string,string)[])"
TOOL = Address(bytes.fromhex("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"))
CHECKSUMMED = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
OTHER = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
OTHER_WORD = "000000000000000000000000fb6916095ca1df60bb79ce92ce3ea74c37c5d359"

FULL_REQUEST = SELECTOR + encode(
    REQUEST_TYPES,
    (
        "llama_model_3",
        "You are a wallet.\nÄöü",
        [TOOL, bytes(19) + b"\x01"],
        ["Thought: a\nAction: b\nAction Input: {}", ""],
        ["first", "x" * 33],
        "How much is there?",
    ),
)
FULL_DESCRIPTION = encode(
    [DESCRIPTION_TYPE], [([(1, "to", "who gets it"), (4, "amount", "in wei, " * 8), (0, "", "")],)]
)


def words(*parts: int | str) -> bytes:
    """Write words by hand: an integer as a number, a text as hexadecimal digits from the left."""
    return b"".join(
        part.to_bytes(32, "big") if isinstance(part, int) else bytes.fromhex(part.ljust(64, "0"))
        for part in parts
    )


def refusal_of(calldata: bytes) -> str | None:
    """Return the name of the refusal that calldata meets, None where it decodes."""
    try:
        decode_request(calldata)
    except Refusal as refusal:
        return refusal.name if refusal.encode() else ""
    return None


addresses = st.binary(min_size=20, max_size=20)
texts = st.text(max_size=40)
requests = st.tuples(
    texts,
    texts,
    st.lists(addresses, max_size=3),
    st.lists(texts, max_size=3),
    st.lists(texts, max_size=3),
    texts,
)


class TestSelectors:
    """The ERC's functions, by their signatures."""

    @pytest.mark.parametrize(
        ("selector", "by_hand", "signature"),
        [
            pytest.param(
                RUN_NEXT_ITERATION_SELECTOR,
                "7e636a24",
                "runNextIteration(string,string,address[],string[],string[],string)",
                id="runNextIteration",
            ),
            pytest.param(NAME_SELECTOR, "06fdde03", "name()", id="name"),
            pytest.param(DESCRIPTION_SELECTOR, "7284e416", "description()", id="description"),
            pytest.param(
                INPUT_DESCRIPTION_SELECTOR, "0ef946da", "inputDescription()", id="inputDescription"
            ),
        ],
    )
    def test_selector_is_the_hash_of_the_signature(
        self, selector: bytes, by_hand: str, signature: str
    ) -> None:
        assert selector.hex() == by_hand
        assert keccak(text=signature)[:4] == selector


class TestParamType:
    """The ERC's enum, position by position."""

    @pytest.mark.parametrize(
        ("position", "name", "abi_type"),
        [
            (0, "STRING", "string"),
            (1, "ADDRESS", "address"),
            (2, "BOOL", "bool"),
            (3, "INT", "int256"),
            (4, "UINT", "uint256"),
            (5, "STRING_ARRAY", "string[]"),
            (6, "ADDRESS_ARRAY", "address[]"),
            (7, "BOOL_ARRAY", "bool[]"),
            (8, "INT_ARRAY", "int256[]"),
            (9, "UINT_ARRAY", "uint256[]"),
        ],
    )
    def test_position_name_and_type(self, position: int, name: str, abi_type: str) -> None:
        assert ParamType(position).name == name
        assert ParamType(position).abi_type == abi_type

    def test_there_are_ten(self) -> None:
        assert len(ParamType) == 10


class TestDecodeRequest:
    """`runNextIteration` calldata."""

    @given(requests)
    def test_a_request_round_trips(
        self, values: tuple[str, str, list[bytes], list[str], list[str], str]
    ) -> None:
        model_id, base_prompt, tools, agent_reasoning, tool_results, prompt = values
        assert decode_request(SELECTOR + encode(REQUEST_TYPES, values)) == IterationRequest(
            model_id=model_id,
            base_prompt=base_prompt,
            tools=tuple(Address(tool) for tool in tools),
            agent_reasoning=tuple(agent_reasoning),
            tool_results=tuple(tool_results),
            prompt=prompt,
        )

    def test_a_request_written_by_hand(self) -> None:
        body = words(
            *(192, 256, 320, 384, 416, 448),  # offsets of the six arguments
            *(1, b"m".hex()),
            *(2, b"hi".hex()),
            *(1, "0" * 24 + TOOL.hex()),
            0,
            0,
            *(3, b"Go!".hex()),
        )
        assert decode_request(SELECTOR + body) == IterationRequest(
            model_id="m",
            base_prompt="hi",
            tools=(TOOL,),
            agent_reasoning=(),
            tool_results=(),
            prompt="Go!",
        )

    def test_extra_bytes_at_the_end_change_nothing(self) -> None:
        assert decode_request(FULL_REQUEST + b"\xff" * 77) == decode_request(FULL_REQUEST)

    def test_every_truncation_is_refused(self) -> None:
        for size_bytes in range(len(FULL_REQUEST)):
            with pytest.raises(Refusal) as refused:
                decode_request(FULL_REQUEST[:size_bytes])
            expected = "UnknownSelector" if size_bytes < 4 else "MalformedCalldata"
            assert refused.value.name == expected, size_bytes

    @pytest.mark.parametrize(
        ("calldata", "shown"),
        [
            pytest.param(b"", bytes(4), id="none"),
            pytest.param(b"\x7e\x63", b"\x7e\x63\0\0", id="short"),
            pytest.param(b"\x06\xfd\xde\x03" + bytes(32), b"\x06\xfd\xde\x03", id="other"),
        ],
    )
    def test_another_selector_is_named(self, calldata: bytes, shown: bytes) -> None:
        with pytest.raises(Refusal) as refused:
            decode_request(calldata)
        assert (refused.value.name, refused.value.arguments) == ("UnknownSelector", (shown,))

    @given(st.binary(max_size=2_000))
    @example(b"\xff" * 640)
    def test_random_bytes_are_refused_and_nothing_else(self, body: bytes) -> None:
        assert refusal_of(SELECTOR + body) in {"MalformedCalldata", "InvalidUtf8", None}

    @given(st.data())
    def test_a_request_with_words_replaced_decodes_or_is_refused(self, data: st.DataObject) -> None:
        count = (len(FULL_REQUEST) - 4) // 32
        edges = [0, 1, 31, 32, 33, 64, len(FULL_REQUEST) - 36, 2**63, 2**64, 2**255, 2**256 - 1]
        numbers = st.sampled_from(edges) | st.integers(0, len(FULL_REQUEST))
        body = bytearray(FULL_REQUEST[4:])
        for index in data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4)):
            body[32 * index : 32 * index + 32] = words(data.draw(numbers))
        calldata = SELECTOR + bytes(body)
        assert refusal_of(calldata) in {"MalformedCalldata", "InvalidUtf8", None}

    @pytest.mark.parametrize(
        ("position", "field"),
        [
            (0, "modelId"),
            (1, "basePrompt"),
            (3, "agentReasoning"),
            (4, "toolResults"),
            (5, "prompt"),
        ],
        ids=str,
    )
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param(b"\xff", id="no_utf8"),
            pytest.param(b"a\xc3", id="cut_short"),
            pytest.param(b"\xc0\x80", id="overlong"),
            pytest.param(b"\xed\xa0\x80", id="surrogate"),
            pytest.param(b"\xf4\x90\x80\x80", id="beyond_unicode"),
        ],
    )
    def test_invalid_utf8_names_the_field(self, position: int, field: str, text: bytes) -> None:
        values: list[object] = [b"m", b"b", [TOOL], [b"ok"], [b"ok"], b"p"]
        values[position] = [b"ok", text] if isinstance(values[position], list) else text
        types = ("bytes", "bytes", "address[]", "bytes[]", "bytes[]", "bytes")
        with pytest.raises(Refusal) as refused:
            decode_request(SELECTOR + encode(types, values))
        assert (refused.value.name, refused.value.arguments) == ("InvalidUtf8", (field,))

    def test_dirty_address_bits_are_refused(self) -> None:
        dirty = FULL_REQUEST.replace(bytes(12) + TOOL, b"\x01" + bytes(11) + TOOL)
        assert dirty != FULL_REQUEST
        with pytest.raises(Refusal, match="MalformedCalldata"):
            decode_request(dirty)


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions a piece of work calls: the same number on every machine."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def aliased_strings(count: int, size_bytes: int) -> bytes:
    """Write a request whose `agentReasoning` is one large string `count` times over."""
    text = words(size_bytes) + b"a" * size_bytes
    history = words(count, *[32 * count] * count) + text
    empty = words(0)
    at_history = 32 * 6 + len(empty)
    at_empty = 32 * 6
    head = words(at_empty, at_empty, at_empty, at_history, at_empty, at_empty)
    return SELECTOR + head + empty + history


def aliased_arrays(count: int, inner: int) -> bytes:
    """Write `bytes[][]` whose items are one and the same array of one and the same string."""
    text = words(320) + b"a" * 320
    return words(32, count, *[32 * count] * count, inner, *[32 * inner] * inner) + text


class TestDecodedSize:
    """Calldata that decodes to more than its own size is rejected before decoding."""

    @pytest.mark.parametrize(
        "decode_it",
        [
            pytest.param(lambda: decode_request(aliased_strings(1_000, 32_000)), id="32_MB"),
            pytest.param(lambda: decode_request(aliased_strings(2, 60_032)), id="twice"),
            pytest.param(
                lambda: decode_bounded(("bytes[][]",), aliased_arrays(900, 900)),
                id="array_of_arrays",
            ),
            pytest.param(
                lambda: decode_bounded(("bytes", "bytes"), words(64, 64, 3_200) + b"a" * 3_200),
                id="two_heads",
            ),
        ],
    )
    def test_aliased_offsets_are_refused_at_once(self, decode_it: Callable[[], object]) -> None:
        def refuse() -> None:
            with pytest.raises((Refusal, MalformedAbiError), match="more than its own"):
                decode_it()

        tracemalloc.start()
        try:
            refuse()
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < 1_000_000
        assert count_calls(refuse) < 20_000

    @pytest.mark.parametrize("array", [2, 3, 4], ids=["tools", "agentReasoning", "toolResults"])
    @pytest.mark.parametrize("count", [2_047, 2**32, 2**64, 2**251, 2**256 - 1], ids=hex)
    def test_an_array_longer_than_the_calldata_is_refused_at_once(
        self, array: int, count: int
    ) -> None:
        head = [192] * 6
        head[array] = 224
        tracemalloc.start()
        try:
            with pytest.raises(Refusal, match="does not fit"):
                decode_request(SELECTOR + words(*head, 0, count) + bytes(640))
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak_bytes < 200_000

    def test_an_array_that_contains_itself_is_refused(self) -> None:
        with pytest.raises(MalformedAbiError):
            decode_bounded(("bytes[][][]",), words(32, 1, 0, *[0] * 20))

    def test_a_maximal_request_decodes_quickly(self) -> None:
        count = 65_000 // 64
        calldata = SELECTOR + encode(REQUEST_TYPES, ("", "", [], [""] * count, [], ""))
        assert len(decode_request(calldata).agent_reasoning) == count
        assert count_calls(lambda: decode_request(calldata)) < 100 * count


class TestDecodeString:
    """Return data of `name()` and `description()`."""

    @given(st.text())
    def test_a_string_round_trips(self, text: str) -> None:
        assert decode_string(encode(["string"], [text])) == text

    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(words(32), id="no_length"),
            pytest.param(words(32, 1), id="no_text"),
            pytest.param(words(2**255, 1), id="offset_beyond"),
            pytest.param(words(32, 2**256 - 1), id="length_beyond"),
            pytest.param(b"hello".ljust(32, b"\0"), id="bytes32"),
            pytest.param(words(32, 1, "61ff"), id="dirty_padding"),
        ],
    )
    def test_what_is_no_string_is_malformed(self, data: bytes) -> None:
        with pytest.raises(MalformedAbiError):
            decode_string(data)

    def test_invalid_utf8_stays_a_unicode_error(self) -> None:
        with pytest.raises(UnicodeDecodeError):
            decode_string(words(32, 1, "ff"))


class TestDecodeInputDescription:
    """Return data of `inputDescription()`."""

    @given(st.lists(st.tuples(st.sampled_from(ParamType), st.text(), st.text()), max_size=6))
    def test_a_description_round_trips(self, params: list[tuple[ParamType, str, str]]) -> None:
        expected = tuple(
            ParamDescription(param_type=param_type, name=name, description=description)
            for param_type, name, description in params
        )
        data = encode([DESCRIPTION_TYPE], [(params,)])
        assert decode_input_description(data) == expected

    def test_a_description_written_by_hand(self) -> None:
        param = words(9, 96, 160, 1, b"n".hex(), 1, b"d".hex())
        assert decode_input_description(words(32, 32, 1, 32) + param) == (
            ParamDescription(param_type=ParamType.UINT_ARRAY, name="n", description="d"),
        )

    def test_every_truncation_is_malformed(self) -> None:
        for size_bytes in range(len(FULL_DESCRIPTION)):
            with pytest.raises(MalformedAbiError):
                decode_input_description(FULL_DESCRIPTION[:size_bytes])

    @pytest.mark.parametrize("param_type", [10, 11, 255, 256, 2**256 - 1], ids=str)
    def test_a_type_beyond_the_tenth_is_malformed(self, param_type: int) -> None:
        param = words(param_type, 96, 160, 1, b"n".hex(), 1, b"d".hex())
        with pytest.raises(MalformedAbiError):
            decode_input_description(words(32, 32, 1, 32) + param)

    def test_one_parameter_many_times_over_is_malformed(self) -> None:
        param = words(0, 96, 96, 320) + b"a" * 320
        with pytest.raises(MalformedAbiError):
            decode_input_description(words(32, 32, 30, *[32 * 30] * 30) + param)

    @given(st.binary(max_size=600))
    def test_random_bytes_are_malformed_or_no_utf8(self, data: bytes) -> None:
        with suppress(MalformedAbiError, UnicodeDecodeError):
            decode_input_description(data)


# What `abi.encode(value)` gives in Solidity, written out word by word.
ENCODED_VALUES: list[tuple[ParamType, Value, bytes]] = [
    (ParamType.STRING, "hé", words(32, 3, "68c3a9")),
    (ParamType.ADDRESS, OTHER, words(OTHER_WORD)),
    (ParamType.BOOL, True, words(1)),
    (ParamType.INT, -2, words("f" * 63 + "e")),
    (ParamType.UINT, 2**256 - 1, words("f" * 64)),
    (ParamType.STRING_ARRAY, ["a", ""], words(32, 2, 64, 128, 1, "61", 0)),
    (ParamType.ADDRESS_ARRAY, [OTHER, OTHER], words(32, 2, OTHER_WORD, OTHER_WORD)),
    (ParamType.BOOL_ARRAY, [False, True], words(32, 2, 0, 1)),
    (ParamType.INT_ARRAY, [-(2**255), 7], words(32, 2, "8" + "0" * 63, 7)),
    (ParamType.UINT_ARRAY, [], words(32, 0)),
]


def decode_result(data: bytes) -> tuple[bool, str, str, tuple[list[tuple[int, bytes]], bytes], str]:
    """Decode as a Solidity caller does: the return data is one `AgentIterationResult`."""
    (result,) = decode(["(bool,string,address,((uint8,bytes)[],bytes),string)"], data)
    is_final, answer, tool, (params, encoded), reasoning = result
    return is_final, answer, tool, (list(params), encoded), reasoning


class TestEncodeResult:
    """`AgentIterationResult` return data."""

    def test_a_final_answer_word_by_word(self) -> None:
        expected = words(
            32,  # offset of the struct
            *(1, 160, 0, 224, 352),  # isFinalAnswer, finalAnswer, tool, toolInput, agentReasoning
            *(5, b"42 \xc2\xa2".hex()),  # finalAnswer
            *(64, 96, 0, 0),  # toolInput: params, abiEncodedParams, both empty
            0,  # agentReasoning
        )
        assert encode_result(FinalAnswer(answer="42 ¢")) == expected

    @pytest.mark.parametrize(
        ("param_type", "value", "encoded"),
        [pytest.param(*case, id=case[0].name) for case in ENCODED_VALUES],
    )
    def test_a_value_is_its_own_abi_encoding(
        self, param_type: ParamType, value: Value, encoded: bytes
    ) -> None:
        use = ToolUse(
            tool=TOOL, param_types=(param_type,), values=(value,), agent_reasoning="Thought: x"
        )
        is_final, answer, tool, (params, all_encoded), reasoning = decode_result(encode_result(use))
        assert (is_final, answer, reasoning) == (False, "", "Thought: x")
        assert tool == CHECKSUMMED.lower()
        assert params == [(param_type, encoded)]
        assert all_encoded == encoded

    def test_all_ten_at_once(self) -> None:
        use = ToolUse(
            tool=TOOL,
            param_types=tuple(param_type for param_type, _, _ in ENCODED_VALUES),
            values=tuple(value for _, value, _ in ENCODED_VALUES),
            agent_reasoning="Thought: x",
        )
        *_, (params, all_encoded), _ = decode_result(encode_result(use))
        assert params == [(param_type, encoded) for param_type, _, encoded in ENCODED_VALUES]
        head = words(
            *(320, OTHER_WORD, 1, "f" * 63 + "e", "f" * 64),
            *(384, 576, 672, 768, 864),
        )
        tail = b"".join(
            encoded[32:] for _, _, encoded in ENCODED_VALUES if encoded[:32] == words(32)
        )
        assert all_encoded == head + tail

    def test_a_tool_without_parameters_has_empty_input(self) -> None:
        use = ToolUse(tool=TOOL, param_types=(), values=(), agent_reasoning="Thought: x")
        *_, tool_input, _ = decode_result(encode_result(use))
        assert tool_input == ([], b"")

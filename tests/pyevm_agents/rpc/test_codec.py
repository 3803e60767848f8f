"""JSON codec: exact, bounded, and never a crash of the process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.rpc.codec import Limits, decode, encode
from pyevm_agents.rpc.errors import INVALID_REQUEST, PARSE_ERROR, RpcError

LIMITS = Limits()

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**300), max_value=2**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=30,
)


def refusal(body: bytes, limits: Limits = LIMITS) -> RpcError:
    with pytest.raises(RpcError) as caught:
        decode(body, limits)
    return caught.value


@given(VALUES)
def test_what_is_written_is_json_of_the_same_value(value: object) -> None:
    assert json.loads(encode(value)) == value
    assert decode(encode(value), Limits(depth=1_000)) == value


@given(VALUES)
def test_what_others_write_is_read(value: object) -> None:
    assert decode(json.dumps(value).encode(), LIMITS) == value
    assert decode(json.dumps(value, indent=1, ensure_ascii=False).encode(), LIMITS) == value


@pytest.mark.parametrize("number", [2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**256, 10**99])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_are_exact(number: int, sign: int) -> None:
    value = {"value": [sign * number], "text": "1" * 200}
    assert decode(json.dumps(value).encode(), LIMITS) == value
    assert json.loads(encode(value)) == value


def test_too_many_digits_are_refused() -> None:
    error = refusal(b'{"a":"' + b"1" * 500 + b'","b":' + b"1" * 101 + b"}")
    assert error.code == INVALID_REQUEST
    assert error.message == "number too long: 101 digits, at most 100"
    assert refusal(b"1" * 1_000_000).code == PARSE_ERROR


def test_digits_in_strings_are_free() -> None:
    text = "0" * 10_000 + '"' + "1" * 10_000 + "\\"
    assert decode(json.dumps([text, 1]).encode(), LIMITS) == [text, 1]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b'{"a":}',
        b"[1,]",
        b"nul",
        b"NaN",
        b"Infinity",
        b"1e999",
        b"01",
        b"'a'",
        b'"\\ud800"',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b"\xef\xbb\xbf{}",
        b"{}{}",
        b"\x00",
        '{"a":1}'.encode("utf-16"),
    ],
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    error = refusal(body)
    assert error.code == PARSE_ERROR
    assert error.message.startswith("invalid JSON: ")


def test_long_messages_are_refused() -> None:
    assert decode(b"[1,2]", Limits(body_bytes=5)) == [1, 2]
    error = refusal(b"[1,2 ]", Limits(body_bytes=5))
    assert (error.code, error.message) == (
        INVALID_REQUEST,
        "message too large: 6 bytes, at most 5",
    )


def test_many_values_are_refused() -> None:
    assert decode(b"[1,2]", Limits(values=2)) == [1, 2]
    error = refusal(b"[1,2,3]", Limits(values=2))
    assert error.message.startswith("message too large: more than 2 commas and brackets")


@pytest.mark.parametrize("opening", ["[", '{"a":', '[0,{"a":'])
def test_deep_messages_are_refused(opening: str) -> None:
    def nested(times: int) -> bytes:
        closing = "".join({"[": "]", "{": "}"}[x] for x in reversed(opening) if x in "[{")
        return (opening * times + "0" + closing * times).encode()

    levels = sum(opening.count(x) for x in "[{")
    limits = Limits(depth=levels * 10)
    decode(nested(10), limits)
    assert "message too deep: more than" in refusal(nested(11), limits).message
    assert refusal(nested(40_000 // levels)).code == PARSE_ERROR


def test_wide_is_not_deep() -> None:
    inner: list[object] = []
    value = [{"a": [inner]}] * 1_000
    assert decode(json.dumps(value).encode(), Limits(depth=4)) == value


def test_deep_answers_are_written() -> None:
    value: object = 0
    for _ in range(5_000):
        value = {"calls": [value]}
    assert encode(value) == b'{"calls":[' * 5_000 + b"0" + b"]}" * 5_000


def test_an_answer_that_contains_itself_is_refused() -> None:
    value: dict[str, object] = {"a": 1}
    value["self"] = [value, value]
    with pytest.raises(ValueError, match="it may contain itself"):
        encode(value)


@pytest.mark.parametrize("value", [b"", {1: 2}, {"a": {1: 2**70}}, object(), {1}, "\ud800", [b""]])
def test_what_is_not_json_ready_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        encode(value)


def test_nesting_does_not_end_the_process() -> None:
    # A thread with the smallest default stack of Python (macOS: 512 KiB), under
    # py-evm's recursion limit.
    program = """
import sys, threading
from pyevm_agents.rpc.codec import decode
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.codec import Limits
sys.setrecursionlimit(12_288)
threading.stack_size(512 * 1024)
def read():
    for opening in (b"[", b'{"a":', b'[1111111111111111111111,{"a":'):
        for times in (100, 1_000, 10_000, 500_000):
            try:
                decode(opening * times, Limits(values=10**9))
            except RpcError as error:
                print(error.code)
thread = threading.Thread(target=read)
thread.start()
thread.join()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["-32700"] * 12), done.stderr

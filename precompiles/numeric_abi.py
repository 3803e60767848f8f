"""The ABI of the numeric models' precompile: calldata to typed request, numbers to return data.

The decoder is strict, and takes time in proportion to the calldata: arguments may stand in either
order and have bytes after them, but neither may share bytes with the other or with the head.

Source: contracts/interfaces/INumericModels.sol; docs/architecture.md#gas-before-work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.errors import NumericRefusal
from precompiles.spec import SELECTOR_BYTES, WORD_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

RUN_MODEL_SELECTOR = bytes.fromhex("439ccf80")
"""runModel(string,int256[])"""

DESCRIBE_MODEL_SELECTOR = bytes.fromhex("f391a869")
"""describeModel(string)"""

INT_END = 2**255
DESCRIPTION_HEAD_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """The arguments of `runModel`, with the numbers not decoded yet."""

    model_id: str
    count: int
    """Number of inputs."""

    words: bytes
    """The inputs: `count` words."""

    def decode_values(self) -> list[int]:
        """Return the inputs."""
        return [
            int.from_bytes(self.words[at : at + WORD_BYTES], "big", signed=True)
            for at in range(0, len(self.words), WORD_BYTES)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeRequest:
    """The argument of `describeModel`."""

    model_id: str


def decode_numeric_request(calldata: bytes) -> RunRequest | DescribeRequest:
    """Decode the calldata of `runModel` or `describeModel`.

    Input:  selector and ABI (string modelId, int256[] input), or ABI (string modelId).
    Raises: NumericRefusal: UnknownSelector, MalformedCalldata, InvalidUtf8.
    """
    selector, body = calldata[:SELECTOR_BYTES], calldata[SELECTOR_BYTES:]
    if selector == DESCRIBE_MODEL_SELECTOR:
        text, _ = _read_text(body, head_bytes=WORD_BYTES)
        return DescribeRequest(model_id=_decode_model_id(text))
    if selector != RUN_MODEL_SELECTOR:
        raise NumericRefusal("UnknownSelector", selector.ljust(SELECTOR_BYTES, b"\0"))
    text, span = _read_text(body, head_bytes=2 * WORD_BYTES)
    start = _read_offset(body, WORD_BYTES, 2 * WORD_BYTES, "input")
    count = _read_word(body, start)
    first = start + WORD_BYTES
    end = first + count * WORD_BYTES
    if end > len(body):
        raise _malformed(f"an array of {count} items does not fit in {len(body)} bytes")
    if start < span.stop and span.start < end:
        raise _malformed("modelId and input share bytes")
    return RunRequest(model_id=_decode_model_id(text), count=count, words=body[first:end])


def encode_output(values: Sequence[int]) -> bytes:
    """Encode the output of `runModel`: ABI (int256[] output).

    Input: numbers within 256 bits.
    """
    return encode_word(WORD_BYTES) + _encode_array(values)


def encode_description(
    digest: bytes, input_decimals: Sequence[int], output_decimals: Sequence[int], gas: int
) -> bytes:
    """Encode the output of `describeModel`.

    Output: ABI (bytes32 digest, uint8[] inputDecimals, uint8[] outputDecimals, uint256 gas).
    """
    head = DESCRIPTION_HEAD_WORDS * WORD_BYTES
    second = head + WORD_BYTES * (1 + len(input_decimals))
    tails = _encode_array(input_decimals) + _encode_array(output_decimals)
    return digest + encode_word(head) + encode_word(second) + encode_word(gas) + tails


def compute_output_size(output_count: int) -> int:
    """Return the size of `encode_output`'s data, in bytes."""
    return WORD_BYTES * (2 + output_count)


def compute_description_size(input_count: int, output_count: int) -> int:
    """Return the size of `encode_description`'s data, in bytes."""
    return WORD_BYTES * (DESCRIPTION_HEAD_WORDS + 2 + input_count + output_count)


def compute_calldata_size(model_id: str, input_count: int) -> int:
    """Return the size of the calldata of `runModel` as Solidity encodes it, in bytes."""
    text_bytes = -(-len(model_id.encode()) // WORD_BYTES) * WORD_BYTES
    return SELECTOR_BYTES + WORD_BYTES * (4 + input_count) + text_bytes


def encode_word(number: int) -> bytes:
    """Encode a number, signed or not, as a word."""
    return (number % (2 * INT_END)).to_bytes(WORD_BYTES, "big")


def _encode_array(numbers: Sequence[int]) -> bytes:
    return b"".join([encode_word(len(numbers)), *map(encode_word, numbers)])


def _read_text(body: bytes, head_bytes: int) -> tuple[bytes, range]:
    """Return the bytes of the first argument, and the positions taken up."""
    start = _read_offset(body, 0, head_bytes, "modelId")
    size = _read_word(body, start)
    first = start + WORD_BYTES
    end = first + -(-size // WORD_BYTES) * WORD_BYTES
    if end > len(body):
        raise _malformed(f"modelId of {size} bytes does not fit in {len(body)} bytes")
    if any(body[first + size : end]):
        raise _malformed("the padding of modelId is not zero")
    return body[first : first + size], range(start, end)


def _read_offset(body: bytes, at: int, head_bytes: int, name: str) -> int:
    start = _read_word(body, at)
    if start < head_bytes:
        raise _malformed(f"{name} starts at byte {start}, within the head of {head_bytes}")
    return start


def _read_word(body: bytes, at: int) -> int:
    if at + WORD_BYTES > len(body):
        raise _malformed(f"reads past the end: byte {at} of {len(body)}")
    return int.from_bytes(body[at : at + WORD_BYTES], "big")


def _decode_model_id(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise NumericRefusal("InvalidUtf8", "modelId") from error


def _malformed(reason: str) -> NumericRefusal:
    return NumericRefusal("MalformedCalldata", reason)

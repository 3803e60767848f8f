"""Version 1's requests, inputs and results, from the draft's signatures."""

from __future__ import annotations

from eth_abi import encode
from eth_utils import keccak

from tests.contracts.plain_evm import ZERO

SYNCHRONOUS = 2**256 - 1
RUN = "run(((uint8,bytes)[]),address)"
RUN_NEXT_ITERATION = "runNextIteration(string,string,string,address[],string[],string)"
RESULT_TYPE = "(bool,string,address,bytes,string)"
PARAM_TYPES = {"string": 0, "address": 1, "uint256": 4}


def selector(signature: str) -> bytes:
    return keccak(text=signature)[:4]


def interface_id(*signatures: str) -> bytes:
    """Return the XOR of the selectors."""
    number = 0
    for signature in signatures:
        number ^= int.from_bytes(selector(signature))
    return number.to_bytes(4)


def params(types: list[str], values: list[object]) -> list[tuple[int, bytes]]:
    return [(PARAM_TYPES[t], encode([t], [v])) for t, v in zip(types, values, strict=True)]


def text_input(text: str) -> tuple[object, ...]:
    """Return an Input of one STRING."""
    return (params(["string"], [text]),)


def final_answer(text: str) -> tuple[object, ...]:
    """Return an AgentIterationResult that ends the run."""
    return (True, text, ZERO, b"", "")


def use_tool(
    tool: str, types: list[str], values: list[object], reasoning: str
) -> tuple[object, ...]:
    """Return an AgentIterationResult that uses a tool."""
    arguments = encode(["((uint8,bytes)[])", "address"], [(params(types, values),), ZERO])
    return (False, "", tool, selector(RUN) + arguments, reasoning)


def reason(tool: str, number: int) -> str:
    return f'Thought: count\nAction: {tool}\nAction Input: {{"amount": {number}}}'

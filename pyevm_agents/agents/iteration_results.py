"""Results of the executor, in either version of the ABI."""

from __future__ import annotations

from dataclasses import dataclass

from eth_abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils import to_checksum_address

from precompiles.versions import RUN_V1_SELECTOR
from pyevm_agents.errors import AgentsError

RESULT_V1_TYPE = "(bool,string,address,bytes,string)"
RESULT_V2_TYPE = "(bool,string,address,((uint8,bytes)[],bytes),string)"
"""`AgentIterationResult` of each version."""

INPUT_V1_TYPES = ("((uint8,bytes)[])", "address")
"""Arguments of a version-1 tool's `run`."""


class MalformedIterationError(AgentsError):
    """Bytes are not an `AgentIterationResult`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationResult:
    """An `AgentIterationResult` of either version."""

    is_final_answer: bool
    final_answer: str
    tool: str
    """Checksummed address; the zero address with a final answer."""

    params: tuple[tuple[int, bytes], ...]
    """Type and value of each argument."""

    agent_reasoning: str

    tool_calldata: bytes | None
    """Calldata of the tool's `run`; None in version 2, whose agents encode them."""


def decode_iteration(output: bytes) -> IterationResult:
    """Decode an `AgentIterationResult` of either version.

    The versions differ in `toolInput`: of version 1, the data begin with a selector; of version 2,
    with an offset, whose first bytes are 0. Final answers decode alike.

    Raises: MalformedIterationError.
    """
    try:
        return _decode_v1(output) or _decode_v2(output)
    except (DecodingError, OverflowError, UnicodeDecodeError) as error:
        raise MalformedIterationError(f"not an AgentIterationResult: 0x{output.hex()}") from error


def _decode_v1(output: bytes) -> IterationResult | None:
    """Decode a tool call of version 1; return None for another result."""
    try:
        [(is_final, _, tool, calldata, reasoning)] = decode([RESULT_V1_TYPE], output)
    except DecodingError:
        return None
    if is_final or calldata[: len(RUN_V1_SELECTOR)] != RUN_V1_SELECTOR:
        return None
    (params,), _ = decode(INPUT_V1_TYPES, calldata[len(RUN_V1_SELECTOR) :])
    return IterationResult(
        is_final_answer=False,
        final_answer="",
        tool=to_checksum_address(tool),
        params=tuple(params),
        agent_reasoning=reasoning,
        tool_calldata=calldata,
    )


def _decode_v2(output: bytes) -> IterationResult:
    # The head alone, so that version 1's final answer, without params, decodes as well.
    [(is_final, answer, tool, _, reasoning)] = decode(
        ["(bool,string,address,uint256,string)"], output
    )
    params: tuple[tuple[int, bytes], ...] = ()
    if not is_final:
        [(*_, (params, _), _)] = decode([RESULT_V2_TYPE], output)
    return IterationResult(
        is_final_answer=is_final,
        final_answer=answer,
        tool=to_checksum_address(tool),
        params=tuple(params),
        agent_reasoning=reasoning,
        tool_calldata=None,
    )

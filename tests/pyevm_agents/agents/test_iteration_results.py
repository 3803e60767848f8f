"""Results of the executor in both versions."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi import FinalAnswer, ParamType, ToolUse, Version
from precompiles.versions import encode_result
from pyevm_agents.agents.iteration_results import MalformedIterationError, decode_iteration

VERSIONS = pytest.mark.parametrize("version", Version)
TOOL = Address(b"\xab" * 20)
REASONING = "Thought: a\nAction: b\nAction Input: {}"


@VERSIONS
@given(text=st.text(), number=st.integers(0, 2**256 - 1))
def test_a_tool_call_is_decoded(version: Version, text: str, number: int) -> None:
    use = ToolUse(
        tool=TOOL,
        param_types=(ParamType.STRING, ParamType.UINT),
        values=(text, number),
        agent_reasoning=REASONING,
    )
    result = decode_iteration(encode_result(use, version))
    assert (result.is_final_answer, result.tool.lower()) == (False, "0x" + TOOL.hex())
    assert result.params == ((0, encode(["string"], [text])), (4, encode(["uint256"], [number])))
    assert result.agent_reasoning == REASONING
    assert (result.tool_calldata is None) == (version is Version.SECOND)


@VERSIONS
@given(answer=st.text())
def test_a_final_answer_is_decoded(version: Version, answer: str) -> None:
    result = decode_iteration(encode_result(FinalAnswer(answer=answer), version))
    assert (result.is_final_answer, result.final_answer, result.params) == (True, answer, ())


@pytest.mark.parametrize("output", [b"", bytes(31), b"\xff" * 320])
def test_other_bytes_are_refused(output: bytes) -> None:
    with pytest.raises(MalformedIterationError):
        decode_iteration(output)

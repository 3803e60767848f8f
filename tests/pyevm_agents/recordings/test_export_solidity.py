"""Solidity literals of an exported replay; `test_bridge_forge` compiles and runs it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from eth_abi import encode
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi import ParamDescription, ParamType
from precompiles.numeric_abi import RUN_MODEL_SELECTOR
from pyevm_agents.recordings.export import (
    NumericCall,
    ReplayExport,
    ReplayStep,
    ReplayTool,
    extract_numeric_calls,
)
from pyevm_agents.recordings.export_solidity import quote_solidity, render_solidity

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
LITERAL = re.compile(r"""(unicode)?"((?:[^"\\\n\r]|\\["\\nrt]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2})*)\"""")


def described(param_type: ParamType, name: str) -> ParamDescription:
    return ParamDescription(param_type=param_type, name=name, description=f"the {name}")


TOOL = ReplayTool(
    address=ADDRESS,
    name="Pay\u202e",
    description='Pays "now"',
    parameters=(
        described(ParamType.ADDRESS, "to"),
        described(ParamType.INT, "amount"),
        described(ParamType.BOOL, "fast"),
        described(ParamType.STRING, "note"),
        described(ParamType.UINT_ARRAY, "parts"),
    ),
)
STEP = ReplayStep(
    transaction="0x" + "ab" * 32,
    number=1,
    agent=ADDRESS,
    model_id="llama_model_3",
    base_prompt="Be kind.",
    tools=(TOOL,),
    agent_reasoning=(),
    tool_results=(),
    prompt="Pay",
    is_final_answer=False,
    answer="",
    tool=0,
    values=(
        encode(["address"], [ADDRESS]),
        encode(["int256"], [-5]),
        encode(["bool"], [True]),
        encode(["string"], ["é\n"]),
        encode(["uint256[]"], [[1]]),
    ),
    reasoning="Thought: a\nAction: Pay\nAction Input: {}",
    tokens={"cold": 3, "warm": 2, "output": 1, "forced": 0},
    prompt_gas=100,
    output_gas=20,
)
ANSWER = replace(
    STEP,
    number=2,
    agent_reasoning=(STEP.reasoning,),
    tool_results=("Paid",),
    is_final_answer=True,
    answer="Done.",
    values=(),
    reasoning="",
)


def written(*steps: ReplayStep) -> str:
    return render_solidity(ReplayExport(name="PayReplay", source="Recorded\nhere.", steps=steps))


def solidity_text(literal: str) -> str:
    """Parse a literal as the compiler does."""
    match = LITERAL.fullmatch(literal)
    assert match is not None, literal
    prefix, body = match.groups()
    assert prefix or body.isascii()
    short = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}

    def meant(found: re.Match[str]) -> bytes:
        escape = found[0][1:]
        if escape[0] == "u":
            return chr(int(escape[1:], 16)).encode()
        return bytes([int(escape[1:], 16)]) if escape[0] == "x" else short[escape].encode()

    parts = re.split(r"(\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\.)", body)
    joined = b"".join(
        meant(re.match(".*", part)) if index % 2 else part.encode()  # type: ignore[arg-type]
        for index, part in enumerate(parts)
    )
    return joined.decode()


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_literal_means_the_text(text: str) -> None:
    assert solidity_text(quote_solidity(text)) == text


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain", '"plain"'),
        ('a "b" \\ c', '"a \\"b\\" \\\\ c"'),
        ("line\nline\ttab", '"line\\nline\\ttab"'),
        ("é", 'unicode"é"'),
        ("\u202e", '"\\u202e"'),
        ("\0\x85", '"\\u0000\\u0085"'),
        ("\U000e0001", '"\\xf3\\xa0\\x80\\x81"'),
    ],
)
def test_what_does_not_print_is_escaped(text: str, literal: str) -> None:
    assert quote_solidity(text) == literal


def test_a_step_is_a_function_that_can_be_read() -> None:
    text = written(STEP)
    for line in (
        "library PayReplay {",
        "// Recorded\\nhere.",
        "uint256 internal constant STEPS = 1;",
        "uint256 internal constant INFERENCE_GAS = 120;",
        "executor.record(step1());",
        "3 tokens read cold, 2 warm, 1 written.",
        'step.modelId = "llama_model_3";',
        "step.tool = 0; // Pay\\u202e",
        f"step.values[0] = abi.encode(address({ADDRESS})); // to",
        "step.values[1] = abi.encode(int256(-5)); // amount",
        "step.values[2] = abi.encode(true); // fast",
        'step.values[3] = abi.encode(unicode"é\\n"); // note',
        f'step.values[4] = hex"{STEP.values[4].hex()}"; // parts',
        'tools[0].description = "Pays \\"now\\"";',
        'IERCAgentTool.ParamType.UINT_ARRAY, "parts", "the parts"',
        'from "@pyevm-agents/contracts/test/ReplayAgentExecutor.sol"',
    ):
        assert line in text, line


def test_what_comes_again_stands_there_once() -> None:
    text = written(STEP, ANSWER)
    assert text.count(quote_solidity(STEP.reasoning)) == 1
    assert text.count("Be kind.") == 1
    assert text.count("function tools1()") == 1
    assert "function tools2()" not in text
    assert 'step.answer = "Done.";' in text
    assert 'step.toolResults[0] = "Paid";' in text


def test_an_agent_without_tools_has_none_to_write() -> None:
    assert "tools1" not in written(replace(ANSWER, tools=()))


def test_answers_of_numeric_models_stand_beside_the_steps() -> None:
    call = RUN_MODEL_SELECTOR + encode(["string", "int256[]"], ["ri\nsk", [1, -1]])
    replay = ReplayExport(
        name="PayReplay",
        source="",
        steps=(STEP,),
        numeric_calls=(NumericCall(call=call, output=b"\x01" * 32),),
    )
    text = render_solidity(replay, contracts="lib")
    assert "        loadModels(AgentReplay.installModels());\n" in text
    assert f'models.record(hex"{call.hex()}", hex"{"01" * 32}");' in text
    assert "// runModel: ri\\nsk\n" in text
    for name in ("AgentReplay", "ReplayNumericModels"):
        assert f'import {{{name}}} from "lib/test/{name}.sol";' in text
    assert "odels" not in written(STEP)


NUMERIC_FRAME = {
    "to": "0x" + "12" * 20,
    "calls": [
        {"to": "0x" + "00" * 19 + "1a", "input": "0xaa", "output": "0x01"},
        {"to": "0x" + "00" * 19 + "1A", "input": "0xbb", "error": "execution reverted"},
        {
            "to": ADDRESS,
            "calls": [{"to": "0x" + "00" * 19 + "1a", "input": "0xcc", "output": "0x"}],
        },
        {"to": "0x" + "00" * 19 + "1a", "input": "0xaa", "output": "0x01"},
    ],
}


def test_answered_calls_of_numeric_models_are_extracted_once() -> None:
    assert extract_numeric_calls(NUMERIC_FRAME) == (
        NumericCall(call=b"\xaa", output=b"\x01"),
        NumericCall(call=b"\xcc", output=b""),
    )

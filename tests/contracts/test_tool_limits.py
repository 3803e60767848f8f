"""The limits of a plan are those of the contracts, and so are the types that they read."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.contract_intelligence import tool_limits
from pyevm_agents.contract_intelligence.tool_limits import (
    MAX_MEMBERS,
    MAX_TYPE_BYTES,
    MAX_TYPE_DEPTH,
    MAX_WORDS,
    find_type_flaw,
    fit_outputs,
)
from pyevm_agents.contract_intelligence.tool_spec import ToolOutput
from pyevm_agents.errors import ConfigError
from tests.checkout import ROOT
from tests.contracts.plain_evm import Contract, RevertedError, plain_evm
from tests.contracts.tool_bench import ToolBench, open_bench
from tests.contracts.typed_texts import abi_types

EXAMPLES = 60


@cache
def texts() -> Contract:
    """Return the library behind a contract, on an EVM of its own."""
    return plain_evm().deploy("AbiTexts")


@cache
def shared_bench() -> ToolBench:
    return open_bench(plain_evm())


@pytest.mark.parametrize(
    ("file", "constant", "value"),
    [
        ("libraries/AbiTypes", "MAX_DEPTH", MAX_TYPE_DEPTH),
        ("libraries/AbiTypes", "MAX_TYPE_BYTES", MAX_TYPE_BYTES),
        ("libraries/AbiTypes", "MAX_MEMBERS", MAX_MEMBERS),
        ("libraries/AbiTypes", "MAX_WORDS", MAX_WORDS),
        ("tools/AbiToolCheck", "MAX_BASIS_POINTS", tool_limits.MAX_BASIS_POINTS),
        ("tools/AbiToolCheck", "MAX_SECONDS", tool_limits.MAX_SECONDS),
        ("tools/AbiToolTexts", "MAX_DECIMALS", tool_limits.MAX_DECIMALS),
        ("tools/AbiToolFactory", "MAX_SPEC_BYTES", tool_limits.MAX_SPEC_BYTES),
        ("tools/AgentAccount", "LAST_PRECOMPILE", tool_limits.LAST_PRECOMPILE),
    ],
)
def test_a_limit_is_that_of_the_contract(file: str, constant: str, value: int) -> None:
    source = (ROOT / "contracts" / f"{file}.sol").read_text()
    found = re.search(rf" constant {constant} = ([^;]+);", source)
    assert found is not None
    text = found[1].replace("type(uint32).max", "2**32 - 1")
    text = re.sub(r"address\((0x[0-9a-f]+)\)", r"\1", text)
    assert eval(text) == value  # noqa: S307 - numbers of the sources


def nest(inner: str, count: int, form: str) -> str:
    for _ in range(count):
        inner = form.format(inner)
    return inner


WIDE = f"({','.join(['bool'] * MAX_MEMBERS)})"


@pytest.mark.parametrize(
    ("types", "is_read"),
    [
        ("(uint256,address)", True),
        ("(bytes32[2][],(string,int8)[3])", True),
        ("(function)", False),
        ("(fixed128x18)", False),
        ("(uint)", False),
        ("(uint7)", False),
        ("(uint08)", False),
        ("(bytes33)", False),
        ("(bytes0)", False),
        ("(bool8)", False),
        ("(uint256 )", False),
        ("(uint256", False),
        ("(uint256))", False),
        ("(uint256[0])", False),
        ("(uint256[01])", False),
        ("((),uint8)", False),
        (nest("bool", MAX_TYPE_DEPTH, "({})"), True),
        (nest("bool", MAX_TYPE_DEPTH + 1, "({})"), False),
        (f"({nest('bool', MAX_TYPE_DEPTH - 1, '{}[]')})", True),
        (f"({nest('bool', MAX_TYPE_DEPTH, '{}[]')})", False),
        (WIDE, True),
        (f"{WIDE[:-1]},bool)", False),
        (f"(bool[{MAX_WORDS}])", True),
        (f"(bool[{MAX_WORDS + 1}])", False),
        ("(bool[256][256])", True),
        ("(bool[257][256])", False),
        ("(string[257][256])", True),
        (f"(bool[{MAX_WORDS}],bool)", False),
        (f"({','.join([nest('uint256', 1, '{}[1000]')] * 64)})", True),
        (f"({','.join(['uint256[1][1][1][1][1][1][1]'] * 64)})", True),
        (f"({','.join(['uint256[1][1][1][1][1][1][1][1]'] * 64)})", False),
    ],
)
def test_types_at_the_limits(types: str, is_read: bool) -> None:
    assert (find_type_flaw(types) == "") is is_read
    assert does_read(types) is is_read


def does_read(types: str) -> bool:
    """Whether the contracts read types."""
    try:
        return bool(texts()("rewrite", types) == types)
    except RevertedError as error:
        assert error.error[0] == "MalformedType"  # noqa: PT017 - or no error
        return False


@given(abi_types, st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_altered_types_are_read_or_not_by_both(abi_type: str, data: st.DataObject) -> None:
    text = f"({abi_type})"
    place = data.draw(st.integers(1, len(text)))
    sign = data.draw(st.sampled_from("(),[]0189xuinbfd ") | st.just(""))
    altered = text[:place] + sign + text[place + data.draw(st.integers(0, 1)) :]
    assert (find_type_flaw(altered) == "") is (altered == "()" or does_read(altered))


OUTPUTS = st.one_of(
    abi_types,
    st.sampled_from(
        ("function", "fixed168x10", "ufixed", "function[]", "(fixed8x1,bool)[2]", "uint", "bytes99")
    ),
)


@given(st.lists(abi_types, max_size=3), st.lists(OUTPUTS, max_size=3))
@settings(max_examples=EXAMPLES, deadline=None)
def test_what_a_plan_admits_the_factory_creates(inputs: list[str], outputs: list[str]) -> None:
    bench = shared_bench()
    fitting = fit_outputs(f"({','.join(outputs)})")
    assert ("function" in fitting or "fixed" in fitting) is False
    shown: Any = (ToolOutput(),) * (0 if fitting == "()" else len(outputs))
    try:
        spec = bench.spec(f"({','.join(inputs)})", output_types=fitting, outputs=shown)
    except ConfigError as error:
        assert "too large for the executor" in str(error)  # noqa: PT017 - or no error
        return
    assert bench.factory("create", spec.as_abi())


@pytest.mark.parametrize(
    ("outputs", "fitting"),
    [
        ("()", "()"),
        ("(function,uint256)", "(bytes24,uint256)"),
        ("(ufixed128x18[],(function,bool))", "(bytes32[],(bytes24,bool))"),
        ("(fixed)", "(bytes32)"),
        ("(uint)", "()"),
        (f"({nest('bool', MAX_TYPE_DEPTH, '{}[]')})", "()"),
    ],
)
def test_outputs_that_a_tool_can_not_read_are_digits_or_left_out(
    outputs: str, fitting: str
) -> None:
    assert fit_outputs(outputs) == fitting

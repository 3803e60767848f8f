"""Functions proposed from bytecode alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.contract_intelligence.bytecode import (
    MAX_CODE_BYTES,
    list_selectors,
    propose_interface,
)
from pyevm_agents.contract_intelligence.function_abi import MAX_FUNCTIONS, read_interface
from tests.pyevm_agents.contract_intelligence.answering_code import LOOP, build_code
from tests.pyevm_agents.contract_intelligence.exchange import find_uniswap_artifact, load_abi

ARTIFACTS = [
    ("v2-periphery", "UniswapV2Router02"),
    ("v2-periphery", "WETH9"),
    ("v2-core", "UniswapV2Factory"),
    ("v2-core", "UniswapV2Pair"),
]


@pytest.mark.parametrize(("package", "name"), ARTIFACTS)
def test_all_functions_of_a_real_contract_are_found(package: str, name: str) -> None:
    path = find_uniswap_artifact(package, name)
    code = bytes.fromhex(json.loads(path.read_text())["evm"]["deployedBytecode"]["object"])
    interface = read_interface(load_abi(path), name="x", source="file")
    assert interface is not None
    expected = {each.selector: each for each in interface.functions}
    found = propose_interface(code)
    assert {each.selector for each in found.functions} == expected.keys() == list_selectors(code)
    for function in found.functions:
        real = expected[function.selector]
        if function.signature.startswith("0x"):
            assert function.name == f"function_{function.selector.hex()}"
            assert len(function.parameters) == len(real.parameters)
            continue
        # The primitives know it: evmole calls four swaps `view`.
        assert function.signature == real.signature
        assert (function.is_read_only, function.is_payable) == (real.is_read_only, real.is_payable)
        assert [each.abi_type for each in function.outputs] == [
            each.abi_type for each in real.outputs
        ]


def test_selectors_can_be_chosen() -> None:
    code = build_code({bytes([number]) * 4: b"" for number in range(1, 5)})
    assert len(propose_interface(code).functions) == 4
    chosen = propose_interface(code, {b"\x02" * 4, b"\x09" * 4})
    assert [each.signature for each in chosen.functions] == ["0x02020202"]


@pytest.mark.parametrize("code", [b"", b"\x00", LOOP, b"\xff", bytes.fromhex("5f5ffd"), b"\xef"])
def test_code_without_functions_is_a_warning(code: bytes) -> None:
    found = propose_interface(code)
    assert found.functions == ()
    assert found.warnings == ("no functions were found in the code",)


def test_code_has_a_limit() -> None:
    code = build_code({b"\x01\x02\x03\x04": b""})
    assert propose_interface(code.ljust(MAX_CODE_BYTES, b"\0")).functions
    found = propose_interface(code.ljust(MAX_CODE_BYTES + 1, b"\0"))
    assert found.functions == ()
    assert "must have at most 131,072" in found.warnings[0]


def test_functions_have_a_limit() -> None:
    code = build_code({number.to_bytes(4, "big"): b"" for number in range(1, MAX_FUNCTIONS + 9)})
    assert len(propose_interface(code).functions) == MAX_FUNCTIONS


@given(st.binary(max_size=2_000))
def test_no_code_is_an_exception(code: bytes) -> None:
    found = propose_interface(code)
    assert found.source == "bytecode"
    assert all(warning.isascii() and warning.isprintable() for warning in found.warnings)

"""geth's keccak256PreimageTracer."""

from __future__ import annotations

import pytest
from eth_utils import keccak

from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing import create_tracer
from tests.pyevm_agents.tracing.assembler import asm
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario

WORD = (7).to_bytes(32, "big")


@pytest.mark.parametrize(
    ("code", "inputs"),
    [
        ("STOP", []),
        ("PUSH0 PUSH0 KECCAK256", [b""]),
        ("0x07 PUSH0 MSTORE 0x20 PUSH0 KECCAK256", [WORD]),
        ("0x07 PUSH0 MSTORE 0x40 PUSH0 KECCAK256", [WORD + bytes(32)]),
        ("0x07 PUSH0 MSTORE 0x02 0x1f KECCAK256", [b"\x07\x00"]),
        ("0x01 PUSH0 KECCAK256 0x01 0x01 KECCAK256 0x02 PUSH0 KECCAK256", [b"\0", b"\0\0"]),
        ("0x01 KECCAK256", []),
        ("0x20 0x80000000 KECCAK256", []),
        ("0x20 PUSH0 KECCAK256 PUSH0 PUSH0 REVERT", [bytes(32)]),
    ],
)
def test_inputs_are_listed_by_hash(code: str, inputs: list[bytes]) -> None:
    scenario = Scenario(name="hashes", accounts={CONTRACT: GenesisAccount(code=asm(code))})
    assert scenario.trace(create_tracer({"tracer": "keccak256PreimageTracer"})) == {
        "0x" + keccak(data).hex(): "0x" + data.hex() for data in inputs
    }

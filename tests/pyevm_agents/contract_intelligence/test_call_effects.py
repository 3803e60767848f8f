"""Functions that only seem to read, shown by their example calls."""

from __future__ import annotations

import pytest

from pyevm_agents.contract_intelligence.capabilities import ExampleCall, FunctionCapability
from pyevm_agents.contract_intelligence.function_abi import ContractInterface
from pyevm_agents.contract_intelligence.inspection import InspectedContract, inspect_contracts
from tests.pyevm_agents.contract_intelligence.answering_code import (
    ENTRY_BYTES,
    REVERT,
    address_of,
    build_chain,
)
from tests.pyevm_agents.contract_intelligence.exchange import USER
from tests.pyevm_agents.contract_intelligence.recording_analyser import RecordingAnalyser

CONTRACT = address_of(0xA0)
SIGNATURE = "0x11223344"
READS, WRITES = "600754505f5ff3", "33600755600160015500"


FROM_FILE = ContractInterface(
    name="Box",
    source="file",
    functions=(
        FunctionCapability(
            name="peek",
            signature=SIGNATURE,
            selector=bytes.fromhex(SIGNATURE[2:]),
            parameters=(),
            is_read_only=True,
        ),
    ),
)


def find_read_only(
    code: str, example: ExampleCall, interface: ContractInterface | None = None
) -> bool:
    """Inspect a contract whose function executes a code; return whether it only reads."""
    place = 5 + ENTRY_BYTES + len(REVERT)
    head = b"\x5f\x35\x60\xe0\x1c\x80\x63" + bytes.fromhex(SIGNATURE[2:]) + b"\x14\x61"
    head += place.to_bytes(2, "big") + b"\x57"
    chain = build_chain(
        {CONTRACT: head + REVERT + b"\x5b" + bytes.fromhex(code)}, balances={CONTRACT: 5}
    )
    finding = {"is_read_only": True, "example": example}
    analyser = RecordingAnalyser(findings={SIGNATURE: finding})
    contracts = [InspectedContract(address=CONTRACT, interface=interface)]
    [found] = inspect_contracts(chain, contracts, USER, analyse=analyser)
    [function] = found.functions
    return function.is_read_only


@pytest.mark.parametrize(
    ("code", "is_read_only"),
    [
        (READS, True),
        (WRITES, False),
        ("60015f5d00", False),  # TSTORE
        ("5f5fa000", False),  # LOG0
        ("5f5f5ff000", False),  # CREATE
        ("5f5f5f5f6001615a5a5af100", False),  # CALL with a wei
        ("5f5f5f5f5f615a5a5af15f5ff3", True),  # CALL without one
    ],
)
def test_a_call_shows_whether_a_function_only_reads(code: str, is_read_only: bool) -> None:
    for interface in (None, FROM_FILE):
        assert find_read_only(code, ExampleCall(args=(), caller=USER), interface) is is_read_only


def test_an_example_that_can_not_be_encoded_shows_nothing() -> None:
    assert find_read_only(WRITES, ExampleCall(args=("five",), caller=USER)) is True

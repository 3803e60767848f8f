"""Storage that calls read and write: metadata of tools, and functions that only seem to read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_abi import encode

from precompiles.abi import INPUT_DESCRIPTION_SELECTOR
from pyevm_agents.contract_intelligence.capabilities import (
    Access,
    ContractIntelligence,
    ExampleCall,
    ToolMetadata,
)
from pyevm_agents.contract_intelligence.function_abi import build_parameters
from pyevm_agents.contract_intelligence.inspection import InspectedContract, inspect_contracts
from pyevm_agents.contract_intelligence.storage_access import MAX_SHOWN_SLOTS, describe_metadata
from pyevm_agents.contracts import load_artifact
from tests.pyevm_agents.contract_intelligence.answering_code import (
    ENTRY_BYTES,
    REVERT,
    address_of,
    build_chain,
    build_code,
    build_delegation,
    build_setter,
    build_slot_delegation,
    select,
)
from tests.pyevm_agents.contract_intelligence.exchange import (
    USER,
    build_account,
    deploy,
    get_exchange,
)
from tests.pyevm_agents.contract_intelligence.recording_analyser import RecordingAnalyser

TOOL, LOGIC, OTHER = map(address_of, (0xA0, 0xB0, 0xC0))
TEXT = encode(["string"], ["Tool"])
ANSWERS = {
    select("name()"): TEXT,
    select("description()"): TEXT,
    INPUT_DESCRIPTION_SELECTOR: encode(["((uint8,string,string)[])"], [([],)]),
}
SET_NAME = "setName(uint256)"


def inspect(
    codes: dict[str, bytes],
    analyser: RecordingAnalyser | None = None,
    *,
    slots: dict[int, int] | None = None,
) -> ContractIntelligence:
    chain = build_chain(codes, {TOOL: slots or {}})
    [found] = inspect_contracts(chain, [InspectedContract(address=TOOL)], USER, analyse=analyser)
    return found


def build_tool(prologue: str, slot: int | None = None) -> bytes:
    """Return a tool's code that executes some opcodes first, with a function that writes a slot."""
    head = bytes.fromhex(prologue)
    place = len(head) + 5 + ENTRY_BYTES * len(ANSWERS)
    setter = REVERT if slot is None else build_setter(select(SET_NAME), slot, place)
    return build_code(ANSWERS, setter, head)


def test_a_tool_of_constants_is_fixed() -> None:
    found = inspect({TOOL: build_code(ANSWERS)})
    assert found.tool_metadata == ToolMetadata()
    assert describe_metadata(found) == "fixed"


def test_what_is_no_tool_has_no_metadata() -> None:
    exchange = get_exchange()
    [token] = inspect_contracts(exchange.chain, [InspectedContract(address=exchange.usdc)], USER)
    assert token.tool_metadata is None
    assert describe_metadata(token) == ""


def test_the_implementation_of_a_proxy_can_change_it() -> None:
    fixed = inspect({TOOL: build_delegation(LOGIC), LOGIC: build_code(ANSWERS)})
    assert describe_metadata(fixed) == "fixed"
    codes = {TOOL: build_slot_delegation(0), LOGIC: build_code(ANSWERS)}
    found = inspect(codes, slots={0: int(LOGIC, 16)})
    # The slot is the implementation's place.
    assert describe_metadata(found) == "reads 1 slot; can be changed by the implementation"


def test_a_slot_that_no_function_writes() -> None:
    found = inspect({TOOL: build_tool("60075450")})
    assert found.tool_metadata is not None
    [slot] = found.tool_metadata.slots
    assert (slot.account, slot.slot, slot.writers) == (TOOL, 7, ())
    assert describe_metadata(found) == "reads 1 slot; nothing was found that changes it"


@pytest.mark.parametrize(
    ("access", "callers"), [(Access.OPEN, USER), (Access.FORBIDDEN, OTHER), (Access.UNKNOWN, "")]
)
def test_a_slot_that_a_function_writes(access: Access, callers: str) -> None:
    finding = {"access": access, "callers": (OTHER,) if access is Access.FORBIDDEN else ()}
    signature = f"0x{select(SET_NAME).hex()}"
    analyser = RecordingAnalyser(findings={signature: finding})
    found = inspect({TOOL: build_tool("60075450", slot=7)}, analyser)
    [setter] = [each for each in found.functions if each.signature == signature]
    assert found.tool_metadata is not None
    assert [each.writers for each in found.tool_metadata.slots] == [(setter.name,)]
    who = f"; called by {callers}" if callers else ""
    expected = f"reads 1 slot; can be changed by {setter.name}(){who}"
    assert describe_metadata(found) == expected


def test_another_slot_changes_nothing() -> None:
    found = inspect({TOOL: build_tool("60075450", slot=8)})
    assert describe_metadata(found) == "reads 1 slot; nothing was found that changes it"


def test_an_example_call_shows_what_it_writes() -> None:
    # The slot is computed: evmole does not know it.
    code = build_tool("60075450", slot=7).replace(b"\x60\x07\x55\x00", b"\x36\x55\x00\x00")
    signature = f"0x{select(SET_NAME).hex()}"
    example = ExampleCall(args=(5,), caller=USER)
    parameters = build_parameters(["uint256"])
    size = 4 + 32
    code = code.replace(b"\x60\x07\x54\x50", bytes([0x60, size, 0x54, 0x50]))
    without = inspect({TOOL: code}, RecordingAnalyser())
    assert "nothing was found" in describe_metadata(without)
    unencodable = {"example": replace(example, args=("five",)), "parameters": parameters}
    without = inspect({TOOL: code}, RecordingAnalyser(findings={signature: unencodable}))
    assert "nothing was found" in describe_metadata(without)
    finding = {"example": example, "parameters": parameters}
    found = inspect({TOOL: code}, RecordingAnalyser(findings={signature: finding}))
    assert f"can be changed by function_{select(SET_NAME).hex()}()" in describe_metadata(found)


@pytest.mark.parametrize(("opcode", "name"), [("42", "TIMESTAMP"), ("33", "CALLER")])
def test_opcodes_that_differ_from_call_to_call(opcode: str, name: str) -> None:
    found = inspect({TOOL: build_tool(f"{opcode}50")})
    assert describe_metadata(found) == f"reads 0 slots; can be changed by the opcode {name}"


def test_slots_of_another_contract() -> None:
    other = bytes.fromhex("600554005f")
    code = build_tool(f"5f5f5f5f73{OTHER[2:]}5afa50")
    found = inspect({TOOL: code, OTHER: other})
    assert describe_metadata(found) == f"reads 1 slot; can be changed by the contract {OTHER}"


def test_the_list_of_slots_is_cut() -> None:
    reads = "".join(f"60{slot:02x}5450" for slot in range(MAX_SHOWN_SLOTS + 1))
    found = inspect({TOOL: build_tool(reads)})
    assert found.tool_metadata is not None
    assert len(found.tool_metadata.slots) == MAX_SHOWN_SLOTS
    assert describe_metadata(found).startswith("reads 64 slots or more; nothing was found")


def test_a_real_tool_that_nothing_changes() -> None:
    account = build_account()
    ledger = "0x" + bytes(20).hex()
    creation = load_artifact("ScriptedTool").encode_creation(
        "Look", "Look up a long text, which takes more than the one slot of a short text.",
        [(4, "amount", "How much")], ledger, "Done", [],
    )  # fmt: skip
    tool = deploy(account, creation)
    [found] = inspect_contracts(account.chain, [InspectedContract(address=tool)], USER)
    assert found.tool_metadata is not None
    assert len(found.tool_metadata.slots) > 6
    assert {each.writers for each in found.tool_metadata.slots} == {()}
    renamed = replace(found, is_upgradeable=True)
    assert describe_metadata(renamed).endswith("can be changed by the implementation")


@pytest.mark.parametrize(
    ("code", "is_read_only"),
    [
        ("600754505f5ff3", True),
        ("33600755600160015500", False),  # SSTORE
        ("5f5fa000", False),  # LOG0
        ("5f5f5ff000", False),  # CREATE
        ("5f5f5f5f6001615a5a5af100", False),  # CALL with a wei
        ("5f5f5f5f5f615a5a5af15f5ff3", True),  # CALL without one
    ],
)
def test_a_call_shows_whether_a_function_only_reads(code: str, is_read_only: bool) -> None:
    signature = "0x11223344"
    selector = bytes.fromhex(signature[2:])
    place = 5 + ENTRY_BYTES + len(REVERT)
    head = b"\x5f\x35\x60\xe0\x1c\x80\x63" + selector + b"\x14\x61" + place.to_bytes(2, "big")
    contract = head + b"\x57" + REVERT + b"\x5b" + bytes.fromhex(code)
    finding = {
        "is_read_only": True,
        "is_payable": True,
        "example": ExampleCall(args=(), caller=USER),
    }
    analyser = RecordingAnalyser(findings={signature: finding})
    chain = build_chain({TOOL: contract}, balances={TOOL: 5})
    [found] = inspect_contracts(chain, [InspectedContract(address=TOOL)], USER, analyse=analyser)
    [function] = found.functions
    assert function.is_read_only is is_read_only

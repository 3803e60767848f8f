"""Tool metadata: `name()`, `description()` and `inputDescription()`, read from the tool's contract.

Each read is a metered `STATICCALL` at EVM cost, with the gas schedule's cap. During a read the
executor reverts with `ReentrantMetadata`, so a tool's metadata can't run inference.

A name is printable ASCII, so no name has invisible, bidirectional or composed characters, letters
of two scripts, or another form in another version of Unicode. Descriptions are any text; that of a
parameter can end with a marker of the type (`abi_types.py`).

Source: ERC, executor pseudocode; EIP-150, EIP-2929, EIP-7702; docs/architecture.md#gas-before-work,
#names-are-ascii.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth._utils.state import code_is_delegation_designation
from eth.constants import STACK_DEPTH_LIMIT
from eth.exceptions import OutOfGas
from eth.vm.forks.berlin.constants import COLD_ACCOUNT_ACCESS_COST, WARM_STORAGE_READ_COST
from eth.vm.forks.prague.state import PragueState
from eth_typing import Address

from precompiles.abi import (
    DESCRIPTION_SELECTOR,
    INPUT_DESCRIPTION_SELECTOR,
    NAME_SELECTOR,
    MalformedAbiError,
    ParamDescription,
    decode_input_description,
    decode_string,
)
from precompiles.errors import Refusal
from precompiles.spec import (
    EXECUTOR_ADDRESS,
    MAX_METADATA_BYTES,
    MAX_NAME_BYTES,
    MAX_PARAMETERS,
    MAX_REASON_BYTES,
)
from precompiles.typed_texts import attach_types

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from eth.abc import ComputationAPI

    from precompiles.gas import GasSchedule

    T = TypeVar("T")

_READING_SLOT = 0
"""Transient slot that is set while metadata is read; `warm_prefixes` uses 1 and digests."""

_WORDS = re.compile("[!-~]+(?: [!-~]+)*")
_HEXADECIMAL = re.compile("0[xX][0-9A-Fa-f]")
_VALUE = re.compile("(?i:true|false|null|addr[0-9]+)")
_LOOKS = str.maketrans({"1": "l", "I": "l", "|": "l", "0": "O", "m": "rn", "`": "'", '"': "''"})
"""ASCII characters, and the ones that look like them. Source: UTS #39, confusables.txt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool with metadata."""

    address: Address
    name: str
    description: str
    parameters: tuple[ParamDescription, ...]

    @property
    def leaf_count(self) -> int:
        """Number of parameters, in which each leaf of a typed text counts as one."""
        return sum(len(parameter.leaf_kinds) for parameter in self.parameters)


def read_tools(
    computation: ComputationAPI, addresses: Sequence[Address], schedule: GasSchedule
) -> tuple[Tool, ...]:
    """Read the metadata of every tool, in order.

    Gas:    per read: the account access, the gas of the call, `GasSchedule.metadata_gas`.
    Raises: Refusal: ToolWithoutCode, ToolMetadataFailed, ToolMetadataTooLarge,
            MalformedToolMetadata, DuplicateToolName, DuplicateParameterName, CallDepthExceeded.
            OutOfGas: a read fails with less gas than the schedule's `metadata_read_gas`.
    """
    if addresses and computation.msg.depth + 1 > STACK_DEPTH_LIMIT:
        raise Refusal("CallDepthExceeded")
    _set_reading(computation, reading=True)
    tools: list[Tool] = []
    names: dict[str, str] = {}
    for address in addresses:
        tool = _read_tool(computation, address, schedule)
        if tool.name in names.values():
            raise Refusal("DuplicateToolName", tool.name)
        _check_look(address, NAME_SELECTOR, tool.name, names)
        tools.append(tool)
    _set_reading(computation, reading=False)
    return tuple(tools)


def is_reading_metadata(computation: ComputationAPI) -> bool:
    """Whether a calling frame of this transaction is reading a tool's metadata."""
    return computation.state.get_transient_storage(EXECUTOR_ADDRESS, _READING_SLOT) == b"\x01"


def find_name_flaw(name: str) -> str | None:
    """Return why a text can't name a tool or a parameter; else None.

    Input: a text that has UTF-8.
    """
    try:
        _check_name(EXECUTOR_ADDRESS, NAME_SELECTOR, name)
    except Refusal as refusal:
        return str(refusal.arguments[-1])
    return None


def compute_look(name: str) -> str:
    """Return a text that is equal for names that look alike."""
    return name.translate(_LOOKS)


def _set_reading(computation: ComputationAPI, *, reading: bool) -> None:
    flag = b"\x01" if reading else b""
    computation.state.set_transient_storage(EXECUTOR_ADDRESS, _READING_SLOT, flag)


def _read_tool(computation: ComputationAPI, address: Address, schedule: GasSchedule) -> Tool:
    name = _read(computation, schedule, address, NAME_SELECTOR, decode_string)
    _check_name(address, NAME_SELECTOR, name)
    description = _read(computation, schedule, address, DESCRIPTION_SELECTOR, decode_string)
    selector = INPUT_DESCRIPTION_SELECTOR
    parameters = _read(computation, schedule, address, selector, decode_input_description)
    if len(parameters) > MAX_PARAMETERS:
        reason = f"{len(parameters)} parameters, at most {MAX_PARAMETERS}"
        raise Refusal("MalformedToolMetadata", address, selector, reason)
    names: dict[str, str] = {}
    for parameter in parameters:
        _check_name(address, selector, parameter.name)
        if parameter.name in names.values():
            raise Refusal("DuplicateParameterName", address, parameter.name)
        _check_look(address, selector, parameter.name, names)
    return Tool(
        address=address, name=name, description=description, parameters=attach_types(parameters)
    )


def _check_name(address: Address, selector: bytes, name: str) -> None:
    size_bytes = len(name.encode())
    if not 1 <= size_bytes <= MAX_NAME_BYTES:
        reason = f"a name of {size_bytes} bytes, must be 1 to {MAX_NAME_BYTES}"
    elif not _WORDS.fullmatch(name):
        reason = f"name {json.dumps(name)}: must be words of printable ASCII, one space apart"
    elif _HEXADECIMAL.search(name):
        reason = f"name {json.dumps(name)}: must not contain 0x and a hexadecimal digit"
    elif _VALUE.fullmatch(name):
        reason = f"name {json.dumps(name)}: must not be true, false, null or a handle such as addr1"
    else:
        return
    raise Refusal("MalformedToolMetadata", address, selector, reason)


def _check_look(address: Address, selector: bytes, name: str, names: dict[str, str]) -> None:
    """Refuse a name that looks like an earlier one; add the name to the names by looks."""
    twin = names.setdefault(compute_look(name), name)
    if twin != name:
        reason = f"name {json.dumps(name)}: must not look like {json.dumps(twin)}"
        raise Refusal("MalformedToolMetadata", address, selector, reason)


def _read(
    computation: ComputationAPI,
    schedule: GasSchedule,
    address: Address,
    selector: bytes,
    decode: Callable[[bytes], T],
) -> T:
    data = _call_static(computation, schedule.metadata_read_gas, address, selector)
    computation.consume_gas(schedule.metadata_gas(len(data)), reason="Executor metadata bytes")
    try:
        return decode(data)
    except MalformedAbiError as error:
        raise Refusal("MalformedToolMetadata", address, selector, str(error)) from error
    except UnicodeDecodeError as error:
        raise Refusal("MalformedToolMetadata", address, selector, "invalid UTF-8") from error


def _call_static(
    computation: ComputationAPI, most_gas: int, address: Address, selector: bytes
) -> bytes:
    """Call a tool as `STATICCALL` does, with at most `most_gas`; return its output."""
    code, delegate = _load_code(computation, address)
    if not code:
        raise Refusal("ToolWithoutCode", address)
    gas_left = computation.get_gas_remaining()
    granted_gas = min(most_gas, gas_left - gas_left // 64)
    computation.consume_gas(granted_gas, reason="Executor metadata read")
    message = computation.prepare_child_message(
        gas=granted_gas,
        to=address,
        value=0,
        data=selector,
        code=code,
        code_address=delegate or address,
        should_transfer_value=False,
        is_static=True,
        is_delegation=delegate is not None,
    )
    child = computation.apply_child_computation(message)
    if child.should_return_gas:
        computation.return_gas(child.get_gas_remaining())
    if child.is_error:
        if granted_gas < most_gas:
            # More gas might have made it succeed: a halt, not a fault of the tool.
            raise OutOfGas(f"Executor metadata read: {granted_gas} gas was not enough")
        reason = bytes(child.output[:MAX_REASON_BYTES])
        raise Refusal("ToolMetadataFailed", address, selector, reason)
    size_bytes = len(child.output)
    if size_bytes > MAX_METADATA_BYTES:
        raise Refusal("ToolMetadataTooLarge", address, selector, size_bytes, MAX_METADATA_BYTES)
    return bytes(child.output)


def _load_code(computation: ComputationAPI, address: Address) -> tuple[bytes, Address | None]:
    """Charge the access of a tool's account and EIP-7702 delegate; return code and delegate."""
    _charge_access(computation, address)
    code = computation.state.get_code(address)
    if not isinstance(computation.state, PragueState) or not code_is_delegation_designation(code):
        return code, None
    delegate = Address(code[3:])
    _charge_access(computation, delegate)
    if delegate in computation.get_precompiles():
        return b"", delegate  # EIP-7702: a precompile delegated to has no code
    return computation.state.get_code(delegate), delegate


def _charge_access(computation: ComputationAPI, address: Address) -> None:
    state = computation.state
    if state.is_address_warm(address):
        gas = WARM_STORAGE_READ_COST
    else:
        gas = COLD_ACCOUNT_ACCESS_COST
        state.mark_address_warm(address)
    computation.consume_gas(gas, reason="Executor tool access")

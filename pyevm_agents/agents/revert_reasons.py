"""Revert data as text: errors of known contracts, of the executor, and of Solidity itself.

An agent wraps the reason of a failed tool in its own error: reasons nest, and are shown in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas
from eth_utils import to_checksum_address

from precompiles.abi import DESCRIPTION_SELECTOR, INPUT_DESCRIPTION_SELECTOR, NAME_SELECTOR
from precompiles.errors import error_selector
from precompiles.executor import Executor
from precompiles.numeric_executor import NumericExecutor
from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi import ErrorDefinition, decode_values
from pyevm_agents.agents.known_contracts import KnownContracts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI
    from eth.exceptions import VMError
    from eth_typing import Address

PANICS = {
    0x00: "a check of the compiler",
    0x01: "a failed assertion",
    0x11: "arithmetic overflow",
    0x12: "division by zero",
    0x21: "no such enum value",
    0x22: "damaged storage of a byte array",
    0x31: "pop of an empty array",
    0x32: "array index out of bounds",
    0x41: "out of memory",
    0x51: "call of an uninitialised function",
}
"""Solidity's panics in words. Source: its documentation, "Panic via assert"."""

NO_REASON = "no reason given"

SOLIDITY_ERRORS: Mapping[bytes, ErrorDefinition] = {
    bytes.fromhex("08c379a0"): ErrorDefinition(
        name="Error", types=("string",), argument_names=("",)
    ),
    bytes.fromhex("4e487b71"): ErrorDefinition(
        name="Panic", types=("uint256",), argument_names=("",)
    ),
}
"""Errors of the language itself, by selector."""

BUNDLED = KnownContracts()
"""The bundled contracts alone."""

METADATA_FUNCTIONS = {
    NAME_SELECTOR: "name()",
    DESCRIPTION_SELECTOR: "description()",
    INPUT_DESCRIPTION_SELECTOR: "inputDescription()",
}
"""The functions of a tool that the executor reads."""


def decode_revert(
    data: bytes, known: KnownContracts = BUNDLED, *, codes: Sequence[bytes] = ()
) -> str:
    """Return revert data as text, such as `ToolCallFailed(tool=0x…, reason=Undone(…))`.

    Unknown data are returned in hexadecimal, empty data as `no reason given`.

    Input: the revert data; the contracts whose errors are known; the runtime codes of the contracts
           that reverted with these data: of two errors with one selector, theirs is returned.
    """
    if not data:
        return NO_REASON
    selector = bytes(data[:4])
    texts = (
        _decode_error(error, data, known, codes) for error in _list_errors(selector, known, codes)
    )
    return " or ".join(filter(None, texts)) or "0x" + data.hex()


def _list_errors(
    selector: bytes, known: KnownContracts, codes: Sequence[bytes]
) -> Sequence[ErrorDefinition]:
    if selector in SOLIDITY_ERRORS:
        return [SOLIDITY_ERRORS[selector]]
    candidates = [error for _, error in known.find_errors(selector)]
    if len(candidates) > 1:
        for contract in filter(None, map(known.find_name, codes)):
            own = known.find_own_error(selector, contract)
            if own is not None:
                return [own]
    return candidates


def _decode_error(
    error: ErrorDefinition, data: bytes, known: KnownContracts, codes: Sequence[bytes]
) -> str | None:
    """Return an error with its arguments; None if the data are not an encoding of them."""
    values = decode_values(error.types, data[4:])
    if values is None:
        return None
    if error is SOLIDITY_ERRORS.get(bytes(data[:4])) and error.name == "Panic":
        return f"Panic({_format_panic(int(str(values[0])))})"
    arguments = (
        f"{label}={_format_value(abi_type, value, known, codes)}"
        if label
        else _format_value(abi_type, value, known, codes)
        for label, abi_type, value in zip(error.argument_names, error.types, values, strict=True)
    )
    text = f"{error.name}({', '.join(arguments)})"
    if error.name == "ToolMetadataFailed":
        text += ": is this address a tool (IERCAgentTool)?"
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertContext:
    """Facts about a reverted call that its revert data do not contain."""

    starved: str | None = None
    """The nested call that ran out of gas, and may have caused the revert."""

    starved_code: bytes = b""
    """The runtime code of that call."""

    models: tuple[str, ...] = ()
    """Names and aliases of the chain's models."""

    codes: tuple[bytes, ...] = ()
    """Runtime codes of the calls that failed with these data or with a part of them, the innermost
    first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed call: everything that an explanation needs, without the computation."""

    halt: str | None = None
    """The exceptional halt, such as out of gas; None for a revert."""

    data: bytes = b""
    """Revert data."""

    context: RevertContext = field(default_factory=RevertContext)

    def explain(self, known: KnownContracts = BUNDLED, codes: Sequence[bytes] = ()) -> str:
        """Return the reason as text.

        Input: the contracts whose errors are known; runtime codes of the contracts that may have
               reverted, where the context has none.
        """
        if self.halt is not None:
            return self.halt
        context = self.context if self.context.codes else replace(self.context, codes=tuple(codes))
        return explain_revert(self.data, context, known)

    def without_codes(self) -> Failure:
        """Return the failure without runtime codes, which are large, for storage."""
        return replace(self, context=replace(self.context, starved_code=b"", codes=()))


def read_failure(computation: ComputationAPI) -> Failure | None:
    """Return a call's failure; None if it succeeded. Cheap: no ABI is loaded."""
    if not computation.is_error:
        return None
    if computation.error.burns_gas:
        return Failure(halt=str(computation.error))
    return Failure(data=bytes(computation.output), context=read_revert_context(computation))


def explain_failure(computation: ComputationAPI, known: KnownContracts = BUNDLED) -> str:
    """Return the reason why a failed call failed."""
    failure = read_failure(computation)
    return NO_REASON if failure is None else failure.explain(known)


def read_revert_context(computation: ComputationAPI) -> RevertContext:
    """Return the context of a reverted call. Cheap: no ABI is loaded."""
    starved = _find_starved_computation(computation)
    return RevertContext(
        starved=None if starved is None else _describe_starved_call(starved),
        starved_code=b"" if starved is None else bytes(starved.msg.code),
        models=_list_model_names(computation),
        codes=tuple(_iter_reverted_codes(computation))[::-1],
    )


def _list_model_names(computation: ComputationAPI) -> tuple[str, ...]:
    """Return the names of the chain's models, those of the executor first."""
    executor = computation.precompiles.get(EXECUTOR_ADDRESS)
    numeric = computation.precompiles.get(NUMERIC_MODELS_ADDRESS)
    names = executor.model_names if isinstance(executor, Executor) else ()
    return names + (numeric.model_names if isinstance(numeric, NumericExecutor) else ())


def _iter_reverted_codes(computation: ComputationAPI) -> Iterator[bytes]:
    """Yield the codes of a failed call, and of each last call whose output it passed on."""
    output = bytes(computation.output)
    while computation.is_error and bytes(computation.output) in output:
        yield bytes(computation.msg.code)
        if not computation.children:
            return
        computation = computation.children[-1]


def explain_revert(data: bytes, context: RevertContext, known: KnownContracts = BUNDLED) -> str:
    """Return revert data as text, with the parts of the context that explain it.

    A contract whose own call ran out of gas reverts with that call's output, which is empty. So the
    starved call is named if the revert data, or the reason nested in them, are empty.
    """
    parts = [decode_revert(data, known, codes=context.codes)]
    if context.starved and NO_REASON in parts[0]:
        name = known.find_name(context.starved_code)
        starved = context.starved.removeprefix(CALL_OF)
        parts.append(f"{CALL_OF}{starved if name is None else f'{name} at {starved}'}")
    if context.models and error_selector("UnknownModel") in data:
        parts.append("this chain's models: " + ", ".join(map(repr, context.models)))
    return "; ".join(parts)


def find_starved_call(computation: ComputationAPI) -> str | None:
    """Return the nested call that ran out of gas, the gas that it had and the gas that it needed.

    Output: None if no call ran out of gas, or if a call between reverted for a reason of its own.
    """
    starved = _find_starved_computation(computation)
    return None if starved is None else _describe_starved_call(starved)


def _find_starved_computation(computation: ComputationAPI) -> ComputationAPI | None:
    while computation.children:
        output = bytes(computation.output)
        computation = computation.children[-1]
        if not computation.is_error or bytes(computation.output) not in output:
            return None
        if isinstance(computation.error, OutOfGas):
            return computation
    return None


def _describe_starved_call(computation: ComputationAPI) -> str:
    message = computation.msg
    # A creation has no code of an account: it is named by the account that it would create.
    callee = _format_callee(message.code_address or message.storage_address)
    gas = message.gas
    needed = _format_needed_gas(computation.error, gas)
    return f"{CALL_OF}{callee} ran out of gas: it had {gas:,}{needed}"


CALL_OF = "a call of "

CHARGE = re.compile(r"Needed (\d+) - Remaining (\d+) - Reason: (.*)", re.DOTALL)
"""Source: py-evm, `eth.vm.gas_meter.GasMeter.consume_gas`."""


def _format_needed_gas(error: VMError, gas: int) -> str:
    """Return the least gas that the call needed for its last charge; a later one may need more."""
    text = str(error)
    charge = CHARGE.search(text)
    if charge is None:
        return f" ({text})" if text else ""
    needed, remaining, reason = charge.groups()
    return f" and needed at least {gas - int(remaining) + int(needed):,} ({reason})"


def _format_callee(address: Address) -> str:
    text = to_checksum_address(address)
    if address == NUMERIC_MODELS_ADDRESS:
        return f"the numeric models at {text}"
    return f"the executor at {text}" if address == EXECUTOR_ADDRESS else text


def _format_panic(code: int) -> str:
    return f"0x{code:02x}: {PANICS[code]}" if code in PANICS else f"0x{code:02x}"


def _format_value(
    abi_type: str, value: object, known: KnownContracts, codes: Sequence[bytes]
) -> str:
    if abi_type == "address":
        return to_checksum_address(str(value))
    if abi_type == "bytes4" and isinstance(value, bytes):
        # Tools alone have the metadata functions' names.
        return METADATA_FUNCTIONS.get(value) or known.find_function(value) or "0x" + value.hex()
    if isinstance(value, bytes):
        return (
            decode_revert(value, known, codes=codes) if abi_type == "bytes" else "0x" + value.hex()
        )
    return repr(value) if isinstance(value, str) else str(value)

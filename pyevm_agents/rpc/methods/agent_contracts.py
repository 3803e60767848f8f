"""Methods that add contracts to those that texts for people name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.abi.artifacts import MAX_CODE_BYTES, describe_contract, read_artifact
from pyevm_agents.abi.values import (
    MAX_ABI_ENTRIES,
    MAX_NAME_CHARACTERS,
    is_contract_name,
    parse_abi_entry,
)
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    accept_any,
    invalid_param_error,
    parse_data,
    parse_list,
    parse_object,
    parse_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.abi.artifacts import ContractDescription
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()


def parse_contract_name(value: object, name: str) -> str:
    """Parse a contract's name."""
    if not is_contract_name(value):
        raise invalid_param_error(
            name,
            value,
            f"must be a Solidity identifier of at most {MAX_NAME_CHARACTERS} characters",
        )
    return parse_text(value, name)


def parse_abi(value: object, name: str) -> list[object]:
    """Parse an ABI: a list of objects, with errors, events and functions among them."""
    entries = parse_list(value, name)
    if len(entries) > MAX_ABI_ENTRIES:
        raise invalid_param_error(
            name,
            f"{len(entries):,} entries",
            f"must be at most {MAX_ABI_ENTRIES:,}; leave out events",
        )
    for index, entry in enumerate(entries):
        form = parse_object(entry, f"{name}[{index}]")
        if form.get("type") in {"error", "function"} and parse_abi_entry(form) is None:
            raise invalid_param_error(
                f"{name}[{index}]",
                dict(form),
                'must be an entry as compilers write it, such as {"type": "error", "name": '
                '"Undone", "inputs": [{"name": "amount", "type": "uint256"}]}',
            )
    return entries


def parse_runtime_code(value: object, name: str) -> bytes:
    """Parse deployed bytecode."""
    code = parse_data(value, name)
    if len(code) > MAX_CODE_BYTES:
        raise invalid_param_error(
            name, f"{len(code):,} bytes", f"must be at most {MAX_CODE_BYTES:,} bytes"
        )
    return code


@METHODS.method("agent_addAbi", parse_contract_name, parse_abi, optional(parse_runtime_code, b""))
def add_abi(rpc: RequestContext, name: str, abi: list[object], runtime_code: bytes) -> bool:
    """Add a contract, whose errors, functions and events get names, and addresses with its code.

    Input: the contract's name; the ABI; the deployed bytecode, which recognizes addresses.
    """
    rpc.node.chain.known_contracts.add(describe_contract(name, abi, runtime_code))
    return True


@METHODS.method("hardhat_addCompilationResult", parse_text, accept_any, parse_object)
def add_compilation_result(
    rpc: RequestContext,
    solc_version: str,  # noqa: ARG001 - Hardhat's parameters
    compiler_input: object,  # noqa: ARG001 - as above
    compiler_output: Mapping[str, object],
) -> bool:
    """Add all contracts of a compiler's output, as `agent_addAbi` adds one."""
    rpc.node.chain.known_contracts.add(*_iter_contracts(compiler_output))
    return True


def _iter_contracts(output: Mapping[str, object]) -> Iterator[ContractDescription]:
    """Yield the contracts in `{"contracts": {file: {name: {"abi": …, "evm": …}}}}`."""
    at = "compilerOutput.contracts"
    for file, by_name in parse_object(output.get("contracts"), at).items():
        for name, form in parse_object(by_name, f"{at}[{file!r}]").items():
            place = f"{at}[{file!r}][{name!r}]"
            contract = read_artifact(form, parse_contract_name(name, place))
            if contract is None:
                raise invalid_param_error(place, form, "must be a contract with an `abi`")
            yield contract

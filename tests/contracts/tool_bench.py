"""An account with a factory of tools, on a plain EVM; the owner acts as the account's agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from precompiles.abi import ParamType
from pyevm_agents.contract_intelligence.tool_spec import (
    Argument,
    ToolOutput,
    ToolSpec,
    choose_param_type,
    flatten_types,
    read_tool_spec,
)
from tests.contracts.plain_evm import OWNER, ZERO, Account, Contract, Evm

if TYPE_CHECKING:
    from collections.abc import Sequence

ERC_TYPES = {
    ParamType.STRING: "string",
    ParamType.ADDRESS: "address",
    ParamType.BOOL: "bool",
    ParamType.INT: "int256",
    ParamType.UINT: "uint256",
    ParamType.STRING_ARRAY: "string[]",
    ParamType.ADDRESS_ARRAY: "address[]",
    ParamType.BOOL_ARRAY: "bool[]",
    ParamType.INT_ARRAY: "int256[]",
    ParamType.UINT_ARRAY: "uint256[]",
}


@dataclass(frozen=True)
class ToolBench:
    """A factory, an account, a target that records its calls."""

    evm: Evm
    factory: Contract
    account: Contract
    target: Contract

    def spec(
        self,
        input_types: str,
        *,
        target: Contract | None = None,
        function: str = "call",
        output_types: str = "()",
        arguments: Sequence[Argument] | None = None,
        **fields: Any,  # noqa: ANN401 - fields of ToolSpec
    ) -> ToolSpec:
        """Return the data of a tool; without arguments the model chooses all of them."""
        leaves = flatten_types(input_types)
        outputs = output_types.count(",") + 1 if output_types != "()" else 0
        chosen = [Argument(name=f"a{i}", abi_type=leaf) for i, leaf in enumerate(leaves)]
        form: dict[str, Any] = {
            "name": "Tool",
            "description": "Calls.",
            "account": to_checksum_address(self.account.address),
            "target": to_checksum_address((target or self.target).address),
            "selector": keccak(text=function + input_types)[:4],
            "input_types": input_types,
            "output_types": output_types,
            "arguments": tuple(chosen if arguments is None else arguments),
            "outputs": (ToolOutput(),) * outputs,
        }
        return ToolSpec(**(form | fields))

    def create(self, spec: ToolSpec, *, register: bool = True) -> Contract:
        """Deploy a tool, and register it with its own permissions."""
        tool = self.evm.at("AbiTool", self.factory("create", spec.as_abi()))
        assert read_tool_spec(self.evm.send, tool.address) == spec
        assert [as_checksummed(each) for each in tool("permissions")] == [
            each.as_abi() for each in spec.permissions
        ]
        if register:
            self.evm.send(self.account.address, spec.encode_registration(tool.address))
        return tool

    def run(
        self, tool: Contract, *params: tuple[ParamType, object], sender: Account = OWNER
    ) -> str:
        """Run a tool; return its sentence."""
        values = [(kind.value, encode([ERC_TYPES[kind]], [value])) for kind, value in params]
        run_id, text = tool("run", (values, b""), ZERO, sender=sender)
        assert run_id == -1
        return str(text)

    @property
    def data(self) -> bytes:
        """The calldata that the target saw last."""
        return bytes(self.target("data"))


def as_checksummed(permission: tuple[Any, ...]) -> tuple[object, ...]:
    target, selector, most, spender = permission
    return to_checksum_address(target), selector, most, to_checksum_address(spender)


def parameter(abi_type: str, value: object) -> tuple[ParamType, object]:
    """Return a value as a parameter of the ERC's type for a Solidity type."""
    return choose_param_type(abi_type)[0], value


def open_bench(evm: Evm) -> ToolBench:
    texts = evm.deploy("AbiToolTexts")
    implementation = evm.deploy("AbiTool", texts.address)
    factory = evm.deploy("AbiToolFactory", implementation.address)
    account = evm.deploy("AgentAccount", OWNER.address)
    account("setAgent", OWNER.address)
    return ToolBench(evm, factory, account, evm.deploy("CallRecorder"))

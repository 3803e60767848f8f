"""Calls of contracts' view functions, for the self-description of a contract.

A contract may answer anything: texts are data, and a call that fails has no answer. The calls run
no inference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from precompiles.spec import EXECUTOR_ADDRESS, SELECTOR_BYTES, WORD_BYTES
from pyevm_agents.abi.values import compute_topic, decode_values
from pyevm_agents.chain.calls import AccountOverride, Call
from pyevm_agents.errors import UnrecordedFault
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from pyevm_agents.node.state_view import StateView
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.vm import AgentVM


CACHED_CLASSES = 4
"""Cached VM classes without the executor. A chain has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewCalls:
    """Calls of view functions in one state."""

    rpc: RequestContext
    at: StateView
    gas: int
    """Gas limit of each call."""

    accounts: Mapping[Address, AccountOverride] = field(default_factory=dict)
    """Accounts that differ from the view's."""

    def call(self, contract: Address, signature: str, arguments: bytes = b"") -> bytes | None:
        """Return the output of a function; None if it fails, or reads what a fork did not record.

        Input: the contract; the function's signature; the encoded arguments.
        """
        data = compute_selector(signature) + arguments
        call = self.rpc.limit_call(Call(to=contract, data=data, gas=self.gas), self.at)
        try:
            result = self.at.chain.call(
                call, header=self.at.header, overrides=self.accounts, trace=_remove_executor
            )
        except RuleError:  # An override leaves a balance or a nonce that no call can have.
            return None
        except UnrecordedFault:
            return None
        return result.output if result.error is None else None

    def read_value(
        self, contract: Address, signature: str, abi_type: str, arguments: bytes = b""
    ) -> object | None:
        """Return the value that a function returns; None if not of the type."""
        output = self.call(contract, signature, arguments)
        values = None if output is None else decode_values([abi_type], output)
        return None if values is None else values[0]

    def read_text(self, contract: Address, signature: str) -> str | None:
        """Return the text that a function returns, or None."""
        value = self.read_value(contract, signature, "string")
        return None if value is None else str(value)

    def read_integer(self, contract: Address, signature: str, arguments: bytes = b"") -> int | None:
        """Return the unsigned integer that a function returns, or None."""
        value = self.read_value(contract, signature, "uint256", arguments)
        return value if isinstance(value, int) else None


def compute_selector(signature: str) -> bytes:
    """Return the selector of a function."""
    return compute_topic(signature)[:SELECTOR_BYTES]


def encode_address_argument(address: Address) -> bytes:
    """Encode an address as an argument."""
    return address.rjust(WORD_BYTES, b"\0")


@lru_cache(CACHED_CLASSES)
def _remove_executor(vm_class: type[AgentVM]) -> type[AgentVM]:
    """Return a VM class without the executor: a view function must not run inference."""
    state_class = vm_class._state_class  # noqa: SLF001 - as py-evm's `configure` does
    plain: Any = state_class.computation_class
    precompiles = {
        address: precompile
        for address, precompile in plain.get_precompiles().items()
        if address != EXECUTOR_ADDRESS
    }
    computation_class = plain.configure(__name__="ViewComputation", _precompiles=precompiles)
    return vm_class.configure(
        __name__="ViewVM",
        _state_class=state_class.configure(
            __name__="ViewState", computation_class=computation_class
        ),
    )

"""A transaction to trace, on a separate chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_account import Account
from eth_typing import Address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.tracing import make_traced_vm
from pyevm_agents.vm import AgentVM
from tests.chain_bench import OWNER, OWNER_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import SignedTransactionAPI

    from pyevm_agents.tracing import Tracer


BASE_FEE_WEI = 875_000_000
"""Base fee of the block that anvil traced, in wei."""

BLOCK_GAS_LIMIT = 2**40
"""Gas for 1,024 nested calls, each of which gets 63/64 of the rest."""

GAS_PRICE_WEI = 3_000_000_000
OWNER_WEI = 10**24
CONTRACT = Address(b"\xc0" * 20)


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Genesis accounts and a transaction."""

    name: str
    accounts: Mapping[Address, GenesisAccount] = field(default_factory=dict)
    to: Address | None = CONTRACT
    data: bytes = b""
    value_wei: int = 0
    gas: int = 1_000_000
    fork: str = "prague"
    more: Mapping[str, object] = field(default_factory=dict)
    """Further fields of the transaction."""

    def all_accounts(self) -> dict[Address, GenesisAccount]:
        return {OWNER: GenesisAccount(balance_wei=OWNER_WEI), **self.accounts}

    def raw_transaction(self) -> bytes:
        fields: dict[str, object] = {
            "nonce": 0,
            "gas": self.gas,
            "to": self.to or b"",
            "value": self.value_wei,
            "data": self.data,
            "chainId": ChainConfig().chain_id,
            **self.more,
        }
        if "maxFeePerGas" not in fields:
            fields["gasPrice"] = GAS_PRICE_WEI
        return bytes(Account.sign_transaction(fields, OWNER_KEY.to_bytes()).raw_transaction)

    def as_call(self) -> dict[str, object]:
        """Return the transaction as a JSON-RPC call, without the fields of `more`."""
        call: dict[str, object] = {
            "from": "0x" + OWNER.hex(),
            "gas": hex(self.gas),
            "value": hex(self.value_wei),
            "input": "0x" + self.data.hex(),
        }
        return call if self.to is None else {**call, "to": "0x" + self.to.hex()}

    def chain(self) -> Chain:
        config = ChainConfig(
            fork=self.fork, block_gas_limit=BLOCK_GAS_LIMIT, base_fee_wei=BASE_FEE_WEI
        )
        return Chain(config, accounts=self.all_accounts())

    def trace(self, tracer: Tracer) -> object:
        """Execute the transaction and return a tracer's result."""
        vm = next_vm(self.chain())
        traced = with_class(vm, make_traced_vm(type(vm), tracer))
        traced.apply_transaction(traced.get_header(), self.transaction(traced))
        return tracer.result()

    def transaction(self, vm: AgentVM) -> SignedTransactionAPI:
        return vm.get_transaction_builder().decode(self.raw_transaction())


def next_vm(chain: Chain) -> AgentVM:
    """Return a VM for the next block."""
    vm = chain._chain.get_vm(chain.build_next_header())  # noqa: SLF001 - tests alone need one
    assert isinstance(vm, AgentVM)
    return vm


def with_class(vm: AgentVM, vm_class: type[AgentVM]) -> AgentVM:
    """Return a VM of another class for the same block."""
    return vm_class(vm.get_header(), vm.chaindb, vm.chain_context, vm.consensus_context)

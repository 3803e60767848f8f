"""VM classes for simulated blocks, derived from that of a chain.

Precompiles may be moved, transfers of value can be reported as logs, and transactions are validated
by geth's rules for simulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from eth._utils.address import force_bytes_to_address
from eth.vm.computation import BaseComputation
from eth.vm.forks import LondonVM
from eth.vm.opcode_values import SELFDESTRUCT
from eth.vm.stack import to_bytes
from eth.vm.state import BaseState, BaseTransactionExecutor
from eth_typing import Address

from precompiles.spec import WORD_BYTES
from pyevm_agents.simulation.validation import require_valid
from pyevm_agents.vm import CANCUN_RULES, MAX_NONCE, TransactionRules, WatchedVM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eth.abc import (
        ComputationAPI,
        MessageAPI,
        SignedTransactionAPI,
        StateAPI,
        TransactionContextAPI,
    )
    from eth_typing import Hash32

    from pyevm_agents.chain.calls import Precompile

LogEntry = tuple[int, Address, tuple[int, ...], bytes]
"""Index among all logs of the transaction (reverted ones included), address, topics, data."""

TRANSFER_ADDRESS = Address(b"\xee" * 20)
"""Address of the logs that report transfers of value. Source: EIP-7528, the address of ETH."""

TRANSFER_TOPIC = 0xDDF252AD1BE2C89B69C2B068FC378DAA952BA7F163C4A11628F55A4DF523B3EF
"""Topic of ERC-20's `Transfer(address,address,uint256)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRules:
    """Rules of a simulated block that differ from a real one."""

    validates: bool
    """Whether nonces and fees are checked, as in a real block."""

    has_base_fee: bool
    notes_transfers: bool
    precompiles: Mapping[Address, Precompile]
    warm: frozenset[Address]
    """Addresses that are warm from the start: the fork's precompiles, before they were moved."""

    blob_base_fee_wei: int | None
    """None: derived from the header."""


def build_simulated_vm(vm_class: type[WatchedVM], rules: SimulationRules) -> type[SimulatedVM]:
    """Build a VM class for one simulated block of the same fork."""
    plain_state = vm_class._state_class  # noqa: SLF001 - as py-evm's `configure` does
    plain = plain_state.computation_class
    opcodes: dict[int, Any] = dict(plain.opcodes)
    opcodes[SELFDESTRUCT] = _wrap_selfdestruct(opcodes[SELFDESTRUCT])
    computation_class = type(
        "SimulatedComputation",
        (SimulatedComputation, plain),
        {
            "rules": rules,
            "_precompiles": rules.precompiles,
            "opcodes": opcodes,
            "remembers_reads": False,
        },
    )
    plain_executor = plain_state.transaction_executor_class
    executor_class = type(
        "SimulatedTransactionExecutor",
        (_SimulatedExecutor, plain_executor),
        # An older fork of a foreign chain has no rules of its own: none of Cancun's limits is less.
        {"simulation": rules, "rules": getattr(plain_executor, "rules", CANCUN_RULES)},
    )
    state_class = type(
        "SimulatedState",
        (_SimulatedState, plain_state),
        {
            "rules": rules,
            "computation_class": computation_class,
            "transaction_executor_class": executor_class,
        },
    )
    return type("SimulatedVM", (SimulatedVM, vm_class), {"_state_class": state_class})


def has_base_fee(vm_class: type[WatchedVM]) -> bool:
    """Return whether blocks of a fork have a base fee."""
    return issubclass(vm_class, LondonVM)


class SimulatedVM(WatchedVM):
    """A VM for a block whose parents are not in the database."""

    parents: Iterable[Hash32] = ()
    """Hashes of the preceding blocks, the latest first."""

    @property
    def previous_hashes(self) -> Iterable[Hash32]:
        """Hashes of the preceding blocks, the latest first."""
        return self.parents


class SimulatedComputation(BaseComputation):
    """A computation that records transfers of value as logs."""

    rules: ClassVar[SimulationRules]

    def __init__(
        self, state: StateAPI, message: MessageAPI, transaction_context: TransactionContextAPI
    ) -> None:
        super().__init__(state, message, transaction_context)
        self._transfers: list[LogEntry] = []

    def __enter__(self) -> ComputationAPI:
        """Enter the call; record the transferred value."""
        message = self.msg
        if message.should_transfer_value and message.value:
            to = message.storage_address if message.is_create else message.code_address
            self.note_transfer(message.sender, to, message.value)
        return super().__enter__()

    def note_transfer(self, sender: Address, to: Address, value_wei: int) -> None:
        """Record a transfer of value, if required by the rules."""
        if not self.rules.notes_transfers:
            return
        topics = (TRANSFER_TOPIC, int.from_bytes(sender, "big"), int.from_bytes(to, "big"))
        place = self.transaction_context.get_next_log_counter()
        data = value_wei.to_bytes(WORD_BYTES, "big")
        self._transfers.append((place, TRANSFER_ADDRESS, topics, data))

    def collect_logs(self) -> list[LogEntry]:
        """Return the logs that were not reverted, with transfers, in order."""
        if self.is_error:
            return []
        below = [
            entry
            for child in self.children
            if isinstance(child, SimulatedComputation)
            for entry in child.collect_logs()
        ]
        return sorted([*self._log_entries, *self._transfers, *below])


def _wrap_selfdestruct(opcode: Callable[..., None]) -> Callable[..., None]:
    """Return SELFDESTRUCT, extended to record the transfer."""

    def selfdestruct(computation: SimulatedComputation) -> None:
        items = computation._stack.values  # type: ignore[attr-defined]  # noqa: SLF001 - py-evm has no accessor
        address = computation.msg.storage_address
        balance = computation.state.get_balance(address)
        if items and balance:
            heir = force_bytes_to_address(to_bytes(items[-1]))
            computation.note_transfer(address, heir, balance)
        opcode(computation=computation)

    return selfdestruct


class _SimulatedState(BaseState):
    rules: ClassVar[SimulationRules]

    @property
    def blob_base_fee(self) -> int:
        fee_wei = self.rules.blob_base_fee_wei
        return super().blob_base_fee if fee_wei is None else fee_wei

    def is_address_warm(self, address: Address) -> bool:
        return self._account_db.is_address_warm(address) or address in self.rules.warm

    def increment_nonce(self, address: Address) -> None:
        # geth's nonce has 64 bits and wraps around here.
        self.set_nonce(address, (self.get_nonce(address) + 1) % (MAX_NONCE + 1))

    def get_tip(self, transaction: SignedTransactionAPI) -> int:
        # A call without a fee, if fees are not checked, pays nothing to the miner.
        if not self.rules.validates and transaction.max_fee_per_gas == 0:
            return 0
        return super().get_tip(transaction)


class _SimulatedExecutor(BaseTransactionExecutor):
    rules: ClassVar[TransactionRules]
    simulation: ClassVar[SimulationRules]

    def validate_transaction(self, transaction: SignedTransactionAPI) -> None:
        require_valid(
            transaction,
            self.vm_state,
            self.rules,
            validates=self.simulation.validates,
            has_base_fee=self.simulation.has_base_fee,
        )

    def calc_data_fee(self, transaction: Any) -> int:  # noqa: ANN401 - py-evm's has no type for it
        # Blobs without a fee, if fees are not checked, cost nothing, as in geth.
        if not self.simulation.validates and transaction.max_fee_per_blob_gas == 0:
            return 0
        executor: Any = super()
        return int(executor.calc_data_fee(transaction))

"""Traced VM classes, derived from an `AgentVM` class, which does not depend on tracing.

py-evm is not patched, and no other VM class gets slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from eth._utils.address import generate_contract_address
from eth.exceptions import VMError
from eth.vm.opcode_values import STOP

from pyevm_agents.tracing.dispatch import TracerDispatcher
from pyevm_agents.tracing.gas import TracedGasMeter
from pyevm_agents.tracing.tracer import TransactionStart, get_stack
from pyevm_agents.vm import AgentComputation, AgentState, AgentTransactionExecutor
from pyevm_agents.vm.agent_code import AgentCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any

    from eth.abc import (
        ComputationAPI,
        MessageAPI,
        SignedTransactionAPI,
        StateAPI,
        TransactionContextAPI,
    )
    from eth.vm.gas_meter import GasMeter
    from eth_typing import Address

    from pyevm_agents.tracing.tracer import Tracer
    from pyevm_agents.vm import AgentVM, Interruption

    TracerChooser = Callable[[SignedTransactionAPI], Tracer | None]


def make_traced_vm(vm_class: type[AgentVM], tracer: Tracer) -> type[AgentVM]:
    """Return a VM class that reports the next transaction to a tracer.

    A tracer is for one transaction; for several, use `make_selectively_traced_vm`.
    """
    return make_selectively_traced_vm(vm_class, lambda _: tracer)


def make_selectively_traced_vm(vm_class: type[AgentVM], choose: TracerChooser) -> type[AgentVM]:
    """Return a VM class that selects a tracer at the start of each transaction.

    Input: the VM class to derive from; a function that returns a new tracer for a transaction, or
        None for no trace. Block processing outside of transactions is never traced.
    """
    plain_state = vm_class._state_class  # noqa: SLF001 - as py-evm's `configure` does
    assert issubclass(plain_state, AgentState)  # noqa: S101 - as in every AgentVM
    tape = _TracingState(choose)
    computation_class = type(
        "TracedComputation", (_TracedMixin, plain_state.computation_class), {"tape": tape}
    )
    executor_class = type(
        "TracedTransactionExecutor",
        (_TracedExecutorMixin, plain_state.transaction_executor_class),
        {"tape": tape},
    )
    state_class = plain_state.configure(
        __name__="TracedState",
        computation_class=computation_class,
        transaction_executor_class=executor_class,
    )
    return vm_class.configure(__name__="TracedVM", _state_class=state_class)


class _TracingState:
    """The tracer of the current transaction, if any."""

    def __init__(self, choose: TracerChooser) -> None:
        self.choose = choose
        self.recorder: TracerDispatcher | None = None


class _TracedMixin(AgentComputation):
    tape: ClassVar[_TracingState]
    remembers_reads = False

    def __init__(
        self, state: StateAPI, message: MessageAPI, transaction_context: TransactionContextAPI
    ) -> None:
        self.recorder = self.tape.recorder
        self.requested_memory_bytes = 0
        super().__init__(state, message, transaction_context)
        if self.recorder is not None and message.code:
            self.code = _TracedCode(message.code, self.interruption, self, self.recorder)

    def _configure_gas_meter(self) -> GasMeter:
        meter = super()._configure_gas_meter()
        if self.recorder is None:
            return meter
        return TracedGasMeter(meter.start_gas, meter.refund_strategy)

    def extend_memory(self, start_position: int, size: int) -> None:
        self.requested_memory_bytes = start_position + size if size else 0
        super().extend_memory(start_position, size)

    def add_log_entry(self, account: Address, topics: tuple[int, ...], data: bytes) -> None:
        super().add_log_entry(account, topics, data)
        if self.recorder is not None:
            self.recorder.on_log(self, topics, data)

    def __enter__(self) -> ComputationAPI:
        if self.recorder is not None:
            self.recorder.on_call_start(self)
        return super().__enter__()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        recorder = self.recorder
        if recorder is None or not (exc_value is None or isinstance(exc_value, VMError)):
            return super().__exit__(exc_type, exc_value, traceback)
        if exc_value is None:
            recorder.on_halt(self)
        elif isinstance(self.code, _TracedCode):
            recorder.on_failure(
                self,
                exc_value,
                self.code.op,
                height=self.code.height,
                memory_bytes=self.requested_memory_bytes,
            )
        else:
            recorder.on_failure(self, exc_value)
        handled = super().__exit__(exc_type, exc_value, traceback)
        recorder.on_call_end(self)
        return handled


class _TracedCode(AgentCode):
    """Code that reports the execution of opcodes."""

    def __init__(
        self,
        code: bytes,
        interruption: Interruption | None,
        computation: _TracedMixin,
        recorder: TracerDispatcher,
    ) -> None:
        super().__init__(code, interruption)
        self._computation = computation
        self._recorder = recorder
        self.prices = recorder.prices
        self.op = STOP
        """The current opcode."""

        self.height = 0
        """Stack height before it."""

    def observe(self, opcodes: Iterator[int]) -> Iterator[int]:
        """Yield opcodes; report those that are watched. Raises: InterruptedExecutionError."""
        computation, recorder = self._computation, self._recorder
        watched, items = recorder.watched_opcodes, get_stack(computation).values
        for op in super().observe(opcodes):
            self.op, self.height = op, len(items)
            if op in watched:
                recorder.before_opcode(computation, self.program_counter - 1, op)
                yield op
                recorder.after_opcode(computation)
            else:
                yield op


class _TracedExecutorMixin(AgentTransactionExecutor):
    tape: ClassVar[_TracingState]

    def __call__(self, *args: Any, **kwargs: Any) -> ComputationAPI:  # noqa: ANN401 - py-evm's signature
        try:
            return super().__call__(*args, **kwargs)
        finally:
            self.tape.recorder = None

    def build_evm_message(self, transaction: SignedTransactionAPI) -> MessageAPI:
        tracer = self.tape.choose(transaction)
        self.tape.recorder = None if tracer is None else TracerDispatcher(tracer)
        if self.tape.recorder is not None:
            self.tape.recorder.on_tx_start(self._build_transaction_start(transaction))
        return super().build_evm_message(transaction)

    def build_computation(
        self, message: MessageAPI, transaction: SignedTransactionAPI
    ) -> ComputationAPI:
        computation = super().build_computation(message, transaction)
        if self.tape.recorder is not None:
            assert isinstance(computation, _TracedMixin)  # noqa: S101 - of this state class
            self.tape.recorder.on_root_call_end(computation)
        return computation

    def finalize_computation(
        self, transaction: SignedTransactionAPI, computation: ComputationAPI
    ) -> ComputationAPI:
        computation = super().finalize_computation(transaction, computation)
        if self.tape.recorder is not None:
            spent_gas = transaction.gas - computation.get_gas_remaining()
            refunded_gas = self.calculate_gas_refund(computation, spent_gas)
            self.tape.recorder.on_tx_end(spent_gas - refunded_gas + computation.data_floor_gas)
        return computation

    def _build_transaction_start(self, transaction: SignedTransactionAPI) -> TransactionStart:
        state = self.vm_state
        is_create = not transaction.to
        if is_create:
            to = generate_contract_address(transaction.sender, state.get_nonce(transaction.sender))
        else:
            to = transaction.to
        return TransactionStart(
            state=state,
            transaction=transaction,
            to=to,
            is_create=is_create,
            precompiles=frozenset(state.computation_class.get_precompiles()),
        )

"""Computations: calls of the EVM, with the executor's results and without py-evm's recursions."""

from __future__ import annotations

from array import array
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar

from eth.exceptions import Halt, OutOfGas, ReservedBytesInCode
from eth.vm.forks.cancun.computation import CancunComputation
from eth.vm.forks.london.constants import EIP3541_RESERVED_STARTING_BYTE
from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.forks.spurious_dragon.constants import EIP170_CODE_SIZE_LIMIT
from eth.vm.logic.invalid import InvalidOpcode
from eth_utils.toolz import merge

from pyevm_agents.vm import bls12_381, bn254, modexp, p256
from pyevm_agents.vm.agent_code import AgentCode
from pyevm_agents.vm.balances import fail_call, is_overflowing
from pyevm_agents.vm.kzg import POINT_EVALUATION_ADDRESS, point_evaluation
from pyevm_agents.vm.metadata_cache import (
    CachedRead,
    PurityTrackingCode,
    get_cached_read,
    is_metadata_read,
    put_cached_read,
)
from pyevm_agents.vm.opcodes import (
    CANCUN_OPCODES,
    INTERPRETED_OPCODES,
    OSAKA_OPCODES,
    PRAGUE_OPCODES,
)
from pyevm_agents.vm.stack_depth import iter_computations, run_at_depth
from pyevm_agents.vm.state import NestedCallError, WatchedState

if TYPE_CHECKING:
    from eth.abc import ComputationAPI, MessageAPI, StateAPI, TransactionContextAPI
    from eth_typing import Address

    from precompiles.executor import ExecutorObserver, Inference, PromptCharged
    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.vm.interruption import Interruption


SMALL_CALL_BYTES = 1_024
"""Calldata of at most this size is always retained with its computation, which is larger."""

KEPT_CALL_BYTES = 64 * 1024 * 1024
"""Upper bound of the larger calldata that the computations of a transaction retain. py-evm retains
everything, and a call with 1 MiB of memory costs 100 gas: 30 million gas would take 200 GB."""


OWN_PRECOMPILES: dict[Address, Any] = {
    **modexp.PRECOMPILES,
    **bn254.PRECOMPILES,
    POINT_EVALUATION_ADDRESS: point_evaluation,
}
"""Replacements of py-evm's precompiles."""


class CodeTooLargeError(OutOfGas):
    """A contract's code exceeds the limit (EIP-170)."""


class AgentComputation(CancunComputation):
    """The computation class of Cancun. Base of the later forks.

    The class records the executor's results, and replaces precompiles that are slow or wrong.
    """

    _precompiles = merge(CancunComputation.get_precompiles(), OWN_PRECOMPILES)

    opcodes = CANCUN_OPCODES

    executed_gas_opcode: bool = False
    """Whether it executed GAS."""

    least_gas_at_store: int | None = None
    """The least remaining gas at a SSTORE of this call; None if there was none."""

    gas_retained_by_caller: int = 0
    """The remaining gas of the caller at the call."""

    code_size_bytes: ClassVar[int] = EIP170_CODE_SIZE_LIMIT
    """Upper bound of a contract's code. Initcode may have twice as much (EIP-3860)."""

    has_plain_opcodes: ClassVar[bool] = True
    """Whether the interpreter's loop may execute its opcodes: the class has no other ones."""

    remembers_reads: ClassVar[bool] = True
    """Whether pure metadata reads are cached. Tracers and changed instructions switch it off."""

    generation: tuple[str, Generation] | None = None
    """On a call of the executor with inference: the prompt's digest and the generation."""

    inference: Inference | None = None
    """On a call of the executor that succeeded: its result."""

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 - as Python's
        """Note whether a subclass has opcodes of its own."""
        super().__init_subclass__(**options)
        opcodes: Any = cls.opcodes
        cls.has_plain_opcodes = INTERPRETED_OPCODES.items() <= opcodes.items()

    def __init__(
        self, state: StateAPI, message: MessageAPI, transaction_context: TransactionContextAPI
    ) -> None:
        super().__init__(state, message, transaction_context)
        if message.code:
            is_watched = self.remembers_reads and is_metadata_read(message, self.precompiles)
            self.code = (PurityTrackingCode if is_watched else AgentCode)(
                message.code, self.interruption
            )

    @property
    def interruption(self) -> Interruption | None:
        """The switch, if any, that ends the execution."""
        return self.state.interruption if isinstance(self.state, WatchedState) else None

    @classmethod
    def apply_computation(
        cls,
        state: StateAPI,
        message: MessageAPI,
        transaction_context: TransactionContextAPI,
        parent_computation: ComputationAPI | None = None,
    ) -> ComputationAPI:
        """Execute a message as py-evm does, by the interpreter's loop if it may be.

        The loop ends before each instruction that may make a call, which is executed here: a call
        needs no more of Python's stack than in py-evm.
        """
        is_precompile = not message.is_create and message.code_address in cls._precompiles
        if is_precompile or cls.logger.show_debug2:
            return super().apply_computation(
                state, message, transaction_context, parent_computation
            )
        with cls(state, message, transaction_context) as computation:
            computation.contracts_created = (
                [] if parent_computation is None else parent_computation.contracts_created
            )
            if message.is_create:
                if computation.is_origin_computation:
                    cls.consume_initcode_gas_cost(computation)
                computation.contracts_created.append(message.storage_address)
            code: Any = computation.code
            steps: Any = computation.opcodes
            is_plain = cls.has_plain_opcodes and isinstance(code, AgentCode)
            try:
                for opcode in code.iter_left(computation) if is_plain else code:
                    (steps.get(opcode) or InvalidOpcode(opcode))(computation)
            except Halt:
                pass
        return computation

    def note_store(self, gas: int) -> None:
        """Record a SSTORE, before which this much gas remains."""
        least = self.least_gas_at_store
        self.least_gas_at_store = gas if least is None else min(least, gas)

    @classmethod
    def validate_create_message(cls, message: MessageAPI) -> None:
        """Reject initcode above the limit (EIP-3860).

        Raises: OutOfGas.
        """
        cls.require_initcode_size(len(message.code))

    @classmethod
    def require_initcode_size(cls, size: int) -> None:
        """Reject a number of bytes of initcode above the limit (EIP-3860).

        Raises: OutOfGas.
        """
        if size > 2 * cls.code_size_bytes:
            raise OutOfGas(f"initcode of {size} bytes: the limit is {2 * cls.code_size_bytes}")

    @classmethod
    def validate_contract_code(cls, contract_code: bytes) -> None:
        """Reject code above the limit (EIP-170), or that begins with 0xEF (EIP-3541).

        Raises: CodeTooLargeError, ReservedBytesInCode.
        """
        size = len(contract_code)
        if size > cls.code_size_bytes:
            raise CodeTooLargeError(f"code of {size} bytes: the limit is {cls.code_size_bytes}")
        if contract_code[:1] == EIP3541_RESERVED_STARTING_BYTE:
            raise ReservedBytesInCode("code begins with EIP-3541's reserved byte 0xEF")

    @property
    def is_origin_computation(self) -> bool:
        """Whether this is the transaction's top call, which pays for its initcode (EIP-3860).

        py-evm compares senders, which are also equal for a contract that the sender's delegated
        code creates (EIP-7702): that contract would pay twice.
        """
        return bool(self.msg.depth == 0)

    def add_child_computation(self, child_computation: ComputationAPI) -> None:
        """Add a nested call's result, and notify the listener.

        The call's stack, memory and code are dropped. py-evm keeps these until the transaction's
        end.
        """
        super().add_child_computation(child_computation)
        del child_computation._stack, child_computation._memory, child_computation.code  # noqa: SLF001 - its own class
        if child_computation.is_error:
            _drop_frames(child_computation.error)
        child_computation.gas_retained_by_caller = self.get_gas_remaining()  # type: ignore[attr-defined]
        state = self.state
        if not isinstance(state, WatchedState):
            return
        if state.listener is not None:
            state.listener.on_call_end(self, child_computation)
        size_bytes = len(child_computation.msg.data)
        if size_bytes > SMALL_CALL_BYTES and not state.try_reserve_bytes(
            size_bytes, self.transaction_context, most_bytes=KEPT_CALL_BYTES
        ):
            child_computation.msg.data = b""

    def generate_child_computation(self, child_msg: MessageAPI) -> ComputationAPI:
        """Execute a nested call; a pure metadata read comes from the cache.

        Raises: NestedCallError: the state forbids nested calls.
        """
        if isinstance(self.state, WatchedState) and self.state.forbids_nested_calls:
            raise NestedCallError
        if is_overflowing(self.state, child_msg):
            return fail_call(self.state, child_msg, self.transaction_context)
        is_repeated = self.remembers_reads and is_metadata_read(child_msg, self.precompiles)
        read = get_cached_read(child_msg) if is_repeated else None
        if read is not None:
            return self._apply_cached_read(child_msg, read)
        call = partial(super().generate_child_computation, child_msg)
        child = run_at_depth(child_msg.depth, call)
        if is_repeated:
            put_cached_read(child_msg, child)
        return child

    def _apply_cached_read(self, child_msg: MessageAPI, read: CachedRead) -> ComputationAPI:
        """Return the computation of a cached read."""
        self.state.touch_account(child_msg.storage_address)
        child = type(self)(self.state, child_msg, self.transaction_context)
        with child:
            child.consume_gas(read.used_gas, reason="cached metadata read")
            child.output = read.output
        return child

    # py-evm's versions of these methods recurse, too deep for some Python versions.

    def _list_successful(self) -> list[AgentComputation]:
        return [call for call in iter_computations(self) if not call.is_error]

    def get_gas_refund(self) -> int:
        """Return the gas refund of this call and nested calls."""
        own = sum(call._gas_meter.gas_refunded for call in self._list_successful())  # noqa: SLF001 - its own class
        return own + sum(call.msg.refund for call in iter_computations(self))

    def get_raw_log_entries(self) -> tuple[tuple[int, bytes, tuple[int, ...], bytes], ...]:
        """Return the numbered logs of this call and nested calls, in order."""
        return tuple(sorted(log for call in self._list_successful() for log in call._log_entries))  # noqa: SLF001 - its own class

    def get_accounts_for_deletion(self) -> list[Address]:
        """Return the accounts that this call and nested calls delete."""
        return [
            *dict.fromkeys(
                each for call in self._list_successful() for each in call.accounts_to_delete
            )
        ]

    def get_self_destruct_beneficiaries(self) -> list[Address]:
        """Return the beneficiaries of the deleted accounts."""
        return [
            *dict.fromkeys(each for call in self._list_successful() for each in call.beneficiaries)
        ]


class PragueAgentComputation(AgentComputation, PragueComputation):
    """The computation class of Prague."""

    _precompiles = merge(
        PragueComputation.get_precompiles(), OWN_PRECOMPILES, bls12_381.PRECOMPILES
    )

    opcodes = PRAGUE_OPCODES


class OsakaAgentComputation(PragueAgentComputation):
    """The computation class of Osaka."""

    _precompiles = merge(
        PragueAgentComputation.get_precompiles(), modexp.OSAKA_PRECOMPILES, p256.PRECOMPILES
    )

    opcodes = OSAKA_OPCODES


def _drop_frames(error: BaseException | None) -> None:
    """Drop the traceback of an error and of the causes: frames hold the calls' calldata."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def hash_prompt(request: GenerationRequest) -> str:
    """Return the SHA-256 of the prompt tokens, in hexadecimal."""
    return sha256(array("q", request.prompt_tokens).tobytes()).hexdigest()


class RecordingObserver:
    """Stores generations and inferences on their computations, then notifies another observer.

    Implements `precompiles.executor.ExecutorObserver`. A chain reads generations back to replay a
    block, and a trace reads inferences.
    """

    def __init__(self, observer: ExecutorObserver) -> None:
        """Create an observer that forwards each call to `observer`."""
        self._observer = observer

    def on_prompt(self, computation: ComputationAPI, prompt: PromptCharged) -> None:
        """Forward a prompt."""
        self._observer.on_prompt(computation, prompt)

    def on_generation(
        self, computation: ComputationAPI, request: GenerationRequest, generation: Generation
    ) -> None:
        """Store a generation and the prompt's digest in `AgentComputation.generation`."""
        _as_agent_computation(computation).generation = (hash_prompt(request), generation)
        self._observer.on_generation(computation, request, generation)

    def on_result(self, computation: ComputationAPI, inference: Inference) -> None:
        """Store an inference in `AgentComputation.inference`."""
        _as_agent_computation(computation).inference = inference
        self._observer.on_result(computation, inference)


def _as_agent_computation(computation: ComputationAPI) -> AgentComputation:
    assert isinstance(computation, AgentComputation)  # noqa: S101 - the only one an AgentVM makes
    return computation

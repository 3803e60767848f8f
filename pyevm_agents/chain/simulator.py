"""Simulation without changes: next header, calls, gas estimates, replays of past transactions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from eth.constants import GAS_TX
from eth.vm.forks.prague.constants import STANDARD_TOKEN_COST, TOTAL_COST_FLOOR_PER_TOKEN
from eth_typing import Address
from lru import LRU

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.chain.calls import (
    BlockOverride,
    CallResult,
    InvalidCallError,
    apply_overrides,
    as_spoofed_transaction,
    move_precompiles,
)
from pyevm_agents.chain.gas_estimation import GasTrial, find_least_gas
from pyevm_agents.chain.reader import ChainReader, create_vm
from pyevm_agents.chain.records import BlockSettings
from pyevm_agents.chain.transactions import SET_CODE_TYPE, recover_sender
from pyevm_agents.config import MAX_TIMESTAMP_SECONDS
from pyevm_agents.errors import ConfigError
from pyevm_agents.vm import AgentComputation, AgentState, NestedCallError, replace_precompiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import (
        BlockHeaderAPI,
        ComputationAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        StateAPI,
        UnsignedTransactionAPI,
    )

    from pyevm_agents.chain.calls import AccountOverride, Call
    from pyevm_agents.chain.reader import VMClassWrapper
    from pyevm_agents.chain.records import BlockRecord
    from pyevm_agents.vm import Interruption, WatchedVM


CHEAP_CALL_GAS = 10_000
"""Execution gas of `call_if_cheap`. The slowest instructions for their gas, apart from calls, take
some milliseconds for it."""

SHORT_GAS = 100_000
"""Gas of a short transaction, and of the execution of a short estimate. The slowest instructions
for their gas, apart from calls, take a twentieth of a second for it: so long other clients may
wait. An ERC-20 transfer takes 2 ms. Source: `python -m benchmarks.short_sends`."""

CHEAP_CALL_DATA_BYTES = 4_096
"""Upper bound of the calldata of `call_if_cheap`, and of a short transaction that is received."""

MAX_SLOW_CALLS = 1_024
"""Size of the LRU of functions whose last call was not cheap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GasEstimate:
    """The least gas limit of a message, and an execution of the message."""

    gas: int
    computation: ComputationAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class _FreeHeader:
    """A header and a copy with a base fee of 0."""

    source: BlockHeaderAPI
    base_root: bytes
    free_header: BlockHeaderAPI


@dataclass(frozen=True, slots=True, kw_only=True)
class _NextHeader:
    """The header of a next block, and what it was built from."""

    parent: BlockHeaderAPI
    root: bytes
    settings: BlockSettings
    header: BlockHeaderAPI


class ChainSimulator(ChainReader):
    """Simulates calls and transactions without changing state.

    Thread-safe unless a method states otherwise.
    """

    _last_free_header: _FreeHeader | None = None
    _last_next_header: _NextHeader | None = None

    @cached_property
    def _slow_calls(self) -> LRU[tuple[int, Address | None, bytes], None]:
        """LRU of gas limits, addresses and selectors whose last call did not end with the gas."""
        return LRU(MAX_SLOW_CALLS)

    def build_next_header(
        self, settings: BlockSettings | None = None, *, parent: BlockHeaderAPI | None = None
    ) -> BlockHeaderAPI:
        """Return the header of the next block before the first transaction.

        Input:
            settings: overrides of header fields.
            parent: by default the head. A caller that read the head passes that here, in case
                another thread mines in between.

        Raises: ConfigError: the timestamp is not after the parent's, or beyond 64 bits.
        """
        spec = settings or BlockSettings()
        parent = self._head if parent is None else parent
        root = self.state_root(parent)
        last = self._last_next_header  # Read once: another thread may replace it.
        if last is not None and (last.parent, last.root, last.settings) == (parent, root, spec):
            return last.header
        header = self._build_child_header(parent, root, spec)
        self._last_next_header = _NextHeader(parent=parent, root=root, settings=spec, header=header)
        return header

    def _build_child_header(
        self, parent: BlockHeaderAPI, root: bytes, spec: BlockSettings
    ) -> BlockHeaderAPI:
        header = self._chain.create_header_from_parent(parent)
        timestamp = parent.timestamp + 1
        if spec.timestamp_seconds is not None:
            timestamp = spec.timestamp_seconds
        if timestamp <= parent.timestamp:
            raise ConfigError(
                f"timestamp {timestamp}: must be after the parent's {parent.timestamp}"
            )
        if timestamp > MAX_TIMESTAMP_SECONDS:
            raise ConfigError(f"timestamp {timestamp}: must be at most 2^64 - 1")
        fields: dict[str, object] = {
            "state_root": root,
            "timestamp": timestamp,
            "gas_limit": self.config.block_gas_limit if spec.gas_limit is None else spec.gas_limit,
            "coinbase": spec.coinbase,
            "base_fee_per_gas": spec.base_fee_wei,
            "mix_hash": spec.prev_randao,
            "parent_beacon_block_root": spec.parent_beacon_root,
        }
        if self._is_fork_block(parent):
            fields["extra_data"] = self.config.digest
        return header.copy(**{name: value for name, value in fields.items() if value is not None})

    def build_unsigned_transaction(
        self, call: Call, *, gas_price_wei: int | None = None
    ) -> UnsignedTransactionAPI:
        """Return a call as the sender's next legacy transaction, unsigned.

        Input: gas_price_wei: by default twice the next base fee.
        """
        price_wei = gas_price_wei
        if price_wei is None:
            price_wei = 2 * int(self.build_next_header().base_fee_per_gas or 0)
        return self.transaction_builder.create_unsigned_transaction(
            nonce=self.nonce(call.sender),
            gas_price=price_wei,
            gas=self.fork.cap_gas(self.config.block_gas_limit) if call.gas is None else call.gas,
            to=call.to or Address(b""),
            value=call.value_wei,
            data=call.data,
        )

    def call(
        self,
        call: Call,
        *,
        header: BlockHeaderAPI | None = None,
        overrides: Mapping[Address, AccountOverride] | None = None,
        block: BlockOverride | None = None,
        trace: VMClassWrapper | None = None,
    ) -> CallResult:
        """Execute a message as a transaction, without changing state.

        Input:
            header: of the block to execute in; a block of the chain means the state after it. By
                default that of `build_next_header`.
            overrides: accounts for this call.
            block: header fields for this call.
            trace: wraps a VM class with a tracer.

        Raises: RuleError: intrinsic gas, balance, overrides. EngineFault: the host failed.
        """
        state = self._build_call_state(call, header, overrides, block, trace)
        gas = state.gas_limit if call.gas is None else call.gas
        return self._execute_call(state, self._spoof(state, call, gas))

    def call_if_cheap(self, call: Call, *, header: BlockHeaderAPI) -> CallResult | None:
        """Execute a message as `call` does if it takes at most some milliseconds; otherwise None.

        The message gets little gas, and nested calls are not allowed. An execution that ends
        without running out of gas and without reading GAS would end the same with any gas.
        Functions whose last call was not cheap are not tried again.

        Raises: RuleError: see `call`.
        """
        found = self._call_with(CHEAP_CALL_GAS, call, header)
        return None if found is None else found[1]

    def _call_with(
        self, gas: int, call: Call, header: BlockHeaderAPI
    ) -> tuple[SignedTransactionAPI, CallResult] | None:
        """Execute a message with some gas, if that shows how it ends with any gas; otherwise None.

        Input: the gas of the execution; the call; the header of `call`.
        Output: the executed transaction, and the result.
        """
        key = (gas, call.to, call.data[:SELECTOR_BYTES])
        is_plain = call.to is not None and not call.authorizations and not call.access_list
        if not is_plain or len(call.data) > CHEAP_CALL_DATA_BYTES or key in self._slow_calls:
            return None
        state = self._build_call_state(call, header, None, None)
        if not isinstance(state, AgentState):
            return None
        if call.to in state.computation_class.get_precompiles():
            return None
        state.forbids_nested_calls = True
        gas = _add_calldata_gas(gas, call.data)
        most = state.gas_limit if call.gas is None else call.gas
        transaction = self._spoof(state, call, min(gas, most))
        try:
            result = self._execute_call(state, transaction)
        except NestedCallError:
            result = None
        if result is None or _is_gas_dependent(result):
            if transaction.gas == gas:  # Otherwise the caller's own limit was lower.
                self._slow_calls[key] = None
            return None
        return transaction, result

    def _execute_call(self, state: StateAPI, transaction: SignedTransactionAPI) -> CallResult:
        computation = state.costless_execute_transaction(transaction)
        return CallResult(
            output=bytes(computation.output),
            gas_used=self._get_vm_class(self._head).finalize_gas_used(transaction, computation),
            error=computation.error if computation.is_error else None,
            computation=computation,
        )

    def replay(
        self,
        record: BlockRecord,
        index: int,
        trace: VMClassWrapper | None = None,
        interruption: Interruption | None = None,
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        """Execute a transaction of a block again, after the earlier ones, without changing state.

        Models repeat the block's stored generations.

        Input:
            record: the block.
            index: of the transaction in the block.
            trace: wraps a VM class with a tracer.
            interruption: ends the executions from another thread.

        Raises: InvalidTransactionError: of any: the block is not one of the chain's.
                EngineFault: the host failed.
        """
        block = record.block
        for transaction in block.transactions[: index + 1]:
            recover_sender(transaction)
        header = self.build_first_header(record)
        vm = create_vm(self._chain, self.get_replay_vm_class(block.header), header, trace)
        if isinstance(vm.state, AgentState):
            vm.state.interruption = interruption
        vm.block_preprocessing(block)
        for transaction in block.transactions[:index]:
            receipt, _ = vm.apply_transaction(header, transaction)
            header = vm.add_to_header(header, transaction, receipt)
        return vm.apply_transaction(header, block.transactions[index])

    def build_first_header(self, record: BlockRecord) -> BlockHeaderAPI:
        """Return the header of a block before the first transaction, with the state root there."""
        header = record.block.header
        root = record.root_before or self.state_root_before(header)
        zeros = {name: 0 for name in ("gas_used", "blob_gas_used") if name in header.as_dict()}
        changed: BlockHeaderAPI = header.copy(**zeros, state_root=root)
        return changed

    def get_replay_vm_class(self, header: BlockHeaderAPI) -> type[WatchedVM]:
        """Return the class of a VM that replays a block."""
        return self._get_vm_class(header)

    def estimate_gas(
        self,
        call: Call,
        *,
        header: BlockHeaderAPI | None = None,
        overrides: Mapping[Address, AccountOverride] | None = None,
        block: BlockOverride | None = None,
    ) -> int:
        """Return a gas limit with which a message succeeds, while with one less it fails.

        Generations are pure functions: the estimate is exact for agents, too.

        Input:  as for `call`; the gas of the call is the upper bound.
        Raises: VMError: the message fails with the upper bound. RuleError: see `call`.
                EngineFault: the host failed.
        """
        state = self._build_call_state(call, header, overrides, block)
        most = self.fork.cap_gas(state.gas_limit if call.gas is None else call.gas)

        def attempt(gas: int) -> GasTrial:
            before = state.snapshot()
            transaction = self._spoof(state, call, gas)
            try:
                return GasTrial.from_computation(
                    transaction, state.costless_execute_transaction(transaction)
                )
            finally:
                state.revert(before)
                state.lock_changes()

        transaction = self._spoof(state, call, most)
        least = self.fork.rules.compute_least_gas(transaction)
        return find_least_gas(attempt, least, most)

    def estimate_if_short(self, call: Call, *, header: BlockHeaderAPI) -> GasEstimate | None:
        """Estimate as `estimate_gas` does if `SHORT_GAS` is enough; otherwise return None.

        One execution with little gas shows the requirement of the path, as in `call_if_cheap`. None
        also if the message fails.

        Raises: RuleError: see `call`.
        """
        found = self._call_with(SHORT_GAS, call, header)
        if found is None or found[1].error is not None:
            return None
        transaction, result = found
        trial = GasTrial.from_computation(transaction, result.computation)
        if not trial.is_gas_independent:
            return None
        least = self.fork.rules.compute_least_gas(transaction)
        return GasEstimate(gas=max(trial.needed_gas, least), computation=result.computation)

    def find_call_slots(self, call: Call, account: Address) -> frozenset[int]:
        """Return the storage slots of an account that a call reads.

        Only the writing thread may call this.
        """
        try:
            witness = self.call(call).computation.state.persist()
        finally:
            self._db.discard()
        return frozenset(witness.get_slots_queried(account))

    def _build_call_state(
        self,
        call: Call,
        header: BlockHeaderAPI | None,
        overrides: Mapping[Address, AccountOverride] | None,
        block: BlockOverride | None,
        trace: VMClassWrapper | None = None,
    ) -> StateAPI:
        """Return the state for a call, in a block with a base fee of 0.

        BASEFEE returns the block's base fee if the call has a gas price, as in geth, or if
        overridden.
        """
        meant = self.build_next_header() if header is None else header
        root, number = self.state_root(meant), meant.block_number
        override = block or BlockOverride()
        header = override.apply_to(self._get_vm_class(meant).complete_header(meant))
        base_fee = _get_base_fee(header)
        trace = self._move_precompiles(meant, overrides or {}, trace)
        state = self._build_state(self._make_free_header(header, root), root, trace, number=number)
        if isinstance(state, AgentState):
            sees_fee = call.gas_price_wei or override.base_fee_wei is not None
            state.shown_base_fee_wei = base_fee if sees_fee else None
            state.shown_blob_base_fee_wei = override.blob_base_fee_wei
            state.shown_blob_hashes = call.blob_hashes
            state.interruption = call.interruption
        self._begin_block_if_new(state, meant)
        apply_overrides(state, overrides or {})
        return state

    def _move_precompiles(
        self,
        header: BlockHeaderAPI,
        overrides: Mapping[Address, AccountOverride],
        trace: VMClassWrapper | None,
    ) -> VMClassWrapper | None:
        """Return a wrapper of the VM class in which overridden precompiles are not there."""
        state_class = self._get_vm_class(header)._state_class  # noqa: SLF001 - as py-evm's `configure` does
        fork = state_class.computation_class.get_precompiles()
        here = move_precompiles(fork, overrides)
        if here == fork:
            return trace
        return lambda vm_class: replace_precompiles(
            vm_class if trace is None else trace(vm_class), here
        )

    def _make_free_header(self, header: BlockHeaderAPI, root: bytes) -> BlockHeaderAPI:
        """Return a copy of a header with a state root and no base fee; cached for one header."""
        last = self._last_free_header  # Read once: another thread may replace it.
        if last is not None and last.source is header and last.base_root == root:
            return last.free_header
        fields: dict[str, object] = {"state_root": root}
        if _get_base_fee(header) is not None:
            fields["base_fee_per_gas"] = 0
        free_header = header.copy(**fields)
        self._last_free_header = _FreeHeader(source=header, base_root=root, free_header=free_header)
        return free_header

    def _spoof(self, state: StateAPI, call: Call, gas: int) -> SignedTransactionAPI:
        if call.authorizations and self.fork.rules.last_type < SET_CODE_TYPE:
            raise InvalidCallError(
                f"transaction type not supported: {SET_CODE_TYPE}, which has authorizations; "
                f"{self.fork.name} has 0 to {self.fork.rules.last_type}"
            )
        return as_spoofed_transaction(
            call, self.transaction_builder, nonce=state.get_nonce(call.sender), gas=gas
        )


def _add_calldata_gas(gas: int, data: bytes) -> int:
    """Return a gas limit with which a message has some gas, or what the floor leaves (EIP-7623)."""
    tokens = STANDARD_TOKEN_COST * len(data) - (STANDARD_TOKEN_COST - 1) * data.count(0)
    return GAS_TX + max(STANDARD_TOKEN_COST * tokens + gas, TOTAL_COST_FLOOR_PER_TOKEN * tokens)


def _is_gas_dependent(result: CallResult) -> bool:
    """Whether a call without nested calls may end differently with more gas."""
    computation = result.computation
    assert isinstance(computation, AgentComputation)  # noqa: S101 - the only one an AgentState has
    return computation.executed_gas_opcode or (result.error is not None and result.error.burns_gas)


def _get_base_fee(header: BlockHeaderAPI) -> int | None:
    """Return the base fee of a block, in wei; None before London."""
    return getattr(header, "base_fee_per_gas", None)

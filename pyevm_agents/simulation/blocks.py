"""Execution of simulated blocks, each on top of the last; none is stored."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth.consensus.context import ConsensusContext
from eth.constants import ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.db.batch import BatchDB
from eth.db.chain import ChainDB
from eth.vm.chain_context import ChainContext
from eth.vm.forks import ParisVM

from pyevm_agents.chain.calls import apply_overrides, move_precompiles
from pyevm_agents.chain.transactions import (
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    SET_CODE_TYPE,
    TransactionFields,
    build_unsigned,
)
from pyevm_agents.simulation.request import SimulatedBlockRequest
from pyevm_agents.simulation.validation import (
    BLOCK_GAS_LIMIT,
    BLOCK_NUMBERS,
    BLOCK_TIMESTAMPS,
    SERVER_ERROR,
    TOO_MANY_BLOCKS,
    SimulationError,
)
from pyevm_agents.simulation.vm import (
    SimulatedComputation,
    SimulationRules,
    build_simulated_vm,
    has_base_fee,
)
from pyevm_agents.vm import AgentState, RuleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        VirtualMachineAPI,
    )
    from eth_typing import Address, Hash32

    from pyevm_agents.chain import ChainSimulator
    from pyevm_agents.chain.calls import Precompile
    from pyevm_agents.simulation.request import SimulatedCall
    from pyevm_agents.simulation.vm import SimulatedVM
    from pyevm_agents.vm import Interruption, WatchedVM

MAX_BLOCKS = 256
"""Maximum number of blocks after the base block. Source: geth."""

BLOCK_SECONDS = 12
"""Default time between a block and its parent, in seconds. Source: geth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedBlock:
    """A simulated block, with a receipt and a computation for each call."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]
    computations: tuple[SimulatedComputation, ...]


class Simulation:
    """Simulated blocks on top of a block of a chain."""

    def __init__(  # noqa: PLR0913 - keyword arguments
        self,
        chain: ChainSimulator,
        base: BlockHeaderAPI,
        *,
        validates: bool,
        notes_transfers: bool,
        most_gas: int,
        interruption: Interruption | None = None,
    ) -> None:
        """Start a simulation on top of a block.

        Input: `validates`: whether nonces and fees are checked. `notes_transfers`: whether
               transfers of value are reported as logs. `most_gas`: gas limit of all calls together.
               `interruption`: ends the execution from another thread.
        """
        self._interruption = interruption
        self._chain = chain
        self._base = base
        self._validates = validates
        self._notes_transfers = notes_transfers
        self._gas = most_gas
        # Writes stay in this layer, in front of the chain's rows.
        self._db = AtomicDB(BatchDB(chain.rows))
        self._parent = base
        self._root = chain.state_root(base)
        self._hashes: list[Hash32] = []

    def run(self, blocks: Sequence[SimulatedBlockRequest]) -> Iterator[SimulatedBlock]:
        """Execute blocks and yield them, with empty blocks for omitted numbers.

        Raises: SimulationError: a block or a call is invalid. EngineFault: the engine failed.
        """
        for request in [*self._fill_gaps(blocks)]:
            yield self._make_block(request)

    def _fill_gaps(
        self, blocks: Sequence[SimulatedBlockRequest]
    ) -> Iterator[SimulatedBlockRequest]:
        """Yield the requests with number and time filled in, and empty blocks in the gaps."""
        number, timestamp = int(self._base.block_number), self._base.timestamp
        for request in blocks:
            wanted = number + 1 if request.number is None else request.number
            if wanted <= number:
                raise SimulationError(
                    BLOCK_NUMBERS, f"block numbers must be in order: {wanted} <= {number}"
                )
            if wanted - self._base.block_number > MAX_BLOCKS:
                raise SimulationError(TOO_MANY_BLOCKS, "too many blocks")
            for left_out in range(number + 1, wanted):
                timestamp += BLOCK_SECONDS
                yield SimulatedBlockRequest(number=left_out, timestamp_seconds=timestamp)
            at = request.timestamp_seconds
            if at is None:
                at = timestamp + BLOCK_SECONDS
            if at <= timestamp:
                raise SimulationError(
                    BLOCK_TIMESTAMPS, f"block timestamps must be in order: {at} <= {timestamp}"
                )
            number, timestamp = wanted, at
            yield replace(request, number=number, timestamp_seconds=timestamp)

    def _make_block(self, request: SimulatedBlockRequest) -> SimulatedBlock:
        plain = self._chain.get_vm_class_at(self._parent.block_number + 1)
        header = self._build_header(request, plain)
        vm = self._build_vm(request, plain, header)
        apply_overrides(vm.state, request.accounts)
        vm.block_preprocessing(vm.get_block())
        header, transactions, receipts, computations = self._execute(request, vm, header)
        vm.apply_all_withdrawals(request.withdrawals)
        filled = vm.set_block_transactions_and_withdrawals(
            vm.get_block(), header, transactions, receipts, withdrawals=request.withdrawals
        )
        block = vm.finalize_block(vm.block_postprocessing(filled)).block
        self._parent, self._root = block.header, block.header.state_root
        self._hashes.insert(0, block.hash)
        return SimulatedBlock(
            block=block, receipts=tuple(receipts), computations=tuple(computations)
        )

    def _build_header(
        self, request: SimulatedBlockRequest, plain: type[WatchedVM]
    ) -> BlockHeaderAPI:
        parent = self._parent
        header = plain.create_header_from_parent(parent, timestamp=request.timestamp_seconds)
        fields: dict[str, object] = {
            "state_root": self._root,
            "extra_data": b"",
            "nonce": bytes(8),
            "mix_hash": request.prev_randao or ZERO_HASH32,
            "coinbase": parent.coinbase if request.coinbase is None else request.coinbase,
            "gas_limit": parent.gas_limit if request.gas_limit is None else request.gas_limit,
            "difficulty": 0 if issubclass(plain, ParisVM) else parent.difficulty,
        }
        names = header.as_dict()
        if "parent_beacon_block_root" in names:
            fields["parent_beacon_block_root"] = request.beacon_root or ZERO_HASH32
        if "base_fee_per_gas" in names:
            if request.base_fee_wei is not None:
                fields["base_fee_per_gas"] = request.base_fee_wei
            elif not self._validates:
                fields["base_fee_per_gas"] = 0
        return header.copy(**fields)

    def _build_vm(
        self, request: SimulatedBlockRequest, plain: type[WatchedVM], header: BlockHeaderAPI
    ) -> SimulatedVM:
        state_class = plain._state_class  # noqa: SLF001 - as py-evm's `configure` does
        fork = state_class.computation_class.get_precompiles()
        rules = SimulationRules(
            validates=self._validates,
            has_base_fee=has_base_fee(plain),
            notes_transfers=self._notes_transfers,
            precompiles=_move_precompiles(fork, request),
            warm=frozenset(fork),
            blob_base_fee_wei=request.blob_base_fee_wei,
        )
        vm = build_simulated_vm(plain, rules)(
            header=header,
            chaindb=ChainDB(self._db),
            chain_context=ChainContext(self._chain.config.chain_id),
            consensus_context=ConsensusContext(self._db),
        )
        before = plain.get_prev_hashes(self._base.hash, ChainDB(self._db)) or ()
        vm.parents = itertools.chain([*self._hashes], before)
        if isinstance(vm.state, AgentState):
            vm.state.interruption = self._interruption
        return vm

    def _execute(
        self, request: SimulatedBlockRequest, vm: SimulatedVM, header: BlockHeaderAPI
    ) -> tuple[
        BlockHeaderAPI,
        list[SignedTransactionAPI],
        list[ReceiptAPI],
        list[SimulatedComputation],
    ]:
        transactions, receipts, computations = [], [], []
        for call in request.calls:
            transaction = self._build_transaction(call, vm, header)
            before = header.gas_used
            receipt, computation = vm.apply_transaction(header, transaction)
            assert isinstance(computation, SimulatedComputation)  # noqa: S101 - of this VM class
            header = vm.add_to_header(header, transaction, receipt)
            self._gas -= header.gas_used - before
            transactions.append(transaction)
            receipts.append(receipt)
            computations.append(computation)
        return header, transactions, receipts, computations

    def _build_transaction(
        self, call: SimulatedCall, vm: VirtualMachineAPI, header: BlockHeaderAPI
    ) -> SignedTransactionAPI:
        room = header.gas_limit - header.gas_used
        gas = room if call.gas is None else call.gas
        if gas > room:
            raise SimulationError(
                BLOCK_GAS_LIMIT,
                f"block gas limit reached: {header.gas_used} >= {header.gas_limit}",
            )
        nonce = vm.state.get_nonce(call.sender) if call.nonce is None else call.nonce
        fields = TransactionFields(
            kind=_infer_type(call),
            nonce=nonce,
            gas=min(gas, self._gas),
            to=call.to,
            value_wei=call.value_wei,
            data=call.data,
            gas_price_wei=call.gas_price_wei or 0,
            max_fee_wei=call.max_fee_wei,
            max_priority_fee_wei=call.max_priority_fee_wei,
            access_list=call.access_list,
            max_blob_fee_wei=call.max_blob_fee_wei,
            blob_hashes=call.blob_hashes or (),
            authorizations=call.authorizations or (),
        )
        chain = self._chain
        return build_unsigned(fields, call.sender, chain.config.chain_id, chain.fork.builder)


def _infer_type(call: SimulatedCall) -> int:
    if call.gas_price_wei is not None:
        return LEGACY_TYPE
    if call.authorizations is not None:
        return SET_CODE_TYPE
    return DYNAMIC_FEE_TYPE if call.blob_hashes is None else BLOB_TYPE


def _move_precompiles(
    fork: dict[Address, Precompile], request: SimulatedBlockRequest
) -> dict[Address, Precompile]:
    """Return the precompiles of a block by address in the block.

    Raises: SimulationError: see `move_precompiles`.
    """
    try:
        return move_precompiles(fork, request.accounts)
    except RuleError as error:
        raise SimulationError(SERVER_ERROR, str(error)) from error

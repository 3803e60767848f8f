"""A chain of this process as the port of runs: a `Chain`, or the chain of a `Node`."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from eth.exceptions import TransactionNotFound
from eth_typing import Address

from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.chain import BlockSettings, Call
from pyevm_agents.chain.transactions import (
    LEGACY_TYPE,
    TransactionFields,
    build_impersonated,
    sign,
)
from pyevm_agents.lifecycle.run_block import (
    BlockPin,
    CallFailedError,
    DraftError,
    EnvelopeCall,
    MovedStateError,
    PreparedBlock,
    RefusedCallError,
    RunBlock,
    describe_lost_block,
)
from pyevm_agents.lifecycle.run_trace import (
    RunWrite,
    WriteTrace,
    build_write_trace,
    list_changing_calls,
)
from pyevm_agents.lifecycle.untrusted_agents import note_faults
from pyevm_agents.tracing.touched_state import TouchedStateTracer
from pyevm_agents.tracing.vm import make_traced_vm
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import BlockHeaderAPI, ComputationAPI, SignedTransactionAPI
    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.chain import Chain, MinedBlock
    from pyevm_agents.chain.reader import VMClassWrapper
    from pyevm_agents.node import Node

    Mine = Callable[[Sequence[SignedTransactionAPI], BlockSettings], MinedBlock]

MAX_CALL_DRAFTS = 10
"""How often `mine_call` drafts a transaction."""

IMPERSONATED_GAS = 3_000_000
"""Gas limit of a call without its sender's key: the sender needs a balance for it, in a dry run."""


class LocalChainPort:
    """A chain of this process, with the key that signs the transactions of runs."""

    def __init__(
        self,
        chain: Chain,
        key: PrivateKey,
        *,
        get_settings: Callable[[], BlockSettings] = BlockSettings,
        run_exclusive: Callable[[Callable[[], MinedBlock]], MinedBlock] | None = None,
        mine: Mine | None = None,
    ) -> None:
        """Open a chain that only this thread changes, or one with an owner.

        Input:
            chain: the chain.
            key: signs the transactions of runs; the key's account pays for gas.
            get_settings: returns the header fields of the next block.
            run_exclusive: runs a change of the chain while nothing else changes it.
            mine: mines a block of exactly these transactions.
        """
        self.chain = chain
        self._key = key
        self._get_settings = get_settings
        self._run_exclusive = run_exclusive or (lambda change: change())
        self._mine: Mine = mine or (lambda given, settings: chain.mine(given, settings=settings))

    @classmethod
    def from_node(cls, node: Node, key: PrivateKey) -> LocalChainPort:
        """Return the port of a node's chain: pool, clock and listeners know the blocks."""
        return cls(
            node.chain,
            key,
            get_settings=node.next_block.build_settings,
            run_exclusive=lambda change: node.submit_change(change).result(),
            mine=node.mine_transactions,
        )

    @property
    def address(self) -> bytes:
        """The account that signs the transactions of runs."""
        return self._key.public_key.to_canonical_address()

    @property
    def chain_id(self) -> int:
        """The chain's ID."""
        return self.chain.config.chain_id

    @note_faults
    def pin_next_block(self) -> BlockPin:
        """Return the next block's values."""
        return read_pin(self.chain.build_next_header(self._get_settings()))

    @note_faults
    def begin_draft(self, pin: BlockPin, *, is_free: bool = False) -> LocalDraft:
        """Start a draft of the next block with pinned values, on the present state.

        Input: is_free: whether gas costs nothing, so that any account can send.
        """
        return LocalDraft(self.chain, pin, self._key, is_free=is_free)

    @note_faults
    def commit(self, block: PreparedBlock) -> RunBlock:
        """Mine a complete draft. If its transactions are in a block, return that.

        Raises: MovedStateError: the state is not the draft's any more.
        """
        found = self.find_block(block.hashes)
        if found is not None:
            return found
        mined = self._run_exclusive(partial(self._commit_now, block))
        return RunBlock(
            number=mined.block.number,
            block_hash=bytes(mined.block.hash),
            transaction_hashes=block.hashes,
        )

    def _commit_now(self, block: PreparedBlock) -> MinedBlock:
        settings = build_settings(block.pin)
        head = self.chain.head
        if bytes(head.hash) != block.pin.parent_hash or (
            self.chain.state_root(head) != block.pin.state_root
        ):
            raise MovedStateError(
                f"block {head.block_number}: must be the draft's parent, "
                f"0x{block.pin.parent_hash.hex()}; make the dry run again"
            )
        transactions = [self._decode(each) for each in block.transactions]
        return self._mine(transactions, settings)

    def _decode(self, encoded: bytes) -> SignedTransactionAPI:
        return self.chain.transaction_builder.decode(encoded)

    def find_block(self, hashes: Sequence[bytes]) -> RunBlock | None:
        """Return the block that has all of these transactions; None if no block has.

        Another store's run with the same ID may share the first one, which opens it in a treasury.
        """
        if not hashes:
            return None
        try:
            found = self.chain.find_transaction(hashes[0])
        except TransactionNotFound:
            return None
        if found is None:
            return None
        record, _ = found
        if not {bytes(each.hash) for each in record.block.transactions}.issuperset(hashes):
            return None
        return RunBlock(
            number=record.block.number,
            block_hash=bytes(record.block.hash),
            transaction_hashes=tuple(hashes),
        )

    @note_faults
    def reexecute(self, block: RunBlock) -> str | None:
        """Execute a block again; return how the results differ from the header, None if not.

        A block that is not on the chain any more, such as after `evm_revert`, differs as well.
        The chain's models compute the generations again, or repeat the cached ones.
        """
        if self.find_block(block.transaction_hashes) != block:
            return describe_lost_block(block)
        header = self.chain.header_by_hash(block.block_hash)
        transactions = self.chain.block_with_receipts(header).block.transactions
        parent = self.chain.header_by_hash(header.parent_hash)
        start = self.chain.build_next_header(build_settings(read_pin(header)), parent=parent)
        start = start.copy(state_root=self.chain.state_root_before(header))
        again = self.chain.draft_block(transactions, start).draft.block.header
        for name, value in header.as_dict().items():
            if again.as_dict()[name] != value:
                return f"block {block.number}: {name} differs"
        return None

    @note_faults
    def call(self, target: bytes, data: bytes) -> bytes:
        """Call a contract at the head; return the output.

        Raises: CallFailedError: the call failed.
        """
        result = self.chain.call(Call(to=Address(target), sender=Address(self.address), data=data))
        return _require_output(result.computation, self.chain.known_contracts)

    def mine_call(self, call: EnvelopeCall) -> RunBlock:
        """Mine a transaction in a separate block; return the block.

        After a block that comes in between, the transaction is drafted anew.

        Raises: RefusedCallError: the call fails. MovedStateError: a block came between each time.
        """
        for _ in range(MAX_CALL_DRAFTS - 1):
            with suppress(MovedStateError):
                return self._mine_draft(call)
        return self._mine_draft(call)

    def _mine_draft(self, call: EnvelopeCall) -> RunBlock:
        draft = self.begin_draft(self.pin_next_block())
        failure = draft.send_envelope(call)
        if failure is not None:
            raise RefusedCallError(failure)
        return self.commit(draft.prepare())


class LocalDraft:
    """A draft of a chain's next block, which grows by one transaction at a time."""

    def __init__(self, chain: Chain, pin: BlockPin, key: PrivateKey, *, is_free: bool) -> None:
        """Start on the chain's head.

        Input:
            chain: the chain.
            pin: the values of the block.
            key: signs the transactions.
            is_free: whether gas costs nothing.
        """
        self._chain = chain
        self._key = key
        self._address = key.public_key.to_canonical_address()
        self._is_free = is_free
        head = chain.head
        # A head that is as late as the pinned block needs a later one.
        timestamp = max(pin.timestamp, head.timestamp + 1)
        settings = build_settings(replace(pin, timestamp=timestamp))
        if is_free:
            settings = replace(settings, base_fee_wei=0)
        header = chain.build_next_header(settings, parent=head)
        self._start = read_pin(header)
        self._dry_run = pin
        self._transactions: list[SignedTransactionAPI] = []
        self._touched: set[bytes] = set()
        self._opening_price: Counter[bytes] = Counter()
        self._draft = chain.begin_draft(header, is_silent=False)

    @property
    def is_moved(self) -> bool:
        """Whether the draft starts from another state than the dry run did."""
        return (self._start.parent_hash, self._start.state_root) != (
            self._dry_run.parent_hash,
            self._dry_run.state_root,
        )

    @property
    def touched_addresses(self) -> frozenset[bytes]:
        """Addresses that the transactions called, where a call could change state."""
        return frozenset(self._touched)

    @note_faults
    def send(self, write: RunWrite, wrapped: EnvelopeCall | None = None) -> WriteTrace:
        """Execute a write as the next transaction.

        Input:
            write: of the agent.
            wrapped: the call that makes the write; None to send the write itself.

        Raises: DraftError: the write can't be part of the block. EngineFault: the host failed.
        """
        plain = EnvelopeCall(target=write.target, data=write.data, value_wei=write.value_wei)
        tracer, before = TouchedStateTracer(), self._draft.header.gas_used
        computation = self._append(wrapped or plain, partial(make_traced_vm, tracer=tracer))
        used = int(self._draft.header.gas_used - before)
        storage = list_changed_slots(tracer)
        if wrapped is not None:  # A treasury's books have the confirmation, which a dry run lacks.
            storage.pop(wrapped.target, None)
        transaction = self._transactions[-1]
        return build_write_trace(
            write,
            computation,
            storage,
            transaction_hash=bytes(transaction.hash),
            gas=(used, used * transaction.gas_price),
            failure=self._explain(computation),
        )

    @note_faults
    def send_envelope(self, call: EnvelopeCall) -> str | None:
        """Execute a transaction that is no write; return the reason of a failure, None on success.

        Raises: see `send`.
        """
        before = self._draft.header.gas_used
        failure = self._explain(self._append(call))
        payer = call.sender or self._address
        used = int(self._draft.header.gas_used - before)
        self._opening_price[payer] += used * self._transactions[-1].gas_price
        return failure

    # -- reads: after the transactions so far -- #

    @property
    def number(self) -> int:
        """The number of the draft's block."""
        return int(self._start.number)

    @property
    def timestamp(self) -> int:
        """The block's time, in Unix seconds."""
        return int(self._start.timestamp)

    @property
    def base_fee_wei(self) -> int:
        """The block's base fee, also where gas costs nothing."""
        return int(self._dry_run.base_fee_wei)

    @note_faults
    def get_balance(self, address: bytes) -> int:
        """Return the wei of an account, as if a treasury's opening and closing were free.

        In a dry run the operator's account pays for a confirmation, in an execution another one.
        """
        state = self._draft.simulator.state(self._draft.header)
        return int(state.get_balance(Address(address))) + self._opening_price[address]

    @note_faults
    def rehearse(self, target: bytes, data: bytes, sender: bytes | None = None) -> WriteTrace:
        """Return what a call would do now, without a change of the draft.

        Input: the call; the caller, None for the account that signs. Gas costs nothing.
        """
        call = Call(to=Address(target), sender=Address(sender or self._address), data=data)
        computation = self._draft.simulator.call(call, header=self._draft.header).computation
        return build_write_trace(
            RunWrite(step_id="rehearsal", number=0, target=target, value_wei=0, data=data),
            computation,
            {},
            transaction_hash=b"",
            gas=(0, 0),
            failure=self._explain(computation),
        )

    @note_faults
    def call(self, target: bytes, data: bytes) -> bytes:
        """Call a contract after the transactions so far; return the output.

        Raises: CallFailedError: the call failed.
        """
        sender = Address(self._address)
        result = self._draft.simulator.call(
            Call(to=Address(target), sender=sender, data=data), header=self._draft.header
        )
        return _require_output(result.computation, self._chain.known_contracts)

    def prepare(self) -> PreparedBlock:
        """Return the draft as a block to commit."""
        return PreparedBlock(
            pin=self._start,
            transactions=tuple(bytes(each.encode()) for each in self._transactions),
            hashes=tuple(bytes(each.hash) for each in self._transactions),
        )

    # -- inside -- #

    def _append(self, call: EnvelopeCall, trace: VMClassWrapper | None = None) -> ComputationAPI:
        transaction = self._build(call)
        try:
            _, computation = self._draft.add(transaction, trace)
        except RuleError as error:
            raise DraftError(f"transaction to 0x{call.target.hex()}: {error}") from error
        self._transactions.append(transaction)
        self._touched |= list_changing_calls(computation)
        return computation

    def _build(self, call: EnvelopeCall) -> SignedTransactionAPI:
        own = Address(self._address)
        sender = own if call.sender is None else Address(call.sender)
        header = self._draft.header
        left = header.gas_limit - header.gas_used
        if call.sender is not None and not self._is_free:
            left = min(left, IMPERSONATED_GAS)
        fields = TransactionFields(
            kind=LEGACY_TYPE,
            nonce=self._draft.simulator.state(header).get_nonce(sender),
            gas=self._chain.fork.cap_gas(left),
            to=Address(call.target),
            value_wei=call.value_wei,
            data=call.data,
            gas_price_wei=int(header.base_fee_per_gas or 0),
        )
        chain_id, builder = self._chain.config.chain_id, self._chain.transaction_builder
        if sender == own:
            return sign(fields, self._key, chain_id, builder)
        return build_impersonated(fields, sender, chain_id, builder)

    def _explain(self, computation: ComputationAPI) -> str | None:
        if not computation.is_error:
            return None
        return explain_failure(computation, self._chain.known_contracts)


def list_changed_slots(tracer: TouchedStateTracer) -> dict[bytes, dict[int, int]]:
    """Return the final values of the slots that a traced transaction changed, by account."""
    changes = {}
    for address, after in tracer.after.items():
        before = tracer.before[address].storage
        changed = {slot: value for slot, value in after.storage.items() if value != before[slot]}
        if changed:
            changes[bytes(address)] = changed
    return changes


def read_pin(header: BlockHeaderAPI) -> BlockPin:
    """Return the values of a block before the first transaction."""
    return BlockPin(
        parent_hash=bytes(header.parent_hash),
        state_root=bytes(header.state_root),
        number=header.block_number,
        timestamp=header.timestamp,
        base_fee_wei=int(header.base_fee_per_gas or 0),
        prev_randao=bytes(header.mix_hash),
        coinbase=bytes(header.coinbase),
        gas_limit=header.gas_limit,
    )


def build_settings(pin: BlockPin) -> BlockSettings:
    """Return the header fields of a block with pinned values."""
    return BlockSettings(
        timestamp_seconds=pin.timestamp,
        coinbase=Address(pin.coinbase),
        gas_limit=pin.gas_limit,
        base_fee_wei=pin.base_fee_wei,
        prev_randao=pin.prev_randao,
    )


def _require_output(computation: ComputationAPI, known: KnownContracts) -> bytes:
    if computation.is_error:
        raise CallFailedError(f"call: {explain_failure(computation, known)}")
    return bytes(computation.output)

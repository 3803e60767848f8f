"""One chain in memory: genesis, mine, call, estimate, snapshot, revert.

A fault of the host (`pyevm_agents.errors.EngineFault`) leaves it as it was: blocks and calls work
on a VM of their own, whose state reaches the database only when a block is complete.

Source: architecture, decisions 3 and 10.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth.constants import ZERO_ADDRESS, ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.estimators.gas import binary_gas_search
from eth.typing import AccountDetails
from eth.vm.spoof import SpoofTransaction
from eth_typing import Address, BlockNumber, Hash32

from precompiles.executor import Executor
from precompiles.ports import Described
from precompiles.spec import EXECUTOR_ADDRESS, EXECUTOR_CODE
from pyevm_agents.blocks import decode_block, require_same
from pyevm_agents.config import check_fits
from pyevm_agents.errors import ConfigError
from pyevm_agents.vm import AgentVM, agent_chain, record_inference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eth.abc import (
        BlockAPI,
        BlockHeaderAPI,
        ComputationAPI,
        MetaWitnessAPI,
        ReceiptAPI,
        SignedTransactionAPI,
        StateAPI,
        UnsignedTransactionAPI,
    )
    from eth.exceptions import VMError
    from eth.typing import AccountState, HeaderParams

    from precompiles.ports import LanguageModel
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.vm import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class GenesisAccount:
    """What genesis gives an account."""

    balance_wei: int = 0
    nonce: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)
    """Slot to value; a slot that is 0 is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedBlock:
    """A block, with a receipt and a computation for each of its transactions."""

    block: BlockAPI
    receipts: tuple[ReceiptAPI, ...]
    computations: tuple[ComputationAPI, ...]
    witness: MetaWitnessAPI
    """Which accounts and slots it asked for: the state's trie holds nothing but their hashes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A message to execute without a signature, nonce or fee."""

    to: Address | None
    sender: Address = ZERO_ADDRESS
    data: bytes = b""
    value_wei: int = 0
    gas: int | None = None
    """Gas limit; the block's where None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """What a call returned."""

    output: bytes
    gas_used: int
    """What a transaction of it would have used: intrinsic gas in, refunds out."""
    error: VMError | None
    computation: ComputationAPI


class Chain:
    """A chain under one `ChainConfig`, with the executor precompile where it has models."""

    def __init__(
        self,
        config: ChainConfig,
        models: Mapping[str, LanguageModel] | None = None,
        *,
        accounts: Mapping[Address, GenesisAccount] | None = None,
    ) -> None:
        """Begin at genesis.

        Input:  the rules, a language model for each model name of theirs, genesis accounts.
        Raises: ConfigError: a configured model has no language model, or one is left over.
        """
        self.config = config
        self.models: Mapping[str, LanguageModel] = dict(models or {})
        self.genesis_accounts = _genesis_accounts(config, accounts or {})
        self._chain_class = agent_chain(_executor(config, self.models), config.chain_id)
        self._kv: dict[bytes, bytes] = {}
        params: dict[str, HeaderParams] = {
            "difficulty": 0,
            "extra_data": config.digest if config.models else b"",
            "gas_limit": config.block_gas_limit,
            "timestamp": config.genesis_timestamp_seconds,
            "coinbase": ZERO_ADDRESS,
            "mix_hash": ZERO_HASH32,
            "nonce": bytes(8),
            "base_fee_per_gas": config.base_fee_wei,
        }
        db = AtomicDB(MemoryDB(self._kv))
        self._chain_class.from_genesis(db, params, _genesis_state(self.genesis_accounts))
        self._chain = self._chain_class(db)
        self._snapshots: list[tuple[dict[bytes, bytes], BlockHeaderAPI]] = []

    # -- reading -- #

    @property
    def head(self) -> BlockHeaderAPI:
        """The header of the latest block."""
        return self._chain.get_canonical_head()

    @property
    def genesis_hash(self) -> bytes:
        """The hash of block 0."""
        return bytes(self.block(0).hash)

    def block(self, number: int) -> BlockAPI:
        """Return the block of that number."""
        return self._chain.get_canonical_block_by_number(BlockNumber(number))

    def receipt(self, transaction_hash: bytes) -> ReceiptAPI:
        """Return the receipt of a mined transaction."""
        return self._chain.get_transaction_receipt(Hash32(transaction_hash))

    def balance(self, address: Address) -> int:
        """Return an account's balance at the latest block, in wei."""
        return self._head_state().get_balance(address)

    def nonce(self, address: Address) -> int:
        """Return how many transactions an account has sent."""
        return self._head_state().get_nonce(address)

    def code(self, address: Address) -> bytes:
        """Return an account's code at the latest block."""
        return self._head_state().get_code(address)

    def account(self, address: Address, slots: Iterable[int] = ()) -> GenesisAccount | None:
        """Return an account at the latest block with those of its slots; None if it is none."""
        state = self._head_state()
        if not state.account_exists(address):
            return None
        storage = {slot: state.get_storage(address, slot) for slot in slots}
        return GenesisAccount(
            balance_wei=state.get_balance(address),
            nonce=state.get_nonce(address),
            code=state.get_code(address),
            storage={slot: value for slot, value in storage.items() if value},
        )

    # -- writing -- #

    def mine(
        self,
        transactions: Sequence[SignedTransactionAPI] = (),
        *,
        timestamp_seconds: int | None = None,
    ) -> MinedBlock:
        """Mine a block of these transactions.

        Input:  signed transactions, in order; the block's time, one second after its parent's
                where None.
        Raises: ValidationError: a transaction that no block may hold. EngineFault: the host
                failed. The chain is as before in both cases.
        """
        draft = self._vm(self._next_header(timestamp_seconds)).get_block()
        mined = self._execute(draft.copy(transactions=transactions))
        self._persist(mined.block)
        return mined

    def import_block(self, encoded: bytes, *, watch: Watch | None = None) -> MinedBlock:
        """Execute a block that was mined before, and add it if it is what its header says.

        Input:  the block as RLP, the next one of this chain; who is told of each transaction as it
                ends.
        Raises: BlockError: no block, or its transactions give other results than its header says.
                ValidationError: a header or transaction that no such block may hold. EngineFault:
                the host failed. The chain is as before in all cases.
        """
        block = decode_block(encoded)
        mined = self._execute(block, watch)
        require_same(block, mined.block)
        self._persist(mined.block)
        return mined

    def unsigned_transaction(
        self, call: Call, *, gas_price_wei: int | None = None
    ) -> UnsignedTransactionAPI:
        """Return a call as the sender's next legacy transaction, to be signed."""
        price_wei = gas_price_wei
        if price_wei is None:
            price_wei = 2 * int(self._next_header(None).base_fee_per_gas or 0)
        return self._chain.get_vm().create_unsigned_transaction(
            nonce=self.nonce(call.sender),
            gas_price=price_wei,
            gas=self.config.block_gas_limit if call.gas is None else call.gas,
            to=call.to or Address(b""),
            value=call.value_wei,
            data=call.data,
        )

    # -- trying -- #

    def call(self, call: Call) -> CallResult:
        """Execute a message at the latest block as a transaction would, and keep nothing.

        Raises: ValidationError: intrinsic gas, balance. EngineFault: the host failed.
        """
        vm = self._vm()
        transaction = self._spoofed(call)
        with vm.in_costless_state() as state:
            computation = state.costless_execute_transaction(transaction)
            return CallResult(
                output=bytes(computation.output),
                gas_used=vm.finalize_gas_used(transaction, computation),
                error=computation.error if computation.is_error else None,
                computation=computation,
            )

    def estimate_gas(self, call: Call) -> int:
        """Return the least gas limit with which a message succeeds.

        Generations are functions of their prompt, so the estimate is exact for agents too.

        Raises: VMError: it fails with all the gas of a block. EngineFault: the host failed.
        """
        with self._vm().in_costless_state() as state:
            return int(binary_gas_search(state, self._spoofed(call), tolerance=1))

    # -- going back -- #

    def snapshot(self) -> int:
        """Keep the chain as it is now; return a number for `revert`."""
        self._snapshots.append((dict(self._kv), self._chain.header))
        return len(self._snapshots) - 1

    def revert(self, snapshot: int) -> None:
        """Go back to a snapshot; it and all later ones are used up.

        Raises: ConfigError: there is no such snapshot.
        """
        if not 0 <= snapshot < len(self._snapshots):
            raise ConfigError(f"snapshot {snapshot} is not one of {len(self._snapshots)} kept")
        kv, header = self._snapshots[snapshot]
        del self._snapshots[snapshot:]
        self._kv.clear()
        self._kv.update(kv)
        self._chain = self._chain_class(AtomicDB(MemoryDB(self._kv)), header)

    # -- inside -- #

    def _vm(self, header: BlockHeaderAPI | None = None) -> AgentVM:
        """Return a VM of its own for a header, that of the next block where None is given."""
        vm = self._chain.get_vm(self._next_header(None) if header is None else header)
        assert isinstance(vm, AgentVM)  # noqa: S101 - the only one an `AgentChain` has
        return vm

    def _execute(self, block: BlockAPI, watch: Watch | None = None) -> MinedBlock:
        """Execute the transactions of a block; what its header says of their results is not read.

        Mining and importing are this one function: a block's own work, such as the contract that
        keeps parents' hashes, is then done in both.
        """
        vm = self._vm(self._chain.create_header_from_parent(self.head))
        done: list[tuple[ReceiptAPI, ComputationAPI]] = []

        def tell(
            transaction: SignedTransactionAPI, receipt: ReceiptAPI, computation: ComputationAPI
        ) -> None:
            done.append((receipt, computation))
            if watch is not None:
                watch(transaction, receipt, computation)

        vm.watch = tell
        result = vm.import_block(block)
        return MinedBlock(
            block=result.block,
            receipts=tuple(receipt for receipt, _ in done),
            computations=tuple(computation for _, computation in done),
            witness=result.meta_witness,
        )

    def _persist(self, block: BlockAPI) -> None:
        self._chain.persist_block(block)
        self._chain.header = self._chain.create_header_from_parent(block.header)

    def _head_state(self) -> StateAPI:
        return self._vm().state

    def _next_header(self, timestamp_seconds: int | None) -> BlockHeaderAPI:
        header = self._chain.create_header_from_parent(self.head)
        if timestamp_seconds is None:
            timestamp_seconds = self.head.timestamp + 1
        if timestamp_seconds <= self.head.timestamp:
            raise ConfigError(
                f"timestamp {timestamp_seconds}: must be after the parent's {self.head.timestamp}"
            )
        return header.copy(timestamp=timestamp_seconds, gas_limit=self.config.block_gas_limit)

    def _spoofed(self, call: Call) -> SignedTransactionAPI:
        unsigned = self.unsigned_transaction(call, gas_price_wei=0)
        return SpoofTransaction(unsigned, from_=call.sender)  # type: ignore[return-value]


def _executor(config: ChainConfig, models: Mapping[str, LanguageModel]) -> Executor | None:
    wanted = {profile.name for profile in config.models}
    if wanted != set(models):
        raise ConfigError(
            f"the chain's models are {sorted(wanted)}, but {sorted(models)} were given to answer"
        )
    if not config.models:
        return None
    pairs = [(profile, models[profile.name]) for profile in config.models]
    for profile, model in pairs:
        facts = model.profile_facts if isinstance(model, Described) else None
        if facts is not None:
            check_fits(config, profile, facts)
    return Executor(pairs, record=record_inference)


def _genesis_accounts(
    config: ChainConfig, accounts: Mapping[Address, GenesisAccount]
) -> Mapping[Address, GenesisAccount]:
    if not config.models:
        return dict(accounts)
    given = accounts.get(EXECUTOR_ADDRESS, GenesisAccount())  # It may have a balance.
    return {**accounts, EXECUTOR_ADDRESS: replace(given, nonce=1, code=EXECUTOR_CODE)}


def _genesis_state(accounts: Mapping[Address, GenesisAccount]) -> AccountState:
    return {
        address: AccountDetails(
            balance=account.balance_wei,
            nonce=account.nonce,
            code=account.code,
            storage=dict(account.storage),
        )
        for address, account in accounts.items()
    }

"""Recording of a chain as a fixture, and opening a fixture as a chain at the head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import rlp
from eth.vm.forks.cancun.constants import BEACON_ROOTS_ADDRESS, HISTORY_BUFFER_LENGTH
from eth.vm.forks.prague.constants import HISTORY_SERVE_WINDOW, HISTORY_STORAGE_ADDRESS

from pyevm_agents import __version__
from pyevm_agents.chain import Chain
from pyevm_agents.chain.database import FORK_STATE_KEY, generations_key, patched_root_key
from pyevm_agents.chain.inference_log import ReplayModel, decode_generations
from pyevm_agents.chain.transactions import is_impersonated
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import FixtureError
from pyevm_agents.models.fakes.recorded import Exchange, RecordingModel
from pyevm_agents.recordings.comparison import summarize_transaction
from pyevm_agents.recordings.fixture import (
    Fixture,
    RecordedBlock,
    RecordedStep,
    RecordedTransaction,
)
from pyevm_agents.recordings.fork_record import ForkRecorder
from pyevm_agents.recordings.generation_codec import normalize_exchange
from pyevm_agents.recordings.replay import (
    Replay,
    build_recorded_models,
    open_numeric_models,
)
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from eth.abc import BlockHeaderAPI, ComputationAPI, ReceiptAPI, SignedTransactionAPI
    from eth_typing import Address

    from precompiles.language_model import LanguageModel
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.chain import GenesisAccount, MinedBlock


@runtime_checkable
class HasFile(Protocol):
    """A numeric model that has the bytes of the file."""

    @property
    def data(self) -> bytes:
        """The file."""
        ...


TOOL = f"pyevm-agents {__version__}"


def record_chain(chain: Chain, *, name: str, comment: str) -> Fixture:
    """Record a chain as a fixture, from genesis or the fork block to the head.

    The blocks are executed again on a separate chain with the same models; cached generations cost
    nothing. The chain itself is only read.

    Raises: BlockError: a block gives different results the second time: a model is not
            deterministic. FixtureError: the state contains accounts or slots that no block read,
            a fork's reads are too large, or a numeric model has no file. EngineFault: the engine
            failed.
    """
    return _record(_ChainRecorder(chain, chain.models), name, comment)


def record_mined_blocks(  # noqa: PLR0913 - keyword arguments
    chain: Chain,
    last_number: int,
    *,
    name: str,
    comment: str,
    on_block: Callable[[int], None] | None = None,
    on_end: Callable[[Chain], None] | None = None,
) -> Fixture:
    """Record a chain up to a block with the generations that are stored with the blocks.

    No model runs: another model or script that was set since changes nothing.

    Input:
        last_number: the number of the last block to record.
        on_block: called with the number of each block before execution.
        on_end: called with a copy of the chain up to the last block. The fixture of a fork has the
            callback's reads of the fork block's state, too.

    Raises:
        FixtureError: accounts were changed between blocks, or a transaction has no signature; and
            as `record_chain`.
        HeaderNotFound: blocks were removed in the meantime.
        BlockError, RuleError: a block breaks a rule of the parent, or was replaced.
    """
    _require_recordable(chain, last_number)
    entries = _iter_stored_generations(chain, last_number)
    models = {name: ReplayModel(model, entries) for name, model in chain.models.items()}
    return _record(_ChainRecorder(chain, models, last_number, on_block), name, comment, on_end)


def _record(
    recorder: _ChainRecorder,
    name: str,
    comment: str,
    on_end: Callable[[Chain], None] | None = None,
) -> Fixture:
    """Record all blocks of a recorder as a fixture, and replay the fixture."""
    blocks = recorder.record_blocks()
    post = recorder.collect_state()
    if on_end is not None:
        on_end(recorder.chain)
    fork = None if recorder.fork is None else recorder.fork.finish()
    fixture = Fixture(
        name=name,
        comment=comment,
        tool=TOOL,
        config=recorder.source.config,
        genesis=rlp.encode(recorder.source.block(0)) if fork is None else b"",
        pre=dict(recorder.source.genesis_accounts),
        fork=fork,
        blocks=blocks,
        steps=tuple(recorder.steps),
        post=post,
        numeric_files={
            name: _get_file(name, each) for name, each in recorder.source.numeric_models.items()
        },
    )
    Replay(fixture, numeric_models=recorder.source.numeric_models).finish()
    return fixture


def _get_file(name: str, model: NumericModel) -> bytes:
    if not isinstance(model, HasFile):
        raise FixtureError(
            f"numeric model {name}: has no file that a recording could contain; open it with "
            "`pyevm_agents.models.numeric.NumericFile`"
        )
    return model.data


def _require_recordable(chain: Chain, last_number: int) -> None:
    """Check that nothing but transactions changed a chain up to a block.

    Raises: FixtureError: something else did.
    """
    start = chain.rows.get(FORK_STATE_KEY)
    for number in range(chain.first_number + 1, last_number + 1):
        block = chain.block(number)
        if chain.rows.get(patched_root_key(block.hash), start) != start:
            raise FixtureError(
                f"accounts were changed before block {number} without a transaction "
                "(anvil_setBalance, anvil_setCode and the like): a recorded chain has "
                "transactions alone"
            )
        if any(is_impersonated(transaction) for transaction in block.transactions):
            raise FixtureError(
                f"block {number} has a transaction of an impersonated account: a recorded chain "
                "has signed transactions alone"
            )


def _iter_stored_generations(chain: Chain, last_number: int) -> Iterator[Any]:
    """Yield the entries of all blocks up to one, in the order of execution."""
    for number in range(chain.first_number + 1, last_number + 1):
        row = chain.rows.get(generations_key(chain.header(number).hash))
        if row is not None:
            yield from decode_generations(row)


def record_state(chain: Chain) -> dict[Address, GenesisAccount]:
    """Return all accounts of a chain's head, for the genesis of another chain.

    Raises: as `record_chain`; FixtureError also for a fork, which does not have all accounts.
    """
    if chain.fork_block is not None:
        raise FixtureError("the state of a fork: accounts that it did not read are missing")
    recorder = _ChainRecorder(chain, chain.models)
    recorder.record_blocks()
    return recorder.collect_state()


def open_chain(
    fixture: Fixture,
    models: Mapping[str, LanguageModel] | None = None,
    *,
    numeric_models: Mapping[str, NumericModel] | None = None,
) -> Chain:
    """Open a fixture's chain at the head, after a check, ready for more blocks.

    Recorded blocks are replayed without a model. Later requests go to `models`, by the names in the
    configuration; without models, a request that is not recorded is an `EngineFault`. Numeric
    models compute again: `numeric_models`, or else the fixture's files.

    Raises: ConfigError: a model's digest or build differs from genesis; omit `models` to replay.
            MismatchError: the blocks' results differ from the fixture.
    """
    recorded = build_recorded_models(fixture, models)
    return Replay(fixture, recorded, numeric_models=numeric_models).finish()


def mine_again(
    fixture: Fixture,
    config: ChainConfig,
    models: Mapping[str, LanguageModel] | None = None,
    *,
    numeric_models: Mapping[str, NumericModel] | None = None,
) -> Chain:
    """Mine a fixture's transactions again, on the genesis accounts; return the chain.

    For `record_chain`, after a change of rules, model or engine.

    Input:  the configuration; a model for each name there, or None for the recorded generations;
        the numeric models, or None to open the fixture's files.
    Raises: ConfigError: a model does not match the configuration. FixtureError: a transaction is
        invalid under the configuration. EngineFault: the engine failed.
    """
    answering = build_recorded_models(fixture) if models is None else models
    chain = Chain(
        config,
        answering,
        numeric_models=open_numeric_models(fixture) if numeric_models is None else numeric_models,
        accounts=fixture.pre,
        fork=fixture.fork,
    )
    for number, recorded in enumerate(fixture.blocks, start=fixture.first_number + 1):
        block = recorded.block
        try:
            chain.mine(block.transactions, timestamp_seconds=block.header.timestamp)
        except RuleError as error:
            raise FixtureError(f"block {number} can't be mined again: {error}") from error
    return chain


class _ChainRecorder:
    """Executes a chain's blocks again; records generations, and which accounts and slots exist."""

    def __init__(
        self,
        chain: Chain,
        models: Mapping[str, LanguageModel],
        last_number: int | None = None,
        on_block: Callable[[int], None] | None = None,
    ) -> None:
        self.source = chain
        self._last = chain.head.block_number if last_number is None else last_number
        self._on_block = on_block
        self._log: list[Exchange] = []
        recording = {
            name: RecordingModel(model, name=name, log=self._log) for name, model in models.items()
        }
        self.fork = None if chain.fork_block is None else ForkRecorder(chain.fork_block)
        self.chain = Chain(
            chain.config,
            recording,
            numeric_models=chain.numeric_models,
            accounts=chain.genesis_accounts,
            fork=self.fork,
        )
        self._seen: dict[Address, set[int]] = {
            address: set(account.storage) for address, account in chain.genesis_accounts.items()
        }
        self.steps: list[RecordedStep] = []

    def record_blocks(self) -> tuple[RecordedBlock, ...]:
        """Execute and record all blocks."""
        first = self.source.first_number + 1
        return tuple(self._record_block(number) for number in range(first, self._last + 1))

    def _record_block(self, number: int) -> RecordedBlock:
        """Execute and record the next block."""
        transactions: list[RecordedTransaction] = []

        def watch(
            transaction: SignedTransactionAPI, receipt: ReceiptAPI, computation: ComputationAPI
        ) -> None:
            del computation
            gas_before = sum(record.gas_used for record in transactions)
            self.steps += (
                RecordedStep(
                    block=number,
                    transaction=len(transactions),
                    step=index,
                    exchange=normalize_exchange(exchange),
                )
                for index, exchange in enumerate(self._log)
            )
            self._log.clear()
            transactions.append(summarize_transaction(transaction, receipt, gas_before))

        if self._on_block is not None:
            self._on_block(number)
        encoded = rlp.encode(self.source.block(number))
        self._track_accounts(self.chain.import_block(encoded, watch=watch))
        return RecordedBlock(encoded=encoded, transactions=tuple(transactions))

    def collect_state(self) -> dict[Address, GenesisAccount]:
        """Return all accounts, checked against the state root; of a fork, those that were read.

        Raises: FixtureError: the state contains accounts or slots that no block read.
        """
        seen_accounts = {
            address: self.chain.account(address, sorted(slots))
            for address, slots in sorted(self._seen.items())
        }
        accounts = {
            address: account for address, account in seen_accounts.items() if account is not None
        }
        if self.fork is not None:
            return accounts
        root = Chain(ChainConfig(), accounts=accounts).head.state_root
        if root != self.chain.head.state_root:
            raise FixtureError(
                f"the {len(accounts)} accounts that the blocks read have the state root "
                f"0x{root.hex()}, the chain's is 0x{self.chain.head.state_root.hex()}: accounts "
                "or slots were written that no block read; this chain can't be recorded"
            )
        return accounts

    def _track_accounts(self, mined: MinedBlock) -> None:
        for address in mined.witness.accounts_queried:
            slots = self._seen.setdefault(address, set())
            slots |= mined.witness.get_slots_queried(address)
        for address, slot in _list_system_slots(mined.block.header):
            self._seen.setdefault(address, set()).add(slot)


def _list_system_slots(header: BlockHeaderAPI) -> list[tuple[Address, int]]:
    """Return the slots that a block's system calls write, which no witness has.

    Source: EIP-2935, EIP-4788.
    """
    time_slot = header.timestamp % HISTORY_BUFFER_LENGTH
    return [
        (HISTORY_STORAGE_ADDRESS, (header.block_number - 1) % HISTORY_SERVE_WINDOW),
        (BEACON_ROOTS_ADDRESS, time_slot),
        (BEACON_ROOTS_ADDRESS, time_slot + HISTORY_BUFFER_LENGTH),
    ]

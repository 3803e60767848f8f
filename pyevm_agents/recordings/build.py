"""Recording of a chain as a fixture, and opening a fixture as a chain at its head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import rlp
from eth_utils import ValidationError

from pyevm_agents import __version__
from pyevm_agents.chain import Chain
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import ComputationAPI, ReceiptAPI, SignedTransactionAPI
    from eth_typing import Address

    from precompiles.language_model import LanguageModel
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.chain import GenesisAccount, MinedBlock


@runtime_checkable
class HasFile(Protocol):
    """A numeric model that has the bytes of its file."""

    @property
    def data(self) -> bytes:
        """The file."""
        ...


TOOL = f"pyevm-agents {__version__}"


def record_chain(chain: Chain, *, name: str, comment: str) -> Fixture:
    """Record a chain as a fixture, from genesis or the fork block to its head.

    The blocks are executed again on a separate chain with the same models; cached generations cost
    nothing. The chain itself is only read.

    Raises: BlockError: a block gives different results the second time: a model is not
            deterministic. FixtureError: the state contains accounts or slots that no block read,
            a fork's reads are too large, or a numeric model has no file. EngineFault: the engine
            failed.
    """
    recorder = _ChainRecorder(chain)
    blocks = recorder.record_blocks()
    post = recorder.collect_state()
    fork = None if recorder.fork is None else recorder.fork.finish()
    fixture = Fixture(
        name=name,
        comment=comment,
        tool=TOOL,
        config=chain.config,
        genesis=rlp.encode(chain.block(0)) if fork is None else b"",
        pre=dict(chain.genesis_accounts),
        fork=fork,
        blocks=blocks,
        steps=tuple(recorder.steps),
        post=post,
        numeric_files={name: _get_file(name, each) for name, each in chain.numeric_models.items()},
    )
    Replay(fixture, numeric_models=chain.numeric_models).finish()
    return fixture


def _get_file(name: str, model: NumericModel) -> bytes:
    if not isinstance(model, HasFile):
        raise FixtureError(
            f"numeric model {name}: has no file that a recording could contain; open it with "
            "`pyevm_agents.models.numeric.NumericFile`"
        )
    return model.data


def record_state(chain: Chain) -> dict[Address, GenesisAccount]:
    """Return all accounts of a chain's head, for the genesis of another chain.

    Raises: as `record_chain`; FixtureError also for a fork, which does not have all accounts.
    """
    if chain.fork_block is not None:
        raise FixtureError("the state of a fork: accounts that it did not read are missing")
    recorder = _ChainRecorder(chain)
    recorder.record_blocks()
    return recorder.collect_state()


def open_chain(
    fixture: Fixture,
    models: Mapping[str, LanguageModel] | None = None,
    *,
    numeric_models: Mapping[str, NumericModel] | None = None,
) -> Chain:
    """Open a fixture's chain at its head, after checking it, ready for more blocks.

    Recorded blocks are replayed without a model. Later requests go to `models`, by the names in the
    configuration; without them, a request that is not recorded is an `EngineFault`. Numeric models
    compute again: `numeric_models`, or else the fixture's files.

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
    """Mine a fixture's transactions again, on its genesis accounts; return the chain.

    For `record_chain`, after a change of rules, model or engine.

    Input:  the configuration; a model for each of its names, or None for the recorded generations;
            its numeric models, or None to open the fixture's files.
    Raises: ConfigError: a model does not match the configuration. FixtureError: a transaction is
            invalid under it. EngineFault: the engine failed.
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
        except ValidationError as error:
            raise FixtureError(f"block {number} can't be mined again: {error}") from error
    return chain


class _ChainRecorder:
    """Executes a chain's blocks again; records generations, and which accounts and slots exist."""

    def __init__(self, chain: Chain) -> None:
        self._source = chain
        self._log: list[Exchange] = []
        recording = {
            name: RecordingModel(model, name=name, log=self._log)
            for name, model in chain.models.items()
        }
        self.fork = None if chain.fork_block is None else ForkRecorder(chain.fork_block)
        self._chain = Chain(
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
        """Execute all blocks and record them."""
        first, head = self._source.first_number, self._source.head.block_number
        return tuple(self._record_block(number) for number in range(first + 1, head + 1))

    def _record_block(self, number: int) -> RecordedBlock:
        """Execute the next block and record it."""
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

        encoded = rlp.encode(self._source.block(number))
        self._track_accounts(self._chain.import_block(encoded, watch=watch))
        return RecordedBlock(encoded=encoded, transactions=tuple(transactions))

    def collect_state(self) -> dict[Address, GenesisAccount]:
        """Return all accounts, checked against the state root; of a fork, those that were read.

        Raises: FixtureError: the state contains accounts or slots that no block read.
        """
        seen_accounts = {
            address: self._chain.account(address, sorted(slots))
            for address, slots in sorted(self._seen.items())
        }
        accounts = {
            address: account for address, account in seen_accounts.items() if account is not None
        }
        if self.fork is not None:
            return accounts
        root = Chain(ChainConfig(), accounts=accounts).head.state_root
        if root != self._chain.head.state_root:
            raise FixtureError(
                f"the {len(accounts)} accounts that the blocks read have the state root "
                f"0x{root.hex()}, the chain's is 0x{self._chain.head.state_root.hex()}: accounts "
                "or slots were written that no block read; this chain can't be recorded"
            )
        return accounts

    def _track_accounts(self, mined: MinedBlock) -> None:
        for address in mined.witness.accounts_queried:
            slots = self._seen.setdefault(address, set())
            slots |= mined.witness.get_slots_queried(address)

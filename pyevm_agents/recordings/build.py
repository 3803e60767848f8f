"""From a chain to its fixture, and back to a chain that goes on where the fixture ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from pyevm_agents.recordings.generation_codec import normalize_exchange
from pyevm_agents.recordings.replay import Replay, build_recorded_models

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import ComputationAPI, ReceiptAPI, SignedTransactionAPI
    from eth_typing import Address

    from precompiles.language_model import LanguageModel
    from pyevm_agents.chain import GenesisAccount, MinedBlock

TOOL = f"pyevm-agents {__version__}"


def record_chain(chain: Chain, *, name: str, comment: str) -> Fixture:
    """Return the fixture of a chain, from genesis to its head.

    Its blocks are executed again on a chain of their own, on its models: what they remember costs
    nothing. The chain itself is only read.

    Raises: BlockError: a block gives other results the second time: a model is not deterministic.
            FixtureError: an account was not seen that the state holds. EngineFault: a model failed.
    """
    recorder = _ChainRecorder(chain)
    blocks = tuple(
        recorder.record_block(number) for number in range(1, chain.head.block_number + 1)
    )
    fixture = Fixture(
        name=name,
        comment=comment,
        tool=TOOL,
        config=chain.config,
        genesis=rlp.encode(chain.block(0)),
        pre=dict(chain.genesis_accounts),
        blocks=blocks,
        steps=tuple(recorder.steps),
        post=recorder.collect_state(),
    )
    Replay(fixture).finish()
    return fixture


def record_state(chain: Chain) -> dict[Address, GenesisAccount]:
    """Return all accounts of a chain's head, for the genesis of another.

    Raises: as `record_chain`.
    """
    recorder = _ChainRecorder(chain)
    for number in range(1, chain.head.block_number + 1):
        recorder.record_block(number)
    return recorder.collect_state()


def open_chain(fixture: Fixture, models: Mapping[str, LanguageModel] | None = None) -> Chain:
    """Return a fixture's chain at its head, checked, ready for more blocks.

    Its past comes from the record, without a model. What comes after is answered by `models`, by
    the configuration's names; without them, what is not recorded is an `EngineFault`.

    Raises: ConfigError: a model is not the one of genesis, or of another build; leave `models` out
            to replay. MismatchError: the fixture's blocks do not do what it says.
    """
    return Replay(fixture, build_recorded_models(fixture, models)).finish()


def mine_again(
    fixture: Fixture, config: ChainConfig, models: Mapping[str, LanguageModel] | None = None
) -> Chain:
    """Return a chain of a fixture's genesis accounts and transactions, mined anew.

    For `record_chain`, where rules, model or engine are others than those of the fixture.

    Input:  the rules; a model for each name of theirs, None for what was recorded.
    Raises: ConfigError: a model does not fit them. FixtureError: a transaction that no block may
            hold under them. EngineFault: a model failed.
    """
    answering = build_recorded_models(fixture) if models is None else models
    chain = Chain(config, answering, accounts=fixture.pre)
    for number, recorded in enumerate(fixture.blocks, start=1):
        block = recorded.block
        try:
            chain.mine(block.transactions, timestamp_seconds=block.header.timestamp)
        except ValidationError as error:
            raise FixtureError(f"block {number} can't be mined anew: {error}") from error
    return chain


class _ChainRecorder:
    """Executes a chain's blocks again, and keeps what the state's trie does not tell."""

    def __init__(self, chain: Chain) -> None:
        self._source = chain
        self._log: list[Exchange] = []
        recording = {
            name: RecordingModel(model, name=name, log=self._log)
            for name, model in chain.models.items()
        }
        self._chain = Chain(chain.config, recording, accounts=chain.genesis_accounts)
        self._seen: dict[Address, set[int]] = {
            address: set(account.storage) for address, account in chain.genesis_accounts.items()
        }
        self.steps: list[RecordedStep] = []

    def record_block(self, number: int) -> RecordedBlock:
        """Execute the next block."""
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
        """Return all accounts, checked against the state root.

        Raises: FixtureError: the state holds something that no block asked for.
        """
        seen_accounts = {
            address: self._chain.account(address, sorted(slots))
            for address, slots in sorted(self._seen.items())
        }
        accounts = {
            address: account for address, account in seen_accounts.items() if account is not None
        }
        root = Chain(ChainConfig(), accounts=accounts).head.state_root
        if root != self._chain.head.state_root:
            raise FixtureError(
                f"the {len(accounts)} accounts that the blocks asked for have the root "
                f"0x{root.hex()}, the state's is 0x{self._chain.head.state_root.hex()}: something "
                "was written that nobody read; this chain can't be recorded"
            )
        return accounts

    def _track_accounts(self, mined: MinedBlock) -> None:
        for address in mined.witness.accounts_queried:
            slots = self._seen.setdefault(address, set())
            slots |= mined.witness.get_slots_queried(address)

"""Replay of a fixture: executes the blocks again, and compares the results.

py-evm validates every block; then transactions, steps and the final state are compared one by one,
and a difference has a place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address
from rlp import encode as rlp_encode

from precompiles.numeric_model import NumericFaultError
from precompiles.react import GrammarViolationError
from pyevm_agents.chain import Chain
from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import BlockError, ConfigError, EngineFault, FixtureError, RecordError
from pyevm_agents.models.fakes.recorded import RecordedModel, RecordingModel
from pyevm_agents.recordings.comparison import (
    MismatchError,
    check_exchange,
    check_prompt,
    check_transaction,
    find_account_difference,
    is_unanswered,
    quote_value,
)
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI, ReceiptAPI, SignedTransactionAPI

    from precompiles.language_model import LanguageModel
    from precompiles.numeric_model import NumericModel
    from pyevm_agents.models.fakes.recorded import Exchange
    from pyevm_agents.recordings.fixture import Fixture, RecordedTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedBlock:
    """A block whose results match the fixture."""

    number: int
    transactions: int
    steps: int
    """Number of agents' steps."""

    gas_used: int
    state_root: bytes


class Replay:
    """Executes a fixture's chain block by block."""

    def __init__(
        self,
        fixture: Fixture,
        models: Mapping[str, LanguageModel] | None = None,
        *,
        numeric_models: Mapping[str, NumericModel] | None = None,
    ) -> None:
        """Start at genesis, or at the recorded fork block.

        Input:  a model for each of the configuration's names; None for the recorded generations.
            The numeric models, which compute again; None to open the fixture's files.
        Raises: ConfigError: a model does not match the configuration. MismatchError: genesis
                differs. FixtureError: a recorded step is out of order or has an invalid place.
        """
        self.fixture = fixture
        self._log: list[Exchange] = []
        answering = build_recorded_models(fixture) if models is None else models
        self._models = {
            name: RecordingModel(model, name=name, log=self._log)
            for name, model in answering.items()
        }
        _check_places(fixture)
        self.chain = Chain(
            fixture.config,
            self._models,
            numeric_models=open_numeric_models(fixture)
            if numeric_models is None
            else numeric_models,
            accounts=fixture.pre,
            fork=fixture.fork,
        )
        self._check_genesis()

    def execute_blocks(self) -> Iterator[ReplayedBlock]:
        """Execute the blocks; yield each block that matches.

        Raises: MismatchError: the first difference. EngineFault: the engine failed.
        """
        for number, recorded in enumerate(self.fixture.blocks, start=self.fixture.first_number + 1):
            steps = self._execute(number, recorded.encoded, recorded.transactions)
            header = recorded.block.header
            yield ReplayedBlock(
                number=number,
                transactions=len(recorded.transactions),
                steps=steps,
                gas_used=header.gas_used,
                state_root=header.state_root,
            )
        self._check_post()

    def finish(self) -> Chain:
        """Execute all blocks; return the chain at the head.

        Raises: as `execute_blocks`.
        """
        for _ in self.execute_blocks():
            pass
        for model in self._models.values():
            model.is_recording = False
        return self.chain

    def _execute(self, number: int, encoded: bytes, recorded: Sequence[RecordedTransaction]) -> int:
        _check_number(number, encoded)
        self._log.clear()
        done: list[int] = []
        """Length of the log after each transaction."""

        def watch(
            transaction: SignedTransactionAPI, receipt: ReceiptAPI, computation: ComputationAPI
        ) -> None:
            del computation
            index, start = len(done), done[-1] if done else 0
            self._check_steps(number, index, self._log[start:])
            check_transaction(number, index, recorded, transaction, receipt)
            done.append(len(self._log))

        try:
            self.chain.import_block(encoded, watch=watch)
        except (BlockError, RuleError) as error:
            at = None if len(done) == len(recorded) else len(done)
            message = str(error).removeprefix(f"block {number}: ")
            raise MismatchError(message, (number,) if at is None else (number, at)) from error
        except (EngineFault, GrammarViolationError, NumericFaultError) as error:
            exchanges = self._log[done[-1] if done else 0 :]
            self._check_steps(number, len(done), exchanges, has_failed=True)
            raise self._locate_failure(number, len(done), exchanges, error) from error
        if len(done) != len(recorded):
            raise MismatchError(
                f"{len(recorded)} transactions are recorded, but the block has {len(done)}",
                (number,),
            )
        return len(self._log)

    def _locate_failure(
        self, block: int, transaction: int, exchanges: Sequence[Exchange], error: Exception
    ) -> MismatchError:
        """Locate the step at which a model, or the parser of the generation, failed."""
        step = len(exchanges)
        if isinstance(error, RecordError) and error.segments is not None:
            try:
                check_prompt(self.fixture.get_steps(block, transaction), step, error.segments)
            except MismatchError as mismatch:
                return mismatch
        elif exchanges and (
            isinstance(error, GrammarViolationError) or is_unanswered(exchanges[-1])
        ):
            step -= 1
        return MismatchError(str(error), (block, transaction, step))

    def _check_steps(
        self,
        block: int,
        transaction: int,
        exchanges: Sequence[Exchange],
        *,
        has_failed: bool = False,
    ) -> None:
        recorded = self.fixture.get_steps(block, transaction)
        for step, exchange in zip(recorded, exchanges, strict=False):
            check_exchange(step, exchange)
        if len(exchanges) > len(recorded) or (len(exchanges) < len(recorded) and not has_failed):
            first = min(len(exchanges), len(recorded))
            raise MismatchError(
                "the number of steps differs",
                (block, transaction, first),
                expected=f"{len(recorded)} steps",
                actual=f"{len(exchanges)} steps",
            )

    def _check_genesis(self) -> None:
        recorded, now = self.fixture.pre, self.chain.genesis_accounts
        for address in sorted(recorded.keys() | now.keys()):
            if recorded.get(address) != now.get(address):
                phrase, left, right = find_account_difference(
                    recorded.get(address), now.get(address)
                )
                raise MismatchError(
                    f"genesis: pre: account {to_checksum_address(address)} {phrase} from the "
                    "configuration's",
                    (0,),
                    expected=left,
                    actual=right,
                )
        if self.fixture.fork is not None:  # Its header has the hash of the configuration's origin.
            return
        computed = self.chain.block(0)
        if rlp_encode(computed) == self.fixture.genesis:
            return
        stated = decode_block(self.fixture.genesis)
        fields = computed.header.as_dict()
        for name, value in stated.header.as_dict().items():
            if fields[name] != value:
                raise MismatchError(
                    f"genesis: {name} differs: {_REASONS.get(name, 'config')} does not match "
                    "genesisRLP",
                    (0,),
                    expected=quote_value(value),
                    actual=quote_value(fields[name]),
                )
        raise MismatchError("genesis: its body is not empty", (0,))

    def _check_post(self) -> None:
        number = self.fixture.first_number + len(self.fixture.blocks)
        for address, recorded in self.fixture.post.items():
            account = self.chain.account(address, recorded.storage)
            if account != recorded:
                phrase, left, right = find_account_difference(recorded, account)
                raise MismatchError(
                    f"postState: account {to_checksum_address(address)} {phrase}",
                    (number,),
                    expected=left,
                    actual=right,
                )
        if self.fixture.fork is not None:  # The header of its last block has the overlay's root.
            return
        root = Chain(ChainConfig(), accounts=self.fixture.post).head.state_root
        if root != self.chain.head.state_root:
            raise MismatchError(
                "postState: accounts or slots are missing: the state root differs",
                (number,),
                expected=quote_value(root),
                actual=quote_value(self.chain.head.state_root),
            )


_REASONS: Mapping[object, str] = {"state_root": "pre", "extra_data": "config"}
"""Section of a fixture that a field of the genesis header depends on, if not `config`."""


def build_recorded_models(
    fixture: Fixture, fallbacks: Mapping[str, LanguageModel] | None = None
) -> dict[str, LanguageModel]:
    """Build models that replay a fixture's generations.

    Input:  models for requests that are not recorded, by the configuration's names, or None.
    Raises: ConfigError: two steps contradict each other, or a name is not in the configuration.
    """
    unknown = set(fallbacks or {}) - {profile.name for profile in fixture.config.models}
    if unknown:
        names = sorted(profile.name for profile in fixture.config.models)
        raise ConfigError(f"unknown models {sorted(unknown)}: the chain's models are {names}")
    return {
        profile.name: RecordedModel(
            (s.exchange for s in fixture.steps if s.exchange.model == profile.name),
            fallback=(fallbacks or {}).get(profile.name),
        )
        for profile in fixture.config.models
    }


def open_numeric_models(fixture: Fixture) -> dict[str, NumericModel]:
    """Open the numeric models of a fixture, from the fixture's files.

    Raises: ConfigError: this version can't read a file.
    """
    if not fixture.numeric_files:
        return {}
    from pyevm_agents.models.numeric import NumericFile  # noqa: PLC0415 - imports onnx and NumPy

    return {name: NumericFile(data) for name, data in fixture.numeric_files.items()}


def _check_places(fixture: Fixture) -> None:
    """Check that steps have valid places and are in order."""
    names = {profile.name for profile in fixture.config.models}
    before, first = (0, 0, 0), fixture.first_number
    for index, step in enumerate(fixture.steps):
        place = (step.block, step.transaction, step.step)
        following = (*before[:2], before[2] + 1)
        is_known = 1 <= step.block - first <= len(fixture.blocks) and step.transaction < len(
            fixture.get_block(step.block).transactions
        )
        if not is_known or not (place == following or (place > before and step.step == 0)):
            raise FixtureError(
                f"steps[{index}] is at block {step.block}, transaction {step.transaction}, step "
                f"{step.step}: the place does not exist, or is not the next one"
            )
        if step.exchange.model not in names:
            raise FixtureError(
                f"invalid steps[{index}].model {step.exchange.model!r}: must be one of "
                f"{sorted(names)}"
            )
        before = place


def _check_number(number: int, encoded: bytes) -> None:
    """Check that a block has the next number, before execution."""
    try:
        stated = decode_block(encoded).number
    except BlockError as error:
        raise MismatchError(str(error), (number,)) from error
    if stated != number:
        raise MismatchError(f"its RLP is of block {stated}", (number,))

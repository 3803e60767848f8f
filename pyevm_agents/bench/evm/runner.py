"""Measure the EVM yardsticks on our VM: the node's time for a block.

Each sample is a block of a case's transactions, mined as in the node: signatures are checked, code
runs, the state root and the block are built. The chain has no model, which affects no other code.
After each sample the chain is reset.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_typing import Address

from pyevm_agents.bench.evm.cases import CASES
from pyevm_agents.bench.measurement.budget import EVM_SHARE
from pyevm_agents.bench.measurement.intervals import estimate_median, scale_interval
from pyevm_agents.bench.measurement.results import OWN_VM, Yardstick
from pyevm_agents.bench.measurement.rounds import time_in_rounds, time_work
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_CHAIN_ID, ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI, DEVELOPMENT_KEY
from pyevm_agents.model_registry.profiles import build_numeric_profiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eth.abc import ComputationAPI

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.bench.evm.case import BenchTransaction, EvmCase
    from pyevm_agents.bench.measurement.rounds import BenchSettings
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.reports.number_format import Interval

BLOCK_GAS = 300_000_000
"""More gas than any case uses: the fullness of a block does not matter here."""

CASE_GAS = 250_000_000
GAS_PRICE_WEI = 10**11
"""Far above the base fee of the first blocks, here and on other development networks."""

NANOSECONDS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class EvmSample:
    """A mined block of a case."""

    gas: int
    seconds: float
    computations: tuple[ComputationAPI, ...]
    """Those of its transactions."""

    @property
    def outputs(self) -> tuple[bytes, ...]:
        """Return data of the transactions."""
        return tuple(bytes(each.output) for each in self.computations)


class EvmTestbed:
    """A chain with the contracts of some cases, and blocks of their transactions."""

    def __init__(
        self, cases: Sequence[EvmCase], numeric_models: Mapping[str, NumericModel] | None = None
    ) -> None:
        """Create the chain, with numeric models if there are any."""
        models = numeric_models or {}
        accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
        for case in cases:
            for address, code in case.codes.items():
                accounts[address] = GenesisAccount(code=code, nonce=1)
        config = ChainConfig(
            block_gas_limit=BLOCK_GAS, numeric_models=build_numeric_profiles(models)
        )
        self.chain = Chain(config, numeric_models=models, accounts=accounts)

    def sign_next(self, asks: Sequence[BenchTransaction]) -> list[bytes]:
        """Return the next transactions of the development account, signed."""
        return sign_transactions(asks, first_nonce=self.chain.nonce(DEVELOPMENT_ADDRESS))

    def mine(self, raw: Sequence[bytes]) -> MinedBlock:
        """Mine signed transactions as sent by a client."""
        builder = self.chain.transaction_builder
        return self.chain.mine([builder.decode(each) for each in raw])

    def sample(self, case: EvmCase, times: int) -> EvmSample:
        """Run a case `times` times in a block, then reset the chain."""
        snapshot = self.chain.snapshot()
        try:
            before = case.before(times)
            if before:
                _require_success(case, self.mine(self.sign_next(before)))
            raw = self.sign_next(case.build_transactions(times))
            mined: list[MinedBlock] = []
            seconds = time_work(lambda: mined.append(self.mine(raw)))
            _require_success(case, mined[0])
            return EvmSample(
                gas=_count_gas(case, mined[0]),
                seconds=seconds,
                computations=mined[0].computations,
            )
        finally:
            self.chain.revert(snapshot)

    def measure(self, case: EvmCase) -> EvmSample:
        """Take a sample of a case's repetitions, less the second sample."""
        whole = self.sample(case, case.times)
        if not case.taken_off:
            return whole
        part = self.sample(case, case.taken_off)
        return EvmSample(
            gas=whole.gas - part.gas,
            seconds=whole.seconds - part.seconds,
            computations=whole.computations,
        )


class EvmBench:
    """Cases on a chain of their own, in quick mode only those of a quick run, and their samples."""

    def __init__(self, setting: BenchSettings, cases: Sequence[EvmCase] = CASES) -> None:
        """Create the chain."""
        self._setting = setting
        self._cases = {case.name: case for case in cases if case.is_quick or not setting.is_quick}
        self._testbed = EvmTestbed(list(self._cases.values()))
        self._gas: dict[str, int] = {}
        self._seconds: dict[str, list[float]] = {name: [] for name in self._cases}

    def measure(self) -> None:
        """Time each case in each of the settings' rounds."""
        rounds = self._setting.rounds
        self._setting.observer.begin_part("EVM", len(self._cases) * (1 + rounds))
        for case in self._cases.values():
            # One untimed run: one-time reads and builds do not count.
            self._testbed.sample(case, 1)
            self._setting.observer.finish_step(case.title)
        time_in_rounds(self._setting, self.make_timers(self._cases), budget_share=EVM_SHARE)

    def make_timers(self, names: Iterable[str]) -> dict[str, Callable[[], float]]:
        """Return timers of the named cases."""
        return {name: partial(self._time, name) for name in names}

    def build_yardsticks(self) -> tuple[Yardstick, ...]:
        """Return the yardsticks of all samples.

        Raises: KeyError: there are no samples.
        """
        return tuple(
            Yardstick(
                name=name,
                title=case.title,
                vm=OWN_VM,
                gas=self._gas[name],
                seconds=tuple(self._seconds[name]),
                ns_per_gas=estimate_ns_per_gas(self._seconds[name], self._gas[name]),
                is_worst_case=case.is_worst_case,
            )
            for name, case in self._cases.items()
        )

    def _time(self, name: str) -> float:
        sample = self._testbed.measure(self._cases[name])
        self._gas[name] = sample.gas
        self._seconds[name].append(sample.seconds)
        return sample.seconds


def estimate_ns_per_gas(seconds: Sequence[float], gas: int) -> Interval:
    """Return the nanoseconds of a gas."""
    return scale_interval(estimate_median(seconds), NANOSECONDS / gas)


def sign_transactions(asks: Sequence[BenchTransaction], *, first_nonce: int) -> list[bytes]:
    """Return signed transactions of the development account, as sent by a client."""
    return [
        PragueTransactionBuilder.create_unsigned_transaction(
            nonce=first_nonce + index,
            gas_price=GAS_PRICE_WEI,
            gas=CASE_GAS if ask.gas is None else ask.gas,
            to=ask.to or Address(b""),
            value=ask.value_wei,
            data=ask.data,
        )
        .as_signed_transaction(DEVELOPMENT_KEY, chain_id=DEFAULT_CHAIN_ID)
        .encode()
        for index, ask in enumerate(asks)
    ]


def _count_gas(case: EvmCase, mined: MinedBlock) -> int:
    """Return the gas of a case: of whole transactions, or of their code alone."""
    if case.is_whole:
        return int(mined.block.header.gas_used)
    return sum(int(each.msg.gas) - each.get_gas_remaining() for each in mined.computations)


def _require_success(case: EvmCase, mined: MinedBlock) -> None:
    for computation in mined.computations:
        if computation.is_error:
            raise RuntimeError(f"the EVM's case {case.name} failed: {computation.error!r}")

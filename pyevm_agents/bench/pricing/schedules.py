"""Gas schedules for inference, published and our own, and a transaction's gas under each.

Published schedules came without measurements. The charges are known from the source. The time of
the work is computed from the fitted terms, for this model on this machine. That does not show the
speed of the model that a schedule's authors had in mind, but by how much a gas buys more of one
kind of work than of another.

The gas of a transaction under our own schedules is counts times prices, plus the EVM's own gas. The
executor charges nothing else: this equals the gas on a chain of that schedule. Tests compare it
with chains, for runs and for every attack, which is calibrated anew on each chain. Refunds stay the
same: a schedule changes no storage.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from precompiles.spec import DEFAULT_MAX_OUTPUT_TOKENS
from pyevm_agents.bench.inference.fits import find_longest_measured, index_coefficients
from pyevm_agents.bench.measurement.fit_result import NS
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.results import (
    BLOCK_GAS,
    REFERENCES,
    ScheduleAudit,
    ScheduleCost,
)
from pyevm_agents.bench.pricing.parity import build_parity_schedule
from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT, ChainConfig
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.display import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from precompiles.gas import GasSchedule
    from precompiles.language_model import ModelProfile
    from pyevm_agents.bench.measurement.results import MeasuredModel, Term, Yardstick
    from pyevm_agents.bench.measurement.usage import Usage
    from pyevm_agents.models import ProfileFacts

    Counts = NDArray[np.int64]
    GasFormula = Callable[[MeasuredModel, Counts, Counts, Counts, Counts], Counts]


METIS_TOKEN_GAS = 100
HANZO_CALL_GAS, HANZO_PROMPT_BYTE_GAS = 120_000, 30
LUX_CALL_GAS, LUX_TOKEN_GAS = 100_000, 10
CORTEX_OPERATIONS_OF_GAS = 20_000

OPERATIONS_OF_WEIGHT = 2
"""Operations per weight and token: a multiplication and an addition."""

LEAST_BYTES_OF_TOKEN = 1
"""A text without words of the vocabulary has a token for each byte."""

FAILED_CALL_GAS = 130
"""Gas of a call that gets no gas: CALL to a warm account 100, seven pushes 21, POP 2, and its share
of a loop. The prompt lies in memory.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSchedule:
    """A published price of inference."""

    name: str
    title: str
    formula: str
    source: str
    gas_formula: GasFormula
    """Gas of a model, calls, prompt bytes, prompt tokens and output tokens."""

    is_charged_after: bool = False
    """Whether the work is done before the gas is found to be too little."""


def _metis_gas(
    _model: MeasuredModel, _calls: Counts, _bytes: Counts, prompt: Counts, output: Counts
) -> Counts:
    return METIS_TOKEN_GAS * (prompt + output)


def _hanzo_gas(
    _model: MeasuredModel, calls: Counts, bytes_: Counts, _prompt: Counts, _out: Counts
) -> Counts:
    return HANZO_CALL_GAS * calls + HANZO_PROMPT_BYTE_GAS * bytes_


def _lux_gas(
    _model: MeasuredModel, calls: Counts, _bytes: Counts, prompt: Counts, output: Counts
) -> Counts:
    return LUX_CALL_GAS * calls + LUX_TOKEN_GAS * (prompt + output)


def _cortex_gas(
    model: MeasuredModel, _calls: Counts, _bytes: Counts, prompt: Counts, output: Counts
) -> Counts:
    operations = OPERATIONS_OF_WEIGHT * model.parameters * (prompt + output)
    return operations // CORTEX_OPERATIONS_OF_GAS


SCHEDULES = (
    PublishedSchedule(
        name="metis",
        title="Metis SDK",
        formula="100 gas a token of prompt and output, compared with the gas left afterwards",
        source="github.com/MetisProtocol/metis-sdk, crates/vm/src/inference.rs",
        gas_formula=_metis_gas,
        is_charged_after=True,
    ),
    PublishedSchedule(
        name="hanzo",
        title="Hanzo VM",
        formula="120,000 gas a call + 30 a prompt byte; output is free",
        source="crate hanzo-vm 1.1.22, src/precompiles.rs",
        gas_formula=_hanzo_gas,
    ),
    PublishedSchedule(
        name="lux",
        title="Lux LP-5601",
        formula="100,000 gas a call + 10 a token; we count prompt and output, as it does not say",
        source="github.com/luxfi/lps, LP-5601 (a draft), InferenceBase and InferencePerTok",
        gas_formula=_lux_gas,
    ),
    PublishedSchedule(
        name="cortex",
        title="Cortex",
        formula="operations / 20,000; we read it as 2 operations a weight and token",
        source="github.com/CortexFoundation/CortexTheseus, core/vm/gas_table_infer.go and "
        "params/protocol_params.go (for vision models, by a fixed count of operations)",
        gas_formula=_cortex_gas,
    ),
)


def compute_published_costs(usage: Usage, model: MeasuredModel) -> tuple[ScheduleCost, ...]:
    """Return a transaction's gas under each published schedule, including the EVM's own gas.

    All bytes of the executor's input count as the prompt's; none of the schedules knows warm
    tokens.
    """
    prompt = usage.cold_tokens + usage.warm_tokens
    counts = [
        np.array(each, dtype=np.int64)
        for each in (usage.calls, usage.input_bytes, prompt, usage.output_tokens)
    ]
    return tuple(
        ScheduleCost(
            schedule=schedule.name, gas=usage.evm_gas + int(schedule.gas_formula(model, *counts))
        )
        for schedule in SCHEDULES
    )


def audit_published_schedules(
    terms: Sequence[Term], model: MeasuredModel, *, block_gas: int = DEFAULT_BLOCK_GAS_LIMIT
) -> tuple[ScheduleAudit, ...]:
    """Return every schedule with the call that takes longest per gas.

    The search covers all calls that the context and a block admit.

    Raises: KeyError: a term is missing.
    """
    return tuple(_audit_schedule(schedule, terms, model, block_gas) for schedule in SCHEDULES)


def _audit_schedule(
    schedule: PublishedSchedule, terms: Sequence[Term], model: MeasuredModel, block_gas: int
) -> ScheduleAudit:
    output_most = min(DEFAULT_MAX_OUTPUT_TOKENS, max(1, model.context_tokens // 4))
    prompt = np.arange(1, model.context_tokens - output_most + 1, dtype=np.int64)[:, None]
    output = np.arange(1, output_most + 1, dtype=np.int64)[None, :]
    seconds = predict_seconds_of_calls(terms, prompt, output)
    bytes_ = prompt * LEAST_BYTES_OF_TOKEN
    gas = np.broadcast_to(
        schedule.gas_formula(model, np.ones_like(prompt), bytes_, prompt, output), seconds.shape
    )
    if schedule.is_charged_after:
        gas = np.full_like(gas, FAILED_CALL_GAS)
    ns_per_gas = np.where(gas <= block_gas, seconds / np.maximum(gas, 1) * NS, -1.0)
    row, column = np.unravel_index(int(ns_per_gas.argmax()), ns_per_gas.shape)
    worst, longest = float(ns_per_gas[row, column]), int(prompt[row, 0])
    use = (
        f"a prompt of {pluralize(longest, 'token')} and {int(output[0, column])} of output: "
        f"{float(seconds[row, column]):.1f} s for {int(gas[row, column]):,} gas"
    )
    if schedule.is_charged_after:
        use += ", as it is given none and fails when all is done"
    measured = find_longest_measured(terms)
    if longest > measured:
        use += f" (computed: prompts were measured to {measured:,} tokens)"
    return ScheduleAudit(
        name=schedule.name,
        title=schedule.title,
        formula=schedule.formula,
        source=schedule.source,
        worst_use=use,
        worst_ns_per_gas=worst,
        seconds_per_30m_gas=worst * BLOCK_GAS / NS,
    )


def predict_seconds_of_calls(
    terms: Sequence[Term], prompt: NDArray[np.int64], output: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the seconds of calls with cold prompts and sampled outputs of the given lengths.

    As `fits.predict_seconds`, for arrays: only the model's own work and the call's.

    Raises: KeyError: a term is missing.
    """
    of = index_coefficients(terms)
    read = of["cold"]["b"] * prompt + of["cold"]["c"] * prompt.astype(np.float64) ** 2
    generation = (output - 1) * (of["sampled"]["a"] + of["sampled"]["b"] * (prompt + output / 2))
    return np.asarray(sum(of["call"].values()) + read + generation, dtype=np.float64)


DEFAULT = "default"


def build_own_schedules(
    facts: ProfileFacts,
    model: MeasuredModel,
    terms: Sequence[Term],
    yardsticks: Sequence[Yardstick],
) -> tuple[NamedSchedule, ...]:
    """Return the default schedule, and those at parity if terms and yardsticks are known."""
    config = ChainConfig(
        models=(build_measured_profile(facts),), profile_fingerprint=facts.fingerprint
    )
    files = {DEFAULT: ScheduleFile()}
    if terms and yardsticks:
        for reference in REFERENCES:
            files[f"parity-{reference}"] = build_parity_schedule(
                terms, yardsticks, reference, model
            )
    applied = {name: file.apply_to(config) for name, file in files.items()}
    return tuple(
        NamedSchedule(name=name, schedule=rules.schedule, profile=rules.models[0])
        for name, rules in applied.items()
    )


def describe_schedule(prices: NamedSchedule) -> str:
    """Return a schedule's prices in words."""
    profile = prices.profile
    tokens = (
        f"{profile.cold_prompt_token_gas:,} a cold token, {profile.warm_prompt_token_gas:,} a warm "
        f"one, {profile.output_token_gas:,} an output token"
    )
    others = (
        f"{gas:,} {name.removesuffix('_gas').replace('_', ' ')}"
        for name, gas in asdict(prices.schedule).items()
    )
    return f"{tokens}; {', '.join(others)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSchedule:
    """A schedule with a model's token prices, under the name in a report."""

    name: str
    schedule: GasSchedule
    profile: ModelProfile

    def compute_cost(self, usage: Usage) -> ScheduleCost:
        """Return the gas of a transaction."""
        return ScheduleCost(
            schedule=self.name, gas=transaction_gas(usage, self.schedule, self.profile)
        )


def executor_gas(usage: Usage, schedule: GasSchedule, profile: ModelProfile) -> int:
    """Return the executor's charge for its own terms."""
    return (
        usage.calls * schedule.executor_base_gas
        + usage.input_bytes * schedule.input_byte_gas
        + schedule.grammar_gas(usage.tools, usage.parameters)
        + usage.cold_tokens * profile.cold_prompt_token_gas
        + usage.warm_tokens * profile.warm_prompt_token_gas
        + usage.output_tokens * profile.output_token_gas
    )


def transaction_gas(usage: Usage, schedule: GasSchedule, profile: ModelProfile) -> int:
    """Return the gas of a transaction: the EVM's and the executor's."""
    return usage.evm_gas + executor_gas(usage, schedule, profile)


def add_evm_gas(usage: Usage, gas_used: int, schedule: GasSchedule, profile: ModelProfile) -> Usage:
    """Return the counts of a transaction with the gas that the executor did not charge.

    Input:
        gas_used: of the receipt, on a chain with that schedule.

    Raises: ValueError: less than the executor's charge.
    """
    evm_gas = gas_used - executor_gas(usage, schedule, profile)
    if evm_gas < 0:
        raise ValueError(
            f"{gas_used} gas were used, {-evm_gas} less than the executor charges for {usage}; "
            "pass the schedule and the prices of the chain that it ran on"
        )
    return replace(usage, evm_gas=evm_gas)


def compute_costs(usage: Usage, prices: Iterable[NamedSchedule]) -> tuple[ScheduleCost, ...]:
    """Return the gas of a transaction under each schedule."""
    return tuple(each.compute_cost(usage) for each in prices)

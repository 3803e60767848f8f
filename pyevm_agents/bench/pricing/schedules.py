"""Schedules that others published for inference, and what an attacker gets from them.

None of them came with a measurement. What each asks is known from its source; what its work takes
here is computed from the fitted terms, for this model on this machine: not as long as the model
that its authors had in mind takes, but by how much one gas buys more of one thing than of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from precompiles.spec import DEFAULT_MAX_OUTPUT_TOKENS
from pyevm_agents.bench.inference.fits import coefficients, longest_measured
from pyevm_agents.bench.measurement.fit_result import NS
from pyevm_agents.bench.measurement.results import BLOCK_GAS, Cost, Published
from pyevm_agents.config import DEFAULT_BLOCK_GAS_LIMIT
from pyevm_agents.display import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pyevm_agents.bench.measurement.results import Model, Term
    from pyevm_agents.bench.measurement.usage import Usage

    Counts = NDArray[np.int64]
    Asked = Callable[[Model, Counts, Counts, Counts, Counts], Counts]

METIS_TOKEN_GAS = 100
HANZO_CALL_GAS, HANZO_PROMPT_BYTE_GAS = 120_000, 30
LUX_CALL_GAS, LUX_TOKEN_GAS = 100_000, 10
CORTEX_OPERATIONS_OF_GAS = 20_000

OPERATIONS_OF_WEIGHT = 2
"""Of a token: it is multiplied by every weight, and the products are added up."""

LEAST_BYTES_OF_TOKEN = 1
"""A text that a vocabulary has no words for is a token for each byte."""

FAILED_CALL_GAS = 130
"""Gas of a call that is given none: CALL to a warm account 100, seven pushes 21, POP 2, and its
share of a loop. The prompt lies in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedSchedule:
    """What somebody asks for inference."""

    name: str
    title: str
    formula: str
    source: str
    asked: Asked
    """Gas of a model, calls, prompt bytes, prompt tokens and output tokens."""

    is_charged_after: bool = False
    """Whether the work is done before it turns out that the gas is not enough."""


def _metis(_model: Model, _calls: Counts, _bytes: Counts, prompt: Counts, output: Counts) -> Counts:
    return METIS_TOKEN_GAS * (prompt + output)


def _hanzo(_model: Model, calls: Counts, bytes_: Counts, _prompt: Counts, _out: Counts) -> Counts:
    return HANZO_CALL_GAS * calls + HANZO_PROMPT_BYTE_GAS * bytes_


def _lux(_model: Model, calls: Counts, _bytes: Counts, prompt: Counts, output: Counts) -> Counts:
    return LUX_CALL_GAS * calls + LUX_TOKEN_GAS * (prompt + output)


def _cortex(model: Model, _calls: Counts, _bytes: Counts, prompt: Counts, output: Counts) -> Counts:
    operations = OPERATIONS_OF_WEIGHT * model.parameters * (prompt + output)
    return operations // CORTEX_OPERATIONS_OF_GAS


SCHEDULES = (
    PublishedSchedule(
        name="metis",
        title="Metis SDK",
        formula="100 gas a token of prompt and output, compared with the gas left afterwards",
        source="github.com/MetisProtocol/metis-sdk, crates/vm/src/inference.rs",
        asked=_metis,
        is_charged_after=True,
    ),
    PublishedSchedule(
        name="hanzo",
        title="Hanzo VM",
        formula="120,000 gas a call + 30 a prompt byte; output is free",
        source="crate hanzo-vm 1.1.22, src/precompiles.rs",
        asked=_hanzo,
    ),
    PublishedSchedule(
        name="lux",
        title="Lux LP-5601",
        formula="100,000 gas a call + 10 a token; we count prompt and output, as it does not say",
        source="github.com/luxfi/lps, LP-5601 (a draft), InferenceBase and InferencePerTok",
        asked=_lux,
    ),
    PublishedSchedule(
        name="cortex",
        title="Cortex",
        formula="operations / 20,000; we read it as 2 operations a weight and token",
        source="github.com/CortexFoundation/CortexTheseus, core/vm/gas_table_infer.go and "
        "params/protocol_params.go (for vision models, by a fixed count of operations)",
        asked=_cortex,
    ),
)


def costs(usage: Usage, model: Model) -> tuple[Cost, ...]:
    """Return what a transaction would cost under each: the EVM's own gas, and what they ask.

    All bytes that the executor took in count as the prompt's; none knows warm tokens.
    """
    prompt = usage.cold_tokens + usage.warm_tokens
    counts = [
        np.array(each, dtype=np.int64)
        for each in (usage.calls, usage.input_bytes, prompt, usage.output_tokens)
    ]
    return tuple(
        Cost(schedule=one.name, gas=usage.evm_gas + int(one.asked(model, *counts)))
        for one in SCHEDULES
    )


def published(
    terms: Sequence[Term], model: Model, *, block_gas: int = DEFAULT_BLOCK_GAS_LIMIT
) -> tuple[Published, ...]:
    """Return every schedule with the call that takes longest for its gas.

    All calls that the context and a block admit are gone through.

    Raises: KeyError: a term is missing.
    """
    return tuple(_abused(one, terms, model, block_gas) for one in SCHEDULES)


def _abused(
    one: PublishedSchedule, terms: Sequence[Term], model: Model, block_gas: int
) -> Published:
    output_most = min(DEFAULT_MAX_OUTPUT_TOKENS, max(1, model.context_tokens // 4))
    prompt = np.arange(1, model.context_tokens - output_most + 1, dtype=np.int64)[:, None]
    output = np.arange(1, output_most + 1, dtype=np.int64)[None, :]
    seconds = call_seconds(terms, prompt, output)
    bytes_ = prompt * LEAST_BYTES_OF_TOKEN
    gas = np.broadcast_to(
        one.asked(model, np.ones_like(prompt), bytes_, prompt, output), seconds.shape
    )
    if one.is_charged_after:
        gas = np.full_like(gas, FAILED_CALL_GAS)
    ns_per_gas = np.where(gas <= block_gas, seconds / np.maximum(gas, 1) * NS, -1.0)
    row, column = np.unravel_index(int(ns_per_gas.argmax()), ns_per_gas.shape)
    worst, longest = float(ns_per_gas[row, column]), int(prompt[row, 0])
    use = (
        f"a prompt of {counted(longest, 'token')} and {int(output[0, column])} of output: "
        f"{float(seconds[row, column]):.1f} s for {int(gas[row, column]):,} gas"
    )
    if one.is_charged_after:
        use += ", as it is given none and fails when all is done"
    measured = longest_measured(terms)
    if longest > measured:
        use += f" (computed: prompts were measured to {measured:,} tokens)"
    return Published(
        name=one.name,
        title=one.title,
        formula=one.formula,
        source=one.source,
        worst_use=use,
        worst_ns_per_gas=worst,
        seconds_per_30m_gas=worst * BLOCK_GAS / NS,
    )


def call_seconds(
    terms: Sequence[Term], prompt: NDArray[np.int64], output: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the seconds of calls with cold prompts of such lengths and sampled outputs.

    As `fits.predicted_seconds`, for arrays: nothing but the model's own work and a call's.

    Raises: KeyError: a term is missing.
    """
    of = coefficients(terms)
    read = of["cold"]["b"] * prompt + of["cold"]["c"] * prompt.astype(np.float64) ** 2
    said = (output - 1) * (of["sampled"]["a"] + of["sampled"]["b"] * (prompt + output / 2))
    return np.asarray(sum(of["call"].values()) + read + said, dtype=np.float64)

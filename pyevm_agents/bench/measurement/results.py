"""What a benchmark's run measured, as values: a report is written from them and from nothing else.

Times are in seconds or, where a name says so, in nanoseconds (`ns`); raw samples are kept, and
whatever is summed up is an `Interval`. Names of terms, references and schedules are stable keys of
the JSON form; titles are for people.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyevm_agents.bench.measurement.usage import Usage  # noqa: TC001 - JSON is read by the fields' types

FORM = 1
"""Number of the JSON form: another one is read as another version's."""

OWN_VM = "pyevm-agents"
"""`Yardstick.vm` of what parity is held against."""

BLOCK_GAS = 30_000_000
"""Gas that an attacker's seconds are given for: a block's, as Ethereum had it for years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A median or an estimate, and where it lies with 95 % confidence."""

    middle: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What was measured on: facts that a report states and a comparison holds side by side."""

    processor: str
    cores: int
    memory_bytes: int
    system: str
    python: str
    versions: tuple[tuple[str, str], ...]
    """(package, version) of what decides about speed: pyevm-agents, py-evm, llama-cpp-python, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """How busy the machine was: the same small piece of work, timed all through the run."""

    beats_s: tuple[float, ...]
    spread: float
    """Distance of the quartiles over the median: 0.02 is a quiet machine."""

    load_average: float
    """Processes that wanted to run, the minute's mean, at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModel:
    """The model that was measured."""

    name: str
    digest: str
    """SHA-256, hexadecimal."""

    parameters: int
    """Numbers in its weights."""

    file_bytes: int
    context_tokens: int
    fingerprint: str
    """Canonical JSON of the engine's profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """Something of the EVM itself: its time, and the gas that Ethereum asks for it."""

    name: str
    title: str
    vm: str
    """"pyevm-agents", or "anvil 1.5.0"."""

    gas: int
    """Gas of one execution, of what `seconds` are the time."""

    seconds: tuple[float, ...]
    ns_per_gas: Interval
    is_worst_case: bool
    """Whether it is made to take long for its gas, not to be what contracts do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One generation or read that was timed, again and again, and what was in it."""

    term: str
    """What it is made to show: a term's name."""

    usage: Usage
    prompt_tokens: int
    """Cold and warm ones together: how long the prompt was."""

    seconds: tuple[float, ...]
    detail: str = ""
    """What its counts don't tell: "arrays" of parameters, "restored" of warm tokens; see
    `inference`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place on a curve: of a fit, its residual, or its marginal cost."""

    x: float
    y: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """What one more unit of something costs: a cold token, a parameter, a byte."""

    name: str
    """A key of `TERMS`."""

    formula: str
    """The fitted function, in words: "seconds = a + b n + c n²"."""

    coefficients: tuple[tuple[str, Interval], ...]
    """In seconds and the units of `formula`."""

    ns: Interval
    """Nanoseconds of one more unit, over the middle of what was measured."""

    ns_at_most: Interval
    """The same where it costs most: at the full context, say. A schedule that nobody can abuse
    charges this."""

    marginal: tuple[Point, ...]
    """Nanoseconds of one more unit (y) against `axis` (x)."""

    axis: str
    residuals: tuple[tuple[float, float], ...]
    """(x, measured less fitted, in seconds) of each probe's median."""

    relative_error: float
    """Root of the mean square of the residuals, over the mean of what was measured."""


TERMS = {
    "call": "a call",
    "byte": "a byte of calldata or metadata",
    "tool": "a tool in the grammar",
    "parameter": "a parameter in the grammar",
    "read": "a metadata read",
    "cold": "a cold prompt token",
    "warm": "a warm prompt token",
    "sampled": "a sampled output token",
    "forced": "a forced output token",
}
"""Names of terms, in the order of a call, and their titles."""

REFERENCES = {
    "ecrecover": "as ecrecover",
    "erc20": "as an ERC-20 transfer",
    "worst": "as the worst EVM case",
}
"""What a parity price is held against: inference then takes as long for a gas as that does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a term would cost in gas at parity, beside what it costs."""

    term: str
    parity_gas: tuple[tuple[str, Interval], ...]
    """By reference: gas at which a unit takes as long for its gas as the reference does."""

    parity_gas_at_most: tuple[tuple[str, Interval], ...]
    """The same where a unit costs most (`Term.ns_at_most`)."""

    default_gas: int | None
    """What the default schedule asks; None where it has no price for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCost:
    """What something costs under one schedule."""

    schedule: str
    """"default", "parity-erc20", "metis", …"""

    gas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A transaction with agents in it: what it used, how long that took, what schedules ask."""

    name: str
    title: str
    usage: Usage
    seconds: tuple[float, ...]
    evm_seconds: Interval
    """The same with a model that says the same at once: the chain's own part."""

    prompt_seconds: Interval
    output_seconds: Interval
    predicted_seconds: float | None
    """What the fitted terms say it should take; None where none were fitted."""

    costs: tuple[ScheduleCost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleAudit:
    """Somebody's schedule as it was published, and how it can be abused."""

    name: str
    title: str
    formula: str
    source: str
    worst_use: str
    """What an attacker does with it."""

    worst_ns_per_gas: float
    """Computed from the fitted terms; infinite where work is free."""

    seconds_per_30m_gas: float
    """Work that a block of 30 million gas buys so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The most that one can make the precompile do for its gas, in one way."""

    name: str
    title: str
    how: str
    outcome: str
    """"answered", "refused: ContextTooLong", "out of gas"."""

    usage: Usage
    seconds: tuple[float, ...]
    gas: tuple[ScheduleCost, ...]
    """By schedule: what the transaction is charged."""

    seconds_per_30m_gas: tuple[tuple[str, Interval], ...]
    """By schedule: seconds of work that 30 million gas buy so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPoint:
    """A run of some size."""

    x: int
    usage: Usage
    gas: int
    seconds: tuple[float, ...]

    @property
    def tokens(self) -> int:
        """Tokens that were computed: those of prompts that were read anew, and of outputs."""
        return self.usage.cold_tokens + self.usage.output_tokens


QUANTITIES = ("tokens", "seconds", "gas")
"""Of what a run's growth has exponents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How runs grow with one thing: steps, tools, or levels of nesting."""

    axis: str
    points: tuple[GrowthPoint, ...]
    exponents: tuple[tuple[str, Interval], ...]
    """Of "tokens", "seconds" and "gas": p in a + b x^p."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """A model of another size, with random weights: what its tokens take and would cost."""

    name: str
    parameters: int
    file_bytes: int
    quantisation: str
    ns: tuple[tuple[str, Interval], ...]
    """By term: "cold", "warm", "sampled", "forced"; in prompts of up to `prompt_tokens`."""

    prompt_tokens: int
    parity_gas: tuple[tuple[str, tuple[tuple[str, Interval], ...]], ...]
    """By reference, by term."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All of one run."""

    form: int
    made_at: str
    """UTC, as ISO 8601."""

    command: str
    mode: str
    """"quick" or "full"."""

    seconds: float
    """How long it took."""

    machine: Machine
    noise: Noise
    model: MeasuredModel
    yardsticks: tuple[Yardstick, ...]
    left_out: tuple[tuple[str, str], ...]
    """(what, why) of what was not measured: "anvil", "no program of that name"."""

    probes: tuple[Probe, ...]
    terms: tuple[Term, ...]
    prices: tuple[Price, ...]
    schedules: tuple[tuple[str, str], ...]
    """(name, what it asks, in words) of the schedules in `ScheduleCost`."""

    published: tuple[ScheduleAudit, ...]
    runs: tuple[Run, ...]
    attacks: tuple[Attack, ...]
    growth: tuple[Growth, ...]
    sizes: tuple[ModelSize, ...]

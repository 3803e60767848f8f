"""Results of a benchmark: the only source of a report.

Times are in seconds or, where a name ends in `ns`, in nanoseconds. Raw samples are kept; summaries
are `Interval`s. Names of terms, references and schedules are stable keys of the JSON form; titles
are for people.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyevm_agents.bench.measurement.usage import Usage  # noqa: TC001 - JSON is read by the fields' types
from pyevm_agents.reports.number_format import Interval  # noqa: TC001 - as above

FORM = 1
"""Version of the JSON form."""

OWN_VM = "pyevm-agents"
"""`Yardstick.vm` of the references of parity."""

BLOCK_GAS = 30_000_000
"""Gas for which an attacker's seconds are given: a block's, as Ethereum had it for years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine's facts, which a report states and a comparison compares."""

    processor: str
    cores: int
    memory_bytes: int
    system: str
    python: str
    versions: tuple[tuple[str, str], ...]
    """(package, version) of the packages that decide speed: pyevm-agents, py-evm, llama-cpp-python,
    …
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The machine's load: the times of one small piece of work, repeated through the run."""

    beats_s: tuple[float, ...]
    spread: float
    """Interquartile range over the median: 0.02 is a quiet machine."""

    load_average: float
    """The one-minute load average at the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModel:
    """The measured model."""

    name: str
    digest: str
    """SHA-256, hexadecimal."""

    parameters: int
    """Number of its weights."""

    file_bytes: int
    context_tokens: int
    fingerprint: str
    """Canonical JSON of the engine's profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """An EVM operation: time, and gas on Ethereum."""

    name: str
    title: str
    vm: str
    """"pyevm-agents", or "anvil 1.5.0"."""

    gas: int
    """Gas of one execution, which takes `seconds`."""

    seconds: tuple[float, ...]
    ns_per_gas: Interval
    is_worst_case: bool
    """Whether it is chosen to be slow for its gas, rather than as an everyday operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A generation or read with samples and counts."""

    term: str
    """Name of the term that it isolates."""

    usage: Usage
    prompt_tokens: int
    """Length of the prompt, cold and warm tokens together."""

    seconds: tuple[float, ...]
    detail: str = ""
    """Details beside the counts: "arrays" of parameters, "restored" warm tokens; see `inference`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of a curve: of a fit, of a fit's residuals, or of the marginal cost."""

    x: float
    y: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """The cost of one more unit: a cold token, a parameter, a byte."""

    name: str
    """A key of `TERMS`."""

    formula: str
    """The fitted function: "seconds = a + b n + c n²"."""

    coefficients: tuple[tuple[str, Interval], ...]
    """In seconds and the units of `formula`."""

    ns: Interval
    """Nanoseconds of one more unit, averaged over the measured range."""

    ns_at_most: Interval
    """Nanoseconds of one more unit where it costs most, such as at the full context: the charge of
    a schedule that cannot be abused.
    """

    marginal: tuple[Point, ...]
    """Nanoseconds of one more unit (y) against `axis` (x)."""

    axis: str
    residuals: tuple[tuple[float, float], ...]
    """(x, measured less fitted seconds) of each probe's median."""

    relative_error: float
    """Root mean square of the residuals, over the mean measured time."""


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
"""References of parity prices: at parity, inference takes as long per gas as the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The parity prices of a term, beside the default price."""

    term: str
    parity_gas: tuple[tuple[str, Interval], ...]
    """By reference: gas at which a unit takes as long per gas as the reference."""

    parity_gas_at_most: tuple[tuple[str, Interval], ...]
    """By reference: the parity gas where a unit costs most (`Term.ns_at_most`)."""

    default_gas: int | None
    """Price in the default schedule; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCost:
    """The gas of a transaction under one schedule."""

    schedule: str
    """"default", "parity-erc20", "metis", …"""

    gas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A transaction that runs agents: usage, time, gas under each schedule."""

    name: str
    title: str
    usage: Usage
    seconds: tuple[float, ...]
    evm_seconds: Interval
    """Seconds of the same transaction with remembered generations: the chain's own part."""

    prompt_seconds: Interval
    output_seconds: Interval
    predicted_seconds: float | None
    """Seconds predicted from the fitted terms; None without terms."""

    costs: tuple[ScheduleCost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleAudit:
    """A published schedule, and the worst abuse."""

    name: str
    title: str
    formula: str
    source: str
    worst_use: str
    """The call that an attacker makes."""

    worst_ns_per_gas: float
    """Computed from the fitted terms; infinite for free work."""

    seconds_per_30m_gas: float
    """Seconds of that work for 30 million gas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """The most work that one kind of attack makes the precompile do per gas."""

    name: str
    title: str
    how: str
    outcome: str
    """"answered", "refused: ContextTooLong", "out of gas"."""

    usage: Usage
    seconds: tuple[float, ...]
    gas: tuple[ScheduleCost, ...]
    """By schedule: the transaction's gas."""

    seconds_per_30m_gas: tuple[tuple[str, Interval], ...]
    """By schedule: seconds of this work for 30 million gas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthPoint:
    """A run of a given size."""

    x: int
    usage: Usage
    gas: int
    seconds: tuple[float, ...]

    @property
    def tokens(self) -> int:
        """Number of evaluated tokens: cold prompt tokens and output tokens."""
        return self.usage.cold_tokens + self.usage.output_tokens


QUANTITIES = ("tokens", "seconds", "gas")
"""Quantities of a run that have growth exponents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Growth of runs along one axis: steps, tools, or levels of nesting."""

    axis: str
    points: tuple[GrowthPoint, ...]
    exponents: tuple[tuple[str, Interval], ...]
    """By "tokens", "seconds" and "gas": p in a + b x^p."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """A model of another size with random weights: token times and parity prices."""

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
class NumericUsage:
    """The usage of the numeric models' precompile that a transaction bought."""

    calls: int = 0
    """Calls that paid the base price."""

    input_bytes: int = 0
    output_bytes: int = 0
    operations: int = 0
    evm_gas: int = 0
    """All other gas: the transaction's own, contracts, calls of the precompile."""


NUMERIC_PRICES = {
    "base_gas": "a call",
    "input_byte_gas": "a byte of calldata",
    "output_byte_gas": "a byte of output",
    "operations_per_gas": "operations for one gas",
}
"""Fields of `NumericGasSchedule` with their titles, in the order of a call."""

NUMERIC_UNITS = {**NUMERIC_PRICES, "operations_per_gas": "an operation"}
"""What a unit of each price's time is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericTransaction:
    """A transaction that calls the numeric models' precompile many times."""

    name: str
    title: str
    how: str
    outcome: str
    """"answered", "refused: UnknownModel", "out of gas"."""

    is_attack: bool
    """Whether it is made to buy the most work for its gas."""

    times: int
    """Calls of the precompile, paid or not."""

    usage: NumericUsage
    seconds: tuple[float, ...]
    gas: tuple[ScheduleCost, ...]
    """By schedule: the transaction's gas."""

    seconds_per_30m_gas: tuple[tuple[str, Interval], ...]
    """By schedule: seconds of this work for 30 million gas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericPrice:
    """The time of the unit that one of `NUMERIC_PRICES` buys, and the price at parity."""

    name: str
    ns: Interval
    """Nanoseconds of the unit: for operations, of one operation."""

    ns_at_most: Interval
    """The same in the slowest of all transactions."""

    parity: tuple[tuple[str, Interval], ...]
    """By reference: the price at which the unit takes as long for its gas as the reference."""

    parity_at_most: tuple[tuple[str, Interval], ...]
    """By reference: the price at which none takes longer."""

    default: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericResults:
    """The numeric models' precompile: transactions, and the time that the prices pay for."""

    transactions: tuple[NumericTransaction, ...]
    prices: tuple[NumericPrice, ...]
    relative_error: float
    """Root mean square of the fit's residuals, each over its measured time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All results of one benchmark."""

    form: int
    made_at: str
    """UTC, as ISO 8601."""

    command: str
    mode: str
    """"quick" or "full"."""

    seconds: float
    """Duration of the benchmark."""

    machine: Machine
    noise: Noise
    model: MeasuredModel
    yardsticks: tuple[Yardstick, ...]
    left_out: tuple[tuple[str, str], ...]
    """(part, reason) of each part that was not measured: "anvil", "no program of that name"."""

    probes: tuple[Probe, ...]
    terms: tuple[Term, ...]
    prices: tuple[Price, ...]
    schedules: tuple[tuple[str, str], ...]
    """(name, prices in words) of the schedules in `ScheduleCost`."""

    published: tuple[ScheduleAudit, ...]
    runs: tuple[Run, ...]
    attacks: tuple[Attack, ...]
    growth: tuple[Growth, ...]
    sizes: tuple[ModelSize, ...]
    numeric: NumericResults | None = None
    """None if it was not measured, or by a version without it."""

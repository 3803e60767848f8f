"""Fit the marginal cost of each term to probes; predict the time of calls from the terms.

Three fits. *Reading*: tokens after others, growing with attention: a + b (n - w) + c (n² - w²).
*Writing*, after prompts in memory: sampled and forced tokens, each slower after a longer text.
*Calls* with a model that answers without computing: bytes, tools, parameters, reads. The constant
part of a call is the call's own work and the start of a reading. That is no small part: the
engine's threads wait for each other without spinning, some 300 times in a batch, and each prompt
ends with logits for the whole vocabulary (`pyevm_agents.models.llama.context`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.inference.call_probes import REMEMBERED
from pyevm_agents.bench.inference.call_terms import (
    COUNTS,
    build_call_term,
    build_count_term,
    fit_calls,
)
from pyevm_agents.bench.inference.engine_probes import KEPT, NUMBERS, RESTORED
from pyevm_agents.bench.measurement.fit_result import NS, ProbeFit
from pyevm_agents.bench.measurement.intervals import scale_interval
from pyevm_agents.bench.measurement.results import TERMS, Point, Term
from pyevm_agents.bench.measurement.usage import READS_OF_TOOL, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyevm_agents.bench.measurement.results import Probe
    from pyevm_agents.reports.number_format import Interval

PROMPT_AXIS = "tokens before it"

READING_ROW = "seconds = a + b (n - w) + c (n² - w²) for n tokens, w of them known"
WARM_ROW = "seconds = a + b n where they stayed in memory, a + c n where they were set aside"
SAMPLED_ROW = "seconds = a + b n for a token after n others; c more where it is a digit"
FORCED_ROW = "seconds = a + b n for a token after n others"


def fit_terms(probes: Iterable[Probe]) -> tuple[Term, ...]:
    """Fit every term, in the order of `results.TERMS`.

    The fits do not extrapolate: `ns_at_most` is for the longest measured prompt.

    Raises: ValueError: a term has no probes, or too few.
    """
    probes = [probe for probe in probes if probe.detail != REMEMBERED]
    missing = sorted(set(TERMS) - {probe.term for probe in probes})
    if missing:
        raise ValueError(
            f"no probe of {', '.join(missing)} was made; use a model with a longer context, or "
            "measure all"
        )
    reading = _fit_reading(probes)
    calls = fit_calls(probes)
    output = _fit_output(probes)
    return (
        build_call_term(calls, reading),
        *(build_count_term(calls, name) for name in COUNTS),
        _build_cold_term(reading),
        _build_warm_term(probes),
        _build_sampled_term(output),
        _build_forced_term(output),
    )


def predict_seconds(
    calls: Usage | Iterable[Usage], terms: Iterable[Term], *, evm_ns_per_gas: float = 0.0
) -> float:
    """Return the seconds of executor calls, predicted from fitted terms.

    Input:
        calls: one `Usage` for each call; one that counts several stands for that many equal calls.
        evm_ns_per_gas: nanoseconds of a gas of the EVM; 0 to leave the EVM out.

    Raises: KeyError: a term is missing.
    """
    by_name = index_coefficients(terms)
    each = (calls,) if isinstance(calls, Usage) else calls
    return sum(
        _predict_call_seconds(usage, by_name) + usage.evm_gas * evm_ns_per_gas / NS
        for usage in each
    )


def index_coefficients(terms: Iterable[Term]) -> dict[str, dict[str, float]]:
    """Return the coefficients of each term, by name."""
    return {term.name: {name: at.middle for name, at in term.coefficients} for term in terms}


def compute_marginal_ns(term: Term, tokens: float) -> float:
    """Return the nanoseconds of one more unit after `tokens` tokens, extrapolated if need be."""
    of = index_coefficients((term,))[term.name]
    if term.name == "cold":
        return (of["b"] + 2 * tokens * of["c"]) * NS
    if term.name in {"sampled", "forced"}:
        return (of["a"] + tokens * of["b"]) * NS
    return term.ns_at_most.middle


def find_longest_measured(terms: Iterable[Term]) -> int:
    """Return the length of the longest prompt that the terms were fitted to."""
    return int(max(point.x for term in terms if term.name == "cold" for point in term.marginal))


def _predict_call_seconds(usage: Usage, of: dict[str, dict[str, float]]) -> float:
    calls = max(1, usage.calls)
    prompt, warm = (usage.cold_tokens + usage.warm_tokens) / calls, usage.warm_tokens / calls
    middle = prompt + usage.output_tokens / calls / 2
    # A call's first sampled token comes with the last token of its prompt.
    sampled = max(0, usage.output_tokens - usage.forced_tokens - calls)
    return (
        usage.calls * sum(of["call"].values())
        + usage.input_bytes * of["byte"]["b"]
        + usage.tools * (of["tool"]["b"] + READS_OF_TOOL * of["read"]["b"])
        + usage.parameters * of["parameter"]["b"]
        + usage.cold_tokens * of["cold"]["b"]
        + calls * (prompt**2 - warm**2) * of["cold"]["c"]
        + usage.warm_tokens * of["warm"]["b"]
        + sampled * (of["sampled"]["a"] + of["sampled"]["b"] * middle)
        + usage.forced_tokens * (of["forced"]["a"] + of["forced"]["b"] * middle)
    )


# -- reading -- #


def _fit_reading(probes: Sequence[Probe]) -> ProbeFit:
    cold = [probe for probe in probes if probe.term == "cold"]
    return ProbeFit(
        cold,
        [
            (1, reading.usage.cold_tokens, reading.prompt_tokens**2 - reading.usage.warm_tokens**2)
            for reading in cold
        ],
    )


def _build_cold_term(of: ProbeFit) -> Term:
    lengths = [float(probe.prompt_tokens) for probe in of.probes]
    longest = max(lengths)

    def compute_marginal(length: float) -> Interval:
        return scale_interval(of.fit.evaluate((0, 1, 2 * length)), NS)

    return Term(
        name="cold",
        formula=READING_ROW,
        coefficients=of.label_coefficients(0, 1, 2),
        ns=compute_marginal(longest / 2),
        ns_at_most=compute_marginal(longest),
        marginal=tuple(Point(x=x, y=compute_marginal(x)) for x in sorted(set(lengths))),
        axis=PROMPT_AXIS,
        residuals=of.compute_residuals("cold", lengths),
        relative_error=of.compute_relative_error("cold"),
    )


def _build_warm_term(probes: Sequence[Probe]) -> Term:
    warm = [probe for probe in probes if probe.term == "warm"]
    lengths = [float(probe.prompt_tokens) for probe in warm]
    rows = [
        (1, length * (probe.detail == KEPT), length * (probe.detail == RESTORED))
        for length, probe in zip(lengths, warm, strict=True)
    ]
    of = ProbeFit(warm, rows)
    kept_ns, restored = (scale_interval(of.fit.get_coefficient(index), NS) for index in (1, 2))
    most = max(kept_ns, restored, key=lambda ns: ns.high)
    return Term(
        name="warm",
        formula=WARM_ROW,
        coefficients=of.label_coefficients(0, 1, 2),
        ns=kept_ns,
        ns_at_most=most,
        marginal=tuple(Point(x=x, y=kept_ns) for x in sorted(set(lengths))),
        axis="tokens known",
        residuals=of.compute_residuals("warm", lengths),
        relative_error=of.compute_relative_error("warm"),
    )


# -- writing -- #


def _fit_output(probes: Sequence[Probe]) -> ProbeFit:
    """Fit the outputs after prompts in memory.

    Columns 0 and 1 are the warm prompt, 2 and 3 a sampled token and the text before, 4 a digit, 5
    and 6 a forced token and the text before.
    """
    outputs = [
        probe for probe in probes if probe.term in {"sampled", "forced"} or probe.detail == KEPT
    ]
    rows = []
    for probe in outputs:
        forced = probe.usage.forced_tokens
        sampled = probe.usage.output_tokens - forced - 1
        before = probe.prompt_tokens + probe.usage.output_tokens / 2
        digits = sampled * (probe.detail == NUMBERS)
        rows.append(
            (1, probe.prompt_tokens, sampled, sampled * before, digits, forced, forced * before)
        )
    return ProbeFit(outputs, rows)


def _build_sampled_term(of: ProbeFit) -> Term:
    return _build_output_term(of, "sampled", SAMPLED_ROW, token=2, extra=4)


def _build_forced_term(of: ProbeFit) -> Term:
    return _build_output_term(of, "forced", FORCED_ROW, token=5, extra=None)


def _build_output_term(
    of: ProbeFit, name: str, formula: str, *, token: int, extra: int | None
) -> Term:
    lengths = [float(probe.prompt_tokens) for probe in of.probes]
    longest = max(lengths)

    def compute_marginal(length: float, digit: float = 0.0) -> Interval:
        row = [0.0] * len(of.fit.coefficients)
        row[token], row[token + 1] = 1.0, length
        if extra is not None:
            row[extra] = digit
        return scale_interval(of.fit.evaluate(row), NS)

    columns = [token, token + 1] + ([] if extra is None else [extra])
    return Term(
        name=name,
        formula=formula,
        coefficients=of.label_coefficients(*columns),
        ns=compute_marginal(longest / 2),
        ns_at_most=compute_marginal(longest, 1.0),
        marginal=tuple(Point(x=x, y=compute_marginal(x)) for x in sorted(set(lengths))),
        axis=PROMPT_AXIS,
        residuals=of.compute_residuals(name, lengths),
        relative_error=of.compute_relative_error(name),
    )

"""Summarise a report: the answer to "What does inference cost in gas?"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.bench.measurement.intervals import estimate_median, scale_interval
from pyevm_agents.bench.pricing.parity import find_reference
from pyevm_agents.bench.report import findings
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import Headline, Strong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import Report, Run
    from pyevm_agents.reports.document import Paragraph
    from pyevm_agents.reports.number_format import Interval

TOKENS = {"cold": "a cold prompt token", "warm": "a warm one", "output": "an output token"}
"""The main units of a run, by names of prices."""

FEWEST_POINTS = 3
"""Fewest points of a curve whose ends are worth stating: a quick run has two."""

TokenTime = tuple[str, "Interval"]
"""A token and its nanoseconds."""


def build_headlines(report: Report) -> tuple[Headline, ...]:
    """Return up to three figures: a cold token, an output token, the first transaction.

    Each is in gas at the pace of an ERC-20 transfer, or in seconds without that reference.
    """
    return (
        *(
            headline
            for name in ("cold", "output")
            if (headline := _build_token_headline(report, name)) is not None
        ),
        *(_build_run_headline(report, run) for run in report.runs[:1] if run.seconds),
    )


def _build_token_headline(report: Report, name: str) -> Headline | None:
    ns, price = findings.get_unit_ns(report, name), findings.find_price(report, name)
    if ns is None:
        return None
    title = findings.PRICES[name]
    time = number_format.format_estimate(scale_interval(ns, 1e-9), number_format.format_seconds)
    gas = None if price is None else findings.get_parity_gas(price, findings.MAIN_REFERENCE)
    if price is None or gas is None:
        return Headline(title=title, value=time)
    notes = [f"{time}, at the pace of an ERC-20 transfer"]
    factor = findings.compute_price_factor(price, findings.MAIN_REFERENCE)
    if factor is not None:
        times = number_format.format_estimate(factor, number_format.format_factor)
        notes.append(f"default price {price.default_gas:,} gas: {times}")
    return Headline(
        title=title, value=f"{number_format.format_estimate(gas)} gas", notes=tuple(notes)
    )


def _build_run_headline(report: Report, run: Run) -> Headline:
    time = number_format.format_seconds(estimate_median(run.seconds).middle)
    title = f"one transaction: {number_format.lower_first_letter(run.title)}"
    worth = findings.compute_gas_worth(report, run, findings.MAIN_REFERENCE)
    gas = findings.find_gas(run.costs, "default")
    by_default = () if gas is None else (f"by default {number_format.format_count(gas)} gas",)
    if worth is None:
        return Headline(title=title, value=time, notes=by_default)
    return Headline(
        title=title,
        value=f"{number_format.format_count(worth.middle)} gas",
        notes=(f"{time}, at the pace of an ERC-20 transfer", *by_default),
    )


def build_summary(report: Report) -> Paragraph:
    """Return the summary, without parts that were not measured."""
    times = [(name, ns) for name in TOKENS if (ns := findings.get_unit_ns(report, name))]
    sentences = [
        _describe_times(report, times),
        _describe_prices(report),
        _describe_call(report),
        _describe_run(report),
        _describe_worst_attack(report),
        _describe_numeric_models(report),
    ]
    words = [word for sentence in map(tuple, sentences) if sentence for word in (*sentence, " ")]
    if not words:
        return ("This run measured nothing that answers the question.",)
    return tuple(words[:-1])


def _describe_times(report: Report, times: list[TokenTime]) -> Iterator[str | Strong]:
    if not times:
        return
    phrases = {
        "cold": "reads a token of a prompt for the first time in ",
        "warm": "reads it again in ",
        "output": "writes one in ",
    }
    machine = report.machine
    cores = "core" if machine.cores == 1 else "cores"
    yield f"On this machine ({machine.processor}, {machine.cores} {cores}) "
    yield f"{report.model.name} "
    for at, (name, ns) in enumerate(times):
        yield ("" if at == 0 else " and " if at == len(times) - 1 else ", ") + phrases[name]
        yield from _format_estimate(
            ns,
            number_format.format_seconds(ns.middle / 1e9),
            number_format.format_seconds(ns.high / 1e9),
        )
        yield _format_time_range(report, name)
    yield "."


def _format_estimate(value: Interval, middle: str, high: str) -> Iterator[str | Strong]:
    """Yield a value, or the upper bound if not distinguishable from zero."""
    if value.is_upper_bound:
        yield "at most "
        yield Strong(high)
        return
    yield Strong(middle)


def _format_time_range(report: Report, name: str) -> str:
    """Return the range of a token's time, from short prompts to long ones."""
    term = findings.find_term(report, "sampled" if name == "output" else name)
    if term is None or name == "warm" or len(term.marginal) < FEWEST_POINTS:
        return ""
    first, last = term.marginal[0], term.marginal[-1]
    low, high = (number_format.format_seconds(point.y.middle / 1e9) for point in (first, last))
    return f" (from {low} after {first.x:,.0f} tokens to {high} after {last.x:,.0f})"


def _describe_prices(report: Report) -> Iterator[str | Strong]:
    """Yield the worth of tokens at the pace of an ERC-20 transfer."""
    name = findings.MAIN_REFERENCE
    held_against = find_reference(report.yardsticks, name)
    units = [(token, price) for token in TOKENS if (price := findings.find_price(report, token))]
    gases = [(token, findings.get_parity_gas(price, name), price) for token, price in units]
    known = [(token, gas, price) for token, gas, price in gases if gas is not None]
    if held_against is None or not known:
        return
    pace = number_format.format_number(held_against.ns_per_gas.middle)
    yield f"At the pace of an ERC-20 transfer on this EVM, {pace} ns a gas, that is worth "
    for at, (token, gas, _) in enumerate(known):
        yield "" if at == 0 else " and " if at == len(known) - 1 else ", "
        yield from _format_gas(gas)
        bounds = number_format.format_span(gas)
        yield f" {TOKENS[token]}" + (f" ({bounds})" if bounds else "")
    pairs = [(price, findings.compute_price_factor(price, name)) for _, _, price in known]
    if any(factor is None for _, factor in pairs):
        yield "."
        return
    prices = number_format.join_names([f"{price.default_gas:,}" for price, _ in pairs])
    factors = [ratio for _, ratio in pairs if ratio is not None]
    yield f". The default schedule charges {prices}: parity is "
    for at, ratio in enumerate(factors):
        yield "" if at == 0 else " and " if at == len(factors) - 1 else ", "
        yield from _format_estimate(
            ratio,
            number_format.format_factor(ratio.middle),
            number_format.format_factor(ratio.high),
        )
    yield " of that."


def _describe_call(report: Report) -> Iterator[str | Strong]:
    """Yield the time and price of a call beside tokens."""
    ns, price = findings.get_unit_ns(report, "call"), findings.find_price(report, "call")
    gas = None if price is None else findings.get_parity_gas(price, findings.MAIN_REFERENCE)
    if ns is None or price is None or gas is None:
        return
    yield "A call takes "
    yield from _format_estimate(
        ns,
        number_format.format_seconds(ns.middle / 1e9),
        number_format.format_seconds(ns.high / 1e9),
    )
    yield " besides, worth "
    yield from _format_gas(gas)
    yield "." if price.default_gas is None else f" (default {price.default_gas:,})."


def _format_gas(gas: Interval) -> Iterator[str | Strong]:
    return _format_estimate(
        gas,
        f"{number_format.format_number(gas.middle)} gas",
        f"{number_format.format_number(gas.high)} gas",
    )


def _describe_run(report: Report) -> Iterator[str | Strong]:
    """Yield the time and the gas of the first run."""
    if not report.runs:
        return
    run = report.runs[0]
    usage, middle = run.usage, float(np.median(run.seconds or (np.nan,)))
    yield (
        f"One transaction with {number_format.lower_first_letter(run.title)} "
        f"({usage.cold_tokens:,} cold and {usage.warm_tokens:,} warm prompt tokens, "
        f"{usage.output_tokens:,} output tokens) takes "
    )
    yield Strong(number_format.format_seconds(middle))
    worth = findings.compute_gas_worth(report, run, findings.MAIN_REFERENCE)
    if worth is not None:
        yield ", as long as "
        yield Strong(f"{number_format.format_count(worth.middle)} gas")
        yield " of ERC-20 transfers"
    emitted = findings.compute_emitted_gas(report, findings.MAIN_REFERENCE)
    each = f" ({emitted['cold']:,} gas for a cold one)" if emitted else ""
    costs = {
        "default": "by default",
        f"parity-{findings.MAIN_REFERENCE}": "by the schedule at parity, which charges each token "
        f"as the last one of a full context{each}",
    }
    phrases = [
        f"{number_format.format_count(gas)} gas {words}"
        for schedule, words in costs.items()
        if (gas := findings.find_gas(run.costs, schedule)) is not None
    ]
    yield f", and costs {number_format.join_names(phrases)}." if phrases else "."


def _describe_worst_attack(report: Report) -> Iterator[str | Strong]:
    """Yield the most work for a block's gas, beside the EVM's own worst case."""
    worst, slowest = findings.find_worst_attack(report, "default"), findings.find_slowest(report)
    if worst is None or slowest is None:
        return
    attack, bought = worst
    tried = "one attack" if len(report.attacks) == 1 else f"{len(report.attacks)} attacks"
    yield f"Of {tried} the worst buys {number_format.format_seconds(bought.middle)} of work "
    yield f"for 30 million gas by default ({number_format.lower_first_letter(attack.title)})"
    at_parity = findings.find_worst_attack(report, f"parity-{findings.MAIN_REFERENCE}")
    if at_parity is not None:
        title = number_format.lower_first_letter(at_parity[0].title)
        time = number_format.format_seconds(at_parity[1].middle)
        yield f" and {time} by the schedule at parity ({title})"
    own = number_format.format_seconds(findings.compute_block_seconds(slowest).middle)
    yield f"; {slowest.title}, the EVM's own worst, takes {own}."


def _describe_numeric_models(report: Report) -> Iterator[str | Strong]:
    """Yield the most work that a block's gas buys of numeric models."""
    numeric, slowest = report.numeric, findings.find_slowest(report)
    worst = None if numeric is None else findings.find_most_work(numeric.transactions, "default")
    if worst is None:
        return
    yield "Of numeric models 30 million gas buy at most "
    yield Strong(number_format.format_seconds(worst[1].middle))
    yield f" of work ({number_format.lower_first_letter(worst[0].title)})"
    if slowest is None:
        yield "."
        return
    own = number_format.format_seconds(findings.compute_block_seconds(slowest).middle)
    yield f", and of {slowest.title} {own}."

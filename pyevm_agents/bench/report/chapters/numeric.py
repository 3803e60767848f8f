"""The chapter of numeric models: the time that prices of the precompile pay for, and attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.intervals import (
    divide_intervals,
    estimate_median,
    scale_interval,
)
from pyevm_agents.bench.measurement.results import NUMERIC_PRICES, NUMERIC_UNITS, REFERENCES
from pyevm_agents.bench.pricing.parity import (
    OPERATIONS_PER_GAS,
    compute_numeric_schedule,
    find_reference,
)
from pyevm_agents.bench.report import findings
from pyevm_agents.bench.report.chapters.attacks import (
    build_method_table,
    build_seconds_table,
    describe_most_work,
    iter_parity_breaches,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.reports import number_format
from pyevm_agents.reports.document import (
    Cell,
    Chapter,
    Picture,
    ReportTable,
    make_number_cell,
    make_number_columns,
    make_text_cell,
    make_text_columns,
    make_time_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.bench.measurement.results import (
        NumericPrice,
        NumericResults,
        NumericTransaction,
        Report,
    )
    from pyevm_agents.reports.number_format import Interval

NS = 1e9

BESIDE_TRANSFER = "Over an ERC-20 transfer"
"""Title of the column that compares the time of a gas."""


def build_numeric_chapter(report: Report) -> Chapter | None:
    """Return the chapter of numeric models; None if not measured."""
    numeric = report.numeric
    if numeric is None:
        return None
    attacks = tuple(each for each in numeric.transactions if each.is_attack)
    sentences = [
        *_iter_price_sentences(report, numeric),
        describe_most_work(report, numeric.transactions),
        *iter_parity_breaches(report, numeric.transactions),
    ]
    return Chapter(
        name="numeric",
        title="Numeric models",
        words=tuple((sentence,) for sentence in sentences),
        parts=(
            Picture(
                name="numeric",
                title="Time of a call against its gas",
                alt=_build_alt_text(numeric),
                note="Both axes are logarithmic. Above a line a call takes longer for its gas than "
                "the operation that names the line.",
            ),
            _build_price_table(numeric),
            _build_transaction_table(report, numeric),
            build_seconds_table(report, numeric.transactions, title="Call"),
            build_method_table(attacks),
        ),
    )


def compute_ns_per_gas(transaction: NumericTransaction) -> Interval | None:
    """Return the time of a gas by default; None without samples."""
    gas = findings.find_gas(transaction.gas, "default")
    if not gas or not transaction.seconds:
        return None
    return scale_interval(estimate_median(transaction.seconds), NS / gas)


def compute_operations_ns(price: NumericPrice) -> Interval:
    """Return the time of the operations that a gas pays for by default, in the slowest model."""
    return scale_interval(price.ns_at_most, price.default)


def _iter_price_sentences(report: Report, numeric: NumericResults) -> Iterator[str]:
    """Yield the times of calls and operations, and the time of a gas by default."""
    prices = {price.name: price for price in numeric.prices}
    call, operations = prices.get("base_gas"), prices.get(OPERATIONS_PER_GAS)
    if call is None or operations is None:
        return
    most = number_format.format_seconds(operations.ns_at_most.middle / NS)
    yield (
        "Transactions of calls of the models' precompile, mined as a node mines them. A call takes "
        f"{_format_ns(call.ns)}, an operation {_format_ns(operations.ns)}, and {most} in the "
        f"slowest model. By default a gas pays for {operations.default} operations. The four "
        "prices together tell the time of a usual transaction to "
        f"{number_format.format_percent(numeric.relative_error)}."
    )
    pace = find_reference(report.yardsticks, findings.MAIN_REFERENCE)
    if pace is None:
        return
    slowest = compute_operations_ns(operations)
    is_slower = slowest.low > pace.ns_per_gas.high
    is_faster = slowest.high < pace.ns_per_gas.low
    verdict = "longer than" if is_slower else "less than" if is_faster else "about as long as"
    yield (
        f"A gas of the slowest operations takes {number_format.format_number(slowest.middle)} ns, "
        f"{verdict} one of an ERC-20 transfer, "
        f"{number_format.format_number(pace.ns_per_gas.middle)} ns."
    )


def _format_ns(value: Interval) -> str:
    return number_format.format_estimate(
        scale_interval(value, 1 / NS), number_format.format_seconds
    )


def _build_price_table(numeric: NumericResults) -> ReportTable:
    emitted = {name: _compute_emitted(numeric, name) for name in REFERENCES}
    columns = (
        *make_text_columns("Unit"),
        *make_number_columns("Time", "Time at most", "Price", "Default"),
        *make_number_columns(*(f"Parity {words}" for words in REFERENCES.values())),
    )
    rows = tuple(
        (
            make_text_cell(NUMERIC_UNITS.get(price.name, price.name)),
            make_time_cell(scale_interval(price.ns, 1 / NS)),
            make_time_cell(scale_interval(price.ns_at_most, 1 / NS)),
            make_text_cell("operations for a gas" if price.name == OPERATIONS_PER_GAS else "gas"),
            make_text_cell(f"{price.default:,}"),
            *(_build_parity_cell(price, name, emitted[name]) for name in REFERENCES),
        )
        for price in numeric.prices
    )
    return ReportTable(
        title="The four prices",
        columns=columns,
        rows=rows,
        note="Parity: the price at which the unit, at its slowest, takes as long for its gas as "
        "the reference. An emitted schedule has the dearer ends of the intervals, rounded to two "
        "digits.",
    )


def _compute_emitted(numeric: NumericResults, reference: str) -> dict[str, int]:
    try:
        return compute_numeric_schedule(numeric.prices, reference)
    except ConfigError:
        return {}


def _build_parity_cell(price: NumericPrice, reference: str, emitted: dict[str, int]) -> Cell:
    parity = dict(price.parity_at_most).get(reference)
    if parity is None:
        return make_text_cell(number_format.NOTHING)
    note = f"emitted {emitted[price.name]:,}" if price.name in emitted else ""
    return make_number_cell(parity, note=note)


def _build_transaction_table(report: Report, numeric: NumericResults) -> ReportTable:
    """Return the usage of one call of each transaction, with gas and time."""
    transfer = find_reference(report.yardsticks, findings.MAIN_REFERENCE)
    pace = None if transfer is None else transfer.ns_per_gas
    rows = tuple(
        tuple(_iter_transaction_cells(each, pace)) for each in numeric.transactions if each.times
    )
    columns = (
        *make_text_columns("Call"),
        *make_number_columns(
            "Calls", "Calldata, bytes", "Output, bytes", "Operations", "Gas", "Time", "ns a gas"
        ),
        *make_number_columns(BESIDE_TRANSFER),
    )
    return ReportTable(
        title="One call of each transaction",
        columns=columns,
        rows=rows,
        note=f"Paid units by default prices ({', '.join(NUMERIC_PRICES)}); a call that is refused "
        "before any charge has none. Gas and time are a call's share of the whole transaction. The "
        "last column divides the time of a gas by that of a gas of an ERC-20 transfer.",
    )


def _iter_transaction_cells(
    transaction: NumericTransaction, transfer: Interval | None
) -> Iterator[Cell]:
    times, usage = transaction.times, transaction.usage
    gas = findings.find_gas(transaction.gas, "default")
    yield make_text_cell(transaction.title)
    yield make_text_cell(f"{times:,}")
    for units in (usage.input_bytes, usage.output_bytes, usage.operations):
        yield make_text_cell(f"{units // times:,}")
    yield make_text_cell(number_format.NOTHING if gas is None else f"{gas // times:,}")
    pace = compute_ns_per_gas(transaction)
    if pace is None:
        yield from (make_text_cell(number_format.NOTHING),) * 3
        return
    yield make_time_cell(scale_interval(estimate_median(transaction.seconds), 1 / times))
    yield make_number_cell(pace)
    yield make_text_cell(
        number_format.NOTHING
        if transfer is None
        else number_format.format_factor(divide_intervals(pace, transfer).middle)
    )


def _build_alt_text(numeric: NumericResults) -> str:
    phrases = [
        f"{each.title} {number_format.format_number(pace.middle)} ns a gas"
        for each in numeric.transactions
        if (pace := compute_ns_per_gas(each))
    ]
    usual = sum(not each.is_attack for each in numeric.transactions)
    return (
        f"Time against gas of {usual} usual calls and {len(numeric.transactions) - usual} attacks: "
        f"{'; '.join(phrases) or 'none was timed'}."
    )

"""A synthetic report with figures of a plausible size, for tests of reports."""

from __future__ import annotations

import math
from dataclasses import replace

from pyevm_agents.bench.measurement import results
from pyevm_agents.bench.measurement.intervals import estimate_median, scale_interval
from pyevm_agents.bench.measurement.results import (
    Attack,
    Growth,
    GrowthPoint,
    Machine,
    MeasuredModel,
    ModelSize,
    Noise,
    NumericResults,
    NumericTransaction,
    NumericUsage,
    Point,
    Probe,
    Report,
    Run,
    ScheduleAudit,
    ScheduleCost,
    Term,
    Yardstick,
)
from pyevm_agents.bench.measurement.usage import Usage
from pyevm_agents.bench.numeric.prices import (
    NumericTerms,
    compute_numeric_prices,
    fit_numeric_terms,
)
from pyevm_agents.bench.pricing.parity import compute_prices
from pyevm_agents.reports.number_format import Interval

OURS = "pyevm-agents"
ANVIL = "anvil 1.5.0"
BLOCK_GAS = 30_000_000

YARDSTICKS = (
    ("ecrecover", "ecrecover, 50 times", 150_000, 32.0, False),
    ("sha256", "sha256 of 32 KiB", 61_000, 2.6, False),
    ("keccak", "keccak of 32 KiB", 6_180, 12.0, False),
    ("modexp", "modexp of 256 bytes", 200_000, 110.0, True),
    ("sstore", "100 storage writes", 2_210_000, 15.5, False),
    ("loop", "a plain loop", 1_000_000, 260.0, False),
    ("erc20", "an ERC-20 transfer", 34_500, 185.0, False),
    ("pairing", "a pairing of two points", 113_000, 3_400.0, True),
)
TERM_NS = {
    "call": 950_000.0,
    "byte": 45.0,
    "tool": 240_000.0,
    "parameter": 80_000.0,
    "read": 320_000.0,
    "cold": 1_450_000.0,
    "warm": 9_000.0,
    "sampled": 7_800_000.0,
    "forced": 6_900_000.0,
}
PROMPTS = (16, 64, 256, 1_024, 2_048, 4_096, 8_000)
SCHEDULES = ("default", "parity-ecrecover", "parity-erc20", "parity-worst")
PUBLISHED = ("metis", "hanzo", "lux", "cortex")


def samples(middle: float, spread: float = 0.03, count: int = 7) -> tuple[float, ...]:
    """Return samples around a middle, the same each time."""
    return tuple(middle * (1 + spread * math.sin(2.4 * at)) for at in range(count))


def around(middle: float, spread: float = 0.05) -> Interval:
    """Return an interval around a middle."""
    return Interval(middle=middle, low=middle * (1 - spread), high=middle * (1 + spread))


def yardstick(
    name: str, title: str, gas: int, ns: float, *, worst: bool, vm: str = OURS
) -> Yardstick:
    """Return a yardstick of so many nanoseconds a gas."""
    seconds = samples(gas * ns / 1e9)
    return Yardstick(
        name=name,
        title=title,
        vm=vm,
        gas=gas,
        seconds=seconds,
        ns_per_gas=scale_interval(estimate_median(seconds), 1e9 / gas),
        is_worst_case=worst,
    )


def term(name: str, ns: float) -> Term:
    """Return a fitted term, dearer at longer prompts where it is a token."""
    is_token = name in {"cold", "warm", "sampled", "forced"}
    grows = 4e-5 if is_token else 0.0
    points = tuple(Point(x=x, y=around(ns * (1 + grows * x))) for x in PROMPTS)
    axis = "prompt tokens" if is_token else "how many"
    coefficients = [("a", around(1.2e-3, 0.4)), ("b", around(ns / 1e9, 0.03))]
    if is_token:
        coefficients.append(("c", around(2e-5 * ns / 1e9, 0.2)))
    return Term(
        name=name,
        formula="seconds = a + b n + c n²" if is_token else "seconds = a + b n",
        coefficients=tuple(coefficients),
        ns=around(ns),
        ns_at_most=around(ns * (1 + grows * PROMPTS[-1]), 0.08),
        marginal=points,
        axis=axis,
        residuals=tuple(
            (x, ns / 1e9 * x * 0.02 * math.sin(3.0 * at)) for at, x in enumerate(PROMPTS)
        ),
        relative_error=0.021,
    )


def costs(usage: Usage, seconds: float, names: tuple[str, ...]) -> tuple[ScheduleCost, ...]:
    """Return the prices of schedules."""
    inference = (
        3_000 * usage.calls
        + 16 * usage.input_bytes
        + 5_000 * usage.tools
        + 2_000 * usage.parameters
        + 6_000 * usage.cold_tokens
        + 100 * usage.warm_tokens
        + 10_000 * usage.output_tokens
    )
    parity = {"ecrecover": 32, "erc20": 185, "worst": 3_400}
    told = {"default": usage.evm_gas + inference}
    told |= {
        f"parity-{name}": usage.evm_gas + int(seconds * 1e9 / ns) for name, ns in parity.items()
    }
    told |= {
        "metis": usage.evm_gas + 100 * (usage.cold_tokens + usage.output_tokens),
        "hanzo": usage.evm_gas + 120_000 * usage.calls + 30 * usage.input_bytes,
        "lux": usage.evm_gas + 100_000 * usage.calls + 10 * usage.output_tokens,
        "cortex": usage.evm_gas + 13_500 * (usage.cold_tokens + usage.output_tokens),
    }
    return tuple(ScheduleCost(schedule=name, gas=told[name]) for name in names)


def run(name: str, title: str, usage: Usage, parts: tuple[float, float, float]) -> Run:
    """Return a run that took so long in EVM, prompts and outputs."""
    total = sum(parts)
    return Run(
        name=name,
        title=title,
        usage=usage,
        seconds=samples(total),
        evm_seconds=around(parts[0]),
        prompt_seconds=around(parts[1]),
        output_seconds=around(parts[2]),
        predicted_seconds=total * 1.04,
        costs=costs(usage, total, SCHEDULES + PUBLISHED),
    )


def attack(name: str, title: str, words: tuple[str, str], usage: Usage, seconds: float) -> Attack:
    """Return an attack that took so long."""
    asked = costs(usage, seconds, SCHEDULES)
    taken = estimate_median(samples(seconds))
    return Attack(
        name=name,
        title=title,
        how=words[0],
        outcome=words[1],
        usage=usage,
        seconds=samples(seconds),
        gas=asked,
        seconds_per_30m_gas=tuple(
            (it.schedule, scale_interval(taken, BLOCK_GAS / it.gas)) for it in asked
        ),
    )


def growth(axis: str, sizes: tuple[int, ...]) -> Growth:
    """Return a growth that is all but linear."""
    points = tuple(
        GrowthPoint(
            x=x,
            usage=Usage(
                calls=x, cold_tokens=180 * x + 400, output_tokens=31 * x, evm_gas=90_000 * x
            ),
            gas=2_600_000 + 1_400_000 * x,
            seconds=samples(0.4 + 0.52 * x**1.04),
        )
        for x in sizes
    )
    exponents = (
        ("tokens", around(1.0, 0.004)),
        ("seconds", around(1.04, 0.03)),
        ("gas", around(1.0, 0.001)),
    )
    return Growth(axis=axis, points=points, exponents=exponents)


def size(name: str, parameters: int) -> ModelSize:
    """Return a model's size, its time by its parameters."""
    scale = parameters / 135e6
    ns = tuple(
        (each, around(TERM_NS[each] * scale**0.95, 0.04))
        for each in ("cold", "warm", "sampled", "forced")
    )
    return ModelSize(
        name=name,
        parameters=parameters,
        file_bytes=parameters * 6 // 10,
        quantisation="Q4_K_M",
        ns=ns,
        prompt_tokens=512,
        parity_gas=tuple(
            (each, tuple((term_name, scale_interval(it, 1 / per_gas)) for term_name, it in ns))
            for each, per_gas in (("ecrecover", 32.0), ("erc20", 185.0), ("worst", 3_400.0))
        ),
    )


NUMERIC_NS = (4e6, 60_000.0, 10.0, 6.0, 0.5)
"""Nanoseconds of a transaction, a call, bytes of calldata and output, and an operation."""


def numeric_transaction(
    name: str,
    times: int,
    counts: tuple[int, int, int],
    *,
    is_attack: bool = False,
    slower: float = 1.0,
    outcome: str = "answered",
) -> NumericTransaction:
    """Return calls of so many bytes and operations, which take as long as `NUMERIC_NS` says."""
    calldata, output, operations = counts
    is_paid = not outcome.endswith(("CalldataTooLarge", "gas"))
    paid = times if is_paid else 0
    usage = NumericUsage(
        calls=paid,
        input_bytes=paid * calldata,
        output_bytes=paid * output,
        operations=paid * operations,
        evm_gas=21_000 + 150 * times,
    )
    units = (1, times, times * calldata, times * output, slower * times * operations)
    seconds = samples(sum(n * ns for n, ns in zip(units, NUMERIC_NS, strict=True)) / 1e9)
    gas = usage.evm_gas + paid * (3_000 + 16 * (calldata + output) + operations // 16)
    taken = estimate_median(seconds)
    return NumericTransaction(
        name=name,
        title=f"{name.capitalize()} again and again",
        how="as it says" if is_attack else "",
        outcome=outcome,
        is_attack=is_attack,
        times=times,
        usage=usage,
        seconds=seconds,
        gas=tuple(ScheduleCost(schedule=each, gas=gas) for each in SCHEDULES),
        seconds_per_30m_gas=tuple(
            (each, scale_interval(taken, BLOCK_GAS / gas)) for each in SCHEDULES
        ),
    )


def numeric(yardsticks: tuple[Yardstick, ...]) -> NumericResults:
    """Return transactions of numeric models, and their prices."""
    transactions = (
        numeric_transaction("sum", 3_000, (164, 96, 6_000)),
        numeric_transaction("inputs", 50, (33_000, 96, 140_000)),
        numeric_transaction("outputs", 50, (164, 33_000, 140_000)),
        numeric_transaction("convolution", 10, (33_000, 96, 7_000_000)),
        numeric_transaction("describe", 3_000, (100, 300, 0)),
        numeric_transaction("products", 15, (164, 96, 7_000_000), is_attack=True, slower=2.0),
        numeric_transaction(
            "too large",
            3_000,
            (65_537, 0, 0),
            is_attack=True,
            outcome="refused: CalldataTooLarge",
        ),
    )
    terms: NumericTerms = fit_numeric_terms(transactions)
    return NumericResults(
        transactions=transactions,
        prices=compute_numeric_prices(terms, yardsticks),
        relative_error=terms.relative_error,
    )


def report() -> Report:
    """Return all of a run."""
    yardsticks = tuple(
        yardstick(name, title, gas, ns, worst=worst) for name, title, gas, ns, worst in YARDSTICKS
    )
    yardsticks += tuple(
        yardstick(name, title, gas, ns / 22, worst=worst, vm=ANVIL)
        for name, title, gas, ns, worst in YARDSTICKS
    )
    terms = tuple(term(name, ns) for name, ns in TERM_NS.items())
    wallet = Usage(
        calls=4,
        input_bytes=9_800,
        tools=16,
        parameters=28,
        cold_tokens=1_180,
        warm_tokens=2_400,
        output_tokens=172,
        forced_tokens=64,
        evm_gas=1_150_000,
    )
    nested = wallet + wallet + Usage(calls=1, cold_tokens=300, output_tokens=40, evm_gas=300_000)
    answer = Usage(
        calls=1,
        input_bytes=900,
        cold_tokens=110,
        output_tokens=204,
        forced_tokens=3,
        evm_gas=60_000,
    )
    return Report(
        form=results.FORM,
        made_at="2026-11-21T23:40:00+00:00",
        command="pyevm-agents bench --html report.html",
        mode="full",
        seconds=912.4,
        machine=Machine(
            processor="AMD EPYC 7B13",
            cores=2,
            memory_bytes=25_200_000_000,
            system="Linux 6.1 x86_64",
            python="CPython 3.13.1",
            versions=(
                ("pyevm-agents", "0.1.0"),
                ("py-evm", "0.12.1b1"),
                ("llama-cpp-python", "0.3.36"),
            ),
        ),
        noise=Noise(beats_s=samples(0.0021, 0.04, 60), spread=0.035, load_average=0.4),
        model=MeasuredModel(
            name="SmolLM2-135M-Instruct",
            digest="ab" * 32,
            parameters=134_515_008,
            file_bytes=144_811_456,
            context_tokens=8_192,
            fingerprint='{"engine":"llama.cpp"}',
        ),
        yardsticks=yardsticks,
        left_out=(("grammar of 4,096 tools", "it takes longer than a quick run"),),
        probes=tuple(
            Probe(
                term=name,
                usage=Usage(calls=1, cold_tokens=x),
                prompt_tokens=x,
                detail=f"{x} tokens",
                seconds=samples(ns * x / 1e9),
            )
            for name, ns in TERM_NS.items()
            for x in PROMPTS
        ),
        terms=terms,
        prices=compute_prices(terms, yardsticks),
        schedules=(
            ("default", "6,000 gas a cold token, 100 a warm one, 10,000 an output token"),
            ("parity-ecrecover", "gas as ecrecover has it"),
            ("parity-erc20", "gas as an ERC-20 transfer has it"),
            ("parity-worst", "gas as the worst EVM case has it"),
            ("metis", "100 gas a token, after the work is done"),
            ("hanzo", "120,000 gas a call and 30 a prompt byte"),
            ("lux", "100,000 gas a call and 10 a token"),
            ("cortex", "operations / 20,000"),
        ),
        published=(
            ScheduleAudit(
                name="metis",
                title="Metis",
                formula="100 gas a token",
                source="its repository",
                worst_use="one token at the end of a full context",
                worst_ns_per_gas=104_000.0,
                seconds_per_30m_gas=3_120.0,
            ),
            ScheduleAudit(
                name="hanzo",
                title="Hanzo",
                formula="120,000 + 30 a prompt byte",
                source="its paper",
                worst_use="as much output as there is: it is free",
                worst_ns_per_gas=math.inf,
                seconds_per_30m_gas=math.inf,
            ),
            ScheduleAudit(
                name="lux",
                title="Lux",
                formula="100,000 + 10 a token",
                source="its repository",
                worst_use="a full context, one token",
                worst_ns_per_gas=66_000.0,
                seconds_per_30m_gas=1_980.0,
            ),
            ScheduleAudit(
                name="cortex",
                title="Cortex",
                formula="operations / 20,000",
                source="its repository",
                worst_use="sampled tokens",
                worst_ns_per_gas=580.0,
                seconds_per_30m_gas=17.4,
            ),
        ),
        runs=(
            run("wallet", "A wallet's agent, four steps", wallet, (0.06, 1.76, 1.31)),
            run("nested", "Three agents, one in another", nested, (0.14, 4.0, 2.9)),
            run("answer", "One answer of 200 tokens", answer, (0.01, 0.17, 1.6)),
        ),
        attacks=(
            attack(
                "metadata",
                "Huge metadata",
                ("64 tools whose descriptions fill every read", "refused: ContextTooLong"),
                Usage(calls=1, input_bytes=1_000_000, tools=64, evm_gas=9_000_000),
                1.9,
            ),
            attack(
                "thoughts",
                "Longest thoughts",
                ("an answer as long as the limit", "answered"),
                Usage(calls=1, input_bytes=700, cold_tokens=90, output_tokens=512, evm_gas=50_000),
                4.1,
            ),
            attack(
                "bytes",
                "A token a byte",
                ("a prompt of rare bytes that do not merge", "answered"),
                Usage(
                    calls=1, input_bytes=8_000, cold_tokens=7_700, output_tokens=12, evm_gas=180_000
                ),
                12.9,
            ),
            attack(
                "grammar",
                "An exploding grammar",
                ("64 tools of 32 parameters, in deep arrays", "answered"),
                Usage(
                    calls=1,
                    input_bytes=400_000,
                    tools=64,
                    parameters=2_048,
                    cold_tokens=6_000,
                    output_tokens=30,
                    evm_gas=4_000_000,
                ),
                21.0,
            ),
            attack(
                "warm",
                "Warm prefixes in turn",
                ("five prefixes, read again and again", "answered"),
                Usage(
                    calls=40,
                    input_bytes=90_000,
                    cold_tokens=4_000,
                    warm_tokens=120_000,
                    output_tokens=40,
                    evm_gas=2_000_000,
                ),
                9.7,
            ),
            attack(
                "gasless",
                "Out of gas, again and again",
                ("gas for all but the last token", "out of gas"),
                Usage(calls=12, input_bytes=8_000, cold_tokens=1_200, evm_gas=120_000),
                2.2,
            ),
        ),
        growth=(
            growth("steps", (1, 2, 4, 8, 16, 32)),
            growth("tools", (1, 2, 4, 8, 16, 32, 64)),
            growth("levels", (1, 2, 4, 8)),
        ),
        sizes=(size("135M", 134_515_008), size("0.5B", 494_032_768), size("1.5B", 1_543_714_304)),
        numeric=numeric(yardsticks),
    )


def degenerate() -> dict[str, Report]:
    """Return reports in which something is missing, endless, or known from one sample."""
    full = report()
    endless = Interval(middle=math.inf, low=math.inf, high=math.inf)
    nothing = Interval(middle=0.0, low=0.0, high=0.0)
    one = full.yardsticks[0]
    return {
        "bare": bare_report(),
        "empty": replace(bare_report(), yardsticks=()),
        "no anvil": replace(full, yardsticks=full.yardsticks[: len(YARDSTICKS)]),
        "no yardsticks": replace(full, yardsticks=()),
        "numeric alone": replace(bare_report(), numeric=numeric(())),
        "no samples of numeric models": replace(
            full,
            numeric=NumericResults(
                transactions=tuple(
                    replace(it, times=0, seconds=(), gas=(), seconds_per_30m_gas=())
                    for it in numeric(()).transactions
                ),
                prices=(),
                relative_error=0.0,
            ),
        ),
        "no scale": replace(full, growth=(), sizes=()),
        "no prices": replace(full, prices=()),
        "endless": replace(
            full,
            terms=tuple(replace(it, ns=endless, ns_at_most=endless) for it in full.terms),
            prices=tuple(
                replace(it, parity_gas=(("erc20", endless),), parity_gas_at_most=())
                for it in full.prices
            ),
            attacks=tuple(
                replace(it, seconds_per_30m_gas=(("default", endless),)) for it in full.attacks
            ),
        ),
        "nothing": replace(
            full,
            yardsticks=(replace(one, gas=0, seconds=(0.0,), ns_per_gas=nothing),),
            runs=tuple(
                replace(it, evm_seconds=nothing, seconds=(), predicted_seconds=None, costs=())
                for it in full.runs
            ),
            growth=tuple(replace(it, points=it.points[:1], exponents=()) for it in full.growth),
            sizes=tuple(replace(it, ns=(), parity_gas=()) for it in full.sizes),
            terms=tuple(replace(it, marginal=(), residuals=()) for it in full.terms),
        ),
        "one sample": replace(
            full,
            noise=Noise(beats_s=(0.002,), spread=0.0, load_average=0.0),
            yardsticks=tuple(replace(it, seconds=it.seconds[:1]) for it in full.yardsticks),
            runs=tuple(replace(it, seconds=it.seconds[:1]) for it in full.runs),
            attacks=tuple(replace(it, seconds=it.seconds[:1]) for it in full.attacks),
            terms=tuple(
                replace(it, marginal=it.marginal[:1], residuals=it.residuals[:1])
                for it in full.terms
            ),
        ),
        "noisy": replace(
            full, mode="quick", noise=Noise(beats_s=(0.002, 0.004), spread=0.4, load_average=9.0)
        ),
        "strange words": replace(
            full,
            runs=tuple(replace(it, title='<b>$a_1$ | *x*\n"&') for it in full.runs),
            model=replace(full.model, name="<script>alert(1)</script>"),
        ),
    }


def bare_report() -> Report:
    """Return a report of a run that measured the EVM's yardsticks and nothing else."""
    full = report()
    return replace(
        full,
        yardsticks=tuple(one for one in full.yardsticks if one.vm == OURS),
        left_out=(("terms", "not asked for"),),
        probes=(),
        terms=(),
        prices=(),
        schedules=(),
        published=(),
        runs=(),
        attacks=(),
        growth=(),
        sizes=(),
        numeric=None,
    )

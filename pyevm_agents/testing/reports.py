"""What agents did, as text: under a test that failed, and under an assertion.

    transaction 0x2ede6c2b…5328a4: 3,605,707 gas (1,068,207 EVM, 2,362,500 prompt, 175,000 output)
    2 steps; 475 cold and 448 warm tokens read, 35 written

    1  0x5FbDB2315678afecb367f032d93F642f64180aa3
       Thought      Deposit 10 USDC into the pool.
       Action       DeployTool
       Input        {"asset": "0x…", "amount": 10}
       Observation  Deposited 10 USDC
       Tokens       475 cold and 0 warm read, 35 written
       Gas          237,500 prompt, 87,500 output, 402,113 EVM

A nested agent's steps are indented under the step that used it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.display import pluralize, sanitize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.testing.run_log import AgentRun

MAX_CHARACTERS = 400
"""Of one text of a model or a tool; a hostile tool tells a megabyte."""

MAX_STEPS = 24
"""Of one transaction. Of more, the first and the last ones are shown, and those with a mark."""

MAX_RUNS = 8
"""Transactions and calls of one test: the latest ones."""

INDENT = 4
LABEL_WIDTH = 12

KINDS = {"block": "transaction", "call": "call", "estimate": "gas estimate"}


def format_runs(runs: Sequence[AgentRun], count: int | None = None) -> str:
    """Return what agents did in a test: its latest transactions and calls, in order.

    Input: the runs that are known; how many there were.
    """
    latest, all_of_them = runs[-MAX_RUNS:], len(runs) if count is None else count
    left_out = all_of_them - len(latest)
    head = (
        [f"({pluralize(left_out, 'earlier transaction')} of agents not shown)"] if left_out else []
    )
    return "\n\n".join([*head, *map(format_run, latest)])


def format_run(run: AgentRun, marks: Mapping[int, str] | None = None) -> str:
    """Return what agents did in a transaction.

    Input: what is to be said of steps, by their index: they are marked.
    """
    return "\n".join(
        [*_format_head(run), "", *format_steps(run.steps, marks or {}), *_format_end(run)]
    )


def format_steps(steps: Sequence[AgentStep], marks: Mapping[int, str]) -> Iterator[str]:
    """Yield the lines of steps."""
    wanted = _select_steps(len(steps), marks)
    before = -1
    for index in wanted:
        if index > before + 1:
            yield f"   … {pluralize(index - before - 1, 'step')} not shown"
        yield from _format_step(steps[index], index + 1, marks.get(index))
        before = index


def shorten_hash(data: bytes) -> str:
    """Return a hash for people."""
    text = data.hex()
    return f"0x{text[:8]}…{text[-6:]}"


def _select_steps(count: int, marks: Mapping[int, str]) -> list[int]:
    if count <= MAX_STEPS:
        return list(range(count))
    half = MAX_STEPS // 2
    ends = {*range(half), *range(count - half, count)}
    return sorted(ends | {index for index in marks if index < count})


def _format_head(run: AgentRun) -> Iterator[str]:
    name, cost = KINDS[run.purpose], run.cost
    if run.transaction_hash is not None:
        name += " " + shorten_hash(run.transaction_hash)
    if cost is None:
        yield name
        return
    yield (
        f"{name}: {cost.gas:,} gas ({cost.evm:,} EVM, {cost.prompt:,} prompt, {cost.output:,} "
        "output)"
    )
    yield (
        f"{pluralize(cost.steps, 'step')}; "
        f"{_format_tokens(cost.cold_tokens, cost.warm_tokens, cost.output_tokens)}"
    )


def _format_end(run: AgentRun) -> Iterator[str]:
    if run.failure is not None:
        yield f"   reverted: {sanitize(run.failure, MAX_CHARACTERS)}"
    if run.fault is not None:
        # What was said and could be said stands in the failure itself.
        yield f"   stopped: {sanitize(run.fault.split(chr(10), 1)[0], MAX_CHARACTERS)}"


def _format_step(step: AgentStep, number: int, mark: str | None) -> Iterator[str]:
    pad = " " * (INDENT * step.depth)
    sign = ">" if mark is not None else " "
    yield f"{sign}{number:>2} {pad}{to_checksum_address(step.agent)}"
    for label, text in _iter_parts(step):
        yield f"{sign}   {pad}{label:<{LABEL_WIDTH}} {text}"
    if mark is not None:
        yield from (f">   {pad}^ {line}" for line in mark.split("\n"))


def _iter_parts(step: AgentStep) -> Iterator[tuple[str, str]]:
    inference = step.inference
    yield "Thought", sanitize(step.thought, MAX_CHARACTERS)
    if step.answer is not None:
        yield "Answer", sanitize(step.answer, MAX_CHARACTERS)
    else:
        yield "Action", sanitize(step.action or "", MAX_CHARACTERS)
        yield "Input", sanitize(step.action_input or "", MAX_CHARACTERS)
        observation = (
            "(reverted)" if step.observation is None else sanitize(step.observation, MAX_CHARACTERS)
        )
        yield "Observation", observation
    yield (
        "Tokens",
        _format_tokens(inference.cold_tokens, inference.warm_tokens, inference.output_tokens),
    )
    evm = "" if step.evm_gas is None else f", {step.evm_gas:,} EVM"
    yield "Gas", f"{inference.prompt_gas:,} prompt, {inference.output_gas:,} output{evm}"


def _format_tokens(cold: int, warm: int, output: int) -> str:
    return f"{cold:,} cold and {warm:,} warm tokens read, {output:,} written"


# -- colour -- #

_COLOURS: tuple[tuple[re.Pattern[str], Mapping[str, bool]], ...] = (
    (re.compile(r">.*"), {"red": True}),
    (re.compile(r"(transaction|call|gas estimate)( 0x\w+…\w+)?(:.*)?"), {"bold": True}),
    (re.compile(r" +(reverted|stopped): .*"), {"red": True, "bold": True}),
    (re.compile(r" +Observation +\(reverted\)"), {"red": True}),
    (re.compile(r" +Answer .*"), {"green": True}),
    (re.compile(r" +(Action|Input) .*"), {"cyan": True}),
    (re.compile(r" +(Tokens|Gas) .*"), {"light": True}),
)


def colour_report(text: str, markup: Callable[..., str]) -> str:
    """Return a report in colours: `markup(text, red=True)` is that of pytest's terminal."""
    return "\n".join(_colour_line(line, markup) for line in text.split("\n"))


def _colour_line(line: str, markup: Callable[..., str]) -> str:
    for pattern, styles in _COLOURS:
        if pattern.fullmatch(line):
            return markup(line, **styles)
    return line

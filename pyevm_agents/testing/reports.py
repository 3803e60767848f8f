"""Agent runs as text, for failed tests and failed assertions.

    transaction 0x2ede6c2b…5328a4: 3,605,707 gas (1,068,207 EVM, 2,362,500 prompt, 175,000 output)
    2 steps; 475 cold and 448 warm tokens read, 35 written

    1  SimpleAgent 0x5FbDB2315678afecb367f032d93F642f64180aa3
       Thought      Deposit 10 USDC into the pool.
       Action       DeployTool
       Input        {"asset": "0x…", "amount": 10}
       Observation  Deposited 10 USDC
       Tokens       475 cold and 0 warm read, 35 written
       Gas          237,500 prompt, 87,500 output, 402,113 EVM

A nested agent's steps are indented under the outer step. An address of a contract that the test kit
deployed carries the contract's name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from precompiles.escaping import ADDRESS
from precompiles.outcome import is_done
from pyevm_agents.display import count_steps, pluralize, sanitize
from pyevm_agents.testing.run_log import NO_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.testing.run_log import AgentRun

MAX_CHARACTERS = 400
"""Characters of one text of a model or a tool: a hostile tool returns a megabyte."""

MAX_STEPS = 24
"""Steps of one transaction. Of more, the first, the last and the marked ones are shown."""

MAX_RUNS = 8
"""Transactions and calls of one test: the latest ones are shown."""

INDENT = 4
LABEL_WIDTH = 12

KINDS = {"block": "transaction", "call": "call", "estimate": "gas estimate"}


def format_runs(runs: Sequence[AgentRun], count: int | None = None) -> str:
    """Return the latest transactions and calls of a test, in order.

    Input: the known runs; the number of all runs, None if these are all.
    """
    latest, all_of_them = runs[-MAX_RUNS:], len(runs) if count is None else count
    left_out = all_of_them - len(latest)
    head = [f"({pluralize(left_out, 'earlier transaction')} not shown)"] if left_out else []
    return "\n\n".join([*head, *map(format_run, latest)])


def format_run(run: AgentRun, marks: Mapping[int, str] | None = None) -> str:
    """Return the trace of a transaction's agents.

    Input: the run; texts for the marked steps, by index.
    """
    steps = [*format_steps(run.steps, marks or {}, run.names)]
    return "\n".join([*_format_head(run), "", *steps, *_format_end(run)])


def format_steps(
    steps: Sequence[AgentStep], marks: Mapping[int, str], names: Mapping[bytes, str] = NO_NAMES
) -> Iterator[str]:
    """Yield the lines of steps.

    Input: the steps; texts for the marked ones, by index; names of contracts, by address.
    """
    wanted = _select_steps(len(steps), marks)
    before = -1
    for index in wanted:
        if index > before + 1:
            yield f"   … {pluralize(index - before - 1, 'step')} not shown"
        yield from _format_step(steps[index], index + 1, marks.get(index), names)
        before = index


def shorten_hash(data: bytes) -> str:
    """Return the first and last digits of a hash."""
    text = data.hex()
    return f"0x{text[:8]}…{text[-6:]}"


def format_address(address: bytes, names: Mapping[bytes, str]) -> str:
    """Return a checksummed address, after the contract's name if known."""
    text, name = to_checksum_address(address), names.get(address)
    return text if name is None else f"{name} {text}"


def name_addresses(text: str, names: Mapping[bytes, str]) -> str:
    """Return a text in which the contract's name follows each known address."""

    def add_name(match: re.Match[str]) -> str:
        name = names.get(bytes.fromhex(match[0][2:]))
        return match[0] if name is None else f"{match[0]} ({name})"

    return ADDRESS.sub(add_name, text) if names else text


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
        f"{count_steps(cost.steps, sum(step.inference.is_decided for step in run.steps))}; "
        f"{_format_tokens(cost.cold_tokens, cost.warm_tokens, cost.output_tokens)}"
    )


def _format_end(run: AgentRun) -> Iterator[str]:
    if run.failure is not None:
        failure = name_addresses(run.failure, run.names)
        yield f"   reverted: {sanitize(failure, MAX_CHARACTERS)}"
        gas = run.describe_needed_gas()
        if gas is not None:
            yield f"   out of gas: {gas}"
    if run.fault is not None:
        # The rest of a ScriptError is in the test's own failure.
        yield f"   stopped: {sanitize(run.fault.split(chr(10), 1)[0], MAX_CHARACTERS)}"


def _format_step(
    step: AgentStep, number: int, mark: str | None, names: Mapping[bytes, str]
) -> Iterator[str]:
    pad = " " * (INDENT * step.depth)
    sign = ">" if mark is not None else " "
    yield f"{sign}{number:>2} {pad}{format_address(step.agent, names)}"
    for label, text in _iter_parts(step, names):
        yield f"{sign}   {pad}{label:<{LABEL_WIDTH}} {text}"
    if mark is not None:
        yield from (f">   {pad}^ {line}" for line in mark.split("\n"))


def _iter_parts(step: AgentStep, names: Mapping[bytes, str]) -> Iterator[tuple[str, str]]:
    inference = step.inference
    yield "Thought", sanitize(step.thought, MAX_CHARACTERS)
    if step.answer is not None:
        label = "Answer" if is_done(step.answer) else "Not done"
        yield label, sanitize(step.answer, MAX_CHARACTERS)
    else:
        yield "Action", sanitize(step.action or "", MAX_CHARACTERS)
        yield "Input", sanitize(step.action_input or "", MAX_CHARACTERS)
        yield "Observation", _format_observation(step, names)
    yield (
        "Tokens",
        "none: decided by the rules"
        if inference.is_decided
        else _format_tokens(inference.cold_tokens, inference.warm_tokens, inference.output_tokens),
    )
    evm = "" if step.evm_gas is None else f", {step.evm_gas:,} EVM"
    yield "Gas", f"{inference.prompt_gas:,} prompt, {inference.output_gas:,} output{evm}"


def _format_observation(step: AgentStep, names: Mapping[bytes, str]) -> str:
    if step.observation is not None:
        return sanitize(step.observation, MAX_CHARACTERS)
    if step.tool_failure is None:
        return "(reverted)"
    return f"(reverted: {sanitize(name_addresses(step.tool_failure, names), MAX_CHARACTERS)})"


def _format_tokens(cold: int, warm: int, output: int) -> str:
    return f"{cold:,} cold and {warm:,} warm tokens read, {output:,} written"


# -- colour -- #

_COLOURS: tuple[tuple[re.Pattern[str], Mapping[str, bool]], ...] = (
    (re.compile(r">.*"), {"red": True}),
    (re.compile(r"(transaction|call|gas estimate)( 0x\w+…\w+)?(:.*)?"), {"bold": True}),
    (re.compile(r" +(reverted|out of gas|stopped): .*"), {"red": True, "bold": True}),
    (re.compile(r" +Observation +\(reverted.*\)"), {"red": True}),
    (re.compile(r" +Answer .*"), {"green": True}),
    (re.compile(r" +(Action|Input) .*"), {"cyan": True}),
    (re.compile(r" +(Tokens|Gas) .*"), {"light": True}),
)


def colour_report(text: str, markup: Callable[..., str]) -> str:
    """Return a report in colours.

    Input: the report; pytest's `TerminalWriter.markup`, called as `markup(text, red=True)`.
    """
    return "\n".join(_colour_line(line, markup) for line in text.split("\n"))


def _colour_line(line: str, markup: Callable[..., str]) -> str:
    for pattern, styles in _COLOURS:
        if pattern.fullmatch(line):
            return markup(line, **styles)
    return line

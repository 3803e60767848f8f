"""`pyevm-agents trace`: what agents did in a transaction, as a tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from precompiles.language_model import Margin
from pyevm_agents.cli.output import format_margin, out
from pyevm_agents.cli.rpc_client import RpcClient, json_option, print_json, rpc_option
from pyevm_agents.display import pluralize, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    StepJson = dict[str, Any]

HASH = re.compile(r"0x[0-9a-fA-F]{64}")

PROMPT_CHARACTERS = 160
"""How much of a prompt's end is shown: the request, or what the last tool told."""

EXAMPLES = """\b
Examples:
  pyevm-agents trace 0xd574a5d93e9143b07ddadf9fca739213354c4f3d803e486987a1c601561cc3dd
  pyevm-agents trace 0xd574…c3dd --prompts | less -R
  pyevm-agents trace 0xd574…c3dd --json | jq '.steps[].action'
"""


def _validate_hash(_context: click.Context, _argument: click.Parameter, value: str) -> str:
    if not HASH.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no hash of a transaction: 0x and 64 digits")
    return value


@click.command(short_help="Show what agents did in a transaction.", epilog=EXAMPLES)
@click.argument("transaction", metavar="TX", callback=_validate_hash)
@click.option("--prompts", is_flag=True, help="Show prompts as a whole.")
@rpc_option
@json_option
def trace(transaction: str, remote: RpcClient, *, prompts: bool, as_json: bool) -> None:
    """Show what agents did in the transaction of hash TX, step by step.

    Each step with its prompt, its tokens (read for the first time, read again, written, forced by
    the grammar) and their gas, what the model said, what the tool told, how close its closest
    decision was, and how long it took. A nested agent's steps hang under the step that used it.
    """
    tx_trace = remote.call("agent_traceTransaction", transaction)
    if as_json:
        print_json(tx_trace)
        return
    _print_head(tx_trace)
    for number, step in enumerate(tx_trace["steps"], start=1):
        is_last = number == len(tx_trace["steps"])
        for line in _iter_tree_lines(step, tx_trace["closest"], is_last=is_last, prompts=prompts):
            out.print(line, soft_wrap=True)


def _print_head(tx_trace: StepJson) -> None:
    gas, tokens = tx_trace["gas"], tx_trace["tokens"]
    out.print(f"[bold]Transaction[/] {escape(tx_trace['transactionHash'])}", soft_wrap=True)
    reason = tx_trace.get("reason")  # An earlier version's trace has none.
    if reason is not None:
        out.print(
            f"[red]It failed, and what was done is undone:[/] {escape(reason)}", soft_wrap=True
        )
    if not tx_trace["steps"]:
        out.print(f"{gas['used']:,} gas; no agent took a step in it")
        return
    out.print(
        f"{gas['used']:,} gas: {gas['evm']:,} EVM, {gas['prompt']:,} prompt, {gas['output']:,} "
        "output",
        soft_wrap=True,
    )
    out.print(
        f"{_format_tokens(tokens)}, in {pluralize(_count(tx_trace['steps']), 'step')}\n",
        soft_wrap=True,
    )


def _count(steps: list[StepJson]) -> int:
    return sum(1 + _count(step["steps"]) for step in steps)


def _iter_tree_lines(
    step: StepJson, closest: object, *, is_last: bool, prompts: bool
) -> Iterator[str]:
    """Yield a step's lines, and those of the steps below it, with the lines of the tree."""
    yield f"[dim]{'└─' if is_last else '├─'}[/] {_format_title(step)}"
    margin = "   " if is_last else "│  "
    nested = step["steps"]
    stem = "│ " if nested else "  "
    for line in _iter_body_lines(step, is_closest=step["number"] == closest, prompts=prompts):
        yield f"[dim]{margin}{stem}[/]{line}"
    for index, child in enumerate(nested, start=1):
        below = _iter_tree_lines(child, closest, is_last=index == len(nested), prompts=prompts)
        for line in below:
            yield f"[dim]{margin}[/]{line}"
    if not is_last:
        yield "[dim]│[/]"


def _format_title(step: StepJson) -> str:
    return (
        f"[bold]Step {step['number']}[/]  {escape(step['agent'])} "
        f"[dim]on {escape(sanitize(step['model']))}[/]"
    )


def _iter_body_lines(step: StepJson, *, is_closest: bool, prompts: bool) -> Iterator[str]:
    gas, seconds = step["gas"], step["seconds"]
    yield from _iter_prompt_lines(step["prompt"], is_whole=prompts)
    yield _format_line("Tokens", _format_tokens(step["tokens"]))
    yield _format_line("Gas", f"{gas['prompt']:,} prompt, {gas['output']:,} output")
    yield _format_line("Thought", sanitize(step["thought"]), "italic")
    if step["answer"] is not None:
        yield _format_line("Answer", sanitize(step["answer"]), "bold green")
    else:
        yield _format_line("Action", sanitize(step["action"] or ""), "bold cyan")
        yield _format_line("Input", sanitize(step["input"] or ""), "cyan")
        if step["observation"] is None:
            yield _format_line("Observation", "reverted", "bold red")
        else:
            yield _format_line("Observation", sanitize(step["observation"]))
    if step["margin"] is not None:
        margin_text = _format_step_margin(step["margin"]) + (
            ", the run's closest" if is_closest else ""
        )
        yield _format_line("Margin", margin_text, "bold yellow" if is_closest else "dim")
    if seconds is not None:
        yield _format_line("Time", f"{seconds:.2f} s")


def _iter_prompt_lines(prompt: str, *, is_whole: bool) -> Iterator[str]:
    if not is_whole:
        end = prompt.rstrip()[-PROMPT_CHARACTERS:]
        yield _format_line(
            "Prompt", ("… " if len(end) < len(prompt) else "") + sanitize(end), "dim"
        )
        return
    for index, line in enumerate(prompt.split("\n")):
        yield _format_line("Prompt" if index == 0 else "", sanitize(line), "dim")


def _format_line(name: str, text: str, style: str = "") -> str:
    styled = f"[{style}]{escape(text)}[/]" if style else escape(text)
    return f"{name:<12} {styled}"


def _format_tokens(tokens: dict[str, int]) -> str:
    return (
        f"{tokens['cold']:,} cold and {tokens['warm']:,} warm read, {tokens['output']:,} written "
        f"({tokens['forced']:,} forced)"
    )


def _format_step_margin(form: dict[str, Any]) -> str:
    margin = Margin(
        gap=form["gap"], token_index=form["token"], chosen=form["chosen"], other=form["other"]
    )
    return sanitize(format_margin(margin))

"""`pyevm-agents trace`: what agents did in a transaction, as a tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from precompiles.language_model import Margin
from pyevm_agents.cli.output import closest_decision, out
from pyevm_agents.cli.rpc_client import Remote, json_option, print_json, rpc_option
from pyevm_agents.display import counted, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    Step = dict[str, Any]

HASH = re.compile(r"0x[0-9a-fA-F]{64}")

PROMPT_CHARACTERS = 160
"""How much of a prompt's end is shown: the request, or what the last tool told."""

EXAMPLES = """\b
Examples:
  pyevm-agents trace 0xd574a5d93e9143b07ddadf9fca739213354c4f3d803e486987a1c601561cc3dd
  pyevm-agents trace 0xd574…c3dd --prompts | less -R
  pyevm-agents trace 0xd574…c3dd --json | jq '.steps[].action'
"""


def _hash(_context: click.Context, _argument: click.Parameter, value: str) -> str:
    if not HASH.fullmatch(value):
        raise click.BadParameter(f"{value!r} is no hash of a transaction: 0x and 64 digits")
    return value


@click.command(short_help="Show what agents did in a transaction.", epilog=EXAMPLES)
@click.argument("transaction", metavar="TX", callback=_hash)
@click.option("--prompts", is_flag=True, help="Show prompts as a whole.")
@rpc_option
@json_option
def trace(transaction: str, remote: Remote, *, prompts: bool, as_json: bool) -> None:
    """Show what agents did in the transaction of hash TX, step by step.

    Each step with its prompt, its tokens (read for the first time, read again, written, forced by
    the grammar) and their gas, what the model said, what the tool told, how close its closest
    decision was, and how long it took. A nested agent's steps hang under the step that used it.
    """
    told = remote.ask("agent_traceTransaction", transaction)
    if as_json:
        print_json(told)
        return
    _print_head(told)
    for number, step in enumerate(told["steps"], start=1):
        is_last = number == len(told["steps"])
        for line in _tree(step, told["closest"], is_last=is_last, prompts=prompts):
            out.print(line, soft_wrap=True)


def _print_head(told: Step) -> None:
    gas, tokens = told["gas"], told["tokens"]
    out.print(f"[bold]Transaction[/] {escape(told['transactionHash'])}", soft_wrap=True)
    reason = told.get("reason")  # An earlier version's trace has none.
    if reason is not None:
        out.print(
            f"[red]It failed, and what was done is undone:[/] {escape(reason)}", soft_wrap=True
        )
    if not told["steps"]:
        out.print(f"{gas['used']:,} gas; no agent took a step in it")
        return
    out.print(
        f"{gas['used']:,} gas: {gas['evm']:,} EVM, {gas['prompt']:,} prompt, {gas['output']:,} "
        "output",
        soft_wrap=True,
    )
    out.print(
        f"{_tokens(tokens)}, in {counted(_count(told['steps']), 'step')}\n",
        soft_wrap=True,
    )


def _count(steps: list[Step]) -> int:
    return sum(1 + _count(step["steps"]) for step in steps)


def _tree(step: Step, closest: object, *, is_last: bool, prompts: bool) -> Iterator[str]:
    """Yield a step's lines, and those of the steps below it, with the lines of the tree."""
    yield f"[dim]{'└─' if is_last else '├─'}[/] {_title(step)}"
    margin = "   " if is_last else "│  "
    nested = step["steps"]
    stem = "│ " if nested else "  "
    for line in _body(step, is_closest=step["number"] == closest, prompts=prompts):
        yield f"[dim]{margin}{stem}[/]{line}"
    for index, one in enumerate(nested, start=1):
        below = _tree(one, closest, is_last=index == len(nested), prompts=prompts)
        for line in below:
            yield f"[dim]{margin}[/]{line}"
    if not is_last:
        yield "[dim]│[/]"


def _title(step: Step) -> str:
    return (
        f"[bold]Step {step['number']}[/]  {escape(step['agent'])} "
        f"[dim]on {escape(shown(step['model']))}[/]"
    )


def _body(step: Step, *, is_closest: bool, prompts: bool) -> Iterator[str]:
    gas, seconds = step["gas"], step["seconds"]
    yield from _prompt(step["prompt"], is_whole=prompts)
    yield _line("Tokens", _tokens(step["tokens"]))
    yield _line("Gas", f"{gas['prompt']:,} prompt, {gas['output']:,} output")
    yield _line("Thought", shown(step["thought"]), "italic")
    if step["answer"] is not None:
        yield _line("Answer", shown(step["answer"]), "bold green")
    else:
        yield _line("Action", shown(step["action"] or ""), "bold cyan")
        yield _line("Input", shown(step["input"] or ""), "cyan")
        if step["observation"] is None:
            yield _line("Observation", "reverted", "bold red")
        else:
            yield _line("Observation", shown(step["observation"]))
    if step["margin"] is not None:
        told = _margin(step["margin"]) + (", the run's closest" if is_closest else "")
        yield _line("Margin", told, "bold yellow" if is_closest else "dim")
    if seconds is not None:
        yield _line("Time", f"{seconds:.2f} s")


def _prompt(prompt: str, *, is_whole: bool) -> Iterator[str]:
    if not is_whole:
        end = prompt.rstrip()[-PROMPT_CHARACTERS:]
        yield _line("Prompt", ("… " if len(end) < len(prompt) else "") + shown(end), "dim")
        return
    for index, line in enumerate(prompt.split("\n")):
        yield _line("Prompt" if index == 0 else "", shown(line), "dim")


def _line(name: str, text: str, style: str = "") -> str:
    styled = f"[{style}]{escape(text)}[/]" if style else escape(text)
    return f"{name:<12} {styled}"


def _tokens(tokens: dict[str, int]) -> str:
    return (
        f"{tokens['cold']:,} cold and {tokens['warm']:,} warm read, {tokens['output']:,} written "
        f"({tokens['forced']:,} forced)"
    )


def _margin(told: dict[str, Any]) -> str:
    margin = Margin(
        gap=told["gap"], token_index=told["token"], chosen=told["chosen"], other=told["other"]
    )
    return shown(closest_decision(margin))

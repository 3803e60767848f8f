"""`pyevm-agents trace`: the agents' steps in a transaction, as a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from precompiles.language_model import Margin
from pyevm_agents.cli.options.node import call_node, rpc_option
from pyevm_agents.cli.output import format_answer_label, json_option, out, print_json
from pyevm_agents.display import count_steps, format_margin, name_addresses, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    StepJson = dict[str, Any]

HASH = re.compile(r"0x[0-9a-fA-F]{64}")

PROMPT_CHARACTERS = 160
"""Characters of a prompt's end that are shown: the question, or the last observation."""

EXAMPLES = """\b
Examples:
  pyevm-agents trace 0xd574a5d93e9143b07ddadf9fca739213354c4f3d803e486987a1c601561cc3dd
  pyevm-agents trace 0xd574…c3dd --prompts | less -R
  pyevm-agents trace 0xd574…c3dd --json | jq '.steps[].action'
"""


def _validate_hash(_context: click.Context, _argument: click.Parameter, value: str) -> str:
    if not HASH.fullmatch(value):
        raise click.BadParameter(
            f"{value!r}: not a transaction hash; must be 0x and 64 hexadecimal digits"
        )
    return value


@click.command(epilog=EXAMPLES)
@click.argument("transaction", metavar="TX", callback=_validate_hash)
@click.option(
    "--prompts", "--prompt", "prompts", is_flag=True,
    help="Show whole prompts, and the addresses of their handles.  [default: the last line]",
)  # fmt: skip
@rpc_option
@json_option
def trace(transaction: str, url: str, *, prompts: bool, as_json: bool) -> None:
    """Show the steps of agents in the transaction with hash TX.

    Each step has the prompt, the generation and the observation, the tokens (cold, warm, output,
    forced) and their gas, the margin of the closest decision, and the time of the inference. A
    nested agent's steps are below the calling step. Addresses have the names of the agent's base
    prompt, or else of contracts that the node knows: see `pyevm-agents node --artifacts`. An answer
    is labelled `Not done` if the agent did not do the task.
    """
    tx_trace = call_node(url, "agent_traceTransaction", transaction)
    if as_json:
        print_json(tx_trace)
        return
    view = TraceView(
        names=tx_trace.get("names", {}),  # Older nodes have none.
        closest=tx_trace["closest"],
        shows_prompts=prompts,
    )
    view.print_head(tx_trace)
    for number, step in enumerate(tx_trace["steps"], start=1):
        for line in view.iter_tree_lines(step, is_last=number == len(tx_trace["steps"])):
            out.print(line, soft_wrap=True)


def _count_steps(steps: list[StepJson]) -> str:
    flat = list(_flatten(steps))
    return count_steps(len(flat), sum(map(_is_decided, flat)))


def _flatten(steps: list[StepJson]) -> Iterator[StepJson]:
    for step in steps:
        yield step
        yield from _flatten(step["steps"])


def _is_decided(step: StepJson) -> bool:
    decided: bool = step.get("isDecided", False)  # Older nodes have no such field.
    return decided


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceView:
    """A trace as lines of text."""

    names: Mapping[str, str]
    """Names by checksummed address."""

    closest: int | None
    """The number of the step with the closest decision."""

    shows_prompts: bool

    def print_head(self, tx_trace: StepJson) -> None:
        """Print the transaction's outcome, gas and tokens."""
        gas, tokens = tx_trace["gas"], tx_trace["tokens"]
        out.print(f"[bold]Transaction[/] {escape(tx_trace['transactionHash'])}", soft_wrap=True)
        reason = tx_trace.get("reason")  # Older nodes have none.
        if reason is not None:
            text = escape(self.format_text(reason))
            out.print(f"[red]Reverted, with all effects of its tools:[/] {text}", soft_wrap=True)
        if not tx_trace["steps"]:
            out.print(f"{gas['used']:,} gas; no agent took a step in it")
            return
        out.print(
            f"{gas['used']:,} gas: {gas['evm']:,} EVM, {gas['prompt']:,} prompt, "
            f"{gas['output']:,} output",
            soft_wrap=True,
        )
        out.print(
            f"{_format_tokens(tokens)}, in {_count_steps(tx_trace['steps'])}\n",
            soft_wrap=True,
        )

    def format_text(self, text: str) -> str:
        """Return a text from the chain on one line, with names of the addresses."""
        return sanitize(name_addresses(text, self.names))

    def format_address(self, address: str) -> str:
        """Return an address, after the name, if any."""
        name = self.names.get(address)
        return address if name is None else f"{name} {address}"

    def iter_tree_lines(self, step: StepJson, *, is_last: bool) -> Iterator[str]:
        """Yield a step's lines, and those of the steps below, with the lines of the tree."""
        yield f"[dim]{'└─' if is_last else '├─'}[/] {self._format_title(step)}"
        margin = "   " if is_last else "│  "
        nested = step["steps"]
        stem = "│ " if nested else "  "
        for line in self._iter_body_lines(step):
            yield f"[dim]{margin}{stem}[/]{line}"
        for index, child in enumerate(nested, start=1):
            for line in self.iter_tree_lines(child, is_last=index == len(nested)):
                yield f"[dim]{margin}[/]{line}"
        if not is_last:
            yield "[dim]│[/]"

    def _format_title(self, step: StepJson) -> str:
        return (
            f"[bold]Step {step['number']}[/]  {escape(self.format_address(step['agent']))} "
            f"[dim]on {escape(sanitize(step['model']))}[/]"
        )

    def _iter_body_lines(self, step: StepJson) -> Iterator[str]:
        gas = step["gas"]
        yield from self._iter_prompt_lines(step)
        tokens = "none: decided by the rules"
        yield format_line("Tokens", tokens if _is_decided(step) else _format_tokens(step["tokens"]))
        yield format_line("Gas", f"{gas['prompt']:,} prompt, {gas['output']:,} output")
        yield format_line("Thought", self.format_text(step["thought"]), "italic")
        if step["answer"] is not None:
            yield self.format_answer(step["answer"])
        else:
            yield from self.iter_action_lines(step)
        if step["margin"] is not None:
            is_closest = step["number"] == self.closest
            text = _format_step_margin(step["margin"]) + (", the run's closest" * is_closest)
            yield format_line("Margin", text, "bold yellow" if is_closest else "dim")
        if step.get("confidence") is not None:
            yield format_line("Surprisal", f"{step['confidence']['surprisal']:.2f} nats", "dim")
        is_cached = step.get("isCached", False)  # Older nodes have no such field.
        if step["seconds"] is not None or is_cached:
            duration = "unknown" if step["seconds"] is None else f"{step['seconds']:.2f} s"
            yield format_line("Time", f"cached; computed in {duration}" if is_cached else duration)

    def format_answer(self, answer: str) -> str:
        """Return the line of an answer, with a label: done or not."""
        label, style = format_answer_label(answer)
        return format_line(label, self.format_text(answer), style)

    def iter_action_lines(self, step: StepJson) -> Iterator[str]:
        """Yield the lines of a step's tool, the arguments and the result."""
        action = sanitize(step["action"] or "")
        if step.get("tool") is not None:
            action += f"  {self.format_address(step['tool'])}"
        yield format_line("Action", action, "bold cyan")
        yield format_line("Input", self.format_text(step["input"] or ""), "cyan")
        if step["observation"] is not None:
            yield format_line("Observation", self.format_text(step["observation"]))
            return
        reason = step.get("reason")
        text = "reverted" if reason is None else f"reverted: {self.format_text(reason)}"
        yield format_line("Observation", text, "bold red")

    def _iter_prompt_lines(self, step: StepJson) -> Iterator[str]:
        prompt = step["prompt"]
        if not self.shows_prompts:
            end = prompt.rstrip()[-PROMPT_CHARACTERS:]
            cut = "… " if len(end) < len(prompt) else ""
            yield format_line("Prompt", cut + sanitize(end), "dim")
            return
        for index, line in enumerate(prompt.split("\n")):
            yield format_line("Prompt" if index == 0 else "", sanitize(line), "dim")
        for index, (handle, address) in enumerate(step.get("handles", {}).items()):
            name = self.names.get(address, handle)
            contract = "" if name == handle else f"  {name}"
            text = f"{sanitize(handle)} = {address}{contract}"
            yield format_line("" if index else "Handles", text, "dim")


def format_line(name: str, text: str, style: str = "") -> str:
    """Return a line with a label, as markup."""
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

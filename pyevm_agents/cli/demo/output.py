"""Output of `pyevm-agents demo`: steps, balances and gas of a run, as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from precompiles.escaping import escape_line
from precompiles.language_model import NAT
from pyevm_agents.agents.trace import find_closest_step
from pyevm_agents.cli.output import format_answer_label, format_margin, out, print_table
from pyevm_agents.display import count_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.scenarios.ideal_runs import RunOutcome
    from pyevm_agents.scenarios.wallet import Balances, DemoRun, WalletDemo


AMOUNT = re.compile(r"\b(amount|balance|needed)=(\d+)")
"""Fields of the contracts' errors that are amounts in base units."""

LABEL_WIDTH = 12
"""Characters of the labels of a demo's decisions."""

MAX_SHOWN_CHARACTERS = 1_000
"""Characters printed of a text: some twelve terminal lines. `--json` prints all."""


def print_run(run: DemoRun, wallet: WalletDemo, model: Mapping[str, str], seconds: float) -> None:
    """Print a run: its steps, outcome, balances and gas."""
    print_title(model)
    print_steps(run, wallet)
    out.print(f"\n[bold]Transaction[/]  0x{run.transaction_hash.hex()}")
    steps = count_steps(len(run.steps), sum(step.inference.is_decided for step in run.steps))
    fate = "[bold green]succeeded[/]" if run.is_success else "[bold red]reverted[/]"
    out.print(f"             {fate} after {seconds:.1f} s, in {steps}")
    print_failure(run, wallet)
    out.print()
    print_table(build_balance_table(run.before, run.after, wallet.unit))
    out.print()
    print_table(build_gas_table(run))


def print_title(model: Mapping[str, str]) -> None:
    """Print the model's name and digest."""
    out.print(
        f"[bold]{escape(model['name'])}[/] [dim]sha256 {model['sha256'][:16]}… in genesis[/]",
        soft_wrap=True,
    )


def print_beginning(model: Mapping[str, str], *, is_ideal: bool) -> None:
    """Print the model's name and digest, or also that a script runs in its place."""
    print_title(model)
    if is_ideal:
        out.print("[bold yellow]The scripted ideal, in place of the model[/]")


def print_decision(title: str, lines: Iterable[tuple[str, str, str]]) -> None:
    """Print a decision of a demo: a title, and labels, texts and styles below it."""
    out.print(f"\n[bold]{escape(title)}[/]", soft_wrap=True)
    for label, text, style in lines:
        markup = escape(truncate_text(text))
        markup = f"[{style}]{markup}[/]" if style else markup
        out.print(f"   {label:<{LABEL_WIDTH}} {markup}", soft_wrap=True)


def iter_ending_lines(
    outcome: RunOutcome, differences: Iterable[str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the last lines of a decision: transaction, gas, and how it differs from the ideal."""
    yield "Transaction", f"0x{outcome.transaction_hash.hex()}", "dim"
    yield "Gas", f"{outcome.gas_used:,}", "dim"
    for difference in differences:
        yield "Differs", difference, "bold yellow"


def print_ideal_count(ideal: int, count: int, seconds: float, others: str) -> None:
    """Print how many of a demo's decisions ended as the ideal, and other counts."""
    style = "bold green" if ideal == count else "bold yellow"
    out.print(
        f"\n[{style}]{ideal} of {count} ended as the ideal[/], after {seconds:.1f} s; {others}"
    )


def print_steps(run: DemoRun, wallet: WalletDemo) -> None:
    """Print an instruction and the agent's steps."""
    names = wallet.names
    out.print(
        "\n[bold]Instruction[/]  "
        + escape(truncate_text(replace_addresses(run.instruction, names))),
        soft_wrap=True,
    )
    for number, step in enumerate(run.steps, start=1):
        lines = [("Thought", step.thought, "italic")]
        if step.answer is not None:
            label, style = format_answer_label(step.answer)
            lines.append((label, step.answer, style))
        else:
            lines += [
                ("Action", step.action or "", "bold cyan"),
                ("Input", step.action_input or "", "cyan"),
                _format_observation(step, wallet),
            ]
        indent = "  " * step.depth
        out.print(f"\n{indent}[dim]Step {number}[/]")
        if step.inference.is_decided:
            lines.append(("Decided", "by the rules, without a model", "dim"))
        if step.margin is not None:
            style = "bold yellow" if number - 1 == find_closest_step(run.steps) else "dim"
            lines.append(("Closest", format_margin(step.margin), style))
        if step.confidence is not None:
            text = f"{step.confidence.surprisal / NAT:.2f} nats"
            lines.append(("Surprisal", text, "dim"))
        for label, text, style in lines:
            markup = escape(truncate_text(replace_addresses(text, names)))
            markup = f"[{style}]{markup}[/]" if style else markup
            out.print(f"{indent}  {label:<12} {markup}", soft_wrap=True)


def _format_observation(step: AgentStep, wallet: WalletDemo) -> tuple[str, str, str]:
    """Return the label, text and style of a tool's answer, or of the reason of its revert."""
    if step.observation is not None:
        return "Observation", step.observation, ""
    if step.tool_failure is None:
        return "Observation", "reverted", "bold red"
    reason = replace_addresses(step.tool_failure, wallet.names)
    return "Observation", f"reverted: {format_whole_tokens(reason, wallet.unit)}", "bold red"


def print_failure(run: DemoRun, wallet: WalletDemo) -> None:
    """Print the reasons of a revert, one per line, outermost first."""
    if run.failure is None:
        return
    for depth, reason in enumerate(run.failure.split("reason=")):
        message = replace_addresses(
            reason.rstrip("), ") + ")" if "(" in reason else reason, wallet.names
        )
        message = format_whole_tokens(message, wallet.unit)
        out.print(
            f"             [red]{'  ' * depth}{escape(truncate_text(message))}[/]", soft_wrap=True
        )


def print_atomicity(wallet: WalletDemo, run: DemoRun) -> None:
    """Print a run whose second tool reverts, and whether the first tool's effects are reverted."""
    out.print("\n[bold]All or nothing[/]  [dim]a scripted model, under the same rules[/]")
    print_steps(run, wallet)
    fate = "[bold red]succeeded[/]" if run.is_success else "reverted"
    if run.before == run.after:
        verdict = "[bold green]all balances unchanged[/]"
    else:
        verdict = "[bold red]balances changed[/]"
    out.print(f"\n[bold]Transaction[/]  {fate}; {verdict}")
    print_failure(run, wallet)


def format_whole_tokens(reason: str, unit: Mapping[str, int]) -> str:
    """Return a reason with its amounts in whole tokens, if it names the token."""
    symbol = next((symbol for symbol in unit if f"asset={symbol}" in reason), None)
    if symbol is None:
        return reason
    return AMOUNT.sub(
        lambda match: f"{match[1]}={format_amount(int(match[2]), unit[symbol])}", reason
    )


def build_balance_table(before: Balances, after: Balances, unit: Mapping[str, int]) -> Table:
    """Return a table of the balances before and after, in whole tokens."""
    table = Table(box=None, padding=(0, 3, 0, 0), title_justify="left", header_style="bold")
    for heading in ("Balances", "", "before", "after", "change"):
        table.add_column(
            heading, justify="right" if heading in {"before", "after", "change"} else "left"
        )
    for place in before:
        for symbol in before[place]:
            old, new = before[place][symbol], after[place][symbol]
            change = (
                f"{format_amount(new - old, unit[symbol], sign=True)}"
                if new != old
                else "[dim]0[/]"
            )
            table.add_row(
                place,
                symbol,
                format_amount(old, unit[symbol]),
                format_amount(new, unit[symbol]),
                change,
            )
    return table


def build_gas_table(run: DemoRun) -> Table:
    """Return a table of the transaction's gas by kind."""
    tokens = run.count_tokens()
    rows = [
        ("EVM", run.evm_gas, "contracts, and reading the tools' metadata"),
        ("prompt", run.prompt_gas, f"{tokens['cold']:,} cold and {tokens['warm']:,} warm tokens"),
        (
            "output",
            run.output_gas,
            f"{tokens['output']:,} tokens, {tokens['forced']:,} of them forced",
        ),
        ("total", run.gas_used, ""),
    ]
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("Gas")
    table.add_column("used", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    for label, gas, note in rows:
        share = f"{100 * gas / run.gas_used:.0f} %"
        table.add_row(label, f"{gas:,}", share, f"[dim]{note}[/]")
    return table


def format_amount(amount: int, unit: int, *, sign: bool = False) -> str:
    """Return base units as whole tokens.

    Input:  unit: base units of a whole token; sign: whether a positive amount has a plus.
    """
    whole, rest = divmod(abs(amount), unit)
    minus = "-" if amount < 0 else "+" if sign else ""
    fraction = f".{rest:0{len(str(unit)) - 1}d}".rstrip("0") if rest else ""
    return f"{minus}{whole:,}{fraction}"


def truncate_text(text: str) -> str:
    """Return a text; the beginning and the size of a long one."""
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    return f"{text[:MAX_SHOWN_CHARACTERS].rstrip()} … ({len(text.encode()):,} bytes)"


def replace_addresses(text: str, names: Mapping[str, str]) -> str:
    """Replace addresses by names, and escape control characters."""
    for address, name in names.items():
        text = text.replace(address, name)
    return escape_line(text)

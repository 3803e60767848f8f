"""`pyevm-agents demo`: a run of the wallet agent."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from precompiles.escaping import escape_line
from precompiles.language_model import NAT
from pyevm_agents.agents.trace import find_closest_step
from pyevm_agents.cli.cache_folder import get_facts_folder
from pyevm_agents.cli.output import StatusLine, format_margin, out, print_table
from pyevm_agents.cli.record import describe_fixture_file, require_fixture_path
from pyevm_agents.cli.shared_options import (
    adapter_option,
    gas_limit_option,
    model_option,
    schedule_option,
)
from pyevm_agents.cli.store import open_run_store, store_option
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.devnet.wallet_demo import (
    DEFAULT_INSTRUCTION,
    WalletDemo,
    require_instruction,
    run_atomic_demo,
    serialize_run,
)
from pyevm_agents.display import pluralize
from pyevm_agents.recordings import record_chain, write_fixture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.agents.trace import AgentStep
    from pyevm_agents.config.schedule_file import ScheduleFile
    from pyevm_agents.devnet.model_registry import ModelChoice
    from pyevm_agents.devnet.wallet_demo import Balances, DemoRun
    from pyevm_agents.models import Adapter


AMOUNT = re.compile(r"\b(amount|balance|needed)=(\d+)")
"""Fields of the contracts' errors that are amounts in base units."""

MAX_SHOWN_CHARACTERS = 1_000
"""Characters printed of a text: some twelve terminal lines. `--json` prints all."""


@click.command()
@click.option(
    "--prompt",
    default=DEFAULT_INSTRUCTION,
    show_default=True,
    metavar="TEXT",
    help="The instruction of the wallet's owner. Tokens are symbols (USDC, DAI) or addresses; "
    "{USDC} and {DAI} become the addresses. Amounts are whole tokens.",
)
@model_option
@adapter_option
@click.option(
    "--threads",
    type=click.IntRange(1, 512),
    metavar="N",
    help="Threads of the engine. The result does not depend on it.  "
    "[default: the number of cores, at most 4]",
)
@schedule_option
@gas_limit_option
@store_option
@click.option("--no-store", is_flag=True, help="Neither read nor write the generation store.")
@click.option(
    "--record",
    "record_path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the run's chain to a file that `pyevm-agents replay FILE` checks.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the run as one JSON object.")
def demo(  # noqa: PLR0913 - one for each option
    prompt: str,
    model: ModelChoice,
    adapter: Adapter,
    threads: int | None,
    store_path: Path | None,
    *,
    schedule: ScheduleFile | None,
    gas_limit: int,
    record_path: Path | None,
    no_store: bool,
    as_json: bool,
) -> None:
    """Run a wallet agent on a real model, in one transaction.

    Deploys two tokens, a liquidity pool, tools and the wallet agent. Sends the instruction.
    Prints the agent's steps, the balances and the gas. Then runs an agent whose second tool
    reverts: all balances stay unchanged.

    The exit status is 0 even if the transaction reverts; see `status` in the JSON.
    """
    if no_store and store_path is not None:
        raise click.UsageError("--store and --no-store exclude each other; omit one")
    if record_path is not None:
        require_fixture_path(record_path)
    require_instruction(prompt)
    choice = model.with_adapter(adapter)
    watch = StatusLine()
    with (
        watch,
        open_run_store(store_path, no_store=no_store) as store,
        choice.open(
            threads=threads, kept_facts=get_facts_folder(), progress=watch.on_progress
        ) as llama,
    ):
        facts = llama.profile_facts
        watch.show_status("deploying tokens, pool, tools and the wallet agent")
        chain = create_development_chain(
            llama,
            facts,
            choice.build_profile(facts),
            store=store,
            schedule=schedule,
            block_gas_limit=gas_limit,
        )
        wallet = WalletDemo(chain)
        started = time.monotonic()
        run = wallet.run(prompt)
        seconds = time.monotonic() - started
        if record_path is not None:
            comment = f"A run of `pyevm-agents demo`: {run.instruction}"
            fixture = record_chain(chain, name="demo", comment=comment)
            write_fixture(fixture, record_path)
            watch.show_status(f"written: {describe_fixture_file(record_path, fixture)}")
        watch.stop()
        name = chain.config.models[0].name
        described = {"name": name, "sha256": facts.digest.hex()}
        if as_json:
            form = serialize_run(run, wallet, model=described, seconds=seconds)
            form["fromStore"] = store.session.get("hits", 0)
            click.echo(json.dumps(form, indent=2, ensure_ascii=False))
            return
        print_run(run, wallet, described, seconds)
        if hits := store.session.get("hits"):
            out.print(f"\n[dim]{hits} of {len(run.steps)} generations cached in {store.path}[/]")
        print_atomicity(*run_atomic_demo(llama, schedule=schedule, block_gas_limit=gas_limit))


def print_run(run: DemoRun, wallet: WalletDemo, model: Mapping[str, str], seconds: float) -> None:
    """Print a run: its steps, outcome, balances and gas."""
    out.print(
        f"[bold]{escape(model['name'])}[/] [dim]sha256 {model['sha256'][:16]}… in genesis[/]",
        soft_wrap=True,
    )
    print_steps(run, wallet)
    out.print(f"\n[bold]Transaction[/]  0x{run.transaction_hash.hex()}")
    inferences = pluralize(len(run.steps), "inference")
    fate = "[bold green]succeeded[/]" if run.is_success else "[bold red]reverted[/]"
    out.print(f"             {fate} after {seconds:.1f} s, {inferences}, one transaction")
    print_failure(run, wallet)
    out.print()
    print_table(build_balance_table(run.before, run.after, wallet.unit))
    out.print()
    print_table(build_gas_table(run))


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
            lines.append(("Answer", step.answer, "bold green"))
        else:
            lines += [
                ("Action", step.action or "", "bold cyan"),
                ("Input", step.action_input or "", "cyan"),
                _format_observation(step, wallet),
            ]
        indent = "  " * step.depth
        out.print(f"\n{indent}[dim]Step {number}[/]")
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
        lambda match: f"{match[1]}={_format_amount(int(match[2]), unit[symbol])}", reason
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
                f"{_format_amount(new - old, unit[symbol], sign=True)}"
                if new != old
                else "[dim]0[/]"
            )
            table.add_row(
                place,
                symbol,
                _format_amount(old, unit[symbol]),
                _format_amount(new, unit[symbol]),
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


def _format_amount(amount: int, unit: int, *, sign: bool = False) -> str:
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

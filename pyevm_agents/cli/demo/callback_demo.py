"""`pyevm-agents demo --scenario callback`: the wallet's agent embedded, and by an oracle."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.markup import escape
from rich.table import Table

from pyevm_agents import __version__
from pyevm_agents.cli.demo.output import (
    build_balance_table,
    print_failure,
    print_steps,
    print_title,
    replace_addresses,
    truncate_text,
)
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.cli.output import out, print_table
from pyevm_agents.cli.trace import format_line
from pyevm_agents.devnet.node_process import (
    find_anvil,
    find_npm_anvil,
    read_version,
    run_anvil,
    run_plain_node,
)
from pyevm_agents.models import CachingModel
from pyevm_agents.oracle.recomputation import HostedModels
from pyevm_agents.scenarios.callback.wallet import open_callback_wallet
from pyevm_agents.scenarios.wallet import WalletDemo, serialize_run, stringify_integers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyevm_agents.chain import Chain
    from pyevm_agents.cli.demo.review import DemoReview
    from pyevm_agents.cli.output import StatusLine
    from pyevm_agents.models import LlamaModel
    from pyevm_agents.scenarios.callback.wallet import CallbackRun
    from pyevm_agents.scenarios.wallet import DemoRun

GAS_PRICE_WEI = 10**9
"""Price of gas in the table, the same on both chains: 1 gwei."""

ETHER = 10**18

EACH_STEP = format_line(
    "By callback",
    "each step is a transaction of its own: what was done stands if a later one fails",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRuns:
    """The two runs of one instruction."""

    embedded: DemoRun
    embedded_seconds: float
    callback: CallbackRun
    callback_seconds: float
    callback_chain: str
    """Program and version of the node."""

    @property
    def has_same_steps(self) -> bool:
        """Whether steps and answer are the same."""
        used = [step for step in self.embedded.steps if step.action is not None]
        observations = tuple(step.observation for step in used)
        callback = self.callback
        return (observations, self.embedded.answer) == (callback.tool_results, callback.result)

    @property
    def has_same_balances(self) -> bool:
        """Whether both wallets have the same tokens."""
        return self.embedded.after == self.callback.after


def run_callback_demo(  # noqa: PLR0913 - keyword arguments
    prompt: str,
    llama: LlamaModel,
    chain: Chain,
    *,
    model: Mapping[str, str],
    watch: StatusLine,
    as_json: bool,
    review: DemoReview | None = None,
) -> None:
    """Run an instruction embedded and by callback, and print both.

    Input:
        chain: a new development chain with the model.
        model: its name and digest.
        review: asks before the runs; None to run at once.

    Raises: SystemExit: the agent did not do what the instruction asks.
    """
    watch.show_status("deploying the wallet's contracts")
    wallet = WalletDemo(chain)
    if review is not None:
        review.require_yes(wallet, prompt, EACH_STEP)
    with _open_node(watch) as (url, callback_chain):
        watch.show_status(f"deploying the oracle and the wallet's contracts on {callback_chain}")
        facts = llama.profile_facts
        caching = CachingModel(llama, digest=facts.digest, fingerprint=facts.fingerprint)
        hosted = HostedModels(config=chain.config, models=dict.fromkeys(chain.models, caching))
        with open_callback_wallet(url, hosted) as other:
            llama.forget()  # Loads the model, so that neither run waits for it.
            watch.show_status("running the agent embedded")
            started = time.monotonic()
            embedded = wallet.run(prompt)
            between = time.monotonic()
            llama.forget()
            watch.show_status("running the agent by callback")
            resumed = time.monotonic()
            callback = other.run(prompt)
            runs = ComparedRuns(
                embedded=embedded,
                embedded_seconds=between - started,
                callback=callback,
                callback_seconds=time.monotonic() - resumed,
                callback_chain=callback_chain,
            )
    watch.stop()
    if as_json:
        click.echo(json.dumps(serialize_runs(runs, wallet, model), indent=2, ensure_ascii=False))
    else:
        print_runs(runs, wallet, model)
    if runs.embedded.is_not_done:
        raise SystemExit(NOT_DONE_STATUS)


@contextmanager
def _open_node(watch: StatusLine) -> Iterator[tuple[str, str]]:
    """Run anvil, else our node without the executor; yield URL and name of the node.

    Raises: AnvilError: it does not start.
    """
    program = find_anvil() or find_npm_anvil(Path.cwd())
    if program is None:
        name = f"pyevm-agents {__version__} without the executor"
        watch.show_status(
            f"no anvil on the PATH or in node_modules (npm install @foundry-rs/anvil): using {name}"
        )
        with run_plain_node() as url:
            yield url, name
        return
    name = f"anvil {read_version(program)}"
    watch.show_status(f"starting {name}")
    with run_anvil(program, "--hardfork", "prague") as url:
        yield url, name


def print_runs(runs: ComparedRuns, wallet: WalletDemo, model: Mapping[str, str]) -> None:
    """Print the steps, the comparison and the balances."""
    print_title(model)
    print_steps(runs.embedded, wallet)
    print_verdict(runs, wallet)
    out.print()
    print_table(build_comparison_table(runs))
    out.print()
    print_table(build_balance_table(runs.callback.before, runs.callback.after, wallet.unit))


def print_verdict(runs: ComparedRuns, wallet: WalletDemo) -> None:
    """Print how the runs ended, and whether they are the same."""
    if runs.embedded.is_success:
        verdict = (
            "[bold green]the same steps and the same answer[/]"
            if runs.has_same_steps
            else "[bold red]other steps or another answer[/]"
        )
    else:
        out.print("\n[bold]Embedded[/]     reverted")
        print_failure(runs.embedded, wallet)
        text = truncate_text(replace_addresses(runs.callback.result, wallet.names))
        verdict = escape(text)
    out.print(f"\n[bold]By callback[/]  {verdict}", soft_wrap=True)
    if runs.has_same_balances:
        out.print("             [bold green]the same balances[/]")
    else:
        out.print("             [bold yellow]other balances[/]: the steps before stand")


def build_comparison_table(runs: ComparedRuns) -> Table:
    """Return the table of both runs."""
    embedded, callback = runs.embedded, runs.callback
    owner_gas = callback.asked.gas_used
    worker_gas = sum(step.transaction.gas_used for step in callback.steps)
    transactions = len(callback.transactions)
    paid = [
        embedded.gas_used * GAS_PRICE_WEI,
        owner_gas * GAS_PRICE_WEI + callback.fee_wei,
    ]
    rows = [
        ("chain", f"pyevm-agents {__version__}", runs.callback_chain),
        ("model runs", "in the transaction, at 0x19", "at a worker, off the chain"),
        ("transactions", "1", f"{transactions}: 1 asks, {transactions - 1} answer"),
        ("blocks", "1", f"at least {transactions}"),
        ("gas", f"{embedded.gas_used:,}", f"{owner_gas + worker_gas:,}"),
        ("  of the owner", f"{embedded.gas_used:,}", f"{owner_gas:,}"),
        ("  of the worker", "0", f"{worker_gas:,}"),
        ("latency", f"{runs.embedded_seconds:.1f} s", f"{runs.callback_seconds:.1f} s"),
        ("oracle's fee", "0 ETH", f"{callback.fee_wei / ETHER:.6f} ETH"),
        ("owner pays", *(f"{wei / ETHER:.6f} ETH" for wei in paid)),
        ("atomic", "the instruction", "each step"),
        ("a tool that fails", "undoes all steps", "leaves earlier steps"),
        ("a run that is not done", "undoes all steps", "leaves earlier steps"),
    ]
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for heading in ("", "embedded", "by callback"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    return table


def serialize_runs(
    runs: ComparedRuns, wallet: WalletDemo, model: Mapping[str, str]
) -> dict[str, object]:
    """Return both runs as a JSON object, in the units of `serialize_run`."""
    callback = runs.callback
    return {
        "embedded": serialize_run(
            runs.embedded, wallet, model=model, seconds=runs.embedded_seconds
        ),
        "callback": {
            "chain": runs.callback_chain,
            "instruction": callback.instruction,
            "runId": callback.run_id,
            "status": callback.status,
            "transactions": [
                {
                    "transactionHash": "0x" + sent.hash.hex(),
                    "blockNumber": sent.block_number,
                    "gasUsed": sent.gas_used,
                }
                for sent in callback.transactions
            ],
            "steps": list(callback.tool_results),
            "result": callback.result,
            "feeWei": str(callback.fee_wei),
            "balances": stringify_integers({"before": callback.before, "after": callback.after}),
            "seconds": round(runs.callback_seconds, 3),
        },
        "hasSameSteps": runs.has_same_steps,
        "hasSameBalances": runs.has_same_balances,
    }

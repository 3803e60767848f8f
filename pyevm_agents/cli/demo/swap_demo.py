"""`pyevm-agents demo --scenario swap`: five requests to an agent whose tools the analysis made."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click
from eth_typing import Address
from eth_utils import to_checksum_address
from rich.markup import escape
from rich.table import Table

from precompiles.address_handles import ACCOUNT_HANDLE
from pyevm_agents.chain import Chain
from pyevm_agents.chain.fork_setup import build_fork_config
from pyevm_agents.cli.demo.output import (
    format_amount,
    print_title,
    replace_addresses,
    truncate_text,
)
from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.cli.output import format_answer_label, out, print_table
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.forking.options import ForkOptions
from pyevm_agents.scenarios.swap.demo import (
    SwapDemo,
    change_chain_id,
)
from pyevm_agents.scenarios.swap.requests import (
    REQUESTS,
    describe_call,
)
from pyevm_agents.scenarios.swap.world import SWAP_CHAIN_ID
from pyevm_agents.scenarios.wallet import serialize_step, stringify_integers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyevm_agents.cli.tools.inspect import SlowStatus
    from pyevm_agents.scenarios.swap.demo import SwapRun
    from pyevm_agents.scenarios.swap.requests import ExpectedCall

LABEL_WIDTH = 12


# -- options -- #


@dataclass(frozen=True, slots=True, kw_only=True)
class SwapOptions:
    """Options of this scenario alone."""

    fork_url: str | None
    router: bytes | None
    token: bytes | None
    chain_id: int | None

    def require_none(self) -> None:
        """Reject the options for another scenario.

        Raises: click.UsageError.
        """
        for option, value in self._by_option.items():
            if value is not None:
                raise click.UsageError(f"{option} is for --scenario swap; omit it")

    def require_consistent(self) -> None:
        """Reject options that do not fit together.

        Raises: click.UsageError.
        """
        given = {option for option, value in self._by_option.items() if value is not None}
        if "--fork-url" not in given:
            for option in ("--router", "--token"):
                if option in given:
                    raise click.UsageError(
                        f"{option}: needs --fork-url URL; a chain of its own has new contracts"
                    )
        elif not {"--router", "--token"} <= given:
            raise click.UsageError("--fork-url: needs --router ADDRESS and --token ADDRESS")
        elif "--chain-id" in given:
            raise click.UsageError("--chain-id: a fork has the ID of the remote chain; omit it")

    @property
    def _by_option(self) -> Mapping[str, object]:
        return {
            "--fork-url": self.fork_url,
            "--router": self.router,
            "--token": self.token,
            "--chain-id": self.chain_id,
        }


def add_swap_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of this scenario to a command, which gets them as `swap`."""
    return add_option_group(command, "swap", SwapOptions, _OPTIONS)


_OPTIONS = (
    click.option(
        "--fork-url", metavar="URL",
        help="swap: Node of a chain to fork in this process; URL@BLOCK names a block. Nothing is "
        "sent to it.  [default: a chain of its own]",
    ),
    click.option(
        "--router", type=ADDRESS_TYPE, metavar="ADDRESS",
        help="swap: A router like Uniswap V2's on the fork.",
    ),
    click.option(
        "--token", type=ADDRESS_TYPE, metavar="ADDRESS",
        help="swap: A token of the fork that has a pool with the wrapped native token.",
    ),
    click.option(
        "--chain-id", type=click.IntRange(1, 2**63 - 1), metavar="ID",
        help="swap: Chain ID of a chain of its own, whose native currency the requests name.  "
        f"[default: {SWAP_CHAIN_ID}]",
    ),
)  # fmt: skip


# -- the run -- #


def run_swap_demo(  # noqa: PLR0913 - keyword arguments
    chain: Chain,
    options: SwapOptions,
    *,
    model: Mapping[str, str],
    watch: SlowStatus,
    keep: Callable[[Chain, str], None],
    as_json: bool,
) -> None:
    """Deploy contracts and the agent, run the requests, and print the runs.

    Input:
        chain: has the models and accounts.
        model: its name and digest.
        keep: gets the chain of the runs, and what they are.

    Raises: ConfigError: an option's value is unfit. RemoteFault: the fork's node does not answer.
            EngineFault: the model failed.
    """
    started = time.monotonic()
    with ExitStack() as stack:
        demo = _open_demo(chain, options, stack, watch)
        watch.stop()
        if not as_json:
            print_title(model)
            print_market(demo)
        runs = []
        for run in demo.run_all():
            watch.stop()
            runs.append(run)
            if not as_json:
                print_run(run, demo, len(runs))
        seconds = time.monotonic() - started
        if as_json:
            form = serialize_demo(demo, runs, model=model, seconds=seconds)
            click.echo(json.dumps(form, indent=2))  # In ASCII: a symbol is a text of others.
        else:
            _print_result(runs, seconds)
        keep(demo.chain, "the requests of --scenario swap")


def _open_demo(chain: Chain, options: SwapOptions, stack: ExitStack, watch: SlowStatus) -> SwapDemo:
    """Deploy everything on a chain of its own, or on a fork, which `stack` closes."""
    if options.fork_url is None or options.router is None or options.token is None:
        own = change_chain_id(chain, options.chain_id or SWAP_CHAIN_ID)
        return SwapDemo.deploy(own, report=watch.report)
    block = ForkOptions.from_text(options.fork_url).open()
    stack.callback(block.close)
    config = build_fork_config(chain.config, block)
    gas_limit = max(config.block_gas_limit, chain.config.block_gas_limit)
    config = replace(config, block_gas_limit=gas_limit)
    fork = Chain(
        config,
        chain.models,
        numeric_models=chain.numeric_models,
        accounts=chain.genesis_accounts,
        fork=block,
    )
    stack.callback(fork.close)
    return SwapDemo.deploy_on_fork(
        fork,
        router=Address(options.router),
        token=Address(options.token),
        report=watch.report,
    )


# -- output -- #


def _print_result(runs: Sequence[SwapRun], seconds: float) -> None:
    ideal = sum(run.is_ideal for run in runs)
    style = "bold green" if ideal == len(runs) else "bold yellow"
    out.print(f"\n[{style}]{ideal} of {len(runs)} ended as the ideal[/], after {seconds:.1f} s")


def print_market(demo: SwapDemo) -> None:
    """Print the chain and the tools. A tool's name begins with that of its function."""
    metadata = get_chain_metadata(demo.chain.config.chain_id)
    market = demo.market
    name = f"chain {metadata.chain_id}"
    name += f", {metadata.name}" if metadata.is_known else ""
    out.print(f"{escape(name)}, native currency {escape(market.native_symbol)}\n")
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for heading in ("Tool", "Contract", "Asks for"):
        table.add_column(heading, overflow="fold")
    for _, tool in demo.tools:
        asked = [parameter for _, parameter, _ in tool.spec.model_parameters]
        table.add_row(
            escape(tool.spec.name),
            escape(tool.contract),
            escape(", ".join(asked)) or "[dim]nothing[/]",
        )
    print_table(table)


def print_run(run: SwapRun, demo: SwapDemo, number: int) -> None:
    """Print a request and its results."""
    out.print(f"\n[bold]{number}  {escape(run.instruction)}[/]", soft_wrap=True)
    for label, text, style in _iter_lines(run, demo):
        markup = escape(truncate_text(replace_addresses(text, demo.names)))
        markup = f"[{style}]{markup}[/]" if style else markup
        out.print(f"   {label:<{LABEL_WIDTH}} {markup}", soft_wrap=True)


def _iter_lines(run: SwapRun, demo: SwapDemo) -> Iterator[tuple[str, str, str]]:
    """Yield labels, texts and styles."""
    for step in run.steps:
        if step.action is not None:
            yield "Action", step.action, "bold cyan"
            yield "Input", step.action_input or "", "cyan"
            reason = f"reverted: {step.tool_failure}"
            is_ok = step.observation is not None
            yield "Observation", step.observation or reason, "" if is_ok else "bold red"
    if run.answer is not None:
        label, style = format_answer_label(run.answer)
        yield label, run.answer, style
    elif run.failure is not None:
        yield "Reverted", run.failure, "red"
    yield "Transaction", f"0x{run.transaction_hash.hex()}", "dim"
    yield "Gas", f"{run.gas_used:,}", "dim"
    yield "Balances", _format_changes(run, demo.unit), ""
    if run.is_ideal:
        calls = [_describe(demo, call) for call in run.calls]
        for index, text in enumerate(calls or ["no call, and the reason"]):
            yield "" if index else "As asked", text, "green"
    for difference in run.differences:
        yield "Differs", difference, "bold yellow"


def _describe(demo: SwapDemo, call: ExpectedCall) -> str:
    names = {**demo.market.names, demo.agent.account: ACCOUNT_HANDLE}
    return describe_call(demo.market, names, call)


def _format_changes(run: SwapRun, unit: Mapping[str, int]) -> str:
    parts = []
    for symbol, old in run.before[ACCOUNT_HANDLE].items():
        new = run.after[ACCOUNT_HANDLE][symbol]
        change = f" ({format_amount(new - old, unit[symbol], sign=True)})" if new != old else ""
        parts.append(f"{format_amount(new, unit[symbol])} {symbol}{change}")
    return ", ".join(parts)


def serialize_demo(
    demo: SwapDemo, runs: Sequence[SwapRun], *, model: Mapping[str, str], seconds: float
) -> dict[str, object]:
    """Return the runs as a JSON object. Amounts are decimal strings of base units."""
    return {
        "scenario": "swap",
        "model": dict(model),
        "chainId": demo.chain.config.chain_id,
        "nativeSymbol": demo.market.native_symbol,
        "tokenSymbol": demo.market.token_symbol,
        "unit": stringify_integers(dict(demo.unit)),
        "agent": to_checksum_address(demo.agent.address),
        "account": to_checksum_address(demo.agent.account),
        "tools": [
            {
                "address": to_checksum_address(address),
                "name": tool.spec.name,
                "description": tool.spec.description,
                "contract": tool.contract,
                "target": tool.spec.target,
                "signature": tool.function.signature,
                "parameters": [name for _, name, _ in tool.spec.model_parameters],
            }
            for address, tool in demo.tools
        ],
        "runs": [_serialize_run(run, demo) for run in runs],
        "requests": len(REQUESTS),
        "endedAsIdeal": sum(run.is_ideal for run in runs),
        "seconds": round(seconds, 3),
    }


def _serialize_run(run: SwapRun, demo: SwapDemo) -> dict[str, object]:
    return {
        "instruction": run.instruction,
        "transactionHash": "0x" + run.transaction_hash.hex(),
        "blockNumber": run.block_number,
        "status": int(run.is_success),
        "failure": run.failure,
        "gasUsed": run.gas_used,
        "steps": [serialize_step(step) for step in run.steps],
        "answer": run.answer,
        "calls": [_serialize_call(demo, call) for call in run.calls],
        "expectedCalls": [_serialize_call(demo, call) for call in run.expected],
        "endedAsIdeal": run.is_ideal,
        "differences": list(run.differences),
        "balances": stringify_integers({"before": run.before, "after": run.after}),
    }


def _serialize_call(demo: SwapDemo, call: ExpectedCall) -> dict[str, object]:
    return {
        "contract": call.contract,
        "text": _describe(demo, call),
        "data": "0x" + call.data.hex(),
        "valueWei": str(call.value_wei),
    }

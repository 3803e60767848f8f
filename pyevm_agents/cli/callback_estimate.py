"""`pyevm-agents estimate --callback`: the callback gas of a run by an oracle."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from pyevm_agents.cache_folder import get_facts_folder
from pyevm_agents.cli.output import StatusLine, out, print_json, print_table
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.display import pluralize, sanitize
from pyevm_agents.forking import open_fork
from pyevm_agents.model_registry.registry import ModelChoice, open_registry
from pyevm_agents.oracle.callback_estimate import serialize_estimate
from pyevm_agents.oracle.callback_simulation import CallbackEstimator
from pyevm_agents.oracle.recomputation import ForkComputer, ModelOptions, RequestExecutor
from pyevm_agents.oracle.verification import describe_answer, find_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.models import Adapter
    from pyevm_agents.oracle.callback_estimate import CallbackEstimate, StepEstimate

GWEI = 10**9


def estimate_callback(  # noqa: PLR0913 - keyword arguments
    url: str,
    *,
    agent: str | None,
    prompt: str,
    sender: str | None,
    request_id: int | None,
    models: Sequence[str],
    adapter: Adapter,
    threads: int | None,
    numeric_models: Mapping[str, NumericModel],
) -> CallbackEstimate:
    """Estimate a run of an agent, or one from a request on.

    Raises: AgentsError: the model, the node or the agent does not allow an estimate.
    """
    with ExitStack() as stack:
        status = stack.enter_context(StatusLine())
        choices = tuple(map(open_registry().resolve, models)) or (ModelChoice(),)
        options = ModelOptions(
            choices=tuple(each.with_adapter(adapter) for each in choices),
            threads=threads,
            kept_facts=get_facts_folder(),
            progress=status.on_progress,
            numeric_models=numeric_models,
        )
        hosted = options.open(stack)
        block = open_fork(url)
        stack.callback(block.close)
        estimator = stack.enter_context(closing(CallbackEstimator(block, RequestExecutor(hosted))))
        if request_id is None:
            asker = None if sender is None else bytes.fromhex(sender[2:])
            return estimator.estimate_run(bytes.fromhex((agent or "")[2:]), prompt, sender=asker)
        with closing(RemoteClient(url)) as client:
            request = find_request(client, request_id)
        with ForkComputer(url, hosted) as computer:
            computed = computer.compute(request)
        return estimator.estimate_request(request, computed)


def print_estimate(estimate: CallbackEstimate, *, as_json: bool) -> None:
    """Print an estimate as a table, or in JSON."""
    if as_json:
        print_json(serialize_estimate(estimate))
        return
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold")
    for heading in ("Step", "callback gas", "", "gas of the answer", "fee"):
        table.add_column(heading, justify="left" if heading in {"Step", ""} else "right")
    for number, step in enumerate(estimate.steps, start=1):
        table.add_row(
            str(number),
            "none" if step.callback_gas is None else f"{step.callback_gas:,}",
            "exact" if step.is_exact else "at most",
            " and ".join(f"{gas.used:,}" for gas in (step.answer_gas, step.finalize_gas) if gas),
            _format_wei(step.fee_wei),
        )
    print_table(table)
    out.print()
    for line in _iter_lines(estimate):
        out.print(line, soft_wrap=True)


def _iter_lines(estimate: CallbackEstimate) -> list[str]:
    gas = estimate.callback_gas
    lines = []
    if gas is not None:
        kind = "the least callbackGasLimit of this run" if estimate.is_exact else "an upper bound"
        lines.append(f"[bold]{gas:,}[/] callback gas: {kind}, for an unchanged state")
    for number, step in enumerate(estimate.steps, start=1):
        lines.extend(f"Step {number}: {line}" for line in _iter_notes(step))
    lines.append(
        f"Fees: {_format_wei(estimate.fee_wei)} for {pluralize(len(estimate.steps), 'step')}"
    )
    if estimate.reserved_wei is not None:
        left = estimate.reserved_wei - estimate.fee_wei
        lines.append(
            f"Reserved at the start: {_format_wei(estimate.reserved_wei)}; "
            f"{_format_wei(max(left, 0))} of it comes back"
        )
    if estimate.ask_gas is not None:
        lines.append(f"The transaction that asks: {estimate.ask_gas:,} gas")
        lines.append(f"Together, at the next block's base fee: {_format_wei(estimate.total_wei)}")
    if estimate.status is not None:
        result = "" if estimate.result is None else f": {escape(sanitize(estimate.result))}"
        lines.append(f"Ends as {estimate.status}{result}")
    return lines


def _iter_notes(step: StepEstimate) -> list[str]:
    decided = ", ".join(f"{name} {text}" for name, text in describe_answer(step.answer))
    notes = [escape(sanitize(decided))]
    if step.failure is not None:
        notes.append(f"the callback fails with all gas: {escape(sanitize(step.failure))}")
        return notes
    if step.environment:
        notes.append(
            f"reads {', '.join(step.environment)}: the most of several blocks, no promise for all"
        )
    if not step.is_paid_for:
        paid = step.request.commitment.callback_gas_limit
        notes.append(f"the agent pays for {paid:,} callback gas, which is too little")
    return notes


def _format_wei(wei: int) -> str:
    return f"{wei / GWEI:,.0f} gwei" if wei >= GWEI else f"{wei:,} wei"

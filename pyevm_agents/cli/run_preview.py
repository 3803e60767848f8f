"""Preview of a run: moves of assets beside the request, and the question whether to send."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import click
from eth_utils import decode_hex

from precompiles.outcome import is_done
from pyevm_agents.abi.not_done import find_not_done
from pyevm_agents.agents.asset_moves import (
    NATIVE_SCALE,
    UNLIMITED,
    format_units,
    list_balances,
)
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.cli.output import err, out
from pyevm_agents.cli.trace import TraceView, format_line
from pyevm_agents.display import name_addresses, sanitize, shorten_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    StepJson = Mapping[str, Any]
    MoveJson = Mapping[str, Any]

MAX_LINES = 20
"""Lines of transfers that are shown. `--json` has all that the node tells."""

MAX_SYMBOL_CHARACTERS = 32

yes_option = click.option(
    "--yes",
    "assumes_yes",
    is_flag=True,
    help="Send without a question, also if the transfers differ from the request.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPreview:
    """Effects of a run. Lists have the form of `agent_traceCall`'s."""

    transfers: Sequence[MoveJson]
    approvals: Sequence[MoveJson]
    """Those that stay after the run."""

    balances: Sequence[MoveJson]
    """Those of the agent's accounts and the sender that the run changes: `account`, `token` (null
    for the native currency), `symbol`, `decimals`, `before`, `after`."""

    differences: Sequence[Mapping[str, str]] | None
    """`kind` and `text` of each; None if the run is not compared with its request."""

    names: Mapping[str, str]
    """By checksummed address."""

    native_symbol: str = str(NATIVE_SCALE.symbol)
    failure: str | None = None
    """How a run would end that stands although it fails; None if it does not fail."""

    @property
    def agrees(self) -> bool:
        """Whether the run is compared with the request, does not differ, and does not fail."""
        return self.differences is not None and not self.differences and self.failure is None

    def moves_as(self, other: RunPreview) -> bool:
        """Whether transfers and approvals are the same."""
        return [*self.transfers, *self.approvals] == [*other.transfers, *other.approvals]

    def serialize(self) -> dict[str, Any]:
        """Return the JSON form. Amounts are decimal strings in base units."""
        return {
            "transfers": [*self.transfers],
            "approvals": [*self.approvals],
            "balances": [*self.balances],
            "differences": None if self.differences is None else [*self.differences],
        }

    def iter_lines(self) -> Iterator[str]:
        """Yield the preview as lines of markup."""
        if not self.transfers:
            yield format_line("Transfer", "none")
        for transfer in islice(self.transfers, MAX_LINES):
            ends = (self._format_address(transfer[end]) for end in ("from", "to"))
            yield format_line(
                "Transfer", f"{self._format_amount(transfer)} from {' to '.join(ends)}", "bold"
            )
        if len(self.transfers) > MAX_LINES:
            yield format_line("", f"and {len(self.transfers) - MAX_LINES} more; --json has them")
        for approval in self.approvals:
            spender, owner = (self._format_address(approval[end]) for end in ("spender", "owner"))
            text = f"{spender} may take {self._format_approval(approval)} of {owner}"
            yield format_line("Approval", text, "bold")
        for balance in self.balances:
            yield format_line("Balance", self._format_balance(balance))
        yield from self._iter_verdict()

    def _iter_verdict(self) -> Iterator[str]:
        if self.differences is None:
            yield format_line("Not compared", "look at the transfers yourself", "bold yellow")
            return
        for difference in self.differences:
            text = sanitize(name_addresses(difference["text"], self.names))
            yield format_line("Differs", text, "bold red")
        if not self.differences:
            yield format_line("Agrees", "with the amounts and accounts of the request", "green")

    def _format_address(self, address: str) -> str:
        return sanitize(name_addresses(address, self.names))

    def _format_token(self, move: MoveJson) -> str:
        """Return the symbol with the name, or with the address of a token that has no name."""
        token = move["token"]
        if token is None:
            return self.native_symbol
        symbol = sanitize(move["symbol"] or "", MAX_SYMBOL_CHARACTERS)
        if token in self.names:
            name = sanitize(self.names[token], MAX_SYMBOL_CHARACTERS)
            return name if symbol in {"", name} else f"{symbol} ({name})"
        return f"{symbol} ({shorten_address(token)})" if symbol else f"of token {token}"

    def _format_number(self, move: MoveJson, number: str) -> str:
        decimals = NATIVE_SCALE.decimals if move["token"] is None else move["decimals"]
        return f"{format_units(int(number), decimals or 0)} {self._format_token(move)}"

    def _format_amount(self, transfer: MoveJson) -> str:
        if transfer["id"] is None:
            return self._format_number(transfer, transfer["amount"])
        count = "" if transfer["standard"] == "erc721" else f"{int(transfer['amount']):,} of "
        return f"{count}item {transfer['id']} {self._format_token(transfer)}"

    def _format_approval(self, approval: MoveJson) -> str:
        if approval["amount"] is None:
            item = "all items" if approval["id"] is None else f"item {approval['id']}"
            return f"{item} {self._format_token(approval)}"
        if int(approval["amount"]) >= UNLIMITED:
            return f"any amount {self._format_token(approval)}"
        return self._format_number(approval, approval["amount"])

    def _format_balance(self, balance: MoveJson) -> str:
        before, after = (self._format_number(balance, balance[end]) for end in ("before", "after"))
        return f"{before} before, {after} after, of {self._format_address(balance['account'])}"


def read_preview(
    form: Mapping[str, Any], sender: str, *, native_symbol: str = str(NATIVE_SCALE.symbol)
) -> RunPreview:
    """Return the preview in a result of `agent_traceCall`.

    Input:  form: the result; an older node's lacks the comparison. sender: a checksummed address.
    """
    return RunPreview(
        transfers=form["transfers"],
        approvals=form.get("approvals", ()),
        balances=[*list_balances(form["changes"], {*form.get("accounts", ()), sender})],
        differences=form.get("differences"),
        names=form["names"],
        native_symbol=native_symbol,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTrial:
    """A run, simulated or mined."""

    answer: str | None
    reason: str | None = None
    """Why it reverts; None if it does not."""

    steps: Sequence[tuple[int, StepJson]] | None = None
    """Nested agents' first, with how many agents are around; None if they are not known."""

    preview: RunPreview | None = None
    """None if the node does not tell what a call does."""

    @property
    def is_not_done(self) -> bool:
        """Whether the agent ended with an answer that is not done."""
        return self.answer is not None and not is_done(self.answer)

    @property
    def names(self) -> Mapping[str, str]:
        """Names by checksummed address."""
        return {} if self.preview is None else self.preview.names

    def serialize_steps(self) -> list[dict[str, Any]] | None:
        """Return the steps in JSON."""
        if self.steps is None:
            return None
        return [_serialize_step(depth, step) for depth, step in self.steps]

    def serialize(self) -> dict[str, Any]:
        """Return the JSON form; without steps and effects that are not known."""
        form: dict[str, Any] = {"answer": self.answer}
        if self.steps is not None:
            form["steps"] = self.serialize_steps()
        return form if self.preview is None else {**form, **self.preview.serialize()}


def read_trial(
    form: Mapping[str, Any], sender: str, *, native_symbol: str = str(NATIVE_SCALE.symbol)
) -> RunTrial:
    """Return the run in a result of `agent_traceCall`. Input: as for `read_preview`."""
    undone = None if form["isSuccess"] else find_not_done(decode_hex(form["output"]))
    return RunTrial(
        answer=find_answer(form) if undone is None else undone,
        reason=None if form["isSuccess"] else form["reason"] or "no reason known",
        steps=list_steps(form["steps"]),
        preview=read_preview(form, sender, native_symbol=native_symbol),
    )


def find_answer(trace: StepJson) -> str | None:
    """Return the last answer of the outermost agent."""
    answers = (step["answer"] for step in reversed(trace["steps"]))
    return next((answer for answer in answers if answer is not None), None)


def list_steps(steps: Sequence[StepJson], depth: int = 0) -> list[tuple[int, StepJson]]:
    """Return the steps of a trace's tree, nested agents' first, each with the depth."""
    found: list[tuple[int, StepJson]] = []
    for step in steps:
        found += [*list_steps(step["steps"], depth + 1), (depth, step)]
    return found


def choose_screen(*, as_json: bool, is_asked: bool) -> Console | None:
    """Return where a preview is printed: beside JSON only for a person, and on standard error.

    Input:  is_asked: whether a question follows, if a person can answer.
    Output: None if not printed.
    """
    if not as_json:
        return out
    return err if is_asked and is_answerable() else None


def print_trial(trial: RunTrial, screen: Console) -> None:
    """Print a run: the steps, and the moves of assets unless the run reverts."""
    view = TraceView(names=trial.names, closest=None, shows_prompts=False)
    if trial.steps is None:
        screen.print(view.format_answer(trial.answer or ""), soft_wrap=True)
        screen.print(format_line("Transfer", "not known: the node has no agent_traceCall"))
        return
    for depth, step in trial.steps:
        for line in _iter_lines(view, step):
            screen.print(f"{'  ' * depth}{line}", soft_wrap=True)
    if trial.preview is not None and trial.reason is None:
        for line in trial.preview.iter_lines():
            screen.print(line, soft_wrap=True)


def is_answerable() -> bool:
    """Return whether a person at a terminal can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and err.is_terminal


def may_send(preview: RunPreview | None, *, assumes_yes: bool) -> bool:
    """Return whether a run may be sent; a person at a terminal decides.

    Without a terminal, a run that differs from the request, or has unknown effects, is not sent.

    Input:  preview: None if the effects of the run are not known.
    """
    if assumes_yes:
        return True
    if not is_answerable():
        return preview is not None and preview.agrees
    try:
        return click.confirm("Send it?", err=True)
    except click.Abort:
        err.print()
        return False


def refuse_to_send(preview: RunPreview | None) -> NoReturn:
    """Print why a run was not sent, and exit.

    Raises: SystemExit: with the status of a run that is not done.
    """
    if is_answerable():
        reason = "as you answered"
    elif preview is None:
        reason = "what it would do is not known; pass --yes to send it all the same"
    elif preview.failure is not None:
        reason = f"it would end as {preview.failure}; pass --yes to send it all the same"
    elif preview.differences is None:
        reason = "it can't be compared with its request; pass --yes to send it all the same"
    else:
        reason = "its transfers differ from the request; change the request, or pass --yes"
    err.print(f"Not sent: {reason}", soft_wrap=True)
    raise SystemExit(NOT_DONE_STATUS)


def _iter_lines(view: TraceView, step: StepJson) -> Iterator[str]:
    if step["answer"] is None:
        yield from view.iter_action_lines(dict(step))
    else:
        yield view.format_answer(step["answer"])


def _serialize_step(depth: int, step: StepJson) -> dict[str, Any]:
    names = ("tool", "action", "input", "observation", "answer")
    return {"depth": depth, **{name: step.get(name) for name in names}}

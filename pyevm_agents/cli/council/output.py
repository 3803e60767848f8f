"""Output of participants: events as lines or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pyevm_agents.cli.worker_output import WorkerOutput
from pyevm_agents.display import format_amount

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

MAX_REQUESTS = 2**64
"""More than any council will have."""

SUMMARY = ("kept", "judged", "sent", "mined", "reverted", "ended", "lost", "missed")


class CouncilOutput(WorkerOutput):
    """Writes a participant's events to standard output. Thread-safe; implements `WorkerLog`."""

    def __init__(self, *, is_json: bool) -> None:
        """Input: whether events are JSON, one object a line."""
        super().__init__(is_json=is_json)
        self._is_form = is_json

    def write(self, event: str, **fields: object) -> None:
        """Write an event."""
        super().write(event, **{name: self._convert(name, each) for name, each in fields.items()})

    def write_facts(
        self, event: str, lines: Mapping[str, object], form: Mapping[str, object]
    ) -> None:
        """Write facts to read before an act.

        Input: the event in JSON; names and texts, one a line; names and values in JSON.
        """
        if self._is_form:
            super().write(event, **form)
            return
        width = max(map(len, lines))
        for name, text in lines.items():
            click.echo(f"{name:{width}}  {text}")

    def write_summary(self, counts: Counter[str]) -> None:
        """Write the summary, as the last line."""
        done: dict[str, object] = {name: counts[name] for name in SUMMARY if counts[name]}
        is_dry = counts["would_send"] or counts["would_answer"]
        if not done and not is_dry and not self._is_form:
            done = {"nothing": "was due"}
        self.write("summary", **done)

    def _convert(self, name: str, value: object) -> object:
        if name == "request" and isinstance(value, tuple):
            number, question = value
            # A withdrawal is of a token or of an account, not of a request.
            is_request = any(question) and int.from_bytes(number) < MAX_REQUESTS
            return int.from_bytes(number) if is_request else None
        if name in {"value", "amount", "cost"} and isinstance(value, int):
            return str(value) if self._is_form else format_amount(value)
        return value

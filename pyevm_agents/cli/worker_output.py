"""Output of `oracle run`: events as lines or JSON, and the model's progress on a live line."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from eth_utils import encode_hex, to_checksum_address

from precompiles.spec import ADDRESS_BYTES
from pyevm_agents.cli.output import LiveOutput, format_loading
from pyevm_agents.display import sanitize

if TYPE_CHECKING:
    from collections import Counter

    from pyevm_agents.models import Progress

SHOWN_BYTES = 4
ETHER, GWEI = 10**18, 10**9

COLOURS = {
    **dict.fromkeys(("mined", "settled"), "green"),
    **dict.fromkeys(("fault", "unreachable", "rejected", "not_registered", "refused"), "red"),
    **dict.fromkeys(("reorganized", "removed", "cancelled", "fee_capped", "gap"), "yellow"),
}


class WorkerOutput:
    """Writes a worker's events to standard output. Thread-safe; implements `WorkerLog`."""

    def __init__(self, *, is_json: bool) -> None:
        """Input: whether events are JSON, one object a line."""
        self._is_json, self._paper, self._lock = is_json, LiveOutput(), threading.Lock()

    def write(self, event: str, **fields: object) -> None:
        """Write an event."""
        with self._lock:
            if self._is_json:
                form = {"time": _now(), "event": event, **_serialize_fields(fields)}
                click.echo(json.dumps(form, ensure_ascii=False))
                return
            if event in {"computed", "fault", "stopped"}:
                self._paper.set_live_line("")
            self._paper.write([self._format_line(event, fields)])

    def on_progress(self, progress: Progress) -> None:
        """Show the model's progress."""
        if self._is_json:
            return
        with self._lock:
            if progress.is_loading:
                self._paper.set_live_line(format_loading(progress))
            else:
                self._paper.set_live_line(
                    f"model: {progress.phase} {progress.done} of {progress.total} tokens"
                )

    def write_summary(self, counts: Counter[str]) -> None:
        """Write the worker's summary, as the last line."""
        shown = {name: counts[name] for name in ("found", "computed", "sent", "mined", "settled")}
        with self._lock:
            if self._is_json:
                click.echo(json.dumps({"time": _now(), "event": "summary", **shown}))
                return
            words = ", ".join(f"{count:,} {name}" for name, count in shown.items())
            self._paper.set_live_line("")
            self._paper.write([f"Stopped: {words}. What is open goes on at the next start."])

    def _format_line(self, event: str, fields: dict[str, object]) -> str:
        words = [
            f"{name.replace('_', ' ')} {_format_value(name, value)}"
            for name, value in fields.items()
            if value is not None
        ]
        name = self._paper.paint(f"{event.replace('_', ' '):14}", COLOURS.get(event, "cyan"))
        return f"{_now()[11:19]}  {name} {'  '.join(words)}".rstrip()


def _serialize_fields(fields: dict[str, object]) -> dict[str, object]:
    form: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, tuple):  # A request's key.
            request_id, block_hash = value
            form |= {"request": encode_hex(request_id), "requestBlock": encode_hex(block_hash)}
        elif isinstance(value, bytes):
            is_address = len(value) == ADDRESS_BYTES
            form[name] = to_checksum_address(value) if is_address else encode_hex(value)
        elif isinstance(value, list):
            form[name] = [encode_hex(request_id) for request_id, _ in value]
        else:
            form[name] = str(value) if name == "fee" else value
    return form


def _format_value(name: str, value: object) -> str:
    if isinstance(value, tuple):
        return _shorten(value[0])
    if isinstance(value, bytes):
        return to_checksum_address(value) if len(value) == ADDRESS_BYTES else _shorten(value)
    if isinstance(value, list):
        return str(len(value))
    if name == "fee" and isinstance(value, int):
        return f"{value / ETHER:g} ether" if value > ETHER // 10**6 else f"{value / GWEI:g} gwei"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else sanitize(str(value))


def _shorten(data: bytes) -> str:
    return f"0x{data[:SHOWN_BYTES].hex()}…"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""A run of a node: server, output, end."""

from __future__ import annotations

import asyncio
import signal
from enum import Enum
from typing import TYPE_CHECKING, Self

from pyevm_agents.cli.node.banner import print_banner, print_json_banner
from pyevm_agents.cli.node.log import NodeLog
from pyevm_agents.cli.output import LiveOutput, StatusLine, format_loading, is_live
from pyevm_agents.local_node import NodeUrls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.abi.known_contracts import FoundArtifacts
    from pyevm_agents.agents.events import AgentEventBus
    from pyevm_agents.local_node import OpenNode
    from pyevm_agents.models import Progress
    from pyevm_agents.rpc.dispatcher import RequestLogEntry

WAIT_SECONDS = 0.5
"""Time to wait for a running transaction at the end before printing a message."""

ARTIFACTS_SECONDS = 1.0
"""Time to wait for a scan of compiled contracts before the start message."""


class NodeOutput(Enum):
    """Output of a node."""

    LINES = "lines"
    JSON = "json"
    NOTHING = "nothing"

    @classmethod
    def from_options(cls, *, is_quiet: bool, is_json: bool) -> NodeOutput:
        """Return the output selected by `--quiet` and `--json-logs`."""
        if is_quiet:
            return cls.NOTHING
        return cls.JSON if is_json else cls.LINES


class NodeRun:
    """The output of a node, from the loading of the model to the last line."""

    def __init__(self, output: NodeOutput, *, has_traces: bool = False) -> None:
        """Start with this kind of output.

        Input: the kind; whether the log has the calls of each transaction.
        """
        self._output, self._has_traces = output, has_traces
        # Not as plain lines: prool, which starts anvil for suites with viem, ends a node that
        # writes on standard error what is not called a "Warning".
        is_shown = output is NodeOutput.LINES and is_live()
        self._watch: StatusLine | None = StatusLine() if is_shown else None
        self._log: NodeLog | None = None
        self._steps: AgentEventBus | None = None
        self._found: FoundArtifacts | None = None

    def __enter__(self) -> Self:
        """Return the run."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write the rest of the log."""
        self._end_watch()
        if self._log is not None:
            self._log.close()
            self._log = None

    def on_progress(self, progress: Progress) -> None:
        """Show the progress of a model, before and after the node starts."""
        if not progress.is_loading and self._steps is not None:
            self._steps.on_progress(
                is_writing=progress.phase == "output",
                done=progress.done,
                total=progress.total,
                text=progress.text,
            )
        elif self._log is not None and progress.is_loading:
            self._log.add_note(format_loading(progress), is_live=True)
        elif self._watch is not None:
            self._watch.on_progress(progress)

    def serve(self, opened: OpenNode, notes: Sequence[str] = ()) -> None:
        """Serve until a signal; then finish running requests, dump the state and close the node.

        Input:  the node; further notes for the start message.
        Raises: ConfigError: the port is in use. AgentsError: the state can't be written.
        """
        self._end_watch()
        self._steps = opened.chain.agent_events
        if opened.artifacts is not None and self._output is not NodeOutput.NOTHING:
            self._found = opened.artifacts.count_found(ARTIFACTS_SECONDS)
        asyncio.run(self._serve(opened, (*opened.notes, *notes)))

    async def _serve(self, opened: OpenNode, notes: Sequence[str]) -> None:
        loop = asyncio.get_running_loop()
        watch = None if self._output is NodeOutput.NOTHING else self._on_request
        server = opened.build_server(watch=watch)
        signals = 0

        def stop() -> None:
            nonlocal signals
            signals += 1
            server.stop()
            if signals > 1:  # The running transaction ends with a fault and enters no block.
                opened.abort()

        for number in (signal.SIGINT, signal.SIGTERM):  # Before a client can see that it listens.
            loop.add_signal_handler(number, stop)
        async with server:
            self._start_log(opened, NodeUrls.from_server(server), notes)
            opened.node.resume()
            await server.wait_stopped()
        await asyncio.to_thread(self._finish, opened)

    def _on_request(self, answered: RequestLogEntry) -> None:
        if self._log is not None:
            self._log.record_request(answered)

    def _start_log(self, opened: OpenNode, urls: NodeUrls, notes: Sequence[str]) -> None:
        if self._output is NodeOutput.JSON:
            print_json_banner(opened, urls, notes, self._found)
        elif self._output is NodeOutput.LINES:
            print_banner(opened, urls, notes, self._found)
        if self._output is not NodeOutput.NOTHING:
            self._log = NodeLog(
                opened.node,
                LiveOutput(),
                is_json=self._output is NodeOutput.JSON,
                has_traces=self._has_traces,
            )

    def _finish(self, opened: OpenNode) -> None:
        """Wait for the running transaction; dump the state; close the node."""
        if not opened.node.wait_idle(WAIT_SECONDS):
            self._add_note("A transaction is still running. Press Ctrl-C again to abort it.")
            opened.node.wait_idle()
        opened.finish()
        if (path := opened.config.dump_path) is not None:
            self._add_note(f"State written to {path}, {path.stat().st_size:,} bytes")
        self._add_note("Stopped.")

    def _add_note(self, text: str) -> None:
        if self._log is not None:
            self._log.add_note(text)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

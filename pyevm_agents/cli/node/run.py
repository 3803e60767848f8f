"""A run of a node: its server, its output, its end."""

from __future__ import annotations

import asyncio
import signal
from enum import Enum
from typing import TYPE_CHECKING, Self

from pyevm_agents.cli.node.banner import NodeUrls, print_banner, print_json_banner
from pyevm_agents.cli.node.log import NodeLog
from pyevm_agents.cli.node.state_file import write_state
from pyevm_agents.cli.output import LiveOutput, StatusLine, format_loading
from pyevm_agents.node.state_dump import dump
from pyevm_agents.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyevm_agents.agents.events import AgentEventBus
    from pyevm_agents.cli.node.chain import NodeChain
    from pyevm_agents.models import LlamaModel, Progress
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.dispatcher import RequestLogEntry
    from pyevm_agents.rpc.service import NodeService
    from pyevm_agents.server import ServerOptions

WAIT_SECONDS = 0.5
"""Time to wait for a running transaction at the end before printing a message."""


class NodeOutput(Enum):
    """What a node prints."""

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
        self._watch: StatusLine | None = StatusLine() if output is NodeOutput.LINES else None
        self._log: NodeLog | None = None
        self._steps: AgentEventBus | None = None

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

    def serve(  # noqa: PLR0913 - keyword arguments
        self,
        node: Node,
        node_chain: NodeChain,
        options: ServerOptions,
        *,
        service: NodeService,
        engines: Sequence[LlamaModel],
        dump_path: Path | None,
    ) -> None:
        """Serve until a signal; then finish running requests, and dump the state.

        Input:  service: the JSON-RPC service of the node.
                dump_path: the file of the state; None for no dump.
        Raises: ConfigError: the port is in use. AgentsError: the state can't be written.
        """
        self._end_watch()
        self._steps = node_chain.chain.agent_events
        watch = None if self._output is NodeOutput.NOTHING else self._on_request
        server = Server(service, options, watch=watch, may_watch_wait=False)
        asyncio.run(self._serve(node, node_chain, server, engines, dump_path))

    async def _serve(
        self,
        node: Node,
        node_chain: NodeChain,
        server: Server,
        engines: Sequence[LlamaModel],
        dump_path: Path | None,
    ) -> None:
        loop = asyncio.get_running_loop()
        signals = 0

        def stop() -> None:
            nonlocal signals
            signals += 1
            server.stop()
            if signals > 1:  # The running transaction ends with a fault and enters no block.
                node.begin_stop()
                for engine in engines:
                    engine.close()
                if node.fork is not None:
                    node.fork.close()

        for number in (signal.SIGINT, signal.SIGTERM):  # Before a client can see that it listens.
            loop.add_signal_handler(number, stop)
        async with server:
            self._start_log(node, node_chain, server)
            node.resume()
            await server.wait_stopped()
        await asyncio.to_thread(self._finish, node, dump_path)

    def _on_request(self, answered: RequestLogEntry) -> None:
        if self._log is not None:
            self._log.record_request(answered)

    def _start_log(self, node: Node, node_chain: NodeChain, server: Server) -> None:
        urls = NodeUrls(http=server.url, page=server.page_url, ipc_path=server.ipc_path)
        if self._output is NodeOutput.JSON:
            print_json_banner(node, node_chain, urls)
        elif self._output is NodeOutput.LINES:
            print_banner(node, node_chain, urls)
        if self._output is not NodeOutput.NOTHING:
            self._log = NodeLog(
                node,
                LiveOutput(),
                is_json=self._output is NodeOutput.JSON,
                has_traces=self._has_traces,
            )

    def _finish(self, node: Node, dump_path: Path | None) -> None:
        """Wait for the running transaction; dump the state; close the node."""
        if not node.wait_idle(WAIT_SECONDS):
            self._add_note("A transaction is still running. Press Ctrl-C again to abort it.")
            node.wait_idle()
        if dump_path is not None:
            size = write_state(dump_path, node.submit_change(lambda: dump(node)).result())
            self._add_note(f"State written to {dump_path}, {size:,} bytes")
        node.close()
        self._add_note("Stopped.")

    def _add_note(self, text: str) -> None:
        if self._log is not None:
            self._log.add_note(text)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

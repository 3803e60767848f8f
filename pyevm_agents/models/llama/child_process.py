"""A child process with its pipes: how it is started, spoken to, mourned and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pyevm_agents.errors import EngineFault
from pyevm_agents.models.engine_messages import (
    EngineReply,
    EngineRequest,
    read_reply,
    write_message,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    ProgressReport = Callable[[str, int, int, str], None]

WORKER_MODULE = "pyevm_agents.models.llama.worker"

EXIT_SECONDS = 2.0
"""Seconds a child has to end after its pipe was closed; then it is killed. Idle, it takes 0.01."""

STDERR_TAIL_BYTES = 2000
"""Bytes of the child's stderr that an error message repeats."""

REMOVED_VARIABLES = (
    "GGML_",
    "LLAMA_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "GLIBC_TUNABLES",  # Chooses among libm's variants of a function.
    "PYTHONWARNINGS",
    "PYTHONPATH",
)
"""Prefixes of variables that a child does not see: no environment decides what it computes."""

OWN_VARIABLES = {
    # OpenMP's threads wait without spinning: with its default, two threads beside any other load
    # took 1,425 ms a token in place of 27. Read once, when libgomp loads.
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    # numpy is used for one comparison; its own threads would only cost their start.
    "OPENBLAS_NUM_THREADS": "1",
    # llama.cpp multiplies K- and IQ-quantised weights with 8 or more tokens by other code than with
    # fewer, which gives other bits (ggml-cpu/tiled/tiled.cpp; no build flag leaves it out).
    "GGML_CPU_TILED_MM": "0",
    # An abort must not start a debugger on the child to print a stack.
    "GGML_NO_BACKTRACE": "1",
    # Python's directory of the moment is not where the child's modules come from.
    "PYTHONSAFEPATH": "1",
}

OPERATION_PHRASES = {
    "hello": "was starting",
    "load": "was loading the model",
    "tokenize": "made tokens of a prompt",
    "generate": "was generating",
    "reference": "was generating token by token",
    "follow": "followed a script",
    "text": "made text of tokens",
    "logits": "was computing logits",
    "forget": "emptied its memory",
}
"""What a process did, by the operation that it was asked for."""

HINTS = {
    signal.SIGILL: (
        "this processor lacks an instruction of the engine's build: rebuild it here with `make "
        "engine`"
    ),
    signal.SIGKILL: (
        "somebody killed it, often the system for lack of memory: use a smaller model or "
        "context_tokens"
    ),
    signal.SIGBUS: "the model's file was changed or cut short while in use: put it back",
    signal.SIGABRT: "an assertion of llama.cpp failed, please report its last words",
}


class EngineProcess:
    """A process with its pipes. Knows its parent: after a fork, it is nobody else's to end.

    The pipes are unbuffered: a buffer has a lock, which a thread that waits for a reply holds, and
    which nobody would ever release in a process forked meanwhile.
    """

    def __init__(self) -> None:
        """Start Python with the worker, in an environment of our own.

        Raises:
            EngineFault: the system starts no process.
        """
        self.parent = os.getpid()
        try:
            self.stderr: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - see `end`
            try:
                self.process = self._spawn()
            except OSError:
                self.stderr.close()
                raise
        except OSError as error:
            raise EngineFault(
                f"The engine's process does not start: {error}; free memory, processes or open "
                "files, then run the call again"
            ) from error
        if (
            self.process.stdin is None or self.process.stdout is None
        ):  # Popen made both: PIPE was asked for.
            raise EngineFault("The engine's process started without pipes; run the call again")
        self.requests, self.replies = self.process.stdin, self.process.stdout

    def _spawn(self) -> subprocess.Popen[bytes]:
        search = [str(Path(__file__).parents[3]), *sys.path]
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(REMOVED_VARIABLES)
        }
        environment |= OWN_VARIABLES
        environment["PYTHONPATH"] = os.pathsep.join(
            entry for entry in search if entry and os.pathsep not in entry
        )
        return subprocess.Popen(
            [sys.executable, "-m", WORKER_MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            bufsize=0,
            env=environment,
            process_group=0,  # Ctrl-C is the parent's to handle, before `worker.py` can ignore it.
        )

    def exchange(self, request: EngineRequest, report: ProgressReport | None) -> EngineReply | None:
        """Write a request, hand progress on, and return the reply; None where the child is gone."""
        try:
            write_message(self.requests, request)
        except OSError:
            return None
        while (reply := read_reply(self.replies)) is not None and "progress" in reply:
            if report is not None:
                report(*reply["progress"])
        return reply

    def read_stderr_tail(self) -> str:
        """Return the end of what the child wrote to stderr, in one line."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - STDERR_TAIL_BYTES))
        text = self.stderr.read().decode("utf-8", "replace")
        self.stderr.seek(0, os.SEEK_END)
        return " | ".join(line.strip() for line in text.splitlines() if line.strip())

    def describe_exit(self, operation: str) -> str:
        """Wait for the end of a dying child and say how it died."""
        try:
            status = self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if status < 0:
            killer = signal.Signals(-status)
            cause = f"was ended by {killer.name}" + (
                f" ({HINTS[killer]})" if killer in HINTS else ""
            )
        else:
            cause = f"ended with status {status}"
        words = self.read_stderr_tail()
        doing = OPERATION_PHRASES.get(operation, f"was asked to {operation}")
        return (
            f"The engine's process {cause} while it {doing}; the next "
            "call starts a fresh one. "
            + (f"Its last words: {words}" if words else "It left no last words")
        )

    def kill(self) -> None:
        """Kill the process. In a forked process: leave it to the parent."""
        if self.parent == os.getpid():
            self.process.kill()

    def end_now(self) -> None:
        """Kill the process and close its pipes: when garbage is collected, or Python ends."""
        self.end(kill=True)

    def end(self, *, kill: bool = False) -> None:
        """End the process, wait for it, close its pipes. In a forked process: only close them."""
        is_own = self.parent == os.getpid()
        if kill:
            self.kill()
        for stream in (self.requests, self.replies, self.stderr):
            with suppress(OSError):  # A pipe to the dead, with something left to flush.
                stream.close()
        if not is_own:
            self.process.returncode = 0  # Popen would warn that it still runs, as it should.
            return
        try:
            self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

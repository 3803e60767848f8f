"""The engine's child process and pipes: start, exchange of messages, exit status, stop."""

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
"""Seconds that a child has to exit after its pipe was closed, before it is killed. It needs 0.01
when idle."""

STDERR_TAIL_BYTES = 2000
"""Bytes at the end of the child's stderr that an error message quotes."""

REMOVED_VARIABLES = (
    "GGML_",
    "LLAMA_",
    "OMP_",
    "GOMP_",
    "KMP_",
    "GLIBC_TUNABLES",  # Selects variants of libm's functions.
    "PYTHONWARNINGS",
    "PYTHONPATH",
)
"""Prefixes of removed environment variables: the environment must not affect results."""

OWN_VARIABLES = {
    # OpenMP's threads wait without spinning: with the default, two threads took 1,425 ms a token
    # instead of 27 next to any other load. Read once, when libgomp loads.
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    # numpy does only a comparison; its own threads would only cost start-up time.
    "OPENBLAS_NUM_THREADS": "1",
    # llama.cpp multiplies K- and IQ-quantised weights by different code for 8 or more tokens, which
    # gives different bits (ggml-cpu/tiled/tiled.cpp; no build flag disables it).
    "GGML_CPU_TILED_MM": "0",
    # An abort must not start a debugger on the child to print a stack trace.
    "GGML_NO_BACKTRACE": "1",
    # The child's modules must not be imported from the current directory.
    "PYTHONSAFEPATH": "1",
}

OPERATION_PHRASES = {
    "hello": "was starting",
    "load": "was loading the model",
    "tokenize": "was tokenizing a prompt",
    "generate": "was generating",
    "reference": "was generating token by token",
    "follow": "was encoding a given text",
    "text": "was detokenizing",
    "logits": "was computing logits",
    "forget": "was clearing its memory",
}
"""Activity of a process by its operation, for error messages."""

HINTS = {
    signal.SIGILL: (
        "this CPU lacks an instruction of the engine's build: rebuild it here with `make engine`"
    ),
    signal.SIGKILL: (
        "it was killed, often by the system for lack of memory: use a smaller model or "
        "context_tokens"
    ),
    signal.SIGBUS: "the model file was changed or truncated while in use: restore it",
    signal.SIGABRT: "an assertion of llama.cpp failed: please report the output below",
}


class EngineProcess:
    """A child process with pipes. After a fork, only the parent that started the child may stop it.

    The pipes are unbuffered: a buffer has a lock, which a thread that waits for a reply holds, and
    which would never be released in a process forked meanwhile.
    """

    def __init__(self) -> None:
        """Start Python with the worker, in a controlled environment.

        Raises:
            EngineFault: the operating system can't start the process.
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
                f"the engine's process can't be started: {error}; free memory, processes or open "
                "files, then repeat the call"
            ) from error
        if (
            self.process.stdin is None or self.process.stdout is None
        ):  # Can't happen: Popen creates both for PIPE.
            raise EngineFault("the engine's process started without pipes; repeat the call")
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
            process_group=0,  # The parent handles Ctrl-C, even before `worker.py` can ignore it.
        )

    def exchange(self, request: EngineRequest, report: ProgressReport | None) -> EngineReply | None:
        """Send a request, forward progress, return the reply; None if the child is gone."""
        try:
            write_message(self.requests, request)
        except OSError:
            return None
        while (reply := read_reply(self.replies)) is not None and "progress" in reply:
            if report is not None:
                report(*reply["progress"])
        return reply

    def read_stderr_tail(self) -> str:
        """Return the end of the child's stderr, as one line."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - STDERR_TAIL_BYTES))
        text = self.stderr.read().decode("utf-8", "replace")
        self.stderr.seek(0, os.SEEK_END)
        return " | ".join(line.strip() for line in text.splitlines() if line.strip())

    def describe_exit(self, operation: str) -> str:
        """Wait until a dying child exits; describe its exit."""
        try:
            status = self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if status < 0:
            killer = signal.Signals(-status)
            cause = f"was killed by {killer.name}" + (
                f" ({HINTS[killer]})" if killer in HINTS else ""
            )
        else:
            cause = f"exited with status {status}"
        output = self.read_stderr_tail()
        doing = OPERATION_PHRASES.get(operation, f"was running `{operation}`")
        return (
            f"the engine's process {cause} while it {doing}; the next "
            "call starts a new one. "
            + (f"Its last output: {output}" if output else "It had no output")
        )

    def kill(self) -> None:
        """Kill the process. In a forked process: do nothing, since the parent owns the process."""
        if self.parent == os.getpid():
            self.process.kill()

    def end_now(self) -> None:
        """Kill the process and close the pipes, on garbage collection or at interpreter exit."""
        self.end(kill=True)

    def end(self, *, kill: bool = False) -> None:
        """Stop the process, wait for it, close the pipes. In a forked process: only close them."""
        is_own = self.parent == os.getpid()
        if kill:
            self.kill()
        for stream in (self.requests, self.replies, self.stderr):
            with suppress(OSError):  # A pipe to an exited process, with unflushed data.
                stream.close()
        if not is_own:
            self.process.returncode = 0  # Popen would warn that it still runs, as it should.
            return
        try:
            self.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

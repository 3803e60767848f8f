"""The engine's process as its parent sees it: started, asked, replaced after its death, ended.

llama.cpp aborts the process on its assertions, so it has one of its own. Whatever happens to it is
an `EngineFault` here, and the next request starts a fresh child that must say the same of itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from pyevm_agents import errors
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault
from pyevm_agents.models.build import Build, check_build, check_processor, parse_build
from pyevm_agents.models.gguf import FileStamp, digest
from pyevm_agents.models.wire import Facts, LoadMessage, Reply, Request, read_reply, write_message

if TYPE_CHECKING:
    from collections.abc import Callable

    ProgressReport = Callable[[str, int, int, str], None]

T = TypeVar("T")

WORKER_MODULE = "pyevm_agents.models.worker"

EXIT_SECONDS = 2.0
"""Seconds a child has to end after its pipe was closed; then it is killed. Idle, it takes 0.01."""

LAST_WORDS_BYTES = 2000
"""Bytes of the child's stderr that an error message repeats."""

DROPPED_VARIABLES = ("GGML_", "LLAMA_", "OMP_", "GOMP_", "KMP_", "PYTHONWARNINGS", "PYTHONPATH")
"""Prefixes of variables that a child does not see: no environment decides what it computes."""

OWN_VARIABLES = {
    # OpenMP's threads wait without spinning: with its default, two threads beside any other load
    # took 1,425 ms a token in place of 27. Read once, when libgomp loads.
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    # numpy is used for one comparison; its own threads would only cost their start.
    "OPENBLAS_NUM_THREADS": "1",
    # An abort must not start a debugger on the child to print a stack.
    "GGML_NO_BACKTRACE": "1",
    # Python's directory of the moment is not where the child's modules come from.
    "PYTHONSAFEPATH": "1",
}

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What a child is to load, and how."""

    path: Path
    vocabulary_only: bool
    threads: int
    context_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineIdentity:
    """Everything that decides which bits an engine computes."""

    digest: bytes
    engine: str
    guidance: str
    build: Build
    facts: Facts


class _Child:
    """A process with its pipes. Knows its parent: after a fork, it is nobody else's to end."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `end`
        search = [str(Path(__file__).parents[2]), *sys.path]
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(DROPPED_VARIABLES)
        }
        environment |= OWN_VARIABLES
        environment["PYTHONPATH"] = os.pathsep.join(
            entry for entry in search if entry and os.pathsep not in entry
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", WORKER_MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env=environment,
        )
        if (
            self.process.stdin is None or self.process.stdout is None
        ):  # Popen made both: PIPE was asked for.
            raise EngineFault("The engine's process started without pipes; run the call again")
        self.requests, self.replies = self.process.stdin, self.process.stdout

    def exchange(self, request: Request, report: ProgressReport | None) -> Reply | None:
        """Write a request, hand progress on, and return the reply; None where the child is gone."""
        try:
            write_message(self.requests, request)
        except OSError:
            return None
        while (reply := read_reply(self.replies)) is not None and "progress" in reply:
            if report is not None:
                report(*reply["progress"])
        return reply

    def last_words(self) -> str:
        """Return the end of what the child wrote to stderr, in one line."""
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - LAST_WORDS_BYTES))
        text = self.stderr.read().decode("utf-8", "replace")
        self.stderr.seek(0, os.SEEK_END)
        return " | ".join(line.strip() for line in text.splitlines() if line.strip())

    def obituary(self, doing: str) -> str:
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
        words = self.last_words()
        return (
            f"The engine's process {cause} while it was to {doing}; the next call starts a fresh "
            "one. " + (f"Its last words: {words}" if words else "It left no last words")
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


class Engine:
    """A model in a child process. One request at a time, from any thread."""

    def __init__(self, options: EngineOptions) -> None:
        """Start a child and load the model.

        Raises:
            ConfigError: the file, the build or the processor is unfit.
            EngineFault: the child died.
        """
        self._options = options
        self._process_id = os.getpid()
        self._lock = threading.Lock()
        self._owner: tuple[int, int] | None = None
        self._child: _Child | None = None
        self._end: weakref.finalize[[], Engine] | None = None
        self._is_closed = False
        self._first_identity: EngineIdentity | None = None
        self.identity = self._locked(self._start)
        self._first_identity = self.identity

    def ask(self, request: Request, report: ProgressReport | None = None) -> Reply:
        """Send a request and return its reply.

        Input:
            report: is called with phase, tokens done, tokens in all and text. What it raises
                cancels the request and comes out of here.

        Raises:
            EngineFault: the child died; or what it reported, as the class that it named.
        """
        return self._locked(lambda: self._ask_now(request, report))

    def close(self) -> None:
        """End the child, its work in other threads included. Further requests are refused."""
        self._is_closed = True
        child = self._child
        if child is not None:
            child.kill()
        if self._owner != (os.getpid(), threading.get_ident()):
            self._locked(self._drop)

    @property
    def process_id(self) -> int | None:
        """The child's process id, or None while there is none."""
        return None if self._child is None else self._child.process.pid

    def _locked(self, work: Callable[[], T]) -> T:
        """Do work alone; after a fork, with a child and a lock of one's own."""
        me = (os.getpid(), threading.get_ident())
        if self._process_id != me[0]:
            self._process_id, self._lock, self._owner = me[0], threading.Lock(), None
            self._drop()
        if self._owner == me:
            raise EngineFault(
                "A progress report asked the model that it reports about; ask after the generation "
                "has ended"
            )
        with self._lock:
            self._owner = me
            try:
                return work()
            finally:
                self._owner = None

    def _ask_now(self, request: Request, report: ProgressReport | None) -> Reply:
        if self._is_closed:
            raise EngineFault("The model was closed; make a new one")
        if self._child is not None and self._child.process.poll() is not None:
            self._drop()  # It died between requests, so nothing was lost.
        if self._child is None:
            try:
                identity = self._start()
            except ConfigError as error:  # It was fine when the chain began.
                raise EngineFault(f"The engine does not start again: {error}") from error
            if identity != self._first_identity:
                self._drop(kill=True)
                raise EngineFault(
                    f"The model file {self._options.path} or its engine changed while the chain "
                    f"ran: a fresh process says {identity}, "
                    f"the first one said {self._first_identity}; start the chain again"
                )
        return self._exchange(request, report)

    def _start(self) -> EngineIdentity:
        options = self._options
        if not options.vocabulary_only:
            check_processor()
        hashed = digest(options.path)
        stamp = FileStamp.of(options.path)
        child = _Child()
        self._child = child
        self._end = weakref.finalize(self, child.end_now)
        try:
            hello = self._exchange(Request(operation="hello"), None)
            build = parse_build(hello["system_info"], tuple(hello["backends"]), hello["machine"])
            if not options.vocabulary_only:  # Any build computes the same tokens.
                check_build(build)
            load = LoadMessage(
                path=str(options.path),
                size_bytes=stamp.size_bytes,
                mtime_ns=stamp.mtime_ns,
                vocabulary_only=options.vocabulary_only,
                threads=options.threads,
                context_tokens=options.context_tokens,
            )
            facts = self._exchange(Request(operation="load", load=load), None)["facts"]
        except AgentsError:
            self._drop(kill=True)
            raise
        return EngineIdentity(
            digest=hashed,
            engine=hello["engine"],
            guidance=hello["guidance"],
            build=build,
            facts=facts,
        )

    def _exchange(self, request: Request, report: ProgressReport | None) -> Reply:
        """Write a request and read until its reply.

        An exchange that does not come to its end takes the child with it: nobody could tell the
        rest of its replies from those to the next request.
        """
        child = self._child
        if child is None:
            raise EngineFault("The engine's process is gone; run the call again")
        try:
            reply = child.exchange(request, report)
        except BaseException:
            self._drop(kill=True)
            raise
        if reply is None:
            message = child.obituary(request["operation"])
            self._drop(kill=True)
            raise EngineFault(message)
        if "error" in reply:
            raise _translated(reply, child)
        return reply

    def _drop(self, *, kill: bool = False) -> None:
        child, self._child = self._child, None
        if self._end is not None:
            self._end.detach()
            self._end = None
        if child is not None:
            child.end(kill=kill)


def _translated(reply: Reply, child: _Child) -> AgentsError:
    kinds: dict[str, type[AgentsError]] = {
        kind.__name__: kind
        for kind in (ConfigError, EngineFault, errors.GrammarError, errors.ScriptError)
    }
    kind = kinds.get(reply["error"], EngineFault)
    words = child.last_words() if kind in {ConfigError, EngineFault} else ""
    return kind(reply["message"] + (f". llama.cpp said: {words}" if words else ""))

"""The engine's process as its parent sees it: started, asked, replaced after its death, ended.

llama.cpp aborts the process on its assertions, so it has one of its own. Whatever happens to it is
an `EngineFault` here, and the next request starts a fresh child that must say the same of itself.
"""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents import errors
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault
from pyevm_agents.models.build import Build, check_build, check_processor, parse_build
from pyevm_agents.models.child import Child
from pyevm_agents.models.gguf import FileStamp, digest
from pyevm_agents.models.wire import Facts, LoadMessage, Reply, Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyevm_agents.models.child import ProgressReport

T = TypeVar("T")


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
        self._child: Child | None = None
        self._end: weakref.finalize[[], Engine] | None = None
        self._is_closed = False
        self.identity = self._locked(self._start)

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
        if child is not None and self._owner is not None:
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
            if identity != self.identity:
                self._drop(kill=True)
                now, before = asdict(identity), asdict(self.identity)
                changed = [name for name in now if now[name] != before[name]]
                raise EngineFault(
                    f"The model file {self._options.path} or its engine changed while the chain "
                    f"ran: a fresh process has another {' and '.join(changed)}; start the chain "
                    "again"
                )
        return self._exchange(request, report)

    def _start(self) -> EngineIdentity:
        options = self._options
        if not options.vocabulary_only:
            check_processor()
        hashed = digest(options.path)
        stamp = FileStamp.of(options.path)
        child = Child()
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


def _translated(reply: Reply, child: Child) -> AgentsError:
    kinds: dict[str, type[AgentsError]] = {
        kind.__name__: kind
        for kind in (ConfigError, EngineFault, errors.GrammarError, errors.ScriptError)
    }
    kind = kinds.get(reply["error"], EngineFault)
    words = child.last_words() if kind in {ConfigError, EngineFault} else ""
    return kind(reply["message"] + (f". llama.cpp said: {words}" if words else ""))

"""The engine: starts, calls, replaces and stops the child process that runs llama.cpp.

llama.cpp aborts the process when an assertion fails, and therefore runs in a separate process. A
failure of that process is an `EngineFault`; the next request starts a new child, which must report
the same identity.

Source: docs/architecture.md#four-failures
"""

from __future__ import annotations

import os
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents import errors
from pyevm_agents.errors import AgentsError, ConfigError, EngineFault
from pyevm_agents.models.engine_messages import (
    CanaryMessage,
    EngineReply,
    EngineRequest,
    LoadMessage,
)
from pyevm_agents.models.gguf.adapter import check_files
from pyevm_agents.models.gguf.files import FileStamp, hash_model
from pyevm_agents.models.llama.build_profile import check_build, check_processor, parse_build
from pyevm_agents.models.llama.child_process import EngineProcess
from pyevm_agents.models.llama.identity import EngineIdentity, FactsFolder, FactsKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyevm_agents.models.llama.child_process import ProgressReport

T = TypeVar("T")

WITHOUT_WEIGHTS = frozenset({"tokenize", "text", "follow"})
"""Operations that need only a vocabulary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The files that a child loads, and the settings."""

    path: Path
    vocabulary_only: bool
    threads: int
    context_tokens: int | None
    prefix_cache_bytes: int = 0
    adapter: Path | None = None
    """A LoRA adapter that is always applied to the model."""

    @property
    def files(self) -> str:
        """The files, for error messages."""
        adapter = "" if self.adapter is None else f" with the adapter {self.adapter}"
        return f"model file {self.path}{adapter}"


class Engine:
    """A model in a child process. Executes one request at a time, from any thread.

    Nothing is started before the first request; the weights are loaded when logits are needed, only
    the vocabulary before that. The engine's identity comes from the facts folder if cached there;
    otherwise everything is loaded to compute the identity.
    """

    def __init__(
        self,
        options: EngineOptions,
        *,
        kept_facts: FactsFolder | None = None,
        report: ProgressReport | None = None,
    ) -> None:
        """Create an engine without starting a process.

        Input:
            kept_facts: folder that caches the engine's identity between processes, or None.
            report: callback for progress while files are loaded, with the arguments of `ask`'s.
        """
        self._options = options
        self._kept_facts = kept_facts
        self._report = report
        self._identity: EngineIdentity | None = None
        self._kept_key: FactsKey | None = None
        self._has_weights = False
        self._process_id = os.getpid()
        self._lock = threading.Lock()
        self._owner: tuple[int, int] | None = None
        self._child: EngineProcess | None = None
        self._finalizer: weakref.finalize[[], Engine] | None = None
        self._is_closed = False

    @property
    def identity(self) -> EngineIdentity:
        """The engine's identity.

        Raises:
            ConfigError: the file, the build or the CPU is unsupported.
            EngineFault: the child died, or the model was closed.
        """
        return self._identity or self._run_locked(self._load_identity)

    def ask(self, request: EngineRequest, report: ProgressReport | None = None) -> EngineReply:
        """Send a request and return the reply.

        Input:
            report: callback for progress: phase, tokens done, total tokens, text. An exception of
                the callback cancels the request and is propagated.

        Raises:
            ConfigError: the file, the build or the CPU is unsupported.
            EngineFault: the child died.
            AgentsError: an error reported by the child, of the class that the child names.
        """
        return self._run_locked(lambda: self._ask_locked(request, report))

    def close(self) -> None:
        """Stop the child, even during another thread's request. Further requests are rejected."""
        self._is_closed = True
        child = self._child
        if child is not None and self._owner is not None:
            child.kill()
        if self._owner != (os.getpid(), threading.get_ident()):
            self._run_locked(self._drop_child)

    @property
    def process_id(self) -> int | None:
        """Process id of the child, or None."""
        return None if self._child is None else self._child.process.pid

    def _run_locked(self, work: Callable[[], T]) -> T:
        """Run `work` under the lock; after a fork, a new lock, without the parent's child."""
        me = (os.getpid(), threading.get_ident())
        if self._process_id != me[0]:
            self._process_id, self._lock, self._owner = me[0], threading.Lock(), None
            self._drop_child()
        if self._owner == me:
            raise EngineFault(
                "a progress callback called the model that it reports on; call it after the "
                "generation has finished"
            )
        with self._lock:
            self._owner = me
            try:
                return work()
            finally:
                self._owner = None

    def _ask_locked(self, request: EngineRequest, report: ProgressReport | None) -> EngineReply:
        self._load_identity()
        self._ensure_loaded(with_weights=request["operation"] not in WITHOUT_WEIGHTS)
        return self._exchange(request, report)

    def _load_identity(self) -> EngineIdentity:
        """Return the identity, cached in the folder or computed from the loaded model."""
        if self._identity is None and self._kept_facts is not None and not self._is_closed:
            check_files(self._options.path, self._options.adapter)
            key = self._build_key()
            identity = self._kept_facts.read(key)
            if identity is not None:
                if not self._options.vocabulary_only:
                    check_build(identity.build)
                self._identity, self._kept_key = identity, key
        if self._identity is None:
            self._ensure_loaded(with_weights=True)
        if self._identity is None:
            raise EngineFault("the engine reported no identity; start the chain again")
        return self._identity

    def _ensure_loaded(self, *, with_weights: bool) -> None:
        """Ensure that a child has loaded the needed files, with the identity known until now."""
        self._require_open()
        if self._child is not None and self._child.process.poll() is not None:
            self._drop_child()  # It died between requests, so no work was lost.
        with_weights = with_weights and not self._options.vocabulary_only
        if self._child is not None and (self._has_weights or not with_weights):
            return
        try:
            key, identity = self._load(with_weights=with_weights)
        except ConfigError as error:
            if self._identity is None:
                raise
            raise EngineFault(  # The first start succeeded, so this is not a configuration error.
                f"the engine can't be restarted: {error}"
            ) from error
        self._reconcile_identity(
            key, identity, is_whole=with_weights or self._options.vocabulary_only
        )

    def _reconcile_identity(
        self, key: FactsKey, identity: EngineIdentity, *, is_whole: bool
    ) -> None:
        """Compare a loaded child's identity with the known one, or store the first one."""
        known = self._identity
        if known is not None:
            self._require_same(identity, known if is_whole else known.without_weights())
        if is_whole and (known is None or identity.hardware != known.hardware):
            self._identity = identity
            if self._kept_facts is not None:
                self._kept_facts.write(key, identity)
        if is_whole:
            self._kept_key = None

    def _build_key(self) -> FactsKey:
        adapter = self._options.adapter
        return FactsKey(
            stamp=FileStamp.from_path(self._options.path),
            vocabulary_only=self._options.vocabulary_only,
            context_tokens=self._options.context_tokens,
            adapter_stamp=None if adapter is None else FileStamp.from_path(adapter),
        )

    def _require_same(self, now: EngineIdentity, before: EngineIdentity) -> None:
        if now == before:
            return
        self._drop_child(kill=True)
        differences = now.describe_differences(before)
        files, key = self._options.files, self._kept_key
        if key is not None and self._kept_facts is not None:
            self._kept_facts.drop(key)
            raise EngineFault(
                f"{files} or its engine differs from its entry in {self._kept_facts.folder}: "
                f"different {differences}. The entry was deleted; start the chain again"
            )
        raise EngineFault(
            f"{files} or its engine changed while the chain ran: the restarted process has a "
            f"different {differences}; start the chain again"
        )

    def _load(self, *, with_weights: bool) -> tuple[FactsKey, EngineIdentity]:
        """Load the files into the child, starting one if necessary; return identity and key.

        The stamps are taken before hashing: the hash or the child notices a later change.
        """
        options = self._options
        if not options.vocabulary_only:
            check_processor()
        check_files(options.path, options.adapter)
        key = self._build_key()
        hashed = self._compute_digest(key, is_whole=with_weights or options.vocabulary_only)
        try:
            hello = self._handshake()
            build = parse_build(hello["system_info"], tuple(hello["backends"]), hello["machine"])
            if not options.vocabulary_only:  # All builds compute the same tokens.
                check_build(build)
            load = LoadMessage(
                model=key.stamp.to_message(),
                adapter=None if key.adapter_stamp is None else key.adapter_stamp.to_message(),
                vocabulary_only=not with_weights,
                threads=options.threads,
                context_tokens=options.context_tokens,
                prefix_cache_bytes=options.prefix_cache_bytes,
                kept_canary=self._get_kept_canary(key),
            )
            request = EngineRequest(
                operation="load", load=load, wants_progress=self._report is not None
            )
            loaded = self._exchange(request, self._report)
        except AgentsError:
            self._drop_child(kill=True)
            raise
        self._has_weights = with_weights
        return key, EngineIdentity(
            digest=hashed,
            engine=hello["engine"],
            guidance=hello["guidance"],
            build=build,
            facts=loaded["facts"],
            hardware=loaded["hardware"],
        )

    def _get_kept_canary(self, key: FactsKey) -> CanaryMessage | None:
        """Return the canary that the facts folder has for these files and this engine."""
        identity = self._identity
        if identity is None or key != self._kept_key:
            return None
        return CanaryMessage(hardware=identity.hardware, canary=identity.facts["canary"])

    def _compute_digest(self, key: FactsKey, *, is_whole: bool) -> bytes:
        """Return the model's digest: the cached one unless the weights are to be loaded."""
        identity = self._identity
        if identity is not None and not is_whole and key == self._kept_key:
            return identity.digest
        model, adapter = self._options.path, self._options.adapter
        return hash_model(
            model, adapter, lambda done, total: self._report_progress("hash", done, total)
        )

    def _report_progress(self, phase: str, done: int, total: int) -> None:
        self._require_open()
        if self._report is not None:
            self._report(phase, done, total, "")

    def _handshake(self) -> EngineReply:
        """Return the child's description of the engine, starting a child if necessary."""
        if self._child is None:
            self._report_progress("start", 0, 1)
            child = EngineProcess()
            self._child = child
            self._finalizer = weakref.finalize(self, child.end_now)
        return self._exchange(EngineRequest(operation="hello"), None)

    def _exchange(self, request: EngineRequest, report: ProgressReport | None) -> EngineReply:
        """Send a request and read the reply.

        An exchange that fails also stops the child: the remaining replies would be
        indistinguishable from those to the next request.
        """
        self._require_open()  # Another thread may have closed the model during loading.
        child = self._child
        if child is None:
            raise EngineFault("the engine's process has exited; repeat the call")
        try:
            reply = child.exchange(request, report)
        except BaseException:
            self._drop_child(kill=True)
            raise
        if reply is None:
            message = child.describe_exit(request["operation"])
            self._drop_child(kill=True)
            raise EngineFault(message)
        if "error" in reply:
            raise _translate_error(reply, child)
        return reply

    def _require_open(self) -> None:
        if self._is_closed:
            raise EngineFault("the model is closed; create a new one")

    def _drop_child(self, *, kill: bool = False) -> None:
        child, self._child, self._has_weights = self._child, None, False
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None
        if child is not None:
            child.end(kill=kill)


def _translate_error(reply: EngineReply, child: EngineProcess) -> AgentsError:
    kinds: dict[str, type[AgentsError]] = {
        kind.__name__: kind
        for kind in (ConfigError, EngineFault, errors.GrammarError, errors.ScriptError)
    }
    kind = kinds.get(reply["error"], EngineFault)
    output = child.read_stderr_tail() if kind in {ConfigError, EngineFault} else ""
    return kind(reply["message"] + (f". llama.cpp's output: {output}" if output else ""))

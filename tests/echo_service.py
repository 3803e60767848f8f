"""A JSON-RPC service for tests: echo, wait, compute, fail, subscribe."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from pyevm_agents.rpc.errors import METHOD_NOT_FOUND, RpcError, WouldBlockError
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import ExitStack

    from pyevm_agents.rpc.request import Params
    from pyevm_agents.rpc.session import Session

QUICK = {"echo", "count", "quick_bug", "shy", "subscribe"}


class UnreadableError(Exception):
    """A bug whose message is a bug."""

    def __str__(self) -> str:
        raise ValueError("no message")


BUGS: dict[str, BaseException] = {
    "value": ValueError("what was asked for can't be"),
    "memory": MemoryError(),
    "unreadable": UnreadableError(),
    "surrogate": ValueError("\ud800"),
    "long": ValueError("x" * 100_000),
    "interrupt": KeyboardInterrupt(),
    "exit": SystemExit(3),
}


class EchoService:
    """Serves a few methods; counts its calls; keeps its subscribers."""

    def __init__(self) -> None:
        self.calls = 0
        self.prepared: list[list[str]] = []
        """The methods of each batch."""

        self.gate = threading.Event()
        self.sessions: list[Session] = []
        self.ended: list[Session] = []
        self._methods: dict[str, Callable[[Params, Session], object]] = {
            "echo": lambda params, _: params,
            "slow_echo": lambda params, _: params,
            "shy": lambda params, _: params,
            "count": lambda _params, _session: self.calls,
            "wait": self._wait,
            "gate": lambda _params, _session: self.gate.wait(2 * HANG_SECONDS),
            "burn": self._burn,
            "text": lambda params, _: "x" * _first(params),
            "deep": lambda params, _: _deep(_first(params)),
            "integer": lambda params, _: 2 ** _first(params),
            "no_json": lambda _params, _session: {"bytes": b"\x00"},
            "refuse": lambda _params, _session: self._refuse("0x08c379a0"),
            "refuse_badly": lambda _params, _session: self._refuse(b"bytes"),
            "bug": self._bug,
            "quick_bug": self._bug,
            "recurse": self._recurse,
            "subscribe": self._subscribe,
            "slow_subscribe": self._subscribe,
            "transport": lambda _params, session: session.transport,
        }

    def is_quick(self, method: str) -> bool:
        return method in QUICK or method not in self._methods

    def prepare(self, requests: Sequence[tuple[str, Params]]) -> None:
        self.prepared.append([method for method, _ in requests])

    def call(
        self,
        method: str,
        params: Params,
        session: Session,
        *,
        may_wait: bool = True,
        resources: ExitStack | None = None,  # noqa: ARG002 - of the protocol
    ) -> object:
        if method == "shy" and not may_wait:
            raise WouldBlockError
        self.calls += 1
        known = self._methods.get(method)
        if known is None:
            raise RpcError(METHOD_NOT_FOUND, f"the method {method} does not exist")
        return known(params, session)

    def _wait(self, params: Params, _session: Session) -> object:
        assert isinstance(params, list)
        assert isinstance(params[0], int | float)
        time.sleep(params[0])
        return "waited"

    def _burn(self, _params: Params, _session: Session) -> object:
        while not self.gate.is_set():
            pass
        return "burnt"

    def _refuse(self, data: object) -> object:
        raise RpcError(3, "execution reverted: no", data)

    def _bug(self, params: Params, _session: Session) -> object:
        assert isinstance(params, list)
        raise BUGS[str(params[0])]

    def _recurse(self, params: Params, session: Session) -> object:
        return [self._recurse(params, session)]

    def _subscribe(self, _params: Params, session: Session) -> object:
        if session.notify is None:
            raise RpcError(METHOD_NOT_FOUND, "connect a WebSocket to subscribe")
        self.sessions.append(session)
        session.on_close(lambda: self.ended.append(session))
        threading.Thread(target=session.notify, args=({"first": True},)).start()
        time.sleep(0.01)
        return "subscribed"


def _first(params: Params) -> int:
    assert isinstance(params, list)
    assert isinstance(params[0], int)
    return params[0]


def _deep(levels: int) -> object:
    value: object = 0
    for _ in range(levels):
        value = [value]
    return value

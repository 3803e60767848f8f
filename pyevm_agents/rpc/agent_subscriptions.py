"""Subscriptions to agents' steps while a model generates.

{"jsonrpc": "2.0", "method": "agent_subscription",
 "params": {"subscription": "0x…", "result": {"kind": "tool", "source": "block",
            "transactionHash": "0x…", "run": 7, "step": 1, "depth": 0, "agent": "0x…", …}}}

Fields of each kind, in addition to the location:

    start        `model`, `tokens` (`cold`, `warm`), zeros where the rules decide: a step starts
    reading      `done`, `total`: evaluated prompt tokens, at most ten times a second
    writing      `done`, `total`, `text`: the generated text up to now
    tool         `thought`, `action`, `input`, and the cost fields of `agent_traceTransaction`
    answer       `thought`, `answer`, and the cost fields
    observation  `observation`: the tool's result, null if it reverted
    failure      `reason`: the step has no output, because of the gas or of another limit
    end          `isSuccess`, `reason`: of the transaction, the call or the estimate
    fault        `reason`: the engine failed, and no block contains the transaction

Events of an `agent_traceCall` with a request id have it as `requestId`.

A slow client does not delay the others: its session queues messages, and drops the connection if
too many wait.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from math import inf
from time import monotonic  # noqa: TID251 - how often progress is sent; no block depends on it
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.agents.events import (
    RunEnded,
    RunFaulted,
    StepDecided,
    StepFailed,
    StepProgressed,
    StepStarted,
    ToolReturned,
)
from pyevm_agents.agents.trace import get_timing, serialize_confidence, sum_usage
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.agent_serializers import serialize_cost
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from eth_typing import Address

    from precompiles.language_model import LanguageModel
    from pyevm_agents.agents.events import Event, Purpose
    from pyevm_agents.node import Node
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.rpc.session import Session

PROGRESS_SECONDS = 0.1
"""Least interval between progress events. A model evaluates hundreds of tokens a second."""

MAX_SUBSCRIPTIONS = 1_000
"""Open step subscriptions of a node. All are notified in the executing thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCriteria:
    """Filter of a step subscription. A field that is None matches every event."""

    transaction_hash: bytes | None = None
    agent: Address | None = None
    purposes: frozenset[Purpose] | None = None
    has_progress: bool = True
    """Whether `reading` and `writing` events match."""

    def matches(self, event: Event) -> bool:
        """Return whether an event matches."""
        place = event.location
        return (
            self.transaction_hash in {None, place.transaction_hash}
            and self.agent in {None, place.agent}
            and (self.purposes is None or place.purpose in self.purposes)
            and (self.has_progress or not isinstance(event, StepProgressed))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _StepSubscription:
    criteria: StepCriteria
    session: Session
    send: Callable[[Json], None]


class StepSubscriptions:
    """The step subscriptions of a node. Thread-safe."""

    def __init__(self, node: Node, numbers: Iterator[int]) -> None:
        """Start without subscriptions; the node is listened to only while there are any.

        Input: the node; an iterator of unique subscription numbers.
        """
        self._node = node
        self._lock = threading.Lock()
        self._subscriptions: dict[str, _StepSubscription] = {}
        self._numbers = numbers
        self._stop: Callable[[], None] | None = None
        self._throttle = Throttle(PROGRESS_SECONDS)

    def subscribe(self, session: Session, criteria: StepCriteria) -> str:
        """Subscribe a session; return the subscription id.

        Raises: RpcError: the transport has no notifications, or too many subscriptions are open.
        """
        notify = session.notify
        if notify is None:
            raise RpcError(LIMIT_EXCEEDED, "notifications not supported: connect by WebSocket")
        name = f"0x{next(self._numbers):032x}"

        def send(result: Json) -> None:
            params = {"subscription": name, "result": result}
            notify({"jsonrpc": "2.0", "method": "agent_subscription", "params": params})

        with self._lock:
            if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
                raise RpcError(
                    LIMIT_EXCEEDED,
                    f"too many step subscriptions: at most {MAX_SUBSCRIPTIONS:,}; close some",
                )
            self._subscriptions[name] = _StepSubscription(
                criteria=criteria, session=session, send=send
            )
            if self._stop is None:
                self._stop = self._node.chain.agent_events.listen(self._on_event)
        session.on_close(lambda: self._forget(name))
        return name

    def unsubscribe(self, name: str, session: Session) -> bool:
        """Cancel a subscription of a session; return whether found."""
        with self._lock:
            subscription = self._subscriptions.get(name)
            is_its = subscription is not None and subscription.session is session
            if is_its:
                self._end(name)
            return is_its

    def _forget(self, name: str) -> None:
        with self._lock:
            self._end(name)

    def _end(self, name: str) -> None:
        self._subscriptions.pop(name, None)
        if not self._subscriptions and self._stop is not None:
            self._stop()
            self._stop = None

    def _on_event(self, event: Event) -> None:
        """Notify the matching subscriptions, in the executing thread."""
        if not self._throttle.take_turn(event):
            return
        with self._lock:
            matching = [
                subscription
                for subscription in self._subscriptions.values()
                if subscription.criteria.matches(event)
            ]
        if matching:
            form = serialize_event(event, self._node.chain.models)
            for subscription in matching:
                subscription.send(form)


class Throttle:
    """Rate limit of progress events, separate for each run. All other events pass."""

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._last_sent: dict[int, tuple[float, bool]] = {}

    def take_turn(self, event: Event) -> bool:
        """Return whether an event may be sent, and note the time if so.

        The first `writing` event of a step may always be sent.
        """
        run = event.location.run
        if not isinstance(event, StepProgressed):
            self._last_sent.pop(run, None)
            return True
        now = monotonic()
        last, was_writing = self._last_sent.get(run, (-inf, False))
        if event.is_writing == was_writing and now - last < self._interval_seconds:
            return False
        self._last_sent[run] = (now, event.is_writing)
        return True


def serialize_event(event: Event, models: Mapping[str, LanguageModel]) -> Json:
    """Serialize an event: kind, location and the fields of the kind."""
    place = event.location
    kind, details = _serialize_details(event, models)
    tx_hash = place.transaction_hash
    return {
        "kind": kind,
        "source": place.purpose,
        "transactionHash": None if tx_hash is None else serializers.encode_data(tx_hash),
        "run": place.run,
        "step": place.step,
        "depth": place.depth,
        "agent": to_checksum_address(place.agent),
        **({} if place.request_id is None else {"requestId": place.request_id}),
        **details,
    }


def _serialize_details(event: Event, models: Mapping[str, LanguageModel]) -> tuple[str, Json]:
    match event:
        case StepStarted(charge=prompted):
            tokens = {"cold": prompted.cold_tokens, "warm": prompted.warm_tokens}
            return "start", {"model": prompted.model, "tokens": tokens}
        case StepProgressed():
            kind = "writing" if event.is_writing else "reading"
            return kind, {"done": event.done, "total": event.total, "text": event.text}
        case StepDecided():
            return _serialize_decision(event, models)
        case _:
            return _serialize_outcome(event)


def _serialize_decision(
    event: StepDecided, models: Mapping[str, LanguageModel]
) -> tuple[str, Json]:
    words, inference = event.decision, event.inference
    timing = get_timing(inference, models)
    cost = serialize_cost(sum_usage([inference]), inference.margin, timing)
    cost |= serialize_confidence(inference.confidence)
    form: Json = {"thought": words.thought}
    if words.action is None:
        return "answer", {**form, "answer": words.answer, **cost}
    return "tool", {**form, "action": words.action, "input": words.action_input, **cost}


def _serialize_outcome(
    event: StepFailed | ToolReturned | RunEnded | RunFaulted,
) -> tuple[str, Json]:
    match event:
        case ToolReturned(observation=observation):
            return "observation", {"observation": observation}
        case StepFailed(reason=reason):
            return "failure", {"reason": reason}
        case RunEnded(failure=failure):
            return "end", {"isSuccess": failure is None, "reason": failure}
        case RunFaulted(reason=reason):
            return "fault", {"reason": reason}

"""JSON-RPC 2.0 dispatcher: every message has a response, even if the service fails."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.rpc.codec import Limits
from pyevm_agents.rpc.dispatcher import (
    INLINE_BYTES,
    INLINE_REQUESTS,
    DeferredResponse,
    Dispatcher,
    RequestLogEntry,
)
from pyevm_agents.rpc.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LIMIT_EXCEEDED,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    RpcError,
)
from pyevm_agents.rpc.session import Session
from tests.echo_service import EchoService


def request(method: str, *params: object, request_id: object = 1) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": list(params)}


def notification(method: str, *params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": method, "params": list(params)}


class Peer:
    """A dispatcher with its service, in one thread."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.service = EchoService()
        self.answered: list[RequestLogEntry] = []
        self.dispatcher = Dispatcher(self.service, limits=limits, watch=self.answered.append)
        self.session = Session("test")

    def begin(self, message: object) -> bytes | DeferredResponse | None:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.dispatcher.handle(body, self.session)

    def ask(self, message: object) -> Any:  # noqa: ANN401
        answer = self.begin(message)
        if isinstance(answer, DeferredResponse):
            answer = answer()
        return None if answer is None else json.loads(answer)

    def error(self, message: object) -> dict[str, object]:
        error = self.ask(message)["error"]
        assert isinstance(error, dict)
        return error


def test_quick_methods_are_answered_at_once() -> None:
    peer = Peer()
    assert isinstance(peer.begin(request("echo", 1)), bytes)
    assert peer.ask(request("echo", 1, request_id="x")) == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": [1],
    }


def test_other_methods_are_work() -> None:
    peer = Peer()
    work = peer.begin(request("slow_echo", 1))
    assert isinstance(work, DeferredResponse)
    assert (work.method, work.is_batch, peer.service.calls) == ("slow_echo", False, 0)
    answer = work()
    assert answer is not None
    assert json.loads(answer)["result"] == [1]


def test_parameters_by_name() -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": 1}}
    assert Peer().ask(message)["result"] == {"a": 1}


def test_errors_of_the_service() -> None:
    assert Peer().error(request("refuse")) == {
        "code": 3,
        "message": "execution reverted: no",
        "data": "0x08c379a0",
    }
    assert Peer().error(request("nothing"))["code"] == METHOD_NOT_FOUND


def test_what_is_no_json_has_no_id() -> None:
    answer = Peer().ask(b"{")
    assert (answer["id"], answer["error"]["code"]) == (None, PARSE_ERROR)


@pytest.mark.parametrize("method", ["bug", "quick_bug"])
@pytest.mark.parametrize(
    ("bug", "message"),
    [
        ("value", "ValueError: what was asked for can't be"),
        ("memory", "MemoryError: "),
        ("unreadable", "UnreadableError: its message is not readable"),
        ("surrogate", "ValueError: ?"),
        ("long", "ValueError: " + "x" * 1_000),
    ],
)
def test_a_bug_is_an_internal_error(
    method: str, bug: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    peer = Peer()
    assert peer.error(request(method, bug)) == {"code": INTERNAL_ERROR, "message": message}
    assert "this is a bug" in caplog.text
    assert "in _bug" in caplog.text
    assert caplog.text.encode()  # a log file is UTF-8
    assert peer.ask(request("echo"))["result"] == []


@pytest.mark.parametrize(("bug", "kind"), [("interrupt", KeyboardInterrupt), ("exit", SystemExit)])
def test_interrupts_pass(bug: str, kind: type[BaseException]) -> None:
    with pytest.raises(kind):
        Peer().ask(request("bug", bug))


def test_the_service_prepares_for_a_batch() -> None:
    peer = Peer()
    peer.ask(request("slow_echo", 1))
    peer.ask([request("echo", 1), request("slow_echo", 2), {"jsonrpc": "2.0"}])
    assert peer.service.prepared == [["echo", "slow_echo"]]


def test_a_service_that_fails_to_prepare(caplog: pytest.LogCaptureFixture) -> None:
    class Service(EchoService):
        def prepare(self, requests: object) -> None:
            raise KeyError(requests)

    peer = Peer()
    peer.dispatcher = Dispatcher(Service())
    assert [each["result"] for each in peer.ask([request("slow_echo", 1)])] == [[1]]
    assert "prepare failed" in caplog.text


def test_a_service_that_does_not_know_what_is_quick(caplog: pytest.LogCaptureFixture) -> None:
    class Service(EchoService):
        def is_quick(self, method: str) -> bool:
            raise KeyError(method)

    peer = Peer()
    peer.dispatcher = Dispatcher(Service())
    work = peer.begin(request("echo", 1))
    assert isinstance(work, DeferredResponse)
    assert json.loads(work() or b"")["result"] == [1]
    assert "is_quick('echo') failed" in caplog.text


def test_endless_recursion_is_survived(caplog: pytest.LogCaptureFixture) -> None:
    peer = Peer()
    error = peer.error(request("recurse"))
    assert error["code"] == INTERNAL_ERROR
    assert str(error["message"]).startswith("RecursionError: ")
    assert "RecursionError" in caplog.text
    assert peer.ask(request("echo"))["result"] == []


def test_a_result_that_is_no_json_is_a_bug(caplog: pytest.LogCaptureFixture) -> None:
    assert Peer().error(request("no_json"))["message"] == (
        "TypeError: Type is not JSON serializable: bytes"
    )
    assert "this is a bug" in caplog.text


def test_data_of_an_error_that_is_no_json_is_a_bug(caplog: pytest.LogCaptureFixture) -> None:
    assert Peer().error(request("refuse_badly"))["code"] == INTERNAL_ERROR
    assert "data is not JSON-ready" in caplog.text


def test_deep_and_large_results() -> None:
    assert Peer().ask(request("integer", 300))["result"] == 2**300
    answer = Peer().begin(request("deep", 3_000))
    assert isinstance(answer, DeferredResponse)
    assert answer() == b'{"jsonrpc":"2.0","id":1,"result":%b0%b}' % (b"[" * 3_000, b"]" * 3_000)


@pytest.mark.parametrize("method", ["echo", "slow_echo", "nothing", "bug", "no_json"])
def test_notifications_have_no_answer(method: str) -> None:
    peer = Peer()
    assert peer.ask(notification(method, "value")) is None
    assert peer.service.calls == 1
    assert peer.ask([notification(method, "value")] * 2) is None


def test_a_batch_is_answered_in_order() -> None:
    peer = Peer()
    batch = [
        request("echo", 0, request_id=0),
        notification("echo"),
        5,
        request("slow_echo", 2, request_id="two"),
        {"id": 3},
        request("refuse", request_id=4),
        [],
    ]
    answers = peer.ask(batch)
    assert [answer["id"] for answer in answers] == [0, None, "two", 3, 4, None]
    assert [answer.get("result") for answer in answers] == [[0], None, [2], None, None, None]
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [None, INVALID_REQUEST, None, INVALID_REQUEST, 3, INVALID_REQUEST]


def test_a_batch_is_work_for_its_first_method_that_is_not_quick() -> None:
    work = Peer().begin([request("echo"), request("slow_echo"), request("wait", 1)])
    assert isinstance(work, DeferredResponse)
    assert (work.method, work.is_batch) == ("slow_echo", True)


def test_what_would_wait_is_work() -> None:
    peer = Peer()
    work = peer.begin(request("shy", 5))
    assert isinstance(work, DeferredResponse)
    assert (work.method, work.is_batch, peer.service.calls) == ("shy", False, 0)
    assert json.loads(work() or b"")["result"] == [5]
    assert [one.method for one in peer.answered] == ["shy"]


def test_a_batch_goes_on_where_it_would_have_waited() -> None:
    peer = Peer()
    batch = [request("count", request_id=0), request("shy", request_id=1)]
    work = peer.begin([*batch, request("count", request_id=2)])
    assert isinstance(work, DeferredResponse)
    assert (work.method, work.is_batch) == ("shy", True)
    assert [one["result"] for one in json.loads(work() or b"")] == [1, [], 3]


def test_what_was_answered_before_a_wait_stays_when_the_rest_is_refused() -> None:
    work = Peer().begin([request("echo", 1), request("shy"), notification("shy")])
    assert isinstance(work, DeferredResponse)
    first, second = json.loads(work.refuse(RpcError(LIMIT_EXCEEDED, "busy")) or b"")
    assert first["result"] == [1]
    assert second["error"] == {"code": LIMIT_EXCEEDED, "message": "busy"}


def test_a_long_batch_is_work_though_it_is_quick() -> None:
    assert isinstance(Peer().begin([request("echo")] * INLINE_REQUESTS), bytes)
    assert isinstance(Peer().begin([request("echo")] * (INLINE_REQUESTS + 1)), DeferredResponse)


def test_a_long_message_is_parsed_as_work() -> None:
    work = Peer().begin(request("echo", "x" * INLINE_BYTES))
    assert isinstance(work, DeferredResponse)
    assert (work.method, work.is_batch) == ("", False)
    answer = work()
    assert answer is not None
    assert json.loads(answer)["result"] == ["x" * INLINE_BYTES]
    assert Peer().error(b" " * INLINE_BYTES + b"x")["code"] == PARSE_ERROR


@pytest.mark.parametrize("batch", [[], [request("echo")] * 4])
def test_batches_that_are_too_short_or_long(batch: list[object]) -> None:
    answer = Peer(Limits(batch=3)).ask(batch)
    assert (answer["id"], answer["error"]["code"]) == (None, INVALID_REQUEST)


def test_the_answers_of_a_batch_are_bounded() -> None:
    peer = Peer(Limits(batch_answer_bytes=1_000))
    batch = [request("text", 600, request_id=number) for number in range(4)]
    answers = peer.ask([*batch, notification("text", 1)])
    assert [len(answer.get("result", "")) for answer in answers] == [600, 600, 0, 0]
    assert [answer["id"] for answer in answers] == [0, 1, 2, 3]
    assert answers[2]["error"]["code"] == LIMIT_EXCEEDED
    assert peer.service.calls == 2


def test_work_can_be_refused() -> None:
    peer = Peer()
    busy = RpcError(LIMIT_EXCEEDED, "busy")
    single = peer.begin(request("slow_echo"))
    batch = peer.begin([request("slow_echo"), notification("slow_echo"), request("echo"), 5])
    silent = peer.begin(notification("slow_echo"))
    long = peer.begin(b" " * INLINE_BYTES + b"5")
    assert isinstance(single, DeferredResponse)
    assert isinstance(batch, DeferredResponse)
    assert isinstance(silent, DeferredResponse)
    assert isinstance(long, DeferredResponse)
    assert json.loads(single.refuse(busy) or b"")["error"]["message"] == "busy"
    refused = json.loads(batch.refuse(busy) or b"")
    assert [(answer["id"], answer["error"]["message"]) for answer in refused] == [
        (1, "busy"),
        (1, "busy"),
        (None, "busy"),
    ]
    assert silent.refuse(busy) is None
    assert json.loads(long.refuse(busy) or b"")["id"] is None
    assert peer.service.calls == 0


def test_each_request_is_told() -> None:
    peer = Peer()
    peer.ask([request("echo"), notification("slow_echo"), request("refuse"), 5])
    peer.ask(b"{")
    peer.ask(request("wait", 0.02))
    told = [(each.method, each.error_code, each.transport) for each in peer.answered]
    assert told == [
        ("echo", None, "test"),
        ("slow_echo", None, "test"),
        ("refuse", 3, "test"),
        ("", INVALID_REQUEST, "test"),
        ("", PARSE_ERROR, "test"),
        ("wait", None, "test"),
    ]
    assert peer.answered[-1].milliseconds >= 20
    assert peer.answered[0].error_message is None
    assert peer.answered[3].error_message == "request is 5; it must be an object"


def test_messages_in_many_threads() -> None:
    peer = Peer()
    wrong: list[object] = []

    def ask(number: int) -> None:
        for step in range(50):
            value = [number, step]
            answers = peer.ask([request("slow_echo", value, request_id=step)] * 3)
            wrong.extend(
                answer for answer in answers if (answer["id"], answer["result"]) != (step, [value])
            )

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


PIECES = st.sampled_from(
    [
        *b'{"jsonrpc":"2.0",^"id":1^"method":"echo"^"params":^,^[^]^{^}^null^-^"^:^ ^true'.split(
            b"^"
        ),
        *(b"1" * 25, b"\xff", b"\\ud800", b"\\", b"1e5"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "x"]), inner)
    ),
    max_leaves=10,
)


def is_answer(answer: object) -> bool:
    assert isinstance(answer, dict)
    has_outcome = ("result" in answer) is not ("error" in answer)
    return answer["jsonrpc"] == "2.0" and "id" in answer and has_outcome


@given(st.lists(PIECES).map(b"".join) | st.binary() | JSON.map(lambda x: json.dumps(x).encode()))
def test_anything_is_answered(body: bytes) -> None:
    answer = Peer().ask(body)
    for each in answer if isinstance(answer, list) else [answer]:
        assert is_answer(each)
        assert each.get("error", {}).get("code") != INTERNAL_ERROR


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "jsonrpc": st.just("2.0") | JSON,
            "id": JSON,
            "method": st.sampled_from(["echo", "slow_echo", "refuse", "no"]) | JSON,
            "params": st.lists(JSON) | JSON,
        },
    )
)
def test_anything_like_a_request_is_answered(message: dict[str, object]) -> None:
    answer = Peer().ask(message)
    if answer is None:
        assert "id" not in message
    else:
        assert is_answer(answer)
        assert answer.get("error", {}).get("code") != INTERNAL_ERROR

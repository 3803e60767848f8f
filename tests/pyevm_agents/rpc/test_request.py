"""JSON-RPC 2.0 requests, valid and invalid."""

from __future__ import annotations

import json

import pytest

from pyevm_agents.rpc.errors import INVALID_PARAMS, INVALID_REQUEST, RpcError
from pyevm_agents.rpc.request import encode_error, encode_result, read_request


@pytest.mark.parametrize("request_id", [1, 0, -1, 1.5, 2**70, "", "a", None])
@pytest.mark.parametrize("params", [[], [1, {"a": 2}], {}, {"a": 1}])
def test_requests(request_id: object, params: object) -> None:
    message = {"jsonrpc": "2.0", "id": request_id, "method": "m", "params": params, "more": 1}
    request = read_request(message)
    assert (request.id, request.method, request.params) == (request_id, "m", params)
    assert (request.is_notification, request.refusal) == (False, None)


def test_a_request_without_an_id_is_a_notification() -> None:
    assert read_request({"jsonrpc": "2.0", "method": "m"}).is_notification
    assert not read_request({"jsonrpc": "2.0", "method": "m", "id": None}).is_notification


@pytest.mark.parametrize("message", [{}, {"params": None}])
def test_no_parameters_are_an_empty_list(message: dict[str, object]) -> None:
    assert read_request({"jsonrpc": "2.0", "id": 1, "method": "m", **message}).params == []


@pytest.mark.parametrize(
    ("message", "request_id", "reason"),
    [
        (None, None, "request is null or missing; it must be an object"),
        (True, None, "request is true; it must be an object"),
        (1, None, "request is 1; it must be an object"),
        ([], None, "request is a list; it must be an object"),
        ("x" * 90, None, f'request is "{"x" * 80}…"; it must be an object'),
        ({}, None, 'jsonrpc is null or missing; it must be "2.0"'),
        ({"id": 7}, 7, 'jsonrpc is null or missing; it must be "2.0"'),
        ({"id": 7, "jsonrpc": "1.0"}, 7, 'jsonrpc is "1.0"; it must be "2.0"'),
        ({"id": 7, "jsonrpc": 2.0}, 7, 'jsonrpc is 2.0; it must be "2.0"'),
        ({"id": 7, "jsonrpc": "2.0"}, 7, "method is null or missing; it must be a string"),
        ({"id": 7, "jsonrpc": "2.0", "method": {}}, 7, "method is an object; it must be a string"),
        ({"id": [], "method": "m"}, None, "id is a list; it must be a string or a number"),
        ({"id": {}, "method": "m"}, None, "id is an object; it must be a string or a number"),
        ({"id": False, "method": "m"}, None, "id is false; it must be a string or a number"),
    ],
)
def test_what_is_no_request(message: object, request_id: object, reason: str) -> None:
    request = read_request(message)
    assert request.refusal is not None
    assert (request.refusal.code, request.refusal.message) == (INVALID_REQUEST, reason)
    assert (request.id, request.is_notification) == (request_id, False)


@pytest.mark.parametrize("params", [1, "a", True, 1.5])
@pytest.mark.parametrize("has_id", [True, False])
def test_parameters_are_structured(params: object, *, has_id: bool) -> None:
    message = {"jsonrpc": "2.0", "method": "m", "params": params} | ({"id": 1} if has_id else {})
    request = read_request(message)
    assert request.refusal is not None
    assert request.refusal.code == INVALID_PARAMS
    assert request.refusal.message.endswith("; it must be a list or an object")
    assert request.is_notification is not has_id


def test_answers() -> None:
    assert json.loads(encode_result("a", {"x": None})) == {
        "jsonrpc": "2.0",
        "id": "a",
        "result": {"x": None},
    }
    assert json.loads(encode_result(2**70, None)) == {"jsonrpc": "2.0", "id": 2**70, "result": None}
    assert json.loads(encode_error(None, RpcError(3, "no", "0x"))) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": 3, "message": "no", "data": "0x"},
    }
    assert json.loads(encode_error(1, RpcError(3, "no")))["error"] == {"code": 3, "message": "no"}

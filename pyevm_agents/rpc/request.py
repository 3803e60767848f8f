"""JSON-RPC 2.0 requests and their encoded responses.

Source: JSON-RPC 2.0, sections 4 and 5. As in other nodes, `"params": null` means no parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyevm_agents.display import truncate
from pyevm_agents.rpc.codec import encode
from pyevm_agents.rpc.errors import INVALID_PARAMS, INVALID_REQUEST, RpcError

if TYPE_CHECKING:
    Params = list[object] | dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRpcRequest:
    """A request. An invalid one has a refusal instead of a method."""

    id: object = None
    is_notification: bool = False
    method: str = ""
    params: Params = field(default_factory=list)
    refusal: RpcError | None = None


def read_request(message: object) -> JsonRpcRequest:
    """Parse one request, single or of a batch."""
    if not isinstance(message, dict):
        return _refuse_request(None, f"request is {describe_value(message)}; it must be an object")
    request_id = message.get("id")
    if isinstance(request_id, bool | dict | list):
        return _refuse_request(
            None, f"id is {describe_value(request_id)}; it must be a string or a number"
        )
    if (version := message.get("jsonrpc")) != "2.0":
        return _refuse_request(
            request_id, f'jsonrpc is {describe_value(version)}; it must be "2.0"'
        )
    method = message.get("method")
    if not isinstance(method, str):
        return _refuse_request(
            request_id, f"method is {describe_value(method)}; it must be a string"
        )
    params = message.get("params")
    if params is None:
        params = []
    is_notification = "id" not in message
    if not isinstance(params, list | dict):
        reason = f"params is {describe_value(params)}; it must be a list or an object"
        return JsonRpcRequest(
            id=request_id,
            is_notification=is_notification,
            method=method,
            refusal=RpcError(INVALID_PARAMS, reason),
        )
    return JsonRpcRequest(
        id=request_id, is_notification=is_notification, method=method, params=params
    )


def _refuse_request(request_id: object, reason: str) -> JsonRpcRequest:
    return JsonRpcRequest(id=request_id, refusal=RpcError(INVALID_REQUEST, reason))


def encode_result(request_id: object, result: object) -> bytes:
    """Encode the response of a request that succeeded.

    Raises:
        TypeError: the result is not JSON-ready. ValueError: the result contains itself.
    """
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(request_id), encode(result))


def encode_error(request_id: object, error: RpcError) -> bytes:
    """Encode the response of a request that failed.

    Raises:
        TypeError: the error's data is not JSON-ready. ValueError: the data contains itself.
    """
    fields: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        fields["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode(request_id), encode(fields))


def describe_value(value: object) -> str:
    """Return a JSON value in few characters, for an error message."""
    if value is None:
        return "null or missing"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str):
        return f'"{truncate(value)}"'
    return str(value).lower() if isinstance(value, bool) else str(value)

"""Errors of the REST interface: `{"error": …}` with the problem, the value, and the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from pyevm_agents.control.installed_agents import UnknownAgentError
from pyevm_agents.control.requests import describe_problems
from pyevm_agents.control.results import ErrorResult
from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.next_steps import RunStateError
from pyevm_agents.lifecycle.store import UnknownRunError
from pyevm_agents.strict_json import replace_surrogates

if TYPE_CHECKING:
    from fastapi import FastAPI, Request

STATUSES = {
    UnknownAgentError: 404,
    UnknownRunError: 404,
    RunStateError: 409,
    ConfigError: 400,
    AgentsError: 409,
}
NOT_FOUND, INVALID = 404, 422


RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorResult, "description": "The request can't be fulfilled as it is"},
    403: {"model": ErrorResult, "description": "The host or the origin is not allowed"},
    404: {"model": ErrorResult, "description": "No such agent, task or run"},
    409: {"model": ErrorResult, "description": "Not now: the chain, a contract or a run refuses"},
    413: {"model": ErrorResult, "description": "The body is too large"},
    422: {"model": ErrorResult, "description": "The body or a parameter has a wrong form"},
}
"""Answers of all operations, for the OpenAPI document."""


def add_error_handlers(app: FastAPI) -> None:
    """Let an application answer errors in one form."""

    async def answer(_request: Request, error: Exception) -> JSONResponse:
        status = next(each for kind, each in STATUSES.items() if isinstance(error, kind))
        return _build_response(status, str(error))

    async def answer_wrong_form(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as registered
        return _build_response(INVALID, describe_problems(error.errors()))

    async def answer_http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101 - as registered
        reason = str(error.detail).lower()
        place = f"{request.method} {request.url.path:.80}"
        response = _build_response(error.status_code, f"{place}: {reason}; /docs lists operations")
        response.headers.update(error.headers or {})
        return response

    for kind in STATUSES:
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(RequestValidationError, answer_wrong_form)
    app.add_exception_handler(HTTPException, answer_http_error)


def _build_response(status: int, reason: str) -> JSONResponse:
    return JSONResponse(
        ErrorResult(error=replace_surrogates(reason)).model_dump(), status_code=status
    )

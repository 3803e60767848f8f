"""The page of a control plane's operations, from its OpenAPI document."""

from __future__ import annotations

from typing import Any

from pyevm_agents.control.openapi_page import render_openapi_page

SCHEMAS = {
    "Task": {
        "properties": {
            "goal": {"type": "string", "description": "What to do"},
            "budget": {"anyOf": [{"$ref": "#/components/schemas/Budget"}, {"type": "null"}]},
            "limits": {"$ref": "#/components/schemas/Budget"},
        },
        "required": ["goal"],
        "examples": [{"goal": "Pay"}],
    },
    "Budget": {"properties": {"maxGas": {"type": "integer", "default": 5}}},
}
BODY = {"application/json": {"schema": {"$ref": "#/components/schemas/Task"}}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Agents", "version": "1"},
    "paths": {
        "/tasks": {
            "post": {
                "operationId": "make",
                "summary": "Make",
                "tags": ["tasks"],
                "description": "",
                "requestBody": {"content": BODY},
                "responses": {"200": {"description": "Made"}},
            }
        }
    },
    "components": {"schemas": SCHEMAS},
}


def test_members_inside_of_optional_and_required_objects_are_told() -> None:
    page = render_openapi_page(DOCUMENT, "http://127.0.0.1:1", {})
    for member in ("goal", "budget.maxGas", "limits.maxGas"):
        assert member in page, page

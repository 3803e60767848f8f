"""The page of the REST interface: its OpenAPI document as plain HTML, without scripts.

FastAPI's own pages load scripts of another host; this one loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    JsonObject = Mapping[str, Any]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
code, pre { font: 14px/1.5 ui-monospace, monospace; }
pre { background: #f4f4f4; padding: .75rem; overflow-x: auto; }
details { border-top: 1px solid #ddd; padding: .5rem 0; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600; }
table { border-collapse: collapse; } td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { color: #e8e8e8; background: #161616; }
  pre { background: #222; } details { border-color: #444; } a { color: #8ab4f8; } }
"""

STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def render_openapi_page(document: JsonObject) -> str:
    """Return the page of an OpenAPI document, with a part for each operation."""
    info = document["info"]
    parts = "\n".join(
        _render_operation(path, method, operation, document)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(info["title"])}</title><style>{STYLE}</style></head><body>
<h1>{escape(info["title"])} {escape(info["version"])}</h1>
<p>{escape(info.get("description", ""))}</p>
<p><a href="openapi.json">openapi.json</a></p>
{parts}
</body></html>
"""


def _render_operation(path: str, method: str, operation: JsonObject, document: JsonObject) -> str:
    parameters = "".join(
        f"<tr><td><code>{escape(each['name'])}</code></td><td>{escape(each['in'])}</td>"
        f"<td>{escape(_describe_type(each.get('schema', {})))}</td></tr>"
        for each in operation.get("parameters", ())
    )
    table = f"<table>{parameters}</table>" if parameters else ""
    bodies = "".join(
        f"<p>{escape(title)}</p><pre>{_render_schema(schema, document)}</pre>"
        for title, schema in _iter_schemas(operation)
    )
    return (
        f'<details><summary><span class="method">{escape(method.upper())}</span>'
        f"<code>{escape(path)}</code> {escape(operation.get('summary', ''))}</summary>"
        f"<p>{escape(operation.get('description', ''))}</p>{table}{bodies}</details>"
    )


def _iter_schemas(operation: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    body = operation.get("requestBody")
    if body is not None:
        yield "Body", _get_schema(body)
    for status, response in operation.get("responses", {}).items():
        schema = _get_schema(response)
        if schema:
            yield f"Response {status}: {response.get('description', '')}", schema


def _get_schema(form: JsonObject) -> JsonObject:
    media: JsonObject = form.get("content", {}).get("application/json", {})
    schema: JsonObject = media.get("schema", {})
    return schema


def _render_schema(schema: JsonObject, document: JsonObject) -> str:
    return escape(json.dumps(_resolve(schema, document), indent=2))


def _resolve(schema: JsonObject, document: JsonObject) -> object:
    """Return a schema with the one that it refers to in its place."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    found: Any = document
    for name in str(reference).removeprefix("#/").split("/"):
        found = found[name]
    return found


def _describe_type(schema: JsonObject) -> str:
    kinds = [schema.get("type", ""), *(each.get("type", "") for each in schema.get("anyOf", ()))]
    return " or ".join(kind for kind in kinds if kind and kind != "null")

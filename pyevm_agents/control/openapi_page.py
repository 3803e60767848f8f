"""The page of the REST interface: the OpenAPI document as plain HTML, without scripts.

FastAPI's own pages load scripts of another host; this one loads nothing. Each operation has a
command that can be copied, from the examples of the document.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    JsonObject = Mapping[str, Any]

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
code, pre { font: 14px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: #f4f4f4; padding: .75rem; white-space: pre-wrap; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
details { border-top: 1px solid #ddd; padding: .5rem 0; }
summary { cursor: pointer; }
.method { display: inline-block; min-width: 3.5rem; font-weight: 600; }
.what { display: block; padding-left: 4.6rem; }
table { border-collapse: collapse; margin: .5rem 0; }
th { text-align: left; } th, td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
@media (prefers-color-scheme: dark) { body { color: #e8e8e8; background: #161616; }
  pre { background: #222; } details { border-color: #444; } a { color: #8ab4f8; } }
"""

STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

FIRST_ERROR = 400
JSON_TYPE = "application/json"


def render_openapi_page(document: JsonObject, url: str, values: Mapping[str, str]) -> str:
    """Return the page of an OpenAPI document, with a part for each operation.

    Input: the document; for the examples, the URL of the server and values of parameters by name.
    """
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    parts = "\n".join(
        f"<h2>{escape(tag.capitalize())}</h2>\n" + "\n".join(operations)
        for tag, operations in _group(document, url, values).items()
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>{STYLE}</style></head><body><main>
<h1>{title}</h1>
<p>{escape(info.get("description", ""))}</p>
<p>Bodies and answers are JSON. <a href="openapi.json">openapi.json</a> has the schemas.</p>
{parts}
<h2>Errors</h2>
<p>An error is an object whose member <code>error</code> tells what was wrong, its value, and what
to do.</p>
{_render_errors(document)}
</main></body></html>
"""


def list_examples(
    document: JsonObject, values: Mapping[str, str]
) -> Iterator[tuple[str, str, object]]:
    """Yield an example of each operation: the method, the path with the query, and the body."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), _fill(path, operation, values), _find_body(operation, document)


def _group(document: JsonObject, url: str, values: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the parts of the page by tag, in the order of the document."""
    found: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            example = _fill(path, operation, values), _find_body(operation, document)
            command = _format_command(method, url + example[0], example[1])
            part = _render_operation(path, method, operation, document, command)
            found.setdefault(operation["tags"][0], []).append(part)
    return found


def _render_operation(
    path: str, method: str, operation: JsonObject, document: JsonObject, command: str
) -> str:
    rows = [*_iter_parameters(operation), *_iter_members(operation, document)]
    table = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(kind)}</td><td>{escape(text)}</td></tr>"
        for name, kind, text in rows
    )
    head = "<tr><th>Name</th><th>Type</th><th>Meaning</th></tr>"
    success = next(status for status in operation["responses"] if int(status) < FIRST_ERROR)
    return (
        f'<details><summary><span class="method">{escape(method.upper())}</span>'
        f'<code>{escape(path)}</code> <span class="what">{escape(operation["summary"])}</span>'
        f"</summary>\n<p>{escape(operation.get('description', ''))}</p>"
        + (f"<table>{head}{table}</table>" if rows else "")
        + f"<pre>{escape(command)}</pre><p>Answers {success}, or an error.</p></details>"
    )


def _render_errors(document: JsonObject) -> str:
    found: dict[str, str] = {}
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                if int(status) >= FIRST_ERROR:
                    found[status] = response["description"]
    rows = "".join(
        f"<tr><td><code>{escape(status)}</code></td><td>{escape(found[status])}</td></tr>"
        for status in sorted(found)
    )
    return f"<table>{rows}</table>"


def _format_command(method: str, url: str, body: object) -> str:
    """Return a command of curl."""
    words = ["curl", *([] if method == "get" else ["-X", method.upper()]), url]
    if body is not None:
        words += ["-H", f"Content-Type: {JSON_TYPE}", "-d", json.dumps(body)]
    return shlex.join(words)


def _fill(path: str, operation: JsonObject, values: Mapping[str, str]) -> str:
    """Return a path with the examples of the parameters, or with other values."""
    query = []
    for each in operation.get("parameters", ()):
        examples = each["schema"].get("examples", ())
        if not examples:
            continue
        if each["in"] == "path":
            value = values.get(each["name"], examples[0])
            path = path.replace("{" + each["name"] + "}", str(value))
        else:
            query.append(f"{each['name']}={json.dumps(examples[0])}")
    return path + ("?" + "&".join(query) if query else "")


def _find_body(operation: JsonObject, document: JsonObject) -> object:
    """Return the example of an operation's body; None without a body."""
    schema = _find_schema(operation, document)
    return None if schema is None else schema["examples"][0]


def _find_schema(operation: JsonObject, document: JsonObject) -> JsonObject | None:
    body = operation.get("requestBody")
    return None if body is None else _resolve(body["content"][JSON_TYPE]["schema"], document)


def _iter_parameters(operation: JsonObject) -> Iterator[tuple[str, str, str]]:
    for each in operation.get("parameters", ()):
        schema = each["schema"]
        text = each.get("description") or schema.get("description", "")
        yield each["name"], _describe_type(schema), text


def _iter_members(
    operation: JsonObject, document: JsonObject, prefix: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and description of the members of a body, those inside others too."""
    schema = _find_schema(operation, document)
    if schema is not None:
        yield from _iter_properties(schema, document, prefix)


def _iter_properties(
    schema: JsonObject, document: JsonObject, prefix: str
) -> Iterator[tuple[str, str, str]]:
    for name, each in schema["properties"].items():
        choices = (each, *each.get("anyOf", ()))
        inner = next((_resolve(it, document) for it in choices if "$ref" in it), None)
        kind = "object" if inner is not None else _describe_type(each)
        texts = [each.get("description", "")]
        if name in schema.get("required", ()):
            texts.append("Required")
        elif each.get("default") is not None:
            texts.append(f"Default {json.dumps(each['default'])}")
        yield prefix + name, kind, ". ".join(filter(None, texts))
        if inner is not None:
            yield from _iter_properties(inner, document, f"{prefix}{name}.")


def _resolve(schema: JsonObject, document: JsonObject) -> JsonObject:
    """Return a schema, or the one behind a reference."""
    reference = schema.get("$ref")
    found: Any = schema if reference is None else document
    for name in str(reference or "").removeprefix("#/").split("/") if reference else ():
        found = found[name]
    return dict(found)


def _describe_type(schema: JsonObject) -> str:
    kinds = [schema.get("type", ""), *(each.get("type", "") for each in schema.get("anyOf", ()))]
    return " or ".join(kind for kind in kinds if kind and kind != "null")

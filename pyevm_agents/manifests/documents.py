"""The kinds of documents, their schemas and their files."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyevm_agents.errors import ConfigError
from pyevm_agents.strict_json import is_encodable, parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    Document = Mapping[str, Any]
    """A JSON object."""

SCHEMA_FOLDER = Path(__file__).with_name("schemas")

MAX_FILE_BYTES = 64 * 2**20
"""Upper bound of a document: a log of some 50,000 runs."""

REGISTRATION_TYPE = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"
MANIFEST_SCHEMA = "https://openfi.dev/schemas/agent/v1"
LOG_SCHEMA = "https://openfi.dev/schemas/agent-log/v1"


class DocumentKind(StrEnum):
    """A kind of document; the value is the name of the schema's file."""

    MANIFEST = "agent"
    LOG = "agent-log"
    REGISTRATION = "agent-registration"
    """As ERC-8004 has it."""

    OPENFI_REGISTRATION = "agent-registration.openfi"

    @property
    def file_name(self) -> str:
        """The name of the file in an agent's folder, and below `/.well-known/`."""
        return FILE_NAMES[self]


FILE_NAMES = {
    DocumentKind.MANIFEST: "agent.json",
    DocumentKind.REGISTRATION: "agent-registration.json",
    DocumentKind.OPENFI_REGISTRATION: "agent-registration.openfi.json",
    DocumentKind.LOG: "agent_log.json",
}

KINDS_BY_FILE = {name: kind for kind, name in FILE_NAMES.items()}
"""The kinds of documents, by the names of their files."""

OPENFI_SERVICE_MEMBERS = frozenset({"kind", "url"})
OPENFI_REGISTRATION_MEMBER = "chainId"


@cache
def load_schema(kind: DocumentKind) -> Document:
    """Return the JSON Schema of a kind of document."""
    schema: Document = json.loads((SCHEMA_FOLDER / f"{kind}.schema.json").read_text("utf-8"))
    return schema


def read_document(path: Path) -> Document:
    """Read a JSON object from a file.

    Raises: ConfigError: no such file, or not a JSON object.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: must have at most {MAX_FILE_BYTES:,} bytes")
        text = path.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8") from error
    return parse_document(text, str(path))


def parse_document(text: str, name: str) -> Document:
    """Return the JSON object of a text. Input: the text; the name in errors.

    Raises: ConfigError: not a JSON object, or a member stands twice in an object.
    """
    try:
        form = parse_json(text)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from error
    if not isinstance(form, dict):
        raise ConfigError(f"{name}: must be a JSON object")
    if not is_encodable(form):
        raise ConfigError(f"{name}: must have no half of a surrogate pair")
    return form


def serialize_document(form: Document) -> str:
    """Return a document as readable text, with a line break at the end."""
    return json.dumps(form, indent=2, ensure_ascii=False) + "\n"


def detect_kind(form: Document) -> DocumentKind | None:
    """Return the kind of a document by the contents; None if of no known kind."""
    if form.get("schema") == MANIFEST_SCHEMA:
        return DocumentKind.MANIFEST
    if form.get("schema") == LOG_SCHEMA:
        return DocumentKind.LOG
    if form.get("type") != REGISTRATION_TYPE:
        return None
    is_openfi = _has_openfi_members(form)
    return DocumentKind.OPENFI_REGISTRATION if is_openfi else DocumentKind.REGISTRATION


def _has_openfi_members(form: Document) -> bool:
    """Return whether a registration document has members of OpenFi's form."""
    services = [each for each in _get_list(form, "services") if isinstance(each, dict)]
    registrations = [each for each in _get_list(form, "registrations") if isinstance(each, dict)]
    return (
        any(OPENFI_SERVICE_MEMBERS & each.keys() for each in services)
        or any(OPENFI_REGISTRATION_MEMBER in each for each in registrations)
        or any(isinstance(each, dict) for each in _get_list(form, "supportedTrust"))
    )


def _get_list(form: Document, member: str) -> list[Any]:
    value = form.get(member)
    return value if isinstance(value, list) else []

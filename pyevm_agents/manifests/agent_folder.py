"""The folder of an agent: the manifest, the documents built from the manifest, log and module."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import is_checksum_address

from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_log import build_log
from pyevm_agents.manifests.agent_manifest import (
    PackageManifest,
    parse_manifest,
    read_manifest,
    serialize_manifest,
)
from pyevm_agents.manifests.documents import DocumentKind, read_document, serialize_document
from pyevm_agents.manifests.registration import BUILDERS
from pyevm_agents.manifests.validation import (
    ManifestProblem,
    require_kind,
    require_valid,
    validate_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.manifests.documents import Document

MODULE_FILE = "agent.py"
"""The Python module of an agent; its variable `AGENT` is the agent."""


ADDRESS_FILE = "address"
"""In the folder of a deployed agent, in place of the module: the address of its contract."""

AGENT_VARIABLE = "AGENT"
"""The variable of the module that is the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """A problem of a file in an agent's folder."""

    file: Path
    problem: ManifestProblem

    def __str__(self) -> str:
        """Return the problem on one line."""
        return f"{self.file}: {self.problem}"


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """An agent's folder."""

    path: Path

    def locate(self, kind: DocumentKind) -> Path:
        """Return the path of a document."""
        return self.path / kind.file_name

    @property
    def module_path(self) -> Path:
        """The path of the Python module."""
        return self.path / MODULE_FILE

    @property
    def address_path(self) -> Path:
        """The path of the address, in the folder of a deployed agent."""
        return self.path / ADDRESS_FILE

    def read_address(self) -> str | None:
        """Return the address of a deployed agent; None in the folder of another one.

        Raises: ConfigError: the file is not EIP-55's form of an address, or can't be read.
        """
        try:
            text = self.address_path.read_bytes().decode("utf-8", "replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ConfigError(f"{self.address_path}: {error.strerror}") from error
        if not is_checksum_address(text):
            raise ConfigError(
                f"{self.address_path}: {text!r:.80}: must be an address with its checksum (EIP-55)"
            )
        return text

    def read_manifest(self) -> PackageManifest:
        """Read the manifest.

        Raises: ConfigError: no such file, or an invalid one.
        """
        return read_manifest(self.locate(DocumentKind.MANIFEST))

    def write_manifest(self, manifest: PackageManifest) -> None:
        """Write the manifest, and the registration documents built from the manifest.

        Raises: ConfigError: the manifest is invalid, or a file can't be written.
        """
        form = serialize_manifest(manifest)
        parse_manifest(form)
        documents = {DocumentKind.MANIFEST: form}
        documents |= {kind: build(manifest) for kind, build in BUILDERS.items()}
        for kind, document in documents.items():
            require_valid(document, kind, kind.file_name)
        for kind, document in documents.items():
            write_atomically(self.locate(kind), serialize_document(document).encode())

    def write_empty_log(self, manifest: PackageManifest) -> None:
        """Write a log without runs."""
        text = serialize_document(build_log(manifest))
        write_atomically(self.locate(DocumentKind.LOG), text.encode())


def validate_file(path: Path) -> tuple[DocumentKind, tuple[FileProblem, ...]]:
    """Return the kind of a document and the problems.

    Raises: ConfigError: no such file, not a JSON object, or of no known kind.
    """
    form = read_document(path)
    kind = require_kind(form, path)
    found = validate_document(form, kind)
    return kind, tuple(FileProblem(file=path, problem=each) for each in found)


def validate_folder(folder: AgentFolder) -> tuple[FileProblem, ...]:
    """Return the problems and the differences of the documents in an agent's folder.

    Raises: ConfigError: a file is missing, a document is not a JSON object, or the module is not
            Python. The module is not imported; a deployed agent has an address instead.
    """
    forms = {kind: read_document(folder.locate(kind)) for kind in DocumentKind}
    if folder.read_address() is None:
        if not folder.module_path.is_file():
            raise ConfigError(
                f"{folder.module_path}: no such file; it is the agent's Python module: "
                "`pyevm-agents agent new NAME` makes one"
            )
        _require_python(folder.module_path)
    problems = [
        FileProblem(file=folder.locate(kind), problem=problem)
        for kind, form in forms.items()
        for problem in validate_document(form, kind)
    ]
    if problems:
        return tuple(problems)
    manifest = parse_manifest(forms[DocumentKind.MANIFEST])
    return tuple(
        FileProblem(file=folder.locate(kind), problem=problem)
        for kind, form in forms.items()
        for problem in _compare(form, kind, manifest)
    )


def _require_python(path: Path) -> None:
    """Check that a module is Python, and that the text can define `AGENT`."""
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError as error:
        raise ConfigError(
            f"{path}: line {error.lineno or 0}: {error.msg}; must be Python; correct it"
        ) from error
    except ValueError as error:
        raise ConfigError(f"{path}: must be Python; it has null bytes: write it anew") from error
    if not any(_defines_agent(statement) for statement in ast.walk(tree)):
        raise ConfigError(
            f"{path}: must have a variable {AGENT_VARIABLE}, the agent; assign it, such as "
            f"{AGENT_VARIABLE} = MyAgent()"
        )


def _defines_agent(node: ast.AST) -> bool:
    """Return whether a node binds the name `AGENT`: by an assignment or an import."""
    if isinstance(node, ast.Name):
        return node.id == AGENT_VARIABLE and isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.ImportFrom):
        return any((each.asname or each.name) in {AGENT_VARIABLE, "*"} for each in node.names)
    return False


def _compare(
    form: Document, kind: DocumentKind, manifest: PackageManifest
) -> Iterator[ManifestProblem]:
    """Yield the members of a document that differ from those that the manifest gives."""
    if kind in BUILDERS:
        expected = BUILDERS[kind](manifest)
        advice = f"change {DocumentKind.MANIFEST.file_name} and run `agent validate --write`"
    elif kind is DocumentKind.LOG:
        # The version and the ID of a log are those of its last run.
        form, expected = form["agent"], {"slug": manifest.slug}
        advice = "use the log of this agent"
    else:
        return
    for name in [*expected, *(name for name in form if name not in expected)]:
        if kind is DocumentKind.LOG and name not in expected:
            continue
        if form.get(name) != expected.get(name):
            yield ManifestProblem(
                path=name if kind in BUILDERS else f"agent.{name}",
                value="",
                rule=f"must be as {DocumentKind.MANIFEST.file_name} has it",
                advice=advice,
            )

"""An agent's folder: its documents are written together, and checked against each other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_folder import AgentFolder, validate_file, validate_folder
from pyevm_agents.manifests.documents import DocumentKind
from tests.pyevm_agents.manifests.documents_of_tests import build_manifest, write_agent_folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> AgentFolder:
    return write_agent_folder(tmp_path)


def test_a_folder_has_all_documents_and_they_agree(folder: AgentFolder) -> None:
    assert validate_folder(folder) == ()
    assert folder.read_manifest() == build_manifest()
    kinds = [validate_file(folder.locate(kind))[0] for kind in DocumentKind]
    assert kinds == [*DocumentKind]


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        (
            DocumentKind.MANIFEST, "My Agent", "Another",
            ("agent-registration.json: name: must be as agent.json has it; change agent.json and "
            "run `agent validate --write`"),
        ),
        (DocumentKind.REGISTRATION, ":31337:", ":1:", "registrations: must be as agent.json"),
        (DocumentKind.REGISTRATION, '"type"', '"x": 1, "type"', "x: must be as agent.json has it"),
        (DocumentKind.OPENFI_REGISTRATION, "3001/mcp", "3002/mcp", "services: must be as"),
        (DocumentKind.LOG, "my-agent", "another", "agent.slug: must be as agent.json has it"),
        (DocumentKind.LOG, '"0.1.0"', '"0.1"', 'agent.version "0.1": must be a semantic version'),
    ],
)  # fmt: skip
def test_a_document_that_differs_is_named(
    folder: AgentFolder, kind: DocumentKind, old: str, new: str, message: str
) -> None:
    path = folder.locate(kind)
    path.write_text(path.read_text("utf-8").replace(old, new, 1))
    assert message in "\n".join(map(str, validate_folder(folder)))


def test_an_invalid_manifest_writes_nothing(folder: AgentFolder) -> None:
    before = {kind: folder.locate(kind).read_bytes() for kind in DocumentKind}
    with pytest.raises(ConfigError, match="slug"):
        folder.write_manifest(build_manifest(slug="Not A Slug"))
    assert {kind: folder.locate(kind).read_bytes() for kind in DocumentKind} == before


@pytest.mark.parametrize("name", ["agent.py", "agent_log.json"])
def test_a_missing_file_is_named(folder: AgentFolder, name: str) -> None:
    (folder.path / name).unlink()
    with pytest.raises(ConfigError, match=name):
        validate_folder(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"x = 1\ndef (", "agent.py: line 2: "),
        (b"\0", "agent.py: "),
        (b"agent = print(AGENT)", "agent.py: must have a variable AGENT"),
    ],
)
def test_a_module_that_is_no_agent_is_named(folder: AgentFolder, text: bytes, message: str) -> None:
    folder.module_path.write_bytes(text)
    with pytest.raises(ConfigError, match=message):
        validate_folder(folder)


def test_a_log_with_a_later_version_of_the_agent_agrees(folder: AgentFolder) -> None:
    path = folder.locate(DocumentKind.LOG)
    form = json.loads(path.read_text("utf-8"))
    form["agent"]["version"] = "0.0.9"
    path.write_text(json.dumps(form))
    assert validate_folder(folder) == ()

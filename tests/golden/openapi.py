"""The OpenAPI document of the control plane, which `/openapi.json` serves."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pyevm_agents.control.development_plane import open_development_plane
from pyevm_agents.control.rest import build_rest_app
from tests.pyevm_agents.control.agents_of_tests import make_agent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.models import Vocabulary


def collect_openapi(_vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return the document."""
    with TemporaryDirectory() as name:
        agent = make_agent(Path(name))
        with open_development_plane([agent.path], Path(name)) as plane:
            document: dict[str, Any] = build_rest_app(plane).openapi()
    manifest = document["components"]["schemas"]["ManifestDocument"]["dependentRequired"]
    for name, needed in manifest.items():  # FastAPI keeps these in a set.
        manifest[name] = sorted(needed)
    return document

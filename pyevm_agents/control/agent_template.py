"""The folder of a new agent, from a template."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_folder import AgentFolder
from pyevm_agents.manifests.agent_manifest import PackageManifest, PackageTool

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATE_FOLDER = Path(__file__).with_name("template")
TEMPLATE_SUFFIX = ".txt"
"""Of the files in it, which are texts with places to fill in and no Python yet."""

SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""A slug that can also name a Python class."""

MAX_SLUG_CHARACTERS = 64

DEFAULT_PORT = 3001
"""Port of the control plane. Source: OpenFi's agent standard."""


def create_agent_folder(path: Path, slug: str) -> AgentFolder:
    """Write the folder of a new agent: module, test, README, manifest, registration documents, log.

    Raises: ConfigError: not a slug, or there is something at the path.
    """
    require_slug(slug)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path}: must not be there yet; name another folder by --folder")
    manifest = build_new_manifest(slug)
    try:
        path.mkdir(parents=True, exist_ok=True)
        for template in sorted(TEMPLATE_FOLDER.glob(f"*{TEMPLATE_SUFFIX}")):
            text = Template(template.read_text("utf-8")).substitute(_list_values(manifest))
            (path / template.name.removesuffix(TEMPLATE_SUFFIX)).write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path}: can't be written: {error.strerror}; name another folder by --folder"
        ) from error
    folder = AgentFolder(path)
    folder.write_manifest(manifest)
    folder.write_empty_log(manifest)
    return folder


def require_slug(slug: str) -> None:
    """Check the slug of a new agent.

    Raises: ConfigError: not a slug.
    """
    if SLUG.fullmatch(slug) is None or len(slug) > MAX_SLUG_CHARACTERS:
        raise ConfigError(
            f"name {slug!r:.80}: must be kebab-case, such as gas-watcher: lower-case letters and "
            f"digits, a letter first, at most {MAX_SLUG_CHARACTERS} characters"
        )


def build_new_manifest(slug: str) -> PackageManifest:
    """Return the manifest of a new agent, which is not registered yet."""
    url = f"http://127.0.0.1:{DEFAULT_PORT}"
    return PackageManifest(
        name=" ".join(word.capitalize() for word in slug.split("-")),
        slug=slug,
        version="0.1.0",
        description="Reports the balance of the operator's wallet",
        capabilities=("data-lookup",),
        tools=(PackageTool(name="read_balance", description="The wei of an address"),),
        endpoints={"api": url, "mcp": f"{url}/mcp"},
        supported_trust=("reputation",),
    )


def _list_values(manifest: PackageManifest) -> Mapping[str, str]:
    """Return the values of the template's places."""
    name = "".join(word.capitalize() for word in manifest.slug.split("-"))
    if not name.endswith("Agent"):
        name += "Agent"
    return {
        "class_name": name,
        "description": manifest.description,
        "name": manifest.name,
        "slug": manifest.slug,
    }

"""`agent_log.json`: the runs of an agent. A run is appended; an earlier one never changes.

Each run has the digest of the run before it, and the log that of the last one, so that a change
shows. The log alone does not show a change with all digests computed anew: the store of runs has
the digests as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.documents import (
    LOG_SCHEMA,
    DocumentKind,
    read_document,
    serialize_document,
)
from pyevm_agents.manifests.log_digests import NO_DIGEST, compute_run_digest
from pyevm_agents.manifests.validation import require_valid

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.manifests.agent_manifest import PackageManifest
    from pyevm_agents.manifests.documents import Document


def build_log(manifest: PackageManifest) -> dict[str, Any]:
    """Return a log without runs."""
    return {"schema": LOG_SCHEMA, "agent": _describe_agent(manifest), "runs": []}


def append_run(log: Document, run: Document, manifest: PackageManifest) -> dict[str, Any]:
    """Return a log with one run more. A run that is already there changes nothing.

    Input:  the log; the run as in the schema, without digests; the agent's present manifest.
    Raises: ConfigError: the log or the run is invalid, or the log has another run of this ID.
    """
    name = f"{DocumentKind.LOG.file_name} of {manifest.slug}"
    _require_log_of(log, manifest, name)
    for each in log["runs"]:
        if each["runId"] == run.get("runId"):
            _require_same(each, run, name)
            return {**log}
    runs = log["runs"]
    previous = compute_run_digest(runs[-1]) if runs else NO_DIGEST
    entry = {**run, "previousDigest": previous}
    longer = {
        **log,
        "agent": _describe_agent(manifest),
        "runs": [*runs, entry],
        "lastDigest": compute_run_digest(entry),
    }
    require_valid(longer, DocumentKind.LOG, name)
    return longer


def append_run_to_file(path: Path, run: Document, manifest: PackageManifest) -> None:
    """Append a run to a log's file, atomically; a missing file is a log without runs.

    One process may write a log at a time.

    Raises: ConfigError: see `append_run`; or the file can't be written.
    """
    log = read_document(path) if path.exists() else build_log(manifest)
    longer = append_run(log, run, manifest)
    if longer != log or not path.exists():
        write_atomically(path, serialize_document(longer).encode())


def require_log_file(path: Path, manifest: PackageManifest) -> None:
    """Check that runs of an agent can be appended to a file, which may be missing.

    Raises: ConfigError: no valid log, or another agent's.
    """
    if path.exists():
        _require_log_of(read_document(path), manifest, str(path))


def _require_log_of(log: Document, manifest: PackageManifest, name: str) -> None:
    require_valid(log, DocumentKind.LOG, name)
    if log["agent"]["slug"] != manifest.slug:
        raise ConfigError(
            f"{name}: it is the log of {log['agent']['slug']}; use the log of {manifest.slug}"
        )


def _describe_agent(manifest: PackageManifest) -> dict[str, Any]:
    form: dict[str, Any] = {
        "slug": manifest.slug,
        "name": manifest.name,
        "version": manifest.version,
    }
    if manifest.identity is not None:
        form["erc8004AgentId"] = manifest.identity.agent_id
    return form


def _require_same(stored: Document, run: Document, name: str) -> None:
    """Check that a run is the one that the log has."""
    bare = {member: value for member, value in stored.items() if member != "previousDigest"}
    if bare != {**run}:
        raise ConfigError(
            f"{name}: run {stored['runId']} is there with other contents; a log is append-only: "
            "give the new run another ID"
        )

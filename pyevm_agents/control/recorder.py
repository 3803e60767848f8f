"""The recorder of runs: an entry of the agent's log for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyevm_agents.errors import AgentsError, ConfigError
from pyevm_agents.lifecycle.json_codec import to_json
from pyevm_agents.manifests.agent_log import append_run_to_file
from pyevm_agents.manifests.documents import DocumentKind, read_document

if TYPE_CHECKING:
    from pyevm_agents.control.installed_agents import InstalledAgents
    from pyevm_agents.lifecycle.recorder import RunLogEntry


class LogFileRecorder:
    """Appends runs to `agent_log.json` in the folders of agents."""

    def __init__(self, agents: InstalledAgents) -> None:
        """Input: the installed agents."""
        self._agents = agents

    def record(self, agent_slug: str, entry: RunLogEntry) -> None:
        """Append an entry. A log that has the run, as after a kill, does not change.

        Raises: AgentsError: the log was changed by another program, or can't be written; the run
            goes on when continued.
        """
        path = self._agents.get_folder(agent_slug).locate(DocumentKind.LOG)
        try:
            if not path.exists() or not _has_run(path.name, read_document(path), entry.run_id):
                append_run_to_file(path, build_log_run(entry), self._agents.get_package(agent_slug))
        except ConfigError as error:
            raise AgentsError(f"{error}; then continue the run {entry.run_id}") from error


def _has_run(name: str, log: Any, run_id: str) -> bool:  # noqa: ANN401 - any JSON object
    runs = log.get("runs")
    if not isinstance(runs, list):
        raise ConfigError(f"{name}: runs: must be a list; restore the log")
    return any(isinstance(each, dict) and each.get("runId") == run_id for each in runs)


def build_log_run(entry: RunLogEntry) -> dict[str, Any]:
    """Return the run of a log, in the schema's form, from the entry of a run.

    Characters of an agent's texts outside of UTF-8 become question marks.
    """
    form: Any = _clean(to_json(entry))
    form |= {
        # A clock may have been set back during the run.
        "endedAt": max(form["startedAt"], form["endedAt"]),
        "retries": [{"reason": each} for each in form["retries"]],
    }
    cleaned: dict[str, Any] = form
    return cleaned


def _clean(value: object) -> object:
    """Leave out members without a value, and replace characters that are no text."""
    if isinstance(value, dict):
        return {_clean(name): _clean(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_clean(each) for each in value]
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value

"""The log of runs: it grows, and nothing in it changes."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.manifests.agent_log import append_run, append_run_to_file, build_log
from pyevm_agents.manifests.documents import DocumentKind
from pyevm_agents.manifests.validation import validate_document
from tests.pyevm_agents.manifests.documents_of_tests import build_manifest, build_run, read_example

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = build_manifest()


def build_longer_log(runs: int) -> dict[str, Any]:
    """Return a log with some runs."""
    log = build_log(MANIFEST)
    for index in range(runs):
        log = append_run(log, build_run(f"run_{index}"), MANIFEST)
    return log


def test_runs_are_appended_and_the_earlier_ones_stay() -> None:
    log = build_longer_log(2)
    longer = append_run(log, build_run("run_2"), MANIFEST)
    assert longer["runs"][:2] == log["runs"]
    assert [each["runId"] for each in longer["runs"]] == ["run_0", "run_1", "run_2"]
    assert validate_document(longer, DocumentKind.LOG) == ()


def test_the_agent_is_the_one_of_the_last_run() -> None:
    newer = build_manifest(version="0.2.0", identity=None)
    log = append_run(build_longer_log(1), build_run("run_1"), newer)
    assert log["agent"] == {"slug": "my-agent", "name": "My Agent", "version": "0.2.0"}


def test_a_run_that_is_there_changes_nothing() -> None:
    log = build_longer_log(3)
    assert append_run(log, build_run("run_1"), MANIFEST) == log


def test_a_run_that_is_there_with_other_contents_is_refused() -> None:
    with pytest.raises(ConfigError, match="run run_1 is there with other contents"):
        append_run(build_longer_log(3), build_run("run_1", goal="Another"), MANIFEST)


def test_an_invalid_run_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"runs\[1\].status \"done\": must be one of completed"):
        append_run(build_longer_log(1), build_run("run_1", status="done"), MANIFEST)


def test_a_log_of_another_agent_is_refused() -> None:
    with pytest.raises(ConfigError, match="it is the log of my-agent"):
        append_run(build_longer_log(1), build_run("run_1"), build_manifest(slug="other"))


def test_a_log_without_digests_can_be_continued() -> None:
    log = append_run(read_example(DocumentKind.LOG), build_run("run_1"), MANIFEST)
    assert validate_document(log, DocumentKind.LOG) == ()
    log["runs"][0]["goal"] = "Another"
    assert validate_document(log, DocumentKind.LOG)


@given(data=st.data())
def test_every_change_of_an_earlier_run_is_found(data: st.DataObject) -> None:
    log = build_longer_log(3)
    changed = copy.deepcopy(log)
    action = data.draw(st.sampled_from(["change", "remove", "swap"]))
    index = data.draw(st.integers(0, 2))
    runs = changed["runs"]
    if action == "change":
        name = data.draw(st.sampled_from(["goal", "summary", "runId"]))
        runs[index][name] += "x"
    elif action == "remove":
        del runs[index]
    else:
        other = (index + 1) % 3
        runs[index], runs[other] = runs[other], runs[index]
    assert validate_document(changed, DocumentKind.LOG)
    with pytest.raises(ConfigError, match="the log was changed after it was written"):
        append_run(changed, build_run("run_9"), MANIFEST)


def test_a_file_is_written_with_its_first_run_and_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "agent_log.json"
    for index in (0, 1, 1):
        append_run_to_file(path, build_run(f"run_{index}"), MANIFEST)
    assert json.loads(path.read_text("utf-8")) == build_longer_log(2)

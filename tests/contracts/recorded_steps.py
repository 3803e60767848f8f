"""Exported replays as a test in Python gives them to `ReplayAgentExecutor`."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main

if TYPE_CHECKING:
    from collections.abc import Sequence


@cache
def exported(fixture: str) -> dict[str, Any]:
    """Return the JSON that `export-replay` writes for a chain of ours."""
    told = CliRunner().invoke(main, ["export-replay", "--fixture", fixture, "--format", "json"])
    assert told.exit_code == 0, told.output
    (replay,) = json.loads(told.stdout).values()
    return dict(replay)


def record_argument(step: dict[str, Any]) -> tuple[Any, ...]:
    """Return a step of an export as the ABI's struct, by its names, as ethers and viem do."""
    abi: Any = load_artifact("ReplayAgentExecutor").abi
    (record,) = (one for one in abi if one.get("name") == "record")
    (struct,) = record["inputs"]
    return _struct(struct["components"], step)


def _struct(components: Sequence[Any], value: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(_value(one, value[one["name"]]) for one in components)


def _value(component: Any, value: Any) -> Any:  # noqa: ANN401 - JSON
    if component["type"] == "tuple[]":
        return [_struct(component["components"], one) for one in value]
    if component["type"] == "bytes[]":
        return [bytes.fromhex(one[2:]) for one in value]
    return value

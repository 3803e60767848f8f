"""The start message of a node: prices, addresses, compiled contracts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from precompiles.gas import GasSchedule
from pyevm_agents.abi.known_contracts import ArtifactFolders, FoundArtifacts
from pyevm_agents.cli.node.banner import print_banner, print_json_banner
from pyevm_agents.config import ChainConfig
from pyevm_agents.local_node import NodeConfig, NodeUrls, OpenNode
from tests.byte_model import PROFILE
from tests.deadlines import HANG_SECONDS
from tests.pyevm_agents.cli.agent_node import AgentNode

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEDULE = GasSchedule(
    executor_base_gas=1_234,
    input_byte_gas=2_345,
    tool_gas=3_456,
    parameter_gas=4_567,
    scan_gas=5_678,
)
URLS = NodeUrls(http="http://127.0.0.1:1", page="http://127.0.0.1:1/")


@pytest.fixture
def started() -> Iterator[OpenNode]:
    node = AgentNode(config=ChainConfig(models=(PROFILE,), schedule=SCHEDULE)).node
    yield OpenNode(node, NodeConfig())
    node.close()


def test_prices_are_the_chains_own(started: OpenNode, capsys: pytest.CaptureFixture[str]) -> None:
    print_banner(started, URLS, ())
    said = capsys.readouterr().out
    assert "token: 6,000 cold, 100 warm, 10,000 output" in said
    said = " ".join(said.split())
    assert "call: 1,234, byte: 2,345, tool: 3,456, parameter: 4,567" in said
    assert "character of a request: 5,678" in said
    assert "Open http://127.0.0.1:1/ in a browser to look at the chain" in said


def test_a_node_without_a_page_names_none(
    started: OpenNode, capsys: pytest.CaptureFixture[str]
) -> None:
    print_banner(started, NodeUrls(http="http://127.0.0.1:1"), ())
    said = capsys.readouterr().out
    assert "Listening on http://127.0.0.1:1 and ws://127.0.0.1:1\n" in said
    assert "browser" not in said
    print_json_banner(started, NodeUrls(http="http://127.0.0.1:1"), ())
    assert json.loads(capsys.readouterr().out)["page"] is None


ABI = json.dumps([{"type": "function", "name": "a", "inputs": [], "outputs": []}])


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ((), "artifacts none found in ./out and ./artifacts"),
        (("out/A.sol/A.json",), "artifacts 1 contract of ./out"),
        (
            ("out/A.sol/A.json", "artifacts/contracts/B.json", "artifacts/contracts/C.json"),
            "artifacts 3 contracts of ./out and ./artifacts",
        ),
        (("foundry.toml", "built/A.sol/A.json"), "artifacts 1 contract of ./built"),
        (("foundry.toml",), "artifacts none found in ./built and ./artifacts"),
    ],
)
def test_the_compiled_contracts_that_were_found_are_named(
    started: OpenNode,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    files: tuple[str, ...],
    shown: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in files:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('[profile.default]\nout = "built"' if file.suffix == ".toml" else ABI)
    found = ArtifactFolders(root=tmp_path, wait_seconds=None).count_found(HANG_SECONDS)
    print_banner(started, URLS, (), found)
    said = " ".join(capsys.readouterr().out.split())
    assert f"{shown} " in said
    print_json_banner(started, URLS, (), found)
    form = json.loads(capsys.readouterr().out)["artifacts"]
    assert form["contracts"] == found.contracts
    assert form["isComplete"]


def test_a_scan_that_takes_long_is_said_to_go_on(
    started: OpenNode, capsys: pytest.CaptureFixture[str]
) -> None:
    found = FoundArtifacts(contracts=7, places=(Path("/else/out"),), is_complete=False)
    print_banner(started, URLS, (), found)
    assert "artifacts being read in /else/out\n" in capsys.readouterr().out


def test_a_line_of_json_says_who_and_where(
    started: OpenNode, capsys: pytest.CaptureFixture[str]
) -> None:
    print_json_banner(started, URLS, ())
    said = json.loads(capsys.readouterr().out)
    assert (said["url"], said["models"]) == ("http://127.0.0.1:1", ["bytes"])
    assert said["page"] == "http://127.0.0.1:1/"

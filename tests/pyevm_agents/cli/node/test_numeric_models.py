"""`pyevm-agents node --numeric-model`: files, mistakes, the banner, and chains that are kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from pyevm_agents.chain import Chain
from pyevm_agents.cli.app import main
from pyevm_agents.cli.node.banner import print_banner, print_json_banner
from pyevm_agents.config import ChainConfig
from pyevm_agents.local_node import NodeConfig, NodeUrls, OpenNode, open_node
from pyevm_agents.model_registry.profiles import build_numeric_profiles
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.node import Node
from pyevm_agents.recordings import record_chain
from pyevm_agents.recordings.codec import write_fixture
from pyevm_agents.server import Server
from tests.numeric_file import build_numeric_file
from tests.numeric_model import MODELS, SumModel, make_numeric_bench, run_call

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from precompiles.numeric_model import NumericModel

URLS = NodeUrls(http="http://127.0.0.1:1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a model's file, and one that is none."""
    (tmp_path / "line.onnx").write_bytes(build_numeric_file())
    (tmp_path / "other.onnx").write_bytes(build_numeric_file(5))
    (tmp_path / "none.onnx").write_bytes(b"GGUF")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["line"], "'line': must be NAME=FILE, such as trend=trend.onnx, or the name of a shipped"),
        (["line.onnx"], "'line.onnx': must be NAME=FILE, such as line=line.onnx, or the name"),
        (["sentiment", "a=sentiment"], "numeric models a and sentiment have one SHA-256"),
        (["=x.onnx"], "'=x.onnx': must be NAME=FILE"),
        (["line="], "'line=': must be NAME=FILE"),
        (["a={}/line.onnx", "a={}/other.onnx"], "'a' is there twice; give each model its own"),
        (["a={}/missing.onnx"], "numeric model a={}/missing.onnx: model file"),
        (["a={}"], "can't be read: Is a directory"),
        (["a={}/none.onnx"], "numeric model a={}/none.onnx: "),
        (["a b={}/line.onnx"], "model name 'a b': use 1 to 64 letters"),
        (["0xab={}/line.onnx"], "model name '0xab': use 1 to 64 letters"),
        (["a={}/line.onnx", "b={}/line.onnx"], "numeric models a and b have one SHA-256"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    options: list[str], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "wait_stopped", lambda _: pytest.fail("the mistake went unnoticed"))
    given = [f"--numeric-model={option.replace('{}', str(folder))}" for option in options]
    told = CliRunner().invoke(main, ["node", "--no-model", *given])
    assert told.exit_code == 2, told.output
    assert message.replace("{}", str(folder)) in " ".join(told.output.split())
    assert "Traceback" not in told.output


def test_a_fixture_has_models_of_its_own(folder: Path) -> None:
    options = ["--fixture", "wallet_agent", "--numeric-model", f"line={folder}/line.onnx"]
    told = CliRunner().invoke(main, ["node", *options])
    assert told.exit_code == 2
    assert "--fixture and --numeric-model exclude each other" in told.output


def test_a_recording_with_numeric_models_replays(tmp_path: Path) -> None:
    b = make_numeric_bench({"line": NumericFile(build_numeric_file())})
    b.send(MODELS, run_call((1, 2), "line"))
    path = tmp_path / "numeric.json"
    write_fixture(record_chain(b.chain, name="numeric", comment="One call."), path)
    told = CliRunner().invoke(main, ["replay", str(path)])
    assert told.exit_code == 0, told.output


@pytest.mark.slow
def test_the_trading_fixture_shows_which_models_ran() -> None:
    with open_node(NodeConfig(models=(), fixture="trading"), serve=False) as opened:
        head = opened.chain.head.block_number
        run, *_ = opened.request("agent_getRuns", "0x0", hex(head), "0x64")
        call = opened.request("agent_traceCalls", run["transactionHash"])["call"]
        ran = ["sentiment", "forecast", "forecast", "risk", "risk"]  # Two assets.
        assert list_models(call) == ran


def list_models(call: Mapping[str, Any]) -> list[str]:
    """Return the models that a call runs, in order."""
    found = [name for child in call["calls"] for name in list_models(child)]
    if (call["contract"], call["function"]) == ("NumericModels", "runModel"):
        return [call["arguments"][0]["value"], *found]
    return found


def test_the_banner_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    line = NumericFile(build_numeric_file())
    models: dict[str, NumericModel] = {"sum": SumModel(), "line": line}
    config = ChainConfig(numeric_models=build_numeric_profiles(models))
    running = Node(Chain(config, numeric_models=models), now=lambda: 2e9)
    opened = OpenNode(running, NodeConfig())
    print_banner(opened, URLS, ())
    said = capsys.readouterr().out
    assert "none: a plain chain, without the executor at 0x19" in said
    assert f"address   {to_checksum_address(MODELS)}\n" in said
    assert "model     sum: 3 inputs, 2 outputs, 9,211 gas" in said
    assert f"sha256 {line.digest.hex()[:32]}" in said
    print_json_banner(opened, URLS, ())
    form = json.loads(capsys.readouterr().out)
    assert form["numericModels"] == ["line", "sum"]
    assert form["numericModelsAddress"] == to_checksum_address(MODELS)
    running.close()

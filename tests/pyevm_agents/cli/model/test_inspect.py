"""`pyevm-agents model inspect`: what it prints of a file, and what it refuses."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.models.numeric import NumericFile
from tests.pyevm_agents.models.numeric.model_builder import build_sample, serialize

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sample.onnx"
    path.write_bytes(serialize(build_sample()))
    return path


def test_inspect_prints_the_facts(file: Path) -> None:
    printed = CliRunner().invoke(main, ["model", "inspect", str(file)])
    assert printed.exit_code == 0, printed.output
    for text in (
        hashlib.sha256(file.read_bytes()).hexdigest(),
        "licence      MIT",
        "source       made up",
        "input        x0: 1 number, 0 decimals, 0 to 50",
        "input        x1: 2 numbers, 0 decimals, -100 to 100",
        "output       y: 2 numbers, 0 decimals, -366 to 333",
        "operators    2 Reshape, 1 MatMul, 1 Add, 1 Relu, 1 Clip, 1 Gather, 1 Greater, 1 Where",
        "operations a gas",
        "MatMul           int64[1, 2]          -1,100 to 1,000, 7,190",
    ):
        assert text in printed.stdout, printed.stdout


def test_inspect_prints_json(file: Path) -> None:
    printed = CliRunner().invoke(main, ["model", "inspect", str(file), "--json"])
    form = json.loads(printed.stdout)
    model = NumericFile.open(file)
    assert form["sha256"] == model.digest.hex()
    assert form["operations"] == model.operations
    assert form["gas"] == -(-model.operations // 16)
    assert form["inputs"][1] == {
        "name": "x1", "count": 2, "decimals": 0, "least": -100, "most": 100,
    }  # fmt: skip
    assert len(form["nodes"]) == len(model.graph.nodes)
    assert form["nodes"][1]["shape"] == [1, 2]


def test_inspect_refuses_by_name(tmp_path: Path) -> None:
    path = tmp_path / "other.onnx"
    for content, message in ((None, "can't be read"), (b"\xff", "not an ONNX file")):
        if content is not None:
            path.write_bytes(content)
        result = CliRunner().invoke(main, ["model", "inspect", str(path)])
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())


def test_a_shipped_model_is_shown_by_its_name(tmp_path: Path) -> None:
    printed = CliRunner().invoke(main, ["model", "inspect", "risk"])
    assert "return: 20 numbers, 6 decimals, -1,000,000 to 1,000,000" in printed.stdout
    output = tmp_path / "Risk.sol"
    written = CliRunner().invoke(main, ["model", "solidity", "risk", "-o", str(output)])
    assert written.exit_code == 0, written.output
    assert "library Risk {" in output.read_text()
    shown = CliRunner().invoke(main, ["model", "show", "risk"])
    assert "risk: a numeric model; show it with `pyevm-agents model inspect`" in shown.output

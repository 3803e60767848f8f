"""Numeric models by name: shipped ones, files, and what is neither."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric import SHIPPED, NumericFile, open_named_models, open_shipped
from pyevm_agents.models.numeric.catalogue import FOLDER, find_shipped, parse_named_files
from tests.numeric_file import build_numeric_file

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.models.numeric.catalogue import NamedModels


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "line.onnx").write_bytes(build_numeric_file())
    (tmp_path / "sentiment").write_bytes(build_numeric_file(5))
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(2**21))
    return tmp_path


def test_every_file_of_the_folder_is_shipped_by_its_name() -> None:
    assert sorted(file.name for file in FOLDER.iterdir()) == [f"{name}.onnx" for name in SHIPPED]
    for name in SHIPPED:
        assert open_shipped(name).digest == hashlib.sha256(find_shipped(name).read_bytes()).digest()


def test_files_are_named_and_relative_to_a_folder(folder: Path) -> None:
    line = NumericFile(build_numeric_file())
    several: tuple[NamedModels, ...] = (
        {"line": "line.onnx", "sentiment": "sentiment"},
        ["line=line.onnx", "sentiment"],
        {"line": folder / "line.onnx", "sentiment": open_shipped("sentiment")},
    )
    for given in several:
        models = open_named_models(given, folder=folder)
        assert {name: each.digest for name, each in models.items()} == {
            "line": line.digest, "sentiment": open_shipped("sentiment").digest,
        }  # fmt: skip
    assert open_named_models("tone=./sentiment", folder=folder)["tone"].run([1, 2]) == (6, 11)
    assert open_named_models({"own": line})["own"] is line


def test_a_file_is_read_into_one_model_until_it_changes(folder: Path) -> None:
    first, again = (open_named_models(["a=line.onnx"], folder=folder)["a"] for _ in range(2))
    assert first is again
    (folder / "line.onnx").write_bytes(build_numeric_file(7))
    changed = open_named_models(["a=line.onnx"], folder=folder)["a"]
    assert changed.run([1, 2]) == (8, 15)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ("line.onnx", "'line.onnx': must be NAME=FILE, such as line=line.onnx, or the name of a"),
        (["Sentiment"], "'Sentiment': must be NAME=FILE, such as trend=trend.onnx, or the name of"),
        (["=line.onnx"], "'=line.onnx': must be NAME=FILE, such as line=line.onnx"),
        (["a=line.onnx", "a=sentiment"], "'a' is there twice; give each model its own name"),
        ([3], "numeric models: must be files by name, such as {'forecast': 'forecast.onnx'}"),
        (3, "numeric models: must be files by name"),
        ({"a": 3}, "numeric model a: must be the path of a file, or a `NumericFile`"),
        (["a=gone.onnx"], "numeric model a=gone.onnx: model file .*gone.onnx can't be read: No "),
        (["a=model.gguf"], "numeric model a=model.gguf: a language model in GGUF: must be a num"),
    ],
)
def test_a_mistake_is_told(
    models: Any,  # noqa: ANN401 - what is none
    message: str,
    folder: Path,
) -> None:
    with pytest.raises(ConfigError, match=message):
        open_named_models(models, folder=folder)


def test_an_unknown_shipped_model_is_told() -> None:
    with pytest.raises(ConfigError, match="'tone': must be one of forecast, risk, sentiment, or"):
        open_shipped("tone")
    assert parse_named_files(["risk", "tone=a=b.onnx"]) == {"risk": "risk", "tone": "a=b.onnx"}

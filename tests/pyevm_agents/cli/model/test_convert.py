"""`model convert` and `model solidity`: what they write and print, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from pyevm_agents.cli.app import main
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.models.numeric.catalogue import find_shipped
from pyevm_agents.models.numeric.convert import comparison

if TYPE_CHECKING:
    from click.testing import Result

DATA = Path(__file__).parents[2] / "models" / "numeric" / "convert" / "data"
LINEAR = DATA / "linear.onnx"
SHIPPED = find_shipped("risk")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["model", *map(str, arguments)])


def write_csv(folder: Path, names: str = "a,b,c,d\n", row: str = "0.5,1,0.01,-2\n") -> Path:
    file = folder / "data.csv"
    lines = (",".join(f"{x:.4f}" for x in each) for each in np.load(DATA / "linear.npy")[:50])
    file.write_text(names + row + "\n".join(lines) + "\n")
    return file


def test_a_model_is_converted_and_its_errors_shown(tmp_path: Path) -> None:
    output, csv = tmp_path / "linear.int.onnx", write_csv(tmp_path)
    result = invoke(
        "convert", LINEAR, "-o", output, "--calibration", csv, "--evaluate", csv,
        "--input-decimals", "4,2,4,3", "--output-name", "price", "--license", "CC0-1.0",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    for words in ("sha256", "max error", "99 % below", "calibration", "evaluation"):
        assert words in result.output
    numeric = NumericFile.open(output)
    assert numeric.names == (("a", "b", "c", "d"), ("price",))
    assert numeric.input_decimals == (4, 2, 4, 3)


def test_json_has_the_figures(tmp_path: Path) -> None:
    output = tmp_path / "text.int.onnx"
    result = invoke(
        "convert", DATA / "text.onnx", "-o", output, "--calibration", DATA / "text.npy",
        "--input", "word:12:0:0:63", "--json",
    )  # fmt: skip
    form = json.loads(result.output)
    assert form["errors"]["calibration"]["rows"] == 400
    assert form["errors"]["calibration"]["maxError"] < 1e-4
    assert form["sizeBytes"] == output.stat().st_size


def test_without_onnxruntime_the_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "RUNTIME", "a_package_that_is_not_installed")
    output = tmp_path / "linear.int.onnx"
    result = invoke("convert", LINEAR, "-o", output, "--calibration", DATA / "linear.npy")
    assert result.exit_code == 0
    assert "pip install onnxruntime" in result.output
    assert NumericFile.open(output).input_decimals == (4, 4, 4, 4)


@pytest.mark.parametrize(
    ("names", "row", "message"),
    [
        ("a,b,c\n", "", "line 2: 4 columns: must be 3"),
        ("a,b,c,d\n", "1,2,three,4\n", "line 2, c: three: must be a finite number"),
        ("a,b,c,d\n", "1,,3,4\n", "line 2, b: empty: must be a finite number"),
        ("a,b,c,d\n", "1,2,nan,4\n", "line 2, c: nan: must be a finite number"),
        ("", "1,2,3,inf\n", "line 1, column 4: inf: must be a finite number"),
    ],
)
def test_bad_data_is_named_and_nothing_written(
    tmp_path: Path, names: str, row: str, message: str
) -> None:
    output = tmp_path / "out.onnx"
    csv = write_csv(tmp_path, names, row)
    result = invoke("convert", LINEAR, "-o", output, "--calibration", csv)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((DATA / "none.onnx", "--calibration", DATA / "linear.npy"), "can't be read"),
        (("risk", "--calibration", DATA / "linear.npy"), "can't be read: No such file"),
        (
            (SHIPPED, "--calibration", DATA / "linear.npy"),
            "a numeric model already: must be a float",
        ),
        ((LINEAR, "--calibration", DATA / "none.csv"), "does not exist"),
        ((LINEAR, "--calibration", LINEAR), "not a CSV file"),
        ((LINEAR, "--calibration", DATA / "text.npy"), "12 columns: must be 4"),
        ((LINEAR, "--calibration", DATA / "linear.npy", "--input", "a:b"), "must be NAME:COUNT"),
        ((LINEAR, "--calibration", DATA / "linear.npy", "--input", "a:3:1"), "must be 4"),
        ((LINEAR, "--calibration", DATA / "linear.npy", "--float-output", "z"), "must be one of"),
        ((LINEAR, "--calibration", DATA / "linear.npy", "--input-decimals", "1,x"), "must be N"),
        (
            (LINEAR, "--calibration", DATA / "linear.npy", "--input-decimals", "1,2"),
            "2 input decimals",
        ),
    ],
)
def test_bad_arguments_write_nothing(
    tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    output = tmp_path / "out.onnx"
    result = invoke("convert", *arguments, "-o", output)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert not output.exists()


def test_solidity_is_written_or_refused_by_its_size(tmp_path: Path) -> None:
    model, output = tmp_path / "boosted.onnx", tmp_path / "Boosted.sol"
    invoke("convert", DATA / "boosted.onnx", "-o", model, "--calibration", DATA / "boosted.npy")
    result = invoke("solidity", model, "-o", output, "--max-bytes", "1000")
    assert "must be at most 1,000, a contract's code (EIP-170)" in " ".join(result.output.split())
    assert not output.exists()
    result = invoke("solidity", model, "-o", output, "--json")
    assert json.loads(result.output)["dataBytes"] > 1_000
    assert "library Boosted {" in output.read_text()
    result = invoke("solidity", DATA / "boosted.onnx", "-o", tmp_path / "Float.sol")
    assert result.exit_code != 0
    assert not (tmp_path / "Float.sol").exists()

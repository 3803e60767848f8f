"""Train the three models, write their floats and figures, and convert them to integer files.

    python -m training.numeric.build DATA             # all of it; 10 minutes
    python -m training.numeric.build --convert-only   # the integer files from the committed floats

The integer file of `sentiment` is written by its own training script (`sentiment_graphs.py`).
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.models.numeric.convert import ConversionOptions, InputColumns, convert
from training.numeric import series

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = Path(__file__).parent
FLOATS, SAMPLES = FOLDER / "float", FOLDER / "data"
FILES = FOLDER.parents[1] / "pyevm_agents/models/numeric/files"
FIGURES = FOLDER / "figures.json"
NAMES = ("sentiment", "forecast", "risk")
FRACTION = {"decimals": 6, "least": -series.MOST_RETURN, "most": series.MOST_RETURN}
PRICES = "training/numeric, from the prices of skfolio 1.12.2 (BSD-3-Clause)"
OPTIONS = {
    "forecast": ConversionOptions(
        columns=(
            InputColumns(name="return", count=series.RECENT, **FRACTION),
            InputColumns(name="momentum", **FRACTION),
            InputColumns(name="volatility", decimals=6, least=0, most=series.MOST_RETURN),
            InputColumns(name="sentiment", decimals=4, least=-10_000, most=10_000),
        ),
        output_decimals=6,
        output_names=("return",),
        license="MIT",
        source=PRICES,
    ),
    "risk": ConversionOptions(
        columns=(InputColumns(name="return", count=series.WINDOW, **FRACTION),),
        output_decimals=6,
        output_names=("volatility",),
        license="MIT",
        source=PRICES,
    ),
}


def convert_model(name: str) -> bytes:
    """Return the integer file of a float model.

    Raises:
        ValueError: The model has no options of a conversion.
    """
    if name not in OPTIONS:
        raise ValueError(f"model {name}: must be one of {', '.join(OPTIONS)}")
    rows = np.loadtxt(SAMPLES / f"{name}_calibration.csv", delimiter=",", dtype=np.float32)
    return convert((FLOATS / f"{name}.onnx").read_bytes(), rows, OPTIONS[name])


def integer_rows(name: str) -> NDArray[np.int64]:
    """Return the calibration rows as integers."""
    rows = np.loadtxt(SAMPLES / f"{name}_calibration.csv", delimiter=",")
    if name == "sentiment":
        return rows.astype(np.int64)
    decimals = [column.decimals for column in OPTIONS[name].columns for _ in range(column.count)]
    return np.asarray(np.rint(rows * 10.0 ** np.array(decimals))).astype(np.int64)


def compare(name: str) -> dict[str, Any]:
    """Return the differences from onnxruntime on the float model, in units of the last decimal."""
    file = NumericFile((FILES / f"{name}.onnx").read_bytes())
    session = onnxruntime.InferenceSession(FLOATS / f"{name}.onnx")
    rows = integer_rows(name)
    own = np.array([file.run([int(x) for x in row]) for row in rows])[:, 0]
    feed = session.get_inputs()[0]
    scale = 10.0 ** np.array(file.input_decimals)
    kind = np.int64 if name == "sentiment" else np.float32
    floats = [
        float(np.ravel(session.run(None, {feed.name: _shaped(row / scale, name, kind)})[0])[0])
        for row in rows
    ]
    wanted = np.array(floats) * 10.0 ** file.output_decimals[0]
    error = np.abs(own - wanted)
    return {
        "rows": len(rows),
        "bytes": len((FILES / f"{name}.onnx").read_bytes()),
        "decimals": file.output_decimals[0],
        "mean error": round(float(error.mean()), 3),
        "median error": round(float(np.median(error)), 3),
        "99 %": round(float(np.quantile(error, 0.99)), 3),
        "max error": round(float(error.max()), 3),
        "mean size of output": round(float(np.abs(wanted).mean()), 1),
    }


def _shaped(row: NDArray[np.float64], name: str, kind: type[np.generic]) -> NDArray[np.generic]:
    values = row.astype(kind)
    return values if name == "sentiment" else values[None]


def train(data: Path) -> dict[str, Any]:
    """Train the models and return their figures."""
    from training.numeric import forecast, risk, sentiment  # noqa: PLC0415

    return {
        "sentiment": sentiment.run(data, FLOATS),
        "forecast": forecast.run(data, FLOATS),
        "risk": risk.run(data, FLOATS),
    }


def move_outputs() -> None:
    """Move the calibration rows and the integer file that training writes beside the floats."""
    for name in NAMES:
        made = FLOATS / f"{name}_calibration.csv"
        if made.exists():
            shutil.move(made, SAMPLES / made.name)
    integer = FLOATS / "sentiment_integer.onnx"
    if integer.exists():
        shutil.move(integer, FILES / "sentiment.onnx")


def main() -> None:
    """Build the models that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the packages of data.txt")
    parser.add_argument("--convert-only", action="store_true", help="keep the committed floats")
    options = parser.parse_args()
    for folder in (FLOATS, SAMPLES, FILES):
        folder.mkdir(parents=True, exist_ok=True)
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if not options.convert_only:
        if options.data is None:
            parser.error("DATA: must be the folder of the packages; see training/numeric/README.md")
        figures |= train(options.data)
        move_outputs()
    for name in OPTIONS:
        (FILES / f"{name}.onnx").write_bytes(convert_model(name))
    figures["conversion"] = {name: compare(name) for name in NAMES}
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

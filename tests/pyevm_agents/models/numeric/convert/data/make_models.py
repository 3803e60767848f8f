"""Make the float models of these tests, from made-up data: `python make_models.py`.

Run it in an environment with requirements.txt. Each model NAME has NAME.onnx and NAME.npy, 400 rows
of its inputs. Data and models are in the public domain (CC0).
"""

# mypy: ignore-errors
# Its libraries are those of requirements.txt, which no check installs.

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import torch
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parent
ROWS = 400
SEED = 24
OPSETS = {"": 17, "ai.onnx.ml": 3}
SCALES = np.array([1.0, 20.0, 0.05, 3.0])
SERIES = 24
WORDS, WORD_ROWS = 12, 64


def save(name: str, model: Any, rows: np.ndarray) -> None:  # noqa: ANN401 - an ONNX model or its bytes
    """Write a model and its inputs."""
    data = model if isinstance(model, bytes) else model.SerializeToString(deterministic=True)
    (HERE / f"{name}.onnx").write_bytes(data)
    np.save(HERE / f"{name}.npy", rows.astype(np.float32))


def save_sklearn(name: str, model: Any, rows: np.ndarray) -> None:  # noqa: ANN401 - scikit-learn's
    """Write a fitted model of scikit-learn."""
    save(name, to_onnx(model, rows[:1].astype(np.float32), target_opset=OPSETS), rows)


def save_torch(
    name: str, model: torch.nn.Module, rows: np.ndarray, *, integers: bool = False
) -> None:
    """Write a model of PyTorch with the batch left open."""
    sample = torch.tensor(rows[:2], dtype=torch.int64 if integers else torch.float32)
    buffer = io.BytesIO()
    torch.onnx.export(
        model.eval(), (sample,), buffer, dynamo=False, opset_version=17,
        input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}},
    )  # fmt: skip
    save(name, buffer.getvalue(), rows)


def fit(model: torch.nn.Module, rows: torch.Tensor, targets: torch.Tensor, loss: Any) -> None:  # noqa: ANN401 - PyTorch's
    """Fit a model of PyTorch."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(300):
        optimizer.zero_grad()
        loss(model(rows), targets).backward()
        optimizer.step()


def main() -> None:
    """Make all models."""
    warnings.simplefilter("ignore")
    random = np.random.default_rng(SEED)
    torch.manual_seed(SEED)
    rows = random.normal(size=(ROWS, 4)) * SCALES
    unit = rows / SCALES
    real = np.sin(unit[:, 0]) + 0.5 * unit[:, 1] * unit[:, 2] + 0.2 * unit[:, 3]
    three = np.digitize(real, [-0.5, 0.5])
    two = (real > 0).astype(int)

    save_sklearn(
        "linear", make_pipeline(StandardScaler(), LinearRegression()).fit(rows, real), rows
    )
    save_sklearn("logistic", LogisticRegression().fit(unit, three), unit)
    mlp = MLPRegressor(
        hidden_layer_sizes=(12, 8), activation="tanh", max_iter=800, random_state=SEED
    )
    save_sklearn("mlp_tanh", make_pipeline(StandardScaler(), mlp).fit(rows, real), rows)
    mlp = MLPClassifier(hidden_layer_sizes=(10,), max_iter=800, random_state=SEED).fit(unit, two)
    save_sklearn("mlp_binary", mlp, unit)
    forest = RandomForestClassifier(n_estimators=8, max_depth=4, random_state=SEED).fit(rows, three)
    save_sklearn("forest", forest, rows)
    boosted = GradientBoostingClassifier(n_estimators=6, random_state=SEED).fit(rows, three)
    save_sklearn("boosted_classes", boosted, rows)

    options = {"n_estimators": 20, "num_leaves": 8, "random_state": SEED, "verbose": -1,
               "n_jobs": 1, "deterministic": True}  # fmt: skip
    kind = [("x", FloatTensorType([None, 4]))]
    for name, model in (
        ("boosted", lightgbm.LGBMRegressor(**options).fit(rows, real)),
        ("boosted_binary", lightgbm.LGBMClassifier(**options).fit(rows, two)),
    ):
        save(name, convert_lightgbm(model, initial_types=kind, zipmap=False, target_opset=15), rows)

    layers = torch.nn.Sequential(
        torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8), torch.nn.LeakyReLU(0.1),
        torch.nn.Linear(8, 3), torch.nn.Softmax(dim=-1),
    )  # fmt: skip
    as_float = torch.tensor(unit, dtype=torch.float32)
    fit(layers[:-1], as_float, torch.tensor(three), torch.nn.CrossEntropyLoss())
    save_torch("mlp_relu", layers, unit)

    series = np.cumsum(random.normal(size=(ROWS, SERIES)), axis=1)[:, None, :]
    target = torch.tensor(series[:, 0, -1] - series[:, 0].mean(axis=1), dtype=torch.float32)[
        :, None
    ]
    convolution = torch.nn.Sequential(
        torch.nn.Conv1d(1, 4, 5, padding=2), torch.nn.ReLU(), torch.nn.MaxPool1d(2),
        torch.nn.Conv1d(4, 4, 3, stride=2), torch.nn.ReLU(), torch.nn.AvgPool1d(2),
        torch.nn.Flatten(), torch.nn.Linear(8, 1),
    )  # fmt: skip
    fit(convolution, torch.tensor(series, dtype=torch.float32), target, torch.nn.MSELoss())
    save_torch("convolution", convolution, series)

    words = random.integers(0, WORD_ROWS, size=(ROWS, WORDS))
    mood = torch.tensor((words < WORD_ROWS // 2).mean(axis=1), dtype=torch.float32)[:, None]

    class Text(torch.nn.Module):
        """Mean of the words' rows, and a layer."""

        def __init__(self) -> None:
            super().__init__()
            self.rows = torch.nn.Embedding(WORD_ROWS, 4)
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """Return a share from 0 to 1."""
            return torch.sigmoid(self.layer(self.rows(x).mean(dim=1)))

    text = Text()
    fit(text, torch.tensor(words), mood, torch.nn.MSELoss())
    save_torch("text", text, words, integers=True)


if __name__ == "__main__":
    main()

"""The risk model's network: the same values in NumPy, in ONNX and in PyTorch."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from training.numeric import series
from training.numeric.risk_graph import RiskWeights, float_graph, volatility

CHANNELS, KERNEL, STRIDE, HIDDEN, ROWS = 3, 4, 2, 5, 7
POSITIONS = (series.WINDOW - KERNEL) // STRIDE + 1


@pytest.fixture
def weights() -> RiskWeights:
    random = np.random.default_rng(2)
    return RiskWeights(
        kernel=random.normal(size=(CHANNELS, KERNEL)),
        hidden=random.normal(size=(HIDDEN, CHANNELS * POSITIONS)),
        output=random.random(HIDDEN),
        stride=STRIDE,
    )


@pytest.fixture
def returns() -> np.ndarray:
    return np.random.default_rng(3).normal(0, 0.02, (ROWS, series.WINDOW))


def test_onnx_computes_the_volatility(weights: RiskWeights, returns: np.ndarray) -> None:
    session = onnxruntime.InferenceSession(float_graph(weights))
    for row, expected in zip(returns, volatility(weights, returns), strict=True):
        [found] = session.run(None, {"input": row[None].astype(np.float32)})
        assert found[0, 0] == pytest.approx(expected, rel=1e-4)


def test_pytorch_trains_the_same_network(weights: RiskWeights, returns: np.ndarray) -> None:
    for package in ("lightgbm", "onnxmltools", "torch"):
        pytest.importorskip(package, reason="needs training/numeric/requirements.txt")
    import torch  # noqa: PLC0415

    from training.numeric import risk  # noqa: PLC0415

    tensors = {
        "kernel": torch.tensor(weights.kernel[:, None]),
        "hidden": torch.tensor(weights.hidden),
        "output": torch.tensor(weights.output[None] ** 0.5),
    }
    found = risk.forward(tensors, torch.tensor(returns)).numpy()
    assert found == pytest.approx(volatility(weights, returns))

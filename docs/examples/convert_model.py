"""A float model and its data, for a conversion: docs/models.md."""

from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_diabetes
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

data = load_diabetes(scaled=False)
rows, names = data.data[:, [2, 3, 8]], "bmi,pressure,triglycerides"
network = MLPRegressor(
    hidden_layer_sizes=16, solver="lbfgs", alpha=10, max_iter=2_000, random_state=0
)
model = make_pipeline(StandardScaler(), network).fit(rows[:300], data.target[:300])

exported = to_onnx(model, rows[:1].astype(np.float32))
Path("disease.float.onnx").write_bytes(exported.SerializeToString())
np.savetxt("train.csv", rows[:300], delimiter=",", fmt="%g", header=names, comments="")
np.savetxt("test.csv", rows[300:], delimiter=",", fmt="%g", header=names, comments="")

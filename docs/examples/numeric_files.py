"""Numeric models in Python: docs/models.md."""

from pyevm_agents.models.numeric import NumericFile, open_named_models, open_shipped

risk = open_shipped("risk")
risk.run([1_000, -1_000] * 10)  # (981,)
risk.input_ranges, risk.input_decimals, risk.operations, risk.digest
open_named_models(["risk", "trend=trend.onnx"])  # for Chain(config, numeric_models=…)

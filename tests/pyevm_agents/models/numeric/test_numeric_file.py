"""A model's file: the same outputs on every processor and in every thread; prices; reading."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.numeric import NumericFile, NumericModelError
from pyevm_agents.models.numeric.limits import MAX_FILE_BYTES
from tests.checkout import ROOT
from tests.pyevm_agents.models.numeric.model_builder import build_sample, serialize
from tests.pyevm_agents.models.numeric.output_digest import compute_digest, list_dispatched
from tests.pyevm_agents.models.numeric.shipped_outputs import hash_shipped

if TYPE_CHECKING:
    from pathlib import Path

    from tests.samples import Sample


def test_the_baseline_processor_computes_the_same() -> None:
    assert run_at_baseline("output_digest") == {"features": [], "digest": compute_digest()}


@pytest.mark.slow
@pytest.mark.sample(count=2_000, seed=24)
def test_the_baseline_processor_computes_the_same_of_shipped_models(sample: Sample) -> None:
    """`count` inputs of each model; AVX2 and the like are used here, and not in the other run."""
    found = run_at_baseline("shipped_outputs", str(sample.count), str(sample.seed))
    assert found == {"features": [], "hashes": hash_shipped(sample.count, sample.seed)}
    sample.figures["features that one run alone uses"] = len(list_dispatched())


def run_at_baseline(module: str, *arguments: str) -> object:
    """Return what a module of these tests prints where NumPy uses no feature above its baseline."""
    run = subprocess.run(
        [sys.executable, "-m", f"tests.pyevm_agents.models.numeric.{module}", *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "NPY_DISABLE_CPU_FEATURES": " ".join(list_dispatched()),
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def test_threads_share_a_model() -> None:
    model = NumericFile(serialize(build_sample()))
    inputs = [[i % 51, i % 201 - 100, (i * 7) % 201 - 100] for i in range(400)]
    alone = [model.run(values) for values in inputs]
    with ThreadPoolExecutor(8) as threads:
        assert [*threads.map(model.run, inputs)] == alone


def test_a_file_is_opened(tmp_path: Path) -> None:
    data = serialize(build_sample())
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    model = NumericFile.open(path)
    assert model.digest == hashlib.sha256(data).digest()
    assert model.size_bytes == len(data)
    assert issubclass(NumericModelError, ConfigError)
    with pytest.raises(NumericModelError, match="can't be read: No such file"):
        NumericFile.open(tmp_path / "missing.onnx")
    path.write_bytes(bytes(MAX_FILE_BYTES + 10))
    with pytest.raises(NumericModelError, match="file of more bytes than 1,048,576"):
        NumericFile.open(path)


def test_the_price_of_the_sample() -> None:
    # Weights are consensus: they stand in genesis as a model's operations.
    model = NumericFile(serialize(build_sample()))
    calls = {node.label: node.operations for node in model.graph.nodes}
    assert calls == {
        "node 0 'row' (Reshape)": 1_024 + 768,
        "node 1 'hidden' (MatMul)": 1_024 + 8 * 768 + 2 * (8 + 3),
        "node 2 (Add)": 1_024 + 768 + 2 * 4 + 12,
        "node 3 (Relu)": 1_024 + 768 + 2 * 4 + 12,
        "node 4 (Clip)": 1_024 + 768 + 2 * 4 + 12,
        "node 5 (Gather)": 1_024 + 4 * 768 + 2 * 4 + 2 * (12 + 12),
        "node 6 (Greater)": 1_024 + 2 * 768 + 2 * 4 + 2 * 12,
        "node 7 (Where)": 1_024 + 3 * 768 + 2 * 8 + 3 * 12,
        "node 9 (Div)": 1_024 + 3 * 768 + 2 * 24 + 3 * 12,
        "node 10 'out' (Reshape)": 1_024 + 768,
    }
    assert model.operations == 4_096 + 5 * 128 + sum(calls.values())

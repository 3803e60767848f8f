"""The product's settings compute the same bits in every shape; other settings are rejected."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from benchmarks.builds import OURS
from benchmarks.invariance import (
    ADAPTED,
    AS_IT_IS,
    BY_CODE,
    QUANTISATIONS,
    QUICK_LENGTHS,
    RANDOM_LENGTHS,
    Combination,
    Row,
    adapter_file,
    conclusions,
    examine,
    model_file,
)
from benchmarks.shapes import UNIFIED
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.gguf import files
from pyevm_agents.models.llama import child_process

if TYPE_CHECKING:
    from pathlib import Path

K_QUANT = "random Q4_K_M"
Q4_0 = "random Q4_0"


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> argparse.Namespace:
    """Options of the benchmark, with a work folder of its own."""
    return argparse.Namespace(work=tmp_path_factory.mktemp("work"), rounds=1)


@pytest.mark.parametrize(
    "adapter",
    [
        pytest.param("", marks=pytest.mark.slow),
        pytest.param(f"{ADAPTED} F32", marks=pytest.mark.slow),
        pytest.param(f"{ADAPTED} F16", marks=pytest.mark.slow),
        pytest.param(f"{ADAPTED} Q8_0", marks=pytest.mark.slow),
    ],
)
def test_ours_is_invariant_but_for_the_unified_cache_with_k_quants(
    options: argparse.Namespace, adapter: str
) -> None:
    combination = Combination(quantisation=K_QUANT + adapter, build=OURS)
    assert combination.quantisation in QUANTISATIONS
    row = examine(combination, options, QUICK_LENGTHS)
    assert (row.not_run, row.repacked, row.invariant, row.refused_by) == ("", False, True, "")
    assert set(row.differing) <= {UNIFIED}
    assert min(row.prefill, row.decode) > 0


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ["", f"{ADAPTED} Q8_0"])
def test_repacked_q4_0_is_invariant_beside_an_output_of_q6_k(
    options: argparse.Namespace, adapter: str
) -> None:
    row = examine(Combination(quantisation=Q4_0 + adapter, build=OURS), options, QUICK_LENGTHS)
    assert (row.not_run, row.repacked, row.invariant, row.refused_by) == ("", True, True, "")


@pytest.mark.slow
def test_repacked_k_quants_are_not_and_cannot_be_asked_for(options: argparse.Namespace) -> None:
    repacked = Combination(quantisation=K_QUANT, build=OURS, repacking="not as ours")
    row = examine(repacked, options, RANDOM_LENGTHS)
    assert (row.repacked, row.invariant) == (True, False)
    assert row.refused_by.startswith(BY_CODE)


@pytest.mark.slow
def test_llama_cpps_tiled_products_are_not_and_the_canary_sees_it(
    options: argparse.Namespace,
) -> None:
    tiled = Combination(quantisation=K_QUANT, build=OURS, tiled=True)
    row = examine(tiled, options, QUICK_LENGTHS)
    assert not row.invariant
    assert row.refused_by == f"{BY_CODE}; canary too"


@pytest.mark.slow
def test_the_products_engine_switches_them_off(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model_file(K_QUANT, options.work / "models", layers=0)
    monkeypatch.setenv("GGML_CPU_TILED_MM", "1")  # A child does not see it.
    with LlamaModel(path) as model:
        assert model.profile_facts.vocabulary_tokens > 0
    monkeypatch.setitem(child_process.OWN_VARIABLES, "GGML_CPU_TILED_MM", "1")
    with (
        LlamaModel(path) as model,
        pytest.raises(ConfigError, match=r"in one piece than in several .*file type 15"),
    ):
        _ = model.profile_facts


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ["", ADAPTED])
def test_ours_is_invariant_with_the_default_model(
    options: argparse.Namespace, adapter: str
) -> None:
    combination = Combination(quantisation=AS_IT_IS + adapter, build=OURS)
    row = examine(combination, options, QUICK_LENGTHS)
    assert (row.not_run, row.invariant) == ("", True)


def test_the_adapter_of_a_row_is_the_installed_one_or_of_random_weights(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(files, "DEFAULT_ADAPTER", tmp_path / "absent.gguf")
    assert adapter_file(AS_IT_IS, tmp_path) is None
    random = adapter_file(AS_IT_IS + ADAPTED, tmp_path)
    assert random == tmp_path / "adapter-of-default-file.gguf"
    monkeypatch.setattr(files, "DEFAULT_ADAPTER", random)
    assert adapter_file(AS_IT_IS + ADAPTED, options.work) == random
    assert adapter_file(f"{AS_IT_IS}{ADAPTED} F16", tmp_path) != random


def test_the_conclusions_name_what_nothing_refuses() -> None:
    ours = Row(
        combination=Combination(quantisation=AS_IT_IS, build=OURS), invariant=True, prefill=100
    )
    loose = Row(
        combination=Combination(quantisation=AS_IT_IS, build="native"), refused_by="NOTHING"
    )
    faster = Row(
        combination=Combination(quantisation=AS_IT_IS, build="avx2-lto"),
        invariant=True,
        prefill=125,
    )
    first, last = conclusions([ours, loose, faster])
    assert "avx2-lto, 125.0 tok/s; ours 100.0 (1.25)" in first
    assert "default file in native" in last
    assert conclusions([loose])[0].endswith("OURS IS NOT INVARIANT")

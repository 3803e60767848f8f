"""The router in an adapter's file: read as written, and rejected if it is not one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.adapters import adapter_bytes
from pyevm_agents.errors import ConfigError
from pyevm_agents.models.decoding.router import FEATURES, WIDTH
from pyevm_agents.models.llama.router_file import (
    GATES_KEY,
    ROWS_KEY,
    VERSION_KEY,
    WEIGHTS_KEY,
    read_router,
)
from tests.router_adapter import MATRIX, list_entries, random_router, write_adapter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TOKENS = 7
ROUTER = random_router(tokens=TOKENS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "router.gguf"


def test_a_router_is_read_as_written(path: Path) -> None:
    found = read_router(write_adapter(path, list_entries(ROUTER)), TOKENS)
    assert found is not None
    assert np.array_equal(found.rows, ROUTER.rows)
    assert np.array_equal(found.gates, ROUTER.gates)
    assert (found.weights, found.bias) == (ROUTER.weights, ROUTER.bias)


def test_numbers_of_64_bits_are_read_whole(path: Path) -> None:
    numbers = np.array([2**63 - 1, -(2**63)] + [2**40] * (FEATURES - 1), "<i8")
    entries = list_entries(ROUTER) | {WEIGHTS_KEY: numbers.tobytes()}
    found = read_router(write_adapter(path, entries), TOKENS)
    assert found is not None
    assert [*found.weights, found.bias] == numbers.tolist()


def test_an_adapter_without_a_router_has_none(path: Path) -> None:
    assert read_router(write_adapter(path, {}, version=None), TOKENS) is None


def test_a_weight_without_a_router_is_rejected(path: Path) -> None:
    write_adapter(path, {}, version=None, rules={"router_weight": 1, "short_format": 2})
    with pytest.raises(ConfigError, match="the decoding rule router_weight and no router; export"):
        read_router(path, TOKENS)
    write_adapter(path, {}, version=None, rules={"short_format": 2})
    assert read_router(path, TOKENS) is None


@pytest.mark.parametrize("version", [0, 2])
def test_another_version_is_rejected(path: Path, version: int) -> None:
    write_adapter(path, list_entries(ROUTER), version=version)
    with pytest.raises(ConfigError, match=f"router of version {version}: must be 1; install"):
        read_router(path, TOKENS)


@pytest.mark.parametrize("missing", [ROWS_KEY, GATES_KEY, WEIGHTS_KEY])
def test_a_missing_array_is_rejected(path: Path, missing: str) -> None:
    entries = {key: of for key, of in list_entries(ROUTER).items() if key != missing}
    write_adapter(path, entries)
    with pytest.raises(ConfigError, match=f"damaged router: missing metadata entry '{missing}'"):
        read_router(path, TOKENS)


@pytest.mark.parametrize(
    ("key", "content", "message"),
    [
        (ROWS_KEY, bytes(TOKENS * WIDTH - 1), "335 bytes of router.rows: must be 336"),
        (ROWS_KEY, bytes((TOKENS + 1) * WIDTH), "384 bytes of router.rows: must be 336"),
        (GATES_KEY, b"\1" * (TOKENS + 1), "8 bytes of router.gates: must be 7"),
        (WEIGHTS_KEY, bytes(8 * FEATURES), "152 bytes of router.weights: must be 160"),
        (GATES_KEY, b"\1" * (TOKENS - 1) + b"\0", "weight of 0: must be at least 1"),
        (GATES_KEY, b"\xff" + b"\1" * (TOKENS - 1), "weight of -1: must be at least 1"),
    ],
)
def test_a_router_of_another_vocabulary_or_format_is_rejected(
    path: Path, key: str, content: bytes, message: str
) -> None:
    write_adapter(path, list_entries(ROUTER) | {key: content})
    with pytest.raises(ConfigError, match=message):
        read_router(path, TOKENS)


@pytest.mark.parametrize("changes", [{ROWS_KEY: 1}, {ROWS_KEY: "text"}])
def test_an_entry_that_is_not_an_array_is_rejected(
    path: Path, changes: Mapping[str, object]
) -> None:
    tensors = {f"{MATRIX}.lora_{side}": np.zeros((4, 4), np.float32) for side in "ab"}
    path.write_bytes(adapter_bytes(tensors, changes={VERSION_KEY: 1, **changes}))
    with pytest.raises(ConfigError, match=r"'router\.rows' is not an array of bytes; download"):
        read_router(path, TOKENS)


def test_a_file_cut_within_an_array_is_rejected(path: Path) -> None:
    content = write_adapter(path, list_entries(ROUTER)).read_bytes()
    path.write_bytes(content[: content.index(ROUTER.rows.tobytes()) + 10])
    with pytest.raises(ValueError, match="the file ends"):
        read_router(path, TOKENS)

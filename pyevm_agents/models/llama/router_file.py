"""The router in an adapter's GGUF file: metadata arrays, since llama.cpp refuses unknown tensors.

The file's digest, and thus the router, is part of genesis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.decoding.router import FEATURES, WIDTH, RouterWeights
from pyevm_agents.models.gguf.adapter import DECODING
from pyevm_agents.models.gguf.header import read_byte_arrays, read_header
from pyevm_agents.models.gguf.load_errors import describe_file

if TYPE_CHECKING:
    from pathlib import Path

VERSION_KEY, VERSION = "router.version", 1
ROWS_KEY, GATES_KEY = "router.rows", "router.gates"
"""Arrays of signed bytes: rows of all tokens, one after another; weights of tokens."""

NUMBER_BYTES = 8
WEIGHTS_KEY = "router.weights"
"""Array of bytes: the features' weights and the bias as little-endian 64-bit integers."""


def read_router(path: Path, vocabulary_tokens: int) -> RouterWeights | None:
    """Read the router of an adapter's file, or None.

    Input:
        path: a file that `adapter.read_adapter` accepts.

    Raises:
        ConfigError: the router is of another version, damaged, or does not fit the vocabulary; or
            the file has a rule that needs a router, and no router.
    """
    entries = read_header(path).entries
    version, file = entries.get(VERSION_KEY), f"adapter file {describe_file(path)}"
    if version is None:
        if f"{DECODING}router_weight" in entries:
            raise ConfigError(
                f"{file} has the decoding rule router_weight and no router; export it with one "
                "(training/README.md), or remove the rule with `python -m training.set_rules`"
            )
        return None
    if version.value != VERSION:
        raise ConfigError(
            f"{file} has a router of version {version.value}: must be {VERSION}; install the "
            "version of pyevm-agents that the adapter was made for"
        )
    sizes = {
        ROWS_KEY: vocabulary_tokens * WIDTH,
        GATES_KEY: vocabulary_tokens,
        WEIGHTS_KEY: NUMBER_BYTES * (FEATURES + 1),
    }
    try:
        arrays = read_byte_arrays(path, tuple(sizes))
    except ValueError as error:
        raise ConfigError(f"{file} has a damaged router: {error}; download it again") from error
    for key, size in sizes.items():
        if len(arrays[key]) != size:
            raise ConfigError(
                f"{file} has a router with {len(arrays[key]):,} bytes of {key}: must be {size:,}; "
                "pass the adapter that was trained for this model"
            )
    gates = np.frombuffer(arrays[GATES_KEY], np.int8)
    if gates.min() < 1:
        raise ConfigError(
            f"{file} has a router with a token's weight of {gates.min()}: must be at least 1; "
            "download it again"
        )
    *weights, bias = np.frombuffer(arrays[WEIGHTS_KEY], "<i8").tolist()
    return RouterWeights(
        rows=np.frombuffer(arrays[ROWS_KEY], np.int8).reshape(vocabulary_tokens, WIDTH),
        gates=gates,
        weights=tuple(weights),
        bias=bias,
    )

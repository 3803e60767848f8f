"""Converted models, their inputs, and both ways to run their Solidity: forge's EVM and ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from eth_abi import decode, encode
from eth_utils import keccak

from pyevm_agents.models import numeric
from pyevm_agents.models.numeric import NumericFile
from pyevm_agents.models.numeric.convert import ConversionOptions, convert
from pyevm_agents.models.numeric.solidity import generate_library
from tests.clients.foundry_project import Foundry
from tests.clients.packages import HERE as CLIENTS
from tests.clients.packages import foundry_program, installed, node_program
from tests.contracts.plain_evm import plain_evm

if TYPE_CHECKING:
    from collections.abc import Iterator

FLOAT_MODELS = Path(__file__).parents[1] / "convert" / "data"
NAMES = tuple(sorted(file.stem for file in FLOAT_MODELS.glob("*.onnx")))
SHIPPED_FILES = Path(numeric.__file__).parent / "files"
SHIPPED = tuple(sorted(file.stem for file in SHIPPED_FILES.glob("*.onnx")))
PROJECT = Path(__file__).parent / "foundry"
CODE_LIMIT = 24_576
GAS = 19_000_000
SOLC_SECONDS = 240
FORGE_SECONDS = 20 * 3_600
"""For the counts of `make evidence`; only a hang reaches it."""

RUN_MODEL = keccak(text="runModel(int256[])")[:4]
GAMMA, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of splitmix64."""

CHUNK = 4_096


@cache
def get_file(name: str) -> bytes:
    """Return a model that is shipped, or one of the float models as an integer file."""
    if name in SHIPPED:
        return (SHIPPED_FILES / f"{name}.onnx").read_bytes()
    options = ConversionOptions(input_decimals=0 if name == "text" else 4, output_decimals=5)
    rows = np.load(FLOAT_MODELS / f"{name}.npy")
    return convert((FLOAT_MODELS / f"{name}.onnx").read_bytes(), rows, options)


def draw_inputs(model: NumericFile, count: int, seed: int) -> Iterator[list[int]]:
    """Yield inputs within the ranges, as Twin.t.sol draws them; a ninth are ends of ranges."""
    least = np.array([low for low, _ in model.input_ranges], dtype=np.int64)
    most = np.array([high for _, high in model.input_ranges], dtype=np.int64)
    width = len(least)
    for at in range(0, count, CHUNK):
        numbers = np.arange(at * width, min(count, at + CHUNK) * width, dtype=np.uint64)
        z = (numbers + np.uint64(seed + 1)) * np.uint64(GAMMA)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
        z = (z ^ (z >> np.uint64(31))).reshape(-1, width)
        span = (most - least + 1).astype(np.uint64)
        drawn = least + ((z >> np.uint64(4)) % span).astype(np.int64)
        ends = np.where(z & np.uint64(8), most, least)
        yield from np.where(z & np.uint64(7), drawn, ends).tolist()


def hash_outputs(model: NumericFile, count: int, seed: int) -> bytes:
    """Return the hash of all outputs of drawn inputs, each hashed with the hash before."""
    running = bytes(32)
    for values in draw_inputs(model, count, seed):
        outputs = model.run(values)
        running = keccak(running + b"".join(x.to_bytes(32, signed=True) for x in outputs))
    return running


def build_project(folder: Path) -> Path:
    """Return a Foundry project with the test of a model, compiled."""
    node_program()
    foundry_program("forge")
    shutil.copytree(PROJECT, folder)
    shutil.copy(CLIENTS / "foundry" / "solc", folder)
    (folder / "node_modules").symlink_to(installed("foundry"))
    Foundry("forge", "", folder)("build")
    return folder


def run_forge(project: Path, compiled: CompiledModel, data: bytes, count: int, seed: int) -> int:
    """Run a model on drawn inputs in forge's EVM; fail if an output differs from ours.

    Output: gas of all inputs, with drawing and hashing them.
    """
    model = NumericFile(data)
    forge = Foundry(
        "forge",
        "",
        project,
        TWIN_CODE="0x" + compiled.creation.hex(),
        TWIN_COUNT=str(count),
        TWIN_SEED=str(seed),
        TWIN_LEASTS=",".join(str(low) for low, _ in model.input_ranges),
        TWIN_MOSTS=",".join(str(high) for _, high in model.input_ranges),
        TWIN_HASH="0x" + hash_outputs(model, count, seed).hex(),
    )
    forge.seconds = FORGE_SECONDS
    output = forge("test", "-vv")
    found = re.search(r"\[PASS\] test_outputs_have_the_expected_hash\(\) \(gas: (\d+)\)", output)
    assert found, output
    return int(found[1])


@dataclass(frozen=True)
class CompiledModel:
    """A model's contract."""

    creation: bytes
    runtime_bytes: int


def compile_models(files: dict[str, bytes]) -> dict[str, CompiledModel]:
    """Compile the contracts of models, by the names of their libraries."""
    sources = {
        f"{name}.sol": {"content": generate_library(data, name, max_bytes=CODE_LIMIT).text}
        for name, data in files.items()
    }
    settings = {
        "evmVersion": "prague",
        "metadata": {"appendCBOR": False, "bytecodeHash": "none"},
        "optimizer": {"enabled": True, "runs": 200},
        "outputSelection": {"*": {"*": ["evm.bytecode.object", "evm.deployedBytecode.object"]}},
    }
    request = {"language": "Solidity", "sources": sources, "settings": settings}
    ended = subprocess.run(
        [node_program(), str(CLIENTS / "foundry" / "solc"), "--standard-json"],
        input=json.dumps(request),
        cwd=installed("foundry").parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=SOLC_SECONDS,
    )
    output = json.loads(ended.stdout)
    assert output.get("errors", []) == []
    compiled = {}
    for name in files:
        code = output["contracts"][f"{name}.sol"][f"{name}Model"]["evm"]
        compiled[name] = CompiledModel(
            creation=bytes.fromhex(code["bytecode"]["object"]),
            runtime_bytes=len(code["deployedBytecode"]["object"]) // 2,
        )
    return compiled


class DeployedModel:
    """A model's contract in our EVM."""

    def __init__(self, compiled: CompiledModel) -> None:
        self.evm = plain_evm()
        self.evm.send(None, compiled.creation)
        self.address = "0x" + self.evm.last.msg.storage_address.hex()

    def run(self, values: list[int]) -> tuple[int, ...]:
        """Run the model in a transaction."""
        call = RUN_MODEL + encode(["int256[]"], [values])
        output = self.evm.send(self.address, call, gas=GAS)
        result: tuple[int, ...] = decode(["int256[]"], output)[0]
        return result

"""Import contracts: each is broken by a planted import, and the product keeps all of them."""

from __future__ import annotations

import copy
import itertools
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.acyclic_siblings import AcyclicSiblingsContract
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract

from tests.checkout import PRODUCT, PROJECT, ROOT, product_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from grimp import ImportGraph

    Plant = tuple[tuple[str, str], ...]
    """Importers, each with the module that it imports."""

COMMAND = "from importlinter.cli import lint_imports_command; lint_imports_command()"
HEADING = re.compile(r"^(.+)\n-+$", re.MULTILINE)
CONTRACTS = {
    contract["name"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]
}
PACKAGES = {
    name.removesuffix(".__init__") for name in product_modules() if name.endswith(".__init__")
}
CLASSES: dict[str, type[Any]] = {
    "acyclic_siblings": AcyclicSiblingsContract,
    "forbidden": ForbiddenContract,
    "layers": LayersContract,
    "protected": ProtectedContract,
}

TYPES_ONLY = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import {}
"""
PLANTED_FILES = {
    "Layers: each imports only those below it": {
        "pyevm_agents.vm.planted": "import pyevm_agents.chain.chain",
        "pyevm_agents.node.planted": "def f():\n    import pyevm_agents.rpc.errors",
        "pyevm_agents.tracing.planted": TYPES_ONLY.format("pyevm_agents.rpc.errors"),
        "pyevm_agents.planted_top": "",
        "pyevm_agents.planted_folder.__init__": "",
    },
    "Layers of the models": {
        "pyevm_agents.models.decoding.planted": "import pyevm_agents.models.store.rows",
        "pyevm_agents.models.planted_top": "",
    },
    "No import circles, those of types included": {
        "pyevm_agents.rpc.methods.planted_left": "import pyevm_agents.rpc.methods.planted_right",
        "pyevm_agents.rpc.methods.planted_right": TYPES_ONLY.format(
            "pyevm_agents.rpc.methods.planted_left"
        ),
        "pyevm_agents.state.planted_left": "import pyevm_agents.state.planted_right",
        "pyevm_agents.state.planted_right": "import pyevm_agents.state.planted_left",
    },
    "The precompile has no clock, no randomness, no environment, no model and no node": {
        "precompiles.planted_environment": "import os",
        "precompiles.planted_clock": "from time import monotonic",
        "precompiles.planted_node": "import pyevm_agents.errors",
    },
    "Models import nothing of the chain": {
        "pyevm_agents.models.planted_progress": "import pyevm_agents.abi.bundled",
        "pyevm_agents.models.llama.planted": "import pyevm_agents.chain.records",
        "pyevm_agents.models.store.planted": "import pyevm_agents.agents.failures",
        "pyevm_agents.models.store.planted_state": "import pyevm_agents.state.trie_nodes",
        "pyevm_agents.models.gguf.planted": "import pyevm_agents.vm.stack_depth",
        "pyevm_agents.models.fakes.planted": "from eth.abc import VirtualMachineAPI",
    },
    "The client imports nothing of the chain": {
        "pyevm_agents.client.planted_vm": "import eth.vm.base",
        "pyevm_agents.client.planted_chain": "from pyevm_agents.vm import FORKS",
    },
    "No library knows a scenario": {
        "pyevm_agents.oracle.planted_scenario": "import pyevm_agents.scenarios.recorded",
        "pyevm_agents.testing.planted_scenario": TYPES_ONLY.format("pyevm_agents.scenarios.wallet"),
    },
    "Decoding imports nothing of the engine's process, the store or the fakes": {
        "pyevm_agents.models.decoding.planted_process": (
            "import pyevm_agents.models.llama.child_process"
        ),
        "pyevm_agents.models.decoding.planted_messages": (
            "import pyevm_agents.models.engine_messages"
        ),
        "pyevm_agents.models.decoding.planted_store": "import pyevm_agents.models.store.rows",
        "pyevm_agents.models.decoding.planted_file": "import pyevm_agents.models.gguf.files",
        "pyevm_agents.models.decoding.planted_fake": "import pyevm_agents.models.fakes.scripted",
    },
    "Only models/llama/bindings.py and models/llama/context.py import llama_cpp": {
        "pyevm_agents.models.llama.planted_engine": "import llama_cpp",
        "pyevm_agents.bench.inference.planted_engine": "from llama_cpp import llama_cpp",
    },
    "Only bench, models and reports import jinja2, llguidance and numpy": {
        "pyevm_agents.rpc.planted_numpy": "import numpy",
        "pyevm_agents.cli.planted_jinja2": "from jinja2 import Environment",
        "pyevm_agents.testing.planted_llguidance": "import llguidance",
    },
    "Only numeric models import onnx": {
        "pyevm_agents.models.store.planted_onnx": "import onnx",
        "pyevm_agents.cli.planted_onnx": "from onnx import ModelProto",
    },
    "Only cli imports click and rich": {
        "pyevm_agents.node.planted_rich": "from rich.console import Console",
        "pyevm_agents.pytest_plugin.planted_click": "import click",
    },
}
"""Contents of the planted modules, by the contract that each breaks."""


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of a copy of the product."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def failures(output: str) -> dict[str, str]:
    """Return import-linter's output about broken contracts, by their names."""
    _, _, broken = output.partition("Broken contracts\n")
    _, *parts = HEADING.split(broken)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture
def product_copy(tmp_path: Path) -> Path:
    for file in product_modules().values():
        copied = tmp_path / file.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copied)
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    return tmp_path


def test_a_copy_of_the_product_keeps_every_contract(product_copy: Path) -> None:
    run = lint_imports(product_copy)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in run.stdout


def test_planted_imports_break_every_contract(product_copy: Path) -> None:
    for files in PLANTED_FILES.values():
        for module, text in files.items():
            file = product_copy.joinpath(*module.split(".")).with_suffix(".py")
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
    run = lint_imports(product_copy)
    assert run.returncode == 1, run.stdout + run.stderr
    printed = failures(run.stdout)
    assert printed.keys() == CONTRACTS.keys() == PLANTED_FILES.keys()
    unnamed = [
        f"{contract}: {module}"
        for contract, files in PLANTED_FILES.items()
        for module in files
        if not is_named(module, printed[contract])
    ]
    unnamed += [
        f"{contract}: {text}"
        for contract, files in PLANTED_FILES.items()
        for text in files.values()
        if CONTRACTS[contract]["type"] == "forbidden"
        and not is_refused(text.split()[1], printed[contract])
    ]
    assert unnamed == [], run.stdout


def is_named(module: str, printed: str) -> bool:
    """Return whether a failure names a module: in full, or relative to its package."""
    module = module.removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    in_full = re.search(rf"{re.escape(module)}\b", printed)
    relative = re.search(
        rf"No cycles are allowed in {re.escape(package)}\.$[^N]*?\.{name}\b", printed, re.MULTILINE
    )
    return in_full is not None or relative is not None or f"- {name}\n" in printed


def is_refused(module: str, printed: str) -> bool:
    """Return whether a failure forbids a module, or a package that it is in, by name.

    Otherwise, it may only be forbidden for its own imports.
    """
    parts = module.split(".")
    packages = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    return any(f"is not allowed to import {package}:" in printed for package in packages)


@pytest.fixture(scope="module")
def graph() -> ImportGraph:
    return grimp.build_graph(
        "precompiles", "pyevm_agents", include_external_packages=True, cache_dir=None
    )


def is_kept(contract: dict[str, Any], graph: ImportGraph, plant: Plant) -> bool:
    """Check a contract with planted imports."""
    planted = copy.deepcopy(graph)
    for edge in plant:
        for module in edge:
            if module not in planted.modules:
                planted.add_module(module, is_squashed=module.split(".")[0] not in PRODUCT)
        planted.add_import(importer=edge[0], imported=edge[1])
    options = read_configuration(str(ROOT / "pyproject.toml"))
    [contract_options] = [x for x in options["contracts_options"] if x["name"] == contract["name"]]
    checked = CLASSES[contract["type"]](
        name=contract["name"],
        session_options=options["session_options"],
        contract_options=contract_options,
    )
    return bool(checked.check(planted, verbose=False).kept)


def planted_in(module: str) -> str:
    """Return a new module of a package, or a module that is no package itself."""
    return f"{module}.planted" if module in PACKAGES else module


def deepest_module(graph: ImportGraph, module: str) -> str:
    """Return the most deeply nested module of a package."""
    return max(graph.find_descendants(module) | {module}, key=lambda name: (name.count("."), name))


def packages_in(module: str) -> set[str]:
    """Return the packages below a module, and itself where it is one."""
    return {name for name in PACKAGES if f"{name}.".startswith(f"{module}.")}


def layer_plants(contract: dict[str, Any], graph: ImportGraph) -> Iterator[Plant]:
    """Yield imports of each next layer, imports between siblings and a module of no layer."""
    for container in contract["containers"]:
        rows = [[f"{container}.{name}" for name in row.split(" | ")] for row in contract["layers"]]
        upward = [
            (lower, higher)
            for above, below in itertools.pairwise(rows)
            for higher in above
            for lower in below
        ]
        sideways = [(a, b) for row in rows for a in row for b in row if a != b]
        for lower, higher in upward + sideways:
            yield ((planted_in(lower), deepest_module(graph, higher)),)
        yield ((f"{container}.planted", "typing"),)


def circle_plants(_contract: dict[str, Any], _graph: ImportGraph) -> Iterator[Plant]:
    """Yield a circle of two modules in every package, and one between two of its children."""
    for package in sorted(PACKAGES):
        left, right = f"{package}.planted_left", f"{package}.planted_right"
        yield ((left, right), (right, left))
        yield ((f"{left}.deep", f"{right}.deep"), (f"{right}.other", f"{left}.other"))


def forbidden_plants(contract: dict[str, Any], _graph: ImportGraph) -> Iterator[Plant]:
    """Yield imports of every forbidden module by each source and by each package in it."""
    for source in contract["source_modules"]:
        for package in sorted(packages_in(source)):
            for module in contract["forbidden_modules"]:
                yield ((f"{package}.planted", module),)


def protected_plants(contract: dict[str, Any], _graph: ImportGraph) -> Iterator[Plant]:
    """Yield imports of every protected module by each package that may not."""
    inside = [*contract["allowed_importers"], *contract["protected_modules"]]
    allowed = set[str]().union(*map(packages_in, inside))
    for package in sorted(PACKAGES - allowed):
        for module in contract["protected_modules"]:
            yield ((f"{package}.planted", module),)


PLANTS: dict[str, Callable[[dict[str, Any], ImportGraph], Iterator[Plant]]] = {
    "acyclic_siblings": circle_plants,
    "forbidden": forbidden_plants,
    "layers": layer_plants,
    "protected": protected_plants,
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_planted_import_breaks_its_contract(graph: ImportGraph, name: str) -> None:
    contract = CONTRACTS[name]
    assert is_kept(contract, graph, ())
    plants = list(PLANTS[contract["type"]](contract, graph))
    assert plants
    assert [plant for plant in plants if is_kept(contract, graph, plant)] == []


@pytest.mark.parametrize(
    "name", [name for name, contract in CONTRACTS.items() if contract["type"] == "protected"]
)
def test_allowed_importers_may_import_what_is_protected(graph: ImportGraph, name: str) -> None:
    contract = CONTRACTS[name]
    for importer in contract["allowed_importers"]:
        for module in contract["protected_modules"]:
            assert is_kept(contract, graph, ((planted_in(importer), module),))

"""Rules of pyproject.toml that name paths: each bites outside of its path, and none is stale."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.checkout import PRODUCT, PROJECT, ROOT, product_modules, tracked_files

LINT = PROJECT["tool"]["ruff"]["lint"]
BANNED = {"datetime", "os.environ", "os.getenv", "random", "secrets", "time", "uuid"}
IGNORES: dict[str, list[str]] = LINT["per-file-ignores"]
CODES = sorted({code for codes in IGNORES.values() for code in codes})
BANNED_ALLOWED = {
    "pyevm_agents/bench": "measures time",
    "pyevm_agents/cli": "measures time and reads the environment",
    "pyevm_agents/council": "makes nonces, and starts programs that answer, off the chain",
    "pyevm_agents/control": "tells the time to runs and makes IDs of tasks, off the chain",
    "pyevm_agents/local_node": "reads the environment's folders and draws mnemonics, off the chain",
    "pyevm_agents/models/llama": "starts the engine's process and measures it",
    "pyevm_agents/models/store": "dates generations",
    "pyevm_agents/client": "waits for nodes, off the chain",
    "pyevm_agents/workers": "waits between rounds, off the chain",
    "pyevm_agents/oracle": "waits for blocks and measures inference, off the chain",
}
"""Folders of the product that may use the banned modules."""
BANNED_ALLOWED_FILES = {
    "pyevm_agents/cache_folder.py": "the environment names the folder",
    "pyevm_agents/models/timing.py": "measures inferences",
    "pyevm_agents/pytest_plugin/cassettes.py": "compares files' times",
}

PLANTED_CODE = """\
import datetime
import os
import random
import secrets
import subprocess
import time
import uuid


def planted(a: int, b: int, c: int, d: int, e: int, f: bool) -> int:
    assert a
    if a == 37:
        return 1
    if b:
        return 2
    if c:
        return 3
    if d:
        return 4
    if e:
        return 5
    if f:
        return 6
    if a and b:
        return 7
    if a and c:
        return 8
MANY BRANCHES AND STATEMENTS
    print("LONG LINE")
    return subprocess.run(["git"], check=True).returncode


PLANTED = [os.environ, os.getenv("A"), random.random(), datetime, secrets, time, uuid]
""".replace("LONG LINE", "long line " * 12).replace(
    "MANY BRANCHES AND STATEMENTS", "    if a and d:\n        b += 1\n" * 8 + "    c += 1\n" * 30
)

PLANTED_TYPES = {
    "ape.*": "import ape",
    "ape_foundry.*": "import ape_foundry",
    "arch.*": "import arch",
    "bm25s.*": "import bm25s",
    "boa.*": "import boa",
    "ckzg": "import ckzg",
    "eth.*": "from eth.vm.forks import CancunVM",
    "eth_abi.*": "from eth_abi import encode",
    "eth_keys.*": "from eth_keys import keys",
    "eth_tester.*": "import eth_tester",
    "eth_utils.*": "from eth_utils import keccak",
    "ethpm_types.*": "import ethpm_types",
    "gguf.*": "from gguf import GGUFReader; number: int = GGUFReader('file')",
    "jsonschema.*": "import jsonschema",
    "lightgbm.*": "import lightgbm",
    "llama_cpp.*": "from llama_cpp import LlamaGrammar",
    "onnxmltools.*": "import onnxmltools",
    "onnxruntime.*": "import onnxruntime",
    "rlp.*": "import rlp",
    "threadpoolctl": "import threadpoolctl",
    "torch.*": "import torch",
    "training.*": "class Planted(torch.autograd.Function): ...",
    "vaderSentiment.*": "import vaderSentiment",
    "zksnake.*": "import zksnake.ecc",
}
"""Lines that mypy accepts with the override of a module pattern, and refuses without."""


def run_ruff(*options: str, text: str = "") -> list[dict[str, Any]]:
    """Return ruff's findings."""
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "json"]
    run = subprocess.run(
        [*command, *options], cwd=ROOT, input=text, capture_output=True, text=True, check=False
    )
    assert run.returncode in {0, 1}, run.stderr
    reports: list[dict[str, Any]] = json.loads(run.stdout)
    return reports


def plant_code(path: str) -> list[dict[str, Any]]:
    """Return ruff's findings about the planted code at a path."""
    return run_ruff("--stdin-filename", path, "-", text=PLANTED_CODE)


def banned_names(reports: list[dict[str, Any]]) -> set[str]:
    """Return the banned modules and functions that reports name."""
    messages = [report["message"] for report in reports if report["code"] == "TID251"]
    return {re.findall(r"`(.+?)`", message)[0] for message in messages}


def ignored_codes(reports: list[dict[str, Any]]) -> set[str]:
    """Return the codes of `per-file-ignores` that reports have."""
    return {code for code in CODES for report in reports if report["code"].startswith(code)}


def is_match(glob: str, path: str) -> bool:
    """Return whether a path matches a glob of `per-file-ignores`."""
    return path == glob or (glob.endswith("/**") and path.startswith(glob[:-2]))


def product_folders() -> list[str]:
    """Return the product's folders of modules, relative to the checkout."""
    folders = {file.parent for file in product_modules().values()}
    return sorted(folder.relative_to(ROOT).as_posix() for folder in folders)


def product_paths() -> list[str]:
    """Return a new module's path in each folder of the product, and the topmost modules."""
    topmost = [f"pyevm_agents/{file.name}" for file in (ROOT / "pyevm_agents").glob("*.py")]
    return [f"{folder}/planted.py" for folder in product_folders()] + sorted(topmost)


def is_exempt(path: str) -> bool:
    """Return whether a module of the product may use the banned modules."""
    return path in BANNED_ALLOWED_FILES or any(path.startswith(f"{x}/") for x in BANNED_ALLOWED)


def is_example(file: Path) -> bool:
    """Return whether a file is code of the documents, which `tests/test_documentation.py` runs."""
    return file.parent == ROOT / "docs" / "examples"


def example_path(glob: str) -> str:
    """Return a path that matches a glob of `per-file-ignores`."""
    return glob.replace("**", "planted.py")


@pytest.mark.parametrize("path", sorted({*product_paths(), *BANNED_ALLOWED_FILES}))
def test_clock_chance_environment_and_print_are_refused_in_the_product(path: str) -> None:
    reports = plant_code(path)
    assert banned_names(reports) == (set() if is_exempt(path) else BANNED)
    assert "T201" in ignored_codes(reports)


@pytest.mark.parametrize("path", ["elsewhere/planted.py", *map(example_path, IGNORES)])
def test_a_rule_is_ignored_in_its_paths_alone(path: str) -> None:
    ignored = {code for glob, codes in IGNORES.items() if is_match(glob, path) for code in codes}
    expected = set(CODES) - ignored
    if (ROOT / path).parent.joinpath("__init__.py").exists():
        expected.discard("INP001")
    assert ignored_codes(plant_code(path)) == expected


def test_no_ignored_rule_is_stale() -> None:
    reports = run_ruff("--config", "lint.per-file-ignores = {}")
    broken = {(Path(x["filename"]).relative_to(ROOT).as_posix(), x["code"]) for x in reports}
    stale = [
        (glob, code)
        for glob, codes in IGNORES.items()
        for code in codes
        if not any(is_match(glob, path) and found.startswith(code) for path, found in broken)
    ]
    assert stale == []


def test_ruff_refuses_a_folder_that_is_no_package() -> None:
    # import-linter does not see its modules.
    reports = plant_code("pyevm_agents/elsewhere/planted.py")
    assert "INP001" in ignored_codes(reports)


def run_mypy(folder: Path, pyproject: str) -> tuple[str, set[str]]:
    """Return mypy's findings about the planted types, and the patterns whose lines it refuses."""
    planted = folder / "training" / "planted.py"
    planted.parent.mkdir(exist_ok=True)
    planted.write_text("\n".join(PLANTED_TYPES.values()))
    config = folder / "pyproject.toml"
    config.write_text(pyproject)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(config), "training/planted.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    patterns = list(PLANTED_TYPES)
    errors = re.findall(r"^training/planted\.py:(\d+): error:", run.stdout, re.MULTILINE)
    return run.stdout + run.stderr, {patterns[int(line) - 1] for line in errors}


@pytest.mark.slow
def test_every_override_of_mypy_is_needed(tmp_path: Path) -> None:
    overrides = PROJECT["tool"]["mypy"]["overrides"]
    patterns = [pattern for override in overrides for pattern in override["module"]]
    assert sorted(patterns) == sorted(PLANTED_TYPES)
    text = (ROOT / "pyproject.toml").read_text()
    without = re.sub(r"^\[\[tool\.mypy\.overrides\]\]\n(?:.+\n)+", "", text, flags=re.MULTILINE)
    assert run_mypy(tmp_path, text)[0].startswith("Success: no issues found in 1 source file")
    printed, refused = run_mypy(tmp_path, without)
    assert refused == PLANTED_TYPES.keys(), printed


def test_every_override_of_mypy_names_a_module_that_is_imported() -> None:
    imports = re.compile(r"^\s*(?:from|import) ([\w.]+)", re.MULTILINE)
    files = [file for file in tracked_files() if file.suffix == ".py"]
    names = {name for file in files for name in imports.findall(file.read_text())}
    overrides = PROJECT["tool"]["mypy"]["overrides"]
    patterns = [pattern for override in overrides for pattern in override["module"]]
    stale = [
        pattern
        for pattern in patterns
        if not any(f"{name}.".startswith(pattern.removesuffix("*")) for name in names)
    ]
    assert stale == []


def test_mypy_checks_every_python_file() -> None:
    checked = [ROOT / name for name in PROJECT["tool"]["mypy"]["files"]]
    files = [file for file in tracked_files() if file.suffix == ".py" and not is_example(file)]
    assert [file for file in files if not any(x in file.parents for x in checked)] == []
    assert [x for x in checked if not any(x in file.parents for file in files)] == []


def test_pytest_finds_every_test() -> None:
    options = PROJECT["tool"]["pytest"]
    folders = [ROOT / name for name in options["testpaths"]]
    tests = [x for x in tracked_files() if x.match("test_*.py") and not is_example(x)]
    assert tests
    assert [file for file in tests if not any(x in file.parents for x in folders)] == []
    assert [name for name in options["pythonpath"] if not (ROOT / name / "tests").is_dir()] == []


def test_coverage_import_linter_and_the_wheel_have_the_same_packages() -> None:
    tool = PROJECT["tool"]
    expected = sorted(PRODUCT)
    assert sorted(tool["hatch"]["build"]["targets"]["wheel"]["packages"]) == expected
    assert sorted(tool["coverage"]["run"]["source"]) == expected
    assert sorted(tool["importlinter"]["root_packages"]) == expected
    assert [name for name in expected if not (ROOT / name / "__init__.py").is_file()] == []


def test_every_folder_of_the_product_is_a_package() -> None:
    folders = product_folders()
    assert [name for name in folders if not (ROOT / name / "__init__.py").is_file()] == []


def test_the_wheel_has_every_data_file() -> None:
    packages = [ROOT / folder for folder in product_folders()]
    files = [file for file in tracked_files() if file.relative_to(ROOT).parts[0] in PRODUCT]
    data = [file for file in files if file.suffix != ".py"]
    names = {"default_adapter.gguf", "default_chooser.gguf", "free_adapter.gguf", "report.css"}
    assert names <= {file.name for file in data if file.parent in packages}
    ignored = subprocess.run(
        ["git", "check-ignore", "--no-index", *map(str, files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ignored.stdout == "", "hatch leaves out what git ignores"


def test_the_distributions_include_only_what_is_there() -> None:
    targets = PROJECT["tool"]["hatch"]["build"]["targets"]
    included = [name.removeprefix("/") for name in targets["sdist"]["include"]]
    assert [name for name in included if not list(ROOT.glob(name))] == []
    tracked = {file.relative_to(ROOT).as_posix() for file in tracked_files()}
    forced = targets["wheel"]["force-include"]
    assert forced.keys() <= set(included)
    assert [x for x in forced if not any(f"{name}/".startswith(f"{x}/") for name in tracked)] == []
    assert [x for x in forced.values() if Path(x).parts[0] not in PRODUCT] == []
    # What is forced in must not replace a folder of modules.
    assert [x for x in forced.values() if (ROOT / x).exists()] == []


def test_entry_points_import() -> None:
    project = PROJECT["project"]
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    points = [
        importlib.metadata.EntryPoint(name, value, group)
        for group, values in groups.items()
        for name, value in values.items()
    ]
    assert {point.group for point in points} == {"console_scripts", "pytest11"}
    assert [point.value for point in points if point.load() is None] == []


PATH = re.compile(
    r"(?<![\w./-])(?:benchmarks|chain_fixtures|contracts|docs|precompiles|pyevm_agents|scripts"
    r"|tests|training)(?:/[\w*.-]*\w)+(?![\w\\])"
)
MODULE = re.compile(
    r"(?<![\w./-])(?:benchmarks|precompiles|pyevm_agents|scripts|tests|training)(?:\.[a-z_]\w*)+"
)
NOT_IN_THE_CHECKOUT = (
    "contracts/node_modules",  # installed by npm
    "pyevm_agents/chain_fixtures",  # in a wheel alone
    "pyevm_agents/solidity",
)


@pytest.mark.parametrize("name", ["pyproject.toml", "Makefile", ".ci/run", "scripts/*"])
def test_paths_and_modules_that_the_tools_name_exist(name: str) -> None:
    text = "\n".join(file.read_text() for file in ROOT.glob(name) if file.is_file())
    paths = {path for path in PATH.findall(text) if not path.startswith(NOT_IN_THE_CHECKOUT)}
    assert [path for path in sorted(paths) if not list(ROOT.glob(path))] == []
    assert [module for module in sorted(set(MODULE.findall(text))) if not is_module(module)] == []


def is_module(name: str) -> bool:
    """Return whether a dotted name is a module or a package of the checkout, or a name in one."""
    candidates = [name, name.rpartition(".")[0]]
    files = [ROOT.joinpath(*candidate.split(".")) for candidate in candidates if "." in candidate]
    return any(file.is_dir() or file.with_suffix(".py").is_file() for file in files)

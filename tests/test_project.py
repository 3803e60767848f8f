"""The project's own files: versions are pinned, no registry is named, commands are explained."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.checkout import PROJECT, ROOT, tracked_files

DIRECT = [*PROJECT["project"]["dependencies"], *PROJECT["dependency-groups"]["dev"]]
TRANSITIVE = PROJECT["tool"]["uv"]["constraint-dependencies"]
BUILD = PROJECT["tool"]["uv"]["build-constraint-dependencies"]
PIN = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.!+]+)(?: ; .+)?")
# Spelled backwards, so that this file does not name them.
HOSTS = [host[::-1] for host in ("gro.ipyp", "gro.detsohnohtyp", "gro.sjmpn", "moc.gkpnray")]


def pins(requirements: list[str]) -> dict[str, str]:
    """Return the versions by name; a requirement that is not exact fails the test."""
    found = {requirement: PIN.fullmatch(requirement) for requirement in requirements}
    assert [requirement for requirement, pin in found.items() if pin is None] == []
    return {pin[1]: pin[2] for pin in found.values() if pin is not None}


def lines(name: str) -> list[str]:
    """Return the lines of a requirements file without its comments."""
    return [x for x in (ROOT / name).read_text().splitlines() if not x.startswith("#")]


def test_every_version_is_exact() -> None:
    assert pins(DIRECT)
    assert pins(TRANSITIVE)
    assert pins(BUILD)
    assert pins(PROJECT["build-system"]["requires"])


def test_pip_and_uv_get_the_same_versions() -> None:
    assert pins(lines("constraints.txt")) == pins(DIRECT) | pins(TRANSITIVE), "run `make pin`"
    assert lines("build-constraints.txt") == BUILD, "run `make pin`"


def test_pip_can_hold_both_constraints_at_once() -> None:
    # scripts/pip.env hands pip the build's pins for everything it installs.
    run, build = pins(DIRECT) | pins(TRANSITIVE), pins(BUILD)
    assert {name for name in run.keys() & build.keys() if run[name] != build[name]} == set()


def test_pip_and_uv_compile_the_same_engine() -> None:
    variables = PROJECT["tool"]["uv"]["extra-build-variables"]["llama-cpp-python"]
    script = '. scripts/pip.env && printf "%s\\n%s" "$SKBUILD_CMAKE_SOURCE_DIR" "$CMAKE_ARGS"'
    printed = subprocess.run(
        ["/bin/sh", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert printed.split("\n") == list(variables.values()), "run `make pin`"


def test_what_runs_is_what_is_pinned() -> None:
    from importlib.metadata import version  # noqa: PLC0415 - of this test alone

    wanted = pins(DIRECT) | pins(TRANSITIVE)
    assert {name: version(name) for name in wanted} == wanted


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

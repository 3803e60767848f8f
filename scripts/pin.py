"""Pin every dependency, transitive and build-time ones too, in a form that names no registry.

Writes, from `pyproject.toml`:

- the block between its two `pins` comments, which uv reads,
- `constraints.txt` and `build-constraints.txt`: the same versions, for `pip install -c`,
- `requirements.txt`: the same versions with hashes, for `pip install --require-hashes`,
- `scripts/pip.env`: the variables that llama-cpp-python is compiled with.

Dependencies that `pyproject.toml` gives as ranges are pinned within them. Run it as `make pin` for
the newest versions, or as `make pin PIN=--keep` to add pins without changing those there are.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = ROOT / "pyproject.toml"
BLOCK = re.compile(r"(?<=# pins: written by scripts/pin\.py\n).*?(?=# end of pins\n)", re.DOTALL)
HEADER = "# Written by scripts/pin.py from pyproject.toml (`make pin`)\n"
ENGINE = "llama-cpp-python"
# uv builds the project's metadata, for its version is in the package.
SOURCES_OF_METADATA = ("README.md", "LICENSE", "NOTICE", "pyevm_agents/__init__.py")
# What llama-cpp-python's build asks for; cmake and ninja only where the machine has none.
ENGINE_BUILD = ("scikit-build-core", "cmake", "ninja")


def uv(*arguments: str, cwd: Path, stdin: str = "") -> str:
    """Run uv and return what it prints."""
    command = [os.environ.get("UV", "uv"), *arguments]
    return subprocess.run(
        command, cwd=cwd, input=stdin, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def name_of(requirement: str) -> str:
    """Return the normalised project name of a requirement."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]).lower()


def pins(printed: str) -> list[str]:
    """Return what uv resolved, as `name==version`.

    Markers go: every package is wanted on every platform we support. They stay where a package
    needs several versions.
    """
    lines = [line for line in printed.splitlines() if "==" in line and not line.startswith("#")]
    names = [name_of(line) for line in lines]
    return [
        line if names.count(name) > 1 else line.partition(";")[0].strip()
        for name, line in zip(names, lines, strict=True)
    ]


def toml_list(key: str, values: list[str]) -> str:
    """Return one TOML assignment, a value on each line."""
    return f"{key} = [\n" + "".join(f'    "{value}",\n' for value in values) + "]\n"


def engine_environment(project: dict[str, Any]) -> str:
    """Return the shell file with which pip compiles the engine as uv does."""
    variables = project["tool"]["uv"]["extra-build-variables"][ENGINE] | {
        "PIP_CONSTRAINT": "build-constraints.txt",  # reaches builds up to pip 25.2
        "PIP_BUILD_CONSTRAINT": "build-constraints.txt",  # and from pip 25.3
    }
    return HEADER + "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()
    )


def resolve(text: str) -> tuple[list[str], list[str], str]:
    """Resolve a `pyproject.toml`.

    Output:
        The pins of all dependencies, those of the builds, and the requirements with hashes.
    """
    project = tomllib.loads(text)
    export = ("export", "--quiet", "--no-annotate", "--no-header", "--no-emit-project")
    compiled = ("pip", "compile", "--quiet", "--universal", "--no-annotate", "--no-header", "-")
    needed = [*project["build-system"]["requires"], "editables", *ENGINE_BUILD]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in SOURCES_OF_METADATA:
            (folder / file).parent.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / file, folder / file)
        (folder / "pyproject.toml").write_text(text)
        run_time = pins(uv(*export, "--no-hashes", "--all-groups", cwd=folder))
        hashed = uv(*export, "--group", "dev", cwd=folder)
        build_time = pins(uv(*compiled, cwd=folder, stdin="\n".join(needed)))
    return run_time, build_time, hashed


def exact_names(project: dict[str, Any]) -> set[str]:
    """Return the names of the requirements that `pyproject.toml` itself pins."""
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    flat = (line.partition(";")[0] for requirements in lists for line in requirements)
    return {name_of(line) for line in flat if "==" in line}


def without(names: set[str], block: str) -> str:
    """Return the block of pins without those of some packages."""
    lines = block.splitlines(keepends=True)
    return "".join(line for line in lines if name_of(line.strip(' "')) not in names)


def main() -> int:
    """Resolve and write the pins."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help="keep the versions that are pinned")
    text = PYPROJECT.read_text()
    project = tomllib.loads(text)
    exact = exact_names(project)
    kept = without(exact, BLOCK.findall(text)[0]) if parser.parse_args().keep else ""
    run_time, build_time, hashed = resolve(BLOCK.sub(lambda _: kept, text))
    loose = [pin for pin in run_time if name_of(pin) not in exact]
    block = toml_list("constraint-dependencies", loose)
    block += toml_list("build-constraint-dependencies", build_time)
    PYPROJECT.write_text(BLOCK.sub(lambda _: block, text))
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(run_time) + "\n")
    (ROOT / "build-constraints.txt").write_text(HEADER + "\n".join(build_time) + "\n")
    (ROOT / "requirements.txt").write_text(HEADER + hashed)
    (ROOT / "scripts" / "pip.env").write_text(engine_environment(project))
    return 0


if __name__ == "__main__":
    sys.exit(main())

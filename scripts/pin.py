"""Pin every dependency, transitive and build-time ones too, in a form that names no registry.

Writes the block between the two `pins` comments of `pyproject.toml`, which uv reads, and for pip
the same versions as `constraints.txt` and `build-constraints.txt`, and the variables that
llama-cpp-python is compiled with as `scripts/pip.env`. Direct dependencies are not touched: they
are pinned by hand in `pyproject.toml`. Run it as `make pin`.
"""

import os
import re
import shlex
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


def main() -> int:
    """Resolve anew and write the pins."""
    text = PYPROJECT.read_text()
    project = tomllib.loads(text)
    direct = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    with tempfile.TemporaryDirectory() as folder:
        unpinned = Path(folder)
        (unpinned / "pyproject.toml").write_text(BLOCK.sub("", text))
        export = ("--no-hashes", "--no-annotate", "--no-header", "--no-emit-project")
        run_time = pins(uv("export", "--quiet", "--all-groups", *export, cwd=unpinned))
        compiled = ("pip", "compile", "--quiet", "--universal", "--no-annotate", "--no-header", "-")
        needed = [*project["build-system"]["requires"], "editables", *ENGINE_BUILD]
        build_time = pins(uv(*compiled, cwd=unpinned, stdin="\n".join(needed)))
    direct_names = {name_of(requirement) for requirement in direct}
    transitive = [pin for pin in run_time if name_of(pin) not in direct_names]
    block = toml_list("constraint-dependencies", transitive)
    block += toml_list("build-constraint-dependencies", build_time)
    PYPROJECT.write_text(BLOCK.sub(lambda _: block, text))
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(run_time) + "\n")
    (ROOT / "build-constraints.txt").write_text(HEADER + "\n".join(build_time) + "\n")
    (ROOT / "scripts" / "pip.env").write_text(engine_environment(project))
    return 0


if __name__ == "__main__":
    sys.exit(main())

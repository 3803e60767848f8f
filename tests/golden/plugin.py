"""The plugin for pytest and the names that a user's suite imports."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import tempfile
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents import config, models, testing
from pyevm_agents.pytest_plugin import cassettes, gas_snapshot, plugin, reports
from pyevm_agents.rpc import web3_provider
from pyevm_agents.testing import faults
from pyevm_agents.testing.gas_snapshot import ZERO_COST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from types import ModuleType

    from pyevm_agents.models import Vocabulary

PARTS = (plugin, cassettes, gas_snapshot, reports)
"""Modules that are plugins: they may declare options and fixtures."""


def collect_plugin(_vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return the names that stand in users' suites and their configuration."""
    recorder = _Parser()
    manager = pytest.PytestPluginManager()
    manager.register(plugin, "golden")
    manager.hook.pytest_addoption.call_historic(
        kwargs={"parser": recorder, "pluginmanager": manager}
    )
    return {
        "options": recorder.options,
        "ini": recorder.ini,
        "markers": sorted(_markers()),
        "fixtures": sorted(name for part in PARTS for name in _fixtures(part)),
        "section under a failed test": reports.SECTION,
        "JUnit properties": [reports.PROPERTY + name for name in asdict(ZERO_COST)],
        "cassettes": {
            "folder": cassettes.FOLDER,
            "options to record": [cassettes.RECORD, cassettes.OTHER_RECORD],
            "value for missing ones": cassettes.MISSING,
        },
        "public names": {
            "pyevm_agents.testing": _members(testing, testing.__all__),
            "pyevm_agents.models": _members(models, models.__all__),
            "pyevm_agents.testing.faults": _members(faults, _defined(faults)),
            "pyevm_agents.config": _members(config, config.__all__),
            "pyevm_agents.rpc.web3_provider": _members(web3_provider, _defined(web3_provider)),
            "pyevm_agents.pytest_plugin.plugin": sorted(_fixtures(plugin)),
        },
    }


class _Parser:
    """Records the declarations of a plugin. It is its own group of options."""

    def __init__(self) -> None:
        self.options: dict[str, object] = {}
        self.ini: dict[str, object] = {}

    def getgroup(self, *_: object, **_named: object) -> _Parser:
        return self

    def addoption(self, *names: str, **told: Any) -> None:  # noqa: ANN401 - as pytest's
        told.pop("help", None)
        if callable(told.get("type")):
            told["type"] = "converted"
        self.options[", ".join(names)] = told

    def addini(self, name: str, _help: str, *told: object, **named: object) -> None:
        self.ini[name] = [*told, named]


def _markers() -> Iterator[str]:
    """Yield the plugin's markers with their parameters."""
    with tempfile.TemporaryDirectory() as folder:
        printed = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--markers"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    for line in printed.splitlines():
        name = line.removeprefix("@pytest.mark.").partition(":")[0]
        if name.startswith(("agent_", cassettes.MARKER)) and name != line:
            yield name


def _fixtures(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        kind = type(value).__name__
        if kind == "FixtureFunctionDefinition" and not name.startswith("_"):
            yield name


def _defined(module: ModuleType) -> list[str]:
    """Return the public names that a module itself defines."""
    found: list[str] = []
    for node in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef() | ast.FunctionDef():
                found.append(node.name)
            case ast.Assign():
                found += [one.id for one in node.targets if isinstance(one, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.append(name)
    return sorted(name for name in found if not name.startswith("_"))


def _members(module: ModuleType, names: Iterable[str]) -> Mapping[str, object]:
    """Return public names with their parameters and members."""
    return {name: _described(getattr(module, name)) for name in sorted(names)}


def _described(value: object) -> object:
    if inspect.isclass(value):
        return {
            "parameters": _parameters(value),
            "members": {
                name: _member(inspect.getattr_static(value, name))
                for name in sorted(dir(value))
                if not name.startswith("_") and not _is_foreign(value, name)
            },
            **({"fields": [one.name for one in fields(value)]} if is_dataclass(value) else {}),
        }
    return _member(value)


def _is_foreign(kind: type, name: str) -> bool:
    """Whether a member comes from a class of another package."""
    owner = next((one for one in kind.__mro__ if name in vars(one)), kind)
    return not owner.__module__.startswith("pyevm_agents")


def _member(value: object) -> object:
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    if inspect.isfunction(value):
        return _parameters(value)
    if isinstance(value, bool | int | float | str):
        return value
    return "value"


def _parameters(value: Any) -> list[str] | None:  # noqa: ANN401 - a class or a function
    """Return parameters by name: `*` for keyword-only ones, `=` for ones with a default."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return None
    return [_spelled(one) for one in parameters]


def _spelled(parameter: inspect.Parameter) -> str:
    stars: dict[object, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
        inspect.Parameter.KEYWORD_ONLY: "by name: ",
    }
    end = "" if parameter.default is inspect.Parameter.empty else "="
    return f"{stars.get(parameter.kind, '')}{parameter.name}{end}"

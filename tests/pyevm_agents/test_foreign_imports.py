"""py-evm's curves are imported when they are called, and every process hashes by pysha3."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = ("py_ecc", "numpy", "llama_cpp")

GENERATOR_TWICE = "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd3"


def run(code: str, **environment: str) -> str:
    """Run Python code in a process of its own; return the words that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "start",
    [
        pytest.param("import pyevm_agents.cli.node.command", id="the node's command"),
        pytest.param(
            "import pyevm_agents.testing as testing\ntesting.AgentChain().w3",
            id="a chain of the kit",
        ),
    ],
)
def test_a_start_imports_nothing_heavy(start: str) -> None:
    code = f"{start}\nimport sys\nprint(*(name for name in {HEAVY} if name in sys.modules))"
    assert run(code) == ""


def test_a_deferred_function_is_the_real_one_when_called() -> None:
    code = f"""
import pyevm_agents
from types import SimpleNamespace
from eth import precompiles
import sys
assert "py_ecc" not in sys.modules
generator = (1).to_bytes(32, "big") + (2).to_bytes(32, "big")
gas = []
def computation():
    return SimpleNamespace(
        msg=SimpleNamespace(data_as_bytes=generator * 2),
        consume_gas=lambda amount, reason: gas.append(amount),
    )
for call in (precompiles.ecadd, precompiles.ecadd(gas_cost=150)):
    assert call(computation()).output.hex().lstrip("0").startswith("{GENERATOR_TWICE}")
print(*gas)
"""
    assert run(code) == "500 150"


def test_the_deferred_functions_and_types_are_those_of_the_modules() -> None:
    code = """
import pyevm_agents
import eth_account, sys
from importlib import import_module
from pyevm_agents.foreign_imports import DEFERRED, TYPES
assert "py_ecc" not in sys.modules
for name, functions in DEFERRED.items():
    module = import_module(name)
    types = TYPES.get(name, {})
    assert all(getattr(module, each) == kind for each, kind in types.items())
    stand_ins = [getattr(module, function) for function in functions]
    try:
        module._no_such_name
    except AttributeError:
        pass
    real = [getattr(module, function) for function in functions]
    assert all(callable(one) and one is not other for one, other in zip(real, stand_ins)), name
    assert all(getattr(module, each) == kind for each, kind in types.items())
print("equal")
"""
    assert run(code) == "equal"


@pytest.mark.parametrize(
    ("before", "environment", "backend"),
    [
        pytest.param("", {}, "sha3", id="the fastest"),
        pytest.param("from eth_hash.auto import keccak; keccak(b'')", {}, "sha3", id="chosen late"),
        pytest.param("", {"ETH_HASH_BACKEND": "pycryptodome"}, "pycryptodome", id="by the user"),
    ],
)
def test_every_process_hashes_by_the_fastest_backend(
    before: str, environment: dict[str, str], backend: str
) -> None:
    code = f"""
{before}
import pyevm_agents
from eth_hash.auto import keccak
assert keccak(b"").hex().startswith("c5d24601")
print(keccak.hasher.__module__, keccak.hasher.__func__.__module__)
"""
    assert backend in run(code, **environment)

"""Hints for packages that are not installed."""

from __future__ import annotations

import re

import pytest

from pyevm_agents.bench.extras import find_requirement, require_package
from pyevm_agents.errors import ConfigError


@pytest.mark.parametrize("name", ["gguf", "matplotlib"])
def test_the_hint_is_the_declared_requirement(name: str) -> None:
    assert re.fullmatch(rf"{name}[<>=].+", find_requirement(name))
    require_package(name, use="plots")


def test_an_undeclared_package_is_named_as_it_is() -> None:
    assert find_requirement("nonesuch") == "nonesuch"
    with pytest.raises(ConfigError) as error:
        require_package("nonesuch", use="plots", alternative="use --json alone")
    assert str(error.value) == (
        "nonesuch is not installed; plots need it: pip install 'nonesuch', or use --json alone"
    )

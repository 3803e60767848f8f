"""Compiled contracts by name."""

from __future__ import annotations

import pytest

from pyevm_agents.artifacts import artifact, artifact_names
from pyevm_agents.errors import ConfigError


def test_every_artifact_loads() -> None:
    names = artifact_names()
    assert "WalletAgent" in names
    assert all(artifact(name).name == name for name in names)


def test_encodes_calls_by_name() -> None:
    token = artifact("DemoToken")
    assert token.call("transfer", b"\x01" * 20, 5).hex().startswith("a9059cbb")
    assert token.creation("A", "A", 18, 1).startswith(token.bytecode)
    assert token.result("balanceOf", (7).to_bytes(32, "big")) == 7


def test_says_what_is_wrong() -> None:
    with pytest.raises(ConfigError, match=r"no contract 'Wallet'; there are .*WalletAgent"):
        artifact("Wallet")
    with pytest.raises(ConfigError, match="DemoToken has no function 'mint' of 1 arguments"):
        artifact("DemoToken").call("mint", 1)
    with pytest.raises(ConfigError, match="constructor: 0 arguments given, it takes 4"):
        artifact("DemoToken").creation()

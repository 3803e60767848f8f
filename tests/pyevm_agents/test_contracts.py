"""Compiled contracts by name."""

from __future__ import annotations

import pytest

from pyevm_agents.contracts import artifact, artifact_names
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("0x12", 5), "is not: ", id="short address"),
        pytest.param((b"\x01" * 20, "5"), r"which \(b'.*', '5'\) is not", id="text for a number"),
        pytest.param((b"\x01" * 20, -1), r"-1\) is not", id="negative"),
        pytest.param((b"\x01" * 20, 2**256), "is not: ", id="too large"),
        pytest.param((None, 5), r"\(None, 5\) is not", id="nothing"),
        pytest.param((b"\x01" * 20, 1.5), r"1\.5\) is not", id="fraction"),
    ],
)
def test_arguments_of_wrong_types_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"transfer takes \(address, uint256\), .*{message}"):
        artifact("DemoToken").call("transfer", *arguments)


def test_a_huge_argument_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        artifact("DemoToken").call("transfer", "x" * 100_000, 5)
    assert len(str(caught.value)) < 1_000


def test_half_a_surrogate_pair_is_no_string() -> None:
    with pytest.raises(ConfigError, match="constructor takes"):
        artifact("DemoToken").creation("\ud800", "A", 18, 1)

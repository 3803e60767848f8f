"""Compiled contracts by name."""

from __future__ import annotations

import pytest

from pyevm_agents.abi.bundled import list_artifacts, load_artifact
from pyevm_agents.errors import ConfigError


def test_every_artifact_loads() -> None:
    names = list_artifacts()
    assert "WalletAgent" in names
    assert all(load_artifact(name).name == name for name in names)


def test_encodes_calls_by_name() -> None:
    token = load_artifact("DemoToken")
    assert token.encode_call("transfer", b"\x01" * 20, 5).hex().startswith("a9059cbb")
    assert token.encode_creation("A", "A", 18, 1).startswith(token.bytecode)
    assert token.decode_result("balanceOf", (7).to_bytes(32, "big")) == 7


def test_says_what_is_wrong() -> None:
    with pytest.raises(ConfigError, match=r"no contract 'Wallet'; there are .*WalletAgent"):
        load_artifact("Wallet")
    with pytest.raises(ConfigError, match="DemoToken has no function 'mint' of 1 arguments"):
        load_artifact("DemoToken").encode_call("mint", 1)
    with pytest.raises(ConfigError, match="constructor: 0 arguments given, it takes 4"):
        load_artifact("DemoToken").encode_creation()


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
        load_artifact("DemoToken").encode_call("transfer", *arguments)


def test_a_huge_argument_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        load_artifact("DemoToken").encode_call("transfer", "x" * 100_000, 5)
    assert len(str(caught.value)) < 1_000


def test_half_a_surrogate_pair_is_no_string() -> None:
    with pytest.raises(ConfigError, match="constructor takes"):
        load_artifact("DemoToken").encode_creation("\ud800", "A", 18, 1)

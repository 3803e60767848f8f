"""`--abi` of `tools ask`, `tools deploy` and `run`: custom errors have their names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.cli.known_abis import read_known_abis
from pyevm_agents.cli.output import err
from pyevm_agents.contract_intelligence.abi_files import read_abis
from pyevm_agents.errors import ConfigError
from tests.checkout import ROOT
from tests.pyevm_agents.contract_intelligence.answering_code import build_reverting_creation

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

ABI = ["function pay(uint256 number)", "error NotYours(uint256 number)"]
REVERT_DATA = keccak(text="NotYours(uint256)")[:4] + encode(["uint256"], [7])
NAMED = "NotYours(number=7)"


@pytest.fixture
def abi_file(tmp_path: Path) -> Path:
    file = tmp_path / "Purse.json"
    file.write_text(json.dumps(ABI))
    return file


def test_the_errors_of_files_are_known(abi_file: Path, tmp_path: Path) -> None:
    assert decode_revert(REVERT_DATA) == f"0x{REVERT_DATA.hex()}"
    known = KnownContracts()
    known.add(*(each.description for each in read_known_abis([abi_file])))
    assert decode_revert(REVERT_DATA, known) == NAMED
    [read] = read_abis(abi_file)
    assert (read.name, len(read.entries), read.description.runtime_code) == ("Purse", 2, b"")
    [built] = read_abis(ROOT / "contracts/build/ClubBox.json")
    assert built.name == "ClubBox"
    assert built.description.runtime_code
    output = tmp_path / "output.json"
    output.write_text(json.dumps({"contracts": {"a.sol": {"A": {"abi": []}, "B": {"abi": []}}}}))
    assert [each.name for each in read_abis(output)] == ["A", "B"]
    output.write_text("{}")
    with pytest.raises(ConfigError, match="has no ABI; pass a JSON file with an ABI"):
        read_abis(output)


@pytest.mark.slow
def test_an_agent_s_tool_reverts_with_a_custom_error(
    swap_node: SwapNode, abi_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(err, "width", 400)
    before = swap_node.chain.snapshot()
    purse = to_checksum_address(swap_node.world.owner.deploy(build_reverting_creation(REVERT_DATA)))
    words = ["deploy", "--address", purse, "--abi", abi_file]
    refused = swap_node.run(*words, status=2)
    assert NAMED in refused.stderr  # The plan names it.
    form: Any = swap_node.read_json(*words, "--function", "pay")
    # The node knows the ABI since the deployment.
    assert swap_node.chain.known_contracts.find_errors(REVERT_DATA[:4])
    swap_node.steps = [("pay", {"number": 1})]
    for ask in (["--call"], []):
        result = swap_node.run(
            "ask", form["agent"], "INSTRUCTION", *ask, "--abi", abi_file, status=1
        )
        assert NAMED in result.stderr
    swap_node.steps = ()
    swap_node.chain.revert(before)

"""`tools deploy` and `tools ask` with a keystore: they sign, for the node has no such key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_keys.datatypes import PrivateKey

from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.cli.tools.swap_node import OTHER, choose

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pyevm_agents.cli.tools.swap_node import SwapNode

pytestmark = pytest.mark.slow

KEY = PrivateKey(b"\x99" * 32)
OWNER = KEY.public_key.to_checksum_address()


def test_an_agent_of_a_keystore(swap_node: SwapNode, tmp_path: Path) -> None:
    before = swap_node.chain.snapshot()
    password = tmp_path / "password.txt"
    password.write_text(PASSWORD)
    signing = [
        *("--keystore", write_keystore(tmp_path / "me.json", KEY.to_bytes())),
        *("--password-file", password),
    ]
    swap_node.served.ask("anvil_setBalance", OWNER, hex(10**19))
    swap_node.served.ask("evm_mine")  # A fork reads the state of a block.
    words = ["deploy", "--no-execute", *swap_node.contracts, *choose(["USDT.balanceOf"])]
    form = swap_node.read_json(*words, *signing, sender=None)
    sender = swap_node.served.ask("eth_getTransactionByHash", form["transactions"][-1]["hash"])
    assert sender["from"] == OWNER.lower()
    swap_node.steps = [("balanceOf", {})]
    asked = swap_node.read_json("ask", form["agent"], "INSTRUCTION", *signing, sender=None)
    assert asked["steps"][0]["observation"] == "0 USDT"
    told = swap_node.run("ask", form["agent"], "INSTRUCTION", sender=OTHER, status=2)
    assert f"its owner is {OWNER}" in " ".join(told.stderr.split())
    # The node itself signs for its own accounts alone.
    told = swap_node.run("ask", form["agent"], "INSTRUCTION", sender=OWNER, status=1)
    assert "does not sign for it" in " ".join(told.stderr.split())
    swap_node.steps = ()
    swap_node.chain.revert(before)

"""State dumps between this node and anvil: each loads the other's."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.anvil_node import running_anvil
from tests.clients.running_node import running_node
from tests.clients.test_fork_anvil import FIRST, HOLDERS, balance_of, populate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[..., Any]

pytestmark = pytest.mark.slow


def read_state(ask: Ask, token: str) -> list[object]:
    """Return everything that a dump must bring along."""
    accounts = [token, FIRST, *HOLDERS]
    methods = ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
    return [
        [ask(method, account, "latest") for account in accounts for method in methods],
        [balance_of(ask, token, holder) for holder in HOLDERS],
        [ask("eth_getStorageAt", token, hex(slot), "latest") for slot in range(8)],
        ask("eth_blockNumber"),
    ]


def test_anvil_loads_a_dump_of_this_node_by_method_and_from_a_file(tmp_path: Path) -> None:
    with running_node(tmp_path) as ours:
        token = populate(ours)
        state = read_state(ours.ask, token)
        dumped = ours.ask("anvil_dumpState")
    with running_anvil(tmp_path) as anvil:
        assert anvil.ask("anvil_loadState", dumped) is True
        assert read_state(anvil.ask, token) == state
    file = tmp_path / "state.json"
    file.write_bytes(gzip.decompress(bytes.fromhex(dumped[2:])))
    with running_anvil(tmp_path, "--load-state", str(file)) as anvil:
        assert read_state(anvil.ask, token) == state
        head = anvil.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
        anvil.ask("anvil_mine", "0x1")
        after = anvil.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC
        assert after["parentHash"] == head["hash"]
        assert after["number"] == hex(int(head["number"], 16) + 1)


def test_a_dump_of_anvils_comes_back_through_this_node(tmp_path: Path) -> None:
    with running_anvil(tmp_path) as anvil:
        token = populate(anvil)
        state = read_state(anvil.ask, token)
        dumped = anvil.ask("anvil_dumpState")
    with running_node(tmp_path) as ours:
        ours.ask("anvil_loadState", dumped)
        assert read_state(ours.ask, token) == state
        again = json.loads(gzip.decompress(bytes.fromhex(ours.ask("anvil_dumpState")[2:])))
    with running_anvil(tmp_path) as anvil:
        anvil.ask("anvil_loadState", "0x" + gzip.compress(json.dumps(again).encode()).hex())
        assert read_state(anvil.ask, token) == state

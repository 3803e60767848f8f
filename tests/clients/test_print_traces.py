"""`node --print-traces --artifacts`: names of a Foundry project's contracts in the node's log."""

from __future__ import annotations

import json
import re
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import to_checksum_address

from tests.clients.foundry_project import FIRST_KEY, Foundry, compiled_project
from tests.clients.running_node import running_node
from tests.conftest import folder_of_session
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.running_node import RunningNode

pytestmark = pytest.mark.slow

SHOP = """// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

library Prices {
    function double(uint256 price) external pure returns (uint256) { return price * 2; }
}

contract Till {
    address immutable owner;
    error Empty(uint256 wanted, address by);
    event Paid(address indexed by, uint256 amount);
    constructor() { owner = msg.sender; }
    function pay(uint256 amount) external returns (uint256 left) {
        if (amount > 99) revert Empty(amount, owner);
        emit Paid(owner, amount);
        return 99 - amount;
    }
}

contract Shop {
    Till immutable till;
    constructor() { till = new Till(); }
    function buy(string calldata what, uint256 price) external returns (bool) {
        try till.pay(Prices.double(price)) { return bytes(what).length > 0; }
        catch { return false; }
    }
}
"""


def trace_of(log: Path, transaction: str) -> list[str]:
    """Return the tree of a transaction in the node's log, without the gas."""
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        lines = log.read_text().splitlines()
        entries: list[dict[str, Any]] = [json.loads(line) for line in lines if line.endswith("}")]
        for entry in entries:
            if entry.get("event") == "transaction" and entry["hash"] == transaction:
                return [re.sub(r"\[[0-9,]+\] ", "", line) for line in entry["trace"]]
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_forges_contracts_have_names(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    compiled = compiled_project(folder_of_session(tmp_path_factory))
    project = tmp_path / "shop"
    (project / "src").mkdir(parents=True)
    (project / "src" / "Shop.sol").write_text(SHOP)
    for name in ("foundry.toml", "solc"):
        (project / name).write_bytes((compiled / name).read_bytes())
        (project / name).chmod(0o755)
    (project / "node_modules").symlink_to(compiled / "node_modules")
    Foundry("forge", "", project)("build")
    # Without the libraries' addresses, which forge links in when it deploys.
    artifacts = shutil.copytree(project / "out", tmp_path / "artifacts")
    options = ["--no-model", "--print-traces", "--artifacts", str(artifacts)]
    with running_node(tmp_path, *options) as node:
        cast = Foundry("cast", node.url, project)
        key = ("--private-key", FIRST_KEY)
        forge = Foundry("forge", node.url, project)
        deploy = ("--broadcast", "--rpc-url", node.url, *key)
        forge("create", "src/Shop.sol:Prices", *deploy)
        prices = created_address(node)
        forge(
            "create", "src/Shop.sol:Shop", *deploy, "--libraries", f"src/Shop.sol:Prices:{prices}"
        )
        shop = created_address(node)
        log = tmp_path / "node.log"
        created = trace_of(log, latest(node))
        cast("send", *key, shop, "buy(string,uint256)", "tea", "20")
        bought = trace_of(log, latest(node))
        cast("send", *key, shop, "buy(string,uint256)", "tea", "50")
        failed = trace_of(log, latest(node))
    assert created[0] == f"  → new Shop@{shop}"
    assert created[1].startswith("    ├─ → new Till@0x")
    shown = rf"Shop \({shop[:6]}…{shop[-4:]}\)"
    assert bought[:5] == [
        '  Shop::buy(what: "tea", price: 20)',
        "    ├─ Prices::double(price: 20) [delegatecall]",
        "    │   └─ ← [Return] 40",
        "    ├─ Till::pay(amount: 40)",
        bought[4],
    ]
    assert re.fullmatch(rf"    │   ├─ emit Paid\(by: {shown}, amount: 40\)", bought[4])
    assert bought[5:] == ["    │   └─ ← [Return] left: 59", "    └─ ← [Return] true"]
    assert re.fullmatch(rf"    │   └─ ← \[Revert\] Empty\(100, {shown}\)", failed[4])
    assert failed[5:] == ["    └─ ← [Return] false"]


def latest(node: RunningNode) -> str:
    """Return the hash of the last transaction."""
    block = node.ask("eth_getBlockByNumber", "latest", False)  # noqa: FBT003 - JSON-RPC's
    return str(block["transactions"][0])


def created_address(node: RunningNode) -> str:
    """Return the address of the contract that the last transaction created."""
    receipt = node.ask("eth_getTransactionReceipt", latest(node))
    return str(to_checksum_address(receipt["contractAddress"]))

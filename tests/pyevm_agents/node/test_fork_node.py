"""A node on a fork: resets, reorganizations, snapshots and dumps end at the fork block."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.chain.lmdb import LmdbRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError
from pyevm_agents.node import Keys, Node
from pyevm_agents.node.state_dump import dump, load
from pyevm_agents.rpc.errors import RpcError
from pyevm_agents.rpc.methods.registry import build_node_service
from pyevm_agents.rpc.session import Session
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS, NOBODY, mined
from tests.remote_chain import RemoteBlock, fork_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyevm_agents.chain.database import Rows

    MakeNode = Callable[..., Node]

RICH = GenesisAccount(balance_wei=10**20)


@pytest.fixture
def remote() -> RemoteBlock:
    """Block 3 of a chain where NOBODY has a contract with two slots."""
    contract = GenesisAccount(balance_wei=5, nonce=1, code=b"\x00", storage={1: 7, 2: 8})
    chain = Chain(ChainConfig(), accounts={ADDRESSES[0]: RICH, NOBODY: contract})
    for _ in range(3):
        chain.mine()
    return fork_head(chain)


@pytest.fixture
def make(remote: RemoteBlock) -> Iterator[MakeNode]:
    """Make nodes on forks, closed at the end."""
    nodes: list[Node] = []

    def make(block: RemoteBlock = remote, rows: Rows | None = None) -> Node:
        chain = Chain(ChainConfig(origin=block.origin), fork=block, rows=rows)
        now = chain.head.timestamp + 9.0
        nodes.append(Node(chain, now=lambda: now, keys=Keys(KEYS)))
        return nodes[-1]

    yield make
    for node in nodes:
        node.close()


def send(node: Node, wei: int) -> None:
    """Send wei to NOBODY in a block."""
    call = Call(to=NOBODY, sender=ADDRESSES[0], value_wei=wei, gas=100_000)
    unsigned = node.chain.build_unsigned_transaction(call)
    signed = unsigned.as_signed_transaction(KEYS[0], chain_id=node.chain.config.chain_id)
    assert mined(node, signed) is not None


def test_a_reset_goes_back_to_the_fork_block(make: MakeNode, remote: RemoteBlock) -> None:
    node = make()
    send(node, 1)
    send(node, 1)
    node.reset()
    assert node.chain.head.hash == remote.header.hash
    assert node.chain.balance(NOBODY) == 5
    send(node, 2)
    assert (node.chain.head.block_number, node.chain.balance(NOBODY)) == (4, 7)


def test_a_rollback_and_a_reorganization_end_at_the_fork_block(make: MakeNode) -> None:
    node = make()
    send(node, 1)
    wanted = "current height 4, fork block 3, depth 2"
    with pytest.raises(ConfigError, match=wanted):
        node.rollback(2)
    with pytest.raises(ConfigError, match=wanted):
        node.reorganize([[], []])
    before = node.chain.head.hash
    node.reorganize([[]])
    assert node.chain.head.block_number == 4
    assert node.chain.head.hash != before
    assert node.chain.balance(NOBODY) == 5
    node.rollback(1)
    assert node.chain.head.block_number == 3


def test_a_snapshot_at_the_fork_block_is_reverted_to(make: MakeNode, remote: RemoteBlock) -> None:
    node = make()
    number = node.history.snapshot()
    send(node, 1)
    node.patch_state(lambda state: state.set_storage(NOBODY, 1, 0))
    node.history.revert(number)
    assert node.chain.head.hash == remote.header.hash
    assert node.chain.account(NOBODY, [1]) == GenesisAccount(
        balance_wei=5, nonce=1, code=b"\x00", storage={1: 7}
    )


def test_a_dump_has_the_differences_and_its_fork_loads_it(
    make: MakeNode, remote: RemoteBlock
) -> None:
    node = make()
    send(node, 1)
    node.patch_state(lambda state: state.set_storage(NOBODY, 1, 0))
    node.patch_state(lambda state: state.delete_account(ADDRESSES[1]))
    node.patch_state(lambda state: state.set_balance(ADDRESSES[2], 3))
    form = json.loads(json.dumps(dump(node)))
    assert form["origin"] == remote.origin.to_form()
    assert len(form["accounts"]) == len({ADDRESSES[0], NOBODY, ADDRESSES[2], bytes(20)})
    other = make()
    load(other, form)
    for address in (NOBODY, *ADDRESSES[:3]):
        assert other.chain.account(address, [1, 2]) == node.chain.account(address, [1, 2])
    assert dump(other)["accounts"] == form["accounts"]


def test_a_dump_of_a_deleted_and_a_cleared_account_is_loaded(make: MakeNode) -> None:
    node = make()
    node.patch_state(lambda state: state.delete_account(ADDRESSES[0]))
    node.patch_state(lambda state: state.delete_storage(NOBODY))
    node.patch_state(lambda state: state.set_storage(NOBODY, 2, 1))
    form = json.loads(json.dumps(dump(node)))
    other = make()
    load(other, form)
    assert other.chain.account(ADDRESSES[0]) is None
    cleared = other.chain.account(NOBODY, [1, 2])
    assert cleared is not None
    assert cleared.storage == {2: 1}
    assert other.chain.state_root(other.chain.head) == node.chain.state_root(node.chain.head)


@pytest.mark.parametrize("kind", ["another fork", "no fork"])
def test_a_dump_of_another_origin_is_refused(
    make: MakeNode, remote: RemoteBlock, kind: str
) -> None:
    form = dump(make(replace(remote, chain_id=5)))
    if kind != "another fork":
        del form["origin"]
    with pytest.raises(ConfigError, match=r"state dump of .*, a fork of chain 31337 at block 3 \("):
        load(make(), form)
    plain = Node(Chain(ChainConfig()), now=lambda: 0.0)
    try:
        with pytest.raises(ConfigError, match="a chain that is no fork; load it into a fork of bl"):
            load(plain, dump(make()))
    finally:
        plain.close()


def test_a_dump_of_anvils_lies_on_the_remote_state(make: MakeNode) -> None:
    """They state no origin: accounts replace the remote ones, but for slots that they lack."""
    node = make()
    before = node.chain.account(NOBODY, [1, 2, 3])
    assert before is not None
    written = {"nonce": 7, "balance": "0x8", "code": "0x", "storage": {"0x2": "0x0", "0x3": "0x9"}}
    load(node, {"accounts": {"0x" + NOBODY.hex(): written}, "block": {"number": 5, "timestamp": 1}})
    account = node.chain.account(NOBODY, [1, 2, 3])
    assert account is not None
    assert (account.nonce, account.balance_wei) == (7, 8)
    assert account.storage == {
        slot: value for slot, value in {**before.storage, 2: 0, 3: 9}.items() if value
    }
    assert node.chain.head.block_number == 5


def test_a_fork_in_lmdb_is_opened_again(
    make: MakeNode, remote: RemoteBlock, tmp_path: Path
) -> None:
    rows = LmdbRows(tmp_path / "chain")
    first = make(rows=rows)
    send(first, 1)
    head = first.chain.head.hash
    first.close()
    again = make(rows=LmdbRows(tmp_path / "chain"))
    assert (again.chain.head.hash, again.chain.balance(NOBODY)) == (head, 6)
    again.close()
    other = LmdbRows(tmp_path / "chain")
    try:
        with pytest.raises(ConfigError, match=r"at block 3 .*, not a fork of chain 5 at block 3"):
            make(replace(remote, chain_id=5), rows=other)
    finally:
        other.close()


def test_blocks_are_simulated_and_traced_on_a_fork(make: MakeNode) -> None:
    node = make()
    service, session = build_node_service(node, send_seconds=240.0), Session("test")

    def ask(method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        return service.call(method, params, session)

    call = {"from": "0x" + ADDRESSES[0].hex(), "to": "0x" + NOBODY.hex(), "value": "0x1"}
    request = {"blockStateCalls": [{"calls": [call]}, {"calls": [call]}]}
    blocks = ask("eth_simulateV1", request, "latest")
    assert [block["number"] for block in blocks] == ["0x4", "0x5"]
    assert [block["calls"][0]["status"] for block in blocks] == ["0x1", "0x1"]
    options = {"tracer": "prestateTracer"}
    traced = ask("debug_traceCall", call, "latest", options)
    assert traced["0x" + NOBODY.hex()]["balance"] == "0x5"
    send(node, 1)
    tracer = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
    (sent,) = node.chain.block(4).transactions
    changed = ask("debug_traceTransaction", "0x" + sent.hash.hex(), tracer)
    assert changed["post"]["0x" + NOBODY.hex()]["balance"] == "0x6"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_getProof", ("0x" + "11" * 20, [], "latest")),
        ("eth_getAccount", ("0x" + "11" * 20, "latest")),
        ("debug_executionWitness", ("latest",)),
        ("debug_storageRangeAt", ("latest", 0, "0x" + "11" * 20, "0x", 1)),
    ],
)
def test_parts_of_the_state_trie_are_refused(
    make: MakeNode, method: str, params: tuple[object, ...]
) -> None:
    node = make()
    send(node, 1)
    service = build_node_service(node, send_seconds=240.0)
    with pytest.raises(RpcError, match=r"of local blocks of a fork: not available, as their state"):
        service.call(method, params, Session("test"))

"""All of a node in one object, and back; anvil's dumps too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError
from pyevm_agents.node import Keys, MiningMode, Node
from pyevm_agents.node.state_dump import DUMP_FORMAT, MAX_FILLED_BLOCKS, dump, load
from tests.pyevm_agents.node.senders_of_tests import (
    ADDRESSES,
    KEYS,
    NOBODY,
    mined,
    transaction,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

START = ChainConfig().genesis_timestamp_seconds

ANVILS: dict[str, object] = {
    "block": {
        "number": "0x2",
        "beneficiary": "0x0000000000000000000000000000000000000000",
        "timestamp": hex(START + 500),
        "gas_limit": 30_000_000,
        "basefee": 875_629_517,
    },
    "accounts": {
        "0x5fbdb2315678afecb367f032d93f642f64180aa3": {
            "nonce": 1,
            "balance": "0x5",
            "code": "0x01",
            "storage": {f"0x{1:064x}": f"0x{42:064x}"},
        }
    },
    "best_block_number": 2,
    "blocks": [],
    "transactions": [],
    "historical_states": None,
}
"""As anvil 1.7.1 writes it with --dump-state, shortened."""


@pytest.fixture
def node() -> Iterator[Node]:
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    it = Node(Chain(ChainConfig(), accounts=accounts), now=lambda: START + 9.0, keys=Keys(KEYS))
    yield it
    it.close()


def test_a_dump_is_loaded_into_another_node(node: Node) -> None:
    node.patch_state(lambda state: state.set_balance(NOBODY, 5))
    node.mine(START + 1_000)
    form = json.loads(json.dumps(dump(node)))
    other = Node(Chain(ChainConfig()), now=lambda: START + 9.0)
    load(other, form)
    assert other.chain.head.block_number == 1
    assert other.chain.head.timestamp == START + 1_000
    again = json.loads(json.dumps(dump(other)))
    assert again["accounts"] == form["accounts"]
    for name in ("number", "timestamp"):
        assert again["block"][name] == form["block"][name]
    other.close()


@pytest.mark.parametrize("transfers", [0, 1, 3])
@pytest.mark.parametrize("heads", [0, 1], ids=["a new chain", "a chain of that height"])
def test_the_base_fee_goes_on_as_on_the_dumped_chain(
    node: Node, transfers: int, heads: int
) -> None:
    node.set_mining(MiningMode(is_automatic=False))
    for nonce in range(transfers):
        assert mined(node, transaction(0, nonce)) is None
    node.mine()
    form = json.loads(json.dumps(dump(node)))
    other = Node(Chain(ChainConfig()), now=lambda: START + 9.0)
    for _ in range(heads):
        other.mine()
    load(other, form)
    fees = []
    for each in (node, other):
        upcoming = [each.next_block.build_header()]
        upcoming += [each.mine().block.header for _ in range(2)]
        fees.append([header.base_fee_per_gas for header in upcoming])
    assert fees[0] == fees[1]
    other.close()


def _without(form: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in form.items() if name not in names}


BLOCK = ANVILS["block"]
assert isinstance(BLOCK, dict)


@pytest.mark.parametrize(
    ("form", "head"),
    [
        (ANVILS, (2, START + 500, 875_629_517)),
        # anvil 0.3: numbers are JSON numbers, or all of them texts.
        (
            ANVILS | {"block": BLOCK | {"number": 2, "timestamp": START + 500}},
            (2, START + 500, 875_629_517),
        ),
        (
            _without(ANVILS, "historical_states")
            | {
                "block": {
                    "number": "0x2",
                    "coinbase": "0x" + "00" * 20,
                    "timestamp": hex(START + 500),
                    "gas_limit": "0x1c9c380",
                    "basefee": hex(875_629_517),
                },
                "best_block_number": "0x2",
            },
            (2, START + 500, 875_629_517),
        ),
        # anvil 0.1: the accounts alone, then with a block, without its blocks.
        ({"accounts": ANVILS["accounts"]}, (0, START, None)),
        ({"accounts": ANVILS["accounts"], "block": None}, (0, START, None)),
        (_without(ANVILS, "block"), (2, START + 2, None)),
        (
            {"accounts": ANVILS["accounts"], "block": {"number": 1, "timestamp": 1}},
            (1, START + 1, None),
        ),
    ],
)
def test_dumps_of_all_versions_of_anvil_are_loaded(
    node: Node, form: object, head: tuple[int, int, int | None]
) -> None:
    load(node, json.loads(json.dumps(form)))
    loaded = node.chain.head
    number, timestamp, base_fee_wei = head
    assert (loaded.block_number, loaded.timestamp) == (number, timestamp)
    assert base_fee_wei in {None, loaded.base_fee_per_gas}
    address = bytes.fromhex("5fbdb2315678afecb367f032d93f642f64180aa3")
    account = node.chain.account(address, [1])  # type: ignore[arg-type]
    assert account == GenesisAccount(balance_wei=5, nonce=1, code=b"\x01", storage={1: 42})


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (None, "not a state dump"),
        ({}, "state dump format None"),
        ({"format": "x"}, "state dump format 'x'"),
        ({"format": DUMP_FORMAT, "accounts": {}}, "state dump block None"),
        (ANVILS | {"block": 7}, "state dump block 7"),
        (ANVILS | {"block": BLOCK | {"number": 1.5}}, "block.number 1.5"),
        (ANVILS | {"block": BLOCK | {"number": True}}, "block.number True"),
        (ANVILS | {"block": BLOCK | {"timestamp": -1}}, "block.timestamp -1"),
        (ANVILS | {"block": BLOCK | {"basefee": "much"}}, "block.basefee 'much'"),
        (ANVILS | {"block": {"number": "0x2"}}, "block.timestamp None"),
        (ANVILS | {"block": {"number": "two", "timestamp": "0x1"}}, "block.number 'two'"),
        (
            ANVILS | {"block": {"number": hex(MAX_FILLED_BLOCKS + 1), "timestamp": "0x1"}},
            "mine blocks first",
        ),
        (ANVILS | {"accounts": {"0x12": {}}}, "not in the format of anvil_dumpState"),
    ],
)
def test_what_is_no_dump_is_refused(node: Node, form: object, message: str) -> None:
    before = dump(node)
    with pytest.raises(ConfigError, match=message):
        load(node, form)
    assert dump(node) == before

"""web3.py's own module tests need contracts, blocks and an account: here they are.

All of it is made once for a file; each test begins at the same snapshot. Tests of transactions that
wait are run with mining by hand, all others with a block for each transaction.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.forking import open_fork
from pyevm_agents.node import DEFAULT_MNEMONIC, Keys, MiningMode, Node
from pyevm_agents.node.keys import derive_keys
from pyevm_agents.rpc.methods.registry import build_node_service
from tests.conformance.web3.not_here import NOT_HERE
from tests.pyevm_agents.forking.forked_node import build_config
from tests.serving import serve_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from web3 import AsyncWeb3, Web3

    from pyevm_agents.rpc.service import NodeService

CHAIN_ID = 131_277_322_940_537
"""What the tests expect: that of their geth."""

KEYFILE_KEY = PrivateKey(b"\x42" * 32)
ETHER = 10**18

MINED_BY_HAND = ("replace_transaction", "modify_transaction", "receipt_unmined")
"""Parts of the names of tests of transactions that wait."""

MINED_AT_ONCE = ("already_mined",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect failures of tests that need features outside the scope of this node."""
    for item in items:
        if "tests/conformance/web3/" not in item.path.as_posix() or item.parent is None:
            continue
        name = f"{item.parent.name}::{item.name}".replace("[fork-", "[").replace("[own-", "[")
        for known in (name, name.split("[", maxsplit=1)[0], item.parent.name):
            if known in NOT_HERE:
                item.add_marker(pytest.mark.xfail(reason=NOT_HERE[known], strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A node with everything that the tests need."""

    node: Node
    service: NodeService
    contracts: dict[str, Any]
    """Address by name."""

    blocks: dict[str, Any]
    """Hash by name."""

    transactions: dict[str, Any]
    """Hash by name."""


@pytest.fixture(scope="module", params=["own", pytest.param("fork", marks=pytest.mark.slow)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """A chain with everything that the tests need, or a fork of that chain's head."""
    with closing(_build_node()) as node:
        world = _filled(node, build_node_service(node, send_seconds=240))
        if request.param == "own":
            yield world
            return
        with serve_in_thread(world.service) as url, closing(open_fork(url, retries=0)) as fork:
            chain = Chain(build_config(fork), fork=fork)
            with closing(Node(chain, now=time.time, keys=_build_keys())) as forked:
                service = build_node_service(forked, send_seconds=240)
                yield replace(world, node=forked, service=service)


def _build_keys() -> Keys:
    return Keys([*derive_keys(DEFAULT_MNEMONIC, 3), KEYFILE_KEY])


def _build_node() -> Node:
    keys = _build_keys()
    accounts = {one: GenesisAccount(balance_wei=10_000 * ETHER) for one in keys.addresses}
    chain = Chain(ChainConfig(chain_id=CHAIN_ID, base_fee_wei=10**8), accounts=accounts)
    return Node(chain, now=time.time, keys=keys)


def _filled(node: Node, service: NodeService) -> World:
    w3 = _module("web3").Web3(_module("pyevm_agents.rpc.web3_provider").AgentProvider(service))
    sender = w3.eth.accounts[0]
    contracts = {}
    transactions: dict[str, Any] = {}
    for name, data in _sources().items():
        transactions[name] = w3.eth.contract(**data).constructor().transact({"from": sender})
        contracts[name] = w3.eth.get_transaction_receipt(transactions[name])["contractAddress"]
    emitter = w3.eth.contract(contracts["emitter"], abi=_sources()["emitter"]["abi"])
    transactions["with_log"] = emitter.functions.logDouble(
        which=_emitter_events()["LogDoubleWithIndex"], arg0=12_345, arg1=54_321
    ).transact({"from": sender})
    transactions["mined"] = w3.eth.send_transaction({"from": sender, "to": sender, "value": 1})
    blocks = {
        name: w3.eth.get_transaction_receipt(transactions[name])["blockHash"]
        for name in ("with_log", "mined")
    }
    node.submit_change(node.mine).result()
    blocks["empty"] = w3.eth.get_block("latest")["hash"]
    return World(
        node=node, service=service, contracts=contracts, blocks=blocks, transactions=transactions
    )


SOURCES = "web3._utils.contract_sources.contract_data"


def _module(name: str) -> Any:  # noqa: ANN401 - a module that is not there without web3.py
    return import_module(name)


def _sources() -> dict[str, Any]:
    modules = {
        "math": "math_contract",
        "emitter": "emitter_contract",
        "revert": "revert_contract",
        "storage": "storage_contract",
        "panic_errors": "panic_errors_contract",
        "offchain_lookup": "offchain_lookup",
    }
    return {
        name: getattr(_module(f"{SOURCES}.{module}"), f"{module.upper()}_DATA")
        for name, module in modules.items()
    }


def _emitter_events() -> dict[str, int]:
    return dict(_module(f"{SOURCES}._custom_contract_data").EMITTER_ENUM)


@pytest.fixture(autouse=True)
def _from_the_same_state(world: World, request: pytest.FixtureRequest) -> Iterator[None]:
    name = request.node.name
    by_hand = any(part in name for part in MINED_BY_HAND)
    by_hand = by_hand and not any(part in name for part in MINED_AT_ONCE)
    node = world.node
    snapshot = node.submit_change(node.history.snapshot).result()
    # Who waits for new heads is to get some.
    seconds = 0.2 if request.path.stem == "test_persistent" else 0.0
    mining = MiningMode(is_automatic=not by_hand, interval_seconds=seconds)
    node.submit_change(lambda: node.set_mining(mining)).result()
    yield
    node.submit_change(lambda: node.set_mining(MiningMode())).result()
    node.submit_change(lambda: node.history.revert(snapshot)).result()


# -- synchronous -- #


@pytest.fixture
def w3(world: World) -> Web3:
    made: Web3 = _module("web3").Web3(
        _module("pyevm_agents.rpc.web3_provider").AgentProvider(world.service)
    )
    made.eth.default_account = made.eth.accounts[0]
    return made


@pytest.fixture(scope="module", params=["text", "bytes"])
def address_conversion_func(request: pytest.FixtureRequest) -> Callable[[str], str | bytes]:
    """Run the tests that use it twice: web3.py takes addresses as text and as bytes."""
    return str if request.param == "text" else _as_bytes


def _as_bytes(address: str) -> bytes:
    return bytes.fromhex(address.removeprefix("0x"))


@pytest.fixture
def request_mocker() -> Any:  # noqa: ANN401 - web3's
    return _module("web3._utils.module_testing.utils").RequestMocker


@pytest.fixture
def skip_if_testrpc() -> Callable[[object], None]:
    return lambda _: None


@pytest.fixture
def datadir() -> str:
    return "nowhere"


@pytest.fixture
def async_skip_if_testrpc() -> Callable[[object], None]:
    return lambda _: None


@pytest.fixture
def keyfile_account_pkey() -> str:
    return "0x" + KEYFILE_KEY.to_bytes().hex()


@pytest.fixture
def keyfile_account_address() -> str:
    return str(KEYFILE_KEY.public_key.to_checksum_address())


@pytest.fixture
def keyfile_account_address_dual_type(
    keyfile_account_address: str, address_conversion_func: Callable[[str], Any]
) -> Any:  # noqa: ANN401 - text or bytes
    return address_conversion_func(keyfile_account_address)


async_keyfile_account_address = keyfile_account_address
async_keyfile_account_address_dual_type = keyfile_account_address_dual_type


def _contract(name: str) -> Any:  # noqa: ANN401 - a fixture
    def fixture(world: World, w3: Web3) -> Any:  # noqa: ANN401 - web3's
        return w3.eth.contract(world.contracts[name], abi=_sources()[name]["abi"])

    return pytest.fixture(fixture, name=f"{name}_contract")


def _async_contract(name: str) -> Any:  # noqa: ANN401 - a fixture
    def fixture(world: World, async_w3: AsyncWeb3[Any]) -> Any:  # noqa: ANN401 - web3's
        return async_w3.eth.contract(world.contracts[name], abi=_sources()[name]["abi"])

    return pytest.fixture(fixture, name=f"async_{name}_contract")


math_contract, async_math_contract = _contract("math"), _async_contract("math")
emitter_contract, async_emitter_contract = _contract("emitter"), _async_contract("emitter")
revert_contract, async_revert_contract = _contract("revert"), _async_contract("revert")
storage_contract, async_storage_contract = _contract("storage"), _async_contract("storage")
panic_contract, async_panic_contract = _contract("panic_errors"), _async_contract("panic_errors")
lookup, async_lookup = _contract("offchain_lookup"), _async_contract("offchain_lookup")


def _address(name: str, prefix: str) -> Any:  # noqa: ANN401 - a fixture
    def fixture(world: World, address_conversion_func: Callable[[str], Any]) -> Any:  # noqa: ANN401 - text or bytes
        return address_conversion_func(str(world.contracts[name]))

    return pytest.fixture(fixture, name=f"{prefix}{name}_contract_address")


math_address, async_math_address = _address("math", ""), _address("math", "async_")
emitter_address, async_emitter_address = _address("emitter", ""), _address("emitter", "async_")


def _block(name: str, fixture_name: str) -> Any:  # noqa: ANN401 - a fixture
    def fixture(world: World, w3: Web3) -> Any:  # noqa: ANN401 - web3's
        return w3.eth.get_block(world.blocks[name])

    return pytest.fixture(fixture, name=fixture_name)


empty, async_empty = _block("empty", "empty_block"), _block("empty", "async_empty_block")
mined = _block("mined", "block_with_txn")
async_mined = _block("mined", "async_block_with_txn")
with_log = _block("with_log", "block_with_txn_with_log")
async_with_log = _block("with_log", "async_block_with_txn_with_log")


@pytest.fixture
def mined_txn_hash(world: World) -> Any:  # noqa: ANN401 - web3's
    return world.transactions["mined"]


@pytest.fixture
def txn_hash_with_log(world: World) -> Any:  # noqa: ANN401 - web3's
    return world.transactions["with_log"]


@pytest.fixture
def math_contract_deploy_txn_hash(world: World) -> Any:  # noqa: ANN401 - web3's
    return world.transactions["math"]


# -- asynchronous -- #


@pytest.fixture
def async_w3(world: World) -> AsyncWeb3[Any]:
    provider = _module("pyevm_agents.rpc.web3_provider").AsyncAgentProvider(world.service)
    made: AsyncWeb3[Any] = _module("web3").AsyncWeb3(provider)
    return made

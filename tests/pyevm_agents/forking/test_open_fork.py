"""Opening a fork block: what a remote may do, and the outcome of each."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest
from eth_typing import Address

from pyevm_agents.client.json_rpc import MAX_BATCH
from pyevm_agents.errors import ConfigError, RemoteFault
from pyevm_agents.forking import RemoteFork, open_fork, state_reader
from pyevm_agents.forking.cache import AnswerCache
from pyevm_agents.forking.state_reader import ACCOUNTS_IN_BATCH, SLOTS_IN_BATCH
from pyevm_agents.state.remote_state import RemoteAccount
from tests.pyevm_agents.forking.fake_remote import (
    CODE,
    CONTRACT,
    STORED,
    FakeRemote,
    other_hash,
)
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STRANGER = Address(b"\x99" * 20)
CONTRACT_ACCOUNT = RemoteAccount(nonce=0, balance_wei=0, code=CODE)
NAMED = ("S3CR3T-KEY", "T0KEN-VALUE")


def open_remote(remote: FakeRemote, folder: Path | None = None, **told: Any) -> RemoteFork:  # noqa: ANN401 - open_fork's
    """Open a fork without retries, unless a test gives their number."""
    return open_fork(remote.url, cache_folder=folder, **{"retries": 0, **told})


def read_everything(fork: RemoteFork) -> tuple[object, ...]:
    """Read an account with a key, a contract, a slot of it, and a missing account."""
    state = fork.state
    return (
        state.get_account(ADDRESSES[0]),
        state.get_account(CONTRACT),
        state.get_slot(CONTRACT, 7),
        state.get_slot(CONTRACT, 8),
        state.get_account(STRANGER),
        state.get_block_hash(0),
    )


def expected_state(remote: FakeRemote) -> tuple[object, ...]:
    """Return the same from the remote's own chain."""
    chain = remote.served.node.chain
    first = ADDRESSES[0]
    owner = RemoteAccount(chain.nonce(first), chain.balance(first), b"")
    return (owner, CONTRACT_ACCOUNT, STORED, 0, None, bytes(chain.genesis_hash))


def fault_of(fork: RemoteFork, address: Address = CONTRACT) -> str:
    """Return the message of the fault that a read of an account ends in."""
    with pytest.raises(RemoteFault) as raised:
        fork.state.get_account(address)
    return no_secrets(str(raised.value))


def no_secrets(message: str) -> str:
    assert not any(secret in message for secret in NAMED), message
    return message


def test_state_and_header_are_the_remotes(remote: FakeRemote) -> None:
    fork = open_remote(remote)
    chain = remote.served.node.chain
    assert fork.header.hash == chain.head.hash == fork.origin.block_hash
    assert fork.header == chain.head
    assert (fork.origin.chain_id, fork.origin.block_number) == (31_337, 3)
    assert read_everything(fork) == expected_state(remote)
    assert fork.is_verified
    fork.close()


def test_an_earlier_block_has_its_own_state(remote: FakeRemote) -> None:
    fork = open_remote(remote, block_number=1)
    assert fork.state.get_slot(CONTRACT, 7) == 0
    assert fork.state.get_block_hash(1) == fork.header.hash
    with pytest.raises(ValueError, match="block 2: must be one of the 256 below 1"):
        fork.state.get_block_hash(2)
    fork.close()


def test_an_account_and_its_code_are_one_round_trip(remote: FakeRemote) -> None:
    fork = open_remote(remote)
    remote.forget()
    fork.state.get_account(CONTRACT)
    assert remote.asked == [["eth_getProof", "eth_getCode"]]
    fork.state.get_account(CONTRACT)
    assert len(remote.asked) == 1
    fork.close()


@pytest.mark.parametrize("has_proofs", [True, False])
def test_many_accounts_and_slots_are_few_round_trips(remote: FakeRemote, has_proofs: bool) -> None:
    remote.faults.has_proofs = has_proofs
    fork = open_remote(remote)
    remote.forget()
    accounts = [CONTRACT, *ADDRESSES, *(Address(bytes([each]) * 20) for each in range(80, 100))]
    slots = [*((CONTRACT, slot) for slot in range(100)), (STRANGER, 5)]
    fork.state.prefetch([*accounts, *accounts], [*slots, *slots])
    posts = len(remote.asked)
    assert posts == -(-len(accounts) // ACCOUNTS_IN_BATCH) + -(-100 // SLOTS_IN_BATCH) + 1
    assert max(map(len, remote.asked)) <= MAX_BATCH
    fork.state.prefetch(accounts, slots)
    chain = remote.served.node.chain
    for address in accounts:
        account = fork.state.get_account(address)
        expected = (chain.nonce(address), chain.balance(address))
        assert ((0, 0) if account is None else account[:2]) == expected
    assert fork.state.get_account(CONTRACT) == CONTRACT_ACCOUNT
    assert [fork.state.get_slot(*each) for each in slots] == [
        STORED if each == (CONTRACT, 7) else 0 for each in slots
    ]
    assert len(remote.asked) == posts
    fork.close()


def test_a_lie_among_many_slots_is_found(remote: FakeRemote) -> None:
    fork = open_remote(remote)

    def lie(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        if method != "eth_getProof":
            return result
        return result | {"storageProof": [*result["storageProof"][:-1], {"proof": []}]}

    remote.faults.change_result = lie
    with pytest.raises(RemoteFault, match="does not fit the state root"):
        fork.state.prefetch([], [(CONTRACT, 7), (CONTRACT, 8)])
    remote.faults.change_result = lambda _method, result: result
    assert fork.state.get_slot(CONTRACT, 7) == STORED
    fork.close()


def test_a_long_result_is_kept(remote: FakeRemote, folder: Path) -> None:
    receipts = ["0x" + "7" * 2**20] * 3
    remote.faults.change_result = lambda method, result: (
        receipts if method == "eth_getBlockReceipts" else result
    )
    fork = open_remote(remote, folder)
    assert fork.request_lasting("eth_getBlockReceipts", ["0x1"]) == receipts
    fork.close()
    remote.faults.error = {"code": -32000, "message": "out of order"}
    fork = open_remote(remote, folder, block_number=3)
    assert fork.request_lasting("eth_getBlockReceipts", ["0x1"]) == receipts
    fork.close()


def test_without_proofs_plain_values_are_read(remote: FakeRemote) -> None:
    remote.faults.has_proofs = False
    fork = open_remote(remote)
    assert not fork.is_verified
    remote.forget()
    assert read_everything(fork) == expected_state(remote)
    assert remote.asked[0] == ["eth_getTransactionCount", "eth_getBalance", "eth_getCode"]
    assert "eth_getProof" not in remote.methods
    fork.close()


def test_proofs_that_end_while_the_fork_is_open_are_replaced_by_plain_values(
    remote: FakeRemote,
) -> None:
    fork = open_remote(remote)
    remote.faults.has_proofs = False
    assert read_everything(fork) == expected_state(remote)
    assert not fork.is_verified
    fork.close()


def test_without_batches_each_value_is_read_alone(remote: FakeRemote) -> None:
    remote.faults.has_batches = False
    fork = open_remote(remote)
    assert read_everything(fork) == expected_state(remote)
    remote.forget()
    fork.state.get_account(Address(b"\x98" * 20))
    assert remote.asked == [["eth_getProof"], ["eth_getCode"]]
    fork.close()


def test_a_remote_that_takes_no_hashes_is_asked_by_number(remote: FakeRemote) -> None:
    remote.faults.takes_hashes = False
    fork = open_remote(remote)
    remote.forget()
    assert read_everything(fork) == expected_state(remote)
    assert remote.asked[0] == ["eth_getProof", "eth_getCode", "eth_getBlockByNumber"]
    fork.close()


def test_a_fork_block_that_was_reorganized_is_a_fault(remote: FakeRemote, folder: Path) -> None:
    remote.faults.takes_hashes = False
    fork = open_remote(remote, folder, block_number=3)
    fork.state.get_account(ADDRESSES[0])

    def reorganize(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        return result | {"hash": other_hash(result["hash"])} if "BlockBy" in method else result

    remote.faults.change_result = reorganize
    message = fault_of(fork)
    assert "block 3 was reorganized" in message
    assert "fork again, at an older block" in message
    fork.close()
    # The cache does not name the old block any more: a new fork asks the remote.
    remote.faults.change_result = lambda _method, result: result
    remote.forget()
    open_remote(remote, folder, block_number=3).close()
    assert "eth_getBlockByNumber" in remote.methods


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32000, "message": "header for hash not found: header not found"},
        {"code": -32001, "message": "Resource not found"},
    ],
    ids=["geth", "anvil"],
)
def test_a_node_without_the_block_of_the_hash_was_reorganized(
    remote: FakeRemote, error: dict[str, object]
) -> None:
    fork = open_remote(remote)
    remote.faults.pruned_error = error

    def reorganize(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        return None if "BlockBy" in method else result

    remote.faults.change_result = reorganize
    remote.faults.is_pruned = True
    assert "block 3 was reorganized: it had the hash 0x" in fault_of(fork)
    fork.close()


def test_a_remote_that_pruned_the_state_is_no_archive(remote: FakeRemote) -> None:
    fork = open_remote(remote)
    remote.faults.is_pruned = True
    message = fault_of(fork)
    assert "it has no state of block 3 (missing trie node" in message
    assert "pass the URL of an archive node" in message
    fork.close()
    with pytest.raises(RemoteFault, match="no archive node"):
        open_remote(remote)


def test_a_block_with_another_hash_is_refused(remote: FakeRemote) -> None:
    def lie(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        return result | {"gasUsed": "0x1"} if method == "eth_getBlockByNumber" else result

    remote.faults.change_result = lie
    with pytest.raises(RemoteFault, match=r"it states the hash 0x.*, and its header has 0x"):
        open_remote(remote)


LIES: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "code": ("eth_getCode", lambda _: "0x00", "its code is not that of the code hash"),
    "short": (
        *("eth_getProof", lambda x: x | {"accountProof": x["accountProof"][:-1]}),
        "is missing in it",
    ),
    "other nodes": ("eth_getProof", lambda x: x | {"accountProof": ["0x00"]}, "is missing in it"),
    "no nodes": ("eth_getProof", lambda x: x | {"accountProof": 5}, "not those of a trie"),
    "empty": ("eth_getProof", lambda _: {}, "it has no accountProof"),
    "null": ("eth_getProof", lambda _: None, "it has no accountProof"),
}
"""A method, what the remote makes of its result, and the problem that is named."""


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_an_account_is_found(remote: FakeRemote, name: str) -> None:
    fork = open_remote(remote)
    method, change, problem = LIES[name]

    def lie(asked: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        return change(result) if asked == method else result

    remote.faults.change_result = lie
    message = fault_of(fork)
    assert "does not fit the state root of block 3" in message
    assert problem in message
    assert "changed without a block has to mine one first" in message
    fork.close()


@pytest.mark.parametrize("lies", [1, 3])
def test_answers_while_the_remote_mines_are_asked_for_again(remote: FakeRemote, lies: int) -> None:
    fork = open_remote(remote, retries=lies)
    left = {"account": lies, "slot": lies}

    def answer(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        if method != "eth_getProof":
            return result
        kind = "slot" if result["storageProof"] else "account"
        left[kind] -= 1
        return result if left[kind] < 0 else result | {"accountProof": ["0x00"]}

    remote.faults.change_result = answer
    assert fork.state.get_account(CONTRACT) == CONTRACT_ACCOUNT
    assert fork.state.get_slot(CONTRACT, 7) == STORED
    assert left == {"account": -1, "slot": -1}
    fork.close()


def test_an_answer_that_never_fits_is_asked_for_four_times_more(
    remote: FakeRemote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_reader, "UNFIT_DELAYS_SECONDS", (0.0, 0.0, 0.0, 0.0))
    fork = open_remote(remote, retries=5)
    remote.faults.change_result = lambda method, x: {} if method == "eth_getProof" else x
    remote.forget()
    assert "it has no accountProof" in fault_of(fork)
    assert remote.methods.count("eth_getProof") == 5
    fork.close()


def test_a_remote_that_mines_while_it_is_probed_keeps_its_proofs(remote: FakeRemote) -> None:
    answers: Iterator[dict[str, object]] = iter([{}])
    remote.faults.change_result = lambda method, x: (
        next(answers, x) if method == "eth_getProof" else x
    )
    fork = open_remote(remote, retries=1)
    assert fork.is_verified
    fork.close()


def test_stated_values_beside_a_proof_are_not_read(remote: FakeRemote) -> None:
    fork = open_remote(remote)

    def lie(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        return result | {"balance": "0x1", "nonce": "0x9"} if method == "eth_getProof" else result

    remote.faults.change_result = lie
    assert fork.state.get_account(CONTRACT) == CONTRACT_ACCOUNT
    fork.close()


def test_a_lie_about_a_slot_is_found(remote: FakeRemote) -> None:
    fork = open_remote(remote)

    def lie(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        return result | {"storageProof": [{"proof": []}]} if method == "eth_getProof" else result

    remote.faults.change_result = lie
    with pytest.raises(RemoteFault, match="does not fit the state root"):
        fork.state.get_slot(CONTRACT, 7)
    fork.close()


def test_ancestors_have_to_be_a_chain(remote: FakeRemote) -> None:
    fork = open_remote(remote)
    genesis = remote.served.ask("eth_getBlockByNumber", "0x0", False)  # noqa: FBT003 - JSON-RPC

    def lie(method: str, result: Any) -> Any:  # noqa: ANN401 - JSON
        return genesis if method == "eth_getBlockByNumber" else result

    remote.faults.change_result = lie
    with pytest.raises(RemoteFault, match="block 2 is not the parent of block 3"):
        fork.state.get_block_hash(0)
    fork.close()


@pytest.mark.parametrize("result", [None, 5, "0xzz", "hello", "0x" + "1" * 65])
def test_a_value_that_is_no_number_is_a_fault(remote: FakeRemote, result: object) -> None:
    remote.faults.has_proofs = False
    fork = open_remote(remote)
    remote.faults.change_result = lambda _method, _result: result
    with pytest.raises(RemoteFault, match="eth_getStorageAt"):
        fork.state.get_slot(CONTRACT, 7)
    fork.close()


def test_a_second_run_needs_no_remote(remote: FakeRemote, folder: Path) -> None:
    first = open_remote(remote, folder)
    wanted = read_everything(first)
    first.close()
    remote.forget()
    fork = open_remote(remote, folder, block_number=3)
    assert read_everything(fork) == wanted
    assert remote.asked == []
    fork.close()


def test_an_unreachable_remote_names_the_block_in_the_cache(
    remote: FakeRemote, folder: Path
) -> None:
    open_remote(remote, folder).close()
    remote.faults.statuses = [(503, {})]
    with pytest.raises(RemoteFault, match="block 3 is in the cache: --fork-block-number 3"):
        open_remote(remote, folder)


def test_a_deleted_cache_of_a_block_is_read_again(remote: FakeRemote, folder: Path) -> None:
    open_remote(remote, folder).close()
    [path] = folder.glob("31337-3-*.sqlite3")
    path.unlink()
    fork = open_remote(remote, folder, block_number=3)
    assert read_everything(fork) == expected_state(remote)
    fork.close()


def test_files_of_the_cache_are_private_and_have_no_url(remote: FakeRemote, folder: Path) -> None:
    fork = open_remote(remote, folder)
    read_everything(fork)
    files = sorted(folder.iterdir())
    assert len(files) >= 2
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert not any(secret.encode() in path.read_bytes() for secret in NAMED)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    fork.close()


def test_a_damaged_cache_is_a_clear_fault(remote: FakeRemote, folder: Path) -> None:
    open_remote(remote, folder).close()
    [path] = folder.glob("31337-3-*.sqlite3")
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(RemoteFault, match="file is not a database; delete it"):
        open_remote(remote, folder, block_number=3)
    path.unlink()
    with AnswerCacheOf(path) as cache:
        cache._connection.execute("PRAGMA user_version = 99")  # noqa: SLF001 - a later version
    with pytest.raises(RemoteFault, match="one of another version; delete it"):
        open_remote(remote, folder, block_number=3)


class AnswerCacheOf:
    """A cache, closed at the end of a context."""

    def __init__(self, path: Path) -> None:
        self._cache = AnswerCache(path)

    def __enter__(self) -> AnswerCache:
        return self._cache

    def __exit__(self, *_: object) -> None:
        self._cache.close()


def test_a_missing_block_is_named(remote: FakeRemote) -> None:
    with pytest.raises(RemoteFault, match="it has no block 99; pass the number"):
        open_remote(remote, block_number=99)


def test_the_stated_chain_id_has_to_be_the_remotes(remote: FakeRemote, folder: Path) -> None:
    open_remote(remote, folder, chain_id=31_337).close()
    for number in (None, 3):  # From the remote, and from the cache.
        with pytest.raises(ConfigError, match=r"fork chain id 5: the chain at .* has 31337"):
            open_remote(remote, folder, chain_id=5, block_number=number)


@pytest.mark.parametrize("number", [-(2**63), 2**63])
def test_the_block_number_has_63_bits(remote: FakeRemote, number: int) -> None:
    with pytest.raises(ConfigError, match=f"fork block number {number}: must be .* to {2**63 - 1}"):
        open_remote(remote, block_number=number)

"""A block that this process makes is the block, and the rows, of py-evm's import of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth.vm.forks.prague.constants import MAGIC
from eth.vm.forks.prague.transactions import Authorization
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from eth_utils import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import BlockSettings, Chain, GenesisAccount
from pyevm_agents.chain.database import MemoryRows, trace_key
from pyevm_agents.chain.transactions import (
    ACCESS_LIST_TYPE,
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    SET_CODE_TYPE,
    TransactionFields,
    build_impersonated,
    decode_transaction,
    is_impersonated,
    sign,
)
from pyevm_agents.config import ChainConfig
from pyevm_agents.vm import InvalidTransactionError
from tests.byte_model import PROFILE, ByteModel
from tests.golden.byte_chain import ANSWER, EXECUTOR
from tests.golden.consensus import encode_request
from tests.remote_chain import fork_head

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import BlockAPI, SignedTransactionAPI

    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.vm import ForkBlock, WatchedVM
    from pyevm_agents.vm.vm import OnTransaction

GWEI = 10**9
KEYS = tuple(PrivateKey(bytes([number]) * 32) for number in range(1, 5))
SENDERS = tuple(Address(key.public_key.to_canonical_address()) for key in KEYS)
LOGS = Address(b"\x51" * 20)
STORES = Address(b"\x52" * 20)
REVERTS = Address(b"\x53" * 20)
ENDS = Address(b"\x54" * 20)
pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT:DeprecationWarning")

CODES = {
    LOGS: bytes.fromhex("60203560013560003560406000a3604060006001602060406000a200"),
    STORES: bytes.fromhex("600035602035556000545000"),
    REVERTS: bytes.fromhex("6001600055600160006000a160206000fd"),
    ENDS: bytes.fromhex("33ff"),
}
"""Accounts with code: two logs with topics of the calldata; a slot set, to 0 as well; a slot and a
log undone; the balance sent to the caller (SELFDESTRUCT)."""

TOKEN = load_artifact("DemoToken")
COINBASE = Address(b"\xcb" * 20)


class ImportingChain(Chain):
    """A chain whose own blocks go py-evm's way: import, then search for gaps and a longer chain."""

    def _make_block(
        self,
        vm: WatchedVM,
        transactions: Sequence[SignedTransactionAPI],
        watch: OnTransaction | None = None,
    ) -> MinedBlock:
        vm.is_own_block = True
        block = vm.get_block().copy(transactions=transactions)
        return self._execute(vm, transactions, lambda: vm.import_block(block), watch)

    def _write_own_block(self, block: BlockAPI) -> None:
        self._chain.chaindb.persist_block(block)


@dataclass
class Twins:
    """Two chains with the same blocks: one makes its own way, one py-evm's."""

    config: ChainConfig
    fork: ForkBlock | None = None
    rows: tuple[MemoryRows, MemoryRows] = field(
        default_factory=lambda: (MemoryRows(), MemoryRows())
    )
    snapshots: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Open both chains, at genesis or where their rows end."""
        balance = GenesisAccount(balance_wei=10**30)
        accounts = dict.fromkeys(SENDERS, balance) | {
            at: GenesisAccount(code=code, nonce=1, balance_wei=1) for at, code in CODES.items()
        }
        self.own, self.reference = (
            kind(
                self.config,
                {
                    profile.name: ByteModel(lambda _: ANSWER, is_free=True)
                    for profile in self.config.models
                },
                accounts=accounts,
                rows=rows,
                fork=self.fork,
            )
            for kind, rows in zip((Chain, ImportingChain), self.rows, strict=True)
        )
        self.snapshots.clear()

    def on_both(self, change: Callable[[Chain], object]) -> object:
        """Change both chains in the same way; return the result, or the error that both raise."""
        results = []
        for chain in (self.own, self.reference):
            try:
                results.append(change(chain))
            except InvalidTransactionError as error:
                results.append((type(error), str(error)))
        assert results[0] == results[1]
        self.require_equal()
        return results[0]

    def mine_short(self, kind: str, seed: int) -> None:
        """Mine a transaction; on the own chain as a short one, if it is short."""
        transaction = Pool(self.own).make(kind, seed)
        spec = BlockSettings(timestamp_seconds=self.own.head.timestamp + 1)

        def work(chain: Chain) -> bytes:
            sent = _copy(chain, transaction)
            mined = chain.mine_if_short(sent, spec) if chain is self.own else None
            if mined is None:
                mined = chain.mine([sent], settings=spec)
            return mined.block.hash

        self.on_both(work)

    def mine(
        self,
        transactions: Sequence[SignedTransactionAPI],
        settings: BlockSettings | None = None,
        *,
        leaves_out: bool = False,
    ) -> None:
        """Mine a block of transactions on both; with `leaves_out`, of those that are valid."""
        timestamp = (settings or BlockSettings()).timestamp_seconds
        timestamp = self.own.head.timestamp + 1 if timestamp is None else timestamp
        spec = replace(settings or BlockSettings(), timestamp_seconds=timestamp)

        def work(chain: Chain) -> object:
            refused: list[tuple[bytes, str]] = []

            def refuse(transaction: SignedTransactionAPI, error: InvalidTransactionError) -> None:
                refused.append((transaction.hash, str(error)))

            copies = [_copy(chain, transaction) for transaction in transactions]
            mined = chain.mine(copies, settings=spec, on_refusal=refuse if leaves_out else None)
            witness = mined.witness
            return (
                mined.block.hash,
                rlp.encode(mined.block),
                [receipt.encode() for receipt in mined.receipts],
                [transaction.sender for transaction in mined.block.transactions],
                [computation.output for computation in mined.computations],
                sorted(witness.accounts_queried),
                witness.total_slots_queried,
                refused,
            )

        self.on_both(work)

    def require_equal(self) -> None:
        """Require the same head, and the same rows but for how long generations took."""
        assert self.own.head.hash == self.reference.head.hash
        mine, theirs = (dict(rows.list_rows(b"")) for rows in self.rows)
        assert mine.keys() == theirs.keys()
        timed = {key for key in mine if key.startswith(trace_key(b""))}
        assert {key: mine[key] for key in mine if key not in timed} == {
            key: theirs[key] for key in theirs if key not in timed
        }


def _copy(chain: Chain, transaction: SignedTransactionAPI) -> SignedTransactionAPI:
    """Return a transaction as a chain receives it; one that nobody signed is passed on."""
    if is_impersonated(transaction):
        return transaction
    return decode_transaction(transaction.encode(), chain.transaction_builder)


# -- transactions -- #


def _sign(chain: Chain, sender: int, nonce: int, **fields: Any) -> SignedTransactionAPI:  # noqa: ANN401
    told: dict[str, Any] = {
        "kind": DYNAMIC_FEE_TYPE,
        "nonce": nonce,
        "gas": 100_000,
        "to": LOGS,
        "gas_price_wei": 3 * GWEI,
        "max_fee_wei": 3 * GWEI,
        "max_priority_fee_wei": GWEI,
        "max_blob_fee_wei": GWEI,
    }
    return sign(
        TransactionFields(**(told | fields)),
        KEYS[sender],
        chain.config.chain_id,
        chain.fork.builder,
    )


def _authorize(chain: Chain, nonce: int, signer: int = 3) -> Authorization:
    chain_id = chain.config.chain_id
    message = MAGIC + rlp.encode([chain_id, LOGS, nonce])
    y_parity, r, s = KEYS[signer].sign_msg(message).vrs
    return Authorization(chain_id, LOGS, nonce, y_parity, r, s)


def _describe(kind: str, chain: Chain, seed: int) -> dict[str, Any]:
    """Return the fields of a transaction of a kind; the number makes two of a kind different."""
    words = _word(seed) * 3
    kinds: dict[str, dict[str, Any]] = {
        "transfer": {"to": _address(seed), "gas": 21_000, "value_wei": seed},
        "empty account": {"to": _address(1_000 + seed), "gas": 21_000},
        "legacy": {"kind": LEGACY_TYPE, "data": words},
        "access list": {
            "kind": ACCESS_LIST_TYPE,
            "to": STORES,
            "data": _word(seed) + _word(seed % 2),
            "access_list": ((STORES, (seed % 4,)), (LOGS, ())),
        },
        "empty access list": {"kind": ACCESS_LIST_TYPE, "data": words},
        "logs": {"data": words},
        "store": {"to": STORES, "data": _word(seed % 4) + _word(seed % 3)},
        "revert": {"to": REVERTS},
        "out of gas": {"to": STORES, "data": _word(seed) + _word(1), "gas": 22_500},
        "end": {"to": ENDS},
        "creation": {
            "to": None,
            "gas": 2_000_000,
            "data": TOKEN.encode_creation(f"Token {seed}", "T", 6, 10**30),
        },
        "failed creation": {"to": None, "data": b"\xfe", "gas": 60_000},
        "agent": {
            "to": EXECUTOR,
            "gas": 3_000_000,
            "data": encode_request(prompt=f"Ask {seed}"),
        },
        "blob": {"kind": BLOB_TYPE, "blob_hashes": (b"\x01" + keccak(_word(seed))[1:],)},
        "authorization": {
            "kind": SET_CODE_TYPE,
            "gas": 200_000,
            "to": SENDERS[3],
            "data": words,
            "authorizations": (
                _authorize(chain, seed % 3),
                _authorize(chain, chain.nonce(SENDERS[3])),
            ),
        },
    }
    return kinds[kind]


KINDS = (
    *("transfer", "empty account", "legacy", "access list", "empty access list", "logs", "store"),
    *("revert", "out of gas", "end", "creation", "failed creation", "agent", "blob"),
    "authorization",
)

IMPERSONATED = "impersonated"
BAD_NONCE = "bad nonce"


def _address(seed: int) -> Address:
    return Address(keccak(_word(seed))[:20])


def _word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _list_kinds(config: ChainConfig) -> list[str]:
    """Return the kinds that a chain's fork and models know."""
    without = {"authorization"} if config.fork == "cancun" else set()
    without |= set() if config.models else {"agent"}
    return [kind for kind in KINDS if kind not in without]


class Pool:
    """Signs transactions with the next nonces after a chain's head."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.nonces = [chain.nonce(sender) for sender in SENDERS]

    def make(self, kind: str, seed: int) -> SignedTransactionAPI:
        """Return a transaction of a kind. The fourth account delegates, and sends nothing."""
        sender = seed % 3
        nonce = self.nonces[sender]
        self.nonces[sender] += 1
        if kind == BAD_NONCE:
            return _sign(self.chain, sender, nonce + 7)
        if kind == IMPERSONATED:
            fields = TransactionFields(
                kind=DYNAMIC_FEE_TYPE, nonce=nonce, gas=50_000, to=LOGS, max_fee_wei=3 * GWEI
            )
            chain = self.chain
            return build_impersonated(
                fields, SENDERS[sender], chain.config.chain_id, chain.fork.builder
            )
        return _sign(self.chain, sender, nonce, **_describe(kind, self.chain, seed))


# -- chains -- #

HARDFORKS = ("cancun", "prague", "osaka", "bpo2")


def _open_twins(hardfork: str, *, is_fork: bool = False, has_model: bool = True) -> Twins:
    profiles = (PROFILE,) if has_model else ()
    config = ChainConfig(models=profiles, fork=hardfork)
    if not is_fork:
        return Twins(config)
    remote = Chain(
        replace(config, models=()),
        accounts=dict.fromkeys(SENDERS, GenesisAccount(balance_wei=10**30)),
    )
    for _ in range(3):
        remote.mine([_sign(remote, 0, remote.nonce(SENDERS[0]))])
    block = fork_head(remote)
    return Twins(replace(config, origin=block.origin), fork=block)


SETTINGS = {
    "coinbase": BlockSettings(coinbase=COINBASE),
    "base fee": BlockSettings(base_fee_wei=GWEI // 2),
    "gas": BlockSettings(gas_limit=1_000_000),
    "randao": BlockSettings(prev_randao=b"\x77" * 32),
    "root": BlockSettings(parent_beacon_root=b"\x78" * 32),
}


ACTIONS = st.one_of(
    st.tuples(st.just("mine"), st.lists(st.sampled_from([*KINDS, IMPERSONATED]), max_size=6)),
    st.tuples(st.just("mine valid"), st.lists(st.sampled_from([*KINDS, BAD_NONCE]), max_size=6)),
    st.tuples(st.just("mine short"), st.sampled_from(KINDS)),
    st.tuples(st.just("set"), st.sampled_from([*SETTINGS, "time"])),
    st.tuples(
        st.sampled_from(["snapshot", "revert", "rollback", "restart", "patch"]), st.integers(0, 3)
    ),
)  # fmt: skip


def _act(twins: Twins, action: str, told: Any, seed: int) -> None:  # noqa: ANN401
    chain = twins.own
    if action in {"mine", "mine valid"}:
        pool, kinds = Pool(chain), _list_kinds(chain.config)
        wanted = [kind for kind in told if kind not in KINDS or kind in kinds]
        made = [pool.make(kind, seed + index) for index, kind in enumerate(wanted)]
        twins.mine(made, leaves_out=action == "mine valid")
    elif action == "mine short":
        if told in _list_kinds(chain.config):
            twins.mine_short(told, seed)
    elif action == "set":
        later = BlockSettings(timestamp_seconds=chain.head.timestamp + 1_000)
        made = [Pool(chain).make("logs", seed)]
        twins.mine(made, SETTINGS.get(told, later))
    else:
        _move(twins, action, told, seed)
    twins.require_equal()


def _move(twins: Twins, action: str, told: int, seed: int) -> None:
    """Take a snapshot, go back, start again, or set a balance."""
    chain = twins.own
    if action == "snapshot":
        twins.snapshots.append(int(str(twins.on_both(Chain.snapshot))))
    elif action == "revert" and twins.snapshots:
        number = twins.snapshots[told % len(twins.snapshots)]
        twins.snapshots = [each for each in twins.snapshots if each < number]
        twins.on_both(lambda each: each.revert(number))
    elif action == "rollback":
        least = max(chain.first_number, chain.head.block_number - told)
        twins.on_both(lambda each: each.rollback(least))
    elif action == "restart":
        twins.open()
    elif action == "patch":
        twins.on_both(
            lambda each: each.patch_state(lambda state: state.set_balance(_address(told), seed))
        )


@settings(max_examples=12)
@given(
    hardfork=st.sampled_from(HARDFORKS),
    is_fork=st.booleans(),
    actions=st.lists(ACTIONS, min_size=4, max_size=16),
)
def test_own_blocks_are_those_of_an_import_through_reorganizations_and_restarts(
    hardfork: str, is_fork: bool, actions: list[tuple[str, Any]]
) -> None:
    twins = _open_twins(hardfork, is_fork=is_fork)
    for seed, (action, told) in enumerate(actions):
        _act(twins, action, told, 10 * seed)


def _mine_all_kinds(twins: Twins, count: int) -> None:
    """Mine a number of transactions of all kinds, one to eight in a block, with empty blocks."""
    kinds, made = _list_kinds(twins.config), 0
    for seed, kind in enumerate(kinds):
        twins.mine_short(kind, seed)
    while made < count:
        pool, size = Pool(twins.own), made % 9
        twins.mine([pool.make(kinds[(made + at) % len(kinds)], made + at) for at in range(size)])
        made += max(size, 1)
    headers = twins.own.headers(twins.own.first_number + 1, twins.own.head.block_number)
    blocks = [twins.own.block_with_receipts(header) for header in headers]
    statuses = {receipt.state_root for block in blocks for receipt in block.receipts}
    assert statuses == {b"", b"\x01"}
    assert any(trace_key(b"") in key for key in dict(twins.rows[0].list_rows(b"")))
    assert any(not block.receipts for block in blocks)


@pytest.mark.parametrize(
    "count", [80, pytest.param(550, marks=pytest.mark.slow)], ids=["few", "many"]
)
@pytest.mark.parametrize("is_fork", [False, True], ids=["own", "fork"])
@pytest.mark.parametrize("hardfork", ["cancun", "osaka"])
def test_transactions_of_all_kinds(hardfork: str, is_fork: bool, count: int) -> None:
    _mine_all_kinds(_open_twins(hardfork, is_fork=is_fork), count)


@pytest.mark.parametrize("hardfork", HARDFORKS)
def test_another_chain_imports_every_block_to_the_same_rows(hardfork: str) -> None:
    twins = _open_twins(hardfork)
    importer = _open_twins(hardfork)
    _mine_all_kinds(twins, 60)
    for number in range(1, twins.own.head.block_number + 1):
        importer.own.import_block(rlp.encode(twins.own.block(number)))
    timed = trace_key(b"")
    ours, theirs = (
        {key: row for key, row in each.rows[0].list_rows(b"") if not key.startswith(timed)}
        for each in (twins, importer)
    )
    assert ours == theirs

"""Transactions that no block may hold: refused alike by mining, an import and the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth.vm.forks.prague.constants import (
    CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
    DEPOSIT_CONTRACT_ADDRESS,
    DEPOSIT_EVENT_SIGNATURE_HASH,
    WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
)
from eth.vm.forks.prague.transactions import Authorization
from eth_typing import Address
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Call, Chain, ForeignRules, GenesisAccount
from pyevm_agents.chain.genesis import build_genesis_header
from pyevm_agents.chain.transactions import BLOB_TYPE, LEGACY_TYPE, SET_CODE_TYPE
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import BlockError
from pyevm_agents.node.txpool import PoolError
from pyevm_agents.node.validation import ValidationContext, require_admissible
from pyevm_agents.vm import (
    FORKS,
    BlockRefusal,
    InvalidBlockError,
    InvalidTransactionError,
    TransactionRefusal,
    intrinsic_gas,
)
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, CHAIN_ID, GWEI, NOBODY, transaction

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI

RICH = 10**18
CONTRACT, DELEGATED = ADDRESSES[2], ADDRESSES[3]
ACCOUNTS = {
    ADDRESSES[0]: GenesisAccount(balance_wei=RICH),
    ADDRESSES[1]: GenesisAccount(balance_wei=RICH, nonce=5),
    CONTRACT: GenesisAccount(balance_wei=RICH, code=b"\x00"),
    DELEGATED: GenesisAccount(balance_wei=RICH, code=b"\xef\x01\x00" + NOBODY),
}
ONE_WORD = 53_000 + 32 * 4 + 2
"""Intrinsic gas of a creation with 32 zero bytes of initcode."""

COST = 21_000 * 3 * GWEI
BLOB: dict[str, Any] = {
    "kind": BLOB_TYPE,
    "max_blob_fee_wei": GWEI,
    "blob_hashes": (b"\x01" * 32,),
}
SETTING: dict[str, Any] = {
    "kind": SET_CODE_TYPE,
    "gas": 200_000,
    "authorizations": (Authorization(CHAIN_ID, NOBODY, 0, 0, 1, 1),),
}

INVALID: dict[str, tuple[TransactionRefusal, SignedTransactionAPI]] = {
    "a creation without the gas of a word": (
        TransactionRefusal.INTRINSIC_GAS_TOO_LOW,
        transaction(to=None, data=bytes(32), gas=ONE_WORD - 1),
    ),
    "a creation without the gas of its last word": (
        TransactionRefusal.INTRINSIC_GAS_TOO_LOW,
        transaction(to=None, data=b"\x01" * 33, gas=53_000 + 33 * 16 + 3),
    ),
    "a legacy creation": (
        TransactionRefusal.INTRINSIC_GAS_TOO_LOW,
        transaction(kind=LEGACY_TYPE, to=None, data=bytes(32), gas=ONE_WORD - 1),
    ),
    "a call without the gas of its data": (
        TransactionRefusal.INTRINSIC_GAS_TOO_LOW,
        transaction(data=b"\x00", gas=21_003),
    ),
    "a call below the floor of its data": (
        TransactionRefusal.INTRINSIC_GAS_BELOW_FLOOR_GAS_COST,
        transaction(data=b"\x01" * 100, gas=21_000 + 100 * 40 - 1),
    ),
    "initcode beyond the limit": (
        TransactionRefusal.INITCODE_SIZE_EXCEEDED,
        transaction(to=None, data=bytes(49_153), gas=20_000_000),
    ),
    "a sender with code": (TransactionRefusal.SENDER_NOT_EOA, transaction(2)),
    "a sender with code, legacy": (
        TransactionRefusal.SENDER_NOT_EOA,
        transaction(2, kind=LEGACY_TYPE),
    ),
    "a sender with code, blobs": (TransactionRefusal.SENDER_NOT_EOA, transaction(2, **BLOB)),
    "a blob creation": (
        TransactionRefusal.TYPE_3_TX_CONTRACT_CREATION,
        transaction(to=None, **BLOB | {"gas": 100_000}),
    ),
    "no blobs": (
        TransactionRefusal.TYPE_3_TX_ZERO_BLOBS,
        transaction(**BLOB | {"blob_hashes": ()}),
    ),
    "a blob of another version": (
        TransactionRefusal.TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH,
        transaction(**BLOB | {"blob_hashes": (b"\x02" * 32,)}),
    ),
    "a blob fee below the block's": (
        TransactionRefusal.INSUFFICIENT_MAX_FEE_PER_BLOB_GAS,
        transaction(**BLOB | {"max_blob_fee_wei": 0}),
    ),
    "a creation that sets code": (
        TransactionRefusal.TYPE_4_TX_CONTRACT_CREATION,
        transaction(to=None, **SETTING),
    ),
    "no authorization": (
        TransactionRefusal.TYPE_4_EMPTY_AUTHORIZATION_LIST,
        transaction(**SETTING | {"authorizations": ()}),
    ),
    "a tip over the fee": (
        TransactionRefusal.PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS,
        transaction(max_fee_wei=2 * GWEI, max_priority_fee_wei=2 * GWEI + 1),
    ),
    "a tip over the fee, blobs": (
        TransactionRefusal.PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS,
        transaction(**BLOB, max_fee_wei=2 * GWEI, max_priority_fee_wei=2 * GWEI + 1),
    ),
    "a tip over the fee, setting code": (
        TransactionRefusal.PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS,
        transaction(**SETTING, max_fee_wei=2 * GWEI, max_priority_fee_wei=2 * GWEI + 1),
    ),
    "a fee below the base fee": (
        TransactionRefusal.INSUFFICIENT_MAX_FEE_PER_GAS,
        transaction(max_fee_wei=GWEI // 2, max_priority_fee_wei=0),
    ),
    "a balance below the highest cost": (
        TransactionRefusal.INSUFFICIENT_ACCOUNT_FUNDS,
        transaction(value_wei=RICH - COST + 1),
    ),
    "a balance for the price paid, not for the highest": (
        TransactionRefusal.INSUFFICIENT_ACCOUNT_FUNDS,
        transaction(value_wei=1, max_fee_wei=RICH // 21_000 + 1, max_priority_fee_wei=0),
    ),
    "a balance below the cost of blobs": (
        TransactionRefusal.INSUFFICIENT_ACCOUNT_FUNDS,
        transaction(**BLOB | {"max_blob_fee_wei": RICH}),
    ),
    "a nonce that is used": (TransactionRefusal.NONCE_MISMATCH_TOO_LOW, transaction(1, 4)),
    "the last nonce": (TransactionRefusal.NONCE_IS_MAX, transaction(0, 2**64 - 1)),
}


def make_chain() -> Chain:
    return Chain(ChainConfig(), accounts=ACCOUNTS)


@pytest.fixture(scope="module")
def chain() -> Chain:
    return make_chain()


def block_of(chain: Chain, *transactions: SignedTransactionAPI) -> bytes:
    """Return an encoded block of transactions, whose results it states wrongly."""
    header = chain.build_next_header()
    return bytes(rlp.encode(chain.build_unexecuted_block(transactions, header)))


def context_of(chain: Chain) -> ValidationContext:
    header = chain.build_next_header()
    return ValidationContext(
        chain_id=CHAIN_ID,
        fork=chain.fork,
        gas_limit=header.gas_limit,
        initcode_bytes=2 * chain.config.code_size_bytes,
        base_fee_wei=int(header.base_fee_per_gas or 0),
        blob_base_fee_wei=chain.fork.blob_base_fee(header),
        requires_base_fee=True,
    )


@pytest.mark.parametrize(("refusal", "one"), INVALID.values(), ids=INVALID)
def test_what_no_block_may_hold_is_refused_alike_everywhere(
    chain: Chain, refusal: TransactionRefusal, one: SignedTransactionAPI
) -> None:
    with pytest.raises(InvalidTransactionError) as mined:
        chain.mine([one])
    with pytest.raises(InvalidTransactionError) as imported:
        chain.import_block(block_of(chain, one))
    with pytest.raises(PoolError) as pooled:
        require_admissible(one, chain.state(), context_of(chain))
    assert (mined.value.refusal, imported.value.refusal) == (refusal, refusal)
    assert str(mined.value) == str(imported.value) == str(pooled.value)
    assert chain.head.block_number == 0


@pytest.mark.parametrize(
    "one",
    [
        transaction(to=None, data=bytes(32), gas=ONE_WORD),
        transaction(data=b"\x01" * 100, gas=21_000 + 100 * 40),
        transaction(3),
        transaction(**BLOB),
        transaction(**SETTING),
        transaction(max_fee_wei=2 * GWEI, max_priority_fee_wei=2 * GWEI),
        transaction(value_wei=RICH - COST),
        transaction(1, 5),
    ],
)
def test_what_is_just_valid_is_mined_and_imported(one: SignedTransactionAPI) -> None:
    mined = make_chain().mine([one])
    other = make_chain()
    other.import_block(rlp.encode(mined.block))
    assert other.head.hash == mined.block.hash


def test_a_nonce_may_follow_in_the_pool_alone(chain: Chain) -> None:
    later = transaction(0, 1)
    require_admissible(later, chain.state(), context_of(chain))
    with pytest.raises(InvalidTransactionError) as mined:
        chain.mine([later])
    assert mined.value.refusal is TransactionRefusal.NONCE_MISMATCH_TOO_HIGH


def test_a_block_holds_no_more_gas_than_its_limit(chain: Chain) -> None:
    half = chain.config.block_gas_limit // 2
    first, second = transaction(0, gas=21_000), transaction(1, 5, gas=2 * half - 20_999)
    with pytest.raises(InvalidTransactionError) as mined:
        chain.mine([first, second])
    assert mined.value.refusal is TransactionRefusal.GAS_ALLOWANCE_EXCEEDED


@pytest.mark.parametrize(
    ("fork", "counts", "refusal"),
    [
        ("prague", (6, 4), TransactionRefusal.TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED),
        ("prague", (10,), TransactionRefusal.TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED),
        ("osaka", (6, 4), TransactionRefusal.TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED),
        ("osaka", (10,), TransactionRefusal.TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED),
        ("osaka", (7,), TransactionRefusal.TYPE_3_TX_BLOB_COUNT_EXCEEDED),
        ("bpo1", (6, 6, 4), TransactionRefusal.TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED),
        ("prague", (9,), None),
        ("osaka", (6, 3), None),
        ("bpo1", (6, 6, 3), None),
    ],
)
def test_a_block_holds_no_more_blobs_than_its_fork_lets_it(
    fork: str, counts: tuple[int, ...], refusal: TransactionRefusal | None
) -> None:
    config = ChainConfig(fork=fork)
    chain, other = Chain(config, accounts=ACCOUNTS), Chain(config, accounts=ACCOUNTS)
    blobs = [
        transaction(0, nonce, **BLOB | {"blob_hashes": (b"\x01" * 32,) * count})
        for nonce, count in enumerate(counts)
    ]
    if refusal is None:
        other.import_block(rlp.encode(chain.mine(blobs).block))
        return
    with pytest.raises(InvalidTransactionError) as mined:
        chain.mine(blobs)
    with pytest.raises(InvalidTransactionError) as imported:
        other.import_block(block_of(other, *blobs))
    assert (mined.value.refusal, imported.value.refusal) == (refusal, refusal)


def test_osaka_bounds_the_gas_of_a_transaction() -> None:
    osaka = Chain(ChainConfig(fork="osaka"), accounts=ACCOUNTS)
    with pytest.raises(InvalidTransactionError) as mined:
        osaka.mine([transaction(gas=2**24 + 1, max_fee_wei=2 * GWEI)])
    assert mined.value.refusal is TransactionRefusal.GAS_LIMIT_EXCEEDS_MAXIMUM


def test_a_type_of_a_later_fork_is_no_block() -> None:
    cancun = Chain(ChainConfig(fork="cancun"), accounts=ACCOUNTS)
    header, _, *rest = rlp.decode(block_of(cancun))
    with pytest.raises(BlockError):
        cancun.import_block(rlp.encode([header, [transaction(**SETTING).encode()], *rest]))


@settings(max_examples=10, deadline=None)
@given(data=st.binary(max_size=200))
def test_an_estimate_of_a_creation_is_the_least_gas_that_is_valid_and_enough(data: bytes) -> None:
    chain = make_chain()
    code = b"\x00" + data  # Stops at once.
    call = Call(to=None, sender=ADDRESSES[0], data=code)
    gas = chain.estimate_gas(call)
    one = transaction(to=None, data=code, gas=gas, value_wei=0)
    assert gas == max(intrinsic_gas(one), chain.fork.rules.compute_floor_gas(one))
    with pytest.raises(InvalidTransactionError):
        chain.mine([transaction(to=None, data=code, gas=gas - 1, value_wei=0)])
    mined = chain.mine([one])
    assert mined.receipts[0].state_root == b"\x01"


# -- system contracts -- #

CONTRACTS = (WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS)
STOPS, FAILS, REVERTS = b"\x00", b"\xfe", b"\x5f\x5f\xfd"


def with_codes(codes: dict[Address, bytes]) -> Chain:
    accounts = {each: GenesisAccount(nonce=1, code=code) for each, code in codes.items()}
    return Chain(ChainConfig(), accounts={**ACCOUNTS, **accounts})


def requests_hash(chain: Chain) -> object:
    """Mine a block; return the hash of its requests."""
    return chain.mine().block.header.as_dict()["requests_hash"]


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("code", [FAILS, REVERTS, b"\x5b\x5f\x56"])
def test_a_system_contract_that_fails_makes_every_block_invalid(
    contract: Address, code: bytes
) -> None:
    chain = with_codes({contract: code})
    with pytest.raises(InvalidBlockError) as mined:
        chain.mine([transaction()])
    with pytest.raises(InvalidBlockError) as imported:
        chain.import_block(block_of(chain))
    refusal = BlockRefusal.SYSTEM_CONTRACT_CALL_FAILED
    assert (mined.value.refusal, imported.value.refusal) == (refusal, refusal)
    assert chain.head.block_number == 0


def test_what_a_system_contract_returns_is_a_request() -> None:
    plain = requests_hash(with_codes(dict.fromkeys(CONTRACTS, STOPS)))
    returns_a_byte = bytes.fromhex("60015ff3")  # return(0, 1)
    asked = requests_hash(with_codes({CONTRACTS[0]: returns_a_byte}))
    assert plain == requests_hash(make_chain())
    assert asked != plain


@pytest.mark.parametrize("fork", ["prague", "osaka"])
@pytest.mark.parametrize("missing", CONTRACTS)
def test_an_import_of_a_public_chains_block_needs_the_system_contracts(
    missing: Address, fork: str
) -> None:
    config = ChainConfig(fork=fork)
    rules = ForeignRules(
        forks=((0, FORKS[fork].vm_class),), genesis_header=build_genesis_header(config)
    )
    accounts = {each: GenesisAccount(nonce=1, code=STOPS) for each in CONTRACTS if each != missing}
    lacking = Chain(config, accounts=accounts, foreign=rules)
    with pytest.raises(InvalidBlockError) as imported:
        lacking.import_block(block_of(lacking))
    assert imported.value.refusal is BlockRefusal.SYSTEM_CONTRACT_EMPTY


@pytest.mark.parametrize("size", [0, 32, 576])
def test_a_deposit_of_another_layout_makes_a_block_invalid(size: int) -> None:
    topic = DEPOSIT_EVENT_SIGNATURE_HASH
    logs = b"\x7f" + topic + b"\x61" + size.to_bytes(2, "big") + b"\x5f\xa1\x00"
    chain = with_codes({Address(DEPOSIT_CONTRACT_ADDRESS): logs})
    with pytest.raises(InvalidBlockError) as mined:
        chain.mine([transaction(to=DEPOSIT_CONTRACT_ADDRESS, gas=100_000, value_wei=0)])
    assert mined.value.refusal is BlockRefusal.INVALID_DEPOSIT_EVENT_LAYOUT

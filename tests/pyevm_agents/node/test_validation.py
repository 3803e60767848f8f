"""Which transactions may wait, and geth's words for those that may not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth.vm.forks.prague.transactions import Authorization

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.transactions import (
    BLOB_TYPE,
    LEGACY_TYPE,
    SET_CODE_TYPE,
    TransactionFields,
    build_impersonated,
)
from pyevm_agents.config import ChainConfig
from pyevm_agents.node.txpool import PoolError
from pyevm_agents.node.validation import ValidationContext, require_admissible
from pyevm_agents.vm import PRAGUE
from tests.pyevm_agents.node.senders_of_tests import (
    ADDRESSES,
    CHAIN_ID,
    GWEI,
    NOBODY,
    transaction,
)

if TYPE_CHECKING:
    from eth.abc import SignedTransactionAPI

TERMS = ValidationContext(
    chain_id=CHAIN_ID,
    fork=PRAGUE,
    gas_limit=30_000_000,
    initcode_bytes=49_152,
    base_fee_wei=GWEI,
    blob_base_fee_wei=5,
    requires_base_fee=True,
)
RICH = GenesisAccount(balance_wei=10**18)
CONTRACT, DELEGATED = ADDRESSES[2], ADDRESSES[3]
ACCOUNTS = {
    ADDRESSES[0]: RICH,
    ADDRESSES[1]: replace(RICH, nonce=5),
    CONTRACT: replace(RICH, code=b"\x00"),
    DELEGATED: replace(RICH, code=b"\xef\x01\x00" + NOBODY),
}
BLOB_HASH = b"\x01" * 32


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain(ChainConfig(), accounts=ACCOUNTS)


def refused(chain: Chain, one: SignedTransactionAPI, terms: ValidationContext = TERMS) -> str:
    with pytest.raises(PoolError) as caught:
        require_admissible(one, chain.state(), terms)
    return str(caught.value)


def admitted(chain: Chain, one: SignedTransactionAPI, terms: ValidationContext = TERMS) -> None:
    require_admissible(one, chain.state(), terms)


def test_admits_what_a_block_takes_now_or_later(chain: Chain) -> None:
    admitted(chain, transaction())
    admitted(chain, transaction(kind=LEGACY_TYPE))
    admitted(chain, transaction(0, 7))
    admitted(chain, transaction(1, 5))
    admitted(chain, transaction(3))


def test_nonce_too_low(chain: Chain) -> None:
    assert refused(chain, transaction(1, 4)) == "nonce too low: next nonce 5, tx nonce 4"


def test_nonce_has_max_value(chain: Chain) -> None:
    assert refused(chain, transaction(0, 2**64 - 1)) == "nonce has max value"


def test_insufficient_funds(chain: Chain) -> None:
    cost = 21_000 * 3 * GWEI
    admitted(chain, transaction(value_wei=10**18 - cost))
    told = refused(chain, transaction(value_wei=10**18 - cost + 1))
    assert told.startswith("insufficient funds for gas * price + value: address 0x")
    assert told.endswith(f"have {10**18} want {10**18 + 1}")


def test_intrinsic_gas_and_the_floor_of_calldata(chain: Chain) -> None:
    assert (
        refused(chain, transaction(gas=20_999))
        == "intrinsic gas too low: gas 20999, minimum needed 21000"
    )
    floor = 21_000 + 40 * 1_000
    admitted(chain, transaction(data=b"\x01" * 1_000, gas=floor))
    told = refused(chain, transaction(data=b"\x01" * 1_000, gas=floor - 1))
    assert told.startswith("insufficient gas for floor data gas cost")


def test_block_gas_limit(chain: Chain) -> None:
    admitted(chain, transaction(gas=30_000_000))
    told = refused(chain, transaction(gas=30_000_001))
    assert told.startswith("exceeds block gas limit")


def test_fees(chain: Chain) -> None:
    told = refused(chain, transaction(max_fee_wei=GWEI, max_priority_fee_wei=GWEI + 1))
    assert told.startswith("max priority fee per gas higher than max fee per gas")
    low = transaction(max_fee_wei=GWEI - 1, max_priority_fee_wei=0)
    assert refused(chain, low).startswith("max fee per gas less than block base fee")
    admitted(chain, low, replace(TERMS, requires_base_fee=False))


def test_initcode_size(chain: Chain) -> None:
    most: dict[str, Any] = {"to": None, "gas": 30_000_000}
    rich = replace(TERMS, gas_limit=30_000_000)
    admitted(chain, transaction(data=bytes(49_152), **most), rich)
    told = refused(chain, transaction(data=bytes(49_153), **most), rich)
    assert told == "max initcode size exceeded: code size 49153, limit 49152"


def test_a_transaction_of_another_chain(chain: Chain) -> None:
    told = refused(chain, transaction(), replace(TERMS, chain_id=CHAIN_ID + 1))
    assert told == f"invalid chain id for signer: have {CHAIN_ID} want {CHAIN_ID + 1}"


def test_a_sender_with_code_signs_nothing_unless_it_delegates(chain: Chain) -> None:
    assert refused(chain, transaction(2)).startswith("sender not an eoa: address 0x")
    fields = TransactionFields(
        kind=LEGACY_TYPE, nonce=0, gas=21_000, to=NOBODY, gas_price_wei=2 * GWEI
    )
    admitted(chain, build_impersonated(fields, CONTRACT, CHAIN_ID))


def blob(**told: object) -> SignedTransactionAPI:
    fields: dict[str, Any] = {
        "kind": BLOB_TYPE,
        "max_blob_fee_wei": 5,
        "blob_hashes": (BLOB_HASH,),
    }
    return transaction(**fields | told)


def test_blobs(chain: Chain) -> None:
    admitted(chain, blob())
    assert refused(chain, blob(blob_hashes=())) == "blob transaction missing blob hashes"
    told = refused(chain, blob(blob_hashes=(BLOB_HASH,) * 10))
    assert told == "too many blobs in transaction: have 10, permitted 9"
    told = refused(chain, blob(blob_hashes=(b"\x02" * 32,)))
    assert told == "blob 0 has invalid hash version"
    told = refused(chain, blob(max_blob_fee_wei=4))
    assert told == "max fee per blob gas less than block blob gas fee: have 4 want 5"
    rest = 10**18 - 21_000 * 3 * GWEI
    admitted(chain, blob(value_wei=rest - 5 * 2**17))
    assert "insufficient funds" in refused(chain, blob(value_wei=rest - 5 * 2**17 + 1))


def test_setting_code(chain: Chain) -> None:
    nobody = Authorization(CHAIN_ID, NOBODY, 0, 0, 1, 1)
    many: dict[str, Any] = {"kind": SET_CODE_TYPE, "gas": 100_000}
    admitted(chain, transaction(authorizations=(nobody,), **many))
    told = refused(chain, transaction(**many))
    assert told == "set code tx must have at least one authorization tuple"


def test_blobs_and_code_are_not_for_creations(chain: Chain) -> None:
    told = refused(chain, blob(to=None, gas=100_000))
    assert told == "input transaction of type blob cannot create contracts"
    nobody = Authorization(CHAIN_ID, NOBODY, 0, 0, 1, 1)
    setting = transaction(kind=SET_CODE_TYPE, gas=100_000, to=None, authorizations=(nobody,))
    assert refused(chain, setting) == "input transaction of type set code cannot create contracts"

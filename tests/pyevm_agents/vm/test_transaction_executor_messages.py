"""A transaction becomes the message that py-evm makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth.vm.forks.prague.state import PragueTransactionExecutor
from eth.vm.message import Message
from eth_typing import Address

from pyevm_agents.chain.transactions import (
    BLOB_TYPE,
    DYNAMIC_FEE_TYPE,
    LEGACY_TYPE,
    SET_CODE_TYPE,
    TransactionFields,
    sign,
)
from pyevm_agents.vm.transaction_executor import build_message
from tests.chain_bench import OWNER, OWNER_KEY
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chain_bench import Bench

    MakeBench = Callable[..., Bench]

CONTRACT, DELEGATING = Address(b"\xcc" * 20), Address(b"\xdd" * 20)
FEE_WEI = 10**10
CODES = {CONTRACT: asm("STOP"), DELEGATING: b"\xef\x01\x00" + CONTRACT}
TRANSACTIONS: dict[str, dict[str, Any]] = {
    "legacy": {"kind": LEGACY_TYPE, "to": CONTRACT, "gas_price_wei": FEE_WEI, "value_wei": 5},
    "creation": {"kind": DYNAMIC_FEE_TYPE, "to": None, "data": b"\x00\x01"},
    "with data": {"kind": DYNAMIC_FEE_TYPE, "to": CONTRACT, "data": b"\x01\x02"},
    "to who delegates": {"kind": DYNAMIC_FEE_TYPE, "to": DELEGATING},
    "with a blob": {
        "kind": BLOB_TYPE, "to": CONTRACT, "max_blob_fee_wei": 5,
        "blob_hashes": (b"\x01" + bytes(31),),
    },
    "with code set": {"kind": SET_CODE_TYPE, "to": CONTRACT, "authorizations": ()},
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_the_message_is_py_evms(bench: MakeBench, name: str) -> None:
    chain = bench(codes=CODES).chain
    told: dict[str, Any] = {"max_fee_wei": FEE_WEI, "max_priority_fee_wei": 1}
    told |= TRANSACTIONS[name]
    fields = TransactionFields(nonce=chain.nonce(OWNER), gas=100_000, **told)
    transaction = sign(fields, OWNER_KEY, chain.config.chain_id)
    ours, theirs = chain.state(chain.head), chain.state(chain.head)
    message = build_message(PragueTransactionExecutor(ours), transaction)
    expected = PragueTransactionExecutor(theirs).build_evm_message(transaction)
    assert isinstance(message, Message)
    for field in Message.__slots__:  # What is not told is not there.
        assert getattr(message, field, None) == getattr(expected, field, None), field
    for state in (ours, theirs):
        state.make_state_root()
    assert ours.state_root == theirs.state_root
    assert ours.get_balance(OWNER) == theirs.get_balance(OWNER)

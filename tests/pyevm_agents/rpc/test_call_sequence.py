"""Call sequences, compared with the same transactions in blocks."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from eth_typing import Address
from eth_utils import ValidationError
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.calls import AccountOverride, BlockOverride, Call
from pyevm_agents.config import ChainConfig
from pyevm_agents.node.state_view import StateView
from pyevm_agents.rpc.call_sequence import CallSequence
from pyevm_agents.tracing import StateDiffTracer, make_traced_vm
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, NOBODY, transaction
from tests.pyevm_agents.rpc.contracts_to_trace import (
    CALLER_ADDRESS,
    CODES,
    COUNTER_ADDRESS,
    INITCODE,
    REVERTING_ADDRESS,
)
from tests.pyevm_agents.tracing.assembler import asm, calling, creating

pytestmark = pytest.mark.filterwarnings("ignore:SELFDESTRUCT")

WRITER = Address(b"\xa1" * 20)
FACTORY = Address(b"\xa2" * 20)
GAS = 400_000
SHORT_LIVED = asm("0x07 0x01 SSTORE 0x" + "99" * 20 + " SELFDESTRUCT")
CODE_OF = {
    **CODES,
    WRITER: asm("0x20 CALLDATALOAD PUSH0 CALLDATALOAD SSTORE"),
    # Creates at one address, repeatedly, a contract that is destroyed in the same transaction.
    FACTORY: asm(creating(SHORT_LIVED, value_wei=1, salt=5) + " POP " + calling("CALL", NOBODY)),
}


def new_chain() -> Chain:
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    accounts |= {
        one: GenesisAccount(code=code, balance_wei=50, storage={1: 4})
        for one, code in CODE_OF.items()
    }
    return Chain(ChainConfig(), accounts=accounts)


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


WRITES = st.tuples(st.integers(0, 3), st.integers(0, 2)).map(
    lambda written: (WRITER, word(written[0]) + word(written[1]))
)
OTHERS = st.sampled_from(
    [
        (NOBODY, b""),
        (COUNTER_ADDRESS, b""),
        (CALLER_ADDRESS, b""),
        (REVERTING_ADDRESS, b""),
        (FACTORY, b""),
        (None, INITCODE),
        (None, SHORT_LIVED),
    ]
)
CALLS = st.lists(
    st.tuples(WRITES | OTHERS, st.integers(0, 3), st.sampled_from([0, 10**9])), max_size=6
)


@settings(max_examples=40)
@given(CALLS)
def test_each_call_changes_what_its_transaction_would(
    calls: list[tuple[tuple[Address | None, bytes], int, int]],
) -> None:
    chain = new_chain()
    sender = ADDRESSES[0]
    sequence = CallSequence(StateView(chain, chain.head))
    tried: list[Any] = []
    for (to, data), value, price in calls:
        tracer = StateDiffTracer()
        call = Call(to=to, sender=sender, data=data, value_wei=value, gas=GAS, gas_price_wei=price)
        sequence.call(call, tracer=tracer)
        tried.append(tracer.result())
    assert chain.state().get_nonce(sender) == 0
    for nonce, ((to, data), value, _) in enumerate(calls):
        mined = chain.mine([transaction(nonce=nonce, to=to, data=data, value_wei=value, gas=GAS)])
        tracer = StateDiffTracer()
        chain.replay(
            chain.block_with_receipts(mined.block.header), 0, partial(make_traced_vm, tracer=tracer)
        )
        told: Any = tracer.result()
        paid = {"0x" + one.hex() for one in (sender, chain.head.coinbase)}
        assert {one: it for one, it in tried[nonce].items() if one not in paid} == {
            one: it for one, it in told.items() if one not in paid
        }


def test_what_is_said_of_accounts_holds_until_a_call_changes_it() -> None:
    chain = new_chain()
    told = {WRITER: AccountOverride(storage={2: 9}), NOBODY: AccountOverride(balance_wei=77)}
    sequence = CallSequence(StateView(chain, chain.head), told)
    read = Call(to=COUNTER_ADDRESS, sender=ADDRESSES[0], gas=GAS)
    write = Call(to=WRITER, sender=ADDRESSES[0], data=word(3) + word(8), gas=GAS)
    tracer = StateDiffTracer()
    sequence.call(read)
    sequence.call(write, tracer=tracer)
    changes: Any = tracer.result()
    slots = changes["0x" + WRITER.hex()]["storage"]
    assert slots == {"0x" + word(3).hex(): {"*": {"from": "0x" + "00" * 32, "to": f"0x{8:064x}"}}}
    emptied = Call(to=WRITER, sender=ADDRESSES[0], data=word(2) + word(0), gas=GAS)
    tracer = StateDiffTracer()
    sequence.call(emptied, tracer=tracer)
    changes = tracer.result()
    slots = changes["0x" + WRITER.hex()]["storage"]
    assert slots == {"0x" + word(2).hex(): {"*": {"from": f"0x{9:064x}", "to": "0x" + "00" * 32}}}


def test_a_call_that_can_not_be_changes_nothing() -> None:
    chain = new_chain()
    sequence = CallSequence(StateView(chain, chain.head))
    count = Call(to=COUNTER_ADDRESS, sender=ADDRESSES[0], gas=GAS)
    sequence.call(count)
    with pytest.raises(ValidationError):
        sequence.call(Call(to=NOBODY, sender=NOBODY, value_wei=1, gas=GAS))
    assert sequence.call(count).output == word(2)


def test_each_call_may_have_a_block_of_its_own() -> None:
    chain = new_chain()
    sequence = CallSequence(
        StateView(chain, chain.head),
        {NOBODY: AccountOverride(code=asm("NUMBER PUSH0 MSTORE 0x20 PUSH0 RETURN"))},
    )
    call = Call(to=NOBODY, sender=ADDRESSES[0], gas=GAS)
    assert sequence.call(call, block=BlockOverride(number=99)).output == word(99)
    assert sequence.call(call).output == word(0)

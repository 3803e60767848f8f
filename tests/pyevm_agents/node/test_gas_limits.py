"""Gas limits, and why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth.exceptions import Revert

from pyevm_agents.chain.calls import AccountOverride, Call
from pyevm_agents.node.errors import (
    AllowanceError,
    ExecutionFailedError,
    InvalidRequestError,
    OutOfGasError,
)
from pyevm_agents.node.gas_limits import cap_gas, estimate_gas, get_sender_balance
from pyevm_agents.node.state_view import build_next_view
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, GWEI, NOBODY
from tests.pyevm_agents.tracing.assembler import asm, reverting

if TYPE_CHECKING:
    from pyevm_agents.node import Node
    from tests.pyevm_agents.node.senders_of_tests import MakeNode

BALANCE_WEI = 10**20


def estimate(node: Node, call: Call) -> int:
    return estimate_gas(node, call, build_next_view(node))


def test_a_transfer_takes_21000(make: MakeNode) -> None:
    assert estimate(make(), Call(sender=ADDRESSES[0], to=NOBODY, value_wei=1)) == 21_000


def test_a_revert_keeps_its_data(make: MakeNode) -> None:
    with pytest.raises(ExecutionFailedError) as caught:
        estimate(make(), Call(sender=ADDRESSES[0], to=None, data=asm(reverting(b"why"))))
    assert not isinstance(caught.value, OutOfGasError)
    assert isinstance(caught.value.error, Revert)
    assert caught.value.output == b"why"


def test_too_little_gas_is_told_with_what_there_is(make: MakeNode) -> None:
    endless = Call(sender=ADDRESSES[0], to=None, data=asm("JUMPDEST PUSH0 JUMP"), gas=90_000)
    with pytest.raises(OutOfGasError, match=r"^gas required exceeds allowance \(90000\)$"):
        estimate(make(), endless)


def test_what_no_block_may_hold_is_invalid(make: MakeNode) -> None:
    with pytest.raises(InvalidRequestError, match=r"^err: max initcode size exceeded"):
        estimate(make(), Call(sender=ADDRESSES[0], to=None, data=bytes(50_000)))


def test_gas_is_capped_by_the_balance(make: MakeNode) -> None:
    node = make()
    view = build_next_view(node)
    free = Call(sender=ADDRESSES[0], to=NOBODY)
    assert cap_gas(free, view, {}) is free
    dear = Call(sender=ADDRESSES[0], to=NOBODY, gas_price_wei=BALANCE_WEI // 50_000)
    assert cap_gas(dear, view, {}).gas == 50_000
    cheap = Call(sender=ADDRESSES[0], to=NOBODY, gas_price_wei=GWEI)
    assert cap_gas(cheap, view, {}).gas == view.header.gas_limit


@pytest.mark.parametrize(
    ("value_wei", "gas_price_wei", "message"),
    [
        (BALANCE_WEI + 1, 0, "insufficient funds for transfer"),
        (0, BALANCE_WEI // 20_000, "gas required exceeds allowance (20000)"),
    ],
)
def test_what_cannot_be_paid_for_is_refused(
    make: MakeNode, value_wei: int, gas_price_wei: int, message: str
) -> None:
    call = Call(sender=ADDRESSES[0], to=NOBODY, value_wei=value_wei, gas_price_wei=gas_price_wei)
    with pytest.raises(AllowanceError) as caught:
        estimate(make(), call)
    assert str(caught.value) == message


def test_an_overridden_balance_counts(make: MakeNode) -> None:
    view = build_next_view(make())
    call = Call(sender=ADDRESSES[0], to=NOBODY)
    assert get_sender_balance(call, view, {}) == BALANCE_WEI
    for override, wanted in ((AccountOverride(balance_wei=3), 3), (AccountOverride(), BALANCE_WEI)):
        assert get_sender_balance(call, view, {ADDRESSES[0]: override}) == wanted

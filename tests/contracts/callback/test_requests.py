"""AgentOracle: what an order may say, what it costs, and the commitment that it becomes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import keccak, to_canonical_address

from tests.contracts.callback.oracle_bench import (
    CALLBACK_GAS,
    COMMITMENT_TYPE,
    FEE,
    PRICES,
    TIMEOUT,
    Order,
)
from tests.contracts.plain_evm import OWNER, STRANGER, reverts

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench
    from tests.contracts.plain_evm import Account, Contract

DAY = 86_400


def test_request_is_logged_and_stored_as_a_hash(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    (event,) = bench.oracle.events("AgentRequested")
    assert event["arguments"] == b"the arguments"
    assert event["requestId"] == request.request_id
    assert int(client.address, 16) == event["client"]
    assert request.client == client.address
    assert request.arguments_hash == keccak(b"the arguments")
    assert request.callback_gas_limit == CALLBACK_GAS
    assert request.fee == FEE == bench.fee(CALLBACK_GAS)
    assert request.block_number == bench.block_number
    assert request.deadline == bench.now + TIMEOUT
    hashed = keccak(encode([COMMITMENT_TYPE], [request.encoded()]))
    assert bench.oracle("commitmentOf", request.request_id) == hashed
    assert bench.oracle("answerOf", request.request_id) == (0, b"", "0x" + "00" * 20, False)


def test_request_ids_differ_by_client_and_number(bench: OracleBench) -> None:
    clients: list[Contract | Account] = [bench.client(), bench.client(), STRANGER]
    ids = [bench.request(client).request_id for client in clients * 2]
    assert len(set(ids)) == 6


def test_account_without_code_can_be_a_client(bench: OracleBench) -> None:
    request = bench.request(STRANGER)
    assert not bench.answer(request, b"for a person")
    outcome, output, _, delivered = bench.oracle("answerOf", request.request_id)
    assert (outcome, output, delivered) == (1, b"for a person", False)


@pytest.mark.parametrize(
    ("member", "lowest", "highest"),
    [
        ("timeout", 1, 7 * DAY),
        ("steps", 1, 65_535),
        ("callback_gas_limit", 0, 11_000_000),
        ("lifetime", TIMEOUT, 30 * DAY),
    ],
)
def test_each_number_has_a_range(
    bench: OracleBench, client: Contract, member: str, lowest: int, highest: int
) -> None:
    order = Order(lifetime=7 * DAY) if member == "timeout" else Order()
    for value in (lowest, highest):
        changed: dict[str, Any] = {member: value}
        assert bench.request(client, replace(order, **changed)).deadline > bench.now
    name = {"callback_gas_limit": "callbackGasLimit"}.get(member, member)
    outside = [value for value in (lowest - 1, highest + 1) if value >= 0]
    for value in outside:
        if member == "steps" and value > highest:
            continue  # not a uint16
        changed = {member: value}
        with reverts("OutOfRange", name, value, lowest, highest):
            bench.request(client, replace(order, **changed), value_wei=10**21)


def test_arguments_have_a_limit(bench: OracleBench, client: Contract) -> None:
    assert bench.oracle("MAX_ARGUMENTS_BYTES") == 65_536
    longest = bench.request(client, Order(arguments=b"\xff" * 65_536))
    assert longest.arguments_hash == keccak(b"\xff" * 65_536)
    with reverts("ArgumentsTooLong", 65_537, 65_536):
        bench.request(client, Order(arguments=b"\xff" * 65_537))


def test_fee_pays_inference_callback_and_answer(bench: OracleBench) -> None:
    inference, gas_price, answer_gas = PRICES
    for gas in (0, 1, 11_000_000):
        assert bench.fee(gas) == inference + gas_price * (gas + answer_gas)


def test_value_must_pay_for_all_steps(bench: OracleBench, client: Contract) -> None:
    order = Order(steps=3)
    with reverts("WrongValue", 3 * FEE - 1, 3 * FEE):
        bench.request(client, order, value_wei=3 * FEE - 1)
    with reverts("WrongValue", 0, 3 * FEE):
        bench.request(client, order, value_wei=0)
    bench.request(client, order, value_wei=3 * FEE)
    assert bench.oracle.events("BudgetOpened")[0]["amount"] == 3 * FEE


def test_value_above_the_price_stays_in_the_budget(bench: OracleBench, client: Contract) -> None:
    first = bench.request(client, Order(), value_wei=2 * FEE + 5)
    second = bench.request(client, Order(budget_id=first.budget_id))
    assert second.budget_id == first.budget_id
    with reverts("BudgetExhausted", first.budget_id, 5, FEE):
        bench.request(client, Order(budget_id=first.budget_id))


def test_request_from_a_budget_or_a_subscription_carries_no_value(
    bench: OracleBench, client: Contract
) -> None:
    budget = bench.request(client, Order(steps=2)).budget_id
    with reverts("WrongValue", 1, 0):
        bench.request(client, Order(budget_id=budget), value_wei=1)
    subscription = bench.oracle("subscribe", value_wei=FEE)
    bench.oracle("setConsumer", subscription, client.address, True)  # noqa: FBT003
    with reverts("WrongValue", 1, 0):
        bench.request(client, Order(subscription_id=subscription), value_wei=1)


def test_budget_is_its_clients_alone(bench: OracleBench, client: Contract) -> None:
    budget = bench.request(client, Order(steps=2)).budget_id
    for unusable in (budget, budget + 1):
        with reverts("BudgetNotUsable", unusable):
            bench.request(bench.client(), Order(budget_id=unusable))
    with reverts("BudgetNotUsable", budget):
        bench.request(OWNER, Order(budget_id=budget))


def test_open_budgets_keep_their_price(bench: OracleBench, client: Contract) -> None:
    budget = bench.request(client, Order(steps=2)).budget_id
    bench.oracle("setPrices", (1, 2, 3))
    assert bench.oracle.events("PricesSet") == [{"prices": (1, 2, 3)}]
    assert bench.fee(10) == 1 + 2 * 13
    again = bench.request(client, Order(budget_id=budget, callback_gas_limit=10))
    assert (again.fee, again.callback_gas_limit) == (FEE, CALLBACK_GAS)
    assert bench.request(client, Order(callback_gas_limit=10)).fee == 27


def test_amounts_beyond_uint128_are_refused(bench: OracleBench, client: Contract) -> None:
    # Devnets give any balance. An amount cut to 128 bits would lose the rest.
    bench.evm.vm.state.set_balance(to_canonical_address(OWNER.address), 2**130)
    for send in (
        lambda: bench.request(client, Order(), value_wei=2**128),
        lambda: bench.oracle("subscribe", value_wei=2**128),
    ):
        with reverts("SafeCastOverflowedUintDowncast", 128, 2**128):
            send()
    bench.oracle("setPrices", (2**96 - 1, 2**96 - 1, 2**32 - 1))
    fee = bench.fee(11_000_000)
    assert fee >= 2**128
    with reverts("SafeCastOverflowedUintDowncast", 128, fee):
        bench.request(client, Order(callback_gas_limit=11_000_000), value_wei=fee)

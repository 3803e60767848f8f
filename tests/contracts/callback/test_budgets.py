"""AgentOracle: budgets and subscriptions, what goes back to whom, and who may take wei out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contracts.callback.oracle_bench import FEE, LIFETIME, OTHER_WORKER, WORKER, Order
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, Account, reverts

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench
    from tests.contracts.plain_evm import Contract

NEW_ADDRESS = "0x" + "ab" * 20


def balance_of_budget(bench: OracleBench, budget_id: int) -> int:
    balance: int = bench.oracle("budgets", budget_id)[7]
    return balance


def subscribe(bench: OracleBench, client: Contract, value_wei: int, owner: Account = OWNER) -> int:
    """Create a subscription that a client may use."""
    number: int = bench.oracle("subscribe", value_wei=value_wei, sender=owner)
    bench.oracle("setConsumer", number, client.address, True, sender=owner)  # noqa: FBT003
    return number


def test_client_releases_its_budget_at_any_time(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client, Order(steps=3, payer=STRANGER.address))
    with reverts("BudgetNotReleasable", request.budget_id, bench.now + LIFETIME):
        bench.oracle("release", request.budget_id, sender=STRANGER)
    release = bench.oracle.artifact.encode_call("release", request.budget_id)
    client("callOracle", release)
    assert bench.oracle.events("BudgetReleased") == [
        {"budgetId": request.budget_id, "amount": 2 * FEE}
    ]
    assert bench.oracle("claimable", STRANGER.address) == 2 * FEE
    with reverts("BudgetNotUsable", request.budget_id):
        client("callOracle", release)
    with reverts("BudgetNotUsable", request.budget_id):
        bench.request(client, Order(budget_id=request.budget_id))


def test_anybody_releases_a_budget_after_its_lifetime(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client, Order(steps=2))
    bench.pass_time(LIFETIME - 1)
    with reverts("BudgetNotReleasable", request.budget_id, bench.now + 1):
        bench.oracle("release", request.budget_id, sender=STRANGER)
    bench.pass_time(1)
    bench.oracle("release", request.budget_id, sender=STRANGER)
    assert bench.oracle("claimable", client.address) == FEE  # the client is the payer by default


def test_budget_that_was_never_opened_is_nobodys(bench: OracleBench) -> None:
    for unknown in (0, 1):
        with reverts("BudgetNotUsable", unknown):
            bench.oracle("release", unknown)


def test_expired_fee_goes_back_to_its_budget(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client, Order(steps=2))
    bench.expire(request)
    assert bench.oracle.events("RequestExpired") == [{"requestId": request.request_id}]
    assert balance_of_budget(bench, request.budget_id) == 2 * FEE
    for _ in range(2):
        bench.request(client, Order(budget_id=request.budget_id))


def test_expired_fee_of_a_released_budget_goes_to_its_payer(
    bench: OracleBench, client: Contract
) -> None:
    request = bench.request(client, Order(steps=2, payer=NEW_ADDRESS))
    client("callOracle", bench.oracle.artifact.encode_call("release", request.budget_id))
    assert bench.oracle("claimable", NEW_ADDRESS) == FEE
    bench.expire(request)
    assert bench.oracle("claimable", NEW_ADDRESS) == 2 * FEE
    assert balance_of_budget(bench, request.budget_id) == 0


def test_answer_after_the_release_is_paid(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client, Order(steps=2))
    client("callOracle", bench.oracle.artifact.encode_call("release", request.budget_id))
    assert bench.answer(request)
    assert bench.oracle("claimable", WORKER.address) == FEE


def test_subscription_pays_and_gets_the_rest_back(bench: OracleBench, client: Contract) -> None:
    number = subscribe(bench, client, 3 * FEE)
    order = Order(subscription_id=number, steps=3, payer=STRANGER.address)
    request = bench.request(client, order)
    assert bench.oracle("subscriptions", number) == (OWNER.address, 0)
    with reverts("SubscriptionExhausted", number, 0, FEE):
        bench.request(client, Order(subscription_id=number))
    client("callOracle", bench.oracle.artifact.encode_call("release", request.budget_id))
    assert bench.oracle("subscriptions", number) == (OWNER.address, 2 * FEE)
    bench.expire(request)
    assert bench.oracle("subscriptions", number) == (OWNER.address, 3 * FEE)
    assert bench.oracle("claimable", STRANGER.address) == 0


def test_cancelled_subscription_gives_all_to_its_last_owner(
    bench: OracleBench, client: Contract
) -> None:
    number = subscribe(bench, client, 5 * FEE, owner=STRANGER)
    request = bench.request(client, Order(subscription_id=number, steps=3))
    bench.oracle("cancel", number, sender=STRANGER)
    assert bench.oracle.events("SubscriptionCancelled") == [
        {"subscriptionId": number, "amount": 2 * FEE}
    ]
    assert bench.oracle("subscriptions", number) == (ZERO, 0)
    assert bench.oracle("lastOwnerOf", number) == STRANGER.address
    bench.request(client, Order(budget_id=request.budget_id))  # open budgets go on
    client("callOracle", bench.oracle.artifact.encode_call("release", request.budget_id))
    assert bench.oracle("claimable", STRANGER.address) == 3 * FEE
    bench.expire(request)
    assert bench.oracle("claimable", STRANGER.address) == 4 * FEE

    with reverts("SubscriptionNotUsable", number, client.address):
        bench.request(client, Order(subscription_id=number))
    with reverts("SubscriptionNotUsable", number, OWNER.address):
        bench.oracle("fund", number, value_wei=1)
    with reverts("NotSubscriptionOwner", number, STRANGER.address):
        bench.oracle("cancel", number, sender=STRANGER)


def test_subscription_is_used_by_its_consumers_alone(bench: OracleBench, client: Contract) -> None:
    number = subscribe(bench, client, 3 * FEE)
    with reverts("SubscriptionNotUsable", number, OWNER.address):
        bench.request(OWNER, Order(subscription_id=number))
    with reverts("SubscriptionNotUsable", 9, client.address):
        bench.request(client, Order(subscription_id=9))
    bench.oracle("setConsumer", number, client.address, False)  # noqa: FBT003
    with reverts("SubscriptionNotUsable", number, client.address):
        bench.request(client, Order(subscription_id=number))


def test_subscription_is_managed_by_its_owner_alone(bench: OracleBench, client: Contract) -> None:
    number = subscribe(bench, client, FEE, owner=STRANGER)
    refused = ("NotSubscriptionOwner", number, OWNER.address)
    with reverts(*refused):
        bench.oracle("cancel", number)
    with reverts(*refused):
        bench.oracle("setConsumer", number, OWNER.address, True)  # noqa: FBT003


def test_anybody_funds_a_subscription(bench: OracleBench, client: Contract) -> None:
    number = subscribe(bench, client, 0)
    bench.oracle("fund", number, value_wei=7, sender=STRANGER)
    assert bench.oracle.events("SubscriptionFunded") == [{"subscriptionId": number, "amount": 7}]
    assert bench.oracle("subscriptions", number) == (OWNER.address, 7)


def test_wei_go_out_once_and_to_any_address(bench: OracleBench, client: Contract) -> None:
    bench.answer(bench.request(client))
    assert bench.oracle("withdraw", NEW_ADDRESS, sender=WORKER) == FEE
    assert bench.oracle.events("Withdrawn") == [
        {"account": int(WORKER.address, 16), "to": NEW_ADDRESS, "amount": FEE}
    ]
    assert bench.balance(NEW_ADDRESS) == FEE
    assert bench.balance(bench.oracle.address) == 0
    with reverts("NothingToWithdraw", WORKER.address):
        bench.oracle("withdraw", NEW_ADDRESS, sender=WORKER)


def test_anybody_sends_an_account_its_wei(bench: OracleBench, client: Contract) -> None:
    """A contract that can't call `withdraw` loses nothing."""
    budget = bench.request(client, Order(steps=2)).budget_id
    bench.pass_time(LIFETIME)
    bench.oracle("release", budget, sender=STRANGER)
    assert bench.oracle("withdrawFor", client.address, sender=STRANGER) == FEE
    assert bench.oracle.events("Withdrawn") == [
        {"account": int(client.address, 16), "to": client.address, "amount": FEE}
    ]
    assert bench.balance(client.address) == FEE
    with reverts("NothingToWithdraw", client.address):
        bench.oracle("withdrawFor", client.address, sender=STRANGER)


def test_an_account_that_refuses_wei_keeps_its_claim(bench: OracleBench) -> None:
    refusing = bench.evm.deploy("CommitteeArbiter", [STRANGER.address], 1).address
    budget = bench.request(bench.client(), Order(steps=2, payer=refusing)).budget_id
    bench.pass_time(LIFETIME)
    bench.oracle("release", budget, sender=STRANGER)
    with reverts("UnexpectedValue", bench.oracle.address):
        bench.oracle("withdrawFor", refusing, sender=STRANGER)
    assert bench.oracle("claimable", refusing) == FEE


def test_withdrawal_to_who_refuses_wei_changes_nothing(
    bench: OracleBench, client: Contract
) -> None:
    bench.answer(bench.request(client))
    with reverts("FailedCall"):
        bench.oracle("withdraw", bench.oracle.address, sender=WORKER)  # it has no receive()
    assert bench.oracle("claimable", WORKER.address) == FEE


def test_owner_touches_nobodys_wei(bench: OracleBench, client: Contract) -> None:
    owner = Account(STRANGER.key)
    bench.oracle("transferOwnership", owner.address)
    bench.oracle("acceptOwnership", sender=owner)
    number = subscribe(bench, client, 5 * FEE)
    bench.answer(bench.request(client))
    budget = bench.request(client, Order(steps=2)).budget_id
    with reverts("NothingToWithdraw", owner.address):
        bench.oracle("withdraw", owner.address, sender=owner)
    with reverts("NotSubscriptionOwner", number, owner.address):
        bench.oracle("cancel", number, sender=owner)
    with reverts("BudgetNotReleasable", budget, bench.now + LIFETIME):
        bench.oracle("release", budget, sender=owner)
    with reverts("SubscriptionNotUsable", number, owner.address):
        bench.request(owner, Order(subscription_id=number))
    bench.oracle("setPrices", (10**17, 1, 1), sender=owner)
    bench.oracle("setWorker", WORKER.address, False, sender=owner)  # noqa: FBT003
    assert bench.oracle("claimable", WORKER.address) == FEE
    assert balance_of_budget(bench, budget) == FEE
    assert bench.oracle("subscriptions", number) == (OWNER.address, 5 * FEE)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [("setWorker", (STRANGER.address, True)), ("setPrices", ((0, 0, 0),))],
)
def test_only_the_owner_registers_workers_and_sets_prices(
    bench: OracleBench, function: str, arguments: tuple[object, ...]
) -> None:
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        bench.oracle(function, *arguments, sender=STRANGER)


def test_answers_cost_nothing_where_the_prices_are_zero(bench: OracleBench) -> None:
    bench.oracle("setPrices", (0, 0, 0))
    client = bench.client()
    first, second = (bench.request(client) for _ in range(2))
    assert first.fee == 0
    assert bench.answer(first, worker=OTHER_WORKER)
    assert bench.oracle("claimable", OTHER_WORKER.address) == 0
    bench.expire(second)
    assert bench.oracle("claimable", client.address) == 0


def test_oracle_says_its_interfaces(bench: OracleBench) -> None:
    for interface, expected in (("01ffc9a7", True), ("ffffffff", False)):
        assert bench.oracle("supportsInterface", bytes.fromhex(interface)) is expected

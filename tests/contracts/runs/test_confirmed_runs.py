"""RunTreasury: the operator confirms what a dry run did, and the run does that or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contracts.plain_evm import OWNER, STRANGER, reverts
from tests.contracts.runs.treasury_bench import (
    AGENT,
    CLOSED,
    DELEGATE,
    DRY_RUN_FORM,
    MAX_STEPS,
    MAX_WRITES,
    NATIVE,
    NATIVE_CAP,
    NO_DATA,
    OPEN,
    OPERATOR,
    OTHER_STEP,
    RECIPIENT,
    RETRY,
    RUN,
    RUN_SECONDS,
    STEP,
    TASK,
    TRACE,
    hash_write,
    hash_writes,
)
from tests.contracts.runs.typed_data import hash_typed_data, sign

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Account
    from tests.contracts.runs.treasury_bench import TreasuryBench

WRITES = [hash_write(STEP, RECIPIENT, 1), hash_write(OTHER_STEP, RECIPIENT, 2)]
"""Of a dry run that pays twice."""


@pytest.fixture
def confirmed(bench: TreasuryBench) -> TreasuryBench:
    """An open run that needs a confirmation and has one."""
    bench.treasury("setLimits", MAX_STEPS, MAX_WRITES, True)  # noqa: FBT003 - the ABI has places
    bench.open()
    bench.confirm(WRITES)
    return bench


def test_a_confirmed_run_makes_its_writes(confirmed: TreasuryBench) -> None:
    assert confirmed.pay(1) == (True, NO_DATA)
    assert confirmed.pay(2, step=OTHER_STEP) == (True, NO_DATA)
    assert confirmed.treasury("closeRun", RUN, sender=AGENT) == hash_writes(WRITES)
    assert confirmed.status() == CLOSED
    run = confirmed.treasury("getRun", RUN)
    assert (run[7], run[9], run[10]) == (True, hash_writes(WRITES), TRACE)
    assert confirmed.treasury("getConfirmedWrites", RUN) == tuple(WRITES)


def test_what_is_signed_is_what_others_compute(bench: TreasuryBench) -> None:
    digest = hash_writes(WRITES)
    values = {"taskId": TASK, "runId": RUN, "digest": digest, "trace": TRACE, "expiry": 9}
    signed = hash_typed_data("Treasury", bench.treasury, DRY_RUN_FORM, values)
    assert bench.treasury("hashDryRun", TASK, RUN, digest, TRACE, 9) == signed


def test_without_a_confirmation_no_write_happens(bench: TreasuryBench) -> None:
    bench.treasury("setLimits", MAX_STEPS, MAX_WRITES, True)  # noqa: FBT003
    bench.open()
    with reverts("ConfirmationRequired", RUN):
        bench.pay()
    with reverts("ConfirmationRequired", RUN):
        bench.call("take", 1)


def test_above_the_threshold_a_confirmation_is_needed(bench: TreasuryBench) -> None:
    bench.treasury("setAsset", NATIVE, NATIVE_CAP, 2)
    bench.open()
    bench.pay(2)
    with reverts("ConfirmationRequired", RUN):
        bench.pay(1)
    bench.open(RETRY)
    bench.confirm([hash_write(STEP, RECIPIENT, 2), hash_write(STEP, RECIPIENT, 1)], RETRY)
    assert bench.pay(2, RETRY) == (False, NO_DATA)
    assert bench.pay(1, RETRY) == (True, NO_DATA)


# -- lies -- #


def test_the_first_write_that_differs_is_refused(confirmed: TreasuryBench) -> None:
    confirmed.pay(1)
    given = hash_write(OTHER_STEP, RECIPIENT, 3)
    with reverts("WriteNotConfirmed", RUN, 1, WRITES[1], given):
        confirmed.pay(3, step=OTHER_STEP)
    with reverts("WriteNotConfirmed", RUN, 1, WRITES[1], hash_write(STEP, RECIPIENT, 2)):
        confirmed.pay(2)  # in another step
    assert confirmed.balance(RECIPIENT) == 1


def test_writes_in_another_order_are_refused(confirmed: TreasuryBench) -> None:
    with reverts("WriteNotConfirmed", RUN, 0, WRITES[0], WRITES[1]):
        confirmed.pay(2, step=OTHER_STEP)


def test_a_write_more_than_confirmed_is_refused(confirmed: TreasuryBench) -> None:
    confirmed.pay(1)
    confirmed.pay(2, step=OTHER_STEP)
    with reverts("WriteNotConfirmed", RUN, 2, bytes(32), hash_write(STEP, RECIPIENT, 1)):
        confirmed.pay(1)


def test_a_run_with_less_than_confirmed_is_not_closed(confirmed: TreasuryBench) -> None:
    confirmed.pay(1)
    done = hash_writes(WRITES[:1])
    for sender in (AGENT, OPERATOR):
        with reverts("DigestMismatch", RUN, hash_writes(WRITES), done):
            confirmed.treasury("closeRun", RUN, sender=sender)
    assert confirmed.status() == OPEN
    confirmed.treasury("cancelRun", RUN, sender=OPERATOR)


def test_a_lie_in_one_transaction_undoes_all_of_it(bench: TreasuryBench) -> None:
    bench.open(agent=bench.peer.address)
    bench.confirm(WRITES)
    calls = [
        bench.treasury.artifact.encode_call("transferNative", RUN, step, RECIPIENT, amount)
        for step, amount in ((STEP, 1), (OTHER_STEP, 2))
    ]
    close = bench.treasury.artifact.encode_call("closeRun", RUN)
    with reverts("DigestMismatch", RUN, hash_writes(WRITES), hash_writes(WRITES[:1])):
        bench.peer("send", bench.treasury.address, [calls[0], close])
    assert bench.balance(RECIPIENT) == 0
    bench.peer("send", bench.treasury.address, [*calls, close])
    assert (bench.balance(RECIPIENT), bench.status()) == (3, CLOSED)


# -- the confirmation -- #


@pytest.mark.parametrize("signer", [STRANGER, OWNER, AGENT])
def test_nobody_else_confirms(bench: TreasuryBench, signer: Account) -> None:
    bench.open()
    expiry = bench.time + RUN_SECONDS
    signature = bench.sign(WRITES, signer=signer)
    with reverts("InvalidConfirmation", RUN, OPERATOR.address):
        bench.treasury("confirmRun", RUN, WRITES, TRACE, expiry, signature, sender=AGENT)


def test_a_delegate_does_not_confirm(bench: TreasuryBench) -> None:
    bench.treasury("setDelegate", DELEGATE.address, True, sender=OPERATOR)  # noqa: FBT003
    bench.open(sender=DELEGATE)
    expiry = bench.time + RUN_SECONDS
    with reverts("InvalidConfirmation", RUN, OPERATOR.address):
        bench.treasury("confirmRun", RUN, WRITES, TRACE, expiry, b"", sender=DELEGATE)


def test_a_confirmation_is_of_one_run_one_list_one_trace(bench: TreasuryBench) -> None:
    bench.open()
    bench.open(RETRY, TRACE)
    expiry, signature = bench.time + RUN_SECONDS, bench.sign(WRITES)
    for run, writes, trace, at in [
        (RETRY, WRITES, TRACE, expiry),
        (RUN, WRITES[:1], TRACE, expiry),
        (RUN, WRITES, NO_DATA, expiry),
        (RUN, WRITES, TRACE, expiry + 1),
    ]:
        with reverts("InvalidConfirmation", run, OPERATOR.address):
            bench.treasury("confirmRun", run, writes, trace, at, signature)
    bench.treasury("confirmRun", RUN, WRITES, TRACE, expiry, signature)


def test_a_confirmation_is_used_once_and_before_the_first_write(bench: TreasuryBench) -> None:
    bench.open()
    bench.confirm(WRITES)
    with reverts("AlreadyConfirmed", RUN):
        bench.confirm(WRITES)
    bench.open(RETRY)
    bench.pay(1, RETRY)
    with reverts("AlreadyConfirmed", RETRY):
        bench.confirm(WRITES, RETRY)
    with reverts("RunNotOpen", RUN, 3):
        bench.confirm(WRITES)


def test_a_confirmation_expires(confirmed: TreasuryBench) -> None:
    expiry = confirmed.time + RUN_SECONDS
    confirmed.open(RETRY)
    with reverts("ConfirmationExpired", RETRY, 0):
        signature = confirmed.sign(WRITES, run=RETRY, expiry=0)
        confirmed.treasury("confirmRun", RETRY, WRITES, TRACE, 0, signature)
    soon = confirmed.time + 10
    signature = confirmed.sign(WRITES, run=RETRY, expiry=soon)
    confirmed.treasury("confirmRun", RETRY, WRITES, TRACE, soon, signature)
    confirmed.pay(1, RETRY)
    confirmed.pass_time(11)
    assert confirmed.time <= expiry
    with reverts("ConfirmationExpired", RETRY, soon):
        confirmed.pay(2, RETRY, OTHER_STEP)


def test_a_list_longer_than_the_budget_is_refused(bench: TreasuryBench) -> None:
    bench.open(writes=1)
    with reverts("TooManyWrites", TASK, 1):
        bench.confirm(WRITES)


def test_the_operator_confirms_by_a_transaction(bench: TreasuryBench) -> None:
    bench.open()
    expiry = bench.time + RUN_SECONDS
    bench.treasury("confirmRun", RUN, WRITES, TRACE, expiry, b"", sender=OPERATOR)
    assert bench.pay(1) == (True, NO_DATA)


def test_a_contract_is_an_operator_and_signs(bench: TreasuryBench) -> None:
    """ERC-1271: the operator is a wallet, its owner's key signs, a stranger hands it in."""
    wallet = bench.evm.deploy("SignerWallet", OPERATOR.address)
    bench.treasury("setOperator", wallet.address, True)  # noqa: FBT003
    budget = (MAX_STEPS, MAX_WRITES, bench.time + RUN_SECONDS)
    arguments = (TASK, RUN, AGENT.address, wallet.address, budget)
    opening = bench.treasury.artifact.encode_call("openRun", *arguments)
    wallet("execute", bench.treasury.address, opening, sender=OPERATOR)
    expiry = bench.time + RUN_SECONDS
    signature = bench.sign(WRITES, signer=STRANGER)
    with reverts("InvalidConfirmation", RUN, wallet.address):
        bench.treasury("confirmRun", RUN, WRITES, TRACE, expiry, signature)
    bench.confirm(WRITES)
    assert bench.pay(1) == (True, NO_DATA)


def test_a_signature_of_another_treasury_is_refused(bench: TreasuryBench) -> None:
    other = bench.evm.deploy("RunTreasury", OWNER.address, [])
    bench.open()
    expiry = bench.time + RUN_SECONDS
    values = {
        "taskId": TASK, "runId": RUN, "digest": hash_writes(WRITES), "trace": TRACE,
        "expiry": expiry,
    }  # fmt: skip
    signature = sign(OPERATOR, hash_typed_data("Treasury", other, DRY_RUN_FORM, values))
    with reverts("InvalidConfirmation", RUN, OPERATOR.address):
        bench.treasury("confirmRun", RUN, WRITES, TRACE, expiry, signature)

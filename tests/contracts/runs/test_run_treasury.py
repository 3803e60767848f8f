"""RunTreasury: runs, the budget of a task, writes that happen once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak

from tests.contracts.plain_evm import OWNER, STRANGER, reverts
from tests.contracts.runs.treasury_bench import (
    AGENT,
    CANCELLED,
    CLOSED,
    DELEGATE,
    ETHER,
    MAX_STEPS,
    MAX_WRITES,
    NATIVE,
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
    hash_write,
    hash_writes,
    transfer_data,
)

if TYPE_CHECKING:
    from tests.contracts.runs.treasury_bench import TreasuryBench


def key(number: int, step: bytes = STEP) -> bytes:
    return keccak(encode(["bytes32", "bytes32", "uint256"], [TASK, step, number]))


def test_a_run_makes_three_kinds_of_writes(bench: TreasuryBench) -> None:
    bench.open()
    assert bench.pay(2 * ETHER) == (True, NO_DATA)
    assert bench.send_tokens(7) == (True, NO_DATA)
    output = encode(["uint256"], [5])
    assert bench.call("take", 5, value=ETHER) == (True, keccak(output), output)
    call = bench.peer.artifact.encode_call("take", 5)
    writes = [
        hash_write(STEP, RECIPIENT, 2 * ETHER),
        hash_write(STEP, bench.token.address, 0, transfer_data(RECIPIENT, 7)),
        hash_write(STEP, bench.peer.address, ETHER, call),
    ]
    assert bench.treasury("closeRun", RUN, sender=AGENT) == hash_writes(writes)
    assert bench.status() == CLOSED
    assert bench.balance(RECIPIENT) == 2 * ETHER
    assert bench.token("balanceOf", RECIPIENT) == 7
    assert bench.treasury("spentOf", TASK, NATIVE) == 3 * ETHER
    assert bench.treasury("spentOn", TASK, RECIPIENT, bench.token.address) == 7
    assert bench.treasury("getWrite", TASK, STEP, 2) == (writes[2], keccak(output))
    assert bench.treasury("getTask", TASK) == (OPERATOR.address, bytes(32), 1, 3)


def test_hashes_are_those_that_others_compute(bench: TreasuryBench) -> None:
    data = transfer_data(RECIPIENT, 3)
    write = hash_write(STEP, RECIPIENT, 2, data)
    assert bench.treasury("hashWrite", STEP, RECIPIENT, 2, data) == write
    assert bench.treasury("hashWrites", [write, NO_DATA]) == hash_writes([write, NO_DATA])
    assert bench.treasury("hashWrites", []) == bytes(32)


# -- a retry -- #


def test_a_retry_skips_what_was_done(bench: TreasuryBench) -> None:
    bench.open()
    bench.pay(1)
    digest = bench.treasury("getRun", RUN)[5]
    bench.open(RETRY)  # as after a crash: the first run is still open
    assert bench.status(RUN) == CANCELLED
    assert bench.pay(1, RETRY) == (False, NO_DATA)
    (skipped,) = bench.treasury.events("WriteSkipped")
    assert (skipped["number"], skipped["writeHash"]) == (0, hash_write(STEP, RECIPIENT, 1))
    assert bench.treasury("getRun", RETRY)[5] == digest
    assert bench.pay(2, RETRY) == (True, NO_DATA)
    assert bench.balance(RECIPIENT) == 3


def test_a_retry_gets_the_result_hash_of_a_call(bench: TreasuryBench) -> None:
    bench.open()
    output = encode(["uint256"], [5])
    bench.call("take", 5)
    bench.open(RETRY)
    assert bench.call("take", 5, run=RETRY) == (False, keccak(output), b"")
    assert bench.peer("calls") == 1


def test_a_retry_that_writes_something_else_is_refused(bench: TreasuryBench) -> None:
    bench.open()
    bench.pay(1)
    bench.open(RETRY)
    done, given = hash_write(STEP, RECIPIENT, 1), hash_write(STEP, RECIPIENT, 2)
    with reverts("WriteDiffers", key(0), done, given):
        bench.pay(2, RETRY)
    assert bench.pay(2, RETRY, OTHER_STEP) == (True, NO_DATA)


def test_a_retry_has_what_is_left_of_the_budget(bench: TreasuryBench) -> None:
    bench.open()
    for _ in range(3):
        bench.pay()
    bench.open(RETRY)
    for _ in range(MAX_WRITES):  # three of which are skipped
        bench.pay(1, RETRY)
    with reverts("TooManyWrites", TASK, MAX_WRITES):
        bench.pay(1, RETRY)
    assert bench.balance(RECIPIENT) == MAX_WRITES


def test_the_same_write_twice_in_a_step_is_two_writes(bench: TreasuryBench) -> None:
    bench.open()
    bench.pay(1)
    bench.pay(1)
    assert bench.balance(RECIPIENT) == 2


def test_a_write_of_one_task_is_none_of_another(bench: TreasuryBench) -> None:
    bench.open()
    bench.pay(1)
    bench.open(RETRY, keccak(text="task_2"))
    assert bench.pay(1, RETRY) == (True, NO_DATA)


# -- a budget -- #


def test_the_sixth_write_is_refused(bench: TreasuryBench) -> None:
    bench.open()
    for _ in range(MAX_WRITES):
        bench.pay()
    with reverts("TooManyWrites", TASK, MAX_WRITES):
        bench.pay()
    assert bench.balance(RECIPIENT) == MAX_WRITES


def test_the_eleventh_step_is_refused(bench: TreasuryBench) -> None:
    bench.treasury("setLimits", MAX_STEPS, 20, False)  # noqa: FBT003 - the ABI has places
    bench.open(writes=20)
    for number in range(MAX_STEPS):
        bench.pay(1, step=number.to_bytes(32))
    with reverts("TooManySteps", TASK, MAX_STEPS):
        bench.pay(1, step=MAX_STEPS.to_bytes(32))
    assert bench.pay(1, step=bytes(32)) == (True, NO_DATA)  # an earlier step goes on


def test_a_budget_above_the_limits_is_refused(bench: TreasuryBench) -> None:
    for steps, writes in ((MAX_STEPS + 1, MAX_WRITES), (MAX_STEPS, MAX_WRITES + 1)):
        with reverts("BudgetAboveLimit", MAX_STEPS, MAX_WRITES):
            bench.open(steps=steps, writes=writes)
    bench.open(writes=0)
    with reverts("TooManyWrites", TASK, 0):
        bench.pay()


def test_a_run_past_its_deadline_writes_nothing_and_anybody_cancels_it(
    bench: TreasuryBench,
) -> None:
    bench.open()
    deadline = bench.time + RUN_SECONDS
    bench.pass_time(RUN_SECONDS)
    bench.pay()
    with reverts("NotParty", STRANGER.address, RUN):
        bench.treasury("cancelRun", RUN, sender=STRANGER)
    bench.pass_time(1)
    with reverts("RunExpired", RUN, deadline):
        bench.pay()
    bench.treasury("cancelRun", RUN, sender=STRANGER)
    assert bench.status() == CANCELLED
    with reverts("RunExpired", RETRY, 1):
        budget = (MAX_STEPS, MAX_WRITES, 1)
        arguments = (TASK, RETRY, AGENT.address, OPERATOR.address, budget)
        bench.treasury("openRun", *arguments, sender=OPERATOR)


# -- who may -- #


def test_only_operators_and_their_delegates_open_runs(bench: TreasuryBench) -> None:
    for sender in (STRANGER, OWNER, DELEGATE):
        with reverts("NotOperator", sender.address, OPERATOR.address):
            bench.open(sender=sender)
    bench.treasury("setDelegate", DELEGATE.address, True, sender=OPERATOR)  # noqa: FBT003
    bench.open(sender=DELEGATE)
    bench.treasury("setOperator", OPERATOR.address, False)  # noqa: FBT003
    for sender in (OPERATOR, DELEGATE):
        with reverts("NotOperator", sender.address, OPERATOR.address):
            bench.open(RETRY, sender=sender)


def test_only_the_agent_writes(bench: TreasuryBench) -> None:
    bench.open()
    for sender in (STRANGER, OPERATOR, OWNER):
        with reverts("NotAgent", sender.address, RUN):
            bench.treasury("transferNative", RUN, STEP, RECIPIENT, 1, sender=sender)


def test_the_agent_closes_and_does_not_cancel(bench: TreasuryBench) -> None:
    bench.open()
    with reverts("NotParty", AGENT.address, RUN):
        bench.treasury("cancelRun", RUN, sender=AGENT)
    with reverts("NotParty", STRANGER.address, RUN):
        bench.treasury("closeRun", RUN, sender=STRANGER)
    bench.treasury("closeRun", RUN, sender=AGENT)
    for function in ("closeRun", "cancelRun"):
        with reverts("RunNotOpen", RUN, CLOSED):
            bench.treasury(function, RUN, sender=OPERATOR)
    with reverts("RunNotOpen", RUN, CLOSED):
        bench.pay()


def test_an_id_of_a_run_is_used_once(bench: TreasuryBench) -> None:
    bench.open()
    with reverts("RunExists", RUN):
        bench.open()
    bench.treasury("cancelRun", RUN, sender=OPERATOR)
    with reverts("RunExists", RUN):
        bench.open()
    with reverts("RunExists", bytes(32)):
        bench.open(bytes(32))


def test_a_task_is_its_operators(bench: TreasuryBench) -> None:
    bench.open()
    bench.treasury("setOperator", STRANGER.address, True)  # noqa: FBT003
    budget = (1, 1, bench.time)
    arguments = (TASK, RETRY, AGENT.address, STRANGER.address, budget)
    with reverts("TaskOfAnother", TASK, OPERATOR.address):
        bench.treasury("openRun", *arguments, sender=STRANGER)
    assert bench.status() == OPEN


def test_a_pause_stops_writes_and_not_the_end(bench: TreasuryBench) -> None:
    bench.open()
    bench.treasury("pause")
    with reverts("EnforcedPause"):
        bench.pay()
    with reverts("EnforcedPause"):
        bench.open(RETRY)
    bench.treasury("closeRun", RUN, sender=AGENT)
    bench.treasury("unpause")
    bench.open(RETRY)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("setOperator", (RECIPIENT, True)),
        ("setLimits", (1, 1, False)),
        ("setAsset", (NATIVE, 1, 1)),
        ("removeAsset", (NATIVE,)),
        ("setTargetCap", (RECIPIENT, NATIVE, 1)),
        ("setSelector", (RECIPIENT, b"\x01\x02\x03\x04", True)),
        ("protect", (RECIPIENT,)),
        ("approve", (RECIPIENT, RECIPIENT, 1)),
        ("withdraw", (NATIVE, RECIPIENT, 1)),
        ("pause", ()),
    ],
)
def test_the_policy_is_the_owners(
    bench: TreasuryBench, function: str, arguments: tuple[object, ...]
) -> None:
    for sender in (OPERATOR, AGENT):
        with reverts("OwnableUnauthorizedAccount", sender.address):
            bench.treasury(function, *arguments, sender=sender)


def test_the_owner_takes_assets_out(bench: TreasuryBench) -> None:
    bench.treasury("withdraw", NATIVE, RECIPIENT, ETHER)
    bench.treasury("withdraw", bench.token.address, RECIPIENT, 9)
    assert (bench.balance(RECIPIENT), bench.token("balanceOf", RECIPIENT)) == (ETHER, 9)

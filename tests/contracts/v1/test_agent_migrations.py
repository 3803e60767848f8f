"""A wallet's way to the next version of its agent and back, for every kind of agent."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, final_answer, reverts
from tests.contracts.plain_evm import text_input as text_input_v2
from tests.contracts.v1.draft import params, text_input
from tests.contracts.v1.versioned_wallet import (
    CALLBACK_V1,
    CALLBACK_V2,
    EMBEDDED_V1,
    EMBEDDED_V2,
    Kind,
    Wallet,
)

KINDS = (EMBEDDED_V1, EMBEDDED_V2, CALLBACK_V1, CALLBACK_V2)
MIGRATIONS = [*permutations(KINDS, 2), *((kind, kind) for kind in KINDS)]


@pytest.mark.parametrize(("before", "after"), MIGRATIONS, ids=str)
def test_funds_permissions_and_open_runs_survive_a_migration_and_the_way_back(
    before: Kind, after: Kind
) -> None:
    wallet = Wallet(before, after)
    account, (old, new) = wallet.account, wallet.agents
    account("adopt", 1)
    first = wallet.begin(1, 10)
    assert wallet.deposited == (0 if before.is_callback else 10)

    account("adopt", 2)
    assert account("agent") == new.address
    assert account("isActive", old.address) == before.is_callback
    assert account("openRuns", old.address) == int(before.is_callback)

    # The open run ends on the version that started it, after the next one began a run.
    second = wallet.begin(2, 100)
    if before.is_callback:
        wallet.finish(1, first, 10)
        require_ended(wallet, 1, first)
    assert not account("isActive", old.address)
    assert wallet.deposited == 10 + (0 if after.is_callback else 100)

    # The way back: a run of the later version ends as well.
    account("goBack")
    assert account("agent") == old.address
    assert account("isActive", new.address) == after.is_callback
    third = wallet.begin(1, 1)
    if after.is_callback:
        wallet.finish(2, second, 100)
        require_ended(wallet, 2, second)
    if before.is_callback:
        wallet.finish(1, third, 1)
    assert [account("isActive", one.address) for one in (old, new)] == [True, False]
    assert wallet.deposited == 111

    # Funds, callers and tools are the account's.
    assert account("isCaller", STRANGER.address)
    assert all(account("isTool", tool.address) for tool in wallet.tools.values())
    account("ownerWithdraw", wallet.token.address, 111)
    assert wallet.deposited == 0


def require_ended(wallet: Wallet, version: int, run_id: int) -> None:
    (ended,) = wallet.account.events("RunEnded")
    agent = int(wallet.agents[version - 1].address, 16)
    assert (ended["agent"], ended["runId"], ended["result"]) == (agent, run_id, "done")


@pytest.mark.parametrize("kind", [EMBEDDED_V1, EMBEDDED_V2], ids=str)
def test_an_embedded_run_ends_in_its_transaction(kind: Kind) -> None:
    wallet = Wallet(kind)
    account, (agent,) = wallet.account, wallet.agents
    account("adopt", 1)
    assert wallet.begin(1, 10) == -1
    (ended,) = account.events("RunEnded")
    assert (ended["runId"], ended["result"]) == (2**256 - 1, "done")
    assert account("openRuns", agent.address) == 0


@pytest.mark.parametrize("kind", [EMBEDDED_V1, EMBEDDED_V2], ids=str)
def test_an_embedded_run_that_is_not_done_moves_nothing(kind: Kind) -> None:
    wallet = Wallet(kind)
    wallet.account("adopt", 1)
    executor = wallet.executors[kind.erc_version]
    step = (
        final_answer("UNSURE: which?")
        if kind.erc_version == 2
        else (True, "UNSURE: which?", ZERO, b"", "")
    )
    executor("willReturn", wallet.deposit(kind.erc_version, 10))
    executor("willReturn", step)
    with reverts("NotDone", "UNSURE: which?"):
        wallet.account("instruct", "deposit 10", sender=STRANGER)
    assert wallet.deposited == 0
    assert wallet.account("openRuns", wallet.agents[0].address) == 0


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_only_the_account_runs_its_agent(kind: Kind) -> None:
    wallet = Wallet(kind)
    wallet.account("adopt", 1)
    error = "CallerNotAllowed" if kind.is_callback else "OwnableUnauthorizedAccount"
    given = text_input("deposit 1") if kind.erc_version == 1 else text_input_v2("deposit 1")
    with reverts(error, STRANGER.address):
        wallet.agents[0]("run", given, ZERO, sender=STRANGER)


@pytest.mark.parametrize("kind", [CALLBACK_V1, CALLBACK_V2], ids=str)
def test_a_retired_version_without_an_open_run_uses_no_tool(kind: Kind) -> None:
    wallet = Wallet(kind, EMBEDDED_V1)
    account, (old, _) = wallet.account, wallet.agents
    account("adopt", 1)
    account("adopt", 2)
    old("setCaller", OWNER.address, True)  # noqa: FBT003 - Solidity's order
    given = text_input("deposit 10") if kind.erc_version == 1 else text_input_v2("deposit 10")
    run_id, _ = old("run", given, ZERO)
    assert wallet.answer(1, run_id, wallet.deposit(kind.erc_version, 10))
    assert wallet.deposited == 0
    assert old("resultOf", run_id).endswith("reverted")


@pytest.mark.parametrize("kind", [CALLBACK_V1, CALLBACK_V2], ids=str)
def test_abandoned_runs_end_without_effect(kind: Kind) -> None:
    wallet = Wallet(kind, EMBEDDED_V2)
    account, (old, _) = wallet.account, wallet.agents
    account("adopt", 1)
    run_id = wallet.begin(1, 10)
    account("adopt", 2)
    account("abandonRuns", old.address)
    assert wallet.answer(1, run_id, wallet.deposit(kind.erc_version, 10))
    assert wallet.deposited == 0
    assert (account("openRuns", old.address), old("runOf", run_id)[3]) == (0, True)


@pytest.mark.parametrize("kind", [CALLBACK_V1, CALLBACK_V2], ids=str)
def test_a_late_result_of_an_abandoned_run_ends_no_other(kind: Kind) -> None:
    wallet = Wallet(kind, EMBEDDED_V2)
    account, (old, _) = wallet.account, wallet.agents
    account("adopt", 1)
    abandoned = wallet.begin(1, 10)
    account("abandonRuns", old.address)
    current = wallet.begin(1, 20)
    wallet.finish(1, abandoned, 10)  # the chosen version may still use the tools
    require_ended(wallet, 1, abandoned)
    assert account("openRuns", old.address) == 1
    account("adopt", 2)
    assert account("isActive", old.address)
    wallet.finish(1, current, 20)
    require_ended(wallet, 1, current)
    assert not account("isActive", old.address)
    assert wallet.deposited == 30


def test_the_account_has_doors_for_its_owner_callers_and_tools() -> None:
    wallet = Wallet(CALLBACK_V2)
    account, stranger = wallet.account, STRANGER.address
    account("adopt", 1)
    account("setCaller", stranger, False)  # noqa: FBT003 - Solidity's order
    with reverts("CallerNotAllowed", stranger):
        account("instruct", "deposit 10", sender=STRANGER)
    with reverts("NotTool", stranger):
        account("deploy", wallet.token.address, 1, sender=STRANGER)
    for name in ("IERCAgentClient", "IERCAgentClientV1"):
        with reverts("UnexpectedResult", stranger, 1):
            wallet.bench.evm.at(name, account.address)("handleAgentResult", 1, "x", sender=STRANGER)
    with reverts("NotActiveAgent", stranger):
        wallet.tools[2]("run", ([], b""), ZERO, sender=STRANGER)
    with reverts("NotActiveAgent", stranger):
        wallet.tools[1]("run", (params([], []),), ZERO, sender=STRANGER)
    for call in (("adopt", 2), ("goBack",), ("setTool", stranger, True), ("abandonRuns", stranger)):
        with reverts("OwnableUnauthorizedAccount", stranger):
            account(*call, sender=STRANGER)

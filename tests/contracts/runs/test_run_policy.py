"""RunTreasury: caps, targets and functions; tokens and targets that do what they shouldn't."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import function_signature_to_4byte_selector

from tests.contracts.plain_evm import ZERO, reverts
from tests.contracts.runs.treasury_bench import (
    AGENT,
    ETHER,
    FREELY,
    NATIVE,
    NATIVE_CAP,
    NO_DATA,
    PROTECTED,
    RECIPIENT,
    RUN,
    STEP,
    TARGET_CAP,
    TASK,
    TOKEN_CAP,
    TreasuryBench,
    transfer_data,
)

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract

NOTHING, FALSE, FEE = 0, 1, 2
"""Members of OddToken's `Answer`."""

FUNDS = 10**6


@pytest.fixture
def bench() -> TreasuryBench:
    """A treasury with an open run."""
    opened = TreasuryBench()
    opened.open()
    return opened


def list_token(bench: TreasuryBench, token: Contract) -> Contract:
    """List a token, fund the treasury with it, and allow its transfer to the recipient."""
    bench.treasury("setAsset", token.address, TOKEN_CAP, FREELY)
    for target in (RECIPIENT, bench.peer.address):
        bench.treasury("setTargetCap", target, token.address, TOKEN_CAP)
    if not token("balanceOf", bench.treasury.address):
        bench.evm.send(token.address, transfer_data(bench.treasury.address, FUNDS))
    return token


def execute(bench: TreasuryBench, target: str, data: bytes, value: int = 0) -> object:
    return bench.treasury("executeCall", RUN, STEP, target, value, data, sender=AGENT)


def send(bench: TreasuryBench, token: Contract, amount: int) -> object:
    arguments = (RUN, STEP, token.address, RECIPIENT, amount)
    return bench.treasury("transferERC20", *arguments, sender=AGENT)


# -- caps -- #


def test_a_task_spends_its_cap_of_wei_at_most(bench: TreasuryBench) -> None:
    bench.pay(TARGET_CAP)
    bench.call("take", 1, value=NATIVE_CAP - TARGET_CAP)
    with reverts("AssetCapExceeded", NATIVE, NATIVE_CAP + 1, NATIVE_CAP):
        bench.call("take", 1, value=1)
    with reverts("AssetCapExceeded", NATIVE, NATIVE_CAP + 1, NATIVE_CAP):
        bench.pay(1)
    assert bench.call("take", 1)[0]  # without wei


def test_a_task_spends_its_cap_of_tokens_at_most(bench: TreasuryBench) -> None:
    bench.send_tokens(TOKEN_CAP)
    with reverts("AssetCapExceeded", bench.token.address, TOKEN_CAP + 1, TOKEN_CAP):
        bench.send_tokens(1)


def test_a_target_gets_its_cap_at_most(bench: TreasuryBench) -> None:
    bench.pay(TARGET_CAP)
    with reverts("TargetCapExceeded", RECIPIENT, NATIVE, TARGET_CAP + 1, TARGET_CAP):
        bench.pay(1)


def test_a_recipient_without_a_cap_gets_nothing(bench: TreasuryBench) -> None:
    stranger = "0x" + "77" * 20
    for amount in (0, 1):
        with reverts("TargetCapExceeded", stranger, NATIVE, amount, 0):
            bench.pay(amount, to=stranger)
        with reverts("TargetCapExceeded", stranger, bench.token.address, amount, 0):
            bench.send_tokens(amount, to=stranger)
        with reverts("TargetCapExceeded", stranger, NATIVE, amount, 0):
            execute(bench, stranger, b"", amount)


def test_the_largest_amount_is_above_every_cap(bench: TreasuryBench) -> None:
    most = 2**256 - 1
    bench.pay(1)
    with reverts("AssetCapExceeded", NATIVE, most, NATIVE_CAP):
        bench.pay(most)


def test_an_asset_that_is_not_listed_stays(bench: TreasuryBench) -> None:
    bench.treasury("removeAsset", bench.token.address)
    with reverts("AssetRefused", bench.token.address):
        bench.send_tokens(1)
    with reverts("AssetRefused", NATIVE):
        bench.treasury("transferERC20", RUN, STEP, NATIVE, RECIPIENT, 1, sender=AGENT)
    with reverts("AssetRefused", bench.token.address):
        bench.treasury("approve", bench.token.address, RECIPIENT, 1)
    assert bench.treasury("getAssets") == (NATIVE,)


def test_the_number_of_assets_is_bounded(bench: TreasuryBench) -> None:
    most = bench.treasury("MAX_ASSETS")
    for number in range(most - 2):
        bench.treasury("setAsset", "0x" + f"{number + 1:040x}", 1, 1)
    with reverts("TooManyAssets"):
        bench.treasury("setAsset", RECIPIENT, 1, 1)
    bench.treasury("setAsset", NATIVE, 1, 1)  # is one of them


def test_a_call_without_wei_is_a_transfer(bench: TreasuryBench) -> None:
    assert execute(bench, RECIPIENT, b"", 3) == (True, NO_DATA, b"")
    assert bench.treasury("spentOn", TASK, RECIPIENT, NATIVE) == 3


# -- targets -- #


def test_only_allowed_functions_are_called(bench: TreasuryBench) -> None:
    calls = bench.peer.artifact.encode_call("calls")
    with reverts("SelectorRefused", bench.peer.address, calls[:4]):
        execute(bench, bench.peer.address, calls)
    for size in (1, 3):
        with reverts("SelectorMissing", bench.peer.address):
            execute(bench, bench.peer.address, calls[:size])
    take = function_signature_to_4byte_selector("take(uint256)")
    bench.treasury("setSelector", bench.peer.address, take, False)  # noqa: FBT003 - the ABI has places
    with reverts("SelectorRefused", bench.peer.address, take):
        bench.call("take", 1)


def test_no_call_is_a_way_around_transfers(bench: TreasuryBench) -> None:
    """A token's `transfer` and `approve` by executeCall, even if the owner allows them."""
    for function in ("transfer(address,uint256)", "approve(address,uint256)"):
        bench.allow(bench.token, function)
    for function in ("transfer", "approve"):
        data = bench.token.artifact.encode_call(function, RECIPIENT, 1)
        with reverts("TargetRefused", bench.token.address):
            execute(bench, bench.token.address, data)


def test_the_treasury_does_not_call_itself(bench: TreasuryBench) -> None:
    own = bench.treasury.address
    bench.allow(bench.treasury, "closeRun(bytes32)")
    for asset in (NATIVE, bench.token.address):
        bench.treasury("setTargetCap", own, asset, 1)
    with reverts("TargetRefused", own):
        execute(bench, own, bench.treasury.artifact.encode_call("closeRun", RUN))
    with reverts("TargetRefused", own):
        bench.pay(1, to=own)
    with reverts("TargetRefused", own):
        bench.send_tokens(1, to=own)


def test_no_run_changes_a_registry(bench: TreasuryBench) -> None:
    """An agent that is the treasury's own can't be changed by a run."""
    identity = bench.evm.deploy("IdentityRegistry")
    bench.allow(identity, "setAgentURI(uint256,string)")
    bench.treasury("protect", identity.address)
    change = identity.artifact.encode_call("setAgentURI", 0, "ipfs://other")
    with reverts("TargetRefused", identity.address):
        execute(bench, identity.address, change)
    for target in (PROTECTED, ZERO):
        with reverts("TargetRefused", target):
            bench.pay(1, to=target)


def test_a_target_that_reverts_leaves_no_write(bench: TreasuryBench) -> None:
    reason = function_signature_to_4byte_selector("Broken(uint256)") + (7).to_bytes(32)
    with reverts("CallFailed", bench.peer.address, reason):
        bench.call("fail", 7, value=ETHER)
    assert bench.treasury("getRun", RUN)[6] == 0
    assert bench.treasury("spentOf", TASK, NATIVE) == 0
    assert bench.call("take", 7)[0]  # takes the place of the failed one


def test_wei_that_come_back_still_count(bench: TreasuryBench) -> None:
    before = bench.balance(bench.treasury.address)
    bench.call("giveBack", value=ETHER)
    assert bench.balance(bench.treasury.address) == before
    assert bench.treasury("spentOf", TASK, NATIVE) == ETHER


# -- re-entrancy -- #


@pytest.mark.parametrize("function", ["transferNative", "transferERC20", "executeCall"])
def test_a_target_that_is_the_agent_does_not_write_inside_of_a_write(
    bench: TreasuryBench, function: str
) -> None:
    peer, treasury = bench.peer.address, bench.treasury
    bench.open(b"\x01" * 32, agent=peer)
    arguments = {
        "transferNative": (RECIPIENT, 1),
        "transferERC20": (bench.token.address, RECIPIENT, 1),
        "executeCall": (RECIPIENT, 1, b""),
    }[function]
    inner = treasury.artifact.encode_call(function, b"\x01" * 32, STEP, *arguments)
    bench.peer("prepare", treasury.address, inner)
    outer = treasury.artifact.encode_call("transferNative", b"\x01" * 32, STEP, peer, 1)
    selector = function_signature_to_4byte_selector("ReentrancyGuardReentrantCall()")
    with reverts("CallFailed", peer, selector):
        bench.peer("send", treasury.address, [outer])
    assert bench.balance(RECIPIENT) == 0


@pytest.mark.parametrize("function", ["closeRun", "cancelRun"])
def test_a_target_does_not_end_the_run_inside_of_a_write(
    bench: TreasuryBench, function: str
) -> None:
    bench.peer(
        "prepare", bench.treasury.address, bench.treasury.artifact.encode_call(function, RUN)
    )
    selector = function_signature_to_4byte_selector("ReentrancyGuardReentrantCall()")
    with reverts("CallFailed", bench.peer.address, selector):
        bench.call("take", 1)


# -- tokens -- #


def test_what_a_target_pulls_by_an_approval_counts(bench: TreasuryBench) -> None:
    token, peer = bench.token, bench.peer.address
    bench.treasury("approve", token.address, peer, FUNDS)
    bench.call("pull", token.address, 400)
    assert bench.treasury("spentOn", TASK, peer, token.address) == 400
    with reverts("AssetCapExceeded", token.address, TOKEN_CAP + 1, TOKEN_CAP):
        bench.call("pull", token.address, TOKEN_CAP - 399)
    bench.treasury("setTargetCap", peer, token.address, 400)
    with reverts("TargetCapExceeded", peer, token.address, 401, 400):
        bench.call("pull", token.address, 1)
    assert token("balanceOf", peer) == 400


def test_a_token_without_a_return_value_is_transferred(bench: TreasuryBench) -> None:
    token = list_token(bench, bench.evm.deploy("OddToken", NOTHING, 6, 2 * FUNDS))
    assert send(bench, token, 5) == (True, NO_DATA)
    assert token("balanceOf", RECIPIENT) == 5


def test_a_token_that_returns_false_fails(bench: TreasuryBench) -> None:
    token = bench.evm.deploy("OddToken", FALSE, 6, FUNDS)
    list_token(bench, token)
    with reverts("SafeERC20FailedOperation", token.address):
        send(bench, token, 5)
    assert bench.treasury("getRun", RUN)[6] == 0


def test_a_token_with_a_fee_counts_what_left(bench: TreasuryBench) -> None:
    token = list_token(bench, bench.evm.deploy("OddToken", FEE, 6, 2 * FUNDS))
    send(bench, token, 5)
    assert token("balanceOf", RECIPIENT) == 4
    assert bench.treasury("spentOf", TASK, token.address) == 5


def test_a_token_with_a_surcharge_counts_what_left(bench: TreasuryBench) -> None:
    token = list_token(bench, bench.evm.deploy("SurchargeToken", 2 * FUNDS))
    fee = token("FEE")
    before = token("balanceOf", bench.treasury.address)
    send(bench, token, 7)
    assert before - token("balanceOf", bench.treasury.address) == 7 + fee
    assert bench.treasury("spentOf", TASK, token.address) == 7 + fee
    with reverts("AssetCapExceeded", token.address, TOKEN_CAP + 1, TOKEN_CAP):
        send(bench, token, TOKEN_CAP - 7 - 2 * fee + 1)


def test_a_token_that_is_no_contract_fails(bench: TreasuryBench) -> None:
    bench.treasury("setAsset", "0x" + "88" * 20, TOKEN_CAP, FREELY)
    bench.treasury("setTargetCap", RECIPIENT, "0x" + "88" * 20, TOKEN_CAP)
    with reverts(b""):
        arguments = (RUN, STEP, "0x" + "88" * 20, RECIPIENT, 1)
        bench.treasury("transferERC20", *arguments, sender=AGENT)

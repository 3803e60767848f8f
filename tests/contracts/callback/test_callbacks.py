"""AgentOracle: the gas and the calls of a callback, with clients that misbehave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import decode
from eth_utils import to_canonical_address

from tests.contracts.callback.oracle_bench import (
    ANSWERED,
    CALLBACK_GAS,
    EXPIRED,
    FEE,
    OTHER_WORKER,
    WORKER,
    Order,
)
from tests.contracts.plain_evm import (
    GAS,
    STRANGER,
    RevertedError,
    decode_error,
    reverts,
)

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench, Request, SignedAnswer
    from tests.contracts.plain_evm import Contract

TAKE, REVERT, REVERT_WITH_MEGABYTE, RETURN_MEGABYTE, BURN_GAS, WRITE = range(6)
MEGABYTE_GAS = 3_000_000
EIP_7825_GAS = 16_777_216


def least_gas(bench: OracleBench, signed: SignedAnswer) -> int:
    """Return the least gas limit with which an answer succeeds; the state is as before."""
    state = bench.evm.vm.state
    too_little, enough = 0, GAS
    while enough - too_little > 1:
        middle = (enough + too_little) // 2
        snapshot = state.snapshot()
        try:
            bench.send(signed, gas=middle)
            enough = middle
        except Exception:  # noqa: BLE001 - any failure of the transaction; also one of its validation
            too_little = middle
        state.revert(snapshot)
    return enough


def fail(bench: OracleBench, client: Contract, behaviour: int, gas: int) -> Request:
    """Let a client fail in its callback; return the request."""
    client("behave", behaviour, 0)
    request = bench.request(client, Order(callback_gas_limit=gas))
    assert not bench.answer(request)
    return request


def test_client_that_reverts_is_recorded_and_its_worker_paid(
    bench: OracleBench, client: Contract
) -> None:
    request = fail(bench, client, REVERT, CALLBACK_GAS)
    (finished,) = bench.oracle.events("CallbackFinished")
    assert not finished["success"]
    assert decode_error(finished["returned"]) == ("AnswerRefused", request.request_id)
    assert bench.oracle("claimable", WORKER.address) == FEE
    kept = (ANSWERED, b"the output", WORKER.address)
    assert bench.oracle("answerOf", request.request_id) == (*kept, False)

    assert not bench.oracle("retry", request.request_id)
    client("behave", TAKE, 0)
    assert bench.oracle("retry", request.request_id, sender=STRANGER)
    assert client.events("AnswerHandled")[0]["output"] == b"the output"
    assert bench.oracle("answerOf", request.request_id) == (*kept, True)
    assert bench.oracle("claimable", WORKER.address) == FEE
    with reverts("NothingToRetry", request.request_id):
        bench.oracle("retry", request.request_id)


def test_client_that_burns_its_gas_burns_no_more(bench: OracleBench, client: Contract) -> None:
    request = fail(bench, client, BURN_GAS, 5_000_000)
    assert 5_000_000 < bench.evm.last.get_gas_used() < 5_300_000
    (finished,) = bench.oracle.events("CallbackFinished")
    assert finished == {"requestId": request.request_id, "success": False, "returned": b""}
    assert bench.oracle("claimable", WORKER.address) == request.fee


@pytest.mark.parametrize("behaviour", [RETURN_MEGABYTE, REVERT_WITH_MEGABYTE])
def test_client_that_returns_a_megabyte_costs_its_own_gas_alone(
    bench: OracleBench, client: Contract, behaviour: int
) -> None:
    client("behave", behaviour, 0)
    request = bench.request(client, Order(callback_gas_limit=MEGABYTE_GAS))
    assert bench.answer(request) == (behaviour == RETURN_MEGABYTE)
    (finished,) = bench.oracle.events("CallbackFinished")
    assert len(finished["returned"]) == 132
    assert bench.evm.last.get_gas_used() < MEGABYTE_GAS


def test_client_without_code_gets_no_call_and_its_answer_is_kept(bench: OracleBench) -> None:
    request = bench.request(STRANGER)
    assert not bench.answer(request)
    assert bench.oracle.events("CallbackFinished")[0]["returned"] == b""
    assert not bench.oracle("retry", request.request_id)
    assert bench.oracle("claimable", WORKER.address) == FEE


def reentrant_calls(bench: OracleBench, client: Contract, waiting: Request) -> list[bytes]:
    """Return calldata for every function that changes the oracle's state and is locked."""
    signed = bench.sign(waiting)
    failed = fail(bench, bench.client(), REVERT, CALLBACK_GAS)
    encode_call = bench.oracle.artifact.encode_call
    calls = {
        "answer": signed.arguments(),
        "expire": (waiting.encoded(),),
        "retry": (failed.request_id,),
        "withdraw": (client.address,),
        "withdrawFor": (client.address,),
        "subscribe": (),
        "fund": (1,),
        "setConsumer": (1, client.address, True),
        "cancel": (1,),
        "setWorker": (client.address, True),
        "setPrices": ((1, 1, 1),),
    }
    stated = {
        element["name"]
        for element in bench.oracle.artifact.abi
        if element["type"] == "function" and element["stateMutability"] not in {"view", "pure"}
    }
    ownership = {"transferOwnership", "acceptOwnership", "renounceOwnership"}
    assert stated == {*calls, "request", "release", *ownership}
    return [encode_call(name, *arguments) for name, arguments in calls.items()]


@pytest.mark.parametrize("during", ["answer", "expire", "retry", "withdraw", "withdrawFor"])
def test_client_that_reenters_is_locked_out(
    bench: OracleBench, client: Contract, during: str
) -> None:
    subscribe = bench.oracle.artifact.encode_call("subscribe")
    client("callOracle", subscribe, value_wei=FEE)
    bench.oracle("transferOwnership", client.address)
    client("callOracle", bench.oracle.artifact.encode_call("acceptOwnership"))
    waiting = bench.request(client)
    calls = reentrant_calls(bench, client, waiting)
    if during.startswith("withdraw"):
        bench.request(bench.client(), Order(payer=client.address))
        other = bench.request(bench.client(), Order(payer=client.address))
        bench.pass_time(10**6)
        bench.oracle("release", other.budget_id)
        bench.oracle("expire", other.encoded())
    if during == "retry":
        request = fail(bench, client, REVERT, 5_000_000)
        client("behave", TAKE, 0)
    else:
        request = bench.request(client, Order(callback_gas_limit=5_000_000))
    before = bench.oracle("claimable", client.address)
    client("reenterWith", calls)
    if during == "answer":
        assert bench.answer(request)
    elif during == "expire":
        assert bench.expire(request)
    elif during == "retry":
        assert bench.oracle("retry", request.request_id)
    elif during == "withdrawFor":
        bench.oracle("withdrawFor", client.address, sender=STRANGER)
    else:
        withdraw = bench.oracle.artifact.encode_call("withdraw", client.address)
        client("callOracle", withdraw)
    tried = client.events("OracleCalled")
    assert len(tried) == len(calls)
    assert not any(one["success"] for one in tried)
    assert {decode_error(one["returned"]) for one in tried} == {("ReentrancyGuardReentrantCall",)}
    if during.startswith("withdraw"):
        assert (before, bench.oracle("claimable", client.address)) == (FEE, 0)
        assert bench.balance(client.address) == FEE
    else:
        assert bench.oracle("claimable", client.address) == before


def test_callback_may_request_and_release(bench: OracleBench, client: Contract) -> None:
    encode_call = bench.oracle.artifact.encode_call
    first = bench.request(client, Order(steps=3))
    other = bench.request(client, Order(steps=2))
    client(
        "reenterWith",
        [
            encode_call("request", Order(budget_id=first.budget_id).encoded()),
            encode_call("release", other.budget_id),
        ],
    )
    assert bench.answer(first)
    assert [one["success"] for one in client.events("OracleCalled")] == [True, True]
    (next_request,) = bench.requests()
    assert next_request.budget_id == first.budget_id
    assert bench.oracle("claimable", client.address) == FEE
    client("reenterWith", [])
    assert bench.answer(next_request, worker=OTHER_WORKER)
    assert bench.oracle("claimable", OTHER_WORKER.address) == FEE


def test_forged_sender_of_an_answer_is_refused(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    with reverts("NotOracle", STRANGER.address):
        client("handleAnswer", request.request_id, ANSWERED, b"forged", sender=STRANGER)


@pytest.mark.parametrize("gas_limit", [0, 1, 62, 63, 10_000, CALLBACK_GAS, 11_000_000])
@pytest.mark.parametrize("output", [b"", b"\xff" * 3_000])
def test_least_gas_that_succeeds_gives_the_callback_what_was_paid(
    bench: OracleBench, client: Contract, gas_limit: int, output: bytes
) -> None:
    # GAS, PUSH0, SSTORE: the callback stores what gas it has, less the two of GAS itself.
    request = bench.request(client, Order(callback_gas_limit=gas_limit))
    state = bench.evm.vm.state
    bench.pass_time(12, blocks=1)
    signed = bench.sign(request, output)
    state.set_code(to_canonical_address(client.address), bytes.fromhex("5a5f5500"))
    gas = least_gas(bench, signed)
    before = state.snapshot()
    with pytest.raises(RevertedError):
        bench.send(signed, gas=gas - 1)
    assert bench.evm.last.get_log_entries() == ()
    assert state.get_storage(to_canonical_address(client.address), 0) == 0
    assert bench.oracle("commitmentOf", request.request_id) != bytes(32)
    assert bench.oracle("claimable", WORKER.address) == 0
    state.revert(before)

    takes = gas_limit > 22_200  # what SSTORE needs
    assert bench.send(signed, gas=gas) == takes
    seen = state.get_storage(to_canonical_address(client.address), 0)
    assert seen == (gas_limit - 2 if takes else 0)


@pytest.mark.parametrize("behaviour", [TAKE, BURN_GAS])
def test_longest_answer_with_most_gas_fits_into_a_transaction(
    bench: OracleBench, client: Contract, behaviour: int
) -> None:
    assert bench.oracle("MAX_CALLBACK_GAS") == 11_000_000
    client("behave", behaviour, 0)
    request = bench.request(client, Order(callback_gas_limit=11_000_000))
    bench.pass_time(12, blocks=1)
    assert least_gas(bench, bench.sign(request, b"\xff" * 24_575)) <= EIP_7825_GAS


def test_retry_with_more_gas_delivers(bench: OracleBench, client: Contract) -> None:
    client("behave", WRITE, 50)  # more than a million gas
    request = bench.request(client, Order(callback_gas_limit=CALLBACK_GAS))
    assert not bench.answer(request)
    assert bench.oracle.events("CallbackFinished")[0]["returned"] == b""
    assert not bench.oracle("retry", request.request_id, gas=800_000)
    assert bench.oracle("retry", request.request_id, gas=3_000_000)
    assert bench.oracle("answerOf", request.request_id)[3]


def test_retry_with_less_gas_than_was_promised_is_refused(
    bench: OracleBench, client: Contract
) -> None:
    request = fail(bench, client, REVERT, CALLBACK_GAS)
    with pytest.raises(RevertedError) as caught:
        bench.oracle("retry", request.request_id, gas=CALLBACK_GAS + 21_000)
    assert caught.value.error[0] == "InsufficientGas"
    gas_left, gas_needed = caught.value.error[1:]
    assert isinstance(gas_left, int)
    assert isinstance(gas_needed, int)
    assert gas_left < gas_needed
    assert not bench.oracle("retry", request.request_id, gas=CALLBACK_GAS + 120_000)


def test_expiry_gives_the_callback_its_gas_too(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    bench.pass_time(10**6)
    with pytest.raises(RevertedError) as caught:
        bench.oracle("expire", request.encoded(), gas=CALLBACK_GAS + 40_000)
    assert caught.value.error[0] == "InsufficientGas"
    client("behave", REVERT, 0)
    assert not bench.oracle("expire", request.encoded())
    client("behave", TAKE, 0)
    assert bench.oracle("retry", request.request_id)
    handled = {"requestId": request.request_id, "outcome": EXPIRED, "output": b""}
    assert client.events("AnswerHandled") == [handled]


def test_record_is_written_before_the_callback(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    read = bench.oracle.artifact.encode_call
    client(
        "reenterWith",
        [read("answerOf", request.request_id), read("commitmentOf", request.request_id)],
    )
    assert bench.answer(request)
    answer, commitment = (one["returned"] for one in client.events("OracleCalled"))
    assert decode(["uint8", "bytes", "address", "bool"], answer) == (
        *(ANSWERED, b"the output", WORKER.address),
        False,
    )
    assert commitment == bytes(32)

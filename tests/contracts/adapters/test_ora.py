"""OraAdapter: contracts that were written for ORA's oracle, unchanged."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_utils import function_signature_to_4byte_selector
from eth_utils.abi import abi_to_signature

from pyevm_agents.abi.bundled import load_artifact
from tests.contracts.adapters.adapter_bench import MODEL, TIMEOUT, AdapterBench, ora_bench
from tests.contracts.callback.oracle_bench import ITERATION_TYPE, OTHER_WORKER, WORKER
from tests.contracts.challenge.challenge_bench import WINDOW, ChallengeBench, hash_answer
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, Contract, final_answer, reverts

GAS_LIMIT = 300_000
DATA = b"my own data"


@pytest.fixture
def bench() -> AdapterBench:
    return ora_bench()


def ask(bench: AdapterBench, *, extra_wei: int = 0, gas_limit: int = GAS_LIMIT) -> int:
    """Ask as the contract; return the fee."""
    fee: int = bench.adapter("estimateFee", 11, gas_limit)
    value = fee + extra_wei
    bench.consumer("ask", 11, "Who are you?", gas_limit, DATA, value_wei=value)
    return fee


def test_the_interface_is_that_of_oao() -> None:
    """The signatures of OAO's deployed contracts, and the selectors that they call."""
    abi = [e for e in load_artifact("OraAdapter").abi if e["type"] in {"function", "event"}]
    assert {abi_to_signature(element) for element in abi} >= {
        "requestCallback(uint256,bytes,address,uint64,bytes)",
        "requestCallback(uint256,bytes,address,uint64,bytes,uint8,uint8)",
        "estimateFee(uint256,uint256)",
        "isFinalized(uint256)",
        "AICallbackRequest(address,uint256,uint256,bytes,address,uint64,bytes)",
        "AICallbackRequest(address,uint256,uint256,bytes,address,uint64,bytes,uint8,uint8,uint256)",
        "AICallbackResult(address,uint256,address,bytes)",
    }
    receiver = load_artifact("IAIOracleCallbackReceiver")
    assert receiver.encode_call("aiOracleCallback", 0, b"", b"")[:4].hex() == "b0347814"
    assert receiver.encode_call("aiOracleCallbackError", 0, 0, b"", b"")[:4].hex() == "8e6fd006"


def test_an_answer_comes_by_ai_oracle_callback(bench: AdapterBench) -> None:
    fee = ask(bench)
    assert bench.arguments() == (MODEL, "You answer.", (), (), (), "Who are you?")
    request_id = bench.consumer("requestId")
    assert bench.adapter("isFinalized", request_id) is False
    assert bench.say_text("A model.")
    assert bench.consumer("output") == b"A model."
    assert bench.consumer("callbackData") == DATA
    assert bench.adapter("isFinalized", request_id) is True
    assert bench.oracle("claimable", WORKER.address) == fee


def test_both_overloads_ask(bench: AdapterBench) -> None:
    fee = bench.adapter("estimateFee", 11, GAS_LIMIT)
    bench.consumer("askWithDA", "Who are you?", GAS_LIMIT, 0, value_wei=fee)
    assert bench.say_text("A model.")
    assert bench.consumer("output") == b"A model."
    with reverts("UnsupportedDataAvailability", 2, 0):
        bench.consumer("askWithDA", "Who are you?", GAS_LIMIT, 2, value_wei=fee)


def test_the_contract_gets_the_gas_that_it_asked_for(bench: AdapterBench) -> None:
    ask(bench)
    assert bench.say_text("Short.")
    seen = bench.consumer("gasSeen")
    assert GAS_LIMIT - 2_000 <= seen <= GAS_LIMIT


def test_the_longest_output_fits_into_the_adapters_own_gas(bench: AdapterBench) -> None:
    """The contract can't store it with its gas; the adapter passes it on all the same."""
    ask(bench)
    assert bench.say_text("x" * 24_000)
    assert len(bench.adapter.events("AnswerPassedOn")) == 1


def test_a_contract_that_fails_can_be_called_again(bench: AdapterBench) -> None:
    ask(bench)
    bench.consumer("setFails", True)  # noqa: FBT003 - Solidity's order
    assert bench.say_text("A model.")  # the adapter took it
    (passed,) = bench.adapter.events("AnswerPassedOn")
    assert passed["success"] is False
    assert passed["returned"] == function_signature_to_4byte_selector("NotReady()")
    assert bench.adapter("retry", 1) is False
    bench.consumer("setFails", False)  # noqa: FBT003 - Solidity's order
    assert bench.adapter("retry", 1, sender=STRANGER) is True
    assert bench.consumer("output") == b"A model."
    with reverts("NothingToRetry", 1):
        bench.adapter("retry", 1)


def test_a_retry_gives_at_least_the_promised_gas(bench: AdapterBench) -> None:
    ask(bench)
    bench.consumer("setFails", True)  # noqa: FBT003 - Solidity's order
    bench.say_text("A model.")
    data = bench.adapter.artifact.encode_call("retry", 1)
    with pytest.raises(Exception, match="InsufficientGas"):
        bench.evm.send(bench.adapter.address, data, gas=GAS_LIMIT)


def test_a_contract_may_ask_again_in_its_callback(bench: AdapterBench) -> None:
    bench.consumer("setAsksAgain", True)  # noqa: FBT003 - Solidity's order
    ask(bench, gas_limit=2_000_000)
    bench.give(bench.consumer, 10**18)
    assert bench.say_text("once")
    assert bench.say_text("twice")
    assert bench.consumer("output") == b"twice"


def test_a_refused_prompt_comes_by_ai_oracle_callback_error(bench: AdapterBench) -> None:
    ask(bench)
    assert bench.refuse(b"\x01\x02\x03\x04")
    assert bench.consumer("message") == b"\x01\x02\x03\x04"
    assert bench.consumer("callbackData") == DATA
    assert bench.consumer("output") == b""


def test_an_output_that_is_no_result_is_an_error(bench: AdapterBench) -> None:
    ask(bench)
    assert bench.answer(bench.last_request(), b"nothing of the kind")
    assert bench.consumer("message") == b"nothing of the kind"


def test_the_fee_of_an_expired_request_comes_back(bench: AdapterBench) -> None:
    fee = ask(bench)
    bench.pass_time(TIMEOUT + 1)
    assert bench.expire(bench.last_request())
    assert bench.adapter.events("RequestExpired") == [{"requestId": 1}]
    assert bench.adapter("refundable", bench.consumer.address) == fee
    before = bench.balance(bench.consumer.address)
    bench.adapter("sendRefund", bench.consumer.address, sender=STRANGER)
    assert bench.balance(bench.consumer.address) - before == fee
    with reverts("NothingToRefund", bench.consumer.address):
        bench.adapter("sendRefund", bench.consumer.address)
    assert bench.balance(bench.oracle.address) == 0
    assert bench.balance(bench.adapter.address) == 0


def test_the_fee_comes_back_if_somebody_released_the_budget_first(bench: AdapterBench) -> None:
    fee = ask(bench)
    request = bench.last_request()
    bench.pass_time(TIMEOUT + 1)
    bench.oracle("release", request.budget_id, sender=STRANGER)
    assert bench.expire(request)
    bench.adapter("sendRefund", bench.consumer.address)
    assert bench.balance(bench.consumer.address) == fee


def test_what_was_paid_over_the_fee_comes_back(bench: AdapterBench) -> None:
    ask(bench, extra_wei=77)
    bench.adapter("sendRefund", bench.consumer.address)
    assert bench.balance(bench.consumer.address) == 77


def test_refunds_of_one_account_are_not_anothers(bench: AdapterBench) -> None:
    ask(bench, extra_wei=77)
    other = bench.consumer_of(bench.adapter)
    with reverts("NothingToRefund", other.address):
        bench.adapter("sendRefund", other.address)


def test_a_request_is_checked_as_by_oao(bench: AdapterBench) -> None:
    fee = bench.adapter("estimateFee", 11, GAS_LIMIT)
    with reverts("InsufficientFee", fee - 1, fee):
        bench.consumer("ask", 11, "Hi", GAS_LIMIT, b"", value_wei=fee - 1)
    with reverts("EmptyInput"):
        bench.consumer("ask", 11, "", GAS_LIMIT, b"", value_wei=fee)
    with reverts("WrongGasLimit", bench.consumer.address, 0):
        bench.consumer("ask", 11, "Hi", 0, b"", value_wei=fee)
    with reverts("ModelNotServed", 12):
        bench.consumer("ask", 12, "Hi", GAS_LIMIT, b"", value_wei=fee)
    with reverts("ModelNotServed", 12):
        bench.adapter("estimateFee", 12, GAS_LIMIT)


def test_only_the_oracle_answers_and_once(bench: AdapterBench) -> None:
    ask(bench)
    request = bench.last_request()
    for who in (OWNER, WORKER):
        with reverts("NotOracle", who.address):
            bench.adapter("handleAnswer", request.request_id, 1, b"", sender=who)
    with reverts("NotOracle", OWNER.address):
        bench.evm.send(bench.adapter.address, b"", value_wei=1)


@pytest.mark.parametrize("name", ["oracle", "adapter"])
def test_the_adapter_calls_neither_its_oracle_nor_itself(bench: AdapterBench, name: str) -> None:
    target: Contract = getattr(bench, name)
    with reverts("ForbiddenTarget", target.address):
        data = requesting(target.address)
        bench.evm.send(bench.adapter.address, data, value_wei=10**18)


def test_without_a_callback_contract_the_answer_is_kept(bench: AdapterBench) -> None:
    fee = bench.adapter("estimateFee", 11, 0)
    data = requesting(ZERO, 0)
    bench.evm.send(bench.adapter.address, data, value_wei=fee)
    assert bench.say_text("A model.")
    assert bench.adapter("isFinalized", 1)


def test_only_the_owner_names_models(bench: AdapterBench) -> None:
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        bench.adapter("setModel", 12, MODEL, "", sender=STRANGER)


def requesting(target: str, gas_limit: int = GAS_LIMIT) -> bytes:
    """Return calldata of the first overload."""
    selector = function_signature_to_4byte_selector(
        "requestCallback(uint256,bytes,address,uint64,bytes)"
    )
    types = ["uint256", "bytes", "address", "uint64", "bytes"]
    return selector + encode(types, [11, b"Hi", target, gas_limit, b""])


def test_by_a_challengeable_oracle_the_answer_comes_once_it_is_final() -> None:
    bench = ChallengeBench()
    adapter = bench.evm.deploy("OraAdapter", OWNER.address, bench.oracle.address, TIMEOUT)
    adapter("setModel", 11, MODEL, "You answer.")
    consumer = bench.evm.deploy("OraConsumer", adapter.address)
    fee = adapter("estimateFee", 11, GAS_LIMIT)
    consumer("ask", 11, "Who are you?", GAS_LIMIT, DATA, value_wei=fee)
    request = list(bench.evm.seen.values())[-1]
    wrong = bench.propose(request, encode([ITERATION_TYPE], [final_answer("A lie.")]))
    assert adapter("isFinalized", 1) is False
    bench.challenge(request, wrong)
    right = encode([ITERATION_TYPE], [final_answer("A model.")])
    bench.rule(request, wrong, hash_answer(right))
    bench.propose(request, right, worker=OTHER_WORKER)
    bench.pass_time(WINDOW + 1)
    assert bench.finalize(request)
    assert consumer("output") == b"A model."
    assert adapter("isFinalized", 1) is True

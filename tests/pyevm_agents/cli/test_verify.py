"""`verify`: answers of an oracle on a served node, computed again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from eth_utils import keccak

from precompiles.abi import FinalAnswer, encode_result
from precompiles.errors import Refusal
from pyevm_agents.cli import verify as verify_module
from pyevm_agents.cli.app import main
from pyevm_agents.oracle.messages import Answer, ComputedAnswer
from pyevm_agents.oracle.recomputation import ForkComputer
from tests.byte_model import ByteModel
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.oracle.conftest import host
from tests.pyevm_agents.oracle.oracle_chain import OracleChain, count_and_answer
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result


@pytest.fixture
def oracle_chain(monkeypatch: pytest.MonkeyPatch) -> Iterator[OracleChain]:
    served = Served()

    def open_computer(url: str, *_: object, **__: object) -> ForkComputer:
        return ForkComputer(url, host(ByteModel(count_and_answer)), retries=0)

    monkeypatch.setattr(verify_module, "open_computer", open_computer)
    with fake_remote(served) as remote:
        yield OracleChain(served.ask, remote.url)
    served.close()


def run(oracle_chain: OracleChain, transaction: str, *options: str) -> Result:
    words = ["verify", transaction, "--rpc-url", oracle_chain.url, *options]
    return CliRunner().invoke(main, words)


def answer_first(oracle_chain: OracleChain, change: Any = None) -> str:  # noqa: ANN401
    """Start a run and answer its first request, truly or as changed; return the transaction."""
    request = oracle_chain.ask_agent()
    with ForkComputer(oracle_chain.url, host(ByteModel(count_and_answer))) as computer:
        computed = computer.compute(request)
    if change is not None:
        computed = change(computed)
    return str(oracle_chain.submit(request, computed)["transactionHash"])


def lie(output: bytes, *, refused: bool = False) -> Any:  # noqa: ANN401
    def change(computed: ComputedAnswer) -> ComputedAnswer:
        evidence = replace(computed.evidence, output_hash=keccak(output))
        return ComputedAnswer(Answer(refused, output), evidence)

    return change


def test_true_answer_is_equal(oracle_chain: OracleChain) -> None:
    transaction = answer_first(oracle_chain)
    told = run(oracle_chain, transaction)
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    assert "Thought      The user wants 7" in lines
    assert f"Tool         CounterTool {oracle_chain.counter.address}" in lines
    assert 'Arguments    {"amount": 7}' in lines
    assert lines[-1].startswith("equal")
    assert "differs" not in told.stdout
    [form] = json.loads(run(oracle_chain, transaction, "--json").stdout)
    assert form["isEqual"]
    assert form["isDirect"]
    assert form["answered"] == form["computed"]
    assert set(form["comparisons"]) == {
        *("block", "model", "profile", "prompt hash", "kind", "output hash", "output", "signer")
    }


def test_wrong_answer_differs(oracle_chain: OracleChain) -> None:
    wrong = encode_result(FinalAnswer(answer="Send me your keys."))
    told = run(oracle_chain, answer_first(oracle_chain, lie(wrong)))
    assert told.exit_code == 1
    assert "  -answer: Send me your keys." in told.stdout.splitlines()
    assert "  +thought: The user wants 7" in told.stdout.splitlines()


def test_invented_refusal_differs(oracle_chain: OracleChain) -> None:
    refusal = Refusal("UnknownModel", "x").encode()
    told = run(oracle_chain, answer_first(oracle_chain, lie(refusal, refused=True)), "--json")
    assert told.exit_code == 1
    [form] = json.loads(told.stdout)
    assert form["answered"] == {"refused": "UnknownModel(modelId='x')"}
    assert not form["comparisons"]["kind"]["isEqual"]


def test_other_build_is_explained(oracle_chain: OracleChain) -> None:
    def change(computed: ComputedAnswer) -> ComputedAnswer:
        evidence = replace(computed.evidence, profile_fingerprint=b"\x01" * 32)
        return replace(computed, evidence=evidence)

    told = run(oracle_chain, answer_first(oracle_chain, change))
    assert told.exit_code == 0
    assert "Note: the worker's engine is another build" in told.stdout


def test_answer_by_another_contract_says_so(oracle_chain: OracleChain) -> None:
    request = oracle_chain.ask_agent()
    with ForkComputer(oracle_chain.url, host(ByteModel(count_and_answer))) as computer:
        data = oracle_chain.encode_signed(request, computer.compute(request))
    caller = oracle_chain.deploy("Caller")
    receipt = caller.send("forward", 0, oracle_chain.oracle.address, 0, 0, data)
    told = run(oracle_chain, receipt["transactionHash"])
    assert told.exit_code == 0, told.output
    assert "Note: the transaction called another contract" in told.stdout


def test_what_cannot_be_checked_has_a_status_of_its_own(oracle_chain: OracleChain) -> None:
    unknown = run(oracle_chain, "0x" + "12" * 32)
    assert unknown.exit_code == 3
    assert "not in a block" in unknown.stderr
    receipt = oracle_chain.send(oracle_chain.sender, b"")
    plain = run(oracle_chain, receipt["transactionHash"])
    assert plain.exit_code == 3
    assert "has no answer to a request" in plain.stderr
    assert run(oracle_chain, "0x12").exit_code == 2


def test_proposed_answers_are_checked(oracle_chain: OracleChain) -> None:
    oracle = oracle_chain.deploy_challengeable()
    caller = oracle_chain.deploy("Caller")
    for is_direct in (True, False):
        request = oracle_chain.ask_agent(agent=oracle_chain.deploy_agent(oracle=oracle))
        with ForkComputer(oracle_chain.url, host(ByteModel(count_and_answer))) as computer:
            computed = computer.compute(request)
        oracle_chain.stake_of_worker(oracle)
        if is_direct:
            receipt = oracle_chain.submit(request, computed)
        else:
            data = oracle_chain.encode_signed(request, computed)
            receipt = caller.send("forward", 0, oracle.address, 0, 0, data)
        told = run(oracle_chain, receipt["transactionHash"], "--json")
        assert told.exit_code == 0, told.output
        [form] = json.loads(told.stdout)
        assert form["isDirect"] == is_direct
        assert (form["answered"] is None) == (not is_direct)
        assert any("only their hash is compared" in note for note in form["notes"]) != is_direct

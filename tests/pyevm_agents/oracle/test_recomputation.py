"""Answers computed on forks: those of embedded execution, with their evidence."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

import pytest
from eth._utils.address import generate_contract_address
from eth_typing import Address
from eth_utils import keccak, to_checksum_address

from precompiles.decoding_rules import SHORT_FORMAT
from precompiles.errors import error_selector
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.fakes.script_steps import answer, use
from pyevm_agents.oracle.messages import Answer
from pyevm_agents.oracle.recomputation import (
    KEPT_FORKS,
    NO_HASH,
    ForkComputer,
    ModelOptions,
    RequestBlockGoneError,
    open_computer,
)
from pyevm_agents.oracle.signatures import compute_digest, recover_signer, sign_evidence
from tests.byte_model import PROFILE, ByteModel
from tests.pyevm_agents.forking.fake_remote import fake_remote
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES
from tests.pyevm_agents.oracle.conftest import FINGERPRINT, host
from tests.pyevm_agents.oracle.oracle_chain import (
    BASE_PROMPT,
    WORKER,
    WORKER_KEY,
    OracleChain,
    count_and_answer,
)
from tests.pyevm_agents.rpc.served import Served

if TYPE_CHECKING:
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.oracle.messages import AgentRequest
    from tests.pyevm_agents.forking.fake_remote import FakeRemote


def test_run_is_answered_step_by_step(
    oracle_chain: OracleChain, computer: ForkComputer, model: ByteModel
) -> None:
    request = oracle_chain.ask_agent()
    computed = computer.compute(request)
    assert not computed.answer.refused
    assert computed.prompt == model.prompts[0]
    assert computed.evidence.block_hash == request.block_hash
    assert computed.evidence.model_digest == PROFILE.digest
    assert computed.evidence.profile_fingerprint == keccak(text=FINGERPRINT)
    assert computed.evidence.prompt_hash == keccak(text=model.prompts[0])
    assert computed.evidence.output_hash == keccak(computed.answer.output)
    receipt = oracle_chain.submit(request, computed)
    assert oracle_chain.counter.read("number") == 7
    [following] = oracle_chain.find_requests(receipt)
    oracle_chain.submit(following, computer.compute(following))
    assert oracle_chain.agent.read("resultOf", 1) == "The counter has it."
    assert oracle_chain.agent.read("statusOf", 1) == 4


def test_what_the_rules_decide_has_evidence_that_another_worker_computes_again(
    oracle_chain: OracleChain,
) -> None:
    hosted = host(ByteModel(lambda asked: asked.decided))
    short = replace(PROFILE, decoding=(("short_format", SHORT_FORMAT),))
    hosted = replace(hosted, config=replace(hosted.config, models=(short,)))
    request = oracle_chain.ask_agent(prompt="Add 7")
    with (
        ForkComputer(oracle_chain.url, hosted) as computer,
        ForkComputer(oracle_chain.url, hosted) as another,
    ):
        computed = computer.compute(request)
        assert another.compute(request) == computed
        assert computed.prompt is not None
        assert computed.evidence.prompt_hash == keccak(text=computed.prompt)
        [following] = oracle_chain.find_requests(oracle_chain.submit(request, computed))
        assert oracle_chain.counter.read("number") == 7
        oracle_chain.submit(following, computer.compute(following))
    assert oracle_chain.agent.read("statusOf", 1) == 4


def test_digest_is_the_contracts(oracle_chain: OracleChain, computer: ForkComputer) -> None:
    request = oracle_chain.ask_agent()
    computed = computer.compute(request)
    for refused in (False, True):
        answered = Answer(refused, computed.answer.output)
        digest = oracle_chain.oracle.read(
            "digestOf",
            request.commitment.request_id,
            request.commitment.arguments_hash,
            refused,
            astuple(computed.evidence),
        )
        assert digest == compute_digest(31337, request, answered, computed.evidence)
        signature = sign_evidence(WORKER_KEY, 31337, request, answered, computed.evidence)
        signer = recover_signer(digest, signature)
        assert signer == bytes.fromhex(WORKER[2:])
        for damaged in (signature[:-1], bytes(65), signature[:-1] + b"\x00"):
            assert recover_signer(digest, damaged) is None


def test_answer_is_of_the_state_after_the_requests_block(
    oracle_chain: OracleChain, computer: ForkComputer
) -> None:
    sender = bytes.fromhex(oracle_chain.sender[2:])
    nonce = int(oracle_chain.ask("eth_getTransactionCount", oracle_chain.sender, "latest"), 16)
    tool = to_checksum_address(generate_contract_address(Address(sender), nonce + 2))
    agent = oracle_chain.deploy_agent(tools=(tool,))
    before = oracle_chain.ask_agent(agent=agent)
    assert oracle_chain.deploy("CounterTool").address == tool
    after = oracle_chain.ask_agent(agent=agent)
    assert not computer.compute(after).answer.refused
    assert computer.compute(before).answer.output[:4] == error_selector("ToolWithoutCode")


def test_refusals_are_answers(oracle_chain: OracleChain, computer: ForkComputer) -> None:
    unknown = oracle_chain.ask_agent(agent=oracle_chain.deploy_agent(model="no-such-model"))
    computed = computer.compute(unknown)
    assert computed.answer.refused
    assert computed.answer.output[:4] == error_selector("UnknownModel")
    assert computed.evidence.model_digest == computed.evidence.prompt_hash == NO_HASH
    oracle_chain.submit(unknown, computed)

    no_tool = oracle_chain.ask_agent(agent=oracle_chain.deploy_agent(tools=(WORKER,)))
    computed = computer.compute(no_tool)
    assert computed.answer.output[:4] == error_selector("ToolWithoutCode")
    assert computed.evidence.model_digest == PROFILE.digest
    assert computed.evidence.prompt_hash == NO_HASH


def test_prompt_that_is_too_long_is_refused_with_its_hash(oracle_chain: OracleChain) -> None:
    hosted = host(ByteModel(count_and_answer))
    small = replace(PROFILE, context_tokens=1_000)
    hosted = replace(hosted, config=replace(hosted.config, models=(small,)))
    with ForkComputer(oracle_chain.url, hosted) as computer:
        computed = computer.compute(oracle_chain.ask_agent())
    assert computed.answer.refused
    assert computed.answer.output[:4] == error_selector("ContextTooLong")
    assert computed.prompt is not None
    assert BASE_PROMPT in computed.prompt
    assert computed.evidence.prompt_hash == keccak(text=computed.prompt)


def test_faults_are_no_answers(oracle_chain: OracleChain) -> None:
    def fail(_: object) -> str:
        raise EngineFault("the engine died")

    request = oracle_chain.ask_agent()
    with (
        ForkComputer(oracle_chain.url, host(ByteModel(fail))) as computer,
        pytest.raises(EngineFault, match="the engine died"),
    ):
        computer.compute(request)
    with (
        ForkComputer(oracle_chain.url, host(ByteModel(["nonsense"]))) as computer,
        pytest.raises(EngineFault, match="violates its grammar"),
    ):
        computer.compute(request)


def test_request_of_a_removed_block_is_not_answered(
    oracle_chain: OracleChain, computer: ForkComputer, remote: FakeRemote
) -> None:
    kept = remote.served.ask("evm_snapshot")
    request = oracle_chain.ask_agent()
    computer.compute(request)
    remote.served.ask("evm_revert", kept)
    with pytest.raises(RequestBlockGoneError, match="there is none"):
        computer.compute(request)
    oracle_chain.send(oracle_chain.sender, b"other")
    with pytest.raises(RequestBlockGoneError, match="is not on the chain any more"):
        computer.compute(request)


def test_forks_are_shared_and_closed(
    oracle_chain: OracleChain, computer: ForkComputer, remote: FakeRemote
) -> None:
    requests = [oracle_chain.ask_agent() for _ in range(KEPT_FORKS + 1)]
    answers = [computer.compute(request).answer for request in requests]
    remote.forget()
    assert computer.compute(requests[-1]).answer == answers[-1]
    assert remote.methods == ["eth_getBlockByNumber"]
    assert computer.compute(requests[0]).answer == answers[0]
    assert "eth_getCode" in remote.methods


def embedded(served: Served, request: AgentRequest) -> bytes:
    """Return what the node's own executor says to a request's client."""
    call = {
        "from": "0x" + request.commitment.client.hex(),
        "to": "0x" + "19".zfill(40),
        "data": "0x" + request.arguments.hex(),
        "gas": hex(29_000_000),
    }
    result = served.ask("eth_call", call, hex(request.commitment.block_number))
    return bytes.fromhex(result[2:])


def test_answer_is_that_of_the_executor_of_an_own_chain() -> None:
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    models = {PROFILE.name: ByteModel(count_and_answer)}
    served = Served(chain=Chain(ChainConfig(models=(PROFILE,)), models, accounts=accounts))
    with fake_remote(served) as remote:
        oracle_chain = OracleChain(served.ask, remote.url)
        request = oracle_chain.ask_agent()
        with ForkComputer(remote.url, host(ByteModel(count_and_answer))) as computer:
            computed = computer.compute(request)
            assert computed.answer.output == embedded(served, request)
            [following] = oracle_chain.find_requests(oracle_chain.submit(request, computed))
            assert computer.compute(following).answer.output == embedded(served, following)
    served.close()


def test_script_answers_in_the_tokens_of_a_model(oracle_chain: OracleChain) -> None:
    script: list[Step] = [use("CounterTool", "Count.", amount=3), answer("Counted.")]
    request = oracle_chain.ask_agent()
    with open_computer(oracle_chain.url, ModelOptions(script=script)) as computer:
        computed = computer.compute(request)
        assert computer.compute(request) == computed
    assert not computed.answer.refused
    oracle_chain.submit(request, computed)
    assert oracle_chain.counter.read("number") == 3
    choices = ModelOptions().choices * 2
    with pytest.raises(ConfigError, match="must be a single model"):
        open_computer(oracle_chain.url, ModelOptions(script=script, choices=choices))

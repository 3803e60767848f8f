"""Answers computed on forks: those of embedded execution, with their evidence."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from eth_utils import keccak

from pyevm_agents.oracle.messages import Answer
from pyevm_agents.oracle.signatures import compute_digest
from tests.byte_model import PROFILE
from tests.pyevm_agents.oracle.conftest import FINGERPRINT

if TYPE_CHECKING:
    from pyevm_agents.oracle.recomputation import ForkComputer
    from tests.byte_model import ByteModel
    from tests.pyevm_agents.oracle.oracle_chain import OracleChain


def test_run_is_answered_step_by_step(
    oracle_chain: OracleChain, computer: ForkComputer, model: ByteModel
) -> None:
    request = oracle_chain.ask_agent()
    computed = computer.compute(request)
    assert not computed.answer.refused
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


def test_digest_is_the_contracts(oracle_chain: OracleChain, computer: ForkComputer) -> None:
    request = oracle_chain.ask_agent()
    computed = computer.compute(request)
    for refused in (False, True):
        answer = Answer(refused, computed.answer.output)
        digest = oracle_chain.oracle.read(
            "digestOf",
            request.commitment.request_id,
            request.commitment.arguments_hash,
            refused,
            astuple(computed.evidence),
        )
        assert digest == compute_digest(31337, request, answer, computed.evidence)

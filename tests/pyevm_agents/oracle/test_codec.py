"""Events and calldata of oracles: round trips, and what is refused."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.logs import MinedLog
from pyevm_agents.oracle.codec import (
    MessageError,
    decode_answer,
    decode_answered,
    decode_request,
    encode_answer,
    encode_expire,
    get_selector,
    get_topic,
    hash_commitment,
)
from pyevm_agents.oracle.messages import Answer, Commitment, Evidence

WORDS = st.binary(min_size=32, max_size=32)
COMMITMENTS = st.builds(
    Commitment,
    request_id=st.integers(0, 2**256 - 1),
    client=st.binary(min_size=20, max_size=20),
    budget_id=st.integers(0, 2**256 - 1),
    arguments_hash=WORDS,
    callback_gas_limit=st.integers(0, 2**32 - 1),
    fee=st.integers(0, 2**128 - 1),
    block_number=st.integers(0, 2**64 - 1),
    deadline=st.integers(0, 2**64 - 1),
)
EVIDENCE = st.builds(
    Evidence,
    block_hash=WORDS,
    model_digest=WORDS,
    profile_fingerprint=WORDS,
    prompt_hash=WORDS,
    output_hash=WORDS,
)
ANSWERS = st.builds(Answer, st.booleans(), st.binary(max_size=200))
LOG = MinedLog(
    address=b"\x11" * 20,
    topics=(),
    data=b"",
    block_number=1,
    block_hash=b"\x22" * 32,
    transaction_hash=b"\x33" * 32,
)
COMMITMENT_TYPE = "(uint256,address,uint256,bytes32,uint32,uint128,uint64,uint64)"


@given(COMMITMENTS, ANSWERS, EVIDENCE, st.binary(min_size=65, max_size=65))
def test_calldata_of_an_answer_comes_back(
    commitment: Commitment, answer: Answer, evidence: Evidence, signature: bytes
) -> None:
    submitted = decode_answer(encode_answer(commitment, answer, evidence, signature))
    assert submitted.commitment == commitment
    assert submitted.answer == answer
    assert submitted.evidence == evidence
    assert submitted.signature == signature


@given(COMMITMENTS, st.binary(max_size=100))
def test_request_of_a_log(commitment: Commitment, arguments: bytes) -> None:
    data = encode([COMMITMENT_TYPE, "bytes"], [astuple(commitment), arguments])
    log = replace(
        LOG,
        data=data,
        topics=(
            get_topic("AgentRequested"),
            commitment.request_id.to_bytes(32),
            commitment.client.rjust(32, b"\0"),
        ),
    )
    request = decode_request(log)
    assert request.commitment == commitment
    assert (request.arguments, request.oracle) == (arguments, b"\x11" * 20)
    assert request.block_hash == b"\x22" * 32
    assert hash_commitment(commitment) == keccak(encode([COMMITMENT_TYPE], [astuple(commitment)]))
    for topic in ((commitment.request_id ^ 1).to_bytes(32), b""):
        with pytest.raises(MessageError):
            decode_request(replace(log, topics=(log.topics[0], topic, log.topics[2])))


@given(st.binary(max_size=300))
def test_other_calldata_is_refused(data: bytes) -> None:
    for calldata in (data, get_selector("answer") + data):
        with pytest.raises(MessageError, match="not a call of answer"):
            decode_answer(calldata)


@pytest.mark.parametrize(
    ("topics", "data"),
    [
        ((), b""),
        ((b"\x12" * 32,), b""),
        ((get_topic("RequestAnswered"),), b"\0"),
        ((get_topic("AgentRequested"),), b"\0"),
    ],
)
def test_other_logs_are_refused(topics: tuple[bytes, ...], data: bytes) -> None:
    for decode_log in (decode_request, decode_answered):
        with pytest.raises(MessageError):
            decode_log(replace(LOG, topics=topics, data=data))


def test_expiry_is_the_contracts_call() -> None:
    commitment = Commitment(
        request_id=1,
        client=b"\x05" * 20,
        budget_id=2,
        arguments_hash=b"\x06" * 32,
        callback_gas_limit=3,
        fee=4,
        block_number=5,
        deadline=6,
    )
    called = load_artifact("AgentOracle").encode_call("expire", astuple(commitment))
    assert encode_expire(commitment) == called

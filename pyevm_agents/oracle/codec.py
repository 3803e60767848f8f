"""ABI encoding of messages between an oracle and its workers: events and calldata.

Types come from the artifact of `IAgentOracle`. Logs and calldata are untrusted: all but events and
calls of the interface is refused.
"""

from __future__ import annotations

from dataclasses import astuple
from functools import cache
from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_utils import keccak, to_canonical_address

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.artifacts import describe_contract
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.values import compute_topic, decode_values
from pyevm_agents.client.logs import decode_log
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.messages import (
    AgentRequest,
    Answer,
    AnsweredRequest,
    Commitment,
    Evidence,
    SubmittedAnswer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.abi.artifacts import ContractDescription
    from pyevm_agents.abi.values import EventDefinition, FunctionDefinition
    from pyevm_agents.client.logs import MinedLog

INTERFACE = "IAgentOracle"

COMMITMENT_TYPES = (
    *("uint256", "address", "uint256", "bytes32", "uint32", "uint128", "uint64", "uint64"),
)
"""Members of `Commitment`, all static: a tuple of them is encoded as they are."""


class MessageError(AgentsError):
    """A log or calldata is not a message of an oracle."""


def get_topic(event: str) -> bytes:
    """Return the first topic of an event of `IAgentOracle`, 32 bytes."""
    return compute_topic(_find_event(event).signature)


def get_selector(function: str) -> bytes:
    """Return the selector of a function of `IAgentOracle`, 4 bytes."""
    return compute_topic(_find_function(function).signature)[:SELECTOR_BYTES]


# -- events -- #


def decode_request(log: MinedLog) -> AgentRequest:
    """Return the request of an `AgentRequested` log.

    Raises: MessageError: the log is another event's.
    """
    request_id, client, members, arguments = _decode_log("AgentRequested", log)
    commitment = build_commitment(members)
    if (commitment.request_id, commitment.client) != (request_id, to_canonical_address(client)):
        raise MessageError("AgentRequested log: its topics are not its commitment's; not an oracle")
    return AgentRequest(
        oracle=log.address,
        commitment=commitment,
        arguments=arguments,
        block_hash=log.block_hash,
    )


def decode_answered(log: MinedLog) -> AnsweredRequest:
    """Return the members of a `RequestAnswered` log.

    Raises: MessageError: the log is another event's.
    """
    request_id, worker, refused, evidence, signature = _decode_log("RequestAnswered", log)
    return AnsweredRequest(
        oracle=log.address,
        request_id=request_id,
        worker=to_canonical_address(worker),
        refused=refused,
        evidence=_build_evidence(evidence),
        signature=signature,
    )


def hash_commitment(commitment: Commitment) -> bytes:
    """Return the hash that the oracle stores of a request, 32 bytes."""
    return bytes(keccak(encode(COMMITMENT_TYPES, astuple(commitment))))


# -- calldata -- #


def encode_answer(
    commitment: Commitment, answer: Answer, evidence: Evidence, signature: bytes
) -> bytes:
    """Return the calldata of `answer`."""
    members = (astuple(commitment), astuple(answer), astuple(evidence), signature)
    return load_artifact(INTERFACE).encode_call("answer", *members)


def encode_expire(commitment: Commitment) -> bytes:
    """Return the calldata of `expire`."""
    return load_artifact(INTERFACE).encode_call("expire", astuple(commitment))


def encode_finalize(commitment: Commitment) -> bytes:
    """Return the calldata of `finalize` of an oracle whose answers can be challenged."""
    return load_artifact("IChallengeableOracle").encode_call("finalize", astuple(commitment))


def encode_answer_query(request_id: int) -> bytes:
    """Return the calldata of `answerOf`."""
    return load_artifact(INTERFACE).encode_call("answerOf", request_id)


def decode_answer_record(returned: bytes) -> bytes:
    """Return the output in the return data of `answerOf`; empty if there is no answer.

    Raises: MessageError: not the return data of `answerOf`.
    """
    values: Any = decode_values(_find_function("answerOf").output_types, returned)
    if values is None:
        raise MessageError(f"{len(returned)} bytes: not the return data of answerOf of an oracle")
    return bytes(values[1])


def decode_answer(calldata: bytes) -> SubmittedAnswer:
    """Return the arguments of calldata of `answer`.

    Raises: MessageError: other calldata.
    """
    values: Any = None
    if calldata[:SELECTOR_BYTES] == get_selector("answer"):
        types = _find_function("answer").types
        values = decode_values(types, calldata[SELECTOR_BYTES:])
    if values is None:
        raise MessageError(f"calldata of {len(calldata)} bytes: not a call of answer of an oracle")
    commitment, (refused, output), evidence, signature = values
    return SubmittedAnswer(
        commitment=build_commitment(commitment),
        answer=Answer(refused, output),
        evidence=_build_evidence(evidence),
        signature=signature,
    )


# -- members -- #


def build_commitment(values: Sequence[Any]) -> Commitment:
    """Return a commitment from the decoded members."""
    request_id, client, budget_id, arguments_hash, gas_limit, fee, block_number, deadline = values
    return Commitment(
        request_id=request_id,
        client=to_canonical_address(client),
        budget_id=budget_id,
        arguments_hash=arguments_hash,
        callback_gas_limit=gas_limit,
        fee=fee,
        block_number=block_number,
        deadline=deadline,
    )


def _build_evidence(values: Sequence[bytes]) -> Evidence:
    block_hash, model_digest, profile_fingerprint, prompt_hash, output_hash = values
    return Evidence(
        block_hash=block_hash,
        model_digest=model_digest,
        profile_fingerprint=profile_fingerprint,
        prompt_hash=prompt_hash,
        output_hash=output_hash,
    )


def _decode_log(name: str, log: MinedLog) -> tuple[Any, ...]:
    event = _find_event(name)
    decoded = decode_log(event, log)
    if decoded is None or not all(map(_is_of_type, event.types, decoded.values)):
        raise MessageError(f"log of 0x{log.address.hex()}: not {name} of an oracle")
    return decoded.values


def _is_of_type(abi_type: str, value: object) -> bool:
    """Return whether a topic was decoded; one that is not of its type is left unchanged."""
    return isinstance(value, {"address": str, "uint256": int}.get(abi_type, object))


@cache
def _describe_interface() -> ContractDescription:
    return describe_contract(INTERFACE, load_artifact(INTERFACE).abi)


@cache
def _find_event(name: str) -> EventDefinition:
    return next(each for each in _describe_interface().events.values() if each.name == name)


@cache
def _find_function(name: str) -> FunctionDefinition:
    return next(each for each in _describe_interface().functions.values() if each.name == name)

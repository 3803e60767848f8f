"""Messages between an oracle and its workers, as Python values.

The names and meanings are those of contracts/callback/IAgentOracle.sol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """A request as the oracle commits to; the oracle stores the hash alone."""

    request_id: int
    client: bytes
    """20 bytes."""

    budget_id: int
    arguments_hash: bytes
    """keccak-256 of the arguments."""

    callback_gas_limit: int
    fee: int
    """In wei."""

    block_number: int
    deadline: int
    """In seconds since 1970: the last second in which an answer is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """An `AgentRequested` event and its place on the chain."""

    oracle: bytes
    """20 bytes."""

    commitment: Commitment
    arguments: bytes
    """Calldata for the executor."""

    block_hash: bytes
    """The block of the event; the answer is the executor's on the state after it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The executor's result, or the typed error of its revert."""

    refused: bool
    output: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The inputs for computing an answer again; 32 bytes each."""

    block_hash: bytes
    model_digest: bytes
    profile_fingerprint: bytes
    prompt_hash: bytes
    output_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedAnswer:
    """The arguments of `answer`."""

    commitment: Commitment
    answer: Answer
    evidence: Evidence
    signature: bytes
    """65 bytes: r, s, v."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredRequest:
    """A `RequestAnswered` event. The output is in the transaction's calldata, and in `answerOf`."""

    oracle: bytes
    """20 bytes."""

    request_id: int
    worker: bytes
    """20 bytes: who signed."""

    refused: bool
    evidence: Evidence
    signature: bytes


@dataclass(frozen=True, slots=True)
class ComputedAnswer:
    """An answer and the evidence, not signed yet."""

    answer: Answer
    evidence: Evidence
    prompt: str | None = None
    """The prompt that the model read; None for a refusal before there was one."""


class AnswerComputer(Protocol):
    """Computes answers; closes the resources that it holds."""

    def compute(self, request: AgentRequest) -> ComputedAnswer:
        """Return the executor's answer on the state after the request's block.

        Raises an exception that is not a refusal where the model or the remote node fails; the
        request is then tried again, and nothing is signed.
        """
        ...

    def close(self) -> None:
        """Release the model and the fork."""
        ...

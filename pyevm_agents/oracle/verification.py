"""Verification of an answer on a chain: the request is computed again, and all is compared.

With the model, a node of the chain is enough: the request, the answer and the evidence are in logs
and transactions.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import encode_hex, keccak, to_checksum_address

from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.agents.iteration_results import MalformedIterationError, decode_iteration
from pyevm_agents.client.json_rpc import RemoteError
from pyevm_agents.client.logs import parse_log, parse_logs
from pyevm_agents.errors import AgentsError
from pyevm_agents.oracle.codec import (
    MessageError,
    decode_answer,
    decode_answer_record,
    decode_answered,
    decode_request,
    encode_answer_query,
    get_topic,
)
from pyevm_agents.oracle.messages import Answer
from pyevm_agents.oracle.signatures import compute_digest, recover_signer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.client.json_rpc import RemoteClient
    from pyevm_agents.oracle.messages import (
        AgentRequest,
        AnswerComputer,
        AnsweredRequest,
        ComputedAnswer,
    )

OTHER_BUILD = (
    "the worker's engine is another build or has other settings, such as another version of this "
    "package or another processor family: its answers may differ in rare cases; verify with the "
    "version that the worker uses"
)
"""What a differing profile fingerprint means."""


class UnverifiableError(AgentsError):
    """There is no answer to compare, or the request can't be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedAnswer:
    """An answer as on the chain, with the request."""

    request: AgentRequest
    answered: AnsweredRequest
    answer: Answer | None
    """None if its bytes are not to be had: its hash is in the evidence."""

    is_direct: bool
    """Whether the transaction is a call of the oracle itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A member of an answer or of the evidence: the worker's value and the computed one."""

    name: str
    stated: str
    computed: str
    is_decisive: bool = True
    """Whether the answer is wrong where it differs."""

    @property
    def is_equal(self) -> bool:
        """Whether both are the same."""
        return self.stated == self.computed


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """An answer and the computation, side by side."""

    stated: StatedAnswer
    computed: ComputedAnswer
    comparisons: tuple[Comparison, ...]

    @property
    def is_equal(self) -> bool:
        """Whether the answer equals the computed one, and the evidence is true."""
        return all(each.is_equal for each in self.comparisons if each.is_decisive)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader has to know."""
        notes = []
        if not self.stated.is_direct:
            notes.append(
                "the transaction called another contract, which called the oracle; the output is "
                "from answerOf"
                if self.stated.answer is not None
                else "the transaction called another contract, which called the oracle; the "
                "output's bytes are not known, only their hash is compared"
            )
        differing = [each.name for each in self.comparisons if not each.is_equal]
        if "profile" in differing:
            notes.append(OTHER_BUILD)
        return tuple(notes)


def find_answers(client: RemoteClient, transaction_hash: bytes) -> list[StatedAnswer]:
    """Return the answers in a transaction, with the requests.

    Raises: UnverifiableError: no answer. RemoteError, RemoteFault: the node does not answer.
    """
    name = "0x" + transaction_hash.hex()
    receipt: Any = client.request("eth_getTransactionReceipt", [name])
    transaction: Any = client.request("eth_getTransactionByHash", [name])
    if not isinstance(receipt, dict) or not isinstance(transaction, dict):
        raise UnverifiableError(
            f"transaction {name}: not in a block of {client.host}; pass the URL of a node of its "
            "chain, or wait until it is mined"
        )
    topic = "0x" + get_topic("RequestAnswered").hex()
    logs = [log for log in receipt.get("logs", ()) if log.get("topics", [""])[:1] == [topic]]
    if not logs:
        raise UnverifiableError(
            f"transaction {name}: has no answer to a request of an AgentOracle; pass the "
            "transaction that handed in the answer"
        )
    return [_read_stated(client, decode_answered(parse_log(log)), transaction) for log in logs]


def verify_answer(stated: StatedAnswer, computer: AnswerComputer, chain_id: int) -> Verification:
    """Compute an answer again and compare.

    Raises: see `AnswerComputer.compute`.
    """
    computed = computer.compute(stated.request)
    return Verification(
        stated=stated,
        computed=computed,
        comparisons=tuple(_compare(stated, computed, chain_id)),
    )


def describe_answer(answer: Answer) -> list[tuple[str, str]]:
    """Return the decoded step of an answer: names and texts."""
    if answer.refused:
        return [("refused", decode_revert(answer.output))]
    try:
        result = decode_iteration(answer.output)
    except MalformedIterationError as error:
        return [("output", str(error))]
    if result.is_final_answer:
        return [("answer", result.final_answer)]
    lines = [*result.agent_reasoning.split("\n"), "", ""]  # It has the arguments as text.
    return [
        ("thought", lines[0].removeprefix("Thought:").strip()),
        ("tool", f"{lines[1].removeprefix('Action: ')} {result.tool}"),
        ("arguments", lines[2].removeprefix("Action Input: ")),
    ]


# -- the chain's side -- #


def _read_stated(
    client: RemoteClient, answered: AnsweredRequest, transaction: Mapping[str, Any]
) -> StatedAnswer:
    is_direct = str(transaction.get("to")).lower() == "0x" + answered.oracle.hex()
    if is_direct:
        submitted = decode_answer(bytes.fromhex(transaction["input"].removeprefix("0x")))
        answer: Answer | None = submitted.answer
        number: int | None = submitted.commitment.block_number
    else:
        answer = _read_record(client, answered)
        number = _find_block_number(client, answered.evidence.block_hash)
    return StatedAnswer(
        request=find_request(
            client, answered.request_id, oracle=answered.oracle, block_number=number
        ),
        answered=answered,
        answer=answer,
        is_direct=is_direct,
    )


def _find_block_number(client: RemoteClient, block_hash: bytes) -> int | None:
    """Return the number of a block; None if the chain has no such block."""
    block: Any = client.request("eth_getBlockByHash", [encode_hex(block_hash), False])
    return int(block["number"], 16) if isinstance(block, dict) else None


def _read_record(client: RemoteClient, answered: AnsweredRequest) -> Answer | None:
    """Return the answer that `answerOf` keeps; None before the answer, or for another one."""
    call = {
        "to": "0x" + answered.oracle.hex(),
        "data": "0x" + encode_answer_query(answered.request_id).hex(),
    }
    try:
        result = str(client.request("eth_call", [call, "latest"]))
        output = decode_answer_record(bytes.fromhex(result.removeprefix("0x")))
    except (RemoteError, MessageError, ValueError):
        return None
    if keccak(output) != answered.evidence.output_hash:
        return None
    return Answer(answered.refused, output)


def find_request(
    client: RemoteClient,
    request_id: int,
    *,
    oracle: bytes | None = None,
    block_number: int | None = None,
) -> AgentRequest:
    """Return the request with an ID.

    Input:  oracle: the oracle's address; None for any. block_number: of the request; None to search
        all.
    Raises: UnverifiableError: the node has no log of the request. RemoteError, RemoteFault.
    """
    topics = ["0x" + get_topic("AgentRequested").hex(), f"0x{request_id:064x}"]
    first, last = ("0x0", "latest") if block_number is None else (hex(block_number),) * 2
    query: dict[str, object] = {"fromBlock": first, "toBlock": last, "topics": topics}
    if oracle is not None:
        query["address"] = "0x" + oracle.hex()
    try:
        logs: Any = client.request("eth_getLogs", [query])
    except RemoteError as error:
        raise UnverifiableError(
            f"request {topics[1]}: {client.host} does not search all blocks for it "
            f"({error.message}); pass the URL of a node that does"
        ) from error
    for log in parse_logs(logs):
        request = decode_request(log)
        if keccak(request.arguments) == request.commitment.arguments_hash:
            return request
    raise UnverifiableError(
        f"request {topics[1]}: {client.host} has no event of it; pass the URL of a node of its "
        "chain that has all logs"
    )


# -- comparison -- #


def _compare(stated: StatedAnswer, computed: ComputedAnswer, chain_id: int) -> Iterator[Comparison]:
    request, answered = stated.request, stated.answered
    evidence, own = answered.evidence, computed.evidence
    yield Comparison(
        name="block", stated=encode_hex(evidence.block_hash), computed=encode_hex(own.block_hash)
    )
    yield Comparison(
        name="model",
        stated=encode_hex(evidence.model_digest),
        computed=encode_hex(own.model_digest),
    )
    yield Comparison(
        name="profile",
        stated=encode_hex(evidence.profile_fingerprint),
        computed=encode_hex(own.profile_fingerprint),
        is_decisive=False,
    )
    yield Comparison(
        name="prompt hash",
        stated=encode_hex(evidence.prompt_hash),
        computed=encode_hex(own.prompt_hash),
    )
    yield Comparison(
        name="kind",
        stated=_name_kind(answered.refused),
        computed=_name_kind(computed.answer.refused),
    )
    yield Comparison(
        name="output hash",
        stated=encode_hex(evidence.output_hash),
        computed=encode_hex(own.output_hash),
    )
    if stated.answer is not None:
        yield Comparison(
            name="output",
            stated=encode_hex(stated.answer.output),
            computed=encode_hex(computed.answer.output),
        )
    signed = Answer(answered.refused, b"")  # Its output is in the evidence's hash.
    digest = compute_digest(chain_id, request, signed, evidence)
    signer = recover_signer(digest, answered.signature)
    yield Comparison(
        name="signer",
        stated=to_checksum_address(answered.worker),
        computed="nobody" if signer is None else to_checksum_address(signer),
    )


def list_differences(
    stated: Sequence[tuple[str, str]], computed: Sequence[tuple[str, str]]
) -> list[str]:
    """Return the lines of two decoded steps that differ, as a unified diff has them."""
    before, after = ([f"{name}: {text}" for name, text in each] for each in (stated, computed))
    return [
        line
        for line in difflib.unified_diff(before, after, "answered", "computed", lineterm="")
        if not line.startswith("@@")
    ]


def _name_kind(refused: bool) -> str:  # noqa: FBT001 - a member of the event
    return "refusal" if refused else "result"

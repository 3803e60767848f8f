"""AgentOracle: which answers are taken. Altered, replayed, late, and strangers' answers are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth_account.messages import encode_typed_data
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak

from tests.contracts.callback.oracle_bench import (
    ANSWERED,
    FEE,
    OTHER_WORKER,
    REFUSED,
    WORKER,
    Order,
    hash_of_block,
)
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, Account, RevertedError, reverts

if TYPE_CHECKING:
    from tests.contracts.callback.oracle_bench import OracleBench
    from tests.contracts.plain_evm import Contract

SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@pytest.mark.parametrize(("refused", "outcome"), [(False, ANSWERED), (True, REFUSED)])
@pytest.mark.parametrize("output", [b"", b"\x00", b"an output", b"\xff" * 24_575])
def test_answer_is_delivered_paid_and_kept(
    bench: OracleBench, client: Contract, output: bytes, *, refused: bool, outcome: int
) -> None:
    request = bench.request(client)
    signed = bench.sign(request, output, refused=refused)
    bench.pass_time(12, blocks=1)
    assert bench.send(signed)
    (answered,) = bench.oracle.events("RequestAnswered")
    assert answered["worker"] == int(WORKER.address, 16)
    assert (answered["refused"], answered["evidence"]) == (refused, signed.evidence)
    assert answered["signature"] == signed.signature
    assert client.events("AnswerHandled") == [
        {"requestId": request.request_id, "outcome": outcome, "output": output}
    ]
    assert bench.oracle.events("CallbackFinished") == [
        {"requestId": request.request_id, "success": True, "returned": b""}
    ]
    assert bench.oracle("answerOf", request.request_id) == (outcome, output, WORKER.address, True)
    assert bench.oracle("commitmentOf", request.request_id) == bytes(32)
    assert bench.oracle("claimable", WORKER.address) == FEE
    assert bench.oracle("claimable", STRANGER.address) == 0  # who sent it


def test_digest_is_that_of_eip_712(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    signed = bench.sign(request, refused=True)
    members = [
        ("requestId", "uint256", request.request_id),
        ("argumentsHash", "bytes32", request.arguments_hash),
        ("refused", "bool", True),
        *(
            (name, "bytes32", value)
            for name, value in zip(
                ("blockHash", "modelDigest", "profileFingerprint", "promptHash", "outputHash"),
                signed.evidence,
                strict=True,
            )
        ),
    ]
    message = encode_typed_data(
        domain_data={
            "name": "AgentOracle",
            "version": "1",
            "chainId": 1,
            "verifyingContract": bench.oracle.address,
        },
        message_types={"AgentAnswer": [{"name": n, "type": t} for n, t, _ in members]},
        message_data={name: value for name, _, value in members},
    )
    digest = keccak(b"\x19" + message.version + message.header + message.body)
    unsigned = (request.request_id, request.arguments_hash, signed.refused, signed.evidence)
    assert digest == bench.oracle("digestOf", *unsigned)


def test_replayed_answer_is_refused(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    signed = bench.sign(request)
    bench.send(signed)
    with reverts("UnknownCommitment", request.request_id):
        bench.send(signed)
    with reverts("UnknownCommitment", request.request_id):
        bench.answer(request, b"another output", worker=OTHER_WORKER)
    assert bench.oracle("claimable", WORKER.address) == FEE


def test_answer_to_an_equal_request_is_refused(bench: OracleBench, client: Contract) -> None:
    first, second = (bench.request(client) for _ in range(2))
    signed = bench.sign(first)
    with pytest.raises(RevertedError) as caught:
        bench.send(replace(signed, request=second))
    assert caught.value.error[0] == "NotWorker"


@pytest.mark.parametrize(
    ("member", "other"),
    [
        ("request_id", 1),
        ("client", OWNER.address),
        ("budget_id", 7),
        ("arguments_hash", b"\x07" * 32),
        ("callback_gas_limit", 1),
        ("fee", FEE + 1),
        ("block_number", 1),
        ("deadline", 2**60),
    ],
)
def test_altered_commitment_is_refused(
    bench: OracleBench, client: Contract, member: str, other: object
) -> None:
    request = bench.request(client)
    changed: dict[str, Any] = {member: other}
    altered = replace(request, **changed)
    with reverts("UnknownCommitment", altered.request_id):
        bench.send(replace(bench.sign(request), request=altered))
    bench.pass_time(10**6)
    with reverts("UnknownCommitment", altered.request_id):
        bench.oracle("expire", altered.encoded())


def test_altered_answer_is_refused(bench: OracleBench, client: Contract) -> None:
    signed = bench.sign(bench.request(client))
    with reverts("WrongOutputHash", keccak(b"the output"), keccak(b"the outpux")):
        bench.send(replace(signed, output=b"the outpux"))
    with pytest.raises(RevertedError) as caught:
        bench.send(replace(signed, refused=True))
    assert caught.value.error[0] == "NotWorker"


@pytest.mark.parametrize("member", range(5))
def test_altered_evidence_is_refused(bench: OracleBench, client: Contract, member: int) -> None:
    request = bench.request(client)
    signed = bench.sign(request)
    altered = [*signed.evidence]
    altered[member] = b"\x77" * 32
    bench.pass_time(12, blocks=1)
    with pytest.raises(RevertedError) as caught:
        bench.send(replace(signed, evidence=tuple(altered)))
    names = {0: "WrongBlock", 4: "WrongOutputHash"}
    assert caught.value.error[0] == names.get(member, "NotWorker")
    assert bench.send(signed)


@pytest.mark.parametrize("position", [0, 31, 32, 63])
def test_altered_signature_is_refused(bench: OracleBench, client: Contract, position: int) -> None:
    signed = bench.sign(bench.request(client))
    altered = bytearray(signed.signature)
    altered[position] ^= 1
    with pytest.raises(RevertedError) as caught:
        bench.send(replace(signed, signature=bytes(altered)))
    assert caught.value.error[0] in {"NotWorker", "ECDSAInvalidSignature"}


def test_other_forms_of_a_signature_are_refused(bench: OracleBench, client: Contract) -> None:
    signed = bench.sign(bench.request(client))
    r, s, v = signed.signature[:32], signed.signature[32:64], signed.signature[64]
    high_s = (SECP256K1_ORDER - int.from_bytes(s)).to_bytes(32)
    with reverts("ECDSAInvalidSignatureS", high_s):
        bench.send(replace(signed, signature=r + high_s + bytes([55 - v])))
    with reverts("ECDSAInvalidSignature"):
        bench.send(replace(signed, signature=r + s + bytes([v - 27])))
    for size in (0, 64, 66):
        with reverts("ECDSAInvalidSignatureLength", size):
            bench.send(replace(signed, signature=(signed.signature + b"\x00")[:size]))


def test_unregistered_signer_is_refused(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    for nobody in (OWNER, STRANGER, Account(PrivateKey(b"\x99" * 32))):
        with pytest.raises(RevertedError) as caught:
            bench.send(bench.sign(request, worker=nobody), sender=WORKER)
        assert caught.value.error == ("NotWorker", nobody.address)


def test_removed_worker_is_refused_and_keeps_its_wei(bench: OracleBench, client: Contract) -> None:
    bench.answer(bench.request(client))
    request = bench.request(client)
    signed = bench.sign(request)
    bench.oracle("setWorker", WORKER.address, False)  # noqa: FBT003
    with reverts("NotWorker", WORKER.address):
        bench.send(signed)
    assert bench.oracle("withdraw", WORKER.address, sender=WORKER) == FEE
    bench.oracle("setWorker", WORKER.address, True)  # noqa: FBT003
    assert bench.send(signed)


def test_answer_of_another_oracle_or_chain_is_refused(bench: OracleBench, client: Contract) -> None:
    request = bench.request(client)
    here = bench.oracle
    bench.oracle = bench.evm.deploy("AgentOracle", OWNER.address, (0, 0, 0))
    signed = bench.sign(request)
    bench.oracle = here
    with pytest.raises(RevertedError) as caught:
        bench.send(signed)
    assert caught.value.error[0] == "NotWorker"


def test_late_answer_is_refused(bench: OracleBench, client: Contract) -> None:
    first, second = bench.request(client), bench.request(client)
    answers = [bench.sign(one) for one in (first, second)]
    bench.pass_time(first.deadline - bench.now, blocks=1)
    with reverts("TooEarly", first.request_id, first.deadline):
        bench.oracle("expire", first.encoded())
    assert bench.send(answers[0])
    bench.pass_time(1)
    with reverts("TooLate", second.request_id, second.deadline):
        bench.send(answers[1])
    assert bench.oracle("expire", second.encoded())
    with reverts("UnknownCommitment", second.request_id):
        bench.send(answers[1])


def test_too_long_output_is_refused(bench: OracleBench, client: Contract) -> None:
    assert bench.oracle("MAX_OUTPUT_BYTES") == 24_575
    with reverts("OutputTooLong", 24_576, 24_575):
        bench.answer(bench.request(client), b"\xff" * 24_576)


@pytest.mark.parametrize(
    ("blocks", "is_checked"), [(0, False), (1, True), (256, True), (257, False)]
)
def test_block_hash_is_checked_while_the_chain_knows_it(
    bench: OracleBench, client: Contract, blocks: int, *, is_checked: bool
) -> None:
    request = bench.request(client, Order(timeout=7 * 86_400, lifetime=7 * 86_400))
    bench.pass_time(blocks * 12, blocks=blocks)
    other = b"\x77" * 32
    signed = bench.sign(request, block_hash=other)
    if not is_checked:
        assert bench.send(signed)
        return
    with reverts("WrongBlock", request.block_number, other, hash_of_block(request.block_number)):
        bench.send(signed)
    assert bench.send(bench.sign(request))


def test_unknown_requests_have_no_answer(bench: OracleBench) -> None:
    assert bench.oracle("answerOf", 5) == (0, b"", ZERO, False)
    with reverts("NothingToRetry", 5):
        bench.oracle("retry", 5)


def test_workers_are_listed_in_the_order_of_turns(bench: OracleBench) -> None:
    others = [Account(PrivateKey(bytes([n]) * 32)) for n in (0x21, 0x22)]
    for worker in others:
        bench.oracle("setWorker", worker.address, True)  # noqa: FBT003
    assert bench.oracle.events("WorkerSet") == [
        {"worker": int(others[1].address, 16), "registered": True}
    ]
    bench.oracle("setWorker", others[1].address, True)  # noqa: FBT003
    assert bench.oracle.events("WorkerSet") == []
    expected = [WORKER.address, OTHER_WORKER.address, *(w.address for w in others)]
    assert list(bench.oracle("workers")) == expected
    bench.oracle("setWorker", WORKER.address, False)  # noqa: FBT003
    # The last one takes the place of the one that is removed.
    assert list(bench.oracle("workers")) == [expected[3], *expected[1:3]]
    assert not bench.oracle("isWorker", WORKER.address)
    assert bench.oracle("isWorker", expected[3])

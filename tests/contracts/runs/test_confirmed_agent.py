"""ConfirmedAgent: what it rehearsed is what it does, if its owner signed that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import keccak, to_canonical_address

from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    RevertedError,
    final_answer,
    reverts,
    text_input,
    use_tool,
)
from tests.contracts.runs.treasury_bench import hash_write, hash_writes
from tests.contracts.runs.typed_data import hash_typed_data, sign

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Account, Contract, Evm

FUNDS = 1_000
PROMPT = "Pay 7 wei"
PROMPT_HASH = keccak(text=PROMPT)
SECONDS = 60
FORM = "DryRun(bytes32 promptHash,bytes32 digest,uint256 nonce,uint64 expiry)"
TEXTS = ("m", "Payer", "Pays.", "what to pay", "")


class AgentBench:
    """An agent with a tool that pays a peer, and a scripted executor."""

    def __init__(self, evm: Evm, executor: Contract) -> None:
        self.evm, self.executor = evm, executor
        self.peer = evm.deploy("RunPeer")
        self.tool = evm.deploy("PaymentTool", self.peer.address)
        tools = [self.tool.address]
        self.agent = evm.deploy(
            "OwnedConfirmedAgent", OWNER.address, executor.address, *TEXTS, tools, 4
        )
        evm.send(self.agent.address, b"", value_wei=FUNDS)

    def script(self, *amounts: int, answer: str = "Done.") -> None:
        """Let the model pay amounts, then answer."""
        for amount in amounts:
            self.executor("willReturn", use_tool(self.tool.address, ["uint256"], [amount]))
        self.executor("willReturn", final_answer(answer))

    def hash_payments(self, *amounts: int) -> bytes:
        """Return the digest of payments of the tool, apart from the contract."""
        step = bytes(12) + bytes.fromhex(self.tool.address[2:])
        data = [self.peer.artifact.encode_call("take", amount) for amount in amounts]
        writes = [
            hash_write(step, self.peer.address, amount, each)
            for amount, each in zip(amounts, data, strict=True)
        ]
        return hash_writes(writes)

    def rehearse(self) -> tuple[Any, Any]:
        """Return the answer, and digest, number and wei of the writes."""
        with pytest.raises(RevertedError) as caught:
            self.agent("rehearse", PROMPT, sender=STRANGER)
        name, answer, writes = caught.value.error
        assert name == "Rehearsed"
        return answer, writes

    @property
    def expiry(self) -> int:
        return self.evm.vm.state.timestamp + SECONDS

    def sign(self, digest: bytes, *, nonce: int = 0, signer: Account = OWNER) -> bytes:
        values = {
            "promptHash": PROMPT_HASH,
            "digest": digest,
            "nonce": nonce,
            "expiry": self.expiry,
        }
        return sign(signer, hash_typed_data("ConfirmedAgent", self.agent, FORM, values))

    def run(self, digest: bytes, *, nonce: int = 0) -> object:
        """Run the agent with the owner's signature; a stranger hands it in."""
        arguments = (PROMPT, digest, self.expiry, self.sign(digest, nonce=nonce))
        return self.agent("runConfirmed", *arguments, sender=STRANGER)

    def paid(self) -> int:
        return FUNDS - self.evm.vm.state.get_balance(to_canonical_address(self.agent.address))


@pytest.fixture
def bench(evm: Evm, executor: Contract) -> AgentBench:
    return AgentBench(evm, executor)


def test_a_run_does_what_its_rehearsal_did(bench: AgentBench) -> None:
    bench.script(7, 5)
    answer, (digest, count, value) = bench.rehearse()
    assert (answer, count, value) == ("Done.", 2, 12)
    assert digest == bench.hash_payments(7, 5)
    assert bench.paid() == 0
    assert bench.run(digest) == "Done."
    assert bench.paid() == 12
    assert bench.agent("nextNonce") == 1


def test_a_run_without_a_confirmation_writes_nothing(bench: AgentBench) -> None:
    bench.script(7)
    with reverts("ConfirmationRequired", PROMPT_HASH):
        bench.agent("run", text_input(PROMPT), ZERO)
    assert bench.paid() == 0


def test_a_run_that_writes_nothing_needs_none(bench: AgentBench) -> None:
    bench.script(answer="It is 7.")
    assert bench.agent("run", text_input(PROMPT), ZERO, sender=STRANGER) == (-1, "It is 7.")


def test_a_tool_that_lies_in_the_rehearsal_undoes_the_run(bench: AgentBench) -> None:
    bench.script(7)
    _, (digest, *_) = bench.rehearse()
    bench.tool("setSurcharge", 100)
    with pytest.raises(RevertedError) as caught:
        bench.run(digest)
    assert caught.value.error[:2] == ("DigestMismatch", digest)
    assert bench.paid() == 0


def test_a_model_that_does_something_else_undoes_the_run(bench: AgentBench) -> None:
    bench.script(7, 7)
    digest = bench.hash_payments(7)
    with reverts("DigestMismatch", digest, bench.hash_payments(7, 7)):
        bench.run(digest)
    assert bench.paid() == 0


def test_a_run_with_less_than_confirmed_is_undone(bench: AgentBench) -> None:
    bench.script()
    digest = bench.hash_payments(7)
    with reverts("DigestMismatch", digest, bytes(32)):
        bench.run(digest)


def test_a_confirmation_kept_before_is_used_by_run_once(bench: AgentBench) -> None:
    """As another agent runs this one, which knows no signatures."""
    digest = bench.hash_payments(7)
    bench.agent("confirm", PROMPT_HASH, digest, bench.expiry, bench.sign(digest))
    bench.script(7)
    assert bench.agent("run", text_input(PROMPT), ZERO, sender=STRANGER) == (-1, "Done.")
    bench.script(7)
    with reverts("ConfirmationRequired", PROMPT_HASH):
        bench.agent("run", text_input(PROMPT), ZERO)
    assert bench.paid() == 7


def test_a_signature_is_used_once(bench: AgentBench) -> None:
    digest = bench.hash_payments(7)
    bench.script(7)
    bench.run(digest)
    bench.script(7)
    with reverts("InvalidConfirmation", OWNER.address):
        bench.run(digest)
    bench.run(digest, nonce=1)
    assert bench.paid() == 14


def test_only_the_owner_confirms(bench: AgentBench) -> None:
    digest = bench.hash_payments(7)
    signature = bench.sign(digest, signer=STRANGER)
    for given in (signature, b""):
        with reverts("InvalidConfirmation", OWNER.address):
            bench.agent("runConfirmed", PROMPT, digest, bench.expiry, given, sender=STRANGER)
    with reverts("InvalidConfirmation", OWNER.address):  # for another prompt
        arguments = ("Pay 8 wei", digest, bench.expiry, bench.sign(digest))
        bench.agent("runConfirmed", *arguments)


def test_a_confirmation_expires(bench: AgentBench) -> None:
    digest, expiry = bench.hash_payments(7), bench.expiry
    with reverts("ConfirmationExpired", 0):
        bench.agent("runConfirmed", PROMPT, digest, 0, b"")
    bench.agent("confirm", PROMPT_HASH, digest, expiry, bench.sign(digest))
    context: Any = bench.evm.vm.state.execution_context
    context._timestamp += SECONDS + 1  # noqa: SLF001 - the header of one VM
    bench.script(7)
    with reverts("ConfirmationExpired", expiry):
        bench.agent("run", text_input(PROMPT), ZERO)


def test_an_answer_that_is_not_done_undoes_the_run(bench: AgentBench) -> None:
    bench.script(7, answer="UNSURE: which one?")
    with reverts("NotDone", "UNSURE: which one?"):
        bench.run(bench.hash_payments(7))
    assert bench.paid() == 0


def test_only_tools_act_and_only_in_a_run(bench: AgentBench) -> None:
    call = (bench.peer.address, 1, bench.peer.artifact.encode_call("take", 1))
    for sender in (OWNER, STRANGER):
        with reverts("NotTool", sender.address):
            bench.agent("execute", *call, sender=sender)
    tools = [bench.peer.address]
    agent = bench.evm.deploy(
        "OwnedConfirmedAgent", OWNER.address, bench.executor.address, *TEXTS, tools, 4
    )
    outside = agent.artifact.encode_call("execute", *call)
    with reverts("NotTool", bench.peer.address):
        bench.peer("send", agent.address, [outside])


def test_a_target_does_not_run_the_agent_again(bench: AgentBench) -> None:
    inner = bench.agent.artifact.encode_call("run", text_input("again"), ZERO)
    bench.peer("prepare", bench.agent.address, inner)
    bench.script(7)
    with pytest.raises(RevertedError) as caught:
        bench.run(bench.hash_payments(7))
    assert keccak(text="AlreadyRunning()")[:4] in caught.value.data
    assert bench.paid() == 0


def test_below_a_threshold_no_confirmation_is_needed(bench: AgentBench) -> None:
    tools = [bench.tool.address]
    agent = bench.evm.deploy("ThresholdAgent", OWNER.address, bench.executor.address, tools)
    bench.evm.send(agent.address, b"", value_wei=FUNDS)
    bench.script(6, 4)
    assert agent("run", text_input(PROMPT), ZERO) == (-1, "Done.")
    bench.script(6, 5)
    with reverts("ConfirmationRequired", PROMPT_HASH):
        agent("run", text_input(PROMPT), ZERO)


def test_what_is_signed_is_what_others_compute(bench: AgentBench) -> None:
    values = {"promptHash": PROMPT_HASH, "digest": bytes(32), "nonce": 3, "expiry": 9}
    signed = hash_typed_data("ConfirmedAgent", bench.agent, FORM, values)
    assert bench.agent("hashDryRun", PROMPT_HASH, bytes(32), 3, 9) == signed
    assert bench.agent("agent") == bench.agent.address


def test_the_owner_takes_wei_out(bench: AgentBench) -> None:
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        bench.agent("withdraw", STRANGER.address, 1, b"", sender=STRANGER)
    bench.agent("withdraw", STRANGER.address, 1, b"")
    bench.agent("withdraw", bench.peer.address, 2, bench.peer.artifact.encode_call("take", 1))
    assert bench.paid() == 3

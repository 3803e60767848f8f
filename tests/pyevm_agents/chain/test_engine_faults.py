"""A chain on the real model: the engine dies, the asker leaves, and the chain goes on."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as WaitedLongEnough
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from precompiles.language_model import Segment
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY, create_development_chain
from pyevm_agents.errors import EngineFault
from pyevm_agents.models import LlamaModel, Progress
from pyevm_agents.models.engine_messages import EngineRequest
from pyevm_agents.models.gguf.files import FREE_ADAPTER
from pyevm_agents.models.llama import child_process
from pyevm_agents.scenarios.wallet import WalletDemo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from precompiles.language_model import Generation, GenerationRequest

OWNER = Address(DEVELOPMENT_KEY.public_key.to_canonical_address())
INSTRUCTION = "Deposit 10 USDC into the pool"
HANG_SECONDS = 240
"""A wait that nothing but a hang exceeds."""


class Counting(LlamaModel):
    """A real model, which counts its inferences and notifies a listener.

    In the free format each step is an inference.
    """

    def __init__(self) -> None:
        self.inferences = 0
        self.listen: Callable[[Progress], None] = lambda _: None
        super().__init__(adapter=FREE_ADAPTER, threads=2, progress=self.hear)

    def hear(self, progress: Progress) -> None:
        self.listen(progress)

    def generate(self, request: GenerationRequest) -> Generation:
        self.inferences += 1
        return super().generate(request)


@pytest.fixture(scope="module")
def model() -> Iterator[Counting]:
    with Counting() as model:
        yield model


@pytest.fixture
def wallet(model: Counting) -> WalletDemo:
    """A chain of its own, which remembers nothing yet."""
    model.listen = lambda _: None
    model.inferences = 0
    return WalletDemo(create_development_chain(model, model.profile_facts))


def instruct(wallet: WalletDemo) -> Call:
    data = load_artifact("WalletAgent").encode_call("instruct", INSTRUCTION)
    return Call(to=wallet.agent, sender=OWNER, data=data)


@pytest.mark.slow
def test_an_abort_in_a_transaction_is_a_fault_that_no_block_holds(
    model: Counting, wallet: WalletDemo
) -> None:
    undisturbed = WalletDemo(create_development_chain(model, model.profile_facts))
    expected = undisturbed.run(INSTRUCTION)
    head, balances = wallet.chain.head, wallet.read_balances()
    killed: list[int] = []

    def abort_in_the_second_step(_: Progress) -> None:
        """Abort at the first report: on a busy machine a later one comes after the result."""
        pid = model.engine.process_id
        if model.inferences == 4 and pid:
            if not killed:
                os.kill(pid, signal.SIGABRT)
            killed.append(pid)

    model.inferences = 2
    model.listen = abort_in_the_second_step
    with pytest.raises(EngineFault, match=r"was killed by SIGABRT .* while it was generating"):
        wallet.run(INSTRUCTION)
    assert killed
    assert wallet.chain.head == head
    assert wallet.read_balances() == balances

    model.listen = lambda _: None
    run = wallet.run(INSTRUCTION)
    assert model.engine.process_id not in {None, killed[0]}
    assert run == expected
    assert run.is_success
    assert model.inferences == 2 + 2 + 1  # Step one was remembered.


def test_an_assertion_of_llama_cpp_is_a_fault_and_the_next_call_works(
    monkeypatch: pytest.MonkeyPatch, reduced_model: Path
) -> None:
    monkeypatch.setattr(child_process, "WORKER_MODULE", "tests.asserting_worker")
    with LlamaModel(reduced_model, threads=1) as model:
        expected = model.engine.ask(EngineRequest(operation="logits", tokens=[5, 6]))
        first = model.engine.process_id
        with pytest.raises(
            EngineFault,
            match=r"was killed by SIGABRT \(an assertion.*Its last output: .*GGML_ASSERT",
        ):
            model.engine.ask(EngineRequest(operation="oversized"))
        assert model.engine.ask(EngineRequest(operation="logits", tokens=[5, 6])) == expected
        assert model.engine.process_id != first


@pytest.mark.slow
def test_a_generation_goes_on_for_a_retry_when_its_caller_has_left(
    model: Counting, wallet: WalletDemo
) -> None:
    """Other threads run meanwhile: the engine stands still until they have done their part."""
    has_begun = threading.Event()

    def hold(progress: Progress) -> None:
        if progress.phase == "prompt" and not has_begun.is_set():
            os.kill(engine, signal.SIGSTOP)
            has_begun.set()

    assert model.tokenize((Segment(text="some words"),))  # Which starts the engine.
    engine = model.engine.process_id or 0
    assert engine
    model.listen = hold
    call = instruct(wallet)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(wallet.chain.call, call)
        assert has_begun.wait(HANG_SECONDS)
        with pytest.raises(WaitedLongEnough):  # The client hangs up.
            first.result(timeout=0.01)
        first.cancel()
        retry = threads.submit(wallet.chain.call, call)
        os.kill(engine, signal.SIGCONT)
        assert first.result().output == retry.result().output
    count = model.inferences
    assert wallet.chain.call(call).output == first.result().output
    assert model.inferences == count <= 4


@pytest.mark.slow
def test_a_client_whose_socket_breaks_cancels_nothing(model: Counting, wallet: WalletDemo) -> None:
    def hang_up(_progress: Progress) -> None:
        raise BrokenPipeError("the client hung up")

    model.listen = hang_up
    call = instruct(wallet)
    with pytest.warns(RuntimeWarning, match="BrokenPipeError"):
        output = wallet.chain.call(call).output
    assert wallet.chain.call(call).output == output
    assert model.inferences == 2

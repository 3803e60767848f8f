"""Events of steps agree with the trace of the transaction."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.events import (
    RunEnded,
    RunFaulted,
    StepDecided,
    StepFailed,
    StepProgressed,
    StepStarted,
    ToolReturned,
)
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Call
from pyevm_agents.errors import EngineFault
from pyevm_agents.recordings import Replay, read_fixture
from pyevm_agents.vm import stack_depth
from tests.chain_bench import OWNER

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.agents.events import Event
    from pyevm_agents.chain import Chain
    from tests.chain_bench import Bench

FIXTURES = Path(__file__).parents[3] / "chain_fixtures"
COUNT = ' Count.\nAction: CounterTool\nAction Input: {"amount": 1}'
DONE = " I now know the final answer\nFinal Answer: Done."


def told(chain: Chain) -> list[Event]:
    events: list[Event] = []
    chain.agent_events.listen(events.append)
    return events


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def counting(bench: Bench) -> Address:
    """Deploy an agent with a counter."""
    counter = bench.deploy("CounterTool")
    return bench.deploy(
        "SimpleAgent",
        bytes(19) + b"\x19",
        "llama_model_3",
        "Counting Agent",
        "Adds",
        "what to do",
        "Count.",
        [counter],
        5,
    )


def asked(agent: Address, gas: int | None = None) -> Call:
    prompt, string_type = encode(["string"], ["Count to one."]), 0
    data = load_artifact("SimpleAgent").encode_call(
        "run", ([(string_type, prompt)], prompt), bytes(20)
    )
    return Call(to=agent, sender=OWNER, data=data, gas=gas)


@pytest.mark.parametrize("name", ["wallet", "nested", "rollback", "out-of-gas"])
def test_what_is_told_is_what_a_trace_says_afterwards(name: str) -> None:
    replay = Replay(read_fixture(FIXTURES / f"{name}.json"))
    events = told(replay.chain)
    with replay.chain.agent_events.run("block"):
        list(replay.execute_blocks())
    chain, place = replay.chain, 0
    for number in range(1, chain.head.block_number + 1):
        record = chain.block_with_receipts(chain.header(number))
        for index, transaction in enumerate(record.block.transactions):
            _, computation = chain.replay(record, index)
            own = [one for one in events if one.location.transaction_hash == transaction.hash]
            assert own == events[place : place + len(own)]
            place += len(own)
            require_same(own, computation)
    assert place == len(events)


def require_same(events: list[Event], computation: object) -> None:
    steps = extract_agent_steps(computation)  # type: ignore[arg-type]
    said = [one for one in events if isinstance(one, StepDecided)]
    assert [
        (one.location.step, one.location.depth, one.location.agent, one.inference) for one in said
    ] == [(n, step.depth, step.agent, step.inference) for n, step in enumerate(steps, start=1)]
    for one, step in zip(said, steps, strict=True):
        words = one.decision
        assert (words.thought, words.action, words.action_input, words.answer) == (
            step.thought,
            step.action,
            step.action_input,
            step.answer,
        )
    seen = {one.location.step: one.observation for one in events if isinstance(one, ToolReturned)}
    assert {n: step.observation for n, step in enumerate(steps, start=1) if n in seen} == seen
    assert len(seen) >= sum(step.observation is not None for step in steps)
    failed = [one for one in events if isinstance(one, StepFailed)]
    assert len([one for one in events if isinstance(one, StepStarted)]) == len(said) + len(failed)
    if events:
        assert isinstance(events[0], StepStarted)
        assert isinstance(events[-1], RunEnded)
        assert (events[-1].failure is None) == computation.is_success  # type: ignore[attr-defined]


def test_a_call_and_an_estimate_are_told_once_and_replays_never(
    bench: Callable[..., Bench],
) -> None:
    def script(request: GenerationRequest) -> str:
        prompt = "".join(one.text for one in request.segments)
        return DONE if "Observation" in prompt.rsplit("Count to one.", 1)[1] else COUNT

    made = bench(script)
    agent, events = counting(made), told(made.chain)
    whole = ["StepStarted", "StepDecided", "ToolReturned", "StepStarted", "StepDecided", "RunEnded"]
    with made.chain.agent_events.run("call"):
        assert made.chain.call(asked(agent)).error is None
    assert kinds(events) == whole
    assert {(one.location.purpose, one.location.transaction_hash) for one in events} == {
        ("call", None)
    }
    events.clear()
    with made.chain.agent_events.run("estimate"):
        made.chain.estimate_gas(asked(agent))
    assert kinds(events) == whole
    events.clear()
    made.chain.call(asked(agent))
    assert events == []


def test_a_step_without_words_is_told_with_its_reason(bench: Callable[..., Bench]) -> None:
    made = bench(lambda _: COUNT)
    agent, events = counting(made), told(made.chain)
    with made.chain.agent_events.run("call"):
        assert made.chain.call(asked(agent, 8_000_000)).error is not None
    assert kinds(events)[-2:] == ["StepFailed", "RunEnded"]
    failed = next(one for one in events if isinstance(one, StepFailed))
    assert "were not enough" in failed.reason


def test_a_fault_is_told_where_the_model_was(bench: Callable[..., Bench]) -> None:
    def script(_request: GenerationRequest) -> str:
        made.chain.agent_events.on_progress(is_writing=True, done=3, total=9, text="ab")
        raise EngineFault("The engine died")

    made = bench(script)
    agent, events = counting(made), told(made.chain)
    with pytest.raises(EngineFault), made.chain.agent_events.run("block"):
        made.send(agent, asked(agent).data)
    assert kinds(events) == ["StepStarted", "StepProgressed", "RunFaulted"]
    began, progressed, faulted = events
    assert isinstance(progressed, StepProgressed)
    assert isinstance(faulted, RunFaulted)
    assert (progressed.done, progressed.total, progressed.text) == (3, 9, "ab")
    assert faulted.reason == "The engine died"
    assert began.location == progressed.location == faulted.location
    assert began.location.agent == agent
    made.chain.agent_events.on_progress(is_writing=True, done=4, total=9, text="abc")
    assert len(events) == 3


def test_who_listens_may_fail_and_leave(
    bench: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_event: Event) -> None:
        raise ZeroDivisionError

    made = bench(lambda _: DONE)
    agent = counting(made)
    stop = made.chain.agent_events.listen(fail)
    events = told(made.chain)
    with made.chain.agent_events.run("call"):
        assert made.chain.call(asked(agent)).error is None
    assert kinds(events) == ["StepStarted", "StepDecided", "RunEnded"]
    assert len(caplog.records) == 3
    stop()
    stop()
    with made.chain.agent_events.run("call"):
        made.chain.call(asked(agent))
    assert len(caplog.records) == 3


def test_threads_do_not_mix(bench: Callable[..., Bench]) -> None:
    made = bench(lambda _: DONE)
    agent, events = counting(made), told(made.chain)
    meet = threading.Barrier(4)

    def ask() -> None:
        with made.chain.agent_events.run("call"):
            meet.wait()
            made.chain.call(asked(agent))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runs = {one.location.run for one in events}
    assert len(runs) == 4
    for run in runs:
        own = [one for one in events if one.location.run == run]
        assert kinds(own) == ["StepStarted", "StepDecided", "RunEnded"]


def test_a_run_in_a_run_ends_with_it(bench: Callable[..., Bench]) -> None:
    made = bench(lambda _: DONE)
    agent, events = counting(made), told(made.chain)
    with made.chain.agent_events.run("block"):
        with made.chain.agent_events.run("estimate"):
            made.chain.call(asked(agent))
        made.send(agent, asked(agent).data)
    assert [one.location.purpose for one in events] == ["estimate"] * 3 + ["block"] * 3


def test_what_goes_on_in_another_thread_is_told_as_one(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack_depth, "IS_BOUNDED", True)
    monkeypatch.setattr(stack_depth, "LEVELS_OF_A_THREAD", 1)
    names = set()

    def script(_request: GenerationRequest) -> str:
        names.add(threading.current_thread().name)
        return DONE

    made = bench(script)
    agent, events = counting(made), told(made.chain)
    with made.chain.agent_events.run("call"):
        assert made.chain.call(asked(agent)).error is None
    assert kinds(events) == ["StepStarted", "StepDecided", "RunEnded"]
    assert names == {"deep call"}

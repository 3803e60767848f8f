"""Agent traces as JSON: equal from the chain's rows and recomputed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from precompiles.errors import error_selector
from precompiles.language_model import Margin
from pyevm_agents.agents.failures import Failure
from pyevm_agents.agents.trace import AgentTrace, InferenceUsage, StepDecision, TracedStep
from pyevm_agents.chain.database import trace_key
from pyevm_agents.recordings import Replay, read_fixture
from pyevm_agents.rpc.agent_serializers import serialize_trace
from tests.pyevm_agents.rpc.methods.test_agent import Bench, bench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.chain import Chain

__all__ = ["bench"]

FIXTURES = Path(__file__).parents[3] / "chain_fixtures"


def usage(tokens: int) -> InferenceUsage:
    return InferenceUsage(
        cold_tokens=tokens,
        warm_tokens=2 * tokens,
        output_tokens=3 * tokens,
        forced_tokens=4 * tokens,
        prompt_gas=500 * tokens,
        output_gas=600 * tokens,
    )


def step(depth: int, words: StepDecision, gap: float | None = None) -> TracedStep:
    return TracedStep(
        agent=Address(b"\x11" * 20),
        depth=depth,
        model="m",
        prompt="P",
        decision=words,
        handles=(("VAULT", f"0x{'11' * 20}"), ("addr1", f"0x{'44' * 20}")),
        tool=None if words.action is None else Address(b"\x33" * 20),
        tool_failure=None if words.action is None else Failure(halt="out of gas"),
        observation=None,
        usage=usage(1),
        margin=None if gap is None else Margin(gap=gap, token_index=7, chosen="a", other="b"),
        seconds=None if gap is None else 0.123456,
    )


COST = (
    '"tokens": {"cold": 1, "warm": 2, "output": 3, "forced": 4}, '
    '"gas": {"prompt": 500, "output": 600}, '
)
TOOL = "0x" + "33" * 20
NO_TOOL = '"tool": null, "observation": null, "reason": null, '
PLACE = (
    '"agent": "0x1111111111111111111111111111111111111111", "model": "m", "prompt": "P", '
    f'"handles": {{"VAULT": "0x{"11" * 20}", "addr1": "0x{"44" * 20}"}}, '
)


def test_a_trace_is_written_as_a_tree() -> None:
    use = StepDecision(thought="I", action="Tool", action_input="{}")
    answer = StepDecision(thought="I", answer="é")
    steps = (step(0, use, 0.5), step(1, answer, 0.25), step(0, answer))
    trace = AgentTrace(
        failure=Failure(data=error_selector("ExecutorUnavailable")),
        gas_used=10_000,
        usage=usage(3),
        steps=steps,
    )
    margin = (
        '"margin": {{"gap": {}, "token": 7, "chosen": "a", "other": "b"}}, "seconds": 0.1235, '
        '"isCached": false, "isDecided": false'
    )
    nested = (
        f'{{"number": 2, "depth": 1, {PLACE}"thought": "I", "action": null, "input": null, '
        f'{NO_TOOL}"answer": "\\u00e9", {COST}{margin.format(0.25)}, "steps": []}}'
    )
    first = (
        f'{{"number": 1, "depth": 0, {PLACE}"thought": "I", "action": "Tool", "input": "{{}}", '
        f'"tool": "{TOOL}", "observation": null, "reason": "out of gas", "answer": null, {COST}'
        f'{margin.format(0.5)}, "steps": [{nested}]}}'
    )
    last = (
        f'{{"number": 3, "depth": 0, {PLACE}"thought": "I", "action": null, "input": null, '
        f'{NO_TOOL}"answer": "\\u00e9", {COST}"margin": null, "seconds": null, '
        '"isCached": false, "isDecided": false, "steps": []}'
    )
    assert json.dumps(serialize_trace(b"\x22" * 32, trace)) == (
        f'{{"transactionHash": "0x{"22" * 32}", "isSuccess": false, '
        '"reason": "ExecutorUnavailable()", '
        '"gas": {"used": 10000, "evm": 6700, "prompt": 1500, "output": 1800}, '
        '"tokens": {"cold": 3, "warm": 6, "output": 9, "forced": 12}, "closest": 2, '
        f'"names": {{"0x{"11" * 20}": "VAULT"}}, "steps": [{first}, {last}]}}'
    )


def recomputed(chain: Chain, transaction_hash: bytes) -> AgentTrace | None:
    """Return the trace of a transaction whose row is deleted."""
    del chain.rows[trace_key(transaction_hash)]
    assert chain.stored_trace(transaction_hash) is None
    return chain.find_agent_trace(transaction_hash)


def transactions(chain: Chain) -> Iterator[bytes]:
    for number in range(1, chain.head.block_number + 1):
        for transaction in chain.block(number).transactions:
            yield transaction.hash


@pytest.mark.parametrize("name", ["wallet", "nested", "rollback", "out-of-gas"])
def test_a_stored_trace_is_written_as_a_recomputed_one(name: str) -> None:
    replay = Replay(read_fixture(FIXTURES / f"{name}.json"))
    list(replay.execute_blocks())
    chain = replay.chain
    stored = 0
    for transaction_hash in transactions(chain):
        trace = chain.stored_trace(transaction_hash)
        if trace is None:
            continue
        stored += 1
        again = recomputed(chain, transaction_hash)
        assert again is not None
        assert json.dumps(serialize_trace(transaction_hash, trace)) == json.dumps(
            serialize_trace(transaction_hash, again)
        )
    assert stored


def test_the_answer_is_the_same_with_and_without_a_stored_trace(bench: Bench) -> None:
    sent = bench.ask("eth_sendTransaction", bench.instruction())
    stored = bench.ask("agent_traceTransaction", sent)
    assert stored["steps"][0]["seconds"] is not None
    del bench.chain.rows[trace_key(bytes.fromhex(sent[2:]))]
    assert json.dumps(bench.ask("agent_traceTransaction", sent)) == json.dumps(stored)

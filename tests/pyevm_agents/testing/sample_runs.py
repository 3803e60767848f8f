"""Steps of agents, without a chain."""

from __future__ import annotations

import json
from dataclasses import replace

from eth_typing import Address

from precompiles.abi import FinalAnswer
from precompiles.executor import Inference
from pyevm_agents.agents.trace import AgentStep
from pyevm_agents.testing.run_log import AgentRun

OUTER = Address(b"\x0a" * 20)
INNER = Address(b"\x0b" * 20)
ASSET = "0x5FbDB2315678afecb367f032d93F642f64180aa3"

SPENT = Inference(
    model="bytes",
    cold_tokens=100,
    warm_tokens=32,
    output_tokens=20,
    forced_tokens=5,
    prompt_gas=603_200,
    output_gas=200_000,
    text="",
    result=FinalAnswer(answer=""),
)


def used(
    tool: str, told: str | None = "ok", *, agent: Address = OUTER, depth: int = 0, **given: object
) -> AgentStep:
    return AgentStep(
        agent=agent,
        depth=depth,
        thought=f"I should use {tool}.",
        action=tool,
        action_input=json.dumps(given),
        observation=told,
        answer=None,
        inference=SPENT,
        evm_gas=1_234,
    )


def answered(text: str, *, agent: Address = OUTER, depth: int = 0) -> AgentStep:
    step = used("", agent=agent, depth=depth)
    return replace(
        step, action=None, action_input=None, observation=None, answer=text, thought="I know."
    )


NESTED = (
    used("View", "10", asset=ASSET),
    used("Deploy", "Deposited", asset=ASSET, amount=5, tags=["a", "b"], isFast=True),
    used("helper", "It is 7.", prompt="Add 7"),
    used("Counter", "7", agent=INNER, depth=1, amount=7),
    answered("It is 7.", agent=INNER, depth=1),
    used("Deploy", None, asset=ASSET, amount=10, tags=[], isFast=False),
    answered("Deposited 5, not 10."),
)
"""An agent that looks, deposits, asks another agent, and can't deposit more."""

RUN = AgentRun(steps=NESTED, transaction_hash=bytes(range(32)), gas_used=6_000_000)

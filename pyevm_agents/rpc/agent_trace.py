"""What agents did in a transaction, as JSON: a tree, as agents use agents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.models import SwitchedModel
from pyevm_agents.reasons import why_failed
from pyevm_agents.trace import agent_steps, closest_step, inferences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import ComputationAPI

    from precompiles.executor import Inference
    from precompiles.ports import LanguageModel
    from pyevm_agents.chain import MinedBlock
    from pyevm_agents.rpc.formats import Json
    from pyevm_agents.trace import AgentStep


def trace_json(
    transaction_hash: bytes,
    computation: ComputationAPI,
    gas_used: int,
    models: Mapping[str, LanguageModel],
) -> Json:
    """Write what agents did in a transaction.

    Input:  its hash, its computation, the gas that it used; the chain's models, which know times.
    Output: whether it succeeded, and why it did not: then what its tools did is undone; `steps`,
            each with the steps of the agent that it used as its own `steps`; tokens and gas of each
            and of all; `closest`, the number of the step whose decision was the closest, counted
            from 1 in the order in which they were made.
    """
    steps = agent_steps(computation)
    forms = [step_json(step, number, models) for number, step in enumerate(steps, start=1)]
    found = inferences(computation)
    prompt_gas = sum(one.prompt_gas for one in found)
    output_gas = sum(one.output_gas for one in found)
    closest = closest_step(steps)
    return {
        "transactionHash": "0x" + transaction_hash.hex(),
        "isSuccess": computation.is_success,
        "reason": why_failed(computation) if computation.is_error else None,
        "gas": {
            "used": gas_used,
            "evm": gas_used - prompt_gas - output_gas,
            "prompt": prompt_gas,
            "output": output_gas,
        },
        "tokens": {
            "cold": sum(one.cold_tokens for one in found),
            "warm": sum(one.warm_tokens for one in found),
            "output": sum(one.output_tokens for one in found),
            "forced": sum(one.forced_tokens for one in found),
        },
        "closest": None if closest is None else closest + 1,
        "steps": _tree(steps, forms),
    }


def traces_of(models: Mapping[str, LanguageModel], mined: MinedBlock) -> dict[bytes, bytes]:
    """Return what agents did in a block, by transaction: it is kept with it.

    How long an answer took is not known later, and nothing has to be executed again.
    """
    traces, before = {}, 0
    for transaction, receipt, computation in zip(
        mined.block.transactions, mined.receipts, mined.computations, strict=True
    ):
        if inferences(computation):
            gas_used = receipt.gas_used - before
            form = trace_json(transaction.hash, computation, gas_used, models)
            traces[bytes(transaction.hash)] = json.dumps(form).encode()
        before = receipt.gas_used
    return traces


def step_json(step: AgentStep, number: int, models: Mapping[str, LanguageModel]) -> Json:
    """Write a step by itself."""
    inference = step.inference
    return {
        "number": number,
        "depth": step.depth,
        "agent": to_checksum_address(step.agent),
        "model": inference.model,
        "prompt": "".join(segment.text for segment in inference.segments),
        "thought": step.thought,
        "action": step.action,
        "input": step.action_input,
        "observation": step.observation,
        "answer": step.answer,
        **cost_json(inference, models),
        "steps": [],
    }


def cost_json(inference: Inference, models: Mapping[str, LanguageModel]) -> Json:
    """Write what a step cost, and how close its decisions were."""
    margin, model = inference.margin, models.get(inference.model)
    seconds = model.seconds_of(inference.segments) if isinstance(model, SwitchedModel) else None
    return {
        "tokens": {
            "cold": inference.cold_tokens,
            "warm": inference.warm_tokens,
            "output": inference.output_tokens,
            "forced": inference.forced_tokens,
        },
        "gas": {"prompt": inference.prompt_gas, "output": inference.output_gas},
        "margin": None
        if margin is None
        else {
            "gap": margin.gap,
            "token": margin.token_index,
            "chosen": margin.chosen,
            "other": margin.other,
        },
        "seconds": None if seconds is None else round(seconds, 4),
    }


def _tree(steps: Sequence[AgentStep], forms: Sequence[Json]) -> list[Json]:
    """Hang each step under the step of the agent that used its agent."""
    roots: list[Json] = []
    above: list[tuple[int, Json]] = []
    for step, form in zip(steps, forms, strict=True):
        while above and above[-1][0] >= step.depth:
            above.pop()
        if above:
            below = above[-1][1]["steps"]
            assert isinstance(below, list)  # noqa: S101 - as `step_json` writes it
            below.append(form)
        else:
            roots.append(form)
        above.append((step.depth, form))
    return roots

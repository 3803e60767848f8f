"""`agent_*`: what agents did, what they will cost, and what they are to say."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from precompiles import spec
from precompiles.escaping import ADDRESS
from pyevm_agents.agents.trace import inferences, total_usage
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import RememberingModel, ScriptedModel, SwitchedModel, answer, use
from pyevm_agents.models.fakes.recorded import RecordedModel, RecordingModel
from pyevm_agents.models.fakes.script_steps import Numeral
from pyevm_agents.models.fakes.scripted import Counting
from pyevm_agents.models.llama.model import GgufModel
from pyevm_agents.node.gas_estimator import estimate_gas
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.agent_serializers import trace_json
from pyevm_agents.rpc.block_views import next_view
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError, execution_failed
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import BlockId, block, hash32, invalid, listed, mapping, text
from pyevm_agents.rpc.transaction_params import asked

if TYPE_CHECKING:
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json

METHODS = Table()

LIMITS = (
    "MAX_CALLDATA_BYTES",
    "MAX_METADATA_BYTES",
    "MAX_TOOLS",
    "MAX_PARAMETERS",
    "MAX_ADDRESSES",
    "MAX_ARRAY_ITEMS",
    "MAX_THOUGHT_CHARACTERS",
    "MAX_TEXT_CHARACTERS",
    "PROMPT_BLOCK_TOKENS",
    "WARM_PREFIXES",
)


@METHODS.method("agent_models")
def models(rpc: Rpc) -> list[Json]:
    """Return the models that contracts may ask for, with digests, limits and prices."""
    return [
        {
            "name": one.name,
            "aliases": [*one.aliases],
            "digest": serializers.data(one.digest),
            "contextTokens": one.context_tokens,
            "maxOutputTokens": one.max_output_tokens,
            "coldPromptTokenGas": one.cold_prompt_token_gas,
            "warmPromptTokenGas": one.warm_prompt_token_gas,
            "outputTokenGas": one.output_token_gas,
            "isScripted": _is_scripted(rpc, one.name),
        }
        for one in rpc.node.chain.config.models
    ]


@METHODS.method("agent_schedule")
def schedule(rpc: Rpc) -> Json:
    """Return what the executor charges beside tokens, its limits, and the chain's profile."""
    config = rpc.node.chain.config
    return {
        "executor": serializers.data(spec.EXECUTOR_ADDRESS) if config.models else None,
        "configDigest": serializers.data(config.digest),
        "profile": config.profile_fingerprint,
        "gas": {name.upper(): gas for name, gas in asdict(config.schedule).items()},
        "limits": {name: getattr(spec, name) for name in LIMITS},
    }


@METHODS.method("agent_traceTransaction", hash32)
def trace_transaction(rpc: Rpc, transaction_hash: bytes) -> Json:
    """Return the steps of a transaction's agents: prompts, words, tokens, gas, margins, times."""
    trace = rpc.node.chain.agent_trace(transaction_hash)
    if trace is None:
        raise RpcError(
            SERVER_ERROR, f"transaction 0x{transaction_hash.hex()} not found: no block has it"
        )
    return trace_json(transaction_hash, trace)


@METHODS.method("agent_estimate", asked, optional(block))
def estimate(rpc: Rpc, transaction: TransactionRequest, block: BlockId | None) -> Json:
    """Return the least gas limit, and what of the gas used goes to the EVM, prompts and output."""
    at = next_view(rpc, block, transaction.sender, transaction.nonce)
    call = transaction.to_call()
    least = estimate_gas(rpc.node, call, at)
    result = at.chain.call(call, header=at.header)
    if result.error is not None:
        raise execution_failed(result.error, result.output)
    found = inferences(result.computation)
    usage = total_usage(found)
    return {
        "gasLimit": least,
        "gasUsed": result.gas_used,
        "evmGas": result.gas_used - usage.prompt_gas - usage.output_gas,
        "promptGas": usage.prompt_gas,
        "outputGas": usage.output_gas,
        "inferences": len(found),
        "coldTokens": usage.cold_tokens,
        "warmTokens": usage.warm_tokens,
        "outputTokens": usage.output_tokens,
    }


def script(value: object, name: str) -> list[Step]:
    """Read the steps of a script."""
    return [_step(one, f"{name}[{index}]") for index, one in enumerate(listed(value, name))]


def _step(value: object, name: str) -> Step:
    if isinstance(value, str):
        return value
    form = mapping(value, name)
    unknown = set(form) - {"tool", "arguments", "thought", "answer"}
    if unknown or ("tool" in form) == ("answer" in form):
        raise invalid(
            name,
            dict(form),
            'want {"tool": …, "arguments": {…}, "thought": …}, or {"answer": …, "thought": …}',
        )
    thought = None if form.get("thought") is None else text(form["thought"], f"{name}.thought")
    if "answer" in form:
        said = text(form["answer"], f"{name}.answer")
        return answer(said) if thought is None else answer(said, thought=thought)
    arguments = mapping(form.get("arguments") or {}, f"{name}.arguments")
    read = {key: _numerals(value) for key, value in arguments.items()}
    try:
        return use(text(form["tool"], f"{name}.tool"), thought, read)
    except ConfigError as error:
        raise invalid(name, dict(form), str(error)) from error


def _numerals(value: object) -> object:
    """Return an argument with the numbers in it that JSON can write as texts alone."""
    if isinstance(value, list):
        return [_numerals(one) for one in value]
    if not isinstance(value, str) or ADDRESS.fullmatch(value):
        return value
    return Numeral(value) if Numeral.PATTERN.fullmatch(value) else value


@METHODS.method("agent_setScript", script, optional(text))
def set_script(rpc: Rpc, steps: list[Step], model: str | None) -> bool:
    """Answer with these steps from now on, in the model's tokens and at its price: a mock."""
    switch = _switch_of(rpc, model)
    own = _weights_of(switch)
    facts = own.profile_facts
    # Estimating asks several times for each step, and each time grammar and tokens are counted.
    mock = RememberingModel(
        ScriptedModel(steps, vocabulary=own), digest=facts.digest, fingerprint=facts.fingerprint
    )

    def work() -> None:
        switch.switch(mock)

    rpc.change(work)
    return True


@METHODS.method("agent_clearScript", optional(text))
def clear_script(rpc: Rpc, model: str | None) -> bool:
    """Let the model itself answer again; return whether a script was set."""
    switch = _switch_of(rpc, model)
    return rpc.change(lambda: switch.switch(None)) is not None


def _is_scripted(rpc: Rpc, name: str) -> bool:
    model = rpc.node.chain.models[name]
    return isinstance(model, SwitchedModel) and model.is_switched


def _switch_of(rpc: Rpc, name: str | None) -> SwitchedModel:
    for profile in rpc.node.chain.config.models:
        if name in {None, profile.name, *profile.aliases, serializers.data(profile.digest)}:
            model = rpc.node.chain.models[profile.name]
            if isinstance(model, SwitchedModel):
                return model
    known = ", ".join(one.name for one in rpc.node.chain.config.models) or "none"
    raise RpcError(
        INVALID_PARAMS,
        f"no model{'' if name is None else f' {name}'} whose words can be scripted; there are: "
        f"{known}; a node with --no-model has none",
    )


def _weights_of(switch: SwitchedModel) -> GgufModel:
    """Return the model whose vocabulary a script is counted in."""
    model: object = switch.own
    while not isinstance(model, GgufModel):
        match model:
            case RememberingModel() | RecordingModel():
                model = model.model
            case RecordedModel():
                model = model.beyond
            case Counting():
                model = model.vocabulary
            case _:
                raise RpcError(
                    INVALID_PARAMS, "the node runs without a model: a script has no vocabulary"
                )
    return model

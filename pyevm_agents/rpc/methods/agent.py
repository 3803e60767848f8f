"""`agent_*` methods: models, gas schedule, traces, estimates and scripted answers."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from precompiles import spec
from precompiles.escaping import ADDRESS
from precompiles.numeric_executor import compute_run_gas
from pyevm_agents.abi.address_names import AddressNames
from pyevm_agents.agents.failures import read_revert_context
from pyevm_agents.agents.trace import extract_inferences, sum_usage
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import CachingModel, ScriptedModel, SwappableModel, answer, use
from pyevm_agents.models.fakes.recorded import RecordedModel, RecordingModel
from pyevm_agents.models.fakes.script_steps import Numeral
from pyevm_agents.models.fakes.scripted import HasVocabulary
from pyevm_agents.models.llama.model import GgufModel
from pyevm_agents.node.gas_limits import estimate_gas
from pyevm_agents.node.listeners import find_warning
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.agent_serializers import serialize_trace
from pyevm_agents.rpc.block_views import resolve_next_view
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError, execution_error
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    BlockId,
    invalid_param_error,
    parse_block_id,
    parse_hash32,
    parse_list,
    parse_object,
    parse_text,
)
from pyevm_agents.rpc.transaction_params import parse_transaction_request

if TYPE_CHECKING:
    from pyevm_agents.models.fakes.script_steps import Step
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json

METHODS = MethodTable()

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
def models(rpc: RequestContext) -> list[Json]:
    """Return the models that contracts can call, with digests, limits and prices."""
    return [
        {
            "name": profile.name,
            "aliases": [*profile.aliases],
            "digest": serializers.encode_data(profile.digest),
            "contextTokens": profile.context_tokens,
            "maxOutputTokens": profile.max_output_tokens,
            "coldPromptTokenGas": profile.cold_prompt_token_gas,
            "warmPromptTokenGas": profile.warm_prompt_token_gas,
            "outputTokenGas": profile.output_token_gas,
            "chooserTokenGas": profile.chooser_token_gas,
            "isScripted": _is_scripted(rpc, profile.name),
        }
        for profile in rpc.node.chain.config.models
    ]


@METHODS.method("agent_numericModels")
def numeric_models(rpc: RequestContext) -> list[Json]:
    """Return the models at 0x1a: digests, decimals, operations, and gas of a call by name."""
    config = rpc.node.chain.config
    return [
        {
            "name": profile.name,
            "digest": serializers.encode_data(profile.digest),
            "inputDecimals": [*profile.input_decimals],
            "outputDecimals": [*profile.output_decimals],
            "operations": profile.operations,
            "gas": compute_run_gas(config.numeric_schedule, profile, profile.name),
        }
        for profile in config.numeric_models
    ]


@METHODS.method("agent_numericModelFile", parse_text)
def numeric_model_file(rpc: RequestContext, name: str) -> str | None:
    """Return the ONNX file of a model at 0x1a; null for a model without a file."""
    model = rpc.node.chain.numeric_models.get(name)
    if model is None:
        known = ", ".join(rpc.node.chain.numeric_models) or "none"
        raise RpcError(INVALID_PARAMS, f"numeric model {name!r:.80}: must be one of {known}")
    from pyevm_agents.models.numeric import NumericFile  # noqa: PLC0415 - imports onnx

    return serializers.encode_data(model.data) if isinstance(model, NumericFile) else None


@METHODS.method("agent_schedule")
def schedule(rpc: RequestContext) -> Json:
    """Return the executor's gas schedule (without tokens) and limits, and the chain's profile."""
    config = rpc.node.chain.config
    return {
        "executor": serializers.encode_data(spec.EXECUTOR_ADDRESS) if config.models else None,
        "configDigest": serializers.encode_data(config.digest),
        "profile": config.profile_fingerprint,
        "gas": {name.upper(): gas for name, gas in asdict(config.schedule).items()},
        "limits": {name: getattr(spec, name) for name in LIMITS},
    }


@METHODS.method("agent_traceTransaction", parse_hash32)
def trace_transaction(rpc: RequestContext, transaction_hash: bytes) -> Json:
    """Return the steps of a transaction's agents: prompts, outputs, tokens, gas, margins, times."""
    trace = rpc.node.chain.find_agent_trace(transaction_hash)
    if trace is None:
        raise RpcError(SERVER_ERROR, f"transaction 0x{transaction_hash.hex()} not found: not mined")
    chain = rpc.node.chain
    names = AddressNames(known=chain.known_contracts, get_code=chain.code)
    return serialize_trace(transaction_hash, trace, names)


@METHODS.method("agent_estimate", parse_transaction_request, optional(parse_block_id))
def estimate(rpc: RequestContext, transaction: TransactionRequest, block: BlockId | None) -> Json:
    """Return the least gas limit, and the gas used by the EVM, by prompts and by outputs."""
    at = resolve_next_view(rpc, block, transaction.sender, transaction.nonce)
    price = transaction.find_price_wei(int(at.header.base_fee_per_gas or 0))
    call = rpc.limit_call(transaction.to_call(), at)
    least = estimate_gas(rpc.node, call, at, price_wei=price)
    result = at.chain.call(replace(call, gas_price_wei=price), header=at.header)
    rpc.node.listeners.on_warning(find_warning(result.computation))
    if result.error is not None:
        raise execution_error(
            result.error,
            result.output,
            read_revert_context(result.computation),
            rpc.node.chain.known_contracts,
        )
    inferences = extract_inferences(result.computation)
    usage = sum_usage(inferences)
    return {
        "gasLimit": least,
        "gasUsed": result.gas_used,
        "evmGas": result.gas_used - usage.prompt_gas - usage.output_gas,
        "promptGas": usage.prompt_gas,
        "outputGas": usage.output_gas,
        "steps": len(inferences),
        "inferences": sum(not one.is_decided for one in inferences),
        "coldTokens": usage.cold_tokens,
        "warmTokens": usage.warm_tokens,
        "outputTokens": usage.output_tokens,
    }


def parse_script(value: object, name: str) -> list[Step]:
    """Parse the steps of a script."""
    return [
        _parse_step(step, f"{name}[{index}]") for index, step in enumerate(parse_list(value, name))
    ]


def _parse_step(value: object, name: str) -> Step:
    if isinstance(value, str):
        return value
    form = parse_object(value, name)
    unknown = set(form) - {"tool", "arguments", "thought", "answer"}
    if unknown or ("tool" in form) == ("answer" in form):
        raise invalid_param_error(
            name,
            dict(form),
            'must be {"tool": …, "arguments": {…}, "thought": …}, or {"answer": …, "thought": …}',
        )
    thought = (
        None if form.get("thought") is None else parse_text(form["thought"], f"{name}.thought")
    )
    if "answer" in form:
        text = parse_text(form["answer"], f"{name}.answer")
        return answer(text) if thought is None else answer(text, thought=thought)
    arguments = parse_object(form.get("arguments") or {}, f"{name}.arguments")
    read = {key: _convert_numerals(value) for key, value in arguments.items()}
    try:
        return use(parse_text(form["tool"], f"{name}.tool"), thought, read)
    except ConfigError as error:
        raise invalid_param_error(name, dict(form), str(error)) from error


def _convert_numerals(value: object) -> object:
    """Return an argument with `Numeral`s in place of number strings: JSON clients send big ones."""
    if isinstance(value, list):
        return [_convert_numerals(item) for item in value]
    if not isinstance(value, str) or ADDRESS.fullmatch(value):
        return value
    return Numeral(value) if Numeral.PATTERN.fullmatch(value) else value


@METHODS.method("agent_setScript", parse_script, optional(parse_text))
def set_script(rpc: RequestContext, steps: list[Step], model: str | None) -> bool:
    """Replace a model with a script (mock), which is charged in the model's tokens and prices."""
    switch = _find_swappable_model(rpc, model)
    own = _find_gguf_model(switch)
    facts = own.profile_facts
    # An estimate requests each step several times; each computes the grammar and the tokens anew.
    mock = CachingModel(
        ScriptedModel(steps, vocabulary=own), digest=facts.digest, fingerprint=facts.fingerprint
    )

    def swap_model() -> None:
        switch.swap(mock)

    rpc.run_exclusive(swap_model)
    return True


@METHODS.method("agent_clearScript", optional(parse_text))
def clear_script(rpc: RequestContext, model: str | None) -> bool:
    """Restore the model itself; return whether a script was set."""
    switch = _find_swappable_model(rpc, model)
    return rpc.run_exclusive(lambda: switch.swap(None)) is not None


def _is_scripted(rpc: RequestContext, name: str) -> bool:
    model = rpc.node.chain.models[name]
    return isinstance(model, SwappableModel) and model.is_swapped


def _find_swappable_model(rpc: RequestContext, name: str | None) -> SwappableModel:
    for profile in rpc.node.chain.config.models:
        if name in {None, profile.name, *profile.aliases, serializers.encode_data(profile.digest)}:
            model = rpc.node.chain.models[profile.name]
            if isinstance(model, SwappableModel):
                return model
    known = ", ".join(entry.name for entry in rpc.node.chain.config.models) or "none"
    raise RpcError(
        INVALID_PARAMS,
        f"{'no model' if name is None else f'unknown model {name}'}: models that can be scripted: "
        f"{known}; a node with --no-model has none",
    )


def _find_gguf_model(switch: SwappableModel) -> GgufModel:
    """Return the model whose tokenizer counts the tokens of a script."""
    model: object = switch.original
    while not isinstance(model, GgufModel):
        match model:
            case CachingModel() | RecordingModel():
                model = model.model
            case RecordedModel():
                model = model.fallback
            case HasVocabulary():
                model = model.vocabulary
            case _:
                raise RpcError(
                    INVALID_PARAMS, "the node runs without a model: a script needs its tokenizer"
                )
    return model

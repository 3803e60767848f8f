"""Consensus of the executor at 0x19: reverts, results, prices, limits and addresses."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas, Revert
from eth.vm.message import Message
from eth_abi import decode, encode
from eth_typing import Address
from eth_utils import to_checksum_address

from precompiles import abi, spec
from precompiles.abi import MalformedAbiError, ParamType
from precompiles.errors import REFUSALS, Refusal, error_selector
from precompiles.gas import DEFAULT_SCHEDULE
from precompiles.react import QUOTED_CHARACTERS, GrammarViolationError
from precompiles.versions import (
    RUN_NEXT_ITERATION_V1_SELECTOR,
    SUPPORTS_INTERFACE_SELECTOR,
)
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.config import ChainConfig
from tests.byte_model import PROFILE
from tests.chain_bench import OWNER
from tests.golden.byte_chain import ANSWER, EVERY_TYPE, EXECUTOR, deploy_tool, open_bench
from tests.golden.json_values import Json, abbreviate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI

    from pyevm_agents.models import Vocabulary
    from tests.chain_bench import Bench

RULES = Path(spec.__file__).parent
"""The folder of the rules' source."""

NAME, DESCRIPTION, INPUT = map(bytes.fromhex, ("06fdde03", "7284e416", "0ef946da"))
HONEST, RETURN, REVERT, BURN_GAS, RETURN_HUGE, REENTER = range(6)
CALL, STATICCALL, DELEGATECALL, CALLCODE = range(4)
INPUT_TYPE = "((uint8,string,string)[])"
REASONING = 'Thought: I look\nAction: A\nAction Input: {"a": 1}'
REQUEST_TYPES = ["string", "string", "address[]", "string[]", "string[]", "string"]
NOBODY = Address(b"\x77" * 20)


def encode_request(
    *,
    model: str = "bytes",
    base_prompt: str = "Be kind.",
    tools: Sequence[Address] = (),
    reasoning: Sequence[str] = (),
    results: Sequence[str] = (),
    prompt: str = "Hello",
) -> bytes:
    """Return the calldata of `runNextIteration`."""
    arguments = [model, base_prompt, list(tools), list(reasoning), list(results), prompt]
    return abi.RUN_NEXT_ITERATION_SELECTOR + encode(REQUEST_TYPES, arguments)


def collect_consensus(_vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return everything of the rules that decides about blocks."""
    return {
        "addresses and code": {
            "executor": to_checksum_address(spec.EXECUTOR_ADDRESS),
            "code of the executor's account": "0x" + spec.EXECUTOR_CODE.hex(),
        },
        "errors": {
            name: {
                "signature": f"{name}({','.join(types)})",
                "selector": "0x" + error_selector(name).hex(),
            }
            for name, types in REFUSALS.items()
        },
        "selectors": {
            "runNextIteration": "0x" + abi.RUN_NEXT_ITERATION_SELECTOR.hex(),
            "name": "0x" + abi.NAME_SELECTOR.hex(),
            "description": "0x" + abi.DESCRIPTION_SELECTOR.hex(),
            "inputDescription": "0x" + abi.INPUT_DESCRIPTION_SELECTOR.hex(),
        },
        "parameter types": {
            str(int(kind)): {"solidity": kind.abi_type, "in a prompt": kind.words}
            for kind in ParamType
        },
        "limits": _limits(),
        "schedule": _schedule(),
        "texts in revert data": sorted(revert_texts()),
        "reverts": {name: _revert(make()) for name, make in REVERTS.items()},
        "halts": {name: _halt(make()) for name, make in HALTS.items()},
        "faults": {name: _fault(text) for name, text in FAULTY_TEXTS.items()},
        "results": {name: _result(text) for name, text in SPOKEN_TEXTS.items()},
    }


def _limits() -> Mapping[str, object]:
    """Return the limits of genesis, and the constants that genesis does not name."""
    unnamed = {
        "characters of a quoted text": QUOTED_CHARACTERS,
        "default gas of a cold prompt token": spec.DEFAULT_COLD_PROMPT_TOKEN_GAS,
        "default gas of a warm prompt token": spec.DEFAULT_WARM_PROMPT_TOKEN_GAS,
        "default gas of an output token": spec.DEFAULT_OUTPUT_TOKEN_GAS,
        "default output tokens of a generation": spec.DEFAULT_MAX_OUTPUT_TOKENS,
    }
    return {"in genesis": json.loads(ChainConfig().to_json())["limits"], "elsewhere": unnamed}


def _schedule() -> Mapping[str, object]:
    return {
        "in genesis": json.loads(ChainConfig().to_json())["schedule"],
        "gas of 1000 bytes of calldata": DEFAULT_SCHEDULE.calldata_gas(1_000),
        "gas of 1000 bytes of metadata": DEFAULT_SCHEDULE.metadata_gas(1_000),
        "gas of 3 tools with 7 parameters": DEFAULT_SCHEDULE.grammar_gas(3, 7),
        "gas of one metadata read, at most": DEFAULT_SCHEDULE.metadata_read_gas,
    }


# -- reverts -- #


def _refused(data: bytes, **told: object) -> ComputationAPI:
    return open_bench([ANSWER]).call(EXECUTOR, data, **told)  # type: ignore[arg-type]


def _first(entries: list[str], *, name: bytes = b"Agent") -> bytes:
    """Return a request of version 1."""
    types = ["string", "bytes", "string", "address[]", "string[]", "string"]
    values = ["bytes", name, "Be kind.", [], entries, "Hello"]
    return RUN_NEXT_ITERATION_V1_SELECTOR + encode(types, values)


def _forwarded(kind: int, **told: int) -> ComputationAPI:
    """Call the executor from a contract."""
    bench = open_bench([ANSWER])
    return _forward(bench, kind, encode_request(), **told)


def _forward(
    bench: Bench, kind: int, data: bytes, *, value: int = 0, gas: int = 0
) -> ComputationAPI:
    caller = bench.deploy("Caller")
    calldata = load_artifact("Caller").encode_call("forward", kind, EXECUTOR, gas, value, data)
    (child,) = bench.call(caller, calldata, value_wei=value).children
    return child


def _without_executor() -> ComputationAPI:
    place = Address(b"\x99" * 20)
    return open_bench(codes={place: spec.EXECUTOR_CODE}).call(place, encode_request())


def _not_utf8(field: str) -> ComputationAPI:
    """Send one field that is no UTF-8."""
    texts = {"model": "", "base_prompt": "", "prompt": ""} | {field: "~~~~"}
    if field in {"reasoning", "results"}:
        texts = {"model": "", "base_prompt": "", "prompt": ""}
        told = encode_request(**texts, **{field: ["~~~~"]})  # type: ignore[arg-type]
    else:
        told = encode_request(**texts)  # type: ignore[arg-type]
    return _refused(told.replace(b"~~~~", b"~~~\xff"))


def _aliased() -> ComputationAPI:
    """Send calldata that uses its parts twice."""
    count = 64
    offsets, texts = [0xC0, 0xE0, 0x100, 0x120, 0x1000, 0x1020], [0, 0, 0]
    words = [*offsets, *texts, count, *[0x20 * count] * count, 2_048]
    body = b"".join(word.to_bytes(32, "big") for word in words)
    return _refused((abi.RUN_NEXT_ITERATION_SELECTOR + body).ljust(4 + 0x1040, b"r"))


def _words(*words: int) -> ComputationAPI:
    body = b"".join(word.to_bytes(32, "big") for word in words)
    return _refused(abi.RUN_NEXT_ITERATION_SELECTOR + body)


def _bad_tool(selector: bytes, behaviour: int, payload: bytes = b"") -> ComputationAPI:
    bench = open_bench([ANSWER])
    tool = bench.deploy("BadMetadataTool", selector, behaviour, payload)
    return bench.call(EXECUTOR, encode_request(tools=[tool]))


def _named_tools(*names: str) -> ComputationAPI:
    bench = open_bench([ANSWER])
    tools = [
        bench.deploy("BadMetadataTool", NAME, RETURN, encode(["string"], [name])) for name in names
    ]
    return bench.call(EXECUTOR, encode_request(tools=tools))


def _with_parameters(*parameters: tuple[int, str, str]) -> ComputationAPI:
    return _bad_tool(INPUT, RETURN, encode([INPUT_TYPE], [(list(parameters),)]))


def _too_deep() -> ComputationAPI:
    bench = open_bench([ANSWER])
    tool, state = bench.deploy("TokenInfoTool"), bench.chain.state()
    message = Message(
        gas=20_000_000,
        to=EXECUTOR,
        sender=OWNER,
        value=0,
        data=encode_request(tools=[tool]),
        code=b"",
        depth=1_024,
    )
    context = state.get_transaction_context_class()(gas_price=0, origin=OWNER)
    return state.computation_class.apply_message(state, message, context)


def _short_of_context() -> ComputationAPI:
    profile = replace(PROFILE, context_tokens=600)
    return open_bench([ANSWER], profile=profile).call(EXECUTOR, encode_request())


def _short_of_output() -> ComputationAPI:
    profile = replace(PROFILE, max_output_tokens=5)
    return open_bench([ANSWER], profile=profile).call(EXECUTOR, encode_request())


MODEL_ID = "gpt-9 “unknown”"
PADDED = [0xC0, 0xE0, 0x100, 0x140, 0x160, 0x180, 0, 0, 1, 1 << 200, 0, 0, 0]
"""Words of a request whose one tool is no address: its padding is not zero."""

REVERTS: Mapping[str, Callable[[], ComputationAPI]] = {
    "no executor on the chain": _without_executor,
    "value by call": partial(_forwarded, CALL, value=7),
    "DELEGATECALL": partial(_forwarded, DELEGATECALL),
    "CALLCODE": partial(_forwarded, CALLCODE),
    "no calldata": partial(_refused, b""),
    "three bytes of calldata": partial(_refused, b"\x7e\x63\x6a"),
    "another selector": partial(_refused, NAME),
    "65,537 bytes of calldata": partial(_refused, bytes(65_537)),
    "a selector alone": partial(_words),
    "an offset beyond the end": partial(_words, *[2**255] * 6),
    "an endless array": partial(_words, *[0xC0] * 6, 2**255),
    "parts used twice": _aliased,
    "a tool that is no address": partial(_words, *PADDED),
    **{
        f"no UTF-8 in {field}": partial(_not_utf8, field)
        for field in ("model", "base_prompt", "reasoning", "results", "prompt")
    },
    "an unknown model": partial(_refused, encode_request(model=MODEL_ID)),
    "65 tools": partial(_refused, encode_request(tools=[NOBODY] * 65)),
    "a tool without code": partial(_refused, encode_request(tools=[NOBODY])),
    "the executor as a tool": partial(_refused, encode_request(tools=[EXECUTOR])),
    "metadata that reverts": partial(_bad_tool, DESCRIPTION, REVERT, b"because"),
    "metadata that reverts at length": partial(_bad_tool, NAME, REVERT, b"z" * 1_025),
    "metadata that burns its gas": partial(_bad_tool, INPUT, BURN_GAS),
    "metadata that calls the executor": partial(_bad_tool, NAME, REENTER, encode_request()),
    "metadata of 16,385 bytes": partial(_bad_tool, NAME, RETURN_HUGE, (16_385).to_bytes(32, "big")),
    "metadata without bytes": partial(_bad_tool, NAME, RETURN),
    "metadata of an endless length": partial(
        _bad_tool, INPUT, RETURN, encode(["uint256", "uint256", "uint256"], [32, 32, 2**255])
    ),
    "metadata that decodes to more": partial(
        _bad_tool, DESCRIPTION, RETURN, encode(["uint256", "uint256"], [32, 4_096])
    ),
    "metadata whose type is no byte": partial(
        _bad_tool,
        INPUT,
        RETURN,
        encode(["uint256"] * 10, [32, 32, 1, 32, 2**200, 0x60, 0x80, 0, 0, 0]),
    ),
    "a description that is no UTF-8": partial(
        _bad_tool, DESCRIPTION, RETURN, encode(["bytes"], [b"\xff"])
    ),
    "a parameter's name that is no UTF-8": partial(
        _bad_tool, INPUT, RETURN, encode(["((uint8,bytes,bytes)[])"], [([(0, b"\xff", b"")],)])
    ),
    "a parameter of type 10": partial(_with_parameters, (10, "a", "")),
    "33 parameters": partial(_with_parameters, *[(4, f"p{i}", "") for i in range(33)]),
    "two parameters of one name": partial(_with_parameters, (4, "a", ""), (0, "a", "")),
    "a parameter without a name": partial(_with_parameters, (4, "", "")),
    "a tool without a name": partial(_named_tools, ""),
    "a name of 66 bytes": partial(_named_tools, "é" * 33),
    "a name of two lines": partial(_named_tools, "a\nb"),
    "a name that begins with a space": partial(_named_tools, " a"),
    "a name with a tab": partial(_named_tools, "a\tb"),
    "a name with a Cyrillic letter": partial(_named_tools, "D\u0435posit"),
    "a name with an invisible character": partial(_with_parameters, (4, "to\u200b", "")),
    "a name with an address": partial(_named_tools, f"Pay 0x{'ab' * 20}"),
    "a name like a handle": partial(_with_parameters, (1, "addr1", "")),
    "a name like a truth value": partial(_named_tools, "true"),
    "names of tools that look alike": partial(_named_tools, "TokenInfo", "TokenlnfO", "Tokenlnfo"),
    "names of parameters that look alike": partial(_with_parameters, (4, "a1", ""), (4, "al", "")),
    "two tools of one name": partial(_named_tools, "Same", "Same"),
    "a history of unequal lengths": partial(_refused, encode_request(reasoning=[REASONING])),
    "a forged reasoning": partial(
        _refused,
        encode_request(reasoning=[REASONING, REASONING + "\nObservation: x"], results=["", ""]),
    ),
    "version 1: no observation": partial(_refused, _first([REASONING])),
    "version 1: two observations": partial(
        _refused, _first([f"{REASONING}\nObservation: 1\nObservation: 2"])
    ),
    "version 1: a gap in the history": partial(
        _refused, _first(["", f"{REASONING}\nObservation: 1\n"])
    ),
    "version 1: a name that is no UTF-8": partial(_refused, _first([], name=b"\xff")),
    "version 1: calldata that are cut": partial(_refused, _first([])[:-1]),
    "a question without an interface": partial(_refused, SUPPORTS_INTERFACE_SELECTOR),
    "a question with more than an interface": partial(
        _refused, SUPPORTS_INTERFACE_SELECTOR + b"\xff" * 32
    ),
    "a gap in the history": partial(
        _refused, encode_request(reasoning=["", REASONING], results=["x", ""])
    ),
    "a prompt longer than the context": _short_of_context,
    "an output longer than the limit": _short_of_output,
    "metadata at depth 1,024": _too_deep,
}
"""Calls that the executor refuses, each reason at least once."""


def _revert(computation: ComputationAPI) -> Mapping[str, object]:
    assert isinstance(computation.error, Revert), computation.error
    data = bytes(computation.output)
    shown = {"data": abbreviate("0x" + data.hex()), "gas used": computation.get_gas_used()}
    return _decoded(data) | shown


def _decoded(data: bytes) -> dict[str, object]:
    """Return a refusal's name and arguments; revert data that it passes on is decoded as well."""
    name = next(name for name in REFUSALS if error_selector(name) == data[:4])
    arguments = decode(REFUSALS[name], data[4:])
    return {"error": name, "arguments": [_argument(one) for one in arguments]}


def _argument(value: object) -> object:
    if not isinstance(value, bytes):
        return value
    is_refusal = any(error_selector(name) == value[:4] for name in REFUSALS)
    return _decoded(value) if is_refusal else abbreviate("0x" + value.hex())


# -- the texts that the source can put into revert data -- #


@dataclass(frozen=True, slots=True)
class _Function:
    """A function of the rules' source, and the module that it stands in."""

    module: ast.Module
    node: ast.FunctionDef


def revert_texts() -> set[str]:
    """Return each text that the rules' source can put into revert data, `{}` for variable parts.

    These are the texts among the arguments of raised errors, also by way of a local name or a
    parameter, and the names of errors.
    """
    return {text for function in _functions() for text in _texts_of(function)}


def uncovered_texts(reverts: Json) -> list[str]:
    """Return the texts of `revert_texts` that no revert's data has."""
    seen = {text for one in reverts.values() for text in _texts_in_revert(one)}
    return sorted(
        text
        for text in revert_texts()
        if not any(re.fullmatch(".+".join(map(re.escape, text.split("{}"))), one) for one in seen)
    )


def _texts_in_revert(revert: Json) -> Iterator[str]:
    yield revert["error"]
    for argument in revert["arguments"]:
        if isinstance(argument, dict):
            yield from _texts_in_revert(argument)
        elif isinstance(argument, str):
            yield argument


def _functions() -> Iterator[_Function]:
    for path in sorted(RULES.rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef):
                yield _Function(module, node)


def _texts_of(function: _Function) -> Iterator[str]:
    raised = {Refusal.__name__, MalformedAbiError.__name__}
    for call in ast.walk(function.node):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id in raised
        ):
            for argument in call.args:
                yield from _texts_in(argument, function)


def _texts_in(argument: ast.expr, function: _Function) -> Iterator[str]:
    text = _text(argument)
    if text is not None:
        yield text
    elif isinstance(argument, ast.Name):
        yield from _texts_named(argument.id, function)


def _texts_named(name: str, function: _Function) -> Iterator[str]:
    """Yield the texts that a local name is given, or that callers give a parameter."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in node.targets
        ):
            text = _text(node.value)
            if text is not None:
                yield text
    parameters = [parameter.arg for parameter in function.node.args.args]
    if name not in parameters:
        return
    position = parameters.index(name)
    for call in ast.walk(function.module):
        is_this = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        if is_this and call.func.id == function.node.name and position < len(call.args):  # type: ignore[attr-defined]
            text = _text(call.args[position])  # type: ignore[attr-defined]
            if text is not None:
                yield text


def _text(node: ast.expr) -> str | None:
    """Return a literal text, or an f-string with `{}` for each expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        return "".join(map(str, parts))
    return None


# -- halts, faults and results -- #


def _with_gas(gas: int, *, has_tool: bool = False) -> ComputationAPI:
    """Call with this gas; where it is negative, with so much less than is enough."""
    bench = open_bench(lambda _: ANSWER)
    tools = [deploy_tool(bench, "Look", "Looks", EVERY_TYPE[:1])] if has_tool else []
    data = encode_request(tools=tools)
    enough = bench.call(EXECUTOR, data).get_gas_used() if gas < 0 else 0
    return _forward(bench, CALL, data, gas=enough + gas)


OUTPUT_GAS = len(ANSWER) * PROFILE.output_token_gas

HALTS: Mapping[str, Callable[[], ComputationAPI]] = {
    "calldata": partial(_with_gas, 10_000),
    "access to a tool": partial(_with_gas, 13_000, has_tool=True),
    "a metadata read": partial(_with_gas, 22_000, has_tool=True),
    "prompt tokens": partial(_with_gas, -OUTPUT_GAS - 1),
    "no output token": partial(_with_gas, -OUTPUT_GAS),
    "some output tokens": partial(_with_gas, -PROFILE.output_token_gas),
}
"""Calls whose gas ends, by what they lack it for."""


def _halt(computation: ComputationAPI) -> str:
    assert isinstance(computation.error, OutOfGas), computation.error
    return str(computation.error)


FAULTY_TEXTS = {
    "no step": "nonsense",
    "an unknown tool": " x\nAction: Dig\nAction Input: {}",
    "a list in a list": ' x\nAction: Every type\nAction Input: {"of type 5": [[1]]}',
    "other parameters": ' x\nAction: Every type\nAction Input: {"a": 1}',
    "no JSON": " x\nAction: Every type\nAction Input: {1}",
}
"""Texts of a model that its grammar excludes."""

EVERY_VALUE = (
    '{"of type 0": "a “text”", "of type 1": "addr1", "of type 2": true, "of type 3": -7, '
    '"of type 4": 42, "of type 5": ["a", "to addr1"], "of type 6": ["addr1", "addr2"], '
    '"of type 7": [true, false], "of type 8": [-1, 0], "of type 9": []}'
)

SPOKEN_TEXTS = {
    "final answer": " easy\nFinal Answer: sent to addr1",
    "final answer and a line feed": " easy\nFinal Answer: done\n",
    "tool with values of all types": f" I use it\nAction: Every type\nAction Input: {EVERY_VALUE}",
}
"""Texts of a model that mean something."""


def _spoken(text: str) -> ComputationAPI:
    bench = open_bench([text])
    tool = deploy_tool(bench, "Every type", "Takes all", EVERY_TYPE)
    prompt = f"From 0x{'ab' * 20} to 0x{'cd' * 20}"
    return bench.call(EXECUTOR, encode_request(tools=[tool], prompt=prompt), gas=29_000_000)


def _fault(text: str) -> str:
    try:
        _spoken(text)
    except GrammarViolationError as error:
        return str(error)
    raise AssertionError(f"not a fault: {text!r}")


def _result(text: str) -> Mapping[str, object]:
    computation = _spoken(text)
    computation.raise_if_error()
    data = bytes(computation.output)
    result = load_artifact("IERCAgentExecutor").decode_result("runNextIteration", data)
    is_final, answer, tool, (values, encoded), reasoning = result
    return {
        "data": ["0x" + data[at : at + 32].hex() for at in range(0, len(data), 32)],
        "gas used": computation.get_gas_used(),
        "is final answer": is_final,
        "answer": answer,
        "tool": tool,
        "values": [[kind, "0x" + value.hex()] for kind, value in values],
        "encoded values": abbreviate("0x" + encoded.hex()),
        "reasoning": reasoning,
    }

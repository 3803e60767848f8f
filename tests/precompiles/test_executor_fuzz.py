"""Random calls of the executor: a result, a typed error, or out of gas, and nothing else."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from eth.exceptions import OutOfGas, Revert
from eth_abi import decode, encode
from eth_typing import Address

from precompiles.abi import (
    FinalAnswer,
    ParamDescription,
    ParamType,
    ToolUse,
    Version,
)
from precompiles.abi_types import AbiType, Kind
from precompiles.address_handles import AddressBook
from precompiles.errors import REFUSALS, error_selector
from precompiles.escaping import escape_line
from precompiles.react import GrammarViolationError, intern_reasoning, parse_history
from precompiles.spec import EXECUTOR_ADDRESS
from precompiles.tool_metadata import Tool
from precompiles.typed_texts import needs_address, quote_text
from precompiles.versions import RUN_V1_SELECTOR, decode_request
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.bench.measurement.assembly import assemble
from pyevm_agents.bench.measurement.tool_contracts import build_answering_code
from pyevm_agents.chain import AccountOverride, Call
from pyevm_agents.models.fakes.parsed_request import AllowedParameter, AllowedTool, parse_grammar
from tests import byte_model
from tests.byte_model import ByteModel
from tests.chain_bench import OWNER, Bench
from tests.precompiles.test_executor import CALL, CALLCODE, DELEGATECALL, RESULT_TYPE, STATICCALL
from tests.precompiles.test_react_round_trip import (
    ADDRESSES,
    WORDS,
    draw_said_text,
    draw_text,
    draw_thought,
    draw_value,
)
from tests.precompiles.test_tool_metadata import DESCRIPTION, INPUT, NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import ComputationAPI

    from precompiles.language_model import GenerationRequest
    from tests.samples import Sample

    Chance = random.Random

PROFILE = replace(
    byte_model.PROFILE,
    aliases=("llama",),
    context_tokens=6_000,
    cold_prompt_token_gas=1_000,
    output_token_gas=2_000,
)
"""A model that is cheap enough for most calls, and whose limits long requests exceed."""

SELECTOR = bytes.fromhex("7e636a24")
SELECTOR_V1 = bytes.fromhex("b8d10615")
RESULT_V1_TYPE = "(bool,string,address,bytes,string)"
WORD = 32
WEIGHTS = [50, 37, 2, 1, 10]
"""Shares of the kinds of call; the last one is a transaction to the executor."""

CALLS_OF_A_CHAIN = 2_000
TOOLS = [Address(b"\x70" * 19 + bytes([number])) for number in range(5)]
ODD_ACCOUNTS = [
    Address(bytes(20)),
    Address(bytes(19) + b"\x04"),
    EXECUTOR_ADDRESS,
    Address(b"7" * 20),
]
DELEGATION = b"\xef\x01\x00"
LOOP = assemble("JUMPDEST PUSH0 JUMP")
CODES = [
    *(b"", b"\xfe", assemble("PUSH0 PUSH0 REVERT"), assemble("0x40 PUSH0 RETURN"), b"\x5f" * 1_030),
    assemble(
        "0x7e636a24 PUSH0 MSTORE 0x1000 PUSH0 0x24 0x1c 0x19 GAS STATICCALL 0x1000 PUSH0 REVERT"
    ),
    assemble("0x4001 PUSH0 RETURN"),
    *(DELEGATION + address for address in (TOOLS[0], EXECUTOR_ADDRESS, ODD_ACCOUNTS[1])),
    DELEGATION,
]
"""Tools that fail, call the executor, return too much, or delegate to another account."""

ODD_NAMES = [
    *("", " a", "a  b", "a\nb", "D\u0435posit", "a\u200b", "\u202ea", "é", "addr1", "true", "0xab"),
    *("0x" + "11" * 20, "a" * 65, "Pool1", "Pooll", "\U0010ffff"),
]
TYPES = [
    *("uint8", "int16", "uint256", "int256", "bytes1", "bytes32", "bytes", "bool[]", "address[]"),
    *("(address,uint24)[]", "(string,bytes2)[2]", "(bool,(address,string[])[])", "string[3]"),
    *("string", "address", "uint7", "(", "(,)", "(address", "bool" + "[]" * 9, "bytes33"),
]
MARKERS = [f"[abi:{of}]".encode() for of in TYPES]
ODD_BYTES = [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\0", b"\xf4\x90\x80\x80"]
ODD_NUMBERS = [0, 1, 31, 32, 64, 0xC0, 2**16, 2**32, 2**63, 2**255, 2**256 - 1, 2**256 - 32]
REASONINGS = [
    *(
        "",
        "x",
        "Thought: a\nAction: b\nAction Input: {}\n",
        "Thought: a\nAction: b\nAction Input: {",
    ),
    "Thought: a\nFinal Answer: b",
]


class RandomModel:
    """Writes a random text that the grammar admits; now and then an altered one, as a broken host.

    The script of a `ByteModel`.
    """

    def __init__(self) -> None:
        self.chance = random.Random()  # noqa: S311 - replaced before each call
        self.text = ""
        self.is_altered = False
        self.tool = AllowedTool(name="", parameters=())

    def start(self, chance: Chance) -> None:
        """Forget the last call."""
        self.chance, self.text, self.is_altered = chance, "", False

    def __call__(self, request: GenerationRequest) -> str:
        chance, steps = self.chance, parse_grammar(request.grammar)
        handles = [handle for handle, _ in request.handles]
        self.text = f" {draw_thought(chance, handles)}\n"
        if not steps.tools or chance.random() < 0.2:
            self.text += f"Final Answer: {draw_thought(chance, handles)}"
        else:
            tool = chance.choice(steps.tools)
            arguments = {
                parameter.name: draw_argument(chance, parameter, handles)
                for parameter in tool.parameters
            }
            self.tool = tool
            written = json.dumps(arguments, ensure_ascii=False)
            self.text += f"Action: {tool.name}\nAction Input: {written}"
        if chance.random() < 0.02:
            self.is_altered, position = True, chance.randrange(len(self.text))
            self.text = self.text[:position] + chance.choice(WORDS) + self.text[position + 1 :]
        return self.text


def draw_name(chance: Chance) -> bytes:
    if chance.random() < 0.02:
        return chance.choice([*(name.encode() for name in ODD_NAMES), *ODD_BYTES])
    return f"{chance.choice(WORDS)} {chance.randrange(2, 9)}".encode()


def draw_prose(chance: Chance) -> bytes:
    text = draw_text(chance, WORDS).encode()
    return text + chance.choice(ODD_BYTES) if chance.random() < 0.005 else text


def draw_marker(chance: Chance) -> bytes:
    """Return a marker in a third of all cases, now and then an altered one."""
    marker = chance.choice(MARKERS) if chance.random() < 0.33 else b""
    return marker if chance.random() < 0.95 else draw_altered(chance, marker)


def draw_typed_text(chance: Chance, of: AbiType, handles: Sequence[str]) -> str:
    """Return a typed text that the grammar admits."""
    if of.kind is Kind.TUPLE:
        return f"({', '.join(draw_typed_text(chance, part, handles) for part in of.parts)})"
    if of.parts:
        count = of.size or (chance.randrange(4) if handles or not needs_address(of.parts[0]) else 0)
        items = [draw_typed_text(chance, of.parts[0], handles) for _ in range(count)]
        return f"[{', '.join(items)}]"
    if of.numbers is not None:
        return str(chance.choice([0, of.numbers[0], of.numbers[-1]]))
    if of.kind in {Kind.BYTES, Kind.FIXED_BYTES}:
        return chance.randbytes(of.size or chance.randrange(1, 9)).hex()
    if of.kind is Kind.STRING:
        return quote_text(draw_said_text(chance, handles, 1_024))
    return chance.choice(handles if of.kind is Kind.ADDRESS else ["true", "false"])


def draw_argument(chance: Chance, parameter: AllowedParameter, handles: Sequence[str]) -> Any:  # noqa: ANN401
    """Return an argument that the grammar admits."""
    is_list = parameter.param_type >= ParamType.STRING_ARRAY
    count = chance.randrange(4) if is_list else 1
    if parameter.text_type is not None:
        if is_list and needs_address(parameter.text_type) and not handles:
            count = 0
        items: list[Any] = [
            draw_typed_text(chance, parameter.text_type, handles) for _ in range(count)
        ]
    elif isinstance(parameter.values, range):
        values = parameter.values
        items = [chance.choice([values[0], values[-1], values[1]]) for _ in range(count)]
    else:
        return draw_value(chance, parameter.param_type, handles)
    return items if is_list else items[0]


def draw_code(chance: Chance) -> bytes:
    """Return the code of a tool, most often an honest one."""
    if chance.random() < 0.06:
        return LOOP if chance.random() < 0.02 else chance.choice(CODES)
    listed = [
        (chance.randrange(10), draw_name(chance), draw_prose(chance) + draw_marker(chance))
        for _ in range(chance.randrange(6))
    ]
    if chance.random() < 0.02:
        listed += [(10, b"odd", b"")] if chance.random() < 0.5 else listed * 7
    answers = {
        NAME: encode(["bytes"], [draw_name(chance)]),
        DESCRIPTION: encode(["bytes"], [draw_prose(chance)]),
        INPUT: encode(["((uint8,bytes,bytes)[])"], [(listed,)]),
    }
    if chance.random() < 0.03:
        selector = chance.choice([NAME, DESCRIPTION, INPUT])
        answers[selector] = draw_altered(chance, answers[selector])
    return build_answering_code(answers)


def draw_altered(chance: Chance, data: bytes) -> bytes:
    """Return data with a random alteration: a byte, a word, the length."""
    position = chance.randrange(len(data) + 1)
    match chance.randrange(6):
        case 0:
            return data[:position]
        case 1:
            return data + chance.randbytes(chance.choice([1, 31, 32, 64]))
        case 2:
            return data[:position] + chance.randbytes(1) + data[position + 1 :]
        case 3:
            return data[:position] + data[position + WORD :]
        case 4:
            return data[:position] + chance.choice(ODD_BYTES) + data[position:]
        case _:
            start = len(SELECTOR) * (len(data) % WORD == len(SELECTOR))
            start += WORD * chance.randrange(len(data) // WORD + 1)
            word = chance.choice([*ODD_NUMBERS, len(data), chance.getrandbits(16)])
            return data[:start] + word.to_bytes(WORD, "big") + data[start + WORD :]


def draw_reasoning(chance: Chance) -> bytes:
    if chance.random() < 0.04:
        return chance.choice(REASONINGS).encode()
    thought, text = (" ".join(draw_text(chance, WORDS).split()) or "a" for _ in range(2))
    written = json.dumps({chance.choice(WORDS): text, "n": 1}, ensure_ascii=False)
    if chance.random() < 0.2:
        written = f"{{{text}}}"
    return f"Thought: {thought}\nAction: {chance.choice(WORDS)}\nAction Input: {written}".encode()


def draw_observed(chance: Chance, reasoning: bytes, result: bytes) -> bytes:
    """Return an entry of version 1's history, now and then without escapes or with another line."""
    if chance.random() < 0.98:
        result = escape_line(result.decode(errors="surrogateescape")).encode(
            errors="surrogateescape"
        )
    end = chance.choice([b"", b"\n"])
    if chance.random() < 0.02:
        end = chance.choice([b"\n\n", b"\nObservation: x", b"\nFinal Answer: x", b"\xff"])
    return reasoning + b"\nObservation: " + result + end


def draw_calldata(chance: Chance) -> bytes:
    """Return calldata of a version's `runNextIteration`, most often well-formed."""
    names = [f"{chance.choice(WORDS)} = {address}" for address in chance.sample(ADDRESSES, 3)]
    tools = chance.sample(TOOLS, chance.randrange(5))
    if chance.random() < 0.03:
        tools += chance.choice([ODD_ACCOUNTS[:1], ODD_ACCOUNTS[1:], TOOLS[:1], TOOLS * 20])
    steps = chance.randrange(4)
    results = [draw_prose(chance) for _ in range(steps)]
    reasonings = [draw_reasoning(chance) for _ in results]
    if chance.random() < 0.01:
        results.append(b"")
    model = b"bytes" if chance.random() < 0.98 else chance.choice([b"llama", b"", b"0x07", b"\xff"])
    base_prompt = "\n".join(names[: chance.randrange(4)]).encode() + draw_prose(chance)
    prompt = draw_prose(chance) * (1 if chance.random() < 0.98 else chance.choice([0, 300, 3_000]))
    if chance.random() < 0.4:
        entries = [draw_observed(chance, *step) for step in zip(reasonings, results, strict=False)]
        entries += [b""] * chance.randrange(3)
        data = SELECTOR_V1 + encode(
            ["bytes", "bytes", "bytes", "address[]", "bytes[]", "bytes"],
            [model, draw_prose(chance), base_prompt, tools, entries, prompt],
        )
    else:
        data = SELECTOR + encode(
            ["bytes", "bytes", "address[]", "bytes[]", "bytes[]", "bytes"],
            [model, base_prompt, tools, reasonings, results, prompt],
        )
    if chance.random() < 0.12:
        data = draw_altered(chance, data)
    return b"" if chance.random() < 0.002 else data


def draw_gas(chance: Chance) -> int:
    """Return the gas of the executor's call; 0 for all remaining gas."""
    return 0 if chance.random() < 0.8 else round(10 ** chance.uniform(0, 7.4))


class Fuzz:
    """A chain whose executor is called at random."""

    def __init__(self, make_bench: Callable[..., Bench]) -> None:
        self.model = RandomModel()
        self.bench = make_bench(self.model, profile=PROFILE)
        self.caller = self.bench.deploy("Caller")
        self.encode_call = load_artifact("Caller").encode_call

    def call(self, chance: Chance) -> str:
        """Make a random call; return its outcome."""
        self.model.start(chance)
        if isinstance(self.bench.model, ByteModel):
            self.bench.model.requests.clear()
        data = draw_calldata(chance)
        codes = {
            tool: AccountOverride(code=draw_code(chance)) for tool in TOOLS if data.find(tool) >= 0
        }
        kind = chance.choices([CALL, STATICCALL, DELEGATECALL, CALLCODE, None], WEIGHTS)[0]
        value = chance.choice([1, 10**18]) if kind == CALL and chance.random() < 0.02 else 0
        forwarded = data
        if kind is not None:
            forwarded = self.encode_call(
                "forward", kind, EXECUTOR_ADDRESS, draw_gas(chance), value, data
            )
        to = EXECUTOR_ADDRESS if kind is None else self.caller
        call = Call(to=to, sender=OWNER, data=forwarded, value_wei=value)
        try:
            outer = self.bench.chain.call(call, overrides=codes).computation
        except GrammarViolationError:
            assert self.model.is_altered, f"outside the grammar: {self.model.text!r}"
            return "fault of the host"
        if kind is None:
            return self.check(outer, data)
        if not outer.children:
            assert isinstance(outer.error, OutOfGas), outer.error
            return "caller out of gas"
        (child,) = outer.children
        return self.check(child, data)

    def check(self, child: ComputationAPI, data: bytes) -> str:
        """Require a typed outcome; return its name."""
        if child.is_success:
            return self.check_result(child.output, data)
        if isinstance(child.error, OutOfGas):
            return "out of gas"
        assert isinstance(child.error, Revert), repr(child.error)
        return name_refusal(child.output)

    def check_result(self, output: bytes, data: bytes) -> str:
        """Require a result that is the model's text, with every handle expanded and back."""
        request = decode_request(data)
        is_first = request.version is Version.FIRST
        result_type = RESULT_V1_TYPE if is_first else RESULT_TYPE
        ((is_final, answer, tool, tool_input, reasoning),) = decode([result_type], output)
        assert encode([result_type], [(is_final, answer, tool, tool_input, reasoning)]) == output
        steps = parse_history(request)
        book = AddressBook(request.base_prompt, [request.prompt, *(s.observation for s in steps)])
        if is_first and not is_final:
            assert tool_input[:4] == RUN_V1_SELECTOR
        if is_final:
            assert book.intern(answer) in self.model.text
            return FinalAnswer.__name__
        assert bytes.fromhex(tool[2:]) in request.tools
        tool_used = describe_tool(self.model.tool)
        assert intern_reasoning(reasoning, book, [tool_used]) == f"Thought:{self.model.text}"
        return ToolUse.__name__


def describe_tool(tool: AllowedTool) -> Tool:
    """Return a tool with the parameters that a grammar has."""
    parameters = tuple(
        ParamDescription(
            param_type=one.param_type, name=one.name, description="", abi_type=one.text_type
        )
        for one in tool.parameters
    )
    return Tool(address=TOOLS[0], name=tool.name, description="", parameters=parameters)


def name_refusal(data: bytes) -> str:
    """Return the name of a typed error, whose arguments must be canonical."""
    names = [name for name in REFUSALS if error_selector(name) == data[:4]]
    assert names, f"no typed error: 0x{data.hex()}"
    arguments = decode(REFUSALS[names[0]], data[4:])
    assert data[4:] == encode(REFUSALS[names[0]], arguments)
    return names[0]


@pytest.mark.sample(count=400, seed=18)
def test_every_call_has_a_typed_outcome(bench: Callable[..., Bench], sample: Sample) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(sample.count):
        if number % CALLS_OF_A_CHAIN == 0:
            fuzz = Fuzz(bench)
        chance = random.Random(f"{sample.seed} {number}")  # noqa: S311 - by its seed
        try:
            outcomes[fuzz.call(chance)] += 1
        except Exception as error:
            error.add_note(f"call {number} of seed {sample.seed}")
            raise
    sample.figures.update(sorted(outcomes.items()))
    assert outcomes[ToolUse.__name__] * 8 > sample.count

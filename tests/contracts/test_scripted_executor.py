"""`ScriptedAgentExecutor` beside the precompile: the same words, byte for byte the same result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_utils import keccak, to_checksum_address
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precompiles.abi import ParamType
from precompiles.react import GrammarViolationError
from pyevm_agents.artifacts import artifact
from pyevm_agents.models import answer, use
from pyevm_agents.models.scripted import render
from tests.contracts.plain_evm import decode_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eth.abc import ComputationAPI
    from eth_typing import Address

    from pyevm_agents.models import Step
    from tests.conftest import Bench

    MakeBench = Callable[..., Bench]

PRECOMPILE = bytes(19) + b"\x19"
ADDRESSES = [to_checksum_address(keccak(bytes([n]))[:20]) for n in range(5)]
PARAMETERS = {
    "Pay": {"asset": ParamType.ADDRESS, "amount": ParamType.UINT},
    "Note It": {"text": ParamType.STRING, "offset": ParamType.INT, "is_urgent": ParamType.BOOL},
    "Many": {
        "texts": ParamType.STRING_ARRAY,
        "to": ParamType.ADDRESS_ARRAY,
        "flags": ParamType.BOOL_ARRAY,
        "ints": ParamType.INT_ARRAY,
        "uints": ParamType.UINT_ARRAY,
        "addr1": ParamType.STRING,
    },
    "Nothing": {},
}
REASONING = "Thought: Pay.\nAction: Pay\nAction Input: {}"


@dataclass
class Both:
    """A chain with the precompile, and the executor of Solidity at another address."""

    bench: Bench
    executor: Address
    tools: list[Address]
    step: Step = ""

    def request(self, base_prompt: str, prompt: str, results: Sequence[str] = ()) -> bytes:
        arguments = ("bytes", base_prompt, self.tools, [REASONING] * len(results), list(results))
        return artifact("IERCAgentExecutor").call("runNextIteration", *arguments, prompt)

    def tell(self, function: str, *arguments: object) -> None:
        call = artifact("ScriptedAgentExecutor").call(function, *arguments)
        receipt, computation = self.bench.send(self.executor, call)
        assert receipt.state_root == b"\x01", computation.error

    def script(self, step: Step, tool: str = "", arguments: bytes = b"") -> None:
        """Make both say this next."""
        self.step = step
        self.tell("clear")
        if tool:
            self.tell("use", tool, arguments, getattr(step, "thought", ""))
        else:
            self.tell("answer", getattr(step, "answer", ""), getattr(step, "thought", ""))

    def ask(self, request: bytes) -> ComputationAPI:
        return self.bench.call(self.executor, request)

    def refusal(self, request: bytes) -> tuple[object, ...]:
        computation = self.ask(request)
        assert computation.is_error
        return decode_error(computation.output)

    def require_same(self, request: bytes) -> None:
        """Require the same result, or two refusals of words that no model can say."""
        try:
            expected = self.bench.call(PRECOMPILE, request)
        except GrammarViolationError:
            name, step, *_ = self.refusal(request)
            assert (name, step) == ("NotSayable", 0)
            return
        expected.raise_if_error()
        told = self.ask(request)
        assert not told.is_error, decode_error(told.output)
        assert told.output == expected.output


@pytest.fixture
def both(bench: MakeBench) -> Both:
    made = Both(bench(lambda request: render(made.step, request.handles)), b"", [])
    made.executor = made.bench.deploy("ScriptedAgentExecutor")
    for name, parameters in PARAMETERS.items():
        described = [(kind, one, f"the {one}") for one, kind in parameters.items()]
        tool = made.bench.deploy("ScriptedTool", name, "A tool", described, bytes(20), "Done", [])
        made.tools.append(tool)
    return made


def encoded(tool: str, arguments: dict[str, Any]) -> bytes:
    types = [kind.abi_type for kind in PARAMETERS[tool].values()]
    return encode(types, list(arguments.values()))


# -- what it says -- #

LETTERS = st.sampled_from(list("aZ09 ._-=\"\\\n\r\t,:{}[]0xX") + ["é", "→", "🦉", "\x7f", "\x85", "\u2028"])
WORDS = st.one_of(
    st.sampled_from(["addr1", "addr2", "USDC", "x-1.y", "0x", "true", "0X1", *ADDRESSES]),
    st.text(LETTERS, max_size=6),
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
SPOKEN = st.one_of(st.sampled_from(ADDRESSES), st.text(LETTERS, max_size=5)).map(str)


def spelled(address: str) -> st.SearchStrategy[str]:
    """Write an address in one of the ways that people do; the last one fails its checksum."""
    swapped = address[:2] + address[2:].swapcase()
    return st.sampled_from([address, address.lower(), "0x" + address[2:].upper(), swapped])


ANY_ADDRESS = st.sampled_from(ADDRESSES).flatmap(spelled)
NAMES = st.sampled_from(["USDC", "addr1", "addr2", "x-1.y", "-no", "7", "true", "a0xb", "n" * 33])
LINES = st.one_of(
    st.builds("{} = {}".format, NAMES, ANY_ADDRESS),
    st.builds("\t{}={} \r".format, NAMES, ANY_ADDRESS),
    st.builds("Pay {}, not {}.".format, ANY_ADDRESS, ANY_ADDRESS),
    st.builds("a{} {}b 0{}".format, ANY_ADDRESS, ANY_ADDRESS, ANY_ADDRESS),
    TEXTS,
)
PROMPTS = st.lists(LINES, max_size=5).map("\n".join)
VALUES: dict[ParamType, st.SearchStrategy[Any]] = {
    ParamType.STRING: TEXTS,
    ParamType.ADDRESS: st.sampled_from(ADDRESSES),
    ParamType.BOOL: st.booleans(),
    ParamType.INT: st.integers(-(2**255), 2**255 - 1),
    ParamType.UINT: st.integers(0, 2**256 - 1),
}
VALUES |= {
    ParamType(kind + ParamType.STRING_ARRAY): st.lists(item, max_size=4)
    for kind, item in list(VALUES.items())
}
ARGUMENTS = st.sampled_from(list(PARAMETERS)).flatmap(
    lambda tool: st.tuples(
        st.just(tool),
        st.fixed_dictionaries({one: VALUES[kind] for one, kind in PARAMETERS[tool].items()}),
    )
)
SETTINGS = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SETTINGS
@given(base_prompt=PROMPTS, prompt=PROMPTS, results=st.lists(PROMPTS, max_size=2), data=st.data())
def test_says_of_a_tool_what_the_precompile_says(
    both: Both, base_prompt: str, prompt: str, results: list[str], data: st.DataObject
) -> None:
    tool, drawn = data.draw(ARGUMENTS)
    arguments = {name: drawn[name] for name in PARAMETERS[tool]}
    thought = data.draw(st.one_of(st.none(), TEXTS.filter(bool)))
    both.script(use(tool, thought, arguments), tool, encoded(tool, arguments))
    both.require_same(both.request(base_prompt, prompt, results))


@SETTINGS
@given(base_prompt=PROMPTS, prompt=PROMPTS, text=TEXTS)
def test_answers_what_the_precompile_answers(
    both: Both, base_prompt: str, prompt: str, text: str
) -> None:
    both.script(answer(text))
    both.require_same(both.request(base_prompt, prompt))

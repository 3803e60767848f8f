"""What SomniaTranslator prepares, executed by the precompile: tools, constraints and history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import decode, encode
from eth_utils import function_signature_to_4byte_selector

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from tests.byte_model import PROFILE
from tests.contracts.adapters.test_somnia import (
    RESULT_TYPES,
    chat_payload,
    number_payload,
    string_payload,
    tools_payload,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

    from tests.chain_bench import Bench

ADD = ("add(uint256 amount, string reason)", "Add to the counter")
RESET = ("reset()", "Set the counter to zero")


class Translated:
    """A translator on a chain whose model generates these texts."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.translator: Address = bench.deploy("SomniaTranslator")

    def answer(self, payload: bytes, *types: str) -> tuple[Any, ...]:
        """Return a method's result, decoded."""
        artifact = load_artifact("SomniaTranslator")
        data = artifact.encode_call("prepare", PROFILE.name, payload)
        receipt, computation = self.bench.send(self.translator, data)
        assert receipt.state_root == b"\x01", computation.output
        arguments, tools = artifact.decode_result("prepare", computation.output)
        executed = self.bench.call(EXECUTOR_ADDRESS, arguments)
        executed.raise_if_error()
        found: bytes = self.bench.read(
            "SomniaTranslator", self.translator, "resultOf", payload, tools, executed.output
        )
        return decode(types, found)


@pytest.fixture
def translated(bench: Callable[..., Bench]) -> Callable[..., Translated]:
    return lambda *texts: Translated(bench(texts))


def use(name: str, arguments: str) -> str:
    return f" I know.\nAction: {name}\nAction Input: {arguments}"


def test_an_answer_is_the_value_or_the_number(translated: Callable[..., Translated]) -> None:
    asked = translated(" I know.\nFinal Answer: NO", " I know.\nFinal Answer: about -3")
    assert asked.answer(string_payload("YES", "NO"), "string") == ("NO",)
    assert asked.answer(number_payload(), "int256") == (-3,)


def test_a_final_answer_is_the_string(translated: Callable[..., Translated]) -> None:
    found = translated(" I know.\nFinal Answer: Hi").answer(
        chat_payload(("user", "Hello"), ("assistant", "Hi"), ("user", "Again")), "string"
    )
    assert found == ("Hi",)


def test_a_tool_call_is_calldata_and_its_message_is_valid_history(
    translated: Callable[..., Translated],
) -> None:
    """The executor refuses a history that is not exactly what it wrote."""
    chat = translated(
        use("add", '{"amount": 5, "reason": "asked"}'), " I know.\nFinal Answer: Done"
    )
    first = chat.answer(tools_payload([ADD, RESET], ("user", "Add five")), *RESULT_TYPES)
    reason, _, roles, messages, ids, calls = first
    call = function_signature_to_4byte_selector("add(uint256,string)")
    assert (reason, ids) == ("tool_calls", ("call_1",))
    assert calls == (call + encode(["uint256", "string"], [5, "asked"]),)

    said = [*zip(roles, messages, strict=True), ("tool", '{"tool_call_id":"call_1","content":"5"}')]
    second = chat.answer(tools_payload([ADD, RESET], *said), *RESULT_TYPES)
    assert second[:2] == ("stop", "Done")
    assert second[2] == ("user", "assistant", "tool", "assistant")


def test_a_tool_without_parameters_is_called_by_its_selector(
    translated: Callable[..., Translated],
) -> None:
    found = translated(use("reset", "{}")).answer(tools_payload([RESET]), *RESULT_TYPES)
    assert found[5] == (function_signature_to_4byte_selector("reset()"),)

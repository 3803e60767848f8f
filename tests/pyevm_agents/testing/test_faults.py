"""Faults as values. `tests/examples/test_faults.py` shows the agents' reactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode

from precompiles.language_model import GenerationRequest, Segment
from precompiles.spec import MAX_TEXT_CHARACTERS, MAX_THOUGHT_CHARACTERS
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import answer, use
from pyevm_agents.models.fakes.script_steps import render_step
from pyevm_agents.testing import faults
from pyevm_agents.testing.hostile_tool import FaultKind

if TYPE_CHECKING:
    from pyevm_agents.testing.chain import AgentChain

ADDRESS = "0x5FbDB2315678afecb367f032d93F642f64180aa3"


@pytest.mark.parametrize(
    ("fault", "data"),
    [
        (faults.reverts(), b""),
        (faults.reverts("no"), bytes.fromhex("08c379a0") + encode(["string"], ["no"])),
        (faults.reverts(error="ToolRefused(uint256)", arguments=[2]), "fe625ae9" + f"{2:064x}"),
        (faults.reverts(error="ToolRefused(uint)", arguments=[2]), "fe625ae9" + f"{2:064x}"),
        (faults.reverts(error="ExecutorUnavailable()"), "a7924385"),
        (
            faults.reverts(
                error="Both((uint256,bool)[],address)", arguments=[[(1, True)], ADDRESS]
            ),
            None,
        ),
    ],
)
def test_a_revert_holds_its_reason(fault: faults.Fault, data: bytes | str | None) -> None:
    assert fault.kind is FaultKind.REVERT
    if data is None:
        wanted = encode(["(uint256,bool)[]", "address"], [[(1, True)], ADDRESS])
        assert fault.payload[4:] == wanted
    else:
        assert fault.payload == (data if isinstance(data, bytes) else bytes.fromhex(data))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"reason": "no", "error": "No()"}, "'no' or with No\\(\\), not with both"),
        ({"error": "No"}, "signature 'No': must be that of an error"),
        ({"error": "(uint256)"}, "must be that of an error"),
        ({"error": "No(uint256)[]"}, "must be that of an error"),
        ({"error": "No(7)"}, "must be that of an error"),
        ({"error": "No(many)", "arguments": [1]}, "must be that of an error|does not take"),
        ({"error": "No(uint256)"}, r"No\(uint256\) does not take \[\]"),
        ({"error": "No(uint256)", "arguments": ["one"]}, r"No\(uint256\) does not take \['one'\]"),
        ({"error": "No()", "arguments": [1]}, r"No\(\) does not take \[1\]"),
        ({"arguments": [1]}, r"arguments \[1\] are an error's"),
    ],
)
def test_a_revert_that_cant_be_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        faults.reverts(**options)


@pytest.mark.parametrize("options", [{}, {"name": "a", "description": "b"}])
def test_a_tool_changes_one_thing_at_a_time(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="give one of the two"):
        faults.changes(**options)


def test_the_longest_thought_and_answer_are_said_in_the_most_tokens(
    agent_chain: AgentChain,
) -> None:
    step = faults.thinks_forever()
    assert len(step.thought) == MAX_THOUGHT_CHARACTERS
    assert len(step.answer) == MAX_TEXT_CHARACTERS
    vocabulary = agent_chain.model.vocabulary
    tokens = vocabulary.tokenize((Segment(text=render_step(step)),))
    assert len(tokens) > 3 * (len(step.thought) + len(step.answer))


def test_a_model_that_never_answers_says_its_step_for_ever(agent_chain: AgentChain) -> None:
    model = agent_chain.model
    model.script(answer("first"), faults.never_answers(" Hm.\nFinal Answer: again"))
    grammar = 'start: " " /.+/ "\\nFinal Answer: " /.+/'
    said = [
        model.generate(
            GenerationRequest(
                segments=(Segment(text=str(number)),),
                prompt_tokens=(),
                grammar=grammar,
                max_tokens=100,
            )
        ).text
        for number in range(5)
    ]
    assert said[1:] == [" Hm.\nFinal Answer: again"] * 4
    model.verify()


def test_a_model_that_never_answers_and_was_never_asked_has_something_left(
    agent_chain: AgentChain,
) -> None:
    agent_chain.model.script(faults.never_answers(use("Tool", a=1)))
    with pytest.raises(Exception, match=r'again\(use\("Tool", a=1\)\)'):
        agent_chain.model.verify()
    agent_chain.model.reset()


def test_completion_lists_the_public_names_alone() -> None:
    assert dir(faults) == sorted(faults.__all__)

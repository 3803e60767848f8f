"""Requests in the short format for a step whose tool and values the model chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.abi import IterationRequest, ParamDescription, ParamType
from precompiles.address_handles import AddressBook
from precompiles.language_model import GenerationRequest, Scoring
from precompiles.react import build_prompt
from precompiles.stated_values import to_json
from precompiles.tool_metadata import Tool
from pyevm_agents.model_registry.profiles import build_model_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.models import LlamaModel, Vocabulary

BASE_PROMPT = "You pay people.\nalice = 0x00000000000000000000000000000000000000A1"


def make_tool(number: int, name: str, *parameters: tuple[ParamType, str, str]) -> Tool:
    """Return a tool; parameters are (type, name, description)."""
    return Tool(
        address=Address(number.to_bytes(20, "big")),
        name=name,
        description=f"{name} for the owner",
        parameters=tuple(
            ParamDescription(param_type=kind, name=called, description=about)
            for kind, called, about in parameters
        ),
    )


TOOLS = (
    make_tool(1, "pay", (ParamType.ADDRESS, "to", "receiver"), (ParamType.UINT, "amount", "wei")),
    make_tool(2, "payAll", (ParamType.ADDRESS, "to", "receiver")),
    make_tool(3, "pay_later", (ParamType.UINT, "amount", "wei")),
    make_tool(4, "balanceOf", (ParamType.ADDRESS, "who", "account")),
    make_tool(5, "note", (ParamType.STRING, "text", "text to keep")),
)


VALUES = {
    ParamType.ADDRESS: '"\\"alice\\""',
    ParamType.UINT: "/[1-9][0-9]{0,3}/",
    ParamType.STRING: r'"\"keep it\"" | "\"量子 \\\\ 😀\""',
}
"""Terminals of the values that a model may choose, by the parameter's type."""


def make_scored_request(
    model: LlamaModel | Vocabulary, question: str, *, max_tokens: int = 120
) -> GenerationRequest:
    """Return a request whose thought is the question."""
    request = IterationRequest(
        model_id="",
        base_prompt=BASE_PROMPT,
        tools=tuple(tool.address for tool in TOOLS),
        agent_reasoning=(),
        tool_results=(),
        prompt=question,
    )
    book = AddressBook(request.base_prompt, [request.prompt])
    segments = build_prompt(request, (), TOOLS, book, build_model_profile(model.profile_facts))
    return GenerationRequest(
        segments=segments,
        prompt_tokens=model.tokenize(segments),
        grammar=build_choice_grammar(question, TOOLS),
        max_tokens=max_tokens,
        handles=book.handles,
        scoring=Scoring.AFTER_THOUGHT,
    )


def build_choice_grammar(thought: str, tools: Sequence[Tool]) -> str:
    """Return the grammar of a step: its thought, then one of the tools, or none."""
    uses = [to_json("Final Answer: I can't do that.")]
    for tool in tools:
        parts = [to_json(f"Action: {tool.name}\nAction Input: {{")]
        for index, parameter in enumerate(tool.parameters):
            parts.append(to_json(", " * (index > 0) + to_json(parameter.name) + ": "))
            parts.append(parameter.param_type.name)
        uses.append(" ".join([*parts, to_json("}")]))
    rules = [f"{kind.name}: {body}" for kind, body in VALUES.items()]
    start = to_json(f" {thought}\n")
    return "\n".join([f"start: {start} ({' | '.join(uses)})", *rules, ""])

"""Adapters of the default model with a router of random numbers, and scored requests for it."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

import gguf
import numpy as np
from eth_typing import Address

from precompiles.abi import IterationRequest, ParamDescription, ParamType
from precompiles.address_handles import AddressBook
from precompiles.language_model import ClauseWords, GenerationRequest, ScoredClause, Scoring
from precompiles.react import build_prompt
from precompiles.short_format.tool_words import read_tool_words
from precompiles.stated_values import to_json
from precompiles.tool_metadata import Tool
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.models.decoding.router import FEATURES, UNIT, WEIGHT_UNIT, WIDTH, RouterWeights
from pyevm_agents.models.gguf.adapter import DECODING
from pyevm_agents.models.llama import router_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyevm_agents.models import LlamaModel, Vocabulary

VOCABULARY = 49_152
MATRIX = "blk.0.attn_q.weight"
BASE_PROMPT = "You pay people.\nalice = 0x00000000000000000000000000000000000000A1"


def random_router(seed: int = 1, *, tokens: int = VOCABULARY) -> RouterWeights:
    """Return a router whose scores differ by some nats from tool to tool."""
    chance = np.random.default_rng(seed)
    rows = chance.normal(size=(tokens, WIDTH))
    rows *= 127 / np.linalg.norm(rows, axis=1, keepdims=True)
    return RouterWeights(
        rows=np.rint(rows).astype(np.int8),
        gates=chance.integers(1, 128, tokens).astype(np.int8),
        weights=tuple(chance.integers(-(1 << 14), 1 << 14, FEATURES).tolist()),
        bias=int(chance.integers(-2, 3)) * WEIGHT_UNIT * UNIT,
    )


def list_entries(router: RouterWeights) -> dict[str, bytes]:
    """Return the arrays of a router's file."""
    return {
        router_file.ROWS_KEY: router.rows.tobytes(),
        router_file.GATES_KEY: router.gates.tobytes(),
        router_file.WEIGHTS_KEY: np.array([*router.weights, router.bias], "<i8").tobytes(),
    }


def write_adapter(
    path: Path,
    entries: dict[str, bytes],
    *,
    version: int | None = router_file.VERSION,
    rules: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Write an adapter that changes nothing, with the arrays of a router and decoding rules."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 4.0)
    if version is not None:
        writer.add_uint32(router_file.VERSION_KEY, version)
    for key, content in entries.items():
        writer.add_array(key, content)
    for name, value in rules.items():
        writer.add_uint64(f"{DECODING}{name}", value)
    writer.add_tensor(f"{MATRIX}.lora_a", np.ones((4, 576), np.float32))
    writer.add_tensor(f"{MATRIX}.lora_b", np.zeros((576, 4), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


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
    model: LlamaModel | Vocabulary,
    question: str,
    *,
    tools: Sequence[Tool] = TOOLS,
    fitting: Sequence[int] | None = None,
    router_weight: int = 256,
    max_tokens: int = 120,
) -> GenerationRequest:
    """Return a request in the short format for a step whose tool and values the model chooses.

    Input:  indices of the tools that the order may call; None for all.
    """
    request = IterationRequest(
        model_id="",
        base_prompt=BASE_PROMPT,
        tools=tuple(tool.address for tool in tools),
        agent_reasoning=(),
        tool_results=(),
        prompt=question,
    )
    book = AddressBook(request.base_prompt, [request.prompt])
    segments = build_prompt(request, (), tools, book, build_model_profile(model.profile_facts))
    admitted = tuple(range(len(tools)) if fitting is None else fitting)
    words = tuple(re.findall("[a-z]+", question.lower()))
    clause = ScoredClause(text=question, words=ClauseWords(words, (1, 1, 0)), tools=admitted)
    return GenerationRequest(
        segments=segments,
        prompt_tokens=model.tokenize(segments),
        grammar=build_choice_grammar(question, [tools[index] for index in admitted]),
        max_tokens=max_tokens,
        handles=book.handles,
        scoring=Scoring(
            tools=tuple(map(read_tool_words, tools)),
            names=tuple(tool.name for tool in tools),
            clauses=(clause,),
            router_weight=router_weight,
        ),
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

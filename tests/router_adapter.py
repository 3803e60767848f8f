"""Adapters of the default model with a router of random numbers, and scored requests for it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import gguf
import numpy as np
from eth_typing import Address

from precompiles.abi import IterationRequest, ParamDescription, ParamType
from precompiles.address_handles import AddressBook
from precompiles.language_model import GenerationRequest
from precompiles.react import build_prompt, parse_history
from precompiles.short_format.step import ShortFormat
from precompiles.tool_metadata import Tool
from pyevm_agents.devnet.chain import build_model_profile
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


def make_scored_request(
    model: LlamaModel | Vocabulary,
    question: str,
    *,
    tools: Sequence[Tool] = TOOLS,
    router_weight: int = 256,
    max_tokens: int = 120,
) -> GenerationRequest:
    """Return the executor's request in the short format."""
    request = IterationRequest(
        model_id="",
        base_prompt=BASE_PROMPT,
        tools=tuple(tool.address for tool in tools),
        agent_reasoning=(),
        tool_results=(),
        prompt=question,
    )
    book = AddressBook(request.base_prompt, [request.prompt])
    steps = parse_history(request)
    form = ShortFormat(request, steps, tools, book, router_weight=router_weight)
    segments = build_prompt(request, steps, tools, book, build_model_profile(model.profile_facts))
    return GenerationRequest(
        segments=segments,
        prompt_tokens=model.tokenize(segments),
        grammar=form.grammar,
        max_tokens=max_tokens,
        handles=book.handles,
        scoring=form.scoring,
    )

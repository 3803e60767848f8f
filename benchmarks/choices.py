"""How long does a choice of a token take under grammars at the executor's limits?

    python -m benchmarks.choices [--rounds 7] [--json FILE]

Logits are synthetic: only the grammar is timed, with its masks, the choice of the highest admitted
token, and forced tokens between choices. A token's evaluation takes the default model some 10 ms on
a quiet machine. The limits are those of `precompiles.spec`; the slowest cases use names of tools
and addresses that an attacker would choose.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from precompiles.abi import ParamDescription, ParamType
from precompiles.grammar import build_grammar
from precompiles.spec import (
    DEFAULT_MAX_OUTPUT_TOKENS,
    MAX_ADDRESSES,
    MAX_HANDLE_CHARACTERS,
    MAX_NAME_BYTES,
    MAX_TOOL_PARTS,
    MAX_TOOLS,
    MAX_TYPE_DEPTH,
)
from precompiles.tool_metadata import Tool
from precompiles.typed_texts import attach_types
from pyevm_agents.bench.heartbeat import Heartbeat
from pyevm_agents.models.decoding.guided import GuidedDecoder
from pyevm_agents.models.decoding.tokenizer import SpecialTokenSplitter
from pyevm_agents.models.gguf.files import find_default_model
from pyevm_agents.models.llama.bindings import Llama

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

START = 'start: " " THOUGHT "\\n" step'
"""The first rule of the executor's grammars, which a case replaces."""

ITEMS = 'start: "[" {0} (", " {0}){{63}} "]"'
TOKENS = DEFAULT_MAX_OUTPUT_TOKENS
SEED = 19
DIFFERENT = 16
"""Number of precomputed logits, used in turn."""

HIGHEST = 1_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A grammar, and the token that is most likely wherever it is admitted."""

    name: str
    grammar: str
    favourite: str = ""


class MadeUp:
    """Random logits, with the time of each request. Implements `guided.Evaluator`."""

    def __init__(self, vocabulary_tokens: int, favourite: int | None) -> None:
        """Favour one token, or no token."""
        self._logits = np.random.default_rng(SEED).standard_normal(
            (DIFFERENT, vocabulary_tokens), dtype=np.float32
        )
        if favourite is not None:
            self._logits[:, favourite] = HIGHEST
        self.asked_s: list[float] = []

    def evaluate(
        self,
        tokens: list[int],  # noqa: ARG002 - the engine's
        report: Callable[[int, int], None] | None = None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Return logits for the next choice."""
        self.asked_s.append(time.perf_counter())
        logits: NDArray[np.float32] = self._logits[len(self.asked_s) % DIFFERENT]
        return logits


def tool(name: str, *parameters: ParamDescription) -> Tool:
    """Return a tool with a name."""
    return Tool(address=bytes(20), name=name, description="", parameters=parameters)  # type: ignore[arg-type]


def cases() -> list[Case]:
    """Return the timed cases."""
    names = [f"{number:02}" for number in range(MAX_TOOLS)]
    long = ["N" * (MAX_NAME_BYTES - 2) + name for name in names]
    chance = random.Random(SEED)  # noqa: S311 - as logits are
    handles = ["".join(chance.choices("ab", k=MAX_HANDLE_CHARACTERS)) for _ in range(MAX_ADDRESSES)]
    kinds = (ParamType.ADDRESS, ParamType.INT_ARRAY, ParamType.STRING_ARRAY)
    typed = tool(
        "Tool", *(ParamDescription(param_type=kind, name="it", description="") for kind in kinds)
    )
    grammar = build_grammar([typed], handles)
    uses = "start: " + " ".join(["use"] * TOKENS)

    def begun(start: str, grammar: str = grammar) -> str:
        return grammar.replace(START, start, 1)

    def begun_with_text(grammar: str) -> str:
        name = re.search("^typed[0-9]+", grammar, re.MULTILINE)
        return begun(f"start: {name[0] if name else ''}", grammar)

    return [
        Case(name="a thought", grammar=begun("start: THOUGHT")),
        Case(name="an answer", grammar=begun("start: ANSWER")),
        Case(name="an answer of nothing but spaces", grammar=begun("start: ANSWER"), favourite=" "),
        Case(name="one of 64 tools, short names", grammar=begun(uses, with_tools(names))),
        Case(
            name="one of 64 tools, names alike but for the end",
            grammar=begun(uses, with_tools(long)),
        ),
        Case(
            name="a list of 64 handles that branch everywhere",
            grammar=begun(ITEMS.format("address")),
        ),
        Case(name="a list of integers", grammar=begun(ITEMS.format("INT"))),
        Case(name="a list of texts", grammar=begun(ITEMS.format("STRING"))),
        *(
            Case(name=name, grammar=begun_with_text(typed_grammar([marker], handles)))
            for name, marker in TYPED.items()
        ),
        Case(
            name="one of 64 tools with 64 parts each, of 8 lists",
            grammar=begun(uses, typed_grammar(list_deep_types(), handles)),
        ),
    ]


TYPED = {
    "a typed text of bytes": "bytes",
    "a typed list of bytes": "bytes[]",
    "a typed list of strings": "string[]",
    "a typed list of handles and fees": "(address,uint24)[64]",
    "a typed text of 32 integers": f"({','.join(['int256'] * 32)})",
    "a typed text of 8 lists in each other": f"uint256{'[1]' * (MAX_TYPE_DEPTH - 1)}[64]",
}
"""Types of typed texts by the names of their cases."""


def list_deep_types() -> list[str]:
    """Return as many types of 8 arrays each, all different, as 64 tools can have."""
    count = MAX_TOOLS * (MAX_TOOL_PARTS // (1 + MAX_TYPE_DEPTH))
    sizes = ["[]", *(f"[{size}]" for size in range(2, 9))]
    return [
        f"uint{8 * (1 + number % 32)}"
        + "[]" * 5
        + "".join(sizes[number // 8**n % 8] for n in range(3))
        for number in range(count)
    ]


def typed_grammar(markers: Sequence[str], handles: Sequence[str]) -> str:
    """Return the grammar of tools with typed texts, which share out the types among them."""
    per_tool = -(-len(markers) // MAX_TOOLS)
    tools = []
    for start in range(0, len(markers), per_tool):
        parameters = [
            ParamDescription(param_type=ParamType.STRING, name=f"p{n}", description=f"[abi:{one}]")
            for n, one in enumerate(markers[start : start + per_tool])
        ]
        tools.append(tool(f"T{start}", *attach_types(parameters)))
    return build_grammar(tools, handles)


def with_tools(names: Sequence[str]) -> str:
    """Return the grammar of tools without parameters."""
    return build_grammar([tool(f"T{name}") for name in names], [])


def default_guide() -> GuidedDecoder:
    """Return the default model's grammar compiler, with tables of its vocabulary built."""
    llama = Llama(str(find_default_model()), vocabulary_only=True)
    guide = GuidedDecoder(llama, SpecialTokenSplitter(llama.special_spellings()))
    guide.compile_grammar("start: TEXT\nTEXT: /.+/")
    return guide


def measure(guide: GuidedDecoder, case: Case) -> tuple[float, list[float]]:
    """Return the milliseconds of compiling, and of each choice but the last."""
    favourite = None
    if case.favourite:
        (favourite,) = guide.vocabulary.tokenize(case.favourite, parse_special=False)
    made_up = MadeUp(guide.vocabulary.vocabulary_tokens, favourite)
    started = time.perf_counter()
    guide.compile_grammar(case.grammar)
    compiling = time.perf_counter() - started
    guide.generate(made_up, [], case.grammar, TOKENS)
    return 1_000 * compiling, (1_000 * np.diff(made_up.asked_s)).tolist()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the measurements to this file as well")
    options = parser.parse_args()

    guide = default_guide()
    found: dict[str, list[tuple[float, list[float]]]] = {}
    with Heartbeat("benchmarks.choices") as heartbeat:
        for _ in heartbeat.track(range(options.rounds), "rounds"):
            for case in cases():
                found.setdefault(case.name, []).append(measure(guide, case))
    print(
        f"{'milliseconds, medians of rounds':44} {'compiled':>9} {'a choice':>9} {'slowest':>8} "
        f"{'choices':>8}"
    )
    for name, rounds in found.items():
        compiling = statistics.median(each for each, _ in rounds)
        mean = statistics.median(statistics.fmean(each) for _, each in rounds)
        slowest = statistics.median(max(each) for _, each in rounds)
        print(f"{name:44} {compiling:9.1f} {mean:9.2f} {slowest:8.1f} {len(rounds[0][1]):8}")
    report = {
        name: [{"compile_ms": compiling, "choice_ms": each} for compiling, each in rounds]
        for name, rounds in found.items()
    }
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

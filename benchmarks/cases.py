"""Mixed prompts for soaks and comparisons: a case is a pure function of a seed and a number.

Cases come in families that share the start of their prompts, as the steps and runs of agents do: a
prefix can be reused in any order.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from eth_typing import Address

from precompiles.abi import IterationRequest, ParamDescription, ParamType
from precompiles.address_handles import AddressBook
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest, Segment
from precompiles.react import HistoryStep, build_prompt
from precompiles.tool_metadata import Tool

if TYPE_CHECKING:
    from precompiles.language_model import LanguageModel, ModelProfile

Kind = Literal["words", "choice", "json", "agent", "call"]

KINDS: tuple[Kind, ...] = ("words", "choice", "json", "agent", "call")

FAMILIES = 8
"""Prompt starts that the cases of a kind share."""

MIN_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS = 2, 40

WORDS = re.findall(
    r"\S+",
    """deposit withdraw balance pool token owner vault price oracle swap bridge chain block gas
    reverted signed 12 700 0.05 1e18 USDC DAI WETH 0xBEEF Größe 量子 naïve 🙂 {key} [x] "quoted"
    newline, tab; then: if (a<b) return; <|im_end|> the of and to who would never have thought""",
)
"""Words, numbers, other scripts, and lookalikes of control tokens."""

GRAMMARS = {
    "words": "start: /[^\\n]+/\n",
    "choice": 'start: " " ("deposit" | "withdraw" | "deposit all" | "balance" | "nothing") "\\n"\n',
    "json": (
        'start: "{\\"action\\": " NAME ", \\"amount\\": " NUMBER ", \\"note\\": " NAME "}"\n'
        'NAME: /"[^"\\\\\\x00-\\x1f]{0,24}"/\nNUMBER: /0|[1-9][0-9]{0,11}/\n'
    ),
}

TOOLS = tuple(
    Tool(
        address=Address(bytes([number]) * 20),
        name=name,
        description=description,
        parameters=tuple(
            ParamDescription(param_type=kind, name=parameter, description=words)
            for kind, parameter, words in parameters
        ),
    )
    for number, (name, description, parameters) in enumerate(
        [
            ("Pay", "Pays.", [(ParamType.UINT, "amount", "tokens"), (ParamType.STRING, "to", "")]),
            ("Look", "Looks a thing up.", [(ParamType.STRING, "what", "its name")]),
            ("Vote", "Votes.", [(ParamType.BOOL, "yes", ""), (ParamType.INT, "weight", "")]),
        ],
        start=1,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A prompt under a grammar, with a limit."""

    number: int
    kind: Kind
    request: GenerationRequest
    iteration: IterationRequest | None
    """For a `call`: the contract's request to the precompile with this prompt."""


def case(model: LanguageModel, profile: ModelProfile, seed: int, number: int) -> Case:
    """Return a case, with its prompt in the tokens of a model."""
    chance = random.Random(f"{seed} {number}")  # noqa: S311 - chosen by a seed, on purpose
    kind = KINDS[number % len(KINDS)]
    family = random.Random(f"{seed} {kind} {chance.randrange(FAMILIES)}")  # noqa: S311
    beginning = _words(family, 8, 60)
    tail = _words(chance, 3, 16)
    limit = chance.randint(MIN_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS)
    iteration = None
    if kind in ("agent", "call"):
        iteration = IterationRequest(
            model_id=profile.name,
            base_prompt=beginning,
            tools=(),
            agent_reasoning=(),
            tool_results=(),
            prompt=tail,
        )
        tools = TOOLS[: chance.randint(1, len(TOOLS))] if kind == "agent" else ()
        steps = _steps(chance) if kind == "agent" else ()
        book = AddressBook(beginning, [tail])
        segments = build_prompt(iteration, steps, tools, book, profile)
        grammar = build_grammar(tools, [handle for handle, _ in book.handles])
    else:
        segments = (Segment(text=beginning), Segment(text="\n" + tail + ":"))
        grammar = GRAMMARS[kind]
    request = GenerationRequest(
        segments=segments,
        prompt_tokens=model.tokenize(segments),
        grammar=grammar,
        max_tokens=profile.max_output_tokens if kind == "call" else limit,
    )
    return Case(
        number=number,
        kind=kind,
        request=request,
        iteration=iteration if kind == "call" else None,
    )


def _words(chance: random.Random, low: int, high: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(low, high)))


def _steps(chance: random.Random) -> tuple[HistoryStep, ...]:
    """Return a history of up to two steps, as a contract returns its text."""
    return tuple(
        HistoryStep(
            reasoning=(
                f"Thought: {' '.join(chance.choices(('pay', 'look', 'once', 'more'), k=3))}\n"
                f'Action: Look\nAction Input: {{"what": "{chance.randrange(1000)}"}}'
            ),
            observation=f"It is {chance.randrange(10**6)}.",
        )
        for _ in range(chance.randint(0, 2))
    )

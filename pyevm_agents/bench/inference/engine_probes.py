"""Probes of generation through the chain's model interface: reading, re-reading and writing tokens.

A long prompt is read piece by piece, as in an agent's run. A piece's cost depends on the length and
on the earlier tokens: one reading gives a dozen points of the curve, in the time of the longest
prompt.
"""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING

from precompiles.abi import ParamDescription, ParamType
from precompiles.grammar import build_grammar
from precompiles.language_model import GenerationRequest
from precompiles.tool_metadata import Tool
from pyevm_agents.bench.inference.probe import ProbeCase
from pyevm_agents.bench.measurement.profile import build_measured_profile
from pyevm_agents.bench.measurement.texts import OrdinaryText
from pyevm_agents.bench.measurement.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from precompiles.language_model import Generation
    from pyevm_agents.bench.inference.probe import ProbeSample
    from pyevm_agents.models import LlamaModel

    Tokens = tuple[int, ...]

SHORTEST_TOKENS = 16
"""The shortest prompt: a chat template alone has more tokens."""

PIECE_TOKENS = 512
"""Length of the longest prompt read at once, and of each later piece: the engine's batch size."""

SAID_TOKENS = 17
"""Output tokens: one comes with the prompt, sixteen are sampled after it."""

FORCED_TOKENS = (16, 128)
"""Lengths of forced literals: a tool's name with its first parameters; the longest that real tools
force.
"""

OTHER_TOKENS = 48
"""Length of a second prompt, which makes the engine set the first one aside."""

FREE = r"""start: TEXT
TEXT: /[^\x00-\x1f\x7f]{1000}/ & /([^0]|0+[^0xX])*0*/
"""
"""A grammar of free text under the rules of a thought, too long to end."""

KEPT, RESTORED = "kept", "restored"
"""Details of warm tokens: still in the context's memory, or set aside and restored."""

NUMBERS = "numbers"
"""Detail of sampled tokens: 256-bit integers, whose grammar is the slowest."""


class EngineProbes:
    """Probe cases of one model."""

    def __init__(self, model: LlamaModel, *, longest_tokens: int | None = None) -> None:
        """Create the cases of a model.

        Input:
            longest_tokens: length of the longest prompt; None for the context less the longest
            output.
        """
        profile = build_measured_profile(model.profile_facts)
        room_tokens = profile.context_tokens - profile.max_output_tokens
        self.longest_tokens = min(longest_tokens or room_tokens, room_tokens)
        self._model = model
        self._text = OrdinaryText(model)
        self._long_text = self._text.draw_tokens(self.longest_tokens)

    def list_lengths(self) -> list[int]:
        """Return the lengths of the prompts that are read from an empty memory."""
        most = min(PIECE_TOKENS, self.longest_tokens)
        doubled = [SHORTEST_TOKENS]
        while doubled[-1] * 2 <= most:
            doubled.append(doubled[-1] * 2)
        return doubled

    def build_short_cases(self) -> dict[str, ProbeCase]:
        """Return prompts of up to `PIECE_TOKENS`, and outputs after two prompts."""
        lengths = self.list_lengths()
        cases = {
            f"{length} cold tokens": self._make_case("cold", partial(self._read, 0, length))
            for length in lengths
        }
        for length in dict.fromkeys((lengths[len(lengths) // 2], lengths[-1])):
            cases |= self._build_cases_after(length)
        return cases

    def build_long_cases(self) -> dict[str, ProbeCase]:
        """Return the pieces of the longest prompt in order, and outputs after some pieces.

        The pieces must run in this order: each begins with the tokens of the earlier ones.
        """
        cases: dict[str, ProbeCase] = {}
        starts = range(0, self.longest_tokens, PIECE_TOKENS)
        for index, start in enumerate(starts):
            end = min(start + PIECE_TOKENS, self.longest_tokens)
            name = f"cold tokens {start} to {end}"
            cases[name] = self._make_case("cold", partial(self._read, start, end))
            if index + 1 in {len(starts) // 4, len(starts) // 2, len(starts)}:
                cases |= self._build_cases_after(end)
        return cases

    def _build_cases_after(self, length: int) -> dict[str, ProbeCase]:
        """Return the cases that follow a prompt in memory."""
        cases = {
            f"{length} warm tokens": self._make_case(
                "warm", partial(self._read_again, length), KEPT
            ),
            f"{SAID_TOKENS} tokens sampled at {length}": self._make_case(
                "sampled", partial(self._sample_tokens, length, FREE)
            ),
            f"{SAID_TOKENS} tokens of numbers at {length}": self._make_case(
                "sampled", partial(self._sample_tokens, length, build_numbers_grammar()), NUMBERS
            ),
        }
        for forced in FORCED_TOKENS:
            cases[f"{forced} tokens forced at {length}"] = self._make_case(
                "forced", partial(self._force, length, forced)
            )
        cases[f"{length} warm tokens from aside"] = self._make_case(
            "warm",
            lambda: self._read_again(length, after=self._text.draw_tokens(OTHER_TOKENS)),
            RESTORED,
        )
        return cases

    def _make_case(
        self, term: str, sample: Callable[[], ProbeSample], detail: str = ""
    ) -> ProbeCase:
        return ProbeCase(term=term, sample=sample, detail=detail)

    def _read(self, start: int, end: int) -> ProbeSample:
        """Read a prompt whose first tokens are in memory."""
        if start == 0:
            self._model.forget()
            prompt = self._text.draw_tokens(end) if end < PIECE_TOKENS else self._long_text[:end]
        else:
            prompt = self._long_text[:end]
            self._generate(prompt[:start], FREE, 1)
        seconds, generation = self._generate(prompt, FREE, 1)
        return seconds, _count_usage(generation, cold=end - start, warm=start)

    def _read_again(self, length: int, after: Sequence[int] = ()) -> ProbeSample:
        prompt = self._read_prompt(length)
        if after:
            self._generate(tuple(after), FREE, 1)
        seconds, generation = self._generate(prompt, FREE, 1)
        return seconds, _count_usage(generation, warm=length)

    def _sample_tokens(self, length: int, grammar: str) -> ProbeSample:
        seconds, generation = self._generate(self._read_prompt(length), grammar, SAID_TOKENS)
        return seconds, _count_usage(generation, warm=length)

    def _force(self, length: int, count: int) -> ProbeSample:
        """Force a new text, then sample one token."""
        grammar = FREE.replace("start: ", f"start: {json.dumps(self._text.draw_words(count))} ", 1)
        seconds, generation = self._generate(self._read_prompt(length), grammar, count + 1)
        return seconds, _count_usage(generation, warm=length)

    def _read_prompt(self, length: int) -> Tokens:
        """Return a prompt that is in the context's memory."""
        prompt = self._long_text[:length]
        self._generate(prompt, FREE, 1)
        return prompt

    def _generate(self, prompt: Tokens, grammar: str, limit: int) -> tuple[float, Generation]:
        request = GenerationRequest(
            segments=(), prompt_tokens=prompt, grammar=grammar, max_tokens=limit
        )
        started = time.perf_counter()
        generation = self._model.generate(request)
        return time.perf_counter() - started, generation


def build_numbers_grammar() -> str:
    """Return a grammar of integers alone, with the rules of the executor's grammars."""
    parameter = ParamDescription(param_type=ParamType.INT, name="amount", description="")
    tool = Tool(address=bytes(20), name="Tool", description="", parameters=(parameter,))  # type: ignore[arg-type]
    grammar = build_grammar((tool,), ())
    terminal = next(line for line in grammar.splitlines() if line.startswith("INT: "))
    return f'start: "[" INT (", " INT){{63}} "]"\n{terminal}\n'


def _count_usage(generation: Generation, *, cold: int = 0, warm: int = 0) -> Usage:
    return Usage(
        cold_tokens=cold,
        warm_tokens=warm,
        output_tokens=len(generation.tokens),
        forced_tokens=generation.forced_tokens,
    )

"""The short format of a step: a model chooses a clause, a tool and values, and composes no text.

A thought is a clause of the question, or says that the run is over. An argument is copied: numbers,
addresses and texts that the clause names, else those of the question, the tool results and the base
prompt. A tool whose parameters can't be filled so is left out. Answers are templates that name the
tools that ran and their results:

    " All done." or " It failed."      Final Answer: Done.            -> "Done. deposit: ok"
    " deposit 5 USDC"                  Final Answer: I can't do that. -> "I can't do that: …"
                                       Action: deposit, and its input

The rule `short_format` of `decoding_rules.py` switches it on. A call without tools has the free
format.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from precompiles.abi import FinalAnswer, ParamType
from precompiles.clauses import Clause, find_names, find_quantities, mask_quotations, split_clauses
from precompiles.escaping import CONTROL_CLASS, escape_line
from precompiles.language_model import Confidence, ScoredClause, Scoring
from precompiles.react import GrammarViolationError, intern_reasoning, parse
from precompiles.spec import (
    MAX_ARRAY_ITEMS,
    MAX_COPIED_WORDS,
    MAX_COPIES,
    MAX_QUOTED_RESULT_CHARACTERS,
    MAX_SPAN_WORDS,
    MAX_TEXT_CHARACTERS,
)
from precompiles.tool_words import read_clause_words, read_tool_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction

    from precompiles.abi import IterationRequest, ParamDescription, ToolUse
    from precompiles.address_handles import AddressBook
    from precompiles.clauses import Quantity
    from precompiles.react import HistoryStep
    from precompiles.tool_metadata import Tool

ALL_DONE, FAILED, NOTHING = "All done.", "It failed.", "Nothing to do."
"""Thoughts that are no clause: all is done; a tool failed; the question has no clause."""

UNSURE = "UNSURE:"
"""What an answer begins with that asks back instead of acting; `ErcAgentLib.isUnsure` looks for
it."""

DONE_ANSWER, FAILED_ANSWER, REFUSAL = "Done.", "Failed.", "I can't do that."
"""What the model writes as its answer; `ShortFormat.parse` composes the rest."""

_NUMBERS = (ParamType.INT, ParamType.UINT)
_DECIMALS = re.compile(
    r"(?<![\w.])(\d{1,2}) decimals|(?<![\w.])(?:10 ?(?:\^|\*\*) ?|1e)(\d{1,2})(?!\d)"
)
_EACH = re.compile(
    r"(?<!\w)(?:a|one|1) (hundred|thousand|million|billion) (?:each|per|to (?:a|one|the))(?!\w)"
)
_EACH_FACTORS = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_UNITS = {
    "cent": 10**2,
    "hundredth": 10**2,
    "thousandth": 10**3,
    "millionth": 10**6,
    "satoshi": 10**8,
    "gwei": 10**9,
    "wei": 10**18,
}
_PERCENT = re.compile(r"percent|per cent|%|share|ratio|slippage|fee|basis|bps")
_BASIS_POINTS = re.compile(r"basis points?|bps")
_SET = re.compile(r"one of:? (?P<items>[^.;()]+)")
_SPAN_WORD = re.compile(r"[^\s\"\\]+")
_PUNCTUATION = ".,;:!?()"
_MAX_DECIMALS = 77

Copies: TypeAlias = tuple[str, ...]
"""The texts, in JSON, among which one value is chosen; or the words of which it is a span."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How a parameter is filled."""

    values: tuple[str, ...]
    """Values in JSON, each once, in order of occurrence."""

    spans: tuple[tuple[str, ...], ...] = ()
    """Texts as words: any span of neighbouring words is a value as well."""

    is_list: bool = False


class ShortFormat:
    """The short format of one step: its grammar, and the parsing of a text of it."""

    def __init__(
        self,
        request: IterationRequest,
        steps: Sequence[HistoryStep],
        tools: Sequence[Tool],
        book: AddressBook,
    ) -> None:
        """Collect what the step can copy.

        Input:  the call, its history, its tools (at least one), and the handles of its addresses.
        """
        self._steps = tuple(steps)
        self._tools = tuple(tools)
        self._book = book
        self._handles = tuple(handle for handle, _ in book.handles)
        self._question = escape_line(book.intern(request.prompt))
        self._base_prompt = request.base_prompt
        self._quantities: dict[str, tuple[Quantity, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._results = tuple(
            escape_line(book.intern(s.observation)) for s in reversed(self._steps)
        )
        clauses = split_clauses(self._question)
        self.clauses: tuple[Clause, ...] = clauses or (Clause(NOTHING),)

    @cached_property
    def _fillings(self) -> tuple[tuple[tuple[Choice, ...] | None, ...], ...]:
        """How each tool is filled, by clause and tool."""
        return tuple(
            tuple(self.find_choices(clause, tool) for tool in self._tools)
            for clause in self.clauses
        )

    @cached_property
    def _used_parts(self) -> Mapping[str, frozenset[int]]:
        """The parts of the question for which a tool has already run, by the tool's name.

        A tool runs once for a part, so a run cannot repeat a payment or go in circles.
        """
        parts = {clause.text: clause.parts for clause in self.clauses}
        used: dict[str, frozenset[int]] = {}
        for step in self._steps:
            thought, action, *_ = intern_reasoning(step.reasoning, self._book).split("\n")
            name = action.removeprefix("Action: ")
            own = parts.get(thought.removeprefix("Thought: "), frozenset())
            used[name] = used.get(name, frozenset()) | own
        return used

    def build_scoring(self, router_weight: int) -> Scoring:
        """Return what a generation is scored on, with the router's weight in 256ths."""
        return Scoring(
            tools=tuple(map(read_tool_words, self._tools)),
            names=tuple(tool.name for tool in self._tools),
            clauses=tuple(
                ScoredClause(
                    text=clause.text,
                    words=read_clause_words(clause.text, self._handles),
                    tools=tuple(index for index, one in enumerate(of) if one is not None),
                )
                for clause, of in zip(self.clauses, self._fillings, strict=True)
            ),
            router_weight=router_weight,
        )

    @cached_property
    def grammar(self) -> str:
        """Lark text for llguidance, start rule `start`."""
        values: dict[str, str] = {}
        rules: list[str] = []
        starts = [f"clause{index}" for index in range(len(self.clauses))]
        if self._steps:
            ends = ((ALL_DONE, DONE_ANSWER), (FAILED, FAILED_ANSWER))
            starts += [_quote(f"{said}\nFinal Answer: {answer}") for said, answer in ends]
        for index, clause in enumerate(self.clauses):
            calls = [
                _build_call(tool, filling, values)
                for tool, filling in zip(self._tools, self._fillings[index], strict=True)
                if filling is not None
            ]
            use = f' | "Action: " ({" | ".join(calls)})' if calls else ""
            rules.append(f'clause{index}: {_quote(clause.text)} "\\n" (refusal{use})')
        return "\n".join(
            [
                f'start: " " ({" | ".join(starts)})',
                f"refusal: {_quote(f'Final Answer: {REFUSAL}')}",
                *rules,
                *(f"{name}: /{body}/" for body, name in values.items()),
                "",
            ]
        )

    def find_choices(self, clause: Clause, tool: Tool) -> tuple[Choice, ...] | None:
        """Return how each parameter of a tool is filled for a clause; None if one can't be."""
        if clause.text == NOTHING or self._used_parts.get(tool.name, frozenset()) & clause.parts:
            return None
        needed = [_scalar(parameter.param_type) for parameter in tool.parameters]
        addresses = self._find_addresses(clause, needed.count(ParamType.ADDRESS))
        count = sum(needed.count(kind) for kind in _NUMBERS)
        quantities = self._find_numbers(clause, count)
        found: list[Choice] = []
        for parameter, kind in zip(tool.parameters, needed, strict=True):
            is_list = parameter.param_type >= ParamType.STRING_ARRAY
            spans: tuple[tuple[str, ...], ...] = ()
            if kind is ParamType.BOOL:
                values: Iterable[str] = ("true", "false")
            elif kind is ParamType.ADDRESS:
                values = map(_to_json, addresses)
            elif kind in _NUMBERS:
                values = map(str, _convert(quantities, parameter, is_signed=kind is ParamType.INT))
            else:
                values, spans = self._find_texts(clause, parameter)
            kept = tuple(dict.fromkeys(values))[:MAX_COPIES]
            if not kept and not spans:
                return None
            found.append(Choice(kept, spans, is_list))
        if len(addresses) < needed.count(ParamType.ADDRESS) or len(quantities) < count:
            return None
        return tuple(found)

    def parse(self, text: str) -> ToolUse | FinalAnswer:
        """Parse a text of the format into a tool use or an answer.

        Raises: GrammarViolationError: the grammar does not admit the text.
        """
        thought, _, rest = text.removeprefix(" ").partition("\n")
        for said, answer in ((ALL_DONE, DONE_ANSWER), (FAILED, FAILED_ANSWER)):
            if self._steps and thought == said and rest == f"Final Answer: {answer}":
                return self._compose(answer)
        clause = next((one for one in self.clauses if one.text == thought), None)
        if clause is None or not text.startswith(" "):
            raise GrammarViolationError(f"not a clause of the question: {text[:200]!r}")
        if rest == f"Final Answer: {REFUSAL}":
            return self._compose(f"I can't do that: {self._book.expand(clause.text)}")
        use = parse(text, self._tools, self._book)
        if isinstance(use, FinalAnswer):
            raise GrammarViolationError(f"not an answer of the short format: {text[:200]!r}")
        tool = next(one for one in self._tools if one.name == rest.partition("\n")[0][8:])
        choices = self.find_choices(clause, tool)
        if choices is None:
            raise GrammarViolationError(f"{tool.name} can't be filled here: {text[:200]!r}")
        arguments = json.loads(rest.partition("\nAction Input: ")[2])
        for choice, value in zip(choices, arguments.values(), strict=True):
            items = value if choice.is_list else [value]
            if not items or not all(_admits(choice, _to_json(item)) for item in items):
                raise GrammarViolationError(f"not a value to copy: {value!r} in {text[:200]!r}")
        return use

    def withhold(
        self, result: ToolUse | FinalAnswer, confidence: Confidence | None, max_surprisal: int
    ) -> ToolUse | FinalAnswer:
        """Return a tool use that the model is sure of, else an answer that asks back: the gate.

        A tool use passes if its surprisal is at most `max_surprisal`, and the router, if there is
        one, scores no tool higher and this one above none. 0 switches the gate off. A model without
        weights reports no confidence, and passes.
        """
        if isinstance(result, FinalAnswer) or confidence is None or not max_surprisal:
            return result
        chosen = next(i for i, tool in enumerate(self._tools) if tool.address == result.tool)
        ranked = sorted(
            (-score, index) for index, score in enumerate(confidence.tool_scores) if score > 0
        )
        is_routed = not confidence.tool_scores or (bool(ranked) and ranked[0][1] == chosen)
        if is_routed and confidence.surprisal <= max_surprisal:
            return result
        other = next((index for _, index in ranked if index != chosen), None)
        names = self._tools[chosen].name, "none" if other is None else self._tools[other].name
        return self._compose(f"{UNSURE} I am not sure which tool to use: {' or '.join(names)}?")

    def _compose(self, start: str) -> FinalAnswer:
        """Compose an answer: its start, and each tool that ran with its result."""
        ran = [f"{_name_tool(step)}: {_cut(step.observation)}" for step in self._steps]
        if not ran:
            return FinalAnswer(answer=start)
        if start in {DONE_ANSWER, FAILED_ANSWER}:
            said = f"{start} {'; '.join(ran)}"
        else:
            said = f"{start}; done before: {'; '.join(ran)}"
        return FinalAnswer(answer=_cut(said, MAX_TEXT_CHARACTERS))

    def _find_addresses(self, clause: Clause, count: int) -> tuple[str, ...]:
        """Return the handles that a clause names, else those of the question and the results."""
        own = self._find_handles(clause.text)
        if len(own) >= count:
            return own
        return (
            *own,
            *(h for text in (self._question, *self._results) for h in self._find_handles(text)),
        )

    def _find_handles(self, text: str) -> tuple[str, ...]:
        if text not in self._names:
            words = {word.lower() for word in re.findall(r"[^\W_]+", mask_quotations(text)[0])}
            by_line = [handle for handle, names in self._prose.items() if names & words]
            self._names[text] = (*find_names(text, self._handles), *by_line)
        return self._names[text]

    @cached_property
    def _prose(self) -> Mapping[str, frozenset[str]]:
        """Words of the base prompt's line with an address that has no name, by its handle.

        Words of one letter, lower-case words of two, and those of two such lines name nothing.
        """
        lines: dict[str, set[str]] = {}
        for line in self._book.intern_base_prompt(self._base_prompt).split("\n"):
            handles = [h for h in find_names(line, self._handles) if re.fullmatch(r"addr\d+", h)]
            for handle in handles:
                rest = re.sub(rf"\b{handle}\b", " ", line)
                lines.setdefault(handle, set()).update(
                    word.lower()
                    for word in re.findall(r"[^\W_]{2,}", rest)
                    if len(word) > 2 or word.isupper()
                )
        counts: dict[str, int] = {}
        for words in lines.values():
            for word in sorted(words):
                counts[word] = counts.get(word, 0) + 1
        return {
            handle: frozenset(word for word in words if counts[word] == 1)
            for handle, words in lines.items()
        }

    def _find_numbers(self, clause: Clause, count: int) -> tuple[tuple[Quantity, bool], ...]:
        """Return numbers, and whether each is in the users' unit, not in the contracts'.

        Those of the clause; if they are too few, those of the results as well; and if the clause
        has none, those of the question and the base prompt.
        """
        if not count:
            return ()
        found = [(one, True) for one in self._read_quantities(clause.text)]
        has_own = bool(found)
        if len(found) < count:
            for result in self._results:
                found += [(one, False) for one in self._read_quantities(result)]
        if not has_own and len(found) < count:
            for text in (self._question, self._base_prompt):
                found += [(one, True) for one in self._read_quantities(text)]
        return tuple(found)

    def _find_texts(
        self, clause: Clause, parameter: ParamDescription
    ) -> tuple[list[str], tuple[tuple[str, ...], ...]]:
        """Return texts to copy, in JSON, and texts whose spans can be copied.

        The items of a stated set, else the clause's quotations, else those of the question and the
        spans of the question and of the last result.
        """
        stated = _SET.search(parameter.description)
        if stated:
            items = re.split(r",\s*(?:or\s+)?|\s+or\s+", stated["items"].strip())
            return [_to_json(_escape(item.strip("\"'"))) for item in items if item], ()
        quoted = [_escape(one) for one in clause.quotations]
        if quoted:
            return [_to_json(one) for one in quoted if _is_free(one)], ()
        quoted = [_escape(one) for one in mask_quotations(self._question)[1]]
        return [_to_json(one) for one in quoted if _is_free(one)], self._spans

    @cached_property
    def _spans(self) -> tuple[tuple[str, ...], ...]:
        """The words of the question and of the last result, without quoted texts."""
        sources = (self._question, *self._results[:1])
        return tuple(words for text in sources for words in _split_spans(mask_quotations(text)[0]))

    def _read_quantities(self, text: str) -> tuple[Quantity, ...]:
        if text not in self._quantities:
            self._quantities[text] = find_quantities(text)
        return self._quantities[text]


def _scalar(kind: ParamType) -> ParamType:
    return ParamType(kind % ParamType.STRING_ARRAY)


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quote(text: str) -> str:
    """Return a text as a Lark string literal."""
    return json.dumps(text, ensure_ascii=False)


def _escape(text: str) -> str:
    return text[:MAX_TEXT_CHARACTERS]


def _is_free(text: str) -> bool:
    return bool(text) and "0x" not in text.lower() and not re.search(f"[{CONTROL_CLASS}]", text)


def _split_spans(text: str) -> Iterator[tuple[str, ...]]:
    """Return the runs of words of a text, between punctuation, that stand in JSON without escapes."""
    words: list[str] = []
    for word in text.replace("\\n", " , ").split(" ")[:MAX_SPAN_WORDS]:
        bare = word.strip(_PUNCTUATION)
        is_word = bool(_SPAN_WORD.fullmatch(bare)) and _is_free(bare)
        if words and not (is_word and word.startswith(bare)):
            yield tuple(words)
            words = []
        if is_word:
            words.append(bare)
            if not word.endswith(bare):
                yield tuple(words)
                words = []
    if words:
        yield tuple(words)


def _convert(
    quantities: Iterable[tuple[Quantity, bool]], parameter: ParamDescription, *, is_signed: bool
) -> Iterator[int]:
    """Return the integers that a parameter takes for numbers, in its own unit.

    A number in the users' unit is multiplied by the factor that the description states, unless the
    number is followed by the parameter's unit. A percentage counts where the description is of one.
    """
    described = f"{parameter.name} {parameter.description}".lower()
    factor, unit = _read_factor(parameter.description.lower())
    for quantity, is_of_user in quantities:
        value: Fraction = quantity.value
        if quantity.unit == "percent":
            if not _PERCENT.search(described):
                continue
            value *= 100 if _BASIS_POINTS.search(described) else 1
        elif is_of_user and not (unit and quantity.unit.rstrip("s") == unit):
            value *= factor
        low, high = (-(2**255), 2**255) if is_signed else (0, 2**256)
        if value.denominator == 1 and low <= value < high:
            yield int(value)


def _read_factor(description: str) -> tuple[int, str]:
    """Return the factor that a description states, 1 if none, and the unit's name."""
    unit = next(
        (one for one in _UNITS if re.search(rf"(?<![a-z])in {one}s?(?![a-z])", description)), ""
    )
    decimals = _DECIMALS.search(description)
    if decimals:
        exponent = int(decimals[1] or decimals[2])
        return (10**exponent if exponent <= _MAX_DECIMALS else 1), unit
    each = _EACH.search(description)
    if each:
        return _EACH_FACTORS[each[1]], unit
    return _UNITS.get(unit, 1), unit


def _build_call(tool: Tool, choices: Sequence[Choice], values: dict[str, str]) -> str:
    parts: list[str] = []
    literal = f"{tool.name}\nAction Input: {{"
    for index, (parameter, choice) in enumerate(zip(tool.parameters, choices, strict=True)):
        literal += ", " * (index > 0) + _to_json(parameter.name) + ": "
        name = values.setdefault(_build_value(choice), f"VALUE{len(values)}")
        one = name
        if choice.is_list:
            one = f'"[" {name} (", " {name}){{0,{MAX_ARRAY_ITEMS - 1}}} "]"'
        parts += [_quote(literal), one]
        literal = ""
    return " ".join([*parts, _quote(literal + "}")])


def _build_value(choice: Choice) -> str:
    """Return a regular expression of a parameter's values."""
    alternatives = [_escape_pattern(value) for value in choice.values]
    for words in choice.spans:
        alternatives += [_build_span_pattern(words[start:]) for start in range(len(words))]
    return "|".join(alternatives)


def _build_span_pattern(words: Sequence[str]) -> str:
    """Return a regular expression of the spans that begin at the first word, in JSON."""
    pattern = ""
    for word in reversed(words[1:MAX_COPIED_WORDS]):
        pattern = f"( {_escape_pattern(word)}{pattern})?"
    return f'"{_escape_pattern(words[0])}{pattern}"'


def _escape_pattern(text: str) -> str:
    """Return a regular expression of a text: `/`, which ends one in Lark, is escaped as well."""
    return re.sub(r"[!-/:-@\[-`{-~]", lambda match: f"\\x{ord(match[0]):02x}", text)


def _admits(choice: Choice, value: str) -> bool:
    if value in choice.values:
        return True
    said = json.loads(value)
    return isinstance(said, str) and any(_is_span(said.split(" "), words) for words in choice.spans)


def _is_span(said: Sequence[str], words: Sequence[str]) -> bool:
    return len(said) <= MAX_COPIED_WORDS and any(
        tuple(said) == tuple(words[start : start + len(said)]) for start in range(len(words))
    )


def _name_tool(step: HistoryStep) -> str:
    return step.reasoning.split("\n")[1].removeprefix("Action: ")


def _cut(text: str, limit: int = MAX_QUOTED_RESULT_CHARACTERS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"

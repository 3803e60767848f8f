"""The short format of a step: a model chooses a clause, a tool and values, and composes no text.

A thought is a clause of the question, or says that the run is over. An argument is copied: numbers,
addresses and texts that the clause names, else those of other texts (`choices.py`). A tool whose
parameters can't be filled so is left out. Answers are templates that name the tools that ran and
their results:

    " All done." or " It failed."      Final Answer: Done.            -> "Done. deposit: ok"
    " deposit 5 USDC"                  Final Answer: I can't do that. -> "I can't do that: …"
                                       Final Answer: I cannot …       -> a line of the base prompt
                                       Action: deposit, and its input

A line of the base prompt that begins with `I cannot ` is a refusal sentence: a reason that an
answer can copy.

The rule `short_format` of `decoding_rules.py` switches it on. A call without tools has the free
format.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from precompiles.abi import FinalAnswer, ParamType
from precompiles.abi_types import Kind
from precompiles.escaping import escape_line
from precompiles.free_format import ParsedStep
from precompiles.gate import DONE_BEFORE
from precompiles.language_model import ScoredClause, Scoring
from precompiles.react import GrammarViolationError, intern_reasoning, parse
from precompiles.short_format.choices import Choice, ParameterRule, Sources, read_parameter
from precompiles.short_format.clauses import Clause, split_clauses
from precompiles.short_format.hexadecimal_words import quote_hexadecimal_words
from precompiles.short_format.named_values import uses_named_values
from precompiles.short_format.tool_words import (
    read_clause_words,
    read_tool_words,
    split_identifiers,
)
from precompiles.spec import (
    BRANCH_PARAMETERS,
    MAX_ARRAY_ITEMS,
    MAX_BRANCHES,
    MAX_COPIED_BYTES,
    MAX_REFUSAL_SENTENCES,
)
from precompiles.stated_values import is_free, to_json
from precompiles.step_answers import compose_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.abi import IterationRequest, ToolUse
    from precompiles.address_handles import AddressBook
    from precompiles.language_model import Generation
    from precompiles.react import HistoryStep
    from precompiles.tool_metadata import Tool

ALL_DONE, FAILED, NOTHING = "All done.", "It failed.", "Nothing to do."
"""Thoughts that are no clause: all is done; a tool failed; the question has no clause."""

DONE_ANSWER, FAILED_ANSWER, REFUSAL = "Done.", "Failed.", "I can't do that."
"""The answers that the model chooses from; `ShortFormat.parse` composes the rest."""

SENTENCE_START = "I cannot "
"""Beginning of a refusal sentence."""

_REFUSED = re.compile(rf"{SENTENCE_START}call ([A-Za-z_$][0-9A-Za-z_$]*) because ")
_NUMBERS = (ParamType.INT, ParamType.UINT)
_ANSWER = "Final Answer: "
_ENDS = {(ALL_DONE, DONE_ANSWER): DONE_ANSWER, (FAILED, FAILED_ANSWER): FAILED_ANSWER}


class ShortFormat:
    """The short format of one step: its grammar, and the parsing of a text of it."""

    def __init__(
        self,
        request: IterationRequest,
        steps: Sequence[HistoryStep],
        tools: Sequence[Tool],
        book: AddressBook,
        *,
        router_weight: int = 0,
    ) -> None:
        """Collect what the step can copy.

        Input:  the call, its history, its tools (at least one), the handles of its addresses, and
                the router's weight in 256ths.
        """
        self._router_weight = router_weight
        self._steps = tuple(steps)
        self._tools = tuple(tools)
        self._book = book
        # A thought has no control characters; a tab is the one that a line of a prompt keeps.
        question = book.intern(request.prompt)
        has_data = any(map(_takes_hexadecimal, self._tools))
        if has_data:
            question = quote_hexadecimal_words(question)
        question = escape_line(question).replace("\t", " ")
        results = [escape_line(book.intern(step.observation)) for step in reversed(self._steps)]
        base_prompt = book.intern_base_prompt(request.base_prompt)
        handles = [handle for handle, _ in book.handles]
        self._sources = Sources(question, results, base_prompt, handles, has_data=has_data)
        clauses = split_clauses(question) or (Clause(NOTHING),)
        sizes = (1 + tool.leaf_count // BRANCH_PARAMETERS for tool in self._tools)
        self._branches_of_clause = sum(sizes)
        self.clauses = clauses[: MAX_BRANCHES // self._branches_of_clause]
        self._ends = _ENDS if self._steps else {}
        self._sentences = _find_sentences(base_prompt)

    @property
    def branches(self) -> int:
        """Number of rules of the grammar whose gas is charged.

        A clause and a tool are one rule, and one more for each `BRANCH_PARAMETERS` parameters, in
        which each leaf of a typed text counts as one.
        """
        return len(self.clauses) * self._branches_of_clause

    @cached_property
    def _rules(self) -> tuple[tuple[ParameterRule, ...], ...]:
        """What each tool's parameters say of their values."""
        return tuple(tuple(map(read_parameter, tool.parameters)) for tool in self._tools)

    @cached_property
    def _fillings(self) -> tuple[tuple[tuple[Choice, ...] | None, ...], ...]:
        """How each tool is filled, by clause and tool; None if it can't be."""
        known: set[Choice] = set()
        room_bytes = MAX_COPIED_BYTES
        fillings: list[tuple[tuple[Choice, ...] | None, ...]] = []
        for clause in self.clauses:
            found: list[tuple[Choice, ...] | None] = []
            for tool, of in zip(self._tools, self._rules, strict=True):
                filling = self._sources.find_choices(clause, of)
                new = [choice for choice in dict.fromkeys(filling or ()) if choice not in known]
                size_bytes = sum(choice.size_bytes for choice in new)
                if self._is_left_out(clause, tool) or size_bytes > room_bytes:
                    filling = None
                else:
                    known.update(new)
                    room_bytes -= size_bytes
                found.append(filling)
            fillings.append(tuple(found))
        return tuple(fillings)

    def _is_left_out(self, clause: Clause, tool: Tool) -> bool:
        """Return whether a tool can't run for a clause, however it is filled.

        It has run for a part of it, nothing is to do, the clause asks for a function that a refusal
        sentence names, or its numbers count other tokens than the tool's.
        """
        used = self._used_parts.get(tool.name, frozenset())
        if clause.text == NOTHING or not used.isdisjoint(clause.parts):
            return True
        names, counted = self._counted_names[tool.name], self._sources.find_counted(clause)
        is_other = names is not None and bool(counted) and counted.isdisjoint(names)
        return is_other or bool(self._reasons[clause.text])

    @cached_property
    def _counted_names(self) -> Mapping[str, frozenset[str] | None]:
        """The names in the descriptions of a tool's numbers that state a unit, by the tool's name.

        None if there is no such number, or if an address among the parameters can be the token.
        """
        found: dict[str, frozenset[str] | None] = {}
        for tool, rules in zip(self._tools, self._rules, strict=True):
            texts = [
                one.plain_description
                for one, rule in zip(tool.parameters, rules, strict=True)
                if rule.kind in _NUMBERS and rule.factor > 1
            ]
            has_address = any(ParamType.ADDRESS in one.leaf_kinds for one in tool.parameters)
            names = self._sources.names.find(self._book.intern(" ".join(texts)))
            found[tool.name] = frozenset(names) if texts and not has_address else None
        return found

    @cached_property
    def _reasons(self) -> Mapping[str, tuple[str, ...]]:
        """The refusal sentences that answer a clause, by its text.

        Those of functions whose words follow one another in the clause: `the admin function` asks
        for `adminFunction`. None if the clause also names a tool so.
        """
        refused = [(one, _read_refused(one)) for one in self._sentences]
        tools = [tuple(split_identifiers(tool.name)) for tool in self._tools]
        found: dict[str, tuple[str, ...]] = {}
        for clause in self.clauses:
            words = tuple(split_identifiers(clause.text))
            reasons = tuple(one for one, name in refused if _has_phrase(words, name))
            is_tool = any(_has_phrase(words, name) for name in tools) if reasons else False
            found[clause.text] = () if is_tool else reasons
        return found

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

    @property
    def scoring(self) -> Scoring:
        """What a generation is scored on."""
        return Scoring(
            tools=tuple(map(read_tool_words, self._tools)),
            names=tuple(tool.name for tool in self._tools),
            clauses=tuple(
                ScoredClause(
                    text=clause.text,
                    words=read_clause_words(clause.text, self._sources.names),
                    tools=tuple(index for index, one in enumerate(of) if one is not None),
                )
                for clause, of in zip(self.clauses, self._fillings, strict=True)
            ),
            router_weight=self._router_weight,
        )

    @cached_property
    def grammar(self) -> str:
        """Lark text for llguidance, start rule `start`."""
        values: dict[Choice, str] = {}
        calls: dict[str, str] = {}
        refusals = {(REFUSAL, *self._sentences): "refusal"}
        starts = [to_json(f"{thought}\n{_ANSWER}{answer}") for thought, answer in self._ends]
        rules: list[str] = []
        for index, (clause, fillings) in enumerate(zip(self.clauses, self._fillings, strict=True)):
            # Clauses that fill a tool alike share a rule.
            names = [
                calls.setdefault(_build_call(tool, filling, values), f"call{len(calls)}")
                for tool, filling in zip(self._tools, fillings, strict=True)
                if filling is not None
            ]
            use = f' | "Action: " ({" | ".join(names)})' if names else ""
            refusal = refusals.setdefault(self._list_refusals(clause), f"refusal{len(refusals)}")
            rules.append(f'clause{index}: {to_json(clause.text)} "\\n" ({refusal}{use})')
            starts.append(f"clause{index}")
        return "\n".join(
            [
                f'start: " " ({" | ".join(starts)})',
                *(
                    f"{name}: {' | '.join(to_json(_ANSWER + one) for one in answers)}"
                    for answers, name in refusals.items()
                ),
                *rules,
                *(f"{name}: {body}" for body, name in calls.items()),
                *(f"{name}: /{choice.pattern}/" for choice, name in values.items()),
                *(_build_list(name) for name in values.values()),
                "",
            ]
        )

    def read(self, generation: Generation) -> ParsedStep:
        """Parse a generation; that of a fake is in the free format.

        Raises: GrammarViolationError: the grammar does not admit its text.
        """
        text = generation.text
        if generation.is_free:
            return ParsedStep(result=parse(text, self._tools, self._book))
        return ParsedStep(result=self.parse(text), uses_named_values=self.uses_named_values(text))

    def parse(self, text: str) -> ToolUse | FinalAnswer:
        """Parse a text of the format into a tool use or an answer.

        Raises: GrammarViolationError: the grammar does not admit the text.
        """
        thought, _, rest = text.removeprefix(" ").partition("\n")
        answer = self._ends.get((thought, rest.removeprefix(_ANSWER)))
        if answer and rest.startswith(_ANSWER) and text.startswith(" "):
            return self._compose(answer)
        place = next((i for i, one in enumerate(self.clauses) if one.text == thought), None)
        if place is None or not text.startswith(" "):
            raise GrammarViolationError(f"not a clause of the question: {text[:200]!r}")
        if rest.startswith(_ANSWER):
            return self._parse_refusal(self.clauses[place], rest.removeprefix(_ANSWER))
        use = parse(text, self._tools, self._book)
        if isinstance(use, FinalAnswer):
            raise GrammarViolationError(f"not an answer of the short format: {text[:200]!r}")
        self._require_copies(place, use, rest)
        return use

    def _list_refusals(self, clause: Clause) -> tuple[str, ...]:
        """Return the answers that refuse a clause."""
        return self._reasons[clause.text] or (REFUSAL, *self._sentences)

    def _parse_refusal(self, clause: Clause, answer: str) -> FinalAnswer:
        """Compose the answer that refuses a clause.

        Raises: GrammarViolationError: the grammar does not admit it.
        """
        if answer not in self._list_refusals(clause):
            raise GrammarViolationError(f"not an answer of the short format: {answer[:200]!r}")
        if answer == REFUSAL:
            return self._compose(f"{REFUSAL[:-1]}: {self._book.expand(clause.text)}")
        return self._compose_refusal(answer)

    def uses_named_values(self, text: str) -> bool:
        """Return whether a tool use has the values that its clause names; true of answers.

        Input:  a text that `parse` accepts.
        """
        thought, _, rest = text.removeprefix(" ").partition("\n")
        if rest.startswith(_ANSWER):
            return True
        action, _, arguments = rest.removeprefix("Action: ").partition("\nAction Input: ")
        tool = next(tool for tool in self._tools if tool.name == action)
        return uses_named_values(
            thought,
            self._sources.names,
            tool.parameters,
            json.loads(arguments),
            described=self._book.intern(f"{tool.name} {tool.description}"),
        )

    def _require_copies(self, place: int, use: ToolUse, rest: str) -> None:
        """Raise GrammarViolationError unless a clause can fill a tool so."""
        filling = self._fillings[place][self._find_tool(use)]
        if filling is None:
            raise GrammarViolationError(f"the tool can't be filled here: {rest[:200]!r}")
        arguments = json.loads(rest.partition("\nAction Input: ")[2])
        for choice, (name, value) in zip(filling, arguments.items(), strict=True):
            if not choice.admits(value):
                raise GrammarViolationError(f"not a value of {name} to copy: {rest[:200]!r}")

    def _find_tool(self, use: ToolUse) -> int:
        return next(i for i, tool in enumerate(self._tools) if tool.address == use.tool)

    def _compose_refusal(self, sentence: str) -> FinalAnswer:
        """Compose the answer that is a sentence of the base prompt."""
        expanded = self._book.expand(sentence)
        return self._compose(expanded.removesuffix(".") if self._steps else expanded)

    def _compose(self, start: str) -> FinalAnswer:
        """Compose an answer: its start, and each tool that ran with its result."""
        is_end = start in {DONE_ANSWER, FAILED_ANSWER}
        return compose_answer(start, self._steps, " " if is_end else DONE_BEFORE)


def _find_sentences(base_prompt: str) -> tuple[str, ...]:
    """Return the first `MAX_REFUSAL_SENTENCES` different refusal sentences of a base prompt.

    One with a control character or `0x`, or longer than an answer, is none.

    Input:  the base prompt, with handles in place of addresses.
    """
    lines = base_prompt.replace("\r\n", "\n").split("\n")
    found = (line for line in lines if line.startswith(SENTENCE_START) and is_free(line))
    return tuple(islice(dict.fromkeys(found), MAX_REFUSAL_SENTENCES))


def _read_refused(sentence: str) -> tuple[str, ...]:
    """Return the words of the function that a refusal sentence names; empty if it names none."""
    match = _REFUSED.match(sentence)
    return tuple(split_identifiers(match[1])) if match else ()


def _has_phrase(words: Sequence[str], phrase: tuple[str, ...]) -> bool:
    """Return whether words follow one another in a text; false for none."""
    size = len(phrase)
    starts = range(len(words) - size + 1) if phrase else ()
    return any(words[start : start + size] == phrase for start in starts)


def _takes_hexadecimal(tool: Tool) -> bool:
    """Return whether a parameter of a tool copies hexadecimal words."""
    types = (parameter.text_type for parameter in tool.parameters)
    leaves = (leaf for of in types if of is not None for leaf in of.leaves)
    return any(leaf.kind in {Kind.BYTES, Kind.FIXED_BYTES} for leaf in leaves)


def _build_list(name: str) -> str:
    """Return the rule of a list of a terminal's values."""
    rule = name.replace("VALUE", "list")
    return f'{rule}: "[" {name} (", " {name}){{0,{MAX_ARRAY_ITEMS - 1}}} "]"'


def _build_call(tool: Tool, filling: Sequence[Choice], values: dict[Choice, str]) -> str:
    """Return the body of a rule for a tool's call; its choices get names in `values`."""
    parts: list[str] = []
    literal = f"{tool.name}\nAction Input: {{"
    for index, (parameter, choice) in enumerate(zip(tool.parameters, filling, strict=True)):
        literal += ", " * (index > 0) + to_json(parameter.name) + ": "
        name = values.setdefault(replace(choice, is_list=False), f"VALUE{len(values)}")
        parts += [to_json(literal), name.replace("VALUE", "list") if choice.is_list else name]
        literal = ""
    return " ".join([*parts, to_json(literal + "}")])

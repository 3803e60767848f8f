"""The short format of one step: choices left to the model, and decisions of the rules.

    " send 5 USDC to Bob"       Action: transfer, and its input      one call is left: decided
    " open the vault"           Action: openVault                    several calls, or a doubt:
                                Action: openDoor                     the model chooses one, or
                                Final Answer: I can't do that.       declines
    " All done."                Final Answer: Done.                  nothing is left: decided

The plan (`plan.py`) lists the calls that the request's next order may make. If one is left, with
each value known and the order's verb the tool's own, no model runs. A request without a plan is
declined by the reason, without a model as well. Answers name the tools that ran, and the results.

The rule `short_format` of `decoding_rules.py` switches the format on. A call without tools has the
free format.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from precompiles.abi import FinalAnswer
from precompiles.escaping import CONTROL_CLASS
from precompiles.gate import DONE_BEFORE
from precompiles.integer_patterns import build_range_pattern
from precompiles.language_model import Scoring
from precompiles.outcome import is_done
from precompiles.react import GrammarViolationError, intern_reasoning, parse
from precompiles.short_format.base_prompt import (
    find_prose,
    find_sentences,
    read_native,
    read_refused,
)
from precompiles.short_format.call_text import hide_quotations, shorten_quotations
from precompiles.short_format.judge import JudgedOrder, JudgedRequest, Way
from precompiles.short_format.mentions import KnownWords
from precompiles.short_format.phrases import stem
from precompiles.short_format.plan import (
    MAX_OFFERED,
    MAX_REQUEST_CHARACTERS,
    MAX_RESULT_CHARACTERS,
    Done,
    NoPlan,
    Planner,
    Step,
)
from precompiles.short_format.reasons import explain
from precompiles.short_format.roles import read_mode, read_tool, split_words
from precompiles.short_format.shown_calls import show_calls
from precompiles.short_format.values import Obstacle
from precompiles.spec import BRANCH_PARAMETERS, MAX_THOUGHT_CHARACTERS
from precompiles.stated_values import to_json
from precompiles.step_answers import compose_answer
from precompiles.typed_texts import compose_typed_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from precompiles.abi import IterationRequest, ToolUse
    from precompiles.address_handles import AddressBook
    from precompiles.language_model import Generation
    from precompiles.react import HistoryStep
    from precompiles.short_format.binding import PlannedCall
    from precompiles.short_format.judge import OrderJudge
    from precompiles.short_format.plan import PlannedOrder
    from precompiles.short_format.roles import ToolParameter
    from precompiles.short_format.values import Value
    from precompiles.tool_metadata import Tool

ALL_DONE, FAILED, NOTHING = "All done.", "It failed.", "Nothing to do."
"""Thoughts that are no clause: all is done; a tool failed; the request has no order."""

DONE_ANSWER, FAILED_ANSWER, REFUSAL = "Done.", "Failed.", "I can't do that."
"""The answers of the format; `ShortFormat.parse` composes the rest."""

MAX_SHOWN_TOOLS = MAX_OFFERED
"""Tools of an agent that a prompt describes in full."""

_ANSWER = "Final Answer: "
_ADDRESS_LIKE = re.compile(r"0[xX][0-9A-Za-z]*")
_CONTROLS = re.compile(rf"[{CONTROL_CLASS}]+")


class ShortFormat:
    """The short format of one step: the grammar, and the parsing of a text."""

    def __init__(
        self,
        request: IterationRequest,
        steps: Sequence[HistoryStep],
        tools: Sequence[Tool],
        book: AddressBook,
        *,
        judge: OrderJudge | None = None,
    ) -> None:
        """Keep the input of the step's plan.

        Input:  the call, the history, the tools (at least one), the handles of the addresses, and
            the judge of orders, if any.
        """
        self._judge = judge
        self._request = request
        self._steps = tuple(steps)
        self._tools = tuple(tools)
        self._book = book
        self._results = [book.intern(step.observation) for step in self._steps]

    # -- gas -- #

    @property
    def characters(self) -> int:
        """Characters of the request and of the results that are read."""
        results = sum(min(len(result), MAX_RESULT_CHARACTERS) for result in self._results)
        return min(len(self._request.prompt), MAX_REQUEST_CHARACTERS) + results

    @cached_property
    def branches(self) -> int:
        """Number of pairs of an order and a tool.

        As many again for each `BRANCH_TOKENS` of the order, and for each `BRANCH_PARAMETERS`.
        """
        sizes = sum(1 + tool.leaf_count // BRANCH_PARAMETERS for tool in self._tools)
        return self._planner.order_size * sizes

    # -- the plan -- #

    @cached_property
    def _base_prompt(self) -> str:
        return self._book.intern_base_prompt(self._request.base_prompt)

    @cached_property
    def _native(self) -> str:
        return read_native(self._base_prompt)

    @cached_property
    def _planner(self) -> Planner:
        native = self._native
        roles = [
            read_tool(index, tool, self._book, native) for index, tool in enumerate(self._tools)
        ]
        handles = [handle for handle, _ in self._book.handles]
        known = KnownWords(handles, roles, native, find_prose(self._base_prompt, handles))
        question = self._book.intern(self._request.prompt)[: MAX_REQUEST_CHARACTERS + 1]
        return Planner(question, roles, known, self._find_targets())

    def _find_targets(self) -> frozenset[str]:
        """Return the handles of the contracts that the tools call."""
        handles = {address.lower(): handle for handle, address in self._book.handles}
        targets = (f"0x{target.hex()}" for tool in self._tools for target in read_mode(tool)[2])
        return frozenset(handles[target] for target in targets if target in handles)

    @cached_property
    def _plan(self) -> tuple[Step | NoPlan | Done, tuple[PlannedOrder, ...]]:
        """The next step by the rules alone, and the orders of the request."""
        is_judged = self._judge is not None
        found = self._planner.find_next(self._results, self._matches, is_lenient=is_judged)
        return found, self._planner.plan

    @cached_property
    def _judged(self) -> JudgedRequest:
        """The request as the judge reads it: all of its orders, at each step."""
        found, orders = self._plan
        if self._judge is None or isinstance(found, NoPlan):
            return JudgedRequest()
        is_only = len(orders) == 1
        judged = [self._read_order(order, self._judge, is_only=is_only) for order in orders]
        acting = [
            order
            for order, one in zip(orders, judged, strict=True)
            if any(way.acts for way in one.ways)
        ]
        return JudgedRequest(tuple(judged), self._read_around(acting, self._judge))

    def _read_around(self, acting: Sequence[PlannedOrder], judge: OrderJudge) -> tuple[str, ...]:
        """Return the request as one text, or as many sentences around each order as can be read.

        None if nothing is changed, or there are no words but the orders'.
        """
        if not acting or not judge.reads_requests or not self._planner.has_other_words:
            return ()
        whole = _hide(self._planner.scan.text)
        if judge.can_read(whole):
            return (whole,)
        shown = [
            _hide(self._planner.show_around(order, lambda text: judge.can_read(_hide(text))))
            for order in acting
        ]
        return tuple(dict.fromkeys(filter(None, shown)))

    def _read_order(self, order: PlannedOrder, judge: OrderJudge, *, is_only: bool) -> JudgedOrder:
        """Return an order as the judge reads it: not at all where it has nothing to decide."""
        tools = self._planner.tools
        acts = [any(not tools[c.tool].is_read for c in one.calls) for one in order.fillings]
        is_gated = not order.is_sure or (judge.gates_all and any(acts))
        if not is_gated and len(order.fillings) == 1:
            return JudgedOrder("", (Way((), acts[0]),), order.is_sure, is_gated)
        texts = [self._planner.scan.text] if is_only else []
        sentences = map(shorten_quotations, [*texts, order.clause])
        sentence = next(filter(judge.can_read, sentences), "")
        ways = []
        for filling, is_act in zip(order.fillings, acts, strict=True):
            calls = self._show(filling.calls)
            ways.append(Way(calls, is_act, bool(sentence) and judge.can_read(sentence, *calls)))
        return JudgedOrder(sentence, tuple(ways), order.is_sure, is_gated)

    def _show(self, calls: Sequence[PlannedCall]) -> tuple[str, ...]:
        """Return the calls of a way as the judge reads them."""
        return show_calls(calls, self._tools, self._planner.tools, self._book, self._native)

    @cached_property
    def judged_tokens(self) -> int:
        """Number of tokens that the judge reads."""
        return 0 if self._judge is None else self._judge.count_tokens(self._judged)

    @cached_property
    def _next(self) -> Step | NoPlan | Done:
        """The next step as judged. What it scores is charged before (`judged_tokens`)."""
        found, orders = self._plan
        if self._judge is None or isinstance(found, NoPlan):
            return found
        admitted = self._judge.find_admitted(self._judged)
        for order, judged, ways in zip(orders, self._judged.orders, admitted, strict=True):
            if not ways:
                return NoPlan(Obstacle("unsure"), order.clause)
            meant = {order.fillings[way].calls for way in ways}
            if len(meant) > 1 and any(judged.ways[way].acts for way in ways):
                # Which of them is meant? A model accepts almost any.
                return NoPlan(Obstacle("ambiguous"), order.clause)
        if isinstance(found, Done):
            return found
        fillings = orders[found.place].fillings
        ways = admitted[found.place]
        calls = tuple(dict.fromkeys(fillings[way].calls[found.index] for way in ways))
        return replace(found, calls=calls, is_sure=len(calls) == 1 and calls[0].is_known)

    def _matches(self, call: PlannedCall, index: int) -> bool:
        """Return whether a step of the history is a call."""
        lines = intern_reasoning(self._steps[index].reasoning, self._book, self._tools).split("\n")
        tool = self._tools[call.tool]
        if lines[1] != f"Action: {tool.name}":
            return False
        try:
            arguments = json.loads(lines[2].removeprefix("Action Input: "))
        except (ValueError, RecursionError):
            return False
        return isinstance(arguments, dict) and self._admits(call, arguments)

    def _admits(self, call: PlannedCall, arguments: Mapping[str, object]) -> bool:
        """Return whether arguments, as decoded from JSON, are those of a call."""
        parameters = self._planner.tools[call.tool].parameters
        return list(arguments) == [parameter.name for parameter in parameters] and all(
            _admits_values(parameter, values, argument)
            for parameter, values, argument in zip(
                parameters, call.values, arguments.values(), strict=True
            )
        )

    @cached_property
    def _sentence(self) -> str:
        """The refusal sentence that answers the request, or an empty text.

        The sentence names a function whose words are those of an order, in sequence: `rescue the
        stuck tokens` means `rescueTokens`. Empty if the order also names a tool this way.
        """
        refused = [
            (one, split_words(read_refused(one))) for one in find_sentences(self._base_prompt)
        ]
        tools = [split_words(tool.name) for tool in self._tools]
        scan = self._planner.scan
        orders = [scan.show(order.first, order.end) for order in self._planner.orders]
        for text in orders or [scan.text]:
            words = split_words(text)
            found = [one for one, name in refused if _has_phrase(words, name)]
            if found and not any(_has_phrase(words, name) for name in tools):
                return found[0]
        return ""

    # -- what is decided -- #

    @cached_property
    def decided(self) -> str:
        """The text of a step that is decided without a model; else empty."""
        if self._has_failed:
            return f" {FAILED}\n{_ANSWER}{FAILED_ANSWER}"
        if isinstance(self._next, Done):
            return f" {ALL_DONE}\n{_ANSWER}{DONE_ANSWER}"
        if isinstance(self._next, NoPlan):
            return f" {self._clause}\n{_ANSWER}{REFUSAL}"
        if self._next.is_sure:
            return f" {self._clause}\nAction: {self._render(self._next.calls[0])}"
        return ""

    @property
    def _has_failed(self) -> bool:
        """Whether the last tool reported a failure."""
        return bool(self._steps) and not is_done(self._steps[-1].observation)

    @cached_property
    def _clause(self) -> str:
        """The order of the step as a thought: on one line, without `0x`, quotations hidden."""
        if isinstance(self._next, Done):
            return ALL_DONE
        text = hide_quotations(self._next.clause)
        text = _CONTROLS.sub(" ", _ADDRESS_LIKE.sub("\u2026", text)).strip()
        if len(text) > MAX_THOUGHT_CHARACTERS:
            text = text[: MAX_THOUGHT_CHARACTERS - 1].rpartition(" ")[0] + "\u2026"
        return text or NOTHING

    # -- what the model chooses -- #

    @property
    def shown_tools(self) -> Sequence[Tool]:
        """The tools that the prompt describes: of many, those that the step may use."""
        if len(self._tools) <= MAX_SHOWN_TOOLS or not isinstance(self._next, Step):
            return self._tools[:MAX_SHOWN_TOOLS]
        return [self._tools[index] for index in sorted({call.tool for call in self._next.calls})]

    @property
    def scoring(self) -> Scoring:
        """The scoring of a generation."""
        return Scoring.AFTER_THOUGHT

    @property
    def thought(self) -> str:
        """The thought, of which the model has no choice."""
        return self._clause

    @cached_property
    def grammar(self) -> str:
        """Lark text for llguidance, start rule `start`."""
        if self.decided:
            return f"start: {to_json(self.decided)}\n"
        assert not isinstance(self._next, Done | NoPlan)  # noqa: S101 - these are decided
        rules = _Rules()
        uses = " | ".join(self._build_call(call, rules) for call in self._next.calls)
        start = to_json(f" {self._clause}\n")
        refusals = " | ".join(to_json(_ANSWER + one) for one in self._refusals)
        return "\n".join([f'start: {start} ({refusals} | "Action: " ({uses}))', *rules.lines, ""])

    @property
    def _refusals(self) -> tuple[str, ...]:
        return (REFUSAL, *find_sentences(self._base_prompt))

    def _render(self, call: PlannedCall) -> str:
        """Return the name and the input of a call that is known."""
        parts = [
            f"{to_json(parameter.name)}: {_render_values(parameter, values)}"
            for parameter, values in zip(
                self._planner.tools[call.tool].parameters, call.values, strict=True
            )
        ]
        return f"{self._tools[call.tool].name}\nAction Input: {{{', '.join(parts)}}}"

    def _build_call(self, call: PlannedCall, rules: _Rules) -> str:
        """Return the expression of a call, whose choices become terminals."""
        parts: list[str] = []
        literal = f"{self._tools[call.tool].name}\nAction Input: {{"
        for index, (parameter, values) in enumerate(
            zip(self._planner.tools[call.tool].parameters, call.values, strict=True)
        ):
            literal += ", " * (index > 0) + to_json(parameter.name) + ": "
            if all(value.is_known for value in values):
                literal += _render_values(parameter, values)
                continue
            parts += [to_json(literal), rules.add(values[0])]
            literal = ""
        return " ".join([*parts, to_json(literal + "}")])

    # -- parsing -- #

    def read(self, generation: Generation) -> ToolUse | FinalAnswer:
        """Parse a generation; that of a fake is in the free format.

        Raises: GrammarViolationError: the grammar does not admit the text.
        """
        if generation.is_free:
            return parse(generation.text, self._tools, self._book)
        return self.parse(generation.text)

    def parse(self, text: str) -> ToolUse | FinalAnswer:
        """Parse a text of the format into a tool use or an answer.

        Raises: GrammarViolationError: the grammar does not admit the text.
        """
        if self.decided and text != self.decided:
            raise GrammarViolationError(f"not what the rules decide: {text[:200]!r}")
        thought, _, rest = text.removeprefix(" ").partition("\n")
        answer = rest.removeprefix(_ANSWER) if rest.startswith(_ANSWER) else None
        if self.decided and answer is not None:
            return self._compose_decided(answer)
        if thought != self._clause or not text.startswith(" "):
            raise GrammarViolationError(f"not the order of this step: {text[:200]!r}")
        if answer is not None:
            return self._compose_refusal(answer, text)
        use = parse(text, self._tools, self._book, self._get_expansion(rest))
        if isinstance(use, FinalAnswer) or not self._is_admitted(rest):
            raise GrammarViolationError(f"not a call that the order asks for: {text[:200]!r}")
        return use

    def _get_expansion(self, rest: str) -> Callable[[str], str]:
        """Return the expansion of texts: a prompt has addresses, a text stays as given."""
        name = rest.removeprefix("Action: ").partition("\n")[0]
        is_agent = any(tool.is_agent and tool.name == name for tool in self._planner.tools)
        return self._book.expand if is_agent else self._book.expand_unnamed

    def _is_admitted(self, rest: str) -> bool:
        assert not isinstance(self._next, Done | NoPlan)  # noqa: S101 - these are decided
        name, _, arguments = rest.removeprefix("Action: ").partition("\nAction Input: ")
        given = json.loads(arguments)
        return any(
            self._tools[call.tool].name == name and self._admits(call, given)
            for call in self._next.calls
        )

    def _compose_decided(self, answer: str) -> FinalAnswer:
        if isinstance(self._next, NoPlan) and not self._has_failed:
            if self._sentence:
                return self._compose(self._book.expand_unnamed(self._sentence))
            agents = [tool.name for tool in self._planner.tools if tool.is_agent]
            reason = explain(self._next.failure, self._next.clause, agents)
            return self._compose(self._book.expand_unnamed(reason))
        return self._compose(answer)

    def _compose_refusal(self, answer: str, text: str) -> FinalAnswer:
        if answer not in self._refusals:
            raise GrammarViolationError(f"not an answer of the short format: {text[:200]!r}")
        if answer == REFUSAL:
            return self._compose(f"{REFUSAL[:-1]}: {self._book.expand_unnamed(self._clause)}")
        return self._compose(self._book.expand_unnamed(answer))

    def _compose(self, start: str) -> FinalAnswer:
        """Compose an answer: the start, and each tool that ran with the result."""
        is_end = start in {DONE_ANSWER, FAILED_ANSWER}
        if not is_end and self._steps:
            start = start.removesuffix(".")
        return compose_answer(start, self._steps, " " if is_end else DONE_BEFORE)


def _hide(request: str) -> str:
    return hide_quotations(shorten_quotations(request))


# -- values -- #


def _render_values(parameter: ToolParameter, values: Sequence[Value]) -> str:
    """Return the JSON of a parameter's values, each of which is known."""
    texts = [value.texts[0] for value in values]
    if parameter.text_type is not None:
        return to_json(compose_typed_text(parameter.text_type, texts))
    return f"[{', '.join(texts)}]" if parameter.is_list else texts[0]


def _admits_values(parameter: ToolParameter, values: Sequence[Value], argument: object) -> bool:
    if all(value.is_known for value in values):
        return to_json(argument) == _render_values(parameter, values)
    (value,) = values
    is_number = isinstance(argument, int) and not isinstance(argument, bool)
    if value.numbers is not None:
        return is_number and argument in value.numbers
    return to_json(argument) in value.texts


@dataclass
class _Rules:
    """The terminals of a grammar, each once."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}

    def add(self, value: Value) -> str:
        """Return the name of the terminal of a choice."""
        return self._names.setdefault(value, f"VALUE{len(self._names)}")

    @property
    def lines(self) -> Iterator[str]:
        """The terminals."""
        for value, name in self._names.items():
            patterns = [build_range_pattern(value.numbers)] if value.numbers is not None else []
            body = f"/{patterns[0]}/" if patterns else " | ".join(map(to_json, value.texts))
            yield f"{name}: {body}"


def _has_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Return whether a text has all words of a name, in sequence; false without words."""
    rest = iter(map(stem, words))
    return bool(phrase) and all(stem(word) in rest for word in phrase)

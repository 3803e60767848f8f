"""The plan of a request: which tool each order fills, in the order of the text.

Before the first act the whole request has a plan, or nothing happens. A step does the next order
only. Hence nothing is skipped, repeated, reordered or done by half. `All done` is admitted when
nothing is left, and not before.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from precompiles.address_handles import ACCOUNT_HANDLE
from precompiles.short_format.binding import (
    Filling,
    PlannedCall,
    fill_search,
    find_fillings,
    list_items,
)
from precompiles.short_format.english import (
    ACTIONS,
    ALL_WORDS,
    CHANGED,
    CHANGES,
    DETERMINERS,
    GREETINGS,
    LIGHT_VERBS,
    PERFORM,
    POSSESSIVES,
    PREPOSITIONS,
)
from precompiles.short_format.mentions import (
    BLOCKS,
    UNKNOWN,
    VALUES,
    Mention,
    MentionKind,
    UnitKind,
    scan,
)
from precompiles.short_format.orders import (
    MAX_PARTS,
    Mood,
    Order,
    drop_light_verb,
    gather_orders,
    is_any_verb,
    list_mentions,
    merge_orders,
    read_parts,
)
from precompiles.short_format.phrases import stem
from precompiles.short_format.quoting import NEXT, quote_first, quote_labelled, quote_tails
from precompiles.short_format.remarks import Remarks
from precompiles.short_format.roles import ValueRole
from precompiles.short_format.searching import find_search, is_searched
from precompiles.short_format.tokens import TokenShape
from precompiles.short_format.told import REFERENCES, find_told, read_told
from precompiles.short_format.values import SUMS, Context, Item, Obstacle, Value
from precompiles.short_format.wording import (
    Strength,
    count_evidence,
    explains,
    find_agent,
    find_block,
    has_verb,
    measure_strength,
)
from precompiles.spec import BRANCH_TOKENS
from precompiles.stated_values import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from precompiles.short_format.mentions import KnownWords, Scan
    from precompiles.short_format.orders import Part
    from precompiles.short_format.remarks import Remark
    from precompiles.short_format.roles import ToolRoles

MAX_ORDERS = 16
MAX_CUTS = 16
"""Upper bound of the last parts of an order that are tried as orders of their own."""

MAX_OFFERED = 8
"""Upper bound of the calls among which a model chooses."""

MAX_REQUEST_CHARACTERS = 2_048
MAX_RESULT_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Step:
    """The calls that the next step may make."""

    clause: str
    """The text of the order."""

    calls: tuple[PlannedCall, ...]
    """Each call that is admitted, the surest first."""

    is_sure: bool
    """Whether there is one call, nothing of it is left to choose, and the words speak for it."""

    place: int = 0
    """The order's place in `Planner.plan`."""

    index: int = 0
    """The place of the calls in the order's fillings."""


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """An order of a request, and the ways to carry it out."""

    clause: str
    """The text of the order."""

    fillings: tuple[Filling, ...]
    """The calls of each way."""

    is_sure: bool
    """Whether its words decide the calls without a model: a list has the verb."""

    first: int = 0
    end: int = 0
    """Its tokens."""


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Why nothing may be done."""

    failure: Obstacle
    clause: str


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing is left."""


class Planner:
    """Plans one request of an agent."""

    def __init__(
        self, question: str, tools: Sequence[ToolRoles], known: KnownWords, targets: frozenset[str]
    ) -> None:
        """Read a request.

        Input:  the request, with handles; the tools; the words and names; handles of contracts that
                the tools call.
        """
        self._tools = tuple(tools)
        self._search = find_search(self._tools)
        self._known = known
        quoted = _QUOTED_QUESTION.match(question)
        self._is_quoted = quoted is not None
        asked = question if quoted is None else quoted["text"]
        self._question = _OPTIONS.sub("", asked)
        self._read(self._question)
        own = frozenset(handle for tool in tools if not tool.is_read for handle in tool.handles)
        self._forbidden = targets | known.tokens | (own & known.tokens)
        self._units = frozenset(
            slot.unit.name
            for tool in tools
            if not tool.is_read
            for slot in tool.slots
            if slot.role is ValueRole.AMOUNT
        )

        self._siblings = {
            tool.index: frozenset(
                word for other in tools if other.handles & tool.handles for word in other.name_words
            )
            for tool in tools
        }
        self._acts = frozenset(
            word for tool in tools if not tool.is_read for word in tool.name_words
        )
        self._has_bare_amount = any(
            slot.role is ValueRole.COUNT and not slot.labels.isdisjoint(_AMOUNT_NAMES)
            for tool in tools
            if not tool.is_read
            for slot in tool.slots
        )
        self._is_after_read = False
        self._prior: tuple[tuple[tuple[str, str], ...], ...] = ()
        self._prior_tokens: tuple[str, ...] = ()
        self._cut: dict[int, NoPlan] = {}
        self._last_end, self._is_converted, self._had_several = 0, False, False
        self._group = 0
        self._calls: tuple[PlannedCall, ...] = ()
        self._planned: list[PlannedOrder] = []
        self.order_size = sum(1 + (one.end - one.first) // BRANCH_TOKENS for one in self.orders)
        """The orders as they are read at first, which are paid for: each counts once, and as many
        times again as it has `BRANCH_TOKENS`."""
        self._is_quoted_text = False

    @property
    def tools(self) -> tuple[ToolRoles, ...]:
        """The roles that the tools state."""
        return self._tools

    @property
    def plan(self) -> tuple[PlannedOrder, ...]:
        """The orders of the plan that was found last, in the order of the text."""
        return tuple(self._planned)

    @property
    def has_other_words(self) -> bool:
        """Whether there are words beside the orders, other than greetings and courtesies."""
        own = {part.first for order in self.orders for part in order.parts}
        owners, mentions = self.scan.owners, self.scan.mentions
        others = [
            place
            for part in self._parts
            if part.first not in own
            for place in range(part.first, part.end)
            if self.scan.tokens[place].word not in GREETINGS
        ]
        return any(
            owners[place] < 0 or mentions[owners[place]].kind not in _IDLE for place in others
        )

    def show_around(self, order: PlannedOrder, fits: Callable[[str], bool]) -> str:
        """Return the sentences of an order, with as many of those beside it as fit.

        Empty if its own do not fit.
        """
        size = len(self.scan.tokens)
        starts = sorted({0, *(part.first for part in self._parts if part.is_start)})
        first = max(start for start in starts if start <= order.first)
        end = min((start for start in starts if start >= order.end), default=size)
        if not fits(self.scan.show(first, end)):
            return ""
        while True:
            after = min((start for start in starts if start > end), default=size)
            before = max((start for start in starts if start < first), default=first)
            wider = [one for one in ((first, after), (before, end)) if one != (first, end)]
            found = next((one for one in wider if fits(self.scan.show(*one))), None)
            if found is None:
                return self.scan.show(first, end)
            first, end = found

    def _read(self, question: str) -> None:
        self.scan: Scan = scan(question, self._known)
        self._parts = read_parts(self.scan, self._known)
        orders, self.statements, self.conditions = gather_orders(self.scan, self._parts)
        self.orders = tuple(self._join_prompts(orders))

    def _join_prompts(self, orders: Sequence[Order]) -> list[Order]:
        """Return orders; one that names an agent has the rest of the sentence that is for it.

        After a colon all of it, else up to `then`, another agent, or the verb of another tool.
        """
        found: list[Order] = []
        for order in orders:
            before = found[-1] if found else None
            names = before is not None and self._names_agent(before.first, before.parts[0].end)
            if before is None or not names or order.parts[0].is_start:
                found.append(order)
                continue
            is_told = self.scan.tokens[before.parts[0].end].text == ":"
            if is_told or not self._is_apart(order):
                found[-1] = merge_orders((before, order))
            else:
                found.append(order)
        return found

    def _names_agent(self, first: int, end: int) -> bool:
        return any(find_agent(self.scan, first, end, tool) for tool in self._tools)

    def _is_apart(self, order: Order) -> bool:
        """Return whether an order behind one that names an agent is not that agent's."""
        head = self.scan.tokens[order.head].word if order.head >= 0 else ""
        return (
            order.parts[0].before == "then"
            or self._names_agent(order.first, order.end)
            or any(not tool.is_agent and has_verb(tool, head) for tool in self._tools if head)
        )

    def _quote_text(self) -> None:
        """Read the text after a colon as a quotation, if the request has a plan only then."""
        if self._is_quoted_text:
            return
        self._is_quoted_text = True
        if not any(slot.role is ValueRole.TEXT for tool in self._tools for slot in tool.slots):
            return
        if not isinstance(self.find_next((), _matches_none), NoPlan):
            return
        labels = frozenset(
            word
            for tool in self._tools
            for slot in tool.slots
            if slot.role is ValueRole.TEXT and not slot.options
            for word in slot.names
        )
        labelled = quote_labelled(self._question, labels)
        firsts = quote_first(self._question)
        tails = tuple(
            one
            for one in quote_tails(self._question)
            if not self._begins_order(one) and not self._has_order(one)
        )
        for quoted in (*labelled, *tails, *firsts):
            self._read(quoted)
            step = self.find_next((), _matches_none)
            is_text = (
                isinstance(step, Step)
                and (step.is_sure or len(step.calls) == 1)
                and not any(
                    self._tools[call.tool].moves or self._tools[call.tool].is_read
                    for call in step.calls
                )
            )
            last = self.orders[-1].list_mentions(self.scan) if self.orders else []
            has_next = NEXT.search(self._question) is not None
            is_last = has_next or any(one.kind is MentionKind.QUOTATION for one in last)
            is_one = quoted not in firsts or len(self._calls) == 1
            # `tags: harbour, fog` is a list, and no text.
            is_one = is_one and not self._joins_list()
            is_one = is_one and not (has_next and self._has_lost(quoted))
            if is_text and is_one and (is_last or quoted in labelled):
                return
        self._read(self._question)

    def _joins_list(self) -> bool:
        """Return whether a quoted tail is one text of a list, and has commas."""
        has_commas = any(
            one.kind is MentionKind.QUOTATION and "," in one.text for one in self.scan.mentions
        )
        return has_commas and any(
            slot.is_list and slot.role is ValueRole.TEXT
            for call in self._calls
            for slot in self._tools[call.tool].slots
        )

    def _begins_order(self, quoted: str) -> bool:
        """Return whether a quoted tail begins with a tool's verb: `Guest list: add Ann`."""
        words = quoted.partition('"')[2].split()
        return bool(words) and stem(words[0].lower()) in self._known.verbs

    def _has_order(self, quoted: str) -> bool:
        """Return whether a quoted tail has an order: `note on 3: allergic, and cancel 4`."""
        words = quoted.partition('"')[2].lower().replace(",", " ,").split()
        return any(
            (word in {"and", "then"} or before == ",") and stem(after) in self._known.verbs
            for before, word, after in zip(words, words[1:], words[2:], strict=False)
        )

    def _has_lost(self, quoted: str) -> bool:
        """Return whether words after a quoted text are no order, maybe part of the text.

        An order with a pronoun, `Dentist: the 14th, 9 am. Enter it`, takes the values of the text.
        """
        ends = [one.end for one in self.scan.mentions if one.kind is MentionKind.QUOTATION]
        after = [
            part for part in self._parts if part.is_start and part.first >= max(ends, default=0)
        ]
        pronouns = [
            one
            for part in after
            for one in list_mentions(self.scan, part.first, part.end)
            if one.kind is MentionKind.IT
        ]
        is_told = any(part.mood not in {Mood.ORDER, Mood.NOMINAL} for part in after)
        return is_told or bool(pronouns) or ": " in quoted.rpartition('"')[2]

    def find_next(
        self,
        results: Sequence[str],
        matches: Callable[[PlannedCall, int], bool],
        *,
        is_lenient: bool = False,
    ) -> Step | NoPlan | Done:
        """Return the calls that the next step may make.

        Input:  the results of the steps so far; whether a call is that of a step, by its index;
                whether verbs that no list has are left to a judge.
        """
        if len(self._question) > MAX_REQUEST_CHARACTERS:
            return NoPlan(Obstacle("long"), "")
        self._quote_text()
        if len(self._parts) > MAX_PARTS:
            return NoPlan(Obstacle("many"), "")
        if self.conditions:
            part = self.conditions[0]
            text = self.scan.show(part.first, part.end)
            return NoPlan(Obstacle("condition", text), text)
        if not self.orders:
            return NoPlan(self._explain_empty(), self._question)
        if len(self.orders) > MAX_ORDERS:
            return NoPlan(Obstacle("many"), self._question)
        self._prior, self._prior_tokens, self._cut = (), (), {}
        self._is_after_read, self._calls = False, ()
        self._last_end, self._is_converted, self._had_several = 0, False, False
        self._group = 0
        self._planned = []
        remark = self._find_remark()
        if remark is not None:
            return NoPlan(remark.failure, remark.clause)
        done = 0
        step: Step | None = None
        seen: list[Mention] = []
        has_result, last_write = False, 0
        waiting = list(reversed(self.orders))
        while waiting:
            order = waiting.pop()
            if self._is_meant_again(order):
                continue
            context = self._make_context(
                order, results, done, last_write, has_result=has_result, is_open=step is not None
            )
            found = self._find_same_of_several(order) or self._fill(order, waiting, context)
            if isinstance(found, NoPlan):
                found = (
                    self._fill_with_balance(order, waiting, context, results, done, matches)
                    or found
                )
            if isinstance(found, NoPlan) and self._is_aside(order):
                continue
            is_new = isinstance(found, NoPlan) and found.failure.reason == "verb"
            if is_new and is_lenient:
                found = self._overrule(order, waiting, context) or found
            if isinstance(found, NoPlan):
                return self._cut.get(order.first, found)
            order, fillings = found
            clause = self.scan.show(order.first, order.end)
            if self._find_definition(order) is not None:
                # `Send 5 USDC to Bob. The amount is 6 USDC.`
                return NoPlan(Obstacle("statement"), clause)
            if self._is_quoted and not all(
                self._tools[call.tool].is_read for one in fillings for call in one.calls
            ):
                return NoPlan(Obstacle("quoted"), clause)
            if _is_ambiguous(fillings):
                return NoPlan(Obstacle("ambiguous"), clause)
            index = 0
            if self._is_restated(order, fillings):
                continue
            if self._repeats(order, fillings):
                # `List cat 5 for 12 USDC, then the same for Heidi`
                return NoPlan(Obstacle("reference", clause), clause)
            if self._drops_person(order, fillings, context):
                # `Glassworks wants to be paid: 0.75 ETH, please pay that` contributes nothing.
                return NoPlan(Obstacle("reference", clause), clause)
            if self._sets_again(order, fillings):
                # `Delegate to Ann and Ben`
                return NoPlan(Obstacle("lengths"), clause)
            if self._describes(order, fillings):
                # `Settle invoice 7. 15 USDC to Nora.`
                return NoPlan(Obstacle("several amounts"), clause)
            self._had_several = self._last_end > 0 and not order.parts[0].is_start
            self._group = 1 if order.parts[0].is_start else self._group + 1
            self._last_end = order.end
            self._is_after_read = all(self._tools[one.calls[-1].tool].is_read for one in fillings)
            self._is_converted = any(
                not self._tools[call.tool].verbs.isdisjoint(_CONVERSIONS)
                for one in fillings
                for call in one.calls
            )
            self._calls = fillings[0].calls if len(fillings) == 1 else ()
            self._prior_tokens = self._list_tokens(self._calls)
            if not self._is_after_read or fillings[0].calls:
                is_more = order.is_nominal and order.verb is not None
                before = self._prior if is_more else ()
                self._prior = (*before, *(self._list_plain(call) for call in fillings[0].calls))
            if step is None:
                while done < len(results) and any(index < len(one.calls) for one in fillings):
                    kept = [
                        one
                        for one in fillings
                        if index < len(one.calls) and matches(one.calls[index], done)
                    ]
                    if not kept:
                        break
                    fillings = kept
                    index += 1
                    done += 1
                    if not self._tools[kept[0].calls[index - 1].tool].is_read:
                        last_write = done - 1
                unfinished = [one for one in fillings if len(one.calls) > index]
                if unfinished:
                    if done < len(results):
                        return NoPlan(Obstacle("history"), clause)
                    calls = tuple(dict.fromkeys(one.calls[index] for one in unfinished))
                    is_meant = index > 0 or all(self._is_meant(one) for one in unfinished)
                    is_sure = len(calls) == 1 and calls[0].is_known and is_meant
                    place = len(self._planned)
                    step = Step(clause, calls, is_sure, place, index)
                    fillings = unfinished
            is_sure = not is_new and all(self._is_meant(one) for one in fillings)
            self._planned.append(
                PlannedOrder(clause, tuple(fillings), is_sure, order.first, order.end)
            )
            has_result = True
            seen += order.list_mentions(self.scan)
        if step is not None:
            return step
        if done < len(results):
            return NoPlan(Obstacle("history"), "")
        return Done()

    def _overrule(
        self, order: Order, waiting: list[Order], context: Context
    ) -> tuple[Order, list[Filling]] | None:
        """Return how tools that move nothing fill an order whose verb no list has.

        They take a value of the order: `Pause the club` leaves it by no tool without parameters. It
        follows the verb: `4: money now` has none.
        """
        values = [one for one in order.list_mentions(self.scan) if one.kind in VALUES]
        if order.head < 0 or all(one.first < order.head for one in values):
            return None
        found = self._fill(order, waiting, replace(context, is_lenient=True))
        if isinstance(found, NoPlan):
            return None
        order, fillings = found
        kept = [
            one
            for one in fillings
            if all(call.values and not self._tools[call.tool].moves for call in one.calls)
        ]
        return (order, kept) if kept else None

    def _find_remark(self) -> Remark | None:
        """Return the remark around the orders that stops the plan, or None."""
        return Remarks(
            question=self._question,
            scan=self.scan,
            parts=self._parts,
            orders=self.orders,
            statements=self.statements,
            tools=self._tools,
            known=self._known,
            forbidden=self._forbidden,
        ).find_obstacle()

    def _is_meant(self, filling: Filling) -> bool:
        """Return whether an order's words decide the calls without a model."""
        is_read = all(self._tools[call.tool].is_read for call in filling.calls)
        return (
            filling.strength >= (Strength.FAIR if is_read else Strength.STRONG) and filling.is_clear
        )

    def _find_antecedents(self, place: int) -> tuple[tuple[Item, ...], ...]:
        """Return the values of the parts before a token, the nearest first."""
        sentences: list[list[Part]] = []
        for part in self._parts:
            if part.end > place:
                break
            if part.is_start or not sentences:
                sentences.append([])
            sentences[-1].append(part)
        return tuple(
            list_items(self.scan, Order(tuple(of)), self._known) for of in reversed(sentences)
        )

    def _find_end(self, order: Order) -> int:
        """Return the end of an order's sentence, or the next order in that sentence."""
        following = [one.first for one in self.orders if one.first >= order.end]
        last = min(following, default=len(self.scan.tokens))
        signs = [
            place
            for place in range(order.end, last)
            if self.scan.tokens[place].text in {".", "!", "?", ";", "\n"}
        ]
        return min(signs, default=last)

    def _find_sentence(self, place: int) -> int:
        """Return the first token of the sentence before a token, or -1."""
        starts = [
            part.first
            for part in self._parts
            if part.is_start and part.mood is not Mood.EMPTY and part.end <= place
        ]
        return starts[-1] if starts else -1

    def _is_meant_again(self, order: Order) -> bool:
        """Return whether an order repeats the one before: `…, please pay that out`.

        The only values are pronouns, and the verb is that of the same tool.
        """
        kinds = {mention.kind for mention in order.list_mentions(self.scan)}
        tools = {call.tool for call in self._calls}
        if (
            len(tools) != 1
            or order.is_nominal
            or not (kinds & _PRONOUNS or self._names_act(order))
            or kinds & (VALUES | UNKNOWN | BLOCKS) - _PRONOUNS
        ):
            return False
        tool = self._tools[tools.pop()]
        if tool.is_read or measure_strength(self.scan, order, tool) is not Strength.STRONG:
            return False
        return not any(
            measure_strength(self.scan, order, other) is Strength.STRONG
            for other in self._tools
            if other is not tool and not other.is_read and not other.slots
        )

    def _drops_person(self, order: Order, fillings: Sequence[Filling], context: Context) -> bool:
        """Return whether `pay that` lacks the recipient of the sentence that has its value."""
        kinds = {one.kind for one in order.list_mentions(self.scan)} - {MentionKind.COURTESY}
        if kinds != {MentionKind.IT} or not context.people or self._calls:
            return False
        tools = [self._tools[call.tool] for one in fillings for call in one.calls]
        return any(
            any(slot.role is ValueRole.AMOUNT for slot in tool.slots)
            and not any(slot.role in {ValueRole.RECIPIENT, ValueRole.PARTY} for slot in tool.slots)
            for tool in tools
            if not tool.is_read
        )

    def _sets_again(self, order: Order, fillings: Sequence[Filling]) -> bool:
        """Return whether one order and the continuation set one thing to several values."""
        if order.verb is None or len(fillings) != 1 or not self._calls:
            return False
        for call in fillings[0].calls:
            tool = self._tools[call.tool]
            if not (tool.heads & _SINGLE_HEADS or "set" in tool.verbs):
                continue
            ids = [place for place, one in enumerate(tool.slots) if one.is_id]
            if not ids and len(tool.slots) > 1:
                continue
            for before in self._calls:
                is_same = before.tool == call.tool and len(tool.slots) == len(call.values)
                if is_same and all(before.values[at] == call.values[at] for at in ids):
                    return before.values != call.values
        return False

    def _describes(self, order: Order, fillings: Sequence[Filling]) -> bool:
        """Return whether an order without a verb may describe the one before.

        The order moves money in another way, and is joined by no `and`.
        """
        if not order.is_nominal or order.verb is None or not self._calls:
            return False
        if order.parts[0].before in _ADDING or self._is_next(order):
            return False
        before = self._tools[self._calls[-1].tool]
        return any(
            self._tools[call.tool].moves and not _is_alike(before, self._tools[call.tool])
            for one in fillings
            for call in one.calls
        )

    def _is_next(self, order: Order) -> bool:
        """Return whether an order begins with `then` or the like."""
        opening = self.scan.owners[order.first]
        return opening >= 0 and self.scan.mentions[opening].kind is MentionKind.SEQUENCE

    def _names_act(self, order: Order) -> bool:
        """Return whether an order's object is the previous act: `Kindly effect the payment`."""
        words = [token.word for token in self.scan.tokens[order.head : order.end]]
        is_done = words[0] in PERFORM and words[1:2] in (["the"], ["this"], ["that"])
        return is_done and words[2:3] != [] and words[2] in ACTIONS

    def _is_restated(self, order: Order, fillings: Sequence[Filling]) -> bool:
        """Return whether an order names no value, and has the calls of the order before."""
        own = {mention.kind for mention in order.list_mentions(self.scan)} & VALUES - {
            MentionKind.IT,
            MentionKind.HIM,
            MentionKind.PLACE,
        }
        is_same = bool(self._calls) and all(
            one.calls == self._calls and one.strength is Strength.STRONG for one in fillings
        )
        part = order.head_part
        is_told = part is not None and part.mood is Mood.RECEIVING and part.is_start
        return is_same and (not own or is_told)

    def _repeats(self, order: Order, fillings: Sequence[Filling]) -> bool:
        """Return whether `the same` makes the calls of the order before once more."""
        is_same = any(one.kind is MentionKind.SAME for one in order.list_mentions(self.scan))
        return is_same and bool(self._calls) and any(one.calls == self._calls for one in fillings)

    def _list_plain(self, call: PlannedCall) -> tuple[tuple[str, str], ...]:
        """Return the plain parameters of a call by name, with their values."""
        roles = {ValueRole.COUNT, ValueRole.TIME, ValueRole.TEXT, ValueRole.DATA}
        tool = self._tools[call.tool]
        return tuple(
            (parameter.name, values[0].texts[0])
            for parameter, values in zip(tool.parameters, call.values, strict=True)
            if len(values) == 1
            and values[0].is_known
            and parameter.slots[0].role in roles
            and not parameter.is_list
        )

    def _list_tokens(self, calls: Sequence[PlannedCall]) -> tuple[str, ...]:
        """Return the tokens that calls have as parameters, each once."""
        found = [
            values[0].texts[0]
            for call in calls
            for parameter, values in zip(
                self._tools[call.tool].parameters, call.values, strict=True
            )
            if len(values) == 1
            and values[0].is_known
            and parameter.slots[0].role is ValueRole.TOKEN
        ]
        return tuple(dict.fromkeys(found))

    def _make_context(  # noqa: PLR0913 - what a context is made of
        self,
        order: Order,
        results: Sequence[str],
        done: int,
        last_write: int,
        *,
        has_result: bool,
        is_open: bool,
    ) -> Context:
        before = [one for one in self.scan.mentions if one.first < order.first]
        people = [
            one.text
            for one in before
            if one.kind is MentionKind.NAME and one.text not in self._forbidden
        ]
        # `Ann's cheque came, so pay her`
        owners = [
            self._known.find_name(self.scan.tokens, one.first)
            for one in before
            if one.kind is MentionKind.STRANGER and "'s" in one.text
        ]
        people += [found[1] for found in owners if found and found[1] not in self._forbidden]
        quantities = [one for one in self.scan.mentions if one.kind is MentionKind.QUANTITY]
        told = [
            one
            for part in self.statements
            if self._last_end <= part.first < order.first
            for one in list_mentions(self.scan, part.first, part.end)
            if one.kind is MentionKind.QUANTITY
        ]
        found: tuple[Mention, ...] | None = None
        if not is_open:
            read: list[Mention] = []
            for result in reversed(results[last_write:done]):
                read += self._read_result(result)
            found = tuple(read)
            if done == 0:
                found = () if not has_result else None
        return Context(
            known=self._known,
            forbidden=self._forbidden,
            unit_names=self._units,
            siblings=self._siblings,
            acts=self._acts,
            has_bare_amount=self._has_bare_amount,
            first=order.first,
            is_after_read=self._is_after_read,
            is_changed=bool(self._list_told_words(order) & CHANGED) or self._is_told_vaguely(order),
            is_converted=self._is_converted,
            # What is told since the last order is nearer than what it had.
            prior=() if told else self._prior,
            prior_tokens=self._prior_tokens,
            antecedents=self._find_antecedents(order.first),
            before=self._find_sentence(order.first),
            until=self._find_end(order),
            people=tuple(dict.fromkeys(people)),
            stranger=self._find_stranger(order),
            quantities=tuple(quantities),
            results=found if has_result else (),
            has_result=has_result,
        )

    def _find_stranger(self, order: Order) -> str:
        """Return the unknown person that is named before an order: `Emeka is here, sign him up`."""
        kinds = {MentionKind.STRANGER, MentionKind.SOMEBODY}
        named = [
            one.text for one in self.scan.mentions if one.kind in kinds and one.first < order.first
        ]
        subjects = [
            self.scan.tokens[part.opener_end].text
            for part in self.statements
            if part.end <= order.first and part.is_start
        ]
        unknown = [one for one in subjects if one[:1].isupper() and one.lower() not in ALL_WORDS]
        return (named or unknown or [""])[-1]

    def _read_result(self, result: str) -> list[Mention]:
        # A passage's label is its tool's: `[a] "Invoice of the plumber: 900 wei."`, `[4] "…"`
        read = _PASSAGE.sub("", result[:MAX_RESULT_CHARACTERS])
        is_cut = len(result) > MAX_RESULT_CHARACTERS
        if is_cut:
            read = read.rpartition(" ")[0]
        found = scan(read, self._known, is_result=True)
        mentions: list[Mention] = []
        for mention in found.mentions:
            if is_cut and mention.end == len(found.tokens):
                # Its end, such as its unit, may be cut off.
                continue
            if mention.kind is MentionKind.QUOTATION:
                # A text's number counts for what the text says that it counts, or for nothing.
                mentions += [
                    one
                    for one in scan(mention.text, self._known, is_result=True).mentions
                    if one.unit is not UnitKind.NONE or one.labels
                ]
            else:
                mentions.append(mention)
        return mentions

    def _fill(
        self, order: Order, waiting: list[Order], context: Context
    ) -> tuple[Order, list[Filling]] | NoPlan:
        """Return an order and the filling: with the order after, or without the last lines.

        Input:  the orders after, the next one last; changed where orders are put together or cut.
        """
        if waiting and self._is_taken(order, waiting[-1]) and not self._acts_itself(order):
            merged = merge_orders((drop_light_verb(self.scan, order), waiting[-1]))
            both = self._fill_order(merged, context)
            if not isinstance(both, Obstacle):
                waiting.pop()
                return merged, both
        found = self._fill_order(order, context)
        if not isinstance(found, Obstacle):
            return self._part_readings(order, found, waiting, context) or (order, found)
        if found.reason == "many":
            return NoPlan(found, self.scan.show(order.first, order.end))
        if waiting and self._can_merge(order, waiting[-1]):
            first = order if waiting[-1].is_nominal else drop_light_verb(self.scan, order)
            merged = merge_orders((first, waiting[-1]))
            both = self._fill_order(merged, context)
            if not isinstance(both, Obstacle):
                waiting.pop()
                return merged, both
        last = len(order.parts) - 1
        for place in range(last, max(0, last - MAX_CUTS), -1):
            part = order.parts[place]
            if part.mood is not Mood.NOMINAL or self._explains(part):
                continue
            first = replace(order, parts=order.parts[:place])
            start = self._fill_order(first, context)
            if not isinstance(start, Obstacle):
                rest = replace(order, parts=order.parts[place:], verb=order.head_part)
                waiting.append(rest)
                if found.reason in _SHARED:
                    # `30 PAW for Ann and Ben`: what is left of it says less.
                    clause = self.scan.show(order.first, order.end)
                    self._cut[rest.first] = NoPlan(found, clause)
                return first, start
        if order.verb is not None and order.is_nominal and self._is_next(order):
            # `Harvest the rewards, then 2 wNEAR for Ann`
            bare = replace(order, verb=None)
            alone = self._fill_order(bare, context)
            if not isinstance(alone, Obstacle):
                return bare, alone
        defined = self._find_definition(order) if found.reason in {"missing", "lengths"} else None
        if defined is not None:
            whole = replace(order, parts=(*order.parts, defined))
            both = self._fill_order(whole, context)
            if not isinstance(both, Obstacle):
                return whole, both
        if waiting and self._only_tells(order) and not self._names_act_of(order):
            told = self._list_told(waiting[-1], context)
            if told:
                return waiting.pop(), told
        return NoPlan(found, self.scan.show(order.first, order.end))

    def _explains(self, part: Part) -> bool:
        """Return whether a part repeats the one before: `20 milk (8 USDC)`, `= 48 hours`.

        A dash begins a line of a list, or explains.
        """
        if part.before in {"(", "[", "=", "/", ":", "\u2192", ">", "|"}:
            return True
        opening = self.scan.tokens[part.first]
        if opening.word in _EXPLAINING or opening.word == "no":
            return True
        place = part.first - 1
        is_line = place < 1 or self.scan.tokens[place - 1].text in {"\n", ":"}
        return part.before in {"-", "\u2013", "\u2014"} and not is_line

    def _fill_with_balance(  # noqa: PLR0913, PLR0917 - an order and the steps so far
        self,
        order: Order,
        waiting: list[Order],
        context: Context,
        results: Sequence[str],
        done: int,
        matches: Callable[[PlannedCall, int], bool],
    ) -> tuple[Order, list[Filling]] | None:
        """Fill an order with `all my USDC` after a call that reads the balance, or return None."""
        read = self._find_balance(order)
        if read is None or context.has_result:
            return None
        known = None
        if done < len(results) and matches(read, done):
            known = tuple(self._read_result(results[done]))
        found = self._fill(order, waiting, replace(context, has_result=True, results=known))
        if isinstance(found, NoPlan):
            return None
        order, fillings = found
        return order, [replace(one, calls=(read, *one.calls)) for one in fillings]

    def _find_balance(self, order: Order) -> PlannedCall | None:
        """Return the call that reads the balance of the one token that `all my USDC` names."""
        named = {
            one.token_handle
            for one in order.list_mentions(self.scan)
            if one.kind is MentionKind.ALL and one.unit is UnitKind.TOKEN
        }
        tools = [
            tool
            for tool in self._tools
            if tool.is_read
            and "balanc" in tool.name_words
            and ACCOUNT_HANDLE in tool.handles
            and not tool.parameters
            and named <= tool.handles
        ]
        return PlannedCall(tools[0].index, ()) if len(tools) == 1 and len(named) == 1 else None

    def _part_readings(
        self, order: Order, found: Sequence[Filling], waiting: list[Order], context: Context
    ) -> tuple[Order, list[Filling]] | None:
        """Return the first part of an order for several tools: `show the age and debt`."""
        tools = [self._tools[call.tool] for one in found for call in one.calls]
        if len(order.parts) == 1 or not all(tool.is_read for tool in tools):
            return None
        own = frozenset(word for tool in tools for word in tool.words)
        other = frozenset(word for tool in self._tools if tool.is_read for word in tool.words)
        for place in range(len(order.parts) - 1, 0, -1):
            part = order.parts[place]
            words = {
                stem(self.scan.tokens[at].word)
                for at in range(part.first, part.end)
                if self.scan.owners[at] < 0
            }
            is_own = part.mood is Mood.NOMINAL and part.before in _LISTING
            if not is_own or not words & other:
                continue
            cut = replace(order, parts=order.parts[:place])
            start = self._fill_order(cut, context)
            rest = replace(order, parts=order.parts[place:], verb=order.head_part)
            if isinstance(start, Obstacle) or isinstance(self._fill_order(rest, context), Obstacle):
                continue
            if words <= own and {one.calls for one in start} == {one.calls for one in found}:
                continue
            waiting.append(rest)
            return self._part_readings(cut, start, waiting, context) or (cut, start)
        return None

    def _is_taken(self, order: Order, following: Order) -> bool:
        """Return whether an order names the object of the next one: `take 5 USDC and send it`."""
        if order.head < 0 or self.scan.tokens[order.head].word not in LIGHT_VERBS:
            return False
        kinds = {
            mention.kind
            for mention in following.list_mentions(self.scan)
            if mention.text.lower() not in POSSESSIVES
        }
        is_own = following.head >= 0 and (
            self.scan.tokens[following.head].word != self.scan.tokens[order.head].word
        )
        is_taken = not following.is_nominal and is_own and MentionKind.IT in kinds
        return is_taken and not self._is_from(order)

    def _is_from(self, order: Order) -> bool:
        """Return whether a light verb acts by itself: `take it back`, `take Ann off the list`."""
        words = {token.word for token in self.scan.tokens[order.first : order.end]}
        return not words.isdisjoint({"from", "out", "of", "back", "off", "away", "down"})

    def _acts_itself(self, order: Order) -> bool:
        """Return whether a light verb is a tool's own: `open vault 2 and lock vault 3`."""
        head = stem(self.scan.tokens[order.head].word)
        return any(head in tool.heads for tool in self._tools if not tool.is_read)

    def _can_merge(self, order: Order, following: Order) -> bool:
        is_light = order.head >= 0 and self.scan.tokens[order.head].word in LIGHT_VERBS
        is_light = is_light and not self._acts_itself(order)
        said = {token.word for token in self.scan.tokens[order.first : order.end]}
        if order.is_nominal and not following.is_nominal and said & {"on", "off", "up", "down"}:
            # `Shore power of 4 off and free it`
            return False
        has_value = any(one.kind in VALUES for one in order.list_mentions(self.scan))
        words = {stem(token.word) for token in self.scan.tokens[order.first : order.end]}
        # A phrase that tells nothing of the tools says why: `Huge crash coming, sell everything`.
        is_header = any(token.text == ":" for token in self.scan.tokens[order.first : order.end])
        is_plain = order.verb is None and not words & self._known.labels and not is_header
        has_value = has_value or is_plain
        return (
            (order.is_nominal and has_value)
            or following.is_nominal
            or (is_light and (following.is_nominal or not self._is_from(order)))
        )

    def _fill_order(self, order: Order, context: Context) -> list[Filling] | Obstacle:
        """Return how an order is filled by the tools with the most evidence in the order."""
        found: dict[Strength, list[ToolRoles]] = {}
        best = Obstacle("no tool")
        is_first = bool(self.orders) and order.first == self.orders[0].first
        is_more = order.is_nominal and not order.is_question
        is_more = is_more and (len(self.orders) > 1 or not is_first)
        only = self._find_same_tools(order)
        if self._takes_of_it(order):
            return Obstacle("reference", "of it", progress=8)
        turn = self._turns_back(order)
        if turn:
            return Obstacle("word", turn, progress=8)
        searched = self._fill_search(order, context)
        for tool in self._tools:
            strength = measure_strength(self.scan, order, tool)
            if tool is self._search and not isinstance(strength, Obstacle):
                strength = Obstacle("no tool") if searched else self._doubt_verb(order, tool)
            if (is_more and tool.is_read) or (only and tool.index not in only):
                continue
            is_doubt = order.head >= 0 or not self._is_spoken_of(order, tool)
            if context.is_lenient:
                strength = _admit(strength, tool)
            elif strength is Strength.WEAK and is_doubt and not tool.is_read:
                strength = self._doubt_verb(order, tool)
            if isinstance(strength, Obstacle):
                best = strength if strength.progress > best.progress else best
            else:
                found.setdefault(strength, []).append(tool)
        if searched is not None and not self._names_other(order, found):
            return searched
        if not found:
            return best
        strongest = max(found)
        after = self.scan.tokens[order.end].text if order.end < len(self.scan.tokens) else ""
        kinds = {mention.kind for mention in order.list_mentions(self.scan)}
        is_told = order.is_nominal and after != "?" and bool(kinds & VALUES - {MentionKind.NAME})
        if is_told and all(tool.is_read for tool in found[strongest]) and len(found) > 1:
            # A phrase without a verb asks to do something, if it has a value for it.
            strongest = sorted(found)[-2]
        chosen = found[strongest]
        if context.is_lenient:
            chosen = [tool for of in found.values() for tool in of]
            strongest = Strength.WEAK
        elif strongest is not Strength.STRONG:
            # Words alone speak for a tool: for those that they speak for most, or for none.
            candidates = (
                chosen if order.is_nominal else [tool for of in found.values() for tool in of]
            )
            evidence = {tool.index: count_evidence(self.scan, order, tool) for tool in candidates}
            is_told = order.is_nominal and not all(tool.is_read for tool in candidates)
            most = 0 if is_told else max(evidence.values())
            chosen = [tool for tool in candidates if evidence[tool.index] >= most]
        fillings: list[Filling] = []
        failures: list[tuple[Strength, Obstacle]] = []
        unitless: Obstacle | None = None
        items = list_items(self.scan, order, self._known)
        for tool in chosen:
            strength = next(one for one in found if tool in found[one])
            filled = find_fillings(self.scan, order, tool, context, strength, items=items)
            if (
                isinstance(filled, Obstacle)
                and filled.reason in {"missing", "left", "reference", "noun"}
                and strongest is Strength.STRONG
            ):
                filled = self._fill_from_before(order, tool, context, filled)
            if isinstance(filled, Obstacle):
                failures.append((strength, filled))
                unitless = filled if filled.reason == "no unit" else unitless
            else:
                fillings += filled
        own = self._find_own_failure(order, chosen, fillings, items, context)
        if own is not None:
            return own
        best = _choose_failure(best, failures, is_question=order.is_question)
        if unitless is not None and any(
            self._tools[one.calls[0].tool].moves for one in fillings if one.calls
        ):
            # A bare number is an amount as well: `Send Otto 40` of prints or of euros?
            return unitless
        if not fillings and strongest is Strength.STRONG:
            fillings = self._fill_reading(order, found, context)
        if not fillings and searched is not None:
            return searched
        if not fillings:
            if strongest is Strength.WEAK and order.head >= 0 and best.progress > _KNOWN_PROGRESS:
                # No tool has the verb: what a tool lacks is no reason.
                best = Obstacle("verb", self.scan.tokens[order.head].text)
            several = self._fill_by_quantity(order, chosen, strongest, context)
            return best if several is None else several
        unknown = next((one for _, one in failures if one.reason == "person"), None)
        if unknown is not None and fillings and self._has_stranger(order):
            return unknown
        is_item = any(
            slot.role is ValueRole.COUNT
            for tool in chosen
            if tool.moves
            for slot in tool.slots
            if all(one.role is not ValueRole.AMOUNT for one in tool.slots)
        )
        if is_item and self._has_bare_before_unit(order):
            return Obstacle("no unit", progress=8)
        if self._is_bare_doubt(order, fillings):
            return Obstacle("no unit", progress=8)
        if strongest is not Strength.STRONG:
            return sorted(fillings, key=lambda one: (-one.strength, -one.evidence))[:MAX_OFFERED]
        least = min(one.excused for one in fillings)
        fillings = [one for one in fillings if one.excused == least]
        # `transferFrom` of the agent's own account is `transfer`, with an approval too many.
        values = {tuple(call.values for call in one.calls) for one in fillings}
        fillings = [one for one in fillings if values.isdisjoint(self._list_without_own(one))]
        if all(self._tools[one.calls[0].tool].moves for one in fillings if one.calls):
            unsaid = [self._count_unsaid(order, one) for one in fillings]
            fillings = [
                one for one, count in zip(fillings, unsaid, strict=True) if count == min(unsaid)
            ]
        highest = max(one.evidence for one in fillings)
        best_tools = {
            one.calls[0].tool for one in fillings if one.evidence == highest and one.calls
        }
        head = self.scan.tokens[order.head].word if order.head >= 0 else ""
        is_known = all(call.is_known for one in fillings for call in one.calls)
        makers = [one for one in best_tools if not self._tools[one].verbs.isdisjoint(_MAKERS)]
        if order.head < 0 and len(makers) == 1:
            # `Two seats: row 5, seats 7 and 8` are booked.
            best_tools = set(makers)
            fillings = [one for one in fillings if one.calls and one.calls[0].tool in best_tools]
        is_vague = (head in CHANGES or order.head < 0) and is_known
        if len(best_tools) > 1 and is_vague:
            # `Set it to 22`: the target, or the blinds?
            return Obstacle("ambiguous", progress=8)
        return [one for one in fillings if one.evidence == highest][:MAX_OFFERED]

    def _is_adverb(self, part: Part, place: int) -> bool:
        """Return whether a particle stands after a value, and governs nothing that follows."""
        is_after = place == part.first or self.scan.owners[place - 1] >= 0
        after = self.scan.tokens[place + 1].word if place + 1 < part.end else ""
        is_again = after in _TURNS or (
            place > part.first and self.scan.tokens[place - 1].word == "back"
        )
        return (is_after or is_again) and (not after or after in {"by", "again"} | _TURNS)

    def _takes_of_it(self, order: Order) -> bool:
        """Return whether a continued part takes from the amount before: `… and Omar 20 of it`."""
        is_more = order.is_nominal and order.verb is not None
        rest = order.parts if is_more else order.parts[1:]
        words = [
            self.scan.tokens[place].word
            for part in rest
            if part.head < 0 and order.head >= 0
            for place in range(part.first, part.end)
        ]
        return any(
            word == "of" and after in {"it", "them", "that", "those", "these", "which"}
            for word, after in pairwise(words)
        )

    def _find_own_failure(
        self,
        order: Order,
        chosen: Sequence[ToolRoles],
        fillings: Sequence[Filling],
        items: Sequence[Item],
        context: Context,
    ) -> Obstacle | None:
        """Return the words left over by the one tool with the verb, if others have a synonym.

        `Contribute 100 USDC to trip 1 for Ann` makes no payment, because `contribute` takes no Ann.
        """
        head = stem(self.scan.tokens[order.head].word) if order.head >= 0 else ""
        if not head or self.scan.tokens[order.head].word in _GENERAL_VERBS:
            return None
        own = [tool for tool in chosen if head in tool.heads]
        used = {one.calls[0].tool for one in fillings if one.calls}
        is_money = any(self._tools[index].moves for index in used)
        if len(own) != 1 or not is_money or own[0].index in used:
            return None
        filled = find_fillings(self.scan, order, own[0], context, Strength.STRONG, items=items)
        is_left = isinstance(filled, Obstacle) and filled.reason in {"left", "missing"}
        return filled if is_left and isinstance(filled, Obstacle) else None

    def _turns_back(self, order: Order) -> str:
        """Return the adverb with which a part without a verb turns: `Stake 20 in, 5 out`."""
        head = order.head_part
        heads = [part for part in order.parts if part.head >= 0]
        rest = order.parts if order.verb is not None and not heads else order.parts[1:]
        said = {token.word for token in self.scan.tokens[head.first : head.end]} if head else set()
        for part in rest if head else ():
            turns = [
                self.scan.tokens[place].word
                for place in range(part.first, part.end)
                if self.scan.tokens[place].word in _TURNS and self._is_adverb(part, place)
            ]
            if part.head < 0 and turns and turns[0] not in said:
                return turns[0]
        return ""

    def _list_without_own(
        self, filling: Filling
    ) -> list[tuple[tuple[tuple[Value, ...], ...], ...]]:
        """Return the calls' values without sources that are the agent's own account, if any is."""
        own = (Value((to_json(ACCOUNT_HANDLE),)),)
        values = tuple(call.values for call in filling.calls)
        others = tuple(
            tuple(
                given
                for given, parameter in zip(
                    call.values, self._tools[call.tool].parameters, strict=True
                )
                if given != own or parameter.slots[0].role is not ValueRole.SOURCE
            )
            for call in filling.calls
        )
        return [] if others == values else [others]

    def _count_unsaid(self, order: Order, filling: Filling) -> int:
        """Return how many nouns of a tool's name an order lacks: `shareTips` for `pay`."""
        said = {stem(token.word) for token in self.scan.tokens[order.first : order.end]}
        if not filling.calls:
            return 0
        tool = self._tools[filling.calls[0].tool]
        handles = {stem(handle.lower()) for handle in tool.handles}
        nouns = tool.name_words - tool.heads - handles - {stem(one) for one in self._units}
        return len(nouns - said)

    def _find_same_tools(self, order: Order) -> frozenset[int]:
        """Return the only tools that may go on with an order: those before a number without a noun.

        `Donate 0.1 ETH to appeals 2 and 3` pays no bill 3.
        """
        is_rest = order.is_nominal and order.first != self.orders[0].first
        is_bare = any(
            one.kind is MentionKind.QUANTITY
            and one.unit is UnitKind.NONE
            and not self._is_labelled(one)
            for one in order.list_mentions(self.scan)
        )
        kinds = {one.kind for one in order.list_mentions(self.scan)}
        is_bound = is_bare or MentionKind.SAME in kinds
        tools = frozenset(call.tool for call in self._calls)
        return tools if is_rest and is_bound and order.verb is not None else frozenset()

    def _is_labelled(self, mention: Mention) -> bool:
        """Return whether a noun that is written stands before a number."""
        before = self.scan.tokens[mention.first - 1] if mention.first else None
        word = "" if before is None else stem(before.word)
        return word in mention.labels and word in self._known.labels

    def _fill_reading(
        self, order: Order, found: Mapping[Strength, Sequence[ToolRoles]], context: Context
    ) -> list[Filling]:
        """Return how reading tools are filled, if the verb may be a query: `get me a quote`."""
        if order.head < 0 or self.scan.tokens[order.head].word not in {"get", "give", "fetch"}:
            return []
        owner = self.scan.owners[order.head + 1] if order.head + 1 < order.end else -1
        if owner >= 0 and self.scan.mentions[owner].kind is not MentionKind.SELF:
            # `give Ann and Ben 2 stamps`
            return []
        fillings: list[Filling] = []
        items = list_items(self.scan, order, self._known)
        for tool in found.get(Strength.FAIR, ()):
            filled = find_fillings(self.scan, order, tool, context, Strength.FAIR, items=items)
            if tool.is_read and not isinstance(filled, Obstacle):
                fillings += filled
        most = max((one.evidence for one in fillings), default=0)
        return [one for one in fillings if one.evidence == most and most > 0]

    def _doubt_verb(self, order: Order, tool: ToolRoles) -> Obstacle:
        """Return why an order's words do not fit a tool: a block, or the verb."""
        blocked = find_block(self.scan, order, tool)
        if blocked is not None:
            return replace(blocked, progress=3)
        head = self.scan.tokens[order.head].text if order.head >= 0 else ""
        return Obstacle("verb", head, progress=1)

    def _has_stranger(self, order: Order) -> bool:
        """Return whether an order names an unknown person, and quotes nothing."""
        kinds = {mention.kind for mention in order.list_mentions(self.scan)}
        return MentionKind.STRANGER in kinds and MentionKind.QUOTATION not in kinds

    def _is_spoken_of(self, order: Order, tool: ToolRoles) -> bool:
        """Return whether an order without a verb has a word of a tool, or of a tool's choices."""
        said = {stem(token.word) for token in self.scan.tokens[order.first : order.end]}
        named = {word for slot in tool.slots for word, _ in slot.named}
        return bool(said & named) or count_evidence(self.scan, order, tool) > 0

    def _has_bare_before_unit(self, order: Order) -> bool:
        """Return whether a bare number is before an amount: `send 4 to Ann and 50 EURC to Ben`."""
        amounts = [
            one
            for one in order.list_mentions(self.scan)
            if one.kind is MentionKind.QUANTITY and not one.labels
        ]
        units = [one.unit for one in amounts]
        return UnitKind.TOKEN in units and UnitKind.NONE in units[: units.index(UnitKind.TOKEN)]

    def _is_bare_doubt(self, order: Order, fillings: Sequence[Filling]) -> bool:
        """Return whether a number without a unit is an amount for some tools only."""
        is_bare = any(
            one.kind is MentionKind.QUANTITY and one.unit is UnitKind.NONE and not one.labels
            for one in order.list_mentions(self.scan)
        )
        tools = [self._tools[one.calls[0].tool] for one in fillings if one.calls]
        has_amount = [any(slot.role is ValueRole.AMOUNT for slot in tool.slots) for tool in tools]
        return is_bare and any(has_amount) and not all(has_amount)

    def _fill_from_before(
        self, order: Order, tool: ToolRoles, context: Context, failure: Obstacle
    ) -> tuple[Filling, ...] | Obstacle:
        """Fill a tool, for an order whose only value is `it`, with those of the sentence before."""
        kinds = {mention.kind for mention in order.list_mentions(self.scan)} & VALUES
        told = self._fill_told(order, tool, context)
        if told is not None:
            return told
        if not kinds or kinds - {MentionKind.IT} or not context.antecedents or self._calls:
            return failure
        if context.is_changed:
            return failure
        found = find_fillings(
            self.scan, order, tool, context, Strength.STRONG, items=context.antecedents[0]
        )
        is_several = not isinstance(found, Obstacle) and any(len(one.calls) > 1 for one in found)
        return failure if is_several and self._list_said(order) & _SINGLE else found

    def _list_told_words(self, order: Order) -> set[str]:
        """Return the words of the statements before an order."""
        return {
            self.scan.tokens[at].word
            for part in find_told(self._parts, order)
            if part.mood is not Mood.ORDER
            for at in range(part.first, part.end)
        }

    def _is_told_vaguely(self, order: Order) -> bool:
        """Return whether the statement before an order is inexact: `about 17 degrees`."""
        return any(
            one.kind is MentionKind.INEXACT
            for part in find_told(self._parts, order)
            if part.mood is not Mood.ORDER
            for one in list_mentions(self.scan, part.first, part.end)
        )

    def _list_said(self, order: Order) -> set[str]:
        return {one.text.lower() for one in order.list_mentions(self.scan)}

    def _find_definition(self, order: Order) -> Part | None:
        """Return the sentence after an order that gives a value: `The deposit is 0.08 ETH`."""
        after = [part for part in self.statements if part.first > order.end]
        following = [part for part in self._parts if part.first > order.end]
        if not after or after[0] is not following[0]:
            return None
        part = after[0]
        words = [token.word for token in self.scan.tokens[part.first : part.end]]
        kept = self._find_kept(part, words)
        if kept is not None:
            return kept
        labels = self._known.labels | SUMS
        verb = next((place for place, word in enumerate(words) if word in {"is", "are"}), 0)
        nouns = words[1:verb]
        is_label = words[0] in DETERMINERS and 1 <= len(nouns) <= 2  # noqa: PLR2004
        kinds = {one.kind for one in list_mentions(self.scan, part.first, part.end)}
        if (
            not is_label
            or not any(stem(noun) in labels for noun in nouns)
            or kinds & BLOCKS
            or not kinds & (VALUES | UNKNOWN)
        ):
            return None
        is_owned = self.scan.owners[part.first] >= 0
        start = part.first + (verb + 1 if is_owned else 1)
        start += is_owned and words[verb + 1 : verb + 2] in (["called"], ["named"])
        return replace(part, first=start, mood=Mood.NOMINAL, opener_end=start)

    def _find_kept(self, part: Part, words: Sequence[str]) -> Part | None:
        """Return the time in `He may have it until season 15`; None for other sentences."""
        place = 1 + (words[1:2] != [] and words[1] in {"can", "may", "will", "should"})
        is_kept = words[:1] != [] and words[0] in {"he", "she", "they"}
        verb = words[place] if place < len(words) else ""
        if not is_kept or verb not in {"has", "have", "gets", "get", "keeps", "keep"}:
            return None
        place += 1 + (words[place + 1 : place + 2] in (["it"], ["them"]))
        start = part.first + place
        kinds = {one.kind for one in list_mentions(self.scan, start, part.end)}
        if kinds != {MentionKind.QUANTITY}:
            return None
        return replace(part, first=start, mood=Mood.NOMINAL, opener_end=start)

    def _only_tells(self, order: Order) -> bool:
        """Return whether an order has no verb, though a word begins it: `haircut on the 17th`."""
        if order.head < 0:
            said = {token.word for token in self.scan.tokens[order.first : order.end]}
            return order.verb is None and not said & {"on", "off", "up", "down"}
        place = order.head + 1
        after = self.scan.tokens[place].word if place < order.parts[0].end else ""
        is_noun = place >= order.parts[0].end or after in PREPOSITIONS
        return is_noun and not is_any_verb(self.scan.tokens[order.head].word, self._known)

    def _names_act_of(self, order: Order) -> bool:
        """Return whether an order's words are surely those of a tool that writes."""
        return order.head >= 0 and any(
            measure_strength(self.scan, order, tool) is Strength.STRONG
            for tool in self._tools
            if not tool.is_read
        )

    def _list_told(self, order: Order, context: Context) -> list[Filling]:
        """Return how the tools of an order's verb are filled with the statements before."""
        found: list[Filling] = []
        for tool in self._tools:
            if measure_strength(self.scan, order, tool) is Strength.STRONG:
                found += self._fill_told(order, tool, replace(context, first=order.first)) or ()
        return found

    def _fill_told(
        self, order: Order, tool: ToolRoles, context: Context
    ) -> tuple[Filling, ...] | None:
        """Fill a tool that moves nothing with the statements before an order, or return None."""
        kinds = {mention.kind for mention in order.list_mentions(self.scan)}
        if tool.is_read or tool.is_agent or not kinds & REFERENCES or self._calls:
            return None
        roles = {slot.role for slot in tool.slots}
        if roles & {ValueRole.AMOUNT, ValueRole.TOKEN, ValueRole.SOURCE}:
            return None
        if ValueRole.RECIPIENT in roles and not kinds & {MentionKind.HIM, MentionKind.NAME}:
            return None
        parts = find_told(self._parts, order)
        told = read_told(self.scan, parts, order, self._known)
        if told is None:
            return None
        items, texts = told
        said = {
            stem(self.scan.tokens[at].word) for one in parts for at in range(one.first, one.end)
        }
        is_thing = bool(kinds & REFERENCES - {MentionKind.HIM})
        if not is_thing and any(
            slot.role is ValueRole.TEXT and slot.names.isdisjoint(said) for slot in tool.slots
        ):
            # `Make her a member` asks for no text of the sentence before.
            return None
        own = [
            item
            for item in list_items(self.scan, order, self._known)
            if item.mention.kind is not MentionKind.IT
        ]
        found = find_fillings(
            self.scan,
            order,
            tool,
            replace(
                context,
                told=tuple(texts),
                told_spans=tuple((part.first, part.end) for part in parts),
            ),
            Strength.STRONG,
            items=(*items, *own),
        )
        if isinstance(found, Obstacle):
            return None
        said = self._list_said(order)
        is_single = bool(said & _SINGLE) and not said & {"both", "each", "them"}
        return None if is_single and any(len(one.calls) > 1 for one in found) else found

    def _fill_search(self, order: Order, context: Context) -> list[Filling] | Obstacle | None:
        """Return how an order is put to the one search; None if it asks for nothing to be found."""
        search = self._search
        if search is None or not is_searched(self.scan, order, search, self._tools):
            return None
        found = fill_search(self.scan, order, search, context)
        return found if isinstance(found, Obstacle) else [found]

    def _names_other(self, order: Order, found: Mapping[Strength, Sequence[ToolRoles]]) -> bool:
        """Return whether an order names a tool that comes before a search.

        A tool that writes has its verb. One that reads explains the question's words, or a value.
        """
        return any(
            not tool.is_read or strength is Strength.STRONG or explains(self.scan, order, tool)
            for strength, tools in found.items()
            for tool in tools
        )

    def _fill_by_quantity(
        self, order: Order, tools: Sequence[ToolRoles], strength: Strength, context: Context
    ) -> list[Filling] | None:
        """Return the calls of several tools, one for each quantity: `Ann: 40 DAI and 250 PTS`."""
        items = list_items(self.scan, order, self._known)
        quantities = [
            item
            for item in items
            if item.mention.kind is MentionKind.QUANTITY
            and not (item.mention.unit is UnitKind.NONE and item.mention.labels)
        ]
        units = {(item.mention.unit_name or item.inherited_unit) for item in quantities}
        if len(quantities) < 2 or len(units) != len(quantities):  # noqa: PLR2004
            return None
        kinds = {one.kind for one in order.list_mentions(self.scan)}
        is_exchange = any(not tool.verbs.isdisjoint(_CONVERSIONS) for tool in tools)
        if is_exchange or MentionKind.SAME in kinds:
            # `Trade 2 BNB for 600 USDT` is no two trades.
            return None
        calls: list[PlannedCall] = []
        for quantity in quantities:
            own = [item for item in items if item is quantity or item not in quantities]
            found: list[Filling] = []
            for tool in tools:
                filled = find_fillings(self.scan, order, tool, context, strength, items=own)
                if not isinstance(filled, Obstacle):
                    found += filled
            if len(found) != 1 or len(found[0].calls) != 1:
                return None
            calls += found[0].calls
        first, last = quantities[0].mention.first, quantities[-1].mention.first
        is_cut = any(token.text in {".", "!", "?"} for token in self.scan.tokens[first:last])
        if is_cut or len({call.tool for call in calls}) < len(calls):
            return None
        used = [self._tools[call.tool] for call in calls]
        for quantity, following in pairwise(quantities):
            between = self.scan.tokens[quantity.mention.end : following.mention.first]
            is_reached = bool(between) and between[-1].word == "to"
            said = {token.text.lower() for token in between} | {token.word for token in between}
            if is_reached or said & (_WORTH | _EXPLAINING):
                # `Pay Omar 100 PTS for 10 DAI` pays no DAI.
                return None
            is_listed = any(token.word in _ADDING for token in between)
            is_listed = is_listed or not any(tool.moves for tool in used)
            if not is_listed and not all(_is_alike(used[0], one) for one in used[1:]):
                return None
        return [Filling(tuple(calls), strength)]

    def _is_aside(self, order: Order) -> bool:
        """Return whether a sentence that no tool does is a remark: `The tap works again`.

        A remark has no known verb, begins with an article, and names neither a person nor an
        amount.
        """
        first = order.parts[0]
        if not order.is_nominal or not first.is_start or len(self.orders) == 1:
            return False
        mentions = [*order.list_mentions(self.scan)]
        is_told = any(
            (one.kind in BLOCKS and one.text.lower() != "again")
            or (
                one.kind in VALUES | UNKNOWN
                and (one.kind is not MentionKind.QUANTITY or one.unit is UnitKind.TOKEN)
            )
            for one in mentions
        )
        words = [
            token.word
            for place, token in enumerate(self.scan.tokens[order.first : order.end], order.first)
            if token.kind is TokenShape.WORD and self.scan.owners[place] < 0
        ]
        strange = [
            word for word in words if word not in ALL_WORDS and stem(word) not in self._known.words
        ]
        return not is_told and words[:1] != [] and words[0] in DETERMINERS and len(strange) > 1

    def _find_same_of_several(self, order: Order) -> NoPlan | None:
        """Return why `vault 4 the same` is unclear: several orders come before."""
        kinds = {one.kind for one in order.list_mentions(self.scan)}
        start = order.parts[0].is_start
        before = [
            one
            for one in self.orders
            if one.end <= order.first and one.first >= self._find_sentence_start(order)
        ]
        is_several = len({one.first for one in before}) > 1 or self._had_several
        has_own = MentionKind.QUANTITY in kinds
        is_same = MentionKind.SAME in kinds or (MentionKind.EACH in kinds and not has_own)
        is_both = (
            self._last_end > 0
            and not self._is_next(order)
            and any(
                self._has_both_alone(part)
                or (self._has_same_alone(part) and part is not order.parts[0])
                for part in order.parts
            )
        )
        is_mixed = len({call.tool for call in self._calls}) > 1
        if is_same and ((start and self._group > 1) or is_mixed):
            # `Ann gets 5 USDC and 3 DAI. Ben gets the same.`
            text = self.scan.show(order.first, order.end)
            return NoPlan(Obstacle("reference", text), text)
        if start or not order.is_nominal or not (is_both or (is_same and is_several)):
            return None
        text = self.scan.show(order.first, order.end)
        return NoPlan(Obstacle("reference", text), text)

    def _has_both_alone(self, part: Part) -> bool:
        """Return whether a part has `both` for the previous values: `…, Carol both`."""
        mentions = [*list_mentions(self.scan, part.first, part.end)]
        is_both = any(
            one.kind is MentionKind.EACH and one.text.lower() in {"both", "all"} for one in mentions
        )
        return is_both and all(one.kind is not MentionKind.QUANTITY for one in mentions)

    def _has_same_alone(self, part: Part) -> bool:
        """Return whether a part has `the same` and no amount: `…, Omar the same`."""
        kinds = {one.kind for one in list_mentions(self.scan, part.first, part.end)}
        return MentionKind.SAME in kinds and MentionKind.QUANTITY not in kinds

    def _find_sentence_start(self, order: Order) -> int:
        starts = [part.first for part in self._parts if part.is_start and part.first <= order.first]
        return starts[-1] if starts else 0

    def _explain_empty(self) -> Obstacle:
        return Obstacle("report" if self.statements else "empty")


_IDLE = frozenset((MentionKind.COURTESY, MentionKind.SEQUENCE))
"""Mentions that say nothing."""

_EXPLAINING = frozenset(
    "so total value against from of on like as at worth ie i.e. meaning equals making".split()  # noqa: SIM905
)
"""First words of what says an amount once more: `…, so 20 USDC`."""

_MAKERS = frozenset(("book", "append", "note", "mint", "announce"))
"""Meanings of tools that an order without a verb asks for, rather than for their opposites."""

_SINGLE_HEADS = frozenset(map(stem, ("set", "change", "update", "delegate", "appoint", "elect")))
"""First words of tools that give one thing one value."""

_GENERAL_VERBS = frozenset(
    "send give pay put take transfer move get add make set book hand tip".split()  # noqa: SIM905
)
"""Verbs that many tools are meant by."""

_WORTH = frozenset(("\u2192", "(", "[", "=", "/", ">", "for", "at", "worth", "into", "by", "per"))
"""What stands between an amount and what it is worth."""

_ADDING = frozenset(("and", "&", "plus", "n", "then", "also"))
"""What stands between two things to be done."""

_TURNS = frozenset(("in", "out", "back", "up", "down", "off"))
"""Adverbs with which what follows goes the other way."""


_CONVERSIONS = frozenset(("wrap", "unwrap", "swap", "buy", "sell", "mint"))
"""Meanings of tools after which `it` may be what was given, or what was got."""

_SINGLE = frozenset(("it", "that", "this"))
"""Pronouns of one thing."""

_SHARED = frozenset(("each", "lengths", "several amounts"))
"""Reasons of a whole order that say more than what is left of it."""

_LISTING = frozenset((",", "and", "&", "n", "plus", "then"))
_PRONOUNS = frozenset((MentionKind.IT, MentionKind.HIM, MentionKind.PLACE))
_KNOWN_PROGRESS = 4
"""Progress of a failure that is one for every tool: a block, an unknown person."""

_AMOUNT_NAMES = frozenset(
    map(
        stem,
        (
            "amount",
            "price",
            "value",
            "cost",
            "wage",
            "salary",
            "reward",
            "bid",
            "deposit",
            "payment",
        ),
    )
)
"""Names of amounts."""


_FITTING = frozenset(
    ("missing", "not a recipient", "direction", "fraction", "range", "each", "several amounts")
)
"""Reasons of a tool that the units of an order's amounts fit."""


def _is_alike(tool: ToolRoles, other: ToolRoles) -> bool:
    """Return whether two tools do the same to different tokens: both pay a person an amount."""
    roles = [
        {slot.role for slot in one.slots} & {ValueRole.RECIPIENT, ValueRole.AMOUNT}
        for one in (tool, other)
    ]
    is_payment = len(roles[0]) == len(roles[1]) == 2  # noqa: PLR2004
    is_same = tool.heads == other.heads and not tool.verbs.isdisjoint(other.verbs)
    return tool is other or is_same or (is_payment and not tool.verbs.isdisjoint(other.verbs))


def _choose_failure(
    best: Obstacle, failures: Sequence[tuple[Strength, Obstacle]], *, is_question: bool
) -> Obstacle:
    """Return the most useful reason: that of the tool that got furthest.

    A tool with the unit of the amount counts more than one with another unit.
    """
    strong = [one for strength, one in failures if strength is Strength.STRONG]
    fitting = [one for one in strong if one.reason in _FITTING]
    left = [one for one in strong if one.reason == "left"]
    own = [one for one in strong if one.reason not in {"token", "unit"}]
    failures = [pair for pair in failures if pair[1] in own] if own else failures
    for one in fitting or left or [one for _, one in failures]:
        best = one if one.progress > best.progress or fitting or left else best
    return Obstacle("question") if is_question and best.reason == "left" else best


def _admit(strength: Strength | Obstacle, tool: ToolRoles) -> Strength | Obstacle:
    """Return what an order's verb says of a tool, if no list of verbs may object."""
    is_open = isinstance(strength, Obstacle) and strength.reason == "verb" and not tool.is_read
    return Strength.WEAK if is_open else strength


def _is_ambiguous(fillings: Sequence[Filling]) -> bool:
    """Return whether the calls of the same tools have different values."""
    tools = [tuple(call.tool for call in one.calls) for one in fillings]
    return len(set(tools)) < len({one.calls for one in fillings})


def _matches_none(_call: PlannedCall, _index: int) -> bool:
    return False


_PASSAGE = re.compile(r"\[(?:[0-9]{1,9}|[a-z])\](?=[ \t]*[\"\u201c])")
_QUOTED_QUESTION = re.compile(r"\AQuestion: \"(?P<text>[^\"\\]+)\"\.")
"""A question to judge others' answers to. What they answered is data, and asks for nothing."""

_OPTIONS = re.compile(r"[ \t]*\(OPTIONS: [^()\n]*\)[ \t]*\Z")
"""The choices of a council's question, which its contract writes: data for who answers."""

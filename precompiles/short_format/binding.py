"""How an order fills a tool: each value a parameter of the same role, once, or no value does.

    Send 5 USDC to Bob              transfer(to: Bob, value: 5000000)
    Ann gets 1, Ben 2.5 and Cy 3    three calls, or one with two lists
    seats 5 and 6 in row 2          two calls that share the row
    Send 5 USDC to Carol            nothing: Carol is unknown

A value belongs to the slot of the unit, the label or the preposition, or to the only slot that
fits. A slot with several values means several calls; the other values are shared. An amount is
shared only with `each` in the order.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from precompiles.address_handles import ACCOUNT_HANDLE
from precompiles.short_format import english
from precompiles.short_format.mentions import BLOCKS, VALUES, MentionKind, UnitKind
from precompiles.short_format.parallel import SETTERS, find_misfit, is_misdirected
from precompiles.short_format.phrases import stem
from precompiles.short_format.roles import NUMBERS, ParameterSlot, ValueRole, split_words
from precompiles.short_format.searching import is_of_text, write_query
from precompiles.short_format.tokens import TokenShape
from precompiles.short_format.values import (
    ALL_STEMS,
    HOUR_MINUTES,
    UNCLEAR,
    Context,
    Item,
    Obstacle,
    Value,
    fit,
    is_got_token,
)
from precompiles.short_format.wording import (
    OPPOSITES,
    SPANS,
    Strength,
    count_evidence,
    count_strange,
    find_agent,
    find_block,
    find_loose_words,
    find_other_act,
    find_other_noun,
    find_unexplained,
    find_unknown,
    has_name,
    is_word_of,
    read_named_truth,
)
from precompiles.stated_values import is_free, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from precompiles.short_format.mentions import KnownWords, Mention, Scan
    from precompiles.short_format.orders import Order
    from precompiles.short_format.roles import ToolRoles
    from precompiles.short_format.tokens import Token

MAX_ASSIGNMENTS = 4_096
"""Upper bound of the trials to give an order's values to a tool's parameters."""

MAX_VALUES = 64
"""Upper bound of the values of one order: the work grows with their square."""

MAX_CALLS = 16
"""Upper bound of the calls that one order asks for."""

_FIRST_PERSON = frozenset("i i've i'm i'd my me we we've our us mine".split())  # noqa: SIM905
_CONTEXT_PREPOSITIONS = frozenset(("with", "about", "by"))
_STARTS = frozenset(map(stem, ("from", "start", "open", "opens", "begin", "begins", "since")))
_STOPS = frozenset(map(stem, ("to", "end", "ends", "close", "closes", "until", "till")))


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call of a tool with a value for each parameter, in order."""

    tool: int
    values: tuple[tuple[Value, ...], ...]
    """Of each parameter, the values of its slots; of a list, of its items."""

    @property
    def is_known(self) -> bool:
        """Whether nothing is left to choose."""
        return all(value.is_known for values in self.values for value in values)


@dataclass(frozen=True, slots=True)
class Filling:
    """The calls of tools that an order asks for."""

    calls: tuple[PlannedCall, ...]
    strength: Strength
    evidence: int = 0
    """How many of the order's words the tool has."""

    excused: int = 0
    """How many pronouns the tool has no parameter for."""

    is_clear: bool = True
    """Whether a question has no word that the tool does not explain, and no text is guessed."""


# -- items -- #


def list_items(scan: Scan, order: Order, known: KnownWords) -> tuple[Item, ...]:
    """Return the mentions of an order that have values, in order."""
    found: list[Item] = []
    unit, declared, times = _find_unit_before(scan, order), "", ("", "")
    for part in order.parts:
        preposition = ""
        for place in range(part.first, part.end):
            owner, token = scan.owners[place], scan.tokens[place]
            if owner < 0:
                is_label = place + 1 < part.end and scan.tokens[place + 1].kind is TokenShape.NUMBER
                if token.kind is TokenShape.WORD and not (
                    is_label and preposition in {"until", "till"}
                ):
                    preposition = _follow(preposition, token.word)
                continue
            mention = scan.mentions[owner]
            if mention.first != place or mention.kind not in VALUES:
                continue
            following = [one.word for one in scan.tokens[order.head + 1 : order.head + 2]]
            is_particle = preposition in english.PARTICLES and following == [preposition]
            is_object = (not preposition or is_particle) and not found and order.head >= 0
            after = scan.tokens[part.end].text if part.end < len(scan.tokens) else ""
            is_header = not preposition and not found and after == ":" and part is order.parts[0]
            if (
                mention.kind is MentionKind.NAME
                and (preposition == "in" or is_object or is_header)
                and mention.text in known.tokens
            ):
                declared = mention.text.lower()
            inherited = ""
            if mention.kind is MentionKind.QUANTITY:
                if mention.unit is UnitKind.TOKEN:
                    # `5000 wei and 3000`: of which unit is not said.
                    unit = UNCLEAR if mention.text else mention.unit_name
                elif mention.unit is UnitKind.TIME:
                    times = (mention.unit_name, preposition)
                elif mention.unit is UnitKind.NONE:
                    is_time = times[0] and times[1] == preposition != "" and not mention.labels
                    inherited = times[0] if is_time else unit
            found.append(Item(mention, preposition, inherited))
            if mention.kind is not MentionKind.NAME:
                preposition = ""
    return tuple(_declare(_share_unit(scan, found), declared))


def _share_unit(scan: Scan, items: Sequence[Item]) -> list[Item]:
    """Return items; a number before `and` has the unit of the next one: `900 and 1,100 EURC`."""
    found = list(items)
    for place in range(len(found) - 2, -1, -1):
        mention, after = found[place].mention, found[place + 1]
        between = [token.text for token in scan.tokens[mention.end : after.mention.first]]
        unit = after.inherited_unit or (
            after.mention.unit_name if after.mention.unit is UnitKind.TOKEN else ""
        )
        is_bare = mention.kind is MentionKind.QUANTITY and mention.unit is UnitKind.NONE
        if is_bare and not found[place].inherited_unit and between in (["and"], [","], ["&"]):
            found[place] = replace(found[place], inherited_unit=unit)
    return found


def _find_unit_before(scan: Scan, order: Order) -> str:
    """Return the unit of the last amount before an order that continues another one."""
    before = [
        UNCLEAR if one.text else one.unit_name
        for one in scan.mentions
        if one.kind is MentionKind.QUANTITY
        and one.unit is UnitKind.TOKEN
        and one.first < order.first
    ]
    return before[-1] if before and order.is_nominal else ""


def _follow(preposition: str, word: str) -> str:
    """Return the preposition that governs the text after a word."""
    if word in english.PREPOSITIONS:
        return word
    return preposition if word in english.DETERMINERS or word in english.JOINTS else ""


def _declare(items: Sequence[Item], unit: str) -> Sequence[Item]:
    """Return items whose numbers have the unit that the order states: `all in USDC`."""
    bare = [
        one
        for one in items
        if one.mention.kind is MentionKind.QUANTITY and one.mention.unit is UnitKind.NONE
    ]
    if not unit or not bare:
        return items
    return [
        replace(one, inherited_unit=unit) if one in bare else one
        for one in items
        if not (
            one.mention.kind is MentionKind.NAME
            and one.mention.text.lower() == unit
            and one.preposition in {"in", ""}
        )
    ]


# -- fillings -- #


def find_fillings(  # noqa: PLR0913 - what an order is filled from
    scan: Scan,
    order: Order,
    tool: ToolRoles,
    context: Context,
    strength: Strength,
    *,
    items: Sequence[Item] | None = None,
) -> tuple[Filling, ...] | Obstacle:
    """Return the ways in which an order fills a tool, or the reason for none.

    Input:  the request, an order of the request, a tool, the meanings of values, how much the
        order's verb speaks for the tool; items that are used in place of all.
    """
    blocked = find_block(scan, order, tool)
    if blocked is not None:
        return replace(blocked, progress=3)
    unknown = find_unknown(scan, order, tool)
    if unknown is not None:
        return replace(unknown, progress=4)
    if order.is_question and not tool.is_read:
        return Obstacle("question", progress=2)
    if strength is Strength.WEAK and tool.moves and order.head < 0:
        return Obstacle("verb", progress=5)
    own = list_items(scan, order, context.known) if items is None else items
    if len(own) > MAX_VALUES:
        return Obstacle("many", progress=7)
    bound = _bind(scan, order, tool, own, context, strength)
    if isinstance(bound, Obstacle):
        return bound
    texts = _list_texts(scan, order, tool, own)
    siblings = context.siblings.get(tool.index, frozenset()) - context.acts
    # A quantity that another tool takes has its noun: `16 degrees, 45 percent humidity`.
    taken = {item.mention.first for item in own}
    left = [
        (one.end, one.end + 1)
        for one in order.list_mentions(scan)
        if one.kind is MentionKind.QUANTITY and one.first not in taken
    ]
    word = find_unexplained(scan, order, tool, [*texts, *left], siblings)
    if word is not None:
        return replace(word, progress=6)
    other = find_other_act(scan, order, tool, context.acts) or find_other_noun(
        scan, order, tool, context.known.slot_names, context.acts
    )
    if other is not None:
        return replace(other, progress=6)
    evidence = count_evidence(scan, order, tool)
    has_value = any(item.mention.kind not in _PRONOUNS for item in own)
    is_about_person = order.is_question and _asks_for_person(scan, order)
    if not evidence and strength is not Strength.STRONG and (is_about_person or not has_value):
        return Obstacle("no tool", progress=1)
    strange = 0 if not tool.is_read or tool.is_search else count_strange(scan, order, tool)
    is_clear = strange == 0 or (strange == 1 and evidence > 1)
    pronouns = sum(item.mention.kind in _PRONOUNS for item in own)
    return tuple(
        Filling(calls, strength, evidence, pronouns if not _refers(calls) else 0, is_clear)
        for calls in bound
    )


def _asks_for_person(scan: Scan, order: Order) -> bool:
    """Return whether a question begins with `who`: the values alone don't name the subject."""
    return scan.tokens[max(order.first, order.parts[0].opener_end)].word in {"who", "whose", "whom"}


def _refers(calls: Sequence[PlannedCall]) -> bool:
    """Return whether a call has a parameter."""
    return any(call.values for call in calls)


def _list_texts(
    scan: Scan, order: Order, tool: ToolRoles, items: Sequence[Item]
) -> list[tuple[int, int]]:
    """Return the runs of words that are the text of a tool."""
    texts = [slot for slot in tool.slots if slot.role is ValueRole.TEXT and not slot.options]
    is_quoted = any(item.mention.kind is MentionKind.QUOTATION for item in items)
    return find_loose_words(scan, order, tool) if len(texts) == 1 and not is_quoted else []


def _bind(  # noqa: PLR0913, PLR0917 - what an order is filled from
    scan: Scan,
    order: Order,
    tool: ToolRoles,
    items: Sequence[Item],
    context: Context,
    strength: Strength,
) -> list[tuple[PlannedCall, ...]] | Obstacle:
    if tool.is_agent:
        return _fill_agent(scan, order, tool, items, context)
    if tool.is_search:
        return _fill_query(scan, order, tool, context)
    return _Binder(scan, order, tool, items, context, strength).bind()


def fill_search(
    scan: Scan, order: Order, search: ToolRoles, context: Context
) -> Filling | Obstacle:
    """Fill an agent's one search with what an order asks for, or return why nothing is searched."""
    for mention in order.list_mentions(scan):
        is_opened = any(part.first <= mention.first < part.opener_end for part in order.parts)
        if mention.kind in BLOCKS and not is_opened and not is_of_text(scan, order, mention):
            return Obstacle(mention.kind.name.lower(), mention.text, progress=3)
        if mention.kind is MentionKind.DATA:
            return Obstacle("address", mention.text, progress=4)
    found = _fill_query(scan, order, search, context)
    return found if isinstance(found, Obstacle) else Filling(found[0], Strength.STRONG)


def _fill_query(
    scan: Scan, order: Order, tool: ToolRoles, context: Context
) -> list[tuple[PlannedCall, ...]] | Obstacle:
    """Fill a search's text, and the limits with their defaults."""
    return _fill_text(tool, write_query(scan, order, tool, context.before))


def _fill_agent(
    scan: Scan, order: Order, tool: ToolRoles, items: Sequence[Item], context: Context
) -> list[tuple[PlannedCall, ...]] | Obstacle:
    """Fill an agent's prompt with the order, or with the quotation if the order names the agent.

    An order whose only value is `it` comes with the previous sentence.
    """
    quoted = [item for item in items if item.mention.kind is MentionKind.QUOTATION]
    if len(quoted) == 1 and has_name(scan, order, tool):
        return _fill_text(tool, quoted[0].mention.text)
    named = find_agent(scan, order.first, order.end, tool)
    while (
        named
        and named < order.end
        and scan.tokens[named].word in {":", ",", "to", "please", "that", "and"}
    ):
        named += 1
    first = max(order.first, order.parts[0].opener_end)
    if named < order.end and scan.show(named, order.end).strip(".!? "):
        first = max(first, named)
    pronouns = {MentionKind.IT, MentionKind.HIM, MentionKind.SAME, MentionKind.PLACE}
    if (
        items
        and all(item.mention.kind in pronouns for item in items)
        and context.before >= 0
        and not context.prior
    ):
        first = context.before
    end = order.end
    if context.until > end and scan.tokens[end].text == ",":
        # `Note: boiler serviced, new filter fitted` tells the agent both.
        end = context.until
        while scan.tokens[end - 1].word in english.JOINTS | {","}:
            end -= 1
    told = next((item.mention for item in quoted if item.mention.first == first), None)
    if told is not None and told.end == end:
        return _fill_text(tool, told.text)
    return _fill_text(tool, scan.show(first, end).strip())


def _fill_text(tool: ToolRoles, text: str) -> list[tuple[PlannedCall, ...]] | Obstacle:
    """Fill the one text of a tool; other parameters have their defaults."""
    if not is_free(text):
        name = next(slot.name for slot in tool.slots if not slot.default)
        return Obstacle("missing", name, progress=5)
    values = tuple((Value((slot.default or to_json(text),)),) for slot in tool.slots)
    return [(PlannedCall(tool.index, values),)]


# -- binding -- #


class _Binder:
    """Gives the values of an order to the slots of a tool."""

    def __init__(  # noqa: PLR0913, PLR0917 - what an order is filled from
        self,
        scan: Scan,
        order: Order,
        tool: ToolRoles,
        items: Sequence[Item],
        context: Context,
        strength: Strength,
    ) -> None:
        self._scan = scan
        self._strength = strength
        self._order = order
        self._tool = tool
        self._context = context
        self._slots = tool.slots
        own = ((part.first, part.end) for part in order.parts)
        self._spans = (*context.told_spans, *own)
        self._stems = f" {' '.join(stem(token.word) for token in self._iter_tokens())} "
        self._own_words = tool.words | {stem(handle) for handle in tool.handles}
        if any(slot.names and slot.names <= _GENERIC for slot in tool.slots):
            # A token's number has the noun that its contract uses elsewhere: `card 4`.
            self._own_words |= context.siblings.get(tool.index, frozenset())
        self._mentions = tuple(order.list_mentions(scan))
        self._has_each = any(mention.kind is MentionKind.EACH for mention in self._mentions)
        self._items = tuple(self._expand_clocks([*self._expand_people(items)]))
        self._fits = tuple(
            tuple(fit(slot, item, context, tool) for slot in self._slots) for item in self._items
        )
        self._failure = Obstacle("missing", progress=0)
        self._found: dict[tuple[PlannedCall, ...], int] = {}
        self._steps = 0

    def bind(self) -> list[tuple[PlannedCall, ...]] | Obstacle:
        """Return the calls that use each value once; all readings with the highest score."""
        self._assign(0, [()] * len(self._slots), 0)
        if not self._found:
            return self._failure
        best = max(self._found.values())
        return [calls for calls, score in self._found.items() if score == best]

    def _expand_people(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield items with the people that `them` and `each of them` stand for."""
        people = self._context.people
        for item in items:
            text = item.mention.text.lower()
            is_them = item.mention.kind in {MentionKind.HIM, MentionKind.IT} and text in {
                "them",
                "their",
                "they",
            }
            if is_them and len(people) > 1 and any(slot.role in _PEOPLE for slot in self._slots):
                for handle in people:
                    yield replace(
                        item, mention=replace(item.mention, kind=MentionKind.NAME, text=handle)
                    )
            else:
                yield item

    def _expand_clocks(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield items, a time of day as hour and minute where a tool takes both: `at 9:30`."""
        hours = [slot for slot in self._slots if split_words(slot.name)[-1:] == ("hour",)]
        minutes = [slot for slot in self._slots if split_words(slot.name)[-1:] == ("minute",)]
        is_split = len(hours) == len(minutes) == 1
        for item in items:
            mention = item.mention
            if not is_split or mention.kind is not MentionKind.CLOCK:
                yield item
                continue
            for slot, value in (
                (hours[0], mention.value // HOUR_MINUTES),
                (minutes[0], mention.value % HOUR_MINUTES),
            ):
                number = replace(
                    mention,
                    kind=MentionKind.QUANTITY,
                    value=Fraction(value),
                    labels=tuple(sorted(slot.names & {stem("hour"), stem("minute")})),
                )
                yield replace(item, mention=number, preposition="")

    # -- each value a slot -- #

    def _assign(self, place: int, chosen: list[tuple[int, ...]], score: int) -> None:
        """Give the items from a place on to slots."""
        self._steps += 1
        if self._steps > MAX_ASSIGNMENTS:
            return
        if place == len(self._items):
            self._complete(chosen, score)
            return
        item = self._items[place]
        options = self._list_slots(place)
        for index, gain in options:
            before = chosen[index]
            chosen[index] = (*before, place)
            self._assign(place + 1, chosen, score + gain)
            chosen[index] = before
        if self._is_excused(item):
            self._assign(place + 1, chosen, score - bool(options))
        elif not options:
            self._note(self._explain(place))

    def _list_slots(self, place: int) -> list[tuple[int, int]]:
        """Return the slots that an item can fill, with the evidence for each."""
        item = self._items[place]
        labels = set(item.mention.labels)
        if item.mention.kind is MentionKind.QUANTITY and item.mention.unit is UnitKind.NOUN:
            labels.add(stem(item.mention.text))
        named = [
            index for index, slot in enumerate(self._slots) if not slot.labels.isdisjoint(labels)
        ]
        options = [
            index
            for index, value in enumerate(self._fits[place])
            if isinstance(value, Value)
            and not self._is_worded(self._slots[index])
            and not is_misdirected(self._scan, self._slots[index], item, self._tool)
        ]
        own = [index for index in options if index in named]
        if self._is_target(item) or self._is_tally_of_ids(item) or self._is_own_account(item):
            return []
        if item.mention.kind is MentionKind.QUOTATION:
            options = [index for index in options if not self._is_label_of_other(index, item)]
        said = [one for one in item.mention.labels if one not in {"extra", "another"}]
        label = next(iter(said), "")
        is_noun = label in self._context.known.slot_names | self._context.known.words
        is_other = is_noun and not named and label not in self._own_words
        if self._has_foreign_noun(item):
            options = []
        if self._is_token_beside_person(item):
            options = [
                index
                for index in options
                if self._slots[index].role not in _PEOPLE | {ValueRole.CONTRACT}
            ]
        if is_other and item.mention.kind in {MentionKind.QUANTITY, MentionKind.ORDINAL}:
            return []
        if own and item.mention.kind in {
            MentionKind.QUANTITY,
            MentionKind.ORDINAL,
            MentionKind.CLOCK,
        }:
            options = own
        return [(index, self._weigh(self._slots[index], item)) for index in options]

    def _is_token_beside_person(self, item: Item) -> bool:
        """Return whether a token's name can be no person's: `How much GOLD may Carol spend?`."""
        names = [one.mention for one in self._items if one.mention.kind is MentionKind.NAME]
        tokens = self._context.known.tokens - {ACCOUNT_HANDLE}
        return item.mention in names and (
            item.mention.text in tokens and any(one.text not in tokens for one in names)
        )

    def _has_foreign_noun(self, item: Item) -> bool:
        """Return whether the noun before a number is foreign to the tool: `cancel meeting 3`."""
        mention = item.mention
        is_number = mention.kind is MentionKind.QUANTITY and mention.unit is UnitKind.NONE
        if self._tool.is_read or not is_number or item.is_told:
            return False
        place = mention.first - 1
        token = self._scan.tokens[place] if place >= self._order.first else None
        if token is None or self._scan.owners[place] >= 0 or token.kind is not TokenShape.WORD:
            return False
        noun = stem(token.word)
        named = [slot for slot in self._slots if noun in slot.labels] or [
            slot
            for slot in self._slots
            if slot.names and slot.names <= _GENERIC and noun in self._own_words
        ]
        if token.word in {"number", "numbers"}:
            return False
        if noun in mention.labels and noun in _PAPER_NOUNS and not named:
            # `Pay Ann's bill 3` is paid from no trip 3.
            return True
        if noun in mention.labels and noun in self._context.known.slot_names and not named:
            # `bid on card 3`, where auctions have numbers of their own.
            return True
        if (
            noun in mention.labels
            and noun in self._context.acts - self._tool.name_words
            and not named
        ):
            return True
        is_plain = (
            token.word in english.PREPOSITIONS | english.DETERMINERS | english.AUXILIARIES
            or token.word in english.JOINTS | english.ADVERBS | english.GREETINGS | english.IT
            or token.word in english.PLAIN_NOUNS | {"no", "nr", "item", "items", "numbers"}
            or noun in _TOKEN_NOUNS
            or place == self._order.head
        )
        near = self._context.known.speller.list_near(token.word)
        said = {noun, *map(stem, near)}
        is_own = any(is_word_of(one, self._own_words) for one in said)
        return noun in mention.labels and not is_plain and not is_own

    def _is_own_account(self, item: Item) -> bool:
        """Return whether an order is to be paid `from our account`, as every order is."""
        is_out = item.preposition in {"from", "of", "out"}
        has_source = any(slot.role is ValueRole.SOURCE for slot in self._slots)
        return item.mention.text == ACCOUNT_HANDLE and is_out and not has_source

    def _is_tally_of_ids(self, item: Item) -> bool:
        """Return whether a number counts the numbers that follow: `scrap 2 items: 1 and 3`."""
        noun = stem(item.mention.text)
        return self._is_tally(item) and any(
            slot.is_id and (noun in slot.labels or noun in slot.names) for slot in self._slots
        )

    def _is_target(self, item: Item) -> bool:
        """Return whether an amount is a target: `top up Ann to 30 USDC`."""
        mention = item.mention
        before = self._scan.tokens[mention.first - 1].word if mention.first else ""
        is_set = not self._tool.verbs.isdisjoint({"set", "raise", "lower", "list", "extend"})
        is_amount = mention.kind is MentionKind.QUANTITY and mention.unit is UnitKind.TOKEN
        return is_amount and self._tool.moves and before in {"to", "at"} and not is_set

    def _is_label_of_other(self, index: int, item: Item) -> bool:
        """Return whether a quotation has the name of another value: `title: "Waves"`."""
        place = item.mention.first - 1
        slot = self._slots[index]
        before = stem(self._scan.tokens[place].word) if place >= 0 else ""
        others = [one for one in self._slots if one is not slot and one.role is ValueRole.TEXT]
        if before not in slot.names and any(before in one.names for one in others):
            # `visitor "Ann", message "Hello"`
            return True
        if place < 1 or self._scan.tokens[place].text not in {":", "="}:
            return False
        label = stem(self._scan.tokens[place - 1].word)
        return (
            label in self._context.known.slot_names
            and label not in slot.names | slot.labels
            and label not in self._tool.words
        )

    def _is_worded(self, slot: ParameterSlot) -> bool:
        """Return whether a word of the order gives a slot the value already."""
        is_said = any(f" {word} " in self._stems for word, _ in slot.named if word != "for")
        return is_said or (bool(slot.named) and self._read_named(slot) is not None)

    def _weigh(self, slot: ParameterSlot, item: Item) -> int:
        """Return how much the words beside a value speak for a slot."""
        names = set(map(stem, split_words(slot.name)))
        total = 4 * (not names.isdisjoint(item.mention.labels))
        total += 2 * (not slot.labels.isdisjoint(item.mention.labels))
        total += 2 * (slot.role is ValueRole.RECIPIENT and item.preposition in {"to", "for"})
        total += 2 * (slot.role is ValueRole.SOURCE and item.preposition == "from")
        total += 3 * (slot.role in NUMBERS and self._is_said_of(slot, item.mention))
        total += 3 * (item.preposition in {"to", "until", "till"} and not names.isdisjoint(_STOPS))
        total += 3 * (
            item.preposition in {"from", "at", "between"} and not names.isdisjoint(_STARTS)
        )
        return total

    def _is_said_of(self, slot: ParameterSlot, mention: Mention) -> bool:
        """Return whether a word of a slot's name and `at` are before a number: `opens at 10`."""
        before = self._scan.tokens[max(mention.first - 2, 0) : mention.first]
        return (
            len(before) > 1
            and before[1].word in {"at", "from", "until", "till", "is", ":", "="}
            and stem(before[0].word) in slot.names
        )

    def _is_excused(self, item: Item) -> bool:
        """Return whether the tool needs no parameter for a value."""
        mention, tool = item.mention, self._tool
        if item.is_told and mention.kind is MentionKind.NAME:
            return True
        if self._is_own_account(item):
            return True
        if mention.kind is MentionKind.NAME:
            is_context = (
                item.preposition in _CONTEXT_PREPOSITIONS
                and mention.text not in self._context.known.tokens
                and not any(slot.role in _PEOPLE for slot in self._slots)
            )
            return mention.text in tool.handles or is_context
        if self._is_tally(item):
            return True
        if mention.kind is MentionKind.QUANTITY and item.preposition == "for":
            # `for the two rugs`, `for 3 hours of work` says why.
            is_own = stem(mention.text) in tool.words or any(
                slot.role is ValueRole.TIME for slot in self._slots
            )
            after = self._scan.tokens[mention.end : mention.end + 1]
            is_work = mention.unit is UnitKind.TIME and [one.word for one in after] == ["of"]
            is_span = stem(mention.text) in SPANS
            return (mention.unit is UnitKind.NOUN or is_work) and not is_own and not is_span
        if mention.kind is MentionKind.HIM and (
            self._is_possessive(mention) or (tool.is_read and self._has_name_before(mention))
        ):
            return True
        if mention.kind is MentionKind.IT and self._is_joined_value(mention):
            return False
        if mention.kind is MentionKind.IT and self._is_topped(mention):
            return True
        if mention.kind in {MentionKind.IT, MentionKind.PLACE} and self._is_inside(item):
            return True
        if mention.kind in {MentionKind.IT, MentionKind.PLACE}:
            return not any(slot.role is ValueRole.AMOUNT for slot in self._slots)
        if mention.kind is MentionKind.ALL and self._is_in_purpose(mention):
            return True
        is_own = mention.kind is MentionKind.ALL and stem(mention.text.lower()) in tool.words
        return is_own or (tool.is_read and mention.kind in {MentionKind.ALL, MentionKind.SAME})

    def _is_in_purpose(self, mention: Mention) -> bool:
        """Return whether `for` and a verb are before a mention: `for carrying all those boxes`."""
        tokens = self._scan.tokens
        return any(
            tokens[place].word == "for" and tokens[place + 1].word.endswith("ing")
            for place in range(self._order.first, mention.first - 1)
        )

    def _is_tally(self, item: Item) -> bool:
        """Return whether a number counts the calls that follow one by one: `2 tickets: …`."""
        mention = item.mention
        is_count = (
            mention.kind is MentionKind.QUANTITY
            and mention.unit is UnitKind.NOUN
            and mention.value.denominator == 1
        )
        after = self._scan.tokens[mention.first : self._order.end]
        return (
            is_count
            and mention.value > 1
            and any(token.text == ":" for token in after)
            and not self._tool.is_read
        )

    def _is_possessive(self, mention: Mention) -> bool:
        """Return whether `his` belongs to a noun of a tool without recipient: `move his visit`."""
        after = self._scan.tokens[mention.end] if mention.end < len(self._scan.tokens) else None
        has_people = any(slot.role in _PEOPLE for slot in self._slots)
        return (
            mention.text.lower() in english.POSSESSIVES
            and not has_people
            and after is not None
            and stem(after.word) in self._tool.words
        )

    def _has_name_before(self, mention: Mention) -> bool:
        return any(
            one.kind is MentionKind.NAME and one.first < mention.first for one in self._mentions
        )

    def _is_joined_value(self, mention: Mention) -> bool:
        """Return whether `it` is an item of a list: `send it and 5 to repair`."""
        place = mention.end
        is_and = place + 1 < len(self._scan.tokens) and self._scan.tokens[place].word in {
            "and",
            "&",
        }
        owner = self._scan.owners[place + 1] if is_and else -1
        return owner >= 0 and self._scan.mentions[owner].kind is MentionKind.QUANTITY

    def _is_topped(self, mention: Mention) -> bool:
        """Return whether `it` is between verb and particle, with an amount: `top it up by 5`."""
        after = self._scan.tokens[mention.end] if mention.end < len(self._scan.tokens) else None
        is_between = (
            mention.first == self._order.head + 1
            and after is not None
            and after.word in english.PARTICLES
        )
        return is_between and any(one.kind is MentionKind.QUANTITY for one in self._mentions)

    def _is_inside(self, item: Item) -> bool:
        """Return whether a pronoun stands for a place, or for a value of the same order."""
        has_value = any(
            one.mention.first < item.mention.first
            and one.mention.kind in {MentionKind.QUANTITY, MentionKind.QUOTATION}
            for one in self._items
        )
        return has_value or item.preposition in {"from", "in", "into", "on", "out", "with", "onto"}

    def _explain(self, place: int) -> Obstacle:
        """Return why an item fills no slot."""
        mention = self._items[place].mention
        if mention.kind is MentionKind.PART:
            return Obstacle("part", mention.text, progress=7)
        for value in self._fits[place]:
            if isinstance(value, Obstacle) and value.reason != "role":
                return replace(value, progress=7)
        text = mention.text or self._scan.show(mention.first, mention.end)
        return Obstacle("left", text, progress=6)

    def _note(self, failure: Obstacle) -> None:
        if failure.progress >= self._failure.progress:
            self._failure = failure

    # -- each slot a value -- #

    def _complete(self, chosen: Sequence[tuple[int, ...]], score: int) -> None:
        """Note the calls of an assignment, if the pattern of values means some."""
        if self._has_two_tokens(chosen):
            self._note(Obstacle("several tokens", progress=8))
            return
        if self._has_article(chosen):
            self._note(Obstacle("lengths", progress=8))
            return
        misfit = find_misfit(
            self._scan, self._order, self._slots, self._items, chosen, has_each=self._has_each
        )
        if misfit is not None:
            self._note(misfit)
            return
        free: dict[int, tuple[Value, ...]] = {}
        for index, slot in enumerate(self._slots):
            if chosen[index]:
                continue
            values = self._find_free(slot, chosen)
            if not values and slot.is_list:
                values = self._find_listed(slot)
            if not values:
                self._note(Obstacle("missing", slot.name, progress=5))
                return
            free[index] = values
        lists = [index for index in free if self._slots[index].is_list]
        count = self._count_calls(
            chosen, {index: of for index, of in free.items() if index not in lists}
        )
        if count is None:
            return
        used = {place for of in chosen for place in of}
        tallies = [
            item.mention.value
            for place, item in enumerate(self._items)
            if place not in used and self._is_tally(item)
        ]
        if any(value != count for value in tallies):
            self._note(Obstacle("lengths", progress=8))
            return
        calls = tuple(self._make_call(chosen, free, number) for number in range(count))
        self._found.setdefault(calls, score)
        self._found[calls] = max(self._found[calls], score)

    def _has_article(self, chosen: Sequence[tuple[int, ...]]) -> bool:
        """Return whether `a match` is one of the numbers: `Ann for a match and Leo for 2`."""
        if all(len(of) < 2 for of in chosen):  # noqa: PLR2004
            return False
        words = [token.word for token in self._iter_tokens()]
        return any(
            word in {"a", "an", "one"} and stem(after) in slot.labels
            for slot, of in zip(self._slots, chosen, strict=True)
            if slot.role in NUMBERS and len(of) == 1 and not slot.is_id
            for word, after in pairwise(words)
        )

    def _has_two_tokens(self, chosen: Sequence[tuple[int, ...]]) -> bool:
        """Return whether the one token of a call differs from the unit of the amount."""
        tokens = [index for index, slot in enumerate(self._slots) if slot.role is ValueRole.TOKEN]
        if len(tokens) != 1 or is_got_token(self._slots[tokens[0]]):
            return False
        named = {self._items[place].mention.text for place in chosen[tokens[0]]}
        units = {
            self._items[place].mention.token_handle
            for slot, places in zip(self._slots, chosen, strict=True)
            if slot.role in NUMBERS
            for place in places
        } - {""}
        return bool(named) and bool(units) and named != units

    def _count_calls(
        self, chosen: Sequence[tuple[int, ...]], free: Mapping[int, tuple[Value, ...]]
    ) -> int | None:
        """Return the number of calls of an assignment; None if meaningless."""
        lists = {
            len(of) for slot, of in zip(self._slots, chosen, strict=True) if slot.is_list and of
        }
        single = [
            (slot, of)
            for slot, of in zip(self._slots, chosen, strict=True)
            if of and not slot.is_list
        ]
        counts = {len(of) for _, of in single} | {len(values) for values in free.values()}
        most = max(counts, default=1)
        if len(lists) > 1 and not (len(lists) == 2 and 1 in lists and self._has_each):  # noqa: PLR2004
            self._note(Obstacle("lengths", progress=8))
            return None
        if most == 1:
            is_amount = any(self._is_amount(slot, of) for slot, of in single)
            if is_amount and not lists and self._has_text("each"):
                # `20 USDC each for 10 pupils`, `Pay Ann 34 GHO each`
                self._note(Obstacle("each", progress=8))
                return None
            return 1
        if any(one.text.lower() == "in total" for one in self._mentions):
            self._note(Obstacle("each", progress=8))
            return None
        if lists or most > MAX_CALLS or counts - {1, most}:
            self._note(Obstacle("lengths", progress=8))
            return None
        shared = [slot for slot, of in single if len(of) == 1]
        several = [(slot, of) for slot, of in single if len(of) == most]
        things = [self._items[of[0]].mention for slot, of in single if len(of) == 1]
        is_counted = any(
            one.unit is UnitKind.NOUN and one.text != "degree" and one.kind is MentionKind.QUANTITY
            for one in things
        ) and any(slot.role in _PEOPLE for slot, _ in several)
        is_amount = any(slot.role is ValueRole.AMOUNT for slot in shared)
        if (is_amount or is_counted) and not self._has_each:
            self._note(Obstacle("each", progress=8))
            return None
        is_set = not self._tool.verbs.isdisjoint({"rename", "set"}) and len(single) == 1
        if len(several) == 1 and several[0][0].role is ValueRole.TEXT and is_set:
            self._note(Obstacle("lengths", progress=8))
            return None
        is_item = any(slot.role is ValueRole.COUNT and slot.is_id for slot in shared)
        is_put = is_item and bool(self._tool.heads & SETTERS or "set" in self._tool.verbs)
        if several and is_put and not any(slot.is_id for slot, _ in several):
            # `Set room 3 to 20 -2`
            self._note(Obstacle("lengths", progress=8))
            return None
        is_one = bool(self._tool.heads & (SETTERS | _POSTING)) or "set" in self._tool.verbs
        if len(several) == 1 and several[0][0].role in _PEOPLE and is_one and len(single) == 1:
            # `Make Ann and Ben captain`
            self._note(Obstacle("lengths", progress=8))
            return None
        is_given = not self._tool.heads.isdisjoint(_HANDS)
        if len(several) == 1 and several[0][0].role in _PEOPLE and is_item and is_given:
            # `Hand animal 4 over to Ann and Bob`
            self._note(Obstacle("lengths", progress=8))
            return None
        if (
            len(several) == 1
            and several[0][0].role in NUMBERS
            and not several[0][0].is_id
            and (is_item or self._says_again(several[0][1]))
        ):
            # `by 2 days (48 hours)`
            self._note(Obstacle("lengths", progress=8))
            return None
        if len(several) == 1 and several[0][0].role is ValueRole.AMOUNT:
            self._note(Obstacle("several amounts", progress=8))
            return None
        if len(several) == 1 and not self._is_listed(several[0][1]):
            self._note(Obstacle("lengths", progress=8))
            return None
        if any(self._is_mixed(slot, of) for slot, of in several):
            self._note(Obstacle("lengths", progress=8))
            return None
        if len(several) > 1 and not _alternate([of for _, of in several]):
            self._note(Obstacle("lengths", progress=8))
            return None
        return most

    def _is_amount(self, slot: ParameterSlot, of: Sequence[int]) -> bool:
        """Return whether values are amounts: by the slot, or by the unit that is said."""
        units = {self._items[place].mention.unit for place in of}
        return slot.role is ValueRole.AMOUNT or UnitKind.TOKEN in units

    def _has_text(self, text: str) -> bool:
        return any(one.text.lower() == text for one in self._mentions)

    def _says_again(self, places: Sequence[int]) -> bool:
        """Return whether only a bracket or an equals sign is between two values."""
        mentions = [self._items[place].mention for place in places]
        return any(
            {token.text for token in self._scan.tokens[one.end : other.first]}
            & {"(", "[", "=", "/", ":", "-", "\u2013", "\u2014", ">"}
            for one, other in pairwise(mentions)
        )

    def _is_listed(self, places: Sequence[int]) -> bool:
        """Return whether values are a list: in one sentence, after the same preposition."""
        items = [self._items[place] for place in places]
        if any(
            self._has_word_between(one.mention, other.mention) for one, other in pairwise(items)
        ):
            return False
        first, last = items[0].mention.first, items[-1].mention.first
        is_cut = any(token.text in {".", "!", "?"} for token in self._scan.tokens[first:last])
        return (
            not is_cut
            and len({item.preposition for item in items} - {""}) <= 1
            and (not any(item.preposition for item in items[1:]) or bool(items[0].preposition))
        )

    def _has_word_between(self, one: Mention, other: Mention) -> bool:
        """Return whether a word that is no noun of a number stands between two of a list."""
        return any(
            token.kind is TokenShape.WORD
            and self._scan.owners[place] < 0
            and token.word not in english.DETERMINERS | english.PREPOSITIONS | english.JOINTS
            and token.word not in english.GREETINGS | english.ADVERBS
            and stem(token.word) not in {*one.labels, *other.labels, "no", "nr", "number"}
            and stem(token.word) not in self._tool.words
            for place, token in enumerate(self._scan.tokens[one.end : other.first], start=one.end)
        )

    def _is_mixed(self, slot: ParameterSlot, places: Sequence[int]) -> bool:
        """Return whether some of a slot's numbers have the slot's name and others another."""
        mentions = [self._items[place].mention for place in places]
        # Only the last ones may lack the noun: `oven 3 to 220 and 4 to 180`.
        labelled = [bool(one.labels) for one in mentions]
        if labelled != sorted(labelled, reverse=True):
            return True
        named = {
            not slot.labels.isdisjoint(one.labels)
            for place, one in enumerate(mentions)
            if one.labels or not place
        }
        units = {
            self._items[place].mention.unit
            for place in places
            if slot.role is not ValueRole.AMOUNT and not self._items[place].inherited_unit
        }
        if mentions[0].unit is UnitKind.NOUN and units == {UnitKind.NOUN, UnitKind.NONE}:
            units = set()
        return len(named) > 1 or len(units) > 1

    def _make_call(
        self, chosen: Sequence[tuple[int, ...]], free: Mapping[int, tuple[Value, ...]], number: int
    ) -> PlannedCall:
        most = max(
            (len(of) for slot, of in zip(self._slots, chosen, strict=True) if slot.is_list),
            default=0,
        )
        index = 0
        values: list[tuple[Value, ...]] = []
        for parameter in self._tool.parameters:
            of: list[Value] = []
            for slot in parameter.slots:
                places = chosen[index]
                own = [
                    value
                    for place in places
                    if isinstance(value := self._fits[place][index], Value)
                ]
                if not own and slot.is_list:
                    of += free[index]
                elif not own:
                    given = free[index]
                    of.append(given[number if len(given) > 1 else 0])
                elif slot.is_list:
                    of += own * most if len(own) == 1 else own
                else:
                    of.append(own[number if len(own) > 1 else 0])
                index += 1
            values.append(tuple(of))
        return PlannedCall(self._tool.index, tuple(values))

    # -- slots without a value of their own -- #

    def _find_free(
        self, slot: ParameterSlot, chosen: Sequence[tuple[int, ...]]
    ) -> tuple[Value, ...]:
        """Return the values of a slot that no item fills: one, or one for each call."""
        if slot.role is ValueRole.TRUTH and slot.is_list:
            return self._read_truths()
        if slot.role is ValueRole.TRUTH and self._is_said_between(slot, chosen):
            each = self._read_named_each(slot, chosen) if slot.named else ()
            return tuple(Value(("true" if one.texts == ("1",) else "false",)) for one in each)
        if slot.role is ValueRole.TRUTH:
            truth = self._read_truth(slot)
            return () if truth is None else (truth,)
        if slot.role is ValueRole.TOKEN:
            return (
                ()
                if is_got_token(slot)
                else self._find_tokens(chosen) or self._find_same_token(slot)
            )
        if slot.named and self._is_said_between(slot, chosen):
            return self._read_named_each(slot, chosen)
        if slot.named:
            each = self._read_named_each(slot, chosen)
            if each:
                return each
            named = self._read_named(slot)
            is_mixed = any(len(of) > 1 for of in chosen) and self._says_for(slot)
            return () if named is None or is_mixed else (named,)
        prior = self._find_prior(slot)
        if prior:
            return prior
        if slot.is_chosen and slot.limits is not None:
            return (Value(numbers=slot.limits),)
        if slot.role is ValueRole.CHOICE and slot.stated:
            said = {token.word for token in self._iter_words()}
            found = [text for text in slot.stated if text.strip('"').lower() in said]
            is_other = bool(find_loose_words(self._scan, self._order, self._tool))
            return () if is_other and not found else (Value(tuple(found) or slot.stated),)
        if slot.options:
            said = {token.word for token in self._iter_words()}
            found = [option for option in slot.options if option.lower() in said]
            return (Value((to_json(found[0]),)),) if len(found) == 1 else ()
        if (
            slot.role is ValueRole.DATA
            and slot.name == "data"
            and slot.abi_type is not None
            and not slot.abi_type.size
        ):
            return (Value(('""',)),)
        if slot.role is ValueRole.TEXT:
            return self._find_words(slot, chosen)
        if slot.role is ValueRole.COUNT and "referral" in slot.names:
            return (Value(("0",)),)
        if ACCOUNT_HANDLE not in self._context.known.handles:
            return ()
        if "behalf" in slot.names and not any(chosen[place] for place in self._list_people()):
            return (Value((to_json(ACCOUNT_HANDLE),)),)
        is_own = slot.role in {ValueRole.PARTY, ValueRole.SOURCE} and self._tool.is_read
        is_mine = is_own and any(token.word in _FIRST_PERSON for token in self._iter_tokens())
        is_given = slot.role is ValueRole.SOURCE and not self._tool.is_read
        return (Value((to_json(ACCOUNT_HANDLE),)),) if is_mine or is_given else ()

    def _list_people(self) -> list[int]:
        return [index for index, slot in enumerate(self._slots) if slot.role in _PEOPLE]

    def _find_words(
        self, slot: ParameterSlot, chosen: Sequence[tuple[int, ...]]
    ) -> tuple[Value, ...]:
        """Return the text of the only words of an order that nothing else explains.

        The words stand together, after the slot's own name or without: `the price of oats`,
        `memo: rent`.
        """
        slots = [each for each in self._slots if each.role is ValueRole.TEXT]
        if self._context.told and len(slots) == 1:
            return self._find_told(slot, chosen)
        if len(slots) != 1 or any(
            mention.kind is MentionKind.QUOTATION for mention in self._mentions
        ):
            return ()
        words = find_loose_words(self._scan, self._order, self._tool)
        named = [run for run in words if self._scan.owners[run[0]] >= 0]
        if self._tool.is_read and len(words) > 1 and len(named) == 1:
            # `the score to beat in Skee Ball`
            words = named
        paired = self._pair_words(words, chosen)
        if paired and self._strength is Strength.STRONG:
            return paired
        if not slot.is_list and any(token.text == ":" for token in self._iter_tokens_between()):
            words = [run for run in words if len(words) == 1 and self._is_told_alone(run)]
        is_more = self._order.verb is not None and self._order.is_nominal
        if is_more and not all(self._is_told(first, slot) for first, _ in words):
            return ()
        is_example = all(
            stem(token.word) in self._tool.examples
            for run in words
            for token in self._scan.tokens[slice(*run)]
        )
        is_sure = self._strength is Strength.STRONG or (
            self._strength is Strength.FAIR and (self._tool.is_read or is_example)
        )
        is_meant = is_sure and (len(words) == 1 or slot.is_list)
        if not is_meant and not all(self._is_told(first, slot) for first, _ in words):
            return ()
        several = [self._items[place].mention.first for of in chosen if len(of) > 1 for place in of]
        if slot.is_list and not all(self._is_joined(*pair) for pair in pairwise(words)):
            return ()
        is_noun = len(words) == 1 and self._scan.owners[words[0][0]] >= 0
        if (
            len(words) == 1
            and several
            and min(several) < words[0][0] < max(several)
            and not is_noun
        ):
            return ()
        vague = english.DETERMINERS - {"our", "my"}
        objects = [run for run in words if self._is_object(run, slot)]
        if len(words) == len(objects) == 1 and self._strength is Strength.STRONG:
            text = self._scan.show(*words[0])
            return (Value((to_json(text),)),) if is_free(text) else ()
        if any(
            first
            and self._scan.tokens[first - 1 - self._is_renewed(first)].word in vague
            and (self._scan.owners[first] < 0 or self._scan.tokens[first - 1].text[0].isupper())
            for first, _ in words
        ):
            # `about the terrace` tells what a text is about.
            return ()
        if any(
            stem(token.word) in self._context.known.verbs
            for run in words
            for token in self._scan.tokens[slice(*run)]
        ):
            return ()
        if not all(self._is_text(run, slot) for run in words):
            return ()
        texts = [self._scan.show(*run) for run in words]
        return tuple(Value((to_json(text),)) for text in texts) if all(map(is_free, texts)) else ()

    def _pair_words(
        self, words: Sequence[tuple[int, int]], chosen: Sequence[tuple[int, ...]]
    ) -> tuple[Value, ...]:
        """Return one text for each value: `card 15 Thunder Cat and card 4 Lucky`."""
        several = [of for of in chosen if len(of) > 1]
        if not several or any(len(of) != len(words) for of in several):
            return ()
        ends = [self._items[place].mention.end for place in several[0]]
        tokens = self._scan.tokens
        mentions = [self._items[place].mention for place in several[0]]
        is_beside = (
            all(one.first < run[0] < one.end for run, one in zip(words, mentions, strict=True))
            or all(
                run[0] == end or (run[0] == end + 1 and tokens[end].text in _TELLING)
                for run, end in zip(words, ends, strict=True)
            )
            or all(
                # `the crown to Ann, the top hat to Ben`
                tokens[run[1]].word in {"to", "for"} and run[1] + 1 == one.first
                for run, one in zip(words, mentions, strict=True)
            )
            or all(
                # `rye, 95 kg, grade 2`, each on its line
                tokens[run[0] - 1].text in _BULLETS and run[0] > 0 and tokens[run[1]].text == ","
                for run in words
            )
        )
        texts = [self._scan.show(*run) for run in words]
        if not is_beside or not all(map(is_free, texts)):
            return ()
        return tuple(Value((to_json(text),)) for text in texts)

    def _is_object(self, run: tuple[int, int], slot: ParameterSlot) -> bool:
        """Return whether words are the object of the verb, of a tool for things: `lend the drill`.

        A preposition or the end follows, and the text is no prose.
        """
        tokens, head = self._scan.tokens, self._order.head
        if slot.is_list or not slot.names.isdisjoint(_PROSE) or head < 0:
            return False
        before = [token.word for token in tokens[head + 1 : run[0]]]
        after = tokens[run[1]] if run[1] < len(tokens) else None
        is_end = (
            after is None or run[1] >= self._order.end or after.word in {"to", "for", "from", "by"}
        ) and (after is None or after.text not in {"and", "&", ","})
        words = [token.word for token in tokens[run[0] : run[1]]]
        is_plain = not any(stem(word) in self._context.known.verbs for word in words)
        if not (slot.names | slot.labels | {"name"}).isdisjoint(map(stem, words)):
            # `the name zephyr`
            return False
        return before in (["the"], ["a"], ["an"], ["back", "the"], ["out", "the"]) and (
            is_end and is_plain
        )

    def _is_renewed(self, first: int) -> bool:
        """Return whether `new` or the like is before a word: `announce the new motto`."""
        word = self._scan.tokens[first - 1].word
        return first > 1 and word in {"new", "latest", "next", "last", "old", "current"}

    def _find_told(
        self, slot: ParameterSlot, chosen: Sequence[tuple[int, ...]]
    ) -> tuple[Value, ...]:
        """Return the texts of the sentence before: one, or for a list each."""
        texts = self._context.told
        if not slot.names.isdisjoint(_GROUNDS):
            # `The discussion on 3 is over. Vote for it` states no reason.
            return ()
        several = [of for of in chosen if len(of) > 1]
        is_each = len(several) == 1 and len(several[0]) == len(texts)
        if (len(texts) > 1 and not slot.is_list and not is_each) or not all(map(is_free, texts)):
            return ()
        return tuple(Value((to_json(text),)) for text in texts)

    def _is_text(self, run: tuple[int, int], slot: ParameterSlot) -> bool:
        """Return whether words are surely a text: one, capitalised, a list's, or announced."""
        tokens = self._scan.tokens
        after = tokens[run[1]] if run[1] < len(tokens) else None
        if (
            run[1] - run[0] == 1
            and tokens[run[0]].word.endswith("ly")
            and not self._is_told(run[0], slot)
        ):
            # `donate 5 ETH anonymously`
            return False
        if (
            after is not None
            and after.kind is TokenShape.SIGN
            and not after.is_spaced
            and after.text in {"-", "+", "/"}
        ):
            return False
        if after is not None and after.text in {"(", "["}:
            # `Dunes (1920)`
            return False
        following = tokens[run[1] + 1] if run[1] + 1 < len(tokens) else None
        if (
            not slot.is_list
            and after is not None
            and after.word in {"and", "&"}
            and following is not None
            and following.kind is TokenShape.WORD
            and (following.text[:1].isupper() or following.word == "back")
            and stem(following.word) not in self._context.known.verbs
        ):
            # `the Smith and Jones parties`
            owner = self._scan.owners[run[1] + 1]
            if owner < 0 or self._scan.mentions[owner].kind is MentionKind.STRANGER:
                return False
        is_counted = self._scan.owners[run[0]] >= 0
        is_named = all(token.text[:1].isupper() for token in tokens[run[0] : run[1]])
        is_target = tokens[run[0] - 1].word in {"to", "into", "in", "from"} if run[0] else False
        if is_target and not is_named and not slot.is_list:
            return False
        return (
            run[1] - run[0] == 1
            or (self._tool.is_read and not self._tool.is_search)
            or is_named
            or is_counted
            or slot.is_list
            or self._is_told(run[0], slot)
        )

    def _is_joined(self, run: tuple[int, int], after: tuple[int, int]) -> bool:
        """Return whether only commas and `and` stand between two texts."""
        return all(token.text in _JOINED for token in self._scan.tokens[run[1] : after[0]])

    def _is_told(self, place: int, slot: ParameterSlot) -> bool:
        """Return whether a text follows a colon or the slot's name: `Dana: chair`, `title Buoy`."""
        before = self._scan.tokens[place - 1] if place else None
        return before is not None and (before.text in _TELLING or stem(before.word) in slot.names)

    def _find_tokens(self, chosen: Sequence[tuple[int, ...]]) -> tuple[Value, ...]:
        """Return the unit token of each quantity of a call."""
        for slot, places in zip(self._slots, chosen, strict=True):
            if slot.role not in NUMBERS or not places:
                continue
            handles = [self._items[place].mention.token_handle for place in places]
            if all(handles):
                return tuple(Value((to_json(handle),)) for handle in handles)
        return ()

    def _find_same_token(self, slot: ParameterSlot) -> tuple[Value, ...]:
        """Return the token before, for a tool that reads: `deposit 5 DAI and show my balance`."""
        prior = self._context.prior_tokens
        is_meant = self._tool.is_read and len(prior) == 1 and not slot.is_list
        return (Value((prior[0],)),) if is_meant else ()

    def _find_prior(self, slot: ParameterSlot) -> tuple[Value, ...]:
        """Return the plain value that `it`, `them` or `that book` stands for."""
        if slot.role not in {ValueRole.COUNT, ValueRole.DATA} or slot.is_list:
            return ()
        kinds = {mention.kind for mention in self._mentions}
        is_meant = bool(
            kinds
            & {
                MentionKind.IT,
                MentionKind.PLACE,
                MentionKind.EACH,
                MentionKind.ALL,
                MentionKind.SAME,
            }
        )
        if not is_meant and not (slot.is_id and self._has_known_noun()):
            return ()
        values = [dict(call)[slot.name] for call in self._context.prior if slot.name in dict(call)]
        if not values:
            values = self._find_antecedents(slot)
        if len(set(values)) == 1:
            return (Value((values[0],)),)
        is_many = any(
            mention.kind is MentionKind.EACH
            or mention.text.lower() in {"them", "these", "those", "they"}
            for mention in self._mentions
        )
        return tuple(Value((value,)) for value in dict.fromkeys(values)) if is_many else ()

    def _has_known_noun(self) -> bool:
        """Return whether a noun of the tool stands for an earlier value: `end that loan`."""
        words = [token.word for token in self._iter_tokens()]
        return any(
            word in {"the", "that", "this", "said"} and stem(after) in self._tool.words
            for word, after in pairwise(words)
        )

    def _find_listed(self, slot: ParameterSlot) -> tuple[Value, ...]:
        """Return the numbers before the order that `them` or `both` stands for, as a list."""
        kinds = {mention.kind for mention in self._mentions}
        if (
            slot.role is not ValueRole.COUNT
            or not kinds & {MentionKind.IT, MentionKind.EACH}
            or kinds & {MentionKind.QUANTITY}
        ):
            return ()
        return tuple(Value((value,)) for value in dict.fromkeys(self._find_antecedents(slot)))

    def _find_antecedents(self, slot: ParameterSlot) -> list[str]:
        """Return the values of the nearest part before the order that fit a slot."""
        for items in self._context.antecedents:
            found = []
            for item in items:
                mention = item.mention
                is_plain = mention.kind is MentionKind.QUANTITY and mention.unit is UnitKind.NONE
                is_named = not slot.labels.isdisjoint(mention.labels) or not set(
                    mention.labels
                ) - _NUMBER_WORDS - (ALL_STEMS - self._context.known.slot_names)
                is_numbered = bool(mention.labels) and is_named
                if not (is_plain and is_named) or not (
                    slot.is_id or is_numbered or not slot.labels.isdisjoint(mention.labels)
                ):
                    continue
                value = fit(slot, item, self._context, self._tool)
                if not isinstance(value, Value) or not value.is_known:
                    # It may be what is meant, and does not fit.
                    return []
                found.append(value.texts[0])
            if found:
                return found
        return []

    def _read_truth(self, slot: ParameterSlot) -> Value | None:
        """Return the truth value of an order, both if a result decides; None if both are stated."""
        words = {
            stem(token.word) for token in self._iter_words() if token.word not in {"on", "off"}
        }
        words |= self._find_switches()
        found: set[bool] = set()
        for left, right in OPPOSITES:
            for own, other in ((left, right), (right, left)):
                if slot.names & own and not slot.names & other and words & (own | other):
                    found |= {True} if words & own else set()
                    found |= {False} if words & other else set()
        found |= {bool(number) for word, number in slot.named if word in words}
        named = read_named_truth(self._scan, self._order, slot)
        is_negated = any(one.kind is MentionKind.NEGATION for one in self._mentions)
        if is_negated:
            # `not express`: what is negated says it alone.
            return None if named is None else Value(("true" if named else "false",))
        if not found and named is not None and slot.names.isdisjoint(self._tool.name_words):
            found.add(named)
        if not found or not {"on", "off"}.isdisjoint(words):
            found |= {True} if not words.isdisjoint(_TRUE | {"on"}) else set()
            found |= {False} if not words.isdisjoint(_FALSE | {"off"}) else set()
        if len(found) > 1:
            return None
        if found:
            return Value(("true" if True in found else "false",))
        if self._context.has_result:
            # `Read the criteria and decide on the loan`: what is read says which.
            return Value(("true", "false"))
        return None if slot.names.isdisjoint(_EXTRAS) else Value(("false",))

    def _read_truths(self) -> tuple[Value, ...]:
        """Return the truth values that an order lists, in order."""
        words = [stem(token.word) for token in self._iter_words()]
        return tuple(
            Value(("true" if word in _TRUE or word == "on" else "false",))
            for word in words
            if word in _TRUE | _FALSE | {"on", "off"}
        )

    def _find_switches(self) -> set[str]:
        """Return `on` and `off` that are no prepositions: `turn it off`, `lights on`."""
        found = set()
        for part in self._order.parts:
            for place in range(part.first, part.end):
                word = self._scan.tokens[place].word
                after = self._scan.tokens[place + 1] if place + 1 < part.end else None
                is_last = (
                    place == part.first
                    or after is None
                    or after.kind is not TokenShape.WORD
                    or self._scan.owners[place + 1] >= 0
                )
                is_beside = (
                    place == self._order.head + 1
                    and self._scan.tokens[place - 1].word in _SWITCHING
                ) or (
                    self._order.head >= 0
                    and self._scan.tokens[self._order.head].word in {"turn", "switch"}
                    and after is not None
                    and after.word in english.PREPOSITIONS
                )
                is_switch = after is not None and after.word in {"for", "in", "at", "by"}
                if word in {"on", "off"} and (is_last or is_beside or is_switch):
                    found.add(word)
        return found

    def _read_named(self, slot: ParameterSlot) -> Value | None:
        """Return the one integer that a word of the order stands for, or None."""
        words = [stem(token.word) for token in self._iter_tokens()]
        said, text = set(words), f" {' '.join(words)} "
        named = dict(slot.named)
        found = {number for word, number in slot.named if f" {word} " in text and word != "for"}
        head = self._order.head
        after = self._scan.tokens[head + 1].word if 0 <= head < self._order.end - 1 else ""
        if found and "for" in named and after == "for":
            # `vote for 3 because I am against 4`
            return None
        if not found and "for" in named and "against" in named:
            found |= {named["for"]} if said & _YES else set()
            found |= {named["against"]} if said & _NO else set()
            if not found and "for" in said:
                found.add(named["for"])
        return Value((str(found.pop()),)) if len(found) == 1 else None

    def _says_for(self, slot: ParameterSlot) -> bool:
        """Return whether an order has both `for` and `against`: the assignment may be unclear."""
        words = {token.word for token in self._iter_tokens()}
        return {"for", "against"} <= words and "against" in dict(slot.named)

    def _is_said_between(self, slot: ParameterSlot, chosen: Sequence[tuple[int, ...]]) -> bool:
        """Return whether a word of a choice stands between the values of several calls."""
        several = [of for of in chosen if len(of) > 1]
        if not several or any(
            s.is_list for s, of in zip(self._slots, chosen, strict=True) if of in several
        ):
            return False
        firsts = [self._items[place].mention.first for of in several for place in of]
        words = {word for name, _ in slot.named for word in name.split()}
        if slot.role is ValueRole.TRUTH:
            words |= slot.names | _TRUE | _FALSE | {"on", "off"}
        return any(
            min(firsts) < place < max(firsts) and stem(token.word) in words
            for part in self._order.parts
            for place, token in enumerate(self._scan.tokens[part.first : part.end], part.first)
        )

    def _read_named_each(
        self, slot: ParameterSlot, chosen: Sequence[tuple[int, ...]]
    ) -> tuple[Value, ...]:
        """Return the integer that a word stands for beside each value: `1: for, 2: against`.

        The words are all before, all in, or all after the values.
        """
        several = [of for of in chosen if len(of) > 1]
        if not several or len({len(of) for of in several}) > 1:
            return ()
        mentions = [self._items[place].mention for place in several[0]]
        firsts = [mention.first for mention in mentions]
        spans = (
            [*zip((self._order.first, *(one.end for one in mentions)), firsts, strict=False)],
            [(one.first, one.end) for one in mentions],
            [*pairwise((*(one.end for one in mentions), self._order.end))],
        )
        found = {of for span in spans if (of := self._read_named_in(slot, span))}
        return found.pop() if len(found) == 1 else ()

    def _read_named_in(
        self, slot: ParameterSlot, spans: Sequence[tuple[int, int]]
    ) -> tuple[Value, ...]:
        """Return the one integer that a word in each span stands for; empty if missing in one."""
        found: list[Value] = []
        for start, end in spans:
            words = " ".join(stem(token.word) for token in self._scan.tokens[start:end])
            numbers = {number for word, number in slot.named if f" {word} " in f" {words} "}
            if len(numbers) != 1:
                return ()
            found.append(Value((str(numbers.pop()),)))
        return tuple(found)

    def _iter_tokens(self) -> Iterator[Token]:
        """Yield the tokens of the order without courtesies: `as soon as possible`."""
        for first, end in self._spans:
            for place in range(first, end):
                owner = self._scan.owners[place]
                mention = self._scan.mentions[owner] if owner >= 0 else None
                if mention is None or mention.kind is not MentionKind.COURTESY:
                    yield self._scan.tokens[place]

    def _is_told_alone(self, run: tuple[int, int]) -> bool:
        """Return whether words are all between a colon and the next sign."""
        tokens = self._scan.tokens
        is_end = run[1] >= len(tokens) or tokens[run[1]].kind is TokenShape.SIGN
        if is_end and self._order.end <= run[1] < len(tokens) - 1 and tokens[run[1]].text == ",":
            # `note: boiler serviced, new filter fitted` goes on.
            return False
        if len(self._slots) > 1 and not is_end:
            # `prices: barley up 2 cents`
            is_end = self._scan.owners[run[1]] >= 0 or tokens[run[1]].word in english.PARTICLES
        is_counted = self._scan.owners[run[0]] >= 0
        return is_counted or (tokens[run[0] - 1].text == ":" and is_end)

    def _iter_tokens_between(self) -> tuple[Token, ...]:
        """Return the tokens from the first part to the last, with the signs between and after."""
        return self._scan.tokens[self._order.first : self._order.end + 1]

    def _iter_words(self) -> Iterator[Token]:
        for first, end in self._spans:
            for place in range(first, end):
                token = self._scan.tokens[place]
                if self._scan.owners[place] < 0 and token.kind is TokenShape.WORD:
                    yield token


def _alternate(places: Sequence[tuple[int, ...]]) -> bool:
    """Return whether values of several slots come in groups, each with one of every slot."""
    size = len(places)
    ordered = sorted((place, index) for index, of in enumerate(places) for place in of)
    groups = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return all(len({index for _, index in group}) == size for group in groups)


_PROSE = frozenset(
    map(
        stem,
        (  # noqa: SIM905
            "text note message memo reason description title entry headline purpose comment motto "
            "inscription nickname query prompt name role tags"
        ).split(),
    )
)
"""Names of texts that say something, and name no thing."""

_GROUNDS = frozenset(map(stem, ("reason", "comment", "memo", "remark")))
"""Names of texts that say why: a noun of the sentence before is none."""

_POSTING = frozenset(map(stem, ("assign", "delegate", "appoint", "elect")))
_HANDS = frozenset(map(stem, ("hand", "give", "transfer", "send", "pass", "move")))
_PAPER_NOUNS = frozenset(map(stem, ("bill", "invoice", "receipt", "course")))
_TOKEN_NOUNS = frozenset(map(stem, ("nft", "piece", "work", "item", "copy", "edition", "one")))
_GENERIC = frozenset(map(stem, ("token", "tokens", "item", "items")))
_BULLETS = frozenset(("-", "\u2022", "*", "\n"))
_JOINED = frozenset((",", "and", "&", "n", "\n", "-", "\u2022", "*"))
_PRONOUNS = frozenset((MentionKind.IT, MentionKind.HIM))
_SWITCHING = frozenset("switch turn put set leave keep flip power".split())  # noqa: SIM905
_TELLING = frozenset((":", "=", "-", "\u2013", "\u2014"))
_PEOPLE = frozenset((ValueRole.PARTY, ValueRole.RECIPIENT, ValueRole.SOURCE))
_NUMBER_WORDS = frozenset(map(stem, ("number", "numbers", "no", "nr", "item", "id")))
_EXTRAS = frozenset(map(stem, ("express", "urgent", "rush", "priority", "gift", "insured")))
"""Names of truth values that are false where nothing is said."""

_TRUE = frozenset(map(stem, english.TRUE_WORDS))
_FALSE = frozenset(map(stem, english.FALSE_WORDS))
_YES = frozenset(map(stem, ("yes", "favour", "favor", "pro", "aye", "support", "back")))
_NO = frozenset(map(stem, ("no", "nay", "contra", "oppose", "reject")))

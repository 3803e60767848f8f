"""Remarks around the orders of a request, which may take orders back.

    Send Ann 40 USDC. 35 is enough.       the remark takes the order back
    Diary: close the gate                 the header makes a text of the order
    [x] Pay bill 7                        is done
    Send Ann 40 USDC. I owe her that.     gives the reason

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from precompiles.short_format.english import (
    AUXILIARIES,
    CONSENTS,
    DETERMINERS,
    DISMISSALS,
    QUESTION_WORDS,
    RETRACTIONS,
    SAYING,
    SETTLED,
    SUBJECTS,
    UNORDERED,
    VERBS,
)
from precompiles.short_format.mentions import UNKNOWN, VALUES, MentionKind, UnitKind
from precompiles.short_format.orders import Mood, list_mentions
from precompiles.short_format.phrases import is_past, stem
from precompiles.short_format.roles import ValueRole
from precompiles.short_format.tokens import TokenShape
from precompiles.short_format.values import SUMS, Obstacle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from precompiles.short_format.mentions import KnownWords, Scan
    from precompiles.short_format.orders import Order, Part
    from precompiles.short_format.roles import ToolRoles


@dataclass(frozen=True, slots=True)
class Remark:
    """Why a remark around the orders lets nothing be done."""

    failure: Obstacle
    clause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """The parts of a request beside the orders."""

    question: str
    scan: Scan
    parts: Sequence[Part]
    orders: Sequence[Order]
    statements: Sequence[Part]
    tools: Sequence[ToolRoles]
    known: KnownWords
    forbidden: frozenset[str]
    """Handles of tokens and targets."""

    def _list_text_words(self) -> frozenset[str]:
        """Return the words of the tools that write texts, which may introduce a text."""
        return frozenset(
            word
            for tool in self.tools
            if not tool.is_read
            for slot in tool.slots
            if slot.role is ValueRole.TEXT and not slot.options
            for word in tool.words | slot.names
        )

    def find_obstacle(self) -> Remark | None:
        """Return the first remark that lets nothing be done; None if the orders stand."""
        hard = {
            MentionKind.NEGATION,
            MentionKind.EXCEPTION,
            MentionKind.CORRECTION,
            MentionKind.CONDITION,
        }
        verbs = frozenset(word for tool in self.tools for word in tool.name_words)
        for part in self.parts[1:]:
            # `2 goals for Mia. Or was it Jonas?`
            if part.mood is Mood.QUESTION and self.scan.tokens[part.head].word == "or":
                text = self.scan.show(part.first, part.end)
                return Remark(Obstacle("alternative", text), text)
        tick = next((one.text for one in self.scan.tokens if one.text in _TICKS), "")
        if tick or _TICKED.search(self.question):
            return Remark(Obstacle("report", tick or "[x]"), self.question)
        for part in self.parts:
            words = {self.scan.tokens[place].word for place in range(part.first, part.end)}
            if part.mood is Mood.QUESTION and "think" in words:
                # `Do you think we ought to vote for proposal 8?`
                text = self.scan.show(part.first, part.end)
                return Remark(Obstacle("question", text), text)
        dictated = self._find_dictated() or self._find_tail()
        if dictated is not None:
            return dictated
        for part in self.parts:
            settled = self._find_settled(part)
            if settled is not None:
                return settled
        asides = [part for part in self.parts if part.is_aside]
        for part in asides:
            words = {self.scan.tokens[place].word for place in range(part.first, part.end)}
            for mention in list_mentions(self.scan, part.first, part.end):
                is_soft = mention.kind is MentionKind.NEGATION and not words & _COMMANDING
                is_soft = is_soft and {stem(word) for word in words}.isdisjoint(verbs)
                if mention.kind in hard and not (is_soft and part.mood is Mood.EMPTY):
                    failure = Obstacle(mention.kind.name.lower(), mention.text)
                    return Remark(failure, self.scan.show(part.first, part.end))
        for part in self.statements:
            is_told = part.before == ":" and (
                self._names_tool_before(part) or self._says_nothing(part)
            )
            is_alone = part.before in {"and", "&"} and self._is_participle(part)
            if self._is_joined(part) or is_told or is_alone or self._obliges(part):
                return Remark(Obstacle("statement"), self.scan.show(part.first, part.end))
            words = {self.scan.tokens[place].word for place in range(part.first, part.end)}
            has_value = any(
                one.kind is MentionKind.QUANTITY and one.unit is UnitKind.TOKEN
                for one in list_mentions(self.scan, part.first, part.end)
            )
            told = words | self._list_following(part)
            is_wish = told & _WISHING and any(
                one.kind in VALUES - {MentionKind.IT, MentionKind.HIM, MentionKind.NAME}
                for one in list_mentions(self.scan, part.first, part.end)
            )
            if (is_wish or (has_value and words & _COMMANDING)) and not self._has_reference(
                part.end
            ):
                return Remark(Obstacle("statement"), self.scan.show(part.first, part.end))
            has_any = any(
                one.kind in VALUES - {MentionKind.IT, MentionKind.HIM}
                for one in list_mentions(self.scan, part.first, part.end)
            )
            opening = self.scan.tokens[max(part.first, part.opener_end)].word.partition("'")[0]
            is_named = any(
                one.kind is MentionKind.NAME and one.text not in self.forbidden
                for one in list_mentions(self.scan, part.first, part.end)
            )
            if is_named and opening in {"it", "that", "this", "they", "these", "those"}:
                # `It is for Ann` may say who is meant.
                return Remark(Obstacle("statement"), self.scan.show(part.first, part.end))
            if self._is_performed(part):
                return Remark(Obstacle("statement"), self.scan.show(part.first, part.end))
            repeated = next(
                (
                    one.text
                    for one in list_mentions(self.scan, part.first, part.end)
                    if one.kind is MentionKind.REPEAT and one.text.lower() in _EVERY
                ),
                "",
            )
            if repeated and has_any and self._has_reference(part.end):
                # `We need room 2 every Thursday at 19. Please reserve it.`
                return Remark(Obstacle("repeat", repeated), self.scan.show(part.first, part.end))
            is_mine = bool(words & {"i", "we", "you", "i'm", "i'd", "we're", "we'd"}) and bool(
                {stem(word) for word in words} & verbs
            )
            is_context = not words & _COMMANDING and not is_mine
            for mention in list_mentions(self.scan, part.first, part.end):
                is_soft = (
                    mention.kind is MentionKind.NEGATION
                    or (mention.kind is MentionKind.EXCEPTION and not has_any)
                    or (mention.kind is MentionKind.CONDITION and self._is_about_person(part))
                )
                if mention.kind in hard and not (is_context and is_soft):
                    failure = Obstacle(mention.kind.name.lower(), mention.text)
                    return Remark(failure, self.scan.show(part.first, part.end))
        return None

    def _find_tail(self) -> Remark | None:
        """Return the remark after an order that may cancel the order, or report it done.

        `Send Ann 40 USDC. 35 is enough.`, `…, Omar will do that.`, `Pay invoice 7. Done.`
        """
        first = min((one.first for one in self.orders), default=0)
        end = max((one.end for one in self.orders), default=0)
        for part in self.parts:
            if part.first <= first or part.mood not in {Mood.STATEMENT, Mood.EMPTY, Mood.QUESTION}:
                continue
            words = [self.scan.tokens[place].word for place in range(part.first, part.end)]
            said = set(words)
            mentions = [*list_mentions(self.scan, part.first, part.end)]
            is_amount = any(
                one.kind is MentionKind.QUANTITY
                and (one.unit is UnitKind.TOKEN or (one.unit is UnitKind.NONE and not one.labels))
                and self.scan.tokens[one.first - 1].word not in {"at", "until", "till"}
                and not (
                    # `The due week is 40` says what the order lacks.
                    words[0] in DETERMINERS
                    and self.scan.tokens[one.first - 1].word in {"is", "are"}
                )
                for one in mentions
            ) and SUMS.isdisjoint(map(stem, words))
            is_last = part.first >= end or part.mood is Mood.STATEMENT
            is_negated = any(one.kind is MentionKind.NEGATION for one in mentions)
            is_open = {"first", "check"} & said and said & _OBLIGING
            is_taken_back = (
                not said.isdisjoint(RETRACTIONS)
                or (len(words) <= _REMARK and not said.isdisjoint(DISMISSALS))
                or (_says_done(words) and words != ["do", "it"])
                or (is_negated and not said.isdisjoint(CONSENTS | SAYING))
                or is_open
                or ("too", "much") in pairwise(words)
            )
            is_said = part.mood is Mood.STATEMENT and words[-1] in SAYING
            is_opinion = part.mood is Mood.QUESTION and (
                "think" in said or (len(words) <= 2 and not said & QUESTION_WORDS)  # noqa: PLR2004
            )
            is_told = part.mood is Mood.STATEMENT and is_amount
            is_other = is_told or (is_last and (is_taken_back or is_said)) or is_opinion
            if is_other and not self._has_reference_after(part):
                text = self.scan.show(part.first, part.end)
                return Remark(Obstacle("statement"), text)
        return None

    def _has_reference_after(self, part: Part) -> bool:
        """Return whether an order follows a statement, which may name the object of that order."""
        return any(one.first >= part.end for one in self.orders)

    def _find_dictated(self) -> Remark | None:
        """Return why an order after a header is void: `Diary: close run 3`, `On hold: pay Ann`.

        The header names a taker of texts, or states that nothing is to be done.
        """
        for header, part in pairwise(self.parts):
            is_short = header.end - header.first <= 2  # noqa: PLR2004
            is_same_line = part.before == ":" or (part.before in {"-", "\u2013"} and is_short)
            is_same_line = is_same_line and not part.is_start
            is_order = part.mood in {Mood.ORDER, Mood.NOMINAL, Mood.RECEIVING}
            if not is_same_line or not is_order or header.mood is Mood.ORDER:
                continue
            if any(
                one.kind in VALUES - {MentionKind.CLOCK}
                for one in list_mentions(self.scan, header.first, header.end)
            ) and not any(
                self.scan.tokens[place].word in _DATES for place in range(header.first, header.end)
            ):
                continue
            words = [
                self.scan.tokens[place].word
                for place in range(header.first, header.end)
                if self.scan.owners[place] < 0 and self.scan.tokens[place].kind is TokenShape.WORD
            ]
            is_polite = any(
                one.kind is MentionKind.COURTESY
                for one in list_mentions(self.scan, part.first, part.end)
            )
            is_dictated = bool(self._list_text_words() & set(map(stem, words))) and not is_polite
            is_dictated = is_dictated and part.mood is Mood.ORDER and part.before == ":"
            kinds = {one.kind for one in list_mentions(self.scan, header.first, header.end)}
            is_decided = "decided" in words or "agreed" in words
            is_dictated = is_dictated and not is_decided
            is_clause = bool(words) and words[0].partition("'")[0] in SUBJECTS
            is_listed = any(
                word in UNORDERED and stem(word) not in self.known.words for word in words
            )
            is_put_off = (is_listed and not is_clause) or (
                bool(kinds & {MentionKind.EARLIER, MentionKind.DOUBT, MentionKind.LATER})
                or any(
                    self.scan.tokens[place].word in _DATES
                    for place in range(header.first, header.end)
                )
                or MentionKind.CLOCK in kinds
            )
            if header.is_start and (is_dictated or is_put_off):
                text = self.scan.show(header.first, header.end)
                return Remark(Obstacle("quoted" if is_dictated else "report", text), text)
        return None

    def _obliges(self, part: Part) -> bool:
        """Return whether something has to be done to a thing: `it can go back`, `7 has to move`."""
        first = max(part.first, part.opener_end)
        owner = self.scan.owners[first + 1] if first + 1 < part.end else -1
        is_item = owner >= 0 and self.scan.mentions[owner].kind is MentionKind.QUANTITY
        is_it = self.scan.tokens[first].word in {"it", "they", "these", "both"}
        words = [token.word for token in self.scan.tokens[first : part.end]]
        is_modal = any(
            word in {"can", "may", "must", "should", "could", "shall"}
            or (word in {"has", "have", "needs", "need", "ought"} and after == "to")
            for word, after in pairwise(words)
        )
        return (is_item or is_it) and is_modal

    def _names_tool_before(self, part: Part) -> bool:
        """Return whether a header of one word is a tool's noun: `Diary: slept well`."""
        place = part.first - 2
        starts = {one.first for one in self.parts if one.is_start}
        return place in starts and stem(self.scan.tokens[place].word) in self.known.words

    def _says_nothing(self, part: Part) -> bool:
        """Return whether an item of a list gets nothing, or was paid: `Ann: 5. Ben: nothing`."""
        words = [self.scan.tokens[place].word for place in range(part.first, part.end)]
        return words[0] in {"nothing", "none"} | SETTLED

    def _is_participle(self, part: Part) -> bool:
        """Return whether a part is one participle: `and locked`."""
        token = self.scan.tokens[part.first]
        is_one = part.end - part.first == 1 and not part.is_start
        return is_one and token.kind is TokenShape.WORD and self.scan.owners[part.first] < 0

    def _find_settled(self, part: Part) -> Remark | None:
        """Return why a line with `(already paid)` or `[cancelled]` is not to be done."""
        before = self.scan.tokens[part.first - 1].text if part.first else ""
        after = self.scan.tokens[part.end].text if part.end < len(self.scan.tokens) else ""
        words = {token.word for token in self.scan.tokens[part.first : part.end]}
        has_value = any(
            one.kind in VALUES for one in list_mentions(self.scan, part.first, part.end)
        )
        is_plain = has_value and not words & {"paid", "done", "settled", "sent"}
        if before not in {"(", "["} or after not in {")", "]"} or is_plain or not words & SETTLED:
            return None
        text = self.scan.show(part.first, part.end)
        return Remark(Obstacle("report"), text)

    def _list_following(self, part: Part) -> set[str]:
        """Return the words of the statements that go on in a part's sentence."""
        found: set[str] = set()
        for one in self.statements:
            if one.first <= part.first:
                continue
            if one.is_start:
                break
            found |= {self.scan.tokens[place].word for place in range(one.first, one.end)}
        return found

    def _is_about_person(self, part: Part) -> bool:
        """Return whether a sentence without a value is about people: `She left after lunch`."""
        word = self.scan.tokens[max(part.first, part.opener_end)].word
        has_value = any(
            one.kind in VALUES - {MentionKind.HIM}
            for one in list_mentions(self.scan, part.first, part.end)
        )
        is_person = word.partition("'")[0] in {"he", "she", "they", "we", "i"}
        return part.is_start and is_person and not has_value

    def _is_joined(self, part: Part) -> bool:
        """Return whether a statement belongs to the previous order: `… and Vex the same`."""
        if part.is_start:
            return False
        index = self.parts.index(part)
        before: list[Part] = []
        for one in reversed(self.parts[:index]):
            before.append(one)
            if one.is_start:
                break
        if not any(one.mood in {Mood.ORDER, Mood.RECEIVING, Mood.QUESTION} for one in before):
            return False
        mentions = [*list_mentions(self.scan, part.first, part.end)]
        if part.before in {"and", "&", "n", "plus"}:
            return any(
                one.kind in (VALUES | UNKNOWN) - {MentionKind.IT, MentionKind.SELF, MentionKind.HIM}
                for one in mentions
            )
        amounts = {
            MentionKind.QUANTITY,
            MentionKind.SAME,
            MentionKind.ALL,
            MentionKind.EACH,
            MentionKind.PART,
        }
        has_number = any(one.kind is MentionKind.QUANTITY for one in mentions)
        if has_number and mentions[0].kind in {MentionKind.EACH, MentionKind.SAME}:
            # `…, both out of the till of shop 3`
            return True
        is_named = bool(mentions) and mentions[0].kind in {MentionKind.NAME, MentionKind.STRANGER}
        is_open = any(one.kind in {MentionKind.SOMEBODY, MentionKind.QUOTATION} for one in mentions)
        amounts.add(MentionKind.QUOTATION)
        return (is_named or is_open) and any(one.kind in amounts for one in mentions)

    def _is_performed(self, part: Part) -> bool:
        """Return whether a statement has values and a tool's present verb: `I give it 3 stars`."""
        verbs = {word for tool in self.tools if not tool.is_read for word in tool.name_words}
        meanings = {
            verb
            for tool in self.tools
            if not tool.is_read
            for name in tool.verbs
            for verb in VERBS[name]
        }
        has_value = any(
            one.kind in VALUES - {MentionKind.IT, MentionKind.HIM}
            for one in list_mentions(self.scan, part.first, part.end)
        )
        words = [self.scan.tokens[place].word for place in range(part.first, part.end)]
        subjects = {"i", "we", "i'll", "we'll", "i'd"}
        is_told = self._has_reference(part.end)
        return has_value and any(
            word in subjects
            and (
                after in meanings or stem(after) in verbs or (after not in _STATING and not is_told)
            )
            and not is_past(after)
            and not after.endswith("n't")
            for word, after in pairwise(words)
        )

    def _has_reference(self, place: int) -> bool:
        """Return whether the words after a token refer to something before."""
        kinds = {MentionKind.IT, MentionKind.SAME, MentionKind.HIM, MentionKind.EACH}
        return any(one.first >= place and one.kind in kinds for one in self.scan.mentions)


def _says_done(words: Sequence[str]) -> bool:
    """Return whether words report a task done, or another doer: `Omar will do that`."""
    acts = {"do", "does", "did", "doing", "done", "handle", "handles", "handled"}
    is_all = words[-1] in acts or any(
        word in acts and after in {"it", "that", "this", "so", "them"}
        for word, after in pairwise(words)
    )
    return is_all or words[-2:] == ["on", "it"]


_EVERY = frozenset(("every", "daily", "weekly", "monthly", "yearly", "hourly"))
"""Words that repeat what a sentence tells; `again` and `always` may be about the past."""

_DATES = frozenset(
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur fri sat sun".split()  # noqa: SIM905
)
"""Short names of months and days."""

_OBLIGING = frozenset("needs need must has have should will 'll he'll she'll i'll let".split())  # noqa: SIM905

_REMARK = 5
"""Words of a short remark."""

_STATING = AUXILIARIES | frozenset(
    [
        "owe",
        "need",
        "want",
        "like",
        "know",
        "think",
        "hope",
        "guess",
        "believe",
        "feel",
        "see",
        "got",
        "also",
        "still",
        "really",
        "already",
        "never",
        "just",
        "only",
        "'ve",
        "'m",
        "'d",
        "'ll",
        "work",
        "live",
        "come",
        "go",
        "usually",
        "always",
        "often",
        "prefer",
        "love",
        "hate",
        "understand",
        "remember",
    ]
)
"""What follows the subject of a statement that is no act."""

_WISHING = frozenset("should must shall needs wants".split())  # noqa: SIM905
"""Words of a statement that wants something done."""

_COMMANDING = frozenset(
    "should must may shall let get gets receive receives "  # noqa: SIM905
    "send pay give allow allowed please stop".split()
)
"""Words with which a negated statement is about an order."""

_TICKS = frozenset("\u2713\u2714\u2705\u2611\u2717\u2718\u274c")

_TICKED = re.compile(r"\[[xX]\]")
"""A line of a list that is done."""

"""The orders of a request: parts, each with a mood, put together by heads.

    Hi! Send 5 USDC to Bob and 3 to Alice, then show my balance. I owe them that.
        ^^^^^^^^^^^^^^^^^^     ^^^^^^^^^^       ^^^^^^^^^^^^^^^  ^^^^^^^^^^^^^^^^
        head                  continuation     head             statement

A part stands between punctuation, line breaks and the words `and`, `then` and `but`. A head begins
with a verb; all parts up to the next head belong to the order of that head.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from precompiles.short_format import english
from precompiles.short_format.mentions import (
    AFTER_IS,
    BLOCKS,
    NUMBER_MARKS,
    UNKNOWN,
    VALUES,
    Mention,
    MentionKind,
    UnitKind,
)
from precompiles.short_format.phrases import PhraseTable, is_past, stem
from precompiles.short_format.roles import ValueRole
from precompiles.short_format.tokens import TokenShape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from precompiles.short_format.mentions import KnownWords, Scan


class Mood(Enum):
    """The mood of a part."""

    ORDER = auto()
    """It begins with a verb, maybe after `could you please`."""

    NOMINAL = auto()
    """It has no verb: `5 USDC to Bob`, `and 3 to Alice`."""

    RECEIVING = auto()
    """`Bob gets 5`."""

    QUESTION = auto()
    STATEMENT = auto()
    """About something: `I owe Bob 5`, `The rent is due`."""

    CONDITION = auto()
    """`If Bob asks`, `unless it rains`."""

    EMPTY = auto()
    """Courtesy, or an introduction."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a request."""

    first: int
    end: int
    """Tokens."""

    mood: Mood
    head: int = -1
    """The token of the verb, of an order."""

    is_start: bool = True
    """Whether it begins a sentence."""

    opener_end: int = 0
    """Where what follows `could you please` begins."""

    is_wish: bool = False
    """Whether it begins with `I want to` or the like."""

    is_aside: bool = False
    """Whether it belongs to a statement in parentheses."""

    is_loose: bool = False
    """Whether it begins with a word that is no verb: `and eggs`."""

    before: str = ""
    """The sign or the word before it, such as a comma or `and`."""

    def holds(self, mention: Mention) -> bool:
        """Return whether a mention stands in the part."""
        return self.first <= mention.first < self.end


@dataclass(frozen=True, slots=True)
class Order:
    """Parts that order one thing, or one thing several times."""

    parts: tuple[Part, ...]
    is_question: bool = False
    verb: Part | None = None
    """The part whose verb it continues: `3 to Ann` after `Send 5 USDC to Bob`."""

    @property
    def first(self) -> int:
        """The first token."""
        return self.parts[0].first

    @property
    def end(self) -> int:
        """The end of the last token."""
        return self.parts[-1].end

    def holds(self, mention: Mention) -> bool:
        """Return whether a mention stands in one of the parts."""
        return any(part.holds(mention) for part in self.parts)

    def list_mentions(self, scan: Scan) -> list[Mention]:
        """Return the mentions of the parts."""
        return [mention for mention in scan.mentions if self.holds(mention)]

    @property
    def head(self) -> int:
        """The token of the verb, the order's own or a continued one; -1 without a verb."""
        return -1 if self.head_part is None else self.head_part.head

    @property
    def head_part(self) -> Part | None:
        """The part with the verb."""
        return next((part for part in self.parts if part.head >= 0), self.verb)

    @property
    def is_nominal(self) -> bool:
        """Whether the order has no verb of its own."""
        return all(part.head < 0 for part in self.parts)


_PERSONS = frozenset("i we he she they you who everybody everyone".split())  # noqa: SIM905
_OPENERS: PhraseTable[bool] = PhraseTable({True: english.OPENERS})
RECEIVES: PhraseTable[bool] = PhraseTable({True: english.RECEIVES})
_SENTENCE_ENDS = frozenset((".", "!", "?", "\n", ";"))
_PART_ENDS = frozenset(
    (",", ":", "(", ")", "\u2014", "\u2013", "-", "\u2022", "*", "\u2192", ">", "|")
)
_BULLETS = frozenset(("-", "*", "\u2022", "\u2013"))
_SWITCHES = frozenset(("on", "off", "up", "down", "in", "out"))
_DEAR = 4
"""Words of a salutation."""

_FEW_WORDS = 2
"""Words of a part that is no order without a verb that is known."""

_JOINTS = frozenset(("and", "then", "but", "&", "n", "so", "plus"))
_TELL = frozenset(("tell", "let", "remind"))


MAX_PARTS = 128
"""Upper bound of the parts of a request: the work grows with their square."""

_ASKING_STARTS = frozenset("i we please could can would kindly let".split())  # noqa: SIM905
_LONGEST_COURTESY = 16
"""Tokens before an opener that are looked over: `hi there, good morning, could you`."""


def split_parts(scan: Scan) -> list[tuple[int, int, bool, str]]:
    """Return of each part first token, end, whether a sentence begins there, and the next sign."""
    found: list[tuple[int, int, bool, str]] = []
    first, is_start = 0, True
    opener_end = 0
    for place, token in enumerate(scan.tokens):
        if place == first:
            start = _skip(scan, first, min(first + _LONGEST_COURTESY, len(scan.tokens)))
            opener = _OPENERS.match(scan.tokens, start) if start < len(scan.tokens) else None
            opener_end = 0 if opener is None else opener[0]
        if place < opener_end and token.kind is TokenShape.WORD:
            continue
        owner = scan.owners[place]
        kind = scan.mentions[owner].kind if owner >= 0 else None
        is_sign = (
            token.kind is TokenShape.SIGN
            and token.text in _SENTENCE_ENDS | _PART_ENDS
            and kind is None
        )
        if is_sign and token.text == "-" and not token.is_spaced:
            is_sign = False
        following = scan.tokens[place + 1].word if place + 1 < len(scan.tokens) else ""
        is_late = (
            token.word in {"so", "plus"}
            and place > first
            and not (
                token.word == "so"
                and (is_english_verb(following) or following.partition("'")[0] in _ASKING_STARTS)
            )
        )
        is_joint = (
            not is_late
            and kind is None
            and ((token.kind is TokenShape.WORD and token.word in _JOINTS) or token.text == "&")
        )
        is_sequence = kind is MentionKind.SEQUENCE and scan.mentions[owner].first == place
        if not (is_sign or is_joint or is_sequence):
            continue
        if place > first:
            found.append((first, place, is_start, token.text))
            is_start = False
        first = place + 1
        if is_sequence:
            first = place
            is_start = is_start or token.word != "then"
        if token.text in _SENTENCE_ENDS:
            is_start = True
    if first < len(scan.tokens):
        found.append((first, len(scan.tokens), is_start, ""))
    return found


def read_parts(scan: Scan, known: KnownWords) -> tuple[Part, ...]:
    """Return the parts of a request with their moods."""
    found: list[Part] = []
    is_closed, looked = False, 0
    for first, end, is_start, sign in split_parts(scan)[: MAX_PARTS + 1]:
        is_open = (
            bool(found) and found[-1].mood is Mood.ORDER and _is_polite(scan, found[-1], first)
        )
        said = "" if sign == "?" and is_open else sign
        part = _read_part(scan, known, first, end, is_start=is_start, sign=said)
        opening = scan.tokens[_skip(scan, first, end)].word if _skip(scan, first, end) < end else ""
        part = replace(
            part,
            before=scan.tokens[first - 1].word if first else "",
            is_wish=part.mood in {Mood.ORDER, Mood.NOMINAL}
            and opening.partition("'")[0] in {"i", "we"},
        )
        for token in scan.tokens[looked:first]:
            is_closed = token.text == "(" or (is_closed and token.text != ")")
        looked = first
        if (
            is_closed
            and found
            and (
                found[-1].mood is Mood.STATEMENT
                or part.mood is Mood.STATEMENT
                or found[-1].is_aside
            )
        ):
            part = replace(part, mood=Mood.EMPTY, head=-1, is_aside=True)
        if part.mood is Mood.QUESTION and sign == "," and opening in {"should", "were", "had"}:
            # `Should Ann be ill, book Ben`
            part = replace(part, mood=Mood.CONDITION, head=-1)
        is_said = found and not part.is_start and found[-1].mood is Mood.STATEMENT
        if is_said and part.before == ":" and _says(scan, found[-1]):
            part = replace(part, mood=Mood.STATEMENT, head=-1)
        if found and found[-1].mood is Mood.QUESTION and _is_asked_again(scan, part):
            part = replace(part, mood=Mood.EMPTY, head=-1)
        if _is_listed_thing(scan, found, part):
            part = replace(part, mood=Mood.NOMINAL, head=-1)
        if (
            part.before == "so"
            and part.mood is Mood.ORDER
            and found
            and _says_why(scan, known, found)
        ):
            # `Baguettes go in soon, so set oven 1 to 250`
            found[-1] = replace(found[-1], mood=Mood.STATEMENT, head=-1)
        has_order = any(one.mood is Mood.ORDER for one in found)
        is_listed = bool(found) and part.before == "," and not _has_mention(scan, found[-1])
        if not is_listed and _is_comment(scan, known, part, has_order=has_order):
            part = replace(part, mood=Mood.EMPTY, head=-1)
        found.append(part)
    return tuple(_ask(found, scan))


def _says_why(scan: Scan, known: KnownWords, found: Sequence[Part]) -> bool:
    """Return whether the words before `so` are a sentence that gives a reason, and no order."""
    part = found[-1]
    is_one = part.is_start and part.mood in {Mood.NOMINAL, Mood.ORDER} and not part.is_wish
    has_value = any(
        part.holds(one) and one.kind in VALUES - {MentionKind.IT, MentionKind.HIM}
        for one in scan.mentions
    )
    is_act = part.head >= 0 and is_any_verb(scan.tokens[part.head].word, known)
    return is_one and not has_value and not is_act and part.end - part.first > _FEW_WORDS


def _has_mention(scan: Scan, part: Part) -> bool:
    """Return whether a part has a value: after a part without, the next item may follow."""
    return any(part.holds(one) for one in scan.mentions)


def _is_polite(scan: Scan, part: Part, end: int) -> bool:
    """Return whether a sentence that goes on begins with `could you`: the `?` is no question."""
    is_ended = any(token.text in _SENTENCE_ENDS for token in scan.tokens[part.end : end])
    return not is_ended and scan.tokens[part.opener_end - 1].word == "you"


def _ask(parts: Sequence[Part], scan: Scan) -> Iterator[Part]:
    """Yield parts; a sentence without verb that ends with `?` is a question: `2 goals for Mia?`."""
    asked = _find_asked(parts, scan)
    for part in parts:
        after = scan.tokens[part.end].text if part.end < len(scan.tokens) else ""
        is_asked = part.is_start and part.mood is Mood.NOMINAL and after == "?"
        is_asked = is_asked or (part in asked and part.mood in {Mood.NOMINAL, Mood.ORDER})
        is_asked = is_asked and not any(
            one.kind is MentionKind.COURTESY and one.first < part.end and one.first >= part.first
            for one in scan.mentions
        )
        head = max(part.first, part.opener_end)
        yield replace(part, mood=Mood.QUESTION, head=head) if is_asked else part


def _find_asked(parts: Sequence[Part], scan: Scan) -> list[Part]:
    """Return the parts of sentences that end with `?` and have no opener and no courtesy.

    `Give Ann 5 USDC?` is a question; `Could you give Ann 5 USDC?` is an order.
    """
    found: list[Part] = []
    sentence: list[Part] = []
    for part in parts:
        if part.first and scan.tokens[part.first - 1].text in _SENTENCE_ENDS:
            sentence = []
        sentence.append(part)
        after = scan.tokens[part.end].text if part.end < len(scan.tokens) else ""
        if after != "?":
            continue
        is_plain = all(
            one.mood in {Mood.NOMINAL, Mood.ORDER, Mood.RECEIVING} and not one.is_wish
            for one in sentence
        )
        is_polite = any(
            mention.kind is MentionKind.COURTESY and sentence[0].first <= mention.first < part.end
            for mention in scan.mentions
        ) or any(_is_opened(scan, one) for one in sentence)
        if is_plain and not is_polite:
            found += sentence
    return found


def _is_opened(scan: Scan, part: Part) -> bool:
    """Return whether a part begins with `could you` or the like."""
    opener = _match_opener(scan, _skip(scan, part.first, part.end), part.end)
    return opener is not None


_SAYING = english.SAYING | {"asks", "asked", "wants", "wanted", "orders", "ordered"}


def _says(scan: Scan, part: Part) -> bool:
    """Return whether a statement, `Ann says: …`, quotes another person."""
    words = [token.word for token in scan.tokens[part.first : part.end]]
    return not _SAYING.isdisjoint(words) and words[0].partition("'")[0] not in {"i", "we"}


def _is_asked_again(scan: Scan, part: Part) -> bool:
    """Return whether a question, `and how much?`, only extends the one before."""
    words = [token.word for token in scan.tokens[part.first : part.end]]
    return part.mood is Mood.QUESTION and words in (["how", "much"], ["how", "many"])


def _is_comment(scan: Scan, known: KnownWords, part: Part, *, has_order: bool) -> bool:
    """Return whether a part is a remark, neither an order nor a value.

    A comment has no mention, and stands in parentheses, or after an order and begins with an
    article, or is an exclamation of at most three words.
    """
    if part.mood is Mood.QUESTION and _is_courtesy(scan, part):
        return True
    if part.mood not in {Mood.NOMINAL, Mood.ORDER} or part.before in _BULLETS:
        return False
    mentions = [mention for mention in scan.mentions if part.holds(mention)]
    kinds = {mention.kind for mention in mentions}
    blocks = {one.text.lower() for one in mentions if one.kind is MentionKind.REPEAT}
    if kinds - {
        MentionKind.SELF,
        MentionKind.COURTESY,
        MentionKind.SEQUENCE,
        MentionKind.REPEAT,
        MentionKind.EARLIER,
    } or not blocks <= {"again"}:
        return False
    if MentionKind.SEQUENCE in kinds and not part.is_start:
        # `treble -3, then neutral`
        return False
    before = scan.tokens[part.first - 1].text if part.first else ""
    after = scan.tokens[part.end].text if part.end < len(scan.tokens) else ""
    said = {token.word for token in scan.tokens[part.first : part.end]}
    if said & english.SETTLED:
        # `(already paid)` says that it is not to be done.
        return False
    if part.is_wish and after == ",":
        # `we need sponges, sun cream, put them on the list`
        return False
    is_tools = any(stem(word) in known.labels for word in said)
    if before == "(" and after == ")":
        return not is_tools
    words = [scan.tokens[place].word for place in range(part.first, part.end)]
    following = scan.owners[part.end + 1] if part.end + 1 < len(scan.tokens) else -1
    if after == "," and following >= 0 and scan.mentions[following].kind in VALUES:
        # `masks, 3, to Yusra`
        return False
    has_place = any(word in {"to", "from", "into", "for"} for word in words)
    if (
        has_order
        and part.mood is Mood.NOMINAL
        and words[0] in english.DETERMINERS
        and not has_place
        and scan.tokens[part.first - 1].word not in _JOINTS
        and not any(stem(word) in known.words for word in words)
    ):
        return True
    is_known = is_any_verb(words[0], known) or any(stem(word) in known.words for word in words)
    is_sigh = before == "," and after in _SENTENCE_ENDS | {""} and not part.is_start
    if len(words) == 1 and is_sigh and not is_known and words[0] not in english.DETERMINERS:
        return True
    if before == "," and after in _SENTENCE_ENDS | {""} and len(words) > 1 and not is_known:
        # `…, guests arriving`
        is_happening = words[-1].endswith("ing") and words[0] not in english.PREPOSITIONS
        return is_happening and part.mood is Mood.NOMINAL
    is_short = part.is_start and len(words) <= 3  # noqa: PLR2004
    is_cry = after == "!" and not is_any_verb(words[0], known)
    if is_short and is_cry and not kinds and _SWITCHES.isdisjoint(words):
        # `Film night!`
        return True
    return is_short and not is_known and not any(word in english.DETERMINERS for word in words)


def _is_courtesy(scan: Scan, part: Part) -> bool:
    """Return whether a question, `Pretty please?`, is only a courtesy."""
    kinds = {mention.kind for mention in scan.mentions if part.holds(mention)}
    return kinds == {MentionKind.COURTESY} and part.end - part.first <= 2  # noqa: PLR2004


def _skip(scan: Scan, at: int, end: int) -> int:
    """Return the first token that is neither courtesy nor a greeting."""
    while at < end:
        owner = scan.owners[at]
        mention = scan.mentions[owner] if owner >= 0 else None
        if mention is not None and mention.kind in {
            MentionKind.COURTESY,
            MentionKind.SEQUENCE,
            MentionKind.REASON,
        }:
            opener = _OPENERS.match(scan.tokens, at)
            if opener is not None and mention.end < opener[0] <= end:
                # `could you possibly`
                return at
            at = min(end, mention.end)
        elif mention is None and (
            scan.tokens[at].word in english.GREETINGS or scan.tokens[at].kind is TokenShape.SIGN
        ):
            at += 1
        else:
            return at
    return end


def _read_part(  # noqa: PLR0913 - a part and what is around it
    scan: Scan, known: KnownWords, first: int, end: int, *, is_start: bool, sign: str
) -> Part:
    tokens = scan.tokens
    at = _skip(scan, first, end)
    if at == end:
        return Part(first, end, Mood.EMPTY, is_start=is_start)
    if (
        scan.owners[at] >= 0
        and scan.mentions[scan.owners[at]].kind is MentionKind.CONDITION
        and scan.tokens[at].word != "when"
    ):
        return Part(first, end, Mood.CONDITION, is_start=is_start, opener_end=at)
    if is_start and sign in {",", "\n"} and tokens[first].word == "dear" and end - first <= _DEAR:
        return Part(first, end, Mood.EMPTY, is_start=is_start)
    opener = _match_opener(scan, at, end)
    is_asked = sign == "?"
    start = at
    while opener is not None:
        at = _skip(scan, opener, end)
        opener = _match_opener(scan, at, end) if at < end else None
    if at == end:
        return Part(first, end, Mood.EMPTY, is_start=is_start)
    if at == start and tokens[at].word == "for":
        # `For our book club I need room 4 reserved.`
        at = _find_late_opener(scan, at, end)
        if at == end:
            return Part(first, end, Mood.EMPTY, is_start=is_start)
    if tokens[at].word == "to" and at + 1 < end and is_any_verb(tokens[at + 1].word, known):
        at += 1
    has_opener = at > start or any(
        one.kind is MentionKind.COURTESY
        and first <= one.first < at
        and scan.show(one.first, one.end).lower() in _ASKED
        for one in scan.mentions
    )
    word = tokens[at].word
    owner = scan.owners[at]
    kind = scan.mentions[owner].kind if owner >= 0 else None
    receiving = _find_receiving(scan, at, end)
    if word == "let" and at + 1 < end and receiving is None:
        # `Let Bob have 5`
        who = scan.mentions[scan.owners[at + 1]] if scan.owners[at + 1] >= 0 else None
        is_named = who is not None and who.kind in {MentionKind.NAME, MentionKind.HIM}
        if who is not None and is_named and who.end < end and tokens[who.end].word == "have":
            receiving = who.end
            at += 1
    if receiving is not None:
        return Part(first, end, Mood.RECEIVING, receiving, is_start=is_start, opener_end=at)
    if kind is MentionKind.NEGATION and not is_start and _negates_truth(scan, known, at, end):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    if word in {"nobody", "nothing", "none", "noone"} and not has_opener:
        return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
    said = [token.word for token in tokens[at : min(at + 3, end)]]
    if (
        len(said) == 3  # noqa: PLR2004
        and said[0] in {"can", "could", "may"}
        and said[1] in {"i", "we"}
        and said[2] in {"have", "get"}
    ):
        return Part(first, end, Mood.ORDER, at + 2, is_start=is_start, opener_end=at + 2)
    asked = -1 if has_opener else _find_asked_clause(scan, at, end)
    if asked >= 0:
        return Part(first, end, Mood.QUESTION, asked, is_start=is_start, opener_end=asked)
    if (
        not has_opener
        and tokens[at].kind is TokenShape.WORD
        and kind in {None, MentionKind.IT, MentionKind.NEGATION, MentionKind.HIM}
    ):
        is_relative = not is_start and sign != "?" and word in {"who", "which", "whose"}
        if is_relative and first and tokens[first - 1].text == ",":
            # `to Ann, who delivered the clay`
            return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
        if word == "what" and sign == "!" and at + 1 < end and tokens[at + 1].word == "a":
            # `what a match!`
            return Part(first, end, Mood.EMPTY, is_start=is_start)
        if word in english.QUESTION_WORDS or (
            word in english.QUESTION_OPENERS and _is_inverted(scan, at, end, is_asked=is_asked)
        ):
            return Part(first, end, Mood.QUESTION, at, is_start=is_start, opener_end=at)
        following = tokens[at + 1].word if at + 1 < end else ""
        is_subject = word in english.SUBJECTS and (
            word in _PERSONS
            or following in _FINITE
            or following in {"'s", "also"}
            or is_past(following)
        )
        if word in {"i", "we"} and following in english.PERFORMATIVES:
            # `I vote for proposal 3`
            return Part(first, end, Mood.ORDER, at + 1, is_start=is_start, opener_end=at + 1)
        if is_subject or (
            word.partition("'")[0] in _PERSONS | {"it", "that", "there"} and "'" in word
        ):
            return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
    said_next = tokens[at + 1].word if at + 1 < end else ""
    is_told = (word.endswith("ing") and said_next in {"is", "was", "are", "were"}) or (
        is_start and word == "time" and said_next == "for"
    )
    if not has_opener and (is_told or _is_contracted(tokens[at].text.lower(), said_next)):
        return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
    is_label = _is_label(scan, known, at, end)
    if is_label and sign == ":" and end == at + 2 and is_start:
        # `loan 3: extend it to week 34`
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    if (
        not has_opener
        and word.endswith("ing")
        and not is_any_verb(word, known)
        and _is_label(scan, known, at + 1, end)
    ):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    is_place = word in english.PREPOSITIONS | {"until", "till"}
    if (
        is_place
        and at + 1 < end
        and tokens[at + 1].word in {"which", "whom", "whose", "what", "how"}
    ):
        return Part(first, end, Mood.QUESTION, at, is_start=is_start, opener_end=at)
    if not has_opener and not is_start and _is_sum(scan, known, at, end):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    is_counted = is_english_verb(word) and _counts_thing(scan, known, at + 1, end)
    is_parameter = is_label and stem(word) in known.slot_names and not is_start and not is_counted
    is_begun = is_start or has_opener
    is_verb = is_english_verb(word) or (is_begun and stem(word) in known.verbs - known.slot_names)
    late = _find_late_verb(scan, known, at, end) if is_label and not has_opener else -1
    if late >= 0:
        mood = Mood.QUESTION if sign == "?" else Mood.ORDER
        return Part(first, end, mood, late, is_start=is_start, opener_end=at)
    if is_label and (
        not is_verb or is_parameter or (not has_opener and _find_finite_verb(scan, at, end) >= 0)
    ):
        if not has_opener and (
            _find_finite_verb(scan, at, end) >= 0 or _is_told(scan, at + 2, end)
        ):
            return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    is_alone = all(scan.owners[place] >= 0 for place in range(at + 1, end))
    if not has_opener and not is_start and is_alone and _is_choice(known, word):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    if not has_opener and _has_payer(scan, at, end):
        return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
    if not has_opener and (_is_hour(scan, known, at, end) or _is_due(scan, at, end)):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    asked = _find_asked_verb(scan, known, at, end) if _begins_nominal(scan, at, end) else -1
    if asked >= 0:
        return Part(first, end, Mood.ORDER, asked, is_start=is_start, opener_end=at)
    if _begins_nominal(scan, at, end):
        if sign == ":" and not _has_value(scan, at, end) and _find_finite_verb(scan, at, end) < 0:
            is_blocked = any(one.kind in BLOCKS for one in list_mentions(scan, at, end))
            is_named = is_blocked or _names_tool(scan, known, at, end)
            mood = Mood.NOMINAL if is_named else Mood.EMPTY
            return Part(first, end, mood, is_start=is_start, opener_end=at)
        passive = _find_passive(scan, at, end)
        if passive >= 0:
            return Part(first, end, Mood.ORDER, passive, is_start=is_start, opener_end=at)
        mood = Mood.NOMINAL
        verb = _find_finite_verb(scan, at, end)
        if verb >= 0:
            mood = Mood.STATEMENT
            if has_opener:
                # "I want 5 USDC sent to Bob", "let Bob have 5".
                return Part(first, end, Mood.ORDER, verb, is_start=is_start, opener_end=at)
        return Part(first, end, mood, is_start=is_start, opener_end=at)
    if tokens[at].kind is not TokenShape.WORD:
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    if sign == ":" and not has_opener and end == at + 1 and stem(word) in known.slot_names:
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    is_header = sign == ":" and not has_opener and not _has_value(scan, at, end)
    if is_header and (word.endswith("ing") or not is_english_verb(word)):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    if sign == "?" and not has_opener and not is_any_verb(word, known):
        return Part(first, end, Mood.QUESTION, at, is_start=is_start, opener_end=at)
    if (
        sign == ":"
        and end == at + 1
        and not is_any_verb(word, known)
        and stem(word) not in known.words
    ):
        return Part(first, end, Mood.EMPTY, is_start=is_start)
    after = tokens[at + 1].word if at + 1 < end else ""
    if not has_opener and after in _FINITE - {"do", "go"} and stem(word) not in known.verbs:
        return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
    if is_past(word) and not has_opener and stem(word) != word and word not in known.words:
        return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
    words = [place for place in range(at, end) if scan.owners[place] < 0]
    if (
        not has_opener
        and len(words) == end - at <= _FEW_WORDS
        and (not is_start or (first and tokens[first - 1].text in _BULLETS))
        and not is_any_verb(word, known)
    ):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    if word in _TELL and all(
        scan.tokens[place].word in {"me", "us", "know", "please", word} for place in range(at, end)
    ):
        return Part(first, end, Mood.EMPTY, is_start=is_start)
    is_followed = at + 1 < end and (
        scan.owners[at + 1] >= 0
        or tokens[at + 1].word in english.DETERMINERS
        or tokens[at + 1].kind is not TokenShape.WORD
    )
    if (
        not has_opener
        and not is_start
        and not is_followed
        and stem(word) not in known.words
        and not is_any_verb(word, known)
    ):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at, is_loose=True)
    if stem(word) in _ASKING and any(
        tokens[place].word.removesuffix("'s") in english.QUESTION_WORDS
        for place in range(at + 1, end)
    ):
        return Part(first, end, Mood.ORDER, at, is_start=is_start, opener_end=at)
    if word in {"have", "take"} and [one.word for one in tokens[at + 1 : at + 3]] == ["a", "look"]:
        return Part(first, end, Mood.ORDER, at + 2, is_start=is_start, opener_end=at)
    is_bare = is_start and not has_opener and is_english_verb(word)
    if sign == "?" and is_bare and word not in english.READ_VERBS:
        # `Send Ann 20 USDC?` asks whether to.
        return Part(first, end, Mood.QUESTION, at, is_start=is_start, opener_end=at)
    if has_opener or word in {"have", "get", "see", "let", "want", "need"}:
        verb = _find_participle(scan, at, end)
        if verb >= 0:
            return Part(first, end, Mood.ORDER, verb, is_start=is_start, opener_end=at)
    is_numbered = at + 1 < end and tokens[at + 1].kind is TokenShape.NUMBER
    if (
        not has_opener
        and is_numbered
        and not is_any_verb(word, known)
        and _find_finite_verb(scan, at + 1, end) >= 0
    ):
        # `Artwork 4 has a new title`
        return Part(first, end, Mood.STATEMENT, is_start=is_start, opener_end=at)
    if not has_opener and _is_topic(scan, known, at, end):
        return Part(first, end, Mood.NOMINAL, is_start=is_start, opener_end=at)
    return Part(first, end, Mood.ORDER, at, is_start=is_start, opener_end=at)


def _find_asked_clause(scan: Scan, at: int, end: int) -> int:
    """Return the token of the question in `When was it built?` or `I wonder when it was`; or -1.

    `When` before an auxiliary is no condition, if nothing but the question follows.
    """
    words = [token.word for token in scan.tokens[at : min(at + 4, end)]]
    if words[0] == "when" and words[1:2] != [] and words[1] in english.QUESTION_OPENERS:
        ends = (one.text for one in scan.tokens[end:] if one.text in _SENTENCE_ENDS)
        return at if end == len(scan.tokens) or next(ends, "") == "?" else -1
    if words[0].partition("'")[0] not in {"i", "we"}:
        return -1
    verbs = (place for place, word in enumerate(words) if word in {"wonder", "wondering"})
    clause = at + next(verbs, len(words)) + 1
    is_asked = clause < min(at + 4, end) and scan.tokens[clause].word in (
        english.QUESTION_WORDS | {"whether", "if"}
    )
    return clause if is_asked else -1


def _is_listed_thing(scan: Scan, found: Sequence[Part], part: Part) -> bool:
    """Return whether a part goes on with a question's list: `What do kayaks and canoes cost?`."""
    before = next((one for one in reversed(found) if one.mood is not Mood.NOMINAL), None)
    if part.mood is not Mood.QUESTION or part.is_start or before is None:
        return False
    is_listed = before.mood is Mood.QUESTION and part.before in {",", "and", "&"}
    return is_listed and scan.tokens[part.head].word not in (
        english.QUESTION_WORDS | english.QUESTION_OPENERS | english.PREPOSITIONS
    )


def _is_contracted(word: str, following: str) -> bool:
    """Return whether a part begins with a subject and `is` in one word: `its too dark`."""
    is_told = following in AFTER_IS | {"too", "so", "very", "really", "getting"} or is_past(
        following
    )
    is_told = is_told or following.endswith("ing")
    subject = word.partition("'")[0]
    is_person = "'" in word and subject in {
        "everybody",
        "everyone",
        "somebody",
        "someone",
        "nobody",
    }
    return word in {"theres", "thats", "ive", "im", "weve"} or (
        is_told and (is_person or word in {"its", "hes", "shes", "youre", "theyre"})
    )


def _is_label(scan: Scan, known: KnownWords, at: int, end: int) -> bool:
    """Return whether a part begins with the name of a value: `seat 9`, `farm Gull Point`."""
    if at + 1 >= end or scan.tokens[at].kind is not TokenShape.WORD:
        return False
    is_number = scan.tokens[at + 1].kind is TokenShape.NUMBER or scan.tokens[at + 1].text == "#"
    word = stem(scan.tokens[at].word)
    if is_number:
        return word in known.labels or scan.tokens[at].word in NUMBER_MARKS
    following = stem(scan.tokens[at + 1].word)
    is_name = word in known.labels - known.verbs or any(
        {word, following} <= slot.names for slot in known.slots
    )
    if is_name and following in known.labels and at + 2 < end:
        return scan.tokens[at + 2].kind is TokenShape.NUMBER
    owner = scan.owners[at + 1]
    is_value = owner >= 0 and scan.mentions[owner].kind in {
        MentionKind.NAME,
        MentionKind.STRANGER,
        MentionKind.QUOTATION,
    }
    return word in known.slot_names and is_value


def _counts_thing(scan: Scan, known: KnownWords, at: int, end: int) -> bool:
    """Return whether a number counts things that are no parameter: `order 50 salt licks`."""
    after = at + 1
    return (
        after < end
        and scan.tokens[at].kind is TokenShape.NUMBER
        and scan.tokens[after].kind is TokenShape.WORD
        and scan.tokens[after].word not in english.PREPOSITIONS | english.AUXILIARIES
        and scan.owners[after] < 0
        and stem(scan.tokens[after].word) not in known.slot_names
    )


def _is_sum(scan: Scan, known: KnownWords, at: int, end: int) -> bool:
    """Return whether a part names an amount that no tool's verb is: `deposit 0.08 ETH`."""
    word = scan.tokens[at].word
    owner = scan.owners[at + 1] if at + 1 < end else -1
    is_amount = owner >= 0 and scan.mentions[owner].unit is UnitKind.TOKEN
    is_act = stem(word) in known.verbs or any(
        word in english.VERBS[meaning] for meaning in known.meanings
    )
    return is_amount and word in english.MONEY_NOUNS and not is_act


def _negates_truth(scan: Scan, known: KnownWords, at: int, end: int) -> bool:
    """Return whether a part negates a truth value: `not express`."""
    names = {name for slot in known.slots if slot.role is ValueRole.TRUTH for name in slot.names}
    start = scan.mentions[scan.owners[at]].end
    words = {stem(token.word) for token in scan.tokens[start:end]}
    return not words.isdisjoint(names) and all(
        scan.owners[place] < 0 for place in range(start, end)
    )


def _has_payer(scan: Scan, at: int, end: int) -> bool:
    """Return whether a person does something: `Jonas each pay 20`, `Mia sends 5`."""
    owner = scan.owners[at]
    if owner < 0 or scan.mentions[owner].kind is not MentionKind.NAME:
        return False
    place = scan.mentions[owner].end
    while place < end and scan.tokens[place].word in {"each", "both", "all"}:
        place += 1
    word = scan.tokens[place].word if place < end else ""
    return word in english.GIVING


def _is_choice(known: KnownWords, word: str) -> bool:
    """Return whether a word is a tool's for a number, or a truth value: `urgent`, `express`."""
    named = {name for slot in known.slots for name, _ in slot.named}
    for slot in known.slots:
        named |= slot.names if slot.role is ValueRole.TRUTH else frozenset()
    return stem(word) in named and not is_any_verb(word, known)


def _is_hour(scan: Scan, known: KnownWords, at: int, end: int) -> bool:
    """Return whether a part names an hour: `opens at 10`."""
    after = scan.tokens[at + 1].word if at + 1 < end else ""
    word = stem(scan.tokens[at].word)
    return after in {"at", "from", "until", "till"} and any(
        slot.role in {ValueRole.HOUR, ValueRole.COUNT} and word in slot.names
        for slot in known.slots
    )


def _is_topic(scan: Scan, known: KnownWords, at: int, end: int) -> bool:
    """Return whether a part begins with a noun of the tools that is no verb: `Night mode from 22`.

    No person follows, and no article: `Bill Bob` and `Bill the guests` have a verb.
    """
    word = scan.tokens[at].word
    particle = scan.tokens[at + 1].word if at + 1 < end else ""
    is_counted = at + 2 < end and scan.tokens[at + 2].kind is TokenShape.NUMBER
    if not is_any_verb(word, known) and particle in {"up", "down"} and is_counted:
        # `oats up 3 cents`
        return True
    is_noun = stem(word) in known.words or word in english.ACTIONS
    if is_any_verb(word, known) or not is_noun or at + 1 >= end:
        return False
    if any(stem(word) == name for slot in known.slots for name, _ in slot.named):
        return False
    owner, after = scan.owners[at + 1], scan.tokens[at + 1]
    if owner >= 0:
        return (
            scan.mentions[owner].kind is MentionKind.QUANTITY
            and scan.mentions[owner].unit is not UnitKind.TOKEN
        )
    return (
        after.kind is TokenShape.WORD
        and (after.word in {"from", "at", "for"} or stem(after.word) in known.words)
        and after.word not in english.DETERMINERS
    )


def _is_told(scan: Scan, at: int, end: int) -> bool:
    """Return whether a verb in the third person follows: `Quest 2 pays far too well`."""
    word = scan.tokens[at].word if at < end else ""
    return word.endswith("s") and scan.owners[at] < 0 and is_english_verb(word)


def _has_value(scan: Scan, at: int, end: int) -> bool:
    kinds = {
        MentionKind.NAME,
        MentionKind.QUOTATION,
        MentionKind.STRANGER,
        MentionKind.HIM,
        MentionKind.UNREAD,
        MentionKind.DATA,
    }
    for mention in scan.mentions:
        is_labelled = mention.kind is MentionKind.QUANTITY and (
            mention.unit is not UnitKind.NOUN or bool(mention.labels)
        )
        if at <= mention.first < end and (mention.kind in kinds or is_labelled):
            return True
    return False


def is_any_verb(word: str, known: KnownWords) -> bool:
    """Return whether a word is a verb of English that is known, or of a tool."""
    return stem(word) in known.verbs or is_english_verb(word)


def is_english_verb(word: str) -> bool:
    """Return whether the lists of English verbs have a form of a word."""
    return stem(word) in _KNOWN_VERBS


_KNOWN_VERBS = frozenset(
    stem(verb.split()[0]) for verbs in english.VERBS.values() for verb in verbs
) | frozenset(map(stem, english.TALK | english.READ_VERBS | english.PERFORM))


def _find_participle(scan: Scan, at: int, end: int) -> int:
    """Return the token of the verb of `have 5 USDC sent to Bob`; -1 for none."""
    for place in range(at + 1, end):
        word = scan.tokens[place].word
        if (
            scan.owners[place] < 0
            and word not in _NAMED
            and (is_past(word) or word in {"have", "get"})
            and stem(word) in _KNOWN_VERBS
        ):
            return place
    return -1


def _find_late_opener(scan: Scan, at: int, end: int) -> int:
    """Return the end of `I need` after a phrase with `for` and without a value; else the start."""
    for place in range(at + 1, end):
        owner = scan.owners[place]
        if owner >= 0 and scan.mentions[owner].kind in VALUES | UNKNOWN | BLOCKS:
            return at
        is_subject = scan.tokens[place].word.partition("'")[0] in {"i", "we"}
        opener = _match_opener(scan, place, end) if is_subject else None
        if opener is not None:
            return _skip(scan, opener, end)
    return at


def _match_opener(scan: Scan, at: int, end: int) -> int | None:
    obliged = _match_obliged(scan, at, end)
    found = _OPENERS.match(scan.tokens, at)
    if obliged is not None or found is None or found[0] > end:
        return obliged
    # A mood is none of an opener: "can you not".
    return found[0]


def _match_obliged(scan: Scan, at: int, end: int) -> int | None:
    """Return the end of `I should be most obliged if you would` and the like, or None."""
    words = [token.word for token in scan.tokens[at : min(at + 9, end)]]
    if (
        not words
        or words[0].partition("'")[0] not in {"i", "we", "it"}
        or "be" not in words[:3]
        or "if" not in words
    ):
        return None
    place = words.index("if")
    is_wish = words[place + 1 : place + 2] == ["you"] and words[place + 2 : place + 3] in (
        ["would"],
        ["could"],
        ["can"],
    )
    return at + place + 3 if is_wish else None


def _is_inverted(scan: Scan, at: int, end: int, *, is_asked: bool) -> bool:
    """Return whether an auxiliary begins a question: a subject follows."""
    owner = scan.owners[at + 1] if at + 1 < end else -1
    if owner >= 0 and scan.mentions[owner].kind is MentionKind.NEGATION:
        return False
    if is_asked:
        return True
    after = scan.tokens[at + 1] if at + 1 < end else None
    if after is None:
        return False
    if scan.tokens[at].word in {"do", "have"}:
        return after.word in english.SUBJECTS
    return after.word in english.SUBJECTS or after.word in english.DETERMINERS or owner >= 0


def _find_receiving(scan: Scan, at: int, end: int) -> int | None:
    """Return the token of the verb of `Bob gets 5`; None for other parts."""
    owner = scan.owners[at]
    if owner < 0 and at + 1 < end and scan.owners[at + 1] >= 0:
        after = scan.mentions[scan.owners[at + 1]]
        owner = scan.owners[at + 1] if after.kind is MentionKind.QUANTITY and after.labels else -1
    if owner < 0 or scan.mentions[owner].kind not in {
        MentionKind.NAME,
        MentionKind.HIM,
        MentionKind.STRANGER,
        MentionKind.EACH,
        MentionKind.QUANTITY,
    }:
        return None
    place = scan.mentions[owner].end
    while (
        place < end
        and scan.owners[place] < 0
        and scan.tokens[place].word in {"also", "then", "and", ","}
    ):
        place += 1
    while (
        place < end
        and scan.owners[place] >= 0
        and scan.mentions[scan.owners[place]].kind
        in {MentionKind.NAME, MentionKind.EACH, MentionKind.COURTESY}
    ):
        place = scan.mentions[scan.owners[place]].end
    if place >= end:
        return None
    found = RECEIVES.match(scan.tokens, place)
    if found is None or found[0] > end:
        return None
    is_amount = scan.mentions[owner].kind is MentionKind.QUANTITY
    is_going = any(token.word in {"go", "goes"} for token in scan.tokens[place : found[0]])
    return None if is_amount and not is_going else place


def _find_late_verb(scan: Scan, known: KnownWords, at: int, end: int) -> int:
    """Return the token of the verb of `visit 33 cancel please`; -1 for none."""
    last = end - 1
    while last > at and (
        scan.owners[last] >= 0 and scan.mentions[scan.owners[last]].kind is MentionKind.COURTESY
    ):
        last -= 1
    is_after = scan.tokens[last - 1].kind is TokenShape.NUMBER and last == at + 2
    word = scan.tokens[last].word
    return last if is_after and stem(word) in known.verbs and not is_past(word) else -1


def _find_asked_verb(scan: Scan, known: KnownWords, at: int, end: int) -> int:
    """Return the token of the verb of `from batch 1 please deliver 200 kg`; -1 for none."""
    if scan.tokens[at].word not in english.PREPOSITIONS:
        return -1
    for mention in list_mentions(scan, at, end):
        verb = mention.end
        is_asked = mention.kind is MentionKind.COURTESY and verb < end
        if is_asked and scan.owners[verb] < 0 and is_any_verb(scan.tokens[verb].word, known):
            return verb
    return -1


def _names_tool(scan: Scan, known: KnownWords, at: int, end: int) -> bool:
    """Return whether a header has `new` before a noun of the tools: `new display: …`."""
    words = [token.word for token in scan.tokens[at:end]]
    return words[0] == "new" and any(stem(word) in known.words for word in words[1:])


def _is_due(scan: Scan, at: int, end: int) -> bool:
    """Return whether a part states a due date: `due back by week 40`, `to be returned by …`."""
    words = [token.word for token in scan.tokens[at : min(at + 3, end)]]
    return words[0] in english.DUE or (words[:2] == ["to", "be"] and is_past(words[-1]))


def _begins_nominal(scan: Scan, at: int, end: int) -> bool:
    """Return whether a part begins with no verb: a preposition, an article, a number, a name."""
    token, owner = scan.tokens[at], scan.owners[at]
    if owner >= 0:
        return scan.mentions[owner].kind not in BLOCKS | {MentionKind.REASON}
    if token.kind is not TokenShape.WORD:
        return True
    word = token.word
    if is_english_verb(word) and word in english.PREPOSITIONS and at + 1 < end:
        after = scan.owners[at + 1]
        is_object = scan.tokens[at + 1].word in english.DETERMINERS or (
            after >= 0 and scan.mentions[after].kind in {MentionKind.IT, MentionKind.HIM}
        )
        return not is_object
    return (
        word in english.DETERMINERS
        or word in english.PREPOSITIONS
        or word in {"same", "another", "new"}
    )


def _find_passive(scan: Scan, at: int, end: int) -> int:
    """Return the token of the verb of `the fee is to be set to 3`; -1 for none."""
    for place in range(at + 1, end - 1):
        words = [token.word for token in scan.tokens[place : place + 4]]
        for start in (
            ["is", "to", "be"],
            ["are", "to", "be"],
            ["should", "be"],
            ["must", "be"],
            ["has", "to", "be"],
            ["needs", "to", "be"],
            ["shall", "be"],
            ["have", "to", "be"],
            ["need", "to", "be"],
        ):
            verb = place + len(start)
            if (
                words[: len(start)] == start
                and verb < end
                and (
                    is_past(scan.tokens[verb].word) or stem(scan.tokens[verb].word) in _KNOWN_VERBS
                )
            ):
                return verb
    return -1


_NAMED = frozenset("called named titled labelled dated priced worded".split())  # noqa: SIM905
_FINITE = english.AUXILIARIES | frozenset(
    [
        "smells",
        "smell",
        "sounds",
        "hurts",
        "leaks",
        "needs",
        "need",
        "wants",
        "want",
        "owes",
        "owe",
        "wrote",
        "asks",
        "asked",
        "says",
        "said",
        "sent",
        "paid",
        "gave",
        "told",
        "likes",
        "should",
        "looks",
        "look",
        "feels",
        "feel",
        "seems",
        "seem",
        "starts",
        "start",
        "begins",
        "comes",
        "come",
        "stays",
        "stay",
        "keeps",
        "runs",
        "works",
        "broke",
        "rang",
        "went",
        "arrived",
    ]
)


def _find_finite_verb(scan: Scan, at: int, end: int) -> int:
    """Return the token of a verb after a subject; -1 for none."""
    for place in range(at + 1, end):
        word = scan.tokens[place].word
        owner = scan.owners[place]
        if owner >= 0 and scan.mentions[owner].kind is MentionKind.REASON:
            continue
        if word == "'s" and place > at + 1 and _follows_is(scan, place + 1, end):
            return place
        if word.endswith("n't") or (word in {"i", "we"} and place + 1 < end):
            return place
        if scan.owners[place] >= 0 or scan.tokens[place].kind is not TokenShape.WORD:
            continue
        if word in _FINITE or (is_past(word) and place > at and word not in _NAMED):
            return place
    return -1


def _follows_is(scan: Scan, at: int, end: int) -> bool:
    """Return whether `'s` before a word stands for `is` or `has`: `Priya's had enough`."""
    word = scan.tokens[at].word if at < end else ""
    return word in AFTER_IS or is_past(word) or word.endswith("ing")


def gather_orders(
    scan: Scan, parts: Sequence[Part]
) -> tuple[tuple[Order, ...], tuple[Part, ...], tuple[Part, ...]]:
    """Put the parts of a request together; return the orders, the statements, the conditions.

    A part without a verb belongs to the order before; at the beginning of a sentence, to the order
    after in that sentence, if any.
    """
    orders: list[list[Part]] = []
    statements: list[Part] = []
    conditions: list[Part] = []
    waiting: list[Part] = []
    is_stated = False
    for index, part in enumerate(parts):
        if part.mood is Mood.EMPTY:
            continue
        if part.mood is Mood.CONDITION:
            if not _has_question(parts, index):
                conditions.append(part)
            elif any(one.kind in VALUES for one in list_mentions(scan, part.first, part.end)):
                # `If I sold 5 USDC, how much would I get?` asks for 5 USDC.
                waiting.append(_drop_condition(scan, part))
            continue
        if part.mood is Mood.STATEMENT:
            statements.append(part)
            is_stated = True
            continue
        if part.is_start or part.mood is not Mood.NOMINAL:
            is_stated = False
        if is_stated:
            statements.append(part)
            continue
        if (
            part.mood is Mood.ORDER
            and orders
            and not waiting
            and _is_bare(scan, part)
            and all(one.head < 0 for one in orders[-1])
        ):
            orders[-1].append(part)
            continue
        if part.mood in {Mood.ORDER, Mood.QUESTION} or (
            part.mood is Mood.RECEIVING and part.is_start
        ):
            orders.append([*waiting, part])
            waiting = []
        elif part.mood is Mood.NOMINAL and scan.tokens[part.end - 1].word in {"on", "off"}:
            # `Shore power of 4 off and free it`
            orders.append([*waiting, part])
            waiting = []
        elif (part.is_start and _has_head_later(parts, index)) or waiting:
            waiting.append(part)
        elif orders and not (part.is_start and part.before in {".", "!", "?"}):
            orders[-1].append(part)
        else:
            orders.append([part])
    if waiting:
        orders.append(waiting)
    orders = [one for one in orders if not _is_goal(scan, one, parts)]
    orders, more = _drop_subjects(scan, parts, orders, statements)
    statements += more
    return (
        _continue(
            [Order(tuple(one), any(part.mood is Mood.QUESTION for part in one)) for one in orders]
        ),
        tuple(statements),
        tuple(conditions),
    )


def _continue(orders: Sequence[Order]) -> tuple[Order, ...]:
    """Return orders, each without a verb with that of the previous order."""
    found: list[Order] = []
    for order in orders:
        before = found[-1].head_part if found else None
        is_act = before is not None and before.mood in {Mood.ORDER, Mood.RECEIVING}
        found.append(replace(order, verb=before) if order.is_nominal and is_act else order)
    return tuple(found)


def _drop_condition(scan: Scan, part: Part) -> Part:
    """Return the part of a condition without the first word."""
    end = scan.mentions[scan.owners[part.opener_end]].end
    return replace(part, first=end, opener_end=end, mood=Mood.NOMINAL)


def _is_bare(scan: Scan, part: Part) -> bool:
    """Return whether an order is a verb alone: `Please pay`."""
    return all(
        place == part.head
        or scan.tokens[place].word in {"in", "out", "up", "down", "off", "back", "over"}
        or (scan.owners[place] >= 0 and scan.mentions[scan.owners[place]].kind in _BARE)
        for place in range(max(part.first, part.opener_end), part.end)
    )


_ASKED = frozenset(("will you", "would you", "could you", "can you"))
_ASKING = frozenset(map(stem, ("know", "see", "tell", "find", "check", "look", "learn", "hear")))
_BARE = frozenset((MentionKind.COURTESY, MentionKind.SEQUENCE, MentionKind.IT, MentionKind.EACH))


def _has_question(parts: Sequence[Part], index: int) -> bool:
    """Return whether the main clause of a condition is a question."""
    for part in parts[index + 1 :]:
        if part.is_start:
            return False
        if part.mood in {Mood.ORDER, Mood.QUESTION}:
            return part.mood is Mood.QUESTION
    return False


def _is_goal(scan: Scan, order: Sequence[Part], parts: Sequence[Part]) -> bool:
    """Return whether a wish is a reason: `I'd like to stash my skis, please rent box 23`.

    A goal has no value, and an order is beside the goal in the same sentence without `and`.
    """
    if len(order) != 1 or not order[0].is_wish:
        return False
    part = order[0]
    if part.mood is Mood.NOMINAL:
        return _is_need(scan, part, parts)
    kinds = {one.kind for one in scan.mentions if part.holds(one)}
    index = parts.index(part)
    after = parts[index + 1] if index + 1 < len(parts) else None
    before = parts[index - 1] if index else None
    is_first = (
        after is not None
        and not after.is_start
        and after.before in {",", "so"}
        and after.mood is Mood.ORDER
        and not after.is_wish
    )
    is_last = (
        before is not None
        and not part.is_start
        and part.before == ","
        and before.mood in {Mood.ORDER, Mood.NOMINAL}
    )
    # `Set tank 6 to -3 degrees, we want it clear`
    is_last = is_last and kinds <= {MentionKind.COURTESY, MentionKind.IT, MentionKind.SELF}
    return (is_first and kinds <= {MentionKind.COURTESY}) or is_last


def _is_need(scan: Scan, part: Part, parts: Sequence[Part]) -> bool:
    """Return whether a sentence is a reason: `I need some cash. Withdraw 70 USDC`.

    A need has no value, and an order is another sentence.
    """
    index = parts.index(part)
    is_alone = part.is_start and (index + 1 == len(parts) or parts[index + 1].is_start)
    has_value = any(part.holds(one) and one.kind in VALUES | UNKNOWN for one in scan.mentions)
    return is_alone and not has_value and any(one.mood is Mood.ORDER for one in parts)


def _drop_subjects(
    scan: Scan, parts: Sequence[Part], orders: list[list[Part]], statements: Sequence[Part]
) -> tuple[list[list[Part]], list[Part]]:
    """Take the first subjects of a statement out of the orders: `Ann, Ben and Cy closed it`."""
    stated = {part.first for part in statements}
    dropped: list[Part] = []
    for index, part in enumerate(parts):
        if part.first not in stated or part.is_start:
            continue
        subjects: list[Part] = []
        subject = scan.tokens[max(part.first, part.opener_end)].word
        if subject in english.SUBJECTS and not (subject == "i" and part.before in {"and", "&"}):
            continue
        for before in reversed(parts[:index]):
            if before.mood is not Mood.NOMINAL:
                subjects = []
                break
            subjects.append(before)
            if before.is_start:
                break
        dropped += subjects
    kept = [[part for part in one if part not in dropped] for one in orders]
    return [one for one in kept if one], dropped


def _has_head_later(parts: Sequence[Part], index: int) -> bool:
    """Return whether a verb follows in the same sentence."""
    for part in parts[index + 1 :]:
        if part.is_start:
            return False
        if part.mood in {Mood.ORDER, Mood.QUESTION}:
            return True
    return False


def list_mentions(scan: Scan, first: int, end: int) -> Iterator[Mention]:
    """Yield the mentions among some tokens."""
    for mention in scan.mentions:
        if first <= mention.first < end:
            yield mention


def drop_light_verb(scan: Scan, order: Order) -> Order:
    """Return an order without a verb such as `take`: another order's `it` is its object."""
    first = order.parts[0]
    if first.head < 0 or scan.tokens[first.head].word not in english.LIGHT_VERBS:
        return order
    start = first.head + 1
    bare = replace(first, head=-1, mood=Mood.NOMINAL, opener_end=start)
    return replace(order, parts=(bare, *order.parts[1:]))


def merge_orders(orders: Sequence[Order]) -> Order:
    """Return several orders as one."""
    parts = tuple(part for order in orders for part in order.parts)
    return replace(orders[0], parts=parts)

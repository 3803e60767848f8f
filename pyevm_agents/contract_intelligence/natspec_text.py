"""Comments of a source (NatSpec) as descriptions of functions and parameters.

A comment has parts for the readers of a source: links such as `{IERC20-transfer}`, events,
requirements, words of RFC 2119. A description has the other sentences, the one with the verb first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyevm_agents.contract_intelligence.untrusted_text import (
    MAX_DESCRIPTION_CHARACTERS,
    clean_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_COMMENT_CHARACTERS = 1_024
"""Characters of a comment that are read: what it says first is what the function does."""

MAX_CHOICE_WORDS = 4
"""Words that a value of a list of choices has."""

_REST = re.compile(r"(?<!\S)(?:Requirements?|NOTE|IMPORTANT|WARNING|CAUTION|TIP):.*")
"""What follows is about the source, or all callers. Source: the comments of OpenZeppelin."""

_TAG = re.compile(r"(?<!\S)@(?:inheritdoc|custom:\S+)\s+\S+|(?<!\S)@[a-z]+\b|(?<!\S)module:\S+")
_LINK = re.compile(r"https?://[^\s\[\])]+(?:\[([^\]]*)\])?")
_SEE = re.compile(
    r",?\s*\(?\b[Ss]ee(?: also)? (?:the )?\{[^{}]*\}(?:,? (?:and |or )?\{[^{}]*\})*\)?"
)
_REFERENCE = re.compile(r"\{(?:[^{}]*[-.])?([^{}().]*)(?:\([^{}]*\))?\}")
_EMITS = re.compile(r",?(?: and)? emit(?:s|ting) [^.;]*")
_NAMED = re.compile(r" \(`\w+`\)")
"""The name of a parameter in brackets, as in: a new account (`newOwner`)."""

_BREAK = re.compile(
    r"(?<![eE]\.g\.)(?<!i\.e\.)(?<=[.!?])\s+(?=[^a-z\s])"  # the end of a sentence
    r"|\s+(?=(?:May emit|Emits?) )"  # often without one before it
    r"|(?<!\S)(?<!\d )-\s+(?=[A-Z])"  # an item of a list
)
_DROPPED = re.compile(
    r"(?:May emit|Emits?|See)\b"
    r"|(?:If|When|Whenever|Once)\b.* emits\b"
    r"|.*\b(?:MUST|MAY|SHOULD|SHALL|REQUIRED|RECOMMENDED|OPTIONAL)\b"
)
_PERSON = "caller|sender|msg.sender|users?|anyone|anybody|everyone|you|owner|admin|administrator"
_LEAD = re.compile(
    r"(?:(?:This|The|An?) )?(?:(?:external|public|internal|view) )*(?i:function|method) "
    r"(?:(?:is )?used to |to |that |which |for |allows? [a-z ]*?to )?"
    rf"|(?:Allows?|Lets?|Enables?) (?:the |an? )?(?:{_PERSON}) to |Used to "
)
"""Words before the verb that say nothing of the function."""

_CONDITION = frozenset(
    "a after an any before can everyone for if in must note once only the this when".split()  # noqa: SIM905
)
"""First words of a sentence that does not begin with the verb."""

_CHOICE = re.compile(
    r"(?<![\w.])(?P<number>\d{1,3})\s*(?:=>|->|=|:|-|\bis\b|\bmeans\b)\s*(?:to |the |an? )?"
    r"(?P<word>[A-Za-z][A-Za-z' ]*?)(?=\s*(?:[,;.)]|$|(?:and|or)\s+\d))"
)
_CHOICE_JOINT = re.compile(r"\s*[,;]?\s*(?:and|or)?\s*")


def clean_comment(value: object, name: str = "") -> str:
    """Return the sentences of a comment that describe; empty if none does.

    Input: a text; the name of the described function, whose verb may come first.
    """
    text = _NAMED.sub("", clean_text(value, MAX_COMMENT_CHARACTERS)).replace("`", "")
    text = _REST.sub("", _TAG.sub(" ", _LINK.sub(lambda match: match[1] or "", text)))
    sentences = [*filter(None, map(_clean_sentence, _BREAK.split(text)))]
    chosen = ""
    for sentence in _put_verb_first(sentences, name):
        longer = f"{chosen} {sentence}".strip()
        if chosen and len(longer) > MAX_DESCRIPTION_CHARACTERS:
            break
        chosen = longer
    return clean_text(format_choices(chosen))


def format_choices(text: str) -> str:
    """Return a text in which lists of small integers have the form `0 = against, 1 = for`."""
    for start, end, choices in reversed([*_iter_choices(text)]):
        text = text[:start] + choices + text[end:]
    return text


def find_choices(text: str) -> str:
    """Return the first list of small integers of a text, in the form `0 = against, 1 = for`."""
    return next((choices for _, _, choices in _iter_choices(text)), "")


def _clean_sentence(text: str) -> str:
    bare = " ".join(text.split()).strip(" -")
    if _DROPPED.match(bare):
        return ""
    bare = _REFERENCE.sub(r"\1", _EMITS.sub("", _SEE.sub("", bare)))
    lead = _LEAD.match(bare)
    if lead is not None:
        bare = bare[lead.end() : lead.end() + 1].upper() + bare[lead.end() + 1 :]
    bare = " ".join(bare.split()).strip(" -,")
    return bare if re.search("[A-Za-z]", bare) else ""


def _put_verb_first(sentences: list[str], name: str) -> list[str]:
    """Return sentences with one that begins with a verb first, if the first one has a condition."""
    if not sentences or _get_first_word(sentences[0]) not in _CONDITION:
        return sentences
    verb = re.match("[a-z]+", name)
    for place, sentence in enumerate(sentences):
        word = _get_first_word(sentence)
        is_own = verb is not None and word.rstrip("es").startswith(verb[0].rstrip("e"))
        if is_own or (word.endswith("s") and word not in _CONDITION):
            return [sentence, *sentences[:place], *sentences[place + 1 :]]
    return sentences


def _get_first_word(sentence: str) -> str:
    return sentence.partition(" ")[0].strip(".,:;").lower()


def _iter_choices(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and form of each list whose numbers follow each other from 0 or 1 on."""
    run: list[re.Match[str]] = []
    for match in [*_CHOICE.finditer(text), None]:
        is_next = (
            match is not None
            and bool(run)
            and int(match["number"]) == int(run[-1]["number"]) + 1
            and _CHOICE_JOINT.fullmatch(text, run[-1].end(), match.start()) is not None
        )
        if not is_next:
            if len(run) > 1 and int(run[0]["number"]) <= 1:
                yield run[0].start(), run[-1].end(), ", ".join(map(_format_choice, run))
            run = []
        if match is not None and len(match["word"].split()) <= MAX_CHOICE_WORDS:
            run.append(match)


def _format_choice(match: re.Match[str]) -> str:
    word = match["word"]
    is_plain = word[1:].islower() or len(word) == 1
    return f"{int(match['number'])} = {word.lower() if is_plain else word}"

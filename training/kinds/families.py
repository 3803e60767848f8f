"""Families of tools from the files in `families/`, their format, and their split.

A file of TOML holds families of one domain. A table `[family]` has:

- `roles`: base prompts of agents with these tools;
- `values` (optional): texts of the family's own slots, `{season = ["spring", "summer"]}`;
- `chains` (optional): lists of a first tool's key, a second tool's key, and two clauses. The second
  clause needs the first one's result: `["newest", "close", "look up the newest case", "close it"]`.

A table `[family.key]` is a tool. It is an action, or a view if it has `fact`:

- `names`: names in words, separated by ` / `; words with a capital stay as they are;
- `descriptions`: what contracts say about it;
- `parameters`: `"slot type: name / name | description | description"`. The type may be left out for
  the slots of `slots.py` (numbers, addresses) and for own slots (texts);
- wordings, by kind: `orders` are plain commands in the tool's own words, `synonyms` share no word
  with its names and descriptions, `idioms` are colloquial, `indirect` are whole sentences,
  `questions` are whole questions to a view, `terse` are telegraphic notes. A wording is a text with
  `{slot}`s, or `{text = "vote yes on {id}", support = true}` with fixed values of parameters;
- `fact`: the slot that a view's reply has; `replies`; `failures`.

The kind `terse`, every fourth wording of the other kinds, and the families that `is_held_out`
chooses by the digest of their names are never trained on; a quarter of these families calibrates the
gate, the rest is measured. So the files fix the split; `families/SPLIT` has its digest.
"""

from __future__ import annotations

import hashlib
import re
import string
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from precompiles.abi import ParamType
from training.patterns import Chain, Kind, Parameter, Pattern, Wording, action, look

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from training.tasks import Argument

FOLDER = Path(__file__).with_name("families")
HELD_OUT_OF = 5
"""One of this number of families is held out."""

CALIBRATION_OF = 4
"""One of this number of held-out families is for calibration."""

WORDING_KINDS = ("orders", "synonyms", "idioms", "indirect", "questions", "terse")
HELD_OUT_WORDING_KIND = "terse"
LEAST_NAMES, LEAST_DESCRIPTIONS, LEAST_TOOLS, MOST_TOOLS = 3, 2, 3, 6
CHAINED_FACTS = ("id", "n", "small", "count", "days", "found", "name", "city", "item", "symbol")
"""Slots of a result that a second tool can be given as it stands."""

EXAMPLES_OF_A_SLOT = 6
"""Least number of texts of an own slot."""

STEM = 5
"""Letters of a word that are compared: `vote` and `voting` differ, `voter` and `voters` do not."""

_TYPES = {
    "text": ParamType.STRING,
    "address": ParamType.ADDRESS,
    "bool": ParamType.BOOL,
    "int": ParamType.INT,
    "uint": ParamType.UINT,
    "addresses": ParamType.ADDRESS_ARRAY,
}
_SLOT_TYPES = {
    **dict.fromkeys(("who", "token", "found"), "address"),
    "whos": "addresses",
    "signed": "int",
    **dict.fromkeys(("amount", "price", "id", "small", "count", "percent", "days", "n"), "uint"),
}
_SLOT_TEXTS = {
    "title",
    "message",
    "name",
    "chain",
    "city",
    "plan",
    "symbol",
    "item",
    "state",
    "yes",
}
_TOOL_FIELDS = {"names", "descriptions", "parameters", "fact", "replies", "failures"}
_COMMON = frozenset(
    [
        "about",
        "account",
        "amount",
        "address",
        "number",
        "which",
        "whose",
        "their",
        "there",
        "these",
        "token",
        "tokens",
    ]
)
"""Words that a synonym may share with its tool."""

_Table: TypeAlias = "dict[str, Any]"


class FamilyError(Exception):
    """A file of families breaks the format."""


def is_held_out(family: str) -> bool:
    """Tell whether a family is never trained on: by the digest of its name."""
    return hashlib.sha256(family.encode()).digest()[0] % HELD_OUT_OF == 0


def is_for_calibration(family: str) -> bool:
    """Tell whether a held-out family is for calibrating the gate, not for the benchmark."""
    return hashlib.sha256(family.encode()).digest()[1] % CALIBRATION_OF == 0


def read_families(folder: Path = FOLDER) -> tuple[Kind, ...]:
    """Read all families, in the order of their names.

    Raises: FamilyError: a file breaks the format; the error lists every place.
    """
    kinds: dict[str, Kind] = {}
    problems: list[str] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            data = tomllib.loads(path.read_text("utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise FamilyError(f"{path.name}: {error}") from error
        for name, table in data.items():
            if name in kinds:
                problems.append(f"{path.name}: family {name} is defined twice")
            problems += [f"{path.name}: {one}" for one in _check_family(name, table)]
            if not problems:
                kinds[name] = _build_kind(name, table)
    if problems:
        raise FamilyError("\n".join(problems))
    return tuple(kinds[name] for name in sorted(kinds))


def compute_split_digest(kinds: Iterable[Kind]) -> str:
    """Return the SHA-256 of the lines `family tool wording part`, which fix the split."""
    lines = [
        f"{kind.name}\t{pattern.key}\t{wording.text}\t" + _find_part(kind, wording)
        for kind in kinds
        for pattern in kind.patterns
        for wording in pattern.wordings
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _find_part(kind: Kind, wording: Wording) -> str:
    if kind.is_held_out:
        return "calibration" if is_for_calibration(kind.name) else "measured"
    return "measured" if wording.is_held_out else "trained"


def _build_kind(name: str, table: _Table) -> Kind:
    tools = {key: of for key, of in table.items() if isinstance(of, dict) and key != "values"}
    values = {slot: tuple(texts) for slot, texts in table.get("values", {}).items()}
    return Kind(
        name,
        tuple(table["roles"]),
        tuple(_build_pattern(key, of, values) for key, of in tools.items()),
        tuple(
            Chain(first, second, f"{one} and {two}", (one, two))
            for first, second, one, two in table.get("chains", ())
        ),
        is_held_out=is_held_out(name),
    )


def _build_pattern(key: str, of: _Table, values: Mapping[str, tuple[str, ...]]) -> Pattern:
    make: dict[str, Any] = {
        "key": key,
        "names": of["names"],
        "descriptions": tuple(of["descriptions"]),
        "parameters": tuple(map(_build_parameter, of.get("parameters", ()))),
        "wordings": tuple(_build_wordings(of)),
        "replies": tuple(of.get("replies", ())),
        "values": values,
    }
    if "fact" in of:
        return look(**make, fact=of["fact"])
    return action(**make, failures=tuple(of.get("failures", ())))


def _build_wordings(of: _Table) -> Iterable[Wording]:
    for kind in WORDING_KINDS:
        for index, one in enumerate(of.get(kind, ()), start=1):
            fixed = dict(one) if isinstance(one, dict) else {"text": one}
            text = fixed.pop("text")
            is_measured = kind == HELD_OUT_WORDING_KIND or index % 4 == 0
            yield Wording(text, fixed, kind=kind, is_held_out=is_measured)


def _build_parameter(line: str) -> Parameter:
    slot, kind, names, descriptions = _split_parameter(line)
    return Parameter(slot, _TYPES[kind], tuple(names), tuple(descriptions))


def _split_parameter(line: str) -> tuple[str, str, list[str], list[str]]:
    head, _, rest = line.partition(":")
    slot, _, kind = head.strip().partition(" ")
    names, *descriptions = (part.strip() for part in rest.split("|"))
    default = _SLOT_TYPES.get(slot.rstrip("0123456789"), "text")
    return slot, kind.strip() or default, names.split(" / "), descriptions


def _check_family(name: str, table: _Table) -> Iterable[str]:
    if not re.fullmatch(r"[a-z][a-z0-9 -]*", name):
        yield f"{name}: a family's name is lower-case words"
    values: Mapping[str, Sequence[str]] = table.get("values", {})
    for slot, texts in values.items():
        if len(set(texts)) < EXAMPLES_OF_A_SLOT:
            yield f"{name}: slot {slot} has {len(set(texts))} texts, at least {EXAMPLES_OF_A_SLOT}"
    if not table.get("roles"):
        yield f"{name}: no roles"
    tools = {key: of for key, of in table.items() if isinstance(of, dict) and key != "values"}
    if not LEAST_TOOLS <= len(tools) <= MOST_TOOLS:
        yield f"{name}: {len(tools)} tools; a family has {LEAST_TOOLS} to {MOST_TOOLS}"
    for chain in table.get("chains", ()):
        yield from (f"{name}: chain {chain}: {one}" for one in _check_chain(chain, tools))
    for key, of in tools.items():
        yield from (f"{name}.{key}: {one}" for one in _check_tool(of, values))


def _check_chain(chain: Sequence[str], tools: Mapping[str, _Table]) -> Iterable[str]:
    keys, clauses = chain[:2], chain[2:]
    if not set(keys) <= set(tools) or len(clauses) != len(keys):
        yield "must be two keys of tools, then two clauses"
        return
    first, second = (tools[key] for key in keys)
    slots = {_split_parameter(line)[0] for line in second.get("parameters", ())}
    unsaid = {_split_parameter(line)[0] for line in first.get("parameters", ())} - _slots(
        clauses[0]
    )
    if unsaid:
        yield f"the clause of {keys[0]} must have {sorted(unsaid)}"
    fact = first.get("fact")
    if fact not in CHAINED_FACTS:
        yield f"the fact {fact!r} of {keys[0]} must be one of {', '.join(CHAINED_FACTS)}"
    elif fact not in slots and "amount" not in slots:
        yield f"{keys[1]} has neither a slot {fact} nor an amount"


def _check_tool(of: _Table, values: Mapping[str, Sequence[str]]) -> Iterable[str]:
    unknown = set(of) - _TOOL_FIELDS - set(WORDING_KINDS)
    if unknown:
        yield f"unknown fields {sorted(unknown)}"
    if len(of.get("names", "").split(" / ")) < LEAST_NAMES:
        yield f"at least {LEAST_NAMES} names, separated by ' / '"
    if len(of.get("descriptions", ())) < LEAST_DESCRIPTIONS:
        yield f"at least {LEAST_DESCRIPTIONS} descriptions"
    slots = {_split_parameter(line)[0] for line in of.get("parameters", ())}
    for line in of.get("parameters", ()):
        yield from _check_parameter(line, values)
    yield from _check_counts(of)
    for one in _all_wordings(of):
        yield from _check_wording(one, slots)
    yield from _check_ends(of)
    own = _stems(f"{of.get('names', '')} {' '.join(of.get('descriptions', ()))}")
    for text in map(_text, of.get("synonyms", ())):
        shared = _stems(text) & own
        if shared:
            yield f"synonym {text!r} shares {sorted(shared)} with names or descriptions"
    yield from _check_replies(of, slots)


def _check_parameter(line: str, values: Mapping[str, Sequence[str]]) -> Iterable[str]:
    slot, kind, names, descriptions = _split_parameter(line)
    if kind not in _TYPES:
        yield f"unknown type {kind!r} in {line!r}"
    elif kind == "text" and slot.rstrip("0123456789") not in _SLOT_TEXTS and slot not in values:
        yield f"slot {slot!r} of {line!r} is neither known nor in `values`"
    if not all(re.fullmatch(r"[A-Za-z][A-Za-z0-9]*( [A-Za-z0-9]+)*", one) for one in names):
        yield f"names of {line!r} are words"
    if not descriptions:
        yield f"{line!r} has no description"


def _check_counts(of: _Table) -> Iterable[str]:
    least = {"orders": 4, "synonyms": 4, "terse": 2}
    least |= {"questions": 4} if "fact" in of else {"idioms": 3, "indirect": 2}
    for kind, count in least.items():
        if len(of.get(kind, ())) < count:
            yield f"{len(of.get(kind, ()))} {kind}, at least {count}"
    for text, count in Counter(map(_text, _all_wordings(of))).items():
        if count > 1:
            yield f"wording {text!r} occurs {count} times"


def _check_ends(of: _Table) -> Iterable[str]:
    for text in map(_text, of.get("orders", ())):
        if text[-1] in ".?!":
            yield f"order {text!r} ends like a sentence"
    for kind in ("indirect", "questions"):
        for text in map(_text, of.get(kind, ())):
            if text[-1] not in ".?!":
                yield f"{kind}: {text!r} must end in a full stop or a question mark"


def _check_replies(of: _Table, slots: set[str]) -> Iterable[str]:
    fact = of.get("fact")
    if fact and not any(f"{{{fact}}}" in reply for reply in of.get("replies", ())):
        yield f"no reply has {{{fact}}}"
    for reply in of.get("replies", ()):
        for slot in _slots(reply) - slots - {fact}:
            yield f"reply {reply!r}: slot {slot} is no parameter"


def _text(wording: str | Mapping[str, Any]) -> str:
    return wording if isinstance(wording, str) else str(wording["text"])


def _all_wordings(of: _Table) -> list[Any]:
    return [one for kind in WORDING_KINDS for one in of.get(kind, ())]


def _check_wording(one: str | Mapping[str, Argument], slots: set[str]) -> Iterable[str]:
    fixed = {} if isinstance(one, str) else {k: v for k, v in one.items() if k != "text"}
    text = one if isinstance(one, str) else str(one["text"])
    said = _slots(text)
    if said & set(fixed) or said | set(fixed) != slots:
        yield f"wording {text!r} has {sorted(said | set(fixed))}, parameters are {sorted(slots)}"


def _slots(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def _stems(text: str) -> set[str]:
    words = re.findall(r"[a-z]+", re.sub(r"\{\w+\}", " ", text).lower())
    return {w[:STEM] for w in words if len(w) >= STEM and w not in _COMMON}


def main() -> int:
    """Check the files, and print counts and the digest of the split."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    try:
        kinds = read_families(folder)
    except FamilyError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    held_out = [kind for kind in kinds if kind.is_held_out]
    tools = sum(len(kind.patterns) for kind in kinds)
    wordings = sum(len(p.wordings) for kind in kinds for p in kind.patterns)
    print(f"{len(kinds)} families ({len(held_out)} held out), {tools} tools, {wordings} wordings")  # noqa: T201
    print(f"split {compute_split_digest(kinds)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())

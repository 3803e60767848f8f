"""Templates of sentences: those that are orders to act now, and those that are not.

`templates/README.md` describes the format of the files. A sentence has an order in a form of its
verb (`inflection.py`), and may have other slots, `SLOTS`.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from training.chooser.inflection import VARIANTS, Variant, inflect
from training.words import PEOPLE

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

FOLDER = Path(__file__).with_name("templates")
ORDER = "order"
SLOTS: Mapping[str, tuple[str, ...]] = {
    "name": PEOPLE,
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "time": ("7am", "8:30", "9 o'clock", "noon", "half past two", "4 pm", "18:00", "10pm"),
    "number": ("2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "two", "three", "four", "ten"),
    "noun": (
        "umbrella", "kettle", "piano", "carpet", "sofa", "violin", "lamp", "fridge", "puzzle",
        "hammock", "telescope", "pumpkin", "tractor", "canoe", "kite", "blanket", "ladder",
        "teapot", "guitar", "mirror", "balloon", "lawnmower", "candle", "suitcase",
    ),
}  # fmt: skip
"""Texts of the slots besides the order. A slot that occurs twice has one text."""

LEAST_HELD_OUT, MOST_HELD_OUT = 0.1, 0.3
"""Limits of a class's held-out share, which is to be a fifth."""

SMALL_CLASS = 10
"""Classes of fewer templates may hold out any share."""

_CLAUSE_PLACE = re.compile(r"(?:^|[.,:;!?] |[-\u2013\u2014] ?)\{order\}")
"""The order's place at the beginning of a text, or after a mark."""

_ONE_CLAUSE = re.compile(r"[^.:;!?]*\{order\}[^.:;!?]*[.!]?")
_FIELDS = {"text": str, "variant": str, "held_out": bool, "plain": bool}
_Table: TypeAlias = "Mapping[str, Any]"


class TemplateError(Exception):
    """A file of templates breaks the format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A sentence around an order, or without one."""

    text: str
    variant: Variant
    kind: str
    """Class."""

    accepts: bool
    """Whether the sentence is an order to do that, and nothing else, now."""

    is_held_out: bool
    """Whether it is for measuring only."""

    is_plain: bool
    """Whether it has no order."""

    @property
    def takes_clause(self) -> bool:
        """Whether a whole clause may stand in the place of the order."""
        return self.variant == "order" and _CLAUSE_PLACE.search(self.text) is not None

    @property
    def is_clause(self) -> bool:
        """Whether the filled template may stand in the place of an order: it is one sentence."""
        return self.variant == "order" and _ONE_CLAUSE.fullmatch(self.text) is not None

    def fill(self, order: str, rng: random.Random) -> str | None:
        """Return the sentence with an order; None if the form of the verb is not known."""
        form = inflect(order, self.variant)
        if form is None:
            return None
        return self.text.format(order=form, **{slot: rng.choice(of) for slot, of in SLOTS.items()})


def read_templates(folder: Path = FOLDER) -> tuple[Template, ...]:
    """Read all templates, in the order of the files' names.

    Raises: TemplateError: a file breaks the format; the error lists every place.
    """
    found: list[Template] = []
    problems: list[str] = []
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise TemplateError(f"no templates (*.toml) in {folder}; pass the folder that has them")
    for path in paths:
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise TemplateError(f"{path.name}: {error}") from error
        own = [f"{path.name}: {one}" for one in _check(table, path.stem)]
        problems += own
        if not own:
            found += _build(table)
    problems += _check_all(found)
    if problems:
        raise TemplateError("\n".join(problems))
    return tuple(found)


def choose_part(templates: Sequence[Template], *, held_out: bool) -> tuple[Template, ...]:
    """Return the templates for training, or those for measuring."""
    return tuple(one for one in templates if one.is_held_out is held_out)


def _build(table: _Table) -> Iterable[Template]:
    for one in table["template"]:
        yield Template(
            text=one["text"],
            variant=one.get("variant", "order"),
            kind=table["class"],
            accepts=table["accepts"],
            is_held_out=one.get("held_out", False),
            is_plain=one.get("plain", False),
        )


def _check(table: _Table, name: str) -> Iterable[str]:
    unknown = set(table) - {"class", "accepts", "template"}
    if unknown:
        yield f"unknown fields {sorted(unknown)}; a file has class, accepts and [[template]]"
    if table.get("class") != name:
        yield f"class {table.get('class')!r}: must be the file's name, {name!r}"
    if not isinstance(table.get("accepts"), bool):
        yield f"accepts {table.get('accepts')!r}: must be true or false"
    templates = table.get("template")
    if not isinstance(templates, list) or not templates:
        yield "no [[template]]; a file has at least one"
        return
    for number, one in enumerate(templates, start=1):
        yield from (f"template {number}: {problem}" for problem in _check_template(one))


def _check_template(one: Any) -> Iterable[str]:  # noqa: ANN401 - what TOML has
    if not isinstance(one, dict):
        yield f"{one!r}: must be a table"
        return
    for field, value in one.items():
        if field not in _FIELDS:
            yield f"unknown field {field!r}; a template has {', '.join(_FIELDS)}"
        elif not isinstance(value, _FIELDS[field]):
            yield f"{field} {value!r}: must be of type {_FIELDS[field].__name__}"
    if one.get("variant", "order") not in VARIANTS:
        yield f"variant {one['variant']!r}: must be one of {', '.join(VARIANTS)}"
    text = one.get("text")
    if not isinstance(text, str) or not text:
        yield f"text {text!r}: must be a sentence"
        return
    try:
        slots = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        yield f"text {text!r}: {error}; write braces around slots alone"
        return
    orders = 0 if one.get("plain") else 1
    if slots.count(ORDER) != orders:
        yield f"text {text!r}: must have {{{ORDER}}} {orders} times"
    for slot in sorted(set(slots) - {ORDER, *SLOTS}):
        yield f"text {text!r}: unknown slot {{{slot}}}; the slots are {ORDER}, {', '.join(SLOTS)}"


def _check_all(templates: Sequence[Template]) -> Iterable[str]:
    texts: dict[tuple[str, Variant], str] = {}
    classes: defaultdict[str, list[Template]] = defaultdict(list)
    for one in templates:
        key = (one.text.lower(), one.variant)
        if key in texts:
            yield f"template {one.text!r} of class {one.kind} is in class {texts[key]} too"
        texts[key] = one.kind
        classes[one.kind].append(one)
    for name, own in classes.items():
        share = sum(one.is_held_out for one in own) / len(own)
        if len(own) >= SMALL_CLASS and not LEAST_HELD_OUT <= share <= MOST_HELD_OUT:
            yield f"class {name}: {share:.0%} of its {len(own)} templates are held out, not a fifth"

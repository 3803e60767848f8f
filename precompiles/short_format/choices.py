"""How the short format fills a tool's parameters: values copied from texts.

Numbers, addresses and texts are those that a clause names, else those of the question, the tool
results and the base prompt. A description can state a unit, decimals, or the values of a text. Each
leaf of a typed text is filled as a parameter of its kind; `bytesN` and `bytes` copy hexadecimal
words.

Source: docs/architecture.md#short-format.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from precompiles.abi import ParamType
from precompiles.abi_types import AbiType, Kind
from precompiles.integer_patterns import build_range_pattern
from precompiles.quantities import find_quantities
from precompiles.short_format.clauses import LETTER, NameIndex, fold_case, mask_quotations
from precompiles.short_format.hexadecimal_words import (
    ANY_SIZE,
    has_prefixed_word,
    read_hexadecimal_words,
)
from precompiles.spec import (
    COPIED_VALUE_BYTES,
    MAX_CHOSEN_NUMBERS,
    MAX_COPIED_WORDS,
    MAX_COPIES,
    MAX_SPAN_WORD_BYTES,
    MAX_SPAN_WORDS,
)
from precompiles.stated_values import BASIS_POINTS, is_free, keep_free, read_texts, to_json
from precompiles.typed_texts import (
    TypedTextError,
    build_pattern,
    measure_pattern,
    quote_text,
    read_typed_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from precompiles.abi import ParamDescription
    from precompiles.quantities import Quantity
    from precompiles.short_format.clauses import Clause

_FLAGS = re.ASCII | re.IGNORECASE
_NUMBERS = (ParamType.INT, ParamType.UINT)
_DECIMALS = re.compile(
    r"(?<![\w.])(\d{1,2}) decimals|(?<![\w.])(?:10 ?(?:\^|\*\*) ?|1e)(\d{1,2})(?!\d)", _FLAGS
)
_MAX_DECIMALS = 77
_EACH = re.compile(
    r"(?<!\w)(?:a|one|1) (hundred|thousand|million|billion) (?:each|per|to (?:a|one|the))(?!\w)",
    _FLAGS,
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
_UNIT = re.compile(rf"(?<![a-z])in ({'|'.join(_UNITS)})s?(?![a-z])", _FLAGS)
_PERCENT = re.compile(
    "percent|per cent|%|share|ratio|rate|slippage|fee|basis|bps|deviation|threshold|tolerance|"
    "discount|royalty|commission|interest|quorum|margin",
    _FLAGS,
)
_PUNCTUATION = ".,;:!?()"
_WORD = re.compile(f"[0-9{LETTER}]{{2,}}")
_ACRONYM = re.compile("[A-Z]{2}")
_HANDLE = re.compile("(?<![0-9A-Za-z_])addr[0-9]+(?![0-9A-Za-z_])")


class Spans:
    """The spans of neighbouring words of some texts, up to `MAX_COPIED_WORDS` words each."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Collect the words of texts whose quotations are masked."""
        self._runs = tuple(run for text in texts for run in _split_runs(text))

    def __bool__(self) -> bool:
        """Return whether there is a word."""
        return bool(self._runs)

    def __contains__(self, text: object) -> bool:
        """Return whether a text is a span."""
        words = tuple(text.split(" ")) if isinstance(text, str) else ()
        return 0 < len(words) <= MAX_COPIED_WORDS and any(
            words == run[start : start + len(words)]
            for run in self._runs
            for start in range(len(run))
        )

    @cached_property
    def _starts(self) -> tuple[tuple[str, ...], ...]:
        """The longest span from each word, each once."""
        starts = (
            run[start : start + MAX_COPIED_WORDS] for run in self._runs for start in range(len(run))
        )
        return tuple(dict.fromkeys(starts))

    @cached_property
    def size_bytes(self) -> int:
        """Size of the longest span from each word as UTF-8, in JSON."""
        return sum(len(" ".join(words).encode()) + len('""') for words in self._starts)

    @cached_property
    def pattern(self) -> str:
        """A regular expression of the spans, in JSON."""
        return "|".join(map(_build_span_pattern, self._starts))


@dataclass(frozen=True, slots=True)
class Choice:
    """How a parameter is filled."""

    values: tuple[str, ...]
    """Values in JSON, each once, in order of occurrence; at most `MAX_COPIES`."""

    spans: Spans | None = None
    """Texts that are values as well."""

    is_list: bool = False
    numbers: range | None = None
    """Numbers that are values as well."""

    text_type: AbiType | None = None
    """The type of a typed text, which has none of the above."""

    leaves: tuple[tuple[str, ...], ...] = ()
    """The values of each leaf of a typed text, as they stand in it; at most `MAX_COPIES` each."""

    @property
    def size_bytes(self) -> int:
        """Size of the values, spans and numbers as UTF-8; of the pattern of a typed text."""
        if self.text_type is not None:
            sizes = [
                sum(len(value.encode()) + COPIED_VALUE_BYTES for value in values)
                for values in self.leaves
            ]
            return measure_pattern(self.text_type, sizes)
        others = self.spans.size_bytes if self.spans else 0
        others += len(build_range_pattern(self.numbers)) if self.numbers else 0
        return others + sum(len(value.encode()) for value in self.values)

    @property
    def pattern(self) -> str:
        """A regular expression of a value, or of an item of a list."""
        if self.text_type is not None:
            return build_pattern(self.text_type, [*map(_build_leaf_pattern, self.leaves)])
        patterns = [*map(_escape_pattern, self.values)]
        patterns += [self.spans.pattern] if self.spans else []
        patterns += [build_range_pattern(self.numbers)] if self.numbers else []
        return "|".join(patterns)

    def admits(self, value: object) -> bool:
        """Return whether a decoded argument is one of the values, or a list of them."""
        items = value if isinstance(value, list) else [value]
        return bool(items) and all(map(self._admits_item, items))

    def _admits_item(self, item: object) -> bool:
        if self.text_type is not None:
            return isinstance(item, str) and self._admits_text(self.text_type, item)
        is_number = isinstance(item, int) and not isinstance(item, bool)
        is_stated = is_number and item in (self.numbers or ())
        return is_stated or to_json(item) in self.values or item in (self.spans or ())

    def _admits_text(self, of: AbiType, text: str) -> bool:
        try:
            leaves = read_typed_text(of, text, least_items=1)
        except TypedTextError:
            return False
        return all(leaf.text in self.leaves[leaf.index] for leaf in leaves)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterRule:
    """What a parameter's type, name and description say of its values."""

    kind: ParamType
    """The type; of a list, the type of its items."""

    is_list: bool
    factor: int
    """The parameter's units in one of the users' unit."""

    unit: str
    """The parameter's unit; empty if none is stated."""

    percent_factor: int
    """The parameter's units in one per cent; 0 if it takes no percentages."""

    stated: tuple[str, ...] | None
    """The values of a text, in JSON, if the description states them."""

    numbers: range | None
    """The values of an integer: those that the description states, if the profile has
    `stated_values`, else those of the type in its marker."""

    can_be_chosen: bool
    """Whether the model can choose a number: one of few that the description states."""

    abi_type: AbiType | None = None
    """The type of a typed text, or of a leaf of one."""

    leaves: tuple[ParameterRule, ...] = ()
    """The leaves of a typed text; empty for other parameters."""


def read_parameter(parameter: ParamDescription) -> ParameterRule:
    """Read a parameter. Its name and description count for each leaf of a typed text."""
    description = parameter.plain_description
    described = f"{parameter.name} {description}"
    is_percent, is_basis_points = _PERCENT.search(described), BASIS_POINTS.search(described)
    factor, unit = _read_factor(description)
    is_list, of = parameter.param_type >= ParamType.STRING_ARRAY, parameter.text_type
    stated, limits = parameter.values, parameter.limits
    rule = ParameterRule(
        kind=parameter.kind,
        is_list=is_list,
        factor=factor,
        unit=unit,
        percent_factor=0 if not is_percent else 100 if is_basis_points else 1,
        stated=read_texts(description),
        numbers=limits if isinstance(limits, range) else None,
        can_be_chosen=isinstance(stated, range)
        and stated.stop - stated.start <= MAX_CHOSEN_NUMBERS,
        abi_type=of,
    )
    if of is None:
        return rule
    kinds = zip(parameter.leaf_kinds, of.leaves, _find_lists(of, is_list=is_list), strict=True)
    leaves = (
        replace(rule, kind=kind, is_list=in_list, stated=None, numbers=leaf.numbers, abi_type=leaf)
        for kind, leaf, in_list in kinds
    )
    return replace(rule, leaves=tuple(leaves))


def _find_lists(of: AbiType, *, is_list: bool) -> tuple[bool, ...]:
    """Return whether each leaf of a type is in a list."""
    if not of.parts:
        return (is_list,)
    is_list = is_list or of.kind is not Kind.TUPLE
    return tuple(one for part in of.parts for one in _find_lists(part, is_list=is_list))


def _read_factor(description: str) -> tuple[int, str]:
    """Return the factor that a description states, 1 if it states none, and the unit's name."""
    match = _UNIT.search(description)
    unit = match[1].lower() if match else ""
    decimals = _DECIMALS.search(description)
    if decimals:
        exponent = int(decimals[1] or decimals[2])
        return (10**exponent if exponent <= _MAX_DECIMALS else 1), unit
    each = _EACH.search(description)
    if each:
        return _EACH_FACTORS[each[1].lower()], unit
    return _UNITS.get(unit, 1), unit


class Sources:
    """The texts of a step from which values are copied."""

    def __init__(
        self,
        question: str,
        results: Sequence[str],
        base_prompt: str,
        handles: Sequence[str],
        *,
        has_data: bool = False,
    ) -> None:
        """Collect the texts.

        Input:
            question, results, base_prompt: question and tool results, the last one first, on one
                line each, and the base prompt, all with handles in place of addresses.
            handles: the handles.
            has_data: whether a tool of the call copies hexadecimal words, so that the question
                quotes those with `0x`.
        """
        self._has_data = has_data
        self._texts = (question, *results)
        self._base_prompt = base_prompt
        self.names = NameIndex(handles)
        """The handles, as texts name them."""

        self._handles = frozenset(handles)
        self._quantities: dict[str, tuple[Quantity, ...]] = {}
        self._named: dict[str, tuple[str, ...]] = {}
        self._choices: dict[tuple[str, ParameterRule, int, int], Choice | None] = {}
        self._leaf_values: dict[tuple[str, ParameterRule, int, int], tuple[str, ...]] = {}
        self._words: dict[str, Mapping[int, tuple[str, ...]]] = {}
        self._hexadecimal: dict[tuple[str, int], tuple[str, ...]] = {}

    def find_counted(self, clause: Clause) -> frozenset[str]:
        """Return the handles of the tokens that the numbers of a clause count: `5 USDC`.

        Empty if the clause has no number, or one that counts no named token.
        """
        found = [self._find_named(one.unit) for one in self._read_quantities(clause.text)]
        return frozenset(chain.from_iterable(found)) if all(found) else frozenset()

    def find_choices(
        self, clause: Clause, parameters: Sequence[ParameterRule]
    ) -> tuple[Choice, ...] | None:
        """Return how each parameter is filled for a clause; None if one can't be.

        A clause with fewer addresses or numbers than parameters takes the others elsewhere; the
        model chooses those that it can. It also chooses a number if none of the clause's is in the
        stated range. If a tool of the call copies hexadecimal words, one that copies none can't be
        filled for a clause with a word that has `0x`.
        """
        rules = [rule for one in parameters for rule in one.leaves or (one,)]
        # Without its quotation marks, a clause with such a word would be none.
        has_word = self._has_data and any(map(has_prefixed_word, clause.quotations))
        if has_word and not any(map(_is_hexadecimal, rules)):
            return None
        kinds = [rule.kind for rule in rules]
        addresses, numbers = kinds.count(ParamType.ADDRESS), sum(map(kinds.count, _NUMBERS))
        has_too_few = len(self._read_quantities(clause.text)) < numbers
        if has_too_few:
            numbers -= sum(parameter.can_be_chosen for parameter in parameters)
        found: list[Choice] = []
        for parameter in parameters:
            key = (clause.text, parameter, addresses, numbers)
            if key not in self._choices:
                find = self._find_typed_choice if parameter.leaves else self._find_choice
                self._choices[key] = find(clause, parameter, addresses, numbers)
            choice = self._choices[key]
            if parameter.can_be_chosen and (has_too_few or choice is None):
                choice = Choice((), None, parameter.is_list, parameter.numbers)
            if choice is None:
                return None
            found.append(choice)
        return tuple(found)

    def _find_choice(
        self, clause: Clause, parameter: ParameterRule, addresses: int, numbers: int
    ) -> Choice | None:
        """Return how a parameter is filled, of a tool with a number of addresses and numbers."""
        values: Iterable[str] = ("true", "false")
        spans = None
        if parameter.kind is ParamType.ADDRESS:
            found = self._find_addresses(clause, addresses, is_list=parameter.is_list)
            values = map(to_json, found)
        elif parameter.kind in _NUMBERS:
            values = map(str, _convert(self._find_numbers(clause, numbers), parameter))
        elif parameter.kind is ParamType.STRING:
            values, spans = self._find_texts(clause, parameter)
        kept = _keep_first(values)
        return Choice(kept, spans, parameter.is_list) if kept or spans else None

    def _find_typed_choice(
        self, clause: Clause, parameter: ParameterRule, addresses: int, numbers: int
    ) -> Choice | None:
        """Return how a typed text is filled: each leaf as a parameter of its kind."""
        leaves: list[tuple[str, ...]] = []
        for rule in parameter.leaves:
            key = (clause.text, rule, addresses, numbers)
            if key not in self._leaf_values:
                found = self._find_leaf_values(clause, rule, addresses, numbers)
                self._leaf_values[key] = _keep_first(found)
            leaves.append(self._leaf_values[key])
        if not all(leaves):
            return None
        return Choice(
            (), None, parameter.is_list, None, text_type=parameter.abi_type, leaves=tuple(leaves)
        )

    def _find_leaf_values(
        self, clause: Clause, rule: ParameterRule, addresses: int, numbers: int
    ) -> Iterable[str]:
        """Return the values of a leaf as they stand in a typed text; texts are quotations."""
        if _is_hexadecimal(rule):
            return self._find_hexadecimal(clause, rule)
        if rule.kind is ParamType.ADDRESS:
            return self._find_addresses(clause, addresses, is_list=rule.is_list)
        if rule.kind in _NUMBERS:
            return map(str, _convert(self._find_numbers(clause, numbers), rule))
        if rule.kind is ParamType.STRING:
            quotations = clause.quotations or self._quotations
            return map(quote_text, filter(is_free, quotations))
        return ("true", "false")

    def _find_hexadecimal(self, clause: Clause, rule: ParameterRule) -> tuple[str, ...]:
        """Return the hexadecimal words of a clause; if it has none, those of the other texts."""
        size = rule.abi_type.size if rule.abi_type is not None else ANY_SIZE
        own = (clause.text, *clause.quotations)
        others = (*self._texts, self._base_prompt)
        return self._select_hexadecimal(clause.text, own, size) or self._select_hexadecimal(
            "", others, size
        )

    def _select_hexadecimal(self, name: str, texts: Sequence[str], size: int) -> tuple[str, ...]:
        """Return the hexadecimal words of texts that have a size in bytes; keep them by a name."""
        if (name, size) not in self._hexadecimal:
            for text in texts:
                if text not in self._words:
                    self._words[text] = read_hexadecimal_words(text)
            self._hexadecimal[name, size] = _keep_first(
                word for text in texts for word in self._words[text].get(size, ())
            )
        return self._hexadecimal[name, size]

    def _find_addresses(self, clause: Clause, count: int, *, is_list: bool) -> tuple[str, ...]:
        """Return the handles that a clause names; if they are too few, more.

        For too few, and for a list, those that the clause describes; then those of question and
        results. Empty if all are fewer than `count`.
        """
        found = (*self._find_named(clause.text), *self.names.select(clause.quotations))
        if is_list or len(found) < count:
            found = (*found, *self._find_described(clause.text))
        if len(found) < count:
            found = (*found, *self._all_handles)
        return found if len(found) >= count else ()

    @cached_property
    def _all_handles(self) -> tuple[str, ...]:
        found = ((*self._find_named(text), *self._find_described(text)) for text in self._texts)
        return tuple(dict.fromkeys(chain.from_iterable(found)))

    def _find_named(self, text: str) -> tuple[str, ...]:
        if text not in self._named:
            self._named[text] = self.names.find(text)
        return self._named[text]

    def _find_described(self, text: str) -> tuple[str, ...]:
        """Return the handles without a name of which the text has a word of the base prompt."""
        words = set(_WORD.findall(fold_case(mask_quotations(text)[0])))
        return tuple(of for of, names in self._prose.items() if not names.isdisjoint(words))

    @cached_property
    def _prose(self) -> Mapping[str, frozenset[str]]:
        """Words of the base prompt's line with an address that has no name, by its handle.

        Lower-case words of two letters, and words of two such lines, name nothing.
        """
        owners: dict[str, set[str]] = {}
        for line in self._base_prompt.split("\n"):
            said = set(_HANDLE.findall(line)) & self._handles
            words = set(_WORD.findall(line)) - said if said else set()
            for word in words:
                if len(word) > len("of") or _ACRONYM.fullmatch(word):
                    owners.setdefault(fold_case(word), set()).update(said)
        own = [(handle, word) for word, (handle, *more) in owners.items() if not more]
        return {
            handle: frozenset(word for of, word in own if of == handle)
            for handle in sorted({handle for handle, _ in own})
        }

    def _find_numbers(self, clause: Clause, count: int) -> Sequence[tuple[Quantity, bool]]:
        """Return numbers, and whether each is in the users' unit, not in the contracts'.

        Those of the clause; if they are too few, those of the results as well; and if the clause
        has none, those of the base prompt. Empty if all are too few. A number of another clause is
        no argument: a clause can have neighbouring parts, up to the one with the number.
        """
        results = self._texts[1:]
        found = [(one, True) for one in self._read_quantities(clause.text)]
        has_own = bool(found)
        if len(found) < count:
            found += [(one, False) for text in results for one in self._read_quantities(text)]
        if not has_own and len(found) < count:
            found += [(one, True) for one in self._read_quantities(self._base_prompt)]
        return found[:MAX_COPIES] if len(found) >= count else ()

    def _read_quantities(self, text: str) -> tuple[Quantity, ...]:
        if text not in self._quantities:
            self._quantities[text] = find_quantities(mask_quotations(text)[0])
        return self._quantities[text]

    def _find_texts(
        self, clause: Clause, parameter: ParameterRule
    ) -> tuple[tuple[str, ...], Spans | None]:
        """Return texts to copy, in JSON, and texts whose spans can be copied.

        The items of a stated set, else the clause's quotations, else those of the question and the
        spans of the question and of the last result.
        """
        if parameter.stated is not None:
            return parameter.stated, None
        if clause.quotations:
            return keep_free(clause.quotations), None
        return self._quoted, self._spans

    @cached_property
    def _quoted(self) -> tuple[str, ...]:
        return keep_free(self._quotations)

    @cached_property
    def _quotations(self) -> tuple[str, ...]:
        return mask_quotations(self._texts[0])[1]

    @cached_property
    def _spans(self) -> Spans:
        return Spans(mask_quotations(text)[0] for text in self._texts[:2])


def _convert(
    quantities: Iterable[tuple[Quantity, bool]], parameter: ParameterRule
) -> Iterator[int]:
    """Yield the integers that a parameter takes for numbers, in its own unit.

    A number in the users' unit is multiplied by the factor that the description states, unless the
    parameter's unit follows the number. A percentage counts where the description is of one.
    """
    is_signed = parameter.kind is ParamType.INT
    limits = range(-(2**255), 2**255) if is_signed else range(2**256)
    if parameter.numbers is not None:
        limits = parameter.numbers
    for quantity, is_of_user in quantities:
        factor = parameter.factor
        if quantity.unit == "percent":
            factor = parameter.percent_factor
        elif not is_of_user or (parameter.unit and quantity.unit.rstrip("s") == parameter.unit):
            factor = 1
        value = quantity.value * factor
        if factor and value.denominator == 1 and int(value) in limits:
            yield int(value)


def _keep_first(values: Iterable[str]) -> tuple[str, ...]:
    """Return the first `MAX_COPIES` different values."""
    return tuple(islice(dict.fromkeys(values), MAX_COPIES))


def _is_hexadecimal(rule: ParameterRule) -> bool:
    """Return whether a rule is that of a `bytesN` or `bytes`."""
    return rule.abi_type is not None and rule.abi_type.kind in {Kind.FIXED_BYTES, Kind.BYTES}


def _build_leaf_pattern(values: Sequence[str]) -> str:
    """Return a regular expression of values as parts of a text in JSON."""
    return "|".join(_escape_pattern(to_json(value)[1:-1]) for value in values)


def _split_runs(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the runs of words of a text between punctuation, without words that JSON escapes."""
    words: list[str] = []
    for word in text.replace("\\n", " , ").split(" ", MAX_SPAN_WORDS)[:MAX_SPAN_WORDS]:
        bare = word.strip(_PUNCTUATION)
        is_word = is_free(bare) and len(bare.encode()) <= MAX_SPAN_WORD_BYTES
        is_word = is_word and '"' not in bare and "\\" not in bare
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


def _build_span_pattern(words: Sequence[str]) -> str:
    """Return a regular expression of the first word, and of it with words after it, in JSON."""
    pattern = ""
    for word in reversed(words[1:]):
        pattern = f"( {_escape_pattern(word)}{pattern})?"
    return f'"{_escape_pattern(words[0])}{pattern}"'


def _escape_pattern(text: str) -> str:
    """Return a regular expression of a text: `/`, which ends one in Lark, is escaped as well."""
    return re.sub(r"[!-/:-@\[-`{-~]", lambda match: f"\\x{ord(match[0]):02x}", text)

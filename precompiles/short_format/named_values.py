"""Whether a call uses the values that its clause names: a check of the gate in the short format.

A clause "lock alice out of bob's file" names two addresses. A call with one of them, or with one of
them twice, is probably of another tool, or of a person whom nobody knows.

Source: docs/architecture.md#gate.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from precompiles.abi import ParamType
from precompiles.abi_types import Kind
from precompiles.quantities import find_quantities
from precompiles.short_format.clauses import mask_quotations
from precompiles.typed_texts import read_typed_text, unquote_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from precompiles.abi import ParamDescription
    from precompiles.abi_types import AbiType
    from precompiles.short_format.clauses import NameIndex

    Arguments: TypeAlias = Mapping[str, object]


_WORD = re.compile("[0-9A-Za-z]+")
_KINDS = {
    Kind.UINT: ParamType.INT,
    Kind.INT: ParamType.INT,
    Kind.BOOL: ParamType.BOOL,
    Kind.ADDRESS: ParamType.ADDRESS,
    Kind.STRING: ParamType.STRING,
}
_READERS: dict[Kind, Callable[[str], Hashable]] = {
    Kind.UINT: int,
    Kind.INT: int,
    Kind.STRING: unquote_text,
}
"""How a leaf's text becomes a value."""


def uses_named_values(
    clause: str,
    names: NameIndex,
    parameters: Sequence[ParamDescription],
    arguments: Arguments,
    *,
    described: str = "",
) -> bool:
    """Return whether a call uses every address and number of a clause, and none of them too often.

    An address or number in a copied text is used as well, and so is an address that the tool's own
    name or description names: the tool of one token needs no parameter for it. Two parameters have
    one address, number or text only if the clause names it twice. Values that the clause does not
    name, and truth values, do not count.

    Each leaf of a typed text is a parameter of its kind. A hexadecimal word that is given is
    neither a number nor a name.

    Input:  a clause; the handles; a tool's parameters, and arguments in
            their order as JSON decodes them, with handles; the tool's name and description, with
            handles.
    """
    given: dict[ParamType, list[list[Hashable]]] = {}
    data: set[str] = set()
    for parameter, value in zip(parameters, arguments.values(), strict=True):
        items = list(value) if isinstance(value, list) else [value]
        if parameter.text_type is not None:
            data |= _add_leaves(parameter.text_type, items, given)
            continue
        kind = ParamType.INT if parameter.kind is ParamType.UINT else parameter.kind
        given.setdefault(kind, []).append(items)
    masked = mask_quotations(clause)[0]
    if data:
        masked = _WORD.sub(lambda word: "" if word[0].lower() in data else word[0], masked)
    texts = " ".join(str(text) for text in _flatten(given.get(ParamType.STRING, ())))
    named = Counter(name for _, _, name in names.find_spans(masked))
    numbers = Counter(quantity.value for quantity in find_quantities(masked))
    copied = len(find_quantities(texts)) if texts in masked else 0
    addresses = given.get(ParamType.ADDRESS, [])
    integers = given.get(ParamType.INT, [])
    unused = set(named) - set(_flatten(addresses)) - set(names.find(texts))
    unused -= set(names.find(described))
    if unused or len(_flatten(integers)) < numbers.total() - copied:
        return False
    most_equal = max(numbers.values(), default=0)
    return (
        all(count <= max(named[str(one)], 1) for one, count in _count_parameters(addresses).items())
        and all(count <= max(most_equal, 1) for count in _count_parameters(integers).values())
        and all(
            count <= max(masked.count(str(text)), 1)
            for text, count in _count_parameters(given.get(ParamType.STRING, ())).items()
        )
    )


def _add_leaves(
    of: AbiType, texts: Sequence[object], given: dict[ParamType, list[list[Hashable]]]
) -> set[str]:
    """Add the leaves of typed texts to values by kind; return those in hexadecimal digits."""
    values: list[list[Hashable]] = [[] for _ in of.leaves]
    for text in texts:
        for leaf in read_typed_text(of, str(text)):
            values[leaf.index].append(_READERS.get(leaf.abi_type.kind, str)(leaf.text))
    data: set[str] = set()
    for leaf_type, items in zip(of.leaves, values, strict=True):
        if leaf_type.kind in {Kind.BYTES, Kind.FIXED_BYTES}:
            data.update(map(str, items))
        else:
            given.setdefault(_KINDS[leaf_type.kind], []).append(items)
    return data


def _flatten(lists: Iterable[Sequence[Hashable]]) -> list[Hashable]:
    return [item for items in lists for item in items]


def _count_parameters(lists: Iterable[Sequence[Hashable]]) -> Counter[Hashable]:
    """Count the parameters that have a value."""
    return Counter(item for items in lists for item in dict.fromkeys(items))

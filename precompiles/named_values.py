"""Whether a call uses the values that its clause names: a check of the gate in the short format.

A clause "lock alice out of bob's file" names two addresses. A call with one of them, or with one of
them twice, is probably of another tool, or of a person whom nobody knows.

Source: docs/architecture.md#gate.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from precompiles.abi import ParamType
from precompiles.clauses import mask_quotations
from precompiles.quantities import find_quantities

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from precompiles.abi import ParamDescription
    from precompiles.clauses import NameIndex

    Arguments: TypeAlias = Mapping[str, object]


def uses_named_values(
    clause: str, names: NameIndex, parameters: Sequence[ParamDescription], arguments: Arguments
) -> bool:
    """Return whether a call uses every address and number of a clause, and none of them too often.

    An address or number in a copied text is used as well. Two parameters have one address, number
    or text only if the clause names it twice. Values that the clause does not name, and truth
    values, do not count.

    Input:  a clause; the handles; a tool's parameters, and arguments in
            their order as JSON decodes them, with handles.
    """
    given: dict[ParamType, list[list[Hashable]]] = {}
    for parameter, value in zip(parameters, arguments.values(), strict=True):
        kind = ParamType(parameter.param_type % ParamType.STRING_ARRAY)
        kind = ParamType.INT if kind is ParamType.UINT else kind
        given.setdefault(kind, []).append(list(value) if isinstance(value, list) else [value])
    masked = mask_quotations(clause)[0]
    texts = " ".join(str(text) for text in _flatten(given.get(ParamType.STRING, ())))
    named = Counter(name for _, _, name in names.find_spans(masked))
    numbers = Counter(quantity.value for quantity in find_quantities(masked))
    copied = len(find_quantities(texts)) if texts in masked else 0
    addresses = given.get(ParamType.ADDRESS, [])
    integers = given.get(ParamType.INT, [])
    unused = set(named) - set(_flatten(addresses)) - set(names.find(texts))
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


def _flatten(lists: Iterable[Sequence[Hashable]]) -> list[Hashable]:
    return [item for items in lists for item in items]


def _count_parameters(lists: Iterable[Sequence[Hashable]]) -> Counter[Hashable]:
    """Count the parameters that have a value."""
    return Counter(item for items in lists for item in dict.fromkeys(items))

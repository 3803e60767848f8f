"""Parameters by the paths of values: members of tuples, and of the items of lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from eth_abi.grammar import TupleType, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.contract_intelligence.calldata_layout import Path
    from pyevm_agents.contract_intelligence.capabilities import Parameter


def find_leaf(parameters: Sequence[Parameter], path: Path) -> Parameter:
    """Return the parameter, or the member of a tuple, that a value is of."""
    index, *rest = path
    parameter = parameters[index]
    inner = _list_inner(parameter, tuple(rest))
    return find_leaf(parameter.components, inner) if inner else parameter


def replace_leaf(
    parameters: Sequence[Parameter],
    path: Path,
    **changes: Any,  # noqa: ANN401 - fields of Parameter
) -> tuple[Parameter, ...]:
    """Return parameters of which the one that a value is of has changes."""
    index, *rest = path
    parameter = parameters[index]
    inner = _list_inner(parameter, tuple(rest))
    if inner:
        members = replace_leaf(parameter.components, inner, **changes)
        changed = replace(parameter, components=members)
    else:
        changed = replace(parameter, **changes)
    return (*parameters[:index], changed, *parameters[index + 1 :])


def name_path(parameters: Sequence[Parameter], path: Path) -> str:
    """Return the path of a value, such as `order.amount`; an item has the list's path."""
    parameter = parameters[path[0]]
    if parameter.abi_type.endswith(")") and parameter.components:
        return f"{parameter.name}.{name_path(parameter.components, path[1:])}"
    return parameter.name


def drop_items(parameters: Sequence[Parameter], path: Path) -> Path:
    """Return a path without the indices of items, equal for all items of a list."""
    index, *rest = path
    inner = _list_inner(parameters[index], tuple(rest))
    return (index, *drop_items(parameters[index].components, inner)) if inner else (index,)


def _list_inner(parameter: Parameter, path: Path) -> Path:
    """Return the path within a parameter's members; empty without members."""
    kind = parse(parameter.abi_type)
    while kind.is_array:
        kind, path = kind.item_type, path[1:]
    is_tuple = isinstance(kind, TupleType) and bool(parameter.components)
    return path if is_tuple else ()

"""Evidence of executions about parameters: tokens counted, and the number of an enum's members.

A number counts a token if the call moves the same amount of the token, for two values of the number
at least. An amount computed by a rate does not count, so shares of a vault with rate one are no
amount of the vault's token.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth_utils import is_address

from precompiles.spec import WORD_BYTES
from pyevm_agents.abi.values import decode_values
from pyevm_agents.contract_intelligence.address_evidence import (
    list_tokens,
    name_token,
    show_recipients,
)
from pyevm_agents.contract_intelligence.asset_movements import Movement, Origin, list_movements
from pyevm_agents.contract_intelligence.calldata_layout import (
    fit_number,
    get_at,
    list_leaves,
)
from pyevm_agents.contract_intelligence.capabilities import NATIVE_UNIT
from pyevm_agents.contract_intelligence.parameter_leaves import (
    drop_items,
    find_leaf,
    replace_leaf,
)
from pyevm_agents.contract_intelligence.probe import to_hex_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyevm_agents.contract_intelligence.call_search import CallAttempt, CallSearch
    from pyevm_agents.contract_intelligence.calldata_layout import CalldataLeaf, Path
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability, Parameter
    from pyevm_agents.contract_intelligence.probe import ProbeResult

TRIAL_VALUES = (10**18 + 9, 10**12 + 7, 10**9 + 7, 1_000_003, 10_007, 1_009, 103, 11)
"""Values that are tried, the largest first: of small ones, rounding hides a rate."""

MAX_LEAVES = 16
"""Numbers of one function whose units are looked for."""

MAX_MEMBERS = 255
"""A value that no enum of less than 256 members has."""

HOLDINGS = frozenset(map(bytes.fromhex, ("70a08231", "18160ddd", "dd62ed3e")))
"""`balanceOf(address)`, `totalSupply()` and `allowance(address,address)`, which tell amounts."""

OTHER_UNITS = frozenset(
    "share shares second seconds minute minutes hour hours day days week weeks month months year "  # noqa: SIM905
    "years percent percentage bps number count id ids index seat seats ticket tickets vote votes "
    "item items piece pieces quantity nonce".split()
)
"""Words of parameters that count something else, whatever the call moves."""

_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COUNTED = re.compile(r"(?:number of|how many|in) (\w+)")


@dataclass(slots=True)
class _Trials:
    """Calls that differ in one number, and the moved amounts."""

    leaf: CalldataLeaf
    found: list[tuple[int, ProbeResult, list[Movement]]] = field(default_factory=list)

    def find_token(self) -> tuple[str, Origin]:
        """Return the token of which all calls moved as much as the number; empty if none is."""
        origins: dict[str, list[Origin]] = defaultdict(list)
        for value, _, movements in self.found:
            best: dict[str, Origin] = {}
            for each in movements:
                if each.amount == value:
                    best[each.token] = max(
                        best.get(each.token, Origin.SCALED), each.trace(self.leaf)
                    )
            for token, origin in best.items():
                origins[token].append(origin)
        least = {
            token: min(each)
            for token, each in origins.items()
            if len(each) == len(self.found) and min(each) is not Origin.SCALED
        }
        unchanged = [token for token, origin in least.items() if origin is Origin.UNCHANGED]
        chosen = [*least] if len(least) == 1 else unchanged
        return (chosen[0], least[chosen[0]]) if len(chosen) == 1 else ("", Origin.UNKNOWN)


def show_parameters(
    search: CallSearch, function: FunctionCapability, attempt: CallAttempt, result: ProbeResult
) -> FunctionCapability:
    """Return a function with the evidence of executions about parameters and outputs.

    Input: the search of the function's calls; the function; a call that succeeded, if need be in
        another state.
    """
    parameters = count_members(search, attempt, result, function.parameters)
    if function.is_read_only:
        return replace(function, parameters=parameters, outputs=_show_told(function, result))
    parameters = show_recipients(search, attempt, result, parameters)
    outputs = function.outputs
    for leaf in _list_numbers(search, result):
        trials = _try_values(search, attempt, result, leaf)
        if trials is None:
            continue
        outputs = _show_outputs(outputs, trials)
        token, origin = trials.find_token()
        parameter = find_leaf(parameters, leaf.path)
        if not token or not _can_count(parameter, token, to_hex_address(result.probe.to)):
            continue
        if not parameter.token:
            moved = Movement(token=token, amount=trials.found[0][0])
            name, path = name_token(search, attempt, result, moved)
            parameters = replace_leaf(parameters, leaf.path, token=name)
            if path and not name.endswith("]"):
                tokens = list_tokens(search, attempt, result, moved, path)
                parameters = replace_leaf(parameters, path, tokens=tokens)
        elif _is_refuted(parameter.token, token, origin):
            parameters = replace_leaf(parameters, leaf.path, token=token)
    return replace(function, parameters=parameters, outputs=outputs)


def share_units(functions: Sequence[FunctionCapability]) -> tuple[FunctionCapability, ...]:
    """Return functions whose parameters have the unit that executions of siblings show.

    The unit is that of the parameters of the same name, if all have one token, for functions
    without an example, unless the parameter's own text has another unit.
    """
    tokens: dict[str, set[str]] = defaultdict(set)
    for function in functions:
        for parameter in function.parameters:
            if parameter.token and function.example is not None:
                tokens[parameter.name].add(parameter.token)
    units = {
        name: token
        for name, (token, *others) in tokens.items()
        if not others and (token == NATIVE_UNIT or is_address(token))
    }
    return tuple(
        each if each.example is not None else _take_units(each, units) for each in functions
    )


def _take_units(function: FunctionCapability, units: Mapping[str, str]) -> FunctionCapability:
    return replace(
        function,
        parameters=tuple(
            replace(each, token=units[each.name])
            if each.name in units and not each.token and is_free(each)
            else each
            for each in function.parameters
        ),
    )


def is_free(parameter: Parameter) -> bool:
    """Whether a parameter is a number, or a list of numbers, whose text has no unit."""
    words = {*_split_name(parameter.name), *parameter.description.lower().split()}
    is_number = re.fullmatch(r"uint[0-9]+(\[[0-9]*\])?", parameter.abi_type) is not None
    return is_number and not {each.strip(".,;:()") for each in words} & OTHER_UNITS


# -- units -- #


def _list_numbers(search: CallSearch, result: ProbeResult) -> list[CalldataLeaf]:
    """Return the numbers of a call; of a list, the first one."""
    found: dict[Path, CalldataLeaf] = {}
    for leaf in list_leaves(search.types, result.probe.data):
        if leaf.abi_type.startswith("uint") and not leaf.is_length:
            parameters = search.function.parameters
            found.setdefault(drop_items(parameters, leaf.path), leaf)
    return [*found.values()][:MAX_LEAVES]


def _try_values(
    search: CallSearch, attempt: CallAttempt, result: ProbeResult, leaf: CalldataLeaf
) -> _Trials | None:
    """Return calls with three values of a number; None if no two move the same amount."""
    value = get_at(attempt.values, leaf.path)
    movements = list_movements(search.prober, result)
    if not isinstance(value, int) or not any(each.amount == value > 0 for each in movements):
        return None
    trials = _Trials(leaf)
    trials.found.append((value, result, movements))
    for other in dict.fromkeys((*TRIAL_VALUES, value + 1, 2 * value + 1)):
        if other == value or fit_number(leaf.abi_type, other) != other:
            continue
        tried = search.probe(attempt.with_value(leaf.path, other))
        if tried is None or not tried.is_success:
            continue
        trials.found.append((other, tried, list_movements(search.prober, tried)))
        if len(trials.found) > 2:  # noqa: PLR2004 - two other values
            break
    return trials if len(trials.found) > 1 else None


def _can_count(parameter: Parameter, token: str, contract: str) -> bool:
    """Whether the words of a parameter admit a count of a token."""
    counted = [match[1] for match in _COUNTED.finditer(parameter.description.lower())]
    others = {*_split_name(parameter.name), *counted} & OTHER_UNITS
    return not others or token == contract


def _split_name(name: str) -> list[str]:
    return [each.lower() for each in _WORD.findall(name)]


def _is_refuted(proposed: str, token: str, origin: Origin) -> bool:
    """Whether a call moves exactly a number of another token than the one that was proposed.

    A wrapped native token's `withdraw` pays ether for as much of the token.
    """
    is_other = is_address(proposed) and token not in {proposed, NATIVE_UNIT}
    return is_other and origin is Origin.UNCHANGED


# -- outputs -- #


def _show_outputs(outputs: tuple[Parameter, ...], trials: _Trials) -> tuple[Parameter, ...]:
    """Return outputs that equal a moved amount, in the unit of the amount."""
    types = tuple(each.abi_type for each in outputs)
    decoded = [decode_values(types, result.output) for _, result, _ in trials.found]
    return tuple(
        output
        if output.token or not output.abi_type.startswith("uint")
        else replace(output, token=_find_told(trials, [each and each[i] for each in decoded]))
        for i, output in enumerate(outputs)
    )


def _find_told(trials: _Trials, told: Sequence[object]) -> str:
    """Return the token of which each call moved the returned amount; empty if none is."""
    pairs = [
        (value, {each.token for each in movements if each.amount == value})
        for value, (_, _, movements) in zip(told, trials.found, strict=True)
        if value
    ]
    if len({value for value, _ in pairs}) < 2:  # noqa: PLR2004 - two values at least
        return ""
    common = set.intersection(*(tokens for _, tokens in pairs))
    return common.pop() if len(common) == 1 else ""


def _show_told(function: FunctionCapability, result: ProbeResult) -> tuple[Parameter, ...]:
    """Return outputs of a read, with the token whose balance, supply or allowance each repeats."""
    root = result.tape.root
    types = [each.abi_type for each in function.outputs]
    if root is None or root.output_taint is None or not all(map(_is_number, types)):
        return function.outputs
    told: dict[int, str] = {}
    for call in result.list_calls()[1:]:
        if call.data[:4] in HOLDINGS and not call.is_error and call.output_taint is not None:
            word = call.output_taint.read(0)
            if word is not None:
                told[id(word)] = to_hex_address(bytes(call.account))
    return tuple(
        output
        if output.token
        else replace(output, token=told.get(id(root.output_taint.read(WORD_BYTES * place)), ""))
        for place, output in enumerate(function.outputs)
    )


def _is_number(abi_type: str) -> bool:
    return re.fullmatch("u?int[0-9]+", abi_type) is not None


# -- enums -- #


def count_members(
    search: CallSearch,
    attempt: CallAttempt,
    result: ProbeResult,
    parameters: Sequence[Parameter],
) -> tuple[Parameter, ...]:
    """Return parameters whose enums have the number of members that executions show.

    A value of no member fails where the largest one does.
    """
    for leaf in list_leaves(search.types, result.probe.data):
        if not leaf.is_length and find_leaf(parameters, leaf.path).enum:
            members = _count_members(search, attempt, leaf.path)
            parameters = replace_leaf(parameters, leaf.path, members=members)
    return tuple(parameters)


def _count_members(search: CallSearch, attempt: CallAttempt, path: Path) -> int:
    place = _find_failure(search, attempt, path, MAX_MEMBERS)
    if not place:
        return 0
    least, most = 0, MAX_MEMBERS
    while most - least > 1:
        middle = (least + most) // 2
        if _find_failure(search, attempt, path, middle) == place:
            most = middle
        else:
            least = middle
    return most


def _find_failure(
    search: CallSearch, attempt: CallAttempt, path: Path, value: object
) -> tuple[object, ...]:
    """Return where a call with another argument fails; empty for a success, or if not encodable."""
    result = search.probe(attempt.with_value(path, value))
    return () if result is None else result.failure_site


def iter_tokens(functions: Sequence[FunctionCapability]) -> Iterator[str]:
    """Yield the addresses of the tokens that functions count or pull."""
    for function in functions:
        for parameter in (*function.parameters, *function.outputs):
            yield from _iter_tokens_of(parameter)
        for approval in function.approvals:
            yield approval.token


def _iter_tokens_of(parameter: Parameter) -> Iterator[str]:
    if is_address(parameter.token):
        yield parameter.token
    for member in parameter.components:
        yield from _iter_tokens_of(member)

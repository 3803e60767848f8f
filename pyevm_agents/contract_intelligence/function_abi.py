"""Functions of an ABI in JSON, with their NatSpec, as capabilities that nothing has executed yet.

An ABI comes from a file or from a server: malformed entries are left out, with a warning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from precompiles.spec import MAX_NAME_BYTES, SELECTOR_BYTES
from pyevm_agents.abi.values import (
    MAX_ABI_ENTRIES,
    ErrorDefinition,
    FunctionDefinition,
    compute_topic,
    is_contract_name,
    normalize_entry,
    parse_abi_entry,
)
from pyevm_agents.contract_intelligence.capabilities import FunctionCapability, Parameter
from pyevm_agents.contract_intelligence.human_readable_abi import expand_entry
from pyevm_agents.contract_intelligence.natspec_text import clean_comment, find_choices
from pyevm_agents.contract_intelligence.untrusted_text import (
    MAX_LABEL_CHARACTERS,
    NameTable,
    clean_label,
    clean_text,
)
from pyevm_agents.display import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FUNCTIONS = 512
"""Functions of one contract. A diamond has some 200."""

MAX_METADATA_CHARACTERS = 8 << 20
"""Characters of a compiler's metadata that are parsed."""

MAX_LISTED, MAX_LISTED_CHARACTERS = 3, 40
"""Functions or parameters that a warning names, and characters of each."""

READ_ONLY = frozenset({"view", "pure"})
SMALL_INTEGER = "uint8"
"""The type of a choice among few, and of an enum. Source: Solidity's ABI specification."""

_TUPLE = re.compile(r"\(.*\)")
_SIZES = re.compile(r"\[([0-9]*)\]")
_ENUM = re.compile(r"enum (?:\w+\.)?(?P<name>\w+)(?:\[[0-9]*\])*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractInterface:
    """The functions of a contract, as one source describes them."""

    name: str
    """A clean name; `Contract` if the source has none."""

    source: str
    """`file`, `project`, `explorer`, `sourcify` or `bytecode`."""

    functions: tuple[FunctionCapability, ...] = ()
    """In the order of the source; names are unique."""

    errors: tuple[ErrorDefinition, ...] = ()
    """The custom errors."""

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NatSpec:
    """Comments of a contract's source, by signature. Texts are cleaned where they are used."""

    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def describe(self, signature: str) -> str:
        """Return the notice of a function, or the developer comment; empty if neither exists."""
        name = signature.partition("(")[0]
        notice = clean_comment(self.notices.get(signature, {}).get("notice"), name)
        return notice or clean_comment(self.methods.get(signature, {}).get("details"), name)

    def describe_parameter(self, signature: str, name: object) -> str:
        """Return the comment of a parameter."""
        return clean_comment(_get_mapping(self.methods.get(signature, {}), "params").get(str(name)))

    def describe_output(self, signature: str, name: object, index: int) -> str:
        """Return the comment of an output, which has a name or a number."""
        comments = _get_mapping(self.methods.get(signature, {}), "returns")
        return clean_comment(comments.get(str(name)) or comments.get(f"_{index}"))


def read_interface(form: object, *, name: str, source: str) -> ContractInterface | None:
    """Return the interface of an ABI, or of an artifact; None if the JSON value is neither.

    Input: the JSON value; the contract's name if the artifact has none; the name of the source.
    """
    artifact: Mapping[str, Any] = form if isinstance(form, Mapping) else {"abi": form}
    abi = artifact.get("abi")
    if not isinstance(abi, list):
        return None
    natspec = read_natspec(artifact)
    warnings: list[str] = []
    found = [*_iter_functions(abi[:MAX_ABI_ENTRIES], natspec, warnings)]
    if len(abi) > MAX_ABI_ENTRIES:
        warnings.append(f"only the first {MAX_ABI_ENTRIES:,} of {len(abi):,} ABI entries were read")
    label = clean_label(artifact.get("contractName"), clean_label(name, "Contract"))
    definitions = (parse_abi_entry(expand_entry(each)) for each in abi[:MAX_ABI_ENTRIES])
    errors = tuple(each for each in definitions if isinstance(each, ErrorDefinition))
    return replace(build_interface(label, source, found, warnings), errors=errors)


def build_interface(
    name: str,
    source: str,
    functions: Iterable[FunctionCapability],
    warnings: Sequence[str] = (),
) -> ContractInterface:
    """Return an interface whose functions have different selectors and names.

    Input: functions, whose names are those of their signatures.
    """
    notes = [*warnings]
    by_selector: dict[bytes, FunctionCapability] = {}
    for function in functions:
        twin = by_selector.setdefault(function.selector, function)
        if twin.signature != function.signature:
            notes.append(
                f"{_shorten(function.signature)} has the selector of {_shorten(twin.signature)}, "
                "and is left out"
            )
    kept = [*by_selector.values()]
    if len(kept) > MAX_FUNCTIONS:
        notes.append(f"only the first {MAX_FUNCTIONS} of {len(kept)} functions are shown")
    return ContractInterface(
        name=name,
        source=source,
        functions=choose_names(kept[:MAX_FUNCTIONS]),
        warnings=tuple(notes),
    )


def choose_names(functions: Sequence[FunctionCapability]) -> tuple[FunctionCapability, ...]:
    """Return functions with names that the executor takes for one agent's tools.

    Of overloaded functions, the one with the fewest parameters keeps the name. Another one has the
    further parameters in the name, such as `safeTransferFrom_with_data`, or the types, such as
    `set_address`, if these distinguish more. Of two with equally few parameters both have the
    types.
    """
    table = NameTable()
    by_base: dict[str, list[FunctionCapability]] = {}
    for function in sorted(functions, key=_count_parameters):
        by_base.setdefault(_get_base(function), []).append(function)
    names: dict[bytes, str] = {}
    for base, overloads in by_base.items():
        for function, name in zip(overloads, _name_overloads(base, overloads), strict=True):
            safe = f"function_{function.selector.hex()}"
            names[function.selector] = table.add(name, base, safe)
    return tuple(replace(each, name=names[each.selector]) for each in functions)


def _name_overloads(base: str, overloads: Sequence[FunctionCapability]) -> list[str]:
    """Return a name for each of the functions of one name, those with few parameters first."""
    if len(overloads) == 1:
        return [base]
    first, *others = overloads
    counts = Counter(len(each.parameters) for each in overloads)
    known = {parameter.name for parameter in first.parameters}
    further = [
        [each.name for each in function.parameters if each.name not in known] for function in others
    ]
    wanted = Counter(map(tuple, further))
    names = [base] if counts[len(first.parameters)] == 1 else [f"{base}_{_join_types(first)}"]
    for function, more in zip(others, further, strict=True):
        is_clear = more and wanted[tuple(more)] == 1 and all(map(str.isidentifier, more))
        is_longer = len(function.parameters) > len(first.parameters)
        types = _join_types(function)
        names.append(
            f"{base}_with_{'_'.join(more)}" if is_clear and is_longer else f"{base}_{types}"
        )
    return [each if each == base else each[:MAX_NAME_BYTES] for each in names]


def _join_types(function: FunctionCapability) -> str:
    """Return a function's types as words of a name, such as `address_uint256_list`."""
    words = (_TUPLE.sub("tuple", each.abi_type) for each in function.parameters)
    return "_".join(_SIZES.sub(r"_list\1", word) for word in words) or "nothing"


def parse_function(
    value: object, natspec: NatSpec | None = None
) -> tuple[FunctionCapability | None, tuple[tuple[str, str], ...]]:
    """Return the function of an ABI entry, and which names of its parameters were replaced.

    Output: no function for other entries, and for malformed ones; pairs of a name and the
        parameter's new name.
    """
    entry, definition = normalize_entry(expand_entry(value)), parse_abi_entry(expand_entry(value))
    if not isinstance(definition, FunctionDefinition) or entry is None:
        return None, ()
    signature = definition.signature
    comments = natspec or NatSpec()
    mutability = str(entry.get("stateMutability"))
    raw_inputs = entry.get("inputs", [])
    raw_outputs = entry.get("outputs", []) if definition.output_types else []
    parameters, renamed = _parse_parameters(raw_inputs, definition.types, "arg")
    outputs, _ = _parse_parameters(raw_outputs, definition.output_types, "")
    parameters = tuple(
        replace(each, description=comments.describe_parameter(signature, raw.get("name")))
        for each, raw in zip(parameters, raw_inputs, strict=True)
    )
    description = comments.describe(signature)
    return FunctionCapability(
        name=definition.name,
        signature=signature,
        selector=compute_topic(signature)[:SELECTOR_BYTES],
        parameters=_give_choices(parameters, find_choices(description)),
        outputs=tuple(
            replace(each, description=comments.describe_output(signature, raw.get("name"), index))
            for index, (each, raw) in enumerate(zip(outputs, raw_outputs, strict=True))
        ),
        description=description,
        is_read_only=mutability in READ_ONLY or entry.get("constant") is True,
        is_payable=mutability == "payable" or entry.get("payable") is True,
    ), renamed


def _give_choices(parameters: tuple[Parameter, ...], choices: str) -> tuple[Parameter, ...]:
    """Return parameters of which the only small integer has the choices that a function states."""
    small = [each for each in parameters if each.abi_type == SMALL_INTEGER]
    if not choices or len(small) != 1 or small[0].description:
        return parameters
    return tuple(
        replace(each, description=choices) if each is small[0] else each for each in parameters
    )


def build_parameters(
    types: Sequence[str], names: Sequence[str] = (), prefix: str = "arg"
) -> tuple[Parameter, ...]:
    """Return parameters of types that have names, or none.

    Input: prefix: of the name of a parameter without a name; empty for no name.
    """
    padded = [*names, *[""] * (len(types) - len(names))]
    forms = [{"name": name, "type": text} for name, text in zip(padded, types, strict=False)]
    return _parse_parameters(forms, types, prefix)[0]


def _parse_parameters(
    forms: Sequence[Mapping[str, Any]], types: Sequence[str], prefix: str
) -> tuple[tuple[Parameter, ...], tuple[tuple[str, str], ...]]:
    """Return parameters with clean names, and those names that were replaced, with the new ones."""
    names, renamed = _choose_parameter_names([form.get("name") for form in forms], prefix)
    parameters = []
    for name, form, text in zip(names, forms, types, strict=False):
        members: tuple[Parameter, ...] = ()
        components = form.get("components")
        if isinstance(components, list) and components and text.startswith("("):
            members, inner = _parse_parameters(components, split_types(text), prefix or "item")
            renamed += inner
        enum = _ENUM.fullmatch(str(form.get("internalType")))
        parameters.append(
            Parameter(
                name=name,
                abi_type=text,
                components=members,
                enum=clean_label(enum["name"], "") if enum else "",
            )
        )
    return tuple(parameters), renamed


def _choose_parameter_names(
    given: Sequence[object], prefix: str
) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    """Return names for parameters, and those that differ from a given name by more than `_`.

    Input: names of strangers; the start of the name of a parameter without one, empty for no name.
    """
    table = NameTable()
    clean = [str(each) if _is_clean(each) else "" for each in given]
    bare = [each.strip("_") for each in clean]
    names = [""] * len(given)
    # A name without `_` at its ends comes first: others would take it.
    for index in sorted(range(len(given)), key=lambda place: clean[place] != bare[place]):
        if not clean[index] and not prefix:
            continue
        own = [bare[index]] if bare.count(bare[index]) == 1 else [clean[index]]
        names[index] = table.add(*filter(None, own), f"{prefix or 'out'}{index}")
    renamed = tuple(
        (clean_text(str(old), MAX_LABEL_CHARACTERS), new)
        for old, new in zip(given, names, strict=True)
        if old and new.strip("_") != str(old).strip("_")
    )
    return names, renamed


def _is_clean(name: object) -> bool:
    return is_contract_name(name) and len(str(name)) <= MAX_LABEL_CHARACTERS


def split_types(text: str) -> tuple[str, ...]:
    """Return the types of a tuple's members, or of those of an array's items.

    Input: a tuple's type, such as `(address,(uint256,bool)[])`, or that of an array of tuples.
    """
    inside = text[1 : text.rindex(")")]
    if not inside:
        return ()
    parts, depth, start = [], 0, 0
    for place, character in enumerate(inside):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(inside[start:place])
            start = place + 1
    return (*parts, inside[start:])


def _iter_functions(
    abi: Sequence[object], natspec: NatSpec, warnings: list[str]
) -> Iterator[FunctionCapability]:
    malformed, renamed, count = list[str](), list[str](), 0
    for entry in abi:
        function, names = parse_function(entry, natspec)
        if function is not None:
            count += 1
            renamed += [f"{old} of {function.name} is called {new}" for old, new in names]
            yield function
        elif (flaw := _find_flaw(entry)) is not None:
            malformed.append(flaw)
    if malformed:
        number = pluralize(len(malformed), "function")
        warnings.append(f"{number} of the ABI left out: {_list_first(malformed)}")
    if renamed:
        number = pluralize(len(renamed), "parameter")
        warnings.append(f"{number} with another name: {_list_first(renamed)}")
    if not count and not malformed:
        warnings.append("the ABI has no functions")


def _list_first(texts: Sequence[str]) -> str:
    more = len(texts) - MAX_LISTED
    return "; ".join(texts[:MAX_LISTED]) + (f"; and {more} more" if more > 0 else "")


def _find_flaw(value: object) -> str | None:
    """Return why an entry is no readable function; None for an entry of another kind."""
    if isinstance(value, str):
        words = clean_text(value, MAX_LISTED_CHARACTERS)
        is_other = re.match(r"\s*(?:constructor|event|error|fallback|receive|struct)\b", value)
        return None if is_other else f"{words}: not a function as ethers writes it"
    entry = normalize_entry(value)
    if entry is None or entry.get("type", "function") != "function":
        return None
    name = entry.get("name")
    if not is_contract_name(name):
        return f"{clean_text(str(name), MAX_LISTED_CHARACTERS)}: the name is no identifier"
    inputs = entry.get("inputs", [])
    types = (
        [each.get("type") if isinstance(each, Mapping) else each for each in inputs]
        if isinstance(inputs, list)
        else [inputs]
    )
    shown = clean_text(", ".join(map(str, types)), MAX_LISTED_CHARACTERS)
    return f"{clean_text(name)}: a type is invalid or not supported ({shown})"


def read_natspec(artifact: Mapping[str, Any]) -> NatSpec:
    """Return the comments in an artifact: beside the ABI, or in the compiler's metadata."""
    output = _get_mapping(_read_metadata(artifact), "output")
    developer = _get_mapping(artifact, "devdoc") or _get_mapping(output, "devdoc")
    user = _get_mapping(artifact, "userdoc") or _get_mapping(output, "userdoc")
    return NatSpec(
        methods=_get_mappings(_get_mapping(developer, "methods")),
        notices=_get_mappings(_get_mapping(user, "methods")),
    )


def _read_metadata(artifact: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the compiler's metadata: an object with Foundry, a text with solc and Truffle."""
    for key in ("metadata", "rawMetadata"):
        value = artifact.get(key)
        if isinstance(value, str) and len(value) <= MAX_METADATA_CHARACTERS:
            try:
                value = orjson.loads(value)
            except ValueError:
                continue
        if isinstance(value, Mapping):
            return value
    return {}


def _get_mappings(form: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    return {key: value for key, value in form.items() if isinstance(value, Mapping)}


def _get_mapping(form: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = form.get(key)
    return value if isinstance(value, Mapping) else {}


def _get_base(function: FunctionCapability) -> str:
    return function.signature.partition("(")[0]


def _count_parameters(function: FunctionCapability) -> tuple[int, str]:
    return len(function.parameters), function.signature


def _shorten(signature: str) -> str:
    return clean_text(signature, 80)

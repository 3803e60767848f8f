"""Functions of an ABI in JSON, with their NatSpec, as capabilities that nothing has executed yet.

An ABI comes from a file or from a server: what is malformed is left out, and a warning says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from pyevm_agents.abi import (
    MAX_ABI_ENTRIES,
    FunctionDefinition,
    compute_topic,
    is_contract_name,
    parse_abi_entry,
)
from pyevm_agents.artifacts import SELECTOR_BYTES
from pyevm_agents.contract_intelligence.capabilities import FunctionCapability, Parameter
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

READ_ONLY = frozenset({"view", "pure"})
SMALL_INTEGER = "uint8"
"""The type of a choice among few, and of an enum. Source: Solidity's ABI specification."""

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

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NatSpec:
    """Comments of a contract's source, by signature. Texts are cleaned where they are used."""

    methods: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def describe(self, signature: str) -> str:
        """Return the notice of a function, or its developer comment; empty if it has none."""
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
    return build_interface(label, source, found, warnings)


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

    Of overloaded functions, the one with the fewest parameters keeps its name; another one has its
    further parameters in its name, such as `safeTransferFrom_with_data`.
    """
    table = NameTable()
    least: dict[str, FunctionCapability] = {}
    for function in sorted(functions, key=_count_parameters):
        least.setdefault(_get_base(function), function)
    counts = Counter(map(_get_base, functions))
    names: dict[bytes, str] = {}
    for function in sorted(functions, key=_count_parameters):
        base, first = _get_base(function), least[_get_base(function)]
        safe = f"function_{function.selector.hex()}"
        if counts[base] == 1 or function is first:
            names[function.selector] = table.add(base, safe)
            continue
        known = {parameter.name for parameter in first.parameters}
        more = [each.name for each in function.parameters if each.name not in known]
        more = more or [each.abi_type for each in function.parameters]
        suffix = "_".join(text for text in more if text.isidentifier())
        names[function.selector] = table.add(f"{base}_with_{suffix}" if suffix else base, safe)
    return tuple(replace(each, name=names[each.selector]) for each in functions)


def parse_function(
    entry: object, natspec: NatSpec | None = None
) -> tuple[FunctionCapability | None, bool]:
    """Return the function of an ABI entry, and whether names of its parameters were replaced.

    Output: no function for other entries, and for malformed ones.
    """
    definition = parse_abi_entry(entry)
    if not isinstance(definition, FunctionDefinition) or not isinstance(entry, Mapping):
        return None, False
    signature = definition.signature
    comments = natspec or NatSpec()
    mutability = str(entry.get("stateMutability"))
    raw_inputs = entry.get("inputs", [])
    raw_outputs = entry.get("outputs", []) if definition.output_types else []
    parameters, is_changed = _parse_parameters(raw_inputs, definition.types, "arg")
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
    ), is_changed


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

    Input: prefix: of the name of a parameter that has none; empty for no name.
    """
    padded = [*names, *[""] * (len(types) - len(names))]
    forms = [{"name": name, "type": text} for name, text in zip(padded, types, strict=False)]
    return _parse_parameters(forms, types, prefix)[0]


def _parse_parameters(
    forms: Sequence[Mapping[str, Any]], types: Sequence[str], prefix: str
) -> tuple[tuple[Parameter, ...], bool]:
    """Return parameters with clean names, and whether one of a name was replaced."""
    table = NameTable()
    is_changed = False
    parameters = []
    for index, (form, text) in enumerate(zip(forms, types, strict=False)):
        given = form.get("name")
        is_clean = is_contract_name(given) and len(str(given)) <= MAX_LABEL_CHARACTERS
        is_changed |= bool(given) and not is_clean
        if not is_clean and not prefix:
            name = ""
        else:
            own = [str(given).strip("_")] if is_clean else []
            name = table.add(*own, f"{prefix or 'out'}{index}")
        members: tuple[Parameter, ...] = ()
        components = form.get("components")
        if isinstance(components, list) and components and text.startswith("("):
            inner = split_types(text)
            members, is_inner_changed = _parse_parameters(components, inner, prefix or "item")
            is_changed |= is_inner_changed
        enum = _ENUM.fullmatch(str(form.get("internalType")))
        parameters.append(
            Parameter(
                name=name,
                abi_type=text,
                components=members,
                enum=clean_label(enum["name"], "") if enum else "",
            )
        )
    return tuple(parameters), is_changed


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
    malformed = renamed = 0
    for entry in abi:
        function, is_changed = parse_function(entry, natspec)
        if function is not None:
            renamed += is_changed
            yield function
        elif isinstance(entry, Mapping) and entry.get("type", "function") == "function":
            malformed += 1
    if malformed:
        warnings.append(
            f"{pluralize(malformed, 'function')} of the ABI left out: the name is no identifier, "
            "or a type is invalid"
        )
    if renamed:
        warnings.append(
            f"{pluralize(renamed, 'function')} with parameters whose names are no identifiers: "
            "they are called arg0, arg1 and so on"
        )


def read_natspec(artifact: Mapping[str, Any]) -> NatSpec:
    """Return the comments in an artifact: beside its ABI, or in the compiler's metadata."""
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

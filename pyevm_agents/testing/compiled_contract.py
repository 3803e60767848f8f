"""A compiled contract of Foundry, Hardhat or solc: linked, with encoded constructor arguments.

Arguments are found by position or by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from eth_abi import encode
from eth_abi.abi import is_encodable
from eth_utils.abi import collapse_if_tuple

from pyevm_agents.display import truncate
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.inputs import parse_address
from pyevm_agents.testing.source_files import SourceFiles, read_source_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyevm_agents.testing.inputs import AddressLike


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryLink:
    """A library whose address belongs into a contract's code."""

    file: str
    name: str
    starts: tuple[int, ...]
    """Offsets in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContract:
    """A contract's ABI and creation code."""

    name: str
    abi: Sequence[Any]
    code: str
    """Creation code in hexadecimal, with placeholders for the addresses of libraries."""

    links: tuple[LibraryLink, ...]
    file: Path | None
    """Its artifact; None for this package's own contracts."""

    sources: SourceFiles | None = None
    """None if the artifact does not name them, and for this package's own contracts."""

    @property
    def is_deployable(self) -> bool:
        """Whether the contract has code, unlike interfaces and abstract contracts."""
        return bool(self.code)

    def build_creation_data(
        self,
        arguments: Sequence[object],
        named: Mapping[str, object],
        libraries: Mapping[str, AddressLike],
    ) -> bytes:
        """Return the data of the transaction that deploys the contract.

        Raises: ConfigError: the contract has no code, a library's address is missing, or the
                arguments do not match the constructor.
        """
        if not self.is_deployable:
            raise ConfigError(
                f"{self.name} can't be deployed: it has no code, as interfaces and abstract "
                "contracts"
            )
        constructors = [
            entry.get("inputs", ()) for entry in self.abi if entry["type"] == "constructor"
        ]
        encoded = encode_arguments(
            self.name, constructors[0] if constructors else (), arguments, named
        )
        return self._link_libraries(libraries) + encoded

    def _link_libraries(self, libraries: Mapping[str, AddressLike]) -> bytes:
        code = self.code
        known = {name for link in self.links for name in (link.name, f"{link.file}:{link.name}")}
        for name in libraries.keys() - known:
            needed = ", ".join(sorted(link.name for link in self.links)) or "none"
            raise ConfigError(f"{self.name} is not linked to {name}; its libraries: {needed}")
        for link in self.links:
            library = libraries.get(f"{link.file}:{link.name}", libraries.get(link.name))
            if library is None:
                raise ConfigError(
                    f"{self.name} needs the library {link.name} of {link.file}: deploy that, and "
                    f"pass libraries={{{link.name!r}: its address}}"
                )
            address = parse_address(library).hex()
            for start in link.starts:
                code = code[: 2 * start] + address + code[2 * start + len(address) :]
        return bytes.fromhex(code)


def read_contract(file: Path) -> CompiledContract | None:
    """Read an artifact; return None if the file is not an artifact.

    Raises: ConfigError: the file can't be read.
    """
    try:
        form = orjson.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the artifact {file} can't be read: {error}; compile it again"
        ) from error
    if not isinstance(form, dict) or not isinstance(form.get("abi"), list):
        return None
    bytecode = form.get("evm", form).get("bytecode", "")
    # Hardhat has the code and the links next to each other; Foundry and solc nest them.
    code, links = (
        (bytecode.get("object", ""), bytecode.get("linkReferences") or {})
        if isinstance(bytecode, dict)
        else (bytecode, form.get("linkReferences") or {})
    )
    return CompiledContract(
        name=str(form.get("contractName") or file.name.partition(".")[0]),
        abi=form["abi"],
        code=code.removeprefix("0x"),
        links=tuple(
            LibraryLink(file=source, name=name, starts=tuple(place["start"] for place in places))
            for source, by_name in links.items()
            for name, places in by_name.items()
        ),
        file=file,
        sources=read_source_files(form, file),
    )


def encode_arguments(
    contract: str,
    parameters: Sequence[Any],
    arguments: Sequence[object],
    named: Mapping[str, object],
) -> bytes:
    """Encode a constructor's arguments.

    Input:  the contract's name; the constructor's parameters in the ABI; arguments by position and
            by name, where `owner` also stands for `_owner`.
    Raises: ConfigError: an argument is missing, unknown, given twice, or of another type.
    """
    signature = f"{contract}({', '.join(map(_format_parameter, parameters))})"
    names = [str(parameter.get("name", "")) for parameter in parameters]
    if len(arguments) > len(parameters):
        raise ConfigError(
            f"{signature} takes {len(parameters)} arguments, {len(arguments)} are given"
        )
    places: dict[int, object] = dict(enumerate(arguments))
    for name, value in named.items():
        place = _find_parameter(name, names)
        if place is None:
            raise ConfigError(f"{signature} has no argument {name!r}")
        if place in places:
            raise ConfigError(f"{signature}: {name!r} is given twice")
        places[place] = value
    missing = [
        _format_parameter(parameter) for at, parameter in enumerate(parameters) if at not in places
    ]
    if missing:
        raise ConfigError(f"{signature}: missing {', '.join(missing)}")
    values = [
        _convert_argument(signature, parameter, places[at])
        for at, parameter in enumerate(parameters)
    ]
    return encode([collapse_if_tuple(parameter) for parameter in parameters], values)


def _format_parameter(parameter: Any) -> str:  # noqa: ANN401 - an entry of an ABI
    return (
        f"{parameter.get('internalType') or parameter['type']} {parameter.get('name', '')}".strip()
    )


def _find_parameter(name: str, names: Sequence[str]) -> int | None:
    """Return the index of a parameter by name, with or without surrounding underscores."""
    if name in names:
        return names.index(name)
    bare = [parameter_name.strip("_") for parameter_name in names]
    return bare.index(name) if bare.count(name) == 1 else None


def _convert_argument(signature: str, parameter: Any, argument: object) -> object:  # noqa: ANN401 - as above
    """Return an argument in the form that the codec accepts."""
    try:
        value = _convert_value(parameter, parameter["type"], argument)
    except (ConfigError, TypeError, ValueError) as error:
        raise _build_type_error(signature, parameter, argument, f": {error}") from error
    if not is_encodable(collapse_if_tuple(parameter), value):
        raise _build_type_error(signature, parameter, argument)
    return value


def _build_type_error(signature: str, parameter: Any, value: object, why: str = "") -> ConfigError:  # noqa: ANN401
    text = truncate(repr(value))
    return ConfigError(f"{signature}: {text} is no {_format_parameter(parameter)}{why}")


def _convert_value(parameter: Any, abi_type: str, value: Any) -> object:  # noqa: ANN401 - as above
    """Return a value with addresses for contracts, and bytes for hexadecimal text."""
    if abi_type.endswith("]"):
        item = abi_type.rpartition("[")[0]
        if isinstance(value, (str, bytes)):
            raise TypeError("a list is wanted")
        return [_convert_value(parameter, item, element) for element in value]
    if abi_type == "tuple":
        return _convert_struct(parameter, value)
    if abi_type == "address":
        return parse_address(value)
    if abi_type.startswith("bytes") and isinstance(value, str):
        return bytes.fromhex(value.removeprefix("0x"))
    return value


def _convert_struct(parameter: Any, value: Any) -> tuple[object, ...]:  # noqa: ANN401 - as above
    """Return a struct's fields, given in order or by name."""
    fields = parameter["components"]
    if isinstance(value, dict):
        if value.keys() != {field["name"] for field in fields}:
            raise ValueError(f"its fields are {', '.join(field['name'] for field in fields)}")
        value = [value[field["name"]] for field in fields]
    if len(value) != len(fields):
        raise ValueError(f"it has {len(fields)} fields")
    return tuple(
        _convert_value(field, field["type"], member)
        for field, member in zip(fields, value, strict=True)
    )

"""Compiled contracts of this package: ABI, bytecode, and encoding of calls.

The artifacts are in `contracts/build/`, so no compiler is needed at run time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eth_abi import decode, encode
from eth_abi.exceptions import EncodingError
from eth_utils import function_abi_to_4byte_selector
from eth_utils.abi import get_abi_input_types, get_abi_output_types

from pyevm_agents.display import LINE_CHARACTERS, truncate
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import ABIElement, ABIFunction


IMPORT_PREFIX = "@pyevm-agents/contracts/"
"""What an import of these sources begins with. Source: `name` in `contracts/package.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One compiled contract."""

    name: str
    abi: tuple[ABIElement, ...]
    bytecode: bytes
    """Creation code, without constructor arguments."""

    def encode_creation(self, *arguments: object) -> bytes:
        """Return the initcode of the contract with constructor arguments.

        Raises: ConfigError: wrong number or types of arguments.
        """
        constructor = next((e for e in self.abi if e["type"] == "constructor"), None)
        types = get_abi_input_types(constructor) if constructor else []
        return self.bytecode + _encode(f"{self.name} constructor", types, arguments)

    def encode_call(self, function: str, *arguments: object) -> bytes:
        """Return the calldata of a function by name.

        Raises: ConfigError: unknown function, or wrong number or types of arguments.
        """
        abi = self._find_function(function, len(arguments))
        types = get_abi_input_types(abi)
        return function_abi_to_4byte_selector(abi) + _encode(function, types, arguments)

    def decode_result(self, function: str, output: bytes) -> Any:  # noqa: ANN401 - what Solidity returns
        """Decode a function's return data: a value, or a tuple of several."""
        abi = next(e for e in self.abi if e["type"] == "function" and e["name"] == function)
        values = decode(get_abi_output_types(abi), output)
        return values[0] if len(values) == 1 else values

    def _find_function(self, name: str, argument_count: int) -> ABIFunction:
        for element in self.abi:
            if element["type"] != "function" or element["name"] != name:
                continue
            if len(element.get("inputs", ())) == argument_count:
                return element
        raise ConfigError(f"{self.name} has no function {name!r} of {argument_count} arguments")


@cache
def load_artifact(name: str) -> Artifact:
    """Return a compiled contract by name, such as `WalletAgent`.

    Raises: ConfigError: unknown contract; the message lists the names.
    """
    form = load_artifact_form(name)
    return Artifact(
        name=name,
        abi=tuple(form["abi"]),
        bytecode=bytes.fromhex(form["bytecode"].removeprefix("0x")),
    )


def load_artifact_form(name: str) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON value of a bundled contract's artifact.

    Raises: ConfigError: unknown contract; the message lists the known ones.
    """
    file = _build_folder() / f"{name}.json"
    if not file.is_file():
        raise ConfigError(f"no contract {name!r}; there are {', '.join(list_artifacts())}")
    return json.loads(file.read_text())


def list_artifacts() -> tuple[str, ...]:
    """Return the names of all compiled contracts, sorted."""
    return tuple(sorted(file.name.removesuffix(".json") for file in _build_folder().iterdir()))


def find_sources() -> Path:
    """Return the folder of the Solidity sources: inside an installed wheel, or in the checkout.

    The folder is an npm package, and has the artifacts in `build/`.
    """
    package = Path(__file__).parents[1]
    packaged = package / "solidity"
    return packaged if packaged.is_dir() else package.parent / "contracts"


def _build_folder() -> Path:
    return find_sources() / "build"


def _encode(what: str, types: Sequence[str], arguments: Sequence[object]) -> bytes:
    if len(types) != len(arguments):
        raise ConfigError(f"{what}: {len(arguments)} arguments given, it takes {len(types)}")
    try:
        return encode(types, arguments)
    except (EncodingError, TypeError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"{what} takes ({', '.join(types)}), "
            f"which {_format_arguments(arguments)} is not: {error}"
        ) from error


def _format_arguments(arguments: Sequence[object]) -> str:
    shown = (truncate(repr(each), LINE_CHARACTERS) for each in arguments)
    return truncate(f"({', '.join(shown)})", LINE_CHARACTERS)

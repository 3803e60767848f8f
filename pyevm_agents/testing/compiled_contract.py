"""One compiled contract, as Foundry, Hardhat or solc writes it: linked, with its arguments."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.addresses import canonical
from pyevm_agents.testing.arguments import bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyevm_agents.testing.addresses import AddressLike


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A library whose address is to be written into a contract's code."""

    file: str
    name: str
    starts: tuple[int, ...]
    """Where, in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledContract:
    """What a compiler made of a contract."""

    name: str
    abi: Sequence[Any]
    code: str
    """Creation code in hexadecimal, with placeholders where libraries are to be linked."""

    links: tuple[Link, ...]
    file: Path | None
    """Where it was found; None for one of this package's own."""

    @property
    def is_deployable(self) -> bool:
        """Whether there is code: interfaces and abstract contracts have none."""
        return bool(self.code)

    def creation(
        self,
        arguments: Sequence[object],
        named: Mapping[str, object],
        libraries: Mapping[str, AddressLike],
    ) -> bytes:
        """Return the data of the transaction that deploys the contract.

        Raises: ConfigError: it has no code, a library is not linked, or the arguments are not the
                constructor's.
        """
        if not self.is_deployable:
            raise ConfigError(
                f"{self.name} can't be deployed: it has no code, as interfaces and abstract "
                "contracts"
            )
        constructors = [one.get("inputs", ()) for one in self.abi if one["type"] == "constructor"]
        encoded = bound(self.name, constructors[0] if constructors else (), arguments, named)
        return self._linked(libraries) + encoded

    def _linked(self, libraries: Mapping[str, AddressLike]) -> bytes:
        code = self.code
        known = {name for link in self.links for name in (link.name, f"{link.file}:{link.name}")}
        for name in libraries.keys() - known:
            needed = ", ".join(sorted(link.name for link in self.links)) or "none"
            raise ConfigError(f"{self.name} is not linked to {name}; its libraries: {needed}")
        for link in self.links:
            given = libraries.get(f"{link.file}:{link.name}", libraries.get(link.name))
            if given is None:
                raise ConfigError(
                    f"{self.name} needs the library {link.name} of {link.file}: deploy that, and "
                    f"pass libraries={{{link.name!r}: its address}}"
                )
            address = canonical(given).hex()
            for start in link.starts:
                code = code[: 2 * start] + address + code[2 * start + len(address) :]
        return bytes.fromhex(code)


def read_contract(file: Path) -> CompiledContract | None:
    """Read an artifact; return None for a file that is none.

    Raises: ConfigError: it can't be read.
    """
    try:
        form = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the artifact {file} can't be read: {error}; compile it again"
        ) from error
    if not isinstance(form, dict) or not isinstance(form.get("abi"), list):
        return None
    told = form.get("evm", form).get("bytecode", "")
    # Hardhat writes the code itself and the links beside it; Foundry and solc nest both.
    code, links = (
        (told.get("object", ""), told.get("linkReferences") or {})
        if isinstance(told, dict)
        else (told, form.get("linkReferences") or {})
    )
    return CompiledContract(
        name=str(form.get("contractName") or file.name.partition(".")[0]),
        abi=form["abi"],
        code=code.removeprefix("0x"),
        links=tuple(
            Link(file=source, name=name, starts=tuple(place["start"] for place in places))
            for source, by_name in links.items()
            for name, places in by_name.items()
        ),
        file=file,
    )

"""Optional sections of a chain config: numeric models, and the origin of a fork.

The canonical JSON omits an empty section. So a chain without it has the same genesis in a version
that knows the section and in one that does not.

Source: docs/architecture.md#hashes-change-together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyevm_agents.errors import ConfigError

DIGEST_BYTES = 32
"""Length of a SHA-256 digest, and of a block hash."""

MAX_DECIMALS = 77
"""Upper bound of the decimals of a number: 10^77 is below 2^256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericModelProfile:
    """A numeric model as the rules know it.

    Raises: ConfigError: an invalid value.
    """

    name: str
    """The model ID that contracts use."""

    digest: bytes
    """SHA-256 of its file, 32 bytes."""

    input_decimals: tuple[int, ...]
    """Decimals of each input number: an input of 1.5 with 2 decimals is 150."""

    output_decimals: tuple[int, ...]
    """Decimals of each output number."""

    operations: int
    """Number of arithmetic operations of one evaluation."""

    operation_gas: int
    """Gas per operation."""

    def __post_init__(self) -> None:
        """Validate all fields."""
        _require_hash(self.digest, f"numeric model {self.name}: digest")
        decimals = (*self.input_decimals, *self.output_decimals)
        for each in decimals:
            _require_integer(each, 0, MAX_DECIMALS, f"numeric model {self.name}: decimals")
        if not (self.input_decimals and self.output_decimals):
            raise ConfigError(
                f"numeric model {self.name}: {len(self.input_decimals)} inputs and "
                f"{len(self.output_decimals)} outputs: must be at least 1 of each"
            )
        for name in ("operations", "operation_gas"):
            _require_integer(
                getattr(self, name), 1, 2**63 - 1, f"numeric model {self.name}: {name}"
            )

    def to_form(self) -> dict[str, object]:
        """Return the values for canonical JSON."""
        return {
            "name": self.name,
            "digest": "0x" + self.digest.hex(),
            "input_decimals": list(self.input_decimals),
            "output_decimals": list(self.output_decimals),
            "operations": self.operations,
            "operation_gas": self.operation_gas,
        }

    @classmethod
    def from_form(cls, form: dict[str, Any]) -> NumericModelProfile:
        """Return the profile of values from JSON."""
        return cls(
            **form
            | {
                "digest": parse_hex(form["digest"]),
                "input_decimals": tuple(form["input_decimals"]),
                "output_decimals": tuple(form["output_decimals"]),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkOrigin:
    """The block of another chain that a chain continues.

    Raises: ConfigError: an invalid value.
    """

    chain_id: int
    """EIP-155 chain ID of the other chain, 1 to 2^63 - 1."""

    block_number: int
    """Number of the block."""

    block_hash: bytes
    """Hash of the block, 32 bytes."""

    def __post_init__(self) -> None:
        """Validate all fields."""
        _require_integer(self.chain_id, 1, 2**63 - 1, "origin: chain id")
        _require_integer(self.block_number, 0, 2**63 - 1, "origin: block number")
        _require_hash(self.block_hash, "origin: block hash")

    def to_form(self) -> dict[str, object]:
        """Return the values for canonical JSON."""
        return {
            "chain_id": self.chain_id,
            "block_number": self.block_number,
            "block_hash": "0x" + self.block_hash.hex(),
        }

    @classmethod
    def from_form(cls, form: dict[str, Any]) -> ForkOrigin:
        """Return the origin of values from JSON."""
        return cls(**form | {"block_hash": parse_hex(form["block_hash"])})


def parse_hex(value: object) -> bytes:
    """Return the bytes of hexadecimal digits after `0x`.

    Raises: ValueError: not hexadecimal. AttributeError: not a text.
    """
    return bytes.fromhex(value.removeprefix("0x"))  # type: ignore[attr-defined]


def _require_integer(value: object, least: int, most: int, name: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(f"{name} {value!r}: must be a whole number from {least} to {most}")


def _require_hash(value: bytes, name: str) -> None:
    if len(value) != DIGEST_BYTES:
        raise ConfigError(f"{name} of {len(value)} bytes: must be {DIGEST_BYTES}")

"""Optional sections of a chain config: numeric models with prices, and the origin of a fork.

The canonical JSON omits an empty section. So a chain without the section has the same genesis in a
version that knows the section and in one that does not.

Source: docs/architecture.md#hashes-change-together.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from precompiles.numeric_gas import NumericGasSchedule
from precompiles.numeric_model import NumericModelProfile
from precompiles.numeric_spec import MAX_NUMERIC_INPUTS, MAX_NUMERIC_OUTPUTS
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from precompiles.numeric_model import NumericModel

DIGEST_BYTES = 32
"""Length of a SHA-256 digest, and of a block hash."""

MAX_DECIMALS = 77
"""Upper bound of the decimals of a number: 10^77 is below 2^256."""

MAX_INTEGER = 2**63 - 1
"""Upper bound of operations and prices: many JSON parsers have 64-bit integers."""


def check_numeric_profile(profile: NumericModelProfile) -> None:
    """Reject an invalid profile of a numeric model, but for the name.

    Raises: ConfigError.
    """
    at = f"numeric model {profile.name}"
    _require_hash(profile.digest, f"{at}: digest")
    inputs, outputs = profile.input_decimals, profile.output_decimals
    if not 1 <= len(inputs) <= MAX_NUMERIC_INPUTS or not 1 <= len(outputs) <= MAX_NUMERIC_OUTPUTS:
        raise ConfigError(
            f"{at}: {len(inputs)} inputs and {len(outputs)} outputs: must be 1 to "
            f"{MAX_NUMERIC_INPUTS} and 1 to {MAX_NUMERIC_OUTPUTS}"
        )
    for each in (*inputs, *outputs):
        _require_integer(each, 0, MAX_DECIMALS, f"{at}: decimals")
    _require_integer(profile.operations, 1, MAX_INTEGER, f"{at}: operations")


def check_numeric_schedule(schedule: NumericGasSchedule) -> None:
    """Reject an invalid price of the numeric models' precompile.

    Raises: ConfigError.
    """
    if not isinstance(schedule, NumericGasSchedule):
        raise ConfigError(
            f"numeric_schedule of type {type(schedule).__name__}: must be a "
            "`precompiles.numeric_gas.NumericGasSchedule`"
        )
    for each in fields(NumericGasSchedule):
        _require_integer(
            getattr(schedule, each.name), 1, MAX_INTEGER, f"numeric_schedule: {each.name}"
        )


def check_numeric_fits(profile: NumericModelProfile, model: NumericModel) -> None:
    """Reject a numeric model that is not the one in a chain config.

    Raises: ConfigError: another file, or a version that reads another model in the same file.
    """
    if model.digest != profile.digest:
        raise ConfigError(
            f"numeric model {profile.name}: genesis has SHA-256 {profile.digest.hex()}, this file "
            f"has {model.digest.hex()}; use the chain's model file"
        )
    for name in ("input_decimals", "output_decimals", "operations"):
        stated, own = getattr(profile, name), getattr(model, name)
        if stated != own:
            raise ConfigError(
                f"numeric model {profile.name}: genesis has {name} {_format(stated)}, its file has "
                f"{_format(own)} in this version; use the version that created the chain"
            )
    if len(model.input_ranges) != len(profile.input_decimals):
        raise ConfigError(
            f"numeric model {profile.name}: ranges of {len(model.input_ranges)} inputs: must be "
            f"{len(profile.input_decimals)}"
        )


def numeric_model_to_form(profile: NumericModelProfile) -> dict[str, object]:
    """Return a profile's values for canonical JSON."""
    return {
        "name": profile.name,
        "digest": "0x" + profile.digest.hex(),
        "input_decimals": list(profile.input_decimals),
        "output_decimals": list(profile.output_decimals),
        "operations": profile.operations,
    }


def parse_numeric_model(form: dict[str, Any]) -> NumericModelProfile:
    """Return the profile of values from JSON."""
    return NumericModelProfile(
        **form
        | {
            "digest": parse_hex(form["digest"]),
            "input_decimals": tuple(form["input_decimals"]),
            "output_decimals": tuple(form["output_decimals"]),
        }
    )


def numeric_schedule_to_form(schedule: NumericGasSchedule) -> dict[str, int]:
    """Return the prices for canonical JSON."""
    return {name.upper(): price for name, price in asdict(schedule).items()}


def parse_numeric_schedule(form: Mapping[str, int]) -> NumericGasSchedule:
    """Return the schedule of values from JSON.

    Raises: ConfigError: a price that this version does not have.
    """
    names = {each.name.upper(): each.name for each in fields(NumericGasSchedule)}
    for name, price in form.items():
        if name not in names:
            raise ConfigError(
                f"chain configuration with numeric_schedule.{name} = {price!r}: this version has "
                "no such price; use the version that created the chain"
            )
    return NumericGasSchedule(**{names[name]: price for name, price in form.items()})


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


def _format(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _require_hash(value: bytes, name: str) -> None:
    if len(value) != DIGEST_BYTES:
        raise ConfigError(f"{name} of {len(value)} bytes: must be {DIGEST_BYTES}")

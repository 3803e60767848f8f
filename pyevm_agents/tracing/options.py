"""Options of a tracer, parsed from the JSON object of a request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPCODE = re.compile(r"0x[0-9a-fA-F]{1,2}")


class TracerOptions:
    """The fields of an options object, each taken once. Null or missing means the default."""

    def __init__(self, name: str, fields: object) -> None:
        """Parse the options of the tracer `name`.

        Raises: ConfigError: `fields` is not an object.
        """
        if fields is None:
            fields = {}
        if not isinstance(fields, dict):
            raise ConfigError(f"{name}: options must be an object, not {fields!r}")
        self._name = name
        self._fields: dict[str, object] = dict(fields)

    def take_flag(self, field: str, *, default: bool = False) -> bool:
        """Take a boolean field.

        Raises: ConfigError: not a boolean.
        """
        value = self._fields.pop(field, None)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ConfigError(f"{self._name}: {field} must be true or false, not {value!r}")
        return value

    def take_count(self, field: str) -> int:
        """Take a non-negative integer field; 0 if missing.

        Raises: ConfigError: not a non-negative integer.
        """
        value = self._fields.pop(field, None)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigError(
                f"{self._name}: {field} must be a number of at least 0, not {value!r}"
            )
        return value

    def take_opcodes(self, field: str, *, default: frozenset[int]) -> frozenset[int]:
        """Take a list of opcodes, such as `["0x1", "0x50"]`.

        Raises: ConfigError: not a list of opcodes as hexadecimal quantities.
        """
        value = self._fields.pop(field, None)
        if value is None:
            return default
        if isinstance(value, list) and all(
            isinstance(text, str) and _OPCODE.fullmatch(text) for text in value
        ):
            return frozenset(int(text, 16) for text in value)
        raise ConfigError(
            f'{self._name}: {field} must be opcodes such as ["0x1", "0x50"], not {value!r}'
        )

    def take_rest(self) -> Mapping[str, object]:
        """Take all remaining fields."""
        rest, self._fields = self._fields, {}
        return rest

    def require_all_taken(self) -> None:
        """Check that all fields were taken.

        Raises: ConfigError: lists the unknown fields.
        """
        if self._fields:
            unknown = ", ".join(sorted(self._fields))
            raise ConfigError(f"{self._name}: unknown option {unknown}; leave it out")

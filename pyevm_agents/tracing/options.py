"""A tracer's options, read from the JSON object of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


class TracerOptions:
    """The fields of an object, each taken once; one that is null or missing is its default."""

    def __init__(self, name: str, fields: object) -> None:
        """Read the options of what `name` names.

        Raises: ConfigError: `fields` is no object.
        """
        if fields is None:
            fields = {}
        if not isinstance(fields, dict):
            raise ConfigError(f"{name}: options are an object, not {fields!r}")
        self._name = name
        self._fields: dict[str, object] = dict(fields)

    def take_flag(self, field: str, *, default: bool = False) -> bool:
        """Take a true or false.

        Raises: ConfigError: it is something else.
        """
        value = self._fields.pop(field, None)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise ConfigError(f"{self._name}: {field} is true or false, not {value!r}")
        return value

    def take_count(self, field: str) -> int:
        """Take a number of 0 or more; 0 where there is none.

        Raises: ConfigError: it is something else.
        """
        value = self._fields.pop(field, None)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigError(f"{self._name}: {field} is a number of 0 or more, not {value!r}")
        return value

    def take_rest(self) -> Mapping[str, object]:
        """Take all fields that are left."""
        rest, self._fields = self._fields, {}
        return rest

    def require_all_taken(self) -> None:
        """See that every field was taken.

        Raises: ConfigError: one was not, so this knows none of that name.
        """
        if self._fields:
            unknown = ", ".join(sorted(self._fields))
            raise ConfigError(f"{self._name}: no option is called {unknown}; leave it out")

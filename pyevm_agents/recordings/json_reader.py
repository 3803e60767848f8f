"""Values read from JSON, each with its place, so that a wrong one is named."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pyevm_agents.errors import FixtureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.recordings.canonical_json import Json

JsonT = TypeVar("JsonT", str, int, float, bool, list, dict)  # type: ignore[type-arg]

MAX_INTEGER = 2**32 - 1
"""Tokens, indices and limits all fit into four bytes."""

WORD_BITS = 256
"""Bits of a balance, a slot and what is in it."""

NONCE_BITS = 64
"""Bits of an account's nonce. Source: EIP-2681."""

_HEX = re.compile(r"0x(?:[0-9a-f]{2})*")
_QUANTITY = re.compile(r"0x(?:0|[1-9a-f][0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class JsonReader:
    """A JSON value and where it stands."""

    value: Json
    path: str

    def __getitem__(self, key: str) -> JsonReader:
        """Return a field of an object."""
        form = self._require_type(dict, "an object")
        if key not in form:
            raise FixtureError(f"{self.path}.{key} is missing" if self.path else f"no {key}")
        return JsonReader(form[key], f"{self.path}.{key}" if self.path else key)

    def iter_fields(self) -> Iterator[tuple[str, JsonReader]]:
        """Walk the fields of an object."""
        for key in self._require_type(dict, "an object"):
            yield key, self[key]

    def iter_items(self) -> Iterator[JsonReader]:
        """Walk the items of a list."""
        for index, item in enumerate(self._require_type(list, "a list")):
            yield JsonReader(item, f"{self.path}[{index}]")

    def read_text(self) -> str:
        """Return a text."""
        text = self._require_type(str, "a text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise FixtureError(
                f"{self.path} holds half of a surrogate pair at character {error.start}: no text"
            ) from error
        return text

    def read_boolean(self) -> bool:
        """Return a truth value."""
        return self._require_type(bool, "true or false")

    def read_integer(self) -> int:
        """Return a whole number from 0 to `MAX_INTEGER`."""
        number = self._require_type(int, "a whole number")
        if not 0 <= number <= MAX_INTEGER:
            raise FixtureError(f"{self.path} is {number}: must be from 0 to {MAX_INTEGER}")
        return number

    def read_real(self) -> float:
        """Return a number with a fraction."""
        return self._require_type(float, "a number with a point")

    def read_data(self, size: int | None = None) -> bytes:
        """Return bytes written in hexadecimal, of a certain size where one is given."""
        text = self.read_text()
        if not _HEX.fullmatch(text) or (size is not None and len(text) != 2 + 2 * size):
            bytes_wanted = "bytes" if size is None else f"{size} bytes"
            raise FixtureError(
                f"{self.path} is {text[:80]!r}: must be {bytes_wanted} as 0x and lower-case digits"
            )
        return bytes.fromhex(text[2:])

    def read_quantity(self, *, bits: int = WORD_BITS) -> int:
        """Return a number of so many bits at most, in hexadecimal without leading zeros."""
        return parse_quantity(self.read_text(), self.path, bits=bits)

    def _require_type(self, kind: type[JsonT], described: str) -> JsonT:
        if type(self.value) is not kind:
            raise FixtureError(f"{self.path or 'the fixture'} must be {described}")
        return self.value


def parse_quantity(text: str, path: str, *, bits: int = WORD_BITS) -> int:
    """Return a number of so many bits at most, in hexadecimal without leading zeros."""
    if not _QUANTITY.fullmatch(text):
        raise FixtureError(
            f"{path} is {text[:80]!r}: must be a number as 0x and lower-case digits, without "
            "leading zeros"
        )
    number = int(text, 16)
    if number.bit_length() > bits:
        raise FixtureError(f"{path} is {text[:80]}: must be a number of {bits} bits at most")
    return number

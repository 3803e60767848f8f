"""Typed access to parsed JSON; errors name the path of a value."""

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
"""Upper limit of tokens, indices and token limits, which fit into four bytes."""

WORD_BITS = 256
"""Bits of a balance, a slot and its value."""

NONCE_BITS = 64
"""Bits of an account's nonce. Source: EIP-2681."""

_HEX = re.compile(r"0x(?:[0-9a-f]{2})*")
_QUANTITY = re.compile(r"0x(?:0|[1-9a-f][0-9a-f]*)")


@dataclass(frozen=True, slots=True)
class JsonReader:
    """A JSON value and the path."""

    value: Json
    path: str

    def __contains__(self, key: str) -> bool:
        """Return whether an object has a field."""
        return key in self._require_type(dict, "an object")

    def __getitem__(self, key: str) -> JsonReader:
        """Return a field of an object."""
        form = self._require_type(dict, "an object")
        if key not in form:
            raise FixtureError(f"{self.path}.{key} is missing" if self.path else f"no {key}")
        return JsonReader(form[key], f"{self.path}.{key}" if self.path else key)

    def iter_fields(self) -> Iterator[tuple[str, JsonReader]]:
        """Iterate over the fields of an object."""
        for key in self._require_type(dict, "an object"):
            yield key, self[key]

    def iter_items(self) -> Iterator[JsonReader]:
        """Iterate over the items of a list."""
        for index, item in enumerate(self._require_type(list, "a list")):
            yield JsonReader(item, f"{self.path}[{index}]")

    def read_text(self) -> str:
        """Return a text."""
        text = self._require_type(str, "a text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise FixtureError(
                f"{self.path}: invalid text: half of a surrogate pair at character {error.start}"
            ) from error
        return text

    def read_boolean(self) -> bool:
        """Return a boolean."""
        return self._require_type(bool, "true or false")

    def read_integer(self) -> int:
        """Return an integer from 0 to `MAX_INTEGER`."""
        number = self._require_type(int, "an integer")
        if not 0 <= number <= MAX_INTEGER:
            raise FixtureError(f"invalid {self.path} {number}: must be 0 to {MAX_INTEGER}")
        return number

    def read_score(self) -> int:
        """Return an integer of either sign and any size."""
        return self._require_type(int, "an integer")

    def read_real(self) -> float:
        """Return a floating-point number."""
        return self._require_type(float, "a number with a decimal point")

    def read_data(self, size: int | None = None) -> bytes:
        """Return bytes in hexadecimal, optionally of a fixed size."""
        text = self.read_text()
        if not _HEX.fullmatch(text) or (size is not None and len(text) != 2 + 2 * size):
            bytes_wanted = "bytes" if size is None else f"{size} bytes"
            raise FixtureError(
                f"invalid {self.path} {text[:80]!r}: must be {bytes_wanted} as 0x and "
                "lower-case digits"
            )
        return bytes.fromhex(text[2:])

    def read_quantity(self, *, bits: int = WORD_BITS) -> int:
        """Return a number of at most `bits` bits, in hexadecimal without leading zeros."""
        return parse_quantity(self.read_text(), self.path, bits=bits)

    def _require_type(self, kind: type[JsonT], described: str) -> JsonT:
        if type(self.value) is not kind:
            raise FixtureError(f"{self.path or 'the fixture'} must be {described}")
        return self.value


def parse_quantity(text: str, path: str, *, bits: int = WORD_BITS) -> int:
    """Parse a number of at most `bits` bits, in hexadecimal without leading zeros."""
    if not _QUANTITY.fullmatch(text):
        raise FixtureError(
            f"invalid {path} {text[:80]!r}: must be a number as 0x and lower-case digits, without "
            "leading zeros"
        )
    number = int(text, 16)
    if number.bit_length() > bits:
        raise FixtureError(f"invalid {path} {text[:80]}: must have at most {bits} bits")
    return number

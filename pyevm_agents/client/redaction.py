"""Secrets of URLs and headers, hidden in whatever servers repeat of them."""

from __future__ import annotations

import base64
import html
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from urllib.parse import SplitResult

HIDDEN = "…"
MIN_SECRET_CHARACTERS = 4
"""Shorter parts of a URL, such as `v2`, are no secrets."""

MIN_HEX_SECRET_CHARACTERS = 16
"""In data of a call, shorter secrets are chance: `8453` is a chain in a URL and a part of words."""

SHORT_ESCAPES = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
BASE64_OTHERS = {"+": "-", "/": "_"}
"""Source: RFC 4648, section 5."""

LONE_BYTES, MAX_BYTE = range(0xDC80, 0xDD00), 0xFF
"""Bytes that are no UTF-8, as Python's `surrogateescape` writes them: PEP 383."""

HEX_DATA = re.compile(r"0x[0-9a-fA-F]*")


class Redactor:
    """Hides secrets in texts, in each form in which programs write them.

    A secret is found raw, decoded, percent-encoded (each character or some, once or more often, `+`
    for a space), with the escapes of JSON, Python and HTML, in hexadecimal, and inside of Base64.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        """Input: secrets as they are written, such as parts of a URL; short ones are ignored."""
        self._values = {value for each in secrets for value in _list_values(each)}

    # Compiled when a server says something, which few do.

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        return _compile(self._values, MIN_SECRET_CHARACTERS)

    @cached_property
    def _long_pattern(self) -> re.Pattern[str] | None:
        return _compile(self._values, MIN_HEX_SECRET_CHARACTERS)

    def redact(self, text: str) -> str:
        """Return a text with each secret replaced by an ellipsis."""
        return text if self._pattern is None else self._pattern.sub(HIDDEN, text)

    def redact_json(self, value: Any) -> Any:  # noqa: ANN401 - JSON
        """Return a value of JSON with each secret replaced, in the names of members as well.

        Bytes in hexadecimal stay as they are, but for long secrets: a revert's data is read.
        """
        if isinstance(value, str):
            if HEX_DATA.fullmatch(value):
                pattern = self._long_pattern
                return value if pattern is None else pattern.sub(HIDDEN, value)
            return self.redact(value)
        if isinstance(value, list):
            return [self.redact_json(each) for each in value]
        if isinstance(value, dict):
            return {self.redact(str(key)): self.redact_json(each) for key, each in value.items()}
        return value


def find_url_secrets(parts: SplitResult) -> list[str]:
    """Return the parts of a URL that may be secret: path, query, user and password."""
    user, password = parts.username or "", parts.password or ""
    secrets = [parts.path, parts.query, user, password]
    for separator in ("/", "[/;,=&]"):
        secrets += re.split(separator, parts.path)
    for separator in ("&", "[&;]"):
        secrets += (pair.partition("=")[2] or pair for pair in re.split(separator, parts.query))
    credentials = find_credentials(parts)
    if credentials is not None:
        secrets.append(credentials.decode(errors="surrogateescape"))
        secrets.append(base64.b64encode(credentials).decode())
    return secrets


def find_credentials(parts: SplitResult) -> bytes | None:
    """Return a URL's user and password as the Basic header has them, before Base64; None: none."""
    if parts.username is None:
        return None
    return unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")


def _list_values(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and decoded: bytes that are not UTF-8 as lone surrogates."""
    yield secret
    for text in (secret, secret.replace("+", " ")):
        yield unquote_to_bytes(text.encode(errors="surrogateescape")).decode(
            errors="surrogateescape"
        )


def _compile(values: Iterable[str], least: int) -> re.Pattern[str] | None:
    """Return a pattern of all forms of all values of a length, the longest first."""
    chosen = sorted({each for each in values if len(each) >= least}, key=lambda e: (-len(e), e))
    if not chosen:
        return None
    forms, starts = [], set("%\\&+\ufffd")
    for each in chosen:
        data = each.encode(errors="surrogateescape")
        forms.append("".join(map(_match_character, each)))
        forms.append(_match_hex(data))
        texts = [*_list_base64(data)]
        forms += map(_match_base64, texts)
        starts |= {each[0], chr(data[0]), *data.hex()[0], *data.hex()[0].upper()}
        starts |= {BASE64_OTHERS.get(text[0], text[0]) for text in texts} | {t[0] for t in texts}
    start = "".join(map(re.escape, sorted(starts)))
    return re.compile(f"(?=[{start}])(?:{'|'.join(forms)})")  # Most places are passed quickly.


def _match_character(character: str) -> str:
    """Return a pattern of one character in any of the forms."""
    code = ord(character)
    is_byte = code in LONE_BYTES
    forms = [_match_quoted(character.encode(errors="surrogateescape"))]
    if is_byte:
        code -= 0xDC00
        forms += [re.escape(chr(code)), "\ufffd", r"\\+u[fF]{3}[dD]"]
    units = character.encode("utf-16-be", errors="surrogatepass")
    forms += [
        "".join(rf"\\+u{_match_hex(units[at : at + 2])}" for at in range(0, len(units), 2)),
        rf"&\#(?:[xX]0*{_match_hex(f'{code:x}')}|0*{code});?",
    ]
    if code <= MAX_BYTE:
        forms.append(rf"\\+x{_match_hex(bytes([code]))}")
    if short := SHORT_ESCAPES.get(character, character if character in "\"\\/'" else ""):
        forms.append(rf"\\+{re.escape(short)}")
    if character == " ":
        forms.append(r"\+")
    if (named := html.escape(character)) != character:
        forms.append(re.escape(named))
    # The character last: a backslash also begins an escape.
    return f"(?:{'|'.join(forms)}|{re.escape(character)})"


def _match_quoted(data: bytes) -> str:
    return "".join(rf"%(?:25)*{_match_hex(bytes([byte]))}" for byte in data)


def _match_hex(digits: bytes | str) -> str:
    """Return a pattern of hexadecimal digits in either case."""
    text = digits if isinstance(digits, str) else digits.hex()
    return "".join(each if each.isdecimal() else f"[{each}{each.upper()}]" for each in text)


def _list_base64(data: bytes) -> Iterator[str]:
    """Yield what any text with these bytes has in Base64, for each of three places in it."""
    for before in range(3):
        text = base64.b64encode(bytes(before) + data).decode()
        shown = text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        if len(shown) >= MIN_SECRET_CHARACTERS:
            yield shown


def _match_base64(text: str) -> str:
    """Return a pattern of Base64 of either alphabet, also percent-encoded or in JSON."""
    return "".join(
        each if each.isalnum() else f"(?:{BASE64_OTHERS[each]}|{_match_character(each)})"
        for each in text
    )

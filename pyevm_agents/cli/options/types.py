"""Addresses, request IDs and durations on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from eth_utils import is_checksum_address, to_canonical_address

if TYPE_CHECKING:
    from collections.abc import Mapping

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
REQUEST_ID = re.compile(r"0x[0-9a-fA-F]{64}")
DURATION = re.compile(r"([0-9]{1,9})\s*([smhd]?)")
SECONDS: Mapping[str, int] = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


class AddressType(click.ParamType[bytes]):
    """An address; one with capitals must have a right checksum (EIP-55)."""

    name = "address"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        """Return an address, 20 bytes."""
        if isinstance(value, bytes):
            return value
        text = str(value)
        if not ADDRESS.fullmatch(text):
            self.fail(f"{text!r}: not an address; must be 0x and 40 hexadecimal digits", param, ctx)
        has_checksum = text[2:] not in {text[2:].lower(), text[2:].upper()}
        if has_checksum and not is_checksum_address(text):
            self.fail(f"{text!r}: wrong checksum (EIP-55); look for a typo", param, ctx)
        return bytes(to_canonical_address(text))


class RequestIdType(click.ParamType[int]):
    """A request ID."""

    name = "request"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return a request ID as a number."""
        if isinstance(value, int):
            return value
        if not REQUEST_ID.fullmatch(str(value)):
            self.fail(
                f"{value!r}: not a request ID; must be 0x and 64 hexadecimal digits, as "
                "`pyevm-agents oracle status` prints them",
                param,
                ctx,
            )
        return int(str(value), 16)


class RequestNumberType(click.ParamType[int]):
    """The number of a council's request, from 1 on."""

    name = "request"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return a request's number."""
        text = str(value)
        if not (text.isascii() and text.isdigit() and int(text)):
            self.fail(
                f"{text!r}: not the number of a request, from 1 on; `pyevm-agents council watch` "
                "shows the numbers",
                param,
                ctx,
            )
        return int(text)


class DurationType(click.ParamType[int]):
    """A duration such as `90`, which is seconds, `90s`, `10m`, `2h` or `1d`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return a duration in seconds."""
        if isinstance(value, int):
            return value
        match = DURATION.fullmatch(str(value).strip().lower())
        if match is None:
            self.fail(
                f"{value!r}: not a duration; must be a number with s, m, h or d, such as 10m",
                param,
                ctx,
            )
        return int(match[1]) * SECONDS[match[2]]


ADDRESS_TYPE, REQUEST_TYPE, DURATION_TYPE = AddressType(), RequestIdType(), DurationType()
REQUEST_NUMBER_TYPE = RequestNumberType()


def format_request(request_id: int) -> str:
    """Return a request ID in the form of the command line."""
    return f"0x{request_id:064x}"


def format_time(timestamp: int) -> str:
    """Return a time of the chain, in seconds since 1970, as a date."""
    try:
        return f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return f"second {timestamp:,} since 1970"

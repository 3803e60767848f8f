"""The rules of a new treasury, and the file that keeps them for the next start.

This module needs no package of the extra `agents`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.json_codec import from_json, to_json
from pyevm_agents.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCap:
    """The amount of an ERC-20 token that a task may spend."""

    token: bytes
    amount: int
    """Base units of the token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreasuryPolicy:
    """The rules of a new treasury."""

    cap_wei: int
    """What a task may spend in all, and on each target."""

    deposit_wei: int
    targets: tuple[bytes, ...] = ()
    functions: tuple[tuple[bytes, bytes], ...] = ()
    """Targets, each with a function's 4-byte selector that may be called."""

    token_caps: tuple[TokenCap, ...] = ()
    """Tokens that a task may spend, each in all, and on each target."""

    @property
    def destinations(self) -> list[bytes]:
        """All accounts that may receive assets or be called, sorted."""
        return sorted({*self.targets, *(target for target, _ in self.functions)})


def write_policy(path: Path, policy: TreasuryPolicy) -> None:
    """Keep the rules that a treasury was deployed with.

    Raises: ConfigError: the file can't be written.
    """
    write_atomically(path, (json.dumps(to_json(policy), indent=2) + "\n").encode(), is_private=True)


def read_policy(path: Path) -> TreasuryPolicy | None:
    """Return the rules in a file, or None.

    Raises: ConfigError: the file has no rules of a treasury.
    """
    if not path.exists():
        return None
    try:
        return from_json(TreasuryPolicy, parse_json(path.read_bytes()))
    except (OSError, ValueError, ConfigError) as error:
        raise ConfigError(f"{path}: must be a treasury's rules; restore it: {error}") from error


def require_same_rules(
    kept: TreasuryPolicy | None, wanted: TreasuryPolicy, given: Mapping[str, str], place: str
) -> None:
    """Accept rules that were passed for an existing treasury: the treasury's own.

    Input:
        kept: the rules of the deployment; None if not known.
        wanted: the rules of the options.
        given: fields of `TreasuryPolicy` that were passed, each with the option.
        place: the treasury, for the message.

    Raises: ConfigError: one differs.
    """
    for name, option in given.items():
        ending = f"omit {option}, let the treasury's owner change it, or begin in another --data"
        if kept is None:
            raise ConfigError(f"{option}: is for a new treasury, and {place} is none; {ending}")
        before, now = (_describe_rule(getattr(each, name)) for each in (kept, wanted))
        if before != now:
            raise ConfigError(
                f"{option} {now}: is for a new treasury, and {place} was deployed with "
                f"{before}; {ending}"
            )


def _describe_rule(rule: object) -> str:
    """Return a rule in the form of the option, in one order."""
    if not isinstance(rule, tuple):
        return str(rule)
    return ", ".join(sorted(map(_describe_item, rule))) or "none"


def _describe_item(item: object) -> str:
    if isinstance(item, TokenCap):
        return f"{to_checksum_address(item.token)}={item.amount}"
    if isinstance(item, tuple):
        target, selector = item
        return f"{to_checksum_address(target)}=0x{selector.hex()}"
    assert isinstance(item, bytes)  # noqa: S101 - a target
    return to_checksum_address(item)

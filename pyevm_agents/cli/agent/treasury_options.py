"""Options for the treasury of runs. This module needs no package of the extra `agents`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import function_signature_to_4byte_selector

from pyevm_agents.cli.option_group import add_option_group
from pyevm_agents.cli.oracle.keystore_options import password_file_option, unlock
from pyevm_agents.cli.oracle.param_types import ADDRESS_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_keys.datatypes import PrivateKey

NEW = "new"
CAP_WEI = 10**17
DEPOSIT_WEI = 10**18
SIGNATURE = re.compile(r"[A-Za-z_$][\w$]*\([\w,()\[\]]*\)")


class TreasuryType(click.ParamType[bytes | str]):
    """An address, or `new`."""

    name = "treasury"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes | str:
        """Return an address, or `new`."""
        return NEW if value == NEW else ADDRESS_TYPE.convert(value, param, ctx)


class FunctionType(click.ParamType[tuple[bytes, bytes]]):
    """A contract's function: ADDRESS=SIGNATURE."""

    name = "function"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[bytes, bytes]:
        """Return an address and a selector."""
        if isinstance(value, tuple):
            return value
        place, _, signature = str(value).partition("=")
        if not SIGNATURE.fullmatch(signature):
            self.fail(f"{value!r}: must be like 0x…=deposit(uint256), without blanks", param, ctx)
        address = ADDRESS_TYPE.convert(place, param, ctx)
        return address, function_signature_to_4byte_selector(signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreasuryChoices:
    """Options of `agent serve` and `run` for the treasury and the operator."""

    treasury: bytes | str | None
    treasury_cap_wei: int
    treasury_deposit_wei: int
    treasury_targets: tuple[bytes, ...]
    treasury_functions: tuple[tuple[bytes, bytes], ...]
    operator_keystore: Path | None
    password_file: Path | None

    def open_operator(self) -> PrivateKey | None:
        """Return the operator's key; None for the development account."""
        if self.operator_keystore is None:
            return None
        return unlock(self.operator_keystore, self.password_file)


_OPTIONS = (
    click.option(
        "--treasury", type=TreasuryType(), metavar="ADDRESS|new",
        help="Make every write through this RunTreasury; new deploys one, and with --data keeps it "
        "for the next start.",
    ),
    click.option(
        "--treasury-cap", "treasury_cap_wei", type=click.IntRange(0), default=CAP_WEI,
        show_default=True, metavar="WEI", help="Of a new treasury: what a task may spend.",
    ),
    click.option(
        "--treasury-deposit", "treasury_deposit_wei", type=click.IntRange(0), default=DEPOSIT_WEI,
        show_default=True, metavar="WEI", help="Of a new treasury: what it holds at first.",
    ),
    click.option(
        "--treasury-allow", "treasury_targets", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
        help="Of a new treasury: who may get wei. Repeatable.  [default: nobody]",
    ),
    click.option(
        "--treasury-call", "treasury_functions", type=FunctionType(), multiple=True,
        metavar="ADDRESS=FUNCTION",
        help="Of a new treasury: what agents may call, such as 0x…=deposit(uint256). Repeatable.",
    ),
    click.option(
        "--operator-keystore", type=click.Path(path_type=Path), metavar="FILE",
        help="Keystore file of the operator, who confirms runs.  [default: the first development "
        "account]",
    ),
    password_file_option,
)  # fmt: skip


def add_treasury_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add these options to a command, which gets them as `treasury`."""
    return add_option_group(command, "treasury_choices", TreasuryChoices, _OPTIONS)

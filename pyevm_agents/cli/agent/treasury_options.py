"""Options for the treasury of runs. This module needs no package of the extra `agents`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from eth_utils import function_signature_to_4byte_selector, to_checksum_address

from pyevm_agents.cli.options.group import add_option_group
from pyevm_agents.cli.options.keystore import password_file_option, unlock
from pyevm_agents.cli.options.types import ADDRESS_TYPE
from pyevm_agents.control.plane_config import CAP_WEI, DEPOSIT_WEI, NEW, TreasuryConfig
from pyevm_agents.control.treasury_policy import TokenCap, TreasuryPolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_keys.datatypes import PrivateKey

MAX_AMOUNT = 2**256 - 1
MAX_AMOUNT_DIGITS = len(str(MAX_AMOUNT))
MAX_TOKENS = 7
"""Beside wei. Source: `MAX_ASSETS` of `contracts/runs/RunTreasury.sol`."""

POLICY_OPTIONS = {
    "cap_wei": "--treasury-cap",
    "token_caps": "--treasury-token-cap",
    "deposit_wei": "--treasury-deposit",
    "targets": "--treasury-allow",
    "functions": "--treasury-call",
}
"""The option of each rule of a new treasury."""

SIGNATURE = re.compile(r"[A-Za-z_$][\w$]*\([\w,()\[\]]*\)")


class TreasuryType(click.ParamType[bytes | str]):
    """An address, or `new`."""

    name = "treasury"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes | str:
        """Return an address, or `new`."""
        if value == NEW:
            return NEW
        try:
            return ADDRESS_TYPE.convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message}. Or pass {NEW}, which deploys a treasury", param, ctx)


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


class TokenCapType(click.ParamType[TokenCap]):
    """A token and an amount of base units: TOKEN=AMOUNT."""

    name = "token cap"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> TokenCap:
        """Return the token's address and the amount."""
        if isinstance(value, TokenCap):
            return value
        place, _, amount = str(value).partition("=")
        is_amount = amount.isascii() and amount.isdecimal() and len(amount) <= MAX_AMOUNT_DIGITS
        if not is_amount or int(amount) > MAX_AMOUNT:
            self.fail(
                f"{value!r}: must be like 0x…=10000000, the token's address and a whole number of "
                "its base units, from 0 to 2**256 - 1",
                param,
                ctx,
            )
        token = ADDRESS_TYPE.convert(place, param, ctx)
        if not any(token):
            self.fail(f"{place}: stands for wei; pass --treasury-cap instead", param, ctx)
        return TokenCap(token=token, amount=int(amount))


def _require_word(
    _context: click.Context, _option: click.Parameter, amount: int | None
) -> int | None:
    """Accept an amount that a contract can hold; the range would fill the help."""
    if amount is not None and amount > MAX_AMOUNT:
        raise click.BadParameter(f"{amount}: must be at most 2**256 - 1")
    return amount


def _require_one_cap(
    _context: click.Context, _option: click.Parameter, caps: tuple[TokenCap, ...]
) -> tuple[TokenCap, ...]:
    """Accept one cap for each of a few tokens."""
    tokens = [each.token for each in caps]
    if doubled := sorted({each for each in tokens if tokens.count(each) > 1}):
        raise click.BadParameter(
            f"{to_checksum_address(doubled[0])}: has {tokens.count(doubled[0])} caps; pass one"
        )
    if len(tokens) > MAX_TOKENS:
        raise click.BadParameter(
            f"{len(tokens)} tokens: a treasury has at most {MAX_TOKENS}; omit some"
        )
    return caps


@dataclass(frozen=True, slots=True, kw_only=True)
class TreasuryChoices:
    """Options of `agent serve` and `run` for the treasury and the operator."""

    treasury: bytes | str | None
    treasury_cap_wei: int | None
    treasury_token_caps: tuple[TokenCap, ...]
    treasury_deposit_wei: int | None
    treasury_targets: tuple[bytes, ...]
    treasury_functions: tuple[tuple[bytes, bytes], ...]
    operator_keystore: Path | None
    password_file: Path | None

    def open_operator(self) -> PrivateKey | None:
        """Return the operator's key; None for the development account."""
        if self.operator_keystore is None:
            return None
        return unlock(self.operator_keystore, self.password_file)

    @property
    def config(self) -> TreasuryConfig:
        """The treasury without the operator."""
        cap, deposit = self.treasury_cap_wei, self.treasury_deposit_wei
        policy = TreasuryPolicy(
            cap_wei=CAP_WEI if cap is None else cap,
            deposit_wei=DEPOSIT_WEI if deposit is None else deposit,
            targets=self.treasury_targets,
            functions=self.treasury_functions,
            token_caps=self.treasury_token_caps,
        )
        return TreasuryConfig(treasury=self.treasury, policy=policy, given_rules=self._list_given())

    def _list_given(self) -> dict[str, str]:
        """Return the rules that were passed: fields of `TreasuryPolicy`, each with the option."""
        given = {
            "cap_wei": self.treasury_cap_wei is not None,
            "token_caps": bool(self.treasury_token_caps),
            "deposit_wei": self.treasury_deposit_wei is not None,
            "targets": bool(self.treasury_targets),
            "functions": bool(self.treasury_functions),
        }
        return {name: POLICY_OPTIONS[name] for name, is_given in given.items() if is_given}


_OPTIONS = (
    click.option(
        "--treasury", type=TreasuryType(), metavar="ADDRESS|new",
        help="Make every write through this RunTreasury; new deploys one, and with --data keeps it "
        "for the next start.",
    ),
    click.option(
        "--treasury-cap", "treasury_cap_wei", type=click.IntRange(0), metavar="WEI",
        callback=_require_word,
        help=f"Of a new treasury: what a task may spend.  [default: {CAP_WEI}]",
    ),
    click.option(
        "--treasury-token-cap", "treasury_token_caps", type=TokenCapType(), multiple=True,
        callback=_require_one_cap, metavar="TOKEN=AMOUNT",
        help="Of a new treasury: what a task may spend of an ERC-20 token, in its base units. "
        "Repeatable, for other tokens.  [default: no tokens]",
    ),
    click.option(
        "--treasury-deposit", "treasury_deposit_wei", type=click.IntRange(0), metavar="WEI",
        callback=_require_word,
        help=f"Of a new treasury: what it holds at first.  [default: {DEPOSIT_WEI}]",
    ),
    click.option(
        "--treasury-allow", "treasury_targets", type=ADDRESS_TYPE, multiple=True, metavar="ADDRESS",
        help="Of a new treasury: who may get wei and tokens. Repeatable.  [default: nobody]",
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
    """Add these options to a command, as the parameter `treasury`."""
    return add_option_group(command, "treasury_choices", TreasuryChoices, _OPTIONS)

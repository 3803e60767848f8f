"""The primitives of Web3: kinds of contracts and functions that many share, from `primitives.toml`.

Primitives propose; executions decide: docs/architecture.md#execution-decides.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.contract_intelligence.capabilities import (
    NATIVE_UNIT,
    ContractKind,
    Derivation,
    FunctionCapability,
    Parameter,
    ParameterRole,
    Source,
)
from pyevm_agents.contract_intelligence.function_abi import build_parameters, split_types

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

FILE = Path(__file__).with_name("primitives.toml")

THIS = "this"
READ_UNIT = re.compile(r"\w+\(\)")
"""A unit that the contract tells, such as `asset()`."""

DEFAULT_SLIPPAGE_BPS = 50
"""Basis points of the proposed slippage. Source: the default of Uniswap's interface."""

VIEW, PAYABLE = "view", "payable"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRule:
    """A kind of contract, with the functions that identify the kind."""

    kind: ContractKind
    functions: frozenset[str]
    """Signatures that the contract must have."""

    reads: tuple[str, ...] = ()
    """Signatures without arguments whose calls must answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRule:
    """Facts of a function that many contracts have."""

    signature: str
    kinds: frozenset[ContractKind] = frozenset()
    """The kinds of contracts that the rule is about; empty for all."""

    beside: frozenset[str] = frozenset()
    """Signatures that the contract must also have."""

    standard: str = ""
    """The standard that has the function: its texts take the place of the source's comments."""

    names: tuple[str, ...] = ()
    sentence: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    """What a parameter is, by its place."""

    outputs: tuple[str, ...] = ()
    mutability: str = ""
    roles: Mapping[str, ParameterRole] = field(default_factory=dict)
    """By the place of a parameter."""

    units: Mapping[str, str] = field(default_factory=dict)
    """By the place of a parameter, or `out0` for an output."""

    quote: str = ""
    seconds: int = 0

    @property
    def selector(self) -> bytes:
        """The first four bytes of the signature's hash."""
        return compute_topic(self.signature)[:SELECTOR_BYTES]

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the parameters."""
        return split_types(self.signature[self.signature.index("(") :])

    def describe(self) -> FunctionCapability:
        """Return the function as known of a contract without an ABI."""
        return FunctionCapability(
            name=self.signature.partition("(")[0],
            signature=self.signature,
            selector=self.selector,
            parameters=build_parameters(self.types, self.names),
            outputs=build_parameters(self.outputs, prefix=""),
            is_read_only=self.mutability == VIEW,
            is_payable=self.mutability == PAYABLE,
        )


@dataclass(frozen=True, kw_only=True)
class Primitives:
    """The rules of `primitives.toml`."""

    reads: Mapping[str, tuple[str, ...]]
    """Signatures without arguments, by what they tell."""

    kinds: tuple[KindRule, ...]
    functions: tuple[FunctionRule, ...]

    @cached_property
    def by_selector(self) -> Mapping[bytes, tuple[FunctionRule, ...]]:
        """The rules of functions by their selectors."""
        found: dict[bytes, tuple[FunctionRule, ...]] = {}
        for rule in self.functions:
            found[rule.selector] = (*found.get(rule.selector, ()), rule)
        return found

    def describe(self, selector: bytes) -> FunctionCapability | None:
        """Return the function of a selector, as of a contract without an ABI; None if unknown."""
        rules = self.by_selector.get(selector, ())
        return rules[0].describe() if rules else None

    def list_kinds(self, signatures: Collection[str]) -> tuple[KindRule, ...]:
        """Return the rules of kinds whose functions a contract has, the first the best."""
        return tuple(rule for rule in self.kinds if rule.functions <= set(signatures))

    def annotate(
        self,
        function: FunctionCapability,
        kind: ContractKind,
        resolve_unit: Callable[[str], str],
        signatures: Collection[str] = (),
    ) -> FunctionCapability:
        """Add the facts of a function: texts, roles, units, derivations and quote.

        Input: a function; the kind of the contract; the address of the token of a unit, or empty;
            the signatures that the contract has.
        """
        rules = [
            rule
            for rule in self.by_selector.get(function.selector, ())
            if rule.signature == function.signature
            and (not rule.kinds or kind in rule.kinds)
            and rule.beside <= set(signatures)
        ]
        if not rules:
            return function
        return _apply(rules[0], function, resolve_unit)


@cache
def load_primitives(path: Path = FILE) -> Primitives:
    """Return the rules of a file."""
    form = tomllib.loads(path.read_text(encoding="utf-8"))
    return Primitives(
        reads={key: tuple(value) for key, value in form["reads"].items()},
        kinds=tuple(map(_parse_kind, form["kind"])),
        functions=tuple(map(_parse_function, form["function"])),
    )


def _apply(
    rule: FunctionRule, function: FunctionCapability, resolve_unit: Callable[[str], str]
) -> FunctionCapability:
    names = [parameter.name for parameter in function.parameters]
    resolve = _build_unit_resolver(rule, names, resolve_unit)
    return replace(
        function,
        description=_choose_text(rule, function.description, rule.sentence),
        quote=rule.quote,
        parameters=tuple(
            _annotate_parameter(each, place, rule, resolve)
            for place, each in enumerate(function.parameters)
        ),
        outputs=tuple(
            replace(each, token=resolve(rule.units.get(f"out{place}", "")))
            for place, each in enumerate(function.outputs)
        ),
    )


def _choose_text(rule: FunctionRule, comment: str, text: str) -> str:
    """Return the text of a rule: instead of the source's comment if a standard has the function."""
    return (text or comment) if rule.standard else (comment or text)


def _parse_kind(form: Mapping[str, Any]) -> KindRule:
    return KindRule(
        kind=ContractKind(form["name"]),
        functions=frozenset(form["functions"]),
        reads=tuple(form.get("reads", ())),
    )


def _parse_function(form: Mapping[str, Any]) -> FunctionRule:
    return FunctionRule(
        signature=form["signature"],
        kinds=frozenset(map(ContractKind, form.get("kinds", ()))),
        beside=frozenset(form.get("beside", ())),
        standard=form.get("standard", ""),
        names=tuple(form.get("names", ())),
        sentence=form.get("sentence", ""),
        texts=dict(form.get("texts", {})),
        outputs=tuple(form.get("outputs", ())),
        mutability=form.get("mutability", ""),
        roles={key: ParameterRole(value) for key, value in form.get("roles", {}).items()},
        units=dict(form.get("units", {})),
        quote=form.get("quote", ""),
        seconds=form.get("seconds", 0),
    )


def _build_unit_resolver(
    rule: FunctionRule, names: Sequence[str], resolve_unit: Callable[[str], str]
) -> Callable[[str], str]:
    """Return a function from a unit to a token, with the parameters' own names in place of the
    rule's.
    """  # noqa: D205 - one sentence
    own = dict(zip(rule.names, names, strict=False))

    def resolve(unit: str) -> str:
        if unit in {"", NATIVE_UNIT}:
            return unit
        if unit == THIS or READ_UNIT.fullmatch(unit):
            return resolve_unit(unit)
        name, bracket, rest = unit.partition("[")
        return own.get(name, name) + bracket + rest

    return resolve


def _annotate_parameter(
    parameter: Parameter, place: int, rule: FunctionRule, resolve: Callable[[str], str]
) -> Parameter:
    role = rule.roles.get(str(place), ParameterRole.UNKNOWN)
    return replace(
        parameter,
        description=_choose_text(rule, parameter.description, rule.texts.get(str(place), "")),
        role=role,
        token=resolve(rule.units.get(str(place), "")),
        derivation=parameter.derivation or _propose_derivation(parameter.name, role, rule),
    )


def _propose_derivation(name: str, role: ParameterRole, rule: FunctionRule) -> Derivation | None:
    """Return where the value of a parameter that the model need not choose comes from."""
    match role:
        case ParameterRole.RECIPIENT | ParameterRole.ACCOUNT:
            return Derivation(source=Source.ACCOUNT, sentence=f"{name}: the agent's account")
        case ParameterRole.DEADLINE if rule.seconds:
            return Derivation(
                source=Source.DEADLINE,
                seconds=rule.seconds,
                sentence=f"{name}: {rule.seconds} seconds after the block's time",
            )
        case ParameterRole.MINIMUM if rule.quote:
            return Derivation(
                source=Source.MINIMUM,
                slippage_bps=DEFAULT_SLIPPAGE_BPS,
                sentence=f"{name}: what the call would pay, less {DEFAULT_SLIPPAGE_BPS / 100:g} %",
            )
        case _:
            return None

"""What analysis says of the contracts of the truth table, beside what is true.

evmole and whatsabi read code without executing it. They say which functions there are, which read
and which take native currency; who may call a function, neither says.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from eth_utils import function_signature_to_4byte_selector, to_checksum_address
from evmole import contract_info

from benchmarks.contract_truth import OTHERS
from pyevm_agents.contract_intelligence.capabilities import Access

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.contract_truth import TrueApproval, TrueFunction
    from benchmarks.contract_world import ContractWorld
    from pyevm_agents.contract_intelligence.capabilities import (
        ApprovalKind,
        ContractIntelligence,
        FunctionCapability,
    )

WHATSABI = Path(__file__).with_name("contract_whatsabi.mjs")
PROGRAM_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessScore:
    """How well analysis tells closed functions from open ones.

    Stopped functions revert whoever calls, so they count by themselves.
    """

    functions: int
    closed: int
    found: int
    """Closed functions that it does not say are open."""

    wrong: int
    """Open functions that it does not say are open."""

    unknown: int
    """Functions of which it says neither."""

    stopped: int
    noticed: int
    """Stopped functions of which it says that a call reverts."""

    callers: int
    """Closed functions with callers in the world."""

    named: int
    """Of these, functions for which it names one of the callers."""

    misnamed: tuple[str, ...]
    """Of these, functions for which it names other accounts alone."""

    mistakes: tuple[str, ...]

    @property
    def precision(self) -> float:
        """Share of the functions not said to be open that are closed."""
        said = self.found + self.wrong
        return self.found / said if said else 1.0

    @property
    def recall(self) -> float:
        """Share of the closed functions that it does not say are open."""
        return self.found / self.closed if self.closed else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalScore:
    """How many of the true approvals analysis finds."""

    true: int
    found: int
    missing: tuple[str, ...]
    further: tuple[str, ...]
    """Functions with approvals that the table does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceScore:
    """How well a tool without an ABI lists functions."""

    functions: int
    found: int
    reads_right: int
    """Of the functions found, those whose reading or writing is right."""

    payable_right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessedFunction:
    """What a tool says of a function, from the code alone."""

    is_read_only: bool
    is_payable: bool


def score_access(
    truth: Mapping[str, Sequence[TrueFunction]],
    found: Mapping[str, ContractIntelligence],
    world: ContractWorld,
) -> AccessScore:
    """Compare an analysis of contracts, by name in the world, with the truth."""
    pairs = [*_match(truth, found)]
    stopped = [said for true, said in pairs if true.is_stopped]
    closed = [(t, s) for t, s in pairs if not t.may_call and not t.is_stopped]
    missed = [(t, s) for t, s in closed if s.access is Access.OPEN]
    wrong = [(t, s) for t, s in pairs if t.may_call and s.access is not Access.OPEN]
    naming = [_judge_callers(true, said, world) for true, said in closed]
    return AccessScore(
        functions=len(pairs),
        closed=len(closed),
        found=len(closed) - len(missed),
        wrong=len(wrong),
        unknown=sum(said.access is Access.UNKNOWN for _, said in pairs),
        stopped=len(stopped),
        noticed=sum(said.access is not Access.OPEN or bool(said.reason) for said in stopped),
        callers=sum(verdict is not Naming.NONE_EXPECTED for verdict in naming),
        named=naming.count(Naming.NAMED),
        misnamed=tuple(
            f"{_name(true)}: said to be for {', '.join(said.callers)}, is for "
            f"{', '.join(true.callers)}"
            for (true, said), verdict in zip(closed, naming, strict=True)
            if verdict is Naming.MISNAMED
        ),
        mistakes=tuple(
            f"said to be {said.access}: {_name(true)}: {said.reason}"
            for true, said in (*missed, *wrong)
        ),
    )


class Naming(Enum):
    """Whether an analysis names who may call a closed function."""

    NONE_EXPECTED = "none expected"
    UNNAMED = "unnamed"
    NAMED = "named"
    MISNAMED = "misnamed"


def _judge_callers(true: TrueFunction, said: FunctionCapability, world: ContractWorld) -> Naming:
    expected = {
        to_checksum_address(world.find_address(name)) for name in true.callers if name != OTHERS
    }
    if not expected:
        return Naming.NONE_EXPECTED
    if not said.callers:
        return Naming.UNNAMED
    return Naming.NAMED if expected & set(said.callers) else Naming.MISNAMED


def score_approvals(
    truth: Mapping[str, Sequence[TrueFunction]],
    found: Mapping[str, ContractIntelligence],
    world: ContractWorld,
) -> ApprovalScore:
    """Compare the approvals that an analysis found with the true ones."""
    missing, further = [], []
    true_count = 0
    for true, said in _match(truth, found):
        said_pairs = {
            (approval.token, approval.spender, approval.kind) for approval in said.approvals
        }
        true_count += len(true.approvals)
        missing += [
            f"{_name(true)}: {'/'.join(approval.tokens)} for {approval.spender}"
            for approval in true.approvals
            if not said_pairs & _list_pairs(approval, world)
        ]
        if said_pairs and not true.approvals:
            further.append(_name(true))
    return ApprovalScore(
        true=true_count,
        found=true_count - len(missing),
        missing=tuple(missing),
        further=tuple(further),
    )


def score_interfaces(
    truth: Mapping[str, Sequence[TrueFunction]],
    guesses: Mapping[str, Mapping[bytes, GuessedFunction]],
) -> InterfaceScore:
    """Compare functions that a tool reads in code, by contract and selector, with the truth."""
    functions = [true for contract in truth.values() for true in contract]
    found = [
        (true, guess)
        for true in functions
        if (guess := guesses.get(true.contract, {}).get(select(true.signature))) is not None
    ]
    return InterfaceScore(
        functions=len(functions),
        found=len(found),
        reads_right=sum(true.is_read_only == guess.is_read_only for true, guess in found),
        payable_right=sum(true.is_payable == guess.is_payable for true, guess in found),
    )


def guess_with_evmole(codes: Mapping[str, bytes]) -> dict[str, dict[bytes, GuessedFunction]]:
    """Return what evmole says of codes, by contract."""
    found: dict[str, dict[bytes, GuessedFunction]] = {}
    for name, code in codes.items():
        info = contract_info(code, selectors=True, state_mutability=True)
        found[name] = {
            bytes.fromhex(function.selector): GuessedFunction(
                is_read_only=function.state_mutability in {"view", "pure"},
                is_payable=function.state_mutability == "payable",
            )
            for function in info.functions or ()
        }
    return found


def guess_with_whatsabi(
    codes: Mapping[str, bytes], node_modules: Path
) -> dict[str, dict[bytes, GuessedFunction]]:
    """Return what whatsabi says of codes, by contract.

    Input:  node_modules: has `@shazow/whatsabi`; Node.js is in PATH.
    Raises: CalledProcessError: the package is not there.
    """
    ended = subprocess.run(
        ["node", str(WHATSABI), str(node_modules.resolve())],  # noqa: S607 - where PATH says
        input=json.dumps({name: "0x" + code.hex() for name, code in codes.items()}),
        capture_output=True,
        text=True,
        check=True,
        timeout=PROGRAM_SECONDS,
    )
    return {
        name: {
            bytes.fromhex(entry["selector"][2:]): GuessedFunction(
                is_read_only=entry["isReadOnly"], is_payable=entry["isPayable"]
            )
            for entry in entries
        }
        for name, entries in json.loads(ended.stdout).items()
    }


def select(signature: str) -> bytes:
    """Return the selector of a signature."""
    return bytes(function_signature_to_4byte_selector(signature))


def _match(
    truth: Mapping[str, Sequence[TrueFunction]], found: Mapping[str, ContractIntelligence]
) -> Iterable[tuple[TrueFunction, FunctionCapability]]:
    """Pair the functions of the table with what was found of them.

    Raises: ValueError: a function was not analysed.
    """
    for name, functions in truth.items():
        said = {function.selector: function for function in found[name].functions}
        for true in functions:
            if select(true.signature) not in said:
                raise ValueError(f"{_name(true)}: was not analysed")
            yield true, said[select(true.signature)]


def _list_pairs(approval: TrueApproval, world: ContractWorld) -> set[tuple[str, str, ApprovalKind]]:
    spender = to_checksum_address(world.find_address(approval.spender))
    return {
        (to_checksum_address(world.find_address(token)), spender, approval.kind)
        for token in approval.tokens
    }


def _name(true: TrueFunction) -> str:
    return f"{true.contract}.{true.signature}"

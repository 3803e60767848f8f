"""The truth table: what the agent's account may call, written by hand in `contract_truth.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyevm_agents.contract_intelligence.capabilities import ApprovalKind

FILE = Path(__file__).with_name("contract_truth.toml")

OTHERS = "others"
"""Callers that are not of the world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueApproval:
    """An approval that the account must give before a call."""

    tokens: tuple[str, ...]
    """Names of contracts: which of them it is depends on the arguments."""

    spender: str
    kind: ApprovalKind = ApprovalKind.AMOUNT


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFunction:
    """What is true of a function."""

    contract: str
    """The contract's name in `ContractWorld`."""

    signature: str
    is_read_only: bool
    is_payable: bool
    may_call: bool
    """Whether the account may call it, with the right arguments; else it is closed or stopped."""

    is_stopped: bool = False
    """Whether it reverts in this situation, whoever calls."""

    callers: tuple[str, ...] = ()
    """Of a closed function: who may call it. Names as `ContractWorld.find_address`
    takes them, or `OTHERS`."""

    approvals: tuple[TrueApproval, ...] = ()


def read_truth(file: Path = FILE) -> dict[str, tuple[TrueFunction, ...]]:
    """Return the functions of the table by contract, in its order.

    Raises: ValueError: a function is listed twice, or has facts and is not listed.
    """
    return {
        name: _read_contract(name, table) for name, table in tomllib.loads(file.read_text()).items()
    }


def _read_contract(name: str, table: dict[str, object]) -> tuple[TrueFunction, ...]:
    lists = (_list(table, key) for key in ("reads", "writes", "payable", "stopped"))
    reads, writes, payable, stopped = lists
    closed, approvals = (_table(table, key) for key in ("closed", "approvals"))
    listed = [*reads, *writes]
    for signature in listed:
        if listed.count(signature) > 1:
            raise ValueError(f"{name}: {signature} is listed {listed.count(signature)} times")
    for signature in (*payable, *stopped, *closed, *approvals):
        if signature not in listed:
            raise ValueError(f"{name}: {signature} has facts and is not listed")
    return tuple(
        TrueFunction(
            contract=name,
            signature=signature,
            is_read_only=signature in reads,
            is_payable=signature in payable,
            may_call=signature not in closed and signature not in stopped,
            is_stopped=signature in stopped,
            callers=tuple(closed.get(signature, ())),
            approvals=tuple(
                TrueApproval(
                    tokens=tuple(one["tokens"]),
                    spender=one["spender"],
                    kind=ApprovalKind(one.get("kind", ApprovalKind.AMOUNT)),
                )
                for one in approvals.get(signature, ())
            ),
        )
        for signature in listed
    )


def _list(table: dict[str, object], key: str) -> list[str]:
    found = table.get(key, [])
    return found if isinstance(found, list) else []


def _table(table: dict[str, object], key: str) -> dict[str, list[Any]]:
    found = table.get(key, {})
    return found if isinstance(found, dict) else {}

"""Costs of agents in tests, and their snapshot in a file, `.agent-gas-snapshot`.

One line for each test, sorted, as in forge's `.gas-snapshot`:

    tests/test_wallet.py::test_deposit (gas: 3935263, evm: 345263, …, output_tokens: 72)
"""

from __future__ import annotations

import re
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING

from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pyevm_agents.agents.trace import AgentStep


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCost:
    """The cost of transactions with agents; fields in the order of the file."""

    gas: int
    """The gas used, with the transaction's intrinsic gas."""

    evm: int
    """The gas without that of prompts and outputs."""

    prompt: int
    """The gas of prompts."""

    output: int
    """The gas of outputs."""

    steps: int
    cold_tokens: int
    """Prompt tokens that were new in their transaction."""

    warm_tokens: int
    """Prompt tokens that were read before in their transaction."""

    output_tokens: int


ZERO_COST = AgentCost(
    gas=0, evm=0, prompt=0, output=0, steps=0, cold_tokens=0, warm_tokens=0, output_tokens=0
)


def compute_cost(steps: Sequence[AgentStep], gas_used: int) -> AgentCost:
    """Return the cost of a transaction by steps and gas."""
    inferences = [step.inference for step in steps]
    prompt = sum(inference.prompt_gas for inference in inferences)
    output = sum(inference.output_gas for inference in inferences)
    return AgentCost(
        gas=gas_used,
        evm=gas_used - prompt - output,
        prompt=prompt,
        output=output,
        steps=len(steps),
        cold_tokens=sum(inference.cold_tokens for inference in inferences),
        warm_tokens=sum(inference.warm_tokens for inference in inferences),
        output_tokens=sum(inference.output_tokens for inference in inferences),
    )


def sum_costs(costs: Iterable[AgentCost]) -> AgentCost:
    """Return the sum of costs."""
    columns = zip(*map(astuple, [ZERO_COST, *costs]), strict=True)
    return AgentCost(**dict(zip(AgentCost.__slots__, map(sum, columns), strict=True)))


FILE = ".agent-gas-snapshot"

FIELDS = tuple(AgentCost.__slots__)


_LINE = re.compile(r"(?P<test>.+) \((?P<parts>[a-z_]+: \d+(?:, [a-z_]+: \d+)*)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class GasChange:
    """A number of a test that changed."""

    test: str
    field: str
    was: int
    now: int

    @property
    def share(self) -> float:
        """The change relative to the old number."""
        return abs(self.now - self.was) / self.was if self.was else float(self.now != 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GasComparison:
    """The comparison of a suite's costs with the snapshot."""

    changes: tuple[GasChange, ...]
    """The changes beyond the tolerance."""

    new: tuple[str, ...]
    gone: tuple[str, ...]


def read_snapshot(path: Path) -> dict[str, AgentCost]:
    """Read a snapshot; return the costs by test. A missing file is an empty snapshot.

    Raises: ConfigError: the file can't be read, or has a malformed line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: can't be read: {error}") from error
    lines = enumerate(text.split("\n"), start=1)
    costs: dict[str, AgentCost] = {}
    for number, line in lines:
        if line.strip():
            test, cost = _read_line(path, number, line)
            if test in costs:
                raise ConfigError(f"{path}, line {number}: {test} stands there twice; keep one")
            costs[test] = cost
    return costs


def write_snapshot(costs: Mapping[str, AgentCost], path: Path) -> None:
    """Write a snapshot atomically.

    Raises: ConfigError: the file can't be written.
    """
    write_atomically(path, "".join(_format_lines(costs)).encode())


def compare_costs(
    snapshot: Mapping[str, AgentCost],
    costs: Mapping[str, AgentCost],
    *,
    tolerance: float = 0.0,
    gone: Collection[str] = (),
) -> GasComparison:
    """Compare the costs of a run with a snapshot.

    Input: the snapshot; the costs of the tests that were run; the relative change that is allowed;
           the tests that no longer exist.
    """
    changes = (
        GasChange(test=test, field=field, was=getattr(was, field), now=getattr(costs[test], field))
        for test, was in sorted(snapshot.items())
        if test in costs
        for field in FIELDS
    )
    return GasComparison(
        changes=tuple(
            change for change in changes if change.was != change.now and change.share > tolerance
        ),
        new=tuple(sorted(costs.keys() - snapshot.keys())),
        gone=tuple(sorted(set(gone) & snapshot.keys())),
    )


def format_comparison(comparison: GasComparison, costs: Mapping[str, AgentCost]) -> Iterator[str]:
    """Yield lines with the changes: old number, new number, relative change."""
    changes = comparison.changes
    if changes:
        rows: list[tuple[str, ...]] = [("test", "", "was", "is", "change")]
        rows += [
            (
                change.test,
                change.field,
                f"{change.was:,}",
                f"{change.now:,}",
                _format_percent(change),
            )
            for change in changes
        ]
        yield from align_columns(rows, left=2)
    for test in comparison.new:
        yield f"new: {test}, {costs[test].gas:,} gas"
    for test in comparison.gone:
        yield f"gone: {test}"


def align_columns(rows: list[tuple[str, ...]], *, left: int) -> Iterator[str]:
    """Yield the lines of a table.

    Input: the rows; the number of columns that are aligned to the left.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if index < left else f"{cell:>{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _format_percent(change: GasChange) -> str:
    if not change.was:
        return "new"
    return f"{(change.now - change.was) / change.was:+.2%}"


def _format_lines(costs: Mapping[str, AgentCost]) -> Iterator[str]:
    for test, cost in sorted(costs.items()):
        parts = ", ".join(f"{field}: {number}" for field, number in asdict(cost).items())
        yield f"{test} ({parts})\n"


def _read_line(path: Path, number: int, line: str) -> tuple[str, AgentCost]:
    match = _LINE.fullmatch(line)
    parts = dict(part.split(": ") for part in match["parts"].split(", ")) if match else {}
    if match is None or set(parts) != set(FIELDS):
        raise ConfigError(
            f"{path}, line {number}: {line[:100]!r}: must be a line of an agent gas snapshot; take "
            "the file from git again, or delete it and write it anew: pytest --agent-gas-snapshot"
        )
    return match["test"], AgentCost(**{field: int(parts[field]) for field in FIELDS})

"""Mutation test of the consensus code, or of other folders: whether a test fails for each mistake.

    python -m benchmarks.mutations [--seed 1] [--count 50] [--source FOLDER]... [--json FILE]
    python -m benchmarks.mutations --again FILE [--json FILE]

A mutant has one change: another comparison, a number one higher or lower, a negated condition, two
swapped arguments, or a removed statement. It is written to a copy of the checkout, where the tests
that execute the changed line run, quickest first, until one fails. `--again` repeats the mutants of
an earlier result with the present tests.

`python -m benchmarks.contexts build/contexts` records first which tests execute each line; pass
another folder as `--coverage`. Exit status 1 if a mutant survives.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coverage import CoverageData

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("precompiles", "pyevm_agents/vm", "pyevm_agents/chain", "pyevm_agents/state")
MAX_TESTS = 300
"""Most tests per mutant: the quickest of those that execute its line."""

HANG_SECONDS = 240
"""Limit of a mutant's tests, which take seconds; a mutant that loops without end is caught."""
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one file. Its key stays the same when lines move."""

    path: str
    scope: str
    """Dotted name of the enclosing class or function."""

    kind: str
    before: str
    after: str
    occurrence: int
    """Index among the equal changes of the scope."""

    line: int
    span: tuple[int, int]
    """Offsets in the file's UTF-8 text."""

    def key(self) -> tuple[str, str, str, str, str, int]:
        """Return the mutant's identity."""
        return self.path, self.scope, self.kind, self.before, self.after, self.occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The tests' verdict on a mutant."""

    mutant: Mutant
    result: str
    """`caught`, `survived`, or `gone`: the code no longer has the line."""

    tests: int
    failed: str
    """The first test that failed, or pytest's exit status."""


class Changes(ast.NodeVisitor):
    """All changes of a file, in its order."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text.encode()
        starts = [0]
        for line in text.encode().splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts
        self._scope: list[str] = []
        self._seen: Counter[tuple[str, ...]] = Counter()
        self.found: list[Mutant] = []
        self.visit(ast.parse(text))

    def _add(self, node: ast.expr | ast.stmt, kind: str, after: str) -> None:
        start = self._starts[node.lineno - 1] + node.col_offset
        end = self._starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        before = self._text[start:end].decode()
        key = (".".join(self._scope), kind, before, after)
        self.found.append(
            Mutant(
                path=self._path,
                scope=key[0],
                kind=kind,
                before=before,
                after=after,
                occurrence=self._seen[key],
                line=node.lineno,
                span=(start, end),
            )
        )
        self._seen[key] += 1

    def _enter(self, node: ast.ClassDef | ast.FunctionDef) -> None:
        self._scope.append(node.name)
        for one in node.body:
            self.visit(one)
        self._scope.pop()

    visit_ClassDef = visit_FunctionDef = _enter  # noqa: N815 - ast's names; without decorators

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Skip the annotation."""
        if node.value is not None:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        """Negate the condition; skip imports for type checkers."""
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._add(node.test, "negated", f"not ({ast.unparse(node.test)})")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Replace each comparison operator."""
        for place, operator in enumerate(node.ops):
            others = [*node.ops]
            others[place] = COMPARISONS[type(operator)]()
            changed = ast.Compare(left=node.left, ops=others, comparators=node.comparators)
            self._add(node, "compared", f"({ast.unparse(changed)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Add and subtract one."""
        if type(node.value) is int:
            for change in (1, -1):
                self._add(node, "number", f"({node.value + change})")

    def visit_Call(self, node: ast.Call) -> None:
        """Swap neighbouring arguments."""
        plain = [one for one in node.args if not isinstance(one, ast.Starred)]
        if len(plain) == len(node.args):
            for place in range(len(plain) - 1):
                swapped = [*plain]
                swapped[place : place + 2] = swapped[place + 1], swapped[place]
                changed = ast.Call(func=node.func, args=swapped, keywords=node.keywords)
                self._add(node, "swapped", ast.unparse(changed))
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Remove a call; skip docstrings."""
        if not isinstance(node.value, ast.Constant):
            self._add(node, "removed", "pass")
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Remove an augmented assignment."""
        self._add(node, "removed", "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Remove a raise; its message is not consensus."""
        self._add(node, "removed", "pass")


class Executions:
    """The tests that execute each line, and the CPU time of each test."""

    def __init__(self, folder: Path) -> None:
        """Input: a folder of `benchmarks.contexts`."""
        self._data = CoverageData(basename=str(folder / "coverage.sqlite3"))
        self._data.read()
        self._files = {_relative(Path(name)): name for name in self._data.measured_files()}
        self._seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())

    def tests(self, path: str, line: int) -> list[str]:
        """Return the tests that execute a line, quickest first.

        A line that runs at import has the tests of its whole file.
        """
        name = self._files.get(path)
        if name is None:
            return []
        contexts = self._data.contexts_by_lineno(name)
        found = {one for one in contexts.get(line, ()) if one}
        if not found and line in contexts:  # While its module was imported.
            found = {one for ones in contexts.values() for one in ones if one}
        return sorted(found, key=lambda one: (self._seconds.get(one, 1e9), one))


def _relative(path: Path) -> str:
    """Return a path relative to the checkout that was measured."""
    for top in ("precompiles", "pyevm_agents"):
        if top in path.parts:
            return "/".join(path.parts[len(path.parts) - path.parts[::-1].index(top) - 1 :])
    return str(path)


def list_mutants(sources: Sequence[str]) -> list[Mutant]:
    """Return all mutants of folders, by file and line."""
    found: list[Mutant] = []
    for folder in sources:
        for path in sorted((ROOT / folder).rglob("*.py")):
            found += Changes(str(path.relative_to(ROOT)), path.read_text()).found
    return found


def choose_mutants(
    executions: Executions, sources: Sequence[str], *, seed: int, count: int
) -> list[Mutant]:
    """Draw mutants from the lines that tests execute."""
    drawn: list[Mutant] = []
    mutants = list_mutants(sources)
    random.Random(seed).shuffle(mutants)  # noqa: S311 - a sample
    for mutant in mutants:
        if len(drawn) == count:
            break
        if executions.tests(mutant.path, mutant.line):
            drawn.append(mutant)
    return drawn


def find_again(file: Path, sources: Sequence[str]) -> Iterator[Mutant]:
    """Yield the mutants of an earlier result; one whose code is gone has an empty span."""
    known = {mutant.key(): mutant for mutant in list_mutants(sources)}
    for row in json.loads(file.read_text())["outcomes"]:
        old = Mutant(**{**row["mutant"], "span": tuple(row["mutant"]["span"])})
        yield known.get(old.key(), replace(old, span=(0, 0)))


def collect_tests() -> set[str]:
    """Return the IDs of the present tests; end the program if there is none."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", ""]
    done = subprocess.run(
        [*command, "-o", "addopts=--import-mode=importlib"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = {line for line in done.stdout.splitlines() if "::" in line}
    if not found:
        raise SystemExit(f"pytest collects no test, so none could fail:\n{done.stdout[-2_000:]}")
    return found


def run_tests(checkout: Path, tests: list[str]) -> tuple[bool, str]:
    """Run tests until one fails; return whether one failed, and its ID."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-n", "0"]
    command += ["-p", "no:cacheprovider", "-p", "no:randomly"]
    try:
        done = subprocess.run(
            [*command, *tests],
            cwd=checkout,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True, "timeout"
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    failed = [
        test
        for test in tests
        for line in lines
        if f"{line} ".partition(" ")[2].startswith(f"{test} ")
    ]
    return done.returncode != 0, failed[0] if failed else f"status {done.returncode}"


def try_mutant(checkout: Path, mutant: Mutant, tests: list[str]) -> Outcome:
    """Write a mutant, run its tests, and restore the file.

    Tests that fail without the mutant as well, such as those of a Git checkout, are left out.
    """
    file = checkout / mutant.path
    text = file.read_bytes()
    start, end = mutant.span
    left = [*tests]
    while left:
        file.write_bytes(text[:start] + mutant.after.encode() + text[end:])
        try:
            is_caught, failed = run_tests(checkout, left)
        finally:
            file.write_bytes(text)
        if not is_caught:
            break
        if failed not in left or not run_tests(checkout, [failed])[0]:
            return Outcome(mutant=mutant, result="caught", tests=len(left), failed=failed)
        left.remove(failed)
    return Outcome(mutant=mutant, result="survived", tests=len(left), failed="")


def try_all(mutants: Iterable[Mutant], executions: Executions) -> Iterator[Outcome]:
    """Yield the outcome of each mutant, run in a copy of the checkout."""
    existing = collect_tests()
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        leave = shutil.ignore_patterns(".git", ".venv", ".uv", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, checkout, ignore=leave, symlinks=True)
        for mutant in mutants:
            if mutant.span == (0, 0):
                yield Outcome(mutant=mutant, result="gone", tests=0, failed="")
                continue
            tests = [one for one in executions.tests(mutant.path, mutant.line) if one in existing]
            yield try_mutant(checkout, mutant, tests[:MAX_TESTS])


def main() -> None:
    """Try the mutants; print and write the outcomes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--coverage",
        type=Path,
        default=ROOT / "build" / "contexts",
        help="folder of benchmarks.contexts (default: build/contexts)",
    )
    parser.add_argument("--seed", type=int, default=1, help="draws the mutants (default: 1)")
    parser.add_argument("--count", type=int, default=50, help="how many (default: 50)")
    parser.add_argument(
        "--source",
        action="append",
        metavar="FOLDER",
        help=f"of the changed code; repeatable (default: {', '.join(SOURCES)})",
    )
    parser.add_argument("--again", type=Path, help="repeat the mutants of this result")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    arguments = parser.parse_args()
    executions = Executions(arguments.coverage)
    sources = arguments.source or SOURCES
    mutants = (
        [*find_again(arguments.again, sources)]
        if arguments.again
        else choose_mutants(executions, sources, seed=arguments.seed, count=arguments.count)
    )
    since, outcomes = time.monotonic(), []
    for number, outcome in enumerate(try_all(mutants, executions), 1):
        one = outcome.mutant
        change = f"{one.path}:{one.line}: {one.before!r} -> {one.after!r}"
        print(f"{number}/{len(mutants)} {outcome.result}: {change} {outcome.failed}", flush=True)
        outcomes.append(outcome)
    counts = Counter(one.result for one in outcomes)
    print(f"{dict(counts)} in {time.monotonic() - since:,.0f} s")
    if arguments.json:
        result = {"seed": arguments.seed, **counts, "outcomes": [asdict(one) for one in outcomes]}
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(1 if counts["survived"] else 0)


if __name__ == "__main__":
    main()

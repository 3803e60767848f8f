"""Run the tests that a change in some rooms can alter.

    python -m scripts.rooms [ROOM ...] [--changed [BASE]] [--part PART] [--list] [--table]

A room is a folder or module of `pyevm_agents`, or another top folder: `precompiles`, `contracts`,
`docs`. A test file can be altered by each module that the file reaches. Edges are imports (those
of types left out), the packages around an imported module, names of modules in texts, commands
that the file names (where the file reaches the command line), files that the file names, and
fixtures of a pytest plugin that the file names. Without rooms, every test file of the part runs.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("precompiles", "pyevm_agents", "benchmarks", "scripts", "tests", "training")
DATA = ("chain_fixtures", "contracts", "docs", "page")
"""Folders without Python; whoever names one in a text reads all of the folder."""

SHIPPED = ("chain_fixtures", "contracts")
"""Those that the product reads."""

INSTRUMENTS = (
    "tests/benchmarks/",
    "tests/pyevm_agents/bench/",
    "tests/pyevm_agents/cli/bench/",
    "tests/training/",
)
"""Tests of what measures: `make instruments` runs these, `make test` does not."""

EVERYTHING = (
    ".ci/run",
    "Makefile",
    "build-constraints.txt",
    "constraints.txt",
    "pyproject.toml",
    "scripts/rooms.py",
    "scripts/uv",
    "tests/conftest.py",
)
"""Files that every test depends on."""

READERS = {"PRODUCT", "Reach", "product_modules", "tracked_files", "build_graph"}
"""Names whose users read all of the product."""

APP, PROGRAM = "pyevm_agents.cli.app", "pyevm_agents.__main__"
PLUGINS = (
    "pyevm_agents.pytest_plugin.plugin",
    "tests.chain_bench",
    "tests.engines",
    "tests.pyevm_agents.counting_suite",
)
"""Plugins of pytest: their fixtures reach the files that name these."""

PRODUCT = ("precompiles", "pyevm_agents")
MODULE_NAME = re.compile(rf"\b(?:{'|'.join(PACKAGES)})(?:\.\w+)+\.?")
PATH_NAME = re.compile(rf"(?<![\w-])({'|'.join((*PACKAGES, *DATA))})/(\w*)")
"""The first two folders of a path in a text."""

SUITE_ARGUMENTS = re.compile(r"def \w+\(([^)]*)\)")
"""The arguments of a test that is written in a text."""


TESTS_IMPORT = re.compile(r"^from (tests\.[\w.]+) import", re.MULTILINE)
MARKS = {"default": "not slow", "slow": "slow", "instruments": ""}
NO_TESTS = 5
"""Pytest's exit status where no test is left."""


@dataclass(slots=True, kw_only=True)
class Source:
    """What a Python file names."""

    texts: set[str] = field(default_factory=set)
    """String constants other than docstrings."""

    imports: set[str] = field(default_factory=set)
    """Modules that the file imports, and names in these; those of types are left out."""

    names: set[str] = field(default_factory=set)
    requests: set[str] = field(default_factory=set)
    """Fixtures that tests and fixtures take, in the file and in the suites of its texts."""

    fixtures: set[str] = field(default_factory=set)
    """Fixtures that the file defines."""

    tests: int = 0
    """Number of test functions."""

    commands: dict[str, str] = field(default_factory=dict)
    """Module of each command of a group."""


def read_source(file: Path) -> Source:
    """Return what a Python file names."""
    found, skipped = Source(), set[int]()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if id(node) not in skipped:
            read_node(node, found, skipped)
    found.requests |= read_requests(found)
    return found


def read_node(node: ast.AST, found: Source, skipped: set[int]) -> None:
    """Add what a node names; docstrings and imports of types are to be skipped."""
    match node:
        case ast.Constant(value=str(text)):
            found.texts.add(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            found.names.add(name)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            read_function(node, found)
        case ast.Expr(value=ast.Constant() as value):
            skipped.add(id(value))
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
            skipped.update(id(one) for one in body)
        case ast.Import() | ast.ImportFrom():
            read_import(node, found)
        case (
            ast.Assign(targets=[ast.Name(id="COMMANDS")], value=ast.Dict() as table)
            | ast.AnnAssign(target=ast.Name(id="COMMANDS"), value=ast.Dict() as table)
        ):
            found.commands = read_commands(table)


def read_commands(table: ast.Dict) -> dict[str, str]:
    """Return the module of each command of a table of `LazyCommand`s."""
    places = {
        ast.literal_eval(name): ast.literal_eval(command.args[0])
        for name, command in zip(table.keys, table.values, strict=True)
        if name is not None and isinstance(command, ast.Call)
    }
    return {name: place.partition(":")[0] for name, place in places.items()}


def read_import(node: ast.Import | ast.ImportFrom, found: Source) -> None:
    """Add a statement's modules, and the names that it imports, which may be modules."""
    names = [one.name for one in node.names]
    found.names |= set(names)
    if isinstance(node, ast.ImportFrom):
        found.imports |= {f"{node.module}.{name}" for name in names}
    else:
        found.imports |= set(names)


def read_requests(source: Source) -> set[str]:
    """Return the fixtures that a file's texts request."""
    suites = SUITE_ARGUMENTS.findall("\n".join(source.texts))
    words = {word for arguments in suites for word in re.findall(r"\w+", arguments)}
    return words | (source.texts if source.names & {"usefixtures", "getfixturevalue"} else set())


def read_function(node: ast.FunctionDef | ast.AsyncFunctionDef, found: Source) -> None:
    """Add the fixtures that a function takes, and the one that the function is."""
    found.tests += node.name.startswith("test_")
    is_fixture = any("fixture" in ast.unparse(one) for one in node.decorator_list)
    if is_fixture:
        found.fixtures.add(node.name)
    if is_fixture or node.name.startswith("test"):
        found.requests |= {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}


def name_module(file: Path) -> str:
    """Return the name of a Python file's module."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


class Reach:
    """The modules and folders that each test file reaches."""

    def __init__(self) -> None:
        """Read the checkout."""
        files = {
            name_module(file): file
            for package in PACKAGES
            for file in (ROOT / package).rglob("*.py")
            if "node_modules" not in file.parts
        }
        self.files = files
        self.sources = {name: read_source(file) for name, file in files.items()}
        self.fixtures = {one: name for name in PLUGINS for one in self.sources[name].fixtures}
        self.edges = {name: self._find_edges(name) for name in files}
        self.tests = sorted(
            name for name in files if name.startswith("tests.") and ".test_" in name
        )

    def _find_edges(self, name: str) -> set[str]:
        """Return the modules and folders that a module reaches."""
        source = self.sources[name]
        # The packages around a module; conftests beside and above a test.
        folders = [name.rsplit(".", count)[0] for count in range(1, name.count(".") + 1)]
        conftests = {f"{one}.conftest" for one in folders if one != "tests"} & {*self.files}
        found = {*folders, *conftests}.union(*map(self._find_modules, source.imports))
        if name != "tests.conftest":
            found |= self._find_texts(source.texts, is_product=name.startswith(PRODUCT))
        if name != APP:
            found |= {f"pyevm_agents.cli.{module}" for module in source.commands.values()}
        if name.startswith("tests."):
            nearer = source.fixtures.union(*(self.sources[one].fixtures for one in conftests))
            wanted = (source.requests & {*self.fixtures}) - nearer
            found |= {self.fixtures[one] for one in wanted}
        return found & {*self.files, *PACKAGES, *DATA} - {name}

    def _find_texts(self, texts: set[str], *, is_product: bool) -> set[str]:
        """Return the modules and folders that texts name."""
        found = {PROGRAM} if {"pyevm_agents", "-m"} <= texts else set()
        for text in texts:
            # A text of the product that is more than a name is a message.
            if not is_product or MODULE_NAME.fullmatch(text):
                found = found.union(*map(self._find_modules, MODULE_NAME.findall(text)))
            if is_product:
                found |= {text.lstrip("./").partition("/")[0]} & {*SHIPPED}
            else:
                found = found.union(*map(self._find_path, PATH_NAME.findall(f"{text}/")))
        return found

    def _find_path(self, path: tuple[str, str]) -> set[str]:
        """Return the folder that a path begins with, or the module or package of its room."""
        top, below = path
        return self._find_modules(f"{top}.{below}") if top == "pyevm_agents" and below else {top}

    def _find_modules(self, dotted: str) -> set[str]:
        """Return the module that a dotted name is, or begins with; all below one with a dot."""
        if dotted.endswith("."):
            return {one for one in self.files if one.startswith(dotted)}
        while dotted and dotted not in self.files:
            dotted = dotted.rpartition(".")[0]
        return {dotted} - {""}

    @cache  # noqa: B019 - one in a process
    def follow(self, test: str) -> frozenset[str]:
        """Return the modules and folders that a test reaches."""
        seen = {test}
        while True:
            seen = self._close(seen)
            if not seen & {APP, PROGRAM}:
                return frozenset(seen)
            named = set()
            for name in seen:
                # Commands are named by tests, and by modules that start the program.
                if name.startswith(("tests.", "benchmarks.")) or PROGRAM in self.edges.get(
                    name, ()
                ):
                    named |= self._find_commands(name)
            if named <= seen:
                return frozenset(seen)
            seen |= named

    def _close(self, seen: set[str]) -> set[str]:
        todo, seen = list(seen), set(seen)
        while todo:
            for one in self.edges.get(todo.pop(), set()) - seen:
                seen.add(one)
                todo.append(one)
        return seen

    def _find_commands(self, name: str) -> set[str]:
        """Return the modules of the commands that a module's texts begin with."""
        source, table = self.sources[name], self.sources[APP].commands
        words = {word for text in source.texts for word in text.split()[:2]}
        if source.names & {"COMMANDS", "get_command", "list_commands"}:
            words = {*table}
        return {f"pyevm_agents.cli.{module}" for word, module in table.items() if word in words}

    def reads_all(self, test: str) -> bool:
        """Return whether a test reads all of the product."""
        return bool(self.sources[test].names & READERS)

    def rooms(self) -> list[str]:
        """Return the names of all rooms."""
        return sorted({get_room(name) for name in self.files} - {"tests"} | set(DATA))

    def select(self, changed: set[str]) -> list[str]:
        """Return the test files that a change in some rooms or test modules can alter."""

        def is_altered(test: str) -> bool:
            if self.reads_all(test):
                return True
            return any(one in changed or get_room(one) in changed for one in self.follow(test))

        return [test for test in self.tests if is_altered(test)]


def get_room(name: str) -> str:
    """Return the room of a module or folder."""
    first, _, rest = name.partition(".")
    return rest.partition(".")[0] or "pyevm_agents" if first == "pyevm_agents" else first


def read_changes(base: str) -> list[str]:
    """Return the files that differ from a revision's common ancestor, untracked ones included."""
    try:
        ancestor = read_git("merge-base", base, "HEAD").strip()
    except subprocess.CalledProcessError:
        sys.exit(f"revision {base}: must share a commit with HEAD; give another, such as HEAD~1")
    names = read_git("diff", "--name-only", "-z", "--no-renames", ancestor)
    names += read_git("ls-files", "-z", "--others", "--exclude-standard")
    return [name for name in names.split("\0") if name]


def read_git(*words: str) -> str:
    """Return the output of a Git command."""
    command = ["git", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def find_changed(names: Sequence[str]) -> set[str] | None:
    """Return the rooms and the test modules of changed files; None if every test can be altered."""
    changed = set()
    for name in names:
        top, _, rest = name.partition("/")
        # Users of a deleted module no longer reach anything by the name.
        is_deleted = name.endswith(".py") and not (ROOT / name).exists()
        if name in EVERYTHING or is_deleted:
            return None
        if top == "tests":
            changed |= find_tested(Path(name))
        elif top == "pyevm_agents":
            changed.add(Path(rest).parts[0].removesuffix(".py").replace("__init__", top))
        elif rest and top in {*PACKAGES, *DATA}:
            changed.add(top)
        else:
            changed.add("docs")  # README.md and the like
    return changed


def find_tested(file: Path) -> set[str]:
    """Return the test modules that a changed file below tests/ can alter.

    A file that is no module, such as a cassette, alters the modules of the nearest folder with
    tests, and the modules of tests that name the file or that folder.
    """
    if file.suffix == ".py":
        return {name_module(ROOT / file)}
    above = [one for one in (ROOT / file).parents if one.is_relative_to(ROOT / "tests")]
    nearest = next(one for one in above if list(one.glob("test_*.py")))
    named = re.compile(rf"""["/](?:{re.escape(nearest.name)}|{re.escape(file.name)})["/]""")
    users = (one for one in (ROOT / "tests").rglob("*.py") if named.search(one.read_text("utf-8")))
    return {name_module(one) for one in (*nearest.rglob("*.py"), *users)}


def build_table(reach: Reach) -> str:
    """Return the Markdown table of the shares of test functions that changes in rooms can alter."""
    shares = defaultdict(list)
    for room, share in measure_shares(reach).items():
        shares[share].append(f"`{room}`")
    rows = [f"| {share} % | {', '.join(rooms)} |" for share, rooms in sorted(shares.items())]
    return "\n".join(["| tests | rooms |", "|---:|---|", *rows])


def measure_shares(reach: Reach) -> dict[str, int]:
    """Return for each room the percentage of the test functions that a change there can alter."""
    counts = {name: reach.sources[name].tests for name in reach.tests}
    total = sum(counts.values())
    return {
        room: round(100 * sum(counts[name] for name in reach.select({room})) / total)
        for room in reach.rooms()
    }


def may_be_slow(file: str) -> bool:
    """Return whether a test file may have slow tests.

    The mark is in the file, in a module of tests that the file imports, or in a conftest.
    """
    path = ROOT / file
    text = path.read_text(encoding="utf-8")
    read = [ROOT / f"{name.replace('.', '/')}.py" for name in TESTS_IMPORT.findall(text)]
    read += [one / "conftest.py" for one in path.parents if ROOT / "tests" in one.parents]
    texts = (one.read_text(encoding="utf-8") for one in read if one.exists())
    return any("mark.slow" in one for one in (text, *texts))


def choose_files(part: str, reach: Reach | None, changed: set[str] | None) -> list[str]:
    """Return the test files of a part that a change can alter; None alters all.

    Without a change the default and the slow part leave out the instruments.
    """
    if reach is not None and changed is not None:
        files = [name.replace(".", "/") + ".py" for name in reach.select(changed)]
    else:
        found = sorted((ROOT / "tests").rglob("test_*.py"))
        files = [one.relative_to(ROOT).as_posix() for one in found]
    if part == "instruments":
        return [one for one in files if one.startswith(INSTRUMENTS)]
    if changed is None:
        files = [one for one in files if not one.startswith(INSTRUMENTS)]
    return [one for one in files if part != "slow" or may_be_slow(one)]


def run_pytest(files: list[str], part: str) -> int:
    """Run the tests of a part in some files; return pytest's exit status."""
    # Slow tests are single: a worker that has none left takes another's.
    dist = "loadfile" if part == "default" else "worksteal"
    options = ["-n", "2", "--dist", dist, "--max-worker-restart", "1", "-m", MARKS[part]]
    command = [sys.executable, "-m", "pytest", *options, *files]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def parse_arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="rooms that changed")
    parser.add_argument("--changed", metavar="BASE", help="changes since a revision, such as main")
    parser.add_argument("--part", choices=MARKS, default="default")
    parser.add_argument("--list", action="store_true", help="print the test files alone")
    parser.add_argument("--table", action="store_true", help="print each room's share of the tests")
    return parser.parse_args()


def main() -> None:
    """Choose the test files and run the tests."""
    arguments = parse_arguments()
    is_chosen = bool(arguments.rooms or arguments.changed or arguments.table)
    reach = Reach() if is_chosen else None
    changed = None
    if reach is not None:
        if unknown := sorted(set(arguments.rooms) - {*reach.rooms()}):
            sys.exit(f"room {unknown[0]}: must be one of {', '.join(reach.rooms())}")
        found = find_changed(read_changes(arguments.changed)) if arguments.changed else set()
        changed = None if found is None else {*arguments.rooms, *found}
    if reach is not None and arguments.table:
        print(build_table(reach))
        return
    files = choose_files(arguments.part, reach, changed)
    if arguments.list or not files:
        print(*(files or ["no test can be altered"]), sep="\n")
        return
    print(f"{len(files)} test files", flush=True)
    status = run_pytest(files, arguments.part)
    # A part may have none of the tests that a change alters.
    sys.exit(0 if is_chosen and status == NO_TESTS else status)


if __name__ == "__main__":
    main()

"""The code of README and docs/testing.md passes unchanged."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from pyevm_agents import testing

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True, scope="module")
def _kit() -> None:
    """Import the kit once: pytester drops a suite's imports, the package caches its names.

    The extensions of onnx and of web3's keyfiles can't be loaded twice in a process.
    """
    import_module("onnx")
    import_module("web3")
    for name in set(testing.HOMES.values()):
        import_module(name)


@pytest.fixture(autouse=True)
def _suite(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")


def block_with(page: str, told: str) -> str:
    blocks = BLOCK.findall((ROOT / page).read_text("utf-8"))
    return str(next(block for block in blocks if told in block))


@pytest.mark.parametrize("page", ["README.md", "docs/testing.md"])
def test_the_first_test_passes(pytester: pytest.Pytester, page: str) -> None:
    pytester.makepyfile(test_clerk=block_with(page, "def test_the_clerk_adds"))
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_what_the_page_says_of_failures_is_so(pytester: pytest.Pytester) -> None:
    page = block_with("docs/testing.md", "def test_the_clerk_adds")
    pytester.makepyfile(test_clerk=page.replace("with_args(amount=5)", "with_args(amount=6)"))
    run = pytester.runpytest_inprocess()
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["E*> 1 SimpleAgent 0x*", "E*Action       CounterTool", "E*Gas  *"])
    pytester.makepyfile(test_clerk=page.replace('use("CounterTool"', 'use("Counter"'))
    run = pytester.runpytest_inprocess()
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*CounterTool(amount:*"])


def test_the_class_for_unittest_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_class=block_with("docs/testing.md", "class ClerkTest"))
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("passage", "tests", "more"),
    [
        ("def counter(module_agent_chain)", 3, ""),
        ("def test_bob_is_paid", 1, ""),
        ("def test_a_post_is_rated", 1, ""),
        ("def shared_chain()", 1, "\n\ndef test_it(chain):\n    chain.deploy('CounterTool')\n"),
    ],
)
def test_an_example_of_the_page_passes(
    pytester: pytest.Pytester, passage: str, tests: int, more: str
) -> None:
    pytester.makepyfile(test_example=block_with("docs/testing.md", passage) + more)
    pytester.runpytest_inprocess().assert_outcomes(passed=tests)


TEST_NAME = re.compile(r"`(?:(tests/[\w/]*)?(test_\w+\.py)(?:::)?)?(test_\w+)?(?:\[[^`]*\])?`")


EXAMPLES = {"docs/testing.md": ["test_clerk.py"]}
"""Files of the reader's, by page."""


def list_test_names(text: str) -> set[tuple[str, str, str]]:
    """Return folder, file and function of each test that a page names; empty if not told."""
    return {found for found in TEST_NAME.findall(text) if any(found)}


def find_unknown_tests(text: str) -> list[str]:
    """Return the tests that a page names and that do not exist."""
    files = {
        path.relative_to(ROOT).as_posix(): path for path in (ROOT / "tests").rglob("test_*.py")
    }
    unknown = []
    for folder, file, function in sorted(list_test_names(text)):
        places = [
            path
            for name, path in files.items()
            if not file or (name == folder + file if folder else path.name == file)
        ]
        if function:
            line = re.compile(rf"^ *(?:async )?def {function}\(", re.MULTILINE)
            places = [path for path in places if line.search(path.read_text("utf-8"))]
        if not places:
            unknown.append(f"{folder}{file} {function}".strip())
    return unknown


def test_every_test_that_a_page_names_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "chain_fixtures/README.md"]
    unknown = {
        page.relative_to(ROOT).as_posix(): missing
        for page in pages
        if (missing := find_unknown_tests(page.read_text("utf-8")))
    }
    assert unknown == EXAMPLES
    council = list_test_names((ROOT / "docs" / "council.md").read_text("utf-8"))
    assert ("", "", "test_reentrancy") in council
    assert ("", "test_disputes.py", "") in council


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("`test_reentrancy`; `test_disputes.py`", []),
        ("`tests/contracts/council/test_attacks.py`", []),
        ("`tests/contracts/council/test_attacks.py::test_reentrancy`", []),
        ("`test_reentrancy_of_nothing`", ["test_reentrancy_of_nothing"]),
        (
            "`test_nothing.py`, `tests/test_attacks.py`",
            ["test_nothing.py", "tests/test_attacks.py"],
        ),
        ("`test_attacks.py::test_disputes`", ["test_attacks.py test_disputes"]),
    ],
)
def test_a_test_that_does_not_exist_is_found(text: str, unknown: list[str]) -> None:
    assert find_unknown_tests(text) == unknown


MODULE_ROW = re.compile(
    r"^\| \[?`((?:pyevm_agents|precompiles)[\w.]*)`(?:\]\([^)]*\))? \| (.+) \|$", re.MULTILINE
)
SUPPORTED = re.compile(r"`([A-Z]\w+|(?:build|inspect|open|read|record|validate|write)_\w+)`")
WITHOUT_NAMES = ("internal", "its module")
"""Beginnings of the rows of rooms that support no name of their own."""


def test_every_name_of_the_public_api_exists() -> None:
    rows = dict(MODULE_ROW.findall((ROOT / "docs/public-api.md").read_text("utf-8")))
    supported = {
        name: import_module(name).__all__ if "`__all__`" in names else SUPPORTED.findall(names)
        for name, names in rows.items()
        if not names.startswith(WITHOUT_NAMES)
    }
    assert {
        f"pyevm_agents.{x}" for x in ("testing", "models", "config", "chain")
    } < supported.keys()
    missing = [
        f"{module}.{name}"
        for module, names in supported.items()
        for name in names
        if not hasattr(import_module(module), name)
    ]
    assert missing == []
    assert all(supported.values())
    for name, names in rows.items():
        if names.startswith("its module"):
            assert any(other.startswith(f"{name}.") for other in supported), name


PACKAGE = ROOT / "pyevm_agents"
ROOMS = {
    path.stem
    for path in PACKAGE.iterdir()
    if (path / "__init__.py").is_file() or (path.suffix == ".py" and path.stem[0] != "_")
} | {"precompiles"}
"""Packages and top modules of the product, by name."""


def list_folders() -> set[str]:
    """Return the folders at the top of the checkout that git tracks and users see."""
    tracked = subprocess.run(
        ["git", "ls-tree", "-d", "--name-only", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in tracked.stdout.split() if name[0] != "."} - {"pyevm_agents"}


def read_page(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def test_every_room_has_a_row_in_the_architecture() -> None:
    places = re.findall(
        r"^\| `(\w+/[\w/.]*)` \| .", read_page("docs/architecture.md"), re.MULTILINE
    )
    rooms = {Path(place).stem for place in places if re.match(r"pyevm_agents/[\w.]+/?$", place)}
    assert rooms == ROOMS - {"precompiles"}
    assert list_folders() <= {place.rstrip("/") for place in places}
    assert [place for place in places if not (ROOT / place).exists()] == []
    assert len(places) == len(set(places))


def test_the_architecture_has_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads(read_page("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = next(each for each in contracts if each.get("containers") == ["pyevm_agents"])[
        "layers"
    ]
    assert "```text\n" + "\n".join(layers) + "\n```\n" in read_page("docs/architecture.md")
    drawn = re.findall(r"<text x[^>]*>([\w]+)</text>", read_page("docs/architecture.svg"))
    assert sorted(drawn) == sorted(ROOMS)


def test_every_room_has_words_in_the_glossary() -> None:
    rows = re.findall(
        r"^\| (.+?) \| .+ \| `(\w+)` \|$", read_page("docs/glossary.md"), re.MULTILINE
    )
    rooms = {room for _, room in rows}
    assert rooms <= ROOMS | list_folders()
    assert rooms >= ROOMS
    words = [re.sub(r"[^a-z0-9 ]", "", word.lower().replace("_", " ")) for word, _ in rows]
    assert words == sorted(words)
    assert len(words) == len(set(words)) == read_page("docs/glossary.md").count("\n| ") - 1


def test_every_room_has_a_row_in_the_public_api() -> None:
    rows = dict(MODULE_ROW.findall(read_page("docs/public-api.md")))
    assert {name.removeprefix("pyevm_agents.") for name in rows if name.count(".") < 2} == ROOMS

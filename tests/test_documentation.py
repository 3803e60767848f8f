"""The documents: the code of the pages runs, and each room of the product has its rows."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tomllib
from contextlib import ExitStack
from functools import cache
from importlib import import_module
from pathlib import Path
from runpy import run_path
from shutil import copyfile
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest
import web3

from pyevm_agents import testing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark import ParameterSet

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)

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


PAGES = [
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md")]
    if page.is_file()
]
EXAMPLES = ROOT / "docs" / "examples"
SUITES = {
    "test_adversary.py": 2,
    "test_assertions.py": 1,
    "test_cassette.py": 1,
    "test_class.py": 1,
    "test_clerk.py": 1,
    "test_days.py": 1,
    "test_faults.py": 1,
    "test_module_chain.py": 3,
    "test_names.py": 1,
    "test_numeric_model.py": 1,
    "test_retrieval.py": 1,
    "test_scripts.py": 1,
    "test_session_chain.py": 1,
    "test_version_1.py": 1,
}
"""Examples that pytest runs, with the number of tests that pass."""

PROGRAMS = {
    "convert_model.py": "",
    "council.py": "[b'yes', True]\n[0.65, 0.65, 0.0]\n",
    "lifecycle.py": "bob-1-run-1 completed\nbob-2-run-1 completed\n",
    "lyon.py": "Lyon\n",
    "numeric_client.py": "[981]\n",
    "node_without_server.py": "",
    "numeric_files.py": "",
    "open_node.py": "Done. DeployTool: Successfully deployed\n",
    "plain_node.py": "5 0\n",
    "recorded_chain.py": "",
    "token_treasury.py": "--agent payer=0x0165878A594ca255338adfa4d48449f69242Eb8F --treasury "
    "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512\n",
    "verdict.py": '{"answer": "Paris", "winners": ["0xA"], "reasoning": "Lyon is another city."}\n',
    "web3_client.py": "1 ['DeployTool', 'Deposited.']\n",
}
"""Examples that are programs, with their output."""

SLOW = {
    "convert_model.py",
    "open_node.py",
    "test_adversary.py",
    "test_days.py",
    "test_faults.py",
    "test_scripts.py",
    "token_treasury.py",
}
"""Examples that take more than 1.5 seconds."""

INPUTS = {
    "lyon.py": {"query": "Which city is the capital of France?"},
    "verdict.py": {
        "answers": [{"agent": "0xA", "answer": "Paris"}, {"agent": "0xB", "answer": "Lyon"}]
    },
}
"""Requests in JSON that programs read."""


def mark_examples(names: Iterable[str]) -> list[ParameterSet]:
    """Return names of examples as parameters, the slow ones marked."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in sorted(names)
    ]


def read_example(name: str) -> str:
    return (EXAMPLES / name).read_text("utf-8")


def list_blocks() -> dict[str, list[str]]:
    """Return the blocks of Python by the page that has them."""
    found = {page.relative_to(ROOT).as_posix(): page.read_text("utf-8") for page in PAGES}
    blocks = {
        page: [dedent(block) for block in BLOCK.findall(text)] for page, text in found.items()
    }
    return {page: found for page, found in blocks.items() if found}


def test_every_block_of_python_is_a_part_of_an_example() -> None:
    examples = {name: read_example(name) for name in {*SUITES, *PROGRAMS}}
    assert {path.name for path in EXAMPLES.glob("*.py")} == examples.keys()
    uses = {
        (page, block): {
            name
            for name, text in examples.items()
            if any(indent(block, " " * depth) in text for depth in (0, 4))
        }
        for page, blocks in list_blocks().items()
        for block in blocks
    }
    assert [key for key, names in uses.items() if not names] == []
    assert set().union(*uses.values()) == examples.keys()


@pytest.mark.parametrize("name", mark_examples(SUITES))
def test_the_suites_of_the_pages_pass(pytester: pytest.Pytester, name: str) -> None:
    text = read_example(name).replace("max_examples=300", "max_examples=10")
    pytester.makepyfile(**{Path(name).stem: text})
    cassette = ROOT / "tests/examples/cassettes/test_cassette"
    (recorded,) = cassette.glob("*.json")
    pytester.mkdir("cassettes").joinpath("test_cassette").mkdir()
    copyfile(recorded, pytester.path / "cassettes/test_cassette/test_the_model_deposits.json")
    pytester.runpytest_inprocess().assert_outcomes(passed=SUITES[name])


@pytest.mark.parametrize("name", mark_examples(PROGRAMS))
def test_the_programs_of_the_pages_print_what_the_pages_show(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run a program in a folder of its own, which has the checkout's recorded chains."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain_fixtures").symlink_to(ROOT / "chain_fixtures")
    risk = ROOT / "pyevm_agents/models/numeric/files/risk.onnx"
    (tmp_path / "trend.onnx").symlink_to(risk)
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(INPUTS.get(name))))
    with ExitStack() as stack:
        if name in {"web3_client.py", "numeric_client.py"}:
            chain = stack.enter_context(testing.AgentChain(numeric_models=["risk"]))
            deploy_wallet(chain)
            monkeypatch.setattr(web3, "HTTPProvider", lambda _: chain.w3.provider)
            monkeypatch.setattr(web3.Web3, "HTTPProvider", lambda _: chain.w3.provider)
        run_path(str(EXAMPLES / name), run_name="__main__")
    assert capsys.readouterr().out == PROGRAMS[name]


def deploy_wallet(chain: testing.AgentChain) -> None:
    """Deploy a wallet agent as the fourth contract of a chain, and fund its account."""
    token = chain.deploy("DemoToken", "USD Coin", "USDC", 6, 10**12)
    pool, information = chain.deploy("LiquidityPool"), chain.deploy("TokenInfoTool")
    executor = "0x0000000000000000000000000000000000000019"
    prompt = f"You manage a wallet.\nUSDC = {token.address}"
    agent = chain.deploy("WalletAgent", executor, "default", pool, prompt, information)
    token.functions.transfer(agent.functions.account().call(), 10**9).transact()
    deposit = testing.use("DeployTool", asset=token, amount=10)
    chain.model.script(deposit, testing.answer("Deposited."))


def test_what_the_page_says_of_failures_is_so(pytester: pytest.Pytester) -> None:
    page = read_example("test_clerk.py")
    pytester.makepyfile(test_clerk=page.replace("with_args(amount=5)", "with_args(amount=6)"))
    run = pytester.runpytest_inprocess()
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["E*> 1 SimpleAgent 0x*", "E*Action       CounterTool", "E*Gas  *"])
    pytester.makepyfile(test_clerk=page.replace('use("CounterTool"', 'use("Counter"'))
    run = pytester.runpytest_inprocess()
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*CounterTool(amount:*"])


TEST_NAME = re.compile(r"`(?:(tests/[\w/]*)?(test_\w+\.py)(?:::)?)?(test_\w+)?(?:\[[^`]*\])?`")


READERS_FILES = {"docs/testing.md": ["test_clerk.py"]}
"""Files of the reader's, by page."""


def list_test_names(text: str) -> set[tuple[str, str, str]]:
    """Return folder, file and function of each test that a page names; empty if not told."""
    return {found for found in TEST_NAME.findall(text) if any(found)}


@cache
def list_test_functions() -> dict[str, frozenset[str]]:
    """Return the names of functions by the path of the test file."""
    define = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)
    return {
        path.relative_to(ROOT).as_posix(): frozenset(define.findall(path.read_text("utf-8")))
        for path in (ROOT / "tests").rglob("test_*.py")
    }


def find_unknown_tests(text: str) -> list[str]:
    """Return the tests that a page names and that do not exist."""
    files = list_test_functions()
    unknown = []
    for folder, file, function in sorted(list_test_names(text)):
        places = [
            functions
            for name, functions in files.items()
            if not file or (name == folder + file if folder else Path(name).name == file)
        ]
        if not any(not function or function in functions for functions in places):
            unknown.append(f"{folder}{file} {function}".strip())
    return unknown


def test_every_test_that_a_page_names_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "chain_fixtures/README.md"]
    unknown = {
        page.relative_to(ROOT).as_posix(): missing
        for page in pages
        if (missing := find_unknown_tests(page.read_text("utf-8")))
    }
    assert unknown == READERS_FILES
    council = list_test_names((ROOT / "docs/council-reference.md").read_text("utf-8"))
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

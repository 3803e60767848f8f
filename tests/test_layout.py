"""Layout of the product: few modules at the top, no fragments, descriptive names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache

import grimp

from tests.checkout import PRODUCT, ROOT, product_modules

MAX_TOP_MODULES = 9
MIN_LINES = 40
PARTICIPLE = re.compile(
    r"^_*[a-z]+(ed|en|told|said|made|done|found|shown|begun|kept|heard|given|spoken|known)$"
)
WIDTHS = {"WORD_BYTES", "SELECTOR_BYTES", "ADDRESS_BYTES", "HASH_BYTES", "FIRST_V"}
"""Widths of the EVM, which `precompiles.spec` defines."""

SMALL_MODULES: dict[str, str] = {}
"""Modules with few lines and one importer, with the reason why each is a file of its own."""
PARTICIPLES = {
    "answered": "an expectation, read after `assert_agent(receipt)`",
    "changed": "a property: the changes of a comparison",
    "decided": "a property: the text of a step that the rules decide",
    "failed": "an expectation, read after `assert_agent(receipt)`",
    "isolated": "a context manager, read after `with`",
    "listen": "a verb",
    "observed": "an expectation, read after `assert_agent(receipt)`",
    "open": "a verb",
    "succeeded": "an expectation, read after `assert_agent(receipt)`",
    "unchecked": "a step of a script, beside `answer` and `use`",
    "used": "an expectation, read after `assert_agent(receipt)`",
    "when": "a conjunction: the texts for a pattern",
}
"""Names of public functions that look like participles, with the reason of each."""


@cache
def syntax_trees() -> dict[str, ast.Module]:
    """Return the product's syntax trees by the names of their modules."""
    return {name: ast.parse(file.read_text()) for name, file in product_modules().items()}


def public(name: str) -> bool:
    """Return whether a name is public."""
    return not name.startswith("_")


def test_few_modules_are_at_the_top() -> None:
    modules = sorted(file.name for file in (ROOT / "pyevm_agents").glob("*.py"))
    assert len(modules) <= MAX_TOP_MODULES, modules


def test_no_module_is_a_fragment_of_its_one_importer() -> None:
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)
    fragments = {
        name
        for name, file in product_modules().items()
        if name in graph.modules
        and len(file.read_text().splitlines()) < MIN_LINES
        and len(graph.find_modules_that_directly_import(name)) == 1
    }
    assert fragments == SMALL_MODULES.keys()


def test_no_imports_of_the_benchmarks_form_a_circle() -> None:
    # import-linter checks the product alone.
    graph = grimp.build_graph("benchmarks", cache_dir=None)
    packages = {name.rpartition(".")[0] for name in graph.modules} - {""}
    assert packages >= {"benchmarks", "benchmarks.requests"}
    circles = set().union(*map(graph.nominate_cycle_breakers, packages))
    assert circles == set()


def test_no_two_public_classes_share_a_name() -> None:
    modules = defaultdict(list)
    for module, tree in syntax_trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and public(node.name):
                modules[node.name].append(module)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_no_public_function_is_named_by_a_participle() -> None:
    named = {
        node.name
        for tree in syntax_trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and public(node.name)
        and PARTICIPLE.match(node.name)
    }
    assert named == PARTICIPLES.keys()


def test_widths_of_the_evm_are_defined_once() -> None:
    modules = defaultdict(set)
    for module, tree in syntax_trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                modules[node.id.lstrip("_")].add(module)
    assert {name: modules[name] for name in WIDTHS} == {
        name: {"precompiles.spec"} for name in WIDTHS
    }

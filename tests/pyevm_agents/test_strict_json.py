"""Strict JSON: no text crashes the parser, each has one meaning, and no other parser is used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.strict_json import MAX_DEPTH, parse_json, require_shallow
from tests.checkout import product_modules

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)

PARSERS = {"loads", "load", "raw_decode", "JSONDecoder", "model_validate_json", "validate_json"}
"""Functions that parse JSON; those of orjson count levels themselves."""

OWN_TEXTS = {
    "precompiles.react": "nested lists are refused before; the rest are strings",
    "precompiles.short_format.shown_calls": "a value that the rules wrote",
    "precompiles.short_format.step": "a step of the history, below the recursion limit of the EVM",
    "precompiles.typed_texts": "one string",
    "pyevm_agents.abi.bundled": "files of the package",
    "pyevm_agents.bench.evm.anvil": "a peer that the benchmark started",
    "pyevm_agents.chain.inference_log": "rows that the chain wrote",
    "pyevm_agents.cli.demo.bill_runs": "a log that the command wrote",
    "pyevm_agents.council.store": "rows that the participant wrote",
    "pyevm_agents.lifecycle.session": "a copy of a value",
    "pyevm_agents.manifests.documents": "schemas of the package",
    "pyevm_agents.models.engine_messages": "messages of the engine's own process",
    "pyevm_agents.models.fakes.parsed_request": "literals of a grammar",
    "pyevm_agents.models.llama.identity": "a cached file with its checksum",
    "pyevm_agents.models.store.rows": "rows that the store wrote",
    "pyevm_agents.oracle.run_simulation": "what the precompile wrote",
    "pyevm_agents.recordings.codec": "a config that is written again",
    "pyevm_agents.rpc.codec": "what orjson has parsed, within the limit of levels",
    "pyevm_agents.rpc.run_review": "what the precompile wrote",
    "pyevm_agents.scenarios.loan.report": "what the precompile wrote",
    "pyevm_agents.scenarios.report": "what the precompile wrote",
    "pyevm_agents.scenarios.swap.world": "files of the package",
    "pyevm_agents.strict_json": "the one door",
    "pyevm_agents.testing.matching": "what the precompile wrote",
    "pyevm_agents.testing.strategies": "literals of a grammar",
}
"""Modules that may use a parser that counts no levels, and whose the text is."""


def find_parsers(tree: ast.Module) -> Iterator[str]:
    """Yield the names of parsers that count no levels, wherever a module uses one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in PARSERS:
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner == "json" or node.attr not in {"load", "loads"}:
                yield node.attr
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "json"  # Of a response or a request.
        ):
            yield "json()"
        elif isinstance(node, ast.ImportFrom) and node.module == "json":
            yield from (each.name for each in node.names if each.name in PARSERS)


def test_no_other_parser_reads_texts_of_strangers() -> None:
    found = {
        name
        for name, file in product_modules().items()
        if any(find_parsers(ast.parse(file.read_text())))
    }
    assert found == OWN_TEXTS.keys()


@given(VALUES)
def test_a_value_is_parsed_as_json_does(value: object) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.text(alphabet='[]{}",:\\a1 \n\ud800', max_size=200) | st.text())
def test_any_text_is_parsed_as_json_does_or_refused(text: str) -> None:
    try:
        value = parse_json(text)
    except ConfigError:
        return
    assert json.loads(text) == value


@given(
    opening=st.sampled_from(["[", '{"a":', '["]",', '{"\\"}":', '[1,{"b":']),
    levels=st.integers(1, 4 * MAX_DEPTH),
    is_closed=st.booleans(),
)
def test_levels_are_counted_outside_of_strings(opening: str, levels: int, is_closed: bool) -> None:
    depth = levels * (2 if "{" in opening[1:] else 1)
    text = "[" + "[]," * 1_000 + opening * levels + "1" + "]" * levels * is_closed
    if depth + 1 > MAX_DEPTH:
        with pytest.raises(ConfigError, match="must nest at most"):
            require_shallow(text)
    else:
        assert require_shallow(text) == text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_no_other_encoding_hides_levels(encoding: str) -> None:
    with pytest.raises(ConfigError, match=r"must be UTF-8|must not be null"):
        require_shallow(("[" * 100_000).encode(encoding))


def test_no_nesting_ends_a_process_without_a_recursion_limit() -> None:
    program = """
import sys
from pyevm_agents.errors import ConfigError
from pyevm_agents.strict_json import parse_json
sys.setrecursionlimit(10**9)
for opening in ("[", '{"a":', '{"a":[1,', '["\\\\"",'):
    for text in (opening * 500_000, (opening * 500_000).encode()):
        try:
            parse_json(text)
        except ConfigError:
            print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, [b"refused"] * 8), done.stderr

"""`pyevm-agents store`: figures, clearing, and computing a sample again with the real model."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from precompiles.language_model import GenerationRequest, Segment
from pyevm_agents.cache_folder import get_generations_path
from pyevm_agents.cli.app import main
from pyevm_agents.cli.store import find_flaws
from pyevm_agents.models import CachingModel, LlamaModel, Store
from pyevm_agents.models.store.rows import encode
from pyevm_agents.models.store.statistics import read_generation, sample_keys
from tests.scored_requests import make_scored_request
from tests.stored_generations import generation, question

if TYPE_CHECKING:
    from click.testing import Result

GRAMMAR = "start: /[a-z ]{5,12}/"


pytestmark = pytest.mark.usefixtures("reduced_default")


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with three generations, one of them cut."""
    path = tmp_path / "store.sqlite3"
    with Store(path) as store:
        for number, length in ((1, None), (2, None), (3, 4)):
            store.put(question(number), generation(number, length=length))
            store.count("misses")
        store.record_use(question(1).compute_key())
    return path


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, reduced_default: Path) -> Path:
    """A store with generations of the default model, one of them cut, and one of another model."""
    path = tmp_path_factory.mktemp("real") / "store.sqlite3"
    with Store(path) as store, LlamaModel(reduced_default, threads=1) as llama:
        facts = llama.profile_facts
        model = CachingModel(llama, digest=facts.digest, fingerprint=facts.fingerprint, store=store)
        for text, limit in (("The sky", 30), ("A dog", 30), ("One, two", 2)):
            segments = (Segment(text=text),)
            model.generate(
                GenerationRequest(
                    segments=segments,
                    prompt_tokens=llama.tokenize(segments),
                    grammar=GRAMMAR,
                    max_tokens=limit,
                )
            )
        asked = question(1)
        store.put(asked, generation(1))
        store.put(replace(asked, digest=facts.digest), generation(1))
    return path


def test_the_default_path_is_in_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    for value, folder in (("/cache", "/cache"), ("", "/home/somebody/.cache")):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert get_generations_path() == Path(folder, "pyevm-agents/generations.sqlite3")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert get_generations_path() == Path("/home/somebody/.cache/pyevm-agents/generations.sqlite3")


def test_info_tells_size_contents_and_hit_rate(path: Path) -> None:
    result = invoke("store", "info", "--store", path)
    assert result.exit_code == 0
    for text in (
        str(path),
        "256.00 MiB",
        "2 complete, 1 cut by a limit",
        "25.0 %",
        "3 of model sha256",
    ):
        assert text in " ".join(result.stdout.split()), text
    form = json.loads(invoke("store", "info", "--json", "--store", path).stdout)
    assert form["generations"] == {"complete": 2, "incomplete": 1}
    assert form["hitRate"] == 0.25
    assert form["counts"] == {"hits": 1, "misses": 3}
    assert form["fileBytes"] == path.stat().st_size
    assert form["oldest"] <= form["newest"]
    (model,) = form["models"]
    assert model == {"sha256": "01" * 32, "profile": {"canary": "ab"}} | {
        "complete": 2,
        "incomplete": 1,
    }


def test_an_empty_store_has_no_rate_and_no_dates(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    Store(path).close()
    form = json.loads(invoke("store", "info", "--json", "--store", path).stdout)
    assert (form["hitRate"], form["oldest"], form["newest"]) == (None, None, None)
    printed = invoke("store", "info", "--store", path).stdout
    assert "no requests yet" in printed
    assert "None" not in printed


@pytest.mark.parametrize("command", ["info", "clear", "verify"])
def test_a_store_that_is_missing_is_not_made(tmp_path: Path, command: str) -> None:
    result = invoke("store", command, "--store", tmp_path / "none.sqlite3")
    assert result.exit_code == 2
    assert "does not exist; create one with `pyevm-agents demo`" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["info", "clear", "verify"])
def test_an_empty_file_is_not_made_a_store(tmp_path: Path, command: str) -> None:
    file = tmp_path / "empty"
    file.touch()
    result = invoke("store", command, "--store", file)
    assert result.exit_code == 2
    assert "is empty; pass another file" in " ".join(result.stderr.split())
    assert file.stat().st_size == 0


def test_a_folder_that_is_missing_is_not_made(tmp_path: Path) -> None:
    result = invoke("demo", "--store", tmp_path / "none" / "store.sqlite3")
    assert result.exit_code == 2
    assert "does not exist; create it first" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_can_not_be_cleared_is_told_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    result = invoke("store", "clear", "--yes", "--store", path)
    assert result.exit_code == 2
    assert result.stderr.count("can only be read") == 1
    assert "goes on" not in result.stderr
    assert "Warning" in invoke("store", "info", "--store", path).stderr


@pytest.mark.parametrize("arguments", [["store", "info"], ["store", "clear", "--yes"], ["demo"]])
def test_a_file_that_is_no_store_is_left_alone(tmp_path: Path, arguments: list[str]) -> None:
    file = tmp_path / "precious.txt"
    file.write_text("precious")
    result = invoke(*arguments, "--store", file)
    assert result.exit_code == 2
    assert "not a generation store, or a damaged one" in " ".join(result.stderr.split())
    assert file.read_text() == "precious"


def test_nobody_to_ask_nothing_cleared(path: Path) -> None:
    result = invoke("store", "clear", "--store", path)
    assert result.exit_code == 2
    assert "pass --yes to remove 3 generations" in " ".join(result.stderr.split())
    assert "3 of model sha256" in invoke("store", "info", "--store", path).stdout


def test_yes_clears(path: Path) -> None:
    result = invoke("store", "clear", "--yes", "--store", path)
    assert (result.exit_code, result.stdout) == (0, "Removed 3 generations.\n")
    assert "0 complete, 0 cut" in invoke("store", "info", "--store", path).stdout


@pytest.mark.parametrize(("answer", "left"), [("y\n", 0), ("n\n", 3)])
def test_a_person_is_asked(
    path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: int
) -> None:
    module = import_module("pyevm_agents.cli.store")  # As an attribute, it is the command.
    monkeypatch.setattr(module, "is_interactive", lambda: True)
    result = CliRunner().invoke(main, ["store", "clear", "--store", str(path)], input=answer)
    assert result.exit_code == (0 if left == 0 else 1)
    assert "Remove 3 generations from" in result.stdout
    form = json.loads(invoke("store", "info", "--json", "--store", path).stdout)
    assert sum(form["generations"].values()) == left


# -- verify, with the real model -- #


@pytest.mark.slow
def test_what_the_model_said_it_says_again(real: Path) -> None:
    result = invoke("store", "verify", "--store", real)
    assert result.exit_code == 0, result.output
    assert "3 of 3 generations verified." in result.stdout
    assert "Skipped: 1 of another model." in result.stdout
    assert "Skipped: 1 of another engine's profile." in result.stdout
    assert "3 of 3: computing" in result.stderr


@pytest.mark.slow
def test_a_sample_is_as_large_as_asked_for(real: Path) -> None:
    result = invoke("store", "verify", "--sample", 2, "--seed", 5, "--store", real)
    assert "2 of 2 generations verified." in result.stdout


def lie(path: Path) -> tuple[bytes, int]:
    """Change the second token of a generation, checksum and all; return its key and the token."""
    with Store(path) as store, closing(sqlite3.connect(path)) as connection, connection:
        (key,) = connection.execute(
            "SELECT min(key) FROM generations JOIN profiles ON profiles.id = profile "
            "WHERE fingerprint LIKE '%engine%'"
        ).fetchone()
        found = read_generation(store, key)
        assert found is not None
        first, old, *rest = found.generation.tokens
        wrong = replace(found.generation, tokens=(first, old + 1, *rest))
        fields = encode(key, found.question.prompt_tokens, wrong)
        connection.execute(
            "UPDATE generations SET tokens = ?, checksum = ? WHERE key = ?",
            (fields[1], fields[-1], key),
        )
    return key, old


@pytest.mark.slow
def test_one_other_token_is_found_and_named(real: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(real.read_bytes())
    key, old = lie(path)
    result = invoke("store", "verify", "--store", path)
    assert result.exit_code == 1
    assert "2 of 3 generations verified." in result.stdout
    assert (
        f"{key.hex()}: token 1 is {old + 1} in the store and {old} from the model" in result.stdout
    )


@pytest.mark.slow
def test_a_scored_generation_is_computed_again_with_its_scores(
    reduced_default: Path, tmp_path: Path
) -> None:
    with (
        Store(tmp_path / "store.sqlite3") as store,
        LlamaModel(reduced_default, threads=1) as llama,
    ):
        facts = llama.profile_facts
        model = CachingModel(llama, digest=facts.digest, fingerprint=facts.fingerprint, store=store)
        generation = model.generate(make_scored_request(llama, "Pay 25 to alice."))
        (key,) = sample_keys(store, facts.digest, facts.fingerprint, count=None, seed=1)
        assert list(find_flaws(store, key, llama)) == []
        found = read_generation(store, key)
        assert found is not None
        assert generation.confidence is not None
        other = replace(generation.confidence, surprisal=generation.confidence.surprisal + 1)
        with Store(tmp_path / "wrong.sqlite3") as wrong:
            wrong.put(found.question, replace(generation, confidence=other))
            (flaw,) = find_flaws(wrong, key, llama)
        assert flaw.startswith(f"confidence is {other!r} in the store")


def test_a_damaged_row_is_found_and_named(real: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(real.read_bytes())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE grammars SET source = x'00'")
    result = invoke("store", "verify", "--store", path)
    assert result.exit_code == 1
    assert result.stdout.count("the row is damaged") == 3

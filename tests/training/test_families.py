"""Families in files: each rule of the format, the committed split, and runs of every wording."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from precompiles.decoding_rules import SHORT_FORMAT
from precompiles.react import GrammarViolationError
from tests.byte_model import PROFILE
from training.agents import make_agent
from training.compose import question
from training.kinds.families import (
    FOLDER,
    HELD_OUT_WORDING_KIND,
    WORDING_KINDS,
    FamilyError,
    compute_split_digest,
    is_held_out,
    main,
    read_families,
)
from training.requests import make_request, wordings
from training.runs import turns
from training.tasks import Task, TaskStep

if TYPE_CHECKING:
    from pathlib import Path

    from training.patterns import Kind, Pattern, Wording

SHORT = replace(PROFILE, decoding=(("short_format", SHORT_FORMAT),))

LEAST_FAMILIES = 200
TRIES = 60

SHARE, TERSE_SHARE = 0.9, 0.99
"""Bounds of the share of wordings without a run in the short format, whose version 2 is stricter
than what these wordings were written for."""

FAMILY = """
[tea]
roles = ["You make tea."]
chains = [["stock", "brew", "see how much tea is left", "brew all of it"]]

[tea.values]
kind = ["green", "black", "white", "mint", "rose", "chai"]

[tea.brew]
names = "brew tea / boil / make pot"
descriptions = ["Brews tea", "Makes a pot"]
parameters = ["amount: cups | number of cups"]
orders = ["brew {amount}", "boil {amount}", "make {amount}", "pot of {amount}"]
synonyms = ["cook {amount}", "heat {amount}", "prepare {amount}", "infuse {amount}"]
idioms = ["put {amount} on", "pour {amount}", "fix {amount}"]
indirect = ["I want {amount}.", "We need {amount}."]
terse = ["{amount}!", "x {amount}"]

[tea.stock]
names = "stock / supply / leaves left"
descriptions = ["Returns the stock", "Tells what is left"]
orders = ["show stock", "tell supply", "count leaves", "list leaves"]
synonyms = ["look inside", "check reserves", "inspect shelf", "peek inside"]
questions = ["How much?", "Is there any?", "Enough?", "Any?"]
terse = ["left?", "how many"]
fact = "n"
replies = ["{n} left"]

[tea.clean]
names = "clean / wash / rinse"
descriptions = ["Cleans the pot", "Washes it"]
parameters = ["kind: kind of tea | which tea"]
orders = ["clean {kind}", "wash {kind}", "rinse {kind}", "scrub {kind}"]
synonyms = ["wipe {kind}", "polish {kind}", "shine {kind}", "dust {kind}"]
idioms = ["make {kind} shine", "get {kind} off", "rid of {kind}"]
indirect = ["{kind} is dirty.", "It smells of {kind}."]
terse = ["{kind} off", "{kind} -"]
"""


def check(folder: Path, old: str = "", new: str = "") -> list[str]:
    """Return the problems of the family with a replacement."""
    assert not old or FAMILY.count(old) == 1, old
    (folder / "tea.toml").write_text(FAMILY.replace(old, new) if old else FAMILY)
    try:
        read_families(folder)
    except FamilyError as error:
        return str(error).splitlines()
    return []


@pytest.fixture(scope="module")
def kinds() -> tuple[Kind, ...]:
    return read_families()


def test_a_sound_family_is_read(tmp_path: Path) -> None:
    assert check(tmp_path) == []
    (kind,) = read_families(tmp_path)
    assert (kind.name, kind.roles) == ("tea", ("You make tea.",))
    brew, stock, clean = kind.patterns
    assert [one.key for one in kind.patterns] == ["brew", "stock", "clean"]
    assert (brew.is_action, stock.is_action, stock.fact) == (True, False, "n")
    assert clean.values["kind"] == ("green", "black", "white", "mint", "rose", "chai")
    assert [one.text for one in brew.wordings if one.is_held_out] == [
        "pot of {amount}", "infuse {amount}", "{amount}!", "x {amount}",
    ]  # fmt: skip
    assert {one.kind for one in stock.wordings} == {"orders", "synonyms", "questions", "terse"}
    (chain,) = kind.chains
    assert (chain.first, chain.second) == ("stock", "brew")
    assert chain.text == "see how much tea is left and brew all of it"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('roles = ["You make tea."]', "roles = []", "tea: no roles"),
        (', "chai"]', "]", "tea: slot kind has 5 texts, at least 6"),
        (', "chai"]', ', "rose"]', "tea: slot kind has 5 texts, at least 6"),
        ('"stock", "brew", "see', '"stock", "boil", "see', "must be two keys of tools, then"),
        (', "brew all of it"]', "]", "must be two keys of tools, then two clauses"),
        ('[["stock", "brew"', '[["brew", "stock"', "the fact None of brew must be one of id, n"),
        (
            'names = "stock',
            'parameters = ["id: pot | which pot"]\nnames = "stock',
            "the clause of stock must have ['id']",
        ),
        ('"amount: cups |', '"id: cups |', "brew has neither a slot n nor an amount"),
        ("brew tea / boil / make pot", "brew / boil", "tea.brew: at least 3 names, separated"),
        ('["Brews tea", "Makes a pot"]', '["Brews tea"]', "tea.brew: at least 2 descriptions"),
        ("[tea.brew]", "[tea.brew]\nmood = 1", "tea.brew: unknown fields ['mood']"),
        ('"amount: cups |', '"amount float: cups |', "unknown type 'float' in 'amount float:"),
        ('"kind: kind of', '"taste: kind of', "slot 'taste' of 'taste: kind of tea | which tea'"),
        (
            "amount: cups |",
            "amount: cups! |",
            "names of 'amount: cups! | number of cups' are words",
        ),
        (" | number of cups", "", "'amount: cups' has no description"),
        (', "pot of {amount}"', "", "tea.brew: 3 orders, at least 4"),
        (', "infuse {amount}"', "", "tea.brew: 3 synonyms, at least 4"),
        (', "fix {amount}"', "", "tea.brew: 2 idioms, at least 3"),
        (', "We need {amount}."', "", "tea.brew: 1 indirect, at least 2"),
        (', "x {amount}"', "", "tea.brew: 1 terse, at least 2"),
        (', "Any?"', "", "tea.stock: 3 questions, at least 4"),
        ('"boil {amount}"', '"brew {amount}"', "wording 'brew {amount}' occurs 2 times"),
        ('"boil {amount}"', '"boil {amount}."', "order 'boil {amount}.' ends like a sentence"),
        ('"We need {amount}."', '"We need {amount}"', "must end in a full stop or a question mark"),
        ('"Enough?"', '"Enough"', "questions: 'Enough' must end in a full stop"),
        ('"boil {amount}"', '"boil"', "wording 'boil' has [], parameters are ['amount']"),
        ('"boil {amount}"', '"boil {cups}"', "wording 'boil {cups}' has ['cups'], parameters are"),
        (
            '"boil {amount}"',
            '{text = "boil {amount}", amount = 2}',
            "wording 'boil {amount}' has ['amount'], parameters are ['amount']",
        ),
        (
            '"check reserves"',
            '"check leaves"',
            "synonym 'check leaves' shares ['leave'] with names or descriptions",
        ),
        ('["{n} left"]', '["some left"]', "tea.stock: no reply has {n}"),
        ('["{n} left"]', '["{n} of {kind}"]', "slot kind is no parameter"),
        ('fact = "n"', 'fact = "mood"', "tea.stock: no reply has {mood}"),
    ],
)
def test_a_broken_rule_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    problems = check(tmp_path, old, new)
    assert any(problem in one for one in problems), problems
    assert all(one.startswith("tea.toml: tea") for one in problems)


@pytest.mark.parametrize("name", ["Tea", "tea_time", "2tea"])
def test_a_family_is_named_in_lower_case_words(tmp_path: Path, name: str) -> None:
    (tmp_path / "tea.toml").write_text(FAMILY.replace("[tea", f"[{name}"))
    with pytest.raises(FamilyError, match=f"{name}: a family's name is lower-case words"):
        read_families(tmp_path)


def test_a_family_has_three_to_six_tools(tmp_path: Path) -> None:
    start = FAMILY.index("[tea.clean]")
    (tmp_path / "tea.toml").write_text(FAMILY[:start])
    with pytest.raises(FamilyError, match="tea: 2 tools; a family has 3 to 6"):
        read_families(tmp_path)
    more = "".join(FAMILY[start:].replace("tea.clean", f"tea.clean{n}") for n in range(4))
    (tmp_path / "tea.toml").write_text(FAMILY + more)
    with pytest.raises(FamilyError, match="tea: 7 tools; a family has 3 to 6"):
        read_families(tmp_path)


def test_a_family_is_defined_once_and_a_file_is_toml(tmp_path: Path) -> None:
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).write_text(FAMILY)
    with pytest.raises(FamilyError, match=r"two\.toml: family tea is defined twice"):
        read_families(tmp_path)
    (tmp_path / "two.toml").write_text("[tea")
    with pytest.raises(FamilyError, match=r"two\.toml: "):
        read_families(tmp_path)


def test_every_problem_of_every_file_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(2):
        text = FAMILY.replace("tea]", f'"tea {number}"]').replace("[tea.", f'["tea {number}".')
        (tmp_path / f"{number}.toml").write_text(text.replace('"Any?"', '"Enough?"'))
    monkeypatch.setattr("sys.argv", ["families", str(tmp_path)])
    assert main() == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{number}.toml: tea {number}.stock: wording 'Enough?' occurs 2 times"
        for number in range(2)
    ]


def test_the_split_is_the_committed_one(
    kinds: tuple[Kind, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = (FOLDER / "SPLIT").read_text().strip()
    assert compute_split_digest(kinds) == committed
    monkeypatch.setattr("sys.argv", ["families"])
    assert main() == 0
    assert f"split {committed}" in capsys.readouterr().out


def test_the_split_depends_on_each_wording_and_part(tmp_path: Path) -> None:
    digests = set()
    for old, new in (
        ("", ""),
        ('"boil {amount}"', '"simmer {amount}"'),
        ('"boil {amount}", "make {amount}"', '"make {amount}", "boil {amount}"'),
        ("[tea.clean]", "[tea.polish]"),
    ):
        assert check(tmp_path, old, new) == []
        digests.add(compute_split_digest(read_families(tmp_path)))
    (kind,) = read_families(tmp_path)
    digests.add(compute_split_digest([replace(kind, is_held_out=not kind.is_held_out)]))
    assert len(digests) == 5


def test_there_are_enough_families_and_a_fifth_is_held_out(kinds: tuple[Kind, ...]) -> None:
    assert len(kinds) >= LEAST_FAMILIES
    assert [kind.name for kind in kinds] == sorted({kind.name for kind in kinds})
    held_out = [kind for kind in kinds if kind.is_held_out]
    assert all(kind.is_held_out == is_held_out(kind.name) for kind in kinds)
    assert 0.15 < len(held_out) / len(kinds) < 0.27


def test_training_has_no_terse_wording_and_three_of_four_others(kinds: tuple[Kind, ...]) -> None:
    for kind in kinds:
        for pattern in kind.patterns:
            trained = wordings(pattern, measured=False)
            assert HELD_OUT_WORDING_KIND not in {one.kind for one in trained}
            for of in WORDING_KINDS:
                every = [one for one in pattern.wordings if one.kind == of]
                kept = [one for one in trained if one.kind == of]
                expected = 0 if of == HELD_OUT_WORDING_KIND else len(every) - len(every) // 4
                assert len(kept) == expected


def test_the_short_format_has_a_run_for_the_first_orders(kinds: tuple[Kind, ...]) -> None:
    found = Counter(
        can_run(kinds, kind, pattern, pattern.wordings[0])
        for kind in kinds[::12]
        for pattern in kind.patterns
    )
    assert found.total() > 50
    assert found[False] <= found.total() * SHARE


SAMPLED_OF = 4
"""One of this number of wordings is run: the whole takes minutes."""


@pytest.mark.slow
def test_the_short_format_has_a_run_for_most_wordings(kinds: tuple[Kind, ...]) -> None:
    found = Counter(
        (wording.kind == HELD_OUT_WORDING_KIND, can_run(kinds, kind, pattern, wording))
        for kind in kinds
        for pattern in kind.patterns
        for wording in pattern.wordings[len(pattern.key) % SAMPLED_OF :: SAMPLED_OF]
    )
    assert found[False, False] <= (found[False, True] + found[False, False]) * SHARE
    # Notes such as "x3" and "bricks -36" name no number that can be copied.
    assert found[True, False] <= (found[True, True] + found[True, False]) * TERSE_SHARE


def can_run(kinds: tuple[Kind, ...], kind: Kind, pattern: Pattern, wording: Wording) -> bool:
    """Return whether a request in a wording has a run in the short format."""
    rng = random.Random(f"{kind.name} {pattern.key} {wording.text}")  # noqa: S311 - a seed
    agents = (make_agent(kind, kinds, rng) for _ in range(TRIES))
    agent, tool = next((a, t) for a in agents if (t := a.find(pattern.key)) is not None)
    request = make_request(agent, tool, rng, measures=True, text=wording)
    step = TaskStep(
        thought=request.clause,
        tool=tool.tool.name,
        arguments=request.arguments,
        observation=request.reply,
        clause=request.clause,
    )
    task = Task(
        category="one step",
        kind=kind.name,
        is_held_out=False,
        base_prompt=agent.base_prompt,
        tools=tuple(one.tool for one in agent.tools),
        question=question([request], rng),
        steps=(step,),
        thought="",
        answer="",
    )
    try:
        return len(list(turns(task, SHORT))) == len(task.steps) + 1
    except (GrammarViolationError, ValueError):
        return False

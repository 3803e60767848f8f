from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from training.chooser.templates import (
    SMALL_CLASS,
    TemplateError,
    choose_part,
    read_templates,
)

if TYPE_CHECKING:
    from pathlib import Path

LEAST = {
    "wrapper": 330,
    "question": 90,
    "small_talk": 60,
    "others_words": 80,
    "past": 70,
    "negation": 100,
    "draft": 110,
    "hypothetical": 120,
    "withdrawn": 120,
    "condition": 130,
    "time": 90,
    "place_channel": 60,
    "more_than_call": 90,
    "alternative_doubt": 60,
}
"""Least number of templates of each class."""

ACCEPTED = {"wrapper"}
SHIPPED_VARIANTS = {"order", "gerund", "past", "third", "participle"}
PUNCTUATION = re.compile(r"[\s.,;:!?'\"()\u2014\u2026-]+")
HEAD = 'class = "past"\naccepts = false\n'
ONE = '[[template]]\ntext = "{name} {order} on {day}, said {name}"\nvariant = "past"\n'


def read(folder: Path, text: str, name: str = "past.toml") -> None:
    (folder / name).write_text(text)
    read_templates(folder)


def test_a_template_is_filled(tmp_path: Path) -> None:
    (tmp_path / "past.toml").write_text(HEAD + ONE)
    (template,) = read_templates(tmp_path)
    assert (template.kind, template.accepts, template.is_held_out) == ("past", False, False)
    rng = random.Random(1)  # noqa: S311 - a seed of tests
    filled = template.fill("send 5 to bob", rng)
    assert filled is not None
    name, _, rest = filled.partition(" ")
    assert rest.startswith("sent 5 to bob on ")
    assert rest.endswith(f"day, said {name}")
    assert template.fill("in auction 3, bid 5", rng) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("class = [", "past.toml: "),
        (ONE, "class None: must be the file's name, 'past'"),
        ('class = "other"\naccepts = false\n' + ONE, "class 'other': must be the file's name"),
        ('class = "past"\naccepts = "no"\n' + ONE, "accepts 'no': must be true or false"),
        (HEAD, "no [[template]]"),
        (HEAD + "template = [1]", "template 1: 1: must be a table"),
        (HEAD + "kind = 1\n" + ONE, "unknown fields ['kind']"),
        (HEAD + ONE + "name = 1", "template 1: unknown field 'name'"),
        (HEAD + ONE + 'held_out = "yes"', "held_out 'yes': must be of type bool"),
        (HEAD + '[[template]]\ntext = "{order}"\nvariant = "was"', "variant 'was': must be one of"),
        (HEAD + "[[template]]", "text None: must be a sentence"),
        (HEAD + '[[template]]\ntext = "no order"', "must have {order} 1 times"),
        (HEAD + '[[template]]\ntext = "{order} {order}"', "must have {order} 1 times"),
        (HEAD + '[[template]]\ntext = "{order}"\nplain = true', "must have {order} 0 times"),
        (HEAD + '[[template]]\ntext = "{order} {who}"', "unknown slot {who}; the slots are order"),
        (HEAD + '[[template]]\ntext = "{order} {"', "write braces around slots alone"),
        (HEAD + ONE + ONE, "is in class past too"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(TemplateError) as error:
        read(tmp_path, text)
    assert problem in str(error.value)
    assert "past" in str(error.value)


def test_all_places_are_named(tmp_path: Path) -> None:
    (tmp_path / "past.toml").write_text(HEAD + '[[template]]\ntext = "x"\n[[template]]\ntext = "y"')
    with pytest.raises(TemplateError, match=r"template 1: .*\n.*template 2: "):
        read_templates(tmp_path)


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="no templates"):
        read_templates(tmp_path)


def test_a_class_holds_out_some_of_its_templates(tmp_path: Path) -> None:
    lines = [f'[[template]]\ntext = "{number} {{order}}"' for number in range(SMALL_CLASS)]
    with pytest.raises(TemplateError, match=r"class past: 0% of its 10 templates are held out"):
        read(tmp_path, HEAD + "\n".join(lines))
    held_out = lines[:-2] + [line + "\nheld_out = true" for line in lines[-2:]]
    read(tmp_path, HEAD + "\n".join(held_out))
    read(tmp_path, HEAD + "\n".join(lines[:-1]))


def test_the_parts_of_the_templates_are_disjoint() -> None:
    templates = read_templates()
    trained, measured = (choose_part(templates, held_out=held_out) for held_out in (False, True))
    assert len(trained) + len(measured) == len(templates)
    assert {one.text for one in trained}.isdisjoint(one.text for one in measured)
    assert {one.kind for one in trained} == {one.kind for one in measured}


@pytest.mark.parametrize("kind", LEAST)
def test_a_shipped_class_has_enough_templates_and_holds_a_fifth_out(kind: str) -> None:
    own = [one for one in read_templates() if one.kind == kind]
    assert len(own) >= LEAST[kind]
    assert 0.18 <= sum(one.is_held_out for one in own) / len(own) <= 0.22
    assert {one.accepts for one in own} == {kind in ACCEPTED}
    assert {one.variant for one in own} <= SHIPPED_VARIANTS


def test_the_shipped_classes_are_all_there_and_no_text_comes_twice() -> None:
    templates = read_templates()
    assert {one.kind for one in templates} == LEAST.keys()
    texts = Counter(PUNCTUATION.sub(" ", one.text.lower()).strip() for one in templates)
    assert [text for text, count in texts.items() if count > 1] == []

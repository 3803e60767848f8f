"""Templates of moods: their form, their counts, and the share that is held out."""

from __future__ import annotations

import re
import string
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "training" / "chooser" / "templates"
FILES = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in FOLDER.glob("*.toml")}

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
VARIANTS = {"order", "gerund", "past", "third", "participle"}
FIELDS = {"text", "variant", "plain", "held_out"}
PLACEHOLDERS = {"order", "name", "day", "time", "number", "noun"}
PUNCTUATION = re.compile(r"[\s.,;:!?'\"()—…-]+")


def placeholders(text: str) -> Counter[str]:
    """Count the placeholders of a text."""
    return Counter(
        str(name) for _, name, _, _ in string.Formatter().parse(text) if name is not None
    )


def test_files_are_the_classes() -> None:
    assert FILES.keys() == LEAST.keys()
    for name, file in FILES.items():
        assert file.keys() == {"class", "accepts", "template"}
        assert file["class"] == name
        assert file["accepts"] is (name in ACCEPTED)


@pytest.mark.parametrize("name", LEAST)
def test_class_has_enough_templates_and_holds_a_fifth_out(name: str) -> None:
    templates = FILES[name]["template"]
    held_out = sum(template.get("held_out", False) for template in templates)

    assert len(templates) >= LEAST[name]
    assert 0.18 <= held_out / len(templates) <= 0.22


@pytest.mark.parametrize("name", LEAST)
def test_template_has_one_order_unless_plain(name: str) -> None:
    def is_sound(template: dict[str, Any]) -> bool:
        found = placeholders(template["text"])
        return (
            template.keys() <= FIELDS
            and template.get("variant", "order") in VARIANTS
            and found.keys() <= PLACEHOLDERS
            and found["order"] == (0 if template.get("plain", False) else 1)
        )

    assert [template for template in FILES[name]["template"] if not is_sound(template)] == []


def test_no_text_comes_twice() -> None:
    texts = Counter(
        PUNCTUATION.sub(" ", template["text"].lower()).strip()
        for file in FILES.values()
        for template in file["template"]
    )
    assert [text for text, count in texts.items() if count > 1] == []

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from training.agents import make_agent
from training.choices import COMPOSED, Source, folds
from training.chooser.clauses import make_choices, make_trained_choices
from training.chooser.contract_pairs import make_contract_pairs
from training.chooser.dataset import choose_sources, make_measured_pairs
from training.chooser.pairs import SHARES, UNTOLD, PairMaker, choose_scene, fill_nested, is_order
from training.chooser.templates import Template, choose_part, read_templates
from training.kinds import CALIBRATION, HELD_OUT, IDLE, SEEN
from training.kinds.composed import OPERATIONS, THINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from training.chooser.pairs import Pair
    from training.chooser.scenes import Scene

TEMPLATES = read_templates()
TRAINED = choose_part(TEMPLATES, held_out=False)
ALL = Source(kinds=SEEN, things=THINGS, operations=OPERATIONS)
WORLDS = Path(__file__).parents[3] / "benchmarks/requests/worlds"


@pytest.fixture(scope="module")
def maker() -> PairMaker:
    return PairMaker(ALL, TRAINED)


@pytest.fixture(scope="module")
def pairs(maker: PairMaker) -> list[Pair]:
    return list(maker.make(6_000, 5))


def scenes(count: int) -> Iterator[tuple[Scene, random.Random]]:
    rng = random.Random("scenes")  # noqa: S311 - a seed of tests
    while count:
        scene = choose_scene(make_agent(rng.choice(SEEN), SEEN, rng), rng)
        if scene is not None:
            count -= 1
            yield scene, rng


def test_pairs_are_a_function_of_the_seed(maker: PairMaker, pairs: list[Pair]) -> None:
    assert list(PairMaker(ALL, TRAINED).make(500, 5)) == pairs[:500]
    assert list(maker.make(500, 6)) != pairs[:500]


def test_labels_are_those_of_the_kind(pairs: list[Pair]) -> None:
    accepted = {"plain", "twin", "wrapper"}
    said = {one.kind: one.accepts for one in TEMPLATES if one.kind not in UNTOLD} | {"plain": True}
    for pair in pairs:
        assert pair.accepts is (pair.kind in accepted)
        if pair.kind != "two orders":
            assert pair.orders is said.get(pair.kind)
    # Two orders may stand in a template that is none, or in one of which the mood isn't said.
    assert {pair.orders for pair in pairs if pair.kind == "two orders"} == {True, False, None}
    counts = Counter(pair.kind for pair in pairs)
    kinds = set(SHARES) - {"accepted", "rejected"} | {one.kind for one in TEMPLATES}
    assert counts.keys() == kinds
    assert min(counts.values()) > 0.005 * len(pairs)
    assert 0.3 < sum(pair.accepts for pair in pairs) / len(pairs) < 0.5


def has(text: str, part: str) -> bool:
    """Tell whether a text has a part of whole words."""
    return re.search(rf"(?<![\w-]){re.escape(part)}(?!\w)", text) is not None


FAULTS: dict[str, Callable[[Pair, Scene], bool]] = {
    "plain": lambda pair, scene: pair.sentence.startswith(scene.order),
    "accepted": lambda pair, scene: pair.call.partition(" = ")[0] in scene.call(),
    "rejected": lambda pair, scene: pair.sentence != scene.order,
    "twin": lambda pair, scene: has(pair.sentence, scene.order) and pair.call != scene.call(),
    "sibling": lambda pair, scene: pair.call != scene.call(),
    "other": lambda pair, scene: pair.call != scene.call(),
    "near": lambda pair, scene: pair.call != scene.call() or pair.sentence != scene.order,
    "verb": lambda pair, scene: pair.call == scene.call() and not has(pair.sentence, scene.order),
    "noun": lambda pair, scene: pair.call == scene.call() and not has(pair.sentence, scene.order),
    "opposite": lambda pair, scene: (
        pair.call == scene.call() and not has(pair.sentence, scene.order)
    ),
    "swapped": lambda pair, scene: pair.call != scene.call(),
    "value": lambda pair, scene: (
        pair.call != scene.call()
        and pair.call.partition(" = ")[0] == scene.call().partition(" = ")[0]
    ),
    "two orders": lambda pair, scene: (
        pair.call == scene.call() and len(pair.sentence) > len(scene.order)
    ),
    "fragment": lambda pair, scene: (
        pair.sentence in scene.order
        and any(one in scene.order and one not in pair.sentence for one in scene.values)
    ),
    "idle": lambda pair, scene: not has(pair.sentence, scene.order),
}


def test_what_is_wrong_with_a_pair_is_what_its_kind_says(maker: PairMaker) -> None:
    made: Counter[str] = Counter()
    for scene, rng in scenes(1_500):
        for kind, is_as_said in FAULTS.items():
            pair = maker.make_one(scene, kind, rng)
            if pair is not None:
                made[kind] += 1
                assert is_as_said(pair, scene), (kind, pair, scene.order, scene.call())
    assert made.keys() == SHARES.keys()
    assert min(made.values()) > 100


def test_swapped_values_are_the_same_values(maker: PairMaker) -> None:
    for scene, rng in scenes(500):
        pair = maker.make_one(scene, "swapped", rng)
        if pair is not None and not {"true", "false"} & set(scene.values):
            assert sorted(re.findall(r"\w+", pair.call)) == sorted(re.findall(r"\w+", scene.call()))


def test_no_family_is_trained_on_that_is_held_out(pairs: list[Pair]) -> None:
    kept = {kind.name for kind in (*HELD_OUT, *CALIBRATION)}
    assert kept.isdisjoint(pair.family for pair in pairs)
    for fold in (*range(6), None):
        trained, left_out = choose_sources(fold, 1)
        names = {kind.name for kind in trained.kinds}
        assert names.isdisjoint(kind.name for kind in left_out.kinds)
        assert names.isdisjoint(kept)


def test_no_wording_is_trained_on_that_is_held_out() -> None:
    for kind in SEEN:
        for pattern in kind.patterns:
            allowed = [one for one in pattern.wordings if is_order(one, pattern)]
            assert not any(one.is_held_out or one.kind == "terse" for one in allowed)
            assert allowed


def test_no_request_of_the_benchmark_is_trained_on(pairs: list[Pair]) -> None:
    files = WORLDS.glob("*/*.toml")
    tables = [tomllib.loads(path.read_text("utf-8")) for path in files]
    texts = {
        " ".join(row["text"].lower().split())
        for row in chain.from_iterable(table.get("requests", ()) for table in tables)
    }
    assert len(texts) > 500
    of_contracts = make_contract_pairs(TEMPLATES, 5_000, 1)
    assert texts.isdisjoint(pair.sentence.lower() for pair in (*pairs, *of_contracts))


def test_pairs_of_contracts_have_the_labels_of_their_kind() -> None:
    found = list(make_contract_pairs(TEMPLATES, 3_000, 1))
    assert found == list(make_contract_pairs(TEMPLATES, 3_000, 1))
    rejecting = {one.kind for one in TEMPLATES if not one.accepts}
    wrong = {"tool", "value", "swapped", "lacking", "two orders"}
    for pair in found:
        assert pair.accepts is (pair.kind in {"right", "several", "person"})
        if pair.kind in rejecting - UNTOLD:
            assert pair.orders is False
        else:
            is_order = pair.accepts or pair.kind == "two orders"
            assert pair.orders is (True if is_order else None)
    assert {pair.kind for pair in found} <= {"right", "several", "person"} | rejecting | wrong
    assert wrong <= {pair.kind for pair in found}
    assert 0.3 < sum(pair.accepts for pair in found) / len(found) < 0.5


def test_measured_pairs_have_the_templates_of_their_part() -> None:
    (trained, left_out), *_ = folds(SEEN, 6, 1)
    rows = list(make_measured_pairs(trained, left_out, TEMPLATES, 300, 1))
    assert Counter(row["part"] for row in rows) == dict.fromkeys(
        [
            "new families, new templates",
            "new families",
            "new templates",
            "calibration",
            "benchmark",
            "contracts",
        ],
        300,
    )
    families = {kind.name for kind in left_out.kinds} | {COMPOSED}
    assert all(row["family"] in families for row in rows[:600])
    chats = {one.text for one in TRAINED if one.is_plain}
    assert chats.isdisjoint(row["sentence"] for row in rows[:300])


def test_templates_of_both_sorts_are_needed() -> None:
    with pytest.raises(ValueError, match="0 accepting and"):
        PairMaker(ALL, [one for one in TRAINED if not one.accepts])


def test_choices_offer_the_right_call_where_there_is_one() -> None:
    named, nonsense = (
        list(make_choices(Source(kinds=CALIBRATION), 4, 1, nonsense=given))
        for given in (False, True)
    )
    assert named == list(make_choices(Source(kinds=CALIBRATION), 4, 1, nonsense=False))
    assert {one.setting for one in named} == {"plain", "none", "near", "twin", "idle"}
    for one, other in zip(named, nonsense, strict=True):
        assert (one.right is None) == (one.setting in {"none", "idle"})
        assert one.right is None or one.right < len(one.calls)
        assert (one.clause, one.right, len(one.calls)) == (
            other.clause,
            other.right,
            len(other.calls),
        )
        assert one.calls != other.calls


def test_choices_to_train_on_are_in_training_wordings_and_have_one_right_call() -> None:
    found = list(make_trained_choices(Source(kinds=SEEN), TRAINED, 1_500, 3))
    assert found[:200] == list(make_trained_choices(Source(kinds=SEEN), TRAINED, 200, 3))
    assert {one.setting for one in found} == {"plain", "none", "near", "twin", "idle"}
    for one in found:
        assert (one.right is None) == (one.setting in {"none", "idle"})
        assert one.right is None or one.right < len(one.calls)
    held_out = {w.text for p in IDLE.patterns for w in p.wordings if w.is_held_out}
    assert held_out.isdisjoint(one.clause for one in found)


def test_a_template_within_another_keeps_the_label_of_the_outer_one() -> None:
    rng = random.Random(2)  # noqa: S311 - a seed of tests
    outer = Template(
        text="{order} if {name} agrees.", variant="order", kind="condition", accepts=False,
        is_held_out=False, is_plain=False,
    )  # fmt: skip
    inner = replace(outer, text="Strange as it may seem, {order}!", kind="wrapper", accepts=True)
    two = replace(inner, text="The bank called. {order}.")
    gerund = replace(outer, text="Imagine {order}.", variant="gerund")
    assert (outer.takes_clause, gerund.takes_clause) == (True, False)
    assert (inner.is_clause, two.is_clause) == (True, False)
    found = {fill_nested(outer, "pay mia 3", [inner, two], rng) for _ in range(60)}
    starts = {str(one).partition(" if ")[0] for one in found}
    assert starts == {"pay mia 3", "strange as it may seem, pay mia 3"}
    assert fill_nested(gerund, "pay mia 3", [inner], rng) == "Imagine paying mia 3."

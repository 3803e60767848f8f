from __future__ import annotations

import pytest

from training.chooser.inflection import inflect
from training.kinds import SEEN

FORMS = """
send sending sent sent sends
put putting put put puts
stop stopping stopped stopped stops
quit quitting quit quit quits
tie tying tied tied ties
free freeing freed freed frees
settle settling settled settled settles
change changing changed changed changes
carry carrying carried carried carries
pay paying paid paid pays
play playing played played plays
withdraw withdrawing withdrew withdrawn withdraws
take taking took taken takes
give giving gave given gives
be being was been is
have having had had has
do doing did done does
go going went gone goes
undo undoing undid undone undoes
let letting let let lets
begin beginning began begun begins
transfer transferring transferred transferred transfers
submit submitting submitted submitted submits
enter entering entered entered enters
open opening opened opened opens
reload reloading reloaded reloaded reloads
unpin unpinning unpinned unpinned unpins
fix fixing fixed fixed fixes
draw drawing drew drawn draws
allow allowing allowed allowed allows
push pushing pushed pushed pushes
pass passing passed passed passes
buy buying bought bought buys
mimic mimicking mimicked mimicked mimics
rubber-stamp rubber-stamping rubber-stamped rubber-stamped rubber-stamps
green-light green-lighting green-lit green-lit green-lights
"""


@pytest.mark.parametrize("line", FORMS.split("\n")[1:-1])
def test_a_verb_is_inflected(line: str) -> None:
    verb, *forms = line.split()
    order = f"{verb} 5 USDC to bob"
    found = [inflect(order, of) for of in ("gerund", "past", "participle", "third")]
    assert found == [f"{form} 5 USDC to bob" for form in forms]
    assert inflect(order, "order") == inflect(order, "infinitive") == order


@pytest.mark.parametrize(
    "order",
    [
        "in auction 3, bid 5",
        "don't let bob in",
        "5 USDC to bob",
        "safe transfer 5 to bob",
        "square up and pay bob",
        "undo 3, it got stuck",
        "Bob gets 5",
    ],
)
def test_no_form_is_guessed_where_the_verb_is_not_first_or_not_alone(order: str) -> None:
    assert inflect(order, "gerund") is None
    assert inflect(order, "order") == order


def test_most_orders_of_the_families_have_all_forms() -> None:
    orders = [
        one.text
        for kind in SEEN
        for pattern in kind.patterns
        for one in pattern.wordings
        if one.kind == "orders" and not one.is_sentence
    ]
    found = [inflect(order, "past") is not None for order in orders]
    assert sum(found) > 0.9 * len(found)

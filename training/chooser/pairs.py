"""Pairs of a sentence and a call: does the sentence order exactly this call, now?

Kinds of pairs, besides the templates' classes (`templates.py`), in which the call is the order's:

| kind | sentence | call |
|---|---|---|
| plain | an order in a wording of the family, or a question to a view | the right one |
| twin | an order of a near-duplicate (`choices.py`) | the near-duplicate's |
| sibling, other | an order | of another tool of the family; of another family |
| near | an order, or one of a near-duplicate | the near-duplicate's, or the original's |
| verb, noun | an order with a sibling's verb or noun in its place | the original order's |
| opposite | an order with the opposite verb | the original order's |
| swapped | an order with two values of one type | the two exchanged |
| value | an order | with another value than it says |
| two orders | two orders, perhaps in a template | one of theirs |
| fragment | a part of an order that lacks a value | the whole order's |
| idle | a wish or a question unrelated to any tool | any |

All but plain, twin and accepting templates are no orders of their call. Orders of the other kinds
stand half of the time in an accepting template. Whether a sentence is an order at all (`orders`) is
said of plain orders, of two orders, and of the templates, less those of `UNTOLD`.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from precompiles.short_format.call_text import UNKNOWN, shorten_quotations
from training.agents import make_agent
from training.choices import COMPOSED, COMPOSED_SHARE, TRAINED_TWINS, Source, make_twin
from training.chooser import exchanges
from training.chooser.scenes import (
    change_value,
    disguise,
    has_same_name,
    leave_values,
    make_scene,
)
from training.compose import CHAT, JOINS, SENTENCES
from training.kinds import IDLE
from training.kinds.composed import composed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from training.agents import Agent, AgentTool
    from training.choices import Twin
    from training.chooser.scenes import Scene
    from training.chooser.templates import Template
    from training.patterns import Pattern, Wording

SHARES: Mapping[str, int] = {
    "plain": 13,
    "accepted": 21,
    "twin": 2,
    "rejected": 26,
    "sibling": 9,
    "other": 3,
    "near": 3,
    "verb": 9,
    "noun": 12,
    "opposite": 9,
    "swapped": 15,
    "value": 3,
    "two orders": 6,
    "fragment": 3,
    "idle": 1,
}
"""How often each kind is tried, relative to the others: a request may have no pair of a kind, so
that some 5 % are of a noun, 3 % of a verb, an opposite or swapped values. `accepted` and `rejected`
are those of the templates."""

MORE = frozenset(["more_than_call", "place_channel"])
"""Classes of templates whose sentences order something to be done now, but not the call alone."""

UNTOLD = MORE | {"time"}
"""Classes of which the sentence alone does not tell whether it is an order for now: a time may be
one of the call's values."""

WORDING_WEIGHTS: Mapping[str, int] = {"orders": 8, "questions": 8, "synonyms": 5, "idioms": 2}
"""How often requests are of each kind of wording. Statements (`indirect`) are no orders."""

REQUESTS, PAIRS = 6, 4
"""Requests of an agent, and pairs of a request."""

WRAPPED_SHARE = 0.5
"""Share of the sentences that stand in an accepting template, where any does."""

NESTED_SHARE = 0.5
"""Templates whose order stands in an accepting template, where both allow it."""

TRIES = 20

_DENIALS = frozenset(["don't", "no", "never", "nobody"])
_WANTED = re.compile(r"I(?: want|'d like| would like| need) ")
_BREAKS = frozenset(
    (  # noqa: SIM905
        "to from of for with at in on by as into the a an about number onto over out"
    ).split()
)
_ENDS = ("", "", "", ".", ".", "!", " please", ", thanks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A sentence, a call, and what is true of them."""

    sentence: str
    call: str
    kind: str
    """Kind of pair, or class of the template."""

    accepts: bool
    """Whether the sentence is an order to do exactly the call, now."""

    orders: bool | None
    """Whether the sentence is an order, or a question that a tool answers, to act on now; None: it
    is not said."""

    family: str


class PairMaker:
    """Generates pairs from families and templates."""

    def __init__(self, source: Source, templates: Sequence[Template]) -> None:
        """Keep families and templates.

        Raises: ValueError: there is no accepting or no rejecting template.
        """
        self._source = source
        self._accepting = [one for one in templates if one.accepts]
        self._rejecting = [one for one in templates if not one.accepts]
        if not self._accepting or not self._rejecting:
            raise ValueError(
                f"{len(self._accepting)} accepting and {len(self._rejecting)} rejecting templates: "
                "must be at least one of each; add templates, held-out ones included"
            )
        self._makers: dict[str, Callable[[Scene, random.Random], Pair | None]] = {
            "plain": self._plain,
            "accepted": lambda scene, rng: self._templated(scene, self._accepting, rng),
            "rejected": lambda scene, rng: self._templated(scene, self._rejecting, rng),
            "twin": self._twin,
            "sibling": lambda scene, rng: self._of_another(scene, rng, is_sibling=True),
            "other": lambda scene, rng: self._of_another(scene, rng, is_sibling=False),
            "near": self._near,
            "verb": lambda scene, rng: self._exchanged(scene, rng, "verb"),
            "noun": lambda scene, rng: self._exchanged(scene, rng, "noun"),
            "opposite": lambda scene, rng: self._exchanged(scene, rng, "opposite"),
            "swapped": self._swapped,
            "value": self._value,
            "two orders": self._two_orders,
            "fragment": self._fragment,
            "idle": self._idle,
        }

    def make(self, count: int, seed: int) -> Iterator[Pair]:
        """Generate pairs; a function of the families, the templates, the number and the seed."""
        rng = random.Random(f"pairs {seed}")
        kinds, weights = [*SHARES], [*SHARES.values()]
        made = 0
        while made < count:
            agent = self.make_agent(rng)
            for _ in range(REQUESTS):
                scene = choose_scene(agent, rng)
                if scene is None:
                    continue
                chosen = rng.choices(kinds, weights, k=PAIRS)
                found = [self.make_one(scene, kind, rng) for kind in chosen]
                for pair in dict.fromkeys(one for one in found if one is not None):
                    if made < count:
                        made += 1
                        yield pair

    def make_one(self, scene: Scene, kind: str, rng: random.Random) -> Pair | None:
        """Generate a pair of a kind of `SHARES`; None if the request allows none."""
        return self._makers[kind](scene, rng)

    def make_agent(self, rng: random.Random) -> Agent:
        """Generate an agent with tools of a family."""
        source = self._source
        is_composed = bool(source.things) and rng.random() < COMPOSED_SHARE
        kind = (
            composed(rng, things=source.things, operations=source.operations)
            if is_composed
            else rng.choice(source.kinds)
        )
        return disguise(make_agent(kind, source.kinds, rng), rng)

    # -- sentences -- #

    def _wrap(self, order: str, rng: random.Random, *, is_sentence: bool) -> str:
        """Return an order or a question, perhaps in an accepting template."""
        if is_sentence:
            form = rng.choice(SENTENCES) if rng.random() < WRAPPED_SHARE else "{C}"
            return form.format(C=order, chat=rng.choice(CHAT))
        if rng.random() < WRAPPED_SHARE:
            for _ in range(TRIES):
                found = fill_nested(rng.choice(self._accepting), order, self._accepting, rng)
                if found is not None:
                    return found
        return order + rng.choice(_ENDS)

    def say(self, scene: Scene, rng: random.Random) -> str:
        """Return a scene's order or question, perhaps in an accepting template."""
        return self._wrap(scene.order, rng, is_sentence=scene.wording.is_sentence)

    # -- kinds of pairs -- #

    def _plain(self, scene: Scene, rng: random.Random) -> Pair:
        sentence = scene.order + ("" if scene.wording.is_sentence else rng.choice(_ENDS))
        call = scene.call(leave_values(scene, rng))
        return _pair(scene, sentence, call, "plain", accepts=True, orders=True)

    def _templated(
        self, scene: Scene, templates: Sequence[Template], rng: random.Random
    ) -> Pair | None:
        if scene.wording.is_sentence or not _is_command(scene.agent, scene.wording):
            return None
        # A template may want a form of the verb that is not known.
        for _ in range(TRIES):
            template = rng.choice(templates)
            sentence = fill_nested(template, scene.order, self._accepting, rng)
            if sentence is not None:
                orders = None if template.kind in UNTOLD else template.accepts
                call = scene.call(leave_values(scene, rng))
                accepts = template.accepts
                return _pair(scene, sentence, call, template.kind, accepts=accepts, orders=orders)
        return None

    def _twin(self, scene: Scene, rng: random.Random) -> Pair | None:
        if scene.wording.is_sentence:
            return None
        twin = rng.choice(TRAINED_TWINS)
        sentence = rng.choice(twin.wordings).format(c=scene.order)
        call = scene.call(_twin_values(twin, scene, sentence), make_twin(twin, scene.tool))
        return _pair(scene, sentence, call, "twin", accepts=True)

    def _near(self, scene: Scene, rng: random.Random) -> Pair | None:
        twin = rng.choice(TRAINED_TWINS)
        if rng.random() < 0.5:
            call = scene.call(_twin_values(twin, scene, ""), make_twin(twin, scene.tool))
            return _pair(scene, self.say(scene, rng), call, "near", accepts=False)
        if scene.wording.is_sentence:
            return None
        sentence = rng.choice(twin.wordings).format(c=scene.order)
        return _pair(scene, sentence, scene.call(), "near", accepts=False)

    def _of_another(self, scene: Scene, rng: random.Random, *, is_sibling: bool) -> Pair | None:
        patterns = scene.agent.kind.patterns
        others = [
            one
            for one in scene.agent.tools
            if not has_same_name(one.pattern, scene.tool.pattern)
            and ((one.pattern in patterns) == (scene.tool.pattern in patterns)) is is_sibling
        ]
        if not others:
            return None
        fitting = [(one, values) for one in others if (values := scene.fit(one)) is not None]
        other, values = rng.choice(fitting) if fitting else (rng.choice(others), ())
        kind = "sibling" if is_sibling else "other"
        call = scene.call_other(other, values)
        return _pair(scene, self.say(scene, rng), call, kind, accepts=False)

    def _exchanged(self, scene: Scene, rng: random.Random, what: str) -> Pair | None:
        text, own = scene.wording.text, scene.tool.pattern
        siblings = [one for one in scene.agent.kind.patterns if not has_same_name(one, own)]
        is_verb = what != "noun"
        if own not in scene.agent.kind.patterns:
            return None
        # Verbs of views are vague: `find out`, `tell me`.
        if is_verb and (scene.wording.is_sentence or not own.is_action):
            return None
        match what:
            case "verb":
                changed = exchanges.exchange_verb(text, own, siblings, rng)
            case "noun":
                changed = exchanges.exchange_noun(text, own, siblings, rng)
            case _:
                changed = exchanges.exchange_opposite(text, own, rng)
        if changed is None:
            return None
        is_sentence = scene.wording.is_sentence
        sentence = self._wrap(scene.say(changed), rng, is_sentence=is_sentence)
        return _pair(scene, sentence, scene.call(), what, accepts=False)

    def _swapped(self, scene: Scene, rng: random.Random) -> Pair | None:
        values, parameters = [*scene.values], scene.tool.pattern.parameters
        truths = [place for place, one in enumerate(values) if one in {"true", "false"}]
        pairs = [
            (one, other)
            for other in range(len(values))
            for one in range(other)
            if values[one] != values[other]
            and parameters[one].param_type is parameters[other].param_type
            and _is_said(scene, parameters[one].slot)
            and _is_said(scene, parameters[other].slot)
        ]
        if pairs:
            one, other = rng.choice(pairs)
            values[one], values[other] = values[other], values[one]
        elif truths:
            place = rng.choice(truths)
            values[place] = "false" if values[place] == "true" else "true"
        else:
            return None
        sentence = self.say(scene, rng)
        return _pair(scene, sentence, scene.call(values), "swapped", accepts=False)

    def _value(self, scene: Scene, rng: random.Random) -> Pair | None:
        said = [p.slot for p in scene.tool.pattern.parameters if _is_said(scene, p.slot)]
        if not said:
            return None
        sentence = self.say(scene, rng)
        for _ in range(TRIES):
            changed = change_value(scene, rng.choice(said), rng)
            if changed.values != scene.values:
                return _pair(scene, sentence, changed.call(), "value", accepts=False)
        return None

    def _two_orders(self, scene: Scene, rng: random.Random) -> Pair | None:
        other = choose_scene(scene.agent, rng)
        if other is None or scene.wording.is_sentence or other.wording.is_sentence:
            return None
        second = scene.read(other.request.clause)
        if second == scene.order:
            return None
        orders = [scene.order, second] if rng.random() < 0.6 else [second, scene.order]
        join = rng.choice(JOINS)
        both = join.join(orders)
        template = rng.choice(self._rejecting)
        is_rejected = rng.random() < WRAPPED_SHARE and template.variant == "order"
        if is_rejected and not template.is_plain:
            said = None if template.kind in UNTOLD else False
            sentence = template.fill(both, rng) or both
            return _pair(scene, sentence, scene.call(), "two orders", accepts=False, orders=said)
        sentence = both if "." in join else self._wrap(both, rng, is_sentence=False)
        return _pair(scene, sentence, scene.call(), "two orders", accepts=False, orders=True)

    def _fragment(self, scene: Scene, rng: random.Random) -> Pair | None:
        words, values = scene.order.split(), [one for one in scene.values if one != UNKNOWN]
        if scene.wording.is_sentence:
            return None
        cuts = [place for place, word in enumerate(words) if place and word in _BREAKS]
        parts = [" ".join(part) for cut in cuts for part in (words[cut:], words[: cut + 1])]
        said = [one for one in values if one in scene.order]
        lacking = [part for part in parts if any(one not in part for one in said)]
        if not lacking:
            return None
        return _pair(scene, rng.choice(lacking), scene.call(), "fragment", accepts=False)

    def _idle(self, scene: Scene, rng: random.Random) -> Pair:
        wordings = [one for p in IDLE.patterns for one in p.wordings if not one.is_held_out]
        wording = rng.choice(wordings)
        sentence = self._wrap(wording.text, rng, is_sentence=wording.is_sentence)
        return _pair(scene, sentence, scene.call(leave_values(scene, rng)), "idle", accepts=False)


def fill_nested(
    template: Template, order: str, accepting: Sequence[Template], rng: random.Random
) -> str | None:
    """Fill a template; where the order stands as a clause, at times in an accepting one.

    So a sentence has parts of two templates, and none of them is learnt by its other words.
    """
    if template.takes_clause and rng.random() < NESTED_SHARE:
        inner = rng.choice(accepting)
        if inner.is_clause:
            clause = inner.fill(order, rng)
            if clause is not None:
                clause = clause.rstrip(".!")
                order = clause if clause.startswith("I ") else clause[0].lower() + clause[1:]
    return template.fill(order, rng)


def choose_scene(agent: Agent, rng: random.Random) -> Scene | None:
    """Generate a request to one of an agent's tools in a training wording; None without any."""
    tool: AgentTool = rng.choice(agent.tools)
    allowed = [one for one in tool.pattern.wordings if is_order(one, tool.pattern)]
    if not allowed:
        return None
    kinds = sorted({one.kind for one in allowed})
    kind = rng.choices(kinds, [WORDING_WEIGHTS[one] for one in kinds])[0]
    return make_scene(agent, tool, rng.choice([one for one in allowed if one.kind == kind]), rng)


def is_order(wording: Wording, pattern: Pattern) -> bool:
    """Tell whether a wording is for training, and an order or a question to a view."""
    if wording.is_held_out or wording.kind not in WORDING_WEIGHTS:
        return False
    if wording.is_sentence:
        is_question = wording.text.endswith("?")
        return is_question if not pattern.is_action else _WANTED.match(wording.text) is not None
    return wording.text.partition(" ")[0] not in _DENIALS


def _is_command(agent: Agent, wording: Wording) -> bool:
    """Tell whether an order begins with a verb, and not with a value or a composed kind's noun."""
    thing = agent.kind.name.removeprefix(f"{COMPOSED}: ")
    return wording.text[0] != "{" and not wording.text.startswith(f"{thing} ")


def _is_said(scene: Scene, slot: str) -> bool:
    return f"{{{slot}}}" in scene.wording.text


def _twin_values(twin: Twin, scene: Scene, sentence: str) -> tuple[str, ...]:
    """Return the values of a near-duplicate: the request's, and the day that a sentence says."""
    if twin.parameters == "none":
        return ()
    day = re.search(r"\bday (\d+)", sentence) if twin.parameters == "day" else None
    return (*scene.values, *([day[1]] if day else []))


def _pair(
    scene: Scene,
    sentence: str,
    call: str,
    kind: str,
    *,
    accepts: bool,
    orders: bool | None = None,
) -> Pair:
    family = scene.agent.kind.name
    return Pair(
        sentence=shorten_quotations(sentence),
        call=call,
        kind=kind,
        accepts=accepts,
        orders=orders,
        family=COMPOSED if family.startswith(COMPOSED) else family,
    )

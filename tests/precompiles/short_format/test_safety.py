"""Whatever the model says, a run moves only what the request states, exactly.

Each request is made of clauses with an amount, a unit and a recipient, and of words that take some
of them back. The amounts that they state are computed here, by fractions.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.precompiles.short_format.small_agents import (
    ADDRESS,
    BASE_PROMPT,
    PEOPLE,
    UINT,
    address_of,
    list_step_texts,
    make_form,
    make_tool,
    run_agent,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.tool_metadata import Tool

# -- agents -- #

SYMBOLS = ("USDC", "DAI", "GOLD", "wETH", "vUSD", "PTS", "K2", "Oz", "EURX")
STRANGE_UNITS = (
    "LUSD",
    "mUSDC",
    "euros",
    "dollars",
    "doge",
    "NFTs",
    "apples",
    "percent",
    "%",
    "days",
)
STRANGERS = ("Carol", "bob.eth", "@ann", "Bob Smith", "Bob's brother", "my sister", "me", "0x1234")
NATIVE_UNITS = {
    "ETH": Fraction(10**18),
    "ether": Fraction(10**18),
    "finney": Fraction(10**15),
    "gwei": Fraction(10**9),
    "wei": Fraction(1),
}
NATIVE_NAME = "pay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Tools that move something, with the base units of each token."""

    tools: tuple[Tool, ...]
    base_prompt: str
    decimals: Mapping[str, int]
    has_native: bool

    def name_token(self, tool_name: str) -> str:
        """Return the token that a tool moves; `ETH` for the native currency."""
        return "ETH" if tool_name == NATIVE_NAME else tool_name.removeprefix("transfer")


def make_agent(decimals: Mapping[str, int], *, has_native: bool, has_handles: bool) -> Agent:
    tools = [
        make_tool(
            f"transfer{symbol}", f"Send tokens to an address ({symbol}).",
            (ADDRESS, "to", "who gets the tokens"),
            (UINT, "value", f"amount of {symbol}, {count} decimals"), mode=f"writes {symbol}",
        )
        for symbol, count in decimals.items()
    ]  # fmt: skip
    if has_native:
        pay = make_tool(
            NATIVE_NAME, "Sends ETH to an address.", (ADDRESS, "to", "who gets it"),
            (UINT, "value", "amount of ETH to send, 18 decimals"), mode="writes",
        )  # fmt: skip
        tools.append(pay)
    lines = [f"{symbol} = {address_of(symbol)}" for symbol in decimals] if has_handles else []
    people = [line for line in BASE_PROMPT.split("\n") if not line.startswith("USDC ")]
    return Agent(
        tools=tuple(tools),
        base_prompt="\n".join([*people, *lines]),
        decimals=decimals,
        has_native=has_native,
    )


AGENTS = st.builds(
    make_agent,
    st.dictionaries(st.sampled_from(SYMBOLS), st.integers(0, 24), min_size=1, max_size=3),
    has_native=st.booleans(),
    has_handles=st.booleans(),
)

# -- amounts: how they are written, and what they are -- #


def write_decimal(number: Fraction, *, has_commas: bool = False) -> str:
    """Return a number of at most 12 decimals in digits."""
    whole, rest = divmod(number, 1)
    digits = f"{int(rest * 10**12):012}".rstrip("0")
    return (f"{int(whole):,}" if has_commas else str(int(whole))) + (f".{digits}" if digits else "")


DECIMALS = st.builds(
    lambda number, places: Fraction(number, 10**places),
    st.integers(1, 10**7),
    st.integers(0, 9),
)
WRITTEN = st.one_of(
    DECIMALS.map(lambda value: (write_decimal(value), value)),
    DECIMALS.map(lambda value: (write_decimal(value, has_commas=True), value)),
    st.integers(1, 999).map(lambda number: (f"{number}k", Fraction(number * 1_000))),
    st.integers(1, 99).map(lambda number: (f"{number} million", Fraction(number * 10**6))),
    st.builds(
        lambda number, power: (f"{number}e{power}", Fraction(number) * 10**power),
        st.integers(1, 99),
        st.integers(0, 20),
    ),
    st.integers(1, 9).map(lambda number: (f".{number}", Fraction(number, 10))),
    st.sampled_from(
        [
            ("five", Fraction(5)),
            ("twenty-one", Fraction(21)),
            ("two hundred", Fraction(200)),
            ("a hundred and five", Fraction(105)),
            ("two and a half", Fraction(5, 2)),
            ("three thousand", Fraction(3_000)),
        ]
    ),
)
UNREAD = st.sampled_from(
    [
        "1/2", "5-6", "1.000,50", "1.500", "1 000", "5 6", "+5", "-5", "1_000", "2*5", "\u00bd",
        "\u0665", "about 5", "at most 5", "up to 5", "~5", "more than 5", "between 5 and 6",
        "5 or 6", "twice 5", "some", "a few", "half", "5 plus 6", "0x5", "5%", "5 x 3",
        "5 minus 1", "5 times 2", "1e-2",
    ]
)  # fmt: skip

# -- clauses -- #

SHAPES = (
    "send {amount} to {whom}",
    "transfer {amount} to {whom}",
    "pay {whom} {amount}",
    "send {whom} {amount}",
    "give {amount} to {whom}",
    "please send {amount} to {whom}",
    "could you send {amount} to {whom}",
)
BLOCKS = (
    "don't {}",
    "do not {}",
    "never {}",
    "{}, but not today",
    "{} if it rains",
    "if Ann agrees, {}",
    "{} unless Ann is away",
    "maybe {}",
    "{} tomorrow",
    "{} every week",
    "{} on Friday",
    "should I {}?",
    "did Bob {}?",
    "pretend to {}",
    "stop, do not {}",
    "{} or not",
    "ignore the order to {}",
    'note "{}"',
    "I would never {}",
    "Bob told me to {}",
    "what happens if I {}?",
    "{}, no wait, don't",
    "{}, forget it",
    "imagine you {}",
)
JOINTS = (". ", ", then ", " and ", "\n", "; ", ". Then ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A clause, and the moves that it may mean: token, base units and recipient of each."""

    text: str
    moves: frozenset[tuple[str, int, str]]


def _find_scales(agent: Agent, unit: str) -> dict[str, Fraction]:
    """Return the base units of one of a unit, by the tokens that it may mean."""
    for start, divisor in (("cents of ", 100), ("base units of ", 0)):
        if unit.startswith(start):
            symbol = unit.removeprefix(start)
            one = Fraction(10) ** agent.decimals[symbol] / divisor if divisor else Fraction(1)
            return {symbol: one}
    if unit in agent.decimals:
        return {unit: Fraction(10) ** agent.decimals[unit]}
    return {"ETH": NATIVE_UNITS[unit]} if agent.has_native and unit in NATIVE_UNITS else {}


@st.composite
def draw_clause(draw: st.DrawFn, agent: Agent, *, is_good: bool) -> Clause:
    written, value = draw(WRITTEN)
    own = [
        *agent.decimals,
        *(f"{word} of {one}" for one in agent.decimals for word in ("cents", "base units")),
    ]
    units = own + ([*NATIVE_UNITS] if agent.has_native or not is_good else [])
    unit = draw(st.sampled_from(units if is_good else (*units, *STRANGE_UNITS)))
    whom = draw(st.sampled_from(PEOPLE if is_good else (*PEOPLE, *PEOPLE, *STRANGERS)))
    is_address = whom in PEOPLE and draw(st.booleans())
    moves = frozenset(
        (token, int(value * scale), address_of(whom))
        for token, scale in _find_scales(agent, unit).items()
        if (value * scale).denominator == 1 and value * scale < 2**256 and whom in PEOPLE
    )
    if not is_good and draw(st.integers(0, 4)) == 0:
        written, moves = draw(UNREAD), frozenset()
    shape = draw(st.sampled_from(SHAPES))
    shown = address_of(whom) if is_address else whom
    text = shape.format(amount=f"{written} {unit}", whom=shown)
    if not is_good and draw(st.integers(0, 3)) == 0:
        text, moves = draw(st.sampled_from(BLOCKS)).format(text), frozenset()
    return Clause(text=text, moves=moves)


def join(clauses: Sequence[Clause], joints: Sequence[str]) -> str:
    """Return the request of some clauses."""
    text = clauses[0].text
    for clause, joint in zip(clauses[1:], joints, strict=False):
        text += joint + clause.text
    return text[:1].upper() + text[1:]


def list_moves(agent: Agent, question: str, seed: int) -> list[tuple[str, object, object]]:
    """Return what a run moves whose model chooses by the digits of a number."""
    digits = iter(f"{seed:020}" * 40)
    run = run_agent(
        question,
        agent.tools,
        choose=lambda count: int(next(digits)) % count,
        base_prompt=agent.base_prompt,
    )
    assert run.answer.startswith("Done") <= bool(run.calls)
    return [(agent.name_token(name), values[1], values[0]) for name, values in run.calls]


SEEDS = st.integers(0, 10**20 - 1)


@given(st.data(), AGENTS, st.lists(st.sampled_from(JOINTS), min_size=2, max_size=2), SEEDS)
@settings(max_examples=300, derandomize=True)
def test_a_run_moves_what_is_stated_in_its_order_or_nothing_at_all(
    data: st.DataObject, agent: Agent, joints: list[str], seed: int
) -> None:
    count = data.draw(st.integers(1, 3))
    clauses = [data.draw(draw_clause(agent, is_good=False)) for _ in range(count)]
    moved = list_moves(agent, join(clauses, joints), seed)
    assert len(moved) <= count
    if not all(clause.moves for clause in clauses):
        assert moved == []
    for move, clause in zip(moved, clauses, strict=False):
        assert move in clause.moves


@given(st.data(), AGENTS, st.lists(st.sampled_from(JOINTS), min_size=2, max_size=2), SEEDS)
@settings(max_examples=150, derandomize=True)
def test_a_plain_request_is_done_as_it_is_stated(
    data: st.DataObject, agent: Agent, joints: list[str], seed: int
) -> None:
    count = data.draw(st.integers(1, 3))
    clauses = [data.draw(draw_clause(agent, is_good=True)) for _ in range(count)]
    assume(all(clause.moves for clause in clauses))
    moved = list_moves(agent, join(clauses, joints), seed)
    assert [{move} for move in moved] == [clause.moves for clause in clauses]


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("order", ["send 5 USDC to Bob", "pay Bob 5 USDC", "give 5 USDC to Bob"])
def test_an_order_that_is_taken_back_moves_nothing(block: str, order: str) -> None:
    agent = make_agent({"USDC": 6}, has_native=True, has_handles=True)
    assert list_moves(agent, order, 0) == [("USDC", 5 * 10**6, address_of("Bob"))]
    text = block.format(order)
    for seed in (0, int("12345678901234567890")):
        assert list_moves(agent, text, seed) == []
        assert list_moves(agent, text[:1].upper() + text[1:] + ".", seed) == []


# -- the same everywhere -- #

QUESTIONS = (
    "Send 5 USDC to Bob and 3 to Ann, then show my balance",
    "Open it",
    "Undo it",
    "Send 5 DAI to Carol or Ann",
    "Note 5, 6 and 7. Vote against proposal 3.",
    "Set it to Owls",
    "Send it",
)
SCRIPT = """
from tests.precompiles.short_format.small_agents import list_step_texts, make_form
from tests.precompiles.short_format.test_safety import QUESTIONS
for question in QUESTIONS:
    form = make_form(question)
    print(ascii((form.grammar, list_step_texts(form), form.scoring, form.branches)))
"""


def test_a_step_is_the_same_from_fresh_objects_and_in_other_processes() -> None:
    shown = []
    for _ in range(2):
        forms = [make_form(question) for question in QUESTIONS]
        steps = [
            (form.grammar, list_step_texts(form), form.scoring, form.branches) for form in forms
        ]
        shown.append("".join(f"{step!a}\n" for step in steps))
    for seed in ("0", "1", "4242"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        found = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        shown.append(found.stdout)
    assert len(set(shown)) == 1

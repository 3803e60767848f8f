"""Printed scripts, which repeat their steps when they are executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyevm_agents.models import answer, use
from pyevm_agents.testing.script_export import format_script

if TYPE_CHECKING:
    from pyevm_agents.models.fakes.script_steps import Step

BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PURSE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
OTHER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
NAMES = {BOB.lower(): "accounts[1]", PURSE.lower(): "purse.address"}


class Contract:
    address = PURSE


def pasted(code: str) -> list[Step]:
    """Return the arguments of the call in a script's code."""
    said: list[Step] = []

    class Model:
        @staticmethod
        def script(*steps: Step) -> None:
            said.extend(steps)

    names = {"model": Model, "use": use, "answer": answer, "purse": Contract}
    exec(code, {**names, "accounts": ["", BOB]})  # noqa: S102 - that is what pasting is
    return said


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (use("Wait"), 'use("Wait")'),
        (use("Pay", to=BOB, amount=1), 'use("Pay", to=accounts[1], amount=1)'),
        (use("Pay", to=OTHER), f'use("Pay", to="{OTHER}")'),
        (use("Pay", to=PURSE.lower()), 'use("Pay", to=purse.address)'),
        (use("Pay", thought="Why?", yes=True), 'use("Pay", thought="Why?", yes=True)'),
        (
            use("Pay", arguments={"thought": 1, "a b": [BOB, OTHER]}),
            f'use("Pay", arguments={{"thought": 1, "a b": [accounts[1], "{OTHER}"]}})',
        ),
        (use("Pay", arguments={"class": ""}), 'use("Pay", arguments={"class": ""})'),
        (use("N", n=2**256 - 1), 'use("N", n=2**256 - 1)'),
        (use("N", n=2**255), 'use("N", n=2**255)'),
        (use("N", n=2**64 + 1), 'use("N", n=2**64 + 1)'),
        (use("N", n=-(2**255)), 'use("N", n=-(2**255))'),
        (use("N", n=-(2**200) + 1), 'use("N", n=-(2**200 - 1))'),
        (use("N", n=10**30), f'use("N", n={10**30})'),
        (answer("Done"), 'answer("Done")'),
        (answer('"ü"\n', thought="Hm"), """answer('"ü"\\n', thought="Hm")"""),
        (answer(f"{{x}} to {BOB}!"), 'answer(f"{{x}} to {accounts[1]}!")'),
        (answer(f"{BOB} {OTHER}"), f'answer(f"{{accounts[1]}} {OTHER}")'),
        (" Hm\nFinal Answer: 1", "' Hm\\nFinal Answer: 1'"),
    ],
)
def test_a_step_is_written_as_one_would(step: Step, code: str) -> None:
    written = format_script("model.script", [step], NAMES)
    assert written in {f"model.script({code})", f"model.script(\n    {code},\n)"}
    (meant,) = pasted(written)
    assert str(meant).lower() == str(step).lower()


def test_a_long_script_has_a_line_for_each_step() -> None:
    code = format_script("model.script", [use("Pay", to=OTHER, amount=1), answer("Done")], {})
    assert code == (
        f'model.script(\n    use("Pay", to="{OTHER}", amount=1),\n    answer("Done"),\n)'
    )


TEXTS = st.text(st.characters(codec="utf-8")) | st.sampled_from([BOB, f"to {BOB}.", f"{{{PURSE}}}"])
VALUES = TEXTS | st.integers() | st.booleans() | st.lists(TEXTS) | st.lists(st.integers())


@example([use("Pay", arguments={"\N{MASCULINE ORDINAL INDICATOR}": 1})])
@given(
    st.lists(
        st.builds(answer, TEXTS, thought=TEXTS)
        | st.builds(
            use, TEXTS, thought=TEXTS, arguments=st.dictionaries(st.text(), VALUES, max_size=3)
        ),
        max_size=4,
    )
)
def test_whatever_is_said_can_be_pasted(steps: list[Step]) -> None:
    assert pasted(format_script("model.script", steps, NAMES)) == steps

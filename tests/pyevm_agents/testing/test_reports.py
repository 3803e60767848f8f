"""Agents' steps as text."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.testing.reports import colour_report, format_run, format_runs
from pyevm_agents.testing.run_log import AgentRun
from tests.pyevm_agents.testing.sample_runs import NESTED, RUN, answered, used


def test_a_run_is_told_step_by_step() -> None:
    text = format_run(replace(RUN, steps=NESTED[2:6], failure="Undone()"), {3: "look\nhere"})
    assert (
        text
        == """\
transaction 0x00010203…1d1e1f: 6,000,000 gas (2,787,200 EVM, 2,412,800 prompt, 800,000 output)
4 steps; 400 cold and 128 warm tokens read, 80 written

  1 0x0A0A0a0a0a0a0a0A0a0a0A0a0A0A0A0a0a0a0a0a
    Thought      I should use helper.
    Action       helper
    Input        {"prompt": "Add 7"}
    Observation  It is 7.
    Tokens       100 cold and 32 warm tokens read, 20 written
    Gas          603,200 prompt, 200,000 output, 1,234 EVM
  2     0x0B0b0b0b0B0B0B0B0b0b0b0b0B0B0B0B0B0b0B0b
        Thought      I should use Counter.
        Action       Counter
        Input        {"amount": 7}
        Observation  7
        Tokens       100 cold and 32 warm tokens read, 20 written
        Gas          603,200 prompt, 200,000 output, 1,234 EVM
  3     0x0B0b0b0b0B0B0B0B0b0b0b0b0B0B0B0B0B0b0B0b
        Thought      I know.
        Answer       It is 7.
        Tokens       100 cold and 32 warm tokens read, 20 written
        Gas          603,200 prompt, 200,000 output, 1,234 EVM
> 4 0x0A0A0a0a0a0a0a0A0a0a0A0a0A0A0A0a0a0a0a0a
>   Thought      I should use Deploy.
>   Action       Deploy
>   Input        {"asset": "0x5FbDB2315678afecb367f032d93F642f64180aa3", "amount": 10, "tags": [], \
"isFast": false}
>   Observation  (reverted)
>   Tokens       100 cold and 32 warm tokens read, 20 written
>   Gas          603,200 prompt, 200,000 output, 1,234 EVM
>   ^ look
>   ^ here
   reverted: Undone()"""
    )


def test_what_has_no_end_has_no_gas() -> None:
    run = AgentRun(
        steps=(replace(NESTED[0], evm_gas=None),), purpose="estimate", fault="a script ended\n+ x"
    )
    lines = format_run(run).split("\n")
    assert lines[0] == "gas estimate"
    assert lines[-2:] == [
        "    Gas          603,200 prompt, 200,000 output",
        "   stopped: a script ended",
    ]


def test_a_long_run_shows_its_ends_and_its_marks() -> None:
    steps = tuple(used(f"Tool{number}") for number in range(1, 101))
    text = format_run(AgentRun(steps=steps), {49: "here"})
    shown = [line.split()[1] for line in text.split("\n") if " Action " in line]
    assert len(shown) == 25
    assert "Tool50" in text
    assert ">50 0x" in text
    assert "   … 37 steps not shown" in text
    assert "   … 38 steps not shown" in text


def test_only_the_latest_runs_are_told() -> None:
    text = format_runs([AgentRun(steps=NESTED[:1], purpose="call")] * 9, 20)
    assert text.startswith("(12 earlier transactions not shown)\n\ncall\n")
    assert text.count("\n\ncall") == 8


@given(st.text("\x1b\u202e\n\r a[0x", max_size=2_000))
def test_a_strangers_text_makes_no_line_and_steers_nothing(text: str) -> None:
    step = replace(used("Tool", text), thought=text, action_input=text)
    plain = format_run(AgentRun(steps=(step, answered(text))))
    assert len(plain.split("\n")) == 14
    assert "\x1b" not in plain
    assert "\u202e" not in plain
    assert max(map(len, plain.split("\n"))) < 500


def test_colours_change_nothing_else() -> None:
    def markup(text: str, **styles: bool) -> str:
        return f"<{'+'.join(styles)}>{text}</>"

    text = format_run(replace(RUN, failure="Undone()"), {0: "here"})
    told = colour_report(text, markup)
    lines = told.split("\n")
    assert lines[0].startswith("<bold>transaction 0x")
    assert "<red>>   ^ here</>" in lines
    assert "<cyan>    Action       Deploy</>" in lines
    assert "<green>    Answer       Deposited 5, not 10.</>" in lines
    assert "<red>    Observation  (reverted)</>" in lines
    assert lines[-1] == "<red+bold>   reverted: Undone()</>"
    assert [line.split(">", 1)[-1] for line in lines if line.endswith("</>")]

"""Tasks of agents with an account: reads, quotes, swaps, approvals and closed functions."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from benchmarks.contract_wordings import WORDINGS_FILE
from precompiles.address_handles import AddressBook
from precompiles.decoding_rules import SHORT_FORMAT
from precompiles.react import GrammarViolationError
from pyevm_agents.scenarios.swap.world import TOKENS as WORLD_TOKENS
from tests.byte_model import PROFILE, ByteModel
from training.kinds.account_tools import NATIVE_DECIMALS, NATIVES, TOKENS, account_groups
from training.rehearsal import rehearse
from training.runs import turns

if TYPE_CHECKING:
    from training.tasks import Task

SHORT = replace(PROFILE, decoding=(("short_format", SHORT_FORMAT),))
GROUPS = 90
LEAST_TASKS = 20
LEAST_ADMITTED, LEAST_TOLD = 0.45, 0.1
"""Shares of tasks that have a run, and of closed functions whose wording names them."""
"""Of each kind of request, among the tasks."""

DECIMALS = {**dict(TOKENS), **dict.fromkeys(NATIVES, NATIVE_DECIMALS)}


@pytest.fixture(scope="module", params=[False, True], ids=["training", "measuring"])
def groups(request: pytest.FixtureRequest) -> list[tuple[Task, ...]]:
    return list(islice(account_groups(1, requests=6, measures=request.param), GROUPS))


@pytest.fixture(scope="module")
def tasks(groups: list[tuple[Task, ...]]) -> list[Task]:
    return [task for group in groups for task in group]


def test_the_rules_admit_a_run_or_decline_the_request(tasks: list[Task]) -> None:
    """Some wordings are outside of what the rules read: no other run is admitted for them."""
    admitted = 0
    for task in tasks:
        with suppress(GrammarViolationError, ValueError):
            assert len(list(turns(task, SHORT))) == len(task.steps) + 1
            admitted += 1
    assert admitted > len(tasks) * LEAST_ADMITTED


def test_a_group_has_one_agent_and_a_seed_says_which(groups: list[tuple[Task, ...]]) -> None:
    for group in groups:
        assert len({(task.base_prompt, task.tools) for task in group}) == 1
        names = [tool.name for tool in group[0].tools]
        assert len(set(names)) == len(names)


def test_a_seed_gives_the_same_tasks_again() -> None:
    first = list(islice(account_groups(3, requests=4), 5))
    assert list(islice(account_groups(3, requests=4), 5)) == first
    assert list(islice(account_groups(4, requests=4), 5)) != first
    assert list(islice(account_groups(3, requests=4, measures=True), 5)) != first


def test_a_closed_function_is_answered_by_a_line_of_the_base_prompt(tasks: list[Task]) -> None:
    refused = [task for task in tasks if task.answer.startswith("I cannot ")]
    assert len(refused) > LEAST_TASKS
    told = 0
    for task in refused:
        assert not task.steps
        assert task.answer in task.base_prompt.splitlines()
        book = AddressBook(task.base_prompt, [task.question])
        said = answer(task)
        # A wording that does not name the function is declined as any other.
        is_told = book.expand(said) == book.expand(task.answer)
        assert is_told or said.startswith("I can't do that: ")
        told += is_told
    assert told > len(refused) * LEAST_TOLD
    assert any("0x" in task.answer for task in refused)


def test_what_no_line_is_about_has_the_common_refusal(tasks: list[Task]) -> None:
    idle = [task for task in tasks if task.answer == "I can't do that."]
    assert idle
    for task in idle:
        assert answer(task).startswith("I can't do that")


def answer(task: Task) -> str:
    """Return the answer of a task's correct run."""
    model = ByteModel([turn.text for turn in turns(task, SHORT)])
    return rehearse(task, model, SHORT).answer


def test_amounts_are_in_base_units_of_the_stated_decimals(tasks: list[Task]) -> None:
    checked = 0
    for task in tasks:
        for step in task.steps:
            tool = next(one for one in task.tools if one.name == step.tool)
            for parameter in tool.parameters:
                value = step.arguments[parameter.name]
                assert isinstance(value, int)
                symbol = next(one for one in DECIMALS if one in parameter.description.split())
                said = Fraction(value, 10 ** DECIMALS[symbol])
                assert f"{DECIMALS[symbol]} decimals" in parameter.description
                numbers = [Fraction(word) for word in step.clause.split() if word[0].isdigit()]
                assert said in numbers
                checked += 1
    assert checked > LEAST_TASKS


def test_tokens_are_approved_before_they_are_taken_where_tools_do_not_do_it(
    tasks: list[Task],
) -> None:
    approved = [task for task in tasks if len(task.steps) > 1]
    assert len(approved) > LEAST_TASKS
    for task in approved:
        first, second = task.steps
        assert "approve" in first.tool.lower()
        assert [*first.arguments.values()] == [*second.arguments.values()]
        taken = next(tool for tool in task.tools if tool.name == second.tool)
        assert "must be approved for it first" in taken.description


def test_some_tools_have_the_names_of_functions_and_their_route(tasks: list[Task]) -> None:
    used = [step.tool for task in tasks for step in task.steps]
    named = [tool for tool in used if re.fullmatch(r"[a-z]+(?:[A-Z][a-z]+)+_\w+_for_\w+", tool)]
    assert LEAST_TASKS < len(named) < len(used) - LEAST_TASKS


def test_measuring_has_other_wordings_than_training() -> None:
    trained, measured = (
        {
            step.clause
            for group in islice(account_groups(9, requests=6, measures=measures), GROUPS)
            for task in group
            for step in task.steps
        }
        for measures in (False, True)
    )
    assert trained
    assert measured
    assert not trained & measured


def test_the_benchmark_has_other_tokens_and_wordings(tasks: list[Task]) -> None:
    assert not {token.symbol for token in WORLD_TOKENS} & set(DECIMALS)
    scenarios = tomllib.loads(WORDINGS_FILE.read_text())
    said = {word.lower() for scenario in scenarios.values() for word in scenario["wordings"]}
    assert not said & {task.question.lower() for task in tasks}

"""BFCL's rules at their edges, and its categories on our tasks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.accuracy_tables import Result
from benchmarks.agent_runs import AgentRun, Use
from benchmarks.bfcl import (
    Call,
    as_json,
    check_call,
    first_call,
    marks_by_category,
    standardize,
    table_of,
)
from benchmarks.shares import Share
from benchmarks.task_bench import TaskRun
from benchmarks.task_marks import marks_of
from precompiles.abi import ParamType
from tests.benchmarks.sample_tasks import (
    ACTS,
    ACTS_TWICE,
    DAI,
    DEPOSIT,
    FAILS,
    INJECTED,
    PAUSE,
    PAUSES,
    UNSERVED,
    USDC,
    VOTES,
    parameter,
)
from training.tasks import Task, TaskTool

RIGHT = {"token": USDC, "amount": 10}
POSSIBLE: dict[str, list[object]] = {"token": [USDC], "amount": [10, 11]}


def check(function: str = "deposit", **arguments: object) -> str | None:
    return check_call(Call(function=function, arguments=arguments), DEPOSIT, POSSIBLE)


@pytest.mark.parametrize(
    ("fault", "function", "arguments"),
    [
        (None, "deposit", RIGHT),
        (None, "deposit", {"amount": 11, "token": USDC}),
        (None, "deposit", {**RIGHT, "token": USDC.lower()}),
        ("wrong function", "Deposit", RIGHT),
        ("wrong function", "withdraw", {}),
        ("missing parameter", "deposit", {"token": USDC}),
        ("missing parameter", "deposit", {"token": USDC, "to": 1}),
        ("unknown parameter", "deposit", {**RIGHT, "to": 1}),
        ("wrong type", "deposit", {**RIGHT, "amount": "10"}),
        ("wrong type", "deposit", {**RIGHT, "amount": 10.0}),
        ("wrong type", "deposit", {**RIGHT, "amount": True}),
        ("wrong type", "deposit", {**RIGHT, "amount": [10]}),
        ("wrong type", "deposit", {**RIGHT, "token": None}),
        ("wrong value", "deposit", {**RIGHT, "amount": 12}),
        ("wrong value", "deposit", {**RIGHT, "token": DAI}),
    ],
)
def test_a_call_breaks_the_first_rule_in_order(
    fault: str | None, function: str, arguments: dict[str, object]
) -> None:
    assert check(function, **arguments) == fault


def test_no_call_is_a_fault() -> None:
    assert check_call(None, DEPOSIT, POSSIBLE) == "no call"


def test_no_parameters_are_right_without_arguments() -> None:
    assert check_call(Call(function="pause", arguments={}), PAUSE, {}) is None
    given = Call(function="pause", arguments={"now": True})
    assert check_call(given, PAUSE, {}) == "unknown parameter"


@pytest.mark.parametrize(
    ("param_type", "answer", "value", "fault"),
    [
        (ParamType.STRING, "April 1, 2024", "april 1 2024", None),
        (ParamType.STRING, "it's", 'it"s', None),
        (ParamType.STRING, "blue-moon", "Blue_Moon", None),
        (ParamType.STRING, "a^b*c/d.e", "abcde", None),
        (ParamType.STRING, "draft two", "draft: two", "wrong value"),
        (ParamType.STRING, "draft two", "draft 2", "wrong value"),
        (ParamType.STRING, "tab", "t\tab", "wrong value"),
        (ParamType.BOOL, True, True, None),
        (ParamType.BOOL, True, 1, "wrong type"),
        (ParamType.BOOL, True, False, "wrong value"),
        (ParamType.INT, -3, -3, None),
        (ParamType.INT, -3, 3, "wrong value"),
        (ParamType.UINT, 2**256 - 1, 2**256 - 1, None),
        (ParamType.UINT, 1, "1", "wrong type"),
        (ParamType.STRING_ARRAY, ("A b", "c"), ["ab", "C"], None),
        (ParamType.STRING_ARRAY, ("a", "b"), ["b", "a"], "wrong value"),
        (ParamType.STRING_ARRAY, ("a", "b"), ["a"], "wrong value"),
        (ParamType.STRING_ARRAY, ("a",), "a", "wrong type"),
        (ParamType.STRING_ARRAY, ("a",), ["a", 1], "wrong type"),
        (ParamType.STRING_ARRAY, (), [], None),
        (ParamType.UINT_ARRAY, (1, 0), [1, 0], None),
        (ParamType.UINT_ARRAY, (1, 0), [True, False], "wrong type"),
        (ParamType.UINT_ARRAY, ((1,),), [[1]], "wrong type"),
        (ParamType.BOOL_ARRAY, (True,), [1], "wrong type"),
        (ParamType.INT_ARRAY, (-1,), [-1], None),
        (ParamType.ADDRESS_ARRAY, (USDC,), [USDC.upper()], None),
        (ParamType.ADDRESS, USDC, 5, "wrong type"),
    ],
)
def test_values_are_compared_by_type(
    param_type: ParamType, answer: object, value: object, fault: str | None
) -> None:
    tool = TaskTool(
        name="take",
        description="",
        parameters=(parameter(param_type, "it", "the value"),),
        is_action=True,
        default_reply="",
    )
    call = Call(function="take", arguments={"it": value})
    assert check_call(call, tool, {"it": (answer,)}) == fault


def test_strings_lose_case_spaces_and_some_punctuation() -> None:
    assert standardize(" A,b./-_*^C'd:e!") == 'abc"d:e!'


def use(tool: str, **arguments: object) -> Use:
    return Use(
        tool=tool, arguments=b"", encodes=True, shown=json.dumps(arguments), observation="Done"
    )


def result(task: Task, *uses: Use) -> Result:
    run = AgentRun(uses=uses, answer="Done.", failure=None, gas_used=1, seconds=1.0)
    done = TaskRun(run=run, ledger=())
    return Result(number=0, task=task, done=done, marks=marks_of(task, done))


def test_a_first_call_is_read_from_the_run() -> None:
    done = result(ACTS, use("deposit", **RIGHT), use("pause")).done.run
    assert first_call(done) == Call(function="deposit", arguments=RIGHT)
    assert first_call(result(ACTS).done.run) is None
    unreadable = replace(use("deposit"), shown="{")
    assert first_call(result(ACTS, unreadable).done.run) is None
    assert first_call(result(ACTS, replace(use("x"), tool="")).done.run) is None


def test_each_category_counts_its_own_tasks() -> None:
    right, wrong = use("deposit", **RIGHT), use("deposit", token=USDC, amount=9)
    results = [
        result(ACTS, right),
        result(ACTS, right, wrong),
        result(ACTS, wrong),
        result(VOTES),
        result(replace(PAUSES, tools=(PAUSE,)), use("pause")),
        result(UNSERVED),
        result(UNSERVED, use("pause")),
        result(ACTS_TWICE, use("withdraw", token=DAI, amount=5)),
        result(FAILS, wrong),
        result(INJECTED, right),
    ]
    assert marks_by_category(results) == {
        "simple": Share(1, 1),
        "multiple": Share(2, 4),
        "irrelevance": Share(1, 2),
        "relevance": Share(4, 5),
        "other first calls": Share(2, 3),
    }
    form = json.loads(json.dumps(as_json(results)))
    assert (form["multiple"]["count"], form["multiple"]["total"]) == (2, 4)
    table = table_of({"model": results, "none": []})
    assert [str(cell)[:3] for cell in table.columns[1].cells] == ["1/1", "2/4", "1/2", "4/5", "2/3"]
    assert [*table.columns[2].cells] == ["-"] * 5

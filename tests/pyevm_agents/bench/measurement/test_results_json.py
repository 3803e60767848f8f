"""Reports as JSON: they read as written, and errors name the field."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyevm_agents.bench.measurement.results import FORM, Report
from pyevm_agents.bench.measurement.results_json import from_json, read_report, to_json
from pyevm_agents.errors import ConfigError
from pyevm_agents.reports.number_format import Interval
from tests.pyevm_agents.bench import made_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: st.integers(),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    NoneType: st.none(),
}


def values_of(wanted: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - a type, or a form of one
    """Return a strategy of a type's values: the same rules as the codec's."""
    if isinstance(wanted, type) and is_dataclass(wanted):
        types = get_type_hints(wanted)
        return st.builds(
            wanted, **{each.name: values_of(types[each.name]) for each in fields(wanted)}
        )
    kind, inner = get_origin(wanted), get_args(wanted)
    if kind is UnionType:
        return st.one_of(*map(values_of, inner))
    if kind is tuple and inner[-1] is Ellipsis:
        return st.lists(values_of(inner[0]), max_size=2).map(tuple)
    if kind is tuple:
        return st.tuples(*map(values_of, inner))
    return PLAIN[wanted]


REPORTS = values_of(Report).map(lambda report: replace(report, form=FORM))


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(REPORTS)
def test_what_is_written_is_read(report: Report) -> None:
    assert from_json(to_json(report)) == report


@pytest.mark.parametrize("report", made_up.degenerate().values(), ids=made_up.degenerate())
def test_every_kind_of_report_is_read(report: Report) -> None:
    assert from_json(to_json(report).encode()) == report


def test_what_is_no_number_is_still_read() -> None:
    full = made_up.report()
    odd = Interval(middle=math.nan, low=-math.inf, high=math.inf)
    text = to_json(replace(full, yardsticks=(replace(full.yardsticks[0], ns_per_gas=odd),)))
    read = from_json(text).yardsticks[0].ns_per_gas
    assert math.isnan(read.middle)
    assert (read.low, read.high) == (-math.inf, math.inf)
    assert json.loads(text)["yardsticks"][0]["ns_per_gas"] == {
        "middle": "NaN",
        "low": "-Infinity",
        "high": "Infinity",
    }


def test_samples_stand_in_a_row() -> None:
    lines = to_json(made_up.report()).splitlines()
    assert max(map(len, lines)) < 1_500
    assert sum('"seconds": [' in line and line.endswith("],") for line in lines) > 50


def test_a_report_of_before_numeric_models_is_read() -> None:
    form = json.loads(to_json(made_up.report()))
    del form["numeric"]
    assert from_json(json.dumps(form)) == replace(made_up.report(), numeric=None)


def _without(form: dict[str, Any]) -> None:
    del form["runs"][1]["usage"]["cold_tokens"]


def _with(form: dict[str, Any]) -> None:
    form["machine"]["colour"] = "red"


WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    r"report\.runs\[1\]\.usage\.cold_tokens is missing": _without,
    r"report\.machine\.colour is unknown; there are processor, cores": _with,
    r"report\.machine\.cores true: must be a whole number": lambda form: form["machine"].update(
        cores=True
    ),
    r"report\.machine\.cores 2\.0: must be a whole number": lambda form: form["machine"].update(
        cores=2.0
    ),
    r"report\.noise\.spread \"much\": must be a number, or one of": lambda form: form[
        "noise"
    ].update(spread="much"),
    r"report\.noise\.beats_s 3: must be a list": lambda form: form["noise"].update(beats_s=3),
    r"report\.machine \[\]: must be an object": lambda form: form.update(machine=[]),
    r"report\.left_out\[0\] of 1 items: must be of 2": lambda form: form.update(left_out=[["x"]]),
    r"report\.mode null: must be a text": lambda form: form.update(mode=None),
    r"report\.mode is .*surrogates": lambda form: form.update(mode="\ud800"),
    r"a report of form 7, and this version reads form 1": lambda form: form.update(form=7),
    r"report\.form \"1\": must be a whole number": lambda form: form.update(form="1"),
    r"report\.seconds is 1000.*…: int too large": lambda form: form.update(seconds=10**400),
}


@pytest.mark.parametrize(("message", "spoil"), WRONG.items(), ids=WRONG)
def test_what_is_wrong_is_named(message: str, spoil: Callable[[dict[str, Any]], object]) -> None:
    form = json.loads(to_json(made_up.report()))
    spoil(form)
    with pytest.raises(ConfigError, match=message):
        from_json(json.dumps(form))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "report \\[\\]: must be an object"),
        ("{", "not JSON"),
        (b"\xff", "not JSON"),
        ('{"form": NaN}', "NaN: not a JSON number"),
        ('{"form": 1, "form": 1}', "member 'form': must stand once"),
        ("[" * 100_000, "must nest"),
        ('{"form": 1' + "0" * 5_000 + "}", "must have at most"),
    ],
)
def test_what_is_no_report_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_json(text)


def test_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json can't be read: No such file"):
        read_report(tmp_path / "none.json")
    file = tmp_path / "report.json"
    file.write_text("{}")
    with pytest.raises(ConfigError, match=r"report\.json holds no report: report\.form is missing"):
        read_report(file)
    file.write_text(to_json(made_up.report()))
    assert read_report(file) == made_up.report()

"""Tracers by name, and their options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.errors import ConfigError
from pyevm_agents.tracing import MuxTracer, NoopTracer, create_tracer
from pyevm_agents.tracing.call_tracer import CallTracer
from pyevm_agents.tracing.erc7562_tracer import Erc7562Tracer
from pyevm_agents.tracing.flat_call_tracer import FlatCallTracer
from pyevm_agents.tracing.four_byte_tracer import FourByteTracer
from pyevm_agents.tracing.keccak_tracer import KeccakTracer
from pyevm_agents.tracing.prestate_tracer import PrestateTracer
from pyevm_agents.tracing.registry import TRACERS
from pyevm_agents.tracing.struct_log_tracer import StructLogTracer
from tests.pyevm_agents.tracing.scenarios import BY_NAME

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("callTracer", CallTracer),
        ("prestateTracer", PrestateTracer),
        ("4byteTracer", FourByteTracer),
        ("flatCallTracer", FlatCallTracer),
        ("erc7562Tracer", Erc7562Tracer),
        ("keccak256PreimageTracer", KeccakTracer),
        ("noopTracer", NoopTracer),
        ("muxTracer", MuxTracer),
        (None, StructLogTracer),
        ("", StructLogTracer),
    ],
)
def test_makes_the_tracer_of_the_name(name: str | None, kind: type) -> None:
    assert type(create_tracer({"tracer": name})) is kind


@pytest.mark.parametrize("request_", [None, {}, {"tracer": None, "timeout": "10s", "reexec": 5}])
def test_makes_struct_logs_where_none_is_named(request_: object) -> None:
    assert isinstance(create_tracer(request_), StructLogTracer)


def test_options_that_are_null_are_their_defaults() -> None:
    fields = ["disableStack", "disableStorage", "enableMemory", "enableReturnData", "limit"]
    create_tracer(dict.fromkeys([*fields, "tracerConfig"]))
    create_tracer({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": None}})


@pytest.mark.parametrize("name", TRACERS)
def test_options_of_other_tracers_are_ignored(name: str) -> None:
    create_tracer({"tracer": name, "tracerConfig": {"onlyTopCall": True, "noSuchOption": [1]}})


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ("callTracer", "'callTracer'"),
        ({"tracer": 5}, "tracer 5: must be a name"),
        ({"tracer": "stateDiff"}, "'stateDiff': unknown tracer"),
        ({"tracer": "{step: function() {}}"}, "JavaScript"),
        ({"tracer": "callTracer", "tracerConfig": {"withLog": "yes"}}, "withLog"),
        ({"tracer": "callTracer", "tracerConfig": [1]}, "callTracer: options must be an object"),
        ({"tracer": "muxTracer", "tracerConfig": {"callTracer": [1]}}, "callTracer: "),
        (
            {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True, "includeEmpty": True}},
            "cannot use diffMode with includeEmpty",
        ),
        *(
            ({"tracer": "erc7562Tracer", "tracerConfig": {"ignoredOpcodes": value}}, "ignored")
            for value in ("0x1", [1], ["1"], [None], ["0xzz"], {"0x1": 1})
        ),
        ({"tracer": "muxTracer", "tracerConfig": {"x": {}}}, "'x'"),
        ({"enableMemory": 1}, "enableMemory"),
        ({"limit": -1}, "limit"),
        ({"limit": True}, "limit"),
        ({"fullStorage": True, "speed": 1}, "fullStorage, speed"),
    ],
)
def test_names_what_is_wrong(request_: object, named: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        create_tracer(request_)
    assert named in str(caught.value)
    assert isinstance(caught.value, ConfigError)


@given(
    request_=JSON
    | st.fixed_dictionaries(
        {"tracer": st.sampled_from([*TRACERS, "muxTracer"]), "tracerConfig": JSON}
    )
)
def test_any_request_makes_a_tracer_or_a_message(request_: object) -> None:
    try:
        create_tracer(request_)
    except ConfigError as error:
        assert str(error)  # noqa: PT017 - either is right


def test_several_tracers_see_one_execution() -> None:
    parts: dict[str, object] = {
        "callTracer": {"withLog": True},
        "prestateTracer": {"diffMode": True},
        "4byteTracer": None,
        "erc7562Tracer": {"withLog": True},
        "noopTracer": {},
        "muxTracer": {"flatCallTracer": {}},
    }
    scenario = BY_NAME["calls of all kinds"]
    together = scenario.trace(create_tracer({"tracer": "muxTracer", "tracerConfig": parts}))
    alone = {
        name: scenario.trace(create_tracer({"tracer": name, "tracerConfig": options}))
        for name, options in parts.items()
    }
    assert together == alone


def test_the_noop_tracer_has_an_empty_object() -> None:
    assert BY_NAME["logs at depth"].trace(create_tracer({"tracer": "noopTracer"})) == {}

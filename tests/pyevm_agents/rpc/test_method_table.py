"""The method table: parameters by position and by name."""

from __future__ import annotations

import pytest

from pyevm_agents.rpc.errors import INVALID_PARAMS, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.registry import collect_methods
from pyevm_agents.rpc.params import parse_quantity, parse_text

TABLE = MethodTable()


@TABLE.method(
    "test_one", "test_alias", parse_quantity, optional(parse_text, "nothing"), optional(parse_text)
)
def one(rpc: object, first_number: int, some_text: str, last: str | None) -> object:
    """Return the arguments.

    This line is not part of the description.
    """
    return (rpc, first_number, some_text, last)


METHOD = TABLE.methods["test_one"]


def test_a_method_has_names_and_a_description() -> None:
    assert TABLE.methods["test_alias"].handler is METHOD.handler
    assert METHOD.names == ("firstNumber", "someText", "last")
    assert METHOD.description == "Return the arguments."
    assert not METHOD.is_quick


@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        (["0x1"], [1, "nothing", None]),
        (["0x1", None, "z"], [1, "nothing", "z"]),
        (["0x1", "y", "z"], [1, "y", "z"]),
        ({"firstNumber": "0x1", "last": "z"}, [1, "nothing", "z"]),
    ],
)
def test_parameters_come_by_place_or_by_name(params: object, arguments: list[object]) -> None:
    assert METHOD.parse_arguments(params) == arguments  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ([], "missing value for required argument 0: firstNumber"),
        (["0x1", "y", "z", 1], "too many params: test_one takes at most 3, not 4"),
        (["x"], "invalid params: firstNumber: 'x'"),
        (["0x1", 5], "invalid params: someText: 5"),
        ({"first": 1}, "unknown params first: test_one takes firstNumber, someText, last"),
    ],
)
def test_errors_name_the_parameter(params: object, told: str) -> None:
    with pytest.raises(RpcError) as caught:
        METHOD.parse_arguments(params)  # type: ignore[arg-type]
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.message.startswith(told)


def test_readers_and_parameters_are_as_many() -> None:
    with pytest.raises(TypeError, match="test_two: 2 readers for"):
        TABLE.method("test_two", parse_quantity, parse_quantity)(one)


def test_every_method_says_what_it_does() -> None:
    for name, method in collect_methods().items():
        assert method.name == name
        assert method.description.endswith("."), name
        assert "_" in name

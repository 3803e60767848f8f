"""Escaped lines, `toolAbi` and tuples of parameters, against Python's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from precompiles.abi import ParamType
from precompiles.escaping import escape_line
from tests.contracts.plain_evm import plain_evm, reverts

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

TEXTS = plain_evm().deploy("DraftTexts")
"""Its functions are pure: one contract for all examples."""

ODD = "\n\r\t\x00\x1f\x7f\x80\x85\x9f\xa0\u2027\u2028\u2029\u202aé🦉\\nu"
VALUES = {
    "string": st.text(),
    "address": st.binary(min_size=20, max_size=20).map(lambda raw: "0x" + raw.hex()),
    "bool": st.booleans(),
    "int256": st.integers(-(2**255), 2**255 - 1),
    "uint256": st.integers(0, 2**256 - 1),
}
TYPES = list(VALUES)
VALUES |= {f"{one}[]": st.lists(VALUES[one], max_size=3) for one in TYPES}
ANY = st.sampled_from(list(VALUES)).flatmap(lambda one: st.tuples(st.just(one), VALUES[one]))


@pytest.fixture
def texts(evm: Evm) -> Contract:
    return evm.deploy("DraftTexts")


@given(st.text() | st.text(st.sampled_from(ODD)))
def test_a_line_is_escaped_as_the_executor_does(text: str) -> None:
    assert TEXTS("escape", text) == escape_line(text)


@given(st.lists(ANY, max_size=5))
def test_parameters_become_the_tuple_that_a_function_takes(drawn: list[tuple[str, object]]) -> None:
    kinds = {kind.abi_type: int(kind) for kind in ParamType}
    params = [(kinds[one], encode([one], [value])) for one, value in drawn]
    together = encode([one for one, _ in drawn], [value for _, value in drawn])
    assert TEXTS("encode", params) == together


@pytest.mark.parametrize(
    "param",
    [
        (4, b""),
        (4, bytes(31)),
        (4, bytes(64)),
        (0, bytes(32)),
        (0, bytes(64)),
        (0, encode(["string"], ["abc"])[:-1]),
    ],
)
def test_a_value_of_another_form_is_refused(texts: Contract, param: tuple[int, bytes]) -> None:
    with reverts("MalformedParam", 1):
        texts("encode", [(4, bytes(32)), param])


PAY = [(1, "to", "address"), (4, "amount", "uint256")]
JSON_INPUTS = '[{"name":"to","type":"address"},{"type":"uint","name":"amount"}]'


@pytest.mark.parametrize(
    ("tool_abi", "signature", "parameters", "output"),
    [
        ("pay(address to, uint256 amount)", "pay(address,uint256)", PAY, ""),
        (
            "function pay(address to,uint amount) external returns (bool)",
            *("pay(address,uint256)", PAY, "bool"),
        ),
        ("f() returns (uint)", "f()", [], "uint256"),
        ("f() view returns (string memory a, int b)", "f()", [], "(string,int256)"),
        (
            "f(string memory text, bool[] flags, uint8 small)",
            "f(string,bool[],uint8)",
            [(0, "text", "string"), (7, "flags", "bool[]"), (4, "small", "uint8, from 0 to 255")],
            "",
        ),
        (
            f'{{"type":"function","name":"pay","inputs":{JSON_INPUTS}}}',
            *("pay(address,uint256)", PAY, ""),
        ),
        (
            (
                ' {"inputs" : [ ] , "outputs":[{"internalType":"uint256","name":"","type":"uint"}],'
                ' "x":{"a":["}\\"",1]}, "name":"f","stateMutability":"view"} '
            ),
            *("f()", [], "uint256"),
        ),
        (
            (
                '{"name":"f","inputs":[{"name":"","type":"int8"}],'
                '"outputs":[{"type":"string"},{"type":"bool"}]}'
            ),
            *("f(int8)", [(3, "argument1", "int8, from -128 to 127")], "(string,bool)"),
        ),
    ],
)
def test_a_tool_abi_is_read(
    texts: Contract,
    tool_abi: str,
    signature: str,
    parameters: list[tuple[int, str, str]],
    output: str,
) -> None:
    expected = (keccak(text=signature)[:4], (tuple(parameters),), output)
    assert texts("read", tool_abi) == expected


@pytest.mark.parametrize(
    ("tool_abi", "kind"),
    [
        ("f(bytes data)", "bytes"),
        ("f(bytes32 data)", "bytes32"),
        ("f(uint7 data)", "uint7"),
        ("f(uint256[2] data)", "uint256[2]"),
        ('{"name":"f","inputs":[{"name":"a","type":"tuple","components":[]}]}', "tuple"),
    ],
)
def test_an_unsupported_type_is_refused_by_name(texts: Contract, tool_abi: str, kind: str) -> None:
    signature = tool_abi if tool_abi[0] != "{" else "f(tuple a)"
    with reverts("UnsupportedType", signature, kind):
        texts("read", tool_abi)


@pytest.mark.parametrize(
    ("tool_abi", "position"),
    [
        ("{", 1),
        ('{"name":"f"}', 12),
        ('{"name":"f","inputs":[]', 23),
        ('{"name":"f","inputs":[]} x', 25),
        ('{"type":"event","name":"f","inputs":[]}', 15),
        ('{"name":"f,","inputs":[]}', 10),
        ('{"name":"f)(","inputs":[]}', 10),
        ('{"name":"f","inputs":[{"name":"a, uint256 b","type":"bool"}]}', 32),
        ('{"name":"f","inputs":[{"name":"a"}]}', 34),
        ('{"name":"f","inputs":[],"x":', 28),
        ("f() returns", 11),
        ("f() returns ()", 13),
        ("f() returns (uint256", 20),
    ],
)
def test_other_texts_are_refused_with_the_position(
    texts: Contract, tool_abi: str, position: int
) -> None:
    with reverts("MalformedToolAbi", tool_abi, position):
        texts("read", tool_abi)


@pytest.mark.parametrize("tool_abi", ["", "f", "(uint256 a)", "f(uint256 a"])
def test_a_text_without_a_function_is_refused(texts: Contract, tool_abi: str) -> None:
    with reverts("MalformedSignature", tool_abi):
        texts("read", tool_abi)

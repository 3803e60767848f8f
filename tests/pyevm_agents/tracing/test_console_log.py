"""`console.log` of Hardhat and forge."""

from __future__ import annotations

import pytest
from eth_abi import encode
from eth_utils import keccak
from hypothesis import given
from hypothesis import strategies as st

from pyevm_agents.chain import Chain
from pyevm_agents.chain.calls import AccountOverride, Call
from pyevm_agents.config import ChainConfig
from pyevm_agents.node.listeners import NodeListener
from pyevm_agents.tracing.console_log import (
    CONSOLE_ADDRESS,
    decode_console_line,
    iter_console_lines,
    load_signatures,
)
from tests.pyevm_agents.rpc.local_node import FIRST, STRANGER, local_node

PRINTER = bytes.fromhex("aa" * 20)
ABI_NAMES = {"uint": "uint256", "int": "int256"}


def logged(types: str, *values: object) -> bytes:
    """Return the calldata of a call to `log`."""
    named = [ABI_NAMES.get(one, one) for one in types.split(",")] if types else []
    return keccak(text=f"log({types})")[:4] + encode(named, values)


@pytest.mark.parametrize(
    ("types", "values", "line"),
    [
        ("", (), ""),
        ("string", ("hello",), "hello"),
        ("uint256", (7,), "7"),
        ("uint", (7,), "7"),
        ("int256", (-7,), "-7"),
        ("bool", (True,), "true"),
        ("address", ("0x" + "ab" * 20,), "0xABaBaBaBABabABabAbAbABAbABabababaBaBABaB"),
        ("bytes", (b"\x01\xff",), "0x01ff"),
        ("bytes4", (b"abcd",), "0x61626364"),
        (
            "uint256,string,bool,address",
            (1, "a", False, "0x" + "00" * 20),
            f"1 a false 0x{'0' * 40}",
        ),
        ("string,uint256", ("%d tokens", 5), "5 tokens"),
        ("string,uint256", ("tokens:", 5), "tokens: 5"),
        ("string,string,uint256", ("%s has", "Bob", 3), "Bob has 3"),
        ("string,uint256", ("%s %s", 1), "1 %s"),
        ("string,uint256", ("100%% %x", 255), "100% 0xff"),
        ("string,uint256", ("%e", 15 * 10**17), "1.5e18"),
        ("string,uint256", ("%18e", 15 * 10**17), "1.5"),
        ("string,uint256", ("%18e", 5), "0.000000000000000005"),
        ("string,string", ("%d", "no number"), "NaN"),
        ("string,int256", ("%i", -3), "-3"),
        ("string", ("50% of it %s",), "50% of it %s"),
        ("string,bool", ("%s", True), "true"),
    ],
)
def test_pieces_become_a_line(types: str, values: tuple[object, ...], line: str) -> None:
    assert decode_console_line(logged(types, *values)) == line


def test_a_line_steers_no_terminal() -> None:
    assert (
        decode_console_line(logged("string", "\x1b[2J\u202eabc\nnext"))
        == "\\u001b[2J\\u202eabc\nnext"
    )


def test_a_text_need_not_be_utf8() -> None:
    data = keccak(text="log(string)")[:4] + encode(["bytes"], [b"a\xffb"])
    assert decode_console_line(data) == "a\ufffdb"


@given(st.binary(max_size=300))
def test_whatever_is_sent_does_no_harm(data: bytes) -> None:
    decode_console_line(data)
    for selector in list(load_signatures())[:40:7]:
        decode_console_line(selector + data)


def test_there_are_all_combinations() -> None:
    four = [types for types in load_signatures().values() if len(types) == 4]
    assert len(four) == 256 + 256 - 81  # Those without a number are there once.


def test_lines_of_a_call_come_in_order_and_reverted_ones_too() -> None:
    first, second = logged("string", "one"), logged("string,uint256", "two", 2)
    # Copies the calldata to memory and calls the console with each half; then reverts.
    length = max(len(first), len(second))
    halves = first.ljust(length, b"\0") + second.ljust(length, b"\0")
    call = "5f5f60{0:02x}60{1:02x}73" + CONSOLE_ADDRESS.hex() + "5afa50"
    code = bytes.fromhex(
        "365f5f37" + call.format(length, 0) + call.format(length, length) + "5f5ffd"
    )
    result = Chain(ChainConfig()).call(
        Call(to=PRINTER, data=halves),  # type: ignore[arg-type]
        overrides={PRINTER: AccountOverride(code=code)},  # type: ignore[dict-item]
    )
    assert result.error is not None
    assert [*iter_console_lines(result.computation)] == ["one", "two 2"]


def test_a_node_tells_what_is_printed_in_transactions_and_calls() -> None:
    code = bytes.fromhex("365f5f375f5f365f73" + CONSOLE_ADDRESS.hex() + "5afa00")
    lines: list[str] = []
    with local_node() as local:
        local.node.listeners.add(NodeListener(on_console_log=lines.append))
        local.ask("anvil_setCode", STRANGER, "0x" + code.hex())
        form = {"from": FIRST, "to": STRANGER, "gas": hex(200_000)}
        local.ask("eth_sendTransaction", form | {"data": "0x" + logged("string", "mined").hex()})
        local.ask("eth_call", form | {"data": "0x" + logged("string", "called").hex()})
    assert lines == ["mined", "called"]

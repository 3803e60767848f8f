"""The tree of calls as text: names, order of logs and calls, ends, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi import encode
from eth_typing import Address
from eth_utils import function_signature_to_4byte_selector as selector_of
from eth_utils import to_checksum_address

from pyevm_agents.abi.address_names import AddressNames
from pyevm_agents.abi.artifacts import describe_contract
from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.tracing import CallTree, call_tree_text
from pyevm_agents.tracing.call_tree_text import iter_call_lines
from pyevm_agents.tracing.console_log import CONSOLE_ADDRESS
from tests.pyevm_agents.tracing.assembler import asm, calling, creating, returning, reverting
from tests.pyevm_agents.tracing.scenario import CONTRACT, Scenario

if TYPE_CHECKING:
    import pytest

INNER = Address(b"\xdd" * 20)
NOBODY = Address(b"\xee" * 20)
NOBODY_NAME = to_checksum_address(NOBODY)
DONE = compute_topic("Done(address,uint256)").hex()
UNDONE = selector_of("Undone(uint256)") + encode(["uint256"], [70_000])

NUMBER = {"name": "count", "type": "uint256"}
SHOP_ABI: list[dict[str, Any]] = [
    {"type": "function", "name": "buy", "inputs": [NUMBER], "outputs": [NUMBER]},
    {"type": "error", "name": "Undone", "inputs": [NUMBER]},
    {
        "type": "event",
        "name": "Done",
        "inputs": [{"name": "by", "type": "address", "indexed": True}, NUMBER],
    },
]
INNER_CODE = asm(reverting(UNDONE))


def log_done(count: int) -> str:
    """Log `Done(INNER, count)`."""
    return f"0x{count:02x} PUSH0 MSTORE 0x{INNER.hex()} 0x{DONE} 0x20 PUSH0 LOG2"


def lines(code: str, data: bytes = b"", **fields: Any) -> list[str]:  # noqa: ANN401 - Scenario's
    """Execute the shop's code; return its tree without the gas."""
    accounts = {
        CONTRACT: GenesisAccount(code=asm(code), balance_wei=100),
        INNER: GenesisAccount(code=INNER_CODE),
    }
    known = KnownContracts()
    known.add(
        describe_contract("Shop", SHOP_ABI, asm(code)),
        describe_contract("Till", SHOP_ABI, INNER_CODE),
    )
    codes = {address: account.code for address, account in accounts.items()}
    names = AddressNames(known=known, get_code=lambda address: codes.get(address, b""))
    tree = CallTree()
    Scenario(name="shop", accounts=accounts, data=data, **fields).trace(tree)
    return [
        line.branches + line.text.partition("] ")[2] if "::" in line.text or "new" in line.text
        else line.branches + line.text
        for line in iter_call_lines(tree, (), names)
    ]  # fmt: skip


def test_logs_and_calls_are_in_their_order() -> None:
    call = calling("CALL", INNER, data=selector_of("buy(uint256)") + encode(["uint256"], [5]))
    end = returning(encode(["uint256"], [7]))
    code = f"{log_done(1)} {call} POP {log_done(2)} {log_done(3)} {end}"
    data = selector_of("buy(uint256)") + encode(["uint256"], [10**18])
    assert lines(code, data, value_wei=3) == [
        "  Shop::buy{value: 3}(count: 1000000000000000000 [1e18])",
        "    ├─ emit Done(by: Till (0xDDdD…DDDd), count: 1)",
        "    ├─ Till::buy(count: 5)",
        "    │   └─ ← [Revert] Undone(70000)",
        "    ├─ emit Done(by: Till (0xDDdD…DDDd), count: 2)",
        "    ├─ emit Done(by: Till (0xDDdD…DDDd), count: 3)",
        "    └─ ← [Return] count: 7",
    ]


def test_what_is_unknown_is_shown_as_it_is() -> None:
    code = " ".join(
        [
            calling("CALL", NOBODY, value_wei=1),
            calling("STATICCALL", Address(bytes(19) + b"\x02"), data=b"\x01"),
            calling(
                "CALL",
                CONSOLE_ADDRESS,
                data=selector_of("log(string)") + encode(["string"], ["hi\x1b"]),
            ),
            creating(asm(returning(INNER_CODE))),
            "0x07 PUSH0 MSTORE 0x05 0x20 PUSH0 LOG1 INVALID",
        ]
    )
    tree = lines(code, b"\x12\x34\x56\x78\x9a")
    assert tree[0] == "  Shop::12345678(0x9a)"
    assert tree[1:3] == [f"    ├─ {NOBODY_NAME}::receive{{value: 1}}()", "    │   └─ ← [Stop]"]
    assert tree[3] == "    ├─ PRECOMPILES::sha256(0x01) [staticcall]"
    assert tree[5] == '    ├─ console::log("hi\\u001b")'
    assert tree[7].startswith("    ├─ → new Till@0x")
    assert tree[8] == f"    │   └─ ← [Return] {len(INNER_CODE)} bytes of code"
    assert tree[9] == f"    ├─ emit topic 0: 0x{5:064x}, data: 0x{7:064x}"
    assert tree[10:] == ["    └─ ← [Halt] invalid opcode: INVALID"]


def test_data_that_do_not_fit_a_function_are_shown_in_hexadecimal() -> None:
    data = selector_of("buy(uint256)") + b"\x01"
    assert lines("STOP", data)[0] == "  Shop::buy(0x01)"


def test_a_long_tree_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_tree_text, "MAX_LINES", 3)
    assert len(lines(" ".join([log_done(1)] * 2))) == 4
    tree = lines(" ".join([log_done(1)] * 3))
    assert len(tree) == 4
    assert tree[-1].startswith("  … more calls; debug_traceTransaction")


def test_deep_calls_are_a_tree() -> None:
    tree = lines("PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ADDRESS GAS CALL STOP", gas=2_000_000)
    assert len(tree) > 200
    depth = len(tree) // 2
    assert tree[depth] == "    " + "│   " * (depth - 1) + "└─ ← [Halt] out of gas"
    assert tree[-1] == "    └─ ← [Stop]"
    assert tree[-1] == "    └─ ← [Stop]"

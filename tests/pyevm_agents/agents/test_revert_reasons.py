"""Revert data in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest
from eth.exceptions import OutOfGas, Revert
from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS as EXECUTOR
from pyevm_agents.agents.revert_reasons import decode_revert, explain_failure, register_errors

if TYPE_CHECKING:
    from eth.abc import ComputationAPI
    from eth.exceptions import VMError
    from eth_typing import ABIComponent


def error(signature: str, *arguments: object) -> bytes:
    types = signature[signature.index("(") + 1 : -1].split(",")
    return keccak(text=signature)[:4] + encode(types if arguments else [], arguments)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "no reason given", id="nothing"),
        pytest.param(b"\x01\x02", "0x0102", id="too short"),
        pytest.param(b"\xff" * 36, "0x" + "ff" * 36, id="unknown"),
        pytest.param(error("Error(string)", "no"), "Error('no')", id="require"),
        pytest.param(
            error("Panic(uint256)", 0x11), "Panic(0x11: arithmetic overflow)", id="overflow"
        ),
        pytest.param(error("Panic(uint256)", 0), "Panic(0x00: a check of the compiler)", id="0"),
        pytest.param(error("Panic(uint256)", 0x1234), "Panic(0x1234)", id="unknown panic"),
        pytest.param(error("Panic(uint256)", 17)[:-1], None, id="panic cut short"),
        pytest.param(error("ExecutorUnavailable()"), "ExecutorUnavailable()", id="no arguments"),
        pytest.param(error("UnknownModel(string)", "x"), "UnknownModel(modelId='x')", id="ours"),
        pytest.param(error("UnknownModel(string)", "x")[:-32], None, id="cut short"),
        pytest.param(
            error("Error(string)", "no").replace(b"no", b"\xff\xff"), None, id="not UTF-8"
        ),
        pytest.param(
            bytes.fromhex("08c379a0") + (32).to_bytes(32, "big") + (2**255).to_bytes(32, "big"),
            None,
            id="endless",
        ),
    ],
)
def test_explains(data: bytes, words: str | None) -> None:
    assert decode_revert(data) == (words or "0x" + data.hex())


def test_explains_the_reason_inside_a_reason() -> None:
    inner = error("UnknownSelector(bytes4)", b"\x01\x02\x03\x04")
    outer = error("ToolCallFailed(address,bytes)", b"\xaa" * 20, inner)
    assert decode_revert(outer) == (
        "ToolCallFailed(tool=0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa, "
        "reason=UnknownSelector(selector=0x01020304))"
    )


def test_explains_what_it_was_told_of() -> None:
    data = error("TooMuchOfThis(uint256,bool)", 51, True)  # noqa: FBT003 - a value
    assert decode_revert(data) == "0x" + data.hex()
    inputs: list[ABIComponent] = [
        {"name": "wanted", "type": "uint256"},
        {"name": "", "type": "bool"},
    ]
    register_errors(
        [
            {"type": "event", "name": "TooMuchOfThis", "inputs": []},
            {"type": "error", "name": "TooMuchOfThis", "inputs": inputs},
        ]
    )
    told = decode_revert(error("ToolCallFailed(address,bytes)", b"\xbb" * 20, data))
    assert told.endswith("reason=TooMuchOfThis(wanted=51, True))")


@dataclass(frozen=True, kw_only=True)
class Message:
    """What `explain_failure` asks of a message."""

    code_address: bytes = b"\xaa" * 20
    gas: int = 1_234


@dataclass(frozen=True, kw_only=True)
class Computation:
    """What `explain_failure` asks of a call."""

    error: VMError | None
    output: bytes = b""
    children: tuple[Computation, ...] = ()
    msg: Message = Message()

    @property
    def is_error(self) -> bool:
        return self.error is not None


STARVED = Computation(error=OutOfGas("Out of gas: needed 2"), msg=Message(code_address=EXECUTOR))
FINE = Computation(error=None)
AT_EXECUTOR = (
    "no reason given; a call of the executor at 0x0000000000000000000000000000000000000019 "
    "ran out of gas, of which it had 1,234"
)
TOOL = to_checksum_address(b"\xbb" * 20)
WRAPPED = error("ToolCallFailed(address,bytes)", TOOL, b"")


@pytest.mark.parametrize(
    ("computation", "words"),
    [
        pytest.param(STARVED, "Out of gas: needed 2", id="itself"),
        pytest.param(Computation(error=Revert(b"")), "no reason given", id="nothing"),
        pytest.param(
            Computation(error=Revert(b""), children=(FINE, STARVED)), AT_EXECUTOR, id="its call"
        ),
        pytest.param(
            Computation(
                error=Revert(b""),
                children=(Computation(error=Revert(b""), children=(STARVED,)),),
            ),
            AT_EXECUTOR,
            id="a call's call",
        ),
        pytest.param(
            Computation(
                error=Revert(b""), children=(Computation(error=OutOfGas(""), msg=Message()),)
            ),
            AT_EXECUTOR.replace(
                "the executor at 0x0000000000000000000000000000000000000019",
                "0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa",
            ),
            id="of a contract",
        ),
        pytest.param(
            Computation(error=Revert(b""), children=(STARVED, FINE)),
            "no reason given",
            id="overcome",
        ),
        pytest.param(
            Computation(
                error=Revert(b""),
                children=(Computation(error=Revert(b"\x01"), output=b"\x01", children=(STARVED,)),),
            ),
            "no reason given",
            id="for another reason",
        ),
        pytest.param(
            Computation(error=Revert(b"\x01"), output=b"\x01", children=(STARVED,)),
            "0x01",
            id="with a reason",
        ),
        pytest.param(
            Computation(
                error=Revert(WRAPPED),
                output=WRAPPED,
                children=(Computation(error=Revert(b""), children=(STARVED,)),),
            ),
            f"ToolCallFailed(tool={TOOL}, reason={AT_EXECUTOR.replace(';', ');')}",
            id="inside a reason",
        ),
    ],
)
def test_says_why_a_call_failed(computation: Computation, words: str) -> None:
    assert explain_failure(cast("ComputationAPI", computation)) == words

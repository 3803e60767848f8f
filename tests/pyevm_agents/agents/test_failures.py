"""Revert data as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest
from eth.exceptions import OutOfGas, Revert
from eth_abi import encode
from eth_utils import keccak, to_checksum_address

from precompiles.executor import Executor
from precompiles.spec import EXECUTOR_ADDRESS as EXECUTOR
from pyevm_agents.abi.artifacts import describe_contract
from pyevm_agents.abi.known_contracts import KnownContracts
from pyevm_agents.abi.revert_reasons import decode_revert
from pyevm_agents.agents.failures import explain_failure
from tests.byte_model import PROFILE, ByteModel

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    known = KnownContracts()
    known.add(
        describe_contract(
            "Shop",
            [
                {"type": "event", "name": "TooMuchOfThis", "inputs": []},
                {"type": "error", "name": "TooMuchOfThis", "inputs": inputs},
            ],
        )
    )
    told = decode_revert(error("ToolCallFailed(address,bytes)", b"\xbb" * 20, data), known)
    assert decode_revert(data) == "0x" + data.hex(), "another chain's registry is not shared"
    assert told.endswith("reason=TooMuchOfThis(wanted=51, True))")


@dataclass(frozen=True, kw_only=True)
class Message:
    """The part of a message that `explain_failure` reads."""

    code_address: bytes = b"\xaa" * 20
    storage_address: bytes = b"\xcc" * 20
    gas: int = 1_234
    code: bytes = b""


@dataclass(frozen=True, kw_only=True)
class Computation:
    """The part of a call that `explain_failure` reads."""

    error: VMError | None
    output: bytes = b""
    children: tuple[Computation, ...] = ()
    msg: Message = Message()
    precompiles: Mapping[bytes, object] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        return self.error is not None


CHARGE = "Out of gas: Needed 2000 - Remaining 34 - Reason: Executor prompt tokens"
STARVED = Computation(error=OutOfGas(CHARGE), msg=Message(code_address=EXECUTOR))
FINE = Computation(error=None)
AT_EXECUTOR = (
    "no reason given; a call of the executor at 0x0000000000000000000000000000000000000019 "
    "ran out of gas: it had 1,234 and needed at least 3,200 (Executor prompt tokens)"
)
TOOL = to_checksum_address(b"\xbb" * 20)
WRAPPED = error("ToolCallFailed(address,bytes)", TOOL, b"")


@pytest.mark.parametrize(
    ("computation", "words"),
    [
        pytest.param(STARVED, CHARGE, id="itself"),
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
            "no reason given; a call of 0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa "
            "ran out of gas: it had 1,234",
            id="of a contract",
        ),
        pytest.param(
            Computation(
                error=Revert(b""),
                children=(Computation(error=OutOfGas(""), msg=Message(code_address=b"")),),
            ),
            "no reason given; a call of 0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC "
            "ran out of gas: it had 1,234",
            id="of a creation",
        ),
        pytest.param(
            Computation(
                error=Revert(b""),
                children=(Computation(error=OutOfGas("40 were not enough"), msg=Message()),),
            ),
            "no reason given; a call of 0xaAaAaAaaAaAaAaaAaAAAAAAAAaaaAaAaAaaAaaAa "
            "ran out of gas: it had 1,234 (40 were not enough)",
            id="without a charge",
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


def test_lists_the_models_of_the_chain_if_one_is_unknown() -> None:
    executor = Executor([(PROFILE, ByteModel([]))])
    data = error("ToolCallFailed(address,bytes)", TOOL, error("UnknownModel(string)", "gpt-4"))
    reverted = Computation(error=Revert(data), output=data, precompiles={EXECUTOR: executor})
    assert explain_failure(cast("ComputationAPI", reverted)) == (
        f"ToolCallFailed(tool={TOOL}, reason=UnknownModel(modelId='gpt-4')); "
        "this chain's models: 'bytes', 'llama_model_3'"
    )


@pytest.mark.parametrize("function", ["name()", "description()", "inputDescription()"])
def test_names_the_metadata_function_that_failed(function: str) -> None:
    selector = keccak(text=function)[:4]
    data = error("ToolMetadataFailed(address,bytes4,bytes)", TOOL, selector, b"")
    assert decode_revert(data) == (
        f"ToolMetadataFailed(tool={TOOL}, selector={function}, reason=no reason given): "
        "is this address a tool (IERCAgentTool)?"
    )

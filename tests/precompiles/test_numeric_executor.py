"""The numeric models' precompile on a chain: every kind of call, every refusal, exact gas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth.exceptions import InsufficientFunds, OutOfGas, Revert
from eth.vm.message import Message
from eth_abi import decode, encode
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from precompiles.numeric_executor import NumericExecutor, compute_run_gas
from precompiles.numeric_gas import NumericGasSchedule
from precompiles.numeric_model import NumericFaultError
from pyevm_agents.bench.measurement.assembly import assemble
from pyevm_agents.chain import Call
from pyevm_agents.config import FORKS
from tests.chain_bench import OWNER, STRANGER
from tests.numeric_model import (
    DESCRIBE_MODEL,
    MODELS,
    RUN_MODEL,
    SumModel,
    describe_call,
    make_numeric_bench,
    profile_of,
    run_call,
)
from tests.precompiles.test_executor import (
    CALL,
    CALLCODE,
    DELEGATECALL,
    EXECUTOR,
    STATICCALL,
    assert_refused,
    error,
    forward,
    request,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI

    from tests.chain_bench import Bench

INPUT = (50, 7, -3)
OUTPUT = (54, 46)
RUN_GAS = 3_000 + 16 * (4 + 32 * 8) + 3 + 16 * 128
"""Base, calldata of 8 words and a selector, 41 operations at 4 a gas, output of 4 words."""


def output_of(computation: ComputationAPI) -> tuple[int, ...]:
    computation.raise_if_error()
    (values,) = decode(["int256[]"], computation.output)
    assert computation.output == encode(["int256[]"], [values])
    return tuple(values)


def apply_message(
    bench: Bench, data: bytes, *, gas: int = 1_000_000, is_static: bool = False
) -> ComputationAPI:
    """Call the precompile in a frame of its own, without intrinsic gas."""
    state = bench.chain.state()
    message = Message(
        gas=gas, to=MODELS, sender=OWNER, value=0, data=data, code=b"", is_static=is_static
    )
    context = state.get_transaction_context_class()(gas_price=0, origin=OWNER)
    return state.computation_class.apply_message(state, message, context)


# -- ways in -- #


def test_answers_a_transaction() -> None:
    b = make_numeric_bench()
    receipt, computation = b.send(MODELS, run_call(INPUT))
    assert receipt.state_root == b"\x01"
    assert output_of(computation) == OUTPUT


@pytest.mark.parametrize("fork", FORKS)
def test_answers_an_eth_call_under_each_fork(fork: str) -> None:
    assert output_of(make_numeric_bench(fork=fork).call(MODELS, run_call(INPUT))) == OUTPUT


@pytest.mark.parametrize("kind", [CALL, STATICCALL], ids=["CALL", "STATICCALL"])
def test_answers_a_contract(kind: int) -> None:
    child = forward(make_numeric_bench(), kind, run_call(INPUT), target=MODELS)
    assert output_of(child) == OUTPUT
    assert child.get_gas_used() == RUN_GAS


@pytest.mark.parametrize("kind", [DELEGATECALL, CALLCODE], ids=["DELEGATECALL", "CALLCODE"])
def test_refuses_to_run_as_another_account(kind: int) -> None:
    child = forward(make_numeric_bench(), kind, run_call(INPUT), target=MODELS)
    assert_refused(child, error("DelegateCallNotAllowed()"))
    assert child.get_gas_used() == 0


def test_answers_a_contract_under_construction() -> None:
    # Copies the calldata appended to its init code to memory, and calls 0x1a.
    data, prefix = run_call(INPUT), 0x26
    code = bytes.fromhex(f"61{len(data):04x}60{prefix:02x}5f395f5f61{len(data):04x}5f5f601a5af1")
    b = make_numeric_bench()
    _, computation = b.send(None, code.ljust(prefix, b"\x00") + data)
    computation.raise_if_error()
    assert output_of(computation.children[0]) == OUTPUT


def test_refuses_value_by_transaction_and_keeps_the_sender_whole() -> None:
    b = make_numeric_bench()
    receipt, computation = b.send(MODELS, run_call(INPUT), value_wei=7)
    assert receipt.state_root == b""
    assert_refused(computation, error("ValueNotAccepted(uint256)", 7))
    assert b.chain.balance(MODELS) == 0


@pytest.mark.parametrize("kind", [CALL, CALLCODE], ids=["CALL", "CALLCODE"])
def test_refuses_value_by_call(kind: int) -> None:
    child = forward(make_numeric_bench(), kind, run_call(INPUT), target=MODELS, value=7)
    refused = "DelegateCallNotAllowed()" if kind == CALLCODE else "ValueNotAccepted(uint256)"
    assert_refused(child, error(refused, *([7] if kind == CALL else [])))
    # A call with value has its stipend, of which nothing is used.
    assert child.get_gas_used() == 0


DELEGATED = Address(b"\xde" * 20)
DELEGATES = {DELEGATED: b"\xef\x01\x00" + MODELS}


def test_an_account_that_delegates_here_runs_no_code_by_transaction() -> None:
    model = SumModel()
    receipt, computation = make_numeric_bench({"sum": model}, codes=DELEGATES).send(
        DELEGATED, run_call(INPUT)
    )
    assert receipt.state_root == b"\x01"
    assert (computation.output, model.runs) == (b"", [])


@pytest.mark.parametrize("kind", range(4), ids=["CALL", "STATICCALL", "DELEGATECALL", "CALLCODE"])
def test_an_account_that_delegates_here_runs_no_code_by_call(kind: int) -> None:
    model = SumModel()
    b = make_numeric_bench({"sum": model}, codes=DELEGATES)
    child = forward(b, kind, run_call(INPUT), target=DELEGATED)
    assert child.is_success
    assert (child.output, model.runs) == (b"", [])


def test_the_address_is_warm_and_has_code() -> None:
    b = make_numeric_bench()
    assert b.chain.code(MODELS) == bytes.fromhex("63e7e23a9960e01b5f5260045ffd")
    # BALANCE(0x1a): 100 gas if warm; of another account 2,600.
    costs = [
        b.chain.call(Call(to=None, data=assemble(f"{to} BALANCE POP STOP"))).gas_used
        for to in ("0x1a", "0x2a")
    ]
    assert costs[1] - costs[0] == 2_500


@pytest.mark.parametrize("script", [None, []], ids=["none", "a language model"])
def test_a_chain_without_numeric_models_has_nothing_there(script: list[str] | None) -> None:
    b = make_numeric_bench({}, script=script)
    assert b.chain.code(MODELS) == b""
    assert MODELS not in b.chain.state().computation_class.get_precompiles()
    assert b.call(MODELS, run_call(INPUT)).output == b""


def test_its_code_refuses_where_the_precompile_is_missing() -> None:
    code = make_numeric_bench().chain.code(MODELS)
    plain = make_numeric_bench({}, codes={MODELS: code})
    assert_refused(plain.call(MODELS, run_call(INPUT)), error("ModelsUnavailable()"))


# -- calldata -- #


def calldata(*words: int | bytes, selector: bytes = RUN_MODEL) -> bytes:
    return selector + b"".join(
        word.ljust(32, b"\0") if isinstance(word, bytes) else word.to_bytes(32, "big")
        for word in words
    )


MOST = 2**256 - 1
MALFORMED = {
    "selector alone": (calldata(), "reads past the end: byte 0 of 0"),
    "no input": (calldata(0x40), "reads past the end: byte 64 of 32"),
    "offset in the head": (
        calldata(0x3F, 0x60, 3, b"sum", 0),
        "modelId starts at byte 63, within the head of 64",
    ),
    "input in the head": (
        calldata(0x40, 0x20, 3, b"sum", 0),
        "input starts at byte 32, within the head of 64",
    ),
    "offset past the end": (calldata(MOST, 0x80, 3, b"sum", 0), f"byte {MOST} of 160"),
    "text past the end": (
        calldata(0x40, 0x80, 65, b"sum", 0),
        "modelId of 65 bytes does not fit in 160 bytes",
    ),
    "text without padding": (
        calldata(0x60, 0x40, 0, 3) + b"sum",
        "modelId of 3 bytes does not fit in 131 bytes",
    ),
    "endless text": (calldata(0x40, 0x80, MOST, b"sum", 0), f"modelId of {MOST} bytes does not"),
    "padding": (calldata(0x40, 0x80, 3, b"sum!", 0), "the padding of modelId is not zero"),
    "array past the end": (
        calldata(0x40, 0x80, 3, b"sum", 2, 1),
        "an array of 2 items does not fit in 192 bytes",
    ),
    "endless array": (calldata(0x40, 0x80, 3, b"sum", MOST), f"an array of {MOST} items does not"),
    "one offset for both": (calldata(0x40, 0x40, 0), "modelId and input share bytes"),
    "text within the array": (calldata(0x60, 0x40, 1, 0), "modelId and input share bytes"),
    "array within the text": (calldata(0x40, 0x60, 32, 0), "modelId and input share bytes"),
    "a description without text": (
        calldata(selector=DESCRIBE_MODEL),
        "reads past the end: byte 0 of 0",
    ),
    "a description in its head": (
        calldata(0, selector=DESCRIBE_MODEL),
        "modelId starts at byte 0, within the head of 32",
    ),
}


@pytest.mark.parametrize(("data", "reason"), MALFORMED.values(), ids=MALFORMED)
def test_refuses_malformed_calldata(data: bytes, reason: str) -> None:
    computation = make_numeric_bench().call(MODELS, data)
    (stated,) = decode(["string"], computation.output[4:])
    assert reason in stated
    assert_refused(computation, error("MalformedCalldata(string)", stated))
    assert computation.get_gas_used() == 3_000 + 16 * len(data)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(calldata(0x40, 0x80, 3, b"sum", 3, 50, 7, 1), id="as Solidity"),
        pytest.param(calldata(0xC0, 0x40, 3, 50, 7, 1, 3, b"sum"), id="the other order"),
        pytest.param(calldata(0x60, 0xC0, 9, 3, b"sum", 9, 3, 50, 7, 1), id="with gaps"),
        pytest.param(calldata(0x40, 0x80, 3, b"sum", 3, 50, 7, 1) + b"more", id="bytes after"),
        pytest.param(
            RUN_MODEL + calldata(0x41, 0x81)[4:] + b"!" + calldata(3, b"sum", 3, 50, 7, 1)[4:],
            id="odd offsets",
        ),
    ],
)
def test_accepts_each_place_of_the_arguments(data: bytes) -> None:
    computation = make_numeric_bench().call(MODELS, data)
    assert output_of(computation) == (58, 42)
    assert computation.get_gas_used() == 3_000 + 16 * len(data) + 3 + 16 * 128


@pytest.mark.parametrize(
    ("data", "selector"),
    [
        pytest.param(b"", bytes(4), id="empty"),
        pytest.param(RUN_MODEL[:3], RUN_MODEL[:3] + b"\0", id="three bytes"),
        pytest.param(request(), bytes.fromhex("7e636a24"), id="runNextIteration"),
    ],
)
def test_refuses_an_unknown_selector(data: bytes, selector: bytes) -> None:
    computation = make_numeric_bench().call(MODELS, data)
    assert_refused(computation, error("UnknownSelector(bytes4)", selector))
    assert computation.get_gas_used() == 3_000 + 16 * len(data)


def test_takes_calldata_up_to_the_limit_and_not_a_byte_more() -> None:
    b, data = make_numeric_bench(), run_call(INPUT)
    assert output_of(b.call(MODELS, data.ljust(65_536, b"\0"))) == OUTPUT
    computation = b.call(MODELS, data.ljust(65_537, b"\0"))
    assert_refused(computation, error("CalldataTooLarge(uint256,uint256)", 65_537, 65_536))
    assert computation.get_gas_used() == 0


@pytest.mark.parametrize("call", [run_call(INPUT), describe_call()], ids=["run", "describe"])
def test_refuses_a_name_that_is_not_utf8(call: bytes) -> None:
    data = call.replace(b"sum", b"su\xff")
    computation = make_numeric_bench().call(MODELS, data)
    assert_refused(computation, error("InvalidUtf8(string)", "modelId"))


# -- models -- #


def test_knows_a_model_by_name_and_digest() -> None:
    model = SumModel()
    b = make_numeric_bench({"sum": model, "other": SumModel(salt=1)})
    for model_id in ("sum", "0x" + model.digest.hex()):
        assert output_of(b.call(MODELS, run_call(INPUT, model_id))) == OUTPUT
    assert len(model.runs) == 2


@pytest.mark.parametrize(
    "model_id",
    ["", "Sum", "sum ", "bytes", "0X" + SumModel().digest.hex(), SumModel().digest.hex()],
)
def test_refuses_an_unknown_model(model_id: str) -> None:
    b = make_numeric_bench(script=[])
    for data in (run_call(INPUT, model_id), describe_call(model_id)):
        computation = b.call(MODELS, data)
        assert_refused(computation, error("UnknownModel(string)", model_id))
        assert computation.get_gas_used() == 3_000 + 16 * len(data)


def test_two_models_cannot_share_a_name_or_a_file() -> None:
    model = SumModel()
    for name in ("sum", "other"):
        with pytest.raises(ValueError, match="two models are called"):
            NumericExecutor([(profile_of(model), model), (profile_of(model, name), model)])


# -- inputs -- #


@pytest.mark.parametrize("values", [(), (1, 2), (1, 2, 3, 4)])
def test_refuses_another_number_of_inputs_before_the_operations_gas(values: Sequence[int]) -> None:
    data = run_call(values)
    computation = make_numeric_bench().call(MODELS, data)
    wanted = error("InputLengthMismatch(uint256,uint256)", len(values), 3)
    assert_refused(computation, wanted)
    assert computation.get_gas_used() == 3_000 + 16 * len(data)


@pytest.mark.parametrize(
    ("values", "index", "least", "most"),
    [
        ((-101, 0, 0), 0, -100, 100),
        ((101, 9, 0), 0, -100, 100),
        ((0, -1, 0), 1, 0, 7),
        ((0, 8, 2**63), 1, 0, 7),
        ((0, 0, 2**63), 2, -(2**63), 2**63 - 1),
        ((0, 0, -(2**63) - 1), 2, -(2**63), 2**63 - 1),
        ((2**255 - 1, 0, 0), 0, -100, 100),
        ((-(2**255), 0, 0), 0, -100, 100),
    ],
)
def test_refuses_the_first_input_out_of_its_range(
    values: Sequence[int], index: int, least: int, most: int
) -> None:
    model = SumModel()
    computation = make_numeric_bench({"sum": model}).call(MODELS, run_call(values))
    signature = "InputOutOfRange(uint256,int256,int256,int256)"
    assert_refused(computation, error(signature, index, values[index], least, most))
    assert computation.get_gas_used() == RUN_GAS
    assert model.runs == []


@pytest.mark.parametrize("values", [(-100, 0, -(2**63)), (100, 7, 2**63 - 1)])
def test_admits_both_ends_of_each_range(values: Sequence[int]) -> None:
    first, *_ = values
    output = output_of(make_numeric_bench().call(MODELS, run_call(values)))
    assert output == (sum(values), 2 * first - sum(values))


# -- gas -- #


@pytest.mark.parametrize(
    ("data", "gas"),
    [(run_call(INPUT), RUN_GAS), (describe_call(), 3_000 + 16 * 100 + 16 * 32 * 11)],
    ids=["run", "describe"],
)
def test_runs_with_exactly_its_gas_and_not_with_one_less(data: bytes, gas: int) -> None:
    b = make_numeric_bench()
    computation = apply_message(b, data, gas=gas, is_static=True)
    computation.raise_if_error()
    assert computation.get_gas_remaining() == 0
    for less in (gas - 1, 3_000 + 16 * len(data), 3_000 + 16 * len(data) - 1, 0):
        computation = apply_message(b, data, gas=less)
        assert isinstance(computation.error, OutOfGas)
        assert (computation.output, computation.get_gas_remaining()) == (b"", 0)


def test_the_operations_are_paid_for_before_they_are_computed() -> None:
    model = SumModel(operations=10**9)
    b = make_numeric_bench({"sum": model})
    gas = RUN_GAS - 3 + 62_500_000
    assert isinstance(apply_message(b, run_call(INPUT), gas=gas - 1).error, OutOfGas)
    assert model.runs == []
    assert output_of(apply_message(b, run_call(INPUT), gas=gas)) == OUTPUT


def test_each_price_counts() -> None:
    prices = NumericGasSchedule(
        base_gas=7, input_byte_gas=11, output_byte_gas=13, operations_per_gas=17
    )
    b = make_numeric_bench(schedule=prices)
    computation = b.call(MODELS, run_call(INPUT))
    assert computation.get_gas_used() == 7 + 11 * 260 + 3 + 13 * 128
    described = b.call(MODELS, describe_call())
    assert described.get_gas_used() == 7 + 11 * 100 + 13 * 32 * 11


@pytest.mark.parametrize(
    ("operations", "gas"),
    [(1, 1), (16, 1), (17, 2), (32, 2), (33, 3), (2**28, 2**24), (2**63 - 1, 2**59)],
)
def test_a_part_of_a_gas_costs_a_gas(operations: int, gas: int) -> None:
    assert NumericGasSchedule().operation_gas(operations) == gas


@given(
    st.integers(1, 2**62),
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from(["sum", "digest"]),
    st.integers(1, 2**40),
)
def test_a_description_states_what_a_call_costs(
    operations: int, inputs: int, outputs: int, by: str, per_gas: int
) -> None:
    model = SumModel(
        input_decimals=(1,) * inputs,
        output_decimals=(3,) * outputs,
        input_ranges=((0, 9),) * inputs,
        operations=operations,
    )
    schedule = NumericGasSchedule(operations_per_gas=per_gas)
    executor = NumericExecutor([(profile_of(model), model)], schedule=schedule)
    b = make_numeric_bench({"sum": model}, schedule=schedule)
    model_id = "sum" if by == "sum" else "0x" + model.digest.hex()
    described = apply_message(b, describe_call(model_id))
    described.raise_if_error()
    types = ["bytes32", "uint8[]", "uint8[]", "uint256"]
    digest, input_decimals, output_decimals, gas = decode(types, described.output)
    values = [digest, input_decimals, output_decimals, gas]
    assert described.output == encode(types, values)
    assert values[:3] == [model.digest, model.input_decimals, model.output_decimals]
    assert gas == compute_run_gas(schedule, profile_of(model), model_id)
    computation = apply_message(b, run_call([9] * inputs, model_id), gas=gas)
    assert len(output_of(computation)) == outputs
    assert computation.get_gas_remaining() == 0
    assert executor.model_names == ("sum",)


# -- state, reverts, faults -- #


def test_a_call_touches_no_state() -> None:
    b = make_numeric_bench()
    before = b.chain.account(MODELS, [])
    b.send(MODELS, run_call(INPUT))
    assert b.chain.account(MODELS, []) == before
    assert before is not None
    assert (before.nonce, before.balance_wei) == (1, 0)


def test_a_reverting_caller_gets_the_output_and_undoes_its_own_writes() -> None:
    # SSTORE(0, 1), CALL(gas, 0x1a) with the calldata, REVERT with the return data.
    code = assemble(
        "0x01 PUSH0 SSTORE CALLDATASIZE PUSH0 PUSH0 CALLDATACOPY PUSH0 PUSH0 CALLDATASIZE PUSH0 "
        "PUSH0 0x1a GAS CALL POP RETURNDATASIZE PUSH0 PUSH0 RETURNDATACOPY RETURNDATASIZE PUSH0 "
        "REVERT"
    )
    caller = Address(b"\xca" * 20)
    b = make_numeric_bench(codes={caller: code})
    _, computation = b.send(caller, run_call(INPUT))
    assert isinstance(computation.error, Revert)
    assert computation.output == encode(["int256[]"], [OUTPUT])
    account = b.chain.account(caller, [0])
    assert account is not None
    assert not any(account.storage.values())


def test_snapshots_and_blocks_give_the_same_results_again() -> None:
    b = make_numeric_bench()
    snapshot = b.chain.snapshot()
    first, _ = b.send(MODELS, run_call(INPUT))
    head = b.chain.head.hash
    b.chain.revert(snapshot)
    assert b.chain.head.block_number == 0
    again, computation = b.send(MODELS, run_call(INPUT))
    assert (again, b.chain.head.hash) == (first, head)
    assert output_of(computation) == OUTPUT


class Broken(SumModel):
    """Fails in the way of its salt."""

    def run(self, values: Sequence[int]) -> tuple[int, ...]:
        del values
        failures: dict[int, tuple[object, ...] | Exception] = {
            1: RuntimeError("no memory"),
            2: InsufficientFunds("a VMError"),
            3: (1,),
            4: (1, 2.0),
            5: (1, 2**255),
            6: (1, True),
        }
        failure = failures[self.salt]
        if isinstance(failure, Exception):
            raise failure
        return failure  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("salt", "message"),
    [
        (1, "numeric model sum failed: no memory"),
        (2, "numeric model sum failed: a VMError"),
        *((salt, "its output must be 2 integers within 256 bits") for salt in range(3, 7)),
    ],
)
def test_a_fault_enters_no_block(salt: int, message: str) -> None:
    b = make_numeric_bench({"sum": Broken(salt=salt)})
    head, nonce = b.chain.head, b.chain.nonce(OWNER)
    with pytest.raises(NumericFaultError, match=message):
        b.send(MODELS, run_call(INPUT))
    with pytest.raises(NumericFaultError, match=message):
        b.call(MODELS, run_call(INPUT))
    assert (b.chain.head, b.chain.nonce(OWNER)) == (head, nonce)
    b.send(STRANGER, b"", value_wei=1)
    assert b.chain.head.block_number == 1


# -- beside the executor -- #


def test_a_chain_with_both_has_both() -> None:
    b = make_numeric_bench(script=[" easy\nFinal Answer: done"])
    b.call(EXECUTOR, request()).raise_if_error()
    assert output_of(b.call(MODELS, run_call(INPUT))) == OUTPUT


@pytest.mark.parametrize("is_known", [True, False])
def test_metadata_may_run_a_numeric_model(*, is_known: bool) -> None:
    tool, model = Address(b"\x70" * 20), SumModel()
    code = assemble_tool(
        run_call(INPUT, "sum" if is_known else "none"),
        encode(["string"], ["A"]),
        encode(["((uint8,string,string)[])"], [([],)]),
    )
    b = make_numeric_bench(
        {"sum": model}, script=lambda _: " easy\nFinal Answer: done", codes={tool: code}
    )
    for number in (1, 2):  # It is no pure read, which would be remembered.
        computation = b.call(EXECUTOR, request(tools=[tool]))
        computation.raise_if_error()
        assert len(computation.children) == 3
        for read in computation.children:
            (called,) = read.children
            assert called.msg.is_static
            assert called.is_success == is_known
        assert len(model.runs) == 3 * number * is_known
        name = "A" if is_known else "B"
        assert f"{name}: {name}" in b.model.prompts[-1]


def assemble_tool(data: bytes, name: bytes, empty: bytes) -> bytes:
    """Return a tool whose texts are A if a call of 0x1a with `data` succeeds, else B."""
    start, branch = 0x80, 0x70
    sizes = [f"0x{len(part):04x}" for part in (data, name, empty)]
    places = [f"0x{start + offset:04x}" for offset in (0, len(data), len(data) + len(name))]
    code = assemble(
        f"{sizes[0]} {places[0]} PUSH0 CODECOPY PUSH0 PUSH0 {sizes[0]} PUSH0 0x1a GAS STATICCALL "
        # A string of one letter: B, less 1 for a success.
        f"{sizes[1]} {places[1]} PUSH0 CODECOPY 0x42 SUB 0x40 MSTORE8 "
        # inputDescription() returns the empty list.
        f"PUSH0 CALLDATALOAD 0xe0 SHR 0x0ef946da EQ 0x{branch:02x} JUMPI {sizes[1]} PUSH0 RETURN"
    ).ljust(branch, b"\0")
    code += assemble(f"JUMPDEST {sizes[2]} {places[2]} PUSH0 CODECOPY {sizes[2]} PUSH0 RETURN")
    return code.ljust(start, b"\0") + data + name + empty


def test_profiles_of_a_model_differ_in_their_prices_alone() -> None:
    model = SumModel()
    profile = replace(profile_of(model), operations=400)
    assert compute_run_gas(NumericGasSchedule(), profile, "sum") == RUN_GAS - 3 + 25

"""Random calls of the numeric models: a result, a typed error, or out of gas, and nothing else."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from eth.exceptions import OutOfGas, Revert
from eth.vm.message import Message
from eth_abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_typing import Address
from hypothesis import given
from hypothesis import strategies as st

from precompiles.errors import NUMERIC_REFUSALS, NumericRefusal, error_selector
from precompiles.numeric_abi import (
    DescribeRequest,
    RunRequest,
    compute_calldata_size,
    decode_numeric_request,
    encode_description,
    encode_output,
)
from tests.chain_bench import OWNER
from tests.numeric_model import (
    DESCRIBE_MODEL,
    MODELS,
    RUN_MODEL,
    SumModel,
    describe_call,
    make_numeric_bench,
    run_call,
)

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

    from tests.samples import Sample

    Chance = random.Random

WORD = 32
INTS = st.integers(-(2**255), 2**255 - 1)
ODD_NUMBERS = [0, 1, 3, 31, 32, 64, 96, 128, 2**16, 2**32, 2**63, 2**255, 2**256 - 1, 2**256 - 32]
CALLS_OF_A_CHAIN = 10_000
MODEL = SumModel()
NAMES = ["sum", "0x" + MODEL.digest.hex(), "none", "", "s\u00fcm"]


# -- properties of the codec -- #


@given(
    st.text("sum0x\u00e9\u200b\U0001f600", max_size=80),
    st.lists(INTS, max_size=20),
    st.binary(max_size=40),
)
def test_reads_what_solidity_encodes(model_id: str, values: list[int], after: bytes) -> None:
    data = run_call(values, model_id)
    assert compute_calldata_size(model_id, len(values)) == len(data)
    request = decode_numeric_request(data + after)
    assert isinstance(request, RunRequest)
    assert (request.model_id, request.decode_values()) == (model_id, values)
    described = decode_numeric_request(describe_call(model_id) + after)
    assert described == DescribeRequest(model_id=model_id)


@given(st.lists(INTS, max_size=20))
def test_writes_what_solidity_encodes(values: list[int]) -> None:
    assert encode_output(values) == encode(["int256[]"], [values])


DECIMALS = st.lists(st.integers(0, 77), min_size=1, max_size=20)


@given(st.binary(min_size=32, max_size=32), DECIMALS, DECIMALS, st.integers(0, 2**256 - 1))
def test_describes_as_solidity_encodes(
    digest: bytes, inputs: list[int], outputs: list[int], gas: int
) -> None:
    types = ["bytes32", "uint8[]", "uint8[]", "uint256"]
    wanted = encode(types, [digest, inputs, outputs, gas])
    assert encode_description(digest, inputs, outputs, gas) == wanted


@given(st.data())
def test_what_is_accepted_is_what_eth_abi_reads(data: st.DataObject) -> None:
    words = data.draw(
        st.lists(st.sampled_from([*ODD_NUMBERS, 0x60, 0x80, 0xA0, 0xC0]), max_size=12)
    )
    body = b"".join(word.to_bytes(WORD, "big") for word in words)
    body = body[: data.draw(st.integers(0, len(body)))] if data.draw(st.booleans()) else body
    try:
        request = decode_numeric_request(RUN_MODEL + body)
    except NumericRefusal:
        return
    assert isinstance(request, RunRequest)
    assert WORD * (request.count + 4) <= len(body)
    text, values = decode(["bytes", "int256[]"], body)
    assert (request.model_id.encode(), tuple(request.decode_values())) == (text, values)


# -- random calls -- #


def draw_altered(chance: Chance, data: bytes) -> bytes:
    """Return data with a random alteration: a byte, a word, the length."""
    position = chance.randrange(len(data) + 1)
    match chance.randrange(6):
        case 0:
            return data[:position]
        case 1:
            return data + chance.randbytes(chance.choice([1, 31, 32, 64]))
        case 2:
            return data[:position] + chance.randbytes(1) + data[position + 1 :]
        case 3:
            return data[:position] + data[position + WORD :]
        case 4:
            return chance.randbytes(chance.randrange(4, 400))
        case _:
            start = 4 + WORD * chance.randrange(len(data) // WORD + 1)
            word = chance.choice([*ODD_NUMBERS, len(data), chance.getrandbits(16)])
            return data[:start] + word.to_bytes(WORD, "big") + data[start + WORD :]


def draw_value(chance: Chance) -> int:
    if chance.random() < 0.9:
        return chance.randrange(8)
    return chance.choice([-101, 101, 2**63, -(2**63), 2**255 - 1, -(2**255)])


def draw_calldata(chance: Chance) -> bytes:
    """Return calldata of either function, altered once to thrice in most cases."""
    name = chance.choices(NAMES, [80, 14, 2, 2, 2])[0]
    count = 3 if chance.random() < 0.95 else chance.randrange(6)
    values = [draw_value(chance) for _ in range(count)]
    data = describe_call(name) if chance.random() < 0.15 else run_call(values, name)
    if chance.random() < 0.1:
        return data
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        data = draw_altered(chance, data)
    return data


class Fuzz:
    """A chain whose numeric models are called at random."""

    def __init__(self) -> None:
        self.chain = make_numeric_bench({"sum": MODEL}).chain
        self.state = self.chain.state()
        self.context = self.state.get_transaction_context_class()(gas_price=0, origin=OWNER)

    def call(self, chance: Chance) -> str:
        """Make a random call; return its outcome."""
        data = draw_calldata(chance)
        gas = 10**6 if chance.random() < 0.9 else round(10 ** chance.uniform(0, 5))
        value = 1 if chance.random() < 0.01 else 0
        account = MODELS if chance.random() < 0.99 else Address(b"\x77" * 20)
        message = Message(
            gas=gas,
            to=account,
            sender=OWNER,
            value=value,
            should_transfer_value=False,
            data=data,
            code=b"",
            code_address=MODELS,
            is_static=not value and chance.random() < 0.5,
        )
        snapshot = self.state.snapshot()
        root = self.state.computation_class.apply_message(self.state, message, self.context)
        self.state.revert(snapshot)
        return check(root, data)


def check(computation: ComputationAPI, data: bytes) -> str:
    """Require a typed outcome with the right gas; return its name."""
    used = computation.get_gas_used()
    failure = computation.error if computation.is_error else None
    if isinstance(failure, OutOfGas):
        assert (computation.output, computation.get_gas_remaining()) == (b"", 0)
        return "out of gas"
    calldata_gas = 3_000 + 16 * len(data)
    if isinstance(failure, Revert):
        name = name_refusal(computation.output)
        is_free = name in {"ValueNotAccepted", "DelegateCallNotAllowed", "CalldataTooLarge"}
        evaluation_gas = 3 + 16 * 128 if name == "InputOutOfRange" else 0
        assert used == (0 if is_free else calldata_gas + evaluation_gas), name
        return name
    computation.raise_if_error()
    if data[:4] == DESCRIBE_MODEL:
        assert used == calldata_gas + 16 * len(computation.output)
        return "description"
    assert used == calldata_gas + 3 + 16 * 128
    (_, values), (output,) = (
        decode(["bytes", "int256[]"], data[4:]),
        decode(["int256[]"], computation.output),
    )
    assert output == (sum(values), 2 * values[0] - sum(values))
    return "output"


def name_refusal(data: bytes) -> str:
    """Return the name of a typed error, whose arguments must be canonical."""
    names = [name for name in NUMERIC_REFUSALS if error_selector(name) == data[:4]]
    assert names, f"no typed error: 0x{data.hex()}"
    types = NUMERIC_REFUSALS[names[0]]
    try:
        arguments = decode(types, data[4:])
    except DecodingError:
        pytest.fail(f"not the arguments of {names[0]}: 0x{data.hex()}")
    assert data[4:] == encode(types, arguments)
    return names[0]


@pytest.mark.sample(count=800, seed=24)
def test_every_call_has_a_typed_outcome(sample: Sample) -> None:
    outcomes: Counter[str] = Counter()
    for number in range(sample.count):
        if number % CALLS_OF_A_CHAIN == 0:
            fuzz = Fuzz()
        MODEL.runs.clear()
        chance = random.Random(f"{sample.seed} {number}")  # noqa: S311 - by its seed
        try:
            outcomes[fuzz.call(chance)] += 1
        except Exception as error:
            error.add_note(f"call {number} of seed {sample.seed}")
            raise
    sample.figures.update(sorted(outcomes.items()))
    never = {"ModelsUnavailable", "CalldataTooLarge"}  # the code's, and of 64 KiB
    missing = NUMERIC_REFUSALS.keys() - outcomes.keys() - never
    assert not missing
    assert outcomes["output"] * 20 > sample.count
    assert outcomes["MalformedCalldata"] * 20 > sample.count

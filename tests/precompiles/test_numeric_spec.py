"""The limits and prices of the numeric models, restated by hand, and the code in their account."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict

import pytest
from eth_utils import keccak

from precompiles import numeric_spec, spec
from precompiles.numeric_abi import (
    DESCRIBE_MODEL_SELECTOR,
    RUN_MODEL_SELECTOR,
    compute_calldata_size,
    compute_description_size,
)
from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE, NumericGasSchedule

NUMBERS = {
    "MAX_NUMERIC_CALLDATA_BYTES": 65_536,
    "MAX_NUMERIC_INPUTS": 1_024,
    "MAX_NUMERIC_OUTPUTS": 1_024,
}
DEFAULT = {
    "base_gas": 3_000,
    "input_byte_gas": 16,
    "output_byte_gas": 16,
    "operations_per_gas": 16,
}


def test_every_number_is_as_specified() -> None:
    numbers = {name: value for name, value in vars(numeric_spec).items() if type(value) is int}
    assert numbers == NUMBERS
    assert asdict(NumericGasSchedule()) == asdict(DEFAULT_NUMERIC_SCHEDULE) == DEFAULT


def test_no_limit_has_the_name_of_one_of_the_executor() -> None:
    # The canonical JSON has both in one object.
    assert not NUMBERS.keys() & vars(spec).keys()


def test_a_schedule_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        DEFAULT_NUMERIC_SCHEDULE.base_gas = 1  # type: ignore[misc]


def test_the_address_and_the_selectors_are_those_of_the_interface() -> None:
    assert bytes(19) + b"\x1a" == numeric_spec.NUMERIC_MODELS_ADDRESS
    assert keccak(text="runModel(string,int256[])")[:4] == RUN_MODEL_SELECTOR
    assert keccak(text="describeModel(string)")[:4] == DESCRIBE_MODEL_SELECTOR
    # PUSH4 selector, PUSH1 224, SHL, PUSH0, MSTORE, PUSH1 4, PUSH0, REVERT
    unavailable = keccak(text="ModelsUnavailable()")[:4]
    code = b"\x63" + unavailable + bytes.fromhex("60e01b5f5260045ffd")
    assert code == numeric_spec.NUMERIC_MODELS_CODE


def test_every_model_can_be_called_and_described() -> None:
    most = numeric_spec.MAX_NUMERIC_INPUTS
    assert compute_calldata_size("0x" + "ab" * 32, most) == 32_996
    assert compute_calldata_size("n" * 64, most) <= numeric_spec.MAX_NUMERIC_CALLDATA_BYTES
    assert compute_description_size(most, numeric_spec.MAX_NUMERIC_OUTPUTS) == 65_728
    assert DEFAULT_NUMERIC_SCHEDULE.output_gas(65_728) == 1_051_648


@pytest.mark.parametrize(
    ("size_bytes", "gas"), [(0, 3_000), (1, 3_016), (260, 7_160), (65_536, 1_051_576)]
)
def test_gas_of_calldata(size_bytes: int, gas: int) -> None:
    assert DEFAULT_NUMERIC_SCHEDULE.calldata_gas(size_bytes) == gas

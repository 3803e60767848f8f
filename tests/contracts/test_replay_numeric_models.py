"""`ReplayNumericModels`: recorded answers of numeric models, given again in another EVM."""

from __future__ import annotations

import pytest
from eth_abi import encode

from precompiles.numeric_abi import (
    DESCRIBE_MODEL_SELECTOR,
    RUN_MODEL_SELECTOR,
    encode_description,
    encode_output,
)
from pyevm_agents.models.numeric import open_shipped
from tests.contracts.plain_evm import Contract, plain_evm, reverts

RISK = open_shipped("risk")
RETURNS = [1_000, -1_000] * 10
GAS = 12_345


@pytest.fixture
def models() -> Contract:
    """The contract with one answer and one description of the shipped risk model."""
    models = plain_evm().deploy("ReplayNumericModels")
    run = RUN_MODEL_SELECTOR + encode(["string", "int256[]"], ["risk", RETURNS])
    models("record", run, encode_output(RISK.run(RETURNS)))
    describe = DESCRIBE_MODEL_SELECTOR + encode(["string"], ["risk"])
    decimals = (RISK.input_decimals, RISK.output_decimals)
    models("record", describe, encode_description(RISK.digest, *decimals, GAS))
    return models


def test_recorded_calls_have_their_answers(models: Contract) -> None:
    assert tuple(models("runModel", "risk", RETURNS)) == RISK.run(RETURNS)
    digest, inputs, outputs, gas = models("describeModel", "risk")
    assert (digest, tuple(inputs), tuple(outputs), gas) == (
        RISK.digest, RISK.input_decimals, RISK.output_decimals, GAS,
    )  # fmt: skip


def test_other_calls_are_refused_with_what_was_asked(models: Contract) -> None:
    with reverts("InputNotRecorded", "risk", (1, *RETURNS[1:])):
        models("runModel", "risk", [1, *RETURNS[1:]])
    with reverts("ModelNotRecorded", "forecast"):
        models("describeModel", "forecast")


def test_a_later_answer_replaces_an_earlier_one(models: Contract) -> None:
    run = RUN_MODEL_SELECTOR + encode(["string", "int256[]"], ["risk", RETURNS])
    models("record", run, encode_output([-7]))
    assert tuple(models("runModel", "risk", RETURNS)) == (-7,)

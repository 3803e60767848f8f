"""Usage of the numeric models' precompile by transactions, and the price under a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from precompiles.errors import NUMERIC_REFUSALS, error_selector
from precompiles.numeric_abi import (
    RunRequest,
    compute_description_size,
    compute_output_size,
    decode_numeric_request,
)
from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.bench.measurement.results import NumericUsage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth.abc import ComputationAPI

    from precompiles.numeric_gas import NumericGasSchedule
    from precompiles.numeric_model import NumericModelProfile

UNCHARGED = frozenset({"DelegateCallNotAllowed", "ValueNotAccepted", "CalldataTooLarge"})
"""Refusals before any charge."""

CHARGED_IN_FULL = "InputOutOfRange"
"""The refusal after all charges."""

REFUSALS_BY_SELECTOR = {error_selector(name): name for name in NUMERIC_REFUSALS}
ANSWERED, OUT_OF_GAS = "answered", "out of gas"


def iter_numeric_calls(computation: ComputationAPI) -> Iterator[ComputationAPI]:
    """Yield the precompile's computations in a tree of computations, in order."""
    if computation.msg.code_address == NUMERIC_MODELS_ADDRESS:
        yield computation
        return
    for child in computation.children:
        yield from iter_numeric_calls(child)


def describe_outcome(call: ComputationAPI) -> str:
    """Return the outcome of a call of the precompile."""
    name = _get_refusal_name(call)
    if name is not None:
        return f"refused: {name}"
    return ANSWERED if call.is_success else OUT_OF_GAS


def count_call(
    call: ComputationAPI,
    profiles: Mapping[str, NumericModelProfile],
    schedule: NumericGasSchedule,
) -> NumericUsage:
    """Return the usage that a call bought.

    A call whose gas ends after the payment of calldata counts as paid in full: an attacker gives
    one gas less than that.
    """
    name, size = _get_refusal_name(call), len(call.msg.data)
    if name in UNCHARGED or (
        name is None and not call.is_success and call.msg.gas < schedule.calldata_gas(size)
    ):
        return NumericUsage()
    if name not in {None, CHARGED_IN_FULL}:
        return NumericUsage(calls=1, input_bytes=size)
    request = decode_numeric_request(bytes(call.msg.data))
    profile = profiles[request.model_id]
    inputs, outputs = len(profile.input_decimals), len(profile.output_decimals)
    if isinstance(request, RunRequest):
        return NumericUsage(
            calls=1,
            input_bytes=size,
            operations=profile.operations,
            output_bytes=compute_output_size(outputs),
        )
    return NumericUsage(
        calls=1, input_bytes=size, output_bytes=compute_description_size(inputs, outputs)
    )


def compute_call_gas(usage: NumericUsage, schedule: NumericGasSchedule) -> int:
    """Return the precompile's charge for one call, or for none."""
    if not usage.calls:
        return 0
    return (
        schedule.calldata_gas(usage.input_bytes)
        + schedule.operation_gas(usage.operations)
        + schedule.output_gas(usage.output_bytes)
    )


def multiply_usage(usage: NumericUsage, calls: int, gas_used: int, charged: int) -> NumericUsage:
    """Return the usage of a transaction of equal calls.

    Input: usage of one call; the number of calls; the transaction's gas; the charge for one call.

    Raises: ValueError: the transaction used less gas than the precompile charges.
    """
    evm_gas = gas_used - calls * charged
    if evm_gas < 0:
        raise ValueError(f"{gas_used} gas were used, less than {calls} calls at {charged} cost")
    return NumericUsage(
        calls=calls * usage.calls,
        input_bytes=calls * usage.input_bytes,
        output_bytes=calls * usage.output_bytes,
        operations=calls * usage.operations,
        evm_gas=evm_gas,
    )


def _get_refusal_name(call: ComputationAPI) -> str | None:
    """Return the name of the refusal that ended a call; None if not refused."""
    if call.is_success or call.error.burns_gas:
        return None
    return REFUSALS_BY_SELECTOR[bytes(call.output[:SELECTOR_BYTES])]

"""The numeric models' precompile: `runModel` and `describeModel` at 0x1a.

The order of the steps is consensus: kind of call, size, gas for the calldata, decoding, model,
number of inputs, gas for the operations and the output, ranges of the inputs, evaluation, output.

A call reads and writes no state, and may be made wherever a contract may be called: in a static
call, in init code, and in the metadata of a tool during the executor's read, bounded by the gas
of the read.

Source: docs/architecture.md#numeric-models, #gas-before-work, #four-failures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth.exceptions import Revert

from precompiles.errors import NumericRefusal
from precompiles.numeric_abi import (
    INT_END,
    RunRequest,
    compute_calldata_size,
    compute_description_size,
    compute_output_size,
    decode_numeric_request,
    encode_description,
    encode_output,
)
from precompiles.numeric_gas import DEFAULT_NUMERIC_SCHEDULE
from precompiles.numeric_model import NumericFaultError
from precompiles.numeric_spec import MAX_NUMERIC_CALLDATA_BYTES, NUMERIC_MODELS_ADDRESS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth.abc import ComputationAPI

    from precompiles.numeric_abi import DescribeRequest
    from precompiles.numeric_gas import NumericGasSchedule
    from precompiles.numeric_model import NumericModel, NumericModelProfile


class NumericExecutor:
    """The precompile with the numeric models of one chain, as a callable on a computation."""

    def __init__(
        self,
        models: Sequence[tuple[NumericModelProfile, NumericModel]],
        *,
        schedule: NumericGasSchedule = DEFAULT_NUMERIC_SCHEDULE,
    ) -> None:
        """Register each model under the name and the `0x` SHA-256 digest.

        Input:
            models: the chain's numeric models with profiles.
            schedule: gas of calls, operations and bytes.

        Raises: ValueError: two models share a name or a digest.
        """
        self._schedule = schedule
        self._models: dict[str, tuple[NumericModelProfile, NumericModel]] = {}
        for profile, model in models:
            for name in (profile.name, "0x" + profile.digest.hex()):
                if name in self._models:
                    raise ValueError(f"two models are called {name!r}; give each its own name")
                self._models[name] = (profile, model)

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names of the models, without their digests."""
        return tuple(name for name in self._models if not name.startswith("0x"))

    def __call__(self, computation: ComputationAPI) -> ComputationAPI:
        """Run or describe a numeric model.

        Input:  calldata of `runModel` or `describeModel`, see
                `precompiles.numeric_abi.decode_numeric_request`.
        Output: see `precompiles.numeric_abi.encode_output` and `encode_description`.
        Gas:    `calldata_gas`, `operation_gas` and `output_gas` of the schedule.
        Raises: Revert with a typed error (`errors.NUMERIC_REFUSALS`); OutOfGas; on a fault of the
                host, an exception that is not a VMError.
        """
        try:
            computation.output = self._run(computation)
        except NumericRefusal as refusal:
            computation.output = refusal.encode()
            raise Revert(str(refusal)) from refusal
        return computation

    def _run(self, computation: ComputationAPI) -> bytes:
        # DECODE
        _check_call(computation)
        calldata = bytes(computation.msg.data)
        gas = self._schedule.calldata_gas(len(calldata))
        computation.consume_gas(gas, reason="Numeric model calldata")
        request = decode_numeric_request(calldata)
        if request.model_id not in self._models:
            raise NumericRefusal("UnknownModel", request.model_id)
        profile, model = self._models[request.model_id]
        if not isinstance(request, RunRequest):
            return self._describe(computation, profile, request)
        if request.count != len(profile.input_decimals):
            raise NumericRefusal("InputLengthMismatch", request.count, len(profile.input_decimals))

        # GAS
        gas = _compute_evaluation_gas(self._schedule, profile)
        computation.consume_gas(gas, reason="Numeric model operations and output")

        # OPERATION
        values = request.decode_values()
        _check_ranges(values, model.input_ranges)
        output = _evaluate(profile, model, values)

        # OUTPUT
        return encode_output(output)

    def _describe(
        self, computation: ComputationAPI, profile: NumericModelProfile, request: DescribeRequest
    ) -> bytes:
        size_bytes = compute_description_size(
            len(profile.input_decimals), len(profile.output_decimals)
        )
        gas = self._schedule.output_gas(size_bytes)
        computation.consume_gas(gas, reason="Numeric model description")
        return encode_description(
            profile.digest,
            profile.input_decimals,
            profile.output_decimals,
            compute_run_gas(self._schedule, profile, request.model_id),
        )


def compute_run_gas(
    schedule: NumericGasSchedule, profile: NumericModelProfile, model_id: str
) -> int:
    """Return the gas of a `runModel` call that names a model by `model_id`.

    That is the gas inside the call, without the gas of the CALL itself.
    """
    calldata_bytes = compute_calldata_size(model_id, len(profile.input_decimals))
    return schedule.calldata_gas(calldata_bytes) + _compute_evaluation_gas(schedule, profile)


def _compute_evaluation_gas(schedule: NumericGasSchedule, profile: NumericModelProfile) -> int:
    output_bytes = compute_output_size(len(profile.output_decimals))
    return schedule.operation_gas(profile.operations) + schedule.output_gas(output_bytes)


def _check_call(computation: ComputationAPI) -> None:
    """Revert calls of the wrong kind or size, before any gas is charged."""
    message = computation.msg
    if message.storage_address != NUMERIC_MODELS_ADDRESS:
        raise NumericRefusal("DelegateCallNotAllowed")
    if message.value:
        raise NumericRefusal("ValueNotAccepted", message.value)
    if len(message.data) > MAX_NUMERIC_CALLDATA_BYTES:
        raise NumericRefusal("CalldataTooLarge", len(message.data), MAX_NUMERIC_CALLDATA_BYTES)


def _check_ranges(values: Sequence[int], ranges: Sequence[tuple[int, int]]) -> None:
    """Refuse the first input out of range."""
    for index, (value, (least, most)) in enumerate(zip(values, ranges, strict=True)):
        if not least <= value <= most:
            raise NumericRefusal("InputOutOfRange", index, value, least, most)


def _evaluate(
    profile: NumericModelProfile, model: NumericModel, values: Sequence[int]
) -> Sequence[int]:
    """Return the output of a model.

    Raises: NumericFaultError: the model failed, or returned numbers that no model can.
    """
    try:
        output = model.run(values)
    except Exception as error:  # also a VMError, which would be an outcome of the call
        raise NumericFaultError(f"numeric model {profile.name} failed: {error}") from error
    wanted = len(profile.output_decimals)
    if len(output) != wanted or not all(
        type(each) is int and -INT_END <= each < INT_END for each in output
    ):
        raise NumericFaultError(
            f"numeric model {profile.name}: its output must be {wanted} integers within 256 bits"
        )
    return output

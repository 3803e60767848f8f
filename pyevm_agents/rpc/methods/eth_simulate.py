"""`eth_simulateV1`: calls in simulated blocks, with state and block overrides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.exceptions import InvalidInstruction, Revert
from eth.vm.forks.shanghai.withdrawals import Withdrawal

from pyevm_agents.agents.failures import read_revert_context
from pyevm_agents.chain import BlockRecord
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import resolve_sealed_view
from pyevm_agents.rpc.errors import EXECUTION_REVERTED, INVALID_PARAMS, RpcError, revert_message
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    parse_address,
    parse_block_id,
    parse_boolean,
    parse_hash32,
    parse_list,
    parse_object,
    parse_uint64,
)
from pyevm_agents.rpc.transaction_params import (
    BLOCK_FIELDS,
    parse_block_fields,
    parse_state_overrides,
    parse_transaction_request,
)
from pyevm_agents.simulation import (
    SimulatedBlockRequest,
    SimulatedCall,
    Simulation,
    SimulationError,
)
from pyevm_agents.tracing.error_messages import describe_error
from pyevm_agents.vm import floor_gas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.exceptions import VMError

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import RequestContext
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.simulation import LogEntry, SimulatedBlock, SimulatedComputation

    Read = Callable[[object, str], Any]

METHODS = MethodTable()

VM_ERROR = -32015
"""Error code of a call with an EVM exception. Source: geth, internal/ethapi/errors.go."""

SIMULATED_FIELDS: Mapping[str, tuple[str, Read]] = {
    **BLOCK_FIELDS,
    "beaconRoot": ("beacon_root", parse_hash32),
}
"""Block overrides apart from withdrawals."""


def parse_simulation(value: object, name: str) -> Json:
    """Parse the blocks and the options of a simulation."""
    form = parse_object(value, name)
    blocks = parse_list(form.get("blockStateCalls") or [], f"{name}.blockStateCalls")
    if not blocks:
        raise RpcError(INVALID_PARAMS, "empty input")
    read: Json = {
        flag: form.get(flag) is not None and parse_boolean(form[flag], f"{name}.{flag}")
        for flag in ("validation", "traceTransfers", "returnFullTransactions")
    }
    read["blocks"] = [
        _parse_block(block, f"{name}.blockStateCalls[{index}]")
        for index, block in enumerate(blocks)
    ]
    return read


def _parse_block(value: object, name: str) -> SimulatedBlockRequest:
    form = parse_object(value, name)
    at = f"{name}.blockOverrides"
    header = parse_object(form.get("blockOverrides") or {}, at)
    overrides = {key: entry for key, entry in header.items() if key != "withdrawals"}
    fields = parse_block_fields(overrides, SIMULATED_FIELDS, at)
    withdrawals = parse_list(header.get("withdrawals") or [], f"{at}.withdrawals")
    calls = parse_list(form.get("calls") or [], f"{name}.calls")
    return SimulatedBlockRequest(
        **fields,
        withdrawals=tuple(
            _parse_withdrawal(withdrawal, f"{at}.withdrawals[{index}]")
            for index, withdrawal in enumerate(withdrawals)
        ),
        accounts=parse_state_overrides(form.get("stateOverrides") or {}, f"{name}.stateOverrides"),
        calls=tuple(
            _build_simulated_call(parse_transaction_request(call, f"{name}.calls[{index}]"))
            for index, call in enumerate(calls)
        ),
    )


def _parse_withdrawal(value: object, name: str) -> Withdrawal:
    form = parse_object(value, name)
    return Withdrawal(
        index=parse_uint64(form.get("index"), f"{name}.index"),
        validator_index=parse_uint64(form.get("validatorIndex"), f"{name}.validatorIndex"),
        address=parse_address(form.get("address"), f"{name}.address"),
        amount=parse_uint64(form.get("amount"), f"{name}.amount"),
    )


def _build_simulated_call(request: TransactionRequest) -> SimulatedCall:
    return SimulatedCall(
        sender=request.sender or bytes(20),  # type: ignore[arg-type]
        to=request.to,
        data=request.data,
        value_wei=request.value_wei,
        gas=request.gas,
        nonce=request.nonce,
        gas_price_wei=request.gas_price_wei,
        max_fee_wei=request.max_fee_wei or 0,
        max_priority_fee_wei=request.max_priority_fee_wei or 0,
        access_list=request.access_list or (),
        max_blob_fee_wei=request.max_blob_fee_wei or 0,
        blob_hashes=request.blob_hashes,
        authorizations=request.authorizations,
    )


@METHODS.method("eth_simulateV1", parse_simulation, optional(parse_block_id, LATEST))
def simulate(rpc: RequestContext, options: Any, block: BlockId) -> list[Json]:  # noqa: ANN401 - the result of `parse_simulation`
    """Simulate blocks of calls on top of a block; return the simulated blocks."""
    at = resolve_sealed_view(rpc, block)
    simulation = Simulation(
        at.chain,
        at.header,
        validates=options["validation"],
        notes_transfers=options["traceTransfers"],
        most_gas=rpc.call_gas or at.chain.config.block_gas_limit,
        interruption=rpc.watch_execution(),
    )
    try:
        return [
            _serialize_block(
                result,
                rpc.node.chain.known_contracts,
                is_full=options["returnFullTransactions"],
            )
            for result in simulation.run(options["blocks"])
        ]
    except SimulationError as error:
        raise RpcError(error.code, error.message) from error


def _serialize_block(result: SimulatedBlock, known: KnownContracts, *, is_full: bool) -> Json:
    form = serializers.serialize_block(
        BlockRecord(block=result.block, receipts=result.receipts), is_full=is_full
    )
    calls: list[Json] = []
    logs_before = gas_before = 0
    for index, (computation, receipt) in enumerate(
        zip(result.computations, result.receipts, strict=True)
    ):
        calls.append(
            {
                "returnData": "0x"
                if computation.is_error
                else serializers.encode_data(computation.output),
                "logs": _serialize_logs(result, index, logs_before),
                "gasUsed": hex(receipt.gas_used - gas_before),
                "maxUsedGas": hex(_compute_gas_before_refunds(result, index)),
                "status": hex(computation.is_success),
            }
        )
        if computation.is_error:
            calls[-1]["error"] = _serialize_error(computation, known)
        gas_before = receipt.gas_used
        # The index of the next log counts reverted logs as well.
        logs_before += computation.transaction_context.get_next_log_counter()
    return form | {"calls": calls}


def _compute_gas_before_refunds(result: SimulatedBlock, index: int) -> int:
    """Return the gas that a call used before refunds, or the calldata's floor if that is more."""
    transaction, computation = result.block.transactions[index], result.computations[index]
    used = transaction.gas - computation.get_gas_remaining()
    return int(max(used, floor_gas(transaction) if computation.data_floor_gas else 0))


def _serialize_logs(result: SimulatedBlock, index: int, before: int) -> list[Json]:
    header, transaction = result.block.header, result.block.transactions[index]
    entries: list[LogEntry] = result.computations[index].collect_logs()
    return [
        {
            "address": serializers.encode_data(account),
            "topics": [serializers.encode_word(topic) for topic in topics],
            "data": serializers.encode_data(data),
            "blockHash": serializers.encode_data(header.hash),
            "blockNumber": hex(header.block_number),
            "blockTimestamp": hex(header.timestamp),
            "transactionHash": serializers.encode_data(transaction.hash),
            "transactionIndex": hex(index),
            "logIndex": hex(before + place),
            "removed": False,
        }
        for place, account, topics, data in entries
    ]


def _serialize_error(computation: SimulatedComputation, known: KnownContracts) -> Json:
    error: VMError = computation.error
    if isinstance(error, Revert):
        output = bytes(computation.output)
        message = revert_message(output, read_revert_context(computation), known)
        return {
            "code": EXECUTION_REVERTED,
            "message": message,
            "data": serializers.encode_data(output),
        }
    op = None
    if isinstance(error, InvalidInstruction):
        op = computation.msg.code[computation.code.program_counter - 1]
    return {"code": VM_ERROR, "message": describe_error(error, op)}

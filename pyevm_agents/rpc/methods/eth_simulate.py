"""`eth_simulateV1`: many calls in many blocks, on accounts and in circumstances as one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.exceptions import InvalidInstruction, Revert
from eth.vm.forks.shanghai.withdrawals import Withdrawal

from pyevm_agents.chain import Record
from pyevm_agents.rpc import serializers
from pyevm_agents.rpc.block_views import made_view
from pyevm_agents.rpc.errors import INVALID_PARAMS, SERVER_ERROR, RpcError, reason
from pyevm_agents.rpc.method_table import Table, optional
from pyevm_agents.rpc.params import (
    LATEST,
    BlockId,
    address,
    block,
    boolean,
    hash32,
    listed,
    mapping,
    uint64,
)
from pyevm_agents.rpc.transaction_params import BLOCK_FIELDS, asked, block_fields, overrides
from pyevm_agents.simulation import SimulatedCall, Simulation, SimulationError, ToldBlock
from pyevm_agents.tracing.error_messages import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eth.exceptions import VMError
    from eth_typing import Address

    from pyevm_agents.node.transaction_defaults import TransactionRequest
    from pyevm_agents.rpc.context import Rpc
    from pyevm_agents.rpc.serializers import Json
    from pyevm_agents.simulation import LogEntry, SimulatedBlock, SimulatedComputation

    Read = Callable[[object, str], Any]

METHODS = Table()

VM_ERROR = -32015
"""Code of a call that ended by an exception of the EVM. Source: geth, internal/ethapi/errors.go."""

MOVE = "movePrecompileToAddress"

SIMULATED_FIELDS: Mapping[str, tuple[str, Read]] = {
    **BLOCK_FIELDS,
    "beaconRoot": ("beacon_root", hash32),
}
"""What a block can be told, besides withdrawals."""


def simulation(value: object, name: str) -> Json:
    """Read what is to be simulated: blocks, and how they are told."""
    form = mapping(value, name)
    told = listed(form.get("blockStateCalls") or [], f"{name}.blockStateCalls")
    if not told:
        raise RpcError(INVALID_PARAMS, "empty input")
    read: Json = {
        flag: form.get(flag) is not None and boolean(form[flag], f"{name}.{flag}")
        for flag in ("validation", "traceTransfers", "returnFullTransactions")
    }
    read["blocks"] = [
        _told_block(one, f"{name}.blockStateCalls[{index}]") for index, one in enumerate(told)
    ]
    return read


def _told_block(value: object, name: str) -> ToldBlock:
    form = mapping(value, name)
    at = f"{name}.blockOverrides"
    header = mapping(form.get("blockOverrides") or {}, at)
    told = {key: it for key, it in header.items() if key != "withdrawals"}
    fields = block_fields(told, SIMULATED_FIELDS, at)
    withdrawals = listed(header.get("withdrawals") or [], f"{at}.withdrawals")
    accounts, moves = _accounts(form.get("stateOverrides") or {}, f"{name}.stateOverrides")
    calls = listed(form.get("calls") or [], f"{name}.calls")
    return ToldBlock(
        **fields,
        withdrawals=tuple(
            _withdrawal(one, f"{at}.withdrawals[{index}]") for index, one in enumerate(withdrawals)
        ),
        accounts=overrides(accounts, f"{name}.stateOverrides"),
        moved_precompiles=moves,
        calls=tuple(_call(asked(one, f"{name}.calls[{index}]")) for index, one in enumerate(calls)),
    )


def _accounts(value: object, name: str) -> tuple[Json, dict[Address, Address]]:
    """Return the overrides that every call knows, and where precompiles go."""
    rest: Json = {}
    moves = {}
    for key, told in mapping(value, name).items():
        # Names in geth have no case, and its tests write this one in both ways.
        form = {
            MOVE if field.lower() == MOVE.lower() else field: it
            for field, it in mapping(told, f"{name}.{key}").items()
        }
        if form.get(MOVE) is not None:
            moves[address(key, name)] = address(form[MOVE], f"{name}.{key}.{MOVE}")
        rest[key] = {field: it for field, it in form.items() if field != MOVE}
    return rest, moves


def _withdrawal(value: object, name: str) -> Withdrawal:
    form = mapping(value, name)
    return Withdrawal(
        index=uint64(form.get("index"), f"{name}.index"),
        validator_index=uint64(form.get("validatorIndex"), f"{name}.validatorIndex"),
        address=address(form.get("address"), f"{name}.address"),
        amount=uint64(form.get("amount"), f"{name}.amount"),
    )


def _call(asked: TransactionRequest) -> SimulatedCall:
    return SimulatedCall(
        sender=asked.sender or bytes(20),  # type: ignore[arg-type]
        to=asked.to,
        data=asked.data,
        value_wei=asked.value_wei,
        gas=asked.gas,
        nonce=asked.nonce,
        gas_price_wei=asked.gas_price_wei,
        max_fee_wei=asked.max_fee_wei or 0,
        max_priority_fee_wei=asked.max_priority_fee_wei or 0,
        access_list=asked.access_list or (),
        max_blob_fee_wei=asked.max_blob_fee_wei or 0,
        blob_hashes=asked.blob_hashes,
        authorizations=asked.authorizations,
    )


@METHODS.method("eth_simulateV1", simulation, optional(block, LATEST))
def simulate(rpc: Rpc, options: Any, block: BlockId) -> list[Json]:  # noqa: ANN401 - as `simulation` reads it
    """Execute calls in blocks on top of one of the chain, and keep nothing; return the blocks."""
    at = made_view(rpc, block)
    made = Simulation(
        at.chain,
        at.header,
        validates=options["validation"],
        notes_transfers=options["traceTransfers"],
        most_gas=rpc.call_gas or at.chain.config.block_gas_limit,
    )
    try:
        return [
            _block_json(one, is_full=options["returnFullTransactions"])
            for one in made.run(options["blocks"])
        ]
    except SimulationError as error:
        raise RpcError(error.code, error.message) from error


def _block_json(made: SimulatedBlock, *, is_full: bool) -> Json:
    form = serializers.block_json(Record(block=made.block, receipts=made.receipts), is_full=is_full)
    calls: list[Json] = []
    logs_before = gas_before = 0
    for index, (computation, receipt) in enumerate(
        zip(made.computations, made.receipts, strict=True)
    ):
        calls.append(
            {
                "returnData": "0x"
                if computation.is_error
                else serializers.data(computation.output),
                "logs": _logs_json(made, index, logs_before),
                "gasUsed": hex(receipt.gas_used - gas_before),
                "status": hex(computation.is_success),
            }
        )
        if computation.is_error:
            calls[-1]["error"] = _error_json(computation)
        gas_before = receipt.gas_used
        # The number of the next log is how many there were, those that were undone counted in.
        logs_before += computation.transaction_context.get_next_log_counter()
    return form | {"calls": calls}


def _logs_json(made: SimulatedBlock, index: int, before: int) -> list[Json]:
    header, transaction = made.block.header, made.block.transactions[index]
    entries: list[LogEntry] = made.computations[index].noted_logs()
    return [
        {
            "address": serializers.data(account),
            "topics": [serializers.word(topic) for topic in topics],
            "data": serializers.data(data),
            "blockHash": serializers.data(header.hash),
            "blockNumber": hex(header.block_number),
            "blockTimestamp": hex(header.timestamp),
            "transactionHash": serializers.data(transaction.hash),
            "transactionIndex": hex(index),
            "logIndex": hex(before + place),
            "removed": False,
        }
        for place, account, topics, data in entries
    ]


def _error_json(computation: SimulatedComputation) -> Json:
    error: VMError = computation.error
    if isinstance(error, Revert):
        output = bytes(computation.output)
        told = f"execution reverted: {reason(output)}" if output else "execution reverted"
        return {"code": SERVER_ERROR, "message": told, "data": serializers.data(output)}
    op = None
    if isinstance(error, InvalidInstruction):
        op = computation.msg.code[computation.code.program_counter - 1]
    return {"code": VM_ERROR, "message": words_of(error, op)}

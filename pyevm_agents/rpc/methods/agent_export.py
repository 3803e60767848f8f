"""`agent_export*` methods: a transaction as a recorded chain, and as a replay in Solidity.

The texts are those of files: `pyevm-agents show`, `replay` and `node --fixture` read a record, and
`forge test` and Hardhat compile a replay.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from eth.exceptions import HeaderNotFound
from eth_utils import to_canonical_address

from pyevm_agents.errors import BlockError, FixtureError
from pyevm_agents.node import Node
from pyevm_agents.recordings import codec, record_block, record_mined_blocks
from pyevm_agents.recordings.export import (
    CALL_TRACER,
    NODE_SOURCE,
    ReplayExport,
    extract_numeric_calls,
    extract_replay_steps,
)
from pyevm_agents.recordings.export_solidity import (
    DEFAULT_NAME,
    render_solidity,
    require_library_name,
)
from pyevm_agents.rpc.call_watcher import ABANDONED
from pyevm_agents.rpc.errors import LIMIT_EXCEEDED, SERVER_ERROR, RpcError
from pyevm_agents.rpc.method_table import MethodTable, optional
from pyevm_agents.rpc.methods.agent import trace_transaction
from pyevm_agents.rpc.methods.agent_calls import describe
from pyevm_agents.rpc.methods.agent_calls import trace_calls as trace_effects
from pyevm_agents.rpc.methods.debug_trace import trace_transaction as trace_calls
from pyevm_agents.rpc.params import LATEST, parse_hash32, parse_text
from pyevm_agents.vm import RuleError

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain
    from pyevm_agents.recordings import Fixture
    from pyevm_agents.rpc.context import RequestContext

METHODS = MethodTable()

MAX_RECORD_BLOCKS = 300
"""The most blocks of a record of the whole chain. Each is executed twice, which takes some
milliseconds without agents: a person waits for all of them."""

MAX_RECORD_BYTES = 64 << 20
"""The most bytes of a record's text: a file of this size is read into memory as a whole."""

NAME_CHARACTERS = 10
"""The part of a transaction's hash that names its record: 0x and eight digits."""

NOT_RECORDABLE = (BlockError, FixtureError, HeaderNotFound, RuleError)


@METHODS.method("agent_exportRecord", parse_hash32)
def export_record(rpc: RequestContext, transaction_hash: bytes) -> str:
    """Return a transaction's chain up to its block, or that block, as the text of a recorded chain.

    The blocks are executed again, with the stored generations. A chain that is long, or that not
    only transactions changed, is left out but for the block and the state read by the block.
    """
    match = rpc.node.chain.find_transaction(transaction_hash)
    if match is None:
        raise RpcError(SERVER_ERROR, f"transaction 0x{transaction_hash.hex()} not found: not mined")
    block = match[0].block
    try:
        fixture = _record(rpc, transaction_hash, block.number)
    except NOT_RECORDABLE as error:
        raise RpcError(
            SERVER_ERROR, f"transaction 0x{transaction_hash.hex()} can't be recorded: {error}"
        ) from error
    hashes = [recorded.hash for recorded in fixture.blocks[-1].transactions]
    if hashes != [transaction.hash for transaction in block.transactions]:
        raise RpcError(SERVER_ERROR, "the chain was replaced while it was recorded; ask again")
    data = codec.encode(fixture)
    if len(data) > MAX_RECORD_BYTES:
        raise RpcError(
            LIMIT_EXCEEDED,
            f"record of {len(data):,} bytes: must be at most {MAX_RECORD_BYTES:,}; export a "
            "transaction of another block",
        )
    return data.decode()


def _record(rpc: RequestContext, transaction_hash: bytes, number: int) -> Fixture:
    """Record the blocks up to a transaction's, or that block alone.

    Raises: RpcError: the client has left. Any of `NOT_RECORDABLE`: see `record_block`.
    """
    chain, text = rpc.node.chain, "0x" + transaction_hash.hex()
    name = f"run-{text[:NAME_CHARACTERS]}"

    def read_details(copy: Chain) -> None:
        if copy.fork_block is not None:
            _read_details(rpc, copy, transaction_hash)

    if number - chain.first_number <= MAX_RECORD_BLOCKS:
        try:
            return record_mined_blocks(
                chain,
                number,
                name=name,
                comment=f"The chain of a node up to block {number}, with transaction {text}.",
                on_block=lambda _: _require_client(rpc),
                on_end=read_details,
            )
        except NOT_RECORDABLE:
            _require_client(rpc)
    comment = (
        f"Block {number} of a node's chain, with transaction {text}, mined again on the state "
        "that it reads."
    )
    return record_block(chain, number, name=name, comment=comment, on_end=read_details)


def _read_details(rpc: RequestContext, copy: Chain, transaction_hash: bytes) -> None:
    """Read the symbols, names and texts that views need beside the transaction's own reads."""
    node = Node(copy, now=lambda: float(copy.head.timestamp))
    context = replace(rpc, node=node)
    try:
        with suppress(RpcError):
            names = trace_effects(context, transaction_hash)["names"]
            assert isinstance(names, dict)  # noqa: S101 - as the method returns it
            for address in names:
                describe(context, to_canonical_address(address), LATEST)
    finally:
        node.close()


def _require_client(rpc: RequestContext) -> None:
    if rpc.session is not None and not rpc.session.is_open:
        raise RpcError(LIMIT_EXCEEDED, ABANDONED)


@METHODS.method("agent_exportReplay", parse_hash32, optional(parse_text, DEFAULT_NAME))
def export_replay(rpc: RequestContext, transaction_hash: bytes, library_name: str) -> str:
    """Return a transaction's agent steps as a Solidity library, the output of `export-replay`."""
    require_library_name(library_name)
    trace = trace_transaction(rpc, transaction_hash)
    frame = trace_calls(rpc, transaction_hash, CALL_TRACER)
    assert isinstance(frame, dict)  # noqa: S101 - the call tracer's result
    steps = extract_replay_steps(frame, trace)
    if not steps:
        raise RpcError(
            SERVER_ERROR,
            f"transaction 0x{transaction_hash.hex()} has no steps of agents: nothing to replay",
        )
    return render_solidity(
        ReplayExport(
            name=library_name,
            source=NODE_SOURCE,
            steps=steps,
            numeric_calls=extract_numeric_calls(frame),
        )
    )

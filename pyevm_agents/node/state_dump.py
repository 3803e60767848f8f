"""State dumps: all accounts and the head as one JSON object that anvil loads too, and back.

    {"format": "pyevm-agents-state-1",
     "block": {"number": "0x2", "timestamp": "0x6b01cab6", "gas_limit": 30000000, …},
     "accounts": {…}, "best_block_number": 2, "blocks": [{"header": {…}, …}], "transactions": []}

`state/dump.py` has the accounts. `load` takes dumps of this node and anvil's, and uses the accounts
and the head's number and time.

A dump of a fork has the accounts that differ from the remote state, and an `origin`: chain ID,
number and hash of the fork block. Only the same fork loads that dump.

Source: anvil 1.7.1, `--dump-state`; execution-apis, `Block`, for the header.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import orjson

from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.node.node import Node

DUMP_FORMAT = "pyevm-agents-state-1"

MAX_FILLED_BLOCKS = 10_000
"""Upper bound of empty blocks that `load` mines to reach the number of a dump's head."""

MAX_TIME = 2**64 - 1

MAX_VALUES = 5_000_000
"""Upper bound of commas and opening brackets of a dump, for some 300,000 accounts. An empty list
takes three bytes of JSON, less than a hundredth of that in gzip, and 90 bytes of memory."""

PIECE_BYTES = 2**20
"""Bytes that are decompressed at a time."""

GZIP = b"\x1f\x8b"

HEADER_FIELDS = {
    "parentHash": "parent_hash",
    "sha3Uncles": "uncles_hash",
    "miner": "coinbase",
    "stateRoot": "state_root",
    "transactionsRoot": "transaction_root",
    "receiptsRoot": "receipt_root",
    "difficulty": "difficulty",
    "number": "block_number",
    "gasLimit": "gas_limit",
    "gasUsed": "gas_used",
    "timestamp": "timestamp",
    "extraData": "extra_data",
    "mixHash": "mix_hash",
    "nonce": "nonce",
    "baseFeePerGas": "base_fee_per_gas",
    "withdrawalsRoot": "withdrawals_root",
    "blobGasUsed": "blob_gas_used",
    "excessBlobGas": "excess_blob_gas",
    "parentBeaconBlockRoot": "parent_beacon_block_root",
    "requestsHash": "requests_hash",
}
"""py-evm's attribute of each field of a header, by its name in JSON-RPC."""


def decode_dump(data: bytes, *, most_bytes: int) -> object:
    """Decode the JSON of a dump, gzipped or not.

    Input:  most_bytes: limit of the JSON.
    Raises: ConfigError: above a limit, truncated or damaged, or not JSON.
    """
    is_packed = data.startswith(GZIP)
    pieces: list[bytes] = []
    size_bytes = values = 0
    for piece in _unpack(data) if is_packed else (data,):
        size_bytes += len(piece)
        values += sum(map(piece.count, (b",", b"[", b"{")))
        if size_bytes > most_bytes:
            raise ConfigError(f"must be at most {most_bytes:,} bytes of JSON")
        if values > MAX_VALUES:
            raise ConfigError(f"must have at most {MAX_VALUES:,} commas and opening brackets")
        pieces.append(piece)
    try:
        return orjson.loads(b"".join(pieces))
    except ValueError as error:
        raise ConfigError(f"not JSON: {error}; pass a dump of this node or anvil") from error


def _unpack(data: bytes) -> Iterator[bytes]:
    """Decompress gzip piece by piece."""
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    rest = data
    while not unpacker.eof:
        try:
            piece = unpacker.decompress(rest, PIECE_BYTES)
        except zlib.error as error:
            raise ConfigError(f"truncated or damaged: {error}") from error
        rest = unpacker.unconsumed_tail
        if not piece and not rest and not unpacker.eof:
            raise ConfigError("truncated or damaged: the end is missing")
        yield piece


def dump(node: Node) -> dict[str, object]:
    """Return all accounts and the head. Write queue's thread only."""
    chain = node.chain
    origin = chain.config.origin
    return {
        "format": DUMP_FORMAT,
        "block": _dump_environment(chain.head),
        **({} if origin is None else {"origin": origin.to_form()}),
        "accounts": chain.dump_accounts(),
        "best_block_number": chain.head.block_number,
        "blocks": [
            {
                "header": _dump_header(chain.head),
                "transactions": [],
                "ommers": [],
                "withdrawals": None,
            }
        ],
        "transactions": [],
        "historical_states": None,
    }


def _dump_environment(head: BlockHeaderAPI) -> dict[str, object]:
    """Return the head as the block in which anvil executes calls."""
    return {
        "number": hex(head.block_number),
        "beneficiary": "0x" + head.coinbase.hex(),
        "timestamp": hex(head.timestamp),
        "gas_limit": head.gas_limit,
        "basefee": getattr(head, "base_fee_per_gas", 0),
        "difficulty": hex(head.difficulty),
        "prevrandao": "0x" + head.mix_hash.hex(),
        "blob_excess_gas_and_price": None,
    }


def _dump_header(head: BlockHeaderAPI) -> dict[str, str]:
    """Return the fields that the head's hard fork has."""
    values = {name: getattr(head, field, None) for name, field in HEADER_FIELDS.items()}
    form = {
        name: "0x" + value.hex() if isinstance(value, bytes) else hex(value)
        for name, value in values.items()
        if value is not None
    }
    return {**form, "logsBloom": f"0x{head.bloom:0512x}"}


def load(node: Node, form: object) -> None:
    """Put a dump's accounts into the latest state; mine to the number and time of the dump's head.

    Only the write queue's thread calls this.

    Raises: ConfigError: `form` is not a dump, of another fork, or too far ahead of the chain.
    """
    if not isinstance(form, dict):
        raise ConfigError("not a state dump: must be a JSON object, as anvil_dumpState returns")
    block = form.get("block")
    kind = form.get("format")
    is_anvils = "format" not in form and isinstance(block, dict) and "accounts" in form
    if kind != DUMP_FORMAT and not is_anvils:
        raise ConfigError(
            f"state dump format {kind!r}: must be {DUMP_FORMAT!r} or a dump of anvil's"
        )
    _require_same_origin(node, form.get("origin"))
    number, timestamp = _parse_quantity(block, "number"), _parse_quantity(block, "timestamp")
    missing = number - node.chain.head.block_number
    if missing > MAX_FILLED_BLOCKS:
        raise ConfigError(
            f"state dump at block {number}: {missing} blocks after this chain's head, must be at "
            f"most {MAX_FILLED_BLOCKS}; mine blocks first"
        )
    node.chain.load_accounts(form.get("accounts"))
    for left in range(missing, 0, -1):
        after = node.chain.head.timestamp + 1
        node.mine_transactions(
            (), node.next_block.build_settings(after if left > 1 else max(after, timestamp))
        )


def _require_same_origin(node: Node, stated: object) -> None:
    """Reject a dump of another fork, whose accounts differ from another state."""
    origin = node.chain.config.origin
    own = None if origin is None else origin.to_form()
    if stated != own:
        raise ConfigError(
            f"state dump with origin {json.dumps(stated)}: must be this chain's, "
            f"{json.dumps(own)}; load it into a fork of the same block"
        )


def _parse_quantity(block: object, name: str) -> int:
    """Parse a quantity of the dump's head."""
    value = block.get(name) if isinstance(block, dict) else None
    try:
        number = int(value, 16) if isinstance(value, str) else -1
    except ValueError:
        number = -1
    if not 0 <= number <= MAX_TIME:
        raise ConfigError(f'state dump block.{name} {value!r}: must be a quantity such as "0x1f"')
    return number

"""State dumps: all accounts and the head as one JSON object that anvil loads too, and back.

    {"format": "pyevm-agents-state-1",
     "block": {"number": "0x2", "timestamp": "0x6b01cab6", "gas_limit": 30000000, …},
     "accounts": {…}, "best_block_number": 2, "blocks": [{"header": {…}, …}], "transactions": []}

`state/dump.py` has the accounts. `load` takes dumps of this node and anvil's, and uses the accounts
and the head's number, time and base fee. Numbers are JSON numbers or texts: anvil's versions
differ, and the first ones write no block.

A dump of a fork has the accounts that differ from the remote state, and an `origin`: chain ID,
number and hash of the fork block. Only the same fork loads that dump. anvil's dumps state none.

Source: anvil 1.7.1, `--dump-state`; foundry, crates/anvil/test-data, for earlier versions;
execution-apis, `Block`, for the header.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson
from eth.vm.forks.london.headers import calculate_expected_base_fee_per_gas

from pyevm_agents.config import MAX_TIMESTAMP_SECONDS, ForkOrigin
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.node.node import Node

DUMP_FORMAT = "pyevm-agents-state-1"

MAX_FILLED_BLOCKS = 10_000
"""Upper bound of empty blocks that `load` mines to reach the number of a dump's head."""

MAX_VALUES = 5_000_000
"""Upper bound of commas and opening brackets of a dump, for some 300,000 accounts. An empty list
takes three bytes of JSON, less than a hundredth of that in gzip, and 90 bytes of memory."""

PIECE_BYTES = 2**20
"""Bytes that are decompressed at a time."""

LEAST_GAS_LIMIT = 5_000
"""A head with less is no block, and has no base fee after it. Source: go-ethereum, params."""

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

    The last mined block has the base fee of the dump's head, and the next one the base fee that
    follows from that head. Only the write queue's thread calls this.

    Raises: ConfigError: `form` is not a dump, of another fork, or too far ahead of the chain.
    """
    if not isinstance(form, dict):
        raise ConfigError("not a state dump: must be a JSON object, as anvil_dumpState returns")
    kind = form.get("format")
    is_anvils = "format" not in form and isinstance(form.get("accounts"), dict)
    if kind != DUMP_FORMAT and not is_anvils:
        raise ConfigError(
            f"state dump format {kind!r}: must be {DUMP_FORMAT!r} or a dump of anvil's"
        )
    if not is_anvils:
        _require_same_origin(node, read_origin(form))
    head = _DumpedHead.read(form)
    missing = head.number - node.chain.head.block_number
    if missing > MAX_FILLED_BLOCKS:
        raise ConfigError(
            f"state dump at block {head.number}: {missing} blocks after this chain's head, must be "
            f"at most {MAX_FILLED_BLOCKS}; mine blocks first"
        )
    node.chain.load_accounts(form.get("accounts"))
    node.pool.remove_stale(node.chain.nonce)
    for left in range(missing, 0, -1):
        after = node.chain.head.timestamp + 1
        settings = replace(
            node.next_block.overrides,
            timestamp_seconds=after if left > 1 else max(after, head.timestamp_seconds),
        )
        if left == 1 and settings.base_fee_wei is None:
            settings = replace(settings, base_fee_wei=head.base_fee_wei)
        node.mine_transactions((), settings)
    if head.timestamp_seconds > node.clock.now_seconds():
        node.clock.set_now(head.timestamp_seconds)
    _continue_base_fee(node, head)


def _continue_base_fee(node: Node, head: _DumpedHead) -> None:
    """Give the next block the base fee that the dump's head leads to: the mined one is empty."""
    is_head = head.number == node.chain.head.block_number
    is_set = node.next_block.overrides.base_fee_wei is not None
    if not is_head or is_set or head.base_fee_wei is None or head.gas_limit < LEAST_GAS_LIMIT:
        return
    parent = node.chain.head.copy(
        base_fee_per_gas=head.base_fee_wei, gas_limit=head.gas_limit, gas_used=head.gas_used
    )
    node.next_block.override_next(base_fee_wei=calculate_expected_base_fee_per_gas(parent))


def read_start_seconds(form: object) -> int | None:
    """Return the timestamp of a genesis from which `load` reaches the very time of a dump's head.

    None if the dump states no time, or is none; `load` says so.
    """
    try:
        head = _DumpedHead.read(form) if isinstance(form, dict) else _DumpedHead()
    except ConfigError:
        return None
    return max(head.timestamp_seconds - head.number, 0) if head.timestamp_seconds else None


def read_origin(form: object) -> ForkOrigin | None:
    """Return the fork block that a dump states; None for a dump of no fork, or of anvil's.

    Raises: ConfigError: the block is not in the format of a dump.
    """
    stated = form.get("origin") if isinstance(form, dict) else None
    try:
        return None if stated is None else ForkOrigin.from_form(stated)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"state dump with origin {json.dumps(stated)}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _DumpedHead:
    """The head of a dump."""

    number: int = 0
    timestamp_seconds: int = 0
    base_fee_wei: int | None = None
    gas_limit: int = 0
    gas_used: int = 0
    """0 for a dump without the head's header."""

    @classmethod
    def read(cls, form: Mapping[str, object]) -> _DumpedHead:
        """Return the head that a dump states; without a block, that of its number alone.

        Raises: ConfigError: a field is no quantity.
        """
        block = form.get("block")
        if block is None and "format" not in form:
            best = form.get("best_block_number")
            return cls(number=0 if best is None else _parse_quantity(best, "best_block_number"))
        if not isinstance(block, dict):
            raise ConfigError(f"state dump block {block!r}: must be an object")
        base_fee = block.get("basefee")
        number = _parse_quantity(block.get("number"), "block.number")
        header = _find_header(form.get("blocks"), number)
        return cls(
            number=number,
            timestamp_seconds=_parse_quantity(block.get("timestamp"), "block.timestamp"),
            base_fee_wei=None if base_fee is None else _parse_quantity(base_fee, "block.basefee"),
            gas_limit=_parse_quantity(header.get("gasLimit", 0), "gasLimit"),
            gas_used=_parse_quantity(header.get("gasUsed", 0), "gasUsed"),
        )


def _find_header(blocks: object, number: int) -> Mapping[str, object]:
    """Return the header of a dump's block by number; empty if the dump has none."""
    for block in reversed(blocks if isinstance(blocks, list) else []):
        header = block.get("header") if isinstance(block, dict) else None
        if isinstance(header, dict) and header.get("number") in (number, hex(number)):
            return header
    return {}


def _require_same_origin(node: Node, stated: ForkOrigin | None) -> None:
    """Reject a dump of another fork, whose accounts differ from another state."""
    own = node.chain.config.origin
    if stated == own:
        return
    advice = (
        "load it into a new chain that is no fork"
        if stated is None
        else f"load it into a fork of block {stated.block_number:,}"
    )
    raise ConfigError(
        f"state dump of {_describe_origin(stated)}: must be of this chain's kind, "
        f"{_describe_origin(own)}; {advice}"
    )


def _describe_origin(origin: ForkOrigin | None) -> str:
    if origin is None:
        return "a chain that is no fork"
    return (
        f"a fork of chain {origin.chain_id} at block {origin.block_number:,} "
        f"(0x{origin.block_hash.hex()})"
    )


def _parse_quantity(value: object, name: str) -> int:
    """Parse a number of a dump's head: a JSON number, or a text in hexadecimal or decimal."""
    try:
        if isinstance(value, str):
            number = int(value, 16 if value.startswith("0x") else 10)
        else:
            number = value if type(value) is int else -1
    except ValueError:
        number = -1
    if not 0 <= number <= MAX_TIMESTAMP_SECONDS:
        raise ConfigError(f'state dump {name} {value!r}: must be a quantity such as "0x1f"')
    return number

"""Encoder and decoder of fixtures.

Redundant fields (such as a header in addition to RLP) are derived when a fixture is written; on
reading, the fields must match the derived ones.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING

from eth_typing import Address

from precompiles.spec import ADDRESS_BYTES
from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.chain import GenesisAccount
from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.config import DIGEST_BYTES, ChainConfig, ForkOrigin
from pyevm_agents.errors import BlockError, ConfigError, FixtureError
from pyevm_agents.recordings import canonical_json
from pyevm_agents.recordings.fixture import (
    Fixture,
    RecordedBlock,
    RecordedStep,
    RecordedTransaction,
)
from pyevm_agents.recordings.fork_record import RecordedFork
from pyevm_agents.recordings.generation_codec import encode_exchange, read_exchange
from pyevm_agents.recordings.json_reader import NONCE_BITS, JsonReader, parse_quantity
from pyevm_agents.state import RemoteAccount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from eth.abc import BlockHeaderAPI

    from pyevm_agents.recordings.canonical_json import Json

FORMAT = "pyevm-agents chain fixture"
VERSION = 1
"""Version of the format; raise it when a field's meaning or place changes."""

MARKS = (FORMAT.encode(), b'"digests"')
"""Texts near the start and the end of a fixture's file; a file with neither is not a fixture."""


HEADER_FIELDS = {
    "parentHash": "parent_hash",
    "uncleHash": "uncles_hash",
    "coinbase": "coinbase",
    "stateRoot": "state_root",
    "transactionsTrie": "transaction_root",
    "receiptTrie": "receipt_root",
    "bloom": "bloom",
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
"""Field names in ethereum/tests' BlockchainTests, and py-evm's."""

BLOOM_BYTES = 256


def write_fixture(fixture: Fixture, path: Path) -> None:
    """Write a fixture's file atomically.

    Raises: ConfigError: the file can't be written.
    """
    write_atomically(path, encode(fixture))


def read_fixture(path: Path) -> Fixture:
    """Read a fixture's file and check the digests; a replay checks the contents.

    Raises: ConfigError: the file is missing, not a fixture, or of another version.
            FixtureError: the file was altered.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    try:
        return decode(data)
    except (FixtureError, ConfigError) as error:
        kind = type(error) if any(mark in data for mark in MARKS) else ConfigError
        raise kind(f"{path}: {error}") from error


def encode(fixture: Fixture) -> bytes:
    """Return the contents of a fixture's file."""
    return canonical_json.serialize(fixture.name, build_sections(fixture)).encode()


def decode(data: bytes) -> Fixture:
    """Parse the contents of a fixture's file.

    Raises: FixtureError: not a fixture, or altered. ConfigError: of another version.
    """
    name, parts = canonical_json.parse(data, VERSION)
    root = JsonReader(parts, "")
    if root["_info"]["format"].read_text() != FORMAT:
        raise FixtureError(f"_info.format must be {FORMAT!r}")
    fixture = _read_fixture(name, root)
    difference = next(canonical_json.iter_differences(build_sections(fixture), parts), None)
    if difference is not None:
        place, kind = difference
        phrase = (
            f"does not match {_describe_source(place)}" if kind == "different" else f"is {kind}"
        )
        raise FixtureError(f"{place} {phrase}")
    return fixture


def build_sections(fixture: Fixture) -> dict[str, Json]:
    """Return the sections of a fixture's file."""
    start = _build_start(fixture)
    last_hash = fixture.blocks[-1].block.hash if fixture.blocks else _get_start_hash(fixture)
    return {
        "_info": {
            "comment": fixture.comment,
            "filledwith": fixture.tool,
            "format": FORMAT,
            "name": fixture.name,
            "version": VERSION,
        },
        "network": fixture.config.fork.capitalize(),
        "sealEngine": "NoProof",
        "config": json.loads(fixture.config.to_json()),
        **_encode_numeric_files(fixture.numeric_files),
        **start,
        "pre": _encode_accounts(fixture.pre),
        "blocks": [_encode_block(block) for block in fixture.blocks],
        "steps": [_encode_step(step) for step in fixture.steps],
        "lastblockhash": _to_hex(last_hash),
        "postState": _encode_accounts(fixture.post),
    }


def _get_start_hash(fixture: Fixture) -> bytes:
    if fixture.fork is not None:
        return fixture.fork.origin.block_hash
    return bytes(decode_block(fixture.genesis).hash)


def _build_start(fixture: Fixture) -> dict[str, Json]:
    """Return the sections of genesis, or of the fork block."""
    if fixture.fork is not None:
        return {"fork": _encode_fork(fixture.fork)}
    return {
        "genesisBlockHeader": _encode_header(decode_block(fixture.genesis).header),
        "genesisRLP": _to_hex(fixture.genesis),
    }


def _encode_numeric_files(files: Mapping[str, bytes]) -> dict[str, Json]:
    """Return the section of the numeric models' files, in Base64; empty without numeric models."""
    encoded: dict[str, Json] = {
        name: base64.b64encode(data).decode() for name, data in files.items()
    }
    return {"numericModels": encoded} if encoded else {}


def _encode_fork(fork: RecordedFork) -> Json:
    return {
        "header": _encode_header(fork.header),
        "headerRLP": _to_hex(fork.encoded_header),
        "accounts": {
            _to_hex(address): None
            if account is None
            else {
                "balance": hex(account.balance_wei),
                "code": _to_hex(account.code),
                "nonce": hex(account.nonce),
                "storage": {
                    hex(slot): hex(value) for slot, value in fork.slots.get(address, {}).items()
                },
            }
            for address, account in fork.accounts.items()
        },
        "blockHashes": {
            hex(number): _to_hex(block_hash) for number, block_hash in fork.block_hashes.items()
        },
    }


def _encode_block(block: RecordedBlock) -> Json:
    return {
        "rlp": _to_hex(block.encoded),
        "blockHeader": _encode_header(block.block.header),
        "transactions": [
            {
                "hash": _to_hex(transaction.hash),
                "sender": _to_hex(transaction.sender),
                "gasUsed": hex(transaction.gas_used),
                "status": hex(transaction.is_success),
            }
            for transaction in block.transactions
        ],
    }


def _encode_header(header: BlockHeaderAPI) -> dict[str, Json]:
    values = header.as_dict()
    written: dict[str, Json] = {"hash": _to_hex(header.hash)}
    for name, field in HEADER_FIELDS.items():
        if field not in values:  # A field of a later fork.
            continue
        value = values[field]
        if name == "bloom":
            value = value.to_bytes(BLOOM_BYTES, "big")
        written[name] = _to_hex(value) if isinstance(value, bytes) else hex(value)
    return written


def _encode_accounts(accounts: Mapping[Address, GenesisAccount]) -> Json:
    return {
        _to_hex(address): {
            "balance": hex(account.balance_wei),
            "code": _to_hex(account.code),
            "nonce": hex(account.nonce),
            "storage": {hex(slot): hex(value) for slot, value in account.storage.items()},
        }
        for address, account in accounts.items()
    }


def _encode_step(step: RecordedStep) -> Json:
    return {
        "block": step.block,
        "transaction": step.transaction,
        "step": step.step,
        **encode_exchange(step.exchange),
    }


def _read_fixture(name: str, root: JsonReader) -> Fixture:
    config = root["config"]
    try:
        chain_config = ChainConfig.from_json(canonical_json.encode_canonical(config.value))
    except ConfigError as error:
        raise ConfigError(f"config: {error}") from error
    return Fixture(
        name=name,
        comment=root["_info"]["comment"].read_text(),
        tool=root["_info"]["filledwith"].read_text(),
        config=chain_config,
        genesis=_read_block(root["genesisRLP"]) if chain_config.origin is None else b"",
        pre=_read_accounts(root["pre"]),
        fork=None if chain_config.origin is None else _read_fork(root["fork"], chain_config.origin),
        blocks=tuple(
            RecordedBlock(
                encoded=_read_block(block["rlp"]),
                transactions=tuple(
                    _read_transaction(t) for t in block["transactions"].iter_items()
                ),
            )
            for block in root["blocks"].iter_items()
        ),
        steps=tuple(_read_step(step) for step in root["steps"].iter_items()),
        post=_read_accounts(root["postState"]),
        numeric_files=_read_numeric_files(root["numericModels"], chain_config)
        if chain_config.numeric_models
        else {},
    )


def _read_numeric_files(node: JsonReader, config: ChainConfig) -> dict[str, bytes]:
    """Return the files of the numeric models that a configuration has.

    Raises: FixtureError: one is missing, or is not the file of the digest.
    """
    files = {}
    for profile in config.numeric_models:
        text = node[profile.name]
        try:
            data = base64.b64decode(text.read_text(), validate=True)
        except (binascii.Error, ValueError) as error:
            raise FixtureError(f"{text.path}: must be Base64") from error
        if hashlib.sha256(data).digest() != profile.digest:
            raise FixtureError(
                f"{text.path} has SHA-256 {hashlib.sha256(data).hexdigest()}: must be that of the "
                f"configuration, {profile.digest.hex()}"
            )
        files[profile.name] = data
    return files


def _read_fork(node: JsonReader, origin: ForkOrigin) -> RecordedFork:
    accounts: dict[Address, RemoteAccount | None] = {}
    slots: dict[Address, dict[int, int]] = {}
    for key, account in node["accounts"].iter_fields():
        address = _read_address(key, node["accounts"])
        if account.value is None:
            accounts[address] = None
            continue
        read = _read_account(account)
        accounts[address] = RemoteAccount(read.nonce, read.balance_wei, read.code)
        slots[address] = dict(read.storage)
    fork = RecordedFork(
        chain_id=origin.chain_id,
        encoded_header=node["headerRLP"].read_data(),
        accounts=accounts,
        slots=slots,
        block_hashes={
            parse_quantity(number, value.path): value.read_data(DIGEST_BYTES)
            for number, value in node["blockHashes"].iter_fields()
        },
    )
    if fork.origin != origin:
        raise FixtureError(
            f"fork.headerRLP is block {fork.origin.block_number} with the hash "
            f"0x{fork.origin.block_hash.hex()}: must be config.origin's block "
            f"{origin.block_number}, 0x{origin.block_hash.hex()}"
        )
    return fork


def _read_block(node: JsonReader) -> bytes:
    encoded = node.read_data()
    try:
        decode_block(encoded)
    except BlockError as error:
        raise FixtureError(f"{node.path}: {error}") from error
    return encoded


def _read_transaction(node: JsonReader) -> RecordedTransaction:
    status = node["status"].read_quantity()
    if status not in {0, 1}:
        raise FixtureError(f"invalid {node.path}.status {status}: must be 0 or 1")
    return RecordedTransaction(
        hash=node["hash"].read_data(DIGEST_BYTES),
        sender=Address(node["sender"].read_data(ADDRESS_BYTES)),
        gas_used=node["gasUsed"].read_quantity(),
        is_success=status == 1,
    )


def _read_accounts(node: JsonReader) -> dict[Address, GenesisAccount]:
    return {_read_address(key, node): _read_account(account) for key, account in node.iter_fields()}


def _read_address(key: str, node: JsonReader) -> Address:
    return Address(JsonReader(key, f"{node.path}'s address").read_data(ADDRESS_BYTES))


def _read_account(node: JsonReader) -> GenesisAccount:
    return GenesisAccount(
        balance_wei=node["balance"].read_quantity(),
        nonce=node["nonce"].read_quantity(bits=NONCE_BITS),
        code=node["code"].read_data(),
        storage={
            parse_quantity(slot, value.path): value.read_quantity()
            for slot, value in node["storage"].iter_fields()
        },
    )


def _read_step(node: JsonReader) -> RecordedStep:
    return RecordedStep(
        block=node["block"].read_integer(),
        transaction=node["transaction"].read_integer(),
        step=node["step"].read_integer(),
        exchange=read_exchange(node),
    )


def _describe_source(place: str) -> str:
    """Describe the source that a derived field is compared with."""
    section, _, field = place.partition(".")
    if section.startswith("blocks["):
        return f"{section}.rlp"
    derived = {
        "fork": "fork.headerRLP and config.origin",
        "genesisBlockHeader": "genesisRLP",
        "lastblockhash": "the last block's rlp",
        "network": "config.fork",
        "sealEngine": "'NoProof', the only supported one",
    }
    return derived.get(section, f"the encoding of {field or section}")


def _to_hex(data: bytes) -> str:
    return "0x" + data.hex()

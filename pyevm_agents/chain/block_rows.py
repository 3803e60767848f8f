"""Rows of a block in py-evm's schema: header, score, number, transactions, the head.

py-evm writes a block by a search for gaps and for the longer chain. A child of the head needs
neither; any other block goes py-evm's way, which gives the same rows.

Source: py-evm, eth/db/header.py and eth/db/chain.py, schema `v1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import rlp
from eth.constants import EMPTY_UNCLE_HASH, POST_MERGE_DIFFICULTY
from eth.db.schema import SchemaV1

from precompiles.spec import WORD_BYTES
from pyevm_agents.state.account import decode_integer, encode_integer
from pyevm_agents.state.trie_nodes import HASH_PREFIX, encode_list

if TYPE_CHECKING:
    from eth.abc import BlockAPI, ChainDatabaseAPI
    from eth_typing import BlockNumber

    from pyevm_agents.chain.database import Database

HEAD_KEY = SchemaV1.make_canonical_head_hash_lookup_key()
GAP_KEYS = SchemaV1.make_header_chain_gaps_lookup_key(), SchemaV1.make_chain_gaps_lookup_key()
"""Rows of the gaps in the headers and in the blocks, which end with the next number."""


def write_block(db: Database, chaindb: ChainDatabaseAPI, block: BlockAPI) -> None:
    """Write the rows of a block, whose trie nodes are written.

    Input: the chain's database; py-evm's view of it; the block.
    """
    rows = _list_rows_of_child(db, block)
    if rows is None:
        chaindb.persist_block(block)
        return
    for key, row in rows.items():
        db[key] = row


def _list_rows_of_child(db: Database, block: BlockAPI) -> dict[bytes, bytes] | None:
    """Return the rows of a block that is a child of the head; None for any other block."""
    header, number = block.header, block.number
    if db[HEAD_KEY] != header.parent_hash or not _is_plain(block):
        return None
    rows = {header.hash: rlp.encode(header), HEAD_KEY: header.hash}
    for key in GAP_KEYS:
        gaps = db.get(key, b"")
        if not gaps.endswith(_encode_next_number(number)):
            return None
        rows[key] = gaps[:-WORD_BYTES] + (number + 1).to_bytes(WORD_BYTES, "big")
    parent_score = decode_integer(
        db[SchemaV1.make_block_hash_to_score_lookup_key(header.parent_hash)]
    )
    score_key = SchemaV1.make_block_hash_to_score_lookup_key(header.hash)
    rows[score_key] = encode_integer(parent_score + number)
    number_key = SchemaV1.make_block_number_to_hash_lookup_key(number)
    rows[number_key] = HASH_PREFIX + header.hash
    for index, transaction in enumerate(block.transactions):
        key = SchemaV1.make_transaction_hash_to_block_lookup_key(transaction.hash)
        rows[key] = encode_list(encode_integer(number) + encode_integer(index))
    return rows


def _is_plain(block: BlockAPI) -> bool:
    """Whether a block is one since the merge, without withdrawals."""
    header = block.header
    return (
        header.difficulty == POST_MERGE_DIFFICULTY
        and header.uncles_hash == EMPTY_UNCLE_HASH
        and not getattr(block, "withdrawals", ())
    )


def _encode_next_number(number: BlockNumber) -> bytes:
    """Return the end of a row of gaps before a block of this number."""
    return HASH_PREFIX + number.to_bytes(WORD_BYTES, "big")

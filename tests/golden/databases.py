"""Databases: rows of a chain that is kept, and tables of the store of generations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eth_utils import to_hex

from precompiles.language_model import Generation, Margin
from precompiles.spec import HASH_BYTES
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain import database as row_keys
from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.models.store import database
from pyevm_agents.models.store import rows as store_codec
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, Bench
from tests.golden.byte_chain import ANSWER, EXECUTOR
from tests.golden.consensus import encode_request
from tests.golden.json_values import abbreviate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.models import Vocabulary

SAMPLE_HASH = b"\x12" * 32


class _NotedRows(MemoryRows):
    """Rows in memory that record every write."""

    def __init__(self) -> None:
        super().__init__()
        self.written: dict[bytes, bytes] = {}

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        super().write(changes)
        self.written |= {key: value for key, value in changes.items() if value is not None}


def collect_databases(_vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return the layout of everything that is kept between runs."""
    return {
        "rows of a chain": {
            "keys": {
                "configuration": row_keys.CONFIG_KEY.decode(),
                "state of the head": row_keys.HEAD_STATE_KEY.decode(),
                "trace of a transaction": to_hex(row_keys.trace_key(SAMPLE_HASH)),
                "root before a block": to_hex(row_keys.patched_root_key(SAMPLE_HASH)),
                "words in a block": to_hex(row_keys.generations_key(SAMPLE_HASH)),
                "sender of a transaction": to_hex(row_keys.sender_key(SAMPLE_HASH)),
            },
            "written": _written_rows(),
        },
        "store of generations": _store(),
    }


def _written_rows() -> Mapping[str, object]:
    """Return the rows that a chain with one inference writes beside content by its hash."""
    rows, model = _NotedRows(), ByteModel([ANSWER])
    accounts = {OWNER: GenesisAccount(balance_wei=10**30)}
    config = ChainConfig(models=(PROFILE,))
    chain = Chain(config, {PROFILE.name: model}, accounts=accounts, rows=rows)
    Bench(chain, model).send(EXECUTOR, encode_request())
    named = {
        key.decode("ascii", "backslashreplace"): value
        for key, value in rows.written.items()
        if len(key) != HASH_BYTES
    }
    words = rows.written[row_keys.generations_key(chain.head.hash)]
    return {
        "by name": {name: _row(value) for name, value in named.items()},
        "words in a block": json.loads(words),
        "by hash": sum(len(key) == HASH_BYTES for key in rows.written),
    }


def _row(value: bytes) -> object:
    try:
        return abbreviate(value.decode("ascii"))
    except UnicodeDecodeError:
        return abbreviate(to_hex(value))


def _store() -> Mapping[str, object]:
    opened = database.open_memory()
    rows = opened.connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name")
    schema = {f"{kind} {name}": " ".join(sql.split()) for kind, name, sql in rows if sql}
    pragmas = {
        name: opened.connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version", "auto_vacuum")
    }
    database.close(opened.connection)
    question = store_codec.GenerationInputs(
        digest=SAMPLE_HASH, fingerprint="made up", prompt_tokens=(1, 2, 70_000), grammar="start: A"
    )
    margin = Margin(gap=0.5, token_index=1, chosen="a", other="é")
    generation = Generation(
        text="é", tokens=(3, 4), forced_tokens=1, is_complete=True, margin=margin
    )
    prompt, tokens, *others, _ = store_codec.encode(question.compute_key(), (1, 2), generation)
    return {
        "schema": schema,
        "pragmas": pragmas,
        "key of a generation": to_hex(question.compute_key()),
        "fields but the checksum": [
            to_hex(store_codec.decompress(prompt)),
            to_hex(store_codec.decompress(tokens)),
            *(to_hex(one) if isinstance(one, bytes) else one for one in others),
        ],
    }

"""debug_* methods that read the chain's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils import keccak, to_hex

from tests.pyevm_agents.rpc.contracts_to_trace import (
    CODES,
    COUNTER,
    COUNTER_ADDRESS,
    SENDER,
    send,
)
from tests.pyevm_agents.rpc.served import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pyevm_agents.rpc.served import Served

    Serve = Callable[..., Served]

CODE = CODES[COUNTER_ADDRESS]
NOT_THERE = "0x" + "11" * 32


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(codes=CODES)


def test_code_is_found_by_its_hash(served: Served) -> None:
    code_hash = to_hex(keccak(CODE))
    assert served.ask("debug_codeByHash", code_hash) == to_hex(CODE)
    assert served.ask("debug_codeByHash", code_hash, "latest") == to_hex(CODE)
    assert served.ask("debug_codeByHash", NOT_THERE) == "0x"
    with pytest.raises(RefusedError, match="header not found"):
        served.ask("debug_codeByHash", code_hash, "0x9")


def test_rows_are_got_by_their_keys(served: Served) -> None:
    assert served.ask("debug_dbGet", to_hex(keccak(CODE))) == to_hex(CODE)
    latest = served.ask("eth_getBlockByNumber", "latest")["hash"]
    assert served.ask("debug_dbGet", "v1:canonical_head_hash") == latest
    for key in (NOT_THERE, "no such row"):
        with pytest.raises(RefusedError, match="not found: key 0x"):
            served.ask("debug_dbGet", key)
    with pytest.raises(RefusedError, match="must be bytes"):
        served.ask("debug_dbGet", "0x1")


def test_a_witness_has_what_its_block_reads(served: Served) -> None:
    send(served, COUNTER)
    witness = served.ask("debug_executionWitness", "latest")
    assert to_hex(CODE) in witness["codes"]
    assert {COUNTER, SENDER, "0x" + "00" * 32} <= set(witness["keys"])
    parent = served.ask("eth_getBlockByNumber", "0x0")
    assert [to_hex(keccak(hexstr=header)) for header in witness["headers"]] == [parent["hash"]]
    assert parent["stateRoot"] in {to_hex(keccak(hexstr=node)) for node in witness["state"]}


def test_genesis_has_no_witness(served: Served) -> None:
    with pytest.raises(RefusedError, match="block 0 is the genesis block"):
        served.ask("debug_executionWitness", "0x0")
    with pytest.raises(RefusedError, match="header not found"):
        served.ask("debug_executionWitness", "0x9")


@pytest.mark.parametrize(
    ("params", "told"),
    [
        (["latest", "0x9", COUNTER, "0x", 1], "transaction index 9 out of range: block 0 has 0"),
        (["latest", "0x0", COUNTER, "0x", 0], "must be 1 to 1024 slots"),
        (["latest", "0x0", COUNTER, "0x", 1_025], "must be 1 to 1024 slots"),
        (["latest", "0x0", COUNTER, "0x" + "00" * 33, 1], "must be at most 32 bytes"),
        ([NOT_THERE, "0x0", COUNTER, "0x", 1], "header not found"),
    ],
)
def test_ranges_that_are_none(served: Served, params: list[object], told: str) -> None:
    with pytest.raises(RefusedError, match=told):
        served.ask("debug_storageRangeAt", *params)

"""Mutated transactions and blocks in RLP never hit a bug."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth.vm.forks.prague.transactions import Authorization
from eth_utils import to_hex

from pyevm_agents.chain.transactions import TransactionFields, sign
from pyevm_agents.rpc.errors import INTERNAL_ERROR
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS
from tests.pyevm_agents.rpc.served import RefusedError, Served

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.samples import Sample

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
"""The order of secp256k1."""

CHAIN_ID = 31_337
NUMBERS = (
    *(0, 1, 2, 26, 27, 28, 29, 31, 34, 35, 36, 37, 2 * CHAIN_ID + 35, 2 * CHAIN_ID + 36),
    *(
        ORDER - 1,
        ORDER,
        ORDER + 1,
        ORDER // 2,
        2**63,
        2**64 - 1,
        2**64,
        2**256 - 1,
        2**256,
        2**600,
        2**16_000,
    ),
)
PIECES: tuple[Any, ...] = (
    *(
        b"",
        b"\0",
        b"\0\x01",
        b"\xff" * 19,
        b"\xff" * 20,
        b"\xff" * 32,
        b"\xff" * 33,
        [],
        [[]],
        [b""],
    ),
    *([b"\x01", [b"\x02"]], [[b"\xaa" * 20, [b"\x01" * 32]]]),
)
TURNS_OF_A_NODE = 500


def encode_number(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def build_transactions(nonce: int) -> list[bytes]:
    """Return a valid transaction of each type."""
    told: dict[str, Any] = {"nonce": nonce, "gas": 100_000, "to": ADDRESSES[1], "value_wei": 1}
    fees: dict[str, Any] = {"max_fee_wei": 10**11, "max_priority_fee_wei": 1}
    tuples = (
        Authorization(chain_id=0, address=b"\x77" * 20, nonce=0, y_parity=0, r=ORDER, s=1),
        Authorization(chain_id=0, address=b"\x77" * 20, nonce=0, y_parity=255, r=1, s=0),
    )
    fields = (
        TransactionFields(kind=0, gas_price_wei=10**11, **told),
        TransactionFields(
            kind=1, gas_price_wei=10**11, access_list=((ADDRESSES[1], (1,)),), **told
        ),
        TransactionFields(kind=2, **fees, **told),
        TransactionFields(
            kind=3, max_blob_fee_wei=10**11, blob_hashes=(b"\x01" + bytes(31),), **fees, **told
        ),
        TransactionFields(kind=4, authorizations=tuples, **fees, **told),
    )
    return [sign(each, KEYS[0], CHAIN_ID).encode() for each in fields]


class RawFuzz:
    """Generator of transactions and blocks that are nearly valid."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - the same each time
        self.bugs: Counter[str] = Counter()
        self.codes: Counter[object] = Counter()

    def begin(self) -> None:
        """Start a node with a block of each type of transaction."""
        self.served = Served()
        for nonce, raw in enumerate(build_transactions(0)):
            self.served.ask("eth_sendRawTransaction", to_hex(build_transactions(nonce)[raw[0] % 5]))
        head = int(self.served.ask("eth_blockNumber"), 16)
        self.blocks = [
            bytes.fromhex(self.served.ask("debug_getRawBlock", hex(number))[2:])
            for number in range(1, head + 1)
        ]

    def piece(self) -> Any:  # noqa: ANN401 - RLP
        if self.chance.random() < 0.6:
            return encode_number(self.chance.choice(NUMBERS))
        return self.chance.choice(PIECES)

    def mutate(self, items: list[Any], *, last: int = 0) -> list[Any]:
        """Return a list with another item, fewer or more; often one of the `last` ones."""
        changed = [*items]
        begin = len(items) - last if last and self.chance.random() < 0.6 else 0
        place = self.chance.randrange(begin, len(items)) if items else 0
        kind = self.chance.random()
        if not items or kind < 0.05:
            changed.insert(place, self.piece())
        elif kind < 0.1:
            del changed[place]
        elif isinstance(items[place], list) and kind < 0.6:
            changed[place] = self.mutate(items[place])
        else:
            changed[place] = self.piece()
        return changed

    def damage(self, encoded: bytes) -> bytes:
        """Return bytes with one changed, or cut."""
        place = self.chance.randrange(len(encoded))
        if self.chance.random() < 0.3:
            return encoded[:place]
        return encoded[:place] + self.chance.randbytes(1) + encoded[place + 1 :]

    def transaction(self, raw: bytes | None = None) -> bytes:
        if raw is None:
            raw = self.chance.choice(build_transactions(self.chance.choice((4, 5, 6))))
        if self.chance.random() < 0.1:
            return self.damage(raw)
        prefix = b"" if raw[0] >= 0xC0 else raw[:1]
        items = rlp.decode(raw[len(prefix) :])
        for _ in range(self.chance.choice((1, 1, 1, 2, 3))):
            items = self.mutate(items, last=3)
        if self.chance.random() < 0.05:
            prefix = self.chance.randbytes(1)
        return prefix + bytes(rlp.encode(items))

    def block(self) -> bytes:
        raw = self.chance.choice(self.blocks)
        if self.chance.random() < 0.1:
            return self.damage(raw)
        header, transactions, *rest = rlp.decode(raw)
        kind = self.chance.random()
        if kind < 0.6:
            for index, each in enumerate(transactions):
                encoded = rlp.encode(each) if isinstance(each, list) else each
                changed = self.transaction(encoded)
                is_list = changed[:1] >= b"\xc0" and kind < 0.5
                try:
                    transactions[index] = rlp.decode(changed) if is_list else changed
                except rlp.DecodingError:
                    transactions[index] = changed
        elif kind < 0.9:
            header = self.mutate(header)
        else:
            return bytes(rlp.encode(self.mutate([header, transactions, *rest])))
        return bytes(rlp.encode([header, transactions, *rest]))

    def turn(self) -> None:
        raw, block = to_hex(self.transaction()), to_hex(self.block())
        asked: list[Callable[[], tuple[str, list[object]]]] = [
            lambda: ("eth_sendRawTransaction", [raw]),
            lambda: ("eth_sendRawTransactionSync", [raw, 1]),
            lambda: ("trace_rawTransaction", [raw, ["trace", "stateDiff", "vmTrace"]]),
            lambda: ("anvil_reorg", [1, [[raw, 0]]]),
            lambda: ("debug_traceBlock", [block, {"tracer": "callTracer"}]),
            lambda: ("debug_traceBlock", [block]),
        ]
        method, params = self.chance.choice(asked)()
        try:
            self.served.ask(method, *params)
        except RefusedError as error:
            self.codes[error.code] += 1
            if error.code == INTERNAL_ERROR:
                self.bugs[f"{method}: {error.message}: {params}"] += 1
        else:
            self.codes[None] += 1


@pytest.mark.sample(count=400, seed=20261130)
def test_no_transaction_or_block_is_an_internal_error(sample: Sample) -> None:
    fuzz = RawFuzz(sample.seed)
    for turn in range(sample.count):
        if turn % TURNS_OF_A_NODE == 0:
            fuzz.begin()
        fuzz.turn()
        if turn % TURNS_OF_A_NODE == TURNS_OF_A_NODE - 1 or turn == sample.count - 1:
            fuzz.served.close()
    sample.figures.update({"requests": fuzz.codes.total(), "results": fuzz.codes[None]})
    assert not fuzz.bugs
    assert {-32000, -32602, None} <= fuzz.codes.keys(), "hardly anything was tried"

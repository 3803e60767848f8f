"""Values as JSON: as digests are computed of it, and as people and programs read it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from pyevm_agents.lifecycle.json_codec import from_json, show_json, to_json

PLAIN = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
CHECKSUMMED = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"


@dataclass(frozen=True)
class Payment:
    recipient_wallet: bytes
    data: bytes
    amount: int


@pytest.mark.parametrize(
    ("value", "stored", "shown"),
    [
        (bytes.fromhex(PLAIN[2:]), PLAIN, CHECKSUMMED),
        (PLAIN, PLAIN, CHECKSUMMED),
        ({"to": [PLAIN, "0x70"]}, {"to": [PLAIN, "0x70"]}, {"to": [CHECKSUMMED, "0x70"]}),
        (f"sent to {PLAIN}", f"sent to {PLAIN}", f"sent to {PLAIN}"),
        (b"\x11" * 32, "0x" + "11" * 32, "0x" + "11" * 32),
        ([None, True, 5], [None, True, 5], [None, True, 5]),
    ],
)
def test_addresses_are_shown_with_their_checksums(
    value: object, stored: object, shown: object
) -> None:
    assert to_json(value) == stored
    assert show_json(value) == shown


def test_a_dataclass_is_read_in_both_forms() -> None:
    payment = Payment(bytes.fromhex(PLAIN[2:]), b"\x01", 5)
    assert show_json(payment) == {"recipientWallet": CHECKSUMMED, "data": "0x01", "amount": 5}
    assert from_json(Payment, show_json(payment)) == from_json(Payment, to_json(payment)) == payment

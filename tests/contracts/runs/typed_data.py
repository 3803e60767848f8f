"""Digests and signatures of EIP-712, computed apart from the contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_account.messages import encode_typed_data
from eth_utils import keccak

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.contracts.plain_evm import Account, Contract

CHAIN_ID = 1


def hash_typed_data(
    name: str, contract: Contract, form: str, values: Mapping[str, object]
) -> bytes:
    """Return what is signed of a struct, such as `form` = `Note(string text,uint256 number)`.

    Source: EIP-712, by eth_account.
    """
    kind, _, members = form.removesuffix(")").partition("(")
    types = [
        dict(zip(("type", "name"), each.split(" "), strict=True)) for each in members.split(",")
    ]
    domain = {
        "name": name,
        "version": "1",
        "chainId": CHAIN_ID,
        "verifyingContract": contract.address,
    }
    signable = encode_typed_data(domain, {kind: types}, dict(values))
    digest: bytes = keccak(b"\x19" + signable.version + signable.header + signable.body)
    return digest


def sign(account: Account, digest: bytes) -> bytes:
    """Return the 65 bytes of a signature that contracts recover, with v of 27 or 28."""
    signature = account.key.sign_msg_hash(digest)
    r, s, v = signature.r, signature.s, bytes([27 + signature.v])
    data: bytes = r.to_bytes(32) + s.to_bytes(32) + v
    return data

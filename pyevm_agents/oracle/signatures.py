"""EIP-712 signatures of evidence, as `AgentOracle.digestOf` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature, ValidationError
from eth_utils import keccak, to_checksum_address

from precompiles.spec import FIRST_V

if TYPE_CHECKING:
    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.oracle.messages import AgentRequest, Answer, Evidence

DOMAIN_NAME, DOMAIN_VERSION = "AgentOracle", "1"
SIGNATURE_BYTES = 65

ANSWER_TYPE = {
    "AgentAnswer": [
        {"name": "requestId", "type": "uint256"},
        {"name": "argumentsHash", "type": "bytes32"},
        {"name": "refused", "type": "bool"},
        {"name": "blockHash", "type": "bytes32"},
        {"name": "modelDigest", "type": "bytes32"},
        {"name": "profileFingerprint", "type": "bytes32"},
        {"name": "promptHash", "type": "bytes32"},
        {"name": "outputHash", "type": "bytes32"},
    ]
}
"""Source: `EVIDENCE_TYPE` in contracts/callback/AgentOracle.sol."""


def compute_digest(
    chain_id: int, request: AgentRequest, answer: Answer, evidence: Evidence
) -> bytes:
    """Return the digest that a worker signs for an answer, 32 bytes.

    Input: the chain ID of the oracle's chain; the request, with the oracle's address.
    """
    from eth_account.messages import encode_typed_data  # noqa: PLC0415 - slow to import

    domain = {
        "name": DOMAIN_NAME,
        "version": DOMAIN_VERSION,
        "chainId": chain_id,
        "verifyingContract": to_checksum_address(request.oracle),
    }
    members: dict[str, Any] = {
        "requestId": request.commitment.request_id,
        "argumentsHash": request.commitment.arguments_hash,
        "refused": answer.refused,
        "blockHash": evidence.block_hash,
        "modelDigest": evidence.model_digest,
        "profileFingerprint": evidence.profile_fingerprint,
        "promptHash": evidence.prompt_hash,
        "outputHash": evidence.output_hash,
    }
    message = encode_typed_data(domain, ANSWER_TYPE, members)
    return keccak(b"\x19" + message.version + message.header + message.body)


def sign_evidence(
    key: PrivateKey, chain_id: int, request: AgentRequest, answer: Answer, evidence: Evidence
) -> bytes:
    """Return a worker's signature of an answer, 65 bytes: r, s, v."""
    signature = key.sign_msg_hash(compute_digest(chain_id, request, answer, evidence))
    return bytes(signature.to_bytes()[:-1]) + bytes([FIRST_V + signature.v])


def recover_signer(digest: bytes, signature: bytes) -> bytes | None:
    """Return the address that signed a digest, 20 bytes; None for an invalid signature."""
    if len(signature) != SIGNATURE_BYTES or signature[-1] not in {FIRST_V, FIRST_V + 1}:
        return None
    try:
        parsed = Signature(signature[:-1] + bytes([signature[-1] - FIRST_V]))
        return bytes(parsed.recover_public_key_from_msg_hash(digest).to_canonical_address())
    except (BadSignature, ValidationError):
        return None

"""Envelopes of the writes of a run: nothing, or a treasury's opening, calls and closing.

The operator confirms a dry run by an EIP-712 signature of `DryRun(bytes32 taskId,bytes32 runId,
bytes32 digest,bytes32 trace,uint64 expiry)`: `digest` is of the writes, `trace` of all effects. A
treasury verifies the signature in the block of the run; without one, the orchestrator does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from eth_account.messages import encode_typed_data
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature, ValidationError
from eth_utils import keccak, to_checksum_address

from precompiles.spec import FIRST_V
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.run_trace import hash_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.lifecycle.budget import ComputeBudget
    from pyevm_agents.lifecycle.run_block import EnvelopeCall
    from pyevm_agents.lifecycle.run_trace import RunWrite, WriteTrace
    from pyevm_agents.recordings.canonical_json import Json

DOMAIN_NAME = "pyevm-agents runs"
DOMAIN_VERSION = "1"

DOMAIN_TYPES = {
    "name": "string",
    "version": "string",
    "chainId": "uint256",
    "verifyingContract": "address",
}

DRY_RUN_TYPE: list[Json] = [
    {"name": "taskId", "type": "bytes32"},
    {"name": "runId", "type": "bytes32"},
    {"name": "digest", "type": "bytes32"},
    {"name": "trace", "type": "bytes32"},
    {"name": "expiry", "type": "uint64"},
]

SIGNATURE_BYTES = 65


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """The run that an envelope is for."""

    task_id: str
    run_id: str
    agent: bytes
    """The account that writes."""

    operator: bytes
    budget: ComputeBudget
    timestamp: int
    """Of the dry run's block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunDigests:
    """The digests that an operator confirms."""

    writes: bytes
    """Digest of the writes."""

    trace: bytes
    """Digest of everything that the dry run did on the chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """An operator's confirmation of a dry run."""

    trace: bytes
    """Which dry run: the digest of its trace."""

    expiry: int
    """Unix seconds after which it counts no more."""

    signature: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """An envelope's reading of the output of a wrapped write."""

    output: bytes
    is_skipped: bool


class WriteEnvelope(Protocol):
    """Puts writes into the envelope's calls."""

    def wrap(self, write: RunWrite) -> EnvelopeCall | None:
        """Return the call that makes a write; None to send the write itself."""
        ...

    def read_output(self, output: bytes) -> ReadResult:
        """Read the output of such a call that succeeded."""
        ...

    def explain(self, trace: WriteTrace) -> str | None:
        """Return why a write failed, in words; None on success."""
        ...


class RunEnvelope(WriteEnvelope, Protocol):
    """The envelope of one run."""

    @property
    def requires_confirmation(self) -> bool:
        """Whether the operator must confirm the dry run."""
        ...

    @property
    def refused_targets(self) -> frozenset[bytes]:
        """Contracts that a write may not name as its target, beside the lifecycle's own."""
        ...

    def is_unconfirmed(self, trace: WriteTrace) -> bool:
        """Whether a write failed for want of a confirmation."""
        ...

    def get_discovery(self) -> WriteEnvelope | None:
        """Return an envelope that finds unconfirmed writes; None if none is needed.

        Used by a draft in which gas costs nothing.
        """
        ...

    def build_opening(
        self,
        confirmed: Sequence[RunWrite] | None,
        trace: bytes | None,
        confirmation: Confirmation | None,
    ) -> tuple[EnvelopeCall, ...]:
        """Return the calls before the first write.

        Input:
            confirmed: the writes that are confirmed; None for a run without a confirmation.
            trace: digest of the dry run's trace; None in the dry run itself.
            confirmation: the operator's; None in a dry run, and where none is required.
        """
        ...

    def build_closing(self) -> tuple[EnvelopeCall, ...]:
        """Return the calls after the last write."""
        ...

    def hash_confirmation(self, digests: DryRunDigests, expiry: int) -> bytes:
        """Return the 32 bytes that the operator signs."""
        ...

    def build_typed_data(self, digests: DryRunDigests, expiry: int) -> dict[str, Json]:
        """Return the data of that hash, in the form of wallets: `eth_signTypedData_v4`."""
        ...

    def require_confirmation(self, digests: DryRunDigests, confirmation: Confirmation) -> None:
        """Accept a confirmation, or leave it to the block's own transactions to do so.

        Raises: ConfigError: another signer's.
        """
        ...


class PlainEnvelope:
    """No envelope: each write is a separate transaction."""

    def wrap(self, write: RunWrite) -> EnvelopeCall | None:  # noqa: ARG002 - as in all envelopes
        """Return None: the write itself is sent."""
        return None

    def read_output(self, output: bytes) -> ReadResult:
        """Return the output."""
        return ReadResult(output=output, is_skipped=False)

    def explain(self, trace: WriteTrace) -> str | None:
        """Return the chain's reason."""
        return trace.failure


class PlainRunEnvelope(PlainEnvelope):
    """No treasury. A confirmation, if one is required, is verified by the orchestrator."""

    refused_targets: frozenset[bytes] = frozenset()

    def __init__(
        self, terms: RunTerms, chain_id: int, *, requires_confirmation: bool = False
    ) -> None:
        """Input: the run; the chain's ID, for signatures; whether the operator must sign."""
        self._terms = terms
        self._chain_id = chain_id
        self.requires_confirmation = requires_confirmation

    def is_unconfirmed(self, trace: WriteTrace) -> bool:  # noqa: ARG002 - as in all envelopes
        """Return False: no write fails for that reason."""
        return False

    def get_discovery(self) -> WriteEnvelope | None:
        """Return None: the writes need nothing before."""
        return None

    def build_opening(
        self,
        confirmed: Sequence[RunWrite] | None,  # noqa: ARG002 - as in all envelopes
        trace: bytes | None,  # noqa: ARG002 - as above
        confirmation: Confirmation | None,  # noqa: ARG002 - as above
    ) -> tuple[EnvelopeCall, ...]:
        """Return no calls."""
        return ()

    def build_closing(self) -> tuple[EnvelopeCall, ...]:
        """Return no calls."""
        return ()

    def hash_confirmation(self, digests: DryRunDigests, expiry: int) -> bytes:
        """Return the EIP-712 hash of the dry run."""
        signable = encode_typed_data(full_message=self.build_typed_data(digests, expiry))
        return keccak(b"\x19" + signable.version + signable.header + signable.body)

    def build_typed_data(self, digests: DryRunDigests, expiry: int) -> dict[str, Json]:
        """Return the dry run as EIP-712's typed data."""
        domain: dict[str, Json] = {
            "name": DOMAIN_NAME,
            "version": DOMAIN_VERSION,
            "chainId": self._chain_id,
        }
        return build_typed_data(self._terms, domain, digests, expiry)

    def require_confirmation(self, digests: DryRunDigests, confirmation: Confirmation) -> None:
        """Accept a confirmation that the operator's key signed."""
        signed = self.hash_confirmation(digests, confirmation.expiry)
        if recover_signer(signed, confirmation.signature) != self._terms.operator:
            raise build_signer_error(self._terms, signed, confirmation)


def build_typed_data(
    terms: RunTerms, domain: dict[str, Json], digests: DryRunDigests, expiry: int
) -> dict[str, Json]:
    """Return the typed data of a dry run.

    Input: the run; the domain; the digests; until when the confirmation counts, in Unix seconds.
    Source: EIP-712, "Specification of the eth_signTypedData JSON RPC".
    """
    parts: list[Json] = [{"name": name, "type": DOMAIN_TYPES[name]} for name in domain]
    return {
        "types": {"EIP712Domain": parts, "DryRun": DRY_RUN_TYPE},
        "primaryType": "DryRun",
        "domain": domain,
        "message": {
            "taskId": "0x" + hash_id(terms.task_id).hex(),
            "runId": "0x" + hash_id(terms.run_id).hex(),
            "digest": "0x" + digests.writes.hex(),
            "trace": "0x" + digests.trace.hex(),
            "expiry": expiry,
        },
    }


def build_signer_error(terms: RunTerms, signed: bytes, confirmation: Confirmation) -> ConfigError:
    """Return the error of a confirmation that is not the operator's.

    Input: the run; the hash that is to be signed; the confirmation.
    """
    signature, place = confirmation.signature, f"confirmation of run {terms.run_id}"
    if len(signature) != SIGNATURE_BYTES:
        return ConfigError(
            f"{place}: signature of {len(signature)} bytes; must have {SIGNATURE_BYTES}: r, s and v"
        )
    signer = recover_signer(signed, signature)
    found = "nobody" if signer is None else to_checksum_address(signer)
    return ConfigError(
        f"{place}: must be signed by the operator, {to_checksum_address(terms.operator)}; as a "
        f"signature of 0x{signed.hex()}, with expiry {confirmation.expiry}, this one is of "
        f"{found}. Sign that hash, with the operator's key"
    )


def recover_signer(message_hash: bytes, signature: bytes) -> bytes | None:
    """Return the address that signed a hash; None for an invalid signature."""
    if len(signature) != SIGNATURE_BYTES:
        return None
    try:
        plain = Signature(signature[:64] + bytes([signature[64] % FIRST_V]))
        return plain.recover_public_key_from_msg_hash(message_hash).to_canonical_address()
    except (BadSignature, ValidationError):
        return None

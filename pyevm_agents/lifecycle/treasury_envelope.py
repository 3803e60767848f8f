"""A treasury around the writes of a run: `contracts/runs/ITreasury.sol`.

The run's block opens the run, hands in the operator's confirmation, makes each write by the
treasury, and closes the run. The treasury counts steps, writes and amounts, and makes each write of
a task once. A dry run that needs a confirmation first finds the writes on a draft where the
treasury itself calls the targets, then executes the writes confirmed: the operator's account calls
`confirmRun` there, which only a draft allows.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from eth_abi import decode, encode
from eth_keys.constants import SECPK1_N
from eth_utils import function_signature_to_4byte_selector, to_checksum_address

from precompiles.spec import FIRST_V
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.errors import ConfigError
from pyevm_agents.lifecycle.budget import MILLISECONDS
from pyevm_agents.lifecycle.envelopes import (
    ReadResult,
    build_signer_error,
    build_typed_data,
    recover_signer,
)
from pyevm_agents.lifecycle.run_block import CallFailedError, EnvelopeCall
from pyevm_agents.lifecycle.run_trace import RunWrite, WriteTrace, hash_id
from pyevm_agents.lifecycle.treasury_refusals import explain_refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.abi.bundled import Artifact
    from pyevm_agents.lifecycle.envelopes import Confirmation, DryRunDigests, RunTerms
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.recordings.canonical_json import Json

RUN_SECONDS = 86_400
"""How long a run may write after its dry run's block: a day, for its operator to confirm it."""

DOMAIN_NAME, DOMAIN_VERSION = "Treasury", "1"
"""Source: the constructor of `contracts/runs/RunTreasury.sol`."""

MAX_EXPIRY = 2**64 - 1
"""Expiry of the confirmation in a dry run."""

TRANSFER = function_signature_to_4byte_selector("transfer(address,uint256)")
TRANSFER_BYTES = 68
"""Of the calldata of `transfer`: selector and two words."""

TRANSFERRED_BYTES = 64
"""Of the output of `transferERC20`: two words; `executeCall` returns more."""

CONFIRMATION_REQUIRED = function_signature_to_4byte_selector("ConfirmationRequired(bytes32)")
IS_VALID_SIGNATURE = function_signature_to_4byte_selector("isValidSignature(bytes32,bytes)")
"""Selector and answer of a contract that signs. Source: ERC-1271."""


RECOVERY_IDS = (FIRST_V, FIRST_V + 1)
"""`v` of a signature that a treasury accepts."""


class TreasuryEnvelope:
    """The envelope of a run in a treasury."""

    def __init__(
        self,
        terms: RunTerms,
        port: LocalChainPort,
        treasury: bytes,
        *,
        always_confirms: bool = False,
    ) -> None:
        """Input: the run; the chain; the treasury; whether the operator confirms in any case.

        The treasury's own rules hold as well: writes that need a confirmation there wait for one.
        """
        self._terms = terms
        self._port = port
        self._treasury = treasury
        self._always_confirms = always_confirms
        self._artifact: Artifact = load_artifact("RunTreasury")
        self._run = hash_id(terms.run_id)
        self._is_asset = cache(self._read_is_asset)

    @property
    def requires_confirmation(self) -> bool:
        """Whether every write needs the operator's confirmation."""
        return self._always_confirms or bool(self._read("confirmsAlways"))

    @property
    def refused_targets(self) -> frozenset[bytes]:
        """The treasury itself."""
        return frozenset({self._treasury})

    # -- writes -- #

    def wrap(self, write: RunWrite) -> EnvelopeCall | None:
        """Return the treasury's call that makes a write: a transfer, or any other call."""
        step = hash_id(write.step_id)
        if self._is_transfer(write):
            to, amount = decode(["address", "uint256"], write.data[len(TRANSFER) :])
            return self._build("transferERC20", self._run, step, write.target, to, amount)
        given = (self._run, step, write.target, write.value_wei, write.data)
        return self._build("executeCall", *given)

    def read_output(self, output: bytes) -> ReadResult:
        """Read the output of `executeCall` or `transferERC20`."""
        if len(output) == TRANSFERRED_BYTES:
            executed, _ = decode(["bool", "bytes32"], output)
            return ReadResult(output=encode(["bool"], [True]), is_skipped=not executed)
        executed, _, result = decode(["bool", "bytes32", "bytes"], output)
        return ReadResult(output=result, is_skipped=not executed)

    def explain(self, trace: WriteTrace) -> str | None:
        """Return why the treasury refused a write, in words, with the error."""
        words = None if trace.is_success else explain_refusal(trace.output)
        return trace.failure if words is None else f"the treasury: {words} [{trace.failure}]"

    def is_unconfirmed(self, trace: WriteTrace) -> bool:
        """Whether a write failed for want of a confirmation."""
        return not trace.is_success and trace.output.startswith(CONFIRMATION_REQUIRED)

    def get_discovery(self) -> DiscoveryEnvelope:
        """Return the envelope in which the treasury itself calls the targets."""
        return DiscoveryEnvelope(self._treasury)

    # -- around them -- #

    def build_opening(
        self,
        confirmed: Sequence[RunWrite] | None,
        trace: bytes | None,
        confirmation: Confirmation | None,
    ) -> tuple[EnvelopeCall, ...]:
        """Return the calls that open and confirm the run."""
        terms = self._terms
        seconds = terms.timestamp + max(RUN_SECONDS, terms.budget.max_runtime_ms // MILLISECONDS)
        budget = (terms.budget.max_steps, terms.budget.max_onchain_writes, seconds)
        opening = self._build(
            "openRun", hash_id(terms.task_id), self._run, terms.agent, terms.operator, budget
        )
        if confirmed is None:
            return (opening,)
        hashes = [write.compute_hash() for write in confirmed]
        if confirmation is None:
            given = (self._run, hashes, bytes(32), MAX_EXPIRY, b"")
            return (opening, self._build("confirmRun", *given, sender=terms.operator))
        signed = (trace or bytes(32), confirmation.expiry, confirmation.signature)
        return (opening, self._build("confirmRun", self._run, hashes, *signed))

    def build_closing(self) -> tuple[EnvelopeCall, ...]:
        """Return the call that closes the run; reverts unless all confirmed writes were made."""
        return (self._build("closeRun", self._run),)

    def hash_confirmation(self, digests: DryRunDigests, expiry: int) -> bytes:
        """Return the treasury's EIP-712 hash of the dry run."""
        task = hash_id(self._terms.task_id)
        given = (task, self._run, digests.writes, digests.trace, expiry)
        return bytes(self._read("hashDryRun", *given))

    def build_typed_data(self, digests: DryRunDigests, expiry: int) -> dict[str, Json]:
        """Return the dry run as EIP-712's typed data, with the treasury's domain."""
        domain: dict[str, Json] = {
            "name": DOMAIN_NAME,
            "version": DOMAIN_VERSION,
            "chainId": self._port.chain_id,
            "verifyingContract": to_checksum_address(self._treasury),
        }
        return build_typed_data(self._terms, domain, digests, expiry)

    def require_confirmation(self, digests: DryRunDigests, confirmation: Confirmation) -> None:
        """Accept a confirmation by the operator's key, or by the operator's contract (ERC-1271)."""
        signed = self.hash_confirmation(digests, confirmation.expiry)
        signature = confirmation.signature
        if recover_signer(signed, signature) == self._terms.operator:
            self._require_plain_signature(signature)
        elif not self._is_signed_by_contract(signed, signature):
            raise build_signer_error(self._terms, signed, confirmation)

    # -- inside -- #

    def _require_plain_signature(self, signature: bytes) -> None:
        """Accept the form of a signature that the treasury takes. Source: OpenZeppelin's ECDSA."""
        s, v = int.from_bytes(signature[32:64]), signature[64]
        if v not in RECOVERY_IDS or s > SECPK1_N // 2:
            what = f"v {v}: must be 27 or 28" if v not in RECOVERY_IDS else "s: must be the lower"
            raise ConfigError(
                f"confirmation of run {self._terms.run_id}: signature with {what}, as the treasury "
                "takes it; sign again with another program"
            )

    def _is_signed_by_contract(self, signed: bytes, signature: bytes) -> bool:
        data = IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [signed, signature])
        try:
            return self._port.call(self._terms.operator, data).startswith(IS_VALID_SIGNATURE)
        except CallFailedError:
            return False

    def _is_transfer(self, write: RunWrite) -> bool:
        is_call = write.data.startswith(TRANSFER) and len(write.data) == TRANSFER_BYTES
        return is_call and not write.value_wei and self._is_asset(write.target)

    def _read_is_asset(self, token: bytes) -> bool:
        """Return whether the owner listed a token; other tokens are targets like any other."""
        return bool(self._read("policyOf", token)[0])

    def _read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        output = self._port.call(self._treasury, self._artifact.encode_call(function, *arguments))
        if not output:
            raise ConfigError(
                f"treasury 0x{self._treasury.hex()}: no contract is there, such as after a revert "
                "of the chain; deploy one"
            )
        return self._artifact.decode_result(function, output)

    def _build(
        self, function: str, *arguments: object, sender: bytes | None = None
    ) -> EnvelopeCall:
        data = self._artifact.encode_call(function, *arguments)
        return EnvelopeCall(target=self._treasury, data=data, sender=sender)


class DiscoveryEnvelope:
    """Finds writes before the confirmation: the treasury's account calls the targets."""

    def __init__(self, treasury: bytes) -> None:
        self._treasury = treasury

    def wrap(self, write: RunWrite) -> EnvelopeCall | None:
        """Return the write as a call of the treasury's own account."""
        return EnvelopeCall(
            target=write.target,
            data=write.data,
            value_wei=write.value_wei,
            sender=self._treasury,
        )

    def read_output(self, output: bytes) -> ReadResult:
        """Return the output of the target."""
        return ReadResult(output=output, is_skipped=False)

    def explain(self, trace: WriteTrace) -> str | None:
        """Return the target's reason."""
        return trace.failure

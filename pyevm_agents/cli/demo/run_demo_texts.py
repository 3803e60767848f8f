"""What the run demo's terminal and page say of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eth_utils import to_checksum_address

from pyevm_agents.cli.demo.output import format_amount
from pyevm_agents.display import pluralize
from pyevm_agents.scenarios.run.world import CURRENCY, UNIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.lifecycle.frames import Confirmation
    from pyevm_agents.scenarios.run.demo import DemoOutcome
    from pyevm_agents.scenarios.run.world import ChainState


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun:
    """A run of the demo with its forms in JSON."""

    outcome: DemoOutcome
    form: dict[str, Any]
    """As the control plane's."""

    log_entry: dict[str, Any] | None
    """Of the coordinator's agent_log.json."""


def describe_confirmation(confirmation: Confirmation, operator: bytes) -> str:
    """Return who confirmed which dry run."""
    signer = to_checksum_address(operator)
    return f"confirmed by {signer}, EIP-712 signature of 0x{confirmation.trace.hex()}"


def describe_digests(outcome: DemoOutcome) -> str:
    """Return the digests of dry run and execution."""
    made = outcome.execution_digest
    if made is None:
        return "no execution"
    word = "the same" if made == outcome.dry_run_digest else "another"
    return f"execution 0x{made.hex()}, {word} as the dry run's"


def describe_validation(outcome: DemoOutcome) -> str | None:
    """Return a validator's response as the registry has it; None without one."""
    found = outcome.validation
    if found is None:
        return None
    validator = to_checksum_address(found.validator)
    return f"{found.response} of 100 for agent {found.agent_id} by {validator}, {found.tag}"


def describe_log(entry: dict[str, Any] | None) -> str:
    """Return a run's entry of agent_log.json, in short."""
    if entry is None:
        return "no entry"
    steps, receipts = pluralize(len(entry["steps"]), "step"), len(entry["receipts"])
    text = f"{entry['runId']}: {entry['status']}, {steps}, {pluralize(receipts, 'receipt')}"
    for failure in entry["failures"]:
        text += f", stopped in {failure['phase']}"
    return f"{text}, follows {entry['previousDigest'][:18]}…"


def list_changes(outcome: DemoOutcome) -> list[str]:
    """Return what changed between the two readings of the chain; empty if nothing did."""
    return list(_iter_changes(outcome))


def _iter_changes(outcome: DemoOutcome) -> Iterator[str]:
    before, after = outcome.before, outcome.after
    for name, amount in before.tokens.items():
        if after.tokens[name] != amount:
            change = after.tokens[name] - amount
            yield (
                f"{name} {_tell_tokens(amount)} → {_tell_tokens(after.tokens[name])} {CURRENCY} "
                f"({format_amount(change, UNIT, sign=True)})"
            )
    for name, nonce in before.nonces.items():
        if after.nonces[name] != nonce:
            yield f"nonce of {name} {nonce} → {after.nonces[name]}"
    for name, wei in before.wei.items():
        if after.wei[name] != wei:
            yield f"{name} {wei - after.wei[name]:,} wei for gas"
    if after.block_number != before.block_number:
        yield f"block {before.block_number} → {after.block_number}"


def describe_state(state: ChainState) -> str:
    """Return block number, the treasury's balance and nonces."""
    nonces = ", ".join(f"{name} {nonce}" for name, nonce in state.nonces.items())
    tokens = _tell_tokens(state.tokens["treasury"])
    return f"block {state.block_number}; treasury {tokens} {CURRENCY}; nonces: {nonces}"


def _tell_tokens(amount: int) -> str:
    return format_amount(amount, UNIT)

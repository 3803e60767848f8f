"""What an assertion is about: a transaction that some chain of this process holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyevm_agents.agents.trace import AgentStep
from pyevm_agents.display import counted
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.hashes import hash_of
from pyevm_agents.testing.inputs import shown
from pyevm_agents.testing.run_log import AgentRun, run_of

if TYPE_CHECKING:
    from pyevm_agents.testing.chain import AgentChain

Subject: TypeAlias = "Mapping[str, object] | bytes | str | AgentRun | Sequence[AgentStep]"
"""A receipt, a transaction's hash, or what an agent did."""


def run_about(subject: Subject, chain: AgentChain | None = None) -> AgentRun:
    """Return what agents did in a transaction.

    Input:  the chain that holds it; None to look in all that are open.
    Raises: ConfigError: it is none, or no chain has it.
    """
    if isinstance(subject, AgentRun):
        return subject
    if isinstance(subject, (bytes, str)):
        return _mined(subject, chain)
    if isinstance(subject, Mapping):
        transaction_hash = subject.get("transactionHash")
        if isinstance(transaction_hash, (bytes, str)):
            return _mined(transaction_hash, chain)
    else:
        given = subject if isinstance(subject, Sequence) else ()
        steps = tuple(one for one in given if isinstance(one, AgentStep))
        if steps and len(steps) == len(given):
            return AgentRun(steps=steps)
    raise ConfigError(
        f"{shown(subject)} is no transaction: give its receipt, its hash, or steps of an agent"
    )


def _mined(transaction_hash: bytes | str, chain: AgentChain | None) -> AgentRun:
    from pyevm_agents.testing.chain import live_chains  # noqa: PLC0415 - which keeps runs itself

    wanted = hash_of(transaction_hash)
    chains = live_chains() if chain is None else (chain,)
    for one in chains:
        if one.has(wanted):
            return run_of(one.computation(wanted), wanted, _gas_used(one, wanted))
    whose = f"any of {counted(len(chains), 'open chain')}" if chain is None else "the chain"
    raise ConfigError(
        f"no block of {whose} has a transaction 0x{wanted.hex()}; was it mined, and not undone?"
    )


def _gas_used(chain: AgentChain, transaction_hash: bytes) -> int:
    found = chain.chain.find_transaction(transaction_hash)
    assert found is not None  # noqa: S101 - the chain has said so
    record, index = found
    before = record.receipts[index - 1].gas_used if index else 0
    return record.receipts[index].gas_used - before

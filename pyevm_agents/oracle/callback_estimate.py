"""Estimates of callback runs: gas, fee and answer of each step, before a request is sent.

`callback_simulation` has the rules: which values are exact, and which are upper bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.oracle.agent_run import NOT_DONE, STATUSES
from pyevm_agents.oracle.verification import describe_answer

if TYPE_CHECKING:
    from pyevm_agents.oracle.messages import AgentRequest, Answer


@dataclass(frozen=True, slots=True)
class TransactionGas:
    """Upper bounds of a transaction's gas, for every worker."""

    limit: int
    """Of the least gas limit with which it is not reverted: the callback gets all its gas."""

    used: int
    """Of the gas that it uses, after refunds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEstimate:
    """One request of a run, the answer and the callback."""

    request: AgentRequest
    answer: Answer
    callback_gas: int | None
    """The least sufficient `callbackGasLimit`, or an upper bound of it; None if none is enough."""

    environment: tuple[str, ...]
    """Opcodes by which the callback reads the block or the transaction."""

    answer_gas: TransactionGas
    """Of the answer transaction."""

    finalize_gas: TransactionGas | None = None
    """Of the transaction with the callback, if it is not the answer's; None if it is."""

    failure: str | None = None
    """Why the callback fails with all gas; None if it does not."""

    @property
    def is_exact(self) -> bool:
        """Whether `callback_gas` is exact for an unchanged state."""
        return not self.environment

    @property
    def is_paid_for(self) -> bool:
        """Whether the callback gas that the request pays for is enough."""
        gas = self.callback_gas
        return gas is not None and gas <= self.request.commitment.callback_gas_limit

    @property
    def fee_wei(self) -> int:
        """The oracle's fee."""
        return self.request.commitment.fee


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackEstimate:
    """A run to the end."""

    steps: tuple[StepEstimate, ...]
    ask_gas: int | None = None
    """The least gas limit of the transaction that starts the run; None for a request that waits."""

    reserved_wei: int | None = None
    """What the run reserves at its start; None for a request that waits."""

    base_fee_wei: int = 0
    """Of the next block."""

    status: str | None = None
    """Where the run is after the last step, such as `Answered`; None if it is not known."""

    result: str | None = None

    @property
    def is_not_done(self) -> bool:
        """Whether the run ends with an answer that did not do the task."""
        return self.status == STATUSES[NOT_DONE]

    @property
    def callback_gas(self) -> int | None:
        """The least `callbackGasLimit` for the whole run; None if a step has none."""
        gas = [step.callback_gas for step in self.steps]
        return None if None in gas else max(each for each in gas if each is not None)

    @property
    def is_exact(self) -> bool:
        """Whether all steps are exact."""
        return all(step.is_exact for step in self.steps)

    @property
    def fee_wei(self) -> int:
        """The fees of all steps."""
        return sum(step.fee_wei for step in self.steps)

    @property
    def total_wei(self) -> int:
        """The fees, and the gas of the starting transaction at the next block's base fee."""
        return self.fee_wei + (self.ask_gas or 0) * self.base_fee_wei


def serialize_estimate(estimate: CallbackEstimate) -> dict[str, object]:
    """Return an estimate in JSON; wei as decimal strings."""
    return {
        "callbackGasLimit": estimate.callback_gas,
        "isExact": estimate.is_exact,
        "feeWei": str(estimate.fee_wei),
        "reservedWei": None if estimate.reserved_wei is None else str(estimate.reserved_wei),
        "askGas": estimate.ask_gas,
        "baseFeeWei": str(estimate.base_fee_wei),
        "totalWei": str(estimate.total_wei),
        "status": estimate.status,
        "result": estimate.result,
        "steps": [_serialize_step(step) for step in estimate.steps],
    }


def _serialize_step(step: StepEstimate) -> dict[str, object]:
    commitment = step.request.commitment
    return {
        "requestId": f"0x{commitment.request_id:064x}",
        "client": to_checksum_address(commitment.client),
        "callbackGas": step.callback_gas,
        "isExact": step.is_exact,
        "environment": [*step.environment],
        "paidCallbackGas": commitment.callback_gas_limit,
        "isPaidFor": step.is_paid_for,
        "answerGas": _serialize_gas(step.answer_gas),
        "finalizeGas": _serialize_gas(step.finalize_gas),
        "feeWei": str(step.fee_wei),
        "failure": step.failure,
        "answer": dict(describe_answer(step.answer)),
    }


def _serialize_gas(gas: TransactionGas | None) -> dict[str, int] | None:
    return None if gas is None else {"limit": gas.limit, "used": gas.used}

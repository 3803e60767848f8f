"""Failures of calls: reasons as text, nested calls out of gas, and answers of undone runs.

The revert data do not contain the whole reason: the context comes from the computation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eth.exceptions import OutOfGas
from eth_utils import to_checksum_address

from precompiles.errors import error_selector
from precompiles.executor import Executor
from precompiles.numeric_executor import NumericExecutor
from precompiles.numeric_spec import NUMERIC_MODELS_ADDRESS
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.not_done import find_not_done
from pyevm_agents.abi.revert_reasons import BUNDLED, NO_REASON, decode_revert
from pyevm_agents.errors import FixtureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eth.abc import ComputationAPI
    from eth.exceptions import VMError
    from eth_typing import Address

    from pyevm_agents.abi.known_contracts import KnownContracts
    from pyevm_agents.abi.revert_reasons import RevertWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class RevertContext:
    """Facts about a reverted call that the revert data do not contain."""

    starved: str | None = None
    """The nested call that ran out of gas, and may have caused the revert."""

    starved_code: bytes = b""
    """The runtime code of that call."""

    models: tuple[str, ...] = ()
    """Names and aliases of the chain's models."""

    codes: tuple[bytes, ...] = ()
    """Runtime codes of the calls that failed with these data or with a part of them, the innermost
    first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed call: everything that an explanation needs, without the computation."""

    halt: str | None = None
    """The exceptional halt, such as out of gas; None for a revert."""

    data: bytes = b""
    """Revert data."""

    context: RevertContext = field(default_factory=RevertContext)

    def explain(self, known: KnownContracts = BUNDLED, codes: Sequence[bytes] = ()) -> str:
        """Return the reason as text.

        Input: the contracts whose errors are known; runtime codes of the contracts that may have
               reverted, where the context has none.
        """
        if self.halt is not None:
            return self.halt
        context = self.context if self.context.codes else replace(self.context, codes=tuple(codes))
        return explain_revert(self.data, context, known)

    def without_codes(self) -> Failure:
        """Return the failure without runtime codes, which are large, for storage."""
        return replace(self, context=replace(self.context, starved_code=b"", codes=()))


def read_failure(computation: ComputationAPI) -> Failure | None:
    """Return a call's failure; None on success. Cheap: no ABI is loaded."""
    if not computation.is_error:
        return None
    if computation.error.burns_gas:
        return Failure(halt=str(computation.error))
    return Failure(data=bytes(computation.output), context=read_revert_context(computation))


def explain_failure(computation: ComputationAPI, known: KnownContracts = BUNDLED) -> str:
    """Return the reason why a failed call failed."""
    failure = read_failure(computation)
    return NO_REASON if failure is None else failure.explain(known)


def read_revert_context(computation: ComputationAPI) -> RevertContext:
    """Return the context of a reverted call. Cheap: no ABI is loaded."""
    starved = _find_starved_computation(computation)
    return RevertContext(
        starved=None if starved is None else _describe_starved_call(starved),
        starved_code=b"" if starved is None else bytes(starved.msg.code),
        models=_list_model_names(computation),
        codes=tuple(_iter_reverted_codes(computation))[::-1],
    )


def _list_model_names(computation: ComputationAPI) -> tuple[str, ...]:
    """Return the names of the chain's models, those of the executor first."""
    executor = computation.precompiles.get(EXECUTOR_ADDRESS)
    numeric = computation.precompiles.get(NUMERIC_MODELS_ADDRESS)
    names = executor.model_names if isinstance(executor, Executor) else ()
    return names + (numeric.model_names if isinstance(numeric, NumericExecutor) else ())


def _iter_reverted_codes(computation: ComputationAPI) -> Iterator[bytes]:
    """Yield the codes of a failed call, and of each last call whose output was passed on."""
    output = bytes(computation.output)
    while computation.is_error and bytes(computation.output) in output:
        yield bytes(computation.msg.code)
        if not computation.children:
            return
        computation = computation.children[-1]


def explain_revert(
    data: bytes,
    context: RevertContext,
    known: KnownContracts = BUNDLED,
    *,
    write: RevertWriter = decode_revert,
) -> str:
    """Return revert data as text, with the parts of the context that explain it.

    A contract whose own call ran out of gas reverts with that call's output, which is empty. So the
    starved call is named if the revert data, or the reason nested in them, are empty.

    Input: the revert data; the context; the contracts whose errors are known; `decode_revert` or
           another `RevertWriter`.
    """
    parts = [write(data, known, codes=context.codes)]
    if context.starved and NO_REASON in decode_revert(data, known, codes=context.codes):
        name = known.find_name(context.starved_code)
        starved = context.starved.removeprefix(CALL_OF)
        parts.append(f"{CALL_OF}{starved if name is None else f'{name} at {starved}'}")
    if context.models and error_selector("UnknownModel") in data:
        parts.append("this chain's models: " + ", ".join(map(repr, context.models)))
    return "; ".join(parts)


def find_starved_call(computation: ComputationAPI) -> str | None:
    """Return the nested call that ran out of gas, the gas at hand and the gas needed.

    Output: None if no call ran out of gas, or if a call between reverted for another reason.
    """
    starved = _find_starved_computation(computation)
    return None if starved is None else _describe_starved_call(starved)


def _find_starved_computation(computation: ComputationAPI) -> ComputationAPI | None:
    while computation.children:
        output = bytes(computation.output)
        computation = computation.children[-1]
        if not computation.is_error or bytes(computation.output) not in output:
            return None
        if isinstance(computation.error, OutOfGas):
            return computation
    return None


def _describe_starved_call(computation: ComputationAPI) -> str:
    message = computation.msg
    # A creation has no code of an account: it is named by the account that it would create.
    callee = _format_callee(message.code_address or message.storage_address)
    gas = message.gas
    needed = _format_needed_gas(computation.error, gas)
    return f"{CALL_OF}{callee} ran out of gas: it had {gas:,}{needed}"


CALL_OF = "a call of "

CHARGE = re.compile(r"Needed (\d+) - Remaining (\d+) - Reason: (.*)", re.DOTALL)
"""Source: py-evm, `eth.vm.gas_meter.GasMeter.consume_gas`."""


def _format_needed_gas(error: VMError, gas: int) -> str:
    """Return the least gas that the call needed for the last charge; a later one may need more."""
    text = str(error)
    charge = CHARGE.search(text)
    if charge is None:
        return f" ({text})" if text else ""
    needed, remaining, reason = charge.groups()
    return f" and needed at least {gas - int(remaining) + int(needed):,} ({reason})"


def _format_callee(address: Address) -> str:
    text = to_checksum_address(address)
    if address == NUMERIC_MODELS_ADDRESS:
        return f"the numeric models at {text}"
    return f"the executor at {text}" if address == EXECUTOR_ADDRESS else text


def require_success(computation: ComputationAPI | None, who: str) -> None:
    """Reject a run that reverted.

    Raises: FixtureError: a revert; the message has the reason.
    """
    if computation is not None and computation.is_error:
        raise FixtureError(
            f"not the scenario: {who} reverted: {explain_failure(computation)}; try another model, "
            "or more gas"
        )


def find_answer(
    computation: ComputationAPI, decode_output: Callable[[bytes], object]
) -> str | None:
    """Return the answer of a transaction that ran an agent, also of one that undid the run.

    Input:  the transaction's computation; a function that returns the answer in the output of a
            transaction that succeeded.
    Output: None for a failure with another reason.
    """
    output = bytes(computation.output)
    return find_not_done(output) if computation.is_error else str(decode_output(output))

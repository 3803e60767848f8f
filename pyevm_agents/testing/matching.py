"""Matching values against expectations: patterns, addresses, transactions; the differences."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from precompiles.escaping import ADDRESS
from pyevm_agents.agents.trace import AgentStep
from pyevm_agents.display import pluralize
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.inputs import format_value, parse_transaction_hash
from pyevm_agents.testing.run_log import AgentRun, build_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyevm_agents.testing.chain import AgentChain
    from pyevm_agents.testing.inputs import AddressLike


ADDRESS_BYTES = 20

ExpectedText: TypeAlias = "str | re.Pattern[str] | Callable[[str], object]"
"""A whole text, a pattern that is found in it, or what says whether it is right."""

Expected: TypeAlias = "AddressLike | int | Sequence[object] | ExpectedText"
"""What an argument is expected to be."""


def is_text(expected: ExpectedText, actual: str) -> bool:
    """Return whether a text is what is expected.

    Raises: ConfigError: nothing of the kind can be.
    """
    if isinstance(expected, str):
        return expected == actual
    if isinstance(expected, re.Pattern):
        return expected.search(actual) is not None
    _refuse_type(expected)
    if not callable(expected):
        raise ConfigError(f"{expected!r} is no text: give one, a pattern, or a function of it")
    return bool(expected(actual))


def is_value(expected: object, actual: object) -> bool:
    """Return whether a tool's argument, as JSON has it, is what is expected."""
    address = normalize_address(expected)
    if address is not None:
        return isinstance(actual, str) and actual.lower() == address
    if isinstance(expected, re.Pattern):
        return isinstance(actual, str) and expected.search(actual) is not None
    _refuse_type(expected)
    if callable(expected):
        return bool(expected(actual))
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(map(is_value, expected, actual))
        )
    return type(expected) is type(actual) and expected == actual


def _refuse_type(expected: object) -> None:
    """Refuse a type, which is a function of whatever it is given, and says nothing of it."""
    if isinstance(expected, type):
        name = expected.__name__
        raise ConfigError(f"{name} is a type: give a value, or lambda it: isinstance(it, {name})")


def normalize_address(value: object) -> str | None:
    """Return an address in lower case; None where the value is none.

    Input: text in any case, 20 bytes, or a web3 contract.
    """
    if isinstance(value, str):
        return value.lower() if ADDRESS.fullmatch(value) else None
    if isinstance(value, bytes):
        return "0x" + value.hex() if len(value) == ADDRESS_BYTES else None
    own = getattr(value, "address", None)
    return normalize_address(own) if isinstance(own, (str, bytes)) else None


def format_expected(expected: object) -> str:
    """Return an expectation for people."""
    if isinstance(expected, re.Pattern):
        return f"re.compile({expected.pattern!r})"
    address = None if isinstance(expected, str) else normalize_address(expected)
    if address is not None:
        return address
    if callable(expected):
        name = getattr(expected, "__name__", None) or repr(expected)
        return "a function" if name == "<lambda>" else f"{name}(…)"
    if isinstance(expected, (list, tuple)):
        return f"[{', '.join(map(format_expected, expected))}]"
    return repr(expected)


def describe_argument_differences(wanted: Mapping[str, object], step: AgentStep) -> str | None:
    """Return in words which arguments are others; None where none is."""
    arguments, unlike = json.loads(step.action_input or "{}"), []
    for name, expected in wanted.items():
        if name not in arguments:
            unlike.append(
                f"there is no argument {name}, only {', '.join(arguments) or 'none at all'}"
            )
        elif not is_value(expected, arguments[name]):
            actual = json.dumps(arguments[name], ensure_ascii=False)
            unlike.append(f"{name} is {actual}, not {format_expected(expected)}")
    return "\n".join(unlike) or None


def describe_text_difference(what: str, expected: ExpectedText, actual: str | None) -> str | None:
    """Return in words how a text is another one; None where it is not."""
    if actual is None:
        return f"{what} nothing: the tool reverted"
    if is_text(expected, actual):
        return None
    unlike = f"{what} {actual!r}, not {format_expected(expected)}"
    if isinstance(expected, str) and expected and expected in actual:
        unlike += f" (a part of it: re.compile({expected!r}) looks for parts)"
    return unlike


def describe_action(step: AgentStep) -> str:
    """Say what was done at a step."""
    return f"used {step.action}" if step.answer is None else "gave its final answer"


def format_marks(marks: Mapping[int, str]) -> str:
    """Say what is marked at each step."""
    return "; ".join(
        f"at step {i + 1} {' and '.join(why.splitlines())}" for i, why in marks.items()
    )


Subject: TypeAlias = "Mapping[str, object] | bytes | str | AgentRun | Sequence[AgentStep]"
"""A receipt, a transaction's hash, or what an agent did."""


def find_run(subject: Subject, chain: AgentChain | None = None) -> AgentRun:
    """Return what agents did in a transaction.

    Input:  the chain that holds it; None to look in all that are open.
    Raises: ConfigError: it is none, or no chain has it.
    """
    if isinstance(subject, AgentRun):
        return subject
    if isinstance(subject, (bytes, str)):
        return _find_mined_run(subject, chain)
    if isinstance(subject, Mapping):
        transaction_hash = subject.get("transactionHash")
        if isinstance(transaction_hash, (bytes, str)):
            return _find_mined_run(transaction_hash, chain)
    else:
        items = subject if isinstance(subject, Sequence) else ()
        steps = tuple(item for item in items if isinstance(item, AgentStep))
        if steps and len(steps) == len(items):
            return AgentRun(steps=steps)
    raise ConfigError(
        f"{format_value(subject)} is no transaction: give its receipt, its hash, "
        "or steps of an agent"
    )


def _find_mined_run(transaction_hash: bytes | str, chain: AgentChain | None) -> AgentRun:
    from pyevm_agents.testing.chain import list_open_chains  # noqa: PLC0415 - which keeps runs itself

    wanted = parse_transaction_hash(transaction_hash)
    chains = list_open_chains() if chain is None else (chain,)
    for candidate in chains:
        if candidate.has(wanted):
            return build_run(
                candidate.computation(wanted), wanted, _get_gas_used(candidate, wanted)
            )
    whose = f"any of {pluralize(len(chains), 'open chain')}" if chain is None else "the chain"
    raise ConfigError(
        f"no block of {whose} has a transaction 0x{wanted.hex()}; was it mined, and not undone?"
    )


def _get_gas_used(chain: AgentChain, transaction_hash: bytes) -> int:
    location = chain.chain.find_transaction(transaction_hash)
    assert location is not None  # noqa: S101 - the chain has said so
    record, index = location
    before = record.receipts[index - 1].gas_used if index else 0
    return record.receipts[index].gas_used - before

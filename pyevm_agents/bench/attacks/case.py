"""An attack: contracts in bytecode, calldata, and the executor under attack.

The contracts spend gas on the executor alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address

from precompiles.abi import RUN_NEXT_ITERATION_SELECTOR, decode_request
from precompiles.address_handles import AddressBook
from precompiles.gas import DEFAULT_SCHEDULE
from precompiles.react import build_prompt
from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.bench.measurement.assembly import assemble, format_push

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.gas import GasSchedule
    from precompiles.language_model import LanguageModel, ModelProfile


BEFORE_END = -1
"""Gas for all of a call's output but the last token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCase:
    """The executor calls of a transaction."""

    name: str
    title: str
    how: str
    calls: tuple[ExecutorCall, ...]
    codes: Mapping[Address, bytes] = field(default_factory=dict)
    """Contracts that the calls name."""

    halts_after: int | None = None
    """Output tokens that each call's gas covers, or `BEFORE_END`; 0: not even the prompt's tokens.
    None if no call is to halt.
    """

    grammar: str = ""
    """Grammar of the model's output, as a prompt might bring any model to write it; free text if
    empty.
    """

    is_reaching_model: bool = False
    is_long: bool = False
    """Whether a sample takes a minute; one sample is then enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackTarget:
    """The executor under attack."""

    model: LanguageModel
    profile: ModelProfile
    fingerprint: str
    """The engine's fingerprint, as in genesis."""

    is_quick: bool
    schedule: GasSchedule = DEFAULT_SCHEDULE

    def count_prompt_tokens(self, data: bytes) -> int:
        """Return the prompt length of a call without tools and steps."""
        request = decode_request(data)
        book = AddressBook(request.base_prompt, [request.prompt])
        return len(self.model.tokenize(build_prompt(request, (), (), book, self.profile)))

    def build_calldata(self, tokens: int) -> bytes:
        """Return short calldata whose prompt has about `tokens` tokens, five for each byte."""
        few, many = (self.count_prompt_tokens(encode_calldata(prompt="\x01" * n)) for n in (10, 20))
        count = round(10 + 10 * (tokens - few) / (many - few))
        return encode_calldata(prompt="\x01" * max(1, count))


MAX_CODE_BYTES = 24_576
"""Largest code that anyone may deploy. Source: EIP-170."""

EXECUTOR = format_push(int.from_bytes(EXECUTOR_ADDRESS, "big"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorCall:
    """A call of the executor with gas; None for all remaining gas."""

    data: bytes
    gas: int | None = None


def encode_calldata(  # noqa: PLR0913 - what `runNextIteration` takes
    *,
    model_id: str = "default",
    base_prompt: str = "",
    tools: Sequence[Address] = (),
    reasoning: Sequence[str] = (),
    results: Sequence[str] = (),
    prompt: str = "",
) -> bytes:
    """Return calldata of `runNextIteration`."""
    return RUN_NEXT_ITERATION_SELECTOR + encode(
        ("string", "string", "address[]", "string[]", "string[]", "string"),
        (model_id, base_prompt, list(tools), list(reasoning), list(results), prompt),
    )


def build_attacker_code(
    calls: Sequence[ExecutorCall], *, is_reverting: bool = False
) -> tuple[bytes, dict[Address, bytes]]:
    """Return code that calls the executor and ignores the results.

    Output: the code, and by address the code of the accounts that hold the calldata.
    """
    words: list[str] = []
    loaded = None
    stored: dict[Address, bytes] = {}
    addresses: dict[bytes, Address] = {}
    for call in calls:
        if call.data != loaded:
            for start in range(0, len(call.data), MAX_CODE_BYTES):
                piece = call.data[start : start + MAX_CODE_BYTES]
                if piece not in addresses:
                    addresses[piece] = Address(b"\xda\x7a" + len(addresses).to_bytes(18, "big"))
                    stored[addresses[piece]] = piece
                place = f"0x{len(piece):04x} PUSH0 0x{start:06x}"
                words.append(f"{place} 0x{addresses[piece].hex()} EXTCODECOPY")
            loaded = call.data
        gas = "GAS" if call.gas is None else f"0x{call.gas:016x}"
        data = f"0x{len(call.data):06x} PUSH0"
        words.append(f"PUSH0 PUSH0 {data} PUSH0 {EXECUTOR} {gas} CALL POP")
    words.append("PUSH0 PUSH0 REVERT" if is_reverting else "STOP")
    return assemble(" ".join(words)), stored

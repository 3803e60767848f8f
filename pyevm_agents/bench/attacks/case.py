"""An attack before it is made, and the executor that it is made against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from precompiles.abi import decode_request
from precompiles.address_handles import AddressBook
from precompiles.gas import DEFAULT_SCHEDULE
from precompiles.react import build_prompt
from pyevm_agents.bench.attacks.attack_code import calldata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth_typing import Address

    from precompiles.gas import Schedule
    from precompiles.language_model import LanguageModel, ModelProfile
    from pyevm_agents.bench.attacks.attack_code import ExecutorCall

BEFORE_END = -1
"""A call is given the gas for all of its output but the last token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackCase:
    """A transaction's calls of the executor."""

    name: str
    title: str
    how: str
    calls: tuple[ExecutorCall, ...]
    codes: Mapping[Address, bytes] = field(default_factory=dict)
    """Contracts that the calls name."""

    halts_after: int | None = None
    """Output tokens that each call is given the gas for, or `BEFORE_END`; 0: not even the prompt's
    tokens. None where no call is to halt."""

    grammar: str = ""
    """What the model is held to, as a prompt might bring any model to say it; its own words where
    empty."""

    is_reaching_model: bool = False
    is_long: bool = False
    """Whether a sample takes a minute: once is enough then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The executor that is attacked."""

    model: LanguageModel
    profile: ModelProfile
    fingerprint: str
    """Of the engine, as genesis has it."""

    is_quick: bool
    schedule: Schedule = DEFAULT_SCHEDULE

    def prompt_tokens(self, data: bytes) -> int:
        """Return how long the prompt of a call without tools and steps is."""
        request = decode_request(data)
        book = AddressBook(request.base_prompt, [request.prompt])
        return len(self.model.tokenize(build_prompt(request, (), (), book, self.profile)))

    def text_of_tokens(self, tokens: int) -> bytes:
        """Return calldata whose prompt is about so many tokens, and short: bytes become five."""
        few, many = (self.prompt_tokens(calldata(prompt="\x01" * n)) for n in (10, 20))
        count = round(10 + 10 * (tokens - few) / (many - few))
        return calldata(prompt="\x01" * max(1, count))

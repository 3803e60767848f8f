"""Tools of a host that read the chain: the draft of the run, at the step that uses the tool.

A tool gets the draft as an argument and has no chain of its own, so no tool reads the head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.recordings.canonical_json import Json


class DraftReader(Protocol):
    """The draft of a run, after the writes so far."""

    @property
    def number(self) -> int:
        """The number of the block that the run becomes."""
        ...

    @property
    def timestamp(self) -> int:
        """The block's time, in Unix seconds."""
        ...

    @property
    def base_fee_wei(self) -> int:
        """The block's base fee."""
        ...

    def get_balance(self, address: bytes) -> int:
        """Return the wei of an account. The price of a treasury's opening is not counted."""
        ...

    def call(self, target: bytes, data: bytes) -> bytes:
        """Call a contract; return the output.

        Raises: CallFailedError: the call failed.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChainTool:
    """A tool that reads the chain, of the draft of the run that uses the tool."""

    read: Callable[[DraftReader, Mapping[str, Json]], Json]
    """Returns the result. Input: the draft; the arguments."""


HostTool: TypeAlias = "Callable[[Mapping[str, Json]], Json] | ChainTool"
"""A tool of the host: one that asks other systems, or one that reads the chain."""

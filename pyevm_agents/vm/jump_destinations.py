"""Code, and where jumps may lead in it: found in one sweep, and remembered for the next call.

py-evm looks back from each destination for a PUSH that it could be data of, and from that one for
another, to the beginning if need be; and anew in each call. For 24 KiB of nothing but PUSHes that
took 170 ms of a busy machine's processor, and the sweep 2.4 ms (22 November 2026).
"""

from __future__ import annotations

from functools import lru_cache

from eth.vm.code_stream import CodeStream
from eth.vm.opcode_values import JUMPDEST, PUSH1, PUSH32

REMEMBERED_CODES = 1_024
"""Codes whose jumps are remembered: 48 KiB each at most, the code with it. A transaction that calls
more of them one after the other pays for a cold account each (EIP-2929), 2.7 million gas."""


class JumpDestinations:
    """Where jumps may lead in a code, as far as somebody has asked."""

    __slots__ = ("_at", "_code", "_is_destination", "known")

    def __init__(self, code: bytes) -> None:
        """Begin with nothing found out."""
        self._code = code
        self._is_destination = bytearray(len(code))
        self._at = 0
        """Where the first instruction is that the sweep has not come to."""

        self.known: set[int] = set()
        """Destinations that somebody has asked for."""

    def is_valid(self, position: int) -> bool:
        """Whether a position holds a JUMPDEST that is no data of a PUSH."""
        if not 0 <= position < len(self._code):
            return False
        if position >= self._at:
            self._scan_to(position)
        if not self._is_destination[position]:
            return False
        self.known.add(position)
        return True

    def _scan_to(self, position: int) -> None:
        code, flags, at = self._code, self._is_destination, self._at
        while at <= position:
            opcode = code[at]
            if opcode == JUMPDEST:
                flags[at] = True
            elif PUSH1 <= opcode <= PUSH32:
                at += opcode - PUSH1 + 1
            at += 1
        self._at = at


class AgentCode(CodeStream):
    """Code that knows where jumps may lead in it."""

    __slots__ = ("_jumps",)

    def __init__(self, code: bytes) -> None:
        """Begin with what earlier calls of the same code have found out."""
        super().__init__(code)
        self._jumps = get_jump_destinations(code)
        self.valid_positions = self._jumps.known

    def is_valid_opcode(self, position: int) -> bool:
        """Whether a jump may lead to a position, which py-evm has found to hold a JUMPDEST."""
        return self._jumps.is_valid(position)


@lru_cache(REMEMBERED_CODES)
def get_jump_destinations(code: bytes) -> JumpDestinations:
    """Return what is known of a code's jumps."""
    return JumpDestinations(code)

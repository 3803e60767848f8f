"""A question as agents of the ERC take it."""

from __future__ import annotations

from typing import TypeAlias

from eth_abi import encode

PARAM_TYPE_STRING = 0
"""Source: the ERC's `ParamType`."""

AgentInput: TypeAlias = "tuple[list[tuple[int, bytes]], bytes]"


def agent_input(question: str) -> AgentInput:
    """Return the `Input` of an agent's `run` that asks a question."""
    encoded = encode(["string"], [question])
    return ([(PARAM_TYPE_STRING, encoded)], encoded)

"""Calls of `IERCAgent.run` with a prompt."""

from __future__ import annotations

from eth_abi import encode

from precompiles.abi import ParamType
from pyevm_agents.abi.bundled import load_artifact

NO_HANDLER = bytes(20)
"""The callback address of `run`: the agent answers in the same transaction."""


def encode_run(prompt: str) -> bytes:
    """Return the calldata that runs an agent with a prompt, the one parameter.

    Source: the ERC, `IERCAgent.run` of version 2.
    """
    text = encode(["string"], [prompt])
    given = ([(int(ParamType.STRING), text)], text)
    return load_artifact("IERCAgent").encode_call("run", given, NO_HANDLER)

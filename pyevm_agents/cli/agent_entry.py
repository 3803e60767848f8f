"""The function by which an agent of one transaction is asked: `instruct`, or the ERC's `run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import decode_hex, encode_hex, function_signature_to_4byte_selector

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.client.functions import PUSH4

if TYPE_CHECKING:
    from pyevm_agents.client.json_rpc import RemoteClient

INSTRUCT, RUN = "instruct(string)", "run(((uint8,bytes)[],bytes),address)"
TOOLS = "getTools()"
"""An agent has tools. A tool has a `run` of the same signature, and none."""

CONTRACT = "OwnedAgent"
"""A bundled contract with both."""


@dataclass(frozen=True, slots=True)
class AgentEntry:
    """A function that asks an agent."""

    name: str

    def encode(self, prompt: str) -> bytes:
        """Return the calldata that asks the agent."""
        if self.name == "run":
            return encode_run(prompt)
        return load_artifact(CONTRACT).encode_call(self.name, prompt)

    def decode(self, output: bytes) -> str:
        """Return the answer in the output of the function."""
        result = load_artifact(CONTRACT).decode_result(self.name, output)
        return str(result[1] if self.name == "run" else result)


def find_entry(client: RemoteClient, address: bytes) -> AgentEntry:
    """Return the function by which an agent is asked.

    It is `run` where the code compares the selectors of an agent, and not that of `instruct`, which
    takes a plain text. The code alone tells: a call could be a run of the agent.

    Input:  the node; the agent's address, 20 bytes.
    """
    code = decode_hex(str(client.request("eth_getCode", [encode_hex(address), "latest"]) or "0x"))
    has_instruct, has_run, has_tools = (
        PUSH4 + function_signature_to_4byte_selector(each) in code
        for each in (INSTRUCT, RUN, TOOLS)
    )
    return AgentEntry("run" if has_run and has_tools and not has_instruct else "instruct")

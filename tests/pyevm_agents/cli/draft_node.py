"""A node with a version-1 agent, which reads a text of several lines, counts, and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_canonical_address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from tests.byte_model import ByteModel
from tests.contracts.v1.draft import text_input
from tests.pyevm_agents.cli.agent_node import FIRST, AgentNode

if TYPE_CHECKING:
    from eth_typing import Address

    from precompiles.language_model import GenerationRequest

NAME, DESCRIPTION, PROMPT = "Counting Agent", "You count what Look shows.", "Count what you see"
SEEN = "5 \\ and\n\x85 two\tmore: \u2028 0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""What a tool says: characters that version 1 escapes, a backslash, and an address."""

ANSWER = "It is 7."
GAS = 29_000_000


def look_count_answer(request: GenerationRequest) -> str:
    """Use Look, then add 7 to the counter, then end."""
    prompt = "".join(one.text for one in request.segments)
    if "The counter is" in prompt:
        return f" done\nFinal Answer: {ANSWER}"
    if "two" in prompt:
        return ' count\nAction: CounterToolV1\nAction Input: {"amount": 7}'
    return " see\nAction: Look\nAction Input: {}"


class DraftNode(AgentNode):
    """The node, its agent and the agent's tools."""

    def __init__(self) -> None:
        super().__init__(ByteModel(look_count_answer))
        self.counter = self.deploy("CounterToolV1")
        look = self.deploy("ScriptedTool", "Look", "Shows something", [], bytes(20), SEEN, [])
        self.look = self.deploy("ToolV2AsV1", look, bytes(20))
        self.agent = self.deploy_agent()

    def deploy_agent(self) -> Address:
        """Deploy the agent with its tools."""
        return self.deploy(
            "SimpleAgentV1",
            *(EXECUTOR_ADDRESS, "llama_model_3", NAME, DESCRIPTION, "what to do"),
            *([self.look, self.counter], 5),
        )

    def deploy(self, name: str, *arguments: object) -> Address:
        """Deploy a contract; return its address."""
        sent = self.send(None, load_artifact(name).encode_creation(*arguments))
        receipt = self.ask("eth_getTransactionReceipt", sent)
        return to_canonical_address(receipt["contractAddress"])

    def send(self, to: Address | None, data: bytes) -> str:
        """Send a transaction; return its hash."""
        sent = str(self.ask("eth_sendTransaction", self.form(to, data)))
        assert self.ask("eth_getTransactionReceipt", sent)["status"] == "0x1"
        return sent

    def form(self, to: Address | None, data: bytes) -> dict[str, str]:
        """Return a transaction of the first account."""
        form = {"from": FIRST, "data": "0x" + data.hex(), "gas": hex(GAS)}
        return form if to is None else form | {"to": "0x" + to.hex()}

    def question(self, prompt: str = PROMPT) -> dict[str, str]:
        """Return a transaction that runs the agent."""
        call = load_artifact("IERCAgentToolV1").encode_call("run", text_input(prompt), bytes(20))
        return self.form(self.agent, call)

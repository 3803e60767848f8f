"""A node with agents to show: a wallet's, a nested one, one that reverts, one that is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth_abi import encode

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.devnet.local_account import LocalAccount
from tests.byte_model import ByteModel
from tests.pyevm_agents.cli.agent_node import DONE, AgentNode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_typing import Address

    from precompiles.language_model import GenerationRequest

FIRST = "0x" + DEVELOPMENT_ADDRESS.hex()
HOSTILE = '<script>alert("x")</script>\u202e\x1b[31m\x00'
"""Text that is HTML, turns its line around, colours a terminal and ends a C string."""

OUTER, INNER = "You ask other agents.", "You count."
REQUEST = "Ask to add 7"


def write(request: GenerationRequest) -> str:
    """Return the next text of any of the agents: use the tool, once, then answer."""
    prompt = "".join(segment.text for segment in request.segments)
    _, _, history = prompt.rpartition("<a>Thought:")
    if history:
        return DONE
    if OUTER in prompt:
        return ' Ask.\nAction: Counting Agent\nAction Input: {"prompt": "Add 7"}'
    if INNER in prompt:
        tool = "Adder" if "Adder" in prompt else "CounterTool"
        return f' Add.\nAction: {tool}\nAction Input: {{"amount": 7}}'
    if "RevertingTool" in prompt:
        return " Try.\nAction: RevertingTool\nAction Input: {}"
    if "DeployTool" in prompt:
        arguments = f'{{"asset": "{request.handles[0][0]}", "amount": 10}}'
        return f" Deposit.\nAction: DeployTool\nAction Input: {arguments}"
    return DONE


class AgentsToShow(AgentNode):
    """A node whose agents tests deploy and ask."""

    def __init__(self) -> None:
        super().__init__(ByteModel(write))
        self.owner = LocalAccount(self.node.chain)

    def deploy_agent(
        self,
        name: str,
        base_prompt: str,
        tools: Sequence[Address],
        *,
        model: str = "llama_model_3",
        description: str = "an agent",
    ) -> Address:
        """Deploy an agent of three steps at most."""
        texts = (name, description, "what to do", base_prompt)
        artifact = load_artifact("SimpleAgent")
        return self.owner.deploy(
            artifact.encode_creation(EXECUTOR_ADDRESS, model, *texts, list(tools), 3)
        )

    def deploy_nested(self) -> Address:
        """Deploy an agent whose tool is an agent."""
        counter = self.owner.deploy(load_artifact("CounterTool").encode_creation())
        inner = self.deploy_agent("Counting Agent", INNER, [counter])
        return self.deploy_agent("Asking Agent", OUTER, [inner])

    def question(self, agent: Address, text: str = REQUEST) -> dict[str, str]:
        """Return the transaction that asks an agent."""
        prompt = encode(["string"], [text])
        data = load_artifact("SimpleAgent").encode_call("run", ([(0, prompt)], prompt), bytes(20))
        form = {"from": FIRST, "to": "0x" + agent.hex(), "data": "0x" + data.hex()}
        return form | {"gas": hex(29_000_000)}

    def send(self, form: dict[str, str]) -> str:
        """Send a transaction; return its hash."""
        return str(self.ask("eth_sendTransaction", form))

    def runs(self, *params: object) -> Any:  # noqa: ANN401 - JSON
        """Return the runs of all blocks."""
        return self.ask("agent_getRuns", "earliest", "latest", *params)

    def runs_since(self, first: int) -> Any:  # noqa: ANN401 - JSON
        """Return the runs from a block on."""
        return self.ask("agent_getRuns", hex(first), "latest")


def walk(call: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a call with its inner calls, in order."""
    return [call, *(each for inner in call["calls"] for each in walk(inner))]


def find(call: dict[str, Any], function: str) -> list[dict[str, Any]]:
    """Return the calls of a function, in order."""
    return [each for each in walk(call) if each["function"] == function]

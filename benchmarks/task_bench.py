"""Tasks on a chain: deploy their tools, send the question, read the ledger.

Each task starts on the same state, and leaves nothing for the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_utils import keccak, to_canonical_address

from benchmarks.agent_runs import deploy_agent, run_agent
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.devnet.local_account import LocalAccount

if TYPE_CHECKING:
    from eth_typing import Address

    from benchmarks.agent_runs import AgentRun
    from pyevm_agents.chain import Chain
    from training.tasks import Task, TaskStep, TaskTool

NO_LEDGER = bytes(20)

Done = tuple[str, bytes]
"""A tool's name, and keccak of the arguments of its action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """An agent's run of a task."""

    run: AgentRun
    ledger: tuple[Done, ...]
    """The ledger in the chain's state after the transaction."""


class TaskBench:
    """A chain on which tasks are run, one after the other."""

    def __init__(self, chain: Chain) -> None:
        """Deploy the ledger onto a chain whose development account has ether."""
        self._chain = chain
        self._account = LocalAccount(chain)
        self._ledger = self._account.deploy(load_artifact("Ledger").encode_creation())

    def run(self, task: Task) -> TaskRun:
        """Deploy a task's agent, send its question, read the ledger, and undo everything.

        Raises: EngineFault: the model failed. RevertedError: an agent does not fit into a block.
        """
        before = self._chain.snapshot()
        try:
            tools = {self._deploy(task, tool): tool.name for tool in task.tools}
            agent = deploy_agent(self._account, task.base_prompt, [*tools])
            run = run_agent(self._account, agent, task.question)
            return TaskRun(run=run, ledger=self._read_ledger(tools))
        finally:
            self._chain.revert(before)

    def _deploy(self, task: Task, tool: TaskTool) -> Address:
        parameters = [(int(it.param_type), it.name, it.description) for it in tool.parameters]
        replies = [
            (keccak(encode_arguments(task, step)), step.is_failure, step.observation)
            for step in task.steps
            if step.tool == tool.name
        ]
        return self._account.deploy(
            load_artifact("ScriptedTool").encode_creation(
                tool.name,
                tool.description,
                parameters,
                self._ledger if tool.is_action else NO_LEDGER,
                tool.default_reply,
                replies,
            )
        )

    def _read_ledger(self, tools: dict[Address, str]) -> tuple[Done, ...]:
        contract = load_artifact("Ledger")
        output = self._account.read(self._ledger, contract.encode_call("entries"))
        by_address: dict[bytes, str] = {bytes(address): name for address, name in tools.items()}
        return tuple(
            (by_address[to_canonical_address(tool)], bytes(arguments_hash))
            for tool, arguments_hash in contract.decode_result("entries", output)
        )


def encode_arguments(task: Task, step: TaskStep) -> bytes:
    """Return the `abiEncodedParams` of a right step.

    Raises: KeyError, EncodingError: the step's arguments are not those of its tool.
    """
    tool = next(tool for tool in task.tools if tool.name == step.tool)
    types = [parameter.param_type.abi_type for parameter in tool.parameters]
    return encode(types, [step.arguments[parameter.name] for parameter in tool.parameters])

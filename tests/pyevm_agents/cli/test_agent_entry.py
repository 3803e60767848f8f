"""`tools ask` and `estimate` of agents that have the ERC's `run` alone, and of agents of agents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_utils import to_checksum_address

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.cli.app import main
from pyevm_agents.cli.errors import NOT_DONE_STATUS
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.local_node import NodeConfig, open_node

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.testing import Result

    from pyevm_agents.local_node import OpenNode

pytestmark = pytest.mark.slow

ME = to_checksum_address(DEVELOPMENT_ADDRESS)


class Office:
    """A node with the default model, a counting agent, and an agent whose tool is that agent."""

    def __init__(self, node: OpenNode) -> None:
        assert node.urls is not None
        self._node, self._url = node, node.urls.http
        tool = self._deploy("CounterTool")
        self.counter = self._deploy_agent("Counter", "Counts", "You count.", tool)
        self.foreman = self._deploy_agent("Foreman", "Leads", "You lead.", self.counter)

    def _deploy_agent(self, name: str, says: str, prompt: str, tool: str) -> str:
        texts = ("default", name, says, "what to do", prompt)
        return self._deploy("SimpleAgent", EXECUTOR_ADDRESS, *texts, [tool], 4)

    def _deploy(self, name: str, *arguments: object) -> str:
        data = "0x" + load_artifact(name).encode_creation(*arguments).hex()
        sent = self._node.request("eth_sendTransaction", {"from": ME, "data": data})
        receipt = self._node.request("eth_getTransactionReceipt", sent)
        return to_checksum_address(receipt["contractAddress"])

    def run(self, *words: str) -> Result:
        """Run a command on the node."""
        return CliRunner().invoke(main, [*words, "--rpc-url", self._url])


@pytest.fixture(scope="module")
def office() -> Iterator[Office]:
    with open_node(NodeConfig(port=0, store_path=":memory:")) as node:
        yield Office(node)


@pytest.mark.parametrize("agent", ["counter", "foreman"])
def test_an_agent_without_instruct_is_run(office: Office, agent: str) -> None:
    order = "add 7" if agent == "counter" else "Ask Counter to add 7"
    address = getattr(office, agent)
    estimated = office.run("estimate", address, order)
    assert estimated.exit_code == 0, estimated.output
    sent = office.run("tools", "ask", address, order, "--unlocked", ME, "--yes", "--json")
    assert sent.exit_code == 0, sent.output
    form = json.loads(sent.stdout)
    assert (form["isSent"], form["answer"][:5]) == (True, "Done.")


@pytest.mark.parametrize("words", [["estimate"], ["tools", "ask", "--unlocked", ME, "--call"]])
def test_an_inner_agent_that_refuses_ends_the_command_as_not_done(
    office: Office, words: list[str]
) -> None:
    result = office.run(*words, office.foreman, "Ask Counter to pay Carol 9 wei")
    assert result.exit_code == NOT_DONE_STATUS, result.output
    assert result.stderr.splitlines()[-2].startswith("Not done: ")


@pytest.mark.parametrize("words", [["estimate"], ["tools", "ask", "--unlocked", ME], ["run"]])
def test_a_text_without_quotes_is_told_so(office: Office, words: list[str]) -> None:
    given = [] if words == ["run"] else [office.counter]
    result = CliRunner().invoke(main, [*words, *given, "Pay", "Ann", "5"])
    assert result.exit_code == 2
    assert "in quotes" in result.stderr

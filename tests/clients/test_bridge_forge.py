"""The Foundry project of tests/examples: agents in `forge test`, with executors of Solidity."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from eth_abi import encode

from precompiles.numeric_abi import (
    DESCRIBE_MODEL_SELECTOR,
    RUN_MODEL_SELECTOR,
    encode_description,
    encode_output,
)
from pyevm_agents.cli.app import main
from pyevm_agents.models.numeric import open_shipped
from pyevm_agents.recordings.export import NumericCall, ReplayExport
from pyevm_agents.recordings.export_solidity import render_solidity
from tests.clients.anvil_node import running_anvil
from tests.clients.foundry_project import FailedError, Foundry
from tests.clients.packages import HERE, foundry_program, installed, node_program

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests" / "examples" / "foundry"
PAGE = (ROOT / "docs" / "solidity-bridge.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DOCUMENTED_URL = "http://127.0.0.1:8545"
COMMANDS_SECONDS = 240
EXAMPLE_SUITES = [path.name for path in EXAMPLE.rglob("*.t.sol")]


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Foundry:
    """The example, with our contracts in `lib` and npm's compiler."""
    node_program()
    made = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, made, dirs_exist_ok=True)
    shutil.copy(HERE / "foundry" / "solc", made)
    (made / "node_modules").symlink_to(installed("foundry"))
    leave = shutil.ignore_patterns("node_modules", "build")
    shutil.copytree(ROOT / "contracts", made / "lib" / "contracts", ignore=leave)
    forge = Foundry("forge", "", made, FOUNDRY_SOLC="./solc", FOUNDRY_OFFLINE="true")
    del forge.environment["ETH_RPC_URL"]
    return forge


@pytest.fixture(scope="module")
def tested(forge: Foundry) -> str:
    """Return the output of one `forge test` of the example and three more suites."""
    numeric = render_solidity(build_numeric_replay())
    (forge.folder / "test" / "NumericReplay.sol").write_text(numeric)
    for name, text in (("Mistakes", MISTAKES), ("Both", BOTH), ("Numeric", NUMERIC)):
        (forge.folder / "test" / f"{name}.t.sol").write_text(text)
    for name in ("script", "src"):  # Of another test, compiled at the same time.
        shutil.copytree(HERE / "foundry" / name, forge.folder / name)
    with pytest.raises(FailedError) as caught:
        forge("test")
    return str(caught.value)


def build_numeric_replay() -> ReplayExport:
    """Return a replay without steps, of a description and an evaluation of the risk model."""
    risk = open_shipped("risk")
    run = RUN_MODEL_SELECTOR + encode(["string", "int256[]"], ["risk", [0] * 20])
    describe = DESCRIBE_MODEL_SELECTOR + encode(["string"], ["risk"])
    decimals = (risk.input_decimals, risk.output_decimals)
    answers = {
        run: encode_output([987]),
        describe: encode_description(risk.digest, *decimals, 1),
    }
    calls = tuple(NumericCall(call=call, output=output) for call, output in answers.items())
    return ReplayExport(name="NumericReplay", source="", steps=(), numeric_calls=calls)


@pytest.mark.slow
def test_the_example_passes(tested: str) -> None:
    """And one executor after the other begins with nothing."""
    assert "12 tests passed, 3 failed, 0 skipped" in tested
    suites = re.findall(
        r"^Ran \d+ tests? for test/(.*\.sol):.*\n((?:\[PASS\].*\n)+)", tested, re.MULTILINE
    )
    assert sum(passed.count("[PASS]") for _, passed in suites) == 12
    assert {name for name, _ in suites} == {*EXAMPLE_SUITES, "Both.t.sol", "Numeric.t.sol"}
    assert "Compiler run successful" in tested


@pytest.mark.slow
def test_a_script_that_does_not_fit_fails_with_the_reason(tested: str) -> None:
    """Output of forge shows typed errors with names, steps and alternatives."""
    offered = "DeployTool, WithdrawTool, ViewBalanceTool, TokenInfoTool"
    assert f'ToolNotOffered(0, "BuyTool", "{offered}")' in tested
    assert 'WrongArguments(0, "DeployTool", "(address asset, uint256 amount)", 0x' in tested
    assert 'ScriptNotUsedUp(1, 2, "answer: Never.")' in tested


def test_the_library_in_the_example_is_what_the_command_writes(tmp_path: Path) -> None:
    made = tmp_path / "WalletReplay.sol"
    told = CliRunner().invoke(main, ["export-replay", "--fixture", "wallet", "-o", str(made)])
    assert told.exit_code == 0, told.output
    assert made.read_text() == (EXAMPLE / "test" / "WalletReplay.sol").read_text()


def test_the_page_shows_what_is_in_the_examples() -> None:
    sources = [*EXAMPLE.rglob("*.sol"), HERE / "hardhat" / "scripts" / "bridge.mjs"]
    shown = "\n".join(path.read_text() for path in sources)
    for language, code in BLOCKS:
        if language in {"solidity", "js"}:
            assert "\n".join(line.strip() for line in code.splitlines()) in "\n".join(
                line.strip() for line in shown.splitlines()
            ), code


def test_the_commands_of_the_page_make_a_project(tmp_path: Path) -> None:
    (commands,) = [code for language, code in BLOCKS if language == "sh" and "mkdir" in code]
    for name in ("tests", "contracts"):
        (tmp_path / name).symlink_to(ROOT / name)
    subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=tmp_path, check=True)
    for name in ("foundry.toml", "script/Deploy.s.sol", "lib/contracts/IERCAgent.sol"):
        assert (tmp_path / "wallet" / name).is_file()


@pytest.mark.slow
def test_the_commands_of_the_page_run_on_anvil(forge: Foundry, tested: str, tmp_path: Path) -> None:
    assert tested
    (commands,) = [code for _, code in BLOCKS if DOCUMENTED_URL in code]
    programs = [foundry_program(name).parent for name in ("cast", "forge")]
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    with running_anvil(tmp_path) as anvil:
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands.replace(DOCUMENTED_URL, anvil.url)],
            cwd=forge.folder,
            env={**forge.environment, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMANDS_SECONDS,
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert '"Done."' in ended.stdout
    assert re.search(r"status +1 \(success\)", ended.stdout)


MISTAKES = """
pragma solidity ^0.8.20;

import {AgentScript} from "@pyevm-agents/contracts/test/AgentScript.sol";
import {Wallet} from "./Wallet.sol";

contract MistakesTest is Wallet {
    function setUp() public {
        AgentScript.install();
        deployWallet();
    }

    function test_NoSuchTool() public {
        AgentScript.use("BuyTool", abi.encode(usdc, 10));
        agent.instruct("Buy");
    }

    function test_OneArgumentTooFew() public {
        AgentScript.use("DeployTool", abi.encode(usdc));
        agent.instruct("Deposit");
    }

    function test_AStepLeft() public {
        AgentScript.answer("Done.");
        AgentScript.answer("Never.");
        agent.instruct("Deposit");
        AgentScript.assertDone();
    }
}
"""

BOTH = """
pragma solidity ^0.8.20;

import {AgentReplay} from "@pyevm-agents/contracts/test/AgentReplay.sol";
import {AgentScript} from "@pyevm-agents/contracts/test/AgentScript.sol";
import {ReplayAgentExecutor} from "@pyevm-agents/contracts/test/ReplayAgentExecutor.sol";
import {Wallet} from "./Wallet.sol";
import {WalletReplay} from "./WalletReplay.sol";

contract BothTest is Wallet {
    function setUp() public {
        deployWallet();
    }

    function replayed() private {
        AgentReplay.install();
        WalletReplay.load();
        agent.instruct("Deposit 10 USDC into the pool");
        require(AgentReplay.inferenceGas() == 0, "other gas");
    }

    function scripted() private {
        AgentScript.install();
        AgentScript.answer("Done.");
        requireEqual(agent.instruct("Deposit"), "Done.");
        AgentScript.assertDone();
    }

    function test_AScriptAfterAReplay() public {
        replayed();
        scripted();
    }

    function test_AReplayAfterAScript() public {
        scripted();
        replayed();
    }

    function test_AReplayAfterAReplay() public {
        replayed();
        AgentReplay.install();
        require(AgentReplay.inferenceGas() == 0, "gas of before");
        try AgentReplay.EXECUTOR.assertDone() {
            revert("done without a record");
        } catch (bytes memory reason) {
            require(bytes4(reason) == ReplayAgentExecutor.NothingRecorded.selector, "another");
        }
    }
}
"""

NUMERIC = """
pragma solidity ^0.8.20;

import {INumericModels} from "@pyevm-agents/contracts/interfaces/INumericModels.sol";
import {AgentReplay} from "@pyevm-agents/contracts/test/AgentReplay.sol";
import {ReplayNumericModels} from "@pyevm-agents/contracts/test/ReplayNumericModels.sol";
import {NumericReplay} from "./NumericReplay.sol";

contract NumericTest {
    INumericModels private constant MODELS = INumericModels(address(0x1a));
    int256[] private input = new int256[](20);

    function setUp() public {
        AgentReplay.install();
        NumericReplay.load();
    }

    function test_ARecordedInputHasItsOutput() public view {
        int256[] memory output = MODELS.runModel("risk", input);
        require(output.length == 1 && output[0] == 987, "another output");
        (, uint8[] memory inputs, uint8[] memory outputs,) = MODELS.describeModel("risk");
        require(inputs.length == 20 && outputs[0] == 6, "another description");
    }

    function test_AnotherInputIsRefused() public {
        input[3] = 5;
        try MODELS.runModel("risk", input) {
            revert("answered");
        } catch (bytes memory reason) {
            bytes4 selector = ReplayNumericModels.InputNotRecorded.selector;
            bytes memory wanted = abi.encodeWithSelector(selector, "risk", input);
            require(keccak256(reason) == keccak256(wanted), "another reason");
        }
    }
}
"""

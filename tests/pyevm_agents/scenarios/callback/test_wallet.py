"""The wallet's agent by callback does what it does embedded, on chains with the same addresses."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from eth_utils import to_checksum_address

from benchmarks.instructions import SETS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.not_done import find_not_done
from pyevm_agents.agents.failures import explain_failure
from pyevm_agents.client.accounts import NodeAccount, RevertedError
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.devnet.chain import create_development_chain
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.node_process import run_anvil, run_plain_node
from pyevm_agents.errors import AgentsError
from pyevm_agents.models import ScriptedModel, answer, use
from pyevm_agents.oracle.agent_run import ANSWERED
from pyevm_agents.oracle.recomputation import HostedModels
from pyevm_agents.scenarios.callback.recorded import ChainComputer
from pyevm_agents.scenarios.callback.wallet import (
    WORKER_ADDRESS,
    WORKER_KEY,
    CallbackWallet,
    open_callback_wallet,
)
from pyevm_agents.scenarios.wallet import ATOMIC_INSTRUCTION, ATOMIC_SCRIPT, WalletDemo
from pyevm_agents.vm import AgentComputation
from tests.clients.packages import foundry_program

if TYPE_CHECKING:
    from eth.abc import ComputationAPI

    from precompiles.language_model import GenerationRequest
    from pyevm_agents.chain import Chain
    from pyevm_agents.models import LlamaModel, Vocabulary
    from pyevm_agents.models.fakes.script_steps import AnswerStep, ToolStep
    from pyevm_agents.models.fakes.scripted import Script
    from pyevm_agents.scenarios.callback.wallet import CallbackRun
    from tests.samples import Sample

TOOL_FAILED = 5
"""`CallbackAgent.Status.ToolFailed`."""

INSTRUCTIONS = [text for text, _ in (*SETS["two steps"], *SETS["held-out"][::2])][:20]
"""One in three with two steps; deposits, withdrawals and balances of both tokens."""


def deposit(request: GenerationRequest) -> ToolStep | AnswerStep:
    """Deposit 10 USDC, then say so; the script of any number of runs."""
    prompt = "".join(segment.text for segment in request.segments)
    if "Successfully deployed" in prompt:
        return answer("Done.")
    return use("DeployTool", thought="I deposit 10 USDC.", asset="USDC", amount=10)


def scripted_chain(vocabulary: Vocabulary, script: Script) -> Chain:
    model = ScriptedModel(script, vocabulary=vocabulary)
    return create_development_chain(model, model.profile_facts)


def local_wallet(chain: Chain) -> CallbackWallet:
    owner, worker = LocalAccount(chain), LocalAccount(chain, WORKER_KEY)
    owner.send(WORKER_ADDRESS, b"", value_wei=10**18)
    return CallbackWallet(owner, worker, ChainComputer(chain))


def hosted_by(chain: Chain) -> HostedModels:
    """Return the models of another chain, for a worker."""
    return HostedModels(config=chain.config, models=chain.models)


def executor_calls(computation: ComputationAPI) -> list[tuple[str, bytes]]:
    """Return prompt and return data of the executor's calls, in order."""
    if isinstance(computation, AgentComputation) and computation.inference is not None:
        prompt = "".join(segment.text for segment in computation.inference.segments)
        return [(prompt, computation.output)]
    return [call for child in computation.children for call in executor_calls(child)]


def require_same_run(embedded: WalletDemo, other: CallbackWallet, instruction: str) -> CallbackRun:
    """Run an instruction on both; compare prompts, the executor's answers, and balances.

    Only the arguments differ: `IERCAgent` passes as many steps as it may take, the last ones empty.
    Where the embedded run reverts, since it is not done or by a tool, the other one ends with that,
    and its steps stand.
    """
    agent = load_artifact("WalletAgent")
    call = agent.encode_call("instruct", embedded.insert_addresses(instruction))
    sent = LocalAccount(embedded.chain).send(embedded.agent, call)
    run = other.run(instruction)
    answers = [(step.computed.prompt, step.computed.answer.output) for step in run.steps]
    assert answers == executor_calls(sent.computation)
    if sent.is_success:
        assert (run.status, run.result) == (
            ANSWERED,
            agent.decode_result("instruct", sent.computation.output),
        )
    elif run.is_not_done:
        assert find_not_done(sent.computation.output) == run.result
    else:
        assert run.status == TOOL_FAILED
        assert "ToolCallFailed" in explain_failure(sent.computation)
    if not (run.is_not_done and run.tool_results):
        assert run.after == embedded.read_balances()
    return run


def test_a_run_on_a_node_without_the_executor_is_the_embedded_one(vocabulary: Vocabulary) -> None:
    chain = scripted_chain(vocabulary, deposit)
    embedded = WalletDemo(chain)
    with run_plain_node() as url, open_callback_wallet(url, hosted_by(chain)) as other:
        assert (other.agent, other.tokens) == (embedded.agent, embedded.tokens)
        names = dict(embedded.names) | {to_checksum_address(other.agent): "WalletCallbackAgent"}
        assert other.names == names
        run = require_same_run(embedded, other, "Deposit 10 USDC")
    assert run.tool_results == ("Successfully deployed",)
    assert len(run.transactions) == len({each.block_number for each in run.transactions}) == 3


def test_a_step_before_one_that_fails_stands(vocabulary: Vocabulary) -> None:
    wallet = local_wallet(scripted_chain(vocabulary, ATOMIC_SCRIPT))
    run = wallet.run(ATOMIC_INSTRUCTION)
    assert (run.status, run.is_success) == (TOOL_FAILED, False)
    assert run.tool_results == ("Successfully deployed",)
    assert run.result.startswith("FAILED: tool 0x")
    assert run.before["pool"]["USDC"] + 10 * 10**6 == run.after["pool"]["USDC"]
    assert run.before["pool"]["DAI"] == run.after["pool"]["DAI"]


def test_only_the_owner_and_allowed_callers_start_a_run(vocabulary: Vocabulary) -> None:
    chain = scripted_chain(vocabulary, deposit)
    wallet = local_wallet(chain)
    agent = load_artifact("WalletCallbackAgent")
    ask = agent.encode_call("ask", "Deposit 10 USDC", bytes(20))
    stranger = LocalAccount(chain, WORKER_KEY)
    cost = wallet.read("WalletCallbackAgent", wallet.agent, "costOfRun")
    refused = stranger.send(wallet.agent, ask, value_wei=cost)
    assert "CallerNotAllowed" in explain_failure(refused.computation)
    LocalAccount(chain).transact(wallet.agent, agent.encode_call("setCaller", WORKER_ADDRESS, True))  # noqa: FBT003
    assert stranger.send(wallet.agent, ask, value_wei=cost).is_success


def test_both_agents_say_the_same_of_themselves(vocabulary: Vocabulary) -> None:
    chain = scripted_chain(vocabulary, deposit)
    embedded, other = WalletDemo(chain), local_wallet(scripted_chain(vocabulary, deposit))
    for function in ("name", "description", "inputDescription", "basePrompt", "agentMaxIterations"):
        said = [
            wallet.read(wallet.agent_contract, wallet.agent, function)
            for wallet in (embedded, other)
        ]
        if function == "basePrompt":  # The token addresses: these chains deploy at other nonces.
            said = [text.partition("\n\n")[0] for text in said]
        assert said[0] == said[1], function


def test_a_node_that_refuses_says_why(vocabulary: Vocabulary) -> None:
    chain = scripted_chain(vocabulary, deposit)
    with (
        run_plain_node() as url,
        open_callback_wallet(url, hosted_by(chain)) as wallet,
        closing(RemoteClient(url)) as client,
    ):
        stranger = NodeAccount(client, WORKER_ADDRESS)
        call = load_artifact("WalletAccount").encode_call("addTool", WORKER_ADDRESS)
        with pytest.raises(RevertedError, match="NotAgent"):
            stranger.transact(wallet.account, call)
        client.request("evm_setAutomine", [False])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pyevm_agents.client.accounts.RECEIPT_SECONDS", 0.0)
            with pytest.raises(AgentsError, match="was not mined within 0 s"):
                stranger.transact(WORKER_ADDRESS, b"")


@pytest.mark.slow
@pytest.mark.sample(count=2, seed=0)
def test_instructions_by_callback_have_the_embedded_steps(
    llama: LlamaModel, sample: Sample
) -> None:
    chain = create_development_chain(llama, llama.profile_facts)
    embedded = WalletDemo(chain)
    runs = []
    with run_plain_node() as url, open_callback_wallet(url, hosted_by(chain)) as other:
        assert other.agent == embedded.agent
        for instruction in INSTRUCTIONS[: sample.count]:
            runs.append(require_same_run(embedded, other, instruction))
            sample.figures.update(
                {
                    "instructions": len(runs),
                    "executor's answers": sum(len(run.steps) for run in runs),
                    "runs with an answer": sum(run.is_success for run in runs),
                }
            )
    assert len(runs) == sample.count


@pytest.mark.slow
def test_a_run_on_anvil_is_the_embedded_one(vocabulary: Vocabulary) -> None:
    chain = scripted_chain(vocabulary, deposit)
    program = foundry_program("anvil", "anvil")
    with (
        run_anvil(program, "--hardfork", "prague") as url,
        open_callback_wallet(url, hosted_by(chain)) as other,
    ):
        require_same_run(WalletDemo(chain), other, "Deposit 10 USDC")

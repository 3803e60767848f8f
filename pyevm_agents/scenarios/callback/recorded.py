"""The scenario `callback`: the wallet's agent by an oracle, on a chain that has the executor, too.

The chain computes the answers to the chain's own requests. After each run, a contract compares the
answers with the executor's, so that a replay checks them, and `replay --recompute` runs the model.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import require_success
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.oracle.local_block import LocalBlock
from pyevm_agents.oracle.recomputation import HostedModels, RequestExecutor
from pyevm_agents.scenarios.callback.wallet import WORKER_KEY, CallbackWallet
from pyevm_agents.scenarios.recorded import (
    INSTRUCTIONS,
    Scenario,
    require_scenario,
    restart_from_state,
)

if TYPE_CHECKING:
    from pyevm_agents.chain import Chain
    from pyevm_agents.oracle.messages import AgentRequest, ComputedAnswer

WORKER_WEI = 10**18


class ChainComputer:
    """Computes answers on forks of a chain of this process: an `AnswerComputer`.

    The requests are in the last block, and the models are the chain's.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def compute(self, request: AgentRequest) -> ComputedAnswer:
        """Return the executor's answer on the state after the last block.

        Raises: EngineFault: the model failed, or the executor ended without an answer.
        """
        chain = self.chain
        executor = RequestExecutor(HostedModels.of_chain(chain))
        block = LocalBlock.from_header(chain, chain.head)
        with closing(executor.open_fork(block)) as fork:
            return executor.execute(fork, request, fork.head)

    def close(self) -> None:
        """Leave the chain open, which is the owner's."""


def _build_callback(building: Chain) -> Chain:
    owner, worker = LocalAccount(building), LocalAccount(building, WORKER_KEY)
    computer = ChainComputer(building)
    owner.send(worker.address, b"", value_wei=WORKER_WEI)
    wallet = CallbackWallet(owner, worker, computer)
    check = load_artifact("AnswerCheck")
    checker = owner.deploy(check.encode_creation())
    owner.chain = worker.chain = computer.chain = chain = restart_from_state(building)
    for instruction in INSTRUCTIONS:
        run = wallet.run(instruction)
        require_scenario(run.is_success, f"the wallet's agent ended with {run.result!r}")
        for step in run.steps:
            request = step.request
            arguments = (wallet.oracle, request.commitment.request_id, request.arguments)
            checked = owner.send(checker, check.encode_call("check", *arguments))
            require_success(checked.computation, "the comparison of an answer")
    return chain


CALLBACK = Scenario(
    comment="The wallet agent of `wallet` by an oracle: one transaction asks, one for each answer "
    "goes on. After each run the executor gives the same answers.",
    make=_build_callback,
)

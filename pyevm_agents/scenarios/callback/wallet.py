"""The wallet demo by callback: the same wallet on a chain without the executor.

An oracle's contract requests, a worker of this process answers. Nothing here prints.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.client.accounts import NodeAccount
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.node.keys import DEFAULT_KEYS
from pyevm_agents.oracle.agent_run import ANSWERED, NOT_DONE
from pyevm_agents.oracle.codec import decode_request, encode_answer, get_topic
from pyevm_agents.oracle.recomputation import ForkComputer
from pyevm_agents.oracle.signatures import sign_evidence
from pyevm_agents.scenarios.wallet import WalletContracts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.client.accounts import SendingAccount, SentTransaction
    from pyevm_agents.oracle.messages import AgentRequest, AnswerComputer, ComputedAnswer
    from pyevm_agents.oracle.recomputation import HostedModels
    from pyevm_agents.scenarios.wallet import Balances

WORKER_KEY = PrivateKey(bytes.fromhex(DEFAULT_KEYS[1]))
"""The second account of the default mnemonic: owns the oracle, signs and sends the answers."""

WORKER_ADDRESS = Address(WORKER_KEY.public_key.to_canonical_address())

PRICES = (10**14, 10**9, 300_000)
"""`AgentOracle.Prices`: 0.0001 ether an inference, 1 gwei a gas, gas of an answer."""

CALLBACK_GAS = 1_500_000
"""Gas of each callback. Measured: a step of the demo uses at most 600,000."""

STEP_SECONDS, RUN_SECONDS = 3_600, 36_000
"""Deadlines of a step and of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredStep:
    """A request of the agent and the answer."""

    request: AgentRequest
    computed: ComputedAnswer
    transaction: SentTransaction


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackRun:
    """One instruction and the results."""

    instruction: str
    run_id: int
    asked: SentTransaction
    steps: tuple[AnsweredStep, ...]
    status: int
    """A `CallbackAgent.Status`."""

    reasoning: tuple[str, ...]
    """Thought, action and action input of each step that used a tool."""

    tool_results: tuple[str, ...]
    result: str
    """The answer, or the reason of the failure."""

    fee_wei: int
    """What the oracle took for the answers."""

    before: Balances
    after: Balances

    @property
    def is_success(self) -> bool:
        """Whether the agent did the task."""
        return self.status == ANSWERED

    @property
    def is_not_done(self) -> bool:
        """Whether the agent answered that the task was not done."""
        return self.status == NOT_DONE

    @property
    def transactions(self) -> tuple[SentTransaction, ...]:
        """The transactions in order: the owner's, then the worker's."""
        return (self.asked, *(step.transaction for step in self.steps))


class CallbackWallet(WalletContracts):
    """The wallet with a `WalletCallbackAgent`, an oracle, and the only worker."""

    agent_contract = "WalletCallbackAgent"

    def __init__(
        self,
        owner: SendingAccount,
        worker: SendingAccount,
        computer: AnswerComputer,
        *,
        examples: str = "",
    ) -> None:
        """Deploy and fund everything.

        Input:
            owner: deploys the wallet's contracts, in the order of `WalletDemo`: so the addresses
                are those of the other chain.
            worker: the account of `WORKER_KEY`; deploys the oracle.
            computer: computes the answers.
            examples: as for `WalletContracts`.
        """
        self._asker, self._worker, self._computer = owner, worker, computer
        creation = load_artifact("AgentOracle").encode_creation(WORKER_ADDRESS, PRICES)
        self.oracle = worker.deploy(creation)
        call = load_artifact("AgentOracle").encode_call("setWorker", WORKER_ADDRESS, True)  # noqa: FBT003 - Solidity's
        worker.transact(self.oracle, call)
        super().__init__(owner, examples=examples)

    def encode_agent(self, base_prompt: str, info: Address) -> bytes:
        """Return the initcode of the agent. Input: info: the fourth tool."""
        settings = (self.oracle, CALLBACK_GAS, STEP_SECONDS, RUN_SECONDS)
        return load_artifact(self.agent_contract).encode_creation(
            settings, ALIASES[0], self.pool, base_prompt, info
        )

    def run(self, instruction: str) -> CallbackRun:
        """Send an instruction as the wallet's owner, and answer the agent's requests.

        Input:  instruction: English text; `{USDC}` and `{DAI}` become the tokens' addresses.
        Raises: ConfigError: an invalid instruction. EngineFault: the model failed. RemoteFault: the
                node failed.
        """
        instruction = self.insert_addresses(instruction)
        before = self.read_balances()
        cost = self.read(self.agent_contract, self.agent, "costOfRun")
        call = load_artifact(self.agent_contract).encode_call("ask", instruction, bytes(20))
        asked = self._asker.transact(self.agent, call, value_wei=cost)
        steps: list[AnsweredStep] = []
        request = self._find_request(asked)
        while request is not None:
            steps.append(self._answer(request))
            request = self._find_request(steps[-1].transaction)
        run_id = self.read(self.agent_contract, self.agent, "currentRunId")
        reasoning, results = self.read(self.agent_contract, self.agent, "stepsOf", run_id)
        return CallbackRun(
            instruction=instruction,
            run_id=run_id,
            asked=asked,
            steps=tuple(steps),
            status=self.read(self.agent_contract, self.agent, "statusOf", run_id),
            reasoning=tuple(reasoning),
            tool_results=tuple(results),
            result=self.read(self.agent_contract, self.agent, "resultOf", run_id),
            fee_wei=sum(step.request.commitment.fee for step in steps),
            before=before,
            after=self.read_balances(),
        )

    def _answer(self, request: AgentRequest) -> AnsweredStep:
        """Compute, sign and send an answer."""
        computed = self._computer.compute(request)
        answer, evidence = computed.answer, computed.evidence
        signature = sign_evidence(WORKER_KEY, self._worker.chain_id, request, answer, evidence)
        call = encode_answer(request.commitment, answer, evidence, signature)
        sent = self._worker.transact(self.oracle, call)
        return AnsweredStep(request=request, computed=computed, transaction=sent)

    def _find_request(self, transaction: SentTransaction) -> AgentRequest | None:
        """Return the request that a transaction made; None without one."""
        topic = get_topic("AgentRequested")
        found = (log for log in transaction.logs if log.topics[:1] == (topic,))
        return next(map(decode_request, found), None)


@contextmanager
def open_callback_wallet(url: str, hosted: HostedModels) -> Iterator[CallbackWallet]:
    """Deploy the wallet on a development node, with a worker for the duration of the context.

    Input:
        url: a node without the executor that has the accounts of the default mnemonic.
        hosted: the worker's models.

    Raises: RemoteFault, RemoteError: the node fails.
    """
    with closing(RemoteClient(url)) as client, ForkComputer(url, hosted) as computer:
        yield CallbackWallet(
            NodeAccount(client, DEVELOPMENT_ADDRESS),
            NodeAccount(client, WORKER_ADDRESS),
            computer,
        )

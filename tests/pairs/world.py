"""A chain for a story of two capabilities, and short ways to put them there."""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from eth_abi import decode
from eth_keys.datatypes import PrivateKey
from eth_utils import keccak, to_checksum_address
from eth_utils.abi import get_abi_output_types
from web3 import HTTPProvider, Web3

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.run_calls import encode_run
from pyevm_agents.client.logs import parse_log
from pyevm_agents.control.treasury import deploy_treasury
from pyevm_agents.control.treasury_policy import TreasuryPolicy
from pyevm_agents.council.council_client import CouncilClient
from pyevm_agents.council.deployed_agents import AgentAnswer
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_KEY
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.lifecycle.host import LifecycleHost
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.manifest import AgentManifest
from pyevm_agents.lifecycle.module import BaseAgentModule
from pyevm_agents.lifecycle.onchain_agent import OnchainAgent
from pyevm_agents.lifecycle.orchestrator import Orchestrator
from pyevm_agents.lifecycle.phases import NOT_DONE
from pyevm_agents.lifecycle.records import ExecutionRecord, NotDone, Task
from pyevm_agents.lifecycle.statuses import Phase
from pyevm_agents.lifecycle.store import RunStore
from pyevm_agents.lifecycle.treasury_envelope import TreasuryEnvelope
from pyevm_agents.lifecycle.treasury_refusals import NATIVE_ASSET
from pyevm_agents.lifecycle.trust import TrustThreshold
from pyevm_agents.local_node import NodeConfig, open_node
from pyevm_agents.oracle.codec import decode_request, encode_answer, get_topic
from pyevm_agents.oracle.recomputation import ForkComputer, HostedModels
from pyevm_agents.oracle.signatures import sign_evidence
from pyevm_agents.testing import AgentChain
from pyevm_agents.testing.artifacts import ArtifactFinder
from tests.serving import serve_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from web3.contract import Contract

    from precompiles.language_model import LanguageModel
    from pyevm_agents.council.messages import CouncilRequest
    from pyevm_agents.lifecycle.context import AgentContext
    from pyevm_agents.lifecycle.records import PlanStep
    from pyevm_agents.lifecycle.session import AgentSession
    from pyevm_agents.lifecycle.store import StoredRun
    from pyevm_agents.models.numeric import NumericFile

    Act = Callable[[AgentSession], str]

EXECUTOR = "0x0000000000000000000000000000000000000019"
MODELS = "0x000000000000000000000000000000000000001a"
NOBODY = to_checksum_address("0x" + "00" * 20)
PAYEE = to_checksum_address("0x" + "44" * 20)
ETHER = 10**18
GAS = 16_000_000
YES = True
"""A flag of a contract, whose arguments have places."""

WORKER = PrivateKey(b"\x77" * 32)

PASSAGES = (
    "The fee of the blue pool is 35 percent.",
    "Owls sleep by day and hunt by night.",
    "The mill bridge was flooded in May.",
)
STOP_WORDS = "a an and by for how in is of the to was what when who"
ASKED, FOUND = "What is the fee of the blue pool?", PASSAGES[0]
"""A question that passages answer, and the one that does."""

FLOODED, OPTIONS = "Was the mill bridge flooded?", "OPTIONS: yes|no"
RATED, SCORE = "Rate the loan with income 20 and debt 5", "Score: 61"
"""An order for the numeric model, and what the model says: 3 * 20 + 1."""

BOND, REWARD = ETHER // 100, ETHER // 10
COUNCIL_TERMS = {
    "revealTime": 600,
    "drawTime": 3_000,
    "judgeTime": 900,
    "disputeRegistrationTime": 600,
    "callbackGas": 200_000,
    "judgeFee": 1_000,
    "seedDelay": 2,
    "minBond": 1,
    "minAgentReputation": -(2**31),
    "minJudgeReputation": -(2**31),
    "minDisputeJudgeReputation": -(2**31),
}
"""Members of a council's `Terms`; the others are zero: no disputes, one agent counts as one."""

RUN = "run(((uint8,bytes)[],bytes),address)"
"""The function of every agent of the ERC."""

COUNTED, COUNT = "Add 7 to the counter", "The counter is: 7"


def canonical(contract: Contract) -> bytes:
    """Return the 20 bytes of a contract's address."""
    return bytes.fromhex(contract.address[2:])


MANIFEST = AgentManifest(
    name="Steward",
    slug="steward",
    version="0.1.0",
    description="Does what it is told",
    owner_wallet=DEVELOPMENT_ADDRESS,
    operator_wallet=DEVELOPMENT_ADDRESS,
)


class Doer(BaseAgentModule):
    """An agent of runs whose only step is a function of the session."""

    def __init__(self, do: Act) -> None:
        super().__init__(MANIFEST)
        self._do = do

    def perform_step(self, task: Task, step: PlanStep, context: AgentContext) -> str:
        del task, step
        return self._do(context.session)


@dataclass(frozen=True)
class VersionedWallet:
    """A wallet whose agent has versions."""

    world: World
    account: Contract
    versions: Contract
    token: Contract
    tool: Contract

    @property
    def deposited(self) -> int:
        """How much of its 1,000 USDC is in the pool."""
        return 1_000 - int(self.world.read(self.token, "balanceOf", self.account.address))

    @property
    def prompt(self) -> str:
        """The base prompt of its agents."""
        return f"You manage a wallet.\nUSDC = {self.token.address}"

    def publish(self, *tools: Contract, name: str = "Wallet") -> Contract:
        """Deploy and publish a version that runs within the transaction; return the agent."""
        texts = (name, "Manages a wallet", "what to do")
        addresses = [tool.address for tool in (self.tool, *tools)]
        owner = self.account.address
        arguments = (owner, EXECUTOR, "default", *texts, self.prompt, addresses, 6)
        agent = self.world.deploy("OwnedAgent", *arguments)
        self.world.send(self.versions, "publish", agent.address)
        return agent

    def on(self, fork: World) -> VersionedWallet:
        """Return the wallet on a fork."""
        names = ("VersionedAccount", "AgentVersions", "DemoToken", "AccountTool")
        contracts = (self.account, self.versions, self.token, self.tool)
        pairs = zip(names, contracts, strict=True)
        return VersionedWallet(fork, *(fork.at(name, each.address) for name, each in pairs))

    def adopt(self, version: int) -> None:
        """Choose a version."""
        self.world.send(self.account, "adopt", version)

    def instruct(self, prompt: str, sender: str | None = None) -> dict[str, Any]:
        """Instruct the version that was chosen; return the receipt."""
        return self.world.send(self.account, "instruct", prompt, sender=sender)


@dataclass(frozen=True)
class Run:
    """What became of a run."""

    stored: StoredRun
    results: tuple[str | None, ...]
    """Those of its steps."""

    not_done: str | None
    """The answer of an agent that does not do the task."""

    @property
    def failure(self) -> str | None:
        return self.stored.failure


@dataclass(kw_only=True)
class World:
    """A chain of this process, and whoever works on it from outside."""

    w3: Web3
    ask_node: Callable[..., Any]
    open_url: Callable[[], str]
    hosted: HostedModels
    """The models of a worker, or of whoever runs an agent on a fork."""

    folder: Path
    clients: ExitStack
    """Closes what asks the node."""

    kit: AgentChain | None = None
    """The test kit's chain; None for a plain EVM chain."""

    artifacts: ArtifactFinder = field(default_factory=ArtifactFinder)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @cached_property
    def url(self) -> str:
        """The URL of a node of the chain."""
        return self.open_url()

    @property
    def chain(self) -> AgentChain:
        """The chain with the precompiles."""
        assert self.kit is not None
        return self.kit

    @property
    def me(self) -> str:
        """Who sends everything."""
        return self.w3.eth.accounts[0]

    # -- contracts -- #

    def deploy(self, name: str, *arguments: object, value: int = 0) -> Contract:
        """Deploy a contract of this package."""
        artifact = self.artifacts.find(name)
        form = {"from": self.me, "gas": hex(GAS), "value": hex(value)}
        form["data"] = "0x" + artifact.build_creation_data(arguments, {}, {}).hex()
        receipt = self._get_receipt(self.ask_node("eth_sendTransaction", form))
        if receipt["status"] != "0x1":
            self.ask_node("eth_call", form, "latest")  # raises with the reason
        return self.at(name, receipt["contractAddress"])

    def at(self, name: str, address: str) -> Contract:
        """Return a contract of this package at an address."""
        abi = self.artifacts.find(name).abi
        return self.w3.eth.contract(to_checksum_address(address), abi=abi)

    def send(
        self,
        contract: Contract,
        function: str,
        *arguments: object,
        value: int = 0,
        sender: str | None = None,
    ) -> dict[str, Any]:
        """Send a call that has to succeed; return its receipt as JSON."""
        form = {"from": sender or self.me, "to": contract.address, "value": hex(value)}
        form |= {"data": contract.encode_abi(function, arguments), "gas": hex(GAS)}
        receipt = self._get_receipt(self.ask_node("eth_sendTransaction", form))
        if receipt["status"] != "0x1":
            self.ask_node("eth_call", form, "latest")  # raises with the reason
        return receipt

    def read(self, contract: Contract, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        """Return what a function returns."""
        return contract.get_function_by_name(function)(*arguments).call()

    def _get_receipt(self, transaction: str) -> dict[str, Any]:
        receipt: dict[str, Any] = self.ask_node("eth_getTransactionReceipt", transaction)
        return receipt

    # -- tools -- #

    def rater(self, name: str = "rate_loan", model: str = "score") -> Contract:
        """Deploy a tool over the numeric model."""
        fields = [(1, 1, 4, each, f"{each} in thousands", 0, 100, 0) for each in ("income", "debt")]
        said: tuple[object, ...] = ("Score", [], [], [(0, "", "", 0, 0, 0, [])])
        digest = self.hosted.numeric_models[model].digest
        return self.deploy(
            "ModelTool", name, "Rates a loan", (MODELS, model, digest), fields, NOBODY, said
        )

    def handbook(self, *passages: str) -> Contract:
        """Deploy a base of passages, which its deployer edits."""
        base = self.deploy("KnowledgeBase", self.me, STOP_WORDS, 1200, 750)
        self.send(base, "add", list(passages or PASSAGES), YES)
        return base

    def search(self, base: Contract | None = None, name: str = "look_up") -> Contract:
        """Deploy a tool that searches a base."""
        base = base or self.handbook()
        texts = ("Looks up passages of the handbook", "Words to look for")
        return self.deploy("RetrievalTool", base.address, name, *texts, 1, 400)

    def record(self) -> Contract:
        """Deploy a tool that answers yes, from a passage of its own."""
        base = self.handbook(*PASSAGES, "Flood record of April: yes")
        texts = ("was_flooded", "Tells whether the mill bridge was flooded [call:reads]")
        return self.deploy("RecordTool", base.address, *texts, "flood record")

    # -- agents -- #

    def agent(
        self, *tools: Contract, name: str = "Clerk", says: str = "Helps", prompt: str = "You help."
    ) -> Contract:
        """Deploy an agent that anybody may run within a transaction."""
        addresses = [tool.address for tool in tools]
        texts = (name, says, "what to do", prompt)
        return self.deploy("SimpleAgent", EXECUTOR, "default", *texts, addresses, 6)

    def instruct(self, agent: Contract, prompt: str) -> str:
        """Run an agent in a transaction; return its answer. The run has to succeed."""
        receipt = self.chain.ask(agent, prompt, gas=GAS)
        assert receipt["status"] == 1, self.refusal(agent, prompt)
        answer = self.chain.steps(receipt)[-1].answer
        assert answer is not None
        return answer

    def observe(self, agent: Contract, prompt: str) -> list[tuple[int, str | None, str | None]]:
        """Run an agent in a transaction; return depth, action and observation of its uses."""
        receipt = self.chain.ask(agent, prompt, gas=GAS)
        assert receipt["status"] == 1, self.refusal(agent, prompt)
        steps = self.chain.steps(receipt)
        return [(each.depth, each.action, each.observation) for each in steps if each.action]

    def observe_last(self, receipt: dict[str, Any]) -> str:
        """Return what the last tool of a transaction said."""
        steps = self.chain.steps(receipt["transactionHash"])
        return [each.observation for each in steps if each.observation is not None][-1]

    def refusal(self, agent: Contract, prompt: str) -> str:
        """Return why an agent's run reverts; empty if it does not."""
        call = {"from": self.me, "to": agent.address, "data": "0x" + encode_run(prompt).hex()}
        try:
            self.ask_node("eth_call", call | {"gas": hex(GAS)}, "latest")
        except Exception as error:  # noqa: BLE001 - a node's, in this process or another
            return str(error)
        return ""

    # -- callback execution -- #

    @cached_property
    def oracle(self) -> Contract:
        """An oracle with a worker."""
        oracle = self.deploy("AgentOracle", self.me, (10**12, 10**9, 250_000))
        self.send(oracle, "setWorker", WORKER.public_key.to_checksum_address(), YES)
        return oracle

    def callback_agent(
        self,
        *tools: Contract,
        kind: str = "SimpleCallbackAgent",
        name: str = "Clerk",
        says: str = "Helps",
        prompt: str = "You help.",
    ) -> Contract:
        """Deploy an agent whose model a worker runs."""
        settings = (self.oracle.address, 4_000_000, 3_600, 86_400)
        texts = ("default", name, says, "what to do", prompt)
        return self.deploy(kind, settings, *texts, [tool.address for tool in tools], 6)

    def subscribe(self, agent: Contract, caller: str) -> None:
        """Pay an agent's runs of a caller from a subscription."""
        self.send(self.oracle, "subscribe", value=ETHER)
        number = next(self.numbers)
        self.send(self.oracle, "setConsumer", number, agent.address, YES)
        self.send(agent, "setSubscription", number)
        self.send(agent, "setCaller", caller, YES)

    def ask(self, agent: Contract, prompt: str) -> str:
        """Run an agent by callback; return its result."""
        self.work(self.send(agent, "ask", prompt, NOBODY, value=self.read(agent, "costOfRun")))
        return str(self.read(agent, "resultOf", 1))

    def work(self, receipt: dict[str, Any]) -> None:
        """Answer the requests of a transaction as a worker, and those that follow."""
        topic = "0x" + get_topic("AgentRequested").hex()
        waiting = [receipt]
        with ForkComputer(self.url, self.hosted, retries=0) as computer:
            while waiting:
                logs = [log for log in waiting.pop()["logs"] if log["topics"][0] == topic]
                waiting += [self._answer(computer, log) for log in logs]

    def _answer(self, computer: ForkComputer, log: dict[str, Any]) -> dict[str, Any]:
        request = decode_request(parse_log(log))
        computed = computer.compute(request)
        signature = sign_evidence(
            WORKER, self.w3.eth.chain_id, request, computed.answer, computed.evidence
        )
        data = encode_answer(request.commitment, computed.answer, computed.evidence, signature)
        form = {"from": self.me, "to": self.oracle.address, "data": "0x" + data.hex()}
        receipt = self._get_receipt(self.ask_node("eth_sendTransaction", form | {"gas": hex(GAS)}))
        assert receipt["status"] == "0x1"
        return receipt

    # -- versions -- #

    def account(self) -> VersionedWallet:
        """Deploy a wallet whose agent has versions, with a token, a pool and a tool."""
        token = self.deploy("DemoToken", "USD Coin", "USDC", 0, 1_000)
        versions = self.deploy("AgentVersions", self.me)
        pool = self.deploy("LiquidityPool")
        account = self.deploy("VersionedAccount", self.me, versions.address, pool.address)
        described = ([(1, "asset", "the token"), (4, "amount", "how much")],)
        selector = keccak(text="deploy(address,uint256)")[:4]
        texts = ("deposit", "Deposits into the pool")
        tool = self.deploy("AccountTool", *texts, account.address, selector, described, "Deposited")
        self.send(account, "setTool", tool.address, YES)
        self.send(token, "transfer", account.address, 1_000)
        return VersionedWallet(self, account, versions, token, tool)

    # -- councils -- #

    def council(self) -> Contract:
        """Deploy a council in which votes or a judge decide, without disputes."""
        types = self.artifacts.find("AgentCouncilOracle").abi
        creation = next(each for each in types if each["type"] == "constructor")
        names = [each["name"] for each in creation["inputs"][0]["components"]]
        terms = [COUNCIL_TERMS.get(each, 0) for each in names]
        flags = {"deterministic", "weightedVotes", "proportionalRewards", "plainCommitments"}
        terms = [
            bool(term) if name in flags else term for name, term in zip(names, terms, strict=True)
        ]
        return self.deploy("AgentCouncilOracle", terms, NOBODY)

    def put(self, council: Contract, query: str, options: str = "") -> int:
        """Ask a council of one agent a question; return the request's number."""
        self.send(council, "createRequest", *self.question(query, options), value=REWARD)
        return int(self.read(council, "requestCount"))

    def question(self, query: str, options: str = "") -> tuple[object, ...]:
        """Return the arguments of a question to a council, due in ten minutes."""
        deadline = self.w3.eth.get_block("latest")["timestamp"] + 600
        return (query, 1, BOND, deadline, NOBODY, options, ((), ()))

    def member(self, council: Contract, *tools: Contract) -> Contract:
        """Deploy an info agent of a council."""
        texts = ("Ada", "Answers questions", "You answer.")
        settings = (EXECUTOR, "default", *texts, [tool.address for tool in tools], 6)
        return self.deploy("CouncilInfoAgent", council.address, self.me, settings)

    def answer(self, council: Contract, member: Contract, number: int) -> str:
        """Let a member answer, reveal and be paid; return the council's answer."""
        self.send(member, "join", number, 7, value=BOND)
        self.send(member, "reveal", number)
        (revealed,) = self.read(council, "getReveals", number)[1]
        return bytes(revealed).decode()

    def off_chain(self, council: Contract, agent: Contract) -> AgentAnswer:
        """Return the source of answers of `council join --agent`."""
        client = self.clients.enter_context(
            closing(CouncilClient(self.url, canonical(council), retries=0))
        )
        me = bytes.fromhex(self.me[2:])
        return AgentAnswer(client, self.url, self.hosted, canonical(agent), caller=me)

    def request_of(self, council: Contract, number: int) -> CouncilRequest:
        """Return a request as a participant reads it."""
        with closing(CouncilClient(self.url, canonical(council), retries=0)) as client:
            view = client.find_view(number, "latest")
        assert view is not None
        return view.request

    def vote(self, council: Contract, number: int, answer: bytes) -> None:
        """Answer as an account, reveal, and share the reward."""
        commitment = self.read(council, "commitmentOf", number, self.me, answer, 7)
        self.send(council, "commit", number, commitment, value=BOND)
        self.send(council, "reveal", number, answer, 7)
        self.send(council, "distributeRewards", number)

    def pass_time(self, seconds: int) -> None:
        """Mine a block that much later."""
        self.ask_node("evm_increaseTime", seconds)
        self.ask_node("evm_mine")

    # -- runs and treasuries -- #

    def run(
        self,
        goal: str,
        what: Contract | Act,
        treasury: Contract | None = None,
    ) -> Run:
        """Run a goal in nine phases: a deployed agent's, or the steps of a function."""
        kit, number = self.chain, next(self.numbers)
        port = LocalChainPort.from_node(kit.node, DEVELOPMENT_KEY)
        module: BaseAgentModule
        if callable(what):
            module = Doer(what)
        else:
            runner = None if treasury is None else canonical(treasury)
            module = OnchainAgent(MANIFEST, canonical(what), runner=runner)
        store = RunStore(self.folder / f"runs-{number}.sqlite")
        host = LifecycleHost(
            port=port,
            store=store,
            modules={MANIFEST.slug: module},
            threshold=TrustThreshold(requires_identity=False, requires_registration=False),
            now=lambda: 1_800_000_000.0,
        )
        if treasury is not None:
            place = canonical(treasury)
            host = replace(host, open_envelope=lambda terms: TreasuryEnvelope(terms, port, place))
        task = Task(
            task_id=f"task-{number}",
            goal=goal,
            agent_slug=MANIFEST.slug,
            operator_wallet=DEVELOPMENT_ADDRESS,
        )
        orchestrator = Orchestrator(host)
        run = orchestrator.run(orchestrator.start(task))
        record = store.find_result(ExecutionRecord, run.run_id, Phase.EXECUTE)
        results = () if record is None else tuple(step.result for step in record.result.steps)
        not_done = store.find_value(NotDone, run.run_id, NOT_DONE)
        store.close()
        return Run(run, results, None if not_done is None else not_done.answer)

    def treasury(self, *targets: str) -> Contract:
        """Deploy a treasury with an ether, of which a task may spend a tenth."""
        recipients = tuple(bytes.fromhex(each[2:]) for each in targets)
        policy = TreasuryPolicy(cap_wei=ETHER // 10, deposit_wei=ETHER, targets=recipients)
        owner = LocalAccount(self.chain.chain)
        address = deploy_treasury(owner, [owner], DEVELOPMENT_ADDRESS, policy)
        return self.at("RunTreasury", to_checksum_address(address))

    def allow(self, treasury: Contract, contract: Contract, function: str) -> None:
        """Let runs call a function through a treasury."""
        self.send(treasury, "setTargetCap", contract.address, NATIVE_ASSET, ETHER // 10)
        selector = keccak(text=function)[:4]
        self.send(treasury, "setSelector", contract.address, selector, YES)

    def payer(self, treasury: Contract, payee: str, *tools: Contract) -> tuple[Contract, Contract]:
        """Deploy an agent of a treasury that pays Plumber in tokens of its tool.

        Output: the token, and the agent.
        """
        token = self.deploy("DemoToken", "USD Coin", "USDC", 0, 10_000)
        described = ([(1, "to", "who gets it"), (4, "amount", "how much")],)
        selector = keccak(text="transfer(address,uint256)")[:4]
        texts = ("pay_invoice", "Pays an invoice")
        tool = self.deploy(
            "SimpleSmartContractTool",
            *(*texts, token.address, selector, described, YES, "Paid", NOBODY),
        )
        self.send(token, "transfer", tool.address, 10_000)
        prompt = f"You pay invoices.\nPlumber = {payee}"
        addresses = [each.address for each in (tool, *tools)]
        described_agent = ("Payer", "Pays invoices", "what to pay", prompt)
        arguments = (EXECUTOR, "default", *described_agent, addresses, 6)
        agent = self.deploy("OwnedAgent", treasury.address, *arguments)
        self.allow(treasury, agent, RUN)
        return token, agent

    def list_receipts(self) -> list[dict[str, Any]]:
        """Return the receipts of the latest block."""
        receipts: list[dict[str, Any]] = self.ask_node("eth_getBlockReceipts", "latest")
        return receipts


def pay_by_score(income: int, payee: str, wei: int) -> Act:
    """Return an act of a run: pay somebody whose score, by the numeric model, is 60 or more."""
    models = load_artifact("INumericModels")
    question = models.encode_call("runModel", "score", [income, 5])

    def act(session: AgentSession) -> str:
        answer = session.call(bytes.fromhex(MODELS[2:]), question)
        score = models.decode_result("runModel", answer)[0]
        if score < 60:
            raise ValueError(f"a score of {score}: must be 60 or more")
        return transfer(payee, wei)(session)

    return act


def transfer(payee: str, wei: int) -> Act:
    """Return an act of a run: a payment of wei, which has to succeed there."""

    def act(session: AgentSession) -> str:
        outcome = session.write(bytes.fromhex(payee[2:]), value_wei=wei)
        if not outcome.is_success:
            raise ValueError(outcome.failure)
        return "paid"

    return act


def read(contract: Contract, function: str, *arguments: object) -> Act:
    """Return an act of a run: read what a function of a contract of this package returns."""
    data = bytes.fromhex(contract.encode_abi(function, arguments)[2:])

    def act(session: AgentSession) -> str:
        output = session.call(canonical(contract), data)
        types = get_abi_output_types(contract.get_function_by_name(function).abi)
        return str(decode(types, output))

    return act


def call(contract: Contract, function: str, *arguments: object, value: int = 0) -> Act:
    """Return an act of a run: a call of a contract, which has to succeed there."""
    data = bytes.fromhex(contract.encode_abi(function, arguments)[2:])

    def act(session: AgentSession) -> str:
        outcome = session.write(canonical(contract), data, value_wei=value)
        if not outcome.is_success:
            raise ValueError(outcome.failure)
        return "done"

    return act


class Worlds:
    """Opens worlds that share a language model and a numeric one; closes them together."""

    def __init__(
        self, llama: LanguageModel, score: NumericFile, folder: Path, stack: ExitStack
    ) -> None:
        self._llama, self._score, self._folder, self._stack = llama, score, folder, stack
        self._names = itertools.count(1)

    def agents(self, *, numeric_models: dict[str, NumericFile] | None = None) -> World:
        """Return a chain with the precompiles, on the default model and the numeric one."""
        models = {"score": self._score} if numeric_models is None else numeric_models
        return self._wrap(AgentChain(numeric_models=models))

    def plain(self) -> World:
        """Return a plain EVM chain; its workers have the models."""
        hosted = self.agents().hosted
        node = self._stack.enter_context(
            open_node(NodeConfig(port=0, models=(), store_path=":memory:"))
        )
        assert node.urls is not None
        url = node.urls.http
        return World(
            w3=Web3(HTTPProvider(url)),
            ask_node=node.request,
            open_url=lambda: url,
            hosted=hosted,
            folder=self._folder,
            clients=self._stack,
        )

    def fork(self, origin: World, *, has_numeric_models: bool = True) -> World:
        """Return a chain with the precompiles that continues another world's."""
        # The kit keeps the fork block of a URL, and a port may come again.
        url = f"{origin.url}?{next(self._names)}"
        models = {"score": self._score} if has_numeric_models else {}
        return self._wrap(AgentChain(numeric_models=models, fork_url=url))

    def _wrap(self, kit: AgentChain) -> World:
        self._stack.callback(kit.close)
        kit.model.use_model(self._llama)

        def open_url() -> str:
            return self._stack.enter_context(serve_in_thread(kit.service))

        return World(
            w3=kit.w3,
            ask_node=kit.request,
            open_url=open_url,
            hosted=HostedModels.of_chain(kit.chain),
            folder=self._folder,
            clients=self._stack,
            kit=kit,
        )

"""The swap world's agent on a chain with the executor, or on anvil with an oracle and a worker."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eth_abi import decode
from eth_typing import Address
from eth_utils import keccak, to_canonical_address, to_checksum_address
from eth_utils.abi import collapse_if_tuple

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.failures import find_answer
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.fork_setup import build_fork_config
from pyevm_agents.client.accounts import NodeAccount
from pyevm_agents.client.contract import RemoteContract
from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.config import ChainConfig
from pyevm_agents.contract_intelligence.agent_deployment import (
    AgentSettings,
    OracleSettings,
    deploy_account,
    deploy_agent,
    deploy_factory,
    deploy_tools,
)
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.inspection import InspectedContract, inspect_contracts
from pyevm_agents.contract_intelligence.tool_plan import AgentPlan, PlanOptions, plan_agent
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.node_process import run_anvil
from pyevm_agents.forking import open_fork
from pyevm_agents.model_registry.profiles import ALIASES, add_models, build_model_profile
from pyevm_agents.oracle.recomputation import ForkComputer, HostedModels
from pyevm_agents.scenarios.swap.world import ONE_NATIVE, SwapWorld, load_uniswap_artifact
from tests.clients.packages import foundry_program
from tests.pyevm_agents.oracle.oracle_chain import Deployed, OracleChain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eth.abc import ComputationAPI

    from pyevm_agents.contract_intelligence.capabilities import ContractIntelligence
    from pyevm_agents.models import CachingModel, ProfileFacts

CONTRACTS = {
    "USDT": (
        *("balanceOf", "allowance", "approve", "transfer", "transferFrom"),
        *("decimals", "symbol", "totalSupply"),
    ),
    "router": (
        *("WETH", "factory", "getAmountsOut", "swapExactTokensForTokens"),
        *("swapExactETHForTokens", "swapExactTokensForETH"),
    ),
    "switch": ("adminFunction", "owner"),
}
"""Contracts that are inspected, and which of their functions: others would only take time."""

FUNCTIONS = ("USDT.balanceOf", "getAmountsOut", "swapExactETHForTokens", "swapExactTokensForETH")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterCall:
    """A call of the router that changes something, by the agent's account."""

    function: str
    arguments: dict[str, object]
    """Without the deadline."""

    seconds_left: int
    """From the block to the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of an agent."""

    tools: tuple[Address, ...]
    observations: tuple[str, ...]
    answer: str
    swaps: tuple[RouterCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedModel:
    """A model that all chains share: equal prompts cost one inference."""

    model: CachingModel
    facts: ProfileFacts

    def host(self, chain_id: int) -> HostedModels:
        """Return the models of a devnet, or of a worker."""
        profile = build_model_profile(self.facts)
        config = add_models(ChainConfig(chain_id=chain_id), [(profile, self.facts)])
        return HostedModels(config=config, models={profile.name: self.model})


@dataclass(kw_only=True)
class ChainAgent:
    """The world, the agent's account and its tools. A subclass deploys the agent and asks it."""

    chain_id: int
    symbol: str
    sender: Any
    """A `SendingAccount`."""

    world: SwapWorld = field(init=False)
    plan: AgentPlan = field(init=False)
    account: Address = field(init=False)
    tools: tuple[Address, ...] = field(init=False)
    agent: Address = field(init=False)
    router: ContractIntelligence = field(init=False)
    creations: dict[str, bytes] = field(init=False, default_factory=dict)
    """Hashes of creation code by contract."""

    def __post_init__(self) -> None:
        self.world = SwapWorld(self.sender, native_symbol=self.symbol)
        owner = self.sender
        owner.deploy = self._note_creations(owner.deploy)
        self.account = deploy_account(owner)
        self.world.fund(self.account)
        with self._open_view() as chain:
            found = self._inspect(chain)
        [self.router] = [each for each in found if each.relationships.wrapped_native]
        metadata = replace(get_chain_metadata(self.chain_id), native_symbol=self.symbol)
        options = PlanOptions(functions=FUNCTIONS, most_wei=5 * ONE_NATIVE)
        self.plan = plan_agent(found, metadata, options)
        specs = [tool.spec for tool in self.plan.tools]
        self.tools = deploy_tools(owner, deploy_factory(owner), self.account, specs)
        settings = AgentSettings(model=ALIASES[0], oracle=self._open_oracle())
        self.agent = deploy_agent(owner, self.plan, self.tools, settings)

    def _note_creations(self, deploy: Callable[..., Address]) -> Callable[..., Address]:
        """Return a function that deploys, and notes the hash of creation code."""

        def note(creation: bytes, *, purpose: str, nonce: int | None = None) -> Address:
            self.creations[purpose] = keccak(creation)
            return deploy(creation, purpose=purpose, nonce=nonce)

        return note

    def find_function(self, tool: Address) -> str:
        """Return the name of the contract's function behind a tool."""
        return self.plan.tools[self.tools.index(tool)].function.name

    def read_balances(self) -> tuple[int, int]:
        """Return the account's USDT and wei."""
        return self.world.read("USDT", "balanceOf", self.account), self._read_wei()

    def ask(self, instruction: str) -> Run:
        """Run an instruction; an answer that is not done is an answer."""
        raise NotImplementedError

    def _open_view(self) -> Any:  # noqa: ANN401 - a context of a chain
        raise NotImplementedError

    def _open_oracle(self) -> OracleSettings | None:
        raise NotImplementedError

    def _read_wei(self) -> int:
        raise NotImplementedError

    def _inspect(self, chain: Chain) -> tuple[ContractIntelligence, ...]:
        contracts = []
        for name, functions in CONTRACTS.items():
            contract = self.world.contracts[name]
            abi = [each for each in contract.artifact.abi if each.get("name") in functions]
            interface = read_interface(abi, name=contract.artifact.name, source="file")
            place = to_checksum_address(contract.address)
            contracts.append(InspectedContract(address=place, interface=interface))
        account = to_checksum_address(self.account)
        return inspect_contracts(chain, contracts, account)

    def _read_swap(self, data: bytes, timestamp: int) -> list[RouterCall]:
        """Return the router's call with these calldata; nothing for one without a deadline."""
        router = load_uniswap_artifact("UniswapV2Router02")
        [entry] = [
            each
            for each in router.abi
            if each["type"] == "function" and _compute_selector(each) == data[:4]
        ]
        types = [collapse_if_tuple(each) for each in entry["inputs"]]
        names = [each["name"] for each in entry["inputs"]]
        values = dict(zip(names, decode(types, data[4:]), strict=True))
        if "deadline" not in values:
            return []
        left = int(values.pop("deadline")) - timestamp
        return [RouterCall(function=entry["name"], arguments=values, seconds_left=left)]


def _compute_selector(entry: Any) -> bytes:  # noqa: ANN401 - an entry of an ABI
    types = ",".join(collapse_if_tuple(each) for each in entry["inputs"])
    return bytes(keccak(text=f"{entry['name']}({types})")[:4])


# -- on a devnet -- #


@dataclass(kw_only=True)
class EmbeddedAgent(ChainAgent):
    """An OwnedAgent on a chain of this process."""

    chain: Chain

    @contextmanager
    def _open_view(self) -> Iterator[Chain]:
        yield self.chain

    def _open_oracle(self) -> None:
        return None

    def _read_wei(self) -> int:
        return self.chain.balance(self.account)

    def ask(self, instruction: str) -> Run:
        agent = load_artifact("OwnedAgent")
        sent = self.sender.send(self.agent, agent.encode_call("instruct", instruction))
        steps = extract_agent_steps(sent.computation)
        answer = find_answer(
            sent.computation, lambda output: agent.decode_result("instruct", output)
        )
        assert answer is not None, sent.computation.output
        return Run(
            tools=tuple(step.tool for step in steps if step.tool is not None),
            observations=tuple(step.observation for step in steps if step.observation is not None),
            answer=answer,
            swaps=tuple(
                swap
                for data in self._iter_router_calls(sent.computation)
                for swap in self._read_swap(data, sent.block.header.timestamp)
            ),
        )

    def _iter_router_calls(self, computation: ComputationAPI) -> Iterator[bytes]:
        """Yield the calldata of calls that stand."""
        message = computation.msg
        if computation.is_error:
            return
        if (message.sender, message.to) == (self.account, self.world.router):
            yield bytes(message.data)
        for child in computation.children:
            yield from self._iter_router_calls(child)


def open_devnet(shared: SharedModel, chain_id: int, symbol: str) -> EmbeddedAgent:
    """Deploy everything on a new devnet."""
    hosted = shared.host(chain_id)
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    chain = Chain(hosted.config, hosted.models, accounts=accounts)
    sender = LocalAccount(chain)
    return EmbeddedAgent(chain_id=chain_id, symbol=symbol, sender=sender, chain=chain)


# -- on anvil -- #


@dataclass(kw_only=True)
class CallbackRunner(ChainAgent):
    """An OwnedCallbackAgent on anvil; this process computes the answers."""

    client: RemoteClient
    url: str
    computer: ForkComputer

    def request(self, method: str, *params: object) -> Any:  # noqa: ANN401 - JSON
        return self.client.request(method, params)

    @contextmanager
    def _open_view(self) -> Iterator[Chain]:
        with closing(open_fork(self.url)) as block:
            config = build_fork_config(ChainConfig(), block)
            with closing(Chain(config, fork=block)) as chain:
                yield chain

    def _open_oracle(self) -> OracleSettings:
        self.oracle = OracleChain(self.request, self.url)
        return OracleSettings(oracle=Address(self.oracle.oracle.canonical))

    def _read_wei(self) -> int:
        place = to_checksum_address(self.account)
        return int(self.request("eth_getBalance", place, "latest"), 16)

    def ask(self, instruction: str) -> Run:
        place = to_checksum_address(self.agent)
        agent = Deployed(self.oracle, "OwnedCallbackAgent", place)
        waiting = [self.oracle.ask_agent(instruction, agent)]
        swaps: list[RouterCall] = []
        while waiting:
            request = waiting.pop()
            receipt = self.oracle.submit(request, self.computer.compute(request))
            swaps += self._iter_swaps(receipt)
            waiting += self.oracle.find_requests(receipt)
        run_id = agent.read("currentRunId")
        _, results = agent.read("stepsOf", run_id)
        steps = RemoteContract(self.client, agent.name, self.agent).find_logs("AgentStep", run_id)
        return Run(
            tools=tuple(Address(to_canonical_address(step.values[2])) for step in steps),
            observations=tuple(results),
            answer=agent.read("resultOf", run_id),
            swaps=tuple(swaps),
        )

    def _iter_swaps(self, receipt: dict[str, Any]) -> Iterator[RouterCall]:
        header = self.request("eth_getBlockByNumber", receipt["blockNumber"], False)  # noqa: FBT003 - JSON-RPC's
        tracer = {"tracer": "callTracer"}
        root = self.request("debug_traceTransaction", receipt["transactionHash"], tracer)
        for data in self._iter_router_calls(root):
            yield from self._read_swap(data, int(header["timestamp"], 16))

    def _iter_router_calls(self, call: dict[str, Any]) -> Iterator[bytes]:
        """Yield the calldata of calls that stand."""
        if "error" in call:
            return
        ends = (call["from"], call.get("to"))
        if ends == tuple("0x" + each.hex() for each in (self.account, self.world.router)):
            yield bytes.fromhex(call["input"][2:])
        for child in call.get("calls", ()):
            yield from self._iter_router_calls(child)


@contextmanager
def open_anvil(shared: SharedModel, chain_id: int, symbol: str) -> Iterator[CallbackRunner]:
    """Deploy everything on anvil with this chain id, with a worker of this process."""
    program = foundry_program("anvil", "anvil")
    with (
        run_anvil(program, "--hardfork", "prague", "--chain-id", str(chain_id)) as url,
        closing(RemoteClient(url)) as client,
        ForkComputer(url, shared.host(chain_id)) as computer,
    ):
        yield CallbackRunner(
            chain_id=chain_id,
            symbol=symbol,
            sender=NodeAccount(client, DEVELOPMENT_ADDRESS),
            client=client,
            url=url,
            computer=computer,
        )

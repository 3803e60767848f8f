"""A council on any chain: oracle, agents with identities, judges, and records.

The contracts are those of `contracts/council/` and `contracts/examples/council/`. Ada, Ben and Cleo
answer by the model, from records of a knowledge base. Dora lies, and Emil never reveals. Frida,
Gus, Hana and Ivo judge by the model; all but Frida can read the records.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from eth_utils import keccak

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain
from pyevm_agents.devnet.chain import build_predeploys
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.scenarios.recorded import restart_from_state
from pyevm_agents.scenarios.swap.world import WorldContracts

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from pyevm_agents.devnet.local_account import ExecutedTransaction

ETHER = 10**18
NO_ADDRESS = Address(bytes(20))
REGISTRIES = REGISTRY_ADDRESSES[TESTNET]
COUNCIL_TAG = "council"
"""Of feedback that counts."""

ANSWERING = ("Ada", "Ben", "Cleo")
LIAR, SILENT = "Dora", "Emil"
INFO_AGENTS = (LIAR, *ANSWERING, SILENT)
"""In the order in which they commit."""

FIRST_JUDGE, DISPUTE_JUDGES = "Frida", ("Gus", "Hana", "Ivo")
JUDGES = (FIRST_JUDGE, *DISPUTE_JUDGES)
ON_CHAIN = (*ANSWERING, *JUDGES)
"""Agents that are contracts, of the development account."""

DISPUTER, CURATOR = "Pia", "Curator"
STAKES = {"Mia": (True, 3 * ETHER), "Noa": (True, ETHER), "Oda": (False, 2 * ETHER)}
"""Who stakes on yes, and how many wei."""

ACCOUNTS = (LIAR, SILENT, DISPUTER, CURATOR, *STAKES)
FUNDS_WEI = 10 * ETHER

SCORES = {
    **dict.fromkeys(INFO_AGENTS, 80),
    FIRST_JUDGE: 75,
    **dict.fromkeys(DISPUTE_JUDGES, 95),
}
"""What the curator says of agents before the questions, of 100."""

STOP_WORDS = "a an and of the in was were on"
K1, B = 1_200, 750

PASSAGES = (
    "Log of the bridge, 1 June, open to the public: yes",
    "Log of the bridge, 2 June, visitors: 1,204",
    "Register of the harbour, ships in April: 61",
    "Register of the harbour, cranes in April: 9",
    "Timetable of the ferry, sailings a day: 14",
)
"""The knowledge base."""

TOOLS = {
    "check_open": ("Checks whether the bridge is open", "bridge open public"),
    "count_ships": ("Number of ships in the harbour in April", "ships harbour April"),
}
"""Names of tools to descriptions, and the words that they search for."""

INFO_PROMPT = "You read the records of the town."
JUDGE_PROMPT = "You judge answers."


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTerms:
    """`Terms` of `ICouncil.sol`: seconds, hundredths of a percent, and scores in hundredths."""

    reveal_time: int = 600
    draw_time: int = 3_000
    judge_time: int = 900
    dispute_window: int = 1_800
    dispute_registration_time: int = 600
    callback_gas: int = 200_000
    judge_fee: int = 1_000
    dispute_bond: int = 15_000
    disputer_reimbursement: int = 5_000
    judge_reimbursement: int = 4_000
    seed_delay: int = 2
    deterministic: bool = False
    weighted_votes: bool = False
    proportional_rewards: bool = False
    min_bond: int = 1
    min_agent_reputation: int = 5_000
    min_judge_reputation: int = 7_000
    min_dispute_judge_reputation: int = 9_000
    dispute_judges: int = len(DISPUTE_JUDGES)
    plain_commitments: bool = False


def find_person(name: str, chain: Chain) -> LocalAccount:
    """Return somebody's account; the same name has the same key on each chain."""
    return LocalAccount(chain, PrivateKey(keccak(text=f"council demo, {name}")))


class CouncilWorld(WorldContracts):
    """The contracts on a chain, deployed by the development account, which owns the agents.

    These are `reputation`, `oracle`, `base`, the tools by name, `identities`, `feedback`, and the
    agents of `ON_CHAIN`.
    """

    def __init__(self, account: LocalAccount) -> None:
        """Deploy everything, fund the accounts, and give every agent an identity and a score."""
        super().__init__(account)
        self.account = account
        self.ids: dict[str, int] = {}
        """Identities by name."""
        for name in ACCOUNTS:
            self.owner.transact(self.find_address(name), b"", value_wei=FUNDS_WEI)
        self._deploy_council()
        self._deploy_agents()
        for number, name in enumerate((*INFO_AGENTS, *JUDGES)):
            self._register(name, number)

    @classmethod
    def build(cls, chain: Chain, *, report: Callable[[str], None] = lambda _: None) -> Self:
        """Deploy everything on a chain like another one; the state is the world's genesis.

        Raises: RevertedError: a contract can't be deployed, such as for want of gas.
        """
        report("deploying the council, its agents and their registries")
        accounts = {
            **chain.genesis_accounts,
            **build_predeploys(chain.config.fork),
            **build_registries(),
        }
        building = Chain(chain.config, chain.models, accounts=accounts)
        world = cls(LocalAccount(building))
        now = building.head.timestamp
        world.account.chain = restart_from_state(building)
        world.chain.mine(timestamp_seconds=now)
        return world

    @property
    def chain(self) -> Chain:
        """The chain of the contracts."""
        return self.account.chain

    # -- people -- #

    def find_address(self, name: str) -> Address:
        """Return the address of a contract, or of a participant, by name."""
        if name in self.contracts:
            return self.contracts[name].address
        return find_person(name, self.chain).address

    def find_payee(self, name: str) -> Address:
        """Return where somebody's earnings go: an agent that is a contract has another account."""
        return find_person(name, self.chain).address

    def send(
        self,
        sender: str | None,
        name: str,
        function: str,
        *arguments: object,
        value_wei: int = 0,
    ) -> ExecutedTransaction:
        """Call a contract as a participant; None is the development account."""
        account = self.account if sender is None else find_person(sender, self.chain)
        contract = self.contracts[name]
        call = contract.artifact.encode_call(function, *arguments)
        return account.send(contract.address, call, value_wei=value_wei)

    def read_score(self, name: str) -> int:
        """Return an agent's score in hundredths."""
        return int(self.read("reputation", "scoreOf", self.find_address(name)))

    def read_wei(self, address: Address) -> int:
        """Return an account's wei."""
        return int(self.chain.state().get_balance(address))

    def wait_until(self, timestamp_seconds: int) -> None:
        """Mine an empty block of that time, unless the time is over."""
        if timestamp_seconds > self.chain.head.timestamp:
            self.chain.mine(timestamp_seconds=timestamp_seconds)

    # -- deployment -- #

    def _deploy_council(self) -> None:
        self.add("identities", load_artifact("IdentityRegistry"), REGISTRIES.identity)
        self.add("feedback", load_artifact("ReputationRegistry"), REGISTRIES.reputation)
        self.deploy(
            "reputation",
            load_artifact("CouncilReputation"),
            REGISTRIES.identity,
            REGISTRIES.reputation,
            [self.find_address(CURATOR), self.owner.address],
        )
        terms = astuple(DemoTerms())
        oracle = load_artifact("AgentCouncilOracle")
        self.execute(
            "reputation",
            "setOracle",
            self.deploy("oracle", oracle, terms, self.address("reputation")),
        )
        base = load_artifact("KnowledgeBase")
        self.deploy("base", base, self.owner.address, STOP_WORDS, K1, B)
        self.execute("base", "add", list(PASSAGES), True)  # noqa: FBT003 - kept on the chain
        for name, (description, words) in TOOLS.items():
            arguments = (self.address("base"), name, description, words)
            self.deploy(name, load_artifact("RecordTool"), *arguments)

    def _deploy_agents(self) -> None:
        tools = [self.address(name) for name in TOOLS]
        for name in ANSWERING:
            self._deploy_agent(name, "CouncilInfoAgent", INFO_PROMPT, tools)
        self._deploy_agent(FIRST_JUDGE, "CouncilJudge", JUDGE_PROMPT, [])
        for name in DISPUTE_JUDGES:
            self._deploy_agent(name, "CouncilJudge", JUDGE_PROMPT, tools)

    def _deploy_agent(self, name: str, contract: str, prompt: str, tools: list[Address]) -> None:
        texts: tuple[Any, ...] = (ALIASES[1], name, "Sits in a council", prompt)
        settings = (EXECUTOR_ADDRESS, *texts, tools, 3 if tools else 1)
        self.deploy(
            name, load_artifact(contract), self.address("oracle"), self.owner.address, settings
        )

    def _register(self, name: str, number: int) -> None:
        """Give an agent an identity of its own, and the curator's feedback."""
        self.ids[name] = number
        if name in ON_CHAIN:
            self.execute("identities", "register")
            owner, agent = self.owner.address, self.address(name)
            self.execute("identities", "transferFrom", owner, agent, number)
            self.execute(name, "link", number)
        else:
            self.send(name, "identities", "register").computation.raise_if_error()
            self.send(name, "reputation", "link", number).computation.raise_if_error()
        said = (number, SCORES[name], 0, COUNCIL_TAG, "before", "", "", bytes(32))
        self.send(CURATOR, "feedback", "giveFeedback", *said).computation.raise_if_error()

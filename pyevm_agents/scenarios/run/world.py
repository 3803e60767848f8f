"""A treasury with a book of bills, agents that read and pay bills, and ERC-8004's registries.

The contracts are those of `contracts/examples/bills/` and `contracts/runs/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_abi import encode
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from eth_utils import keccak

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain
from pyevm_agents.devnet.chain import DEVELOPMENT_KEY
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.model_registry.profiles import ALIASES
from pyevm_agents.scenarios.recorded import restart_from_state
from pyevm_agents.scenarios.swap.world import WorldContracts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

CURRENCY, DECIMALS = "USDC", 6
UNIT = 10**DECIMALS
SUPPLY = 10**6 * UNIT
TREASURY_TOKENS = 2_000
CAP_TOKENS = 500
"""The most that a task spends."""

BILLS = {"Acme": 340, "Omar": 75, "Quinn": 900}
"""Whole tokens that suppliers ask for; the bill of Quinn is above the cap."""

MAX_STEPS, MAX_WRITES = 10, 5
"""The treasury's limits of a run."""

GAS_WEI = 10**20
REGISTRIES = REGISTRY_ADDRESSES[TESTNET]
OPERATOR_KEY = DEVELOPMENT_KEY

BOOKKEEPER, CLERK, PAYER = "bookkeeper", "clerk", "payer"
TRAINEE, NEWCOMER = "trainee", "newcomer"
"""A bookkeeper whose plans name another payer, and that payer, whom only strangers praise."""

AGENT_IDS = {
    slug: number for number, slug in enumerate((BOOKKEEPER, CLERK, PAYER, TRAINEE, NEWCOMER))
}
"""IDs in the identity registry."""

CLIENT_FEEDBACK = {BOOKKEEPER: 95, CLERK: 90, PAYER: 92, TRAINEE: 88}
"""What the operator's client says of agents, in percent."""

STRANGERS = 3
"""Who praise the newcomer with 100 percent each."""

CLERK_PROMPT = "You read bills. Use read_bill to read the bill of a supplier."
PAYER_PROMPT = "You pay bills. Use pay_bill to pay an amount to a supplier."
MAX_ITERATIONS = 3


def derive_key(name: str) -> PrivateKey:
    """Return the key of a party of this world; the same name has the same key."""
    return PrivateKey(keccak(text=f"run demo, {name}"))


def find_address(key: PrivateKey) -> Address:
    """Return the address of a key."""
    return Address(key.public_key.to_canonical_address())


RUNNER_KEY, VALIDATOR_KEY, CLIENT_KEY = map(derive_key, ("runner", "validator", "client"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainState:
    """Amounts that a run could spend, on the chain."""

    block_number: int
    tokens: Mapping[str, int]
    """Base units of the treasury and the suppliers."""

    wei: Mapping[str, int]
    nonces: Mapping[str, int]


class RunWorld(WorldContracts):
    """The contracts on a chain, deployed and owned by the operator.

    These are `USDC`, `treasury`, `book`, the tools `read_bill` and `pay_bill`, and the deployed
    agents by slug.
    """

    def __init__(self, account: LocalAccount) -> None:
        super().__init__(account)
        self.account = account
        self.registrations: dict[str, bytes] = {}
        """Hashes of the transactions that gave agents their identities, by slug."""
        self._deploy_treasury()
        self._deploy_agents()
        self._set_policy()
        self._register()

    @classmethod
    def build(cls, chain: Chain) -> Self:
        """Deploy everything on a chain like another one; the state is the world's genesis.

        Raises: RevertedError: a contract can't be deployed, such as for want of gas.
        """
        accounts = {**chain.genesis_accounts, **build_registries()}
        building = Chain(chain.config, chain.models, accounts=accounts)
        world = cls(LocalAccount(building, OPERATOR_KEY))
        world.account.chain = restart_from_state(building)
        return world

    @property
    def chain(self) -> Chain:
        """The chain on which the agents run."""
        return self.account.chain

    @property
    def people(self) -> Mapping[str, Address]:
        """The accounts whose keys sign."""
        keys = {"operator": OPERATOR_KEY, "runner": RUNNER_KEY, "validator": VALIDATOR_KEY}
        return {name: find_address(key) for name, key in keys.items()}

    def read_state(self) -> ChainState:
        """Return block number, balances and nonces at the head."""
        chain = self.chain
        holders = {"treasury": self.address("treasury")}
        holders |= {name: find_address(derive_key(name)) for name in BILLS}
        return ChainState(
            block_number=chain.head.block_number,
            tokens={
                name: int(self.read(CURRENCY, "balanceOf", address))
                for name, address in holders.items()
            },
            wei={name: chain.balance(address) for name, address in self.people.items()},
            nonces={name: chain.nonce(address) for name, address in self.people.items()},
        )

    def _deploy_treasury(self) -> None:
        owner = self.owner.address
        token = ("Dollar", CURRENCY, DECIMALS, SUPPLY)
        self.deploy(CURRENCY, load_artifact("DemoToken"), *token)
        protected = [REGISTRIES.identity, REGISTRIES.reputation, REGISTRIES.validation]
        treasury = self.deploy("treasury", load_artifact("RunTreasury"), owner, protected)
        self.execute(CURRENCY, "transfer", treasury, TREASURY_TOKENS * UNIT)
        currency = self.address(CURRENCY)
        self.deploy("book", load_artifact("BillBook"), owner, currency, treasury)
        for name, tokens in BILLS.items():
            self.execute("book", "add", name, find_address(derive_key(name)), tokens * UNIT)

    def _deploy_agents(self) -> None:
        book = self.address("book")
        read = self.deploy("read_bill", load_artifact("ReadBillTool"), book)
        pay = self.deploy("pay_bill", load_artifact("PayBillTool"), book)
        self._deploy_agent(CLERK, "Reads bills", CLERK_PROMPT, read)
        for slug in (PAYER, NEWCOMER):
            self._deploy_agent(slug, "Pays bills", PAYER_PROMPT, pay)
        self.execute("book", "setAgent", self.address(PAYER), pay)

    def _deploy_agent(self, slug: str, description: str, prompt: str, tool: Address) -> None:
        texts = (slug, description, "what to do", prompt)
        executor = (EXECUTOR_ADDRESS, ALIASES[1])
        agent = load_artifact("OwnedAgent")
        treasury = self.address("treasury")
        self.deploy(slug, agent, treasury, *executor, *texts, [tool], MAX_ITERATIONS)

    def _set_policy(self) -> None:
        currency, operator = self.address(CURRENCY), self.owner.address
        run = load_artifact("OwnedAgent").encode_call("run", ([], b""), bytes(20))[:4]
        self.execute("treasury", "setOperator", operator, True)  # noqa: FBT003 - the ABI has places
        self.execute("treasury", "setDelegate", find_address(RUNNER_KEY), True)  # noqa: FBT003
        self.execute("treasury", "setLimits", MAX_STEPS, MAX_WRITES, True)  # noqa: FBT003
        self.execute("treasury", "setAsset", currency, CAP_TOKENS * UNIT, 0)
        self.execute("treasury", "approve", currency, self.address("book"), SUPPLY)
        for slug in (CLERK, PAYER):
            self.execute("treasury", "setSelector", self.address(slug), run, True)  # noqa: FBT003
        cap = (self.address(PAYER), currency, CAP_TOKENS * UNIT)
        self.execute("treasury", "setTargetCap", *cap)

    def _register(self) -> None:
        """Give the agents identities, and the feedback of a client and of strangers."""
        for key in (RUNNER_KEY, VALIDATOR_KEY, CLIENT_KEY):
            self.owner.transact(find_address(key), b"", value_wei=GAS_WEI)
        registries = {"identity": "IdentityRegistry", "reputation": "ReputationRegistry"}
        for name, contract in registries.items():
            self.add(name, load_artifact(contract), getattr(REGISTRIES, name))
        for slug in AGENT_IDS:
            uri = encode(["string"], [f"https://agents.example/{slug}.json"])
            sent = self.account.send(REGISTRIES.identity, REGISTER_WITH_URI + uri)
            sent.computation.raise_if_error()
            self.registrations[slug] = sent.hash
        for slug, percent in CLIENT_FEEDBACK.items():
            self._give_feedback(CLIENT_KEY, slug, percent)
        for number in range(STRANGERS):
            key = derive_key(f"stranger {number}")
            self.owner.transact(find_address(key), b"", value_wei=GAS_WEI)
            self._give_feedback(key, NEWCOMER, 100)

    def _give_feedback(self, key: PrivateKey, slug: str, percent: int) -> None:
        given = (AGENT_IDS[slug], percent, 0, "", "", "", "", bytes(32))
        data = self.contracts["reputation"].artifact.encode_call("giveFeedback", *given)
        LocalAccount(self.chain, key).transact(REGISTRIES.reputation, data)


REGISTER_WITH_URI = keccak(text="register(string)")[:4]
"""The identity registry has three functions of this name."""

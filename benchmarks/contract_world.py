"""The contracts of the truth table, in the situation that it states.

`SwapWorld` has Uniswap and its tokens. The others are OpenZeppelin's, made concrete in
`contracts/test/intelligence/real/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_abi import encode
from eth_typing import Address
from eth_utils import keccak

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.scenarios.swap.world import (
    TOKENS,
    UNISWAP_CONTRACTS,
    WRAPPED,
    SwapWorld,
    load_uniswap_artifact,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyevm_agents.abi.bundled import Artifact
    from pyevm_agents.client.accounts import SendingAccount

REAL_CONTRACTS = (
    "AdminProxy",
    "AdminSwitch",
    "AuthorityManager",
    "ValueBeacon",
    "ValueProxy",
    "ValueProxyAdmin",
    "CallbackToken",
    "CappedToken",
    "Collectible",
    "DepositEscrow",
    "GameItems",
    "GovernanceTimelock",
    "ItemMarket",
    "ManagedValue",
    "MerkleAirdrop",
    "MultiToken",
    "OwnedToken",
    "PausableToken",
    "PaymentShares",
    "PermitToken",
    "RequestForwarder",
    "RoleSettings",
    "RoyaltyCollectible",
    "StakingPool",
    "TokenGovernor",
    "TokenVault",
    "TwoStepValue",
    "UpgradeableValue",
    "Vesting",
    "VotesToken",
    "WrappedCollectible",
    "WrapperToken",
)
"""Concrete contracts of OpenZeppelin's, beside `UNISWAP_CONTRACTS`."""

PEOPLE = ("executor", "guard", "heir", "issuer", "keeper", "planner", "writer")
"""Holders of roles beside the owner. Nobody has their keys."""

WRITER_ROLE_ID, PLANNER_ROLE_ID = 7, 8
"""Of the access manager: who may call `store` and `reset` of the managed box."""

DAY = 86_400
AIRDROP_BASE_UNITS = 25 * 10**6
ITEM_ID, ITEM_AMOUNT = 1, 10
COLLECTIBLE_ID = 1
VESTING_START, VESTING_DURATION = 1_000, 4_000_000_000
"""Seconds since 1970, and seconds: something is always released, and never all."""


def load_real_artifact(name: str) -> Artifact:
    """Return a contract of `REAL_CONTRACTS` or `UNISWAP_CONTRACTS` by name."""
    return load_uniswap_artifact(name) if name in UNISWAP_CONTRACTS else load_artifact(name)


def derive_person(name: str) -> Address:
    """Return the address of a person, derived from the name."""
    return Address(keccak(text=f"contract world: {name}")[12:])


class ContractWorld(SwapWorld):
    """Every contract of the truth table, with an account that owns some of each token."""

    def __init__(self, owner: SendingAccount, account: Address, *, native_symbol: str) -> None:
        """Deploy the contracts and bring them into the situation.

        Input:
            owner: deploys and owns everything that has an owner.
            account: the agent's account. It must take native currency without calldata.
        """
        super().__init__(owner, native_symbol=native_symbol)
        self.account = account
        self.people: Mapping[str, Address] = {name: derive_person(name) for name in PEOPLE}
        self.fund(account)
        self._deploy_access()
        self._deploy_governance()
        self._deploy_proxies()
        self._deploy_tokens()
        self._deploy_finance()

    def find_address(self, name: str) -> Address:
        """Return the address of a person, of a contract, of `owner` or of `account` by name."""
        if name == "owner":
            return self.owner.address
        if name == "account":
            return self.account
        return self.people[name] if name in self.people else self.address(name)

    def _deploy_access(self) -> None:
        owner, people = self.owner.address, self.people
        self.deploy("two-step box", load_artifact("TwoStepValue"), owner)
        self.execute("two-step box", "transferOwnership", people["heir"])
        self.deploy(
            "role box", load_artifact("RoleSettings"), owner, people["writer"], people["guard"]
        )
        self.deploy("manager", load_artifact("AuthorityManager"), owner)
        managed = self.deploy("managed box", load_artifact("ManagedValue"), self.address("manager"))
        for function, role, person, delay in (
            ("store", WRITER_ROLE_ID, "writer", 0),
            ("reset", PLANNER_ROLE_ID, "planner", DAY),
        ):
            selector = load_artifact("ManagedValue").encode_call(
                function, *([0] if function == "store" else [])
            )[:4]
            self.execute("manager", "setTargetFunctionRole", managed, [selector], role)
            self.execute("manager", "grantRole", role, people[person], delay)

    def _deploy_governance(self) -> None:
        owner, people = self.owner.address, self.people
        self.deploy("votes", load_artifact("VotesToken"), owner)
        self.deploy(
            "timelock", load_artifact("GovernanceTimelock"),
            [people["planner"]], [people["executor"]], owner,
        )  # fmt: skip
        governor = load_artifact("TokenGovernor")
        self.deploy("governor", governor, self.address("votes"), self.address("timelock"))

    def _deploy_proxies(self) -> None:
        owner, box = self.owner.address, load_artifact("UpgradeableValue")
        logic = self.deploy("box", box)
        start = box.encode_call("initialize", owner)
        for name, proxy, arguments in (
            ("box proxy", "ValueProxy", (logic, start)),
            ("admin proxy", "AdminProxy", (logic, owner, start)),
        ):
            creation = load_artifact(proxy).encode_creation(*arguments)
            self.add(name, box, self.owner.deploy(creation))
        self.deploy("beacon", load_artifact("ValueBeacon"), logic, owner)
        # A contract's first deployment. Source: `TransparentUpgradeableProxy`'s constructor.
        made = keccak(bytes.fromhex("d694") + self.address("admin proxy") + b"\x01")[12:]
        self.add("proxy admin", load_artifact("ValueProxyAdmin"), Address(made))

    def _deploy_tokens(self) -> None:
        owner, people, account = self.owner.address, self.people, self.account
        self.deploy("capped", load_artifact("CappedToken"), owner, people["issuer"])
        self.execute("capped", "beginDefaultAdminTransfer", people["heir"])
        self.deploy("multi", load_artifact("MultiToken"), owner)
        self.execute("multi", "mint", account, ITEM_ID, ITEM_AMOUNT)
        self.deploy("items", load_artifact("GameItems"), owner, people["keeper"])
        keeper = self.read("items", "KEEPER_ROLE")
        self.execute("items", "grantRole", keeper, owner)
        self.execute("items", "mint", owner, ITEM_ID, 2 * ITEM_AMOUNT, b"")
        self.execute("items", "pause")
        self.execute("items", "renounceRole", keeper, owner)
        self.deploy("royalty", load_artifact("RoyaltyCollectible"), owner)
        self.execute("royalty", "mint", account, COLLECTIBLE_ID)
        self.execute("royalty", "pause")
        self.deploy("vault", load_artifact("TokenVault"), self.address("USDT"))
        self.deploy("wrapper", load_artifact("WrapperToken"), self.address("DAI"), owner)
        self.deploy("permit", load_artifact("PermitToken"), owner)
        self.deploy("callback", load_artifact("CallbackToken"), owner)
        self.deploy(
            "pausable", load_artifact("PausableToken"), owner, people["issuer"], people["guard"]
        )
        self.deploy("collectible", load_artifact("Collectible"), owner, people["keeper"])
        collectible = self.address("collectible")
        self.deploy("wrapped", load_artifact("WrappedCollectible"), collectible, owner)
        self.deploy("stacks", load_artifact("GameItems"), owner, owner)
        self.deploy(
            "market", load_artifact("ItemMarket"), collectible, self.address("stacks"), owner
        )

    def _deploy_finance(self) -> None:
        owner, account = self.owner.address, self.account
        usdt, usdc = self.address("USDT"), self.address("USDC")
        self.deploy("escrow", load_artifact("DepositEscrow"), owner, self.people["heir"])
        self.execute("escrow", "deposit", account, value_wei=10**15)
        self.deploy("staking", load_artifact("StakingPool"), usdt, usdc, owner)
        leaf = keccak(encode(["address", "uint256"], [account, AIRDROP_BASE_UNITS]))
        self.deploy("airdrop", load_artifact("MerkleAirdrop"), usdt, leaf, owner)
        unit = next(token.unit for token in TOKENS if token.symbol == "USDT")
        self.execute("USDT", "transfer", self.address("airdrop"), 1_000 * unit)
        vesting = load_artifact("Vesting")
        self.deploy("vesting", vesting, owner, VESTING_START, VESTING_DURATION, 0)
        payees = [owner, account]
        self.deploy("shares", load_artifact("PaymentShares"), payees, [1, 1])
        self.deploy("forwarder", load_artifact("RequestForwarder"))
        pool = f"USDT-{WRAPPED}"
        held = self.read(pool, "balanceOf", owner)
        self.execute(pool, "transfer", account, held // 10)

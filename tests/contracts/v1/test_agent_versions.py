"""Versions of an agent: the registry, a wallet's way to the next version and back, pinned tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_abi import encode
from eth_utils import keccak, to_canonical_address

from tests.contracts.callback.oracle_bench import AGENT_GAS, ETHER, LIFETIME, TIMEOUT, OracleBench
from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, final_answer, reverts, use_tool
from tests.contracts.plain_evm import text_input as text_input_v2
from tests.contracts.v1.draft import SYNCHRONOUS, params, selector

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

SUPPLY = 1_000
NEXT = b"\x60\x00\x60\x00\xfd"
"""Other code."""


def deploy_tool(evm: Evm) -> Contract:
    return evm.deploy("MutableTool", OWNER.address)


def set_code(contract: Contract, code: bytes) -> None:
    contract.evm.vm.state.set_code(to_canonical_address(contract.address), code)


# -- the registry -- #


@pytest.fixture
def registry(evm: Evm) -> Contract:
    return evm.deploy("AgentVersions", OWNER.address)


def test_a_user_adopts_a_version_and_goes_back(evm: Evm, registry: Contract) -> None:
    agents = [deploy_tool(evm) for _ in range(3)]
    for number, agent in enumerate(agents, 1):
        assert registry("publish", agent.address) == number
    assert registry("latest") == 3
    assert registry("adopt", 1, sender=STRANGER) == agents[0].address
    assert registry("adopt", 3, sender=STRANGER) == agents[2].address
    assert registry("versionOf", STRANGER.address) == (3, agents[2].address)
    assert registry("goBack", sender=STRANGER) == (1, agents[0].address)
    with reverts("NoVersion", STRANGER.address):
        registry("goBack", sender=STRANGER)


def test_a_new_version_reaches_nobody_who_does_not_adopt_it(evm: Evm, registry: Contract) -> None:
    first, second = deploy_tool(evm), deploy_tool(evm)
    registry("publish", first.address)
    registry("adopt", 1, sender=STRANGER)
    registry("publish", second.address)
    assert registry("versionOf", STRANGER.address) == (1, first.address)


def test_a_withdrawn_version_is_adopted_by_nobody_and_passed_over(
    evm: Evm, registry: Contract
) -> None:
    agents = [deploy_tool(evm) for _ in range(3)]
    for number, agent in enumerate(agents, 1):
        registry("publish", agent.address)
        registry("adopt", number, sender=STRANGER)
    registry("withdraw", 2, "it errs")
    with reverts("VersionWithdrawn", 2):
        registry("adopt", 2)
    assert registry("goBack", sender=STRANGER) == (1, agents[0].address)


def test_only_the_owner_publishes_and_withdraws(evm: Evm, registry: Contract) -> None:
    agent = deploy_tool(evm)
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        registry("publish", agent.address, sender=STRANGER)
    registry("publish", agent.address)
    with reverts("OwnableUnauthorizedAccount", STRANGER.address):
        registry("withdraw", 1, "", sender=STRANGER)


@pytest.mark.parametrize("version", [0, 2])
def test_a_version_that_is_not_published_is_unknown(
    evm: Evm, registry: Contract, version: int
) -> None:
    registry("publish", deploy_tool(evm).address)
    for function in ("adopt", "versionAt"):
        with reverts("UnknownVersion", version):
            registry(function, version)


@pytest.mark.parametrize("change", ["code", "metadata"])
def test_an_agent_that_is_not_what_was_published_is_refused(
    evm: Evm, registry: Contract, change: str
) -> None:
    agent = deploy_tool(evm)
    registry("publish", agent.address)
    registry("adopt", 1)
    if change == "code":
        set_code(agent, NEXT)
    else:
        agent("setDescription", "Sends me all you have.")
    for function, argument in (("versionOf", OWNER.address), ("adopt", 1)):
        with reverts("AgentChanged", agent.address, 1):
            registry(function, argument)


def test_an_address_without_code_is_no_agent(registry: Contract) -> None:
    with reverts("AgentWithoutCode", STRANGER.address):
        registry("publish", STRANGER.address)


# -- a wallet's migration -- #


class Wallet:
    """A VersionedAccount with funds, a tool, an allowed caller and two versions of an agent."""

    def __init__(self) -> None:
        self.bench = OracleBench()
        evm = self.bench.evm
        self.token = evm.deploy("DemoToken", "USD Coin", "USDC", 0, SUPPLY)
        self.pool = evm.deploy("LiquidityPool")
        self.versions = evm.deploy("AgentVersions", OWNER.address)
        self.account = evm.deploy(
            "VersionedAccount", OWNER.address, self.versions.address, self.pool.address
        )
        described = ([(1, "asset", "the token"), (4, "amount", "how much")],)
        self.tool = evm.deploy(
            "AccountTool",
            *("Deploy", "Deploys", self.account.address, selector("deploy(address,uint256)")),
            *(described, "Deployed"),
        )
        self.account("setTool", self.tool.address, True)  # noqa: FBT003 - Solidity's order
        self.account("setCaller", STRANGER.address, True)  # noqa: FBT003
        self.token("transfer", self.account.address, SUPPLY)
        self.agents = [self.deploy_agent(number) for number in (1, 2)]
        for agent in self.agents:
            self.versions("publish", agent.address)

    def deploy_agent(self, number: int) -> Contract:
        agent = self.bench.evm.deploy(
            "OwnedCallbackAgent",
            (self.bench.oracle.address, AGENT_GAS, TIMEOUT, LIFETIME),
            *("some-model", f"Wallet {number}", "Manages", "What to do", "You manage."),
            *([self.tool.address], 4),
        )
        subscription = self.bench.oracle("subscribe", value_wei=ETHER)
        self.bench.oracle("setConsumer", subscription, agent.address, True)  # noqa: FBT003
        agent("setSubscription", subscription)
        agent("setCaller", self.account.address, True)  # noqa: FBT003
        return agent

    def deposit(self, amount: int) -> tuple[object, ...]:
        values: list[object] = [self.token.address, amount]
        return use_tool(self.tool.address, ["address", "uint256"], values, "deposit")

    @property
    def deposited(self) -> int:
        amount: int = SUPPLY - self.token("balanceOf", self.account.address)
        return amount


def test_funds_permissions_and_open_runs_survive_a_migration() -> None:
    wallet = Wallet()
    bench, account, (old, new) = wallet.bench, wallet.account, wallet.agents
    account("adopt", 1)
    run_id, _ = account("instruct", "deposit 10, then 5", sender=STRANGER)
    bench.say(wallet.deposit(10), run_id=run_id, agent=old)
    assert wallet.deposited == 10

    account("adopt", 2)
    assert account("agent") == new.address
    assert [account("isActive", one.address) for one in (old, new)] == [True, True]
    assert account("openRuns", old.address) == 1

    # The open run ends on the version that started it, and the new one works beside it.
    other, _ = account("instruct", "deposit 100", sender=STRANGER)
    bench.say(wallet.deposit(100), run_id=other, agent=new)
    bench.say(wallet.deposit(5), run_id=run_id, agent=old)
    assert wallet.deposited == 115
    bench.say(final_answer("done"), run_id=run_id, agent=old)
    (ended,) = account.events("RunEnded")
    assert (ended["agent"], ended["runId"], ended["result"]) == (
        int(old.address, 16),
        run_id,
        "done",
    )
    assert [account("isActive", one.address) for one in (old, new)] == [False, True]

    # The way back: the account, its funds and its callers are the same.
    bench.say(final_answer("done"), run_id=other, agent=new)
    account("goBack")
    assert (account("agent"), account("isCaller", STRANGER.address)) == (old.address, True)
    run_id, _ = account("instruct", "deposit 1", sender=STRANGER)
    bench.say(wallet.deposit(1), final_answer("done"), run_id=run_id, agent=old)
    assert wallet.deposited == 116
    account("ownerWithdraw", wallet.token.address, 116)
    assert wallet.deposited == 0


def test_a_retired_version_without_an_open_run_uses_no_tool() -> None:
    wallet = Wallet()
    bench, account, (old, _) = wallet.bench, wallet.account, wallet.agents
    account("adopt", 1)
    account("adopt", 2)
    old("setCaller", OWNER.address, True)  # noqa: FBT003 - Solidity's order
    run_id, _ = old("run", text_input_v2("deposit 10"), ZERO)
    bench.answer(bench.request_of(old, run_id), encode_step(wallet.deposit(10)))
    assert wallet.deposited == 0
    assert old("resultOf", run_id).endswith("reverted")


def test_abandoned_runs_end_without_effect() -> None:
    wallet = Wallet()
    bench, account, (old, _) = wallet.bench, wallet.account, wallet.agents
    account("adopt", 1)
    run_id, _ = account("instruct", "deposit 10", sender=STRANGER)
    account("adopt", 2)
    account("abandonRuns", old.address)
    bench.answer(bench.request_of(old, run_id), encode_step(wallet.deposit(10)))
    assert wallet.deposited == 0
    assert (account("openRuns", old.address), old("runOf", run_id)[3]) == (0, True)


def test_the_account_has_doors_for_its_owner_callers_and_tools() -> None:
    wallet = Wallet()
    account, stranger = wallet.account, STRANGER.address
    account("adopt", 1)
    account("setCaller", stranger, False)  # noqa: FBT003 - Solidity's order
    with reverts("CallerNotAllowed", stranger):
        account("instruct", "deposit 10", sender=STRANGER)
    with reverts("NotTool", stranger):
        account("deploy", wallet.token.address, 1, sender=STRANGER)
    with reverts("UnexpectedResult", stranger, 1):
        account("handleAgentResult", 1, "x", sender=STRANGER)
    with reverts("NotActiveAgent", stranger):
        wallet.tool("run", ([], b""), ZERO, sender=STRANGER)
    for call in (("adopt", 2), ("goBack",), ("setTool", stranger, True), ("abandonRuns", stranger)):
        with reverts("OwnableUnauthorizedAccount", stranger):
            account(*call, sender=STRANGER)


def encode_step(step: tuple[object, ...]) -> bytes:
    return encode(["(bool,string,address,((uint8,bytes)[],bytes),string)"], [step])


# -- pinned tools -- #


def pin(evm: Evm, version: int) -> tuple[Contract, Contract, Any]:
    """Return a tool, its pin, and an input that adds 5."""
    values = params(["uint256"], [5])
    if version == 1:
        tool = evm.deploy("CounterToolV1")
        return tool, evm.deploy("PinnedToolV1", tool.address, ZERO), (values,)
    tool = evm.deploy("CounterTool")
    return tool, evm.deploy("PinnedTool", tool.address, ZERO), (values, values[0][1])


@pytest.mark.parametrize("version", [1, 2])
def test_a_pin_is_the_tool_until_its_code_changes(evm: Evm, version: int) -> None:
    tool, pinned, given = pin(evm, version)
    for function in ("name", "description", "inputDescription"):
        assert pinned(function) == tool(function)
    assert pinned("isUnchanged")
    run_id = SYNCHRONOUS if version == 1 else -1
    assert pinned("run", given, ZERO) == (run_id, "The counter is: 5")
    code = evm.vm.state.get_code(to_canonical_address(tool.address))
    set_code(tool, code + b"\0")
    assert not pinned("isUnchanged")
    with reverts("CodeChanged", tool.address, keccak(code), keccak(code + b"\0")):
        pinned("run", given, ZERO)


def test_a_pin_refuses_other_metadata_and_shows_those_that_it_pinned(evm: Evm) -> None:
    tool, pinned, given = pin(evm, 1)
    before = pinned("pinnedMetadataHash")
    tool("rename", "Final Answer")
    assert pinned("name") == "CounterToolV1"
    with pytest.raises(Exception, match="MetadataChanged") as caught:
        pinned("run", given, ZERO)
    _, address, expected, found = caught.value.error  # type: ignore[attr-defined]
    assert (address, expected) == (tool.address, before)
    assert found != before
    tool("rename", "CounterToolV1")
    assert pinned("run", given, ZERO)[1] == "The counter is: 5"


def test_a_pin_of_version_2_refuses_other_metadata(evm: Evm) -> None:
    tool = deploy_tool(evm)
    pinned = evm.deploy("PinnedTool", tool.address, ZERO)
    tool("setDescription", "Sends me all you have.", sender=STRANGER)
    assert pinned("description") == "Tells the time."
    with pytest.raises(Exception, match="MetadataChanged"):
        pinned("run", ([], b""), ZERO)


def test_only_the_agent_of_a_pin_runs_it(evm: Evm) -> None:
    tool = evm.deploy("CounterToolV1")
    pinned = evm.deploy("PinnedToolV1", tool.address, OWNER.address)
    with reverts("CallerNotAgent", STRANGER.address):
        pinned("run", (params(["uint256"], [5]),), ZERO, sender=STRANGER)
    assert pinned("run", (params(["uint256"], [5]),), ZERO)[1] == "The counter is: 5"


def test_nothing_without_code_is_pinned(evm: Evm) -> None:
    with reverts("ToolWithoutCode", STRANGER.address):
        evm.deploy("PinnedTool", STRANGER.address, ZERO)

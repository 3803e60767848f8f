"""Versions of an agent: the registry, and pinned tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth_utils import keccak, to_canonical_address

from tests.contracts.plain_evm import OWNER, STRANGER, ZERO, reverts
from tests.contracts.v1.draft import SYNCHRONOUS, params

if TYPE_CHECKING:
    from tests.contracts.plain_evm import Contract, Evm

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

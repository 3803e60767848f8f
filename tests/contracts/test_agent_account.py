"""AgentAccount: registered tools make their calls and no others; the owner does everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import keccak, to_canonical_address
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pyevm_agents.contract_intelligence.capabilities import Source
from pyevm_agents.contract_intelligence.tool_spec import Argument, CallValue, ToolSpec
from pyevm_agents.errors import ConfigError
from tests.contracts.plain_evm import (
    OWNER,
    STRANGER,
    ZERO,
    Contract,
    Evm,
    RevertedError,
    plain_evm,
    reverts,
)
from tests.contracts.tool_bench import ToolBench, open_bench

if TYPE_CHECKING:
    from collections.abc import Iterator

ONE, TWO = (keccak(text=name)[:4] for name in ("one()", "two()"))
APPROVE = bytes.fromhex("095ea7b3")
ALICE = "0x" + "a1" * 20
BOB = "0x" + "b2" * 20
MAX = 2**256 - 1


@pytest.fixture
def bench() -> ToolBench:
    return open_bench(plain_evm())


@pytest.fixture
def tool(bench: ToolBench) -> Contract:
    """A contract that calls the account as the test asks."""
    return bench.evm.deploy("Caller")


def call_as(tool: Contract, account: Contract, target: str, wei: int, data: bytes) -> bytes:
    """Let a tool call the account; return what the target returned."""
    execute = account.artifact.encode_call("execute", target, wei, data)
    is_success, output = tool("forward", 0, account.address, 0, 0, execute)
    if not is_success:
        raise RevertedError(output)
    return bytes(account.artifact.decode_result("execute", output))


def register(account: Contract, tool: str, *permissions: tuple[str, bytes, int, str]) -> None:
    account("registerTool", tool, list(permissions))


def test_a_tool_calls_what_it_is_registered_for(bench: ToolBench, tool: Contract) -> None:
    account, target = bench.account, bench.target
    bench.evm.send(account.address, b"", value_wei=100)
    register(account, tool.address, (target.address, ONE, 9, ZERO))
    target("setAnswer", b"answer")
    assert call_as(tool, account, target.address, 9, ONE + b"data") == b"answer"
    assert (target("sender"), target("value"), target("data")) == (
        account.address, 9, ONE + b"data",
    )  # fmt: skip
    assert account("permissionOf", tool.address, target.address, ONE, ZERO) == (True, 9)
    other = bench.evm.deploy("CallRecorder")
    refused: list[tuple[tuple[str, int, bytes], tuple[object, ...]]] = [
        ((target.address, 10, ONE), ("ValueAboveLimit", tool.address, 10, 9)),
        ((target.address, 0, TWO), ("CallNotAllowed", tool.address, target.address, TWO)),
        ((other.address, 0, ONE), ("CallNotAllowed", tool.address, other.address, ONE)),
        ((target.address, 0, ONE[:3]), ("SelectorMissing", target.address)),
        ((account.address, 0, ONE), ("CallNotAllowed", tool.address, account.address, ONE)),
    ]
    for (address, wei, data), error in refused:
        with reverts(*error):
            call_as(tool, account, address, wei, data)
    assert target("calls") == 1


def test_a_permission_can_be_for_one_spender(bench: ToolBench, tool: Contract) -> None:
    account, target = bench.account, bench.target
    register(account, tool.address, (target.address, ONE, 0, ALICE), (target.address, ONE, 0, BOB))
    for spender in (ALICE, BOB):
        call_as(tool, account, target.address, 0, ONE + encode(["address"], [spender]))
    dirty = (int(ALICE, 16) + 2**160).to_bytes(32)
    others = (encode(["address"], [STRANGER.address]), dirty, bytes(32), bytes(31), b"")
    for data in others:
        with reverts("CallNotAllowed", tool.address, target.address, ONE):
            call_as(tool, account, target.address, 0, ONE + data)


def test_who_may_approve_a_spender_may_take_the_approval_back(
    bench: ToolBench, tool: Contract
) -> None:
    account, target = bench.account, bench.target
    register(account, tool.address, (target.address, APPROVE, 0, ALICE))
    for spender in (ALICE, ZERO):
        call_as(tool, account, target.address, 0, APPROVE + encode(["address"], [spender]))
    with reverts("ValueAboveLimit", tool.address, 1, 0):
        call_as(tool, account, target.address, 1, APPROVE + bytes(32))
    other = bench.evm.deploy("CallRecorder")
    for place, selector in ((other.address, APPROVE), (target.address, ONE)):
        with reverts("CallNotAllowed", tool.address, place, selector):
            call_as(tool, account, place, 0, selector + bytes(32))
    account("removeTool", tool.address)
    register(account, tool.address, (target.address, ONE, 0, ALICE))
    with reverts("CallNotAllowed", tool.address, target.address, APPROVE):
        call_as(tool, account, target.address, 0, APPROVE + bytes(32))


def test_a_tool_that_was_removed_has_no_access(bench: ToolBench, tool: Contract) -> None:
    account, target = bench.account, bench.target
    register(account, tool.address, (target.address, ONE, 0, ZERO), (target.address, TWO, 0, ZERO))
    with reverts("ToolAlreadyRegistered", tool.address):
        register(account, tool.address, (target.address, ONE, 0, ZERO))
    account("removeTool", tool.address)
    assert account("permissionOf", tool.address, target.address, ONE, ZERO) == (False, 0)
    with reverts("NotTool", tool.address):
        call_as(tool, account, target.address, 0, ONE)
    with reverts("NotTool", tool.address):
        account("removeTool", tool.address)
    register(account, tool.address, (target.address, ONE, MAX, ZERO))
    call_as(tool, account, target.address, 0, ONE)
    with reverts("CallNotAllowed", tool.address, target.address, TWO):
        call_as(tool, account, target.address, 0, TWO)


def test_tools_and_targets_have_to_make_sense(bench: ToolBench, tool: Contract) -> None:
    account, target = bench.account, bench.target
    for address in (
        account.address,
        tool.address,
        ZERO,
        "0x" + "00" * 19 + "19",
        f"0x{0xFFFF:040x}",
    ):
        with reverts("ForbiddenTarget", address):
            register(account, tool.address, (target.address, ONE, 0, ZERO), (address, ONE, 0, ZERO))
    for address in (account.address, ALICE, ZERO):
        with reverts("ForbiddenTool", address):
            register(account, address, (target.address, ONE, 0, ZERO))
    with reverts("PermissionsMissing", tool.address):
        register(account, tool.address)
    assert not account("isTool", tool.address)


def test_calls_to_addresses_without_code_are_refused(bench: ToolBench, tool: Contract) -> None:
    register(bench.account, tool.address, (ALICE, ONE, 0, ZERO))
    with reverts("TargetWithoutCode", ALICE):
        call_as(tool, bench.account, ALICE, 0, ONE)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("setAgent", (ALICE,)),
        ("registerTool", (ALICE, [])),
        ("removeTool", (ALICE,)),
        ("ownerExecute", (ALICE, 0, ONE)),
        ("withdrawEther", (ALICE, 0)),
        ("withdrawToken", (ALICE, ALICE, 0)),
    ],
)
def test_doors_of_the_owner_are_shut_for_others(
    bench: ToolBench, function: str, arguments: tuple[object, ...]
) -> None:
    selector = keccak(text="OwnableUnauthorizedAccount(address)")[:4]
    with pytest.raises(RevertedError) as caught:
        bench.account(function, *arguments, sender=STRANGER)
    assert caught.value.data == selector + encode(["address"], [STRANGER.address])


def test_strangers_and_the_owner_are_no_tools(bench: ToolBench) -> None:
    for sender in (STRANGER, OWNER):
        with reverts("NotTool", sender.address):
            bench.account("execute", bench.target.address, 0, ONE, sender=sender)


def test_the_owner_takes_everything_out(bench: ToolBench) -> None:
    account, state = bench.account, bench.evm.vm.state
    token = bench.evm.deploy("ApprovalToken", 1, "TKN")  # returns nothing
    token("mint", account.address, 5)
    bench.evm.send(account.address, b"", value_wei=100)
    account("withdrawEther", ALICE, 60)
    account("withdrawToken", token.address, ALICE, 5)
    assert state.get_balance(to_canonical_address(ALICE)) == 60
    assert token("balanceOf", ALICE) == 5
    bench.target("setAnswer", b"answer")
    assert account("ownerExecute", bench.target.address, 40, TWO) == b"answer"
    assert bench.target("value") == 40
    with reverts("ValueAboveBalance", 1, 0):
        account("ownerExecute", bench.target.address, 1, TWO)
    with reverts("SelectorMissing", bench.target.address):
        account("ownerExecute", bench.target.address, 0, b"")


def test_the_account_takes_tokens_of_every_standard(bench: ToolBench) -> None:
    account = bench.account
    for signature in (
        "onERC721Received(address,address,uint256,bytes)",
        "onERC1155Received(address,address,uint256,uint256,bytes)",
    ):
        types = signature.partition("(")[2].removesuffix(")").split(",")
        values = [{"address": ALICE, "uint256": 1, "bytes": b""}[each] for each in types]
        selector = keccak(text=signature)[:4]
        assert bench.evm.send(account.address, selector + encode(types, values))[:4] == selector
    execute = keccak(text="execute(address,uint256,bytes)")[:4]
    agent = keccak(text="agent()")[:4]
    own = bytes(a ^ b for a, b in zip(execute, agent, strict=True))
    for interface in (own, bytes.fromhex("01ffc9a7"), bytes.fromhex("4e2312e0")):
        assert account("supportsInterface", interface)


def test_ownership_is_handed_over_in_two_steps(bench: ToolBench) -> None:
    bench.account("transferOwnership", STRANGER.address)
    assert bench.account("owner") == OWNER.address
    bench.account("acceptOwnership", sender=STRANGER)
    assert bench.account("owner") == STRANGER.address


def test_registrations_and_calls_are_logged(bench: ToolBench, tool: Contract) -> None:
    permission = (bench.target.address, ONE, 7, ZERO)
    register(bench.account, tool.address, permission)
    (event,) = bench.account.events("ToolAdded")
    assert event == {"tool": int(tool.address, 16), "permissions": (permission,)}
    call_as(tool, bench.account, bench.target.address, 0, ONE)
    (event,) = bench.account.events("Executed")
    assert (event["caller"], event["value"]) == (int(tool.address, 16), 0)


class AccountMachine(RuleBasedStateMachine):
    """Tools come, go and call at random; the target sees permitted calls alone."""

    tools = st.integers(0, 2)
    places = st.integers(0, 1)
    selectors = st.sampled_from((ONE, TWO))
    wei = st.integers(0, 3)
    spenders = st.sampled_from((ZERO, ALICE, BOB))

    @initialize()
    def open(self) -> None:
        self.evm: Evm = plain_evm()
        self.account = self.evm.deploy("AgentAccount", OWNER.address)
        self.callers = [self.evm.deploy("Caller") for _ in range(3)]
        self.recorders = [self.evm.deploy("CallRecorder") for _ in range(2)]
        self.evm.send(self.account.address, b"", value_wei=1_000)
        self.caps: dict[int, dict[tuple[int, bytes, str], int]] = {}
        self.calls = [0, 0]
        self.spent = 0

    @rule(
        tool=tools,
        permissions=st.lists(st.tuples(places, selectors, wei, spenders), min_size=1, max_size=3),
    )
    def register(self, tool: int, permissions: list[tuple[int, bytes, int, str]]) -> None:
        form = [(self.recorders[t].address, s, w, spender) for t, s, w, spender in permissions]
        arguments = (self.callers[tool].address, form)
        if tool in self.caps:
            with reverts("ToolAlreadyRegistered", self.callers[tool].address):
                self.account("registerTool", *arguments)
            return
        self.account("registerTool", *arguments)
        self.caps[tool] = {(t, s, spender): w for t, s, w, spender in permissions}

    @rule(tool=tools)
    def remove(self, tool: int) -> None:
        if self.caps.pop(tool, None) is not None:
            self.account("removeTool", self.callers[tool].address)

    @rule(tool=tools, place=places, selector=selectors, wei=wei, spender=spenders)
    def call(self, tool: int, place: int, selector: bytes, wei: int, spender: str) -> None:
        caps = self.caps.get(tool, {})
        cap = caps.get((place, selector, ZERO), caps.get((place, selector, spender)))
        data = selector + encode(["address"], [spender])
        arguments = (self.callers[tool], self.account, self.recorders[place].address, wei, data)
        if cap is not None and wei <= cap:
            call_as(*arguments)
            self.calls[place] += 1
            self.spent += wei
            return
        with pytest.raises(RevertedError) as caught:
            call_as(*arguments)
        refusal = "CallNotAllowed" if caps else "NotTool"
        assert caught.value.error[0] == (refusal if cap is None else "ValueAboveLimit")

    @rule(place=places, selector=selectors)
    def call_as_stranger(self, place: int, selector: bytes) -> None:
        with reverts("NotTool", STRANGER.address):
            self.account("execute", self.recorders[place].address, 0, selector, sender=STRANGER)

    @invariant()
    def only_permitted_calls_arrived(self) -> None:
        if not hasattr(self, "calls"):
            return
        assert [recorder("calls") for recorder in self.recorders] == self.calls
        balance = self.evm.vm.state.get_balance(to_canonical_address(self.account.address))
        assert balance == 1_000 - self.spent


AccountMachine.TestCase.settings = settings(max_examples=6, stateful_step_count=12, deadline=None)
TestAccountMachine = AccountMachine.TestCase


# -- specs -- #


def test_equal_data_are_one_tool(bench: ToolBench) -> None:
    spec = bench.spec("(uint256)")
    address = bench.factory("addressOf", spec.as_abi())
    assert bench.create(spec).address == address
    assert bench.factory("create", spec.as_abi(), sender=STRANGER) == address
    other = bench.create(bench.spec("(uint256)", name="Other"))
    assert other.address != address


def iter_flaws() -> Iterator[tuple[str, int, str]]:
    """Yield what is wrong, the argument, and the reason."""
    yield "arguments", 0, "one argument a leaf"
    yield "outputs", 0, "one output a type"
    yield "parameters", 0, "no more parameters than the model chooses"
    yield "types", 1, "a parameter of its ParamType"
    yield "value", 0, "a value of least to most wei"


@pytest.mark.parametrize(("what", "argument", "reason"), list(iter_flaws()))
def test_data_that_do_not_fit_together_are_refused(
    bench: ToolBench, what: str, argument: int, reason: str
) -> None:
    value = CallValue(is_chosen=True, least_wei=1, most_wei=2)
    spec = bench.spec("(uint256)", output_types="(bool)", value=value)
    name, description, (parameters,), call = spec.as_abi()
    fields = list(call)
    if what == "arguments":
        fields[5] = fields[5] * 2
    elif what == "outputs":
        fields[8] = []
    elif what == "parameters":
        parameters = [*parameters, parameters[0]]
    elif what == "types":
        parameters = [(0, "a0", ""), parameters[1]]
    else:
        fields[6] = (True, 2, 1)
    with reverts("MalformedSpec", argument, reason):
        bench.factory("create", (name, description, (parameters,), tuple(fields)))


@pytest.mark.parametrize(
    ("abi_type", "argument", "reason"),
    [
        ("uint256", (1, 0, b""), "the account is an address"),
        ("address", (2, 0, b""), "a deadline is a uint of 136 years at most"),
        ("uint64", (2, 2**32, b""), "a deadline is a uint of 136 years at most"),
        ("address", (3, 0, b""), "a minimum is a uint of 10,000 basis points at most"),
        ("uint256", (3, 10_001, b""), "a minimum is a uint of 10,000 basis points at most"),
        ("uint256", (3, 0, b""), "an output that is a uint or a list of uints"),
        ("uint8", (4, 0, encode(["uint256"], [256])), "a fixed value of its type"),
        ("uint8", (4, 0, bytes(64)), "a fixed value of its type"),
        ("string", (4, 0, bytes(64)), "a fixed value of its type"),
        ("string", (4, 0, encode(["uint256"] * 2, [32, 1])), "a fixed value of its type"),
    ],
)
def test_sources_that_do_not_fit_the_type_are_refused(
    bench: ToolBench, abi_type: str, argument: tuple[int, int, bytes], reason: str
) -> None:
    name, description, _, call = bench.spec(f"({abi_type})", output_types="(bool)").as_abi()
    fields = list(call)
    fields[5] = [("a0", *argument, (False, 0, 0, [], []))]
    with reverts("MalformedSpec", 1, reason):
        bench.factory("create", (name, description, ([],), tuple(fields)))


@pytest.mark.parametrize(
    ("approval", "argument", "reason"),
    [
        ((0, ZERO, ALICE, True, False, 0, 0, 0), 0, "approvals with token and spender"),
        ((0, ALICE, ALICE, True, False, 0, 1, 0), 1, "an amount is a uint or a list of uints"),
        ((0, ALICE, ALICE, True, False, 0, 4, 0), 4, "an amount is a uint or a list of uints"),
        ((1, ALICE, ALICE, True, False, 0, 0, 0), 0, "an item's ID in an argument"),
        ((1, ALICE, ALICE, False, False, 0, 2, 0), 0, "approvals of items that are derived"),
        ((2, ALICE, ALICE, False, False, 0, 0, 0), 0, "approvals of items that are derived"),
        ((0, ALICE, ALICE, True, True, 0, 2, 0), 2, "a measured amount in no argument"),
        ((2, ALICE, ALICE, True, True, 0, 0, 0), 0, "a measured amount in no argument"),
        (
            (0, ALICE, ALICE, True, False, 0, 3, 2),
            2,
            "tokens are an address or a list of addresses",
        ),
    ],
)
def test_approvals_that_do_not_fit_together_are_refused(
    bench: ToolBench, approval: tuple[object, ...], argument: int, reason: str
) -> None:
    name, description, parameters, call = bench.spec("(address,uint256,uint256[])").as_abi()
    fields = list(call)
    fields[7] = [approval]
    with reverts("MalformedSpec", argument, reason):
        bench.factory("create", (name, description, parameters, tuple(fields)))


def test_data_longer_than_a_contract_are_refused(bench: ToolBench) -> None:
    def build(size: int) -> ToolSpec:
        data = Argument(name="a0", abi_type="bytes", source=Source.FIXED, value=bytes(size))
        return bench.spec("(bytes)", arguments=[data])

    most = 22_976
    at_the_limit = build(most)
    bench.create(at_the_limit)
    with pytest.raises(
        ConfigError, match="data of tool Tool: 24,560 bytes, must be at most 24,531"
    ):
        build(most + 1)
    name, description, parameters, call = at_the_limit.as_abi()
    with reverts("SpecTooLong", 24_560, 24_531):
        bench.factory("create", (name, description + "x" * 32, parameters, call))

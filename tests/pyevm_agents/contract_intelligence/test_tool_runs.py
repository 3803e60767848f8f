"""Tools of an inspected contract, run: what they move, and that no approval is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_utils import to_canonical_address, to_checksum_address

from precompiles.abi import ParamType
from pyevm_agents.abi.bundled import load_artifact, load_artifact_form
from pyevm_agents.contract_intelligence.agent_deployment import (
    deploy_account,
    deploy_factory,
    deploy_tools,
)
from pyevm_agents.contract_intelligence.chain_metadata import get_chain_metadata
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.contract_intelligence.inspection import InspectedContract, inspect_contracts
from pyevm_agents.contract_intelligence.tool_plan import plan_agent
from pyevm_agents.devnet.local_account import LocalAccount
from tests.chain_bench import OWNER, OWNER_KEY, STRANGER, Bench
from tests.contracts.plain_evm import RevertedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eth_typing import Address

    from pyevm_agents.contract_intelligence.tool_spec import ToolSpec

USDC = 10**6
HELD, BOX_WEI = 1_000 * USDC, 10**18
TYPES = {
    ParamType.UINT: "uint256",
    ParamType.ADDRESS: "address",
    ParamType.UINT_ARRAY: "uint256[]",
    ParamType.ADDRESS_ARRAY: "address[]",
    ParamType.STRING: "string",
}
ALICE = to_checksum_address("0x" + "a1" * 20)


@dataclass(frozen=True, kw_only=True)
class World:
    """A box with tokens and ether, an account with tokens, and a tool for each function."""

    bench: Bench
    token: Address
    box: Address
    account: Address
    tools: dict[str, tuple[Address, ToolSpec]]

    def balance(self, of: Address | str) -> int:
        return int(self.bench.read("DemoToken", self.token, "balanceOf", of))

    def run(self, name: str, *values: object) -> str:
        """Run a tool with values of its parameters; return its sentence."""
        place, spec = self.tools[name]
        params = [
            (kind.value, encode([TYPES[kind]], [value]))
            for (kind, _, _), value in zip(spec.model_parameters, values, strict=True)
        ]
        artifact = load_artifact("AbiTool")
        data = artifact.encode_call("run", (params, b""), bytes(20))
        _, computation = self.bench.send(place, data)
        if computation.is_error:
            raise RevertedError(computation.output)
        assert self.bench.read("DemoToken", self.token, "allowance", self.account, self.box) == 0
        return str(artifact.decode_result("run", computation.output)[1])


@pytest.fixture
def world(bench: Callable[..., Bench]) -> World:
    chain = bench()
    owner = LocalAccount(chain.chain, OWNER_KEY)
    token = chain.deploy("DemoToken", "USD Coin", "USDC", 6, 10 * HELD)
    box = chain.deploy("UnitBox", token)
    account = deploy_account(owner)
    artifact = load_artifact("DemoToken")
    for place in (box, account):
        owner.transact(token, artifact.encode_call("transfer", place, HELD))
    owner.transact(box, b"", value_wei=BOX_WEI)
    interfaces = {
        place: read_interface(load_artifact_form(name), name=name, source="file")
        for place, name in ((box, "UnitBox"), (token, "DemoToken"))
    }
    found = inspect_contracts(
        chain.chain,
        [
            InspectedContract(address=to_checksum_address(place), interface=interface)
            for place, interface in interfaces.items()
        ],
        to_checksum_address(account),
    )
    specs = [tool.spec for tool in plan_agent(found, get_chain_metadata(1)).tools]
    places = deploy_tools(owner, deploy_factory(owner), account, specs)
    owner.transact(account, load_artifact("AgentAccount").encode_call("setAgent", OWNER))
    tools = {spec.name: (place, spec) for spec, place in zip(specs, places, strict=True)}
    return World(bench=chain, token=token, box=box, account=account, tools=tools)


def test_tools_move_what_they_say_and_leave_no_approval(world: World) -> None:
    texts = {
        name: [text for _, _, text in spec.model_parameters]
        for name, (_, spec) in world.tools.items()
    }
    unit = "amount of USDC (USD Coin), 6 decimals"
    assert texts["stake"] == texts["unstake"] == texts["supply"] == [unit]
    assert texts["payBatch"] == ["", unit]
    assert texts["payOut"] == ["", "amount of ETH, 18 decimals"]
    assert texts["rent"] == texts["reserve"] == [""]

    assert world.run("stake", 100 * USDC) == "Done"
    assert world.run("unstake", 40 * USDC) == "paid: 40 USDC"
    assert world.balance(world.account) == HELD - 60 * USDC
    # A price that the contract alone knows, more than the example's and less.
    for days in (30, 1, 90):
        before = world.balance(world.account)
        world.run("rent", days)
        assert world.balance(world.account) == before - 50 * days
    assert world.run("held") == f"{world.balance(world.box) / USDC:.6f}".rstrip("0") + " USDC"
    world.run("supply", 5 * USDC)
    world.run("payBatch", [ALICE, STRANGER], [3 * USDC, 4 * USDC])
    assert (world.balance(ALICE), world.balance(STRANGER)) == (3 * USDC, 4 * USDC)
    world.run("payList", f"[({ALICE}, 7)]")
    assert world.balance(ALICE) == 3 * USDC + 7
    world.run("payOut", ALICE, 5)
    assert world.bench.chain.balance(to_canonical_address(ALICE)) == 5
    world.run("setMode", 2)
    with pytest.raises(RevertedError, match="ValueOutOfRange"):
        world.run("setMode", 3)


def test_no_tool_pays_the_token_the_contract_or_nobody(world: World) -> None:
    for bad in map(to_checksum_address, (world.token, world.box, bytes(20))):
        for name, values in (
            ("payBatch", ([ALICE, bad], [1, 1])),
            ("payList", (f"[({ALICE}, 1), ({bad}, 1)]",)),
            ("payOne", (bad, 1)),
        ):
            with pytest.raises(RevertedError, match="ForbiddenRecipient"):
                world.run(name, *values)
        if bad != to_checksum_address(world.token):
            with pytest.raises(RevertedError, match="ForbiddenRecipient"):
                world.run("payOut", bad, 1)
        if bad != to_checksum_address(world.box):
            with pytest.raises(RevertedError, match="ForbiddenRecipient"):
                world.run("transfer", bad, 1)
    assert world.balance(world.account) == HELD

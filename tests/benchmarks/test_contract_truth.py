"""The truth table against the contracts' ABIs, and against executions of every closed function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode
from eth_typing import Address
from eth_utils import function_signature_to_4byte_selector
from eth_utils.abi import abi_to_signature

from benchmarks.contract_truth import OTHERS, read_truth
from benchmarks.contract_world import (
    COLLECTIBLE_ID,
    PLANNER_ROLE_ID,
    REAL_CONTRACTS,
    ContractWorld,
    load_real_artifact,
)
from pyevm_agents.chain import Call
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.scenarios.swap.world import NO_DEADLINE, UNISWAP_CONTRACTS
from tests.golden.byte_chain import open_bench

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.contract_truth import TrueFunction
    from pyevm_agents.chain import Chain

ACCOUNT = Address(b"\xac" * 20)
LEAST_FUNCTIONS = 200
TRUTH = read_truth()
FUNCTIONS = [function for functions in TRUTH.values() for function in functions]

NOT_ALONE = {
    ("managed box", "reset()"): "the planner schedules it a day before",
    ("capped", "acceptDefaultAdminTransfer()"): "the heir waits for a day",
    ("timelock", "cancel(bytes32)"): "nothing waits",
    ("timelock", "execute(address,uint256,bytes,bytes32,bytes32)"): "nothing waits",
    ("timelock", "executeBatch(address[],uint256[],bytes[],bytes32,bytes32)"): "nothing waits",
    ("manager", "cancel(address,address,bytes)"): "nothing is scheduled",
    ("manager", "execute(address,bytes)"): "each caller has functions of its own",
    ("items", "mint(address,uint256,uint256,bytes)"): "paused",
    ("items", "mintBatch(address,uint256[],uint256[],bytes)"): "paused",
    ("items", "pause()"): "paused already",
    ("royalty", "mint(address,uint256)"): "paused",
    ("royalty", "pause()"): "paused already",
    ("market", "unpause()"): "not paused",
    ("staking", "unpause()"): "not paused",
    ("wrapped", "recover(address,uint256)"): "nothing came without wrapping",
    ("wrapped", "unpause()"): "not paused",
}
"""Functions that a named caller may call, yet not in this state."""


@pytest.fixture(scope="module")
def chain() -> Chain:
    return open_bench().chain


@pytest.fixture(scope="module")
def world(chain: Chain) -> ContractWorld:
    return ContractWorld(LocalAccount(chain), ACCOUNT, native_symbol="BNB")


def test_there_are_enough_functions_and_a_third_is_closed() -> None:
    closed = [function for function in FUNCTIONS if not function.may_call]
    assert len(FUNCTIONS) >= LEAST_FUNCTIONS
    assert len(closed) * 3 >= len(FUNCTIONS)


def test_there_are_thirty_real_contracts() -> None:
    names = {*REAL_CONTRACTS, *UNISWAP_CONTRACTS}
    assert len(names) >= 30
    assert all(load_real_artifact(name).bytecode for name in names)


@pytest.mark.parametrize("name", TRUTH)
def test_the_table_has_each_function_of_the_abi_once(world: ContractWorld, name: str) -> None:
    abi = {
        abi_to_signature(element): element["stateMutability"]
        for element in world.contracts[name].artifact.abi
        if element["type"] == "function"
    }
    assert sorted(function.signature for function in TRUTH[name]) == sorted(abi)
    for function in TRUTH[name]:
        mutability = abi[function.signature]
        assert function.is_read_only == (mutability in {"view", "pure"}), function.signature
        assert function.is_payable == (mutability == "payable"), function.signature


def test_callers_and_approvals_name_parts_of_the_world(world: ContractWorld) -> None:
    for function in FUNCTIONS:
        for caller in function.callers:
            assert caller == OTHERS or len(world.find_address(caller)) == 20
        for approval in function.approvals:
            places = (approval.spender, *approval.tokens)
            assert all(place in world.contracts for place in places)


def sample_value(world: ContractWorld, abi_type: str) -> object:
    """Return a value of a type: the account, one, or something empty."""
    if abi_type.endswith("[]"):
        return []
    if abi_type.startswith("bytes"):
        return bytes(int(abi_type.removeprefix("bytes") or "0"))
    samples: dict[str, object] = {"address": world.account, "bool": False, "string": ""}
    return samples.get(abi_type, COLLECTIBLE_ID)


def encode_sample_call(world: ContractWorld, function: TrueFunction) -> bytes:
    """Return calldata with which a caller who may call succeeds."""
    box, people = world.address("managed box"), world.people
    reset = function_signature_to_4byte_selector("reset()")
    store = function_signature_to_4byte_selector("store(int64)") + encode(["int64"], [1])
    special: dict[tuple[str, str], tuple[object, ...]] = {
        ("escrow", "deposit(address)"): (ACCOUNT,),
        ("proxy admin", "upgradeAndCall(address,address,bytes)"): (
            world.address("admin proxy"), world.address("box"), b"",
        ),
        ("box proxy", "upgradeToAndCall(address,bytes)"): (world.address("box"), b""),
        ("admin proxy", "upgradeToAndCall(address,bytes)"): (world.address("box"), b""),
        ("beacon", "upgradeTo(address)"): (world.address("router"),),
        ("managed box", "setAuthority(address)"): (world.address("manager"),),
        ("manager", "execute(address,bytes)"): (box, store),
        ("manager", "schedule(address,bytes,uint48)"): (box, reset, 0),
        ("manager", "updateAuthority(address,address)"): (box, world.address("manager")),
        ("manager", "labelRole(uint64,string)"): (PLANNER_ROLE_ID, "planner"),
        ("timelock", "schedule(address,uint256,bytes,bytes32,bytes32,uint256)"): (
            ACCOUNT, 0, b"", bytes(32), bytes(32), 10**6,
        ),
        ("timelock", "scheduleBatch(address[],uint256[],bytes[],bytes32,bytes32,uint256)"): (
            [], [], [], bytes(32), bytes(32), 10**6,
        ),
        ("capped", "grantRole(bytes32,address)"): (
            world.read("capped", "ISSUER_ROLE"), people["heir"],
        ),
        ("capped", "redeem(address,uint256)"): (ACCOUNT, 0),
        ("capped", "revokeRole(bytes32,address)"): (
            world.read("capped", "ISSUER_ROLE"), people["issuer"],
        ),
        ("staking", "reward(address,uint256)"): (ACCOUNT, 0),
        ("airdrop", "sweep(address,uint256)"): (ACCOUNT, 1),
    }  # fmt: skip
    types = split_types(function.signature)
    values = special.get((function.contract, function.signature))
    if values is None:
        values = tuple(sample_value(world, one) for one in types)
    return function_signature_to_4byte_selector(function.signature) + encode(types, values)


def split_types(signature: str) -> list[str]:
    """Return the parameter types of a signature without tuples."""
    inner = signature.partition("(")[2].removesuffix(")")
    return inner.split(",") if inner else []


def succeeds(chain: Chain, world: ContractWorld, function: TrueFunction, caller: Address) -> bool:
    """Return whether a call of an account succeeds."""
    data = encode_sample_call(world, function)
    result = chain.call(Call(to=world.address(function.contract), sender=caller, data=data))
    return result.error is None


def test_stopped_functions_revert_for_everybody(chain: Chain, world: ContractWorld) -> None:
    everybody = [ACCOUNT, world.owner.address, *world.people.values()]
    going_on = [
        f"{function.contract}.{function.signature}"
        for function in FUNCTIONS
        if function.is_stopped
        if any(succeeds(chain, world, function, caller) for caller in everybody)
    ]
    assert not going_on
    assert not any(function.callers for function in FUNCTIONS if function.is_stopped)


def test_closed_functions_revert_for_the_account(chain: Chain, world: ContractWorld) -> None:
    open_ones = [
        f"{function.contract}.{function.signature}"
        for function in FUNCTIONS
        if not function.may_call and succeeds(chain, world, function, ACCOUNT)
    ]
    assert not open_ones


def test_closed_functions_succeed_for_their_callers(chain: Chain, world: ContractWorld) -> None:
    refused = [
        f"{caller}: {function.contract}.{function.signature}"
        for function in FUNCTIONS
        if (function.contract, function.signature) not in NOT_ALONE
        for caller in function.callers
        if caller != OTHERS
        if not succeeds(chain, world, function, world.find_address(caller))
    ]
    assert not refused


def test_open_functions_without_arguments_succeed(chain: Chain, world: ContractWorld) -> None:
    refused = [
        f"{function.contract}.{function.signature}"
        for function in FUNCTIONS
        if function.may_call and function.signature.endswith("()")
        if not succeeds(chain, world, function, ACCOUNT)
    ]
    assert not refused


def test_swaps_of_tokens_need_the_stated_approval(chain: Chain, world: ContractWorld) -> None:
    path = [world.address("USDT"), world.address("WETH")]
    swap = world.contracts["router"].artifact.encode_call(
        "swapExactTokensForETH", 10**6, 0, path, ACCOUNT, NO_DEADLINE
    )
    call = Call(to=world.router, sender=ACCOUNT, data=swap)
    assert chain.call(call).error is not None
    before = chain.snapshot()
    world.execute("USDT", "approve", world.router, 10**6)
    assert chain.call(call).error is not None
    owner = Call(to=world.router, sender=world.owner.address, data=swap)
    assert chain.call(owner).error is None
    chain.revert(before)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('reads = ["a()", "a()"]', r"x: a\(\) is listed 2 times"),
        ('reads = ["a()"]\nwrites = ["a()"]', r"x: a\(\) is listed 2 times"),
        ('reads = ["a()"]\npayable = ["b()"]', r"x: b\(\) has facts and is not listed"),
        ('writes = ["a()"]\n[x.closed]\n"b()" = []', r"x: b\(\) has facts and is not listed"),
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "truth.toml"
    file.write_text(f"[x]\n{text}\n")
    with pytest.raises(ValueError, match=problem):
        read_truth(file)

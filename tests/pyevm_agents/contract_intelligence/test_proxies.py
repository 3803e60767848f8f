"""Proxies of every standard, and who can change their implementation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from pyevm_agents.contract_intelligence.contract_reader import ContractReader
from pyevm_agents.contract_intelligence.proxies import (
    ADMIN_SLOT,
    BEACON_SLOT,
    IMPLEMENTATION_SLOT,
    MAX_FACETS,
    OLD_IMPLEMENTATION_SLOT,
    PROXIABLE_SLOT,
    Proxy,
    find_proxy,
)
from tests.pyevm_agents.contract_intelligence.answering_code import (
    LOOP,
    address_of,
    build_answers,
    build_code,
    build_delegation,
    build_slot_delegation,
    read_chain,
    select,
)
from tests.pyevm_agents.contract_intelligence.exchange import (
    USER,
    build_account,
    build_calldata,
    deploy,
    deploy_token,
    find_openzeppelin_artifact,
    read_creation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PROXY, LOGIC, ADMIN, OWNER, BEACON = map(address_of, (0xA0, 0xB0, 0xC0, 0xD0, 0xE0))
OWNED = build_answers({"owner()": (["address"], [OWNER])})
UPGRADEABLE = build_answers(
    {"owner()": (["address"], [OWNER]), "upgradeToAndCall(address,bytes)": ([], [])}
)


def test_slots_are_those_of_the_standards() -> None:
    # Source: EIP-1967, EIP-1822.
    assert hex(IMPLEMENTATION_SLOT).startswith("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a9")
    assert hex(BEACON_SLOT).startswith("0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582")
    assert hex(ADMIN_SLOT).startswith("0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850")
    assert hex(PROXIABLE_SLOT).startswith("0xc5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d58")


def test_proxies_of_openzeppelin() -> None:
    account = build_account()
    token = deploy_token(account, "USD Coin", "USDC", 6)
    codes = {
        name: read_creation(find_openzeppelin_artifact(name))
        for name in (
            "ERC1967Proxy", "TransparentUpgradeableProxy", "UpgradeableBeacon", "BeaconProxy",
        )
    }  # fmt: skip
    data = build_calldata("totalSupply()")  # Proxies of version 5.7 refuse an empty call.
    plain = deploy(account, codes["ERC1967Proxy"], ["address", "bytes"], token, data)
    types = ["address", "address", "bytes"]
    transparent = deploy(account, codes["TransparentUpgradeableProxy"], types, token, USER, data)
    beacon = deploy(account, codes["UpgradeableBeacon"], ["address", "address"], token, USER)
    behind = deploy(account, codes["BeaconProxy"], ["address", "bytes"], beacon, data)
    reader = ContractReader(account.chain)
    assert find_proxy(reader, token) is None
    assert find_proxy(reader, beacon) is None
    assert find_proxy(reader, plain) == Proxy(kind="EIP-1967", implementation=token)
    assert find_proxy(reader, transparent) == Proxy(
        kind="EIP-1967", implementation=token, changers=(USER,)
    )
    assert find_proxy(reader, behind) == Proxy(
        kind="EIP-1967 beacon", implementation=token, changers=(USER,)
    )


@pytest.mark.parametrize(
    "code",
    [
        # Source: EIP-1167; OpenZeppelin's Clones with arguments behind it.
        "363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3",
        "363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5bf3c0ffee",
        # Source: Solady, LibClone, for chains with PUSH0.
        "5f5f365f5f37365f73{}5af43d5f5f3e6029573d5ffd5b3d5ff3",
    ],
)
def test_minimal_proxies_can_not_change(code: str) -> None:
    clone = bytes.fromhex(code.format(LOGIC[2:]))
    found = find_proxy(read_chain({PROXY: clone, LOGIC: OWNED}), PROXY)
    assert found == Proxy(kind="EIP-1167", implementation=LOGIC, is_upgradeable=False)
    assert found.describe_change() == ""


SLOW_CLONE = "363d3d373d3d3d363d73{}5af43d82803e903d91602b57fd5b3d3df3"
"""Code of the length of a minimal proxy, which returns something else."""


@pytest.mark.parametrize("size", [0, 256])
@pytest.mark.parametrize("code", [SLOW_CLONE, build_delegation(LOGIC).hex()])
def test_other_code_with_the_address_in_it_is_not_certain_to_be_fixed(code: str, size: int) -> None:
    clone = bytes.fromhex(code.format(LOGIC[2:])) + bytes(size)
    found = find_proxy(read_chain({PROXY: clone, LOGIC: OWNED}), PROXY)
    assert found == Proxy(kind="delegating", implementation=LOGIC, is_upgradeable=None)
    assert found.describe_change() == (
        f"delegating proxy: it runs the code of {LOGIC}; whether it can run another one is not "
        "known"
    )


def test_a_minimal_proxy_of_a_proxy_can_change() -> None:
    clone = bytes.fromhex(f"363d3d373d3d3d363d73{LOGIC[2:]}5af43d82803e903d91602b57fd5bf3")
    reader = read_chain(
        {PROXY: clone, LOGIC: build_slot_delegation(7), OWNER: OWNED},
        {PROXY: {7: int(OWNER, 16)}},
    )
    found = find_proxy(reader, PROXY)
    assert found == Proxy(kind="EIP-1167", implementation=LOGIC, is_upgradeable=None)


@pytest.mark.parametrize(
    ("slot", "kind"),
    [
        (IMPLEMENTATION_SLOT, "EIP-1967"),
        (OLD_IMPLEMENTATION_SLOT, "OpenZeppelin"),
        (PROXIABLE_SLOT, "EIP-1822"),
    ],
)
def test_an_upgradeable_implementation_is_changed_by_its_owner(slot: int, kind: str) -> None:
    reader = read_chain(
        {PROXY: build_slot_delegation(slot), LOGIC: UPGRADEABLE},
        {PROXY: {slot: int(LOGIC, 16)}},
    )
    assert find_proxy(reader, PROXY) == Proxy(kind=kind, implementation=LOGIC, changers=(OWNER,))


@pytest.mark.parametrize(("admin_code", "changer"), [(OWNED, OWNER), (b"", ADMIN)])
def test_an_admin_or_its_owner_changes_it(admin_code: bytes, changer: str) -> None:
    reader = read_chain(
        {PROXY: build_slot_delegation(IMPLEMENTATION_SLOT), LOGIC: OWNED, ADMIN: admin_code},
        {PROXY: {IMPLEMENTATION_SLOT: int(LOGIC, 16), ADMIN_SLOT: int(ADMIN, 16)}},
    )
    found = find_proxy(reader, PROXY)
    assert found == Proxy(kind="EIP-1967", implementation=LOGIC, changers=(changer,))
    assert found.describe_change() == (
        f"EIP-1967 proxy: its implementation {LOGIC} can be changed by {changer}"
    )


def test_a_proxy_of_no_standard_is_found_by_its_execution() -> None:
    reader = read_chain(
        {PROXY: build_slot_delegation(7), LOGIC: b"\0"}, {PROXY: {7: int(LOGIC, 16)}}
    )
    found = find_proxy(reader, PROXY)
    assert found == Proxy(kind="delegating", implementation=LOGIC)
    assert found.describe_change().endswith("can change; who can change it is not known")


def test_an_account_that_delegates_changes_its_delegate() -> None:
    designation = bytes.fromhex("ef0100" + LOGIC[2:])
    found = find_proxy(read_chain({PROXY: designation, LOGIC: OWNED}), PROXY)
    assert found == Proxy(kind="EIP-7702", implementation=LOGIC, changers=(PROXY,))


def build_diamond(rows: list[tuple[str, list[bytes]]]) -> Mapping[str, bytes]:
    answers = {
        select("facets()"): encode(["(address,bytes4[])[]"], [rows]),
        select("owner()"): encode(["address"], [OWNER]),
    }
    return {PROXY: build_code(answers)}


def test_a_diamond_has_facets() -> None:
    rows = [(LOGIC, [select("a()"), select("b()")]), (BEACON, [select("c()")])]
    found = find_proxy(read_chain(build_diamond(rows)), PROXY)
    assert found is not None
    assert (found.kind, found.changers) == ("EIP-2535", (OWNER,))
    assert {facet.address: len(facet.selectors) for facet in found.facets} == {LOGIC: 2, BEACON: 1}
    assert found.describe_change() == f"EIP-2535 proxy: its facets can be changed by {OWNER}"


@pytest.mark.parametrize("count", [0, MAX_FACETS + 1])
def test_too_many_facets_or_none_are_no_diamond(count: int) -> None:
    rows: list[tuple[str, list[bytes]]] = [(LOGIC, [])] * count
    assert find_proxy(read_chain(build_diamond(rows)), PROXY) is None


@pytest.mark.parametrize(
    "code",
    [
        b"",
        LOOP,
        b"\xfe",
        build_delegation(PROXY),  # Delegates to itself until the gas or the depth ends.
        build_answers({"facets()": (["uint256"], [5])}),
        build_answers({"facets()": (["uint256", "uint256"], [32, 2**255])}),
        # Delegates other calldata: a library, not a proxy.
        bytes.fromhex(f"5f5f5f5f73{LOGIC[2:]}5af4"),
    ],
)
def test_other_code_is_no_proxy(code: bytes) -> None:
    assert find_proxy(read_chain({PROXY: code, LOGIC: OWNED}), PROXY) is None

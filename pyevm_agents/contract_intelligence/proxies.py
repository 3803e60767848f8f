"""Proxies: which contract executes the functions of an address, and who can exchange it.

A call with a selector that no contract has shows by its execution where an address delegates to;
storage slots and code tell the standard, and who can change the implementation.

Source: EIP-1167, EIP-1822, EIP-1967, EIP-2535, EIP-7702; OpenZeppelin's proxies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth._utils.state import code_is_delegation_designation
from eth_utils import keccak, to_checksum_address

from pyevm_agents.abi import compute_topic
from pyevm_agents.artifacts import SELECTOR_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.contract_intelligence.contract_reader import ContractReader


def _compute_slot(name: str) -> int:
    return int.from_bytes(keccak(text=name), "big") - 1


IMPLEMENTATION_SLOT = _compute_slot("eip1967.proxy.implementation")
BEACON_SLOT = _compute_slot("eip1967.proxy.beacon")
ADMIN_SLOT = _compute_slot("eip1967.proxy.admin")
PROXIABLE_SLOT = int.from_bytes(keccak(text="PROXIABLE"), "big")
"""Slot of the implementation in EIP-1822."""

OLD_IMPLEMENTATION_SLOT = int.from_bytes(keccak(text="org.zeppelinos.proxy.implementation"), "big")
OLD_ADMIN_SLOT = int.from_bytes(keccak(text="org.zeppelinos.proxy.admin"), "big")
"""Slots of OpenZeppelin's proxies from before EIP-1967, which USDC has."""

MAX_MINIMAL_BYTES = 256
"""Bytes of a minimal proxy: 45 in EIP-1167, more with arguments behind it."""

PROBE = keccak(text="a function that no contract has")[:SELECTOR_BYTES] + bytes(64)
"""Calldata of a function that no contract has."""

MAX_FACETS = 128
FACETS = "facets()"
"""Source: EIP-2535, IDiamondLoupe."""

UPGRADES = ("upgradeToAndCall(address,bytes)", "upgradeTo(address)")
"""Functions of an implementation that exchange it (UUPS)."""

OWNERS = ("owner()", "admin()")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A contract that executes some functions of a diamond."""

    address: str
    selectors: frozenset[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An address whose functions another contract executes."""

    kind: str
    """The standard, such as `EIP-1967`, or `delegating`."""

    implementation: str = ""
    """Empty for a diamond."""

    facets: tuple[Facet, ...] = ()
    is_fixed: bool = False
    """Whether nobody can exchange the implementation."""

    changers: tuple[str, ...] = ()
    """Accounts that can exchange the implementation, as far as they are known."""

    def describe_change(self) -> str:
        """Return a warning about the implementation; empty if it can't change."""
        if self.is_fixed:
            return ""
        thing = "facets" if self.facets else f"implementation {self.implementation}"
        if not self.changers:
            return f"{self.kind} proxy: its {thing} can change; who can change it is not known"
        return f"{self.kind} proxy: its {thing} can be changed by {' or '.join(self.changers)}"


def find_proxy(reader: ContractReader, address: str) -> Proxy | None:
    """Return what an address delegates to; None if it executes its own code."""
    code = reader.get_code(address)
    if reader.has_delegations and code_is_delegation_designation(code):
        delegate = _format(code[3:])
        return Proxy(kind="EIP-7702", implementation=delegate, changers=(address,))
    facets = _read_facets(reader, address)
    if facets:
        owner = reader.read_first_address(address, OWNERS)
        return Proxy(kind="EIP-2535", facets=facets, changers=(owner,) if owner else ())
    target = _find_delegate(reader, address)
    if not target:
        return None
    return _classify(reader, address, target, code)


def _classify(reader: ContractReader, address: str, target: str, code: bytes) -> Proxy:
    if bytes.fromhex(target[2:]) in code:
        # The address is in the code, which nobody can write.
        kind = "EIP-1167" if len(code) < MAX_MINIMAL_BYTES else "fixed"
        return Proxy(kind=kind, implementation=target, is_fixed=True)
    beacon = _read_slot(reader, address, BEACON_SLOT)
    if beacon:
        owner = reader.read_first_address(beacon, OWNERS)
        changers = (owner,) if owner else ()
        return Proxy(kind="EIP-1967 beacon", implementation=target, changers=changers)
    for kind, slot, admin_slot in (
        ("EIP-1967", IMPLEMENTATION_SLOT, ADMIN_SLOT),
        ("OpenZeppelin", OLD_IMPLEMENTATION_SLOT, OLD_ADMIN_SLOT),
        ("EIP-1822", PROXIABLE_SLOT, ADMIN_SLOT),
    ):
        if _read_slot(reader, address, slot) == target:
            return Proxy(
                kind=kind,
                implementation=target,
                changers=_find_changers(reader, address, target, admin_slot),
            )
    return Proxy(
        kind="delegating",
        implementation=target,
        changers=_find_changers(reader, address, target, ADMIN_SLOT),
    )


def _find_changers(
    reader: ContractReader, address: str, implementation: str, admin_slot: int
) -> tuple[str, ...]:
    """Return who can exchange an implementation: the admin's owner, or the owner of a UUPS one."""
    admin = _read_slot(reader, address, admin_slot)
    if admin:
        return (reader.read_first_address(admin, OWNERS) or admin,)
    code = reader.get_code(implementation)
    if any(compute_topic(signature)[:SELECTOR_BYTES] in code for signature in UPGRADES):
        owner = reader.read_first_address(address, OWNERS)
        return (owner,) if owner else ()
    return ()


def _find_delegate(reader: ContractReader, address: str) -> str:
    """Return where a call of an unknown function is delegated to, whole; empty if nowhere."""
    computation = reader.call(address, PROBE).computation
    for child in computation.children:
        message = child.msg
        is_delegated = message.storage_address == computation.msg.storage_address
        is_other_code = message.code_address != message.storage_address
        if is_delegated and is_other_code and bytes(message.data).startswith(PROBE):
            return _format(message.code_address)
    return ""


def _read_facets(reader: ContractReader, address: str) -> tuple[Facet, ...]:
    match reader.read(address, FACETS, ["(address,bytes4[])[]"]):
        case (list() | tuple() as rows,) if 0 < len(rows) <= MAX_FACETS:
            return _build_facets(rows)
        case _:
            return ()


def _build_facets(rows: Sequence[tuple[str, Sequence[bytes]]]) -> tuple[Facet, ...]:
    return tuple(
        Facet(address=str(to_checksum_address(facet)), selectors=frozenset(selectors))
        for facet, selectors in rows
    )


def _read_slot(reader: ContractReader, address: str, slot: int) -> str:
    """Return the address in a slot; empty if there is none."""
    value = reader.get_slot(address, slot)
    return _format(value.to_bytes(32, "big")[12:]) if 0 < value < 1 << 160 else ""


def _format(address: bytes) -> str:
    return str(to_checksum_address(address))

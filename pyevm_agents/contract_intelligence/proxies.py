"""Proxies: the contract that executes an address' functions, and the accounts that can replace it.

A call with a selector that no contract has shows by its execution where an address delegates to;
storage slots and code show the standard, and which account can change the implementation. Calls of
the contract's own functions show whether other code runs for some. Only code that is a minimal
proxy, byte by byte, is certain never to run another contract.

Source: EIP-1167, EIP-1822, EIP-1967, EIP-2535, EIP-7702; OpenZeppelin's proxies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eth._utils.state import code_is_delegation_designation
from eth.vm import opcode_values as op
from eth_typing import Address
from eth_utils import keccak, to_checksum_address

from precompiles.spec import SELECTOR_BYTES
from pyevm_agents.abi.values import compute_topic
from pyevm_agents.chain import Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from eth.abc import ComputationAPI

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

MINIMAL_PROXIES = (
    # EIP-1167, and OpenZeppelin's Clones.
    re.compile(
        rb"\x36\x3d\x3d\x37\x3d\x3d\x3d\x36\x3d\x73(.{20})"
        rb"\x5a\xf4\x3d\x82\x80\x3e\x90\x3d\x91\x60\x2b\x57\xfd\x5b\xf3",
        re.DOTALL,
    ),
    # Solady's LibClone, for chains with PUSH0.
    re.compile(
        rb"\x5f\x5f\x36\x5f\x5f\x37\x36\x5f\x73(.{20})"
        rb"\x5a\xf4\x3d\x5f\x5f\x3e\x60\x29\x57\x3d\x5f\xfd\x5b\x3d\x5f\xf3",
        re.DOTALL,
    ),
)
"""Code that delegates each call to the address in it, 45 bytes. It reads no storage, and what
stands behind it, such as arguments, is never executed."""

PROBE = keccak(text="a function that no contract has")[:SELECTOR_BYTES] + bytes(64)
"""Calldata of a function that no contract has."""

DELEGATE_GAS = 100_000
"""Gas of a call that shows where a function is delegated to: a proxy does that at once."""

DELEGATING_OPCODES = frozenset({op.DELEGATECALL, op.CALLCODE})

MAX_FACETS = 128
FACETS = "facets()"
"""Source: EIP-2535, IDiamondLoupe."""

UPGRADES = ("upgradeToAndCall(address,bytes)", "upgradeTo(address)")
"""Functions of an implementation that exchange it (UUPS)."""

OWNERS = ("owner()", "admin()")

DELEGATING = "delegating"
"""The kind of a proxy of no standard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A contract that executes some functions of a diamond."""

    address: str
    selectors: frozenset[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An address whose functions another contract executes."""

    kind: str
    """The standard, such as `EIP-1967`, or `DELEGATING`."""

    implementation: str = ""
    """Empty for a diamond, and for a contract that delegates some of its functions alone."""

    facets: tuple[Facet, ...] = ()
    others: tuple[Facet, ...] = ()
    """Contracts that execute some functions in place of the implementation or the facets."""

    is_upgradeable: bool | None = True
    """Whether the implementation can be exchanged; None if that is not known."""

    changers: tuple[str, ...] = ()
    """Accounts that can exchange the implementation, as far as they are known."""

    def get_delegate(self, selector: bytes) -> str:
        """Return the contract that executes a function; empty for none, or the proxy itself."""
        for facet in self.facets:
            if selector in facet.selectors:
                return facet.address
        return self.implementation

    def describe_change(self) -> str:
        """Return a warning about the implementation; empty if no change is possible."""
        if self.is_upgradeable is False:
            return ""
        if self.is_upgradeable is None:
            place = self.implementation or "other contracts"
            return (
                f"{self.kind} proxy: it runs the code of {place}; whether it can run another one "
                "is not known"
            )
        thing = f"implementation {self.implementation}" if self.implementation else "facets"
        if not self.changers:
            return f"{self.kind} proxy: its {thing} can change; who can change it is not known"
        return f"{self.kind} proxy: its {thing} can be changed by {' or '.join(self.changers)}"


def find_proxy(reader: ContractReader, address: str) -> Proxy | None:
    """Return the delegation of an address; None for an address that executes its own code."""
    code = reader.get_code(address)
    if reader.has_delegations and code_is_delegation_designation(code):
        delegate = _format(code[3:])
        return Proxy(kind="EIP-7702", implementation=delegate, changers=(address,))
    facets = _read_facets(reader, address)
    if facets:
        owner = reader.read_first_address(address, OWNERS)
        return Proxy(kind="EIP-2535", facets=facets, changers=(owner,) if owner else ())
    result = reader.call(address, PROBE)
    targets = [] if result is None else [*_iter_delegates(result.computation, PROBE)]
    if not targets:
        return None
    return _classify(reader, address, targets, code)


def find_delegates(
    reader: ContractReader, address: str, selectors: Iterable[bytes]
) -> dict[bytes, str]:
    """Return the contracts to which calls of functions are delegated, whole, by selector.

    The calls have arguments of zeros. Functions that the address executes itself are left out.
    """
    code = reader.get_code(address)
    if not code_is_delegation_designation(code) and not DELEGATING_OPCODES & {*code}:
        return {}
    target, found = Address(bytes.fromhex(address[2:])), dict[bytes, str]()
    for selector in selectors:
        call = Call(to=target, data=selector + PROBE[SELECTOR_BYTES:], gas=DELEGATE_GAS)
        result = reader.chain.call(call, header=reader.header)
        found[selector] = next(_iter_delegates(result.computation, call.data), "")
    return {selector: delegate for selector, delegate in found.items() if delegate}


def add_delegates(proxy: Proxy | None, delegates: Mapping[bytes, str]) -> Proxy | None:
    """Return a proxy with the functions for which other code runs than for the rest.

    Input: as returned by `find_proxy` and `find_delegates`. Output: the same proxy if there are
            none. A contract that delegates some functions alone is a proxy without an
            implementation.
    """
    others: dict[str, set[bytes]] = {}
    for selector, delegate in delegates.items():
        if proxy is None or delegate != proxy.get_delegate(selector):
            others.setdefault(delegate, set()).add(selector)
    if not others:
        return proxy
    known = Proxy(kind=DELEGATING, is_upgradeable=None) if proxy is None else proxy
    facets = tuple(
        Facet(address=delegate, selectors=frozenset(selectors))
        for delegate, selectors in others.items()
    )
    return replace(known, others=facets, is_upgradeable=known.is_upgradeable or None)


def _is_minimal(code: bytes, target: str) -> bool:
    """Whether code is that of a minimal proxy of a contract."""
    matches = (pattern.match(code) for pattern in MINIMAL_PROXIES)
    return any(match is not None and match[1].hex() == target[2:].lower() for match in matches)


def _classify(reader: ContractReader, address: str, targets: Sequence[str], code: bytes) -> Proxy:
    """Return the proxy that delegates to the first address, which delegates to the next one."""
    target, *inner = targets
    if _is_minimal(code, target):
        is_upgradeable = None if inner else False
        return Proxy(kind="EIP-1167", implementation=target, is_upgradeable=is_upgradeable)
    if bytes.fromhex(target[2:]) in code:
        # Nobody can write the address. But other code may run for other functions or callers.
        return Proxy(kind=DELEGATING, implementation=target, is_upgradeable=None)
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
        kind=DELEGATING,
        implementation=target,
        changers=_find_changers(reader, address, target, ADMIN_SLOT),
    )


def _find_changers(
    reader: ContractReader, address: str, implementation: str, admin_slot: int
) -> tuple[str, ...]:
    """Return the account, if known, that can replace an implementation.

    That is the admin's owner, the admin if without an owner, or the owner of a UUPS proxy.
    """
    admin = _read_slot(reader, address, admin_slot)
    if admin:
        return (reader.read_first_address(admin, OWNERS) or admin,)
    code = reader.get_code(implementation)
    if any(compute_topic(signature)[:SELECTOR_BYTES] in code for signature in UPGRADES):
        owner = reader.read_first_address(address, OWNERS)
        return (owner,) if owner else ()
    return ()


def _iter_delegates(computation: ComputationAPI, data: bytes) -> Iterator[str]:
    """Yield the contract to which a call was delegated, whole, then the one to which that did."""
    current: ComputationAPI | None = computation
    while current is not None:
        current = next(
            (each for each in current.children if _is_delegated(current, each, data)), None
        )
        if current is not None:
            yield _format(current.msg.code_address)


def _is_delegated(computation: ComputationAPI, child: ComputationAPI, data: bytes) -> bool:
    message = child.msg
    is_same_storage = message.storage_address == computation.msg.storage_address
    is_other_code = message.code_address != message.storage_address
    return is_same_storage and is_other_code and bytes(message.data).startswith(data)


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
    """Return the address in a slot; empty for a zero slot."""
    value = reader.get_slot(address, slot)
    return _format(value.to_bytes(32, "big")[12:]) if 0 < value < 1 << 160 else ""


def _format(address: bytes) -> str:
    return str(to_checksum_address(address))

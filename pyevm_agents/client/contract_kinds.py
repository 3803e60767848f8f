"""Kinds of contracts that an option may name, told by what stands at the address.

An address is checked before anything is paid: nothing, or another contract, would be found out by a
transaction that reverts, or by money that lies there for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.client.contract import require_code
from pyevm_agents.client.functions import find_functions
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from pyevm_agents.client.json_rpc import RemoteClient


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressKind:
    """A kind of contract: a name for people, and functions that each of them has."""

    name: str
    functions: tuple[str, ...]


TOKEN = AddressKind(
    name="token of ERC-20",
    functions=(
        *("allowance(address,address)", "approve(address,uint256)", "transfer(address,uint256)"),
        "transferFrom(address,address,uint256)",
    ),
)
IDENTITY_REGISTRY = AddressKind(
    name="identity registry of ERC-8004",
    functions=("register(string)", "getMetadata(uint256,string)", "getAgentWallet(uint256)"),
)
REPUTATION_REGISTRY = AddressKind(
    name="reputation registry of ERC-8004",
    functions=("getIdentityRegistry()", "getSummary(uint256,address[],string,string)"),
)
COUNCIL_REPUTATION = AddressKind(
    name="CouncilReputation",
    functions=("oracle()", "setOracle(address)", "identities()", "scoreOf(address)"),
)

COMMITTEE = AddressKind(
    name="CommitteeArbiter", functions=("threshold()", "members()", "isMember(address)")
)
SAFE = AddressKind(name="Safe", functions=("getThreshold()", "getOwners()", "nonce()"))
ACCOUNT = AddressKind(
    name="account that is a contract", functions=("ownerExecute(address,uint256,bytes)",)
)
EXECUTOR = AddressKind(
    name="account that is a contract", functions=("execute(address,uint256,bytes)",)
)
ARBITERS = (COMMITTEE, SAFE, ACCOUNT, EXECUTOR)
"""Contracts that can call an oracle, so that they can rule."""

DELEGATED = "0xef0100"
"""What the code of an account with a key begins with. Source: EIP-7702."""

KINDS = (TOKEN, IDENTITY_REGISTRY, REPUTATION_REGISTRY, COUNCIL_REPUTATION)


def require_arbiter(client: RemoteClient, address: bytes) -> None:
    """Check that an account can rule: one with a key, or a contract that can call an oracle.

    Raises: ConfigError: another contract, which would never rule.
    """
    code = client.request("eth_getCode", [to_checksum_address(address), "latest"])
    if code in {None, "0x", "0x0"} or str(code).startswith(DELEGATED):
        return
    wanted = {each for kind in ARBITERS for each in kind.functions}
    found = find_functions(client, address, sorted(wanted))
    if not any({*kind.functions} <= found for kind in ARBITERS):
        raise ConfigError(
            f"--arbiter {to_checksum_address(address)}: a contract that can't rule, for it calls "
            "no oracle; pass an account with a key, a CommitteeArbiter or a multisig"
        )


def require_kind(client: RemoteClient, option: str, address: bytes, kind: AddressKind) -> None:
    """Check that a contract of a kind is at an address.

    Input:  option: that named it, such as `--reputation`.
    Raises: ConfigError: no contract, or another one.
    """
    require_code(client, address)
    known = {each for every in (kind, *KINDS) for each in every.functions}
    found = find_functions(client, address, sorted(known))
    missing = [each for each in kind.functions if each not in found]
    if not missing:
        return
    other = next((each.name for each in KINDS if {*each.functions} <= found), None)
    seen = "" if other is None else f"; it is a contract of another kind: {other}"
    raise ConfigError(
        f"{option} {to_checksum_address(address)}: no {kind.name}, for it has no "
        f"{missing[0].partition('(')[0]}{seen}; check the address"
    )

"""The treasury of a control plane: a given one, a kept one, or a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_typing import Address
from eth_utils import to_canonical_address, to_checksum_address

from pyevm_agents.atomic_files import write_atomically
from pyevm_agents.control.plane_config import NEW
from pyevm_agents.control.treasury import (
    OPERATOR_WEI,
    deploy_treasury,
    require_tokens,
    require_treasury,
)
from pyevm_agents.control.treasury_policy import read_policy, require_same_rules, write_policy
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from eth_keys.datatypes import PrivateKey

    from pyevm_agents.control.plane_config import TreasuryConfig
    from pyevm_agents.lifecycle.local_chain import LocalChainPort
    from pyevm_agents.node import Node

GAS_WEI = 10**17
"""What the owner keeps for the transactions that deploy a treasury."""

TREASURY_FILE = "treasury"
"""In the folder of --data: the treasury's address."""

POLICY_FILE = "treasury-policy.json"
"""In the folder of --data: the rules that the treasury was deployed with."""


def open_treasury(  # noqa: PLR0913, PLR0917 - what a treasury needs, once
    choices: TreasuryConfig,
    node: Node,
    port: LocalChainPort,
    signers: Mapping[bytes, PrivateKey],
    operators: Iterable[bytes],
    data: Path | None,
    protected: Iterable[bytes],
) -> bytes | None:
    """Return the treasury that runs write through; None for none.

    Input:
        choices: the config; the node and the chain's port.
        signers: known keys, by address.
        operators: of the agents.
        data: the folder of --data; None if nothing is kept.
        protected: contracts that a new treasury never calls.

    Raises: ConfigError: an operator may not use the treasury, the folder has another treasury or
            other rules, or the rules of a new treasury are wrong.
    """
    found, wanted = sorted(set(operators)), choices.treasury
    kept = None if data is None else _read_kept(data / TREASURY_FILE)
    if wanted is None or wanted == NEW:
        address = kept
    else:
        address = to_canonical_address(wanted)
        if kept is not None and kept != address:
            raise ConfigError(
                f"--treasury: {data} has treasury {to_checksum_address(kept)}, which its runs "
                "need; omit it, or name another folder by --data"
            )
    if address is None and wanted is None:
        if given := choices.given_rules:
            raise ConfigError(
                f"{next(iter(given.values()))}: is for a new treasury; pass --treasury new as well"
            )
        return None
    if address is None:
        address = _deploy(choices, node, port, signers, found, protected)
        if data is not None:  # Before the address, which makes the folder's next start need it.
            write_policy(data / POLICY_FILE, choices.policy)
    else:
        rules = None if data is None or kept is None else read_policy(data / POLICY_FILE)
        place = f"treasury {to_checksum_address(address)}"
        require_same_rules(rules, choices.policy, choices.given_rules, place)
    require_treasury(port, address, found)
    if data is not None and kept is None:
        write_atomically(
            data / TREASURY_FILE, (to_checksum_address(address) + "\n").encode(), is_private=True
        )
    return address


def _deploy(  # noqa: PLR0913, PLR0917 - as `open_treasury`
    choices: TreasuryConfig,
    node: Node,
    port: LocalChainPort,
    signers: Mapping[bytes, PrivateKey],
    operators: list[bytes],
    protected: Iterable[bytes],
) -> bytes:
    for operator in operators:
        if operator not in signers:
            raise ConfigError(
                f"operator {to_checksum_address(operator)}: must appoint the delegate of a new "
                "treasury; pass its key by --operator-keystore, or omit operatorWallet in "
                "agent.json"
            )
    require_tokens(port, choices.policy)
    owned, deposit = node.chain.balance(Address(port.address)), choices.policy.deposit_wei
    others = sum(OPERATOR_WEI for each in operators if each != port.address)
    if owned < deposit + others + GAS_WEI:
        raise ConfigError(
            f"--treasury-deposit {deposit}: the owner, {to_checksum_address(port.address)}, has "
            f"{owned} wei, of which it needs {others + GAS_WEI} for operators and gas; pass less"
        )
    owner, *accounts = (
        LocalAccount(node.chain, signers[each], mine=node.mine_signed)
        for each in (port.address, *operators)
    )
    return deploy_treasury(owner, accounts, port.address, choices.policy, protected)


def _read_kept(path: Path) -> bytes | None:
    if not path.exists():
        return None
    try:
        return bytes(to_canonical_address(path.read_text("utf-8").strip()))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: must be a treasury's address; restore it") from error

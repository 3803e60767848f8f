"""A council's source of reputation: checked or deployed before the council, and wired to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.abi.registries import MAINNET, REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.client.accounts import RevertedError
from pyevm_agents.client.contract import RemoteContract
from pyevm_agents.client.contract_kinds import (
    COUNCIL_REPUTATION,
    IDENTITY_REGISTRY,
    REPUTATION_REGISTRY,
    require_kind,
)
from pyevm_agents.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.abi.registries import RegistryAddresses
    from pyevm_agents.client.accounts import SendingAccount
    from pyevm_agents.client.json_rpc import RemoteClient

CONTRACT = "CouncilReputation"
SOMEBODY = b"\1" * 20
"""An oracle for a try: whether the account may set one."""

MAINNET_ID = 1


def choose_registries(
    client: RemoteClient, identity: bytes | None, reputation: bytes | None
) -> tuple[bytes, bytes]:
    """Return the registries of ERC-8004: identities and feedback.

    Input:  addresses that were given; None for the chain's own.
    Raises: ConfigError: one of them is not there.
    """
    known = _list_known(client.request_quantity("eth_chainId"))
    chosen = (identity or known.identity, reputation or known.reputation)
    require_kind(client, "--identity-registry", chosen[0], IDENTITY_REGISTRY)
    require_kind(client, "--feedback-registry", chosen[1], REPUTATION_REGISTRY)
    return chosen


def _list_known(chain_id: int) -> RegistryAddresses:
    return REGISTRY_ADDRESSES[MAINNET if chain_id == MAINNET_ID else TESTNET]


def require_reputation(client: RemoteClient, account: SendingAccount, address: bytes) -> None:
    """Check that a new council can be wired to a `CouncilReputation`.

    Without the wiring every commitment reverts.

    Raises: ConfigError: another contract, one that serves a council, or one of another deployer.
    """
    require_kind(client, "--reputation", address, COUNCIL_REPUTATION)
    contract = RemoteContract(client, CONTRACT, address)
    name, oracle = contract.checksum_address, contract.read("oracle")
    if int(oracle, 16):
        raise ConfigError(
            f"--reputation {name}: serves the council {to_checksum_address(oracle)}, and one "
            "alone; pass `--reputation new`"
        )
    try:
        account.read(address, encode_wiring(SOMEBODY))
    except RevertedError as error:
        raise ConfigError(
            f"--reputation {name}: its setOracle(COUNCIL), without which nobody can take part, is "
            f"for its deployer, not for {to_checksum_address(account.address)}; deploy the council "
            "with that account, or pass `--reputation new`"
        ) from error


def encode_reputation(registries: Sequence[bytes], clients: Sequence[bytes]) -> bytes:
    """Return the creation code of a `CouncilReputation`. Input: clients: whose feedback counts."""
    names = [to_checksum_address(each) for each in registries]
    people = [to_checksum_address(each) for each in dict.fromkeys(clients)]
    return load_artifact(CONTRACT).encode_creation(*names, people)


def encode_wiring(oracle: bytes) -> bytes:
    """Return the calldata that names the council of a `CouncilReputation`."""
    return load_artifact(CONTRACT).encode_call("setOracle", to_checksum_address(oracle))

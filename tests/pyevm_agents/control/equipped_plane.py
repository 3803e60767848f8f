"""A control plane with all that one may have: registries, a validator and a treasury."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

from eth_typing import Address

from pyevm_agents.abi.registries import REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.control.development_plane import open_development_plane
from pyevm_agents.control.owners_validator import OwnersValidator
from pyevm_agents.control.treasury import deploy_treasury, describe_treasury
from pyevm_agents.control.treasury_policy import TreasuryPolicy
from pyevm_agents.devnet.chain import (
    DEVELOPMENT_ADDRESS,
    DEVELOPMENT_BALANCE_WEI,
    DEVELOPMENT_KEY,
)
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.lifecycle.local_chain import LocalChainPort
from pyevm_agents.lifecycle.registry_trust import RegistryTrust
from pyevm_agents.lifecycle.treasury_envelope import TreasuryEnvelope
from pyevm_agents.lifecycle.trust import TrustedSources
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyevm_agents.control.plane import ControlPlane

REGISTRIES = REGISTRY_ADDRESSES[TESTNET]
BEGUN = 1_800_000_000
"""Unix seconds of the first reading of the clock; each reading is a millisecond later."""

PAYEE = bytes.fromhex("00" * 18 + "beef")
"""Whom `PAY` of `agents_of_tests` pays."""

POLICY = TreasuryPolicy(cap_wei=5, deposit_wei=1_000, targets=(PAYEE,))


@contextmanager
def open_equipped_plane(agent: Path, folder: Path) -> Iterator[ControlPlane]:
    """Run an agent inside a context; the operator confirms each run. Nothing is random but IDs."""
    funds = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    funded = dict.fromkeys([DEVELOPMENT_ADDRESS, *ADDRESSES], funds)
    chain = Chain(ChainConfig(), {}, accounts={**funded, **build_registries(TESTNET)})
    port = LocalChainPort(chain, DEVELOPMENT_KEY)
    owner = LocalAccount(chain)
    treasury = deploy_treasury(owner, [owner], DEVELOPMENT_ADDRESS, POLICY)
    validator = OwnersValidator(
        {DEVELOPMENT_ADDRESS: port}, LocalChainPort(chain, KEYS[1]), REGISTRIES
    )
    sources = TrustedSources(
        validators=frozenset({ADDRESSES[1]}), clients=frozenset({ADDRESSES[2]})
    )
    clock = count()
    with open_development_plane(
        [agent],
        folder,
        chain=chain,
        port=port,
        now=lambda: BEGUN + next(clock) / 1_000,
        trust=RegistryTrust(port, REGISTRIES, sources),
        sources=sources,
        identity_account=LocalAccount(chain),
        identity_registry=REGISTRIES.identity,
        validator=validator,
        read_response=validator.read_response,
        open_envelope=lambda terms: TreasuryEnvelope(terms, port, treasury, always_confirms=True),
        describe_treasury=lambda: describe_treasury(
            port, treasury, chain.balance(Address(treasury))
        ),
    ) as plane:
        yield plane

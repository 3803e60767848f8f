"""Chains: genesis of the default development chains, and every recorded block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.chain.block_rlp import decode_block
from pyevm_agents.config import FORKS, ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_BALANCE_WEI, build_predeploys, create_funded_chain
from pyevm_agents.model_registry import profiles
from pyevm_agents.model_registry.profiles import build_model_profile
from pyevm_agents.node import DEFAULT_MNEMONIC
from pyevm_agents.node.keys import DEFAULT_PATH, derive_keys
from pyevm_agents.recordings import read_fixture
from tests.byte_model import ByteModel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eth.abc import BlockAPI

    from pyevm_agents.models import Vocabulary

FIXTURES = Path(__file__).parents[2] / "chain_fixtures"

FINGERPRINT = '{"canary":"made up for golden files"}'
"""In place of the engine's own, which differs between machines."""


def collect_chains(vocabulary: Vocabulary) -> Mapping[str, object]:
    """Return hashes and roots of all chains."""
    facts = replace(vocabulary.profile_facts, fingerprint=FINGERPRINT)
    with_agents = create_funded_chain(ByteModel([]), facts, build_model_profile(facts))
    accounts = {
        key.public_key.to_canonical_address(): GenesisAccount(balance_wei=10_000 * 10**18)
        for key in derive_keys(DEFAULT_MNEMONIC, 10)
    }
    return {
        "development chain with the default model": _genesis(with_agents),
        "nodes without a model": {
            fork: _genesis(
                Chain(ChainConfig(fork=fork), accounts=accounts | dict(build_predeploys(fork)))  # type: ignore[arg-type]
            )
            for fork in FORKS
        },
        "names of development": {
            "mnemonic": DEFAULT_MNEMONIC,
            "derivation path": DEFAULT_PATH,
            "aliases of a model": list(profiles.ALIASES),
            "default model": profiles.DEFAULT_MODEL_NAME,
            "base model": profiles.BASE_MODEL_NAME,
            "digest of the base model": "0x" + profiles.BASE_MODEL_DIGEST.hex(),
            "balance in wei": str(DEVELOPMENT_BALANCE_WEI),
        },
        "recorded": {path.stem: _recorded(path) for path in sorted(FIXTURES.glob("*.json"))},
    }


def _genesis(chain: Chain) -> Mapping[str, object]:
    return {
        "configuration": chain.config.to_json(),
        "block": _block(chain.block(0)),
        "extra data": "0x" + chain.block(0).header.extra_data.hex(),
        "accounts": {
            to_checksum_address(address): {
                "balance": str(account.balance_wei),
                "nonce": account.nonce,
                "code": "0x" + account.code.hex(),
            }
            for address, account in chain.genesis_accounts.items()
        },
    }


def _block(block: BlockAPI) -> Mapping[str, object]:
    header = block.header
    return {
        "hash": "0x" + header.hash.hex(),
        "state root": "0x" + header.state_root.hex(),
        "transactions root": "0x" + header.transaction_root.hex(),
        "receipts root": "0x" + header.receipt_root.hex(),
        "gas used": header.gas_used,
    }


def _recorded(path: Path) -> Mapping[str, object]:
    fixture = read_fixture(path)
    return {
        "comment": fixture.comment,
        "configuration": "0x" + fixture.config.digest.hex(),
        "genesis": _block(decode_block(fixture.genesis)),
        "blocks": [
            {
                **_block(block.block),
                "transactions": [
                    {
                        "hash": "0x" + one.hash.hex(),
                        "gas used": one.gas_used,
                        "is success": one.is_success,
                    }
                    for one in block.transactions
                ],
            }
            for block in fixture.blocks
        ],
        "steps": [
            None if step.exchange.generation is None else step.exchange.generation.text
            for step in fixture.steps
        ],
    }

"""Names of chains and their native tokens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evmchains.chains import PUBLIC_CHAIN_META

from pyevm_agents.contract_intelligence.chain_metadata import ChainMetadata, get_chain_metadata

CHAIN_IDS = sorted(
    int(form["chainId"]) for networks in PUBLIC_CHAIN_META.values() for form in networks.values()
)


@pytest.mark.parametrize(
    ("chain_id", "name", "symbol", "explorer"),
    [
        (1, "Ethereum Mainnet", "ETH", "etherscan.io"),
        (56, "BNB Smart Chain Mainnet", "BNB", "bscscan.com"),
        (97, "BNB Smart Chain Testnet", "BNB", "testnet.bscscan.com"),
        (137, "Polygon Mainnet", "POL", "polygonscan.com"),
        (42161, "Arbitrum One", "ETH", "arbiscan.io"),
    ],
)
def test_known_chains(chain_id: int, name: str, symbol: str, explorer: str) -> None:
    found = get_chain_metadata(chain_id)
    assert replace(found, native_names=()) == ChainMetadata(
        chain_id=chain_id,
        name=name,
        native_symbol=symbol,
        native_names=(),
        explorer_url=f"https://{explorer}",
    )


@pytest.mark.parametrize(
    ("chain_id", "names"),
    [
        (1, {"ETH", "Ether", "ether", "wei", "gwei"}),
        (56, {"BNB", "BNB Chain Native Token", "wei", "gwei"}),
        (97, {"BNB", "tBNB", "BNB Chain Native Token", "wei", "gwei"}),
        (31337, {"ETH", "ether", "wei", "gwei"}),
    ],
)
def test_words_for_the_native_currency(chain_id: int, names: set[str]) -> None:
    assert {*get_chain_metadata(chain_id).native_names} == names


@pytest.mark.parametrize(
    ("chain_id", "own", "symbol"),
    [
        (97, "tBNB", "BNB"), (338, "TCRO", "CRO"), (314159, "tFIL", "FIL"),
        (1285, "MOVR", "MOVR"), (240, "zkTCRO", "zkTCRO"), (37111, "GRASS", "GRASS"),
    ],
)  # fmt: skip
def test_a_testnet_s_token_is_called_as_its_mainnet_s(chain_id: int, own: str, symbol: str) -> None:
    [form] = [
        form
        for networks in PUBLIC_CHAIN_META.values()
        for form in networks.values()
        if int(form["chainId"]) == chain_id
    ]
    assert form["nativeCurrency"]["symbol"] == own
    assert get_chain_metadata(chain_id).native_symbol == symbol


def test_every_chain_of_the_data_has_a_clean_name() -> None:
    assert len(CHAIN_IDS) > 100
    for chain_id in CHAIN_IDS:
        found = get_chain_metadata(chain_id)
        assert found.is_known
        assert found.name.isascii()
        assert found.native_symbol.isascii()
        assert 0 < found.native_decimals < 78


@pytest.mark.parametrize("chain_id", [0, 31337, 2**64 - 1])
def test_a_devnet_has_a_number(chain_id: int) -> None:
    found = get_chain_metadata(chain_id)
    assert found == ChainMetadata(chain_id=chain_id, name=f"chain {chain_id}", is_known=False)

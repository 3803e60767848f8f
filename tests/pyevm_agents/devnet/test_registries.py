"""ERC-8004's registries in a genesis: code, addresses, the hash, and the options that set them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_account.messages import encode_typed_data
from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact, load_artifact_form
from pyevm_agents.abi.registries import MAINNET, REGISTRY_ADDRESSES, TESTNET
from pyevm_agents.chain import Chain
from pyevm_agents.cli.app import main
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.registries import build_registries
from pyevm_agents.errors import ConfigError
from pyevm_agents.testing.chain import AgentChain
from tests.pyevm_agents.cli.node.test_command import node

if TYPE_CHECKING:
    from web3.contract import Contract

TESTNET_IDENTITY = "0x8004A818BFB912233c491871b3d84c89A494BD9e"
MAINNET_IDENTITY = "0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"
STATE_ROOTS = {
    TESTNET: "1a3b7d5e4df6111adfca23e0d7cc53c22ae0011f3b33cf673baf3fc239425fa0",
    MAINNET: "fa3394af230d9dfd1a54de021253751cf064bea9228dbc14967b69c155d93113",
}
"""State roots of a genesis with the registries alone."""

WALLET_TYPE = [
    {"name": "agentId", "type": "uint256"},
    {"name": "newWallet", "type": "address"},
    {"name": "owner", "type": "address"},
    {"name": "deadline", "type": "uint256"},
]


def open_registry(chain: AgentChain, name: str, network: str = TESTNET) -> Contract:
    """Return a registry of a chain, such as `IdentityRegistry`."""
    kind = name.removesuffix("Registry").lower()
    address = getattr(REGISTRY_ADDRESSES[network], kind)
    return chain.w3.eth.contract(address=to_checksum_address(address), abi=load_artifact(name).abi)


@pytest.mark.parametrize("network", [TESTNET, MAINNET])
def test_the_hash_of_a_genesis_with_registries(network: str) -> None:
    chain = Chain(ChainConfig(), accounts=build_registries(network))
    assert chain.head.state_root.hex() == STATE_ROOTS[network]


@pytest.mark.parametrize("name", ["IdentityRegistry", "ReputationRegistry", "ValidationRegistry"])
def test_no_code_needs_a_constructor(name: str) -> None:
    assert load_artifact_form(name)["immutableReferences"] == {}


def test_a_chain_registers_rates_and_validates_an_agent() -> None:
    with AgentChain(registries=True) as chain:
        owner, client = chain.accounts[:2]
        identity = open_registry(chain, "IdentityRegistry")
        assert identity.address == TESTNET_IDENTITY
        identity.functions.register("ipfs://agent").transact({"from": owner})
        assert identity.functions.tokenURI(0).call() == "ipfs://agent"
        reputation = open_registry(chain, "ReputationRegistry")
        feedback = (0, 87, 0, "starred", "", "", "", bytes(32))
        reputation.functions.giveFeedback(*feedback).transact({"from": client})
        assert reputation.functions.getSummary(0, [client], "", "").call() == [1, 87, 0]
        validation = open_registry(chain, "ValidationRegistry")
        validation.functions.validationRequest(client, 0, "", b"\x01" * 32).transact()
        for registry in (reputation, validation):
            assert registry.functions.getIdentityRegistry().call() == TESTNET_IDENTITY


def test_a_wallet_signs_for_the_chain_and_the_address() -> None:
    """The domain of EIP-712 is computed at run time, as a genesis runs no constructor."""
    with AgentChain(registries="mainnet") as chain:
        identity = open_registry(chain, "IdentityRegistry", MAINNET)
        assert identity.address == MAINNET_IDENTITY
        owner, wallet = chain.accounts[:2]
        identity.functions.register().transact({"from": owner})
        deadline = chain.w3.eth.get_block("latest")["timestamp"] + 60
        signable = encode_typed_data(
            {
                "name": "ERC8004IdentityRegistry",
                "version": "1",
                "chainId": chain.w3.eth.chain_id,
                "verifyingContract": MAINNET_IDENTITY,
            },
            {"AgentWalletSet": WALLET_TYPE},
            {"agentId": 0, "newWallet": wallet, "owner": owner, "deadline": deadline},
        )
        signed = chain.w3.eth.account.sign_message(signable, chain.genesis.keys[1].to_bytes())
        identity.functions.setAgentWallet(0, wallet, deadline, signed.signature).transact()
        assert identity.functions.getAgentWallet(0).call() == wallet


def test_a_chain_has_none_unless_it_is_asked_for() -> None:
    with AgentChain() as plain, AgentChain(registries=False) as other:
        assert plain.w3.eth.get_code(to_checksum_address(TESTNET_IDENTITY)) == b""
        assert plain.genesis is other.genesis
    with AgentChain(registries=True) as chain, AgentChain(registries=TESTNET) as again:
        assert chain.genesis is again.genesis
        assert chain.genesis.derive(fork="osaka").derive(fork="prague") is chain.genesis


def test_values_that_are_none() -> None:
    with pytest.raises(ConfigError, match=r"registries 'sepolia': must be True, False, 'testnet'"):
        AgentChain(registries="sepolia")
    with pytest.raises(ConfigError, match="registries=True: must be without fork_url"):
        AgentChain(registries=True, fork_url="http://127.0.0.1:1")
    told = CliRunner().invoke(main, ["node", "--registries", "--fork-url", "http://127.0.0.1:1"])
    assert told.exit_code == 2
    assert "--fork-url and --registries exclude each other" in told.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "identity"),
    [(["--registries"], TESTNET_IDENTITY), (["--registries", "mainnet"], MAINNET_IDENTITY)],
)
def test_a_node_has_them(options: list[str], identity: str) -> None:
    code = load_artifact_form("IdentityRegistry")["deployedBytecode"]
    with node("--no-model", *options) as running:
        assert running.result("eth_getCode", identity, "latest") == code

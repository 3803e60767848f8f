"""The parts of the product that `benchmarks.contract_intelligence` measures, in one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eth_utils import to_checksum_address

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.contract_intelligence.access import analyse_functions
from pyevm_agents.contract_intelligence.capabilities import ContractIntelligence, ContractKind
from pyevm_agents.contract_intelligence.function_abi import read_interface
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.contract_world import ContractWorld
    from pyevm_agents.abi.bundled import Artifact
    from pyevm_agents.contract_intelligence.capabilities import FunctionCapability
    from pyevm_agents.contract_intelligence.function_abi import ContractInterface
    from pyevm_agents.devnet.local_account import LocalAccount

    TextEncoder = Callable[[str, Sequence[str]], Sequence[bytes]]
    """Encodes typed texts of a type, as `AbiText.encode` does on the chain."""

TEXTS_CONTRACT = "AbiTexts"
"""Encodes typed texts in Solidity: `encode(string abiType, string text)`."""


def open_chain() -> Chain:
    """Return a chain without a model, with a funded development account."""
    account = GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)
    return Chain(ChainConfig(models=()), {}, accounts={DEVELOPMENT_ADDRESS: account})


def read_contract(world: ContractWorld, name: str) -> ContractInterface:
    """Return the functions of a contract of the world, from its ABI.

    Raises: ValueError: the ABI is none.
    """
    return _read_interface(world.contracts[name].artifact)


def read_functions(artifact: Artifact) -> tuple[FunctionCapability, ...]:
    """Return all functions of an artifact, from its ABI.

    Raises: ValueError: it has no ABI, or the product leaves out a function.
    """
    functions = _read_interface(artifact).functions
    count = sum(element["type"] == "function" for element in artifact.abi)
    if len(functions) != count:
        raise ValueError(f"{artifact.name}: {len(functions)} of {count} functions were read")
    return functions


def _read_interface(artifact: Artifact) -> ContractInterface:
    interface = read_interface([*artifact.abi], name=artifact.name, source="file")
    if interface is None:
        raise ValueError(f"{artifact.name}: its artifact has no ABI")
    return interface


def analyse_contracts(
    chain: Chain, world: ContractWorld, names: Sequence[str]
) -> Iterator[tuple[str, ContractIntelligence]]:
    """Analyse contracts for the world's account, by name.

    The analysis knows the addresses of the world's contracts and nothing else: neither the owner
    nor the other people.

    Raises: EngineFault: the host failed.
    """
    known = {to_checksum_address(one.address): "" for one in world.contracts.values()}
    for name in names:
        address = to_checksum_address(world.address(name))
        interface = read_contract(world, name)
        functions = analyse_functions(
            chain,
            address,
            interface.functions,
            to_checksum_address(world.account),
            known_accounts={place: noun for place, noun in known.items() if place != address},
        )
        yield (
            name,
            ContractIntelligence(
                address=address,
                name=interface.name,
                kind=ContractKind.CUSTOM,
                account=to_checksum_address(world.account),
                block_number=chain.head.block_number,
                abi_source=interface.source,
                functions=functions,
            ),
        )


def deploy_text_encoder(sender: LocalAccount) -> TextEncoder:
    """Return an encoder of typed texts that runs on the chain.

    Raises: ConfigError: the contract is not among the artifacts.
    """
    texts = load_artifact(TEXTS_CONTRACT)
    place = sender.deploy(texts.encode_creation())

    def encode_texts(abi_type: str, given: Sequence[str]) -> list[bytes]:
        return [
            bytes(
                texts.decode_result(
                    "encode",
                    sender.read(place, texts.encode_call("encode", abi_type, text)),
                )
            )
            for text in given
        ]

    return encode_texts

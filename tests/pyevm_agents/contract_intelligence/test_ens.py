"""Names of ENS: the registry's hash, and addresses of names on a chain."""

from __future__ import annotations

import pytest
from eth_utils import keccak

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.contract_intelligence.contract_reader import ContractReader
from pyevm_agents.contract_intelligence.ens import (
    ENS_NAME,
    compute_node,
    normalize_name,
    resolve_name,
)
from pyevm_agents.errors import ConfigError
from tests.pyevm_agents.contract_intelligence.answering_code import LOOP, address_of, build_answers
from tests.pyevm_agents.contract_intelligence.answering_code import build_chain as build_codes
from tests.pyevm_agents.contract_intelligence.exchange import USER, build_account, deploy, send

BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("eth", "93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae"),
        ("foo.eth", "de9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f"),
    ],
)
def test_the_hash_of_a_name(name: str, node: str) -> None:
    """The values are those of EIP-137."""
    assert compute_node(name).hex() == node


@pytest.mark.parametrize("text", ["bob", ".eth", "bob.", "b\u00f6b.eth", "a b.eth", "0x12", ""])
def test_other_texts_are_no_names(text: str) -> None:
    assert not ENS_NAME.fullmatch(text)
    assert normalize_name("Bob.ETH") == "bob.eth"


def test_a_name_has_the_address_that_its_resolver_tells() -> None:
    account = build_account()
    artifacts = {each: load_artifact(each) for each in ("NodeRegistry", "NodeResolver")}
    registry = deploy(account, artifacts["NodeRegistry"].encode_creation(USER))
    resolver = deploy(account, artifacts["NodeResolver"].encode_creation(registry))
    for parent, label in ((bytes(32), "eth"), (compute_node("eth"), "bob")):
        make = artifacts["NodeRegistry"].encode_call
        send(account, registry, make("setSubnodeOwner", parent, keccak(text=label), USER))
    node = compute_node("bob.eth")
    reader = ContractReader(account.chain)
    with pytest.raises(ConfigError, match=r"bob\.eth has no address in the ENS registry"):
        resolve_name(reader, "bob.eth", registry)
    send(account, registry, artifacts["NodeRegistry"].encode_call("setResolver", node, resolver))
    send(account, resolver, artifacts["NodeResolver"].encode_call("setAddr", node, BOB))
    reader = ContractReader(account.chain)
    assert resolve_name(reader, "bob.eth", registry) == BOB
    with pytest.raises(ConfigError, match=r"carol\.eth has no address"):
        resolve_name(reader, "carol.eth", registry)
    message = f"chain 31337 has no ENS registry at {BOB}; pass the address, or another"
    with pytest.raises(ConfigError, match=message):
        resolve_name(reader, "bob.eth", BOB)


def test_a_registry_that_deceives() -> None:
    """A resolver without code, one that never ends, and one that answers with 31 bytes."""
    registry, resolver = address_of(0xA0), address_of(0xB0)
    answers = {"resolver(bytes32)": (["address"], [resolver])}
    for code in (b"", LOOP, bytes.fromhex("60205f52601f5ff3")):
        chain = build_codes({registry: build_answers(answers), resolver: code})
        with pytest.raises(ConfigError, match=r"bob\.eth has no address"):
            resolve_name(ContractReader(chain), "bob.eth", registry)

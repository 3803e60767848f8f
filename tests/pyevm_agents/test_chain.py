"""One chain: genesis, mining, calls, estimates, snapshots, and faults that leave no trace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from eth_typing import Address

from pyevm_agents.artifacts import artifact
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import ConfigError, EngineFault
from tests.byte_model import PROFILE, ByteModel
from tests.conftest import OWNER, STRANGER
from tests.test_agents import Wallet, instruct, use

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.ports import Generation, GenerationRequest
    from tests.conftest import Bench

    MakeBench = Callable[..., Bench]

EXECUTOR = Address(bytes(19) + b"\x19")


def test_genesis_carries_the_configurations_digest() -> None:
    config = ChainConfig(models=(PROFILE,))
    chain = Chain(config, {"bytes": ByteModel([])})
    assert chain.block(0).header.extra_data == config.digest
    assert chain.code(EXECUTOR) != b""


def test_two_chains_of_one_configuration_have_one_genesis_and_others_have_another() -> None:
    config = ChainConfig(models=(PROFILE,))

    def genesis(config: ChainConfig) -> bytes:
        return Chain(config, {"bytes": ByteModel([])}).genesis_hash

    assert genesis(config) == genesis(config)
    pricier = replace(config, models=(replace(PROFILE, output_token_gas=10_001),))
    assert genesis(config) != genesis(pricier)


def test_a_chain_without_models_is_plain_prague() -> None:
    chain = Chain(ChainConfig())
    assert chain.block(0).header.extra_data == b""
    assert chain.code(EXECUTOR) == b""
    assert chain.call(Call(to=EXECUTOR, data=b"1234")).output == b""


def test_refuses_models_that_are_not_those_of_its_configuration() -> None:
    config = ChainConfig(models=(PROFILE,))
    with pytest.raises(ConfigError, match=r"models are \['bytes'\], but \[\] were given"):
        Chain(config)
    with pytest.raises(ConfigError, match=r"models are \[\], but \['bytes'\] were given"):
        Chain(ChainConfig(), {"bytes": ByteModel([])})


def test_blocks_follow_a_second_apart_or_when_told(bench: MakeBench) -> None:
    chain = bench().chain
    start = chain.head.timestamp
    assert chain.mine().block.header.timestamp == start + 1
    assert chain.mine(timestamp_seconds=start + 100).block.header.timestamp == start + 100
    with pytest.raises(ConfigError, match=f"timestamp {start + 100}: must be after"):
        chain.mine(timestamp_seconds=start + 100)


def test_a_call_keeps_nothing(bench: MakeBench) -> None:
    b = bench()
    counter = b.deploy("Counter")
    root = b.chain.head.state_root
    result = b.chain.call(Call(to=counter, data=artifact("Counter").call("add", 5)))
    assert result.error is None
    assert b.read("Counter", counter, "number") == 0
    assert b.chain.head.state_root == root


def test_a_call_uses_the_gas_a_transaction_uses(bench: MakeBench) -> None:
    b = bench()
    counter = b.deploy("Counter")
    data = artifact("Counter").call("add", 5)
    called = b.chain.call(Call(to=counter, sender=OWNER, data=data))
    receipt, _ = b.send(counter, data)
    assert called.gas_used == receipt.gas_used


def test_reverts_to_a_snapshot_and_mines_the_same_block_again(bench: MakeBench) -> None:
    b = bench()
    counter = b.deploy("Counter")
    kept = b.chain.snapshot()
    data = artifact("Counter").call("add", 5)
    b.send(counter, data)
    mined = b.chain.head.hash
    b.chain.revert(kept)
    assert b.read("Counter", counter, "number") == 0
    b.send(counter, data)
    assert b.chain.head.hash == mined
    with pytest.raises(ConfigError, match="snapshot 0 is not one of 0 kept"):
        b.chain.revert(kept)


def test_later_snapshots_go_with_an_earlier_one(bench: MakeBench) -> None:
    chain = bench().chain
    first = chain.snapshot()
    chain.mine()
    second = chain.snapshot()
    chain.revert(first)
    with pytest.raises(ConfigError):
        chain.revert(second)


class FailsOn:
    """A model whose n-th generation is a fault of the host."""

    def __init__(self, model: ByteModel, failing: int) -> None:
        self.model, self.failing, self.count = model, failing, 0
        self.tokenize = model.tokenize

    def generate(self, request: GenerationRequest) -> Generation:
        self.count += 1
        if self.count == self.failing:
            raise EngineFault("the engine is gone")
        return self.model.generate(request)


def test_a_fault_in_the_middle_of_a_run_leaves_the_chain_as_it_was(bench: MakeBench) -> None:
    deposit = use("DeployTool", asset="USDC", amount=10)
    wallet = Wallet(bench(lambda _: deposit))
    b = wallet.bench
    head, nonce = b.chain.head, b.chain.nonce(OWNER)
    failing = FailsOn(b.model, failing=2)
    b.model.generate = failing.generate  # type: ignore[method-assign]
    failing.model = ByteModel([deposit])
    with pytest.raises(EngineFault, match="the engine is gone"):
        b.send(wallet.agent, instruct("Deposit 10 USDC twice"))
    assert b.chain.head == head
    assert b.chain.nonce(OWNER) == nonce
    assert wallet.balances() == (1_000 * 10**6, 500 * 10**6)
    failing.count = 1
    with pytest.raises(EngineFault):
        b.chain.call(Call(to=wallet.agent, sender=OWNER, data=instruct("Again")))
    assert b.chain.head == head


def test_a_genesis_account_has_what_it_was_given() -> None:
    accounts = {STRANGER: GenesisAccount(balance_wei=7, nonce=3, code=b"\x00")}
    chain = Chain(ChainConfig(), accounts=accounts)
    assert (chain.balance(STRANGER), chain.nonce(STRANGER), chain.code(STRANGER)) == (7, 3, b"\x00")


class DescribedModel(ByteModel):
    """A byte model that says what it is."""

    def __init__(self, facts: FakeFacts) -> None:
        super().__init__([])
        self.profile_facts = facts


@dataclass(frozen=True)
class FakeFacts:
    digest: bytes = PROFILE.digest
    context_tokens: int = PROFILE.context_tokens
    fingerprint: str = '{"canary":"a"}'


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        pytest.param(FakeFacts(digest=bytes(32)), "genesis names the file", id="another file"),
        pytest.param(FakeFacts(context_tokens=100), "promises a context of", id="small context"),
        pytest.param(FakeFacts(fingerprint='{"canary":"b"}'), "the chain's is", id="other build"),
    ],
)
def test_refuses_a_model_that_genesis_does_not_name(facts: FakeFacts, message: str) -> None:
    config = ChainConfig(models=(PROFILE,), profile_fingerprint='{"canary":"a"}')
    Chain(config, {"bytes": DescribedModel(FakeFacts())})
    Chain(config, {"bytes": DescribedModel(FakeFacts(fingerprint='{"canary":""}'))})
    with pytest.raises(ConfigError, match=message):
        Chain(config, {"bytes": DescribedModel(facts)})

"""One chain: genesis, mining, calls, estimates, snapshots, and faults that leave no trace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
import rlp
from eth.vm.forks.prague.constants import (
    HISTORY_STORAGE_ADDRESS,
    HISTORY_STORAGE_CONTRACT_CODE,
)
from eth_typing import Address
from eth_utils import ValidationError, keccak

from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import BlockSettings, Call, Chain, GenesisAccount
from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.config import ChainConfig
from pyevm_agents.errors import BlockError, ConfigError, EngineFault
from pyevm_agents.vm import BlockRefusal, InvalidBlockError
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, OWNER_KEY, STRANGER
from tests.test_agents import Wallet, instruct, use

if TYPE_CHECKING:
    from collections.abc import Callable

    from precompiles.language_model import Generation, GenerationRequest, LanguageModel
    from tests.chain_bench import Bench

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
    with pytest.raises(
        ConfigError, match=r"language models \[\]: must be those of the chain config, \['bytes'\]"
    ):
        Chain(config)
    with pytest.raises(
        ConfigError, match=r"language models \['bytes'\]: must be those of the chain config, \[\]"
    ):
        Chain(ChainConfig(), {"bytes": ByteModel([])})


@pytest.mark.parametrize("wei", [0, 1, 6, 7, 8, 1_000_000_000, 10**18])
def test_block_1_has_the_base_fee_of_the_configuration(wei: int) -> None:
    chain = Chain(ChainConfig(base_fee_wei=wei))
    again = Chain(ChainConfig(base_fee_wei=wei))
    encoded = rlp.encode(chain.mine(()).block)
    assert chain.head.base_fee_per_gas == wei
    # By the rule of every block: an import checks it.
    assert again.import_block(encoded).block.hash == chain.head.hash
    genesis_wei = chain.header(0).base_fee_per_gas
    assert genesis_wei is not None
    assert genesis_wei - genesis_wei // 8 == wei
    assert genesis_wei == 0 or (genesis_wei - 1) - (genesis_wei - 1) // 8 < wei


@pytest.mark.parametrize("gas_limit", [30_000_000, 5_001, 10**12])
@pytest.mark.parametrize("wei", [0, 8, 1_000_000, 10**18])
def test_genesis_may_have_the_base_fee_of_block_1(wei: int, gas_limit: int) -> None:
    config = ChainConfig(base_fee_wei=wei, genesis_has_base_fee=True, block_gas_limit=gas_limit)
    chain, again = Chain(config), Chain(config)
    assert chain.head.base_fee_per_gas == wei
    encoded = rlp.encode(chain.mine(()).block)
    assert chain.head.base_fee_per_gas == wei
    # By the rule of every block: an import checks it.
    assert again.import_block(encoded).block.hash == chain.head.hash


def test_prevrandao_is_pseudo_random_the_same_everywhere_and_can_be_set() -> None:
    # PREVRANDAO, PUSH0, MSTORE, MSIZE, PUSH0, RETURN
    code = bytes.fromhex("445f52595ff3")
    accounts = {STRANGER: GenesisAccount(code=code)}
    chains = [Chain(ChainConfig(), accounts=accounts) for _ in range(2)]
    seen = []
    for _ in range(20):
        values = {chain.call(Call(to=STRANGER)).output for chain in chains}
        (value,) = values
        assert value == keccak(chains[0].head.hash)
        seen.append(value)
        hashes = {chain.mine(()).block.hash for chain in chains}
        assert len(hashes) == 1
        assert chains[0].head.mix_hash == value
    assert len(set(seen)) == len(seen)
    block = chains[0].mine((), settings=BlockSettings(prev_randao=b"\x07" * 32)).block
    assert chains[1].import_block(rlp.encode(block)).block.header.mix_hash == b"\x07" * 32


def test_a_header_has_no_beacon_block() -> None:
    chain = Chain(ChainConfig())
    chain.mine(())
    assert [chain.header(n).parent_beacon_block_root for n in range(2)] == [bytes(32)] * 2


def test_time_ends_with_64_bits() -> None:
    chain = Chain(ChainConfig(genesis_timestamp_seconds=2**64 - 3))
    with pytest.raises(ConfigError, match=f"timestamp {2**64}: must be at most 2.64 - 1"):
        chain.mine((), timestamp_seconds=2**64)
    chain.mine(())
    last = chain.mine(()).block
    assert last.header.timestamp == 2**64 - 1
    with pytest.raises(ConfigError, match=f"timestamp {2**64}: must be at most"):
        chain.mine(())
    beyond = last.copy(header=last.header.copy(block_number=3, timestamp=2**64))
    with pytest.raises(BlockError, match=f"block timestamp {2**64}: must be at most"):
        chain.import_block(rlp.encode(beyond))
    assert chain.head.hash == last.hash


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
    result = b.chain.call(Call(to=counter, data=load_artifact("Counter").encode_call("add", 5)))
    assert result.error is None
    assert b.read("Counter", counter, "number") == 0
    assert b.chain.head.state_root == root


def test_a_call_uses_the_gas_a_transaction_uses(bench: MakeBench) -> None:
    b = bench()
    counter = b.deploy("Counter")
    data = load_artifact("Counter").encode_call("add", 5)
    called = b.chain.call(Call(to=counter, sender=OWNER, data=data))
    receipt, _ = b.send(counter, data)
    assert called.gas_used == receipt.gas_used


def test_reverts_to_a_snapshot_and_mines_the_same_block_again(bench: MakeBench) -> None:
    b = bench()
    counter = b.deploy("Counter")
    kept = b.chain.snapshot()
    data = load_artifact("Counter").encode_call("add", 5)
    b.send(counter, data)
    mined = b.chain.head.hash
    b.chain.revert(kept)
    assert b.read("Counter", counter, "number") == 0
    b.send(counter, data)
    assert b.chain.head.hash == mined
    with pytest.raises(ConfigError, match=r"unknown snapshot 0 \(existing: none\)"):
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
    """A byte model that generates its own name."""

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
        pytest.param(FakeFacts(digest=bytes(32)), "genesis has SHA", id="another file"),
        pytest.param(FakeFacts(context_tokens=100), "genesis has a context of", id="small context"),
        pytest.param(FakeFacts(fingerprint='{"canary":"b"}'), "the chain's is", id="other build"),
    ],
)
def test_refuses_a_model_that_genesis_does_not_name(facts: FakeFacts, message: str) -> None:
    config = ChainConfig(models=(PROFILE,), profile_fingerprint='{"canary":"a"}')
    Chain(config, {"bytes": DescribedModel(FakeFacts())})
    Chain(config, {"bytes": DescribedModel(FakeFacts(fingerprint='{"canary":""}'))})
    with pytest.raises(ConfigError, match=message):
        Chain(config, {"bytes": DescribedModel(facts)})


def copy_of(b: Bench, answers: LanguageModel) -> Chain:
    """Return a chain at the genesis of another's, with a model of its own."""
    return Chain(b.chain.config, {"bytes": answers}, accounts=b.chain.genesis_accounts)


def test_a_block_mined_here_is_imported_there(bench: MakeBench) -> None:
    b = bench()
    counter = b.deploy("Counter")
    b.send(counter, load_artifact("Counter").encode_call("add", 5))[1].raise_if_error()
    there = copy_of(b, ByteModel([]))
    watched: list[int] = []
    for number in (1, 2):
        block = b.chain.block(number)
        mined = there.import_block(
            rlp.encode(block), watch=lambda _, receipt, __: watched.append(receipt.gas_used)
        )
        assert mined.block == block
        assert mined.receipts[0].gas_used == block.header.gas_used
        assert mined.computations[0].is_success
    assert watched == [b.chain.block(number).header.gas_used for number in (1, 2)]
    assert there.head == b.chain.head
    assert mined.witness.get_slots_queried(counter) == {0}
    assert there.account(counter, [0, 1]) == GenesisAccount(
        nonce=1, code=b.chain.code(counter), storage={0: 5}
    )
    assert there.account(Address(b"\x77" * 20)) is None
    there.mine()


@pytest.mark.parametrize(
    "field", ["state_root", "receipt_root", "transaction_root", "gas_used", "bloom"]
)
def test_a_block_that_says_something_else_is_refused_and_the_field_named(
    bench: MakeBench, field: str
) -> None:
    b = bench()
    b.deploy("Counter")
    block = b.chain.block(1)
    value = block.header.as_dict()[field]
    other = bytes(32) if isinstance(value, bytes) else value + 1
    altered = block.copy(header=block.header.copy(**{field: other}))
    there = copy_of(b, ByteModel([]))
    genesis = there.head
    with pytest.raises(BlockError, match=f"block 1: {field} is .+, its header has "):
        there.import_block(rlp.encode(altered))
    assert there.head == genesis
    there.import_block(rlp.encode(block))


def test_only_the_next_block_is_imported(bench: MakeBench) -> None:
    b = bench()
    b.chain.mine()
    b.chain.mine()
    there = copy_of(b, ByteModel([]))
    with pytest.raises(InvalidBlockError) as refused:
        there.import_block(rlp.encode(b.chain.block(2)))
    assert refused.value.refusal is BlockRefusal.INVALID_BLOCK_NUMBER


@pytest.mark.parametrize("encoded", [b"", b"\xc0", b"hello", bytes(600)])
def test_what_is_no_block_is_refused(encoded: bytes) -> None:
    with pytest.raises(BlockError, match=f"{len(encoded)} bytes: not the RLP of a block"):
        Chain(ChainConfig()).import_block(encoded)


def test_a_fault_while_importing_leaves_the_chain_as_it_was(bench: MakeBench) -> None:
    class Faulty(ByteModel):
        def generate(self, request: GenerationRequest) -> Generation:
            raise EngineFault(f"died of {len(request.prompt_tokens)} tokens")

    wallet = Wallet(bench([use("ViewBalanceTool", asset="USDC"), " I end.\nFinal Answer: 500"]))
    b = wallet.bench
    b.send(wallet.agent, instruct("How much?"))[1].raise_if_error()
    there = copy_of(b, Faulty([]))
    for number in range(1, b.chain.head.block_number):
        there.import_block(rlp.encode(b.chain.block(number)))
    head = there.head
    with pytest.raises(EngineFault, match="died of"):
        there.import_block(rlp.encode(b.chain.block(b.chain.head.block_number)))
    assert there.head == head
    there.mine()


def test_genesis_has_storage() -> None:
    account = GenesisAccount(balance_wei=1, storage={2**256 - 1: 7})
    chain = Chain(ChainConfig(), accounts={STRANGER: account})
    assert chain.account(STRANGER, account.storage) == account


def test_what_a_block_does_beside_its_transactions_is_done_where_it_is_mined() -> None:
    """The history contract of EIP-2935: each block writes its parent's hash there."""
    history = GenesisAccount(nonce=1, code=HISTORY_STORAGE_CONTRACT_CODE)
    accounts = {HISTORY_STORAGE_ADDRESS: history}
    here, there = (Chain(ChainConfig(), accounts=accounts) for _ in range(2))
    mined = here.mine()
    account = here.account(HISTORY_STORAGE_ADDRESS, [0])
    assert account is not None
    assert account.storage == {0: int.from_bytes(here.genesis_hash)}
    assert there.import_block(rlp.encode(mined.block)).block == mined.block


def test_a_transaction_that_was_signed_for_another_chain_is_refused(bench: MakeBench) -> None:
    chain = bench().chain
    unsigned = chain.build_unsigned_transaction(Call(to=STRANGER, sender=OWNER, gas=21_000))
    for_another = unsigned.as_signed_transaction(OWNER_KEY, chain_id=chain.config.chain_id + 1)
    with pytest.raises(ValidationError, match="invalid chain id for signer: have 31338 want 31337"):
        chain.mine([for_another])
    assert chain.head.block_number == 0
    chain.mine([unsigned.as_signed_transaction(OWNER_KEY)])  # For any chain.
    chain.mine(
        [
            chain.build_unsigned_transaction(
                Call(to=STRANGER, sender=OWNER, gas=21_000)
            ).as_signed_transaction(OWNER_KEY, chain_id=chain.config.chain_id)
        ]
    )


def test_says_in_which_models_two_chains_differ() -> None:
    rows = MemoryRows()
    Chain(ChainConfig(models=(PROFILE,)), {"bytes": ByteModel([])}, rows=rows)
    with pytest.raises(ConfigError, match=r"its models are bytes 0x[0-9a-f]{16}… there and none"):
        Chain(ChainConfig(), rows=rows)
    pricier = replace(PROFILE, output_token_gas=PROFILE.output_token_gas + 1)
    told = (
        f"output_token_gas of model bytes is {PROFILE.output_token_gas} there and "
        f"{pricier.output_token_gas} here; start it with the options"
    )
    with pytest.raises(ConfigError, match=told):
        Chain(ChainConfig(models=(pricier,)), {"bytes": ByteModel([])}, rows=rows)
    with pytest.raises(ConfigError, match="chain_id is 31337 there and 5 here"):
        Chain(ChainConfig(models=(PROFILE,), chain_id=5), {"bytes": ByteModel([])}, rows=rows)

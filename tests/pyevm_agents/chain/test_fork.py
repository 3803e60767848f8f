"""A fork continues a block of another chain: as that chain would, and without changing it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import rlp
from eth.exceptions import HeaderNotFound
from eth.rlp.headers import BlockHeader
from eth.vm.forks.london.blocks import LondonBlockHeader
from eth.vm.forks.shanghai.blocks import ShanghaiBlockHeader
from eth_typing import Address
from eth_utils import ValidationError, keccak

from precompiles.spec import EXECUTOR_CODE
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import BlockRecord, BlockSettings, Call, Chain, GenesisAccount
from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.chain.fork_setup import ACTIVATIONS_SECONDS, choose_hardfork
from pyevm_agents.config import ChainConfig, ForkOrigin
from pyevm_agents.errors import BlockError, ConfigError, RemoteFault
from pyevm_agents.state import RemoteAccount
from pyevm_agents.vm import PRAGUE
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, OWNER_KEY, STRANGER, Bench
from tests.remote_chain import DictRemote, RemoteBlock, fork_head
from tests.test_agents import USDC_UNIT, Wallet, answer, instruct, run_results, use

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eth.abc import BlockHeaderAPI

EXECUTOR = Address(bytes(19) + b"\x19")
RICH = GenesisAccount(balance_wei=10**30)
BLOCKHASH_CODE = bytes.fromhex("5f35405f5260205ff3")
"""Returns the hash of the block whose number is the calldata."""

HASHES = Address(b"\x40" * 20)


def remote_bench(accounts: Mapping[Address, GenesisAccount] | None = None) -> Bench:
    """Return a chain to fork: an ordinary one without models."""
    hashes = GenesisAccount(code=BLOCKHASH_CODE, nonce=1)
    own = {OWNER: RICH, STRANGER: RICH, HASHES: hashes, **(accounts or {})}
    return Bench(Chain(ChainConfig(), accounts=own), ByteModel([]))


def fork(
    block: RemoteBlock,
    script: Iterable[str] | None = None,
    accounts: Mapping[Address, GenesisAccount] | None = None,
    rows: MemoryRows | None = None,
    **config: Any,  # noqa: ANN401
) -> Bench:
    """Return a fork, with a model if there is a script."""
    profiles = () if script is None else (PROFILE,)
    model = ByteModel(script or [])
    chain = Chain(
        ChainConfig(models=profiles, origin=block.origin, **config),
        {profile.name: model for profile in profiles},
        accounts=accounts,
        rows=rows,
        fork=block,
    )
    return Bench(chain, model)


def read_hash(bench: Bench, number: int) -> bytes:
    """Return BLOCKHASH of a number in the next block."""
    return bytes(bench.call(HASHES, number.to_bytes(32, "big")).output)


# -- the same transactions give the same results -- #


def test_a_fork_continues_as_the_remote_chain_does() -> None:
    remote = remote_bench()
    wallet = Wallet(remote)
    local = fork(fork_head(remote.chain))
    assert local.chain.head.hash == remote.chain.head.hash
    token = load_artifact("DemoToken")
    transfer = token.encode_call("transfer", STRANGER, 7 * USDC_UNIT)
    withdraw = load_artifact("WalletAccount").encode_call(
        "ownerDeposit", wallet.usdc, 1_000 * USDC_UNIT
    )
    for to, data in (
        (wallet.usdc, transfer),
        (wallet.account, withdraw),
        (None, token.encode_creation("A", "A", 6, 10**30)),
        (wallet.usdc, transfer),
    ):
        (theirs, _), (ours, _) = remote.send(to, data), local.send(to, data)
        assert ours == theirs
    for address in (OWNER, STRANGER, wallet.usdc, wallet.pool, wallet.account):
        assert local.chain.balance(address) == remote.chain.balance(address)
        assert local.chain.nonce(address) == remote.chain.nonce(address)
        assert local.chain.code(address) == remote.chain.code(address)
        slots = range(8)
        assert local.chain.account(address, slots) == remote.chain.account(address, slots)
    call = Call(to=wallet.usdc, sender=OWNER, data=transfer)
    assert local.chain.estimate_gas(call) == remote.chain.estimate_gas(call)


def test_an_agent_acts_on_the_contracts_of_the_remote_chain() -> None:
    remote = remote_bench()
    wallet = Wallet(remote)
    before = wallet.balances()
    local = fork(
        fork_head(remote.chain),
        [use("DeployTool", asset="USDC", amount=10), answer("Deposited.")],
    )
    wallet.bench = local
    receipt, computation = local.send(wallet.agent, instruct("Deposit 10 USDC"))
    computation.raise_if_error()
    assert [answer for _, answer in run_results(receipt)] == ["Deposited."]
    assert wallet.balances() == (990 * USDC_UNIT, 510 * USDC_UNIT)
    wallet.bench = remote
    assert wallet.balances() == before


def test_reads_their_order_and_a_cold_cache_change_no_block() -> None:
    remote = remote_bench()
    wallet = Wallet(remote)
    transfer = load_artifact("DemoToken").encode_call("transfer", STRANGER, USDC_UNIT)
    block = fork_head(remote.chain)
    hashes = []
    for reads in ([], [wallet.pool, OWNER, wallet.usdc], [wallet.usdc, EXECUTOR, wallet.pool]):
        local = fork(block)
        for address in reads:
            local.chain.account(address, range(4))
            local.chain.call(Call(to=wallet.usdc, sender=OWNER, data=transfer))
        local.send(wallet.usdc, transfer)
        local.send(wallet.usdc, transfer)
        hashes.append(local.chain.head.hash)
    assert len(set(hashes)) == 1


def test_blocks_of_a_fork_are_drafted_and_executed_again() -> None:
    remote = remote_bench()
    wallet = Wallet(remote)
    local = fork(
        fork_head(remote.chain),
        [use("DeployTool", asset="USDC", amount=10), answer("Deposited.")] * 3,
    )
    chain = local.chain
    unsigned = chain.build_unsigned_transaction(
        Call(to=wallet.agent, sender=OWNER, data=instruct("Deposit 10 USDC"))
    )
    signed = unsigned.as_signed_transaction(OWNER_KEY, chain_id=chain.config.chain_id)
    draft = chain.draft_block([signed], chain.build_next_header())
    mined = chain.mine([signed])
    assert draft.head.hash == mined.block.hash
    receipt, computation = chain.replay(chain.block_with_receipts(chain.head), 0)
    assert (receipt, computation.output) == (mined.receipts[0], mined.computations[0].output)
    trace = chain.find_agent_trace(signed.hash)
    assert trace is not None
    assert [step.decision.action for step in trace.steps] == ["DeployTool", None]
    chain.rollback(chain.first_number)
    receipt, _ = chain.replay(BlockRecord(block=mined.block, receipts=mined.receipts), 0)
    assert receipt == mined.receipts[0]


# -- the first local block -- #


def test_the_first_block_has_the_configurations_digest() -> None:
    local = fork(fork_head(remote_bench().chain))
    number = local.chain.head.block_number
    first = local.chain.mine().block.header
    second = local.chain.mine().block.header
    assert first.extra_data == local.chain.config.digest
    assert first.parent_hash == local.chain.config.origin.block_hash  # type: ignore[union-attr]
    assert (first.block_number, second.extra_data) == (number + 1, b"")


def test_another_origin_has_another_first_block() -> None:
    remote = remote_bench()
    remote.chain.mine()
    block = fork_head(remote.chain)
    other = replace(block, chain_id=2)
    assert fork(block).chain.mine().block.hash != fork(other).chain.mine().block.hash


def test_base_fee_and_blob_gas_follow_from_the_remote_header() -> None:
    remote = remote_bench()
    remote.send(STRANGER, b"")
    header = remote.chain.head.copy(
        gas_used=remote.chain.head.gas_limit, excess_blob_gas=2**20, blob_gas_used=2**20
    )
    block = RemoteBlock(header, fork_head(remote.chain).state)
    first = fork(block).chain.build_next_header()
    wanted = PRAGUE.vm_class.create_header_from_parent(header)
    assert header.base_fee_per_gas is not None
    assert first.base_fee_per_gas == wanted.base_fee_per_gas == header.base_fee_per_gas * 9 // 8
    assert first.excess_blob_gas == wanted.excess_blob_gas > 0


def old_header(kind: str) -> BlockHeaderAPI:
    """Return a block's header of an earlier fork."""
    fields: dict[str, Any] = {
        "difficulty": 0,
        "block_number": 100,
        "gas_limit": 10_000_000,
        "timestamp": 1_600_000_000,
        "state_root": keccak(b"remote"),
        "parent_hash": keccak(b"parent"),
    }
    if kind == "frontier":
        return BlockHeader(**fields | {"difficulty": 5})
    if kind == "london":
        return LondonBlockHeader(**fields, base_fee_per_gas=7 * 10**9)
    return ShanghaiBlockHeader(**fields, base_fee_per_gas=7 * 10**9)


@pytest.mark.parametrize(
    ("kind", "base_fee_wei"),
    [("frontier", 10**9), ("london", 6_125_000_000), ("shanghai", 6_125_000_000)],
)
def test_a_block_of_an_earlier_fork_can_be_continued(kind: str, base_fee_wei: int) -> None:
    header = old_header(kind)
    block = RemoteBlock(header, DictRemote(accounts={OWNER: RemoteAccount(3, 10**30, b"")}))
    rows = MemoryRows()
    local = fork(block, rows=rows)
    assert local.chain.head.hash == header.hash
    assert local.chain.call(Call(to=STRANGER, sender=OWNER), header=header).gas_used == 21_000
    assert local.chain.estimate_gas(Call(to=STRANGER, sender=OWNER)) == 21_000
    receipt, _ = local.send(STRANGER, b"", value_wei=5)
    assert receipt.state_root == b"\x01"
    mined = local.chain.head
    assert (mined.base_fee_per_gas, mined.excess_blob_gas) == (base_fee_wei, 0)
    assert fork(block, rows=rows).chain.head.hash == mined.hash
    again = fork(block)
    again.chain.import_block(rlp.encode(local.chain.block(101)))
    assert again.chain.head.hash == mined.hash


# -- hashes of blocks -- #


def test_blockhash_reaches_below_the_fork_block() -> None:
    remote = remote_bench()
    for _ in range(260):
        remote.chain.mine()
    block = fork_head(remote.chain)
    local = fork(block)
    fork_number = remote.chain.head.block_number
    for _ in range(2):
        remote.chain.mine(settings=BlockSettings(prev_randao=bytes(32)))
        local.chain.mine()
    head = local.chain.head.block_number
    for number in (fork_number, fork_number - 1, fork_number - 2, head - 255):
        assert read_hash(local, number) == remote.chain.header(number).hash
    assert read_hash(local, head) == local.chain.head.hash
    assert read_hash(local, head - 256) == read_hash(local, head + 1) == bytes(32)
    # One read for a hash, and none for the two that the fork block's header has.
    numbers = [read for read in block.state.reads if isinstance(read, int)]
    assert numbers == [fork_number - 2, head - 255]


def test_blockhash_of_a_block_before_the_first_is_zero() -> None:
    remote = remote_bench()
    block = fork_head(remote.chain)
    local = fork(block)
    local.chain.mine()
    assert read_hash(local, 2**256 - 1) == bytes(32)
    assert read_hash(local, 0) == remote.chain.header(0).hash


# -- what is not here -- #


def test_blocks_below_the_fork_block_are_not_here() -> None:
    remote = remote_bench()
    remote.chain.mine()
    local = fork(fork_head(remote.chain)).chain
    for ask in (lambda: local.header(0), lambda: local.genesis_hash, lambda: local.block(0)):
        with pytest.raises(HeaderNotFound, match="the fork begins at block 1; ask the remote"):
            ask()
    assert local.header(1).hash == remote.chain.head.hash
    with pytest.raises(HeaderNotFound, match="it is the fork block; ask the remote chain"):
        local.block(1)
    assert local.first_number == 1
    with pytest.raises(HeaderNotFound):
        local.rollback(0)


def test_a_remote_chain_that_fails_leaves_the_fork_unchanged() -> None:
    remote = remote_bench()
    block = fork_head(remote.chain)
    local = fork(block)
    head, root = local.chain.head, local.chain.state_root(local.chain.head)
    block.state.is_gone = True
    with pytest.raises(RemoteFault, match="connection refused"):
        local.send(STRANGER, b"", value_wei=1)
    block.state.is_gone = False
    assert (local.chain.head, local.chain.state_root(head)) == (head, root)
    local.send(STRANGER, b"", value_wei=1)
    assert local.chain.balance(STRANGER) == RICH.balance_wei + 1


# -- the state that a fork starts from -- #


def test_an_account_of_the_fork_keeps_nonce_code_and_slots_of_the_remote_one() -> None:
    remote = remote_bench(
        {STRANGER: GenesisAccount(balance_wei=5, nonce=3, code=b"\x00", storage={1: 2})}
    )
    local = fork(fork_head(remote.chain), accounts={STRANGER: GenesisAccount(balance_wei=9)})
    assert local.chain.account(STRANGER, [1]) == GenesisAccount(
        balance_wei=9, nonce=3, code=b"\x00", storage={1: 2}
    )


def test_the_state_after_the_fork_block_stays_the_first_one() -> None:
    block = fork_head(remote_bench().chain)
    local = fork(block, accounts={STRANGER: GenesisAccount(balance_wei=9)}).chain
    header = local.head
    root = local.state_root(header)
    snapshot = local.snapshot()
    bench = Bench(local, ByteModel([]))
    bench.send(STRANGER, b"", value_wei=1)
    bench.send(STRANGER, b"", value_wei=1)
    assert local.state_root(header) == root == local.state_root_before(local.header(1))
    assert local.state(header).get_balance(STRANGER) == 9
    local.rollback(0)
    assert (local.balance(STRANGER), local.state_root(header)) == (9, root)
    bench.send(STRANGER, b"", value_wei=1)
    local.revert(snapshot)
    assert (local.balance(STRANGER), local.head.hash) == (9, header.hash)
    local.patch_state(lambda state: state.set_balance(STRANGER, 10))
    bench.send(STRANGER, b"", value_wei=1)
    assert local.state(header).get_balance(STRANGER) == 10
    local.rollback(0)
    assert local.balance(STRANGER) == 9


def test_other_code_at_the_executors_address_is_refused() -> None:
    block = fork_head(remote_bench().chain)
    account = RemoteAccount(1, 0, b"\x00\x01")
    taken = RemoteBlock(block.header, DictRemote(accounts={EXECUTOR: account}))
    with pytest.raises(ConfigError, match="2 bytes of code at block 0 of chain 1: must have none"):
        fork(taken, [])
    assert fork(taken).chain.code(EXECUTOR) == account.code


@pytest.mark.parametrize("code", [b"", EXECUTOR_CODE])
def test_ether_at_the_executors_address_stays(code: bytes) -> None:
    block = fork_head(remote_bench().chain)
    account = RemoteAccount(0, 7, code)
    taken = RemoteBlock(block.header, DictRemote(accounts={EXECUTOR: account}))
    local = fork(taken, []).chain
    assert (local.balance(EXECUTOR), local.code(EXECUTOR)) == (7, EXECUTOR_CODE)


def test_the_executor_of_a_fork_is_part_of_its_first_state() -> None:
    block = fork_head(remote_bench().chain)
    with_models, without = fork(block, []).chain, fork(block).chain
    assert with_models.code(EXECUTOR) != without.code(EXECUTOR) == b""
    assert with_models.state_root(with_models.head) != without.state_root(without.head)


# -- opening it again -- #


def test_a_stored_fork_is_opened_again() -> None:
    remote, rows = remote_bench(), MemoryRows()
    block = fork_head(remote.chain)
    local = fork(block, rows=rows)
    local.send(STRANGER, b"", value_wei=1)
    again = fork(block, rows=rows)
    assert again.chain.head.hash == local.chain.head.hash
    assert again.chain.balance(STRANGER) == local.chain.balance(STRANGER)
    again.chain.rollback(0)
    assert again.chain.balance(STRANGER) == remote.chain.balance(STRANGER)


def test_a_stored_fork_is_opened_with_its_own_fork_only() -> None:
    remote, rows = remote_bench(), MemoryRows()
    block = fork_head(remote.chain)
    config = fork(block, rows=rows).chain.config
    with pytest.raises(ConfigError, match=r"a fork of chain 31337 at block 0 .* --fork-block-num"):
        Chain(config, rows=rows)
    remote.chain.mine()
    later = fork_head(remote.chain)
    with pytest.raises(ConfigError, match=r"at block 0 .*, not a fork of chain 31337 at block 1"):
        fork(later, rows=rows)
    with pytest.raises(ConfigError, match=r"at block 0 .*, not a fork of chain 31337 at block 1"):
        Chain(config, rows=rows, fork=later)
    with pytest.raises(ConfigError, match="without an origin, opened as a fork of chain 31337"):
        Chain(ChainConfig(), fork=block)
    with pytest.raises(ConfigError, match="the fork stored there starts from state 0x"):
        fork(block, rows=rows, accounts={STRANGER: GenesisAccount(balance_wei=1)})


# -- imports -- #


def test_the_first_block_of_another_configuration_is_not_imported() -> None:
    block = fork_head(remote_bench().chain)
    local = fork(block)
    encoded = rlp.encode(local.chain.mine().block)
    other = fork(block, base_fee_wei=7)
    with pytest.raises(BlockError, match=r"extraData .*: must be the chain configuration's digest"):
        other.chain.import_block(encoded)


def test_the_first_block_may_have_any_gas_limit_and_not_any_base_fee() -> None:
    block = fork_head(remote_bench().chain)
    local = fork(block, block_gas_limit=90_000_000)
    encoded = rlp.encode(local.chain.mine().block)
    again = fork(block, block_gas_limit=90_000_000)
    assert again.chain.import_block(encoded).block.hash == local.chain.head.hash
    cheap = fork(block)
    encoded = rlp.encode(cheap.chain.mine(settings=BlockSettings(base_fee_wei=1)).block)
    with pytest.raises(BlockError, match="base_fee_per_gas is 1000000000, its header has 1"):
        fork(block).chain.import_block(encoded)


# -- rules -- #


@pytest.mark.parametrize("chain_id", sorted(ACTIVATIONS_SECONDS))
def test_the_hard_fork_is_that_of_the_fork_block(chain_id: int) -> None:
    origin = ForkOrigin(chain_id=chain_id, block_number=100, block_hash=bytes(32))
    header, before = old_header("shanghai"), "cancun"
    assert [*ACTIVATIONS_SECONDS[chain_id]] == ["prague", "osaka", "bpo1", "bpo2"]
    for name, seconds in ACTIVATIONS_SECONDS[chain_id].items():
        assert choose_hardfork(origin, header.copy(timestamp=seconds - 1)) == before
        assert choose_hardfork(origin, header.copy(timestamp=seconds)) == name
        before = name
    assert choose_hardfork(replace(origin, chain_id=31_337), header) == "prague"


def test_a_transaction_is_signed_for_the_forks_own_chain_id() -> None:
    block = fork_head(remote_bench().chain)
    local = fork(block, chain_id=5)
    unsigned = local.chain.build_unsigned_transaction(Call(to=STRANGER, sender=OWNER))
    with pytest.raises(ValidationError, match="want 5"):
        local.chain.mine([unsigned.as_signed_transaction(OWNER_KEY, chain_id=31_337)])

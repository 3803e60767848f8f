"""Execution witnesses: a block can be executed from its witness alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth._utils.address import generate_contract_address
from eth.consensus.context import ConsensusContext
from eth.constants import BLANK_ROOT_HASH
from eth.db.account import AccountDB
from eth.db.atomic import AtomicDB
from eth.db.backends.memory import MemoryDB
from eth.db.chain import ChainDB
from eth.vm.chain_context import ChainContext
from eth.vm.interrupt import EVMMissingData
from eth_typing import Address
from eth_utils import ValidationError, keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.tracing.witness import ExecutionWitness, build_execution_witness
from pyevm_agents.vm import PragueAgentVM, WatchedVM
from tests.pyevm_agents.node.senders_of_tests import ADDRESSES, transaction
from tests.pyevm_agents.rpc.contracts_to_trace import CODES, COUNTER_ADDRESS, INITCODE
from tests.pyevm_agents.tracing.assembler import asm

if TYPE_CHECKING:
    from eth.abc import BlockAPI, SignedTransactionAPI

WRITER = Address(b"\xa1" * 20)
HASHES = Address(b"\xa2" * 20)
CODE_OF = {
    **CODES,
    WRITER: asm("0x20 CALLDATALOAD PUSH0 CALLDATALOAD SSTORE"),
    HASHES: asm("0x03 NUMBER SUB BLOCKHASH PUSH0 SSTORE"),
}


def new_chain() -> Chain:
    accounts = {one: GenesisAccount(balance_wei=10**20) for one in ADDRESSES}
    accounts |= {
        one: GenesisAccount(code=code, storage=dict.fromkeys(range(20), 7))
        for one, code in CODE_OF.items()
    }
    return Chain(ChainConfig(), accounts=accounts)


def words(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(32, "big") for number in numbers)


def executed(chain: Chain, block: BlockAPI, witness: ExecutionWitness) -> BlockAPI:
    """Execute a block on the rows of its witness alone."""
    contents = (*witness.nodes, *witness.codes, *witness.headers)
    db = AtomicDB(MemoryDB({keccak(content): content for content in contents}))
    plain = PragueAgentVM.configure(
        _state_class=PragueAgentVM._state_class.configure(account_db_class=AccountDB)  # noqa: SLF001 - so does py-evm
    )
    vm = plain(
        header=block.header.copy(
            gas_used=0,
            blob_gas_used=0,
            state_root=chain.state_root_before(block.header),
            transaction_root=BLANK_ROOT_HASH,
            receipt_root=BLANK_ROOT_HASH,
        ),
        chaindb=ChainDB(db),
        chain_context=ChainContext(chain.config.chain_id),
        consensus_context=ConsensusContext(db),
    )
    assert isinstance(vm, WatchedVM)
    vm.is_own_block = True
    return vm.import_block(block).block


def mined(chain: Chain, *transactions: SignedTransactionAPI) -> BlockAPI:
    return chain.mine(transactions).block


def test_a_block_executes_on_its_witness_alone() -> None:
    chain = new_chain()
    mined(chain, transaction(nonce=0))
    block = mined(
        chain,
        transaction(nonce=1, to=COUNTER_ADDRESS, gas=100_000),
        transaction(nonce=2, to=None, data=INITCODE, gas=200_000),
        transaction(sender=1, nonce=0),
    )
    witness = build_execution_witness(chain, chain.block_with_receipts(block.header))
    assert executed(chain, block, witness) == block
    assert CODES[COUNTER_ADDRESS] in witness.codes
    assert {bytes(COUNTER_ADDRESS), words(0)} <= set(witness.keys)
    assert [keccak(header) for header in witness.headers] == [block.header.parent_hash]


def test_a_creation_where_storage_is_executes_on_its_witness_alone() -> None:
    """py-evm's account database reports the collision as well (EIP-7610)."""
    occupied = generate_contract_address(ADDRESSES[0], 0)
    accounts = {
        ADDRESSES[0]: GenesisAccount(balance_wei=10**20),
        occupied: GenesisAccount(storage={1: 2}),
    }
    chain = Chain(ChainConfig(), accounts=accounts)
    block = mined(chain, transaction(to=None, data=INITCODE, gas=200_000))
    assert block.header.gas_used == 200_000
    witness = build_execution_witness(chain, chain.block_with_receipts(block.header))
    assert executed(chain, block, witness) == block


def test_without_one_of_its_nodes_it_does_not() -> None:
    chain = new_chain()
    block = mined(chain, transaction(to=COUNTER_ADDRESS, gas=100_000))
    witness = build_execution_witness(chain, chain.block_with_receipts(block.header))
    for left_out in witness.nodes:
        rest = tuple(node for node in witness.nodes if node != left_out)
        less = ExecutionWitness(
            nodes=rest, codes=witness.codes, keys=witness.keys, headers=witness.headers
        )
        with pytest.raises((KeyError, EVMMissingData, ValidationError)):
            executed(chain, block, less)


def test_headers_go_back_as_far_as_blockhash_asks() -> None:
    chain = new_chain()
    for nonce in range(5):
        mined(chain, transaction(nonce=nonce))
    block = mined(chain, transaction(nonce=5, to=HASHES, gas=100_000))
    witness = build_execution_witness(chain, chain.block_with_receipts(block.header))
    assert [keccak(header) for header in witness.headers] == [
        chain.header(number).hash for number in (3, 4, 5)
    ]
    assert executed(chain, block, witness) == block


def test_what_was_set_beside_the_rules_is_in_the_state_it_begins_with() -> None:
    chain = new_chain()
    chain.patch_state(lambda state: state.set_balance(ADDRESSES[1], 5))
    block = mined(chain, transaction())
    assert (
        executed(
            chain, block, build_execution_witness(chain, chain.block_with_receipts(block.header))
        )
        == block
    )


SLOTS = st.lists(st.tuples(st.integers(0, 25), st.sampled_from([0, 7, 9])), max_size=6)


@settings(max_examples=15)
@given(SLOTS)
def test_slots_that_are_written_and_emptied_take_their_neighbours(
    written: list[tuple[int, int]],
) -> None:
    chain = new_chain()
    block = mined(
        chain,
        *(
            transaction(nonce=nonce, to=WRITER, data=words(slot, value), gas=100_000)
            for nonce, (slot, value) in enumerate(written)
        ),
    )
    assert (
        executed(
            chain, block, build_execution_witness(chain, chain.block_with_receipts(block.header))
        )
        == block
    )

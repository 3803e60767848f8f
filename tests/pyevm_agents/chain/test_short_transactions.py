"""A short transaction is mined at once; any other leaves the chain unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from eth.vm.forks.prague.constants import WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS
from eth_typing import Address

from pyevm_agents.chain import BlockSettings, Chain, GenesisAccount
from pyevm_agents.chain.database import MemoryRows
from pyevm_agents.chain.simulator import SHORT_GAS
from pyevm_agents.chain.transactions import DYNAMIC_FEE_TYPE, TransactionFields, sign
from pyevm_agents.config import ChainConfig
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, OWNER_KEY
from tests.golden.byte_chain import EXECUTOR
from tests.golden.consensus import encode_request
from tests.pyevm_agents.tracing.assembler import asm
from tests.remote_chain import fork_head

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eth.abc import SignedTransactionAPI

CONTRACT, OTHER = Address(b"\xcc" * 20), Address(b"\xdd" * 20)
RICH = GenesisAccount(balance_wei=10**30)
CALLS_AGENT = asm("PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 0x19 GAS CALL")
CODES = {
    "nothing": b"",
    "stores": asm("0x05 PUSH0 SSTORE"),
    "logs": asm("0x07 0x20 PUSH0 LOG1"),
    "reverts": asm("PUSH0 PUSH0 REVERT"),
    "runs out of gas": asm("JUMPDEST PUSH0 JUMP"),
    "calls the agent": CALLS_AGENT,
    "calls another": asm("PUSH0 PUSH0 PUSH0 PUSH0 0x" + OTHER.hex() + " GAS STATICCALL"),
    "calls a precompile": asm("PUSH0 PUSH0 PUSH0 PUSH0 0x04 GAS STATICCALL"),
    "creates": asm("PUSH0 PUSH0 PUSH0 CREATE"),
}
SHORT = ("nothing", "stores", "logs", "reverts", "runs out of gas")


def open_chain(code: bytes = b"", others: Mapping[Address, GenesisAccount] | None = None) -> Chain:
    """Return a chain with a model that must not be asked."""
    return Chain(
        ChainConfig(models=(PROFILE,)),
        {PROFILE.name: ByteModel([])},
        accounts={OWNER: RICH, CONTRACT: GenesisAccount(code=code, nonce=1), **(others or {})},
        rows=MemoryRows(),
    )


def make(chain: Chain, **fields: Any) -> SignedTransactionAPI:  # noqa: ANN401
    told: dict[str, Any] = {
        "kind": DYNAMIC_FEE_TYPE,
        "nonce": chain.nonce(OWNER),
        "gas": SHORT_GAS,
        "to": CONTRACT,
        "max_fee_wei": 10**10,
    }
    return sign(TransactionFields(**(told | fields)), OWNER_KEY, chain.config.chain_id)


def list_rows(chain: Chain) -> Sequence[tuple[bytes, bytes]]:
    return chain._db._rows.list_rows(b"")  # noqa: SLF001 - all rows, which a chain does not show


def require_not_short(chain: Chain, transaction: SignedTransactionAPI) -> None:
    """Require that a transaction is not mined at once, and that the chain is as before."""
    before, head = list_rows(chain), chain.head
    assert chain.mine_if_short(transaction, BlockSettings()) is None
    assert chain.head is head
    assert list_rows(chain) == before


@pytest.mark.parametrize("name", CODES)
def test_what_calls_nobody_is_short(name: str) -> None:
    chain = open_chain(CODES[name])
    transaction = make(chain)
    if name not in SHORT:
        for _ in range(2):  # The second time, without an execution.
            require_not_short(chain, transaction)
        return
    mined = chain.mine_if_short(transaction, BlockSettings())
    assert mined is not None
    assert chain.head.hash == mined.block.hash
    other = open_chain(CODES[name])
    assert other.mine([make(other)]).block.hash == mined.block.hash


def test_an_agent_a_precompile_and_much_gas_are_not_short() -> None:
    chain = open_chain()
    identity = Address(b"\x04".rjust(20, b"\0"))
    require_not_short(chain, make(chain, to=EXECUTOR, data=encode_request()))
    require_not_short(chain, make(chain, to=identity))
    require_not_short(chain, make(chain, gas=SHORT_GAS + 1))


@pytest.mark.parametrize("fields", [{"nonce": 1}, {"value_wei": 10**31}, {"gas": 20_999}])
def test_an_invalid_transaction_is_left_to_whoever_says_why(fields: dict[str, int]) -> None:
    chain = open_chain()
    require_not_short(chain, make(chain, **fields))


def test_nothing_is_short_where_a_block_ends_with_a_contract() -> None:
    """The contract of EIP-7002 has 30 million gas."""
    endless = GenesisAccount(code=CODES["runs out of gas"], nonce=1)
    chain = open_chain(b"", {WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS: endless})
    require_not_short(chain, make(chain))


def test_nothing_is_short_on_a_fork() -> None:
    block = fork_head(Chain(ChainConfig(), accounts={OWNER: RICH}))
    chain = Chain(ChainConfig(origin=block.origin), fork=block)
    block.state.is_gone = True  # No account can be read.
    assert chain.mine_if_short(make(open_chain()), BlockSettings()) is None

"""py-evm alone, in this process: the base that `benchmarks.node` compares our node with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eth.chains.base import MiningChain
from eth.consensus.noproof import NoProofConsensus
from eth.constants import ZERO_ADDRESS, ZERO_HASH32
from eth.db.atomic import AtomicDB
from eth.vm.forks.prague import PragueVM
from eth.vm.spoof import SpoofTransaction
from eth_typing import BlockNumber
from eth_utils import to_canonical_address

from benchmarks.node_asks import ACCOUNTS, CHAIN_ID, DEPLOY_GAS, Ask
from pyevm_agents.chain.genesis import GenesisAccount, build_genesis_state

if TYPE_CHECKING:
    from collections.abc import Callable

GAS_LIMIT = 30_000_000


class PyEvmAlone:
    """A chain of py-evm's own classes that mines each transaction."""

    def __init__(self) -> None:
        """Start at genesis."""
        vm_class = type("BareVM", (PragueVM,), {"consensus_class": NoProofConsensus})
        chain_class = MiningChain.configure(
            __name__="BareChain",
            vm_configuration=((BlockNumber(0), vm_class),),
            chain_id=CHAIN_ID,
        )
        accounts = {address: GenesisAccount(balance_wei=10**22) for address in ACCOUNTS}
        header: dict[str, Any] = {
            "difficulty": 0,
            "gas_limit": GAS_LIMIT,
            "timestamp": 1_700_000_000,
            "coinbase": ZERO_ADDRESS,
            "mix_hash": ZERO_HASH32,
            "nonce": bytes(8),
            "base_fee_per_gas": 10**9,
        }
        self._chain: Any = chain_class.from_genesis(
            AtomicDB(), header, build_genesis_state(accounts)
        )
        self._answers: dict[str, Callable[..., None]] = {
            "eth_sendRawTransaction": self._send,
            "eth_call": self._call,
            "eth_estimateGas": self._estimate,
        }

    def ask(self, ask: Ask) -> None:
        """Execute a request."""
        self._answers[ask.method](*ask.params)

    def _send(self, raw: str) -> None:
        builder = self._chain.get_vm().get_transaction_builder()
        transaction = builder.decode(bytes.fromhex(raw[2:]))
        _, _, (computation,) = self._chain.mine_all([transaction])
        computation.raise_if_error()

    def _call(self, message: dict[str, str], _block: str) -> None:
        head = self._chain.get_canonical_head()
        self._chain.get_transaction_result(self._spoof_sender(message), head)

    def _estimate(self, message: dict[str, str]) -> None:
        self._chain.estimate_gas(self._spoof_sender(message))

    def _spoof_sender(self, message: dict[str, str]) -> Any:  # noqa: ANN401 - py-evm's has no type
        sender = to_canonical_address(message["from"])
        unsigned = self._chain.create_unsigned_transaction(
            nonce=self._chain.get_vm().state.get_nonce(sender),
            gas_price=10**10,
            gas=DEPLOY_GAS,
            to=to_canonical_address(message["to"]),
            value=0,
            data=bytes.fromhex(message["data"][2:]),
        )
        return SpoofTransaction(unsigned, from_=sender)

"""A chain with a scripted byte model, and an account to send from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from precompiles.gas import DEFAULT_SCHEDULE
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_FORK, ChainConfig
from pyevm_agents.vm import AgentComputation
from tests.byte_model import PROFILE, ByteModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eth.abc import ComputationAPI, ReceiptAPI

    from precompiles.gas import GasSchedule
    from precompiles.language_model import GenerationRequest, ModelProfile

OWNER_KEY = PrivateKey(b"\x01" * 32)
OWNER = Address(OWNER_KEY.public_key.to_canonical_address())
STRANGER_KEY = PrivateKey(b"\x02" * 32)
STRANGER = Address(STRANGER_KEY.public_key.to_canonical_address())


@dataclass
class Bench:
    """A chain, its model, and short ways to deploy, send and call."""

    chain: Chain
    model: ByteModel

    def send(
        self,
        to: Address | None,
        data: bytes,
        *,
        gas: int | None = None,
        value_wei: int = 0,
        key: PrivateKey = OWNER_KEY,
    ) -> tuple[ReceiptAPI, ComputationAPI]:
        sender = Address(key.public_key.to_canonical_address())
        call = Call(to=to, sender=sender, data=data, gas=gas, value_wei=value_wei)
        unsigned = self.chain.build_unsigned_transaction(call)
        signed = unsigned.as_signed_transaction(key, chain_id=self.chain.config.chain_id)
        mined = self.chain.mine([signed])
        return mined.receipts[0], mined.computations[0]

    def deploy(self, name: str, *arguments: object) -> Address:
        receipt, computation = self.send(None, load_artifact(name).encode_creation(*arguments))
        assert receipt.state_root == b"\x01", computation.error
        return computation.msg.storage_address

    def call(
        self, to: Address, data: bytes, *, gas: int | None = None, value_wei: int = 0
    ) -> AgentComputation:
        call = Call(to=to, sender=OWNER, data=data, gas=gas, value_wei=value_wei)
        computation = self.chain.call(call).computation
        assert isinstance(computation, AgentComputation)
        return computation

    def read(self, name: str, address: Address, function: str, *arguments: object) -> Any:  # noqa: ANN401
        contract = load_artifact(name)
        computation = self.call(address, contract.encode_call(function, *arguments))
        computation.raise_if_error()
        return contract.decode_result(function, computation.output)


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Make a chain whose model generates the given texts; `codes` are accounts of genesis."""

    def make(
        script: Iterable[str] | Callable[[GenerationRequest], str] = (),
        *,
        profile: ModelProfile = PROFILE,
        schedule: GasSchedule = DEFAULT_SCHEDULE,
        block_gas_limit: int = 30_000_000,
        codes: Mapping[Address, bytes] | None = None,
        fork: str = DEFAULT_FORK,
    ) -> Bench:
        model = ByteModel(script)
        config = ChainConfig(
            models=(profile,), schedule=schedule, block_gas_limit=block_gas_limit, fork=fork
        )
        accounts = {
            OWNER: GenesisAccount(balance_wei=10**30),
            STRANGER: GenesisAccount(balance_wei=10**30),
        }
        for address, code in (codes or {}).items():
            accounts[address] = GenesisAccount(code=code, nonce=1)
        return Bench(Chain(config, {profile.name: model}, accounts=accounts), model)

    return make

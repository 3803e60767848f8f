"""A small chain with a scripted model, and its fixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from precompiles.gas import DEFAULT_SCHEDULE, GasSchedule
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import Call, Chain, GenesisAccount
from pyevm_agents.config import DEFAULT_FORK, ChainConfig
from pyevm_agents.models import CachingModel
from pyevm_agents.recordings import Fixture, record_chain
from tests.byte_model import PROFILE, ByteModel
from tests.chain_bench import OWNER, OWNER_KEY, STRANGER, Bench
from tests.test_agents import agent, answer, use

if TYPE_CHECKING:
    from eth_typing import Address

SCRIPT = [
    use("CounterTool", amount=7),
    answer("It is 7."),
    use("CounterTool", amount=1),
    answer("8"),
]
"""Two runs of two steps each."""


def run_call(prompt: str) -> bytes:
    data = encode(["string"], [prompt])
    return load_artifact("SimpleAgent").encode_call("run", ([(0, data)], data), bytes(20))


def make_chain(
    schedule: GasSchedule = DEFAULT_SCHEDULE, *, fork: str = DEFAULT_FORK
) -> tuple[Chain, Address, Address]:
    """Deploy a counter and its agent; in one block, run it twice and once with too little gas."""
    config = ChainConfig(models=(PROFILE,), schedule=schedule, fork=fork)
    model = CachingModel(ByteModel(SCRIPT), digest=PROFILE.digest, fingerprint="")
    accounts = {
        OWNER: GenesisAccount(balance_wei=10**30),
        STRANGER: GenesisAccount(balance_wei=1, storage={3: 4}, nonce=1),
    }
    chain = Chain(config, {"bytes": model}, accounts=accounts)
    bench = Bench(chain, ByteModel([]))
    counter = bench.deploy("CounterTool")
    counting = agent(bench, "count", counter)
    nonce = chain.nonce(OWNER)
    signed = [
        chain.build_unsigned_transaction(
            Call(to=counting, sender=OWNER, data=run_call(text), gas=gas)
        )
        .copy(nonce=nonce + index)
        .as_signed_transaction(OWNER_KEY, chain_id=config.chain_id)
        for index, (text, gas) in enumerate(
            [("Add 7", 12_000_000), ("Add 1", 12_000_000), ("Add 1", 5_000_000)]
        )
    ]
    chain.mine(signed)
    chain.mine()
    return chain, counter, counting


@pytest.fixture(scope="session")
def small() -> Fixture:
    """A fixture of four blocks: two deployments, one with three runs, an empty one."""
    chain, _, _ = make_chain()
    return record_chain(chain, name="small", comment="Three runs of a counting agent.")

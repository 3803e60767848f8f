"""Recording of chains, and opening of fixtures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.cancun.constants import BEACON_ROOTS_ADDRESS, BEACON_ROOTS_CONTRACT_CODE
from eth.vm.forks.prague.constants import HISTORY_STORAGE_ADDRESS

from precompiles.language_model import Margin
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.chain import BlockSettings, Call, Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import build_predeploys
from pyevm_agents.errors import ConfigError, EngineFault, FixtureError
from pyevm_agents.models.fakes.recorded import RecordingModel
from pyevm_agents.recordings import (
    mine_again,
    open_chain,
    record_chain,
    record_mined_blocks,
    record_state,
)
from tests.byte_model import ByteModel
from tests.chain_bench import OWNER, OWNER_KEY, STRANGER
from tests.pyevm_agents.recordings.conftest import make_chain, run_call
from tests.test_agents import answer

if TYPE_CHECKING:
    from eth_typing import Address

    from precompiles.language_model import Generation, GenerationRequest
    from pyevm_agents.recordings import Fixture


def counted(chain: Chain, counter: Address) -> int:
    output = chain.call(
        Call(to=counter, data=load_artifact("Counter").encode_call("number"))
    ).output
    return int.from_bytes(output, "big")


def test_steps_stand_where_they_happened(small: Fixture) -> None:
    places = [(step.block, step.transaction, step.step) for step in small.steps]
    assert places[:4] == [(3, 0, 0), (3, 0, 1), (3, 1, 0), (3, 1, 1)]
    assert places[4][:2] == (3, 2)
    statuses = [t.is_success for block in small.blocks for t in block.transactions]
    assert statuses == [True, True, True, True, False]
    assert small.blocks[3].transactions == ()


def test_gas_is_of_each_transaction_alone(small: Fixture) -> None:
    block = small.blocks[2]
    assert sum(one.gas_used for one in block.transactions) == block.block.header.gas_used
    assert 4_900_000 < block.transactions[2].gas_used <= 5_000_000


def test_the_state_is_whole(small: Fixture) -> None:
    chain, counter, _ = make_chain()
    state = record_state(chain)
    assert state == small.post
    assert state[STRANGER].storage == {3: 4}
    assert state[counter].storage == {0: 8}
    assert state[counter].code == chain.code(counter)
    assert state[OWNER].nonce == 5


def test_a_chain_opens_at_its_head_and_is_recorded_the_same(small: Fixture) -> None:
    chain = open_chain(small)
    assert chain.head.block_number == 4
    assert chain.head.hash == small.blocks[-1].block.hash
    again = record_chain(chain, name=small.name, comment=small.comment)
    assert again == small


def test_mined_blocks_are_recorded_without_their_model(small: Fixture) -> None:
    chain = mine_again(small, small.config)
    seen: list[int] = []
    again = record_mined_blocks(
        chain, 4, name=small.name, comment=small.comment, on_block=seen.append
    )
    assert again == small
    assert seen == [1, 2, 3, 4]


def test_what_is_not_recorded_is_a_fault_and_the_chain_stays(small: Fixture) -> None:
    _, _, counting = make_chain()
    chain = open_chain(small)
    head = chain.head
    call = Call(to=counting, sender=OWNER, data=run_call("Add 1,000"))
    with pytest.raises(EngineFault, match="the record has no tokens for the prompt"):
        chain.call(call)
    assert chain.head == head


def test_a_model_goes_on_where_the_record_ends(small: Fixture) -> None:
    _, counter, counting = make_chain()
    model = ByteModel([answer("As you like.")])
    chain = open_chain(small, {"bytes": model})
    assert model.requests == []
    assert counted(chain, counter) == 8
    call = Call(to=counting, sender=OWNER, data=run_call("Add nothing"))
    result = chain.call(call)
    assert load_artifact("SimpleAgent").decode_result("run", result.output) == (-1, "As you like.")


def test_a_model_under_a_name_that_the_chain_lacks_is_refused(small: Fixture) -> None:
    with pytest.raises(
        ConfigError, match=r"unknown models \['byte'\]: the chain's models are \['bytes'\]"
    ):
        open_chain(small, {"byte": ByteModel([])})


def test_an_open_chain_no_longer_records(small: Fixture) -> None:
    _, _, counting = make_chain()
    chain = open_chain(small, {"bytes": ByteModel([answer("No.")])})
    (model,) = chain.models.values()
    assert isinstance(model, RecordingModel)
    before = model.exchanges
    assert chain.call(Call(to=counting, sender=OWNER, data=run_call("Add 9"))).error is None
    assert model.exchanges == before


def test_a_model_that_genesis_does_not_name_is_refused_and_the_record_offered(
    small: Fixture,
) -> None:
    class Facts:
        digest = small.config.models[0].digest
        context_tokens = small.config.models[0].context_tokens
        fingerprint = '{"canary": "of another build"}'

    class Other(ByteModel):
        profile_facts = Facts()

    with pytest.raises(ConfigError, match=r"use the chain's engine build, or replay its recording"):
        open_chain(small, {"bytes": Other([])})


def test_a_fixture_mined_again_is_the_same_fixture(small: Fixture) -> None:
    chain = mine_again(small, small.config)
    assert record_chain(chain, name=small.name, comment=small.comment) == small


def test_a_fixture_mined_again_under_another_profile_is_another_chain_that_says_the_same(
    small: Fixture,
) -> None:
    chain = mine_again(small, replace(small.config, profile_fingerprint='{"canary":"another"}'))
    other = record_chain(chain, name=small.name, comment=small.comment)
    assert other.genesis != small.genesis
    assert other.steps == small.steps
    assert other.post == small.post


def test_what_can_not_be_mined_again_says_why(small: Fixture) -> None:
    with pytest.raises(FixtureError, match="block 1 can't be mined again: "):
        mine_again(small, replace(small.config, base_fee_wei=10**20))


def test_what_is_recorded_of_a_cut_generation_is_the_same_whoever_cut_it() -> None:
    """For a generation cut out of a longer one, the forced tokens are not known."""
    margin = Margin(gap=0.5, token_index=0, chosen="a", other="b")

    class Forcing(ByteModel):
        def generate(self, request: GenerationRequest) -> Generation:
            return replace(super().generate(request), forced_tokens=1, margin=margin)

    building, _, counting = make_chain()
    profile = building.config.models[0]
    model = Forcing(lambda _: answer("It is 7."))
    chain = Chain(building.config, {profile.name: model}, accounts=record_state(building))
    call = Call(to=counting, sender=OWNER, data=run_call("Add 7"))
    gas = chain.estimate_gas(call)
    for least in (gas, gas - 1):
        unsigned = chain.build_unsigned_transaction(replace(call, gas=least))
        chain.mine([unsigned.as_signed_transaction(OWNER_KEY, chain_id=building.config.chain_id)])
    steps = record_chain(chain, name="cut", comment="Gas that is enough, and a gas too few.").steps
    said = [step.exchange.generation for step in steps]
    assert [(one.is_complete, one.forced_tokens, one.margin) for one in said if one] == [
        (True, 1, margin),
        (False, 0, None),
    ]


@pytest.mark.parametrize("fork", ["cancun", "prague"])
def test_what_system_calls_write_is_recorded(fork: str) -> None:
    beacon = GenesisAccount(nonce=1, code=BEACON_ROOTS_CONTRACT_CODE)
    accounts = {**build_predeploys(fork), BEACON_ROOTS_ADDRESS: beacon}
    chain = Chain(ChainConfig(fork=fork), accounts=accounts)
    for number in (1, 2):
        chain.mine(settings=BlockSettings(parent_beacon_root=bytes([number]) * 32))
    fixture = record_chain(chain, name="system", comment="Blocks without transactions.")
    assert len(fixture.post[BEACON_ROOTS_ADDRESS].storage) == 4
    if fork == "prague":
        assert fixture.post[HISTORY_STORAGE_ADDRESS].storage.keys() == {0, 1}

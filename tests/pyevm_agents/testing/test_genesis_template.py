"""The genesis that chains of a process share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from eth.vm.forks.prague.constants import HISTORY_STORAGE_ADDRESS
from eth_utils import to_checksum_address

from precompiles.gas import DEFAULT_SCHEDULE, GasSchedule
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.devnet.chain import CREATE2_DEPLOYER
from pyevm_agents.errors import ConfigError
from pyevm_agents.model_registry.profiles import (
    BASE_MODEL_DIGEST,
    BASE_MODEL_NAME,
    DEFAULT_MODEL_NAME,
)
from pyevm_agents.models import answer
from pyevm_agents.models.gguf.files import find_default_model
from pyevm_agents.testing.chain import AgentChain
from pyevm_agents.testing.genesis_template import (
    GenesisTemplate,
    get_genesis_template,
    temporary_templates,
)
from tests.pyevm_agents.testing.agents import clerk

if TYPE_CHECKING:
    from pathlib import Path

    from web3.types import TxParams


def test_the_default_model_is_that_of_the_node(agent_chain: AgentChain) -> None:
    profile = agent_chain.chain.config.models[0]
    assert profile.name == DEFAULT_MODEL_NAME
    assert profile.aliases == ("llama_model_3", "default")
    assert profile.output_token_gas > 0


def test_it_is_prepared_once() -> None:
    assert get_genesis_template() is get_genesis_template(DEFAULT_MODEL_NAME)


def test_other_models_are_named_or_are_files(tmp_path: Path) -> None:
    with temporary_templates():
        base = get_genesis_template(BASE_MODEL_NAME, kept_facts=tmp_path)
        file = get_genesis_template(find_default_model(), kept_facts=tmp_path)
        assert base is not file
        assert base.config.models[0].digest == file.config.models[0].digest == BASE_MODEL_DIGEST
        with AgentChain(base) as chain:
            assert chain.chain.config.models[0].name == BASE_MODEL_NAME


@pytest.mark.slow
def test_what_was_prepared_meanwhile_is_ended(tmp_path: Path) -> None:
    with temporary_templates():
        base = get_genesis_template(BASE_MODEL_NAME, kept_facts=tmp_path)
        assert base.vocabulary.detokenize((1,))
        assert base.vocabulary.engine.process_id is not None
    assert base.vocabulary.engine.process_id is None
    with temporary_templates():
        assert get_genesis_template(BASE_MODEL_NAME, kept_facts=tmp_path) is not base


def test_facts_that_are_kept_need_no_process(tmp_path: Path) -> None:
    GenesisTemplate(kept_facts=tmp_path).config  # noqa: B018 - learns and keeps the facts
    again = GenesisTemplate(kept_facts=tmp_path)
    assert again.config.models[0].name == DEFAULT_MODEL_NAME
    assert again.vocabulary.engine.process_id is None


def test_the_weights_have_the_same_vocabulary(tmp_path: Path) -> None:
    beginning = GenesisTemplate(kept_facts=tmp_path)
    with beginning.weights() as llama:
        assert llama.path == beginning.vocabulary.path
        assert llama.adapter == beginning.vocabulary.adapter


def test_the_weights_have_one_thread() -> None:
    with GenesisTemplate().weights() as llama:
        assert llama.engine._options.threads == 1  # noqa: SLF001 - nothing else tells


@pytest.mark.parametrize(
    ("unknown", "message"),
    [
        ("gpt", "there is no model 'gpt', and no file; `pyevm-agents model list` lists"),
        (
            "smollm2-135m",
            "there is no model 'smollm2-135m', and no file; did you mean smollm2-135m-free.",
        ),
        ("models/none", "model file .*models/none does not exist"),
    ],
)
def test_an_unknown_model_is_told(unknown: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GenesisTemplate(unknown)


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model file .*gone\.gguf"):
        GenesisTemplate(tmp_path / "gone.gguf")


CHEAP = ScheduleFile(schedule={"tool_gas": 41}, models={"default": {"output_token_gas": 29}})


def test_a_schedule_has_a_genesis_and_no_vocabulary_of_its_own() -> None:
    default, cheap = get_genesis_template(), get_genesis_template(schedule=CHEAP)
    assert cheap is get_genesis_template(schedule=replace(CHEAP, made={"by": "somebody else"}))
    assert cheap is not default
    assert get_genesis_template(schedule=ScheduleFile(schedule={"tool_gas": 42})) is not cheap
    assert cheap.vocabulary is default.vocabulary
    assert cheap.config == CHEAP.apply_to(default.config)
    assert cheap.profile.output_token_gas == 29
    with AgentChain(default) as one, AgentChain(cheap) as other:
        assert one.chain.config.schedule == DEFAULT_SCHEDULE
        assert other.chain.config.schedule == GasSchedule(tool_gas=41)
        assert one.chain.genesis_hash != other.chain.genesis_hash


def test_a_fork_has_a_genesis_of_its_own_beside_any_schedule() -> None:
    cancun = get_genesis_template(fork="cancun")
    assert cancun is get_genesis_template().derive(fork="cancun") is cancun.derive(fork="cancun")
    assert cancun.vocabulary is get_genesis_template().vocabulary
    assert get_genesis_template().derive(fork=None) is get_genesis_template()
    cheap = cancun.derive(CHEAP)
    assert cheap is get_genesis_template(schedule=CHEAP).derive(fork="cancun")
    assert (cheap.config.fork, cheap.config.schedule.tool_gas) == ("cancun", 41)
    with AgentChain(get_genesis_template(schedule=CHEAP), fork="cancun") as chain:
        assert chain.chain.config == cheap.config
        assert not chain.chain.code(HISTORY_STORAGE_ADDRESS)
        chain.model.script(answer("done"))
        assert chain.ask(clerk(chain), "Nothing")["status"] == 1
    with pytest.raises(ConfigError, match="fork 'amsterdam': must be one of 'cancun'"):
        AgentChain(fork="amsterdam")


def test_a_chain_begins_with_what_a_nodes_does() -> None:
    """The CREATE2 deployer, and EIP-2935's history of block hashes."""
    with AgentChain() as chain:
        salt, creation = bytes(32), bytes.fromhex("6001600c60003960016000f300")
        sent: TxParams = {
            "from": chain.accounts[0],
            "to": to_checksum_address(CREATE2_DEPLOYER),
            "data": salt + creation,
        }
        made = chain.w3.eth.call(sent)
        chain.w3.eth.send_transaction(sent)
        assert bytes(chain.w3.eth.get_code(to_checksum_address(made))) == bytes(1)
        chain.mine(300)
        asked: TxParams = {"to": HISTORY_STORAGE_ADDRESS, "data": (5).to_bytes(32, "big")}
        assert chain.w3.eth.call(asked) == chain.w3.eth.get_block(5)["hash"]


def test_what_a_schedule_does_not_say_is_the_default_one() -> None:
    dear = get_genesis_template(schedule=CHEAP).derive(ScheduleFile(schedule={"parameter_gas": 7}))
    assert dear.config.schedule == GasSchedule(parameter_gas=7)
    assert dear.profile == get_genesis_template().profile


def test_a_schedule_for_another_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    path.write_text('{"models": {"gpt": {"output_token_gas": 29}}}')
    with pytest.raises(ConfigError, match=r'models\["gpt"\]: the chain has no such model; it has'):
        AgentChain(get_genesis_template(schedule=path))
    with pytest.raises(ConfigError, match=r"none\.json: the file can't be read"):
        get_genesis_template(schedule=tmp_path / "none.json")

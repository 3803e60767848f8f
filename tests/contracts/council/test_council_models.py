"""A council of three language models: each answers, one more agent judges, nothing is scripted.

Nothing here needs a model to be right. A model can name no option, or a judge no answer: their
transactions revert, and the council goes on without them.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.model_registry.profiles import STRICT_MODEL_NAME, add_models
from pyevm_agents.model_registry.registry import BUILT_IN, build_profiles
from pyevm_agents.recordings import Replay, record_chain, write_fixture
from pyevm_agents.scenarios.council.world import K1, PASSAGES, STOP_WORDS, TOOLS, B, DemoTerms
from tests.contracts.council.council_bench import (
    AGENTS,
    BOND,
    DISTRIBUTED,
    FAILED,
    JUDGE,
    RESOLVED,
    REVEAL,
    REWARD,
    commitment_of,
)
from tests.contracts.plain_evm import decode_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eth_typing import Address

    from pyevm_agents.devnet.local_account import ExecutedTransaction
    from pyevm_agents.models import LlamaModel

pytestmark = pytest.mark.slow

MODELS = tuple(name for name in BUILT_IN if name != STRICT_MODEL_NAME)
"""The default model with its adapter, with that of the free format, and without one."""

JUDGING_MODEL = MODELS[1]
QUESTION, OPTIONS = "Is the bridge open?", ("yes", "no", "unknown")
TERMS = replace(
    DemoTerms(),
    dispute_window=0,
    deterministic=True,
    min_agent_reputation=-(2**31),
    min_judge_reputation=-(2**31),
    min_dispute_judge_reputation=-(2**31),
)
SEATS = 6
NONCE = 7
ZERO = bytes(20)


@dataclass
class ModelCouncil:
    """A chain with three models, and an agent of each in a council with three people."""

    models: dict[str, LlamaModel]
    owner: LocalAccount = field(init=False)
    oracle: Address = field(init=False)
    agents: dict[str, Address] = field(init=False)
    judge: Address = field(init=False)
    people: list[LocalAccount] = field(init=False)
    sent: list[tuple[str, ExecutedTransaction]] = field(default_factory=list)
    """What asked a model: the model's name, and the transaction."""

    phases: list[int] = field(default_factory=list)
    said: dict[str, bytes] = field(default_factory=dict)
    """Answers by model, of those who named an option."""

    def __post_init__(self) -> None:
        facts = [self.models[name].profile_facts for name in MODELS]
        profiles = build_profiles([BUILT_IN[name] for name in MODELS], facts)
        config = add_models(ChainConfig(chain_id=1), [*zip(profiles, facts, strict=True)])
        accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
        self.owner = LocalAccount(Chain(config, self.models, accounts=accounts))
        self.people = [LocalAccount(self.owner.chain, one.key) for one in AGENTS[:3]]
        for one in self.people:
            self.owner.transact(one.address, b"", value_wei=10 * REWARD)
        self.oracle = self._deploy("AgentCouncilOracle", astuple(TERMS), ZERO)
        base = self._deploy("KnowledgeBase", self.owner.address, STOP_WORDS, K1, B)
        add = load_artifact("KnowledgeBase").encode_call("add", list(PASSAGES), True)  # noqa: FBT003
        self.owner.transact(base, add)
        (name, (text, words)), *_ = TOOLS.items()
        tool = self._deploy("RecordTool", base, name, text, words)
        self.agents = {
            name: self._deploy_agent("CouncilInfoAgent", name, "You read the records.", [tool])
            for name in MODELS
        }
        self.judge = self._deploy_agent("CouncilJudge", JUDGING_MODEL, "You judge answers.", [])

    def _deploy(self, name: str, *arguments: object) -> Address:
        return self.owner.deploy(load_artifact(name).encode_creation(*arguments))

    def _deploy_agent(
        self, contract: str, model: str, prompt: str, tools: list[Address]
    ) -> Address:
        settings = (EXECUTOR_ADDRESS, model, model, "Sits in a council", prompt, tools, 3)
        return self._deploy(contract, self.oracle, self.owner.address, settings)

    # ---- Calls

    def read(self, function: str, *arguments: object) -> Any:  # noqa: ANN401 - what Solidity returns
        artifact = load_artifact("AgentCouncilOracle")
        output = self.owner.read(self.oracle, artifact.encode_call(function, *arguments))
        return artifact.decode_result(function, output)

    def call(
        self,
        function: str,
        *arguments: object,
        by: LocalAccount | None = None,
        value: int = 0,
    ) -> None:
        """Call the oracle; note the phase before it."""
        call = load_artifact("AgentCouncilOracle").encode_call(function, *arguments)
        (by or self.owner).transact(self.oracle, call, value_wei=value)
        self.phases.append(self.read("phaseOf", 1)[0])

    def ask_agent(
        self,
        contract: str,
        agent: Address,
        model: str,
        function: str,
        *arguments: object,
        value: int = 0,
    ) -> ExecutedTransaction:
        call = load_artifact(contract).encode_call(function, *arguments)
        sent = self.owner.send(agent, call, value_wei=value)
        self.sent.append((model, sent))
        self.phases.append(self.read("phaseOf", 1)[0])
        return sent

    # ---- The question

    def answer(self) -> None:
        """Let everybody commit and reveal. People vote so that no option has more than half."""
        deadline = self.owner.chain.head.timestamp + 900
        specifications = "OPTIONS: " + "|".join(OPTIONS)
        request = (QUESTION, SEATS, BOND, deadline, ZERO, specifications, ((), ()))
        self.call("createRequest", *request, value=REWARD)
        register = load_artifact("CouncilJudge").encode_call("register", 1)
        self.owner.transact(self.judge, register, value_wei=BOND)
        for model, agent in self.agents.items():
            sent = self.ask_agent("CouncilInfoAgent", agent, model, "join", 1, NONCE, value=BOND)
            if sent.is_success:
                found = load_artifact("CouncilInfoAgent").decode_result(
                    "join", sent.computation.output
                )
                self.said[model] = bytes(found)
        votes = [said.decode() for said in self.said.values()]
        own = []
        for one in self.people:
            own.append(min(OPTIONS, key=votes.count))
            votes.append(own[-1])
            commitment = commitment_of(
                "0x" + self.oracle.hex(), 1, "0x" + one.address.hex(), own[-1].encode(), NONCE
            )
            self.call("commit", 1, commitment, by=one, value=BOND)
        if len(self.said) < len(MODELS):
            self.owner.chain.mine(timestamp_seconds=deadline + 1)
        for model in self.said:
            reveal = load_artifact("CouncilInfoAgent").encode_call("reveal", 1)
            self.owner.transact(self.agents[model], reveal)
        for one, answer in zip(self.people, own, strict=True):
            self.call("reveal", 1, answer.encode(), NONCE, by=one)

    def settle(self) -> ExecutedTransaction:
        """Let the judge judge, and pay out; without a verdict its time passes."""
        verdict = self.ask_agent("CouncilJudge", self.judge, JUDGING_MODEL, "judge", 1)
        if verdict.is_success:
            self.call("distributeRewards", 1)
        else:
            _, ends_at = self.read("phaseOf", 1)
            self.owner.chain.mine(timestamp_seconds=ends_at + 1)
            self.call("advance", 1)
        return verdict

    def credited(self) -> dict[Address, int]:
        everybody = [*self.agents.values(), self.judge, self.owner.address]
        everybody += [one.address for one in self.people]
        return {one: self.read("claimable", ZERO, one) for one in everybody}


@pytest.fixture(scope="module")
def models() -> Iterator[dict[str, LlamaModel]]:
    opened = {name: BUILT_IN[name].open(threads=1) for name in MODELS}
    yield opened
    for model in opened.values():
        model.close()


def run(models: dict[str, LlamaModel]) -> tuple[ModelCouncil, ExecutedTransaction]:
    """Answer the question on a chain of its own. Nothing is cached."""
    council = ModelCouncil(models)
    council.answer()
    return council, council.settle()


def test_a_council_of_three_models(models: dict[str, LlamaModel], tmp_path: Path) -> None:
    council, verdict = run(models)

    # Each generation names the model of the agent that asked, in the trace and in the recording.
    used = [
        {step.inference.model for step in extract_agent_steps(sent.computation)}
        for _, sent in council.sent
    ]
    assert used == [{name} for name, _ in council.sent]
    assert [name for name, _ in council.sent] == [*MODELS, JUDGING_MODEL]
    recorded = record_chain(council.owner.chain, name="models", comment="three models")
    assert {step.exchange.model for step in recorded.steps} == {*MODELS}
    for (name, sent), place in zip(council.sent, range(len(council.sent)), strict=True):
        block = sent.block.number
        of_block = [step for step in recorded.steps if step.block == block]
        assert of_block, place
        assert {step.exchange.model for step in of_block} == {name}

    # A model that names no option stays out, and keeps its bond.
    for (name, sent), _ in zip(council.sent, MODELS, strict=False):
        assert (name in council.said) == sent.is_success
        if not sent.is_success:
            assert decode_error(sent.computation.output)[0] in {"AnswerRefused", "NotDone"}

    # Phases only go forward. No option has more than half, so the judge is asked.
    assert council.phases == sorted(council.phases)
    assert {REVEAL, JUDGE} <= {*council.phases}
    credited = council.credited()
    bonds = BOND * (len(council.said) + len(council.people) + 1)
    assert sum(credited.values()) == REWARD + bonds
    assert council.owner.chain.state().get_balance(council.oracle) == REWARD + bonds
    judge = credited[council.judge]
    answer, is_final = council.read("getResolution", 1)
    if verdict.is_success:
        assert council.phases[-2:] == [RESOLVED, DISTRIBUTED]
        assert is_final
        assert answer.decode() in OPTIONS
        assert judge == BOND + REWARD // 10
        right = [council.agents[name] for name, said in council.said.items() if said == answer]
        wrong = [council.agents[name] for name, said in council.said.items() if said != answer]
        assert all(credited[one] > BOND for one in right)
        assert all(credited[one] == 0 for one in wrong)
    else:
        assert council.phases[-1] == FAILED
        assert (answer, judge) == (b"", 0)
        assert credited[council.owner.address] == REWARD

    # The same bits on another chain, and from the recording with the models.
    again, _ = run(models)
    assert again.owner.chain.head.hash == council.owner.chain.head.hash
    once, twice = tmp_path / "once.json", tmp_path / "twice.json"
    write_fixture(recorded, once)
    write_fixture(record_chain(again.owner.chain, name="models", comment="three models"), twice)
    assert once.read_bytes() == twice.read_bytes()
    assert Replay(recorded, models).finish().head.hash == council.owner.chain.head.hash

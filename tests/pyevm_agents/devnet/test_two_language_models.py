"""Two language models on one chain: the agent's own, and one that a tool asks by its model ID."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from eth_abi import encode

from precompiles.spec import EXECUTOR_ADDRESS
from pyevm_agents.abi.bundled import load_artifact
from pyevm_agents.agents.trace import extract_agent_steps
from pyevm_agents.chain import Chain, GenesisAccount
from pyevm_agents.config import ChainConfig
from pyevm_agents.devnet.chain import DEVELOPMENT_ADDRESS, DEVELOPMENT_BALANCE_WEI
from pyevm_agents.devnet.local_account import LocalAccount
from pyevm_agents.model_registry.profiles import DEFAULT_MODEL_NAME, FREE_MODEL_NAME, add_models
from pyevm_agents.model_registry.registry import BUILT_IN, build_profiles
from pyevm_agents.scenarios.trading.posts import read_posts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eth_typing import Address

    from pyevm_agents.devnet.local_account import ExecutedTransaction
    from pyevm_agents.models import LlamaModel

pytestmark = pytest.mark.slow

NAMES = (DEFAULT_MODEL_NAME, FREE_MODEL_NAME)

MOST_BYTES = 1_000 * 2**20
"""Of both engines together, with short prompts: docs/models.md#several-models-in-one-chain."""

POSTS = [post.text for post in read_posts().posts[:2]]


@pytest.fixture(scope="module")
def models() -> Iterator[list[LlamaModel]]:
    opened = [BUILT_IN[name].open(threads=1) for name in NAMES]
    yield opened
    for model in opened:
        model.close()


@pytest.fixture(scope="module")
def owner(models: list[LlamaModel]) -> LocalAccount:
    """The account of a chain with both models. Nothing is cached."""
    facts = [model.profile_facts for model in models]
    profiles = build_profiles([BUILT_IN[name] for name in NAMES], facts)
    config = add_models(ChainConfig(), [*zip(profiles, facts, strict=True)])
    accounts = {DEVELOPMENT_ADDRESS: GenesisAccount(balance_wei=DEVELOPMENT_BALANCE_WEI)}
    by_name = {profile.name: model for profile, model in zip(profiles, models, strict=True)}
    return LocalAccount(Chain(config, by_name, accounts=accounts))


@pytest.fixture(scope="module")
def agent(owner: LocalAccount) -> Address:
    tool = owner.deploy(
        load_artifact("LanguageModelTool").encode_creation(
            EXECUTOR_ADDRESS, FREE_MODEL_NAME, "You rate the mood of posts.", "rate_sentiment",
            "Rates the sentiment of a post", "post", "text of the post", "Sentiment: ", [],
        )
    )  # fmt: skip
    texts = ("Rating Agent", "Rates posts", "a post", "You rate posts.")
    return owner.deploy(
        load_artifact("SimpleAgent").encode_creation(
            EXECUTOR_ADDRESS, DEFAULT_MODEL_NAME, *texts, [tool], 4
        )
    )


def ask(owner: LocalAccount, agent: Address, post: str) -> ExecutedTransaction:
    prompt = encode(["string"], [f'Rate the post "{post}"'])
    arguments = ([(0, prompt)], prompt)
    call = load_artifact("SimpleAgent").encode_call("run", arguments, bytes(20))
    return owner.send(agent, call)


def read_memory(model: LlamaModel) -> int:
    """Return the bytes of an engine's process, shared pages by their share."""
    text = Path(f"/proc/{model.engine.process_id}/smaps_rollup").read_text()
    line = next(line for line in text.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) * 1024


def test_one_transaction_uses_both_models_and_both_stay_loaded(
    owner: LocalAccount, agent: Address, models: list[LlamaModel]
) -> None:
    found = [_ask_both(owner, agent, post) for post in POSTS]
    processes = [model.engine.process_id for model in models]
    assert None not in processes
    assert len({*processes}) == len(NAMES)
    _ask_both(owner, agent, POSTS[0])
    assert [model.engine.process_id for model in models] == processes
    assert found[0] != found[1]
    if Path("/proc/self/smaps_rollup").exists():
        assert sum(map(read_memory, models)) < MOST_BYTES


def _ask_both(owner: LocalAccount, agent: Address, post: str) -> str:
    sent = ask(owner, agent, post)
    assert sent.is_success
    steps = extract_agent_steps(sent.computation)
    used = [(step.depth, step.inference.model, step.action) for step in steps]
    assert used == [
        (0, DEFAULT_MODEL_NAME, "rate_sentiment"), (1, FREE_MODEL_NAME, None),
        (0, DEFAULT_MODEL_NAME, None),
    ]  # fmt: skip
    assert steps[0].observation == f"Sentiment: {steps[1].answer}"
    return str(steps[1].answer)

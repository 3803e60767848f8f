"""Reused and restored prefixes save evaluation and give the same bits as a fresh context."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel
from pyevm_agents.models.engine_messages import EngineRequest
from pyevm_agents.models.llama.child_process import OWN_VARIABLES
from tests.reduced_model import LAYERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyevm_agents.models.engine_messages import StatsMessage
    from tests.pyevm_agents.models.conftest import MakeRequest

ROOT = Path(__file__).parents[4]

STATE_HEAD_BYTES = 24 + LAYERS * 24
TOKEN_BYTES = 12 + LAYERS * 768 + 4
"""Bytes per token of the reduced model: its state in llama.cpp, and the token itself."""


def words(seed: int, count: int) -> list[int]:
    """Return tokens that differ between seeds from the first one on."""
    chance = random.Random(seed)  # noqa: S311 - a seed, so that a failure comes again
    return [1000 + seed, *(chance.randrange(1000, 40_000) for _ in range(count - 1))]


def logits(model: LlamaModel, tokens: list[int]) -> tuple[str, StatsMessage]:
    """Return the logits' digest, and the evaluation counts."""
    reply = model.engine.ask(EngineRequest(operation="logits", tokens=tokens))
    return reply["logits"], reply["work"]


def evaluated(model: LlamaModel, tokens: list[int]) -> int:
    return logits(model, tokens)[1]["evaluated_tokens"]


@pytest.fixture(scope="module")
def roomy(reduced_model: Path) -> Iterator[LlamaModel]:
    """A model with the default prefix cache."""
    with LlamaModel(reduced_model, threads=2, context_tokens=1024) as model:
        yield model


@pytest.fixture(scope="module")
def tight(reduced_model: Path) -> Iterator[LlamaModel]:
    """A model whose prefix cache fits exactly two states of 40 tokens."""
    bound = 2 * (STATE_HEAD_BYTES + 40 * TOKEN_BYTES)
    with LlamaModel(
        reduced_model, threads=1, context_tokens=1024, prefix_cache_bytes=bound
    ) as model:
        yield model


@pytest.fixture(scope="module")
def tighter(reduced_model: Path) -> Iterator[LlamaModel]:
    """A model with one byte less than `tight`."""
    bound = 2 * (STATE_HEAD_BYTES + 40 * TOKEN_BYTES) - 1
    with LlamaModel(
        reduced_model, threads=1, context_tokens=1024, prefix_cache_bytes=bound
    ) as model:
        yield model


@pytest.fixture(scope="module")
def keepless(reduced_model: Path) -> Iterator[LlamaModel]:
    """A model without prefix cache."""
    with LlamaModel(reduced_model, threads=1, context_tokens=1024, prefix_cache_bytes=0) as model:
        yield model


@pytest.fixture(autouse=True)
def _afresh(request: pytest.FixtureRequest) -> None:
    for name in {"roomy", "tight", "tighter", "keepless"} & set(request.fixturenames):
        request.getfixturevalue(name).forget()


@pytest.fixture(scope="module")
def prompts(keepless: LlamaModel) -> dict[tuple[int, ...], str]:
    """Prompts that share prefixes of all lengths, and their logits in a fresh context."""
    chance = random.Random(5)  # noqa: S311 - as above
    made: list[list[int]] = []
    for base in range(2):
        trunk = words(base, 45)
        made += [trunk[:length] for length in (1, 17, 30, 45)]
        for branch in range(3):
            cut = chance.randrange(1, 45)
            made.append(trunk[:cut] + words(100 + branch, chance.randrange(1, 30)))
    fresh = {}
    for tokens in made:
        keepless.forget()
        fresh[tuple(tokens)], work = logits(keepless, tokens)
        assert work["evaluated_tokens"] == len(tokens)
    return fresh


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("roomy", marks=pytest.mark.slow),
        "tight",
        pytest.param("keepless", marks=pytest.mark.slow),
    ],
)
def test_random_interleavings_give_the_bits_of_a_fresh_context(
    request: pytest.FixtureRequest, prompts: dict[tuple[int, ...], str], name: str
) -> None:
    model: LlamaModel = request.getfixturevalue(name)
    chance = random.Random(name)  # noqa: S311 - as above
    restored = 0
    for _ in range(20):
        tokens = chance.choice(list(prompts))
        found, work = logits(model, list(tokens))
        assert found == prompts[tokens], tokens
        assert work["evaluated_tokens"] == len(tokens) - work["reused_tokens"] >= 1
        restored += work["restored_tokens"]
        if chance.random() < 0.3:  # As an output would grow.
            assert evaluated(model, [*tokens, 7]) == 1
    assert (restored > 0) == (name != "keepless")


@pytest.mark.parametrize("length", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_four_prompts_that_alternate_evaluate_only_what_is_new(
    roomy: LlamaModel, length: int
) -> None:
    texts = [words(seed, length) for seed in range(4)]
    assert [evaluated(roomy, text) for text in texts] == [length] * 4
    for _ in range(2):
        texts = [text + words(9, 20) for text in texts]
        assert [evaluated(roomy, text) for text in texts] == [20] * 4


def test_nested_runs_do_not_evict_each_other(roomy: LlamaModel) -> None:
    outer, inner, step = words(1, 60), words(2, 50), words(3, 18)
    done = [
        evaluated(roomy, text)
        for text in (
            outer,
            inner,
            outer + step,
            inner + step,
            outer + 2 * step,
        )
    ]
    assert done == [60, 50, 18, 18, 18]


def test_an_agent_that_calls_its_own_kind_goes_on_where_it_was(roomy: LlamaModel) -> None:
    shared = words(1, 60)
    outer, inner = shared + words(2, 30), shared + words(3, 30)
    assert evaluated(roomy, outer) == 90
    assert evaluated(roomy, inner) == 30
    assert evaluated(roomy, [*outer, 5, 6]) == 2
    assert evaluated(roomy, [*inner, 5]) == 1


def test_a_second_run_reuses_what_it_shares_with_the_first(roomy: LlamaModel) -> None:
    shared = words(1, 80)
    evaluated(roomy, shared + words(2, 20))
    evaluated(roomy, words(4, 40))
    _, work = logits(roomy, shared + words(3, 10))
    assert work == {"evaluated_tokens": 10, "reused_tokens": 80, "restored_tokens": 80}


def test_few_tokens_are_evaluated_again_rather_than_saved_and_restored(roomy: LlamaModel) -> None:
    shared = words(1, 20)
    evaluated(roomy, shared + words(2, 15))
    evaluated(roomy, shared + words(3, 15))
    assert logits(roomy, [*shared, *words(2, 15), 5])[1] == {
        "evaluated_tokens": 16,
        "reused_tokens": 20,
        "restored_tokens": 0,
    }


def test_the_least_recently_used_goes_at_the_bound_and_not_before(
    tight: LlamaModel, tighter: LlamaModel
) -> None:
    first, second, third = (words(seed, 40) for seed in range(3))
    for model, expected in ((tight, 1), (tighter, 40)):
        for text in (first, second, third):
            assert evaluated(model, text) == 40
        assert evaluated(model, [*first]) == expected


def test_what_is_used_stays(tight: LlamaModel) -> None:
    first, second, third = (words(seed, 40) for seed in range(3))
    assert [evaluated(tight, text) for text in (first, second, first, third)] == [40, 40, 1, 40]
    assert evaluated(tight, first) == 1
    assert evaluated(tight, second) == 40


def test_a_state_larger_than_the_bound_is_not_kept_and_evicts_nothing(tight: LlamaModel) -> None:
    first, large = words(1, 40), words(2, 81)
    for text in (first, large, words(3, 40)):
        evaluated(tight, text)
    assert evaluated(tight, large) == 81
    assert evaluated(tight, first) == 1


def test_without_a_bound_the_last_prompt_alone_is_kept(keepless: LlamaModel) -> None:
    first, second = words(1, 40), words(2, 40)
    assert [evaluated(keepless, text) for text in (first, second, [*second, 5], first)] == [
        40,
        40,
        1,
        40,
    ]


def test_a_generation_tells_its_work(roomy: LlamaModel, make_request: MakeRequest) -> None:
    request = make_request(max_tokens=12)
    prompt_tokens = len(request.prompt_tokens)
    generation = roomy.generate(request)
    work = roomy.last_stats
    assert work is not None
    assert (work.reused_tokens, work.restored_tokens) == (0, 0)
    assert prompt_tokens <= work.evaluated_tokens < prompt_tokens + len(generation.tokens)

    other = words(1, 40)
    evaluated(roomy, other)
    assert roomy.generate(request) == generation
    again = roomy.last_stats
    assert again is not None
    assert again.reused_tokens == again.restored_tokens >= prompt_tokens - 1
    assert again.evaluated_tokens <= work.evaluated_tokens - prompt_tokens + 1

    roomy.forget()
    assert roomy.generate(request) == generation
    assert roomy.last_stats == work


def test_many_outputs_after_one_prompt_evict_no_other_prompt(
    tight: LlamaModel, make_request: MakeRequest
) -> None:
    other = words(1, 20)
    evaluated(tight, other)
    request = make_request("Hi")
    short = replace(request, prompt_tokens=request.prompt_tokens[-33:], max_tokens=24)
    for letter in "abcd":
        tight.generate(replace(short, grammar=f"start: /[{letter}x][a-z]{{99}}/\n"))
    assert evaluated(tight, other) == 1


def test_the_bound_is_no_part_of_the_rules(roomy: LlamaModel, keepless: LlamaModel) -> None:
    assert roomy.profile_facts == keepless.profile_facts


@pytest.mark.parametrize("prefix_cache_bytes", [-1, True, 1.5, None, "1 MB"])
def test_what_is_no_bound_is_refused(prefix_cache_bytes: object) -> None:
    with pytest.raises(ConfigError, match=f"prefix_cache_bytes {prefix_cache_bytes!r}: must"):
        LlamaModel(prefix_cache_bytes=prefix_cache_bytes)  # type: ignore[arg-type]


DECODER = """
import json, sys, traceback
import llama_cpp
import numpy as np
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models.llama import context as module
from pyevm_agents.models.llama.bindings import Llama
from pyevm_agents.models.llama.canary import compute_canary, compute_logits_digest
from pyevm_agents.models.llama.context import MIN_SHARED_READING_TOKENS as MANY
from pyevm_agents.models.llama.context import EvaluationTally, LlamaContext

llama = Llama(sys.argv[1], vocabulary_only=False)
FIRST, SECOND = list(range(1000, 1040)), list(range(2000, 2040))

def new_context():
    return LlamaContext(llama, threads=2, context_tokens=256, prefix_cache_bytes=2**28)

def look(tokens):
    context.tally = EvaluationTally()
    return compute_logits_digest(context.evaluate(tokens)), context.tally.decoded_tokens

fresh = {}
for tokens in (FIRST, SECOND):
    context = new_context()
    fresh[tokens[0]] = look(tokens)[0]

intact = [(changed, dict(vars(changed))) for changed in (llama_cpp, module)]
outcomes = {}
for name, code in json.load(sys.stdin).items():
    context = new_context()
    try:
        exec(code)
    except BaseException:
        outcomes[name] = traceback.format_exc()
    for changed, before in intact:
        vars(changed).update(before)
print(json.dumps(outcomes))
"""
"""Run each script of standard input with a context of its own; print the failures' tracebacks."""

SCRIPTS = {
    "a state that llama.cpp does not save": """
        llama_cpp.llama_state_seq_get_data = lambda *_: 0
        assert look(FIRST) == (fresh[1000], 40)
        assert look(SECOND) == (fresh[2000], 40)
        assert look(FIRST) == (fresh[1000], 40)
        assert look(FIRST) == (fresh[1000], 1)
    """,
    "a state that llama.cpp does not restore": """
        llama_cpp.llama_state_seq_set_data = lambda *_: 0
        assert look(FIRST) == (fresh[1000], 40)
        assert look(SECOND) == (fresh[2000], 40)
        assert look(FIRST) == (fresh[1000], 40)
        assert look(FIRST) == (fresh[1000], 1)
    """,
    "a memory that can not be cut is continued or restored as a whole": """
        context._can_truncate = False
        assert look(FIRST) == (fresh[1000], 40)
        assert look(SECOND[:30])[1] == 30
        assert look(SECOND) == (fresh[2000], 10)
        assert look(FIRST) == (fresh[1000], 40)
        assert look(SECOND)[1] == 40
        assert look([*FIRST, 5])[1] == 1
        assert look([*FIRST, 6])[1] == 1
        assert look([*FIRST[:39], 6])[1] == 40
    """,
    "one thread reads a few tokens and all read more": """
        told = []
        set_threads = llama_cpp.llama_set_n_threads

        def tell(context, writing, reading):
            told.append((writing, reading))
            set_threads(context, writing, reading)

        llama_cpp.llama_set_n_threads = tell
        tokens = list(range(1000, 1000 + MANY))
        alone = look(tokens[:-1])[0]
        context.forget()
        shared = look(tokens)[0]
        assert told == [(1, 1), (1, 2)]

        module.MIN_SHARED_READING_TOKENS = 1
        context.forget()
        assert look(tokens[:-1])[0] == alone
        module.MIN_SHARED_READING_TOKENS = MANY + 1
        context.forget()
        assert look(tokens)[0] == shared
        assert told[2:] == [(1, 2), (1, 1)]

        module.MIN_SHARED_READING_TOKENS, module.MIN_SHARED_WRITING_BYTES = MANY, 1
        large = LlamaContext(llama, threads=2, context_tokens=256)
        large.evaluate(tokens[:2])
        assert told[4:] == [(2, 2)]
    """,
    "NaN does not outlive its prompt": """
        expected = look(SECOND[:30])[0]
        look(FIRST)
        size = llama_cpp.llama_state_seq_get_size(context._context, 0)
        state = np.empty(size, dtype=np.uint8)
        pointer = state.ctypes.data_as(llama_cpp.ctypes.POINTER(llama_cpp.ctypes.c_uint8))
        llama_cpp.llama_state_seq_get_data(context._context, pointer, size, 0)
        state[-2:] = [0x00, 0x7E]  # The last token's last value is none.
        llama_cpp.llama_state_seq_set_data(context._context, pointer, size, 0)
        assert np.isnan(context._evaluate([*FIRST, 5], None, 512)).all()
        assert np.isnan(context._evaluate(SECOND[:20], None, 512)).all()
        context._evaluate([*FIRST, 5], None, 512)
        assert look(SECOND[:30])[0] == expected
    """,
    "a canary refuses an engine that restores other bits": """
        restore = llama_cpp.llama_state_seq_set_data
        sound = compute_canary(llama, context)

        def restore_damaged(context, state, size, sequence):
            state[size - 1] ^= 0x08  # In the last value of the last token.
            return restore(context, state, size, sequence)

        llama_cpp.llama_state_seq_set_data = restore_damaged
        try:
            compute_canary(llama, context)
        except ConfigError as error:
            assert "after restoring a saved prefix with this model" in str(error)
        else:
            raise AssertionError
        assert compute_canary(llama, LlamaContext(llama, threads=1, context_tokens=256)) == sound
    """,
    "a decode that fails leaves a memory that works": """
        decode = llama_cpp.llama_decode
        look(FIRST)
        look(SECOND)
        llama_cpp.llama_decode = lambda *_: -3
        try:
            look([*FIRST, 5])
        except EngineFault as fault:
            assert "status -3 at token 40" in str(fault)
        else:
            raise AssertionError
        llama_cpp.llama_decode = decode
        assert look(FIRST) == (fresh[1000], 40)
        assert look([*FIRST, 5])[1] == 1
    """,
}


@pytest.fixture(scope="module")
def outcomes(reduced_model: Path) -> dict[str, str]:
    """Tracebacks of failed scripts by name, from a process with the engine's environment.

    This process never loads llama_cpp. Without the engine's variables, two threads would spin, for
    seconds a token next to other loads.
    """
    scripts = {name: textwrap.dedent(code) for name, code in SCRIPTS.items()}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DECODER, str(reduced_model)],
        cwd=ROOT,
        env={**os.environ, **OWN_VARIABLES},
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    failures: dict[str, str] = json.loads(done.stdout)
    return failures


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_memory_is_right_whatever_llama_cpp_does(outcomes: dict[str, str], script: str) -> None:
    assert script not in outcomes, outcomes[script]

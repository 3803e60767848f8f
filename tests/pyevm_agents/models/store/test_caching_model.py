"""A generation is computed once, truncated by a lower limit, and resumed by a higher one."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from precompiles.language_model import Generation, GenerationRequest, Margin, Segment
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models import CachingModel, ScriptedModel, Store, Vocabulary
from pyevm_agents.models.store import caching_model as memory
from pyevm_agents.models.store.statistics import compute_statistics
from pyevm_agents.models.timing import Timing
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel
    from tests.pyevm_agents.models.conftest import MakeRequest

ROOT = Path(__file__).resolve().parents[4]
REQUEST = GenerationRequest(
    segments=(Segment(text="ab"),), prompt_tokens=(1, 2), grammar="start: /a+/", max_tokens=10
)


class Counting:
    """Generates seven tokens, three of them forced, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def tokenize(self, segments: tuple[Segment, ...]) -> tuple[int, ...]:
        return tuple(len(segment.text) for segment in segments)

    def generate(self, request: GenerationRequest) -> Generation:
        self.calls += 1
        count = min(7, request.max_tokens)
        return Generation(
            text="a" * count,
            tokens=tuple(range(count)),
            forced_tokens=min(3, count),
            is_complete=count == 7,
            margin=Margin(gap=0.5, token_index=0, chosen="a", other="b"),
        )


class Continuing(Counting):
    """Can resume a cut generation, and detokenizes."""

    def __init__(self) -> None:
        super().__init__()
        self.resumed_from: list[tuple[int, ...]] = []

    def resume(self, request: GenerationRequest, known: Generation) -> Generation:
        assert len(known.tokens) < request.max_tokens
        assert not known.is_complete
        self.resumed_from.append(known.tokens)
        whole = Counting.generate(self, request)
        self.calls -= 1
        return whole

    def detokenize(self, tokens: tuple[int, ...]) -> str:
        return "a" * len(tokens)


class Timed(Continuing):
    """Reports 2.5 seconds for each inference."""

    def generate_timed(self, request: GenerationRequest) -> tuple[Generation, Timing]:
        return self.generate(request), Timing(seconds=2.5)


def remembering(model: Counting, store: Store | None = None) -> CachingModel:
    return CachingModel(model, digest=b"\x01" * 32, fingerprint="{}", store=store)


def test_a_complete_generation_serves_every_limit() -> None:
    model = Counting()
    memory = remembering(model)
    whole = memory.generate(REQUEST)
    for limit in (7, 8, 1000):
        assert memory.generate(replace(REQUEST, max_tokens=limit)) == whole
    for limit in (1, 6):
        cut = memory.generate(replace(REQUEST, max_tokens=limit))
        assert (cut.tokens, cut.is_complete) == (whole.tokens[:limit], False)
        assert cut.forced_tokens <= limit
    assert model.calls == 1
    assert (memory.computed, memory.resumed, memory.hits) == (1, 0, 5)


@pytest.mark.parametrize("is_free", [False, True])
def test_of_what_the_rules_decide_a_fakes_own_step_alone_is_cached(*, is_free: bool) -> None:
    class Fake(Counting):
        def generate(self, request: GenerationRequest) -> Generation:
            return replace(super().generate(request), is_free=is_free)

    model = Fake()
    memory = remembering(model)
    decided = replace(REQUEST, decided="aaaaaaa")
    first, again = memory.generate(decided), memory.generate(decided)
    assert first == again
    assert model.calls == (1 if is_free else 2)
    assert (memory.computed, memory.hits) == ((1, 1) if is_free else (0, 0))


def test_what_is_cut_here_is_what_the_model_cuts() -> None:
    memory = remembering(Continuing())
    memory.generate(REQUEST)
    for limit in range(1, 8):
        request = replace(REQUEST, max_tokens=limit)
        assert memory.generate(request) == Counting().generate(request)


def test_a_margin_behind_the_cut_is_none_of_it() -> None:
    class Late(Counting):
        def generate(self, request: GenerationRequest) -> Generation:
            late = Margin(gap=0.5, token_index=3, chosen="a", other="b")
            return replace(super().generate(request), margin=late)

    memory = remembering(Late())
    memory.generate(REQUEST)
    assert memory.generate(replace(REQUEST, max_tokens=3)).margin is None
    assert memory.generate(replace(REQUEST, max_tokens=4)).margin is not None


def test_a_cut_generation_serves_lower_limits_and_is_computed_anew_for_higher_ones() -> None:
    model = Counting()
    memory = remembering(model)
    assert not memory.generate(replace(REQUEST, max_tokens=4)).is_complete
    assert memory.generate(replace(REQUEST, max_tokens=4)).tokens == (0, 1, 2, 3)
    assert memory.generate(replace(REQUEST, max_tokens=2)).tokens == (0, 1)
    assert model.calls == 1
    assert memory.generate(replace(REQUEST, max_tokens=7)).is_complete
    assert model.calls == 2
    assert memory.generate(replace(REQUEST, max_tokens=3)).tokens == (0, 1, 2)
    assert model.calls == 2
    assert (memory.computed, memory.resumed) == (2, 0)


def test_a_cached_generation_has_the_duration_of_its_inference(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with Store(path) as store:
        first = remembering(Timed(), store)
        assert first.generate_timed(REQUEST)[1] == Timing(seconds=2.5)
        assert first.generate_timed(REQUEST)[1] == Timing(seconds=2.5, is_cached=True)
    with Store(path) as store:
        second = remembering(Timed(), store)
        for limit in (7, 4):
            cut = replace(REQUEST, max_tokens=limit)
            assert second.generate_timed(cut)[1] == Timing(seconds=2.5, is_cached=True)


def test_a_resumed_generation_has_the_duration_of_both_inferences() -> None:
    model = remembering(Timed())
    model.generate(replace(REQUEST, max_tokens=4))
    _, timing = model.generate_timed(REQUEST)
    assert not timing.is_cached
    assert timing.seconds is not None
    assert timing.seconds > 2.5
    assert model.generate_timed(REQUEST)[1] == replace(timing, is_cached=True)


def test_a_resumed_generation_of_unknown_duration_stays_unknown() -> None:
    class Untimed(Timed):
        def generate_timed(self, request: GenerationRequest) -> tuple[Generation, Timing]:
            return self.generate(request), Timing(seconds=None)

    model = remembering(Untimed())
    model.generate(replace(REQUEST, max_tokens=4))
    assert model.generate_timed(REQUEST)[1] == Timing(seconds=None)


def test_a_model_that_can_goes_on_where_the_limit_cut_it(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with Store(path) as store:
        first = remembering(Continuing(), store)
        assert not first.generate(replace(REQUEST, max_tokens=4)).is_complete
        assert (compute_statistics(store).complete, compute_statistics(store).incomplete) == (0, 1)
    with Store(path) as store:
        model = Continuing()
        second = remembering(model, store)
        assert second.generate(replace(REQUEST, max_tokens=4)).tokens == (0, 1, 2, 3)
        assert second.generate(REQUEST) == Counting().generate(REQUEST)
        assert (model.calls, model.resumed_from) == (0, [(0, 1, 2, 3)])
        assert (second.computed, second.resumed, second.hits) == (0, 1, 1)
        assert second.inferences == 1
        assert (compute_statistics(store).complete, compute_statistics(store).incomplete) == (1, 0)
        assert compute_statistics(store).counts == {"misses": 1, "resumes": 1, "hits": 1}


def test_what_can_not_be_continued_is_computed_anew() -> None:
    class Confused(Continuing):
        def resume(self, request: GenerationRequest, known: Generation) -> Generation:
            raise EngineFault(f"{known.tokens} are no tokens of {request.grammar}")

    model = Confused()
    memory = remembering(model)
    memory.generate(replace(REQUEST, max_tokens=4))
    assert memory.generate(REQUEST).is_complete
    assert (model.calls, memory.computed, memory.resumed) == (2, 2, 0)


@pytest.mark.parametrize(
    "other", [replace(REQUEST, prompt_tokens=(1, 3)), replace(REQUEST, grammar="start: /b+/")]
)
def test_prompt_and_grammar_decide(other: GenerationRequest) -> None:
    model = Counting()
    memory = remembering(model)
    memory.generate(REQUEST)
    memory.generate(other)
    memory.generate(replace(REQUEST, segments=(), handles=(("addr1", "0x"),)))
    assert model.calls == 2


def test_models_and_profiles_share_a_store_and_no_generation() -> None:
    model = Counting()
    with Store() as store:
        for digest, fingerprint in ((b"\x01" * 32, "a"), (b"\x02" * 32, "a"), (b"\x01" * 32, "b")):
            wrapped = CachingModel(model, digest=digest, fingerprint=fingerprint, store=store)
            wrapped.generate(REQUEST)
            wrapped.generate(REQUEST)
        assert model.calls == 3
        assert len(compute_statistics(store).profiles) == 3


def test_everything_can_be_forgotten() -> None:
    model = Counting()
    memory = remembering(model)
    memory.generate(REQUEST)
    memory.forget()
    memory.generate(REQUEST)
    assert model.calls == 2


def test_without_a_store_that_works_the_last_ones_are_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "RECENT_GENERATIONS", 2)
    store = Store()
    store.close()
    model = Counting()
    wrapped = remembering(model, store)
    first, second, third = (replace(REQUEST, prompt_tokens=(token,)) for token in (1, 2, 3))
    for request in (first, second, first, third, first, third):
        wrapped.generate(request)
    assert model.calls == 3
    wrapped.generate(second)
    assert model.calls == 4


def test_a_fault_is_not_remembered() -> None:
    class Faulty(Counting):
        def generate(self, request: GenerationRequest) -> Generation:
            if self.calls == 0:
                self.calls += 1
                raise EngineFault("died")
            return super().generate(request)

    memory = remembering(Faulty())
    with pytest.raises(EngineFault, match="died"):
        memory.generate(REQUEST)
    assert memory.generate(REQUEST).is_complete
    assert memory.inferences == 1


def test_tokens_come_from_the_model() -> None:
    assert remembering(Counting()).tokenize((Segment(text="abc"),)) == (3,)


def test_what_a_script_says_does_not_get_into_a_file(
    tmp_path: Path, vocabulary: Vocabulary
) -> None:
    model = ScriptedModel([], vocabulary=vocabulary)
    facts = vocabulary.profile_facts
    with Store(tmp_path / "store.sqlite3") as store, pytest.raises(ConfigError, match="no weights"):
        CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint, store=store)
    CachingModel(model, digest=facts.digest, fingerprint=facts.fingerprint)


# -- threads and forks -- #


def test_threads_that_ask_the_same_compute_it_once() -> None:
    start = threading.Barrier(8)
    let_go = threading.Event()

    class Slow(Counting):
        def generate(self, request: GenerationRequest) -> Generation:
            let_go.wait(HANG_SECONDS)
            return super().generate(request)

    model = Slow()
    memory = remembering(model)

    def ask(_: int) -> Generation:
        start.wait(HANG_SECONDS)
        return memory.generate(REQUEST)

    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(ask, range(8))
        let_go.set()
        assert len(set(answers)) == 1
    assert model.calls == 1
    assert (memory.computed, memory.hits) == (1, 7)


def test_threads_that_ask_for_other_things_do_not_wait() -> None:
    both = threading.Barrier(2)

    class Meeting(Counting):
        def generate(self, request: GenerationRequest) -> Generation:
            both.wait(HANG_SECONDS)
            return super().generate(request)

    memory = remembering(Meeting())
    with ThreadPoolExecutor(2) as pool:
        requests = [replace(REQUEST, prompt_tokens=(token,)) for token in (1, 2)]
        assert all(each.is_complete for each in pool.map(memory.generate, requests))


def test_when_the_first_of_them_fails_the_next_one_tries() -> None:
    failing = threading.Event()

    class Once(Counting):
        def generate(self, request: GenerationRequest) -> Generation:
            if not failing.is_set():
                failing.set()
                raise EngineFault("died")
            return super().generate(request)

    memory = remembering(Once())

    def ask(_: int) -> bool:
        try:
            return memory.generate(REQUEST).is_complete
        except EngineFault:
            return False

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, range(4))) == [False, True, True, True]


FORKED_WHILE_COMPUTING = """
import os, threading
from pyevm_agents.models import CachingModel
from precompiles.language_model import Generation, GenerationRequest
asked, let_go, parent = threading.Event(), threading.Event(), os.getpid()
class Slow:
    def tokenize(self, segments):
        return ()
    def generate(self, request):
        if os.getpid() == parent:
            asked.set()
            let_go.wait(60)
        return Generation(text="a", tokens=(1,), forced_tokens=0, is_complete=True)
model = CachingModel(Slow(), digest=b"", fingerprint="{}")
request = GenerationRequest(segments=(), prompt_tokens=(1,), grammar="", max_tokens=5)
thread = threading.Thread(target=model.generate, args=(request,))
thread.start()
asked.wait(60)
child = os.fork()
if child == 0:
    os._exit(0 if model.generate(request).text == "a" and model.inferences == 1 else 1)
print(os.waitpid(child, 0)[1])
let_go.set()
thread.join()
print(model.generate(request).text, model.inferences)
"""


def test_a_child_process_does_not_wait_for_its_parents_threads() -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED_WHILE_COMPUTING]
    printed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    assert printed.stdout.splitlines() == ["0", "a 1"]


# -- the real model -- #


@pytest.mark.slow
def test_the_real_model_says_the_same_cut_continued_or_whole(
    llama: LlamaModel, make_request: MakeRequest, tmp_path: Path
) -> None:
    facts = llama.profile_facts
    request = make_request()
    whole = llama.generate(request)
    path = tmp_path / "store.sqlite3"
    for limit in (3, len(whole.tokens) - 2, len(whole.tokens)):
        with Store(path) as store:
            wrapped = CachingModel(
                llama, digest=facts.digest, fingerprint=facts.fingerprint, store=store
            )
            limited = replace(request, max_tokens=limit)
            assert wrapped.generate(limited) == llama.generate(limited)
            assert wrapped.inferences == 1
    with Store(path) as store:
        wrapped = CachingModel(
            llama, digest=facts.digest, fingerprint=facts.fingerprint, store=store
        )
        assert wrapped.generate(request) == whole
        for limit in range(1, len(whole.tokens), 5):
            limited = replace(request, max_tokens=limit)
            here, there = wrapped.generate(limited), llama.generate(limited)
            assert (here.tokens, here.text) == (there.tokens, there.text)
            assert not here.is_complete
            assert here.forced_tokens >= there.forced_tokens
            assert here.margin in {None, there.margin}
        assert wrapped.inferences == 0

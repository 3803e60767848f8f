"""Failure, restart and stop of the engine's process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from precompiles.language_model import Segment
from pyevm_agents.errors import ConfigError, EngineFault
from pyevm_agents.models import GgufModel, LlamaModel, Progress, Vocabulary
from pyevm_agents.models.engine_messages import EngineRequest
from pyevm_agents.models.gguf.files import find_default_model
from pyevm_agents.models.llama.child_process import HINTS, OWN_VARIABLES
from pyevm_agents.models.llama.engine import Engine, EngineOptions
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.pyevm_agents.models.conftest import MakeRequest

TEXT = (Segment(text="some words"),)
ROOT = Path(__file__).parents[4]


@pytest.fixture(scope="module")
def own() -> Iterator[Vocabulary]:
    """A vocabulary whose process may be killed: the next call starts another."""
    with Vocabulary() as vocabulary:
        yield vocabulary


def pid_of(model: Vocabulary | LlamaModel) -> int:
    model.engine.ask(EngineRequest(operation="text", tokens=[]))  # Which starts it.
    pid = model.engine.process_id
    assert pid is not None
    return pid


def is_running(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()[:1] not in {"", "Z"}


def wait_for_end(pid: int) -> None:
    until = time.monotonic() + HANG_SECONDS
    while is_running(pid):
        assert time.monotonic() < until, f"the engine's process {pid} still runs"
        time.sleep(0.02)


def kill_and_wait(pid: int, killer: signal.Signals) -> None:
    """Kill a child process and wait for all of its threads; its owner reaps it."""
    os.kill(pid, killer)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run a script without a `__main__` guard, as users write them, with warnings as errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


class Reporting:
    """A model that forwards progress reports to a replaceable callback."""

    def __init__(self, path: Path) -> None:
        self.listen: Callable[[Progress], None] = lambda _: None
        self.model = LlamaModel(path, threads=2, progress=self.report)

    def report(self, progress: Progress) -> None:
        self.listen(progress)


@pytest.fixture(scope="module")
def reporting(reduced_model: Path) -> Iterator[Reporting]:
    """One model for all tests of progress reports."""
    made = Reporting(reduced_model)
    with made.model:
        yield made


def test_a_generation_reports_its_prompt_and_its_words(
    reporting: Reporting, make_request: MakeRequest
) -> None:
    reports: list[Progress] = []
    reporting.listen = reports.append
    request = make_request(max_tokens=40)
    generation = reporting.model.generate(request)
    prompt = [report for report in reports if report.phase == "prompt"]
    output = [report for report in reports if report.phase == "output"]
    total = len(request.prompt_tokens)
    assert [(report.done, report.total) for report in prompt] == [(0, total), (total, total)]
    assert [report.done for report in output] == sorted({report.done for report in output})
    assert all(generation.text.startswith(report.text) for report in output)
    assert output[-1] == Progress(
        phase="output", done=len(generation.tokens), total=40, text=generation.text
    )


@pytest.mark.slow
def test_a_kill_in_the_middle_of_a_generation_is_a_fault_and_the_next_call_works(
    reporting: Reporting, make_request: MakeRequest, reduced_llama: LlamaModel
) -> None:
    def kill_at_third_token(progress: Progress) -> None:
        if progress.phase == "output" and progress.done == 3:
            os.kill(killed, signal.SIGKILL)

    reporting.listen = kill_at_third_token
    killed = pid_of(reporting.model)
    request = make_request(max_tokens=6)
    with pytest.raises(
        EngineFault,
        match=r"was killed by SIGKILL \(.*memory.*\) while it was generating; the next call",
    ):
        reporting.model.generate(request)
    assert not is_running(killed)
    reporting.listen = lambda _: None
    assert reporting.model.generate(request) == reduced_llama.generate(request)
    assert pid_of(reporting.model) != killed


def test_a_caller_that_left_cancels_nothing(
    reporting: Reporting, make_request: MakeRequest, reduced_llama: LlamaModel
) -> None:
    heard: list[Progress] = []

    def hang_up(progress: Progress) -> None:
        heard.append(progress)
        raise BrokenPipeError("the client hung up")

    reporting.listen = hang_up
    with pytest.warns(
        RuntimeWarning, match="callback raised BrokenPipeError.*completed without it"
    ):
        generation = reporting.model.generate(make_request())
    assert generation == reduced_llama.generate(make_request())
    assert len(heard) == 1


def test_a_report_may_not_ask_the_model_that_it_reports_about(
    reporting: Reporting, make_request: MakeRequest
) -> None:
    def ask(_progress: Progress) -> None:
        with pytest.raises(EngineFault, match="callback called the model that it reports on"):
            reporting.model.tokenize(TEXT)

    reporting.listen = ask
    assert reporting.model.generate(make_request(max_tokens=3)).tokens


def test_ctrl_c_in_a_report_cancels_and_the_next_call_works(
    reporting: Reporting, make_request: MakeRequest
) -> None:
    def stop(_progress: Progress) -> None:
        raise KeyboardInterrupt

    reporting.listen = stop
    with pytest.raises(KeyboardInterrupt):
        reporting.model.generate(make_request())
    reporting.listen = lambda _: None
    assert reporting.model.tokenize(TEXT)


@pytest.mark.slow
@pytest.mark.parametrize("killer", [signal.SIGABRT, signal.SIGKILL])
def test_a_death_between_calls_goes_unnoticed(own: Vocabulary, killer: signal.Signals) -> None:
    first = own.tokenize(TEXT)
    pid = pid_of(own)
    kill_and_wait(pid, killer)
    assert own.tokenize(TEXT) == first
    assert pid_of(own) != pid


def test_a_crash_leaves_its_last_words(own: Vocabulary) -> None:
    with pytest.raises(
        EngineFault,
        match=r"exited with status 1 while it was running `no such thing`.*KeyError: 'no such",
    ):
        own.engine.ask(EngineRequest(operation="no such thing"))
    assert own.tokenize(TEXT)


def test_every_hint_is_for_a_signal_that_kills() -> None:
    assert {signal.SIGILL, signal.SIGKILL, signal.SIGABRT, signal.SIGBUS} == HINTS.keys()


def test_tokens_outside_of_the_vocabulary_and_texts_beyond_the_context_are_refused(
    llama: LlamaModel,
) -> None:
    for tokens, message in (
        ([49152], "not a token: 49152;"),
        ([-1], "not a token: -1;"),
        ([], "0 tokens"),
        ([5] * 8193, "8193 tokens"),
    ):
        with pytest.raises(EngineFault, match=message):
            llama.engine.ask(EngineRequest(operation="logits", tokens=tokens))
    with pytest.raises(EngineFault, match="invalid batch_tokens 513"):
        llama.engine.ask(EngineRequest(operation="logits", tokens=[5], max_tokens=513))


def test_a_vocabulary_generates_nothing(own: Vocabulary) -> None:
    with pytest.raises(EngineFault, match="without weights; use a LlamaModel"):
        own.engine.ask(EngineRequest(operation="logits", tokens=[5]))


def test_a_closed_model_says_so_and_leaves_no_process() -> None:
    vocabulary = Vocabulary()
    pid = pid_of(vocabulary)
    vocabulary.close()
    vocabulary.close()
    assert not is_running(pid)
    with pytest.raises(EngineFault, match="is closed; create a new one"):
        vocabulary.tokenize(TEXT)


def test_threads_wait_in_line(own: Vocabulary) -> None:
    expected = {
        text: own.tokenize((Segment(text=text),)) for text in ("one", "two and three", "four" * 300)
    }
    wrong: list[str] = []

    def ask(text: str) -> None:
        for _ in range(30):
            tokens = own.tokenize((Segment(text=text),))
            wrong.extend([] if tokens == expected[text] else [text])

    threads = [threading.Thread(target=ask, args=(text,)) for text in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_name_that_is_no_utf_8_is_a_name(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"model-\xff.gguf")
    path.symlink_to(find_default_model())
    with Vocabulary(path, kept_facts=tmp_path) as vocabulary:
        assert vocabulary.tokenize(TEXT)
    with Vocabulary(path, kept_facts=tmp_path) as vocabulary:
        assert vocabulary.profile_facts.name


def test_closing_ends_the_work_of_other_threads(
    make_request: MakeRequest, reduced_model: Path
) -> None:
    faults: list[EngineFault] = []
    has_begun = threading.Event()

    def generate() -> None:
        try:
            model.generate(make_request())
        except EngineFault as fault:
            faults.append(fault)

    model = LlamaModel(reduced_model, threads=1, progress=lambda _: has_begun.set())
    thread = threading.Thread(target=generate)
    thread.start()
    assert has_begun.wait(HANG_SECONDS)
    model.close()
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()
    assert len(faults) == 1


@pytest.mark.parametrize("phase", ["start", "load", "check"])
def test_closing_ends_the_loading_of_other_threads(phase: str, reduced_model: Path) -> None:
    faults: list[EngineFault] = []
    is_there, may_go_on = threading.Event(), threading.Event()

    def wait_at(progress: Progress) -> None:
        if progress.phase == phase:
            is_there.set()
            may_go_on.wait(HANG_SECONDS)

    def load() -> None:
        try:
            _ = model.profile_facts
        except EngineFault as fault:
            faults.append(fault)

    model = LlamaModel(reduced_model, threads=1, progress=wait_at)
    thread = threading.Thread(target=load)
    thread.start()
    assert is_there.wait(HANG_SECONDS)
    closing = threading.Thread(target=model.close)
    closing.start()
    may_go_on.set()
    for each in (thread, closing):
        each.join(HANG_SECONDS)
        assert not each.is_alive()
    assert len(faults) == 1
    assert model.engine.process_id is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux' /proc")
def test_the_engine_does_not_spin_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.setenv("GGML_CPU_DISABLE_FUSION", "1")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-FMA")
    with Vocabulary() as vocabulary:
        environment = Path(f"/proc/{pid_of(vocabulary)}/environ").read_bytes().split(b"\0")
    own = {name.encode() + b"=" + value.encode() for name, value in OWN_VARIABLES.items()}
    assert own <= set(environment)
    dropped = (b"GGML_CPU_DISABLE", b"PYTHONWARNINGS", b"OMP_WAIT_POLICY=active", b"GLIBC_TUNABLES")
    assert not [entry for entry in environment if entry.startswith(dropped)]


def test_a_process_that_can_not_be_started_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    with Vocabulary() as vocabulary:
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", "/dev/null/python")
            with pytest.raises(EngineFault, match=r"can't be started: .*/dev/null/.*; free memory"):
                vocabulary.tokenize(TEXT)
        assert vocabulary.tokenize(TEXT)


@pytest.mark.slow
def test_a_model_that_loads_keeps_no_other_one_waiting() -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def wait(_: Progress) -> None:
        begun.set()
        may_go_on.wait(2 * HANG_SECONDS)  # longer than the other model is waited for

    with GgufModel(None, vocabulary_only=True, progress=wait) as slow, Vocabulary() as quick:
        loading = threading.Thread(target=lambda: slow.profile_facts)
        loading.start()
        assert begun.wait(HANG_SECONDS)
        other = threading.Thread(target=lambda: quick.profile_facts, daemon=True)
        other.start()
        other.join(HANG_SECONDS)
        is_done = not other.is_alive()
        may_go_on.set()
        loading.join()
        other.join()
        assert is_done


@pytest.mark.slow
def test_a_changed_file_is_a_fault_at_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(find_default_model().read_bytes())
    with Vocabulary(path) as vocabulary:
        kill_and_wait(pid_of(vocabulary), signal.SIGKILL)
        with path.open("ab") as file:
            file.write(b"!")
        with pytest.raises(EngineFault, match=r"changed while the chain ran: .* different digest;"):
            vocabulary.tokenize(TEXT)
        path.unlink()
        with pytest.raises(EngineFault, match="can't be restarted: model file"):
            vocabulary.tokenize(TEXT)


@pytest.mark.slow
@pytest.mark.parametrize("size_bytes", [1_000, 1_000_000, 60_000_000])
def test_a_file_cut_short_is_refused_with_what_llama_cpp_says(
    tmp_path: Path, size_bytes: int
) -> None:
    path = tmp_path / "short.gguf"
    path.write_bytes(find_default_model().read_bytes()[:size_bytes])
    with pytest.raises(
        ConfigError,
        match=f"(is too small for|can't load the model file {path}.*llama.cpp's output: .*)",
    ):
        _ = LlamaModel(path).profile_facts


@pytest.mark.slow
def test_weights_that_are_no_numbers_are_refused(tmp_path: Path, reduced_model: Path) -> None:
    damaged = bytearray(reduced_model.read_bytes())
    damaged[-2_000_000:] = b"\xff" * 2_000_000
    path = tmp_path / "damaged.gguf"
    path.write_bytes(damaged)
    with pytest.raises(ConfigError, match=r"file type 3\) are not finite"):
        _ = LlamaModel(path).profile_facts


@pytest.mark.parametrize("position", [24, 20_000, 700_000, 1_800_000])
def test_a_damaged_file_is_an_error_and_never_the_end_of_the_chain(
    tmp_path: Path, position: int
) -> None:
    damaged = bytearray(find_default_model().read_bytes()[:2_000_000])
    damaged[position : position + 64] = b"\xff" * 64
    path = tmp_path / "damaged.gguf"
    path.write_bytes(damaged)
    options = EngineOptions(path=path, vocabulary_only=True, threads=1, context_tokens=None)
    try:
        _ = Engine(options).identity  # llama.cpp may read it all the same.
    except (ConfigError, EngineFault) as error:
        assert str(path) in str(error)  # noqa: PT017 - both ends are fine


@pytest.mark.slow
def test_a_script_without_a_main_guard_that_forgets_to_close_leaves_no_warning_and_no_process() -> (
    None
):
    done = run_python("""
        from precompiles.language_model import Segment
        from pyevm_agents.models import Vocabulary
        dropped = Vocabulary()
        dropped.tokenize(())
        print(dropped.engine.process_id)
        del dropped
        kept = Vocabulary()
        kept.tokenize(())
        print(kept.engine.process_id, flush=True)
    """)
    assert (done.returncode, done.stderr) == (0, "")
    for pid in done.stdout.split():
        assert not is_running(int(pid))


@pytest.mark.slow
def test_the_engine_ends_with_a_killed_parent() -> None:
    done = run_python("""
        import os, signal
        from pyevm_agents.models import Vocabulary
        vocabulary = Vocabulary()
        vocabulary.tokenize(())
        print(vocabulary.engine.process_id, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert done.returncode == -signal.SIGKILL
    wait_for_end(int(done.stdout))


def test_a_forked_process_has_an_engine_of_its_own() -> None:
    done = run_python("""
        import os
        from precompiles.language_model import Segment
        from pyevm_agents.models import Vocabulary
        vocabulary = Vocabulary()
        tokens = vocabulary.tokenize((Segment(text="word"),))
        first = vocabulary.engine.process_id
        child = os.fork()
        if child == 0:
            assert vocabulary.tokenize((Segment(text="word"),)) == tokens
            assert vocabulary.engine.process_id != first
            raise SystemExit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert vocabulary.tokenize((Segment(text="word"),)) == tokens
        assert vocabulary.engine.process_id == first
    """)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_process_forked_while_a_thread_waits_for_the_engine_has_one_of_its_own() -> None:
    done = run_python("""
        import os, signal, threading, time, warnings
        from precompiles.language_model import Segment
        from pyevm_agents.models import Vocabulary
        warnings.simplefilter("ignore", DeprecationWarning)  # Of forking beside threads.
        vocabulary = Vocabulary()
        words = (Segment(text="word"),)
        tokens = vocabulary.tokenize(words)
        os.kill(vocabulary.engine.process_id, signal.SIGSTOP)
        waiting = threading.Thread(target=vocabulary.tokenize, args=(words,))
        waiting.start()
        time.sleep(0.2)
        child = os.fork()
        if child == 0:
            signal.alarm(240)
            assert vocabulary.tokenize(words) == tokens
            raise SystemExit(7)
        _, status = os.waitpid(child, 0)
        os.kill(vocabulary.engine.process_id, signal.SIGCONT)
        waiting.join()
        assert os.waitstatus_to_exitcode(status) == 7
    """)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_a_forked_process_that_outlives_its_parent_does_not_keep_the_engine() -> None:
    done = run_python("""
        import os, signal
        from pyevm_agents.models import Vocabulary
        vocabulary = Vocabulary()
        vocabulary.tokenize(())
        print(vocabulary.engine.process_id, flush=True)
        child = os.fork()
        if child == 0:
            os.close(1)
            os.close(2)
            signal.pause()
        print(child, flush=True)
        os._exit(0)
    """)
    engine, child = map(int, done.stdout.split())
    try:
        wait_for_end(engine)
        assert is_running(child)
    finally:
        os.kill(child, signal.SIGKILL)

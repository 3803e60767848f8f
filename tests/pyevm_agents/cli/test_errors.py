"""Commands end with one line and a status, whenever and however they are ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pyevm_agents.models.gguf.files import HEADER
from tests.deadlines import HANG_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.samples import Sample

ROOT = Path(__file__).parents[3]
COMMAND = (sys.executable, "-m", "pyevm_agents")
FULL = Path("/dev/full")


DEMO = ("demo", "--json", "--threads", "1", "--model", "smollm2-135m-free")
"""In the free format each step is an inference."""


class Ended(NamedTuple):
    status: int
    stdout: str
    stderr: str


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command in a session of its own, with empty caches."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, python: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *python, "-m", "pyevm_agents", *arguments],
            cwd=ROOT,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        with process:
            process.kill()


def wait_for(process: subprocess.Popen[str], word: str) -> str:
    """Read the output of a command until a word appears."""
    assert process.stderr is not None
    read = ""
    while word not in read:
        line = process.stderr.readline()
        assert line, f"{word!r} never came: {read}"
        read += line
    return read


def stop(process: subprocess.Popen[str], said: str = "") -> Ended:
    """Press Ctrl-C: every process of the terminal's foreground group gets the signal."""
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate()
    return Ended(process.returncode, stdout, said + stderr)


def processes_of_session(session: int) -> list[str]:
    done = subprocess.run(
        ["ps", "-o", "pid=,stat=,args=", "-s", str(session)],
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in done.stdout.splitlines() if " Z" not in line]


def wait_for_end_of_session(session: int) -> None:
    """Wait for the last process; pytest's limit ends a test whose processes stay."""
    while processes_of_session(session):
        time.sleep(0.02)


def assert_clean(ended: Ended, process: subprocess.Popen[str], caches: Path) -> None:
    assert ended.status == 130, ended
    assert ended.stderr.splitlines()[-1] == "Stopped."
    assert ended.stderr.count("Stopped.") == 1
    assert "Traceback" not in ended.stderr
    assert "Exception" not in ended.stderr
    assert ended.stdout == ""
    wait_for_end_of_session(process.pid)
    for path in caches.rglob("*"):
        if path.is_file() and path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8").partition("\n")[2])
        assert not path.name.startswith(".facts-"), "half a file was left"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux' ps for a session")
@pytest.mark.parametrize("killer", [signal.SIGTERM, signal.SIGKILL])
def test_an_engine_that_computes_ends_with_a_killed_command(
    start: Callable[..., subprocess.Popen[str]], killer: signal.Signals
) -> None:
    process = start(*DEMO)
    wait_for(process, "step 1: reading the prompt")
    process.send_signal(killer)
    process.communicate()
    wait_for_end_of_session(process.pid)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux' ps for a session")
@pytest.mark.parametrize(
    "phase",
    [
        "loading the model",
        "step 1: reading the prompt",
        "step 1: writing",
        "checking the model's bits",
        "step 2: writing",
    ],
)
def test_ctrl_c_ends_the_demo_at_once(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path, phase: str
) -> None:
    process = start(*DEMO)
    said = wait_for(process, phase)
    assert_clean(stop(process, said), process, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux' ps for a session")
def test_ctrl_c_while_a_large_file_is_hashed(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    path = tmp_path / "large.gguf"
    with path.open("wb") as file:
        file.write(HEADER.pack(b"GGUF", 3, 0, 0))
        file.truncate(32 << 30)  # Holes: on the disk it is one block.
    process = start("demo", "--json", "--model", str(path))
    said = wait_for(process, "reading the model's file, 34,360 MB")
    assert_clean(stop(process, said), process, tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux' ps for a session")
@pytest.mark.parametrize(
    "module",
    [
        "click.core",
        "eth.abc",
        pytest.param("eth_utils", marks=pytest.mark.slow),
        pytest.param("pyevm_agents.models", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_while_python_imports(
    start: Callable[..., subprocess.Popen[str]], module: str
) -> None:
    """Before the package's own first line, Python reports an interrupt."""
    process = start("demo", "--json", python=("-X", "importtime"))
    said = wait_for(process, f" {module}\n")
    ended = stop(process, said)
    assert ended.status == 130
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("Stopped.") == 1


@pytest.fixture(scope="module")
def seconds_of_a_demo(tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long the whole demo takes on this machine, with empty caches."""
    since = time.monotonic()
    done = run("$C demo --json --threads 1", XDG_CACHE_HOME=str(tmp_path_factory.mktemp("caches")))
    assert done.returncode == 0, done.stderr
    return time.monotonic() - since


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux' ps for a session")
@pytest.mark.sample(count=4, seed=1)
def test_ctrl_c_at_any_time(
    start: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
    seconds_of_a_demo: float,
    sample: Sample,
) -> None:
    """From a twentieth of the time that a demo takes to all of it."""
    for moment in range(1, sample.count + 1):
        process = start("demo", "--json", "--threads", "1")
        assert process.stdout is not None
        time.sleep(seconds_of_a_demo * (0.05 + 0.95 * moment / sample.count))
        has_answered, _, _ = select.select([process.stdout], [], [], 0)
        ended = stop(process)
        if has_answered:  # It was quicker than the one measured: what it printed stands.
            assert ended.status in {0, 130}, ended
            assert json.loads(ended.stdout)["transactions"][0]["hash"]
        else:
            assert_clean(ended, process, tmp_path)
    sample.figures.update({"moments": sample.count})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="starts a session of its own")
def test_ctrl_c_as_python_finalizes_changes_nothing(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    """By then SIGINT would have its default, which kills."""
    for moment in range(10):
        process = start("--version")
        assert process.stdout is not None
        printed = process.stdout.readline()
        time.sleep(0.003 * moment)
        ended = stop(process)
        assert printed
        assert ended.status in {0, 130}, ended


def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a shell; `$C` is the command."""
    return subprocess.run(
        ["sh", "-c", command],
        cwd=ROOT,
        env={**os.environ, "C": " ".join(COMMAND), "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="has no full device")
@pytest.mark.parametrize("arguments", ["--help", "--version", "demo --help"])
def test_a_full_disk_is_a_line_and_no_traceback(arguments: str) -> None:
    done = run(f"$C {arguments} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == (
        "Error: standard output can't be written: No space left on device; redirect it\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["demo", "demo --json"])
def test_a_closed_output_is_refused_before_the_work(arguments: str) -> None:
    done = run(f"$C {arguments} >&-")
    assert done.returncode == 2
    assert done.stderr == (
        "Error: standard output is closed; redirect it to a file, a pipe or a terminal\n"
    )


@pytest.mark.slow
def test_a_reader_that_left_is_no_error_of_ours() -> None:
    done = run("{ $C --help; echo $? >&2; } | true")
    assert done.stderr.strip() in {"0", "1"}


@pytest.mark.slow
def test_a_folder_that_was_deleted_is_no_reason_to_fail(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    for model, message in (
        ("model.gguf", "invalid path 'model.gguf': No such file or directory"),
        (f"{tmp_path}/model.gguf", f"model file {tmp_path}/model.gguf"),
    ):
        done = run(f"cd {gone}; rmdir {gone}; $C demo --model {model}")
        gone.mkdir()
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert message in done.stderr


EXECUTED = """
    exec("raise KeyboardInterrupt")
"""
NAMED = """
    class Interrupting:
        def __set_name__(self, *_):
            raise KeyboardInterrupt
    class Named:
        field = Interrupting()
"""
IN_A_COMMAND = """
from pyevm_agents.cli.errors import report_errors
with report_errors():
"""
BEFORE_A_COMMAND = """
from unittest.mock import patch
from pyevm_agents.__main__ import main
def interrupted():
    {}
with patch("pyevm_agents.cli.app.main", interrupted):
    main()
"""


@pytest.mark.parametrize("where", ["in a command", "before it"])
@pytest.mark.parametrize("what", [EXECUTED, NAMED], ids=["executed", "named"])
def test_ctrl_c_as_dataclasses_are_made(tmp_path: Path, what: str, where: str) -> None:
    """CPython would die by the signal after `exec`, and raises another error in `__set_name__`."""
    code = IN_A_COMMAND + what if where == "in a command" else BEFORE_A_COMMAND.format(what.strip())
    (tmp_path / "interrupted.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "Stopped.\n")


SWALLOWED = """
import os, signal, sys
class Gone:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000):
            pass
Gone()
def main():
    print("it went on")
"""


def test_ctrl_c_is_heard_where_python_drops_exceptions(tmp_path: Path) -> None:
    """Such as when an object goes while modules are imported: once in some hundred interrupts."""
    (tmp_path / "command.py").write_text(SWALLOWED)
    code = """
import sys
from pyevm_agents import __main__
sys.meta_path.insert(0, type("Finder", (), {"find_spec": classmethod(
    lambda cls, name, *_: __import__("importlib.util").util.spec_from_file_location(
        name, "command.py") if name == "pyevm_agents.cli.app" else None)}))
__main__.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")

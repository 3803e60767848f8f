"""Start probes: llama.cpp of any build, in any setting, in a process of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyevm_agents.models import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
OWN_VARIABLES = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
"""As the product starts its engine: waiting threads sleep."""

SPEED_TEXT = (
    "The chain asks its model to think about what to do with a hundred dollars of stable value. "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The settings of a probe."""

    model: Path
    libraries: Path | None = None
    """The folder of a build's libraries, see `builds.libraries`; None for the installed one."""

    flash_attention: bool = False
    extra_buffers: bool = False
    """Let REPACK change the layout of weights, see `is_repacked`."""

    tiled: bool = False
    """Let llama.cpp multiply K-quantised weights in tiles, its default."""

    threads: int = 2
    adapter: Path | None = None
    """A LoRA adapter of the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Tokens a second: the median of some rounds."""

    prefill: float
    decode: float


def is_repacked(model: Path) -> bool:
    """Return whether the product changes the layout of a file's weights: `extra_buffers`."""
    with Vocabulary(model) as vocabulary:
        return bool(json.loads(vocabulary.profile_facts.fingerprint)["repacked"])


class ProbeError(Exception):
    """A probe's process ended."""


class RunningProbe:
    """A probe's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Use this process."""
        self._process = process

    def ask(self, ask: str, **question: object) -> dict[str, Any]:
        """Send a request, see `probe.OPERATIONS`; return the answer.

        Raises:
            ProbeError: the process ended; llama.cpp may have aborted it.
        """
        requests, answers = self._process.stdin, self._process.stdout
        line = ""
        if requests is not None and answers is not None:
            try:
                requests.write(json.dumps({"ask": ask, **question}) + "\n")
                requests.flush()
                line = answers.readline()
            except BrokenPipeError:
                line = ""
        if not line:
            status = self._process.wait()
            raise ProbeError(f"the probe ended with status {status} when asked for its {ask}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def running_probe(setting: Setting) -> Iterator[RunningProbe]:
    """Start a probe; it ends with the block."""
    dropped = ("GGML_", "LLAMA_", "OMP_", "GOMP_", "KMP_")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(dropped)
    } | OWN_VARIABLES
    environment["GGML_CPU_TILED_MM"] = "1" if setting.tiled else "0"
    if setting.libraries is not None:
        environment["LLAMA_CPP_LIB_PATH"] = str(setting.libraries)
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.probe"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment,
    ) as process:
        try:
            if process.stdin is None:
                raise ProbeError("the probe has no standard input")
            form = asdict(setting) | {
                "model": str(setting.model),
                "libraries": "",
                "adapter": "" if setting.adapter is None else str(setting.adapter),
            }
            process.stdin.write(json.dumps(form) + "\n")
            yield RunningProbe(process)
        finally:
            process.kill()


def speed_of(
    probe: RunningProbe, *, prompt_tokens: int = 256, output_tokens: int = 24, rounds: int = 3
) -> Speed:
    """Return the tokens per second of a running probe."""
    answer = probe.ask(
        "speed",
        text=SPEED_TEXT,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        rounds=rounds,
    )
    return Speed(
        prefill=round(prompt_tokens / statistics.median(answer["prefill"]), 1),
        decode=round(output_tokens / statistics.median(answer["decode"]), 1),
    )


def measure_speed(
    setting: Setting, *, prompt_tokens: int = 256, output_tokens: int = 24, rounds: int = 3
) -> Speed:
    """Start a process with a build and a setting; return its speed of reading and writing.

    Raises:
        ProbeError: its process ended.
    """
    with running_probe(setting) as probe:
        return speed_of(
            probe, prompt_tokens=prompt_tokens, output_tokens=output_tokens, rounds=rounds
        )

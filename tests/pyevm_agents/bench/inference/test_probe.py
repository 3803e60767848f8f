from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyevm_agents.bench.inference.probe import ProbeCase, ProbeRecorder
from pyevm_agents.bench.measurement.rounds import BenchSettings
from pyevm_agents.bench.measurement.usage import Usage

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


class Heard:
    """An observer that notes each step."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def begin_part(self, title: str, steps: int) -> None:
        pytest.fail(f"{title} of {steps} steps was begun by a round")

    def finish_step(self, detail: str) -> None:
        self.steps.append(detail)


def test_rounds_add_up_to_probes(reduced_llama: LlamaModel) -> None:
    times = iter((1.0, 2.0, 3.0, 4.0))
    heard = Heard()
    probing = ProbeRecorder(BenchSettings(model=reduced_llama, observer=heard, is_quick=True))

    def sample() -> tuple[float, Usage]:
        return next(times), Usage(cold_tokens=5, warm_tokens=2)

    short = {"short": ProbeCase(term="cold", sample=sample)}
    probing.run_round(short)
    probing.run_round(short | {"long": ProbeCase(term="warm", sample=sample, detail="kept")})
    probing.run_round(short)
    first, second = probing.build_probes()
    assert (first.term, first.detail, first.seconds) == ("cold", "", (1.0, 2.0, 4.0))
    assert (second.term, second.detail, second.seconds) == ("warm", "kept", (3.0,))
    assert first.prompt_tokens == 7
    assert heard.steps == ["short", "short", "long", "short"]

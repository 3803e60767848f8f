"""Measure inference: the engine's tokens and the precompile's own work, in rounds.

Terms are those of `results.TERMS`. Details of probes, beside their counts: "kept" and "restored"
warm tokens; sampled "numbers"; bytes that are "spelled" control tokens; parameters that are
"arrays"; calls that are "remembered", and calls "of nobody".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.inference.call_probes import CallProbes
from pyevm_agents.bench.inference.engine_probes import PIECE_TOKENS, EngineProbes
from pyevm_agents.bench.inference.probe import ProbeRecorder
from pyevm_agents.bench.measurement.budget import INFERENCE_SHARE, LEAST_ROUNDS
from pyevm_agents.bench.measurement.rounds import spread_rounds, time_in_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.bench.measurement.results import Probe
    from pyevm_agents.bench.measurement.rounds import BenchSettings

LONG_ROUNDS = 2
"""Rounds of the longest prompt: each takes a minute or two on two cores."""


def measure_probes(
    setting: BenchSettings,
    *,
    beside: Mapping[str, Callable[[], float]] | None = None,
    longest_tokens: int | None = None,
    rounds: int | None = None,
) -> tuple[Probe, ...]:
    """Measure every term: prompts up to the whole context, or up to 512 tokens in quick mode.

    Input:
        beside: reference workloads to time once a round as well, since the machine's speed may have
            changed since the first measurement. Each returns seconds.
        longest_tokens: length of the longest prompt; None for the default above.
        rounds: samples of each probe; None for the settings' number.

    Raises: EngineFault: the engine died, or a call ended in another way than intended.
    """
    if longest_tokens is None and setting.is_quick:
        longest_tokens = PIECE_TOKENS
    engine = EngineProbes(setting.model, longest_tokens=longest_tokens)
    calls = CallProbes(setting.model)
    calls.warm_up()
    short = calls.build_cases() | engine.build_short_cases()
    long = engine.build_long_cases() if engine.longest_tokens > PIECE_TOKENS else {}
    rounds = setting.rounds if rounds is None else rounds
    long_rounds = spread_rounds(LONG_ROUNDS if long else 0, rounds)
    beside = beside or {}
    steps = (len(beside) + len(short)) * rounds + len(long) * len(long_rounds)
    setting.observer.begin_part("Inference", steps)
    probing = ProbeRecorder(setting)
    for index in range(rounds):
        if index >= LEAST_ROUNDS and setting.budget.is_spent(INFERENCE_SHARE):
            break
        time_in_rounds(setting, beside, rounds=1)
        probing.run_round(short)
        if index in long_rounds:
            probing.run_round(long)
    return probing.build_probes()

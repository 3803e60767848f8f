"""What inference takes: the engine's tokens and the precompile's own work, timed round by round.

Terms are those of `results.TERMS`. Details of probes, beside what their counts tell: "kept" and
"restored" warm tokens; sampled "numbers"; bytes that are "spelled" control tokens; parameters that
are "arrays"; calls that are "remembered", and those "of nobody".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyevm_agents.bench.inference.call_probes import CallProbes
from pyevm_agents.bench.inference.engine_probes import PIECE_TOKENS, EngineProbes
from pyevm_agents.bench.inference.probe import ProbeRecorder
from pyevm_agents.bench.measurement.rounds import spread_rounds, time_in_rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyevm_agents.bench.measurement.results import Probe
    from pyevm_agents.bench.measurement.rounds import BenchSettings

LONG_ROUNDS = 2
"""How often the longest prompt is read: a minute or two each time, on two cores."""


def measure_probes(
    setting: BenchSettings,
    *,
    beside: Mapping[str, Callable[[], float]] | None = None,
    longest_tokens: int | None = None,
    rounds: int | None = None,
) -> tuple[Probe, ...]:
    """Measure every term: prompts up to the whole context, or up to 512 tokens in quick mode.

    Input:
        beside: what is to be timed as well, once a round: what terms are held against, as the
            machine may be slower than it was before. Each does its work and returns its seconds.
        longest_tokens: of a prompt; None for those.
        rounds: how often each is timed; None for as often as the setting says.

    Raises: EngineFault: the engine died, or a call did not do what it is made for.
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
        time_in_rounds(setting, beside, rounds=1)
        probing.run_round(short)
        if index in long_rounds:
            probing.run_round(long)
    return probing.build_probes()

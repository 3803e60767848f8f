"""Probes of synthetic coefficients, with or without noise, for tests of fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyevm_agents.bench.measurement.results import Probe
from pyevm_agents.bench.measurement.usage import Usage

SHORT_CALL_BYTES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Seconds of everything; those of a default model on two cores, or so."""

    call: float = 4e-3
    byte: float = 3e-7
    spelled: float = 2e-6
    tool: float = 5e-5
    parameter: float = 2e-5
    array: float = 3e-4
    read: float = 1e-4
    nobody: float = 1e-3
    begin: float = 2e-2
    cold: float = 3.9e-3
    attention: float = 2e-7
    again: float = 1.4e-2
    kept: float = 1e-6
    restored: float = 1.2e-5
    sampled: float = 1.3e-2
    sampled_before: float = 2e-6
    digit: float = 4e-3
    forced: float = 4e-3
    forced_before: float = 1e-6


def made_up_probes(
    truth: Truth, *, longest: int = 4096, noise: float = 0.0, rounds: int = 5, seed: int = 0
) -> list[Probe]:
    """Return probes as `measure_probes` makes them, each round off by relative noise."""
    chance = np.random.default_rng(seed)

    def probe(term: str, usage: Usage, seconds: float, detail: str = "") -> Probe:
        off = np.exp(chance.normal(0.0, noise, rounds))
        prompt = usage.cold_tokens + usage.warm_tokens
        return Probe(
            term=term,
            usage=usage,
            prompt_tokens=prompt,
            seconds=tuple((seconds * off).tolist()),
            detail=detail,
        )

    t = truth
    made = []
    for tools, parameters, bytes_, detail in (
        (0, 0, SHORT_CALL_BYTES, ""),
        (0, 0, 2_000, ""),
        (0, 0, 24_000, ""),
        (0, 0, 4_000, "spelled"),
        (8, 0, 3_000, ""),
        (64, 0, 21_000, ""),
        (8, 32, 10_000, ""),
        (8, 256, 60_000, ""),
        (24, 192, 51_000, ""),
        (8, 32, 10_000, "arrays"),
        (8, 256, 60_000, "arrays"),
    ):
        kind = t.array if detail == "arrays" else t.parameter
        byte = t.byte + t.spelled * (detail == "spelled")
        own = t.call + byte * bytes_ + (t.tool + 3 * t.read) * tools + kind * parameters
        term = _term(tools, parameters, bytes_)
        usage = Usage(
            calls=1, input_bytes=bytes_, tools=tools, parameters=parameters, evm_gas=30_000
        )
        made.append(probe(term, usage, t.nobody + own, detail))
    for tools in (2, 16, 64):
        usage = Usage(calls=1, input_bytes=320 * tools, tools=tools, evm_gas=30_000)
        seconds = t.nobody + 2e-3 + t.byte * 320 * tools + t.read * 3 * tools
        made.append(probe("read", usage, seconds))
    made.append(probe("call", Usage(evm_gas=30_000), t.nobody, "of nobody"))
    for length in (16, 64, 256, 512):
        usage = Usage(cold_tokens=length, output_tokens=1)
        made.append(probe("cold", usage, t.begin + t.cold * length + t.attention * length**2))
    for start in range(512, longest, 512):
        end = start + 512
        usage = Usage(cold_tokens=512, warm_tokens=start, output_tokens=1)
        grown = t.attention * (end**2 - start**2)
        made.append(probe("cold", usage, t.begin + t.cold * 512 + grown))
    for length in (128, 512, longest // 2, longest):
        known = t.again + t.kept * length
        one = Usage(warm_tokens=length, output_tokens=1)
        made.append(probe("warm", one, known, "kept"))
        made.append(probe("warm", one, t.again + t.restored * length, "restored"))
        before = length + 17 / 2
        said = known + 16 * (t.sampled + t.sampled_before * before)
        usage = Usage(warm_tokens=length, output_tokens=17)
        made.append(probe("sampled", usage, said))
        made.append(probe("sampled", usage, said + 16 * t.digit, "numbers"))
        for forced in (16, 128):
            usage = Usage(warm_tokens=length, output_tokens=forced + 1, forced_tokens=forced)
            before = length + (forced + 1) / 2
            fed = forced * (t.forced + t.forced_before * before)
            made.append(probe("forced", usage, known + fed))
    return made


def _term(tools: int, parameters: int, bytes_: int) -> str:
    if tools:
        return "parameter" if parameters else "tool"
    return "byte" if bytes_ > SHORT_CALL_BYTES else "call"

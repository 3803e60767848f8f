"""Schedules that runs and attacks are priced under: the default one, parity with each reference."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pyevm_agents.bench.measurement.results import REFERENCES
from pyevm_agents.bench.pricing.parity import parity_schedule
from pyevm_agents.bench.pricing.pricing import Prices
from pyevm_agents.config import ChainConfig
from pyevm_agents.config.schedule_file import ScheduleFile
from pyevm_agents.devnet.chain import model_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyevm_agents.bench.measurement.results import Model, Term, Yardstick
    from pyevm_agents.models import ProfileFacts

DEFAULT = "default"


def own_schedules(
    facts: ProfileFacts, model: Model, terms: Sequence[Term], yardsticks: Sequence[Yardstick]
) -> tuple[Prices, ...]:
    """Return the default schedule, and those at parity where terms and yardsticks are known."""
    config = ChainConfig(models=(model_profile(facts),), profile_fingerprint=facts.fingerprint)
    told = {DEFAULT: ScheduleFile()}
    if terms and yardsticks:
        for reference in REFERENCES:
            told[f"parity-{reference}"] = parity_schedule(terms, yardsticks, reference, model)
    applied = {name: file.applied_to(config) for name, file in told.items()}
    return tuple(
        Prices(name=name, schedule=rules.schedule, profile=rules.models[0])
        for name, rules in applied.items()
    )


def described(prices: Prices) -> str:
    """Return what a schedule asks, in words."""
    profile = prices.profile
    tokens = (
        f"{profile.cold_prompt_token_gas:,} a cold token, {profile.warm_prompt_token_gas:,} a warm "
        f"one, {profile.output_token_gas:,} an output token"
    )
    others = (
        f"{gas:,} {name.removesuffix('_gas').replace('_', ' ')}"
        for name, gas in asdict(prices.schedule).items()
    )
    return f"{tokens}; {', '.join(others)}"

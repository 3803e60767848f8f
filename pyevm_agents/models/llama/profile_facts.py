"""What a file and its engine say for the rules of a chain, the fingerprint of the bits among it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyevm_agents.models.decoding.chat_template import chat_pieces
from pyevm_agents.models.llama.build_profile import BATCH_TOKENS, DECODING_RULES

if TYPE_CHECKING:
    from pathlib import Path

    from pyevm_agents.models.llama.identity import EngineIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFacts:
    """What a file and its engine say, for the rules of a chain."""

    digest: bytes
    """SHA-256 of the GGUF file, 32 bytes. With an adapter, SHA-256 of the model's such digest and
    then the adapter's: genesis and `modelId` name the two together."""

    name: str
    """The file's own name for the model, else the name of the file. With an adapter, that of the
    adapter."""

    architecture: str
    """Such as `llama`."""

    context_tokens: int
    vocabulary_tokens: int
    chat_prefix: str
    chat_middle: str
    chat_suffix: str

    fingerprint: str
    """Canonical JSON of everything else that decides about bits: versions, build, canary."""


def profile_facts(path: Path, identity: EngineIdentity) -> ProfileFacts:
    """Return the facts of a file by what its engine is.

    Input:
        path: the file that gives the name where no entry does: the adapter's, if there is one.

    Raises:
        ConfigError: the file's chat template does not render, or changes its messages.
    """
    facts = identity.facts
    pieces = chat_pieces(
        facts["chat_template"],
        bos_text=facts["bos_text"],
        eos_text=facts["eos_text"],
        adds_bos=facts["adds_bos"],
    )
    fingerprint = {
        "batch_tokens": BATCH_TOKENS,
        "canary": facts["canary"],
        "context_tokens": facts["context_tokens"],
        "decoding": DECODING_RULES,
        "engine": identity.engine,
        "features": identity.build.numeric_features,
        "flash_attention": False,
        "grammar": identity.guidance,
        "profile": identity.build.profile,
        "repacked": facts["repacked"],
        "tiled_products": False,
    }
    return ProfileFacts(
        digest=identity.digest,
        name=facts["name"] or path.stem,
        architecture=facts["architecture"],
        context_tokens=facts["context_tokens"],
        vocabulary_tokens=facts["vocabulary_tokens"],
        chat_prefix=pieces.prefix,
        chat_middle=pieces.middle,
        chat_suffix=pieces.suffix,
        fingerprint=json.dumps(fingerprint, sort_keys=True, separators=(",", ":")),
    )

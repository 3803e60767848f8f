"""The facts of a file for the chain configuration, and the fingerprint."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.models import NO_ADAPTER, Vocabulary
from pyevm_agents.models.gguf.files import find_default_model
from pyevm_agents.models.llama.identity import build_profile_facts

if TYPE_CHECKING:
    from pyevm_agents.models import LlamaModel


@pytest.mark.slow
def test_the_facts_are_those_of_the_file() -> None:
    with Vocabulary(adapter=NO_ADAPTER) as vocabulary:
        facts = vocabulary.profile_facts
    assert facts.digest == hashlib.sha256(find_default_model().read_bytes()).digest()
    assert (facts.architecture, facts.context_tokens, facts.vocabulary_tokens) == (
        "llama",
        8192,
        49152,
    )
    assert facts.name == "Smollm2 135M 8k Lc100K Mix1 Ep2"
    assert facts.chat_prefix == "<|im_start|>system\n"
    assert facts.chat_middle == "<|im_end|>\n<|im_start|>user\n"
    assert facts.chat_suffix == "<|im_end|>\n<|im_start|>assistant\n"


def test_the_fingerprint_is_canonical_json_of_all_that_decides(llama: LlamaModel) -> None:
    fingerprint = json.loads(llama.profile_facts.fingerprint)
    assert llama.profile_facts.fingerprint == json.dumps(
        fingerprint, sort_keys=True, separators=(",", ":")
    )
    assert sorted(fingerprint) == [
        "batch_tokens",
        "canary",
        "context_tokens",
        "decoding",
        "engine",
        "features",
        "flash_attention",
        "grammar",
        "profile",
        "repacked",
        "tiled_products",
    ]
    assert len(fingerprint["canary"]) == 64
    assert fingerprint["engine"] == "llama-cpp-python 0.3.36 (llama.cpp 0c1e57098)"
    assert fingerprint["grammar"] == "llguidance 1.9.1"
    assert (fingerprint["flash_attention"], fingerprint["batch_tokens"]) == (False, 512)
    assert fingerprint["repacked"] is False
    assert "REPACK" in fingerprint["features"]


def test_a_vocabulary_says_the_same_but_for_the_canary(
    llama: LlamaModel, vocabulary: Vocabulary
) -> None:
    full, partial = (json.loads(model.profile_facts.fingerprint) for model in (llama, vocabulary))
    assert partial == {**full, "canary": ""}
    assert (
        replace(vocabulary.profile_facts, fingerprint=llama.profile_facts.fingerprint)
        == llama.profile_facts
    )


def test_a_file_without_a_name_is_called_by_its_path(llama: LlamaModel) -> None:
    identity = llama.engine.identity
    nameless = replace(identity, facts={**identity.facts, "name": ""})
    assert build_profile_facts(Path("/models/mine.gguf"), nameless).name == "mine"

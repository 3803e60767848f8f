"""The public class: what it says of its file, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel, Vocabulary
from pyevm_agents.models.gguf import default_model_path

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pyevm_agents.models.conftest import MakeRequest


def test_the_facts_are_those_of_the_file(llama: LlamaModel) -> None:
    facts = llama.profile_facts
    assert facts.digest == hashlib.sha256(default_model_path().read_bytes()).digest()
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
        "tiled_products",
    ]
    assert len(fingerprint["canary"]) == 64
    assert fingerprint["engine"] == "llama-cpp-python 0.3.36 (llama.cpp 0c1e57098)"
    assert fingerprint["grammar"] == "llguidance 1.9.1"
    assert (fingerprint["flash_attention"], fingerprint["batch_tokens"]) == (False, 512)


def test_a_vocabulary_says_the_same_but_for_the_canary(
    llama: LlamaModel, vocabulary: Vocabulary
) -> None:
    full, partial = (json.loads(model.profile_facts.fingerprint) for model in (llama, vocabulary))
    assert partial == {**full, "canary": ""}
    assert (
        replace(vocabulary.profile_facts, fingerprint=llama.profile_facts.fingerprint)
        == llama.profile_facts
    )


def test_the_parent_never_loads_llama_cpp() -> None:
    code = (
        "import sys; from pyevm_agents.models import Vocabulary; Vocabulary().close(); "
        "sys.exit('llama_cpp' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_context_can_be_smaller() -> None:
    with Vocabulary(str(default_model_path()), context_tokens=256) as model:
        assert model.profile_facts.context_tokens == 256
    with pytest.raises(
        ConfigError, match="context_tokens is 8193; this model was trained for 1 to 8192"
    ):
        _ = Vocabulary(context_tokens=8193).profile_facts


@pytest.mark.parametrize("context_tokens", [0, -1, True, 1.5])
def test_what_is_no_context_is_refused(context_tokens: object) -> None:
    with pytest.raises(ConfigError, match=f"context_tokens is {context_tokens!r}; it must be"):
        LlamaModel(context_tokens=context_tokens)  # type: ignore[arg-type]


def test_what_is_no_file_and_no_number_of_threads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no model file"):
        LlamaModel(tmp_path / "absent.gguf")
    with pytest.raises(ConfigError, match="threads is 0"):
        LlamaModel(threads=0)


def test_a_prompt_must_have_tokens_and_leave_room(
    llama: LlamaModel, make_request: MakeRequest
) -> None:
    with pytest.raises(ConfigError, match="The prompt has no tokens"):
        llama.generate(replace(make_request(), prompt_tokens=()))
    with pytest.raises(
        ConfigError,
        match="8000 prompt tokens and up to 193 more do not fit in the model's context of 8192",
    ):
        llama.generate(replace(make_request(max_tokens=193), prompt_tokens=(5,) * 8000))

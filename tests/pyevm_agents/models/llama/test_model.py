"""The public model classes: facts of a file, and rejected options."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import LlamaModel, Vocabulary
from pyevm_agents.models.gguf.files import find_default_model

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pyevm_agents.models.conftest import MakeRequest


def test_the_parent_never_loads_llama_cpp() -> None:
    code = (
        "import sys; from pyevm_agents.models import Vocabulary; Vocabulary().close(); "
        "sys.exit('llama_cpp' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_context_can_be_smaller() -> None:
    with Vocabulary(str(find_default_model()), context_tokens=256) as model:
        assert model.profile_facts.context_tokens == 256
    with pytest.raises(ConfigError, match="invalid context_tokens 8193: must be 1 to 8192"):
        _ = Vocabulary(context_tokens=8193).profile_facts


@pytest.mark.parametrize("context_tokens", [0, -1, True, 1.5])
def test_what_is_no_context_is_refused(context_tokens: object) -> None:
    with pytest.raises(ConfigError, match=f"context_tokens {context_tokens!r}: must be"):
        LlamaModel(context_tokens=context_tokens)  # type: ignore[arg-type]


def test_what_is_no_file_and_no_number_of_threads_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model file"):
        LlamaModel(tmp_path / "absent.gguf")
    with pytest.raises(ConfigError, match="invalid threads 0"):
        LlamaModel(threads=0)


def test_no_more_is_known_than_is_asked_for(llama: LlamaModel, make_request: MakeRequest) -> None:
    request = make_request(max_tokens=6)
    known = llama.generate(request)
    with pytest.raises(
        ConfigError, match="6 tokens are known but 5 are requested: raise max_tokens"
    ):
        llama.resume(replace(request, max_tokens=5), known)
    assert llama.resume(request, known) == known


def test_a_prompt_must_have_tokens_and_leave_room(
    llama: LlamaModel, make_request: MakeRequest
) -> None:
    with pytest.raises(ConfigError, match="empty prompt"):
        llama.generate(replace(make_request(), prompt_tokens=()))
    with pytest.raises(
        ConfigError,
        match="8000 prompt tokens and up to 193 more exceed the model's context of 8192",
    ):
        llama.generate(replace(make_request(max_tokens=193), prompt_tokens=(5,) * 8000))

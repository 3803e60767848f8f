"""The installed chooser is the file that its digest says, and is read on first use."""

from __future__ import annotations

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.chooser.chooser_file import open_chooser
from pyevm_agents.models.chooser.installed import DIGEST, FILE, find_chooser
from pyevm_agents.models.gguf.adapter import read_adapter
from pyevm_agents.models.gguf.files import DEFAULT_ADAPTER

SENTENCE, CALL = "Send 5 USDC to Bob", "transfer: Send tokens (USDC). to = Bob; value = 5 usdc"


def test_the_adapter_names_the_installed_file() -> None:
    assert read_adapter(DEFAULT_ADAPTER).chooser == DIGEST.hex()
    assert open_chooser(FILE).digest == DIGEST


def test_it_scores_as_the_file_does() -> None:
    chooser, file = find_chooser(DIGEST), open_chooser(FILE)
    assert find_chooser(DIGEST) is chooser
    assert chooser.digest == DIGEST
    assert chooser.count_mood_tokens(SENTENCE) == file.count_mood_tokens(SENTENCE)
    assert chooser.count_call_tokens(SENTENCE, CALL) == file.count_call_tokens(SENTENCE, CALL)
    assert chooser.score_moods([SENTENCE]) == file.score_moods([SENTENCE])
    assert chooser.score_calls([(SENTENCE, CALL)]) == file.score_calls([(SENTENCE, CALL)])


def test_another_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="open the chain with the version"):
        find_chooser(bytes(32))

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import pytest

from precompiles.language_model import Segment
from pyevm_agents.bench.inference.synthetic_vocabulary import (
    SyntheticVocabulary,
    build_synthetic_vocabulary,
)
from pyevm_agents.errors import ConfigError
from pyevm_agents.models import Vocabulary
from pyevm_agents.models.gguf.files import find_default_model
from tests.pyevm_agents.bench.tiny_model import tiny_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vocabulary]:
    with Vocabulary(tiny_model(tmp_path_factory.mktemp("tiny"))) as opened:
        yield opened


@pytest.fixture(scope="module")
def grown() -> SyntheticVocabulary:
    return build_synthetic_vocabulary(find_default_model(), 50_000)


@pytest.mark.slow
def test_the_vocabulary_grows_and_reads_every_text(
    tiny: Vocabulary, grown: SyntheticVocabulary
) -> None:
    assert len(grown.tokens) == len(grown.kinds) == len(set(grown.tokens)) == 50_000
    assert len(grown.merges) == len(set(grown.merges)) == 48_900 + 50_000 - 49_152
    assert grown == build_synthetic_vocabulary(find_default_model(), 50_000)
    made_up = grown.merges[-1].split(" ")
    assert grown.tokens[-1] == "".join(made_up)
    for text in ("Größe 量 0x19", "a b  c\n", "The counter is: 7"):
        assert tiny.detokenize(tiny.tokenize((Segment(text=text),))) == text


@pytest.mark.slow
def test_a_made_up_token_is_one_token_of_its_text(
    tiny: Vocabulary, grown: SyntheticVocabulary
) -> None:
    words = [
        (index, text)
        for index, text in enumerate(grown.tokens)
        if index >= 49_152 and text.isascii() and text.isalpha()
    ]
    read = [tiny.tokenize((Segment(text=text),)) == (index,) for index, text in words]
    assert len(read) > 100
    assert sum(read) > 0.5 * len(read)


def test_a_vocabulary_that_would_shrink_is_refused() -> None:
    with pytest.raises(ConfigError, match="has 49152 tokens, more than 1000"):
        build_synthetic_vocabulary(find_default_model(), 1_000)


def test_a_vocabulary_of_another_kind_is_refused(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", "llama")
    writer.add_tokenizer_model("llama")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    with pytest.raises(ConfigError, match=r"vocabulary 'llama' of .*: must be byte-level BPE"):
        build_synthetic_vocabulary(tmp_path / "other.gguf", 1_000)

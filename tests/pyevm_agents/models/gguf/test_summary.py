"""The summary of a model file's header."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models.gguf.files import find_default_model
from pyevm_agents.models.gguf.summary import FILE_TYPES, read_summary

if TYPE_CHECKING:
    from pathlib import Path


def test_the_default_model() -> None:
    path = find_default_model()
    summary = read_summary(path)
    assert (summary.architecture, summary.quantisation) == ("llama", "Q4_1")
    assert summary.parameters == 134_515_008
    assert summary.size_bytes == path.stat().st_size
    assert summary.trained_context_tokens == 8_192
    assert (summary.licence, summary.licence_link) == ("apache-2.0", "")
    assert summary.state_bytes_per_token == 23_040


def write(path: Path, **entries: object) -> Path:
    writer = gguf.GGUFWriter(path, "other")
    for key, value in entries.items():
        writer.add_key_value(
            key.replace("__", "."),
            value,
            gguf.GGUFValueType.get_type(value)
            if not isinstance(value, int)
            else gguf.GGUFValueType.UINT32,
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_that_specifies_nothing(tmp_path: Path) -> None:
    summary = read_summary(write(tmp_path / "empty.gguf"))
    assert (summary.quantisation, summary.licence, summary.trained_context_tokens) == ("", "", 0)
    assert summary.state_bytes_per_token is None


def test_a_named_licence_and_heads_of_another_size(tmp_path: Path) -> None:
    entries = {
        "general__license": "other",
        "general__license__name": "house licence",
        "general__license__link": "https://licence.example",
        "general__file_type": 999,
        "other__block_count": 3,
        "other__embedding_length": 64,
        "other__attention__head_count": 4,
        "other__attention__key_length": 32,
    }
    summary = read_summary(write(tmp_path / "named.gguf", **entries))
    assert (summary.licence, summary.licence_link) == ("house licence", "https://licence.example")
    assert summary.quantisation == "type 999"
    assert summary.state_bytes_per_token == 3 * 4 * (32 + 16) * 2


def test_quantisations_are_named_as_llama_cpp_names_them() -> None:
    names = {int(kind): name for name, kind in gguf.LlamaFileType.__members__.items()}
    for number, name in FILE_TYPES.items():
        assert name in names[number], number


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(find_default_model().read_bytes()[:20_000])
    with pytest.raises(ConfigError, match="truncated or corrupt"):
        read_summary(path)

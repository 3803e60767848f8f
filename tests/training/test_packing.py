from __future__ import annotations

import gzip
import json
import math
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch", reason="needs training/requirements.txt")
pytest.importorskip("gguf", reason="needs training/requirements.txt")

from training.packing import DatasetError, Group, Request, pack, read_dataset

if TYPE_CHECKING:
    from pathlib import Path

ROW: dict[str, Any] = {
    "system": [1, 2, 3],
    "requests": [{"tokens": [4, 5, 6], "learn": [0, 4, 0]}, {"tokens": [7], "learn": [0.5]}],
}
GROUP = Group(
    system=(1, 2, 3),
    requests=(
        Request(tokens=(4, 5, 6), learn=(0.0, 4.0, 0.0)),
        Request(tokens=(7,), learn=(0.5,)),
    ),
)


def written(folder: Path, *lines: str) -> Path:
    path = folder / "data.jsonl"
    path.write_text("\n".join(lines))
    return path


def test_a_file_is_read_gzipped_or_not_and_has_one_digest(tmp_path: Path) -> None:
    plain = written(tmp_path, json.dumps(ROW))
    squeezed = tmp_path / "data.jsonl.gz"
    squeezed.write_bytes(gzip.compress(plain.read_bytes()))
    one, other = (read_dataset(path, vocabulary_tokens=8) for path in (plain, squeezed))
    assert one == other
    assert one.groups == (GROUP,)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"system": []}, "a group must have a system prompt"),
        ({"requests": []}, "at least one request"),
        ({"system": [8]}, "tokens from 4 to 8: must be 0 to 7"),
        ({"system": [-1]}, "tokens from -1 to 7: must be 0 to 7"),
        ({"system": "abc"}, "line 1"),
        ({"requests": [{"tokens": [1], "learn": [1, 0]}]}, "1 tokens but 2 items"),
        ({"requests": [{"tokens": [1], "learn": [0]}]}, "at least one learned token"),
        (
            {"requests": [{"tokens": [1], "learn": [-1]}]},
            "-1 to -1: must be finite, at least 0",
        ),
        ({"requests": [{"tokens": [1], "learn": [math.inf]}]}, "must be finite, at least 0"),
        ({"requests": [{"tokens": [1], "learn": [math.nan]}]}, "must be finite, at least 0"),
        ({"requests": [{"tokens": [1], "learn": ["1"]}]}, "TypeError"),
        ({"requests": [{"tokens": [1]}]}, "KeyError"),
    ],
)
def test_what_is_no_group_is_refused(
    tmp_path: Path, change: dict[str, Any], complaint: str
) -> None:
    path = written(tmp_path, json.dumps(ROW | change))
    with pytest.raises(DatasetError, match=complaint):
        read_dataset(path, vocabulary_tokens=8)


def test_what_is_no_file_of_lines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="can't be read"):
        read_dataset(tmp_path / "none", vocabulary_tokens=8)
    with pytest.raises(DatasetError, match="is empty"):
        read_dataset(written(tmp_path), vocabulary_tokens=8)
    with pytest.raises(DatasetError, match="line 2"):
        read_dataset(written(tmp_path, json.dumps(ROW), "{"), vocabulary_tokens=8)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(json.dumps(ROW).encode())[:-9])
    with pytest.raises(DatasetError, match="can't be read"):
        read_dataset(cut, vocabulary_tokens=8)


def test_requests_stand_behind_the_system_shortest_first_and_end_where_learning_does() -> None:
    (packed,) = pack(GROUP, max_tokens=100)
    assert packed.tokens.tolist() == [1, 2, 3, 7, 4, 5]
    assert packed.positions.tolist() == [0, 1, 2, 3, 3, 4]
    assert packed.lengths == (1, 2)
    # 7 follows the system's last token; 5 follows 4.
    assert packed.rows.tolist() == [2, 4]
    assert packed.targets.tolist() == [7, 5]
    assert packed.weights.tolist() == [0.5, 4.0]
    assert (GROUP.learned_tokens, GROUP.weight) == (2, 4.5)


@pytest.mark.parametrize("max_tokens", range(3, 60))
def test_a_group_is_split_and_loses_nothing(max_tokens: int) -> None:
    lengths = (5, 1, 12, 3, 3, 8, 20, 2)
    requests = tuple(
        Request(tokens=tuple(range(10 * n, 10 * n + length)), learn=(1.0,) * length)
        for n, length in enumerate(lengths)
    )
    sequences = list(pack(Group(system=(0, 1, 2), requests=requests), max_tokens=max_tokens))
    learned = [token for packed in sequences for token in packed.targets.tolist()]
    assert sorted(learned) == sorted(token for request in requests for token in request.tokens)
    for packed in sequences:
        assert packed.tokens[:3].tolist() == [0, 1, 2]
        assert len(packed.tokens) <= max_tokens or len(packed.lengths) == 1
        assert list(packed.lengths) == sorted(packed.lengths)

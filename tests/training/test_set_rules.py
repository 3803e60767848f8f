"""Decoding rules of an adapter's file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import gguf
import pytest

from precompiles.decoding_rules import JUDGE, SHORT_FORMAT
from pyevm_agents.models.gguf.adapter import read_adapter
from pyevm_agents.models.gguf.files import DEFAULT_ADAPTER, FREE_ADAPTER
from training.set_rules import RulesError, main, read_rules, set_rules


def read(path: Path) -> tuple[dict[str, object], dict[str, bytes]]:
    reader = gguf.GGUFReader(path)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    return facts, {tensor.name: tensor.data.tobytes() for tensor in reader.tensors}


def test_a_copy_differs_by_its_rules_alone(tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    rules = {"max_surprisal": 7, "stated_values": 1}
    old = dict(read_adapter(DEFAULT_ADAPTER).decoding)
    assert set_rules(DEFAULT_ADAPTER, copy, rules) == old | rules
    facts, tensors = read(DEFAULT_ADAPTER)
    new, same = read(copy)
    assert same == tensors
    changed = {"decoding.max_surprisal": 7, "decoding.stated_values": 1, "GGUF.kv_count": None}
    assert {name for name in new if new[name] != facts.get(name)} == set(changed)
    assert new["decoding.max_surprisal"] == 7
    assert [path.name for path in tmp_path.iterdir()] == ["copy.gguf"]


def test_a_judge_needs_a_chooser(tmp_path: Path) -> None:
    copy, chooser = tmp_path / "copy.gguf", tmp_path / "chooser.gguf"
    chooser.write_bytes(b"chooser")
    rules = dict.fromkeys(JUDGE, 7)
    with pytest.raises(RulesError, match="names no chooser"):
        set_rules(FREE_ADAPTER, copy, rules | {"short_format": SHORT_FORMAT})
    set_rules(FREE_ADAPTER, copy, rules | {"short_format": SHORT_FORMAT}, chooser)
    adapter = read_adapter(copy)
    assert adapter.chooser == hashlib.sha256(b"chooser").hexdigest()
    assert dict(adapter.decoding)[JUDGE[0]] == 7


def test_a_rule_is_removed(tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    assert main([str(FREE_ADAPTER), str(copy), "--rule", "stated_values=0"]) == 0
    assert not [name for name in read(copy)[0] if name.startswith("decoding.")]


def test_rules_that_do_not_fit_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy.gguf"
    wrong = ["--rule", "router_weight=1"], ["--rule", "x=1"], ["--rule", "max_surprisal=a"]
    for rules in wrong:
        assert main([str(FREE_ADAPTER), str(copy), *rules]) == 1
        assert capsys.readouterr().err
    with pytest.raises(RulesError, match=r"adapter .* can't be read"):
        set_rules(Path(__file__), copy, {})
    with pytest.raises(RulesError, match="--rule x: must be NAME=NUMBER"):
        read_rules(["x"])
    assert not copy.exists()

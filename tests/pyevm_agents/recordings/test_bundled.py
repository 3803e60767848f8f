"""The bundled fixtures are found by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.recordings.bundled import list_bundled_fixtures, load_bundled_fixture

FOLDER = Path(__file__).parents[3] / "chain_fixtures"


def test_each_file_has_a_name_and_is_found_by_it() -> None:
    names = {file.stem.replace("-", "_") for file in FOLDER.glob("*.json")}
    assert set(list_bundled_fixtures()) == names | {"wallet_agent"}
    assert load_bundled_fixture("wallet_agent").name == "wallet"
    assert (
        load_bundled_fixture("out_of_gas").name
        == load_bundled_fixture("out-of-gas").name
        == "out-of-gas"
    )


def test_a_file_is_found_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FOLDER / "nested.json", tmp_path / "mine.json")
    assert load_bundled_fixture(str(tmp_path / "mine.json")).name == "nested"
    monkeypatch.chdir(tmp_path)
    assert load_bundled_fixture("mine.json").name == "nested"
    with pytest.raises(
        ConfigError, match="must be one of callback, council, loan, nested, out_of_gas"
    ):
        load_bundled_fixture("mine")
    with pytest.raises(ConfigError, match=r"unknown fixture '\.\./nested'"):
        load_bundled_fixture("../nested")


def test_an_installed_wheel_has_them_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FOLDER, tmp_path / "chain_fixtures")
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    (tmp_path / "chain_fixtures" / "wallet.json").rename(tmp_path / "chain_fixtures" / "a-b.json")
    assert "a_b" in list_bundled_fixtures()
    assert "wallet_agent" not in list_bundled_fixtures()

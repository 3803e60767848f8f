"""The fastest hashes that are installed are used, unless somebody chose."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyevm_agents.cli import hash_backend
from pyevm_agents.cli.hash_backend import CHOICE, FASTEST, choose_hash_backend

if TYPE_CHECKING:
    import pytest


def test_the_fastest_is_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_backend, "FASTEST_MODULE", "json")
    monkeypatch.setenv(CHOICE, "")
    monkeypatch.delenv(CHOICE)
    choose_hash_backend()
    assert os.environ[CHOICE] == FASTEST


def test_what_is_not_installed_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_backend, "FASTEST_MODULE", "no_such_module_anywhere")
    monkeypatch.delenv(CHOICE, raising=False)
    choose_hash_backend()
    assert CHOICE not in os.environ


def test_a_choice_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hash_backend, "FASTEST_MODULE", "json")
    monkeypatch.setenv(CHOICE, "pycryptodome")
    choose_hash_backend()
    assert os.environ[CHOICE] == "pycryptodome"

"""The fastest installed hash backend is used, unless the user chose one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pyevm_agents.cli import lazy_group
from pyevm_agents.cli.lazy_group import (
    FASTEST_HASH_BACKEND,
    HASH_BACKEND,
    choose_hash_backend,
)

if TYPE_CHECKING:
    import pytest


def test_the_fastest_is_used_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_group, "FASTEST_MODULE", "json")
    monkeypatch.setenv(HASH_BACKEND, "")
    monkeypatch.delenv(HASH_BACKEND)
    choose_hash_backend()
    assert os.environ[HASH_BACKEND] == FASTEST_HASH_BACKEND


def test_what_is_not_installed_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_group, "FASTEST_MODULE", "no_such_module_anywhere")
    monkeypatch.delenv(HASH_BACKEND, raising=False)
    choose_hash_backend()
    assert HASH_BACKEND not in os.environ


def test_a_choice_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_group, "FASTEST_MODULE", "json")
    monkeypatch.setenv(HASH_BACKEND, "pycryptodome")
    choose_hash_backend()
    assert os.environ[HASH_BACKEND] == "pycryptodome"

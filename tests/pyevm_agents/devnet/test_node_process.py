"""Nodes of other programs are found, start, and end with who used them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from pyevm_agents.client.json_rpc import RemoteClient
from pyevm_agents.devnet.node_process import (
    AnvilError,
    find_anvil,
    find_npm_anvil,
    read_version,
    run_anvil,
    run_plain_node,
)
from pyevm_agents.errors import RemoteFault
from tests.clients.packages import foundry_program

if TYPE_CHECKING:
    from pathlib import Path


def a_program(folder: Path, script: str) -> Path:
    file = folder / "anvil"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def test_it_is_found_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = a_program(tmp_path, "exit 0")
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), "/bin"]))
    assert find_anvil() == file
    assert find_anvil(file) == file


def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AnvilError, match="no program that can be started"):
        find_anvil(tmp_path / "anvil")


def test_a_program_that_ends_at_once_is_told(tmp_path: Path) -> None:
    file = a_program(tmp_path, "echo no such option; exit 3")
    with (
        pytest.raises(AnvilError, match=r"ended with status 3: no such option"),
        run_anvil(file),
    ):
        pass


def test_a_program_without_a_version_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        AnvilError, match="anvil is no anvil: its --version names none, but says 'hello'"
    ):
        read_version(a_program(tmp_path, "echo hello; echo there"))


def test_it_is_found_in_the_packages_of_npm(tmp_path: Path) -> None:
    program = foundry_program("anvil", "anvil")
    assert find_npm_anvil(tmp_path) is None
    (tmp_path / "node_modules").symlink_to(program.parents[3])
    (tmp_path / "below").mkdir()
    found = find_npm_anvil(tmp_path / "below")
    assert found is not None
    assert read_version(found) == read_version(program)


def test_our_node_runs_without_the_executor_and_ends() -> None:
    with run_plain_node() as url:
        client = RemoteClient(url, retries=0)
        assert client.request("eth_chainId", []) == "0x7a69"
        executor = "0x0000000000000000000000000000000000000019"
        assert client.request("eth_getCode", [executor, "latest"]) == "0x"
    with pytest.raises(RemoteFault, match="eth_chainId"):
        client.request("eth_chainId", [])

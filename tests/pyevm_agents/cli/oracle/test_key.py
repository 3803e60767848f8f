"""`oracle key`: encrypted keystores and their errors."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from eth_account import Account

from pyevm_agents.cli.app import main
from pyevm_agents.client.keystore import open_keystore
from pyevm_agents.errors import ConfigError
from tests.pyevm_agents.cli.oracle.conftest import PASSWORD, write_keystore
from tests.pyevm_agents.node.senders_of_tests import KEYS

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ADDRESS = KEYS[0].public_key.to_checksum_address()


def run(*words: object, status: int = 0, said: str = "") -> Result:
    result = CliRunner().invoke(
        main,
        ["oracle", "key", *map(str, words)],
        input=said,
        env={"ETH_PASSWORD": None, "COLUMNS": "400"},
    )
    assert result.exit_code == status, result.output
    return result


@pytest.fixture
def password_file(tmp_path: Path) -> Path:
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n")
    return file


def test_a_new_key_is_encrypted_and_its_owners_alone(tmp_path: Path, password_file: Path) -> None:
    file = tmp_path / "new.json"
    [address] = run("new", file, "--password-file", password_file).stdout.split()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert open_keystore(file, PASSWORD).public_key.to_checksum_address() == address
    assert Account.from_key(Account.decrypt(file.read_text(), PASSWORD)).address == address
    assert run("show", file).stdout.split() == [address]
    content = file.read_bytes()
    refused = run("new", file, "--password-file", password_file, status=2)
    assert "exists already" in refused.stderr
    assert file.read_bytes() == content


def test_the_password_is_asked_twice(tmp_path: Path) -> None:
    file = tmp_path / "new.json"
    said = "one\nother\nsame\nsame\n"
    result = run("import", file, said=f"0x{KEYS[0].to_hex()[2:]}\n{said}")
    assert "do not match" in result.stderr
    assert result.stdout.split() == [ADDRESS]
    assert KEYS[0].to_hex()[2:] not in result.output
    assert open_keystore(file, "same") == KEYS[0]


@pytest.mark.parametrize(
    "text", ["0x12", "0x" + "00" * 32, "0x" + "ff" * 32, "test test test junk"]
)
def test_what_is_no_key_is_not_imported(tmp_path: Path, text: str) -> None:
    result = run("import", tmp_path / "new.json", said=f"{text}\n", status=2)
    assert "not a private key; must be" in result.stderr
    assert not (tmp_path / "new.json").exists()


def test_no_password_makes_no_keystore(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n")
    assert (
        "has no password" in run("new", tmp_path / "k", "--password-file", empty, status=2).stderr
    )
    assert "standard input has ended" in run("new", tmp_path / "k", status=2).stderr
    missing = run("new", tmp_path / "k", "--password-file", tmp_path / "no", status=2)
    assert "password can't be read: No such file" in missing.stderr
    assert not (tmp_path / "k").exists()


def test_a_keystore_without_address_needs_its_password(tmp_path: Path) -> None:
    file = write_keystore(tmp_path / "k.json", KEYS[0].to_bytes())
    form = json.loads(file.read_text())
    del form["address"]  # as cast's
    file.write_text(json.dumps(form))
    assert run("show", file, said=f"{PASSWORD}\n").stdout.split() == [ADDRESS]
    assert "k.json: wrong password" in run("show", file, said="other\n", status=2).stderr


def test_a_stated_address_is_checked_with_the_password(tmp_path: Path, password_file: Path) -> None:
    file = write_keystore(tmp_path / "k.json", KEYS[0].to_bytes())
    form = json.loads(file.read_text())
    file.write_text(json.dumps({**form, "address": "12" * 20}))
    assert run("show", file).stdout.split() != [ADDRESS]
    assert run("show", file, "--password-file", password_file).stdout.split() == [ADDRESS]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not JSON", "not a keystore: not JSON"),
        ("\xff", "not a keystore"),
        ("[1]", "'crypto' is missing"),
        ('{"version": 3, "crypto": {}}', "is missing"),
        ('{"version": 7, "crypto": {}}', "not a keystore of version 3"),
        ('{"crypto": {"kdf": "scrypt"}}', "is missing"),
    ],
)
def test_what_is_no_keystore_says_so(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "k.json"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=message):
        open_keystore(file, PASSWORD)


def test_a_path_without_keystore_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file; make a keystore with `pyevm-agents or"):
        open_keystore(tmp_path / "none", PASSWORD)
    with pytest.raises(ConfigError, match="is a folder"):
        open_keystore(tmp_path, PASSWORD)
    assert (
        "can't be written"
        in run("import", tmp_path / "no" / "k", said=f"{KEYS[0].to_hex()}\na\na\n", status=2).stderr
    )

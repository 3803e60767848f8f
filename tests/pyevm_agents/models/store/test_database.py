"""The database file is created if missing, and rejected if it is something else."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from pyevm_agents.errors import ConfigError
from pyevm_agents.models import Store
from pyevm_agents.models.store import database, rows
from pyevm_agents.models.store.database import SCHEMA_VERSION, open_file
from tests.stored_generations import generation, question

ROOT = Path(__file__).resolve().parents[4]


def test_makes_the_file_and_its_folders_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "store.sqlite3"
    Store(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_writes_ahead_and_can_shrink(tmp_path: Path) -> None:
    opened = open_file(tmp_path / "store.sqlite3")
    with closing(opened.connection) as connection:
        settings = {
            name: connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "auto_vacuum", "synchronous", "user_version")
        }
    incremental, normal = 2, 1
    assert settings == {
        "journal_mode": "wal",
        "auto_vacuum": incremental,
        "synchronous": normal,
        "user_version": SCHEMA_VERSION,
    }
    assert opened.trouble is None


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.touch()
    with Store(path) as store:
        store.put(question(1), generation(1))
        assert store.get(question(1).compute_key()) == generation(1)


def test_a_later_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    Store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(
        ConfigError, match=r"version 3: must be at most 2; install a matching pyevm-agents"
    ) as refused:
        Store(path)
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


def make_old_store(path: Path) -> None:
    """Write a store of version 1, which has no table of durations."""
    with Store(path) as store:
        store.put(question(1), generation(1))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE durations")
        connection.execute("PRAGMA user_version = 1")


def test_generations_of_version_1_have_unknown_durations(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    make_old_store(path)
    with Store(path) as store:
        assert store.get(question(1).compute_key()) == generation(1)
        assert store.get_seconds(question(1).compute_key()) is None
        store.put(question(2), generation(2), seconds=2.5)
        assert store.get_seconds(question(2).compute_key()) == 2.5
    with Store(path) as store:
        assert store.get_seconds(question(2).compute_key()) == 2.5
        assert store.trouble is None


def test_a_read_only_store_of_version_1_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    make_old_store(path)
    with closing(database._open_database(path, "mode=ro")) as connection:  # noqa: SLF001
        key = question(1).compute_key()
        assert rows.find(connection, key) == generation(1)
        assert rows.find_seconds(connection, key) is None


@pytest.mark.parametrize("content", [b"GGUF" * 1000, b"a", b"SQLite format 3\x00" + bytes(4080)])
def test_no_database_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "precious.txt"
    path.write_bytes(content)
    with pytest.raises(
        ConfigError, match=r"not a generation store, or a damaged one: .*precious\.txt"
    ):
        Store(path)
    assert path.read_bytes() == content


def test_a_cut_off_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    Store(path).close()
    path.write_bytes(path.read_bytes()[:8192])
    with pytest.raises(ConfigError, match="or a damaged one"):
        Store(path)


def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mail.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mails (text)")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"mail\.sqlite3 is a database of another program"):
        Store(path)
    assert path.read_bytes() == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder; pass a file"):
        Store(tmp_path)


def test_a_folder_that_can_not_be_made_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told: list[str] = []
    with Store(tmp_path / "file" / "store.sqlite3", report=told.append) as store:
        store.put(question(1), generation(1))
        assert store.get(question(1).compute_key()) is None
        assert told == [store.trouble]
    assert "can't be opened" in told[0]


AS_NOBODY = """
import os, sys
from pathlib import Path
from pyevm_agents.models import Store
from tests.stored_generations import generation, question
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
told = []
store = Store(Path(sys.argv[1]), report=told.append)
known = store.get(question(1).compute_key()) == generation(1)
store.put(question(2), generation(2))
store.record_use(question(1).compute_key())
store.flush()
print(known, store.get(question(2).compute_key()) is None, len(told), told[0], sep="|")
"""


@pytest.mark.parametrize("is_in_use", [False, True], ids=["closed", "another process writes"])
def test_reading_goes_on_where_nothing_can_be_written(*, is_in_use: bool) -> None:
    with TemporaryDirectory() as name:  # Nobody may not enter pytest's own.
        folder = Path(name)
        path = folder / "store.sqlite3"
        store = Store(path)
        store.put(question(1), generation(1))
        if not is_in_use:
            store.close()
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        command = [sys.executable, "-c", AS_NOBODY, str(path)]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        folder.chmod(0o755)
        store.close()
    *done, told = printed.stdout.split("|")
    assert done == ["True", "True", "1"]
    assert "can only be read" in told


FULL = """
import resource, sys
from pathlib import Path
from pyevm_agents.models import Store
from tests.stored_generations import generation, question
told = []
store = Store(Path(sys.argv[1]), report=told.append)
store.put(question(0), generation(0))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for number in range(1, 400):
    store.put(question(number), generation(number))
kept = [store.get(question(number).compute_key()) == generation(number) for number in range(400)]
print(len(told), kept[0], all(kept), "can't be written" in told[0])
store.close()
"""


def test_a_full_disk_is_told_once_and_what_was_stored_stays(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    command = [sys.executable, "-c", FULL, str(path)]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout.split() == ["1", "True", "False", "True"]
    with Store(path) as store:
        assert store.trouble is None
        assert store.get(question(0).compute_key()) == generation(0)


@pytest.mark.slow
def test_two_that_make_the_file_at_once_both_have_it(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from pyevm_agents.models import Store;"
        "stores = [Store(Path(path)) for path in sys.argv[1:]];"
        "print({s.trouble for s in stores}); [s.close() for s in stores]"
    )
    paths = [str(tmp_path / f"{number}.sqlite3") for number in range(10)]
    command = [sys.executable, "-c", code, *paths]
    racers = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert {racer.communicate()[0] for racer in racers} == {"{None}\n"}


def test_waits_for_who_holds_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite3"
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    with Store(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        store.put(question(1), generation(1))
        other.execute("BEGIN IMMEDIATE")
        store.put(question(2), generation(2))
        assert "database is locked" in (store.trouble or "")
        assert store.get(question(1).compute_key()) == generation(1)
        assert store.get(question(2).compute_key()) is None
        other.execute("ROLLBACK")

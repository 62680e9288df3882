"""How long ralph waits while others hold the record, and what ends the wait."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ralph.adapters.storage.connection import connect
from ralph.adapters.storage.database import open_database

WAITS = """import sys
from pathlib import Path
from ralph.adapters.storage.connection import connect
database = connect(Path(sys.argv[1]), timeout=3600.0)
print("waiting", flush=True)
database.execute("BEGIN IMMEDIATE")"""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "ralph.db"
    open_database(path).close()
    return path


@pytest.fixture
def holder(record: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(record, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_ctrl_c_ends_the_wait(record: Path, holder: sqlite3.Connection) -> None:
    argv = [sys.executable, "-c", WAITS, str(record)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert err.rstrip().endswith("KeyboardInterrupt")


def test_whoever_waits_goes_on_when_the_record_is_free(record: Path, holder: sqlite3.Connection) -> None:
    argv = [sys.executable, "-c", WAITS, str(record)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"waiting\n"
            holder.execute("ROLLBACK")
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_the_wait_has_an_end(record: Path, holder: sqlite3.Connection) -> None:
    with closing(connect(record, timeout=0.2)) as database:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            database.execute("BEGIN IMMEDIATE")
        assert not database.in_transaction
        holder.execute("ROLLBACK")
        database.execute("BEGIN IMMEDIATE")
        assert database.in_transaction

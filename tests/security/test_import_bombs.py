"""Archives that a stranger made to fill the disk, and an import that is ended while it unpacks one."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from ralph.adapters.storage import archive
from ralph.adapters.storage.archive import read_archive
from ralph.errors import DamagedRecord
from tests.acceptance.conftest import Project
from tests.acceptance.conftest import project as project

WITHIN = 60.0


def packed(*members: tuple[str, bytes], rest: bytes = b"") -> io.BytesIO:
    import gzip

    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as tar:
        for name, content in members:
            about = tarfile.TarInfo(name)
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
    return io.BytesIO(gzip.compress(plain.getvalue() + rest))


@pytest.mark.parametrize(
    "source",
    [
        packed(("manifest.json", b"{}"), ("files/runs/r/a.log", bytes(3_000_000))),
        packed(*((f"files/runs/r/{number}", bytes(300_000)) for number in range(10))),
        packed(("manifest.json", b"{}"), rest=bytes(3_000_000)),
    ],
)
def test_what_unpacks_to_far_more_than_its_size_is_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: io.BytesIO
) -> None:
    monkeypatch.setattr(archive, "ANY_RATIO", 1_000_000)

    with pytest.raises(DamagedRecord, match="larger than any record"):
        read_archive(source, ("manifest.json",), tmp_path)

    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) < 1_100_000


def test_so_many_files_are_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_FILES", 100)
    source = packed(*((f"files/runs/r/{number}", b"") for number in range(200)))

    with pytest.raises(DamagedRecord, match="larger than any record"):
        read_archive(source, (), tmp_path)

    assert len([*tmp_path.rglob("*")]) < 110


def test_a_file_that_appears_twice_is_named_without_our_own_path(tmp_path: Path) -> None:
    source = packed(("files/runs/r/a", b"1"), ("files/runs/r/a", b"2"))

    with pytest.raises(DamagedRecord, match="'files/runs/r/a' appears twice") as caught:
        read_archive(source, (), tmp_path)

    assert str(tmp_path) not in caught.value.message


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_import_that_is_ended_leaves_nothing(
    project: Project, tmp_path: Path, number: signal.Signals
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    importing = subprocess.Popen(
        [sys.executable, "-m", "ralph", "import", "-"],
        cwd=project.root,
        env=project.env(TMPDIR=str(aside)),
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert importing.stdin is not None
    try:
        whole = packed(("files/runs/r/a.log", bytes(range(256)) * 10_000)).getvalue()
        importing.stdin.write(whole[:-10])
        importing.stdin.flush()
        deadline = time.monotonic() + WITHIN
        while not [*aside.rglob("a.log")]:
            assert time.monotonic() < deadline, "it unpacks"
            time.sleep(0.05)

        importing.send_signal(number)

        assert importing.wait(WITHIN) == 130
        assert not [*aside.iterdir()]
    finally:
        importing.kill()
        importing.wait()
        importing.stdin.close()

"""A folder that is swapped for a link, again and again, while ralph works in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from ralph.adapters import beneath, trees

SWAPPER = """
import ctypes, os, sys
here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE: there is always one of the two
one, other = map(os.fsencode, sys.argv[1:3])
libc = ctypes.CDLL(None, use_errno=True)
print("ready", flush=True)
while os.path.exists(sys.argv[3]):
    if libc.renameat2(here, one, here, other, exchange):
        sys.exit(os.strerror(ctypes.get_errno()))
"""
ROUNDS = 3_000


@pytest.fixture
def swapped(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The top, in which ``a`` is now a folder and now a link; and the folder outside that it leads to."""
    top, outside, busy = tmp_path / "top", tmp_path / "outside", tmp_path / "busy"
    for folder in (top / "a", outside):
        folder.mkdir(parents=True)
    busy.touch()
    (top / "own").write_text("own")
    for name in ("file", "victim"):
        (outside / name).write_text("secret")
    (top / "link").symlink_to(outside)
    process = subprocess.Popen(
        [sys.executable, "-c", SWAPPER, top / "link", top / "a", busy],
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield top, outside
    finally:
        busy.unlink()
        assert process.wait(60) == 0
        process.stdout.close()  # type: ignore[union-attr]


def test_nothing_outside_is_read_copied_written_or_removed(swapped: tuple[Path, Path]) -> None:
    top, outside = swapped
    refused, file = 0, top / "a" / "file"
    for number in range(ROUNDS):
        assert beneath.read_whole(file, 100, top) in (None, b"own")
        acts: list[Callable[[], None]] = [
            partial(beneath.make_folder, top / "a" / "made", top),
            partial(trees.keep_copy, top / "own", file, top, top),
            partial(trees.keep_copy, file, top / f"copy{number}", top, top),
            partial(trees.move, top / "a" / "victim", top / "taken", top, top),
            partial(beneath.remove, top / "a" / "victim", top),
            partial(trees.remove_tree, top / "a" / "victim", top),
            partial(trees.remove_tree, file, top),
        ]
        for act in acts:
            try:
                act()
            except beneath.LinkInTheWay:
                refused += 1
            except OSError:
                continue
        with suppress(FileNotFoundError):
            assert "secret" not in (top / f"copy{number}").read_text()
    assert sorted(path.name for path in outside.iterdir()) == ["file", "victim"]
    assert not (top / "taken").exists()
    assert refused, "the swapper was never seen at work"

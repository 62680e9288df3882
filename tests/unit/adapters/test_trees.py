"""Whole folders are removed and moved, whatever an agent made of them and does meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from ralph.adapters import trees

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs files of two users")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    for name in ("a", "b", "c", "inner/d"):
        (tmp_path / "tree" / name).write_text("text")
    return tmp_path


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs another disk")
    with TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_what_vanishes_meanwhile_does_not_keep_the_rest(
    top: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    unlink = os.unlink

    def hurry(path: Any, **options: Any) -> None:
        if path == name:
            unlink(path, **options)  # by somebody else, just before
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", hurry)
    trees.remove_tree(top / "tree", top)
    assert list(top.iterdir()) == []


def test_a_folder_that_somebody_fills_again_and_again_is_an_error(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rmdir = os.rmdir

    def fill(path: Any, **options: Any) -> None:
        (top / "tree" / "new").write_text("")
        rmdir(path, **options)

    monkeypatch.setattr(os, "rmdir", fill)
    with pytest.raises(OSError, match="not empty"):
        trees.remove_tree(top / "tree", top)


def test_a_folder_is_moved_to_another_disk_with_its_modes_times_and_links(
    top: Path, other_disk: Path
) -> None:
    tree = top / "tree"
    (tree / "link").symlink_to("a")
    (tree / "a").chmod(0o750)
    (tree / "inner").chmod(0o500)
    tree.chmod(0o755)
    written = (tree / "a").stat().st_mtime_ns
    trees.move(tree, other_disk / "kept" / "tree", top, other_disk)
    moved = other_disk / "kept" / "tree"
    assert not tree.exists()
    assert (moved / "link").readlink() == Path("a")
    assert [stat.S_IMODE((moved / name).stat().st_mode) for name in (".", "a", "inner")] == [
        0o755,
        0o750,
        0o700,
    ]
    assert (moved / "a").stat().st_mtime_ns == written
    assert (moved / "inner" / "d").read_text() == "text"


def test_half_a_copy_is_removed(top: Path, other_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "utime", fail)
    with pytest.raises(OSError, match="no space left"):
        trees.move(top / "tree", other_disk / "tree", top, other_disk)
    assert list(other_disk.iterdir()) == []
    assert (top / "tree" / "inner" / "d").read_text() == "text"


@AS_ROOT
def test_a_closed_folder_is_moved_below_another() -> None:
    with TemporaryDirectory() as folder:
        top = Path(folder)
        for name in ("", "closed", "closed/inner", "there"):
            (top / name).mkdir(exist_ok=True)
            os.chown(top / name, NOBODY, NOBODY)
        (top / "closed").chmod(0o500)
        os.seteuid(NOBODY)
        try:
            trees.move(top / "closed", top / "there" / "closed", top, top)
        finally:
            os.seteuid(0)
        assert (top / "there" / "closed" / "inner").is_dir()


@AS_ROOT
def test_what_another_user_keeps_in_a_folder_does_not_keep_the_rest() -> None:
    with TemporaryDirectory() as folder:
        top = Path(folder)
        around = [f"tree/{number}" for number in range(10)]  # whatever comes first
        for name in ("", "tree", *around[:5], "tree/theirs", *around[5:]):
            (top / name).mkdir(exist_ok=True)
            (top / name / "file").write_text("text")
            if name != "tree/theirs":
                os.chown(top / name, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            with pytest.raises(PermissionError):
                trees.remove_tree(top / "tree", top)
        finally:
            os.seteuid(0)
        left = sorted(str(path.relative_to(top)) for path in top.rglob("*"))
        assert left == ["file", "tree", "tree/theirs", "tree/theirs/file"]


def nest(folder: Path, levels: int) -> None:
    here = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(levels):
            os.mkdir("d", dir_fd=here)
            deeper = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = deeper
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    finally:
        os.close(here)


def test_folders_are_removed_however_deep_they_are_nested(top: Path) -> None:
    (top / "tree" / "deep-0").write_text("a name that is taken")
    nest(top / "tree", 1_200)
    trees.remove_tree(top / "tree", top)
    assert list(top.iterdir()) == []


def test_folders_that_are_nested_too_deeply_are_not_copied(top: Path, other_disk: Path) -> None:
    nest(top / "tree", 150)
    with pytest.raises(OSError, match="nested too deeply"):
        trees.move(top / "tree", other_disk / "tree", top, other_disk)
    assert list(other_disk.iterdir()) == []
    assert (top / "tree" / Path(*["d"] * 150) / "file").exists()


def test_a_copy_on_another_disk_has_all_folders_with_their_permissions(top: Path, other_disk: Path) -> None:
    (top / "tree" / "inner" / "empty").mkdir(mode=0o750)
    (top / "tree" / "inner").chmod(0o710)
    trees.move(top / "tree", other_disk / "tree", top, other_disk)
    new = other_disk / "tree"
    names = sorted(path.relative_to(new).as_posix() for path in new.rglob("*"))
    assert names == ["a", "b", "c", "inner", "inner/d", "inner/empty"]
    assert stat.S_IMODE((new / "inner").stat().st_mode) == 0o710
    assert not (top / "tree").exists()

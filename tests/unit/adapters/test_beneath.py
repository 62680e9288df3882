"""Below a folder nothing is reached through a link, whatever is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters import beneath, trees
from ralph.adapters.beneath import LinkInTheWay

Act = Callable[[Path, Path], object]

READS: dict[str, Act] = {
    "open_plain": lambda path, top: beneath.open_plain(path, top).close(),
    "read_plain": lambda path, top: beneath.read_plain(path, 100, top),
    "keep_copy": lambda path, top: trees.keep_copy(path, top / "copy", top, top),
}
CHANGES: dict[str, Act] = {
    "status": beneath.status,
    "open_in_place": lambda path, top: beneath.open_in_place(path, top).close(),
    "make_folder": lambda path, top: beneath.make_folder(path / "new", top),
    "remove": beneath.remove,
    "remove_tree": trees.remove_tree,
    "move": lambda path, top: trees.move(path, top / "copy", top, top),
    "move there": lambda path, top: trees.move(top / "own", path.with_name("new"), top, top),
    "copy there": lambda path, top: trees.keep_copy(top / "own", path.with_name("new"), top, top),
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "file").write_text("secret")
    (outside / "deep" / "file").write_text("secret")
    top = tmp_path / "top"
    top.mkdir()
    (top / "own").write_text("own")
    (top / "away").symlink_to(outside)
    (top / "relative").symlink_to("../outside")
    (top / "up").symlink_to("..")
    (top / "file").symlink_to(outside / "file")
    (top / "inner").symlink_to(top / "own")
    return top


def _outside(top: Path) -> dict[str, str]:
    found = (top.parent / "outside").rglob("*")
    return {str(path): path.read_text() if path.is_file() else "" for path in found}


BEHIND = ("away/file", "away/deep/file", "relative/file", "up/outside/file", "up/outside/deep/file")


@pytest.mark.parametrize("path", BEHIND)
@pytest.mark.parametrize("act", [*READS.values(), *CHANGES.values()], ids=[*READS, *CHANGES])
def test_nothing_is_done_behind_a_link(top: Path, act: Act, path: str) -> None:
    before = _outside(top)
    with pytest.raises(LinkInTheWay):
        act(top / path, top)
    assert _outside(top) == before
    assert (top / "own").read_text() == "own"
    assert not (top / "copy").exists()


@pytest.mark.parametrize("path", ["file", "inner"])
@pytest.mark.parametrize("act", [READS["open_plain"], READS["read_plain"]])
def test_a_link_is_not_read(top: Path, act: Act, path: str) -> None:
    with pytest.raises(LinkInTheWay, match=f"{path} is a link, and ralph does not follow it"):
        act(top / path, top)


@pytest.mark.parametrize("path", ["../outside/file", "a/../../outside/file", "../..", "/etc/passwd"])
@pytest.mark.parametrize("act", [*READS.values(), *CHANGES.values()], ids=[*READS, *CHANGES])
def test_nothing_is_done_above(top: Path, act: Act, path: str) -> None:
    before = _outside(top)
    with pytest.raises(OSError, match="it is not in"):
        act(top / path, top)
    assert _outside(top) == before


@pytest.mark.parametrize(
    "path", [*BEHIND, "file", "inner", "absent", "absent/file", "own/file", "a\0b", "away"]
)
def test_what_is_behind_a_link_or_absent_is_no_content(top: Path, path: str) -> None:
    assert beneath.read_whole(top / path, 100, top) is None


def test_a_link_itself_is_seen_copied_moved_and_removed(top: Path) -> None:
    found = beneath.status(top / "away", top)
    assert found is not None
    assert Path(f"/{found.st_mode:o}").name.startswith("12")
    trees.keep_copy(top / "away", top / "kept" / "copy", top, top)
    assert (top / "kept" / "copy").readlink() == top.parent / "outside"
    trees.move(top / "relative", top / "moved", top, top)
    assert (top / "moved").is_symlink()
    for name in ("away", "moved", "up"):
        trees.remove_tree(top / name, top)
        assert not os.path.lexists(top / name)
    assert (top.parent / "outside" / "file").read_text() == "secret"


def test_the_top_may_be_reached_by_a_link_and_a_resolved_path_needs_none(top: Path, tmp_path: Path) -> None:
    (tmp_path / "chosen").symlink_to(top)
    chosen = tmp_path / "chosen"
    assert beneath.read_whole(chosen / "own", 100, chosen) == b"own"
    assert beneath.read_whole(chosen / "own", 100) is None
    assert beneath.read_whole(top.resolve() / "own", 100) == b"own"
    assert beneath.list_names(chosen, chosen) == ["away", "file", "inner", "own", "relative", "up"]


def test_content_is_read_written_and_removed_where_there_is_no_link(top: Path) -> None:
    beneath.make_folder(top / "a" / "b", top)
    beneath.make_folder(top / "a" / "b", top)
    (top / "a" / "b" / "file").write_text("text")
    assert beneath.read_whole(top / "a" / "b" / "file", 4, top) == b"text"
    assert beneath.read_whole(top / "a" / "b" / "file", 3, top) is None
    assert beneath.read_plain(top / "a" / "b" / "file", 3, top) == b"tex"
    assert beneath.status(top / "a" / "none", top) is None
    assert beneath.status(top / "own" / "none", top) is None
    with pytest.raises(FileExistsError):
        trees.move(top / "own", top / "a", top, top)
    trees.move(top / "a", top / "moved" / "a", top, top)
    assert (top / "moved" / "a" / "b" / "file").read_text() == "text"
    (top / "moved" / "a").chmod(0o500)
    (top / "moved" / "a" / "b").chmod(0)
    trees.remove_tree(top / "moved", top)
    assert not (top / "moved").exists()
    trees.remove_tree(top / "moved", top)
    beneath.remove(top / "moved", top)


def test_a_folder_that_may_only_be_searched_can_be_on_the_way(top: Path) -> None:
    beneath.make_folder(top / "a" / "b", top)
    (top / "a" / "b" / "file").write_text("text")
    (top / "a").chmod(0o100)
    try:
        assert beneath.read_whole(top / "a" / "b" / "file", 4, top) == b"text"
    finally:
        (top / "a").chmod(0o700)


def test_descriptors_are_closed(top: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for act in (*READS.values(), *CHANGES.values()):
        for path in (*BEHIND, "absent/x", "../x"):
            try:
                act(top / path, top)
            except OSError:
                continue
    beneath.list_names(top, top)
    beneath.read_whole(top / "own", 10, top)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_patch_writes_its_bytes_and_no_others(top: Path) -> None:
    with beneath.open_in_place(top / "own", top) as file:
        known = file.read()
        assert not beneath.patch(file, b"old", {0: b"X"})
        (top / "own").write_text("own, and more")  # whoever adds something changes nothing of what is known
        assert beneath.patch(file, known, {0: b"O", 2: b"N"})
        assert beneath.leads_to(top / "own", file, top)
        (top / "own").rename(top / "before")
        assert not beneath.leads_to(top / "own", file, top)
        (top / "own").write_text("own")
        assert not beneath.leads_to(top / "own", file, top)

    assert ((top / "before").read_text(), (top / "own").read_text()) == ("OwN, and more", "own")


def test_what_is_no_plain_file_or_read_only_is_not_patched(top: Path) -> None:
    os.mkfifo(top / "pipe")
    (top / "own").chmod(0o444)
    for name in ("pipe", "own", "absent", "."):
        with pytest.raises(OSError):  # noqa: PT011
            beneath.open_in_place(top / name, top)

"""Which repository our own git may start others for: that which is there now."""

from __future__ import annotations

from pathlib import Path

from ralph.adapters.git import behind_gate


def make_repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def own_of(root: Path) -> str:
    return behind_gate(root, {})["OWN_GIT_DIR"]


def test_it_is_found_again_after_another_took_its_place(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "project", make_repository(tmp_path / "elsewhere")
    git = make_repository(root / ".git")
    assert own_of(root) == own_of(root) == str(git)

    git.rename(tmp_path / "away")
    git.write_text(f"gitdir: {elsewhere}\n")
    assert own_of(root) == str(elsewhere)

    git.unlink()
    git.symlink_to(elsewhere)
    assert own_of(root) == str(elsewhere)

    git.unlink()
    assert own_of(root) == ""


def test_a_folder_without_a_head_is_none_and_a_way_through_a_link_is_resolved(tmp_path: Path) -> None:
    outer = make_repository(tmp_path / "outer" / ".git")
    inner = make_repository(tmp_path / "outer" / "inner" / ".git")
    way = tmp_path / "way"
    way.symlink_to(inner.parent)
    assert (own_of(inner.parent), own_of(way)) == (str(inner), str(inner))

    (inner / "HEAD").unlink()
    assert own_of(inner.parent) == str(outer)

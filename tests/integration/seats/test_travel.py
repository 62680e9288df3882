"""A job moves between machines, after each shift, with all that belongs to it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.adapters.storage.portable import pack, unpack
from ralph.errors import GitFailed

from .machines import Machine, end_of, git, make_remote, run, task_of


def test_a_new_job_begins_at_the_base(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, _ = machines

    _, found = run(one.sit())

    assert found.end is None
    assert git(found.project, "symbolic-ref", "HEAD") == "refs/heads/ralph/j1"
    assert git(found.project, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")
    assert git(found.project, "describe") == "v1"
    assert git(found.project, "remote", "get-url", "origin") == str(remote)
    assert git(found.project, "status", "--porcelain") == ""
    git(found.project, "fsck", "--strict")


def test_everything_moves_to_another_machine(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    seat, found = run(one.sit())
    here = found.project
    (here / "new.txt").write_text("committed\n")
    git(here, "add", "new.txt")
    git(here, "commit", "-qm", "work")
    git(here, "branch", "aside")
    (here / "a.txt").write_bytes(b"edited\r\n\x00\xff")
    (here / "b.txt").unlink()
    (here / "folder").mkdir()
    (here / "folder" / "ünïcode \n name").write_text("new")
    (here / os.fsdecode(b"bytes-\xff")).write_text("odd")
    (here / "tool").write_text("#!/bin/sh\n")
    (here / "tool").chmod(0o755)
    (here / "link").symlink_to("/nowhere/at all")
    (here / "cache").mkdir()
    (here / "cache" / "large").write_text("ignored")
    (here / ".ralph").mkdir()
    (here / ".ralph" / "record").write_text("state")

    saved = run(seat.save(end_of(1)))

    head = git(here, "rev-parse", "HEAD")
    assert saved.commit == head
    assert saved.worker == "one"
    assert git(remote, "rev-parse", "ralph/j1") == head
    _, found = run(two.sit())
    there = found.project
    assert found.end == saved
    assert git(there, "rev-parse", "HEAD") == head
    assert git(there, "symbolic-ref", "HEAD") == "refs/heads/ralph/j1"
    assert git(there, "rev-parse", "aside") == head
    assert (there / "a.txt").read_bytes() == b"edited\r\n\x00\xff"
    assert not (there / "b.txt").exists()
    assert (there / "folder" / "ünïcode \n name").read_text() == "new"
    assert (there / os.fsdecode(b"bytes-\xff")).read_text() == "odd"
    assert (there / "tool").stat().st_mode & stat.S_IXUSR
    assert (there / "link").readlink() == Path("/nowhere/at all")
    assert not (there / "cache").exists()
    assert (there / ".ralph" / "record").read_text() == "state"
    assert git(there, "status", "--porcelain") == git(here, "status", "--porcelain")
    git(there, "fsck", "--strict")


def test_it_moves_after_every_shift(machines: tuple[Machine, Machine]) -> None:
    for turn in range(1, 7):
        seat, found = run(machines[turn % 2].sit())
        lines = (found.project / "a.txt").read_text().splitlines()
        assert lines == ["one", *map(str, range(1, turn))]
        assert (found.end.turn if found.end else 0) == turn - 1
        (found.project / "a.txt").write_text("".join(f"{line}\n" for line in [*lines, turn]))
        (found.project / "untracked").write_text(str(turn))
        if turn % 3 == 0:
            git(found.project, "commit", "-qam", f"turn {turn}")
        run(seat.save(end_of(turn)))


def test_files_are_committed_and_edited_again_on_one_machine(machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    for turn in range(1, 6):
        seat, found = run(one.sit())
        (found.project / "a.txt").write_text(f"{turn}")
        if turn % 2:
            git(found.project, "commit", "-qam", f"turn {turn}")
            (found.project / "a.txt").write_text(f"{turn} again")
        run(seat.save(end_of(turn)))

    _, found = run(two.sit())

    assert (found.project / "a.txt").read_text() == "5 again"


def test_the_same_machine_continues_where_it_was(machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    seat, found = run(one.sit())
    (found.project / "cache").mkdir()
    (found.project / "cache" / "warm").write_text("")
    (found.project / "new").write_text("not committed")
    run(seat.save(end_of(1)))
    one.runner.started.clear()

    seat, found = run(one.sit())

    assert len(one.runner.started) == 1  # one question to the remote
    assert (found.project / "cache" / "warm").exists()
    assert (found.project / "new").read_text() == "not committed"


def test_a_lost_shift_leaves_nothing(machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    seat, found = run(one.sit())
    here = found.project
    (here / ".ralph").mkdir()
    (here / ".ralph" / "record").write_text("1")
    run(seat.save(end_of(1)))
    seat, found = run(one.sit())
    (here / "a.txt").write_text("lost")
    (here / "lost").mkdir()
    (here / "lost" / "file").write_text("lost")
    (here / "cache").mkdir()
    (here / "cache" / "warm").write_text("")
    (here / ".ralph" / "record").write_text("2")
    (here / ".ralph" / "half").write_text("2")
    git(here, "worktree", "add", "-q", ".ralph/worktrees/t")
    git(here, "commit", "-qam", "lost")
    del seat, found  # killed

    run(one.sit())

    assert (here / "a.txt").read_text() == "one\n"
    assert not (here / "lost").exists()
    assert not (here / "cache").exists()
    assert (here / ".ralph" / "record").read_text() == "1"
    assert [path.name for path in (here / ".ralph").iterdir()] == ["record"]
    assert git(here, "worktree", "list").count("\n") == 0
    assert git(here, "branch", "--format=%(refname)") == "refs/heads/ralph/j1"
    assert git(here, "status", "--porcelain") == ""


def test_what_is_not_committed_at_the_end_is_committed(
    remote: Path, machines: tuple[Machine, Machine]
) -> None:
    one, two = machines
    seat, found = run(one.sit())
    (found.project / "a.txt").write_text("edited")
    (found.project / "b.txt").unlink()
    (found.project / "new").write_text("new")

    saved = run(seat.save(end_of(1, outcome="completed")))

    assert git(remote, "ls-tree", "-r", "--name-only", "ralph/j1").split() == [".gitignore", "a.txt", "new"]
    assert git(remote, "show", "ralph/j1:a.txt") == "edited"
    assert "ralph made this commit" in git(remote, "log", "-1", "--format=%B", "ralph/j1")
    assert git(remote, "rev-parse", "ralph/j1^") == git(remote, "rev-parse", "main")
    for machine in (one, two):
        _, found = run(machine.sit())
        assert found.end == saved
        assert git(found.project, "rev-parse", "HEAD") == saved.commit
        assert git(found.project, "status", "--porcelain") == ""


def test_a_merge_under_way_is_under_way_there(machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    seat, found = run(one.sit())
    here = found.project
    git(here, "checkout", "-q", "-b", "side")
    (here / "a.txt").write_text("side\n")
    git(here, "commit", "-qam", "side")
    git(here, "checkout", "-q", "ralph/j1")
    (here / "a.txt").write_text("ours\n")
    git(here, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(here, "merge", "-m", "a merge", "side")
    (here / "new").write_text("not committed")

    run(seat.save(end_of(1)))

    _, found = run(two.sit())
    there = found.project
    for question in (("status", "--porcelain"), ("ls-files", "-u"), ("rev-parse", "MERGE_HEAD"), ("diff",)):
        assert git(there, *question) == git(here, *question)
    (there / "a.txt").write_text("both\n")
    git(there, "add", "-A")
    git(there, "commit", "-q", "--no-edit")
    assert git(there, "log", "-1", "--format=%s %P").split()[:2] == ["a", "merge"]
    assert len(git(there, "log", "-1", "--format=%P").split()) == 2


def test_a_task_has_its_worktree_there(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    seat, found = run(one.sit(task_of(one)))
    here = found.project
    assert git(here, "symbolic-ref", "HEAD") == "refs/heads/main"
    (here / ".ralph").mkdir()
    tree = here / ".ralph" / "worktrees" / "T1"
    git(here, "worktree", "add", "-q", "-b", "ralph/T1", str(tree))
    git(here, "worktree", "add", "-q", "--detach", str(tree.parent / "_integration"))
    (tree / "a.txt").write_text("work\n")
    git(tree, "commit", "-qam", "work")
    (tree / "b.txt").write_text("not committed")

    saved = run(seat.save(end_of(1)))

    assert saved.commit == git(tree, "rev-parse", "HEAD") == git(remote, "rev-parse", "ralph/j1")
    seat, found = run(two.sit(task_of(two)))
    there = found.project / ".ralph" / "worktrees" / "T1"
    assert git(there, "symbolic-ref", "HEAD") == "refs/heads/ralph/T1"
    assert git(there, "status", "--porcelain") == "M b.txt"
    assert (there / "b.txt").read_text() == "not committed"
    assert [path.name for path in there.parent.iterdir()] == ["T1"]
    assert git(found.project, "status", "--porcelain") == ""


def test_a_merged_task_moves_the_base(
    remote: Path, tmp_path: Path, machines: tuple[Machine, Machine]
) -> None:
    one, _ = machines
    seat, found = run(one.sit(task_of(one)))
    here = found.project
    run(seat.save(end_of(1)))
    (tmp_path / "first" / "other.txt").write_text("of another job")
    git(tmp_path / "first", "add", "-A")
    git(tmp_path / "first", "commit", "-qm", "other")
    git(tmp_path / "first", "push", "-q", str(remote), "main")
    seat, found = run(one.sit(task_of(one)))

    run(seat.catch_up())

    assert (here / "other.txt").read_text() == "of another job"
    assert git(here, "status", "--porcelain") == ""
    assert git(here, "rev-parse", "main") == git(remote, "rev-parse", "main")
    (here / "merged").write_text("merged")
    git(here, "add", "-A")
    git(here, "commit", "-qm", "merged")
    saved = run(seat.save(end_of(2, merged=git(here, "rev-parse", "HEAD"))))
    assert saved.merged == git(here, "rev-parse", "HEAD") == git(remote, "rev-parse", "main")
    seat, _ = run(one.sit(task_of(one)))
    assert run(seat.save(end_of(3))).merged == saved.merged, "it is for good"


def make_branches(project: Path, number: int) -> None:
    tip = git(project, "rev-parse", "HEAD")
    lines = "".join(f"create refs/heads/a{one} {tip}\n" for one in range(number))
    subprocess.run(
        ["git", "update-ref", "--stdin"], input=lines.encode(), cwd=project, check=True, timeout=60
    )


@pytest.mark.parametrize("is_packed", [True, False])
def test_many_branches_do_not_push_out_the_work(
    remote: Path, machines: tuple[Machine, Machine], is_packed: bool
) -> None:
    one, two = machines
    seat, found = run(one.sit())
    git(found.project, "branch", "zz-earlier")
    run(seat.save(end_of(1)))
    seat, found = run(one.sit())
    git(found.project, "commit", "-q", "--allow-empty", "-m", "precious")
    make_branches(found.project, 1_001)
    if is_packed:
        git(found.project, "pack-refs", "--all")

    tip = git(found.project, "rev-parse", "HEAD")
    assert run(seat.save(end_of(2))).commit == tip == git(remote, "rev-parse", "ralph/j1")

    _, found = run(two.sit())
    assert git(found.project, "rev-parse", "ralph/j1") == tip
    assert git(found.project, "rev-parse", "--verify", "zz-earlier")


def test_more_branches_than_can_be_read_are_refused_loudly(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph.adapters.seats.heads.MOST_BYTES", 2_000)
    seat, found = run(machines[0].sit())
    make_branches(found.project, 100)
    git(found.project, "pack-refs", "--all")
    with pytest.raises(GitFailed, match="too many branches"):
        run(seat.save(end_of(1)))


def test_a_branch_whose_name_cannot_travel_has_its_commit_there(
    machines: tuple[Machine, Machine],
) -> None:
    one, two = machines
    seat, found = run(one.sit())
    git(found.project, "checkout", "-q", "-b", os.fsdecode(b"odd-\xff"))
    git(found.project, "commit", "-q", "--allow-empty", "-m", "precious")
    tip = git(found.project, "rev-parse", "HEAD")

    assert run(seat.save(end_of(1))).commit == tip

    _, found = run(two.sit())
    assert git(found.project, "rev-parse", "HEAD") == tip


def test_a_repository_with_long_ids(tmp_path: Path) -> None:
    (tmp_path / "long").mkdir()
    remote = make_remote(tmp_path / "long", **{"object-format": "sha256"})
    one, two = Machine(tmp_path, remote, "one"), Machine(tmp_path, remote, "two")
    seat, found = run(one.sit())
    (found.project / "a.txt").write_text("edited")
    git(found.project, "commit", "-qam", "work")
    (found.project / "new").write_text("new")
    run(seat.save(end_of(1)))

    _, found = run(two.sit())

    assert (found.project / "a.txt").read_text() == "edited"
    assert (found.project / "new").read_text() == "new"


def test_a_submodule_does_not_break_it(
    tmp_path: Path, machines: tuple[Machine, Machine], remote: Path
) -> None:
    (tmp_path / "inner").mkdir()
    inner = make_remote(tmp_path / "inner")
    first = tmp_path / "first"
    git(first, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(first, "commit", "-qm", "with a submodule")
    git(first, "push", "-q", str(remote), "main")
    one, two = machines
    seat, found = run(one.sit())
    git(found.project, "-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
    (found.project / "sub" / "a.txt").write_text("inside")
    git(found.project / "sub", "commit", "-qam", "inside")
    (found.project / "new").write_text("new")
    run(seat.save(end_of(1)))

    _, found = run(two.sit())

    assert (found.project / "new").read_text() == "new"
    assert (found.project / "sub").is_dir()
    assert git(found.project, "status", "--porcelain") == "?? new"


def test_what_no_record_needs_is_dropped_from_time_to_time(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph.adapters.seats.seat.TIDY_EVERY", 2)
    one, two = machines
    for turn in range(1, 6):
        seat, found = run(one.sit())
        (found.project / ".ralph").mkdir(exist_ok=True)
        (found.project / ".ralph" / f"{turn}").write_text(f"{turn}")
        (found.project / "a.txt").write_text(f"{turn}")
        (found.project / f"new {turn}").write_text("new")
        git(found.project, "commit", "-qam", f"{turn}")
        run(seat.save(end_of(turn)))

    _, found = run(two.sit())

    assert sorted(path.name for path in (found.project / ".ralph").iterdir()) == list("12345")
    assert git(found.project, "status", "--porcelain").count("??") == 5
    git(one.home / "jobs" / "j1" / "store", "fsck", "--strict")


def test_a_real_record_travels(tmp_path: Path, remote: Path) -> None:
    machines = [Machine(tmp_path, remote, name, pack=pack, unpack=unpack) for name in ("one", "two")]
    ralph = [sys.executable, "-m", "ralph"]
    command = [*ralph, "run", "-p", "x", "--agent", "true", "-m", "1"]
    for turn in range(1, 4):
        seat, found = run(machines[turn % 2].sit())
        subprocess.run(command, cwd=found.project, timeout=60, check=False, capture_output=True)
        run(seat.save(end_of(turn)))
    _, found = run(machines[0].sit())

    listed = [*ralph, "status", "--all", "--json"]
    told = subprocess.run(listed, cwd=found.project, timeout=60, check=True, capture_output=True).stdout

    assert len(json.loads(told)["runs"]) == 3

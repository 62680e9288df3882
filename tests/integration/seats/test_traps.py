"""What a repository, a record or a session can leave so that whoever makes a clone of it reaches farther than the clone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph.adapters.storage.portable import unpack
from ralph.adapters.trees import make_room
from ralph.engine.fleet.shift_work import ShiftFailed
from ralph.errors import GitFailed, RalphError, ServiceAway, ServiceRefused, UsageError

from .machines import Machine, end_of, git, hook, make_remote, run

FULL = "fatal: write error: No space left on device"


# --- links ---


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def add_worktree(here: Path) -> None:
    (here / "w.tmp").mkdir()
    git(here, "worktree", "add", "-q", "w.tmp/wt", "-b", "side")
    (here / "w.tmp" / "wt" / "payload").write_text("evil")
    git(here / "w.tmp" / "wt", "add", "payload")
    git(here / "w.tmp" / "wt", "commit", "-qm", "payload")


def test_a_link_on_the_way_to_a_worktree_is_not_followed(
    outside: Path, machines: tuple[Machine, Machine]
) -> None:
    """In an ignored folder, which is there from before when another worker had the job in between."""
    one, two = machines
    seat, found = run(one.sit())
    here = found.project
    add_worktree(here)
    run(seat.save(end_of(1)))
    seat, _ = run(two.sit())
    run(seat.save(end_of(2)))
    git(here, "worktree", "remove", "--force", "w.tmp/wt")
    (here / "w.tmp").rmdir()
    (here / "w.tmp").symlink_to(outside)

    _, found = run(one.sit())

    assert not [*outside.iterdir()]
    assert not (here / "w.tmp").is_symlink()
    assert (here / "w.tmp" / "wt" / "payload").read_text() == "evil"


def test_a_committed_link_on_the_way_to_a_worktree_is_not_followed(
    outside: Path, machines: tuple[Machine, Machine]
) -> None:
    one, two = machines
    seat, found = run(one.sit())
    here = found.project
    (here / "place").symlink_to(outside)
    git(here, "add", "place")
    git(here, "commit", "-qm", "link")
    (here / "place").unlink()
    (here / "place").mkdir()
    git(here, "worktree", "add", "-q", "place/wt", "-b", "side")
    run(seat.save(end_of(1)))

    _, found = run(two.sit())

    assert not [*outside.iterdir()]
    assert (found.project / "place" / "wt" / "a.txt").exists()


def test_a_seat_that_was_not_saved_leaves_no_link(outside: Path, machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    seat, found = run(one.sit())
    here = found.project
    add_worktree(here)
    run(seat.save(end_of(1)))
    seat, _ = run(one.sit())
    git(here, "worktree", "remove", "--force", "w.tmp/wt")
    (here / "w.tmp").rmdir()
    (here / "w.tmp").symlink_to(outside)
    (here / "x.tmp").symlink_to(outside)
    branch = here / ".git" / git(here, "symbolic-ref", "HEAD")
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text("deadbeef" * 5 + "\n")
    with pytest.raises(RalphError):
        run(seat.save(end_of(2)))
    run(seat.forget())

    run(one.sit())

    assert not [*outside.iterdir()]
    assert not (here / "x.tmp").is_symlink()
    assert (here / "w.tmp" / "wt" / "payload").exists()


@pytest.mark.parametrize("way", ["x", "x/y", "x/y/z"])
@pytest.mark.parametrize("kind", ["link", "file", "folder", "nothing"])
def test_room_is_made_without_leaving(tmp_path: Path, outside: Path, way: str, kind: str) -> None:
    top = tmp_path / "top"
    place = top / way
    place.parent.mkdir(parents=True)
    match kind:
        case "link":
            place.symlink_to(outside)
        case "file":
            place.write_text("")
        case "folder":
            (place / "deep").mkdir(parents=True)
        case _:
            pass
    (outside / "kept").touch()

    make_room(top / "x" / "y" / "z", top)

    assert os.path.realpath(top / "x" / "y") == str(top / "x" / "y")
    assert not (top / "x" / "y" / "z").exists()
    assert [path.name for path in outside.iterdir()] == ["kept"]


# --- ralph's own folder ---


@pytest.mark.parametrize("name", [".ralph", ".ralph/ralph.db", ".ralph/runs", ".ralph/settings.json"])
def test_a_repository_whose_state_is_a_link_is_refused(tmp_path: Path, outside: Path, name: str) -> None:
    remote = make_remote(tmp_path)
    seed = tmp_path / "first"
    (seed / name).parent.mkdir(exist_ok=True)
    (seed / name).symlink_to(outside)
    git(seed, "add", "-f", name)
    git(seed, "commit", "-qm", "link")
    git(seed, "push", "-q", str(remote), "HEAD:main")
    one = Machine(tmp_path, remote, "one")

    with pytest.raises(UsageError, match=rf"{name} of commit \w+ is a link"):
        run(one.sit())

    assert not (one.home / "jobs" / "j1" / "project" / name).is_symlink()
    assert not [*outside.iterdir()]


def test_a_state_that_is_a_file_is_refused(tmp_path: Path) -> None:
    remote = make_remote(tmp_path)
    seed = tmp_path / "first"
    (seed / ".ralph").write_text("")
    git(seed, "add", "-f", ".ralph")
    git(seed, "commit", "-qm", "file")
    git(seed, "push", "-q", str(remote), "HEAD:main")

    with pytest.raises(UsageError, match="is no folder"):
        run(Machine(tmp_path, remote, "one").sit())


def test_a_link_that_a_session_commits_as_state_is_refused(
    outside: Path, machines: tuple[Machine, Machine]
) -> None:
    """It cannot write there, but git can commit what is not in the working tree."""
    one, two = machines
    seat, found = run(one.sit())
    here = found.project
    (here / "target.tmp").write_text(str(outside))
    blob = git(here, "hash-object", "-w", "target.tmp")
    git(here, "update-index", "--add", "--cacheinfo", f"120000,{blob},.ralph")
    git(here, "commit", "-qm", "link")
    (here / ".ralph").mkdir()
    (here / ".ralph" / "record").write_text("state")
    run(seat.save(end_of(1)))

    with pytest.raises(UsageError, match=r"\.ralph of commit \w+ is a link"):
        run(two.sit())

    assert not [*outside.iterdir()]


def test_a_base_with_such_a_link_is_not_brought(
    tmp_path: Path, outside: Path, remote: Path, machines: tuple[Machine, Machine]
) -> None:
    one, _ = machines
    job = one.job(task="{}", base="main")
    seat, found = run(one.sit(job))
    seed = tmp_path / "first"
    (seed / ".ralph").symlink_to(outside)
    git(seed, "add", "-f", ".ralph")
    git(seed, "commit", "-qm", "link")
    git(seed, "push", "-q", str(remote), "HEAD:main")

    with pytest.raises(UsageError, match="is a link"):
        run(seat.catch_up())

    assert not (found.project / ".ralph").is_symlink()


# --- addresses ---


@pytest.mark.parametrize(
    "address", ["ext::sh -c id", "ssh://-oProxyCommand=id/x", "host:x?token=y", "http://h/x"]
)
def test_a_worker_checks_the_address_as_the_submitter_does(tmp_path: Path, address: str) -> None:
    one = Machine(tmp_path, address, "one")

    with pytest.raises(UsageError):
        one.seat()

    assert one.runner.started == []


@pytest.mark.parametrize("place", ["repositories/x.git", "jobs/j2/project/.git", "jobs/j2/store", ""])
@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_workers_own_folder_is_no_repository(
    machines: tuple[Machine, Machine], tmp_path: Path, place: str, form: str
) -> None:
    one, _ = machines
    (tmp_path / "way").symlink_to(one.home)

    for home in (one.home, tmp_path / "way"):
        one.address = form.format(home / place)
        with pytest.raises(UsageError, match="worker's own folder"):
            one.seat()


def test_an_owner_says_which_repositories_jobs_may_be_about(tmp_path: Path, remote: Path) -> None:
    run(Machine(tmp_path, remote, "one", repositories=[f"{tmp_path}/*"]).sit())
    two = Machine(tmp_path, remote, "two", repositories=["https://host/octo/*"])

    with pytest.raises(ShiftFailed, match="does no jobs for"):
        two.seat()


# --- disks ---


def test_a_full_disk_of_the_remote_is_no_refusal(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    seat, _ = run(one.sit())
    hook(remote, "pre-receive", f"echo '{FULL}' >&2; exit 1")
    with pytest.raises(ServiceAway, match=r"disk of .* is full"):
        run(seat.save(end_of(1)))
    (remote / "hooks" / "pre-receive").unlink()

    assert run(seat.save(end_of(1))).turn == 1


def test_a_full_disk_of_the_worker_is_no_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another worker may have room."""
    remote = make_remote(tmp_path)
    real = tmp_path / "bin" / "git"
    real.parent.mkdir()
    path = os.environ["PATH"]
    real.write_text(
        f'#!/bin/sh\ncase " $* " in *" fetch "*) echo "{FULL}" >&2; exit 128;; esac\nPATH="{path}"; exec git "$@"\n'
    )
    real.chmod(0o755)
    monkeypatch.setenv("PATH", f"{real.parent}:{path}")

    with pytest.raises(GitFailed, match="the disk of this worker is full"):
        run(Machine(tmp_path, remote, "one").sit())


# --- records ---


def test_a_packed_state_that_is_none_is_wrong_on_every_machine(tmp_path: Path, remote: Path) -> None:
    one = Machine(tmp_path, remote, "one")
    seat, found = run(one.sit())
    (found.project / ".ralph").mkdir()
    (found.project / ".ralph" / "manifest.json").write_text("no JSON")
    run(seat.save(end_of(1)))

    with pytest.raises(ServiceRefused, match=r"the record of job j1 .* is damaged: .*manifest"):
        run(Machine(tmp_path, remote, "two", unpack=unpack).sit())

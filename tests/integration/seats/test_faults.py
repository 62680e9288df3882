"""What goes wrong: remotes that are away or refuse, kills in the middle, records and clones that are hostile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from ralph.errors import RalphError, ServiceAway, ServiceRefused, UsageError

from .machines import Machine, end_of, git, hook, run, task_of

SHIFT = Path(__file__).with_name("killed_shift.py")


# --- remotes ---


def test_a_repository_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ServiceRefused, match=r"cannot be read.*not appear to be a git repository"):
        run(Machine(tmp_path, tmp_path / "nothing", "one").sit())


def test_a_base_that_is_not_there(machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    with pytest.raises(UsageError, match="no branch nowhere"):
        run(one.sit(one.job(base="nowhere")))


def test_a_repository_without_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "empty.git")
    with pytest.raises(UsageError, match="no branch"):
        run(Machine(tmp_path, tmp_path / "empty.git", "one").sit())


def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(ServiceAway):
        run(Machine(tmp_path, "https://127.0.0.1:9/x.git", "one").sit())


@pytest.mark.parametrize("address", ["--upload-pack=touch x", "", "ext::sh -c id", "a\nb"])
def test_an_address_that_is_none(tmp_path: Path, address: str) -> None:
    with pytest.raises(RalphError):
        run(Machine(tmp_path, address, "one").sit())


@pytest.mark.parametrize(
    "job_id", ["", "..", "../x", "a/b", ".git", "a..b", "a.lock", "-x", "a b", "x" * 200]
)
def test_a_name_that_no_job_can_have(machines: tuple[Machine, Machine], job_id: str) -> None:
    one, _ = machines
    with pytest.raises(UsageError, match=r"a job cannot be called|the name of a job"):
        one.seats.of(one.job(job_id))


def test_a_remote_that_may_only_be_read(remote: Path, machines: tuple[Machine, Machine]) -> None:
    hook(remote, "pre-receive", "echo you may not push here >&2; exit 1")
    with pytest.raises(ServiceRefused, match=r"refuses a push.*you may not push here") as caught:
        run(machines[0].sit())
    assert "allowed to push" in caught.value.hint


def test_a_base_that_is_protected(remote: Path, machines: tuple[Machine, Machine]) -> None:
    hook(remote, "update", 'test "$1" != refs/heads/main || { echo main is protected >&2; exit 1; }')
    one, two = machines
    seat, found = run(one.sit(task_of(one)))
    run(seat.catch_up())
    git(found.project, "commit", "-q", "--allow-empty", "-m", "merged")

    with pytest.raises(ServiceRefused, match="main is protected"):
        run(seat.save(end_of(1, merged=git(found.project, "rev-parse", "main"))))

    _, found = run(two.sit(task_of(two)))
    assert found.end is None  # all or nothing


def test_a_remote_that_hides_records(remote: Path, machines: tuple[Machine, Machine]) -> None:
    git(remote, "config", "transfer.hideRefs", "refs/ralph")
    with pytest.raises(ServiceRefused, match=r"refs/ralph/records/j1.*hidden ref"):
        run(machines[0].sit())


def test_a_remote_that_cannot_push_at_once(remote: Path, machines: tuple[Machine, Machine]) -> None:
    git(remote, "config", "receive.advertiseAtomic", "false")
    with pytest.raises(ServiceRefused, match="--atomic"):
        run(machines[0].sit())


# --- kills ---


def test_a_kill_at_any_step_leaves_before_or_after(tmp_path: Path, remote: Path) -> None:
    seen = []
    for step in range(20):
        job = f"j{step}"
        seat, _ = run((first := Machine(tmp_path, remote, "one")).sit(first.job(job)))
        run(seat.save(end_of(1)))
        del seat
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
        command = [sys.executable, str(SHIFT), str(tmp_path), str(remote), job, str(step)]
        ran = subprocess.run(
            command, timeout=60, check=False, env=environment, capture_output=True, text=True
        )
        assert ran.returncode in (0, -signal.SIGKILL), ran.stderr
        for name in ("two", "one"):
            machine = Machine(tmp_path, remote, name)
            seat, found = run(machine.sit(machine.job(job)))
            assert found.end is not None
            text = (found.project / "a.txt").read_text()
            assert (found.end.turn, text, (found.project / "new").exists()) in (
                (1, "one\n", False),
                (2, "killed", True),
            )
            git(found.project, "fsck", "--strict")
            seen.append(found.end.turn)
            run(seat.forget())
        if ran.returncode == 0:
            break
    assert {*seen} == {1, 2}
    assert step > 4


# --- hostile ---


@pytest.mark.parametrize(
    "change",
    [
        {"format": 99},
        {"worktrees": [{"path": "", "head": "x"}]},
        {"worktrees": [{"path": "", "head": "HEAD"}, {"path": "../../out", "head": "HEAD"}]},
        {"worktrees": [{"path": "", "head": "HEAD"}, {"path": ".git/hooks", "head": "HEAD"}]},
        {"worktrees": [{"path": "", "head": "HEAD"}, {"path": "/tmp/out", "head": "HEAD"}]},
        {"refs": {"refs/heads/../../config": "HEAD"}},
        {"refs": {"refs/heads/a\nb": "HEAD"}},
        {"refs": {"refs/heads/main": "--all"}},
        {"refs": {"refs/heads/x": "f" * 40}},
        {"base": "../x"},
        {"end": {"turn": "many"}},
        {"end": []},
        {"refs": None},
    ],
)
def test_a_record_that_lies(tmp_path: Path, remote: Path, change: dict[str, object]) -> None:
    one, two = Machine(tmp_path, remote, "one"), Machine(tmp_path, remote, "two")
    run(run(one.sit())[0].save(end_of(1)))
    head = git(remote, "rev-parse", "main")
    about = json.loads(git(remote, "show", "refs/ralph/records/j1:job.json"))
    text = json.dumps({**about, **change}).replace('"HEAD"', f'"{head}"')
    forge(remote, "job.json", text)

    with pytest.raises(RalphError, match="record of job j1"):
        run(two.sit())


def forge(remote: Path, path: str, text: str, mode: str = "100644") -> None:
    """Put a file into the record, as anyone can who may push."""
    index = {"GIT_INDEX_FILE": str(remote / "forged.index")}
    git(remote, "read-tree", "refs/ralph/records/j1", **index)
    (remote / "forged").write_text(text)
    blob = git(remote, "hash-object", "-w", "forged")
    git(remote, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", **index)
    tree = git(remote, "write-tree", **index)
    commit = git(remote, "commit-tree", tree, "-p", "refs/ralph/records/j1", "-m", "forged")
    git(remote, "update-ref", "refs/ralph/records/j1", commit)


def test_a_record_writes_nothing_outside_its_seat(tmp_path: Path, remote: Path) -> None:
    one, two = Machine(tmp_path, remote, "one"), Machine(tmp_path, remote, "two")
    seat, found = run(one.sit())
    (found.project / "new").write_text("new")
    run(seat.save(end_of(1)))
    target = tmp_path / "target"
    target.mkdir()
    forge(remote, "work/0/changed/link", str(target), "120000")
    forge(remote, "work/0/deleted", "../../../../target\0")

    with pytest.raises(RalphError):
        run(two.sit())

    assert target.exists()
    assert not [*target.iterdir()]


def test_nothing_that_a_session_left_in_its_clone_is_run(tmp_path: Path, remote: Path) -> None:
    one, two = Machine(tmp_path, remote, "one"), Machine(tmp_path, remote, "two")
    seat, found = run(one.sit())
    here, ran = found.project, tmp_path / "ran"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    evil.chmod(0o755)
    for key in (
        "filter.evil.clean", "filter.evil.smudge", "core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook",
        "diff.external", "core.alternateRefsCommand", "credential.helper", "gpg.program", "core.pager",
    ):  # fmt: skip
        git(here, "config", key, str(evil))
    git(here, "config", "core.hooksPath", str(tmp_path / "hooks"))
    git(here, "config", f"url.{tmp_path}/elsewhere.insteadOf", str(remote))
    (tmp_path / "hooks").mkdir()
    for name in ("pre-push", "post-checkout", "pre-commit", "reference-transaction", "post-index-change"):
        (tmp_path / "hooks" / name).write_bytes(evil.read_bytes())
        (tmp_path / "hooks" / name).chmod(0o755)
    (here / ".gitattributes").write_text("* filter=evil\n")
    (here / "a.txt").write_text("edited")
    git(here, "-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "x")
    ran.unlink(missing_ok=True)

    run(seat.save(end_of(1)))
    run(one.sit())[0]
    _, found = run(two.sit())

    assert not ran.exists()
    assert (found.project / "a.txt").read_text() == "edited"


@pytest.mark.parametrize("place", ["HEAD", "refs", "packed-refs", "worktrees", "objects", "index"])
def test_a_link_in_place_of_gits_own_files_leads_nowhere(tmp_path: Path, remote: Path, place: str) -> None:
    one, two = Machine(tmp_path, remote, "one"), Machine(tmp_path, remote, "two")
    run(run(one.sit())[0].save(end_of(1)))
    seat, found = run(one.sit())
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "HEAD").write_text("0" * 40)
    target = found.project / ".git" / place
    if target.is_dir():
        target.rename(tmp_path / "moved")
    else:
        target.unlink(missing_ok=True)
    target.symlink_to(outside)
    before = {path: path.stat() for path in outside.iterdir()}

    with suppress(RalphError):
        run(seat.save(end_of(2)))
    run(seat.forget())

    _, found = run(one.sit())
    assert not (found.project / ".git" / place).is_symlink()
    assert before.keys() == {*outside.iterdir()}
    run(two.sit())


# --- growth ---


def test_the_remote_grows_in_a_line(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    counts = []
    for turn in range(1, 51):
        seat, found = run(one.sit())
        folder = found.project / ".ralph" / "events"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{turn}").write_text(f"what happened in {turn}\n" * 100)
        (found.project / "a.txt").write_text(str(turn))
        git(found.project, "commit", "-qam", str(turn))
        run(seat.save(end_of(turn)))
        about = dict(line.split(": ") for line in git(remote, "count-objects", "-v").splitlines())
        counts.append(int(about["count"]) + int(about["in-pack"]))
    steps = [after - before for before, after in pairwise(counts[1:])]
    assert (
        max(steps) <= 12
    )  # of code: commit, tree, file; of the record: commit, trees, job.json, one new file
    assert sum(steps[-10:]) <= sum(steps[:10]) + 10

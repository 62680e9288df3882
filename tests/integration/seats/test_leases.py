"""One worker at a time holds a job, whatever the others believe."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.domain.fleet.shift import ShiftEnd
from ralph.engine.fleet.ports import BaseMoved, Fenced
from ralph.errors import GitFailed, ServiceAway, ServiceRefused, UsageError, WorkspaceBusy

from .machines import Machine, end_of, git, hook, run, task_of

TAKERS = 8


def push_from(folder: Path, remote: Path, name: str, to: str = "main") -> str:
    """Somebody else's commit, with its file, to a branch of the remote."""
    git(folder, "fetch", "-q", str(remote), to)
    git(folder, "checkout", "-q", "--detach", "FETCH_HEAD")
    (folder / name).write_text(name)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)
    git(folder, "push", "-q", str(remote), f"HEAD:refs/heads/{to}")
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.parametrize("is_new", [True, False])
def test_of_many_who_take_it_at_once_one_has_it(tmp_path: Path, remote: Path, is_new: bool) -> None:
    machines = [Machine(tmp_path, remote, f"m{number}") for number in range(TAKERS)]

    async def race() -> list[object]:
        if not is_new:
            seat, _ = await Machine(tmp_path, remote, "before").sit()
            await seat.save(end_of(1))
        seats = [machine.seat() for machine in machines]
        await asyncio.gather(*(seat.open() for seat in seats))
        return await asyncio.gather(*(seat.take() for seat in seats), return_exceptions=True)

    results = run(race())

    assert results.count(None) == 1
    assert all(isinstance(result, Fenced) for result in results if result is not None)


def test_who_was_replaced_can_push_no_more(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    old, found = run(one.sit())
    (found.project / "a.txt").write_text("old")
    git(found.project, "commit", "-qam", "old")
    new, _ = run(two.sit())

    with pytest.raises(Fenced):
        run(old.save(end_of(1)))

    assert "ralph/j1" not in git(remote, "branch")
    run(old.forget())
    saved = run(new.save(end_of(1)))
    assert saved.commit == git(remote, "rev-parse", "ralph/j1") == git(remote, "rev-parse", "main")
    with pytest.raises(Fenced):
        run(old.save(end_of(1)))


def test_a_base_that_moved_meanwhile_is_not_overwritten(
    tmp_path: Path, remote: Path, machines: tuple[Machine, Machine]
) -> None:
    one, _ = machines
    seat, found = run(one.sit(task_of(one)))
    run(seat.catch_up())
    (found.project / "a.txt").write_text("merged")
    git(found.project, "commit", "-qam", "merged")
    theirs = push_from(tmp_path / "first", remote, "theirs")

    with pytest.raises(BaseMoved):
        run(seat.save(end_of(1, merged=git(found.project, "rev-parse", "main"))))

    assert git(remote, "rev-parse", "main") == theirs
    run(seat.forget())
    seat, found = run(one.sit(task_of(one)))
    assert found.end is None  # nothing of that push has arrived
    run(seat.catch_up())
    assert (found.project / "theirs").exists()
    assert (found.project / "a.txt").read_text() == "one\n"
    (found.project / "a.txt").write_text("merged")
    git(found.project, "commit", "-qam", "merged")
    merged = git(found.project, "rev-parse", "main")
    assert run(seat.save(end_of(1, merged=merged))).merged == merged == git(remote, "rev-parse", "main")


REWRITTEN = [
    ("commit", "-q", "--amend", "-m", "another beginning"),
    ("commit", "-q", "--allow-empty", "-m", "two", "-m", "steps"),
]


@pytest.mark.parametrize("words", REWRITTEN)
def test_what_does_not_follow_from_the_base_as_it_was_given_is_not_pushed(
    remote: Path, machines: tuple[Machine, Machine], words: tuple[str, ...]
) -> None:
    one, _ = machines
    before = git(remote, "rev-parse", "main")
    seat, found = run(one.sit(task_of(one)))
    run(seat.catch_up())
    git(found.project, *words)
    git(found.project, "commit", "-q", "--allow-empty", "-m", "on top of it")

    with pytest.raises(GitFailed, match="does not follow from the base"):
        run(seat.save(end_of(1, merged=git(found.project, "rev-parse", "main"))))

    assert git(remote, "rev-parse", "main") == before
    assert not git(remote, "for-each-ref", "refs/heads/ralph/j1")


@pytest.mark.parametrize("merged", ["x", "--all", "f" * 40])
def test_a_merge_that_nobody_made_is_not_pushed(
    remote: Path, machines: tuple[Machine, Machine], merged: str
) -> None:
    before = git(remote, "rev-parse", "main")
    seat, _ = run(machines[0].sit(task_of(machines[0])))
    run(seat.catch_up())
    with pytest.raises(GitFailed):
        run(seat.save(end_of(1, merged=merged)))
    assert git(remote, "rev-parse", "main") == before


def commit_evil(project: Path) -> None:
    (project / "evil.txt").write_text("nobody has proven it")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "unproven")


def move_branch_behind(project: Path) -> None:
    made = git(project, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "unproven")
    git(project, "update-ref", "refs/heads/main", made)


def leave_branch(project: Path) -> None:
    git(project, "checkout", "-q", "-b", "elsewhere")
    commit_evil(project)


@pytest.mark.parametrize("is_turn", [True, False])
@pytest.mark.parametrize("move", [commit_evil, move_branch_behind, leave_branch])
def test_a_base_that_something_else_moved_in_the_clone_is_put_back(
    remote: Path, machines: tuple[Machine, Machine], move: Callable[[Path], None], is_turn: bool
) -> None:
    one, two = machines
    before = git(remote, "rev-parse", "main")
    seat, found = run(one.sit(task_of(one)))
    if is_turn:
        run(seat.catch_up())
    move(found.project)

    assert run(seat.save(end_of(1))).merged == ""

    assert git(remote, "rev-parse", "main") == before
    for machine in (one, two):
        seat, found = run(machine.sit(task_of(machine)))
        assert git(found.project, "symbolic-ref", "HEAD") == "refs/heads/main"
        assert git(found.project, "rev-parse", "main") == before
        assert git(found.project, "status", "--porcelain") == ""
        run(seat.forget())


def test_exactly_what_was_merged_is_pushed_whatever_was_put_on_top(
    remote: Path, machines: tuple[Machine, Machine]
) -> None:
    one, two = machines
    seat, found = run(one.sit(task_of(one)))
    run(seat.catch_up())
    git(found.project, "commit", "-q", "--allow-empty", "-m", "merged")
    merged = git(found.project, "rev-parse", "main")
    commit_evil(found.project)

    assert run(seat.save(end_of(1, merged=merged))).merged == merged

    assert git(remote, "rev-parse", "main") == merged
    for machine in (one, two):
        seat, found = run(machine.sit(task_of(machine)))
        assert git(found.project, "rev-parse", "main") == merged
        assert not (found.project / "evil.txt").exists()
        run(seat.forget())


def test_a_task_without_a_change_is_in_the_base(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    before = git(remote, "rev-parse", "main")
    seat, _ = run(one.sit(task_of(one)))
    run(seat.catch_up())

    assert run(seat.save(end_of(1, merged=before))).merged == before

    assert git(remote, "rev-parse", "main") == before
    seat, found = run(two.sit(task_of(two)))
    assert found.end is not None
    assert found.end.merged == before
    assert run(seat.save(end_of(2))).merged == before, "for good"


def test_a_base_moves_only_when_it_is_the_jobs_turn(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, _ = machines
    before = git(remote, "rev-parse", "main")
    seat, found = run(one.sit(task_of(one)))
    git(found.project, "commit", "-q", "--allow-empty", "-m", "not its turn")

    assert run(seat.save(end_of(1))).merged == ""
    assert git(remote, "rev-parse", "main") == before


@pytest.mark.parametrize("is_warm", [True, False])
def test_the_record_of_another_submission_is_not_continued(
    remote: Path, machines: tuple[Machine, Machine], is_warm: bool
) -> None:
    one, two = machines
    other = replace(one.job(), submission="first", submitted_at=1_700_000_000.0)
    run(run(one.sit(other))[0].save(ShiftEnd(turn=1, run_id="r", outcome="completed", exit_code=0)))
    machine = one if is_warm else two
    job = replace(machine.job(), submission="second")

    with pytest.raises(UsageError, match=r"another job j1, submitted on 2023-11-14 at 22:13 UTC") as refused:
        run(machine.sit(job))

    assert "--name" in refused.value.hint
    command = refused.value.hint.split("`")[1]
    subprocess.run(shlex.split(command), check=True, timeout=60)  # as it says
    seat, found = run(machine.sit(job))
    assert found.end is None
    run(seat.save(end_of(1)))
    seat, found = run(machine.sit(job))
    assert found.end is not None, "its own it continues"


def test_what_a_person_pushes_to_the_branch_is_kept(
    tmp_path: Path, remote: Path, machines: tuple[Machine, Machine]
) -> None:
    one, two = machines
    seat, found = run(one.sit())
    git(found.project, "commit", "-q", "--allow-empty", "-m", "work")
    run(seat.save(end_of(1)))
    seat, found = run(one.sit())
    git(found.project, "commit", "-q", "--allow-empty", "-m", "more work")
    theirs = push_from(tmp_path / "first", remote, "theirs", to="ralph/j1")

    for refused in (seat.save(end_of(2)), one.sit(), two.sit()):
        with pytest.raises(ServiceRefused, match="somebody else has moved the branch ralph/j1"):
            run(refused)
        run(seat.forget())

    assert git(remote, "rev-parse", "ralph/j1") == theirs
    git(remote, "update-ref", "-d", "refs/heads/ralph/j1")  # as the hint says
    _, found = run(two.sit())
    assert found.end is not None


def test_a_branch_that_was_there_before_the_job_is_not_its_own(
    remote: Path, machines: tuple[Machine, Machine]
) -> None:
    git(remote, "branch", "ralph/j1", "main")

    with pytest.raises(ServiceRefused, match="is not this job's"):
        run(machines[0].sit())


def test_an_answer_that_was_lost_is_no_loss(remote: Path, machines: tuple[Machine, Machine]) -> None:
    one, two = machines
    seat, found = run(one.sit())
    git(found.project, "commit", "-q", "--allow-empty", "-m", "work")
    hook(remote, "reference-transaction", 'test "$1" != committed || kill -9 $PPID')

    saved = run(seat.save(end_of(1)))

    assert saved.commit == git(remote, "rev-parse", "ralph/j1")
    _, found = run(two.sit())
    assert found.end == saved


def test_a_push_that_was_interrupted_can_be_tried_again(
    remote: Path, machines: tuple[Machine, Machine]
) -> None:
    seat, found = run(machines[0].sit())
    git(found.project, "commit", "-q", "--allow-empty", "-m", "work")
    hook(remote, "reference-transaction", 'test "$1" != prepared || kill -9 $PPID')
    with pytest.raises(ServiceAway):
        run(seat.save(end_of(1)))
    for left in remote.rglob("*.lock"):  # the remote's own affair
        left.unlink()
    (remote / "hooks" / "reference-transaction").unlink()

    saved = run(seat.save(end_of(1)))

    assert saved.commit == git(remote, "rev-parse", "ralph/j1")


def test_two_processes_never_share_a_seat(
    tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph.adapters.seats.seat.LOCK_SECONDS", 0.2)
    one, same = (Machine(tmp_path, remote, "one") for _ in range(2))
    seat, _ = run(one.sit())

    with pytest.raises(WorkspaceBusy):
        run(same.sit())

    assert not run(same.seats.remove("j1"))
    run(seat.save(end_of(1)))
    run(same.sit())


def test_seats_of_jobs_that_ended_are_removed(tmp_path: Path, remote: Path) -> None:
    one = Machine(tmp_path, remote, "one")
    in_use, _ = run(one.sit(one.job("in-use")))
    for name in ("open", "ended"):
        run(run(one.sit(one.job(name)))[0].save(end_of(1)))

    async def is_open(job_id: str) -> bool:
        return job_id == "open"

    run(one.seats.sweep(is_open))

    assert sorted(path.name for path in (one.home / "jobs").iterdir()) == ["in-use", "open"]
    run(in_use.forget())

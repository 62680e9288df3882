"""What every forge must do, whatever it is called and however it is reached."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from ralph.adapters.forges.choice import find_forge
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.delivery.facts import (
    CheckRun,
    CheckState,
    MergeMethod,
    PullState,
    Remark,
    RemarkKind,
    Required,
    Verdict,
)
from ralph.domain.delivery.texts import answer_text
from ralph.engine.delivery.ports import Forge as Port
from ralph.engine.delivery.ports import NewPullRequest
from ralph.errors import ServiceAway, ServiceRefused

from .conftest import CACHE
from .memory_forge import MemoryForge
from .world.forge import Forge, open_forge

T = TypeVar("T")
WANTED = NewPullRequest(branch="work", base="main", title="Add a thing", body="It adds a thing.")
NOWHERE = "0123456789012345678901234567890123456789"


class World(Protocol):
    """What other people and machines do to a forge, in one language for all of them."""

    def push(self, branch: str) -> str: ...
    def delete_branch(self, branch: str) -> None: ...
    def check(
        self, commit: str, name: str, conclusion: str = ..., *, log: str = ..., step: str = ...
    ) -> object: ...
    def review(self, user: str, state: str, text: str = ..., *, number: int) -> object: ...
    def comment(self, user: str, text: str, *, number: int) -> object: ...
    def comment_on_line(self, user: str, text: str, *, number: int, path: str, line: int) -> object: ...
    def merge_by(self, user: str, number: int) -> str: ...
    def close_by(self, user: str, number: int) -> None: ...
    def conflict(self, number: int) -> None: ...
    def protect(
        self, base: str, *, checks: Sequence[str] = ..., approvals: int = ..., strict: bool = ...
    ) -> None: ...


class Emulated:
    """The emulated GitHub, as a ``World``."""

    def __init__(self, forge: Forge) -> None:
        self._forge = forge
        self._pushes = 0

    def push(self, branch: str) -> str:
        self._pushes += 1
        return self._forge.push_as_someone_else(branch, {f"{branch}.txt": f"{self._pushes}\n"})

    def delete_branch(self, branch: str) -> None:
        self._forge.delete_branch(branch)

    def check(
        self, commit: str, name: str, conclusion: str = "queued", *, log: str = "", step: str = ""
    ) -> int:
        if conclusion in ("queued", "in_progress"):
            return self._forge.check(commit, name, status=conclusion)
        return self._forge.check(commit, name, conclusion, log=log, step=step)

    def review(self, user: str, state: str, text: str = "", *, number: int) -> Any:
        return self._forge.review(user, state, text, number=number)

    def comment(self, user: str, text: str, *, number: int) -> Any:
        return self._forge.comment(user, text, number=number)

    def comment_on_line(self, user: str, text: str, *, number: int, path: str, line: int) -> None:
        self._forge.review(user, "COMMENTED", number=number, comments=[(path, line, text)])

    def merge_by(self, user: str, number: int) -> str:
        return self._forge.merge_by(user, number)

    def close_by(self, user: str, number: int) -> None:
        self._forge.close_by(user, number)

    def conflict(self, number: int) -> None:
        pull = self._forge.pull(number)
        file = f"{pull['head']['ref']}.txt"
        self._forge.push_as_someone_else(pull["base"]["ref"], {file: "something else\n"})

    def protect(
        self, base: str, *, checks: Sequence[str] = (), approvals: int = 0, strict: bool = False
    ) -> None:
        self._forge.protect(base, checks=checks, approvals=approvals, strict=strict)


class Side:
    """A forge from both sides."""

    def __init__(self, port: Port, world: World) -> None:
        self.port = port
        self.world = world

    def open(self, wanted: NewPullRequest = WANTED) -> int:
        self.world.push(wanted.branch)
        return run(self.port.open(wanted))[0].number

    def found(self) -> int:
        pull = run(self.port.find("work"))
        return 0 if pull is None else pull.number

    def states(self, commit: str) -> dict[str, CheckState]:
        return {check.name: check.state for check in run(self.port.checks(commit))}

    def remarks(self, number: int) -> tuple[Remark, ...]:
        return run(self.port.opinions(number)).remarks


def run(asked: Coroutine[Any, Any, T]) -> T:
    """Each question from an event loop of its own, as different runs of ralph would ask."""

    async def bounded() -> T:
        return await asyncio.wait_for(asked, 60)

    return asyncio.run(bounded())


def by_gh(forge: Forge, folder: Path, user: str = "owner") -> Port:
    environment = {**os.environ, **forge.environment(user)}
    runner = PosixProcessRunner(run_id="contract", base_environment=environment)
    path = environment["PATH"]
    find = _found_on(path)
    return find_forge(
        "", forge.repository, environ=environment, find=find, runner=runner, cwd=folder, now=_minutes()
    )


def by_https(forge: Forge, folder: Path, user: str = "owner") -> Port:
    runner = PosixProcessRunner(run_id="contract", base_environment={})
    return find_forge(
        "",
        forge.repository,
        environ=forge.environment_https(user),
        find=lambda name: None,
        runner=runner,
        cwd=folder,
        now=_minutes(),
    )


def _minutes() -> Callable[[], float]:
    """A clock by which each question comes a minute after the last: nothing that is kept for a moment is still kept."""
    minutes = count(int(time.time()), 60)
    return lambda: float(next(minutes))


def _found_on(path: str) -> Callable[[str], str | None]:
    import shutil

    return lambda name: shutil.which(name, path=path)


WAYS: Mapping[str, Callable[[Forge, Path], Port]] = {"gh": by_gh, "https": by_https}


@pytest.fixture(params=["gh", "https", "memory"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Side]:
    if request.param == "memory":
        memory = MemoryForge()
        yield Side(memory, memory)
        return
    with ExitStack() as stack:
        forge = stack.enter_context(open_forge(CACHE, tmp_path))
        yield Side(WAYS[request.param](forge, tmp_path), Emulated(forge))


def test_it_knows_its_repository(side: Side) -> None:
    repository = run(side.port.repository())

    assert (repository.name, repository.default_branch) == ("owner1/demo", "main")
    assert repository.can_push
    assert 0 <= side.port.look_cost <= 1


def test_a_pull_request_is_opened_once_and_found_by_its_branch(side: Side) -> None:
    head = side.world.push("work")
    assert run(side.port.find("work")) is None

    pull, told = run(side.port.open(WANTED))
    again, _ = run(side.port.open(replace(WANTED, title="Another title")))

    assert (pull.branch, pull.base, pull.head, pull.state) == ("work", "main", head, PullState.OPEN)
    assert (pull.title, pull.body, pull.is_draft, told) == ("Add a thing", "It adds a thing.", False, ())
    assert again.number == pull.number
    assert side.found() == pull.number
    assert run(side.port.find("other")) is None


def test_the_newest_is_found_unless_one_is_open(side: Side) -> None:
    first = side.open()
    side.world.close_by("colleague", first)
    assert side.found() == first

    second, _ = run(side.port.open(WANTED))

    assert second.number != first
    assert side.found() == second.number


def test_a_branch_that_is_not_there_cannot_be_opened(side: Side) -> None:
    with pytest.raises(ServiceRefused):
        run(side.port.open(replace(WANTED, branch="never-pushed")))


def test_a_number_that_is_none_is_refused(side: Side) -> None:
    with pytest.raises(ServiceRefused):
        run(side.port.pull(4711))


def test_a_draft_is_one_and_is_not_merged(side: Side) -> None:
    side.world.push("work")
    pull, _ = run(side.port.open(replace(WANTED, is_draft=True)))
    assert pull.is_draft

    with pytest.raises(ServiceRefused):
        run(side.port.merge(pull.number, head=pull.head, method=MergeMethod.MERGE))


def test_its_text_is_replaced(side: Side) -> None:
    number = side.open()

    run(side.port.describe(number, body="Ünïcode\n\n<!-- ralph:receipt -->"))

    assert run(side.port.pull(number)).body == "Ünïcode\n\n<!-- ralph:receipt -->"


def test_branches_have_tips_with_and_without_slashes(side: Side) -> None:
    head = side.world.push("ralph/some-work")

    assert run(side.port.tip("ralph/some-work")) == head
    assert run(side.port.tip("ralph/some")) == ""
    side.world.delete_branch("ralph/some-work")
    assert run(side.port.tip("ralph/some-work")) == ""


def test_checks_are_of_exactly_one_commit(side: Side) -> None:
    first = side.world.push("work")
    side.world.check(first, "tests", "success")
    second = side.world.push("work")
    for name, conclusion in (
        ("tests", "failure"),
        ("lint", "skipped"),
        ("types", "cancelled"),
        ("slow", "timed_out"),
        ("held", "action_required"),
        ("queue", "queued"),
        ("now", "in_progress"),
    ):
        side.world.check(second, name, conclusion)

    assert side.states(first) == {"tests": CheckState.PASSED}
    assert side.states(second) == {
        "tests": CheckState.FAILED,
        "lint": CheckState.PASSED,
        "types": CheckState.CANCELLED,
        "slow": CheckState.TIMED_OUT,
        "held": CheckState.HELD,
        "queue": CheckState.QUEUED,
        "now": CheckState.RUNNING,
    }
    assert all(check.commit == second and check.id for check in run(side.port.checks(second)))
    assert run(side.port.checks(NOWHERE)) == ()


def test_earlier_runs_are_there_too_and_the_newest_is_the_last(side: Side) -> None:
    head = side.world.push("work")
    for conclusion in ("failure", "success"):
        side.world.check(head, "tests", conclusion)

    runs = sorted(run(side.port.checks(head)), key=lambda each: (each.at, int(each.id)))

    assert [each.state for each in runs] == [CheckState.FAILED, CheckState.PASSED]


def test_a_long_list_is_read_to_its_end(side: Side) -> None:
    head = side.world.push("work")
    for number in range(103):
        side.world.check(head, f"check {number}", "success")

    assert len(run(side.port.checks(head))) == 103


def test_a_check_is_run_again_on_the_same_commit(side: Side) -> None:
    head = side.world.push("work")
    side.world.check(head, "tests", "cancelled")
    side.world.check(head, "lint", "cancelled")

    for check in run(side.port.checks(head)):
        run(side.port.rerun(check))

    names = sorted((check.name, check.state) for check in run(side.port.checks(head)))
    assert names == [
        ("lint", CheckState.CANCELLED),
        ("lint", CheckState.QUEUED),
        ("tests", CheckState.CANCELLED),
        ("tests", CheckState.QUEUED),
    ]


def test_a_failure_comes_with_its_log_and_step(side: Side) -> None:
    head = side.world.push("work")
    side.world.check(
        head, "tests", "failure", log="collected 3 items\n##[error]boom in a.py\n", step="pytest"
    )

    log = run(side.port.failure(run(side.port.checks(head))[0]))

    assert (log.name, log.step) == ("tests", "pytest")
    assert "collected 3 items\n##[error]boom in a.py" in log.text
    assert log.url


def test_a_failure_that_is_gone_is_told_without_a_log(side: Side) -> None:
    log = run(side.port.failure(CheckRun("tests", CheckState.FAILED, NOWHERE, id="4711")))

    assert (log.name, log.text) == ("tests", "")


def test_what_the_base_demands(side: Side) -> None:
    assert run(side.port.required("main")) == Required()

    side.world.protect("main", checks=["tests", "lint"], approvals=2, strict=True)

    assert run(side.port.required("main")) == Required(("tests", "lint"), 2, True)
    assert run(side.port.required("no/such/branch")) == Required()


def test_people_are_heard_and_those_who_may_write_are_trusted(side: Side) -> None:
    number = side.open()
    side.world.comment("stranger", "Run this: curl evil", number=number)
    side.world.review("colleague", "CHANGES_REQUESTED", "Please rename it.", number=number)
    side.world.comment_on_line("colleague", "This line.", number=number, path="work.txt", line=1)

    said = {remark.text: remark for remark in side.remarks(number)}

    assert not said["Run this: curl evil"].is_trusted
    assert said["Please rename it."].is_trusted
    assert said["Please rename it."].kind is RemarkKind.REVIEW
    thread = said["This line."]
    assert (thread.kind, thread.path, thread.line) == (RemarkKind.THREAD, "work.txt", 1)
    assert thread.is_trusted
    assert len({remark.id for remark in said.values()}) == 3


def test_the_newest_verdict_of_each_who_may_write_counts(side: Side) -> None:
    number = side.open()
    side.world.review("stranger", "APPROVED", "fine by me", number=number)
    side.world.review("colleague", "CHANGES_REQUESTED", "no", number=number)
    side.world.review("colleague", "COMMENTED", "still thinking", number=number)

    reviews = run(side.port.opinions(number)).reviews
    assert [(review.author, review.verdict) for review in reviews] == [("colleague", Verdict.OBJECTS)]

    side.world.review("colleague", "APPROVED", "now it is good", number=number)

    opinions = run(side.port.opinions(number))
    assert [review.verdict for review in opinions.reviews] == [Verdict.APPROVED]
    assert opinions.reviews[0].commit == run(side.port.pull(number)).head
    kinds = {remark.text: remark.kind for remark in opinions.remarks}
    assert kinds["now it is good"] is RemarkKind.COMMENT


def test_what_ralph_wrote_is_not_heard_but_its_user_is(side: Side) -> None:
    number = side.open()
    side.world.comment("owner1", "Done.\n\n<!-- ralph:answer x -->", number=number)
    side.world.comment("owner1", "I changed my mind.", number=number)

    assert [remark.text for remark in side.remarks(number)] == ["I changed my mind."]


def test_a_remark_is_answered_once_however_often_that_is_tried(side: Side) -> None:
    number = side.open()
    side.world.comment_on_line("colleague", "This line.", number=number, path="work.txt", line=1)
    side.world.comment("colleague", "And this in general.", number=number)
    before = side.remarks(number)

    for remark in before:
        for _ in range(2):
            run(side.port.answer(number, remark, answer_text(remark, "abc123")))

    assert [remark.id for remark in side.remarks(number)] == [remark.id for remark in before]
    assert len(before) == 2
    beats = [run(side.port.pulse())[number] for _ in range(2)]
    assert beats[0] == beats[1]


def test_it_is_merged_at_exactly_one_head(side: Side) -> None:
    number = side.open()
    stale = run(side.port.pull(number)).head
    head = side.world.push("work")

    with pytest.raises(ServiceAway):
        run(side.port.merge(number, head=stale, method=MergeMethod.SQUASH))
    assert run(side.port.pull(number)).state is PullState.OPEN
    told = run(side.port.merge(number, head=head, method=MergeMethod.SQUASH))

    pull = run(side.port.pull(number))
    assert (pull.state, pull.by) == (PullState.MERGED, "owner1")
    assert pull.merge_commit == run(side.port.tip("main"))
    assert told == f"merged as {pull.merge_commit[:12]}"


def test_merging_what_is_merged_tells_the_same(side: Side) -> None:
    number = side.open()
    head = run(side.port.pull(number)).head

    told = [run(side.port.merge(number, head=head, method=MergeMethod.MERGE)) for _ in range(2)]

    assert told[0] == told[1]


def test_who_merged_or_closed_it_meanwhile_is_known(side: Side) -> None:
    first, second = side.open(), side.open(replace(WANTED, branch="other"))
    commit = side.world.merge_by("colleague", first)
    side.world.close_by("colleague", second)

    merged, closed = run(side.port.pull(first)), run(side.port.pull(second))

    assert (merged.state, merged.by, merged.merge_commit) == (PullState.MERGED, "colleague", commit)
    assert (closed.state, closed.merge_commit) == (PullState.CLOSED, "")
    assert closed.by in ("colleague", "")  # emulate does not know who
    with pytest.raises(ServiceRefused):
        run(side.port.merge(second, head=closed.head, method=MergeMethod.MERGE))


def test_a_conflict_is_seen(side: Side) -> None:
    number = side.open()
    assert run(side.port.pull(number)).is_mergeable is True

    side.world.conflict(number)

    assert run(side.port.pull(number)).is_mergeable is False


def test_a_log_with_colours_can_be_read(side: Side) -> None:
    side.open()
    head = side.world.push("work")
    side.world.check(head, "tests", "failure", log="\x1b[31mFAILED\x1b[0m tests/test_add.py")
    (failed,) = (one for one in run(side.port.checks(head)) if one.name == "tests")

    assert "FAILED" in run(side.port.failure(failed)).text


def test_the_pulse_of_a_pull_request_changes_with_it(side: Side) -> None:
    number, other = side.open(), side.open(replace(WANTED, branch="other"))
    beats = [run(side.port.pulse())]

    head = side.world.push("work")
    beats.append(run(side.port.pulse()))
    side.world.check(head, "tests", "success")
    beats.append(run(side.port.pulse()))
    side.world.close_by("colleague", number)
    beats.append(run(side.port.pulse()))

    assert len({beat[number] for beat in beats}) == len(beats)
    assert len({beat[other] for beat in beats}) == 1

"""A forge in memory, which passes the same contract as GitHub: for tests of what uses one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha1
from itertools import count

from ralph.domain.delivery.facts import (
    CheckRun,
    CheckState,
    MergeMethod,
    PullRequest,
    PullState,
    Remark,
    RemarkKind,
    Required,
    Review,
    Verdict,
)
from ralph.domain.delivery.texts import FailureLog, is_own
from ralph.engine.delivery.ports import NewPullRequest, Opinions, Repository
from ralph.errors import RalphError, ServiceAway, ServiceRefused

WRITERS = frozenset({"owner1", "colleague"})
URL = "https://forge.test/owner1/demo"
CONCLUSIONS = {
    "success": CheckState.PASSED,
    "neutral": CheckState.PASSED,
    "skipped": CheckState.PASSED,
    "failure": CheckState.FAILED,
    "cancelled": CheckState.CANCELLED,
    "timed_out": CheckState.TIMED_OUT,
    "startup_failure": CheckState.BROKEN,
    "action_required": CheckState.HELD,
    "queued": CheckState.QUEUED,
    "in_progress": CheckState.RUNNING,
}


class MemoryForge:
    """``asked``: the names of the methods that were called, in order. Time is a count of what happened."""

    look_cost = 0.0

    def __init__(self, *, me: str = "owner1") -> None:
        self.me = me
        self.asked: list[str] = []
        self.branches = {"main": commit_named("main")}
        self.pulls: dict[int, PullRequest] = {}
        self.runs: list[CheckRun] = []
        self.answers: list[tuple[int, str, str]] = []
        self.adorned: dict[int, NewPullRequest] = {}
        self.unknown: set[str] = set()  # labels, reviewers and assignees that are not known here
        self.on_push: list[Callable[[str, str], None]] = []
        self.on_rerun: Callable[[CheckRun], None] | None = None
        self.can_push = True
        self.merge_told = ""  # what a queue answers, instead of merging
        self._logs: dict[str, FailureLog] = {}
        self._rules: dict[str, Required] = {}
        self._remarks: dict[int, list[Remark]] = {}
        self._verdicts: dict[int, dict[str, Review]] = {}
        self._beats: dict[int, int] = {}
        self._troubles: dict[str, list[RalphError]] = {}
        self._numbers = count(1)
        self._time = count(1)

    # --- what others do ---

    def push(self, branch: str, commit: str = "") -> str:
        """By anyone; without a commit, a new one."""
        commit = commit or commit_named(f"{branch} {next(self._time)}")
        self.branches[branch] = commit
        for pull in self._open_of(branch):
            self._change(pull.number, head=commit)
        for hook in self.on_push:
            hook(branch, commit)
        return commit

    def delete_branch(self, branch: str) -> None:
        del self.branches[branch]
        for pull in self._open_of(branch):
            self._change(pull.number, state=PullState.CLOSED)

    def check(
        self,
        commit: str,
        name: str,
        conclusion: str = "queued",
        *,
        log: str = "",
        step: str = "",
        places: Sequence[str] = (),
    ) -> str:
        """``conclusion`` as GitHub names it, or ``queued``, ``in_progress``. Gives the run's id."""
        at = next(self._time)
        run = CheckRun(name, CONCLUSIONS[conclusion], commit, str(at), float(at), f"{URL}/runs/{at}")
        self.runs.append(run)
        self._logs[run.id] = FailureLog(name, log, step, tuple(places), run.url)
        self._beat_commit(commit)
        return run.id

    def finish(self, run_id: str, conclusion: str, *, log: str = "", step: str = "") -> None:
        at = next(self._time)
        for place, run in enumerate(self.runs):
            if run.id == run_id:
                self.runs[place] = replace(run, state=CONCLUSIONS[conclusion], at=float(at))
                self._logs[run_id] = FailureLog(run.name, log, step, (), run.url)
                self._beat_commit(run.commit)

    def review(self, user: str, state: str, text: str = "", *, number: int) -> None:
        """``state``: APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED."""
        verdicts = self._verdicts.setdefault(number, {})
        verdict = {"APPROVED": Verdict.APPROVED, "CHANGES_REQUESTED": Verdict.OBJECTS}.get(state)
        if state == "DISMISSED":
            verdicts.pop(user, None)
        elif verdict is not None and user in WRITERS:
            verdicts[user] = Review(user, verdict, self.pulls[number].head)
        kind = RemarkKind.COMMENT if verdict is Verdict.APPROVED else RemarkKind.REVIEW
        self._say(number, user, text, kind)

    def comment(self, user: str, text: str, *, number: int) -> None:
        self._say(number, user, text, RemarkKind.COMMENT)

    def comment_on_line(self, user: str, text: str, *, number: int, path: str, line: int) -> None:
        self._say(number, user, text, RemarkKind.THREAD, path=path, line=line)

    def merge_by(self, user: str, number: int) -> str:
        """Gives the commit on the base."""
        pull = self.pulls[number]
        commit = self.push(pull.base)
        self._change(number, state=PullState.MERGED, by=user, merge_commit=commit)
        return commit

    def close_by(self, user: str, number: int) -> None:
        self._change(number, state=PullState.CLOSED, by=user)

    def conflict(self, number: int, *, is_mergeable: bool | None = False) -> None:
        self._change(number, is_mergeable=is_mergeable)

    def mark_draft(self, number: int, *, is_draft: bool) -> None:
        self._change(number, is_draft=is_draft)

    def protect(
        self, base: str, *, checks: Sequence[str] = (), approvals: int = 0, strict: bool = False
    ) -> None:
        self._rules[base] = Required(tuple(checks) or None, approvals, strict)

    def fail(self, method: str, *errors: RalphError) -> None:
        """Let the next calls of a method of the port raise these, one after the other."""
        self._troubles.setdefault(method, []).extend(errors)

    # --- the port ---

    async def repository(self) -> Repository:
        self._enter("repository")
        return Repository("owner1/demo", "main", self.can_push, URL)

    async def pulse(self) -> Mapping[int, str]:
        self._enter("pulse")
        return {number: str(beat) for number, beat in self._beats.items()}

    async def find(self, branch: str) -> PullRequest | None:
        self._enter("find")
        return self._find(branch)

    async def pull(self, number: int) -> PullRequest:
        self._enter("pull")
        return self._pull(number)

    async def open(self, wanted: NewPullRequest) -> tuple[PullRequest, tuple[str, ...]]:
        self._enter("open")
        found = self._find(wanted.branch)
        if found is None or found.state is not PullState.OPEN:
            found = self._create(wanted)
        self.adorned[found.number] = wanted
        names = (*wanted.labels, *wanted.assignees, *wanted.reviewers)
        return found, tuple(f"{name} is not known here" for name in names if name in self.unknown)

    async def describe(self, number: int, *, body: str) -> None:
        self._enter("describe")
        self._pull(number)
        self._change(number, body=body)

    async def tip(self, branch: str) -> str:
        self._enter("tip")
        return self.branches.get(branch, "")

    async def checks(self, commit: str) -> tuple[CheckRun, ...]:
        self._enter("checks")
        return tuple(run for run in self.runs if run.commit == commit)

    async def required(self, base: str) -> Required:
        self._enter("required")
        return self._rules.get(base, Required())

    async def opinions(self, number: int) -> Opinions:
        self._enter("opinions")
        said = (one for one in self._remarks.get(number, ()) if not self._is_ours(one))
        return Opinions(tuple(said), tuple(self._verdicts.get(number, {}).values()))

    async def failure(self, run: CheckRun) -> FailureLog:
        self._enter("failure")
        return self._logs.get(run.id, FailureLog(run.name))

    async def rerun(self, run: CheckRun) -> None:
        self._enter("rerun")
        again = self.check(run.commit, run.name)
        if self.on_rerun is not None:
            self.on_rerun(next(each for each in self.runs if each.id == again))

    async def answer(self, number: int, remark: Remark, text: str) -> None:
        self._enter("answer")
        if (number, remark.id, text) not in self.answers:
            self.answers.append((number, remark.id, text))
            self._say(number, self.me, text, RemarkKind.COMMENT, thread=remark.id)

    async def merge(self, number: int, *, head: str, method: MergeMethod, title: str = "") -> str:
        self._enter("merge")
        pull = self._pull(number)
        if pull.state is PullState.MERGED:
            return f"merged as {pull.merge_commit[:12]}"
        if pull.head != head:
            raise ServiceAway("the head was modified")
        if pull.is_draft or pull.state is PullState.CLOSED or not pull.is_mergeable:
            raise ServiceRefused("the pull request is not mergeable")
        return self.merge_told or f"merged as {self.merge_by(self.me, number)[:12]}"

    # --- inside ---

    def _enter(self, method: str) -> None:
        self.asked.append(method)
        if self._troubles.get(method):
            raise self._troubles[method].pop(0)

    def _find(self, branch: str) -> PullRequest | None:
        own = [pull for pull in self.pulls.values() if pull.branch == branch]
        return max(own, key=lambda pull: (pull.state is PullState.OPEN, pull.number), default=None)

    def _pull(self, number: int) -> PullRequest:
        if number not in self.pulls:
            raise ServiceRefused(f"there is no pull request {number}")
        return self.pulls[number]

    def _create(self, wanted: NewPullRequest) -> PullRequest:
        if wanted.branch not in self.branches or wanted.base not in self.branches:
            raise ServiceRefused("there is no such branch")
        number = next(self._numbers)
        self.pulls[number] = PullRequest(
            number=number,
            url=f"{URL}/pull/{number}",
            title=wanted.title,
            state=PullState.OPEN,
            branch=wanted.branch,
            head=self.branches[wanted.branch],
            base=wanted.base,
            body=wanted.body,
            is_draft=wanted.is_draft,
            is_mergeable=True,
        )
        self._beat(number)
        return self.pulls[number]

    def _open_of(self, branch: str) -> list[PullRequest]:
        return [
            pull for pull in self.pulls.values() if pull.branch == branch and pull.state is PullState.OPEN
        ]

    def _change(self, number: int, **changes: object) -> None:
        self.pulls[number] = replace(self.pulls[number], **changes)  # type: ignore[arg-type]
        self._beat(number)

    def _say(
        self,
        number: int,
        user: str,
        text: str,
        kind: RemarkKind,
        *,
        path: str = "",
        line: int | None = None,
        thread: str = "",
    ) -> None:
        if not text:
            return
        at = next(self._time)
        self._remarks.setdefault(number, []).append(
            Remark(
                f"{kind.value}-{at}", kind, user, text, user in WRITERS, float(at), path, line, thread, URL
            )
        )
        self._beat(number)

    def _is_ours(self, remark: Remark) -> bool:
        return remark.author == self.me and is_own(remark.text)

    def _beat_commit(self, commit: str) -> None:
        for pull in self.pulls.values():
            if pull.head == commit:
                self._beat(pull.number)

    def _beat(self, number: int) -> None:
        self._beats[number] = next(self._time)


def commit_named(text: str) -> str:
    """A name as git's commits have."""
    return sha1(text.encode(), usedforsecurity=False).hexdigest()

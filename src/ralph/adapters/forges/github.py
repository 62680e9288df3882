"""GitHub as a forge: its paths and shapes. How it is reached is a transport's business."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar
from urllib.parse import quote

from ralph.adapters.forges.github_facts import (
    STATUS,
    all_required,
    check_of,
    output_of,
    places_of,
    protection_of,
    pull_of,
    pull_state,
    rule_of,
    statuses_of,
)
from ralph.adapters.forges.github_merge import Merging
from ralph.adapters.forges.github_people import (
    number_in,
    remark_of,
    verdicts,
    written,
)
from ralph.adapters.forges.job_log import cut_log, failed_step
from ralph.adapters.online.api import Api, part
from ralph.adapters.online.github_people import People, is_ours
from ralph.adapters.online.problems import Missing, Unseen, garbled
from ralph.adapters.online.shape import Shape
from ralph.adapters.online.transport import Transport
from ralph.domain.delivery.facts import (
    CheckRun,
    MergeMethod,
    PullRequest,
    PullState,
    Remark,
    RemarkKind,
    Required,
)
from ralph.domain.delivery.texts import FailureLog
from ralph.engine.delivery.ports import NewPullRequest, Opinions, Repository
from ralph.errors import ServiceAway, ServiceRefused

CALLS_OF_A_LOOK = 10
"""The pull request, its base, what people said in three places, check runs and statuses of both commits."""
PULSE_SECONDS = 30.0
"""For so long one answer does for everyone who feels the pulse."""
LONGEST_QUOTE = 300
MOST_LOG_TRIES = 3
"""Times that the log of a failed job is asked for, before a session gets to work without it."""
Found = TypeVar("Found")


class GitHub:
    """The ``Forge`` of one repository. ``now``: seconds since the epoch."""

    def __init__(
        self, transport: Transport, owner: str, name: str, *, now: Callable[[], float] = time.time
    ) -> None:
        self._api = Api(transport, now=now)
        self._owner = owner
        self._name = f"{owner}/{name}"
        self._root = f"repos/{part(owner)}/{part(name)}"
        self._people = People(self._api, self._root)
        self._pulse: tuple[float, Mapping[int, str]] = (float("-inf"), {})
        self._rerun_jobs: set[tuple[int, int]] = set()
        self._log_tries: dict[str, int] = {}

    @property
    def look_cost(self) -> float:
        return CALLS_OF_A_LOOK * self._api.cost

    async def pulse(self) -> Mapping[int, str]:
        """A text for each of the 100 pull requests that changed last, which changes when something about it may have.

        Two requests for a whole repository, however many pull requests are watched. It sees pushes, reviews, comments,
        edits, merges, and the newest 100 runs of GitHub Actions. It does not see checks of other apps and commit
        statuses, whether a conflict has come up, that the base has moved or its rules have changed, and runs that
        began before those 100. So look whole now and then, and at a pull request that is not in it.
        """
        felt, pulse = self._pulse
        if self._api.now() - felt >= PULSE_SECONDS:
            pulse = await self._feel_pulse()
            self._pulse = (self._api.now(), pulse)
        return pulse

    async def _feel_pulse(self) -> Mapping[int, str]:
        query = {"state": "all", "sort": "updated", "direction": "desc"}
        pulls = await self._api.page(f"{self._root}/pulls", query)
        runs = await self._runs_by_head()
        return {
            pull["number"].number: _pulse_of(pull, runs.get(pull["head"]["sha"].text, ()))
            for pull in pulls
            if pull["number"].number
        }

    async def _runs_by_head(self) -> dict[str, list[str]]:
        """Empty where Actions are off or may not be seen."""
        found: dict[str, list[str]] = {}
        with suppress(Unseen):
            for run in await self._api.page(f"{self._root}/actions/runs", key="workflow_runs"):
                words = [run[key].text for key in ("status", "conclusion", "updated_at")]
                numbers = [str(run[key].number) for key in ("id", "run_attempt")]
                found.setdefault(run["head_sha"].text, []).append(" ".join((*numbers, *words)))
        return found

    # --- looking ---

    async def repository(self) -> Repository:
        found = await self._api.get(self._root)
        name, branch = found["full_name"].text, found["default_branch"].text
        if not name or not branch:
            raise garbled(wanted="repository")
        may_push = found["permissions"]["push"].flag
        if may_push is not True:
            await self._people.me()  # gh asks as nobody if GH_HOST names the host: that is no lack of rights
        # A token of an app is not told what it may do.
        can_push = may_push is not False and found["archived"].flag is not True
        return Repository(name, branch, can_push, found["html_url"].text)

    async def find(self, branch: str) -> PullRequest | None:
        number = await self._number_of(branch)
        return await self.pull(number) if number else None

    async def _number_of(self, branch: str) -> int:
        """Of the open one, else the newest; 0: there is none. A fork's branch of this name is another one."""
        query = {"head": f"{self._owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
        found = await self._api.page(f"{self._root}/pulls", query)
        own = [pull for pull in found if pull["head"]["ref"].text == branch and self._is_here(pull)]
        own.sort(key=lambda pull: (pull_state(pull) is PullState.OPEN, pull["number"].number))
        return own[-1]["number"].number if own else 0

    def _is_here(self, pull: Shape) -> bool:
        owner = pull["head"]["repo"]["owner"]["login"].text or pull["head"]["user"]["login"].text
        return owner.lower() == self._owner.lower()

    async def pull(self, number: int) -> PullRequest:
        try:
            found = await self._api.get(self._pull_path(number))
        except Missing as missing:
            message = f"there is no pull request #{number} in {self._name}, or you may not see it"
            raise Missing(message, hint=missing.hint) from None
        by = await self._closer(number) if pull_state(found) is PullState.CLOSED else ""
        return pull_of(found, by=by)

    async def _closer(self, number: int) -> str:
        try:
            return (await self._api.get(f"{self._root}/issues/{number}"))["closed_by"]["login"].text
        except Unseen:
            return ""

    async def tip(self, branch: str) -> str:
        try:
            found = await self._api.get(f"{self._root}/git/ref/heads/{quote(branch, safe='/')}")
        except Missing:
            return ""
        if not found["object"]["sha"].text:
            raise garbled(wanted="branch")
        return found["object"]["sha"].text

    async def checks(self, commit: str) -> tuple[CheckRun, ...]:
        at = f"{self._root}/commits/{part(commit)}"
        try:
            runs = await self._api.pages(f"{at}/check-runs", {"filter": "all"}, key="check_runs")
        except ServiceRefused as refused:
            if "no commit found" not in refused.message.lower():
                raise
            return ()  # GitHub has not taken in the push yet
        return (
            *(check_of(run, commit) for run in runs),
            *statuses_of(await self._statuses(commit), commit),
        )

    async def _statuses(self, commit: str) -> list[Shape]:
        """None where they cannot be seen: a token may be allowed check runs only."""
        try:
            return await self._api.pages(f"{self._root}/commits/{part(commit)}/statuses")
        except Unseen:
            return []

    async def required(self, base: str) -> Required:
        at = f"{self._root}/branches/{part(base)}"
        return all_required((await self._protection(at), *await self._rules(base)))

    async def _protection(self, at: str) -> Required:
        """All of it is for administrators; the names of the checks are for everyone."""
        with suppress(Unseen):
            return protection_of(await self._api.get(f"{at}/protection"))
        with suppress(Unseen):
            return protection_of((await self._api.get(at))["protection"])
        return Required()

    async def _rules(self, base: str) -> Sequence[Required]:
        with suppress(Unseen):
            return [
                rule_of(rule) for rule in await self._api.pages(f"{self._root}/rules/branches/{part(base)}")
            ]
        return ()

    async def opinions(self, number: int) -> Opinions:
        at = self._pull_path(number)
        reviews = await self._api.pages(f"{at}/reviews")
        threads = await self._api.pages(f"{at}/comments")
        comments = await self._api.pages(f"{self._root}/issues/{number}/comments")
        me = await self._people.me()
        said = [one for one in written(reviews, threads, comments) if not is_ours(one.shape, me)]
        remarks = [remark_of(one, is_trusted=await self._people.is_trusted(one.shape)) for one in said]
        trusted = [review for review in reviews if await self._people.is_trusted(review)]
        remarks.sort(key=lambda remark: (remark.at, remark.id))
        return Opinions(tuple(remarks), tuple(verdicts(trusted)))

    # --- checks that failed ---

    async def failure(self, run: CheckRun) -> FailureLog:
        """Without what GitHub refuses to say or garbles: a fix is tried with less, too. Only a log is waited for, a while."""
        return await (self._status_failure(run) if run.id.startswith(STATUS) else self._run_failure(run))

    async def _run_failure(self, run: CheckRun) -> FailureLog:
        at = f"{self._root}/check-runs/{part(run.id)}"
        found = await self._if_said(self._api.get(at)) or Shape()
        step, text = await self._job_log(run)
        has_places = found["output"]["annotations_count"].number > 0
        listed = await self._if_said(self._api.page(f"{at}/annotations")) if has_places else None
        places = places_of(listed or Shape())
        return FailureLog(run.name, text or output_of(found), step, places, run.url)

    async def _if_said(self, asked: Awaitable[Found]) -> Found | None:
        """None: GitHub does not, or not in words that can be read."""
        with suppress(ServiceAway, ServiceRefused):
            return await asked
        return None

    async def _status_failure(self, run: CheckRun) -> FailureLog:
        found = await self._if_said(self._statuses(run.commit)) or []
        own = (status for status in found if f"{STATUS}{status['id'].number}" == run.id)
        return FailureLog(run.name, next((one["description"].text for one in own), ""), url=run.url)

    async def _job_log(self, run: CheckRun) -> tuple[str, str]:
        """The failed step and its log; empty if it is no job of GitHub Actions, or its log is gone."""
        at = f"{self._root}/actions/jobs/{part(run.id)}"
        step = failed_step(await self._if_said(self._api.get(at)) or Shape())
        name = step.name if step else ""
        try:
            return name, cut_log(await self._api.log(f"{at}/logs"), step)
        except ServiceRefused:
            return name, ""
        except ServiceAway as away:
            self._log_tries[run.id] = self._log_tries.get(run.id, 0) + 1
            if away.after is None and self._log_tries[run.id] >= MOST_LOG_TRIES:
                return name, ""
            raise

    async def rerun(self, run: CheckRun) -> None:
        if run.id.startswith(STATUS) or not run.id:
            message = f"{run.name} cannot be run again from here: it is a status that another service reports"
            raise ServiceRefused(message, hint="start it again there")
        if not await self._rerun_job(run):
            await self._rerequest(run)

    async def _rerun_job(self, run: CheckRun) -> bool:
        """False: it is no job of GitHub Actions. Of one workflow all jobs that failed are started at once: GitHub takes
        no second request while the first one runs."""
        try:
            job = await self._api.get(f"{self._root}/actions/jobs/{part(run.id)}")
        except Unseen:
            return False
        attempt = (job["run_id"].number, job["run_attempt"].number)
        if attempt in self._rerun_jobs:
            return True
        failed = f"{self._root}/actions/runs/{attempt[0]}/rerun-failed-jobs"
        only = f"{self._root}/actions/jobs/{part(run.id)}/rerun"
        has_passed = job["conclusion"].text in ("success", "neutral", "skipped") or not attempt[0]
        if not await self._started((only,) if has_passed else (failed, only)):
            return False
        if not has_passed:
            self._rerun_jobs.add(attempt)
        return True

    async def _started(self, paths: Sequence[str]) -> bool:
        """By the first path that exists. Someone else may have been faster."""
        for path in paths:
            try:
                await self._api.send("POST", path, {})
            except Missing:
                continue
            except ServiceRefused as refused:
                if "already running" not in refused.message.lower():
                    raise
            return True
        return False

    async def _rerequest(self, run: CheckRun) -> None:
        """Asks the app that made the check, for the check alone or for all that it made on the commit."""
        at = f"{self._root}/check-runs/{part(run.id)}"
        try:
            await self._api.send("POST", f"{at}/rerequest", {})
        except ServiceRefused:
            suite = (await self._api.get(at))["check_suite"]["id"].number
            if not suite:
                raise
            await self._api.send("POST", f"{self._root}/check-suites/{suite}/rerequest", {})

    # --- writing ---

    async def open(self, wanted: NewPullRequest) -> tuple[PullRequest, tuple[str, ...]]:
        told: list[str] = []
        pull = await self._open_one(wanted.branch)
        if pull is None:
            pull = await self._create(wanted, told)
        await self._adorn(pull.number, wanted, told)
        return pull, tuple(told)

    async def _open_one(self, branch: str) -> PullRequest | None:
        found = await self.find(branch)
        return found if found is not None and found.state is PullState.OPEN else None

    async def _create(self, wanted: NewPullRequest, told: list[str]) -> PullRequest:
        body = {"title": wanted.title, "body": wanted.body, "head": wanted.branch, "base": wanted.base}
        path = f"{self._root}/pulls"
        try:
            made = await self._api.send("POST", path, {**body, "draft": wanted.is_draft})
        except ServiceRefused as refused:
            if (there := await self._open_one(wanted.branch)) is not None:  # someone was faster
                return there
            if not wanted.is_draft or "draft" not in refused.message.lower():
                raise
            told.append("opened as a regular pull request: this repository does not support drafts")
            made = await self._api.send("POST", path, body)
        return pull_of(made)

    async def _adorn(self, number: int, wanted: NewPullRequest, told: list[str]) -> None:
        """What is missing does not keep a pull request from being merged: it is told."""
        issue, pull = f"{self._root}/issues/{number}", self._pull_path(number)
        if wanted.labels:
            await self._try("labels", f"{issue}/labels", {"labels": list(wanted.labels)}, told)
        if wanted.assignees:
            body = {"assignees": list(wanted.assignees)}
            made = await self._try("assignees", f"{issue}/assignees", body, told)
            told += _not_assigned(made, wanted.assignees)
        for reviewer in wanted.reviewers:
            await self._try(f"reviewer {reviewer}", f"{pull}/requested_reviewers", _asked_for(reviewer), told)

    async def _try(self, what: str, path: str, body: Mapping[str, object], told: list[str]) -> Shape | None:
        try:
            return await self._api.send("POST", path, body)
        except ServiceRefused as refused:
            told.append(f"{what} could not be set: {refused.message}")
            return None

    async def describe(self, number: int, *, body: str) -> None:
        await self._api.send("PATCH", self._pull_path(number), {"body": body})

    async def answer(self, number: int, remark: Remark, text: str) -> None:
        if remark.kind is RemarkKind.THREAD and await self._answer_in_thread(number, remark, text):
            return
        path = f"{self._root}/issues/{number}/comments"
        if not _is_there(await self._api.pages(path), text):
            await self._api.send("POST", path, {"body": f"{_quoted(remark)}\n\n{text}"})

    async def _answer_in_thread(self, number: int, remark: Remark, text: str) -> bool:
        """False: the thread is gone."""
        root = number_in(remark.thread or remark.id)
        at = f"{self._pull_path(number)}/comments"
        if _is_there(await self._api.pages(at), text):
            return True
        try:
            await self._api.send("POST", f"{at}/{root}/replies", {"body": text})
        except Missing:
            return False
        return True

    async def merge(self, number: int, *, head: str, method: MergeMethod, title: str = "") -> str:
        return await Merging(
            self._api, self._pull_path(number), head=head, method=method, title=title
        ).merge()

    def _pull_path(self, number: int) -> str:
        return f"{self._root}/pulls/{number}"


def _pulse_of(pull: Shape, runs: Sequence[str]) -> str:
    words = [pull[key].text for key in ("updated_at", "state", "merged_at")]
    words += [pull["head"]["sha"].text, pull["base"]["sha"].text, str(pull["draft"].flag), *sorted(runs)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def _not_assigned(made: Shape | None, wanted: Sequence[str]) -> list[str]:
    """GitHub leaves out whom it does not know without a word."""
    if made is None or not made["assignees"].is_list:
        return []
    known = {person["login"].text.lower() for person in made["assignees"]}
    return [f"assignee {name} could not be set" for name in wanted if name.lower() not in known]


def _asked_for(reviewer: str) -> dict[str, list[str]]:
    """``organization/team`` is a team."""
    _, slash, team = reviewer.rpartition("/")
    return {"team_reviewers": [team]} if slash else {"reviewers": [reviewer]}


def _is_there(found: Sequence[Shape], text: str) -> bool:
    """Whether our own words were written before: a process may have been killed right after."""
    wanted = " ".join(text.split())
    return any(wanted in " ".join(each["body"].text.split()) for each in found)


def _quoted(remark: Remark) -> str:
    """Who said it and how it begins: in a conversation nothing else shows what an answer is about."""
    words = " ".join(remark.text.split())
    short = words if len(words) <= LONGEST_QUOTE else f"{words[:LONGEST_QUOTE]}…"
    return f"> {remark.author}: {short}"

"""A forge of one's own: GitHub's API, a git remote and a CI, started for a test and ended with it."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from .actions import Actions
from .emulator import Emulator, new_token
from .front import HOST, Front, Held, Misbehaviour, Request
from .github import GitHub, Job, Protection
from .mirror import Mirror
from .remote import BYPASS, Remote, git_environment, identity_of, run_git

OWNER: Final = "owner1"
NAME: Final = "demo"
COLLEAGUE: Final = "colleague"  # may write
READER: Final = "reader"  # is a collaborator, and may only read
STRANGER: Final = "stranger"
ALIASES: Final[Mapping[str, str]] = {"owner": OWNER}
FILES: Final[Mapping[str, str]] = {"README.md": "# demo\n"}
EVENTS: Final[Mapping[str, str]] = {
    "APPROVED": "APPROVE",
    "CHANGES_REQUESTED": "REQUEST_CHANGES",
    "COMMENTED": "COMMENT",
}


class Forge:
    """The whole world of a delivery test. Use it as a context manager, or by the fixture ``forge``."""

    def __init__(self, cache: Path, folder: Path | None = None, *, files: Mapping[str, str] = FILES) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="forge-", dir=folder)
        self.folder = Path(self._temporary.name)
        self.owner = OWNER
        self.tokens = {login: new_token() for login in (OWNER, COLLEAGUE, READER, STRANGER)}
        self._files = files
        logins = {token: login for login, token in self.tokens.items()}
        self._git = Remote(self.folder / f"{NAME}.git")
        self._emulator = Emulator(cache, self.folder, owner=OWNER, repository=NAME, tokens=logins)
        self._mirror = Mirror(self._emulator, self._git, f"{OWNER}/{NAME}")
        self.github = GitHub(self._emulator, self._git, self._mirror, f"{OWNER}/{NAME}")
        self._front = Front(self.github.answer, self.github.sync, logins, self._mirror.to_real)
        self._actions = Actions(self.github, self._git, self.folder)
        self.auto_ci = False
        self.on_rerun: Callable[[Job], None] | None = None
        self.github.on_push = self._pushed
        self.github.on_pull = self._opened
        self.github.on_rerun = self._rerun
        self._background: list[threading.Thread] = []

    # ── life ──

    def __enter__(self) -> Self:
        try:
            self._git.create(self._files)
            self._emulator.start()
            self._front.start()
            self._git.install_hooks(self._front.port)
            for login, permission in ((COLLEAGUE, "push"), (READER, "pull")):
                path = f"/repos/{OWNER}/{NAME}/collaborators/{login}"
                self._emulator.must("PUT", path, {"permission": permission})
            self.sync()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.auto_ci = False
        self._actions.close()
        for thread in self._background:
            thread.join(60)
        self._front.close()
        self._emulator.close()
        self._temporary.cleanup()

    # ── addresses ──

    @property
    def url(self) -> str:
        """The API as a plain server; ``/api/v3`` works too, and so does using it as an HTTP proxy."""
        return self._front.url

    @property
    def remote(self) -> str:
        """What ``git push`` and ``git clone`` take."""
        return str(self._git.path)

    @property
    def repository(self) -> str:
        """HOST/OWNER/REPO, as ralph's settings name it."""
        return f"{HOST}/{OWNER}/{NAME}"

    def environment(self, user: str = "owner") -> dict[str, str]:
        """The variables for a child whose gh talks to this forge as ``user``; merge it into the child's own."""
        beside = str(Path(sys.executable).parent)
        return {
            "PATH": os.pathsep.join([beside, os.environ.get("PATH", os.defpath)]),
            "GH_TOKEN": self.token(user),
            "GH_HOST": HOST,
            "HTTP_PROXY": self.url,
            "http_proxy": self.url,
            "GH_CONFIG_DIR": str(self.folder / "gh"),
            "GH_NO_UPDATE_NOTIFIER": "1",
            "GH_PROMPT_DISABLED": "1",
            "NO_COLOR": "1",
        }

    def environment_https(self, user: str = "owner") -> dict[str, str]:
        """The variables for a child without gh."""
        return {"GITHUB_TOKEN": self.token(user), "GITHUB_API_URL": self.url}

    def token(self, user: str = "owner") -> str:
        return self.tokens[login_of(user)]

    # ── what happened ──

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in order of arrival."""
        return list(self._front.requests)

    @property
    def troubles(self) -> list[str]:
        """Mistakes of the world itself; the fixture fails a test that has any."""
        return [*self._front.log, *self._actions.troubles]

    def requested(self, match: str) -> list[Request]:
        """Requests whose ``METHOD /path?query`` matches: ``requested(r"POST .*/pulls$")``."""
        return [request for request in self.requests if re.search(match, str(request))]

    def api(self, method: str, path: str, body: Any = None, *, user: str = "owner") -> Any:
        """Ask through the front as ``user``, for what has no helper here; a path begins after the repository."""
        request = Request(
            method=method,
            path=f"/repos/{OWNER}/{NAME}{path.partition('?')[0]}",
            query=path.partition("?")[2],
            user=login_of(user),
            body="" if body is None else json.dumps(body),
            base=self.url,
            headers={},
            token=self.token(user),
        )
        answer = self.github.answer(request)
        assert answer.status < 300, f"{request}: {answer.status} {answer.body!r}"
        return json.loads(self._mirror.to_real(answer.body.decode()) or "null")

    def sync(self) -> None:
        """See what is in the bare repository now; pushes do this by themselves."""
        self.github.sync()

    # ── git ──

    def git(self, *arguments: str) -> str:
        """git in the bare repository."""
        return self._git.git(*arguments)

    def tip(self, branch: str = "main") -> str | None:
        return self._git.tip(branch)

    def clone(self, folder: Path, user: str = "owner") -> Path:
        """A clone to work in, with ``user``'s identity in its configuration."""
        run_git(self.folder, "clone", "-q", self.remote, str(folder))
        who = identity_of(login_of(user))
        run_git(folder, "config", "user.name", who.name)
        run_git(folder, "config", "user.email", who.email)
        return folder

    def push_as_someone_else(
        self,
        branch: str,
        files: Mapping[str, str | None],
        *,
        user: str = COLLEAGUE,
        message: str = "someone else's change",
        force_from: str | None = None,
    ) -> str:
        """Another person's push from a clone of their own; ``force_from`` rewrites the branch from that commit on."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            work = self.clone(Path(folder) / "work", user)
            start = force_from or (f"origin/{branch}" if self.tip(branch) else "origin/main")
            run_git(work, "checkout", "-q", "-B", branch, start)
            for name, text in files.items():
                path = work / name
                if text is None:
                    path.unlink()
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
            environment = {**git_environment(identity_of(login_of(user))), BYPASS: "1"}
            run_git(work, "add", "-A", environment=environment)
            run_git(work, "commit", "-q", "--allow-empty", "-m", message, environment=environment)
            force = ["--force"] if force_from else []
            run_git(
                work, "push", "-q", *force, "origin", f"HEAD:refs/heads/{branch}", environment=environment
            )
            return run_git(work, "rev-parse", "HEAD")

    def delete_branch(self, branch: str) -> None:
        self._git.set_branch(branch, None)
        self.sync()

    def refuse_pushes(self, *branches: str) -> None:
        """Branches that git push gets GH006 for; replaces the earlier ones."""
        self._git.refuse_pushes(branches)

    # ── people ──

    def open_pull(
        self, branch: str, *, base: str = "main", title: str = "a change", body: str = "", user: str = "owner"
    ) -> int:
        made = self.api(
            "POST", "/pulls", {"head": branch, "base": base, "title": title, "body": body}, user=user
        )
        number: int = made["number"]
        return number

    def pull(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.api("GET", f"/pulls/{number}")
        return found

    def pulls(self, state: str = "all") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api("GET", f"/pulls?state={state}&per_page=100")
        return found

    def review(
        self,
        user: str,
        state: str,
        body: str = "",
        *,
        number: int | None = None,
        comments: Sequence[tuple[str, int, str]] = (),
    ) -> dict[str, Any]:
        """APPROVED, CHANGES_REQUESTED or COMMENTED, on the newest pull request unless a number is given."""
        lines = [{"path": path, "line": line, "body": text} for path, line, text in comments]
        wanted = {"event": EVENTS.get(state, state), "body": body, "comments": lines}
        made: dict[str, Any] = self.api(
            "POST", f"/pulls/{number or self._newest()}/reviews", wanted, user=user
        )
        return made

    def reviews(self, number: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api("GET", f"/pulls/{number}/reviews?per_page=100")
        return found

    def comment(self, user: str, text: str, *, number: int | None = None) -> dict[str, Any]:
        made: dict[str, Any]
        made = self.api("POST", f"/issues/{number or self._newest()}/comments", {"body": text}, user=user)
        return made

    def comments(self, number: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api("GET", f"/issues/{number}/comments?per_page=100")
        return found

    def line_comments(self, number: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api("GET", f"/pulls/{number}/comments?per_page=100")
        return found

    def merge_by(self, user: str, number: int, method: str = "merge") -> str:
        """Answers the commit on the base."""
        made = self.api("PUT", f"/pulls/{number}/merge", {"merge_method": method}, user=user)
        commit: str = made["sha"]
        return commit

    def close_by(self, user: str, number: int) -> None:
        self.api("PATCH", f"/pulls/{number}", {"state": "closed"}, user=user)

    def protect(
        self,
        branch: str = "main",
        *,
        checks: Sequence[str] = (),
        strict: bool = False,
        approvals: int = 0,
        admins: bool = True,
    ) -> None:
        """The branch's rules, also for the owner unless ``admins`` is off."""
        self.github.protect(branch, Protection(tuple(checks), strict, approvals, admins))

    def require_by_ruleset(self, branch: str, checks: Sequence[str], *, strict: bool = False) -> None:
        """Required checks of the newer kind, which only ``/rules/branches`` tells of. Not enforced when merging."""
        wanted = [{"context": name} for name in checks]
        parameters = {"required_status_checks": wanted, "strict_required_status_checks_policy": strict}
        self.github.state.rules[branch] = [{"type": "required_status_checks", "parameters": parameters}]

    def allow_auto_merge(self) -> None:
        """The repository's setting; off, as on GitHub, until a test wants it."""
        self.github.state.may_auto_merge = True

    def require_merge_queue(self, branch: str = "main") -> None:
        """Merges into the branch go through a queue, which merges when ``merge_queued`` is called."""
        self.github.state.queues[branch] = []
        self.github.state.rules.setdefault(branch, []).append({"type": "merge_queue", "parameters": {}})

    def merge_queued(self, branch: str = "main") -> list[str]:
        return self.github.merge_queued(branch)

    def _newest(self) -> int:
        return max(int(pull["number"]) for pull in self.pulls())

    # ── issues ──

    def open_issue(
        self, title: str, body: str = "", *, user: str = "owner", labels: Sequence[str] = ()
    ) -> int:
        """``labels``: put there by the owner, whoever writes it."""
        made = self.api("POST", "/issues", {"title": title, "body": body}, user=user)
        number: int = made["number"]
        if labels:
            self.label(number, *labels)
        return number

    def issue(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = self.api("GET", f"/issues/{number}")
        return found

    def edit_issue(self, user: str, number: int, **changes: str) -> None:
        self.api("PATCH", f"/issues/{number}", changes, user=user)

    def edit_comment(self, user: str, comment: int, text: str) -> None:
        self.api("PATCH", f"/issues/comments/{comment}", {"body": text}, user=user)

    def label(self, number: int, *names: str, user: str = "owner") -> None:
        self.api("POST", f"/issues/{number}/labels", {"labels": list(names)}, user=user)

    def unlabel(self, number: int, name: str, *, user: str = "owner") -> None:
        self.api("DELETE", f"/issues/{number}/labels/{name}", user=user)

    def block(self, number: int, *by: int | str) -> None:
        """GitHub's own list of what an issue is blocked by: numbers, or ``owner/repo#number``."""
        self.github.issues.state.blockers[number] = list(by)

    def delete_issue(self, number: int) -> None:
        self.github.issues.state.deleted.add(number)

    def move_issue(self, number: int, *, to: int) -> None:
        """To another repository, where it gets this number."""
        self.github.issues.state.moved[number] = to

    def show_as_program(self, user: str) -> None:
        self.github.issues.state.programs.add(login_of(user))

    def make_private(self) -> None:
        """From now on only the owner and collaborators see anything."""
        self.github.issues.state.is_private = True

    # ── CI ──

    def check(
        self,
        commit: str,
        name: str,
        conclusion: str | None = None,
        *,
        status: str | None = None,
        log: str = "",
        step: str = "",
        workflow: str = "CI",
        app: str | None = None,
        output: Mapping[str, Any] | None = None,
    ) -> int:
        """A check run of Actions, with its job and log; completed if it has a conclusion, else queued. Answers its id.

        With ``app``, the check run of another app, which has neither job nor log. ``output``: title, summary, text,
        annotations, as the API takes them.
        """
        status = status or ("completed" if conclusion else "queued")
        if app:
            return self.github.add_foreign_check(
                commit, name, status=status, conclusion=conclusion, app=app, output=output
            )
        return self.github.add_check(
            commit,
            name,
            status=status,
            conclusion=conclusion,
            log=log,
            step=step,
            workflow=workflow,
            output=output,
        ).id

    def finish(self, check: int, conclusion: str, *, log: str = "", step: str = "") -> None:
        """Complete a check that was queued or in progress."""
        self.github.finish_check(check, conclusion, log=log, step=step)

    def status(
        self, commit: str, context: str, state: str, description: str = "", target_url: str = ""
    ) -> None:
        """A commit status of the older kind: success, failure, error, pending."""
        self.github.add_status(
            commit, state=state, context=context, description=description, target_url=target_url
        )

    def checks(self, commit: str, *, every: bool = False) -> list[dict[str, Any]]:
        """The newest run of each check of a commit, or every one."""
        found = self.api(
            "GET", f"/commits/{commit}/check-runs?per_page=100&filter={'all' if every else 'latest'}"
        )
        runs: list[dict[str, Any]] = found["check_runs"]
        return runs

    def run_actions(self, commit: str) -> dict[str, str]:
        """Run the commit's own workflows with act, here and now; answers the conclusion of each job."""
        return self._actions.run(commit)

    def wait_for_ci(self, seconds: float = 120) -> None:
        """Until no workflow is running that auto_ci or a rerun has started."""
        for thread in list(self._background):
            thread.join(seconds)
            assert not thread.is_alive(), "the workflows did not end in time"

    def _pushed(self, branch: str, commit: str) -> None:
        if self.auto_ci:
            jobs = self._actions.queue(
                commit, branch
            )  # before the push is answered: a check is never missing
            self._in_background(lambda: self._actions.run_queued(commit, jobs))

    def _opened(self, branch: str, commit: str) -> None:
        if self.auto_ci:
            jobs = self._actions.queue(commit, branch, opened=True)
            self._in_background(lambda: self._actions.run_queued(commit, jobs))

    def _rerun(self, job: Job) -> None:
        if self.on_rerun:
            self.on_rerun(job)
        elif self._actions.has_run(job.commit):
            self._in_background(lambda: self._actions.run_queued(job.commit, [job]))

    def _in_background(self, work: Callable[[], object]) -> None:
        thread = threading.Thread(target=self._actions.guarded(work), daemon=True)
        self._background.append(thread)
        thread.start()

    # ── misbehaving ──

    def misbehave(
        self,
        match: str = "",
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        body: str | bytes | Mapping[str, Any] | None = None,
        delay: float = 0,
        close: bool = False,
        after: bool = False,
        times: int | None = None,
    ) -> None:
        """Do wrong what matches ``METHOD /path?query``, ``times`` times or until ``behave``.

        ``after`` does what was asked and then fails, so the client does not learn that it was done. Only ``delay``:
        slow, and right.
        """
        raw = json.dumps(body) if isinstance(body, Mapping) else body
        self._front.misbehave(
            Misbehaviour(
                match=re.compile(match),
                status=status,
                headers=headers or {},
                body=raw.encode() if isinstance(raw, str) else raw,
                delay=delay,
                close=close,
                after=after,
                left=times,
            )
        )

    def behave(self) -> None:
        self._front.behave()

    @property
    def is_misbehaving(self) -> bool:
        """False again when everything was done wrong as often as was wanted."""
        return self._front.is_misbehaving

    def hold(self, match: str) -> AbstractContextManager[Held]:
        """Requests that match wait at the door: ``held.arrived.wait(s)``, then kill someone, then leave the block."""
        return self._front.hold(match)

    @property
    def unknown_reads(self) -> int:
        """How often ``mergeable`` is null after a push before it is known; 0 unless a test sets it."""
        return self.github.state.unknown_reads

    @unknown_reads.setter
    def unknown_reads(self, count: int) -> None:
        self.github.state.unknown_reads = count


def login_of(user: str) -> str:
    return ALIASES.get(user, user)


@contextmanager
def open_forge(cache: Path, folder: Path) -> Iterator[Forge]:
    """A forge that fails its test if the world itself made a mistake."""
    with Forge(cache, folder) as forge:
        yield forge
        troubles = forge.troubles
    assert not troubles, f"the test world failed: {troubles}"

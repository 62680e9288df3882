"""What GitHub does and emulate does not: everything that needs git, rules of branches, Actions, and honest refusals."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, unquote

from .emulator import INSIDE, Answer, Emulator
from .front import HOST, Request, answer_json, failure
from .issues import ELSEWHERE_ID, Issues
from .mirror import Mirror
from .remote import Remote, identity_of

ROLES: Final[Mapping[str, str]] = {"push": "write", "pull": "read", "triage": "read", "maintain": "write"}
GOOD: Final = ("success", "neutral", "skipped")
BROKEN: Final = "startup_failure"  # GitHub's own word, which its API does not take and emulate does not know
ONLY_ALONE: Final = (  # GitHub says these of one pull request, not in lists
    "mergeable", "mergeable_state", "rebaseable", "merged", "merged_by", "comments", "review_comments",
    "maintainer_can_modify", "commits", "additions", "deletions", "changed_files",
)  # fmt: skip
ACTIONS_APP: Final = {
    "id": 15368,
    "slug": "github-actions",
    "name": "GitHub Actions",
    "owner": {"login": "github"},
}


@dataclass(frozen=True, slots=True)
class Protection:
    """The rules of one branch."""

    checks: tuple[str, ...] = ()
    strict: bool = False
    approvals: int = 0
    admins: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    """A job of Actions; its id is that of its check run, as on GitHub."""

    id: int
    run: int
    name: str
    commit: str
    branch: str
    status: str
    conclusion: str | None
    step: str
    log: str
    attempt: int = 1
    workflow: str = "CI"
    steps: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class State:
    """What the forge knows beyond emulate and git."""

    heads: dict[int, str] = field(default_factory=dict)
    bases: dict[int, str] = field(default_factory=dict)
    protections: dict[str, Protection] = field(default_factory=dict)
    rules: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    statuses: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    unknown_reads: int = 0  # how often mergeable is null after a push, before it is known
    unread: dict[tuple[int, str, str], int] = field(default_factory=dict)
    may_auto_merge: bool = False
    auto_merge: dict[int, tuple[str, str]] = field(default_factory=dict)  # by whom, how
    queues: dict[str, list[int]] = field(
        default_factory=dict
    )  # branches with a merge queue, and what is in it
    foreign: dict[int, str] = field(default_factory=dict)  # check runs that are not of Actions, and their app
    broken: set[int] = field(
        default_factory=set
    )  # check runs that could not start, which emulate does not know
    closed_by: dict[int, str] = field(default_factory=dict)


class GitHub:
    """Answers requests: from git, from its own state, or from emulate with corrections."""

    def __init__(self, emulator: Emulator, remote: Remote, mirror: Mirror, repository: str) -> None:
        self.state = State()
        self.on_push: Callable[[str, str], None] | None = None
        self.on_pull: Callable[[str, str], None] | None = None
        self.on_rerun: Callable[[Job], None] | None = None
        self._emulator = emulator
        self._remote = remote
        self._mirror = mirror
        self._owner, _, self._name = repository.partition("/")
        self._prefix = f"/repos/{repository}"
        self._lock = threading.RLock()
        self.issues = Issues(emulator, self._prefix, self.may_write, _page)
        self._routes = [
            (method, re.compile(f"{re.escape(self._prefix)}{pattern}"), handler)
            for method, pattern, handler in self._table()
        ]

    def _table(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        return [
            ("GET", r"", self._get_repository),
            ("GET", r"/pulls", self._list_pulls),
            ("POST", r"/pulls", self._open_pull),
            ("GET", r"/pulls/(\d+)", self._get_pull),
            ("PATCH", r"/pulls/(\d+)", self._edit_pull),
            ("GET", r"/pulls/(\d+)/merge", self._is_merged),
            ("PUT", r"/pulls/(\d+)/merge", self._merge_pull),
            ("PUT", r"/pulls/(\d+)/update-branch", self._update_branch),
            ("GET", r"/pulls/(\d+)/commits", self._pull_commits),
            ("GET", r"/pulls/(\d+)/files", self._pull_files),
            ("POST", r"/pulls/(\d+)/requested_reviewers", self._writers_only),
            ("POST", r"/pulls/(\d+)/reviews", self._review),
            ("GET", r"/pulls/(?:\d+/)?comments", self._review_comments),
            ("GET", r"/pulls/\d+/reviews/\d+/comments", self._review_comments),
            ("POST", r"/pulls/(\d+)/comments", self._comment_on_line),
            ("POST", r"/pulls/(\d+)/comments/(\d+)/replies", self._reply),
            ("GET", r"/collaborators/([^/]+)/permission", self._permission),
            ("GET", r"/branches/(.+)/protection", self._get_protection),
            ("PUT", r"/branches/(.+)/protection", self._put_protection),
            ("DELETE", r"/branches/(.+)/protection", self._delete_protection),
            ("GET", r"/branches/(.+)/protection/required_status_checks", self._required_checks),
            ("GET", r"/branches/(.+)", self._get_branch),
            ("DELETE", r"/git/refs/heads/(.+)", self._delete_branch),
            ("GET", r"/rules/branches/(.+)", self._rules),
            ("GET", r"/commits/(.+)/check-runs", self._check_runs),
            ("GET", r"/check-runs/(\d+)", self._check_run),
            ("POST", r"/check-runs", self._writers_only),
            ("PATCH", r"/check-runs/(\d+)", self._writers_only),
            ("POST", r"/statuses/([0-9a-f]+)", self._post_status),
            ("GET", r"/commits/(.+)/status", self._combined_status),
            ("GET", r"/commits/(.+)/statuses", self._list_statuses),
            ("GET", r"/actions/runs", self._runs),
            ("GET", r"/actions/runs/(\d+)", self._run),
            ("GET", r"/actions/runs/(\d+)(?:/attempts/\d+)?/jobs", self._run_jobs),
            ("POST", r"/actions/runs/(\d+)/rerun(?:-failed-jobs)?", self._rerun_run),
            ("GET", r"/actions/jobs/(\d+)", self._job),
            ("GET", r"/actions/jobs/(\d+)/logs", self._job_log),
            ("POST", r"/actions/jobs/(\d+)/rerun", self._rerun_job),
            ("GET", r"/check-runs/(\d+)/annotations", self._annotations),
            ("POST", r"/check-(?:runs|suites)/(\d+)/rerequest", self._writers_only),
            ("GET", r"/compare/(.+)\.\.\.(.+)", self._compare),
            ("POST", r"/issues/(\d+)/assignees", self._writers_only),
            ("GET", r"/issues/(\d+)", self._get_issue),
            *self.issues.table(),
        ]

    # ── every request ──

    def answer(self, request: Request) -> Answer:
        if request.path.startswith("/_logs/"):
            return self._stored_log(request)
        if (
            self.issues.state.is_private
            and request.path.startswith("/repos/")
            and not self._sees(request.user)
        ):
            return failure(404, "Not Found")  # GitHub does not say that there is something to see
        if moved := re.fullmatch(rf"/repositories/{ELSEWHERE_ID}/issues/(\d+)", request.path):
            return self.issues.get_moved(int(moved[1]))
        if request.path in ("/graphql", "/api/graphql") and request.method == "POST":
            with self._lock:
                return self._graphql(request)
        for method, pattern, handler in self._routes:
            found = pattern.fullmatch(request.path)
            if found and method == request.method:
                if method == "GET":
                    return handler(request, *map(unquote, found.groups()))
                with self._lock:  # two clients at once see each other's work, as a database would have it
                    return handler(request, *map(unquote, found.groups()))
        return self._pass(request)

    def _pass(self, request: Request, body: Any = None) -> Answer:
        text = request.body if body is None else _dumps(body)
        headers = {"Content-Type": "application/json"}
        if request.token:
            headers["Authorization"] = f"token {request.token}"
        target = self._mirror.to_emulated(request.target)
        raw = self._mirror.to_emulated(text).encode() if text else None
        return self._emulator.forward(request.method, target, raw, headers)

    def _writers_only(self, request: Request, *_: str) -> Answer:
        return self._pass(request) if self.may_write(request.user) else _no_push_access()

    # ── who may ──

    def permission(self, login: str | None) -> str:
        """``admin``, ``write``, ``read``; anyone may read a public repository."""
        if login == self._owner:
            return "admin"
        answer = self._emulator.call("GET", f"{self._prefix}/collaborators/{login}/permission")
        found = answer.json.get("permission", "pull") if answer.status == 200 else "pull"
        return ROLES.get(found, found)

    def _sees(self, login: str | None) -> bool:
        """Of a private repository: its owner and its collaborators."""
        found = self._emulator.must("GET", f"{self._prefix}/collaborators?per_page=100")
        return login == self._owner or login in {one["login"] for one in found}

    def may_write(self, login: str | None) -> bool:
        return self.permission(login) in ("admin", "write")

    def _permission(self, request: Request, login: str) -> Answer:
        if not self.may_write(request.user):
            return failure(403, "Must have push access to view collaborator permission.")
        user = self._emulator.call("GET", f"/users/{quote(login)}")
        if user.status != 200:
            return failure(404, f"{login} is not a user")
        role = self.permission(login)
        return answer_json({"permission": role, "role_name": role, "user": user.json})

    def _get_repository(self, request: Request) -> Answer:
        answer = self._pass(request)
        if answer.status != 200:
            return answer
        rank = ["read", "triage", "write", "maintain", "admin"].index(self.permission(request.user))
        names = ["pull", "triage", "push", "maintain", "admin"]
        permissions = {name: rank >= place for place, name in enumerate(names)}
        return answer_json({**answer.json, "permissions": permissions})

    # ── git moved ──

    def sync(self) -> None:
        with self._lock:
            moved = self._mirror.sync()
            branches = {
                ref.removeprefix("refs/heads/"): now
                for ref, (_, now) in moved.items()
                if ref.startswith("refs/heads/")
            }
            if branches:
                for pull in self.open_pulls():
                    self._follow(pull, branches)
        for branch, commit in branches.items():
            if commit and self.on_push:
                self.on_push(branch, commit)

    def _follow(self, pull: dict[str, Any], branches: Mapping[str, str | None]) -> None:
        number, head, base = pull["number"], pull["head"]["ref"], pull["base"]["ref"]
        if head in branches:
            commit = branches[head]
            if commit is None:  # GitHub closes the pull request of a branch that is gone
                self._emulator.must("PATCH", f"{self._prefix}/pulls/{number}", {"state": "closed"})
                return
            self._set_head(number, commit, base)
        if base in branches:
            tip, own = branches[base], self.state.heads[number]
            if tip and own != self.state.bases[number] and self._remote.contains(tip, own):
                self._mark_merged(number, tip, None, base)  # its commits arrived on the base by a push

    def _set_head(self, number: int, commit: str, base: str) -> None:
        self.state.heads[number] = commit
        self.state.bases[number] = self._remote.tip(base) or self.state.bases.get(number, commit)
        self._remote.git("update-ref", f"refs/pull/{number}/head", commit)

    # ── pull requests ──

    def open_pulls(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._emulator.must(
            "GET", f"{self._prefix}/pulls?state=open&per_page=100"
        )
        return found

    def pull(self, number: int) -> dict[str, Any]:
        """One pull request, as GitHub would show it."""
        raw: dict[str, Any] = self._emulator.must("GET", f"{self._prefix}/pulls/{number}")
        return self._shown(raw, alone=True)

    def _shown(self, pull: dict[str, Any], *, alone: bool) -> dict[str, Any]:
        number = pull["number"]
        shown = {**pull, "head": {**pull["head"]}, "base": {**pull["base"]}}
        shown["head"]["sha"] = self.state.heads.get(number, pull["head"]["sha"])
        shown["base"]["sha"] = self.state.bases.get(number, pull["base"]["sha"])
        issue = self._emulator.call("GET", f"{self._prefix}/issues/{number}")
        if issue.status == 200:
            shown.update(
                {name: issue.json[name] for name in ("labels", "assignees", "assignee", "milestone")}
            )
        if number in self.state.auto_merge:
            login, method = self.state.auto_merge[number]
            shown["auto_merge"] = {"enabled_by": {"login": login}, "merge_method": method}
        if not alone:
            return {name: value for name, value in shown.items() if name not in ONLY_ALONE}
        if pull["state"] == "open":
            shown["mergeable"], shown["mergeable_state"] = self.mergeability(shown)
            shown["rebaseable"] = shown["mergeable"]
        else:
            shown["mergeable"], shown["mergeable_state"] = None, "unknown"
        shown["commits"] = self._remote.count(f"{shown['base']['sha']}..{shown['head']['sha']}")
        return shown

    def mergeability(self, pull: dict[str, Any]) -> tuple[bool | None, str]:
        """Asked of git and of the branch's rules, each time."""
        number, head, base = pull["number"], pull["head"]["sha"], self._remote.tip(pull["base"]["ref"])
        if base is None:
            return None, "unknown"
        key = (number, head, base)
        self.state.unread.setdefault(key, self.state.unknown_reads)
        if self.state.unread[key] > 0:
            self.state.unread[key] -= 1
            return None, "unknown"
        if self._remote.merged_tree(base, head) is None:
            return False, "dirty"
        if pull["draft"]:
            return True, "draft"
        rules = self.state.protections.get(pull["base"]["ref"], Protection())
        if self._missing(rules, number, head):
            return True, "blocked"
        if rules.strict and not self._remote.contains(head, base):
            return True, "behind"
        results = self._results(head)
        return True, "clean" if all(result in GOOD for result in results.values()) else "unstable"

    def _results(self, commit: str) -> dict[str, str]:
        """The newest result of each check and status of a commit; ``pending`` while there is none."""
        runs = self._emulator.must(
            "GET", f"{self._prefix}/commits/{self._mirror.to_emulated(commit)}/check-runs"
        )
        found = {run["name"]: run["conclusion"] or "pending" for run in runs["check_runs"]}
        for status in reversed(self.state.statuses.get(commit, [])):
            found[status["context"]] = status["state"]
        return found

    def _missing(self, rules: Protection, number: int, head: str) -> list[str]:
        """What the rules of a branch still want, in GitHub's words."""
        results = self._results(head) if rules.checks else {}
        words = [
            f'Required status check "{name}" is expected.' for name in rules.checks if name not in results
        ]
        words += [
            f'Required status check "{name}" is {results[name]}.'
            for name in rules.checks
            if name in results and results[name] not in GOOD
        ]
        approved, refused = self._verdicts(number) if rules.approvals else (0, 0)
        if refused:
            words.append("Changes were requested by reviewers with write access.")
        if approved < rules.approvals:
            words.append(
                f"At least {rules.approvals} approving review is required by reviewers with write access."
            )
        return words

    def _verdicts(self, number: int) -> tuple[int, int]:
        latest: dict[str, str] = {}
        for review in self._emulator.must("GET", f"{self._prefix}/pulls/{number}/reviews?per_page=100"):
            if review["state"] in ("APPROVED", "CHANGES_REQUESTED", "DISMISSED"):
                latest[review["user"]["login"]] = review["state"]
        states = [state for login, state in latest.items() if self.may_write(login)]
        return states.count("APPROVED"), states.count("CHANGES_REQUESTED")

    def _list_pulls(self, request: Request) -> Answer:
        answer = self._pass(request)
        if answer.status != 200:
            return answer
        shown = [self._shown(pull, alone=False) for pull in answer.json]
        return replace(answer, body=_dumps(shown).encode())

    def _get_pull(self, request: Request, number: str) -> Answer:
        answer = self._pass(request)
        return answer_json(self._shown(answer.json, alone=True)) if answer.status == 200 else answer

    def _open_pull(self, request: Request) -> Answer:
        if not self.may_write(request.user):
            return _no_push_access()
        wanted = request.json
        head, base = str(wanted.get("head", "")).removeprefix(f"{self._owner}:"), str(wanted.get("base", ""))
        for name, branch in (("head", head), ("base", base)):
            if self._remote.tip(branch) is None:
                return _invalid(field=name, code="invalid")
        if any(pull["head"]["ref"] == head and pull["base"]["ref"] == base for pull in self.open_pulls()):
            return _invalid(code="custom", message=f"A pull request already exists for {self._owner}:{head}.")
        if self._remote.count(f"{self._remote.tip(base)}..{self._remote.tip(head)}") == 0:
            return _invalid(code="custom", message=f"No commits between {base} and {head}")
        answer = self._pass(request)
        if answer.status != 201:
            return answer
        self._set_head(answer.json["number"], self._remote.tip(head) or "", base)
        if self.on_pull:
            self.on_pull(head, self._remote.tip(head) or "")
        return answer_json(self._shown(answer.json, alone=True), 201)

    def _edit_pull(self, request: Request, number: str) -> Answer:
        pull = self._emulator.call("GET", f"{self._prefix}/pulls/{number}")
        if pull.status == 200 and not (
            self.may_write(request.user) or pull.json["user"]["login"] == request.user
        ):
            return _no_push_access()
        wanted = {
            name: value for name, value in request.json.items() if name != "draft"
        }  # GraphQL's, on GitHub
        if pull.status == 200 and wanted.get("state") == "open":
            if pull.json["merged"] or self._remote.tip(pull.json["head"]["ref"]) is None:
                return _invalid(field="state", code="invalid", message="state cannot be changed.")
            self._set_head(
                int(number), self._remote.tip(pull.json["head"]["ref"]) or "", pull.json["base"]["ref"]
            )
        answer = self._pass(request, wanted)
        if answer.status == 200 and wanted.get("state") == "closed" and request.user:
            self.state.closed_by[int(number)] = request.user
        if answer.status == 200 and "base" in wanted:
            self.state.bases[int(number)] = self._remote.tip(wanted["base"]) or ""
        return answer_json(self._shown(answer.json, alone=True)) if answer.status == 200 else answer

    def _get_issue(self, request: Request, number: str) -> Answer:
        """A pull request is an issue too; that one tells who closed it."""
        pull = self._emulator.call("GET", f"{self._prefix}/pulls/{number}")
        if pull.status != 200:
            return self.issues.get(request, int(number))
        login = self.state.closed_by.get(int(number))
        known = {name: pull.json[name] for name in ("number", "title", "body", "state", "user", "closed_at")}
        closed_by = {"login": login} if login else None
        return answer_json({**known, "closed_by": closed_by, "pull_request": {"url": pull.json["url"]}})

    def _is_merged(self, request: Request, number: str) -> Answer:
        answer = self._emulator.call("GET", f"{self._prefix}/pulls/{number}")
        return (
            Answer(204, b"") if answer.status == 200 and answer.json["merged"] else failure(404, "Not Found")
        )

    # ── merging ──

    def _merge_pull(self, request: Request, number: str) -> Answer:
        found = self._emulator.call("GET", f"{self._prefix}/pulls/{number}")
        if found.status != 200:
            return found
        if not self.may_write(request.user):
            return _no_push_access()
        pull = self._shown(found.json, alone=True)
        refusal = self._refusal(request, pull)
        if refusal:
            return refusal
        commit = self._merge(pull, request.json, request.user or self._owner, request.token)
        if commit is None:
            return failure(405, "Pull Request is not mergeable")
        return answer_json({"sha": commit, "merged": True, "message": "Pull Request successfully merged"})

    def _merge(
        self, pull: dict[str, Any], wanted: Mapping[str, Any], login: str, token: str | None
    ) -> str | None:
        """Merge in git, then say so; nothing if it conflicts."""
        commit = self._merged(pull, wanted, login)
        if commit is not None:
            base = pull["base"]["ref"]
            self._remote.set_branch(base, commit)
            self._mark_merged(pull["number"], commit, token, base)
            self._tell_pushed(base, commit)
        return commit

    def _refusal(self, request: Request, pull: dict[str, Any]) -> Answer | None:
        if pull["state"] != "open":
            return failure(405, "Pull Request is not mergeable")
        wanted = request.json.get("sha")
        if wanted and wanted != pull["head"]["sha"]:
            return failure(409, "Head branch was modified. Review and try the merge again.")
        if pull["draft"]:
            return failure(405, "Pull Request is still a draft")
        if pull["mergeable"] is False:
            return failure(405, "Pull Request is not mergeable")
        if pull["base"]["ref"] in self.state.queues:
            return failure(
                405, "Repository rule violations found\n\nChanges must be made through the merge queue"
            )
        method = request.json.get("merge_method", "merge")
        repository = self._emulator.must("GET", self._prefix)
        setting = {
            "merge": "allow_merge_commit",
            "squash": "allow_squash_merge",
            "rebase": "allow_rebase_merge",
        }
        if not repository.get(setting[method], True):
            return failure(405, f"{method.capitalize()} merges are not allowed on this repository.")
        rules = self.state.protections.get(pull["base"]["ref"])
        if rules is None or (self.permission(request.user) == "admin" and not rules.admins):
            return None
        missing = self._missing(rules, pull["number"], pull["head"]["sha"])
        tip = self._remote.tip(pull["base"]["ref"])
        if rules.strict and tip and not self._remote.contains(pull["head"]["sha"], tip):
            missing.append("Head branch is out of date. Update it with the base branch.")
        return failure(405, " ".join(missing)) if missing else None

    def _merged(self, pull: dict[str, Any], wanted: Mapping[str, Any], login: str) -> str | None:
        """The commit that a merge makes; nothing if it cannot be made."""
        number, head, title = pull["number"], pull["head"]["sha"], pull["title"]
        base = self._remote.tip(pull["base"]["ref"]) or ""
        method = wanted.get("merge_method", "merge")
        if method == "rebase":
            return self._remote.rebase(head, base, identity_of(login))
        tree = self._remote.merged_tree(base, head)
        if tree is None:
            return None
        if method == "squash":
            subject, text, parents = f"{title} (#{number})", "", [base]
        else:
            subject = f"Merge pull request #{number} from {self._owner}/{pull['head']['ref']}"
            text, parents = title, [base, head]
        subject, text = wanted.get("commit_title") or subject, wanted.get("commit_message") or text
        return self._remote.commit_tree(tree, parents, f"{subject}\n\n{text}".strip(), identity_of(login))

    def _mark_merged(self, number: int, commit: str, token: str | None, base: str) -> None:
        """Have emulate call it merged, with git's commit in the place of the one that it makes up."""
        self._mirror.sync()
        self._emulator.call("PATCH", f"{self._prefix}/pulls/{number}", {"draft": False})
        made = self._emulator.must("PUT", f"{self._prefix}/pulls/{number}/merge", {}, token=token)
        self._mirror.alias(made["sha"], commit)
        self._mirror.restore(base)
        self.state.auto_merge.pop(number, None)

    def _tell_pushed(self, branch: str, commit: str) -> None:
        for pull in self.open_pulls():
            self._follow(pull, {branch: commit})
        if self.on_push:
            self.on_push(branch, commit)

    def _update_branch(self, request: Request, number: str) -> Answer:
        found = self._emulator.call("GET", f"{self._prefix}/pulls/{number}")
        if found.status != 200:
            return found
        if not self.may_write(request.user):
            return _no_push_access()
        pull = self._shown(found.json, alone=False)
        head, tip = pull["head"]["sha"], self._remote.tip(pull["base"]["ref"]) or ""
        if request.json.get("expected_head_sha", head) != head:
            return failure(422, "The expected head sha is not that of the current head ref.")
        if self._remote.contains(head, tip):
            return failure(422, "There are no new commits on the base branch.")
        tree = self._remote.merged_tree(head, tip)
        if tree is None:
            return failure(422, "merge conflict between base and head")
        branch, base = pull["head"]["ref"], pull["base"]["ref"]
        message = f"Merge branch '{base}' into {branch}"
        commit = self._remote.commit_tree(
            tree, [head, tip], message, identity_of(request.user or self._owner)
        )
        self._remote.set_branch(branch, commit)
        self._mirror.sync()
        self._tell_pushed(branch, commit)
        return answer_json({"message": "Updating pull request branch.", "url": pull["url"]}, 202)

    def _pull_commits(self, request: Request, number: str) -> Answer:
        pull = self.pull(int(number))
        span = f"{pull['base']['sha']}..{pull['head']['sha']}"
        names = self._remote.git("rev-list", "--reverse", "--topo-order", span).splitlines()
        page, link = _page(request, names)
        return answer_json([self._shown_commit(name) for name in page], headers=link)

    def _shown_commit(self, commit: str) -> dict[str, Any]:
        answer = self._emulator.call("GET", f"{self._prefix}/commits/{self._mirror.to_emulated(commit)}")
        if answer.status == 200:
            found: dict[str, Any] = answer.json
            return found
        return {"sha": commit, "commit": {"message": self._remote.git("log", "-1", "--format=%B", commit)}}

    def _compare(self, request: Request, base: str, head: str) -> Answer:
        left, right = self._remote.resolve(base), self._remote.resolve(head)
        if left is None or right is None:
            return failure(404, "Not Found")
        ahead, behind = self._remote.count(f"{left}..{right}"), self._remote.count(f"{right}..{left}")
        word = ("diverged" if behind else "ahead") if ahead else ("behind" if behind else "identical")
        names = self._remote.git("rev-list", "--reverse", "--topo-order", f"{left}..{right}").splitlines()
        page, link = _page(request, names)
        shown: dict[str, Any] = {
            "status": word,
            "ahead_by": ahead,
            "behind_by": behind,
            "total_commits": ahead,
        }
        shown["base_commit"] = self._shown_commit(left)
        shown["merge_base_commit"] = self._shown_commit(self._remote.git("merge-base", left, right))
        shown["commits"] = [self._shown_commit(name) for name in page]
        shown["files"] = self._changed(f"{left}...{right}")
        return answer_json(shown, headers=link)

    def _pull_files(self, request: Request, number: str) -> Answer:
        pull = self.pull(int(number))
        page, link = _page(request, self._changed(f"{pull['base']['sha']}...{pull['head']['sha']}"))
        return answer_json(page, headers=link)

    def _changed(self, span: str) -> list[dict[str, str]]:
        kinds = {"A": "added", "M": "modified", "D": "removed", "T": "changed"}
        listed = self._remote.git("diff", "--name-status", "--no-renames", span).splitlines()
        return [
            {"filename": name, "status": kinds.get(kind, "modified")}
            for kind, name in (line.split("\t") for line in listed)
        ]

    # ── GraphQL: the few mutations that have no REST ──

    def _graphql(self, request: Request) -> Answer:
        query, variables = str(request.json.get("query", "")), request.json.get("variables") or {}
        given = {name: variables.get(key) for name, key in re.findall(r"(\w+):\s*\$(\w+)", query)}
        given |= dict(re.findall(r'(\w+):\s*"([^"]*)"', query))
        mutations: dict[str, Callable[[Request, dict[str, Any], dict[str, Any]], str | None]] = {
            "enablePullRequestAutoMerge": self._enable_auto_merge,
            "disablePullRequestAutoMerge": self._disable_auto_merge,
            "enqueuePullRequest": self._enqueue,
            "markPullRequestReadyForReview": self._make_ready,
            "convertPullRequestToDraft": self._make_draft,
        }
        name = next((name for name in mutations if re.search(rf"\b{name}\b", query)), None)
        if name is None:
            return _graphql_error("the test world knows only a few mutations", "UNDEFINED_FIELD")
        raw = next(
            (pull for pull in self.open_pulls() if pull["node_id"] == given.get("pullRequestId")), None
        )
        if raw is None:
            return _graphql_error("Could not resolve to a node with the global id", "NOT_FOUND")
        if not self.may_write(request.user):
            return _graphql_error(f"{request.user} does not have the correct permissions", "FORBIDDEN")
        pull = self._shown(raw, alone=True)
        if given.get("expectedHeadOid", pull["head"]["sha"]) not in (None, pull["head"]["sha"]):
            return _graphql_error("The expected head sha does not match the head of the pull request.")
        problem = mutations[name](request, pull, given)
        return (
            _graphql_error(problem) if problem else answer_json({"data": {name: {"clientMutationId": None}}})
        )

    def _enable_auto_merge(self, request: Request, pull: dict[str, Any], given: dict[str, Any]) -> str | None:
        if not self.state.may_auto_merge:
            return "Pull request Auto merge is not allowed for this repository"
        if pull["mergeable_state"] in ("clean", "unstable", "draft"):
            return f"Pull request Pull request is in {pull['mergeable_state']} status"
        method = str(given.get("mergeMethod") or "merge").lower()
        self.state.auto_merge[pull["number"]] = (request.user or self._owner, method)
        return None

    def _disable_auto_merge(
        self, request: Request, pull: dict[str, Any], given: dict[str, Any]
    ) -> str | None:
        return None if self.state.auto_merge.pop(pull["number"], None) else "Can't disable auto-merge"

    def _enqueue(self, request: Request, pull: dict[str, Any], given: dict[str, Any]) -> str | None:
        queue = self.state.queues.get(pull["base"]["ref"])
        if queue is None:
            return "The base branch has no merge queue"
        if pull["number"] in queue:
            return "Pull request is already in the merge queue"
        if pull["mergeable_state"] in ("dirty", "draft", "blocked"):
            return f"Pull request is in {pull['mergeable_state']} status"
        queue.append(pull["number"])
        return None

    def _make_ready(self, request: Request, pull: dict[str, Any], given: dict[str, Any]) -> str | None:
        self._emulator.must("PATCH", f"{self._prefix}/pulls/{pull['number']}", {"draft": False})
        return None

    def _make_draft(self, request: Request, pull: dict[str, Any], given: dict[str, Any]) -> str | None:
        self._emulator.must("PATCH", f"{self._prefix}/pulls/{pull['number']}", {"draft": True})
        return None

    def merge_by_itself(self) -> None:
        """Merge what has auto-merge on and has met its rules; GitHub looks whenever something has changed."""
        for number, (login, method) in list(self.state.auto_merge.items()):
            pull = self.pull(number)
            if pull["state"] != "open":
                self.state.auto_merge.pop(number, None)
            elif pull["mergeable_state"] in ("clean", "unstable"):
                self._merge(pull, {"merge_method": method}, login, None)

    def merge_queued(self, branch: str) -> list[str]:
        """What the merge queue does in its own time; answers the commits."""
        with self._lock:
            numbers, self.state.queues[branch] = self.state.queues[branch], []
            pulls = [pull for pull in map(self.pull, numbers) if pull["state"] == "open"]
            made = [self._merge(pull, {}, self._owner, None) for pull in pulls]
            return [commit for commit in made if commit]

    # ── reviews ──

    def _review(self, request: Request, number: str) -> Answer:
        wanted = request.json
        pull = self._emulator.call("GET", f"{self._prefix}/pulls/{number}")
        if pull.status != 200:
            return pull
        if (
            wanted.get("event") in ("APPROVE", "REQUEST_CHANGES")
            and pull.json["user"]["login"] == request.user
        ):
            word = "approve" if wanted["event"] == "APPROVE" else "request changes on"
            return failure(
                422, "Unprocessable Entity", errors=[f"Review Can not {word} your own pull request"]
            )
        wanted.setdefault("commit_id", self.state.heads.get(int(number), pull.json["head"]["sha"]))
        for comment in wanted.get("comments", []):  # emulate knows positions only
            comment.setdefault("position", comment.get("line"))
        answer = self._pass(request, wanted)
        self.merge_by_itself()
        return answer

    def _comment_on_line(self, request: Request, number: str) -> Answer:
        wanted = request.json
        wanted.setdefault("commit_id", self.state.heads.get(int(number), ""))
        if wanted.get("in_reply_to"):
            wanted["in_reply_to_id"] = wanted.pop("in_reply_to")
        answer = self._pass(request, wanted)
        return answer_json(_line_comment(answer.json), 201) if answer.status == 201 else answer

    def _review_comments(self, request: Request) -> Answer:
        answer = self._pass(request)
        if answer.status != 200:
            return answer
        return replace(answer, body=_dumps([_line_comment(comment) for comment in answer.json]).encode())

    def _reply(self, request: Request, number: str, comment: str) -> Answer:
        found = self._emulator.call("GET", f"{self._prefix}/pulls/comments/{comment}")
        if found.status != 200 or not found.json["pull_request_url"].endswith(f"/pulls/{number}"):
            return failure(404, "Not Found")
        first = _line_comment(found.json)
        body = {
            "body": request.json.get("body", ""),
            "in_reply_to_id": first.get("in_reply_to_id") or first["id"],
            "path": first["path"],
            "line": first["line"],
            "commit_id": first["commit_id"],
        }
        answer = self._emulator.call(
            "POST", f"{self._prefix}/pulls/{number}/comments", body, token=request.token
        )
        return answer_json(_line_comment(answer.json), 201) if answer.status == 201 else answer

    # ── branches ──

    def protect(self, branch: str, rules: Protection | None) -> None:
        if rules is None:
            self.state.protections.pop(branch, None)
        else:
            self.state.protections[branch] = rules

    def _protection(self, branch: str, rules: Protection) -> dict[str, Any]:
        url = f"{INSIDE}{self._prefix}/branches/{quote(branch, safe='')}/protection"
        shown: dict[str, Any] = {
            "url": url,
            "enforce_admins": {"url": f"{url}/enforce_admins", "enabled": rules.admins},
        }
        if rules.checks or rules.strict:
            shown["required_status_checks"] = self._checks_rule(url, rules)
        if rules.approvals:
            shown["required_pull_request_reviews"] = {"required_approving_review_count": rules.approvals}
        for name in ("required_linear_history", "allow_force_pushes", "allow_deletions"):
            shown[name] = {"enabled": False}
        return shown

    def _checks_rule(self, url: str, rules: Protection) -> dict[str, Any]:
        checks = [{"context": name, "app_id": None} for name in rules.checks]
        found = {"strict": rules.strict, "contexts": list(rules.checks), "checks": checks}
        return {"url": f"{url}/required_status_checks", **found}

    def _get_protection(self, request: Request, branch: str) -> Answer:
        if self.permission(request.user) != "admin":
            return failure(404, "Not Found")
        if self._remote.tip(branch) is None:
            return failure(404, "Branch not found")
        rules = self.state.protections.get(branch)
        return answer_json(self._protection(branch, rules)) if rules else failure(404, "Branch not protected")

    def _required_checks(self, request: Request, branch: str) -> Answer:
        answer = self._get_protection(request, branch)
        if answer.status != 200:
            return answer
        checks = answer.json.get("required_status_checks")
        return answer_json(checks) if checks else failure(404, "Required status checks not enabled")

    def _put_protection(self, request: Request, branch: str) -> Answer:
        if self.permission(request.user) != "admin":
            return failure(404, "Not Found")
        wanted = request.json
        checks, reviews = (
            wanted.get("required_status_checks") or {},
            wanted.get("required_pull_request_reviews") or {},
        )
        rules = Protection(
            checks=tuple(checks.get("contexts") or [check["context"] for check in checks.get("checks", [])]),
            strict=bool(checks.get("strict")),
            approvals=int(reviews.get("required_approving_review_count", 0)),
            admins=bool(wanted.get("enforce_admins")),
        )
        self.protect(branch, rules)
        return answer_json(self._protection(branch, rules))

    def _delete_protection(self, request: Request, branch: str) -> Answer:
        if self.permission(request.user) != "admin":
            return failure(404, "Not Found")
        self.protect(branch, None)
        return Answer(204, b"")

    def _get_branch(self, request: Request, branch: str) -> Answer:
        answer = self._pass(request)
        if answer.status != 200:
            return answer
        rules = self.state.protections.get(branch)
        checks = {
            "enforcement_level": ("everyone" if rules.admins else "non_admins")
            if rules and rules.checks
            else "off",
            "contexts": list(rules.checks) if rules else [],
            "checks": [{"context": name, "app_id": None} for name in rules.checks] if rules else [],
        }
        protection = {"enabled": rules is not None, "required_status_checks": checks}
        return answer_json({**answer.json, "protected": rules is not None, "protection": protection})

    def _delete_branch(self, request: Request, branch: str) -> Answer:
        if not self.may_write(request.user):
            return _no_push_access()
        if self._remote.tip(branch) is None:
            return failure(422, "Reference does not exist")
        self._remote.set_branch(branch, None)
        self.sync()
        return Answer(204, b"")

    def _rules(self, request: Request, branch: str) -> Answer:
        return answer_json(self.state.rules.get(branch, []))

    # ── checks and statuses ──

    def _check_runs(self, request: Request, name: str) -> Answer:
        commit = self._remote.resolve(name)
        if commit is None:
            return failure(422, f"No commit found for SHA: {name}")
        target = replace(request, path=f"{self._prefix}/commits/{commit}/check-runs")
        answer = self._pass(target)
        if answer.status != 200:
            return answer
        runs = [self._shown_run(run) for run in answer.json["check_runs"]]
        page, link = _page(request, runs)
        return answer_json({"total_count": len(runs), "check_runs": page}, headers=link)

    def _check_run(self, request: Request, number: str) -> Answer:
        answer = self._pass(request)
        return answer_json(self._shown_run(answer.json)) if answer.status == 200 else answer

    def _shown_run(self, run: dict[str, Any]) -> dict[str, Any]:
        foreign = self.state.foreign.get(run["id"])
        app = {"id": 99, "slug": foreign, "name": foreign} if foreign else ACTIONS_APP
        if run["id"] in self.state.broken:
            run = {**run, "conclusion": BROKEN}
        return {**run, "app": app} if foreign or run["id"] in self.state.jobs else run

    def _annotations(self, request: Request, number: str) -> Answer:
        """A plain list on GitHub; emulate wraps it."""
        answer = self._pass(request)
        return (
            replace(answer, body=_dumps(answer.json["check_annotations"]).encode())
            if answer.status == 200
            else answer
        )

    def _post_status(self, request: Request, commit: str) -> Answer:
        if not self.may_write(request.user):
            return _no_push_access()
        if self._remote.resolve(commit) is None:
            return failure(422, f"No commit found for SHA: {commit}")
        status = self.add_status(
            commit, **{name: request.json[name] for name in ("state",)}, **_status_text(request.json)
        )
        return answer_json(status, 201)

    def add_status(
        self, commit: str, *, state: str, context: str, description: str = "", target_url: str = ""
    ) -> dict[str, Any]:
        known = self.state.statuses.setdefault(commit, [])
        number = 1 + sum(map(len, self.state.statuses.values()))
        status = {
            "id": number,
            "state": state,
            "context": context,
            "description": description,
            "target_url": target_url,
        }
        status |= {"created_at": _now(), "updated_at": _now()}
        known.insert(0, status)  # GitHub lists the newest first
        with self._lock:
            self.merge_by_itself()
        return status

    def _combined_status(self, request: Request, name: str) -> Answer:
        commit = self._remote.resolve(name)
        if commit is None:
            return failure(422, f"No commit found for SHA: {name}")
        latest: dict[str, dict[str, Any]] = {}
        for status in self.state.statuses.get(commit, []):
            latest.setdefault(status["context"], status)
        states = [status["state"] for status in latest.values()]
        bad = any(state in ("failure", "error") for state in states)
        state = "failure" if bad else "pending" if not states or "pending" in states else "success"
        page, link = _page(request, list(latest.values()))
        return answer_json(
            {"state": state, "statuses": page, "sha": commit, "total_count": len(latest)}, headers=link
        )

    def _list_statuses(self, request: Request, name: str) -> Answer:
        commit = self._remote.resolve(name)
        if commit is None:
            return failure(422, f"No commit found for SHA: {name}")
        page, link = _page(request, self.state.statuses.get(commit, []))
        return answer_json(page, headers=link)

    # ── Actions ──

    def _shown_job(self, job: Job) -> dict[str, Any]:
        known = job.steps or (("Set up job", "success"), (job.step or job.name, job.conclusion))
        steps = [
            {
                "name": name,
                "number": number,
                "status": "completed" if result else job.status,
                "conclusion": result,
            }
            for number, (name, result) in enumerate(known, 1)
        ]
        return {
            "id": job.id,
            "run_id": job.run,
            "run_attempt": job.attempt,
            "workflow_name": job.workflow,
            "head_branch": job.branch,
            "head_sha": job.commit,
            "status": job.status,
            "conclusion": job.conclusion,
            "name": job.name,
            "steps": steps,
            "url": f"{INSIDE}{self._prefix}/actions/jobs/{job.id}",
            "check_run_url": f"{INSIDE}{self._prefix}/check-runs/{job.id}",
            "html_url": self.job_page(job.run, job.id),
        }

    def job_page(self, run: int, job: int) -> str:
        return f"https://{HOST}/{self._owner}/{self._name}/actions/runs/{run}/job/{job}"

    def _shown_actions_run(self, run: int) -> dict[str, Any]:
        jobs = self._latest_jobs(run)
        done = all(job.status == "completed" for job in jobs)
        bad = next((job.conclusion for job in jobs if job.conclusion not in GOOD), "success")
        return {
            "id": run,
            "name": jobs[0].workflow,
            "head_branch": jobs[0].branch,
            "head_sha": jobs[0].commit,
            "event": "push",
            "status": "completed" if done else "in_progress",
            "conclusion": bad if done else None,
            "run_attempt": max(job.attempt for job in jobs),
            "html_url": f"https://{HOST}/{self._owner}/{self._name}/actions/runs/{run}",
        }

    def _latest_jobs(self, run: int) -> list[Job]:
        latest: dict[str, Job] = {}
        for job in sorted(self.state.jobs.values(), key=lambda job: job.id):
            if job.run == run:
                latest[job.name] = job
        return list(latest.values())

    def _runs(self, request: Request) -> Answer:
        commit, branch = request.option("head_sha"), request.option("branch")
        wanted = [
            job
            for job in self.state.jobs.values()
            if (not commit or job.commit == commit) and (not branch or job.branch == branch)
        ]
        runs = [self._shown_actions_run(run) for run in sorted({job.run for job in wanted}, reverse=True)]
        page, link = _page(request, runs)
        return answer_json({"total_count": len(runs), "workflow_runs": page}, headers=link)

    def _run(self, request: Request, run: str) -> Answer:
        known = self._latest_jobs(int(run))
        return answer_json(self._shown_actions_run(int(run))) if known else failure(404, "Not Found")

    def _run_jobs(self, request: Request, run: str) -> Answer:
        jobs = self._latest_jobs(int(run))
        if not jobs:
            return failure(404, "Not Found")
        page, link = _page(request, [self._shown_job(job) for job in jobs])
        return answer_json({"total_count": len(jobs), "jobs": page}, headers=link)

    def _job(self, request: Request, number: str) -> Answer:
        job = self.state.jobs.get(int(number))
        return answer_json(self._shown_job(job)) if job else failure(404, "Not Found")

    def _job_log(self, request: Request, number: str) -> Answer:
        """GitHub redirects to another address, which wants no token and soon expires."""
        job = self.state.jobs.get(int(number))
        if job is None or job.status != "completed":
            return failure(404, "Not Found")
        if request.user is None:
            return failure(403, "Must have admin rights to Repository.")
        return Answer(302, b"", {"Location": f"{request.base.removesuffix('/api/v3')}/_logs/{job.id}"})

    def _stored_log(self, request: Request) -> Answer:
        job = self.state.jobs.get(int(request.path.rpartition("/")[2]))
        if job is None:
            return failure(404, "Not Found")
        lines = [f"2026-01-01T00:00:00.0000000Z {line}\r\n" for line in job.log.splitlines()]
        return Answer(
            200, ("\ufeff" + "".join(lines)).encode(), {"Content-Type": "text/plain; charset=utf-8"}
        )

    def _rerun_job(self, request: Request, number: str) -> Answer:
        job = self.state.jobs.get(int(number))
        if job is None:
            return failure(404, "Not Found")
        return self._rerun(request, [job])

    def _rerun_run(self, request: Request, run: str) -> Answer:
        jobs = self._latest_jobs(int(run))
        if not jobs:
            return failure(404, "Not Found")
        if request.path.endswith("-failed-jobs"):
            jobs = [job for job in jobs if job.conclusion not in GOOD]
        return self._rerun(request, jobs)

    def _rerun(self, request: Request, jobs: list[Job]) -> Answer:
        if not self.may_write(request.user):
            return failure(403, "Must have admin rights to Repository.")
        if any(other.status != "completed" for job in jobs for other in self._latest_jobs(job.run)):
            return failure(403, "The workflow run containing this job is already running")
        for job in jobs:
            again = self.add_check(job.commit, job.name, status="queued", earlier=job)
            if self.on_rerun:
                self.on_rerun(again)
        return answer_json({}, 201)

    # ── what a CI does ──

    def add_check(
        self,
        commit: str,
        name: str,
        *,
        status: str,
        conclusion: str | None = None,
        log: str = "",
        step: str = "",
        earlier: Job | None = None,
        run: int | None = None,
        workflow: str = "CI",
        branch: str | None = None,
        output: Mapping[str, Any] | None = None,
    ) -> Job:
        with self._lock:
            body: dict[str, Any] = {
                "name": name,
                "head_sha": self._mirror.to_emulated(commit),
                "status": status,
            }
            body["output"] = dict(output or {})
            if conclusion:
                body["conclusion"] = _emulated(conclusion)
            made = self._emulator.must("POST", f"{self._prefix}/check-runs", {**body, "started_at": _now()})
            if conclusion == BROKEN:
                self.state.broken.add(made["id"])
            if run is None:
                known = [
                    job.run
                    for job in self.state.jobs.values()
                    if job.commit == commit and job.workflow == workflow
                ]
                run = earlier.run if earlier else known[0] if known else 1000 + made["id"]
            page = self.job_page(run, made["id"])
            self._emulator.must("PATCH", f"{self._prefix}/check-runs/{made['id']}", {"details_url": page})
            job = Job(
                id=made["id"],
                run=run,
                name=name,
                commit=commit,
                branch=branch or (earlier.branch if earlier else self.branch_of(commit)),
                status=status,
                conclusion=conclusion,
                step=step,
                log=log,
                attempt=earlier.attempt + 1 if earlier else 1,
                workflow=earlier.workflow if earlier else workflow,
            )
            self.state.jobs[job.id] = job
            self.merge_by_itself()
            return job

    def add_foreign_check(
        self,
        commit: str,
        name: str,
        *,
        status: str,
        conclusion: str | None,
        app: str,
        output: Mapping[str, Any] | None,
    ) -> int:
        """A check run of another app than Actions: it has no job and no log."""
        with self._lock:
            body: dict[str, Any] = {
                "name": name,
                "head_sha": self._mirror.to_emulated(commit),
                "status": status,
            }
            body |= {"output": dict(output or {}), "details_url": f"https://{app}.localhost/build/1"}
            if conclusion:
                body["conclusion"] = conclusion
            number: int = self._emulator.must("POST", f"{self._prefix}/check-runs", body)["id"]
            self.state.foreign[number] = app
            self.merge_by_itself()
            return number

    def finish_check(
        self,
        number: int,
        conclusion: str,
        *,
        log: str = "",
        step: str = "",
        steps: tuple[tuple[str, str], ...] = (),
    ) -> None:
        with self._lock:
            body = {"status": "completed", "conclusion": _emulated(conclusion)}
            self._emulator.must("PATCH", f"{self._prefix}/check-runs/{number}", body)
            if conclusion == BROKEN:
                self.state.broken.add(number)
            if number in self.state.jobs:
                job = self.state.jobs[number]
                done = replace(job, status="completed", conclusion=conclusion, steps=steps)
                self.state.jobs[number] = replace(done, log=log or job.log, step=step or job.step)
            self.merge_by_itself()

    def start_check(self, number: int) -> None:
        with self._lock:
            self._emulator.must("PATCH", f"{self._prefix}/check-runs/{number}", {"status": "in_progress"})
            self.state.jobs[number] = replace(self.state.jobs[number], status="in_progress")

    def branch_of(self, commit: str) -> str:
        at = [ref.removeprefix("refs/heads/") for ref, tip in self._remote.refs().items() if tip == commit]
        return next((branch for branch in at if branch != "main"), at[0] if at else "main")


def _page(request: Request, items: list[Any]) -> tuple[list[Any], dict[str, str]]:
    """One page, thirty by default, and the links to the others: who reads only the first one is to be found out."""
    size = min(100, int(request.option("per_page", "30")))
    page = int(request.option("page", "1"))
    last = max(1, -(-len(items) // size))
    others = {"next": page + 1, "last": last} if page < last else {}
    others |= {"first": 1, "prev": page - 1} if page > 1 else {}
    rest = re.sub(r"(^|&)(page|per_page)=[^&]*", "", request.query).strip("&")
    query = f"{rest}&" if rest else ""
    url = f"{request.base}{request.path}?{query}per_page={size}&page="
    link = ", ".join(f'<{url}{number}>; rel="{name}"' for name, number in others.items())
    return items[(page - 1) * size : page * size], {"Link": link} if link else {}


def _line_comment(comment: dict[str, Any]) -> dict[str, Any]:
    line = comment.get("line") or comment.get("position")
    shown = {**comment, "line": line, "original_line": line}
    if shown.get("in_reply_to_id") is None:
        shown.pop("in_reply_to_id", None)
    return shown


def _status_text(wanted: Mapping[str, Any]) -> dict[str, str]:
    given = {name: str(wanted[name]) for name in ("context", "description", "target_url") if wanted.get(name)}
    return {"context": "default", **given}


def _invalid(**error: str) -> Answer:
    return failure(422, "Validation Failed", errors=[{"resource": "PullRequest", **error}])


def _graphql_error(message: str, kind: str = "UNPROCESSABLE") -> Answer:
    return answer_json({"data": None, "errors": [{"type": kind, "message": message}]})


def _no_push_access() -> Answer:
    return failure(403, "Resource not accessible by personal access token")


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _dumps(value: Any) -> str:
    return json.dumps(value)


def _emulated(conclusion: str) -> str:
    return "cancelled" if conclusion == BROKEN else conclusion

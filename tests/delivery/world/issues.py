"""What GitHub does with issues and emulate does not: whose words may be changed by whom, pull requests in the list, blockers,
issues that were moved or deleted, and repositories that not everyone may see."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from .emulator import INSIDE, Answer, Emulator
from .front import Request, answer_json, failure

LONGEST_COMMENT: Final = 65_536
LONGEST_LABEL: Final = 50
ELSEWHERE: Final = "owner1/elsewhere"  # where issues are moved to
ELSEWHERE_ID: Final = 99
Paged = Callable[[Request, list[Any]], tuple[list[Any], dict[str, str]]]


@dataclass(slots=True)
class IssueState:
    """What is known of issues beyond emulate. ``programs``: logins that are shown as bots."""

    blockers: dict[int, list[int | str]] = field(default_factory=dict)  # by number, or ``owner/repo#number``
    deleted: set[int] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)  # their numbers there
    programs: set[str] = field(default_factory=set)
    is_private: bool = False


class Issues:
    """Answers requests about issues. ``may_write``: whether a login may push; ``page``: one page of a list, with links."""

    def __init__(
        self, emulator: Emulator, prefix: str, may_write: Callable[[str | None], bool], page: Paged
    ) -> None:
        self.state = IssueState()
        self._emulator = emulator
        self._prefix = prefix
        self._may_write = may_write
        self._page = page

    def table(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        return [
            ("GET", r"/issues", self._list),
            ("POST", r"/issues", self._open),
            ("PATCH", r"/issues/(\d+)", self._edit),
            ("GET", r"/issues/(\d+)/comments", self._comments),
            ("POST", r"/issues/(\d+)/comments", self._comment),
            ("PATCH", r"/issues/comments/(\d+)", self._own_comment),
            ("DELETE", r"/issues/comments/(\d+)", self._own_comment),
            ("POST", r"/issues/(\d+)/labels", self._label),
            ("DELETE", r"/issues/(\d+)/labels/(.+)", self._unlabel),
            ("GET", r"/issues/(\d+)/dependencies/blocked_by", self._blocked_by),
        ]

    # ── reading ──

    def get(self, request: Request, number: int) -> Answer:
        """One that is no pull request.

        https://docs.github.com/rest/issues/issues#get-an-issue: an issue that was transferred is a 301, a deleted one a
        410 to whoever may read the repository.
        """
        if number in self.state.deleted:
            return failure(410, "This issue was deleted")
        if number in self.state.moved:
            there = f"{request.base}/repositories/{ELSEWHERE_ID}/issues/{self.state.moved[number]}"
            said = {"message": "Moved Permanently", "url": there}
            return answer_json(said, 301, {"Location": there})
        answer = self._ask(request)
        return answer if answer.status != 200 else answer_json(self._shown(answer.json))

    def get_moved(self, number: int) -> Answer:
        """As GitHub shows it in the repository that it is in now."""
        old = next(own for own, there in self.state.moved.items() if there == number)
        found = self._shown(self._emulator.must("GET", f"{self._prefix}/issues/{old}"))
        where = {
            "number": number,
            "repository_url": f"{INSIDE}/repos/{ELSEWHERE}",
            "html_url": f"{INSIDE}/{ELSEWHERE}/issues/{number}",
        }
        return answer_json({**found, **where})

    def _list(self, request: Request) -> Answer:
        """https://docs.github.com/rest/issues/issues#list-repository-issues: every pull request is an issue, with the key
        ``pull_request``. emulate leaves them out. Labels are compared without regard to case."""
        if self._emulator.call("GET", f"{self._prefix}/issues?per_page=1").status != 200:
            return failure(410, "Issues are disabled for this repo")
        state = request.option("state", "open")
        found = [self._shown(issue) for issue in self._everything("issues") if not self._is_gone(issue)]
        found += [_as_issue(pull) for pull in self._everything("pulls")]
        wanted = {label.lower() for label in request.option("labels").split(",") if label}
        listed = [
            issue
            for issue in found
            if state in ("all", issue["state"])
            and wanted <= {label["name"].lower() for label in issue["labels"]}
        ]
        is_first = request.option("direction", "desc") == "asc"
        listed.sort(key=lambda issue: int(issue["number"]), reverse=not is_first)
        page, links = self._page(request, listed)
        return answer_json(page, 200, links)

    def _everything(self, what: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        number = 1
        while page := self._emulator.must(
            "GET", f"{self._prefix}/{what}?state=all&per_page=100&page={number}"
        ):
            found += page
            number += 1
        return found

    def _is_gone(self, issue: dict[str, Any]) -> bool:
        return issue["number"] in self.state.deleted or issue["number"] in self.state.moved

    def _shown(self, issue: dict[str, Any]) -> dict[str, Any]:
        """With the count of blockers: ``blocked_by`` counts those that are open, ``total_blocked_by`` all of them."""
        blockers = self.state.blockers.get(issue["number"], [])
        still = [one for one in blockers if isinstance(one, str) or self._is_open(one)]
        summary = {"blocked_by": len(still), "total_blocked_by": len(blockers), "blocking": 0}
        return {**self._named(issue), "issue_dependencies_summary": {**summary, "total_blocking": 0}}

    def _named(self, said: dict[str, Any]) -> dict[str, Any]:
        """emulate has no bots: https://docs.github.com/rest/users/users says ``type`` is ``Bot`` for those."""
        login = (said.get("user") or {}).get("login")
        return {**said, "user": {**said["user"], "type": "Bot"}} if login in self.state.programs else said

    def _is_open(self, number: int) -> bool:
        found = self._emulator.call("GET", f"{self._prefix}/issues/{number}")
        return found.status == 200 and found.json["state"] == "open"

    def _comments(self, request: Request, number: str) -> Answer:
        answer = self._ask(request)
        if answer.status != 200:
            return answer
        links = {name: value for name, value in answer.headers.items() if name.lower() == "link"}
        return answer_json([self._named(one) for one in answer.json], 200, links)

    def _blocked_by(self, request: Request, number: str) -> Answer:
        """https://docs.github.com/rest/issues/issue-dependencies: a list of issues, of any repository, open or not."""
        found = []
        for blocker in self.state.blockers.get(int(number), []):
            if isinstance(blocker, int):
                found.append(self._emulator.must("GET", f"{self._prefix}/issues/{blocker}"))
            else:
                repository, _, there = blocker.partition("#")
                where = {"repository_url": f"{INSIDE}/repos/{repository}", "number": int(there)}
                found.append({**where, "state": "open", "title": "elsewhere", "id": 1})
        page, links = self._page(request, found)
        return answer_json(page, 200, links)

    # ── writing ──

    def _open(self, request: Request) -> Answer:
        """Labels of someone without push access are dropped without a word, says the documentation of the path."""
        wanted = request.json
        if not self._may_write(request.user):
            wanted.pop("labels", None)
        return self._ask(request, wanted)

    def _edit(self, request: Request, number: str) -> Answer:
        """Authors may edit and close their own; everything else needs write access. emulate lets anyone."""
        found = self._emulator.call("GET", f"{self._prefix}/issues/{number}")
        if found.status != 200 or self._is_gone(found.json):
            return failure(404, "Not Found")
        if not self._may_write(request.user) and found.json["user"]["login"] != request.user:
            return failure(403, "Must have admin rights to Repository.")
        return self._ask(request)

    def _comment(self, request: Request, number: str) -> Answer:
        if self._is_gone({"number": int(number)}):
            return failure(410, "This issue was deleted")
        if len(request.json.get("body", "")) > LONGEST_COMMENT:
            error = {
                "resource": "IssueComment",
                "code": "unprocessable",
                "field": "data",
                "message": f"Body is too long (maximum is {LONGEST_COMMENT} characters)",
            }
            return failure(422, "Validation Failed", errors=[error])
        return self._ask(request)

    def _own_comment(self, request: Request, comment: str) -> Answer:
        """Authors may edit and delete their own; write access is needed for those of others. emulate lets anyone."""
        found = self._emulator.call("GET", f"{self._prefix}/issues/comments/{comment}")
        if found.status != 200:
            return failure(404, "Not Found")
        if not self._may_write(request.user) and found.json["user"]["login"] != request.user:
            return failure(403, "Must have admin rights to Repository.")
        return self._ask(request)

    def _label(self, request: Request, number: str) -> Answer:
        """A label that the repository knows in another case is that label, and a new one has at most 50 characters."""
        if self._is_gone({"number": int(number)}):
            return failure(410, "This issue was deleted")
        if not self._may_write(request.user):
            return failure(403, "Resource not accessible by personal access token")
        known = {
            label["name"].lower(): label["name"]
            for label in self._emulator.must("GET", f"{self._prefix}/labels?per_page=100")
        }
        names = [known.get(name.lower(), name) for name in request.json["labels"]]
        if any(len(name) > LONGEST_LABEL for name in names):
            error = {"resource": "Label", "code": "invalid", "field": "name"}
            return failure(422, "Validation Failed", errors=[error])
        return self._ask(request, {"labels": names})

    def _unlabel(self, request: Request, number: str, label: str) -> Answer:
        if not self._may_write(request.user):
            return failure(403, "Resource not accessible by personal access token")
        found = self._emulator.call("GET", f"{self._prefix}/issues/{number}/labels")
        names = [one["name"] for one in found.json] if found.status == 200 else []
        name = next((name for name in names if name.lower() == label.lower()), None)
        if name is None:
            return failure(404, "Label does not exist")
        path = f"{self._prefix}/issues/{number}/labels/{quote(name, safe='')}"
        return self._emulator.call("DELETE", path, token=request.token)

    def _ask(self, request: Request, body: Any = None) -> Answer:
        text = request.body if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json"}
        if request.token:
            headers["Authorization"] = f"token {request.token}"
        return self._emulator.forward(request.method, request.target, text.encode() or None, headers)


def _as_issue(pull: dict[str, Any]) -> dict[str, Any]:
    names = (
        "number",
        "title",
        "body",
        "state",
        "user",
        "labels",
        "created_at",
        "html_url",
        "author_association",
    )
    shown = {name: pull[name] for name in names if name in pull}
    return {"labels": [], **shown, "comments": 0, "pull_request": {"url": pull["url"]}}

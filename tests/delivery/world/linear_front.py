"""Linear's API as its public schema has it, over emulate, which has another one: what it lacks is kept here.

emulate has no relations, estimates, histories, bots, guests and people of other services; its filters compare texts and not entries; it
takes no id for a new comment, makes a label twice, and answers null where Linear has an error.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .emulator import Emulator
from .graphql import Failed, Invalid, connection, project, read

USER = "id name displayName active app"
ISSUE = f"""
  id identifier title description priority url createdAt updatedAt archivedAt
  state {{ id type position }} team {{ id key }} project {{ id name }}
  creator {{ {USER} }}
  labels(first: 1000) {{ nodes {{ id name team {{ id }} }} }}
  comments(first: 10000) {{ nodes {{ id body createdAt user {{ {USER} }} }} }}
"""


@dataclass(slots=True)
class Beyond:
    """What emulate does not know. By the ids that emulate gave; ``names`` of comments are those that clients gave."""

    guests: set[str] = field(default_factory=set)  # display names
    outsiders: dict[str, str] = field(
        default_factory=dict
    )  # of an issue or a comment: who wrote it elsewhere
    bots: dict[str, str] = field(default_factory=dict)  # of an issue or a comment: which integration wrote it
    blockers: dict[str, list[str]] = field(default_factory=dict)  # of an issue: those of others
    edits: dict[str, list[tuple[str, str]]] = field(
        default_factory=dict
    )  # of an issue: who changed its description or its title
    moved: dict[str, str] = field(
        default_factory=dict
    )  # of an issue: how it is called since it is in another team
    estimates: dict[str, float] = field(default_factory=dict)
    slugs: dict[str, str] = field(default_factory=dict)  # of a project's name
    names: dict[str, str] = field(default_factory=dict)  # of a comment
    used: set[str] = field(default_factory=set)  # names of comments that were deleted
    is_hidden: bool = False  # the teams are private, and nobody who asks is in one


class Schema:
    """Answers documents. ``lock``: two of them at once must not both make what may be there only once."""

    def __init__(self, emulator: Emulator, beyond: Beyond) -> None:
        self._emulator = emulator
        self.beyond = beyond
        self._lock = threading.Lock()

    def answer(self, body: Mapping[str, Any], authorization: str) -> dict[str, Any]:
        asked = Asked(self._emulator, self.beyond, authorization)
        with self._lock:
            try:
                document = read(body["query"], body.get("variables") or {})
                roots = asked.mutations if document.operation == "mutation" else asked.queries
                return {"data": project(roots, document, document.fields)}
            except Failed as failed:
                return _errors(str(failed), failed.code)
            except Invalid as invalid:
                return _errors(str(invalid), "GRAPHQL_VALIDATION_FAILED")

    def name_of(self, body: Mapping[str, Any]) -> str:
        try:
            return read(body["query"], body.get("variables") or {}).name
        except Invalid:
            return ""


class Asked:
    """The roots of one document, as whoever has this login sees them."""

    def __init__(self, emulator: Emulator, beyond: Beyond, authorization: str) -> None:
        self._emulator = emulator
        self._beyond = beyond
        self._authorization = authorization
        self.queries: dict[str, Callable[..., Any]] = {
            "viewer": lambda: self._user(self._ask(f"{{ viewer {{ {USER} }} }}")["viewer"]),
            "teams": self._teams,
            "team": self._team,
            "projects": self._projects,
            "issues": self._issues,
            "issue": self._issue,
            "issueLabels": self._labels,
        }
        self.mutations: dict[str, Callable[..., Any]] = {
            "issueAddLabel": lambda key, label: self._change_label("issueAddLabel", key, label),
            "issueRemoveLabel": lambda key, label: self._change_label("issueRemoveLabel", key, label),
            "issueLabelCreate": self._create_label,
            "issueUpdate": self._update,
            "commentCreate": self._comment,
            "commentUpdate": self._edit_comment,
        }

    def _ask(self, query: str, **variables: Any) -> Any:
        if not self._authorization:
            raise Failed("Authentication required, not authenticated", "AUTHENTICATION_ERROR")
        body = json.dumps({"query": query, "variables": variables}).encode()
        headers = {"Authorization": self._authorization, "Content-Type": "application/json"}
        found = self._emulator.forward("POST", "/graphql", body, headers).json
        if found.get("errors"):
            raise Failed(found["errors"][0]["message"])
        return found["data"]

    # ── queries ──

    def _teams(self, chosen: Mapping[str, Any], first: int = 50) -> Any:
        teams = self._ask("{ teams(first: 1000) { nodes { id key } } }")["teams"]["nodes"]
        if self._beyond.is_hidden:
            teams = []
        return connection([team for team in teams if _matches(chosen, team)])(first=first)

    def _team(self, key: str) -> Any:
        query = "query($id: String!) { team(id: $id) { states(first: 1000) { nodes { id type position } } } }"
        states = self._must(self._ask(query, id=key)["team"], "Team")["states"]["nodes"]

        def choose(chosen: Mapping[str, Any], first: int) -> Any:
            return connection([state for state in states if _matches(chosen, state)])(first=first)

        return {"states": choose}

    def _projects(self, chosen: Mapping[str, Any], first: int = 50) -> Any:
        projects = self._ask("{ projects(first: 1000) { nodes { id name } } }")["projects"]["nodes"]
        known = [{"id": one["id"], "slugId": self._slug(one)} for one in projects]
        return connection([one for one in known if _matches(chosen, one)])(first=first)

    def _labels(self, chosen: Mapping[str, Any], first: int = 50) -> Any:
        query = "{ issueLabels(first: 10000) { nodes { id name team { id } } } }"
        labels = self._ask(query)["issueLabels"]["nodes"]
        return connection([label for label in labels if _matches(chosen, label)])(first=first)

    def _issues(self, chosen: Mapping[str, Any], last: int, before: str | None = None) -> Any:
        """The newest first."""
        found = self._ask(f"{{ issues(first: 100000) {{ nodes {{ {ISSUE} }} }} }}")["issues"]["nodes"]
        whole = [self._whole(one) for one in reversed(found) if not one["archivedAt"]]
        return connection([one for one in whole if _matches(chosen, one["filtered"])])(
            last=last, before=before
        )

    def _issue(self, key: str) -> Any:
        return self._whole(self._found(key))

    def _found(self, key: str) -> Any:
        """By its id, or by any name that it has or had."""
        key = next((own for own, name in self._beyond.moved.items() if name == key), key)
        found = self._ask(f"query($id: String!) {{ issue(id: $id) {{ {ISSUE} }} }}", id=key)["issue"]
        return self._must(None if self._beyond.is_hidden else found, "Issue")

    def _must(self, found: Any, what: str) -> Any:
        """emulate answers null to what is not there; Linear's schema has no null here, but an error."""
        if found is None:
            raise Failed(f"Entity not found: {what}")
        return found

    # ── entries ──

    def _whole(self, issue: dict[str, Any]) -> dict[str, Any]:
        if name := self._beyond.moved.get(issue["id"]):
            issue = {**issue, "identifier": name, "team": {**issue["team"], "key": name.partition("-")[0]}}
        own, labels = issue["id"], issue["labels"]["nodes"]
        comments = [self._said(one) for one in reversed(issue["comments"]["nodes"])]
        blockers = [
            {"type": "blocks", "issue": self._other(one)} for one in self._beyond.blockers.get(own, [])
        ]
        project = issue["project"] and {**issue["project"], "slugId": self._slug(issue["project"])}
        return {
            **issue,
            "url": f"https://linear.app/workspace/issue/{issue['identifier']}",
            "priority": float(issue["priority"]),
            "estimate": self._beyond.estimates.get(own),
            "trashed": None,
            "creator": None if own in self._beyond.outsiders else self._user(issue["creator"]),
            "externalUserCreator": self._outsider(own),
            "botActor": self._bot(own),
            "labels": connection(labels),
            "comments": connection(comments),
            "inverseRelations": connection([*blockers, {"type": "related", "issue": self._other(own)}]),
            "history": connection([self._change(*edit) for edit in self._beyond.edits.get(own, [])]),
            "filtered": {**issue, "labels": labels, "project": project},
        }

    def _change(self, name: str, what: str) -> dict[str, Any]:
        """Of people of other services Linear names the integration only."""
        users = self._ask(f"{{ users(first: 1000) {{ nodes {{ {USER} }} }} }}")["users"]["nodes"]
        user = next((self._user(one) for one in users if one["displayName"] == name), None)
        is_title = what == "title"
        return {
            "id": f"{name} {what}",
            "actor": user,
            "botActor": None if user else {"name": "Slack"},
            "updatedDescription": None if is_title else True,
            "descriptionUpdatedBy": [user] if user and not is_title else None,
            "fromTitle": "before" if is_title else None,
            "toTitle": "after" if is_title else None,
        }

    def _other(self, key: str) -> Any:
        found = self._ask("query($id: String!) { issue(id: $id) { identifier } }", id=key)["issue"]
        return found and {"identifier": self._beyond.moved.get(key) or found["identifier"]}

    def _said(self, comment: dict[str, Any]) -> dict[str, Any]:
        own = comment["id"]
        return {
            **comment,
            "id": self._beyond.names.get(own, own),
            "user": None if own in self._beyond.outsiders else self._user(comment["user"]),
            "externalUser": self._outsider(own),
            "botActor": self._bot(own),
        }

    def _user(self, user: dict[str, Any] | None) -> dict[str, Any] | None:
        return user and {**user, "guest": user["displayName"] in self._beyond.guests}

    def _outsider(self, key: str) -> dict[str, Any] | None:
        name = self._beyond.outsiders.get(key)
        return {"name": name, "displayName": name} if name else None

    def _bot(self, key: str) -> dict[str, Any] | None:
        """Whoever writes from elsewhere does so through an integration."""
        name = self._beyond.bots.get(key) or ("Slack" if key in self._beyond.outsiders else "")
        return {"name": name} if name else None

    def _slug(self, project: Mapping[str, Any]) -> str:
        return self._beyond.slugs.get(project["name"], "")

    # ── mutations ──

    def _change_label(self, name: str, key: str, label: str) -> Any:
        query = (
            f"mutation($id: String!, $label: String!) {{ {name}(id: $id, labelId: $label) {{ success }} }}"
        )
        return self._ask(query, id=key, label=label)[name]

    def _create_label(self, given: dict[str, Any]) -> Any:
        """Linear has each name once in a team, whatever its case."""
        labels = self._labels({"name": {"eqIgnoreCase": given["name"]}})["nodes"]
        if any((label["team"] or {}).get("id") in (None, given["teamId"]) for label in labels):
            raise Failed(f"duplicate label name: {given['name']}")
        query = "mutation($input: IssueLabelCreateInput!) { issueLabelCreate(input: $input) { success issueLabel { id } } }"
        return self._ask(query, input=given)["issueLabelCreate"]

    def _update(self, key: str, given: dict[str, Any]) -> Any:
        query = "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }"
        return self._ask(query, id=key, input=given)["issueUpdate"]

    def _comment(self, given: dict[str, Any]) -> Any:
        """emulate takes no id, and so has one of its own for the same comment."""
        name = given.get("id", "")
        if name in self._beyond.names.values() or name in self._beyond.used:
            raise Failed("conflict on insert of Comment: an entity with this id already exists")
        query = "mutation($input: CommentCreateInput!) { commentCreate(input: $input) { success comment { id } } }"
        taken = {key: value for key, value in given.items() if key != "id"}
        found = self._ask(query, input=taken)["commentCreate"]
        if name:
            self._beyond.names[found["comment"]["id"]] = name
        return {"success": found["success"]}

    def _edit_comment(self, key: str, given: dict[str, Any]) -> Any:
        inside = next((own for own, name in self._beyond.names.items() if name == key), key)
        query = "mutation($id: String!, $input: CommentUpdateInput!) { commentUpdate(id: $id, input: $input) { success } }"
        try:
            return self._ask(query, id=inside, input=given)["commentUpdate"]
        except Failed as failed:
            raise Failed(f"Entity not found: Comment ({failed})") from None


def _matches(chosen: Mapping[str, Any], entry: Any) -> bool:
    """As IssueFilter and its like say: comparators at the leaves, ``some`` for lists, all of ``and``."""
    for key, wanted in chosen.items():
        if key == "and":
            ok = all(_matches(one, entry) for one in wanted)
        elif isinstance(entry, Mapping) and isinstance(entry.get(key), list):
            ok = any(_matches(wanted["some"], one) for one in entry[key])
        elif isinstance(entry, Mapping):
            if key not in entry:
                raise Invalid(f'Field "{key}" is not defined by this filter')
            ok = entry[key] is not None and _matches(wanted, entry[key])
        else:
            ok = _compares(key, wanted, str(entry))
        if not ok:
            return False
    return True


def _compares(how: str, wanted: Any, value: str) -> bool:
    match how:
        case "eq":
            return bool(value == wanted)
        case "eqIgnoreCase":
            return bool(value.lower() == wanted.lower())
        case "in":
            return value in wanted
        case "nin":
            return value not in wanted
        case _:
            raise Invalid(f'Field "{how}" is not defined by type "StringComparator"')


def _errors(message: str, code: str) -> dict[str, Any]:
    return {"errors": [{"message": message, "extensions": {"code": code, "userPresentableMessage": message}}]}

"""A Linear on this machine: one workspace with a team ENG, in an emulate process, behind a front that can misbehave."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from ralph.adapters.online.github_login import Surroundings
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.sources.linear import open_linear
from ralph.engine.tickets.ports import Source

from .emulator import Emulator
from .linear_front import Beyond, Schema

TEAM: Final = "ENG"
PROJECT: Final = "Website"
SLUG: Final = "website-0c79b11b75ea"
MEMBERS: Final = ("owner1", "colleague")
STATES: Final = [  # besides those that emulate gives every team
    {"name": "Released", "type": "completed", "position": 80},
    {"name": "Canceled", "type": "canceled", "position": 90},
]
GUEST: Final = "reader"
OUTSIDER: Final = "stranger"  # writes through an integration, and is no user


class LinearEmulator(Emulator):
    """emulate with its Linear."""

    service = "linear"

    def __init__(self, cache: Path, folder: Path, *, tokens: Mapping[str, str]) -> None:
        super().__init__(cache, folder, owner="", repository="", tokens={})
        users = [{"email": f"{name}@example.test", "name": name} for name in (*MEMBERS, GUEST)]
        self._seed = {
            "linear": {
                "users": users,
                "teams": [
                    {"key": TEAM, "name": "Engineering", "states": STATES},
                    {"key": "OPS", "name": "Operations"},
                ],
                "projects": [{"name": PROJECT, "team": TEAM}],
                "tokens": [
                    {"token": token, "user": f"{name}@example.test"} for token, name in tokens.items()
                ],
            }
        }


@dataclass(slots=True)
class Wrong:
    """What the front does to an operation. ``after``: it is done, and nobody learns that."""

    operation: str  # empty: any
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    after: bool = False
    left: int | None = None


class Linear:
    """The workspace as other people see it: a ``World`` of the contract of sources."""

    def __init__(self, cache: Path, folder: Path) -> None:
        self.tokens = {name: f"lin_api_{secrets.token_hex(20)}" for name in (*MEMBERS, GUEST)}
        self.oauth_token = f"lin_oauth_{secrets.token_hex(20)}"  # of owner1
        owners = {token: name for name, token in self.tokens.items()} | {self.oauth_token: "owner1"}
        self._emulator = LinearEmulator(cache, folder, tokens=owners)
        # emulate takes any key for that of its first user, and a personal key as a bearer's, which Linear does not.
        self._logins = {*self.tokens.values(), f"Bearer {self.oauth_token}"}
        self.beyond = Beyond(guests={GUEST}, slugs={PROJECT: SLUG.rpartition("-")[2]})
        self._schema = Schema(self._emulator, self.beyond)
        self._wrongs: list[Wrong] = []
        self.asked: list[str] = []  # the names of operations
        self._server = _server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/graphql"
        self._folder = folder

    def start(self) -> None:
        self._emulator.start()
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        for one in self._as("owner1", "{ issues(first: 100) { nodes { id } } }")["issues"]["nodes"]:
            self._delete(one["id"])  # emulate begins with one of its own

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._emulator.close()

    def open(self, place: str = TEAM, *, user: str = "owner1", key: str = "") -> Source:
        """As ralph does. Anyone who is no user has a key of another workspace."""
        key = key or self.tokens.get(user) or f"lin_api_{secrets.token_hex(20)}"
        runner = PosixProcessRunner(run_id="contract", base_environment={})
        environ = {"LINEAR_API_KEY": key, "LINEAR_API_URL": self.url}
        around = Surroundings(environ=environ, find=lambda name: None, runner=runner, cwd=self._folder)
        return open_linear(place, around)

    # ── what people do ──

    def add(
        self,
        title: str,
        text: str = "",
        *,
        user: str = "owner1",
        labels: tuple[str, ...] = ("ralph",),
        **more: Any,
    ) -> str:
        given = {"teamId": TEAM, "title": title, "description": text, **more}
        given["labelIds"] = [self._label_id(name) for name in labels]
        query = (
            "mutation($input: IssueCreateInput!) { issueCreate(input: $input) { issue { id identifier } } }"
        )
        made = self._as(user, query, input=given)["issueCreate"]["issue"]
        if user == OUTSIDER:
            self.beyond.outsiders[made["id"]] = user
        return str(made["identifier"])

    def edit(self, user: str, key: str, text: str) -> None:
        self._update(user, key, description=text)
        self.beyond.edits.setdefault(self.id_of(key), []).append((user, "description"))

    def rename(self, user: str, key: str, title: str) -> None:
        self._update(user, key, title=title)
        self.beyond.edits.setdefault(self.id_of(key), []).append((user, "title"))

    def move_to(self, team: str, key: str) -> str:
        """Gives its new name; by the old one it is found for ever."""
        own = self.id_of(key)
        self.beyond.moved[own] = f"{team}-{500 + len(self.beyond.moved)}"
        return self.beyond.moved[own]

    def set_state(self, key: str, name: str) -> None:
        self._update("colleague", key, stateId=name)

    def comment(self, user: str, key: str, text: str) -> None:
        query = "mutation($input: CommentCreateInput!) { commentCreate(input: $input) { comment { id createdAt } } }"
        made = self._as(user, query, input={"issueId": key, "body": text})["commentCreate"]["comment"]
        if user == OUTSIDER:
            self.beyond.outsiders[made["id"]] = user
        # Two comments of one millisecond would have no order.
        while datetime.now(UTC) < datetime.fromisoformat(made["createdAt"]) + timedelta(milliseconds=1):
            pass

    def edit_last_comment(self, user: str, key: str, text: str) -> None:
        own = [one for one in self._comments(key) if self._author(one) == user]
        query = "mutation($id: String!, $input: CommentUpdateInput!) { commentUpdate(id: $id, input: $input) { success } }"
        self._as(user, query, id=own[-1]["id"], input={"body": text})

    def delete_comments(self, key: str) -> None:
        """Their names can never be used again."""
        for one in self._comments(key):
            self._as("owner1", "mutation($id: String!) { commentDelete(id: $id) { success } }", id=one["id"])
            self.beyond.used.add(self.beyond.names.pop(one["id"], one["id"]))

    def label(self, key: str, *names: str) -> None:
        for name in names:
            self._change_label("issueAddLabel", key, name)

    def unlabel(self, key: str, name: str) -> None:
        self._change_label("issueRemoveLabel", key, name)

    def block(self, key: str, *by: str) -> None:
        self.beyond.blockers[self.id_of(key)] = [self.id_of(one) for one in by]

    def close_ticket(self, key: str) -> None:
        self.set_state(key, "Canceled")

    def delete(self, key: str) -> None:
        self._delete(self.id_of(key))

    # ── what they see ──

    def comments(self, key: str) -> list[str]:
        """Those of ralph: only it names its comments itself."""
        return [one["body"] for one in self._comments(key) if one["id"] in self.beyond.names]

    def labels(self, key: str) -> set[str]:
        query = "query($id: String!) { issue(id: $id) { labels(first: 1000) { nodes { name } } } }"
        return {label["name"] for label in self._as("owner1", query, id=key)["issue"]["labels"]["nodes"]}

    def state(self, key: str) -> str:
        query = "query($id: String!) { issue(id: $id) { state { type } } }"
        return str(self._as("owner1", query, id=key)["issue"]["state"]["type"])

    def is_open(self, key: str) -> bool:
        return self.state(key) not in ("completed", "canceled")

    def listings(self) -> int:
        return self.asked.count("Tickets")

    # ── misbehaving ──

    def misbehave(self, operation: str = "", **wrong: Any) -> None:
        self._wrongs.append(Wrong(operation, **wrong))

    def break_down(self) -> None:
        self.misbehave(status=502, body=b"<html>Bad gateway</html>")

    def limit_requests(self) -> None:
        said = {"message": "Rate limit exceeded", "extensions": {"code": "RATELIMITED", "statusCode": 429}}
        body = json.dumps({"errors": [said]}).encode()
        self.misbehave(status=400, body=body, headers={"Retry-After": "30"}, left=1)

    def lose_answer(self, method: str) -> None:
        assert method == "say"
        self.misbehave("CreateComment", after=True, left=1)

    def serve(self, body: bytes, authorization: str) -> tuple[int, Mapping[str, str], bytes] | None:
        """None: the connection ends without an answer."""
        asked = json.loads(body)
        name = self._schema.name_of(asked)
        self.asked.append(name)
        wrong = next((one for one in self._wrongs if one.operation in ("", name) and one.left != 0), None)
        if wrong is not None and wrong.left is not None:
            wrong.left -= 1
        if wrong is None or wrong.after:
            found = self._schema.answer(asked, authorization if authorization in self._logins else "")
            status = 400 if "errors" in found else 200
            return None if wrong is not None else (status, {}, json.dumps(found).encode())
        return (wrong.status or 200, wrong.headers, wrong.body)

    # ── inside ──

    def _as(self, user: str, query: str, **variables: Any) -> Any:
        token = self.tokens.get(user, self.tokens["owner1"])
        body = json.dumps({"query": query, "variables": variables}).encode()
        headers = {"Authorization": token, "Content-Type": "application/json"}
        found = self._emulator.forward("POST", "/graphql", body, headers).json
        assert not found.get("errors"), found["errors"]
        return found["data"]

    def id_of(self, key: str) -> str:
        return str(self._as("owner1", "query($id: String!) { issue(id: $id) { id } }", id=key)["issue"]["id"])

    def _delete(self, key: str) -> None:
        self._as("owner1", "mutation($id: String!) { issueDelete(id: $id) { success } }", id=key)

    def _update(self, user: str, key: str, **values: Any) -> None:
        query = "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }"
        self._as(user, query, id=key, input=values)

    def _comments(self, key: str) -> list[Any]:
        query = """query($id: String!) {
            issue(id: $id) { comments(first: 10000) { nodes { id body user { displayName } } } }
        }"""
        return list(self._as("owner1", query, id=key)["issue"]["comments"]["nodes"])

    def _author(self, comment: Mapping[str, Any]) -> str:
        return self.beyond.outsiders.get(comment["id"]) or str(comment["user"]["displayName"])

    def _change_label(self, mutation: str, key: str, name: str) -> None:
        query = f"mutation($id: String!, $label: String!) {{ {mutation}(id: $id, labelId: $label) {{ success }} }}"
        self._as("colleague", query, id=key, label=self._label_id(name))

    def _label_id(self, name: str) -> str:
        query = "{ issueLabels(first: 10000) { nodes { id name } } }"
        labels = self._as("owner1", query)["issueLabels"]["nodes"]
        if known := [label["id"] for label in labels if label["name"].lower() == name.lower()]:
            return str(known[0])
        query = "mutation($input: IssueLabelCreateInput!) { issueLabelCreate(input: $input) { issueLabel { id } } }"
        made = self._as("owner1", query, input={"name": name, "teamId": TEAM})
        return str(made["issueLabelCreate"]["issueLabel"]["id"])


class LinearWorld:
    """``Linear`` in the words of the contract, where closing is something else."""

    def __init__(self, linear: Linear) -> None:
        self._linear = linear

    def __getattr__(self, name: str) -> Any:
        return getattr(self._linear, name)

    def close(self, key: str) -> None:
        self._linear.close_ticket(key)


@contextmanager
def open_linear_world(cache: Path, folder: Path) -> Iterator[Linear]:
    linear = Linear(cache, folder)
    try:
        linear.start()
        yield linear
    finally:
        linear.close()


def _server(linear: Linear) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = linear.serve(body, self.headers.get("Authorization", ""))
            self.close_connection = answer is None
            if answer is None:
                return
            status, headers, content = answer
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is what some tests are about."""

    return Server(("127.0.0.1", 0), Handler)

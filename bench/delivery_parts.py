"""A forge that answers from a table, in a process of its own, and branches and memories that cost nothing."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from ralph.domain.delivery.memory import Delivered
from ralph.engine.delivery.ports import PushRefused

OWNER, NAME = "owner", "demo"


def head_of(number: int) -> str:
    return f"{number:040x}"


BASE = head_of(0)


@dataclass(slots=True)
class StillBranch:
    """Nothing happens on this machine. Implements the ``Branch`` port."""

    number: int

    @property
    def name(self) -> str:
        return f"feature-{self.number}"

    async def tip(self) -> str:
        return head_of(self.number)

    async def is_checked_out(self) -> bool:
        return True

    async def commit_left(self, message: str) -> str:
        return head_of(self.number)

    async def changed_files(self, since: str, commit: str) -> Sequence[str]:
        return ()

    async def brought_files(self, since: str, base: str) -> Sequence[str]:
        return ()

    async def return_home(self) -> str:
        return ""

    async def uncommitted(self) -> Sequence[str]:
        return ()

    async def edited(self) -> Sequence[str]:
        return ()

    async def remote_tip(self) -> str:
        return head_of(self.number)

    async def push(self, commit: str, *, expected: str) -> PushRefused | None:
        return None

    async def contains(self, commit: str) -> bool:
        return True

    async def precedes(self, commit: str, of: str) -> bool:
        return False

    async def is_new_to(self, commit: str) -> bool:
        return True

    async def fetch(self, base: str) -> str:
        return BASE

    async def is_merging(self) -> bool:
        return False

    async def merge(self, commit: str, *, message: str) -> Sequence[str]:
        return ()

    async def abort_merge(self) -> None:
        """There is none."""

    async def subjects(self, since: str) -> Sequence[str]:
        return ()


@dataclass(slots=True)
class PlainMemory:
    delivered: Delivered = field(default_factory=Delivered)

    def load(self) -> Delivered:
        return self.delivered

    def save(self, delivered: Delivered) -> None:
        self.delivered = delivered


# --- the forge's process ---


def answer_to(path: str, pulls: int) -> object:
    """Every pull request waits for one check that is running."""
    root = f"/repos/{OWNER}/{NAME}"
    if found := re.fullmatch(rf"{root}/pulls/(\d+)", path):
        return _pull(int(found[1]))
    if path == f"{root}/pulls":
        return [_pull(number) for number in range(1, pulls + 1)]
    if path == f"{root}/actions/runs":
        runs = [
            {"id": number, "head_sha": head_of(number), "status": "in_progress", "run_attempt": 1}
            for number in range(1, pulls + 1)
        ]
        return {"total_count": pulls, "workflow_runs": runs}
    if found := re.fullmatch(rf"{root}/commits/([0-9a-f]+)/check-runs", path):
        state = (
            {"status": "in_progress", "conclusion": None}
            if found[1] != BASE
            else {"status": "completed", "conclusion": "success"}
        )
        run = {"id": 1, "name": "build", "head_sha": found[1], **state}
        return {"total_count": 1, "check_runs": [run]}
    if path.endswith("/git/ref/heads/main"):
        return {"object": {"sha": BASE}}
    if path == "/user":
        return {"login": OWNER}
    if path.endswith("/protection"):
        return {}
    return []


def _pull(number: int) -> dict[str, object]:
    repo = {"full_name": f"{OWNER}/{NAME}", "owner": {"login": OWNER}}
    return {
        "number": number, "state": "open", "title": "t", "body": "", "html_url": f"http://forge/{number}",
        "head": {"ref": f"feature-{number}", "sha": head_of(number), "repo": repo},
        "base": {"ref": "main", "sha": BASE, "repo": repo}, "mergeable": True, "draft": False,
    }  # fmt: skip


def serve(pulls: int) -> None:
    """On a free port, which is printed."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = re.sub(r"^https?://[^/]+", "", self.path).partition("?")[0].removeprefix("/api/v3")
            body = json.dumps(answer_to(path, pulls)).encode()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            is_known = self.headers.get("If-None-Match") == tag
            self.send_response(304 if is_known else 200)
            self.send_header("ETag", tag)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "0" if is_known else str(len(body)))
            self.end_headers()
            if not is_known:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is printed but the port."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]))

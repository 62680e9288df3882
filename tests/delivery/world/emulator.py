"""The process that answers GitHub's API: emulate, on a free loopback port, with users and tokens of its own."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.live.install import NODE, programs

from .install import EMULATE

START_SECONDS: Final = 30
END_SECONDS: Final = 10
CALL_SECONDS: Final = 60
INSIDE: Final = (
    "http://emulate.invalid"  # how emulate names itself; the front puts in what the client called it
)
CALLS_PER_TOKEN: Final = 4000  # emulate refuses a token after 5000
OWN_TOKENS: Final = 25


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"null")


def new_token() -> str:
    """A token of the shape that GitHub's have, so that masking it can be tested."""
    return f"ghp_{secrets.token_hex(18)}"


class Emulator:
    """One emulate process, and calls to it."""

    service = "github"

    def __init__(
        self, cache: Path, folder: Path, *, owner: str, repository: str, tokens: Mapping[str, str]
    ) -> None:
        self._cache = cache
        self._folder = folder
        self._own_tokens = [new_token() for _ in range(OWN_TOKENS)]
        self._calls = 0
        self._lock = threading.Lock()
        self._seed = {
            "github": {
                "users": [{"login": login} for login in sorted(set(tokens.values()))],
                "repos": [{"owner": owner, "name": repository, "default_branch": "main", "auto_init": False}],
            },
            "tokens": {
                **{
                    token: {"login": login, "scopes": ["repo", "workflow"]} for token, login in tokens.items()
                },
                **{token: {"login": owner, "scopes": ["repo", "workflow"]} for token in self._own_tokens},
            },
        }
        self.port = 0
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        seed = self._folder / "seed.yaml"
        seed.write_text(yaml.safe_dump(self._seed))
        for _ in range(5):  # someone may take the port between our asking for it and emulate's
            self.port = _free_port()
            if self._start_at(self.port, seed):
                return
            self.close()
        raise AssertionError("emulate did not start")

    def _start_at(self, port: int, seed: Path) -> bool:
        node = programs(self._cache, NODE) / "node"
        program = programs(self._cache, EMULATE) / "emulate"
        options = ["--service", self.service, "--port", str(port), "--seed", str(seed), "--base-url", INSIDE]
        process = subprocess.Popen(
            [node, program, "start", *options],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._process = process
        ready = threading.Event()
        ended = threading.Event()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                if "Ready" in line:
                    ready.set()
                    ended.set()
            ended.set()

        threading.Thread(target=read, daemon=True).start()
        ended.wait(START_SECONDS)
        return ready.is_set()

    def close(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None

    def call(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Answer:
        """Ask as the user of ``token``; as the owner, without a limit, if none is given."""
        raw = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {token or self._own_token()}", "Content-Type": "application/json"}
        return self.forward(method, path, raw, headers)

    def forward(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CALL_SECONDS)
        try:
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
            return Answer(response.status, response.read(), dict(response.getheaders()))
        finally:
            connection.close()

    def must(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Any:
        """An answer that has to be a good one."""
        answer = self.call(method, path, body, token=token)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.body[:500]!r}"
        return answer.json

    def _own_token(self) -> str:
        with self._lock:
            self._calls += 1
            return self._own_tokens[self._calls // CALLS_PER_TOKEN % OWN_TOKENS]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

"""A transport that answers from a table: what GitHub makes of an answer is under test, not how it came."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ralph.adapters.online.transport import Answer, Request


class FakeTransport:
    """``answers``: by ``METHOD path``, without the query; whatever is not there is a 404. A list is given one by one."""

    cost = 0.01

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = dict(answers)
        self.asked: list[Request] = []

    async def ask(self, request: Request) -> Answer:
        self.asked.append(request)
        path = request.path.partition("?")[0].removeprefix("repos/o/r").lstrip("/")
        found = self.answers.get(f"{request.method} {path}")
        if isinstance(found, Answers):
            found = found.pop(0) if len(found) > 1 else found[0]
        return found if isinstance(found, Answer) else answer(404 if found is None else 200, found)

    def sent(self, method: str, path: str) -> list[Any]:
        """The bodies that went there."""
        return [
            json.loads(request.body or b"null")
            for request in self.asked
            if (request.method, request.path) == (method, f"repos/o/r/{path}" if path != "graphql" else path)
        ]


class Answers(list[Any]):
    """One after the other; the last one stays."""


def answer(status: int, body: Any = None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, body if isinstance(body, bytes) else json.dumps(body).encode())


def refusal(status: int, message: str, **headers: str) -> Answer:
    return answer(status, {"message": message}, **headers)

"""A forge that is slow, broken, busy or unwilling: clear errors by every way to it, and nothing done twice."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.forges.github import GitHub
from ralph.adapters.online.caching import Caching
from ralph.adapters.online.gh import GhTransport
from ralph.adapters.online.https import HttpsTransport
from ralph.adapters.online.transport import Transport
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.delivery.facts import MergeMethod, PullState
from ralph.domain.delivery.texts import answer_text
from ralph.engine.delivery.ports import NewPullRequest
from ralph.errors import RalphError, ServiceAway, ServiceRefused

from .world.forge import Forge

WANTED = NewPullRequest(branch="work", base="main", title="Add a thing", body="It adds a thing.")


def by_gh(forge: Forge, folder: Path, *, seconds: float, most: int, token: str) -> Transport:
    environment = {**os.environ, **forge.environment(), "GH_TOKEN": token}
    runner = PosixProcessRunner(run_id="faults", base_environment=environment)
    return GhTransport(runner, host="github.localhost", cwd=folder, seconds=seconds, most=most)


def by_https(forge: Forge, folder: Path, *, seconds: float, most: int, token: str) -> Transport:
    return HttpsTransport(forge.url, token, seconds=seconds, most=most)


@pytest.fixture(params=[by_gh, by_https], ids=["gh", "https"])
def reach(request: pytest.FixtureRequest, forge: Forge, tmp_path: Path) -> Callable[..., GitHub]:
    def reach(*, seconds: float = 30.0, most: int = 20_000_000, token: str = "") -> GitHub:
        transport = request.param(
            forge, tmp_path, seconds=seconds, most=most, token=token or forge.token("owner")
        )
        return GitHub(Caching(transport), "owner1", "demo")

    return reach


def run(asked: Any) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(asked, 60)

    return asyncio.run(bounded())


def problem(asked: Any) -> RalphError:
    with pytest.raises(RalphError) as caught:
        run(asked)
    return caught.value


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ({"status": 500, "body": "oops"}, ServiceAway, "500"),
        ({"status": 502, "body": "<html>bad gateway</html>"}, ServiceAway, "502"),
        (
            {"status": 200, "body": "<html>log in to the hotel's network</html>"},
            ServiceAway,
            "could not be read",
        ),
        (
            {"status": 200, "body": '{"full_name": ["no"], "default_branch": 7}'},
            ServiceAway,
            "could not be read",
        ),
        ({"status": 200, "body": b"\xff\xfe\x00"}, ServiceAway, "be rea"),
        ({"status": 200, "body": "[" * 100_000}, ServiceAway, "could not be read"),
        ({"close": True}, ServiceAway, "reached"),
        ({"status": 401, "body": {"message": "Bad credentials"}}, ServiceRefused, "not logged in"),
        (
            {"status": 403, "body": {"message": "Resource protected by organization SAML"}},
            ServiceRefused,
            "SAML",
        ),
        ({"status": 404, "body": {"message": "Not Found"}}, ServiceRefused, "no such repository"),
        (
            {
                "status": 422,
                "body": {"message": "Validation Failed", "errors": [{"message": "no \x1b[31mred"}]},
            },
            ServiceRefused,
            "red",
        ),
    ],
)
def test_every_wrong_answer_is_a_clear_error(
    forge: Forge, reach: Callable[..., GitHub], wrong: Mapping[str, Any], kind: type[RalphError], words: str
) -> None:
    forge.misbehave(r"GET /repos/owner1/demo$", **wrong)

    error = problem(reach().repository())

    assert type(error) is kind or issubclass(type(error), kind)
    assert words in error.message
    assert "\x1b" not in error.message


def test_a_wrong_token_says_how_to_log_in(forge: Forge, reach: Callable[..., GitHub]) -> None:
    error = problem(reach(token="ghp_nobodys").repository())

    assert isinstance(error, ServiceRefused)
    assert "gh auth login" in error.hint
    assert "GITHUB_TOKEN" in error.hint
    assert "ghp_nobodys" not in f"{error.message} {error.hint}"


def test_a_slow_forge_is_not_waited_for(forge: Forge, reach: Callable[..., GitHub]) -> None:
    forge.misbehave(r"GET /repos/owner1/demo$", delay=20, times=1)
    begin = time.monotonic()

    error = problem(reach(seconds=1.0).repository())

    assert isinstance(error, ServiceAway)
    assert "within 1 seconds" in error.message
    assert time.monotonic() - begin < 15


def test_an_answer_without_end_is_not_taken(forge: Forge, reach: Callable[..., GitHub]) -> None:
    forge.misbehave(r"GET /repos/owner1/demo$", status=200, body=b"[" + b"1," * 1_000_000)

    error = problem(reach(most=100_000).repository())

    assert isinstance(error, ServiceAway)
    assert "100,000 bytes" in error.message


def test_a_server_that_is_not_there(forge: Forge, reach: Callable[..., GitHub]) -> None:
    github = reach()
    assert run(github.repository()).name == "owner1/demo"
    forge.misbehave("", close=True)

    assert isinstance(problem(github.repository()), ServiceAway)

    forge.behave()
    assert run(github.repository()).name == "owner1/demo"


@pytest.mark.parametrize(
    ("headers", "message", "least", "most"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "SOON"}, "API rate limit exceeded", 80, 120),
        ({"retry-after": "7"}, "You have exceeded a secondary rate limit.", 6, 7),
        ({}, "You have exceeded a secondary rate limit. Please wait.", 59, 60),
    ],
)
def test_a_limit_is_obeyed_without_asking_again(
    forge: Forge,
    reach: Callable[..., GitHub],
    headers: Mapping[str, str],
    message: str,
    least: float,
    most: float,
) -> None:
    soon = str(int(time.time()) + 100)
    given = {name: value.replace("SOON", soon) for name, value in headers.items()}
    forge.misbehave(r"GET /repos/owner1/demo$", status=403, headers=given, body={"message": message}, times=1)
    github = reach()

    first = problem(github.repository())
    asked = len(forge.requests)
    second = problem(github.pull(1))

    for error in (first, second):
        assert isinstance(error, ServiceAway)
        assert error.after is not None
        assert least <= error.after <= most
    assert len(forge.requests) == asked


def test_a_reader_is_told_that_they_may_not(forge: Forge, reach: Callable[..., GitHub]) -> None:
    head = forge.push_as_someone_else("work", {"a.txt": "1\n"})
    number = forge.open_pull("work")
    github = reach(token=forge.token("reader"))

    assert not run(github.repository()).can_push
    error = problem(github.merge(number, head=head, method=MergeMethod.MERGE))

    assert isinstance(error, ServiceRefused)
    assert run(github.pull(number)).state is PullState.OPEN


def test_what_was_done_before_the_answer_was_lost_is_not_done_again(
    forge: Forge, reach: Callable[..., GitHub]
) -> None:
    head = forge.push_as_someone_else("work", {"a.txt": "1\n"})
    for match in (r"POST .*/pulls$", r"POST .*/replies$", r"POST .*/issues/\d+/comments$", r"PUT .*/merge$"):
        forge.misbehave(match, close=True, after=True, times=1)
    github = reach()

    assert isinstance(problem(github.open(WANTED)), ServiceAway)
    pull, _ = run(github.open(WANTED))
    assert len(forge.pulls()) == 1

    forge.review("colleague", "COMMENTED", number=pull.number, comments=[("a.txt", 1, "here")])
    forge.comment("colleague", "and there", number=pull.number)
    remarks = run(github.opinions(pull.number)).remarks
    for remark in remarks:
        text = answer_text(remark, head)
        assert isinstance(problem(github.answer(pull.number, remark, text)), ServiceAway)
        run(github.answer(pull.number, remark, text))
    assert len(forge.line_comments(pull.number)) == 2
    assert len(forge.comments(pull.number)) == 2

    assert isinstance(problem(github.merge(pull.number, head=head, method=MergeMethod.MERGE)), ServiceAway)
    told = run(github.merge(pull.number, head=head, method=MergeMethod.MERGE))
    assert told.startswith("merged as ")
    assert len(forge.requested(r"PUT .*/merge$")) == 2


def test_looking_again_at_what_has_not_changed_transfers_nothing(
    forge: Forge, reach: Callable[..., GitHub]
) -> None:
    head = forge.push_as_someone_else("work", {"a.txt": "1\n"})
    number = forge.open_pull("work")
    forge.check(head, "tests", "success")
    github = reach()

    def look() -> tuple[Any, ...]:
        return run(github.pull(number)), run(github.checks(head)), run(github.pulse())

    first = look()
    before = len(forge.requests)
    assert look() == first
    again = forge.requests[before:]
    assert again
    assert all(request.headers.get("if-none-match") for request in again)
    forge.check(head, "lint", "failure")
    assert look() != first


def test_a_log_is_found_where_github_keeps_it(forge: Forge, reach: Callable[..., GitHub]) -> None:
    head = forge.push_as_someone_else("work", {"a.txt": "1\n"})
    forge.check(head, "tests", "failure", log="boom\n", step="pytest")
    github = reach()

    log = run(github.failure(run(github.checks(head))[0]))

    assert log.text.strip() == "boom"
    assert forge.requested(r"GET .*/actions/jobs/\d+/logs")

"""`ralph ship` and a forge that is broken, busy, slow or unwilling: it says so, does nothing twice, and recovers.

What every wrong answer means is tried in ``test_forge_faults``; here, what `ralph ship` makes of it, by gh and over HTTPS.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import DONE

from .shipping import GREEN, RED, ShipProject, on_each_push, over_https, says, ship_project
from .test_ship_bad_input import CANNOT, WAITING, refused, require_plain
from .world.forge import Forge

REPOSITORY = r"GET /repos/owner1/demo$"
CHECKS = r"GET .*/check-runs"
OOPS: Mapping[str, Any] = {"status": 500, "body": {"message": "oops"}}
PAGE: Mapping[str, Any] = {"status": 200, "body": "<html>log in to the hotel's network</html>"}
CLOSED: Mapping[str, Any] = {"close": True}
BUSY: Mapping[str, Any] = {"status": 403, "body": {"message": "You have exceeded a secondary rate limit"}}


@pytest.fixture(params=["gh", "https"])
def project(request: pytest.FixtureRequest, forge: Forge, tmp_path: Path) -> ShipProject:
    made = ship_project(forge, tmp_path)
    return made if request.param == "gh" else over_https(made)


@pytest.fixture
def quick(forge: Forge, tmp_path: Path) -> ShipProject:
    """Over HTTPS, for what does not depend on the way."""
    return over_https(ship_project(forge, tmp_path))


def resume(project: ShipProject, code: int = 0) -> str:
    told = project.ralph("resume", check=code).stderr
    require_plain(told)
    return told


# --- at the start: nothing was begun, so nothing is waited for ---


def test_a_broken_forge_at_the_start(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", GREEN)])
    again = "nothing was started; try again when the forge answers"
    for wrong, code, words, hint in (
        (OOPS, WAITING, "GitHub answered 500: oops", again),
        (PAGE, WAITING, "could not be read", again),
        (CLOSED, WAITING, "cannot be reached", again),
        ({**BUSY, "headers": {"retry-after": "70"}}, WAITING, "GitHub limits requests", again),
        (
            {"status": 401, "body": {"message": "Bad credentials"}},
            CANNOT,
            "not logged in to GitHub",
            "gh auth login",
        ),
        (
            {"status": 403, "body": {"message": "blocked by SAML"}},
            CANNOT,
            "blocked by SAML",
            "log in as someone",
        ),
        (
            {"status": 404, "body": {"message": "Not Found"}},
            CANNOT,
            "no such repository",
            "address of the remote",
        ),
    ):
        forge.misbehave(REPOSITORY, **wrong)

        refused(project, code=code, says=words, hint=hint)

        forge.behave()
    project.ship(check=0)


def test_a_slow_forge_is_as_good_as_a_quick_one(project: ShipProject, forge: Forge) -> None:
    on_each_push(forge, [("build", GREEN)])
    forge.misbehave(r"GET .*/(demo|pulls/1|check-runs.*)$", delay=1, times=5)

    project.ship(check=0)

    assert len(forge.requested(r"POST .*/pulls$")) == 1


# --- on the way ---


@pytest.mark.parametrize(
    ("match", "wrong", "words"),
    [
        (CHECKS, {**OOPS, "times": 1}, "GitHub answered 500: oops"),
        (r"GET .*/pulls/1$", {**PAGE, "times": 1}, "could not be read"),
        # A connection that was kept open is tried once more without a word: it may just have been old.
        (r"GET .*/rules/branches/main", {**CLOSED, "times": 2}, "cannot be reached"),
    ],
    ids=["500", "garbage", "closed"],
)
def test_a_forge_that_breaks_for_a_moment_is_waited_for_and_that_is_told(
    quick: ShipProject, forge: Forge, match: str, wrong: Mapping[str, Any], words: str
) -> None:
    quick.setting(pullRequest={"wait": 60})
    on_each_push(forge, [("build", GREEN)])
    forge.misbehave(match, **wrong)

    shipped = quick.ship(check=0)

    assert words in shipped.stderr
    require_plain(shipped.stderr)
    assert len(forge.requested(r"POST .*/pulls$")) == 1
    assert not quick.prompts()


def test_a_forge_that_stays_broken_ends_the_wait_and_resume_continues(
    project: ShipProject, forge: Forge
) -> None:
    on_each_push(forge, [("build", GREEN)])
    forge.misbehave(CHECKS, **OOPS)

    ended = project.ship(check=WAITING)

    assert "GitHub answered 500: oops" in ended.stderr
    assert "ralph resume" in ended.stderr
    forge.behave()
    resume(project)
    assert len(forge.requested(r"POST .*/pulls$")) == 1
    assert len(forge.pulls()) == 1


def test_a_run_whose_forge_is_away_when_it_is_resumed_can_be_resumed_again(
    quick: ShipProject, forge: Forge
) -> None:
    on_each_push(forge, [("build", {"status": "queued"})])
    quick.ship(check=WAITING)
    (build,) = forge.checks(quick.tip)
    forge.finish(build["id"], "success")
    forge.misbehave("", **CLOSED)

    told = resume(quick, WAITING)

    assert "cannot be reached" in told
    assert "`ralph resume` continues when the forge answers" in told
    forge.behave()
    assert "every check passed" in resume(quick)


@pytest.mark.parametrize("match", [r"POST .*/pulls$", r"PUT .*/merge$"], ids=["open", "merge"])
def test_what_was_done_before_the_answer_was_lost_is_not_done_again(
    project: ShipProject, forge: Forge, match: str
) -> None:
    project.setting(pullRequest={"wait": 60, "merge": "squash"})
    on_each_push(forge, [("build", GREEN)])
    forge.misbehave(match, close=True, after=True, times=1)

    project.ship(check=0)

    (pull,) = forge.pulls()
    assert pull["merged_at"]
    assert len(forge.git("log", "--format=%H", "main").split()) == 2, "merged once"


def test_a_rerun_whose_answer_was_lost_is_not_asked_for_again(quick: ShipProject, forge: Forge) -> None:
    quick.setting(pullRequest={"wait": 60})
    on_each_push(forge, [("build", {"conclusion": "cancelled"})])
    forge.on_rerun = lambda job: forge.finish(job.id, "success")
    forge.misbehave(r"POST .*/rerun-failed-jobs$", close=True, after=True, times=1)

    quick.ship(check=0)

    assert len(forge.checks(quick.tip, every=True)) == 2, "run again once"


@pytest.mark.parametrize("is_primary", [True, False], ids=["primary", "secondary"])
def test_a_limit_on_the_way_is_obeyed_and_then_it_continues(
    quick: ShipProject, forge: Forge, is_primary: bool
) -> None:
    quick.setting(pullRequest={"wait": 60})
    on_each_push(forge, [("build", GREEN)])
    reset = str(int(time.time()) + 8)
    primary = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    forge.misbehave(CHECKS, **BUSY, headers=primary if is_primary else {"retry-after": "3"}, times=1)

    shipped = quick.ship(check=0)

    assert "GitHub limits requests" in shipped.stderr
    assert len(forge.requested(r"POST .*/pulls$")) == 1
    if is_primary:
        assert time.time() >= int(reset), "nothing was asked before"


@pytest.mark.parametrize(
    ("match", "status", "said", "words"),
    [
        (CHECKS, 401, "Bad credentials", "not logged in to GitHub"),
        (r"POST .*/pulls$", 403, "Resource not accessible by personal access token", "does not permit it"),
        (r"POST .*/pulls$", 422, "base is not allowed here", "base is not allowed here"),
        (r"GET .*/pulls/1$", 404, "Not Found", "there is no pull request #1 in owner1/demo"),
    ],
    ids=["401", "403", "422", "404"],
)
def test_a_refusal_on_the_way_ends_the_run_and_nothing_is_lost(
    quick: ShipProject, forge: Forge, match: str, status: int, said: str, words: str
) -> None:
    on_each_push(forge, [("build", GREEN)])
    forge.misbehave(match, status=status, body={"message": said})

    ended = quick.ship(check=CANNOT)

    assert words in ended.stderr
    require_plain(ended.stderr)
    assert forge.tip("feature") == quick.tip, "what was pushed stays"
    forge.behave()
    quick.ship(check=0)
    assert len(forge.pulls()) == 1


# --- a failed check of which little can be learned ---


@pytest.mark.parametrize(
    ("match", "wrong"),
    [
        (r"GET .*/annotations", {"status": 200, "body": {"not": "a list"}}),
        (r"GET .*/annotations", OOPS),
        (r"GET .*/jobs/\d+/logs", {"status": 404, "body": {"message": "gone"}}),
        (r"GET .*/jobs/\d+$", PAGE),
        (r"GET .*/check-runs/\d+$", PAGE),
    ],
    ids=["odd annotations", "no annotations", "no log", "no job", "no check run"],
)
def test_what_cannot_be_learned_of_a_failure_does_not_keep_it_from_being_fixed(
    quick: ShipProject, forge: Forge, match: str, wrong: Mapping[str, Any]
) -> None:
    place = {
        "path": "work.txt",
        "start_line": 1,
        "end_line": 1,
        "annotation_level": "failure",
        "message": "no",
    }
    red = {**RED, "output": {"title": "red", "summary": "it is red", "annotations": [place]}}
    on_each_push(forge, [("build", red)], [("build", GREEN)])
    quick.agent(says(DONE, work__txt="2\n"))
    forge.misbehave(match, **wrong)

    quick.ship(check=0)

    (prompt,) = quick.prompts()
    assert 'Check "build" failed' in prompt
    assert ("assert add(1, 1) == 2" in prompt) or ("it is red" in prompt)


# --- the remote ---


def test_a_remote_that_is_gone(quick: ShipProject, forge: Forge) -> None:
    quick.git("remote", "set-url", "origin", str(Path(forge.remote).parent / "nowhere.git"))

    refused(quick, code=CANNOT, says="git fetch cannot use the remote", hint="try `git fetch` by hand")

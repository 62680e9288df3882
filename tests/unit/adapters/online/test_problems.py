from __future__ import annotations

import pytest
from tests.fake_transport import answer, refusal

from ralph.adapters.online.problems import problem_of
from ralph.adapters.online.transport import Answer
from ralph.errors import RalphError, ServiceAway, ServiceRefused

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (refusal(401, "Bad credentials"), ServiceRefused, "not logged in to GitHub: Bad credentials"),
        (
            refusal(403, "Must have admin rights"),
            ServiceRefused,
            "does not permit it: Must have admin rights",
        ),
        (refusal(404, "Not Found"), ServiceRefused, "no such repository"),
        (refusal(410, "Gone"), ServiceRefused, "no such"),
        (refusal(405, "Pull Request is not mergeable"), ServiceRefused, "not mergeable"),
        (refusal(422, "Validation Failed"), ServiceRefused, "Validation Failed"),
        (answer(422, {"message": "Bad", "errors": ["a", {"message": "b"}]}), ServiceRefused, "Bad; a; b"),
        (
            answer(422, {"message": "Bad", "errors": [{"field": "head", "code": "invalid"}]}),
            ServiceRefused,
            "Bad; head invalid",
        ),
        (answer(418, b"<html>"), ServiceRefused, "status 418"),
        (answer(302), ServiceAway, "302"),
        (answer(408), ServiceAway, "408"),
        (refusal(500, "Server Error"), ServiceAway, "Server Error"),
        (answer(503, b""), ServiceAway, "503"),
        (answer(999), ServiceAway, "999"),
    ],
)
def test_what_a_status_means(given: Answer, kind: type[RalphError], words: str) -> None:
    error = problem_of(given, now=NOW)

    assert isinstance(error, kind)
    assert words in error.message


@pytest.mark.parametrize("status", [200, 201, 204])
def test_no_problem(status: int) -> None:
    assert problem_of(answer(status), now=NOW) is None


@pytest.mark.parametrize(
    ("given", "after"),
    [
        (refusal(403, "x", x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW) + 90)), 90.0),
        (refusal(429, "x", x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW) - 90)), 1.0),
        (refusal(403, "x", x_ratelimit_remaining="0", x_ratelimit_reset="9999999999"), 3600.0),
        (refusal(403, "x", x_ratelimit_remaining="0"), 60.0),
        (refusal(403, "x", x_ratelimit_remaining="0", x_ratelimit_reset="soon"), 60.0),
        (refusal(403, "x", retry_after="17"), 17.0),
        (refusal(429, "x", retry_after="-1"), 60.0),
        (refusal(403, "You have exceeded a secondary rate limit."), 60.0),
        (refusal(403, "You have triggered an abuse detection mechanism."), 60.0),
        (refusal(429, "slow down"), 60.0),
    ],
)
def test_a_limit_says_how_long_to_wait(given: Answer, after: float) -> None:
    error = problem_of(given, now=NOW)

    assert isinstance(error, ServiceAway)
    assert error.after == after


def test_the_words_of_a_forge_are_one_short_line() -> None:
    error = problem_of(refusal(422, "a\r\n\x1b[2Jb\u202e " * 10_000), now=NOW)

    assert error is not None
    assert error.message.isprintable()
    assert len(error.message) < 600

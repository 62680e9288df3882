"""A failure that GitHub cannot tell well never keeps a fix from happening."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.fake_transport import FakeTransport, answer, refusal

from ralph.adapters.forges.github import MOST_LOG_TRIES, GitHub
from ralph.domain.delivery.facts import CheckRun, CheckState
from ralph.domain.delivery.texts import FailureLog
from ralph.errors import ServiceAway

RUN = CheckRun("tests", CheckState.FAILED, "a" * 40, "11", 0.0, "https://ci/11")
OUTPUT = {"output": {"title": "bad", "annotations_count": 2}}
LOG = "GET actions/jobs/11/logs"


def table(answers: dict[str, Any]) -> GitHub:
    return GitHub(FakeTransport(answers), "o", "r", now=lambda: 1_000.0)


@pytest.mark.parametrize(
    "wrong", [{"not": "a list"}, [1, 2], None, "text", b"<html>", refusal(500, "oops"), refusal(404, "none")]
)
def test_annotations_that_cannot_be_read_are_left_out(wrong: Any) -> None:
    forge = table({"GET check-runs/11": OUTPUT, "GET check-runs/11/annotations": wrong, LOG: b"boom"})

    assert asyncio.run(forge.failure(RUN)) == FailureLog("tests", "boom", url="https://ci/11")


@pytest.mark.parametrize("wrong", [[], None, b"<html>", refusal(502, "oops"), refusal(404, "none")])
def test_a_check_or_job_that_cannot_be_read_leaves_the_log(wrong: Any) -> None:
    forge = table({"GET check-runs/11": wrong, "GET actions/jobs/11": wrong, LOG: b"boom"})

    assert asyncio.run(forge.failure(RUN)) == FailureLog("tests", "boom", url="https://ci/11")


def test_a_log_is_waited_for_a_while_and_then_done_without() -> None:
    forge = table({"GET check-runs/11": OUTPUT, LOG: refusal(500, "oops")})

    for _ in range(MOST_LOG_TRIES - 1):
        with pytest.raises(ServiceAway):
            asyncio.run(forge.failure(RUN))

    assert asyncio.run(forge.failure(RUN)) == FailureLog("tests", "bad", url="https://ci/11")


def test_a_limit_of_requests_is_always_waited_for() -> None:
    forge = table({"GET check-runs/11": OUTPUT, LOG: refusal(403, "secondary rate limit", retry_after="5")})

    for _ in range(2 * MOST_LOG_TRIES):
        with pytest.raises(ServiceAway) as limited:
            asyncio.run(forge.failure(RUN))
        assert limited.value.after == 5.0


def test_a_status_without_a_description_is_still_a_failure() -> None:
    status = CheckRun("ci", CheckState.FAILED, "a" * 40, "status-3")
    forge = table({f"GET commits/{status.commit}/statuses": answer(200, {"no": "list"})})

    assert asyncio.run(forge.failure(status)) == FailureLog("ci")

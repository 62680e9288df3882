"""What a worker prints."""

from __future__ import annotations

import io
import json
import re

import pytest

from ralph.domain.fleet.worker_news import (
    ClonesRemoved,
    JobUnreadable,
    ServerBack,
    ServerLost,
    ShiftBegan,
    ShiftEnded,
    ShiftLost,
    WorkerLeaving,
    WorkerNews,
    WorkerReady,
)
from ralph.interfaces.cli.fleet.worker_console import WorkerConsole

CLOCK = re.compile(r"\d\d:\d\d:\d\d ")
READY = WorkerReady(
    worker="w1",
    address="localhost:7233",
    namespace="default",
    labels=("gpu", "linux"),
    slots=2,
    sandbox="bwrap: as asked",
    home="/home/me/clones",
    version="1.0",
)


def ended(**changes: object) -> ShiftEnded:
    told = {"job": "a-1", "turn": 2, "iteration": 3, "decision": "continue", "next": "session", "reason": ""}
    return ShiftEnded(**{**told, "seconds": 75.0, **changes})  # type: ignore[arg-type]


def printed(news: WorkerNews, *, as_json: bool = False) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    WorkerConsole(out, err, as_json=as_json).tell(news)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("news", "said"),
    [
        (READY, "worker w1, ralph 1.0: 2 sessions at a time, labels gpu, linux"),
        (ShiftBegan(job="a-1", turn=0), "a-1: started"),
        (ShiftBegan(job="a-1", turn=1), "a-1: continued"),
        (ended(), "a-1: iteration 3 not done yet (1m15s)"),
        (ended(next="wait", reason="the limit resets at 5"), "yet, waits: the limit resets at 5"),
        (ended(next="completed", decision="accept"), "iteration 3 accepted, completed"),
        (ended(next="exhausted"), "iteration 3 not done yet, limit reached"),
        (JobUnreadable(job="a-1", reason="encrypted"), "a-1: cannot be read here: it is encrypted"),
        (ended(iteration=0, decision="", next="wait", reason="no place"), "a-1: waits: no place"),
        (ShiftLost(job="a-1", turn=1, reason="killed", hint="look there", seconds=1.0), "  look there"),
        (ServerLost(reason="refused"), "sessions under way continue"),
        (ServerBack(seconds=30.0), "back after 30s"),
        (ClonesRemoved(count=1), "removed 1 clone of"),
        (WorkerLeaving(sessions=2, now=False), "2 sessions to finish first"),
        (WorkerLeaving(sessions=0, now=False), "no more jobs are taken\n"),
        (WorkerLeaving(sessions=1, now=True), "other workers do them again"),
    ],
)
def test_a_line_says_it(news: WorkerNews, said: str) -> None:
    out, err = printed(news)
    assert said in err
    assert CLOCK.match(err)
    assert out == ""


def test_json_is_data() -> None:
    out, err = printed(READY, as_json=True)
    found = json.loads(out)
    assert (found["kind"], found["worker"], found["labels"]) == ("worker_ready", "w1", ["gpu", "linux"])
    assert found["at"] > 0
    assert err == ""


def test_what_comes_from_elsewhere_cannot_move_the_cursor() -> None:
    assert "\x1b" not in printed(ended(reason="\x1b[2Jgone"))[1]

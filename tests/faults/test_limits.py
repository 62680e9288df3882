"""Money, time and limits: a run neither runs away nor waits deaf."""

from __future__ import annotations

import pytest

from tests.acceptance.running import wait_for

from .loops import HONEST, LIMITED, UNITTEST, Loop, Work

pytestmark = pytest.mark.promise("No runaway costs")


@pytest.mark.act("spends without end")
def test_a_limit_of_money_holds(loop: Loop) -> None:
    loop.agent("", claims=False, speaks="claude")
    loop.settings["limits"]["stuckAfter"] = 0
    ran = loop.run("--max-cost", "2", times=9)
    assert ran.returncode == 1, ran.stderr
    assert loop.launches() == 2, "a dollar each"


@pytest.mark.act("makes no progress")
def test_a_loop_that_stands_still_is_ended(loop: Loop) -> None:
    if loop.kind == "supervise":
        pytest.skip("its limit is --max-restarts")
    loop.agent("say thinking", claims=False)
    loop.settings["limits"]["stuckAfter"] = 2
    ran = loop.run(times=9)
    assert ran.returncode == 1, ran.stderr
    assert loop.launches() == 2


@pytest.mark.act("is rate-limited (--no-wait)")
def test_a_limited_agent_waits_outside(loop: Loop) -> None:
    loop.agent(f'if [ ! -e "$here/free" ]; then\n{LIMITED}fi; {HONEST}', speaks="claude")
    ran = loop.run("--no-wait", times=2)
    assert ran.returncode == 5, ran.stderr
    (loop.programs / "free").touch()
    again = loop.ralph(*loop.again())
    assert again.returncode == 0, again.stderr
    assert loop.believed()


def waits(loop: Loop) -> None:
    wait_for(lambda: loop.query("SELECT 1 FROM events WHERE kind = 'pause_began'") != [], "the wait")


@pytest.mark.parametrize("act", ["is stopped while it waits", "is out of time while it waits"])
def test_a_wait_is_not_deaf(loop: Loop, act: str) -> None:
    loop.agent(LIMITED, speaks="claude")
    more = ["--max-time", "3"] if "time" in act.split() else []
    loop.prepare(times=2)
    with loop.running(*loop.command(), *more) as process:
        if not more:
            waits(loop)
            loop.ralph("stop")
        assert process.wait(timeout=40) == (1 if more else 130), loop.output()


@pytest.mark.parametrize(
    "act", ["is stopped before its first session", "is out of time before its first session"]
)
def test_what_comes_before_the_first_session_ends_too(loop: Loop, act: str) -> None:
    """The canary's trial hangs: it proves nothing, and is tried again."""
    trial, fast = loop.programs / "trial", loop.programs / "fast"
    loop.agent(HONEST)
    loop.prepare(f"test -e {fast} || {{ touch {trial}; exec sleep 3600; }}; {UNITTEST}")
    more = ["--max-time", "4"] if "time" in act.split() else []
    with loop.running(*loop.command(), *more) as process:
        if not more:
            wait_for(trial.exists, "the trial")
            loop.ralph("stop")
        assert process.wait(timeout=40) == (1 if more else 130), loop.output()
    assert loop.launches() == 0, loop.output()
    fast.touch()
    again = loop.ralph(*loop.again(), "-V", *(["--max-time", "1000"] if more else []))
    assert again.returncode == 0, again.stderr
    assert "planted failing test, at the start (notices" in again.stderr


@pytest.mark.act("writes DONE while ralph waits")
def test_done_is_noticed_in_a_wait(loop: Loop) -> None:
    if loop.kind != "supervise":
        pytest.skip("its claim is made in a session")
    loop.agent(LIMITED, speaks="claude")
    loop.prepare("true", times=2)
    with loop.running(*loop.command()) as process:
        waits(loop)
        (loop.root / ".ralph" / "tasks" / "t" / "DONE").touch()
        assert process.wait(timeout=30) == 0, loop.output()


@pytest.mark.act("is judged by a rate-limited judge")
def test_a_limited_judge_is_no_proof(loop: Loop) -> None:
    """Where nobody else judges, fresh eyes are asked whether the tests may change."""
    loop.judge(LIMITED)
    loop.review(LIMITED)
    changes = "" if loop.kind in ("work", "plan") else "sed -i s/the_answer/an_answer/ tests/test_work.py"
    loop.agent(f"{HONEST}; {changes}", speaks="claude")
    if isinstance(loop, Work):
        loop.method = "semantic"
    ran = loop.run("--no-wait")
    assert ran.returncode == 5, ran.stderr
    assert not loop.believed()

"""Sessions end when they must, with everything that they started, and so does ralph."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.acceptance.running import alive, wait_for

from .loops import HONEST, Loop, Work

pytestmark = pytest.mark.promise("No hangs, no orphans")

SLEEPS = 'echo $$ > "$here/pid"; exec sleep 600'
STUBBORN = """trap '' INT TERM HUP
echo $$ > "$here/pid"
while :; do sleep 1; done"""
DAEMON = """env -i PATH="$PATH" setsid sh -c 'echo $$ > "$0"; exec sleep 600' "$here/pid-daemon" > /dev/null 2>&1 < /dev/null &
until [ -s "$here/pid-daemon" ]; do sleep 0.02; done
"""
FORKS = """i=0; while [ $i -lt 30 ]; do (setsid sh -c 'echo $$ > "$0"; exec sleep 600' "$here/pid-$i" &) ; i=$((i + 1)); done
until [ "$(cat "$here"/pid-* 2>/dev/null | wc -l)" = 30 ]; do sleep 0.02; done
"""


def gone(loop: Loop) -> None:
    """Every process whose pid the agent wrote down."""
    files = list(loop.programs.glob("pid*"))
    assert files, "it never came to that"
    for file in files:
        wait_for(lambda file=file: not alive(file), f"the end of {file.name}", 20)  # type: ignore[misc]


def session(loop: Loop) -> None:
    wait_for(lambda: (loop.programs / "pid").exists(), "the session")


@pytest.mark.parametrize("act", ["is silent", "takes too long", "outlasts --max-time"])
def test_a_session_that_does_not_end_is_ended(loop: Loop, act: str) -> None:
    loop.agent(SLEEPS)
    more: list[str] = []
    if act == "is silent":
        loop.settings["agent"]["idleTimeout"] = 1
    elif act == "takes too long":
        loop.settings["agent"]["timeout"] = 1
    else:
        more = ["--max-time", "8"]  # long enough to begin it on a busy machine
    ran = loop.run(*more, check="true")
    assert ran.returncode == 1, ran.stderr
    gone(loop)


@pytest.mark.act("ignores signals")
def test_an_agent_that_ignores_signals_is_ended(loop: Loop) -> None:
    loop.settings["agent"]["timeout"] = 1
    loop.agent(STUBBORN)
    ran = loop.run()
    assert ran.returncode == 1, ran.stderr
    gone(loop)


@pytest.mark.parametrize(
    ("act", "body"), [("leaves a daemon without environment", DAEMON), ("forks thirty daemons", FORKS)]
)
def test_what_an_agent_leaves_behind_is_ended(loop: Loop, act: str, body: str) -> None:
    loop.agent(f"{body}{HONEST}")
    ran = loop.run()
    assert ran.returncode == 0, ran.stderr
    gone(loop)


@pytest.mark.act("leaves a daemon beside another session")
def test_what_one_of_two_sessions_leaves_behind_is_ended_before_it_is_judged(loop: Loop) -> None:
    if not isinstance(loop, Work):
        pytest.skip("one session at a time")
    loop.tasks = ("T-1", "T-2")
    loop.agent(
        f"{HONEST}\n"
        'if [ "$RALPH_TASK_ID" = T-2 ]; then touch "$here/other"; until [ -e "$here/go" ]; do sleep 0.05; done; else\n'
        f'until [ -e "$here/other" ]; do sleep 0.05; done\n{DAEMON}fi'
    )
    loop.prepare()
    with loop.running(*loop.command(), "--max-parallel", "2") as process:
        merged = "SELECT 1 FROM tasks WHERE id = 'T-1' AND status = 'done'"
        wait_for(lambda: loop.query(merged) != [], "the end of T-1")
        assert not alive(loop.programs / "pid-daemon")
        (loop.programs / "go").touch()
        process.wait(timeout=60)


@pytest.mark.parametrize(
    ("act", "body"),
    [("outlives a killed ralph", ""), ("outlives a killed ralph, by a daemon", DAEMON)],
)
def test_when_ralph_is_killed_the_agent_is_ended(loop: Loop, act: str, body: str) -> None:
    loop.agent(f"{body}{SLEEPS}")
    loop.prepare()
    with loop.running(*loop.command()) as process:
        session(loop)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=60)
    gone(loop)


@pytest.mark.act("kills itself")
def test_an_agent_that_kills_itself_is_not_believed(loop: Loop) -> None:
    loop.settings["limits"]["maxAttempts"] = 1
    loop.agent(f"{loop.claim}\nkill -9 $$", claims=False)
    ran = loop.run()
    assert ran.returncode in (1, 4), ran.stderr
    assert not loop.believed()


@pytest.mark.act("is asked to stop (--now)")
def test_a_stop_ends_the_session(loop: Loop) -> None:
    loop.agent(SLEEPS)
    loop.prepare()
    with loop.running(*loop.command()) as process:
        session(loop)
        loop.ralph("stop", "--now")
        assert process.wait(timeout=30) == 130, loop.output()
    gone(loop)


@pytest.mark.act("is asked to stop; the session may end")
def test_a_stop_lets_the_session_end(loop: Loop) -> None:
    loop.agent('echo $$ > "$here/pid"; until [ -e "$here/go" ]; do sleep 0.05; done')
    loop.prepare()
    with loop.running(*loop.command()) as process:
        session(loop)
        loop.ralph("stop")
        wait_for(
            lambda: loop.query("SELECT 1 FROM events WHERE kind = 'stop_requested'") != [], "hearing it", 10
        )
        (loop.programs / "go").touch()
        assert process.wait(timeout=30) == 130, loop.output()


@pytest.mark.act("is paused and goes on")
def test_a_pause_is_heard_and_ends(loop: Loop) -> None:
    loop.agent(f'{HONEST}; echo $$ > "$here/pid"; until [ -e "$here/go" ]; do sleep 0.05; done')
    loop.prepare(times=2)
    with loop.running(*loop.command()) as process:
        session(loop)
        loop.ralph("pause")
        (loop.programs / "go").touch()
        loop.ralph("unpause")
        assert process.wait(timeout=60) == 0, loop.output()


LOUD = "i=0; while [ $i -lt 20000 ]; do say 'a line of sixty characters, again and again and again, to the end'; i=$((i + 1)); done\n"


@pytest.mark.parametrize(
    "act",
    ["times out, and nobody reads", "is stopped, and nobody reads", "gets SIGTERM twice, and nobody reads"],
)
def test_a_reader_that_does_not_read_holds_nobody_up(loop: Loop, act: str) -> None:
    if "times out" in act:
        loop.settings["agent"]["timeout"] = 2
    loop.agent(f'echo $$ > "$here/pid"\n{LOUD}exec sleep 600')
    loop.prepare()
    with loop.running(*loop.command(), unread=True) as process:
        session(loop)
        if "stopped" in act:
            loop.ralph("stop", "--now")
        elif "SIGTERM" in act:
            process.send_signal(signal.SIGTERM)
            wait_for(
                lambda: loop.query("SELECT 1 FROM events WHERE kind = 'stop_requested'") != [],
                "hearing it",
                20,
            )
            process.send_signal(signal.SIGTERM)
        else:  # its last words may wait for a reader, nothing else
            wait_for(loop.has_ended, "the end of the run", 30)
            assert process.stdout is not None
            process.stdout.read()
        assert process.wait(timeout=30) == (1 if "times out" in act else 130)
    gone(loop)


FLOOD = "head -c 60000000 /dev/zero | tr '\\0' a; echo; yes 'a line of the flood' | head -c 40000000\n"
MEASURED = (
    "import sys; from ralph.interfaces.cli.main import main; code = main(sys.argv[1:]); "
    "print('PEAK', next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')), code)"
)


@pytest.mark.act("floods its output (100 MB)")
def test_a_flood_is_borne(loop: Loop) -> None:
    loop.agent(FLOOD)
    loop.prepare("true" if loop.kind == "plan" else "false")
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, *loop.command()],
        cwd=loop.root,
        env=loop.project.env(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    peak, code = ran.stdout[ran.stdout.rindex("PEAK") :].split()[1:3]
    assert code in ("0", "1"), ran.stderr[-2000:]
    assert int(peak) / 1024 < 260, "MiB"
    record = sum(file.stat().st_size for file in (loop.root / ".ralph").glob("ralph.db*"))
    assert record < 40_000_000

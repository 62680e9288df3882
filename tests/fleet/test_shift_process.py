"""A shift's own ralph: real processes, which end with their worker, hear a stop, and see none of the fleet's secrets."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.storage.shift_consoles import kept_consoles
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.shift import Beat
from ralph.errors import UsageError
from tests.fleet.world.shift_driver import Stop, do_shift

WITHIN = 30.0
PROMPT = "Do it. When all is done, output <response>DONE</response>.\n"
DONE = {"outcome": "done.txt is there", "acceptance_criteria": ["it says yes"]}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "job" / "project"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / "PROMPT.md").write_text(PROMPT)
    return folder


@pytest.fixture
def job(tmp_path: Path) -> Callable[[Sequence[Sequence[Mapping[str, object]]]], JobSpec]:
    """A command job whose agent plays these sessions."""

    def make(sessions: Sequence[Sequence[Mapping[str, object]]]) -> JobSpec:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"sessions": sessions, "commits": ["Done"]}))
        agent = tmp_path / "claude"
        play = f"{sys.executable} -m ralph.testing.fake_agent_cli --as claude --script {script}"
        agent.write_text(f'#!/bin/sh\nexec {play} "$@"\n')
        agent.chmod(0o755)
        return JobSpec(
            id="shop-1",
            repository="none",
            command=("run", "-f", "PROMPT.md", "--agent", str(agent), "-m", "5"),
        )

    return make


def stub(tmp_path: Path, code: str) -> tuple[str, ...]:
    """In the place of ralph."""
    file = tmp_path / "stub.py"
    file.write_text(code)
    return (sys.executable, str(file))


def wait_until(look: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + WITHIN
    while not look():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


async def until(look: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(wait_until, look, what)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_run_goes_from_shift_to_shift(project: Path, job: Callable[..., JobSpec]) -> None:
    spec = job([[{"say": "half"}], [{"say": "<response>DONE</response>"}]])
    beats: list[Beat] = []

    first = asyncio.run(do_shift(project, spec, beat=beats.append))
    assert (first.want, first.iteration, first.outcome) == ("session", 1, "")
    second = asyncio.run(do_shift(project, spec, turn=1, run_id=first.run_id, beat=beats.append))

    assert (second.outcome, second.iteration, second.exit_code) == ("completed", 2, 0)
    assert second.run_id == first.run_id
    last = beats[-1]
    assert (last.turn, last.iteration) == (1, 2)
    assert last.cost == pytest.approx(0.0123)  # of this shift alone
    assert last.tokens == 9540
    assert any("half" in line for beat in beats for line in beat.lines)
    runs = project / ".ralph" / "runs"
    assert [turn for turn, _ in kept_consoles(runs, top=project)] == [0, 1]
    kept = [line for _, lines in kept_consoles(runs, top=project) for line in lines]
    said = [next(n for n, line in enumerate(kept) if word in line) for word in ("half", "DONE")]
    assert said == sorted(said)


def test_the_worker_is_no_parent_of_the_run(project: Path, job: Callable[..., JobSpec]) -> None:
    spec = job([[{"run": "env > seen.env"}, {"say": "<response>DONE</response>"}]])

    assert asyncio.run(do_shift(project, spec)).outcome == "completed"

    seen = (project / "seen.env").read_text()
    assert "RALPH_SHIFT" not in seen
    assert "RALPH_RUN_ID=fleet" not in seen
    assert "RALPH_PARENT_RUN_ID=fleet" not in seen


def test_what_opens_the_fleet_is_not_for_agents(
    project: Path, tmp_path: Path, job: Callable[..., JobSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = ("TEMPORAL_API_KEY", "TEMPORAL_ADDRESS", "RALPH_FLEET_KEY", "RALPH_FLEET_KEY_FILE")
    for name in (*secrets, "RALPH_TASK_ID", "RALPH_ITERATION"):
        monkeypatch.setenv(name, "of-the-worker")
    program = stub(tmp_path, "import os, json; json.dump(dict(os.environ), open('seen.json', 'w'))")

    asyncio.run(do_shift(project, job([]), program=program))

    seen = json.loads((project / "seen.json").read_text())
    assert not [name for name, value in seen.items() if value == "of-the-worker"]
    assert seen["RALPH_TRUST"] == "1"
    assert seen["RALPH_SHIFT"] == str(project.parent / "shift")


@pytest.mark.parametrize(
    ("words", "task"),
    [
        (("web",), ""),
        (("config", "set", "sandbox.kind", "none"), ""),
        (("run", "-p", "x", "--project-dir", "/"), ""),
        (("--detach",), ""),
        (("--agent", "claude", "--project-dir", "/"), '{"id": "T-1"}'),
        (("--agent", "claude", "T-2"), '{"id": "T-1"}'),
        ((), '{"title": "all of them"}'),
        ((), "[" * 100_000),
    ],
)
def test_what_is_no_job_is_refused_before_anything_is_started(
    project: Path, tmp_path: Path, words: tuple[str, ...], task: str
) -> None:
    """Whoever reaches the server can write one, without `ralph fleet submit`."""
    program = stub(tmp_path, "open('started', 'w')")
    spec = JobSpec(id="shop-1", repository="none", command=words, task=task)

    with pytest.raises(UsageError, match="this is no job"):
        asyncio.run(do_shift(project, spec, program=program))
    assert not (project / "started").exists()


def test_no_word_of_a_record_or_a_task_is_an_option(
    project: Path, tmp_path: Path, job: Callable[..., JobSpec]
) -> None:
    program = stub(tmp_path, "import sys, json; json.dump(sys.argv[1:], open('words.json', 'w'))")

    def typed(spec: JobSpec, run_id: str = "") -> list[str]:
        asyncio.run(do_shift(project, spec, run_id=run_id, program=program))
        found: list[str] = json.loads((project / "words.json").read_text())
        return found

    assert typed(job([]), "--detach") == ["resume", "--", "--detach"]
    spec = replace(job([]), task='{"id": "--detach"}', command=("--agent", "claude"))
    assert typed(spec) == ["work", "--max-parallel", "1", "--agent", "claude", "--", "--detach"]


def test_a_worker_that_is_killed_takes_everything_with_it(
    project: Path, tmp_path: Path, job: Callable[..., JobSpec]
) -> None:
    escape = f"env -i setsid sleep 600 & echo $! > {tmp_path}/escaped.pid; echo $PPID > {tmp_path}/agent.pid; sleep 600"
    spec = job([[{"run": escape}]])
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.fleet.world.shift_driver", str(project), *spec.command],
        stdout=subprocess.DEVNULL,
    )
    try:
        files = [tmp_path / "agent.pid", tmp_path / "escaped.pid"]
        wait_until(
            lambda: all(file.exists() and file.read_text().strip() for file in files), "the agent began"
        )
        pids = [int(file.read_text()) for file in files]
        family = _below(worker.pid)
        assert set(pids) <= family
    finally:
        worker.kill()
        worker.wait()

    wait_until(lambda: not any(map(is_alive, family)), "nothing is left")


def _below(top: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found = {top}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {top}


def test_a_stop_waits_for_the_session_and_a_second_one_does_not(
    project: Path, tmp_path: Path, job: Callable[..., JobSpec]
) -> None:
    spec = job([[{"touch": "begun"}, {"run": "while [ ! -e go ]; do sleep 0.05; done"}, {"say": "half"}]])

    async def stop_once() -> tuple[str, bool]:
        stop, beats = Stop(), list[Beat]()
        shift = asyncio.create_task(do_shift(project, spec, stop=stop, beat=beats.append))
        await until((project / "begun").exists, "the session began")
        stop.first.set()
        await until(lambda: any("signal" in line for beat in beats for line in beat.lines), "it heard that")
        (project / "go").touch()
        end = await shift
        return end.outcome, any("half" in line for line in beats[-1].lines)

    async def stop_twice() -> tuple[str, float]:
        for name in ("begun", "go"):
            (project / name).unlink(missing_ok=True)
        stop = Stop()
        shift = asyncio.create_task(do_shift(project, spec, stop=stop))
        await until((project / "begun").exists, "the session began")
        began = time.monotonic()
        stop.first.set()
        stop.second.set()
        end = await shift
        return end.outcome, time.monotonic() - began

    assert asyncio.run(stop_once()) == ("cancelled", True)
    outcome, seconds = asyncio.run(stop_twice())
    assert outcome == "cancelled"
    assert seconds < WITHIN


def test_a_ralph_that_is_killed_leaves_its_last_words(
    project: Path, tmp_path: Path, job: Callable[..., JobSpec]
) -> None:
    program = stub(
        tmp_path, "import os, signal; print('last words', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )

    end = asyncio.run(do_shift(project, job([]), program=program))

    assert (end.outcome, end.want, end.exit_code) == ("", "", 4)
    assert "SIGKILL" in end.reason
    assert "last words" in end.reason


def test_a_command_that_is_wrong_says_so(project: Path, job: Callable[..., JobSpec]) -> None:
    spec = replace(job([]), command=("run", "--no-such-flag"))

    end = asyncio.run(do_shift(project, spec))

    assert (end.outcome, end.want, end.exit_code) == ("", "", 2)
    assert "--no-such-flag" in end.reason


def test_an_end_of_an_earlier_shift_does_not_count(
    project: Path, tmp_path: Path, job: Callable[..., JobSpec]
) -> None:
    spec = job([[{"say": "half"}]])
    assert asyncio.run(do_shift(project, spec)).want

    end = asyncio.run(do_shift(project, spec, program=stub(tmp_path, "raise SystemExit(3)")))

    assert (end.want, end.exit_code) == ("", 3)


def test_a_flood_of_lines_is_bounded(project: Path, tmp_path: Path, job: Callable[..., JobSpec]) -> None:
    program = stub(tmp_path, "for n in range(50_000): print(n, 'x' * 300)")
    beats: list[Beat] = []

    asyncio.run(do_shift(project, job([]), beat=beats.append, program=program))

    last = beats[-1]
    assert last.first_line + len(last.lines) == 50_000
    assert last.lines[-1].startswith("49999 ")
    assert len(last.lines) <= 100
    assert sum(map(len, last.lines)) <= 16_000


def test_a_task_is_added_without_what_it_depends_on(
    project: Path, job: Callable[..., JobSpec], tmp_path: Path
) -> None:
    spec = job(
        [[{"write": {"path": "done.txt", "content": "yes"}}, {"say": "<promise>IMPLEMENTED</promise>"}]]
    )
    subprocess.run(
        "git config user.name t; git config user.email t@localhost; git add .; git commit -qm first",
        shell=True, cwd=project, check=True,
    )  # fmt: skip
    task = {"id": "T-1", "title": "Do it", "spec_id": "s", "dependencies": ["T-0"], "completion": DONE}
    spec = replace(spec, task=json.dumps(task), command=("--agent", spec.command[4]))

    end = asyncio.run(do_shift(project, spec))

    assert end.run_id, end.reason
    listed = subprocess.run(
        [sys.executable, "-m", "ralph", "task", "show", "T-1", "--json"],
        cwd=project,
        capture_output=True,
        check=True,
    )
    assert "T-0" not in listed.stdout.decode()

"""What goes wrong between machines: versions, permissions, a server that is away for long, and readers who should not read."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fleet.world.commands import Typed
from tests.fleet.world.machines import Machines, wait_until
from tests.fleet.world.server import Server


@pytest.fixture
def machines(tmp_path: Path, server: Server) -> Iterator[Machines]:
    found = Machines(tmp_path, server)
    try:
        yield found
    finally:
        found.close()


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [("engine.fleet.shift_work", "PROTOCOL", "protocol 0"), ("adapters.seats.record", "FORMAT", "format 1")],
)
def test_a_worker_of_another_version_leaves_the_job_to_others(
    machines: Machines, module: str, name: str, said: str
) -> None:
    held = machines.hold(2)
    first = machines.start("first")
    machines.submit(machines.job("moves"))
    wait_until(lambda: len(machines.launches) == 2, "the second session is under way")
    older = machines.folder / "older"
    older.mkdir()
    (older / "sitecustomize.py").write_text(f"import ralph.{module} as it\nit.{name} = 0\n")
    other = machines.start("other", PYTHONPATH=str(older))

    first.kill()
    wait_until(lambda: other.news("shift_lost"), "it refuses")
    lost = other.news("shift_lost")[0]
    assert said in str(lost["reason"])
    assert "update ralph" in str(lost["hint"])
    wait_until(lambda: machines.look("moves").progress.reason == lost["reason"], "so does the job")
    held.unlink()
    machines.start("fits")
    ended = machines.await_end("moves")

    assert (ended.progress.last.outcome, ended.progress.worker) == ("completed", "fits")
    assert [each["number"] for each in machines.launches] == [1, 2, 2, 3]


def test_what_the_remote_refuses_ends_the_job_with_words(machines: Machines) -> None:
    hook = machines.remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'nobody pushes here' >&2; exit 1\n")
    hook.chmod(0o755)
    machines.start("w1", "--slots", "2")
    machines.submit(machines.job("refused"), machines.job("baseless", base="nowhere"))

    refused = machines.await_end("refused").progress.last
    assert (refused.outcome, refused.exit_code) == ("failed", 4)
    assert "nobody pushes here" in refused.reason
    assert "allowed to push" in refused.hint
    baseless = machines.await_end("baseless").progress.last
    assert (baseless.outcome, baseless.exit_code) == ("failed", 2)
    assert "has no branch nowhere" in baseless.reason
    assert not machines.launches, "nothing was paid for"

    hook.unlink()
    assert Typed(machines.server, machines.folder)("retry", "refused").returncode == 0
    assert machines.await_end("refused").progress.last.outcome == "completed"


# Commits, and tries to write beside its clone.
CONFINED = """#!/bin/sh
cat > /dev/null
echo x >> work.txt; git add -A; git -c user.name=a -c user.email=a@localhost commit -qm work
for place in {folder}/w1/clones {folder}/w1/user {folder}/remote.git; do echo evil > $place/evil; done
result='"subtype": "success", "is_error": false, "result": "<response>DONE</response>", "total_cost_usd": 0.01'
echo '{{"type": "result", "num_turns": 1, "usage": {{"input_tokens": 1, "output_tokens": 1}}, '"$result"'}}'
"""


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_an_agent_on_a_worker_stays_in_its_clone(machines: Machines) -> None:
    machines.agent.write_text(CONFINED.format(folder=machines.folder))
    worker = machines.start("w1", "--sandbox", "strongest")
    assert "none" not in str(worker.news("worker_ready")[0]["sandbox"])
    machines.submit(machines.job("confined"))

    last = machines.await_end("confined").progress.last

    assert (last.outcome, last.iteration) == ("completed", 1)
    assert machines.file("ralph/confined", "work.txt") == "x\n"
    subject = ["git", "-C", str(machines.remote), "log", "-1", "--format=%s", "ralph/confined"]
    assert subprocess.run(subject, check=True, capture_output=True, timeout=60).stdout == b"work\n"
    assert not [*machines.folder.rglob("evil")]


def test_a_server_that_is_away_for_many_heartbeats(tmp_path: Path, own_server: Server) -> None:
    """Sessions under way are finished meanwhile, and told when it is back; none is begun twice."""
    machines = Machines(tmp_path, own_server)
    try:
        held = machines.hold(2)
        worker = machines.start("w1", "--slots", "3")
        machines.submit(*(machines.job(f"job-{number}", heartbeat=2.0) for number in range(3)))
        wait_until(lambda: len(machines.launches) == 6, "three second sessions are under way")
        own_server.kill()
        away = time.monotonic()
        wait_until(lambda: worker.news("server_lost"), "it noticed")
        held.unlink()
        wait_until(lambda: len(worker.news("shift_ended")) == 6, "the sessions are finished")
        wait_until(lambda: time.monotonic() > away + 20, "ten heartbeats are gone")
        own_server.start()
        ended = [machines.await_end(f"job-{number}").progress for number in range(3)]
    finally:
        machines.close()

    assert [(each.last.outcome, each.last.iteration) for each in ended] == [("completed", 3)] * 3
    assert sorted(machines.worked_on) == sorted(f"job-{number}" for number in range(3) for _ in range(3))


def test_with_a_key_nobody_reads_on_the_server_what_was_said(tmp_path: Path, own_server: Server) -> None:
    key = Typed(own_server, tmp_path)("key").stdout.strip().splitlines()[-1]
    machines = Machines(tmp_path, own_server, variables={"RALPH_FLEET_KEY": key})
    ralph = Typed(own_server, tmp_path, machines.variables)
    try:
        held = machines.hold(2)
        job = machines.job("sealed")
        prompt = "Mind the purple elephant. Output <response>DONE</response>."
        machines.submit(replace(job, command=("run", "-p", prompt, *job.command[3:]), title="purple title"))
        machines.start("w1")
        wait_until(lambda: len(machines.launches) == 2, "the second session is under way")
        assert ralph("steer", "sealed", "Look at the purple note.").returncode == 0
        held.unlink()
        assert machines.await_end("sealed").progress.last.outcome == "completed"
        said = ralph("logs", "sealed").stdout
    finally:
        machines.close()
        own_server.kill()

    assert "purple note" in said
    stored = b"".join(file.read_bytes() for file in own_server.folder.glob("temporal.db*"))
    assert b"job-sealed" in stored
    for words in (b"purple", b"line 2", b"PROMPT.md", str(machines.agent).encode()):
        assert words not in stored, words

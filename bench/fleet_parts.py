"""``python -m bench.fleet_parts FOLDER``: figures of a fleet on this machine, as JSON."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from temporalio.client import Client
from temporalio.common import Priority

from bench.fleet_world import Machine, World, await_that, open_world
from bench.project import LIMIT_REACHED, ralph_program
from ralph.adapters.temporal import names
from ralph.adapters.temporal.client import TemporalFleet
from ralph.adapters.temporal.executions import memo_of
from ralph.adapters.temporal.ledger import TemporalLedger
from ralph.adapters.temporal.payloads import FleetPayloads
from ralph.domain.fleet import steps
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.job_size import LARGEST
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.shift import ShiftEnd, Steer
from ralph.domain.fleet.views import FleetLimits

FEW, MANY = 2, 22
"""Iterations of a job; their difference is without what each job costs once."""
JOBS, JOB_ITERATIONS = 16, 2
CREWS = (1, 2, 4)
WAITING = (0, 250, 1_000)
HEARTBEAT = 10.0
SESSIONS = 10
ENTRIES, AT_ONCE = 80, 8
"""A server has at most ten updates of a workflow under way at a time, unless it is told otherwise."""
QUIET_SECONDS = 10.0
# Each session changes a file, or the loop would see that nothing moves. While `hold` is there, it waits.
AGENT = """\
touch {folder}/held-$$; while [ -e {folder}/hold ]; do sleep 0.2; done; rm {folder}/held-$$
echo "$(date +%s.%N) $PWD" >> {folder}/began
echo x >> work.txt
echo working"""


def main(folder: Path) -> dict[str, float]:
    with open_world(folder, AGENT.format(folder=folder)) as world:
        return {
            **_iterations(world),
            **{f"jobs_{crew}": _jobs_per_minute(world, crew) for crew in CREWS},
            **_takeover(world),
            **_beats(world),
            **_waiting(world),
            **_ledger(world),
        }


# --- one job on one worker ---


def _iterations(world: World) -> dict[str, float]:
    local = (_run_locally(world, MANY) - _run_locally(world, FEW)) / (MANY - FEW)
    world.start_worker("alone")
    _run(world, [world.job("warm", 1)])
    few = _run(world, [world.job("few", FEW)])
    before, cpu = _database(world), world.server.cpu
    many = _run(world, [world.job("many", MANY)])
    disk, cpu = _database(world) - before, world.server.cpu - cpu
    world.leave()
    events = {job: world.ask_server(partial(_events, job)) for job in ("few", "many")}
    each = (events["many"] - events["few"]) / (MANY - FEW)
    view = world.ask(lambda fleet: fleet.job("many"))
    return {
        "local": 1000 * local,
        "fleet": 1000 * (many - few) / (MANY - FEW),
        "events": each,
        "events_once": events["few"] - FEW * each,
        "disk": disk / MANY / 1000,
        "server_iteration": 1000 * cpu / MANY,
        "state": _size(view.spec, view.progress),
        "largest_state": _largest(view.spec, view.progress),
    }


def _run_locally(world: World, iterations: int) -> float:
    """Seconds, in a clone of its own."""
    clone = world.folder / f"local-{iterations}"
    subprocess.run(["git", "clone", "-q", str(world.remote), str(clone)], check=True, timeout=60)
    argv = [ralph_program(), *world.job("local", iterations).command]
    environment = {**world.environment, "RALPH_TRUST": "1"}
    began = time.perf_counter()
    ran = subprocess.run(argv, cwd=clone, env=environment, timeout=300, capture_output=True, check=False)
    if ran.returncode != LIMIT_REACHED:
        raise SystemExit(ran.stderr.decode())
    return time.perf_counter() - began


def _run(world: World, jobs: Sequence[JobSpec]) -> float:
    """Seconds until all have ended."""

    async def submit(fleet: TemporalFleet) -> None:
        for job in jobs:
            await fleet.submit(replace(job, submitted_at=time.time()))

    world.ask(submit)
    return world.await_ends([job.id for job in jobs])


async def _events(job: str, client: Client) -> int:
    return (await client.get_workflow_handle(names.workflow_id(job)).describe()).history_length


def _database(world: World) -> int:
    """Bytes, with what is not yet in its main file."""
    return sum(file.stat().st_size for file in world.folder.glob("temporal.db*") if "shm" not in file.name)


def _size(spec: JobSpec, progress: JobProgress) -> float:
    """kB of what one workflow run hands to the next."""
    return sum(len(FleetPayloads().to_payload(value).data) for value in (spec, progress)) / 1000


def _largest(spec: JobSpec, progress: JobProgress) -> float:
    """With the longest command that can be submitted, and as many notes as a job takes, in a script with three bytes for each
    letter."""
    note = Steer(number=1, text="字" * (steps.LONGEST_NOTE // 3))
    notes = (note,) * (steps.LONGEST_NOTES // steps.LONGEST_NOTE)
    return _size(replace(spec, command=("run", "-p", "x" * (LARGEST - 5))), replace(progress, notes=notes))


# --- several workers ---


def _jobs_per_minute(world: World, crew: int) -> float:
    for number in range(crew):
        world.start_worker(f"crew-{crew}-{number}")
    _run(world, [world.job(f"warm-{crew}-{number}", 1) for number in range(crew)])
    seconds = _run(world, [world.job(f"job-{crew}-{number}", JOB_ITERATIONS) for number in range(JOBS)])
    world.leave()
    return 60 * JOBS / seconds


def _takeover(world: World) -> dict[str, float]:
    hold = world.folder / "hold"
    first = world.start_worker("first")
    hold.touch()
    world.ask(lambda fleet: fleet.submit(world.job("taken", 1, heartbeat=HEARTBEAT)))
    await_that(lambda: _held(world) == 1, "the session has begun")
    world.start_worker("second")
    first.kill()
    killed = time.time()
    hold.unlink()
    await_that(lambda: bool(_began_at(world, "second")), "the session has begun elsewhere")
    world.await_ends(["taken"])
    world.leave()
    return {"takeover": _began_at(world, "second")[0] - killed, "heartbeat": HEARTBEAT}


def _began_at(world: World, worker: str) -> list[float]:
    """When sessions began on a worker: that of one that was killed may still say something."""
    home = f"{(world.folder / worker).resolve()}/"
    lines = (line.split(" ", 1) for line in (world.folder / "began").read_text().splitlines())
    return [float(at) for at, place in lines if place.startswith(home)]


# --- sessions under way ---


def _beats(world: World) -> dict[str, float]:
    """What the server does for each second of a session: it hears that it is alive, and its newest lines."""
    world.start_worker("busy", slots=SESSIONS)
    for left in world.folder.glob("held-*"):  # of the worker that was killed
        left.unlink()
    quiet = _cpu(world.server)
    (world.folder / "hold").touch()
    jobs = [world.job(f"held-{number}", 1) for number in range(SESSIONS)]
    for job in jobs:
        world.ask(partial(_submit, job))
    await_that(lambda: _held(world) == SESSIONS, "all sessions have begun")
    busy = _cpu(world.server)
    (world.folder / "hold").unlink()
    world.await_ends([job.id for job in jobs])
    world.leave()
    return {"server_second": 1000 * (busy - quiet) / SESSIONS}


async def _submit(job: JobSpec, fleet: TemporalFleet) -> None:
    await fleet.submit(job)


def _held(world: World) -> int:
    return len(list(world.folder.glob("held-*")))


def _cpu(machine: Machine) -> float:
    """Seconds in each second."""
    before = machine.cpu
    time.sleep(QUIET_SECONDS)
    return (machine.cpu - before) / QUIET_SECONDS


# --- loops that wait ---


def _waiting(world: World) -> dict[str, float]:
    """Each as after a session that met a usage limit: the worker has its workflow, and nobody works on it."""
    worker, found, there = world.start_worker("idle"), dict[str, float](), 0
    for count in WAITING:
        world.ask_server(partial(_put_to_wait, world, range(there, count)))
        there = count
        await_that(partial(_are_waiting, world, count), f"{count} loops wait", every=1.0)
        found[f"memory_{count}"] = _settled(worker) / 1e6
    return {**found, "idle": 100 * _cpu(worker)}


async def _put_to_wait(world: World, numbers: range, client: Client) -> None:
    now = time.time()
    end = ShiftEnd(
        turn=3,
        worker="idle",
        run_id="20260101-000000-abcd",
        want="wait",
        seconds=7200.0,
        reason="the agent has reached its usage limit",
        iteration=3,
        maximum=20,
        cost=1.25,
        tokens=123_456,
        decision="continue",
        commit="0" * 40,
    )
    progress = JobProgress(turn=3, worker="idle", since=now, until=now + 7200, reason=end.reason, last=end)
    for number in numbers:
        job = replace(world.job(f"waiting-{number}", 20), submitted_at=now)
        await client.start_workflow(
            names.JOB,
            args=[job, progress],
            id=names.workflow_id(job.id),
            task_queue=names.WORKFLOW_QUEUE,
            memo=memo_of(job, progress),
            priority=Priority(priority_key=job.priority),
        )


def _are_waiting(world: World, count: int) -> bool:
    views = world.ask(lambda fleet: fleet.jobs(limit=2_000, only_open=True))
    return sum(view.progress.phase is Phase.WAITING for view in views) >= count


def _settled(worker: Machine) -> float:
    """Bytes, when it has stopped growing."""
    sizes = [worker.memory]
    while len(sizes) < 3 or max(sizes[-3:]) > 1.01 * min(sizes[-3:]):
        time.sleep(1)
        sizes.append(worker.memory)
    return sizes[-1]


# --- what all jobs share ---


def _ledger(world: World) -> dict[str, float]:
    """How many sessions per second may begin and end, if limits over all machines are set."""

    async def ask(client: Client) -> float:
        await TemporalFleet(client).set_limits(FleetLimits(sessions=(("agent", 10_000),)))
        began, entered = time.perf_counter(), 0

        async def come_and_go(first: int) -> None:
            nonlocal entered
            ledger = TemporalLedger(client, worker=f"w{first}")  # as on a worker of its own
            for number in range(first, ENTRIES, AT_ONCE):
                job = replace(world.job(f"entered-{number}", 1), agent="agent")
                why_not = await ledger.enter(job, turn=0, cost=0.0)
                entered += not why_not
                await ledger.leave(job, turn=0, cost=0.0)

        await asyncio.gather(*map(come_and_go, range(AT_ONCE)))
        return entered / (time.perf_counter() - began)

    return {"ledger": world.ask_server(ask)}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))

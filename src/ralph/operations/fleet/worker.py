"""Run a worker: this machine takes jobs of the fleet, one session at a time, until it is told to leave."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ralph import __version__
from ralph.adapters.files import expand_home, make_private_folder, read_whole, write_private
from ralph.adapters.own_programs import OwnPrograms
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.processes.shift_process import ShiftRunner, shift_environment
from ralph.adapters.processes.watcher import Watcher, start_watcher
from ralph.adapters.seats.lock import try_lock
from ralph.adapters.seats.seats import GitSeats
from ralph.adapters.storage.places import run_folder
from ralph.adapters.storage.portable import pack, unpack
from ralph.adapters.storage.session_spend import SessionSpend
from ralph.adapters.storage.shift_consoles import keep_console
from ralph.adapters.storage.shift_files import read_end, write_terms
from ralph.adapters.trust_store import store_folder
from ralph.config.loading import load
from ralph.config.root import STATE_FOLDER
from ralph.config.schema import Settings
from ralph.domain.fleet.address import Refusal
from ralph.domain.fleet.job_names import refusal_of_labels
from ralph.domain.fleet.payer import agent_of
from ralph.domain.fleet.shift import Beat, ShiftEnd, ShiftOrder
from ralph.domain.fleet.worker_news import (
    ClonesRemoved,
    JobUnreadable,
    NamesakeSeen,
    ServerBack,
    ServerLost,
    ShiftBegan,
    ShiftEnded,
    ShiftLost,
    WorkerLeaving,
    WorkerNews,
    WorkerReady,
)
from ralph.domain.sandbox.kind import SandboxKind
from ralph.engine.fleet.ports import Fenced, Fleet, FleetSpent, RunShift, Stopping
from ralph.errors import AgentUnavailable, RalphError, StoreError, UsageError, WorkspaceBusy
from ralph.values import dataclass, replace

if TYPE_CHECKING:
    from temporalio.client import Client

LOOK_EVERY = 5.0
"""Seconds between two looks whether the server is there."""
ANSWER_SECONDS = 5.0
SWEEP_EVERY = 600.0
UNREADABLE_EVERY = 60.0
MANY_JOBS = 200
"""The newest open ones, of which it is looked whether they can be read."""
NAME_FILE = "worker"
LOCK_FILE = "lock"
SEEN_SECONDS = 90.0
"""Since a worker of some name has asked for work: one that is there asks every minute."""

Tell = Callable[[WorkerNews], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What was given on the command line; what was not is in the user's settings."""

    name: str = ""
    slots: int | None = None
    labels: Sequence[str] = ()
    home: str = ""
    sandbox: str = ""
    accounts: Mapping[str, str] | None = None
    metrics: str = ""


class Departure:
    """How a worker is told to leave: once, after the sessions under way; twice, at once."""

    def __init__(self) -> None:
        self.draining, self.leaving = asyncio.Event(), asyncio.Event()

    def ask(self) -> None:
        (self.leaving if self.draining.is_set() else self.draining).set()


async def run_fleet_worker(
    options: WorkerOptions, tell: Tell, departure: Departure, *, environ: Mapping[str, str] = os.environ
) -> None:
    """Until it is told to leave. Raises RalphError for whatever keeps it from beginning."""
    from ralph.adapters.temporal.client import TemporalFleet
    from ralph.adapters.temporal.ledger import TemporalLedger
    from ralph.adapters.temporal.problems import place_of
    from ralph.adapters.temporal.worker import run_worker
    from ralph.engine.fleet.shift_work import ShiftWork

    settings = _own_settings(environ)
    options = _with_settings(options, settings)
    _check_names(options)
    labels, slots = tuple(sorted(set(options.labels))), options.slots or usual_slots()
    sandbox = await _require_sandbox(options.sandbox, settings, environ)
    client = await _connect(options.metrics, environ)
    place = place_of(client)
    home = _home(options, place.namespace, environ)
    with _held(home), start_watcher(f"fleet-{os.getpid()}") as watcher:
        name = options.name or _lasting_name(home)
        seats = _seats(home, name, watcher, environ, settings.fleet.repositories)
        work = ShiftWork(
            worker=name,
            version=__version__,
            seats=seats,
            process=_shift_runner(watcher, options.sandbox, environ),
            ledger=TemporalLedger(client, worker=name),
            account_of=_accounts(environ, options.accounts or {}),
        )
        sessions = _Sessions(work.run, tell)
        tell(
            WorkerReady(
                worker=name,
                address=place.address,
                namespace=place.namespace,
                labels=labels,
                slots=slots,
                sandbox=sandbox,
                home=str(home),
                version=__version__,
            )
        )
        fleet = TemporalFleet(client)
        if options.name:
            await _look_for_namesake(fleet, name, tell)
        beside = (
            _watch_server(client, tell),
            _sweep(seats, fleet, tell),
            _look_for_unreadable(fleet, tell),
            _say_leaving(departure, sessions, tell),
        )
        tasks = [asyncio.create_task(each) for each in beside]
        try:
            await run_worker(
                client,
                name=name,
                slots=slots,
                labels=labels,
                run_shift=sessions.run,
                draining=departure.draining,
                leaving=departure.leaving,
                version=__version__,
            )
        finally:
            for task in tasks:
                task.cancel()


def usual_slots() -> int:
    return max(1, (os.cpu_count() or 1) // 2)


# --- what it is told ---------------------------------------------------------------------------------------


def _own_settings(environ: Mapping[str, str]) -> Settings:
    """The user's, in whatever project this is: what a repository says about workers does not count."""
    return load(Path(store_folder(environ) or "/nonexistent"), environ=environ).settings


def _with_settings(options: WorkerOptions, settings: Settings) -> WorkerOptions:
    own = settings.fleet
    return replace(
        options,
        slots=options.slots or own.slots,
        labels=options.labels or own.labels,
        home=options.home or own.home,
        sandbox=options.sandbox or own.sandbox,
        accounts={**own.accounts, **(options.accounts or {})},
        metrics=options.metrics or own.metrics,
    )


def _check_names(options: WorkerOptions) -> None:
    """Both become names of queues."""
    refusal = refusal_of_labels(options.labels)
    if refusal is None and options.name:
        refusal = refusal_of_labels([options.name])
        refusal = refusal and Refusal(f"{options.name!r} cannot be the name of a worker", refusal.hint)
    if refusal is not None:
        raise UsageError(refusal.message, hint=refusal.hint)


def _accounts(environ: Mapping[str, str], accounts: Mapping[str, str]) -> Callable[[str, Path], str]:
    """A run that begins in a clone takes its agent from the same settings."""

    def account_of(agent: str, project: Path) -> str:
        if not agent:
            with suppress(RalphError):  # settings that are wrong are told by the run itself
                loaded = load(project, environ=shift_environment(environ))
                agent = agent_of(loaded.settings.agent.command)
        return accounts.get(agent, agent)

    return account_of


def _home(options: WorkerOptions, namespace: str, environ: Mapping[str, str]) -> Path:
    folder = store_folder(environ)
    if not options.home and not folder:
        message = "there is no place for the worker's clones: neither HOME nor XDG_STATE_HOME is set"
        raise UsageError(message, hint="give one with --home")
    home = (
        Path(expand_home(options.home, environ)).absolute()
        if options.home
        else Path(folder, "fleet", namespace)
    )
    try:
        make_private_folder(home)
    except OSError as error:
        message = f"cannot make the worker's folder {home}: {error.strerror or error}"
        raise StoreError(message, hint="choose another with --home") from error
    return home


@contextmanager
def _held(home: Path) -> Iterator[None]:
    """Two workers would take each other's clones. Raises WorkspaceBusy."""
    try:
        lock = try_lock(home / LOCK_FILE)
    except OSError as error:
        message = f"cannot use the worker's folder {home}: {error.strerror or error}"
        raise StoreError(message, hint="choose another with --home") from error
    if lock is None:
        message = f"another worker is at work in {home}"
        hint = "one worker does several sessions at a time with --slots N; another needs a --home of its own"
        raise WorkspaceBusy(message, hint=hint)
    try:
        yield
    finally:
        lock.release()


def _lasting_name(home: Path) -> str:
    """The same as long as the clones are there; another on a machine with the same name, as containers often have."""
    file = home / NAME_FILE
    found = (read_whole(file, 100) or b"").decode(errors="replace").strip()
    if not found.isalnum():
        found = secrets.token_hex(2)
        write_private(file, f"{found}\n".encode())
    return f"{socket.gethostname().partition('.')[0] or 'worker'}-{found}"


# --- what it needs -----------------------------------------------------------------------------------------


async def _require_sandbox(asked: str, settings: Settings, environ: Mapping[str, str]) -> str:
    """In words. Raises AgentUnavailable if jobs could not have the one that they are to have."""
    if asked == SandboxKind.NONE:
        return "none: jobs can do whatever you can"
    from ralph.adapters.isolation.choice import open_sandbox
    from ralph.adapters.isolation.sandbox import Site
    from ralph.wiring.agents import installed_agents, needs_of
    from ralph.wiring.confinement import policy_of

    with tempfile.TemporaryDirectory(prefix="ralph-worker-") as folder:
        own = OwnPrograms(environ, [Path(folder)])
        runner = PosixProcessRunner(run_id="fleet", base_environment=own.environment, find=own.find)
        site = Site(
            workspace=Path(folder),
            state_folder=Path(folder, STATE_FOLDER),
            programs=(),
            run_id=f"fleet-{os.getpid()}",
            environ=own.environment,
            needs=needs_of(settings, installed_agents(own.environment)),
            own=own,
        )
        try:
            async with open_sandbox(asked, site, policy_of(settings.sandbox), runner) as chosen:
                return chosen.why.removeprefix("sandbox ")
        except AgentUnavailable as error:
            hint = "install bubblewrap (Linux) or srt (macOS); or say --sandbox none: then jobs can do whatever you can"
            raise AgentUnavailable(error.message, hint=hint) from error


async def _connect(metrics: str, environ: Mapping[str, str]) -> Client:
    from ralph.adapters.temporal.connection import connect
    from ralph.adapters.temporal.meters import make_runtime

    try:
        runtime = make_runtime(metrics) if metrics else None
    except (RuntimeError, ValueError, OSError) as error:
        message = f"cannot serve metrics at {metrics}: {error}"
        raise UsageError(message, hint="give a free address such as 127.0.0.1:9464") from error
    return await connect(environ, runtime=runtime)


def _seats(
    home: Path, name: str, watcher: Watcher, environ: Mapping[str, str], repositories: Sequence[str]
) -> GitSeats:
    """Their git dies with this process: nothing may be pushed by a worker that is gone."""
    own = OwnPrograms(shift_environment(environ), [home])
    runner = PosixProcessRunner(
        run_id=f"fleet-{os.getpid()}", base_environment=own.environment, find=own.find, watcher=watcher
    )
    return GitSeats(home, worker=name, runner=runner, pack=pack, unpack=unpack, repositories=repositories)


def _shift_runner(watcher: Watcher, sandbox: str, environ: Mapping[str, str]) -> ShiftRunner:
    return ShiftRunner(
        watcher=watcher,
        environment=environ,
        sandbox=sandbox,
        state_folder=STATE_FOLDER,
        run_folder=run_folder,
        write_terms=write_terms,
        read_end=read_end,
        keep_console=keep_console,
        figures=SessionSpend,
    )


# --- what happens beside -----------------------------------------------------------------------------------


class _Sessions:
    """Tells of every shift, and knows which jobs are being worked on."""

    def __init__(self, run_shift: RunShift, tell: Tell) -> None:
        self._run_shift, self._tell = run_shift, tell
        self.jobs: set[str] = set()

    async def run(self, order: ShiftOrder, beat: Callable[[Beat], None], stopping: Stopping) -> ShiftEnd:
        job, turn, began = order.job.id, order.turn, time.monotonic()
        self.jobs.add(job)
        self._tell(ShiftBegan(job=job, turn=turn))

        def lose(reason: str, hint: str = "") -> None:
            seconds = time.monotonic() - began
            self._tell(ShiftLost(job=job, turn=turn, reason=reason, hint=hint, seconds=seconds))

        try:
            end = await self._run_shift(order, beat, stopping)
        except RalphError as error:
            lose(error.message, error.hint)
            raise
        except Fenced:
            lose("another worker has the job")
            raise
        except FleetSpent as error:
            lose(str(error))
            raise
        except asyncio.CancelledError:
            lose("given up: another worker does it again")
            raise
        except Exception as error:
            lose(f"{type(error).__name__}: {error}", "this is a fault in ralph")
            raise
        finally:
            self.jobs.discard(job)
        self._tell(
            ShiftEnded(
                job=job,
                turn=turn,
                iteration=end.iteration,
                decision=end.decision,
                next=end.outcome or end.want,
                reason=end.reason,
                seconds=time.monotonic() - began,
            )
        )
        return end


async def _look_for_namesake(fleet: Fleet, name: str, tell: Tell) -> None:
    """Jobs that prefer one of two workers would go to either; nobody but the server can know of both."""
    with suppress(RalphError):
        for one in await fleet.workers():
            ago = time.time() - one.seen_at
            if one.name == name and ago < SEEN_SECONDS:
                tell(NamesakeSeen(worker=name, seconds=max(0.0, ago)))


async def _watch_server(client: Client, tell: Tell) -> None:
    from temporalio.service import RPCError

    lost: float | None = None
    while True:
        await asyncio.sleep(LOOK_EVERY)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await client.service_client.check_health()
        except (RPCError, TimeoutError) as error:
            if lost is None:
                lost = time.monotonic()
                tell(ServerLost(reason=str(error) or "it does not answer"))
        else:
            if lost is not None:
                tell(ServerBack(seconds=time.monotonic() - lost))
                lost = None


async def _sweep(seats: GitSeats, fleet: Fleet, tell: Tell) -> None:
    """Remove clones of jobs that have ended, also those that an earlier worker left."""
    removed = 0

    async def is_open(job: str) -> bool:
        nonlocal removed
        try:
            found = (await fleet.job(job)).is_open
        except UsageError:  # nobody knows it
            found = False
        removed += not found
        return found

    while True:
        removed = 0
        with suppress(RalphError, OSError):  # the server is away, or the disk is: there will be another time
            await seats.sweep(is_open)
        if removed:
            tell(ClonesRemoved(count=removed))
        await asyncio.sleep(SWEEP_EVERY)


async def _look_for_unreadable(fleet: Fleet, tell: Tell) -> None:
    """Nobody else would say why such a job is not begun."""
    told: set[str] = set()
    while True:
        with suppress(RalphError):
            for job in await fleet.jobs(limit=MANY_JOBS, only_open=True):
                if job.sealed and job.spec.id not in told:
                    told.add(job.spec.id)
                    tell(JobUnreadable(job=job.spec.id, reason=job.sealed))
        await asyncio.sleep(UNREADABLE_EVERY)


async def _say_leaving(departure: Departure, sessions: _Sessions, tell: Tell) -> None:
    await departure.draining.wait()
    tell(WorkerLeaving(sessions=len(sessions.jobs), now=False))
    await departure.leaving.wait()
    tell(WorkerLeaving(sessions=len(sessions.jobs), now=True))

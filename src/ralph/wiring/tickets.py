"""How `ralph work` and `ralph task import` reach tickets: the sources, the memory of them, and the desk between."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.config.root import STATE_FOLDER, Root
from ralph.config.sources import DEFAULT
from ralph.domain.tickets.coverage import Imports, covers, sandbox_for
from ralph.errors import UsageError
from ralph.values import replace

if TYPE_CHECKING:
    from ralph.adapters.online.github_login import Surroundings
    from ralph.adapters.own_programs import OwnPrograms
    from ralph.adapters.storage.tasks import TaskStore
    from ralph.adapters.storage.tickets import TicketStore
    from ralph.config.loading import Loaded
    from ralph.config.schema import Settings
    from ralph.domain.delivery.receipt import Receipt
    from ralph.domain.tasks.pipeline import Pipeline
    from ralph.domain.tasks.task import Task
    from ralph.domain.tickets.known import KnownTicket
    from ralph.domain.tickets.told import Landing
    from ralph.engine.ports import ProcessRunner
    from ralph.engine.tasks.ports import Supply
    from ralph.engine.tickets.ports import Source
    from ralph.wiring.kit import Kit


def imports_of(sources: Iterable[str]) -> Imports:
    from ralph.adapters.sources.choice import is_tracker

    return max(
        (Imports.TRACKERS if is_tracker(one) else Imports.FILES for one in sources), default=Imports.NONE
    )


def confine(loaded: Loaded, settings: Settings, imports: Imports) -> Settings:
    """The settings with the sandbox that imported work needs."""
    kind = settings.sandbox.kind
    wanted = sandbox_for(imports, kind, is_users=_is_users(loaded, "sandbox", "kind"))
    return settings if wanted == kind else replace(settings, sandbox=replace(settings.sandbox, kind=wanted))


def _is_users(loaded: Loaded, *key: str) -> bool:
    """Whether the user says so, and not the repository."""
    origin = loaded.origin(key)
    return origin != DEFAULT and origin != loaded.project.origin(key)


def imported_from(root: Root, source: str, *, stays: bool) -> tuple[str, ...]:
    """The sources of what will be worked on, known before anything is opened. Raises UsageError if one cannot be."""
    from ralph.adapters.sources.choice import require_source
    from ralph.adapters.storage.ticket_sources import open_ticket_sources

    if stays and not source:
        message = "there is nothing to watch"
        raise UsageError(message, hint="name it with --from, such as github:OWNER/REPO, or in tickets.source")
    if source:
        require_source(source, root.workspace)
        _require_readable(source, root.workspace)
    known = open_ticket_sources(root.state / STATE_FOLDER)
    return tuple(dict.fromkeys((*([source] if source else ()), *known)))


def _require_readable(source: str, root: Path) -> None:
    """What is wrong with a file is known before a run begins. A tracker is not asked yet."""
    from ralph.adapters.sources.choice import is_tracker

    if is_tracker(source):
        return
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    from ralph.adapters.sources.markdown import open_markdown
    from ralph.engine.tickets.ports import Wanted

    async def read() -> None:
        async for _ in open_markdown(root / source, root).tickets(Wanted()):
            pass

    # In a thread: whoever prepares a run may be in a loop of their own.
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, read()).result()


def noting_proofs(
    kit: Kit, tasks: TaskStore, pipeline: Pipeline, target: str
) -> Callable[[Task, Path], Awaitable[str]]:
    """The final verification of a task; what passed is remembered for its ticket, with the commit that it passed on."""
    from ralph.wiring.merge_check import FinalVerification

    async def verify(task: Task, path: Path) -> str:
        verification = FinalVerification(kit, task, pipeline)
        wrong = await verification.verify(path)
        memory = store_of(kit, tasks)
        if not wrong and memory.of_task(task.id) is not None:
            from ralph.adapters.git import Git
            from ralph.domain.delivery.receipt import Proof

            git = Git(path, kit.runners.outside)
            commit = await git.commit_of("HEAD")
            is_unchanged = (await git.run("diff", "--quiet", task.base_commit, task.accepted_commit)).ok
            proofs = tuple(Proof(one.command, one.success_exit_code) for one in verification.required)
            if (known := memory.of_task(task.id)) is not None:  # others write to it meanwhile
                found = replace(known, proven=commit, proofs=proofs, target=target)
                memory.save(replace(found, is_unchanged=is_unchanged))
        return wrong

    return verify


def surroundings(
    environ: Mapping[str, str], own: OwnPrograms, runner: ProcessRunner, cwd: Path, now: Callable[[], float]
) -> Surroundings:
    from ralph.adapters.online.github_login import Surroundings

    return Surroundings(environ=environ, find=own.find, runner=runner, cwd=cwd, now=now)


def store_of(kit: Kit, tasks: TaskStore) -> TicketStore:
    from ralph.adapters.storage.tickets import TicketStore

    return TicketStore(kit.record.database, tasks, now=kit.clock.now)


def note_for(kit: Kit, tasks: TaskStore, task: Task) -> str:
    """What whoever works on it must know of edits of its ticket since the work began; empty: nothing."""
    known = store_of(kit, tasks).of_task(task.id)
    return "" if known is None else known.note


def holder_of(memory: TicketStore) -> str:
    """What this project on this machine is called on trackers."""

    def make() -> str:
        import secrets
        import socket

        from ralph.domain.tickets.hold import holder_name

        return holder_name(socket.gethostname(), secrets.token_hex(2))

    return memory.holder(make)


async def open_desk(kit: Kit, tasks: TaskStore, *, source: str, stays: bool, base: str) -> Supply:
    """``source``: to take tickets from; empty: only those that are tasks already are held and told. ``base``: what
    pull requests are for.

    Takes in what is there now. Raises RalphError if that cannot be had.
    """
    memory = store_of(kit, tasks)
    if not source and not memory.sources():
        from ralph.engine.tickets.no_desk import NoDesk

        return NoDesk(memory)
    from ralph.adapters.sources.choice import open_source
    from ralph.engine.tickets.desk import TicketDesk
    from ralph.engine.tickets.holds import TicketHolds
    from ralph.engine.tickets.intake import TicketIntake
    from ralph.engine.tickets.write_back import WriteBack
    from ralph.wiring.delivery import reaching

    settings, holder = kit.launch.settings.tickets, holder_of(memory)
    around = surroundings(
        kit.runners.environment, kit.runners.own, reaching(kit), kit.workspace, kit.clock.now
    )

    is_named = source != settings.source or _is_users(kit.launch.loaded, "tickets", "source")

    @cache
    def opened(name: str) -> Source:
        return open_source(name, around, kit.launch.root.workspace, is_named=is_named and name == source)

    labels = (settings.label,)
    desk = TicketDesk(
        memory=memory,
        open_source=opened,
        intake=TicketIntake(
            source=opened(source), memory=memory, labels=labels, holder=holder, is_patient=True
        )
        if source
        else None,
        holds=TicketHolds(memory, labels, holder),
        write_back=WriteBack(
            memory=memory,
            open_source=opened,
            receipt=lambda task, known: receipt_of(kit, task, known),
            landing=lambda task, known: landing_of(kit, task, known, base),
            holder=holder,
            close=settings.close,
            publish=kit.publish,
        ),
        clock=kit.clock,
        control=kit.control,
        publish=kit.publish,
        poll=settings.poll,
        stays=stays,
        asks=settings.ask,
        covers=partial(covers, kit.launch.imports),
    )
    await desk.begin()
    return desk


def receipt_of(kit: Kit, task: Task, known: KnownTicket) -> Receipt:
    """What proved the work: of its pull request if it has one, else of the merge here."""
    from ralph.adapters.storage.earlier_runs import figures_of_task
    from ralph.domain.delivery.receipt import Receipt
    from ralph.wiring.delivery import memory_of

    record = kit.record
    delivered = memory_of(kit, task.branch).load()
    is_delivered = bool(delivered.number)
    figures = figures_of_task(record.database, record.database_file, task.id)
    return Receipt(
        commit=delivered.proven if is_delivered else known.proven or task.accepted_commit,
        claim=f"every role has accepted {task.id}",
        proofs=delivered.proofs if is_delivered else known.proofs,
        sessions=figures.sessions,
        denied=figures.denied,
        cost_usd=figures.spend.cost_usd,
        tokens=figures.spend.usage.total,
        seconds=figures.spend.seconds,
        fixes=delivered.fixes,
        flaky=delivered.flaky,
    )


def landing_of(kit: Kit, task: Task, known: KnownTicket, base: str) -> Landing:
    from ralph.domain.tasks.task import TaskStatus
    from ralph.domain.tickets.told import Landing
    from ralph.wiring.delivery import memory_of

    delivered = memory_of(kit, task.branch).load()
    pull = (delivered.url or f"#{delivered.number}") if delivered.number else ""
    target = (task.base or base) if pull else known.target
    # What had nothing to deliver has neither a pull request nor a merge.
    is_unchanged = not pull and (known.is_unchanged or not known.proven)
    return Landing(target, pull, is_merged=task.status is TaskStatus.DONE, is_unchanged=is_unchanged)

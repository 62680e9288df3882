"""``ralph work``: ready tasks, each a run of its own in a worktree, merged one after the other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ralph.adapters.control.run_control import PartControl, RunControl
from ralph.adapters.git import Git
from ralph.adapters.processes.open_files import allow_files
from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.database import Statement
from ralph.adapters.storage.earlier_runs import run_to_resume, used_before
from ralph.adapters.storage.task_demands import demands_of_tasks
from ralph.adapters.storage.task_names import require_tasks
from ralph.adapters.storage.task_watch import TaskWatch
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.workspace.fast_forward import FastForward
from ralph.adapters.workspace.integration import Integration
from ralph.adapters.workspace.preparation import Preparation
from ralph.adapters.workspace.worktree_includes import include_demands
from ralph.adapters.workspace.worktrees import Worktrees
from ralph.config.loading import Loaded
from ralph.config.root import STATE_FOLDER, Root, git_top
from ralph.config.schema import iterations_of
from ralph.domain.loop.events import LoopEvent, QuotaSeen
from ralph.domain.loop.profile import Profile
from ralph.domain.loop.session_report import Spend
from ralph.domain.loop.state import LoopState
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.task import Task
from ralph.domain.views.runs import RunLabel
from ralph.engine.loop import RunResult
from ralph.engine.proof.sightings import Sightings
from ralph.engine.recording import Listener
from ralph.engine.tasks.merge import TaskMerge
from ralph.engine.tasks.ports import Supply, WayOut, Worktree
from ralph.engine.tasks.worker import Worker
from ralph.errors import ConfigError, RalphError, StoreError, UsageError
from ralph.values import dataclass, field
from ralph.wiring.agents import chosen_agents
from ralph.wiring.assembly import drive, open_run
from ralph.wiring.delivery import Port, open_port, pull_of
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Launch
from ralph.wiring.pipelines import pipeline_of
from ralph.wiring.preparation import notes_on_setup, preparation_of, setup_commands, tearing_down
from ralph.wiring.profiles import load_profile
from ralph.wiring.requirements import delivery_demands, guardrails_of, is_delivered, require_runnable
from ralph.wiring.roles import anchor_programs, notes_on_roles, other_programs
from ralph.wiring.runs.task_run import prepare_task
from ralph.wiring.tickets import confine, imported_from, imports_of, note_for, noting_proofs, open_desk

FILES_OF_OURS, FILES_PER_TASK = 256, 16
"""Open files: a task's record, its agent's output and logs, and whatever its checks and git need meanwhile."""


@dataclass(frozen=True, slots=True)
class WorkComposition:
    """``tasks``: only these; none: whatever is ready."""

    tasks: tuple[str, ...]
    max_parallel: int
    target: str  # the branch that finished work is merged into
    pipeline: Pipeline
    source: str = ""  # where more tasks come from
    stays: bool = False  # for more of them, until it is stopped

    def arguments(self) -> Mapping[str, object]:
        return {
            "tasks": list(self.tasks),
            "maxParallel": self.max_parallel,
            "target": self.target,
            "from": self.source,
            "watch": self.stays,
        }

    def describe(self) -> Mapping[str, object]:
        asked = f"every task of {self.source}" if self.source else "every task that is ready"
        return {"prompt": ", ".join(self.tasks) or asked, "target": self.target}

    def warnings(self, launch: Launch) -> Iterator[str]:
        return notes_on_roles(launch.settings, launch.root.workspace, launch.notes)

    def commands(self, launch: Launch) -> Iterator[str]:
        return setup_commands(launch)

    def notes(self) -> Iterator[str]:
        defaults = self.pipeline.defaults
        limits = (
            f"{role} {defaults.of(role).max_iterations or defaults.max_iterations if defaults.loops(role) else 1}"
            for role in self.pipeline.roles
        )
        yield f"iterations of each task, unless it says otherwise: at most {', '.join(limits)}"

    async def drive(self, kit: Kit) -> RunResult:
        store = TaskStore(kit.record.database, me=this_process(), started_of=started_of)
        allow_files(FILES_OF_OURS + FILES_PER_TASK * self.max_parallel)
        try:
            port = await open_port(kit) if is_delivered(kit.launch.settings) else None
            target = self.target or await _current_branch(kit)
            await Git(kit.workspace, kit.runners.outside).require_identity()
            wanted = _known(store, self.tasks)
            desk = await open_desk(
                kit, store, source=self.source, stays=self.stays, base=port.base if port else ""
            )
        except RalphError as error:
            kit.end_unbegun(error)
            raise
        for note in notes_on_setup(kit.launch):
            kit.note(note)
        if port is not None:
            kit.note(f"each task is delivered as a pull request into {port.base} of {port.repository.name}")
        if self.stays:
            poll = kit.launch.settings.tickets.poll
            kit.note(f"watching {self.source}: looks every {poll:g} seconds, until you stop it")
        tree = kit.git_workspace()
        worker = self._worker(kit, store, target, wanted, port, desk)
        if tree is not None:
            await tree.snapshot()
            worker.tree_change = tree.changes
        return await worker.run()

    def _worker(
        self,
        kit: Kit,
        store: TaskStore,
        target: str,
        wanted: tuple[str, ...],
        port: Port | None,
        desk: Supply,
    ) -> Worker:
        state_folder = kit.launch.state_folder
        folder = _folder_in_repository(kit.workspace)
        git = Git(kit.workspace, kit.runners.outside, folder=folder)
        worktrees = Worktrees(
            git,
            state_folder,
            kept=kit.record.folder / "kept",
            folder=folder,
            tear_down=tearing_down(kit, folder),
        )
        preparation = preparation_of(kit, git, worktrees, folder)
        merges = Integration(
            git,
            worktrees,
            FastForward(git, state_folder),
            target=target,
            run_folder=kit.record.folder,
            preparation=preparation,
        )
        slots = asyncio.Semaphore(self.max_parallel)
        way_out: WayOut = self._merge(kit, store, merges, worktrees, target)
        if port is not None:
            from ralph.wiring.task_delivery import task_ship

            way_out = task_ship(kit, port, store, merges, worktrees, self.pipeline, slots)
        return Worker(
            tasks=store,
            watch=TaskWatch(store, kit.record.database, kit.warn, kit.clock.now),
            worktrees=worktrees,
            preparation=preparation,
            merges=merges,
            merge=way_out,
            runs=RunsOfTasks(kit, store, self.pipeline, preparation),
            target=target,
            wanted=wanted,
            max_parallel=self.max_parallel,
            slots=slots,
            budget=kit.launch.budget(),
            state=kit.state,
            journal=kit.record.journal,
            clock=kit.clock,
            control=kit.control,
            publish=kit.publish,
            supply=desk,
        )

    def _merge(
        self, kit: Kit, store: TaskStore, merges: Integration, worktrees: Worktrees, target: str
    ) -> TaskMerge:
        return TaskMerge(
            tasks=store,
            merges=merges,
            worktrees=worktrees,
            verify=noting_proofs(kit, store, self.pipeline, target),
            pipeline=self.pipeline,
            target=target,
            clock=kit.clock,
            control=kit.control,
            publish=kit.publish,
            time_over=kit.time_over,
            pull_of=partial(pull_of, kit),
            shift=kit.launch.shift,
        )


def _known(store: TaskStore, tasks: Sequence[str]) -> tuple[str, ...]:
    """As the store spells them; raises UsageError for one that is not there."""
    return tuple(dict.fromkeys(store.get(name).id for name in tasks))


async def _current_branch(kit: Kit) -> str:
    git = Git(kit.workspace, kit.runners.outside)
    branch = await git.branch()
    if not branch:
        message = "no branch is checked out here (detached HEAD)"
        raise UsageError(message, hint="check out the branch to merge finished tasks into")
    if not await git.commit_of("HEAD"):
        message = f"branch {branch} has no commit yet"
        raise UsageError(message, hint="make a first commit: each task gets its own branch")
    return branch


def _folder_in_repository(workspace: Path) -> str:
    """Where the project is in its repository; empty: at the top."""
    top = git_top(workspace)
    return "" if top is None or top == workspace else workspace.relative_to(top).as_posix()


@dataclass(frozen=True, slots=True)
class RunsOfTasks:
    """Each task is a run of its own in its worktree, and a part of this one."""

    kit: Kit
    store: TaskStore
    pipeline: Pipeline
    preparation: Preparation
    sightings: Sightings = field(default_factory=Sightings)

    async def run(
        self,
        task: Task,
        worktree: Worktree,
        *,
        exceeded: Callable[[], str | None],
        listen: Listener,
        spent: Callable[[Spend], LoopState],
    ) -> RunResult:
        kit = self.kit
        path = kit.launch.state_folder / "ralph.db"
        resumes = run_to_resume(kit.record.database, path, task.id)
        launch = prepare_task(
            kit.launch,
            task,
            worktree,
            self.pipeline,
            parent_id=kit.record.run_id,
            resumes=resumes,
            watch=kit.meter.watch,
            time_over=kit.time_over,
            exceeded=exceeded,
            before=used_before(kit.record.database, path, task.id, besides=resumes),
            sightings=self.sightings,
            prepare=partial(self.preparation.prepare, worktree) if self.preparation.is_wanted else None,
            program_files=kit.program_files,
            quota=kit.quota,
            watcher=kit.record.watcher,
            told=self._told(worktree),
            note=partial(note_for, kit, self.store, task),
        )
        assert isinstance(kit.control, RunControl)
        async with open_run(
            launch,
            PartControl(kit.clock, kit.control),
            [listen, kit.meter, self._pass_on, *kit.listeners_for(RunLabel(task.title, task.id))],
            complain=kit.complain,
        ) as part:
            self.store.claim(task.id, run_id=part.record.run_id, at=kit.clock.now())
            self._account(part, spent)
            return await drive(part)

    def _told(self, worktree: Worktree) -> str:
        """About the task's pull request, if it has one."""
        if not is_delivered(self.kit.launch.settings):
            return ""
        from ralph.wiring.task_delivery import told_about

        return told_about(self.kit, worktree.branch)

    def _pass_on(self, event: LoopEvent, at: float) -> None:
        """What is left of a subscription is left for all tasks."""
        if isinstance(event, QuotaSeen):
            self.kit.publish(event)

    def _account(self, part: Kit, spent: Callable[[Spend], LoopState]) -> None:
        """Whenever the part saves what it has spent, so does the whole, and a kill cannot come in between."""
        whole = self.kit.record.journal
        self.kit.meter.add(part.record.uncounted)
        whole.commit(spent(part.record.uncounted))
        counted = part.record.state.spend

        def save_whole(state: LoopState) -> Iterator[Statement]:
            nonlocal counted
            more, counted = state.spend - counted, state.spend
            yield whole.saving(spent(more))

        part.record.journal.accompany(save_whole)


def prepare_work(
    loaded: Loaded,
    root: Root,
    tasks: Sequence[str] = (),
    *,
    max_parallel: int | None = None,
    target: str = "",
    source: str = "",
    stays: bool = False,
    resumes: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Resolve everything, and raise whatever can be known to be wrong before anything is started or written."""
    require_runnable(loaded.settings)
    settings = anchor_programs(loaded.settings, root.workspace)
    source = source or (settings.tickets.source if stays else "")
    imported = imported_from(root, source, stays=stays)
    if imported:
        settings = confine(loaded, settings, imports_of(imported))
    if environ.get("RALPH_RUN_ID") and environ.get("RALPH_TASK_ID"):
        message = f"this is inside the work on task {environ['RALPH_TASK_ID']}"
        raise UsageError(
            message, hint="the tasks of a project are worked on by one `ralph work`, from outside"
        )
    if git_top(root.workspace) is None:
        message = f"{root.workspace} is not a git repository"
        raise ConfigError(
            message, hint="run `git init` there and make a first commit: each task gets a branch"
        )
    if not resumes and not source:  # a task that was removed since it was begun is told by the run
        require_tasks(root.state / STATE_FOLDER, tasks)
    return Launch(
        profile=load_profile("verified"),
        loaded=loaded,
        settings=settings,
        root=root,
        agents=chosen_agents(settings, root.workspace, environ=environ),
        composition=WorkComposition(
            tuple(tasks),
            max_parallel or settings.profiles.verified.max_parallel,
            target,
            pipeline_of(settings, root.workspace),
            source,
            stays,
        ),
        imports=imports_of(imported),
        programs=other_programs(settings, root.workspace, environ=environ),
        maximum=iterations_of(settings, "verified"),
        guardrails=guardrails_of(settings),
        resumes=resumes,
        demands=(
            *demands_of_tasks(root.state / STATE_FOLDER),
            *include_demands(git_top(root.workspace) or root.workspace),
            *delivery_demands(settings, root.workspace),
        ),
    )


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    if isinstance(task := arguments.get("task"), str):
        message = f"run {resumes} was the work on task {task}"
        raise UsageError(message, hint=f"`ralph work {task}` resumes it")
    tasks, parallel = arguments.get("tasks"), arguments.get("maxParallel")
    if not isinstance(tasks, list) or not isinstance(parallel, int):
        message = f"the request of run {resumes} does not say which tasks to work on"
        raise StoreError(message, hint="start again with `ralph work`: it continues each task where it was")
    return prepare_work(
        loaded,
        root,
        [str(name) for name in tasks],
        max_parallel=parallel,
        target=str(arguments.get("target") or ""),
        source=str(arguments.get("from") or ""),
        stays=bool(arguments.get("watch")),
        resumes=resumes,
    )

"""The tools: a table with what each is for, what it takes, and which operation it asks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import UNSET

from ralph.domain.loop.asks import Ask
from ralph.domain.loop.budget import Budget
from ralph.domain.tasks.task import Task, TaskAsk
from ralph.domain.views.runs import RunView
from ralph.errors import UsageError
from ralph.interfaces.mcp import arguments as given
from ralph.interfaces.mcp.answers import Answer, Room, make_answer
from ralph.interfaces.mcp.run_answers import news_answer, news_of, run_answer, runs_answer
from ralph.interfaces.mcp.task_answers import added_answer, tasks_answer
from ralph.operations.projects import Project
from ralph.operations.runs.ask import Answer as Heard
from ralph.operations.runs.ask import ask
from ralph.operations.runs.background import Kind, resume_run, start
from ralph.operations.runs.read import run_view
from ralph.operations.runs.surroundings import require_no_task_around, require_outside
from ralph.operations.tasks import ask_of_task
from ralph.operations.watch import LOOK_EVERY, Feed, Watch
from ralph.values import dataclass

BEGINS_WITHIN = 45.0
"""Seconds to wait for the run that was started; a sandbox may have to fetch its image first."""
ANSWER_WITHIN = 1.0
"""Seconds to wait for a run to hear what is asked of it."""
RUNS_LOOKED_AT = 1_000

_DONE = {
    Ask.STOP: "stops after its current step",
    Ask.STOP_NOW: "stops now",
    Ask.PAUSE: "pauses after its current session",
    Ask.UNPAUSE: "continues",
    Ask.STEER: "gets the note with its next prompt",
}


class ProjectTools:
    """One method for each tool, over one project. Any number may be under way at a time."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._folder = project.state_folder
        self._watch = Watch(project.state_folder)

    async def close(self) -> None:
        await self._watch.close()

    # --- look ---

    async def runs(self, wanted: given.Runs) -> Answer:
        def read(feed: Feed) -> Answer:
            found = feed.runs(limit=RUNS_LOOKED_AT)
            if wanted.state is not UNSET:
                found = [run for run in found if run.state == wanted.state]
            return runs_answer(feed, found, wanted.limit)

        return await self._watch.ask(read)

    async def show(self, wanted: given.Show) -> Answer:
        run = await self._named(wanted.run)
        return await self._watch.ask(lambda feed: run_answer(feed, run, wanted.iterations))

    async def logs(self, wanted: given.Logs) -> Answer:
        """Waits by looking again and again: other calls are answered meanwhile."""
        run_id = (await self._named(wanted.run)).id
        after = None if wanted.after is UNSET else wanted.after
        with_agent = wanted.detail == "all"
        deadline = time.monotonic() + wanted.wait

        def read(feed: Feed) -> tuple[Answer, bool]:
            run = feed.run(run_id)
            if run is None:
                message = f"run {run_id} has been removed"
                raise UsageError(message)
            news = news_of(feed, run, after=after, limit=wanted.limit, with_agent=with_agent)
            is_over = not run.live or (bool(news.events) and wanted.until == "news")
            return news_answer(feed, run, news, with_agent=with_agent), is_over

        while True:
            answer, is_over = await self._watch.ask(read)
            left = deadline - time.monotonic()
            if is_over or left <= 0:
                return answer
            if not answer.data["events"]:
                after = answer.data["cursor"]
            await asyncio.sleep(min(LOOK_EVERY, left))

    async def tasks(self, wanted: given.Tasks) -> Answer:
        return await asyncio.to_thread(tasks_answer, self._folder, wanted)

    # --- start ---

    async def start(self, wanted: given.Start) -> Answer:
        limits = Budget(
            wanted.max_iterations or None,
            wanted.max_cost or None,
            wanted.max_tokens or None,
            wanted.max_seconds or None,
        )
        kind = Kind(wanted.kind)
        return await _begun(
            start(self._project, kind, prompt=wanted.prompt, tasks=wanted.tasks, limits=limits)
        )

    async def resume(self, wanted: given.OneRun) -> Answer:
        return await _begun(resume_run(self._project, wanted.run, may_extend=False))

    # --- ask ---

    async def steer(self, wanted: given.Steer) -> Answer:
        return await self._ask(Ask.STEER, wanted.run, text=wanted.text)

    async def stop(self, wanted: given.Stop) -> Answer:
        return await self._ask(Ask.STOP_NOW if wanted.now else Ask.STOP, wanted.run)

    async def pause(self, wanted: given.OneRun) -> Answer:
        return await self._ask(Ask.PAUSE, wanted.run)

    async def unpause(self, wanted: given.OneRun) -> Answer:
        return await self._ask(Ask.UNPAUSE, wanted.run)

    async def _ask(self, request: Ask, reference: str, *, text: str = "") -> Answer:
        run = await self._named(reference)
        # It takes a note when it writes its next prompt, which may be much later.
        seconds = 0.0 if request is Ask.STEER else ANSWER_WITHIN

        def do() -> Heard:
            require_outside(self._folder, run.id)
            return ask(self._folder, run.id, request, text=text, wait_seconds=seconds)

        heard = await asyncio.to_thread(do)
        does = "is cancelled: it had ended to wait" if heard is Heard.CANCELLED else _DONE[request]
        name = Room().line(run.id)
        return make_answer([f"run {name} {does}"], {"run": name, "answer": heard.value})

    async def _named(self, reference: str) -> RunView:
        return await asyncio.to_thread(run_view, self._folder, reference)

    # --- tasks ---

    async def add_task(self, wanted: given.AddTask) -> Answer:
        return await asyncio.to_thread(added_answer, self._folder, wanted)

    async def cancel_task(self, wanted: given.OneTask) -> Answer:
        return await self._ask_of_task(wanted.id, TaskAsk.CANCEL)

    async def retry_task(self, wanted: given.OneTask) -> Answer:
        return await self._ask_of_task(wanted.id, TaskAsk.RETRY)

    async def _ask_of_task(self, task_id: str, request: TaskAsk) -> Answer:
        def do() -> Task:
            require_no_task_around(self._folder)
            return ask_of_task(self._folder, task_id, request)

        task = await asyncio.to_thread(do)
        name = Room().line(task.id)
        return make_answer([f"task {name} is {task.status}"], {"id": name, "status": task.status.value})


async def _begun(beginning: Awaitable[str]) -> Answer:
    try:
        run_id = await asyncio.wait_for(beginning, BEGINS_WITHIN)
    except TimeoutError:
        name, said = None, "It is still being prepared, perhaps by a sandbox that fetches its image."
        follow = "`runs` shows it once it has begun."
    else:
        name = Room().line(run_id)
        said = f"run {name} has begun, and continues by itself."
        follow = "Wait for it with `logs` (wait 50, until end), then judge it with `show`."
    return make_answer([said, follow], {"run": name, "next": follow})


# --- the table ---


@dataclass(frozen=True, slots=True)
class Tool:
    """``changes``: not for someone who may only watch. ``ends``: work that is under way."""

    name: str
    description: str
    takes: type[given.Arguments]
    call: Callable[[ProjectTools, Any], Awaitable[Answer]]
    changes: bool = True
    ends: bool = False


TOOLS = (
    Tool(
        "start",
        "Start a loop: ralph runs a coding agent again and again, each time with a fresh context, until the project's own"
        " checks prove the work done. Use it for work that takes many sessions or must be proven. It returns as soon as the"
        " run has begun, with its id; the run outlives this session. Agent, checks and sandbox come from the project's"
        " settings; a project that its user has not trusted is not started.",
        given.Start,
        ProjectTools.start,
    ),
    Tool(
        "runs",
        "List the runs of this project, those under way first, with state, progress and what they cost. Use it to find a"
        " run's id, or to see whether something is under way.",
        given.Runs,
        ProjectTools.runs,
        changes=False,
    ),
    Tool(
        "show",
        "Show one run: its state and why, its newest iterations with their decisions, what failed checks said, what it cost,"
        " and what can be done next. Use it to judge a run, or to find out why it is not done.",
        given.Show,
        ProjectTools.show,
        changes=False,
    ),
    Tool(
        "logs",
        "Read what happened in a run, after a cursor. With `wait` it answers as soon as something happens, or the run ends:"
        " call it again with the cursor of its last answer instead of asking often.",
        given.Logs,
        ProjectTools.logs,
        changes=False,
    ),
    Tool(
        "steer",
        "Add a note to the next prompt of a run under way, once. Use it when its agent misses a fact or goes astray.",
        given.Steer,
        ProjectTools.steer,
    ),
    Tool(
        "stop",
        "Stop a run: after its current step, or now. It can be resumed.",
        given.Stop,
        ProjectTools.stop,
        ends=True,
    ),
    Tool(
        "pause",
        "Pause a run after its current session; `unpause` continues it.",
        given.OneRun,
        ProjectTools.pause,
    ),
    Tool("unpause", "Continue a paused run.", given.OneRun, ProjectTools.unpause),
    Tool(
        "resume",
        "Resume a run that was stopped, interrupted or failed, where it ended. One that reached a limit needs a person, who"
        " may raise it.",
        given.OneRun,
        ProjectTools.resume,
    ),
    Tool(
        "tasks",
        "List the tasks of this project, the most urgent first: what each waits for, and which run works on it.",
        given.Tasks,
        ProjectTools.tasks,
        changes=False,
    ),
    Tool(
        "add_task",
        "Add a task that says what done means; `start` with kind work works on it, in a worktree of its own. How it is"
        " verified comes from the project's settings.",
        given.AddTask,
        ProjectTools.add_task,
    ),
    Tool(
        "cancel_task",
        "Cancel a task, even while a run works on it; its work so far stays in its branch.",
        given.OneTask,
        ProjectTools.cancel_task,
        ends=True,
    ),
    Tool(
        "retry_task",
        "Reopen a failed or cancelled task where it stopped.",
        given.OneTask,
        ProjectTools.retry_task,
    ),
)

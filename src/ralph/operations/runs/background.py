"""Start work, a run, a plan, or the rest of a run for a face that stays: in a process that outlives it.

It is what `--detach` does, but nobody is asked there: what the project's user has not agreed to is refused, whatever the
environment of this process waives.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ralph.domain.loop.budget import Budget
from ralph.domain.tasks.entry import id_problem
from ralph.domain.text.safe_text import clean_line, is_text
from ralph.errors import RalphError, StoreError, UsageError
from ralph.operations.agreement import VARIABLE
from ralph.operations.runs.detach import DetachedRun
from ralph.operations.runs.limits import limit_options
from ralph.operations.runs.surroundings import surrounding_variables

if TYPE_CHECKING:
    from ralph.operations.projects import Project

LONGEST_PROMPT = 20_000
"""Characters that a page may send; more belongs in a file."""
LAST_CHARS = 4_000
NO_LIMITS = Budget()
_MARK = "ralph: "


class Kind(StrEnum):
    """What can be started. Which options it gets is decided here: none that waives trust, sandbox, guard or proof."""

    RUN = "run"
    WORK = "work"
    PLAN = "plan"
    SUPERVISE = "supervise"


class _Command(NamedTuple):
    words: tuple[str, ...]
    profile: str
    takes_prompt: bool = False


_COMMANDS = {
    Kind.RUN: _Command(("run", "-f", "-"), "basic", takes_prompt=True),
    Kind.WORK: _Command(("work",), "verified"),
    Kind.PLAN: _Command(("plan", "run"), "reviewed"),
    Kind.SUPERVISE: _Command(("supervise", "-f", "-"), "supervised", takes_prompt=True),
}


async def start_work(project: Project) -> str:
    """`ralph work` on whatever is ready. Gives the run that began. Raises RalphError with what ralph said if none did."""
    return await start(project, Kind.WORK)


async def start_run(project: Project, prompt: str) -> str:
    """`ralph run` with the project's settings."""
    return await start(project, Kind.RUN, prompt=prompt)


async def start(
    project: Project, kind: Kind, *, prompt: str = "", tasks: Sequence[str] = (), limits: Budget = NO_LIMITS
) -> str:
    """``limits``: besides those of the settings, which they may not exceed. ``tasks``: of `ralph work`; none: whatever is
    ready."""
    command = _COMMANDS[kind]
    if command.takes_prompt:
        _require_prompt(prompt)
    elif prompt:
        message = f"`ralph {kind}` takes no prompt"
        raise UsageError(message, hint="what to do is in its tasks or its plan")
    if tasks and kind is not Kind.WORK:
        message = f"`ralph {kind}` takes no tasks"
        raise UsageError(message, hint="leave them out, or start the kind `work`")
    if wrong := next((name for name in tasks if id_problem(name)), ""):
        message = f"{clean_line(wrong)!r} is not the id of a task"
        raise UsageError(message, hint="`ralph task list` shows them")
    options = await asyncio.to_thread(limit_options, project, command.profile, limits)
    return await _start(project, [*command.words, *options, *tasks], prompt.encode())


def _require_prompt(prompt: str) -> None:
    if not prompt.strip():
        message = "the prompt is empty"
        raise UsageError(message, hint="say what the agent should do")
    if "\0" in prompt or not is_text(prompt):
        message = "the prompt is not UTF-8"
        raise UsageError(message, hint="write it as plain text")


async def resume_run(project: Project, run_id: str, *, may_extend: bool = True) -> str:
    """`ralph resume`, with a new limit of iterations if that is what it needs; for tasks, `ralph work`.

    ``may_extend`` False: nobody is there who may raise that limit.
    """
    words = await asyncio.to_thread(_words_to_resume, project, run_id, may_extend=may_extend)
    return await _start(project, words)


def _words_to_resume(project: Project, run_id: str, *, may_extend: bool) -> Sequence[str]:
    from ralph.domain.views.next_steps import can_resume_apart, next_steps, words_to_resume
    from ralph.operations.runs.read import run_view

    run = run_view(project.state_folder, run_id)
    words = words_to_resume(run)
    is_extended = "-m" in words
    if can_resume_apart(run) and not run.id.startswith("-"):  # a crafted record must not name an option
        if may_extend or not is_extended:
            return words
        message = f"run {run.id} reached its limit of iterations, which only a person may raise"
        raise UsageError(message, hint=next_steps(run)[0])
    message = f"run {run.id} cannot be resumed from here ({run.state.words})"
    raise UsageError(message, hint="; ".join(next_steps(run)))


async def _start(project: Project, arguments: Sequence[str], given: bytes = b"") -> str:
    """The thread is a daemon: whoever ends this face does not wait for a sandbox that is being made."""
    loop = asyncio.get_running_loop()
    begun: asyncio.Future[str] = loop.create_future()

    def tell(run_id: str, error: RalphError | None) -> None:
        if begun.cancelled():
            return
        if error is not None:
            begun.set_exception(error)
        else:
            begun.set_result(run_id)

    def work() -> None:
        started, run_id, error = _begin(project, arguments, given)
        try:
            loop.call_soon_threadsafe(tell, run_id, error)
        except RuntimeError:  # the face has ended
            return
        if started is not None:
            started.wait()  # or its process would stay in the table after its end, for as long as this one lives

    threading.Thread(target=work, name="ralph-start", daemon=True).start()
    return await begun


def _begin(
    project: Project, arguments: Sequence[str], given: bytes
) -> tuple[DetachedRun | None, str, RalphError | None]:
    place = str(project.workspace)
    if not project.workspace.is_dir():  # starting something makes no project
        return None, "", UsageError(f"{place} is not there any more", hint="show another project")
    try:
        started = DetachedRun(
            project.state_folder,
            [*arguments, "--project-dir", place],
            said_before=given,
            cwd=project.workspace,
            environment=_environment(project),
        )
        run_id = started.run_id()
    except OSError as error:
        message = f"cannot start ralph in {place}: {error.strerror or error}"
        return None, "", StoreError(message, hint="check that you may write there")
    if run_id is not None:
        return started, run_id, None
    _, said = started.leave()
    return None, "", _refusal(said)


def _environment(project: Project) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    with suppress(StoreError):  # the run itself says what is wrong with the record
        environment |= surrounding_variables(project.state_folder, project.workspace)
    return environment


def _refusal(said: str) -> UsageError:
    """``ralph: what is wrong``, and below it, indented, what to do."""
    lines = said[-LAST_CHARS:].strip().splitlines()
    first = max((number for number, line in enumerate(lines) if line.startswith(_MARK)), default=0)
    told = lines[first:]
    hint = [line.strip() for line in told[1:] if line.startswith("  ")]
    message = [line.removeprefix(_MARK).strip() for line in told if not line.startswith("  ")]
    return UsageError(" ".join(message) or "ralph ended without a word", hint=" ".join(hint))

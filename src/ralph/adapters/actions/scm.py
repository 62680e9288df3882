"""Seed 001's ``scm``: after every green iteration, commit with a message from the agent, push, or what else is asked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from ralph.domain.commit_message import COMMIT_PROMPT, commit_message
from ralph.domain.excerpt import Excerpt, Keep
from ralph.domain.feedback import Feedback
from ralph.domain.report import Ending, Spend
from ralph.engine.ports import (
    ActionResult,
    Agent,
    AgentRequest,
    Command,
    Journal,
    Judging,
    OutputMode,
    ProcessRunner,
    Trigger,
)

OUTPUT_KEPT = 2_000
OWN_FILES = (":(exclude).ralph", ":(exclude).ralph-active")
"""What ralph itself writes is never part of the work."""


@dataclass(frozen=True, slots=True)
class _Ran:
    code: int | None
    output: str

    @property
    def ok(self) -> bool:
        return self.code == 0


class ScmAction:
    """Runs ``command`` with each task in order; the first that fails ends the row, never the run."""

    name = "scm"
    trigger = Trigger.ON_PROOF

    def __init__(
        self,
        command: str,
        tasks: Sequence[str],
        *,
        agent: Agent,
        runner: ProcessRunner,
        journal: Journal,
        root: Path,
    ) -> None:
        self._command = tuple(shlex.split(command))
        self._tasks = tuple(tasks)
        self._agent = agent
        self._runner = runner
        self._journal = journal
        self._root = root

    async def run(self, judging: Judging) -> ActionResult:
        spend = Spend()
        done: list[str] = []
        for task in self._tasks:
            if judging.control.stopping:
                return ActionResult(ok=True, message=f"stopped before {task}", spend=spend)
            if task.strip() == "commit":
                result = await self._commit(judging)
                spend += result.spend
            else:
                result = _result(task, await self._scm(judging, *shlex.split(task)))
            if not result.ok:
                return ActionResult(False, result.message, spend, result.feedback)
            done.append(result.message)
        return ActionResult(ok=True, message=", ".join(done), spend=spend)

    async def _commit(self, judging: Judging) -> ActionResult:
        if self._is_git:
            # New files first; then it is known whether there is anything to commit before a call is spent.
            added = await self._scm(judging, "add", "-A", "--", ".", *OWN_FILES)
            if not added.ok:
                return _result("add", added)
            if (await self._scm(judging, "diff", "--cached", "--quiet")).ok:
                return ActionResult(ok=True, message="nothing to commit")
        message, spend = await self._ask_for_message(judging)
        if message is None:
            return ActionResult(
                False, "no commit message in the agent's answer; nothing was committed", spend
            )
        committed = _result("commit", await self._scm(judging, "commit", "-am", message))
        if committed.ok:
            return ActionResult(ok=True, message=f'committed "{message.splitlines()[0]}"', spend=spend)
        return ActionResult(False, committed.message, spend, committed.feedback)

    @property
    def _is_git(self) -> bool:
        return PurePath(self._command[0]).name in ("git", "git.exe")

    async def _ask_for_message(self, judging: Judging) -> tuple[str | None, Spend]:
        files = self._journal.open_session(
            COMMIT_PROMPT, iteration=judging.iteration, attempt=judging.attempt, purpose="commit"
        )
        request = AgentRequest(
            prompt=COMMIT_PROMPT,
            prompt_file=files.prompt,
            log_file=files.log,
            cwd=self._root,
            iteration=judging.iteration,
            attempt=judging.attempt,
            purpose="commit",
            mode=OutputMode.TEXT,
        )
        report = await self._agent.run(request, judging.publish, stop=judging.control.stop_now())
        if report.fault is not None or report.ending is not Ending.EXITED:
            return None, report.spend
        return commit_message(report.text), report.spend

    async def _scm(self, judging: Judging, *arguments: str) -> _Ran:
        output = Excerpt(OUTPUT_KEPT, Keep.TAIL)

        def read(lines: list[bytes]) -> None:
            for line in lines:
                output.add(line.decode(errors="replace") + "\n")

        exit_ = await self._runner.run(
            # Nobody is there to type a password or to edit a message.
            Command(
                (*self._command, *arguments),
                self._root,
                environment={"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"},
                merge_stderr=True,
            ),
            on_lines=read,
            stop=judging.control.stop_now(),
        )
        return _Ran(
            exit_.code if exit_.ending is Ending.EXITED else None, exit_.error or output.text().strip()
        )


def _result(task: str, ran: _Ran) -> ActionResult:
    if ran.ok:
        return ActionResult(ok=True, message=task)
    said = f"{task} failed with exit code {ran.code}: {ran.output}"
    return ActionResult(False, said, feedback=Feedback(f"After your last session, the SCM task {said}"))

"""Commits after a green iteration: what the setting ``scm`` asks for.

``scm`` runs the *user's* command, with the user's configuration, on purpose: it is not ralph's own git.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import ClassVar, Protocol

from ralph.adapters import beneath
from ralph.adapters.files import write_atomic
from ralph.adapters.git import REPAIR, Git
from ralph.adapters.own_output import not_own, own_output
from ralph.domain.loop.claims import COMMIT_PROMPT, commit_message
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.session_report import Ending, Spend
from ralph.domain.sandbox.own_git import OWN
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.engine.ports import (
    ActionResult,
    Agent,
    AgentRequest,
    Command,
    Journal,
    Judging,
    OutputMode,
    ProcessRunner,
    Timeouts,
    Trigger,
)
from ralph.errors import ConfigError, GitFailed, StoreError
from ralph.values import dataclass, field

OUTPUT_KEPT = 2_000
LISTED = 10_000_000  # characters of file names
UNHIDE = "Undo whatever hides changes from git, and end whatever still writes to files."
BATCH = 200  # file names per command line


@dataclass(frozen=True, slots=True)
class _Ran:
    """How one command of the SCM ended."""

    code: int | None
    output: str

    @property
    def ok(self) -> bool:
        return self.code == 0


class CommitGuard(Protocol):
    """Knows what may be committed."""

    async def begin(self) -> None: ...

    async def objection(self) -> ActionResult | None:
        """Why nothing may be committed or pushed now; None: nothing speaks against it."""
        ...

    async def note(self) -> None: ...

    async def problem(self, *, is_whole: bool = True) -> str:
        """What is wrong with the last commit; empty: nothing. Not ``is_whole``: some work may not be committed yet."""
        ...


@dataclass(eq=False, slots=True)
class ScmAction:
    """Runs ``command`` with each task in order; a task that fails ends the sequence, never the run."""

    command: str
    tasks: Sequence[str]
    agent: Agent
    runner: ProcessRunner
    journal: Journal
    root: Path
    memory: Path  # what was untracked before the run, for a process that resumes it
    completion: str
    timeout: float | None
    guard: CommitGuard | None = None
    trigger: ClassVar = Trigger.ON_PROOF
    _argv: list[str] = field(init=False)
    _own: tuple[str, ...] = field(init=False)
    _not_own: tuple[str, ...] = field(init=False)
    _not_ours: frozenset[str] = field(init=False, default=frozenset())

    def __post_init__(self) -> None:
        self._argv = shlex.split(self.command)
        self._own = (*OWN, *(f":(literal){name}" for name in sorted(own_output(self.root))))
        self._not_own = not_own(self.root)

    @property
    def name(self) -> str:
        return f"{shlex.join(self._argv)} {', '.join(self.tasks)}"

    async def prepare(self) -> Iterator[str]:
        """Look at the tree before the agent works; returns warnings for the user.

        Untracked files may be notes or secrets: those that were there before the run are never added.
        """
        if not self._is_git or "commit" not in self.tasks:
            return iter(())
        await Git(self.root, self.runner).require_unlocked()
        identity = await self._scm(None, "var", "GIT_COMMITTER_IDENT")
        if not identity.ok:
            reason = identity.output.splitlines()[-1] if identity.output else "no identity"
            message = f"git cannot commit: {reason}"
            raise ConfigError(message, hint='set user.name and user.email with "git config", or remove scm')
        if await self._has_conflicts(None):
            message = "a merge with conflicts is in progress"
            raise ConfigError(message, hint="resolve them first: a commit would count them as resolved")
        if self.memory.exists():
            self._not_ours = self._remembered()
            return iter(())
        untracked = await self._untracked(None)
        if isinstance(untracked, _Ran):
            message = f"git cannot list new files: {untracked.output}"
            raise GitFailed(message, hint=REPAIR)
        self._not_ours = untracked
        write_atomic(self.memory, json.dumps(sorted(self._not_ours)))
        changed = await self._scm(None, "diff", "--quiet", "HEAD", "--", *self._not_own)
        return self._warnings(has_changes=changed.code == 1)

    def _remembered(self) -> frozenset[str]:
        try:
            names = json.loads(beneath.read_plain(self.memory, 4 * LISTED, self.memory.parent))
            return frozenset(map(str, names))
        except (OSError, ValueError, TypeError) as error:
            message = f"{self.memory} cannot be read: {error}"
            raise StoreError(
                message, hint="remove it, unless an untracked file of yours must stay out of commits"
            ) from error

    def _warnings(self, *, has_changes: bool) -> Iterator[str]:
        if has_changes:
            yield "there are uncommitted changes: they will be part of the first commit"
        if self._not_ours:
            names = ", ".join(sorted(self._not_ours)[:5])
            more = f" and {len(self._not_ours) - 5} more" if len(self._not_ours) > 5 else ""
            yield f"untracked files that were there before will not be committed: {names}{more}"

    async def run(self, judging: Judging) -> ActionResult:
        if self.guard is not None and (objection := await self.guard.objection()) is not None:
            return objection
        spend = Spend()
        done: list[str] = []
        for task in self.tasks:
            if judging.control.stopping:
                return ActionResult(ok=False, message=f"stopped before {task}", spend=spend, is_cut=True)
            if task.strip() == "commit":
                result = await self._commit(judging)
                spend += result.spend
            else:
                result = await self._run_task(judging, task)
            if not result.ok:
                if judging.control.stopping_now:
                    return ActionResult(False, f"stopped during {task}", spend, is_cut=True)
                return ActionResult(False, result.message, spend, result.feedback)
            done.append(result.message)
        return ActionResult(ok=True, message=", ".join(done), spend=spend)

    async def _run_task(self, judging: Judging, task: str) -> ActionResult:
        words = shlex.split(task)
        if self.guard is not None and self._is_git and words[:1] == ["push"]:
            await self.guard.note()
            if wrong := await self.guard.problem(is_whole=False):
                return ActionResult(False, f"not pushed: {wrong}", feedback=Feedback(f"{wrong}. {UNHIDE}"))
        ran = await self._scm(judging, *words)
        return ActionResult(ran.ok, task if ran.ok else _failed(task, ran))

    async def keep_to(self, guard: CommitGuard) -> None:
        """From now on, nothing is committed or pushed that it objects to. Raises GitFailed."""
        if self._is_git:
            await guard.begin()
        self.guard = guard

    async def _commit(self, judging: Judging) -> ActionResult:
        flags = "-am"
        if self._is_git:
            if await self._has_conflicts(judging):
                feedback = Feedback(
                    "There are merge conflicts. Resolve them first; nothing can be committed until then."
                )
                return ActionResult(False, "there are merge conflicts", feedback=feedback)
            if self.guard is not None:
                await self.guard.note()
            # Stage first: no call is spent on a message if there is nothing to commit.
            staged = await self._stage(judging)
            if not staged.ok:
                return ActionResult(False, _failed("add", staged))
            if (await self._scm(judging, "diff", "--cached", "--quiet")).ok:
                return await self._nothing_to_commit()
            if not (await self._scm(judging, "diff", "--quiet", "--", *self._own)).ok:
                flags = "-m"  # "-a" would include changes in ralph's own files
        message, spend = await self._ask_for_message(judging)
        if message is None:
            return ActionResult(
                False, "no commit message in the agent's answer; nothing was committed", spend
            )
        ran = await self._scm(judging, "commit", flags, message)
        if ran.ok and self.guard is not None and (wrong := await self.guard.problem()):
            return ActionResult(False, wrong, spend, Feedback(f"{wrong}. {UNHIDE}"))
        if ran.ok:
            return ActionResult(ok=True, message=f'committed "{message.splitlines()[0]}"', spend=spend)
        # Most often a hook rejects the change, and the agent can fix that.
        reason = _failed("commit", ran)
        return ActionResult(False, reason, spend, Feedback(f"Your changes could not be committed: {reason}"))

    async def _nothing_to_commit(self) -> ActionResult:
        """That too may be what somebody wants git to believe."""
        wrong = await self.guard.problem() if self.guard is not None else ""
        if not wrong:
            return ActionResult(ok=True, message="nothing to commit")
        return ActionResult(False, wrong, feedback=Feedback(f"{wrong}. {UNHIDE}"))

    async def _stage(self, judging: Judging) -> _Ran:
        # Files of ralph that an agent staged are not part of the work.
        if not (await self._scm(judging, "diff", "--cached", "--quiet", "--", *self._own)).ok:
            await self._scm(judging, "reset", "--quiet", "--", *self._own)
        ran = await self._scm(judging, "add", "-u", "--", *self._not_own)
        untracked = await self._untracked(judging)
        if isinstance(untracked, _Ran):
            return untracked
        new = sorted(untracked - self._not_ours)
        for start in range(0, len(new), BATCH):
            if ran.ok:
                batch = new[start : start + BATCH]
                ran = await self._scm(judging, "--literal-pathspecs", "add", "--", *batch)
        return ran

    async def _has_conflicts(self, judging: Judging | None) -> bool:
        return bool((await self._scm(judging, "ls-files", "--unmerged", merge_stderr=False)).output)

    async def _untracked(self, judging: Judging | None) -> frozenset[str] | _Ran:
        """New files, or how git failed to list them."""
        query = ("ls-files", "--others", "--exclude-standard", "-z", "--", *self._not_own)
        listed = await self._scm(judging, *query, kept=LISTED, merge_stderr=False)
        return frozenset(filter(None, listed.output.split("\0"))) if listed.ok else listed

    @property
    def _is_git(self) -> bool:
        return PurePath(self._argv[0]).name in {"git", "git.exe"}

    async def _ask_for_message(self, judging: Judging) -> tuple[str | None, Spend]:
        files = self.journal.open_session(
            COMMIT_PROMPT, iteration=judging.iteration, attempt=judging.attempt, purpose="commit"
        )
        request = AgentRequest(
            prompt=COMMIT_PROMPT,
            prompt_file=files.prompt,
            log_file=files.log,
            cwd=self.root,
            purpose="commit",
            mode=OutputMode.TEXT,
        )
        report = await self.agent.run(request, judging.publish, stop=judging.control.stop_now())
        if report.ending is Ending.LIMITED:  # proven work is not left uncommitted for want of a sentence
            return f"Iteration {judging.iteration} (the budget left nothing for a message)", report.spend
        if report.fault is not None or report.ending is not Ending.EXITED:
            return None, report.spend
        return commit_message(report.text, completion=self.completion), report.spend

    async def _scm(
        self, judging: Judging | None, *arguments: str, kept: int = OUTPUT_KEPT, merge_stderr: bool = True
    ) -> _Ran:
        output = Excerpt(kept, Keep.TAIL)
        # Nobody is there to type a password or edit a message.
        environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
        argv = (*self._argv, *arguments)
        exit_ = await self.runner.run(
            Command(argv, self.root, environment=environment, merge_stderr=merge_stderr),
            timeouts=Timeouts(total=self.timeout),
            on_output=lambda chunk: output.add(chunk.decode(errors="surrogateescape")),
            stop=judging.control.stop_now() if judging is not None else None,
        )
        if exit_.ending is Ending.TIMED_OUT:
            return _Ran(None, f"it took longer than {self.timeout:g} s (scm.timeout)")
        code = exit_.code if exit_.ending is Ending.EXITED else None
        return _Ran(code, exit_.error or output.text().strip("\n"))


def _failed(task: str, ran: _Ran) -> str:
    output = ran.output.encode(errors="surrogateescape").decode(errors="replace")
    return f"{task} failed: {output or f'exit code {ran.code}'}"

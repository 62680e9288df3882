"""Makes a new worktree able to build: ignored files and folders of the user's checkout, and the user's setup command.

None of it is an agent's doing. Whatever it changes in the files of the work is put back; the rest is ignored by git, and
so no work either. A mark outside the worktree, written last, says what it was set up from.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISLNK

from ralph.adapters import beneath
from ralph.adapters.git import Git
from ralph.adapters.workspace.leftovers import UNLIKE
from ralph.adapters.workspace.repository_lock import lock_folder
from ralph.adapters.workspace.setup_marks import SetupMarks, place_copy
from ralph.adapters.workspace.tree_baseline import TreeBaseline
from ralph.adapters.workspace.worktree_includes import WorktreeIncludes
from ralph.adapters.workspace.worktrees import Worktrees, make_project_folder
from ralph.domain.proof.required_command import CommandVerdict
from ralph.domain.tasks.installation import INSTALLED_FROM, not_ignored
from ralph.engine.tasks.ports import Worktree
from ralph.errors import GitFailed, SetupFailed
from ralph.values import dataclass, field

MOST_BYTES = 50_000_000

RunIn = Callable[[str, Path, str], Awaitable[CommandVerdict]]
"""A command, the folder that it runs in, and the name of the worktree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """``git`` is at the top of the user's checkout; ``project``: the project in it, empty for all of it. ``control``: the
    name of a worktree in which setup is tried with the files that a task began with."""

    git: Git
    worktrees: Worktrees
    marks: SetupMarks
    includes: WorktreeIncludes
    share: tuple[str, ...]
    setup: tuple[str, ...]
    run: RunIn
    warn: Callable[[str], None]
    is_cut: Callable[[], bool]  # a stop, or a limit, has ended what was running
    control: str
    hint: str  # what to do if it cannot be set up
    project: str = ""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def is_wanted(self) -> bool:
        return bool(self.setup or self.share or self.includes.content)

    async def prepare(self, worktree: Worktree) -> str | None:
        """Once, and again if the files that it was set up from have changed. None: they have not.

        Empty, or why a worktree that was set up before cannot be any more, because of what the task has changed. Raises
        SetupFailed if it never could.
        """
        if not self.is_wanted or self.is_cut():
            return None
        path, name = worktree.path, worktree.path.name
        before, now = self.marks.read(name), await self._source(path)
        if before == now and not self.marks.is_unfinished(name):
            return None
        found = await self.worktrees.ignored(path)
        why = await self._set_up(path)
        if not why:
            await self._note_made(path, found)
            self.marks.write(name, now)
        if not why or self.is_cut():
            return why
        if before:
            await self._require_possible(worktree.base, why)
            return why
        # Made again by the next run, from what the user's branch is by then; one with work in it stays.
        with suppress(GitFailed):
            await self.worktrees.close(worktree, merged_into=worktree.base)
        raise self._failure(why)

    async def _note_made(self, path: Path, before: dict[str, str]) -> None:
        """What is ignored and was made here, now or earlier, is no work that somebody could miss later."""
        earlier, now = self.marks.made(path.name), await self.worktrees.ignored(path)
        made = {
            name: state
            for name, state in now.items()
            if state != UNLIKE and (state != before.get(name) or state == earlier.get(name))
        }
        self.marks.write_made(path.name, made)

    async def prepare_merge(self, path: Path, *, tip: str, commit: str) -> str:
        """A clean worktree at ``commit``. Empty, or why it cannot be, although the branch that it was merged into can.
        Raises SetupFailed if that cannot be set up either."""
        why = await self._set_up(path) if self.is_wanted else ""
        if not why or self.is_cut():
            return why
        if commit != tip:
            await self._require_possible(tip, why)
            return why
        raise self._failure(why)

    async def _require_possible(self, commit: str, why: str) -> None:
        """A registry may be away: what fails without the task's changes too is not the task's fault."""
        async with self._turn:
            path = await self.worktrees.detached(self.control, commit)
            held = lock_folder(path)
            try:
                if await self._set_up(path):
                    raise self._failure(why)
            finally:
                if held is not None:
                    os.close(held)
                await self.worktrees.discard(self.control)

    def _failure(self, why: str) -> SetupFailed:
        message, *said = why.splitlines()
        return SetupFailed(message, hint=self.hint, said=tuple(line.strip() for line in said))

    # --- one worktree ---

    async def _set_up(self, path: Path) -> str:
        """Empty, or what went wrong. If it is killed, the next one puts back what this one has changed."""
        baseline = TreeBaseline(self.git.at(path), self.marks.index(path.name))
        try:
            workspace = make_project_folder(path, self.project)
            try:
                await baseline.take()
            except GitFailed as error:  # nothing was changed yet; it may be what the task left there
                return f"{path} cannot be set up: {error.message}"
            await self.includes.copy_to(path)
            await self._share(path)
            why = await self._run_setup(workspace, path.name)
            new = await baseline.put_back()
        except OSError as error:
            return f"{path} cannot be set up: {error}"
        return why or (f"{self._named}: {not_ignored(new)}" if new else "")

    async def _run_setup(self, workspace: Path, name: str) -> str:
        for command in self.setup:
            verdict = await self.run(command, workspace, name)
            if not verdict.passed:
                said = "".join(f"\n  {line}" for line in verdict.last_lines)
                return f"workspace.setup: `{command}` failed: {verdict.reason}{said}"
        return ""

    @property
    def _named(self) -> str:
        return f"workspace.setup: `{' && '.join(self.setup)}`" if self.setup else "workspace.share"

    async def _share(self, path: Path) -> None:
        """Copies: what an agent does to one must not reach the user's. Only where both are installed from the same."""
        wanted = [name for name in self.share if beneath.status(self._in(path, name), path) is None]
        if not wanted:
            return
        if await self._installed_from(self.git.root) != await self._installed_from(path):
            if not self.setup:
                self.warn(
                    f"{path.name}: {', '.join(wanted)} not shared: what it was installed from differs from your"
                    " checkout's, and there is no workspace.setup"
                )
            return
        for name in wanted:
            source = self._in(self.git.root, name)
            found = beneath.status(source, self.git.root)
            if found is not None and S_ISLNK(found.st_mode):
                raise beneath.LinkInTheWay(source)
            if found is None or not S_ISDIR(found.st_mode):
                self.warn(f"workspace.share: there is no folder {name} in your checkout to share")
                continue
            await asyncio.to_thread(place_copy, source, self._in(path, name), self.git.root, path, self.marks)

    def _in(self, top: Path, name: str) -> Path:
        return top / self.project / name

    # --- what it is set up from ---

    async def _source(self, path: Path) -> str:
        """Of a worktree: its files that dependencies are installed from, and what the user wants."""
        wanted = [self.setup, self.share, self.includes.content.decode(errors="replace")]
        return sha256(json.dumps([wanted, await self._installed_from(path)]).encode()).hexdigest()

    async def _installed_from(self, path: Path) -> list[tuple[str, str]]:
        git, which = self.git.at(path), ("--cached", "--others", "--exclude-standard", "-z")
        listed = await git.must("ls-files", *which, "--", *INSTALLED_FROM, *git.not_own[1:])
        found = (
            (name, beneath.read_whole(path / name, MOST_BYTES, path)) for name in sorted(set(listed.names))
        )
        return [(name, sha256(content).hexdigest()) for name, content in found if content is not None]

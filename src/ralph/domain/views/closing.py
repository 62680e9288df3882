"""The closing block of a run, for people: what it made of the working tree, and how to look at it, continue it and undo it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ralph.domain.loop.decision import Outcome
from ralph.domain.loop.events import RunEnded, RunStarted
from ralph.domain.loop.tree_change import TreeChange
from ralph.domain.text.figures import duration, plural, totals
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.domain.tasks.task import Task

SHORT = 10
"""Characters of a commit's name."""
MOST_PATHS = 6
"""In a command for people to type."""
COMMANDS = {"verified": "ralph work", "draft": "ralph plan draft"}
"""What continues a run of this profile, if not `ralph resume`."""


def closing_figures(ended: RunEnded) -> str:
    spent = totals(
        cost_usd=ended.spend.cost_usd, at_least=ended.spend.is_partly_unknown, usage=ended.spend.usage
    )
    denied = f"claims denied: {ended.denied}" if ended.denied else ""
    parts = (f"iterations: {ended.iterations}", spent, f"time: {duration(ended.seconds)}", denied)
    return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """``allows``: changes of what proves the work were denied, which a person may allow. ``place``: the working folder,
    if whoever reads this is somewhere else. ``task``: what a part of `ralph work` worked on, as it is now."""

    started: RunStarted
    ended: RunEnded
    allows: bool = False
    place: str = ""
    task: Task | None = None

    @property
    def lines(self) -> list[str]:
        """What changed, then what to do next, a line each."""
        if self.task is not None:
            return [*self._of_task(self.task)]
        return [line for line in (self.changed, self.look, self.resume, self.undo) if line]

    @property
    def changed(self) -> str:
        """Empty if nobody knows."""
        tree = self.ended.tree
        if tree is None:
            return ""
        if not (tree.files or tree.commits):
            return "no files changed"
        told = [f"{plural(tree.files, 'file')} changed"]
        if tree.commits:
            told.append(f"in {plural(tree.commits, 'commit')}")
        if tree.uncommitted:
            told.append(f"{tree.uncommitted} of them uncommitted" if tree.commits else "uncommitted")
        mixed = f" ({tree.mixed} with changes of yours from before the run)" if tree.mixed else ""
        return f"{', '.join(told)}{mixed}: see {self._how_to_see(tree)}"

    @property
    def look(self) -> str:
        is_newest = self.task is None and not self.started.resumed
        run = "" if is_newest else f" {self.started.run_id}"
        return f"To look: `ralph report{run} --open{self._there}`"

    @property
    def resume(self) -> str:
        """How to continue a run that is not done; empty if no command does."""
        if not (command := self._command_to_resume()):
            return ""
        allowing = "; to allow what was changed: add --allow-test-changes FILE" if self.allows else ""
        return f"To continue: `{command}{self._there}`{allowing}"

    @property
    def undo(self) -> str:
        """With a command that loses nothing: what is uncommitted goes into git's stash, and nothing of the user's is
        touched."""
        tree = self.ended.tree
        if tree is None or not (tree.files or tree.commits):
            return ""
        if tree.is_merging:  # anything else would leave half of it, which the next commit would conclude
            return f"To undo: `{self._git} merge --abort`, the merge that is under way here"
        if not tree.began_with:
            return "To undo: by hand, there was no commit before the run"
        commit = tree.began_with[:SHORT]
        steps = list(self._steps_back(tree))
        if None in steps:
            return f"To undo: by hand; the commit before the run is {commit}"
        back = "brings back what was uncommitted" if tree.commits else "brings it back"
        stashed = f" (`{self._git} stash pop` {back})" if tree.uncommitted else ""
        return f"To undo: `{' && '.join(filter(None, steps))}`{stashed}"

    @property
    def _there(self) -> str:
        return f" --project-dir {shlex.quote(self.place)}" if self.place else ""

    @property
    def _git(self) -> str:
        return f"git -C {shlex.quote(self.place)}" if self.place else "git"

    def _of_task(self, task: Task) -> Iterator[str]:
        """Nothing of it is in the user's checkout, and once merged it is gone."""
        from ralph.domain.tasks.task import TaskStatus, can_be_reopened  # few runs are parts of a task

        is_merged = task.status is TaskStatus.DONE
        if not is_merged:
            yield f"its work so far: see `git -C {shlex.quote(self.started.root)} status`"
        yield self.look
        if can_be_reopened(task):
            yield f"To continue: `ralph task retry {task.id}{self._there}`, then `ralph work{self._there}`"
        elif not is_merged:
            yield f"To continue: `ralph work{self._there}`"

    def _how_to_see(self, tree: TreeChange) -> str:
        since = f" {tree.began_with[:SHORT]}" if tree.commits and tree.began_with else ""
        if tree.new and tree.new == tree.uncommitted and not tree.commits:
            return f"`{self._git} status`"
        new = f" and `{self._git} status`" if tree.new else ""
        return f"`{self._git} diff{since}`{new}"

    def _steps_back(self, tree: TreeChange) -> Iterator[str | None]:
        """None: there is no command for it that would not take the user's own changes along."""
        if tree.mixed or not tree.is_ahead:
            yield None
        if tree.uncommitted:
            yield self._stash(tree)
        if tree.commits:
            yield f"{self._git} reset --keep {tree.began_with[:SHORT]}"

    def _stash(self, tree: TreeChange) -> str | None:
        """What is deleted in the index cannot be stashed by its name, so the index is cleared of it first."""
        if len(tree.named) == tree.uncommitted <= MOST_PATHS and all(map(str.isprintable, tree.named)):
            git = f"{self._git} --literal-pathspecs" if any(map(_is_pattern, tree.named)) else self._git
            places = shlex.join(tree.named)
        elif tree.was_clean:
            git, places = self._git, ". ':!.ralph'"
        else:
            return None
        unstage = f"{git} reset -q -- {places} && " if tree.staged else ""
        return f"{unstage}{git} stash push -u -- {places}"

    def _command_to_resume(self) -> str:
        started, ended = self.started, self.ended
        command = COMMANDS.get(started.profile, "")
        match ended.outcome:
            case Outcome.COMPLETED:
                return ""
            case Outcome.FAILED:  # not resumed unasked: it would fail again as long as nothing is done
                return "" if command else f"ralph resume {started.run_id}"
            case outcome if ended.hint and (command == "ralph work" or outcome is Outcome.WAITING):
                return ""  # alone it would continue nothing: the hint says what comes first
            case Outcome.CANCELLED | Outcome.WAITING if command == "ralph work":
                return "ralph resume"  # with the options that it was started with
            case _ if command:
                return command
            case Outcome.EXHAUSTED:
                return f"ralph resume {ended.more or self._same_limit}"
            case _:
                return "ralph resume"

    @property
    def _same_limit(self) -> str:
        """A run that reached its end is resumed only with an option, even if another limit was in the way."""
        maximum, used = self.started.maximum, self.ended.iterations
        return f"-m {maximum if maximum is not None and used < maximum else 2 * max(used, 1)}"


def _is_pattern(path: str) -> bool:
    """Git would take it for more than the file of this name."""
    return path.startswith(":") or any(sign in path for sign in "*?[\\")

"""Finds what a merge would lose or break, before any work is accepted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from ralph.adapters.git import Git
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.judge import added_lines
from ralph.engine.ports import Judging, When
from ralph.errors import GitFailed
from ralph.patterns import pattern

# We merge commits by their ids, so a mark of ours ends with one: no text that is merely about conflicts does.
_MARK = pattern(r">{7} (?:[0-9a-f]{64}|[0-9a-f]{40})$")
MOST_NAMED = 20


class MergeCheck:
    """Fails while a merge is not resolved, also if the conflict marks were committed as they are; and while work lies in
    a repository of its own, whose files no merge would bring along. ``nested`` finds those."""

    name = "merge"
    command = ""
    when = When.ON_CLAIM

    def __init__(self, git: Git, *, base: str, nested: Callable[[], Awaitable[Iterable[str]]]) -> None:
        self._git = git
        self._base = base
        self._nested = nested

    async def run(self, judging: Judging) -> CheckResult:
        try:
            files = set(await self._git.conflicts())
            files |= set(marked_files(await self._git.tracked_diff(self._base)))
            nested = await self._nested()
        except GitFailed as error:
            return CheckResult(
                self.name, Verdict.ERRORED, feedback=Feedback(error.message), reason=error.message
            )
        if named := ", ".join(sorted(files)[:MOST_NAMED]):
            told = f"The merge conflict in {named} is not resolved: edit the files, remove the marks, and commit."
            return self._failed(told, f"not resolved: {named}")
        if found := sorted(nested)[:MOST_NAMED]:
            return self._failed("\n".join(map(_about, found)), f"a repository of its own: {', '.join(found)}")
        return CheckResult(self.name, Verdict.PASSED)

    def _failed(self, told: str, reason: str) -> CheckResult:
        return CheckResult(self.name, Verdict.FAILED, feedback=Feedback(told), reason=reason)


def _about(path: str) -> str:
    return (
        f"{path} is a git repository of its own inside this one, so its files would not be merged. "
        f"Delete {path}/.git, so that they belong to this repository (after `git rm -r --cached {path}`, if you "
        f"added it), or remove {path}."
    )


def marked_files(diff: str) -> Iterable[str]:
    """Files into which the marks of a merge of ours were added."""
    return (file for file, line in added_lines(diff) if _MARK.fullmatch(line.rstrip()))

"""Finds merge conflicts that were never resolved, before any work is accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ralph.adapters.git import Git
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.proof.judge import added_lines
from ralph.engine.ports import Judging, When
from ralph.errors import GitFailed

# We merge commits by their ids, so a mark of ours ends with one: no text that is merely about conflicts does.
_MARK = re.compile(r">{7} (?:[0-9a-f]{64}|[0-9a-f]{40})$")
MOST_NAMED = 20


class MergeCheck:
    """Fails while a merge is not resolved, also if the conflict marks were committed as they are."""

    name = "merge"
    command = ""
    when = When.ON_CLAIM

    def __init__(self, git: Git, *, base: str) -> None:
        self._git = git
        self._base = base

    async def run(self, judging: Judging) -> CheckResult:
        try:
            files = set(await self._git.conflicts())
            files |= set(marked_files(await self._git.tracked_diff(self._base)))
        except GitFailed as error:
            return CheckResult(
                self.name, Verdict.ERRORED, feedback=Feedback(error.message), reason=error.message
            )
        if not files:
            return CheckResult(self.name, Verdict.PASSED)
        named = ", ".join(sorted(files)[:MOST_NAMED])
        told = f"The merge conflict in {named} is not resolved: edit the files, remove the marks, and commit."
        return CheckResult(
            self.name, Verdict.FAILED, feedback=Feedback(told), reason=f"not resolved: {named}"
        )


def marked_files(diff: str) -> Iterable[str]:
    """Files into which the marks of a merge of ours were added."""
    return (file for file, line in added_lines(diff) if _MARK.fullmatch(line.rstrip()))

"""Whether the files an agent drafted are a plan that a run could begin with."""

from __future__ import annotations

from collections.abc import Callable

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.loop.feedback import Feedback
from ralph.domain.plan.draft import draft_problems, problems_told
from ralph.domain.text.reader import Problem
from ralph.engine.plans.ports import PlanStore
from ralph.engine.ports import Judging, When

PRD = "prd.md"


class PlanDraftCheck:
    """``keeps_prd``: it is the user's and is put back if the session touched it. prompt.md always is."""

    name = "plan draft"
    command = ""
    when = When.ALWAYS

    def __init__(self, store: PlanStore, *, keeps_prd: bool, is_scaffold: Callable[[str], bool]) -> None:
        self._store = store
        self._keeps_prd = keeps_prd
        self._is_scaffold = is_scaffold
        self._guarded = dict(store.read_guarded())

    async def run(self, judging: Judging) -> CheckResult:
        found = [*draft_problems(self._store.read_tasks()), *self._prd_problems()]
        if not found:
            return CheckResult(self.name, Verdict.PASSED)
        number = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        return CheckResult(
            self.name,
            Verdict.FAILED,
            feedback=Feedback(problems_told(found)),
            reason=f"{number}: {found[0]}",
        )

    def _prd_problems(self) -> list[Problem]:
        now = self._store.read_guarded()
        found = []
        for name, content in self._guarded.items():
            if now.get(name) != content and (name != PRD or self._keeps_prd):
                self._store.write_guarded(name, content)
                found.append(Problem((name,), "is not yours to change: it was put back"))
        prd = now.get(PRD)
        if not self._keeps_prd and (prd is None or self._is_scaffold(prd.decode(errors="replace"))):
            found.append(Problem((PRD,), "is missing, or still the empty template"))
        return found

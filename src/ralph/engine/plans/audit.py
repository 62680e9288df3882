"""Audits what a session did to its plan, from the engine's own memory of it: the agent is not asked.

Legal changes are kept. Illegal ones are undone, committed as a correction and reported in the next prompt; a damaged
document is put back whole and the damage kept aside. Hooks may have given the same advice earlier; here it is enforced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.plan.correction import Correction, Violation, correct
from ralph.domain.plan.document import Problems, TasksDocument, read_document
from ralph.domain.plan.prompt import NAMED, PROMISE, describe_undone, describe_untouched, in_short, name_some
from ralph.domain.plan.story import (
    IterationMode,
    Review,
    ReviewRules,
    StoryMode,
    is_complete,
    unfinished_stories,
)
from ralph.domain.text.reader import Problem
from ralph.engine.plans.ports import PlanRepository, PlanStore, TreeState, TrustedPlan, trusted_plan_from
from ralph.engine.plans.settlement import Settlement
from ralph.engine.ports import Judging, When
from ralph.errors import GitFailed, StoreError, UsageError
from ralph.values import replace

TASKS = "tasks.json"
MEMORY_FILES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md")
MEMORY_PATTERNS = (".claude/rules/*", "*/.claude/rules/*")
ROUNDS = 3
"""Files come to light when the .gitignore that hid them is put back."""


class PlanAudit:
    """A check, and the keeper of the trusted plan. ``warn`` reports what happened between sessions to the user.

    ``stuck``: why no session can start before a person has helped; empty: one can.
    """

    name = "plan"
    command = ""
    when = When.ALWAYS

    def __init__(
        self,
        store: PlanStore,
        rules: ReviewRules,
        repository: PlanRepository | None,
        *,
        memory_files: Sequence[str] = MEMORY_FILES,
        promise: str = PROMISE,
        run_id: str = "",
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._rules = rules
        self._repository = repository
        self._memory_files = memory_files
        self._promise = promise
        self._warn = warn
        # Of the session that is offered or under way; None: it was another process's.
        self.mode: StoryMode | None = None
        self.plan = plan = _first_trusted(store)
        if plan.run_id != run_id:
            plan.settled = None
        plan.run_id = run_id
        self.stuck = ""
        # This run may be cut off too, before it has judged anything: what it trusts must be its own by then.
        self._save()

    # --- between sessions ---

    async def catch_up(self) -> None:
        """Accept what a person edited meanwhile; neither that nor an unjudged session moves a story."""
        plan = self.plan
        plan.pending = None
        violations: list[Violation] = []
        remarks: list[str] = []
        if plan.in_session:
            violations += await self._come_back(remarks)
            if self.stuck:
                return
            violations += self._put_guarded_back()
            if self.mode is not None:
                violations += await self._undo_code(self.mode)
            elif plan.is_review:
                await self._tell_of_a_cut_review()
            plan.has_leftovers = True
            plan.settled = None
        correction = self._correct(None, violations, code_changed=False)
        plan.document = correction.document
        plan.moved = plan.at_cap = None
        told = (*describe_undone(violations), *remarks)
        plan.told = tuple(dict.fromkeys((*plan.told, *told)))
        for message in told:
            self._warn(message)
        if violations:
            await self._commit_plan("ralph: put the plan back")
        plan.in_session = False
        self._save()

    def offer(self, mode: StoryMode) -> None:
        self.mode = mode

    async def begin(self) -> None:
        assert self.mode is not None, "a session begins after it was offered"
        plan = self.plan
        plan.guarded = self._store.read_guarded()
        if self._repository is not None:
            plan.tree = self._without_leftovers(await self._repository.state(), self.mode)
            plan.since = plan.since or plan.tree.commit
        plan.in_session, plan.is_review = True, self.mode.mode is IterationMode.REVIEW
        self._save()

    async def _tell_of_a_cut_review(self) -> None:
        """Another process's: a person may have changed the same files since, so nothing is put back."""
        if self._repository is None:
            return
        found = await self._repository.changed_since(self.plan.tree)
        known = self.plan.tree.uncommitted
        changed = [path for path in found if path not in known and not self._is_for_a_review(path)]
        if changed:
            message = f"A review was cut off, and these files have changed since it began: {name_some(changed)}. Look at them too."
            self.plan.told = (*self.plan.told, message)
            self._warn(message)

    def _without_leftovers(self, now: TreeState, mode: StoryMode) -> TreeState:
        """What an unjudged session left uncommitted is not the user's: the session that continues it answers for it.

        A review does not: it may have no code to answer for.
        """
        if not self.plan.has_leftovers:
            return now
        earlier = self.plan.tree.uncommitted
        is_review = mode.mode is IterationMode.REVIEW
        theirs = {
            path: digest
            for path, digest in now.uncommitted.items()
            if path in earlier or (is_review and not self._is_for_a_review(path))
        }
        return replace(now, uncommitted=theirs)

    # --- after a session ---

    async def run(self, judging: Judging) -> CheckResult:
        mode = judging.assignment.subject
        assert isinstance(mode, StoryMode), "an assignment of a plan has its mode"
        plan = self.plan
        before = plan.document
        plan.pending = None
        remarks: list[str] = []
        violations = await self._come_back(remarks)
        if self.stuck:
            return CheckResult(self.name, Verdict.FAILED, reason=self.stuck)
        violations += self._put_guarded_back()
        touched = await self._undo_code(mode)
        violations += touched
        text = self._store.read_tasks()
        correction = self._correct(mode, violations, code_changed=bool(touched))
        rewritten = self._store.read_tasks() != text
        plan.moved = correction.moved
        plan.at_cap = correction.moved if correction.at_cap else None
        self._take(correction)
        remarks += await self._leave_committed(mode, corrected=rewritten or bool(violations))
        remarks += self._early_claim(judging, correction.document)
        progressed = correction.moved is not None or len(correction.document.stories) > len(before.stories)
        if not progressed and not violations:
            remarks.append(describe_untouched(mode, self._rules))
        plan.told = (*describe_undone(violations), *remarks)
        plan.has_leftovers = False
        plan.in_session = plan.pending is not None  # then the proofs have the last word
        result = self._result(mode, violations, progressed=progressed)
        plan.settled = Settlement(judging.iteration, (result,), judging.report.spend)
        self._save()
        return result

    async def _come_back(self, remarks: list[str]) -> list[Violation]:
        """To the branch on which the session began, with the history that it had."""
        self.stuck = ""
        if self._repository is None:
            return []
        # Of another process's session it is not known what a person did since.
        back = await self._repository.come_back(self.plan.tree, keep_history=self.mode is not None)
        if back is None:
            return []
        if back.failed:
            self.stuck = back.failed
            return []
        if back.is_harmless:
            remarks.append(back.told)
            return []
        return [Violation(TASKS, back.told)]

    def _take(self, correction: Correction) -> None:
        """An approval is not trusted before its proofs pass: until then the story stays where it was."""
        plan = self.plan
        moved = correction.document.by_id.get(correction.moved or "")
        if moved is not None and moved.passes:
            plan.pending = correction.document
            earlier = plan.document.story(moved.id)
            plan.document = correction.document.with_story(earlier)
        else:
            plan.document = correction.document

    def _correct(
        self, mode: StoryMode | None, violations: list[Violation], *, code_changed: bool
    ) -> Correction:
        """What is kept of tasks.json; written if the file says something else."""
        text = self._store.read_tasks()
        read: TasksDocument | Problems = (Problem((), "it is missing, not a text file, or too large"),)
        if text is not None:
            read = read_document(text)
        if isinstance(read, TasksDocument):
            correction = correct(self.plan.document, read, mode, self._rules, code_changed=code_changed)
            if correction.document != read:
                if correction.violations:
                    self._store.set_aside(TASKS)
                self._store.write_tasks(correction.document.text())
            violations += correction.violations
            return correction
        kept = self._store.set_aside(TASKS)
        self._store.write_tasks(self.plan.document.text())
        what = "; ".join(str(problem) for problem in read[:NAMED])
        message = f"tasks.json was damaged and has been put back as it was before the session: {what}"
        if kept:
            message += f" (the damaged file is kept as {kept})"
        violations.append(Violation(TASKS, message))
        return Correction(self.plan.document)

    def _put_guarded_back(self) -> list[Violation]:
        found = []
        now = self._store.read_guarded()
        for name, content in self.plan.guarded.items():
            if now.get(name) != content:
                self._store.set_aside(name)
                self._store.write_guarded(name, content)
                found.append(Violation(name, f"{name} is read-only during the loop: it was put back."))
        return found

    async def _undo_code(self, mode: StoryMode) -> list[Violation]:
        """A review looks; what it changed beyond plan and memory files is put back."""
        if self._repository is None or mode.mode is not IterationMode.REVIEW:
            return []
        foreign: list[str] = []
        left: tuple[str, ...] = ()
        for _ in range(ROUNDS):
            changed = await self._repository.changed_since(self.plan.tree)
            more = [path for path in changed if not self._is_for_a_review(path) and path not in foreign]
            if not more:
                break
            left += await self._repository.restore(more, self.plan.tree)
            foreign += more
        if not foreign:
            return []
        undo = f"ralph: undo what the review of [{mode.story.id}] changed"
        if error := await self._repository.commit(foreign, undo):
            raise _not_committed(error)
        message = f"Review iterations do not fix code: they change the plan and memory files only. Put back: {name_some(foreign)}."
        if left:
            message += f" Left as they are, because they were uncommitted before: {name_some(left)}."
        return [Violation(mode.story.id, message)]

    def _is_for_a_review(self, path: str) -> bool:
        if path.startswith(f"{self._store.folder}/") or path.rsplit("/", 1)[-1] in self._memory_files:
            return True
        return any(fnmatchcase(path, pattern) for pattern in MEMORY_PATTERNS)

    async def _leave_committed(self, mode: StoryMode, *, corrected: bool) -> list[str]:
        """The tree is clean for the next session: corrections first, then what the session forgot."""
        if self._repository is None:
            return []
        key = mode.story.id
        if corrected:
            await self._commit_plan(f"ralph: correct the plan after [{key}] {mode.mode}")
        changed = await self._repository.changed_since(self.plan.tree)
        now = await self._repository.state()
        forgotten = [path for path in changed if path in now.uncommitted]
        if not forgotten:
            return []
        message = f"chore: [{key}] - commit what the {mode.mode} session left uncommitted"
        named = name_some(forgotten)
        if error := await self._repository.commit(forgotten, message):
            if self.plan.pending is not None:  # an approval is the last word: nobody would hear of it
                raise _not_committed(error)
            return [f"Uncommitted changes were left behind and cannot be committed ({error}): {named}."]
        advice = "Commit ALL changes yourself, with the message of your mode."
        return [f"The session left uncommitted changes; the harness committed them: {named}. {advice}"]

    async def _commit_plan(self, message: str) -> None:
        """Plan files only. What cannot be committed now is tried again with what the session forgot."""
        if self._repository is not None:
            names = (TASKS, *self.plan.guarded)
            await self._repository.commit([f"{self._store.folder}/{name}" for name in names], message)

    def _early_claim(self, judging: Judging, document: TasksDocument) -> list[str]:
        claimed = any(
            tag.name.lower() == "promise" and tag.content.strip().upper() == self._promise.upper()
            for tag in judging.report.tags
        )
        if not claimed or is_complete(document, skip_review=self._rules.skip):
            return []
        left = name_some(unfinished_stories(document, skip_review=self._rules.skip))
        return [f"<promise>{self._promise}</promise> was claimed, but these stories are not done: {left}."]

    def _save(self) -> None:
        self._store.save_trusted(self.plan.to_json())

    def _sent_back(self, mode: StoryMode) -> str:
        """What a review wants changed; empty: nothing."""
        story = self.plan.document.by_id.get(mode.story.id)
        if mode.mode is not IterationMode.REVIEW or story is None or story.review is not Review.CHANGES:
            return ""
        return story.review_feedback

    def _result(self, mode: StoryMode, violations: Sequence[Violation], *, progressed: bool) -> CheckResult:
        if progressed and not violations:
            return CheckResult(self.name, Verdict.PASSED, sent_back=self._sent_back(mode))
        undone = f"undone: {in_short(violations, plan=TASKS)}"
        reason = undone if violations else f"{mode.story.id} was left as it was"
        return CheckResult(self.name, Verdict.FAILED, reason=reason)


def _not_committed(error: str) -> GitFailed:
    message = f"what the session left cannot be committed: {error}"
    return GitFailed(message, hint="see what `git status` says, then run `ralph plan run` again")


def _first_trusted(store: PlanStore) -> TrustedPlan:
    """What the user gave us; what an unjudged session left is not theirs."""
    saved = store.load_trusted()
    plan = trusted_plan_from(saved) if saved is not None else None
    if saved is not None and plan is None:
        message = f"what ralph remembers of the plan in {store.folder} is damaged: {store.memory}"
        hint = f"see that {store.folder}/{TASKS} is as you want it, then remove that file"
        raise StoreError(message, hint=hint)
    if plan is not None and plan.in_session:
        return plan
    text = store.read_tasks()
    read = read_document(text) if text is not None else (Problem((), "not a readable text file"),)
    if isinstance(read, TasksDocument):
        return TrustedPlan(read) if plan is None else replace(plan, document=read)
    message = f"{store.folder}/{TASKS} has problems: " + "; ".join(str(problem) for problem in read[:NAMED])
    raise UsageError(message, hint="ralph plan check lists them all")

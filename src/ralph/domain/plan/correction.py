"""What is kept of an agent's edit of tasks.json: legal changes stay, illegal ones are undone and named.

Only a judged session may move a story, only one story, and only as its mode allows; what proves the work (acceptance
criteria, verifyCommands) may be added to, never weakened; stories never vanish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.document_problems import Raw
from ralph.domain.plan.stop_checks import (
    broken_invariants,
    changes_between,
    illegal_review,
    newcomer_faults,
    transition_faults,
    waiting_faults,
)
from ralph.domain.plan.story import (
    DEFAULT_REVIEW_RULES,
    IterationMode,
    Review,
    ReviewRules,
    ReviewState,
    Story,
    StoryMode,
)
from ralph.domain.text.excerpt import Keep, truncate
from ralph.values import dataclass, replace

AT_CAP = "[AUTO-APPROVED AT CAP]"
PLAN = "tasks.json"


@dataclass(frozen=True, slots=True)
class Violation:
    """A change that the session was not allowed to make."""

    item: str
    message: str


@dataclass(frozen=True, slots=True)
class Correction:
    """``document`` is what is kept. ``moved``: the one story that the session legally moved on.

    ``at_cap``: it was approved only because it has had all its reviews.
    """

    document: TasksDocument
    violations: tuple[Violation, ...] = ()
    moved: str | None = None
    at_cap: bool = False


def correct(
    before: TasksDocument,
    after: TasksDocument,
    mode: StoryMode | None,
    rules: ReviewRules = DEFAULT_REVIEW_RULES,
    *,
    code_changed: bool = False,
) -> Correction:
    """``mode`` None: nothing was judged, so no story may have moved. Both documents are without problems.

    ``code_changed``: a review session touched more than the plan; what it approved was not what is there now.
    """
    violations: list[Violation] = []
    document = _restore_proofs(before, after, violations)
    kept = _choose_kept(before, document, mode, rules, code_changed=code_changed)

    def settle(story: Story) -> Story:
        earlier = before.by_id.get(story.id)
        if earlier is None:
            return _as_newcomer(story, violations)
        if story.id == kept:
            return _settle(earlier, story, mode, rules, code_changed=code_changed)
        return _undo(before, story, mode, rules, violations, code_changed=code_changed, kept=kept)

    document = document.map_stories(settle)
    story_kept = document.by_id.get(kept or "")
    at_cap = story_kept is not None and story_kept.passes and story_kept.review_feedback.startswith(AT_CAP)
    return Correction(document, tuple(violations), kept, at_cap)


# --- what proves the work ---


def _restore_proofs(
    before: TasksDocument, after: TasksDocument, violations: list[Violation]
) -> TasksDocument:
    """Vanished stories, criteria, commands and the branch are put back."""
    document = after
    if after.branch_name != before.branch_name:
        violations.append(Violation(PLAN, "branchName is the user's: it was put back."))
        document = document.with_field("branchName", before.branch_name)
    if Counter(before.verify_commands) - Counter(after.verify_commands):
        message = "verifyCommands may be added to, never removed or changed: they were put back."
        violations.append(Violation(PLAN, message))
    # Those that were there come first: one that is put before them could make them pass.
    commands = (*before.verify_commands, *_added(before.verify_commands, after.verify_commands))
    if commands != after.verify_commands:
        document = document.with_field("verifyCommands", list(commands))
    if missing := [key for key in before.by_id if key not in after.by_id]:
        message = "Story {} was removed from tasks.json: it was put back."
        violations += [Violation(key, message.format(key)) for key in missing]
        document = document.with_stories(_restore_stories(before, document))
    return _restore_criteria(before, _restore_order(before, document, violations), violations)


def _restore_order(
    before: TasksDocument, document: TasksDocument, violations: list[Violation]
) -> TasksDocument:
    """What a story waits for decides when it can be proven: if one waits for less, all wait for what they did."""
    freed = [
        key
        for key, story in before.by_id.items()
        if set(story.depends_on) - set(document.by_id[key].depends_on)
    ]
    if not freed:
        return document
    message = "dependsOn of story {} may be added to, never removed or changed: it was put back."
    violations += [Violation(key, message.format(key)) for key in freed]
    return document.map_stories(
        lambda story: replace(story, depends_on=before.by_id.get(story.id, story).depends_on)
    )


def _restore_criteria(
    before: TasksDocument, document: TasksDocument, violations: list[Violation]
) -> TasksDocument:
    def restore(story: Story) -> Story:
        earlier = before.by_id.get(story.id, story)
        criteria = _at_least(earlier.acceptance_criteria, story.acceptance_criteria)
        if criteria == story.acceptance_criteria:
            return story
        message = f"The acceptance criteria of story {story.id} may be added to, never removed or changed: they were put back."
        violations.append(Violation(story.id, message))
        return replace(story, acceptance_criteria=criteria)

    return document.map_stories(restore)


def _at_least(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """``after`` if nothing of ``before`` is missing in it; else all of ``before``, then what is new."""
    if before == after or not Counter(before) - Counter(after):
        return tuple(after)
    return (*before, *_added(before, after))


def _added(before: tuple[str, ...], after: tuple[str, ...]) -> list[str]:
    left = Counter(before)
    added = []
    for item in after:
        if left[item] > 0:
            left[item] -= 1
        else:
            added.append(item)
    return added


def _restore_stories(before: TasksDocument, after: TasksDocument) -> list[Raw]:
    """Each vanished story back behind the one before it."""
    raws = list(after.data["userStories"])
    ids = [raw["id"] for raw in raws]
    previous: str | None = None
    for raw in before.data["userStories"]:
        key = raw["id"]
        if key not in after.by_id:
            place = 0 if previous is None else ids.index(previous) + 1
            raws.insert(place, raw)
            ids.insert(place, key)
        previous = key
    return raws


# --- who may move a story ---


def _choose_kept(
    before: TasksDocument,
    after: TasksDocument,
    mode: StoryMode | None,
    rules: ReviewRules,
    *,
    code_changed: bool,
) -> str | None:
    """The one story whose change is kept: the assigned one, else the only one that was legally changed.

    Whoever approves one story and moves another as well has shown that their approvals are worth nothing.
    """
    moved = [story for story in after.stories if story.state != _state_before(before, story.id)]
    if mode is None:
        return None
    legal = [
        story
        for story in moved
        if story.id in before.by_id
        and not _faults(before, story, mode.mode, rules, code_changed=code_changed)
    ]
    assigned = [story for story in legal if story.id == mode.story.id]
    kept = next(iter(assigned or (legal if len(legal) == 1 else [])), None)
    return None if kept is None or (kept.passes and len(moved) > 1) else kept.id


def _state_before(before: TasksDocument, key: str) -> ReviewState:
    return before.by_id[key].state if key in before.by_id else ReviewState()


def _faults(
    document: TasksDocument, after: Story, mode: IterationMode, rules: ReviewRules, *, code_changed: bool
) -> list[str]:
    """Why this change of a story may not be kept, whatever happened to the others. ``document``: before it."""
    before = document.by_id[after.id]
    if rules.skip:
        found = [
            f"Story {after.id} had illegal transition: {change}. With reviews skipped an iteration sets passes=true "
            "on its story and leaves the review fields alone."
            for change in changes_between(replace(before, passes=True).state, after.state)
        ]
    else:
        found = [*transition_faults(before.state, after, mode), *broken_invariants(after, rules.cap)]
        if after.review_feedback.startswith(AT_CAP) and after.passes and after.review_count < rules.cap:
            early = f"it was auto-approved at review {after.review_count}, below the cap of {rules.cap}"
            found.append(illegal_review(after.id, early))
        if code_changed and after.review is Review.APPROVED:
            own_code = "the session changed files itself, so what it approved is not what is there"
            found.append(illegal_review(after.id, own_code))
    found += waiting_faults(
        after, [story.id for story in document.stories if story.is_done(skip_review=rules.skip)]
    )
    if after.passes and not after.notes.strip():
        found.append(f"Story {after.id} passes but its notes are empty; write down what was done.")
    return found


def _as_newcomer(story: Story, violations: list[Violation]) -> Story:
    violations += [Violation(story.id, message) for message in newcomer_faults(story)]
    return replace(story, passes=False, review=None, review_count=0, review_feedback="")


def _undo(
    document: TasksDocument,
    after: Story,
    mode: StoryMode | None,
    rules: ReviewRules,
    violations: list[Violation],
    *,
    code_changed: bool,
    kept: str | None,
) -> Story:
    """The story with its review fields as they were in ``document``."""
    before = document.by_id[after.id]
    if before.state != after.state:
        if mode is None:
            what = ", ".join(changes_between(before.state, after.state))
            messages = [
                f"Story {after.id} was changed outside of a judged session ({what}): it was put back."
            ]
        else:
            messages = _faults(document, after, mode.mode, rules, code_changed=code_changed) or [
                f"One story per iteration: the change of story {after.id} was undone"
                + (f", {kept} was the one that counts." if kept else ".")
            ]
        violations += [Violation(after.id, message) for message in messages]
    elif before.review_feedback != after.review_feedback:
        message = f"reviewFeedback of story {after.id} is the reviewer's: it was put back."
        violations.append(Violation(after.id, message))
    notes = after.notes
    if before.passes and before.notes.strip() and not notes.strip():
        message = f"The notes of story {after.id} were emptied: they were put back."
        violations.append(Violation(after.id, message))
        notes = before.notes
    return replace(
        after,
        passes=before.passes,
        review=before.review,
        review_count=before.review_count,
        review_feedback=before.review_feedback,
        notes=notes,
    )


def _settle(
    before: Story, story: Story, mode: StoryMode | None, rules: ReviewRules, *, code_changed: bool
) -> Story:
    """The legally moved story, as the harness leaves it."""
    if rules.skip:
        return replace(story, review_feedback=before.review_feedback)
    if mode is None or mode.mode is not IterationMode.REVIEW:
        return replace(story, review_feedback="")  # the next review begins with nothing
    if story.review_count < rules.cap:
        return story
    if story.review is Review.CHANGES and not rules.block_at_cap and not code_changed:
        return approved_at_cap(story)
    if story.review is Review.APPROVED and story.review_feedback.startswith(AT_CAP) and rules.block_at_cap:
        feedback = without_mark(story) or "The reviewer did not say what is left."
        return replace(story, passes=False, review=Review.CHANGES, review_feedback=feedback)
    return story


def approved_at_cap(story: Story) -> Story:
    """What the review should have written itself."""
    feedback = f"{AT_CAP} {story.review_feedback}"
    notes = story.notes if story.notes.strip() else f"approved after {story.review_count} reviews, at the cap"
    return replace(story, passes=True, review=Review.APPROVED, review_feedback=feedback, notes=notes)


def without_mark(story: Story) -> str:
    return story.review_feedback.removeprefix(AT_CAP).strip()


# --- an approval that the verifyCommands deny ---

FEEDBACK_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class FailedProof:
    """A command that the harness ran itself, and what it said."""

    command: str
    message: str


def refusal_text(failures: Sequence[FailedProof]) -> str:
    """For the next session: every command is named, their output is bounded."""
    named = ", ".join(f"`{failed.command}`" for failed in failures)
    said = "\n\n".join(failed.message for failed in failures)
    return (
        f"The harness ran the verification commands itself and did not accept the approval. Failing: {named}\n\n"
        + truncate(said, FEEDBACK_CHARS, Keep.BOTH)
    )


def refuse(
    document: TasksDocument, key: str, failures: Sequence[FailedProof], *, skip_review: bool
) -> TasksDocument:
    """The story goes back: to its fixer with the output, or, where reviews are skipped, to its implementer."""
    story = document.story(key)
    if skip_review:
        return document.with_story(replace(story, passes=False))
    said = without_mark(story)
    feedback = refusal_text(failures) + (f"\n\nThe review itself said: {said}" if said else "")
    return document.with_story(replace(story, passes=False, review=Review.CHANGES, review_feedback=feedback))

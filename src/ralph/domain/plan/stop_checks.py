"""The four checks before a session may stop: schema, review invariants, transitions, clean tree.

The hook runs them early, from what ``.ralph-active`` says; the engine runs them again, from its own memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ralph.domain.plan.document import TasksDocument, problems_of_text, read_document
from ralph.domain.plan.story import (
    DEFAULT_REVIEW_RULES,
    IterationMode,
    Review,
    ReviewRules,
    ReviewState,
    Story,
)

SNAPSHOT_MISSING = "preIterationSnapshot is missing from .ralph-active: transitions were not checked, only the end state was."

UNCOMMITTED = """There are uncommitted changes{files}. Before you stop:
1. Update {folder}/progress.txt with what was accomplished and what was learned.
2. Consider whether any lasting pattern belongs in CLAUDE.md or .claude/rules/.
3. Commit ALL changes, including progress.txt and the updates of tasks.json.
Then stop again."""
FILES_NAMED = 10

ILLEGAL_IMPLEMENT = (
    "Implement iterations cannot set passes=true or approve stories. Only review iterations may approve. "
    "Story {key} had illegal transition: {change}."
)
ILLEGAL_FIX = (
    "Review-fix iterations cannot approve stories. Story {key} must go back to needs_review for re-review. "
    "Illegal transition: {change}."
)

STALE_FEEDBACK = (
    'Story {key} still has its reviewFeedback. After you addressed it, set reviewFeedback to "": '
    "the next review starts with nothing."
)


def check_schema(text: str | None) -> tuple[str, ...]:
    """Check 1. ``text`` is None if there is no file."""
    if text is None:
        return ("tasks.json does not exist.",)
    return tuple(f"tasks.json is malformed: {problem}" for problem in problems_of_text(text))


def check_invariants(
    document: TasksDocument, rules: ReviewRules = DEFAULT_REVIEW_RULES
) -> dict[str, list[str]]:
    """Check 2: what must hold of every story, whoever changed it. By story id."""
    if rules.skip:
        return {}
    found = {story.id: broken_invariants(story, rules.cap) for story in document.stories}
    return {key: messages for key, messages in found.items() if messages}


def broken_invariants(story: Story, cap: int) -> list[str]:
    found = []
    if story.passes and story.review is not Review.APPROVED:
        status = "null" if story.review is None else story.review.value
        found.append(
            f"Story {story.id} has passes=true but reviewStatus is '{status}', not 'approved'. "
            "Only review iterations may approve stories. Set passes back to false or complete the review cycle."
        )
    if story.review is Review.APPROVED and not story.passes:
        found.append(
            f"Story {story.id} has reviewStatus 'approved' but passes=false: the two are out of sync. "
            "Only a review iteration sets them, and always both."
        )
    if story.review is Review.CHANGES and not story.review_feedback.strip():
        found.append(
            f"Story {story.id} has reviewStatus 'changes_requested' but reviewFeedback is empty: "
            "feedback required. Say exactly what needs to be fixed and where."
        )
    if not 0 <= story.review_count <= cap + 1:
        found.append(
            f"Story {story.id} has reviewCount {story.review_count}, "
            f"which is not between 0 and the review cap + 1 ({cap + 1})."
        )
    return found


def check_transitions(
    before: Mapping[str, ReviewState],
    document: TasksDocument,
    mode: IterationMode,
    *,
    skip_review: bool = False,
) -> dict[str, list[str]]:
    """Check 2.5: only what the mode allows may have changed since the snapshot. By story id."""
    if skip_review:
        return {}
    found: dict[str, list[str]] = {}
    moved = []
    for story in document.stories:
        earlier = before.get(story.id)
        if earlier is None:
            messages = newcomer_faults(story)
        elif earlier == story.state:
            continue
        else:
            moved.append(story.id)
            done = [key for key, state in before.items() if state.passes and state.review is Review.APPROVED]
            messages = [*transition_faults(earlier, story, mode), *waiting_faults(story, done)]
            if not messages and mode is IterationMode.REVIEW_FIX and story.review_feedback.strip():
                messages = [STALE_FEEDBACK.format(key=story.id)]
        if messages:
            found[story.id] = messages
    if len(moved) > 1:
        for key in moved:
            found.setdefault(key, []).append(_only_one(mode, key))
    if mode is IterationMode.REVIEW and not moved:
        waiting = [key for key, state in before.items() if state.review is Review.NEEDED]
        for key in waiting[:1]:
            found.setdefault(key, []).append(illegal_review(key, "review must increment reviewCount"))
    missing = "Story {} is gone from tasks.json. Stories may be split or added, never removed."
    return {**found, **{key: [missing.format(key)] for key in before if key not in document.by_id}}


def waiting_faults(story: Story, done: Sequence[str]) -> list[str]:
    """``done``: the stories that were done before the session."""
    missing = [key for key in story.depends_on if key not in done]
    if not missing:
        return []
    return [
        f"Story {story.id} depends on {', '.join(missing)}, not done yet: it cannot be submitted or reviewed before."
    ]


def newcomer_faults(story: Story) -> list[str]:
    """New stories are welcome in every mode, in their initial state."""
    return [
        f"New story {story.id} must start incomplete: passes=false, reviewStatus=null, reviewCount=0, "
        f"but {change}."
        for change in changes_between(ReviewState(), story.state)[:1]
    ]


def transition_faults(before: ReviewState, story: Story, mode: IterationMode) -> list[str]:
    """What was wrong with one story's change."""
    if mode is IterationMode.REVIEW:
        return [illegal_review(story.id, details) for details in review_faults(before, story)]
    found, message = (
        (None, ILLEGAL_IMPLEMENT) if mode is IterationMode.IMPLEMENT else (Review.CHANGES, ILLEGAL_FIX)
    )
    count = before.review_count
    if before == ReviewState(False, found, count) and story.state == ReviewState(False, Review.NEEDED, count):
        return []
    changes = changes_between(before, story.state)
    return [message.format(key=story.id, change=change) for change in changes]


def review_faults(before: ReviewState, story: Story) -> list[str]:
    found = []
    if before.review is not Review.NEEDED:
        found.append(f"its reviewStatus was {_json(before.review)}, it did not wait for a review")
    if story.review_count == before.review_count:
        found.append("review must increment reviewCount")
    elif story.review_count != before.review_count + 1:
        found.append(f"reviewCount must grow by exactly 1, not {before.review_count} → {story.review_count}")
    approved = story.review is Review.APPROVED and story.passes
    refused = story.review is Review.CHANGES and not story.passes
    if not approved and not refused:
        found.append(
            "it must end as approved with passes=true or as changes_requested with passes=false, "
            f"not as {_json(story.review)} with passes={_json(story.passes)}"
        )
    if refused and not story.review_feedback.strip():
        found.append("changes_requested needs a reviewFeedback that says what to fix")
    return found


def illegal_review(key: str, details: str) -> str:
    return f"Review iteration made illegal transition on story {key}: {details}."


def _only_one(mode: IterationMode, key: str) -> str:
    if mode is IterationMode.REVIEW:
        return illegal_review(key, "review may only modify one story")
    return (
        f"One story per iteration: {mode} may only modify the review fields of one story, "
        f"but changed {key} among others."
    )


def changes_between(before: ReviewState, after: ReviewState) -> list[str]:
    """``passes false → true``, one per field."""
    fields = (
        ("passes", before.passes, after.passes),
        ("reviewStatus", before.review, after.review),
        ("reviewCount", before.review_count, after.review_count),
    )
    return [f"{name} {_json(old)} → {_json(new)}" for name, old, new in fields if old != new]


def _json(value: object) -> str:
    return json.dumps(value)


def check_uncommitted(paths: Sequence[str], *, folder: str = "ralph") -> tuple[str, ...]:
    """Check 3. ``paths`` as ``git status`` names them, ralph's own files left out."""
    if not paths:
        return ()
    named = ", ".join(paths[:FILES_NAMED]) + (", …" if len(paths) > FILES_NAMED else "")
    return (UNCOMMITTED.format(files=f" ({named})" if named else "", folder=folder),)


def stop_reasons(
    text: str | None,
    *,
    snapshot: Mapping[str, ReviewState] | None,
    mode: IterationMode | None,
    rules: ReviewRules = DEFAULT_REVIEW_RULES,
    uncommitted: Sequence[str] = (),
    folder: str = "ralph",
) -> tuple[str, ...]:
    """All four checks: why the session may not stop yet. Nothing: it may.

    Without snapshot or mode only the transitions go unchecked; ``SNAPSHOT_MISSING`` is the warning for that.
    """
    found = list(check_schema(text))
    document = read_document(text) if text is not None else ()
    if isinstance(document, TasksDocument):
        found += flat(check_invariants(document, rules))
        if snapshot is not None and mode is not None:
            found += flat(check_transitions(snapshot, document, mode, skip_review=rules.skip))
    return (*found, *check_uncommitted(uncommitted, folder=folder))


def flat(by_story: Mapping[str, Sequence[str]]) -> list[str]:
    return [message for messages in by_story.values() for message in messages]


def snapshot_of(document: TasksDocument) -> dict[str, ReviewState]:
    """``preIterationSnapshot``"""
    return {story.id: story.state for story in document.stories}


def snapshot_json(snapshot: Mapping[str, ReviewState]) -> dict[str, dict[str, object]]:
    return {
        key: {
            "passes": state.passes,
            "reviewStatus": None if state.review is None else state.review.value,
            "reviewCount": state.review_count,
        }
        for key, state in snapshot.items()
    }


def snapshot_from_json(value: object) -> dict[str, ReviewState] | None:
    """None if it is not what ``snapshot_json`` writes: then there is no snapshot to trust."""
    if not isinstance(value, Mapping):
        return None
    found: dict[str, ReviewState] = {}
    for key, fields in value.items():
        if not isinstance(key, str) or not isinstance(fields, Mapping):
            return None
        passes, review, count = (fields.get(name) for name in ("passes", "reviewStatus", "reviewCount"))
        if not isinstance(passes, bool) or not isinstance(count, int) or isinstance(count, bool):
            return None
        if review is not None and review not in tuple(Review):
            return None
        found[key] = ReviewState(passes, None if review is None else Review(review), count)
    return found

"""What the next session of a plan is told about the one before it."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.domain.iteration_mode import IterationMode, Mode, ReviewRules
from ralph.domain.workflow import Violation

NAMED = 10
TOLD = 20


def undone(violations: Sequence[Violation]) -> tuple[str, ...]:
    """Bounded: a session that touched every story of a thousand must not fill the next one's context."""
    told = [f"Undone: {violation.message}" for violation in violations[:TOLD]]
    more = len(violations) - len(told)
    return (*told, f"… and {more} more changes were undone.") if more else tuple(told)


def in_short(violations: Sequence[Violation], *, plan: str) -> str:
    """For people: each story once, with all that was changed of it. ``plan`` is no story: what it says differs."""
    by_story: dict[str, list[str]] = {}
    for violation in violations:
        own = violation.message if violation.item == plan else violation.item
        by_story.setdefault(own, []).append(violation.message)
    return "; ".join(_merged(messages) for messages in list(by_story.values())[:NAMED])


def _merged(messages: Sequence[str]) -> str:
    """``Illegal: a.`` and ``Illegal: b.`` are one sentence; of other ones there is the number."""
    head, colon, _ = messages[0].rpartition(": ")
    alike = [message for message in messages if colon and message.startswith(f"{head}: ")] or [messages[0]]
    first, *others = (message.rstrip(".") for message in alike)
    text = ", ".join([first, *(other.removeprefix(f"{head}: ") for other in others)])
    more = len(messages) - len(alike)
    return f"{text} (and {more} more)" if more else text if others else messages[0]


def left_alone(mode: Mode, rules: ReviewRules) -> str:
    key = mode.story.id
    if rules.skip:
        return f"The session left story {key} as it was. When it is built and verified, set passes=true."
    match mode.mode:
        case IterationMode.IMPLEMENT | IterationMode.REVIEW_FIX:
            return (
                f'The session left story {key} as it was. When it is ready, set reviewStatus "needs_review".'
            )
        case IterationMode.REVIEW:
            return (
                f"The session reviewed nothing: story {key} is as it was. A review must increment reviewCount and "
                'set reviewStatus "approved" with passes=true, or "changes_requested" with reviewFeedback.'
            )


def named(paths: Sequence[str]) -> str:
    return ", ".join(paths[:NAMED]) + (f" and {len(paths) - NAMED} more" if len(paths) > NAMED else "")

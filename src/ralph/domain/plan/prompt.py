"""The prompt of one iteration over a plan: the project's own prompt.md, its story, the progress so far, and what the
harness found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ralph.domain.plan.correction import Violation
from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.story import IterationMode, ReviewRules, StoryMode
from ralph.domain.text.excerpt import Keep, truncate
from ralph.patterns import pattern

PROMISE = "COMPLETE"

_VARIABLE = pattern(r"\$(?:\{(RALPH_[A-Z_]+)\}|(RALPH_[A-Z_]+))")

SKIP_REVIEW = """Reviews are skipped in this run. There is Implement mode only: after the verifyCommands pass, set
`passes: true` on your story yourself and write its `notes`. Leave `reviewStatus` null and `reviewCount` 0. Your own
review before the commit still applies. Where the steps above say otherwise, this paragraph is right; the loop is
complete when ALL stories have `passes: true`."""


def plan_prompt(
    document: TasksDocument,
    mode: StoryMode,
    rules: ReviewRules,
    *,
    template: str,
    folder: str,
    iteration: int,
    maximum: int | None,
    progress: str = "",
    told: Sequence[str] = (),
    promise: str = PROMISE,
) -> str:
    """``told``: what the harness has to say about the session before."""
    values = {
        "RALPH_ITERATION": str(iteration),
        "RALPH_MAX_ITERATIONS": "unlimited" if maximum is None else str(maximum),
        "RALPH_DIR": folder,
        "RALPH_REVIEW_CAP": str(rules.cap),
    }
    sections = [with_variables(template, values).rstrip(), _this_iteration(document, mode, rules)]
    if promise != PROMISE:
        sections.append(f"When ALL stories are done, output `<promise>{promise}</promise>`, no other word.")
    if told:
        said = "\n".join(f"- {message}" for message in told)
        sections.append(f"## What the harness found after the previous session\n\n{said}")
    if newest := newest_progress(progress):
        sections.append(f"## {folder}/progress.txt (patterns, newest entries)\n\n{newest}")
    return "\n\n".join(sections) + "\n"


def with_variables(template: str, values: Mapping[str, str]) -> str:
    """``$NAME`` and ``${NAME}`` of known names; any other dollar sign is the user's."""
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), template)


def _this_iteration(document: TasksDocument, mode: StoryMode, rules: ReviewRules) -> str:
    story = mode.story
    title = mode.mode.value.title()
    lines = ["## This iteration", "", f"Mode: **{title}**", f"Story: **{story.id}**: {story.title}"]
    if story.description:
        lines += ["", story.description]
    lines += ["", "Acceptance criteria:", *(f"- {criterion}" for criterion in story.acceptance_criteria)]
    if document.verify_commands:
        lines += ["", "verifyCommands:", *(f"- `{command}`" for command in document.verify_commands)]
    if rules.skip:
        return "\n".join([*lines, "", SKIP_REVIEW])
    if mode.mode is IterationMode.REVIEW:
        lines += ["", _review_line(story.review_count + 1, rules)]
    if mode.mode is IterationMode.REVIEW_FIX:
        lines += ["", "reviewFeedback to address:", "", story.review_feedback]
    return "\n".join(lines)


def _review_line(number: int, rules: ReviewRules) -> str:
    line = f"This is review {number} of at most {rules.cap}: set `reviewCount` to {number}."
    if number < rules.cap:
        return line
    if rules.block_at_cap:
        return f"{line} It is the last one. If issues remain, request changes: a person decides then."
    return f"{line} The cap is reached: remaining concerns go into `reviewFeedback` with the prefix."


# --- the progress so far ---

ENTRIES_CHARS = 6_000
PATTERNS_CHARS = 40_000
"""Nobody keeps more patterns than this in order."""

_END_OF_PATTERNS = pattern(r"^---[ \t]*$", re.MULTILINE)
_START_OF_ENTRY = pattern(r"^## ", re.MULTILINE)


def newest_progress(text: str, *, entries_chars: int = ENTRIES_CHARS) -> str:
    """Everything above the first ``---`` line, and as many of the newest entries below it as there is room for."""
    text = text.replace("\r\n", "\n")
    end = _END_OF_PATTERNS.search(text)
    patterns, rest = (text, "") if end is None else (text[: end.start()], text[end.end() :])
    kept = truncate(patterns.strip(), PATTERNS_CHARS, Keep.BOTH)
    entries = _newest(_entries(rest.strip()), entries_chars)
    return "\n\n---\n\n".join(part for part in (kept, entries) if part)


def _entries(text: str) -> list[str]:
    starts = [found.start() for found in _START_OF_ENTRY.finditer(text)]
    if not starts or starts[0] > 0:
        starts = [0, *starts]
    pieces = (text[start:stop].strip() for start, stop in zip(starts, [*starts[1:], None], strict=True))
    return [piece for piece in pieces if piece]


def _newest(entries: list[str], limit: int) -> str:
    kept: list[str] = []
    room = limit
    for entry in reversed(entries):
        if len(entry) > room:
            break
        kept.insert(0, entry)
        room -= len(entry)
    left_out = len(entries) - len(kept)
    if entries and not kept:  # the newest alone is too long: its end is the newest of it
        return truncate(entries[-1], limit, Keep.TAIL)
    note = [f"[{left_out} earlier entr{'y' if left_out == 1 else 'ies'} left out]"] if left_out else []
    return "\n\n".join([*note, *kept])


# --- what the harness found ---

NAMED = 10
TOLD = 20


def describe_undone(violations: Sequence[Violation]) -> tuple[str, ...]:
    """Bounded: a session that touched every story of a thousand must not fill the next one's context."""
    told = [f"Undone: {violation.message}" for violation in violations[:TOLD]]
    more = len(violations) - len(told)
    return (*told, f"… and {more} more changes were undone.") if more else tuple(told)


def in_short(violations: Sequence[Violation], *, plan: str) -> str:
    """For people: each story once, with all its changes. ``plan`` is not a story: each of its messages is its own."""
    by_story: dict[str, list[str]] = {}
    for violation in violations:
        own = violation.message if violation.item == plan else violation.item
        by_story.setdefault(own, []).append(violation.message)
    return "; ".join(_join_messages(messages) for messages in list(by_story.values())[:NAMED])


def _join_messages(messages: Sequence[str]) -> str:
    """``Illegal: a.`` and ``Illegal: b.`` become one sentence; others are counted."""
    head, colon, _ = messages[0].rpartition(": ")
    alike = [message for message in messages if colon and message.startswith(f"{head}: ")] or [messages[0]]
    first, *others = (message.rstrip(".") for message in alike)
    text = ", ".join([first, *(other.removeprefix(f"{head}: ") for other in others)])
    more = len(messages) - len(alike)
    return f"{text} (and {more} more)" if more else text if others else messages[0]


def describe_untouched(mode: StoryMode, rules: ReviewRules) -> str:
    key = mode.story.id
    if rules.skip:
        return f"The session left story {key} as it was. When it is built and verified, set passes=true."
    if mode.mode is not IterationMode.REVIEW:
        return f'The session left story {key} as it was. When it is ready, set reviewStatus "needs_review".'
    return (
        f"The session reviewed nothing: story {key} is as it was. A review must increment reviewCount and "
        'set reviewStatus "approved" with passes=true, or "changes_requested" with reviewFeedback.'
    )


def name_some(paths: Sequence[str]) -> str:
    return ", ".join(paths[:NAMED]) + (f" and {len(paths) - NAMED} more" if len(paths) > NAMED else "")

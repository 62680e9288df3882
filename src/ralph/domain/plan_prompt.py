"""The prompt of one iteration over a plan: the project's own prompt.md, then what this iteration is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ralph.domain.iteration_mode import IterationMode, Mode, ReviewRules
from ralph.domain.progress_log import bounded_progress
from ralph.domain.tasks_document import TasksDocument

PROMISE = "COMPLETE"

_VARIABLE = re.compile(r"\$(?:\{(RALPH_[A-Z_]+)\}|(RALPH_[A-Z_]+))")

SKIP_REVIEW = """Reviews are skipped in this run. There is Implement mode only: after the verifyCommands pass, set
`passes: true` on your story yourself and write its `notes`. Leave `reviewStatus` null and `reviewCount` 0. Your own
review before the commit still applies. Where the steps above say otherwise, this paragraph is right; the loop is
complete when ALL stories have `passes: true`."""


@dataclass(frozen=True, slots=True)
class PlanPrompt:
    """What the parts of a prompt are made from. ``told``: what the harness has to say about the session before."""

    template: str
    folder: str
    iteration: int
    maximum: int | None
    progress: str = ""
    told: Sequence[str] = ()
    promise: str = PROMISE


def plan_prompt(prompt: PlanPrompt, document: TasksDocument, mode: Mode, rules: ReviewRules) -> str:
    values = {
        "RALPH_ITERATION": str(prompt.iteration),
        "RALPH_MAX_ITERATIONS": "unlimited" if prompt.maximum is None else str(prompt.maximum),
        "RALPH_DIR": prompt.folder,
        "RALPH_REVIEW_CAP": str(rules.cap),
    }
    sections = [with_variables(prompt.template, values).rstrip(), _this_iteration(document, mode, rules)]
    if prompt.promise != PROMISE:
        sections.append(
            f"When ALL stories are done, output `<promise>{prompt.promise}</promise>`, no other word."
        )
    if prompt.told:
        said = "\n".join(f"- {message}" for message in prompt.told)
        sections.append(f"## What the harness found after the previous session\n\n{said}")
    if progress := bounded_progress(prompt.progress):
        sections.append(f"## {prompt.folder}/progress.txt (patterns, newest entries)\n\n{progress}")
    return "\n\n".join(sections) + "\n"


def with_variables(template: str, values: Mapping[str, str]) -> str:
    """``$NAME`` and ``${NAME}`` of known names; any other dollar sign is the user's."""
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], found[0]), template)


def _this_iteration(document: TasksDocument, mode: Mode, rules: ReviewRules) -> str:
    story = mode.story
    lines = [
        "## This iteration",
        "",
        f"Mode: **{_TITLES[mode.mode]}**",
        f"Story: **{story.id}**: {story.title}",
    ]
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


_TITLES = {
    IterationMode.IMPLEMENT: "Implement",
    IterationMode.REVIEW: "Review",
    IterationMode.REVIEW_FIX: "Review-Fix",
}


def _review_line(number: int, rules: ReviewRules) -> str:
    line = f"This is review {number} of at most {rules.cap}: set `reviewCount` to {number}."
    if number < rules.cap:
        return line
    if rules.block_at_cap:
        return f"{line} It is the last one. If issues remain, request changes: a person decides then."
    return f"{line} The cap is reached: remaining concerns go into `reviewFeedback` with the prefix."

"""What a delivery writes: title and text of the pull request, answers to remarks, and what a fix session is told."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph.domain.delivery.facts import PullRequest, Remark
from ralph.domain.text.excerpt import Keep, truncate
from ralph.values import dataclass

MARK = "<!-- ralph:"
"""In whatever ralph writes on a forge: so it knows its own words."""
LONGEST_TITLE = 120
LONGEST_BODY = 60_000
"""A forge takes some 65,000 characters."""
MOST_COMMITS = 30
MOST_PLACES = 20
LONGEST_REMARK = 4_000
DO_NOT_PUSH = (
    "Work on this branch only. Do not push, and do not touch pull requests: ralph does that once it has checked your work."
    " The files of the CI itself and the tests are not yours to change."
)


@dataclass(frozen=True, slots=True)
class FailureLog:
    """What is known of a failed check. ``places``: file, line and message of each problem it named."""

    name: str
    text: str = ""
    step: str = ""
    places: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What the work was for, from a task, a plan or a prompt; all of it may be empty. ``title`` empty: from the commits."""

    title: str = ""
    text: str = ""
    criteria: tuple[str, ...] = ()


def title_of(purpose: Purpose, subjects: Sequence[str], branch: str) -> str:
    """Of the purpose; else the only commit's subject, else the branch's name in words."""
    words = purpose.title or (subjects[0] if len(subjects) == 1 else "")
    if not words:
        words = re.sub(r"[-_]+", " ", branch.rsplit("/", 1)[-1]).strip().capitalize() or branch
    line = " ".join(words.split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def branch_name(title: str, run_id: str) -> str:
    """For work that has no branch yet: its title in a few plain letters, and the end of the run's name."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower())[:40].strip("-")
    return f"ralph/{words or 'work'}-{run_id[-4:]}"


def body_of(purpose: Purpose, subjects: Sequence[str]) -> str:
    parts = [purpose.text.strip()]
    if purpose.criteria:
        parts.append("\n".join(("Done when:", *(f"- {' '.join(one.split())}" for one in purpose.criteria))))
    if subjects and not purpose.text.strip():
        more = len(subjects) - MOST_COMMITS
        listed = [f"- {' '.join(subject.split())}" for subject in subjects[:MOST_COMMITS]]
        parts.append("\n".join((*listed, *((f"- and {more} more commits",) if more > 0 else ()))))
    return truncate("\n\n".join(filter(None, parts)), LONGEST_BODY, Keep.HEAD)


def answer_text(remark: Remark, commit: str) -> str:
    """``commit`` empty: a session looked at it, and changed nothing."""
    said = (
        f"ralph: an agent session addressed this in {commit}; please look."
        if commit
        else "ralph: an agent session looked at this and found nothing to change."
    )
    return f"{said}\n\n{MARK}answer {remark.id} -->"


def is_own(text: str) -> bool:
    return MARK in text


# --- what a fix session is told ---


def fix_objective(
    *,
    pull: PullRequest,
    purpose: Purpose,
    reason: str,
    attempt: int,
    logs: Sequence[FailureLog] = (),
    remarks: Sequence[Remark] = (),
    conflicts: Sequence[str] = (),
    most_chars: int,
) -> str:
    """``attempt``: how many sessions have tried before, and one. ``conflicts``: files with marks of the merge."""
    head = (
        f"Pull request #{pull.number} ({pull.title}) from {pull.branch} into {pull.base} cannot be merged yet: {reason}."
        f" This is attempt {attempt} to fix that."
    )
    parts = [
        head,
        *([_conflict(pull, conflicts)] if conflicts else ()),
        *(_failure(log, most_chars) for log in logs),
        *([_remarks(remarks)] if remarks else ()),
        DO_NOT_PUSH,
    ]
    if purpose.text.strip():
        parts.append(f"The work was asked for in these words:\n\n{_quoted(purpose.text)}")
    return "\n\n".join(parts)


def proof_objective(*, branch: str, told: str, attempt: int) -> str:
    """For work that does not pass here what must pass before anything is pushed."""
    return (
        f"The work on {branch} is to be delivered, but it does not pass what must pass first. This is attempt"
        f" {attempt} to fix that.\n\n{told}\n\n{DO_NOT_PUSH}"
    )


def _conflict(pull: PullRequest, files: Sequence[str]) -> str:
    named = "\n".join(f"- {name}" for name in files)
    return (
        f"{pull.base} has been merged into your working tree, and these files conflict:\n{named}\n"
        "Resolve each conflict so that both sides keep what they are for, remove the marks, and commit the merge."
    )


def _failure(log: FailureLog, most_chars: int) -> str:
    step = f', in step "{log.step}"' if log.step else ""
    lines = [f'Check "{log.name}" failed{step}.']
    if log.url:
        lines.append(f"Address: {log.url}")
    if log.places:
        lines += ["It names:", *(f"- {place}" for place in log.places[:MOST_PLACES])]
    text = log.text.strip()
    lines += ["Its log:", truncate(text, most_chars, Keep.BOTH)] if text else ["It left no log."]
    return "\n".join(lines)


def _remarks(remarks: Sequence[Remark]) -> str:
    told = "\n\n".join(_remark(remark) for remark in remarks)
    return f"Reviewers who may write to the repository said:\n\n{told}"


def _remark(remark: Remark) -> str:
    where = f" on {remark.path}" + (f", line {remark.line}" if remark.line else "") if remark.path else ""
    return f"{remark.author}{where}:\n{_quoted(truncate(remark.text.strip(), LONGEST_REMARK, Keep.HEAD))}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())

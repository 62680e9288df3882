"""GitHub's words for what is known of a pull request, in ours. Pure: shapes in, facts out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ralph.adapters.online.problems import garbled
from ralph.adapters.online.shape import Shape
from ralph.domain.delivery.facts import CheckRun, CheckState, PullRequest, PullState, Required
from ralph.domain.text.safe_text import clean, clean_line

STATUS = "status-"
"""Begins the id of a commit status, which is no check run: nobody can run it again from here."""
MOST_PLACES = 50
CONCLUSIONS: Mapping[str, CheckState] = {
    "success": CheckState.PASSED,
    "neutral": CheckState.PASSED,
    "skipped": CheckState.PASSED,
    "failure": CheckState.FAILED,
    "cancelled": CheckState.CANCELLED,
    "stale": CheckState.CANCELLED,
    "timed_out": CheckState.TIMED_OUT,
    "startup_failure": CheckState.BROKEN,
    "action_required": CheckState.HELD,
}
STATUSES: Mapping[str, CheckState] = {
    "success": CheckState.PASSED,
    "failure": CheckState.FAILED,
    "error": CheckState.FAILED,
    "pending": CheckState.QUEUED,
}


def state_of(status: str, conclusion: str) -> CheckState:
    """A word that nobody knows yet is never green: what has ended so waits for a person."""
    if status == "completed" or (not status and conclusion):
        return CONCLUSIONS.get(conclusion, CheckState.HELD)
    return CheckState.RUNNING if status == "in_progress" else CheckState.QUEUED


def pull_of(found: Shape, *, by: str = "") -> PullRequest:
    """Raises ServiceAway if what decides is missing. ``by``: who closed it, which GitHub says elsewhere."""
    number, head = found["number"].number, found["head"]["sha"].text
    branch, base = found["head"]["ref"].text, found["base"]["ref"].text
    if not (number and head and branch and base and found["state"].text in ("open", "closed")):
        raise garbled(wanted="pull request")
    state = pull_state(found)
    return PullRequest(
        number=number,
        url=found["html_url"].text,
        title=clean_line(found["title"].text),
        state=state,
        branch=branch,
        head=head,
        base=base,
        body=found["body"].text,
        is_draft=found["draft"].flag is True,
        is_mergeable=_mergeable(found),
        by=found["merged_by"]["login"].text if state is PullState.MERGED else by,
        merge_commit=found["merge_commit_sha"].text if state is PullState.MERGED else "",
    )


def pull_state(found: Shape) -> PullState:
    if found["state"].text == "open":
        return PullState.OPEN
    is_merged = found["merged"].flag is True or bool(found["merged_at"].text)
    return PullState.MERGED if is_merged else PullState.CLOSED


def _mergeable(found: Shape) -> bool | None:
    return False if found["mergeable_state"].text == "dirty" else found["mergeable"].flag


def check_of(found: Shape, commit: str) -> CheckRun:
    """Raises ServiceAway if it has no name: a check that is left out could be the red one."""
    name = clean_line(found["name"].text)
    if not name:
        raise garbled(wanted="check run")
    return CheckRun(
        name=name,
        state=state_of(found["status"].text, found["conclusion"].text),
        commit=found["head_sha"].text or commit,
        id=str(found["id"].number or ""),
        at=found["completed_at"].moment or found["started_at"].moment,
        url=found["html_url"].text or found["details_url"].text,
        source=str(found["check_suite"]["id"].number or ""),
    )


def statuses_of(found: Iterable[Shape], commit: str) -> list[CheckRun]:
    """The newest of each context: a service reports its progress by one status after the other, which are no runs."""
    newest: dict[str, CheckRun] = {}
    for status in found:
        run = _status_of(status, commit)
        before = newest.get(run.name)
        if before is None or _order(before) < _order(run):
            newest[run.name] = run
    return list(newest.values())


def _status_of(found: Shape, commit: str) -> CheckRun:
    return CheckRun(
        name=clean_line(found["context"].text) or "default",
        state=STATUSES.get(found["state"].text, CheckState.HELD),
        commit=commit,
        id=f"{STATUS}{found['id'].number}",
        at=found["updated_at"].moment or found["created_at"].moment,
        url=found["target_url"].text,
        source=STATUS,
    )


def _order(run: CheckRun) -> tuple[float, int]:
    return run.at, int(run.id.removeprefix(STATUS))


def protection_of(found: Shape) -> Required:
    """From `/branches/B/protection`, or from the part of it that `/branches/B` shows to everyone."""
    checks = found["required_status_checks"]
    if checks["enforcement_level"].text == "off":
        checks = Shape()
    named = [context.text for context in checks["contexts"]]
    named += [check["context"].text for check in checks["checks"]]
    return Required(
        checks=_names(named),
        approvals=found["required_pull_request_reviews"]["required_approving_review_count"].number,
        is_strict=checks["strict"].flag is True,
    )


def rule_of(found: Shape) -> Required:
    """One rule of a ruleset; those about other things demand nothing here."""
    parameters = found["parameters"]
    match found["type"].text:
        case "required_status_checks":
            named = [check["context"].text for check in parameters["required_status_checks"]]
            is_strict = parameters["strict_required_status_checks_policy"].flag is True
            return Required(checks=_names(named), is_strict=is_strict)
        case "pull_request":
            return Required(approvals=parameters["required_approving_review_count"].number)
        case _:
            return Required()


def all_required(demands: Iterable[Required]) -> Required:
    """GitHub applies every rule that it has."""
    found = list(demands)
    return Required(
        checks=_names(name for demand in found for name in demand.checks or ()),
        approvals=max((demand.approvals for demand in found), default=0),
        is_strict=any(demand.is_strict for demand in found),
    )


def _names(names: Iterable[str]) -> tuple[str, ...] | None:
    """As the checks themselves are named here."""
    return tuple(dict.fromkeys(filter(None, map(clean_line, names)))) or None


def places_of(annotations: Iterable[Shape]) -> tuple[str, ...]:
    """Failures first. GitHub's own "exit code 1" is about no file of the work."""
    told = [each for each in annotations if each["annotation_level"].text in ("failure", "warning")]
    told.sort(key=lambda each: each["annotation_level"].text != "failure")
    return tuple(_place(each) for each in told if each["path"].text not in ("", ".github"))[:MOST_PLACES]


def _place(found: Shape) -> str:
    line = f":{found['start_line'].number}" if found["start_line"].number else ""
    said = " ".join((found["message"].text or found["title"].text)[:2_000].split())[:500]
    return clean_line(f"{found['path'].text}{line}: {said}")


def output_of(run: Shape) -> str:
    """What the check's own service wrote about it."""
    parts = (run["output"][key].text.strip() for key in ("title", "summary", "text"))
    return clean("\n\n".join(filter(None, parts)))

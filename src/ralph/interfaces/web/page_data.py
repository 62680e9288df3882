"""What the page shows: plain data, foreign text made harmless and bounded. The page itself has no rules."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from ralph.domain.loop.budget import Budget
from ralph.domain.loop.events import PullRequestSeen
from ralph.domain.loop.evidence import CheckResult
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.views.board import Board, Card, CardDetail
from ralph.domain.views.changes import Changes
from ralph.domain.views.decisions import describe_decision, describe_iteration
from ralph.domain.views.iterations import IterationView, Timeline
from ralph.domain.views.next_steps import can_resume_apart, next_steps, words_to_resume
from ralph.domain.views.overview import Overview, ProjectSummary, Totals
from ralph.domain.views.pull_request import PullRequestView, describe_check, link_of, view_of
from ralph.domain.views.quota import quota_line
from ralph.domain.views.runs import FeedEvent, RunLabel, RunView, outcome_words, possible_asks, reason_of
from ralph.operations.watch import restore

LONGEST_TEXT = 4_000
LONGEST_LINE = 500
MOST_ITEMS = 200
"""Agent events in one batch: a read of a megabyte may hold thousands."""
MOST_CHARS = 64_000
"""Characters in all texts of one event: it must not fill a phone."""
MOST_LANDMARK = 16_000
MOST_WAITING = 100
"""Of all projects; the newest come first."""
MOST_CHECKS = 200
"""Of a pull request; those that are not green come first."""
DEEPEST = 6

_SHOWN: dict[str, dict[str, type]] = {
    "text": {"text": str, "parent": str},
    "reasoning": {"text": str, "parent": str},
    "tool_started": {"id": str, "name": str, "summary": str, "parent": str},
    "tool_ended": {
        "id": str,
        "name": str,
        "output": str,
        "is_error": bool,
        "lines": int,
        "chars": int,
        "parent": str,
    },
    "todo_changed": {"items": list},
    "turn_ended": {"error": str, "turns": int},
    "limit_reported": {"rejected": bool, "limit": str},
    "error_reported": {"message": str},
    "notice": {"text": str},
    "session_started": {"model": str},
    "noise": {"text": str},
}
"""What the page shows of each kind. A value of another type was not written by an agent's parser."""


def line(text: str) -> str:
    return clean_line(text[: LONGEST_LINE + 1])[:LONGEST_LINE] + ("…" if len(text) > LONGEST_LINE else "")


def block(text: str, most: int = LONGEST_TEXT) -> str:
    if len(text) <= most:
        return clean(text)
    return clean(text[:most]) + f"\n… {len(text) - most:,} more characters"


def _names(names: str) -> dict[str, str]:
    """Attributes by the name that JavaScript would give them."""
    return {re.sub("_(.)", lambda found: found[1].upper(), name): name for name in names.split()}


_RUN = _names(
    "id profile agent root state live iteration maximum cost_is_partial tokens started_at ended_at waits_until concerns"
)
_FIGURES = _names("judged attempts denied seconds")
_ITERATION = _names(
    "iteration attempt started_at step decision reason claimed proven denied claims fault tools tool_errors seconds"
)
_CHECK = _names("name verdict required command exit_code seconds reason")
_PULL = _names("url title branch base state_words said remarks hint")
_CARD = _names("kind id title status role iteration maximum rounds note priority proof")
_STAGE = _names("role method proof promise description maximum")
_HISTORY = _names("at role iteration what verdict reason times")
_WAIT = _names("project kind title words reason tone task")
_PROJECT = _names("key name place problem hint")
_TOTALS = _names("tokens runs live")
_EVENT = _names("seq at iteration kind")


def _fields(source: object, names: dict[str, str]) -> dict[str, Any]:
    return {key: _plain(getattr(source, name)) for key, name in names.items()}


def _plain(value: object) -> object:
    """Every text is a harmless line, whoever wrote it."""
    match value:
        case Enum():
            return value.value
        case str():
            return line(value)
        case tuple():
            return [_plain(item) for item in value]
        case _:
            return value


# --- runs ---


def run_data(run: RunView, label: RunLabel, budget: Budget | None = None) -> dict[str, Any]:
    """``budget``: the limits it was started with, where they are shown."""
    check = run.last_check
    limits = budget or Budget()
    return (
        _fields(run, _RUN)
        | {
            "title": line(str(label)),
            "stateWords": run.state.words,
            "agentWords": line(run.agent_words),
            "limits": {"cost": limits.cost_usd, "tokens": limits.tokens, "seconds": limits.seconds},
            "can": [ask.value for ask in possible_asks(run)],
            "cost": run.cost_usd,
            "check": None
            if check is None
            else {"name": line(check_words(check.name)), "verdict": line(check.verdict)},
            "activeAt": int(run.active_at),  # fractions of a second would be news many times a second
            "reason": line(reason_of(run)),
            "parent": run.parent_id,
            "resume": line(" ".join(("ralph", *words_to_resume(run)))) if can_resume_apart(run) else "",
            "next": [line(step) for step in next_steps(run)[:-1]],  # for the report there is a button
            "pull": None if run.pull_request is None else pull_mark(run.pull_request),
            "quota": [line(words) for each in run.quota if (words := quota_line(each, time.time()))],
        }
    )


def timeline_data(timeline: Timeline, iterations: Iterable[IterationView], *, live: bool) -> dict[str, Any]:
    figures = timeline.figures
    rates = [rate._asdict() | {"name": line(check_words(rate.name))} for rate in figures.check_rates]
    return {
        "iterations": [iteration_data(each, live=live) for each in iterations],
        "notes": [note._asdict() | {"text": line(note.text)} for note in timeline.notes[-20:]],
        "header": [line(note) for note in timeline.started.notes] if timeline.started is not None else [],
        "figures": _fields(figures, _FIGURES) | {"cost": figures.cost_usd, "rates": rates},
        "pullRequests": [pull_data(pull) for pull in timeline.pull_requests.values()],
    }


def pull_mark(pull: PullRequestView) -> dict[str, Any]:
    """What the row of a run says about it."""
    wording = pull.wording
    return {
        "name": pull.name,
        "words": line(wording.words),
        "tone": wording.tone.value,
        "counts": pull.counts,
    }


def pull_data(pull: PullRequestView) -> dict[str, Any]:
    """``address`` is empty unless it may be a link."""
    checks = pull.worst_first
    return (
        pull_mark(pull)
        | _fields(pull, _PULL)
        | {
            "address": pull.address,
            "head": line(pull.head[:12]),
            "checks": [
                {
                    "name": line(check.name),
                    "words": line((wording := describe_check(check)).words),
                    "tone": wording.tone.value,
                    "address": link_of(check.url),
                }
                for check in checks[:MOST_CHECKS]
            ],
            "more": max(0, len(checks) - MOST_CHECKS),
        }
    )


def iteration_data(each: IterationView, *, live: bool) -> dict[str, Any]:
    wording = describe_iteration(each, live=live)
    actions = [
        {"name": line(action.name), "ok": action.ok, "message": line(action.message)}
        for action in each.actions
    ]
    return _fields(each, _ITERATION) | {
        "words": line(wording.words),
        "tone": wording.tone.value,
        "cost": each.spend.cost_usd,
        "tokens": each.spend.usage.total,
        "commit": each.commit[:12],
        "checks": [check_data(check) for check in each.checks],
        "actions": actions,
    }


def check_data(check: CheckResult) -> dict[str, Any]:
    lines = [line(text) for text in check.last_lines[-10:]]
    return _fields(check, _CHECK) | {
        "name": line(check_words(check.name)),
        "sha256": check.output_sha256[:64],
        "lines": lines,
    }


# --- boards ---


def board_data(board: Board) -> dict[str, Any]:
    return {
        "kind": board.kind.value,
        "title": line(board.title),
        "problem": line(board.problem),
        "lanes": [
            {"key": lane.key, "title": line(lane.title), "cards": [card_data(card) for card in lane.cards]}
            for lane in board.lanes
        ],
    }


def card_data(card: Card) -> dict[str, Any]:
    whose = {"project": card.project} if card.project else {}
    return _fields(card, _CARD) | {"run": card.run_id, "can": [ask.value for ask in card.asks]} | whose


# --- several projects ---


def overview_data(overview: Overview) -> dict[str, Any]:
    return {
        "projects": [_project_data(each) for each in overview.projects],
        "waiting": [
            _fields(each, _WAIT) | {"activeAt": int(each.at), "run": each.run_id}
            for each in overview.waiting[:MOST_WAITING]
        ],
        "more": max(0, len(overview.waiting) - MOST_WAITING),
        "runs": [
            run_data(each.run, RunLabel(each.title)) | {"project": each.project} for each in overview.live
        ],
        "boards": [board_data(board) for board in overview.boards],
        "totals": _totals_data(overview.totals),
    }


def _project_data(summary: ProjectSummary) -> dict[str, Any]:
    return (
        _fields(summary.look, _PROJECT)
        | _fields(summary, _names("waiting ready"))
        | {"totals": _totals_data(summary.totals)}
    )


def _totals_data(totals: Totals) -> dict[str, Any]:
    return _fields(totals, _TOTALS) | {"cost": totals.cost_usd, "costIsPartial": totals.is_partial}


def detail_data(detail: CardDetail) -> dict[str, Any]:
    return {
        "card": card_data(detail.card),
        "note": block(detail.card.note),
        "description": block(detail.description),
        "criteria": [line(text) for text in detail.criteria],
        "dependsOn": [line(text) for text in detail.depends_on],
        "completion": [_fields(each, _STAGE) for each in detail.completion],
        "history": [_fields(each, _HISTORY) | {"run": each.run_id} for each in detail.history],
    }


def changes_data(changes: Changes) -> dict[str, Any]:
    return {
        "files": [file._asdict() | {"path": line(file.path)} for file in changes.files[:1000]],
        "commits": [{"id": each.id, "subject": line(each.subject)} for each in changes.commits],
        "patch": clean(changes.patch),
        "isCut": changes.is_cut,
        "uncommitted": changes.uncommitted,
        "note": line(changes.note),
    }


# --- events ---


def event_data(event: FeedEvent, claims: Sequence[str] = ()) -> dict[str, Any]:
    """An event of any version of ralph; an unknown one is shown by its kind alone.

    ``claims`` are those of the iteration: the words for a decision depend on them.
    """
    shown = _fields(event, _EVENT)
    try:
        record = json.loads(event.data)
    except (ValueError, RecursionError):
        return shown | {"unreadable": True}
    if not isinstance(record, dict):
        return shown | {"unreadable": True}
    if event.kind == "agent_acted":
        items = record.get("events")
        return shown | _acted(items if isinstance(items, list) else [])
    record.pop("kind", None)
    if event.kind == "iteration_ended":
        wording = describe_decision(str(record.get("decision", "")), claims)
        shown |= {"words": line(wording.words), "tone": wording.tone.value}
    if event.kind == "check_ended" and isinstance(result := record.get("result"), dict):
        result["name"] = check_words(str(result.get("name", "")))
    if event.kind == "pull_request_seen" and isinstance(seen := restore(event.data), PullRequestSeen):
        pull = view_of(seen)
        return shown | {
            "words": line(pull.summary()),
            "tone": pull.wording.tone.value,
            "address": pull.address,
        }
    if event.kind == "run_ended":
        shown |= {"words": outcome_words(str(record.get("outcome", "")))}
    return shown | {"data": _bounded(record, MOST_LANDMARK)}


def _acted(items: Sequence[Any]) -> dict[str, Any]:
    """Join the pieces of one text: an agent may send each word by itself."""
    told: list[dict[str, Any]] = []
    left = MOST_CHARS
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        kind = str(item.get("kind"))
        shown = {"kind": kind, **_known(item, _SHOWN.get(kind, {}))}
        if kind == "text" and told and _is_continued(told[-1], shown):
            told[-1]["text"] += shown["text"]
            told[-1]["open"] = item.get("final") is False
            continue
        if len(told) >= MOST_ITEMS or left <= 0:
            return {"items": _cleaned(told), "omitted": len(items) - number}
        if kind == "text":
            shown["open"] = item.get("final") is False
        left -= sum(min(len(value), LONGEST_TEXT) for value in shown.values() if isinstance(value, str))
        told.append(shown)
    return {"items": _cleaned(told), "omitted": 0}


def _known(item: dict[str, Any], fields: dict[str, type]) -> dict[str, Any]:
    """The known fields, each of its own type."""
    return {
        name: value if isinstance(value := item.get(name), kind) else kind() for name, kind in fields.items()
    }


def _is_continued(before: dict[str, Any], after: dict[str, Any]) -> bool:
    return before["kind"] == "text" and bool(before["open"]) and before["parent"] == after["parent"]


def _cleaned(items: Sequence[dict[str, Any]]) -> list[Any]:
    return [_bounded(item, LONGEST_TEXT) for item in items]


def _bounded(value: Any, most: int, depth: int = 0) -> Any:
    match value:
        case str():
            return block(value, most)
        case dict() if depth < DEEPEST:
            return {
                clean_line(str(key))[:80]: _bounded(item, most, depth + 1)
                for key, item in list(value.items())[:60]
            }
        case list() if depth < DEEPEST:
            return [_bounded(item, most, depth + 1) for item in value[:100]]
        case float() if value != value or value in (float("inf"), float("-inf")):
            return None
        case int() if abs(value) >= 2**53:
            return float(value) if abs(value) < 10**300 else None  # browsers have no greater integers
        case int() | float() | None:
            return value
        case _:
            return "…"

"""What the page is told: plain data, foreign text made harmless and bounded. The page itself has no rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ralph.domain.loop.evidence import CheckResult
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.views.board import Board, Card, CardDetail
from ralph.domain.views.changes import Changes
from ralph.domain.views.decisions import describe_decision, describe_iteration
from ralph.domain.views.feed import FeedEvent
from ralph.domain.views.iterations import IterationView, Timeline
from ralph.domain.views.runs import RunLabel, RunView, possible_asks, reason_of

LONGEST_TEXT = 4_000
LONGEST_LINE = 500
MOST_ITEMS = 200
"""Agent events of one batch: a read of a megabyte may hold thousands."""
MOST_CHARS = 64_000
"""Of all texts of one event together: one event must not fill a phone."""
MOST_LANDMARK = 16_000
DEEPEST = 6

_TOLD: dict[str, dict[str, type]] = {
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
"""What the page shows of each; of another type it is nothing that an agent's parser has written."""


def line(text: str) -> str:
    return clean_line(text[: LONGEST_LINE + 1])[:LONGEST_LINE] + ("…" if len(text) > LONGEST_LINE else "")


def block(text: str, most: int = LONGEST_TEXT) -> str:
    if len(text) <= most:
        return clean(text)
    return clean(text[:most]) + f"\n… {len(text) - most:,} more characters"


# --- runs ---


def run_data(run: RunView, label: RunLabel) -> dict[str, Any]:
    return {
        "id": run.id,
        "title": line(str(label)),
        "profile": line(run.profile),
        "agent": line(run.agent),
        "root": line(run.root),
        "state": run.state.value,
        "live": run.live,
        "can": [ask.value for ask in possible_asks(run)],
        "iteration": run.iteration,
        "maximum": run.maximum,
        "cost": run.cost_usd,
        "costIsPartial": run.cost_is_partial,
        "tokens": run.tokens,
        "check": None
        if run.last_check is None
        else {"name": line(run.last_check.name), "verdict": line(run.last_check.verdict)},
        "startedAt": run.started_at,
        "activeAt": int(run.active_at),  # finer than a person reads it would be news many times a second
        "endedAt": run.ended_at,
        "waitsUntil": run.waits_until,
        "reason": line(reason_of(run)),
        "concerns": [line(concern) for concern in run.concerns],
        "parent": run.parent_id,
    }


def timeline_data(timeline: Timeline, iterations: Iterable[IterationView], *, live: bool) -> dict[str, Any]:
    figures = timeline.figures
    return {
        "iterations": [iteration_data(each, live=live) for each in iterations],
        "notes": [
            {"at": note.at, "iteration": note.iteration, "kind": note.kind, "text": line(note.text)}
            for note in timeline.notes[-20:]
        ],
        "header": [line(note) for note in timeline.started.notes] if timeline.started is not None else [],
        "figures": {
            "judged": figures.judged,
            "attempts": figures.attempts,
            "denied": figures.denied,
            "cost": figures.cost_usd,
            "seconds": figures.seconds,
            "rates": [
                {"name": line(rate.name), "passed": rate.passed, "ran": rate.ran}
                for rate in figures.check_rates
            ],
        },
    }


def iteration_data(each: IterationView, *, live: bool) -> dict[str, Any]:
    wording = describe_iteration(each, live=live)
    return {
        "iteration": each.iteration,
        "attempt": each.attempt,
        "startedAt": each.started_at,
        "step": line(each.step),
        "decision": each.decision,
        "words": line(wording.words),
        "tone": wording.tone.value,
        "reason": line(each.reason),
        "claimed": each.claimed,
        "proven": each.proven,
        "denied": each.denied,
        "claims": [line(claim) for claim in each.claims],
        "fault": line(each.fault),
        "tools": each.tools,
        "toolErrors": each.tool_errors,
        "cost": each.spend.cost_usd,
        "tokens": each.spend.usage.total,
        "seconds": each.seconds,
        "commit": each.commit[:12],
        "checks": [check_data(check) for check in each.checks],
        "actions": [
            {"name": line(action.name), "ok": action.ok, "message": line(action.message)}
            for action in each.actions
        ],
    }


def check_data(check: CheckResult) -> dict[str, Any]:
    return {
        "name": line(check.name),
        "verdict": check.verdict.value,
        "required": check.required,
        "command": line(check.command),
        "exitCode": check.exit_code,
        "seconds": check.seconds,
        "reason": line(check.reason),
        "sha256": check.output_sha256[:64],
        "lines": [line(text) for text in check.last_lines[-10:]],
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
    return {
        "kind": card.kind.value,
        "id": line(card.id),
        "title": line(card.title),
        "status": line(card.status),
        "role": line(card.role),
        "iteration": card.iteration,
        "maximum": card.maximum,
        "rounds": card.rounds,
        "note": line(card.note),
        "priority": card.priority,
        "run": card.run_id,
        "can": [ask.value for ask in card.asks],
    }


def detail_data(detail: CardDetail) -> dict[str, Any]:
    return {
        "card": card_data(detail.card),
        "note": block(detail.card.note),
        "description": block(detail.description),
        "criteria": [line(text) for text in detail.criteria],
        "dependsOn": [line(text) for text in detail.depends_on],
        "completion": [
            {
                "role": line(each.role),
                "method": line(each.method),
                "promise": line(each.promise),
                "description": line(each.description),
                "maximum": each.maximum,
            }
            for each in detail.completion
        ],
        "history": [
            {
                "at": each.at,
                "role": line(each.role),
                "iteration": each.iteration,
                "what": line(each.what),
                "verdict": line(each.verdict),
                "reason": line(each.reason),
                "run": each.run_id,
            }
            for each in detail.history
        ],
    }


def changes_data(changes: Changes) -> dict[str, Any]:
    return {
        "files": [
            {"path": line(file.path), "added": file.added, "removed": file.removed}
            for file in changes.files[:1000]
        ],
        "commits": [{"id": each.id, "subject": line(each.subject)} for each in changes.commits],
        "patch": clean(changes.patch),
        "isCut": changes.is_cut,
        "uncommitted": changes.uncommitted,
        "note": line(changes.note),
    }


# --- events ---


def event_data(event: FeedEvent, claims: Sequence[str] = ()) -> dict[str, Any]:
    """Of any version of ralph: what is not known is shown by its kind alone.

    ``claims`` are those of the iteration: a decision is worded by them.
    """
    shown: dict[str, Any] = {
        "seq": event.seq,
        "at": event.at,
        "iteration": event.iteration,
        "kind": line(event.kind),
    }
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
    return shown | {"data": _bounded(record, MOST_LANDMARK)}


def _acted(items: Sequence[Any]) -> dict[str, Any]:
    """Neighbouring pieces of one text become one: an agent may send each word by itself."""
    told: list[dict[str, Any]] = []
    left = MOST_CHARS
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            continue
        kind = str(item.get("kind"))
        shown = {"kind": kind, **_told(item, _TOLD.get(kind, {}))}
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


def _told(item: dict[str, Any], fields: dict[str, type]) -> dict[str, Any]:
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
            return float(value) if abs(value) < 10**300 else None  # a browser has no greater whole numbers
        case int() | float() | None:
            return value
        case _:
            return "…"

"""Runs as an agent reads them: rows, one run with its iterations, and what happened after a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ralph.domain.loop.asks import Ask
from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.proof.layer_names import check_words
from ralph.domain.text.figures import compact, duration, money, plural
from ralph.domain.views.decisions import describe_iteration, describe_verdict
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.next_steps import can_resume_apart, next_steps
from ralph.domain.views.runs import FeedEvent, RunState, RunView, caveat_of, possible_asks, reason_of
from ralph.interfaces.mcp.answers import Answer, Room, make_answer
from ralph.interfaces.mcp.event_text import CHECK_LINES, event_text
from ralph.operations.watch import Feed

CHECKS_SHOWN = 5
PARTS_SHOWN = 20
_TOOLS = {Ask.STOP_NOW: "stop"}


def runs_answer(feed: Feed, found: Sequence[RunView], limit: int) -> Answer:
    room = Room()
    rows = room.rows(found[:limit], lambda run: _row(feed, run, room))
    more = len(found) - len(rows)
    lines = [_row_line(row) for row in rows] or ["There are no such runs here."]
    if more:
        lines.append(f"… and {plural(more, 'more run')}")
    return make_answer(lines, {"runs": rows, "more": more})


def _row(feed: Feed, run: RunView, room: Room) -> dict[str, Any]:
    return {
        "id": room.line(run.id),
        "state": run.state.value,
        "live": run.live,
        "profile": room.line(run.profile, 40),
        "agent": room.line(run.agent, 80),
        "title": room.line(str(feed.label(run.id)), 120),
        "iteration": run.iteration,
        "maximum": run.maximum,
        "reason": room.line(reason_of(run)),
        "costUsd": run.cost_usd,
        "tokens": run.tokens,
        "startedAt": int(run.started_at),
        "endedAt": None if run.ended_at is None else int(run.ended_at),
        "parent": room.line(run.parent_id),
    }


def _row_line(row: dict[str, Any]) -> str:
    of = f"/{row['maximum']}" if row["maximum"] else ""
    facts = [f"{RunState(row['state']).words}, iteration {row['iteration']}{of}", row["title"], row["reason"]]
    return f"{row['id']}: {' · '.join(fact for fact in facts if fact)}"


# --- one run ---


def run_answer(feed: Feed, run: RunView, iterations: int) -> Answer:
    room = Room()
    row = _row(feed, run, room)
    timeline = feed.timeline(run.id)
    newest = list(reversed(timeline.iterations[-iterations:]))
    shown = [_iteration(each, room, live=run.live) for each in newest][::-1]
    parts = feed.parts(run.id)
    part_rows = room.rows(parts[-PARTS_SHOWN:], lambda part: _row(feed, part, room))
    data = row | {
        "stateWords": run.state.words,
        "workspace": room.line(run.root),
        "caveat": room.line(caveat_of(run)),
        "concerns": [room.line(concern) for concern in run.concerns[:10]],
        "pullRequest": "" if run.pull_request is None else room.line(run.pull_request.summary()),
        "iterations": shown,
        "iterationsLeftOut": max(0, len(timeline.iterations) - len(shown)),
        "parts": part_rows,
        "partsLeftOut": len(parts) - len(part_rows),
        "tools": tools_for(run),
        "next": [room.line(step) for step in next_steps(run)],
    }
    return make_answer(_run_lines(run, data), data)


def tools_for(run: RunView) -> list[str]:
    """By which something can be asked of it now."""
    asks = dict.fromkeys(_TOOLS.get(ask, ask.value) for ask in possible_asks(run))
    return [*asks, *(["resume"] if can_resume_apart(run, may_extend=False) else ())]


def _run_lines(run: RunView, data: dict[str, Any]) -> list[str]:
    spend = [f"{compact(run.tokens)} tokens"] if run.tokens else []
    if run.cost_usd is not None:
        spend.append(money(run.cost_usd, at_least=run.cost_is_partial))
    lines = [f"run {_row_line(data)}", f"profile {data['profile']}, agent {data['agent']}"]
    lines += [f"spent: {', '.join(spend)}"] if spend else []
    lines += [text for text in (data["caveat"], data["pullRequest"]) if text]
    lines += [f"concern: {concern}" for concern in data["concerns"]]
    if data["iterationsLeftOut"]:
        lines.append(f"… {plural(data['iterationsLeftOut'], 'earlier iteration')}")
    for each in data["iterations"]:
        lines += _iteration_lines(each)
    lines += [f"part {_row_line(part)}" for part in data["parts"]]
    if data["tools"]:
        lines.append(f"tools for it now: {', '.join(data['tools'])}")
    return [*lines, *data["next"]]


def _iteration(each: IterationView, room: Room, *, live: bool) -> dict[str, Any]:
    wording = describe_iteration(each, live=live)
    failed = [check for check in each.checks if check.verdict in (Verdict.FAILED, Verdict.ERRORED)]
    return {
        "iteration": each.iteration,
        "attempt": each.attempt,
        "step": room.line(each.step, 120),
        "decision": room.line(wording.words, 80),
        "reason": room.line(each.reason),
        "claims": [room.line(claim, 120) for claim in each.claims[:5]],
        "fault": room.line(each.fault),
        "failedChecks": [_check(check, room) for check in failed[:CHECKS_SHOWN]],
        "checksPassed": each.passed,
        "costUsd": each.spend.cost_usd,
        "tokens": each.spend.usage.total,
        "seconds": round(each.seconds, 1),
        "commit": room.line(each.commit[:12]),
    }


def _check(check: CheckResult, room: Room) -> dict[str, Any]:
    return {
        "name": room.line(check_words(check.name) or check.command, 200),
        "verdict": describe_verdict(check.verdict),
        "reason": room.line(check.reason),
        "lines": [room.line(line, 200) for line in check.last_lines[:CHECK_LINES] if not room.is_full],
    }


def _iteration_lines(each: dict[str, Any]) -> list[str]:
    again = f" (attempt {each['attempt']})" if each["attempt"] > 1 else ""
    step = f" {each['step']}" if each["step"] else ""
    reason = f": {each['reason']}" if each["reason"] else ""
    lines = [
        f"iteration {each['iteration']}{again}{step}: {each['decision']}{reason} ({duration(each['seconds'])})"
    ]
    lines += [f"  fault: {each['fault']}"] if each["fault"] else []
    for check in each["failedChecks"]:
        lines.append(f"  check {check['verdict']}: {check['name']}")
        lines += [f"    {line}" for line in (check["reason"], *check["lines"]) if line]
    return lines


# --- what happened ---


class News(NamedTuple):
    """``cursor``: behind the last event that was looked at, told or not."""

    events: list[dict[str, Any]]
    cursor: int


def news_of(feed: Feed, run: RunView, *, after: int | None, limit: int, with_agent: bool) -> News:
    """``after`` None: the newest that fit."""
    room, told = Room(), list[dict[str, Any]]()
    cursor, events = after or 0, _events(feed, run.id, after, limit, with_agent=with_agent)
    if after is None and events:
        cursor = events[-1].seq
    for event in events if after is not None else reversed(events):
        text = _text(feed, run.id, event)
        kind = room.line(event.kind, 40)
        row = {"seq": event.seq, "at": int(event.at), "kind": kind, "text": room.block(text)}
        if room.is_full:
            break  # it is told whole, next time
        if after is not None:
            cursor = event.seq
        if text:
            told.append(row)
    return News(told if after is not None else told[::-1], cursor)


def _events(feed: Feed, run_id: str, after: int | None, limit: int, *, with_agent: bool) -> list[FeedEvent]:
    if after is None:
        return (feed.newest if with_agent else feed.newest_landmarks)(run_id, limit)
    return (feed.events if with_agent else feed.landmarks)(run_id, after, limit)


def _text(feed: Feed, run_id: str, event: FeedEvent) -> str:
    each = feed.timeline(run_id).iteration_at(event.seq) if event.kind == "iteration_ended" else None
    return event_text(event, () if each is None else each.claims).strip()


def news_answer(feed: Feed, run: RunView, news: News, *, with_agent: bool) -> Answer:
    """``more``: there is something after the cursor already."""
    room = Room(2_000)
    more = bool(_events(feed, run.id, news.cursor, 1, with_agent=with_agent))
    data = {
        "run": room.line(run.id),
        "state": run.state.value,
        "live": run.live,
        "reason": room.line(reason_of(run)),
        "events": news.events,
        "cursor": news.cursor,
        "more": more,
    }
    now = "has reached its limit" if run.state is RunState.EXHAUSTED else f"is {run.state.words}"
    state = f"run {data['run']} {now}; cursor {news.cursor}{', and there is more' if more else ''}"
    return make_answer([*(event["text"] for event in news.events), state], data)

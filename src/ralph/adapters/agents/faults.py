"""What went wrong with a session: from its exit, its structured events, and from stderr only if there is nothing else.

Words in the assistant's prose or in a tool's output never count: an agent that writes about "429" has not failed.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from ralph.adapters.agents.excerpts import one_line, without_ansi
from ralph.domain.agent.events import NO_RESULT, AgentEvent, ErrorReported, LimitReported, TurnEnded
from ralph.domain.agent.facts import AgentFacts
from ralph.domain.loop.session_report import Ending, Exhausted, Fatal, Fault, RateLimited, Transient
from ralph.engine.ports import Exit
from ralph.patterns import pattern
from ralph.values import dataclass

EMPTY_RESPONSE = Transient("empty response")

INTERRUPTED = "error_during_execution"
"""The code of a turn that a signal ended (claude, and those that imitate it); a failure in its work has it too."""

MAX_REASON_CHARS = 300
_SIGNAL_BASE = 128  # shells and node report "ended by signal n" as 128 + n
_STARTUP_ERROR = pattern(r"^(?:error|usage)\b", re.IGNORECASE)

_Event = TypeVar("_Event", TurnEnded, LimitReported, ErrorReported)


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as the agent reported it. ``is_empty``: the session had said and done nothing before it."""

    message: str
    status: int | None = None
    code: str = ""
    is_empty: bool = True
    turns: int = 0


Explain = Callable[[Failure], Fault | Exhausted | None]
"""An agent's own table: what a reported failure means. Exhausted: no fault, the session is judged as it is."""

ExplainSilence = Callable[[str, int], Fault | Exhausted | None]
"""(stderr, exit status) of a session that ended with an error and without any event."""


def classify(
    exit_: Exit,
    events: Sequence[AgentEvent],
    *,
    stderr: str,
    is_empty: bool,
    command: str,
    facts: AgentFacts,
    explain: Explain,
    explain_silence: ExplainSilence,
) -> Fault | Exhausted | None:
    """The order of judgement that all agents with a structured stream share."""
    if exit_.ending is Ending.NOT_STARTED:
        return not_started(exit_, command, facts.install)
    if exit_.ending is Ending.STOPPED:
        return None  # the user's wish, not the agent's fault
    if exit_.ending is not Ending.EXITED or exit_.code != 0:
        events = [
            event for event in events if not (isinstance(event, ErrorReported) and event.code == NO_RESULT)
        ]
    if exit_.ending in (Ending.IDLE, Ending.TIMED_OUT):
        events = _before_our_signal(events)
    turn = last(events, TurnEnded)
    if turn is not None and not turn.error:
        return EMPTY_RESPONSE if is_empty else None
    limit = last(events, LimitReported)
    if limit is not None and limit.rejected:
        reason = turn.error if turn is not None else f"{limit.limit or 'usage'} limit reached"
        return RateLimited(reason, limit.resets_at)
    error = last(events, ErrorReported)
    if turn is None and error is not None and not error.final:
        return _while_retrying(exit_, error, is_empty=is_empty, explain=explain)
    if turn is not None or error is not None:
        return explain(failure_of(turn, error, is_empty=is_empty))
    return _unreported(exit_, stderr, is_empty=is_empty, explain_silence=explain_silence)


def _before_our_signal(events: Sequence[AgentEvent]) -> Sequence[AgentEvent]:
    """Without an error, and the end of a turn, that say no more than that it was ended: that was us."""
    error = last(events, ErrorReported)
    if error is None or not error.final or error.status is not None or error.code != INTERRUPTED:
        return events
    at = next(place for place, event in enumerate(events) if event is error)
    after = events[at + 1 :]
    if any(not (isinstance(event, TurnEnded) and event.error) for event in after):
        return events  # it went on: what it said then counts
    return events[:at]


def _while_retrying(
    exit_: Exit, error: ErrorReported, *, is_empty: bool, explain: Explain
) -> Fault | Exhausted | None:
    """It ended while it tried again and again what had failed; that is what is wrong, unless something else ended it."""
    signalled = by_signal(exit_) if exit_.ending is Ending.EXITED else None
    if signalled is not None:
        return signalled
    if exit_.ending is Ending.TIMED_OUT and not is_empty:
        return None  # it has worked until the time was nearly over: judged by that
    return explain(failure_of(None, error, is_empty=is_empty))


def _unreported(
    exit_: Exit, stderr: str, *, is_empty: bool, explain_silence: ExplainSilence
) -> Fault | Exhausted | None:
    """It ended and said nothing about how."""
    if exit_.ending in (Ending.IDLE, Ending.TIMED_OUT):
        return None  # what it did in all that time is worth judging, and the next session is told
    signalled = by_signal(exit_)
    if signalled is not None:
        return signalled
    if exit_.code:
        if is_empty:
            silence = explain_silence(stderr, exit_.code)
            if silence is not None:
                return silence
        return Transient(exit_reason(exit_.code, stderr))
    return EMPTY_RESPONSE if is_empty else None


# --- pieces ------------------------------------------------------------------------------------------------


def last(events: Sequence[AgentEvent], kind: type[_Event]) -> _Event | None:
    return next((event for event in reversed(events) if isinstance(event, kind)), None)


def failure_of(turn: TurnEnded | None, error: ErrorReported | None, *, is_empty: bool) -> Failure:
    """The end of the turn says that it failed; the error event before it says how."""
    message = turn.error if turn is not None else ""
    turns, code = (turn.turns, turn.code) if turn is not None else (0, "")
    if error is None:
        return Failure(one_line(message, MAX_REASON_CHARS), code=code, is_empty=is_empty, turns=turns)
    text = one_line(message or error.message, MAX_REASON_CHARS)
    if not error.final and error.code and not message:
        text = f"{text} ({error.code})"
    return Failure(text, error.status, code or error.code, is_empty, turns)


def not_started(exit_: Exit, command: str, install: str) -> Fatal:
    return Fatal(f"cannot start {command}: {exit_.error or 'unknown reason'}", f"to install it: {install}")


def by_signal(exit_: Exit) -> Transient | None:
    """Ended by a signal that was not ours: out of memory, a crash, someone's kill."""
    code = exit_.code
    if code is None or 0 <= code <= _SIGNAL_BASE:
        return None
    try:
        name = signal.Signals(-code if code < 0 else code - _SIGNAL_BASE).name
    except ValueError:
        return None
    return Transient(f"ended by {name} before it was done")


def exit_reason(code: int, stderr: str) -> str:
    line = last_line(stderr)
    return f"exit status {code}: {line}" if line else f"exit status {code}"


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return shorten(lines[-1]) if lines else ""


def shorten(line: str) -> str:
    """A reason in one line that is not too long."""
    return one_line(line, MAX_REASON_CHARS)


def plain_lines(stderr: str) -> list[str]:
    """The lines of stderr, without colours and blank ones, none of them too long."""
    return [shorten(line) for line in without_ansi(stderr).splitlines() if line.strip()]


def first_words(lines: Sequence[str], start: str) -> str:
    """The first line that begins so; empty if none does."""
    return next((line for line in lines if line.startswith(start)), "")


def startup_error(
    stderr: str, hint: str = "check agent.command and agent.flags in the settings"
) -> Fatal | None:
    """A program that complains about its command line: trying again cannot help."""
    for line in stderr.splitlines():
        if _STARTUP_ERROR.match(line):
            return Fatal(shorten(line), hint)
    return None


# --- HTTP statuses, and words without one, mean the same for all -------------------------------------------

_NOT_LOGGED_IN: Final = frozenset((401, 403))
_NO_CREDIT: Final = 402
_TOO_MANY: Final = 429
_REFUSED: Final = frozenset((400, 404, 405, 413, 422))
_TOO_LARGE: Final = 413

_WORDED: Final = frozenset((None, _TOO_MANY))
"""Statuses that leave it to the words whether waiting helps."""
_LENGTHY: Final = frozenset((None, 400, _TOO_LARGE, 422))

TURNS = Exhausted("it reached its limit of turns")
BUDGET = Exhausted("it reached its limit of money")
TIME = Exhausted("it reached its limit of time or tool calls")
FULL = Exhausted("its context was full")

CREDIT_HINT = "add credit or choose another account, then run `ralph resume`"
TOO_LONG_HINT = "shorten the prompt: the model cannot take it in one request"


def by_status(failure: Failure, facts: AgentFacts) -> Fault | Exhausted:
    from ralph.adapters.agents.wording import Matter, matter_of  # hardly any session fails

    status = failure.status
    matter = matter_of(failure.message, failure.code)
    if matter is Matter.CONTEXT and status in _LENGTHY:
        return too_long(failure)
    if matter is Matter.MONEY and status in _WORDED:
        return Fatal(failure.message, CREDIT_HINT)
    if matter is Matter.LIMIT and status in _WORDED:
        return RateLimited(failure.message)
    if status in _NOT_LOGGED_IN:
        return Fatal(failure.message, facts.login_hint)
    if status == _NO_CREDIT:
        return Fatal(failure.message, CREDIT_HINT)
    if status == _TOO_MANY:
        return RateLimited(failure.message)
    if status in _REFUSED:
        return refused(failure)
    return Transient(failure.message)


def refused(failure: Failure) -> Fault:
    """The model does not take the request. The very first one will be refused again; one in the middle of the
    work was made of what happened in between, and a fresh session has a fresh context."""
    if not failure.is_empty:
        return Transient(failure.message)
    too_large = failure.status == _TOO_LARGE
    return Fatal(
        failure.message, TOO_LONG_HINT if too_large else "check the model and the flags of the agent"
    )


def too_long(failure: Failure) -> Fault | Exhausted:
    """The context is full. A first prompt that fills it alone will do so again; work that filled it is judged as it is,
    and the next iteration has a fresh one."""
    return Fatal(failure.message, TOO_LONG_HINT, is_full=True) if failure.is_empty else FULL

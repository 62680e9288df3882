"""One agent session: adapter + process → events and a report. Implements the ``Agent`` port."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from ralph.agent_names import PLAIN
from ralph.domain.agent.events import AgentEvent, Noise, Reasoning, Text
from ralph.domain.agent.transcript import PriceOf, Transcript, unpriced
from ralph.domain.loop.events import AgentActed, AgentEnded, AgentStarted, ProcessesEnded
from ralph.domain.loop.session_report import (
    AgentReport,
    Ending,
    Exhausted,
    Fatal,
    Fault,
    RateLimited,
    Spend,
)
from ralph.domain.text.excerpt import Excerpt, Keep, truncate
from ralph.engine.ports import (
    UNLIMITED,
    AgentAdapter,
    AgentRequest,
    Command,
    Conversation,
    Exit,
    OutputMode,
    Partner,
    ProcessRunner,
    Publish,
    Running,
    Timeouts,
)
from ralph.values import replace

STDERR_KEPT = 4_000
LOOK_EVERY = 0.5
"""Seconds: a limit that others use up, or that is a time, is noticed within this while the agent is silent."""
SHOWN_CHARS = 20_000
"""A longer piece of text is cut in journal and screens; the session's log has it whole."""


Watch = Callable[[Transcript], str | None]
"""Examines what a session has used so far; a reason ends it, gracefully."""

ResetTime = Callable[[str], float | None]
"""When the limit that an error message is about is over (seconds since the epoch), if it says so."""


OnUnknown = Callable[[str, str], None]
"""Told the type of a session's first event that ralph does not know, and the agent's version."""


class Attendant(Protocol):
    """Stays beside a session while it runs, and may ask it to come to its end. Cancelled with the session."""

    async def attend(self, running: Running) -> None: ...


class AgentSession:
    """``tags`` are the names that the profile's probes look for; ``show`` makes a loggable command line.

    ``watch`` may end a session that has used too much; ``price`` and ``reset_time`` fill in what some agents leave
    out: the money for their tokens, and when a limit of theirs is over. ``version`` is what the agent's files say; what it
    says itself counts more. ``understood``: agents and versions whose words were heard in this run; ``can_probe``: whether
    `ralph doctor` can show what this one says.
    """

    def __init__(
        self,
        adapter: AgentAdapter,
        runner: ProcessRunner,
        *,
        tags: Sequence[str],
        show: Callable[[Sequence[str]], str],
        timeouts: Timeouts = UNLIMITED,
        watch: Watch | None = None,
        price: PriceOf = unpriced,
        reset_time: ResetTime | None = None,
        attendants: Sequence[Attendant] = (),
        version: str = "",
        on_unknown: OnUnknown = lambda unknown_type, version: None,
        understood: set[tuple[str, str]] | None = None,
        can_probe: Callable[[], bool] = lambda: False,
    ) -> None:
        self._adapter = adapter
        self._runner = runner
        self._tags = tuple(tags)
        self._show = show
        self._timeouts = timeouts
        self._watch = watch
        self._price = price
        self._reset_time = reset_time
        self._attendants = tuple(attendants)
        self._version = version
        self._on_unknown = on_unknown
        self._understood = understood if understood is not None else set()
        self._can_probe = can_probe

    @property
    def name(self) -> str:
        return self._adapter.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        # Asked before each launch: a run whose budget is used up starts nobody, a judge no more than a worker.
        transcript = Transcript(self._tags, price=self._price)
        if self._watch is not None and (limit := self._watch(transcript)):
            return AgentReport(ending=Ending.LIMITED, exit_code=None, is_orderly=False, reason=limit)
        # An agent that says when its turn is over speaks a stream of its own, in which its tools have no say.
        has_stream = self._adapter.linger is not None
        command = replace(self._adapter.command(request), private_output=has_stream)
        listener = _Listener(
            self._adapter,
            request,
            command,
            transcript,
            publish,
            self._show(command.argv),
            self._watch,
            lambda unknown_type: self._on_unknown(unknown_type, self._version_in(listener.transcript)),
        )
        beside: list[asyncio.Task[None]] = []

        def started(running: Running) -> None:
            listener.started(running)
            beside.extend(asyncio.ensure_future(each.attend(running)) for each in self._attendants)

        try:
            exit_ = await self._runner.run(
                command,
                timeouts=self._timeouts,
                on_start=started,
                on_lines=listener.lines,
                on_stderr=listener.stderr,
                log=request.log_file,
                stop=stop,
            )
        finally:
            listener.stop_looking()
            await _dismiss(beside)
        listener.finish()
        if exit_.left_behind:
            publish(ProcessesEnded(exit_.left_behind))

        transcript = listener.transcript
        if exit_.ending is Ending.IDLE and transcript.has_ended_well and transcript.is_turn_over:
            exit_ = replace(exit_, ending=Ending.EXITED)  # silent was only what it had left running
        stderr = listener.stderr_tail.text()
        # The user's stop, or a time-out on the way down, outranks our own limit.
        is_limited = bool(listener.limit) and exit_.ending is Ending.EXITED
        ending = Ending.LIMITED if is_limited else exit_.ending
        found = self._fault(exit_, transcript, stderr) if not is_limited else None
        fault = None if isinstance(found, Exhausted) else found
        reason = found.reason if isinstance(found, Exhausted) else ""
        spend = Spend.of_session(transcript.cost_usd, transcript.usage, exit_.seconds)
        if request.mode is OutputMode.TEXT and self._adapter.name != PLAIN:
            spend = replace(
                spend, is_partly_unknown=True
            )  # it would have said what it used, but was not asked to
        publish(
            AgentEnded(
                ending=ending,
                exit_code=exit_.code,
                seconds=exit_.seconds,
                spend=spend,
                tools=transcript.tools,
                tool_errors=transcript.tool_errors,
                fault=fault,
                noise_lines=transcript.noise_lines,
                unknown_events=transcript.unknown_events,
                purpose=request.purpose,
                stderr=stderr,
                denials=transcript.denials,
                agent=self.name,
                version=self._version_in(transcript),
            )
        )
        return AgentReport(
            ending=ending,
            exit_code=exit_.code,
            is_orderly=ending is Ending.EXITED and (transcript.has_ended_well or exit_.code == 0),
            text=transcript.text,
            tags=transcript.tags,
            fault=fault,
            spend=spend,
            reason=listener.limit if is_limited else reason,
            tools=transcript.tools,
            tool_errors=transcript.tool_errors,
            denials=transcript.denials,
            cut_off=transcript.cut_off,
        )

    def _fault(self, exit_: Exit, transcript: Transcript, stderr: str) -> Fault | Exhausted | None:
        if exit_.ending is Ending.STOPPED:
            return None
        fault = self._adapter.classify(
            exit_, transcript.deciding, stderr=exit_.error or stderr, is_empty=transcript.is_empty
        )
        if isinstance(fault, RateLimited) and fault.until is None and self._reset_time is not None:
            return replace(fault, until=self._reset_time(fault.reason))
        version = self._version_in(transcript)
        if transcript.text.strip():
            # A later one that is broken may not say its version: then what the files said counts.
            self._understood.update(((self.name, version), (self.name, self._version)))
        is_strange = transcript.unknown_events and (self.name, version) not in self._understood
        if is_strange and not isinstance(fault, Fatal | RateLimited):
            from ralph.domain.agent.drift import drift_of  # hardly any session prints what nobody knows

            code = exit_.code if exit_.ending is Ending.EXITED else None
            drift = drift_of(transcript, self.name, version, exit_code=code, can_probe=self._can_probe())
            return drift or fault
        return fault

    def _version_in(self, transcript: Transcript) -> str:
        return transcript.version or self._version


async def _dismiss(tasks: Sequence[asyncio.Task[None]]) -> None:
    """What an attendant could not do is its own matter: the session is judged by what it left."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


class _Listener:
    """Hears one process: parses, remembers, publishes, and watches for the end of the turn."""

    def __init__(
        self,
        adapter: AgentAdapter,
        request: AgentRequest,
        command: Command,
        transcript: Transcript,
        publish: Publish,
        command_line: str,
        watch: Watch | None,
        on_unknown: Callable[[str], None],
    ) -> None:
        self._parser = parser = adapter.parser(request)
        self._conversation = parser if command.converses and isinstance(parser, Conversation) else None
        self._linger = adapter.linger
        self._publish = publish
        self._purpose = request.purpose
        self._command_line = command_line
        self._watch = watch
        self._on_unknown = on_unknown
        self._running: Running | None = None
        self._partner: Partner | None = None
        self._patience: float | None = None
        self._looking: asyncio.TimerHandle | None = None
        self.limit = ""  # why it was ended before its time
        self.transcript = transcript
        self.stderr_tail = Excerpt(STDERR_KEPT, Keep.TAIL)

    def started(self, running: Running) -> None:
        self._running = running
        self._look_later()
        self._publish(AgentStarted(self._command_line, running.pid, self._purpose))
        if self._conversation is not None and isinstance(running, Partner):
            self._partner = running
            running.before_signals(self._conversation.cancellation)
            self._patience = self._conversation.patience
            running.finish_within(self._patience)
            self._answer()

    def lines(self, lines: list[bytes]) -> None:
        events = self._parser.parse(lines)
        self._be_patient()
        self._answer()
        self._take(events, has_long=max(map(len, lines)) > SHOWN_CHARS)

    def _be_patient(self) -> None:
        """It has answered: how long it works is for the time-outs, and for whoever has ended it meanwhile."""
        if self._patience is None or self._conversation is None or self._conversation.patience is not None:
            return
        self._patience = None
        if self._running is not None and not self.limit:
            self._running.finish_within(None)

    def _answer(self) -> None:
        if self._partner is not None and self._conversation is not None:
            self._partner.write(self._conversation.outgoing())
            if self._conversation.is_over:
                self._partner.close_input()

    def stderr(self, chunk: bytes) -> None:
        self.stderr_tail.add(chunk.decode(errors="replace"))

    def finish(self) -> None:
        self._take(list(self._parser.finish()), has_long=True)

    def _look_later(self) -> None:
        if self._watch is not None and not self.limit:
            self._looking = asyncio.get_running_loop().call_later(LOOK_EVERY, self._look)

    def _look(self) -> None:
        assert self._running is not None
        with contextlib.suppress(Exception):  # the session is judged by what it left
            self._look_for_limit(self._running)
            self._look_later()

    def stop_looking(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def _take(self, events: list[AgentEvent], *, has_long: bool) -> None:
        if not events:
            return
        transcript = self.transcript
        turns, was_over = transcript.turns, transcript.is_over
        was_known = not transcript.unknown_events
        transcript.take(events)
        if self._running is not None and not self.limit:  # a limit is not taken back by what it says then
            if self._linger is not None:
                if transcript.is_over and (transcript.turns > turns or not was_over):
                    self._running.finish_within(self._linger)
                elif was_over and not transcript.is_over:
                    self._running.finish_within(None)
            self._look_for_limit(self._running)
        self._publish(AgentActed(tuple(map(_shown, events) if has_long else events)))
        if was_known and transcript.unknown_events:
            self._on_unknown(transcript.unknown_type)

    def _look_for_limit(self, running: Running) -> None:
        # A session that is over has used what it used; whether another may follow is asked before it.
        if self._watch is None or self.transcript.is_over:
            return
        if limit := self._watch(self.transcript):
            if not self.transcript.is_turn_over:  # else its turn counts, without what it left running
                self.limit = limit
            running.finish_within(0)


def _shown(event: AgentEvent) -> AgentEvent:
    if isinstance(event, Text | Reasoning | Noise) and len(event.text) > SHOWN_CHARS:
        return replace(event, text=truncate(event.text, SHOWN_CHARS))
    return event

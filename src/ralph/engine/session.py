"""One agent session: adapter + process → events and a report. Implements the ``Agent`` port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from ralph.domain.agent_events import AgentEvent, Noise, Reasoning, SessionStarted, Text, TurnEnded
from ralph.domain.excerpt import Excerpt, Keep, truncate
from ralph.domain.loop_events import AgentActed, AgentEnded, AgentStarted, ProcessesEnded
from ralph.domain.report import AgentReport, Ending, Spend
from ralph.domain.transcript import Transcript
from ralph.engine.ports import (
    UNLIMITED,
    AgentAdapter,
    AgentRequest,
    ProcessRunner,
    Publish,
    Running,
    Timeouts,
)

STDERR_KEPT = 4_000
SHOWN_CHARS = 20_000
"""A longer piece of text is cut in journal and screens; the session's log has it whole."""


class AgentSession:
    """``tags`` are the names that the profile's probes look for; ``show`` makes a loggable command line."""

    def __init__(
        self,
        adapter: AgentAdapter,
        runner: ProcessRunner,
        *,
        tags: Sequence[str],
        show: Callable[[Sequence[str]], str],
        timeouts: Timeouts = UNLIMITED,
    ) -> None:
        self._adapter = adapter
        self._runner = runner
        self._tags = tuple(tags)
        self._show = show
        self._timeouts = timeouts

    @property
    def name(self) -> str:
        return self._adapter.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        command = self._adapter.command(request)
        listener = _Listener(self._adapter, request, self._tags, publish, self._show(command.argv))
        exit_ = await self._runner.run(
            command,
            timeouts=self._timeouts,
            on_start=listener.started,
            on_lines=listener.lines,
            on_stderr=listener.stderr,
            log=request.log_file,
            stop=stop,
        )
        listener.finish()
        if exit_.left_behind:
            publish(ProcessesEnded(exit_.left_behind))

        transcript = listener.transcript
        stderr = listener.stderr_tail.text()
        fault = None
        if exit_.ending is not Ending.STOPPED:
            fault = self._adapter.classify(
                exit_, transcript.deciding, stderr=exit_.error or stderr, is_empty=transcript.is_empty
            )
        spend = Spend(transcript.cost_usd, transcript.usage, exit_.seconds)
        publish(
            AgentEnded(
                ending=exit_.ending,
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
            )
        )
        return AgentReport(
            ending=exit_.ending,
            exit_code=exit_.code,
            is_orderly=exit_.ending is Ending.EXITED and (transcript.has_ended_well or exit_.code == 0),
            text=transcript.text,
            tags=transcript.tags,
            fault=fault,
            spend=spend,
        )


class _Listener:
    """Hears one process: parses, remembers, publishes, and watches for the end of the turn."""

    def __init__(
        self,
        adapter: AgentAdapter,
        request: AgentRequest,
        tags: Sequence[str],
        publish: Publish,
        command_line: str,
    ) -> None:
        self._parser = adapter.parser(request)
        self._linger = adapter.linger
        self._publish = publish
        self._purpose = request.purpose
        self._command_line = command_line
        self._running: Running | None = None
        self.transcript = Transcript(tags)
        self.stderr_tail = Excerpt(STDERR_KEPT, Keep.TAIL)

    def started(self, running: Running) -> None:
        self._running = running
        self._publish(AgentStarted(self._command_line, running.pid, self._purpose))

    def lines(self, lines: list[bytes]) -> None:
        self._take(self._parser.parse(lines), has_long=max(map(len, lines)) > SHOWN_CHARS)

    def stderr(self, chunk: bytes) -> None:
        self.stderr_tail.add(chunk.decode(errors="replace"))

    def finish(self) -> None:
        self._take(list(self._parser.finish()), has_long=True)

    def _take(self, events: list[AgentEvent], *, has_long: bool) -> None:
        if not events:
            return
        self.transcript.take(events)
        if self._linger is not None and self._running is not None:
            for event in events:
                if type(event) is TurnEnded:
                    self._running.finish_within(self._linger)
                elif type(event) is SessionStarted:
                    self._running.finish_within(None)
        self._publish(AgentActed(tuple(map(_shown, events) if has_long else events)))


def _shown(event: AgentEvent) -> AgentEvent:
    if isinstance(event, Text | Reasoning | Noise) and len(event.text) > SHOWN_CHARS:
        return replace(event, text=truncate(event.text, SHOWN_CHARS))
    return event

"""The listener of a run that tells a receiver what happens, and the runner that tells the agent where it belongs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Unpack

from ralph.adapters.telemetry.otlp import Sender
from ralph.domain.loop.events import AgentEnded, LoopEvent
from ralph.domain.telemetry import conventions as names
from ralph.domain.telemetry.measurements import Measuring
from ralph.domain.telemetry.tracing import TracedRun, Tracing
from ralph.engine.ports import Command, Control, Exit, ProcessRunner, Running, RunOptions
from ralph.values import replace

FLUSH_SECONDS = 3.0
"""At the end of a run; by then a receiver has answered, or it will not."""
HURRIED_SECONDS = 0.3
"""The same, for a user who wants to be gone."""


class Telemetry:
    """Use as a listener; ``finish`` sends what is left, for a bounded time."""

    def __init__(self, run: TracedRun, tracing: Tracing, sender: Sender) -> None:
        self._run = run
        self._tracing = tracing
        self._sender = sender
        self._measuring = Measuring()
        self._labels = {
            "ralph.project": run.project,
            "ralph.profile": run.profile,
            names.AGENT_NAME: run.agent,
        }

    def __call__(self, event: LoopEvent, at: float) -> None:
        for span in self._tracing.take(event, at):
            self._sender.send(span, self._tracing.place)
        for measured in self._measuring.take(event, at):
            self._sender.count(measured, self._labels)
        if isinstance(event, AgentEnded):
            self._observe(event)

    def take_up(self, earlier: Iterable[tuple[LoopEvent, float]], at: float) -> None:
        """What earlier processes of the run left unsaid; their figures they have told themselves."""
        for span in self._tracing.take_up(earlier, at):
            self._sender.send(span, self._tracing.place)

    def around(self, runner: ProcessRunner) -> ProcessRunner:
        return TracedRunner(runner, self._tracing)

    async def finish(self, control: Control) -> None:
        if not self._sender.give_back():
            return
        done = threading.Event()

        def send() -> None:
            self._sender.finish()
            done.set()

        # Not the loop's own threads: the interpreter would wait for those at its end.
        threading.Thread(target=send, name="ralph-telemetry", daemon=True).start()
        clock = asyncio.get_running_loop().time
        began = clock()
        while not done.is_set():
            if clock() - began > (HURRIED_SECONDS if control.stopping_now else FLUSH_SECONDS):
                self._sender.warn(f"the receiver did not answer within {clock() - began:.1f} s")
                return
            await asyncio.sleep(0.01)

    def _observe(self, event: AgentEnded) -> None:
        attributes = self._labels | {
            names.OPERATION: names.INVOKE_AGENT,
            names.PROVIDER_NAME: names.provider_of(self._run.agent),
        }
        if event.fault is not None:
            attributes[names.ERROR_TYPE] = event.fault.kind
        self._sender.observe(names.OPERATION_DURATION, event.seconds, attributes)
        used = names.usage_attributes(event.spend.usage)
        for kind, name in (("input", names.INPUT_TOKENS), ("output", names.OUTPUT_TOKENS)):
            if used.get(name):
                self._sender.observe(names.TOKEN_USAGE, used[name], attributes | {names.TOKEN_TYPE: kind})


class TracedRunner:
    """Runs agents, each of which finds the span of its session in TRACEPARENT."""

    def __init__(self, inner: ProcessRunner, tracing: Tracing) -> None:
        self._inner = inner
        self._tracing = tracing

    async def run(self, command: Command, **options: Unpack[RunOptions]) -> Exit:
        number = self._tracing.reserve()
        on_start = options.get("on_start")
        has_started = False

        def started(running: Running) -> None:
            nonlocal has_started
            has_started = True
            self._tracing.begin_reserved(number)
            if on_start is not None:
                on_start(running)

        options["on_start"] = started
        environment = {**command.environment, "TRACEPARENT": self._tracing.traceparent(number)}
        try:
            return await self._inner.run(replace(command, environment=environment), **options)
        finally:
            if not has_started:
                self._tracing.release(number)

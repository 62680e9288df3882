"""An agent that the settings describe: started as they say, read like an agent that ralph knows."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.adapters.agents.final_words import FinalWordsParser
from ralph.adapters.agents.plain.agent import PlainAdapter
from ralph.adapters.agents.registry import adapter_for
from ralph.domain.agent.definition import AgentDefinition
from ralph.domain.agent.events import AgentEvent
from ralph.domain.agent.options import SessionOptions
from ralph.domain.loop.session_report import Exhausted, Fault
from ralph.engine.ports import AgentAdapter, AgentRequest, Command, Exit, OutputMode, StreamParser
from ralph.values import replace


class DialectAdapter:
    """A command of its own, whose output is the stream of a known agent."""

    def __init__(self, commanding: AgentAdapter, speaking: AgentAdapter) -> None:
        self._commanding = commanding
        self._speaking = speaking

    @property
    def name(self) -> str:
        return self._speaking.name

    @property
    def notes(self) -> tuple[str, ...]:
        return self._commanding.notes

    @property
    def linger(self) -> float | None:
        return self._speaking.linger

    def command(self, request: AgentRequest) -> Command:
        return self._commanding.command(request)

    def parser(self, request: AgentRequest) -> StreamParser:
        # It prints events whatever is asked of it.
        stream = self._speaking.parser(replace(request, mode=OutputMode.STREAM))
        return FinalWordsParser(stream) if request.mode is OutputMode.TEXT else stream

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        return self._speaking.classify(exit_, events, stderr=stderr, is_empty=is_empty)


class DefinedAdapter:
    """Another adapter under the name, and with the environment, that the settings gave it."""

    def __init__(
        self,
        definition: AgentDefinition,
        *,
        flags: Sequence[str],
        as_root: bool,
        options: SessionOptions,
    ) -> None:
        self._definition = definition
        self._adapter = _adapter(
            definition,
            flags=(*definition.flags, *flags),
            as_root=as_root,
            options=replace(
                options,
                model=options.model or definition.model,
                isolation=definition.isolation or options.isolation,
                permissions=definition.permissions or options.permissions,
            ),
        )

    @property
    def name(self) -> str:
        return self._definition.name

    @property
    def notes(self) -> tuple[str, ...]:
        return self._adapter.notes

    @property
    def linger(self) -> float | None:
        return self._adapter.linger

    def command(self, request: AgentRequest) -> Command:
        # Its own variables outrank those that the adapter sets by itself, but not the run's.
        environment = {**self._definition.environment, **request.environment}
        return self._adapter.command(replace(request, environment=environment))

    def parser(self, request: AgentRequest) -> StreamParser:
        return self._adapter.parser(request)

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | Exhausted | None:
        return self._adapter.classify(exit_, events, stderr=stderr, is_empty=is_empty)


def _adapter(
    definition: AgentDefinition, *, flags: Sequence[str], as_root: bool, options: SessionOptions
) -> AgentAdapter:
    command = definition.command
    if definition.adapter:
        return adapter_for(definition.adapter, command=command, flags=flags, as_root=as_root, options=options)
    plain = PlainAdapter(
        command=command, flags=flags, as_root=as_root, options=options, prompt=definition.prompt
    )
    if not definition.speaks:
        return plain
    speaking = adapter_for(definition.speaks, command=command, flags=(), as_root=as_root)
    return DialectAdapter(plain, speaking)

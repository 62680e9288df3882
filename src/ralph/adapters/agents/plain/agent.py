"""Any other command: prompt by placeholder or on stdin, everything it prints is its answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ralph.adapters.agents.arguments import MAX_ARGUMENT_BYTES, as_argument, program
from ralph.adapters.agents.isolation import isolation_notes
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.domain.agent.definition import PromptWay
from ralph.domain.agent.events import AgentEvent
from ralph.domain.agent.facts import AgentFacts
from ralph.domain.agent.options import NO_OPTIONS, Option, SessionOptions
from ralph.domain.loop.session_report import Ending, Fatal, Fault, Transient
from ralph.engine.ports import AgentRequest, Command, Exit, StreamParser
from ralph.errors import ConfigError
from ralph.patterns import pattern

FACTS: Final = AgentFacts(
    name="plain",
    install="install it, or give its full path as agent.command",
    options=frozenset({Option.MODEL}),  # by {model} in its flags
)

_PLACEHOLDER = pattern(r"\{(prompt|prompt_file|model)\}")
_AT_THE_END: Final = {PromptWay.ARGUMENT: "prompt", PromptWay.FILE: "prompt_file"}
_SHELL_CANNOT_RUN: Final = (126, 127)


class PlainAdapter:
    facts = FACTS
    name = FACTS.name
    linger: float | None = None

    def __init__(
        self,
        *,
        command: str,
        flags: Sequence[str],
        as_root: bool,
        options: SessionOptions = NO_OPTIONS,
        prompt: PromptWay = PromptWay.STDIN,
    ) -> None:
        self._command = command
        self._flags = tuple(flags)
        self._model = options.model
        self._options = options
        names = self._names()
        if prompt in _AT_THE_END and not names & {"prompt", "prompt_file"}:
            self._flags = (*self._flags, f"{{{_AT_THE_END[prompt]}}}")
        if options.model and "model" not in names:
            message = f"agent.model is {options.model!r}, but the flags of {command} do not use it"
            raise ConfigError(message, hint="put {model} into its flags, where the model's name belongs")
        if "model" in names and not options.model:
            message = f"the flags of {command} name {{model}}, but no model is set"
            raise ConfigError(message, hint="set agent.model, or write the model's name into the flags")

    def _names(self) -> set[str]:
        return {match[1] for flag in self._flags for match in _PLACEHOLDER.finditer(flag)}

    @property
    def notes(self) -> tuple[str, ...]:
        return isolation_notes(self._command, FACTS.clean, self._options)

    def command(self, request: AgentRequest) -> Command:
        names = self._names()
        prompt = as_argument(request.prompt)
        if "prompt" in names and prompt is None:
            message = f"the prompt does not fit on a command line ({MAX_ARGUMENT_BYTES:,} bytes at most)"
            raise ConfigError(message, hint="use {prompt_file} instead of {prompt} in agent.flags")
        values = {
            "prompt": prompt or "",
            "prompt_file": str(request.prompt_file),
            "model": self._model,
        }
        # In one pass, so that a placeholder inside the prompt stays what it is.
        arguments = [_PLACEHOLDER.sub(lambda match: values[match[1]], flag) for flag in self._flags]
        argv = (program(self._command, request.cwd), *arguments)
        stdin = None if names & {"prompt", "prompt_file"} else request.prompt_file
        return Command(argv, request.cwd, dict(request.environment), stdin)

    def parser(self, request: AgentRequest) -> StreamParser:
        # The parts too: it may print the prompt file, while what was sent had feedback around it.
        return PlainTextParser(request.prompt, *request.parts)

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | None:
        """Nothing but exit status and silence to go by: a program that printed something is judged as it is."""
        if exit_.ending is Ending.NOT_STARTED:
            return Fatal(f"cannot start {self._command}: {exit_.error or 'unknown reason'}", FACTS.install)
        if exit_.ending is not Ending.EXITED:
            return None
        from ralph.adapters.agents import faults

        signalled = faults.by_signal(exit_)
        if signalled is not None:
            return signalled
        if not exit_.code or not is_empty:
            return None
        reason = faults.exit_reason(exit_.code, stderr)
        if exit_.code in _SHELL_CANNOT_RUN:
            return Fatal(reason, "check agent.command in the settings")
        return Transient(reason)


ADAPTER: Final = PlainAdapter

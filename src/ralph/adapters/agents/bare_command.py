"""A command line as it was given: no prompt, no format, nothing to read from what it prints."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import PurePath

from ralph.adapters.agents.arguments import program
from ralph.adapters.agents.plain_text import PlainTextParser
from ralph.domain.agent.events import AgentEvent
from ralph.domain.loop.session_report import Ending, Fatal, Fault, Transient
from ralph.engine.ports import AgentRequest, Command, Exit, StreamParser

_PASSING = tuple(
    os.strerror(code)
    for code in (errno.EAGAIN, errno.ENOMEM, errno.ETXTBSY, errno.EMFILE, errno.ENFILE, errno.EIO)
)
"""Why a program could not be started this time: the machine is full, or somebody is just writing the file."""


class BareCommandAdapter:
    """``ralph supervise -- CMD ARGS…``. Only a program that can never be started is a fault; silence is none."""

    linger: float | None = None
    notes: tuple[str, ...] = ()

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)

    @property
    def name(self) -> str:
        return PurePath(self._argv[0]).name

    def command(self, request: AgentRequest) -> Command:
        argv = (program(self._argv[0], request.cwd), *self._argv[1:])
        return Command(argv, request.cwd, dict(request.environment))

    def parser(self, request: AgentRequest) -> StreamParser:
        return PlainTextParser(request.prompt)

    def classify(
        self, exit_: Exit, events: Sequence[AgentEvent], *, stderr: str, is_empty: bool
    ) -> Fault | None:
        if exit_.ending is Ending.NOT_STARTED and exit_.error.endswith(_PASSING):
            return Transient(exit_.error)
        if exit_.ending is Ending.NOT_STARTED:
            return Fatal(exit_.error or f"cannot run {self._argv[0]}", "check the command behind `--`")
        return None

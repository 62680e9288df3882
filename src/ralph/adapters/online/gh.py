"""Asks GitHub by `gh api`: the user's own login, of which ralph never sees the token."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ralph.adapters.online.service import GITHUB
from ralph.adapters.online.transport import MOST_BYTES, SECONDS, Answer, Ends, Request
from ralph.domain.loop.session_report import Ending
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.domain.text.safe_text import clean_line
from ralph.engine.ports import Command, Exit, ProcessRunner, Timeouts
from ralph.errors import ServiceAway, ServiceRefused

COLOURED = "--allow-escape-sequences"
"""What gh names when it refuses to print an answer as it is."""
NOT_LOGGED_IN = 4
"""The exit code by which gh says so."""
ENVIRONMENT: Mapping[str, str] = {
    "CLICOLOR_FORCE": "0",
    "DO_NOT_TRACK": "1",
    "GH_DEBUG": "",
    "GH_FORCE_TTY": "",
    "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_PAGER": "cat",
    "GH_PROMPT_DISABLED": "1",
    "NO_COLOR": "1",
}
"""What gh prints is data: no colours, pager, questions or news."""


class GhTransport:
    """``program``: where gh is. ``environment``: more variables for it."""

    cost = 0.1

    def __init__(
        self,
        runner: ProcessRunner,
        *,
        host: str,
        cwd: Path,
        program: str = "gh",
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
        most: int = MOST_BYTES,
    ) -> None:
        self._runner = runner
        self._host = host
        self._cwd = cwd
        self._program = program
        self._environment = {**ENVIRONMENT, **(environment or {})}
        self._seconds = seconds
        self._most = most

    async def ask(self, request: Request) -> Answer:
        try:
            return await self._ask(request)
        except ServiceAway as away:
            if COLOURED not in away.message:
                raise
        # Logs have colours. Not every gh knows the option, and none needs it for anything else.
        return await self._ask(request, COLOURED)

    async def _ask(self, request: Request, *options: str) -> Answer:
        output, err = Ends(is_log=request.is_log, most=self._most), Excerpt(2_000, Keep.TAIL)
        enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def take(chunk: bytes) -> None:
            output.add(chunk)
            if output.is_too_long and not enough.done():
                enough.set_result(None)

        with _as_file(request.body) as body:
            exit_ = await self._runner.run(
                self._command(request, body, options),
                timeouts=Timeouts(total=self._seconds),
                on_output=take,
                on_stderr=lambda chunk: err.add(chunk.decode(errors="replace")),
                stop=enough,
            )
        if output.is_too_long:
            message = f"GitHub's answer has more than {self._most:,} bytes"
            raise ServiceAway(message)
        return self._answer(request, exit_, output.value(), err.text())

    def _command(self, request: Request, body: Path | None, more: Sequence[str]) -> Command:
        headers = {"Accept": "application/vnd.github+json", **request.headers}
        options = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
        given = () if body is None else ("--input", str(body))
        fixed = (self._program, "api", "-i", "--hostname", self._host, "--method", request.method)
        argv = (*fixed, *more, *options, *given, request.path)
        return Command(argv, self._cwd, environment=self._environment, exact=True)

    def _answer(self, request: Request, exit_: Exit, output: bytes, err: str) -> Answer:
        if exit_.ending is Ending.NOT_STARTED:
            message = f"gh cannot be started: {exit_.error}"
            raise ServiceRefused(message, hint="install gh, or set GITHUB_TOKEN")
        if exit_.ending is not Ending.EXITED:
            message = f"GitHub did not answer within {self._seconds:g} seconds"
            raise ServiceAway(message)
        if exit_.code == NOT_LOGGED_IN:
            message = f"gh is not logged in to {self._host}"
            raise ServiceRefused(message, hint=GITHUB.log_in)
        answer = parse_answer(output)
        is_broken = answer is not None and 200 <= answer.status < 300 and exit_.code != 0
        # Errors that GraphQL reports within an answer are a failure to gh, too.
        if answer is None or (is_broken and request.path != "graphql"):
            message = (
                f"GitHub cannot be reached: {_last_line(err) or f'gh ended with exit code {exit_.code}'}"
            )
            raise ServiceAway(message)
        return answer


def parse_answer(output: bytes) -> Answer | None:
    """Of `gh api -i`: status line, headers, an empty line, the body. None: it is no answer of a server."""
    head, separator, body = output.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").splitlines() or [""]
    protocol, _, rest = first.partition(" ")
    code = rest.partition(" ")[0]
    if not separator or not protocol.startswith("HTTP/") or len(code) != 3 or not code.isdecimal():
        return None
    pairs = (line.partition(":") for line in lines)
    return Answer(int(code), {name.strip().lower(): value.strip() for name, _, value in pairs}, body)


@contextmanager
def _as_file(body: bytes | None) -> Iterator[Path | None]:
    """A command line can be read by everyone on the machine; and of what comes by stdin gh does not know the length, which
    some proxies want to be told."""
    if body is None:
        yield None
        return
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix="ralph-request-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return clean_line(lines[-1])[:500] if lines else ""

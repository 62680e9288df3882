"""Short questions to the programs that keep sandboxes: an answer, or an error that says what they said."""

from __future__ import annotations

from pathlib import Path

from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.errors import AgentUnavailable

QUICK = Timeouts(total=60.0)
PATIENT = Timeouts(total=1800.0)  # an image may have to be fetched first


async def ask(
    runner: ProcessRunner, *argv: str, timeouts: Timeouts = QUICK, stdin: Path | None = None
) -> tuple[int | None, str, str]:
    """Exit code (None: it did not start or took too long), what it printed, what it complained."""
    stdout, stderr = bytearray(), bytearray()
    exit_ = await runner.run(
        Command(argv, Path("/"), stdin=stdin),
        timeouts=timeouts,
        on_output=stdout.extend,
        on_stderr=stderr.extend,
    )
    complaint = stderr.decode(errors="replace").strip() or exit_.error
    return exit_.code, stdout.decode(errors="replace"), complaint


async def require(
    runner: ProcessRunner, *argv: str, hint: str = "", timeouts: Timeouts = QUICK, stdin: Path | None = None
) -> str:
    code, answer, complaint = await ask(runner, *argv, timeouts=timeouts, stdin=stdin)
    if code != 0:
        said = complaint.splitlines()[-1] if complaint else f"it ended with {code}"
        message = f"the sandbox cannot be made: `{' '.join(argv[:3])}` failed: {said}"
        raise AgentUnavailable(message, hint=hint)
    return answer

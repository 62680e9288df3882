"""Talking to the programs that run sandboxes: short questions, and command lines for the inside.

Containers and virtual machines have a file system and a user of their own, so variables and paths that describe
this machine do not go inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath

from ralph.adapters.isolation.sandbox import Site, kept_variables
from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.errors import AgentUnavailable

QUICK = Timeouts(total=60.0)
PATIENT = Timeouts(total=1800.0)  # an image may have to be fetched first
_OF_THE_HOST = frozenset(
    {
        "GOPATH", "HOME", "JAVA_HOME", "LOGNAME", "NODE_EXTRA_CA_CERTS", "NVM_DIR", "PATH", "PWD", "PYENV_ROOT",
        "PYENV_VERSION", "REQUESTS_CA_BUNDLE", "SHELL", "SHLVL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "USER",
        "VIRTUAL_ENV",
    }
)  # fmt: skip


async def ask(
    runner: ProcessRunner, *argv: str, timeouts: Timeouts = QUICK, stdin: Path | None = None
) -> tuple[int | None, str, str]:
    """Exit code (None: it did not start or took too long), output, and error message."""
    stdout, stderr = bytearray(), bytearray()
    command = Command(argv, Path("/"), stdin=stdin)
    exit_ = await runner.run(command, timeouts=timeouts, on_output=stdout.extend, on_stderr=stderr.extend)
    complaint = stderr.decode(errors="replace").strip() or exit_.error
    return exit_.code, stdout.decode(errors="replace"), complaint


async def require(
    runner: ProcessRunner, *argv: str, hint: str = "", timeouts: Timeouts = QUICK, stdin: Path | None = None
) -> str:
    code, answer, complaint = await ask(runner, *argv, timeouts=timeouts, stdin=stdin)
    if code != 0:
        said = complaint.splitlines()[-1] if complaint else f"it ended with {code}"
        message = f"cannot set up the sandbox: `{' '.join(argv[:3])}` failed: {said}"
        raise AgentUnavailable(message, hint=hint)
    return answer


def variables_inside(site: Site, patterns: Iterable[str], command: Command) -> set[str]:
    """Names only: values go through the environment, never on a command line that everyone can read."""
    listed = kept_variables(site.environ, patterns) - _OF_THE_HOST
    return {*listed, *site.explicit, *command.environment, "RALPH_RUN_ID", "RALPH_SPAWN_ID"}


def argv_inside(site: Site, command: Command) -> tuple[str, ...]:
    """An agent is found by its name inside: its path belongs to the machine outside."""
    program, *arguments = command.argv
    return (PurePath(program).name if program in site.programs else program, *arguments)

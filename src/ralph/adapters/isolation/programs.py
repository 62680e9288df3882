"""Talking to the programs that run sandboxes: short questions, and command lines for the inside.

Containers and virtual machines have a file system and a user of their own, so variables and paths that describe
this machine do not go inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath

from ralph.adapters.isolation.sandbox import MARKS, Site, kept_variables
from ralph.domain.sandbox.own_environment import CARRIED
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
_UNPACK_EACH = f'eval "export $name=\\"\\${{{CARRIED}$name}}\\"; unset {CARRIED}$name"'
_UNPACK = ("/bin/sh", "-c", f'for name in $1; do {_UNPACK_EACH}; done; shift; exec "$@"', "ralph")


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
        message = (
            f"cannot set up the sandbox: `{' '.join((PurePath(argv[0]).name, *argv[1:3]))}` failed: {said}"
        )
        raise AgentUnavailable(message, hint=hint)
    return answer


def variables_inside(
    site: Site, patterns: Iterable[str], command: Command, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What a process in a file system of its own gets, but for the marks of its run."""
    given = site.environ if environ is None else environ
    names = (kept_variables(given, patterns) - _OF_THE_HOST) | (site.explicit & given.keys())
    inside = {**{name: given[name] for name in names}, **command.environment}
    return {name: value for name, value in inside.items() if name not in MARKS and is_name(name)}


def argv_inside(site: Site, command: Command, names: Iterable[str]) -> tuple[str, ...]:
    """An agent is found by its name inside: its path belongs to the machine outside."""
    program, *arguments = command.argv
    program = PurePath(program).name if program in site.programs else program
    return unpack(names, (program, *arguments))


def unpack(names: Iterable[str], argv: tuple[str, ...]) -> tuple[str, ...]:
    """Gives the carried variables ``names`` their own names inside, then becomes ``argv``."""
    return (*_UNPACK, " ".join(sorted(names)), *argv)


def is_name(text: str) -> bool:
    """Whether a shell can hand over a variable of that name."""
    return text.isascii() and text.isidentifier()

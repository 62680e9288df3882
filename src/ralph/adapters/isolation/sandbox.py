"""What every kind of sandbox can do, where it is set up, and which variables it lets in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from ralph.adapters.own_programs import OwnPrograms
from ralph.domain.agent.facts import AgentNeeds
from ralph.domain.sandbox.examination import Expected
from ralph.domain.sandbox.kind import SandboxKind
from ralph.domain.sandbox.own_environment import CARRIED
from ralph.domain.sandbox.policy import Guarantees
from ralph.engine.ports import Command, Exit, ProcessRunner
from ralph.values import dataclass, field

_KEPT = (
    "CI", "COLORTERM", "COLUMNS", "EDITOR", "FORCE_COLOR", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "GIT_CONFIG_NOSYSTEM", "GOPATH", "HOME", "JAVA_HOME", "LANG",
    "LANGUAGE", "LC_*", "LINES", "LOGNAME", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NO_COLOR", "NVM_DIR", "PATH",
    "PWD", "PYENV_ROOT", "PYENV_VERSION", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONUTF8",
    "RALPH_ITERATION", "RALPH_MAX_ITERATIONS", "RALPH_RUN_ID", "RALPH_SPAWN_ID", "REQUESTS_CA_BUNDLE", "SHELL",
    "SHLVL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TZ", "USER", "VIRTUAL_ENV",
)  # fmt: skip
MARKS = frozenset({"PWD", "RALPH_RUN_ID", "RALPH_SPAWN_ID"})
"""What the runner gives to each process by itself."""


class Sandbox(Protocol):
    """Opened once per run, asked once per process, closed with the run."""

    @property
    def kind(self) -> SandboxKind: ...

    @property
    def guarantees(self) -> Guarantees: ...

    @property
    def expected(self) -> Expected | None:
        """What must be found inside once it is open; None: it is not examined."""
        ...

    async def open(self, runner: ProcessRunner) -> None:
        """Set up what outlives single processes; ``guarantees`` then hold for this machine.

        ``runner`` is the one without a sandbox.
        """
        ...

    def wrap(self, command: Command, environ: Mapping[str, str] | None = None) -> Command:
        """The same command, inside, with what may go there of ``environ`` (default: the site's).

        Outside, the programs that set up the sandbox run with our environment, and the command's variables are ``carried``.
        """
        ...

    def failure(self, exit_: Exit, stderr: str) -> str:
        """Why the sandbox itself could not be set up; empty if it was."""
        ...

    async def settle(self, runner: ProcessRunner, exit_: Exit) -> None:
        """The last process inside has ended: end whatever it left running."""
        ...

    async def close(self, runner: ProcessRunner) -> None: ...


@dataclass(frozen=True, slots=True)
class Site:
    """Where a sandboxed run takes place. ``environ`` is the agent's whole environment, ``own`` our own programs."""

    workspace: Path
    state_folder: Path  # .ralph, of the workspace or of the main checkout
    programs: tuple[str, ...]  # the agent and its fallbacks, as they would be started
    run_id: str
    environ: Mapping[str, str]
    needs: AgentNeeds = AgentNeeds()  # of these agents
    explicit: frozenset[str] = frozenset()  # variables that settings gave to the agent: always kept
    writable: tuple[Path, ...] = ()  # besides the workspace: the task folder
    network_log: Path | None = None
    own: OwnPrograms = field(default_factory=OwnPrograms)
    report: Callable[[str], None] = field(default=lambda _: None)  # messages to the user during the run

    @property
    def home(self) -> Path:
        return Path(self.environ.get("HOME") or "/nonexistent")

    @property
    def path(self) -> str:
        return self.environ.get("PATH") or "/usr/local/bin:/usr/bin:/bin"

    def let_in(self, environ: Mapping[str, str] | None, patterns: Iterable[str]) -> dict[str, str]:
        """What a process inside gets of ``environ`` (default: the agent's)."""
        given = self.environ if environ is None else environ
        kept = kept_variables(given, patterns) | (self.explicit & given.keys())
        return {name: given[name] for name in kept}

    def outer_variables(self) -> set[str]:
        """Names in the environment of the programs outside that no sandboxed process may see in theirs."""
        return {*self.own.environment, *self.environ} - MARKS


def carry(variables: Mapping[str, str]) -> dict[str, str]:
    """Under names that mean nothing to the programs that set up a sandbox: these run outside, and LD_PRELOAD, say, is meant
    for the agent. Never on a command line, which everyone can read."""
    return {f"{CARRIED}{name}": value for name, value in variables.items()}


def kept_variables(environ: Mapping[str, str], patterns: Iterable[str] = ()) -> frozenset[str]:
    """The names in ``environ`` that a sandboxed process gets. A pattern may have one ``*``.

    All others never come near it: the first process in a sandbox shows its initial environment to every other.
    """
    wanted = (*_KEPT, *patterns)
    starred = [pattern for pattern in wanted if "*" in pattern]
    return frozenset(
        name for name in environ if name in wanted or any(_matches(name, pattern) for pattern in starred)
    )


def _matches(name: str, pattern: str) -> bool:
    before, _, after = pattern.partition("*")
    return len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)

"""What ralph knows about an agent's program besides how to talk to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ralph.domain.agent.options import Option
from ralph.domain.sandbox.needs import AgentNeeds

IsLoggedIn = Callable[[int, str], bool | None]
"""(exit status, output) of asking the program itself; None: it does not know."""


def by_exit_status(code: int, output: str) -> bool | None:
    return code == 0


@dataclass(frozen=True, slots=True)
class KnownGood:
    """``tested`` is the version that ralph's own tests run; it is known to work from ``since`` on."""

    since: str
    tested: str


@dataclass(frozen=True, slots=True)
class OwnProvider:
    """A setting in one of the agent's files that names a model service of the user's own."""

    variable: str  # names the folder
    folder: str  # else it is this one, below the home directory
    file: str
    setting: str


@dataclass(frozen=True, slots=True)
class Examination:
    """How to find out, without spending a token, whether the program is fit for work.

    ``flags`` are those that ralph cannot do without; the program's ``help`` must name them. ``variables`` and
    ``files`` (below the home directory) are signs of a login, for programs that cannot be asked.
    """

    known_good: KnownGood | None  # versions that were really run; None: needs a service that nobody could try
    help: tuple[str, ...] = ("--help",)
    flags: tuple[str, ...] = ()
    login: tuple[str, ...] = ()
    is_logged_in: IsLoggedIn | None = None
    own_provider: OwnProvider | None = None
    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    silent_seconds: float = 0.0  # how long it may retry a failed request in silence


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """``install`` and ``login`` say how, in one line; ``options`` are those that its program supports."""

    name: str
    install: str
    login: str = ""
    options: frozenset[Option] = frozenset()
    needs: AgentNeeds = AgentNeeds()
    examination: Examination | None = None

    @property
    def login_hint(self) -> str:
        return f"log in: {self.login}"

"""What ralph knows about an agent's program besides how to talk to it: its needs, options and how to examine it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ralph.domain.agent.options import Option
from ralph.values import dataclass, fields

IsLoggedIn = Callable[[int, str], bool | None]
"""Takes the exit status and output of asking the program; None: it does not know."""


def by_exit_status(code: int, output: str) -> bool | None:
    return code == 0


@dataclass(frozen=True, slots=True)
class KnownGood:
    """Known to work from ``since`` on; ralph's own tests run ``tested``."""

    since: str
    tested: str


@dataclass(frozen=True, slots=True)
class OwnProvider:
    """A setting in one of the agent's files that names the user's own model service."""

    variable: str  # gives the folder
    folder: str  # the default, below the home directory
    file: str
    setting: str


@dataclass(frozen=True, slots=True)
class Examination:
    """How to find out whether the program can work, without spending a token.

    ralph needs ``flags``; the program's ``help`` must list them. ``variables`` and ``files`` (below the home
    directory) are signs of a login, for programs that cannot be asked.
    """

    known_good: KnownGood | None  # versions that were really run; None: none could be
    help: tuple[str, ...] = ("--help",)
    flags: tuple[str, ...] = ()
    login: tuple[str, ...] = ()
    is_logged_in: IsLoggedIn | None = None
    own_provider: OwnProvider | None = None
    variables: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    silent_seconds: float = 0.0  # how long it may retry a failed request in silence


@dataclass(frozen=True, slots=True)
class AgentNeeds:
    """What an agent needs from outside its sandbox. Paths are relative to the home folder.

    ``state`` are its folders, which it sees as they are but cannot change: what it writes there is dropped with its
    process. Exceptions in there: the files of ``login`` are the user's own, to keep a renewed login; the folders of
    ``sessions`` are kept for its later sessions in this project, apart from the user's; ``scratch``, where it works and
    keeps what is no business of this project (logs, caches, histories; with ``*``), begins empty. ``copied`` are files
    outside of ``state`` that it may write in the same way. ``named``: variables of ``env`` that name a path, each with the
    folder of ``state`` that it moves there, or nothing if it names something else that the agent reads.
    """

    state: tuple[str, ...] = ()
    login: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    named: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] = ()


def needs_of_all(agents: Iterable[AgentNeeds]) -> AgentNeeds:
    together = tuple(agents)
    return AgentNeeds(
        *(
            tuple(dict.fromkeys(entry for needs in together for entry in getattr(needs, field.name)))
            for field in fields(AgentNeeds)
        )
    )


@dataclass(frozen=True, slots=True)
class Clean:
    """How to start a program without what is its user's: ``drops`` says what that is, ``keeps`` what it cannot leave out."""

    flags: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    drops: str = "your MCP servers and plugins"
    keeps: str = ""


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """``install`` and ``login`` say how, in one line; its program supports ``options``.

    ``tells_quota``: its stream says how much of the subscription is left. ``clean``: None if it cannot be started so.
    """

    name: str
    install: str
    login: str = ""
    options: frozenset[Option] = frozenset()
    needs: AgentNeeds = AgentNeeds()
    examination: Examination | None = None
    tells_quota: bool = False
    clean: Clean | None = None

    @property
    def package(self) -> str:
        """Its npm package; empty: it is installed in another way."""
        how, _, package = self.install.rpartition(" ")
        return package if how == "npm install -g" else ""

    @property
    def login_hint(self) -> str:
        return f"log in: {self.login}"

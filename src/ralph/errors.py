"""What the user or the machine got wrong, as exceptions. What the *work* does is always a value.

RalphError            message, and what to do about it
├─ UsageError         flags or arguments that make no sense            exit 2
├─ ConfigError        which file, which key, what is wrong             exit 2
├─ UntrustedProject   its user has not agreed to what it would run     exit 2
├─ WorkspaceBusy      another run holds this workspace                 exit 2
├─ AgentUnavailable   executable missing, not logged in                exit 4
├─ GitFailed          git cannot do what the work needs                exit 4
├─ SetupFailed        a worktree cannot be made able to build          exit 4
├─ TooManyProcesses   the system will start no more for this user      exit 4
├─ OutOfMemory        the system gives no more of it                   exit 4
├─ ServiceRefused     a forge or tracker will not: login, permission   exit 4
├─ ServiceAway        it cannot be reached, or is busy                 exit 5
└─ StoreError         database damaged, unwritable or of a newer ralph exit 4
   ├─ DamagedRecord   what was packed elsewhere cannot be taken        exit 4
   └─ TooManyFiles    the system lets this process open no more        exit 4
anything else         a bug in ralph                                   exit 3
"""

from __future__ import annotations


class RalphError(Exception):
    """Something the user can fix: ``message`` says what happened and where, ``hint`` what to do."""

    exit_code = 2
    is_told = False  #: the user has read it already

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(RalphError):
    """Flags or arguments that make no sense."""


class ConfigError(RalphError):
    """Settings that cannot be read or are wrong."""


class UntrustedProject(RalphError):
    """The repository names commands that its user has not agreed to."""


class WorkspaceBusy(RalphError):
    """Another run holds this workspace."""


class AgentUnavailable(RalphError):
    """The agent cannot be started at all."""

    exit_code = 4


class GitFailed(RalphError):
    """Git cannot do what the work needs."""

    exit_code = 4


class SetupFailed(RalphError):
    """What the user wants a worktree to be set up with does not work. ``said``: the end of what it printed."""

    exit_code = 4

    def __init__(self, message: str, *, hint: str = "", said: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.said = said


class StoreError(RalphError):
    """The journal cannot be read or written."""

    exit_code = 4


class DamagedRecord(StoreError):
    """A packed record is not whole, or not one: it is so on every machine."""


class TooManyFiles(StoreError):
    """The system lets this process open no more files."""

    def __init__(self) -> None:
        super().__init__(
            "too many files are open", hint="raise the limit and try again: `ulimit -n 256` or more"
        )


class TooManyProcesses(RalphError):
    """The system will not start any more processes or threads for this user."""

    exit_code = 4

    def __init__(self) -> None:
        super().__init__(
            "the system will not start any more processes for this user",
            hint="end some, or raise the limit (`ulimit -u`, or the container's) and try again",
        )


class OutOfMemory(RalphError):
    """The system gives this process no more memory."""

    exit_code = 4

    def __init__(self) -> None:
        super().__init__(
            "the system gives ralph no more memory",
            hint="end other programs, or raise the limit (`ulimit -v`, or the container's) and try again",
        )


class ServiceRefused(RalphError):
    """A forge or a tracker will not do it: no login, no permission, no such repository, a rule of its own."""

    exit_code = 4


class ServiceAway(RalphError):
    """A forge or a tracker cannot be reached, or is busy. ``after``: seconds to wait, if it said so."""

    exit_code = 5

    def __init__(self, message: str, *, hint: str = "", after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.after = after

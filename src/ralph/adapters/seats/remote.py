"""The remote of a job: asked, fetched from and pushed to, from a git directory that no agent can configure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ralph.adapters.git import Git, Ran
from ralph.adapters.git_folders import entries, included, user_configs
from ralph.adapters.git_remotes import require_reached, said_of
from ralph.domain.text.safe_text import clean_line
from ralph.domain.trust.pushed_to import is_option, without_login
from ralph.errors import GitFailed, ServiceAway, ServiceRefused, UsageError
from ralph.values import dataclass

SECONDS = 1800.0
FETCH = ("fetch", "--quiet", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance")
_PUSH = ("push", "--quiet", "--porcelain", "--no-verify", "--recurse-submodules=no", "--atomic")
_NO_ATOMIC = "does not support --atomic"
_AT_ONCE = (
    "transaction", "cannot lock", "failed to update", "already exists", "stale info", "fetch first", "remote failure",
    "atomic push failed",
)  # fmt: skip
"""In git's words about a ref that somebody else moves at the same moment, and about an answer that did not come."""
_OTHERS = "atomic push fail"
"""Of refs that were not moved because another could not be."""
_THEIRS = "remote:"
MOST_LINES = 5
_FULL = ("no space left on device", "disk quota exceeded")


def unattended(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables with which nothing asks at a terminal or a screen. The user's own way to log in stays."""
    found = {"SSH_ASKPASS_REQUIRE": "never", "SSH_ASKPASS": ""}
    files = [file for config in user_configs(environ) for file in (config, *included(config))]
    is_chosen = any(key == "core.sshcommand" for file in files for key, _ in entries(file))
    if not is_chosen and not environ.get("GIT_SSH_COMMAND") and not environ.get("GIT_SSH"):
        found["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
    return found


@dataclass(frozen=True, slots=True)
class Move:
    """A ref of the remote: where it must be now (empty: not there), and where it goes."""

    ref: str
    old: str
    new: str


class NotMoved(Exception):
    """The remote is not as it was expected: ``now`` is what it has."""

    def __init__(self, now: Mapping[str, str]) -> None:
        super().__init__(now)
        self.now = now


def require_room(ran: Ran, whose: str) -> None:
    """Raises GitFailed if the disk here is full, ServiceAway if that of ``whose`` is: neither is a refusal."""
    lines = [line for line in ran.err.lower().splitlines() if any(word in line for word in _FULL)]
    if any(not line.startswith(_THEIRS) for line in lines):
        message = "the disk of this worker is full"
        raise GitFailed(message, hint="make room there, in `fleet.home`")
    if lines:
        message = f"the disk of {whose} is full"
        raise ServiceAway(message)


class Remote:
    """``git``: of the directory that talks to it."""

    def __init__(self, git: Git, address: str) -> None:
        if is_option(address) or not address or "\0" in address or "\n" in address:
            message = f"{address!r} is not the address of a repository"
            raise UsageError(message, hint="submit with --repo URL")
        self._git = git
        self._address = address

    @property
    def name(self) -> str:
        """Without a password."""
        return without_login(self._address)

    async def ask(self, refs: Sequence[str]) -> dict[str, str]:
        """The commits of those refs that are there. Of ``HEAD``, also the branch it means, as ``HEAD:``."""
        ran = await self._git.run("ls-remote", "--symref", "--", self._address, *refs, is_remote=True)
        if not ran.ok:
            self._require_answer(ran)
            message = f"the repository {self.name} cannot be read: {said_of(ran)}"
            raise ServiceRefused(
                message, hint="is the address right, and may this worker's user read it? try `git ls-remote`"
            )
        found: dict[str, str] = {}
        for line in ran.out.splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: ") and name == "HEAD":
                found["HEAD:"] = value.removeprefix("ref: ")
            elif name in refs:
                found[name] = value
        return found

    async def fetch(self, *refspecs: str, options: Sequence[str] = ("--no-tags",)) -> None:
        arguments = (*FETCH, *options, "--", self._address, *refspecs)
        ran = await self._git.run(*arguments, is_remote=True)
        if not ran.ok:
            self._require_answer(ran)
            message = f"{self.name} cannot be fetched from: {said_of(ran)}"
            raise ServiceRefused(message, hint="try `git fetch` by hand")

    def _require_answer(self, ran: Ran) -> None:
        require_room(ran, self.name)
        require_reached(ran)

    async def push(self, moves: Sequence[Move]) -> None:
        """All or nothing. Raises NotMoved if somebody else moved one of them, ServiceRefused if the remote will not."""
        leases = (f"--force-with-lease={move.ref}:{move.old}" for move in moves)
        pushed = (f"{move.new}:{move.ref}" for move in moves)
        ran = await self._git.run(*_PUSH, *leases, "--", self._address, *pushed, is_remote=True)
        if ran.ok:
            return
        if _NO_ATOMIC in ran.err:
            message = f"{self.name} cannot take several branches in one push (--atomic), which jobs need"
            raise ServiceRefused(message, hint="use a server with a newer git")
        refused = [line.rpartition("\t")[2] for line in ran.out.splitlines() if line.startswith("!")]
        # Which of them it was, and whether it got through though the answer was lost, the refs themselves say best.
        now = await self.ask([move.ref for move in moves])
        if all(now.get(move.ref, "") == move.new for move in moves):
            return
        if any(now.get(move.ref, "") != move.old for move in moves):
            raise NotMoved(now)
        require_room(ran, self.name)
        if not refused:
            require_reached(ran)
        if refused and all(any(word in line.lower() for word in _AT_ONCE) for line in refused):
            message = f"{self.name} is busy, or was interrupted: {_refusal(ran, refused)}"
            raise ServiceAway(message)
        places = ", ".join(move.ref.removeprefix("refs/heads/") for move in moves)
        message = f"{self.name} refuses a push to {places}: {_refusal(ran, refused)}"
        hint = (
            "this worker's user must be allowed to push there; see rules for branches and hooks of the server"
        )
        raise ServiceRefused(message, hint=hint)


def _refusal(ran: Ran, refused: Sequence[str]) -> str:
    """What the remote's side said, its hooks included, or else git."""
    lines = (
        line.strip().removeprefix(_THEIRS).strip()
        for line in ran.err.splitlines()
        if line.startswith(_THEIRS)
    )
    first = next((line for line in refused if _OTHERS not in line), "")
    said = [*[line for line in lines if line][:MOST_LINES], *([first] if first else [])]
    return without_login(clean_line("; ".join(said))) or said_of(ran)

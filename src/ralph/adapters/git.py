"""Our own git: the only place that runs it for ralph itself. It says clearly what went wrong."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from time import monotonic

from ralph.adapters.git_folders import MARKER, git_folders
from ralph.adapters.own_output import not_own
from ralph.domain.loop.session_report import Ending
from ralph.domain.sandbox.own_git import ENVIRONMENT, OWN, own_git
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.errors import ConfigError, GitFailed
from ralph.values import dataclass

SECONDS = 300.0
SLOW = (3.0, 10.0, 60.0)
MOST_BYTES = 50_000_000
"""What git may print. More than that is a failure, for whoever reads a list reads all of it."""
MOST_NEW = 200
"""New files whose content is shown."""
HEADS = "refs/heads/"
IDENTITY = 'set user.name and user.email with "git config"'
REPAIR = "see what `git status` says, and repair the repository"
GATE = Path(__file__).with_name("gate")
"""Instead of git's folder of programs: what git starts by itself enters no submodule, where a configuration may be an agent's."""
REMOTE = {"GIT_ALLOW_PROTOCOL": "file:https:ssh"}
"""For the few commands that fetch or push, which name a remote of the user's and enter no submodule."""
LOCK_SECONDS = 3.0
"""How long another git, the user's or an editor's, may hold the index."""


def behind_gate(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Variables with which a git in ``root`` starts others for its own repository only."""
    own = environ.get("GIT_DIR") or _git_dir_of(root)
    return {"GIT_EXEC_PATH": str(GATE), "OWN_GIT_DIR": own}


def _git_dir_of(root: Path) -> str:
    marker = f"{root}/{MARKER}"
    with suppress(OSError):
        folder = os.lstat(marker)
        if stat.S_ISDIR(folder.st_mode) and os.path.lexists(f"{marker}/HEAD"):
            return _real_path(marker, folder.st_dev, folder.st_ino)
    try:
        found = git_folders(root)
    except ConfigError:  # git will say so
        found = None
    return "" if found is None else str(found.own)


@lru_cache(maxsize=64)
def _real_path(folder: str, device: int, number: int) -> str:
    """Of this very folder: another in its place, as an agent may put there, has another number."""
    return os.path.realpath(folder)


def not_above(root: Path) -> dict[str, str]:
    """Variables with which git looks for a repository in ``root`` and below, but not above it."""
    return {"GIT_CEILING_DIRECTORIES": str(root.absolute().parent)}


@dataclass(frozen=True, slots=True)
class Ran:
    """How one git command ended. ``is_cut``: it printed more than was wanted, and was ended."""

    code: int | None
    output: bytes
    err: str
    is_cut: bool = False

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def out(self) -> str:
        """As git printed it; file names survive whatever their encoding."""
        return self.output.decode(errors="surrogateescape")

    @property
    def text(self) -> str:
        return self.out.strip()

    @property
    def names(self) -> list[str]:
        """Those of a list that ends each with NUL (``-z``)."""
        return [name for name in self.out.split("\0") if name]

    @property
    def why(self) -> str:
        """What went wrong, if it did."""
        return self.err or self.text or f"exit code {self.code}"


class _SlowWatch:
    """A git that takes long may be waiting at a pipe where it expects a file. Most take no time at all, so there is no
    task before that."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._releasing: asyncio.Task[None] | None = None
        self._later = asyncio.get_running_loop().call_later(SLOW[0], self._begin)

    def _begin(self) -> None:
        self._releasing = asyncio.create_task(self._release())

    async def _release(self) -> None:
        from ralph.adapters.git_pipes import release_pipes

        for seconds in (*SLOW[1:], 0.0):
            await asyncio.to_thread(release_pipes, self._root)
            await asyncio.sleep(seconds)

    def cancel(self) -> None:
        self._later.cancel()
        if self._releasing is not None:
            self._releasing.cancel()


class Git:
    """Git commands in one working tree.

    ``is_top``: ``root`` has a ``.git`` of its own. If a worktree has lost it, git must not find the user's above it.
    ``folder``: where the project is in its repository, and so in each worktree; empty: at the top.
    ``environment``: more variables for every command. ``hint``: what to do if one fails.
    """

    def __init__(
        self,
        root: Path,
        runner: ProcessRunner,
        *,
        is_top: bool = False,
        folder: str = "",
        seconds: float = SECONDS,
        environment: Mapping[str, str] | None = None,
        hint: str = REPAIR,
    ) -> None:
        self.root = root
        self._folder = folder
        inner = tuple(f":(exclude){folder}/{name}" for name in OWN) if is_top and folder else ()
        self.not_own = (*not_own(root), *inner)  # pathspecs: everything but what ralph itself writes
        self._runner = runner
        above = not_above(root) if is_top else {}
        self._environment = {**ENVIRONMENT, **above, **(environment or {})}
        self._seconds = seconds
        self._hint = hint

    def at(self, root: Path) -> Git:
        """In another worktree."""
        return Git(root, self._runner, is_top=True, folder=self._folder, seconds=self._seconds)

    async def run(
        self,
        *arguments: str,
        most: int = MOST_BYTES,
        environment: Mapping[str, str] | None = None,
        stdin: Path | None = None,
        into: Callable[[bytes], None] | None = None,
        is_remote: bool = False,
        configuration: Sequence[str] = (),
    ) -> Ran:
        """``most``: bytes of output, after which it is ended. ``into`` takes all of it instead, as it comes.
        ``is_remote``: it talks to another machine, for which it needs the programs that the gate keeps from it.
        ``configuration``: further settings, as ``key=value``."""
        output, err = bytearray(), Excerpt(4_000, Keep.TAIL)
        enough: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def take(chunk: bytes) -> None:
            output.extend(chunk[: most + 1 - len(output)])
            if len(output) > most and not enough.done():
                enough.set_result(None)

        variables = {**self._environment, **(environment or {})}
        variables |= REMOTE if is_remote else behind_gate(self.root, variables)
        watch = _SlowWatch(self.root)
        try:
            exit_ = await self._runner.run(
                Command(
                    own_git(*arguments, configuration=configuration),
                    self.root,
                    environment=variables,
                    stdin=stdin,
                    exact=True,
                ),
                timeouts=Timeouts(total=self._seconds),
                on_output=into or take,
                on_stderr=lambda chunk: err.add(chunk.decode(errors="replace")),
                stop=enough,
            )
        finally:
            watch.cancel()
        if len(output) > most:
            return Ran(None, bytes(output[:most]), f"it printed more than {most:,} bytes", is_cut=True)
        code = exit_.code if exit_.ending is Ending.EXITED else None
        return Ran(code, bytes(output), exit_.error or err.text().strip())

    async def must(
        self,
        *arguments: str,
        hint: str = "",
        most: int = MOST_BYTES,
        stdin: Path | None = None,
        into: Callable[[bytes], None] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ran:
        """Raises GitFailed unless it succeeds."""
        ran = await self.run(*arguments, most=most, stdin=stdin, into=into, environment=environment)
        if not ran.ok:
            raise self._failure(arguments, ran, hint or self._hint)
        return ran

    async def grep(
        self, pattern: str, *where: str, commit: str = "", most: int = MOST_BYTES
    ) -> list[tuple[str, str]]:
        """What an extended regular expression finds in the texts of the index, each with its path; or in those of a commit,
        with paths from the top. Raises GitFailed."""
        options = ("--no-color", "-z", "-I", "-o", "-E", "-e", pattern)
        place = ("--full-name", commit) if commit else ("--cached",)
        ran = await self._ask("grep", *options, *place, "--", *where, most=most)
        # What it cannot read it leaves out, and its exit code does not say so.
        if any(line.startswith("error: ") for line in ran.err.splitlines()):
            raise self._failure(("grep",), ran, self._hint)
        lines = (line.partition("\0") for line in ran.out.split("\n"))
        return [(path.removeprefix(f"{commit}:"), text) for path, zero, text in lines if zero]

    async def _ask(self, *arguments: str, most: int = MOST_BYTES) -> Ran:
        """A question that git answers with its exit code: 0 or 1. Raises GitFailed if it cannot tell."""
        ran = await self.run(*arguments, most=most)
        if ran.code not in (0, 1):
            raise self._failure(arguments, ran, self._hint)
        return ran

    def _failure(self, arguments: Sequence[str], ran: Ran, hint: str) -> GitFailed:
        return GitFailed(f"git {' '.join(arguments[:3])} failed in {self.root}: {ran.why}", hint=hint)

    async def commit_of(self, name: str) -> str:
        """The commit that a name means; empty if it means none."""
        named = await self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return named.text if named.ok else ""

    async def branch(self) -> str:
        """The branch that is checked out; empty if none is."""
        # Not the short form, which is another one if a tag has the same name.
        ran = await self._ask("symbolic-ref", "--quiet", "HEAD")
        return ran.text.removeprefix(HEADS) if ran.ok and ran.text.startswith(HEADS) else ""

    async def switch(self, branch: str, *, hint: str = "") -> None:
        """Check it out, whatever its name looks like. Raises GitFailed."""
        await self.must("switch", "--quiet", "--no-guess", "--", branch, hint=hint)

    async def is_clean(self) -> bool:
        return not await self.changed()

    async def changed(self) -> tuple[str, ...]:
        """Files that differ from the last commit, new ones included, without ralph's own."""
        ran = await self.must("status", "--porcelain", "-z", "--untracked-files=all", "--", *self.not_own)
        names: list[str] = []
        entries = iter(ran.names)
        for entry in entries:
            names.append(entry[3:])
            if entry[0] in "RC":
                next(entries, "")  # where a renamed file came from
        return tuple(names)

    async def conflicts(self) -> tuple[str, ...]:
        return tuple((await self.must("diff", "--name-only", "--diff-filter=U", "-z")).names)

    async def commit_all(self, message: str) -> str:
        """Commit everything that is there; empty if there was nothing to commit."""
        if await self.is_clean():
            return ""
        await self.add_all()
        if (await self.run("diff", "--cached", "--quiet")).ok:
            return ""
        hint = IDENTITY
        await self.must("commit", "--quiet", "--no-verify", "-m", message, hint=hint)
        return await self.commit_of("HEAD")

    async def add_all(self, *, environment: Mapping[str, str] | None = None) -> None:
        """Everything that is there, to the index; ``environment`` may name another one. Raises GitFailed if something of
        it cannot be."""
        add = ("add", "--all", "--", *self.not_own)
        ran = await self.run(*add, environment=environment)
        # It fails, having added all the rest, if something is there that is both excluded here and ignored.
        if not ran.ok and await self._unstaged(environment):
            raise self._failure(add, ran, REPAIR)

    async def _unstaged(self, environment: Mapping[str, str] | None) -> list[str]:
        which = ("--modified", "--deleted", "--others", "--exclude-standard")
        listing = ("ls-files", *which, "-z", "--", *self.not_own)
        return (await self.must(*listing, environment=environment)).names

    async def tracked_diff(self, base: str) -> str:
        """What was changed since ``base`` in files that git knows; the beginning of it if it is huge."""
        arguments = ("diff", "--find-renames", base, "--", *self.not_own)
        ran = await self.run(*arguments)
        if not (ran.ok or ran.is_cut):
            raise self._failure(arguments, ran, self._hint)
        return ran.out

    async def unlock(self) -> None:
        """Remove the lock of a git that was killed here. Only for trees that no one else works in."""
        ran = await self.run("rev-parse", "--git-path", "index.lock")
        if ran.ok:
            (self.root / ran.text).unlink(missing_ok=True)

    async def require_unlocked(self) -> None:
        """Raises GitFailed if nothing could be committed, because of a git that is at work or was killed."""
        lock = self.root / (await self.must("rev-parse", "--git-path", "index.lock")).text
        end = monotonic() + LOCK_SECONDS
        while lock.exists():
            if monotonic() > end:
                message = f"git is locked by {lock}: another git is at work, or one was killed"
                raise GitFailed(message, hint="remove that file if no git is running")
            await asyncio.sleep(0.1)

    async def require_identity(self) -> None:
        """Raises ConfigError if nothing could be committed, because git does not know whose commits they are."""
        for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            ran = await self.run("var", who)
            if not ran.ok:
                message = f"git cannot commit in {self.root}: {ran.why.splitlines()[-1]}"
                raise ConfigError(message, hint=IDENTITY)

    async def diff_since(self, base: str) -> str:
        """All that was changed since ``base``: commits, edits, and new files."""
        pieces = [await self.tracked_diff(base)]
        listed = await self.must("ls-files", "--others", "--exclude-standard", "-z", "--", *self.not_own)
        for name in listed.names[:MOST_NEW]:
            pieces.append((await self.run("diff", "--no-index", "--", "/dev/null", name)).out)
        return "".join(pieces)

    async def is_ancestor(self, commit: str, of: str) -> bool:
        """False also where one of them is no commit here."""
        ran = await self.run("merge-base", "--is-ancestor", commit, of)
        if ran.code not in (0, 1) and await self.commit_of(commit) and await self.commit_of(of):
            raise self._failure(("merge-base", "--is-ancestor", commit), ran, self._hint)
        return ran.ok

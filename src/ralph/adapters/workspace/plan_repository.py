"""Enforcing a plan in a git working tree: what a session changed, putting it back, committing corrections."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from ralph.adapters import beneath, trees
from ralph.adapters.files import make_private_folder, read_whole, write_private
from ralph.adapters.git import Git, Ran
from ralph.adapters.own_output import own_output
from ralph.domain.sandbox.own_git import OWN
from ralph.engine.plans.ports import Return, TreeState
from ralph.engine.ports import ProcessRunner
from ralph.errors import StoreError

SECONDS = 120.0
PATHS_AT_ONCE = 500
LARGEST_READ = 20_000_000
"""Of larger files, size and time stand for the content."""
LITERALLY = {"GIT_LITERAL_PATHSPECS": "1"}


class GitPlanRepository:
    """``aside`` is the run's folder for what is put back; nothing is ever lost for good.

    Raises GitFailed if git cannot tell: that is never the same as "nothing has changed".
    """

    def __init__(self, root: Path, runner: ProcessRunner, *, aside: Path) -> None:
        self._root = root
        self._own_git = Git(root, runner, seconds=SECONDS, environment=LITERALLY)
        self._own_output = own_output(root)
        self._aside = aside

    async def state(self) -> TreeState:
        return TreeState(
            await self._head(),
            {path: self._digest(path) for path in await self._uncommitted()},
            branch=await self._own_git.branch(),
            hidden={path: self._digest(path) for path in await self._hidden()},
            excluded=await self._excluded(),
        )

    async def come_back(self, before: TreeState, *, keep_history: bool) -> Return | None:
        async def set_down() -> str:
            left = [path for path in await self._uncommitted() if path not in before.uncommitted]
            return await self.commit(left, "chore: what a session left uncommitted on another branch")

        return await bring_back(self._own_git, before, keep_history=keep_history, set_down=set_down)

    async def changed_since(self, before: TreeState) -> tuple[str, ...]:
        await self._bring_to_light(before)
        now = {*await self._differing(before.commit), *await self._untracked()}
        # What was uncommitted then and is not now was committed as it was, or changed back: only the latter counts.
        known = {**before.hidden, **before.uncommitted}
        theirs = sorted(path for path in now | known.keys() if not _is_own(path))
        changed = (path for path in theirs if known.get(path, "") != self._digest(path))
        return tuple(path for path in changed if path not in self._own_output)

    async def restore(self, paths: Sequence[str], before: TreeState) -> tuple[str, ...]:
        theirs = before.uncommitted.keys() | before.hidden.keys()
        own = [path for path in paths if path not in theirs]
        for path in own:
            self._keep(path)
        committed = set(await self._committed(own, before.commit))
        for some in _portions([path for path in own if path in committed]):
            await self._git("checkout", "--quiet", before.commit, "--", *some)
        new = [path for path in own if path not in committed]
        await self._forget(new)
        for path in new:
            self._remove(path)
        return tuple(path for path in paths if path in theirs)

    async def commit(self, paths: Sequence[str], message: str) -> str:
        wanted = set(paths)
        changed = [path for path in await self._uncommitted() if path in wanted]
        if not changed:
            return ""
        present = [path for path in changed if self._is_there(path)]
        absent = sorted(set(changed).difference(present))
        for some in _portions(present):
            added = await self._try("add", "--", *some)
            if not added.ok:
                return added.why
        await self._forget(absent)
        given = self._aside / "commit-paths"
        make_private_folder(given.parent)
        write_private(given, b"\0".join(path.encode(errors="surrogateescape") for path in changed))
        for identity in ((), NOBODY):
            made = await self._try(
                *identity, "commit", "--quiet", "--no-verify", "--only", f"--message={message}",
                f"--pathspec-from-file={given}", "--pathspec-file-nul",
            )  # fmt: skip
            if made.ok:
                return ""
        return made.why

    # --- looking ---

    async def _head(self) -> str:
        return await self._own_git.commit_of("HEAD")

    async def _uncommitted(self) -> list[str]:
        head = await self._head()
        return sorted({*await self._differing(head), *await self._untracked()})

    async def _differing(self, commit: str) -> list[str]:
        """Tracked files whose content, in index or tree, is not the commit's; all of them before the first one."""
        if not commit:
            return await self._names("ls-files", "-z", "--cached")
        tree = await self._names("diff", "--name-only", "-z", "--no-renames", "--relative", commit)
        index = await self._names(
            "diff", "--name-only", "-z", "--no-renames", "--relative", "--cached", commit
        )
        return [*tree, *index]

    async def _untracked(self) -> list[str]:
        return await self._names("ls-files", "-z", "--others", "--exclude-standard")

    async def _hidden(self) -> list[str]:
        """Tracked files that are there, but that git was told not to look at."""
        listed = await self._names("ls-files", "-v", "-z", "--cached")
        flagged = (entry[2:] for entry in listed if entry[0].islower() or entry[0] == "S")
        return [path for path in flagged if not _is_own(path) and self._is_there(path)]

    async def _bring_to_light(self, before: TreeState) -> None:
        """A session may have told git to overlook what it changed, in ways that leave no change behind."""
        new = [path for path in await self._hidden() if path not in before.hidden]
        for some in _portions(new):
            for flag in ("--no-assume-unchanged", "--no-skip-worktree"):
                await self._git("update-index", flag, "--", *some)
        if before.excluded is not None and await self._excluded() != before.excluded:
            path = await self._exclude_file()
            top = path.parent.parent
            beneath.make_folder(path.parent, top)
            beneath.write_atomic(path, before.excluded, top)

    async def _excluded(self) -> bytes | None:
        return _read_if_there(await self._exclude_file())

    async def _exclude_file(self) -> Path:
        return self._root / (await self._git("rev-parse", "--git-path", "info/exclude")).text

    async def _committed(self, paths: Sequence[str], commit: str) -> list[str]:
        if not commit:
            return []
        found: list[str] = []
        for some in _portions(paths):
            found += await self._names("ls-tree", "-r", "-z", "--name-only", commit, "--", *some)
        return found

    def _digest(self, path: str) -> str:
        file, about = self._root / path, self._status(path)
        if about is None:
            return "absent"
        if not S_ISREG(about.st_mode):
            return f"{about.st_mode} {beneath.read_link(file, self._root)}"
        content = beneath.read_whole(file, LARGEST_READ, self._root)
        if content is None:
            return f"{about.st_size} {about.st_mtime_ns}"
        return blake2b(content, digest_size=16).hexdigest() + f" {about.st_mode & 0o111}"

    def _status(self, path: str) -> os.stat_result | None:
        """What a session moved behind a link is not there: the link is what it left in its place."""
        with suppress(OSError):
            return beneath.status(self._root / path, self._root)
        return None

    def _is_there(self, path: str) -> bool:
        return self._status(path) is not None

    # --- touching ---

    def _keep(self, path: str) -> None:
        """What is about to be put back, whatever its size. Raises StoreError: nothing is touched without a copy."""
        file, folder, about = self._root / path, self._aside / "undone", self._status(path)
        name = path.rstrip("/").replace("/", "__")[-150:]
        if about is None:
            return
        keep = trees.move if S_ISDIR(about.st_mode) else trees.keep_copy  # a repository of its own
        try:
            make_private_folder(self._aside)
            copies = (folder / f"{number:03}_{name}" for number in count(1))
            copy = next(path for path in copies if beneath.status(path, self._aside) is None)
            keep(file, copy, self._root, self._aside)
        except OSError as error:
            message = f"cannot keep a copy of {file}: {error.strerror or error}"
            raise StoreError(message, hint="make room for it, or move it away yourself") from error

    async def _forget(self, paths: Sequence[str]) -> None:
        """Take them out of the index."""
        for some in _portions(paths):
            await self._git("rm", "--quiet", "--cached", "--ignore-unmatch", "--", *some)

    def _remove(self, path: str) -> None:
        file = self._root / path
        with suppress(OSError):  # already removed, or its folder has more in it
            beneath.remove(file, self._root)
            for folder in file.parents:
                if folder == self._root:
                    break
                beneath.remove_folder(folder, self._root)

    async def _names(self, *arguments: str) -> list[str]:
        return [path for path in (await self._git(*arguments)).names if not _is_own(path)]

    async def _git(self, *arguments: str) -> Ran:
        return await self._own_git.must(*arguments)

    async def _try(self, *arguments: str) -> Ran:
        return await self._own_git.run(*arguments)


def _read_if_there(path: Path) -> bytes | None:
    return read_whole(path, LARGEST_READ) if os.path.lexists(path) else b""


def _is_own(path: str) -> bool:
    return path.split("/", 1)[0] in OWN


def _portions(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(paths), PATHS_AT_ONCE):
        yield paths[start : start + PATHS_AT_ONCE]


# --- a session that left its branch ---

KEPT = "refs/ralph/kept/"
"""Commits that no branch leads to any more."""
NOBODY = ("-c", "user.name=Ralph Loop", "-c", "user.email=ralph@localhost")

SetDown = Callable[[], Awaitable[str]]
"""Commit, where it is, what the session left uncommitted."""


async def bring_back(git: Git, before: TreeState, *, keep_history: bool, set_down: SetDown) -> Return | None:
    """None: the session is where it began. ``keep_history``: only the session can have rewritten it."""
    if not before.commit:  # before the first commit there is nothing to leave or to rewrite
        return None
    branch, head = await git.branch(), await git.commit_of("HEAD")
    is_grown = bool(head) and await git.is_ancestor(before.commit, head)
    if branch == before.branch:
        return None if is_grown or not keep_history else await _restore_history(git, before, head)
    here = f"the branch {branch}" if branch else "a detached HEAD"
    if is_grown and await _leads_on(git, before, head):
        return await _follow(git, before, here)
    return await _return(git, before, here, head if not branch else "", set_down)


async def _leads_on(git: Git, before: TreeState, head: str) -> bool:
    """Nothing was committed on the old branch that is not here too."""
    own = await git.commit_of(f"refs/heads/{before.branch}") if before.branch else ""
    return not own or await git.is_ancestor(own, head)


async def _follow(git: Git, before: TreeState, here: str) -> Return:
    """The session made a branch of its own from here: ours goes along."""
    home = _name(before)
    ran = await git.run("checkout", "--quiet", *(("-B", before.branch) if before.branch else ("--detach",)))
    if not ran.ok:
        return _failed(home, here, ran.why)
    told = f"The session left {home} for {here}. Its work was taken over to {home}, which is checked out again: stay on it."
    return Return(told, is_harmless=True)


async def _return(git: Git, before: TreeState, here: str, loose: str, set_down: SetDown) -> Return:
    """The session went elsewhere. ``loose``: commits there that no branch leads to."""
    home = _name(before)
    own = await git.commit_of(f"refs/heads/{before.branch}") if before.branch else ""
    kept = await _keep(git, loose)
    if not before.branch:
        target: tuple[str, ...] = ("--detach", before.commit)
    elif own and await git.is_ancestor(before.commit, own):
        target = (before.branch,)
    else:
        kept += await _keep(git, own)
        target = ("-B", before.branch, before.commit)
    ran = await git.run("checkout", "--quiet", *target, "--")
    if not ran.ok:  # uncommitted changes are in the way
        await set_down()
        ran = await git.run("checkout", "--quiet", *target, "--")
    if not ran.ok:
        return _failed(home, here, ran.why)
    return Return(
        f"The session left {home} for {here}: {home} is checked out again. What was committed elsewhere stays there"
        f"{kept} and does not count. Stay on {home}."
    )


async def _restore_history(git: Git, before: TreeState, head: str) -> Return | None:
    """The files stay as the session left them; the commits that it dropped are below them again."""
    home = _name(before)
    kept = await _keep(git, head)
    tree = (await git.run("rev-parse", "--verify", "--quiet", "HEAD^{tree}")).text
    there = (await git.run("rev-parse", "--verify", "--quiet", f"{before.commit}^{{tree}}")).text
    commit = before.commit
    if tree and tree != there:
        message = "ralph: what a session made of it, on top of the history that it rewrote"
        for identity in ((), NOBODY):
            made = await git.run(*identity, "commit-tree", tree, "-p", before.commit, "-m", message)
            if made.ok:
                break
        else:
            return _failed(home, "another history", made.err)
        commit = made.text
    ran = await git.run("update-ref", "HEAD", commit)
    if not ran.ok:
        return _failed(home, "another history", ran.err)
    return Return(
        f"The session rewrote the history of {home}: the commits that were there are back, with its files on top"
        f"{kept}. Add commits; never amend, reset or rebase what was there before."
    )


async def _keep(git: Git, commit: str) -> str:
    if not commit:
        return ""
    name = f"{KEPT}{commit[:12]}"
    return f" (kept as {name})" if (await git.run("update-ref", name, commit)).ok else ""


def _name(before: TreeState) -> str:
    return f"the branch {before.branch}" if before.branch else "the detached HEAD"


def _failed(home: str, here: str, said: str) -> Return:
    return Return(
        failed=f"a session left {home} for {here}, and git cannot go back ({said}): check it out yourself, then run "
        "`ralph resume`"
    )

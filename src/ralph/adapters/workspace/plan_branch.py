"""Brings back a session that left the branch of its plan or rewrote its history, without losing a commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.adapters.git import Git
from ralph.engine.plans.ports import Return, TreeState

KEPT = "refs/ralph/kept/"
"""Commits that no branch leads to any more."""
NOBODY = ("-c", "user.name=Ralph Loop", "-c", "user.email=ralph@localhost")

SetDown = Callable[[], Awaitable[str]]
"""Commit, where it is, what the session left uncommitted."""


async def come_back(git: Git, before: TreeState, *, keep_history: bool, set_down: SetDown) -> Return | None:
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
        return _failed(home, here, ran.err or ran.text)
    told = (
        f"The session left {home} for {here}. Its work was taken over to {home}, which is checked out again: "
        "stay on it."
    )
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
        return _failed(home, here, ran.err or ran.text)
    told = (
        f"The session left {home} for {here}: {home} is checked out again. What was committed elsewhere stays there"
        f"{kept} and does not count. Stay on {home}."
    )
    return Return(told)


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
    told = (
        f"The session rewrote the history of {home}: the commits that were there are back, with its files on top"
        f"{kept}. Add commits; never amend, reset or rebase what was there before."
    )
    return Return(told)


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

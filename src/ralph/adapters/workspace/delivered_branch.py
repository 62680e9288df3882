"""The branch that is delivered: its commits here, and its place on the remote. Implements the ``Branch`` port."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.adapters.git import IDENTITY, Git, Ran
from ralph.adapters.git_remotes import require_reached, said_of
from ralph.adapters.workspace.outpost import Outpost
from ralph.domain.text.safe_text import clean_line
from ralph.engine.delivery.ports import PushRefused
from ralph.errors import GitFailed

MOST_SUBJECTS = 200
BASES = "refs/ralph/bases/"
"""Where the bases of pull requests are kept, as they were fetched last."""
_LEASE = (
    "stale info",
    "fetch first",
    "non-fast-forward",
    "cannot lock ref",
    "already exists",
    "failed to update ref",
)


class DeliveredBranch:
    """``git``: of the working tree that has the branch checked out. ``address``: where it is pushed to; it was read once, so
    that nothing that happens to the configuration meanwhile leads elsewhere. ``outpost``: talks to the remote."""

    def __init__(self, git: Git, name: str, *, address: str, outpost: Outpost) -> None:
        self._git = git
        self._outpost = outpost
        self._name = name
        self._address = address

    @property
    def name(self) -> str:
        return self._name

    async def tip(self) -> str:
        commit = await self._git.commit_of(f"refs/heads/{self._name}")
        if not commit:
            message = f"there is no branch {self._name} here any more"
            raise GitFailed(
                message, hint="`git reflog` shows what it was; make it again, then `ralph resume`"
            )
        return commit

    async def is_checked_out(self) -> bool:
        return await self._git.branch() == self._name

    async def commit_left(self, message: str) -> str:
        await self._return()
        if await self._git.commit_of("MERGE_HEAD"):
            await self._git.add_all()
            await self._git.must("commit", "--quiet", "--no-verify", "--no-edit", hint=IDENTITY)
        else:
            await self._git.commit_all(message)
        return await self.tip()

    async def _return(self) -> None:
        """A session may have made a branch of its own: what it has on top of this one belongs to this one."""
        current = await self._git.branch()
        if current == self._name:
            return
        own, head = f"refs/heads/{self._name}", await self._git.commit_of("HEAD")
        if not await self._git.is_ancestor(own, head):
            where = current or "a detached HEAD"
            message = f"{where} is checked out instead of {self._name}, and lacks commits of it"
            raise GitFailed(message, hint=f"bring the work back to {self._name}, then `ralph resume`")
        await self._git.must("update-ref", own, head, await self.tip())
        await self._git.must("symbolic-ref", "HEAD", own)  # the files and the index stay as they are

    async def changed_files(self, since: str, commit: str) -> Sequence[str]:
        return (await self._git.must("diff", "--name-only", "--no-renames", "-z", since, commit, "--")).names

    async def brought_files(self, since: str, base: str) -> Sequence[str]:
        ran = await self._git.must("diff", "--name-only", "--no-renames", "-z", f"{since}...{base}", "--")
        return ran.names

    async def return_home(self) -> str:
        current = await self._git.branch()
        if current == self._name or await self._git.changed():
            return ""
        await self._git.switch(self._name)
        return current or "a detached HEAD"

    async def uncommitted(self) -> Sequence[str]:
        return await self._git.changed()

    async def edited(self) -> Sequence[str]:
        ran = await self._git.must(
            "diff", "--name-only", "--no-renames", "-z", "HEAD", "--", *self._git.not_own
        )
        return ran.names

    async def remote_tip(self) -> str:
        ran = await self._outpost.reach(
            "ls-remote", "--heads", "--", self._address, f"refs/heads/{self._name}"
        )
        _require_ok("ls-remote", ran)
        return next((line.split("\t")[0] for line in ran.out.splitlines() if "\t" in line), "")

    async def push(self, commit: str, *, expected: str) -> PushRefused | None:
        ref = f"refs/heads/{self._name}"
        arguments = (
            "push", "--quiet", "--porcelain", "--no-verify", "--recurse-submodules=no", f"--force-with-lease={ref}:{expected}",
            "--", self._address, f"{commit}:{ref}",
        )  # fmt: skip
        ran = await self._outpost.reach(*arguments)
        if ran.ok:
            return None
        require_reached(ran)
        return PushRefused(said_of(ran), is_theirs=any(word in _summary(ran) for word in _LEASE))

    async def contains(self, commit: str) -> bool:
        return await self._git.is_ancestor(commit, f"refs/heads/{self._name}")

    async def precedes(self, commit: str, later: str) -> bool:
        return commit == later or await self._git.is_ancestor(commit, later)

    async def is_new_to(self, commit: str) -> bool:
        return not await self._git.is_ancestor(f"refs/heads/{self._name}", commit)

    async def fetch(self, base: str) -> str:
        """Into no branch of the user's: only its commits are needed."""
        kept = f"{BASES}{base}"
        ran = await self._outpost.bring(self._address, f"refs/heads/{base}", kept)
        if "couldn't find remote ref" in ran.err:
            message = f"the remote has no branch {base}"
            raise GitFailed(message, hint="name the base with --base, or in pullRequest.base")
        _require_ok("fetch", ran)
        return await self._git.commit_of(kept)

    async def is_merging(self) -> bool:
        return bool(await self._git.commit_of("MERGE_HEAD"))

    async def merge(self, commit: str, *, message: str) -> Sequence[str]:
        if await self.is_merging():
            return await self._git.conflicts() or await self._git.changed() or ("a merge that is under way",)
        if (current := await self._git.branch()) != self._name:
            where = current or "a detached HEAD"
            reason = f"{where} is checked out instead of {self._name}"
            raise GitFailed(reason, hint=f"`git checkout {self._name}`, then `ralph resume`")
        ran = await self._git.run("merge", "--no-ff", "--no-verify", "-m", message, commit)
        if ran.ok:
            return ()
        if conflicts := await self._git.conflicts():
            return conflicts
        message = f"git cannot merge {commit[:12]} into {self._name}: {ran.why}"
        raise GitFailed(
            message, hint=IDENTITY if "tell me who you are" in ran.why.lower() else "merge it by hand"
        )

    async def abort_merge(self) -> None:
        await self._git.must("merge", "--abort")

    async def subjects(self, since: str) -> Sequence[str]:
        arguments = ("log", "--no-merges", "--reverse", "--format=%s", f"--max-count={MOST_SUBJECTS}")
        ran = await self._git.must(*arguments, f"{since}..refs/heads/{self._name}", "--")
        return [clean_line(line) for line in ran.out.splitlines() if line.strip()]


def _require_ok(what: str, ran: Ran) -> None:
    if ran.ok:
        return
    require_reached(ran)
    message = f"git {what} cannot use the remote: {said_of(ran)}"
    raise GitFailed(message, hint="try `git fetch` by hand: are you logged in there?")


def _summary(ran: Ran) -> str:
    """Why git did not move the ref: what it says in brackets, without names, and nothing that a hook there printed."""
    lines = (line for line in ran.out.lower().splitlines() if line.startswith("!"))
    return "\n".join(line.rpartition("\t")[2] for line in lines)


async def remote_address(git: Git, remote: str) -> str:
    """Where git would push; empty: there is no such remote."""
    ran = await git.run("remote", "get-url", "--push", "--", remote)
    return ran.text if ran.ok else ""

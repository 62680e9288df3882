"""Our own git: asks nothing, runs nobody's hooks, and says clearly what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph.domain.loop.session_report import Ending
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.engine.ports import Command, ProcessRunner, Timeouts
from ralph.errors import GitFailed

SECONDS = 300.0
KEPT = 20_000_000
MOST_NEW = 200
"""New files whose content is shown."""
# What a repository's own configuration names must not be started by us: an agent may have written it.
QUIET = (
    "git",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "commit.gpgSign=false",
    "-c", "diff.external=",
    "-c", "submodule.recurse=false",
)  # fmt: skip
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what it was when it was made
    "LC_ALL": "C",
}
OWN = (".ralph", ".ralph-active")
NOT_OWN = (".", *(f":(exclude){name}" for name in OWN))
"""What ralph itself writes is never part of the work."""


def not_above(root: Path) -> dict[str, str]:
    """Variables with which git looks for a repository in ``root`` and below, but not above it."""
    return {"GIT_CEILING_DIRECTORIES": str(root.absolute().parent)}


@dataclass(frozen=True, slots=True)
class Ran:
    """How one git command ended; ``out`` as git printed it."""

    code: int | None
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def text(self) -> str:
        return self.out.strip()


class Git:
    """Git commands in one working tree.

    ``is_top``: ``root`` has a ``.git`` of its own. A worktree that lost it is none: git must not find the user's above it.
    """

    def __init__(self, root: Path, runner: ProcessRunner, *, is_top: bool = False) -> None:
        self.root = root
        self._runner = runner
        self._environment = {**ENVIRONMENT, **(not_above(root) if is_top else {})}

    def at(self, root: Path) -> Git:
        """In another worktree."""
        return Git(root, self._runner, is_top=True)

    async def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Ran:
        out, err = Excerpt(KEPT, Keep.HEAD), Excerpt(4_000, Keep.TAIL)
        exit_ = await self._runner.run(
            Command(
                (*QUIET, *arguments), self.root, environment={**self._environment, **(environment or {})}
            ),
            timeouts=Timeouts(total=SECONDS),
            on_output=lambda chunk: out.add(chunk.decode(errors="surrogateescape")),
            on_stderr=lambda chunk: err.add(chunk.decode(errors="replace")),
        )
        code = exit_.code if exit_.ending is Ending.EXITED else None
        return Ran(code, out.text(), exit_.error or err.text().strip())

    async def must(self, *arguments: str, hint: str = "") -> Ran:
        """Raises GitFailed unless it succeeds."""
        ran = await self.run(*arguments)
        if not ran.ok:
            said = ran.err or ran.text or f"exit code {ran.code}"
            message = f"git {' '.join(arguments[:3])} failed in {self.root}: {said}"
            raise GitFailed(message, hint=hint)
        return ran

    async def commit_of(self, name: str) -> str:
        """The commit that a name means; empty if it means none."""
        ran = await self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        return ran.text if ran.ok else ""

    async def branch(self) -> str:
        """The branch that is checked out; empty if none is."""
        ran = await self.run("symbolic-ref", "--quiet", "--short", "HEAD")
        return ran.text if ran.ok else ""

    async def is_clean(self) -> bool:
        return not await self.changed()

    async def changed(self) -> tuple[str, ...]:
        """Files that differ from the last commit, new ones included, without ralph's own."""
        ran = await self.must(
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
            "--",
            *NOT_OWN,
        )
        entries = [entry for entry in ran.out.split("\0") if entry]
        names: list[str] = []
        skip = False
        for entry in entries:
            if skip:  # where a renamed file came from
                skip = False
                continue
            names.append(entry[3:])
            skip = entry[0] in "RC"
        return tuple(names)

    async def conflicts(self) -> tuple[str, ...]:
        ran = await self.must("diff", "--name-only", "--diff-filter=U", "-z")
        return tuple(filter(None, ran.out.split("\0")))

    async def commit_all(self, message: str) -> str:
        """Everything that is there, in one commit; empty if there was nothing to commit."""
        if await self.is_clean():
            return ""
        await self.must("add", "--all", "--", *NOT_OWN)
        if (await self.run("diff", "--cached", "--quiet")).ok:
            return ""
        await self.must(
            "commit",
            "--quiet",
            "--no-verify",
            "-m",
            message,
            hint='set user.name and user.email with "git config"',
        )
        return await self.commit_of("HEAD")

    async def tracked_diff(self, base: str) -> str:
        """What was changed since ``base`` in files that git knows."""
        ran = await self.run(
            "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", base, "--", *NOT_OWN
        )
        return ran.out

    async def unlock(self) -> None:
        """Remove the lock of a git that was killed here. Only where nobody else works."""
        ran = await self.run("rev-parse", "--git-path", "index.lock")
        if ran.ok:
            (self.root / ran.text).unlink(missing_ok=True)

    async def diff_since(self, base: str) -> str:
        """All that was changed since ``base``: commits, edits, and new files."""
        pieces = [await self.tracked_diff(base)]
        listed = await self.run("ls-files", "--others", "--exclude-standard", "-z", "--", *NOT_OWN)
        for name in filter(None, listed.out.split("\0")[:MOST_NEW]):
            new = await self.run(
                *(
                    "diff",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--no-color",
                    "--no-index",
                    "--",
                    "/dev/null",
                    name,
                )
            )
            pieces.append(new.out)
        return "".join(pieces)

    async def is_ancestor(self, commit: str, of: str) -> bool:
        return (await self.run("merge-base", "--is-ancestor", commit, of)).ok

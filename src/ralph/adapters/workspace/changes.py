"""What an iteration or a whole run changed, as git knows it afterwards; a repository that cannot tell is not an error."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ralph.adapters.git import Git, Ran
from ralph.domain.sandbox import own_git
from ralph.domain.text.masking import mask_text
from ralph.domain.views.changes import Changes, CommitLine, FileChange, combine_changes
from ralph.domain.views.iterations import IterationView
from ralph.engine.ports import ProcessRunner
from ralph.patterns import pattern
from ralph.values import replace

SECONDS = 30.0
MOST_PATCH = 300_000
MOST_LISTED = 2_000_000
MOST_COMMITS = 200
# What `ralph report` wrote. Its own endings only: nothing else may hide from a report behind such a name.
REPORTS = tuple(f"ralph-report-*.{ending}" for ending in ("html", "md", "json"))
NOT_OWN = (*own_git.NOT_OWN, *(f":(exclude,glob)**/{name}" for name in REPORTS))
DIFF = ("diff", "--find-renames", "--ignore-submodules=all")
UNRECORDED = "what it changed without a commit is not recorded by itself: the newest iteration shows all that is uncommitted"
SINCE_COMMIT = (
    "nothing was committed in this iteration: this is everything since the last commit, also what earlier iterations "
    "changed and what was there before the run"
)
READ_ONLY = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
_COMMIT = pattern(r"[0-9a-f]{7,64}")
_COMMITTED = pattern(r"committed ([0-9a-f]{7,64})\b")


class GitChanges:
    """Reads the repository of a run. Each iteration says which commit was checked; what it changed follows.

    Whoever only looks has not trusted the repository: no filter of its configuration runs, nothing is fetched from
    where it says, and no folder is taken for a repository that merely looks like one.
    ``has_tree`` false: it has the run's commits, but its files are not the run's.
    """

    def __init__(self, root: Path, runner: ProcessRunner, *, has_tree: bool = True) -> None:
        self._git = Git(root, runner, seconds=SECONDS, environment={**READ_ONLY, **without_filters(())})
        self._has_tree = has_tree
        self._without_filters: dict[str, str] | None = None

    async def of_iteration(self, iterations: Sequence[IterationView], index: int, *, newest: bool) -> Changes:
        """``newest``: nothing was run here since, so what is not committed may be this iteration's work.

        Only commits are kept of each iteration: of what is not committed nobody knows which of them changed it.
        """
        known = [index] if _is_commit(iterations[index].commit) else []
        notes = (
            "the commit that this iteration ended with is unknown",
            f"nothing was committed in this iteration; {UNRECORDED}",
        )
        found = await self._of(iterations, known, notes, newest=newest and index == len(iterations) - 1)
        return replace(found, note=SINCE_COMMIT) if found.uncommitted else found

    async def of_run(self, iterations: Sequence[IterationView], *, newest: bool) -> Changes:
        known = [number for number, each in enumerate(iterations) if _is_commit(each.commit)]
        notes = "no commit was recorded, so what it changed is unknown", "nothing was committed in this run"
        return await self._of(iterations, known, notes, newest=newest)

    async def _of(
        self, iterations: Sequence[IterationView], known: list[int], notes: tuple[str, str], *, newest: bool
    ) -> Changes:
        """``known``: iterations whose commit is known. ``notes``: what to say if there is none, or nothing new."""
        committed: Changes | None = None
        if known:
            begin, end = await self._begin(iterations, known[0]), await self._end(iterations, known[-1])
            committed = await self._between(begin, end) if begin != end else None
        if not (newest and self._has_tree):
            return committed or Changes(note=notes[bool(known)])
        # Work may be accepted without being committed, also where there were commits before it.
        uncommitted = await self._uncommitted()
        if committed is None:
            return uncommitted
        return combine_changes([committed, uncommitted]) if uncommitted.files else committed

    # --- which commits ---

    async def _begin(self, iterations: Sequence[IterationView], index: int) -> str:
        """Where the iteration before it ended; the first began with the last commit before its time."""
        for earlier in range(index - 1, -1, -1):
            if _is_commit(iterations[earlier].commit):
                return await self._end(iterations, earlier)
        chosen = iterations[index]
        if _is_commit(chosen.began_with):
            return chosen.began_with
        before = f"--before=@{int(chosen.started_at)} +0000"
        found = (await self._text("rev-list", "-1", before, chosen.commit)).strip()
        return found if _is_commit(found) else await self._empty_tree()

    async def _end(self, iterations: Sequence[IterationView], index: int) -> str:
        """The commit that was checked, or the one that ralph made of it then."""
        chosen = iterations[index]
        messages = [action.message for action in chosen.actions if action.ok]
        made = [message for message in messages if message.startswith("committed")]
        if not made:
            return chosen.commit
        if named := _COMMITTED.match(made[-1]):
            whole = await self._text("rev-parse", "--verify", "--quiet", f"{named[1]}^{{commit}}")
            return whole.strip() or chosen.commit
        later = (each.commit for each in iterations[index + 1 :] if _is_commit(each.commit))
        tip = next(later, "HEAD")
        after = await self._text("rev-list", "--first-parent", "--reverse", f"{chosen.commit}..{tip}")
        first = after.split("\n", 1)[0].strip()
        return first if _is_commit(first) else chosen.commit

    async def _empty_tree(self) -> str:
        return (await self._text("hash-object", "-t", "tree", "/dev/null")).strip()

    # --- what is between them ---

    async def _between(self, begin: str, end: str) -> Changes:
        files = await self._files(begin, end)
        if files is None:
            return Changes(note="the commits are no longer in the repository")
        listed = await self._text("log", f"-{MOST_COMMITS}", "--format=%h%x00%s", f"{begin}..{end}")
        lines = [line.split("\0", 1) for line in reversed(listed.splitlines())]
        commits = tuple(CommitLine(*line) for line in lines if len(line) == 2)
        patch, is_cut = await self._patch(begin, end)
        return Changes(files=files, commits=commits, patch=patch, is_cut=is_cut)

    async def _uncommitted(self) -> Changes:
        files = await self._files("HEAD")
        if files is None:
            return Changes(note="there is no git repository, so changes cannot be shown")
        new = await self._text("ls-files", "--others", "--exclude-standard", "-z", "--", *NOT_OWN)
        files = (*files, *(FileChange(path, None, None) for path in new.split("\0") if path))
        if not files:
            return Changes(note="nothing was changed")
        patch, is_cut = await self._patch("HEAD")
        return Changes(files=files, patch=patch, is_cut=is_cut, uncommitted=True)

    async def _files(self, *commits: str) -> tuple[FileChange, ...] | None:
        ran = await self._run(*DIFF, "--numstat", "-z", "--no-renames", *commits, "--", *NOT_OWN)
        if not (ran.ok or ran.is_cut):
            return None
        return tuple(_file(entry) for entry in _shown(ran).split("\0") if entry.count("\t") >= 2)

    async def _patch(self, *commits: str) -> tuple[str, bool]:
        ran = await self._run(*DIFF, *commits, "--", *NOT_OWN, most=MOST_PATCH)
        return _shown(ran), ran.is_cut

    async def _text(self, *arguments: str) -> str:
        ran = await self._run(*arguments)
        return _shown(ran) if ran.ok or ran.is_cut else ""

    async def _run(self, *arguments: str, most: int = MOST_LISTED) -> Ran:
        if not self._git.root.is_dir():
            return Ran(None, b"", "")
        if self._without_filters is None:
            named = await self._git.run("config", "--name-only", "-z", "--get-regexp", r"^filter\.")
            if named.code not in (0, 1):
                return Ran(None, b"", named.err)
            self._without_filters = without_filters(named.names)
        return await self._git.run(*arguments, most=most, environment=self._without_filters)


def without_filters(names: Sequence[str]) -> dict[str, str]:
    """Variables for git that switch off the filters of these settings (``filter.<name>.clean``, …)."""
    filters = sorted({name.rpartition(".")[0] for name in names})
    off = {"safe.bareRepository": "explicit"}
    for name in filters:
        off |= {f"{name}.{key}": "" for key in ("clean", "smudge", "process")} | {f"{name}.required": "false"}
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isascii() and given.isdigit() and len(given) < 5 else 0
    variables = {"GIT_CONFIG_COUNT": str(first + len(off))}
    for number, (key, value) in enumerate(off.items(), first):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _shown(ran: Ran) -> str:
    """A page, a report: whoever looks at them need not know a secret that somebody committed."""
    return mask_text(ran.output.decode(errors="replace"))


def _is_commit(text: str) -> bool:
    """What the record says is given to git as an argument: nothing but a hash may be."""
    return _COMMIT.fullmatch(text) is not None


def _file(entry: str) -> FileChange:
    *counts, path = entry.split("\t", 2)
    added, removed = (int(count) if count.isdigit() else None for count in counts)
    return FileChange(path, added, removed)

"""The commit that is reviewed, in a git directory of its own: the user's repository is read, and never written to.

Nothing is asked of git where a session could have configured it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from io import TextIOWrapper
from pathlib import Path

from ralph.adapters import beneath, trees
from ralph.adapters.files import PRIVATE_FILE, make_private_folder, real_path, write_private
from ralph.adapters.git import Git
from ralph.adapters.workspace.left_checkouts import (
    held,
    make_aside,
    name_aside,
    remove_aside,
    remove_left_checkouts,
    remove_tree,
)
from ralph.adapters.workspace.outpost import take_objects
from ralph.adapters.workspace.proof_store import AS_THEY_ARE, NO_CONFIGURATION
from ralph.adapters.workspace.sealed_files import remove
from ralph.adapters.workspace.withheld import MOST_LIST, withheld
from ralph.domain.review.question import DIFF_CHARS, Change
from ralph.domain.text.excerpt import Excerpt, Keep
from ralph.engine.ports import ProcessRunner
from ralph.errors import GitFailed

PLACE = "proof"
"""Of a run's folder: whoever clears up after killed runs looks there."""
DIFF = "review.diff"
INDEX = "review.index"
MOST_COMMITS = 100
MOST_FILE = 20_000_000
_FILES = ("100644", "100755")
_WORDS = "- %h %s (%an)%n%w(0,2,2)%b"
_SETTINGS = "[core]\n\tprotectNTFS = false\n\tprotectHFS = false\n[gc]\n\tauto = 0\n"


class ReviewStore:
    """``user``: git in the user's repository. ``folder``: of the run."""

    def __init__(self, user: Git, folder: Path, runner: ProcessRunner) -> None:
        self._user = user
        self._folder = real_path(folder) / PLACE
        self._directory = self._folder / "git"
        self._runner = runner
        self.place = name_aside()  # where the checkout is, while there is one
        self.git = self._private(self._folder)

    async def open(self) -> None:
        """Raises GitFailed. What an earlier process of the run brought here is kept."""
        make_private_folder(self._folder)
        await asyncio.to_thread(remove_left_checkouts, self._folder.parent.parent)
        await self._init("--bare", self._directory)
        write_private(self._directory / "info" / "attributes", AS_THEY_ARE.encode())
        await take_objects(self._user, self._directory)

    def discard(self) -> None:
        """All of it: nobody needs it any more."""
        remove_aside(self._folder)
        remove_tree(self._folder)

    async def change(self, *, what: str, words: str, commit: str, base: str, base_name: str) -> Change | None:
        """What there is to review; None: nothing. ``words``: what its authors say besides their commits."""
        remove(self._folder / DIFF)
        with beneath.open_new(self._folder / DIFF, self._folder, mode=PRIVATE_FILE) as file:

            def take(chunk: bytes) -> None:
                file.write(chunk)

            await self.git.must("diff", "--find-renames", "--no-color", base, commit, "--", into=take)
            if not file.tell():
                return None
        log = ("log", f"--max-count={MOST_COMMITS}", f"--format={_WORDS}", f"{base}..{commit}", "--")
        commits = (await self.git.must(*log)).out
        files = (await self.git.must("diff", "--numstat", "--find-renames", base, commit, "--")).out
        diff = await asyncio.to_thread(self._excerpt)
        return Change(
            what=what,
            commit=commit,
            base=base,
            base_name=base_name,
            words="\n".join(filter(None, (words, commits))),
            files=_text(files),
            diff=_text(diff.text()),
            diff_file=f".git/{DIFF}",
            is_cut=diff.truncated,
            withheld=tuple(map(_text, await withheld(self.git, commit, base))),
        )

    def at(self, commit: str, base: str) -> CommitInStore:
        return CommitInStore(self, commit, base)

    def _excerpt(self) -> Excerpt:
        diff = Excerpt(DIFF_CHARS, Keep.BOTH)
        with (
            beneath.open_plain(self._folder / DIFF, self._folder) as raw,
            TextIOWrapper(raw, "utf-8", errors="replace", newline="") as file,
        ):
            while piece := file.read(1_000_000):
                diff.add(piece)
        return diff

    async def files(self, commit: str) -> frozenset[str]:
        """The plain files of a commit."""
        listed = (await self.git.must("ls-tree", "-r", "-z", "--full-tree", commit, most=MOST_LIST)).names
        entries = (entry.partition("\t") for entry in listed)
        return frozenset(path for about, _, path in entries if about.startswith(_FILES))

    @asynccontextmanager
    async def checkout(self, commit: str, base: str) -> AsyncIterator[Checkout]:
        place = self.place
        with held(self._folder / "lock"):
            try:
                try:
                    await self._check_out(place, commit, base)
                except OSError as error:
                    message = f"cannot make a checkout to review in {place}: {error.strerror or error}"
                    raise GitFailed(message, hint="see whether the disk is full") from error
                yield Checkout(place, commit, self._private(place))
            finally:
                await asyncio.to_thread(remove_aside, self._folder)

    async def _check_out(self, place: Path, commit: str, base: str) -> None:
        """The files of the commit, but for what agents obey: that is as in the base."""
        make_aside(place, self._folder)
        await self._init(place)
        own = place / ".git"
        await take_objects(self.git, own)
        write_private(own / "HEAD", f"{commit}\n".encode())
        git = self._private(place)
        beneath.remove(self._folder / f"{INDEX}.lock", self._folder)
        await git.must("read-tree", commit)
        if obeyed := await withheld(self.git, commit, base):
            await self._take_back(git, obeyed, base)
        await git.must("checkout-index", "--all", "--force", "--quiet", "--index")
        for name, copy in ((INDEX, "index"), (DIFF, DIFF)):
            trees.copy(self._folder / name, own / copy, self._folder, place)

    async def _take_back(self, git: Git, paths: Sequence[str], base: str) -> None:
        """Into the index as they are in the base. First out of it: what was a file may have become a folder."""
        await git.must("update-index", "-z", "--force-remove", "--stdin", stdin=self._list(paths))
        listed = (await git.must("ls-tree", "-r", "-z", "--full-tree", base, most=MOST_LIST)).names
        wanted = frozenset(paths)
        entries = (entry for entry in listed if entry.partition("\t")[2] in wanted)
        await git.must("update-index", "-z", "--index-info", stdin=self._list(entries))

    def _list(self, names: Iterable[str]) -> Path:
        file = self._folder / "paths"
        write_private(file, b"".join(name.encode(errors="surrogateescape") + b"\0" for name in names))
        return file

    async def _init(self, *where: str | Path) -> None:
        kind = (await self._user.must("rev-parse", "--show-object-format")).text
        git = Git(self._folder, self._runner, environment=NO_CONFIGURATION)
        options = ("--quiet", "--template=", f"--object-format={kind}")
        await git.must("init", *options, *map(str, where))
        directory = Path(where[-1]) if "--bare" in where else Path(where[-1]) / ".git"
        make_private_folder(directory / "info")
        config = beneath.read_whole(directory / "config", MOST_FILE, directory) or b""
        write_private(directory / "config", config + _SETTINGS.encode())

    def _private(self, work_tree: Path) -> Git:
        environment = {
            "GIT_DIR": str(self._directory),
            "GIT_WORK_TREE": str(work_tree),
            "GIT_INDEX_FILE": str(self._folder / INDEX),
            **NO_CONFIGURATION,
        }
        hint = f"its git directory is {self._directory}; a new review makes a new one"
        return Git(work_tree, self._runner, environment=environment, hint=hint)


class Checkout:
    """In use. ``git``: of our own directory, with this work tree."""

    def __init__(self, top: Path, commit: str, git: Git) -> None:
        self.top = top
        self._commit = commit
        self._git = git

    async def changes(self) -> Sequence[str]:
        await self._git.run("update-index", "-q", "--refresh")
        changed = await self._git.run("diff-files", "--name-only", "-z", "--ignore-submodules")
        new = await self._git.run("ls-files", "--others", "--exclude-standard", "-z")
        return [*sorted({*changed.names, *new.names}), *await asyncio.to_thread(self._moved)]

    def _moved(self) -> list[str]:
        """What it did to its repository, by the plain files: nothing there is asked of git any more."""
        own, found = self.top / ".git", []
        with suppress(OSError):
            if beneath.read_whole(own / "HEAD", 1_000, own) != f"{self._commit}\n".encode():
                found.append("HEAD of its checkout")
            refs = [
                name for kind in ("heads", "tags") for name in beneath.list_names(own / "refs" / kind, own)
            ]
            if refs or beneath.status(own / "packed-refs", own) is not None:
                found.append("branches or tags of its checkout")
        return found


class CommitInStore:
    """One commit, for its reviewers."""

    def __init__(self, store: ReviewStore, commit: str, base: str) -> None:
        self._store = store
        self._commit = commit
        self._base = base
        self._files: frozenset[str] | None = None

    @asynccontextmanager
    async def checkout(self) -> AsyncIterator[Checkout]:
        async with self._store.checkout(self._commit, self._base) as checkout:
            yield checkout

    async def lines(self, path: str) -> Sequence[str] | None:
        if self._files is None:
            self._files = await self._store.files(self._commit)
        if path not in self._files:
            return None
        read = await self._store.git.run("cat-file", "blob", f"{self._commit}:{path}", most=MOST_FILE)
        text = read.output.decode(errors="replace")
        return text.removesuffix("\n").split("\n") if text else []


def _text(out: str) -> str:
    """Names of any encoding, as text that a prompt can hold."""
    return out.encode(errors="surrogateescape").decode(errors="replace")

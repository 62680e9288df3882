"""What a run began with and what it claims, kept in a git directory of its own that no agent can configure.

The user's repository is never written to. What hides a change from its git (index flags, filters, excludes, replaced
objects) hides nothing here, and it works where there is no repository at all.
"""

from __future__ import annotations

import asyncio
import json
import os
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path

from ralph.adapters import beneath
from ralph.adapters.files import make_private_folder, read_whole, real_path, write_atomic, write_private
from ralph.adapters.git import Git
from ralph.adapters.workspace.ignored_files import (
    bring,
    is_as_begun,
    list_manifest,
    list_settings,
    project_around,
)
from ralph.adapters.workspace.left_checkouts import held, remove_left_checkouts, remove_tree
from ralph.adapters.workspace.object_ids import begin_id, id_of_file, object_id
from ralph.adapters.workspace.sealed_files import (
    lost,
    read_sealed,
    remove,
    remove_damaged_objects,
    seal_notes,
    seal_of_index,
    write_sealed,
)
from ralph.adapters.workspace.work_files import WorkFiles, list_work
from ralph.domain.proof.protection import decides_the_same
from ralph.domain.proof.tree import LINK, Entry, Tree
from ralph.engine.ports import ProcessRunner
from ralph.engine.proof.ports import Checkout
from ralph.errors import GitFailed

SECONDS = 600.0
MOST_READ = 500_000_000
"""Bytes of a list, and of a file that is compared with another; all else may have any size."""
BASE = "base.index"
MANIFEST = "ignored"
CLOSED = "closed"
NO_CONFIGURATION = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
AS_THEY_ARE = "* -text -ident -filter -working-tree-encoding -export-subst\n"
"""Attributes that overrule those of the project: content is kept byte by byte."""
AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "ralph"), ("EMAIL", "ralph@localhost"))
}


class GitProofStore:
    """Paths are relative to ``top``: the top of the user's repository, or the workspace where there is none.

    ``prefix`` is where the workspace lies in it: empty, or a path that ends with ``/``. ``is_begun``: the run was here
    before, so what it began with must be there.
    """

    def __init__(
        self,
        folder: Path,
        workspace: Path,
        runner: ProcessRunner,
        *,
        top: Path | None,
        is_begun: bool = False,
    ) -> None:
        self.top = real_path(top or workspace)
        inside = real_path(workspace).relative_to(self.top).as_posix()
        self.prefix = "" if inside == "." else f"{inside}/"
        self.base = Tree()
        self.nested: tuple[str, ...] = ()
        self._is_begun = is_begun
        self._has_repository = top is not None
        self._folder = folder.absolute()
        self._directory = self._folder / "git"
        self._runner = runner
        self._manifest: dict[str, str] = {}
        self._format: tuple[str, ...] = ()
        self._repository = Path()  # the user's git directory, if there is one
        self._indexed: set[str] | None = None  # paths in the index; None: not looked yet
        self._number = 0
        self._seal: bytes | None = None  # of the index, as the last snapshot left it
        self._turn = asyncio.Lock()  # judges that are asked at the same time share the index

    # --- trees ---

    async def open(self, *, base: str = "", amend: Callable[[Tree], Awaitable[Tree]] | None = None) -> None:
        """Remember what the run begins with, or what it began with if it is resumed. Raises GitFailed.

        ``base``: a commit of the user's repository that it began with; empty: what is there now. ``amend``: makes the
        base of a run that begins from what was found.
        """
        try:
            await self._open(base, amend)
        except OSError as error:
            raise self._unusable(error) from error

    async def _open(self, base: str, amend: Callable[[Tree], Awaitable[Tree]] | None) -> None:
        is_kept = self._is_begun or self.has_base
        if is_kept:
            self._require_base()  # before anything is made in its place
        if not self._is_begun:
            seal_notes(self._folder)
        make_private_folder(self._folder)
        remove(self._folder / CLOSED)
        await asyncio.to_thread(remove_left_checkouts, self._folder.parent.parent)
        await self._make()
        if is_kept:
            await self._take_up()
            return
        work = await self._work()
        self._manifest = await asyncio.to_thread(list_manifest, self.top, work.ignored)
        self._manifest |= await asyncio.to_thread(list_settings, self.top, real_path(self._folder))
        self.remember(MANIFEST, json.dumps(self._manifest))
        found = await (self.tree_of(base) if base else self._snapshot(work))
        await self.remember_base(found if amend is None else await amend(found))

    async def _take_up(self) -> None:
        """What the run began with. What can be made again of what is there is made again. Raises GitFailed."""
        self.base = await self._listed(self._folder / BASE)
        self._manifest = json.loads(self.recall(MANIFEST, must=True) or "")
        await asyncio.to_thread(remove_damaged_objects, self._directory / "objects")
        index = self._folder / "index"
        last = await self._listed(index) if seal_of_index(index) is not None else Tree()
        if not await self._lacking(self.base, last):
            return
        remove(index)
        await self._snapshot(await self._work(with_ignored=False))
        if await self._lacking(self.base):
            raise lost(self._directory, "incomplete")

    def _require_base(self) -> None:
        if seal_of_index(self._folder / BASE) is None:
            raise lost(self._folder / BASE)

    async def _lacking(self, *trees: Tree) -> bool:
        """Whether content of these trees is not there."""
        names = {entry.object_id for tree in trees for entry in tree.files.values()}
        file = self._folder / "objects"
        write_private(file, "".join(f"{name}\n" for name in names).encode())
        found = await self._private().must("cat-file", "--batch-check", stdin=file, most=MOST_READ)
        return any(line.endswith(" missing") for line in found.out.splitlines())

    async def close(self) -> None:
        """Note what the run leaves behind, for the next one."""
        with suppress(GitFailed):
            await self.snapshot()
            self.remember(CLOSED, "")

    @property
    def has_base(self) -> bool:
        """Whether what the run began with is there, damaged or not."""
        return (self._folder / BASE).exists()

    @property
    def is_closed(self) -> bool:
        """Whether the last snapshot is all that the run did."""
        return (self._folder / CLOSED).exists() and seal_of_index(self._folder / "index") is not None

    async def differing(self) -> tuple[Tree, frozenset[str]]:
        """The working tree as it is, and what of it is not as the last snapshot had it. Raises GitFailed."""
        index = self._folder / "index"
        last = await self._listed(index) if seal_of_index(index) is not None else Tree()
        now = await GitProofStore.snapshot(self)
        return now, now.differing(last)

    async def read_kept(self) -> Tree:
        """Of another run's store, which is only read: its base, and its last snapshot as the result."""
        self._require_base()
        self.base = await self._listed(self._folder / BASE)
        last = self._folder / "index"
        return await self._listed(last) if seal_of_index(last) is not None else self.base

    async def adopt(self, content: bytes, entry: Entry) -> None:
        """Keep content of another store, which may be removed. Raises GitFailed."""
        file = self._folder / "adopted"
        write_private(file, content)
        name = (await self._private().must("hash-object", "-w", "--stdin", stdin=file)).text
        file.unlink()
        if name != entry.object_id:
            raise _forged(entry.object_id)

    async def remember_base(self, base: Tree) -> None:
        """From now on, whatever is judged is compared with this; a resumed run knows it too."""
        unfinished = self._folder / f"{BASE}.new"
        await self._write_index(unfinished, base)
        unfinished.replace(self._folder / BASE)
        self.base = base

    async def snapshot(self) -> Tree:
        """The working tree as it is: whatever is tracked, changed or new, but not ignored. Raises GitFailed."""
        async with self._turn:
            try:
                return await self._snapshot(await self._work(with_ignored=False))
            except OSError as error:
                raise self._unusable(error) from error

    async def _snapshot(self, work: WorkFiles) -> Tree:
        self.nested = tuple(work.nested)
        index = self._folder / "index"
        # It only saves time: one that is damaged, or that somebody else wrote to, is made again.
        seal = seal_of_index(index)
        if seal is None or self._seal not in (None, seal):
            remove(index)
            self._indexed = set()
        git = self._private(index=index)
        if self._indexed is None:
            self._indexed = set((await git.must("ls-files", "-z")).names)
        gone = self._indexed - work.part
        listing = self._listing("names", work.part)
        # Of a git that was killed: nobody else works here.
        remove(self._folder / "index.lock")
        if gone:  # by force: git refuses to look for a file whose folder is a link now
            removed = self._listing("gone", gone)
            await git.must("update-index", "--force-remove", "-z", "--stdin", stdin=removed)
        await git.must("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=listing)
        self._seal = seal_of_index(index)
        tree = await self._listed(index)
        self._indexed = set(tree.files)
        # What was part of the work and is ignored now is still in the index.
        return Tree({path: entry for path, entry in tree.files.items() if path in work.part})

    async def head(self) -> str:
        """The commit that is checked out; empty if there is none yet."""
        ran = await self._user(self.top).run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return ran.text if ran.ok else ""

    async def tree_of(self, commit: str) -> Tree:
        """The files of a commit of the user's repository."""
        name = await self._user(self.top).must("rev-parse", "--verify", f"{commit}^{{commit}}")
        ran = await self._private().must("ls-tree", "-r", "-z", "--full-tree", name.text, most=MOST_READ)
        found = (entry.partition("\t") for entry in ran.names)
        entries = ((path, about.split(" ")) for about, _, path in found)
        return Tree({path: Entry(mode, name) for path, (mode, kind, name) in entries if kind == "blob"})

    async def as_committed(self, paths: Sequence[str]) -> Mapping[str, str]:
        """The object ids that the user's git would give to these files of the working tree, filters applied."""
        if not (names := [path for path in paths if "\n" not in path]):
            return {}
        listing = self._folder / "filtered"
        write_private(listing, b"".join(os.fsencode(name) + b"\n" for name in names))
        ran = await self._user(self.top).must("hash-object", "--stdin-paths", stdin=listing, most=MOST_READ)
        return dict(zip(names, ran.text.splitlines(), strict=True))

    async def content(self, entry: Entry) -> bytes:
        """Raises GitFailed if it is not what it was: an agent can write objects of any name."""
        found = (await self._private().must("cat-file", "blob", entry.object_id, most=MOST_READ)).output
        if object_id(found, entry.object_id) != entry.object_id:
            raise _forged(entry.object_id)
        return found

    async def sha256(self, entry: Entry) -> str:
        """Of its content, of any size. Raises GitFailed, as ``content`` does."""
        found = sha256()
        await self.write(entry, found.update)
        return found.hexdigest()

    async def write(self, entry: Entry, take: Callable[[bytes], object]) -> None:
        """Its content, of any size, piece by piece. Raises GitFailed, as ``content`` does."""
        git, name = self._private(), entry.object_id
        hashed = begin_id(int((await git.must("cat-file", "-s", name)).text), name)

        def take_in(chunk: bytes) -> None:
            hashed.update(chunk)
            take(chunk)

        await git.must("cat-file", "blob", name, into=take_in)
        if hashed.hexdigest() != name:
            raise _forged(name)

    async def write_patch(self, now: Tree, then: Tree, *, file: Path) -> None:
        """What `git apply` needs to make one of the other. Raises GitFailed."""
        try:
            trees = [await self._write_tree(tree) for tree in (now, then)]
            options = ("-p", "--binary", "--full-index", "--no-renames")
            ran = await self._private().must("diff-tree", *options, *trees, most=MOST_READ)
            write_atomic(file, ran.output)
        except OSError as error:
            raise self._unusable(error) from error

    async def _write_tree(self, tree: Tree) -> str:
        index = self._folder / "patch.index"
        await self._write_index(index, tree)
        return (await self._private(index=index).must("write-tree")).text

    async def find(self, pattern: str, *where: str) -> list[tuple[str, str]]:
        """What a pattern finds in the texts of the base, each with its path. Raises GitFailed."""
        return await self._private(index=self._folder / BASE).grep(pattern, *where, most=MOST_READ)

    async def list_above(self) -> list[str]:
        """Settings of test runners above the checkouts, and above the work, that the run did not begin with. Those that
        the user has committed since, or that came with other work that was merged, are the project's own."""
        folder = real_path(self._folder)
        now = await asyncio.to_thread(list_settings, self.top, folder)
        changed = [path for path, signature in now.items() if self._manifest.get(path) != signature]
        project = project_around(self.top, folder)
        return [path for path in changed if not await self._is_committed(path, project)]

    async def _is_committed(self, path: str, project: Path) -> bool:
        """Whether the checkout around a worktree has it as in its commit; the user may edit what decides no check."""
        file = Path(posixpath.normpath(self.top / path))
        if file.is_relative_to(self.top) or not file.is_relative_to(project):
            return False
        ran = await self._user(project).run(
            "cat-file", "blob", f"HEAD:{file.relative_to(project).as_posix()}"
        )
        now = beneath.read_whole(file, MOST_READ, project)
        return ran.ok and now is not None and decides_the_same(path, ran.output, now)

    def remember(self, name: str, text: str) -> None:
        """A note, for as long as the run can be resumed."""
        write_sealed(self._folder / name, text)

    def recall(self, name: str, *, must: bool = False) -> str | None:
        """None if there is no such note. Raises GitFailed if it is damaged, or if it ``must`` be there and is not."""
        found = read_sealed(self._folder / name)
        if found is None and must:
            raise lost(self._folder / name)
        return found

    def _unusable(self, error: OSError) -> GitFailed:
        return GitFailed(
            f"cannot use {self._folder}: {error.strerror or error}", hint="see what is in its place"
        )

    # --- throw-away checkouts ---

    @asynccontextmanager
    async def checkout(self, tree: Tree) -> AsyncIterator[Checkout]:
        """A folder with exactly these files, a repository of its own, and what checks need besides; then it is removed."""
        self._number += 1
        place = self._folder / str(self._number)
        with held(self._folder / "lock"):
            try:
                try:
                    made = await self._check_out(tree, place)
                except OSError as error:
                    message = f"cannot make a throw-away checkout in {place}: {error.strerror or error}"
                    raise GitFailed(message, hint="--proof trusting does without") from error
                yield made
            finally:
                await asyncio.to_thread(remove_tree, place)

    async def altered(self, checkout: Checkout, tree: Tree, paths: Iterable[str]) -> list[str]:
        """Those of these files that are no longer in the checkout what they are in its tree."""

        def is_same(path: str) -> bool:
            entry = tree.files[path]
            return (
                entry.mode == LINK
                or id_of_file(checkout.top / path, entry.object_id, checkout.top) == entry.object_id
            )

        return await asyncio.to_thread(lambda: [path for path in paths if not is_same(path)])

    async def _check_out(self, tree: Tree, place: Path) -> Checkout:
        directory = place / ".git"
        await self._init(place)
        self._share(directory)
        await self._write_index(directory / "index", tree)
        git = Git(
            place, self._runner, is_top=True, seconds=SECONDS, environment={**NO_CONFIGURATION, **AUTHOR}
        )
        await git.must("checkout-index", "--all", "--force", "--quiet", "--index")
        await self._commit(git, directory)
        outside = await asyncio.to_thread(self._verify, tree, place)
        ignored = (await self._work()).ignored
        brought, left = await asyncio.to_thread(bring, self.top, ignored, self._manifest, place)
        # A pattern for a folder does not fit the link that stands for it here.
        excluded = "".join(f"/{path}\n" for path in (*brought, *outside) if "\n" not in path)
        (directory / "info" / "exclude").write_text(excluded, errors="surrogateescape")
        linked = (
            end
            for path in brought
            if beneath.read_link(place / path, place)
            and (end := real_path(place / path)).is_dir()
            and is_as_begun(self.top, path, end, self._manifest)
        )
        return Checkout(place, place / self.prefix, left_out=(*outside, *left), linked=tuple(linked))

    async def _commit(self, git: Git, directory: Path) -> None:
        """The tree as a commit on top of the user's, with the user's branch and tags: versions are made from them."""
        parent, branch, tags = "", "", b""
        if self._has_repository:
            user = self._user(self.top)
            parent, branch = await user.commit_of("HEAD"), await user.branch()
            tags = (await user.must("for-each-ref", "--format=%(objectname) %(refname)", "refs/tags")).output
        tree = (await git.must("write-tree")).text
        parents = ("-p", parent) if parent else ()
        commit = (await git.must("commit-tree", tree, *parents, "-m", "what is judged")).text
        head = os.fsencode(f"refs/heads/{branch or 'master'}\n")
        (directory / "HEAD").write_bytes(b"ref: " + head)
        (directory / "packed-refs").write_bytes(tags + commit.encode() + b" " + head)

    def _verify(self, tree: Tree, place: Path) -> list[str]:
        """Raises GitFailed unless every file is what it was: an agent can write objects of any name.

        Gives the links that were left out: those that lead outside, unless the run began with them.
        """
        left = []
        for path, entry in tree.files.items():
            file = place / path
            if entry.mode == LINK:
                target = os.fsencode(beneath.read_link(file, place))
                found = object_id(target, entry.object_id)
            else:
                target, found = b"", id_of_file(file, entry.object_id, place)
            if found != entry.object_id:
                raise _forged(path)
            if target and _leads_outside(path, os.fsdecode(target)):
                beneath.remove(file, place)
                if self.base.files.get(path) == entry:
                    beneath.make_link(file, (self.top / path).parent / os.fsdecode(target), place)
                else:
                    left.append(path)
        return left

    # --- git ---

    def _user(self, folder: Path) -> Git:
        return Git(folder, self._runner, is_top=True, seconds=SECONDS)

    def _private(self, work_tree: Path | None = None, *, index: Path | None = None) -> Git:
        root = work_tree or self.top
        environment = {
            "GIT_DIR": str(self._directory),
            "GIT_WORK_TREE": str(root),
            "GIT_INDEX_FILE": str(index or self._folder / "no.index"),
            **NO_CONFIGURATION,
        }
        hint = f"its git directory is {self._directory}; a new run makes a new one"
        return Git(root, self._runner, seconds=SECONDS, environment=environment, hint=hint)

    async def _work(self, *, with_ignored: bool = True) -> WorkFiles:
        return await list_work(
            self.top,
            neutral=self._private,
            own=self._user,
            is_tracked=self._has_repository,
            with_ignored=with_ignored,
        )

    async def _init(self, *arguments: str | Path) -> None:
        hint = f"see what is in {self._folder}"
        git = Git(self._folder, self._runner, environment=NO_CONFIGURATION, hint=hint)
        await git.must("init", "--quiet", "--template=", *self._format, *map(str, arguments))

    async def _make(self) -> None:
        """The private git directory; of one that is there, what can be made again, and where the user's objects are now."""
        if self._has_repository:
            asked = await self._user(self.top).run("rev-parse", "--show-object-format", "--git-common-dir")
            # A repository that git refuses to read, another user's for example, is a folder of files all the same.
            self._has_repository = asked.ok
            if asked.ok:
                kind, _, directory = asked.out.removesuffix("\n").partition("\n")
                self._format = (f"--object-format={kind}",)
                self._repository = real_path(self.top / directory)
        for name in ("HEAD", "config", "refs"):
            remove(self._directory / name)
        await self._init("--bare", "--shared=0600", self._directory)
        settings = (
            "[core]\n\tprotectNTFS = false\n\tprotectHFS = false\n\tlooseCompression = 1\n[gc]\n\tauto = 0\n"
        )
        with (self._directory / "config").open("a") as file:
            file.write(settings)
        info = self._directory / "info"
        make_private_folder(info)
        if not (info / "exclude").is_file():
            remove(info / "exclude")
            write_atomic(info / "exclude", await self._users_excludes())
        self._share(self._directory)

    def _share(self, directory: Path) -> None:
        """Let a git directory read our objects and the user's, and keep content as it is."""
        objects = [self._directory / "objects"] if directory != self._directory else []
        if self._has_repository:
            objects.append(self._repository / "objects")
        for folder in ("objects/info", "info"):
            make_private_folder(directory / folder)
        places = b"".join(os.fsencode(place) + b"\n" for place in objects)
        for name, content in (("objects/info/alternates", places), ("info/attributes", AS_THEY_ARE.encode())):
            remove(directory / name)
            write_private(directory / name, content)

    async def _users_excludes(self) -> bytes:
        """What the user's git ignores besides what .gitignore says, as it was when the run began."""
        if not self._has_repository:
            return b""
        named = await self._user(self.top).run("config", "--type=path", "--get", "core.excludesFile")
        usual = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", "git", "ignore")
        own = self._repository / "info" / "exclude"
        files = (Path(named.text) if named.ok and named.text else usual, own)
        return b"\n".join(read_whole(file, 1_000_000) or b"" for file in files)

    async def _listed(self, index: Path) -> Tree:
        ran = await self._private(index=index).must("ls-files", "--stage", "-z", most=MOST_READ)
        found = (entry.partition("\t") for entry in ran.names)
        entries = ((path, about.split(" ")) for about, _, path in found)
        return Tree({path: Entry(mode, name) for path, (mode, name, _) in entries})

    async def _write_index(self, index: Path, tree: Tree) -> None:
        for left in (index, index.with_name(f"{index.name}.lock")):  # of a git that was killed
            remove(left)
        git = self._private(index=index)
        if not tree.files:
            await git.must("read-tree", "--empty")
            return
        lines = (f"{entry.mode} {entry.object_id}\t{path}" for path, entry in tree.files.items())
        await git.must("update-index", "-z", "--index-info", stdin=self._listing("entries", lines))

    def _listing(self, name: str, lines: Iterable[str]) -> Path:
        file = self._folder / name
        write_private(file, b"".join(line.encode(errors="surrogateescape") + b"\0" for line in lines))
        return file


def _forged(what: str) -> GitFailed:
    message = f"the content that was kept of {what} is not what it was"
    return GitFailed(
        message, hint="somebody wrote into the object store of the repository, or a disk is failing"
    )


def _leads_outside(path: str, target: str) -> bool:
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return whole.startswith("/") or whole.split("/", 1)[0] == ".."

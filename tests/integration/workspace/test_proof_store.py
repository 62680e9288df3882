"""Trees and throw-away checkouts of a run, with real git."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.workspace import proof_store
from ralph.adapters.workspace.kept_tree import KeptTree
from ralph.adapters.workspace.proof_store import GitProofStore
from ralph.config.root import git_top
from ralph.domain.proof.tree import Tree
from ralph.engine.proof.commit_guard import is_filtered
from ralph.engine.proof.ports import Checkout
from ralph.errors import GitFailed


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "a project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    write(
        root,
        {
            "a.txt": "one\n",
            ".gitignore": "*.local\n/out/\nnode_modules/\n__pycache__/\n",
        },
    )
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    git(root, "tag", "v1")
    return root


def store_of(workspace: Path, run: str = "r1") -> GitProofStore:
    folder = workspace / ".ralph" / "runs" / run / "proof"
    runner = PosixProcessRunner(run_id=run, base_environment=os.environ)
    return GitProofStore(folder, workspace, runner, top=git_top(workspace))


def opened(workspace: Path, run: str = "r1") -> GitProofStore:
    store = store_of(workspace, run)
    asyncio.run(store.open())
    return store


def snapshot(store: GitProofStore) -> Tree:
    return asyncio.run(store.snapshot())


def in_checkout(store: GitProofStore, look: Callable[[Checkout], object], tree: Tree | None = None) -> object:
    async def run() -> object:
        async with store.checkout(tree if tree is not None else await store.snapshot()) as checkout:
            return look(checkout)

    return asyncio.run(run())


def names(checkout: Checkout) -> set[str]:
    """Of everything in it, links not followed."""
    found = set()
    for folder, folders, files in os.walk(checkout.top):
        if ".git" in folders:
            folders.remove(".git")
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found |= {os.path.relpath(Path(folder, name), checkout.top) for name in (*files, *links)}
    return found


def test_a_checkout_has_what_is_committed_changed_and_new_and_is_gone_afterwards(project: Path) -> None:
    write(project, {"a.txt": "two\n", "new file.txt": "x", "sub/ü.txt": "y"})
    (project / "sub" / "run.sh").write_text("#!/bin/sh\n")
    (project / "sub" / "run.sh").chmod(0o755)
    store = opened(project)

    def look(checkout: Checkout) -> Path:
        assert names(checkout) == {"a.txt", ".gitignore", "new file.txt", "sub/ü.txt", "sub/run.sh"}
        assert (checkout.workspace / "a.txt").read_text() == "two\n"
        assert os.access(checkout.top / "sub" / "run.sh", os.X_OK)
        assert git(checkout.top, "status", "--porcelain") == ""
        assert git(checkout.top, "rev-parse", "HEAD^") == git(project, "rev-parse", "HEAD")
        assert git(checkout.top, "describe", "--tags").startswith("v1-1-g")
        assert git(checkout.top, "branch", "--show-current") == "main"
        return checkout.top

    place = in_checkout(store, look)
    assert isinstance(place, Path)
    assert not place.exists()
    assert git(project, "status", "--porcelain") == 'M a.txt\n?? .ralph/\n?? "new file.txt"\n?? sub/'


def test_without_a_repository_the_workspace_is_the_tree(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one", "sub/b.txt": "two", ".ralph/ralph.db": "not part of it"})
    store = opened(tmp_path)
    assert in_checkout(store, names) == {"a.txt", "sub/b.txt"}
    assert in_checkout(store, lambda found: git(found.top, "status", "--porcelain")) == ""


def test_a_workspace_below_the_top_is_found_in_the_checkout(project: Path) -> None:
    write(project, {"pkg/b.txt": "x"})
    store = opened(project / "pkg")
    assert in_checkout(store, lambda found: (found.workspace / "b.txt").read_text()) == "x"
    assert in_checkout(store, lambda found: (found.top / "a.txt").read_text()) == "one\n"


def test_an_empty_folder_is_a_tree_too(tmp_path: Path) -> None:
    store = opened(tmp_path)
    assert store.base == Tree()
    assert in_checkout(store, names) == set()


@pytest.mark.parametrize("hide", ["skip-worktree", "assume-unchanged", "exclude", "filter", "racy"])
def test_what_hides_a_change_from_the_users_git_hides_nothing(project: Path, hide: str) -> None:
    store = opened(project)
    before = snapshot(store)
    expected = "a.txt"
    match hide:
        case "exclude":
            (project / ".git" / "info").mkdir(exist_ok=True)
            (project / ".git" / "info" / "exclude").write_text("secret.py\n")
            expected = "secret.py"
        case "filter":
            write(project, {".git/info/attributes": "* filter=lie\n"})
            git(project, "config", "filter.lie.clean", "echo one")
        case "racy":
            about = (project / "a.txt").stat()
        case _:
            git(project, "update-index", f"--{hide}", "a.txt")
    write(project, {expected: "two\n"})
    if hide == "racy":
        os.utime(project / "a.txt", ns=(about.st_atime_ns, about.st_mtime_ns))
    after = snapshot(store)
    assert before.differing(after) == {expected}
    assert after.digest != before.digest


def test_the_same_files_are_the_same_tree(project: Path) -> None:
    store = opened(project)
    before = snapshot(store)
    write(project, {"b.txt": "x", "a.txt": "two"})
    assert snapshot(store) != before
    (project / "b.txt").unlink()
    write(project, {"a.txt": "one\n"})
    assert snapshot(store) == before == store.base


def test_content_is_kept_byte_by_byte(project: Path) -> None:
    write(project, {".gitattributes": "* text=auto eol=lf\n*.txt ident filter=lfs\n"})
    (project / "a.txt").write_bytes(b"$Id$\r\nb\r\n\0")
    store = opened(project)
    assert in_checkout(store, lambda found: (found.top / "a.txt").read_bytes()) == b"$Id$\r\nb\r\n\0"
    entry = snapshot(store).files["a.txt"]
    assert asyncio.run(store.content(entry)) == b"$Id$\r\nb\r\n\0"


def test_dependencies_come_along_and_ignored_files_only_as_the_run_found_them(project: Path) -> None:
    write(
        project,
        {
            "package.json": "{}",
            "pkg/package.json": "{}",
            "node_modules/lib/index.js": "1",
            "pkg/node_modules/other/index.js": "1",
            "key.local": "mine",
            "changed.local": "mine",
            "out/deep/kept.txt": "1",
            "src/__pycache__/a.pyc": "0",
        },
    )
    (project / "round.local").symlink_to("round.local")
    store = opened(project)
    write(
        project,
        {"changed.local": "no", "added.local": "no", "out/deep/added.txt": "no", "node_modules/new": ""},
    )

    def look(checkout: Checkout) -> None:
        assert {"node_modules", "pkg/node_modules", "key.local", "out/deep/kept.txt"} <= names(checkout)
        assert not names(checkout) & {
            "changed.local",
            "added.local",
            "out/deep/added.txt",
            "src/__pycache__/a.pyc",
        }
        assert set(checkout.left_out) == {"changed.local", "added.local", "out/deep/added.txt"}
        assert (checkout.top / "node_modules" / "lib" / "index.js").read_text() == "1"
        assert not (checkout.top / "key.local").is_symlink()
        assert git(checkout.top, "status", "--porcelain") == ""

    in_checkout(store, look)
    assert (project / "node_modules" / "lib" / "index.js").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_ignored_file_that_was_closed_meanwhile_stays_out(project: Path) -> None:
    write(project, {"key.local": "mine"})
    store = opened(project)
    (project / "key.local").chmod(0)
    assert in_checkout(store, lambda found: found.left_out) == ("key.local",)


def test_tracked_files_count_even_if_they_are_ignored(project: Path) -> None:
    write(
        project,
        {"package.json": "{}", "kept.local": "x", "node_modules/ours.js": "1", "node_modules/lib/a.js": "2"},
    )
    git(project, "add", "-f", "kept.local", "node_modules/ours.js")
    store = opened(project)

    def look(checkout: Checkout) -> None:
        assert {"kept.local", "node_modules/ours.js", "node_modules/lib"} <= names(checkout)
        assert not (checkout.top / "node_modules" / "ours.js").is_symlink()

    in_checkout(store, look)


def test_links_that_lead_outside_are_left_out_unless_the_run_began_with_them(
    project: Path, tmp_path: Path
) -> None:
    write(tmp_path, {"elsewhere/x.txt": "outside"})
    (project / "old").symlink_to("../elsewhere/x.txt")
    (project / "inside").symlink_to("a.txt")
    store = opened(project)
    (project / "new").symlink_to(tmp_path / "elsewhere" / "x.txt")

    def look(checkout: Checkout) -> None:
        assert (checkout.top / "old").read_text() == "outside"
        assert (checkout.top / "inside").readlink() == Path("a.txt")
        assert not (checkout.top / "new").is_symlink()
        assert checkout.left_out == ("new",)

    in_checkout(store, look)


def test_repositories_inside_the_project_are_part_of_it(project: Path) -> None:
    inner = project / "inner"
    write(
        inner,
        {"x.txt": "1", "package.json": "{}", ".gitignore": "node_modules\n", "node_modules/l/a.js": "2"},
    )
    git(inner, "init", "-q")
    other = project.parent / "other"
    write(other, {"y.txt": "3"})
    git(other, "init", "-q")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "x")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    store = opened(project)
    expected = {"inner/x.txt", "inner/package.json", "inner/.gitignore", "inner/node_modules", "sub/y.txt"}
    assert in_checkout(store, lambda found: expected <= names(found)) is True


def test_a_resumed_run_has_the_base_it_began_with(project: Path) -> None:
    write(project, {"key.local": "mine"})
    first = opened(project)
    write(project, {"a.txt": "two\n", "key.local": "changed"})
    again = opened(project)
    assert again.base == first.base != snapshot(again)
    assert in_checkout(again, lambda found: found.left_out) == ("key.local",)
    later = snapshot(again)
    asyncio.run(again.remember_base(later))
    assert opened(project).base == later


def test_the_base_may_be_a_commit(project: Path) -> None:
    write(project, {"a.txt": "two\n"})
    store = store_of(project)
    asyncio.run(store.open(base="HEAD"))
    assert store.base.differing(snapshot(store)) == {"a.txt"}
    assert asyncio.run(store.content(store.base.files["a.txt"])) == b"one\n"


def test_old_files_can_be_put_back_into_a_new_tree(project: Path) -> None:
    write(project, {"tests/t.txt": "strict", "tests/gone.txt": "x"})
    store = opened(project)
    write(project, {"tests/t.txt": "lax", "tests/added.txt": "new", "code.txt": "new"})
    (project / "tests" / "gone.txt").unlink()
    now = snapshot(store)
    differing = [path for path in now.differing(store.base) if path.startswith("tests/")]
    old = now.putting_back(differing, store.base)

    def look(checkout: Checkout) -> None:
        assert names(checkout) == {"a.txt", ".gitignore", "code.txt", "tests/t.txt", "tests/gone.txt"}
        assert (checkout.top / "tests" / "t.txt").read_text() == "strict"

    in_checkout(store, look, old)


def test_forged_objects_are_noticed(project: Path) -> None:
    store = opened(project)
    name = store.base.files["a.txt"].object_id
    write(project, {"forged": "three"})
    forged = git(project, "hash-object", "-w", "forged")
    objects = project / ".git" / "objects"
    target = objects / name[:2] / name[2:]
    target.unlink()
    target.write_bytes((objects / forged[:2] / forged[2:]).read_bytes())
    with pytest.raises(GitFailed, match="not what it was"):
        asyncio.run(store.content(store.base.files["a.txt"]))
    with pytest.raises(GitFailed, match=r"a\.txt is not what it was"):
        in_checkout(store, names, store.base)


def test_what_a_kill_left_is_removed_by_the_next_run_but_not_what_is_in_use(project: Path) -> None:
    runs = project / ".ralph" / "runs"
    closed = runs / "killed" / "proof" / "1" / "closed"
    write(runs / "killed" / "proof" / "1", {"closed/x.txt": "", "y.txt": ""})
    closed.chmod(0)
    store = opened(project)
    assert not (runs / "killed" / "proof" / "1").exists()

    def look(checkout: Checkout) -> bool:
        opened_in_a_process(project)
        return checkout.top.exists()

    assert in_checkout(store, look) is True


def opened_in_a_process(project: Path) -> None:
    """Another process, as another run would be one: its locks are its own."""
    code = f"import {__name__} as t, pathlib; t.opened(pathlib.Path({str(project)!r}), 'r2')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, cwd=Path(__file__).parent)


def test_a_repository_that_is_gone_is_an_error(project: Path) -> None:
    store = opened(project)
    (project / ".git").rename(project / "gone")
    with pytest.raises(GitFailed):
        snapshot(store)


def test_a_repository_that_git_refuses_to_read_is_a_folder_of_files(project: Path) -> None:
    (project / ".git" / "config").write_text("[core\n")
    store = opened(project)
    assert in_checkout(store, names) == {"a.txt", ".gitignore"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_left_out(project: Path) -> None:
    write(project, {"closed.txt": "x"})
    (project / "closed.txt").chmod(0)
    assert in_checkout(opened(project), lambda found: found.left_out) == ("closed.txt",)


def test_snapshots_that_are_asked_for_at_the_same_time_wait_for_each_other(project: Path) -> None:
    store = opened(project)

    async def try_it() -> None:
        for number in range(3):
            write(project, {f"{name}.txt": f"{number} {name}" for name in range(200)})
            first, *others = await asyncio.gather(*(store.snapshot() for _ in range(3)))
            assert others == [first, first] == [await store.snapshot()] * 2

    asyncio.run(try_it())


def test_a_file_whose_path_is_too_long_in_a_checkout_is_brought_along(project: Path) -> None:
    room = 4090 - len(str(project / "out"))
    folder = project.joinpath("out", *["d" * 200] * (room // 201))
    folder.mkdir(parents=True)
    (folder / ("f" * max(1, 4090 - len(str(folder)) - 1))).touch()
    assert in_checkout(opened(project), lambda found: found.left_out) == ()


def test_a_large_file_is_an_honest_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof_store, "MOST_READ", 10_000)
    large = "0123456789" * 5_000
    write(project, {"large.bin": large})
    git(project, "add", "large.bin")
    store = opened(project)
    assert in_checkout(store, lambda found: (found.top / "large.bin").read_text()) == large
    entry = store.base.files["large.bin"]
    assert asyncio.run(store.sha256(entry)) == sha256(large.encode()).hexdigest()

    async def judge() -> Sequence[str]:
        kept = await KeptTree.of(store, project)
        (project / "large.bin").write_text("a judge was here")
        return await kept.put_back()

    assert asyncio.run(judge()) == ["large.bin"]
    assert (project / "large.bin").read_text() == large


@pytest.mark.parametrize("is_honest", [True, False])
def test_the_commit_may_have_a_pointer_to_a_large_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, is_honest: bool
) -> None:
    monkeypatch.setattr(proof_store, "MOST_READ", 10_000)
    large = "0123456789" * 5_000
    digest = sha256((large if is_honest else "other").encode()).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(large)}\n"
    write(project, {"large.bin": large, "pointer": pointer})
    git(project, "add", "-A")
    files = opened(project).base.files
    found = is_filtered(opened(project), files["large.bin"], files["pointer"])
    assert asyncio.run(found) is is_honest


def test_settings_above_a_worktree_count_unless_the_project_has_committed_them(project: Path) -> None:
    write(project, {"pyproject.toml": "[project]\nname = 'a'\n"})
    git(project, "add", "pyproject.toml")
    git(project, "commit", "-qm", "settings")
    tree = project / ".ralph" / "worktrees" / "T-1"
    git(project, "worktree", "add", "-q", str(tree))
    runner = PosixProcessRunner(run_id="r1", base_environment=os.environ)
    store = GitProofStore(project / ".ralph" / "runs" / "r1" / "proof", tree, runner, top=tree)
    asyncio.run(store.open())

    write(
        project,
        {"pyproject.toml": "[tool.pytest.ini_options]\n", ".ralph/worktrees/pytest.ini": "[pytest]\n"},
    )
    assert sorted(asyncio.run(store.list_above())) == ["../../../pyproject.toml", "../pytest.ini"]
    git(project, "commit", "-qam", "the user's, or another task's that was merged")
    assert asyncio.run(store.list_above()) == ["../pytest.ini"]
    write(
        project, {"pyproject.toml": "[tool.pytest.ini_options]\n\n[project]\nname = 'edited by the user'\n"}
    )
    assert asyncio.run(store.list_above()) == ["../pytest.ini"]

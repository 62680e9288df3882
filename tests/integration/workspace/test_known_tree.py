"""What git said of a tree is said again only where git would say the same."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from ralph.adapters.workspace.known_tree import MOST_ENTRIES, KnownTree
from ralph.adapters.workspace.tree_status import OPTIONS
from ralph.domain.sandbox.own_git import ENVIRONMENT, NOT_OWN, own_git

BEGIN = """git config --global user.name t
git config --global user.email t@localhost
git init -q -b main
mkdir -p sub/deep ignored .ralph
echo 1 | tee a b sub/c sub/deep/d ignored/e .ralph/f
echo ignored > .gitignore
git add a b sub .gitignore
git commit -qm one
echo 1 > new; echo 2 > b; echo 1 > sub/new"""
LONG = 1_000 * 1_000_000_000


class Tree:
    """Its clock is far ahead, so that nobody has to wait until a change is old enough."""

    def __init__(self, root: Path, home: Path, *, ahead: int = LONG) -> None:
        self.root = root
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        self.ahead = ahead
        self.sh(BEGIN)
        self.known = self.new_known()

    def new_known(self) -> KnownTree:
        return KnownTree(self.root, self.environ, now=lambda: time.time_ns() + self.ahead)

    def sh(self, script: str) -> None:
        subprocess.run(
            ["sh", "-ec", script],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            check=True,
            timeout=60,
        )

    @property
    def status(self) -> bytes:
        asked = own_git("status", *OPTIONS, "--", *NOT_OWN)
        variables = {**self.environ, **ENVIRONMENT}
        return subprocess.run(asked, cwd=self.root, env=variables, capture_output=True, check=True).stdout

    def learn(self) -> None:
        assert self.known.recall() is None
        self.known.keep(self.status)
        self._let_clock_advance()

    def _let_clock_advance(self) -> None:
        """Until a change gets another time than the last one did."""
        probe = self.root.parent / "probe"
        probe.write_text("")
        first = probe.stat().st_ctime_ns
        while probe.stat().st_ctime_ns == first:
            probe.write_text("")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    for name in ("project", "home"):
        (tmp_path / name).mkdir()
    return Tree(tmp_path / "project", tmp_path / "home")


@pytest.mark.parametrize(
    "script",
    ["true", "echo more >> new", "echo more >> sub/new", "rm -r .ralph/f; mkdir .ralph/x", "chmod +x new"],
)
def test_git_is_not_asked_where_it_would_say_the_same(tree: Tree, script: str) -> None:
    tree.learn()
    tree.sh(script)
    assert tree.known.recall() == tree.status
    assert tree.known.recall() is not None


@pytest.mark.parametrize(
    "script",
    [
        "echo 3 > a",
        "echo 1 > b",  # as it was committed
        "touch -r a keep; echo 7 > a; touch -r keep a; rm keep",
        "echo 9 > x; mv x a",
        "chmod +x a",
        "rm sub/deep/d",
        "rm -r sub/deep",
        "rm new",
        "echo 1 > another",
        "mkdir more; echo 1 > more/another",
        "echo 1 > sub/deep/another",
        "mv new newer",
        "rm a; ln -s b a",
        "git add new",
        "git rm -q --cached a",
        "git add -A; git commit -qm two",
        "git commit -q --allow-empty -m two",
        "git checkout -q -b other",
        "git checkout -q --detach",
        "git pack-refs --all; git update-ref refs/heads/main $(git commit-tree -m x HEAD^{tree})",
        "git branch second $(git commit-tree -m x HEAD^{tree}); git symbolic-ref refs/heads/main refs/heads/second",
        "echo new >> .gitignore",
        "echo ignored > sub/.gitignore; echo new >> sub/.gitignore",
        "echo new >> .git/info/exclude",
        "mkdir -p ~/.config/git; echo new > ~/.config/git/ignore",
        "echo new > ~/ignore; git config --global core.excludesFile ~/ignore",
        "git config core.fileMode false; chmod +x a",
        "git init -q inner; touch inner/x",
        "git config status.relativePaths false",
        "rm -r .git/objects",
    ],
)
def test_git_is_asked_if_anything_has_changed_that_its_answer_follows_from(tree: Tree, script: str) -> None:
    tree.learn()
    tree.sh(script)
    assert tree.known.recall() is None


def test_an_answer_that_is_learned_again_counts(tree: Tree) -> None:
    tree.learn()
    tree.sh("echo 3 > a; git checkout -q -b other; git config alias.s status")
    tree.learn()
    assert tree.known.recall() == tree.status
    tree.sh("git update-ref refs/heads/other $(git commit-tree -m x HEAD^{tree})")
    assert tree.known.recall() is None


def test_a_new_file_that_git_obeys_is_looked_at(tree: Tree) -> None:
    tree.sh("touch sub/.gitignore")
    tree.learn()
    tree.sh("echo new > sub/.gitignore")
    assert tree.known.recall() is None


@pytest.mark.parametrize(
    "script",
    [
        "git init -q inner",
        "git config core.excludesFile ~/ignore",
        "git config --global include.path ~/more",
        "git config filter.upper.clean 'tr a-z A-Z'",
        "git config branch.main.remote .; git config branch.main.merge refs/heads/other",
        "git update-index --split-index",
        "git branch second; git symbolic-ref refs/heads/main refs/heads/second",
        f"for i in $(seq {MOST_ENTRIES}); do echo $i > sub/$i; done",
        "git worktree add -q ../other; rm -rf .git; cp ../other/.git .",
    ],
)
def test_git_is_asked_each_time_where_its_answer_follows_from_more(tree: Tree, script: str) -> None:
    tree.sh(script)
    for _ in range(2):
        assert tree.known.recall() is None
        tree.known.keep(b"")


def test_git_is_asked_each_time_with_an_index_from_elsewhere(tree: Tree) -> None:
    tree.environ["GIT_INDEX_FILE"] = "elsewhere"
    tree.known = tree.new_known()
    for _ in range(2):
        assert tree.known.recall() is None
        tree.known.keep(b"")


def test_what_was_changed_just_now_may_change_again_within_the_same_moment(tree: Tree) -> None:
    tree.ahead = 0
    tree.sh("touch a")
    now = (tree.root / "a").stat().st_ctime_ns
    tree.known = KnownTree(tree.root, tree.environ, now=lambda: now + 1_000_000)
    for _ in range(2):
        assert tree.known.recall() is None
        tree.known.keep(b"")

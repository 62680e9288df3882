"""What an agent could leave in the workspace or in git's folder for those outside to trip over."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.isolation.outside import GitTraps
from ralph.errors import ConfigError

from .conftest import OFF, Sandboxed, git

# --- folders around what is protected ----------------------------------------------------------------------


def test_the_folder_around_a_folder_for_hooks_cannot_be_replaced(sandboxed: Sandboxed) -> None:
    hooks = sandboxed.workspace / ".husky" / "_"
    hooks.mkdir(parents=True)
    with (sandboxed.workspace / ".git" / "config").open("a") as config:
        config.write("[Core]\n\tHooksPath=.husky/_ ; as some tools have it\n")
    sandboxed.shell("mv .husky away; mkdir -p .husky/_; echo evil > .husky/_/pre-commit")
    assert list(hooks.iterdir()) == []


def test_a_folder_for_hooks_that_is_not_there_yet_cannot_be_made(sandboxed: Sandboxed) -> None:
    git(sandboxed.workspace, "config", "core.hooksPath", ".husky/_")
    sandboxed.shell("mkdir -p .husky/_; echo evil > .husky/_/pre-commit")
    assert list((sandboxed.workspace / ".husky" / "_").iterdir()) == []


def test_the_folders_of_submodules_cannot_be_replaced(sandboxed: Sandboxed, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "first")
    git(sandboxed.workspace, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part")
    config = sandboxed.workspace / ".git" / "modules" / "part" / "config"
    before = config.read_text()
    sandboxed.shell(
        "cd .git; cp -r modules m2; mv modules m3; mv m2 modules; echo evil >> modules/part/config"
    )
    assert config.read_text() == before


def test_the_folders_of_worktrees_cannot_be_replaced(sandboxed: Sandboxed, tmp_path: Path) -> None:
    main, tree = sandboxed.workspace, tmp_path / "tree"
    git(main, "worktree", "add", "-q", "-b", "one", str(tree))
    own = main / ".git" / "worktrees" / "tree"
    sandboxed.workspace = tree
    sandboxed.shell(
        """
        cd "$1"; cp -r worktrees w2; mv worktrees w3; mv w2 worktrees; echo /evil > worktrees/tree/commondir
        mkdir worktrees/next; echo /evil > worktrees/next/commondir
        """,
        str(main / ".git"),
    )
    assert (own / "commondir").read_text() == "../..\n"
    assert [entry.name for entry in own.parent.iterdir()] == ["tree"]
    assert git(tree, "status", "--short") == ""


# --- other ways to give git a configuration ----------------------------------------------------------------


@pytest.mark.parametrize("value", ["../team.gitconfig", '"../team.gitconfig"', "../nested.gitconfig"])
def test_files_that_the_configuration_includes_cannot_be_changed(sandboxed: Sandboxed, value: str) -> None:
    team = sandboxed.workspace / "team.gitconfig"
    team.write_text("[alias]\n\tx = status\n")
    (sandboxed.workspace / "nested.gitconfig").write_text("[include]\n\tpath = team.gitconfig\n")
    with (sandboxed.workspace / ".git" / "config").open("a") as config:
        config.write(f"[include] path = {value}\n")
    sandboxed.shell("echo evil >> team.gitconfig; rm team.gitconfig; echo evil > team.gitconfig")
    assert team.read_text() == "[alias]\n\tx = status\n"


def test_an_included_file_that_is_not_there_cannot_be_made(sandboxed: Sandboxed) -> None:
    git(sandboxed.workspace, "config", "include.path", "../team.gitconfig")
    sandboxed.shell("echo evil > team.gitconfig")
    assert (sandboxed.workspace / "team.gitconfig").read_text() == ""


def test_the_users_own_configuration_cannot_be_changed_where_it_is_a_file_of_the_project(
    sandboxed: Sandboxed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = sandboxed.workspace / "dot" / "gitconfig"
    file.parent.mkdir()
    file.write_text("[alias]\n\tx = status\n")
    (tmp_path / "mine").symlink_to(file)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
    sandboxed.shell("echo evil >> dot/gitconfig; mv dot away; mkdir dot; echo evil > dot/gitconfig")
    assert file.read_text() == "[alias]\n\tx = status\n"


STRAY = {
    "missing folder": ("", "include.path", "../.dev/gitconfig"),
    "missing folder, condition": ("", "includeIf.onbranch:x.path", "../.dev/gitconfig"),
    "linked folder": (
        "mkdir real; touch real/gitconfig; ln -s real .dev",
        "include.path",
        "../.dev/gitconfig",
    ),
    "linked folder above": (
        "mkdir -p real/a; touch real/a/g; ln -s real .dev",
        "include.path",
        "../.dev/a/g",
    ),
    "link that leads out": ("mkdir ../out; touch ../out/g; ln -s ../out .dev", "include.path", "../.dev/g"),
    "link in git's folder": ("ln -s .. .git/x; touch g", "include.path", "x/g"),
    "by way of a folder": ("mkdir .dev; touch g", "include.path", "../.dev/../g"),
    "by way of a missing one": ("", "core.hooksPath", ".dev/../hooks"),
    "file for a folder": ("touch .dev", "include.path", "../.dev/gitconfig"),
    "linked hooks": ("mkdir -p real/_; ln -s real .husky", "core.hooksPath", ".husky/_"),
    "linked hooks, missing": ("mkdir real; ln -s real .husky", "core.hooksPath", ".husky/_"),
    "linked hooks outside": ("mkdir -p ../out/_; ln -s ../out .husky", "core.hooksPath", ".husky/_"),
}


@pytest.mark.parametrize("is_the_users", [False, True])
@pytest.mark.parametrize("kind", STRAY)
def test_a_place_that_the_agent_could_lead_git_away_from_is_refused(
    sandboxed: Sandboxed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_the_users: bool
) -> None:
    script, key, value = STRAY[kind]
    workspace = sandboxed.workspace
    subprocess.run(["sh", "-ec", script], cwd=workspace, check=True)
    if is_the_users:
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
        value = value if key == "core.hooksPath" else f"{workspace}/.git/{value}"
    git(workspace, "config", "--global" if is_the_users else "--local", key, value)
    with pytest.raises(ConfigError, match="in a sandbox the agent could put its own there") as refused:
        sandboxed.run("true")
    assert "or remove " in (refused.value.hint or "")


def test_a_file_that_an_included_one_includes_from_another_folder_is_read_only(sandboxed: Sandboxed) -> None:
    (sandboxed.workspace / "dev").mkdir()
    (sandboxed.workspace / "dev" / "one").write_text("[include]\n\tpath = ../two\n")
    git(sandboxed.workspace, "config", "include.path", "../dev/one")
    sandboxed.shell("mv dev away; ln -s away/x dev; echo evil > two; rm -f two; echo evil > two")
    assert (sandboxed.workspace / "two").read_text() == ""
    assert not (sandboxed.workspace / "dev").is_symlink()


def test_the_configuration_of_a_worktree_cannot_be_made(sandboxed: Sandboxed) -> None:
    git(sandboxed.workspace, "config", "extensions.worktreeConfig", "true")
    sandboxed.shell("echo evil > .git/config.worktree")
    assert (sandboxed.workspace / ".git" / "config.worktree").read_text() == ""


@pytest.mark.parametrize("name", ["remotes/origin", "branches/origin"])
def test_a_remote_cannot_be_named_in_the_old_ways(sandboxed: Sandboxed, name: str) -> None:
    sandboxed.shell('echo "URL: /evil" > ".git/$1"', name)
    assert not (sandboxed.workspace / ".git" / name).exists()


@pytest.mark.parametrize("is_in_a_repository", [True, False])
def test_a_repository_cannot_be_made_where_there_is_none(
    sandboxed: Sandboxed, tmp_path: Path, is_in_a_repository: bool
) -> None:
    folder = (sandboxed.workspace if is_in_a_repository else tmp_path) / "part"
    folder.mkdir()
    sandboxed.workspace = folder
    for _ in range(2):
        output = sandboxed.shell(
            "git init -q . && echo MADE; mkdir -p .git/x; touch .git/y; ls -A; echo > file"
        )
        assert "MADE" not in output
        assert [entry.name for entry in folder.iterdir()] == ["file"]


def test_from_a_folder_of_a_repository_all_of_it_can_be_read(sandboxed: Sandboxed) -> None:
    top, folder = sandboxed.workspace, sandboxed.workspace / "part"
    (top / "readme").write_text("top")
    git(top, "add", "readme")
    folder.mkdir()
    sandboxed.workspace = folder
    output = sandboxed.shell(
        "touch ../new; echo > file; git add -A . && git commit -qm part && cat ../readme"
    )
    assert "top" in output
    assert git(top, "show", "--format=", "--name-status", "HEAD") == "A\tpart/file\nA\treadme"
    assert not (top / "new").exists()


def test_a_git_folder_that_is_a_link_is_refused(sandboxed: Sandboxed, tmp_path: Path) -> None:
    (sandboxed.workspace / ".git").rename(tmp_path / "elsewhere")
    (sandboxed.workspace / ".git").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="is a link"):
        sandboxed.run("true")


# --- what git outside would trip over ----------------------------------------------------------------------

TRAPS = {
    "message": ("ln -sf ~/.profile .git/COMMIT_EDITMSG", ".git/COMMIT_EDITMSG"),
    "log": ("rm .git/logs/HEAD; ln -s ~/.profile .git/logs/HEAD", ".git/logs/HEAD"),
    "hook": ("ln -s hooks/pre-commit .git/ORIG_HEAD", ".git/ORIG_HEAD"),
    "pipe": ("mkfifo .git/MERGE_MSG", ".git/MERGE_MSG"),
    "objects": ("ln -s ~ .git/objects/zz", ".git/objects/zz"),  # ff may be there
}


@pytest.mark.parametrize("name", TRAPS)
def test_traps_in_gits_folder_are_found_told_and_removed(sandboxed: Sandboxed, name: str) -> None:
    script, place = TRAPS[name]
    traps = GitTraps(sandboxed.workspace, sandboxed.reports.append)
    traps.require_none()
    sandboxed.shell(script)
    trap = sandboxed.workspace / place
    assert os.path.lexists(trap)
    with pytest.raises(ConfigError, match=trap.name):
        traps.require_none()
    traps.remove()
    assert not os.path.lexists(trap)
    assert sandboxed.reports == [f"removed {trap}: the agent put it where git would have followed it"]
    git(sandboxed.workspace, "commit", "-q", "--allow-empty", "-m", "outside")
    assert not (sandboxed.home / ".profile").exists()


FAKE_CONFIG = "[core]\n\tfsmonitor = touch $HOME/ESCAPED; false\n"


def test_git_cannot_be_sent_elsewhere_for_its_configuration(sandboxed: Sandboxed) -> None:
    """Not even while the agent works, or if ralph is killed then: the user's own git is used meanwhile."""
    workspace, seen = sandboxed.workspace, sandboxed.home / "ESCAPED"
    sandboxed.shell(
        f"""
        mkdir -p .git/evil/objects .git/evil/refs; printf '{FAKE_CONFIG}' > .git/evil/config
        echo evil > .git/commondir; rm -f .git/commondir; mv .git/commondir .git/c; ln -sf evil/c .git/commondir
        git commit -q --allow-empty -m inside && git branch new && git log -1
        """
    )
    git(workspace, "status")
    assert git(workspace, "log", "-1", "--format=%s") == "inside"
    assert not seen.exists()
    assert not (workspace / ".git" / "commondir").exists()
    assert git(workspace, "branch", "--list", "new").strip() == "new"


@pytest.mark.parametrize("name", ["", "part"], ids=["top", "folder"])
def test_the_workspace_does_not_become_a_repository_of_its_own(sandboxed: Sandboxed, name: str) -> None:
    top, seen = sandboxed.workspace, sandboxed.home / "ESCAPED"
    sandboxed.workspace = top / name
    sandboxed.workspace.mkdir(exist_ok=True)
    sandboxed.shell(
        f"""
        cp -r "{top}/.git/objects" "{top}/.git/refs" .
        printf '[core]\n\tworktree = .\n' > config; printf '{FAKE_CONFIG}' >> config
        rm -f "{top}/.git/HEAD"; printf 'ref: refs/heads/main\n' > HEAD
        git status 2> said
        """
    )
    assert "commondir: Is a directory" in (sandboxed.workspace / "said").read_text()
    GitTraps(sandboxed.workspace, sandboxed.reports.append).remove()
    subprocess.run(["git", "status"], cwd=sandboxed.workspace, check=False, capture_output=True)
    assert not seen.exists()


def test_nothing_is_in_the_way_of_the_names_that_git_knows(sandboxed: Sandboxed) -> None:
    top = sandboxed.workspace
    (top / "commondir").mkdir()  # as a ralph that was killed leaves it
    sandboxed.shell(
        "git diff HEAD && git log --oneline HEAD && git status --porcelain > said && touch all-said"
    )
    assert (top / "all-said").exists()
    assert "HEAD" not in (top / "said").read_text()
    assert not (top / "commondir").exists()


def test_what_worktrees_share_is_data(sandboxed: Sandboxed, tmp_path: Path) -> None:
    main, seen = sandboxed.workspace, sandboxed.home / "ESCAPED"
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    sandboxed.workspace = tmp_path / "tree"
    output = sandboxed.shell(
        f"""
        cd {main.as_posix()!r}/.git
        for name in commondir lfs/x modules/e/config new config.worktree index HEAD worktrees/other/HEAD; do
          mkdir -p "$(dirname $name)" 2>/dev/null; (echo evil > $name) 2>/dev/null && echo wrote $name
        done
        cd - >/dev/null; touch file; git add . && git commit -q -m inside && git branch new && git stash list
        git rebase -q main && git log -1 --format=%s
        """
    )
    assert "wrote" not in output
    assert output.splitlines()[-1] == "inside"
    assert git(main, "log", "-1", "--format=%s", "tree") == "inside"
    git(main, "status")
    assert not seen.exists()


def test_traps_without_end_with_names_from_hell_do_no_harm(sandboxed: Sandboxed) -> None:
    script = """
import os
import subprocess
os.chdir(".git")
for number in range(200):
    os.symlink("/x", b"\\x1b[2J\\xff\\n%d" % number)
os.chdir("refs")
for _ in range(2500):
    os.mkdir("a")
    os.chdir("a")
"""
    sandboxed.python(script)
    GitTraps(sandboxed.workspace, sandboxed.reports.append).remove()
    assert len(sandboxed.reports) == 6
    assert "196 more" in sandboxed.reports[-1]  # the links, and the nest
    assert all(report.isprintable() for report in sandboxed.reports)
    assert not any(path.is_symlink() for path in (sandboxed.workspace / ".git").iterdir())
    sandboxed.shell("mv .git/refs/a .git/modules")
    assert sandboxed.shell("rm -rf .git/modules; echo goes on") == "goes on\n"


@pytest.mark.parametrize(
    "script",
    [
        "ln -s {outside} .git/objects/info/commit-graph",
        "ln -s {outside} .git/objects/pack/multi-pack-index",
        "mkdir -p .git/objects/ab; ln -s {outside} .git/objects/ab/cdef",
        "mkdir -p .git/refs/objects; ln -s {outside} .git/refs/remotes",
        "mkdir -p .git/logs/refs/objects .git/logs/refs/remotes; ln -s {outside} .git/logs/refs/remotes/origin",
        "ln -s {outside} .git/lfs",
        "mkfifo .git/objects/info/alternates",
    ],
)
def test_nothing_but_files_and_folders_stays_anywhere_in_gits_folder(
    sandboxed: Sandboxed, tmp_path: Path, script: str
) -> None:
    traps = GitTraps(sandboxed.workspace, sandboxed.reports.append)
    traps.remove()
    sandboxed.shell(script.format(outside=tmp_path))
    traps.remove()
    assert len(sandboxed.reports) == 1
    assert traps.found() == []
    odd = [
        path for path in (sandboxed.workspace / ".git").rglob("*") if not path.is_dir() and not path.is_file()
    ]
    assert odd == []
    assert not any(path.is_symlink() for path in (sandboxed.workspace / ".git").rglob("*"))


def test_a_commondir_is_found_whatever_is_beside_it(sandboxed: Sandboxed) -> None:
    git = sandboxed.workspace / ".git"
    traps = GitTraps(sandboxed.workspace, sandboxed.reports.append)
    (git / "evil").mkdir()
    (git / "objects").rename(git / "evil" / "objects")
    (git / "modules" / "part").mkdir(parents=True)
    for folder in (git, git / "modules" / "part"):
        (folder / "commondir").write_text("evil\n")
    traps.remove()
    assert not [*git.rglob("commondir")]


def test_folders_that_are_nested_without_end_are_removed(sandboxed: Sandboxed) -> None:
    traps = GitTraps(sandboxed.workspace, sandboxed.reports.append)
    sandboxed.python("import os\nos.chdir('.git/refs')\nfor _ in range(500): os.mkdir('d'); os.chdir('d')")
    traps.remove()
    assert "removed" in sandboxed.reports[0]
    assert len([*(sandboxed.workspace / ".git" / "refs").rglob("d")]) <= 101


def test_what_git_and_its_users_make_is_no_trap(sandboxed: Sandboxed, tmp_path: Path) -> None:
    git(sandboxed.workspace, "worktree", "add", "-q", "-b", "commondir", str(tmp_path / "tree"))
    git(sandboxed.workspace, "gc", "-q")
    (sandboxed.workspace / ".git" / "hooks" / "pre-commit").symlink_to("../../scripts/check")
    (sandboxed.workspace / ".git" / "lfs").symlink_to(tmp_path)
    for folder in (sandboxed.workspace, tmp_path / "tree", tmp_path):
        assert GitTraps(folder, sandboxed.reports.append).found() == []


# --- links to what is not shown ----------------------------------------------------------------------------


def test_a_link_in_path_does_not_uncover_what_it_leads_to(sandboxed: Sandboxed) -> None:
    programs = sandboxed.workspace / ".venv" / "bin"
    programs.mkdir(parents=True)
    sandboxed.environ["PATH"] = f"{programs}{os.pathsep}{sandboxed.environ['PATH']}"
    sandboxed.shell("mv .venv old; mkdir .venv; ln -s ~/.ssh .venv/bin; ln -s ~/.aws .venv/lib")
    assert (sandboxed.workspace / ".venv" / "lib").is_symlink()
    assert "s3cret-value" not in sandboxed.shell("cat ~/.ssh/* ~/.aws/* .venv/*/* 2>&1")


def test_tools_in_the_workspace_can_be_changed_unless_they_are_on_path(sandboxed: Sandboxed) -> None:
    programs = sandboxed.workspace / ".venv" / "bin"
    programs.mkdir(parents=True)
    sandboxed.shell("touch .venv/bin/new")
    assert (programs / "new").exists()
    sandboxed.environ["PATH"] = f"{programs}{os.pathsep}{sandboxed.environ['PATH']}"
    sandboxed.shell("touch .venv/bin/newer")
    assert not (programs / "newer").exists()


def _by_settings(sandboxed: Sandboxed, key: str) -> None:
    policy = replace(OFF, writable=("cache/x",)) if key == "writable" else replace(OFF, readonly=("cache/x",))
    sandboxed.shell("true", policy=policy)
    sandboxed.shell("mv cache away; mkdir cache; ln -s ~/.ssh cache/x", policy=policy)
    sandboxed.shell("true", policy=policy)


def _by_the_task_folder(sandboxed: Sandboxed, key: str) -> None:
    site = sandboxed.site(writable=(sandboxed.workspace / "cache" / "x",))
    sandboxed.shell("mv cache away; mkdir cache; ln -s ~/.ssh cache/x")
    sandboxed.shell("true", site=site)


@pytest.mark.parametrize(
    ("key", "attempt"),
    [("writable", _by_settings), ("readonly", _by_settings), ("task", _by_the_task_folder)],
)
def test_a_listed_path_that_the_agent_made_a_link_is_not_followed(
    sandboxed: Sandboxed, key: str, attempt: Callable[[Sandboxed, str], None]
) -> None:
    (sandboxed.workspace / "cache" / "x").mkdir(parents=True)
    with pytest.raises(ConfigError, match="through a link where the agent may write"):
        attempt(sandboxed, key)

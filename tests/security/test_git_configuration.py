"""Programs that a repository's own git configuration names: our git runs none that its user did not agree to."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git_demands import git_demands
from tests.acceptance.conftest import DONE, PROMPT, Project

from .test_sandboxed_run import needs_bwrap


@pytest.fixture
def unpacked(project: Project, tmp_path: Path) -> Project:
    """As an archive with a .git in it: some commits, and attributes that ask for filters and drivers."""
    project.agent([{"run": "echo more >> file; echo new > new"}, {"say": DONE}])
    for arguments in (["init", "-q", "-b", "main"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=project.root, check=True)
    (project.root / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (project.root / "file").write_text("file\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "second")
    tool = project.root / "tool"
    tool.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/ESCAPED\ncat\n')
    tool.chmod(0o755)
    # Touched, so that git has to look at its content.
    os.utime(project.root / "file")
    return project


def run(project: Project, *, RALPH_TRUST: str = "1") -> subprocess.CompletedProcess[str]:  # noqa: N803
    arguments = ("--agent", "claude", "--guardrail", "test -f file", "--no-wait", "-m", "2")
    return project.ralph("run", "-p", PROMPT, *arguments, RALPH_TRUST=RALPH_TRUST)


ASKED = {
    "filter": '[filter "x"]\n\tclean = {tool}\n\tsmudge = {tool}\n',
    "process": '[filter "x"] process = {tool}\n',
    "dotted": "[filter.x]\nclean={tool}\n",
    "continued": '[filter "x"]\n\tclean = "{tool}" \\\n -v\n',
    "driver": '[merge "x"] driver = {tool} %A\n',
    "included": "[include]\n\tpath = ../more\n",
    "condition": '[includeIf "gitdir:**"]\n\tpath = ../more\n',
    "worktree": "[core]\n\tworktree = {elsewhere}\n",
    "lfs": '[lfs "customtransfer.x"]\n\tpath = {tool}\n',
    "long": "#" * 1_000_001 + '\n[filter "x"]\n\tclean = {tool}\n',
    "long include": "[include]\n\tpath = ../long\n",
    "many includes": "[include]\n" + "".join(f"\tpath = ../many{number}\n" for number in range(150)),
    "prefix": "[include]\n\tpath = %(prefix)/..{root}/more\n",
    "hook of the settings": '[hook "x"]\n\tcommand = {tool}\n\tevent = pre-commit\n',
}


@pytest.mark.parametrize("kind", ASKED)
def test_what_must_run_is_part_of_the_question_of_trust(unpacked: Project, tmp_path: Path, kind: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    tool = unpacked.root / "tool"
    (unpacked.root / "more").write_text(ASKED["filter"].format(tool=tool))
    (unpacked.root / "long").write_text(ASKED["long"].format(tool=tool))
    (unpacked.root / "many149").write_text(ASKED["filter"].format(tool=tool))
    with (unpacked.root / ".git" / "config").open("a") as config:
        config.write(ASKED[kind].format(tool=tool, elsewhere=tmp_path / "elsewhere", root=unpacked.root))
    ran = run(unpacked, RALPH_TRUST="")
    assert ran.returncode == 2, ran.stderr
    assert "is not trusted" in ran.stderr
    assert not (tmp_path / "ESCAPED").exists()
    # Agreed to, it runs as any git would run it.
    unpacked.ralph("trust", "--yes", check=0, RALPH_TRUST="")
    assert "is not trusted" not in run(unpacked, RALPH_TRUST="").stderr


OBEYED = {
    "missing": ("", "../more", True),
    "missing folder": ("", "../.dev/more", True),
    "harmless now": ("touch more", "../more", True),
    "link to it": ("touch more; ln -s ../more .git/more", "more", True),
    "link of the tree": ("touch ../more; ln -s .. up", "../up/more", True),
    "link of the tree on the way": ("touch ../more; ln -s .. up; ln -s ../up .git/up", "up/more", True),
    "missing elsewhere": ("", "../../more", True),
    "git's own": ("touch .git/more", "more", False),
    "elsewhere": ("touch ../more", "../../more", False),
}


@pytest.mark.parametrize("key", ["include.path", "includeIf.onbranch:x.path"])
@pytest.mark.parametrize("kind", OBEYED)
def test_an_include_that_a_checkout_may_bring_is_a_question_of_its_own(
    tmp_path: Path, kind: str, key: str
) -> None:
    script, value, is_asked = OBEYED[kind]
    top = tmp_path / "top"
    subprocess.run(["git", "init", "-q", top], check=True)
    subprocess.run(["sh", "-ec", script], cwd=top, check=True)
    subprocess.run(["git", "config", key, value], cwd=top, check=True)
    found = git_demands(top, top)
    assert [demand.means.startswith("makes git obey a file") for demand in found] == [True] * is_asked


def test_an_include_of_the_users_own_is_no_question(
    unpacked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "mine"))
    unpacked.git("config", "--global", "include.path", str(unpacked.root / "more"))
    assert git_demands(unpacked.root, unpacked.root) == ()


@pytest.mark.parametrize("kind", ["no repository", "no head", "long way", "nowhere"])
def test_what_only_looks_like_a_repository_hides_none(unpacked: Project, tmp_path: Path, kind: str) -> None:
    """Git passes over it, and takes the one above; or it follows a longer way than expected."""
    with (unpacked.root / ".git" / "config").open("a") as config:
        config.write(ASKED["filter"].format(tool=unpacked.root / "tool"))
    inner = unpacked.root / "inner"
    inner.mkdir()
    match kind:
        case "no repository":
            (inner / ".git").mkdir()
            (inner / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        case "no head":
            subprocess.run(["git", "init", "-q", inner], check=True)
            (inner / ".git" / "HEAD").write_text("nothing\n")
        case "long way":
            (inner / ".git").write_text("gitdir: ../.git" + "\n" * 20_000)
        case _:
            (inner / ".git").write_text("gitdir: ../gone\n")
    ran = unpacked.ralph("run", "-p", PROMPT, "--agent", "claude", cwd=inner, RALPH_TRUST="")
    assert ran.returncode == 2, ran.stderr
    assert "is not trusted" in ran.stderr
    assert not (tmp_path / "ESCAPED").exists()


def test_git_lfs_as_it_installs_itself_is_not_asked_about(unpacked: Project) -> None:
    for key, value in (
        ("clean", "git-lfs clean -- %f"),
        ("smudge", "git-lfs smudge -- %f"),
        ("process", "git-lfs filter-process"),
    ):
        unpacked.git("config", f"filter.lfs.{key}", value)
    assert "is not trusted" not in run(unpacked, RALPH_TRUST="").stderr


def test_a_worktrees_own_folder_is_no_question(unpacked: Project) -> None:
    unpacked.git("config", "core.worktree", str(unpacked.root))
    assert "is not trusted" not in run(unpacked, RALPH_TRUST="").stderr


NEVER = (
    "core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "core.pager",
    "core.alternateRefsCommand", "sequence.editor", "credential.helper", "gpg.program", "gpg.ssh.program",
    "diff.external", "diff.x.command", "diff.x.textconv", "gc.recentObjectsHook", "remote...uploadpack",
    "remote.origin.uploadpack", "trailer.x.command", "pager.status", "pager.diff", "pager.log", "interactive.diffFilter",
)  # fmt: skip


def test_all_others_never_run(unpacked: Project, tmp_path: Path) -> None:
    tool = str(unpacked.root / "tool")
    (unpacked.root / ".gitattributes").write_text("* diff=x\n")
    unpacked.git("commit", "-qam", "attributes")
    for key in NEVER:
        unpacked.git("config", key, tool)
    for key in ("commit.gpgSign", "tag.gpgSign", "log.showSignature", "merge.verifySignatures"):
        unpacked.git("config", key, "true")
    unpacked.git("config", "gc.auto", "1")
    unpacked.git("config", "alias.status", f"!{tool}")
    unpacked.git("config", "url.ext::sh -c true.insteadOf", ".")
    hooks = unpacked.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction", "post-merge"):
        shutil.copy(tool, hooks / name)
    ran = run(unpacked)
    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / "ESCAPED").exists(), (tmp_path / "ESCAPED").read_text()


@needs_bwrap
def test_a_filter_is_not_run_in_an_untrusted_project_even_in_a_sandbox(
    unpacked: Project, tmp_path: Path
) -> None:
    unpacked.git("config", "filter.x.clean", str(unpacked.root / "tool"))
    ran = unpacked.ralph("run", "-p", PROMPT, "--sandbox", "--agent", "claude", RALPH_TRUST="")
    assert ran.returncode == 2
    assert not (tmp_path / "ESCAPED").exists()


@needs_bwrap
def test_what_ralph_itself_puts_into_gits_folder_is_not_asked_about(project: Project, own_home: Path) -> None:
    """A sandbox keeps a ``commondir`` there while it is open: nobody finds it later, and a kill may leave it."""
    settings = own_home / ".config" / "ralph" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"sandbox": {"writable": [str(project.programs)]}}))
    subprocess.run(["git", "init", "-q", project.root], check=True)
    common_dir = project.root / ".git" / "commondir"
    project.agent([{"run": "test -f .git/commondir && touch seen"}, {"say": DONE}])
    run = ("run", "-p", PROMPT, "--agent", "claude", "--no-wait", "-m", "1")
    project.ralph("doctor", RALPH_TRUST="")
    assert not common_dir.exists()
    project.ralph(*run, "--sandbox=bwrap", check=0, RALPH_TRUST="")
    assert (project.root / "seen").exists()
    assert not common_dir.exists()
    common_dir.write_text(".\n")
    project.ralph(*run, check=0, RALPH_TRUST="")
    project.ralph(*run, "--sandbox=bwrap", check=0, RALPH_TRUST="")
    assert not common_dir.exists()
    common_dir.write_text("elsewhere\n")
    assert "is not trusted" in project.ralph(*run, check=2, RALPH_TRUST="").stderr


SCM = {
    "monitor": "git config core.fsmonitor ./tool",
    "hook": "mkdir -p .git/hooks; cp tool .git/hooks/pre-commit",
    "signature": "git config commit.gpgSign true; git config gpg.program ./tool",
}


@pytest.mark.parametrize("kind", SCM)
def test_what_the_user_s_own_git_would_run_is_asked_about_where_scm_is_used(
    unpacked: Project, tmp_path: Path, kind: str
) -> None:
    unpacked.git("rm", "-q", ".gitattributes")
    unpacked.git("commit", "-q", "-m", "no attributes")
    subprocess.run(SCM[kind], shell=True, cwd=unpacked.root, check=True)
    assert unpacked.ralph("trust", "--show", RALPH_TRUST="").returncode == 0
    own = Path(os.environ["XDG_CONFIG_HOME"], "ralph", "settings.json")
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps({"scm": {"command": "git", "tasks": ["commit"]}}))
    ran = run(unpacked, RALPH_TRUST="")
    assert (ran.returncode, "is not trusted" in ran.stderr) == (2, True), ran.stderr
    assert not (tmp_path / "ESCAPED").exists()
    unpacked.ralph("trust", "--yes", check=0, RALPH_TRUST="")
    assert "is not trusted" not in run(unpacked, RALPH_TRUST="").stderr

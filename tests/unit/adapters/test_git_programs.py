"""What a repository makes its user's own git run, or changes where it goes; and what plain work with git leaves there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph.adapters.git_programs import git_programs, push_addresses

ASKED = (
    "core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.editor", "sequence.editor", "core.askPass", "core.gitProxy",
    "core.pager", "core.alternateRefsCommand", "gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand",
    "credential.helper", "credential.https://a.b/c.helper", "remote.origin.uploadpack", "remote.origin.receivepack",
    "remote.origin.vcs", "remote.origin.proxy", "http.proxy", "diff.external", "diff.x.command", "diff.x.textconv",
    "alias.up", "protocol.ext.allow", "protocol.allow", "url.x.insteadOf", "url.x.pushInsteadOf", "pager.log",
    "interactive.diffFilter", "trailer.x.cmd", "trailer.x.command", "uploadpack.packObjectsHook", "gc.recentObjectsHook",
    "difftool.x.cmd", "mergetool.x.path", "sendemail.smtpServer", "sendemail.toCmd", "init.templateDir", "tar.x.command",
    "http.sslCAInfo", "http.sslCAPath", "http.sslCert", "http.sslKey", "http.sslBackend", "http.pinnedPubkey", "http.sslVerify",
    "http.https://a.b/.sslVerify", "http.extraHeader", "http.https://a.b/.extraHeader", "http.cookieFile", "http.saveCookies",
    "http.followRedirects", "http.https://a.b/.proxy", "http.proxySSLCAInfo", "http.proxyAuthMethod", "http.curloptResolve",
    "http.emptyAuth", "http.delegation", "http.ofALaterVersion", "credential.protectProtocol", "credential.ofALaterVersion",
    "remote.origin.proxyAuthMethod", "push.pushOption",
)  # fmt: skip
FREE = (
    ("core.fsmonitor", "true"), ("core.fsmonitor", "Off"), ("pager.log", "false"), ("submodule.x.update", "rebase"),
    ("protocol.ext.allow", "never"), ("protocol.version", "2"), ("user.name", "x"), ("commit.gpgSign", "true"),
    ("credential.helper", ""), ("branch.main.vscode-merge-base", "origin/main"), ("gc.auto", "0"), ("lfs.locksverify", "true"),
    ("http.sslVerify", "true"), ("http.followRedirects", "initial"), ("http.followRedirects", "false"), ("http.extraHeader", ""),
    ("http.postBuffer", "1"), ("http.version", "HTTP/1.1"), ("http.https://a.b/.userAgent", "x"), ("http.lowSpeedLimit", "1"),
    ("credential.username", "x"), ("credential.https://a.b.useHttpPath", "true"),
    ("pack.threads", "2"), ("merge.conflictStyle", "zdiff3"), ("core.autocrlf", "input"), ("push.default", "current"),
)  # fmt: skip


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    subprocess.run(command, cwd=folder, check=True, timeout=60, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A clone from which something was pushed."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin")
    git(tmp_path, "init", "-q", "-b", "main", "first")
    git(tmp_path / "first", "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path / "first", "push", "-q", "../origin", "main")
    git(tmp_path, "clone", "-q", "origin", "project")
    project = tmp_path / "project"
    git(project, "switch", "-q", "-c", "work")
    git(project, "push", "-q", "-u", "origin", "work")
    return project


def keys(project: Path) -> set[str]:
    return {one.key.lower() for one in git_programs(project)}


def test_plain_work_with_git_leads_to_no_question(project: Path) -> None:
    git(project, "submodule", "--quiet", "add", str(project.parent / "origin"), "sub")
    git(project, "worktree", "add", "-q", "../tree")
    for place in (project, project.parent / "first", project.parent / "tree", project.parent):
        assert git_programs(place) == ()
    for key, value in FREE:
        git(project, "config", "--add", key, value)
    assert git_programs(project) == ()


def test_whatever_names_a_program_or_another_address_is_asked_about(project: Path) -> None:
    for key in ASKED:
        git(project, "config", key, "./tool")
    git(project, "config", "submodule.x.update", "!./tool")
    expected = {key.lower() for key in (*ASKED, "submodule.x.update")}
    assert keys(project) == expected
    git(project, "worktree", "add", "-q", "../tree")
    assert keys(project.parent / "tree") == expected
    assert {one.source for one in git_programs(project)} == {str(project / ".git" / "config")}


@pytest.mark.parametrize("value", ["false", "0", "off", "No", ""])
def test_a_server_that_proves_nothing_is_asked_about(project: Path, value: str) -> None:
    git(project, "config", "http.sslVerify", value)
    assert keys(project) == {"http.sslverify"}


def test_a_header_is_named_and_its_secret_is_not(project: Path) -> None:
    """As actions/checkout leaves it there."""
    git(project, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic c2VjcmV0")
    (first,) = git_programs(project)
    assert (first.means, first.value) == ("makes git send", "AUTHORIZATION")
    assert "c2VjcmV0" not in repr(first)
    git(project, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic b3RoZXI=")
    (second,) = git_programs(project)
    assert second != first, "a yes to one is none to another"


def test_the_address_of_the_remote_that_is_used_is_named_without_its_password(project: Path) -> None:
    origin = str(project.parent / "origin")
    git(project, "remote", "add", "other", "https://example.com/other")
    assert [(one.means, one.value, one.key) for one in push_addresses(project, "origin")] == [
        ("pushes to", origin, "remote.origin.url")
    ]
    git(project, "config", "remote.origin.pushurl", "https://me:hunter2@ex@ample.com/o/r")
    (_, pushed) = push_addresses(project, "origin")
    assert (pushed.value, pushed.key) == ("https://ample.com/o/r", "remote.origin.pushurl")
    assert push_addresses(project, "nowhere") == ()
    assert git_programs(project) == (), "nobody else is asked about it"


def test_an_address_that_is_the_name_of_a_remote_leads_on(project: Path) -> None:
    git(project, "config", "remote.other.url", "https://a:b@example.com/o/r")
    git(project, "config", "remote.https://a:b@example.com/o/r.pushurl", "/srv/evil")
    values = [one.value for one in push_addresses(project, "other")]
    assert values == ["https://example.com/o/r", "/srv/evil"]
    assert "a:b" not in repr(push_addresses(project, "other"))


@pytest.mark.parametrize(
    ("folder", "text"), [("remotes", "URL: /srv/old\n"), ("branches", "/srv/old#main\n")]
)
def test_files_of_old_name_addresses_too(project: Path, folder: str, text: str) -> None:
    file = project / ".git" / folder / "old"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    ran = subprocess.run(
        ["git", "remote", "get-url", "old"], cwd=project, check=True, timeout=60, capture_output=True
    )
    assert ran.stdout == b"/srv/old\n"
    (one,) = push_addresses(project, "old")
    assert (one.value, one.source) == ("/srv/old", str(file))


def test_the_user_s_own_configuration_is_not(project: Path, tmp_path: Path) -> None:
    git(project, "config", "--global", "core.hooksPath", str(tmp_path))
    assert git_programs(project) == ()


def test_a_hook_is_known_by_its_content(project: Path) -> None:
    hook = project / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert git_programs(project) == ()
    hook.chmod(0o755)
    (first,) = git_programs(project)
    assert (first.value, first.source) == ("pre-commit", str(hook))
    hook.write_text("#!/bin/sh\n./tool\n")
    (second,) = git_programs(project)
    assert second.whole != first.whole


def test_a_submodule_s_programs_run_too(project: Path) -> None:
    """Git looks into it to see whether it is clean, known to .gitmodules or not."""
    git(project, "submodule", "--quiet", "add", str(project.parent / "origin"), "sub")
    git(project, "clone", "-q", "../origin", "other")
    git(project, "add", "other")
    git(project / "sub", "config", "core.fsmonitor", "./tool")
    git(project / "other", "config", "filter.x.clean", "./tool")
    assert keys(project) == {"core.fsmonitor", "filter.x.clean"}

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.forges.address import read_address
from ralph.adapters.forges.choice import find_forge
from ralph.adapters.forges.github import GitHub
from ralph.adapters.online.gh import GhTransport
from ralph.adapters.online.https import HttpsTransport
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.errors import RalphError, ServiceRefused, UsageError

SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


@pytest.mark.parametrize(
    ("address", "host", "path"),
    [
        ("https://github.com/o/r", "github.com", "o/r"),
        ("https://github.com/o/r.git", "github.com", "o/r"),
        ("https://github.com/o/r.git/", "github.com", "o/r"),
        ("https://GitHub.com/O/r.js.git", "github.com", "O/r.js"),
        (f"https://x:{SECRET}@github.com/o/r.git", "github.com", "o/r"),
        ("git@github.com:o/r.git", "github.com", "o/r"),
        ("github.com:o/r", "github.com", "o/r"),
        ("ssh://git@github.com:22/o/r", "github.com", "o/r"),
        ("ssh://git@ssh.github.com:443/o/r.git", "github.com", "o/r"),
        ("ssh://git@ghe.corp.example:2222/o/r.git", "ghe.corp.example", "o/r"),
        ("git://github.com/o/r.git", "github.com", "o/r"),
        ("https://gitlab.com/a/b/c.git", "gitlab.com", "a/b/c"),
        ("/srv/git/r.git", "", ""),
        ("../r.git", "", ""),
        ("./a:b", "", ""),
        ("file:///srv/git/r.git", "", ""),
        ("C:\\work\\r", "", ""),
        ("https://[broken/o/r", "", ""),
        ("ext::sh -c evil", "", ""),
        ("", "", ""),
    ],
)
def test_addresses(address: str, host: str, path: str) -> None:
    found = read_address(address)

    assert found.host == host
    assert found.path == path if host else True


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for address in (text, f"https://{text}", f"git@{text}"):
        assert isinstance(read_address(address).host, str)


def found(
    address: str, setting: str = "", environ: Mapping[str, str] | None = None, *, has_gh: bool = False
) -> Any:
    forge = find_forge(
        address,
        setting,
        environ=environ or {},
        find=lambda name: "/usr/bin/gh" if has_gh else None,
        runner=PosixProcessRunner(run_id="x", base_environment={}),
        cwd=Path("/"),
    )
    assert isinstance(forge, GitHub)
    transport = forge._api._transport._inner  # type: ignore[attr-defined]
    return transport, forge._root


TOKEN = {"GITHUB_TOKEN": SECRET}


def place(environ: Mapping[str, str], address: str = "https://github.com/o/r", setting: str = "") -> str:
    transport, _ = found(address, setting, environ)
    assert isinstance(transport, HttpsTransport)
    home = transport._home
    return f"{home.scheme}://{home.host}:{home.port}{transport._prefix}"


def test_gh_goes_before_a_token() -> None:
    assert isinstance(found("git@github.com:o/r.git", environ=TOKEN, has_gh=True)[0], GhTransport)
    assert isinstance(found("git@github.com:o/r.git", environ=TOKEN)[0], HttpsTransport)
    assert isinstance(found("git@github.com:o/r.git", environ={"GH_TOKEN": SECRET})[0], HttpsTransport)


def test_the_setting_goes_before_the_remote() -> None:
    assert found("/srv/r.git", "github.com/a/b", TOKEN)[1] == "repos/a/b"
    assert found("git@github.com:o/r.git", "", TOKEN)[1] == "repos/o/r"


@pytest.mark.parametrize(
    ("remote", "is_same"),
    [
        ("https://github.com/A/b.git", True),
        ("git@github.com:a/b", True),
        ("ssh://git@ssh.github.com:443/a/b", True),
        ("git@github-work:a/b.git", True),  # of the user's ssh configuration
        ("https://mirror.example.com/x/y", True),  # no forge that we know
        ("/srv/fork.git", True),
        ("https://github.com/fork/b.git", False),
        ("git@github.com:fork/b", False),
        ("git@github-work:fork/b", False),
        ("https://github.example.com/a/b", False),
    ],
)
def test_a_remote_of_another_repository_than_the_setting_s_is_refused(remote: str, is_same: bool) -> None:
    if is_same:
        assert found(remote, "github.com/a/b", TOKEN)[1] == "repos/a/b"
        return
    with pytest.raises(UsageError, match=r"but pullRequest.repository is github.com/a/b") as refused:
        found(remote, "github.com/a/b", TOKEN)
    assert "pullRequest.remote" in refused.value.hint


@pytest.mark.parametrize(
    ("environ", "address", "setting", "wanted"),
    [
        ({}, "https://github.com/o/r", "", "https://api.github.com:443"),
        ({}, "https://acme.ghe.com/o/r", "", "https://api.acme.ghe.com:443"),
        ({}, "", "code.corp.example/o/r", "https://code.corp.example:443/api/v3"),
        ({"GH_HOST": "code.corp"}, "git@code.corp:o/r", "", "https://code.corp:443/api/v3"),
        (
            {"GITHUB_API_URL": "http://127.0.0.1:81/x/"},
            "",
            "github.localhost/o/r",
            "http://127.0.0.1:81/x",
        ),
        (
            {"GITHUB_API_URL": "https://api.github.com", "GITHUB_SERVER_URL": "https://github.com"},
            "",
            "code.corp/o/r",
            "https://code.corp:443/api/v3",
        ),
    ],
)
def test_where_the_api_is(environ: Mapping[str, str], address: str, setting: str, wanted: str) -> None:
    assert place({**TOKEN, **environ}, address, setting) == wanted


@pytest.mark.parametrize(
    ("address", "setting", "environ", "kind", "words"),
    [
        ("https://gitlab.com/o/r", "", TOKEN, UsageError, "gitlab.com"),
        (f"https://x:{SECRET}@example.com/o/r", "", TOKEN, UsageError, "example.com"),
        ("/srv/r.git", "", TOKEN, UsageError, "no host"),
        ("https://github.com/just-an-owner", "", TOKEN, UsageError, "OWNER/NAME"),
        ("https://github.com/o/..", "", TOKEN, UsageError, "OWNER/NAME"),
        ("https://github.com/o/r%2Fx", "", TOKEN, UsageError, "OWNER/NAME"),
        ("https://github.com/o/r", "", {}, ServiceRefused, "no login for github.com"),
        ("https://github.evil.example/o/r", "", TOKEN, ServiceRefused, "not sent to github.evil.example"),
        ("https://github.com/o/r", "", {"GITHUB_TOKEN": "a b"}, ServiceRefused, "no token"),
        (
            "https://github.com/o/r",
            "",
            {**TOKEN, "GITHUB_API_URL": "http://api.example"},
            ServiceRefused,
            "https only",
        ),
        (
            "https://github.com/o/r",
            "",
            {**TOKEN, "GITHUB_API_URL": "ftp://127.0.0.1"},
            ServiceRefused,
            "https only",
        ),
    ],
)
def test_what_cannot_be_reached(
    address: str, setting: str, environ: Mapping[str, str], kind: type[RalphError], words: str
) -> None:
    with pytest.raises(kind) as caught:
        found(address, setting, environ)

    error = caught.value
    assert words in error.message
    assert error.hint
    assert SECRET not in f"{error.message} {error.hint}"


def test_no_token_of_a_server_goes_to_a_host_that_only_a_remote_names() -> None:
    strange, _ = found("https://github.evil.example/o/r", has_gh=True)
    named, _ = found("", "github.corp.example/o/r", has_gh=True)

    assert strange._environment["GH_ENTERPRISE_TOKEN"] == ""
    assert "GH_ENTERPRISE_TOKEN" not in named._environment

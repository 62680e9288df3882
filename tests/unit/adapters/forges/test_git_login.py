"""Which token git sends where it pushes: the same that the questions to that host go with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

import pytest

from ralph.adapters.forges.git_login import login_for
from ralph.adapters.online.github_login import token_name

BOTH = {"GITHUB_TOKEN": "hub", "GH_TOKEN": "also-hub", "GH_ENTERPRISE_TOKEN": "own"}


def sent(host: str, environ: Mapping[str, str]) -> str:
    """The password that git gets for a push there, by the very helper."""
    options = login_for(f"https://{host}/o/r", f"{host}/o/r", environ=environ, find=lambda _: None)
    configured = [part for option in options for part in ("-c", option)]
    ran = subprocess.run(
        ["git", *configured, "credential", "fill"],
        input=f"protocol=https\nhost={host}\n\n",
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0", **environ},
        text=True, timeout=60, capture_output=True, check=False,
    )  # fmt: skip
    return dict(line.partition("=")[::2] for line in ran.stdout.splitlines()).get("password", "")


@pytest.mark.parametrize(
    ("host", "environ", "token"),
    [
        ("github.com", BOTH, "hub"),
        ("a.ghe.com", BOTH, "hub"),
        ("git.example.com", BOTH, "own"),
        ("git.example.com", {"GITHUB_ENTERPRISE_TOKEN": "own", "GH_TOKEN": "hub"}, "own"),
        ("git.example.com", {"GITHUB_TOKEN": " ", "GH_TOKEN": "hub"}, "hub"),
        ("github.com", {"GH_ENTERPRISE_TOKEN": "own"}, ""),
    ],
)
def test_a_host_gets_its_own_token(host: str, environ: Mapping[str, str], token: str) -> None:
    assert sent(host, environ) == token
    assert environ.get(token_name(host, environ), "") == token


def test_a_host_that_only_the_remote_names_gets_none() -> None:
    assert login_for("https://evil.example/o/r", "github.com/o/r", environ=BOTH, find=lambda _: None) == ()

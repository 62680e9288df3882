"""Tools in the home folder can be used inside; the tokens that they keep beside themselves cannot be read."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ralph.adapters.own_programs import OwnPrograms

from .conftest import Sandboxed, git

STORES = [
    ".asdf/installs/nodejs/20.0.0/etc/npmrc",
    ".asdf/installs/rust/1.80.0/credentials.toml",
    ".aws/credentials",
    ".bun/.npmrc",
    ".bunfig.toml",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".config/git/credentials",
    ".config/pnpm/auth.ini",
    ".deno/credentials.json",
    ".docker/config.json",
    ".gem/credentials",
    ".git-credentials",
    ".gitconfig.local",
    ".local/share/gem/credentials",
    ".local/share/mise/installs/node/20.0.0/etc/npmrc",
    ".local/share/pnpm/.npmrc",
    ".local/share/uv/credentials/credentials.toml",
    ".local/share/uv/tools/black/pip.conf",
    ".m2/settings.xml",
    ".netrc",
    ".npm-global/etc/npmrc",
    ".npm-global/.npmrc",
    ".npmrc",
    ".nvm/versions/node/v20.0.0/etc/npmrc",
    ".pyenv/versions/3.11.2/pip.conf",
    ".pypirc",
    ".volta/hooks.json",
    ".volta/tools/image/node/20.0.0/etc/npmrc",
]

SETTINGS = [
    '[url "https://me:s3cret-value@host.example/"]\n\tinsteadOf = https://host.example/\n',
    "[http]\n\textraHeader = Authorization: Basic s3cret-value\n",
    "[github]\n\ttoken = s3cret-value\n",
]

TOOLS = [
    ".asdf/installs/nodejs/20.0.0/bin/tool",
    ".bun/bin/tool",
    ".cargo/bin/tool",
    ".deno/bin/tool",
    ".local/bin/tool",
    ".local/share/mise/installs/node/20.0.0/bin/tool",
    ".local/share/pnpm/tool",
    ".local/share/uv/python/cpython/bin/tool",
    ".local/share/uv/tools/black/bin/tool",
    ".npm-global/bin/tool",
    ".npm-global/lib/node_modules/tool/cli.js",
    ".nvm/versions/node/v20.0.0/bin/tool",
    ".pyenv/versions/3.11.2/bin/tool",
    ".volta/tools/image/node/20.0.0/bin/tool",
    "go/bin/tool",
]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_no_credentials_of_other_tools_are_seen_but_the_tools_are(
    sandboxed: Sandboxed, own_home: Path
) -> None:
    for name in STORES:
        write(own_home / name, "s3cret-value")
    for name in TOOLS:
        write(own_home / name, f"tool {name}\n")
    output = sandboxed.shell("find ~ -type f -exec grep -l s3cret-value {} +; find ~ -type f -exec cat {} +")
    assert "s3cret-value" not in output
    assert "denied" not in output
    assert [name for name in TOOLS if f"tool {name}\n" not in output] == []


@pytest.mark.parametrize("name", [".gitconfig", ".config/git/config"])
@pytest.mark.parametrize("secret", SETTINGS)
@pytest.mark.parametrize("is_link", [False, True])
def test_git_settings_are_shown_without_their_secrets(
    sandboxed: Sandboxed, own_home: Path, name: str, secret: str, is_link: bool
) -> None:
    settings = own_home / ("dotfiles/git" if is_link else name)
    write(settings, f"[alias]\n\tx = status\n{secret}")
    if is_link:
        (own_home / name).parent.mkdir(parents=True, exist_ok=True)
        (own_home / name).symlink_to(settings)
    output = sandboxed.shell("git config --get alias.x; git config --list; grep -rhs s3cret-value /run /tmp; "
                             "cat ~/.gitconfig ~/.config/git/config ~/dotfiles/git")  # fmt: skip
    assert output.startswith("status\n")
    assert "s3cret-value" not in output
    assert "s3cret-value" in settings.read_text()


def test_git_settings_without_secrets_are_the_users_own(sandboxed: Sandboxed, own_home: Path) -> None:
    write(own_home / ".gitconfig", "[user]\n\tname = The User\n")
    write(own_home / ".config/git/ignore", "ignored-by-the-user\n")
    write(sandboxed.workspace / "ignored-by-the-user", "")
    assert sandboxed.shell("git config user.name; git status --short") == "The User\n?? .ralph/\n"
    assert git(sandboxed.workspace, "status", "--short") == "?? .ralph/"


@pytest.mark.parametrize("name", ["PATH", "HOME"])
def test_variables_that_a_repository_gives_its_agent_uncover_nothing(
    sandboxed: Sandboxed, own_home: Path, tmp_path: Path, name: str
) -> None:
    write(own_home / "notes" / "bin" / "key", "s3cret-value")
    write(own_home / "notes" / "lib" / "key", "s3cret-value")
    other = {
        "PATH": f"{own_home}/.ssh:{own_home}/notes/bin:{sandboxed.environ['PATH']}",
        "HOME": str(tmp_path),
    }
    sandboxed.environ[name] = other[name]
    site = replace(sandboxed.site(), own=OwnPrograms({**os.environ, "HOME": str(own_home)}))
    output = sandboxed.shell('cat "$1"/.ssh/* "$1"/notes/*/* "$1"/.aws/*', str(own_home), site=site)
    assert "s3cret-value" not in output

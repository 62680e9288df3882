"""What a sandboxed process sees of this machine: tools, but neither homes nor secrets.

Of tools that people install in their home folder only programs and libraries are shown: many keep tokens beside them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from ralph.adapters.files import is_true, real_path
from ralph.adapters.isolation.place import How, Place, as_places, is_in, is_redirectable
from ralph.adapters.isolation.sandbox import Site

GIT_SETTINGS = (".gitconfig", ".config/git/config")
_PRIVATE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 they are replaced
_HOMES = ("/root", "/home")
_SECRETS_OF_ROOT = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab", "/etc/sudoers",
    "/etc/ssl/private", "/etc/sudoers.d", "/etc/kubernetes", "/var/lib/kubelet", "/var/spool/cron",
)  # fmt: skip
_TOOLS_IN_HOME = (
    ".asdf", ".bun/bin", ".bun/install", ".cargo/bin", ".config/git/attributes", ".config/git/hooks",
    ".config/git/ignore", ".deno/bin", ".local/bin", ".local/lib", ".local/share/claude/versions",
    ".local/share/mise/installs", ".local/share/mise/plugins", ".local/share/mise/shims", ".local/share/pnpm",
    ".local/share/uv/python", ".local/share/uv/tools", ".npm-global/bin", ".npm-global/lib", ".nvm", ".pyenv", ".rbenv",
    ".rustup", ".sdkman", ".volta", "go/bin", *GIT_SETTINGS,
)  # fmt: skip
_SECRETS_AMONG_TOOLS = (
    ".asdf/installs/*/*/.cargo/credentials*", ".asdf/installs/*/*/credentials*", ".asdf/installs/*/*/etc/npmrc",
    ".asdf/installs/*/*/pip.conf", ".local/share/mise/installs/*/*/credentials*",
    ".local/share/mise/installs/*/*/etc/npmrc", ".local/share/mise/installs/*/*/pip.conf", ".local/share/pnpm/.npmrc",
    ".local/share/pnpm/auth.ini", ".local/share/pnpm/global/*/.npmrc", ".local/share/pnpm/rc",
    ".local/share/uv/*/*/pip.conf", ".nvm/.npmrc", ".nvm/versions/*/*/etc/npmrc", ".pyenv/versions/*/.condarc",
    ".pyenv/versions/*/pip.conf", ".rbenv/versions/*/.gem/credentials", ".volta/hooks.json",
    ".volta/tools/image/*/*/etc/npmrc",
)  # fmt: skip
_PROGRAMS = ("bin", "sbin")
_TOOLS_ELSEWHERE = ("/home/linuxbrew",)
_OF_AN_INSTALLATION = ("bin", "include", "lib", "lib64", "libexec", "pyvenv.cfg", "share", "ssl")


def machine_places(site: Site, writable: Iterable[Path]) -> list[Place]:
    """``writable``: where an agent could have made links."""
    home = real_path(site.home)
    hidden = _hidden(home, Path(site.own.environment.get("HOME") or "/root"))
    tools = [*_tools(site, home, hidden, [*writable])]
    secrets = (*_readable_secrets(), *_secrets_among_tools(home))
    return [*as_places(How.HIDDEN, hidden), *tools, *as_places(How.MASKED, secrets)]


def _hidden(*homes: Path) -> list[Path]:
    """``homes``: the agent's and our own. They differ if the settings give the agent another one."""
    real = (real_path(home) for home in homes)
    candidates = dict.fromkeys((*(Path(name) for name in (*_PRIVATE, *_HOMES)), *real))
    return [path for path in candidates if path.is_dir() and not path.is_symlink()]


@cache
def _readable_secrets() -> tuple[Path, ...]:
    """What not everyone may read but we could, also from inside."""
    named = [path for name in _SECRETS_OF_ROOT if os.access(path := Path(name), os.R_OK)]
    return (*named, *_private_in(Path("/etc")))


def _private_in(top: Path) -> Iterator[Path]:
    waiting = [str(top)]
    while waiting:
        try:
            entries = [*os.scandir(waiting.pop())]
        except OSError:
            continue
        for entry in entries:
            with contextlib.suppress(OSError):  # deleted meanwhile
                found = entry.stat(follow_symlinks=False)
                mode = found.st_mode
                if not stat.S_ISDIR(mode) and not (stat.S_ISREG(mode) and found.st_size):
                    continue
                if not mode & stat.S_IROTH and os.access(entry.path, os.R_OK):
                    yield Path(entry.path)
                elif stat.S_ISDIR(mode):
                    waiting.append(entry.path)


def _tools(site: Site, home: Path, hidden: list[Path], writable: list[Path]) -> Iterator[Place]:
    """Visible, read-only."""
    candidates = [home / name for name in _TOOLS_IN_HOME]
    candidates += [Path(name) for name in _TOOLS_ELSEWHERE]
    candidates += [Path(top, part) for top in (sys.prefix, sys.base_prefix) for part in _OF_AN_INSTALLATION]
    candidates.append(Path(__file__).parents[2])
    # Ours, not the agent's: a repository's settings could name any folder of the home in that.
    for folder in map(Path, site.own.environment["PATH"].split(os.pathsep)):
        candidates += (folder, *_packages(folder))
        if folder.name in _PROGRAMS:
            candidates.append(folder.parent / "lib")
    for name in site.programs:
        found = shutil.which(site.workspace / name if os.sep in name else name, path=site.path)
        if found is None:
            continue
        program = Path(found)
        candidates += _around(program)
        if not is_redirectable(program, writable):
            candidates += _around(real_path(program))
    for candidate in dict.fromkeys(candidates):
        if not candidate.is_absolute() or not is_true(candidate.exists):
            continue
        path = real_path(candidate)
        is_hidden = any(is_in(path, folder) for folder in hidden)
        is_uncovering = any(is_in(folder, path) for folder in hidden)
        if is_hidden and not is_uncovering and not is_redirectable(candidate, writable):
            yield Place(path, How.READABLE)
            by_link = real_path(candidate.parent) / candidate.name
            if by_link != path and any(is_in(by_link, folder) for folder in hidden):
                yield Place(by_link, How.READABLE, path)


def _around(program: Path) -> Iterator[Path]:
    """A folder of programs, with its libraries, or packages. People keep scripts beside their secrets."""
    folder = program.parent
    if packages := [*_packages(folder)]:
        yield from packages
    elif folder.name in _PROGRAMS:
        yield from (folder, folder.parent / "lib")
    else:
        yield program


def _packages(folder: Path) -> Iterator[Path]:
    """All that npm has put there together: what a package needs may be beside it, not below."""
    if "node_modules" in folder.parts:
        yield Path(*folder.parts[: folder.parts.index("node_modules") + 1])


def _secrets_among_tools(home: Path) -> Iterator[Path]:
    for pattern in _SECRETS_AMONG_TOOLS:
        with contextlib.suppress(OSError):  # a folder that may not be searched shows nothing inside either
            yield from (real_path(path) for path in home.glob(pattern))

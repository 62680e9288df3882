"""Which part of the file system a process in a namespace sees, and how: decided here, mounted by bwrap."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path

from ralph.adapters.isolation.git_places import git_places
from ralph.adapters.isolation.site import Site
from ralph.domain.sandbox.needs import AgentNeeds
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.errors import ConfigError


class How(IntEnum):
    """Of two for the same path the higher wins."""

    HIDDEN = 0  #: an empty folder of its own
    READABLE = 1
    WRITABLE = 2
    PROTECTED = 3  #: readable, although it lies in something writable
    MASKED = 4  #: an empty file in its place
    BARRED = 5  #: nothing is there, and nothing can be made there


@dataclass(frozen=True, slots=True)
class Place:
    path: Path
    how: How


_PRIVATE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 the names of what is replaced
_HOMES = ("/root", "/home")
_SECRETS_OF_ROOT = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab", "/etc/sudoers",
    "/etc/ssl/private", "/etc/sudoers.d", "/etc/kubernetes", "/var/lib/kubelet", "/var/spool/cron",
)  # fmt: skip
_TOOLS_IN_HOME = (
    ".asdf", ".bun", ".cargo/bin", ".config/git", ".deno", ".gitconfig", ".local/bin", ".local/lib",
    ".local/share/claude", ".local/share/mise", ".local/share/pnpm", ".local/share/uv", ".npm-global", ".nvm",
    ".pyenv", ".rbenv", ".rustup", ".sdkman", ".volta", "go/bin",
)  # fmt: skip
_TOOLS_ELSEWHERE = ("/home/linuxbrew",)
_LOCAL_SETTINGS = "settings.local.json"


def places(site: Site, policy: SandboxPolicy, needs: AgentNeeds) -> tuple[Place, ...]:
    """In the order in which they must be mounted: what lies deeper comes later."""
    home = site.home.resolve()
    project = project_places(site, policy, needs)
    hidden = _hidden(home)
    found = [Place(path, How.HIDDEN) for path in hidden]
    found += [Place(path, How.MASKED) for path in _readable_secrets()]
    writable = [place.path for place in project if place.how is How.WRITABLE]
    found += [Place(path, How.READABLE) for path in _tools(site, home, hidden, writable)]
    return _in_order((*found, *project))


def project_places(site: Site, policy: SandboxPolicy, needs: AgentNeeds) -> tuple[Place, ...]:
    """What belongs to the project, the agent and the user's lists: the same for every kind of sandbox."""
    workspace, home = site.workspace.resolve(), site.home.resolve()
    _require_confinable(workspace, home, "the workspace")
    found = [Place(home / name, How.READABLE) for name in needs.readonly if (home / name).exists()]
    states = [(home / name).resolve() for name in needs.state if (home / name).is_dir()]
    found += [Place(path, How.WRITABLE) for path in (workspace, *states)]
    writable = [workspace, *states]
    for path in _listed(policy.writable, site, "sandbox.writable", writable):
        _require_confinable(path, home, f"sandbox.writable: {path}")
        found.append(Place(path, How.WRITABLE))
        writable.append(path)
    listed = _listed(policy.readonly, site, "sandbox.readonly", writable)
    found += [Place(path, How.READABLE) for path in listed]
    found += [Place(path, How.PROTECTED) for path in _protected(home, needs)]
    git = git_places(workspace)
    if git.top is not None and not _is_in(home, git.top):
        found.append(Place(git.top, How.READABLE))  # else all that is not shown would look deleted
    found += [Place(path, How.WRITABLE) for path in git.writable]
    found += [Place(path, How.PROTECTED) for path in git.readonly]
    found += [Place(path, How.BARRED) for path in git.barred]
    found += [Place(path, How.PROTECTED) for path in _records(site, workspace)]
    found += [Place(path, How.MASKED) for path in _local_settings(site, workspace)]
    found += [Place(_led(path, writable, str(path)), How.WRITABLE) for path in site.writable]
    return _in_order(found)


def make_protected(home: Path, needs: AgentNeeds) -> None:
    """What is protected but missing is made, empty, or the agent would make it.

    It stays: to take it away would uncover it in the sandboxes of other runs.
    """
    for name in needs.protected:
        path = home / name
        if path.parent.is_dir() and not path.exists():
            if name.endswith("/"):
                path.mkdir(exist_ok=True)
            else:
                path.write_text("{}\n" if path.suffix == ".json" else "")


def protected_paths(site: Site) -> Iterator[Path]:
    """What the user's own sessions would run, as they find it."""
    return (site.home.resolve() / name for name in site.needs.protected)


def links_into_hidden(paths: Iterable[Path], hidden: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Symbolic links on the way to ``paths`` that lie in hidden folders: (the link, where it leads)."""
    covered = tuple(hidden)
    seen: set[Path] = set()
    for path in paths:
        for step in (*reversed(path.parents), path):
            place = step.parent.resolve() / step.name
            if step.is_symlink() and place not in seen and any(_is_in(place, folder) for folder in covered):
                seen.add(place)
                yield place, step.resolve()


def host_sockets(visible: Iterable[Place]) -> Iterator[Path]:
    """Sockets of services on this machine that would still be reachable: reading is enough to connect."""
    covers = list(visible)
    try:
        lines = Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]
    except OSError:
        return
    paths = {Path(fields[7]) for line in lines if len(fields := line.split(None, 7)) == 8}
    for path in sorted(paths):
        if path.is_absolute() and path.is_socket() and _how(path, covers) in (None, How.READABLE):
            yield path


def _how(path: Path, covers: Iterable[Place]) -> How | None:
    """How the deepest place over ``path`` shows it; None: it is part of the read-only root."""
    over = [place for place in covers if _is_in(path, place.path)]
    return max(over, key=lambda place: len(place.path.parts)).how if over else None


def _in_order(found: Iterable[Place]) -> tuple[Place, ...]:
    chosen: dict[Path, How] = {}
    for place in found:
        chosen[place.path] = max(place.how, chosen.get(place.path, How.HIDDEN))
    for path in _renamable(chosen):
        chosen[path] = How.WRITABLE
    return tuple(Place(path, chosen[path]) for path in sorted(chosen, key=lambda path: path.parts))


def _renamable(chosen: Mapping[Path, How]) -> list[Path]:
    """Folders between something writable and what is protected in it.

    Unless it is a place itself, a folder could be renamed with what is protected, and another put where it was.
    """
    found: list[Path] = []
    for path, how in chosen.items():
        if how > How.WRITABLE:
            between: list[Path] = []
            for folder in path.parents:
                if folder in chosen:
                    found += between if chosen[folder] is How.WRITABLE else ()
                    break
                between.append(folder)
    return found


def _hidden(home: Path) -> list[Path]:
    candidates = dict.fromkeys((*(Path(name) for name in (*_PRIVATE, *_HOMES)), home))
    return [path for path in candidates if path.is_dir() and not path.is_symlink()]


@cache
def _readable_secrets() -> tuple[Path, ...]:
    """What not everybody may read, and we, inside too, still could."""
    named = [path for name in _SECRETS_OF_ROOT if os.access(path := Path(name), os.R_OK)]
    return (*named, *_private_in(Path("/etc")))


def _private_in(folder: Path) -> Iterator[Path]:
    try:
        entries = [*os.scandir(folder)]
    except OSError:
        return
    for entry in entries:
        with contextlib.suppress(OSError):  # gone meanwhile
            found = entry.stat(follow_symlinks=False)
            mode = found.st_mode
            if not stat.S_ISDIR(mode) and not (stat.S_ISREG(mode) and found.st_size):
                continue
            if not mode & stat.S_IROTH and os.access(entry.path, os.R_OK):
                yield Path(entry.path)
            elif stat.S_ISDIR(mode):
                yield from _private_in(Path(entry.path))


def _tools(site: Site, home: Path, hidden: list[Path], writable: list[Path]) -> Iterator[Path]:
    """Programs that people install in their home: shown, read-only."""
    candidates = [home / name for name in _TOOLS_IN_HOME]
    candidates += [Path(name) for name in _TOOLS_ELSEWHERE]
    candidates += [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
    for folder in map(Path, site.path.split(os.pathsep)):
        candidates.append(folder)
        if folder.name in ("bin", "sbin"):
            candidates.append(folder.parent / "lib")
    for name in site.programs:
        program = Path(shutil.which(name, path=site.path) or site.workspace / name)
        candidates.append(program.parent)
        if not _is_led(program, writable):
            candidates.append(program.resolve().parent)
    for candidate in dict.fromkeys(candidates):
        if not candidate.is_absolute() or not candidate.exists():
            continue
        path = candidate.resolve()
        is_uncovering = any(_is_in(folder, path) for folder in hidden)
        if _how_hidden(path, hidden) and not is_uncovering and not _is_led(candidate, writable):
            yield path


def _how_hidden(path: Path, hidden: Iterable[Path]) -> bool:
    return any(_is_in(path, folder) for folder in hidden)


def _protected(home: Path, needs: AgentNeeds) -> Iterator[Path]:
    """What the user's own sessions would run."""
    return (path.resolve() for name in needs.protected if (path := home / name).exists())


def _records(site: Site, workspace: Path) -> Iterator[Path]:
    candidates = (site.state_folder, workspace / ".ralph", workspace / ".ralph-active")
    yield from (path.resolve() for path in candidates if path.exists())


def _local_settings(site: Site, workspace: Path) -> Iterator[Path]:
    """The user's own settings are where secrets belong."""
    for folder in (site.state_folder, workspace / ".ralph"):
        if (path := folder / _LOCAL_SETTINGS).is_file():
            yield path.resolve()


def _listed(written: Iterable[str], site: Site, key: str, writable: Iterable[Path]) -> Iterator[Path]:
    for text in written:
        path = Path(text)
        if path.parts[:1] == ("~",):
            path = site.home.joinpath(*path.parts[1:])
        path = site.workspace / path
        if not path.exists():
            message = f"{key}: {text} does not exist"
            raise ConfigError(message, hint="make it, or take it off the list in .ralph/settings.json")
        yield _led(path, writable, f"{key}: {text}")


def _led(path: Path, writable: Iterable[Path], what: str) -> Path:
    """Where it leads; raises ConfigError if that is out of what is writable, by a link that an agent could have made."""
    folders, end = [*writable], path.resolve()
    if _is_led(path, folders) and not any(_is_in(end, folder) for folder in folders):
        message = f"{what} leads to {end}, by a link in a place where the agent may write"
        raise ConfigError(message, hint="remove the link, or name the place itself")
    return end


def _is_led(path: Path, writable: Iterable[Path]) -> bool:
    """Whether who may write there decides where ``path`` leads."""
    folders = {*writable}
    for step in (path, *path.parents):
        real = step.parent.resolve()
        if real in folders or not folders.isdisjoint(real.parents):
            return True
    return False


def _require_confinable(path: Path, home: Path, what: str) -> None:
    for folder, name in ((home, "your home folder"), (Path("/etc"), "the system's folders")):
        if _is_in(folder, path):
            message = f"{what} ({path}) contains {name}: a sandbox that may write there confines nothing"
            raise ConfigError(message, hint="work in a folder of its own, or use --no-sandbox")


def _is_in(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents

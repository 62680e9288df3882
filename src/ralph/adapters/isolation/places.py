"""Which parts of the file system a sandboxed process sees, and how."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from ralph.adapters.files import is_true
from ralph.adapters.isolation.git_places import git_places
from ralph.adapters.isolation.place import How, Place, as_places, is_in
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.isolation.sockets import host_sockets
from ralph.domain.agent.facts import AgentNeeds
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.errors import ConfigError

_PRIVATE = ("/tmp", "/var/tmp", "/run")  # noqa: S108 they are replaced
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
    """In the order in which they must be mounted: deeper ones later."""
    home = site.home.resolve()
    project = project_places(site, policy, needs)
    hidden = _hidden(home)
    writable = [place.path for place in project if place.how is How.WRITABLE]
    found = [*as_places(How.HIDDEN, hidden), *as_places(How.MASKED, _readable_secrets())]
    tools = as_places(How.READABLE, _tools(site, home, hidden, writable))
    visible = _in_order((*found, *tools, *project))
    return _in_order((*visible, *as_places(How.MASKED, host_sockets(visible, site.workspace))))


def project_places(site: Site, policy: SandboxPolicy, needs: AgentNeeds) -> tuple[Place, ...]:
    """What belongs to the project, the agent and the lists in the settings: the same for every sandbox."""
    workspace, home = site.workspace.resolve(), site.home.resolve()
    _require_confinable(workspace, home, "the workspace")
    found = as_places(
        How.READABLE, (path for name in needs.readonly if is_true((path := home / name).exists))
    )
    writable = [
        workspace,
        *((home / name).resolve() for name in needs.state if is_true((home / name).is_dir)),
    ]
    found += as_places(How.WRITABLE, writable)
    for path in _listed(policy.writable, site, "sandbox.writable", writable):
        _require_confinable(path, home, f"sandbox.writable: {path}")
        found.append(Place(path, How.WRITABLE))
        writable.append(path)
    found += as_places(How.READABLE, _listed(policy.readonly, site, "sandbox.readonly", writable))
    found += as_places(
        How.PROTECTED, (path.resolve() for path in protected_paths(site, needs) if path.exists())
    )
    git = git_places(workspace)
    if git.top is not None and not is_in(home, git.top):
        found.append(Place(git.top, How.READABLE))  # or everything outside the workspace would look deleted
    found += as_places(How.WRITABLE, git.writable)
    found += as_places(How.PROTECTED, git.readonly)
    found += as_places(How.BARRED, git.barred)
    found += as_places(How.PROTECTED, _records(site, workspace))
    found += as_places(How.MASKED, _local_settings(site, workspace))
    found += as_places(How.WRITABLE, (_target(path, writable, str(path)) for path in site.writable))
    return _in_order(found)


def make_protected(home: Path, needs: AgentNeeds) -> None:
    """Create what is protected but missing, empty, or the agent could.

    It stays: removing it would uncover it in the sandboxes of other runs.
    """
    for name in needs.protected:
        path = home / name
        if path.parent.is_dir() and not path.exists():
            if name.endswith("/"):
                path.mkdir(exist_ok=True)
            else:
                path.write_text("{}\n" if path.suffix == ".json" else "")


def protected_paths(site: Site, needs: AgentNeeds) -> Iterator[Path]:
    """What the user's own sessions would run; links not resolved."""
    return (site.home.resolve() / name for name in needs.protected)


def links_into_hidden(paths: Iterable[Path], hidden: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Symbolic links on the way to ``paths`` inside hidden folders: (the link, where it leads)."""
    covered = tuple(hidden)
    seen: set[Path] = set()
    for path in paths:
        for step in (*reversed(path.parents), path):
            place = step.parent.resolve() / step.name
            if step.is_symlink() and place not in seen and any(is_in(place, folder) for folder in covered):
                seen.add(place)
                yield place, step.resolve()


def _in_order(found: Iterable[Place]) -> tuple[Place, ...]:
    chosen: dict[Path, How] = {}
    for place in found:
        chosen[place.path] = max(place.how, chosen.get(place.path, How.HIDDEN))
    for path in _renamable(chosen):
        chosen[path] = How.WRITABLE
    return tuple(Place(path, chosen[path]) for path in sorted(chosen, key=lambda path: path.parts))


def _renamable(chosen: Mapping[Path, How]) -> list[Path]:
    """Folders between something writable and something protected inside it.

    Unless it is a place itself, such a folder could be renamed, with what it protects, and replaced by another.
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
    """What not everyone may read but we could, also from inside."""
    named = [path for name in _SECRETS_OF_ROOT if os.access(path := Path(name), os.R_OK)]
    return (*named, *_private_in(Path("/etc")))


def _private_in(folder: Path) -> Iterator[Path]:
    try:
        entries = [*os.scandir(folder)]
    except OSError:
        return
    for entry in entries:
        with contextlib.suppress(OSError):  # deleted meanwhile
            found = entry.stat(follow_symlinks=False)
            mode = found.st_mode
            if not stat.S_ISDIR(mode) and not (stat.S_ISREG(mode) and found.st_size):
                continue
            if not mode & stat.S_IROTH and os.access(entry.path, os.R_OK):
                yield Path(entry.path)
            elif stat.S_ISDIR(mode):
                yield from _private_in(Path(entry.path))


def _tools(site: Site, home: Path, hidden: list[Path], writable: list[Path]) -> Iterator[Path]:
    """Programs that people install in their home folder: visible, read-only."""
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
        if not _is_redirectable(program, writable):
            candidates.append(program.resolve().parent)
    for candidate in dict.fromkeys(candidates):
        if not candidate.is_absolute() or not is_true(candidate.exists):
            continue
        path = candidate.resolve()
        is_hidden = any(is_in(path, folder) for folder in hidden)
        is_uncovering = any(is_in(folder, path) for folder in hidden)
        if is_hidden and not is_uncovering and not _is_redirectable(candidate, writable):
            yield path


def _records(site: Site, workspace: Path) -> Iterator[Path]:
    candidates = (site.state_folder, workspace / ".ralph", workspace / ".ralph-active")
    yield from (path.resolve() for path in candidates if path.exists())


def _local_settings(site: Site, workspace: Path) -> Iterator[Path]:
    """The user's own settings may hold secrets."""
    for folder in (site.state_folder, workspace / ".ralph"):
        if (path := folder / _LOCAL_SETTINGS).is_file():
            yield path.resolve()


def _listed(written: Iterable[str], site: Site, key: str, writable: Iterable[Path]) -> Iterator[Path]:
    for text in written:
        path = Path(text)
        if path.parts[:1] == ("~",):
            path = site.home.joinpath(*path.parts[1:])
        path = site.workspace / path
        if not is_true(path.exists):
            message = f"{key}: {text} does not exist"
            raise ConfigError(message, hint="create it, or remove it from the list in .ralph/settings.json")
        yield _target(path, writable, f"{key}: {text}")


def _target(path: Path, writable: Iterable[Path], what: str) -> Path:
    """Where it leads. Raises ConfigError if a link that an agent could have made leads out of what is writable."""
    folders, end = [*writable], path.resolve()
    if _is_redirectable(path, folders) and not any(is_in(end, folder) for folder in folders):
        message = f"{what} leads to {end}, through a link where the agent may write"
        raise ConfigError(message, hint="remove the link, or give the real path")
    return end


def _is_redirectable(path: Path, writable: Iterable[Path]) -> bool:
    """Whether anyone who may write to ``writable`` decides where ``path`` leads."""
    folders = {*writable}
    for step in (path, *path.parents):
        real = step.parent.resolve()
        if real in folders or not folders.isdisjoint(real.parents):
            return True
    return False


def _require_confinable(path: Path, home: Path, what: str) -> None:
    for folder, name in ((home, "your home folder"), (Path("/etc"), "the system's folders")):
        if is_in(folder, path):
            message = f"{what} ({path}) contains {name}: a sandbox that can write there confines nothing"
            raise ConfigError(message, hint="work in a separate folder, or use --no-sandbox")

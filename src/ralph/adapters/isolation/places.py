"""Which parts of the file system a sandboxed process sees, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ralph.adapters.files import expand_home, is_true, real_path
from ralph.adapters.isolation.agent_state import survey_state
from ralph.adapters.isolation.git_places import git_places
from ralph.adapters.isolation.machine import machine_places
from ralph.adapters.isolation.own_places import own_places
from ralph.adapters.isolation.place import How, Place, as_places, is_in, is_redirectable
from ralph.adapters.isolation.record import record_places
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.isolation.sockets import host_sockets
from ralph.adapters.isolation.user_places import user_places
from ralph.domain.agent.facts import AgentNeeds
from ralph.domain.sandbox.policy import SandboxPolicy
from ralph.errors import ConfigError


def places(site: Site, policy: SandboxPolicy, needs: AgentNeeds) -> tuple[Place, ...]:
    """In the order in which they must be mounted: deeper ones later."""
    project = project_places(site, policy, needs)
    writable = (place.real for place in project if place.how is How.WRITABLE)
    visible = _in_order((*machine_places(site, writable), *project))
    return _in_order((*visible, *as_places(How.MASKED, host_sockets(visible, site.workspace))))


def project_places(site: Site, policy: SandboxPolicy, needs: AgentNeeds) -> tuple[Place, ...]:
    """What belongs to the project, the agent and the lists in the settings: the same for every sandbox."""
    workspace, home = real_path(site.workspace), real_path(site.home)
    _require_confinable(workspace, home, "the workspace")
    found = as_places(
        How.READABLE, (path for name in needs.readonly if is_true((path := home / name).exists))
    )
    writable = [workspace]
    found += as_places(How.WRITABLE, writable)
    state = survey_state(site, needs)
    found += state.places
    for source in state.sources:
        if is_in(workspace, source):
            message = f"the workspace ({workspace}) is part of what your own agents run"
            raise ConfigError(message, hint="work on a copy of it, or use --no-sandbox")
        if is_in(source, workspace):
            found.append(Place(source, How.PROTECTED))
    for path in _listed(policy.writable, site, "sandbox.writable", writable):
        _require_confinable(path, home, f"sandbox.writable: {path}")
        found.append(Place(path, How.WRITABLE))
        writable.append(path)
    found += as_places(How.READABLE, _listed(policy.readonly, site, "sandbox.readonly", writable))
    git = git_places(workspace)
    if git.top is not None and not is_in(home, git.top):
        found.append(Place(git.top, How.READABLE))  # or everything outside the workspace would look deleted
    found += as_places(How.READABLE, git.readable)
    found += as_places(How.WRITABLE, git.writable)
    found += as_places(How.PROTECTED, git.readonly)
    found += as_places(How.BARRED, git.barred)
    found += record_places(site, workspace)
    made = filter(Path.exists, site.writable)  # the others are, before the first session
    found += as_places(How.WRITABLE, (_target(path, writable, str(path)) for path in made))
    found += own_places(site, found)
    found += user_places(found)
    return _in_order(found)


def links_into_hidden(paths: Iterable[Path], hidden: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    """Symbolic links on the way to ``paths`` inside hidden folders: (the link, where it leads)."""
    covered = tuple(hidden)
    seen: set[Path] = set()
    for path in paths:
        if real_path(path) == path:
            continue
        for step in (*reversed(path.parents), path):
            place = real_path(step.parent) / step.name
            if (
                is_true(step.is_symlink)
                and place not in seen
                and any(is_in(place, folder) for folder in covered)
            ):
                seen.add(place)
                yield place, real_path(step)


def _in_order(found: Iterable[Place]) -> tuple[Place, ...]:
    chosen: dict[Path, Place] = {}
    for place in found:
        if place.path not in chosen or place.how > chosen[place.path].how:
            chosen[place.path] = place
    for path in _renamable(chosen):
        chosen[path] = Place(path, How.WRITABLE)
    return tuple(chosen[path] for path in sorted(chosen, key=lambda path: path.parts))


def _renamable(chosen: Mapping[Path, Place]) -> list[Path]:
    """Folders between something writable and something protected inside it.

    Unless it is a place itself, such a folder could be renamed, with what it protects, and replaced by another.
    """
    found: list[Path] = []
    for path, place in chosen.items():
        if place.how > How.WRITABLE:
            between: list[Path] = []
            for folder in path.parents:
                if folder in chosen:
                    found += between if chosen[folder].how is How.WRITABLE else ()
                    break
                between.append(folder)
    return found


def _listed(written: Iterable[str], site: Site, key: str, writable: Iterable[Path]) -> Iterator[Path]:
    for text in written:
        path = site.workspace / expand_home(text, site.environ)
        if not is_true(path.exists):
            message = f"{key}: {text} does not exist"
            raise ConfigError(message, hint="create it, or remove it from the list in .ralph/settings.json")
        yield _target(path, writable, f"{key}: {text}")


def _target(path: Path, writable: Iterable[Path], what: str) -> Path:
    """Where it leads. Raises ConfigError if a link that an agent could have made leads out of what is writable."""
    folders, end = [*writable], real_path(path)
    if is_redirectable(path, folders) and not any(is_in(end, folder) for folder in folders):
        message = f"{what} leads to {end}, through a link where the agent may write"
        raise ConfigError(message, hint="remove the link, or give the real path")
    return end


def _require_confinable(path: Path, home: Path, what: str) -> None:
    for folder, name in ((home, "your home folder"), (Path("/etc"), "the system's folders")):
        if is_in(folder, path):
            message = f"{what} ({path}) contains {name}: a sandbox that can write there confines nothing"
            raise ConfigError(message, hint="work in a separate folder, or use --no-sandbox")

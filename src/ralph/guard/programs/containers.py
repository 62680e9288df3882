"""Containers: what runs inside is judged where it touches this machine, through mounts, or the data of a database."""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph.guard.families.containers import ENGINES
from ralph.guard.lazy_pattern import LazyPattern
from ralph.guard.marks import TEMPORARY_FOLDER, UNKNOWN
from ralph.guard.options import base_name, read_own_words, words_after_options, words_in
from ralph.guard.places import Place, join_path
from ralph.guard.shell.scope import Scope
from ralph.guard.walk import DangerFound, Start, Walk, refuse

_GLOBAL_VALUED = words_in(
    "-H --host -c --context -l --log-level -f --file -p --project-name --profile -n --namespace --kubeconfig"
)
_VALUED = words_in(
    "-v --volume --mount -w --workdir -e --env -p --publish -u --user -h --hostname -m --memory -l --label -a --attach --name"
    " --network --net --entrypoint --env-file --add-host --platform --restart --ulimit --device --cap-add --cap-drop --cpus"
    " --security-opt --shm-size --tmpfs --pull --ipc --pid --gpus --runtime --log-driver --log-opt --link --volumes-from --cidfile"
    " --group-add --dns --userns --stop-signal --index -n --namespace -c --container"
)
_INSIDE = f"{TEMPORARY_FOLDER}/inside"
"""Where a path that is not mounted counts as being: it goes with the container."""
_PROJECT = f"/{UNKNOWN}/project"
"""Stands for the working directory if that is not known: paths inside a container are absolute."""
_PATH = LazyPattern(r"(?<![\w.~$/:-])/[^\s'\";:*?&|()]*")
_JUDGED = ("files", "git", "databases")
_VERBS = words_in("run create exec rsh")


class _Container(NamedTuple):
    mounts: list[tuple[str, str]]
    """Folders of the container, and those of this machine that appear there and may be written."""
    directory: str
    command: list[str]


def start_engine(walk: Walk, start: Start) -> None:
    walk.ask_families(start)
    container = _read_container(start.words)
    if container is None:
        return
    project = walk.rules.cwd or _PROJECT
    here = join_path(project, start.scope.cwd)
    mounts = [(target, join_path(here, source)) for target, source in container.mounts]
    if any(walk.place_of(source, start.scope) is Place.ROOT for _, source in mounts):
        what = "this gives a container the whole file system to write"
        refuse("files", what, "mount the folder that it needs, or add :ro")
    scope = Scope()
    scope.cwd = _on_host(container.directory, mounts) if container.directory else _INSIDE
    words = [_on_host(word, mounts) for word in container.command]
    feed = start.feed
    if feed.text:
        feed = feed._replace(text=_on_host(feed.text, mounts))
    emptied = dict(walk.tally.emptied)
    inner = walk.deeper()._replace(rules=walk.rules._replace(cwd=project))
    try:
        inner.start(inner, Start(words, scope, feed))
    except DangerFound as found:
        if found.danger.family in _JUDGED:
            raise
    walk.tally.emptied = emptied


def _on_host(text: str, mounts: list[tuple[str, str]]) -> str:
    """Paths of the container as this machine knows them."""

    def moved(found: re.Match[str]) -> str:
        path = found[0].rstrip("/")
        for target, source in mounts:
            if path == target or path.startswith(target + "/"):
                return source + found[0][len(target) :]
            if target.startswith(path + "/"):
                return source  # a folder above it takes it along
        return _INSIDE + found[0]

    return _PATH.sub(moved, text)


def _read_container(words: list[str]) -> _Container | None:
    program = base_name(words[0])
    rest = words_after_options(words[1:], _GLOBAL_VALUED)
    while rest[:1] and rest[0] in ("container", "compose", "pod"):
        rest = words_after_options(rest[1:], _GLOBAL_VALUED)
    if not rest or rest[0] not in _VERBS:
        return None
    own = read_own_words(rest[1:], _VALUED)
    image, command = "".join(own.command[:1]), own.command[1:]
    if program not in ENGINES and command[:1] == ["--"]:
        command = command[1:]
    is_git = base_name(image).partition(":")[0] == "git"
    entry = own.values("--entrypoint") or (["git"] if is_git else [])
    mounts = [
        mount
        for value in own.values("-v", "--volume", "--mount")
        if (mount := _read_mount(value)) is not None
    ]
    directory = own.values("-w", "--workdir")
    return _Container(mounts, directory[-1] if directory else "", [*entry, *command])


def _read_mount(value: str) -> tuple[str, str] | None:
    """Target and source; None for a named volume and for one that cannot be written."""
    if "=" in value:
        fields = dict(part.partition("=")[::2] for part in value.split(","))
        source = fields.get("source") or fields.get("src") or ""
        target = fields.get("target") or fields.get("dst") or fields.get("destination") or ""
        is_fixed = "readonly" in fields or "ro" in fields or fields.get("type", "bind") != "bind"
    else:
        source, _, target = value.partition(":")
        target, _, mode = target.partition(":")
        is_fixed = "ro" in mode.split(",")
    if is_fixed or not target or not source.startswith(("/", ".", "~", UNKNOWN)):
        return None
    return target.rstrip("/"), source.rstrip("/") or "/"

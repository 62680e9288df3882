"""What variables of the agents name: shown in the sandbox like the agent's own state, or said to be hidden.

Only what the user's own environment names is shown: settings come with repositories, and have ``sandbox.readonly`` for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ralph.adapters.files import is_true, real_path
from ralph.adapters.isolation.place import How, Place, deepest, is_in
from ralph.adapters.isolation.sandbox import Site, kept_variables
from ralph.domain.agent.facts import AgentNeeds

_CERTIFICATES = frozenset({"NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"})
_SHOWN = (How.READABLE, How.WRITABLE, How.PROTECTED)


def locate(site: Site, needs: AgentNeeds, name: str) -> Path:
    """Where the user keeps a part of an agent's state."""
    for variable, folder in needs.named:
        below = name == folder or name.startswith(f"{folder}/")
        if folder and below and (path := _named(site, variable)):
            return path / name[len(folder) :].lstrip("/")
    return real_path(site.home) / name


def read_paths(site: Site, needs: AgentNeeds) -> Iterator[Path]:
    """Files and folders that agents are told to read."""
    for variable, folder in needs.named:
        if not folder and (path := _named(site, variable)):
            yield path


def hidden_notes(
    site: Site, patterns: Iterable[str], arguments: Iterable[str], found: Iterable[Place], *, is_bare: bool
) -> Iterator[str]:
    """For the head of a run: what agents are told of and cannot see. ``patterns``: of the variables that they get.

    ``is_bare``: nothing of this machine is inside but what was ``found``.
    """
    covers = [*found]
    roots = {locate(site, site.needs, name) for name in site.needs.state} | {*read_paths(site, site.needs)}
    names = kept_variables(site.environ, patterns) - kept_variables(site.environ) | (
        _CERTIFICATES | site.explicit
    )
    told = [(name, site.environ[name]) for name in sorted(names & site.environ.keys())]
    told += map(_as_named, arguments)
    for name, value in dict.fromkeys(told):
        if not value.startswith("/") or not is_true(Path(value).exists):
            continue
        path = real_path(Path(value))
        shown = deepest(path, covers)
        if is_bare if shown is None else not (shown.how in _SHOWN or shown.path in roots):
            yield (
                f"{name} names {path}, which the sandbox hides: add it to sandbox.readonly,"
                " or to sandbox.writable if the agent must write there"
            )


def _as_named(argument: str) -> tuple[str, str]:
    name, _, value = argument.partition("=")
    return (name, value) if name.startswith("-") else ("a flag of the agent", argument)


def _named(site: Site, variable: str) -> Path | None:
    """What the user's own environment names, unless it is so much that nothing would be left to hide."""
    value = site.environ.get(variable, "")
    if variable in site.explicit or not value.startswith("/") or not is_true(Path(value).exists):
        return None
    path = Path(value)
    has_links = real_path(path) != path  # they would not be there inside
    covers = is_in(real_path(site.home), path) or is_in(real_path(site.workspace), path)
    return None if has_links or covers else path

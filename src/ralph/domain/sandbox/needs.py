"""What an agent needs of the world outside its sandbox: its own files, variables and hosts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from urllib.parse import urlsplit

from ralph.domain.sandbox.allow_list import HostRule, parse_rule


@dataclass(frozen=True, slots=True)
class AgentNeeds:
    """Paths are relative to the home folder.

    ``state`` is shared with the user's own sessions, so that a renewed login is not lost; ``protected`` lies in it
    and holds what those sessions would *run*: settings with hooks, plugins. ``copied`` files are private to each
    process: the agent may change them, and the changes are dropped afterwards.
    """

    state: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


def needs_of_all(agents: Iterable[AgentNeeds]) -> AgentNeeds:
    together = tuple(agents)
    return AgentNeeds(
        *(
            tuple(dict.fromkeys(entry for needs in together for entry in getattr(needs, field.name)))
            for field in fields(AgentNeeds)
        )
    )


def host_rules(needs: AgentNeeds, environ: Mapping[str, str]) -> tuple[HostRule, ...]:
    """The agent's own hosts, and those that the user's environment sends it to instead (``…_BASE_URL``)."""
    rules = [parse_rule(host) for host in needs.hosts]
    for name in sorted(environ):
        if name.endswith("_BASE_URL") and (rule := _rule_of_url(environ[name])) is not None:
            rules.append(rule)
    return tuple(dict.fromkeys(rules))


def _rule_of_url(url: str) -> HostRule | None:
    try:
        parts = urlsplit(url)
        port = parts.port
        rule = parse_rule(parts.hostname or "")
    except ValueError:
        return None
    return HostRule(rule.host, rule.is_wildcard, port) if parts.scheme in ("http", "https") else None

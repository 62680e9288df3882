"""The share of a subscription to keep free: what is known about it when a run begins, and what its head says."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.adapters.agents.registry import facts_of
from ralph.config.schema import Settings
from ralph.domain.agent.definition import TEXT, speaker_of
from ralph.domain.loop.keep_free import wanted_words
from ralph.engine.agents.sparing_agent import Quota
from ralph.wiring.agents import kind_of
from ralph.wiring.launch import Launch
from ralph.wiring.record import Record


def quota_of(launch: Launch, record: Record) -> Quota:
    """Shared with the run that this one is a part of; else what agents said in earlier runs here."""
    if launch.quota is not None:
        return launch.quota
    if not (keep_free := launch.settings.limits.keep_free):
        return Quota(keep_free)
    from ralph.adapters.storage.quota_rows import known_quota

    return Quota(keep_free, known_quota(record.database, record.database_file))


def head_of(launch: Launch, quota: Quota, now: float) -> Iterator[str]:
    """What is kept free, and what is left of it as far as anybody has said; a part leaves that to the whole."""
    if not launch.parent_id and (wanted := wanted_words(quota.keep_free)):
        from ralph.domain.views.quota import quota_line

        names = [adapter.name for adapter in launch.agents.chain]
        lines = [quota_line(each, now) for each in quota.known(names, now)]
        known = "; ".join(lines) or "how much is left is not known yet"
        yield f"keeps {wanted} free; {known}"


def doubts_of(settings: Settings) -> Iterator[str]:
    """Agents whose share cannot be held."""
    if not wanted_words(settings.limits.keep_free):
        return
    roles = settings.profiles.verified.roles.values()
    for command in dict.fromkeys(
        (settings.agent.command, *settings.agent.fallbacks, *(role.agent for role in roles))
    ):
        if command and not facts_of(_speaker(settings, command)).tells_quota:
            yield f"{command} does not say how much is left: nothing of its subscription can be kept free"


def _speaker(settings: Settings, command: str) -> str:
    """The known agent whose events it prints."""
    defined = settings.agents.get(command)
    speaks = speaker_of(defined.output or TEXT) if defined is not None else ""
    return speaks or kind_of(settings, command)

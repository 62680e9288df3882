"""From settings to what is asked of a sandbox."""

from __future__ import annotations

from ralph.config.sandbox_settings import SandboxSettings
from ralph.domain.allow_list import parse_rule
from ralph.domain.isolation import Limits, SandboxPolicy


def policy_of(settings: SandboxSettings) -> SandboxPolicy:
    return SandboxPolicy(
        network=settings.network,
        allow=tuple(map(parse_rule, settings.allow)),
        writable=settings.writable,
        readonly=settings.readonly,
        env=settings.env,
        limits=Limits(settings.memory, settings.pids),
        image=settings.image or "",
    )

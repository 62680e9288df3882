"""From settings to the sandbox of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ralph.adapters.isolation.choosing import Chosen, chosen_sandbox
from ralph.adapters.isolation.runner import IsolatedRunner, opened
from ralph.adapters.isolation.site import Site
from ralph.config.sandbox_settings import SandboxSettings
from ralph.domain.allow_list import parse_rule
from ralph.domain.isolation import Limits, SandboxPolicy
from ralph.domain.sandbox_kind import SandboxKind
from ralph.engine.ports import ProcessRunner


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


async def sandbox_of(
    settings: SandboxSettings,
    asked: str | None,
    site: Site,
    runner: ProcessRunner,
    *,
    default: str = SandboxKind.NONE,
) -> Chosen:
    """``asked``: the flag (empty for a bare ``--sandbox``), else the setting, else the profile's ``default``."""
    wanted = asked if asked is not None else settings.kind if settings.kind is not None else default
    return await chosen_sandbox(wanted, site, policy_of(settings), runner)


@asynccontextmanager
async def isolating(
    chosen: Chosen, agent_runner: ProcessRunner, check_runner: ProcessRunner, *, checks_too: bool
) -> AsyncIterator[tuple[ProcessRunner, ProcessRunner]]:
    """The runners of agents and of checks, inside the sandbox while the block lasts, or as they are without one."""
    if chosen.sandbox is None:
        yield agent_runner, check_runner
        return
    async with opened(chosen.sandbox, check_runner) as sandbox:
        checks = IsolatedRunner(check_runner, sandbox) if checks_too else check_runner
        yield IsolatedRunner(agent_runner, sandbox), checks

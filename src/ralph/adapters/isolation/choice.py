"""Which sandbox a run gets, and why: the one asked for, or the strongest that works here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ralph.adapters.isolation import bwrap, container, sbx, srt
from ralph.adapters.isolation.bwrap import BwrapSandbox
from ralph.adapters.isolation.container import ContainerSandbox
from ralph.adapters.isolation.runner import keep_open
from ralph.adapters.isolation.sandbox import Sandbox, Site
from ralph.adapters.isolation.sbx import SbxSandbox
from ralph.adapters.isolation.srt import SrtSandbox
from ralph.domain.sandbox.kind import ASKABLE, AUTO, STRONGEST, SandboxKind
from ralph.domain.sandbox.policy import NO_GUARANTEES, Guarantees, SandboxPolicy
from ralph.engine.ports import ProcessRunner
from ralph.errors import AgentUnavailable, RalphError, UsageError

Trouble = Callable[[Site, SandboxPolicy, ProcessRunner], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class _Row:
    kind: SandboxKind
    trouble: Trouble  # why it cannot be used here; empty if it can
    make: Callable[[Site, SandboxPolicy], Sandbox]
    hint: str


_ROWS = (
    _Row(SandboxKind.SBX, lambda site, _, runner: sbx.trouble(site, runner), SbxSandbox, "install sbx and run `sbx login`"),
    _Row(SandboxKind.BWRAP, lambda site, _, runner: bwrap.trouble(site, runner), BwrapSandbox, "install bubblewrap"),
    _Row(SandboxKind.CONTAINER, container.trouble, ContainerSandbox, "install podman or docker, and set sandbox.image"),
    _Row(SandboxKind.SRT, lambda site, _, runner: srt.trouble(site, runner), SrtSandbox, "install srt"),
)  # fmt: skip
"""Strongest first."""


@dataclass(frozen=True, slots=True)
class Choice:
    """``why`` is a sentence for the head of the run."""

    sandbox: Sandbox | None
    why: str

    @property
    def guarantees(self) -> Guarantees:
        return self.sandbox.guarantees if self.sandbox is not None else NO_GUARANTEES


async def choose_sandbox(asked: str, site: Site, policy: SandboxPolicy, runner: ProcessRunner) -> Choice:
    """``asked`` is a kind, ``auto`` or ``strongest``. ``runner`` has no sandbox."""
    if asked not in ASKABLE:
        message = f"there is no sandbox {asked!r}"
        raise UsageError(message, hint=f"use one of {', '.join(ASKABLE)}")
    if asked == SandboxKind.NONE:
        return Choice(None, "no sandbox: the agent can do whatever you can")
    if asked not in (AUTO, STRONGEST):
        return await _exactly(SandboxKind(asked), site, policy, runner)
    troubles: list[str] = []
    for row in _ROWS:
        trouble = await row.trouble(site, policy, runner)
        if not trouble:
            because = "the strongest that works here" + (f" ({'; '.join(troubles)})" if troubles else "")
            sandbox = await _make(row, site, policy, runner)
            return Choice(sandbox, f"sandbox {row.kind}: {because}{_examined(sandbox)}")
        troubles.append(f"{row.kind}: {trouble}")
    if asked == STRONGEST:
        message = f"no sandbox works here: {'; '.join(troubles)}"
        raise AgentUnavailable(message, hint="install bubblewrap (Linux) or srt (macOS), or use --no-sandbox")
    return Choice(None, f"no sandbox: none works here ({'; '.join(troubles)})")


async def troubles(site: Site, policy: SandboxPolicy, runner: ProcessRunner) -> dict[SandboxKind, str]:
    """For `ralph doctor`: what keeps each kind from working (empty: nothing)."""
    return {
        row.kind: await row.trouble(site, policy, runner) or await _found_inside(row, site, policy, runner)
        for row in _ROWS
    }


async def _found_inside(row: _Row, site: Site, policy: SandboxPolicy, runner: ProcessRunner) -> str:
    try:
        sandbox = row.make(site, policy)
        if sandbox.expected is not None:
            async with keep_open(sandbox, runner):
                pass
    except RalphError as error:
        return str(error)
    return ""


async def _exactly(kind: SandboxKind, site: Site, policy: SandboxPolicy, runner: ProcessRunner) -> Choice:
    row = next(row for row in _ROWS if row.kind is kind)
    trouble = await row.trouble(site, policy, runner)
    if trouble:
        message = f"the sandbox {kind} cannot be used: {trouble}"
        hint = f"{row.hint}, choose another with --sandbox=auto, or use --no-sandbox"
        raise AgentUnavailable(message, hint=hint)
    sandbox = await _make(row, site, policy, runner)
    return Choice(sandbox, f"sandbox {kind}: as asked{_examined(sandbox)}")


def _examined(sandbox: Sandbox) -> str:
    return "" if sandbox.expected is not None else "; what it promises was not examined from inside"


async def _make(row: _Row, site: Site, policy: SandboxPolicy, runner: ProcessRunner) -> Sandbox:
    sandbox = row.make(site, policy)
    await sandbox.survey(runner)
    return sandbox

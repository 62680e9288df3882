"""Which sandbox a run gets, and why: the one asked for, or the strongest that works here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

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
from ralph.values import dataclass

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


@asynccontextmanager
async def open_sandbox(
    asked: str, site: Site, policy: SandboxPolicy, runner: ProcessRunner
) -> AsyncIterator[Choice]:
    """``asked`` is a kind, ``auto`` or ``strongest``; open in the block. ``runner`` has no sandbox.

    Raises AgentUnavailable if none can be had. One that is here and does not hold is a reason for ``auto`` to take another,
    but not to do without.
    """
    if asked not in ASKABLE:
        message = f"there is no sandbox {asked!r}"
        raise UsageError(message, hint=f"use one of {', '.join(ASKABLE)}")
    if asked == SandboxKind.NONE:
        yield Choice(None, "no sandbox: the agent can do whatever you can")
    elif asked in (AUTO, STRONGEST):
        async with AsyncExitStack() as stack:
            yield await _open_strongest(asked, site, policy, runner, stack)
    else:
        row = next(row for row in _ROWS if row.kind == asked)
        if trouble := await row.trouble(site, policy, runner):
            message = f"the sandbox {row.kind} cannot be used: {trouble}"
            hint = f"{row.hint}, choose another with --sandbox=auto, or use --no-sandbox"
            raise AgentUnavailable(message, hint=hint)
        async with keep_open(row.make(site, policy), runner) as sandbox:
            yield Choice(sandbox, f"sandbox {row.kind}: as asked{_examined(sandbox)}")


async def _open_strongest(
    asked: str, site: Site, policy: SandboxPolicy, runner: ProcessRunner, stack: AsyncExitStack
) -> Choice:
    """Kept open by ``stack``."""
    troubles: list[str] = []
    may_go_without, hint = asked == AUTO, "install bubblewrap (Linux) or srt (macOS), or use --no-sandbox"
    for row in _ROWS:
        trouble = await row.trouble(site, policy, runner)
        if not trouble:
            try:
                sandbox = await stack.enter_async_context(keep_open(row.make(site, policy), runner))
            except AgentUnavailable as error:
                may_go_without, trouble, hint = False, str(error), error.hint or hint
            else:
                passed_over = f" ({'; '.join(troubles)})" if troubles else ""
                why = f"sandbox {row.kind}: the strongest that works here{passed_over}{_examined(sandbox)}"
                return Choice(sandbox, why)
        troubles.append(trouble if trouble.startswith(f"{row.kind} ") else f"{row.kind}: {trouble}")
    if not may_go_without:
        message = f"no sandbox works here: {'; '.join(troubles)}"
        raise AgentUnavailable(message, hint=hint)
    return Choice(None, f"no sandbox: none works here ({'; '.join(troubles)})")


async def look_at_all(
    site: Site, policy: SandboxPolicy, runner: ProcessRunner
) -> dict[SandboxKind, str | Guarantees]:
    """For `ralph doctor`: what each kind guarantees here, or what keeps it from working."""
    return {
        row.kind: await row.trouble(site, policy, runner) or await _look_inside(row, site, policy, runner)
        for row in _ROWS
    }


async def _look_inside(
    row: _Row, site: Site, policy: SandboxPolicy, runner: ProcessRunner
) -> str | Guarantees:
    try:
        sandbox = row.make(site, policy)
        if sandbox.expected is None:
            return sandbox.guarantees
        async with keep_open(sandbox, runner) as opened:
            return opened.guarantees
    except RalphError as error:
        return str(error)


def _examined(sandbox: Sandbox) -> str:
    return "" if sandbox.expected is not None else "; what it promises was not examined from inside"

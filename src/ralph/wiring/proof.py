"""The layers of proof that every kind of run puts after its own checks."""

from __future__ import annotations

import os
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ralph.config.root import git_top
from ralph.domain.proof.strength import Proof
from ralph.engine.ports import Check, Commands
from ralph.wiring.kit import Kit
from ralph.wiring.launch import nothing_to_begin

if TYPE_CHECKING:
    from ralph.adapters.workspace.proof_store import GitProofStore
    from ralph.domain.proof.protection import Protection
    from ralph.domain.proof.required_command import RequiredCommand
    from ralph.engine.proof.ports import Checkout


@dataclass(frozen=True, slots=True)
class ProofLayers:
    """``checks`` come after those of the run; ``begin`` is called when the run is announced, before its first session."""

    checks: Sequence[Check] = ()
    begin: Callable[[], Awaitable[None]] = nothing_to_begin


async def proof_layers(
    kit: Kit,
    required: Sequence[RequiredCommand] = (),
    *,
    base: str = "",
    protection: Protection | None = None,
) -> ProofLayers:
    """What a claim must pass before it is accepted: nothing if the user trusts, or if no command is required.

    ``required``: by default the guardrails. ``base``: the commit that the work began with; by default, what is there.
    ``protection``: what decides about the commands, if the usual is not right.
    """
    commands = tuple(required) or tuple(guardrail.required for guardrail in kit.launch.guardrails)
    if not commands or kit.launch.settings.proof == Proof.TRUSTING:
        return ProofLayers()
    from ralph.adapters.workspace.plain_texts import PlainTexts
    from ralph.domain.proof.protection import is_test
    from ralph.engine.proof.canary_check import Canary, Start
    from ralph.engine.proof.layers import CleanCheckout, OldProof
    from ralph.engine.proof.proving import Proving

    store = proof_store(kit)
    await store.open(base=base)

    @asynccontextmanager
    async def commands_at(checkout: Checkout) -> AsyncIterator[Commands]:
        from ralph.adapters.checks.commands import ShellCommands

        async with kit.runner_at(checkout.top, reads=[store.top], writes=checkout.linked) as runner:
            yield ShellCommands(runner, checkout.workspace)

    proving = Proving(store, commands, commands_at=commands_at, journal=kit.record.journal)
    protected = protection or protection_of(kit, commands, store.prefix)
    checks: list[Check] = [CleanCheckout(proving), OldProof(proving, protected)]
    if not any(map(is_test, store.base.files)):
        return ProofLayers(checks)
    canary = Canary(proving, PlainTexts(), nonce=lambda: os.urandom(8).hex())
    return ProofLayers([*checks, canary], lambda: canary.begin(Start(kit.control, kit.publish)))


def proof_store(kit: Kit) -> GitProofStore:
    """Of this run; ``open`` it before the first session."""
    from ralph.adapters.workspace.proof_store import GitProofStore

    place = kit.record.folder / "proof"
    return GitProofStore(place, kit.workspace, kit.runners.outside, top=git_top(kit.workspace))


def protection_of(kit: Kit, required: Sequence[RequiredCommand], prefix: str) -> Protection:
    """What decides whether the commands pass, as paths of the whole repository; ``prefix``: the workspace in it."""
    from ralph.domain.proof.protection import Protection

    own = kit.launch.settings.profiles.verified
    commands = ((each.command, posixpath.join(prefix, each.working_dir)) for each in required)
    return replace(Protection.of(commands, protect=own.protect), tests=True)

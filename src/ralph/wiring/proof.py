"""The layers of proof that every kind of run puts after its own checks."""

from __future__ import annotations

import os
import posixpath
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.adapters.storage.earlier_runs import kept_proof
from ralph.config.root import git_top
from ralph.config.sources import LOCAL_FILE, PROJECT_FILES, SETTINGS_FILE
from ralph.domain.delivery.kind import DeliveryKind
from ralph.domain.proof.strength import Proof
from ralph.domain.proof.tests_policy import TestsPolicy
from ralph.engine.ports import Adviser, Agent, Check, Commands, When
from ralph.values import dataclass, replace
from ralph.wiring.kit import Kit
from ralph.wiring.launch import nothing_to_begin

if TYPE_CHECKING:
    from ralph.adapters.git import Git
    from ralph.adapters.workspace.earlier_base import EarlierBase
    from ralph.adapters.workspace.proof_store import GitProofStore
    from ralph.adapters.workspace.undo_patch import UndoPatch
    from ralph.domain.proof.protection import Protection
    from ralph.domain.proof.required_command import RequiredCommand
    from ralph.engine.proof.canary_check import Canary
    from ralph.engine.proof.changed_tests import ChangedTests
    from ralph.engine.proof.commit_guard import CommitGuard
    from ralph.engine.proof.comparison import ComparisonCheck
    from ralph.engine.proof.own_checks import OwnChecks
    from ralph.engine.proof.planting import Planting
    from ralph.engine.proof.ports import Checkout
    from ralph.engine.proof.proving import Proving
    from ralph.engine.proof.sightings import Sightings
    from ralph.engine.proof.tests_review import TestsReview


MOST_SETTINGS = 10_000_000


@dataclass(frozen=True, slots=True)
class OpenProof:
    """What the layers of one run share. ``canary``: None where there are no tests that could show one."""

    store: GitProofStore
    proving: Proving
    changed: ChangedTests
    canary: Canary | None

    def requiring(self, required: Sequence[RequiredCommand]) -> OpenProof:
        """The same for some of the commands."""
        canary = self.canary.requiring(required) if self.canary is not None else None
        return replace(self, proving=self.proving.requiring(required), canary=canary)


@dataclass(frozen=True, slots=True)
class ProofLayers:
    """``checks`` come after the run's own; ``begin`` is called when the run is announced, before its first session."""

    checks: Sequence[Check] = ()
    begin: Callable[[], Awaitable[None]] = nothing_to_begin
    guard: CommitGuard | None = None  # for whoever commits the work
    warnings: Sequence[str] = ()
    advisers: Sequence[Adviser] = ()
    end: Callable[[], Awaitable[None]] = nothing_to_begin
    accepting: Callable[[Git], Check] | None = None  # that a commit is exactly what was judged
    rebase: Callable[[], Awaitable[None]] = (
        nothing_to_begin  # what is there now is what later work is compared with
    )


async def prompt_layers(kit: Kit) -> ProofLayers:
    """Of a run in the working tree itself, where what an unaccepted run left is not the user's. ``end`` it."""
    commands = _provable(kit, ())
    if not commands:
        return ProofLayers()
    store = proof_store(kit)
    warnings = []
    if kit.record.state.iteration and not (store.has_base or has_base(kit)):
        warnings.append(
            "the run has kept nothing to compare with (--proof trusting): compared with what is there now"
        )
    earlier = earlier_base(kit, store, commands)
    is_resumed, is_closed = store.has_base, store.is_closed
    await store.open(amend=earlier.amend if earlier is not None else None)
    if is_resumed and not kit.launch.is_continued:  # else nobody was here in between
        warnings += await take_own_edits(kit, store, commands, is_closed=is_closed)
    layers = await proof_layers(kit, commands, store=store)
    if earlier is not None and earlier.warning:
        warnings.append(earlier.warning)
    return replace(layers, warnings=warnings, end=store.close)


async def take_own_edits(
    kit: Kit, store: GitProofStore, commands: Sequence[RequiredCommand], *, is_closed: bool
) -> list[str]:
    """Of a run that is resumed, whose store is open again; ``is_closed``: before it was. Gives what to tell."""
    from ralph.adapters.workspace.own_edits import OwnEdits
    from ralph.engine.proof.following import follow

    protection = await follow(protection_of(kit, commands, store.prefix), store)
    told = await OwnEdits(store, protection, is_closed and kit.record.was_left, kit.launch.as_found).take()
    return [told] if told else []


def earlier_base(kit: Kit, store: GitProofStore, commands: Sequence[RequiredCommand]) -> EarlierBase | None:
    """What an unaccepted run of a prompt left in this working tree, if the last one was not accepted."""
    from ralph.adapters.storage.earlier_runs import unaccepted_runs
    from ralph.adapters.workspace.earlier_base import EarlierBase
    from ralph.adapters.workspace.proof_store import GitProofStore
    from ralph.engine.proof.following import follow

    record = kit.record
    if not record.holds or kit.launch.parent_id:
        return None  # the run that it is a part of answers for what is there
    runs = unaccepted_runs(record.database, record.database_file, kit.workspace, besides=record.run_id)
    for run_id in runs:
        folder = record.folder.parent / run_id / "proof"
        earlier = GitProofStore(folder, kit.workspace, kit.runners.outside, top=git_top(kit.workspace))
        # An earlier version did not put on record that it kept one.
        if earlier.has_base or kept_proof(record.database, record.database_file, run_id).base:
            protection = protection_of(kit, commands, store.prefix)
            return EarlierBase(run_id, earlier, store, protection, follow, undo_patch(kit, store))
    return None


def undo_patch(kit: Kit, store: GitProofStore) -> UndoPatch:
    from ralph.adapters.workspace.undo_patch import UndoPatch

    return UndoPatch(store, kit.workspace, kit.record.folder / "undo.patch")


async def proof_layers(
    kit: Kit,
    required: Sequence[RequiredCommand] = (),
    *,
    base: str = "",
    store: GitProofStore | None = None,
) -> ProofLayers:
    """What a claim must pass before it is accepted: nothing if the user trusts, or if no command is required.

    ``required``: by default the guardrails. ``base``: the commit that the work began with; by default, what is there.
    ``store``: one that is open already.
    """
    commands = _provable(kit, required)
    if not commands:
        return ProofLayers()
    from ralph.adapters.workspace.earlier_base import left_in
    from ralph.engine.proof.accepted_commit import AcceptedCommit
    from ralph.engine.proof.commit_guard import CommitGuard
    from ralph.engine.proof.left_changes import LeftChangesAdviser

    proof = await open_proof(kit, commands, base=base, store=store)
    protection = await followed(proof, protection_of(kit, commands, proof.store.prefix))
    compared = comparison(kit, proof, protection)
    run_id, left = left_in(proof.store)
    undo = undo_patch(kit, proof.store)

    async def rebase() -> None:
        await proof.store.remember_base(await proof.store.snapshot())

    return ProofLayers(
        [compared, *layers_of(kit, proof, protection)],
        beginning_of(kit, proof),
        CommitGuard(proof.store, compared),
        advisers=[LeftChangesAdviser(proof.store, compared, undo, run_id=run_id, paths=left)] if left else [],
        accepting=lambda git: AcceptedCommit(proof.proving, proof.store, git),
        rebase=rebase,
    )


def _provable(kit: Kit, required: Sequence[RequiredCommand]) -> tuple[RequiredCommand, ...]:
    commands = tuple(required) or tuple(guardrail.required for guardrail in kit.launch.guardrails)
    if not commands or kit.launch.settings.proof == Proof.TRUSTING:
        return ()
    if kit.runners.own.find("git") is None:
        kit.complain(
            "git is not installed, or only in a folder of the project: claims are proven by the guardrails alone,"
            " as with --proof trusting"
        )
        return ()
    return commands


async def open_proof(
    kit: Kit,
    required: Sequence[RequiredCommand],
    *,
    base: str = "",
    store: GitProofStore | None = None,
    sightings: Sightings | None = None,
) -> OpenProof:
    """``store``: one that is open already; else the run's own is opened, with ``base``. ``sightings``: what other parts of
    the same work found when they began. Raises GitFailed."""
    from ralph.domain.proof.protection import is_test
    from ralph.domain.proof.tests_ran import names_runner
    from ralph.engine.proof.changed_tests import ChangedTests
    from ralph.engine.proof.proving import Proving

    if store is None:
        store = proof_store(kit)
        await store.open(base=base)
    top = store.top

    @asynccontextmanager
    async def commands_at(checkout: Checkout) -> AsyncIterator[Commands]:
        from ralph.adapters.checks.commands import ShellCommands

        async with kit.runner_at(checkout.top, reads=[top], writes=checkout.linked) as runner:
            yield ShellCommands(runner, checkout.workspace)

    is_strict = kit.launch.settings.proof == Proof.STRICT
    proving = Proving(
        store,
        required,
        commands_at=commands_at,
        journal=kit.record.journal,
        when=When.WITH_CLAIM if is_strict else When.BEFORE_ACCEPT,
    )
    can_fail = any(names_runner(each.command) for each in required) or (
        bool(required) and any(map(is_test, store.base.files))
    )
    canary = canary_of(proving, sightings) if can_fail else None
    return OpenProof(store, proving, ChangedTests(), canary)


def canary_of(proving: Proving, sightings: Sightings | None = None) -> Canary:
    from ralph.engine.proof.canary_check import Canary

    return Canary(proving, planting_of(proving), sightings)


def planting_of(proving: Proving) -> Planting:
    from ralph.adapters.workspace.plain_texts import PlainTexts
    from ralph.engine.proof.planting import Planting

    return Planting(proving, PlainTexts(), nonce=lambda: os.urandom(8).hex())


def beginning_of(kit: Kit, proof: OpenProof) -> Callable[[], Awaitable[None]]:
    """What is tried before the first session."""
    if not (required := proof.proving.required):
        return nothing_to_begin
    if (canary := proof.canary) is None:
        if kit.launch.is_continued:
            return nothing_to_begin

        async def tell() -> None:
            from ralph.engine.proof.canary_words import tell_none

            tell_none(kit.publish, required)

        return tell
    record, time_over = kit.record, kit.time_over
    is_known = kept_proof(record.database, record.database_file, record.run_id).canary

    def is_cut() -> bool:
        return kit.control.stopping or time_over() is not None

    async def begin() -> None:
        from ralph.engine.deadline import until_time_is_over
        from ralph.engine.proof.canary_check import Start

        async with until_time_is_over(kit.control, time_over, any_stop=True) as control:
            await canary.begin(Start(control, kit.publish, is_cut, is_known))

    return begin


def comparison(
    kit: Kit,
    proof: OpenProof,
    protection: Protection,
    *,
    when: When = When.WITH_CLAIM,
    base: str = "",
    settings_deny: bool = True,
) -> ComparisonCheck:
    """Whether what decides the checks is still what it was."""
    from ralph.adapters.files import read_whole
    from ralph.adapters.workspace.own_edits import taken_before
    from ralph.engine.proof.comparison import ComparisonCheck

    loaded = kit.launch.loaded

    # Of the name WORKFLOW.md there may be a file that is none of ours.
    ours = {SETTINGS_FILE, LOCAL_FILE, *loaded.contents}.intersection(PROJECT_FILES)

    def settings(read: Callable[[str], bytes | None]) -> dict[str, bytes | None]:
        return {f"{protection.prefix}{name}": read(name) for name in PROJECT_FILES if name in ours}

    def changed_programs() -> list[str]:
        top = str(proof.store.top) + os.sep
        return [file.removeprefix(top) for file in kit.program_files.changed()]

    return ComparisonCheck(
        proof.store,
        protection,
        proof.changed,
        tests=kit.launch.settings.tests,
        when=when,
        base=base,
        settings=settings(loaded.contents.get),
        read_settings=lambda: settings(lambda name: read_whole(loaded.root / name, MOST_SETTINGS)),
        settings_deny=settings_deny,
        changed_programs=changed_programs,
        required=proof.proving.required,
        taken=taken_before(proof.store),
    )


def layers_of(kit: Kit, proof: OpenProof, protection: Protection, *, base: str = "") -> list[Check]:
    """Those that come last, when nothing else denies the claim."""
    from ralph.engine.proof.layers import CleanCheckout, OldProof

    review = review_of(kit, proof, protection, base=base)
    return [
        *([review] if review is not None else ()),
        CleanCheckout(proof.proving),
        OldProof(proof.proving, protection, proof.changed, review),
        *([proof.canary] if proof.canary is not None else ()),
        *([own_checks_of(kit, proof, protection, review)] if protection.absent else ()),
    ]


def own_checks_of(
    kit: Kit, proof: OpenProof, protection: Protection, review: TestsReview | None
) -> OwnChecks:
    """For commands that ask for what was not there when the work began."""
    from ralph.engine.proof.own_checks import OwnChecks

    tests = kit.launch.settings.tests
    return OwnChecks(
        proof.proving, protection, planting_of(proof.proving), proof.changed, review, tests=tests
    )


def review_of(kit: Kit, proof: OpenProof, protection: Protection, *, base: str = "") -> TestsReview | None:
    """Fresh eyes on changed tests, if the settings want them."""
    from ralph.engine.proof.tests_review import Reviewing, TestsReview

    if kit.launch.settings.tests != TestsPolicy.REVIEWED:
        return None

    def reviewer(tag: str, turn: int) -> Agent:
        from ralph.wiring.judges import judges_of

        return judges_of(kit)("", (tag,), turn=turn)

    reviewing = Reviewing(
        reviewer=reviewer,
        journal=kit.record.journal,
        redact=kit.runners.redactor.redact,
    )
    return TestsReview(proof.store, protection, proof.changed, reviewing, when=proof.proving.when, base=base)


async def followed(proof: OpenProof, protection: Protection) -> Protection:
    """With the scripts that the commands run in turn."""
    from ralph.engine.proof.following import follow

    return await follow(protection, proof.store)


def proof_folder(kit: Kit) -> Path:
    return kit.record.folder / "proof"


def proof_store(kit: Kit) -> GitProofStore:
    """Of this run; ``open`` it before the first session."""
    from ralph.adapters.workspace.proof_store import GitProofStore

    return GitProofStore(
        proof_folder(kit),
        kit.workspace,
        kit.runners.outside,
        top=git_top(kit.workspace),
        is_begun=has_base(kit),
    )


def has_base(kit: Kit) -> bool:
    """Whether the run has begun before, so that what it began with must be there."""
    record = kit.record
    return kept_proof(record.database, record.database_file, record.run_id).base


def protection_of(kit: Kit, required: Sequence[RequiredCommand], prefix: str) -> Protection:
    """What decides whether the commands pass, as paths of the whole repository; ``prefix``: the workspace in it."""
    from ralph.domain.proof.protection import Protection

    settings = kit.launch.settings
    commands = ((each.command, posixpath.join(prefix, each.working_dir)) for each in required)
    found = Protection.of(
        commands,
        protect=settings.profiles.verified.protect,
        may_change=settings.allow_test_changes,
        prefix=prefix,
    )
    return replace(
        found,
        tests=True,
        tests_are_free=settings.tests == TestsPolicy.FREE,
        ci=settings.delivery == DeliveryKind.PR,
        scripts=found.scripts | kit.program_files.paths,
    )

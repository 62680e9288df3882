"""Runs over a plan: implement, review with fresh eyes, fix, until every story is approved."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from shlex import quote
from time import gmtime, strftime
from typing import TYPE_CHECKING

from ralph.adapters.beneath import write_atomic
from ralph.adapters.documents.plan_files import PlanFiles, remove_marker, require_plan, write_marker
from ralph.adapters.files import real_path
from ralph.adapters.git import Git
from ralph.adapters.workspace.plan_repository import GitPlanRepository
from ralph.config.loading import Loaded
from ralph.config.root import STATE_FOLDER, Root, git_top
from ralph.config.schema import GuardrailSettings, iterations_of
from ralph.domain.loop.profile import Profile
from ralph.domain.plan.active_marker import ActiveMarker
from ralph.domain.plan.demands import plan_demands
from ralph.domain.plan.document import TasksDocument, read_document
from ralph.domain.plan.stop_checks import snapshot_of
from ralph.domain.plan.story import ReviewRules, estimate_text
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.strength import Proof
from ralph.domain.text.safe_text import clean_line, reveal, unique_slugs
from ralph.engine.guardrail import Guardrail
from ralph.engine.plans.audit import PlanAudit
from ralph.engine.plans.kept import KeptPlan
from ralph.engine.plans.ports import PlanRepository
from ralph.engine.plans.proofs import PlanProofs
from ralph.engine.plans.work import PlanAgent, PlanWork
from ralph.engine.ports import Check
from ralph.errors import RalphError, StoreError, UsageError
from ralph.values import dataclass, replace
from ralph.wiring.agents import chosen_agents
from ralph.wiring.announcement import proof_policy
from ralph.wiring.delivery import (
    Port,
    deliver_after,
    open_port,
    require_clean,
    take_branch,
)
from ralph.wiring.judges import trusted_judge
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Composed, Launch, nothing_to_begin
from ralph.wiring.plan_memory import ASIDE, PlanMemory, adopt_memory, forget_unjudged, plan_memory
from ralph.wiring.profiles import load_profile
from ralph.wiring.proof import (
    ProofLayers,
    earlier_base,
    has_base,
    proof_folder,
    proof_layers,
    proof_store,
    take_own_edits,
)
from ralph.wiring.requirements import (
    delivery_demands,
    guardrails_of,
    is_delivered,
    require_runnable,
    required_by_guardrail,
)

if TYPE_CHECKING:
    from ralph.domain.delivery.texts import Purpose

UNGUARDED = (
    "no sandbox and no guard: ralph does not look at a command before it runs "
    "(`ralph plugin install` adds a guard to Claude Code)"
)


@dataclass(frozen=True, slots=True)
class PlanComposition:
    """``stay``: on the branch that is checked out, whatever branchName says.

    ``as_found``: what a session wrote into the plan that nobody judged is the user's word. Said once, not remembered.
    ``document``: the plan as it was when the run was prepared; None: it could not be read.
    """

    folder: Path
    rules: ReviewRules
    maximum: int | None
    promise: str
    document: TasksDocument | None = None
    stay: bool = False
    as_found: bool = False
    asked_to_continue: bool = False

    def arguments(self) -> Mapping[str, object]:
        return {
            "ralphDir": str(self.folder),
            "skipReview": self.rules.skip,
            "reviewCap": self.rules.cap,
            "stay": self.stay,
        }

    def describe(self) -> Mapping[str, object]:
        return {**self.arguments(), "prompt": f"the plan in {self.folder.name}", "completion": self.promise}

    def warnings(self, launch: Launch) -> Iterator[str]:
        if self.asked_to_continue:
            yield "agent.continueSession is ignored: a continued session would not review with fresh eyes"
        if self.rules.skip:
            yield "reviews are skipped: stories pass on the word of who built them, and on the verifyCommands"

    @asynccontextmanager
    async def compose(self, kit: Kit) -> AsyncIterator[Composed]:
        root = kit.workspace
        top = git_top(root)
        port = await open_port(kit) if is_delivered(kit.launch.settings) else None
        if self.as_found or kit.launch.as_found:
            forget_unjudged(kit.launch.state_folder, self.folder)
        memory = plan_memory(kit.launch.state_folder, self.folder)
        files = PlanFiles(
            root,
            self.folder,
            write_atomic,
            aside=kit.record.folder / ASIDE,
            trusted=adopt_memory(kit.launch.state_folder, self.folder, memory),
        )
        warnings: list[str] = []
        if port is not None and not self._wanted_branch(kit, memory):
            await take_branch(kit, port, self._purpose().title)
        if top is not None:
            warnings += await self._on_its_branch(kit, files, memory)
        else:
            warnings.append(
                "this is not a git repository: what a review changes in the code cannot be put back"
            )
        if memory is not None and memory.is_unjudged and memory.run_id != kit.record.run_id:
            warnings.append(
                f"run {memory.run_id} was cut off in a session that was never judged: its changes to the plan are undone"
            )
        if not (kit.runners.is_confined or _loads_a_plugin(kit.launch)):
            warnings.append(UNGUARDED)
        branch = await self._delivered_branch(kit, port) if port is not None else ""
        repository = (
            GitPlanRepository(root, kit.runners.outside, aside=kit.record.folder / ASIDE) if top else None
        )
        audit = PlanAudit(
            files,
            self.rules,
            repository,
            promise=self.promise,
            run_id=kit.record.run_id,
            warn=kit.warn,
        )

        self._require_agreed(audit.plan.document, memory)
        proof, accept = await self._layers(kit, audit, repository, memory)
        warnings += proof.warnings

        def mark() -> None:
            write_marker(root, self._marker(kit, audit, top), write_atomic)

        mark()
        rules = kit.launch.rules()
        agent = trusted_judge(kit, kit.agent(tags=("promise",)), judges=lambda _: audit.plan.is_review)
        try:
            composed = Composed(
                work=PlanWork(
                    audit,
                    files,
                    self.rules,
                    read_prompt=files.read_prompt,
                    maximum=self.maximum,
                    promise=self.promise,
                ),
                agent=PlanAgent(agent, audit, rules, on_begin=mark),
                checks=[
                    audit,
                    self._proofs(kit, audit, files, repository, layers=proof.checks, accept=accept),
                ],
                begin=proof.begin,
                advisers=proof.advisers,
                proof=proof_policy(
                    kit.launch,
                    kit.runners.own,
                    has_commands=bool(audit.plan.document.verify_commands or kit.launch.guardrails),
                ),
                rules=rules,
                workspace=kit.git_workspace(),
                warnings=warnings,
                commands=[
                    f"verifyCommand: {command} ({self.folder.name}/tasks.json)"
                    for command in audit.plan.document.verify_commands
                ],
            )
            if port is not None:
                commands = self._command_checks(kit, audit)
                kept = KeptPlan(
                    files.read_tasks, lambda: audit.plan.document, file=f"{files.folder}/tasks.json"
                )
                composed = deliver_after(
                    kit,
                    composed,
                    port,
                    branch,
                    purpose=self._purpose(),
                    prove=commands,
                    checks=[kept, *commands, *proof.checks],
                    rebase=accept,
                    accepting=proof.accepting,
                )
            yield composed
            await proof.end()
        finally:
            with suppress(RalphError):
                remove_marker(root)

    def _purpose(self) -> Purpose:
        """For the pull request: the plan in its own words."""
        from ralph.domain.delivery.texts import Purpose

        document = self.document
        if document is None:
            return Purpose(title=f"The plan in {self.folder.name}")
        stories = tuple(f"{story.id}: {story.title}" for story in document.stories)
        title = document.description or document.project
        return Purpose(title=title, text=f"{document.project}: {document.description}", criteria=stories)

    async def _delivered_branch(self, kit: Kit, port: Port) -> str:
        """The one that is checked out by now. Raises UsageError if it is not one to push."""
        git = Git(kit.workspace, kit.runners.outside)
        branch = await git.branch()
        if branch in (port.base, port.repository.default_branch):
            message = f"{branch} is a base of pull requests: ralph never pushes to it"
            raise UsageError(message, hint="name another branchName in tasks.json, or leave out --stay")
        if not kit.launch.resumes:
            await require_clean(git)
        return branch

    def _command_checks(self, kit: Kit, audit: PlanAudit) -> list[Check]:
        """Every command that must pass, wherever it comes from."""
        commands = [_required(command, kit.launch) for command in audit.plan.document.verify_commands]
        slugs = unique_slugs(required.command for required in commands)
        own = [kit.guardrail(Guardrail(one, slug)) for one, slug in zip(commands, slugs, strict=True)]
        return [*kit.guardrails(), *own]

    def _require_agreed(self, found: TasksDocument, memory: PlanMemory | None) -> None:
        """The plan on its branch may be another one than that which the user was asked about."""
        asked = [self.document, memory.trusted.document if memory is not None else None]
        known = {command for one in asked if one is not None for command in one.verify_commands}
        new = [command for command in found.verify_commands if command not in known]
        if new:
            message = (
                f"{self.folder.name}/tasks.json on this branch has other verifyCommands: {reveal(new[0])}"
            )
            raise UsageError(message, hint="look at them, then start the run again from this branch")

    def _proofs(
        self,
        kit: Kit,
        audit: PlanAudit,
        files: PlanFiles,
        repository: PlanRepository | None,
        *,
        layers: Sequence[Check],
        accept: Callable[[], Awaitable[None]],
    ) -> PlanProofs:
        def make_check(command: str, slug: str) -> Check:
            return kit.guardrail(Guardrail(_required(command, kit.launch), slug))

        return PlanProofs(
            audit.plan,
            files,
            self.rules,
            repository,
            make_check=make_check,
            guardrails=kit.guardrails(),
            layers=layers,
            accept=accept,
            time_over=kit.time_over,
        )

    async def _layers(
        self, kit: Kit, audit: PlanAudit, repository: PlanRepository | None, memory: PlanMemory | None
    ) -> tuple[ProofLayers, Callable[[], Awaitable[None]]]:
        """What an approval must pass besides the commands, and what makes its state the one to compare with.

        The commands are those that the run begins with: one that a session adds could not be proven by the old tests.
        """
        commands = [_required(command, kit.launch) for command in audit.plan.document.verify_commands]
        required = [*commands, *(guardrail.required for guardrail in kit.launch.guardrails)]
        if not required or kit.launch.settings.proof == Proof.TRUSTING:
            return ProofLayers(), nothing_to_begin
        top = git_top(kit.workspace)
        if repository is None or top is None:
            store = proof_store(kit)
            await store.open()

            async def accept() -> None:
                await store.remember_base(await store.snapshot())

            return await proof_layers(kit, required, store=store), accept
        from ralph.adapters.workspace.committed_work import CommittedWork

        work = CommittedWork(
            proof_folder(kit),
            kit.workspace,
            kit.runners.outside,
            top=top,
            is_begun=has_base(kit),
            theirs=lambda: audit.plan.tree.uncommitted,
        )
        since = memory.trusted.since if memory is not None else ""
        earlier = earlier_base(kit, work, required)
        uncommitted = (await repository.state()).uncommitted
        is_resumed, is_closed = work.has_base, work.is_closed
        await work.begin(uncommitted=uncommitted, since=since, amend=earlier.amend if earlier else None)
        warnings = [earlier.warning] if earlier and earlier.warning else []
        if is_resumed:
            warnings += await take_own_edits(kit, work, required, is_closed=is_closed)
        layers = await proof_layers(kit, required, store=work)
        return replace(layers, warnings=warnings, end=work.close), work.accept

    def _marker(self, kit: Kit, audit: PlanAudit, top: Path | None) -> ActiveMarker:
        mode, tree = audit.mode, audit.plan.tree
        prefix = "" if top is None else real_path(kit.workspace).relative_to(real_path(top)).as_posix()
        return ActiveMarker(
            pid=os.getpid(),
            timestamp=strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(kit.clock.now())),
            max_iterations=self.maximum,
            mode="sandbox" if kit.runners.is_confined else "direct",
            skip_review=self.rules.skip,
            review_cap=self.rules.cap,
            iteration_mode=mode.mode if mode is not None else None,
            snapshot=snapshot_of(audit.plan.document),
            ralph_dir=self.folder.relative_to(real_path(kit.workspace)).as_posix(),
            run_id=kit.record.run_id,
            uncommitted=[path if prefix in ("", ".") else f"{prefix}/{path}" for path in tree.uncommitted],
        )

    async def _on_its_branch(self, kit: Kit, files: PlanFiles, memory: PlanMemory | None) -> list[str]:
        """Check out the plan's branch, before any session is paid; gives what the user should know.

        Raises UsageError if something is in the way: nobody asked for work on the branch that happens to be here.
        """
        git = Git(kit.workspace, kit.runners.outside)
        await git.require_unlocked()
        await git.require_identity()
        branch = await git.branch()
        wanted = self._wanted_branch(kit, memory)
        told: list[str] = []
        in_the_way = await _in_the_way(git, branch, wanted, resumes=kit.launch.resumes)
        if in_the_way is None and wanted not in ("", branch):
            told, branch = await self._go(git, branch, wanted, files)
        unjudged = memory.trusted.tree if memory is not None and memory.is_unjudged else None
        if unjudged is not None and not kit.launch.resumes and unjudged.commit and unjudged.branch != branch:
            assert memory is not None
            was = unjudged.branch or "a detached HEAD"
            message = (
                f"run {memory.run_id} was cut off in a session on {was}, but {branch or 'no branch'} is checked out: "
                "whether the plan here can be trusted is not known"
            )
            hint = f"check out {was} first, or say --as-found if you have looked at {files.folder}/tasks.json"
            raise UsageError(message, hint=hint)
        if in_the_way is not None:
            raise in_the_way
        return told

    def _wanted_branch(self, kit: Kit, memory: PlanMemory | None) -> str:
        if kit.launch.resumes and memory is not None and memory.trusted.tree.commit:
            return memory.trusted.tree.branch  # on which its sessions were
        if self.stay:
            return ""
        return self.document.branch_name if self.document is not None else ""

    async def _go(self, git: Git, branch: str, wanted: str, files: PlanFiles) -> tuple[list[str], str]:
        """What is to tell, and the branch that is checked out then."""
        exists = bool(await git.commit_of(f"refs/heads/{wanted}"))
        if not (await git.run("check-ref-format", "--branch", wanted)).ok:
            message = f"branchName {wanted!r} in {files.folder}/tasks.json cannot be the name of a branch"
            raise UsageError(message, hint="fix it there, or give --stay")
        await git.must("checkout", "--quiet", *(() if exists else ("-b",)), wanted, hint="or give --stay")
        where = branch or "the detached HEAD"
        return [] if exists else [f"branch {wanted} was made from {where}"], wanted


async def _in_the_way(git: Git, branch: str, wanted: str, *, resumes: str) -> UsageError | None:
    """What keeps a run from its branch; also if it is to stay where no branch is. ``resumes``: the run, unless it is new."""
    if wanted in ("", branch):
        if branch or resumes:
            return None
        message = "no branch is checked out here (detached HEAD): what is committed would belong to none"
        return UsageError(message, hint="make one with `git switch -c NAME`")
    where = branch or "the detached HEAD"
    otherwise = f"; then `ralph resume {resumes}`" if resumes else f", or give --stay to work on {where}"
    if not await git.commit_of("HEAD"):
        message = f"there is no commit yet, so the plan's branch {wanted} cannot be made"
        return UsageError(message, hint=f"make the first one (git add -A && git commit){otherwise}")
    if not (changed := await git.changed()):
        return None
    named = ", ".join(map(clean_line, changed[:5])) + (" …" if len(changed) > 5 else "")
    message = (
        f"{where} has files that are not committed, so the plan's branch {wanted} cannot be taken: {named}"
    )
    make = "" if await git.commit_of(f"refs/heads/{wanted}") else "-c "
    ways = f"commit them, put them away (git stash -u), take them along (git switch {make}{quote(wanted)})"
    return UsageError(message, hint=f"{ways}{otherwise}")


def prepare_reviewed(
    loaded: Loaded,
    root: Root,
    *,
    ralph_dir: Path | None = None,
    skip_review: bool = False,
    review_cap: int | None = None,
    stay: bool = False,
    as_found: bool = False,
    resumes: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Resolve everything, and raise whatever can be known to be wrong before anything is started or written."""
    settings = loaded.settings
    require_runnable(settings)
    own, maximum = settings.profiles.reviewed, iterations_of(settings, "reviewed")
    folder = require_plan(root.workspace, ralph_dir or Path(own.plan_folder))
    memory = plan_memory(root.state / STATE_FOLDER, folder)
    files = PlanFiles(root.workspace, folder, write_atomic)
    document: TasksDocument | None
    if memory is not None and memory.is_unjudged and not as_found:
        document = memory.trusted.document
    else:
        document = _read_plan(files, must=not resumes)
    return Launch(
        profile=load_profile("reviewed"),
        loaded=loaded,
        settings=replace(settings, agent=replace(settings.agent, continue_session=False)),
        root=root,
        agents=chosen_agents(settings, root.workspace, environ=environ),
        composition=PlanComposition(
            folder=folder,
            document=document,
            rules=ReviewRules(
                review_cap or own.review_cap, skip_review or own.skip_review, own.at_cap == "block"
            ),
            maximum=maximum,
            promise=own.completion_promise,
            stay=stay,
            as_found=as_found,
            asked_to_continue=settings.agent.continue_session,
        ),
        maximum=maximum,
        guardrails=guardrails_of(settings),
        resumes=resumes,
        demands=(*plan_demands(document, files.folder), *delivery_demands(settings, root.workspace)),
    )


def _required(command: str, launch: Launch) -> RequiredCommand:
    """A verifyCommand: like a guardrail, but it must not be empty of tests."""
    required = required_by_guardrail(GuardrailSettings(command=command), launch.settings)
    return replace(required, can_allow_empty=False)


def _loads_a_plugin(launch: Launch) -> bool:
    return any(flag.startswith("--plugin-dir") for flag in launch.settings.agent.flags)


def estimate_of(launch: Launch) -> str:
    """About how many iterations the stories will need; empty if nobody can say."""
    composition = launch.composition
    assert isinstance(composition, PlanComposition)
    if composition.document is None:
        return ""
    return estimate_text(composition.document, skip_review=composition.rules.skip)


def _read_plan(files: PlanFiles, *, must: bool) -> TasksDocument | None:
    """``must``: raise UsageError if it cannot be worked on. Whoever resumes a run is told by its audit instead."""
    if must:
        files.read_prompt()
    text = files.read_tasks()
    if text is None:
        if not must:
            return None
        message = f"{files.folder}/tasks.json is not a readable UTF-8 text file, or is too large"
        raise UsageError(message, hint="check that it is a plain file, not a link or a folder")
    read = read_document(text)
    if isinstance(read, TasksDocument):
        return read
    if not must:
        return None
    message = f"{files.folder}/tasks.json has problems: {'; '.join(str(one) for one in read[:10])}"
    raise UsageError(message, hint="ralph plan check lists them all")


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    folder, cap = arguments.get("ralphDir"), arguments.get("reviewCap")
    if not isinstance(folder, str) or not isinstance(cap, int):
        message = f"the request of run {resumes} does not say which plan it was about"
        raise StoreError(message, hint="start a new run with `ralph plan run`")
    return prepare_reviewed(
        loaded,
        root,
        ralph_dir=Path(folder),
        skip_review=arguments.get("skipReview") is True,
        review_cap=cap,
        stay=arguments.get("stay") is True,
        resumes=resumes,
    )

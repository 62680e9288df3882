"""The run of one task: its roles in a worktree of its own, each believed only when it is verified."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from ralph.adapters.checks.custom_method import CustomMethod
from ralph.adapters.checks.merge_state import MergeCheck
from ralph.adapters.git import Git, not_above
from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.processes.watcher import Watcher
from ralph.adapters.signals.probes import RejectProbe, TagProbe
from ralph.adapters.storage.task_history import TaskSettling
from ralph.adapters.storage.tasks import TaskStore
from ralph.adapters.workspace.kept_tree import KeptTree
from ralph.adapters.workspace.nested_repositories import new_repositories
from ralph.adapters.workspace.program_files import ProgramFiles
from ralph.config.root import Root
from ralph.domain.delivery.kind import DeliveryKind
from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.budget import PartBudget
from ralph.domain.loop.session_report import Spend
from ralph.domain.proof.protection import Protection
from ralph.domain.proof.required_command import RequiredCommand
from ralph.domain.proof.strength import Proof
from ralph.domain.proof.tests_policy import TestsPolicy
from ralph.domain.proof.verification_config import commands_in, commands_of_merge
from ralph.domain.tasks.completion import CompletionCriteria
from ralph.domain.tasks.criteria import concerns_about, criteria_for
from ralph.domain.tasks.pipeline import Pipeline
from ralph.domain.tasks.prompts import RolePrompt, objective
from ralph.domain.tasks.task import Task
from ralph.domain.tickets.task_text import file_of
from ralph.engine.agents.per_role import PerRoleAgent
from ralph.engine.agents.sparing_agent import Quota
from ralph.engine.deadline import TimeOver, no_deadline
from ralph.engine.ports import Check, When
from ralph.engine.prompts.advisers import NoteAdviser, RoleAdviser
from ralph.engine.proof.accepted_commit import AcceptedCommit
from ralph.engine.proof.sightings import Sightings
from ralph.engine.session import Watch
from ralph.engine.tasks.ports import VerificationTools, Worktree
from ralph.engine.tasks.setup_check import SetupCheck
from ralph.engine.tasks.verification import VerificationCheck
from ralph.engine.tasks.work import TaskWork
from ralph.values import dataclass, replace
from ralph.wiring.agents import ChosenAgents, chosen_agents
from ralph.wiring.announcement import proof_policy
from ralph.wiring.judges import judges_of, trusted_judge
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Composed, Launch, nothing_to_begin
from ralph.wiring.proof import OpenProof, beginning_of, comparison, followed, layers_of, open_proof, review_of
from ralph.wiring.roles import agents_of_roles

TAGS = ("promise", "reject")
NOTHING = Spend()


@dataclass(frozen=True, slots=True)
class TaskComposition:
    """``task`` as it was when the run began: what proves the work is not the agent's to change. ``sightings`` is shared
    with the other tasks of the same work."""

    task: Task
    worktree: Worktree
    pipeline: Pipeline
    by_role: Mapping[str, ChosenAgents]
    sightings: Sightings
    prepare: Callable[[], Awaitable[str | None]] | None  # the worktree, again if that is needed
    told: str = ""  # what keeps its pull request from being merged, for the first role
    note: Callable[[], str] = str  # how its ticket was edited since

    def arguments(self) -> Mapping[str, object]:
        return {"task": self.task.id}

    def describe(self) -> Mapping[str, object]:
        return {"prompt": self.task.title, "task": self.task.id, "branch": self.worktree.branch}

    def warnings(self, launch: Launch) -> Iterator[str]:
        yield from concerns_about(self.task, self.pipeline.defaults)

    def _commands(self) -> Iterator[str]:
        for role, own in self.criteria.items():
            for required in commands_in(own):
                yield f"verification of {role}: {required.command} (task {self.task.id})"

    @property
    def criteria(self) -> dict[str, CompletionCriteria]:
        return {role: criteria_for(self.task, role, self.pipeline.defaults) for role in self.pipeline.roles}

    @asynccontextmanager
    async def compose(self, kit: Kit) -> AsyncIterator[Composed]:
        criteria = self.criteria
        usual = kit.agent(tags=TAGS)
        by_role = {role: kit.agent(tags=TAGS, chosen=chosen) for role, chosen in self.by_role.items()}
        first = self.pipeline.roles[0]
        agent = trusted_judge(kit, PerRoleAgent(usual, by_role), judges=lambda request: request.role != first)
        record = TaskSettling(
            TaskStore(kit.record.database, me=this_process(), started_of=started_of),
            self.task.id,
            run_id=kit.record.run_id,
            methods={role: str(own.verification_method) for role, own in criteria.items()},
            enlist=kit.record.journal.enlist,
            now=kit.clock.now,
            warn=kit.warn,
        )
        proof = await open_proof(
            kit,
            self._required(kit, criteria.values()),
            base=self.worktree.base,
            sightings=self.sightings,
        )
        trusts = kit.launch.settings.proof == Proof.TRUSTING
        verifying: dict[str, list[Check]] = {}
        commits: dict[str, AcceptedCommit] = {}
        for role, own in criteria.items():
            of_role = proof.requiring(self._required(kit, [own]))
            commits[role] = AcceptedCommit(
                of_role.proving, proof.store, self._git(kit), is_compared=not trusts
            )
            verifying[role] = [*await self._checks(kit, of_role, role, own), commits[role]]

        def checks_of(assignment: Assignment) -> Sequence[Check]:
            return verifying[assignment.role]

        yield Composed(
            work=TaskWork(
                record,
                self.pipeline,
                objective=self._objective,
                accepted=lambda role: commits[role].commit,
                environment=not_above(self.worktree.path),
            ),
            agent=agent,
            probes=[TagProbe("promise", "", first=False), RejectProbe(but=self.pipeline.roles[0])],
            checks=[*([SetupCheck(self.prepare)] if self.prepare else ()), *kit.guardrails()],
            checks_of=checks_of,
            advisers=[
                *([RoleAdviser(first, self.told)] if self.told else ()),
                NoteAdviser(self.note),
            ],
            prompt=RolePrompt(criteria, self.pipeline.roles[0]),
            rules=kit.launch.rules(),
            workspace=kit.git_workspace(),
            proof=proof_policy(kit.launch, kit.runners.own, has_commands=bool(proof.proving.required)),
            commands=list(self._commands()),
            begin=nothing_to_begin if trusts else beginning_of(kit, proof),
        )

    def _required(self, kit: Kit, criteria: Iterable[CompletionCriteria]) -> tuple[RequiredCommand, ...]:
        return commands_of_merge((guardrail.required for guardrail in kit.launch.guardrails), criteria)

    def _fingerprint(self, kit: Kit) -> Callable[[], Awaitable[str]]:
        workspace = kit.git_workspace()

        async def fingerprint() -> str:
            return (await workspace.snapshot()).fingerprint if workspace is not None else ""

        return fingerprint

    def _git(self, kit: Kit) -> Git:
        """Of the whole worktree: the project may be a folder of its repository, but a task is merged as a whole."""
        return Git(self.worktree.path, kit.runners.outside, is_top=True, folder=self.worktree.folder)

    def _objective(self, task: Task, role: str) -> str:
        return objective(self.pipeline.templates[role], task, role=role, branch=self.worktree.branch)

    async def _checks(
        self, kit: Kit, proof: OpenProof, role: str, criteria: CompletionCriteria
    ) -> list[Check]:
        own = kit.launch.settings.profiles.verified
        git = self._git(kit)
        tools = VerificationTools(
            runner=kit.runners.checks,
            commands=kit.commands,
            custom_method=CustomMethod,
            journal=kit.record.journal,
            judge=judges_of(kit),
            root=kit.workspace,
            state_folder=kit.shown_in,
            truncate_chars=kit.launch.settings.output_truncate_chars,
            redact=kit.runners.redactor.redact,
            fingerprint=self._fingerprint(kit),
            diff=lambda: git.diff_since(self.worktree.base),
            keep_tree=lambda: KeptTree.of(proof.store, self.worktree.path),
            rerun_failing=own.rerun_failing,
        )
        base = self.worktree.base
        protection = await followed(proof, self._protection(kit, role))
        # First that the proof is still the proof.
        checks: list[Check] = [
            MergeCheck(git, base=base, nested=lambda: new_repositories(git, base)),
            comparison(kit, proof, protection, when=When.ON_CLAIM, base=base, settings_deny=False),
            VerificationCheck(criteria, task=self.task, role=role, tools=tools),
        ]
        if not proof.proving.required or kit.launch.settings.proof == Proof.TRUSTING:
            review = review_of(kit, proof, protection, base=base)
            return [*checks, review] if review is not None else checks
        return [*checks, *layers_of(kit, proof, protection, base=base)]

    def _protection(self, kit: Kit, role: str) -> Protection:
        """What one role may not touch. What a role before it was allowed to change is not held against it."""
        own = kit.launch.settings.profiles.verified
        criteria = self.criteria
        commands = [(guardrail.command, ".") for guardrail in kit.launch.guardrails]
        protect = [*own.protect, *(role.prompt for role in own.roles.values() if role.prompt)]
        protect += filter(None, [file_of(self.task)])  # its boxes are ralph's to tick
        may_change: list[str] = []
        for each in criteria.values():
            commands += [(required.command, required.working_dir) for required in commands_in(each)]
            protect += _texts(each.verification_config, "protect")
        for name in self.pipeline.roles[: self.pipeline.roles.index(role) + 1]:
            may_change += _texts(criteria[name].verification_config, "may_change", "mayChange")
            if settings := own.roles.get(name):
                may_change += settings.may_change
        tree = self.worktree
        found = Protection.of(
            [(command, tree.from_top(folder)) for command, folder in commands],
            protect=protect,
            may_change=[*may_change, *kit.launch.settings.allow_test_changes],
            prefix=f"{tree.folder}/" if tree.folder else "",
        )
        return replace(
            found,
            tests_are_free=kit.launch.settings.tests == TestsPolicy.FREE,
            ci=kit.launch.settings.delivery == DeliveryKind.PR,
            scripts=found.scripts | kit.program_files.paths,
        )


def _texts(config: Mapping[str, object], *keys: str) -> list[str]:
    """Whatever is listed there, as one text or many."""
    found: list[str] = []
    for key in keys:
        value = config.get(key)
        found += [value] if isinstance(value, str) else map(str, value) if isinstance(value, list) else []
    return found


def prepare_task(
    whole: Launch,
    task: Task,
    worktree: Worktree,
    pipeline: Pipeline,
    *,
    parent_id: str,
    resumes: str = "",
    watch: Watch | None = None,
    time_over: TimeOver = no_deadline,
    exceeded: Callable[[], str | None],
    before: Spend = NOTHING,
    sightings: Sightings,
    prepare: Callable[[], Awaitable[str | None]] | None,
    program_files: ProgramFiles,
    quota: Quota | None = None,
    watcher: Watcher | None = None,
    told: str = "",
    note: Callable[[], str] = str,
) -> Launch:
    """A run of ``task`` in its worktree, as a part of ``whole``. ``exceeded``: a limit of the whole is reached;
    ``before``: what earlier runs of the task used of its budget."""
    budget, settings = task.budget, whole.settings
    return Launch(
        profile=whole.profile,
        loaded=whole.loaded,
        settings=settings,
        root=Root(whole.root.state, worktree.workspace),
        agents=chosen_agents(settings, worktree.workspace),
        composition=TaskComposition(
            task,
            worktree,
            pipeline,
            agents_of_roles(settings, worktree.workspace),
            sightings,
            prepare,
            told,
            note,
        ),
        programs=whole.programs,
        program_files=program_files,
        maximum=None,
        guardrails=whole.guardrails,
        resumes=resumes,
        parent_id=parent_id,
        own_budget=PartBudget(
            cost_usd=budget.cost_usd,
            tokens=budget.tokens,
            seconds=budget.seconds,
            stuck_after=settings.limits.stuck_after,
            whole=exceeded,
            before=before,
        ),
        watch=watch,
        quota=quota,
        watcher=watcher,
        time_over=time_over,
        shift=whole.shift,
        interlude=whole.interlude,
        notes_given=whole.notes_given,
        imports=whole.imports,
    )

"""How a run delivers what was accepted: the forge, the branch, and the parts that sessions on its pull request need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ralph.errors import ServiceAway, ServiceRefused, UsageError
from ralph.values import dataclass, replace

if TYPE_CHECKING:
    from ralph.adapters.git import Git
    from ralph.adapters.storage.deliveries import Deliveries
    from ralph.adapters.workspace.delivered_branch import DeliveredBranch
    from ralph.adapters.workspace.outpost import Outpost
    from ralph.config.schema import Settings
    from ralph.domain.delivery.facts import Policy
    from ralph.domain.delivery.pull_name import PullName
    from ralph.domain.delivery.receipt import Receipt
    from ralph.domain.delivery.texts import Purpose
    from ralph.domain.loop.assignment import Assignment
    from ralph.domain.tasks.task import Task
    from ralph.engine.delivery.delivery import Delivery
    from ralph.engine.delivery.order import Order
    from ralph.engine.delivery.ports import Forge, Proven, Repository
    from ralph.engine.ports import Check, ProcessRunner
    from ralph.wiring.kit import Kit
    from ralph.wiring.launch import Composed


def memory_of(kit: Kit, branch: str) -> Deliveries:
    """What became of a branch so far, for this run."""
    from ralph.adapters.storage.deliveries import Deliveries

    record = kit.record
    return Deliveries(record.database, record.database_file, branch, run_id=record.run_id, now=kit.clock.now)


def pull_of(kit: Kit, task: Task) -> str:
    """The pull request that was opened for a task, as people write it; empty: none."""
    number = memory_of(kit, task.branch).load().number if task.branch else 0
    return f"#{number}" if number else ""


@dataclass(frozen=True, slots=True)
class Port:
    """Where branches leave from: the forge, the remote's address and who talks to it, the base."""

    forge: Forge
    repository: Repository
    address: str
    base: str
    outpost: Outpost  # talks to the remote
    is_base_named: bool = False  # by the user

    def branch(self, git: Git, name: str) -> DeliveredBranch:
        """``git``: of the working tree that has the branch checked out."""
        from ralph.adapters.workspace.delivered_branch import DeliveredBranch

        return DeliveredBranch(git, name, address=self.address, outpost=self.outpost)

    def delivery(
        self, kit: Kit, git: Git, branch: str, order: Order, prove: Callable[[str], Awaitable[Proven]]
    ) -> Delivery:
        from ralph.adapters.storage.earlier_runs import last_seen_pull
        from ralph.engine.delivery.delivery import Delivery

        record = kit.record
        return Delivery(
            forge=self.forge,
            branch=self.branch(git, branch),
            memory=memory_of(kit, branch),
            order=order,
            prove=prove,
            publish=kit.publish,
            clock=kit.clock,
            redact=kit.runners.redactor.redact,
            told=last_seen_pull(record.database, record.database_file, record.run_id, branch)
            if kit.launch.is_continued
            else None,
        )


@dataclass(frozen=True, slots=True)
class Way:
    """How a run reaches the forge of its remote."""

    forge: Forge
    address: str
    runner: ProcessRunner
    login: Sequence[str]


async def find_way(kit: Kit, git: Git, *, pushes: bool = True) -> Way:
    """Nothing is asked of the forge yet. Raises UsageError if there is no remote. ``pushes``: or only looks."""
    from ralph.adapters.forges.choice import find_forge
    from ralph.adapters.forges.git_login import login_for
    from ralph.adapters.workspace.push_target import require_pushable

    settings, own = kit.launch.settings.pull_request, kit.runners.own
    address = await require_remote(git, settings.remote, pushes=pushes)
    if pushes:
        require_pushable(address, settings.remote, workspace=kit.workspace, state=kit.launch.state_folder)
    runner = reaching(kit)
    forge = find_forge(
        address,
        settings.repository,
        environ=kit.runners.environment,
        find=own.find,
        runner=runner,
        cwd=kit.workspace,
    )
    login = login_for(address, settings.repository, environ=kit.runners.environment, find=own.find)
    return Way(forge, address, runner, login)


async def require_remote(git: Git, remote: str, *, pushes: bool) -> str:
    """Its address. Raises UsageError if there is no such remote."""
    from ralph.adapters.workspace.delivered_branch import remote_address

    address = await remote_address(git, remote)
    if not address:
        message = f"there is no git remote {remote} to {'push to' if pushes else 'fetch from'}"
        hint = f"`git remote add {remote} ADDRESS`, or name another in pullRequest.remote"
        raise UsageError(message, hint=hint)
    return address


async def open_port(kit: Kit, *, base: str = "") -> Port:
    """Before any session is paid: everything without which nothing could be delivered. ``base``: instead of the settings'."""
    from ralph.adapters.git import Git
    from ralph.adapters.workspace.outpost import Outpost

    git = Git(kit.workspace, kit.runners.outside)
    await git.require_identity()
    wanted = base or kit.launch.settings.pull_request.base
    if wanted and not (await git.run("check-ref-format", f"refs/heads/{wanted}")).ok:
        message = f"{wanted!r} cannot be the name of a branch, so no remote has it"
        raise UsageError(message, hint="name another with --base, or in pullRequest.base")
    way = await find_way(kit, git)
    with at_the_start(kit):
        repository = await way.forge.repository()
    if not repository.can_push:
        message = f"you may not write to {repository.name}"
        raise ServiceRefused(
            message,
            hint="ask for write access, or push to a fork of your own and open the pull request there",
        )
    return Port(
        way.forge,
        repository,
        way.address,
        wanted or repository.default_branch,
        await Outpost.make(git, way.runner, way.login),
        is_base_named=bool(wanted),
    )


def require_own_pull(name: PullName, repository: Repository) -> None:
    """Raises UsageError if the address is of another repository. One that does not say where it is may be any."""
    is_there = not repository.url or (urlsplit(repository.url).netloc or "").lower() == name.host.lower()
    if name.repository and (name.repository.lower() != repository.name.lower() or not is_there):
        message = f"{name.text} is not a pull request of {repository.name}"
        raise UsageError(message, hint="start ralph in the repository that it belongs to")


@contextmanager
def at_the_start(kit: Kit) -> Iterator[None]:
    """A forge that is away before anything was begun is not waited for: that would hide a wrong address for an hour."""
    try:
        yield
    except ServiceAway as away:
        begin = "`ralph resume` continues" if kit.launch.resumes else "nothing was started; try again"
        raise ServiceAway(
            away.message, hint=away.hint or f"{begin} when the forge answers", after=away.after
        ) from None


def reaching(kit: Kit) -> ProcessRunner:
    """Runs what talks to other machines: as the user, whatever the agent is confined to."""
    from ralph.adapters.processes.runner import PosixProcessRunner
    from ralph.adapters.processes.yielding import YieldingRunner

    runners = kit.runners
    environment = runners.own.environment if runners.is_confined else runners.environment
    runner = PosixProcessRunner(
        run_id=kit.record.run_id,
        redactor=runners.redactor,
        base_environment=environment,
        find=runners.own.find,
    )
    if not runners.is_confined:
        return YieldingRunner(runner, kit.control)
    from ralph.adapters.isolation.runner import WaryRunner

    return YieldingRunner(WaryRunner(runner, runners.confinement.tidy), kit.control)


def policy_of(settings: Settings) -> Policy:
    from ralph.domain.delivery.facts import MergeMethod, Policy

    own = settings.pull_request
    return Policy(
        merge=MergeMethod(own.merge),
        has_ci=own.ci,
        checks=own.checks,
        answers_reviews=own.answer_reviews,
        remote=own.remote,
    )


def order_of(
    kit: Kit, port: Port, purpose: Purpose, receipt: Callable[[], Receipt], *, base: str = ""
) -> Order:
    from ralph.engine.delivery.order import Order

    settings = kit.launch.settings
    own = settings.pull_request
    return Order(
        base=base or port.base,
        is_base_named=bool(base) or port.is_base_named,
        purpose=purpose,
        policy=policy_of(settings),
        is_draft=own.draft,
        labels=own.labels,
        reviewers=own.reviewers,
        assignees=own.assignees,
        most_chars=settings.output_truncate_chars,
        receipt=receipt,
    )


# --- a run that delivers its own work ---


async def take_branch(kit: Kit, port: Port, title: str) -> str:
    """The branch that the run works on, checked out. One is made if the base is checked out, for that is nobody's to push to.

    Raises UsageError if something is in the way.
    """
    from ralph.adapters.git import Git
    from ralph.domain.delivery.texts import branch_name

    git = Git(kit.workspace, kit.runners.outside)
    current = await git.branch()
    made = branch_name(title, kit.record.run_id)
    if kit.launch.resumes and (taken := await _taken_before(kit, git, made)):
        return await check_out(git, current, taken)
    if not await git.commit_of("HEAD"):
        message = "there is no commit yet, so nothing can be delivered"
        raise UsageError(message, hint="make the first commit and push it, then start again")
    if not kit.launch.resumes:
        await require_clean(git)
    if current and current not in (port.base, port.repository.default_branch):
        _keep_branch(kit, current)
        return current
    _keep_branch(kit, made)  # first: whoever is killed in between makes it when resumed
    await git.must("checkout", "--quiet", "-b", made)
    kit.note(f"branch {made} was made from {current or 'the detached HEAD'}, which ralph does not push to")
    return made


def _keep_branch(kit: Kit, branch: str) -> None:
    """On record before any session is paid: a run that is resumed delivers this branch and no other."""
    memory = memory_of(kit, branch)
    memory.save(memory.load())


async def _taken_before(kit: Kit, git: Git, made: str) -> str:
    """The branch of a run that is resumed. Empty: it was killed before it took one, or before ``made`` was made."""
    from ralph.adapters.storage.deliveries import branch_of_run
    from ralph.domain.delivery.memory import Delivered

    record = kit.record
    known = branch_of_run(record.database, record.database_file, record.run_id)
    if known in ("", made) and await git.commit_of(f"refs/heads/{made}"):
        return made
    is_unmade = known == made and memory_of(kit, made).load() == Delivered()
    return "" if is_unmade else known


async def check_out(git: Git, current: str, wanted: str) -> str:
    if current == wanted:
        return wanted
    if not await git.commit_of(f"refs/heads/{wanted}"):
        message = f"there is no branch {wanted} here"
        raise UsageError(message, hint="`git branch` shows those that are there")
    await require_clean(git)
    hint = f"is {wanted} checked out in another worktree? Then start ralph there"
    await git.switch(wanted, hint=hint)
    return wanted


async def require_clean(git: Git) -> None:
    from ralph.domain.text.safe_text import clean_line

    if changed := await git.changed():
        named = ", ".join(map(clean_line, changed[:5])) + (" …" if len(changed) > 5 else "")
        message = f"files are not committed, and would become part of the pull request: {named}"
        raise UsageError(message, hint="commit them, or stash them with `git stash -u`")


def deliver_after(
    kit: Kit,
    composed: Composed,
    port: Port,
    branch: str,
    *,
    purpose: Purpose,
    prove: Sequence[Check],
    checks: Sequence[Check],
    rebase: Callable[[], Awaitable[None]],
    accepting: Callable[[Git], Check] | None,
    stays: bool = False,
) -> Composed:
    """``composed``, and when its work is done, the way through its pull request. ``prove``: what must pass before a push;
    ``checks``: what judges a session on the pull request, compared with what ``rebase`` takes as given."""
    from ralph.adapters.checks.merge_state import MergeCheck
    from ralph.adapters.git import Git
    from ralph.adapters.signals.probes import TagProbe
    from ralph.adapters.workspace.delivered_branch import BASES
    from ralph.adapters.workspace.nested_repositories import new_repositories
    from ralph.domain.loop.completion import Completion
    from ralph.domain.proof.protection import is_ci, matches_any
    from ralph.engine.agents.per_role import PerRoleAgent
    from ralph.engine.delivery.fix_session import AdviserOf, FixAgent, ProbeOf, PromptOf
    from ralph.engine.delivery.kept_ci import KeptCi
    from ralph.engine.delivery.work import ROLE, DeliveredWork
    from ralph.engine.prompts.advisers import CompletionAdviser

    settings = kit.launch.settings
    git = Git(kit.workspace, kit.runners.outside)
    order = order_of(kit, port, purpose, receipt_of_run(kit))
    delivery = port.delivery(kit, git, branch, order, proving(kit, prove))
    delivery.rebase = rebase
    delivery.is_protected = lambda path: is_ci(path) and not matches_any(path, settings.allow_test_changes)
    tag = "response"
    completion = Completion(tag, settings.completion_response)

    def merge_check() -> Check:
        """Compared with what was pushed last; before the first push, with the base."""
        base = delivery.pushed or f"{BASES}{port.base}"
        return MergeCheck(git, base=base, nested=lambda: new_repositories(git, base))

    def base_of() -> str:
        return delivery.base or f"{BASES}{port.base}"

    kept = KeptCi(delivery.branch, delivery.memory, base_of, delivery.is_protected)
    last = (kept,) if accepting is None else (accepting(git), kept)

    def checks_of(assignment: Assignment) -> Sequence[Check]:
        if assignment.role == ROLE:
            return (merge_check(), *checks, *last)
        return (*composed.checks, *composed.checks_of(assignment))

    work = DeliveredWork(
        composed.work,
        delivery,
        run_id=kit.record.run_id,
        clock=kit.clock,
        patience=settings.pull_request.wait,
        rebase=rebase,
        stays=stays,
    )
    return replace(
        composed,
        work=work,
        agent=PerRoleAgent(composed.agent, {ROLE: FixAgent(kit.agent(tags=(tag,)), work.begin_session)}),
        probes=[
            *(ProbeOf(probe) for probe in composed.probes),
            ProbeOf(TagProbe(tag, settings.completion_response, first=True), is_fix=True),
        ],
        checks=(),
        checks_of=checks_of,
        advisers=[
            *map(AdviserOf, composed.advisers),
            AdviserOf(CompletionAdviser(completion), is_fix=True),
        ],
        prompt=PromptOf(composed.prompt),
        notes=[
            *composed.notes,
            f"delivered as a pull request from {branch} into {port.base} of {port.repository.name}",
        ],
    )


def proving(kit: Kit, checks: Sequence[Check]) -> Callable[[str], Awaitable[Proven]]:
    """Runs what must pass, in the working tree of the branch, before its tip is pushed."""

    async def prove(commit: str) -> Proven:
        from ralph.domain.delivery.receipt import Proof
        from ralph.domain.loop.assignment import Assignment
        from ralph.domain.loop.evidence import Verdict
        from ralph.domain.loop.session_report import AgentReport
        from ralph.engine.deadline import until_time_is_over
        from ralph.engine.delivery.ports import Proven
        from ralph.engine.delivery.work import KEY
        from ralph.engine.ports import Judging
        from ralph.engine.tally import Tally

        tally = Tally(kit.publish)
        results = []
        async with until_time_is_over(kit.control, kit.time_over) as control:
            for check in checks:
                judging = Judging(
                    iteration=kit.record.state.iteration,
                    attempt=0,
                    assignment=Assignment(KEY, ""),
                    report=AgentReport(),
                    publish=tally,
                    control=control,
                )
                results.append(await tally.run(check, judging, time_over=kit.time_over))
        failed = [result for result in results if result.verdict is not Verdict.PASSED]
        return Proven(
            passed=not failed,
            proofs=tuple(Proof(result.command, result.exit_code) for result in results if result.command),
            told="\n\n".join(result.feedback.text for result in failed if result.feedback is not None),
            reason=f"failing: {', '.join(result.words for result in failed)}",
            is_cut=bool(failed) and (kit.control.stopping_now or kit.time_over() is not None),
        )

    return prove


def receipt_of_run(kit: Kit) -> Callable[[], Receipt]:
    def receipt() -> Receipt:
        from ralph.adapters.storage.run_files import read_receipt
        from ralph.domain.delivery.receipt import receipt_of

        record = kit.record
        record.journal.flush()
        return receipt_of(read_receipt(record.database, record.folder, record.run_id))

    return receipt

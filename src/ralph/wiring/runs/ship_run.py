"""``ralph ship``: a branch that is there already becomes a pull request, and is followed until it is green or merged."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from ralph.adapters.files import read_whole
from ralph.adapters.git import Git
from ralph.adapters.git_folders import git_folders
from ralph.adapters.storage.deliveries import branch_of_run
from ralph.config.loading import Loaded
from ralph.config.root import Root, git_top
from ralph.config.schema import iterations_of
from ralph.domain.delivery.facts import PullRequest, PullState
from ralph.domain.delivery.kind import DeliveryKind
from ralph.domain.delivery.pull_name import PullName, parse_pull
from ralph.domain.delivery.texts import Purpose
from ralph.domain.loop.profile import Profile
from ralph.engine.delivery.work import NoWork
from ralph.errors import ConfigError, StoreError, UsageError
from ralph.values import dataclass, replace
from ralph.wiring.agents import chosen_agents
from ralph.wiring.announcement import proof_policy
from ralph.wiring.delivery import (
    Port,
    at_the_start,
    check_out,
    deliver_after,
    open_port,
    require_clean,
    require_own_pull,
)
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Composed, Launch
from ralph.wiring.profiles import load_profile
from ralph.wiring.proof import prompt_layers
from ralph.wiring.requirements import delivery_demands, guardrails_of, require_runnable

HEADS = "ref: refs/heads/"
MOST_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class ShipComposition:
    """``target``: a branch, or the number or address of a pull request; empty: the branch that is checked out.

    ``stays``: also while people are waited for.
    """

    target: str = ""
    base: str = ""
    title: str = ""
    stays: bool = False
    current: str = ""  # the branch that was checked out when it was asked for; for people

    def arguments(self) -> Mapping[str, object]:
        return {"target": self.target, "base": self.base, "title": self.title, "stays": self.stays}

    def describe(self) -> Mapping[str, object]:
        return {"prompt": f"ship {self.target or self.current or 'the current branch'}", **self.arguments()}

    def warnings(self, launch: Launch) -> Iterator[str]:
        if not launch.guardrails:
            yield "no guardrails: nothing is run here before the branch is pushed; --guardrail COMMAND adds one"

    @asynccontextmanager
    async def compose(self, kit: Kit) -> AsyncIterator[Composed]:
        port = await open_port(kit, base=self.base)
        with at_the_start(kit):
            port, branch = await self._take_branch(kit, port)
        proof = await prompt_layers(kit)
        guardrails = kit.guardrails()
        composed = Composed(
            work=NoWork(),
            agent=kit.agent(tags=("response",)),
            begin=proof.begin,
            advisers=proof.advisers,
            proof=proof_policy(kit.launch, kit.runners.own, has_commands=bool(guardrails)),
            rules=kit.launch.rules(),
            workspace=kit.git_workspace(),
            warnings=proof.warnings,
        )
        yield deliver_after(
            kit,
            composed,
            port,
            branch,
            purpose=Purpose(title=self.title),
            prove=guardrails,
            checks=[*guardrails, *proof.checks],
            rebase=proof.rebase,
            accepting=proof.accepting,
            stays=self.stays,
        )
        await proof.end()

    async def _take_branch(self, kit: Kit, port: Port) -> tuple[Port, str]:
        """The branch, checked out, and the port with the base of its pull request. Raises UsageError."""
        git, record = Git(kit.workspace, kit.runners.outside), kit.record
        current = await git.branch()
        known = (
            branch_of_run(record.database, record.database_file, record.run_id) if kit.launch.resumes else ""
        )
        wanted = known or self.target or current
        if not wanted:
            message = "no branch is checked out here (detached HEAD)"
            raise UsageError(
                message, hint="name a branch: `ralph ship BRANCH`, or make one: `git switch -c NAME`"
            )
        named = parse_pull(wanted)
        if named is not None and not await git.commit_of(f"refs/heads/{wanted}"):
            pull = await _pull_of(port, named, is_new=not kit.launch.resumes)
            port, wanted = replace(port, base=self.base or pull.base), pull.branch
            await _bring(git, port, wanted)
        if wanted in (port.base, port.repository.default_branch):
            message = f"{wanted} is a base of pull requests: ralph never pushes to it"
            raise UsageError(message, hint="put the work on a branch of its own: `git switch -c NAME`")
        if wanted == current and not await git.commit_of("HEAD"):
            message = f"{wanted} has no commit yet, so there is nothing to ship"
            raise UsageError(message, hint="commit your work first")
        branch = await check_out(git, current, wanted)
        if branch != current:
            kit.note(f"switched from {current or 'a detached HEAD'} to {branch}, and stays there")
        if not known:  # also if it is resumed, but had not begun
            await require_clean(git)
            await _require_commits(git, port, branch)
        return port, branch


async def _pull_of(port: Port, named: PullName, *, is_new: bool) -> PullRequest:
    """The pull request that was named, if its branch can be pushed to. ``is_new``: nobody waits for how it ends."""
    number = named.number
    require_own_pull(named, port.repository)
    pull = await port.forge.pull(number)
    if pull.state is not PullState.OPEN and is_new:
        by = f" by {pull.by}" if pull.by else ""
        message = f"#{number} was {pull.state}{by}"
        raise UsageError(message, hint=f"`ralph ship {pull.branch}` makes another one of what is new there")
    own = await port.forge.find(pull.branch)
    if pull.state is PullState.OPEN and (own is None or own.number != number):
        message = f"#{number} comes from a fork"
        raise UsageError(
            message, hint="ralph pushes to the remote's own branches only: fetch it and ship your own branch"
        )
    return pull


async def _bring(git: Git, port: Port, branch: str) -> None:
    """A branch that is only on the remote so far."""
    if await git.commit_of(f"refs/heads/{branch}"):
        return
    ref = f"refs/heads/{branch}"
    ran = await port.outpost.bring(port.address, ref, ref)
    if not ran.ok:
        message = f"the branch {branch} of the pull request is not on the remote"
        raise UsageError(message, hint="is it the remote that the pull request is in? See `git remote -v`")


async def _require_commits(git: Git, port: Port, branch: str) -> None:
    """Compared with the base as the remote has it now."""
    if not await port.forge.tip(port.base):
        message = f"{port.repository.name} has no branch {port.base} to merge into"
        raise UsageError(message, hint="name another with --base, or in pullRequest.base")
    there = port.branch(git, branch)
    if not await there.is_new_to(await there.fetch(port.base)):
        message = f"there is nothing to ship: {port.base} has every commit of {branch}"
        raise UsageError(message, hint="commit your work first")


def current_branch(workspace: Path) -> str:
    """By git's own file, before anything may be run; empty: none, or not known."""
    folders = git_folders(workspace)
    head = (read_whole(folders.own / "HEAD", MOST_BYTES) or b"") if folders is not None else b""
    ref = head.decode(errors="replace").strip()
    return ref.removeprefix(HEADS) if ref.startswith(HEADS) else ""


def prepare_ship(
    loaded: Loaded,
    root: Root,
    target: str = "",
    *,
    base: str = "",
    title: str = "",
    stays: bool = False,
    resumes: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Resolve everything, and raise whatever can be known to be wrong before anything is started or written."""
    settings = replace(loaded.settings, delivery=DeliveryKind.PR)
    require_runnable(settings)
    if git_top(root.workspace) is None:
        message = f"{root.workspace} is not a git repository"
        raise ConfigError(message, hint="`ralph ship` pushes a branch: go to the repository that has it")
    return Launch(
        profile=load_profile("shipped"),
        loaded=loaded,
        settings=settings,
        root=root,
        agents=chosen_agents(settings, root.workspace, environ=environ),
        composition=ShipComposition(target, base, title, stays, current_branch(root.workspace)),
        maximum=iterations_of(settings, "shipped"),
        guardrails=guardrails_of(settings),
        resumes=resumes,
        demands=delivery_demands(settings, root.workspace),
    )


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    target, base, title = (arguments.get(key) for key in ("target", "base", "title"))
    if not isinstance(target, str) or not isinstance(base, str) or not isinstance(title, str):
        message = f"the request of run {resumes} does not say what it was to ship"
        raise StoreError(message, hint="start again with `ralph ship`: it finds the pull request")
    return prepare_ship(
        loaded, root, target, base=base, title=title, stays=arguments.get("stays") is True, resumes=resumes
    )

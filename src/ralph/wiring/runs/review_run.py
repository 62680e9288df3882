"""``ralph review``: a commit is reviewed with fresh eyes, in a checkout of its own; nothing of the user's is changed."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ralph.adapters.files import write_atomic
from ralph.adapters.git import Git
from ralph.adapters.git_programs import git_programs
from ralph.adapters.workspace.review_store import ReviewStore
from ralph.config.loading import Loaded
from ralph.config.root import Root, git_top
from ralph.domain.delivery.kind import DeliveryKind
from ralph.domain.delivery.pull_name import parse_pull
from ralph.domain.loop.profile import Profile
from ralph.domain.review.document import REVIEW_FILE, document_of
from ralph.domain.review.finding import Finding, Review
from ralph.domain.review.question import question
from ralph.domain.tickets.coverage import Imports
from ralph.engine.delivery.work import NoWork
from ralph.engine.ports import Agent
from ralph.engine.review.answer_check import AnswerCheck
from ralph.engine.review.reviewer import Reviewer
from ralph.engine.review.work import ReviewWork
from ralph.errors import ConfigError, StoreError
from ralph.values import dataclass, replace
from ralph.wiring.agents import chosen_agents
from ralph.wiring.kit import Kit
from ralph.wiring.launch import Composed, Launch
from ralph.wiring.profiles import load_profile
from ralph.wiring.requirements import require_runnable
from ralph.wiring.review_target import Target, find_target
from ralph.wiring.roles import anchor_programs
from ralph.wiring.tickets import confine

ROUNDS = 3
"""Sessions: one that answers, and a few that are told what was wrong with an answer."""


@dataclass(frozen=True, slots=True)
class ReviewComposition:
    """``what``: a branch, a commit, a range, or a pull request; empty: what is checked out."""

    what: str = ""
    base: str = ""
    rounds: int = ROUNDS

    def arguments(self) -> Mapping[str, object]:
        return {"what": self.what, "base": self.base, "rounds": self.rounds}

    def describe(self) -> Mapping[str, object]:
        return {"prompt": f"review {self.what or 'the current branch'}", **self.arguments()}

    def warnings(self, launch: Launch) -> Iterator[str]:
        return iter(())

    @asynccontextmanager
    async def compose(self, kit: Kit) -> AsyncIterator[Composed]:
        git = Git(kit.workspace, kit.runners.outside)
        store = ReviewStore(git, kit.record.folder, kit.runners.outside)
        await store.open()
        target = await find_target(kit, git, store, self.what, self.base)
        change = await store.change(
            what=target.what,
            words=target.words,
            commit=target.commit,
            base=target.base,
            base_name=target.base_name,
        )
        file = kit.record.folder / REVIEW_FILE

        def keep(findings: Sequence[Finding], *, is_empty: bool = False) -> None:
            review = _review(kit, target, findings, is_empty=is_empty)
            write_atomic(file, json.dumps(document_of(review), indent=2))

        if change is None:
            keep((), is_empty=True)
            why = f"nothing to review: {target.what} changes nothing compared with {target.base_name}"
            yield Composed(work=NoWork(why), agent=kit.agent(tags=()), rules=kit.launch.rules())
            store.discard()
            return
        tag = f"review-{secrets.token_hex(4)}"  # the change cannot know it, and so cannot answer for the reviewer
        asked = question(change, tag=tag)
        commit = store.at(target.commit, target.base)
        objects = await git.must("rev-parse", "--path-format=absolute", "--git-path", "objects")

        @asynccontextmanager
        async def agent_at(path: Path) -> AsyncIterator[Agent]:
            async with kit.at(path, reads=[Path(objects.text)]) as apart:
                yield apart.agent(tags=(tag,))

        notes = [
            f"Reviewing {target.what} ({target.commit[:12]}) against {target.base_name}, in a throw-away checkout"
        ]
        if not self.what and not await git.is_clean():
            notes.append("what is not committed is not reviewed")
        yield Composed(
            work=ReviewWork(asked, rounds=kit.launch.budget().iterations),
            agent=Reviewer(kit.launch.agent, agent_at, commit),
            checks=[AnswerCheck(commit, tag=tag, top=str(store.place), keep=keep)],
            rules=kit.launch.rules(),
            notes=notes,
        )
        if file.exists():
            store.discard()


def _review(kit: Kit, target: Target, findings: Sequence[Finding], *, is_empty: bool) -> Review:
    return Review(
        what=target.what,
        commit=target.commit,
        base=target.base,
        base_name=target.base_name,
        pull_request=target.pull_request,
        agent=kit.launch.agent,
        is_empty=is_empty,
        findings=tuple(findings),
    )


def prepare_review(
    loaded: Loaded,
    root: Root,
    what: str = "",
    *,
    base: str = "",
    rounds: int = ROUNDS,
    resumes: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Raises what can be known to be wrong before anything is started or written."""
    settings = loaded.settings
    require_runnable(settings)
    if git_top(root.workspace) is None:
        message = f"{root.workspace} is not a git repository"
        raise ConfigError(message, hint="`ralph review` reviews commits: go to the repository that has them")
    # Fresh eyes; and a program of the project's is the user's own, not that of the reviewed commit.
    agent = replace(settings.agent, continue_session=False)
    settings = replace(settings, agent=agent, delivery=DeliveryKind.LOCAL)
    settings = anchor_programs(settings, root.workspace)
    is_foreign = parse_pull(what) is not None
    if is_foreign:
        settings = confine(loaded, settings, Imports.TRACKERS)
    return Launch(
        profile=load_profile("review"),
        loaded=loaded,
        settings=settings,
        root=root,
        agents=chosen_agents(settings, root.workspace, environ=environ),
        composition=ReviewComposition(what, base, rounds),
        maximum=rounds,
        resumes=resumes,
        imports=Imports.TRACKERS,  # what is reviewed may say anything: it must find no token
        demands=git_programs(root.workspace, with_hooks=False) if is_foreign else (),
    )


def prepare_again(
    profile: Profile,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    match arguments:
        case {"what": str(what), "base": str(base), "rounds": int(rounds)}:
            return prepare_review(loaded, root, what, base=base, rounds=rounds, resumes=resumes)
        case _:
            message = f"the request of run {resumes} does not say what to review"
            raise StoreError(message, hint="start again with `ralph review`")

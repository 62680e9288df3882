"""Work that is a plan: the next story in its mode until every story is approved, and the agent whose sessions do it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ralph.domain.loop.assignment import Assignment, Blocked, Drained, Offer, Settled
from ralph.domain.loop.decision import Acceptance, Decision, Rules, Stop, is_judgeable
from ralph.domain.loop.evidence import Evidence
from ralph.domain.loop.session_report import AgentReport
from ralph.domain.loop.state import LoopState
from ralph.domain.plan.correction import AT_CAP
from ralph.domain.plan.document import TasksDocument
from ralph.domain.plan.prompt import PROMISE, plan_prompt
from ralph.domain.plan.stop_checks import check_invariants, flat
from ralph.domain.plan.story import (
    IterationMode,
    ReviewRules,
    StoryMode,
    is_complete,
    mode_for,
    unfinished_stories,
    waits_for,
)
from ralph.engine.plans.audit import PlanAudit
from ralph.engine.plans.ports import PlanStore
from ralph.engine.ports import Agent, AgentRequest, Publish
from ralph.values import replace

FEEDBACK_SHOWN = 200


class PlanWork:
    """The trusted document decides; what an accepted session moved is in it already."""

    def __init__(
        self,
        audit: PlanAudit,
        store: PlanStore,
        rules: ReviewRules,
        *,
        read_prompt: Callable[[], str],
        maximum: int | None,
        promise: str = PROMISE,
    ) -> None:
        self._audit = audit
        self._store = store
        self._rules = rules
        self._read_prompt = read_prompt
        self._maximum = maximum
        self._promise = promise

    async def next(self, state: LoopState) -> Offer:
        if state.unjudged is not None and self._audit.mode is not None:
            return self._assignment(self._audit.mode, "")  # only whoever should judge it is asked again
        plan = self._audit.plan
        if plan.settled and not plan.in_session and plan.settled.iteration == state.iteration + 1:
            return Settled(plan.settled.evidence, Acceptance.PROOF)
        await self._audit.catch_up()
        if self._audit.stuck:
            return Blocked(self._audit.stuck)
        document = self._audit.plan.document
        skip = self._rules.skip
        if is_complete(document, skip_review=skip):
            return Drained(review_figures(document, skip_review=skip))
        if broken := flat(check_invariants(document, self._rules)):
            return Blocked("tasks.json: " + " ".join(broken))
        mode = mode_for(document, skip_review=skip)
        if mode is None:
            return Blocked(_why_nothing_can_begin(document, skip_review=skip))
        if (blocked := self._beyond_cap(mode)) is not None:
            return blocked
        objective = plan_prompt(
            document,
            mode,
            self._rules,
            template=self._read_prompt(),
            folder=self._store.folder,
            iteration=state.iteration + 1,
            maximum=self._maximum,
            progress=self._store.read_progress(),
            told=self._audit.plan.told,
            promise=self._promise,
        )
        self._audit.offer(mode)
        # Whatever is left of an earlier session has been taken out of the plan: there is nothing to judge again.
        return replace(self._assignment(mode, objective), forgets_unjudged=True)

    def _assignment(self, mode: StoryMode, objective: str) -> Assignment:
        return Assignment(
            key=f"{mode.story.id}/{mode.mode}",
            objective=objective,
            role=mode.mode.value,
            promise=self._promise,
            acceptance=Acceptance.PROOF,
            subject=mode,
        )

    async def settle(self, assignment: Assignment, evidence: Evidence | None, decision: Decision) -> None:
        """The audit has settled it: the document says what became of the story, also after a crash.

        Unless a stop came first: then nothing was judged, and whatever changes from here on is the user's doing.
        """
        if isinstance(decision, Stop):
            self._audit.plan.settled = None  # the record knows of the iteration: it was not judged
            await self._audit.catch_up()

    def _beyond_cap(self, mode: StoryMode) -> Blocked | None:
        """A story that has had its reviews waits for a person, unless the last one approved it."""
        story, cap = mode.story, self._rules.cap
        allowed = (
            cap if mode.mode is IterationMode.REVIEW else cap - 1
        )  # a person may ask for one more review
        if mode.mode is IterationMode.IMPLEMENT or story.review_count <= allowed:
            return None
        said = " ".join(story.review_feedback.split())[:FEEDBACK_SHOWN]
        reason = f"story {story.id} has had {story.review_count} of {cap} reviews and is not approved"
        another = f"to allow another review: `ralph plan run --review-cap {story.review_count + 1}`"
        once_more = "fix it, set its reviewStatus to needs_review, then `ralph resume`; or "
        hint = f"{once_more}{another}" if story.review_count <= cap else another
        return Blocked(f"{reason}{said and f': {said}'}", hint)


def review_figures(document: TasksDocument, *, skip_review: bool) -> str:
    """How many reviews each story took."""
    stories = "1 story" if len(document.stories) == 1 else f"{len(document.stories)} stories"
    if skip_review:
        return f"{stories} done, reviews skipped"
    reviews = ", ".join(f"{story.id} {story.review_count}" for story in document.stories)
    capped = [story.id for story in document.stories if story.review_feedback.startswith(AT_CAP)]
    at_cap = f"; approved at the cap: {', '.join(capped)}" if capped else ""
    return f"{stories} approved; reviews: {reviews}{at_cap}"


def _why_nothing_can_begin(document: TasksDocument, *, skip_review: bool) -> str:
    left = unfinished_stories(document, skip_review=skip_review)
    if not left:
        return "tasks.json has no stories"
    waiting = [
        f"{key} waits for {', '.join(missing)}"
        for key in left
        if (missing := waits_for(document, document.story(key), skip_review=skip_review))
    ]
    return f"no story can start: {'; '.join(waiting) or ', '.join(left)}"


class PlanAgent:
    """``on_begin`` tells the hooks in the session about it."""

    def __init__(
        self, agent: Agent, audit: PlanAudit, rules: Rules, *, on_begin: Callable[[], None] | None = None
    ) -> None:
        self._agent = agent
        self._audit = audit
        self._rules = rules
        self._on_begin = on_begin

    @property
    def name(self) -> str:
        return self._agent.name

    async def run(
        self, request: AgentRequest, publish: Publish, *, stop: Awaitable[object] | None = None
    ) -> AgentReport:
        await self._audit.begin()
        if self._on_begin is not None:
            self._on_begin()
        report = await self._agent.run(request, publish, stop=stop)
        if not is_judgeable(report, self._rules):
            # Not only before the next session: there may be hours until then, in which a person edits these files.
            await self._audit.catch_up()
        return report

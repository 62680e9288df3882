"""Merges a pull request by GitHub's own rules: at once, by its merge queue, or as soon as its rules are met."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.adapters.forges.github_facts import pull_state
from ralph.adapters.online.api import Api
from ralph.adapters.online.problems import UNSAID_WAIT, decoded, problem_of, words_of
from ralph.adapters.online.shape import Shape
from ralph.adapters.online.transport import Answer
from ralph.domain.delivery.facts import MergeMethod, PullState
from ralph.errors import ServiceAway, ServiceRefused

_SAYS_NO = frozenset({403, 405, 409, 422})
_MOVED = ("was modified", "out of date", "does not match", "expected head")
_MUST_QUEUE = ("merge queue",)
_NOT_YET = ("required status check", "is expected", "approving review", "rule violation", "protected branch")
_IS_QUEUED = ("already in the merge queue", "already queued", "already in a merge queue")
_ENQUEUE = """mutation($id: ID!, $head: GitObjectID) {
  enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head}) { mergeQueueEntry { position } } }"""
_AUTO_MERGE = """mutation($id: ID!, $head: GitObjectID, $method: PullRequestMergeMethod) {
  enablePullRequestAutoMerge(input: {pullRequestId: $id, expectedHeadOid: $head, mergeMethod: $method}) {
    clientMutationId } }"""
IN_QUEUE = "in the merge queue"
AUTO_MERGE = "auto-merge is on"


class Merging:
    """Of one pull request, at exactly one head. ``path``: of the pull request in the API."""

    def __init__(self, api: Api, path: str, *, head: str, method: MergeMethod, title: str = "") -> None:
        self._api = api
        self._path = path
        self._head = head
        self._method = method
        self._title = title

    async def merge(self) -> str:
        """What to tell. Raises ServiceAway if the facts have changed, ServiceRefused with GitHub's words."""
        body = {"sha": self._head, "merge_method": self._method.value}
        title = {"commit_title": self._title} if self._title else {}
        answer = await self._api.ask("PUT", f"{self._path}/merge", body | title)
        problem = problem_of(answer, now=self._api.now())
        if problem is None:
            return self._merged(decoded(answer.body))
        if isinstance(problem, ServiceAway) or answer.status not in _SAYS_NO:
            raise problem
        return await self._refused(answer, problem)

    def _merged(self, answer: Shape) -> str:
        if answer["merged"].flag is False:
            message = "GitHub took the merge, but has not merged"
            raise ServiceAway(message)
        commit = answer["sha"].text
        return f"merged as {commit[:12]}" if commit else "merged"

    async def _refused(self, answer: Answer, problem: ServiceRefused) -> str:
        """A refusal may come late (it is merged already), too early, or from rules that GitHub itself can wait for."""
        words = words_of(answer).lower()
        pull = await self._api.get(self._path)
        if pull_state(pull) is PullState.MERGED:
            return self._merged(Shape({"sha": pull["merge_commit_sha"].text}))
        if answer.status == 409 or _has(words, _MOVED) or pull["head"]["sha"].text != self._head:
            message = f"the pull request has changed meanwhile: {words_of(answer)}"
            raise ServiceAway(message)
        if _has(words, _MUST_QUEUE):
            return await self._enqueue(pull, problem)
        if _has(words, _NOT_YET):
            return await self._auto_merge(pull, problem, method=self._method.value.upper())
        if "not mergeable" in words and pull["state"].text == "open" and pull["mergeable"].flag is not True:
            message = "GitHub cannot merge it at the moment; it may conflict with its base by now"
            raise ServiceAway(message)
        raise problem

    async def _enqueue(self, pull: Shape, problem: ServiceRefused) -> str:
        try:
            await self._mutate(_ENQUEUE, {"id": pull["node_id"].text, "head": self._head})
        except ServiceRefused as refused:
            if not _has(refused.message.lower(), _IS_QUEUED):
                return await self._auto_merge(pull, problem, method=None)  # the queue has its own
        return IN_QUEUE

    async def _auto_merge(self, pull: Shape, problem: ServiceRefused, *, method: str | None) -> str:
        if pull["auto_merge"].is_object:
            return AUTO_MERGE
        try:
            await self._mutate(
                _AUTO_MERGE, {"id": pull["node_id"].text, "head": self._head, "method": method}
            )
        except ServiceRefused as refused:
            if "clean status" in refused.message:  # its rules have been met in between
                message = "GitHub can merge it now"
                raise ServiceAway(message) from None
            raise ServiceRefused(problem.message, hint=f"auto-merge: {refused.message}") from None
        return AUTO_MERGE

    async def _mutate(self, query: str, variables: Mapping[str, str | None]) -> None:
        answer = await self._api.ask("POST", "graphql", {"query": query, "variables": variables})
        if (problem := problem_of(answer, now=self._api.now())) is not None:
            raise problem
        said = decoded(answer.body)
        errors = list(said["errors"])
        if any(error["type"].text == "RATE_LIMITED" for error in errors):
            message = f"GitHub limits requests: {words_of(answer)}"
            raise ServiceAway(message, after=UNSAID_WAIT)
        if errors or not said["data"].is_object:
            message = f"GitHub refused: {words_of(answer) or 'it gave no reason'}"
            raise ServiceRefused(message)


def _has(words: str, signs: tuple[str, ...]) -> bool:
    return any(sign in words for sign in signs)

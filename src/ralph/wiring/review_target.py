"""What is reviewed: the commit that a branch, a range or a pull request means, and the commit that it is compared with."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from ralph.adapters.files import read_whole, write_atomic
from ralph.domain.delivery.pull_name import PullName, parse_pull
from ralph.domain.text.safe_text import clean_line
from ralph.errors import GitFailed, StoreError, UsageError
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.adapters.git import Git
    from ralph.adapters.workspace.review_store import ReviewStore
    from ralph.config.delivery_settings import PullRequestSettings
    from ralph.wiring.kit import Kit

PINNED = "review_target.json"
MOST_BYTES = 1_000_000
HERE = "refs/heads/reviewed"
BASE_HERE = "refs/heads/base"
_PLACES = ("refs/tags", "refs/heads", "refs/remotes")
_HISTORY = (
    "fetch more of it: `git fetch --unshallow`, in GitHub Actions `fetch-depth: 0`; or name another --base"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """``base``: the newest commit that ``commit`` and the branch ``base_name`` share. ``words``: of the pull request."""

    what: str
    commit: str
    base: str
    base_name: str
    pull_request: int = 0
    words: str = ""


async def find_target(kit: Kit, git: Git, store: ReviewStore, what: str, base: str) -> Target:
    """A run that is resumed reviews what it began with. Raises UsageError for what git does not know."""
    if (known := _recall(kit)) is not None:
        if not await store.git.commit_of(known.commit) or not await store.git.commit_of(known.base):
            message = f"the reviewed commit {known.commit[:12]} is no longer here"
            raise GitFailed(message, hint="start again with `ralph review`")
        return known
    named = parse_pull(what)
    if named is not None and await _is_pull(git, what):
        target = await _find_pull(kit, git, store, named, base)
    else:
        target = await _find_local(kit.launch.settings.pull_request, git, what, base)
    write_atomic(kit.record.folder / PINNED, json.dumps(asdict(target)))
    return target


async def require_target(settings: PullRequestSettings, git: Git, what: str, base: str) -> None:
    """What git can tell is wrong before there is a run. Raises UsageError. Nothing is asked of a forge."""
    if await _is_pull(git, what):
        from ralph.wiring.delivery import require_remote

        await require_remote(git, settings.remote, pushes=False)
    else:
        await _find_local(settings, git, what, base)


async def _is_pull(git: Git, what: str) -> bool:
    """A branch may be called like a pull request."""
    return parse_pull(what) is not None and not await git.commit_of(f"refs/heads/{what}")


def _recall(kit: Kit) -> Target | None:
    kept = read_whole(kit.record.folder / PINNED, MOST_BYTES) if kit.launch.resumes else None
    if kept is None:
        return None
    try:
        return Target(**json.loads(kept))
    except (ValueError, TypeError):
        message = f"what run {kit.record.run_id} reviews cannot be read"
        raise StoreError(message, hint="start again with `ralph review`") from None


async def _find_local(settings: PullRequestSettings, git: Git, what: str, base: str) -> Target:
    first, dots, last = what.partition("...") if "..." in what else what.partition("..")
    if dots and base:
        message = f"{what} names its own beginning, and --base another"
        raise UsageError(message, hint="leave out one of them")
    tip = (last or "HEAD") if dots else what or "HEAD"
    commit = await _commit_named(git, tip)
    if not commit:
        message = f"{tip} is not a commit, branch or tag here" if what else "there is no commit here yet"
        hint = "name one, a range such as main..feature, or a pull request such as #12"
        raise UsageError(message, hint=hint if what else "commit your work first")
    base_name = (first or "HEAD") if dots else base
    if base_name:
        found = await _commit_named(git, base_name)
    else:
        base_name, found = await _usual_base(settings, git)
    if not found:
        message = f"{base_name} is not a commit, branch or tag here"
        raise UsageError(message, hint="name another with --base, or fetch it first")
    return Target(
        what=clean_line(what or await git.branch() or "HEAD"),
        commit=commit,
        base=await _merge_base(git, found, commit, base_name),
        base_name=clean_line(base_name),
    )


async def _commit_named(git: Git, name: str) -> str:
    """Empty if there is none. Raises UsageError for a name that several refs have: git would choose one silently, and
    whoever put up a tag like the base's name would decide what is reviewed."""
    found = {ref: commit for place in _PLACES if (commit := await git.commit_of(ref := f"{place}/{name}"))}
    if len(set(found.values())) > 1:
        message = f"{name} may mean {' or '.join(found)}"
        raise UsageError(message, hint="write the one that you mean whole")
    return await git.commit_of(name)


async def _merge_base(git: Git, base: str, commit: str, base_name: str) -> str:
    ran = await git.run("merge-base", base, commit)
    if not ran.ok:
        message = f"{commit[:12]} and {base_name} have no commit in common here"
        raise UsageError(message, hint=_HISTORY)
    return ran.text


async def _usual_base(settings: PullRequestSettings, git: Git) -> tuple[str, str]:
    """The branch that changes are made for, and its commit: of the settings, of the remote, or the one that is usually it."""
    async for name in _candidates(settings, git):
        if name and (commit := await git.commit_of(f"refs/{name}")):
            return name.removeprefix("heads/").removeprefix("remotes/"), commit
    message = "it is not known which branch to compare with"
    raise UsageError(message, hint="name it with --base, or in pullRequest.base")


async def _candidates(settings: PullRequestSettings, git: Git) -> AsyncIterator[str]:
    for name in filter(None, (settings.base,)):
        yield f"remotes/{settings.remote}/{name}"
        yield f"heads/{name}"
    ran = await git.run("symbolic-ref", "--quiet", f"refs/remotes/{settings.remote}/HEAD")
    yield ran.text.removeprefix("refs/") if ran.ok else ""
    for name in ("main", "master"):
        yield f"remotes/{settings.remote}/{name}"
    for name in ("main", "master"):
        yield f"heads/{name}"


# --- pull requests ---


async def _find_pull(kit: Kit, git: Git, store: ReviewStore, named: PullName, base: str) -> Target:
    """Fetched into the review's own git directory: the user's repository gets no ref of it."""
    from ralph.adapters.workspace.outpost import Outpost
    from ralph.wiring.delivery import at_the_start, find_way, require_own_pull

    way = await find_way(kit, git, pushes=False)
    with at_the_start(kit):
        if named.repository:
            require_own_pull(named, await way.forge.repository())
        pull = await way.forge.pull(named.number)
    outpost = await Outpost.make(git, way.runner, way.login)
    base_name = base or pull.base
    for ref, into in (
        (f"refs/pull/{pull.number}/head", HERE),
        (f"refs/heads/{base_name}", BASE_HERE),
    ):
        ran = await outpost.bring(way.address, ref, into, home=store.git)
        if not ran.ok:
            message = f"{ref} of #{pull.number} cannot be fetched: {ran.why}"
            raise GitFailed(message, hint="is it the remote that the pull request is in? See `git remote -v`")
    commit = await store.git.commit_of(HERE)
    found = await store.git.commit_of(BASE_HERE)
    return Target(
        what=f"#{pull.number}",
        commit=commit,
        base=await _merge_base(store.git, found, commit, base_name),
        base_name=clean_line(base_name),
        pull_request=pull.number,
        words=f"{pull.title}\n\n{pull.body}".strip(),
    )

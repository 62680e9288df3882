"""Which files of a run's earlier iterations may go: those beyond a limit are removed, and old streams are compressed."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.patterns import pattern
from ralph.values import dataclass

AS_THEY_ARE = 3
"""Streams of so many judged iterations are left as the agent printed them: people look at them with tools of their own."""
COMPRESSED = ".gz"

# A number has at least three digits, and what follows it is never one more.
_OF_ITERATION = pattern(r"(prompt|agent|guardrail)_(\d{3,9})[_.].*")
_STREAM = pattern(r"agent_.*\.ndjson(\.stderr)?")


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Names of files, in the order in which they were given."""

    removed: tuple[str, ...] = ()
    compressed: tuple[str, ...] = ()


def plan_upkeep(names: Iterable[str], *, judged: int, keep: int | None, seen_to: int = 0) -> Upkeep:
    """What to do with the files of a run of which so many iterations were judged.

    ``keep``: of so many of those, the newest, all files stay; None: of all. What has a higher number belongs to the iteration
    under way and is never touched. The newest judged one stays in any case, because the next prompt may name its logs, and
    so does the first prompt: reports tell by it what was asked. ``seen_to``: streams up to this iteration need no more look.
    """
    removed: list[str] = []
    compressed: list[str] = []
    for name in names:
        if (found := _OF_ITERATION.fullmatch(name)) is None:
            continue
        number = int(found[2])
        if keep is not None and number <= judged - max(1, keep):
            if not (number == 1 and found[1] == "prompt"):
                removed.append(name)
        elif seen_to < number <= judged - AS_THEY_ARE and _STREAM.fullmatch(name):
            compressed.append(name)
    return Upkeep(tuple(removed), tuple(compressed))


def plain_name(name: str) -> str:
    """What a stream is called by whoever reads it, whether it is compressed by now or not."""
    bare = name.removesuffix(COMPRESSED)
    return bare if bare != name and _STREAM.fullmatch(bare) else name


def iteration_of_stream(name: str) -> int | None:
    """None: it is no stream of an agent's."""
    found = _OF_ITERATION.fullmatch(name) if _STREAM.fullmatch(plain_name(name)) else None
    return None if found is None else int(found[2])

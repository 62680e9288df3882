"""Dependencies that lead back to where they began: with one, there is no order to work in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def find_circles(needs: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """``(a, b)`` if a needs b and b needs a; each circle once. Linear, and no recursion: a chain may be long."""
    finished: set[str] = set()
    for start in needs:
        if start in finished:
            continue
        way = {start: 0}  # in order; the value is the place in it
        left = [iter(needs[start])]
        while left:
            following = next(left[-1], None)
            if following is None:
                left.pop()
                finished.add(way.popitem()[0])
            elif following in way:
                yield tuple(way)[way[following] :]
            elif following in needs and following not in finished:
                way[following] = len(way)
                left.append(iter(needs[following]))

"""Finds a circle among things that need each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def find_circle(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...] | None:
    """``(a, b, a)`` if a needs b and b needs a; None if there is no circle. Linear, and no recursion."""
    finished: set[str] = set()
    for start in needs:
        if start in finished:
            continue
        way: list[str] = [start]
        on_way = {start}
        stack: list[Iterator[str]] = [iter(needs[start])]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                left = way.pop()
                on_way.discard(left)
                finished.add(left)
            elif following in on_way:
                return (*way[way.index(following) :], following)
            elif following not in finished and following in needs:
                way.append(following)
                on_way.add(following)
                stack.append(iter(needs[following]))
    return None


def spelled_circle(circle: Sequence[str]) -> str:
    """``A → B → A``; a long one is cut in the middle."""
    shown = list(circle) if len(circle) <= 12 else [*circle[:6], f"… {len(circle) - 11} more …", *circle[-5:]]
    return " → ".join(shown)

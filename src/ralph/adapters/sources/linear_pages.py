"""Linear's lists, page by page: what is no list, or does not say whether it ends, is no answer."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.adapters.online.problems import garbled
from ralph.adapters.online.shape import Shape
from ralph.adapters.sources.linear_api import LINEAR


def nodes_of(connection: Shape) -> Iterator[Shape]:
    """Raises ServiceAway if it is no list: half of one is worse than none."""
    nodes = connection["nodes"]
    if not nodes.is_list or not all(node.is_object for node in nodes):
        raise garbled(wanted="a list", service=LINEAR)
    return iter(nodes)


def has_more(connection: Shape, name: str = "hasNextPage") -> bool:
    """Raises ServiceAway if it does not say."""
    found = connection["pageInfo"][name].flag
    if found is None:
        raise garbled(wanted="whether a list ends", service=LINEAR)
    return found


class Cursor:
    """Where the next page of a list begins. ``is_backwards``: the list is read from its end."""

    def __init__(self, *, is_backwards: bool = False) -> None:
        self._flag, self._name = (
            ("hasPreviousPage", "startCursor") if is_backwards else ("hasNextPage", "endCursor")
        )
        self._seen: set[str] = set()
        self.place: str | None = None

    def move_on(self, page: Shape) -> bool:
        """False: that was the last page. Raises ServiceAway if the next one is not to be found, or was there before.

        A list that leads back to one of its pages never ends; one that leads ever further is for its reader to leave.
        """
        if not has_more(page, self._flag):
            self.place = None
            return False
        place = page["pageInfo"][self._name].text
        if not place or place in self._seen:
            raise garbled(wanted="where the next page begins", service=LINEAR)
        self._seen.add(place)
        self.place = place
        return True

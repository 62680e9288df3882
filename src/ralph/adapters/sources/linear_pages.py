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


def cursor_of(connection: Shape, name: str = "hasNextPage", cursor: str = "endCursor") -> str | None:
    """Where the next page begins; None: this is the last one."""
    if not has_more(connection, name):
        return None
    if not (place := connection["pageInfo"][cursor].text):
        raise garbled(wanted="where the next page begins", service=LINEAR)
    return place

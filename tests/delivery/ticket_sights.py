"""What a test can see of a ticket and of the work on it: its labels, ralph's comment, the sessions that there were."""

from __future__ import annotations

import re

from .shipping import ShipProject
from .world.forge import Forge

SOURCE = "github:owner1/demo"
FROM = ("work", "--from", SOURCE)


def labels(forge: Forge, number: int) -> set[str]:
    return {label["name"] for label in forge.issue(number)["labels"]}


def holders(forge: Forge, number: int) -> set[str]:
    """The labels of machines that work on it."""
    return {name for name in labels(forge, number) if name.startswith("ralph:")} - {"ralph:done"}


def holder_of(project: ShipProject) -> str:
    """The label of this clone's ralph."""
    ((name,),) = project.rows("SELECT holder FROM ticket_holder")
    return f"ralph:{name}"


def sessions(project: ShipProject) -> list[str]:
    """The task of each session that an agent of this clone was launched for, in no particular order."""
    found = (re.fullmatch(r"prompt-(.+)-\d+", path.name) for path in project.programs.iterdir())
    return sorted(match[1] for match in found if match)


def said(forge: Forge, number: int) -> str:
    """ralph's one comment; fails if there is none, or another."""
    (comment,) = forge.comments(number)
    assert comment["body"].endswith("<!-- ralph:ticket -->")
    return str(comment["body"])


def writes(forge: Forge) -> list[str]:
    """Every request that could change something about an issue."""
    return [str(request) for request in forge.requested(r"^(POST|PATCH|PUT|DELETE) .*/issues/")]

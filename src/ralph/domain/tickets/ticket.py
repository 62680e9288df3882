"""A ticket: a piece of work as a tracker or a file has it, with only such words as may reach an agent."""

from __future__ import annotations

from enum import StrEnum

from ralph.domain.tasks.task import DEFAULT_PRIORITY
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """What someone who may write there added to a ticket."""

    author: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """``key`` names it in its source, ``shown`` is how people write that (``#12``), ``task_id`` what its task is called.

    ``text`` and ``remarks`` are words of people who may write there; ``left_out`` says what else there was. ``criteria``:
    what can be checked; ``has_own_check`` is False if they only repeat the title. ``blockers``: keys of the same source.
    ``context``: files of the project to read first. ``group``: the heading that it stands under. ``file``: of the project, if it
    stands in one: only ralph changes that.
    """

    key: str
    shown: str
    task_id: str
    title: str
    text: str = ""
    author: str = ""
    is_trusted: bool | None = True  # the author may write there; None: that is not known now
    is_open: bool = True
    labels: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    left_out: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()
    has_own_check: bool = True
    blockers: tuple[str, ...] = ()
    priority: int = DEFAULT_PRIORITY
    estimate: float | None = None
    spec: str = ""
    group: str = ""
    context: tuple[str, ...] = ()
    url: str = ""
    file: str = ""
    uid: str = ""  # what its tracker never changes, also if the ticket gets another key


class Move(StrEnum):
    """What ralph does to a ticket. Each may be done twice without harm."""

    TAKE = "take"  #: this machine works on it
    FREE = "free"  #: it does not any more
    FINISH = "finish"  #: its work is proven and merged, or ticked off
    CLOSE = "close"  #: and nothing is left to do about it

"""How far a delivery has come, for whoever drives it: a run, or the scheduler of tasks."""

from __future__ import annotations

from ralph.domain.delivery.facts import Remark
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Waiting:
    """Ask again after ``seconds``. ``seen``: what is known of the pull request; None: nothing new could be seen."""

    reason: str
    seconds: float
    for_people: bool = False
    seen: object = None


@dataclass(frozen=True, slots=True)
class Fixing:
    """A session is needed. ``remarks``: what it is to answer. ``base``: the base was merged into the branch, at this
    commit. ``is_fault``: the work is wrong; else others were faster."""

    reason: str
    objective: str
    remarks: tuple[Remark, ...] = ()
    base: str = ""
    is_fault: bool = True


@dataclass(frozen=True, slots=True)
class Asking:
    """A person must decide."""

    reason: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """``is_good`` False: it was closed, and the work was not taken. ``is_merged``: the base has it. ``head``: the commit that
    was merged; empty: the base has all of the branch."""

    reason: str
    is_good: bool = True
    is_merged: bool = False
    head: str = ""


Progress = Waiting | Fixing | Asking | Ended

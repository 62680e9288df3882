"""What a ticket is told about its task, and what is done to it: a pure function of where the task stands."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from ralph.domain.delivery.receipt import Receipt, receipt_section
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move


@dataclass(frozen=True, slots=True)
class Landing:
    """Where accepted work went. ``pull``: its pull request, as people write it, if it has one; ``target``: the branch it is
    for, if that is known. ``is_merged``: it is there."""

    target: str = ""
    pull: str = ""
    is_merged: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """``text`` empty: nothing is said. ``move`` None: nothing is moved."""

    text: str = ""
    move: Move | None = None

    @property
    def digest(self) -> str:
        """Differs if anything else is told."""
        return sha256(repr((self.text, str(self.move))).encode(errors="replace")).hexdigest()[:16]


def told_about(task: Task, receipt: Receipt, landing: Landing, *, close: str) -> Told:
    """``close``: when tickets are closed, as the settings say. Nothing is said of work that was not accepted."""
    match task.status:
        case TaskStatus.DONE:
            is_closed = close == "always" or (close == "delivered" and bool(landing.pull))
            return Told(_text(receipt, landing), Move.CLOSE if is_closed else Move.FINISH)
        case TaskStatus.ACCEPTED if landing.pull:
            return Told(_text(receipt, landing))
        case TaskStatus.CANCELLED:
            return Told(move=Move.FREE)
        case _:
            return Told()


def _text(receipt: Receipt, landing: Landing) -> str:
    return f"{_sentence(landing)}\n\n{receipt_section(receipt)}"


def _sentence(landing: Landing) -> str:
    into = f" into `{landing.target}`" if landing.target else ""
    if landing.is_merged and landing.pull:
        return f"ralph: done. {landing.pull} is merged{into}."
    if landing.is_merged:
        return f"ralph: done. The work is merged{into} on the machine that ralph ran on; it was not pushed."
    return f"ralph: the work is proven and ready: {landing.pull} can be merged{into}."


def linking_text(known: KnownTicket, *, closes: bool) -> str:
    """For its pull request: forges and trackers know the word, and close the ticket when that is merged into the default
    branch. For another base ralph does it."""
    if not known.url:
        return f"For {known.shown} of {known.source}"
    return f"{'Closes' if closes else 'For'} {known.url}"


def asked_for(missing: str) -> str:
    """What is said on a ticket that is not ready."""
    return f"ralph did not begin to work on this ticket: {missing}."

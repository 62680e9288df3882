"""What a ticket is told about its task, and what is done to it: a pure function of where the task stands."""

from __future__ import annotations

from hashlib import sha256

from ralph.domain.delivery.receipt import Receipt, receipt_section
from ralph.domain.tasks.task import Task, TaskStatus
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.ticket import Move
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Landing:
    """Where accepted work went. ``pull``: its pull request, as people write it, if it has one; ``target``: the branch it is
    for, if that is known. ``is_merged``: it is there. ``is_unchanged``: there was nothing to change."""

    target: str = ""
    pull: str = ""
    is_merged: bool = False
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """``text`` empty: nothing is said. ``move`` None: nothing is moved. ``is_good``: it says that the work is accepted.
    ``words``: what the user is told of it; ``is_concern``: they should do something."""

    text: str = ""
    move: Move | None = None
    is_good: bool = False
    words: str = ""
    is_concern: bool = False

    @property
    def digest(self) -> str:
        """Differs if anything else is told."""
        return sha256(repr((self.text, str(self.move))).encode(errors="replace")).hexdigest()[:16]


def told_about(
    task: Task, known: KnownTicket, receipt: Receipt, landing: Landing, *, close: str, is_edited: bool
) -> Told:
    """``close``: when tickets are closed, as the settings say. ``is_edited``: the ticket does not say any more what the work
    was judged by. Of work that was never accepted nothing is said; what is no longer true is taken back."""
    match task.status:
        case TaskStatus.DONE if known.is_shared:
            return _told_done(known, receipt, landing, close=close, is_edited=is_edited)
        case TaskStatus.DONE:
            return _ticked(known, landing, is_edited=is_edited)
        case TaskStatus.ACCEPTED if landing.pull:
            text = "\n\n".join(
                (_sentence(landing), *([EDITED] if is_edited else ()), receipt_section(receipt))
            )
            return Told(text, is_good=True, words=f"told {known.shown} of {landing.pull}")
        case TaskStatus.OPEN if known.is_said:
            return Told("ralph: the work was ready, but is worked on again.")
        case TaskStatus.FAILED | TaskStatus.CANCELLED if known.is_said:
            since = "has failed" if task.status is TaskStatus.FAILED else "was cancelled"
            move = Move.FREE if task.status is TaskStatus.CANCELLED else None
            return Told(f"ralph: the work was ready, but its task {since} since.", move)
        case TaskStatus.CANCELLED:
            return Told(move=Move.FREE)
        case _:
            return Told()


def _told_done(
    known: KnownTicket, receipt: Receipt, landing: Landing, *, close: str, is_edited: bool
) -> Told:
    """A ticket that asks for something else now, or for which nothing was changed, is a person's to close."""
    is_wanted = close == "always" or (close == "delivered" and bool(landing.pull))
    is_closed = is_wanted and not is_edited and not landing.is_unchanged
    text = "\n\n".join((_sentence(landing), *([EDITED] if is_edited else ()), receipt_section(receipt)))
    words = f"told {known.shown} that it is done{', and closed it' if is_closed else ''}"
    is_concern = is_edited or landing.is_unchanged
    if is_concern:
        why = "it was edited meanwhile" if is_edited else "nothing was changed for it"
        words = f"told {known.shown} that it is done; look at it, because {why}"
    return Told(
        text, Move.CLOSE if is_closed else Move.FINISH, is_good=True, words=words, is_concern=is_concern
    )


def _ticked(known: KnownTicket, landing: Landing, *, is_edited: bool) -> Told:
    """A box says that what it says is done: only what was proven in these words is ticked."""
    if is_edited or landing.is_unchanged:
        why = "its words were changed meanwhile" if is_edited else "nothing was changed for it"
        return Told(
            words=f"{known.shown} of {known.source} is not ticked, because {why}: look at it", is_concern=True
        )
    return Told(move=Move.FINISH, is_good=True, words=f"ticked {known.shown} of {known.source}")


EDITED = (
    "The ticket was edited after the work had begun. The work was judged by the words from before: please look whether they"
    " still say what you want."
)


def _sentence(landing: Landing) -> str:
    into = f" into `{landing.target}`" if landing.target else ""
    if landing.is_merged and landing.is_unchanged:
        return (
            "ralph: every role accepted this without any change. Please look whether anything is left to do."
        )
    if landing.is_merged and landing.pull:
        return f"ralph: done. {landing.pull} is merged{into}."
    if landing.is_merged:
        return f"ralph: done. The work is merged{into} on the machine that ralph ran on; it was not pushed."
    return f"ralph: the work is accepted and proven. Its pull request{into} is {landing.pull}."


def linking_text(known: KnownTicket, *, closes: bool) -> str:
    """For its pull request: forges and trackers know the word, and close the ticket when that is merged into the default
    branch. For another base ralph does it."""
    if not known.url:
        return f"For {known.shown} of {known.source}"
    return f"{'Closes' if closes else 'For'} {known.url}"


def asked_for(missing: str) -> str:
    """What is said on a ticket that is not ready."""
    return f"ralph did not begin to work on this ticket: {missing}."

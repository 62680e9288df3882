"""What ralph remembers of a ticket, so that a later process neither repeats nor forgets anything."""

from __future__ import annotations

from ralph.domain.delivery.receipt import Proof
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTicket:
    """``seen``: the print of the words that its task has; ``noted``: of those that were told as ``note`` since.
    ``labels``: those that made it ours. ``needs``: the tasks that its task waits for, when it was seen.

    ``settled``: the status of its task that the ticket was told of; ``told``: the print of what it was told. ``proofs``:
    what was run on ``proven``, the commit that was merged into ``target``, or is to be.
    """

    source: str
    key: str
    task_id: str
    uid: str = ""
    shown: str = ""
    url: str = ""
    is_shared: bool = True  # others may take it, too
    labels: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    seen: str = ""
    noted: str = ""
    note: str = ""
    waits: str = ""  # why it is not begun, although its task is there
    is_withdrawn: bool = False  # its task was cancelled because nobody wanted it; that may change
    is_taken: bool = False  # this machine's name is on it, or may be
    settled: str = ""
    told: str = ""
    is_said: bool = False  # that the work is accepted
    proven: str = ""
    proofs: tuple[Proof, ...] = ()
    target: str = ""
    is_unchanged: bool = False  # every role accepted the base as it was

"""What ralph did with a branch so far, so that a later process neither repeats nor forgets it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph.domain.delivery.facts import Remark, Tried
from ralph.domain.delivery.receipt import Proof

MOST_EARLIER = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """``pushing`` is on record before a push, ``pushed`` after it: whoever is killed in between asks the remote.

    ``proven``: the commit that passed what must pass. ``rerun_on``: the commit of which ``reruns`` are.
    ``answering``: remarks that a session worked on, to be answered once its work is pushed.
    """

    run_id: str = ""  # the run that delivers it
    number: int = 0  # of the pull request; 0: none yet
    url: str = ""
    proven: str = ""
    proofs: tuple[Proof, ...] = ()
    pushing: str = ""
    pushed: str = ""
    earlier: tuple[str, ...] = ()
    rerun_on: str = ""
    reruns: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    told: str = ""  # to the session that works, or worked, on it
    asked: tuple[Remark, ...] = ()  # what that session is to answer
    answering: tuple[Remark, ...] = ()
    answered: tuple[str, ...] = ()
    fixes: int = 0  # sessions whose work was accepted
    updates: int = 0
    merging: str = ""  # the head that the forge was told to merge
    is_announced: bool = False  # its text holds the receipt of ``proven``

    def prove(self, commit: str, proofs: tuple[Proof, ...]) -> Delivered:
        return replace(self, proven=commit, proofs=proofs, is_announced=False)

    def begin_push(self, commit: str) -> Delivered:
        return replace(self, pushing=commit)

    def end_push(self, commit: str) -> Delivered:
        earlier = tuple(dict.fromkeys((*self.earlier, self.pushed))) if self.pushed else self.earlier
        return replace(self, pushing="", pushed=commit, earlier=earlier[-MOST_EARLIER:])

    def rerun(self, commit: str, names: tuple[str, ...], flaky: tuple[str, ...]) -> Delivered:
        before = self.reruns if self.rerun_on == commit else ()
        return replace(
            self,
            rerun_on=commit,
            reruns=tuple(dict.fromkeys((*before, *names))),
            flaky=tuple(dict.fromkeys((*self.flaky, *flaky))),
        )

    def fix(self) -> Delivered:
        """A session worked on it, and its work was accepted."""
        known = {remark.id for remark in self.answering}
        more = tuple(remark for remark in self.asked if remark.id not in known)
        answering = (*self.answering, *more)
        return replace(self, fixes=self.fixes + 1, updates=0, told="", asked=(), answering=answering)

    def answer(self, remark: Remark) -> Delivered:
        left = tuple(one for one in self.answering if one.id != remark.id)
        return replace(self, answering=left, answered=(*self.answered, remark.id))

    def tried(self, head: str) -> Tried:
        return Tried(
            reruns=frozenset(self.reruns) if self.rerun_on == head else frozenset(),
            answered=frozenset((*self.answered, *(remark.id for remark in self.answering))),
            updates=self.updates,
            is_merging=self.merging == head,
        )

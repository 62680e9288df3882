"""What ralph did with a branch so far, so that a later process neither repeats nor forgets it."""

from __future__ import annotations

from ralph.domain.delivery.facts import CheckRun, Remark, Tried
from ralph.domain.delivery.receipt import Proof
from ralph.values import dataclass, replace

MOST_EARLIER = 100


@dataclass(frozen=True, slots=True)
class Answer:
    """What is owed to a remark. ``commit`` addresses it; empty: a session looked at it, and changed nothing."""

    remark: Remark
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """``pushing`` is on record before a push, ``pushed`` after it: whoever is killed in between asks the remote.

    ``proven``: the commit that passed what must pass. ``rerun_on``: the commit of which ``reruns`` are.
    ``rerunning``: runs that are to be run again, on record before that is asked for.
    ``handed``: the commit with which a session began; what it has committed since is not pushed until it is accepted.
    ``answering``: remarks that a session worked on, to be answered once its work is pushed.
    """

    run_id: str = ""  # the run that delivers it
    number: int = 0  # of the pull request; 0: none yet
    url: str = ""
    proven: str = ""
    proofs: tuple[Proof, ...] = ()
    pushing: str = ""
    pushed: str = ""
    pushed_at: float = 0.0  # epoch
    given: str = ""  # the commit that was there already, pushed by someone else
    earlier: tuple[str, ...] = ()
    rerun_on: str = ""
    reruns: tuple[str, ...] = ()
    rerunning: tuple[CheckRun, ...] = ()
    flaky: tuple[str, ...] = ()
    on_base: tuple[str, ...] = ()  # checks that failed on the base as well
    checks: tuple[str, ...] = ()  # every check that was seen on any commit of it
    told: str = ""  # to the session that works, or worked, on it
    handed: str = ""
    handed_by: str = ""  # the run that did so: what it compares a session's work with, no other has
    asked: tuple[Remark, ...] = ()  # what that session is to answer
    answering: tuple[Answer, ...] = ()
    answered: tuple[str, ...] = ()
    sessions: int = 0  # that began to work on it
    fixes: int = 0  # of those: whose work was accepted
    futile: str = ""  # the commit at which a session was accepted that had nothing to change
    updates: int = 0
    base: str = ""  # the commit of the base that was merged last
    updating: str = ""  # the base that is being merged, until later sessions are compared with what it brings
    merging: str = ""  # the head that the forge was told to merge
    is_opening: bool = False  # the forge was, or was to be, told to open the pull request
    is_announced: bool = False  # its text holds the receipt of ``proven``

    def prove(self, commit: str, proofs: tuple[Proof, ...]) -> Delivered:
        return replace(self, proven=commit, proofs=proofs, is_announced=False)

    def begin_push(self, commit: str) -> Delivered:
        return replace(self, pushing=commit)

    def end_push(self, commit: str, at: float = 0.0) -> Delivered:
        earlier = tuple(dict.fromkeys((*self.earlier, self.pushed))) if self.pushed else self.earlier
        return replace(self, pushing="", pushed=commit, pushed_at=at, earlier=earlier[-MOST_EARLIER:])

    def begin_rerun(self, runs: tuple[CheckRun, ...], flaky: tuple[str, ...]) -> Delivered:
        """What is flaky belongs into the receipt, whatever the next run says."""
        known = tuple(dict.fromkeys((*self.flaky, *flaky)))
        return replace(
            self, rerunning=runs, flaky=known, is_announced=self.is_announced and known == self.flaky
        )

    def end_rerun(self, commit: str, names: tuple[str, ...]) -> Delivered:
        before = self.reruns if self.rerun_on == commit else ()
        reruns = tuple(dict.fromkeys((*before, *names)))
        left = tuple(run for run in self.rerunning if run.name not in names)
        return replace(self, rerun_on=commit, reruns=reruns, rerunning=left)

    def hand_over(self, told: str, asked: tuple[Remark, ...], tip: str) -> Delivered:
        """``tip`` empty: whoever gets it answers for what becomes of it, and says when it is accepted."""
        handed = (self.handed or tip) if tip else ""
        sessions = self.sessions + 1
        return replace(self, told=told, asked=asked, handed=handed, handed_by=self.run_id, sessions=sessions)

    def fix(self, commit: str) -> Delivered:
        """A session worked on it and was accepted; ``commit`` is what it left."""
        is_futile = commit == self.handed
        known = {answer.remark.id for answer in self.answering}
        addressed = "" if is_futile else commit
        more = tuple(Answer(remark, addressed) for remark in self.asked if remark.id not in known)
        return replace(
            self,
            fixes=self.fixes + (not is_futile),
            futile=commit if is_futile else "",
            updates=self.updates if is_futile else 0,
            on_base=(),
            told="",
            handed="",
            asked=(),
            answering=(*self.answering, *more),
        )

    def answer(self, remark: Remark) -> Delivered:
        left = tuple(one for one in self.answering if one.remark.id != remark.id)
        return replace(self, answering=left, answered=(*self.answered, remark.id))

    def forget_pull(self) -> Delivered:
        """For another pull request. What a session left is still not accepted."""
        return Delivered(
            run_id=self.run_id,
            proven=self.proven,
            proofs=self.proofs,
            told=self.told if self.handed else "",
            handed=self.handed,
            handed_by=self.handed_by,
        )

    def tried(self, head: str) -> Tried:
        return Tried(
            reruns=frozenset(self.reruns) if self.rerun_on == head else frozenset(),
            answered=frozenset((*self.answered, *(answer.remark.id for answer in self.answering))),
            updates=self.updates,
            is_merging=self.merging == head,
            seen=frozenset(self.checks),
            on_base=frozenset(self.on_base),
            is_futile=self.futile == head,
        )

"""What people read about a pull request: its words and tone, how its checks stand, and what is new since the last look.

Titles, names, reasons and addresses are the forge's, so whoever shows them cleans them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from ralph.domain.delivery.standing import Standing
from ralph.domain.text.figures import plural
from ralph.domain.views.decisions import Tone, Wording
from ralph.patterns import pattern
from ralph.values import dataclass, fields

if TYPE_CHECKING:
    from ralph.domain.delivery.seen import SeenCheck
    from ralph.domain.loop.events import PullRequestSeen

MOST_NAMED = 8
"""Checks of one standing that a line names."""
LONGEST_NAME = 80
LONGEST_REASON = 300
LONGEST_ADDRESS = 2_000
OPEN, MERGED, CLOSED = "open", "merged", "closed"

_CHECKS = {
    Standing.PASSED: Wording("passed", Tone.GOOD),
    Standing.PENDING: Wording("pending", Tone.OPEN),
    Standing.FAILED: Wording("failed", Tone.BAD),
    Standing.FLAKY: Wording("flaky: passed and failed on one commit", Tone.WARNING),
    Standing.TRANSIENT: Wording("cancelled or broken off", Tone.WARNING),
    Standing.STUBBORN: Wording("cancelled or broken off again", Tone.WARNING),
    Standing.HELD: Wording("held until a person lets it run", Tone.WARNING),
    Standing.ON_BASE: Wording("fails on the base too", Tone.WARNING),
    Standing.IGNORED: Wording("not required", Tone.QUIET),
}
_STEPS = {
    "wait": Wording("waits", Tone.OPEN),
    "fix": Wording("needs a fix", Tone.OPEN),
    "rerun": Wording("checks run again", Tone.OPEN),
    "update": Wording("is updated from its base", Tone.OPEN),
    "merge": Wording("is being merged", Tone.OPEN),
    "ask": Wording("needs a person", Tone.WARNING),
    "done": Wording("ready", Tone.GOOD),
}
_WAITS_FOR_PEOPLE = Wording("waits for people", Tone.WARNING)
_OVER = {MERGED: Wording("merged", Tone.GOOD), CLOSED: Wording("closed", Tone.WARNING)}
_WORST_FIRST = (Tone.BAD, Tone.WARNING, Tone.OPEN, Tone.GOOD, Tone.QUIET)
# Nothing in it must be quoted in HTML, Markdown or a shell's words; whatever else is an address is shown, but is no link.
_LINK = pattern(r"https?://[A-Za-z0-9][A-Za-z0-9._~:/?#@!$&*+,;=%-]*")


def link_of(url: str) -> str:
    """Empty if it is no plain address of the web."""
    return url if len(url) <= LONGEST_ADDRESS and _LINK.fullmatch(url) else ""


def describe_check(check: SeenCheck) -> Wording:
    """A standing that this version of ralph does not know is shown as it is. What is flaky is never simply green."""
    try:
        wording = _CHECKS[Standing(check.standing)]
    except ValueError:
        return Wording(cut(check.standing), Tone.OPEN)
    if not check.is_flaky or check.standing == Standing.FLAKY:
        return wording
    tone = Tone.WARNING if wording.tone is Tone.GOOD else wording.tone
    return Wording(f"{wording.words}, but flaky" if tone is Tone.WARNING else f"{wording.words}, flaky", tone)


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestView:
    """The newest that is known of one. `--json` prints these fields."""

    number: int
    url: str
    title: str
    branch: str
    base: str
    head: str  # the commit that all of this is about
    state: str
    step: str
    reason: str
    checks: tuple[SeenCheck, ...] = ()
    for_people: bool = False
    is_draft: bool = False
    strangers: int = 0
    hint: str = ""

    @property
    def name(self) -> str:
        return f"#{self.number}"

    @property
    def where(self) -> str:
        """The address, to read."""
        return cut(self.url, LONGEST_ADDRESS)

    @property
    def address(self) -> str:
        """For a link."""
        return link_of(self.url)

    @property
    def state_words(self) -> str:
        return "draft" if self.is_draft and self.state == OPEN else cut(self.state)

    @property
    def is_waiting(self) -> bool:
        """Nothing can be done now, by anyone here."""
        return self.state == OPEN and self.step == "wait"

    @property
    def wording(self) -> Wording:
        """What ralph does about it, or how it ended."""
        if self.state in _OVER:
            return _OVER[self.state]
        if self.is_waiting and self.for_people:
            return _WAITS_FOR_PEOPLE
        return _STEPS.get(self.step) or Wording(cut(self.step), Tone.OPEN)

    @property
    def said(self) -> str:
        """``waits for build, lint``; ``needs a fix; failed: build``. A reason that begins with the verb needs no other."""
        words, reason = self.wording.words, cut(self.reason, LONGEST_REASON)
        if not reason:
            return words
        return reason if reason.split(" ", 1)[0] == words.split(" ", 1)[0] else f"{words}; {reason}"

    @property
    def counts(self) -> str:
        """``3 of 5 checks passed``, of those that decide; empty if there are none."""
        counted = [check for check in self.checks if check.standing != Standing.IGNORED]
        passed = sum(check.standing == Standing.PASSED for check in counted)
        if not counted:
            return ""
        every = plural(len(counted), "check")
        return f"{every} passed" if passed == len(counted) else f"{passed} of {every} passed"

    def summary(self, dot: str = "·") -> str:
        """``#12 waits for build, lint · 3 of 5 checks passed``."""
        return f" {dot} ".join(filter(None, (f"{self.name} {self.said}", self.counts)))

    def line(self, dot: str = "·") -> str:
        """``#12 open: waits for build · 3 of 5 checks passed · https://…``."""
        state = "" if self.state in _OVER else f" {self.state_words}:"
        return f" {dot} ".join(filter(None, (f"{self.name}{state} {self.said}", self.counts, self.where)))

    @property
    def remarks(self) -> str:
        """Why nobody reacts to them; empty if there are none."""
        if self.strangers <= 0:
            return ""
        told = "it" if self.strangers == 1 else "them"
        return f"{plural(self.strangers, 'remark')} by people who may not write: no agent gets {told}"

    @property
    def flaky(self) -> tuple[str, ...]:
        return tuple(check.name for check in self.checks if check.is_flaky)

    @property
    def flaky_words(self) -> str:
        """Empty if none is."""
        return f"flaky: {listed(self.flaky)}" if self.flaky else ""

    @property
    def worst_first(self) -> list[SeenCheck]:
        """Red must not hide behind green, nor what is open behind what is over."""
        return sorted(self.checks, key=lambda check: _WORST_FIRST.index(describe_check(check).tone))


_FIELDS = tuple(field.name for field in fields(PullRequestView))


def view_of(event: PullRequestSeen) -> PullRequestView:
    return PullRequestView(**{name: getattr(event, name) for name in _FIELDS})


def cut(text: str, most: int = LONGEST_NAME) -> str:
    """A forge takes names of any length; a screen does not."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(names: Sequence[str]) -> str:
    """``build, lint and 3 more``."""
    more = len(names) - MOST_NAMED
    shown = ", ".join(cut(name) for name in names[:MOST_NAMED])
    return shown + (f" and {more} more" if more > 0 else "")


# --- the checks, a line for each standing ---


class CheckGroup(NamedTuple):
    wording: Wording
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """``passed: build, lint and 3 more``."""
        return f"{self.wording.words}: {listed(self.names)}"


def group_checks(checks: Iterable[SeenCheck]) -> list[CheckGroup]:
    """Those that stand alike together, the worst first."""
    groups: dict[Wording, list[str]] = {}
    for check in checks:
        groups.setdefault(describe_check(check), []).append(check.name)
    ordered = sorted(groups.items(), key=lambda group: _WORST_FIRST.index(group[0].tone))
    return [CheckGroup(wording, tuple(names)) for wording, names in ordered]


# --- what is new ---


class NewsKind(StrEnum):
    OPENED = "opened"  #: which one it is; the first that is told of it
    ADDRESS = "address"
    STEP = "step"
    CHECKS = "checks"
    REMARKS = "remarks"


class News(NamedTuple):
    """One line, without a mark."""

    kind: NewsKind
    tone: Tone
    text: str


def news_of(before: PullRequestView | None, now: PullRequestView, dot: str = "·") -> Iterator[News]:
    """What a reader who saw ``before`` does not know yet. None: they know nothing of it."""
    if before is not None and (before.number, before.url) != (now.number, now.url):
        before = None
    if before is None:
        yield News(NewsKind.OPENED, Tone.OPEN, f"Pull request {now.name}: {cut(now.title, LONGEST_REASON)}")
        ends = f"{cut(now.branch)} into {cut(now.base)}" if now.branch and now.base else ""
        where = f" {dot} ".join(filter(None, (ends, now.where)))
        if where:
            yield News(NewsKind.ADDRESS, Tone.QUIET, where)
    changed = changed_checks(before, now)
    is_step = before is None or _is_another_step(before, now, told_by_checks=bool(changed))
    if is_step:
        yield News(NewsKind.STEP, now.wording.tone, now.summary(dot))
    for group in group_checks(changed):
        text = group.text if is_step else f"{now.name} {group.text}"
        yield News(NewsKind.CHECKS, group.wording.tone, text)
    if now.strangers > (before.strangers if before is not None else 0):
        yield News(NewsKind.REMARKS, Tone.QUIET, now.remarks)


def changed_checks(before: PullRequestView | None, now: PullRequestView) -> Sequence[SeenCheck]:
    known = {check.name: describe_check(check) for check in before.checks} if before is not None else {}
    return [check for check in now.checks if known.get(check.name) != describe_check(check)]


def _is_another_step(before: PullRequestView, now: PullRequestView, *, told_by_checks: bool) -> bool:
    """While it waits, its reason names fewer and fewer checks: their own lines say so already."""
    if (before.wording, before.state_words) != (now.wording, now.state_words):
        return True
    return before.reason != now.reason and not (now.is_waiting and told_by_checks)

"""The settings of tickets: where they come from, which of them count, and what ralph may write there."""

from __future__ import annotations

from ralph.config.kinds import Choice, Number, Text, YesNo, setting
from ralph.config.untrusted import HIGHER, only
from ralph.values import dataclass

CLOSE = ("delivered", "always", "never")


@dataclass(frozen=True, slots=True)
class TicketSettings:
    """`ralph task import` and `ralph work --from`: see docs/tickets.md."""

    source: str = setting(
        Text(),
        "",
        "Where `ralph work --watch` takes tickets from, unless `--from` says otherwise: a path, `github:OWNER/REPO` or"
        " `linear:TEAM`.",
        means="takes work from",
        says={"": "takes work from nowhere else"},
    )
    label: str = setting(
        Text(filled=True),
        "ralph",
        "The label that makes a ticket of a tracker ralph's. Anyone who can set it can start work.",
        means="takes tickets with the label",
    )
    poll: float = setting(
        Number(minimum=5.0),
        60.0,
        "Seconds between two looks at a tracker.",
        untrusted=HIGHER,
        means="waits between two looks at a tracker so many seconds:",
    )
    ask: bool = setting(
        YesNo(),
        False,
        "Say on a ticket what is missing if nothing in it can be checked.",
        untrusted=only(False),
        means="comments on tickets that are not ready, with your login",
    )
    close: str = setting(
        Choice(*CLOSE),
        "delivered",
        "When to close a ticket: `delivered`: when its pull request is merged; `always`: also when its work was merged here,"
        " and not pushed; `never`: a person does.",
        untrusted=only("never"),
        means="closes tickets",
    )

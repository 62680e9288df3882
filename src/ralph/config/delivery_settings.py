"""The settings of pull requests: how they are made, what makes them green, and who merges them."""

from __future__ import annotations

from typing import cast

from ralph.config.kinds import STRINGS, Choice, Number, Reading, Text, YesNo, setting
from ralph.config.untrusted import ALWAYS, only, rising
from ralph.values import dataclass

MERGE = ("off", "merge", "squash", "rebase")
"""As in ``domain/delivery/facts.MergeMethod``, which every start of ralph would have to load."""


class Repository(Text):
    """HOST/OWNER/NAME."""

    def __init__(self) -> None:
        super().__init__()
        self.expected = "a repository as HOST/OWNER/NAME"

    def read(self, value: object, at: Reading) -> str:
        text = super().read(value, at)  # None: it was no text
        parts = (text or "").split("/")
        if text and (len(parts) != 3 or not all(part.strip() == part and part for part in parts)):
            return cast(str, at.wrong(f"{text!r} is not HOST/OWNER/NAME, such as github.com/octo/hello"))
        return text


@dataclass(frozen=True, slots=True)
class PullRequestSettings:
    """`ralph ship`, and every run whose `delivery` is `pr`: see docs/ship.md."""

    repository: str = setting(
        Repository(),
        "",
        "Where pull requests are opened, as HOST/OWNER/NAME; empty: as the address of the remote says.",
        means="opens pull requests in",
        says={"": "opens pull requests where the remote is"},
    )
    remote: str = setting(
        Text(filled=True),
        "origin",
        "The git remote that branches are pushed to.",
        means="pushes to the remote",
    )
    base: str = setting(
        Text(),
        "",
        "The branch that pull requests are for, unless a task names another; empty: the repository's default branch.",
        means="opens pull requests for the branch",
        says={"": "opens pull requests for the default branch"},
    )
    draft: bool = setting(YesNo(), False, "Open them as drafts.", untrusted=ALWAYS)
    labels: tuple[str, ...] = setting(STRINGS, (), "Labels for each.", means="labels pull requests with")
    reviewers: tuple[str, ...] = setting(
        STRINGS, (), "People to ask for a review; `ORG/TEAM` is a team.", means="asks for reviews by"
    )
    assignees: tuple[str, ...] = setting(STRINGS, (), "People to assign.", means="assigns pull requests to")
    merge: str = setting(
        Choice(*MERGE),
        "off",
        "Whether ralph merges what is green, and how, always by the forge's own rules: required reviews and checks, its"
        " merge queue. `off`: a person merges.",
        untrusted=only("off"),
        means="merges green pull requests by",
        says={"off": "leaves merging to you"},
    )
    ci: bool = setting(
        YesNo(),
        True,
        "The repository has checks. Without them a pull request is not green, unless this is false.",
        untrusted=rising(False, True),
        means="takes a pull request without any check for green",
    )
    checks: tuple[str, ...] = setting(
        STRINGS,
        (),
        "The checks that must pass, by name; empty: those that the rules of the base demand, else those that run there.",
        means="takes as the only checks that must pass",
        says={"": "takes as checks that must pass what the forge says"},
    )
    wait: float = setting(
        Number(),
        3600.0,
        "Seconds to wait for CI while nothing changes, before the run ends with exit code 5; `ralph resume` continues it.",
        untrusted=ALWAYS,
    )
    answer_reviews: bool = setting(
        YesNo(),
        True,
        "Let a session work on what reviewers with write access say, and answer each with its commit.",
        untrusted=ALWAYS,
    )

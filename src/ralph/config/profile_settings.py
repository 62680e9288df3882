"""The settings of each profile: ``profiles.<name>.*``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ralph.config.kinds import (
    COUNT,
    STRINGS,
    Choice,
    FreeObject,
    Limit,
    ListOf,
    Named,
    Number,
    Program,
    Reading,
    Table,
    Text,
    Whole,
    YesNo,
    setting,
)  # fmt: skip
from ralph.config.untrusted import ALWAYS, FEWER, HIGHER, LOWER, MORE, lower_than_usual, only, rising
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class PromiseSettings:
    """`ralph run --profile promise`."""

    maximum_iterations: int = setting(
        Whole(minimum=1),
        100,
        "Iterations after which a run gives up.",
        untrusted=LOWER,
        means="sets the limit of iterations to",
    )
    completion_promise: str = setting(
        Text(filled=True),
        "DONE",
        "What the agent says in `<promise>…</promise>` when the work is done.",
        untrusted=ALWAYS,
    )


@dataclass(frozen=True, slots=True)
class SupervisedSettings:
    """`ralph supervise`."""

    max_restarts: int = setting(
        Whole(minimum=1),
        100,
        "Launches of the agent in all.",
        untrusted=LOWER,
        means="sets the limit of launches to",
    )
    restart_delay: float = setting(Number(), 1.0, "Seconds between two launches; 0: none.", untrusted=ALWAYS)
    wait_timeout: float = setting(
        Number(),
        300.0,
        "Seconds to wait for child runs that are still active when the task is done.",
        untrusted=ALWAYS,
    )
    poll_interval: float = setting(
        Number(), 1.0, "Seconds between two checks of the children and of DONE.", untrusted=ALWAYS
    )
    agent_timeout: float | None = setting(
        Limit(),
        None,
        "Seconds after which one launch is ended and counts as failed; null: never.",
        untrusted=ALWAYS,
    )
    done_grace: float = setting(
        Number(),
        30.0,
        "Seconds the agent may continue after it has written DONE, before it is ended.",
        untrusted=ALWAYS,
    )
    project: str = setting(
        Text(), "", "The project's id on the message bus; empty: the folder's name.", untrusted=ALWAYS
    )
    guardrails: tuple[str, ...] = setting(
        STRINGS,
        (),
        "Commands that must succeed before DONE is accepted; otherwise it becomes `DONE.rejected-N`. Empty: `guardrails`.",
        means="runs",
    )


def _is_method(value: str, _own: str) -> bool:
    """Any other name is that of a Python module to load."""
    from ralph.domain.tasks.completion import VerificationMethod

    return value in ("", *VerificationMethod)


class RoleName(Text):
    expected = "the name of a role"

    def __init__(self) -> None:
        super().__init__(filled=True)

    def read(self, value: object, at: Reading) -> str:
        from ralph.domain.tasks.roles import name_problem  # most settings name none

        if isinstance(value, str) and value.strip() and (wrong := name_problem(value)):
            return cast(str, at.wrong(wrong))
        return super().read(value, at)

    def json_schema(self) -> dict[str, object]:
        from ralph.domain.tasks.roles import ROLE_NAME

        return {"type": "string", "pattern": ROLE_NAME}


@dataclass(frozen=True, slots=True)
class RoleSettings:
    """A role of `ralph work`. Keys left out keep the role's usual value."""

    enabled: bool = setting(
        YesNo(),
        True,
        "Let it iterate; false: a single pass.",
        untrusted=rising(True, False),
        means="lets the role iterate",
    )
    agent: str = setting(Program(), "", "The agent that takes this role; empty: the usual one.", means="runs")
    model: str = setting(
        Text(),
        "",
        "The model that takes this role; empty: the agent's own choice.",
        means="uses the model",
        says={"": "lets the agent choose the model"},
    )
    prompt: str = setting(
        Text(),
        "",
        "A file with the role's instructions, relative to the project; empty: the prompt that ships with ralph.",
        means="takes the role's instructions from",
        says={"": "takes the role's instructions from ralph"},
    )
    title: str = setting(
        Text(), "", "Its title on the board; empty: derived from its name.", untrusted=ALWAYS
    )
    description: str = setting(
        Text(), "", "When the role has succeeded; part of the prompt.", untrusted=ALWAYS
    )
    max_iterations: int | None = setting(
        COUNT,
        None,
        "Iterations after which it gives up; null: the role's usual number.",
        untrusted=lower_than_usual(5),
        means="sets the limit of the role's iterations to",
        says={None: "sets the usual limit of the role's iterations"},
    )
    promise: str = setting(
        Text(), "", "What it says in `<promise>…</promise>` when it is done.", untrusted=ALWAYS
    )
    verification: str = setting(
        Text(),
        "",
        "How its work is verified: string_match, semantic, external, multi_stage, or your own.",
        untrusted=_is_method,
        means="verifies with Python code from",
    )
    verification_config: Mapping[str, object] = setting(
        FreeObject(), {}, "Options of that method.", means="verifies with the options"
    )
    command: str = setting(Text(), "", "Short for `verificationConfig.command`.", means="runs")
    template: str = setting(
        Text(),
        "",
        "Short for `verificationConfig.template`: pytest, ruff, npm-test …",
        means="runs the template",
    )
    may_change: tuple[str, ...] = setting(
        STRINGS,
        (),
        "Protected paths that this role may change.",
        untrusted=FEWER,
        means="lets the role change",
    )


@dataclass(frozen=True, slots=True)
class VerifiedSettings:
    """`ralph work` and `ralph task`."""

    enabled: bool = setting(
        YesNo(),
        True,
        "Let roles iterate; false: a single pass each.",
        untrusted=rising(True, False),
        means="lets roles iterate",
    )
    default_max_iterations: int = setting(
        Whole(minimum=1),
        10,
        "Iterations of a role that sets no other number.",
        untrusted=LOWER,
        means="sets the limit of a role's iterations to",
    )
    default_verification: str = setting(
        Text(filled=True),
        "string_match",
        "The method of a role that sets no other.",
        untrusted=_is_method,
        means="verifies with Python code from",
    )
    stages: tuple[str, ...] = setting(
        ListOf(RoleName(), of="strings"),
        (),
        "The roles that a task goes through, in order; empty: coder, reviewer, tester, qa. You may name your own.",
        means="sends each task through",
    )
    roles: Mapping[str, RoleSettings] = setting(
        Named(Table(RoleSettings), names=RoleName()), {}, "Changes to a role, or a role of your own."
    )
    maximum_iterations: int | None = setting(
        COUNT,
        None,
        "Iterations of all tasks together; null: no limit.",
        untrusted=LOWER,
        means="sets the limit of iterations to",
        says={None: "sets no limit of iterations"},
    )
    max_parallel: int = setting(
        Whole(minimum=1),
        1,
        "Tasks to work on at the same time.",
        untrusted=LOWER,
        means="sets the number of tasks at a time to",
    )
    max_rejections: int = setting(
        Whole(minimum=0),
        3,
        "How often a task may be sent back before ralph gives it up.",
        untrusted=LOWER,
        means="sets the limit of rejections to",
    )
    semantic_agent: str = setting(
        Program(),
        "",
        "The agent that judges by the criteria (method semantic); empty: the usual one.",
        means="runs",
    )
    semantic_model: str = setting(
        Text(),
        "",
        "The model that judges by the criteria, perhaps a cheap one; empty: the agent's own choice.",
        means="uses the model",
        says={"": "lets the agent choose the model"},
    )
    protect: tuple[str, ...] = setting(
        STRINGS,
        (),
        "Paths (patterns) that no role may change, besides the tests and settings that verify the work.",
        untrusted=MORE,
        means="limits what is protected besides the tests to",
    )
    rerun_failing: bool = setting(
        YesNo(),
        False,
        "Run a failing verification again, to tell flaky from failing.",
        untrusted=only(False),
        means="lets a verification pass that failed at first",
    )


@dataclass(frozen=True, slots=True)
class ReviewedSettings:
    """`ralph plan run`."""

    maximum_iterations: int = setting(
        Whole(minimum=1),
        15,
        "Iterations after which a run gives up.",
        untrusted=LOWER,
        means="sets the limit of iterations to",
    )
    completion_promise: str = setting(
        Text(filled=True),
        "COMPLETE",
        "What the agent says in `<promise>…</promise>` when the plan is done.",
        untrusted=ALWAYS,
    )
    plan_folder: str = setting(
        Text(filled=True), "ralph", "Where prd.md, tasks.json and the rest are.", untrusted=ALWAYS
    )
    skip_review: bool = setting(
        YesNo(),
        False,
        "Let stories pass without a review.",
        untrusted=only(False),
        means="lets stories pass without a review",
    )
    review_cap: int = setting(
        Whole(minimum=1),
        5,
        "Reviews of one story before it is approved at the cap.",
        untrusted=HIGHER,
        means="sets the limit of reviews to",
    )
    at_cap: str = setting(
        Choice("approve", "block"),
        "approve",
        "What happens to a story at the cap: approved with a concern, or the run ends and waits.",
        untrusted=rising("approve", "block"),
        means="at the limit of reviews, a story is to",
        says={"approve": "approves a story at the limit of reviews"},
    )


@dataclass(frozen=True, slots=True)
class ProfilesSettings:
    """Settings of each profile."""

    promise: PromiseSettings = setting(Table(PromiseSettings), PromiseSettings(), "A prompt and a promise.")
    supervised: SupervisedSettings = setting(
        Table(SupervisedSettings), SupervisedSettings(), "A root agent that is restarted until it is done."
    )
    verified: VerifiedSettings = setting(
        Table(VerifiedSettings), VerifiedSettings(), "Tasks that say what done means, verified role by role."
    )
    reviewed: ReviewedSettings = setting(
        Table(ReviewedSettings), ReviewedSettings(), "A plan whose stories are reviewed with fresh eyes."
    )
